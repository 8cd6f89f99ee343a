// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "azimuth_filter_math.h"

// For kernels that multiply rows by the azimuth filter themselves.

namespace gr {
namespace sar {
namespace kernel {

//! Has row \p k a weight in any look?
__device__ __forceinline__ bool is_wanted(const azimuth_filter_tables& t, int k)
{
    bool wanted = false;
    for (int l = 0; l < t.looks; ++l)
        wanted |= t.row_weights[static_cast<size_t>(l) * t.frame.rows + k] != 0.0f;
    return wanted;
}

//! f(where row k begins) for the frame of each look, [looks][rows][cols].
template <typename F>
__device__ __forceinline__ void
for_frames(const azimuth_filter_tables& t, cf32* frames, int k, F&& f)
{
    for (int l = 0; l < t.looks; ++l)
        f(frames + (static_cast<size_t>(l) * t.frame.rows + k) * t.frame.cols);
}

} // namespace kernel
} // namespace sar
} // namespace gr
