// SPDX-License-Identifier: GPL-3.0-or-later
#include "column_fft.cuh"
#include "column_kernel.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace cuda {

namespace {

//! \tparam Blocks     blocks of a cluster that share a tile
//! \tparam MinBlocks  blocks that an SM shall hold: bounds the registers
template <typename Shape, int Blocks, int MinBlocks>
class column_tile_of final : public column_kernel
{
public:
    using cluster = device_cluster<Shape, Blocks>;
    static constexpr auto kernel = column_tile_kernel<Shape, Blocks, MinBlocks>;
    static constexpr int threads = cluster::block_threads;
    static constexpr int shared_bytes = cluster::shared_bytes;

    column_tile_of() : d_table(upload(make_power_table<Shape>())) {}

    //! Allows what the kernel needs; false where the current device cannot run it.
    static bool fits()
    {
        if (!block_fits(kernel, threads, shared_bytes))
            return false;
        SAR_CUDA(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        if constexpr (Blocks > 1) {
            int device = 0;
            int clusters = 0;
            SAR_CUDA(cudaGetDevice(&device));
            SAR_CUDA(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device));
            cudaFuncAttributes f;
            SAR_CUDA(cudaFuncGetAttributes(&f, kernel));
            // code of an older architecture that was translated for this one has none
            if (!clusters || f.ptxVersion < 90)
                return false;
            // devices that hold no cluster of this size answer with an error, or 0
            if (Blocks > 8 &&
                cudaFuncSetAttribute(kernel,
                                     cudaFuncAttributeNonPortableClusterSizeAllowed,
                                     1) != cudaSuccess) {
                cudaGetLastError();
                return false;
            }
            cudaLaunchAttribute attribute;
            const cudaLaunchConfig_t config = config_of(Shape::width, attribute, nullptr);
            if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) !=
                cudaSuccess) {
                cudaGetLastError();
                return false;
            }
            return clusters > 0;
        }
        return true;
    }

    void run(const cf32* in,
             cf32* out,
             int cols,
             int pitch,
             int filled,
             bool inverse,
             cudaStream_t stream) const override
    {
        if (cols <= 0)
            return;
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t config = config_of(cols, attribute, stream);
        const column_frame frame{ in,   out,    d_table.data(), unsigned(pitch),
                                  cols, filled, inverse };
        SAR_CUDA(cudaLaunchKernelEx(&config, kernel, frame));
    }

    std::size_t bytes() const override { return d_table.size() * sizeof(cf32_pair); }

private:
    static cudaLaunchConfig_t
    config_of(int cols, cudaLaunchAttribute& attribute, cudaStream_t stream)
    {
        cudaLaunchConfig_t c = {};
        c.gridDim = (cols + Shape::width - 1) / Shape::width * Blocks;
        c.blockDim = threads;
        c.dynamicSmemBytes = shared_bytes;
        c.stream = stream;
        if (Blocks > 1) {
            attribute.id = cudaLaunchAttributeClusterDimension;
            attribute.val.clusterDim.x = Blocks;
            attribute.val.clusterDim.y = 1;
            attribute.val.clusterDim.z = 1;
            c.attrs = &attribute;
            c.numAttrs = 1;
        }
        return c;
    }

    const device_buffer<cf32_pair> d_table;
};

//! \tparam MinBlocks  blocks that an SM holds
template <typename Shape, int MinBlocks>
class column_relay_of final : public column_kernel
{
public:
    static constexpr auto kernel = column_relay_kernel<Shape, MinBlocks>;

    explicit column_relay_of(int cols)
        : d_table(upload(make_power_table<Shape>())),
          d_scratch(d_slots * tile_values),
          d_counters(2 + 2 * static_cast<std::size_t>(tiles(cols)))
    {
        SAR_CUDA(cudaMemset(d_counters.data(), 0, d_counters.size() * sizeof(unsigned)));
        SAR_CUDA(cudaStreamSynchronize(cudaStreamLegacy)); // others do not wait for it
    }

