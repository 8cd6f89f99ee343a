// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE qa_radar_transceiver
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include "radar_transceiver.h"
#include "radar_transceiver_math.h"
#include <algorithm>
#include <deque>
#include <functional>
#include <map>

using namespace gr::sar;

namespace {

constexpr double fs = 1e6;

//! A radio that does what a test tells it, and remembers what it was told.
class scripted_radio final : public transceiver_radio
{
public:
    struct burst {
        std::optional<long long> time_ns;
        std::vector<cf32> samples;
        bool ended = false;
    };

    bool clock = true, cycle = false, timed_start = true;
    int piece = 100;         // samples of a read
    int takes = 1 << 30;     // samples of a write
    std::int64_t fifo = -1;  // samples taken ahead of those received; -1: any
    std::int64_t holds = -1; // the same of a stream, whose clock goes on meanwhile:
    int drips = 2;           // a full one still takes so many with each write
    int buffer = 0;          // a write ends where one of these does; 0: anywhere
    std::int64_t taken = 0;
    int writes = 0;
    long long base_ns = 0; // of sample 0
    int stamp_offset_ns = 0;
    std::int64_t now = 0; // samples
    // samples that the clock is ahead of those read; a burst before it comes too late
    std::optional<std::int64_t> ahead;
    bool refuses_late = false; // else it is reported
    std::function<std::optional<long long>(std::int64_t, long long)> stamp =
        [](std::int64_t, long long t) { return t; };
    std::map<std::int64_t, std::vector<outcome>> instead; // at sample: codes of read()
    std::map<std::int64_t, std::int64_t> lost;            // at sample: how many
    std::deque<outcome> rx_reports, tx_reports;
    std::deque<outcome> write_codes;
    bool rx_reports_known = true;

    bool open_ = false, transmits = false, tx_on = false;
    std::int64_t cycle_ = 0;
    int rx_starts = 0, closes = 0;
    std::optional<long long> rx_time_ns;
    std::vector<burst> bursts;
    std::vector<std::string> order;

