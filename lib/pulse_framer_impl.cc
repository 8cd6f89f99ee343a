// SPDX-License-Identifier: GPL-3.0-or-later
#include "pulse_framer_impl.h"
#include "guarded_work.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/thread/thread.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t time_key = pmt::mp("rx_time");
const pmt::pmt_t rate_key = pmt::mp("rx_rate");
const pmt::pmt_t frequency_key = pmt::mp("rx_freq");
const pmt::pmt_t status_port = pmt::mp("status");
const pmt::pmt_t overflow_port = pmt::mp("overflow");
constexpr double clip_warning = 1e-3; // share of the samples

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

std::vector<int> output_sizes(const pulse_framer_params& p,
                              const pulse_framer_ports& ports)
{
    require(p.acq->samples <= std::numeric_limits<int>::max() / 8,
            "samples of acq is ",
            p.acq->samples,
            "; expected at most ",
            std::numeric_limits<int>::max() / 8,
            " (an item of 2 GB)");
    std::vector<int> sizes = { static_cast<int>(p.acq->samples * sizeof(gr_complex)) };
    if (ports.positions)
        sizes.push_back(sizeof(vec3));
    if (ports.facts)
        sizes.push_back(framed_line::facts * sizeof(double));
    return sizes;
}

gr::io_signature::sptr signature(const std::vector<int>& sizes)
{
    const int n = static_cast<int>(sizes.size());
    return gr::io_signature::makev(n, n, sizes);
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

pmt::pmt_t message_of(const framer_status& s, double clip_share)
{
    return frame_tag()
        .put("alignment", s.alignment)
        .put("locked", s.locked)
        .put("samples", s.samples)
        .put("framed", s.framed)
        .put("lost", s.lost)
        .put("filled", s.filled)
        .put("estimated", s.estimated)
        .put("unmeasured", s.unmeasured)
        .put("gaps", s.gaps)
        .put("silent_gaps", s.silent_gaps)
        .put("lost_samples", s.lost_samples)
        .put("rejected_stamps", s.rejected_stamps)
        .put("clip_share", clip_share)
        .put("interval_samples", s.interval_samples)
        .put("jitter_rms_samples", s.jitter_rms_samples)
        .put("delay_s", s.delay_s)
        .put("delay_drift_samples_per_s", s.delay_drift_samples_per_s)
        .put("amplitude_db", s.amplitude_db)
        .put("snr_db", s.snr_db)
        .put("phase_rad", s.phase_rad)
        .put("phase_drift_hz", s.phase_drift_hz)
        .put("dc_re", s.dc_re)
        .put("dc_im", s.dc_im)
        .dict();
}

} // namespace

//! What a call of work() may take, and has taken.
struct pulse_framer_impl::inputs {
    const gr_vector_int& items;
    const gr_vector_const_void_star& pointers;
    std::vector<int> used;

    template <typename T>
    const T* at(int input) const
    {
        return static_cast<const T*>(pointers[input]) + used[input];
    }
    int left(int input) const { return items[input] - used[input]; }
};

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
                signature(output_sizes(params, ports))),
      d_params(params),
      d_lines(lines),
      d_ports(ports),
      d_reference(params.reference_input ? 1 : -1),
      d_trigger(params.trigger_input ? 1 + params.reference_input : -1),
      d_positions(ports.positions ? 1 + params.reference_input + params.trigger_input
                                  : -1),
      d_samples_inputs(1 + params.reference_input + params.trigger_input),
      d_kernel(kernel::pulse_framer::make(params))
{
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(status_port);
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
    // a flowgraph may run again: its samples are others
    d_kernel = kernel::pulse_framer::make(d_params);
    d_positions_taken = 0;
    d_waits_for_position = d_input_over = false;
    d_told = 0;
    d_overflow = false;
    d_frame = 0;
    d_line = 0;
    d_holes = d_stretch = 0;
    d_in_holes = false;
    d_begin = std::chrono::steady_clock::now();
    d_reported_s = -1;
    d_reported = {};
    d_notices.clear();
    d_unsaid = 0;
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_status = {};
    }
    return gr::block::start();
}

