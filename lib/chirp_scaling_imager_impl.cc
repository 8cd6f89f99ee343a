// SPDX-License-Identifier: GPL-3.0-or-later
#include "chirp_scaling_imager_impl.h"
#include "chirp_scaling_impl.h"

namespace gr {
namespace sar {

chirp_scaling_imager::sptr chirp_scaling_imager::make(const acquisition& acq,
                                                      int lines,
                                                      int fft_length,
                                                      int hop,
                                                      int oversampling,
                                                      const std::string& range_window,
                                                      const std::string& azimuth_window,
                                                      double bandwidth_hz,
                                                      int looks,
                                                      const std::string& geometry,
                                                      const std::string& output,
                                                      const std::string& backend,
                                                      int device)
{
    kernel::chirp_scaling_imager_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) },
        window(range_window),
        { window(azimuth_window), bandwidth_hz, looks },
        false
    };
    const frame_imager_options options(hop, lines, output);
    p.overlap = options.hop < lines;
    return gnuradio::make_block_sptr<chirp_scaling_imager_impl>(
        p, options, choose_target(backend_from_name(backend), device));
}

chirp_scaling_imager_impl::chirp_scaling_imager_impl(
    const kernel::chirp_scaling_imager_params& params,
    const frame_imager_options& options,
    const compute_target& target)
    : gr::block("chirp_scaling_imager",
                lines_of(params.geometry.acq, target),
                gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      frame_imager_impl(params.geometry.acq,
                        params.band,
                        options,
                        kernel::chirp_scaling_imager::make(params, target),
                        "chirp scaling",
                        target)
{
    warn_of_chirp_scaling(d_logger, d_kernel->plan());
}

} // namespace sar
} // namespace gr
