// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of chirp scaling, for one row (Doppler bin f): raw echoes of a linear FM
// pulse in the range-Doppler domain, before range compression.
//
// There the echo of a point with closest range R0 is a chirp in the middle of which the
// delay is 2 R0 / (c D), D = D(f) the migration factor, and whose rate is, by the
// coupling of range and azimuth,
//
//     1 / Km = 1 / K - Z,     Z = c R0 f^2 / (2 V^2 f0^3 D^3)
//
// 1. Scaling. Times exp(j pi Km (Dref / D - 1) (t - 2 Rref / (c D))^2) the chirp becomes
//    one of rate Ks = Km Dref / D about R0 / Dref: all points then migrate alike, by
//    Rref (1 / D - 1 / Dref).
// 2. In the spectrum over range frequency ft: range compression, secondary range
//    compression and that common migration,
//        exp(j pi ft^2 D / (Km Dref)) exp(j 4 pi ft Rref / c (1 / D - 1 / Dref))
//    The matched filter of the pulse is used for it, times what is left,
//    exp(j pi ft^2 (D / (Km Dref) - 1 / K)), and the orders 3 to 5 of range_doppler.h.
// 3. Per cell, the phase that the scaling left:
//        exp(-j 4 pi Km / c^2 (1 - D / Dref) ((R0 - Rref) / D)^2)
//
// The row keeps -2 f0 R0 D / c cycles, which azimuth_filter takes off. No interpolation.
//
// Dref is 1 for the zero-Doppler geometry, and that of the centroid for the other: then
// cells lie where the geometry wants them. Km is that of the middle of the swath.
//
// Source: Cumming and Wong, Digital Processing of Synthetic Aperture Radar Data, chapter
// 7 (7.2, 7.5, 7.19, 7.30 to 7.32); Raney et al., "Precision SAR processing using chirp
// scaling", IEEE Transactions on Geoscience and Remote Sensing 32 (1994).

#include "../core/cf32.h"
#include "../core/constants.h"
#include "../core/hd.h"
#include "../core/phasor.h"
#include "../core/range_doppler.h"

