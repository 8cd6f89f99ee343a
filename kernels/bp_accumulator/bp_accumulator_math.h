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
//   fast   per tile and pulse, R is expanded to third order around the tile's centre c,
//          with u, v the row and column distances from the centre in pixels:
//            R(u, v) = R0 + a + q - a q / R0,   q = (|d|^2 - a^2) / (2 R0),   a = g . d,
//            d = u row_step + v col_step,       g = (c - tx) / R0
//          Coefficients in double, evaluation in float relative to the centre, whose
//          index and phase are split into whole and fraction in double. The centre is a
//          pixel, so u and v are whole numbers, and of the phase's slopes in cycles a
//          pixel only the fraction matters too: no float holds more than some 20 cycles,
//          whatever the wavelength. Remainder: the fourth derivative of a distance along
//          a line is 3 sin(a)^2 (5 cos(a)^2 - 1) / R^3, |.| <= 3 / R^3, so the error is
//          at most r^4 / (8 R_min^3) metres for |d| <= r.
//
// A third way for devices with fast memory close to their arithmetic, "patches", stands
// below: larger tiles, of which a thread has a row, and lines whose carrier is folded
// into them.

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/interpolator.h"
#include "../core/phasor.h"
#include "../core/vec3.h"
#include <cmath>
#include <cstdint>
#include <cstring>

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

//! How the ranges of a chunk are computed; patch: on devices, along the long axis of a
//! patch of second or third order.
enum class ranging { exact, fast, patch2, patch3 };

//! Where a pixel looks into a line, and the phase that brings the echo to zero.
struct look {
    int bin;        //!< sample at or before the point, or next to that one where the
                    //!< fraction is 1: -1 .. samples - 1
    float fraction; //!< how far behind it, 0 .. 1
    float cycles;   //!< -0.5 .. 0.5
    bool inside;    //!< false: outside the swath, contributes nothing
};

// ---- exact
// -----------------------------------------------------------------------------

/*!
 * \brief length() as far as distances of a radar go, without the branches that a device
 * takes for roots of numbers near 0 or infinity.
 *
 * y is 1 / root to some 20 bits; two Newton steps make it all of a double. Zero gives
 * zero, what is not finite NaN.
 */
SAR_HD double distance_of(vec3 v)
{
#ifdef __CUDA_ARCH__
    const double square = fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, 1e-280)));
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(square));
    const double half = 0.5 * y;
    double root = square * y;
    root = fma(fma(-root, root, square), half, root);
    return fma(fma(-root, root, square), half, root);
#else
    return length(v);
#endif
}

//! r of the file's head for the point \p d relative to pixel (0, 0), m.
SAR_HD double measured_range_m(const scene& s, const pulse& p, vec3 d)
{
    const double to = distance_of(d - p.tx);
    return (s.bistatic ? 0.5 * (to + distance_of(d - p.rx)) : to) + p.offset_m;
}

//! 1.5 2^52: a double added to it is rounded to a whole number, in the lowest bits.
constexpr double whole_magic = 6755399441055744.0;

//! That whole number.
SAR_HD int whole_of(double sum)
{
    std::uint64_t u;
    memcpy(&u, &sum, 8);
    return static_cast<int>(static_cast<std::uint32_t>(u));
}

