// SPDX-License-Identifier: GPL-3.0-or-later
#include "interpolator.h"
#include "constants.h"
#include "errors.h"
#include "names.h"
#include "window.h"
#include <cmath>

namespace gr {
namespace sar {

namespace {
const name_table<interpolation, 4> interpolations = {
    "interpolation",
    { { { interpolation::nearest, "nearest" },
        { interpolation::linear, "linear" },
        { interpolation::sinc8, "sinc8" },
        { interpolation::sinc16, "sinc16" } } }
};
}

interpolation interpolation_from_name(const std::string& n)
{
    return interpolations.from_name(n);
}
std::string to_string(interpolation i) { return interpolations.to_name(i); }

double sinc_kaiser_beta(int taps, double occupied_band)
{
    const double a = taps * (1 - occupied_band) / 2;
    return a > 1 ? pi * std::sqrt(a * a - 1) : 0.0;
}

double sinc_weight(double d, int taps, double kaiser_beta)
{
    const double u = d / (0.5 * taps);
    if (std::abs(u) >= 1)
        return 0;
    const double sinc = d == 0 ? 1 : std::sin(pi * d) / (pi * d);
    return sinc * bessel_i0(kaiser_beta * std::sqrt(1 - u * u)) / bessel_i0(kaiser_beta);
}

std::vector<float> sinc_table(int taps, double occupied_band)
{
    require(taps >= 2 && taps % 2 == 0,
            "taps is ",
            taps,
            "; expected an even number, 2 or more");
    const double beta = sinc_kaiser_beta(taps, occupied_band);
    std::vector<float> table((sinc_phases + 2) * static_cast<std::size_t>(taps), 0.0f);
    for (int p = 0; p <= sinc_phases; ++p)
        for (int k = 0; k < taps; ++k)
            table[static_cast<std::size_t>(p) * taps + k] = static_cast<float>(
                sinc_weight(static_cast<double>(p) / sinc_phases - (k - (taps / 2 - 1)),
                            taps,
                            beta));
    return table;
}

namespace {

double band_sinc(double band, double d)
{
    const double x = pi * band * d;
    return x == 0 ? 1 : std::sin(x) / x;
}

//! Cholesky decomposition in place, lower triangle; the matrix is positive definite.
void cholesky(std::vector<double>& a, int n)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; ++k)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
        }
}

} // namespace

std::vector<float> least_squares_table(int taps, double occupied_band)
{
    require(taps >= 2 && taps % 2 == 0,
            "taps is ",
            taps,
            "; expected an even number, 2 or more");
    require(occupied_band > 0 && occupied_band <= 1,
            "occupied_band is ",
            occupied_band,
            "; expected more than 0, at most 1");
    // the normal equations are nearly singular for narrow bands: white noise at -130 dB
    // keeps them solvable and the taps small
    constexpr double noise = 1e-13;
    std::vector<double> a(static_cast<std::size_t>(taps) * taps);
    for (int k = 0; k < taps; ++k)
        for (int l = 0; l < taps; ++l)
            a[k * taps + l] = band_sinc(occupied_band, k - l) + (k == l ? noise : 0);
    cholesky(a, taps);
    std::vector<float> table((sinc_phases + 2) * static_cast<std::size_t>(taps), 0.0f);
    std::vector<double> h(taps);
    for (int p = 0; p <= sinc_phases; ++p) {
        const double at = static_cast<double>(p) / sinc_phases + (taps / 2 - 1);
        for (int i = 0; i < taps; ++i) {
            h[i] = band_sinc(occupied_band, at - i);
            for (int k = 0; k < i; ++k)
                h[i] -= a[i * taps + k] * h[k];
            h[i] /= a[i * taps + i];
        }
        for (int i = taps - 1; i >= 0; --i) {
            for (int k = i + 1; k < taps; ++k)
                h[i] -= a[k * taps + i] * h[k];
            h[i] /= a[i * taps + i];
        }
        for (int k = 0; k < taps; ++k)
            table[static_cast<std::size_t>(p) * taps + k] = static_cast<float>(h[k]);
    }
    return table;
}

} // namespace sar
} // namespace gr
