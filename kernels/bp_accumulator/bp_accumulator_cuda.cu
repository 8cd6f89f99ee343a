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

//! Add up over a warp; one lane adds to memory, and only if there is something.
__device__ void count(unsigned long long* where, int n)
{
    for (int step = 16; step > 0; step /= 2)
        n += __shfl_down_sync(0xffffffffu, n, step);
    if (threadIdx.x == 0 && n > 0)
        atomicAdd(where, static_cast<unsigned long long>(n));
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
#pragma unroll
        for (int m = 0; m < pixels_a_thread; ++m) {
            const int i = threadIdx.y + m * threads_y;
            const bp::look l = Fast ? bp::fast_look(expansions[Fast ? k : 0],
                                                    i,
                                                    static_cast<int>(threadIdx.x))
                                    : bp::exact_look(s, c.pulses[k], tile_row + i, col);
            if (!l.inside) {
                outside += tile_row + i < s.rows && col < s.cols;
                continue;
            }
            const bool inner =
                l.bin >= bp::taps_before(I) && l.bin + bp::taps_behind(I) < s.samples;
            const cf32 v =
                inner
                    ? bp::interpolate<I>(bp::inner_line{ line }, l.bin, l.fraction, table)
                    : bp::interpolate<I>(
                          bp::edged_line{ line, s.samples }, l.bin, l.fraction, table);
            sum[m] = sum[m] + v * unit_phasor(l.cycles);
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
    count(counts + outside_counter, outside);
    count(counts + non_finite_counter, non_finite);
}

static_assert(sizeof(bp::scene) + sizeof(bp::chunk) + 4 * sizeof(void*) <= 4096,
              "kernel parameters are limited to 4 KiB before CUDA 12.1");

// ---- patches
// ---------------------------------------------------------------------------
//
// Lines are folded when they come and wait, with their pulses, until there are enough of
// them: a group. Then, for as many patches at a time as there is room for:
//   ranges_kernel  a thread is a pulse and a patch: its range as a polynomial, in double
//   patch_kernel   a block is a patch: 128 threads of 16 pixels 4 apart along the long
//                  axis, so that neighbouring lanes read the same cell or the next one.
//                  The cells a patch can touch are copied to shared memory while the
//                  pulses before are summed: a ring of two turns of pulses, and one
//                  barrier a turn.
//   edge_kernel    what lies partly outside the swath, pixel by pixel

constexpr int patch_threads = 128;
constexpr int patch_lanes = 4; // of a warp along the long axis
constexpr int patch_step = patch_lanes;
constexpr int patch_pixels = bp::patch_long / patch_step; // of a thread
static_assert(patch_threads / patch_lanes == bp::patch_short, "a thread has all of x");
constexpr int longest_turn = 8; // pulses between barriers
constexpr int largest_group = 256;

struct patch_job {
    bp::scene scene;
    bp::folding fold;
    const bp::pulse* pulses;      //!< [count]
    const bp::folded_cell* lines; //!< [count][fold.cells]
    bp::patch_range* ranges;      //!< [patch][pitch]
    bp::patch_segment* segments;  //!< [patch][pitch]
    bp::patch* patches;           //!< [patch]
    bp::pixel_sum* image;
    unsigned long long* counts;
    int count;   //!< pulses
    int pitch;   //!< pulses from patch to patch
    int first;   //!< patch of this launch
    int segment; //!< cells from pulse to pulse in the ring
    int turn;    //!< pulses between barriers, a power of two
    float radians_a_cell;
    float cells_a_radian;
    unsigned new_sums[largest_group / 32]; //!< bits: put away what was summed before it

    __host__ __device__ bool new_sum(int pulse) const
    {
        return new_sums[pulse / 32] >> pulse % 32 & 1;
    }
};

template <interpolation I>
__global__ void __launch_bounds__(256) fold_kernel(const __grid_constant__ bp::scene s,
                                                   const __grid_constant__ bp::folding f,
                                                   const __grid_constant__ bp::chunk c,
                                                   const cf32* __restrict__ lines,
                                                   const float* __restrict__ filter,
                                                   bp::folded_cell* __restrict__ out,
                                                   bp::pulse* __restrict__ pulses)
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
        pulses[k] = c.pulses[k];
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= f.cells)
        return;
    const bp::edged_line line = { lines + static_cast<long long>(c.line[k]) * s.samples,
                                  s.samples };
    out[static_cast<long long>(k) * f.cells + cell] = bp::fold<I>(s, f, line, cell, h);
}

