// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Pulses and noise for the C++ tests that look for them.

#include "cf32.h"
#include "constants.h"
#include "window.h"
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

namespace gr {
namespace sar {

using complex_double = std::complex<double>;
using samples = std::vector<cf32>;

inline cf32 to_cf32(complex_double v)
{
    return { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
}

//! LFM over `band` of the sampling rate, t in samples from the pulse's start.
inline complex_double chirp(double t, int n, double band, const window& shape)
{
    const double u = t - 0.5 * n;
    return shape(u / n) * std::polar(1.0, pi * band / n * u * u);
}

inline samples lfm(int n, double band, const std::string& shape = "rect")
{
    const window w(shape);
    samples p(n);
    for (int i = 0; i < n; ++i)
        p[i] = to_cf32(chirp(i, n, band, w));
    return p;
}

//! The band-limited signal through the samples of a pulse, `delay` samples late: the
//! sum of sincs, which is what a converter with an ideal filter sends.
inline void add(samples& x, const samples& pulse, double delay, complex_double amplitude)
{
    for (int n = 0; n < static_cast<int>(x.size()); ++n) {
        complex_double v = 0;
        for (int k = 0; k < static_cast<int>(pulse.size()); ++k) {
            const double t = n - delay - k;
            const double s = std::abs(t) < 1e-12 ? 1 : std::sin(pi * t) / (pi * t);
            v += s * complex_double(pulse[k].re, pulse[k].im);
        }
        x[n] = x[n] + to_cf32(amplitude * v);
    }
}

inline void add_noise(samples& x, double power, std::mt19937& random)
{
    std::normal_distribution<double> part(0, std::sqrt(power / 2));
    for (cf32& v : x)
        v = v + to_cf32({ part(random), part(random) });
}

inline double energy(const samples& x)
{
    double e = 0;
    for (const cf32 v : x)
        e += norm(v);
    return e;
}

inline double angle(double a) { return std::remainder(a, 2 * pi); }

} // namespace sar
} // namespace gr
