// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "scaling_rows.cuh"
#include "scaling_rows.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 256;

//! A row turns by less, so that a kernel can count it: cycles.
constexpr double most_cycles = 1 << 18;

__global__ void __launch_bounds__(block_threads)
    tabulate_phases(const __grid_constant__ range_doppler_frame frame,
                    const __grid_constant__ scaling::shape shape,
                    const azimuth_row* azimuth,
                    scaling::row_phases* rows)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k >= frame.rows)
        return;
    scaling::row_phases p = scaling::phases_of(shape, scaling::row_of(frame, shape, k));
    const int middle = shape.length / 2;
    p.residual[0] = scaling::without_whole_cycles(
        scaling::polynomial(p.residual, middle) +
        scaling::without_whole_cycles(azimuth[k].cycles + middle * azimuth[k].step));
    p.residual[1] = scaling::without_whole_cycles(
        p.residual[1] + 2 * middle * p.residual[2] + azimuth[k].step);
    p.scaling[0] += cuda::fraction_of_cycles;
    p.filter[0] += cuda::fraction_of_cycles;
    p.residual[0] += cuda::fraction_of_cycles;
    rows[k] = p;
}

//! A kernel for one length, with its tables.
class row_kernel
{
public:
    virtual ~row_kernel() = default;
    //! Completes the arguments.
    virtual void run(scaling_rows_arguments a, int rows, cudaStream_t stream) const = 0;
};

template <typename Shape, int MinBlocks>
class row_kernel_of final : public row_kernel
{
public:
    static constexpr auto kernel = scaling_rows_kernel<Shape, MinBlocks>;
    static constexpr int shared_bytes =
        Shape::shared_size * static_cast<int>(sizeof(cf32));

    //! \param spectrum  of the matched filter
    static std::unique_ptr<row_kernel> make(const std::vector<cf32>& spectrum)
    {
        if (spectrum.size() != Shape::size ||
            !cuda::block_fits(kernel, Shape::threads, shared_bytes))
            return nullptr;
        return std::make_unique<row_kernel_of>(spectrum);
    }

    explicit row_kernel_of(const std::vector<cf32>& spectrum)
        : d_table(cuda::upload(cuda::make_power_table<Shape>())),
          d_filter(cuda::upload(cuda::in_block_order<Shape>(spectrum.data()))),
          d_ahead(cuda::blocks_at_a_time(kernel, Shape::threads, shared_bytes))
    {
    }

    void run(scaling_rows_arguments a, int rows, cudaStream_t stream) const override
    {
        a.table = d_table.data();
        a.filter = d_filter.data();
        a.ahead = d_ahead;
        kernel<<<rows, Shape::threads, shared_bytes, stream>>>(a);
        SAR_CUDA_LAUNCH("scaling_rows_kernel");
    }

private:
    const cuda::device_buffer<cuda::cf32_pair> d_table;
    const cuda::device_buffer<cuda::cf32_pair> d_filter;
    const int d_ahead; // rows that the device works on at a time
};