namespace gr {
namespace sar {
namespace kernel {
namespace scaling {

//! What all rows have in common, for host and device.
struct shape {
    int samples = 0;        //!< of a raw row
    int cols = 0;           //!< cells of a row of the image
    int length = 0;         //!< of the forward transform
    int padded = 0;         //!< of the inverse one
    double sampling_hz = 0; //!< of the raw row
    double chirp_rate = 0;  //!< K, Hz/s, with its sign
    double carrier_hz = 0;  //!< f0
    double first_s = 0;     //!< delay of sample 0 less that of a pulse's middle and bias
    double reference_m = 0; //!< Rref
    double reference_factor = 1; //!< Dref
    double shift_s = 0;          //!< 2 / c times what cell 0 lies beyond sample 0
    double cell_first_m = 0;     //!< closest range of cell 0
    double cell_m = 0;           //!< and from cell to cell
};

//! One row.
struct row {
    double factor; //!< D
    double rate;   //!< Km
    src_phase src; //!< of the middle of the swath
};

//! Z: what the coupling adds to one over the chirp rate, s^2.
SAR_HD double coupling(double closest_m,
                       double frequency_hz,
                       double factor,
                       double velocity_m_s,
                       double carrier_hz)
{
    const double x = frequency_hz / (velocity_m_s * carrier_hz);
    return speed_of_light * closest_m * x * x /
           (2 * carrier_hz * factor * factor * factor);
}

SAR_HD row row_of(const range_doppler_frame& f, const shape& s, int number)
{
    const double frequency = doppler_frequency(f, number, f.centroid_hz);
    const double d = migration_factor(frequency, f.velocity_m_s, f.carrier_hz);
    const double z = coupling(s.reference_m, frequency, d, f.velocity_m_s, f.carrier_hz);
    return { d, 1 / (1 / s.chirp_rate - z), src_of_row(f, d) };
}

//! Phase of the scaling at sample \p n of the raw row, cycles.
SAR_HD double scaling_cycles(const shape& s, const row& r, int n)
{
    const double t =
        n / s.sampling_hz + s.first_s - 2 * s.reference_m / (speed_of_light * r.factor);
    return 0.5 * r.rate * (s.reference_factor / r.factor - 1) * t * t;
}

//! Phase that the matched filter is multiplied with at range frequency \p ft, cycles.
SAR_HD double filter_cycles(const shape& s, const row& r, double ft)
{
    const double x = ft / s.carrier_hz;
    const double bulk =
        2 * s.reference_m / speed_of_light * (1 / r.factor - 1 / s.reference_factor);
    return 0.5 * ft * ft * (r.factor / (r.rate * s.reference_factor) - 1 / s.chirp_rate) +
           x * x * x * (r.src.c3 + x * (r.src.c4 + x * r.src.c5)) +
           ft * (bulk + s.shift_s);
}

//! Phase that takes off what the scaling left at cell \p n, cycles.
SAR_HD double residual_cycles(const shape& s, const row& r, int n)
{
    const double x =
        (s.cell_first_m + n * s.cell_m - s.reference_m) / (r.factor * speed_of_light);
    return -2 * r.rate * (1 - r.factor / s.reference_factor) * x * x;
}

//! A chirp of rate Ks is sqrt(K / Ks) as strong in its spectrum as one of rate K.
SAR_HD double gain(const shape& s, const row& r)
{
    return sqrt(fabs(r.rate * s.reference_factor / (r.factor * s.chirp_rate)));
}

SAR_HD cf32 scaling_factor(const shape& s, const row& r, int n)
{
    return unit_phasor(fractional_cycles(scaling_cycles(s, r, n)));
}

//! Factor of bin \p k, counted from -length / 2 on, beside the matched filter.
SAR_HD cf32 filter_factor(const shape& s, const row& r, int k)
{
    return static_cast<float>(gain(s, r)) * unit_phasor(fractional_cycles(filter_cycles(
                                                s, r, k * (s.sampling_hz / s.length))));
}

SAR_HD cf32 residual_factor(const shape& s, const row& r, int n)
{
    return unit_phasor(fractional_cycles(residual_cycles(s, r, n)));
}

/*!
 * \brief The phases of a row as polynomials, in cycles: over samples n (scaling), bins k
 * counted from -length / 2 on (filter), cells n (residual).
 *
 * Samples, bins and cells are whole numbers, so whole cycles of the terms of order 0 and
 * 1 are left out: what remains is small enough to be counted in 2^-32 of a cycle.
 */
struct row_phases {
    double scaling[3];
    double filter[6];
    double residual[3];
    double gain;
};

SAR_HD double without_whole_cycles(double cycles) { return cycles - rint(cycles); }

SAR_HD row_phases phases_of(const shape& s, const row& r)
{
    const double a = 0.5 * r.rate * (s.reference_factor / r.factor - 1);
    const double t0 = s.first_s - 2 * s.reference_m / (speed_of_light * r.factor);
    const double ts = 1 / s.sampling_hz;
    const double hz = s.sampling_hz / s.length;
    const double x = hz / s.carrier_hz;
    const double bulk =
        2 * s.reference_m / speed_of_light * (1 / r.factor - 1 / s.reference_factor);
    const double b = -2 * r.rate * (1 - r.factor / s.reference_factor);
    const double first = (s.cell_first_m - s.reference_m) / (r.factor * speed_of_light);
    const double step = s.cell_m / (r.factor * speed_of_light);
    row_phases p;
    p.scaling[0] = without_whole_cycles(a * t0 * t0);
    p.scaling[1] = without_whole_cycles(2 * a * t0 * ts);
    p.scaling[2] = a * ts * ts;
    p.filter[0] = 0;
    p.filter[1] = without_whole_cycles(hz * (bulk + s.shift_s));
    p.filter[2] =
        0.5 * hz * hz * (r.factor / (r.rate * s.reference_factor) - 1 / s.chirp_rate);
    p.filter[3] = x * x * x * r.src.c3;
    p.filter[4] = x * x * x * x * r.src.c4;
    p.filter[5] = x * x * x * x * x * r.src.c5;
    p.residual[0] = without_whole_cycles(b * first * first);
    p.residual[1] = without_whole_cycles(2 * b * first * step);
    p.residual[2] = b * step * step;
    p.gain = gain(s, r);
    return p;
}

//! c[0] + c[1] x + .. + c[N - 1] x^(N - 1)
template <int N>
SAR_HD double polynomial(const double (&c)[N], double x)
{
    double v = c[N - 1];
    for (int i = N - 2; i >= 0; --i)
        v = fma(v, x, c[i]);
    return v;
}

//! The most that the phases of a row count, cycles.
SAR_HD double largest_cycles(const shape& s, const row_phases& p)
{
    const double n = s.samples > s.cols ? s.samples : s.cols;
    const double k = s.length / 2;
    const double by_sample = n * (fabs(p.scaling[1]) + n * fabs(p.scaling[2]));
    const double by_cell = n * (fabs(p.residual[1]) + n * fabs(p.residual[2]));
    const double by_bin =
        k *
        (fabs(p.filter[1]) +
         k * (fabs(p.filter[2]) +
              k * (fabs(p.filter[3]) + k * (fabs(p.filter[4]) + k * fabs(p.filter[5])))));
    return 1 + fmax(by_sample, fmax(by_cell, by_bin));
}

} // namespace scaling
} // namespace kernel
} // namespace sar
} // namespace gr
