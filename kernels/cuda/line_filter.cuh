// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.cuh"

namespace gr {
namespace sar {
namespace cuda {

//! What line_filter_kernel works on, in device memory.
struct line_filter_arguments {
    const cf32* in;
    cf32* out;
    const cf32_pair* table;  //!< make_power_table()
    const cf32_pair* filter; //!< in_block_order(), with 1 / size in it
    int samples_in;
    int samples_out;
    int lines;
    unsigned long long* bad_lines;
    int ahead; //!< lines from one to that which is fetched into the cache with it; 0:
               //!< none
};

//! Shortest line for which that pays.
constexpr int fetched_ahead_from = 8192;

/*!
 * \brief y = IDFT(H DFT(x)) of lines, one read and one write of device memory.
 *
 * A line has samples_in values and is continued with zeros to Shape::size; samples_out
 * values of the result are written. A line with a value that is not finite becomes zeros
 * and is counted. That is noticed at no cost: the sum of the values of a butterfly, which
 * a thread has anyway, is not finite then. Since sums of huge values overflow too, the
 * line is read again to be sure.
 *
 * \tparam Lines  lines in a block
 * \tparam Whole  samples_in = samples_out = Shape::size
 */
template <typename Shape, bool InTurn, int Lines, int MinBlocks, bool Whole>
__global__ void __launch_bounds__(Shape::threads* Lines, MinBlocks)
    line_filter_kernel(const __grid_constant__ line_filter_arguments a)
{
    using block_type = device_block<Shape, InTurn, 0>;
    using first = stage_shape<Shape, 0>;
    using value = typename block_type::value;
    static_assert(Shape::stages > 1);
    extern __shared__ __align__(128) unsigned char shared_bytes[];

    const int t = Lines == 1 ? threadIdx.x : threadIdx.x % Shape::threads;
    const int of_block = Lines == 1 ? 0 : threadIdx.x / Shape::threads;
    const int line = blockIdx.x * Lines + of_block;
    const bool there = Lines == 1 || line < a.lines;

    cf32 x[Shape::points];
    block_type block{
        x, t, { reinterpret_cast<value*>(shared_bytes) + of_block * Shape::shared_size }
    };

    const cf32* in = a.in + static_cast<size_t>(line) * a.samples_in;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        const cf32* p = in + j;
        const int rest = there ? a.samples_in - j : 0;
        static_for<first::radix>([&](auto k) {
            constexpr int at = k() * first::inner;
            cf32& v = x[round() * first::radix + k()];
            if (Whole ? there : at < rest)
                v = load_once(p + at);
            else
                v = { 0, 0 };
        });
    });

    // Few blocks share an SM: what the next one will read is on its way when it starts.
    if constexpr (Shape::size >= fetched_ahead_from)
        if (a.ahead && line + a.ahead < a.lines) {
            const cf32* next = in + static_cast<size_t>(a.ahead) * a.samples_in;
            for (int i = 16 * t; i < a.samples_in; i += 16 * Shape::threads)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
        }

    stage<Shape, 0, -1>(block, a.table);
    for_butterflies<Shape, 0>(
        t, [&](auto round, int) { block.flag |= !is_finite(x[round() * first::radix]); });
    exchange<Shape, 0, 1>(block);
    if (block.flag) {
        bool bad = false;
        if (there)
#pragma unroll 1
            for (int i = t; i < a.samples_in; i += Shape::threads)
                bad |= !is_finite(in[i]);
        bad = any_of_line<Shape, Lines>(bad, t, of_block);
        if (bad) {
            const float zero = opaque_zero();
            static_for<Shape::points>([&](auto i) { x[i()] = { zero, zero }; });
            if (t == 0)
                atomicAdd(a.bad_lines, 1ull);
        }
    }
    forward<Shape, 1>(block, a.table);

    static_for<spectrum_pairs<Shape>>([&](auto i) {
        const cf32_pair h = block_type::read(a.filter + i() * Shape::threads + t);
        x[2 * i()] = times(x[2 * i()], h.a);
        if constexpr (2 * i() + 1 < Shape::points)
            x[2 * i() + 1] = times(x[2 * i() + 1], h.b);
    });
    inverse<Shape>(block, a.table);

    cf32* out = a.out + static_cast<size_t>(line) * a.samples_out;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        cf32* p = out + j;
        const int rest = there ? a.samples_out - j : 0;
        static_for<first::radix>([&](auto k) {
            constexpr int at = k() * first::inner;
            if (Whole ? there : at < rest)
                store_once(p + at, x[round() * first::radix + k()]);
        });
    });
}

} // namespace cuda
} // namespace sar
} // namespace gr
