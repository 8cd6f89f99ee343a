// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../cuda/cuda_space.h"
#include "doppler_centroid.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
constexpr int batch_rows = 64; // of the transforms over range

//! Sum over the threads of a block, in the same order every time; valid in thread 0.
__device__ lag_sums block_sum(lag_sums v)
{
    __shared__ lag_sums shared[block_threads];
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int half = block_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = shared[threadIdx.x] + shared[threadIdx.x + half];
        __syncthreads();
    }
    const lag_sums sum = shared[0];
    __syncthreads();
    return sum;
}

//! One block a line: is there a value that is not finite?
__global__ void __launch_bounds__(block_threads)
    mark_bad(const cf32* lines, int samples, int* bad, unsigned long long* bad_lines)
{
    const cf32* line = lines + static_cast<size_t>(blockIdx.x) * samples;
    int found = 0;
    for (int k = threadIdx.x; k < samples; k += block_threads)
        found |= !is_finite(line[k]);
    found = __syncthreads_or(found);
    if (threadIdx.x == 0) {
        bad[blockIdx.x] = found;
        if (found)
            atomicAdd(bad_lines, 1ull);
    }
}

//! Sums of a pair of lines over a block of cells: [pair][cols].
__global__ void __launch_bounds__(block_threads) sum_of_pair(const cf32* frame,
                                                             const int* bad,
                                                             lag_sums* sums,
                                                             int samples,
                                                             int first_cell,
                                                             int cells)
{
    const int n = blockIdx.y;
    const int cols = gridDim.x;
    const int first = first_cell + block_begin(blockIdx.x, cells, cols);
    const int last = first_cell + block_begin(blockIdx.x + 1, cells, cols);
    lag_sums sum = { 0, 0, 0 };
    if (!bad[n] && !bad[n + 1]) {
        const cf32* before = frame + static_cast<size_t>(n) * samples;
        for (int k = first + threadIdx.x; k < last; k += block_threads)
            add_pair(sum, before[k], before[k + samples]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        sums[static_cast<size_t>(n) * cols + blockIdx.x] = sum;
}

//! ... of a block of pairs: [rows][cols].
__global__ void sum_of_block(const lag_sums* pairs, lag_sums* sums, int count)
{
    const int row = blockIdx.x;
    const int rows = gridDim.x;
    const int col = threadIdx.x;
    const int cols = blockDim.x;
    lag_sums sum = { 0, 0, 0 };
    for (int n = block_begin(row, count, rows); n < block_begin(row + 1, count, rows);
         ++n)
        sum = sum + pairs[static_cast<size_t>(n) * cols + col];
    sums[row * cols + col] = sum;
}

//! The window of a line, zero padded.
__global__ void __launch_bounds__(block_threads) load_window(const cf32* frame,
                                                             const int* bad,
                                                             cf32* spectrum,
                                                             int samples,
                                                             int first,
                                                             int cells,
                                                             int length)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    const int n = blockIdx.y;
    if (k < length)
        spectrum[static_cast<size_t>(n) * length + k] =
            k < cells && !bad[n] ? frame[static_cast<size_t>(n) * samples + first + k]
                                 : cf32{ 0, 0 };
}

//! Sums over pairs of lines of each range frequency: [blocks][length].
__global__ void __launch_bounds__(block_threads)
    sum_over_lines(const cf32* spectrum, lag_sums* sums, int count, int length)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k >= length)
        return;
    const int b = blockIdx.y;
    const int blocks = gridDim.y;
    lag_sums sum = { 0, 0, 0 };
    const int first = block_begin(b, count, blocks);
    const int last = block_begin(b + 1, count, blocks);
    cf32 before = spectrum[static_cast<size_t>(first) * length + k];
    for (int n = first; n < last; ++n) {
        const cf32 after = spectrum[static_cast<size_t>(n + 1) * length + k];
        add_pair(sum, before, after);
        before = after;
    }
    sums[static_cast<size_t>(b) * length + k] = sum;
}

//! Bins of a look, without their walk: [bins][length].
__global__ void __launch_bounds__(block_threads)
    gather_bins(const cf32* spectrum, const look_bin* bins, cf32* lines, int length)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    const look_bin b = bins[blockIdx.y];
    if (k < length)
        lines[static_cast<size_t>(blockIdx.y) * length + k] =
            without_walk(spectrum[static_cast<size_t>(b.bin) * length + k], b, k, length);
}