__device__ int pixels_of(const bp::scene& s, const bp::patch& t)
{
    const int rows = min(t.rows(), s.rows - t.row);
    const int cols = min(t.cols(), s.cols - t.col);
    return rows > 0 && cols > 0 ? rows * cols : 0;
}

__global__ void __launch_bounds__(128) ranges_kernel(const __grid_constant__ patch_job a)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    int outside = 0;
    if (k < a.count) {
        const bp::patch t = bp::patch_at(
            a.scene, a.pulses[a.count / 2], a.first + static_cast<int>(blockIdx.y));
        if (k == 0)
            a.patches[blockIdx.y] = t;
        bp::patch_segment segment;
        bp::patch_range r =
            bp::range_over(a.scene, a.fold, a.pulses[k], t, a.segment, segment);
        if (a.new_sum(k))
            r.use |= bp::patch_new_sum;
        if (segment.count == 0)
            outside = pixels_of(a.scene, t);
        const long long at = static_cast<long long>(blockIdx.y) * a.pitch + k;
        a.ranges[at] = r;
        a.segments[at] = segment;
    }
    count(a.counts + outside_counter, outside);
}

__device__ unsigned shared_address(const void* p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

//! Copy 16 bytes to shared memory, done after copies_done().
__device__ void copy16(void* to, const void* from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                 "l"(from));
#else
    *static_cast<uint4*>(to) = __ldg(static_cast<const uint4*>(from));
#endif
}
__device__ void copies_done()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
#endif
}

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
                        float (&re)[patch_pixels],
                        float (&im)[patch_pixels])
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
        re[k] = 0;
        im[k] = 0;
    }
    return lost;
}

