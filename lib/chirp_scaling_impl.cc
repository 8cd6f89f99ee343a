// SPDX-License-Identifier: GPL-3.0-or-later
#include "chirp_scaling_impl.h"

namespace gr {
namespace sar {

chirp_scaling::sptr chirp_scaling::make(const acquisition& acq,
                                        int lines,
                                        int fft_length,
                                        int oversampling,
                                        const std::string& range_window,
                                        const std::string& geometry,
                                        const std::string& storage,
                                        const std::string& backend,
                                        int device)
{
    kernel::chirp_scaling_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) },
        window(range_window)
    };
    p.input = p.output = line_storage_from_name(storage);
    return gnuradio::make_block_sptr<chirp_scaling_impl>(
        p, choose_target(backend_from_name(backend), device));
}

chirp_scaling_impl::chirp_scaling_impl(const kernel::chirp_scaling_params& params,
                                       const compute_target& target)
    : gr::sync_block("chirp_scaling",
                     migration_port(params, 1, target),
                     migration_port(params, params.geometry.oversampling, target))
{
    begin_migration(kernel::chirp_scaling::make(params, target), target);
    d_logger->info(
        "{:d} rows of {:d} samples to {:d} cells, transforms of {:d}, phase error "
        "at the ends of the swath {:.3g} rad, shift of the band {:.3g} Hz, "
        "geometry {:s}, on {:s}",
        rows(),
        d_kernel->samples(),
        d_kernel->cols(),
        d_kernel->fft_length(),
        phase_error_rad(),
        band_shift_hz(),
        to_string(params.geometry.geometry),
        target.description);
    warn_of_chirp_scaling(d_logger, d_kernel->plan());
}

double chirp_scaling_impl::phase_error_rad() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->bounds().phase_error_rad;
}

double chirp_scaling_impl::band_shift_hz() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->bounds().band_shift_hz;
}

} // namespace sar
} // namespace gr