    std::string name() const override { return "driver=script"; }
    bool has_time() const override { return clock; }
    bool has_cycle() const override { return cycle; }
    long long time_ns() override { return ns(now + ahead.value_or(0)); }
    long long ns(std::int64_t u) const
    {
        return base_ns + std::llround(u * 1e9L / fs) + stamp_offset_ns;
    }
    void open(bool transmit, std::int64_t c) override
    {
        open_ = true;
        transmits = transmit;
        cycle_ = c;
    }
    void close() noexcept override
    {
        if (open_)
            ++closes;
        open_ = tx_on = false;
    }
    int start_receiver(std::optional<long long> t) override
    {
        ++rx_starts;
        order.push_back("rx");
        if (t && !timed_start)
            return not_supported;
        rx_time_ns = t;
        if (t)
            now = sample_at(ns(0), *t, fs);
        return 0;
    }
    int start_transmitter() override
    {
        order.push_back("tx");
        tx_on = true;
        return 0;
    }
    outcome read(cf32* out, cf32* reference, int n, long) override
    {
        auto codes = instead.find(now);
        if (codes != instead.end() && !codes->second.empty()) {
            const outcome o = codes->second.front();
            codes->second.erase(codes->second.begin());
            return o;
        }
        if (auto l = lost.find(now); l != lost.end()) {
            const std::int64_t gone = l->second;
            lost.erase(l);
            now += gone;
        }
        int got = std::min(n, piece);
        for (const auto& [at, what] : instead)
            if (at > now && !what.empty())
                got = static_cast<int>(std::min<std::int64_t>(got, at - now));
        for (const auto& [at, what] : lost)
            if (at > now)
                got = static_cast<int>(std::min<std::int64_t>(got, at - now));
        for (int i = 0; i < got; ++i)
            out[i] = { static_cast<float>(now + i), 0 };
        if (reference)
            std::fill_n(reference, got, cf32{ 1, 0 });
        const std::optional<long long> t =
            clock ? stamp(now, ns(now)) : std::optional<long long>();
        now += got;
        return { got, t };
    }
    outcome
    write(const cf32* x, int n, std::optional<long long> t, bool ends, long) override
    {
        if (!write_codes.empty()) {
            const outcome o = write_codes.front();
            write_codes.pop_front();
            if (o.count != 0)
                return o;
        }
        const bool anew = bursts.empty() || bursts.back().ended || t;
        int part = std::min(n, takes);
        ++writes;
        if (holds >= 0)
            part = static_cast<int>(
                std::clamp<std::int64_t>(now + holds - taken, std::min(n, drips), part));
        if (buffer > 0)
            part = static_cast<int>(
                std::min(part, buffer - static_cast<int>(taken % buffer)));
        taken += part;
        if (fifo >= 0) {
            std::int64_t end = now;
            if (!bursts.empty() && bursts.back().time_ns)
                end = sample_at(ns(0), *bursts.back().time_ns, fs) +
                      bursts.back().samples.size();
            part = static_cast<int>(std::min<std::int64_t>(part, now + fifo - end));
        }
        if (part <= 0)
            return { timeout, std::nullopt };
        if (t && ahead && *t < time_ns()) {
            if (refuses_late)
                return { time_error, std::nullopt };
            tx_reports.push_back({ time_error, t });
            return { n, std::nullopt };
        }
        if (anew)
            bursts.push_back({ t, {}, false });
        bursts.back().samples.insert(bursts.back().samples.end(), x, x + part);
        bursts.back().ended = ends && part == n;
        return { part, std::nullopt };
    }
    outcome receiver_status() override
    {
        return rx_reports_known ? next(rx_reports) : outcome{ not_supported, {} };
    }
    outcome transmitter_status() override { return next(tx_reports); }

private:
    static outcome next(std::deque<outcome>& q)
    {
        if (q.empty())
            return { timeout, std::nullopt };
        const outcome o = q.front();
        q.pop_front();
        return o;
    }
};

radar_transceiver_params params_of(transmit_mode mode = transmit_mode::automatic,
                                   std::int64_t interval = 1000)
{
    radar_transceiver_params p;
    for (int i = 0; i < 40; ++i)
        p.pulse.push_back({ 0.01f * (i + 1), 0 });
    p.sample_rate_hz = fs;
    p.interval = interval;
    p.mode = mode;
    p.lead_s = 5e-3;
    p.patience_s = 1;
    return p;
}

//! What was delivered: number of the sample that each piece begins with, and the news.
struct delivered {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> number;     // of it, as the transceiver counts
    std::vector<kernel::radio_news> news; // those there were
    std::vector<std::int64_t> news_at;    // of the sample behind them
    std::vector<std::pair<std::int64_t, std::int64_t>> not_sent;
    std::int64_t samples = 0;
};

delivered run(kernel::radar_transceiver& t, int steps, std::int64_t room = 1 << 30)
{
    delivered d;
    for (int i = 0; i < steps; ++i) {
        const auto r = t.step(i * 1e-4, 1000, room);
        for (const auto& n : t.not_sent())
            d.not_sent.push_back(n);
        if (r.count == 0)
            continue;
        const auto first = static_cast<std::int64_t>(r.samples[0].re);
        if (r.news) {
            d.news.push_back(*r.news);
            d.news_at.push_back(first);
        }
        d.first.push_back(first);
        d.number.push_back(r.first);
        d.samples += r.count;
    }
    return d;
}

double samples_of(const radio_time& t) { return (t.seconds + t.fraction_s) * fs; }

} // namespace

BOOST_AUTO_TEST_CASE(numbers_of_samples_and_pulses)
{
    // 40 days into a clock, at rates that are no whole number of ns
    const long long base = 40ll * 86400 * 1000000000;
    for (const double rate : { 1e6, 3e6, 30.72e6, 61.44e6 })
        for (const std::int64_t u : { 0ll, 1ll, 12345677ll, 1ll << 45 })
            BOOST_TEST(sample_at(base, sample_time_ns(base, u, rate), rate) == u);
    BOOST_TEST(pulse_of_sample(99, 100, 10) == -1);
    BOOST_TEST(pulse_of_sample(100, 100, 10) == 0);
    BOOST_TEST(pulse_of_sample(109, 100, 10) == 0);
    BOOST_TEST(pulse_of_sample(90, 100, 10) == -1);
    BOOST_TEST(pulse_of_sample(89, 100, 10) == -2);
    BOOST_TEST(first_pulse_from(100, 100, 10) == 0);
    BOOST_TEST(first_pulse_from(101, 100, 10) == 1);
    BOOST_TEST(first_pulse_from(50, 100, 10) == -5);
    BOOST_CHECK(judge_stamp(0, true) == stamp_verdict::right);
    BOOST_CHECK(judge_stamp(1, false) == stamp_verdict::rounded);
    BOOST_CHECK(judge_stamp(1, true) == stamp_verdict::lost);
    BOOST_CHECK(judge_stamp(2, false) == stamp_verdict::lost);
    BOOST_CHECK(judge_stamp(-1, true) == stamp_verdict::rounded);
    BOOST_CHECK(judge_stamp(-2, true) == stamp_verdict::untrue);
}

