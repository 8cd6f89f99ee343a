// SPDX-License-Identifier: GPL-3.0-or-later
#include "bp_accumulator_impl.h"
#include "frame_check.h"

namespace gr {
namespace sar {

bp_accumulator::sptr bp_accumulator::make(const acquisition& acq,
                                          const image_grid& grid,
                                          int oversampling,
                                          const std::string& interpolation,
                                          const std::string& accuracy,
                                          int pulses_per_image,
                                          int hop,
                                          bool bistatic,
                                          const std::string& backend,
                                          int device)
{
    line_item(acq, oversampling); // before anything is computed with it
    hop = checked_hop(pulses_per_image, hop, 0);
    kernel::bp_accumulator_params p{ acq.compressed_axis(oversampling), grid };
    p.interpolator = interpolation_from_name(interpolation);
    p.accuracy = kernel::accuracy_mode_from_name(accuracy);
    p.bistatic = bistatic;
    p.slots = pulses_per_image ? pulses_per_image / hop : 1;
    return gnuradio::make_block_sptr<bp_accumulator_impl>(
        p, pulses_per_image, hop, choose_target(backend_from_name(backend), device));
}

bp_accumulator_impl::bp_accumulator_impl(const kernel::bp_accumulator_params& p,
                                         int pulses_per_image,
                                         int hop,
                                         const compute_target& target)
    : gr::block(
          "bp_accumulator",
          inputs_of("acq.samples * oversampling", p.axis.samples, p.bistatic, target),
          outputs_of(p.grid, target)),
      aperture_imager_impl("compressed lines",
                           pulses_per_image,
                           hop,
                           kernel::bp_accumulator::make(p, target),
                           target)
{
    d_logger->info(
        "{:d} x {:d} pixels, {:s} interpolation, {:s} accuracy, range bias {:g} m, "
        "on {:s}",
        p.grid->rows,
        p.grid->cols,
        to_string(p.interpolator),
        kernel::to_string(p.accuracy),
        p.axis.range_bias_m,
        target.description);
}

bool bp_accumulator_impl::stop()
{
    say_at_end(d_logger, [&] {
        const kernel::bp_report r = report();
        d_logger->info("{:d} images; {:d} pulses, {:d} of them in fast mode; phase error "
                       "below {:.2g} rad",
                       images(),
                       r.pulses,
                       r.fast_pulses,
                       r.phase_bound_rad);
        if (r.skipped_pulses)
            d_logger->warn("{:d} pulses were skipped: their positions are not finite",
                           r.skipped_pulses);
        if (r.outside)
            d_logger->info("{:d} pixel-pulses lay outside the swath", r.outside);
        if (r.non_finite)
            d_logger->warn(
                "samples that are not finite: {:d} sums over up to {:d} pulses "
                "for a pixel were left out",
                r.non_finite,
                kernel::bp::chunk_pulses);
    });
    return block::stop();
}

kernel::bp_report bp_accumulator_impl::report() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->report();
}

// The lines say what they are: what contradicts the parameters would give a wrong image.
void bp_accumulator_impl::check_frame(const frame_tag& lines)
{
    const range_axis& axis = params().axis;
    const char* const parameters = "acq with oversampling";
    frame_check(lines, name())
        .domain({ "compressed" }, "connect pulse_compression before this block")
        .same("samples", axis.samples, 0, parameters)
        .same("spacing_m", axis.spacing_m, 1e-6 * axis.spacing_m, parameters)
        .same("slant_range_first_m", axis.first_m, 1e-3 * axis.spacing_m, parameters);
}

} // namespace sar
} // namespace gr
