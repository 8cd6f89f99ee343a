// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../cuda/cuda_space.h"
#include "bp_accumulator.h"
#include <algorithm>
#include <iterator>

namespace gr {
namespace sar {
namespace kernel {

namespace {

using cuda::device_buffer;

constexpr int ts = bp::tile_size;
constexpr int threads_y = 8;
constexpr int pixels_a_thread = ts / threads_y; // rows threadIdx.y, + 8, + 16, + 24

enum counter { outside_counter, non_finite_counter, counters };

//! Add up over a warp; its first lane adds to memory, and only if there is something.
__device__ void add_up(unsigned long long* where, int n)
{
    for (int step = 16; step > 0; step /= 2)
        n += __shfl_down_sync(0xffffffffu, n, step);
    if (threadIdx.x % 32 == 0 && n > 0)
        atomicAdd(where, static_cast<unsigned long long>(n));
}

//! exp(+j 2 pi x) for |x| <= 0.5 cycles. The device's own sine is within 2^-21 there, and
//! saves some 20 instructions of unit_phasor.
__device__ cf32 device_phasor(float cycles)
{
    cf32 e;
    __sincosf(6.28318530718f * cycles, &e.im, &e.re);
    return e;
}

//! A block is a tile of 32 x 32 pixels, a warp 32 columns of a row.
template <bool Fast, interpolation I>
__global__ void __launch_bounds__(ts* threads_y)
    add_chunk_kernel(const __grid_constant__ bp::scene s,
                     const __grid_constant__ bp::chunk c,
                     const cf32* __restrict__ lines,
                     const bp::tap_quad* __restrict__ table,
                     bp::pixel_sum* __restrict__ image,
                     unsigned long long* __restrict__ counts)
{
    static_assert(ts == 32, "a row of a tile is a warp");
    __shared__ bp::expansion expansions[Fast ? bp::chunk_pulses : 1];
    const int tile_row = blockIdx.y * ts;
    const int tile_col = blockIdx.x * ts;
    if constexpr (Fast) {
        const int k = threadIdx.y * ts + threadIdx.x;
        if (k < c.count)
            expansions[k] = bp::expand(s, c.pulses[k], tile_row, tile_col);
        __syncthreads();
    }
    const int col = tile_col + threadIdx.x;
    cf32 sum[pixels_a_thread] = {};
    int outside = 0;
    for (int k = 0; k < c.count; ++k) {
        const cf32* line = lines + static_cast<long long>(c.line[k]) * s.samples;
        bp::look looks[pixels_a_thread];
        bool inner = true;
#pragma unroll
        for (int m = 0; m < pixels_a_thread; ++m) {
            const int i = threadIdx.y + m * threads_y;
            bp::look& l = looks[m];
            l = Fast ? bp::fast_look(
                           expansions[Fast ? k : 0], i, static_cast<int>(threadIdx.x))
                     : bp::exact_look(s, c.pulses[k], tile_row + i, col);
            inner &= l.inside & (l.bin >= bp::taps_before(I)) &
                     (l.bin + bp::taps_behind(I) < s.samples);
        }
        if (inner) { // nearly always, and without branches between the pixels
#pragma unroll
            for (int m = 0; m < pixels_a_thread; ++m) {
                const bp::look l = looks[m];
                sum[m] = sum[m] + bp::interpolate<I>(
                                      bp::inner_line{ line }, l.bin, l.fraction, table) *
                                      device_phasor(l.cycles);
            }
            continue;
        }
#pragma unroll
        for (int m = 0; m < pixels_a_thread; ++m) {
            const bp::look l = looks[m];
            if (l.inside)
                sum[m] = sum[m] + bp::interpolate<I>(bp::edged_line{ line, s.samples },
                                                     l.bin,
                                                     l.fraction,
                                                     table) *
                                      device_phasor(l.cycles);
            else
                outside +=
                    tile_row + static_cast<int>(threadIdx.y) + m * threads_y < s.rows &&
                    col < s.cols;
        }
    }
    int non_finite = 0;
#pragma unroll
    for (int m = 0; m < pixels_a_thread; ++m) {
        const int row = tile_row + threadIdx.y + m * threads_y;
        if (row < s.rows && col < s.cols &&
            !bp::add_chunk(image[static_cast<long long>(row) * s.cols + col], sum[m]))
            ++non_finite;
    }
    add_up(counts + outside_counter, outside);
    add_up(counts + non_finite_counter, non_finite);
}

static_assert(sizeof(bp::scene) + sizeof(bp::chunk) + 4 * sizeof(void*) <= 4096,
              "kernel parameters are limited to 4 KiB before CUDA 12.1");

// ---- patches
// ---------------------------------------------------------------------------
//
// Lines are folded when they come and wait, with their pulses, until there are enough of
// them: a group. Then, for as many patches at a time as there is room for:
//   ranges_kernel  a block is a patch, a thread some pulses: ranges as polynomials, in
//                  double
//   patch_kernel   a block is a patch and a share of the pulses: 128 threads of 16 pixels
//                  4 apart along the long axis, so that neighbouring lanes read the same
//                  cell or the next one. The cells a patch can touch are copied to shared
//                  memory while the pulses before are summed: two turns of pulses, one is
//                  read while the other arrives. There are as many shares as fill the
//                  last wave of blocks, and those of a patch are added to the image in
//                  order.
//   edge_kernel    what lies partly outside the swath, pixel by pixel, and chunks with
//                  samples that are not finite

constexpr int patch_threads = bp::patch_threads;
constexpr int patch_step = bp::patch_lanes;
constexpr int patch_pixels = bp::patch_long / patch_step; // of a thread
constexpr int longest_turn = 8;                           // pulses
constexpr int largest_group = 2048;
constexpr int smallest_share = 128; // pulses
//! Blocks that a multiprocessor shall hold.
constexpr int patch_blocks(bool linear) { return linear ? 5 : 4; }

//! Any two chunks that follow one another have more pulses than fit into one.
constexpr int most_chunks = 2 * largest_group / bp::chunk_pulses + 1;

//! A pulse that waits, and its chunk: pulses whose sum is left out together when it is
//! not finite.
struct waiting_pulse {
    bp::pulse pulse;
    int chunk;
};

struct patch_job {
    bp::scene scene;
    bp::folding fold;
    const waiting_pulse* pulses;  //!< [count]
    const int* broken;            //!< [chunk]: has samples that are not finite
    const bp::folded_cell* lines; //!< [count][fold.cells]
    bp::patch_range* ranges;      //!< [patch][pitch]
    int* firsts;                  //!< [patch][pitch]: cell, or first_cell
    bp::patch* patches;           //!< [patch]
    int* edges;                   //!< [patch]: those with pulses for edge_kernel
    int* shares_done;             //!< [patch]
    int* progress;                //!< [progress_counter]
    bp::pixel_sum* image;
    unsigned long long* counts;
    int count;   //!< pulses
    int pitch;   //!< pulses from patch to patch, a multiple of longest_turn
    int first;   //!< patch of this launch
    int order;   //!< of ranges
    int segment; //!< cells from pulse to pulse in the ring, all of which are copied
    int turn;    //!< pulses a turn
    int share;   //!< pulses a block, a multiple of two turns
    int all;     //!< patches of this launch
    float cells_a_radian;
    int chunks;
    int starts[most_chunks + 1]; //!< first pulse of each chunk, and count
};
enum first_cell { outside_swath = -1, on_the_edge = -2 };
enum progress_counter { edges_found, blocks_begun, progress_counters };

__global__ void __launch_bounds__(256)
    carrier_kernel(const bp::scene s, const bp::folding f, cf32* __restrict__ out)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < f.cells)
        out[cell] = bp::carrier_of_cell(s, f, cell);
}

template <interpolation I>
__global__ void __launch_bounds__(256) fold_kernel(const __grid_constant__ bp::scene s,
                                                   const __grid_constant__ bp::folding f,
                                                   const __grid_constant__ bp::chunk c,
                                                   const cf32* __restrict__ lines,
                                                   const cf32* __restrict__ carrier,
                                                   const float* __restrict__ filter,
                                                   bp::folded_cell* __restrict__ out,
                                                   waiting_pulse* __restrict__ pulses,
                                                   int* __restrict__ broken,
                                                   int chunk)
{
    constexpr int taps = taps_of(I) > 2 ? taps_of(I) : 0;
    __shared__ float h[8 * 3 * taps + 1];
    if constexpr (taps > 0) {
        for (int i = threadIdx.x; i < f.parts * 3 * taps; i += blockDim.x)
            h[i] = filter[i];
        __syncthreads();
    }
    const int k = blockIdx.y;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        pulses[k] = { c.pulses[k], chunk };
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    bool finite = true;
    if (bin < s.samples) {
        const bp::edged_line line = {
            lines + static_cast<long long>(c.line[k]) * s.samples, s.samples
        };
        const bp::samples_around<I> near(line, bin);
        const int first = bin * f.parts;
        const int end = min(first + f.parts, f.cells);
        for (int cell = first; cell < end; ++cell) {
            const bp::folded_cell v =
                bp::fold<I>(f, near, cell - first, carrier[cell], h);
            finite &= bp::is_finite(v);
            out[static_cast<long long>(k) * f.cells + cell] = v;
        }
    }
    if (__syncthreads_or(!finite) && threadIdx.x == 0)
        broken[chunk] = 1;
}

static_assert(sizeof(bp::scene) + sizeof(bp::folding) + sizeof(bp::chunk) +
                      7 * sizeof(void*) <=
                  4096,
              "kernel parameters are limited to 4 KiB before CUDA 12.1");

__device__ int pixels_of(const bp::scene& s, const bp::patch& t)
{
    const int rows = min(t.rows(), s.rows - t.row);
    const int cols = min(t.cols(), s.cols - t.col);
    return rows > 0 && cols > 0 ? rows * cols : 0;
}

/*!
 * \brief What reading costs of half a warp whose first pixel is at \p from cells.
 *
 * Shared memory serves eight lanes a turn, sometimes all sixteen, when no two of them
 * read different cells of one bank; banks are eight cells wide. \p x, \p y: cells from
 * pixel to pixel. \return turns without and with that luck, together
 */
__device__ int bank_turns(int lay, float x, float y, float from)
{
    int cells[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const bp::patch_lane p = bp::lane_of(i, lay);
        cells[i] = __float2int_rn(from + p.x * x + p.y * y);
    }
    int turns = 0;
#pragma unroll
    for (int half = 0; half < 16; half += 8) {
        int most = 1;
#pragma unroll
        for (int i = half; i < half + 8; ++i) {
            int same_bank = 1;
#pragma unroll
            for (int j = half; j < i; ++j)
                same_bank += cells[i] != cells[j] && ((cells[i] - cells[j]) & 7) == 0;
            most = max(most, same_bank);
        }
        turns += most;
    }
    bool apart = turns == 2;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 8; j < 16; ++j)
            apart &= cells[i] == cells[j] || ((cells[i] - cells[j]) & 7) != 0;
    return apart ? 3 : 2 * turns;
}

__global__ void __launch_bounds__(128) ranges_kernel(const __grid_constant__ patch_job a)
{
    const int index = blockIdx.x;
    bp::patch t = bp::patch_at(a.scene, a.pulses[a.count / 2].pulse, a.first + index);
    const int pixels = pixels_of(a.scene, t);
    int outside = 0;
    int edges = 0;
    if (pixels > 0)
        for (int k = threadIdx.x; k < a.count; k += blockDim.x) {
            const waiting_pulse w = a.pulses[k];
            bp::patch_segment segment = { 0, -1 };
            bp::patch_range r = {};
            if (!a.broken[w.chunk])
                r = bp::range_over(
                    a.scene, a.fold, w.pulse, t, a.order, a.segment, segment);
            int first = outside_swath;
            if (segment.count > 0) {
                first = min(segment.first, a.fold.cells - a.segment);
                r.magic += static_cast<float>(segment.first - first +
                                              k % (2 * a.turn) * a.segment);
            } else if (segment.count < 0) {
                first = on_the_edge;
                ++edges;
            } else {
                outside += pixels;
            }
            const long long at = static_cast<long long>(index) * a.pitch + k;
            a.ranges[at] = r;
            a.firsts[at] = first;
        }
    edges = __syncthreads_or(edges);
    // the lay of the lanes that waits least, for three places in a cell and two pulses
    __shared__ int turns[bp::patch_lays];
    if (threadIdx.x < bp::patch_lays)
        turns[threadIdx.x] = 0;
    __syncthreads();
    if (pixels > 0 && threadIdx.x < 3 * bp::patch_lays) {
        const int n = threadIdx.x % bp::patch_lays;
        const float from = threadIdx.x / bp::patch_lays / 3.0f;
        for (int k = a.count / 4; k < a.count; k += (a.count + 1) / 2) {
            const bp::patch_range r =
                a.ranges[static_cast<long long>(index) * a.pitch + k];
            atomicAdd(turns + n,
                      bank_turns(bp::lay_number(n),
                                 r.x * a.cells_a_radian,
                                 r.y * a.cells_a_radian,
                                 from));
        }
    }
    __syncthreads();
    // (four pixels of two rows are best where they hardly wait: their lanes share cells)
    if (threadIdx.x == 0) {
        static_assert(bp::plain_lay == 7, "the first");
        int best = 0;
        if (turns[0] > 27)
            for (int n = 1; n < bp::patch_lays; ++n)
                best = turns[n] < turns[best] ? n : best;
        t.lay = bp::lay_number(best);
    }
    if (threadIdx.x == 0) {
        a.patches[index] = t;
        if (edges)
            a.edges[atomicAdd(a.progress + edges_found, 1)] = index;
    }
    add_up(a.counts + outside_counter, outside);
}

__device__ unsigned shared_address(const void* p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/*!
 * \brief Copies that fill two turns of shared memory in the background.
 *
 * From compute capability 9.0 on a copy of any length is one instruction of one thread;
 * what arrives is counted by a barrier in shared memory (PTX ISA, cp.async.bulk and
 * mbarrier). Before, each thread copies 16 bytes at a time.
 */
class turn_copies
{
public:
#if __CUDA_ARCH__ >= 900
    //! By all threads. \p barriers: two, in shared memory
    __device__ explicit turn_copies(unsigned long long* barriers)
        : d_barriers(shared_address(barriers))
    {
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; ++k)
                asm volatile(
                    "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(d_barriers + 8 * k)
                    : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncthreads();
    }
    //! By one thread, before the copies of a turn: all their bytes.
    __device__ void announce(int turn, int bytes)
    {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                         d_barriers + 8 * (turn & 1)),
                     "r"(bytes)
                     : "memory");
    }
    //! By one thread, 16-byte units.
    __device__ void copy(int turn, uint4* to, const uint4* from, int units)
    {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                     "l"(from),
                     "r"(16 * units),
                     "r"(d_barriers + 8 * (turn & 1))
                     : "memory");
    }
    //! By all threads: the turn has arrived.
    __device__ void wait(int turn)
    {
        unsigned done;
        do {
            asm volatile("{\n\t.reg .pred p;\n\t"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                         "selp.u32 %0, 1, 0, p;\n\t}"
                         : "=r"(done)
                         : "r"(d_barriers + 8 * (turn & 1)), "r"(turn >> 1 & 1)
                         : "memory");
        } while (!done);
    }

