// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of range cell migration correction, for one row (Doppler bin) and one cell.
//
// In the range-Doppler domain a point with closest range R0 lies at range R0 / D(f): see
// range_doppler.h. Cell n of the output stands for the closest range R0(n), and its value
// is that of the line at
//
//     x(n) = (R0(n) / D(f) + bias - first) / spacing                samples
//
// between two samples of which one of the interpolators below makes it. With a velocity
// and a centroid that are the same over the swath x is a straight line in n; else D is
// that of the cell's own velocity and Doppler frequency.
//
// Secondary range compression comes first: the spectrum of the line over range frequency
// ft is multiplied by exp(+j 2 pi src_cycles(ft / f0)).

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/phasor.h"
#include "../core/range_doppler.h"

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief How a value between two samples of a line is made.
 *
 * Written by users as "nearest", "linear", "sinc8", "sinc16", "exact", "fixed". The error
 * of each, measured, stands in docs/accuracy.md.
 */
enum class migration_interpolation {
    nearest, //!< the closest sample
    linear,  //!< straight line between two samples
    sinc8,   //!< 8 taps of a Kaiser-windowed sinc
    sinc16,  //!< 16 taps of a Kaiser-windowed sinc
    exact,   //!< 10 taps of least squares on a grid twice as fine, made by FFT
    fixed,   //!< linear; position with 16 bits of index and 8 of weight
};

