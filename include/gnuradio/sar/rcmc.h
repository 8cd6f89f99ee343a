// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Range cell migration correction with secondary range compression.
 * \ingroup sar
 *
 * \details
 * Rows of the range-Doppler domain, as azimuth_fft gives them, to rows in which a point
 * lies in the same cell whatever its Doppler frequency f. It is moved from range R0 /
 * D(f), D = sqrt(1 - (c f / (2 V f0))^2), to R0 (geometry zero_doppler) or to where the
 * middle of the beam sees it (centroid). The hyperbolic form, not the parabolic
 * approximation; effective velocity and Doppler centroid may vary over the swath.
 * Formulas: gnuradio/sar/kernel/rcmc/rcmc_math.h.
 *
 * Input: one row an item, acq.samples * oversampling complex64, or with storage "half"
 * 16-bit samples (bytes) as azimuth_fft stores them. Output: the same, cell n at range
 * slant_range_first_m + n spacing_m of its tag. What lies outside a row counts as 0.
 *
 * A tag sar_frame says which item is row 0 (else item 0 is, and rows go around), and
 * passes with domain "migrated", geometry and slant_range_first_m of the output. Where it
 * has centroid_from, its doppler_centroid_hz is used in place of that of acq. One that
 * does not describe range-Doppler rows of these parameters ends the flowgraph with an
 * error. Other tags pass as they are.
 *
 * A row with a value that is not finite becomes zeros and is counted.
 */
class SAR_API rcmc : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<rcmc> sptr;

    /*!
     * \param acq the recording, with its effective_velocity_m_s
     * \param lines of a frame, as given to azimuth_fft
     * \param fft_length rows of a frame; 0: the smallest fast length >= lines
     * \param oversampling of the compressed lines
     * \param interpolation "nearest", "linear", "sinc8", "sinc16", "exact" (a grid twice
     * as fine, by FFT) or "fixed" (linear in fixed point, at most 65536 cells)
     * \param src secondary range compression
     * \param geometry "zero_doppler" or "centroid"
     * \param storage "single" or "half": of both input and output
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int fft_length = 0,
                     int oversampling = 1,
                     const std::string& interpolation = "exact",
                     bool src = true,
                     const std::string& geometry = "zero_doppler",
                     const std::string& storage = "single",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Rows of a frame.
    virtual int rows() const = 0;
    //! Range of cell 0 of the output, m, for the Doppler centroid in use.
    virtual double slant_range_first_m() const = 0;
    //! Is SRC applied? Not where its phase is below 1e-6 cycles in all rows.
    virtual bool uses_src() const = 0;
    //! Rows so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
