// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace gr {
namespace sar {

//! Longest line that one thread block transforms.
constexpr int longest_block_line = 16384;

/*!
 * \brief Length >= n for fast transforms, the same on every backend: filters depend on
 * it.
 *
 * Up to longest_block_line: 8, 9, 10, 12 or 14 times a power of two, for which the GPU
 * has kernels of its own. A few zeros more cost next to nothing there: they never get to
 * device memory. Up to 2^16: no prime factor above 7. Beyond: 4, 5, 6 or 7 times a power
 * of two, since FFTW takes minutes to plan odd lengths there.
 */
constexpr int good_length(int n)
{
    if (n <= longest_block_line) {
        int unit = 1;
        while (unit * 16 < n)
            unit *= 2;
        for (const int factor : { 8, 9, 10, 12, 14 })
            if (unit * factor >= n)
                return unit * factor;
        return unit * 16;
    }
    if (n > 1 << 16) {
        int unit = 1 << 14;
        while (unit * 8 <= n)
            unit *= 2;
        return (n + unit - 1) / unit * unit;
    }
    for (;; ++n) {
        int rest = n;
        for (const int p : { 2, 3, 5, 7 })
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return n;
    }
}

} // namespace sar
} // namespace gr
