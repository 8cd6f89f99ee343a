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
#include <type_traits>

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

//! Samples that an interpolation weighs.
SAR_HD constexpr int taps_of(migration_interpolation i)
{
    return i == migration_interpolation::exact     ? 10
           : i == migration_interpolation::sinc16  ? 16
           : i == migration_interpolation::sinc8   ? 8
           : i == migration_interpolation::nearest ? 1
                                                   : 2;
}

/*!
 * \brief Samples that it reads.
 *
 * `exact` reads from an even sample on, two samples at a time (cells lie about two grid
 * points apart, so that all threads of a warp, each with its two, read without gaps): its
 * 10 taps are stored as 12, once from the first on and once from the second on, the
 * others 0.
 */
SAR_HD constexpr int width_of(migration_interpolation i)
{
    return i == migration_interpolation::exact ? 12 : taps_of(i);
}

//! Grid points per sample of the line.
SAR_HD constexpr int grid_of(migration_interpolation i)
{
    return i == migration_interpolation::exact ? 2 : 1;
}

//! Rows of a table of taps per grid point: sinc_phases of interpolator.h.
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

//! SRC of bin \p k, counted from -length / 2 on.
SAR_HD cf32 src_factor(const transform_shape& s, const src_phase& p, int k)
{
    return unit_phasor(fractional_cycles(src_cycles(p, k * s.bin_step)));
}

//! What the unscaled transforms to and fro are to be scaled by.
SAR_HD float scale_of(const transform_shape& s)
{
    return 1.0f / static_cast<float>(s.length);
}

//! Factor of bin \p k: SRC and scale.
SAR_HD cf32 bin_factor(const transform_shape& s, const src_phase& p, int k)
{
    return scale_of(s) * (s.src ? src_factor(s, p, k) : cf32{ 1, 0 });
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

//! Four taps that are loaded at once.
struct alignas(16) tap_quad {
    float w[4];
};

//! Where the value of a cell comes from.
struct place {
    int first;     //!< sample that the first weight is for; may lie outside the line
    int row;       //!< of the table of taps
    float between; //!< share of the next row; linear, fixed: of the next sample
};

/*!
 * \brief The place of grid point \p at, which may be any number.
 *
 * One that no sample is in reach of, or a NaN, becomes one before the line: 0. Without
 * branches, so that loops vectorise.
 */
template <migration_interpolation how>
SAR_HD place place_of(double at, int samples)
{
    constexpr int taps = taps_of(how);
    constexpr int reach = taps > 2 ? taps : 1;
    const bool reachable =
        (at > -reach) & (at < static_cast<double>(samples) + (reach - 1));
    const double x = reachable ? at : -reach;
    // sums are positive: truncation is rounding down
    if constexpr (how == migration_interpolation::fixed) {
        const int q = static_cast<int>(x * 256 + (256 + 0.5)) - 256;
        return { q >> 8, 0, static_cast<float>(q & 255) * (1.0f / 256.0f) };
    } else if constexpr (how == migration_interpolation::nearest) {
        return { static_cast<int>(x + 1.5) - 1, 0, 0.0f };
    } else {
        const int whole = static_cast<int>(x + taps) - taps;
        const float fraction = static_cast<float>(x - whole);
        if constexpr (how == migration_interpolation::linear)
            return { whole, 0, fraction };
        const float position = fraction * phases;
        const int row = static_cast<int>(position);
        const float between = position - static_cast<float>(row);
        const int first = whole - (taps / 2 - 1);
        if constexpr (how == migration_interpolation::exact)
            return { first & ~1, row + (first & 1) * (phases + 2), between };
        return { first, row, between };
    }
}

//! Is all that is read for a place within the line?
template <migration_interpolation how>
SAR_HD bool is_inner(const place& p, int samples)
{
    return (p.first >= 0) & (p.first <= samples - width_of(how));
}

struct sample_quad {
    cf32 v[4];
};

//! A line of which samples are read that exist.
struct inner_line {
    const cf32* samples;
    SAR_HD cf32 at(int i) const { return samples[i]; }
    SAR_HD sample_quad four(int i) const
    {
        return { { samples[i], samples[i + 1], samples[i + 2], samples[i + 3] } };
    }
};

//! The same, read two samples at a time from even ones on.
struct paired_line {
    struct alignas(16) pair {
        cf32 v[2];
    };
    const cf32* samples; //!< a multiple of 16 bytes
    SAR_HD cf32 at(int i) const { return samples[i]; }
    SAR_HD sample_quad four(int i) const
    {
        const pair* p = reinterpret_cast<const pair*>(samples + i);
        const pair a = p[0];
        const pair b = p[1];
        return { { a.v[0], a.v[1], b.v[0], b.v[1] } };
    }
};

//! A line that is zero outside its samples.
struct edged_line {
    const cf32* samples;
    int count;
    SAR_HD cf32 at(int i) const
    {
        return static_cast<unsigned>(i) < static_cast<unsigned>(count) ? samples[i]
                                                                       : cf32{ 0, 0 };
    }
    SAR_HD sample_quad four(int i) const
    {
        return { { at(i), at(i + 1), at(i + 2), at(i + 3) } };
    }
};

//! Value at a place. \param table of taps: see rcmc.h; unused below 8 taps
template <migration_interpolation how, typename Line>
SAR_HD cf32 value_of(Line line, const place& p, const tap_quad* table)
{
    if constexpr (taps_of(how) == 1) {
        return line.at(p.first);
    } else if constexpr (taps_of(how) == 2) {
        const cf32 a = line.at(p.first);
        const cf32 b = line.at(p.first + 1);
        return { a.re + p.between * (b.re - a.re), a.im + p.between * (b.im - a.im) };
    } else {
        constexpr int quads = width_of(how) / 4;
        const tap_quad* const rows = table + p.row * quads;
        // partial sums: vector registers, and additions that need not wait
        float re[4] = {};
        float im[4] = {};
        for (int q = 0; q < quads; ++q) {
            const tap_quad a = rows[q];
            const tap_quad b = rows[q + quads];
            const sample_quad x = line.four(p.first + 4 * q);
            for (int l = 0; l < 4; ++l) {
                const float w = a.w[l] + p.between * (b.w[l] - a.w[l]);
                re[l] += w * x.v[l].re;
                im[l] += w * x.v[l].im;
            }
        }
        return { (re[0] + re[2]) + (re[1] + re[3]), (im[0] + im[2]) + (im[1] + im[3]) };
    }
}

//! What value_of() reads the inside of a line through.
template <migration_interpolation how>
using line_for =
    std::conditional_t<how == migration_interpolation::exact, paired_line, inner_line>;

//! Value of a line of \p samples at grid point \p at, which may be any number.
template <migration_interpolation how>
SAR_HD cf32 value_at(const cf32* line, int samples, double at, const tap_quad* table)
{
    const place p = place_of<how>(at, samples);
    return is_inner<how>(p, samples)
               ? value_of<how>(line_for<how>{ line }, p, table)
               : value_of<how>(edged_line{ line, samples }, p, table);
}

} // namespace rcm
} // namespace kernel
} // namespace sar
} // namespace gr