private:
    unsigned d_barriers;
#else
    __device__ explicit turn_copies(unsigned long long*) { __syncthreads(); }
    //! By all threads together.
    __device__ void copy(int, uint4* to, const uint4* from, int units)
    {
#pragma unroll 1
        for (int j = threadIdx.x; j < units; j += patch_threads) {
#if __CUDA_ARCH__ >= 800
            asm volatile(
                "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + j)),
                "l"(from + j)
                : "memory");
#else
            to[j] = __ldg(from + j);
#endif
        }
    }
    //! By all threads, after the copies of a turn, also of a turn without any.
    __device__ void commit()
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" ::: "memory");
#endif
    }
    __device__ void wait(int)
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
        __syncthreads();
    }
#endif
};

__device__ bp::folded_cell load_shared(unsigned address)
{
    bp::folded_cell c;
    asm("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=f"(c.re), "=f"(c.im), "=r"(c.slope_re), "=r"(c.slope_im)
        : "r"(address));
    return c;
}

//! Add the sums of a thread to the image. \return how many were not finite
__device__ int put_away(const patch_job& a,
                        const bp::patch& t,
                        int x,
                        int y,
                        const float (&re)[patch_pixels],
                        const float (&im)[patch_pixels])
{
    const int row = t.row + (t.rows_long ? x : y);
    const int col = t.col + (t.rows_long ? y : x);
    const int left = (t.rows_long ? a.scene.rows - row : a.scene.cols - col);
    const bool inside = t.rows_long ? col < a.scene.cols : row < a.scene.rows;
    const long long step =
        t.rows_long ? static_cast<long long>(patch_step) * a.scene.cols : patch_step;
    float4* p = reinterpret_cast<float4*>(a.image) +
                (static_cast<long long>(row) * a.scene.cols + col);
    int lost = 0;
#pragma unroll
    for (int k = 0; k < patch_pixels; ++k) {
        if (inside && k * patch_step < left) {
            const float4 v = *p;
            bp::pixel_sum sum = { { v.x, v.y }, { v.z, v.w } };
            if (bp::add_chunk(sum, { re[k], im[k] }))
                *p = make_float4(sum.sum.re, sum.sum.im, sum.lost.re, sum.lost.im);
            else
                ++lost;
        }
        p += step;
    }
    return lost;
}

