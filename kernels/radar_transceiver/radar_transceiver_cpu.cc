// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/names.h"
#include "../core/notices.h"
#include "../pulse_framer/pulse_code.h"
#include "radar_transceiver.h"
#include "radar_transceiver_math.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>

namespace gr {
namespace sar {

namespace {

const name_table<transmit_mode, 5> modes = { "transmit",
                                             { { { transmit_mode::automatic, "auto" },
                                                 { transmit_mode::timed, "timed" },
                                                 { transmit_mode::cyclic, "cyclic" },
                                                 { transmit_mode::stream, "stream" },
                                                 { transmit_mode::none, "none" } } } };

constexpr double receiver_lead_s = 0.05; // from a command to the first sample
constexpr int untrue_in_a_row = 8;       // stamps, until they are looked at no more
constexpr int reports_at_once = 64;
constexpr int errors_in_a_row = 1000;
constexpr int starts = 3; // of a receiver whose command came too late

class transceiver final : public kernel::radar_transceiver
{
public:
    transceiver(const radar_transceiver_params& params, transceiver_radio& radio);
    ~transceiver() override { stop(); }

    transmit_mode mode() const override { return d_mode; }
    bool scheduled() const override { return d_mode == transmit_mode::timed; }
    const radar_transceiver_params& params() const override { return d_p; }
    void start(double host_s) override;
    received step(double host_s, long timeout_us, std::int64_t room) override;
    std::optional<radio_time> first_pulse() const override;
    std::vector<std::pair<std::int64_t, std::int64_t>> not_sent() override
    {
        std::vector<std::pair<std::int64_t, std::int64_t>> out;
        out.swap(d_not_sent);
        return out;
    }
    void stop() noexcept override { d_radio.close(); }
    transceiver_status status() const override;
    std::vector<std::string> notices() override { return d_notices.take(); }

private:
    using code = transceiver_radio::code;
    using outcome = transceiver_radio::outcome;

    transmit_mode choose() const;
    void start_receiver();
    void fill_cycle();
    const cf32* coded(const cf32* samples, std::int64_t n, std::int64_t pulse);
    //! Pulses differ by the code.
    bool varies() const { return d_code.length() > 1; }
    cf32 factor(std::int64_t pulse) const
    {
        const std::complex<double> c = d_code.at(pulse);
        return { static_cast<float>(c.real()), static_cast<float>(c.imag()) };
    }
    //! A driver takes packets, \p count samples of \p n here. Less than it took before is
    //! the rest of a buffer; twice in a row it is what has become free since it was full,
    //! and would be so again at each further write.
    bool is_full(int count, std::int64_t n)
    {
        d_packet = std::max(d_packet, count);
        d_short_writes =
            count < std::min<std::int64_t>(n, d_packet) ? d_short_writes + 1 : 0;
        return d_short_writes > 1;
    }
    void skip_missed();
    std::int64_t newest() const;
    void plan_ahead();
    void send_bursts();
    void send_stream();
    void count_pulse_as_not_sent(std::int64_t first, std::int64_t last);
    void heed_receiver();
    void heed_transmitter();
    void failed(int code, double host_s);
    void heed_stamp(const std::optional<long long>& time_ns);
    radio_time time_of(std::int64_t u) const
    {
        const long double t = static_cast<long double>(u) / d_p.sample_rate_hz;
        const long double whole = std::floor(t);
        return { static_cast<std::uint64_t>(whole), static_cast<double>(t - whole) };
    }

    const radar_transceiver_params d_p;
    transceiver_radio& d_radio;
    const pulse_code d_code;
    const transmit_mode d_mode;
    const std::int64_t d_lead; // samples; that of pulse 0, too
    std::vector<cf32> d_cycle; // an interval
    std::vector<cf32> d_coded; // samples of a pulse with its code
    std::vector<cf32> d_samples, d_reference;

    // receiver
    std::int64_t d_u = 0;   // of the next sample
    bool d_started = false; // samples came
    double d_last_s = 0;    // when the newest did
    int d_starts = 0;       // of the receiver
    int d_errors_in_a_row = 0;
    bool d_overflow_here = false;   // read() said so: right before the next sample
    bool d_overflow_about = false;  // the status said so: somewhere near
    std::int64_t d_about_until = 0; // when that is forgotten
    bool d_has_reports[2] = { true, true };
    bool d_moved = false;        // a loss of known length lies before the next sample
    bool d_unknown = false;      // one of unknown length does
    bool d_counted = true;       // d_u is the time, no loss of unknown length yet
    std::uint64_t d_dropped = 0; // samples the caller had no room for, in a row

