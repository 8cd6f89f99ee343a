// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "stolt_rows.cuh"
#include "stolt_rows.h"

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int block_threads = 128;

//! Difference from the table of taps up to which polynomials stand for it: -105 dB.
constexpr double largest_tap_error = 5e-6;

__global__ void __launch_bounds__(block_threads)
    tabulate_polynomials(const __grid_constant__ range_doppler_frame frame,
                         const __grid_constant__ stolt_map::shape shape,
                         stolt_map::row_polynomials* rows)
{
    const int k = blockIdx.x * block_threads + threadIdx.x;
    if (k >= frame.rows)
        return;
    stolt_map::row_polynomials p =
        stolt_map::polynomials_of(shape, stolt_map::row_of(frame, k));
    p.reference[0] += cuda::fraction_of_cycles;
    p.position[0] += cuda::fraction_of_cycles;
    rows[k] = p;
}

//! A kernel for one length, with its table.
class row_kernel
{
public:
    virtual ~row_kernel() = default;
    //! Completes the arguments.
    virtual void run(stolt_rows_arguments a, int rows, cudaStream_t stream) const = 0;
};

template <typename Shape, int MinBlocks>
class row_kernel_of final : public row_kernel
{
public:
    static constexpr auto kernel = stolt_rows_kernel<Shape, MinBlocks>;
    static constexpr int shared_bytes =
        stolt_row_values<Shape>() * static_cast<int>(sizeof(cf32));

    static std::unique_ptr<row_kernel> make(int length)
    {
        if (length != Shape::size ||
            !cuda::block_fits(kernel, Shape::threads, shared_bytes))
            return nullptr;
        return std::make_unique<row_kernel_of>();
    }

    row_kernel_of() : d_table(cuda::upload(cuda::make_power_table<Shape>()))
    {
        cuda::blocks_at_a_time(kernel, Shape::threads, shared_bytes);
    }

    void run(stolt_rows_arguments a, int rows, cudaStream_t stream) const override
    {
        a.table = d_table.data();
        kernel<<<rows, Shape::threads, shared_bytes, stream>>>(a);
        SAR_CUDA_LAUNCH("stolt_rows_kernel");
    }

private:
    const cuda::device_buffer<cuda::cf32_pair> d_table;
};

//! For the current device; null where there is none.
std::unique_ptr<row_kernel> kernel_for(int length)
{
    using cuda::block_shape;
    using maker = std::unique_ptr<row_kernel> (*)(int);
    static constexpr maker makers[] = {
        row_kernel_of<block_shape<64, 8, 8, 8>, 8>::make,
        row_kernel_of<block_shape<64, 9, 8, 8>, 8>::make,
        row_kernel_of<block_shape<64, 10, 8, 8>, 8>::make,
        row_kernel_of<block_shape<96, 12, 8, 8>, 6>::make,
        row_kernel_of<block_shape<64, 16, 8, 8>, 8>::make,
        row_kernel_of<block_shape<96, 12, 12, 8>, 5>::make,
        row_kernel_of<block_shape<64, 20, 8, 8>, 6>::make,
        row_kernel_of<block_shape<64, 24, 8, 8>, 6>::make,
        row_kernel_of<block_shape<128, 8, 16, 16>, 5>::make,
        row_kernel_of<block_shape<96, 24, 12, 8>, 4>::make,
        row_kernel_of<block_shape<160, 10, 16, 16>, 3>::make,
        row_kernel_of<block_shape<256, 12, 16, 16>, 2>::make,
        row_kernel_of<block_shape<256, 16, 16, 16>, 2>::make,
        row_kernel_of<block_shape<288, 18, 16, 16>, 2>::make,
        row_kernel_of<block_shape<320, 20, 16, 16>, 2>::make,
        row_kernel_of<block_shape<384, 24, 16, 16>, 2>::make,
        row_kernel_of<block_shape<256, 16, 16, 32>, 1>::make,
        row_kernel_of<block_shape<384, 24, 16, 24>, 1>::make,
    };
    for (const maker make : makers)
        if (auto k = make(length))
            return k;
    return nullptr;
}

class stolt_rows_cuda final : public row_pass
{
public:
    stolt_rows_cuda(const stolt& mapping,
                    azimuth_filter& filter,
                    const tap_polynomials& taps,
                    const compute_target& target)
        : d_mapping(mapping),
          d_filter(filter),
          d_taps(taps),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        const cuda::device_guard device(d_space.index());
        d_rows =
            cuda::device_buffer<stolt_map::row_polynomials>(mapping.plan().frame().rows);
        refresh();
    }

    void refresh() override
    {
        const stolt_map::shape& s = d_mapping.shape();
        const range_doppler_frame& f = d_mapping.plan().frame();
        d_serves = f.uniform && stolt_map::polynomials_serve(f, s);
        if (!d_serves)
            return;
        const cuda::device_guard device(d_space.index());
        if (s.length != d_made_for) {
            SAR_CUDA(cudaStreamSynchronize(d_stream)); // the table may be in use
            d_kernel.reset();
            d_made_for = s.length;
            d_kernel = kernel_for(s.length);
        }
        tabulate_polynomials<<<(f.rows + block_threads - 1) / block_threads,
                               block_threads,
                               0,
                               d_stream>>>(f, s, d_rows.data());
        SAR_CUDA_LAUNCH("tabulate_polynomials");
    }

    bool serves() const override { return d_serves && d_kernel; }
    bool compresses() const override { return false; }

    void run(const cf32* rows, int first_row, int count) override
    {
        if (count <= 0)
            return;
        const cuda::device_guard device(d_space.index());
        stolt_rows_arguments a = {};
        a.in = rows;
        a.cols = d_mapping.cols();
        a.first_row = first_row;
        a.rows = d_rows.data();
        a.taps = d_taps;
        a.azimuth = d_filter.tables();
        a.frames = d_filter.frames();
        d_kernel->run(a, count, d_stream);
    }

private:
    const stolt& d_mapping;
    azimuth_filter& d_filter;
    const tap_polynomials d_taps;
    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<stolt_map::row_polynomials> d_rows;
    bool d_serves = false;
    int d_made_for = -1; // length of the transforms
    std::unique_ptr<row_kernel> d_kernel;
};

} // namespace

std::unique_ptr<row_pass> make_stolt_rows_cuda(const stolt& mapping,
                                               azimuth_filter& filter,
                                               const compute_target& target)
{
    const migration_interpolation how = mapping.params().interpolator;
    if (how != migration_interpolation::exact)
        return nullptr;
    double worst = 0;
    const tap_polynomials taps = tap_polynomials::of(how, mapping.taps(), worst);
    if (!(worst <= largest_tap_error))
        return nullptr;
    return std::make_unique<stolt_rows_cuda>(mapping, filter, taps, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
