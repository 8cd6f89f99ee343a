// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The functions of stolt_math.h over the bins of a row as polynomials: square roots and
// divisions in double precision would take a GPU longer than the transforms.

#include "../core/constants.h"
#include "../stolt/stolt_math.h"
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {
namespace stolt_map {

//! Lowest order first.
struct row_polynomials {
    double reference[9]; //!< cycles, over i / length, -1 .. 1
    double position[2];  //!< bins, over 2 k / length, -1 .. 1
    float bend[7];       //!< and what the orders 2 to 8 add, a few bins: x^2 times this
    float weight[5];     //!< over 2 k / length
};

//! The polynomial over -1 .. 1 that equals \p f at the nodes of a Chebyshev polynomial.
template <typename F, typename T, int n>
SAR_HD void chebyshev_through(F&& f, T (&c)[n])
{
    // sums over T[k], whose recurrence then makes powers of them: Clenshaw's, in powers
    double value[n];
    for (int m = 0; m < n; ++m)
        value[m] = f(cos(pi * (m + 0.5) / n));
    double above[n] = {};
    double now[n] = {};
    for (int k = n - 1; k >= 0; --k) {
        double a = 0;
        for (int m = 0; m < n; ++m)
            a += value[m] * cos(pi * k * (m + 0.5) / n);
        a *= (k ? 2.0 : 1.0) / n;
        double next[n];
        for (int i = 0; i < n; ++i)
            next[i] =
                (i == 0 ? a : 0.0) - above[i] + (i > 0 ? (k ? 2 : 1) * now[i - 1] : 0.0);
        for (int i = 0; i < n; ++i) {
            above[i] = now[i];
            now[i] = next[i];
        }
    }
    for (int i = 0; i < n; ++i)
        c[i] = static_cast<T>(now[i]);
}

template <typename T, int n>
SAR_HD T polynomial(const T (&c)[n], T x)
{
    T v = c[n - 1];
    for (int i = n - 2; i >= 0; --i)
        v = fma(v, x, c[i]);
    return v;
}

//! Bin of the row's spectrum for bin x length / 2 of the image's.
SAR_HD double position_by(const row_polynomials& p, double x)
{
    const float v = static_cast<float>(x);
    return fma(p.position[1], x, p.position[0]) + v * v * polynomial(p.bend, v);
}

//! Do all bins of the row and of the image propagate?
SAR_HD bool all_propagate(const shape& s, const row& r)
{
    const double lowest = s.carrier_hz - s.length * s.bin_hz;
    return lowest > 0 && lowest * lowest > r.q2 && r.k0 - s.length / 2 * s.step_hz > 0;
}

//! For a row of which all bins propagate.
SAR_HD row_polynomials polynomials_of(const shape& s, const row& r)
{
    row_polynomials p;
    const double half = s.length / 2.0;
    chebyshev_through(
        [&](double u) { return reference_at(s, r, u * s.length * s.bin_hz); },
        p.reference);
    double position[9];
    chebyshev_through([&](double u) { return position_at(s, r, u * half * s.step_hz); },
                      position);
    for (int i = 0; i < 2; ++i)
        p.position[i] = position[i];
    for (int i = 0; i < 7; ++i)
        p.bend[i] = static_cast<float>(position[i + 2]);
    chebyshev_through([&](double u) { return weight_at(s, r, u * half * s.step_hz); },
                      p.weight);
    return p;
}

// ---- where they serve

//! A row turns by less, so that a kernel can count it: cycles.
constexpr double most_cycles = 1 << 18;
//! What polynomials may be off: of a cycle, of a bin, of the weight.
constexpr double largest_phase_error = 5e-7;
constexpr double largest_position_error = 5e-6;
constexpr double largest_weight_error = 5e-7;

//! Are the polynomials of a row as good as its functions?
inline bool polynomials_serve(const shape& s, const row& r)
{
    constexpr int points = 257;
    const row_polynomials p = polynomials_of(s, r);
    const double half = s.length / 2.0;
    const auto far = [](double a, double b, double limit) {
        return !(std::abs(a - b) <= limit);
    };
    for (int i = 0; i < points; ++i) {
        const double u = 2.0 * i / (points - 1) - 1;
        const double hz = u * half * s.step_hz;
        const double cycles = reference_at(s, r, u * s.length * s.bin_hz);
        const double w = weight_at(s, r, hz);
        if (!(std::abs(cycles) < most_cycles) ||
            far(polynomial(p.reference, u), cycles, largest_phase_error) ||
            far(position_by(p, u), position_at(s, r, hz), largest_position_error) ||
            far(polynomial(p.weight, static_cast<float>(u)), w, largest_weight_error * w))
            return false;
    }
    return true;
}

//! Of all rows of a frame? Looked at in those of the lowest and highest Doppler
//! frequencies, where square roots bend most, and in some between.
inline bool polynomials_serve(const range_doppler_frame& f, const shape& s)
{
    const auto frequency = [&](int k) { return doppler_frequency(f, k, f.centroid_hz); };
    int lowest = 0;
    int highest = 0;
    for (int k = 0; k < f.rows; ++k) {
        if (!all_propagate(s, row_of(f, k)))
            return false;
        if (frequency(k) < frequency(lowest))
            lowest = k;
        if (frequency(k) > frequency(highest))
            highest = k;
    }
    for (const int k : { lowest, highest, 0, f.rows / 3, f.rows / 2 })
        if (!polynomials_serve(s, row_of(f, k)))
            return false;
    return true;
}

} // namespace stolt_map
} // namespace kernel
} // namespace sar
} // namespace gr
