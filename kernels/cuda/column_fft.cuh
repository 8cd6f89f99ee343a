// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.cuh"
#include "column_fft.h"

namespace gr {
namespace sar {
namespace cuda {

__device__ __forceinline__ unsigned shared_address(const void* p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/*!
 * \brief A thread of the cluster that column_tile() runs on.
 *
 * Values go to other blocks by st.async, which an mbarrier of the receiver counts: a
 * barrier of the cluster would also wait for the memory accesses before it. Clusters have
 * code from compute capability 9.0 on.
 */
template <typename Shape, int Blocks>
struct device_cluster {
    static constexpr int lanes = Shape::threads / Blocks;
    static constexpr int block_threads = lanes * Shape::width;
    static constexpr int shared_bytes =
        Shape::shared_size / Blocks * Shape::width * static_cast<int>(sizeof(cf32));
    static constexpr int arriving_bytes =
        Shape::size / Blocks * Shape::width * static_cast<int>(sizeof(cf32));
    static_assert(lanes * Blocks == Shape::threads);

    struct memory {
        cf32* base; // of the column of the thread
        unsigned arrived;
        __device__ __forceinline__ void put(int place, cf32 v)
        {
            base[place * Shape::width] = v;
        }
        __device__ __forceinline__ cf32 get(int place) const
        {
            return base[place * Shape::width];
        }
        __device__ __forceinline__ void send(int rank, int place, cf32 v)
        {
            if constexpr (Blocks == 1)
                put(place, v);
#if __CUDA_ARCH__ >= 900
            else
                asm volatile(
                    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2."
                    "f32 [%0], {%1, %2}, [%3];" ::"r"(
                        in_block(shared_address(base), rank) +
                        place * Shape::width * static_cast<unsigned>(sizeof(cf32))),
                    "f"(v.re),
                    "f"(v.im),
                    "r"(in_block(arrived, rank))
                    : "memory");
#endif
        }
        //! The address in another block of the cluster.
        __device__ __forceinline__ static unsigned in_block(unsigned address, int rank)
        {
            unsigned there = address;
#if __CUDA_ARCH__ >= 900
            asm("mapa.shared::cluster.u32 %0, %1, %2;"
                : "=r"(there)
                : "r"(address), "r"(rank));
#endif
            return there;
        }
    };

    column_values<Shape>& values;
    column_thread thread;
    memory m;

    __device__ __forceinline__ device_cluster(column_values<Shape>& v,
                                              unsigned char* shared)
        : values(v),
          thread{ static_cast<int>(threadIdx.x) % Shape::width,
                  static_cast<int>(threadIdx.x) / Shape::width,
                  0 },
          m{ reinterpret_cast<cf32*>(shared) + thread.column, 0 }
    {
#if __CUDA_ARCH__ >= 900
        if constexpr (Blocks > 1) {
            __shared__ unsigned long long arrived;
            m.arrived = shared_address(&arrived);
            asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(thread.rank));
            if (threadIdx.x == 0)
                asm volatile(
                    "mbarrier.init.shared.b64 [%0], 1;\n"
                    "fence.mbarrier_init.release.cluster;\n"
                    "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(m.arrived),
                    "r"(arriving_bytes)
                    : "memory");
            asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
        }
#endif
    }

    template <typename F>
    __device__ __forceinline__ void each(F&& f)
    {
        f(values, thread, m);
    }
    __device__ __forceinline__ void started()
    {
#if __CUDA_ARCH__ >= 900
        if constexpr (Blocks > 1)
            asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
    }
    __device__ __forceinline__ void sent()
    {
        if constexpr (Blocks == 1)
            __syncthreads();
#if __CUDA_ARCH__ >= 900
        else {
            unsigned done = 0;
            while (!done)
                asm volatile("{\n.reg .pred p;\n"
                             "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                             "selp.u32 %0, 1, 0, p;\n}"
                             : "=r"(done)
                             : "r"(m.arrived)
                             : "memory");
        }
#endif
    }
    __device__ __forceinline__ void sync() { __syncthreads(); }

    __device__ __forceinline__ static cf32_pair read(const cf32_pair* p)
    {
        const float4 v = __ldg(reinterpret_cast<const float4*>(p));
        return { { v.x, v.y }, { v.z, v.w } };
    }
    __device__ __forceinline__ static cf32 load(const cf32* p) { return load_once(p); }
    //! Streaming where a piece of a row is a cache line; shorter ones of neighbouring
    //! tiles must meet in the cache.
    __device__ __forceinline__ static void store(cf32* p, cf32 v)
    {
        if constexpr (Shape::width >= 16)
            store_once(p, v);
        else
            *p = v;
    }
};

template <typename Shape, int Blocks, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads / Blocks * Shape::width, MinBlocks)
    column_tile_kernel(const __grid_constant__ column_frame f)
{
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    column_values<Shape> values;
    device_cluster<Shape, Blocks> cluster(values, shared_bytes);
    // registers that MinBlocks leaves, against values, factors and addresses
    constexpr int registers =
        65536 / (Shape::threads / Blocks * Shape::width * MinBlocks) / 8 * 8;
    constexpr bool early = sizeof(column_values<Shape>) / 4 + 16 <= registers;
    column_tile<Shape, Blocks, early>(
        cluster, f, static_cast<int>(blockIdx.x) / Blocks * Shape::width);
}

//! A thread of a block that does items of a column_relay.
template <typename Shape>
struct device_relay {
    struct memory {
        cf32* base;
        __device__ __forceinline__ void put(int place, cf32 v)
        {
            base[place * Shape::width] = v;
        }
        __device__ __forceinline__ cf32 get(int place) const
        {
            return base[place * Shape::width];
        }
    };
    cf32 (&x)[Shape::points];
    column_thread thread;
    memory m;

