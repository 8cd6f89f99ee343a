// SPDX-License-Identifier: GPL-3.0-or-later
#include "rcmc_impl.h"

namespace gr {
namespace sar {

rcmc::sptr rcmc::make(const acquisition& acq,
                      int lines,
                      int fft_length,
                      int oversampling,
                      const std::string& interpolation,
                      bool src,
                      const std::string& geometry,
                      const std::string& storage,
                      const std::string& backend,
                      int device)
{
    kernel::rcmc_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) }
    };
    p.interpolator = kernel::migration_interpolation_from_name(interpolation);
    p.src = src;
    p.input = p.output = line_storage_from_name(storage);
    return gnuradio::make_block_sptr<rcmc_impl>(
        p, choose_target(backend_from_name(backend), device));
}

rcmc_impl::rcmc_impl(const kernel::rcmc_params& params, const compute_target& target)
    : gr::sync_block("rcmc",
                     migration_port(params, params.geometry.oversampling, target),
                     migration_port(params, params.geometry.oversampling, target))
{
    begin_migration(kernel::rcmc::make(params, target), target);
    d_logger->info("{:d} rows of {:d} cells, {:s} interpolation, SRC {:s}, geometry "
                   "{:s}, on {:s}",
                   rows(),
                   d_kernel->cols(),
                   kernel::to_string(params.interpolator),
                   d_kernel->uses_src() ? "on"
                   : params.src         ? "negligible"
                                        : "off",
                   to_string(params.geometry.geometry),
                   target.description);
}

bool rcmc_impl::uses_src() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->uses_src();
}

} // namespace sar
} // namespace gr