BOOST_AUTO_TEST_CASE(what_the_driver_can_decides_how_pulses_are_sent)
{
    for (const bool clock : { true, false })
        for (const bool cycle : { true, false }) {
            scripted_radio radio;
            radio.clock = clock;
            radio.cycle = cycle;
            const auto t = kernel::radar_transceiver::make(params_of(), radio);
            BOOST_CHECK(t->mode() == (clock   ? transmit_mode::timed
                                      : cycle ? transmit_mode::cyclic
                                              : transmit_mode::stream));
            BOOST_TEST(t->scheduled() == clock);
            BOOST_TEST(t->first_pulse().has_value() == clock);
        }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_a_cure)
{
    scripted_radio radio;
    radio.clock = radio.cycle = false;
    const auto refused = [&](const radar_transceiver_params& p, const char* words) {
        const std::string s =
            sentence_of([&] { kernel::radar_transceiver::make(p, radio); });
        BOOST_TEST(has(s, words), s);
        BOOST_TEST(has(s, "expected"), s);
    };
    refused(params_of(transmit_mode::timed), "has no hardware time; expected 'stream'");
    refused(params_of(transmit_mode::cyclic), "repeats nothing by itself");
    auto p = params_of();
    p.interval = 39;
    refused(p, "the pulse has 40 samples");
    p = params_of();
    p.pulse.clear();
    refused(p, "the pulse has no samples");
    p = params_of();
    p.pulse[3] = { 0, -1.5f };
    refused(p, "full scale");
    p = params_of();
    p.lead_s = 0;
    refused(p, "lead_s is 0");
    p = params_of();
    p.sample_rate_hz = 0;
    refused(p, "sample_rate_hz is 0");
    radio.cycle = true;
    refused(params_of(transmit_mode::timed), "'cyclic' or 'stream'");
}

BOOST_AUTO_TEST_CASE(timed_bursts_leave_on_the_receivers_samples)
{
    // whatever pieces the driver takes, and wherever its clock stands
    for (const int takes : { 1 << 30, 7 })
        for (const long long base : { 0ll, 123456789012345ll }) {
            scripted_radio radio;
            radio.takes = takes;
            radio.base_ns = base;
            radio.now = 777;
            const auto p = params_of();
            const auto t = kernel::radar_transceiver::make(p, radio);
            t->start(0);
            BOOST_TEST(radio.order[0] == "rx");
            BOOST_TEST(radio.rx_time_ns.has_value());
            const std::int64_t begin = radio.now;
            const delivered d = run(*t, 300);
            BOOST_TEST(samples_of(*t->first_pulse()) == 5000);
            BOOST_REQUIRE(radio.bursts.size() >= 25);
            for (std::size_t n = 0; n + 1 < radio.bursts.size(); ++n) {
                const auto& b = radio.bursts[n];
                BOOST_REQUIRE(b.time_ns);
                BOOST_TEST(*b.time_ns == radio.ns(begin + 5000 + 1000 * n));
                BOOST_TEST(b.ended);
                BOOST_REQUIRE(b.samples.size() == p.pulse.size());
                for (std::size_t i = 0; i < p.pulse.size(); ++i)
                    BOOST_TEST(b.samples[i].re == p.pulse[i].re);
            }
            // as far ahead as was said, and no further
            BOOST_TEST(*radio.bursts.back().time_ns <= radio.ns(radio.now + 5000));
            BOOST_TEST(*radio.bursts.back().time_ns > radio.ns(radio.now + 3800));
            BOOST_REQUIRE(d.news.size() == 1);
            BOOST_TEST(samples_of(*d.news[0].time) == 0);
            BOOST_TEST(!d.news[0].gap);
            BOOST_TEST(t->status().late == 0);
            BOOST_TEST(*t->status().first_sample_ns == radio.ns(begin));
        }
}