//! Wait for the shares of a patch before this one, and say that this one is done.
class patch_order
{
public:
    __device__ patch_order(int* done, int share) : d_done(done), d_share(share)
    {
        if (threadIdx.x == 0)
            while (*static_cast<volatile int*>(d_done) < d_share)
                ;
        __threadfence();
        __syncthreads();
    }
    __device__ ~patch_order()
    {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            *static_cast<volatile int*>(d_done) = d_share + 1;
    }
    patch_order(const patch_order&) = delete;
    patch_order& operator=(const patch_order&) = delete;

private:
    int* d_done;
    int d_share;
};

template <bool Linear, int Order>
__global__ void __launch_bounds__(patch_threads, patch_blocks(Linear))
    patch_kernel(const __grid_constant__ patch_job a, const unsigned magic_bits)
{
    constexpr int quads = 3; // of a range
    extern __shared__ __align__(128) uint4 ring[];
    uint4* const ranges = ring + 2 * a.turn * a.segment;
    unsigned long long* const barriers =
        reinterpret_cast<unsigned long long*>(ranges + 2 * a.turn * quads);
    int* const number = reinterpret_cast<int*>(barriers + 2);
    // in the order in which blocks begin, so that none waits for one that has not begun
    if (threadIdx.x == 0)
        *number = atomicAdd(a.progress + blocks_begun, 1);
    turn_copies copies(barriers);
    const int index = *number % a.all;
    const int share = *number / a.all;
    const bp::patch t = a.patches[index];
    if (t.row >= a.scene.rows || t.col >= a.scene.cols)
        return;
    const int first_pulse = share * a.share;
    const int count = min(a.share, a.count - first_pulse);
    const auto [x, y] = bp::lane_of(threadIdx.x, t.lay);
    const float middle_x =
        x + 0.5f * (patch_pixels - 1) * patch_step - 0.5f * (bp::patch_long - 1);
    const float middle_y = y - 0.5f * (bp::patch_short - 1);
    const long long here = static_cast<long long>(index) * a.pitch + first_pulse;
    const uint4* const dev_ranges = reinterpret_cast<const uint4*>(a.ranges + here);
    const uint4* const lines = reinterpret_cast<const uint4*>(a.lines) +
                               static_cast<long long>(first_pulse) * a.fold.cells;
    const int* const firsts = a.firsts + here;
    const unsigned base = shared_address(ring) - magic_bits;
    const int turns = (count + a.turn - 1) / a.turn;

#if __CUDA_ARCH__ >= 900
    // lanes of the first warp, a pulse each, which know a turn ahead what to copy
    const auto first_of = [&](int turn) {
        const int p = turn * a.turn + static_cast<int>(threadIdx.x);
        return static_cast<int>(threadIdx.x) < a.turn && p < count ? firsts[p]
                                                                   : outside_swath;
    };
    int next = outside_swath;
    if (threadIdx.x < 32)
        next = first_of(0);
    const auto stage = [&](int turn) {
        if (threadIdx.x >= 32 || turn >= turns)
            return;
        const int lane = threadIdx.x;
        const int half = (turn & 1) * a.turn;
        const int n = min(a.turn, count - turn * a.turn);
        const int first = next;
        next = first_of(turn + 1);
        const unsigned inside = __ballot_sync(0xffffffffu, first >= 0);
        if (lane == 0) {
            copies.announce(turn, 16 * (__popc(inside) * a.segment + n * quads));
            copies.copy(turn,
                        ranges + half * quads,
                        dev_ranges + turn * a.turn * quads,
                        n * quads);
        }
        __syncwarp();
        if (first >= 0)
            copies.copy(turn,
                        ring + (half + lane) * a.segment,
                        lines +
                            static_cast<long long>(turn * a.turn + lane) * a.fold.cells +
                            first,
                        a.segment);
    };
#else
    const auto stage = [&](int turn) {
        if (turn < turns) {
            const int half = (turn & 1) * a.turn;
            const int n = min(a.turn, count - turn * a.turn);
            copies.copy(turn,
                        ranges + half * quads,
                        dev_ranges + turn * a.turn * quads,
                        n * quads);
            for (int i = 0; i < n; ++i) {
                const int pulse = turn * a.turn + i;
                const int first = firsts[pulse];
                if (first >= 0)
                    copies.copy(turn,
                                ring + (half + i) * a.segment,
                                lines + static_cast<long long>(pulse) * a.fold.cells +
                                    first,
                                a.segment);
            }
        }
        copies.commit();
    };
#endif

    float re[patch_pixels] = {};
    float im[patch_pixels] = {};
    stage(0);
    stage(1);
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        copies.wait(turn);
        const int n = min(a.turn, count - turn * a.turn);
        const float4* q =
            reinterpret_cast<const float4*>(ranges) + (turn & 1) * a.turn * quads;
#pragma unroll 1
        for (int i = 0; i < n; ++i, q += quads) {
            const float4 q0 = q[0];
            const float4 q1 = q[1];
            const float4 q2 = q[2];
            if (q1.w == 0)
                continue;
            const bp::patch_range r = { q0.x, q0.y, q0.z, q0.w, q1.x, q1.y,
                                        q1.z, q1.w, q2.x, q2.y, q2.z, q2.w };
            const bp::patch_row w =
                bp::along<Order>(r, middle_x, middle_y, a.fold.radians, a.cells_a_radian);
#pragma unroll
            for (int h = 0; h < patch_pixels / 2; ++h) {
                // two pixels, as far before as behind the middle
                const float m = (h + 0.5f) * patch_step;
                const float even = fmaf(m * m, w.line.xx, w.line.c);
                const float odd =
                    Order == 2 ? w.line.x : fmaf(m * m, w.line.xxx, w.line.x);
#pragma unroll
                for (int side = -1; side <= 1; side += 2) {
                    const int k = patch_pixels / 2 + (side < 0 ? -1 - h : h);
                    const float phi = fmaf(side * m, odd, even);
                    const float at = fmaf(phi, a.cells_a_radian, w.magic);
                    const float f = fmaf(at - w.magic, -a.fold.radians, phi);
                    const cf32 v = bp::value_in<Linear>(
                        load_shared((__float_as_uint(at) << 4) + base), f);
                    float sine;
                    float cosine;
                    __sincosf(f, &sine, &cosine);
                    re[k] = fmaf(v.re, cosine, re[k]);
                    re[k] = fmaf(-v.im, sine, re[k]);
                    im[k] = fmaf(v.re, sine, im[k]);
                    im[k] = fmaf(v.im, cosine, im[k]);
                }
            }
        }
        __syncthreads();
        stage(turn + 2);
    }
    int lost;
    {
        const patch_order order(a.shares_done + index, share);
        lost = put_away(a, t, x, y, re, im);
    }
    add_up(a.counts + non_finite_counter, lost);
}

