// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_flow.h"
#include "frame_tag.h"
#include <algorithm>
#include <gnuradio/logger.h>
#include <gnuradio/sar/kernel/core/cf32.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/range_doppler.h>

namespace gr {
namespace sar {

/*!
 * \brief Which rows of a frame's image go out, and the tag that says where they lie.
 *
 * All of them; the valid ones, of which the whole aperture lies in the frame; or, where
 * frames follow each other every hop lines, hop valid rows. These begin at the same line
 * of each frame, so that the rows of a strip join: in the middle of what is valid, since
 * a Doppler centroid other than the acquisition's moves the valid rows.
 */
class slant_image
{
public:
    //! Rows, counted from the image's first; outside 0 .. rows - 1 they wrap around.
    struct part {
        int first = 0;
        int count = 0;
        bool valid = true; //!< all rows have their whole aperture in the frame
    };

    //! \throws std::invalid_argument when there are no valid rows, or fewer than hop
    slant_image(const range_doppler_plan& plan,
                const doppler_band& band,
                bool valid_only,
                int hop)
        : d_band(band), d_valid_only(valid_only), d_hop(hop)
    {
        if (!valid_only)
            return;
        int first = 0;
        const int valid = plan.valid_rows(band, first);
        const std::string lines = sentence("; a frame has ",
                                           plan.frame().lines,
                                           " lines and a point is in the Doppler band "
                                           "for up to ",
                                           plan.aperture_lines(band));
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
        d_line = plan.frame().first_row + first + (valid - hop) / 2;
    }

    //! Of a frame with the plan's Doppler centroid.
    part part_of(const range_doppler_plan& plan) const
    {
        part p;
        p.count = plan.frame().rows;
        if (!d_valid_only)
            return p;
        part valid;
        valid.count = plan.valid_rows(d_band, valid.first);
        if (d_hop == 0)
            return valid;
        p.first = d_line - plan.frame().first_row;
        p.count = d_hop;
        p.valid =
            p.first >= valid.first && p.first + p.count <= valid.first + valid.count;
        return p;
    }

    //! part_of() for image \p number, which goes out now. \throws std::runtime_error when
    //! there is nothing to give; warns of rows without their whole aperture
    part next_part(const range_doppler_plan& plan,
                   std::uint64_t number,
                   gr::logger_ptr log) const
    {
        const part p = part_of(plan);
        if (p.count == 0)
            throw std::runtime_error(sentence("with a Doppler centroid of ",
                                              plan.frame().centroid_hz,
                                              " Hz no row has its whole aperture in a "
                                              "frame; give more lines, a smaller "
                                              "bandwidth_hz or output all"));
        if (!p.valid)
            log->warn(
                "image {:d}: the Doppler centroid of {:.1f} Hz moves the rows with a "
                "whole aperture away from the strip; points are weaker there",
                number,
                plan.frame().centroid_hz);
        return p;
    }

    //! Kernel::give(values, first output row, rows) for \p count output rows from \p
    //! first on of a part, which may wrap around.
    template <typename Kernel>
    void give(Kernel& kernel, const part& p, cf32* out, int first, int count) const
    {
        const range_doppler_frame& f = kernel.plan().frame();
        const int all = f.rows * d_band.looks;
        const int begin = p.first * d_band.looks + first;
        for (int done = 0; done < count;) {
            const int row = ((begin + done) % all + all) % all;
            const int n = std::min(count - done, all - row);
            kernel.give(out, row, n);
            out += static_cast<std::size_t>(n) * f.cols;
            done += n;
        }
    }

    //! \p number counts images.
    frame_tag tag(const range_doppler_plan& plan,
                  const collected_frame& frame,
                  const part& p,
                  std::uint64_t number) const
    {
        const range_doppler_frame& f = plan.frame();
        const frame_tag& in = frame.tag;
        const auto vector = [](double x, double y, double z) {
            return pmt::init_f64vector(3, { x, y, z });
        };
        const double step = f.velocity_m_s / f.prf_hz;
        const double first_line = in.number(
            "first_line", (d_hop ? d_hop : f.lines) * static_cast<double>(frame.number));
        frame_tag t;
        t.put("image", number)
            .put("rows", p.count * d_band.looks)
            .put("cols", f.cols)
            .put("origin_m",
                 vector(step * (first_line + f.first_row + p.first), f.out_first_m, 0))
            .put("row_axis", vector(1, 0, 0))
            .put("col_axis", vector(0, 1, 0))
            .put("row_spacing_m", step)
            .put("col_spacing_m", f.spacing_m)
            .put("pulses", static_cast<std::uint64_t>(in.number("lines_used", f.lines)))
            .put("first_pulse", static_cast<std::uint64_t>(first_line))
            .put("complete", frame.complete && !pmt::eqv(in.get("complete"), pmt::PMT_F))
            .put("value", "complex")
            .put("plane", "slant")
            .put("geometry", to_string(f.geometry))
            .put("doppler_centroid_hz", plan.centroid())
            .put("looks", d_band.looks);
        for (const char* key : { "time_s", "last_pulse_host_s", "centroid_from" })
            if (in.has(key))
                t.put(key, in.get(key));
        return t;
    }

private:
    const doppler_band d_band;
    const bool d_valid_only;
    const int d_hop;
    int d_line = 0; // of the frame, at which the rows of a strip begin
};

} // namespace sar
} // namespace gr
