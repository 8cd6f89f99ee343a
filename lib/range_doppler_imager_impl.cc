// SPDX-License-Identifier: GPL-3.0-or-later
#include "range_doppler_imager_impl.h"
#include "frame_check.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/names.h>

namespace gr {
namespace sar {

namespace {

const name_table<bool, 2> outputs = { "output",
                                      { { { false, "all" }, { true, "valid" } } } };

int checked_hop(int hop, int lines)
{
    require(hop >= 0 && hop <= lines,
            "hop is ",
            hop,
            "; expected 0 (as lines) or 1 to lines, ",
            lines,
            ": lines from one frame to the next");
    return hop ? hop : lines;
}

} // namespace

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
    const int step = checked_hop(hop, lines);
    p.overlap = step < lines;
    return gnuradio::make_block_sptr<range_doppler_imager_impl>(
        p,
        step,
        outputs.from_name(output),
        choose_target(backend_from_name(backend), device));
}

range_doppler_imager_impl::range_doppler_imager_impl(
    const kernel::range_doppler_imager_params& params,
    int hop,
    bool valid_only,
    const compute_target& target)
    : gr::block("range_doppler_imager",
                gr::io_signature::make(
                    1,
                    1,
                    item_bytes(params.geometry.acq->samples, sizeof(gr_complex)),
                    stream_type(target)),
                gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      d_acq(params.geometry.acq),
      d_kernel(kernel::range_doppler_imager::make(params, target)),
      d_centroid(d_kernel->plan().centroid()),
      d_band(params.band),
      d_image(d_kernel->plan(), params.band, valid_only, params.overlap ? hop : 0)
{
    d_flow.set_frames(params.geometry.lines, hop);
    set_target(target);
    const range_doppler_frame& f = d_kernel->plan().frame();
    set_output_signature(gr::io_signature::make(
        1, 1, item_bytes(f.cols, sizeof(gr_complex)), stream_type(target)));
    d_image_rows = d_image.part_of(d_kernel->plan()).count;
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(batch_buffer(output_signature()->sizeof_stream_item(0)));
    d_logger->info("frames of {:d} lines of {:d} samples, {:d} from one to the next, to "
                   "{:d} rows of {:d} cells, {:d} looks, geometry {:s}, {:s} migration, "
                   "aperture {:d} lines, {:d} bytes, on {:s}",
                   f.lines,
                   d_acq->samples,
                   hop,
                   d_image_rows,
                   f.cols,
                   params.band.looks,
                   to_string(f.geometry),
                   kernel::to_string(params.interpolator),
                   aperture_lines(),
                   d_kernel->bytes(),
                   target.description);
}

void range_doppler_imager_impl::begin(const frame_tag& tag)
{
    frame_check(tag, "range_doppler_imager")
        .domain({ "raw" }, "it takes raw lines: pulse_compression is part of it")
        .same("samples", d_acq->samples, 0, "acq.samples")
        .same("prf_hz", d_acq->prf_hz, 1e-9 * d_acq->prf_hz, "acq.prf_hz")
        .same("slant_range_first_m",
              d_acq->slant_range_first_m,
              1e-3 * d_kernel->plan().frame().spacing_m,
              "acq.slant_range_first_m");
    d_kernel->set_centroid(centroid_of(tag, d_centroid));
}

void range_doppler_imager_impl::take(const void* items, int first, int count)
{
    d_kernel->take(static_cast<const cf32*>(items), first, count);
}

int range_doppler_imager_impl::finish(const collected_frame& frame)
{
    d_kernel->form(frame.lines);
    const range_doppler_plan& plan = d_kernel->plan();
    d_part = d_image.next_part(plan, images(), d_logger);
    // what azimuth_fft would say of the frame
    collected_frame said = frame;
    said.tag
        .put("first_line",
             static_cast<std::uint64_t>(frame.tag.number("first_line", 0)) +
                 frame.first_line)
        .put("lines_used", frame.lines);
    if (frame.tag.has("time_s"))
        said.tag.put("time_s",
                     frame.tag.number("time_s", 0) + frame.first_line / d_acq->prf_hz);
    d_tag = d_image.tag(plan, said, d_part, images());
    ++d_done;
    return d_part.count * d_band.looks;
}

void range_doppler_imager_impl::give(void* out, int first, int count)
{
    if (first == 0)
        add_item_tag(
            0, nitems_written(0), pmt::mp("sar_image"), d_tag.dict(), alias_pmt());
    d_image.give(*d_kernel, d_part, static_cast<cf32*>(out), first, count);
}

void range_doppler_imager_impl::next(int kept) { d_kernel->next(kept); }

} // namespace sar
} // namespace gr
