// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "detect.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;
constexpr int largest_grid_y = 65535;

__device__ void count(int bad, unsigned long long* bad_pixels)
{
    if (bad)
        atomicAdd(bad_pixels, static_cast<unsigned long long>(bad));
}

__global__ void __launch_bounds__(block_threads)
    detect_looks(const cf32* in,
                 float* out,
                 detect_params p,
                 int rows_out,
                 unsigned long long* bad_pixels)
{
    const int cols_out = p.cols / p.col_looks;
    const int j = blockIdx.x * block_threads + threadIdx.x;
    if (j >= cols_out)
        return;
    int bad = 0;
    for (int i = blockIdx.y; i < rows_out; i += gridDim.y) {
        const cf32* corner = in + static_cast<size_t>(i) * p.row_looks * p.cols +
                             static_cast<size_t>(j) * p.col_looks;
        const double sum = cell_power(corner, p.cols, p.row_looks, p.col_looks, bad);
        out[static_cast<size_t>(i) * cols_out + j] =
            detected_value(sum, p.row_looks * p.col_looks, p.quantity);
    }
    count(bad, bad_pixels);
}

__global__ void __launch_bounds__(block_threads) sum_part(const cf32* in,
                                                          double* kept,
                                                          detect_params p,
                                                          int rows,
                                                          bool first,
                                                          unsigned long long* bad_pixels)
{
    const int j = blockIdx.x * block_threads + threadIdx.x;
    if (j >= p.cols / p.col_looks)
        return;
    int bad = 0;
    const double sum = cell_power(
        in + static_cast<size_t>(j) * p.col_looks, p.cols, rows, p.col_looks, bad);
    kept[j] = (first ? 0.0 : kept[j]) + sum;
    count(bad, bad_pixels);
}

__global__ void __launch_bounds__(block_threads)
    finish_part(const double* kept, float* out, detect_params p, int rows)
{
    const int j = blockIdx.x * block_threads + threadIdx.x;
    if (j < p.cols / p.col_looks)
        out[j] = detected_value(kept[j], rows * p.col_looks, p.quantity);
}

class detect_cuda final : public detect
{
public:
    detect_cuda(const detect_params& params, const compute_target& target)
        : detect(params),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_dev_kept = cuda::device_buffer<double>(cols_out());
        d_dev_bad_pixels = cuda::device_buffer<unsigned long long>(1);
        SAR_CUDA(cudaMemsetAsync(
            d_dev_bad_pixels.data(), 0, sizeof(unsigned long long), d_stream));
    }

    std::uint64_t bad_pixels() const override
    {
        const cuda::device_guard device(d_space.index());
        unsigned long long n = 0;
        SAR_CUDA(cudaMemcpyAsync(
            &n, d_dev_bad_pixels.data(), sizeof(n), cudaMemcpyDeviceToHost, d_stream));
        SAR_CUDA(cudaStreamSynchronize(d_stream));
        return n;
    }

protected:
    void whole_looks(const cf32* in, float* out, int rows_out) override
    {
        const cuda::device_guard device(d_space.index());
        const dim3 grid(blocks(), rows_out < largest_grid_y ? rows_out : largest_grid_y);
        detect_looks<<<grid, block_threads, 0, d_stream>>>(
            in, out, d_params, rows_out, d_dev_bad_pixels.data());
        SAR_CUDA_LAUNCH("detect_looks");
    }

    void part_of_look(const cf32* in, int rows, bool first) override
    {
        const cuda::device_guard device(d_space.index());
        sum_part<<<blocks(), block_threads, 0, d_stream>>>(
            in, d_dev_kept.data(), d_params, rows, first, d_dev_bad_pixels.data());
        SAR_CUDA_LAUNCH("sum_part");
    }

    void finish_look(float* out, int rows) override
    {
        const cuda::device_guard device(d_space.index());
        finish_part<<<blocks(), block_threads, 0, d_stream>>>(
            d_dev_kept.data(), out, d_params, rows);
        SAR_CUDA_LAUNCH("finish_part");
    }

private:
    int blocks() const { return (cols_out() + block_threads - 1) / block_threads; }

    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<double> d_dev_kept;
    cuda::device_buffer<unsigned long long> d_dev_bad_pixels;
};

} // namespace

std::unique_ptr<detect> make_detect_cuda(const detect_params& params,
                                         const compute_target& target)
{
    return std::make_unique<detect_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
