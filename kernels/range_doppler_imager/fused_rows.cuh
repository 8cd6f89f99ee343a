// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_frames.cuh"
#include "../cuda/block_fft.cuh"
#include "../cuda/quick_phasor.cuh"
#include "../rcmc/rcmc_math.h"
#include "tap_weights.cuh"
#include <memory>

namespace gr {
namespace sar {
namespace kernel {

//! What fused_rows_kernel works on, in device memory.
struct fused_rows_arguments {
    const cf32* in;
    int samples_in;                //!< of a row that comes
    int first_row;                 //!< of the frame
    const cuda::cf32_pair* table;  //!< make_power_table()
    const cuda::cf32_pair* filter; //!< in_block_order(); null: rows are compressed
    rcm::transform_shape shape;    //!< length 0: rows are interpolated as they are
    range_doppler_frame migration; //!< uniform
    int pairs;                     //!< of taps
    tap_polynomials taps;
    azimuth_filter_tables azimuth;
    cf32* frames; //!< [looks][rows][cols]
    int ahead; //!< rows from one to that which is fetched into the cache with it; 0: none
};

//! SRC phase as a polynomial in the number of the bin.
struct bin_phase {
    double c2, c3, c4, c5;

    //! SRC of bin k, as rcm::src_factor().
    __device__ __forceinline__ cf32 factor(double k) const
    {
        const double rest = fma(k, fma(k, fma(k, c5, c4), c3), c2);
        return cuda::quick_phasor(fma(k * k, rest, cuda::fraction_of_cycles));
    }
};

//! \param step  range frequency over carrier from bin to bin; 0: no SRC
__device__ __forceinline__ bin_phase bin_phase_of(const src_phase& p, double step)
{
    const double square = step * step;
    return { p.c2 * square,
             p.c3 * square * step,
             p.c4 * square * square,
             p.c5 * square * square * step };
}

//! The grid that a row is interpolated on, and how a block makes it.
enum class row_grid {
    samples,        //!< one point a sample
    fine,           //!< two points a sample, all of them in shared memory
    fine_in_halves, //!< first those on samples, then those between them: half the memory
};

/*!
 * \brief What the even points of a grid (Parity 0), or the odd ones, have of such a
 * value.
 *
 * That is one tap of each pair. A value that begins with a point of the other parity has
 * the mirror image of the taps: it is read backwards.
 *
 * \param line   points of that parity
 * \param begin  point of the grid that the first tap is for
 */
template <int Pairs, int Parity>
__device__ __forceinline__ cf32
weigh_half(const tap_polynomials& taps, float from_middle, const cf32* line, int begin)
{
    const bool forwards = (begin & 1) == Parity;
    const cf32* const from = line + (begin >> 1) + (forwards ? 0 : Pairs - Parity);
    const int step = forwards ? 1 : -1;
    const float toward = forwards ? from_middle : -from_middle;
    const float square = from_middle * from_middle;
    cf32 sum = { 0, 0 };
    cuda::static_for<Pairs>([&](auto k) {
        constexpr bool mirrored = k() % 2 == 1;
        constexpr int at = mirrored ? (2 * Pairs - 1 - k()) / 2 : k() / 2;
        const tap_halves h = halves_of_tap<k()>(taps, square);
        sum = plus(sum,
                   cuda::fused(mirrored ? -toward : toward, h.difference, h.sum),
                   from[at * step]);
    });
    return sum;
}

//! Where a row reads its lines.
struct row_lines {
    const cf32* even; //!< samples
    const cf32* odd;  //!< points half a sample further, where they are wanted
    int points;       //!< of the grid; zeros in front of them and behind
};

/*!
 * \brief All cells of a row: interpolated, times the azimuth filter, into the frames.
 *
 * Positions are fixed-point, 2^-32 of a grid point; a thread's cells lie one block apart,
 * so the filter turns by the same angle from one to the next.
 *
 * \tparam Part  fine_in_halves: 0 leaves what the samples have of each cell in the first
 * frame, 1 adds the other points and completes it
 */
template <row_grid Grid, int Pairs, int Threads, int Part = 0>
__device__ __forceinline__ void
make_cells(const fused_rows_arguments& a, row_lines line, rcm::row row, int k, int t)
{
    constexpr double unit = 4294967296.0;
    constexpr double far = 1 << 30;
    const int cols = a.azimuth.frame.cols;
    const size_t frame_values = static_cast<size_t>(a.azimuth.frame.rows) * cols;
    cf32* const out = a.frames + static_cast<size_t>(k) * cols;
    const double first = rcm::uniform_position(row, t);
    long long at = __double2ll_rn(fmin(fmax(first, -far), far) * unit);
    const long long step = __double2ll_rn(Threads * row.step * unit);
    const azimuth_row turn = a.azimuth.rows[k];
    cf32 phasor = unit_phasor(uniform_cycles(turn, t));
    const cf32 rotation = unit_phasor(fractional_cycles(Threads * turn.step));
    const float* const weights = a.azimuth.row_weights + k;
    const bool one_look = a.azimuth.looks == 1;
    if (one_look)
        phasor = weights[0] * phasor;
    float sum = 0;
#pragma unroll 1
    for (int n = t; n < cols; n += Threads) {
        const int whole = static_cast<int>(at >> 32);
        const float from_middle =
            __uint_as_float(0x3f800000u | static_cast<unsigned>(at) >> 9) - 1.5f;
        const int begin =
            min(max(whole, -(Pairs + 1)), line.points + Pairs - 1) - (Pairs - 1);
        cf32 v;
        if constexpr (Grid == row_grid::fine_in_halves) {
            v = weigh_half<Pairs, Part>(
                a.taps, from_middle, Part ? line.odd : line.even, begin);
            if constexpr (Part == 0) {
                out[n] = v;
                at += step;
                continue;
            }
            v = v + out[n];
        } else if constexpr (Grid == row_grid::fine) {
            v = weigh_parted<Pairs>(a.taps, from_middle, line.even, line.odd, begin);
        } else {
            v = weigh<Pairs>(
                a.taps, from_middle, [&](auto i) { return line.even[begin + i()]; });
        }
        v = cuda::times(v, phasor);
        sum += v.re + v.im;
        if (one_look) {
            cuda::store_once(out + n, a.azimuth.gains[n] * v);
        } else {
            for (int l = 0; l < a.azimuth.looks; ++l)
                cuda::store_once(out + l * frame_values + n,
                                 weights[static_cast<size_t>(l) * a.azimuth.frame.rows] *
                                     a.azimuth.gains[static_cast<size_t>(l) * cols + n] *
                                     v);
        }
        phasor = cuda::times(phasor, rotation);
        at += step;
    }
    if constexpr (Grid == row_grid::fine_in_halves && Part == 0)
        return;
    // a row with a value that is not finite, or became so on the way, is zeros
    if (__syncthreads_or(sum - sum != 0.0f))
        for_frames(a.azimuth, a.frames, k, [&](cf32* zeros) {
            for (int n = t; n < cols; n += Threads)
                zeros[n] = { 0, 0 };
        });
}

//! Zeros in front of a line and behind it: as many as an interpolation has taps at most.
constexpr int row_margin = 16;

//! Values of shared memory that a row takes.
template <typename Shape, row_grid Grid>
SAR_HD constexpr int fused_row_values()
{
    constexpr int line = Shape::size + row_margin;
    constexpr int one = Shape::shared_size > line ? Shape::shared_size : line;
    return row_margin + (Grid == row_grid::fine ? line + one : one);
}

/*!
 * \brief A row of the azimuth spectrum to a row of azimuth_filter's frame: compression,
 * SRC, migration and azimuth filter, one read and one write of device memory.
 *
 * Passes through the spectrum, each to and fro: compression, after which what lies
 * outside the line becomes zeros as in a line that is stored; then SRC. Where the
 * interpolation has a finer grid, one more inverse transform makes the points half a
 * sample further,
 *
 *     s(n + 1/2) = sum over k of S(k) exp(j pi k / L) exp(j 2 pi k n / L)
 *
 * with k from -L/2 on. The bin at half the sampling rate counts half at either end. The
 * spectrum waits for that in shared memory, or is made once more from the samples. It is
 * a loop, so that the code of a transform is there once.
 *
 * \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
 */
template <typename Shape, row_grid Grid, int MinBlocks>
__global__ void __launch_bounds__(Shape::threads, MinBlocks)
    fused_rows_kernel(const __grid_constant__ fused_rows_arguments a)
{
    using namespace cuda;
    using block_type = device_block<Shape, false>;
    using first = stage_shape<Shape, 0>;
    constexpr int last_stage = Shape::stages - 1;
    using last = stage_shape<Shape, last_stage>;
    constexpr bool fine = Grid != row_grid::samples;
    constexpr bool waits = Grid == row_grid::fine;
    static_assert(Shape::stages > 1);
    static_assert(Shape::threads % 32 == 0 && Shape::threads > 32);
    static_assert(last::radix % 2 == 0);
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    __shared__ rcm::row row;
    __shared__ bin_phase src;

    int t = threadIdx.x;
    const int k_row = a.first_row + blockIdx.x;
    const int samples = a.shape.samples;
    // Samples go behind each other: even ones, then odd ones, zeros around either. Each
    // transform exchanges where its samples will be, and in the gap behind; the spectrum
    // waits behind the first one's exchange.
    cf32* const even = reinterpret_cast<cf32*>(shared_bytes) + row_margin;
    cf32* const odd = even + Shape::size + row_margin;
    cf32* const waiting = even + Shape::shared_size;

    if (!is_wanted(a.azimuth, k_row)) {
        for_frames(a.azimuth, a.frames, k_row, [&](cf32* out) {
            for (int n = t; n < a.azimuth.frame.cols; n += Shape::threads)
                store_once(out + n, { 0, 0 });
        });
        return;
    }
    if (t == 0) {
        row = rcm::row_of(a.migration, k_row, fine ? 2 : 1);
        src = bin_phase_of(row.src, a.shape.src ? a.shape.bin_step : 0.0);
    }
    cf32 x[Shape::points];
    const cf32* in = a.in + static_cast<size_t>(blockIdx.x) * a.samples_in;
    for_butterflies<Shape, 0>(t, [&](auto round, int j) {
        const int rest = a.samples_in - j;
        const cf32* const p = in + j;
        static_for<first::radix>([&](auto k) {
            constexpr int at = k() * first::inner;
            cf32& v = x[round() * first::radix + k()];
            if (at < rest)
                v = load_once(p + at);
            else
                v = { 0, 0 };
        });
    });
    if constexpr (Shape::size >= 8192)
        if (a.ahead && static_cast<int>(blockIdx.x) + a.ahead < gridDim.x) {
            const cf32* next = in + static_cast<size_t>(a.ahead) * a.samples_in;
            for (int i = 16 * t; i < a.samples_in; i += 16 * Shape::threads)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
        }

    // What lies behind the end of the line counts as zeros.
    const auto put_line = [&](cf32* to) {
        for_butterflies<Shape, 0>(t, [&](auto round, int j) {
            const int rest = samples - j;
            static_for<first::radix>([&](auto k) {
                constexpr int at = k() * first::inner;
                if (at < rest)
                    to[j + at] = x[round() * first::radix + k()];
            });
        });
        if (t < row_margin)
            to[t - row_margin] = to[samples + t] = { 0, 0 };
    };
    cf32 middle = { 0, 0 }; // spectrum at half the sampling rate, for the odd points
    const int end = fine ? 3 : a.shape.length ? 2 : 1;
#pragma unroll 1
    for (int pass = a.filter ? 0 : 1; pass < end; ++pass) {
        // what follows from the number of the thread is worked out again: in registers
        // over all of the loop it would leave none
        asm volatile("" : "+r"(t));
        block_type block{ x, t, { waits && pass == 2 ? odd : even } };
        if (!waits || pass < 2)
            forward<Shape>(block, a.table);
        if (pass == 0) {
            static_for<spectrum_pairs<Shape>>([&](auto i) {
                const cf32_pair h = block_type::read(a.filter + i() * Shape::threads + t);
                x[2 * i()] = times(x[2 * i()], h.a);
                if constexpr (2 * i() + 1 < Shape::points)
                    x[2 * i() + 1] = times(x[2 * i() + 1], h.b);
            });
        } else if (!fine || pass == 1) {
            constexpr float scale = 1.0f / Shape::size; // rcm::scale_of()
            for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
                const int base = last::frequency(j);
                const double bin = base;
                static_for<last::radix>([&](auto i) {
                    constexpr int low =
                        i() * last::outer - (2 * i() < last::radix ? 0 : Shape::size);
                    cf32& v = x[round() * last::radix + i()];
                    const cf32 s = scale * v;
                    v = times(s, src.factor(bin + low));
                    cf32 kept = v;
                    if constexpr (2 * i() == last::radix)
                        if (base == 0) { // at half the sampling rate
                            const cf32 up = src.factor(-low);
                            const cf32 down = src.factor(low);
                            v = times(0.5f * s, down + up);
                            kept = times(0.5f * s, down - up);
                        }
                    if constexpr (waits)
                        waiting[i() * last::butterflies + j] = kept;
                    else if constexpr (2 * i() == last::radix)
                        if (base == 0)
                            middle = kept;
                });
            });
        } else {
            for_butterflies<Shape, last_stage>(t, [&](auto round, int j) {
                const int base = last::frequency(j);
                const cf32 half_turn =
                    unit_phasor(static_cast<float>(base) * (0.5f / Shape::size));
                static_for<last::radix>([&](auto i) {
                    constexpr int k = 2 * i() < last::radix ? i() : i() - last::radix;
                    using turn = root<k, 2 * last::radix>;
                    cf32& v = x[round() * last::radix + i()];
                    if constexpr (waits) {
                        v = waiting[i() * last::butterflies + j];
                    } else {
                        v = 1.0f / Shape::size * v;
                        if constexpr (2 * i() == last::radix)
                            if (base == 0)
                                v = middle;
                    }
                    v = times(v, times(half_turn, cf32{ turn::re, turn::im }));
                });
            });
            if constexpr (waits)
                __syncthreads();
        }
        inverse<Shape>(block, a.table);
        if (pass == 0) {                               // the line ends where it ends
            constexpr int most = first::radix * 3 / 4; // that are seldom behind it
            const bool short_line = samples < most * first::inner;
            for_butterflies<Shape, 0>(t, [&](auto round, int j) {
                const int rest = samples - j;
                static_for<first::radix>([&](auto k) {
                    if (k() < most && !short_line)
                        return;
                    if (k() * first::inner >= rest)
                        x[round() * first::radix + k()] = { 0, 0 };
                });
            });
        }
        if constexpr (waits)
            if (pass > 0) {
                __syncthreads();
                put_line(pass == 1 ? even : odd);
            }
        if constexpr (Grid == row_grid::fine_in_halves)
            if (pass > 0) {
                __syncthreads();
                put_line(even);
                __syncthreads();
                const row_lines line = { even, even, 2 * samples };
                if (pass == 1) {
                    make_cells<Grid, 5, Shape::threads, 0>(a, line, row, k_row, t);
                    __syncthreads();
                } else {
                    make_cells<Grid, 5, Shape::threads, 1>(a, line, row, k_row, t);
                }
            }
    }
    if constexpr (Grid == row_grid::fine_in_halves)
        return;
    __syncthreads();
    if constexpr (waits) {
        make_cells<Grid, 5, Shape::threads>(a, { even, odd, 2 * samples }, row, k_row, t);
    } else {
        put_line(even);
        __syncthreads();
        const row_lines line = { even, nullptr, samples };
        switch (a.pairs) {
        case 1:
            make_cells<Grid, 1, Shape::threads>(a, line, row, k_row, t);
            break;
        case 4:
            make_cells<Grid, 4, Shape::threads>(a, line, row, k_row, t);
            break;
        default:
            make_cells<Grid, 8, Shape::threads>(a, line, row, k_row, t);
        }
    }
}

// ---- host
// --------------------------------------------------------------------------------

//! A kernel for one length, with its tables.
class row_kernel
{
public:
    virtual ~row_kernel() = default;
    //! Completes the arguments.
    virtual void run(fused_rows_arguments a, int rows, cudaStream_t stream) const = 0;
};

template <typename Shape, row_grid Grid, int MinBlocks>
class row_kernel_of final : public row_kernel
{
public:
    static constexpr auto kernel = fused_rows_kernel<Shape, Grid, MinBlocks>;
    static constexpr int shared_bytes =
        fused_row_values<Shape, Grid>() * static_cast<int>(sizeof(cf32));

