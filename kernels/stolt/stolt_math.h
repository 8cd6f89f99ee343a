// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of the Stolt mapping, for one row (Doppler bin f), one bin of its spectrum
// and one bin of the image's.
//
// The echo of a point with closest range R0 has in the two-dimensional spectrum the
// phase, in cycles, by stationary phase
//
//     -2 R0 K / c - 2 bias (f0 + ft) / c - 1/8,     K(ft) = sqrt((f0 + ft)^2 - q^2),
//     q = c f / (2 V),
//
// ft the range frequency, exactly: carrier, migration and all orders of secondary range
// compression are in it. Over K in place of ft it is a straight line, so that after an
// inverse transform over K every point lies at its closest range, whatever its Doppler
// frequency. K is counted from K0 = K(0) = f0 D(f): then the line keeps the phase
// -2 f0 R0 D / c, which azimuth_filter takes off, and this stage stands in for rcmc.
//
// Before the mapping the range Rm in the middle of the image is moved to delay 0 (the
// reference function), so that the spectrum varies slowly enough to be interpolated:
//
//     2 Rm (K - K0) / c - ft (t_first - 2 bias / c)
//
// t_first the delay of the first sample. K - K0 is written without the difference of
// large numbers. Where q exceeds f0 + ft the wave is evanescent, and the bin is 0.
//
// Source: Cumming and Wong, Digital Processing of Synthetic Aperture Radar Data, chapter
// 8 (8.4 to 8.8); Stolt, "Migration by Fourier transform", Geophysics 43 (1978).

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/phasor.h"
#include "../core/range_doppler.h"
#include "../rcmc/rcmc_math.h"

namespace gr {
namespace sar {
namespace kernel {
namespace stolt_map {

//! Sizes of the transforms of a row and the steps of their bins, for host and device.
struct shape {
    int samples = 0;        //!< of a row
    int cols = 0;           //!< cells of a row of the image
    int length = 0;         //!< of the inverse transform, over K
    int padded = 0;         //!< of the forward one, 2 x length: zeros behind the row
    double carrier_hz = 0;  //!< f0
    double bin_hz = 0;      //!< of ft
    double step_hz = 0;     //!< of K
    double delay_s = 0;     //!< t_first - 2 bias / c
    double reference_s = 0; //!< 2 Rm / c
};

//! One row.
struct row {
    double q2; //!< q^2, Hz^2
    double k0; //!< K0, Hz
};

SAR_HD row row_of(const range_doppler_frame& f, int number)
{
    const double frequency = doppler_frequency(f, number, f.centroid_hz);
    const double q = speed_of_light * frequency / (2 * f.velocity_m_s);
    return { q * q,
             f.carrier_hz * migration_factor(frequency, f.velocity_m_s, f.carrier_hz) };
}

//! Is there a wave at bin \p i (counted from -length on)?
SAR_HD bool propagates(const shape& s, const row& r, int i)
{
    const double sum = s.carrier_hz + i * s.bin_hz;
    return (sum > 0) & (sum * sum > r.q2);
}

//! K - K0 at range frequency \p ft, Hz; 0 where the wave is evanescent.
SAR_HD double k_of(const shape& s, const row& r, double ft)
{
    const double sum = s.carrier_hz + ft;
    const double k2 = sum * sum - r.q2;
    return k2 > 0 ? ft * (s.carrier_hz + sum) / (sqrt(k2) + r.k0) : 0.0;
}

//! Range frequency at K0 + \p k, Hz: sqrt((K0 + k)^2 + q^2) - f0.
SAR_HD double ft_of(const shape& s, const row& r, double k)
{
    const double sum = r.k0 + k;
    return k * (r.k0 + sum) / (sqrt(sum * sum + r.q2) + s.carrier_hz);
}

//! Reference function at range frequency \p ft, cycles.
SAR_HD double reference_at(const shape& s, const row& r, double ft)
{
    return s.reference_s * k_of(s, r, ft) - s.delay_s * ft;
}

//! Of bin \p i, counted from -length on.
SAR_HD double reference_cycles(const shape& s, const row& r, int i)
{
    return reference_at(s, r, i * s.bin_hz);
}

SAR_HD cf32 reference_factor(const shape& s, const row& r, int i)
{
    const float there = propagates(s, r, i) ? 1.0f : 0.0f;
    return there * unit_phasor(fractional_cycles(reference_cycles(s, r, i)));
}

//! Bin of the row's spectrum, -length number 0, that K0 + \p hz lies at: a wave.
SAR_HD double position_at(const shape& s, const row& r, double hz)
{
    return ft_of(s, r, hz) / s.bin_hz + s.length;
}

/*!
 * \brief Where bin \p k of the image's spectrum, counted from -length / 2 on, is read:
 * bin of the row's spectrum from -length on, of which -length is number 0.
 *
 * Outside the bins where K0 + k is no wave.
 */
SAR_HD double position(const shape& s, const row& r, int k)
{
    const double hz = k * s.step_hz;
    return r.k0 + hz > 0 ? position_at(s, r, hz) : -1e9;
}

/*!
 * \brief At K0 + \p hz: d ft / dK = K / (f0 + ft) times the ratio of the steps, over the
 * length of the forward transform: the inverse transform over K is then the integral over
 * ft.
 *
 * The unscaled transforms to and fro leave a sample what it was.
 */
SAR_HD double weight_at(const shape& s, const row& r, double hz)
{
    const double sum = r.k0 + hz;
    return sum / sqrt(sum * sum + r.q2) * s.step_hz / (s.bin_hz * s.padded);
}

SAR_HD float weight(const shape& s, const row& r, int k)
{
    return static_cast<float>(weight_at(s, r, k * s.step_hz));
}

} // namespace stolt_map
} // namespace kernel
} // namespace sar
} // namespace gr
