// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/cf32.h"
#include <cstdint>
#include <vector>

namespace gr {
namespace sar {

struct sweep_alignment_params {
    acquisition acq; //!< fmcw
    //! Doppler frequencies that come out right, around the centroid, Hz; 0: 0.8 PRF, of a
    //! triangle 0.4 PRF.
    double doppler_band_hz = 0;
    //! The instant that lines are brought to, s after the start of their interval: that
    //! of the positions, 0 to 1 / prf_hz.
    double instant_s = 0;
    int taps = 32; //!< lines (of a triangle: of the same way) that a line is made of
};

namespace kernel {

/*!
 * \brief Takes the motion during a sweep out of FMCW lines: all samples of a line are
 * brought to one instant, as if the antenna had stood still (stop and go).
 *
 * Formulas: sweep_alignment_math.h. Line n is made of lines n - before() to n + after().
 */
class SAR_KERNEL_API sweep_alignment
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    explicit sweep_alignment(const sweep_alignment_params& params);

    int samples() const { return d_samples; }
    int before() const { return d_before * d_step; }
    int after() const { return (d_taps - 1 - d_before) * d_step; }
    //! Largest error in the band, relative to an echo, dB.
    double error_bound_db() const { return d_error_bound_db; }
    //! Largest power of the noise of a sample, of noise of power 1.
    double noise_gain() const { return d_noise_gain; }
    //! The band in use.
    double doppler_band_hz() const { return d_band_hz; }

    /*!
     * \brief Line \p number.
     * \param lines before() + 1 + after() lines of samples() values, null where there is
     *              none: it counts as zeros
     */
    void line(std::int64_t number, const cf32* const* lines, cf32* out) const;

private:
    int d_samples;
    int d_taps;
    int d_step;       // lines from tap to tap: 2 for a triangle
    int d_before = 0; // taps
    double d_band_hz = 0;
    double d_error_bound_db = 0;
    double d_noise_gain = 0;
    std::vector<cf32> d_weights; // [way out, way back][tap][sample]
};

} // namespace kernel
} // namespace sar
} // namespace gr
