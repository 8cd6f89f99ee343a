// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "hd.h"

namespace gr {
namespace sar {

/*!
 * \brief A complex float that host and device code share.
 *
 * Same layout as gr_complex (std::complex<float>) and cuFFT's cufftComplex.
 * std::complex cannot be used in device code without CUDA headers; this can.
 */
struct alignas(8) cf32 {
    float re;
    float im;
};
static_assert(sizeof(cf32) == 8, "cf32 must have the layout of std::complex<float>");

SAR_HD cf32 operator+(cf32 a, cf32 b) { return { a.re + b.re, a.im + b.im }; }
SAR_HD cf32 operator-(cf32 a, cf32 b) { return { a.re - b.re, a.im - b.im }; }
SAR_HD cf32 operator*(cf32 a, cf32 b)
{
    return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}
SAR_HD cf32 operator*(float s, cf32 a) { return { s * a.re, s * a.im }; }
SAR_HD cf32 conj(cf32 a) { return { a.re, -a.im }; }
SAR_HD float norm(cf32 a) { return a.re * a.re + a.im * a.im; }
//! False when a part is a NaN or an infinity.
SAR_HD bool is_finite(cf32 a)
{
    // a - a is 0 for finite numbers and NaN for all others, on host and device alike
    return (a.re - a.re) + (a.im - a.im) == 0.0f;
}

} // namespace sar
} // namespace gr
