// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/gr_complex.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/stage.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Raw lines to images by chirp scaling, in one block.
 * \ingroup sar
 *
 * \details
 * Azimuth transform, chirp scaling and azimuth filter: the functions of the stages
 * azimuth_fft, chirp_scaling and azimuth_filter, in the order that passes over memory
 * least often. The image is that of the chain of these blocks. Linear FM pulses only; no
 * interpolation. Formulas and bounds:
 * gnuradio/sar/kernel/chirp_scaling/chirp_scaling_math.h.
 *
 * Input: one raw line an item, acq.samples complex64. Output: one image row an item,
 * acq.samples * oversampling complex64; with several looks the rows of the looks take
 * turns. A unit point has peak 1 and phase 0.
 *
 * The first row of an image carries a tag sar_image (rows, cols, place in the slant
 * plane, geometry). Each `lines` lines are a frame, and so is what lies between two tags
 * sar_frame; one that ends early is padded with zeros and marked incomplete. The tag's
 * Doppler centroid is used when it says where it comes from (centroid_from, see
 * doppler_centroid), else that of the acquisition.
 *
 * A line with a sample that is not finite becomes zeros and is counted.
 */
class SAR_API chirp_scaling_imager : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<chirp_scaling_imager> sptr;

    /*!
     * \param acq the recording, with waveform, effective velocity and Doppler centroid
     * \param lines of a frame
     * \param fft_length rows of the azimuth transform; 0: the smallest fast length that
     * is at least lines. What passes over an end of the image comes back at the other
     * unless it is longer than lines by the aperture. \param hop lines from one frame to
     * the next, at most lines; 0: lines \param oversampling cells per sample of a raw
     * line \param range_window weighting over the band: "rect", "hamming", "hann",
     * "taylor(nbar, sll)" or "kaiser(beta)"
     * \param azimuth_window weighting over the processed Doppler band
     * \param bandwidth_hz that is processed, around the centroid; 0: the PRF
     * \param looks parts that the band is split into
     * \param geometry "zero_doppler" (closest approach) or "centroid" (middle of the
     * beam) \param output "all" rows, or only the "valid" ones, whose aperture lies
     * wholly in the frame; with a hop smaller than lines these join to one strip \param
     * backend "auto", "cpu", "cuda" or "emulated" \param device index of the GPU \throws
     * std::invalid_argument naming parameter, value and expectation \throws
     * std::runtime_error when CUDA is demanded and cannot be had, or memory is short
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int fft_length = 0,
                     int hop = 0,
                     int oversampling = 1,
                     const std::string& range_window = "rect",
                     const std::string& azimuth_window = "rect",
                     double bandwidth_hz = 0,
                     int looks = 1,
                     const std::string& geometry = "zero_doppler",
                     const std::string& output = "all",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Rows of an image (of one look) with the acquisition's Doppler centroid.
    virtual int image_rows() const = 0;
    //! Lines for which a point is in the processed band, the most over the swath.
    virtual int aperture_lines() const = 0;
    //! Images so far.
    virtual std::uint64_t images() const = 0;
    //! Lines so far that were zeroed for a sample that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
    //! Memory that the block holds beside its streams, bytes.
    virtual std::uint64_t memory_bytes() const = 0;
};

} // namespace sar
} // namespace gr
