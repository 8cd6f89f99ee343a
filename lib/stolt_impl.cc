// SPDX-License-Identifier: GPL-3.0-or-later
#include "stolt_impl.h"

namespace gr {
namespace sar {

stolt::sptr stolt::make(const acquisition& acq,
                        int lines,
                        int fft_length,
                        int oversampling,
                        const std::string& interpolation,
                        const std::string& geometry,
                        const std::string& storage,
                        const std::string& backend,
                        int device)
{
    kernel::stolt_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) }
    };
    p.interpolator = kernel::migration_interpolation_from_name(interpolation);
    p.input = p.output = line_storage_from_name(storage);
    return gnuradio::make_block_sptr<stolt_impl>(
        p, choose_target(backend_from_name(backend), device));
}

stolt_impl::stolt_impl(const kernel::stolt_params& params, const compute_target& target)
    : gr::sync_block("stolt",
                     migration_port(params, params.geometry.oversampling, target),
                     migration_port(params, params.geometry.oversampling, target))
{
    begin_migration(kernel::stolt::make(params, target), target);
    d_logger->info("{:d} rows of {:d} cells, {:s} interpolation, transforms of {:d}, "
                   "geometry {:s}, on {:s}",
                   rows(),
                   d_kernel->cols(),
                   kernel::to_string(params.interpolator),
                   d_kernel->fft_length(),
                   to_string(params.geometry.geometry),
                   target.description);
    warn_of_residual_migration(d_logger, residual_migration_cells());
}

double stolt_impl::residual_migration_cells() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return kernel::residual_migration_cells(d_kernel->plan());
}

} // namespace sar
} // namespace gr