template <bool Linear, int Order>
__global__ void __launch_bounds__(patch_threads, 4)
    patch_kernel(const __grid_constant__ patch_job a, const unsigned magic_bits)
{
    constexpr int quads = Order == 2 ? 2 : 3; // of a range that are read
    extern __shared__ uint4 ring[];
    const bp::patch t = a.patches[blockIdx.x];
    if (t.row >= a.scene.rows || t.col >= a.scene.cols)
        return;
    const int slots = 2 * a.turn;
    uint4* const ranges = ring + slots * a.segment;
    const int x = threadIdx.x % patch_lanes;
    const int y = threadIdx.x / patch_lanes;
    const float middle_x =
        x + 0.5f * (patch_pixels - 1) * patch_step - 0.5f * (bp::patch_long - 1);
    const float middle_y = y - 0.5f * (bp::patch_short - 1);
    const uint4* const dev_ranges = reinterpret_cast<const uint4*>(
        a.ranges + static_cast<long long>(blockIdx.x) * a.pitch);
    const bp::patch_segment* const segments =
        a.segments + static_cast<long long>(blockIdx.x) * a.pitch;
    const unsigned base = shared_address(ring) - magic_bits;

    const auto stage = [&](int pulse, bp::patch_segment g) {
        const uint4* from = reinterpret_cast<const uint4*>(a.lines) +
                            static_cast<long long>(pulse) * a.fold.cells + g.first;
        uint4* to = ring + (pulse & (slots - 1)) * a.segment;
#pragma unroll 1
        for (int j = threadIdx.x; j < g.count; j += patch_threads)
            copy16(to + j, from + j);
    };
    const auto stage_ranges = [&](int pulse) {
        const int i = threadIdx.x / quads;
        const int q = threadIdx.x % quads;
        if (i < a.turn && pulse + i < a.count)
            copy16(ranges + ((pulse + i) & (slots - 1)) * quads + q,
                   dev_ranges + (pulse + i) * 3 + q);
    };

    float re[patch_pixels] = {};
    float im[patch_pixels] = {};
    int lost = 0;
    for (int p = 0; p < a.turn && p < a.count; ++p)
        stage(p, segments[p]);
    stage_ranges(0);
    copies_done();
    __syncthreads();
    bp::patch_segment next = a.turn < a.count ? segments[a.turn] : bp::patch_segment{};
#pragma unroll 1
    for (int first = 0; first < a.count; first += a.turn) {
        const int end = min(first + a.turn, a.count);
        stage_ranges(first + a.turn);
#pragma unroll 1
        for (int p = first; p < end; ++p) {
            if (p + a.turn < a.count) {
                stage(p + a.turn, next);
                if (p + a.turn + 1 < a.count)
                    next = segments[p + a.turn + 1];
            }
            const int slot = p & (slots - 1);
            const float4* q = reinterpret_cast<const float4*>(ranges) + slot * quads;
            const float4 q0 = q[0];
            const float4 q1 = q[1];
            bp::patch_range r = { q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z };
            const int use = __float_as_int(q1.w);
            if (use & bp::patch_new_sum)
                lost += put_away(a, t, x, y, re, im);
            if (!(use & bp::patch_inside))
                continue;
            if constexpr (Order == 3) {
                const float4 q2 = q[2];
                r.xxx = q2.x;
                r.xxy = q2.y;
                r.xyy = q2.z;
                r.yyy = q2.w;
            }
            const bp::cubic_line w = bp::along<Order>(r, middle_x, middle_y);
            const float magic = r.magic + static_cast<float>(slot * a.segment);
#pragma unroll
            for (int h = 0; h < patch_pixels / 2; ++h) {
                // two pixels, as far before as behind the middle
                const float m = (h + 0.5f) * patch_step;
                const float even = fmaf(m * m, w.xx, w.c);
                const float odd = Order == 2 ? w.x : fmaf(m * m, w.xxx, w.x);
#pragma unroll
                for (int side = -1; side <= 1; side += 2) {
                    const int k = patch_pixels / 2 + (side < 0 ? -1 - h : h);
                    const float phi = fmaf(side * m, odd, even);
                    const float at = fmaf(phi, a.cells_a_radian, magic);
                    const float f = fmaf(at - magic, -a.radians_a_cell, phi);
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
        copies_done();
        __syncthreads();
    }
    lost += put_away(a, t, x, y, re, im);
    for (int step = 16; step > 0; step /= 2)
        lost += __shfl_down_sync(0xffffffffu, lost, step);
    if (threadIdx.x % 32 == 0 && lost > 0)
        atomicAdd(a.counts + non_finite_counter, static_cast<unsigned long long>(lost));
}

//! A block is half a patch: a tile of 32 x 32 pixels.
template <interpolation I>
__global__ void __launch_bounds__(ts* threads_y)
    edge_kernel(const __grid_constant__ patch_job a)
{
    static_assert(bp::patch_long == 2 * ts && bp::patch_short == ts, "two tiles a patch");
    __shared__ bp::expansion expansions[bp::chunk_pulses];
    __shared__ bool wanted[bp::chunk_pulses];
    const int patch_index = blockIdx.x / 2;
    const bp::patch t = a.patches[patch_index];
    const bp::patch_segment* const segments =
        a.segments + static_cast<long long>(patch_index) * a.pitch;
    const int tile_row = t.row + (t.rows_long ? blockIdx.x % 2 * ts : 0);
    const int tile_col = t.col + (t.rows_long ? 0 : blockIdx.x % 2 * ts);
    if (tile_row >= a.scene.rows || tile_col >= a.scene.cols)
        return;
    const bp::scene& s = a.scene;
    const int col = tile_col + threadIdx.x;
    int outside = 0;
    int non_finite = 0;
    int n;
    for (int first = 0; first < a.count; first += n) {
        n = 1;
        while (n < bp::chunk_pulses && first + n < a.count && !a.new_sum(first + n))
            ++n;
        const int k = threadIdx.y * ts + threadIdx.x;
        const bool edge = k < n && segments[first + k].count < 0;
        if (!__syncthreads_or(edge))
            continue;
        if (k < n) {
            wanted[k] = edge;
            if (edge)
                expansions[k] = bp::expand(s, a.pulses[first + k], tile_row, tile_col);
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
    count(a.counts + outside_counter, outside);
    count(a.counts + non_finite_counter, non_finite);
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
    //! Memory for groups of pulses, as far as a quarter of what is free allows.
    void make_patches()
    {
        if (d_params.accuracy == accuracy_mode::exact ||
            d_params.interpolator == interpolation::nearest ||
            d_scene.samples > bp::longest_fast_line)
            return;
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        SAR_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
        const std::size_t budget = std::min<std::size_t>(free_bytes / 8, 256u << 20);
        const std::size_t line = d_folding.cells * sizeof(bp::folded_cell);
        d_group = largest_group;
        while (d_group > bp::chunk_pulses && d_group * line > budget)
            d_group /= 2;
        const std::size_t a_patch =
            d_group * (sizeof(bp::patch_range) + sizeof(bp::patch_segment));
        d_patches = bp::patches_of(d_scene.rows, d_scene.cols);
        d_band = static_cast<int>(
            std::min<std::size_t>({ static_cast<std::size_t>(d_patches),
                                    16384, // of the second axis of a launch
                                    budget / a_patch }));
        if (d_group * line > budget || d_band < std::min(d_patches, 256))
            return;
        cudaDeviceProp device;
        SAR_CUDA(cudaGetDeviceProperties(&device, d_space.index()));
        d_block_bytes = device.sharedMemPerBlockOptin;
        // four blocks share a multiprocessor, and the system takes a part for each
        d_share_bytes =
            device.sharedMemPerMultiprocessor / 4 - device.reservedSharedMemPerBlock;
        with_patch_kernels(d_params.interpolator, [&](auto kernels) {
            const int bytes = static_cast<int>(d_block_bytes);
            const auto allow = cudaFuncAttributeMaxDynamicSharedMemorySize;
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
        d_pulses = device_buffer<bp::pulse>(d_group);
        d_lines = device_buffer<bp::folded_cell>(static_cast<std::size_t>(d_group) *
                                                 d_folding.cells);
        d_ranges =
            device_buffer<bp::patch_range>(static_cast<std::size_t>(d_band) * d_group);
        d_segments =
            device_buffer<bp::patch_segment>(static_cast<std::size_t>(d_band) * d_group);
        d_where = device_buffer<bp::patch>(d_band);
        d_longest_segment =
            static_cast<int>((d_block_bytes - 2 * sizeof(bp::patch_range)) /
                             (2 * sizeof(bp::folded_cell)));
        d_longest_segment = std::min(d_longest_segment, 2048);
    }

    static std::size_t ring_bytes(int turn, int segment)
    {
        return 2 * turn * (segment * sizeof(bp::folded_cell) + sizeof(bp::patch_range));
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
        if (d_waiting == 0) {
            d_how = how;
            d_group_slot = slot;
            d_segment = 0;
            d_sum = 0;
            std::fill(std::begin(d_job.new_sums), std::end(d_job.new_sums), 0u);
        }
        if (d_sum + c.count > bp::chunk_pulses) {
            d_job.new_sums[d_waiting / 32] |= 1u << d_waiting % 32;
            d_sum = 0;
        }
        d_segment = std::max(d_segment, segment);
        with_patch_kernels(d_params.interpolator, [&](auto kernels) {
            const dim3 blocks((d_folding.cells + 255) / 256, c.count);
            kernels.fold<<<blocks, 256, 0, d_space.compute_stream()>>>(
                d_scene,
                d_folding,
                c,
                dev_lines,
                d_filter.data(),
                d_lines.data() + static_cast<std::size_t>(d_waiting) * d_folding.cells,
                d_pulses.data() + d_waiting);
        });
        SAR_CUDA_LAUNCH("bp_accumulator::add");
        d_waiting += c.count;
        d_sum += c.count;
    }

    //! Add what waits to the image.
    void sum_group()
    {
        if (d_waiting == 0)
            return;
        patch_job& a = d_job;
        a.scene = d_scene;
        a.fold = d_folding;
        a.radians_a_cell = static_cast<float>(d_folding.radians);
        a.cells_a_radian = static_cast<float>(1 / d_folding.radians);
        a.pulses = d_pulses.data();
        a.lines = d_lines.data();
        a.ranges = d_ranges.data();
        a.segments = d_segments.data();
        a.patches = d_where.data();
        a.image = d_image.data() + d_pixels * d_group_slot;
        a.counts = d_counts.data();
        a.count = d_waiting;
        a.pitch = d_group;
        a.segment = d_segment;
        a.turn = longest_turn;
        while (a.turn > 1 && ring_bytes(a.turn, a.segment) > d_share_bytes)
            a.turn /= 2;
        d_waiting = 0;
        const cudaStream_t stream = d_space.compute_stream();
        for (a.first = 0; a.first < d_patches; a.first += d_band) {
            const unsigned n = std::min(d_band, d_patches - a.first);
            ranges_kernel<<<dim3((a.count + 127) / 128, n), 128, 0, stream>>>(a);
            with_patch_kernels(d_params.interpolator, [&](auto kernels) {
                const auto k =
                    d_how == bp::ranging::patch2 ? kernels.second : kernels.third;
                k<<<n, patch_threads, ring_bytes(a.turn, a.segment), stream>>>(
                    a, bp::rounding_magic_bits << 4);
                kernels.edge<<<2 * n, dim3(ts, threads_y), 0, stream>>>(a);
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
    int d_sum = 0; // of them since the last that begins a sum
    bp::ranging d_how = bp::ranging::patch2;
    int d_group_slot = 0;
    int d_segment = 0;
    int d_patches = 0;
    int d_band = 0; // patches that are summed at once
    std::size_t d_block_bytes = 0;
    std::size_t d_share_bytes = 0;
    patch_job d_job = {};
    device_buffer<float> d_filter;
    device_buffer<bp::pulse> d_pulses;
    device_buffer<bp::folded_cell> d_lines;
    device_buffer<bp::patch_range> d_ranges;
    device_buffer<bp::patch_segment> d_segments;
    device_buffer<bp::patch> d_where;
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
