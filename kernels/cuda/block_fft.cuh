// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.h"
#include "owners.h"

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

/*!
 * \brief Does any thread of a line see something bad? For all threads of a block that
 * holds \p Lines lines, after a vote of theirs.
 *
 * \param of_block  line of the block
 */
template <typename Shape, int Lines>
__device__ __forceinline__ bool any_of_line(bool bad, int t, int of_block)
{
    if constexpr (scope_after<Shape, 0> == barrier_scope::warp) {
        constexpr unsigned group = 0xffffffffu >> (32 - Shape::threads);
        const int first = threadIdx.x % 32 / Shape::threads * Shape::threads;
        return __ballot_sync(0xffffffffu, bad) & (group << first);
    } else if constexpr (Lines == 1) {
        return __syncthreads_or(bad);
    } else {
        __shared__ int line_is_bad[Lines];
        if (t == 0)
            line_is_bad[of_block] = 0;
        __syncthreads();
        if (bad)
            line_is_bad[of_block] = 1;
        __syncthreads();
        return line_is_bad[of_block];
    }
}

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
//! Through the cache of the SM, for what its other lines want too.
__device__ __forceinline__ cf32 load_again(const cf32* p)
{
    const float2 v = __ldg(reinterpret_cast<const float2*>(p));
    return { v.x, v.y };
}
__device__ __forceinline__ void store_once(cf32* p, cf32 v)
{
    __stcs(reinterpret_cast<float2*>(p), make_float2(v.re, v.im));
}

// ---- host
// --------------------------------------------------------------------------------

template <typename T>
device_buffer<T> upload(const std::vector<T>& host)
{
    device_buffer<T> dev(host.size());
    SAR_CUDA(cudaMemcpy(
        dev.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return dev;
}

//! Whether the current device can hold a block of a kernel.
template <typename Kernel>
bool block_fits(Kernel kernel, int threads, int shared_bytes)
{
    int device = 0;
    int most = 0;
    SAR_CUDA(cudaGetDevice(&device));
    SAR_CUDA(
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    cudaFuncAttributes f;
    SAR_CUDA(cudaFuncGetAttributes(&f, kernel));
    return static_cast<int>(f.sharedSizeBytes) + shared_bytes <= most &&
           threads <= f.maxThreadsPerBlock;
}

//! Blocks of \p kernel that the current device works on at a time; allows it that much
//! shared memory.
template <typename Kernel>
int blocks_at_a_time(Kernel kernel, int threads, int shared_bytes)
{
    int device = 0;
    int processors = 0;
    int blocks = 0;
    SAR_CUDA(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    SAR_CUDA(cudaGetDevice(&device));
    SAR_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    SAR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, threads, shared_bytes));
    return processors * blocks;
}

} // namespace cuda
} // namespace sar
} // namespace gr
