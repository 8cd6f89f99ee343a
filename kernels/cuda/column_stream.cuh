// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "column_fft.cuh"
#include <cuda.h>

namespace gr {
namespace sar {
namespace cuda {

//! A tile of 4 columns, real and imaginary parts exchanged in turn.
template <int Lanes, int... R>
struct stream_shape : column_shape<Lanes, 4, R...> {
    using base = column_shape<Lanes, 4, R...>;
    static constexpr int stride(int s)
    {
        // odd: threads that are neighbours in the last stage differ in digit 0
        return s == 0 ? base::stride(0) | 1 : base::stride(s);
    }
    static constexpr int shared_size = stride(0) * base::radix(0);
    static constexpr int box_rows = 128;
    static constexpr int block = Lanes * 4;
    static constexpr int tile_bytes = base::size * 4 * static_cast<int>(sizeof(cf32));
    static constexpr int exchange_floats =
        shared_size * 4 > base::size * 4 ? shared_size * 4 : base::size * 4;
    static constexpr int shared_bytes = tile_bytes + exchange_floats * 4;
};

__device__ __forceinline__ void
fetch_box(const CUtensorMap* map, unsigned to, int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map),
                 "r"(x),
                 "r"(y),
                 "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void
store_box(const CUtensorMap* map, unsigned from, int x, int y)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::
            "l"(map),
        "r"(from),
        "r"(x),
        "r"(y)
        : "memory");
}

template <typename Shape, int Sign, bool StoreBoxes>
__global__ void __launch_bounds__(Shape::block, 1)
    column_stream_kernel(const __grid_constant__ CUtensorMap in,
                         const __grid_constant__ CUtensorMap out,
                         const cf32_pair* table,
                         cf32* plain_out,
                         unsigned pitch,
                         int cols,
                         int tiles)
{
    static_assert(Shape::stages == 3);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ unsigned long long arrived;
    cf32* const tile_values = reinterpret_cast<cf32*>(shared_bytes);
    float* const exchange_values =
        reinterpret_cast<float*>(shared_bytes + Shape::tile_bytes);
    const unsigned barrier = shared_address(&arrived);
    const int column = threadIdx.x % 4;
    const int t = threadIdx.x / 4;
    constexpr int size = Shape::size;
    constexpr int box_bytes = Shape::box_rows * 4 * sizeof(cf32);

    const auto fetch = [&](int tile) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"(Shape::tile_bytes)
                     : "memory");
        for (int b = 0; b < size / Shape::box_rows; ++b)
            fetch_box(&in,
                      shared_address(tile_values) + b * box_bytes,
                      tile * 8,
                      b * Shape::box_rows,
                      barrier);
    };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (static_cast<int>(blockIdx.x) < tiles)
            fetch(blockIdx.x);
    }
    __syncthreads();
    float* const ex = exchange_values + column;
    using s0 = stage_shape<Shape, 0>;
    using s1 = stage_shape<Shape, 1>;
    using s2 = stage_shape<Shape, 2>;
    static_assert(s0::exact && s0::rounds == 1 && s1::exact && s1::rounds == 1 &&
                  s2::exact && s2::rounds == 1);
    const auto read = [](const cf32_pair* p) {
        const float4 v = __ldg(reinterpret_cast<const float4*>(p));
        return cf32_pair{ { v.x, v.y }, { v.z, v.w } };
    };
    // neighbours in the last stage have neighbouring frequencies
    const int j2 = t % s0::radix * s1::radix + t / s0::radix;
    const int place0 = s0::place(t);
    const int place1 = s1::place(t);
    const int place2 = s2::place(j2);
    unsigned phase = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        cf32 x[Shape::points];
        unsigned done = 0;
        while (!done)
            asm volatile("{\n.reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p;\n}"
                         : "=r"(done)
                         : "r"(barrier), "r"(phase)
                         : "memory");
        phase ^= 1;
        static_for<s0::radix>(
            [&](auto k) { x[k()] = tile_values[(k() * s0::inner + t) * 4 + column]; });
        column_butterfly<Shape, 0, Sign, 0>(x, 0, table, read);
        if (StoreBoxes) {
            if (threadIdx.x == 0)
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            __syncthreads();
        }
        static_for<s0::radix>(
            [&](auto k) { ex[(place0 + k() * s0::stride) * 4] = x[k()].re; });
        __syncthreads();
        if (threadIdx.x == 0 && tile + static_cast<int>(gridDim.x) < tiles) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            fetch(tile + gridDim.x);
        }
        float re[Shape::points];
        static_for<s1::radix>(
            [&](auto k) { re[k()] = ex[(place1 + k() * s1::stride) * 4]; });
        __syncthreads();
        static_for<s0::radix>(
            [&](auto k) { ex[(place0 + k() * s0::stride) * 4] = x[k()].im; });
        __syncthreads();
        static_for<s1::radix>([&](auto k) {
            x[k()] = { re[k()], ex[(place1 + k() * s1::stride) * 4] };
        });
        column_butterfly<Shape, 1, Sign, 0>(x, t / s1::inner, table, read);
        static_for<s1::radix>(
            [&](auto k) { ex[(place1 + k() * s1::stride) * 4] = x[k()].re; });
        __syncthreads();
        static_for<s2::radix>(
            [&](auto k) { re[k()] = ex[(place2 + k() * s2::stride) * 4]; });
        __syncthreads();
        static_for<s1::radix>(
            [&](auto k) { ex[(place1 + k() * s1::stride) * 4] = x[k()].im; });
        __syncthreads();
        static_for<s2::radix>([&](auto k) {
            x[k()] = { re[k()], ex[(place2 + k() * s2::stride) * 4] };
        });
        column_butterfly<Shape, 2, Sign, 0>(x, j2, table, read);
        const int row = s2::frequency(j2);
        if constexpr (StoreBoxes) {
            cf32* const staged = reinterpret_cast<cf32*>(exchange_values);
            static_for<2>([&](auto half) {
                __syncthreads();
                static_for<s2::radix / 2>([&](auto k) {
                    staged[(k() * s2::outer + row) * 4 + column] =
                        x[half() * (s2::radix / 2) + k()];
                });
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                __syncthreads();
                if (threadIdx.x == 0) {
                    for (int b = 0; b < size / 2 / Shape::box_rows; ++b)
                        store_box(&out,
                                  shared_address(staged) + b * box_bytes,
                                  tile * 8,
                                  half() * (size / 2) + b * Shape::box_rows);
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
                    if (half() == 0)
                        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
                }
            });
        } else {
            if (tile * 4 + column < cols) {
                cf32* p = plain_out + row_offset(row, pitch) + tile * 4 + column;
                static_for<s2::radix>(
                    [&](auto k) { p[row_offset(k() * s2::outer, pitch)] = x[k()]; });
            }
            __syncthreads();
        }
    }
    if (StoreBoxes && threadIdx.x == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

} // namespace cuda
} // namespace sar
} // namespace gr
