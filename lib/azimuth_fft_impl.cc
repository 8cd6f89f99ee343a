// SPDX-License-Identifier: GPL-3.0-or-later
#include "azimuth_fft_impl.h"
#include "frame_check.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/names.h>
#include <gnuradio/sar/kernel/core/range_doppler.h>

namespace gr {
namespace sar {

namespace {

const name_table<bool, 2> directions = { "direction",
                                         { { { false, "forward" },
                                             { true, "inverse" } } } };

} // namespace

azimuth_fft::sptr azimuth_fft::make(const acquisition& acq,
                                    int lines,
                                    int fft_length,
                                    int hop,
                                    int oversampling,
                                    const std::string& direction,
                                    const std::string& storage,
                                    const std::string& backend,
                                    int device)
{
    require(lines >= 1 && lines <= 1 << 20,
            "lines is ",
            lines,
            "; expected the number of lines in a frame, 1 to 2^20");
    require(fft_length == 0 || (fft_length >= lines && fft_length <= 1 << 21),
            "fft_length is ",
            fft_length,
            "; expected 0 (the smallest fast length) or at least lines, ",
            lines,
            ", and at most 2^21");
    require(hop >= 0 && hop <= lines,
            "hop is ",
            hop,
            "; expected 0 (as lines) or 1 to lines, ",
            lines,
            ": lines from one frame to the next");
    kernel::azimuth_fft_params p;
    p.lines = lines;
    p.rows = fft_length ? fft_length : fast_fft_length(lines);
    p.inverse = directions.from_name(direction);
    require(!p.inverse || hop == 0 || hop == lines,
            "hop is ",
            hop,
            " with direction inverse; expected 0: spectra of frames that overlap do not "
            "give one stream of lines");
    p.overlap = hop > 0 && hop < lines;
    (p.inverse ? p.input : p.output) = line_storage_from_name(storage);
    line_item(acq, oversampling);
    p.cols = acq->samples * oversampling;
    return gnuradio::make_block_sptr<azimuth_fft_impl>(
        acq,
        oversampling,
        p.inverse ? p.rows : (hop ? hop : lines),
        p,
        choose_target(backend_from_name(backend), device));
}

azimuth_fft_impl::azimuth_fft_impl(const acquisition& acq,
                                   int oversampling,
                                   int hop,
                                   const kernel::azimuth_fft_params& params,
                                   const compute_target& target)
    : gr::block("azimuth_fft",
                gr::io_signature::make(1,
                                       1,
                                       line_item(acq, oversampling, params.input),
                                       stream_type(target)),
                gr::io_signature::make(1,
                                       1,
                                       line_item(acq, oversampling, params.output),
                                       stream_type(target))),
      d_acq(acq),
      d_axis(acq.compressed_axis(oversampling)),
      d_hop(hop),
      d_centroid(acq.centroid_coefficients()),
      d_kernel(kernel::azimuth_fft::make(params, target))
{
    d_flow.set_frames(d_kernel->frame_in(), hop);
    set_target(target);
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(
        batch_buffer(output_signature()->sizeof_stream_item(0), this->target()));
    d_logger->info("{:s}: frames of {:d} lines and {:d} rows of {:d} samples, {:d} from "
                   "one to the next, {:d} bytes, on {:s}",
                   directions.to_name(params.inverse),
                   params.lines,
                   params.rows,
                   params.cols,
                   hop,
                   d_kernel->bytes(),
                   target.description);
}

int azimuth_fft_impl::row_bytes() const
{
    const kernel::azimuth_fft_params& p = d_kernel->params();
    return static_cast<int>(line_bytes(p.inverse ? p.input : p.output, p.cols));
}

void azimuth_fft_impl::begin(const frame_tag& tag)
{
    const kernel::azimuth_fft_params& p = d_kernel->params();
    const frame_check check(tag, "azimuth_fft");
    if (inverse())
        check
            .domain({ "range_doppler", "migrated", "raw_doppler" },
                    "with direction inverse it goes behind an azimuth_fft")
            .same("rows", p.rows, 0, "fft_length")
            .same("lines", p.lines, 0, "lines");
    else
        check.domain({ "raw", "compressed" },
                     "is it in the chain twice, or is direction inverse meant?");
    check.same("samples", p.cols, 0, "acq.samples * oversampling")
        .same("prf_hz", d_acq->prf_hz, 1e-9 * d_acq->prf_hz, "acq.prf_hz");
    if (!inverse() && tag.text("domain") == "compressed")
        check
            .same("spacing_m",
                  d_axis.spacing_m,
                  1e-6 * d_axis.spacing_m,
                  "acq and oversampling")
            .same("slant_range_first_m",
                  d_axis.first_m,
                  1e-3 * d_axis.spacing_m,
                  "acq.slant_range_first_m");
}

void azimuth_fft_impl::take(const void* items, int first, int count)
{
    d_kernel->take(items, first, count);
}

int azimuth_fft_impl::finish(const collected_frame& frame)
{
    d_kernel->transform(frame.lines);
    ++d_done;
    if (!inverse()) {
        d_tag = spectrum_tag(frame);
        return d_kernel->frame_out();
    }
    d_tag = lines_tag(frame);
    // lines that were zeros before the transform are left out
    const double used = frame.tag.number("lines_used", d_kernel->frame_out());
    return static_cast<int>(
        std::clamp(used, 0.0, static_cast<double>(d_kernel->frame_out())));
}

void azimuth_fft_impl::give(void* out, int first, int count)
{
    if (first == 0)
        add_item_tag(
            0, nitems_written(0), pmt::mp("sar_frame"), d_tag.dict(), alias_pmt());
    d_kernel->give(out, first, count);
}

void azimuth_fft_impl::next(int kept) { d_kernel->next(kept); }

frame_tag azimuth_fft_impl::spectrum_tag(const collected_frame& frame) const
{
    const kernel::azimuth_fft_params& p = d_kernel->params();
    const frame_tag& in = frame.tag;
    frame_tag t;
    t.put("frame", frame.number)
        .put("lines", p.lines)
        .put("lines_used", frame.lines)
        .put("rows", p.rows)
        .put("samples", p.cols)
        .put("prf_hz", d_acq->prf_hz)
        .put("slant_range_first_m", in.number("slant_range_first_m", d_axis.first_m))
        .put("spacing_m", in.number("spacing_m", d_axis.spacing_m))
        .put("doppler_centroid_hz", centroid_of(in, d_centroid))
        .put("domain", in.text("domain") == "raw" ? "raw_doppler" : "range_doppler")
        .put("first_line",
             static_cast<std::uint64_t>(in.number("first_line", 0)) + frame.first_line)
        .put("complete", frame.complete);
    if (in.has("centroid_from"))
        t.put("centroid_from", in.get("centroid_from"));
    if (in.has("time_s"))
        t.put("time_s", in.number("time_s", 0) + frame.first_line / d_acq->prf_hz);
    return t;
}

frame_tag azimuth_fft_impl::lines_tag(const collected_frame& frame) const
{
    const kernel::azimuth_fft_params& p = d_kernel->params();
    const frame_tag& in = frame.tag;
    const std::string domain = in.text("domain");
    frame_tag t;
    t.put("frame", frame.number)
        .put("lines", p.lines)
        .put("lines_used", static_cast<int>(in.number("lines_used", p.lines)))
        .put("samples", p.cols)
        .put("prf_hz", d_acq->prf_hz)
        .put("slant_range_first_m", in.number("slant_range_first_m", d_axis.first_m))
        .put("spacing_m", in.number("spacing_m", d_axis.spacing_m))
        .put("doppler_centroid_hz", centroid_of(in, d_centroid))
        .put("domain",
             domain == "raw_doppler" ? "raw"
             : domain == "migrated"  ? "migrated_lines"
                                     : "compressed")
        .put("first_line",
             static_cast<std::uint64_t>(
                 in.number("first_line", static_cast<double>(frame.number) * p.lines)))
        .put("complete", frame.complete && !pmt::eqv(in.get("complete"), pmt::PMT_F));
    for (const char* key : { "centroid_from", "time_s", "geometry" })
        if (in.has(key))
            t.put(key, in.get(key));
    return t;
}

} // namespace sar
} // namespace gr
