// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What becomes of the arrivals of many pulses.
//
// Pulse k is sent at first + k PRI and arrives a[k] samples after the first sample of the
// stream, with the phase p[k]. Straight lines through a[k] - k PRI - first and through
// the unwrapped p[k] over the time k PRI / fs, by least squares, give delay and phase in
// the middle of the measurement and how fast they drift.

#include "../core/constants.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace gr {
namespace sar {

//! y = value + slope (t - middle)
struct straight_line {
    double middle = 0; //!< mean of the times
    double value = 0;  //!< there
    double slope = 0;
    double value_std = 0;
    double slope_std = 0;
};

/*!
 * \brief Line of least squares; errors from the scatter about it, or from \p sigma, the
 * standard deviation that each y is known to have, whichever is larger.
 *
 * var value = s^2 / N, var slope = s^2 / sum (t - mean t)^2 (S. Kay, Estimation Theory,
 * example 3.7 and section 4.3). At least 3 points with different times.
 */
inline straight_line
fit_line(const std::vector<double>& t, const std::vector<double>& y, double sigma)
{
    const std::size_t n = t.size();
    straight_line line;
    for (std::size_t i = 0; i < n; ++i) {
        line.middle += t[i] / n;
        line.value += y[i] / n;
    }
    double tt = 0, ty = 0;
    for (std::size_t i = 0; i < n; ++i) {
        tt += (t[i] - line.middle) * (t[i] - line.middle);
        ty += (t[i] - line.middle) * (y[i] - line.value);
    }
    line.slope = ty / tt;
    double left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double e = y[i] - line.value - line.slope * (t[i] - line.middle);
        left += e * e;
    }
    const double s = std::max(sigma, std::sqrt(left / (n - 2)));
    line.value_std = s / std::sqrt(static_cast<double>(n));
    line.slope_std = s / std::sqrt(tt);
    return line;
}

/*!
 * \brief Phases of pulses without their turns: y[i] is p[i] plus whole turns.
 *
 * The turn from pulse to pulse comes from the mean of z[i+1] conj z[i] over neighbours,
 * z = exp(j p), so it is known within half a turn a pulse: a frequency of up to half the
 * PRF. \p k numbers the pulses; some may be missing.
 */
inline std::vector<double> unwrap_phases(const std::vector<int>& k,
                                         const std::vector<double>& p)
{
    std::complex<double> turn = 0;
    for (std::size_t i = 0; i + 1 < p.size(); ++i)
        if (k[i + 1] == k[i] + 1)
            turn += std::polar(1.0, p[i + 1] - p[i]);
    const double step = std::arg(turn);
    std::complex<double> mean = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
        mean += std::polar(1.0, p[i] - step * k[i]);
    std::vector<double> y(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double expected = step * k[i] + std::arg(mean);
        y[i] = expected + std::remainder(p[i] - expected, 2 * pi);
    }
    return y;
}

//! A delay that is known modulo the PRI, both in samples: -1 <= delay < PRI - 1. One
//! sample of grace, so that noise does not turn a delay of 0 into a whole PRI.
inline double cyclic_delay(double delay, double pri)
{
    const double d = std::fmod(delay + 1, pri);
    return (d < 0 ? d + pri : d) - 1;
}

//! The smallest delay, of either sign, that equals \p delay modulo the PRI.
inline double smallest_delay(double delay, double pri)
{
    return std::remainder(delay, pri);
}

} // namespace sar
} // namespace gr
