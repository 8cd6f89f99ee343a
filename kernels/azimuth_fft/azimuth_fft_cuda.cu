// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../cuda/cuda_space.h"
#include "../cuda/half_line.cuh"
#include "azimuth_fft.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
constexpr int samples_a_thread = 8; // loads in flight
constexpr int block_samples = block_threads * samples_a_thread;
constexpr int largest_grid_y = 65535;

// A line is a row of blocks; a value that is not finite flags it.
__global__ void __launch_bounds__(block_threads) load_lines(const void* lines,
                                                            line_storage storage,
                                                            cf32* out,
                                                            int samples,
                                                            int count,
                                                            float scale,
                                                            int* bad)
{
    const int first = blockIdx.x * block_samples + threadIdx.x;
    for (int row = blockIdx.y; row < count; row += gridDim.y) {
        const void* from = line_at(lines, storage, samples, row);
        cf32* to = out + static_cast<size_t>(row) * samples;
        cf32 v[samples_a_thread];
        bool finite = true;
#pragma unroll
        for (int j = 0; j < samples_a_thread; ++j) {
            const int i = first + j * block_threads;
            v[j] = i < samples ? load_sample(storage, from, samples, i) : cf32{ 0, 0 };
            finite = finite && is_finite(v[j]);
        }
#pragma unroll
        for (int j = 0; j < samples_a_thread; ++j) {
            const int i = first + j * block_threads;
            if (i < samples)
                to[i] = scale * v[j];
        }
        if (!finite)
            bad[row] = 1;
    }
}

// One block a line: a flagged line becomes zeros and is counted.
__global__ void __launch_bounds__(block_threads)
    clear_bad(cf32* lines, int samples, int* bad, unsigned long long* bad_lines)
{
    const bool is_bad = bad[blockIdx.x] != 0;
    __syncthreads();
    if (!is_bad)
        return;
    cf32* line = lines + static_cast<size_t>(blockIdx.x) * samples;
    for (int i = threadIdx.x; i < samples; i += block_threads)
        line[i] = cf32{ 0, 0 };
    if (threadIdx.x == 0) {
        bad[blockIdx.x] = 0;
        atomicAdd(bad_lines, 1ull);
    }
}

// A line is a row of blocks; a warp has the samples that share a scale.
__global__ void __launch_bounds__(block_threads)
    store_lines(const cf32* in, line_storage storage, void* lines, int samples, int count)
{
    const int begin = blockIdx.x * block_samples;
    for (int row = blockIdx.y; row < count; row += gridDim.y) {
        const cf32* from = in + static_cast<size_t>(row) * samples;
        void* to = line_at(lines, storage, samples, row);
        for (int j = 0; j < samples_a_thread && begin + j * block_threads < samples;
             ++j) {
            const int i = begin + j * block_threads + threadIdx.x;
            cuda::store_sample(
                storage, to, samples, i, i < samples ? from[i] : cf32{ 0, 0 });
        }
    }
}

class azimuth_fft_cuda final : public azimuth_fft
{
public:
    azimuth_fft_cuda(const azimuth_fft_params& params, const compute_target& target)
        : azimuth_fft(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_frame = cuda::device_buffer<cf32>(frame_values());
        d_lines = cuda::device_buffer<cf32>(ring_values());
        d_bad = cuda::device_buffer<int>(frame_in());
        d_bad_lines = cuda::device_buffer<unsigned long long>(1);
        d_fft = column_fft::make(params.rows, params.cols, target);
        SAR_CUDA(cudaMemsetAsync(d_bad.data(), 0, d_bad.size() * sizeof(int), d_stream));
        SAR_CUDA(
            cudaMemsetAsync(d_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
    }

    cf32* frame() override { return d_frame.data(); }
    std::size_t bytes() const override
    {
        return (d_frame.size() + d_lines.size()) * sizeof(cf32) +
               d_bad.size() * sizeof(int) + d_fft->bytes();
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
    cf32* collected() override
    {
        return d_params.overlap ? d_lines.data() : d_frame.data();
    }

    void load(const void* lines, int place, int count) override
    {
        const cuda::device_guard device(d_space.index());
        cf32* into = collected() + line_values(place);
        load_lines<<<grid(count), block_threads, 0, d_stream>>>(lines,
                                                                d_params.input,
                                                                into,
                                                                d_params.cols,
                                                                count,
                                                                scale(),
                                                                d_bad.data() + place);
        SAR_CUDA_LAUNCH("load_lines");
        clear_bad<<<count, block_threads, 0, d_stream>>>(
            into, d_params.cols, d_bad.data() + place, d_bad_lines.data());
        SAR_CUDA_LAUNCH("clear_bad");
    }

    void collect(int place, int row, int count) override
    {
        const cuda::device_guard device(d_space.index());
        copy(d_frame.data() + line_values(row),
             d_lines.data() + line_values(place),
             count);
    }

    void run(int filled) override
    {
        const cuda::device_guard device(d_space.index());
        if (!d_params.inverse) {
            d_fft->forward(d_frame.data(), filled);
            return;
        }
        if (filled < d_params.rows)
            SAR_CUDA(cudaMemsetAsync(d_frame.data() + line_values(filled),
                                     0,
                                     line_values(d_params.rows - filled) * sizeof(cf32),
                                     d_stream));
        d_fft->inverse(d_frame.data());
    }

    void store(void* out, int first, int count) override
    {
        const cuda::device_guard device(d_space.index());
        const cf32* from = d_frame.data() + line_values(first);
        if (d_params.output == line_storage::single) {
            copy(static_cast<cf32*>(out), from, count);
            return;
        }
        store_lines<<<grid(count), block_threads, 0, d_stream>>>(
            from, d_params.output, out, d_params.cols, count);
        SAR_CUDA_LAUNCH("store_lines");
    }

private:
    dim3 grid(int count) const
    {
        return dim3((d_params.cols + block_samples - 1) / block_samples,
                    count < largest_grid_y ? count : largest_grid_y);
    }

    void copy(cf32* to, const cf32* from, int lines)
    {
        SAR_CUDA(cudaMemcpyAsync(to,
                                 from,
                                 line_values(lines) * sizeof(cf32),
                                 cudaMemcpyDeviceToDevice,
                                 d_stream));
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<cf32> d_frame;
    cuda::device_buffer<cf32> d_lines; // ring of lines, with overlap
    cuda::device_buffer<int> d_bad;    // a flag a line, 0 between calls
    cuda::device_buffer<unsigned long long> d_bad_lines;
    std::unique_ptr<column_fft> d_fft;
};

} // namespace

std::unique_ptr<azimuth_fft> make_azimuth_fft_cuda(const azimuth_fft_params& params,
                                                   const compute_target& target)
{
    return std::make_unique<azimuth_fft_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
