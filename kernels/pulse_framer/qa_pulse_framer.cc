// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE pulse_framer
#include <boost/test/unit_test.hpp>

#include "../core/constants.h"
#include "../core/pulse_arrival.h"
#include "../core/qa_tools.h"
#include "pulse_code.h"
#include "pulse_framer.h"
#include "pulse_framer_math.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <ctime>
#include <functional>
#include <map>
#include <random>

using namespace gr::sar;
using cd = std::complex<double>;

namespace {

constexpr double c = speed_of_light;
constexpr double fs = 20e6;

acquisition_fields fields(int samples, double prf_hz, int pulse = 100)
{
    acquisition_fields f;
    f.samples = samples;
    f.carrier_hz = 2.4e9;
    f.prf_hz = prf_hz;
    f.sample_rate_hz = fs;
    f.pulse_length_s = pulse / fs;
    f.chirp_rate_hz_per_s = 0.5 * fs / f.pulse_length_s;
    return f;
}

pulse_framer_params scheduled(int samples, double pri)
{
    pulse_framer_params p{ acquisition(fields(samples, fs / pri)) };
    p.alignment = framer_alignment::scheduled;
    return p;
}

//! A tone, so that the phase of a line's sample tells where it was taken.
constexpr double tone = 0.0123456789; // cycles a sample
cf32 tone_at(std::int64_t u)
{
    const double a = 2 * pi * std::remainder(tone * static_cast<double>(u), 1.0);
    return { static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a)) };
}

//! Where sample k of a line was taken, against \p expected, samples (modulo 1 / tone).
double taken_at(cf32 v, long double expected)
{
    const double turns = std::atan2(v.im, v.re) / (2 * pi);
    return static_cast<double>(
        std::remainder(turns - std::remainder(tone * expected, 1.0L), 1.0L) / tone);
}

struct line_out {
    framed_line facts;
    std::vector<cf32> samples;
    bool good() const { return !(facts.flags & framed_line::hole); }
};

//! What a radio delivers: some of the samples, and words about those it does not.
struct radio {
    enum class sign { time, rate, none, message };
    struct loss {
        std::int64_t at, samples;
        sign how;
    };
    std::function<cf32(std::int64_t)> main = tone_at;
    std::function<cf32(std::int64_t)> reference;
    std::function<float(std::int64_t)> trigger;
    std::vector<loss> losses;
    std::int64_t samples = 0;
    radio_time start{ 100, 0.25 };
    bool stamps = true;
    double host_jitter_s = 0;
    double late_s = 0; // samples reach the host so late behind the first loss
    unsigned seed = 1;
    std::function<kernel::radio_news(std::int64_t)> also;

    std::vector<line_out> run(kernel::pulse_framer& f,
                              std::vector<std::string>* said = nullptr) const
    {
        std::mt19937 random(seed);
        std::vector<line_out> out;
        const auto drain = [&] {
            line_out l;
            l.samples.resize(f.params().acq->samples);
            while (f.next(l.facts, l.samples.data()))
                out.push_back(l);
            if (said)
                for (auto& s : f.notices())
                    said->push_back(s);
        };
        const auto stamp = [&](std::int64_t u) {
            const long double t = start.fraction_s + u / static_cast<long double>(fs);
            const long double whole = std::floor(t);
            return radio_time{ start.seconds + static_cast<std::uint64_t>(whole),
                               static_cast<double>(t - whole) };
        };
        kernel::radio_news first;
        if (stamps)
            first.time = stamp(0);
        first.rate_hz = fs;
        f.tell(first);
        std::int64_t u = 0;
        std::size_t next_loss = 0;
        std::vector<cf32> x, r;
        std::vector<float> t;
        while (u < samples) {
            if (next_loss < losses.size() && losses[next_loss].at == u) {
                const loss l = losses[next_loss++];
                u += l.samples;
                kernel::radio_news news;
                if (l.how == sign::time)
                    news.time = stamp(u);
                if (l.how == sign::time || l.how == sign::rate)
                    news.rate_hz = fs;
                news.gap = l.how == sign::message;
                if (l.how != sign::none)
                    f.tell(news);
                continue;
            }
            std::int64_t n = 1 + random() % 5000;
            n = std::min(n, samples - u);
            if (next_loss < losses.size())
                n = std::min(n, losses[next_loss].at - u);
            x.resize(n);
            for (std::int64_t i = 0; i < n; ++i)
                x[i] = main(u + i);
            if (reference) {
                r.resize(n);
                for (std::int64_t i = 0; i < n; ++i)
                    r[i] = reference(u + i);
            }
            if (trigger) {
                t.resize(n);
                for (std::int64_t i = 0; i < n; ++i)
                    t[i] = trigger(u + i);
            }
            const double host = (u + n) / fs + (next_loss > 0 ? late_s : 0) +
                                host_jitter_s * (random() % 1000) / 1000.0;
            std::int64_t done = 0;
            int idle = 0;
            while (done < n) {
                const int took = f.feed(x.data() + done,
                                        reference ? r.data() + done : nullptr,
                                        trigger ? t.data() + done : nullptr,
                                        static_cast<int>(n - done),
                                        host);
                done += took;
                drain();
                BOOST_REQUIRE(took > 0 || ++idle < 3);
            }
            u += n;
        }
        f.end();
        drain();
        return out;
    }
};

//! Numbers rise by one, but for what was skipped.
void in_order(const std::vector<line_out>& lines)
{
    for (std::size_t i = 1; i < lines.size(); ++i)
        if (lines[i].facts.pulse != lines[i - 1].facts.pulse + 1 + lines[i].facts.skipped)
            BOOST_FAIL("line " << i << " has number " << lines[i].facts.pulse);
}

//! Every sample of a line of the tone is where it belongs. \return the worst, samples
double worst(const std::vector<line_out>& lines,
             const std::function<long double(std::int64_t)>& start)
{
    double w = 0;
    for (const line_out& l : lines)
        if (l.good())
            for (std::size_t k = 0; k < l.samples.size(); ++k)
                w = std::max(w,
                             std::abs(taken_at(l.samples[k], start(l.facts.pulse) + k)));
    return w;
}

std::vector<std::int64_t> numbers(const std::vector<line_out>& lines, bool good)
{
    std::vector<std::int64_t> n;
    for (const line_out& l : lines)
        if (l.good() == good)
            n.push_back(l.facts.pulse);
    return n;
}

//! Of the transmitted pulse, t samples after its start.
cd pulse(const acquisition& acq, double t)
{
    const double n = acq->pulse_length_s * fs;
    if (t < -1e-9 || t >= n - 1e-9)
        return 0;
    const double x = t / fs - acq->pulse_length_s / 2;
    return std::polar(1.0, pi * acq->chirp_rate_hz_per_s * x * x);
}