//! A block is half a patch at a time: a tile of 32 x 32 pixels.
template <interpolation I>
__global__ void __launch_bounds__(ts* threads_y)
    edge_kernel(const __grid_constant__ patch_job a)
{
    static_assert(bp::patch_long == 2 * ts && bp::patch_short == ts, "two tiles a patch");
    __shared__ bp::expansion expansions[bp::chunk_pulses];
    __shared__ bool wanted[bp::chunk_pulses];
    const bp::scene& s = a.scene;
    const int tiles = 2 * a.progress[edges_found];
    int outside = 0;
    int non_finite = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int index = a.edges[tile / 2];
        const bp::patch t = a.patches[index];
        const int* const firsts = a.firsts + static_cast<long long>(index) * a.pitch;
        const int tile_row = t.row + (t.rows_long ? tile % 2 * ts : 0);
        const int tile_col = t.col + (t.rows_long ? 0 : tile % 2 * ts);
        if (tile_row >= s.rows || tile_col >= s.cols)
            continue;
        const int col = tile_col + threadIdx.x;
        for (int c = 0; c < a.chunks; ++c) {
            const int first = a.starts[c];
            const int n = a.starts[c + 1] - first;
            const int k = threadIdx.y * ts + threadIdx.x;
            const bool edge = k < n && firsts[first + k] == on_the_edge;
            if (!__syncthreads_or(edge))
                continue;
            if (k < n) {
                wanted[k] = edge;
                if (edge)
                    expansions[k] =
                        bp::expand(s, a.pulses[first + k].pulse, tile_row, tile_col);
            }
            __syncthreads();
            cf32 sum[pixels_a_thread] = {};
            for (int j = 0; j < n; ++j) {
                if (!wanted[j])
                    continue;
                const bp::folded_cell* line =
                    a.lines + static_cast<long long>(first + j) * a.fold.cells;
#pragma unroll
                for (int m = 0; m < pixels_a_thread; ++m) {
                    const int i = threadIdx.y + m * threads_y;
                    const bp::look l =
                        bp::fast_look(expansions[j], i, static_cast<int>(threadIdx.x));
                    if (!l.inside) {
                        outside += tile_row + i < s.rows && col < s.cols;
                        continue;
                    }
                    sum[m] = sum[m] + bp::folded_echo<I>(s, a.fold, line, l);
                }
            }
#pragma unroll
            for (int m = 0; m < pixels_a_thread; ++m) {
                const int row = tile_row + threadIdx.y + m * threads_y;
                if (row < s.rows && col < s.cols &&
                    !bp::add_chunk(a.image[static_cast<long long>(row) * s.cols + col],
                                   sum[m]))
                    ++non_finite;
            }
            __syncthreads();
        }
    }
    add_up(a.counts + outside_counter, outside);
    add_up(a.counts + non_finite_counter, non_finite);
}

