// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The maths of polar-format imaging, for one cell of the frequency plane and one pixel.
//
// A compressed line of pulse n, transformed over range, holds a point at p (relative to
// the middle p0 of the grid) as
//
//   Y[n][b] = exp(-j 2 pi kappa_b (R_n(p) - R_n(0))),   kappa_b = 2 f_b / c     cycles/m
//
// once the phase of p0 is taken off. Far away the wavefront is a plane,
// R_n(p) - R_n(0) = g_n . p with g_n the gradient of the range at p0, so that the samples
// lie on rays through the origin of the frequency plane of the grid,
//
//   K = kappa_b (g_n . row_axis, g_n . col_axis),
//
// and the image is their Fourier sum, the one of back-projection but for the plane wave:
//
//   I(q) = 1/N sum_n 1/L sum_b Y[n][b] exp(+j 2 pi K . q)
//
// It is computed as a nonuniform FFT of type 3, so that rays of any direction, order and
// spacing are served alike, with every sample counted once as in back-projection:
//
//   1. cell:  samples are spread onto a lattice of K with the kernel phi(x) of `taps`
//             cells; each cell gathers those within reach of it, from the pulses in order
//             of direction, so that the sum has one order and nothing is locked.
//   2. a two-dimensional FFT, lattice of K to lattice of q.
//   3. pixel: the image at any point of the plane from taps x taps samples of the lattice
//             by the same kernel; what the kernels do to the other domain is divided out.
//
// The wavefront is no plane: R_n(p) - R_n(0) - g_n . p = c_n(p), some |p|^2 / (2 R). The
// point therefore appears at p + D(p), D the least-squares fit of c_n by g_n . D, and
// what the fit leaves, e_n(p), defocuses it. Reading pixel p at p + D(p) puts the point
// back, with the phase that back-projection gives it, since e_n has no mean. D is smooth:
// a polynomial of degree `warp_degree` in row and column.
//
// phi(x) = exp(beta (sqrt(1 - (2 x / taps)^2) - 1)): A. Barnett, J. Magland, L. af
// Klinteberg, "A parallel nonuniform fast Fourier transform library based on an
// 'exponential of semicircle' kernel", SIAM J. Sci. Comput. 41 (2019). With 7 taps on a
// lattice 1.5 times as fine as needed its error is some 1e-5 of the largest value.
// Polar format: W. Carrara, R. Goodman, R. Majewski, Spotlight Synthetic Aperture Radar
// (1995), chapter 3; C. Jakowatz et al., Spotlight-Mode Synthetic Aperture Radar (1996).

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/phasor.h"
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {
namespace pfa {

//! Cells (samples of the image lattice) that the kernel reaches over.
constexpr int taps = 7;
//! Share of either lattice that holds what is wanted: cells that are occupied, and
//! positions that are read.
constexpr double used_share = 1 / 1.5;
constexpr double beta = 0.97 * 3.14159265358979 * (1 - 0.5 * used_share) * taps;

constexpr int warp_degree = 5;
constexpr int taper_terms = 10;

//! A polynomial of x and y, x^i y^j with i + j <= warp_degree.
struct surface {
    double c[(warp_degree + 1) * (warp_degree + 1)];
    SAR_HD double at(double x, double y) const
    {
        double sum = 0;
        for (int i = warp_degree; i >= 0; --i) {
            double inner = 0;
            for (int j = warp_degree - i; j >= 0; --j)
                inner = inner * y + c[i * (warp_degree + 1) + j];
            sum = sum * x + inner;
        }
        return sum;
    }
};

//! One over the Fourier transform of phi at \p f cycles a cell, |f| <= used_share / 2.
struct taper {
    double c[taper_terms];
    SAR_HD double at(double f) const
    {
        const double s = f * f * (4 / (used_share * used_share));
        double sum = 0;
        for (int i = taper_terms - 1; i >= 0; --i)
            sum = sum * s + c[i];
        return sum;
    }
};

//! Sizes and places, for host and device.
struct scene {
    // frequency plane
    int rows, cols;           //!< of the lattice
    int first_row, used_rows; //!< cells that samples reach
    int first_col, used_cols;
    double zero_row, zero_col;     //!< where K = 0 lies, cells
    double ahead_row, ahead_col;   //!< mean direction of the rays, cells, length 1
    double cell_row, cell_col;     //!< cycles/m
    double middle_row, middle_col; //!< K of cell (rows / 2, cols / 2), cycles/m
    int pulses;
    int bins;   //!< samples of a ray
    int lowest; //!< bin of the transform (negative: from its end) that sample 0 is
    // image
    int image_rows, image_cols;
    double first_row_m, first_col_m; //!< of pixel (0, 0), from the middle of the grid
    double row_spacing_m, col_spacing_m;
    double half_row_m, half_col_m; //!< what makes x and y of the surfaces -1 .. 1
    surface warp_row, warp_col;    //!< D, m
    taper flatten;
};

//! One pulse: where its samples lie, lattice cells. Sample b is at row + b row_step.
struct ray {
    double row, row_step, row_inverse;
    double col, col_step, col_inverse; //!< inverse: 1 / step
};

//! The factor of a pulse's samples: weight exp(+j 2 pi (cycles + b cycles_step)).
struct turn {
    double cycles, cycles_step;
    float weight;
    int line; //!< of the store of lines
};

//! Index in a transform of sample \p b.
SAR_HD int bin_of(const scene& s, int b)
{
    const int j = b + s.lowest;
    return j < 0 ? j + s.bins : j;
}

SAR_HD cf32 turned(const turn& t, int b, cf32 v)
{
    return (t.weight * v) * unit_phasor(fractional_cycles(t.cycles + b * t.cycles_step));
}

//! phi(x) phi(y), 0 outside.
SAR_HD float weight(float x, float y)
{
    constexpr float scale = 4.0f / (taps * taps);
    const float u = 1.0f - scale * x * x;
    const float v = 1.0f - scale * y * y;
    const bool inside = (u > 0.0f) & (v > 0.0f);
    const float root = sqrtf(inside ? u : 0.0f) + sqrtf(inside ? v : 0.0f);
    return inside ? expf(static_cast<float>(beta) * (root - 2.0f)) : 0.0f;
}

/*!
 * \brief A cell of the frequency plane: what samples within reach spread onto it.
 *
 * Times +-1, a checkerboard, so that the FFT's image has its middle in the middle, and
 * divided by what the reading of pixels multiplies it with.
 *
 * \param rays, slopes of the pulses in order of direction; slope: across / along, of the
 *        ray in cells against `ahead`, ascending
 * \param spectra [pulses][bins] in the same order, bins as a transform gives them
 */
SAR_HD cf32 cell(const scene& s,
                 const ray* rays,
                 const double* slopes,
                 const cf32* spectra,
                 int row,
                 int col)
{
    constexpr double reach = 0.5 * taps;
    // directions that the square around the cell is seen in from K = 0
    const double y = row - s.zero_row;
    const double x = col - s.zero_col;
    const double along = y * s.ahead_row + x * s.ahead_col;
    const double across = x * s.ahead_row - y * s.ahead_col;
    const double r = reach * (fabs(s.ahead_row) + fabs(s.ahead_col));
    int n = 0;
    double last = HUGE_VAL;
    if (along > r) {
        const double low = (across - r) / (across - r < 0 ? along - r : along + r);
        last = (across + r) / (across + r < 0 ? along + r : along - r);
        int high = s.pulses;
        while (n < high) { // the first slope not below low
            const int middle = (n + high) / 2;
            if (slopes[middle] < low)
                n = middle + 1;
            else
                high = middle;
        }
    }
    float re = 0;
    float im = 0;
    for (; n < s.pulses && slopes[n] <= last; ++n) {
        const ray p = rays[n];
        // samples of the ray that lie within reach, along rows and along columns
        const double a = (row - p.row) * p.row_inverse;
        const double b = (col - p.col) * p.col_inverse;
        const double u = reach * fabs(p.row_inverse);
        const double v = reach * fabs(p.col_inverse);
        const double low = fmax(fmax(a - u, b - v), 0.0);
        const double high = fmin(fmin(a + u, b + v), s.bins - 1.0);
        if (!(low <= high))
            continue;
        const int first = static_cast<int>(ceil(low));
        const int count = static_cast<int>(floor(high)) - first + 1;
        const float from_row = static_cast<float>(p.row + first * p.row_step - row);
        const float from_col = static_cast<float>(p.col + first * p.col_step - col);
        const float row_step = static_cast<float>(p.row_step);
        const float col_step = static_cast<float>(p.col_step);
        const cf32* line = spectra + static_cast<long long>(n) * s.bins;
        for (int k = 0; k < count; ++k) {
            const float w = weight(from_row + k * row_step, from_col + k * col_step);
            const cf32 z = line[bin_of(s, first + k)];
            re += w * z.re;
            im += w * z.im;
        }
    }
    const double flat = s.flatten.at(static_cast<double>(row - s.rows / 2) / s.rows) *
                        s.flatten.at(static_cast<double>(col - s.cols / 2) / s.cols);
    const float f = static_cast<float>((row + col) & 1 ? -flat : flat);
    return { f * re, f * im };
}

/*!
 * \brief A pixel: the lattice of the image read where the pixel's point appears.
 * \param lattice [rows][cols], the transform of the cells
 */
SAR_HD cf32 pixel(const scene& s, const cf32* lattice, int row, int col)
{
    const double p = s.first_row_m + row * s.row_spacing_m;
    const double q = s.first_col_m + col * s.col_spacing_m;
    const double x = p / s.half_row_m;
    const double y = q / s.half_col_m;
    const double row_m = p + s.warp_row.at(x, y);
    const double col_m = q + s.warp_col.at(x, y);
    // cycles a cell, and samples of the lattice
    const double f = row_m * s.cell_row;
    const double g = col_m * s.cell_col;
    const double u = f * s.rows + s.rows / 2;
    const double v = g * s.cols + s.cols / 2;
    const int i = static_cast<int>(ceil(u - 0.5 * taps));
    const int j = static_cast<int>(ceil(v - 0.5 * taps));
    const float from_row = static_cast<float>(i - u);
    const float from_col = static_cast<float>(j - v);
    float wr[taps];
    float wc[taps];
    for (int k = 0; k < taps; ++k) {
        wr[k] = weight(from_row + k, 0.0f);
        wc[k] = (k & 1) ? -weight(from_col + k, 0.0f) : weight(from_col + k, 0.0f);
    }
    float re = 0;
    float im = 0;
    for (int k = 0; k < taps; ++k) {
        const cf32* line = lattice + static_cast<long long>(i + k) * s.cols + j;
        float a = 0;
        float b = 0;
        for (int l = 0; l < taps; ++l) {
            a += wc[l] * line[l].re;
            b += wc[l] * line[l].im;
        }
        const float w = (k & 1) ? -wr[k] : wr[k];
        re += w * a;
        im += w * b;
    }
    const double flat = s.flatten.at(f) * s.flatten.at(g);
    const float scale = static_cast<float>((i + j) & 1 ? -flat : flat);
    const cf32 carrier =
        unit_phasor(fractional_cycles(row_m * s.middle_row + col_m * s.middle_col));
    return carrier * cf32{ scale * re, scale * im };
}

} // namespace pfa
} // namespace kernel
} // namespace sar
} // namespace gr
