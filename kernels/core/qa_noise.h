// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cf32.h"
#include <random>
#include <vector>

namespace gr {
namespace sar {

//! White complex noise, 1 in each part.
inline std::vector<cf32> noise(std::size_t n, unsigned seed = 1)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<cf32> v(n);
    for (cf32& x : v)
        x = { normal(random), normal(random) };
    return v;
}

} // namespace sar
} // namespace gr
