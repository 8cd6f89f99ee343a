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
 * \brief Frames of lines to their Doppler spectra, or back.
 * \ingroup sar
 *
 * \details
 * Forward: a frame of lines becomes fft_length rows, row k of which is the sum over the
 * lines m of x[m] exp(-j 2 pi k m / fft_length), sample by sample; zeros take the place
 * of lines that are missing. Rows come in the transform's own order: row k stands for the
 * Doppler frequency k prf_hz / fft_length plus the multiple of prf_hz that is nearest to
 * the Doppler centroid. Inverse: fft_length rows become the lines again.
 *
 * Input: one line an item (inverse: one row), acq.samples * oversampling complex64.
 * Output: one row an item (inverse: one line), likewise. With storage "half" rows are
 * items of bytes: 16 bits a component, 32 samples share a scale.
 *
 * With hop < lines frames overlap. A tag sar_frame begins a frame; the output has one on
 * the first row (line) of each frame. The frame that an end or a new sar_frame cuts short
 * comes out too, with complete false.
 *
 * A line with a value that is not finite becomes zeros and is counted.
 */
class SAR_API azimuth_fft : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<azimuth_fft> sptr;

    /*!
     * \param acq the recording
     * \param lines lines in a frame
     * \param fft_length rows: length of the transform, at least lines; 0: the smallest
     *        length >= lines without a prime factor above 7
     * \param hop lines from one frame to the next, up to lines; 0: as lines
     * \param oversampling that of pulse_compression; 1 for raw lines
     * \param direction "forward" or "inverse"
     * \param storage of rows: "single" or "half"
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had, or when there
     *         is no memory for the frame
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int fft_length = 0,
                     int hop = 0,
                     int oversampling = 1,
                     const std::string& direction = "forward",
                     const std::string& storage = "single",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Rows of a spectrum: the length of the transform.
    virtual int rows() const = 0;
    //! Bytes of an item of rows.
    virtual int row_bytes() const = 0;
    //! Frames transformed so far.
    virtual std::uint64_t frames() const = 0;
    //! Lines so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
    //! Memory of the frame and of the transform, bytes; streams not counted.
    virtual std::uint64_t memory_bytes() const = 0;
};

} // namespace sar
} // namespace gr
