// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The samples of an FMCW sweep brought to one instant.
//
// Symbols
//   n, k    number of a line, of a sample in it
//   t_n(k)  when sample k of line n was taken, in intervals (1 / PRF): n + s_n(k), where
//           s_n = acquisition::sweep_start_s() + k sweep_step_s(), of the way out or back
//   u       the instant that is asked for, in intervals after the start of the line
//   b       Doppler band that is served, in PRFs
//   f_dc    Doppler centroid at the frequency of sample k, in PRFs, absolute
//
// While a sweep lasts the antenna moves on, so that sample k belongs to another place
// than sample 0. Over n, sample k alone is a signal in slow time, of the Doppler band of
// the scene, that was taken at the times t_n(k); its value at n + u is interpolated:
//   y_n(k) = sum_j w_j(k) exp(-j 2 pi f_dc (t_{n+j}(k) - n - u)) x_{n+j}(k)
// with j = 0, +-1, ..., of a triangle 0, +-2, ...: ways out and back have residual video
// phases of their own and are not mixed.
// This is what multiplying by exp(-j 2 pi f_D t) in the Doppler domain does (Meta,
// Hoogeboom, Ligthart, Signal Processing for FMCW SAR, TGRS 45-11, 2007), for lines that
// come without end. It holds for any track and for targets that move, and what follows
// may take the antenna to stand still.
//
// The weights are those with the least error over the band,
//   integral over |f| < b / 2 of |sum_j w_j exp(j 2 pi f (t_j - u)) - 1|^2,
// so (G + e I) w = g, G_ij = sinc(b (t_i - t_j)), g_i = sinc(b (t_i - u)); e is small and
// keeps G from being singular.

#include "../core/constants.h"
#include <cmath>
#include <complex>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

inline double sinc(double x)
{
    const double a = pi * x;
    return std::abs(a) < 1e-8 ? 1.0 : std::sin(a) / a;
}

//! w of the file's head for samples at the times \p t, by Cholesky. \p ridge is e.
inline std::vector<double>
alignment_weights(const std::vector<double>& t, double u, double band, double ridge)
{
    const int n = static_cast<int>(t.size());
    std::vector<double> l(n * n);
    std::vector<double> w(n);
    for (int i = 0; i < n; ++i) {
        double rest = sinc(band * (t[i] - u));
        for (int j = 0; j <= i; ++j) {
            double sum = sinc(band * (t[i] - t[j])) + (i == j ? ridge : 0.0);
            for (int k = 0; k < j; ++k)
                sum -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
            if (j < i)
                rest -= l[i * n + j] * w[j];
        }
        w[i] = rest / l[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k)
            w[i] -= l[k * n + i] * w[k];
        w[i] /= l[i * n + i];
    }
    return w;
}

//! |sum_j w_j exp(j 2 pi f (t_j - u)) - 1|: by how much a Doppler frequency f (in PRFs,
//! from the centroid) is wrong.
inline double alignment_error(const std::vector<double>& w,
                              const std::vector<double>& t,
                              double u,
                              double f)
{
    std::complex<double> sum = -1;
    for (std::size_t j = 0; j < w.size(); ++j)
        sum += w[j] * std::polar(1.0, 2 * pi * f * (t[j] - u));
    return std::abs(sum);
}

} // namespace kernel
} // namespace sar
} // namespace gr