    static bool fits()
    {
        if (!block_fits(kernel, Shape::block_threads, Shape::shared_bytes))
            return false;
        SAR_CUDA(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::shared_bytes));
        int device = 0;
        int cache_bytes = 0;
        SAR_CUDA(cudaGetDevice(&device));
        SAR_CUDA(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device));
        return static_cast<double>(slots()) * tile_values * sizeof(cf32) <
               0.75 * cache_bytes;
    }

    void run(const cf32* in,
             cf32* out,
             int cols,
             int pitch,
             int filled,
             bool inverse,
             cudaStream_t stream) const override
    {
        if (cols <= 0)
            return;
        const int n = tiles(cols);
        const int work = 2 * Shape::items * n;
        const column_frame frame{ in,   out,    d_table.data(), unsigned(pitch),
                                  cols, filled, inverse };
        const int blocks = std::min(d_blocks, work);
        kernel<<<blocks, Shape::block_threads, Shape::shared_bytes, stream>>>(
            frame,
            d_scratch.data(),
            relay_order{ n, std::min(d_slots / 2, n), d_slots, d_counters.data() });
        SAR_CUDA_LAUNCH("column_relay_kernel");
    }

    std::size_t bytes() const override
    {
        return d_table.size() * sizeof(cf32_pair) + d_scratch.size() * sizeof(cf32) +
               d_counters.size() * sizeof(unsigned);
    }

private:
    static constexpr std::size_t tile_values =
        static_cast<std::size_t>(Shape::size) * Shape::width;

    static int tiles(int cols) { return (cols + Shape::width - 1) / Shape::width; }
    //! Blocks that the device holds at a time.
    static int blocks()
    {
        int device = 0;
        int processors = 0;
        int each = 0;
        SAR_CUDA(cudaGetDevice(&device));
        SAR_CUDA(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        SAR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, kernel, Shape::block_threads, Shape::shared_bytes));
        return processors * std::min(each, MinBlocks);
    }
    //! Tiles in the scratch. A block works on an item and has the ticket of its next one:
    //! the second pass waits for nothing when it is as many items behind.
    static int slots()
    {
        const int lag = (blocks() + Shape::items - 1) / Shape::items;
        return 2 * lag + 1;
    }

    const int d_blocks = blocks();
    const int d_slots = slots();
    const device_buffer<cf32_pair> d_table;
    const device_buffer<cf32> d_scratch;
    const device_buffer<unsigned> d_counters;
};

template <int Blocks, int MinBlocks, typename Shape>
std::unique_ptr<column_kernel> tile_if_it_fits(int rows, int)
{
    using made = column_tile_of<Shape, Blocks, MinBlocks>;
    if (rows != Shape::size || !made::fits())
        return nullptr;
    return std::make_unique<made>();
}

template <int MinBlocks, typename Shape>
std::unique_ptr<column_kernel> relay_if_it_fits(int rows, int cols)
{
    using made = column_relay_of<Shape, MinBlocks>;
    if (rows != Shape::size || !made::fits())
        return nullptr;
    return std::make_unique<made>(cols);
}

} // namespace

