// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/range_doppler.h"
#include "../cuda/block_fft.cuh"
#include "../cuda/cuda_space.h"
#include "../cuda/line_filter.h"
#include "chirp_z.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;

//! Shortest transform that line_filter has a kernel for.
constexpr int shortest_block_line = 256;

//! Length >= n for cuFFT: 4, 5 or 6 times a power of two, which it does two or three
//! times as fast as others of 20000 to 33000.
int long_fft_length(int n)
{
    int unit = 1;
    while (unit * 8 < n)
        unit *= 2;
    for (const int factor : { 4, 5, 6 })
        if (unit * factor >= n)
            return unit * factor;
    return unit * 8;
}

// One block a line: multiply by a_n and append zeros; a line with a value that is not
// finite becomes zeros and is counted.
__global__ void __launch_bounds__(block_threads) load_lines(const cf32* in,
                                                            cf32* out,
                                                            const cf32* factors,
                                                            int samples,
                                                            int length,
                                                            unsigned long long* bad_lines)
{
    const cf32* from = in + static_cast<size_t>(blockIdx.x) * samples;
    cf32* to = out + static_cast<size_t>(blockIdx.x) * length;
    bool bad = false;
    for (int i = threadIdx.x; i < length; i += block_threads) {
        const cf32 v = i < samples ? from[i] : cf32{ 0, 0 };
        bad |= !is_finite(v);
        to[i] = i < samples ? v * factors[i] : v;
    }
    if (__syncthreads_or(bad)) {
        for (int i = threadIdx.x; i < samples; i += block_threads)
            to[i] = cf32{ 0, 0 };
        if (threadIdx.x == 0)
            atomicAdd(bad_lines, 1ull);
    }
}

// The first \p count of \p length_in values of each line, times factors.
__global__ void __launch_bounds__(block_threads)
    multiply(const cf32* in, cf32* out, const cf32* factors, int length_in, int count)
{
    const cf32* from = in + static_cast<size_t>(blockIdx.y) * length_in;
    cf32* to = out + static_cast<size_t>(blockIdx.y) * count;
    const int stride = gridDim.x * block_threads;
    for (int i = blockIdx.x * block_threads + threadIdx.x; i < count; i += stride)
        to[i] = from[i] * factors[i];
}

dim3 grid_for(int samples, int lines)
{
    // four samples a thread
    const int columns = (samples + 4 * block_threads - 1) / (4 * block_threads);
    return dim3(columns, lines);
}

class chirp_z_cuda final : public chirp_z
{
public:
    chirp_z_cuda(const chirp_z_params& params, const compute_target& target)
        : chirp_z(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_dev_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream));
        for (int parts = 1; parts <= d_params.max_parts && !d_fused; ++parts)
            fuse(parts);
        if (!d_fused)
            plan();
    }

    void process(const cf32* in, cf32* out, int lines) override
    {
        const cuda::device_guard device(d_space.index());
        if (d_fused) {
            d_fused->run(in, out, lines, d_dev_bad_lines.data(), d_stream);
            return;
        }
        // Plans are made for a few batch sizes down to 1, so that every number of lines
        // is a sum of them and no transform runs on rows that hold nothing.
        auto p = d_plans.begin();
        while (lines > 0) {
            const int batch = (*p)->batch();
            if (batch > lines) {
                ++p;
                continue;
            }
            run(**p, in, out);
            in += static_cast<std::size_t>(batch) * d_params.samples_in;
            out += static_cast<std::size_t>(batch) * d_params.samples_out;
            lines -= batch;
        }
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

    int fft_length() const override { return d_length; }

private:
    // One kernel for all of it, if there is one for the length.
    void fuse(int parts)
    {
        const int outputs = (d_params.samples_out + parts - 1) / parts;
        const int needed = d_params.samples_in + outputs - 1;
        if (needed > longest_block_line)
            return;
        const int length = line_fft_length(std::max(needed, shortest_block_line));
        std::vector<cf32> before;
        std::vector<cf32> after;
        int part = 0;
        for (int first = 0; first < d_params.samples_out; first += outputs, ++part) {
            const std::vector<cf32> a = input_factors(first);
            const std::vector<cf32> b =
                output_factors(first, std::min(outputs, d_params.samples_out - first));
            before.insert(before.end(), a.begin(), a.end());
            after.insert(after.end(), b.begin(), b.end());
        }
        if (part != parts)
            return;
        d_fused = cuda::line_filter::make_with_factors(filter(length, outputs).data(),
                                                       before.data(),
                                                       after.data(),
                                                       length,
                                                       d_params.samples_in,
                                                       d_params.samples_out,
                                                       parts);
        d_length = length;
    }

    // Batches of 1, 2, 8, 32, ... lines, as large as wanted and as memory allows: lines
    // too long for a big batch are done in smaller ones. Only one line must fit.
    void plan()
    {
        d_length = long_fft_length(d_params.samples_in + d_params.samples_out - 1);
        d_before = cuda::upload(input_factors());
        d_after = cuda::upload(output_factors(0, d_params.samples_out));
        d_filter = cuda::upload(filter(d_length, d_params.samples_out));
        constexpr std::size_t work_limit = 256u << 20; // larger batches gain nothing
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        const std::size_t per_line = d_length * sizeof(cf32);
        for (int batch = 1; batch <= d_params.max_batch; batch *= batch == 1 ? 2 : 4) {
            if (batch > 1 && batch * per_line > std::min(work_limit, free_bytes / 8))
                break;
            try {
                auto p = std::make_unique<cuda::fft_plan>(d_length, batch, d_stream);
                cuda::device_buffer<cf32> work(static_cast<std::size_t>(batch) *
                                               d_length);
                d_plans.insert(d_plans.begin(), std::move(p));
                d_work = std::move(work);
            } catch (const std::runtime_error&) {
                cudaGetLastError();
                if (batch == 1)
                    throw;
                break;
            }
        }
    }

    void run(const cuda::fft_plan& fft, const cf32* in, cf32* out)
    {
        cf32* work = d_work.data();
        load_lines<<<fft.batch(), block_threads, 0, d_stream>>>(in,
                                                                work,
                                                                d_before.data(),
                                                                d_params.samples_in,
                                                                d_length,
                                                                d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("load_lines");
        fft.execute(work, work, CUFFT_FORWARD);
        multiply<<<grid_for(d_length, fft.batch()), block_threads, 0, d_stream>>>(
            work, work, d_filter.data(), d_length, d_length);
        SAR_CUDA_LAUNCH("multiply");
        fft.execute(work, work, CUFFT_INVERSE);
        multiply<<<grid_for(d_params.samples_out, fft.batch()),
                   block_threads,
                   0,
                   d_stream>>>(work, out, d_after.data(), d_length, d_params.samples_out);
        SAR_CUDA_LAUNCH("multiply");
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    int d_length = 0;
    cuda::device_buffer<unsigned long long> d_dev_bad_lines;
    std::unique_ptr<cuda::line_filter> d_fused; // null: by cuFFT, with what follows
    cuda::device_buffer<cf32> d_before;
    cuda::device_buffer<cf32> d_after;
    cuda::device_buffer<cf32> d_filter;
    std::vector<std::unique_ptr<cuda::fft_plan>> d_plans; // largest batch first
    cuda::device_buffer<cf32> d_work;
};

} // namespace

std::unique_ptr<chirp_z> make_chirp_z_cuda(const chirp_z_params& params,
                                           const compute_target& target)
{
    return std::make_unique<chirp_z_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
