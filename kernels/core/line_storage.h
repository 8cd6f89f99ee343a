// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "cf32.h"
#include "hd.h"
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief How lines are stored between stages. Arithmetic is float32 either way.
 *
 * single: complex64, 8 bytes a sample. half: 16 bits a component, block floating point:
 * each 32 samples share one float scale, largest component / 32767. That is 4 1/8 bytes a
 * sample and keeps 15 bits below the largest of the block, where IEEE half precision
 * keeps 11 bits of each value and overflows at 65504.
 *
 * A half line of n samples is ceil(n / 32) floats (scales), then n pairs of int16 (re,
 * im): a multiple of 4 bytes.
 */
enum class line_storage { single, half };

SAR_KERNEL_API line_storage line_storage_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(line_storage s);

constexpr int half_block = 32; //!< samples that share a scale: a warp

//! A pair of 16-bit components.
struct alignas(4) half_sample {
    std::int16_t re;
    std::int16_t im;
};

SAR_HD constexpr int half_scales(int samples)
{
    return (samples + half_block - 1) / half_block;
}

//! Bytes of a line of \p samples.
SAR_HD constexpr std::size_t line_bytes(line_storage s, int samples)
{
    return s == line_storage::single
               ? sizeof(cf32) * static_cast<std::size_t>(samples)
               : sizeof(float) * static_cast<std::size_t>(half_scales(samples)) +
                     sizeof(half_sample) * static_cast<std::size_t>(samples);
}

//! Larger component of a sample, without sign.
SAR_HD float largest_component(cf32 v)
{
    const float a = fabsf(v.re);
    const float b = fabsf(v.im);
    return a > b ? a : b;
}

//! Scale of a block whose largest component is \p largest.
SAR_HD float half_scale(float largest) { return largest * (1.0f / 32767.0f); }

//! Sample to 16 bits; \p scale may be 0 (a block of zeros).
SAR_HD half_sample to_half(cf32 v, float scale)
{
    // the quotient of the largest may round to just above 32767: rint takes it back. A
    // largest so small that its scale is denormal or 0 gives zeros.
    const float inverse = scale >= 1.1754944e-38f ? 1.0f / scale : 0.0f;
    return { static_cast<std::int16_t>(rintf(v.re * inverse)),
             static_cast<std::int16_t>(rintf(v.im * inverse)) };
}

SAR_HD cf32 from_half(half_sample h, float scale)
{
    return { scale * h.re, scale * h.im };
}

//! Sample \p i of a stored line of \p samples.
SAR_HD cf32 load_sample(line_storage s, const void* line, int samples, int i)
{
    if (s == line_storage::single)
        return static_cast<const cf32*>(line)[i];
    const float* scales = static_cast<const float*>(line);
    const half_sample* values =
        reinterpret_cast<const half_sample*>(scales + half_scales(samples));
    return from_half(values[i], scales[i / half_block]);
}

//! A whole line, on the host.
SAR_KERNEL_API void store_line(line_storage s, const cf32* from, int samples, void* line);
SAR_KERNEL_API void load_line(line_storage s, const void* line, int samples, cf32* to);

} // namespace sar
} // namespace gr
