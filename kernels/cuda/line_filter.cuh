// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.cuh"
#include "line_filter.h"

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

    // With factors; in device memory too. A line is then one part of a result.
    const cf32* before;  //!< [parts][samples_in]
    const cf32* after;   //!< [samples_out]
    int parts;           //!< that a result is made in
    int samples_of_part; //!< of all but the last of them, which may have fewer
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
 * \tparam Lines    lines in a block
 * \tparam Whole    samples_in = samples_out = Shape::size
 * \tparam Factors  y = after IDFT(H DFT(before x)), in parts
 */
template <typename Shape,
          bool InTurn,
          int Lines,
          int MinBlocks,
          bool Whole,
          bool Factors = false>
__global__ void __launch_bounds__(Shape::threads* Lines, MinBlocks)
    line_filter_kernel(const __grid_constant__ line_filter_arguments a)
{
    using block_type = device_block<Shape, InTurn, 0>;
    using first_stage = stage_shape<Shape, 0>;
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

    const int part = Factors ? line % a.parts : 0;
    const cf32* in =
        a.in + static_cast<size_t>(Factors ? line / a.parts : line) * a.samples_in;
    const cf32* before =
        Factors ? a.before + static_cast<size_t>(part) * a.samples_in : nullptr;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        const cf32* p = in + j;
        const int rest = there ? a.samples_in - j : 0;
        static_for<first_stage::radix>([&](auto k) {
            constexpr int at = k() * first_stage::inner;
            cf32& v = x[round() * first_stage::radix + k()];
            if (Whole ? there : at < rest)
                v = Factors ? times(load_again(p + at), load_again(before + j + at))
                            : load_once(p + at);
            else
                v = { 0, 0 };
        });
    });

    // Few blocks share an SM: what the next one will read is on its way when it starts.
    if constexpr (Shape::size >= fetched_ahead_from)
        if (a.ahead && part == 0 && line + a.ahead < a.lines) {
            const int lines = Factors ? a.ahead / a.parts : a.ahead;
            const cf32* next = in + static_cast<size_t>(lines) * a.samples_in;
            for (int i = 16 * t; i < a.samples_in; i += 16 * Shape::threads)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
        }

    stage<Shape, 0, -1>(block, a.table);
    for_butterflies<Shape, 0>(t, [&](auto round, int) {
        block.flag |= !is_finite(x[round() * first_stage::radix]);
    });
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
            if (t == 0 && part == 0)
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

    const int first = part * a.samples_of_part;
    const int samples =
        Factors ? min(a.samples_of_part, a.samples_out - first) : a.samples_out;
    cf32* out = a.out +
                static_cast<size_t>(Factors ? line / a.parts : line) * a.samples_out +
                (Factors ? first : 0);
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        cf32* p = out + j;
        const int rest = there ? samples - j : 0;
        static_for<first_stage::radix>([&](auto k) {
            constexpr int at = k() * first_stage::inner;
            if (Whole ? there : at < rest) {
                cf32& v = x[round() * first_stage::radix + k()];
                if constexpr (Factors)
                    v = times(v, load_again(a.after + first + j + at));
                store_once(p + at, v);
            }
        });
    });
}

// ---- host
// --------------------------------------------------------------------------------

//! Factors and parts of a filter; null: none.
struct line_factors {
    const cf32* before = nullptr;
    const cf32* after = nullptr;
    int parts = 1;
};

//! \tparam Lines      lines in a block
//! \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
template <bool Factors, typename Shape, bool InTurn, int Lines, int MinBlocks>
class line_filter_of final : public line_filter
{
public:
    static constexpr auto kernel =
        line_filter_kernel<Shape, InTurn, Lines, MinBlocks, false, Factors>;
    static constexpr int threads = Shape::threads * Lines;
    static constexpr int shared_bytes =
        Shape::shared_size * Lines * (InTurn ? sizeof(float) : sizeof(cf32));

    line_filter_of(const cf32* spectrum,
                   int samples_in,
                   int samples_out,
                   const line_factors& factors)
        : d_samples_in(samples_in),
          d_samples_out(samples_out),
          d_parts(factors.parts),
          d_table(upload(make_power_table<Shape>())),
          d_filter(upload(in_block_order<Shape>(spectrum)))
    {
        if constexpr (Factors) {
            const std::size_t before = static_cast<std::size_t>(samples_in) * d_parts;
            d_before = upload(std::vector<cf32>(factors.before, factors.before + before));
            d_after =
                upload(std::vector<cf32>(factors.after, factors.after + samples_out));
        }
        d_ahead = Lines * blocks_at_a_time(kernel, threads, shared_bytes);
    }

