// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"

namespace gr {
namespace sar {
namespace cuda {

//! Added to a number of cycles below 2^19: the lower half of the sum is its fraction in
//! units of 2^-32.
constexpr double fraction_of_cycles = 1.5 * (1 << 20);

//! exp(+j 2 pi x), \p sum = x + fraction_of_cycles: 1e-6 off at most.
__device__ __forceinline__ cf32 quick_phasor(double sum)
{
    // 2 pi / 2^32
    const float radians = static_cast<float>(__double2loint(sum)) * 1.46291807927e-9f;
    return { __cosf(radians), __sinf(radians) };
}

} // namespace cuda
} // namespace sar
} // namespace gr