__global__ void mean_kernel(cf32* __restrict__ out,
                            const bp::pixel_sum* __restrict__ image,
                            long long pixels,
                            long long stride,
                            int slots,
                            double scale)
{
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < pixels)
        out[i] = bp::mean_of_slots(image + i, stride, slots, scale);
}

template <bool Fast>
auto kernel_for(interpolation i)
{
    switch (i) {
    case interpolation::nearest:
        return add_chunk_kernel<Fast, interpolation::nearest>;
    case interpolation::linear:
        return add_chunk_kernel<Fast, interpolation::linear>;
    case interpolation::sinc8:
        return add_chunk_kernel<Fast, interpolation::sinc8>;
    default:
        return add_chunk_kernel<Fast, interpolation::sinc16>;
    }
}

template <interpolation I>
struct patch_kernels {
    static constexpr bool linear = taps_of(I) <= 2;
    static constexpr auto fold = fold_kernel<I>;
    static constexpr auto second = patch_kernel<linear, 2>;
    static constexpr auto third = patch_kernel<linear, 3>;
    static constexpr auto edge = edge_kernel<I>;
};

//! The kernels of an interpolation, as \p use(patch_kernels<I>()).
template <typename F>
void with_patch_kernels(interpolation i, const F& use)
{
    if (i == interpolation::linear)
        use(patch_kernels<interpolation::linear>());
    else if (i == interpolation::sinc8)
        use(patch_kernels<interpolation::sinc8>());
    else
        use(patch_kernels<interpolation::sinc16>());
}

