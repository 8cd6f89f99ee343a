// SPDX-License-Identifier: GPL-3.0-or-later
#include "omega_k_imager_impl.h"
#include "stolt_impl.h"

namespace gr {
namespace sar {

omega_k_imager::sptr omega_k_imager::make(const acquisition& acq,
                                          int lines,
                                          int fft_length,
                                          int hop,
                                          int oversampling,
                                          const std::string& range_window,
                                          const std::vector<gr_complex>& replica,
                                          const std::string& interpolation,
                                          const std::string& azimuth_window,
                                          double bandwidth_hz,
                                          int looks,
                                          const std::string& geometry,
                                          const std::string& output,
                                          const std::string& backend,
                                          int device)
{
    kernel::omega_k_imager_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) },
        window(range_window),
        {},
        kernel::migration_interpolation_from_name(interpolation),
        { window(azimuth_window), bandwidth_hz, looks },
        false
    };
    for (const gr_complex& v : replica)
        p.replica.push_back({ v.real(), v.imag() });
    const frame_imager_options options(hop, lines, output);
    p.overlap = options.hop < lines;
    return gnuradio::make_block_sptr<omega_k_imager_impl>(
        p, options, choose_target(backend_from_name(backend), device));
}

omega_k_imager_impl::omega_k_imager_impl(const kernel::omega_k_imager_params& params,
                                         const frame_imager_options& options,
                                         const compute_target& target)
    : gr::block("omega_k_imager",
                lines_of(params.geometry.acq, target),
                gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      frame_imager_impl(params.geometry.acq,
                        params.band,
                        options,
                        kernel::omega_k_imager::make(params, target),
                        kernel::to_string(params.interpolator) + " Stolt mapping",
                        target)
{
    warn_of_residual_migration(d_logger,
                               kernel::residual_migration_cells(d_kernel->plan()));
}

} // namespace sar
} // namespace gr
