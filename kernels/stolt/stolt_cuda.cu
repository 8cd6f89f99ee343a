// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../cuda/cuda_space.h"
#include "../cuda/half_line.cuh"
#include "stolt.h"
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
    const stolt_map::row* rows;
    int first_row;
    int frame_rows;
    __device__ stolt_map::row at(int b) const
    {
        return rows[(first_row + b) % frame_rows];
    }
};

// The frame is a kernel parameter: a change of the centroid is one more launch, behind
// those that still use the table, and waits for nothing.
__global__ void __launch_bounds__(block_threads)
    tabulate_rows(range_doppler_frame frame, stolt_map::row* rows)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k < frame.rows)
        rows[k] = stolt_map::row_of(frame, k);
}

// One block a row: copy times (-1)^n, so that the transform begins at bin -length, and
// append zeros; a row with a value that is not finite becomes zeros and is counted.
__global__ void __launch_bounds__(block_threads) load_rows(const char* in,
                                                           size_t bytes,
                                                           line_storage storage,
                                                           stolt_map::shape shape,
                                                           cf32* lines,
                                                           unsigned long long* bad_lines)
{
    const char* from = in + blockIdx.x * bytes;
    cf32* to = lines + blockIdx.x * static_cast<size_t>(shape.padded);
    bool bad = false;
    for (int i = threadIdx.x; i < shape.padded; i += block_threads) {
        const cf32 v = i < shape.samples ? load_sample(storage, from, shape.samples, i)
                                         : cf32{ 0, 0 };
        bad |= !is_finite(v);
        to[i] = (i & 1 ? -1.0f : 1.0f) * v;
    }
    if (__syncthreads_or(bad)) {
        for (int i = threadIdx.x; i < shape.samples; i += block_threads)
            to[i] = cf32{ 0, 0 };
        if (threadIdx.x == 0)
            atomicAdd(bad_lines, 1ull);
    }
}

__global__ void __launch_bounds__(block_threads)
    apply_reference(stolt_map::shape shape, row_of_batch rows, cf32* lines)
{
    cf32* bins = lines + static_cast<size_t>(blockIdx.y) * shape.padded;
    const stolt_map::row row = rows.at(blockIdx.y);
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < shape.padded;
         j += gridDim.x * block_threads)
        bins[j] = stolt_map::reference_factor(shape, row, j - shape.length) * bins[j];
}

template <migration_interpolation how>
__global__ void __launch_bounds__(block_threads) map_rows(stolt_map::shape shape,
                                                          row_of_batch rows,
                                                          const rcm::tap_quad* taps,
                                                          const cf32* lines,
                                                          cf32* mapped)
{
    const cf32* line = lines + static_cast<size_t>(blockIdx.y) * shape.padded;
    cf32* bins = mapped + static_cast<size_t>(blockIdx.y) * shape.length;
    const stolt_map::row row = rows.at(blockIdx.y);
    const int low = -(shape.length / 2);
    for (int i = blockIdx.x * block_threads + threadIdx.x; i < shape.length;
         i += gridDim.x * block_threads) {
        const int k = low + i;
        const double at = stolt_map::position(shape, row, k);
        bins[k < 0 ? k + shape.length : k] =
            stolt_map::weight(shape, row, k) *
            rcm::value_at<how>(line, shape.padded, at, taps);
    }
}

__global__ void __launch_bounds__(block_threads) store_rows(stolt_map::shape shape,
                                                            const cf32* mapped,
                                                            char* out,
                                                            size_t bytes,
                                                            line_storage storage)
{
    const cf32* line = mapped + static_cast<size_t>(blockIdx.y) * shape.length;
    char* to = out + blockIdx.y * bytes;
    const int before = shape.cols / 2;
    // whole warps to the end: 16-bit storage needs them
    for (int first = blockIdx.x * block_threads; first < shape.cols;
         first += gridDim.x * block_threads) {
        const int n = first + threadIdx.x;
        cf32 v = { 0, 0 };
        if (n < shape.cols)
            v = line[n < before ? n + shape.length - before : n - before];
        cuda::store_sample(storage, to, shape.cols, n, v);
    }
}

using map_kernel =
    void (*)(stolt_map::shape, row_of_batch, const rcm::tap_quad*, const cf32*, cf32*);

map_kernel kernel_of(migration_interpolation how)
{
    switch (how) {
    case migration_interpolation::sinc8:
        return map_rows<migration_interpolation::sinc8>;
    case migration_interpolation::sinc16:
        return map_rows<migration_interpolation::sinc16>;
    default:
        return map_rows<migration_interpolation::exact>;
    }
}