std::unique_ptr<column_kernel> column_kernel::make(int rows, int cols)
{
    using maker = std::unique_ptr<column_kernel> (*)(int, int);
    // The first that fits: clusters, then one block, or the L2 cache for what no block
    // holds.
    static constexpr maker makers[] = {
        tile_if_it_fits<1, 4, column_shape<16, 16, 16, 16>>,
        tile_if_it_fits<1, 3, column_shape<18, 16, 16, 18>>,
        tile_if_it_fits<1, 3, column_shape<20, 16, 16, 20>>,
        tile_if_it_fits<1, 2, column_shape<24, 16, 16, 24>>,
        tile_if_it_fits<2, 4, column_shape<32, 16, 8, 8, 8>>,
        tile_if_it_fits<1, 2, column_shape<32, 16, 8, 8, 8>>,
        tile_if_it_fits<1, 2, column_shape<24, 16, 24, 24>>,
        tile_if_it_fits<2, 3, column_shape<40, 16, 8, 8, 10>>,
        tile_if_it_fits<1, 3, column_shape<40, 8, 8, 8, 10>>,
        tile_if_it_fits<1, 1, column_shape<48, 16, 16, 6, 8>>,
        tile_if_it_fits<1, 2, column_shape<48, 8, 16, 6, 8>>,
        tile_if_it_fits<4, 4, column_shape<64, 16, 16, 8, 8>>,
        tile_if_it_fits<1, 2, column_shape<64, 8, 16, 8, 8>>,
        tile_if_it_fits<4, 3, column_shape<72, 16, 16, 8, 9>>,
        tile_if_it_fits<1, 2, column_shape<72, 4, 16, 8, 9>>,
        tile_if_it_fits<4, 3, column_shape<80, 16, 16, 8, 10>>,
        tile_if_it_fits<1, 2, column_shape<80, 4, 16, 8, 10>>,
        tile_if_it_fits<4, 2, column_shape<96, 16, 16, 8, 12>>,
        tile_if_it_fits<1, 2, column_shape<96, 4, 16, 8, 12>>,
        tile_if_it_fits<8, 4, column_shape<128, 16, 16, 16, 8>>,
        tile_if_it_fits<8, 3, column_shape<144, 16, 16, 16, 9>>,
        tile_if_it_fits<1, 1, column_shape<144, 4, 16, 16, 9>>,
        tile_if_it_fits<8, 3, column_shape<160, 16, 16, 16, 10>>,
        tile_if_it_fits<1, 1, column_shape<160, 4, 16, 16, 10>>,
        tile_if_it_fits<16, 4, column_shape<192, 16, 16, 12, 16>>,
        tile_if_it_fits<8, 2, column_shape<192, 16, 16, 12, 16>>,
        tile_if_it_fits<1, 1, column_shape<192, 4, 16, 12, 16>>,
        tile_if_it_fits<16, 4, column_shape<256, 16, 16, 16, 16>>,
        tile_if_it_fits<8, 2, column_shape<256, 16, 16, 16, 16>>,
        tile_if_it_fits<1, 1, column_shape<256, 4, 16, 16, 16>>,
        tile_if_it_fits<16, 3, column_shape<288, 16, 16, 16, 18>>,
        tile_if_it_fits<8, 1, column_shape<288, 16, 16, 16, 18>>,
        tile_if_it_fits<16, 3, column_shape<320, 16, 16, 16, 20>>,
        tile_if_it_fits<8, 1, column_shape<320, 16, 16, 16, 20>>,
        tile_if_it_fits<16, 2, column_shape<384, 16, 16, 16, 24>>,
        tile_if_it_fits<8, 1, column_shape<384, 16, 16, 16, 24>>,
        tile_if_it_fits<16, 2, column_shape<512, 16, 16, 8, 8, 8>>,
        tile_if_it_fits<8, 2, column_shape<512, 8, 16, 8, 8, 8>>,
        relay_if_it_fits<6, relay_shape<8, 16, 128, 8, 8, 16, 8>>,
        tile_if_it_fits<16, 3, column_shape<576, 8, 16, 9, 8, 8>>,
        tile_if_it_fits<8, 1, column_shape<576, 8, 16, 9, 8, 8>>,
        tile_if_it_fits<16, 3, column_shape<640, 8, 16, 10, 8, 8>>,
        tile_if_it_fits<8, 1, column_shape<640, 8, 16, 10, 8, 8>>,
        tile_if_it_fits<16, 2, column_shape<768, 8, 16, 12, 8, 8>>,
        tile_if_it_fits<8, 1, column_shape<768, 8, 16, 12, 8, 8>>,
        tile_if_it_fits<16, 1, column_shape<512, 16, 32, 32, 16>>,
        relay_if_it_fits<6, relay_shape<8, 16, 128, 16, 8, 16, 8>>,
        tile_if_it_fits<8, 1, column_shape<512, 8, 32, 32, 16>>,
        relay_if_it_fits<3, relay_shape<16, 16, 256, 16, 8, 16, 16>>,
    };
    for (const maker make : makers)
        if (auto kernel = make(rows, cols))
            return kernel;
    return nullptr;
}

} // namespace cuda
} // namespace sar
} // namespace gr