SAR_HD look look_at_range(const scene& s, double r)
{
    const double middle = (r - s.first_m) * s.bins_per_m - 0.5;
    // written so that a NaN is outside; & rather than &&, so that loops vectorise
    const bool inside =
        (middle >= -0.5) & (middle <= static_cast<double>(s.samples) - 1.5);
    const double below = middle + whole_magic;
    const double cycles = r * s.cycles_per_m;
    const double fraction = cycles - ((cycles + whole_magic) - whole_magic);
    return { inside ? whole_of(below) : 0,
             inside ? static_cast<float>(middle - (below - whole_magic)) + 0.5f : 0.0f,
             inside ? static_cast<float>(fraction) : 0.0f,
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

//! A cubic function of one variable.
struct cubic_line {
    float c, x, xx, xxx;
    SAR_HD float at(float a) const { return c + a * (x + a * (xx + a * xxx)); }
};

//! A cubic function of u and v.
template <typename T>
struct cubic {
    T c, u, v, uu, uv, vv, uuu, uuv, uvv, vvv;
    //! What is left of it where u is \p a: a function of v.
    SAR_HD cubic_line at(T a) const
    {
        return {
            c + a * (u + a * (uu + a * uuu)), v + a * (uv + a * uuv), vv + a * uvv, vvv
        };
    }
};

//! Expansion of one pulse around the centre of one tile.
struct expansion {
    cubic<float> bins;   //!< index into the line minus bin
    cubic<float> cycles; //!< phase, but for whole cycles
    float low, high;     //!< the swath, counted like bins
    int bin;             //!< whole part of the centre's index
};

//! Of it, one row of the tile.
struct row_expansion {
    cubic_line bins;
    cubic_line cycles;
    float low, high;
    int bin;
};

//! Second and third order of a distance.
template <typename T>
struct bends {
    T uu, uv, vv, uuu, uuv, uvv, vvv;
};

/*!
 * \brief Second and third order of a distance, from its slopes along two steps.
 * \param i          1 / distance
 * \param u2, v2, uv products of the steps with themselves and one another
 */
template <typename T>
SAR_HD bends<T> bends_of(T i, T gu, T gv, T u2, T uv, T v2)
{
    const T a = (u2 - gu * gu) * (T(0.5) * i);
    const T b = (uv - gu * gv) * i;
    const T c = (v2 - gv * gv) * (T(0.5) * i);
    return {
        a, b, c, -gu * a * i, -(gu * b + gv * a) * i, -(gu * c + gv * b) * i, -gv * c * i
    };
}

//! Length of \p away + u \p u_step + v \p v_step, to third order, m.
SAR_HD cubic<double> expand_distance(vec3 away, vec3 u_step, vec3 v_step)
{
    const double r = length(away);
    const double i = 1 / r;
    const double gu = dot(away, u_step) * i;
    const double gv = dot(away, v_step) * i;
    const bends<double> b = bends_of(
        i, gu, gv, dot(u_step, u_step), dot(u_step, v_step), dot(v_step, v_step));
    return { r, gu, gv, b.uu, b.uv, b.vv, b.uuu, b.uuv, b.uvv, b.vvv };
}

SAR_HD cubic<double> mean_of(const cubic<double>& a, const cubic<double>& b)
{
    return { 0.5 * (a.c + b.c),     0.5 * (a.u + b.u),     0.5 * (a.v + b.v),
             0.5 * (a.uu + b.uu),   0.5 * (a.uv + b.uv),   0.5 * (a.vv + b.vv),
             0.5 * (a.uuu + b.uuu), 0.5 * (a.uuv + b.uuv), 0.5 * (a.uvv + b.uvv),
             0.5 * (a.vvv + b.vvv) };
}

//! R of the file's head around \p centre (relative to pixel (0, 0)), m.
SAR_HD cubic<double> expand_range(const scene& s, const pulse& p, vec3 centre)
{
    const cubic<double> a = expand_distance(centre - p.tx, s.row_step, s.col_step);
    if (!s.bistatic)
        return a;
    return mean_of(a, expand_distance(centre - p.rx, s.row_step, s.col_step));
}

//! \p q in other units, but for its constant, which is \p c.
SAR_HD cubic<float> scaled(const cubic<double>& q, double k, double c)
{
    return { static_cast<float>(c),         static_cast<float>(q.u * k),
             static_cast<float>(q.v * k),   static_cast<float>(q.uu * k),
             static_cast<float>(q.uv * k),  static_cast<float>(q.vv * k),
             static_cast<float>(q.uuu * k), static_cast<float>(q.uuv * k),
             static_cast<float>(q.uvv * k), static_cast<float>(q.vvv * k) };
}

//! \p row, \p col: first pixel of the tile.
SAR_HD expansion expand(const scene& s, const pulse& p, int row, int col)
{
    const vec3 centre = static_cast<double>(row + tile_centre) * s.row_step +
                        static_cast<double>(col + tile_centre) * s.col_step;
    const cubic<double> q = expand_range(s, p, centre);
    const double r = q.c + p.offset_m;
    const double x = (r - s.first_m) * s.bins_per_m;
    // far outside any swath, or NaN: no pixel is inside
    const bool usable = x > -longest_fast_line && x < longest_fast_line;
    if (!usable)
        return { {}, {}, 1.0f, 0.0f, -1 };
    const double whole = floor(x);
    const double k = s.cycles_per_m;
    cubic<float> cycles = scaled(q, k, 0);
    cycles.c = fractional_cycles(r * k);
    cycles.u = fractional_cycles(q.u * k);
    cycles.v = fractional_cycles(q.v * k);
    return { scaled(q, s.bins_per_m, x - whole),
             cycles,
             static_cast<float>(-whole),
             static_cast<float>(s.samples - 1 - whole),
             static_cast<int>(whole) };
}

//! \p i: row in the tile.
SAR_HD row_expansion row_of(const expansion& e, int i)
{
    const float u = static_cast<float>(i - tile_centre);
    return { e.bins.at(u), e.cycles.at(u), e.low, e.high, e.bin };
}

//! Whether all pixels of the tile are inside the swath, \p before and \p behind samples
//! away from its ends and by more than float may add.
SAR_HD bool all_inside(const expansion& e, int before, int behind)
{
    const cubic<float>& b = e.bins;
    const float t = tile_centre;
    const float reach =
        t * (fabsf(b.u) + fabsf(b.v) +
             t * (fabsf(b.uu) + fabsf(b.uv) + fabsf(b.vv) +
                  t * (fabsf(b.uuu) + fabsf(b.uuv) + fabsf(b.uvv) + fabsf(b.vvv)))) +
        0.01f;
    return (b.c - reach >= e.low + static_cast<float>(before)) &
           (b.c + reach <= e.high - static_cast<float>(behind));
}

//! \p j: column in the tile. Inside: all_inside() is known.
template <bool Inside = false>
SAR_HD look fast_look(const row_expansion& e, int j)
{
    const float v = static_cast<float>(j - tile_centre);
    const float w = e.bins.at(v);
    const bool inside = Inside | ((w >= e.low) & (w <= e.high));
    const float safe_w = inside ? w : e.low;
    const float below = floorf(safe_w);
    const float cycles = e.cycles.at(v);
    return { e.bin + static_cast<int>(below), // 0 when outside
             safe_w - below,
             cycles - rintf(cycles),
             inside };
}

//! \p i, \p j: row and column in the tile.
SAR_HD look fast_look(const expansion& e, int i, int j)
{
    return fast_look(row_of(e, i), j);
}

//! Remainder of an expansion of third order, \p radius_m around a point whose distance
//! to the antenna is \p distance_m or more, m. Infinity where it says nothing.
SAR_HD double expansion_remainder_m(double radius_m, double distance_m)
{
    const double r = distance_m - radius_m;
    if (!(r > radius_m))
        return distance_m - distance_m == 0 ? HUGE_VAL : distance_m;
    const double q = radius_m / r;
    return 0.125 * q * q * q * radius_m;
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
    const double remainder_m = expansion_remainder_m(radius, nearest_m - radius);
    const double across = tile_size + s.cycles_per_m * reach * reach / nearest_m;
    const double rounding = 8 * 5.9604645e-8 * 0.5 * across;
    // the centre in double, as in exact_phase_bound_rad
    const double centre = s.cycles_per_m * farthest_m * 8 * 1.1102230246251565e-16;
    return 6.283185307179586 * (s.cycles_per_m * remainder_m + rounding + centre) + 4e-7;
}

//! Bound of the phase error of exact_look, rad: double rounding of the range, and float
//! rounding of the phase's fraction and of the phasor, on a device of 21 bits.
SAR_HD double exact_phase_bound_rad(const scene& s, double farthest_m)
{
    return 6.283185307179586 * s.cycles_per_m * farthest_m * 8 * 1.1102230246251565e-16 +
           8e-7;
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

// ---- patches
// ---------------------------------------------------------------------------
//
// A patch is 64 x 32 pixels, long along the grid axis nearest to iso-range. The phase of
// the echo is split at the middle r_m of a cell of a line, one of `parts` per sample:
//
//   s(r) exp(j 2 pi kappa r) = [s(r_m + w) exp(j 2 pi kappa r_m)] exp(j f),
//   f = 2 pi kappa w,  |f| <= half a cell
//
// What stands in brackets is stored per cell as a short polynomial in f (folded_cell): so
// the carrier costs nothing per pixel but the sine and cosine of the small f, and the
// interpolation nothing but the polynomial. The range of a pixel is counted in radians of
// the carrier from the middle of the cell of the patch's centre: phi = 2 pi kappa (r -
// r_c); its cell is round(phi / cell), and f = phi - cell round(phi / cell).

constexpr int patch_long = 64;
constexpr int patch_short = 32;
//! Two patches make a square of the image, whichever way they lie.
constexpr int patches_a_square = patch_long / patch_short;

//! Of patch_lane: four pixels of two rows.
constexpr int plain_lay = 7;

//! Pixels of a patch: first row and column, which axis is the long one, and how the lanes
//! of a warp lie in it (patch_lane).
struct patch {
    int row, col;
    int rows_long;
    int lay;
    SAR_HD int rows() const { return rows_long ? patch_long : patch_short; }
    SAR_HD int cols() const { return rows_long ? patch_short : patch_long; }
};

SAR_HD constexpr int patches_of(int rows, int cols)
{
    return ((rows + patch_long - 1) / patch_long) *
           ((cols + patch_long - 1) / patch_long) * patches_a_square;
}

//! Patch \p index of an image, with its long axis as \p p sees it.
SAR_HD patch patch_at(const scene& s, const pulse& p, int index)
{
    const int down = (s.rows + patch_long - 1) / patch_long;
    const int across = (s.cols + patch_long - 1) / patch_long;
    const int square = index / patches_a_square;
    const int part = index % patches_a_square * patch_short;
    // what is computed at the same time shall need the same part of lines: 16 x 16
    // squares
    constexpr int side = 16;
    const int above = square / (side * across) * side;
    const int high = down - above < side ? down - above : side;
    const int in_band = square - above * across;
    const int before = in_band / (side * high) * side;
    const int wide = across - before < side ? across - before : side;
    const int in_tile = in_band - before * high;
    const int row = (above + in_tile / wide) * patch_long;
    const int col = (before + in_tile % wide) * patch_long;
    const vec3 centre =
        (row + 0.5 * patch_long) * s.row_step + (col + 0.5 * patch_long) * s.col_step;
    const vec3 t = centre - p.tx;
    const vec3 r = centre - p.rx;
    const double a = 1 / length(t);
    const double b = 1 / length(r);
    const double u = fabs(a * dot(t, s.row_step) + b * dot(r, s.row_step));
    const double v = fabs(a * dot(t, s.col_step) + b * dot(r, s.col_step));
    const bool rows_long = u < v;
    return {
        rows_long ? row : row + part, rows_long ? col + part : col, rows_long, plain_lay
    };
}

//! First pixel of a thread of a patch; its others follow, patch_lanes apart along x.
struct patch_lane {
    int x, y;
};
constexpr int patch_lanes = 4; //!< of a patch along the long axis
constexpr int patch_threads = patch_lanes * patch_short;
constexpr int patch_lays = 35;

//! The lowest bits of \p bits, in the places of those of \p mask.
SAR_HD int spread_bits(int bits, int mask)
{
    int out = 0;
    for (int place = 1; place < patch_threads; place *= 2)
        if (mask & place) {
            out += bits & 1 ? place : 0;
            bits >>= 1;
        }
    return out;
}

/*!
 * \brief Pixel of thread \p thread where lanes lie as \p lay says.
 *
 * With pixels numbered along x first, those of eight lanes, which read cells together,
 * differ in the three bits of \p lay.
 */
SAR_HD patch_lane lane_of(int thread, int lay)
{
    const int pixel = spread_bits(thread & 7, lay) +
                      spread_bits(thread >> 3, (patch_threads - 1) ^ lay);
    return { pixel % patch_lanes, pixel / patch_lanes };
}

//! All that lane_of() knows, 0 .. patch_lays - 1: the numbers below 128 of three bits.
SAR_HD int lay_number(int n)
{
    int lay = 0;
    do {
        ++lay;
        int bits = 0;
        for (int rest = lay; rest; rest >>= 1)
            bits += rest & 1;
        n -= bits == 3;
    } while (n >= 0);
    return lay;
}

SAR_HD std::uint32_t bits_of(float x)
{
    std::uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
SAR_HD float float_of(std::uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

//! How lines are folded.
struct folding {
    int parts; //!< cells per sample
    int cells; //!< of a line: they end with the last sample
    double cells_per_m;
    //! Of the carrier across a cell, in a unit that makes it a float: all that is
    //! computed in radians here is so in that unit, which differs by 6e-8 of itself. A
    //! thousand radians are counted in cells of exactly this many.
    float radians;
};

//! Cells per sample: a parabola per cell leaves (w / 2)^3 / 15 / sqrt(7) of a tone of w
//! radians a cell; at most 1 / 10 of the cell rate in a band of 2 w / 2 pi keeps it below
//! -80 dB at the edge of the band and -88 dB over it. Straight lines need one.
inline int parts_of(interpolation i, double occupied_band)
{
    if (taps_of(i) <= 2)
        return 1;
    const double parts = ceil(10 * occupied_band - 1e-3);
    return parts > 8 ? 8 : parts > 1 ? static_cast<int>(parts) : 1;
}

inline folding folding_of(const scene& s, int parts)
{
    return { parts,
             (s.samples - 1) * parts + 1,
             s.bins_per_m * parts,
             static_cast<float>(6.283185307179586 * s.cycles_per_m /
                                (s.bins_per_m * parts)) };
}

/*!
 * \brief Range over a patch for one pulse, radians: a cubic function of the pixel's
 * distances x (long axis) and y (short axis) from the centre.
 *
 * The slope along y, by far the steepest, is in two parts: the product of the first and
 * any y is exact.
 */
struct alignas(16) patch_range {
    float c, x, y, xx;
    float xy, y_rest, yy;
    float magic; //!< 1.5 2^23 + cell of the centre - first cell of the segment; or 0:
                 //!< nothing of the patch is inside
    float xxx, xxy, xyy, yyy;
};
static_assert(sizeof(patch_range) == 48, "three 128-bit loads");

//! Cells that the pixels of a patch can touch. None: all of it outside the swath.
struct patch_segment {
    int first;
    int count; //!< negative: partly outside, every pixel is to be looked at
};

//! 1.5 2^23: a float added to it is rounded to a whole number, in the lowest bits.
constexpr float rounding_magic = 12582912.0f;
constexpr unsigned rounding_magic_bits = 0x4b400000u;

//! A cubic function, double where it is large.
struct patch_distance {
    double c, u, v;
    bends<float> b;
};

SAR_HD patch_distance mean_of(const patch_distance& a, const patch_distance& b)
{
    return { 0.5 * (a.c + b.c),
             0.5 * (a.u + b.u),
             0.5 * (a.v + b.v),
             { 0.5f * (a.b.uu + b.b.uu),
               0.5f * (a.b.uv + b.b.uv),
               0.5f * (a.b.vv + b.b.vv),
               0.5f * (a.b.uuu + b.b.uuu),
               0.5f * (a.b.uuv + b.b.uuv),
               0.5f * (a.b.uvv + b.b.uvv),
               0.5f * (a.b.vvv + b.b.vvv) } };
}

/*!
 * \brief expand_distance, and of the fourth order what lower orders can take.
 *
 * With a and q as in the head of this file the fourth order is q (a^2 / R0^2 - q / (2
 * R0)). Of its terms the closest polynomials of lower order over the patch stay, in
 * least squares: x^4 -> 6/7 X^2 x^2 - 3/35 X^4, x^3 y -> 3/5 X^2 x y, x^2 y^2 -> (Y^2
 * x^2 + X^2 y^2) / 3 - X^2 Y^2 / 9, with X and Y half the patch. (The differences are
 * Legendre polynomials.) A float is enough for what bends: it counts some radians.
 */
SAR_HD patch_distance distance_over(vec3 away, vec3 x_step, vec3 y_step)
{
    const double r = distance_of(away);
    const double over_r = 1 / r;
    patch_distance q = { r, dot(away, x_step) * over_r, dot(away, y_step) * over_r, {} };
    const float i = static_cast<float>(over_r);
    const float gu = static_cast<float>(q.u);
    const float gv = static_cast<float>(q.v);
    q.b = bends_of(i,
                   gu,
                   gv,
                   static_cast<float>(dot(x_step, x_step)),
                   static_cast<float>(dot(x_step, y_step)),
                   static_cast<float>(dot(y_step, y_step)));
    constexpr float a = 0.25f * patch_long * patch_long;
    constexpr float b = 0.25f * patch_short * patch_short;
    const float wuu = (gu * gu * i - 0.5f * q.b.uu) * i;
    const float wuv = (2 * gu * gv * i - 0.5f * q.b.uv) * i;
    const float wvv = (gv * gv * i - 0.5f * q.b.vv) * i;
    const float x4 = q.b.uu * wuu;
    const float x3y = q.b.uu * wuv + q.b.uv * wuu;
    const float x2y2 = q.b.uu * wvv + q.b.uv * wuv + q.b.vv * wuu;
    const float xy3 = q.b.uv * wvv + q.b.vv * wuv;
    const float y4 = q.b.vv * wvv;
    q.c -= (a * a * x4 + b * b * y4) * (3.0f / 35) + a * b * x2y2 / 9;
    q.b.uu += a * x4 * (6.0f / 7) + b * x2y2 / 3;
    q.b.uv += 0.6f * (a * x3y + b * xy3);
    q.b.vv += b * y4 * (6.0f / 7) + a * x2y2 / 3;
    return q;
}

/*!
 * \brief Range of \p p over a patch.
 * \param order    3, or 2: without x^3, of which 3/5 X^2 x stays
 * \param longest  cells a segment may have; a longer one counts as partly outside
 */
SAR_HD patch_range range_over(const scene& s,
                              const folding& f,
                              const pulse& p,
                              const patch& t,
                              int order,
                              int longest,
                              patch_segment& segment)
{
    const vec3 centre = (t.row + 0.5 * (t.rows() - 1)) * s.row_step +
                        (t.col + 0.5 * (t.cols() - 1)) * s.col_step;
    const vec3 x_step = t.rows_long ? s.row_step : s.col_step;
    const vec3 y_step = t.rows_long ? s.col_step : s.row_step;
    patch_distance q = distance_over(centre - p.tx, x_step, y_step);
    if (s.bistatic)
        q = mean_of(q, distance_over(centre - p.rx, x_step, y_step));
    if (order == 2) {
        q.u += 0.15f * patch_long * patch_long * q.b.uuu;
        q.b.uuu = 0;
    }
    const double at = (q.c + p.offset_m - s.first_m) * f.cells_per_m - 0.5;
    const bends<float>& d = q.b;
    constexpr float x = 0.5f * (patch_long - 1);
    constexpr float y = 0.5f * (patch_short - 1);
    const float reach = x * (fabsf(static_cast<float>(q.u)) +
                             x * (fabsf(d.uu) + x * fabsf(d.uuu) + y * fabsf(d.uuv))) +
                        y * (fabsf(static_cast<float>(q.v)) +
                             y * (fabsf(d.vv) + y * fabsf(d.vvv) + x * fabsf(d.uvv))) +
                        x * y * fabsf(d.uv);
    // what float and the remainder may add, as far as patches are used at all
    const double margin = reach * f.cells_per_m + 0.02 + 0.01 / f.radians;
    const double low = at - margin;
    const double high = at + margin;
    const double last = static_cast<double>(s.samples - 1) * f.parts - 0.5;
    // written so that a NaN is outside
    if (!(high >= -0.5 && low <= last)) {
        segment = { 0, 0 };
        return {};
    }
    const double first = floor(low + 0.5);
    const double count = floor(high + 0.5) - first + 1;
    if (low < -0.5 || high > last || count > longest) {
        segment = { 0, -1 };
        return {};
    }
    segment = { static_cast<int>(first), static_cast<int>(count) };
    const double whole = rint(at);
    const double k = f.cells_per_m * f.radians;
    const float bend = static_cast<float>(k);
    // 16 bits and the sign; y has five and a sign
    const double along_y = q.v * k;
    const float steep = float_of(bits_of(static_cast<float>(along_y)) & 0xffffff00u);
    return { static_cast<float>((at - whole) * f.radians),
             static_cast<float>(q.u * k),
             steep,
             d.uu * bend,
             d.uv * bend,
             static_cast<float>(along_y - steep),
             d.vv * bend,
             rounding_magic + static_cast<float>(whole - first),
             d.uuu * bend,
             d.uuv * bend,
             d.uvv * bend,
             d.vvv * bend };
}

//! Range along a row of a patch: radians from the middle of a cell.
struct patch_row {
    cubic_line line;
    float magic; //!< 1.5 2^23 + the cell
};

/*!
 * \brief The range along x from \p x on, on the line \p y.
 *
 * What is far from the centre of the patch is hundreds of cells and thousands of radians
 * away; whole cells are taken off before they round the rest.
 */
template <int Order>
SAR_HD patch_row
along(const patch_range& r, float x, float y, float radians_a_cell, float cells_a_radian)
{
    const float far = y * r.y; // exact
    const float slope = r.x + y * (r.xy + y * r.xyy);
    const float bend = r.xx + y * r.xxy;
    float near = r.c + y * (r.y_rest + y * (r.yy + y * r.yyy));
    patch_row out;
    if constexpr (Order == 2) {
        const float half = slope + x * bend;
        near += x * half;
        out.line = { 0, half + x * bend, bend, 0 };
    } else {
        const float twist = x * r.xxx;
        near += x * (slope + x * (bend + twist));
        out.line = { 0, slope + x * (2 * bend + 3 * twist), bend + 3 * twist, r.xxx };
    }
    out.magic = fmaf(far + near, cells_a_radian, r.magic);
    out.line.c = fmaf(r.magic - out.magic, radians_a_cell, far) + near;
    return out;
}

/*!
 * \brief Bound of the phase error of patches, rad.
 *
 * In metres, with X and Y half the sides of the patch, r = X + Y and R the distance of
 * its centre:
 * - fourth order: what polynomials of lower order leave of x^4 is at most 8/35 X^4, of
 *   x^3 y 2/5 X^3 Y, of x^2 y^2 4/9 X^2 Y^2; a fourth derivative along a line is at most
 *   3 / R^3, and so is that along four directions (Banach: a symmetric form is largest
 *   where its arguments are equal);
 * - fifth order: the derivative 15 cos(a) sin(a)^2 (3 - 7 cos(a)^2) / R^4 is at most 9.9
 *   / R^4 in size, which leaves 0.083 r^5 / R_min^4;
 * - x^3, where it is left out: 2/5 X^3 of cos(a) sin(a)^2 / (2 R^2), which is largest at
 *   cos(a)^2 = 1/3;
 * and float rounding, of f and of what stands along x: ten times half a unit of both.
 *
 * \param nearest_m  smallest distance of an antenna to a pixel of the grid, m
 * \param along_m    range from the middle of a patch to the end of its long side, m
 */
SAR_HD double patch_phase_bound_rad(const scene& s,
                                    const folding& f,
                                    int order,
                                    double nearest_m,
                                    double farthest_m,
                                    double along_m)
{
    const double u = length(s.row_step);
    const double v = length(s.col_step);
    const double step = u > v ? u : v;
    const double x = 0.5 * patch_long * step;
    const double y = 0.5 * patch_short * step;
    const double r = x + y; // also where the axes are not at right angles
    const double k = 6.283185307179586 * s.cycles_per_m;
    // a partial patch's centre may lie outside the grid: keep a radius away from it
    const double centre = nearest_m - r;
    const double low = centre - r;
    if (!(low > r))
        return nearest_m - nearest_m == 0 ? HUGE_VAL : nearest_m;
    const double fourth = (x * x * x * x + y * y * y * y) / 35 +
                          0.2 * x * y * (x * x + y * y) + x * x * y * y / 3;
    double left = fourth / (centre * centre * centre) +
                  0.083 * r * r * r * r * r / (low * low * low * low);
    if (order == 2) {
        const double c = along_m / x;
        const double third = c < 0.57735 ? 0.5 * c * (1 - c * c) : 0.19245009;
        left += 0.4 * x * x * x * third / (centre * centre);
    }
    return k * left + 10 * 5.9604645e-8 * (k * along_m + f.radians) +
           k * farthest_m * 8 * 1.1102230246251565e-16 + 1e-6;
}

//! What x^3 may be worth before patches compute it, rad: some -80 dB at most.
constexpr double second_order_phase_error_rad = 3e-4;

/*!
 * \brief One cell of a folded line: a polynomial of f, in four floats.
 *
 * linear: value and slope a radian. Others: value, slope and curvature, where the lowest
 * 14 bits of each float of the slope are the curvature: sign, exponent and 5 bits of
 * mantissa. So the slope is used as it stands (it is rounded with them, to 2^-10 of
 * itself), the curvature is a shift away, and both have the range of a float.
 */
struct alignas(16) folded_cell {
    float re, im;
    std::uint32_t slope_re, slope_im;
};
constexpr int curvature_bits = 14;

SAR_HD bool is_finite(const folded_cell& c)
{
    // an exponent of ones; the curvature beside it is finite where the slope is
    constexpr std::uint32_t ones = 0x7f800000u;
    const float zero = (c.re - c.re) + (c.im - c.im);
    return (zero == 0.0f) & ((c.slope_re & ones) != ones) & ((c.slope_im & ones) != ones);
}

//! The float closest to \p slope whose lowest bits are \p curvature. What is not finite
//! may get lost: the value beside it is not finite either.
SAR_HD std::uint32_t slope_with(float slope, float curvature)
{
    constexpr int out = 32 - curvature_bits;
    constexpr std::uint32_t low = (1u << curvature_bits) - 1;
    const std::uint32_t c = bits_of(curvature);
    const std::uint32_t rounded = (c + (1u << (out - 1)) - 1 + (c >> out & 1)) >> out;
    const std::uint32_t s = bits_of(slope);
    const std::uint32_t magnitude = (s & 0x7fffffffu) + (low + 1) / 2;
    const std::uint32_t high =
        magnitude > rounded ? (magnitude - rounded) & 0x7fffffffu & ~low : 0u;
    return (s & 0x80000000u) | high | rounded;
}
SAR_HD float curvature_in(std::uint32_t slope)
{
    return float_of(slope << (32 - curvature_bits));
}

//! exp(j 2 pi kappa r) in the middle of a cell.
SAR_HD cf32 carrier_of_cell(const scene& s, const folding& f, int cell)
{
    const double r = s.first_m + (cell + 0.5) / f.cells_per_m;
    return unit_phasor(fractional_cycles(r * s.cycles_per_m));
}

//! Samples that an interpolation reads around sample \p bin.
template <interpolation I>
struct samples_around {
    static constexpr int before = taps_before(I);
    cf32 v[before + 1 + taps_behind(I)];
    SAR_HD samples_around(edged_line line, int bin)
    {
        for (int k = 0; k <= before + taps_behind(I); ++k)
            v[k] = line.at(bin - before + k);
    }
};

/*!
 * \brief Cell \p part of sample \p bin of a line.
 * \param carrier carrier_of_cell()
 * \param filter  of interpolations with taps: fold_filter()
 */
template <interpolation I>
SAR_HD folded_cell fold(const folding& f,
                        const samples_around<I>& near,
                        int part,
                        cf32 carrier,
                        const float* filter)
{
    const cf32 e = carrier;
    if constexpr (taps_of(I) <= 2) {
        const cf32 a = near.v[0];
        const cf32 b = near.v[1];
        const cf32 value = e * (0.5f * (a + b));
        const cf32 slope = e * (static_cast<float>(1 / f.radians) * (b - a));
        return { value.re, value.im, bits_of(slope.re), bits_of(slope.im) };
    } else {
        constexpr int taps = taps_of(I);
        const float* h = filter + part * 3 * taps;
        cf32 c[3] = {};
        for (int k = 0; k < taps; ++k) {
            const cf32 v = near.v[k];
            for (int n = 0; n < 3; ++n) {
                c[n].re += h[n * taps + k] * v.re;
                c[n].im += h[n * taps + k] * v.im;
            }
        }
        const cf32 value = e * c[0];
        const cf32 slope = e * c[1];
        const cf32 curvature = e * c[2];
        return { value.re,
                 value.im,
                 slope_with(slope.re, curvature.re),
                 slope_with(slope.im, curvature.im) };
    }
}

//! The polynomial of a cell, \p f radians from its middle.
template <bool Linear>
SAR_HD cf32 value_in(const folded_cell& c, float f)
{
    cf32 slope = { float_of(c.slope_re), float_of(c.slope_im) };
    if constexpr (!Linear) {
        slope.re += f * curvature_in(c.slope_re);
        slope.im += f * curvature_in(c.slope_im);
    }
    return { c.re + f * slope.re, c.im + f * slope.im };
}

//! What a pixel sees of a folded line, for looks that know their phase better than their
//! place in the cell.
template <interpolation I>
SAR_HD cf32 folded_echo(const scene& s, const folding& f, const folded_cell* line, look l)
{
    const float at = l.fraction * static_cast<float>(f.parts);
    const int part =
        at < static_cast<float>(f.parts) ? static_cast<int>(at) : f.parts - 1;
    const int cell = l.bin * f.parts + part;
    const float w =
        (at - static_cast<float>(part) - 0.5f) * static_cast<float>(f.radians);
    return value_in<(taps_of(I) <= 2)>(line[cell], w) *
           (unit_phasor(l.cycles) * conj(carrier_of_cell(s, f, cell)));
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
