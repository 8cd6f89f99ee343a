// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../cuda/cuda_space.h"
#include "../cuda/half_line.cuh"
#include "rcmc.h"
#include "rcmc_fused.h"
#include <algorithm>
#include <climits>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
//! Cells a thread makes, about.
constexpr int cells_a_thread = 4;

// The lines of a batch while they are transformed should stay in the cache between the
// kernels: what a batch may take of it.
constexpr std::size_t cache_bytes = 24u << 20;

// ---- tables
// -----------------------------------------------------------------------------

// The frame is a kernel parameter: a change of the centroid is one more launch, behind
// those that still use the table, and waits for nothing.
__global__ void __launch_bounds__(block_threads)
    tabulate_rows(range_doppler_frame frame, rcm::row* rows, int grid)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k < frame.rows)
        rows[k] = rcm::row_of(frame, k, grid);
}

// ---- transforms
// -------------------------------------------------------------------------

// One block a row: copy and append zeros; a row with a value that is not finite becomes
// zeros and is counted.
__global__ void __launch_bounds__(block_threads) load_rows(const char* in,
                                                           size_t bytes,
                                                           line_storage storage,
                                                           int samples,
                                                           cf32* lines,
                                                           size_t pitch,
                                                           int length,
                                                           unsigned long long* bad_lines)
{
    const char* from = in + blockIdx.x * bytes;
    cf32* to = lines + blockIdx.x * pitch;
    bool bad = false;
    for (int i = threadIdx.x; i < length; i += block_threads) {
        const cf32 v =
            i < samples ? load_sample(storage, from, samples, i) : cf32{ 0, 0 };
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

// In place: bins times SRC, the upper half moved up where the inverse transform is
// longer. A thread reads one bin and writes that one and where it moves to.
__global__ void __launch_bounds__(block_threads) filter_rows(cf32* lines,
                                                             rcm::transform_shape shape,
                                                             const rcm::row* rows,
                                                             int first_row,
                                                             int frame_rows)
{
    cf32* bins = lines + static_cast<size_t>(blockIdx.y) * shape.padded;
    const src_phase src = rows[(first_row + blockIdx.y) % frame_rows].src;
    const int half = (shape.length - 1) / 2; // highest bin that is not at half the rate
    const int up = shape.padded - shape.length;
    const int stride = gridDim.x * block_threads;
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < shape.padded;
         j += stride) {
        if (j <= half) {
            bins[j] = rcm::bin_factor(shape, src, j) * bins[j];
        } else if (j < shape.length - half) { // at half the sampling rate
            const cf32 v = bins[j];
            if (up)
                bins[j + up] = rcm::middle_factor(shape, src, -1) * v;
            bins[j] = rcm::middle_factor(shape, src, up ? 1 : 0) * v;
        } else if (j < shape.length) {
            const cf32 v = rcm::bin_factor(shape, src, j - shape.length) * bins[j];
            if (up)
                bins[j] = cf32{ 0, 0 };
            bins[j + up] = v;
        } else if (j < shape.padded - shape.length / 2) {
            bins[j] = cf32{ 0, 0 };
        }
    }
}

// ---- interpolation
// ----------------------------------------------------------------------

//! Samples of a line that may be used: none when one is not finite. For whole blocks.
__device__ int checked_samples(const row_batch& b, const cf32* line)
{
    bool bad = false;
    for (int i = threadIdx.x; i < b.samples; i += block_threads)
        bad |= !is_finite(line[i]);
    if (!__syncthreads_or(bad))
        return b.samples;
    if (threadIdx.x == 0)
        atomicAdd(b.bad_lines, 1ull);
    return 0;
}

// check: one block a row, whose line has not been looked at yet.
template <migration_interpolation how, bool uniform, bool check>
__global__ void __launch_bounds__(block_threads) interpolate_rows(row_batch b)
{
    const cf32* line = b.lines + blockIdx.y * b.pitch;
    char* out = b.out + blockIdx.y * b.bytes_out;
    const int samples = check ? checked_samples(b, line) : b.samples;
    const int k = (b.first_row + blockIdx.y) % b.frame.rows;
    const rcm::row row = b.rows[k];
    // whole warps to the end: 16-bit storage needs them
    for (int first = blockIdx.x * block_threads; first < b.cols;
         first += gridDim.x * block_threads) {
        const int n = first + threadIdx.x;
        cf32 v = { 0, 0 };
        if (n < b.cols)
            v = rcm::value_at<how>(
                line, samples, position<how, uniform>(b, row, k, n), b.taps);
        cuda::store_sample(b.storage, out, b.cols, n, v);
    }
}

// The fixed-point interpolator reads its samples through a tile of shared memory: cells
// of one tile lie next to each other in the line, and both samples of a cell, and those
// of its neighbours, are read there. A gap after every 32 samples keeps threads whose
// cells lie a multiple of 32 samples apart on different banks.
constexpr int tile_cells = cells_a_thread * block_threads;
constexpr int tile_samples = 2 * tile_cells;
constexpr int tile_gap = 32;

__device__ int in_tile(int i) { return i + i / tile_gap; }

//! A part of a line in shared memory; zero outside, as the whole line is.
struct tiled_line {
    const cf32* tile;
    int begin; //!< sample that comes first
    int count;
    __device__ cf32 at(int i) const
    {
        const unsigned k = static_cast<unsigned>(i) - static_cast<unsigned>(begin);
        return k < static_cast<unsigned>(count) ? tile[in_tile(k)] : cf32{ 0, 0 };
    }
};

template <bool uniform, bool check>
__global__ void __launch_bounds__(block_threads) interpolate_fixed(row_batch b)
{
    constexpr migration_interpolation how = migration_interpolation::fixed;
    __shared__ cf32 tile[tile_samples + tile_samples / tile_gap];
    __shared__ int low, high;
    const cf32* line = b.lines + blockIdx.y * b.pitch;
    char* out = b.out + blockIdx.y * b.bytes_out;
    const int samples = check ? checked_samples(b, line) : b.samples;
    const int k = (b.first_row + blockIdx.y) % b.frame.rows;
    const rcm::row row = b.rows[k];
    for (int first = blockIdx.x * tile_cells; first < b.cols;
         first += gridDim.x * tile_cells) {
        if (threadIdx.x == 0) {
            low = INT_MAX;
            high = INT_MIN;
        }
        __syncthreads();
        rcm::place at[cells_a_thread];
        int lowest = INT_MAX;
        int highest = INT_MIN;
        for (int c = 0; c < cells_a_thread; ++c) {
            const int n = first + c * block_threads + threadIdx.x;
            if (n >= b.cols)
                continue;
            at[c] = rcm::place_of<how>(position<how, uniform>(b, row, k, n), samples);
            // (what no sample is in reach of reads zeros, in the tile or beside it)
            if (at[c].first >= 0 || at[c].between > 0) {
                lowest = min(lowest, at[c].first);
                highest = max(highest, at[c].first + 1);
            }
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            lowest = min(lowest, __shfl_xor_sync(0xffffffffu, lowest, distance));
            highest = max(highest, __shfl_xor_sync(0xffffffffu, highest, distance));
        }
        if (threadIdx.x % 32 == 0) {
            atomicMin(&low, lowest);
            atomicMax(&high, highest);
        }
        __syncthreads();
        // Cells of a swath that is not uniform may lie far apart: those read the line.
        const int begin = low;
        const int count = high < low ? 0 : high - low + 1;
        const bool tiled = count <= tile_samples;
        if (tiled)
            for (int i = threadIdx.x; i < count; i += block_threads)
                tile[in_tile(i)] = rcm::edged_line{ line, samples }.at(begin + i);
        __syncthreads();
        for (int c = 0; c < cells_a_thread; ++c) {
            const int n = first + c * block_threads + threadIdx.x;
            cf32 v = { 0, 0 };
            if (n < b.cols)
                v = tiled ? rcm::value_of<how>(
                                tiled_line{ tile, begin, count }, at[c], nullptr)
                          : rcm::value_of<how>(
                                rcm::edged_line{ line, samples }, at[c], nullptr);
            cuda::store_sample(b.storage, out, b.cols, n, v);
        }
        __syncthreads();
    }
}

using row_kernel = void (*)(row_batch);

template <bool uniform, bool check>
row_kernel kernel_of(migration_interpolation how)
{
    using m = migration_interpolation;
    switch (how) {
    case m::nearest:
        return interpolate_rows<m::nearest, uniform, check>;
    case m::linear:
        return interpolate_rows<m::linear, uniform, check>;
    case m::sinc8:
        return interpolate_rows<m::sinc8, uniform, check>;
    case m::sinc16:
        return interpolate_rows<m::sinc16, uniform, check>;
    case m::exact:
        return interpolate_rows<m::exact, uniform, check>;
    case m::fixed:
        return interpolate_fixed<uniform, check>;
    }
    return nullptr;
}

class rcmc_cuda final : public rcmc
{
public:
    rcmc_cuda(const rcmc_params& params, const compute_target& target)
        : rcmc(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_dev_bad_lines = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        d_dev_taps = cuda::device_buffer<rcm::tap_quad>(d_taps.size());
        if (!d_taps.empty())
            SAR_CUDA(cudaMemcpyAsync(d_dev_taps.data(),
                                     d_taps.data(),
                                     d_taps.size() * sizeof(rcm::tap_quad),
                                     cudaMemcpyHostToDevice,
                                     d_stream));
        d_dev_rows = cuda::device_buffer<rcm::row>(d_plan.frame().rows);
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
                        d_stream>>>(f, d_dev_rows.data(), grid());
        SAR_CUDA_LAUNCH("tabulate_rows");
        if (!f.uniform) {
            d_columns = d_plan.columns();
            if (d_dev_columns.size() == 0)
                d_dev_columns = cuda::device_buffer<doppler_column>(d_columns.size());
            // pageable memory: the call returns when it has been read
            SAR_CUDA(cudaMemcpyAsync(d_dev_columns.data(),
                                     d_columns.data(),
                                     d_columns.size() * sizeof(doppler_column),
                                     cudaMemcpyHostToDevice,
                                     d_stream));
        }
        if (shape_changed || !(d_fused || !d_plans.empty())) {
            SAR_CUDA(cudaStreamSynchronize(d_stream)); // plans may be in use
            make_plans();
        }
    }

    void run(const char* in, char* out, int first_row, int rows) override
    {
        const cuda::device_guard device(d_space.index());
        if (d_fused) {
            d_fused->run(in,
                         d_params.input,
                         rows,
                         batch_of(nullptr, out, first_row),
                         d_shape,
                         d_params.interpolator,
                         d_stream);
            return;
        }
        const bool direct =
            !d_shape.length && in != out && d_params.input == line_storage::single;
        // Plans are made for a few batch sizes down to 1, so that every number of rows is
        // a sum of them and no transform runs on rows that hold nothing.
        auto p = d_plans.begin();
        while (rows > 0) {
            int batch = std::min(rows, 32768);
            if (!direct) {
                while (p->batch > rows)
                    ++p;
                batch = p->batch;
                load(*p, in, first_row);
            }
            interpolate(direct ? reinterpret_cast<const cf32*>(in) : d_lines.data(),
                        direct,
                        out,
                        first_row,
                        batch);
            in += batch * bytes_in();
            out += batch * bytes_out();
            first_row = static_cast<int>((static_cast<long long>(first_row) + batch) %
                                         d_plan.frame().rows);
            rows -= batch;
        }
    }

private:
    struct batch_plan {
        int batch;
        std::unique_ptr<cuda::fft_plan> forward; // null without transforms
        std::unique_ptr<cuda::fft_plan> inverse; // null: same length as forward
    };

    //! Samples from line to line of a batch.
    std::size_t pitch() const
    {
        return d_shape.length ? d_shape.padded : d_shape.samples;
    }

    // Batches of 1, 4, 16, ... rows, as large as wanted and as cache and memory allow.
    // Only one row must fit.
    void make_plans()
    {
        d_plans.clear();
        d_lines = cuda::device_buffer<cf32>();
        d_fused.reset();
        if (d_shape.length)
            d_fused = fused_rcmc::make(d_shape.length, grid());
        if (d_fused)
            return;
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        for (int batch = 1; batch <= d_params.max_batch; batch *= 4) {
            const std::size_t bytes = batch * pitch() * sizeof(cf32);
            if (batch > 1 && bytes > std::min(cache_bytes, free_bytes / 8))
                break;
            try {
                batch_plan p;
                p.batch = batch;
                if (d_shape.length)
                    p.forward = std::make_unique<cuda::fft_plan>(
                        d_shape.length, batch, d_stream, d_shape.padded);
                if (d_shape.padded != d_shape.length)
                    p.inverse =
                        std::make_unique<cuda::fft_plan>(d_shape.padded, batch, d_stream);
                cuda::device_buffer<cf32> lines(batch * pitch());
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

    //! Rows into d_lines, on the grid.
    void load(const batch_plan& p, const char* in, int first_row)
    {
        load_rows<<<p.batch, block_threads, 0, d_stream>>>(
            in,
            bytes_in(),
            d_params.input,
            d_shape.samples,
            d_lines.data(),
            pitch(),
            d_shape.length ? d_shape.length : d_shape.samples,
            d_dev_bad_lines.data());
        SAR_CUDA_LAUNCH("load_rows");
        if (!p.forward)
            return;
        p.forward->execute(d_lines.data(), d_lines.data(), CUFFT_FORWARD);
        filter_rows<<<blocks_for(d_shape.padded, p.batch), block_threads, 0, d_stream>>>(
            d_lines.data(), d_shape, d_dev_rows.data(), first_row, d_plan.frame().rows);
        SAR_CUDA_LAUNCH("filter_rows");
        (p.inverse ? p.inverse : p.forward)
            ->execute(d_lines.data(), d_lines.data(), CUFFT_INVERSE);
    }

    row_batch batch_of(const cf32* lines, char* out, int first_row) const
    {
        row_batch b;
        b.lines = lines;
        b.pitch = pitch();
        b.samples = grid_samples();
        b.out = out;
        b.bytes_out = bytes_out();
        b.storage = d_params.output;
        b.cols = cols();
        b.first_row = first_row;
        b.frame = d_plan.frame();
        b.rows = d_dev_rows.data();
        b.columns = d_dev_columns.data();
        b.taps = d_dev_taps.data();
        b.bad_lines = d_dev_bad_lines.data();
        return b;
    }

    void
    interpolate(const cf32* lines, bool direct, char* out, int first_row, int batch) const
    {
        const row_batch b = batch_of(lines, out, first_row);
        const migration_interpolation how = d_params.interpolator;
        const row_kernel kernel =
            b.frame.uniform
                ? (direct ? kernel_of<true, true>(how) : kernel_of<true, false>(how))
                : (direct ? kernel_of<false, true>(how) : kernel_of<false, false>(how));
        const dim3 blocks = direct ? dim3(1, batch) : blocks_for(cols(), batch);
        kernel<<<blocks, block_threads, 0, d_stream>>>(b);
        SAR_CUDA_LAUNCH("interpolate_rows");
    }

    static dim3 blocks_for(int cells, int rows)
    {
        constexpr int a_block = cells_a_thread * block_threads;
        return dim3((cells + a_block - 1) / a_block, rows);
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<rcm::tap_quad> d_dev_taps;
    cuda::device_buffer<rcm::row> d_dev_rows;
    std::vector<doppler_column> d_columns; // empty when the swath is uniform
    cuda::device_buffer<doppler_column> d_dev_columns;
    cuda::device_buffer<unsigned long long> d_dev_bad_lines;
    std::unique_ptr<fused_rcmc> d_fused; // null: by cuFFT, with what follows
    std::vector<batch_plan> d_plans;     // largest batch first
    cuda::device_buffer<cf32> d_lines;   // of a batch
};

} // namespace

std::unique_ptr<rcmc> make_rcmc_cuda(const rcmc_params& params,
                                     const compute_target& target)
{
    return std::make_unique<rcmc_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
