// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "column_kernel.h"
#include "cuda_space.h"
#include <algorithm>

namespace gr {
namespace sar {

namespace {

//! By one kernel.
class column_fft_kernel final : public column_fft
{
public:
    column_fft_kernel(std::unique_ptr<cuda::column_kernel> kernel,
                      int rows,
                      int cols,
                      int pitch,
                      const compute_target& target)
        : d_rows(rows),
          d_cols(cols),
          d_pitch(pitch),
          d_space(cuda::space_of(target.space)),
          d_kernel(std::move(kernel))
    {
    }

    void forward(cf32* frame, int filled) override { run(frame, filled, false); }
    void inverse(cf32* frame) override { run(frame, d_rows, true); }
    std::size_t bytes() const override { return d_kernel->bytes(); }

private:
    void run(cf32* frame, int filled, bool inverse)
    {
        const cuda::device_guard device(d_space.index());
        d_kernel->run(
            frame, frame, d_cols, d_pitch, filled, inverse, d_space.compute_stream());
    }

    const int d_rows;
    const int d_cols;
    const int d_pitch;
    cuda::cuda_space& d_space;
    const std::unique_ptr<cuda::column_kernel> d_kernel;
};

//! By cuFFT, in batches of columns.
class column_fft_plans final : public column_fft
{
public:
    column_fft_plans(int rows, int cols, int pitch, const compute_target& target)
        : d_rows(rows),
          d_cols(cols),
          d_pitch(pitch),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        // Batches of columns until the workspace takes at most a quarter of what is free;
        // one column must fit. The last batch may be narrower.
        for (int batch = cols;; batch = (batch + 1) / 2) {
            const std::size_t need = cuda::column_plan::workspace(rows, pitch, batch);
            if (batch > 1 && need > free_bytes / 4)
                continue;
            try {
                d_whole =
                    std::make_unique<cuda::column_plan>(rows, pitch, batch, d_stream);
                d_rest = cols % batch ? std::make_unique<cuda::column_plan>(
                                            rows, pitch, cols % batch, d_stream)
                                      : nullptr;
                return;
            } catch (const std::runtime_error&) {
                cudaGetLastError();
                d_whole.reset();
                if (batch == 1)
                    throw;
            }
        }
    }

    void forward(cf32* frame, int filled) override
    {
        const cuda::device_guard device(d_space.index());
        if (filled < d_rows)
            SAR_CUDA(cudaMemset2DAsync(frame + static_cast<std::size_t>(filled) * d_pitch,
                                       d_pitch * sizeof(cf32),
                                       0,
                                       d_cols * sizeof(cf32),
                                       d_rows - filled,
                                       d_stream));
        run(frame, CUFFT_FORWARD);
    }
    void inverse(cf32* frame) override
    {
        const cuda::device_guard device(d_space.index());
        run(frame, CUFFT_INVERSE);
    }

    std::size_t bytes() const override
    {
        return d_whole->bytes() + (d_rest ? d_rest->bytes() : 0);
    }

private:
    void run(cf32* frame, int direction)
    {
        int col = 0;
        for (; col + d_whole->batch() <= d_cols; col += d_whole->batch())
            d_whole->execute(frame + col, direction);
        if (d_rest)
            d_rest->execute(frame + col, direction);
    }

    const int d_rows;
    const int d_cols;
    const int d_pitch;
    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    std::unique_ptr<cuda::column_plan> d_whole;
    std::unique_ptr<cuda::column_plan> d_rest;
};

} // namespace

std::unique_ptr<column_fft>
make_column_fft_cuda(int rows, int cols, int pitch, const compute_target& target)
{
    const cuda::device_guard device(cuda::space_of(target.space).index());
    if (auto kernel = cuda::column_kernel::make(rows, cols))
        return std::make_unique<column_fft_kernel>(
            std::move(kernel), rows, cols, pitch, target);
    return std::make_unique<column_fft_plans>(rows, cols, pitch, target);
}

} // namespace sar
} // namespace gr
