// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of direct back-projection, for one pixel and one pulse.
//
//   image(p) = 1/N sum over pulses n of  s_n(x) exp(+j 2 pi kappa r)
//
//   R  = |p - tx|  (one antenna),  (|p - tx| + |p - rx|) / 2  (two antennas)      m
//   r  = R + bias - D    what the instrument measures; D: distance of the antenna(s) to
//                        the reference point of motion-compensated lines, else 0   m
//   x  = (r - first) / spacing                        index into the line          samples
//   kappa = 2 fc / c                                  cycles per metre of range
//
// A compressed line holds a point at r as p(x - x_r) exp(-j 2 pi kappa r) with p(0) = 1
// (acquisition.h, range_axis), so a unit point gives 1. The phase uses r, bias included, as
// that convention does. For an instrument whose bias shifts the echo but not its carrier
// (a trigger offset) the image has the constant phase 2 pi kappa bias; nothing else changes. Source: Munson, O'Brien, Jenkins, "A tomographic formulation of
// spotlight-mode synthetic aperture radar", Proc. IEEE 71 (1983); Gorham, Moore, "SAR image
// formation toolbox for MATLAB", SPIE 7699 (2010).
//
// Two ways to get x and the phase:
//   exact  R in double for each pixel and pulse; phase in cycles, double, reduced to its
//          fraction before it becomes float.
//   fast   per tile and pulse, R is expanded to second order around the tile's centre c,
//          with u, v the row and column distances from the centre in pixels:
//            R(u, v) = R0 + g . d + (|d|^2 - (g . d)^2) / (2 R0),   d = u row_step + v col_step
//          g = (c - tx) / R0. Coefficients in double, evaluation in float relative to the
//          centre, whose index and phase are split into whole and fraction in double.
//          Remainder: third derivative of a distance along a line is
//          -3 cos(a) sin(a)^2 / R^2, |.| <= 2 / sqrt(3) / R^2, so the error is at most
//          r^3 / (3 sqrt(3)) / R_min^2 = 0.1925 r^3 / R_min^2 metres for |d| <= r.

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/interpolator.h"
#include "../core/phasor.h"
#include "../core/vec3.h"
#include <cmath>

