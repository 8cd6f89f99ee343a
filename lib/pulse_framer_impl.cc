// SPDX-License-Identifier: GPL-3.0-or-later
#include "pulse_framer_impl.h"
#include "guarded_work.h"
#include <algorithm>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t time_key = pmt::mp("rx_time");
const pmt::pmt_t rate_key = pmt::mp("rx_rate");
const pmt::pmt_t frequency_key = pmt::mp("rx_freq");
const pmt::pmt_t overflow_port = pmt::mp("overflow");

std::vector<int> input_sizes(const pulse_framer_params& p,
                             const pulse_framer_ports& ports)
{
    std::vector<int> sizes = { static_cast<int>(ports.real_input ? sizeof(float)
                                                                 : sizeof(gr_complex)) };
    if (p.reference_input)
        sizes.push_back(sizeof(gr_complex));
    if (p.trigger_input)
        sizes.push_back(sizeof(float));
    if (ports.positions)
        sizes.push_back(sizeof(vec3));
    return sizes;
}

std::optional<double> number_of(const pmt::pmt_t& v)
{
    if (pmt::is_uint64(v))
        return static_cast<double>(pmt::to_uint64(v));
    if (pmt::is_real(v) || pmt::is_integer(v))
        return pmt::to_double(v);
    if (pmt::is_dict(v)) // a tune request
        return number_of(pmt::dict_ref(v, pmt::mp("freq"), pmt::PMT_NIL));
    return std::nullopt;
}

//! Seconds and fraction. What is no time becomes one that nobody believes.
radio_time time_of(const pmt::pmt_t& v)
{
    const radio_time none{ ~0ull, 0 };
    if (!pmt::is_tuple(v) || pmt::length(v) < 2)
        return none;
    const pmt::pmt_t seconds = pmt::tuple_ref(v, 0);
    const std::optional<double> fraction = number_of(pmt::tuple_ref(v, 1));
    if (!fraction)
        return none;
    if (pmt::is_uint64(seconds))
        return { pmt::to_uint64(seconds), *fraction };
    if (pmt::is_integer(seconds) && pmt::to_long(seconds) >= 0)
        return { static_cast<std::uint64_t>(pmt::to_long(seconds)), *fraction };
    return none;
}

} // namespace

pulse_framer::sptr pulse_framer::make(const pulse_framer_params& params,
                                      int lines,
                                      const pulse_framer_ports& ports)
{
    require(lines >= 1, "lines is ", lines, "; expected the lines of a frame, 1 or more");
    require(!ports.burst_tag.empty(),
            "burst_tag is empty; expected the key of the tag that begins a buffer");
    return gnuradio::make_block_sptr<pulse_framer_impl>(params, lines, ports);
}

pulse_framer_impl::pulse_framer_impl(const pulse_framer_params& params,
                                     int lines,
                                     const pulse_framer_ports& ports)
    : gr::block("pulse_framer",
                signature(input_sizes(params, ports)),
                signature(output_sizes(params, ports.positions, ports.facts))),
      line_block(params,
                 lines,
                 ports.positions ? 1 + params.reference_input + params.trigger_input : -1,
                 ports.facts),
      d_ports(ports),
      d_reference(params.reference_input ? 1 : -1),
      d_trigger(params.trigger_input ? 1 + params.reference_input : -1),
      d_samples_inputs(1 + params.reference_input + params.trigger_input)
{
    set_tag_propagation_policy(TPP_DONT);
    register_status();
    message_port_register_in(overflow_port);
    set_msg_handler(overflow_port, [this](const pmt::pmt_t&) { d_overflow = true; });
    d_logger->info("lines of {:d} samples, {:g} a second, alignment {:s}, on {:s}",
                   params.acq->samples,
                   d_kernel->line_rate_hz(),
                   to_string(params.alignment),
                   backend());
}

bool pulse_framer_impl::start()
{
    start_stage(*this);
    begin_lines();
    d_input_over = false;
    d_told = 0;
    d_overflow = false;
    return gr::block::start();
}

bool pulse_framer_impl::stop()
{
    say_at_end(d_logger, [&] { sum_up(); });
    return gr::block::stop();
}