    void run(const cf32* in,
             cf32* out,
             int lines,
             unsigned long long* bad_lines,
             cudaStream_t stream) const override
    {
        if (lines <= 0)
            return;
        const int all = lines * d_parts;
        kernel<<<(all + Lines - 1) / Lines, threads, shared_bytes, stream>>>(
            { in,
              out,
              d_table.data(),
              d_filter.data(),
              d_samples_in,
              d_samples_out,
              all,
              bad_lines,
              d_ahead,
              d_before.data(),
              d_after.data(),
              d_parts,
              (d_samples_out + d_parts - 1) / d_parts });
        SAR_CUDA_LAUNCH("line_filter_kernel");
    }

private:
    const int d_samples_in;
    const int d_samples_out;
    const int d_parts;
    int d_ahead; // lines that the device works on at a time
    const device_buffer<cf32_pair> d_table;
    const device_buffer<cf32_pair> d_filter;
    device_buffer<cf32> d_before;
    device_buffer<cf32> d_after;
};

template <bool Factors, typename Shape, bool InTurn, int Lines, int MinBlocks>
std::unique_ptr<line_filter> make_if_it_fits(const cf32* spectrum,
                                             int length,
                                             int samples_in,
                                             int samples_out,
                                             const line_factors& factors)
{
    using filter = line_filter_of<Factors, Shape, InTurn, Lines, MinBlocks>;
    if (length != Shape::size ||
        !block_fits(filter::kernel, filter::threads, filter::shared_bytes))
        return nullptr;
    return std::make_unique<filter>(spectrum, samples_in, samples_out, factors);
}

//! The first that fits.
template <bool Factors>
std::unique_ptr<line_filter> make_fitting_filter(const cf32* spectrum,
                                                 int length,
                                                 int samples_in,
                                                 int samples_out,
                                                 const line_factors& factors)
{
    using maker =
        std::unique_ptr<line_filter> (*)(const cf32*, int, int, int, const line_factors&);
    // blocks that would have no register left for the addresses of factors
    constexpr int tight = Factors ? 3 : 4;
    static constexpr maker makers[] = {
        make_if_it_fits<Factors, block_shape<16, 16, 16>, false, 16, 3>,
        make_if_it_fits<Factors, block_shape<8, 12, 6, 4>, false, 16, 3>,
        make_if_it_fits<Factors, block_shape<8, 10, 8, 4>, false, 16, 3>,
        make_if_it_fits<Factors, block_shape<8, 24, 16>, false, 16, tight>,
        make_if_it_fits<Factors, block_shape<16, 16, 32>, false, 8, 4>,
        make_if_it_fits<Factors, block_shape<24, 24, 24>, false, 8, tight>,
        make_if_it_fits<Factors, block_shape<16, 10, 8, 8>, false, 8, 3>,
        make_if_it_fits<Factors, block_shape<32, 12, 8, 8>, false, 4, 5>,
        make_if_it_fits<Factors, block_shape<32, 32, 32>, true, 4, tight>,
        make_if_it_fits<Factors, block_shape<48, 12, 12, 8>, false, 4, 2>,
        make_if_it_fits<Factors, block_shape<32, 20, 8, 8>, false, 4, 3>,
        make_if_it_fits<Factors, block_shape<64, 24, 8, 8>, false, 2, 4>,
        make_if_it_fits<Factors, block_shape<128, 8, 16, 16>, false, 1, 6>,
        make_if_it_fits<Factors, block_shape<96, 24, 12, 8>, false, 1, 5>,
        make_if_it_fits<Factors, block_shape<160, 10, 16, 16>, false, 1, 4>,
        make_if_it_fits<Factors, block_shape<256, 12, 16, 16>, false, 1, 3>,
        make_if_it_fits<Factors, block_shape<256, 16, 16, 16>, false, 1, 3>,
        make_if_it_fits<Factors, block_shape<288, 18, 16, 16>, false, 1, 2>,
        make_if_it_fits<Factors, block_shape<320, 20, 16, 16>, false, 1, 2>,
        make_if_it_fits<Factors, block_shape<384, 24, 16, 16>, false, 1, 2>,
        make_if_it_fits<Factors, block_shape<256, 16, 16, 32>, false, 1, 2>,
        make_if_it_fits<Factors, block_shape<256, 16, 16, 32>, true, 1, 2>,
        make_if_it_fits<Factors, block_shape<192, 24, 24, 16>, false, 1, 2>,
        make_if_it_fits<Factors, block_shape<320, 16, 20, 32>, false, 1, 1>,
        make_if_it_fits<Factors, block_shape<512, 24, 16, 32>, false, 1, 1>,
        make_if_it_fits<Factors, block_shape<512, 32, 16, 32>, false, 1, 1>,
        make_if_it_fits<Factors, block_shape<512, 32, 16, 32>, true, 1, 1>,
    };
    for (const maker make : makers)
        if (auto filter = make(spectrum, length, samples_in, samples_out, factors))
            return filter;
    if constexpr (!Factors) { // no register is left for factors
        if (auto filter =
                make_if_it_fits<false, block_shape<384, 48, 24, 16>, false, 1, 1>(
                    spectrum, length, samples_in, samples_out, factors))
            return filter;
        return make_if_it_fits<false, block_shape<512, 40, 8, 8, 8>, false, 1, 1>(
            spectrum, length, samples_in, samples_out, factors);
    }
    return nullptr;
}

} // namespace cuda
} // namespace sar
} // namespace gr
