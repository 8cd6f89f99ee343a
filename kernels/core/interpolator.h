// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "hd.h"
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief How a value between two samples of a line is made.
 *
 * Written by users as "nearest", "linear", "sinc8", "sinc16". The error of each, measured
 * against a float64 sinc, stands in docs/accuracy.md.
 */
enum class interpolation {
    nearest, //!< the closest sample
    linear,  //!< straight line between two samples
    sinc8,   //!< 8 taps of a Kaiser-windowed sinc
    sinc16,  //!< 16 taps of a Kaiser-windowed sinc
};

SAR_KERNEL_API interpolation interpolation_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(interpolation i);

//! Taps of the windowed sinc; 1 for nearest, 2 for linear.
SAR_HD constexpr int taps_of(interpolation i)
{
    return i == interpolation::sinc16   ? 16
           : i == interpolation::sinc8  ? 8
           : i == interpolation::linear ? 2
                                        : 1;
}

//! Rows of a table of taps per sample; between rows the taps are interpolated linearly.
//! That leaves an error of pi^2 / 3 / 8 / 512^2 = 1.6e-6 (-116 dB) at most.
constexpr int sinc_phases = 512;

/*!
 * \brief Shape of the Kaiser window for a band.
 *
 * A line that occupies the share b of its sampling rate needs no attenuation between
 * b / 2 and 1 - b / 2: the main lobe of the window's spectrum may be as wide,
 * sqrt(1 + (beta / pi)^2) / taps = (1 - b) / 2, so
 * beta = pi sqrt((taps (1 - b) / 2)^2 - 1), or 0 (no window) where that is imaginary.
 * (Kaiser, Schafer, "On the use of the I0-sinh window for spectrum analysis", 1980.)
 */
SAR_KERNEL_API double sinc_kaiser_beta(int taps, double occupied_band);

//! Weight of the sample at distance \p d (samples) from the wanted point.
SAR_KERNEL_API double sinc_weight(double d, int taps, double kaiser_beta);

/*!
 * \brief Taps of least squares for a band, [sinc_phases + 2][taps], laid out as below.
 *
 * Row p minimises the mean square error of exp(j 2 pi f x) over |f| <= band / 2: with
 * s(d) = sin(pi b d) / (pi b d) the taps solve sum_k h_k s(k - l) = s(p - l). For a line
 * on a 2 x grid (band at most 1/2) 8 taps leave less than -80 dB.
 */
SAR_KERNEL_API std::vector<float> least_squares_table(int taps, double occupied_band);

/*!
 * \brief Table of taps, [sinc_phases + 2][taps].
 *
 * Row p holds the weights for a point p / sinc_phases samples behind sample i: tap k
 * belongs to sample i + k - (taps / 2 - 1). Row sinc_phases is a whole sample (a float
 * fraction may round up to 1), one more row lets a reader always load two.
 */
SAR_KERNEL_API std::vector<float> sinc_table(int taps, double occupied_band);

} // namespace sar
} // namespace gr