// The scheduler ends a block that asks for more than an ended stream holds, so what has
// ended is not asked for.
void pulse_framer_impl::forecast(int, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), 0);
    if (waits_for_position()) {
        required[d_positions] = !ended(d_positions);
        return;
    }
    bool over = d_input_over;
    for (int i = 0; i < d_samples_inputs; ++i)
        over = over || ended(i);
    for (int i = 0; i < d_samples_inputs && !over; ++i)
        required[i] = 1;
}

int pulse_framer_impl::general_work(int noutput_items,
                                    gr_vector_int& ninput_items,
                                    gr_vector_const_void_star& input_items,
                                    gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        return frame_lines(noutput_items, ninput_items, input_items, output_items);
    });
}

int pulse_framer_impl::frame_lines(int noutput_items,
                                   const gr_vector_int& ninput_items,
                                   const gr_vector_const_void_star& input_items,
                                   gr_vector_void_star& output_items)
{
    const double arrived_s = host_s();
    inputs in{ ninput_items, input_items, std::vector<int>(ninput_items.size(), 0) };
    const std::uint64_t first = nitems_read(0);
    std::vector<gr::tag_t> tags;
    get_tags_in_range(tags, 0, std::max(first, d_told), first + ninput_items[0]);
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    std::size_t next_tag = 0;
    int lines = 0;
    int idle = 0;
    bool finished = false;
    ask_again();
    while (lines < noutput_items) {
        if (give_line(in, lines, output_items)) {
            ++lines;
            continue;
        }
        if (waits_for_position())
            break;
        const std::uint64_t here = first + in.used[0];
        const std::size_t told = next_tag;
        while (next_tag < tags.size() && tags[next_tag].offset <= here)
            ++next_tag;
        if (next_tag > told || d_overflow) {
            tell(tags, told, next_tag);
            d_told = here + 1;
            continue; // what came before it goes out first
        }
        int n = in.left(0);
        for (int i = 1; i < d_samples_inputs; ++i)
            n = std::min(n, in.left(i));
        if (next_tag < tags.size())
            n = static_cast<int>(
                std::min<std::uint64_t>(n, tags[next_tag].offset - here));
        if (n == 0) {
            bool over = false;
            for (int i = 0; i < d_samples_inputs; ++i)
                over = over || (in.left(i) == 0 && (in.items[i] == 0) && ended(i));
            if (over && !d_input_over) {
                d_kernel->end();
                d_input_over = true;
                continue;
            }
            finished = d_input_over;
            break;
        }
        const int took = feed(in, n, arrived_s);
        for (int i = 0; i < d_samples_inputs; ++i)
            in.used[i] += took;
        idle = took == 0 ? idle + 1 : 0;
        if (idle > 3)
            throw std::logic_error("the framer takes no samples and gives no line");
    }
    for (std::size_t i = 0; i < in.used.size(); ++i)
        consume(static_cast<int>(i), in.used[i]);
    note_status();
    report(arrived_s, lines == 0 && finished);
    return lines == 0 && finished ? WORK_DONE : lines;
}

int pulse_framer_impl::feed(inputs& in, int n, double arrived_s)
{
    const cf32* samples = nullptr;
    if (d_ports.real_input) {
        const float* x = in.at<float>(0);
        d_complex.resize(n);
        for (int i = 0; i < n; ++i)
            d_complex[i] = { x[i], 0.0f };
        samples = d_complex.data();
    } else {
        samples = in.at<cf32>(0);
    }
    return d_kernel->feed(samples,
                          d_reference >= 0 ? in.at<cf32>(d_reference) : nullptr,
                          d_trigger >= 0 ? in.at<float>(d_trigger) : nullptr,
                          n,
                          arrived_s);
}

void pulse_framer_impl::tell(const std::vector<gr::tag_t>& tags,
                             std::size_t first,
                             std::size_t last)
{
    kernel::radio_news news;
    news.gap = d_overflow.exchange(false);
    for (std::size_t i = first; i < last; ++i) {
        const gr::tag_t& t = tags[i];
        if (pmt::eqv(t.key, time_key))
            news.time = time_of(t.value);
        else if (pmt::eqv(t.key, rate_key))
            news.rate_hz = number_of(t.value);
        else if (pmt::eqv(t.key, frequency_key))
            news.frequency_hz = number_of(t.value);
        else if (pmt::symbol_to_string(t.key) == d_ports.burst_tag)
            if (const auto n = number_of(t.value))
                news.burst_samples = static_cast<int>(*n);
    }
    d_kernel->tell(news);
}

} // namespace sar
} // namespace gr
