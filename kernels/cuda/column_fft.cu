// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "cuda_space.h"
#include <algorithm>

namespace gr {
namespace sar {

namespace {

class column_fft_cuda final : public column_fft
{
public:
    column_fft_cuda(int rows, int cols, const compute_target& target)
        : d_rows(rows),
          d_cols(cols),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        d_space.memory(free_bytes, total_bytes);
        // Batches of columns until the workspace takes at most a quarter of what is free;
        // one column must fit. The last batch may be narrower.
        for (int batch = cols;; batch = (batch + 1) / 2) {
            const std::size_t need = cuda::column_plan::workspace(rows, cols, batch);
            if (batch > 1 && need > free_bytes / 4)
                continue;
            try {
                d_whole =
                    std::make_unique<cuda::column_plan>(rows, cols, batch, d_stream);
                d_rest = cols % batch ? std::make_unique<cuda::column_plan>(
                                            rows, cols, cols % batch, d_stream)
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
            SAR_CUDA(cudaMemsetAsync(frame + static_cast<std::size_t>(filled) * d_cols,
                                     0,
                                     static_cast<std::size_t>(d_rows - filled) * d_cols *
                                         sizeof(cf32),
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
    cuda::cuda_space& d_space;
    const cudaStream_t d_stream;
    std::unique_ptr<cuda::column_plan> d_whole;
    std::unique_ptr<cuda::column_plan> d_rest;
};

} // namespace

std::unique_ptr<column_fft>
make_column_fft_cuda(int rows, int cols, const compute_target& target)
{
    return std::make_unique<column_fft_cuda>(rows, cols, target);
}

} // namespace sar
} // namespace gr