//! Their cells, focused, to their places in the look's own spectrum.
__global__ void __launch_bounds__(block_threads) place_bins(const cf32* lines,
                                                            const look_bin* bins,
                                                            cf32* image,
                                                            int length,
                                                            int cells,
                                                            double first_closest_m,
                                                            double closest_step_m)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    const look_bin b = bins[blockIdx.y];
    if (k < cells)
        image[static_cast<size_t>(b.row) * cells + k] =
            azimuth_matched(lines[static_cast<size_t>(blockIdx.y) * length + k],
                            b,
                            first_closest_m + k * closest_step_m);
}

//! Magnitudes, summed over the rows of a group.
__global__ void __launch_bounds__(block_threads)
    detect_groups(const cf32* image, float* look, int first_group, int group, int cells)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k >= cells)
        return;
    const size_t row = (static_cast<size_t>(first_group) + blockIdx.y) * group;
    float sum = 0;
    for (int i = 0; i < group; ++i)
        sum += sqrtf(norm(image[(row + i) * cells + k]));
    look[static_cast<size_t>(blockIdx.y) * cells + k] = sum;
}

//! Two looks, each without its mean over range, as one complex line; and their power.
__global__ void __launch_bounds__(block_threads) pair_looks(const float* lower,
                                                            const float* upper,
                                                            cf32* lines,
                                                            double* power,
                                                            int cells,
                                                            int length)
{
    const float* a = lower + static_cast<size_t>(blockIdx.x) * cells;
    const float* b = upper + static_cast<size_t>(blockIdx.x) * cells;
    cf32* to = lines + static_cast<size_t>(blockIdx.x) * length;
    lag_sums sum = { 0, 0, 0 };
    for (int k = threadIdx.x; k < cells; k += block_threads) {
        sum.re += a[k];
        sum.im += b[k];
    }
    sum = block_sum(sum);
    const float mean_a = static_cast<float>(sum.re / cells);
    const float mean_b = static_cast<float>(sum.im / cells);
    sum = { 0, 0, 0 };
    for (int k = threadIdx.x; k < length; k += block_threads) {
        cf32 v = { 0, 0 };
        if (k < cells) {
            v = { a[k] - mean_a, b[k] - mean_b };
            sum.re += static_cast<double>(v.re) * v.re;
            sum.im += static_cast<double>(v.im) * v.im;
        }
        to[k] = v;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        power[2 * blockIdx.x] = sum.re;
        power[2 * blockIdx.x + 1] = sum.im;
    }
}

//! Spectrum of the correlation, summed over the rows of a block: [blocks][length].
__global__ void __launch_bounds__(block_threads)
    correlate_looks(const cf32* lines, cf32* values, int groups, int length)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k >= length)
        return;
    const int mirrored = k ? length - k : 0;
    cf32 sum = { 0, 0 };
    for (int g = block_begin(blockIdx.y, groups, gridDim.y);
         g < block_begin(blockIdx.y + 1, groups, gridDim.y);
         ++g) {
        const cf32* line = lines + static_cast<size_t>(g) * length;
        sum = sum + cross_spectrum(line[k], line[mirrored]);
    }
    values[static_cast<size_t>(blockIdx.y) * length + k] = sum;
}

dim3 grid_for(int values, int rows)
{
    return dim3((values + block_threads - 1) / block_threads, rows);
}

//! Rows of a grid of blocks are 65535 at most: \p body(first, count) for as many at once.
template <typename Body>
void by_rows(int rows, Body&& body)
{
    for (int first = 0; first < rows; first += 65535)
        body(first, std::min(65535, rows - first));
}