BOOST_AUTO_TEST_CASE(pulses_are_sent_times_their_code)
{
    const std::vector<cf32> code = { { 1, 0 }, { 0, 0.5f }, { -1, 0 } };
    for (const int takes : { 1 << 30, 7 }) {
        auto p = params_of(transmit_mode::timed);
        p.code = code;
        scripted_radio timed;
        timed.takes = takes;
        auto t = kernel::radar_transceiver::make(p, timed);
        t->start(0);
        run(*t, 300);
        BOOST_REQUIRE(timed.bursts.size() >= 25);
        for (std::size_t n = 0; n + 1 < timed.bursts.size(); ++n)
            for (std::size_t i = 0; i < p.pulse.size(); ++i)
                BOOST_REQUIRE(
                    norm(timed.bursts[n].samples[i] - code[n % 3] * p.pulse[i]) == 0);

        p.mode = transmit_mode::stream;
        p.chunk = 130; // no part of an interval
        scripted_radio stream;
        stream.takes = takes;
        t = kernel::radar_transceiver::make(p, stream);
        t->start(0);
        run(*t, 300);
        const auto& sent = stream.bursts.at(0).samples;
        BOOST_REQUIRE(sent.size() > 6000);
        for (std::size_t u = 0; u < sent.size(); ++u) {
            const std::size_t i = u % 1000;
            const cf32 v = i < p.pulse.size() ? p.pulse[i] : cf32{ 0, 0 };
            BOOST_REQUIRE(norm(sent[u] - code[u / 1000 % 3] * v) == 0);
        }
    }

    // a buffer that repeats has one value
    scripted_radio radio;
    radio.clock = false;
    radio.cycle = true;
    auto p = params_of();
    p.code = code;
    BOOST_CHECK(kernel::radar_transceiver::make(p, radio)->mode() ==
                transmit_mode::stream);
    p.mode = transmit_mode::cyclic;
    BOOST_TEST(has(sentence_of([&] { kernel::radar_transceiver::make(p, radio); }),
                   "code has values that differ; expected 'stream'"));
    p.code = { { 0, -1 }, { 0, -1 } };
    auto t = kernel::radar_transceiver::make(p, radio);
    BOOST_CHECK(t->mode() == transmit_mode::cyclic);
    t->start(0);
    BOOST_TEST(radio.bursts.at(0).samples[3].im == -p.pulse[3].re);

    p.mode = transmit_mode::stream;
    p.code = { { 1, 0 }, { 4, 0 } };
    BOOST_TEST(has(sentence_of([&] { kernel::radar_transceiver::make(p, radio); }),
                   "the pulse times code[1] reaches 1.59"));
    p.code[1] = { 0, 0 };
    BOOST_TEST(has(sentence_of([&] { kernel::radar_transceiver::make(p, radio); }),
                   "code[1] is 0 + 0i"));
}

BOOST_AUTO_TEST_CASE(a_loss_is_as_long_as_the_stamps_say)
{
    // by the code of read(), by the report of the status, by the stamps alone
    for (const int sign : { 0, 1, 2 }) {
        scripted_radio radio;
        const auto t = kernel::radar_transceiver::make(params_of(), radio);
        t->start(0);
        const std::int64_t begin = radio.now;
        radio.lost[begin + 3050] = 4321;
        if (sign == 0)
            radio.instead[begin + 3050] = { { transceiver_radio::overflow, {} } };
        delivered d = run(*t, 20);
        if (sign == 1)
            radio.rx_reports.push_back({ transceiver_radio::overflow, {} });
        const delivered more = run(*t, 200);
        BOOST_REQUIRE(more.news.size() == 1);
        BOOST_TEST(more.news_at[0] == begin + 3050 + 4321);
        BOOST_TEST(samples_of(*more.news[0].time) == 3050 + 4321);
        BOOST_TEST(more.news[0].gap);
        for (std::size_t i = 0; i < more.first.size(); ++i)
            BOOST_TEST(more.number[i] == more.first[i] - begin);
        const transceiver_status s = t->status();
        BOOST_TEST(s.lost_samples == 4321);
        BOOST_TEST(s.overflows == (sign < 2 ? 1 : 0));
        BOOST_TEST(s.untold == (sign < 2 ? 0 : 1));
        // pulses go on where they were meant to; those of the time in between are gone
        std::int64_t n = 0;
        for (const auto& b : radio.bursts) {
            const std::int64_t at = sample_at(radio.ns(begin), *b.time_ns, fs) - 5000;
            BOOST_TEST(at % 1000 == 0);
            BOOST_TEST(at / 1000 >= n);
            n = at / 1000 + 1;
        }
    }
}