bool pulse_framer_impl::stop()
{
    try {
        report(d_reported_s, true);
        const framer_status s = status();
        d_logger->info(
            "{:d} lines, {:d} pulses lost, {:d} holes filled, {:d} numbered by "
            "the host's clock",
            s.framed,
            s.lost,
            s.filled,
            s.estimated);
        if (d_params.whole_samples)
            d_logger->info("lines begin at whole samples: range jitter {:.3g} m rms",
                           s.jitter_rms_samples * speed_of_light /
                               (2 * d_params.acq->sample_rate_hz));
        if (s.samples > 0 && s.framed == 0)
            d_logger->warn("no line came out of {:d} samples: no pulse was found where "
                           "alignment {:s} looks for it",
                           s.samples,
                           s.alignment);
    } catch (const std::exception& e) {
        d_logger->error("{:s}", e.what());
    }
    return gr::block::stop();
}

framer_status pulse_framer_impl::status() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_status;
}

bool pulse_framer_impl::ended(int input) const
{
    const auto in = detail()->input(input);
    const gr::thread::scoped_lock guard(*in->mutex());
    return in->done() && in->items_available() == 0;
}

// The scheduler ends a block that asks for more than an ended stream holds, so what has
// ended is not asked for.
void pulse_framer_impl::forecast(int, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), 0);
    if (d_waits_for_position) {
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
    const double host_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - d_begin).count();
    inputs in{ ninput_items, input_items, std::vector<int>(ninput_items.size(), 0) };
    const std::uint64_t first = nitems_read(0);
    std::vector<gr::tag_t> tags;
    get_tags_in_range(tags, 0, std::max(first, d_told), first + ninput_items[0]);
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    std::size_t next_tag = 0;
    int lines = 0;
    int idle = 0;
    bool finished = false;
    d_waits_for_position = false;
    while (lines < noutput_items) {
        if (const auto number = d_kernel->ready()) {
            if (d_positions >= 0 && !position_there(*number, in)) {
                // what came since this call began is not in ninput_items: ask the buffer
                if (ended(d_positions))
                    throw std::runtime_error(
                        sentence("the stream of positions ended with pulse ",
                                 static_cast<std::int64_t>(d_positions_taken) - 1,
                                 ", but there is a line of pulse ",
                                 *number * d_params.presum,
                                 "; give a position for each pulse, from number 0 on"));
                d_waits_for_position = true;
                break;
            }
            framed_line line;
            d_kernel->next(line,
                           static_cast<cf32*>(output_items[0]) +
                               static_cast<std::size_t>(lines) * d_params.acq->samples);
            int port = 1;
            if (d_positions >= 0)
                static_cast<vec3*>(output_items[port++])[lines] = take_position(line);
            if (d_ports.facts) {
                double* f = static_cast<double*>(output_items[port]) +
                            static_cast<std::size_t>(lines) * framed_line::facts;
                const double values[framed_line::facts] = {
                    static_cast<double>(line.pulse),
                    line.time_s,
                    static_cast<double>(line.flags),
                    line.jitter_samples,
                    line.amplitude,
                    line.delay_s,
                    line.phase_rad,
                    line.snr_db
                };
                std::copy_n(values, framed_line::facts, f);
            }
            tag_line(line, nitems_written(0) + lines);
            ++lines;
            continue;
        }
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
        const int took = feed(in, n, host_s);
        for (int i = 0; i < d_samples_inputs; ++i)
            in.used[i] += took;
        idle = took == 0 ? idle + 1 : 0;
        if (idle > 3)
            throw std::logic_error("the framer takes no samples and gives no line");
    }
    for (std::size_t i = 0; i < in.used.size(); ++i)
        consume(static_cast<int>(i), in.used[i]);
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_status = d_kernel->status();
    }
    report(host_s, lines == 0 && finished);
    return lines == 0 && finished ? WORK_DONE : lines;
}

int pulse_framer_impl::feed(inputs& in, int n, double host_s)
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
                          host_s);
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

//! Positions up to that of a line: those before it are dropped, its own are kept.
bool pulse_framer_impl::position_there(std::int64_t line, inputs& in)
{
    const auto m = static_cast<std::uint64_t>(d_params.presum);
    const std::uint64_t begin = static_cast<std::uint64_t>(line) * m;
    d_group.resize(m);
    while (d_positions_taken < begin + m && in.left(d_positions) > 0) {
        if (d_positions_taken < begin) {
            const auto n = static_cast<int>(
                std::min<std::uint64_t>(begin - d_positions_taken, in.left(d_positions)));
            in.used[d_positions] += n;
            d_positions_taken += n;
            continue;
        }
        d_group[d_positions_taken - begin] = *in.at<vec3>(d_positions);
        ++in.used[d_positions];
        ++d_positions_taken;
    }
    return d_positions_taken >= begin + m;
}

