// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/stage.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Range-Doppler rows without migration to rows of a complex image.
 * \ingroup sar
 *
 * \details
 * The azimuth matched filter: each cell of a row is multiplied by the conjugate of the
 * phase that a point at its range has at the Doppler frequency of the row,
 * exp(+j 4 pi f0 R0 D(f) / c), and by the window over the Doppler band; columns are then
 * inversely transformed. A point of unit amplitude becomes a peak of 1 with phase 0.
 * Formulas: gnuradio/sar/kernel/azimuth_filter/azimuth_filter.h.
 *
 * Input: rows of rcmc, acq.samples * oversampling complex64 (with storage "half" items of
 * bytes). Output: image rows, likewise, always complex64; a tag sar_image on the first
 * row of each image says where it lies in the slant plane.
 *
 * With looks > 1 the Doppler band is split into that many parts; the output has one row
 * of each look, lowest Doppler first, for each image row. detect averages them when its
 * row_looks is a multiple of looks.
 *
 * The Doppler centroid is that of acq unless the tag sar_frame says, in centroid_from,
 * that it holds one to use.
 */
class SAR_API azimuth_filter : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<azimuth_filter> sptr;

    /*!
     * \param acq the recording, with effective velocity and Doppler centroid
     * \param lines lines in a frame, as azimuth_fft's
     * \param fft_length rows of a frame, as azimuth_fft's; 0: the smallest fast length
     * \param oversampling that of pulse_compression
     * \param window over the Doppler band: "rect", "hamming", "hann", "taylor(nbar, sll)"
     *        with the sidelobe level in dB, or "kaiser(beta)"
     * \param bandwidth_hz of the Doppler band that is used, around the centroid; 0: the
     *        PRF
     * \param looks parts of the band that become images of their own
     * \param geometry "zero_doppler" or "centroid": where a point lies in the image
     * \param output "all" rows of a frame, or the "valid" ones, of which the whole
     *        aperture lies in the frame
     * \param hop with output "valid", azimuth_fft's hop: as many rows of a frame go out,
     *        so that the frames of a strip join; 0: all valid ones
     * \param storage of the rows that come in: "single" or "half"
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had, or when there
     *         is no memory for the frame
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int fft_length = 0,
                     int oversampling = 1,
                     const std::string& window = "rect",
                     double bandwidth_hz = 0,
                     int looks = 1,
                     const std::string& geometry = "zero_doppler",
                     const std::string& output = "all",
                     int hop = 0,
                     const std::string& storage = "single",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Image rows of a frame that go out, with the Doppler centroid of acq; times looks
    //! on the stream.
    virtual int image_rows() const = 0;
    //! Lines from the first to the last moment of a point in the band, the most over the
    //! swath.
    virtual int aperture_lines() const = 0;
    //! Bytes of an item of the input.
    virtual int row_bytes() const = 0;
    //! Images so far.
    virtual std::uint64_t images() const = 0;
    //! Rows so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
    //! Memory of the frames and of the transform, bytes; streams not counted.
    virtual std::uint64_t memory_bytes() const = 0;
};

} // namespace sar
} // namespace gr