BOOST_AUTO_TEST_CASE(a_loss_without_a_stamp_is_of_unknown_length)
{
    scripted_radio radio;
    radio.clock = false;
    radio.rx_reports_known = false;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    BOOST_TEST(!radio.rx_time_ns.has_value());
    radio.lost[2000] = 500;
    radio.instead[2000] = { { transceiver_radio::overflow, {} } };
    const delivered d = run(*t, 60);
    BOOST_REQUIRE(d.news.size() == 2);
    BOOST_TEST(samples_of(*d.news[0].time) == 0);
    BOOST_TEST(d.news_at[1] == 2500);
    BOOST_TEST(d.news[1].gap);
    BOOST_TEST(!d.news[1].time.has_value());
    BOOST_TEST(t->status().overflows == 1);
    BOOST_TEST(t->status().lost_samples == 0);
}

BOOST_AUTO_TEST_CASE(stamps_that_are_no_clock)
{
    struct lie {
        std::function<std::optional<long long>(std::int64_t, long long)> stamp;
        const char* words;
    };
    const std::vector<lie> lies = {
        { [](std::int64_t, long long) { return -1ll; }, "before all time" },
        { [](std::int64_t, long long) { return 0ll; }, "samples before it" },
        { [](std::int64_t, long long t) { return 900000000ll - t; }, "samples before it" }
    };
    for (const lie& l : lies) {
        scripted_radio radio;
        radio.stamp = l.stamp;
        const auto t = kernel::radar_transceiver::make(params_of(), radio);
        t->start(0);
        const std::string s = sentence_of([&] { run(*t, 50); });
        BOOST_TEST(has(s, "are no clock"), s);
        BOOST_TEST(has(s, "expected transmit = 'stream'"), s);
        BOOST_TEST(radio.bursts.empty());
        BOOST_TEST(has(t->notices().at(0), l.words));
        // and where nothing is scheduled they do no harm
        scripted_radio other;
        other.stamp = l.stamp;
        const auto u =
            kernel::radar_transceiver::make(params_of(transmit_mode::stream), other);
        u->start(0);
        const delivered d = run(*u, 50);
        BOOST_TEST(d.samples == 5000);
        BOOST_TEST(d.news.size() == 1);
        BOOST_TEST(u->status().untrue_stamps == 8);
    }
}

BOOST_AUTO_TEST_CASE(a_first_stamp_a_sample_off_is_not_the_clock)
{
    for (const long long off_ns : { -1000ll, 1000ll }) {
        scripted_radio radio;
        int reads = 0;
        radio.stamp = [&](std::int64_t, long long t) {
            return reads++ == 0 ? t + off_ns : t;
        };
        const auto t = kernel::radar_transceiver::make(params_of(), radio);
        t->start(0);
        const std::int64_t begin = radio.now;
        const delivered d = run(*t, 300);
        BOOST_REQUIRE(radio.bursts.size() >= 25);
        for (std::size_t n = 0; n < radio.bursts.size(); ++n)
            BOOST_TEST(*radio.bursts[n].time_ns == radio.ns(begin + 5000 + 1000 * n));
        BOOST_TEST(*t->status().first_sample_ns == radio.ns(begin));
        BOOST_TEST(t->status().lost_samples == 0);
        BOOST_TEST(d.news.size() == 1);
    }
    // nor is a single one between those that agree
    scripted_radio radio;
    int reads = 0;
    radio.stamp = [&](std::int64_t, long long t) {
        return reads++ % 2 == 1 ? t + 1000 : t;
    };
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    const std::int64_t begin = radio.now;
    run(*t, 300);
    BOOST_REQUIRE(radio.bursts.size() >= 25);
    BOOST_TEST(*radio.bursts[0].time_ns == radio.ns(begin + 5000));
}

