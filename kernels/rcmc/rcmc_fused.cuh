// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../cuda/block_fft.cuh"
#include "../cuda/half_line.cuh"
#include "rcmc_rows.cuh"

namespace gr {
namespace sar {
namespace kernel {

struct fused_arguments {
    const char* in;
    size_t bytes_in;
    line_storage storage_in;
    int rows;
    row_batch batch;
    rcm::transform_shape shape;
    migration_interpolation how;
    const cuda::cf32_pair* table; //!< make_power_table()
};

//! Points of the finer grid, even and odd ones apart: threads whose cells lie next to
//! each other read neighbours.
struct parted_line {
    const cf32* even;
    const cf32* odd;
    __device__ cf32 at(int i) const { return (i & 1 ? odd : even)[i >> 1]; }
    //! from an even point on
    __device__ rcm::sample_quad four(int i) const
    {
        const int k = i >> 1;
        return { { even[k], odd[k], even[k + 1], odd[k + 1] } };
    }
};

//! A line that is zero outside its samples.
template <typename Line>
struct edged {
    Line line;
    int count;
    __device__ cf32 at(int i) const
    {
        return static_cast<unsigned>(i) < static_cast<unsigned>(count) ? line.at(i)
                                                                       : cf32{ 0, 0 };
    }
    __device__ rcm::sample_quad four(int i) const
    {
        return { { at(i), at(i + 1), at(i + 2), at(i + 3) } };
    }
};

//! All cells of a row of \p samples grid points. For whole warps.
template <migration_interpolation how, int threads, typename Line>
__device__ __forceinline__ void
make_row(const row_batch& b, Line line, int samples, int k, char* out, int t)
{
    const rcm::row row = b.rows[k];
#pragma unroll 1
    for (int first = 0; first < b.cols; first += threads) {
        const int n = first + t;
        cf32 v = { 0, 0 };
        if (n < b.cols) {
            const double at = b.frame.uniform ? position<how, true>(b, row, k, n)
                                              : position<how, false>(b, row, k, n);
            const rcm::place p = rcm::place_of<how>(at, samples);
            v = rcm::is_inner<how>(p, samples)
                    ? rcm::value_of<how>(line, p, b.taps)
                    : rcm::value_of<how>(edged<Line>{ line, samples }, p, b.taps);
        }
        cuda::store_sample(b.storage, out, b.cols, n, v);
    }
}

//! Values of shared memory for a row.
template <typename Shape, int Grid>
inline constexpr int fused_values = Shape::shared_size + (Grid == 2 ? Shape::size : 0);

/*!
 * \brief A row from its spectrum: SRC, then one inverse transform for the samples, and
 * for the finer grid another one for the points half a sample further,
 *
 *     s(n + 1/2) = sum over k of S(k) exp(j pi k / L) exp(j 2 pi k n / L)
 *
 * with k from -L/2 on. The bin at half the sampling rate counts half at either end.
 */
template <typename Shape, int Grid, int Lines, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads* Lines, MinBlocks)
    fused_rcmc_kernel(const __grid_constant__ fused_arguments a)
{
    using namespace cuda;
    using block_type = device_block<Shape, false, 0>;
    using first = stage_shape<Shape, 0>;
    constexpr int last_stage = Shape::stages - 1;
    using last = stage_shape<Shape, last_stage>;
    static_assert(Shape::stages > 1);
    static_assert(Shape::threads % 32 == 0, "rows are stored by whole warps");
    static_assert(last::radix % 2 == 0);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    const row_batch& b = a.batch;

    const int t = Lines == 1 ? threadIdx.x : threadIdx.x % Shape::threads;
    const int of_block = Lines == 1 ? 0 : threadIdx.x / Shape::threads;
    const int line = blockIdx.x * Lines + of_block;
    const bool there = Lines == 1 || line < a.rows;
    const int k_row =
        static_cast<int>((b.first_row + static_cast<unsigned>(line)) % b.frame.rows);
    // Samples go behind each other: even ones, then odd ones. Each transform exchanges
    // where its samples will be, and in the gap behind; the spectrum waits behind the
    // first one's exchange.
    cf32* const even =
        reinterpret_cast<cf32*>(shared_bytes) + of_block * fused_values<Shape, Grid>;
    cf32* const odd = even + Shape::size;
    cf32* const waiting = even + Shape::shared_size;
    const auto sync_line = [] {
        if constexpr (Shape::threads == 32)
            __syncwarp();
        else
            __syncthreads();
    };

    cf32 x[Shape::points];
    block_type block{ x, t, { even } };

    const char* in = a.in + static_cast<size_t>(line) * a.bytes_in;
    const auto load = [&](auto sample) {
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            const int rest = there ? a.shape.samples - j : 0;
            static_for<first::radix>([&](auto k) {
                constexpr int at = k() * first::inner;
                cf32& v = x[round() * first::radix + k()];
                if (at < rest)
                    v = sample(j + at);
                else
                    v = { 0, 0 };
            });
        });
    };
    if (a.storage_in == line_storage::single)
        load([&](int i) { return load_once(reinterpret_cast<const cf32*>(in) + i); });
    else
        load([&](int i) {
            return load_sample(line_storage::half, in, a.shape.samples, i);
        });

