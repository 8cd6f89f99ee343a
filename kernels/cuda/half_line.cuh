// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/line_storage.h"

namespace gr {
namespace sar {
namespace cuda {

/*!
 * \brief Sample \p i of a half line (line_storage::half), of \p samples samples.
 *
 * For whole warps: all 32 lanes call it, with consecutive i from a multiple of 32 on.
 * Lanes behind the end of the line store nothing, and their values count for nothing.
 */
__device__ inline void store_half(void* line, int samples, int i, cf32 v)
{
    const bool inside = i < samples;
    float largest = inside ? largest_component(v) : 0.0f;
    for (int distance = half_block / 2; distance > 0; distance /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    if (!inside)
        return;
    const float scale = half_scale(largest);
    float* scales = static_cast<float*>(line);
    if (i % half_block == 0)
        scales[i / half_block] = scale;
    half_sample* values = reinterpret_cast<half_sample*>(scales + half_scales(samples));
    values[i] = to_half(v, scale);
}

//! Store a sample either way, for whole warps as store_half().
__device__ inline void
store_sample(line_storage s, void* line, int samples, int i, cf32 v)
{
    if (s == line_storage::half)
        store_half(line, samples, i, v);
    else if (i < samples)
        static_cast<cf32*>(line)[i] = v;
}

} // namespace cuda
} // namespace sar
} // namespace gr