BOOST_AUTO_TEST_CASE(bursts_that_failed_are_pulses_that_were_not_sent)
{
    scripted_radio radio;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    const std::int64_t begin = radio.now;
    run(*t, 100);
    const auto ns = [&](std::int64_t u) { return radio.ns(begin + 5000 + u); };
    radio.tx_reports = { { transceiver_radio::time_error, ns(7000) },
                         { 0, ns(8000) }, // the end of a burst, no fault
                         { transceiver_radio::underflow, ns(9017) },
                         { transceiver_radio::time_error, {} } };
    const delivered d = run(*t, 10);
    const std::vector<std::pair<std::int64_t, std::int64_t>> want{ { 7, 7 }, { 9, 9 } };
    BOOST_TEST((d.not_sent == want));
    BOOST_TEST(t->status().late == 2);
    BOOST_TEST(t->status().underflows == 1);
    BOOST_TEST(t->status().not_sent == 2);
    // a receiver that was away for long: what should have been sent meanwhile was not
    radio.lost[radio.now + 50] = 20000;
    const delivered e = run(*t, 10);
    BOOST_REQUIRE(e.not_sent.size() == 1);
    // each number was either handed to the radio or counted as not sent
    std::vector<int> seen(100);
    std::int64_t last = 0;
    for (const auto& b : radio.bursts) {
        BOOST_TEST((*b.time_ns - ns(0)) % 1000000 == 0);
        last = (*b.time_ns - ns(0)) / 1000000;
        ++seen.at(last);
    }
    for (std::int64_t n = e.not_sent[0].first; n <= e.not_sent[0].second; ++n)
        ++seen.at(n);
    BOOST_TEST(e.not_sent[0].second - e.not_sent[0].first >= 13);
    for (std::int64_t n = 0; n <= last; ++n)
        BOOST_TEST(seen[n] == 1);
    // a driver that says so at once
    radio.write_codes = { { transceiver_radio::time_error, {} } };
    const std::uint64_t late = t->status().late;
    run(*t, 20);
    BOOST_TEST(t->status().late == late + 1);
    radio.write_codes = { { transceiver_radio::not_supported, {} } };
    BOOST_TEST(has(sentence_of([&] { run(*t, 20); }), "refuses a burst at a time"));
}

