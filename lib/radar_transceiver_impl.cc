// SPDX-License-Identifier: GPL-3.0-or-later
#include "radar_transceiver_impl.h"
#include "guarded_work.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gnuradio/sar/kernel/core/constants.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/pulse_arrival.h>
#include <limits>

namespace gr {
namespace sar {

namespace {

constexpr long read_timeout_us = 20000;
constexpr auto idle = std::chrono::milliseconds(50); // until work() looks around again
constexpr std::uint64_t settled = 16; // pulses until the start offset is said

std::int64_t interval_of(const acquisition& acq)
{
    const double pri = acq->sample_rate_hz / acq->prf_hz;
    const double whole = std::round(pri);
    require(std::isfinite(pri) && pri >= 2 && pri <= 1 << 26,
            "the interval between pulses, sample_rate_hz / prf_hz of acq, is ",
            pri,
            " samples; expected 2 to 2^26");
    require(std::abs(pri - whole) < 1e-6 * whole,
            "the interval between pulses, sample_rate_hz / prf_hz of acq, is ",
            pri,
            " samples, and a transmitter sends at whole ones; expected prf_hz = ",
            acq->sample_rate_hz / std::floor(pri),
            " or ",
            acq->sample_rate_hz / std::ceil(pri));
    return static_cast<std::int64_t>(whole);
}

std::vector<cf32> sent_pulse(const pulse_framer_params& p, double amplitude)
{
    require(amplitude > 0 && amplitude <= 1,
            "amplitude is ",
            amplitude,
            "; expected more than 0 and at most 1, full scale of the transmitter");
    std::vector<cf32> pulse = p.replica;
    if (pulse.empty()) {
        require(p.acq->wave == waveform::pulsed_lfm,
                "the waveform of acq is ",
                to_string(p.acq->wave),
                "; expected pulsed_lfm, or a pulse by samples (replica)");
        pulse = transmitted_pulse(p.acq);
    }
    float peak = 0;
    for (const cf32 v : pulse)
        peak = std::max(peak, std::hypot(v.re, v.im));
    require(peak > 0, "replica holds zeros only; expected the samples of a pulse");
    for (cf32& v : pulse)
        v = static_cast<float>(amplitude) / peak * v;
    return pulse;
}

bool same(const std::string& a, const std::string& b)
{
    char *end_a, *end_b;
    const double x = std::strtod(a.c_str(), &end_a);
    const double y = std::strtod(b.c_str(), &end_b);
    if (!a.empty() && !b.empty() && *end_a == 0 && *end_b == 0)
        return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
    return a == b;
}

std::vector<int> input_sizes(const transceiver_settings& s)
{
    return s.positions ? std::vector<int>{ sizeof(vec3) } : std::vector<int>{};
}

} // namespace

radar_transceiver::sptr radar_transceiver::make(const pulse_framer_params& framing,
                                                int lines,
                                                const transceiver_settings& settings)
{
    require(lines >= 1, "lines is ", lines, "; expected the lines of a frame, 1 or more");
    require(settings.pulses >= 0,
            "pulses is ",
            settings.pulses,
            "; expected 1 or more, or 0 for a stream without end");
    require(settings.pulses == 0 || settings.pulses >= framing.presum,
            "pulses is ",
            settings.pulses,
            ", less than presum, ",
            framing.presum,
            "; expected those of a line or more, or 0 for a stream without end");
    require(settings.buffer_s >= 0.01 && settings.buffer_s <= 60,
            "buffer_s is ",
            settings.buffer_s,
            " s; expected 0.01 to 60");
    require(settings.radio.frequency_hz >= 0,
            "frequency_hz is ",
            settings.radio.frequency_hz,
            "; expected what the radio is tuned to, or 0 for carrier_hz of acq");
    require(settings.radio.bandwidth_hz >= 0 &&
                std::isfinite(settings.radio.bandwidth_hz),
            "bandwidth_hz is ",
            settings.radio.bandwidth_hz,
            "; expected that of the radio's filters, or 0 for the driver's own");
    const auto gain = [](const char* name, std::optional<double> db) {
        require(!db || std::isfinite(*db),
                name,
                " is ",
                db.value_or(0),
                "; expected a finite number of dB, or none for the driver's own");
    };
    gain("rx_gain_db", settings.radio.rx_gain_db);
    gain("tx_gain_db", settings.radio.tx_gain_db);
    pulse_framer_params p = framing;
    const acquisition& acq = p.acq;
    require(acq->sample_rate_hz > 0,
            "sample_rate_hz of acq is ",
            acq->sample_rate_hz,
            " Hz; expected the rate of the radio");
    radar_transceiver_params t;
    t.sample_rate_hz = acq->sample_rate_hz;
    t.interval = interval_of(acq);
    t.mode = settings.transmit;
    t.reference = settings.radio.reference_channel >= 0;
    t.lead_s = settings.lead_s;
    t.patience_s = settings.patience_s;
    if (t.mode != transmit_mode::none) {
        t.pulse = sent_pulse(p, settings.amplitude);
        t.code = p.code;
    }
    require(p.alignment != framer_alignment::trigger &&
                p.alignment != framer_alignment::burst,
            "alignment is '",
            to_string(p.alignment),
            "'; expected auto, scheduled, reference or leakage: the radio has no trigger "
            "input and no buffers");
    require(p.alignment != framer_alignment::reference || t.reference,
            "alignment is 'reference' without a reference channel; expected "
            "reference_channel, the receiver behind the coupler");
    p.reference_input = t.reference;
    p.trigger_input = false;
    p.pri_samples = static_cast<double>(t.interval);
    if (settings.expected && p.delay_s == 0)
        p.delay_s = settings.expected->delay_s;

    const double carrier_hz =
        settings.radio.frequency_hz > 0 ? settings.radio.frequency_hz : acq->carrier_hz;
    auto radio = open_soapy_radio(
        settings.radio, acq->sample_rate_hz, carrier_hz, t.mode != transmit_mode::none);
    auto transceiver = kernel::radar_transceiver::make(t, *radio);
    p.start = transceiver->first_pulse();
    require(p.alignment != framer_alignment::scheduled || transceiver->scheduled(),
            "alignment is 'scheduled', but pulses of ",
            radio->name(),
            " (transmit '",
            to_string(transceiver->mode()),
            "') have no time; expected leakage, or reference with a reference channel");
    return gnuradio::make_block_sptr<radar_transceiver_impl>(
        p, lines, settings, std::move(radio), std::move(transceiver));
}

radar_transceiver_impl::radar_transceiver_impl(
    const pulse_framer_params& framing,
    int lines,
    const transceiver_settings& settings,
    std::unique_ptr<known_radio>&& radio,
    std::unique_ptr<kernel::radar_transceiver>&& transceiver)
    : gr::block("radar_transceiver",
                signature(input_sizes(settings)),
                signature(output_sizes(framing, settings.positions, settings.facts))),
      line_block(framing, lines, settings.positions ? 0 : -1, settings.facts),
      d_settings(settings),
      d_radio(std::move(radio)),
      d_transceiver(std::move(transceiver)),
      d_room(static_cast<std::size_t>(
          std::max(settings.buffer_s * framing.acq->sample_rate_hz,
                   3 * framing.pri_samples + 65536))),
      d_waits(d_radio->waits()),
      d_radio_status(d_transceiver->status())
{
    set_tag_propagation_policy(TPP_DONT);
    register_status();
    d_logger->info("{:s}: transmit {:s}, lines of {:d} samples, {:g} a second, alignment "
                   "{:s}",
                   d_radio->name(),
                   to_string(d_transceiver->mode()),
                   framing.acq->samples,
                   d_kernel->line_rate_hz(),
                   to_string(framing.alignment));
    if (!settings.expected)
        return;
    const auto key = d_radio->key();
    std::string differing;
    for (const auto& [field, value] : settings.expected->key) {
        const auto here = key.find(field);
        if (here != key.end() && !same(here->second, value))
            differing += (differing.empty() ? "" : ", ") + field + " " + value +
                         " in place of " + here->second;
    }
    if (!differing.empty())
        d_logger->warn("the calibration {:s} is of another radio or of other settings: "
                       "{:s}; measure: gr_sar calibrate",
                       settings.expected->source,
                       differing);
}

radar_transceiver_impl::~radar_transceiver_impl() { stop_radio(); }

bool radar_transceiver_impl::start()
{
    stop_radio();
    start_stage(*this);
    begin_lines();
    d_told = {};
    d_piece = {};
    d_compared = false;
    d_offset_samples = 0;
    d_stop = false;
    // a thread that cannot be had is an error like others: not thrown out of start()
    try {
        d_transceiver =
            kernel::radar_transceiver::make(d_transceiver->params(), *d_radio);
        {
            const std::lock_guard<std::mutex> guard(d_queue_lock);
            d_queue.clear();
            d_waiting = 0;
            d_said.clear();
            d_radio_status = d_transceiver->status();
            d_radio_error.clear();
            d_radio_ended = false;
        }
        d_thread = std::thread([this] { serve_radio(); });
    } catch (const std::exception& e) {
        const std::lock_guard<std::mutex> guard(d_queue_lock);
        d_radio_error = e.what();
        d_radio_ended = true;
    }
    return gr::block::start();
}

void radar_transceiver_impl::stop_radio() noexcept
{
    {
        const std::lock_guard<std::mutex> guard(d_queue_lock);
        d_stop = true;
    }
    d_less.notify_one();
    if (d_thread.joinable())
        d_thread.join();
}

bool radar_transceiver_impl::stop()
{
    stop_radio();
    say_at_end(d_logger, [&] {
        sum_up();
        const transceiver_status s = radio_status();
        d_logger->info("{:s}: {:d} samples received, {:d} lost, {:d} overflows, {:d} "
                       "underflows, {:d} bursts too late; the transmitter is off",
                       d_radio->name(),
                       s.samples,
                       s.lost_samples,
                       s.overflows + s.untold,
                       s.underflows,
                       s.late);
    });
    return gr::block::stop();
}

// ---- the radio's thread
// ---------------------------------------------------------------------------------

//! Samples that find room; of a radio that waits for its reader, once there is some.
std::int64_t radar_transceiver_impl::room()
{
    std::unique_lock<std::mutex> lock(d_queue_lock);
    if (d_waits)
        d_less.wait(lock, [this] { return d_stop || d_waiting < d_room; });
    // what is read then is taken, however much it is
    return d_waits
               ? std::numeric_limits<std::int64_t>::max()
               : static_cast<std::int64_t>(d_room) - static_cast<std::int64_t>(d_waiting);
}

void radar_transceiver_impl::serve_radio() noexcept
{
    std::string error;
    try {
        d_transceiver->start(host_s());
        while (!d_stop) {
            const std::int64_t free = room();
            if (d_stop)
                break;
            const auto got = d_transceiver->step(host_s(), read_timeout_us, free);
            auto not_sent = d_transceiver->not_sent();
            auto said = d_transceiver->notices();
            const transceiver_status status = d_transceiver->status();

            piece p;
            {
                const std::lock_guard<std::mutex> guard(d_queue_lock);
                if (!d_spare.empty()) {
                    p = std::move(d_spare.back());
                    d_spare.pop_back();
                }
            }
            p.samples.assign(got.samples, got.samples + got.count);
            p.reference.clear();
            if (got.reference)
                p.reference.assign(got.reference, got.reference + got.count);
            p.news = got.news;
            p.not_sent = std::move(not_sent);
            p.host_s = host_s();
            p.used = 0;
            {
                const std::lock_guard<std::mutex> guard(d_queue_lock);
                d_radio_status = status;
                for (std::string& s : said)
                    d_said.push_back(std::move(s));
                if (got.count > 0 || !p.not_sent.empty()) {
                    d_waiting += p.samples.size();
                    d_queue.push_back(std::move(p));
                }
            }
            d_more.notify_one();
        }
    } catch (const std::exception& e) {
        error = e.what();
    } catch (...) {
        error = "unknown exception of the radio's driver";
    }
    d_transceiver->stop();
    const std::lock_guard<std::mutex> guard(d_queue_lock);
    d_radio_error = error;
    d_radio_ended = true;
    d_more.notify_one();
}

transceiver_status radar_transceiver_impl::radio_status() const
{
    const std::lock_guard<std::mutex> guard(d_queue_lock);
    return d_radio_status;
}

// ---- the flowgraph's
// ---------------------------------------------------------------------------------

void radar_transceiver_impl::forecast(int, gr_vector_int& required)
{
    if (d_positions >= 0)
        required[d_positions] = waits_for_position() && !ended(d_positions);
}

int radar_transceiver_impl::general_work(int noutput_items,
                                         gr_vector_int& ninput_items,
                                         gr_vector_const_void_star& input_items,
                                         gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        return give_lines(noutput_items, ninput_items, input_items, output_items);
    });
}

