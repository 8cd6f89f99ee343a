// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "../cuda/line_filter.h"
#include "pulse_compression.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;

// One block a line: copy and append zeros; a line with a value that is not finite becomes
// zeros and is counted.
__global__ void __launch_bounds__(block_threads) load_lines(const cf32* in,
                                                            cf32* out,
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
        to[i] = v;
    }
    if (__syncthreads_or(bad)) {
        for (int i = threadIdx.x; i < samples; i += block_threads)
            to[i] = cf32{ 0, 0 };
        if (threadIdx.x == 0)
            atomicAdd(bad_lines, 1ull);
    }
}

// One block a line: weigh the samples and put them into the bins of the inverse
// transform.
__global__ void __launch_bounds__(block_threads)
    load_frequencies(const cf32* in,
                     cf32* out,
                     const cf32* weights,
                     pulse_compression_shape shape,
                     unsigned long long* bad_lines)
{
    const cf32* from = in + static_cast<size_t>(blockIdx.x) * shape.samples;
    cf32* to = out + static_cast<size_t>(blockIdx.x) * shape.padded;
    bool bad = false;
    for (int k = threadIdx.x; k < shape.samples; k += block_threads)
        bad |= !is_finite(from[k]);
    bad = __syncthreads_or(bad);
    for (int j = threadIdx.x; j < shape.padded; j += block_threads)
        to[j] = bad ? cf32{ 0, 0 } : frequency_bin(shape, from, weights, j);
    if (bad && threadIdx.x == 0)
        atomicAdd(bad_lines, 1ull);
}

__global__ void __launch_bounds__(block_threads) multiply_and_pad(const cf32* spectra,
                                                                  cf32* out,
                                                                  const cf32* filter,
                                                                  int length,
                                                                  int padded)
{
    const cf32* from = spectra + static_cast<size_t>(blockIdx.y) * length;
    cf32* to = out + static_cast<size_t>(blockIdx.y) * padded;
    const int stride = gridDim.x * block_threads;
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < padded; j += stride) {
        const int k = padded_source_bin(j, length, padded);
        to[j] = k < 0 ? cf32{ 0, 0 } : from[k] * filter[k];
    }
}

__global__ void __launch_bounds__(block_threads)
    crop(const cf32* in, cf32* out, int padded, int samples)
{
    const cf32* from = in + static_cast<size_t>(blockIdx.y) * padded;
    cf32* to = out + static_cast<size_t>(blockIdx.y) * samples;
    const int stride = gridDim.x * block_threads;
    for (int m = blockIdx.x * block_threads + threadIdx.x; m < samples; m += stride)
        to[m] = from[m];
}

// From lines of \p padded samples to the first \p samples of each; in place when they are
// as many. Of a triangular sweep (way_back 0 or 1) every other line is the way back.
__global__ void __launch_bounds__(block_threads) deskew(const cf32* in,
                                                        cf32* out,
                                                        const cf32* factors,
                                                        int padded,
                                                        int samples,
                                                        int way_back)
{
    const cf32* from = in + static_cast<size_t>(blockIdx.y) * padded;
    cf32* to = out + static_cast<size_t>(blockIdx.y) * samples;
    const bool back = way_back >= 0 && ((blockIdx.y + way_back) & 1);
    const int stride = gridDim.x * block_threads;
    for (int m = blockIdx.x * block_threads + threadIdx.x; m < samples; m += stride)
        to[m] = without_residual_video(from[m], factors[m], back);
}

dim3 grid_for(int samples, int lines)
{
    // four samples a thread
    const int columns = (samples + 4 * block_threads - 1) / (4 * block_threads);
    return dim3(columns, lines);
}

class pulse_compression_cuda final : public pulse_compression
{
public:
    pulse_compression_cuda(const pulse_compression_params& params,
                           const compute_target& target)
        : pulse_compression(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_dev_filter = upload(d_filter);
        d_dev_deskew = upload(d_deskew);
        d_dev_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // the tables above are host memory
        if (!d_shape.frequency_domain && !two_lengths())
            d_fused = cuda::line_filter::make(
                d_filter.data(), d_shape.length, samples_in(), samples_out());
        if (!d_fused)
            plan(params.max_batch);
    }

    void process(const cf32* in, cf32* out, int lines, std::int64_t first) override
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
            while (p->batch > lines)
                ++p;
            if (d_shape.frequency_domain)
                frequency_domain(
                    *p, in, out, d_triangle ? static_cast<int>(first & 1) : -1);
            else
                matched_filter(*p, in, out);
            in += static_cast<std::size_t>(p->batch) * samples_in();
            out += static_cast<std::size_t>(p->batch) * samples_out();
            lines -= p->batch;
            first += p->batch;
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

private:
    struct batch_plan {
        int batch;
        std::unique_ptr<cuda::fft_plan> forward; // null for FX
        std::unique_ptr<cuda::fft_plan> inverse; // null: same length as forward
    };

