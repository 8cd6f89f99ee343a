// SPDX-License-Identifier: GPL-3.0-or-later
#include "pulse_compression_impl.h"
#include "device_ring.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <algorithm>
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
                                                int device)
{
    return gnuradio::make_block_sptr<pulse_compression_impl>(
        acq,
        oversampling,
        window,
        replica,
        choose_target(backend_from_name(backend), device));
}

pulse_compression_impl::pulse_compression_impl(const acquisition& acq,
                                               int oversampling,
                                               const std::string& window_name,
                                               const std::vector<gr_complex>& replica,
                                               const compute_target& target)
    : gr::sync_block(
          "pulse_compression",
          gr::io_signature::make(1, 1, line_item(acq, 1), stream_type(target)),
          gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target))),
      d_kernel(kernel::pulse_compression::make(
          { acq, oversampling, window(window_name), to_cf32(replica) },
          target))
{
    set_target(target);
    // the kernel has checked oversampling by now
    set_output_signature(
        gr::io_signature::make(1, 1, line_item(acq, oversampling), stream_type(target)));
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(batch_buffer(output_signature()->sizeof_stream_item(0)));
    d_logger->info("{:s} lines of {:d} samples to {:d}, on {:s}",
                   to_string(acq->wave),
                   d_kernel->samples_in(),
                   d_kernel->samples_out(),
                   target.description);
}

bool pulse_compression_impl::start()
{
    start_stage(*this);
    return sync_block::start();
}

bool pulse_compression_impl::stop()
{
    try {
        if (const std::uint64_t n = bad_lines())
            d_logger->warn("{:d} lines held samples that are not finite and were zeroed",
                           n);
    } catch (const std::exception& e) {
        d_logger->error("{:s}", e.what());
    }
    return sync_block::stop();
}

int pulse_compression_impl::work(int noutput_items,
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

void pulse_compression_impl::pass_tags(int lines)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, lines);
    for (gr::tag_t& tag : tags) {
        if (pmt::eqv(tag.key, frame_key))
            tag.value = compressed_frame(tag.value);
        // a sync block: same offset
        add_item_tag(0, tag);
    }
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