//! The oldest piece that waits, if one comes in time. \return false: none
bool radar_transceiver_impl::next_piece()
{
    std::unique_lock<std::mutex> lock(d_queue_lock);
    if (d_piece.samples.capacity() > 0 && d_spare.size() < 64)
        d_spare.push_back(std::move(d_piece));
    d_piece = {};
    d_more.wait_for(lock, idle, [this] { return !d_queue.empty() || d_radio_ended; });
    if (d_queue.empty()) {
        if (d_radio_ended && !d_radio_error.empty())
            throw std::runtime_error(d_radio_error);
        return false;
    }
    d_piece = std::move(d_queue.front());
    d_queue.pop_front();
    d_waiting -= d_piece.samples.size();
    d_less.notify_one();
    return true;
}

int radar_transceiver_impl::give_lines(int noutput_items,
                                       const gr_vector_int& ninput_items,
                                       const gr_vector_const_void_star& input_items,
                                       gr_vector_void_star& output_items)
{
    inputs in{ ninput_items, input_items, std::vector<int>(ninput_items.size(), 0) };
    int lines = 0;
    int stuck = 0;
    bool finished = false;
    ask_again();
    while (lines < noutput_items && !finished) {
        // of lines, which presum makes fewer
        if (const auto n = d_kernel->ready();
            n && d_settings.pulses > 0 && *n >= d_settings.pulses / d_params.presum) {
            finished = true;
            break;
        }
        if (give_line(in, lines, output_items)) {
            ++lines;
            continue;
        }
        if (waits_for_position())
            break;
        if (d_piece.used == d_piece.samples.size()) {
            if (lines > 0) // what is there goes out before anything is waited for
                if (const std::lock_guard<std::mutex> guard(d_queue_lock);
                    d_queue.empty())
                    break;
            if (!next_piece()) {
                finished = d_stop && lines == 0;
                break;
            }
            for (const auto& [first, last] : d_piece.not_sent)
                d_kernel->not_sent(first, last);
        }
        if (d_piece.news) {
            d_kernel->tell(*d_piece.news);
            d_piece.news.reset();
            continue; // what came before it goes out first
        }
        const int took = d_kernel->feed(
            d_piece.samples.data() + d_piece.used,
            d_piece.reference.empty() ? nullptr : d_piece.reference.data() + d_piece.used,
            nullptr,
            static_cast<int>(d_piece.samples.size() - d_piece.used),
            d_piece.host_s);
        d_piece.used += took;
        stuck = took == 0 && d_piece.used < d_piece.samples.size() ? stuck + 1 : 0;
        if (stuck > 3)
            throw std::logic_error("the framer takes no samples and gives no line");
    }
    for (std::size_t i = 0; i < in.used.size(); ++i)
        consume(static_cast<int>(i), in.used[i]);
    note_status();
    compare_with_expected();
    report(host_s(), lines == 0 && finished);
    return lines == 0 && finished ? WORK_DONE : lines;
}