//! The mean over the pulses that went into the line; over all where none did.
vec3 pulse_framer_impl::take_position(const framed_line& line)
{
    vec3 sum = { 0, 0, 0 };
    int n = 0;
    for (std::size_t i = 0; i < d_group.size(); ++i)
        if (line.used.empty() || line.summed == 0 || line.used[i]) {
            sum = sum + d_group[i];
            ++n;
        }
    return (1.0 / n) * sum;
}

void pulse_framer_impl::tag_line(const framed_line& line, std::uint64_t item)
{
    if (line.anew) {
        d_line = 0;
        d_stretch = 0;
    }
    if (d_line == 0)
        put_frame_tag(line, item);
    d_line = (d_line + 1) % d_lines;
    ++d_stretch;

    const bool hole = line.flags & framed_line::hole;
    const std::int64_t count = hole && !d_in_holes ? line.holes_left : line.skipped;
    d_holes += hole ? 1 : line.skipped;
    if (count > 0)
        add_item_tag(
            0,
            item,
            pmt::mp("sar_holes"),
            frame_tag()
                .put("pulse",
                     static_cast<std::uint64_t>(hole ? line.pulse : line.pulse - count))
                .put("count", static_cast<std::uint64_t>(count))
                .put("filled", hole)
                .put("estimated", (line.flags & framed_line::estimated) != 0)
                .dict(),
            alias_pmt());
    d_in_holes = hole;
}

void pulse_framer_impl::put_frame_tag(const framed_line& line, std::uint64_t item)
{
    const acquisition& acq = d_params.acq;
    frame_tag tag;
    tag.put("frame", d_frame++)
        .put("lines", d_lines)
        .put("samples", acq->samples)
        .put("prf_hz", d_kernel->line_rate_hz())
        .put("slant_range_first_m", acq->slant_range_first_m)
        .put("spacing_m", acq.compressed_axis(1).spacing_m)
        .put("doppler_centroid_hz", acq.centroid_coefficients())
        .put("domain", "raw")
        .put("time_s", line.time_s)
        .put("pulse", static_cast<std::uint64_t>(line.pulse))
        .put("first_line", d_stretch)
        .put("continues", d_stretch > 0)
        .put("holes", d_holes)
        .put("alignment", d_kernel->status().alignment);
    if (line.frequency_hz != 0)
        tag.put("frequency_hz", line.frequency_hz).put("step", line.step);
    add_item_tag(0, item, pmt::mp("sar_frame"), tag.dict(), alias_pmt());
}

//! A message and at most one sentence a second.
void pulse_framer_impl::report(double host_s, bool last)
{
    for (std::string& s : d_kernel->notices()) {
        if (d_notices.size() < 4)
            d_notices.push_back(std::move(s));
        else
            ++d_unsaid;
    }
    if (!last && d_reported_s >= 0 && host_s - d_reported_s < 1)
        return;
    const framer_status s = d_kernel->status();
    if (s.samples == d_reported.samples && d_notices.empty())
        return;
    const auto since = [&](auto member) { return s.*member - d_reported.*member; };
    const std::uint64_t samples = since(&framer_status::samples);
    const double clipped =
        samples ? static_cast<double>(since(&framer_status::clipped)) / samples : 0;
    message_port_pub(status_port, message_of(s, clipped));
    std::string text;
    bool bad = false;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : "; ") + part;
    };
    if (const std::uint64_t lost = since(&framer_status::lost)) {
        bad = true;
        add(sentence("lost ",
                     lost,
                     " pulses of ",
                     lost + since(&framer_status::framed),
                     " since the last report"));
    }
    if (clipped > clip_warning) {
        bad = true;
        add(sentence(100 * clipped,
                     " % of the samples are at full scale (",
                     d_params.full_scale,
                     "): the receiver clips, lower its gain"));
    }
    bad = bad || since(&framer_status::gaps) || since(&framer_status::rejected_stamps);
    for (const std::string& n : d_notices)
        add(n);
    if (d_unsaid > 0)
        add(sentence("and ", d_unsaid, " more of these"));
    if (!text.empty()) {
        if (bad)
            d_logger->warn("{:s}", text);
        else
            d_logger->info("{:s}", text);
    }
    d_notices.clear();
    d_unsaid = 0;
    d_reported = s;
    d_reported_s = host_s;
}

} // namespace sar
} // namespace gr