class stolt_cuda final : public stolt
{
public:
    stolt_cuda(const stolt_params& params, const compute_target& target)
        : stolt(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream()),
          d_map(kernel_of(params.interpolator))
    {
        const cuda::device_guard device(d_space.index());
        d_dev_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        d_dev_taps = cuda::device_buffer<rcm::tap_quad>(d_taps.size());
        SAR_CUDA(cudaMemcpyAsync(d_dev_taps.data(),
                                 d_taps.data(),
                                 d_taps.size() * sizeof(rcm::tap_quad),
                                 cudaMemcpyHostToDevice,
                                 d_stream));
        d_dev_rows = cuda::device_buffer<stolt_map::row>(d_plan.frame().rows);
        refresh(true);
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // the table above is host memory
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
                        d_stream>>>(f, d_dev_rows.data());
        SAR_CUDA_LAUNCH("tabulate_rows");
        if (shape_changed) {
            SAR_CUDA(cudaStreamSynchronize(d_stream)); // plans may be in use
            make_plans();
        }
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
            map(*p, in, out, first_row);
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
        std::unique_ptr<cuda::fft_plan> inverse;
    };

    // Batches of 1, 4, 16, ... rows, as large as wanted and as cache and memory allow.
    // Only one row must fit.
    void make_plans()
    {
        d_plans.clear();
        d_lines = cuda::device_buffer<cf32>();
        d_mapped = cuda::device_buffer<cf32>();
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        const std::size_t line = d_shape.padded + d_shape.length;
        for (int batch = 1; batch <= d_params.max_batch; batch *= 4) {
            const std::size_t bytes = batch * line * sizeof(cf32);
            if (batch > 1 && bytes > std::min(cache_bytes, free_bytes / 8))
                break;
            try {
                batch_plan p;
                p.batch = batch;
                p.forward =
                    std::make_unique<cuda::fft_plan>(d_shape.padded, batch, d_stream);
                p.inverse =
                    std::make_unique<cuda::fft_plan>(d_shape.length, batch, d_stream);
                cuda::device_buffer<cf32> lines(static_cast<std::size_t>(batch) *
                                                d_shape.padded);
                cuda::device_buffer<cf32> mapped(static_cast<std::size_t>(batch) *
                                                 d_shape.length);
                d_plans.insert(d_plans.begin(), std::move(p));
                d_lines = std::move(lines);
                d_mapped = std::move(mapped);
            } catch (const std::runtime_error&) {
                cudaGetLastError();
                if (batch == 1)
                    throw;
                break;
            }
        }
    }

    void map(const batch_plan& p, const char* in, char* out, int first_row)
    {
        const row_of_batch rows = { d_dev_rows.data(), first_row, d_plan.frame().rows };
        load_rows<<<p.batch, block_threads, 0, d_stream>>>(in,
                                                           bytes_in(),
                                                           d_params.input,
                                                           d_shape,
                                                           d_lines.data(),
                                                           d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("load_rows");
        p.forward->execute(d_lines.data(), d_lines.data(), CUFFT_FORWARD);
        apply_reference<<<blocks_for(d_shape.padded, p.batch),
                          block_threads,
                          0,
                          d_stream>>>(d_shape, rows, d_lines.data());
        SAR_CUDA_LAUNCH("apply_reference");
        d_map<<<blocks_for(d_shape.length, p.batch), block_threads, 0, d_stream>>>(
            d_shape, rows, d_dev_taps.data(), d_lines.data(), d_mapped.data());
        SAR_CUDA_LAUNCH("map_rows");
        p.inverse->execute(d_mapped.data(), d_mapped.data(), CUFFT_INVERSE);
        store_rows<<<blocks_for(d_shape.cols, p.batch), block_threads, 0, d_stream>>>(
            d_shape, d_mapped.data(), out, bytes_out(), d_params.output);
        SAR_CUDA_LAUNCH("store_rows");
    }

    static dim3 blocks_for(int bins, int rows)
    {
        constexpr int a_block = bins_a_thread * block_threads;
        return dim3((bins + a_block - 1) / a_block, rows);
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    const map_kernel d_map;
    cuda::device_buffer<rcm::tap_quad> d_dev_taps;
    cuda::device_buffer<stolt_map::row> d_dev_rows;
    cuda::device_buffer<unsigned long long> d_dev_bad_lines;
    std::vector<batch_plan> d_plans;    // largest batch first
    cuda::device_buffer<cf32> d_lines;  // of a batch, before the mapping
    cuda::device_buffer<cf32> d_mapped; // and after
};

} // namespace

std::unique_ptr<stolt> make_stolt_cuda(const stolt_params& params,
                                       const compute_target& target)
{
    return std::make_unique<stolt_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
