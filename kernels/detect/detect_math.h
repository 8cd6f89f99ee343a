// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/hd.h"
#include <cmath>
#include <cstddef>

namespace gr {
namespace sar {
namespace kernel {

enum class detected_quantity { magnitude, power, db };

//! Level that stands for no power at all, dB.
constexpr float detect_floor_db = -200.0f;

//! |x|^2 in double: exact, and no finite pixel overflows it.
SAR_HD double pixel_power(cf32 x)
{
    return static_cast<double>(x.re) * x.re + static_cast<double>(x.im) * x.im;
}

/*!
 * \brief Power of the pixels of a look cell: \p rows rows, \p col_looks columns, summed.
 *
 * \param corner first pixel of the cell
 * \param cols   pixels from a row to the next
 * \param bad    grows by the number of pixels that are not finite; the sum is then
 * neither
 */
SAR_HD double
cell_power(const cf32* corner, std::size_t cols, int rows, int col_looks, int& bad)
{
    double sum = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < col_looks; ++j) {
            const cf32 x = corner[i * cols + j];
            bad += !is_finite(x);
            sum += pixel_power(x);
        }
    return sum;
}

//! Value of a look cell from its summed power; a sum that is not finite counts as none.
SAR_HD float detected_value(double sum, int pixels, detected_quantity quantity)
{
    const double mean = sum - sum == 0 ? sum / pixels : 0;
    switch (quantity) {
    case detected_quantity::magnitude:
        return static_cast<float>(sqrt(mean));
    case detected_quantity::power:
        return static_cast<float>(mean);
    case detected_quantity::db:
        break;
    }
    // 1e-20 of power is the floor of -200 dB
    return mean > 1e-20 ? static_cast<float>(10 * log10(mean)) : detect_floor_db;
}

} // namespace kernel
} // namespace sar
} // namespace gr
