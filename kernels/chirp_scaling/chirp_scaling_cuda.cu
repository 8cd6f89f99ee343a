// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../cuda/cuda_space.h"
#include "../cuda/half_line.cuh"
#include "chirp_scaling.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
//! Bins or cells a thread makes, about.
constexpr int bins_a_thread = 4;

// The rows of a batch while they are transformed should stay in the cache between the
// kernels: what a batch may take of it.
constexpr std::size_t cache_bytes = 24u << 20;

//! Rows of a batch: row b of the frame is first_row + b, modulo frame_rows.
struct row_of_batch {
    const scaling::row* rows;
    int first_row;
    int frame_rows;
    __device__ scaling::row at(int b) const { return rows[(first_row + b) % frame_rows]; }
};

// Frame and shape are kernel parameters: a change of the centroid is one more launch,
// behind those that still use the table, and waits for nothing.
__global__ void __launch_bounds__(block_threads)
    tabulate_rows(range_doppler_frame frame, scaling::shape shape, scaling::row* rows)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k < frame.rows)
        rows[k] = scaling::row_of(frame, shape, k);
}

// One block a row: times the scaling, and zeros behind it; a row with a value that is not
// finite becomes zeros and is counted.
__global__ void __launch_bounds__(block_threads) scale_rows(const char* in,
                                                            size_t bytes,
                                                            line_storage storage,
                                                            scaling::shape shape,
                                                            row_of_batch rows,
                                                            cf32* lines,
                                                            unsigned long long* bad_lines)
{
    const char* from = in + blockIdx.x * bytes;
    cf32* to = lines + blockIdx.x * static_cast<size_t>(shape.padded);
    const scaling::row row = rows.at(blockIdx.x);
    bool bad = false;
    for (int i = threadIdx.x; i < shape.length; i += block_threads) {
        cf32 v = { 0, 0 };
        if (i < shape.samples) {
            v = load_sample(storage, from, shape.samples, i);
            bad |= !is_finite(v);
            v = scaling::scaling_factor(shape, row, i) * v;
        }
        to[i] = v;
    }
    if (__syncthreads_or(bad)) {
        for (int i = threadIdx.x; i < shape.samples; i += block_threads)
            to[i] = cf32{ 0, 0 };
        if (threadIdx.x == 0)
            atomicAdd(bad_lines, 1ull);
    }
}

// In place: the bins, times the matched filter and what chirp scaling adds, and the upper
// half moved up where the inverse transform is longer. A thread reads one bin and writes
// that one and where it moves to.
__global__ void __launch_bounds__(block_threads)
    filter_rows(scaling::shape shape, row_of_batch rows, const cf32* filter, cf32* lines)
{
    cf32* bins = lines + static_cast<size_t>(blockIdx.y) * shape.padded;
    const scaling::row row = rows.at(blockIdx.y);
    const int half = shape.length / 2;
    const int up = shape.padded - shape.length;
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < shape.padded;
         j += gridDim.x * block_threads) {
        if (j < shape.length) {
            const cf32 v = filter[j] * bins[j];
            // the bin at half the sampling rate of an even length is on either side
            const bool low = j <= half;
            const bool high = j >= shape.length - half;
            cf32 here = { 0, 0 };
            if (low)
                here = scaling::filter_factor(shape, row, j) * v;
            if (high) {
                const cf32 moved =
                    scaling::filter_factor(shape, row, j - shape.length) * v;
                if (up)
                    bins[j + up] = moved;
                else
                    here = moved;
            }
            bins[j] = here;
        } else if (j < shape.length + up - half) {
            bins[j] = cf32{ 0, 0 };
        }
    }
}

__global__ void __launch_bounds__(block_threads) store_rows(scaling::shape shape,
                                                            row_of_batch rows,
                                                            const cf32* lines,
                                                            char* out,
                                                            size_t bytes,
                                                            line_storage storage)
{
    const cf32* line = lines + static_cast<size_t>(blockIdx.y) * shape.padded;
    char* to = out + blockIdx.y * bytes;
    const scaling::row row = rows.at(blockIdx.y);
    // whole warps to the end: 16-bit storage needs them
    for (int first = blockIdx.x * block_threads; first < shape.cols;
         first += gridDim.x * block_threads) {
        const int n = first + threadIdx.x;
        cf32 v = { 0, 0 };
        if (n < shape.cols)
            v = scaling::residual_factor(shape, row, n) * line[n];
        cuda::store_sample(storage, to, shape.cols, n, v);
    }
}

class chirp_scaling_cuda final : public chirp_scaling
{
public:
    chirp_scaling_cuda(const chirp_scaling_params& params, const compute_target& target)
        : chirp_scaling(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_dev_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        d_dev_rows = cuda::device_buffer<scaling::row>(d_plan.frame().rows);
        refresh(true);
    }

