// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Forms of the fused kernel that are tried before one of them becomes line_filter.cuh.

#include "../cuda/line_filter.cuh"
#include <cstdint>

namespace gr {
namespace sar {
namespace bench {

using namespace cuda;

//! Two stages of the same radix: the inverse transform is the forward one of the values
//! with real and imaginary part exchanged, so one piece of code does both.
template <typename Shape, bool InTurn, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads, MinBlocks)
    looped_kernel(const __grid_constant__ line_filter_arguments a)
{
    using block_type = device_block<Shape, InTurn>;
    using first = stage_shape<Shape, 0>;
    using value = typename block_type::value;
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    const int t = threadIdx.x;
    cf32 x[Shape::points];
    block_type block{ x, t, { reinterpret_cast<value*>(shared_bytes) } };
    const cf32* in = a.in + static_cast<size_t>(blockIdx.x) * Shape::size + t;
    cf32* out = a.out + static_cast<size_t>(blockIdx.x) * Shape::size + t;
    static_for<Shape::points>(
        [&](auto k) { x[k()] = load_once(in + k() * first::inner); });
#pragma unroll 1
    for (int pass = 0;; ++pass) {
        forward<Shape>(block, a.table);
        if (pass)
            break;
        static_for<spectrum_pairs<Shape>>([&](auto i) {
            const cf32_pair h = block_type::read(a.filter + i() * Shape::threads + t);
            const cf32 u = times(x[2 * i()], h.a);
            const cf32 v = times(x[2 * i() + 1], h.b);
            x[2 * i()] = { u.im, u.re };
            x[2 * i() + 1] = { v.im, v.re };
        });
        __syncthreads();
    }
    static_for<Shape::points>([&](auto k) {
        store_once(out + k() * first::inner, cf32{ x[k()].im, x[k()].re });
    });
}

__device__ __forceinline__ uint32_t shared_address(const void* p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

//! A block stays and takes line after line; the next line comes by one bulk copy while
//! this one is transformed.
template <typename Shape, bool InTurn, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads, MinBlocks)
    prefetched_kernel(const __grid_constant__ line_filter_arguments a)
{
    using block_type = device_block<Shape, InTurn>;
    using first = stage_shape<Shape, 0>;
    using value = typename block_type::value;
    constexpr int bytes = Shape::size * sizeof(cf32);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ uint64_t arrived;
    cf32* staged = reinterpret_cast<cf32*>(shared_bytes);
    const int t = threadIdx.x;
    cf32 x[Shape::points];
    block_type block{ x, t, { reinterpret_cast<value*>(shared_bytes + bytes) } };
    const uint32_t bar = shared_address(&arrived);
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n"
                     "fence.proxy.async;" ::"r"(bar)
                     : "memory");
    __syncthreads();
    const auto fetch = [&](int line) {
        if (t == 0 && line < a.lines) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar),
                         "r"(bytes)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                         "bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(staged)),
                         "l"(a.in + static_cast<size_t>(line) * Shape::size),
                         "r"(bytes),
                         "r"(bar)
                         : "memory");
        }
    };
    fetch(blockIdx.x);
    uint32_t parity = 0;
#pragma unroll 1
    for (int line = blockIdx.x; line < a.lines; line += gridDim.x) {
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "again:\n"
                     "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                     "@!done bra again;\n"
                     "}" ::"r"(bar),
                     "r"(parity)
                     : "memory");
        parity ^= 1;
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            static_for<first::radix>([&](auto k) {
                x[round() * first::radix + k()] = staged[j + k() * first::inner];
            });
        });
        stage<Shape, 0, -1>(block, a.table);
        exchange<Shape, 0, 1>(block);
        fetch(line + gridDim.x); // all have read: there was a barrier of the block
        forward<Shape, 1>(block, a.table);
        static_for<spectrum_pairs<Shape>>([&](auto i) {
            const cf32_pair h = block_type::read(a.filter + i() * Shape::threads + t);
            x[2 * i()] = times(x[2 * i()], h.a);
            x[2 * i() + 1] = times(x[2 * i() + 1], h.b);
        });
        inverse<Shape>(block, a.table);
        cf32* out = a.out + static_cast<size_t>(line) * Shape::size;
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            static_for<first::radix>([&](auto k) {
                store_once(out + j + k() * first::inner, x[round() * first::radix + k()]);
            });
        });
    }
}

} // namespace bench
} // namespace sar
} // namespace gr
