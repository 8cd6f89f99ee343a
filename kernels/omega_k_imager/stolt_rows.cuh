// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_frames.cuh"
#include "../cuda/block_fft.cuh"
#include "../cuda/quick_phasor.cuh"
#include "../range_doppler_imager/tap_weights.cuh"
#include "stolt_polynomials.h"

namespace gr {
namespace sar {
namespace kernel {

//! What stolt_rows_kernel works on, in device memory.
struct stolt_rows_arguments {
    const cf32* in;
    int cols;                               //!< of a row, and cells of one
    int first_row;                          //!< of the frame
    const stolt_map::row_polynomials* rows; //!< [rows], with fraction_of_cycles
    const cuda::cf32_pair* table;           //!< make_power_table()
    tap_polynomials taps;
    azimuth_filter_tables azimuth;
    cf32* frames; //!< [looks][rows][cols]
};

//! Zeros in front of a half of the spectrum and behind it: as many as there are taps.
constexpr int stolt_margin = 16;

//! Values of shared memory that a row takes.
template <typename Shape>
SAR_HD constexpr int stolt_row_values()
{
    constexpr int line = Shape::size + stolt_margin;
    constexpr int one = Shape::shared_size > line ? Shape::shared_size : line;
    return stolt_margin + line + one;
}

//! A polynomial of a row, at x.
template <typename T, int n>
__device__ __forceinline__ T at(const T (&c)[n], T x)
{
    T v = c[n - 1];
    cuda::static_for<n - 1>([&](auto i) { v = fma(v, x, c[n - 2 - i()]); });
    return v;
}

/*!
 * \brief A compressed row of the azimuth spectrum to a row of azimuth_filter's frame: the
 * steps of stolt_math.h and the azimuth filter, one read and one write of device memory.
 *
 * The transform of twice the length of a row with as many zeros behind it is two of its
 * length: of the row, for the even bins, and of the row turned by half a bin, for the odd
 * ones. They lie apart in shared memory, where the mapping reads them.
 *
 * \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
 */
template <typename Shape, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads, MinBlocks)
    stolt_rows_kernel(const __grid_constant__ stolt_rows_arguments a)
{
    using namespace cuda;
    using block_type = device_block<Shape, false>;
    using first = stage_shape<Shape, 0>;
    constexpr int last_stage = Shape::stages - 1;
    using last = stage_shape<Shape, last_stage>;
    constexpr int size = Shape::size;
    constexpr int pairs = 5; // of the taps of `exact`
    static_assert(Shape::stages > 1);
    static_assert(size % Shape::threads == 0 && size % 2 == 0);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ stolt_map::row_polynomials row;

    int t = threadIdx.x;
    const int k_row = a.first_row + blockIdx.x;
    cf32* const even = reinterpret_cast<cf32*>(shared_bytes) + stolt_margin;
    cf32* const odd = even + size + stolt_margin;

    if (!is_wanted(a.azimuth, k_row)) {
        for_frames(a.azimuth, a.frames, k_row, [&](cf32* out) {
            for (int n = t; n < a.cols; n += Shape::threads)
                store_once(out + n, { 0, 0 });
        });
        return;
    }
    constexpr int words = sizeof(stolt_map::row_polynomials) / sizeof(int);
    for (int i = t; i < words; i += Shape::threads)
        reinterpret_cast<int*>(&row)[i] = reinterpret_cast<const int*>(a.rows + k_row)[i];

    cf32 x[Shape::points];
    // The transforms begin at bin -length: sample n is multiplied by (-1)^n, and for the
    // odd bins by exp(-j pi n / length).
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
        // what follows from the number of the thread is worked out again: in registers
        // over all of the loop it would leave too few
        asm volatile("" : "+r"(t));
        __builtin_assume(t >= 0);
        const cf32* in = a.in + static_cast<size_t>(blockIdx.x) * a.cols;
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            const int rest = a.cols - j;
            const float sign = j & 1 ? -1.0f : 1.0f;
            const cf32 half_turn = unit_phasor(static_cast<float>(j) * (-0.5f / size));
            const cf32 turned = half ? sign * half_turn : cf32{ sign, 0 };
            static_for<first::radix>([&](auto k) {
                constexpr int at = k() * first::inner;
                constexpr float flip = at % 2 ? -1.0f : 1.0f;
                cf32& v = x[round() * first::radix + k()];
                if (at >= rest) {
                    v = { 0, 0 };
                    return;
                }
                v = load_again(in + j + at);
                if (half) {
                    using turn = root<-k(), 2 * first::radix>;
                    v = times(v, times(turned, cf32{ flip * turn::re, flip * turn::im }));
                } else {
                    v = flip * turned.re * v;
                }
            });
        });
        cf32* const here = half ? odd : even;
        block_type block{ x, t, { here } };
        forward<Shape>(block, a.table);
        __syncthreads();
        for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
            const int base = last::frequency(j);
            const double from = (2 * base + half) * (1.0 / size) - 1;
            static_for<last::radix>([&](auto i) {
                constexpr double step = 2.0 * last::outer / size;
                here[base + i() * last::outer] =
                    times(x[round() * last::radix + i()],
                          quick_phasor(at(row.reference, from + i() * step)));
            });
        });
        if (t < stolt_margin)
            here[t - stolt_margin] = here[size + t] = { 0, 0 };
    }
    __syncthreads();

    // The mapping, in the order of the bins; the spectrum of the image then takes the
    // place of the even ones.
    cf32 mapped[size / Shape::threads];
    static_for<size / Shape::threads>([&](auto i) {
        if constexpr (i() % 8 == 0)
            __syncwarp(); // or more bins are begun than registers hold
        const int n = t + i() * Shape::threads;
        const double u = n * (2.0 / size) - 1;
        // (a number below 2^19 with fraction_of_cycles added to it)
        const float v = static_cast<float>(u);
        const double sum =
            fma(row.position[1], u, row.position[0]) + v * v * at(row.bend, v);
        const int whole = (__double2hiint(sum) & 0xfffff) - (1 << 19);
        const unsigned fraction = __double2loint(sum);
        const float from_middle = __uint_as_float(0x3f800000u | fraction >> 9) - 1.5f;
        const int begin =
            min(max(whole, -(pairs + 1)), 2 * size + pairs - 1) - (pairs - 1);
        mapped[i()] = at(row.weight, v) *
                      weigh_parted<pairs>(a.taps, from_middle, even, odd, begin);
    });
    __syncthreads();
    static_for<size / Shape::threads>([&](auto i) {
        const int n = t + i() * Shape::threads;
        even[n < size / 2 ? n + size / 2 : n - size / 2] = mapped[i()];
    });
    __syncthreads();
    asm volatile("" : "+r"(t));
    __builtin_assume(t >= 0);
    for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
        const int base = last::frequency(j);
        static_for<last::radix>([&](auto i) {
            x[round() * last::radix + i()] = even[base + i() * last::outer];
        });
    });
    {
        block_type block{ x, t, { odd } };
        inverse<Shape>(block, a.table);
    }

    // sample q of the transform is the cell q + cols / 2, modulo its length
    const int before = a.cols / 2;
    const size_t frame_values = static_cast<size_t>(a.azimuth.frame.rows) * a.cols;
    cf32* const out = a.frames + static_cast<size_t>(k_row) * a.cols;
    const float* const weights = a.azimuth.row_weights + k_row;
    const azimuth_row turn = a.azimuth.rows[k_row];
    const double turn_step = turn.step - rint(turn.step);
    const double turn_first = turn.cycles - rint(turn.cycles) + fraction_of_cycles;
    const bool one_look = a.azimuth.looks == 1;
    const float gain = one_look ? weights[0] : 1.0f;
    float sum = 0;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        static_for<first::radix>([&](auto k) {
            const int q = j + k() * first::inner;
            const int n = q < a.cols - before ? q + before : q - (size - before);
            if (n < 0)
                return;
            const cf32 v =
                gain *
                times(x[round() * first::radix + k()],
                      quick_phasor(fma(turn_step, static_cast<double>(n), turn_first)));
            sum += v.re + v.im;
            if (one_look) {
                store_once(out + n, __ldg(a.azimuth.gains + n) * v);
                return;
            }
            for (int l = 0; l < a.azimuth.looks; ++l)
                store_once(out + l * frame_values + n,
                           weights[static_cast<size_t>(l) * a.azimuth.frame.rows] *
                               a.azimuth.gains[static_cast<size_t>(l) * a.cols + n] * v);
        });
    });
    // a row with a value that is not finite, or became so on the way, is zeros
    if (__syncthreads_or(sum - sum != 0.0f))
        for_frames(a.azimuth, a.frames, k_row, [&](cf32* zeros) {
            for (int n = t; n < a.cols; n += Shape::threads)
                zeros[n] = { 0, 0 };
        });
}

} // namespace kernel
} // namespace sar
} // namespace gr