//! For the current device; null where there is none.
std::unique_ptr<row_kernel> kernel_for(const std::vector<cf32>& spectrum)
{
    using cuda::block_shape;
    using maker = std::unique_ptr<row_kernel> (*)(const std::vector<cf32>&);
    static constexpr maker makers[] = {
        row_kernel_of<block_shape<64, 8, 8, 8>, 12>::make,
        row_kernel_of<block_shape<64, 9, 8, 8>, 8>::make,
        row_kernel_of<block_shape<64, 10, 8, 8>, 8>::make,
        row_kernel_of<block_shape<96, 12, 8, 8>, 8>::make,
        row_kernel_of<block_shape<64, 16, 8, 8>, 12>::make,
        row_kernel_of<block_shape<96, 12, 12, 8>, 8>::make,
        row_kernel_of<block_shape<64, 20, 8, 8>, 7>::make,
        row_kernel_of<block_shape<64, 24, 8, 8>, 6>::make,
        row_kernel_of<block_shape<128, 8, 16, 16>, 6>::make,
        row_kernel_of<block_shape<96, 24, 12, 8>, 5>::make,
        row_kernel_of<block_shape<160, 10, 16, 16>, 4>::make,
        row_kernel_of<block_shape<256, 12, 16, 16>, 3>::make,
        row_kernel_of<block_shape<256, 16, 16, 16>, 3>::make,
        row_kernel_of<block_shape<288, 18, 16, 16>, 2>::make,
        row_kernel_of<block_shape<320, 20, 16, 16>, 2>::make,
        row_kernel_of<block_shape<384, 16, 24, 16>, 2>::make,
        row_kernel_of<block_shape<256, 16, 32, 16>, 2>::make,
        row_kernel_of<block_shape<384, 24, 16, 24>, 1>::make,
        row_kernel_of<block_shape<320, 16, 20, 32>, 1>::make,
        row_kernel_of<block_shape<512, 24, 32, 16>, 1>::make,
        row_kernel_of<block_shape<512, 16, 8, 8, 16>, 1>::make,
    };
    for (const maker make : makers)
        if (auto k = make(spectrum))
            return k;
    return nullptr;
}

class scaling_rows_cuda final : public row_pass
{
public:
    scaling_rows_cuda(const chirp_scaling& scaling,
                      azimuth_filter& filter,
                      const compute_target& target)
        : d_scaling(scaling),
          d_filter(filter),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_rows = cuda::device_buffer<scaling::row_phases>(scaling.plan().frame().rows);
        refresh();
    }

    void refresh() override
    {
        const scaling::shape& s = d_scaling.shape();
        const range_doppler_frame& f = d_scaling.plan().frame();
        d_serves = f.uniform && s.padded == s.length && can_be_counted(f, s);
        if (!d_serves)
            return;
        const cuda::device_guard device(d_space.index());
        if (s.length != d_made_for) {
            SAR_CUDA(cudaStreamSynchronize(d_stream)); // tables may be in use
            d_kernel.reset();
            d_made_for = s.length;
            d_kernel = kernel_for(d_scaling.filter());
        }
        tabulate_phases<<<(f.rows + block_threads - 1) / block_threads,
                          block_threads,
                          0,
                          d_stream>>>(f, s, d_filter.tables().rows, d_rows.data());
        SAR_CUDA_LAUNCH("tabulate_phases");
    }

    bool serves() const override { return d_serves && d_kernel; }
    bool compresses() const override { return true; }

    void run(const cf32* rows, int first_row, int count) override
    {
        if (count <= 0)
            return;
        const cuda::device_guard device(d_space.index());
        scaling_rows_arguments a = {};
        a.in = rows;
        a.samples_in = d_scaling.samples();
        a.first_row = first_row;
        a.rows = d_rows.data();
        a.azimuth = d_filter.tables();
        a.frames = d_filter.frames();
        d_kernel->run(a, count, d_stream);
    }

private:
    static bool can_be_counted(const range_doppler_frame& f, const scaling::shape& s)
    {
        for (int k = 0; k < f.rows; ++k)
            if (!(scaling::largest_cycles(
                      s, scaling::phases_of(s, scaling::row_of(f, s, k))) < most_cycles))
                return false;
        return true;
    }

    const chirp_scaling& d_scaling;
    azimuth_filter& d_filter;
    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<scaling::row_phases> d_rows;
    bool d_serves = false;
    int d_made_for = -1; // length of the transforms
    std::unique_ptr<row_kernel> d_kernel;
};

} // namespace

std::unique_ptr<row_pass> make_scaling_rows_cuda(const chirp_scaling& scaling,
                                                 azimuth_filter& filter,
                                                 const compute_target& target)
{
    return std::make_unique<scaling_rows_cuda>(scaling, filter, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
