// SPDX-License-Identifier: GPL-3.0-or-later
#include "doppler_centroid_impl.h"
#include "frame_check.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t centroid_port = pmt::mp("centroid");
constexpr std::size_t kept_estimates = 1000;

pmt::pmt_t message_of(std::uint64_t frame, const kernel::centroid_estimate& e)
{
    return frame_tag()
        .put("frame", frame)
        .put("doppler_centroid_hz", e.coefficients_hz)
        .put("baseband_hz", e.baseband_hz)
        .put("ambiguity", e.ambiguity)
        .put("standard_error_hz", e.standard_error_hz)
        .put("ambiguity_confidence", e.ambiguity_confidence)
        .put("method", e.method)
        .put("coherence", e.coherence)
        .put("look_score", e.look_score)
        .put("look_next_score", e.look_next_score)
        .put("diversity_hz", e.diversity_hz)
        .put("diversity_error_hz", e.diversity_error_hz)
        .dict();
}

} // namespace

doppler_centroid::sptr doppler_centroid::make(const acquisition& acq,
                                              int lines,
                                              int oversampling,
                                              const std::vector<double>& given,
                                              int order,
                                              const std::string& backend,
                                              int device)
{
    const kernel::doppler_centroid_params p{ acq, lines, oversampling, given, order };
    line_item(acq, oversampling);
    return gnuradio::make_block_sptr<doppler_centroid_impl>(
        p, choose_target(backend_from_name(backend), device));
}

doppler_centroid_impl::doppler_centroid_impl(const kernel::doppler_centroid_params& p,
                                             const compute_target& target)
    : gr::block("doppler_centroid",
                gr::io_signature::make(1,
                                       1,
                                       line_item(p.acq, p.oversampling),
                                       stream_type(target)),
                gr::io_signature::make(1,
                                       1,
                                       line_item(p.acq, p.oversampling),
                                       stream_type(target))),
      d_axis(p.acq.compressed_axis(p.oversampling)),
      d_kernel(kernel::doppler_centroid::make(p, target))
{
    d_flow.set_frames(p.lines, p.lines);
    set_target(target);
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(centroid_port);
    set_min_output_buffer(
        batch_buffer(output_signature()->sizeof_stream_item(0), this->target()));
    d_logger->info("frames of {:d} lines of {:d} samples, centroid {:s}, on {:s}",
                   p.lines,
                   d_kernel->samples(),
                   p.given.empty() ? "estimated" : "given",
                   target.description);
}

std::vector<kernel::centroid_estimate> doppler_centroid_impl::estimates() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return { d_estimates.begin(), d_estimates.end() };
}

void doppler_centroid_impl::begin(const frame_tag& tag)
{
    const acquisition& acq = d_kernel->params().acq;
    frame_check(tag, "doppler_centroid")
        .domain({ "compressed" }, "it goes behind pulse_compression")
        .same("samples", d_kernel->samples(), 0, "acq.samples * oversampling")
        .same("prf_hz", acq->prf_hz, 1e-9 * acq->prf_hz, "acq.prf_hz")
        .same("spacing_m",
              d_axis.spacing_m,
              1e-6 * d_axis.spacing_m,
              "acq and oversampling")
        .same("slant_range_first_m",
              d_axis.first_m,
              1e-3 * d_axis.spacing_m,
              "acq.slant_range_first_m");
}

void doppler_centroid_impl::take(const void* items, int first, int count)
{
    d_kernel->take(static_cast<const cf32*>(items), first, count);
}

int doppler_centroid_impl::finish(const collected_frame& frame)
{
    const kernel::doppler_centroid_params& p = d_kernel->params();
    const kernel::centroid_estimate e = d_kernel->estimate(frame.lines);
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_estimates.push_back(e);
        if (d_estimates.size() > kept_estimates)
            d_estimates.pop_front();
    }
    log(frame.number, e);
    message_port_pub(centroid_port, message_of(frame.number, e));
    const frame_tag& in = frame.tag;
    d_tag = frame_tag(in.dict());
    d_tag.put("frame", frame.number)
        .put("lines", p.lines)
        .put("samples", d_kernel->samples())
        .put("prf_hz", p.acq->prf_hz)
        .put("slant_range_first_m", in.number("slant_range_first_m", d_axis.first_m))
        .put("spacing_m", in.number("spacing_m", d_axis.spacing_m))
        .put("doppler_centroid_hz", e.coefficients_hz)
        .put("domain", "compressed")
        .put("first_line",
             static_cast<std::uint64_t>(in.number("first_line", 0)) + frame.first_line)
        .put("complete", frame.complete)
        .put("continues", frame.first_line > 0);
    if (e.method == "none")
        d_tag.put("centroid_from", "acquisition");
    else
        d_tag.put("centroid_from", e.method);
    if (in.has("time_s"))
        d_tag.put("time_s", in.number("time_s", 0) + frame.first_line / p.acq->prf_hz);
    ++d_done;
    return frame.lines;
}

void doppler_centroid_impl::give(void* out, int first, int count)
{
    if (first == 0)
        add_item_tag(
            0, nitems_written(0), pmt::mp("sar_frame"), d_tag.dict(), alias_pmt());
    d_kernel->give(static_cast<cf32*>(out), first, count);
}

void doppler_centroid_impl::next(int) {}

void doppler_centroid_impl::log(std::uint64_t frame, const kernel::centroid_estimate& e)
{
    if (e.method == "given")
        return;
    if (e.method == "none") {
        d_logger->warn("frame {:d} holds no signal whose neighbouring lines agree; the "
                       "Doppler centroid of the acquisition stays, {:g} Hz",
                       frame,
                       e.coefficients_hz[0]);
        return;
    }
    d_logger->info("frame {:d}: Doppler centroid {:.1f} Hz = {:.1f} Hz (standard error "
                   "{:.1f}) {:+d} PRF (confidence {:.3f})",
                   frame,
                   e.baseband_hz + e.ambiguity * d_kernel->params().acq->prf_hz,
                   e.baseband_hz,
                   e.standard_error_hz,
                   e.ambiguity,
                   e.ambiguity_confidence);
    if (e.ambiguity_confidence < 0.9)
        d_logger->warn("frame {:d}: the number of PRFs in the Doppler centroid is unsure "
                       "(confidence {:.2f}); longer frames or a scene with contrast help",
                       frame,
                       e.ambiguity_confidence);
}

} // namespace sar
} // namespace gr