//! Once the pulse is followed: where it is, and whether that was to be expected.
void radar_transceiver_impl::compare_with_expected()
{
    if (d_compared)
        return;
    const framer_status s = d_kernel->status();
    if (s.framed < settled || s.snr_db <= 0)
        return;
    d_compared = true;
    const double rate = d_params.acq->sample_rate_hz;
    const double delay_s = d_params.delay_s + s.delay_s;
    if (!d_transceiver->scheduled()) {
        d_logger->info("the pulse is seen in what is received, {:.1f} dB over the noise: "
                       "lines begin by it",
                       s.snr_db);
        return;
    }
    d_offset_samples = delay_s * rate;
    d_logger->info("the start offset is {:.3f} samples ({:.6g} s), measured by the pulse "
                   "{:.1f} dB over the noise; pulse 0 left at {:.6f} s of the radio's "
                   "clock",
                   d_offset_samples,
                   delay_s,
                   s.snr_db,
                   clock_offset_s() + d_params.start->fraction_s +
                       static_cast<double>(d_params.start->seconds));
    if (!d_settings.expected)
        return;
    double off = delay_s - d_settings.expected->delay_s;
    if (d_settings.expected->ambiguity_s > 0)
        off = std::remainder(off, d_settings.expected->ambiguity_s);
    if (std::abs(off) * rate > 1)
        d_logger->warn("the start offset is {:+.2f} samples ({:+.1f} m of range) off "
                       "what the calibration {:s} says; {:s}",
                       off * rate,
                       off * speed_of_light / 2,
                       d_settings.expected->source,
                       d_params.correct == framer_correction::none &&
                               s.alignment == "scheduled"
                           ? "lines are where the calibration says: correct = 'delay' "
                             "puts them where the pulse is"
                           : "lines are where the pulse is");
}

