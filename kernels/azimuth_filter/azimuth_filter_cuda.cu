// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../cuda/cuda_space.h"
#include "azimuth_filter.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
constexpr int cells_a_thread = 4;
constexpr int block_cells = block_threads * cells_a_thread;
constexpr int largest_grid_y = 65535;

//! Rows as they come, and where they go.
struct row_batch {
    const void* rows;
    line_storage storage;
    int first_row;
    int count;
    cf32* frames; //!< [looks][rows][cols]
    int* bad;     //!< a flag a row of the frame
};

__device__ const void* row_of(const row_batch& b, int i, int cols)
{
    return static_cast<const char*>(b.rows) +
           static_cast<size_t>(i) * line_bytes(b.storage, cols);
}

__device__ cf32*
cell_of(const row_batch& b, const range_doppler_frame& f, int look, int row)
{
    return b.frames + (static_cast<size_t>(look) * f.rows + row) * f.cols;
}

// A row is a row of blocks; a value that is not finite flags it.
__global__ void __launch_bounds__(block_threads)
    load_uniform(const row_batch b, const azimuth_filter_tables t)
{
    const range_doppler_frame& f = t.frame;
    for (int i = blockIdx.y; i < b.count; i += gridDim.y) {
        const int k = b.first_row + i;
        const void* from = row_of(b, i, f.cols);
        const azimuth_row row = t.rows[k];
        bool finite = true;
#pragma unroll
        for (int j = 0; j < cells_a_thread; ++j) {
            const int n = blockIdx.x * block_cells + j * block_threads + threadIdx.x;
            if (n >= f.cols)
                break;
            const cf32 v = load_sample(b.storage, from, f.cols, n);
            finite = finite && is_finite(v);
            const cf32 turned = v * unit_phasor(uniform_cycles(row, n));
            for (int l = 0; l < t.looks; ++l) {
                const float weight = t.row_weights[static_cast<size_t>(l) * f.rows + k];
                const float gain = t.gains[static_cast<size_t>(l) * f.cols + n];
                cell_of(b, f, l, k)[n] = weight * gain * turned;
            }
        }
        if (!finite)
            b.bad[k] = 1;
    }
}

__global__ void __launch_bounds__(block_threads)
    load_varying(const row_batch b, const azimuth_filter_tables t)
{
    const range_doppler_frame& f = t.frame;
    for (int i = blockIdx.y; i < b.count; i += gridDim.y) {
        const int k = b.first_row + i;
        const void* from = row_of(b, i, f.cols);
        bool finite = true;
#pragma unroll
        for (int j = 0; j < cells_a_thread; ++j) {
            const int n = blockIdx.x * block_cells + j * block_threads + threadIdx.x;
            if (n >= f.cols)
                break;
            const cf32 v = load_sample(b.storage, from, f.cols, n);
            finite = finite && is_finite(v);
            const azimuth_turn turn = varying_turn(f, t.columns[n], k, t.look_width_hz);
            const cf32 turned = v * unit_phasor(turn.cycles);
            for (int l = 0; l < t.looks; ++l) {
                const float weight = look_weight(t.weights, t.looks, l, turn.offset);
                const float gain = t.gains[static_cast<size_t>(l) * f.cols + n];
                cell_of(b, f, l, k)[n] = weight * gain * turned;
            }
        }
        if (!finite)
            b.bad[k] = 1;
    }
}

// One block a row: a flagged row becomes zeros and is counted.
__global__ void __launch_bounds__(block_threads) clear_bad(const row_batch b,
                                                           const range_doppler_frame f,
                                                           int looks,
                                                           unsigned long long* bad_lines)
{
    const int k = b.first_row + blockIdx.x;
    const bool is_bad = b.bad[k] != 0;
    __syncthreads();
    if (!is_bad)
        return;
    for (int l = 0; l < looks; ++l)
        for (int n = threadIdx.x; n < f.cols; n += block_threads)
            cell_of(b, f, l, k)[n] = cf32{ 0, 0 };
    if (threadIdx.x == 0) {
        b.bad[k] = 0;
        atomicAdd(bad_lines, 1ull);
    }
}

// Looks side by side in the frames to rows of looks in turn.
__global__ void __launch_bounds__(block_threads)
    interleave_looks(const cf32* frames,
                     cf32* out,
                     const range_doppler_frame f,
                     int looks,
                     int first_output_row,
                     int count)
{
    for (int i = blockIdx.y; i < count; i += gridDim.y) {
        const int row = (first_output_row + i) / looks;
        const int look = (first_output_row + i) % looks;
        const int place = ((row + f.first_row) % f.rows + f.rows) % f.rows;
        const cf32* from = frames + (static_cast<size_t>(look) * f.rows + place) * f.cols;
        cf32* to = out + static_cast<size_t>(i) * f.cols;
#pragma unroll
        for (int j = 0; j < cells_a_thread; ++j) {
            const int n = blockIdx.x * block_cells + j * block_threads + threadIdx.x;
            if (n < f.cols)
                to[n] = from[n];
        }
    }
}

