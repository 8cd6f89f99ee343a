// SPDX-License-Identifier: GPL-3.0-or-later
#include "range_doppler_imager_impl.h"

namespace gr {
namespace sar {

range_doppler_imager::sptr
range_doppler_imager::make(const acquisition& acq,
                           int lines,
                           int fft_length,
                           int hop,
                           int oversampling,
                           const std::string& range_window,
                           const std::vector<gr_complex>& replica,
                           const std::string& interpolation,
                           bool src,
                           const std::string& azimuth_window,
                           double bandwidth_hz,
                           int looks,
                           const std::string& geometry,
                           const std::string& output,
                           const std::string& backend,
                           int device)
{
    kernel::range_doppler_imager_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) },
        window(range_window),
        {},
        kernel::migration_interpolation_from_name(interpolation),
        src,
        { window(azimuth_window), bandwidth_hz, looks },
        false
    };
    for (const gr_complex& v : replica)
        p.replica.push_back({ v.real(), v.imag() });
    const frame_imager_options options(hop, lines, output);
    p.overlap = options.hop < lines;
    return gnuradio::make_block_sptr<range_doppler_imager_impl>(
        p, options, choose_target(backend_from_name(backend), device));
}

range_doppler_imager_impl::range_doppler_imager_impl(
    const kernel::range_doppler_imager_params& params,
    const frame_imager_options& options,
    const compute_target& target)
    : gr::block("range_doppler_imager",
                lines_of(params.geometry.acq, target),
                gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      frame_imager_impl(params.geometry.acq,
                        params.band,
                        options,
                        kernel::range_doppler_imager::make(params, target),
                        kernel::to_string(params.interpolator) + " migration",
                        target)
{
}

} // namespace sar
} // namespace gr
