// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../cuda/block_fft.cuh"
#include "tap_polynomials.h"

// tap_polynomials on the device.

namespace gr {
namespace sar {
namespace kernel {

//! Tap k and its mirror image are the sum and the difference of these.
struct tap_halves {
    float sum;
    float difference; //!< over the distance from the middle
};

template <int K>
__device__ __forceinline__ tap_halves halves_of_tap(const tap_polynomials& taps,
                                                    float square)
{
    constexpr int top = tap_polynomials::terms - 1;
    tap_halves h = { taps.even[K][top], taps.odd[K][top] };
    cuda::static_for<top>([&](auto i) {
        constexpr int term = top - 1 - i();
        h = { cuda::fused(h.sum, square, taps.even[K][term]),
              cuda::fused(h.difference, square, taps.odd[K][term]) };
    });
    return h;
}

__device__ __forceinline__ cf32 plus(cf32 sum, float weight, cf32 v)
{
    return { cuda::fused(weight, v.re, sum.re), cuda::fused(weight, v.im, sum.im) };
}

/*!
 * \brief Value of 2 Pairs taps, of which sample(i) gives the i-th sample.
 *
 * \param from_middle  position between the two samples in the middle, -1/2 .. 1/2
 */
template <int Pairs, typename Sample>
__device__ __forceinline__ cf32 weigh(const tap_polynomials& taps,
                                      float from_middle,
                                      Sample&& sample)
{
    const float square = from_middle * from_middle;
    cf32 before = { 0, 0 };
    cf32 behind = { 0, 0 };
    cuda::static_for<Pairs>([&](auto k) {
        const tap_halves h = halves_of_tap<k()>(taps, square);
        before = plus(before,
                      cuda::fused(from_middle, h.difference, h.sum),
                      sample(cuda::int_constant<k()>{}));
        behind = plus(behind,
                      cuda::fused(-from_middle, h.difference, h.sum),
                      sample(cuda::int_constant<2 * Pairs - 1 - k()>{}));
    });
    return before + behind;
}

/*!
 * \brief The same on a grid whose even points and odd points lie apart.
 *
 * \param begin  point of the grid that the first tap is for
 */
template <int Pairs>
__device__ __forceinline__ cf32 weigh_parted(const tap_polynomials& taps,
                                             float from_middle,
                                             const cf32* even,
                                             const cf32* odd,
                                             int begin)
{
    // taps are in turn for a point of either parity
    const bool behind = begin & 1;
    const cf32* const own = (behind ? odd : even) + (begin >> 1);
    const cf32* const other = (behind ? even + 1 : odd) + (begin >> 1);
    return weigh<Pairs>(
        taps, from_middle, [&](auto i) { return (i() % 2 ? other : own)[i() / 2]; });
}

} // namespace kernel
} // namespace sar
} // namespace gr