namespace gr {
namespace sar {
namespace bp {

//! Rows and columns of a tile: what one range expansion serves.
constexpr int tile_size = 32;
//! Offset of the centre of a tile from its first row or column, pixels.
constexpr float tile_centre = 0.5f * (tile_size - 1);
//! Pulses that are summed in plain float before a compensated addition to the image.
constexpr int chunk_pulses = 64;

//! Geometry and axis, relative to pixel (0, 0): large map coordinates cancel in double.
struct scene {
    vec3 row_step;       //!< m
    vec3 col_step;       //!< m
    double first_m;      //!< range of the first sample
    double bins_per_m;   //!< 1 / spacing
    double cycles_per_m; //!< kappa = 2 fc / c
    int rows;
    int cols;
    int samples;  //!< of a line
    int bistatic; //!< 0: rx is not looked at
};

//! One pulse; positions relative to pixel (0, 0).
struct pulse {
    vec3 tx;
    vec3 rx;
    double offset_m; //!< bias - D
};

//! What is launched at once. On CUDA a kernel parameter: it travels in the constant bank,
//! without staging memory and without a wait of the host.
struct chunk {
    pulse pulses[chunk_pulses];
    int line[chunk_pulses]; //!< index of the pulse's line behind the first one
    int count;
};

//! Where a pixel looks into a line, and the phase that brings the echo to zero.
struct look {
    int bin;        //!< sample at or before the point
    float fraction; //!< how far behind it, 0 .. 1
    float cycles;   //!< -0.5 .. 0.5
    bool inside;    //!< false: outside the swath, contributes nothing
};

// ---- exact -----------------------------------------------------------------------------

//! r of the file's head for the point \p d relative to pixel (0, 0), m.
SAR_HD double measured_range_m(const scene& s, const pulse& p, vec3 d)
{
    const double to = length(d - p.tx);
    return (s.bistatic ? 0.5 * (to + length(d - p.rx)) : to) + p.offset_m;
}

SAR_HD look look_at_range(const scene& s, double r)
{
    const double x = (r - s.first_m) * s.bins_per_m;
    // written so that a NaN is outside; & rather than &&, so that loops vectorise
    const bool inside = (x >= 0.0) & (x <= static_cast<double>(s.samples - 1));
    const double safe_x = inside ? x : 0.0;
    const double safe_r = inside ? r : 0.0;
    const int bin = static_cast<int>(safe_x);
    return { bin,
             static_cast<float>(safe_x - bin),
             fractional_cycles(safe_r * s.cycles_per_m),
             inside };
}

SAR_HD look exact_look(const scene& s, const pulse& p, double row, double col)
{
    return look_at_range(s, measured_range_m(s, p, row * s.row_step + col * s.col_step));
}

// ---- fast ------------------------------------------------------------------------------

//! Lines that fast mode can serve: their indices are exact in float, with room to spare.
constexpr int longest_fast_line = 1 << 23;

//! Expansion of one pulse around the centre of one tile. Lengths in bins.
struct expansion {
    float u, v, uu, uv, vv; //!< coefficients of the row and column distance in pixels
    float fraction;         //!< of the centre's index
    float cycles;           //!< of the centre's phase, -0.5 .. 0.5
    float cycles_per_bin;
    float low, high; //!< the swath, counted like fraction
    int bin;         //!< whole part of the centre's index
};

struct quadric {
    double r, u, v, uu, uv, vv;
};

//! Distance from \p antenna around \p centre, to second order, m.
SAR_HD quadric expand_distance(const scene& s, vec3 centre, vec3 antenna)
{
    const vec3 away = centre - antenna;
    const double r = length(away);
    const double gu = dot(away, s.row_step) / r;
    const double gv = dot(away, s.col_step) / r;
    return { r,
             gu,
             gv,
             (dot(s.row_step, s.row_step) - gu * gu) / (2 * r),
             (dot(s.row_step, s.col_step) - gu * gv) / r,
             (dot(s.col_step, s.col_step) - gv * gv) / (2 * r) };
}

//! \p row, \p col: first pixel of the tile.
SAR_HD expansion expand(const scene& s, const pulse& p, int row, int col)
{
    const vec3 centre = (row + static_cast<double>(tile_centre)) * s.row_step +
                        (col + static_cast<double>(tile_centre)) * s.col_step;
    quadric q = expand_distance(s, centre, p.tx);
    if (s.bistatic) {
        const quadric b = expand_distance(s, centre, p.rx);
        q = { 0.5 * (q.r + b.r),   0.5 * (q.u + b.u),   0.5 * (q.v + b.v),
              0.5 * (q.uu + b.uu), 0.5 * (q.uv + b.uv), 0.5 * (q.vv + b.vv) };
    }
    const double r = q.r + p.offset_m;
    const double x = (r - s.first_m) * s.bins_per_m;
    // far outside any swath, or NaN: no pixel is inside
    const bool usable = x > -longest_fast_line && x < longest_fast_line;
    const double whole = usable ? floor(x) : 0.0;
    expansion e;
    e.u = static_cast<float>(q.u * s.bins_per_m);
    e.v = static_cast<float>(q.v * s.bins_per_m);
    e.uu = static_cast<float>(q.uu * s.bins_per_m);
    e.uv = static_cast<float>(q.uv * s.bins_per_m);
    e.vv = static_cast<float>(q.vv * s.bins_per_m);
    e.fraction = usable ? static_cast<float>(x - whole) : 0.0f;
    e.cycles = usable ? fractional_cycles(r * s.cycles_per_m) : 0.0f;
    e.cycles_per_bin = static_cast<float>(s.cycles_per_m / s.bins_per_m);
    e.low = usable ? static_cast<float>(-whole) : 1.0f;
    e.high = usable ? static_cast<float>(s.samples - 1 - whole) : 0.0f;
    e.bin = static_cast<int>(whole);
    return e;
}

//! \p u, \p v: distance from the tile's centre, pixels.
SAR_HD look fast_look(const expansion& e, float u, float v)
{
    const float delta = u * (e.u + u * e.uu + v * e.uv) + v * (e.v + v * e.vv);
    const float w = e.fraction + delta;
    const bool inside = (w >= e.low) & (w <= e.high);
    const float safe_w = inside ? w : e.low;
    const float below = floorf(safe_w);
    const float cycles = e.cycles + e.cycles_per_bin * delta;
    return { e.bin + static_cast<int>(below), // 0 when outside
             safe_w - below,
             cycles - rintf(cycles),
             inside };
}

/*!
 * \brief Bound of the phase error of fast_look, rad.
 *
 * Remainder of the expansion, see above, plus float rounding: about eight roundings of
 * numbers not larger than the reach of the tile, in cycles.
 *
 * \param nearest_m smallest distance of an antenna to a pixel of the grid, m
 * \return infinity where the expansion says nothing (antenna close to the tile), or NaN
 */
SAR_HD double fast_phase_bound_rad(const scene& s, double nearest_m)
{
    const double half = 0.5 * (tile_size - 1);
    const vec3 diagonal = half * (s.row_step + s.col_step);
    const vec3 other = half * (s.row_step - s.col_step);
    const double a = length(diagonal);
    const double b = length(other);
    const double radius = a > b ? a : b;
    const double reach = half * (length(s.row_step) + length(s.col_step));
    // a partial tile's centre may lie outside the grid: keep a radius away from it
    const double r = nearest_m - 2 * radius;
    if (!(r > radius))
        return nearest_m - nearest_m == 0 ? HUGE_VAL : nearest_m;
    const double remainder_m = 0.19245009 * radius * radius * radius / (r * r);
    const double rounding_m = 8 * 5.9604645e-8 * reach * (1 + reach / r);
    return 6.283185307179586 * s.cycles_per_m * (remainder_m + rounding_m) + 4e-7;
}

//! Bound of the phase error of exact_look, rad: double rounding of the range, and float
//! rounding of the phase's fraction and of the phasor.
SAR_HD double exact_phase_bound_rad(const scene& s, double farthest_m)
{
    return 6.283185307179586 * s.cycles_per_m * farthest_m * 8 * 1.1102230246251565e-16 +
           4e-7;
}

// ---- interpolation ---------------------------------------------------------------------

//! A line of which samples are read that exist.
struct inner_line {
    const cf32* samples;
    SAR_HD cf32 at(int i) const { return samples[i]; }
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
};

//! Samples before bin that an interpolation reads; behind it, taps_of() - 1 - this many.
SAR_HD constexpr int taps_before(interpolation i) { return i >= interpolation::sinc8 ? taps_of(i) / 2 - 1 : 0; }
//! Samples behind bin that an interpolation reads (nearest: the one behind, or bin).
SAR_HD constexpr int taps_behind(interpolation i) { return i >= interpolation::sinc8 ? taps_of(i) / 2 : 1; }

//! Four taps that are loaded at once.
struct alignas(16) tap_quad {
    float w[4];
};

/*!
 * \brief Value of the line \p fraction samples behind \p bin.
 * \param table sinc_table() of interpolator.h; unused for nearest and linear
 */
template <interpolation I, typename Line>
SAR_HD cf32 interpolate(Line line, int bin, float fraction, const tap_quad* table)
{
    if constexpr (I == interpolation::nearest) {
        return line.at(bin + (fraction >= 0.5f ? 1 : 0));
    } else if constexpr (I == interpolation::linear) {
        const cf32 a = line.at(bin);
        const cf32 b = line.at(bin + 1);
        return { a.re + fraction * (b.re - a.re), a.im + fraction * (b.im - a.im) };
    } else {
        constexpr int quads = taps_of(I) / 4;
        const float position = fraction * sinc_phases;
        const int row = static_cast<int>(position);
        const float t = position - static_cast<float>(row);
        const tap_quad* taps = table + row * quads;
        const int first = bin - taps_before(I);
        cf32 sum = { 0, 0 };
        for (int q = 0; q < quads; ++q) {
            const tap_quad a = taps[q];
            const tap_quad b = taps[q + quads];
            for (int k = 0; k < 4; ++k) {
                const float w = a.w[k] + t * (b.w[k] - a.w[k]);
                const cf32 v = line.at(first + 4 * q + k);
                sum.re += w * v.re;
                sum.im += w * v.im;
            }
        }
        return sum;
    }
}

// ---- accumulation ----------------------------------------------------------------------

//! A running sum and what its roundings lost (Neumaier's form of Kahan's sum).
struct pixel_sum {
    cf32 sum;
    cf32 lost;
};
static_assert(sizeof(pixel_sum) == 16, "one 128-bit load");

SAR_HD void add_compensated(float& sum, float& lost, float x)
{
    const float s = sum + x;
    const float y = s - sum;
    lost += (sum - (s - y)) + (x - y);
    sum = s;
}

//! Add the sum of a chunk. \return false when it is not finite: left out, to be counted
SAR_HD bool add_chunk(pixel_sum& p, cf32 chunk_sum)
{
    const float zero = (chunk_sum.re - chunk_sum.re) + (chunk_sum.im - chunk_sum.im);
    if (!(zero == 0.0f))
        return false;
    add_compensated(p.sum.re, p.lost.re, chunk_sum.re);
    add_compensated(p.sum.im, p.lost.im, chunk_sum.im);
    return true;
}

//! Mean over the pulses of all sub-images. \p stride: pixels between sub-images.
SAR_HD cf32 mean_of_slots(const pixel_sum* p, long long stride, int slots, double scale)
{
    double re = 0;
    double im = 0;
    for (int k = 0; k < slots; ++k) {
        const pixel_sum s = p[k * stride];
        re += static_cast<double>(s.sum.re) + s.lost.re;
        im += static_cast<double>(s.sum.im) + s.lost.im;
    }
    return { static_cast<float>(re * scale), static_cast<float>(im * scale) };
}

} // namespace bp
} // namespace sar
} // namespace gr
