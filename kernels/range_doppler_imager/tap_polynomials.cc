// SPDX-License-Identifier: GPL-3.0-or-later
#include "tap_polynomials.h"
#include "../core/constants.h"
#include <algorithm>
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int terms = tap_polynomials::terms;

//! The polynomial of degree terms - 1 through (x[i], y[i]), by Newton's differences.
void polynomial_through(const double (&x)[terms], double (&y)[terms], float (&c)[terms])
{
    for (int order = 1; order < terms; ++order)
        for (int i = terms - 1; i >= order; --i)
            y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - order]);
    double p[terms] = { y[terms - 1] };
    for (int i = terms - 2; i >= 0; --i) { // p <- p (x - x[i]) + y[i]
        for (int n = terms - 1; n > 0; --n)
            p[n] = p[n - 1] - x[i] * p[n];
        p[0] = y[i] - x[i] * p[0];
    }
    std::copy_n(p, terms, c);
}

} // namespace

tap_polynomials tap_polynomials::of(migration_interpolation how,
                                    const std::vector<rcm::tap_quad>& table,
                                    double& worst)
{
    tap_polynomials p = {};
    worst = 0;
    if (how == migration_interpolation::linear) {
        p.even[0][0] = 0.5f;
        p.odd[0][0] = -1;
        return p;
    }
    const int taps = rcm::taps_of(how);
    const int quads = rcm::width_of(how) / 4;
    const auto tap = [&](int row, int k) {
        return static_cast<double>(table[row * quads + k / 4].w[k % 4]);
    };
    const auto position = [](int row) {
        return static_cast<double>(row) / rcm::phases - 0.5;
    };
    for (int k = 0; k < taps / 2; ++k) {
        double squares[terms];
        double e[terms];
        double o[terms];
        for (int i = 0; i < terms; ++i) {
            const double node = 0.5 * std::cos(pi * (2 * i + 1) / (4 * terms));
            const int row = static_cast<int>(std::lrint((node + 0.5) * rcm::phases));
            const double u = position(row);
            squares[i] = u * u;
            e[i] = (tap(row, k) + tap(row, taps - 1 - k)) / 2;
            o[i] = (tap(row, k) - tap(row, taps - 1 - k)) / (2 * u);
        }
        polynomial_through(squares, e, p.even[k]);
        polynomial_through(squares, o, p.odd[k]);
    }
    for (int row = 0; row <= rcm::phases; ++row) {
        const double u = position(row);
        for (int k = 0; k < taps / 2; ++k) {
            double e = 0;
            double o = 0;
            for (int n = terms - 1; n >= 0; --n) {
                e = e * u * u + p.even[k][n];
                o = o * u * u + p.odd[k][n];
            }
            worst = std::max({ worst,
                               std::abs(e + u * o - tap(row, k)),
                               std::abs(e - u * o - tap(row, taps - 1 - k)) });
        }
    }
    return p;
}

} // namespace kernel
} // namespace sar
} // namespace gr