class bp_accumulator_cuda final : public bp_accumulator
{
public:
    bp_accumulator_cuda(const bp_accumulator_params& p, const compute_target& target)
        : bp_accumulator(p),
          d_space(cuda::space_of(target.space)),
          d_pixels(static_cast<std::size_t>(d_scene.rows) * d_scene.cols),
          d_image(d_pixels * p.slots),
          d_counts(counters)
    {
        const cudaStream_t stream = d_space.compute_stream();
        if (taps_of(p.interpolator) > 2) {
            const std::vector<float> t =
                sinc_table(taps_of(p.interpolator), p.axis.occupied_band());
            d_table = device_buffer<bp::tap_quad>(t.size() / 4);
            SAR_CUDA(cudaMemcpyAsync(d_table.data(),
                                     t.data(),
                                     t.size() * sizeof(float),
                                     cudaMemcpyHostToDevice,
                                     stream));
        }
        SAR_CUDA(cudaMemsetAsync(
            d_image.data(), 0, d_image.size() * sizeof(bp::pixel_sum), stream));
        SAR_CUDA(cudaMemsetAsync(
            d_counts.data(), 0, counters * sizeof(unsigned long long), stream));
        make_patches();
        SAR_CUDA(cudaStreamSynchronize(stream));
    }

    ~bp_accumulator_cuda() override
    {
        // work that still writes the image must be done before its memory goes
        cudaStreamSynchronize(d_space.compute_stream());
    }

protected:
    void add_chunk(const cf32* dev_lines,
                   const bp::chunk& c,
                   bp::ranging how,
                   int segment,
                   int slot) override
    {
        const cuda::device_guard guard(d_space.index());
        if (how == bp::ranging::patch2 || how == bp::ranging::patch3) {
            add_to_group(dev_lines, c, how, segment, slot);
            return;
        }
        const auto kernel = how == bp::ranging::fast
                                ? kernel_for<true>(d_params.interpolator)
                                : kernel_for<false>(d_params.interpolator);
        const dim3 tiles((d_scene.cols + ts - 1) / ts, (d_scene.rows + ts - 1) / ts);
        kernel<<<tiles, dim3(ts, threads_y), 0, d_space.compute_stream()>>>(
            d_scene,
            c,
            dev_lines,
            d_table.data(),
            d_image.data() + d_pixels * slot,
            d_counts.data());
        SAR_CUDA_LAUNCH("bp_accumulator::add");
    }

    void clear(int slot) override
    {
        const cuda::device_guard guard(d_space.index());
        sum_group(); // counts at least, where they are cleared at once
        SAR_CUDA(cudaMemsetAsync(d_image.data() + d_pixels * slot,
                                 0,
                                 d_pixels * sizeof(bp::pixel_sum),
                                 d_space.compute_stream()));
    }

    void mean_rows(cf32* dev_out, int first_row, int rows, double scale) override
    {
        const cuda::device_guard guard(d_space.index());
        sum_group();
        const long long n = static_cast<long long>(rows) * d_scene.cols;
        mean_kernel<<<static_cast<unsigned>((n + 255) / 256),
                      256,
                      0,
                      d_space.compute_stream()>>>(
            dev_out,
            d_image.data() + static_cast<std::size_t>(first_row) * d_scene.cols,
            n,
            static_cast<long long>(d_pixels),
            d_params.slots,
            scale);
        SAR_CUDA_LAUNCH("bp_accumulator::write_rows");
    }

