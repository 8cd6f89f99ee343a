// SPDX-License-Identifier: GPL-3.0-or-later
#include "slant_image.h"
#include <algorithm>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/names.h>

namespace gr {
namespace sar {

namespace {

const name_table<bool, 2> outputs = { "output",
                                      { { { false, "all" }, { true, "valid" } } } };

} // namespace

slant_image::slant_image(const range_doppler_plan& plan,
                         const doppler_band& band,
                         const std::string& output,
                         int hop)
    : d_band(band),
      d_valid_only(outputs.from_name(output)),
      d_hop(hop),
      d_aperture_lines(plan.aperture_lines(band))
{
    require(hop >= 0 && (hop == 0 || d_valid_only),
            "hop is ",
            hop,
            " with output ",
            output,
            "; expected 0, or with output valid the lines from one frame to the next");
    if (!d_valid_only)
        return;
    int first = 0;
    const int valid = plan.valid_rows(band, first);
    const std::string lines = sentence("; a frame has ",
                                       plan.frame().lines,
                                       " lines and a point is in the Doppler band for up "
                                       "to ",
                                       d_aperture_lines);
    require(valid > 0,
            "output is valid, but no row has its whole aperture in a frame",
            lines,
            ": expected more lines, a smaller bandwidth_hz or output all");
    require(hop <= valid,
            "hop is ",
            hop,
            ", but ",
            valid,
            " rows have their whole aperture in a frame",
            lines,
            ": expected more lines, a smaller hop or bandwidth_hz");
    d_join = plan.frame().first_row + first;
}

slant_image::part slant_image::rows(const range_doppler_plan& plan) const
{
    if (!d_valid_only)
        return { 0, plan.frame().rows };
    // At the same line of each frame, or frames would not join. A centroid other than the
    // acquisition's moves the valid rows.
    if (d_hop)
        return { std::clamp(
                     d_join - plan.frame().first_row, 0, plan.frame().rows - d_hop),
                 d_hop };
    part valid;
    valid.count = plan.valid_rows(d_band, valid.first);
    if (valid.count == 0)
        throw std::runtime_error(
            "with this Doppler centroid no row has its whole aperture in a frame; give "
            "more lines, a smaller bandwidth_hz or output all");
    return valid;
}

std::string slant_image::incomplete_rows(const range_doppler_plan& plan,
                                         const part& p) const
{
    if (!d_hop)
        return "";
    int first = 0;
    const int valid = plan.valid_rows(d_band, first);
    if (p.first >= first && p.first + p.count <= first + valid)
        return "";
    return sentence("with its Doppler centroid rows ",
                    first,
                    " to ",
                    first + valid,
                    " have their whole aperture in the frame, and ",
                    p.first,
                    " to ",
                    p.first + p.count,
                    " go out");
}

frame_tag slant_image::tag(const range_doppler_plan& plan,
                           const part& p,
                           std::uint64_t number,
                           double first_line,
                           int lines_used,
                           bool complete,
                           const frame_tag& frame) const
{
    const range_doppler_frame& f = plan.frame();
    const auto vector = [](double x, double y, double z) {
        return pmt::init_f64vector(3, { x, y, z });
    };
    frame_tag t;
    t.put("image", number)
        .put("rows", p.count * looks())
        .put("cols", f.cols)
        .put("origin_m",
             vector(f.velocity_m_s / f.prf_hz * (first_line + f.first_row + p.first),
                    f.out_first_m,
                    0))
        .put("row_axis", vector(1, 0, 0))
        .put("col_axis", vector(0, 1, 0))
        .put("row_spacing_m", f.velocity_m_s / f.prf_hz)
        .put("col_spacing_m", f.spacing_m)
        .put("pulses", static_cast<std::uint64_t>(lines_used))
        .put("first_pulse", static_cast<std::uint64_t>(first_line))
        .put("complete", complete)
        .put("value", "complex")
        .put("plane", "slant")
        .put("geometry", to_string(f.geometry))
        .put("doppler_centroid_hz", plan.centroid())
        .put("looks", looks());
    for (const char* key : { "time_s", "centroid_from" })
        if (frame.has(key))
            t.put(key, frame.get(key));
    return t;
}

} // namespace sar
} // namespace gr