double radar_transceiver_impl::clock_offset_s() const
{
    const std::lock_guard<std::mutex> guard(d_queue_lock);
    return 1e-9 * static_cast<double>(d_radio_status.first_sample_ns.value_or(0));
}

void radar_transceiver_impl::add_fields(frame_tag& message) const
{
    const transceiver_status s = radio_status();
    message.put("transmit", s.mode)
        .put("received_samples", s.samples)
        .put("sent_pulses", s.sent)
        .put("overflows", s.overflows)
        .put("untold_losses", s.untold)
        .put("radio_lost_samples", s.lost_samples)
        .put("underflows", s.underflows)
        .put("late", s.late)
        .put("not_sent", s.not_sent)
        .put("untrue_stamps", s.untrue_stamps)
        .put("radio_errors", s.errors)
        .put("start_offset_samples", d_offset_samples);
}

bool radar_transceiver_impl::add_words(std::vector<std::string>& words)
{
    const transceiver_status s = radio_status();
    {
        const std::lock_guard<std::mutex> guard(d_queue_lock);
        for (std::string& w : d_said)
            words.push_back(std::move(w));
        d_said.clear();
    }
    const auto since = [&](auto member) { return s.*member - d_told.*member; };
    if (const auto n =
            since(&transceiver_status::overflows) + since(&transceiver_status::untold))
        words.push_back(
            sentence(n, " losses of the receiver: lower the rate, or free the computer"));
    if (const auto n = since(&transceiver_status::late))
        words.push_back(
            sentence(n,
                     " bursts came too late and were not sent: raise lead_s (",
                     d_settings.lead_s,
                     " s)"));
    if (const auto n = since(&transceiver_status::underflows))
        words.push_back(sentence(n,
                                 " times the transmitter had no samples: lower the rate, "
                                 "or raise lead_s (",
                                 d_settings.lead_s,
                                 " s)"));
    d_told = s;
    return !words.empty();
}

} // namespace sar
} // namespace gr
