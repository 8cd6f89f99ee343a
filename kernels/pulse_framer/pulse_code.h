// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Which place of its code a pulse has, from what is measured of it and its neighbours.
//
// Symbols
//   c_m   the code, m = 0 .. L - 1: pulse n is sent multiplied by c_(n mod L)
//   z_k   measured complex amplitude of the k-th pulse: A exp(i (phi + w k)) c_(s + k)
//   s     place of the 0th pulse, sought
//   w     phase from pulse to pulse of two oscillators, in general not known
//
// Products of neighbours, d_k = z_(k+1) conj(z_k), are |A|^2 exp(i w) D_(s+k) with D_m =
// c_(m+1) conj(c_m). A shift s leaves of them, |A|^2 exp(i w) fitted by least squares,
//
//   r(s) = 1 - |sum d_k conj(D_(s+k))|^2 / (sum |d_k|^2 sum |D_(s+k)|^2)
//
// or, where w is known, with the real part of the sum times exp(-i w) in the place of its
// magnitude. N products tell s from the next best s' when N (r(s') - r(s)) is well above
// the variance v of a product: with Gaussian errors it is v times the logarithm of how
// much more likely s is. Where w is not known, codes whose D_m is a constant or turns
// evenly (phases linear or quadratic in m) look alike from every place.

#include "../core/cf32.h"
#include "../core/errors.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <vector>

namespace gr {
namespace sar {

//! What pulses are multiplied by, one after the other.
class pulse_code
{
public:
    static constexpr int longest = 4096;

    //! \throws std::invalid_argument on more values than that, and on those that are not
    //! finite, or 0
    explicit pulse_code(const std::vector<cf32>& code)
    {
        require(code.size() <= longest,
                "code has ",
                code.size(),
                " values; expected at most ",
                longest);
        for (std::size_t m = 0; m < code.size(); ++m) {
            const cf32 v = code[m];
            require(is_finite(v) && norm(v) > 0,
                    "code[",
                    m,
                    "] is ",
                    v.re,
                    " + ",
                    v.im,
                    "i; expected numbers that are finite and not 0");
            d_code.emplace_back(v.re, v.im);
        }
        if (d_code.empty())
            d_code.emplace_back(1, 0);
        for (int period = 1; period < length(); ++period)
            if (length() % period == 0 && repeats(period)) {
                d_code.resize(period);
                break;
            }
        d_step.resize(length());
        for (int m = 0; m < length(); ++m)
            d_step[m] = d_code[(m + 1) % length()] * std::conj(d_code[m]);
    }

    //! Its period, which may be shorter than what was given.
    int length() const { return static_cast<int>(d_code.size()); }
    std::complex<double> at(std::int64_t n) const { return d_code[place(n)]; }
    //! From pulse n to the next one.
    std::complex<double> step(std::int64_t n) const { return d_step[place(n)]; }
    int place(std::int64_t n) const
    {
        const auto m = static_cast<int>(n % length());
        return m < 0 ? m + length() : m;
    }

private:
    bool repeats(int period) const
    {
        for (int m = period; m < length(); ++m)
            if (d_code[m] != d_code[m - period])
                return false;
        return true;
    }

    std::vector<std::complex<double>> d_code, d_step;
};

//! Takes pulse after pulse until their places in the code are clear.
class code_search
{
public:
    explicit code_search(const pulse_code& code)
        : d_code(code),
          d_sum(code.length()),
          d_power(code.length()),
          d_told(told_apart(false)),
          d_told_by_drift(d_told || told_apart(true))
    {
    }

    //! Places look different; if only the phase from pulse to pulse were known.
    bool told() const { return d_told; }
    bool told_by_drift() const { return d_told_by_drift; }
    //! Pulses after which a search begins anew.
    int patience() const { return 8 * d_code.length() + 32; }

    void clear()
    {
        std::fill(d_sum.begin(), d_sum.end(), 0);
        std::fill(d_power.begin(), d_power.end(), 0);
        d_products = 0;
        d_measured = d_variance = 0;
        d_seen = false;
    }

    //! Pulse \p k, rising, with the standard deviation of its phase.
    void add(std::int64_t k, std::complex<double> z, double phase_std_rad)
    {
        if (d_seen && k == d_k + 1) {
            const std::complex<double> d = z * std::conj(d_z);
            for (int s = 0; s < d_code.length(); ++s) {
                const std::complex<double> expected = d_code.step(s + d_k);
                d_sum[s] += d * std::conj(expected);
                d_power[s] += std::norm(expected);
            }
            d_measured += std::norm(d);
            d_variance += 4 * phase_std_rad * phase_std_rad;
            ++d_products;
        }
        d_seen = true;
        d_k = k;
        d_z = z;
    }

    /*!
     * \brief The place of pulse 0, once it is clear.
     * \param drift_rad from pulse to pulse, where it is known
     */
    std::optional<int> place(std::optional<double> drift_rad) const
    {
        if (d_products < 2)
            return std::nullopt;
        const std::complex<double> turn = std::polar(1.0, -drift_rad.value_or(0));
        int best = 0;
        double least = 2, second = 2;
        for (int s = 0; s < d_code.length(); ++s) {
            const double left = 1 - likeness(d_sum[s] * turn, drift_rad.has_value()) /
                                        (d_measured * d_power[s]);
            if (left < least) {
                second = least;
                least = left;
                best = s;
            } else {
                second = std::min(second, left);
            }
        }
        const double clear = std::max(margin, 12 * d_variance / d_products);
        if (least > 0.25 || d_products * (second - least) < clear)
            return std::nullopt;
        return best;
    }

    int products() const { return d_products; }

private:
    static constexpr double margin = 1; // of N r: 12 v for an SNR of 14 dB

    //! Would a search with all its pulses tell each place from the others?
    bool told_apart(bool by_drift) const
    {
        const int length = d_code.length();
        double power = 0;
        for (int m = 0; m < length; ++m)
            power += std::norm(d_code.step(m));
        for (int s = 1; s < length; ++s) {
            std::complex<double> sum = 0;
            for (int m = 0; m < length; ++m)
                sum += d_code.step(m) * std::conj(d_code.step(m + s));
            if (patience() * (1 - likeness(sum, by_drift) / (power * power)) < 2 * margin)
                return false;
        }
        return true;
    }

    //! Squared, of products against those expected.
    static double likeness(std::complex<double> sum, bool by_drift)
    {
        const double like = by_drift ? std::max(0.0, sum.real()) : std::abs(sum);
        return like * like;
    }

    const pulse_code& d_code;
    std::vector<std::complex<double>> d_sum;
    std::vector<double> d_power;
    bool d_told, d_told_by_drift;
    int d_products = 0;
    double d_measured = 0;
    double d_variance = 0; // of the products, summed
    bool d_seen = false;
    std::int64_t d_k = 0;
    std::complex<double> d_z;
};

} // namespace sar
} // namespace gr
