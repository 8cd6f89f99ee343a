// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_filter.cuh"
#include "line_filter.h"

namespace gr {
namespace sar {
namespace cuda {

namespace {

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

    line_filter_of(const cf32* spectrum, int samples_in, int samples_out)
        : d_samples_in(samples_in),
          d_samples_out(samples_out),
          d_table(upload(make_power_table<Shape>())),
          d_filter(upload(in_block_order<Shape>(spectrum)))
    {
        SAR_CUDA(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        int device = 0;
        int processors = 0;
        int blocks = 0;
        SAR_CUDA(cudaGetDevice(&device));
        SAR_CUDA(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        SAR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel, threads, shared_bytes));
        d_ahead = processors * blocks * Lines;
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
              bad_lines,
              d_ahead });
        SAR_CUDA_LAUNCH("line_filter_kernel");
    }

private:
    const int d_samples_in;
    const int d_samples_out;
    int d_ahead; // lines that the device works on at a time
    const device_buffer<cf32_pair> d_table;
    const device_buffer<cf32_pair> d_filter;
};

template <typename Shape, bool InTurn, int Lines, int MinBlocks>
std::unique_ptr<line_filter>
make_if_it_fits(const cf32* spectrum, int length, int samples_in, int samples_out)
{
    using filter = line_filter_of<Shape, InTurn, Lines, MinBlocks>;
    if (length != Shape::size ||
        !block_fits(filter::kernel, filter::threads, filter::shared_bytes))
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
        make_if_it_fits<block_shape<8, 12, 6, 4>, false, 16, 3>,
        make_if_it_fits<block_shape<8, 10, 8, 4>, false, 16, 3>,
        make_if_it_fits<block_shape<8, 24, 16>, false, 16, 4>,
        make_if_it_fits<block_shape<16, 16, 32>, false, 8, 4>,
        make_if_it_fits<block_shape<24, 24, 24>, false, 8, 4>,
        make_if_it_fits<block_shape<16, 10, 8, 8>, false, 8, 3>,
        make_if_it_fits<block_shape<32, 12, 8, 8>, false, 4, 5>,
        make_if_it_fits<block_shape<32, 32, 32>, true, 4, 4>,
        make_if_it_fits<block_shape<48, 12, 12, 8>, false, 4, 2>,
        make_if_it_fits<block_shape<32, 20, 8, 8>, false, 4, 3>,
        make_if_it_fits<block_shape<64, 24, 8, 8>, false, 2, 4>,
        make_if_it_fits<block_shape<128, 8, 16, 16>, false, 1, 6>,
        make_if_it_fits<block_shape<96, 24, 12, 8>, false, 1, 5>,
        make_if_it_fits<block_shape<160, 10, 16, 16>, false, 1, 4>,
        make_if_it_fits<block_shape<256, 12, 16, 16>, false, 1, 3>,
        make_if_it_fits<block_shape<256, 16, 16, 16>, false, 1, 3>,
        make_if_it_fits<block_shape<288, 18, 16, 16>, false, 1, 2>,
        make_if_it_fits<block_shape<320, 20, 16, 16>, false, 1, 2>,
        make_if_it_fits<block_shape<384, 24, 16, 16>, false, 1, 2>,
        make_if_it_fits<block_shape<256, 16, 16, 32>, false, 1, 2>,
        make_if_it_fits<block_shape<256, 16, 16, 32>, true, 1, 2>,
        make_if_it_fits<block_shape<192, 24, 24, 16>, false, 1, 2>,
        make_if_it_fits<block_shape<320, 16, 20, 32>, false, 1, 1>,
        make_if_it_fits<block_shape<512, 24, 16, 32>, false, 1, 1>,
        make_if_it_fits<block_shape<512, 32, 16, 32>, false, 1, 1>,
        make_if_it_fits<block_shape<512, 32, 16, 32>, true, 1, 1>,
        make_if_it_fits<block_shape<384, 48, 24, 16>, false, 1, 1>,
        make_if_it_fits<block_shape<512, 40, 8, 8, 8>, false, 1, 1>,
    };
    for (const maker make : makers)
        if (auto filter = make(spectrum, length, samples_in, samples_out))
            return filter;
    return nullptr;
}

} // namespace cuda
} // namespace sar
} // namespace gr
