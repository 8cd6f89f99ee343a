// SPDX-License-Identifier: GPL-3.0-or-later
#include "../cuda/cuda_space.h"
#include "fused_rows.cuh"
#include "fused_rows.h"
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {

namespace {

std::unique_ptr<row_kernel> kernel_for(int length, bool fine, const cf32* spectrum)
{
    return fine ? make_fine_row_kernel(length, spectrum)
                : make_sample_row_kernel(length, spectrum);
}

//! Difference from the table of taps up to which polynomials stand for it: -105 dB.
constexpr double largest_tap_error = 5e-6;

class fused_rows_cuda final : public row_pass
{
public:
    fused_rows_cuda(const rcmc& migration,
                    azimuth_filter& filter,
                    const pulse_compression* compression,
                    const tap_polynomials& taps,
                    const compute_target& target)
        : d_migration(migration),
          d_filter(filter),
          d_compression(compression && compression->fft_length() > 0 &&
                                compression->samples_out() == compression->samples_in()
                            ? compression
                            : nullptr),
          d_taps(taps),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
        refresh();
    }

    void refresh() override
    {
        const rcm::transform_shape& s = d_migration.shape();
        const range_doppler_frame& f = d_migration.plan().frame();
        d_serves = f.uniform && (!s.src || src_is_small(f, s));
        if (!d_serves || s.length == d_made_for)
            return;
        const cuda::device_guard device(d_space.index());
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // tables may be in use
        d_kernel.reset();
        d_made_for = s.length;
        const bool fine = rcm::grid_of(how()) == 2;
        if (d_compression && (!s.length || s.length == d_compression->fft_length()))
            d_kernel = kernel_for(
                d_compression->fft_length(), fine, d_compression->filter().data());
        d_compresses = d_kernel != nullptr;
        if (!d_kernel)
            d_kernel = kernel_for(
                s.length ? s.length : line_fft_length(s.samples), fine, nullptr);
    }

    bool serves() const override { return d_serves && d_kernel; }
    bool compresses() const override { return d_compresses; }

    void run(const cf32* rows, int first_row, int count) override
    {
        if (count <= 0)
            return;
        const cuda::device_guard device(d_space.index());
        fused_rows_arguments a = {};
        a.in = rows;
        a.shape = d_migration.shape();
        a.samples_in = d_compresses ? d_compression->samples_in() : a.shape.samples;
        a.first_row = first_row;
        a.migration = d_migration.plan().frame();
        a.pairs = rcm::taps_of(how()) / 2;
        a.taps = d_taps;
        a.azimuth = d_filter.tables();
        a.frames = d_filter.frames();
        d_kernel->run(a, count, d_stream);
    }

private:
    migration_interpolation how() const { return d_migration.params().interpolator; }

    //! Can the kernel count the cycles of SRC, in all bins?
    static bool src_is_small(const range_doppler_frame& f, const rcm::transform_shape& s)
    {
        const double edge = s.bin_step * s.length / 2;
        double most = 0;
        for (int k = 0; k < f.rows; ++k) {
            const src_phase p = rcm::row_of(f, k, 1).src;
            most = std::fmax(
                most,
                std::fmax(std::abs(src_cycles(p, edge)), std::abs(src_cycles(p, -edge))));
        }
        return most < 1 << 18;
    }

    const rcmc& d_migration;
    azimuth_filter& d_filter;
    const pulse_compression* const d_compression; // null: none, or not in a kernel
    const tap_polynomials d_taps;
    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    bool d_serves = false;
    bool d_compresses = false;
    int d_made_for = -1; // length of rcmc
    std::unique_ptr<row_kernel> d_kernel;
};

} // namespace

std::unique_ptr<row_pass> make_fused_rows_cuda(const rcmc& migration,
                                               azimuth_filter& filter,
                                               const pulse_compression* compression,
                                               const compute_target& target)
{
    const migration_interpolation how = migration.params().interpolator;
    if (!tap_polynomials::exists(how))
        return nullptr;
    double worst = 0;
    const tap_polynomials taps = tap_polynomials::of(how, migration.taps(), worst);
    if (!(worst <= largest_tap_error))
        return nullptr;
    return std::make_unique<fused_rows_cuda>(
        migration, filter, compression, taps, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
