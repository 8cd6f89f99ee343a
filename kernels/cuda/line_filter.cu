// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_filter.cuh"
#include "line_filter.h"

namespace gr {
namespace sar {
namespace cuda {

namespace {

template <typename T>
device_buffer<T> upload(const std::vector<T>& host)
{
    device_buffer<T> dev(host.size());
    SAR_CUDA(cudaMemcpy(
        dev.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return dev;
}

//! \tparam Lines      lines in a block
//! \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
template <typename Shape, bool InTurn, int Lines, int MinBlocks>
class line_filter_of final : public line_filter
{
public:
    static constexpr auto kernel =
        line_filter_kernel<Shape, InTurn, Lines, MinBlocks, false>;
    static constexpr int threads = Shape::threads * Lines;
    static constexpr int shared_bytes =
        Shape::shared_size * Lines * (InTurn ? sizeof(float) : sizeof(cf32));

    //! Whether the current device can hold a block.
    static bool fits()
    {
        int device = 0;
        int most = 0;
        SAR_CUDA(cudaGetDevice(&device));
        SAR_CUDA(cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        cudaFuncAttributes f;
        SAR_CUDA(cudaFuncGetAttributes(&f, kernel));
        return static_cast<int>(f.sharedSizeBytes) + shared_bytes <= most &&
               threads <= f.maxThreadsPerBlock;
    }

    line_filter_of(const cf32* spectrum, int samples_in, int samples_out)
        : d_samples_in(samples_in),
          d_samples_out(samples_out),
          d_table(upload(make_power_table<Shape>())),
          d_filter(upload(in_block_order<Shape>(spectrum)))
    {
        SAR_CUDA(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    }

    void run(const cf32* in,
             cf32* out,
             int lines,
             unsigned long long* bad_lines,
             cudaStream_t stream) const override
    {
        if (lines <= 0)
            return;
        kernel<<<(lines + Lines - 1) / Lines, threads, shared_bytes, stream>>>(
            { in,
              out,
              d_table.data(),
              d_filter.data(),
              d_samples_in,
              d_samples_out,
              lines,
              bad_lines });
        SAR_CUDA_LAUNCH("line_filter_kernel");
    }

private:
    const int d_samples_in;
    const int d_samples_out;
    const device_buffer<cf32_pair> d_table;
    const device_buffer<cf32_pair> d_filter;
};

template <typename Shape, bool InTurn, int Lines, int MinBlocks>
std::unique_ptr<line_filter>
make_if_it_fits(const cf32* spectrum, int length, int samples_in, int samples_out)
{
    using filter = line_filter_of<Shape, InTurn, Lines, MinBlocks>;
    if (length != Shape::size || !filter::fits())
        return nullptr;
    return std::make_unique<filter>(spectrum, samples_in, samples_out);
}

} // namespace

std::unique_ptr<line_filter>
line_filter::make(const cf32* spectrum, int length, int samples_in, int samples_out)
{
    using maker = std::unique_ptr<line_filter> (*)(const cf32*, int, int, int);
    // the first that fits
    static constexpr maker makers[] = {
        make_if_it_fits<block_shape<16, 16, 16>, false, 16, 3>,
        make_if_it_fits<block_shape<16, 16, 32>, false, 8, 4>,
        make_if_it_fits<block_shape<32, 32, 32>, false, 4, 4>,
        make_if_it_fits<block_shape<128, 8, 16, 16>, false, 1, 6>,
        make_if_it_fits<block_shape<256, 16, 16, 16>, false, 1, 3>,
        make_if_it_fits<block_shape<256, 16, 16, 32>, false, 1, 2>,
        make_if_it_fits<block_shape<256, 16, 16, 32>, true, 1, 2>,
        make_if_it_fits<block_shape<512, 32, 16, 32>, false, 1, 1>,
        make_if_it_fits<block_shape<512, 32, 16, 32>, true, 1, 1>,
    };
    for (const maker make : makers)
        if (auto filter = make(spectrum, length, samples_in, samples_out))
            return filter;
    return nullptr;
}

} // namespace cuda
} // namespace sar
} // namespace gr
