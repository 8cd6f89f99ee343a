// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The functions of stolt_math.h over the bins of a row as polynomials: square roots and
// divisions in double precision would take a GPU longer than the transforms.

#include "../core/constants.h"
#include "../stolt/stolt_math.h"

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

} // namespace stolt_map
} // namespace kernel
} // namespace sar
} // namespace gr
