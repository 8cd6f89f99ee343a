// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "rcmc_fused.cuh"
#include "rcmc_fused.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

//! \tparam Lines      rows in a block
//! \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
template <typename Shape, int Grid, int Lines, int MinBlocks>
class fused_rcmc_of final : public fused_rcmc
{
public:
    static constexpr auto kernel = fused_rcmc_kernel<Shape, Grid, Lines, MinBlocks>;
    static constexpr int threads = Shape::threads * Lines;
    static constexpr int shared_bytes =
        fused_values<Shape, Grid> * Lines * static_cast<int>(sizeof(cf32));

    static std::unique_ptr<fused_rcmc> make(int length, int grid)
    {
        if (length != Shape::size || grid != Grid ||
            !cuda::block_fits(kernel, threads, shared_bytes))
            return nullptr;
        return std::make_unique<fused_rcmc_of>();
    }

    fused_rcmc_of() : d_table(cuda::upload(cuda::make_power_table<Shape>()))
    {
        SAR_CUDA(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    }

    void run(const void* in,
             line_storage storage,
             int rows,
             const row_batch& batch,
             const rcm::transform_shape& shape,
             migration_interpolation how,
             cudaStream_t stream) const override
    {
        kernel<<<(rows + Lines - 1) / Lines, threads, shared_bytes, stream>>>(
            { static_cast<const char*>(in),
              line_bytes(storage, batch.cols),
              storage,
              rows,
              batch,
              shape,
              how,
              d_table.data() });
        SAR_CUDA_LAUNCH("fused_rcmc_kernel");
    }

private:
    const cuda::device_buffer<cuda::cf32_pair> d_table;
};

using cuda::block_shape;
using maker = std::unique_ptr<fused_rcmc> (*)(int, int);

constexpr maker makers[] = {
    // `exact`
    fused_rcmc_of<block_shape<32, 32, 32>, 2, 4, 3>::make,
    fused_rcmc_of<block_shape<96, 12, 12, 8>, 2, 1, 6>::make,
    fused_rcmc_of<block_shape<32, 20, 8, 8>, 2, 4, 2>::make,
    fused_rcmc_of<block_shape<64, 24, 8, 8>, 2, 2, 4>::make,
    fused_rcmc_of<block_shape<96, 24, 12, 8>, 2, 1, 4>::make,
    fused_rcmc_of<block_shape<160, 10, 16, 16>, 2, 1, 4>::make,
    fused_rcmc_of<block_shape<256, 12, 16, 16>, 2, 1, 3>::make,
    fused_rcmc_of<block_shape<288, 18, 16, 16>, 2, 1, 3>::make,
    fused_rcmc_of<block_shape<320, 20, 16, 16>, 2, 1, 2>::make,
    fused_rcmc_of<block_shape<576, 16, 18, 32>, 2, 1, 1>::make,
    // the others, with SRC
    fused_rcmc_of<block_shape<96, 12, 12, 8>, 1, 1, 6>::make,
    fused_rcmc_of<block_shape<32, 20, 8, 8>, 1, 4, 2>::make,
    fused_rcmc_of<block_shape<96, 24, 12, 8>, 1, 1, 4>::make,
    fused_rcmc_of<block_shape<288, 18, 16, 16>, 1, 1, 3>::make,
    fused_rcmc_of<block_shape<576, 16, 18, 32>, 1, 1, 1>::make,
};

} // namespace

std::unique_ptr<fused_rcmc> fused_rcmc::make(int length, int grid)
{
    for (const maker make : makers)
        if (auto fused = make(length, grid))
            return fused;
    return nullptr;
}

} // namespace kernel
} // namespace sar
} // namespace gr
