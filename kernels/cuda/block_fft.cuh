// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.h"

namespace gr {
namespace sar {
namespace cuda {

//! Shared memory of a line as complex values, or one part of them.
template <typename T>
struct line_memory {
    T* base;
    __device__ __forceinline__ void put(int place, T v) { base[place] = v; }
    __device__ __forceinline__ T get(int place) const { return base[place]; }
};

/*!
 * \brief Thread t of those that share a line, for forward() and inverse() of block_fft.h.
 *
 * The first barrier between stages First and First + 1 also tells every thread whether
 * any had set flag: such a vote costs no barrier of its own.
 */
template <typename Shape, bool InTurn, int Vote = -1>
struct device_block {
    static constexpr bool in_turn = InTurn;
    using value = std::conditional_t<InTurn, float, cf32>;

    cf32 (&x)[Shape::points];
    const int t;
    line_memory<value> memory;
    bool flag = false;
    bool voted = false;

    template <typename F>
    __device__ __forceinline__ void each(F&& f)
    {
        f(x, t, memory);
    }

    template <barrier_scope Scope, int From, int To>
    __device__ __forceinline__ void sync()
    {
        constexpr bool warp = Scope == barrier_scope::warp;
        if constexpr (From == Vote && To == Vote + 1) {
            if (!voted) {
                voted = true;
                flag = warp ? __any_sync(0xffffffffu, flag) : __syncthreads_or(flag);
                if (warp)
                    __syncwarp();
                return;
            }
        }
        if constexpr (warp)
            __syncwarp();
        else
            __syncthreads();
    }

    __device__ __forceinline__ static cf32_pair read(const cf32_pair* p)
    {
        const float4 v = __ldg(reinterpret_cast<const float4*>(p));
        return { { v.x, v.y }, { v.z, v.w } };
    }
};

//! A zero that the compiler does not know: it would make a second copy of all that
//! follows, for a line of zeros.
__device__ __forceinline__ float opaque_zero()
{
    float zero;
    asm volatile("mov.f32 %0, 0f00000000;" : "=f"(zero));
    return zero;
}

//! Loads that will not be needed again leave the cache to tables.
__device__ __forceinline__ cf32 load_once(const cf32* p)
{
    cf32 v;
    asm volatile("ld.global.L1::no_allocate.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v.re), "=f"(v.im)
                 : "l"(p));
    return v;
}
__device__ __forceinline__ void store_once(cf32* p, cf32 v)
{
    __stcs(reinterpret_cast<float2*>(p), make_float2(v.re, v.im));
}

} // namespace cuda
} // namespace sar
} // namespace gr
