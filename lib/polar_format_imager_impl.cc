// SPDX-License-Identifier: GPL-3.0-or-later
#include "polar_format_imager_impl.h"
#include "frame_check.h"
#include <cmath>

namespace gr {
namespace sar {

polar_format_imager::sptr
polar_format_imager::make(const acquisition& acq,
                          const image_grid& grid,
                          int pulses_per_image,
                          int hop,
                          const std::string& range_window,
                          const std::string& azimuth_window,
                          const std::string& curvature,
                          const std::vector<gr_complex>& replica,
                          bool bistatic,
                          const std::string& backend,
                          int device)
{
    line_item(acq, 1); // before anything is computed with it
    hop = checked_hop(pulses_per_image, hop, 1);
    kernel::polar_format_imager_params p{ acq, grid, pulses_per_image };
    p.slots = pulses_per_image / hop;
    p.range_window = window(range_window);
    p.azimuth_window = window(azimuth_window);
    p.curvature = kernel::curvature_mode_from_name(curvature);
    for (const gr_complex& v : replica)
        p.replica.push_back({ v.real(), v.imag() });
    p.bistatic = bistatic;
    return gnuradio::make_block_sptr<polar_format_imager_impl>(
        p, hop, choose_target(backend_from_name(backend), device));
}

polar_format_imager_impl::polar_format_imager_impl(
    const kernel::polar_format_imager_params& p,
    int hop,
    const compute_target& target)
    : gr::block("polar_format_imager",
                inputs_of("acq.samples", p.acq->samples, p.bistatic, target),
                outputs_of(p.grid, target)),
      aperture_imager_impl("raw lines",
                           p.pulses,
                           hop,
                           kernel::polar_format_imager::make(p, target),
                           target)
{
    d_logger->info("{:d} pulses of {:d} samples, {:d} from one image to the next, to "
                   "{:d} x {:d} pixels, curvature: {:s}, range bias {:g} m, on {:s}",
                   p.pulses,
                   p.acq->samples,
                   hop,
                   p.grid->rows,
                   p.grid->cols,
                   kernel::to_string(p.curvature),
                   p.acq->range_bias_m,
                   target.description);
}

bool polar_format_imager_impl::stop()
{
    say_at_end(d_logger, [&] {
        const kernel::polar_format_report r = report();
        d_logger->info("{:d} images of {:d} pulses", images(), r.pulses);
        if (r.skipped_pulses)
            d_logger->warn("{:d} pulses were skipped: their positions are not finite",
                           r.skipped_pulses);
        warn_of_zeroed(d_logger, r.bad_lines, "lines");
    });
    return block::stop();
}

kernel::polar_format_report polar_format_imager_impl::report() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->report();
}

std::uint64_t polar_format_imager_impl::memory_bytes() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->bytes();
}

void polar_format_imager_impl::check_frame(const frame_tag& lines)
{
    const acquisition& acq = params().acq;
    frame_check(lines, name())
        .domain({ "raw" }, "it takes raw lines: pulse_compression is part of it")
        .same("samples", acq->samples, 0, "acq.samples")
        .same("slant_range_first_m",
              acq->slant_range_first_m,
              1e-3 * acq.compressed_axis(1).spacing_m,
              "acq.slant_range_first_m");
}

void polar_format_imager_impl::image_formed()
{
    using kernel::curvature_mode;
    if (d_kernel->pulses_in_image() == 0)
        return;
    const kernel::polar_format_report& r = d_kernel->host_report();
    const kernel::polar_format_figures& f = r.figures;
    const bool displaced = params().curvature == curvature_mode::warn;
    const bool defocused = f.phase_error_rad > kernel::polar_format_phase_limit_rad;
    d_logger->info(
        "image {:d}: lattice of {:d} x {:d}, aperture {:.3g} degrees from {:.5g} "
        "m; curvature of the wavefronts {:s} up to {:.3g} m and leaves a phase "
        "error of {:.3g} rad",
        images(),
        r.lattice_rows,
        r.lattice_cols,
        f.aperture_rad * 180 / pi,
        f.range_m,
        displaced ? "displaces points by" : "displaced points, now put back, by",
        f.displacement_m,
        f.phase_error_rad);
    if (displaced)
        d_logger->warn("curvature is 'warn': points of image {:d} appear up to {:.3g} m "
                       "from where they are; 'correct' puts them back",
                       images(),
                       f.displacement_m);
    if (defocused)
        d_logger->warn(
            "at the rim of image {:d} the curvature of the wavefronts leaves a "
            "phase error of {:.3g} rad, more than {:.3g}: points farther than "
            "some {:.4g} m from its middle are defocused; use a smaller grid, "
            "fewer pulses, or back-projection",
            images(),
            f.phase_error_rad,
            kernel::polar_format_phase_limit_rad,
            f.radius_m);
}

} // namespace sar
} // namespace gr
