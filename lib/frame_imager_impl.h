// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_block.h"
#include "frame_check.h"
#include "item_bytes.h"
#include "slant_image.h"
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/names.h>
#include <gnuradio/sar/kernel/range_doppler_imager/frame_imager.h>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! What an imager is given beside the parameters of its migration.
struct frame_imager_options {
    int hop;         //!< lines from one frame to the next
    bool valid_only; //!< only rows whose whole aperture is in the frame

    //! \throws std::invalid_argument
    frame_imager_options(int wanted_hop, int lines, const std::string& output)
        : hop(wanted_hop ? wanted_hop : lines), valid_only(outputs().from_name(output))
    {
        require(wanted_hop >= 0 && wanted_hop <= lines,
                "hop is ",
                wanted_hop,
                "; expected 0 (as lines) or 1 to lines, ",
                lines,
                ": lines from one frame to the next");
    }

private:
    static name_table<bool, 2> outputs()
    {
        return { "output", { { { false, "all" }, { true, "valid" } } } };
    }
};

/*!
 * \brief Around kernel::frame_imager: what the imagers of the Doppler domain have in
 * common.
 *
 * \tparam Block the public class
 */
template <typename Block>
class frame_imager_impl : public frame_block<Block>
{
public:
    int image_rows() const override { return d_image_rows; }
    int aperture_lines() const override
    {
        return d_kernel->plan().aperture_lines(d_band);
    }
    std::uint64_t images() const override { return this->d_done; }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }
    std::uint64_t memory_bytes() const override { return d_kernel->bytes(); }

protected:
    //! \param migration what is logged of it
    frame_imager_impl(const acquisition& acq,
                      const doppler_band& band,
                      const frame_imager_options& options,
                      std::unique_ptr<kernel::frame_imager> kernel,
                      const std::string& migration,
                      const compute_target& target)
        : d_kernel(std::move(kernel)),
          d_acq(acq),
          d_centroid(d_kernel->plan().centroid()),
          d_band(band),
          d_image(d_kernel->plan(),
                  band,
                  options.valid_only,
                  options.hop < d_kernel->plan().frame().lines ? options.hop : 0)
    {
        const range_doppler_frame& f = d_kernel->plan().frame();
        this->d_flow.set_frames(f.lines, options.hop);
        this->set_target(target);
        this->set_output_signature(gr::io_signature::make(
            1, 1, item_bytes(f.cols, sizeof(gr_complex)), stream_type(target)));
        d_image_rows = d_image.part_of(d_kernel->plan()).count;
        this->set_tag_propagation_policy(gr::block::TPP_DONT);
        this->set_min_output_buffer(
            batch_buffer(this->output_signature()->sizeof_stream_item(0), target));
        this->d_logger->info(
            "frames of {:d} lines of {:d} samples, {:d} from one to the next, to {:d} "
            "rows "
            "of {:d} cells, {:d} looks, geometry {:s}, {:s}, aperture {:d} lines, {:d} "
            "bytes, on {:s}",
            f.lines,
            d_acq->samples,
            options.hop,
            d_image_rows,
            f.cols,
            d_band.looks,
            to_string(f.geometry),
            migration,
            aperture_lines(),
            d_kernel->bytes(),
            target.description);
    }

    static gr::io_signature::sptr lines_of(const acquisition& acq,
                                           const compute_target& target)
    {
        return gr::io_signature::make(
            1, 1, item_bytes(acq->samples, sizeof(gr_complex)), stream_type(target));
    }

    const std::unique_ptr<kernel::frame_imager> d_kernel;

private:
    const char* frames_are() const override { return "images"; }

    // frame_flow::client
    void begin(const frame_tag& tag) override
    {
        frame_check(tag, this->name())
            .domain({ "raw" }, "it takes raw lines: pulse_compression is part of it")
            .same("samples", d_acq->samples, 0, "acq.samples")
            .same("prf_hz", d_acq->prf_hz, 1e-9 * d_acq->prf_hz, "acq.prf_hz")
            .same("slant_range_first_m",
                  d_acq->slant_range_first_m,
                  1e-3 * d_kernel->plan().frame().spacing_m,
                  "acq.slant_range_first_m");
        d_kernel->set_centroid(centroid_of(tag, d_centroid));
    }

    void take(const void* items, int first, int count) override
    {
        d_kernel->take(static_cast<const cf32*>(items), first, count);
    }

    int finish(const collected_frame& frame) override
    {
        d_kernel->form(frame.lines);
        const range_doppler_plan& plan = d_kernel->plan();
        d_part = d_image.next_part(plan, images(), this->d_logger);
        // what azimuth_fft would say of the frame
        collected_frame said = frame;
        said.tag
            .put("first_line",
                 static_cast<std::uint64_t>(frame.tag.number("first_line", 0)) +
                     frame.first_line)
            .put("lines_used", frame.lines);
        if (frame.tag.has("time_s"))
            said.tag.put("time_s",
                         frame.tag.number("time_s", 0) +
                             frame.first_line / d_acq->prf_hz);
        if (frame.tag.has("host_s"))
            said.tag.put("last_pulse_host_s",
                         frame.tag.number("host_s", 0) +
                             (frame.first_line + frame.lines - 1) / d_acq->prf_hz);
        d_tag = d_image.tag(plan, said, d_part, images());
        ++this->d_done;
        return d_part.count * d_band.looks;
    }

    void give(void* out, int first, int count) override
    {
        if (first == 0)
            this->add_item_tag(0,
                               this->nitems_written(0),
                               pmt::mp("sar_image"),
                               d_tag.dict(),
                               this->alias_pmt());
        d_image.give(*d_kernel, d_part, static_cast<cf32*>(out), first, count);
    }

    void next(int kept) override { d_kernel->next(kept); }

    const acquisition d_acq;
    const std::vector<double> d_centroid; // of acq
    const doppler_band d_band;
    const slant_image d_image;
    int d_image_rows = 0;
    slant_image::part d_part;
    frame_tag d_tag; // of the image that goes out
};

} // namespace sar
} // namespace gr
