// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "cf32.h"
#include <complex>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief DFT in double, X[k] = sum_n x[n] exp(-j 2 pi k n / N), for tables that are made
 * once and rounded once. Any N; fast for those with small factors.
 */
SAR_KERNEL_API std::vector<std::complex<double>>
double_fft(const std::vector<std::complex<double>>& x);

//! Rounded once.
inline cf32 to_cf32(std::complex<double> v)
{
    return { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
}

} // namespace sar
} // namespace gr