class azimuth_filter_cuda final : public azimuth_filter
{
public:
    azimuth_filter_cuda(const azimuth_filter_params& params, const compute_target& target)
        : azimuth_filter(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        const std::size_t rows = frame().rows;
        const std::size_t cols = frame().cols;
        d_frames = cuda::device_buffer<cf32>(frame_values() * looks());
        d_fft = column_fft::make(frame().rows, frame().cols, target);
        d_bad = cuda::device_buffer<int>(rows);
        d_bad_lines = cuda::device_buffer<unsigned long long>(1);
        d_dev_gains = cuda::device_buffer<float>(cols * looks());
        // either half is used: a centroid that is set may vary over range, or not
        d_dev_rows = cuda::device_buffer<azimuth_row>(rows);
        d_dev_row_weights = cuda::device_buffer<float>(rows * looks());
        d_dev_columns = cuda::device_buffer<doppler_column>(cols);
        d_dev_weights = cuda::device_buffer<float>(weight_steps + 1);
        SAR_CUDA(cudaMemsetAsync(d_bad.data(), 0, d_bad.size() * sizeof(int), d_stream));
        SAR_CUDA(
            cudaMemsetAsync(d_bad_lines.data(), 0, sizeof(unsigned long long), d_stream));
        make_tables();
    }
    ~azimuth_filter_cuda() override
    {
        // the tables are copied from members that go now
        cudaStreamSynchronize(d_stream);
    }

    azimuth_filter_tables tables() const override { return d_tables; }
    cf32* frames() override { return d_frames.data(); }
    std::size_t bytes() const override
    {
        return d_frames.size() * sizeof(cf32) + d_fft->bytes() +
               d_bad.size() * sizeof(int) + d_dev_gains.size() * sizeof(float) +
               d_dev_rows.size() * sizeof(azimuth_row) +
               d_dev_row_weights.size() * sizeof(float) +
               d_dev_columns.size() * sizeof(doppler_column) +
               d_dev_weights.size() * sizeof(float);
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
    void before_tables() override
    {
        const cuda::device_guard device(d_space.index());
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // copies of the tables before
    }

    void after_tables() override
    {
        const cuda::device_guard device(d_space.index());
        d_tables = host_tables();
        d_tables.gains = upload(d_gains, d_dev_gains);
        d_tables.rows = upload(d_rows, d_dev_rows);
        d_tables.row_weights = upload(d_row_weights, d_dev_row_weights);
        d_tables.columns = upload(d_columns, d_dev_columns);
        d_tables.weights = upload(d_weights, d_dev_weights);
    }

    void load(const void* rows, int first_row, int count) override
    {
        const cuda::device_guard device(d_space.index());
        const row_batch b = { rows,  d_params.input,  first_row,
                              count, d_frames.data(), d_bad.data() };
        if (frame().uniform) {
            load_uniform<<<grid(count), block_threads, 0, d_stream>>>(b, d_tables);
            SAR_CUDA_LAUNCH("load_uniform");
        } else {
            load_varying<<<grid(count), block_threads, 0, d_stream>>>(b, d_tables);
            SAR_CUDA_LAUNCH("load_varying");
        }
        clear_bad<<<count, block_threads, 0, d_stream>>>(
            b, frame(), looks(), d_bad_lines.data());
        SAR_CUDA_LAUNCH("clear_bad");
    }

    void clear(int first_row, int count) override
    {
        const cuda::device_guard device(d_space.index());
        for (int l = 0; l < looks(); ++l)
            SAR_CUDA(cudaMemsetAsync(
                at(l, first_row), 0, sizeof(cf32) * count * frame().cols, d_stream));
    }

    void run() override
    {
        for (int l = 0; l < looks(); ++l)
            d_fft->inverse(at(l, 0));
    }

    void store(cf32* out, int first_output_row, int count) override
    {
        const cuda::device_guard device(d_space.index());
        if (looks() > 1) {
            interleave_looks<<<grid(count), block_threads, 0, d_stream>>>(
                d_frames.data(), out, frame(), looks(), first_output_row, count);
            SAR_CUDA_LAUNCH("interleave_looks");
            return;
        }
        while (count > 0) { // two runs where the rotation wraps around
            const int row = transform_row(first_output_row);
            const int n = count < frame().rows - row ? count : frame().rows - row;
            const std::size_t values = static_cast<std::size_t>(n) * frame().cols;
            SAR_CUDA(cudaMemcpyAsync(out,
                                     at(0, row),
                                     values * sizeof(cf32),
                                     cudaMemcpyDeviceToDevice,
                                     d_stream));
            out += values;
            first_output_row += n;
            count -= n;
        }
    }

private:
    dim3 grid(int count) const
    {
        return dim3((frame().cols + block_cells - 1) / block_cells,
                    count < largest_grid_y ? count : largest_grid_y);
    }

    cf32* at(int look, int row)
    {
        return d_frames.data() + look * frame_values() +
               static_cast<std::size_t>(row) * frame().cols;
    }

    //! The host's table is a member and stays as it is until before_tables() has waited.
    template <typename T>
    const T* upload(const std::vector<T>& host, const cuda::device_buffer<T>& dev)
    {
        if (!host.empty())
            SAR_CUDA(cudaMemcpyAsync(dev.data(),
                                     host.data(),
                                     host.size() * sizeof(T),
                                     cudaMemcpyHostToDevice,
                                     d_stream));
        return dev.data();
    }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<cf32> d_frames;
    std::unique_ptr<column_fft> d_fft;
    cuda::device_buffer<int> d_bad; // a flag a row, 0 between calls
    cuda::device_buffer<unsigned long long> d_bad_lines;
    cuda::device_buffer<float> d_dev_gains;
    cuda::device_buffer<azimuth_row> d_dev_rows;
    cuda::device_buffer<float> d_dev_row_weights;
    cuda::device_buffer<doppler_column> d_dev_columns;
    cuda::device_buffer<float> d_dev_weights;
    azimuth_filter_tables d_tables;
};

} // namespace

std::unique_ptr<azimuth_filter>
make_azimuth_filter_cuda(const azimuth_filter_params& params,
                         const compute_target& target)
{
    return std::make_unique<azimuth_filter_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