//! Stream of pulses every pri samples from t0 on, amplitude as a function of the number.
std::function<cf32(std::int64_t)> pulses(
    const acquisition& acq,
    double t0,
    double pri,
    std::function<cd(std::int64_t)> amplitude = [](std::int64_t) { return cd(1); },
    double noise = 0)
{
    auto random = std::make_shared<std::mt19937>(7);
    return [=](std::int64_t u) {
        const auto n = static_cast<std::int64_t>(std::floor((u - t0) / pri));
        cd v = 0;
        if (n >= 0)
            v = amplitude(n) * pulse(acq, u - (t0 + n * pri));
        if (noise > 0) {
            std::normal_distribution<double> d(0, noise / std::sqrt(2.0));
            v += cd(d(*random), d(*random));
        }
        return cf32{ static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    };
}

//! A trigger whose edges, two samples long, pass 0.5 at t0 + n pri, and \p width later.
std::function<float(std::int64_t)> square(double t0, double pri, double width)
{
    return [=](std::int64_t u) {
        double t = std::fmod(u - t0, pri); // -2 .. pri - 2 around the edge
        if (t < -2)
            t += pri;
        if (t >= pri - 2)
            t -= pri;
        return static_cast<float>(std::clamp(0.5 + t / 2, 0.0, 1.0) -
                                  std::clamp(0.5 + (t - width) / 2, 0.0, 1.0));
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(times_of_pulses_do_not_drift)
{
    for (const double pri : { 1234.567, 999.99999, 20833.333333333332, 1e6 / 3 }) {
        const sample_time t0{ 17, 0.3 };
        for (const std::int64_t n :
             { std::int64_t(1), std::int64_t(1000000), std::int64_t(10000000) }) {
            const sample_time t = pulse_time(t0, n, pri);
            const long double exact = 17.3L + static_cast<long double>(pri) * n;
            BOOST_TEST(std::abs(static_cast<double>(t.whole - exact + t.part)) < 1e-6);
            BOOST_TEST((t.part >= 0 && t.part < 1));
            BOOST_TEST(pulse_number(t0, t, pri) == n);
            BOOST_TEST(pulse_number(t0, later(t, 0.49 * pri), pri) == n);
            BOOST_TEST(pulse_number(t0, later(t, -0.49 * pri), pri) == n);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_trend_is_the_least_squares_line_at_first)
{
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 1);
    trend t;
    double s0 = 0, s1 = 0, s2 = 0, y0 = 0, y1 = 0;
    for (int n = 0; n < 32; ++n) {
        const double y = 5 + 0.25 * n + noise(random);
        t.add(n, y);
        s0 += 1, s1 += n, s2 += n * n, y0 += y, y1 += n * y;
        if (n >= 2) {
            const double slope = (s0 * y1 - s1 * y0) / (s0 * s2 - s1 * s1);
            BOOST_TEST(t.rate == slope, boost::test_tools::tolerance(1e-9));
            BOOST_TEST(t.at(n) == (y0 - slope * s1) / s0 + slope * n,
                       boost::test_tools::tolerance(1e-9));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_fractional_interval_for_a_million_pulses)
{
    // 35 million samples; and 1234.567 with 10 000 pulses lost a hundred times
    for (const double pri : { 34.567, 1234.567 }) {
        auto p = scheduled(6, pri);
        p.fill = hole_fill::skip;
        auto f = kernel::pulse_framer::make(p);
        radio r;
        if (pri < 100) {
            r.samples = static_cast<std::int64_t>(1000100 * pri);
        } else {
            r.samples = static_cast<std::int64_t>(1000100 * pri);
            for (int k = 1; k <= 100; ++k)
                r.losses.push_back(
                    { static_cast<std::int64_t>((k - 1) * 1e4 * pri) + 20000,
                      static_cast<std::int64_t>(9975 * pri),
                      radio::sign::time });
        }
        const auto lines = r.run(*f);
        in_order(lines);
        BOOST_TEST(lines.back().facts.pulse >= 1000000);
        BOOST_TEST(worst(lines, [pri](std::int64_t n) {
                       return static_cast<long double>(pri) * n;
                   }) < 0.02);
        BOOST_TEST(f->status().framed == lines.size());
    }
}

BOOST_AUTO_TEST_CASE(whole_samples_jitter_and_say_so)
{
    const double pri = 1234.567;
    auto p = scheduled(64, pri);
    p.whole_samples = true;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 2000 * 1234;
    double square = 0;
    int n = 0;
    for (const line_out& l : r.run(*f)) {
        const long double exact = static_cast<long double>(pri) * l.facts.pulse;
        BOOST_TEST(std::abs(l.facts.jitter_samples) <= 0.5);
        BOOST_TEST(std::abs(taken_at(l.samples[0], exact + l.facts.jitter_samples)) <
                   1e-3);
        square += l.facts.jitter_samples * l.facts.jitter_samples;
        ++n;
    }
    BOOST_TEST(n > 1990);
    BOOST_TEST(f->status().jitter_rms_samples == std::sqrt(square / n),
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(f->status().jitter_rms_samples == 1 / std::sqrt(12.0),
               boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(random_geometries_and_gaps)
{
    // no line from both sides of a gap: each sample of each is where it belongs
    std::mt19937 random(11);
    const auto uniform = [&](double a, double b) {
        return std::uniform_real_distribution<double>(a, b)(random);
    };
    for (int trial = 0; trial < 40; ++trial) {
        const double pri = uniform(120, 3000);
        const int samples = static_cast<int>(uniform(8, 0.9 * pri));
        auto p = scheduled(samples, pri);
        auto f1 = fields(samples, fs / pri);
        f1.slant_range_first_m = uniform(0, 2 * pri) * c / (2 * fs);
        p.acq = acquisition(f1);
        p.delay_s = uniform(0, 500) / fs;
        const double late_s = uniform(0, 1e-3);
        p.start = radio_time{ 100, 0.25 + late_s };
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.seed = trial;
        r.samples = static_cast<std::int64_t>(400 * pri);
        std::int64_t at = 0;
        std::int64_t lost = 0;
        for (int k = 0; k < 6; ++k) {
            at += static_cast<std::int64_t>(uniform(1, 50 * pri));
            const auto n = static_cast<std::int64_t>(uniform(1, k % 2 ? 20 * pri : 50));
            r.losses.push_back({ at, n, radio::sign::time });
            at += n;
            lost += n;
        }
        const auto lines = r.run(*f);
        in_order(lines);
        const long double first =
            late_s * fs + p.delay_s * fs + 2 * f1.slant_range_first_m / c * fs;
        const auto start = [&](std::int64_t n) {
            return first + static_cast<long double>(pri) * n;
        };
        BOOST_TEST(worst(lines, start) < 0.02);
        BOOST_TEST(f->status().lost_samples == static_cast<std::uint64_t>(lost));
        BOOST_TEST(f->status().gaps == 6);
        // and only lines that a gap meets are missing
        const auto holes = numbers(lines, false);
        for (const std::int64_t n : holes) {
            const bool hit =
                std::any_of(r.losses.begin(), r.losses.end(), [&](const radio::loss& l) {
                    return start(n) - 20 < l.at + l.samples &&
                           start(n) + samples + 20 > l.at;
                });
            BOOST_TEST(hit);
        }
        BOOST_TEST(lines.back().facts.pulse > 390 - late_s * fs / pri);
        BOOST_TEST(lines.size() > 0.85 * lines.back().facts.pulse);
    }
}

BOOST_AUTO_TEST_CASE(dropped_pulses_leave_numbered_holes)
{
    for (const std::int64_t dropped : { 1, 7, 10000 })
        for (const hole_fill fill :
             { hole_fill::zeros, hole_fill::hold, hole_fill::skip }) {
            const double pri = 250.4;
            auto p = scheduled(100, pri);
            p.fill = fill;
            auto f = kernel::pulse_framer::make(p);
            radio r;
            r.samples = static_cast<std::int64_t>((200 + dropped) * pri);
            // from the middle of line 99 on
            r.losses = { { static_cast<std::int64_t>(99 * pri) + 50,
                           static_cast<std::int64_t>(dropped * pri),
                           radio::sign::time } };
            std::vector<std::string> said;
            const auto lines = r.run(*f, &said);
            in_order(lines);
            BOOST_TEST(worst(lines, [pri](std::int64_t n) {
                           return static_cast<long double>(pri) * n;
                       }) < 0.02);
            const auto holes = numbers(lines, false);
            if (fill == hole_fill::skip) {
                BOOST_TEST(holes.empty());
                const auto after = std::find_if(lines.begin(), lines.end(), [](auto& l) {
                    return l.facts.skipped > 0;
                });
                BOOST_TEST((after->facts.skipped == dropped ||
                            after->facts.skipped == dropped + 1));
            } else {
                BOOST_TEST((holes.size() == std::size_t(dropped) ||
                            holes.size() == std::size_t(dropped) + 1));
                BOOST_TEST(holes.front() == 99);
                for (const line_out& l : lines)
                    if (!l.good()) {
                        BOOST_TEST(((l.facts.flags & framed_line::held) != 0) ==
                                   (fill == hole_fill::hold));
                        const float power = norm(l.samples[50]);
                        BOOST_TEST(std::abs(power - (fill == hole_fill::hold)) < 1e-3);
                    }
            }
            BOOST_TEST(f->status().filled == holes.size());
            const auto told = [&](const char* words) {
                return std::any_of(said.begin(), said.end(), [&](auto& s) {
                    return s.find(words) != std::string::npos;
                });
            };
            BOOST_TEST(told("a gap of"));
            BOOST_TEST(told("before sample 24839")); // 99 * 250.4 + 50
        }
}

BOOST_AUTO_TEST_CASE(a_line_cut_by_the_end_is_left_out_and_said)
{
    auto f = kernel::pulse_framer::make(scheduled(100, 500));
    radio r;
    r.samples = 10 * 500 + 60;
    std::vector<std::string> said;
    BOOST_TEST(r.run(*f, &said).size() == 10u);
    BOOST_TEST(has(said.back(), "within the line of pulse 10"));
    BOOST_TEST(has(said.back(), "60 of 100 samples came"));
}

BOOST_AUTO_TEST_CASE(a_gap_longer_than_is_filled_begins_anew)
{
    const double pri = 200;
    auto p = scheduled(50, pri);
    p.longest_fill = 10;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 100 * 200;
    r.losses = { { 4030, 20 * 200, radio::sign::time } };
    std::vector<std::string> said;
    const auto lines = r.run(*f, &said);
    in_order(lines);
    BOOST_TEST(numbers(lines, false).empty());
    BOOST_TEST(lines[20].facts.anew);
    BOOST_TEST(lines[20].facts.skipped == 21);
    BOOST_TEST(has(said.back(), "longest_fill"));
}

BOOST_AUTO_TEST_CASE(trigger_edges_to_a_fraction_of_a_sample)
{
    for (const trigger_edge edge : { trigger_edge::rising, trigger_edge::falling }) {
        const double pri = 301.7;
        const double first = 40.3;
        pulse_framer_params p{ acquisition(fields(128, fs / pri)) };
        p.alignment = framer_alignment::trigger;
        p.trigger_input = true;
        p.edge = edge;
        p.delay_s = 3.25 / fs;
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.samples = 300 * 301;
        r.trigger = square(first, pri, 100);
        const auto lines = r.run(*f);
        in_order(lines);
        const double begin = first + (edge == trigger_edge::falling ? 100 : 0);
        BOOST_TEST(worst(lines, [&](std::int64_t n) {
                       return begin + 3.25L + static_cast<long double>(pri) * n;
                   }) < 0.01);
        BOOST_TEST(lines.size() >= 297u);
    }
}

BOOST_AUTO_TEST_CASE(edges_that_are_missing_or_too_many)
{
    const double pri = 400;
    pulse_framer_params p{ acquisition(fields(100, fs / pri)) };
    p.alignment = framer_alignment::trigger;
    p.trigger_input = true;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 100 * 400;
    r.trigger = [](std::int64_t u) {
        const auto n = u / 400;
        if (n == 30 || n == 31)
            return 0.0f; // two edges missing
        if (n == 50 && u % 400 > 200 && u % 400 < 210)
            return 1.0f;                               // a glitch
        return u % 400 < 100 && u >= 60 ? 1.0f : 0.0f; // the first is cut
    };
    const auto lines = r.run(*f);
    in_order(lines);
    BOOST_TEST((numbers(lines, false) == std::vector<std::int64_t>{ 29, 30 }));
    // pulse 0 is the first whole edge, at 400; the level is met between two samples
    BOOST_TEST(worst(lines, [](std::int64_t n) { return 399.5L + 400 * n; }) < 0.01);
    BOOST_TEST(f->status().silent_gaps == 0);
}

BOOST_AUTO_TEST_CASE(ramps_up_and_down)
{
    // a triangle of 300 samples up and 300 down: the beat of a ramp down, read backwards,
    // runs over the same frequencies
    acquisition_fields a = fields(200, fs / 300);
    a.wave = waveform::fmcw;
    a.sweep = sweep_shape::triangle;
    a.gate_start_s = 50 / fs;
    pulse_framer_params p{ acquisition(a) };
    p.alignment = framer_alignment::trigger;
    p.trigger_input = true;
    p.edge = trigger_edge::both;
    radio r;
    r.samples = 20 * 600;
    r.trigger = [](std::int64_t u) { return (u + 100) % 600 < 300 ? 1.0f : 0.0f; };
    r.main = [](std::int64_t u) {
        const double t = (u + 100) % 600 + 0.5; // edges lie between two samples
        return cf32{ static_cast<float>(t < 300 ? t : 600 - t), 0 };
    };
    for (const bool whole : { true, false }) {
        p.whole_samples = whole;
        const auto f = kernel::pulse_framer::make(p);
        const auto lines = r.run(*f);
        in_order(lines);
        BOOST_TEST(lines.size() >= 37u);
        for (const line_out& l : lines)
            for (int k = 0; k < 200; ++k)
                BOOST_REQUIRE(std::abs(l.samples[k].re - (50 + k)) <=
                              (whole ? 0.51 : 0.1));
    }

    // the same by a schedule, the first sample at the start of a ramp up
    p = pulse_framer_params{ acquisition(a) };
    p.alignment = framer_alignment::scheduled;
    r.main = [](std::int64_t u) {
        const double t = u % 600;
        return cf32{ static_cast<float>(t < 300 ? t : 600 - t), 0 };
    };
    const auto f = kernel::pulse_framer::make(p);
    const auto lines = r.run(*f);
    in_order(lines);
    BOOST_TEST(lines.size() >= 38u);
    for (const line_out& l : lines)
        for (int k = 0; k < 200; ++k)
            BOOST_REQUIRE(std::abs(l.samples[k].re - (50 + k)) <= 0.01);

    // what contradicts itself is said
    acquisition_fields saw = a;
    saw.sweep = sweep_shape::sawtooth;
    pulse_framer_params q{ acquisition(saw) };
    q.trigger_input = true;
    q.edge = trigger_edge::both;
    BOOST_TEST(has(sentence_of([&] { kernel::pulse_framer::make(q); }),
                   "edge is 'both', but sweep of acq is 'sawtooth'"));
    q = pulse_framer_params{ acquisition(a) };
    q.trigger_input = true;
    q.presum = 2;
    BOOST_TEST(has(sentence_of([&] { kernel::pulse_framer::make(q); }), "presum is 2"));
}

BOOST_AUTO_TEST_CASE(leakage_is_found_wherever_the_stream_begins)
{
    std::mt19937 random(5);
    for (const bool reference : { false, true })
        for (int trial = 0; trial < 20; ++trial) {
            const double pri = 1000.25;
            pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
            p.alignment =
                reference ? framer_alignment::reference : framer_alignment::leakage;
            p.reference_input = reference;
            p.reference_delay_s = 2.5 / fs;
            auto f = kernel::pulse_framer::make(p);
            const double lead = random() % 5000 + (random() % 100) / 100.0;
            const auto emitted = pulses(
                p.acq, lead, pri, [](auto) { return 0.3; }, 0.003);
            radio r;
            r.stamps = false;
            r.samples = static_cast<std::int64_t>(lead + 100 * pri);
            r.seed = trial;
            if (reference) {
                r.reference = emitted;
                r.main = tone_at;
            } else {
                r.main = emitted;
            }
            const auto lines = r.run(*f);
            in_order(lines);
            BOOST_TEST(lines.size() >= 95u);
            BOOST_TEST(lines.front().facts.pulse <= 1);
            if (reference) {
                BOOST_TEST(worst(lines, [&](std::int64_t n) {
                               return lead - 2.5L + static_cast<long double>(pri) * n;
                           }) < 0.02);
            } else {
                // the line begins 2.5 samples before the pulse, at range 0
                const pulse_arrival where(transmitted_pulse(p.acq), 300);
                for (const line_out& l : lines) {
                    const arrival a = where.find(l.samples.data(), 300, 0, 200);
                    BOOST_TEST(std::abs(a.delay_samples - 2.5) < 0.05);
                }
            }
            BOOST_TEST(std::abs(lines.back().facts.amplitude - 0.3) < 0.01);
            BOOST_TEST(lines.back().facts.snr_db > 30);
            BOOST_TEST(f->status().locked);
        }
}

BOOST_AUTO_TEST_CASE(gaps_of_unknown_length)
{
    // the radio says that there is one, not how long; a reference tells where to go on,
    // the host's clock how many pulses it was
    for (const bool trigger : { false, true })
        for (const radio::sign how : { radio::sign::rate, radio::sign::message }) {
            const double pri = 800.5;
            pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
            p.alignment =
                trigger ? framer_alignment::trigger : framer_alignment::reference;
            p.reference_input = !trigger;
            p.trigger_input = trigger;
            auto f = kernel::pulse_framer::make(p);
            radio r;
            r.stamps = false;
            const std::int64_t before = 15000 * 800; // 0.6 s: the host's clock is known
            r.samples = before + 400 * 800;
            r.host_jitter_s = 2e-6;
            r.losses = { { before + 123, 77 * 800 + 345, how } };
            const auto emitted = pulses(p.acq, 10, pri);
            if (trigger)
                r.trigger = square(10, pri, 100);
            else
                r.reference = emitted;
            std::vector<std::string> said;
            const auto lines = r.run(*f, &said);
            in_order(lines);
            const auto start = [pri](std::int64_t n) {
                return 10 + static_cast<long double>(pri) * n;
            };
            BOOST_TEST(worst(lines, start) < 0.02);
            const auto holes = numbers(lines, false);
            const std::int64_t first = (before + 123 - 10) / pri;
            BOOST_TEST(holes.front() >= first - 1);
            // from the hit pulse to within two intervals after the gap
            BOOST_TEST(holes.back() <= (before + 123 + 77 * 800 + 345 - 10) / pri + 2);
            for (const line_out& l : lines)
                if (!l.good())
                    BOOST_TEST((l.facts.flags & framed_line::estimated) != 0);
            BOOST_TEST(f->status().estimated == holes.size());
            BOOST_TEST(f->status().gaps == 1);
            BOOST_TEST(std::any_of(said.begin(), said.end(), [](auto& s) {
                return s.find("unknown length") != std::string::npos;
            }));
        }
}

BOOST_AUTO_TEST_CASE(gaps_that_follow_each_other_are_counted_each_for_itself)
{
    // the host's clock has seen both, and the first is counted already
    const double pri = 800;
    pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
    p.alignment = framer_alignment::leakage;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.stamps = false;
    const std::int64_t before = 15000 * 800; // 0.6 s
    r.samples = before + 8000 * 800;
    r.host_jitter_s = 2e-6;
    r.losses = { { before + 123, 77 * 800 + 345, radio::sign::none },
                 { before + 2000 * 800, 50 * 800 + 400, radio::sign::message } };
    r.main = pulses(p.acq, 10, pri);
    const auto lines = r.run(*f);
    in_order(lines);
    const std::int64_t lost = 77 * 800 + 345 + 50 * 800 + 400;
    BOOST_TEST(std::abs(static_cast<double>(f->status().lost_samples) - lost) <= 1);
    BOOST_TEST(lines.back().facts.pulse >= (r.samples - 10) / 800 - 3);
    // and when each pulse left is known by that clock, 10 samples before its arrival
    double worst_s = 0;
    for (const line_out& l : lines)
        worst_s = std::max(worst_s,
                           std::abs(l.facts.host_s - (10 + 800.0 * l.facts.pulse) / fs));
    BOOST_TEST(worst_s < 3e-6);
    BOOST_TEST(!lines.front().facts.live);
    BOOST_TEST(lines.back().facts.live);
}

BOOST_AUTO_TEST_CASE(a_schedule_alone_waits_for_the_next_stamp)
{
    const double pri = 500;
    auto p = scheduled(100, pri);
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 400 * 500;
    r.losses = { { 50000, 1234, radio::sign::rate }, { 100000, 77, radio::sign::time } };
    std::vector<std::string> said;
    const auto lines = r.run(*f, &said);
    in_order(lines);
    BOOST_TEST(worst(lines, [](std::int64_t n) { return 500.0L * n; }) < 0.01);
    const auto holes = numbers(lines, false);
    BOOST_TEST(holes.size() == 101u);
    BOOST_TEST(holes.front() == 100);
    BOOST_TEST(std::any_of(said.begin(), said.end(), [](auto& s) {
        return s.find("until the next time stamp") != std::string::npos;
    }));
}

BOOST_AUTO_TEST_CASE(losses_that_nobody_told_of)
{
    // with a reference, with leakage, with a trigger, and with a schedule beside leakage
    for (const int kind : { 0, 1, 2, 3 }) {
        const double pri = 900.3;
        pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
        p.alignment = kind == 0   ? framer_alignment::reference
                      : kind == 1 ? framer_alignment::leakage
                      : kind == 2 ? framer_alignment::trigger
                                  : framer_alignment::automatic;
        p.reference_input = kind == 0;
        p.trigger_input = kind == 2;
        if (kind == 3)
            p.start = radio_time{ 100, 0.25 + 20 / fs };
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.stamps = kind == 3;
        r.samples = 300 * 900;
        std::mt19937 random(kind);
        std::int64_t at = 20000;
        for (int k = 0; k < 6; ++k) {
            at += 20000 + random() % 20000;
            // up to most of an interval, then several
            const std::int64_t n = k < 4 ? 30 + random() % 850 : 900 * k + 300;
            r.losses.push_back({ at, n, radio::sign::none });
            at += n;
        }
        const auto emitted = pulses(p.acq, 20, pri);
        // a tone weaker than the leakage tells where the samples are from
        if (kind == 1 || kind == 3)
            r.main = [=](std::int64_t u) { return emitted(u) + 0.05f * tone_at(u); };
        if (kind == 0)
            r.reference = emitted;
        if (kind == 2)
            r.trigger = square(20, pri, 100);
        std::vector<std::string> said;
        const auto lines = r.run(*f, &said);
        in_order(lines);
        // Numbers after a loss of more than an interval cannot be known without a live
        // clock; the place of each sample in its line can.
        for (const line_out& l : lines) {
            if (!l.good())
                continue;
            // beside the pulse all samples are neighbours of each other
            for (int k = 140; k < 300; ++k) {
                const double step =
                    taken_at(l.samples[k], 0) - taken_at(l.samples[k - 1], 0) - 1;
                BOOST_REQUIRE_SMALL(std::remainder(step, 1 / tone), 0.1);
            }
            const double place = taken_at(l.samples[299], 0);
            double nearest = 1e9;
            for (std::int64_t n = 0; n < 330; ++n)
                nearest = std::min(
                    nearest,
                    std::abs(std::remainder(place - static_cast<double>(std::remainder(
                                                        20 + pri * n + 299, 1.0L / tone)),
                                            1 / tone)));
            BOOST_REQUIRE_SMALL(nearest, 0.35);
        }
        BOOST_TEST(f->status().silent_gaps == 6);
        // two pulses go with each loss, and those that were in it
        BOOST_TEST(f->status().framed >= 300u - 6 * 3 - 20);
        BOOST_TEST(std::any_of(said.begin(), said.end(), [](auto& s) {
            return s.find("told nothing") != std::string::npos;
        }));
    }
}

BOOST_AUTO_TEST_CASE(pulses_that_are_not_sent_are_holes_and_no_loss)
{
    pulse_framer_params p{ acquisition(fields(300, fs / 1000)) };
    p.alignment = framer_alignment::leakage;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.stamps = false;
    r.samples = 200 * 1000;
    r.main = pulses(
        p.acq,
        100.5,
        1000,
        [](std::int64_t n) { return n == 40 || (n >= 80 && n < 90) ? 0.0 : 1.0; },
        0.01);
    const auto lines = r.run(*f);
    in_order(lines);
    const auto holes = numbers(lines, false);
    BOOST_TEST(holes.size() == 11u);
    BOOST_TEST(f->status().silent_gaps == 0);
    BOOST_TEST(lines.back().facts.pulse == 199);
}

BOOST_AUTO_TEST_CASE(stamps_that_cannot_be_true)
{
    struct bad {
        radio_time t;
        const char* words;
    };
    const auto at = [](double samples) {
        const double t = 0.25 + samples / fs;
        return radio_time{ 100, t };
    };
    for (const bad& b : { bad{ { 0, 0 }, "time does not go back" },
                          bad{ { 0, -1e-9 }, "fraction from 0 to 1" },
                          bad{ { ~0ull, 0.99 }, "expected seconds" },
                          bad{ at(1000), "time does not go back" } }) {
        auto p = scheduled(100, 500);
        auto f = kernel::pulse_framer::make(p);
        f->tell({ radio_time{ 100, 0.25 }, fs, std::nullopt, false, std::nullopt });
        std::vector<cf32> x(20000, cf32{ 1, 0 });
        f->feed(x.data(), nullptr, nullptr, 20000, 0);
        f->tell({ b.t, std::nullopt, std::nullopt, false, std::nullopt });
        const auto said = f->notices();
        BOOST_TEST(has(said.back(), b.words));
        BOOST_TEST(has(said.back(), "is not believed"));
        BOOST_TEST(f->status().rejected_stamps == 1);
        BOOST_TEST(f->status().gaps == 0);
    }
    // each time 200 ppm more: no gap but a wrong rate
    auto f = kernel::pulse_framer::make(scheduled(100, 500));
    f->tell({ at(0), fs, std::nullopt, false, std::nullopt });
    std::vector<cf32> x(50000, cf32{ 1, 0 });
    std::vector<cf32> line(100);
    framed_line l;
    for (int k = 1; k < 6; ++k) {
        int done = 0;
        while (done < 50000) {
            done += f->feed(x.data(), nullptr, nullptr, 50000 - done, 0);
            while (f->next(l, line.data())) {
            }
        }
        f->tell({ at(k * 50000 * 1.0002), std::nullopt, std::nullopt, false, {} });
        while (f->next(l, line.data())) {
        }
    }
    BOOST_TEST(f->status().rejected_stamps >= 2);
    BOOST_TEST(has(f->notices().back(), "ppm"));
    // an untrue first stamp: leakage takes over where there is a pulse to find
    pulse_framer_params p{ acquisition(fields(300, fs / 1000)) };
    p.start = radio_time{ 100, 0.5 };
    auto g = kernel::pulse_framer::make(p);
    g->tell({ radio_time{ 0, -1e-9 }, fs, std::nullopt, false, std::nullopt });
    g->feed(x.data(), nullptr, nullptr, 1, 0);
    BOOST_TEST(g->status().alignment == "leakage");
    BOOST_TEST(has(sentence_of([&] {
                       g->tell({ std::nullopt, fs * 1.01, std::nullopt, false, {} });
                   }),
                   "rx_rate"));
}

BOOST_AUTO_TEST_CASE(a_clock_that_begins_at_0_is_a_clock)
{
    for (const bool automatic : { false, true }) {
        auto p = scheduled(100, 500);
        if (automatic)
            p.alignment = framer_alignment::automatic;
        p.start = radio_time{ 0, 750.25 / fs };
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.start = { 0, 0 };
        r.samples = 100 * 500;
        r.losses = { { 20000, 1700, radio::sign::time } };
        const auto lines = r.run(*f);
        BOOST_TEST(f->status().alignment == "scheduled");
        BOOST_TEST(f->status().rejected_stamps == 0);
        BOOST_TEST(f->status().lost_samples == 1700);
        in_order(lines);
        BOOST_TEST(lines.front().facts.pulse == 0);
        BOOST_TEST(worst(lines, [](std::int64_t n) { return 750.25L + n * 500.0L; }) <
                   0.02);
    }
}

BOOST_AUTO_TEST_CASE(a_long_pulse_that_is_late_is_looked_for_once)
{
    // 46 samples behind its schedule: until the next one confirms that, 100 000 samples
    // come in pieces of 2000, and a search over them all takes as long as all the rest
    const auto took_s = [](double late) {
        auto fields_of = fields(60000, fs / 100000);
        fields_of.pulse_length_s = 50000 / fs;
        fields_of.chirp_rate_hz_per_s = 0.6 * fs / fields_of.pulse_length_s;
        pulse_framer_params p{ acquisition(fields_of) };
        p.alignment = framer_alignment::scheduled;
        p.correct = framer_correction::delay;
        auto f = kernel::pulse_framer::make(p);
        std::vector<cf32> x(400000, cf32{ 0, 0 });
        const std::vector<cf32> sent = transmitted_pulse(p.acq);
        for (int n = 0; n < 4; ++n)
            std::copy_n(sent.begin(),
                        std::min<std::size_t>(sent.size(), 100000 - late),
                        x.begin() + n * 100000 + static_cast<int>(late));
        const std::clock_t begin = std::clock(); // of the processor, however busy it is
        std::vector<cf32> line(60000);
        framed_line facts;
        int lines = 0;
        for (int u = 0; u < 400000;) {
            u += f->feed(
                x.data() + u, nullptr, nullptr, std::min(2000, 400000 - u), u / fs);
            while (f->next(facts, line.data()))
                ++lines;
        }
        BOOST_TEST(lines >= 2);
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    const double on_time = took_s(0);
    const double late = took_s(46);
    BOOST_TEST_MESSAGE("on time " << on_time << " s, late " << late << " s");
    BOOST_TEST(late < 10 * on_time);
}

BOOST_AUTO_TEST_CASE(a_side_lobe_at_the_scheduled_time_is_not_the_pulse)
{
    // 400 000 samples compress by 54 dB, so that side lobes are found, too; a weak pulse
    // in its place is taken all the same, however strong an echo is
    for (const double echo : { 0.0, 5.0 }) {
        auto fields_of = fields(2000, fs / 820000);
        fields_of.pulse_length_s = 400000 / fs;
        fields_of.chirp_rate_hz_per_s = 0.6 * fs / fields_of.pulse_length_s;
        pulse_framer_params p{ acquisition(fields_of) };
        p.alignment = framer_alignment::scheduled;
        p.correct = framer_correction::delay;
        auto f = kernel::pulse_framer::make(p);
        const std::vector<cf32> sent = transmitted_pulse(p.acq);
        const int late = echo > 0 ? 0 : 46;
        std::vector<cf32> x(6 * 820000, cf32{ 0, 0 });
        for (int n = 0; n < 6; ++n)
            for (int i = 0; i < 400000; ++i) {
                x[n * 820000 + late + i] = x[n * 820000 + late + i] + sent[i];
                x[n * 820000 + 300 + i] =
                    x[n * 820000 + 300 + i] + static_cast<float>(echo) * sent[i];
            }
        std::vector<cf32> line(2000);
        framed_line facts;
        int lines = 0;
        for (std::size_t u = 0; u < x.size();) {
            u += f->feed(x.data() + u,
                         nullptr,
                         nullptr,
                         static_cast<int>(std::min<std::size_t>(5000, x.size() - u)),
                         u / fs);
            while (f->next(facts, line.data())) {
                ++lines;
                BOOST_TEST(std::abs(facts.delay_s * fs - late) < 0.1);
                BOOST_TEST(facts.amplitude == 1.0, boost::test_tools::tolerance(0.02));
            }
        }
        BOOST_TEST(lines >= 4);
    }
}

BOOST_AUTO_TEST_CASE(pulses_that_were_not_sent_are_holes)
{
    for (const bool measured : { false, true }) {
        auto p = scheduled(100, 500);
        if (measured)
            p = pulse_framer_params{ acquisition(fields(300, fs / 1000)) };
        auto f = kernel::pulse_framer::make(p);
        f->not_sent(7, 7);
        f->not_sent(20, 24);
        f->not_sent(3, 2); // nothing
        radio r;
        r.stamps = false;
        r.samples = measured ? 60 * 1000 : 60 * 500;
        if (measured)
            r.main = pulses(p.acq, 10.5, 1000, [](std::int64_t) { return cd(1); });
        const auto lines = r.run(*f);
        in_order(lines);
        const std::vector<std::int64_t> gone{ 7, 20, 21, 22, 23, 24 };
        BOOST_TEST(numbers(lines, false) == gone, boost::test_tools::per_element());
        BOOST_TEST(f->status().lost == gone.size());
        BOOST_TEST(f->status().filled == gone.size());
        BOOST_TEST(f->status().gaps == 0);
    }
}

BOOST_AUTO_TEST_CASE(phase_and_delay_that_drift_are_taken_off)
{
    // 1.19 Hz of oscillator and 0.2 rad a minute, 5 ppm of clock
    const double pri = 1000 * (1 + 5e-6);
    // by the reference alone, with its spectrum, and beside a trigger
    for (const int kind : { 0, 1, 2 }) {
        const framer_correction correct =
            kind == 1 ? framer_correction::full : framer_correction::delay_phase;
        pulse_framer_params p{ acquisition(fields(300, fs / 1000)) };
        p.alignment = kind == 2 ? framer_alignment::trigger : framer_alignment::reference;
        p.reference_input = true;
        p.trigger_input = kind == 2;
        p.correct = correct;
        auto f = kernel::pulse_framer::make(p);
        const double hz = 1.19 + 0.2 / 60 / (2 * pi);
        const auto turning = [&](double start) {
            return pulses(p.acq, start, pri, [=](std::int64_t n) {
                return std::polar(0.5, 0.7 + 2 * pi * hz * n * pri / fs);
            });
        };
        radio r;
        r.stamps = false;
        r.samples = 2000 * 1000;
        r.reference = turning(10.5);
        r.main = turning(10.5 + 40); // an echo
        if (kind == 2)
            r.trigger = square(10.8, pri, 100);
        // a gap in the middle: the phase of later lines is as good
        r.losses = { { 900000, 70 * 1000 + 17, radio::sign::rate } };
        const auto lines = r.run(*f);
        in_order(lines);
        const pulse_arrival where(transmitted_pulse(p.acq), 300);
        double mean = 0, square = 0;
        int n = 0;
        for (const line_out& l : lines) {
            if (!l.good() || l.facts.pulse < 64)
                continue;
            const arrival a = where.find(l.samples.data(), 300, 0, 200);
            BOOST_REQUIRE(a.found);
            BOOST_REQUIRE_SMALL(a.delay_samples - 40, 0.02);
            BOOST_REQUIRE_SMALL(a.phase_rad, 0.01);
            mean += a.phase_rad;
            square += a.phase_rad * a.phase_rad;
            if (correct == framer_correction::full)
                BOOST_REQUIRE_SMALL(a.amplitude - 1, 0.02);
            ++n;
        }
        BOOST_TEST(n > 1800);
        BOOST_TEST(std::abs(f->status().phase_drift_hz - hz) < 0.01);
        BOOST_TEST(std::abs(f->status().delay_drift_samples_per_s - 5e-6 * fs) < 1);
    }
}

BOOST_AUTO_TEST_CASE(a_pulse_beside_a_trigger_is_measured_once)
{
    // however long it waits for the last sample of its line, here beyond the next edge
    const double pri = 1000;
    auto f1 = fields(300, fs / pri);
    f1.slant_range_first_m = 1.6 * pri * c / (2 * fs);
    pulse_framer_params p{ acquisition(f1) };
    p.alignment = framer_alignment::trigger;
    p.reference_input = p.trigger_input = true;
    p.correct = framer_correction::delay_phase;
    p.smoothing = 8;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.stamps = false;
    r.samples = 100 * 1000;
    r.reference = pulses(p.acq, 10.5, pri, [](auto) { return std::polar(0.5, 0.7); });
    r.main = pulses(p.acq, 1650.5, pri, [](auto) { return std::polar(0.5, 0.7); });
    r.trigger = square(10.8, pri, 100);
    const auto lines = r.run(*f);
    BOOST_TEST(lines.size() > 90u);
    const pulse_arrival where(transmitted_pulse(p.acq), 300);
    for (const line_out& l : lines) {
        const arrival a = where.find(l.samples.data(), 300, 0, 200);
        BOOST_REQUIRE(a.found);
        BOOST_REQUIRE_SMALL(a.delay_samples - 40, 0.02);
        BOOST_REQUIRE_SMALL(a.phase_rad, 0.01);
    }
}

BOOST_AUTO_TEST_CASE(a_response_that_is_not_flat_is_divided_out)
{
    // 3 dB of ripple in cable and receiver, the same for echo and reference
    auto f1 = fields(600, fs / 1500, 400);
    pulse_framer_params p{ acquisition(f1) };
    p.alignment = framer_alignment::reference;
    p.reference_input = true;
    const auto sent = pulses(p.acq, 50, 1500);
    const auto rippled = [sent](std::int64_t late) {
        return [sent, late](std::int64_t u) {
            return sent(u - late) + 0.17f * sent(u - late - 9) +
                   0.17f * sent(u - late + 9);
        };
    };
    radio r;
    r.stamps = false;
    r.samples = 60 * 1500;
    r.reference = rippled(0);
    r.main = rippled(100);
    const auto sidelobe = [&](framer_correction correct) {
        p.correct = correct;
        auto f = kernel::pulse_framer::make(p);
        const auto lines = r.run(*f);
        // correlation with the pulse: main lobe at 100, its first echo 9 samples off
        const auto q = transmitted_pulse(p.acq);
        const line_out& l = lines.back();
        const auto at = [&](int k) {
            cd sum = 0;
            for (std::size_t i = 0; i < q.size(); ++i)
                if (k + i < l.samples.size())
                    sum += cd(l.samples[k + i].re, l.samples[k + i].im) *
                           std::conj(cd(q[i].re, q[i].im));
            return std::abs(sum);
        };
        return 20 * std::log10(std::max(at(109), at(91)) / at(100));
    };
    const double plain = sidelobe(framer_correction::delay_phase);
    const double divided = sidelobe(framer_correction::full);
    BOOST_TEST(plain > -17);
    r.reference = sent;
    r.main = pulses(p.acq, 150, 1500);
    const double ideal = sidelobe(framer_correction::none);
    BOOST_TEST(ideal < -23);
    BOOST_TEST(std::abs(divided - ideal) < 0.3);
}

BOOST_AUTO_TEST_CASE(a_retune_discards_and_counts_a_step)
{
    auto p = scheduled(100, 500);
    p.settle_s = 700 / fs;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 10 * 500;
    std::vector<line_out> all;
    std::vector<cf32> x(5000);
    std::int64_t u = 0;
    for (int step = 0; step < 5; ++step) {
        f->tell({ radio_time{ 100, 0.25 + u / fs },
                  fs,
                  2.4e9 + step * 5e6,
                  false,
                  std::nullopt });
        for (int i = 0; i < 5000; ++i)
            x[i] = tone_at(u + i);
        int done = 0;
        line_out l;
        l.samples.resize(100);
        while (done < 5000) {
            done += f->feed(x.data() + done, nullptr, nullptr, 5000 - done, 0);
            while (f->next(l.facts, l.samples.data()))
                all.push_back(l);
        }
        u += 5000;
    }
    BOOST_TEST(worst(all, [](std::int64_t n) { return 500.0L * n; }) < 0.01);
    std::map<int, int> lines_of;
    int begun = 0;
    for (const line_out& l : all) {
        ++lines_of[l.facts.step];
        begun += l.facts.anew;
        BOOST_TEST(l.facts.frequency_hz == 2.4e9 + l.facts.step * 5e6);
        BOOST_TEST(l.facts.step == l.facts.pulse / 10);
        // 700 samples after the retune
        BOOST_TEST((l.facts.step == 0 || l.facts.pulse % 10 >= 2));
    }
    BOOST_TEST(lines_of.size() == 5u);
    BOOST_TEST(lines_of[0] == 10);
    BOOST_TEST(lines_of[3] == 8);
    BOOST_TEST(begun == 5);
}

BOOST_AUTO_TEST_CASE(bursts_of_pulses)
{
    // four chirps in each buffer, nothing known of the time between
    pulse_framer_params p{ acquisition(fields(300, fs / 500.25)) };
    p.alignment = framer_alignment::burst;
    p.delay_s = 10 / fs;
    auto f = kernel::pulse_framer::make(p);
    std::vector<line_out> all;
    line_out l;
    l.samples.resize(300);
    std::vector<cf32> x(2001);
    for (int burst = 0; burst < 7; ++burst) {
        for (int i = 0; i < 2001; ++i)
            x[i] = tone_at(i);
        kernel::radio_news news;
        news.burst_samples = 2001;
        f->tell(news);
        const int n = burst == 3 ? 1000 : 2001; // one is cut
        int done = 0;
        while (done < n) {
            done += f->feed(x.data() + done, nullptr, nullptr, n - done, 0);
            while (f->next(l.facts, l.samples.data()))
                all.push_back(l);
        }
    }
    f->end();
    while (f->next(l.facts, l.samples.data()))
        all.push_back(l);
    in_order(all);
    BOOST_TEST(all.size() == 28u);
    BOOST_TEST((numbers(all, false) == std::vector<std::int64_t>{ 14, 15 }));
    BOOST_TEST(worst(all, [](std::int64_t n) { return 10 + 500.25L * (n % 4); }) < 0.02);
}

BOOST_AUTO_TEST_CASE(a_gap_within_a_burst_costs_its_rest)
{
    pulse_framer_params p{ acquisition(fields(300, fs / 500)) };
    p.alignment = framer_alignment::burst;
    auto f = kernel::pulse_framer::make(p);
    std::vector<line_out> all;
    line_out l;
    l.samples.resize(300);
    std::vector<cf32> x(2000);
    for (int i = 0; i < 2000; ++i)
        x[i] = tone_at(i);
    const auto feed = [&](int from, int to) {
        int done = from;
        while (done < to) {
            done += f->feed(x.data() + done, nullptr, nullptr, to - done, 0);
            while (f->next(l.facts, l.samples.data()))
                all.push_back(l);
        }
    };
    for (int burst = 0; burst < 5; ++burst) {
        // the buffers are 1 ms apart, and say so
        f->tell({ radio_time{ 100, 0.25 + burst * 1e-3 },
                  std::nullopt,
                  std::nullopt,
                  false,
                  2000 });
        feed(0, 900);
        if (burst == 2) // 333 samples lost behind the first pulse
            f->tell({ std::nullopt, fs, std::nullopt, false, std::nullopt });
        feed(burst == 2 ? 1233 : 900, 2000);
    }
    in_order(all);
    BOOST_TEST((numbers(all, false) == std::vector<std::int64_t>{ 10, 11 }));
    BOOST_TEST(worst(all, [](std::int64_t n) { return 500.0L * (n % 4); }) < 0.01);
    for (const line_out& line : all)
        if (line.good())
            BOOST_TEST(
                std::abs(line.facts.time_s - (100.25 + line.facts.pulse / 4 * 1e-3 +
                                              line.facts.pulse % 4 * 500 / fs)) < 1e-8);
}

BOOST_AUTO_TEST_CASE(the_prf_changes)
{
    // 2100.84 to 2132.20 Hz: an error that says where, in all ways that can see it
    for (const bool trigger : { false, true }) {
        const double before = fs / 2100.84, after = fs / 2132.20;
        pulse_framer_params p{ acquisition(fields(300, 2100.84)) };
        p.alignment = trigger ? framer_alignment::trigger : framer_alignment::leakage;
        p.trigger_input = trigger;
        p.tolerance_samples = 4;
        auto f = kernel::pulse_framer::make(p);
        const double change = 50 * before;
        const auto phase = [=](std::int64_t u) {
            return u < change ? std::fmod(u, before) : std::fmod(u - change, after);
        };
        radio r;
        r.stamps = false;
        r.samples = static_cast<std::int64_t>(change + 50 * after);
        r.main = [&](std::int64_t u) {
            const cd v = pulse(p.acq, phase(u));
            return cf32{ static_cast<float>(v.real()), static_cast<float>(v.imag()) };
        };
        if (trigger)
            r.trigger = [&](std::int64_t u) { return phase(u) < 100 ? 1.0f : 0.0f; };
        const std::string said = sentence_of([&] { r.run(*f); });
        BOOST_TEST(has(said, "the interval between pulses is 93"));
        BOOST_TEST(has(said, "prf_hz of acq says 952"));
        const auto at = said.find("about sample ");
        BOOST_REQUIRE(at != std::string::npos);
        BOOST_TEST(std::abs(std::stod(said.substr(at + 13)) - change) < 4 * after);
    }
}

BOOST_AUTO_TEST_CASE(summing_before_is_summing_after)
{
    const double pri = 300.3;
    const auto run = [&](int presum) {
        auto p = scheduled(64, pri);
        p.presum = presum;
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.samples = static_cast<std::int64_t>(400 * pri);
        r.losses = { { 30100, 900, radio::sign::time },
                     { 80000, 9000, radio::sign::time } };
        return r.run(*f);
    };
    const auto one = run(1);
    const auto four = run(4);
    in_order(four);
    BOOST_TEST(four.size() == (one.back().facts.pulse + 4) / 4);
    for (const line_out& s : four) {
        std::vector<cd> sum(64);
        int n = 0;
        for (const line_out& l : one)
            if (l.good() && l.facts.pulse / 4 == s.facts.pulse) {
                ++n;
                for (int k = 0; k < 64; ++k)
                    sum[k] += cd(l.samples[k].re, l.samples[k].im);
                BOOST_TEST(s.facts.used[l.facts.pulse % 4] == 1);
            }
        BOOST_TEST(s.facts.summed == n);
        BOOST_TEST(s.good() == (n > 0));
        for (int k = 0; k < 64 && n > 0; ++k)
            BOOST_TEST(std::abs(cd(s.samples[k].re, s.samples[k].im) -
                                sum[k] / double(n)) < 1e-5);
    }
}

BOOST_AUTO_TEST_CASE(stops_of_a_rail)
{
    // 20 pulses at a stop, silence between: one line a stop, the mean of its pulses
    const double pri = 400;
    for (const double silence : { 5.3, 123.4 }) {
        pulse_framer_params p{ acquisition(fields(100, fs / pri)) };
        p.alignment = framer_alignment::trigger;
        p.trigger_input = true;
        p.stop_s = 3 * pri / fs;
        auto f = kernel::pulse_framer::make(p);
        radio r;
        const double period = (20 + silence) * pri;
        r.samples = static_cast<std::int64_t>(7 * period);
        const auto stop = [=](std::int64_t u) {
            return static_cast<int>((u - 30 + 200) / period);
        };
        const auto in_stop = [=](std::int64_t u) {
            return (u - 30 + 200) - stop(u) * period - 200; // since its first pulse
        };
        r.trigger = [=](std::int64_t u) {
            const double t = in_stop(u);
            return u >= 0 && t > -100 && t < 19.5 * pri ? std::fmod(t + pri, pri) < 50
                                                        : 0.0f;
        };
        // the number of the stop, and noise whose mean over a stop is 0
        r.main = [=](std::int64_t u) {
            const int n = static_cast<int>(std::floor((in_stop(u) + 10) / pri));
            return cf32{ static_cast<float>(stop(u)), n % 2 ? 1.0f : -1.0f };
        };
        const auto lines = r.run(*f);
        BOOST_REQUIRE_EQUAL(lines.size(), 7u);
        for (int k = 0; k < 7; ++k) {
            BOOST_TEST(lines[k].facts.pulse == k);
            BOOST_TEST(lines[k].facts.summed == 20);
            BOOST_TEST(std::abs(lines[k].samples[40].re - k) < 1e-3);
            BOOST_TEST(std::abs(lines[k].samples[40].im) < 1e-3);
        }
        BOOST_TEST(f->status().lost == 0);
        BOOST_TEST(f->status().silent_gaps == 0);
    }
}

BOOST_AUTO_TEST_CASE(inputs_are_put_right)
{
    const auto first = [](pulse_framer_params p, cf32 value) {
        auto f = kernel::pulse_framer::make(p);
        std::vector<cf32> x(2000, value), line(100);
        framed_line l;
        f->feed(x.data(), nullptr, nullptr, 2000, 0);
        BOOST_REQUIRE(f->next(l, line.data()));
        return line[50];
    };
    auto p = scheduled(100, 500);
    const auto is = [](cf32 a, float re, float im) { return a.re == re && a.im == im; };
    BOOST_TEST(is(first(p, { 1, 2 }), 1, 2));
    p.swap_iq = true;
    BOOST_TEST(is(first(p, { 1, 2 }), 2, 1));
    p.conjugate = true;
    BOOST_TEST(is(first(p, { 1, 2 }), 2, -1));
    p.invert = true;
    BOOST_TEST(is(first(p, { 1, 2 }), -2, 1));
    p.remove_dc = true;
    BOOST_TEST(is(first(p, { 1, 2 }), 0, 0));

    // the shift goes on through a gap
    p = scheduled(100, 500);
    p.frequency_shift_hz = tone * fs;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 50000;
    r.losses = { { 20000, 333, radio::sign::time } };
    for (const line_out& l : r.run(*f))
        if (l.good())
            for (const cf32 v : l.samples)
                BOOST_REQUIRE_SMALL(norm(v - cf32{ 1, 0 }), 1e-6f);

    // clipped
    auto g = kernel::pulse_framer::make(scheduled(100, 500));
    std::vector<cf32> x(1000, cf32{ 0.5f, 0.5f });
    x[3].re = 1;
    x[5].im = -1;
    g->feed(x.data(), nullptr, nullptr, 1000, 0);
    BOOST_TEST(g->status().clipped == 2);
}

BOOST_AUTO_TEST_CASE(the_mean_line_is_subtracted)
{
    auto p = scheduled(64, 500);
    p.suppress = 200;
    auto f = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 500 * 500;
    // 60 dB above a target that turns from pulse to pulse
    r.main = [](std::int64_t u) {
        const double a = 2 * pi * 0.137 * (u / 500);
        const bool target = u % 500 == 30;
        return cf32{ 1000.0f + (target ? static_cast<float>(std::cos(a)) : 0),
                     target ? static_cast<float>(std::sin(a)) : 0 };
    };
    double power = 0, rest = 0;
    int n = 0;
    for (const line_out& l : r.run(*f))
        if (l.facts.pulse > 200) {
            power += norm(l.samples[30]);
            rest += norm(l.samples[31]);
            ++n;
        }
    BOOST_TEST(std::abs(10 * std::log10(power / n)) < 0.5);
    BOOST_TEST(10 * std::log10(rest / n + 1e-12) < -40);
}

namespace {

std::vector<cf32> random_code(int length, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<cf32> code;
    for (int m = 0; m < length; ++m) {
        const double a = std::uniform_real_distribution<double>(0, 2 * pi)(random);
        const double size = std::uniform_real_distribution<double>(0.7, 1)(random);
        code.push_back({ static_cast<float>(size * std::cos(a)),
                         static_cast<float>(size * std::sin(a)) });
    }
    return code;
}

cd value(const std::vector<cf32>& code, std::int64_t n)
{
    const cf32 c = code[n % static_cast<std::int64_t>(code.size())];
    return { c.re, c.im };
}

arrival pulse_in(const line_out& l, const pulse_arrival& where)
{
    const auto n = static_cast<int>(l.samples.size());
    return where.find(l.samples.data(), n, 0, n - where.replica_samples());
}

std::string all(const std::vector<std::string>& said)
{
    std::string text;
    for (const std::string& s : said)
        text += s + "\n";
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_code_is_taken_off_by_number)
{
    // by each alignment, through known gaps; nothing else is taken off, so the phase of a
    // line is that of the target
    using a = framer_alignment;
    const double pri = 500;
    for (const a alignment :
         { a::scheduled, a::trigger, a::reference, a::leakage, a::burst })
        for (const int length : { 1, 4, 7 })
            for (const std::int64_t lost : { 1, 7, 10000 }) {
                const auto code = random_code(length, 10 * length);
                pulse_framer_params p{ acquisition(fields(200, fs / pri)) };
                p.alignment = alignment;
                p.reference_input = alignment == a::reference;
                p.trigger_input = alignment == a::trigger;
                p.reference_delay_s = p.delay_s = -20 / fs;
                if (alignment == a::reference || alignment == a::leakage)
                    p.reference_delay_s = 20 / fs;
                p.fill = hole_fill::skip;
                p.code = code;
                auto f = kernel::pulse_framer::make(p);
                const bool by_number = alignment == a::scheduled ||
                                       alignment == a::trigger || alignment == a::burst;
                // without a schedule the stream begins anywhere in the code
                const std::int64_t first = by_number ? 0 : 1000003;
                const double begin = 30;
                const auto emitted = pulses(p.acq, begin, pri, [&](std::int64_t n) {
                    return 0.5 * value(code, first + n);
                });
                radio r;
                r.main = emitted;
                r.samples = static_cast<std::int64_t>((200 + lost) * pri);
                r.losses = {
                    { 50120, static_cast<std::int64_t>(lost * pri), radio::sign::time }
                };
                std::vector<line_out> lines;
                if (alignment == a::scheduled) {
                    p.start = radio_time{ 100, 0.25 + begin / fs };
                    f = kernel::pulse_framer::make(p);
                } else if (alignment == a::reference) {
                    r.reference = emitted;
                } else if (alignment == a::trigger) {
                    r.trigger = square(begin, pri, 100);
                }
                if (alignment == a::burst) { // three pulses each, one is cut
                    p.delay_s = 0;
                    f = kernel::pulse_framer::make(p);
                    std::vector<cf32> x(1530);
                    line_out l;
                    l.samples.resize(200);
                    for (int b = 0; b < 30; ++b) {
                        for (int i = 0; i < 1530; ++i)
                            x[i] = emitted(20 + 1500 * b + i);
                        f->tell({ {}, {}, {}, false, 1530 });
                        const int n = b == 11 ? 600 : 1530;
                        for (int done = 0; done < n;) {
                            done +=
                                f->feed(x.data() + done, nullptr, nullptr, n - done, 0);
                            while (f->next(l.facts, l.samples.data()))
                                lines.push_back(l);
                        }
                    }
                } else {
                    lines = r.run(*f);
                }
                in_order(lines);
                BOOST_TEST(lines.size() >= (alignment == a::burst ? 85u : 190u));
                const pulse_arrival where(transmitted_pulse(p.acq), 300);
                for (const line_out& l : lines) {
                    const arrival seen = pulse_in(l, where);
                    BOOST_REQUIRE(seen.found);
                    BOOST_REQUIRE_SMALL(seen.phase_rad, 0.01);
                    BOOST_REQUIRE_SMALL(seen.amplitude - 0.5, 0.005);
                    if (!by_number) {
                        BOOST_REQUIRE_SMALL(l.facts.phase_rad, 0.01);
                        BOOST_REQUIRE_SMALL(l.facts.amplitude - 0.5, 0.005);
                    }
                }
                if (alignment != a::burst)
                    BOOST_TEST(lines.back().facts.pulse - lines.front().facts.pulse >=
                               198 + lost);
            }
}

BOOST_AUTO_TEST_CASE(a_gap_of_unknown_length_and_a_code)
{
    // the host's clock counts two pulses too many, the code says that it was less
    const double pri = 800.5;
    const double hz = 1.19;
    for (const int length : { 1, 4, 7 })
        for (const int kind : { 0, 1, 2 }) // told; not told; leakage beside a schedule
            for (const framer_correction correct :
                 { framer_correction::none, framer_correction::delay_phase }) {
                if (length < 7 && (kind > 0 || correct == framer_correction::none))
                    continue;
                const auto code = random_code(length, 3 * length);
                pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
                p.alignment =
                    kind == 2 ? framer_alignment::scheduled : framer_alignment::leakage;
                p.reference_delay_s = 20 / fs;
                p.delay_s = -40 / fs;
                p.smoothing = 8;
                p.correct = correct;
                p.code = code;
                if (kind == 2) {
                    if (correct == framer_correction::none)
                        continue; // then no pulse is measured
                    p.start = radio_time{ 100, 0.25 + (10 + 20) / fs };
                }
                auto f = kernel::pulse_framer::make(p);
                const auto phase = [&](double n) {
                    return correct == framer_correction::none
                               ? 0.3
                               : 0.3 + 2 * pi * hz * n * pri / fs;
                };
                radio r;
                r.main = pulses(
                    p.acq,
                    10,
                    pri,
                    [&](std::int64_t n) {
                        return std::polar(0.5, phase(n)) * value(code, n);
                    },
                    0.005);
                const std::int64_t before = 15000 * 800;
                r.samples = before + 400 * 800;
                r.stamps = kind == 2;
                r.late_s = 2 * pri / fs;
                r.losses = { { before + 123,
                               77 * 800 + 345,
                               kind == 1 ? radio::sign::none : radio::sign::rate } };
                std::vector<std::string> said;
                const auto lines = r.run(*f, &said);
                in_order(lines);
                BOOST_TEST(f->status().gaps == 1);
                BOOST_TEST(f->status().silent_gaps == (kind == 1));
                BOOST_TEST(f->status().framed >= 15200u);
                if (length == 7)
                    BOOST_TEST(
                        std::abs(lines.back().facts.pulse -
                                 static_cast<std::int64_t>((r.samples - 10) / pri)) <= 1);
                const pulse_arrival where(transmitted_pulse(p.acq), 300);
                int n = 0;
                for (const line_out& l : lines) {
                    if (!l.good() || (++n < 64 && length > 1))
                        continue;
                    const arrival seen = pulse_in(l, where);
                    BOOST_REQUIRE(seen.found);
                    BOOST_REQUIRE_SMALL(
                        seen.phase_rad - (correct == framer_correction::none ? 0.3 : 0.0),
                        0.01);
                }
                BOOST_TEST(n > 15200);
                if (length > 1 && kind != 2)
                    BOOST_TEST(has(all(said), "of the code, by"));
                if (kind == 1)
                    BOOST_TEST(has(all(said), "told nothing: the pulse came early"));
            }
}

BOOST_AUTO_TEST_CASE(what_works_on_lines_works_with_a_code)
{
    // sums over pulses of all places, and lines divided by the spectrum of the pulse
    const double pri = 1000;
    const auto code = random_code(4, 8);
    for (const int presum : { 1, 4 })
        for (const framer_correction correct :
             { framer_correction::delay_phase, framer_correction::full }) {
            pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
            p.alignment = framer_alignment::reference;
            p.reference_input = true;
            p.correct = correct;
            p.presum = presum;
            p.code = code;
            auto f = kernel::pulse_framer::make(p);
            const auto sent = [&](double begin) {
                return pulses(p.acq, begin, pri, [&](std::int64_t n) {
                    return std::polar(0.5, 0.7 + 0.003 * n) * value(code, n + 2);
                });
            };
            radio r;
            r.stamps = false;
            r.samples = 600 * 1000;
            r.reference = sent(10.5);
            r.main = sent(10.5 + 40);
            const auto lines = r.run(*f);
            const pulse_arrival where(transmitted_pulse(p.acq), 300);
            int n = 0;
            for (const line_out& l : lines) {
                if (l.facts.pulse * presum < 64 || l.facts.summed != presum)
                    continue;
                const arrival a = pulse_in(l, where);
                BOOST_REQUIRE(a.found);
                BOOST_REQUIRE_SMALL(a.delay_samples - 40, 0.02);
                BOOST_REQUIRE_SMALL(a.phase_rad, 0.01);
                const double size = correct == framer_correction::full ? 1 : 0.5;
                BOOST_REQUIRE_SMALL(a.amplitude - size, 0.02);
                ++n;
            }
            BOOST_TEST(n >= 530 / presum);
        }
}

BOOST_AUTO_TEST_CASE(places_of_a_code_that_look_alike)
{
    const double pri = 800.5;
    const auto run = [&](const std::function<double(double)>& phase,
                         int length,
                         bool sent,
                         std::vector<std::string>& said) {
        pulse_framer_params p{ acquisition(fields(300, fs / pri)) };
        p.alignment = framer_alignment::leakage;
        p.reference_delay_s = 20 / fs;
        p.correct = framer_correction::delay_phase;
        for (int m = 0; m < length; ++m)
            p.code.push_back({ static_cast<float>(std::cos(phase(m))),
                               static_cast<float>(std::sin(phase(m))) });
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.main = pulses(
            p.acq,
            10,
            pri,
            [&](std::int64_t n) { return sent ? value(p.code, n + 3) : cd(1); },
            0.005);
        const std::int64_t before = 15000 * 800;
        r.samples = before + 400 * 800;
        r.stamps = false;
        r.late_s = 2 * pri / fs;
        r.losses = { { before + 123, 77 * 800 + 345, radio::sign::rate } };
        return r.run(*f, &said);
    };
    const pulse_arrival where(transmitted_pulse(acquisition(fields(300, fs / pri))), 300);
    // phases linear and quadratic in n: said, and what is wrong is taken off as a drift;
    // of the quadratic one the drift tells the place after the gap
    for (const int kind : { 1, 2 }) {
        std::vector<std::string> said;
        const auto lines =
            run([=](double m) { return kind == 1 ? 2 * pi * m / 7 : pi * m * m / 8; },
                kind == 1 ? 7 : 8,
                true,
                said);
        BOOST_TEST(has(all(said), "the code looks alike"));
        BOOST_TEST(lines.front().facts.pulse == 1); // 0 begins before the stream
        BOOST_TEST((all(said).find("of the code, by") != std::string::npos) ==
                   (kind == 2));
        for (const line_out& l : lines)
            if (l.good() && l.facts.pulse > 64)
                BOOST_REQUIRE_SMALL(pulse_in(l, where).phase_rad, 0.01);
    }
    // only one of 16 differs: it has to be seen first
    std::vector<std::string> said;
    const auto lines = run([](double m) { return m == 5 ? pi : 0; }, 16, true, said);
    BOOST_TEST(lines.size() > 15100u);
    for (const line_out& l : lines)
        if (l.good())
            BOOST_REQUIRE_SMALL(pulse_in(l, where).phase_rad, 0.01);
    // another is transmitted than was said
    said.clear();
    BOOST_TEST(run([](double m) { return m * m * m; }, 7, false, said).empty());
    BOOST_TEST(has(all(said), "the code is not found"));
}

BOOST_AUTO_TEST_CASE(a_code_that_cannot_be_is_named)
{
    const auto wrong = [](const std::vector<cf32>& code) {
        pulse_framer_params p{ acquisition(fields(100, fs / 400)) };
        p.code = code;
        return sentence_of([&] { kernel::pulse_framer::make(p); });
    };
    BOOST_TEST(wrong({ { 1, 0 }, { 0, -1 } }) == "no error");
    BOOST_TEST(has(wrong({ { 1, 0 }, { 0, 0 } }), "code[1] is 0 + 0i"));
    BOOST_TEST(has(wrong({ { NAN, 0 } }), "code[0] is nan"));
    BOOST_TEST(has(wrong(std::vector<cf32>(4097, { 1, 0 })), "code has 4097 values"));
    BOOST_TEST(pulse_code({ { 1, 0 }, { 0, 1 }, { 1, 0 }, { 0, 1 } }).length() == 2);
}

BOOST_AUTO_TEST_CASE(the_image_of_the_receiver_is_taken_off)
{
    // a still scene, so that every pulse has the same phase, at -25 dB of image
    const double pri = 2500;
    const std::complex<float> w(std::polar(0.0562f, 0.7f));
    enum { leakage, shifted, scheduled, reference, late };
    for (const int kind : { leakage, shifted, scheduled, reference, late }) {
        auto f1 = fields(1200, fs / pri, 600);
        pulse_framer_params p{ acquisition(f1) };
        const bool by_time = kind == scheduled || kind == late;
        p.alignment = by_time             ? framer_alignment::scheduled
                      : kind == reference ? framer_alignment::reference
                                          : framer_alignment::leakage;
        p.reference_input = kind == reference;
        p.reference_delay_s = 20 / fs;
        if (by_time) {
            p.reference_delay_s = 0;
            p.start = radio_time{ 100, 0.25 + 80.3 / fs };
        }
        p.frequency_shift_hz = kind == shifted ? 0.07 * fs : 0;
        const std::vector<std::pair<double, cd>> echoes = { { 0, kind == late ? 0 : 1 },
                                                            { 33.4, cd(0, 0.1) },
                                                            { 250.7, cd(0.1, 0.05) },
                                                            { 420, cd(-0.02, 0.1) },
                                                            { 555.5, 0.08 } };
        std::vector<std::function<cf32(std::int64_t)>> each;
        for (const auto& [late, size] : echoes)
            each.push_back(pulses(
                p.acq, 100.3 + late, pri, [size = size](auto) { return 0.5 * size; }));
        auto noise = std::make_shared<std::mt19937>(5);
        const auto run = [&](bool image, bool removed, framer_status& s) {
            radio r;
            r.samples = 220 * 2500;
            if (kind == shifted) // the image turns on through a gap
                r.losses = { { 20 * 2500, 7777, radio::sign::time } };
            noise->seed(5);
            r.main = [&, image, noise](std::int64_t u) {
                std::normal_distribution<float> d(0, 5e-4f);
                std::complex<float> x(d(*noise), d(*noise));
                for (const auto& e : each)
                    x += std::complex<float>(e(u).re, e(u).im);
                const double a = 2 * pi * std::fmod(p.frequency_shift_hz / fs * u, 1.0);
                x *= std::complex<float>(std::polar(1.0, a));
                if (image)
                    x += w * std::conj(x);
                return cf32{ x.real(), x.imag() };
            };
            if (kind == reference)
                r.reference = pulses(p.acq, 120.3, pri);
            p.remove_image = removed;
            auto f = kernel::pulse_framer::make(p);
            const auto lines = r.run(*f);
            s = f->status();
            return lines;
        };
        framer_status s;
        const auto clean = run(false, false, s);
        BOOST_TEST(s.image_db == 0);
        const auto worst_db = [&](const std::vector<line_out>& lines) {
            double worst = -300;
            BOOST_REQUIRE_EQUAL(lines.size(), clean.size());
            for (std::size_t i = 1; i < lines.size(); ++i) {
                BOOST_REQUIRE_EQUAL(lines[i].facts.pulse, clean[i].facts.pulse);
                worst =
                    std::max(worst, difference_db(lines[i].samples, clean[i].samples));
            }
            return worst;
        };
        const double before = worst_db(run(true, false, s));
        const double after = worst_db(run(true, true, s));
        BOOST_TEST_MESSAGE("image " << kind << ": " << before << " dB, then " << after);
        BOOST_TEST(std::abs(before + 25) < 0.5);
        // of echoes alone, late and as strong as the first, not as much
        const double least = kind == late ? -40 : -50;
        BOOST_TEST(after < least);
        BOOST_TEST(std::abs(s.image_db + 25) < (kind == late ? 1 : 0.3));
        // and nothing is made where there is none
        BOOST_TEST(worst_db(run(false, true, s)) < least);
        BOOST_TEST(s.image_db < least);
    }
}

//! Side lobes of the first echo are taken for its image, whatever image there is.
BOOST_AUTO_TEST_CASE(short_pulses_are_warned_of_where_the_image_is_taken_off)
{
    const double pri = 2500;
    for (const int n : { 64, 100, 200, 280 }) {
        pulse_framer_params p{ acquisition(fields(1200, fs / pri, n)) };
        p.alignment = framer_alignment::leakage;
        p.reference_delay_s = 20 / fs;
        for (const double image_db : { -25.0, -45.0 }) {
            const std::vector<std::pair<double, cd>> echoes = {
                { 0, 1 }, { 33.4, cd(0, 0.1) }, { 250.7, cd(0.1, 0.05) }, { 420, 0.1 }
            };
            std::vector<std::function<cf32(std::int64_t)>> each;
            for (const auto& [late, size] : echoes)
                each.push_back(pulses(p.acq, 100.3 + late, pri, [size = size](auto) {
                    return 0.5 * size;
                }));
            const auto run = [&](bool image, bool removed) {
                radio r;
                r.samples = 150 * 2500;
                std::mt19937 noise(5);
                const std::complex<float> w(std::polar(std::pow(10, image_db / 20), 0.7));
                r.main = [&](std::int64_t u) {
                    std::normal_distribution<float> d(0, 5e-4f);
                    std::complex<float> x(d(noise), d(noise));
                    for (const auto& e : each)
                        x += std::complex<float>(e(u).re, e(u).im);
                    if (image)
                        x += w * std::conj(x);
                    return cf32{ x.real(), x.imag() };
                };
                p.remove_image = removed;
                auto f = kernel::pulse_framer::make(p);
                return r.run(*f);
            };
            const auto clean = run(false, false), before = run(true, false),
                       after = run(true, true);
            const auto off_db = [&](const auto& lines) {
                return difference_db(lines.back().samples, clean.back().samples);
            };
            BOOST_TEST_MESSAGE("product " << n / 2 << ": " << off_db(before)
                                          << " dB of image, then " << off_db(after));
            BOOST_TEST(off_db(before) == image_db, boost::test_tools::tolerance(0.02));
            BOOST_TEST((off_db(after) < off_db(before)) == (n >= 200 || image_db == -25));
            // as the warning says, or better
            BOOST_TEST(off_db(after) < -45 + 11 * std::log2(200.0 / n));
            BOOST_TEST(off_db(after) > -45 + 11 * std::log2(200.0 / n) - 12);
        }
        // the product of a replica is seen in its spectrum
        for (const bool replica : { false, true }) {
            p.remove_image = true;
            if (replica)
                p.replica = transmitted_pulse(p.acq);
            const auto said = kernel::pulse_framer::make(p)->warnings();
            if (n < 200) {
                BOOST_REQUIRE_EQUAL(said.size(), 1u);
                const auto at = said[0].find("of the pulse is ");
                BOOST_REQUIRE(at != std::string::npos);
                BOOST_TEST(std::abs(std::stod(said[0].substr(at + 16)) - n / 2) <=
                           (replica ? 0.06 * n : 0));
                BOOST_TEST(has(said[0], "expected 100 or more"), said[0]);
                if (n == 100 && !replica)
                    BOOST_TEST(has(said[0], "about -34 dB"), said[0]);
            } else if (n > 200 || !replica) {
                BOOST_TEST(said.empty());
            }
            p.remove_image = false;
            BOOST_TEST(kernel::pulse_framer::make(p)->warnings().empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(an_image_needs_a_pulse)
{
    auto f = fields(100, 1000);
    f.wave = waveform::fmcw;
    pulse_framer_params p{ acquisition(f) };
    p.alignment = framer_alignment::scheduled;
    p.remove_image = true;
    BOOST_TEST(has(sentence_of([&] { kernel::pulse_framer::make(p); }),
                   "has no pulse before which the image stands"));
    p = pulse_framer_params{ acquisition(fields(100, fs / 400, 20)) };
    p.remove_image = true;
    BOOST_TEST(has(sentence_of([&] { kernel::pulse_framer::make(p); }), "too short"));
    // noise and real samples have none that could be seen
    p = scheduled(100, 500);
    p.remove_image = true;
    auto k = kernel::pulse_framer::make(p);
    radio r;
    r.samples = 50 * 500;
    std::mt19937 random(1);
    r.main = [&](std::int64_t) {
        std::normal_distribution<float> d(0, 1);
        return cf32{ d(random), d(random) };
    };
    BOOST_TEST(r.run(*k).size() > 40u);
    BOOST_TEST(k->status().image_db == 0);
    k = kernel::pulse_framer::make(p);
    r.main = [&](std::int64_t u) { return cf32{ tone_at(u).re, 0 }; };
    BOOST_TEST(r.run(*k).size() > 40u);
    BOOST_TEST(k->status().image_db == 0);
}

BOOST_AUTO_TEST_CASE(hints)
{
    const auto hint = [](float low, float high, int on, double level) {
        pulse_framer_params p{ acquisition(fields(100, fs / 400)) };
        p.alignment = framer_alignment::trigger;
        p.trigger_input = true;
        p.trigger_level = level;
        auto f = kernel::pulse_framer::make(p);
        radio r;
        r.samples = 40 * 400;
        r.trigger = [=](std::int64_t u) { return u % 400 < on ? high : low; };
        std::vector<std::string> said;
        r.run(*f, &said);
        return said.back();
    };
    BOOST_TEST(has(hint(0, 0.2f, 100, 0.5), "no edge"));
    BOOST_TEST(has(hint(0, 1, 390, 0.5), "looks inverted"));
    BOOST_TEST(has(hint(0, 1, 10, 0.5), "alignment trigger"));
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_named)
{
    const auto wrong = [](const std::function<void(pulse_framer_params&)>& change) {
        pulse_framer_params p{ acquisition(fields(100, fs / 400)) };
        change(p);
        return sentence_of([&] { kernel::pulse_framer::make(p); });
    };
    BOOST_TEST(wrong([](auto&) {}) == "no error");
    using a = framer_alignment;
    BOOST_TEST(has(wrong([](auto& p) { p.alignment = a::trigger; }), "trigger_input"));
    BOOST_TEST(
        has(wrong([](auto& p) { p.alignment = a::reference; }), "reference_input"));
    BOOST_TEST(has(wrong([](auto& p) { p.pri_samples = -3; }), "pri_samples"));
    BOOST_TEST(has(wrong([](auto& p) { p.pri_samples = 50; }), "the pulse has 100"));
    BOOST_TEST(has(wrong([](auto& p) { p.delay_s = NAN; }), "delay_s is nan"));
    BOOST_TEST(has(wrong([](auto& p) { p.presum = 0; }), "presum is 0"));
    BOOST_TEST(has(wrong([](auto& p) { p.smoothing = -1; }), "smoothing is -1"));
    BOOST_TEST(has(wrong([](auto& p) { p.least_snr_db = 3; }), "least_snr_db is 3"));
    BOOST_TEST(has(wrong([](auto& p) { p.start = radio_time{ 1, 1.5 }; }), "1.5"));
    BOOST_TEST(has(wrong([](auto& p) { p.full_scale = -1; }), "full_scale is -1"));
    auto f = fields(100, 1000);
    f.wave = waveform::fmcw;
    pulse_framer_params p{ acquisition(f) };
    BOOST_TEST(has(sentence_of([&] { kernel::pulse_framer::make(p); }), "'auto'"));
    p.alignment = a::leakage;
    BOOST_TEST(
        has(sentence_of([&] { kernel::pulse_framer::make(p); }), "replica is empty"));
    BOOST_TEST(has(sentence_of([] { framer_alignment_from_name("sync"); }), "leakage"));
}