    //! \param spectrum  of the compression; null: none
    static std::unique_ptr<row_kernel> make(int length, const cf32* spectrum)
    {
        if (length != Shape::size ||
            !cuda::block_fits(kernel, Shape::threads, shared_bytes))
            return nullptr;
        return std::make_unique<row_kernel_of>(spectrum);
    }

    explicit row_kernel_of(const cf32* spectrum)
        : d_table(cuda::upload(cuda::make_power_table<Shape>()))
    {
        if (spectrum)
            d_filter = cuda::upload(cuda::in_block_order<Shape>(spectrum));
        d_ahead = cuda::blocks_at_a_time(kernel, Shape::threads, shared_bytes);
    }

    void run(fused_rows_arguments a, int rows, cudaStream_t stream) const override
    {
        a.table = d_table.data();
        a.filter = d_filter.data();
        a.ahead = d_ahead;
        kernel<<<rows, Shape::threads, shared_bytes, stream>>>(a);
        SAR_CUDA_LAUNCH("fused_rows_kernel");
    }

private:
    int d_ahead; // rows that the device works on at a time
    const cuda::device_buffer<cuda::cf32_pair> d_table;
    cuda::device_buffer<cuda::cf32_pair> d_filter;
};

using row_kernel_maker = std::unique_ptr<row_kernel> (*)(int, const cf32*);

template <std::size_t N>
std::unique_ptr<row_kernel>
first_row_kernel_of(const row_kernel_maker (&makers)[N], int length, const cf32* spectrum)
{
    for (const row_kernel_maker make : makers)
        if (auto k = make(length, spectrum))
            return k;
    return nullptr;
}

//! The kernel for a length, for the current device; null where there is none. In files of
//! their own, since they take minutes to compile.
std::unique_ptr<row_kernel> make_fine_row_kernel(int length, const cf32* spectrum);
std::unique_ptr<row_kernel> make_sample_row_kernel(int length, const cf32* spectrum);

} // namespace kernel
} // namespace sar
} // namespace gr
