// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include <string>
#include <vector>

namespace gr {
namespace sar {

enum class window_kind { rect, hamming, hann, taylor, kaiser };

/*!
 * \brief A spectral weighting as a function of position in the band.
 *
 * Written by users as "rect", "hamming", "hann", "taylor(nbar, sll)" with the sidelobe
 * level in dB below the peak (positive), or "kaiser(beta)".
 */
class SAR_KERNEL_API window
{
public:
    window() = default; //!< rect
    //! \throws std::invalid_argument on a name or argument it does not know
    explicit window(const std::string& text);

    //! Weight at \p x, -0.5 (lower band edge) to 0.5 (upper); 0 outside; 1 at most at 0.
    double operator()(double x) const;

    //! Weights of \p n equally spaced samples that cover the band: the sample n/2 - 0.5
    //! is the middle, samples are bin centres (x = (i + 0.5) / n - 0.5).
    std::vector<double> samples(int n) const;

    //! -3 dB width of the response in units of one over the bandwidth (rect: 0.886).
    double irw() const;

    window_kind kind() const { return d_kind; }
    std::string name() const;

private:
    window_kind d_kind = window_kind::rect;
    int d_nbar = 0;
    double d_parameter = 0; // Taylor: sidelobe level, dB; Kaiser: beta
    std::vector<double> d_taylor;
};

//! Modified Bessel function I0, for Kaiser windows and kernels.
SAR_KERNEL_API double bessel_i0(double x);

} // namespace sar
} // namespace gr
