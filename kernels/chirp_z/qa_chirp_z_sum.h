// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of the chirp-Z transform share: noise, and the sum itself.

#include "../core/constants.h"
#include "../core/qa_noise.h"
#include "chirp_z.h"
#include <complex>

namespace gr {
namespace sar {

//! The definition in double, phases in long double.
inline std::vector<cf32> direct_sum(const kernel::chirp_z_params& p,
                                    const std::vector<cf32>& x)
{
    std::vector<cf32> y;
    for (std::size_t line = 0; line < x.size() / p.samples_in; ++line)
        for (int k = 0; k < p.samples_out; ++k) {
            const long double f = p.first + static_cast<long double>(p.step) * k;
            std::complex<double> sum = 0;
            for (int n = 0; n < p.samples_in; ++n) {
                const long double cycles =
                    (n - static_cast<long double>(p.reference)) * f;
                const double a = 2 * pi * static_cast<double>(cycles - rintl(cycles));
                const cf32 v = x[line * p.samples_in + n];
                const cf32 w = p.weights.empty() ? cf32{ 1, 0 } : p.weights[n];
                sum += std::complex<double>(v.re, v.im) *
                       std::complex<double>(w.re, w.im) *
                       std::polar(1.0, p.inverse ? a : -a);
            }
            if (p.inverse)
                sum /= p.samples_in;
            y.push_back(
                { static_cast<float>(sum.real()), static_cast<float>(sum.imag()) });
        }
    return y;
}

} // namespace sar
} // namespace gr
