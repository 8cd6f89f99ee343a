// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/constants.h"
#include "../core/hd.h"

namespace gr {
namespace sar {
namespace kernel {

//! Sizes of a compression, for host and device.
struct pulse_compression_shape {
    bool frequency_domain = false;
    int samples = 0;        //!< of a raw line
    int oversampling = 1;   //!< output samples per input sample
    int length = 0;         //!< of the forward transform (matched filter only)
    int padded = 0;         //!< of the inverse transform
    int centre = 0;         //!< FX: raw sample that becomes bin 0
    int direction = 1;      //!< FX: sign of the frequency step
    bool conjugate = false; //!< FX: conjugate raw samples first (phase_sign +1)
};

/*!
 * \brief Bin of a spectrum of \p length that bin \p j of the zero-padded spectrum of
 * \p padded bins is made of; -1: a zero.
 *
 * Zeros go between the highest positive and the lowest negative frequency. For even
 * lengths the bin at half the sampling rate is both: it is put on either side, and the
 * filter carries the factor 1/2 that this needs when padded > length.
 */
SAR_HD int padded_source_bin(int j, int length, int padded)
{
    const int half = length / 2;
    if (j <= half)
        return j;
    return j >= padded - half ? j - (padded - length) : -1;
}

/*!
 * \brief FX: raw sample k that belongs in bin \p j of the inverse transform, or -1.
 *
 * The sum over k of X[k] exp(+j 2 pi d (k - k0) m / padded), d the sign of the frequency
 * step, is an inverse DFT with X[k] in bin d (k - k0) modulo padded.
 */
SAR_HD int sample_of_bin(const pulse_compression_shape& s, int j)
{
    const int above = s.direction > 0 ? s.samples - 1 - s.centre : s.centre;
    const int offset = j <= above ? j : j - s.padded;
    const int k = s.centre + s.direction * offset;
    return k >= 0 && k < s.samples ? k : -1;
}

//! FX: value of bin \p j of the inverse transform of a raw line.
SAR_HD cf32 frequency_bin(const pulse_compression_shape& s,
                          const cf32* line,
                          const cf32* weights,
                          int j)
{
    const int k = sample_of_bin(s, j);
    if (k < 0)
        return { 0, 0 };
    return weights[k] * (s.conjugate ? conj(line[k]) : line[k]);
}

/*!
 * \brief Phase of an LFM pulse, cycles: Kr u^2 / 2, u seconds from the pulse's middle.
 *
 * \param t_s            time from the pulse's reference, s
 * \param middle_s       time of the middle from the reference: Tp/2 (start) or 0 (centre)
 */
SAR_HD double lfm_cycles(double t_s, double middle_s, double chirp_rate_hz_per_s)
{
    const double u = t_s - middle_s;
    return 0.5 * chirp_rate_hz_per_s * u * u;
}

//! FMCW: takes the residual video phase off sample \p x, \p factor that of a line with
//! the chirp rate of the acquisition.
SAR_HD cf32 without_residual_video(cf32 x, cf32 factor, bool way_back)
{
    return x * (way_back ? conj(factor) : factor);
}

//! FMCW: phase that takes off the residual video phase at range \p range_m, cycles.
SAR_HD double deskew_cycles(double range_m, double chirp_rate_hz_per_s)
{
    const double tau = 2.0 * range_m / speed_of_light;
    return -0.5 * chirp_rate_hz_per_s * tau * tau;
}

} // namespace kernel
} // namespace sar
} // namespace gr
