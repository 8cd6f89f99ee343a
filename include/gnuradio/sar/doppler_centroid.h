// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/kernel/doppler_centroid/doppler_centroid.h>
#include <gnuradio/sar/stage.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Tells the stages behind it where the Doppler spectrum of a frame is centred.
 * \ingroup sar
 *
 * \details
 * The centroid is absolute: a fraction of the PRF, from the correlation of neighbouring
 * lines, plus a whole number of PRFs, from the displacement between two azimuth looks and
 * from range diversity. How, and with which errors:
 * gnuradio/sar/kernel/doppler_centroid/doppler_centroid.h.
 *
 * Input: compressed lines, one an item, acq.samples * oversampling complex64. Output: the
 * same lines, unchanged, a frame at a time.
 *
 * The first line of each frame has a tag sar_frame with doppler_centroid_hz (a number, or
 * the coefficients of a polynomial in slant range minus acq.slant_range_first_m) and
 * centroid_from, "estimate" or "given", for which the stages behind take it instead of
 * the acquisition's. Where a frame holds no signal the acquisition's is passed, and
 * centroid_from is "acquisition".
 *
 * The message port "centroid" has a dictionary a frame: frame, doppler_centroid_hz,
 * baseband_hz, ambiguity, standard_error_hz (of the baseband), ambiguity_confidence (0 to
 * 1), method, coherence, look_score, look_next_score, diversity_hz, diversity_error_hz.
 */
class SAR_API doppler_centroid : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<doppler_centroid> sptr;

    /*!
     * \brief Make a Doppler centroid block.
     *
     * \param acq the recording; its effective velocity is needed to tell the number of
     *        PRFs in a scene with contrast, its Doppler centroid is where that is
     *        searched from
     * \param lines lines in a frame
     * \param oversampling that of pulse_compression
     * \param given coefficients to tell instead of an estimate, Hz, absolute, lowest
     *        first; none: estimate
     * \param order of the polynomial in range to estimate, 0 to 3
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had, or when there
     *         is no memory for the frame
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int oversampling = 1,
                     const std::vector<double>& given = {},
                     int order = 0,
                     const std::string& backend = "auto",
                     int device = 0);

    //! Estimates so far, the newest 1000.
    virtual std::vector<kernel::centroid_estimate> estimates() const = 0;
    //! Frames so far.
    virtual std::uint64_t frames() const = 0;
    //! Lines so far with a value that is not finite; they did not count.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