    template <typename F>
    __device__ __forceinline__ void each(F&& f)
    {
        f(x, thread, m);
    }
    __device__ __forceinline__ void sync() { __syncthreads(); }
    __device__ __forceinline__ static cf32_pair read(const cf32_pair* p)
    {
        const float4 v = __ldg(reinterpret_cast<const float4*>(p));
        return { { v.x, v.y }, { v.z, v.w } };
    }
    __device__ __forceinline__ static cf32 load(const cf32* p)
    {
        const float2 v = __ldcs(reinterpret_cast<const float2*>(p));
        return { v.x, v.y };
    }
    __device__ __forceinline__ static cf32 load_relayed(const cf32* p)
    {
        const float2 v =
            __ldcg(reinterpret_cast<const float2*>(p)); // L1 has no word of it
        return { v.x, v.y };
    }
    __device__ __forceinline__ static void store(cf32* p, cf32 v) { store_once(p, v); }
};

/*!
 * \brief Tickets in the order of the work, taken by blocks as they come free: a block
 * only ever waits for work whose ticket was drawn before its own.
 */
struct relay_order {
    int tiles;
    int lag;            //!< tiles that the second pass is behind the first
    int slots;          //!< tiles in the scratch
    unsigned* counters; //!< [2 + 2 tiles], 0 before and after: ticket, blocks that ended,
                        //!< items of a tile done in pass 1, in pass 2
};

template <typename Shape, int MinBlocks>
__global__ void __launch_bounds__(Shape::block_threads, MinBlocks)
    column_relay_kernel(const __grid_constant__ column_frame f,
                        cf32* scratch,
                        const relay_order order)
{
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ int drawn[2];
    __shared__ bool last;
    constexpr int items = Shape::items;
    cf32 x[Shape::points];
    const int column = threadIdx.x % Shape::width;
    device_relay<Shape> block{
        x,
        { column, static_cast<int>(threadIdx.x) / Shape::width, 0 },
        { reinterpret_cast<cf32*>(shared_bytes) + column }
    };
    unsigned* const done = order.counters + 2;
    const int total = 2 * items * order.tiles;
    if (threadIdx.x == 0)
        drawn[0] = atomicAdd(order.counters, 1u);
    __syncthreads();
    for (int turn = 0;; turn ^= 1) {
        const int ticket = drawn[turn];
        if (ticket >= total)
            break;
        int next = 0;
        if (threadIdx.x == 0)
            next = atomicAdd(order.counters, 1u);
        // lag tiles of the first pass, then first and second by turns, then the rest
        const int ahead = order.lag * items;
        int second;
        int tile;
        int item;
        if (ticket < ahead) {
            second = 0;
            tile = ticket / items;
            item = ticket % items;
        } else if (ticket < total - ahead) {
            const int n = ticket - ahead;
            second = n & 1;
            tile = n / (2 * items) + (second ? 0 : order.lag);
            item = n / 2 % items;
        } else {
            const int n = ticket - (total - ahead);
            second = 1;
            tile = order.tiles - order.lag + n / items;
            item = n % items;
        }
        // wait: pass 2 for the values, pass 1 for its place in the scratch
        unsigned* await = second                ? done + 2 * tile
                          : tile >= order.slots ? done + 2 * (tile - order.slots) + 1
                                                : nullptr;
        if (await) {
            if (threadIdx.x == 0) {
                unsigned n;
                do
                    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                                 : "=r"(n)
                                 : "l"(await)
                                 : "memory");
                while (n < items);
            }
            __syncthreads();
        }
        cf32* const slot = scratch + static_cast<size_t>(tile % order.slots) *
                                         Shape::size * Shape::width;
        if (second)
            relay_second<Shape>(block, f, tile * Shape::width, item, slot);
        else
            relay_first<Shape>(block, f, tile * Shape::width, item, slot);
        if (threadIdx.x == 0)
            drawn[turn ^ 1] = next;
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile(
                "red.release.gpu.global.add.u32 [%0], 1;" ::"l"(done + 2 * tile + second)
                : "memory");
    }
    // the last block leaves the counters as it found them
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(order.counters + 1, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last)
        for (int i = threadIdx.x; i < 2 + 2 * order.tiles; i += blockDim.x)
            order.counters[i] = 0;
}

} // namespace cuda
} // namespace sar
} // namespace gr