    cuda::device_buffer<cf32> upload(const std::vector<cf32>& host)
    {
        cuda::device_buffer<cf32> dev(host.size());
        if (!host.empty())
            SAR_CUDA(cudaMemcpyAsync(dev.data(),
                                     host.data(),
                                     host.size() * sizeof(cf32),
                                     cudaMemcpyHostToDevice,
                                     d_stream));
        return dev;
    }

    bool two_lengths() const { return d_shape.padded != d_shape.length; }

    batch_plan plan_for(int batch)
    {
        batch_plan p;
        p.batch = batch;
        if (!d_shape.frequency_domain)
            p.forward = std::make_unique<cuda::fft_plan>(d_shape.length, batch, d_stream);
        if (d_shape.frequency_domain || two_lengths())
            p.inverse = std::make_unique<cuda::fft_plan>(d_shape.padded, batch, d_stream);
        return p;
    }

    // Batches of 1, 4, 16, ... lines, as large as wanted and as memory allows: lines too
    // long for a big batch are done in smaller ones. Only one line must fit.
    void plan(int max_batch)
    {
        constexpr std::size_t work_limit = 256u << 20; // larger batches gain nothing
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        const std::size_t per_line =
            (d_shape.padded + (two_lengths() ? d_shape.length : 0)) * sizeof(cf32);
        for (int batch = 1; batch <= max_batch; batch *= 4) {
            // cuFFT's workspace is of the size of the data at most for lengths with small
            // factors, and several times that for others
            if (batch > 1 && batch * per_line > std::min(work_limit, free_bytes / 8))
                break;
            try {
                batch_plan p = plan_for(batch);
                cuda::device_buffer<cf32> work(static_cast<std::size_t>(batch) *
                                               d_shape.padded);
                cuda::device_buffer<cf32> lines;
                if (!d_shape.frequency_domain && two_lengths())
                    lines = cuda::device_buffer<cf32>(static_cast<std::size_t>(batch) *
                                                      d_shape.length);
                d_plans.insert(d_plans.begin(), std::move(p));
                d_work = std::move(work);
                d_lines = std::move(lines);
            } catch (const std::runtime_error&) {
                cudaGetLastError();
                if (batch == 1)
                    throw;
                break;
            }
        }
    }

    void matched_filter(const batch_plan& p, const cf32* in, cf32* out)
    {
        cf32* lines = two_lengths() ? d_lines.data() : d_work.data();
        load_lines<<<p.batch, block_threads, 0, d_stream>>>(
            in, lines, d_shape.samples, d_shape.length, d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("load_lines");
        p.forward->execute(lines, lines, CUFFT_FORWARD);
        // element by element in place when the lengths are equal
        multiply_and_pad<<<grid_for(d_shape.padded, p.batch),
                           block_threads,
                           0,
                           d_stream>>>(
            lines, d_work.data(), d_dev_filter.data(), d_shape.length, d_shape.padded);
        SAR_CUDA_LAUNCH("multiply_and_pad");
        (p.inverse ? p.inverse : p.forward)
            ->execute(d_work.data(), d_work.data(), CUFFT_INVERSE);
        crop<<<grid_for(samples_out(), p.batch), block_threads, 0, d_stream>>>(
            d_work.data(), out, d_shape.padded, samples_out());
        SAR_CUDA_LAUNCH("crop");
    }

    //! \p way_back: of a triangular sweep 1 when the first line is the way back, else 0;
    //! -1: no triangle
    void frequency_domain(const batch_plan& p, const cf32* in, cf32* out, int way_back)
    {
        load_frequencies<<<p.batch, block_threads, 0, d_stream>>>(
            in, d_work.data(), d_dev_filter.data(), d_shape, d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("load_frequencies");
        const bool gated = samples_out() != d_shape.padded;
        cf32* lines = gated ? d_work.data() : out;
        p.inverse->execute(d_work.data(), lines, CUFFT_INVERSE);
        if (!d_deskew.empty()) {
            deskew<<<grid_for(samples_out(), p.batch), block_threads, 0, d_stream>>>(
                lines, out, d_dev_deskew.data(), d_shape.padded, samples_out(), way_back);
            SAR_CUDA_LAUNCH("deskew");
        } else if (gated) {
            crop<<<grid_for(samples_out(), p.batch), block_threads, 0, d_stream>>>(
                lines, out, d_shape.padded, samples_out());
            SAR_CUDA_LAUNCH("crop");
        }
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<cf32> d_dev_filter;
    cuda::device_buffer<cf32> d_dev_deskew;
    cuda::device_buffer<unsigned long long> d_dev_bad_lines;
    std::unique_ptr<cuda::line_filter> d_fused; // null: by cuFFT, with what follows
    std::vector<batch_plan> d_plans;            // largest batch first
    cuda::device_buffer<cf32> d_lines;          // raw lines with zeros, and their spectra
    cuda::device_buffer<cf32> d_work; // input and output of the inverse transform
};

} // namespace

std::unique_ptr<pulse_compression>
make_pulse_compression_cuda(const pulse_compression_params& params,
                            const compute_target& target)
{
    return std::make_unique<pulse_compression_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
