// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../cuda/cuda_space.h"
#include "bp_accumulator.h"

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
        SAR_CUDA(cudaStreamSynchronize(stream));
    }

    ~bp_accumulator_cuda() override
    {
        // work that still writes the image must be done before its memory goes
        cudaStreamSynchronize(d_space.compute_stream());
    }

protected:
    void
    add_chunk(const cf32* dev_lines, const bp::chunk& c, bool fast, int slot) override
    {
        const cuda::device_guard guard(d_space.index());
        const auto kernel = fast ? kernel_for<true>(d_params.interpolator)
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
        SAR_CUDA(cudaMemsetAsync(d_image.data() + d_pixels * slot,
                                 0,
                                 d_pixels * sizeof(bp::pixel_sum),
                                 d_space.compute_stream()));
    }

    void mean_rows(cf32* dev_out, int first_row, int rows, double scale) override
    {
        const cuda::device_guard guard(d_space.index());
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
    cuda::cuda_space& d_space;
    const std::size_t d_pixels; // of one sub-image
    device_buffer<bp::tap_quad> d_table;
    device_buffer<bp::pixel_sum> d_image; // [slot][row][col]
    device_buffer<unsigned long long> d_counts;
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