namespace rcm {

//! Samples that an interpolation reads.
SAR_HD constexpr int taps_of(migration_interpolation i)
{
    return i == migration_interpolation::exact     ? 10
           : i == migration_interpolation::sinc16  ? 16
           : i == migration_interpolation::sinc8   ? 8
           : i == migration_interpolation::nearest ? 1
                                                   : 2;
}

//! Grid points per sample of the line.
SAR_HD constexpr int grid_of(migration_interpolation i)
{
    return i == migration_interpolation::exact ? 2 : 1;
}

//! Rows of the tables of taps per grid point: sinc_phases of interpolator.h.
constexpr int phases = 512;
//! Longest line whose index has 16 bits.
constexpr int longest_fixed_line = 1 << 16;

//! One row of a frame: where it reads the line, and its SRC.
struct row {
    double first;  //!< grid point that belongs to cell 0
    double step;   //!< grid points from cell to cell
    src_phase src; //!< see range_doppler.h
};

//! first and step hold where velocity and centroid are uniform.
SAR_HD row row_of(const range_doppler_frame& f, int k, int grid)
{
    const double frequency = doppler_frequency(f, k, f.centroid_hz);
    const double factor = migration_factor(frequency, f.velocity_m_s, f.carrier_hz);
    const double slope = f.geometry == image_geometry::centroid ? f.factor : 1.0;
    return { grid * migrated_sample(f, closest_range(f, 0), factor),
             grid * slope / factor,
             src_of_row(f, factor) };
}

//! Grid point that belongs to cell \p n of a row, uniform velocity and centroid.
SAR_HD double uniform_position(const row& r, int n) { return r.first + r.step * n; }

//! The same with the cell's own velocity and centroid.
SAR_HD double
cell_position(const range_doppler_frame& f, const doppler_column& c, int k, int grid)
{
    const double frequency = doppler_frequency(f, k, c.centroid_hz);
    const double factor = migration_factor(frequency, c.velocity_m_s, f.carrier_hz);
    return grid * migrated_sample(f, c.closest_m, factor);
}

// ---- secondary range compression, and the finer grid
// -------------------------------------

//! Sizes of the transforms of a line, for host and device.
struct transform_shape {
    int samples = 0; //!< of the line
    int length = 0;  //!< of the forward transform, >= samples: zeros behind the line
    int padded = 0;  //!< of the inverse: length, or twice that for the finer grid
    bool src = false;
    double bin_step = 0; //!< range frequency over carrier from bin to bin
};

//! Factor of bin \p k of \p length, counted from -length / 2 on: SRC, and one over the
//! length of the forward transform.
SAR_HD cf32 bin_factor(const transform_shape& s, const src_phase& p, int k)
{
    const float scale = 1.0f / static_cast<float>(s.length);
    if (!s.src)
        return { scale, 0.0f };
    return scale * unit_phasor(fractional_cycles(src_cycles(p, k * s.bin_step)));
}

//! Factor of the bin at half the sampling rate, length even. It is half of +fs/2 and half
//! of -fs/2: \p sign picks one for the finer grid, 0 gives both for the same grid.
SAR_HD cf32 middle_factor(const transform_shape& s, const src_phase& p, int sign)
{
    const int k = s.length / 2;
    if (sign == 0)
        return 0.5f * (bin_factor(s, p, k) + bin_factor(s, p, -k));
    return 0.5f * bin_factor(s, p, sign > 0 ? k : -k);
}

// ---- interpolation
// ----------------------------------------------------------------------

//! Sample \p i of a line that is zero outside.
SAR_HD cf32 edged(const cf32* line, int samples, int i)
{
    return static_cast<unsigned>(i) < static_cast<unsigned>(samples) ? line[i]
                                                                     : cf32{ 0, 0 };
}

//! Sum of \p taps samples, weighted between two rows of a table. In partial sums, so that
//! compilers use vector registers and additions need not wait for each other.
template <int taps>
SAR_HD cf32 weighted(const cf32* x, const float* table, float between)
{
    constexpr int lanes = taps % 4 == 0 ? 4 : 2;
    float re[lanes] = {};
    float im[lanes] = {};
    for (int k = 0; k < taps; k += lanes)
        for (int l = 0; l < lanes; ++l) {
            const float a = table[k + l];
            const float w = a + between * (table[taps + k + l] - a);
            re[l] += w * x[k + l].re;
            im[l] += w * x[k + l].im;
        }
    for (int l = lanes / 2; l > 0; l /= 2)
        for (int m = 0; m < l; ++m) {
            re[m] += re[m + l];
            im[m] += im[m + l];
        }
    return { re[0], im[0] };
}

//! A position in fixed point.
struct fixed_position {
    int index;  //!< 0 .. 65535 (-1 just before the line)
    int weight; //!< of the sample behind it, in 1/256: 0 .. 255
};

//! \p at in_reach() of a line.
SAR_HD fixed_position to_fixed(double at)
{
    // the sum is positive: truncation is rounding down
    const int q = static_cast<int>(at * 256 + (256 + 0.5)) - 256;
    return { q >> 8, q & 255 };
}

SAR_HD cf32 fixed_value(cf32 a, cf32 b, int weight)
{
    const float w = static_cast<float>(weight) * (1.0f / 256.0f);
    return { a.re + w * (b.re - a.re), a.im + w * (b.im - a.im) };
}

//! Is there a sample within reach of this grid point? False for a NaN.
template <migration_interpolation how>
SAR_HD bool in_reach(double at, int samples)
{
    constexpr int reach = taps_of(how) > 2 ? taps_of(how) : 1;
    return at > -reach && at < static_cast<double>(samples) + (reach - 1);
}

/*!
 * \brief Value of a line at grid point \p at, which may be any number.
 *
 * \param line samples on the grid; those outside count as 0
 * \param table of taps, [phases + 2][taps]; unused below 8 taps
 */
template <migration_interpolation how>
SAR_HD cf32 value_at(const cf32* line, int samples, double at, const float* table)
{
    constexpr int taps = taps_of(how);
    if (!in_reach<how>(at, samples))
        return { 0, 0 };
    if constexpr (how == migration_interpolation::fixed) {
        const fixed_position p = to_fixed(at);
        return fixed_value(
            edged(line, samples, p.index), edged(line, samples, p.index + 1), p.weight);
    } else if constexpr (how == migration_interpolation::nearest) {
        return edged(line, samples, static_cast<int>(at + (taps + 0.5)) - taps);
    } else {
        // the sum is positive: truncation is rounding down
        const int whole = static_cast<int>(at + taps) - taps;
        const float fraction = static_cast<float>(at - whole);
        if constexpr (how == migration_interpolation::linear) {
            const cf32 a = edged(line, samples, whole);
            const cf32 b = edged(line, samples, whole + 1);
            return { a.re + fraction * (b.re - a.re), a.im + fraction * (b.im - a.im) };
        } else {
            const float position = fraction * phases;
            const int p = static_cast<int>(position);
            const float between = position - static_cast<float>(p);
            const float* const rows = table + p * taps;
            const int first = whole - (taps / 2 - 1);
            if (first >= 0 && first <= samples - taps)
                return weighted<taps>(line + first, rows, between);
            cf32 sum = { 0, 0 };
            for (int k = 0; k < taps; ++k) {
                const float w = rows[k] + between * (rows[taps + k] - rows[k]);
                sum = sum + w * edged(line, samples, first + k);
            }
            return sum;
        }
    }
}

} // namespace rcm
} // namespace kernel
} // namespace sar
} // namespace gr