    std::uint64_t bad_lines() const override
    {
        const cuda::device_guard device(d_space.index());
        unsigned long long n = 0;
        SAR_CUDA(cudaMemcpyAsync(
            &n, d_dev_bad_lines.data(), sizeof(n), cudaMemcpyDeviceToHost, d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream));
        return n;
    }

protected:
    void refresh(bool shape_changed) override
    {
        const cuda::device_guard device(d_space.index());
        const range_doppler_frame& f = d_plan.frame();
        tabulate_rows<<<(f.rows + block_threads - 1) / block_threads,
                        block_threads,
                        0,
                        d_stream>>>(f, d_shape, d_dev_rows.data());
        SAR_CUDA_LAUNCH("tabulate_rows");
        if (!shape_changed)
            return;
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // plans and filter may be in use
        make_plans();
        d_dev_filter = cuda::device_buffer<cf32>(d_filter.size());
        SAR_CUDA(cudaMemcpyAsync(d_dev_filter.data(),
                                 d_filter.data(),
                                 d_filter.size() * sizeof(cf32),
                                 cudaMemcpyHostToDevice,
                                 d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // d_filter is host memory
    }

    void run(const char* in, char* out, int first_row, int rows) override
    {
        const cuda::device_guard device(d_space.index());
        // Plans are made for a few batch sizes down to 1, so that every number of rows is
        // a sum of them and no transform runs on rows that hold nothing.
        auto p = d_plans.begin();
        while (rows > 0) {
            while (p->batch > rows)
                ++p;
            scale(*p, in, out, first_row);
            in += p->batch * bytes_in();
            out += p->batch * bytes_out();
            first_row = static_cast<int>((static_cast<long long>(first_row) + p->batch) %
                                         d_plan.frame().rows);
            rows -= p->batch;
        }
    }

private:
    struct batch_plan {
        int batch;
        std::unique_ptr<cuda::fft_plan> forward;
        std::unique_ptr<cuda::fft_plan> inverse; // null: same length as forward
    };

    // Batches of 1, 4, 16, ... rows, as large as wanted and as cache and memory allow.
    // Only one row must fit.
    void make_plans()
    {
        d_plans.clear();
        d_lines = cuda::device_buffer<cf32>();
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        for (int batch = 1; batch <= d_params.max_batch; batch *= 4) {
            const std::size_t bytes =
                static_cast<std::size_t>(batch) * d_shape.padded * sizeof(cf32);
            if (batch > 1 && bytes > std::min(cache_bytes, free_bytes / 8))
                break;
            try {
                batch_plan p;
                p.batch = batch;
                p.forward = std::make_unique<cuda::fft_plan>(
                    d_shape.length, batch, d_stream, d_shape.padded);
                if (d_shape.padded != d_shape.length)
                    p.inverse =
                        std::make_unique<cuda::fft_plan>(d_shape.padded, batch, d_stream);
                cuda::device_buffer<cf32> lines(static_cast<std::size_t>(batch) *
                                                d_shape.padded);
                d_plans.insert(d_plans.begin(), std::move(p));
                d_lines = std::move(lines);
            } catch (const std::runtime_error&) {
                cudaGetLastError();
                if (batch == 1)
                    throw;
                break;
            }
        }
    }

    void scale(const batch_plan& p, const char* in, char* out, int first_row)
    {
        const row_of_batch rows = { d_dev_rows.data(), first_row, d_plan.frame().rows };
        scale_rows<<<p.batch, block_threads, 0, d_stream>>>(in,
                                                            bytes_in(),
                                                            d_params.input,
                                                            d_shape,
                                                            rows,
                                                            d_lines.data(),
                                                            d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("scale_rows");
        p.forward->execute(d_lines.data(), d_lines.data(), CUFFT_FORWARD);
        filter_rows<<<blocks_for(d_shape.padded, p.batch), block_threads, 0, d_stream>>>(
            d_shape, rows, d_dev_filter.data(), d_lines.data());
        SAR_CUDA_LAUNCH("filter_rows");
        (p.inverse ? p.inverse : p.forward)
            ->execute(d_lines.data(), d_lines.data(), CUFFT_INVERSE);
        store_rows<<<blocks_for(d_shape.cols, p.batch), block_threads, 0, d_stream>>>(
            d_shape, rows, d_lines.data(), out, bytes_out(), d_params.output);
        SAR_CUDA_LAUNCH("store_rows");
    }

    static dim3 blocks_for(int bins, int rows)
    {
        constexpr int a_block = bins_a_thread * block_threads;
        return dim3((bins + a_block - 1) / a_block, rows);
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<scaling::row> d_dev_rows;
    cuda::device_buffer<cf32> d_dev_filter;
    cuda::device_buffer<unsigned long long> d_dev_bad_lines;
    std::vector<batch_plan> d_plans;   // largest batch first
    cuda::device_buffer<cf32> d_lines; // of a batch
};

} // namespace

std::unique_ptr<chirp_scaling> make_chirp_scaling_cuda(const chirp_scaling_params& params,
                                                       const compute_target& target)
{
    return std::make_unique<chirp_scaling_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