    void read_counters(std::uint64_t& outside, std::uint64_t& non_finite) override
    {
        const cuda::device_guard guard(d_space.index());
        sum_group();
        unsigned long long host[counters];
        SAR_CUDA(cudaMemcpyAsync(host,
                                 d_counts.data(),
                                 sizeof(host),
                                 cudaMemcpyDeviceToHost,
                                 d_space.compute_stream()));
        SAR_CUDA(cudaStreamSynchronize(d_space.compute_stream()));
        outside = host[outside_counter];
        non_finite = host[non_finite_counter];
    }

private:
    //! Memory for groups of pulses, as far as a sixteenth of what is free allows for
    //! their lines, and as much for their ranges.
    void make_patches()
    {
        if (d_params.accuracy == accuracy_mode::exact ||
            d_params.interpolator == interpolation::nearest ||
            d_scene.samples > bp::longest_fast_line)
            return;
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        SAR_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
        const std::size_t budget = std::min<std::size_t>(free_bytes / 16, 1u << 30);
        const std::size_t line = d_folding.cells * sizeof(bp::folded_cell);
        d_group = largest_group;
        while (d_group > bp::chunk_pulses && d_group * line > budget)
            d_group /= 2;
        const std::size_t a_patch = d_group * (sizeof(bp::patch_range) + sizeof(int));
        d_patches = bp::patches_of(d_scene.rows, d_scene.cols);
        d_band = static_cast<int>(
            std::min<std::size_t>(static_cast<std::size_t>(d_patches), budget / a_patch));
        if (d_group * line > budget || d_band < std::min(d_patches, 256))
            return;
        cudaDeviceProp device;
        SAR_CUDA(cudaGetDeviceProperties(&device, d_space.index()));
        d_processors = device.multiProcessorCount;
        d_block_bytes = device.sharedMemPerBlockOptin;
        const int blocks = patch_blocks(taps_of(d_params.interpolator) <= 2);
        d_wave = blocks * d_processors;
        // the system takes a part for each block
        d_share_bytes =
            device.sharedMemPerMultiprocessor / blocks - device.reservedSharedMemPerBlock;
        // bands are alike, and of whole waves of blocks where there are several
        const int bands = (d_patches + d_band - 1) / d_band;
        const int even = (d_patches + bands - 1) / bands;
        d_band = bands == 1 ? d_patches
                            : std::min(d_band, (even + d_wave - 1) / d_wave * d_wave);
        with_patch_kernels(d_params.interpolator, [&](auto kernels) {
            const auto allow = cudaFuncAttributeMaxDynamicSharedMemorySize;
            const int bytes = static_cast<int>(d_block_bytes);
            SAR_CUDA(cudaFuncSetAttribute(kernels.second, allow, bytes));
            SAR_CUDA(cudaFuncSetAttribute(kernels.third, allow, bytes));
        });
        if (taps_of(d_params.interpolator) > 2) {
            const std::vector<float> h = fold_filter(
                d_params.interpolator, d_params.axis.occupied_band(), d_folding);
            d_filter = device_buffer<float>(h.size());
            SAR_CUDA(cudaMemcpyAsync(d_filter.data(),
                                     h.data(),
                                     h.size() * sizeof(float),
                                     cudaMemcpyHostToDevice,
                                     d_space.compute_stream()));
            SAR_CUDA(cudaStreamSynchronize(d_space.compute_stream()));
        }
        d_carrier = device_buffer<cf32>(d_folding.cells);
        carrier_kernel<<<(d_folding.cells + 255) / 256,
                         256,
                         0,
                         d_space.compute_stream()>>>(
            d_scene, d_folding, d_carrier.data());
        SAR_CUDA_LAUNCH("bp_accumulator::make");
        const std::size_t band = d_band;
        d_pulses = device_buffer<waiting_pulse>(d_group);
        d_broken = device_buffer<int>(most_chunks);
        d_lines = device_buffer<bp::folded_cell>(static_cast<std::size_t>(d_group) *
                                                 d_folding.cells);
        d_ranges = device_buffer<bp::patch_range>(band * d_group);
        d_firsts = device_buffer<int>(band * d_group);
        d_where = device_buffer<bp::patch>(band);
        d_edges = device_buffer<int>(band);
        d_progress = device_buffer<int>(progress_counters + band);
        d_longest_segment = static_cast<int>((d_block_bytes - ring_bytes(1, 0)) /
                                             (2 * sizeof(bp::folded_cell)));
        d_longest_segment = std::min(d_longest_segment, 2048);
    }

    //! Shared memory of patch_kernel: two turns and their barriers.
    static std::size_t ring_bytes(int turn, int segment)
    {
        return 2 * turn * (segment * sizeof(bp::folded_cell) + sizeof(bp::patch_range)) +
               3 * sizeof(unsigned long long);
    }

    //! Shares of \p pulses for blocks of \p patches that leave few multiprocessors idle
    //! at the end. \param share pulses of one of them, a multiple of \p unit
    int shares_of(int patches, int pulses, int unit, int& share) const
    {
        const double wave = d_wave;
        int best = 1;
        double best_use = 0;
        for (int k = 1; k == 1 || (k <= 16 && pulses / k >= smallest_share); ++k) {
            const double waves = k * patches / wave;
            // each addition to the image costs about as much as two pulses
            const double use = waves / std::ceil(waves) * pulses / (pulses + 2.0 * k);
            if (use > best_use + 0.002) {
                best_use = use;
                best = k;
            }
        }
        share = (pulses + best * unit - 1) / (best * unit) * unit;
        return (pulses + share - 1) / share;
    }

