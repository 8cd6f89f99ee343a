// SPDX-License-Identifier: GPL-3.0-or-later
#include "chirp_z_impl.h"
#include "device_ring.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <cmath>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/window.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t frame_key = pmt::mp("sar_frame");

//! Weights of a window over a line, with mean 1; none for "rect".
std::vector<cf32> window_weights(const std::string& name, int samples)
{
    const window w(name);
    std::vector<cf32> weights;
    if (w.kind() == window_kind::rect)
        return weights;
    const std::vector<double> values = w.samples(samples);
    double sum = 0;
    for (const double v : values)
        sum += v;
    for (const double v : values)
        weights.push_back({ static_cast<float>(v * samples / sum), 0 });
    return weights;
}

} // namespace

chirp_z::sptr chirp_z::make(int samples_in,
                            int samples_out,
                            double first_frequency,
                            double frequency_step,
                            double sample_rate,
                            const std::string& direction,
                            const std::string& window,
                            double reference_sample,
                            const std::string& backend,
                            int device)
{
    require(direction == "forward" || direction == "inverse",
            "direction is '",
            direction,
            "'; expected forward or inverse");
    require(std::isfinite(sample_rate) && sample_rate > 0,
            "sample_rate is ",
            sample_rate,
            "; expected a positive number of samples per unit, 1 for cycles per sample");
    const auto cycles = [sample_rate](const char* name, double v) {
        require(std::abs(v) <= 1e6 * sample_rate, // also refuses NaN
                name,
                " is ",
                v,
                "; expected at most 10^6 cycles per sample either way, ",
                1e6 * sample_rate);
    };
    cycles("first_frequency", first_frequency);
    cycles("frequency_step", frequency_step);
    require(std::abs(reference_sample) <= 1e9,
            "reference_sample is ",
            reference_sample,
            "; expected the number of an input sample, -1e9 to 1e9");
    // as the kernel has it, but before a window of that length is computed
    require(samples_in >= 1 && samples_in <= 1 << 23,
            "samples_in is ",
            samples_in,
            "; expected 1 to 2^23");
    require(samples_out >= 0,
            "samples_out is ",
            samples_out,
            "; expected 1 or more, or 0 for as many as samples_in");
    kernel::chirp_z_params p;
    p.samples_in = samples_in;
    p.samples_out = samples_out ? samples_out : samples_in;
    const double step =
        frequency_step != 0 ? frequency_step : sample_rate / p.samples_out;
    p.first = first_frequency / sample_rate;
    p.step = step / sample_rate;
    p.inverse = direction == "inverse";
    p.reference = reference_sample;
    p.weights = window_weights(window, samples_in);
    return gnuradio::make_block_sptr<chirp_z_impl>(
        p, first_frequency, step, choose_target(backend_from_name(backend), device));
}

chirp_z_impl::chirp_z_impl(const kernel::chirp_z_params& params,
                           double first,
                           double step,
                           const compute_target& target)
    : gr::sync_block(
          "chirp_z",
          gr::io_signature::make(1,
                                 1,
                                 item_bytes(params.samples_in, sizeof(gr_complex)),
                                 stream_type(target)),
          gr::io_signature::make(1,
                                 1,
                                 item_bytes(params.samples_out, sizeof(gr_complex)),
                                 stream_type(target))),
      d_first(first),
      d_step(step),
      d_kernel(kernel::chirp_z::make(params, target))
{
    set_target(target);
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(
        batch_buffer(output_signature()->sizeof_stream_item(0), this->target()));
    d_logger->info("lines of {:d} samples to {:d} {:s}, by transforms of {:d}, on {:s}",
                   params.samples_in,
                   params.samples_out,
                   params.inverse ? "samples" : "frequencies",
                   d_kernel->fft_length(),
                   target.description);
}

bool chirp_z_impl::start()
{
    start_stage(*this);
    return sync_block::start();
}

bool chirp_z_impl::stop()
{
    say_at_end(d_logger, [this] { warn_of_zeroed(d_logger, bad_lines(), "lines"); });
    return sync_block::stop();
}

int chirp_z_impl::work(int noutput_items,
                       gr_vector_const_void_star& input_items,
                       gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        pass_tags(noutput_items);
        d_kernel->process(static_cast<const cf32*>(input_items[0]),
                          static_cast<cf32*>(output_items[0]),
                          noutput_items);
        return noutput_items;
    });
}

void chirp_z_impl::pass_tags(int lines)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, lines);
    for (gr::tag_t& tag : tags) {
        if (pmt::eqv(tag.key, frame_key))
            tag.value = transformed_frame(tag.value);
        // a sync block: same offset
        add_item_tag(0, tag);
    }
}

pmt::pmt_t chirp_z_impl::transformed_frame(const pmt::pmt_t& value) const
{
    const frame_tag in(value);
    const double samples = in.number("samples", d_kernel->params().samples_in);
    if (samples != d_kernel->params().samples_in)
        throw std::runtime_error(sentence("sar_frame has ",
                                          samples,
                                          " samples a line, but samples_in is ",
                                          d_kernel->params().samples_in));
    return frame_tag(value)
        .put("domain", "chirp_z")
        .put("samples", samples_out())
        .put("first_frequency", d_first)
        .put("frequency_step", d_step)
        .copy("slant_range_first_m", frame_tag())
        .copy("spacing_m", frame_tag())
        .dict();
}

} // namespace sar
} // namespace gr