BOOST_AUTO_TEST_CASE(one_stall_costs_one_stall)
{
    // nobody reads for 8000 samples of a clock that goes on, 3000 more than the lead;
    // what waits is then read a tenth faster than it comes, which takes 800 steps. The
    // driver reports late bursts, or refuses them at once.
    for (const bool at_once : { false, true }) {
        scripted_radio radio;
        radio.piece = 110;
        radio.ahead = 0;
        radio.refuses_late = at_once;
        const auto t = kernel::radar_transceiver::make(params_of(), radio);
        t->start(0);
        const std::int64_t begin = radio.now;
        double host_s = 0;
        std::vector<int> seen(300);
        const auto steps = [&](int n) {
            for (int i = 0; i < n; ++i) {
                t->step(host_s, 1000, 1 << 30);
                for (const auto& [first, last] : t->not_sent())
                    for (std::int64_t p = first; p <= last; ++p)
                        ++seen.at(p);
                host_s += 100 / fs;
                radio.ahead = std::max<std::int64_t>(0, *radio.ahead - 10);
            }
        };
        steps(500);
        BOOST_TEST(t->status().late == 0);
        host_s += 8000 / fs;
        radio.ahead = 8000;
        steps(1500);
        const transceiver_status s = t->status();
        // the first that is late tells; those up to lead_s ahead of the clock are left
        // out
        BOOST_TEST(s.late == 1);
        BOOST_TEST(s.not_sent >= 3);
        BOOST_TEST(s.not_sent <= 3 + 5 + 1);
        // each pulse is sent, or counted as not sent, and none both
        std::int64_t last = 0;
        for (const auto& b : radio.bursts) {
            last = (sample_at(radio.ns(begin), *b.time_ns, fs) - 5000) / 1000;
            ++seen.at(last);
        }
        BOOST_TEST(last > 150);
        for (std::int64_t n = 0; n <= last; ++n)
            BOOST_TEST(seen[n] == 1, "pulse " << n << " " << seen[n] << " times");
        const auto said = t->notices();
        BOOST_TEST(std::count_if(said.begin(), said.end(), [](const std::string& w) {
                       return has(w, "too late");
                   }) == 1);
        // and a second stall costs no more
        host_s += 8000 / fs;
        radio.ahead = 8000;
        steps(1000);
        BOOST_TEST(t->status().late == 2);
        BOOST_TEST(t->notices().empty()); // it was said
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_sent_is_told_with_its_samples)
{
    // a lead shorter than the reads: pulses pass before they can be handed over
    scripted_radio radio;
    radio.piece = 1500;
    auto p = params_of();
    p.lead_s = 1e-3;
    const auto t = kernel::radar_transceiver::make(p, radio);
    t->start(0);
    std::int64_t u = 0;
    std::vector<std::int64_t> told;
    for (int i = 0; i < 20; ++i) {
        const auto r = t->step(i * 1e-3, 1000, 1 << 30);
        u += r.count;
        for (const auto& [first, last] : t->not_sent())
            for (std::int64_t n = first; n <= last; ++n)
                told.push_back(n);
        // every pulse among these samples is with the radio, or was told
        std::vector<std::int64_t> known = told;
        for (const auto& b : radio.bursts)
            known.push_back((sample_at(*radio.rx_time_ns, *b.time_ns, fs) - 1000) / 1000);
        for (std::int64_t n = 0; 1000 + n * 1000 < u; ++n)
            BOOST_TEST(std::count(known.begin(), known.end(), n) == 1);
    }
    BOOST_TEST(!told.empty());
    BOOST_TEST(!radio.bursts.empty());
}

BOOST_AUTO_TEST_CASE(a_cycle_is_written_once_and_whole)
{
    for (const int takes : { 1 << 30, 33 }) {
        scripted_radio radio;
        radio.clock = false;
        radio.cycle = true;
        radio.takes = takes;
        const auto t = kernel::radar_transceiver::make(params_of(), radio);
        t->start(0);
        run(*t, 20);
        BOOST_TEST(radio.cycle_ == 1000);
        BOOST_REQUIRE(radio.bursts.size() == 1);
        BOOST_REQUIRE(radio.bursts[0].samples.size() == 1000);
        BOOST_TEST(radio.bursts[0].samples[39].re == 0.01f * 40);
        BOOST_TEST(radio.bursts[0].samples[40].re == 0);
        BOOST_TEST(radio.bursts[0].ended);
        BOOST_TEST(!radio.bursts[0].time_ns.has_value());
    }
    // a radio that takes no more
    scripted_radio radio;
    radio.clock = false;
    radio.cycle = true;
    radio.fifo = 0;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    const std::string s = sentence_of([&] { t->start(0); });
    BOOST_TEST(has(s, "took 0 of the 1000 samples of a cycle"), s);
}

BOOST_AUTO_TEST_CASE(a_stream_keeps_pace_with_the_receiver)
{
    scripted_radio radio;
    radio.clock = false;
    radio.takes = 123;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    run(*t, 300);
    BOOST_REQUIRE(radio.bursts.size() == 1);
    const auto& x = radio.bursts[0].samples;
    // written before the last read, which brought 100 more
    BOOST_TEST(static_cast<std::int64_t>(x.size()) == radio.now - 100 + 5000);
    for (std::size_t i = 0; i < x.size(); ++i)
        BOOST_REQUIRE(x[i].re == (i % 1000 < 40 ? 0.01f * (i % 1000 + 1) : 0.0f));
    BOOST_TEST(t->status().sent == x.size() / 1000);
}

//! It goes on filling while it plays: who writes until all is taken waits for the radio,
//! and reads late from then on.
BOOST_AUTO_TEST_CASE(a_full_transmitter_does_not_hold_the_receiver_up)
{
    for (const transmit_mode mode : { transmit_mode::stream, transmit_mode::timed }) {
        scripted_radio radio;
        radio.holds = 1000;
        auto p = params_of(mode);
        if (mode == transmit_mode::timed) {
            p.pulse.assign(990, { 0.5f, 0 });
            radio.holds = 1500;
        }
        const auto t = kernel::radar_transceiver::make(p, radio);
        t->start(0);
        for (int i = 0; i < 200; ++i) {
            radio.writes = 0;
            t->step(i * 1e-4, 1000, 1 << 30);
            BOOST_TEST(radio.writes <= 12);
        }
        // and it is kept full, nonetheless
        const std::int64_t due =
            mode == transmit_mode::stream ? radio.now + 900 : 20 * 990;
        BOOST_TEST(radio.taken >= due);
    }
    // one that takes a packet at a time is not full for that
    scripted_radio radio;
    radio.takes = 64;
    const auto t =
        kernel::radar_transceiver::make(params_of(transmit_mode::stream), radio);
    t->start(0);
    t->step(0, 1000, 1 << 30);
    BOOST_TEST(radio.taken >= 5000);
    // nor one whose buffer ends
    scripted_radio small;
    small.buffer = 300;
    small.piece = 2000;
    const auto u =
        kernel::radar_transceiver::make(params_of(transmit_mode::stream), small);
    u->start(0);
    for (int i = 0; i < 50; ++i) {
        u->step(i * 2e-3, 1000, 1 << 30);
        BOOST_TEST(small.taken >= small.now + 5000 - 2000);
    }
}

BOOST_AUTO_TEST_CASE(what_the_caller_has_no_room_for_is_a_loss_of_known_length)
{
    scripted_radio radio;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    const std::int64_t begin = radio.now;
    run(*t, 10);
    BOOST_TEST(run(*t, 7, 99).samples == 0);
    const delivered d = run(*t, 5);
    BOOST_REQUIRE(d.news.size() == 1);
    BOOST_TEST(d.news_at[0] == begin + 1700);
    BOOST_TEST(samples_of(*d.news[0].time) == 1700);
    BOOST_TEST(d.news[0].gap);
    BOOST_TEST(t->status().lost_samples == 700);
    const auto said = t->notices();
    BOOST_REQUIRE(!said.empty());
    BOOST_TEST(has(said.back(), "too slow: 700 samples"));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_starts_too_late_is_started_again)
{
    scripted_radio radio;
    const auto t = kernel::radar_transceiver::make(params_of(), radio);
    t->start(0);
    radio.instead[radio.now] = { { transceiver_radio::stream_error, {} } };
    const long long before = *radio.rx_time_ns;
    const delivered d = run(*t, 30);
    BOOST_TEST(radio.rx_starts == 2);
    BOOST_TEST(*radio.rx_time_ns > before);
    BOOST_TEST(d.news.size() == 1);
    BOOST_TEST(!d.news[0].gap);
    // a driver that knows no start at a time
    scripted_radio other;
    other.timed_start = false;
    const auto u = kernel::radar_transceiver::make(params_of(), other);
    u->start(0);
    BOOST_TEST(other.rx_starts == 2);
    BOOST_TEST(run(*u, 100).samples == 10000);
    BOOST_TEST(other.bursts.size() > 5);
}

BOOST_AUTO_TEST_CASE(a_radio_that_is_gone_ends_it_and_everything_is_off)
{
    for (const int what : { int(transceiver_radio::timeout),
                            int(transceiver_radio::stream_error),
                            int(transceiver_radio::not_supported) }) {
        scripted_radio radio;
        {
            const auto t = kernel::radar_transceiver::make(params_of(), radio);
            t->start(0);
            run(*t, 20);
            radio.instead[radio.now] =
                std::vector<transceiver_radio::outcome>(20000, { what, {} });
            BOOST_TEST(radio.tx_on);
            const std::string s = sentence_of([&] { run(*t, 20000); });
            BOOST_TEST(has(s,
                           what == transceiver_radio::timeout ? "no sample came"
                           : what == transceiver_radio::stream_error
                               ? "gives errors"
                               : "does not support"),
                       s);
        }
        BOOST_TEST(radio.closes == 1);
        BOOST_TEST(!radio.tx_on);
    }
}

BOOST_AUTO_TEST_CASE(a_receiver_alone)
{
    scripted_radio radio;
    auto p = params_of(transmit_mode::none);
    p.pulse.clear();
    p.reference = true;
    const auto t = kernel::radar_transceiver::make(p, radio);
    t->start(0);
    BOOST_TEST(radio.rx_time_ns.has_value()); // two channels start at a time
    BOOST_TEST(!radio.transmits);
    const auto r = t->step(0, 1000, 1 << 20);
    BOOST_REQUIRE(r.reference);
    BOOST_TEST(r.reference[0].re == 1);
    BOOST_TEST(!radio.tx_on);
    BOOST_TEST(radio.bursts.empty());
    t->stop();
    BOOST_TEST(radio.closes == 1);
}