class doppler_centroid_cuda final : public doppler_centroid
{
public:
    doppler_centroid_cuda(const doppler_centroid_params& params,
                          const compute_target& target)
        : doppler_centroid(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        const shape& s = d_shape;
        d_frame =
            cuda::device_buffer<cf32>(static_cast<std::size_t>(s.lines) * s.samples);
        d_bad = cuda::device_buffer<int>(s.lines);
        d_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(
            cudaMemsetAsync(d_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        if (!params.given.empty())
            return; // nothing to estimate
        const std::size_t length = s.length;
        const auto batches = [](int rows) { // rows, to whole batches
            return static_cast<std::size_t>((rows + batch_rows - 1) / batch_rows) *
                   batch_rows;
        };
        d_spectrum = cuda::device_buffer<cf32>(batches(s.rows) * length);
        d_lines = cuda::device_buffer<cf32>(batches(std::max(s.max_bins, s.look_rows)) *
                                            length);
        // rows of a batch that is not full are transformed as well
        SAR_CUDA(
            cudaMemsetAsync(d_lines.data(), 0, d_lines.size() * sizeof(cf32), d_stream));
        d_image = cuda::device_buffer<cf32>(static_cast<std::size_t>(s.look_rows) *
                                            s.window_cells);
        for (cuda::device_buffer<float>& look : d_looks)
            look = cuda::device_buffer<float>(d_image.size());
        d_bins = cuda::device_buffer<look_bin>(s.max_bins);
        d_pairs = cuda::device_buffer<lag_sums>(static_cast<std::size_t>(s.lines) *
                                                cell_blocks);
        d_sums = cuda::device_buffer<lag_sums>(
            std::max<std::size_t>(line_blocks * cell_blocks, jackknife_blocks * length));
        d_values = cuda::device_buffer<cf32>(look_blocks * length);
        d_power = cuda::device_buffer<double>(2 * static_cast<std::size_t>(s.look_rows));
        d_range = std::make_unique<cuda::fft_plan>(s.length, batch_rows, d_stream);
        d_correlation = std::make_unique<cuda::fft_plan>(s.length, look_blocks, d_stream);
        d_azimuth = column_fft::make(s.rows, s.length, target);
        d_look_azimuth = column_fft::make(s.look_rows, s.window_cells, target);
    }

    void take(const cf32* lines, int first, int count) override
    {
        if (count < 1)
            return;
        const cuda::device_guard device(d_space.index());
        const std::size_t n = d_shape.samples;
        SAR_CUDA(cudaMemcpyAsync(d_frame.data() + first * n,
                                 lines,
                                 count * n * sizeof(cf32),
                                 cudaMemcpyDeviceToDevice,
                                 d_stream));
        mark_bad<<<count, block_threads, 0, d_stream>>>(
            lines, d_shape.samples, d_bad.data() + first, d_bad_lines.data());
        SAR_CUDA_LAUNCH("mark_bad");
    }

    void give(cf32* out, int first, int count) override
    {
        const cuda::device_guard device(d_space.index());
        const std::size_t n = d_shape.samples;
        SAR_CUDA(cudaMemcpyAsync(out,
                                 d_frame.data() + first * n,
                                 count * n * sizeof(cf32),
                                 cudaMemcpyDeviceToDevice,
                                 d_stream));
    }

    std::uint64_t bad_lines() const override
    {
        const cuda::device_guard device(d_space.index());
        unsigned long long n = 0;
        SAR_CUDA(cudaMemcpyAsync(
            &n, d_bad_lines.data(), sizeof(n), cudaMemcpyDeviceToHost, d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream));
        return n;
    }

protected:
    std::vector<lag_sums> sum_pairs(int filled, int rows, int cols) override
    {
        const cuda::device_guard device(d_space.index());
        const shape& s = d_shape;
        by_rows(filled - 1, [&](int first, int count) {
            sum_of_pair<<<dim3(cols, count), block_threads, 0, d_stream>>>(
                d_frame.data() + static_cast<std::size_t>(first) * s.samples,
                d_bad.data() + first,
                d_pairs.data() + static_cast<std::size_t>(first) * cols,
                s.samples,
                s.first_cell,
                s.cells);
            SAR_CUDA_LAUNCH("sum_of_pair");
        });
        sum_of_block<<<rows, cols, 0, d_stream>>>(
            d_pairs.data(), d_sums.data(), filled - 1);
        SAR_CUDA_LAUNCH("sum_of_block");
        return download(d_sums.data(), static_cast<std::size_t>(rows) * cols);
    }

    std::vector<lag_sums> transform(int filled, int blocks) override
    {
        const cuda::device_guard device(d_space.index());
        const shape& s = d_shape;
        by_rows(filled, [&](int first, int count) {
            load_window<<<grid_for(s.length, count), block_threads, 0, d_stream>>>(
                d_frame.data() + static_cast<std::size_t>(first) * s.samples,
                d_bad.data() + first,
                d_spectrum.data() + static_cast<std::size_t>(first) * s.length,
                s.samples,
                s.window_first,
                s.window_cells,
                s.length);
            SAR_CUDA_LAUNCH("load_window");
        });
        range_transform(d_spectrum.data(), filled, CUFFT_FORWARD);
        sum_over_lines<<<grid_for(s.length, blocks), block_threads, 0, d_stream>>>(
            d_spectrum.data(), d_sums.data(), filled - 1, s.length);
        SAR_CUDA_LAUNCH("sum_over_lines");
        std::vector<lag_sums> sums =
            download(d_sums.data(), static_cast<std::size_t>(blocks) * s.length);
        d_azimuth->forward(d_spectrum.data(), filled);
        return sums;
    }

    look_correlation correlate(const look_pair& pair) override
    {
        const cuda::device_guard device(d_space.index());
        const shape& s = d_shape;
        for (int l = 0; l < 2; ++l) {
            const std::vector<look_bin>& bins = pair.bins[l];
            const int count = static_cast<int>(bins.size());
            SAR_CUDA(cudaMemcpyAsync(d_bins.data(),
                                     bins.data(),
                                     count * sizeof(look_bin),
                                     cudaMemcpyHostToDevice,
                                     d_stream));
            SAR_CUDA(cudaMemsetAsync(
                d_image.data(), 0, d_image.size() * sizeof(cf32), d_stream));
            by_rows(count, [&](int first, int some) {
                gather_bins<<<grid_for(s.length, some), block_threads, 0, d_stream>>>(
                    d_spectrum.data(),
                    d_bins.data() + first,
                    d_lines.data() + static_cast<std::size_t>(first) * s.length,
                    s.length);
                SAR_CUDA_LAUNCH("gather_bins");
            });
            range_transform(d_lines.data(), count, CUFFT_INVERSE);
            by_rows(count, [&](int first, int some) {
                place_bins<<<grid_for(s.window_cells, some),
                             block_threads,
                             0,
                             d_stream>>>(d_lines.data() +
                                             static_cast<std::size_t>(first) * s.length,
                                         d_bins.data() + first,
                                         d_image.data(),
                                         s.length,
                                         s.window_cells,
                                         pair.first_closest_m,
                                         pair.closest_step_m);
                SAR_CUDA_LAUNCH("place_bins");
            });
            d_look_azimuth->inverse(d_image.data());
            by_rows(pair.groups, [&](int first, int some) {
                detect_groups<<<grid_for(s.window_cells, some),
                                block_threads,
                                0,
                                d_stream>>>(
                    d_image.data(),
                    d_looks[l].data() + static_cast<std::size_t>(first) * s.window_cells,
                    pair.first_group + first,
                    pair.group,
                    s.window_cells);
                SAR_CUDA_LAUNCH("detect_groups");
            });
        }
        pair_looks<<<pair.groups, block_threads, 0, d_stream>>>(d_looks[0].data(),
                                                                d_looks[1].data(),
                                                                d_lines.data(),
                                                                d_power.data(),
                                                                s.window_cells,
                                                                s.length);
        SAR_CUDA_LAUNCH("pair_looks");
        range_transform(d_lines.data(), pair.groups, CUFFT_FORWARD);
        correlate_looks<<<grid_for(s.length, look_blocks), block_threads, 0, d_stream>>>(
            d_lines.data(), d_values.data(), pair.groups, s.length);
        SAR_CUDA_LAUNCH("correlate_looks");
        d_correlation->execute(d_values.data(), d_values.data(), CUFFT_INVERSE);
        look_correlation c;
        c.power = download(d_power.data(), 2 * static_cast<std::size_t>(pair.groups));
        c.values =
            download(d_values.data(), static_cast<std::size_t>(look_blocks) * s.length);
        return c;
    }

private:
    //! Transforms of \p rows lines in place, and of what follows up to a whole batch.
    void range_transform(cf32* lines, int rows, int direction)
    {
        for (int row = 0; row < rows; row += batch_rows) {
            cf32* const batch = lines + static_cast<std::size_t>(row) * d_shape.length;
            d_range->execute(batch, batch, direction);
        }
    }

    template <typename T>
    std::vector<T> download(const T* from, std::size_t n)
    {
        std::vector<T> host(n);
        SAR_CUDA(cudaMemcpyAsync(
            host.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost, d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream));
        return host;
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<cf32> d_frame; // [lines][samples]
    cuda::device_buffer<int> d_bad;    // lines that are not finite
    cuda::device_buffer<unsigned long long> d_bad_lines;

    cuda::device_buffer<cf32> d_spectrum;  // [rows][length], whole batches
    cuda::device_buffer<cf32> d_lines;     // bins of a look, then pairs of rows
    cuda::device_buffer<cf32> d_image;     // of a look: [look_rows][window_cells]
    cuda::device_buffer<float> d_looks[2]; // detected
    cuda::device_buffer<look_bin> d_bins;
    cuda::device_buffer<lag_sums> d_pairs;
    cuda::device_buffer<lag_sums> d_sums;
    cuda::device_buffer<cf32> d_values;
    cuda::device_buffer<double> d_power;
    std::unique_ptr<cuda::fft_plan> d_range;
    std::unique_ptr<cuda::fft_plan> d_correlation;
    std::unique_ptr<column_fft> d_azimuth;
    std::unique_ptr<column_fft> d_look_azimuth;
};

} // namespace

std::unique_ptr<doppler_centroid>
make_doppler_centroid_cuda(const doppler_centroid_params& params,
                           const compute_target& target)
{
    return std::make_unique<doppler_centroid_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