    // stamps
    bool d_trusted = true; // they are looked at
    bool d_based = false;
    long long d_base_ns = 0; // time of sample 0
    int d_agree = 0;
    std::int64_t d_rounded = 0; // by so many samples the newest was
    int d_untrue = 0;           // in a row

    // transmitter
    std::int64_t d_pulse = 0;   // next to be sent
    std::size_t d_of_pulse = 0; // samples of it that the radio has
    std::int64_t d_written = 0; // stream: samples
    int d_packet = 0;           // samples that one write took at most
    int d_short_writes = 0;     // in a row
    double d_host_s = 0;        // of this step
    //! The radio's clock, which what was read lags behind, after a burst that came too
    //! late.
    struct clock_look {
        std::int64_t u;
        double host_s;
    };
    std::optional<clock_look> d_clock;
    std::int64_t d_planned = 0; // first pulse that was planned since
    bool d_told_late = false;
    std::vector<std::pair<std::int64_t, std::int64_t>> d_not_sent;

    transceiver_status d_status;
    sar::notices d_notices;
};

transceiver::transceiver(const radar_transceiver_params& params, transceiver_radio& radio)
    : d_p(params),
      d_radio(radio),
      d_code(params.code),
      d_mode(choose()),
      d_lead(static_cast<std::int64_t>(std::ceil(params.lead_s * params.sample_rate_hz)))
{
    d_samples.resize(d_p.chunk);
    if (d_p.reference)
        d_reference.resize(d_p.chunk);
    if (d_mode == transmit_mode::cyclic || d_mode == transmit_mode::stream) {
        d_cycle = d_p.pulse;
        d_cycle.resize(d_p.interval, cf32{ 0, 0 });
    }
    d_status.mode = to_string(d_mode);
}

transmit_mode transceiver::choose() const
{
    const auto within = [](const char* name, double v, double low, double high) {
        require(v >= low && v <= high, // also false for nan
                name,
                " is ",
                v,
                " s; expected ",
                low,
                " to ",
                high);
    };
    require(d_p.sample_rate_hz > 0 && d_p.sample_rate_hz < 1e9,
            "sample_rate_hz is ",
            d_p.sample_rate_hz,
            " Hz; expected more than 0 and less than 1e9: the clock counts nanoseconds");
    within("lead_s", d_p.lead_s, 1e-3, 10);
    within("patience_s", d_p.patience_s, 0.1, 3600);
    require(d_p.chunk >= 1, "chunk is ", d_p.chunk, "; expected 1 sample or more");
    require(d_p.interval >= 2,
            "the interval between pulses is ",
            d_p.interval,
            " samples; expected 2 or more");
    if (d_p.mode == transmit_mode::none)
        return d_p.mode;
    require(!d_p.pulse.empty(), "the pulse has no samples; expected 1 or more");
    const auto length = static_cast<std::int64_t>(d_p.pulse.size());
    require(length <= d_p.interval,
            "the pulse has ",
            length,
            " samples; expected at most the interval between pulses, ",
            d_p.interval);
    for (const cf32 v : d_p.pulse)
        require(std::abs(v.re) <= 1 && std::abs(v.im) <= 1,
                "the pulse holds ",
                v.re,
                " + ",
                v.im,
                "i; expected parts from -1 to 1, full scale of the transmitter");
    for (int m = 0; m < d_code.length(); ++m) {
        const cf32 c = factor(m);
        float peak = 0;
        for (const cf32 v : d_p.pulse)
            peak = std::max({ peak, std::abs((c * v).re), std::abs((c * v).im) });
        require(peak <= 1,
                "the pulse times code[",
                m,
                "] reaches ",
                peak,
                "; expected parts from -1 to 1, full scale of the transmitter: a lower "
                "amplitude");
    }
    if (d_p.mode == transmit_mode::automatic)
        return d_radio.has_time()                 ? transmit_mode::timed
               : d_radio.has_cycle() && !varies() ? transmit_mode::cyclic
                                                  : transmit_mode::stream;
    require(d_p.mode != transmit_mode::timed || d_radio.has_time(),
            "transmit is 'timed', but ",
            d_radio.name(),
            " has no hardware time; expected ",
            d_radio.has_cycle() ? "'cyclic' or 'stream'" : "'stream'",
            ", with leakage or a reference channel to find the pulses by");
    require(d_p.mode != transmit_mode::cyclic || d_radio.has_cycle(),
            "transmit is 'cyclic', but the driver of ",
            d_radio.name(),
            " repeats nothing by itself; expected ",
            d_radio.has_time() ? "'timed' or 'stream'" : "'stream'");
    require(d_p.mode != transmit_mode::cyclic || !varies(),
            "transmit is 'cyclic', which repeats one interval, but code has values that "
            "differ; expected ",
            d_radio.has_time() ? "'timed' or 'stream'" : "'stream'");
    return d_p.mode;
}

// ---- start
// ---------------------------------------------------------------------------------

void transceiver::start_receiver()
{
    ++d_starts;
    // several channels start together only at a time
    if (d_radio.has_time() && (scheduled() || d_p.reference)) {
        const long long at =
            d_radio.time_ns() + static_cast<long long>(1e9 * receiver_lead_s * d_starts);
        const int r = d_radio.start_receiver(at);
        if (r == 0)
            return;
        if (r != code::not_supported)
            throw std::runtime_error(sentence(
                "the receiver of ", d_radio.name(), " does not start: code ", r));
    }
    if (const int r = d_radio.start_receiver(std::nullopt))
        throw std::runtime_error(
            sentence("the receiver of ", d_radio.name(), " does not start: code ", r));
}

void transceiver::start(double host_s)
{
    d_last_s = host_s;
    d_radio.open(d_mode != transmit_mode::none,
                 d_mode == transmit_mode::cyclic ? d_p.interval : 0);
    start_receiver();
    if (d_mode == transmit_mode::none)
        return;
    if (const int r = d_radio.start_transmitter())
        throw std::runtime_error(
            sentence("the transmitter of ", d_radio.name(), " does not start: code ", r));
    if (d_mode == transmit_mode::cyclic)
        fill_cycle();
}

void transceiver::fill_cycle()
{
    constexpr long wait_us = 100000;
    const cf32* const cycle =
        coded(d_cycle.data(), static_cast<std::int64_t>(d_cycle.size()), 0);
    const int tries = 1 + static_cast<int>(d_p.patience_s / (1e-6 * wait_us));
    const auto n = static_cast<std::int64_t>(d_cycle.size());
    int idle = 0;
    for (std::int64_t done = 0; done < n;) {
        const outcome w = d_radio.write(
            cycle + done, static_cast<int>(n - done), std::nullopt, true, wait_us);
        if (w.count > 0) {
            done += w.count;
            idle = 0;
        } else if ((w.count < 0 && w.count != code::timeout) || ++idle >= tries) {
            throw std::runtime_error(
                sentence("the transmitter of ",
                         d_radio.name(),
                         " took ",
                         done,
                         " of the ",
                         n,
                         " samples of a cycle and no more (code ",
                         w.count,
                         "); expected a shorter interval, or transmit = 'stream'"));
        }
    }
}

// ---- transmitter
// ---------------------------------------------------------------------------------

//! \p n samples times the code of a pulse, until it is called again.
const cf32* transceiver::coded(const cf32* samples, std::int64_t n, std::int64_t pulse)
{
    if (d_p.code.empty())
        return samples;
    const cf32 c = factor(pulse);
    d_coded.resize(n);
    for (std::int64_t i = 0; i < n; ++i)
        d_coded[i] = c * samples[i];
    return d_coded.data();
}

void transceiver::count_pulse_as_not_sent(std::int64_t first, std::int64_t last)
{
    first = std::max<std::int64_t>(first, 0);
    if (last < first)
        return;
    d_status.not_sent += last - first + 1;
    d_not_sent.emplace_back(first, last);
}

//! Pulses before the next sample that the radio was not given: it is too late for them.
//! Told with the samples they would be in.
void transceiver::skip_missed()
{
    const std::int64_t first = first_pulse_from(d_u, d_lead, d_p.interval);
    if (d_of_pulse > 0 || first <= d_pulse)
        return;
    count_pulse_as_not_sent(d_pulse, first - 1);
    d_pulse = first;
}

//! The newest sample known: the next one to be read, or, while what was read lags behind
//! the radio's clock, that of the clock.
std::int64_t transceiver::newest() const
{
    if (!d_clock)
        return d_u;
    const double since_s = d_host_s - d_clock->host_s;
    return std::max<std::int64_t>(
        d_u, d_clock->u + std::llround(since_s * d_p.sample_rate_hz));
}

//! A burst came too late, and so would those that follow, as long as the reader lags: go
//! on with the first pulse that is lead_s ahead of the radio's clock.
void transceiver::plan_ahead()
{
    // a clock that is a minute off is none
    const auto most = static_cast<std::int64_t>(60 * d_p.sample_rate_hz);
    const std::int64_t u = sample_at(d_base_ns, d_radio.time_ns(), d_p.sample_rate_hz);
    d_clock.reset();
    if (u > d_u && u - d_u < most)
        d_clock = { u, d_host_s };
    const std::int64_t first = first_pulse_from(newest() + d_lead, d_lead, d_p.interval);
    if (first > d_pulse) {
        if (!d_told_late)
            d_notices.add(
                "a burst came too late; pulses ",
                d_pulse,
                " to ",
                first - 1,
                " are left out, so that the next is lead_s ahead again. Not said again");
        d_told_late = true;
        count_pulse_as_not_sent(d_pulse, first - 1);
        d_pulse = first;
    }
    d_planned = d_pulse;
}

//! Bursts up to lead_s ahead of what was received, as many as the radio takes.
void transceiver::send_bursts()
{
    if (!d_based || d_agree == 0) // two stamps that agree are a clock
        return;
    const std::int64_t now = newest();
    if (now - d_u <= d_lead / 4) // caught up
        d_clock.reset();
    for (;;) {
        const std::int64_t at = d_lead + d_pulse * d_p.interval;
        if (d_of_pulse == 0 && at > now + d_lead)
            return;
        std::optional<long long> when;
        if (d_of_pulse == 0)
            when = sample_time_ns(d_base_ns, at, d_p.sample_rate_hz);
        const auto left = static_cast<int>(d_p.pulse.size() - d_of_pulse);
        const outcome w = d_radio.write(
            coded(d_p.pulse.data() + d_of_pulse, left, d_pulse), left, when, true, 0);
        if (w.count == 0 || w.count == code::timeout)
            return;
        if (w.count == code::time_error || w.count == code::underflow) {
            ++(w.count == code::time_error ? d_status.late : d_status.underflows);
            count_pulse_as_not_sent(d_pulse, d_pulse);
            ++d_pulse;
            d_of_pulse = 0;
            if (w.count == code::time_error) {
                plan_ahead();
                return;
            }
            continue;
        }
        if (w.count < 0)
            throw std::runtime_error(
                sentence("the transmitter of ",
                         d_radio.name(),
                         " refuses a burst at a time (code ",
                         w.count,
                         "); expected transmit = 'stream', with leakage or a reference "
                         "channel to find the pulses by"));
        d_of_pulse += w.count;
        if (is_full(w.count, left))
            return;
        if (d_of_pulse < d_p.pulse.size())
            continue;
        d_of_pulse = 0;
        ++d_pulse;
        ++d_status.sent;
    }
}

//! Pulses and silence, lead_s ahead: the receiver's samples are the pace, since a driver
//! may take without end, or wait.
void transceiver::send_stream()
{
    while (d_written < d_u + d_lead) {
        const std::int64_t at = d_written % d_p.interval;
        const std::int64_t n = std::min(
            { d_p.interval - at, d_u + d_lead - d_written, std::int64_t(d_p.chunk) });
        const outcome w =
            d_radio.write(coded(d_cycle.data() + at, n, d_written / d_p.interval),
                          static_cast<int>(n),
                          std::nullopt,
                          false,
                          0);
        if (w.count == code::underflow) {
            ++d_status.underflows;
            return;
        }
        if (w.count == 0 || w.count == code::timeout)
            return;
        if (w.count < 0)
            throw std::runtime_error(sentence("the transmitter of ",
                                              d_radio.name(),
                                              " takes no more samples: code ",
                                              w.count));
        const std::int64_t before = d_written / d_p.interval;
        d_written += w.count;
        d_status.sent += d_written / d_p.interval - before;
        if (is_full(w.count, n))
            return;
    }
}

void transceiver::heed_transmitter()
{
    for (int i = 0; i < reports_at_once && d_has_reports[1]; ++i) {
        const outcome r = d_radio.transmitter_status();
        if (r.count == code::timeout)
            return;
        if (r.count == code::not_supported) {
            d_has_reports[1] = false;
            return;
        }
        const bool late = r.count == code::time_error;
        if (!late && r.count != code::underflow) {
            d_status.errors += r.count < 0;
            continue;
        }
        ++(late ? d_status.late : d_status.underflows);
        if (!scheduled() || !d_based || !r.time_ns)
            continue;
        const std::int64_t u = sample_at(d_base_ns, *r.time_ns, d_p.sample_rate_hz);
        const std::int64_t n =
            pulse_of_sample(late ? u + d_p.interval / 2 : u, d_lead, d_p.interval);
        count_pulse_as_not_sent(n, n);
        // those that were handed over before tell nothing new
        if (late && n >= d_planned && d_of_pulse == 0)
            plan_ahead();
    }
}

// ---- receiver
// ---------------------------------------------------------------------------------

void transceiver::heed_receiver()
{
    for (int i = 0; i < reports_at_once && d_has_reports[0]; ++i) {
        const outcome r = d_radio.receiver_status();
        if (r.count == code::timeout)
            return;
        if (r.count == code::not_supported) {
            d_has_reports[0] = false;
            return;
        }
        if (r.count == code::overflow) {
            ++d_status.overflows;
            d_overflow_about = true;
            d_about_until = d_u + static_cast<std::int64_t>(d_p.sample_rate_hz);
        } else {
            d_status.errors += r.count < 0;
        }
    }
}

void transceiver::failed(int what, double host_s)
{
    if (what == code::overflow) {
        ++d_status.overflows;
        d_overflow_here = true;
        return;
    }
    if (what == 0 || what == code::timeout) {
        if (host_s - d_last_s > d_p.patience_s)
            throw std::runtime_error(
                sentence("no sample came from ",
                         d_radio.name(),
                         " in ",
                         d_p.patience_s,
                         " s; is it still plugged in, is another program using it, does "
                         "the rate of ",
                         d_p.sample_rate_hz,
                         " Hz pass through the cable?"));
        return;
    }
    if (what == code::not_supported)
        throw std::runtime_error(sentence(
            "the driver of ", d_radio.name(), " does not support this receive stream"));
    ++d_status.errors;
    // UHD says stream error where others say time error
    if (!d_started && d_starts < starts) {
        start_receiver();
        return;
    }
    d_overflow_here = d_started;
    if (++d_errors_in_a_row >= errors_in_a_row)
        throw std::runtime_error(
            sentence("the receiver of ",
                     d_radio.name(),
                     " gives errors and no samples, the last with code ",
                     what));
}

//! What lies between the last sample and the one at d_u, which has this stamp.
void transceiver::heed_stamp(const std::optional<long long>& time_ns)
{
    const bool here = d_overflow_here;
    d_overflow_here = false;
    if (d_overflow_about && d_u > d_about_until)
        d_overflow_about = false;
    const auto lost = [&](bool known) {
        if (known) {
            d_moved = true;
        } else {
            d_unknown = true;
            d_counted = false;
        }
        d_overflow_about = false;
    };
    if (!time_ns || !d_trusted) {
        if (here || d_overflow_about)
            lost(false);
        return;
    }
    const auto untrue = [&](const auto&... why) {
        ++d_status.untrue_stamps;
        if (d_untrue == 0)
            d_notices.add("the stamp of sample ", d_u, ", ", *time_ns, " ns, ", why...);
        if (here)
            lost(false);
        if (++d_untrue < untrue_in_a_row)
            return;
        if (scheduled() && d_agree == 0)
            throw std::runtime_error(sentence(
                "the time stamps of ",
                d_radio.name(),
                " are no clock (the last ones: ",
                *time_ns,
                " ns, where the count of samples says ",
                sample_time_ns(d_base_ns, d_u, d_p.sample_rate_hz),
                " ns), and pulses cannot be scheduled by them; expected transmit "
                "= ",
                d_radio.has_cycle() ? "'cyclic' or 'stream'" : "'stream'",
                ", with leakage or a reference channel"));
        d_trusted = false;
        d_notices.add("time stamps are not looked at any more: ",
                      untrue_in_a_row,
                      " in a row cannot be true");
    };
    if (*time_ns < 0) {
        untrue("is before all time");
        return;
    }
    if (!d_based) {
        d_based = true;
        d_base_ns = *time_ns - sample_time_ns(0, d_u, d_p.sample_rate_hz);
        d_status.first_sample_ns = d_base_ns;
        if (here)
            lost(false);
        return;
    }
    std::int64_t ahead = sample_at(d_base_ns, *time_ns, d_p.sample_rate_hz) - d_u;
    switch (judge_stamp(ahead, here || d_overflow_about)) {
    case stamp_verdict::right:
        ++d_agree;
        d_untrue = 0;
        if (here) // the clock did not see it
            lost(false);
        break;
    case stamp_verdict::rounded:
        // two that are off alike, while none agreed with the first: that one was
        if (d_agree == 0 && ahead == d_rounded) {
            d_base_ns = *time_ns - sample_time_ns(0, d_u, d_p.sample_rate_hz);
            d_status.first_sample_ns = d_base_ns;
            ahead = 0;
        }
        d_rounded = ahead;
        if (here)
            lost(false);
        break;
    case stamp_verdict::lost:
        d_untrue = 0;
        d_status.untold += !here && !d_overflow_about;
        d_status.lost_samples += ahead;
        d_u += ahead;
        d_counted = true; // the stamp says where we are
        d_unknown = false;
        lost(true);
        break;
    case stamp_verdict::untrue:
        untrue("lies ", -ahead, " samples before it");
        break;
    }
}

kernel::radar_transceiver::received
transceiver::step(double host_s, long timeout_us, std::int64_t room)
{
    d_host_s = host_s;
    if (scheduled())
        send_bursts();
    else if (d_mode == transmit_mode::stream)
        send_stream();
    if (d_mode != transmit_mode::none)
        heed_transmitter();

    received out;
    const outcome r = d_radio.read(d_samples.data(),
                                   d_p.reference ? d_reference.data() : nullptr,
                                   d_p.chunk,
                                   timeout_us);
    heed_receiver();
    if (r.count <= 0) {
        failed(r.count, host_s);
        return out;
    }
    d_last_s = host_s;
    d_errors_in_a_row = 0;
    const bool first = !d_started;
    d_started = true;
    heed_stamp(r.time_ns);
    const std::int64_t u = d_u;
    d_u += r.count;
    if (scheduled())
        skip_missed();
    d_status.samples += r.count;
    if (r.count > room) {
        d_status.lost_samples += r.count;
        d_dropped += r.count;
        (d_counted ? d_moved : d_unknown) = true;
        return out;
    }
    if (d_dropped > 0)
        d_notices.add("the flowgraph is too slow: ",
                      d_dropped,
                      " samples were received and dropped");
    d_dropped = 0;
    out.samples = d_samples.data();
    out.reference = d_p.reference ? d_reference.data() : nullptr;
    out.count = r.count;
    out.first = u;
    if (first || d_moved || d_unknown) {
        kernel::radio_news news;
        news.gap = !first && (d_moved || d_unknown);
        if (!d_unknown)
            news.time = time_of(u);
        if (first)
            news.rate_hz = d_p.sample_rate_hz;
        out.news = news;
    }
    d_moved = d_unknown = false;
    return out;
}

std::optional<radio_time> transceiver::first_pulse() const
{
    if (!scheduled())
        return std::nullopt;
    return time_of(d_lead);
}

transceiver_status transceiver::status() const { return d_status; }

} // namespace

transmit_mode transmit_mode_from_name(const std::string& n) { return modes.from_name(n); }
std::string to_string(transmit_mode m) { return modes.to_name(m); }

std::unique_ptr<kernel::radar_transceiver>
kernel::radar_transceiver::make(const radar_transceiver_params& params,
                                transceiver_radio& radio)
{
    return std::make_unique<transceiver>(params, radio);
}

} // namespace sar
} // namespace gr
