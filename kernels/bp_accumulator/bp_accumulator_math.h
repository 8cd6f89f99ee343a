// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of direct back-projection, for one pixel and one pulse.
//
//   image(p) = 1/N sum over pulses n of  s_n(x) exp(+j 2 pi kappa r)
//
//   R  = |p - tx|  (one antenna),  (|p - tx| + |p - rx|) / 2  (two antennas)      m
//   r  = R + bias - D    what the instrument measures; D: distance of the antenna(s) to
//                        the reference point of motion-compensated lines, else 0   m
//   x  = (r - first) / spacing                        index into the line samples kappa =
//   2 fc / c                                  cycles per metre of range
//
// A compressed line holds a point at r as p(x - x_r) exp(-j 2 pi kappa r) with p(0) = 1
// (acquisition.h, range_axis), so a unit point gives 1. The phase uses r, bias included,
// as that convention does. For an instrument whose bias shifts the echo but not its
// carrier (a trigger offset) the image has the constant phase 2 pi kappa bias; nothing
// else changes. Source: Munson, O'Brien, Jenkins, "A tomographic formulation of
// spotlight-mode synthetic aperture radar", Proc. IEEE 71 (1983); Gorham, Moore, "SAR
// image formation toolbox for MATLAB", SPIE 7699 (2010).
//
// Two ways to get x and the phase:
//   exact  R in double for each pixel and pulse; phase in cycles, double, reduced to its
//          fraction before it becomes float.
//   fast   per tile and pulse, R is expanded to second order around the tile's centre c,
//          with u, v the row and column distances from the centre in pixels:
//            R(u, v) = R0 + g . d + (|d|^2 - (g . d)^2) / (2 R0),   d = u row_step + v
//            col_step
//          g = (c - tx) / R0. Coefficients in double, evaluation in float relative to the
//          centre, whose index and phase are split into whole and fraction in double. The
//          centre is a pixel, so u and v are whole numbers, and of the phase's slopes in
//          cycles a pixel only the fraction matters too: no float holds more than some
//          20 cycles, whatever the wavelength.
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
namespace kernel {
namespace bp {

//! Rows and columns of a tile: what one range expansion serves.
constexpr int tile_size = 32;
//! Offset of the centre of a tile from its first row or column, pixels: a whole number.
constexpr int tile_centre = tile_size / 2;
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

// ---- exact
// -----------------------------------------------------------------------------

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

// ---- fast
// ------------------------------------------------------------------------------

//! Lines that fast mode can serve: their indices are exact in float, with room to spare.
constexpr int longest_fast_line = 1 << 23;

//! A quadratic function of u and v.
template <typename T>
struct quadric {
    T c, u, v, uu, uv, vv;
    SAR_HD T at(T a, T b) const
    {
        return c + (a * (u + a * uu + b * uv) + b * (v + b * vv));
    }
};

//! Expansion of one pulse around the centre of one tile.
struct expansion {
    quadric<float> bins;   //!< index into the line minus bin
    quadric<float> cycles; //!< phase, but for whole cycles
    float low, high;       //!< the swath, counted like bins
    int bin;               //!< whole part of the centre's index
};

//! Distance from \p antenna around \p centre, to second order, m.
SAR_HD quadric<double> expand_distance(const scene& s, vec3 centre, vec3 antenna)
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
    const vec3 centre = static_cast<double>(row + tile_centre) * s.row_step +
                        static_cast<double>(col + tile_centre) * s.col_step;
    quadric<double> q = expand_distance(s, centre, p.tx);
    if (s.bistatic) {
        const quadric<double> b = expand_distance(s, centre, p.rx);
        q = { 0.5 * (q.c + b.c),   0.5 * (q.u + b.u),   0.5 * (q.v + b.v),
              0.5 * (q.uu + b.uu), 0.5 * (q.uv + b.uv), 0.5 * (q.vv + b.vv) };
    }
    const double r = q.c + p.offset_m;
    const double x = (r - s.first_m) * s.bins_per_m;
    // far outside any swath, or NaN: no pixel is inside
    const bool usable = x > -longest_fast_line && x < longest_fast_line;
    if (!usable)
        return { {}, {}, 1.0f, 0.0f, -1 };
    const double whole = floor(x);
    const double b = s.bins_per_m;
    const double k = s.cycles_per_m;
    return { { static_cast<float>(x - whole),
               static_cast<float>(q.u * b),
               static_cast<float>(q.v * b),
               static_cast<float>(q.uu * b),
               static_cast<float>(q.uv * b),
               static_cast<float>(q.vv * b) },
             { fractional_cycles(r * k),
               fractional_cycles(q.u * k),
               fractional_cycles(q.v * k),
               static_cast<float>(q.uu * k),
               static_cast<float>(q.uv * k),
               static_cast<float>(q.vv * k) },
             static_cast<float>(-whole),
             static_cast<float>(s.samples - 1 - whole),
             static_cast<int>(whole) };
}

//! \p i, \p j: row and column in the tile.
SAR_HD look fast_look(const expansion& e, int i, int j)
{
    const float u = static_cast<float>(i - tile_centre);
    const float v = static_cast<float>(j - tile_centre);
    const float w = e.bins.at(u, v);
    const bool inside = (w >= e.low) & (w <= e.high);
    const float safe_w = inside ? w : e.low;
    const float below = floorf(safe_w);
    const float cycles = e.cycles.at(u, v);
    return { e.bin + static_cast<int>(below), // 0 when outside
             safe_w - below,
             cycles - rintf(cycles),
             inside };
}

/*!
 * \brief Bound of the phase error of fast_look, rad.
 *
 * Remainder of the expansion, see above, plus float rounding: about eight roundings of
 * numbers not larger than the phase across the tile, with slopes of half a cycle a pixel.
 *
 * \param nearest_m  smallest distance of an antenna to a pixel of the grid, m
 * \param farthest_m largest
 * \return infinity where the expansion says nothing (antenna close to the tile), or NaN
 */
SAR_HD double fast_phase_bound_rad(const scene& s, double nearest_m, double farthest_m)
{
    const double a = length(s.row_step + s.col_step);
    const double b = length(s.row_step - s.col_step);
    const double radius = tile_centre * (a > b ? a : b);
    const double reach = tile_centre * (length(s.row_step) + length(s.col_step));
    // a partial tile's centre may lie outside the grid: keep a radius away from it
    const double r = nearest_m - 2 * radius;
    if (!(r > radius))
        return nearest_m - nearest_m == 0 ? HUGE_VAL : nearest_m;
    const double remainder_m = 0.19245009 * radius * radius * radius / (r * r);
    const double across = tile_size + s.cycles_per_m * reach * reach / r;
    const double rounding = 8 * 5.9604645e-8 * 0.5 * across;
    // the centre in double, as in exact_phase_bound_rad
    const double centre = s.cycles_per_m * farthest_m * 8 * 1.1102230246251565e-16;
    return 6.283185307179586 * (s.cycles_per_m * remainder_m + rounding + centre) + 4e-7;
}

//! Bound of the phase error of exact_look, rad: double rounding of the range, and float
//! rounding of the phase's fraction and of the phasor.
SAR_HD double exact_phase_bound_rad(const scene& s, double farthest_m)
{
    return 6.283185307179586 * s.cycles_per_m * farthest_m * 8 * 1.1102230246251565e-16 +
           4e-7;
}

// ---- interpolation
// ---------------------------------------------------------------------

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
SAR_HD constexpr int taps_before(interpolation i)
{
    return i >= interpolation::sinc8 ? taps_of(i) / 2 - 1 : 0;
}
//! Samples behind bin that an interpolation reads (nearest: the one behind, or bin).
SAR_HD constexpr int taps_behind(interpolation i)
{
    return i >= interpolation::sinc8 ? taps_of(i) / 2 : 1;
}

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

// ---- accumulation
// ----------------------------------------------------------------------

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
} // namespace kernel
} // namespace sar
} // namespace gr
