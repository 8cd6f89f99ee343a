// SPDX-License-Identifier: GPL-3.0-or-later
#include "pulse_compression_impl.h"
#include "device_ring.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include "line_number.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t frame_key = pmt::mp("sar_frame");

std::vector<cf32> to_cf32(const std::vector<gr_complex>& values)
{
    std::vector<cf32> v;
    for (const gr_complex& x : values)
        v.push_back({ x.real(), x.imag() });
    return v;
}

} // namespace

pulse_compression::sptr pulse_compression::make(const acquisition& acq,
                                                int oversampling,
                                                const std::string& window,
                                                const std::vector<gr_complex>& replica,
                                                const std::string& backend,
                                                int device,
                                                const std::vector<double>& range_gate_m)
{
    kernel::pulse_compression_params p{
        acq, oversampling, sar::window(window), to_cf32(replica)
    };
    require(range_gate_m.empty() || range_gate_m.size() == 2,
            "range_gate_m has ",
            range_gate_m.size(),
            " numbers; expected near and far range in metres, or none");
    if (!range_gate_m.empty())
        acq.gate_of(range_gate_m[0], range_gate_m[1], p.gate_first, p.gate_cells);
    return gnuradio::make_block_sptr<pulse_compression_impl>(
        p, choose_target(backend_from_name(backend), device));
}

pulse_compression_impl::pulse_compression_impl(const kernel::pulse_compression_params& p,
                                               const compute_target& target)
    : gr::sync_block(
          "pulse_compression",
          gr::io_signature::make(1, 1, line_item(p.acq, 1), stream_type(target)),
          gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      d_kernel(kernel::pulse_compression::make(p, target)),
      d_triangle(p.acq->sweep == sweep_shape::triangle)
{
    const acquisition& acq = p.acq;
    set_target(target);
    // the kernel has checked oversampling and gate by now
    set_output_signature(gr::io_signature::make(
        1,
        1,
        line_item(p.gate_cells ? acq.gated(p.gate_first, p.gate_cells) : acq,
                  p.oversampling),
        stream_type(target)));
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(
        batch_buffer(output_signature()->sizeof_stream_item(0), this->target()));
    d_logger->info("{:s} lines of {:d} samples to {:d}, on {:s}",
                   to_string(acq->wave),
                   d_kernel->samples_in(),
                   d_kernel->samples_out(),
                   target.description);
    if (acq->wave == waveform::fmcw) {
        const double shift_m = std::abs(acq.doppler_shift_m(acq->prf_hz / 2));
        d_logger->info(
            "samples lie at {:.9g} to {:.9g} Hz, the middle is {:.9g} Hz; an echo with a "
            "Doppler frequency of half the PRF is seen {:.3g} m ({:.2g} cells) off, "
            "unless sweep_alignment takes that out",
            acq.first_frequency_hz(),
            acq.first_frequency_hz() + (acq->samples - 1) * acq.frequency_step_hz(),
            acq.centre_frequency_hz(),
            shift_m,
            shift_m / acq.compressed_axis(1).spacing_m);
    }
}

bool pulse_compression_impl::start()
{
    start_stage(*this);
    d_number = 0;
    return sync_block::start();
}

bool pulse_compression_impl::stop()
{
    say_at_end(d_logger, [this] { warn_of_zeroed(d_logger, bad_lines(), "lines"); });
    return sync_block::stop();
}

int pulse_compression_impl::work(int noutput_items,
                                 gr_vector_const_void_star& input_items,
                                 gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        const cf32* in = static_cast<const cf32*>(input_items[0]);
        cf32* out = static_cast<cf32*>(output_items[0]);
        int line = 0;
        const auto process_to = [&](int end) {
            if (end > line)
                d_kernel->process(
                    in + static_cast<std::size_t>(line) * d_kernel->samples_in(),
                    out + static_cast<std::size_t>(line) * d_kernel->samples_out(),
                    end - line,
                    d_number);
            d_number += end - line;
            line = end;
        };
        for (const numbering& n : pass_tags(noutput_items)) {
            process_to(n.line);
            d_number = n.number;
        }
        process_to(noutput_items);
        return noutput_items;
    });
}

std::vector<pulse_compression_impl::numbering>
pulse_compression_impl::pass_tags(int lines)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, lines);
    std::sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    std::vector<numbering> anew;
    for (gr::tag_t& tag : tags) {
        if (d_triangle)
            if (const auto number = line_number(tag))
                anew.push_back(
                    { static_cast<int>(tag.offset - nitems_read(0)), *number });
        if (pmt::eqv(tag.key, frame_key))
            tag.value = compressed_frame(tag.value);
        // a sync block: same offset
        add_item_tag(0, tag);
    }
    return anew;
}

pmt::pmt_t pulse_compression_impl::compressed_frame(const pmt::pmt_t& frame) const
{
    if (!pmt::is_dict(frame))
        throw std::runtime_error("the tag sar_frame is no dictionary");
    const auto field = [&frame](const char* name) {
        return pmt::dict_ref(frame, pmt::mp(name), pmt::PMT_NIL);
    };
    const pmt::pmt_t domain = field("domain");
    if (!pmt::is_null(domain) && pmt::write_string(domain) != "raw")
        throw std::runtime_error(sentence(
            "sar_frame has the domain '",
            pmt::write_string(domain),
            "', but pulse_compression takes raw lines; is it in the chain twice?"));
    const pmt::pmt_t samples = field("samples");
    if (pmt::is_number(samples) && pmt::to_double(samples) != d_kernel->samples_in())
        throw std::runtime_error(sentence("sar_frame has ",
                                          pmt::to_double(samples),
                                          " samples a line, but acq.samples is ",
                                          d_kernel->samples_in()));
    const auto put = [](const pmt::pmt_t& d, const char* name, const pmt::pmt_t& value) {
        return pmt::dict_add(d, pmt::mp(name), value);
    };
    const range_axis a = axis();
    pmt::pmt_t d = put(frame, "domain", pmt::mp("compressed"));
    d = put(d, "samples", pmt::from_long(a.samples));
    d = put(d, "slant_range_first_m", pmt::from_double(a.first_m));
    return put(d, "spacing_m", pmt::from_double(a.spacing_m));
}

} // namespace sar
} // namespace gr