    void add_to_group(const cf32* dev_lines,
                      const bp::chunk& c,
                      bp::ranging how,
                      int segment,
                      int slot)
    {
        if (d_waiting > 0 &&
            (how != d_how || slot != d_group_slot || d_waiting + c.count > d_group))
            sum_group();
        const cudaStream_t stream = d_space.compute_stream();
        if (d_waiting == 0) {
            d_how = how;
            d_group_slot = slot;
            d_job.segment = 0;
            d_job.chunks = 0;
            SAR_CUDA(
                cudaMemsetAsync(d_broken.data(), 0, most_chunks * sizeof(int), stream));
        }
        if (d_job.chunks == 0 ||
            d_waiting + c.count - d_job.starts[d_job.chunks - 1] > bp::chunk_pulses)
            d_job.starts[d_job.chunks++] = d_waiting;
        d_job.segment = std::max(d_job.segment, segment);
        with_patch_kernels(d_params.interpolator, [&](auto kernels) {
            const dim3 blocks((d_scene.samples + 255) / 256, c.count);
            kernels.fold<<<blocks, 256, 0, stream>>>(
                d_scene,
                d_folding,
                c,
                dev_lines,
                d_carrier.data(),
                d_filter.data(),
                d_lines.data() + static_cast<std::size_t>(d_waiting) * d_folding.cells,
                d_pulses.data() + d_waiting,
                d_broken.data(),
                d_job.chunks - 1);
        });
        SAR_CUDA_LAUNCH("bp_accumulator::add");
        d_waiting += c.count;
    }

    //! Add what waits to the image.
    void sum_group()
    {
        if (d_waiting == 0)
            return;
        patch_job& a = d_job;
        a.scene = d_scene;
        a.fold = d_folding;
        a.cells_a_radian = 1 / d_folding.radians;
        a.pulses = d_pulses.data();
        a.broken = d_broken.data();
        a.lines = d_lines.data();
        a.ranges = d_ranges.data();
        a.firsts = d_firsts.data();
        a.patches = d_where.data();
        a.edges = d_edges.data();
        a.progress = d_progress.data();
        a.shares_done = d_progress.data() + progress_counters;
        a.image = d_image.data() + d_pixels * d_group_slot;
        a.counts = d_counts.data();
        a.count = d_waiting;
        a.pitch = d_group;
        a.order = d_how == bp::ranging::patch2 ? 2 : 3;
        a.turn = longest_turn;
        while (a.turn > 1 && ring_bytes(a.turn, a.segment) > d_share_bytes)
            --a.turn;
        a.starts[a.chunks] = d_waiting;
        d_waiting = 0;
        const cudaStream_t stream = d_space.compute_stream();
        for (a.first = 0; a.first < d_patches; a.first += d_band) {
            const unsigned n = std::min(d_band, d_patches - a.first);
            a.all = n;
            const int shares = shares_of(n, a.count, 2 * a.turn, a.share);
            SAR_CUDA(cudaMemsetAsync(
                a.progress, 0, (progress_counters + n) * sizeof(int), stream));
            ranges_kernel<<<n, 128, 0, stream>>>(a);
            with_patch_kernels(d_params.interpolator, [&](auto kernels) {
                const auto k = a.order == 2 ? kernels.second : kernels.third;
                k<<<n * shares, patch_threads, ring_bytes(a.turn, a.segment), stream>>>(
                    a, bp::rounding_magic_bits << 4);
                kernels.edge<<<std::min(2 * n, 8u * d_processors),
                               dim3(ts, threads_y),
                               0,
                               stream>>>(a);
            });
            SAR_CUDA_LAUNCH("bp_accumulator::add");
        }
    }

    cuda::cuda_space& d_space;
    const std::size_t d_pixels; // of one sub-image
    device_buffer<bp::tap_quad> d_table;
    device_buffer<bp::pixel_sum> d_image; // [slot][row][col]
    device_buffer<unsigned long long> d_counts;

    // patches: a group of pulses that waits
    int d_group = 0; // its size
    int d_waiting = 0;
    bp::ranging d_how = bp::ranging::patch2;
    int d_group_slot = 0;
    int d_patches = 0;
    int d_band = 0; // patches that are summed at once
    int d_processors = 0;
    int d_wave = 0; // blocks at a time
    std::size_t d_block_bytes = 0;
    std::size_t d_share_bytes = 0;
    patch_job d_job = {};
    device_buffer<cf32> d_carrier;
    device_buffer<float> d_filter;
    device_buffer<waiting_pulse> d_pulses;
    device_buffer<int> d_broken;
    device_buffer<bp::folded_cell> d_lines;
    device_buffer<bp::patch_range> d_ranges;
    device_buffer<int> d_firsts;
    device_buffer<bp::patch> d_where;
    device_buffer<int> d_edges;
    device_buffer<int> d_progress; // and shares done
};

} // namespace

std::unique_ptr<bp_accumulator>
make_bp_accumulator_cuda(const bp_accumulator_params& params,
                         const compute_target& target)
{
    // current while the memory is taken
    const cuda::device_guard guard(target.space->index());
    return std::make_unique<bp_accumulator_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
