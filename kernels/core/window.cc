// SPDX-License-Identifier: GPL-3.0-or-later
#include "window.h"
#include "constants.h"
#include "errors.h"
#include <cmath>
#include <cstdlib>
#include <regex>

namespace gr {
namespace sar {

double bessel_i0(double x)
{
    // power series: converges for every x, terms are positive, so no cancellation
    double term = 1;
    double sum = 1;
    for (int k = 1; term > 1e-17 * sum; ++k) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

window::window(const std::string& text)
{
    static const std::regex form(
        R"(\s*([a-z]+)\s*(?:\(\s*([^,)]*?)\s*(?:,\s*([^)]*?)\s*)?\))?\s*)");
    std::smatch m;
    const char* expected =
        "; expected rect, hamming, hann, taylor(nbar, sll in dB) or kaiser(beta)";
    require(std::regex_match(text, m, form), "window is '", text, "'", expected);
    const auto number = [&](const std::ssub_match& s) {
        const std::string t = s.str();
        char* end = nullptr;
        const double v = std::strtod(t.c_str(), &end);
        require(!t.empty() && *end == '\0' && std::isfinite(v),
                "window is '",
                text,
                "'; '",
                t,
                "' is not a number",
                expected);
        return v;
    };
    const std::string name = m[1];
    if (name == "rect" || name == "hamming" || name == "hann") {
        require(!m[2].matched, "window is '", text, "'; ", name, " takes no arguments");
        d_kind = name == "rect"      ? window_kind::rect
                 : name == "hamming" ? window_kind::hamming
                                     : window_kind::hann;
    } else if (name == "taylor") {
        d_kind = window_kind::taylor;
        require(m[2].matched && m[3].matched, "window is '", text, "'", expected);
        const double nbar = number(m[2]);
        d_nbar = static_cast<int>(nbar);
        // users write the level as 35 or as -35
        d_parameter = std::abs(number(m[3]));
        require(d_nbar == nbar && d_nbar >= 1 && d_nbar <= 64,
                "window is '",
                text,
                "'; nbar is ",
                nbar,
                ", expected a whole number from 1 to 64");
        require(d_parameter >= 10 && d_parameter <= 120,
                "window is '",
                text,
                "'; the sidelobe level is ",
                d_parameter,
                " dB, expected 10 to 120");
        // Taylor 1955; Carrara, Goodman, Majewski, Spotlight SAR, appendix D
        const double a = std::acosh(std::pow(10, d_parameter / 20)) / pi;
        const double s2 = d_nbar * d_nbar / (a * a + (d_nbar - 0.5) * (d_nbar - 0.5));
        for (int k = 1; k < d_nbar; ++k) {
            double num = 1;
            double den = 1;
            for (int i = 1; i < d_nbar; ++i) {
                num *= 1 - k * k / (s2 * (a * a + (i - 0.5) * (i - 0.5)));
                if (i != k)
                    den *= 1 - static_cast<double>(k * k) / (i * i);
            }
            d_taylor.push_back((k % 2 ? 1 : -1) * num / (2 * den));
        }
    } else if (name == "kaiser") {
        d_kind = window_kind::kaiser;
        require(m[2].matched && !m[3].matched, "window is '", text, "'", expected);
        d_parameter = number(m[2]);
        require(d_parameter >= 0 && d_parameter <= 50,
                "window is '",
                text,
                "'; beta is ",
                d_parameter,
                ", expected 0 to 50");
    } else {
        throw std::invalid_argument(sentence("window is '", text, "'", expected));
    }
}

double window::operator()(double x) const
{
    if (std::abs(x) > 0.5)
        return 0;
    switch (d_kind) {
    case window_kind::rect:
        return 1;
    case window_kind::hamming:
        return 0.54 + 0.46 * std::cos(2 * pi * x);
    case window_kind::hann:
        return 0.5 + 0.5 * std::cos(2 * pi * x);
    case window_kind::kaiser:
        return bessel_i0(d_parameter * std::sqrt(1 - 4 * x * x)) / bessel_i0(d_parameter);
    case window_kind::taylor: {
        double w = 1;
        double peak = 1;
        for (int k = 1; k < d_nbar; ++k) {
            w += 2 * d_taylor[k - 1] * std::cos(2 * pi * k * x);
            peak += 2 * d_taylor[k - 1];
        }
        return w / peak;
    }
    }
    return 0;
}

std::vector<double> window::samples(int n) const
{
    std::vector<double> w(n);
    for (int i = 0; i < n; ++i)
        w[i] = (*this)((i + 0.5) / n - 0.5);
    return w;
}

double window::irw() const
{
    // half-power point of the continuous response, by bisection on a fine sum
    const std::vector<double> w = samples(2048);
    const auto response = [&w](double u) {
        double s = 0;
        for (std::size_t i = 0; i < w.size(); ++i)
            s += w[i] * std::cos(2 * pi * u * ((i + 0.5) / w.size() - 0.5));
        return s;
    };
    const double half = response(0) * std::sqrt(0.5);
    double low = 0;
    double high = 1;
    while (response(high) > half)
        high *= 1.5;
    for (int k = 0; k < 50; ++k) {
        const double mid = (low + high) / 2;
        (response(mid) > half ? low : high) = mid;
    }
    return low + high;
}

std::string window::name() const
{
    switch (d_kind) {
    case window_kind::rect:
        return "rect";
    case window_kind::hamming:
        return "hamming";
    case window_kind::hann:
        return "hann";
    case window_kind::taylor:
        return sentence("taylor(", d_nbar, ", ", d_parameter, ")");
    case window_kind::kaiser:
        return sentence("kaiser(", d_parameter, ")");
    }
    return "";
}

} // namespace sar
} // namespace gr
