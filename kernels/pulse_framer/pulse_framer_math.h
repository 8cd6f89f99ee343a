// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Times of pulses, and what smooths them.
//
// Symbols
//   u     samples of the radio since the first one, those included that were lost
//   PRI   samples from pulse to pulse, not a whole number in general
//   t_n   time of pulse n in samples: t_0 + n PRI
//
// A line begins at u = t_n + fs (2 slant_range_first_m / c + delays), pulsed waveforms;
// without the term of the range over frequency. Where the echo delay refers to the centre
// of the pulse, half its length is added.
//
// n PRI needs more than a double has (10^7 pulses of 10^6 samples to a thousandth), so
// times are whole samples and a part, and PRI is multiplied in two pieces.

#include "../core/constants.h"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gr {
namespace sar {

//! A time on the sample clock of the radio: whole + part, 0 <= part < 1.
struct sample_time {
    std::int64_t whole = 0;
    double part = 0;
};

inline sample_time later(sample_time t, double samples)
{
    const double sum = t.part + samples;
    const double floor = std::floor(sum);
    sample_time r{ t.whole + static_cast<std::int64_t>(floor), sum - floor };
    if (r.part >= 1) // -1e-17 has the floor -1 and leaves a part of 1
        r = { r.whole + 1, 0 };
    return r;
}

//! a - b in samples.
inline double between(sample_time a, sample_time b)
{
    return static_cast<double>(a.whole - b.whole) + (a.part - b.part);
}

//! t_n = t_0 + n PRI, without loss for |n| < 2^53.
inline sample_time pulse_time(sample_time t_0, std::int64_t n, double pri)
{
    const double whole = std::floor(pri);
    t_0.whole += n * static_cast<std::int64_t>(whole);
    return later(t_0, static_cast<double>(n) * (pri - whole));
}

//! Number of the pulse nearest to \p t.
inline std::int64_t pulse_number(sample_time t_0, sample_time t, double pri)
{
    const auto n = static_cast<std::int64_t>(std::llround(between(t, t_0) / pri));
    // the quotient is rounded; what is left tells whether it is off by one
    return n + std::llround(between(t, pulse_time(t_0, n, pri)) / pri);
}

/*!
 * \brief A straight line through the newest values, with fading memory.
 *
 * g-h filter: with k the number of values so far, at most `memory`, g = 2 (2k - 1) / (k
 * (k + 1)) and h = 6 / (k (k + 1)), the least squares line through the first k values,
 * then that gain kept (N. Morrison, Introduction to Sequential Smoothing and Prediction,
 * 1969; E. Brookner, Tracking and Kalman Filtering Made Easy, 1998, chapter 1).
 */
struct trend {
    int memory = 32;
    int count = 0;
    std::int64_t n = 0;
    double value = 0;
    double rate = 0; // per pulse

    double at(std::int64_t m) const { return value + rate * static_cast<double>(m - n); }
    void add(std::int64_t m, double v)
    {
        if (count == 0) {
            value = v;
        } else {
            const double k = std::min(count + 1, std::max(memory, 2));
            const double error = v - at(m);
            value = at(m) + 2 * (2 * k - 1) / (k * (k + 1)) * error;
            rate += 6 / (k * (k + 1)) * error / static_cast<double>(m - n);
        }
        n = m;
        ++count;
    }
    //! A step: the rate stays.
    void go_on_from(std::int64_t m, double v)
    {
        n = m - 1;
        value = v - rate;
    }
    //! \p v in turns of 2 pi: the value nearest to what is expected.
    void add_phase(std::int64_t m, double v)
    {
        add(m, count ? v + 2 * pi * std::round((at(m) - v) / (2 * pi)) : v);
    }
};

//! Where between two samples a rising signal crosses a level: 0 (at a) to 1 (at b).
inline double crossing(double a, double b, double level)
{
    return b > a ? std::clamp((level - a) / (b - a), 0.0, 1.0) : 0.0;
}

} // namespace sar
} // namespace gr