    stage<Shape, 0, -1>(block, a.table);
    for_butterflies<Shape, 0>(
        t, [&](auto round, int) { block.flag |= !is_finite(x[round() * first::radix]); });
    exchange<Shape, 0, 1>(block);
    bool bad = false;
    if (block.flag) { // of all the block; sums of huge values overflow too
        if (there)
#pragma unroll 1
            for (int i = t; i < a.shape.samples; i += Shape::threads)
                bad |= !is_finite(load_sample(a.storage_in, in, a.shape.samples, i));
        bad = any_of_line<Shape, Lines>(bad, t, of_block);
        if (bad && t == 0)
            atomicAdd(b.bad_lines, 1ull);
    }
    forward<Shape, 1>(block, a.table);

    const auto for_bins = [&](auto f) {
        for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
            const int base = last::frequency(j);
            static_for<last::radix>([&](auto i) {
                constexpr int low =
                    i() * last::outer - (2 * i() < last::radix ? 0 : Shape::size);
                f(x[round() * last::radix + i()],
                  base + low,
                  i() * last::butterflies + j,
                  i);
            });
        });
    };
    const src_phase src = b.rows[k_row].src;
    if (a.shape.src)
        for_bins([&](cf32& v, int k, int at, auto i) {
            const cf32 s = v;
            v = rcm::bin_factor(a.shape, src, k) * s;
            cf32 kept = v;
            if constexpr (2 * i() == last::radix) {
                if (k == -Shape::size / 2) {
                    v = rcm::middle_factor(a.shape, src, 0) * s;
                    kept = (rcm::middle_factor(a.shape, src, -1) -
                            rcm::middle_factor(a.shape, src, 1)) *
                           s;
                }
            }
            if constexpr (Grid == 2)
                waiting[at] = kept;
        });
    else
        for_bins([&](cf32& v, int k, int at, auto i) {
            v = rcm::scale_of(a.shape) * v;
            if constexpr (Grid == 2)
                waiting[at] =
                    2 * i() == last::radix && k == -Shape::size / 2 ? cf32{ 0, 0 } : v;
        });
    inverse<Shape>(block, a.table);
    const auto put_row = [&](cf32* to) {
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            static_for<first::radix>([&](auto k) {
                to[j + k() * first::inner] = x[round() * first::radix + k()];
            });
        });
    };
    sync_line();
    put_row(even);
    if constexpr (Grid == 2) {
        for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
            const cf32 half_turn = unit_phasor(static_cast<float>(last::frequency(j)) *
                                               (0.5f / Shape::size));
            static_for<last::radix>([&](auto i) {
                constexpr int k = 2 * i() < last::radix ? i() : i() - last::radix;
                using turn = root<k, 2 * last::radix>;
                x[round() * last::radix + i()] =
                    times(waiting[i() * last::butterflies + j],
                          times(half_turn, cf32{ turn::re, turn::im }));
            });
        });
        sync_line();
        block.memory.base = odd;
        inverse<Shape>(block, a.table);
        sync_line();
        put_row(odd);
    }
    sync_line();
    if (!there)
        return;

    const int samples = bad ? 0 : b.samples; // of a row of zeros
    char* out = b.out + static_cast<size_t>(line) * b.bytes_out;
    using m = migration_interpolation;
    if constexpr (Grid == 2) {
        make_row<m::exact, Shape::threads>(
            b, parted_line{ even, odd }, samples, k_row, out, t);
    } else {
        const rcm::inner_line row{ even };
        switch (a.how) {
        case m::nearest:
            make_row<m::nearest, Shape::threads>(b, row, samples, k_row, out, t);
            break;
        case m::linear:
            make_row<m::linear, Shape::threads>(b, row, samples, k_row, out, t);
            break;
        case m::fixed:
            make_row<m::fixed, Shape::threads>(b, row, samples, k_row, out, t);
            break;
        case m::sinc8:
            make_row<m::sinc8, Shape::threads>(b, row, samples, k_row, out, t);
            break;
        default:
            make_row<m::sinc16, Shape::threads>(b, row, samples, k_row, out, t);
        }
    }
}

} // namespace kernel
} // namespace sar
} // namespace gr
