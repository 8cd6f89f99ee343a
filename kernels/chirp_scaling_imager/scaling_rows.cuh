// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_frames.cuh"
#include "../chirp_scaling/chirp_scaling_math.h"
#include "../cuda/block_fft.cuh"
#include "../cuda/quick_phasor.cuh"

namespace gr {
namespace sar {
namespace kernel {

//! What scaling_rows_kernel works on, in device memory.
struct scaling_rows_arguments {
    const cf32* in;
    int samples_in;
    int first_row; //!< of the frame
    //! [rows], with fraction_of_cycles; the residual has the azimuth filter in it and
    //! counts cells from the middle of the transform
    const scaling::row_phases* rows;
    const cuda::cf32_pair* table;  //!< make_power_table()
    const cuda::cf32_pair* filter; //!< in_block_order()
    azimuth_filter_tables azimuth;
    cf32* frames; //!< [looks][rows][cols]
    int ahead;    //!< rows from one to that which is fetched into the cache with it
};

//! exp(+j 2 pi) of a polynomial, at a distance from x that is known to the compiler.
template <int N>
__device__ __forceinline__ cf32 phasor_at(const double (&c)[N], double x)
{
    double v = c[N - 1];
    cuda::static_for<N - 2>([&](auto i) { v = fma(v, x, c[N - 2 - i()]); });
    return cuda::quick_phasor(fma(v, x, c[0]));
}

/*!
 * \brief A raw row of the azimuth spectrum to a row of azimuth_filter's frame: the steps
 * of chirp_scaling_math.h and the azimuth filter, one read and one write of device
 * memory.
 *
 * \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
 */
template <typename Shape, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads, MinBlocks)
    scaling_rows_kernel(const __grid_constant__ scaling_rows_arguments a)
{
    using namespace cuda;
    using block_type = device_block<Shape, false>;
    using first = stage_shape<Shape, 0>;
    constexpr int last_stage = Shape::stages - 1;
    using last = stage_shape<Shape, last_stage>;
    static_assert(Shape::stages > 1);
    static_assert(last::radix % 2 == 0);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ scaling::row_phases row;

    int t = threadIdx.x;
    const int k_row = a.first_row + blockIdx.x;
    const int cols = a.azimuth.frame.cols;
    if (!is_wanted(a.azimuth, k_row)) {
        for_frames(a.azimuth, a.frames, k_row, [&](cf32* out) {
            for (int n = t; n < cols; n += Shape::threads)
                store_once(out + n, { 0, 0 });
        });
        return;
    }
    constexpr int values = sizeof(scaling::row_phases) / sizeof(double);
    if (t < values)
        reinterpret_cast<double*>(&row)[t] =
            reinterpret_cast<const double*>(a.rows + k_row)[t];

    cf32 x[Shape::points];
    const cf32* in = a.in + static_cast<size_t>(blockIdx.x) * a.samples_in;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        const int rest = a.samples_in - j;
        static_for<first::radix>([&](auto k) {
            constexpr int at = k() * first::inner;
            cf32& v = x[round() * first::radix + k()];
            if (at < rest)
                v = load_once(in + j + at);
            else
                v = { 0, 0 };
        });
    });
    if constexpr (Shape::size >= 8192)
        if (static_cast<int>(blockIdx.x) + a.ahead < gridDim.x) {
            const cf32* next = in + static_cast<size_t>(a.ahead) * a.samples_in;
            for (int i = 16 * t; i < a.samples_in; i += 16 * Shape::threads)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
        }
    __syncthreads();
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        const double from = j;
        static_for<first::radix>([&](auto k) {
            cf32& v = x[round() * first::radix + k()];
            v = times(v, phasor_at(row.scaling, from + k() * first::inner));
        });
    });
    // what follows from the number of the thread is worked out again: in registers over
    // all of the kernel it would leave too few
    const auto forget = [&] {
        asm volatile("" : "+r"(t));
        __builtin_assume(t >= 0);
    };
    forget();
    {
        block_type block{ x, t, { reinterpret_cast<cf32*>(shared_bytes) } };
        forward<Shape>(block, a.table);
    }
    forget();
    static_for<spectrum_pairs<Shape>>([&](auto i) {
        const cf32_pair h = block_type::read(a.filter + i() * Shape::threads + t);
        x[2 * i()] = times(x[2 * i()], h.a);
        if constexpr (2 * i() + 1 < Shape::points)
            x[2 * i() + 1] = times(x[2 * i() + 1], h.b);
    });
    forget();
    for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
        const double from = last::frequency(j);
        static_for<last::radix>([&](auto i) {
            constexpr int low =
                i() * last::outer - (2 * i() < last::radix ? 0 : Shape::size);
            cf32& v = x[round() * last::radix + i()];
            v = times(v, phasor_at(row.filter, from + low));
        });
    });
    forget();
    {
        block_type block{ x, t, { reinterpret_cast<cf32*>(shared_bytes) } };
        inverse<Shape>(block, a.table);
    }
    forget();

    const size_t frame_values = static_cast<size_t>(a.azimuth.frame.rows) * cols;
    cf32* const out = a.frames + static_cast<size_t>(k_row) * cols;
    const float* const weights = a.azimuth.row_weights + k_row;
    const bool one_look = a.azimuth.looks == 1;
    const float gain = (one_look ? weights[0] : 1.0f) * static_cast<float>(row.gain);
    float sum = 0;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        // (from the middle: else the numbers of the samples would be kept in registers)
        const double from = j - Shape::size / 2;
        const int rest = cols - j;
        static_for<first::radix>([&](auto k) {
            constexpr int at = k() * first::inner;
            if (at >= rest)
                return;
            const int n = j + at;
            const cf32 v = gain * times(x[round() * first::radix + k()],
                                        phasor_at(row.residual, from + at));
            sum += v.re + v.im;
            if (one_look) {
                store_once(out + n, __ldg(a.azimuth.gains + n) * v);
                return;
            }
            for (int l = 0; l < a.azimuth.looks; ++l)
                store_once(out + l * frame_values + n,
                           weights[static_cast<size_t>(l) * a.azimuth.frame.rows] *
                               a.azimuth.gains[static_cast<size_t>(l) * cols + n] * v);
        });
    });
    // a row with a value that is not finite, or became so on the way, is zeros
    if (__syncthreads_or(sum - sum != 0.0f))
        for_frames(a.azimuth, a.frames, k_row, [&](cf32* zeros) {
            for (int n = t; n < cols; n += Shape::threads)
                zeros[n] = { 0, 0 };
        });
}

} // namespace kernel
} // namespace sar
} // namespace gr
