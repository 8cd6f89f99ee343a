// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE delay_calibration
#include "delay_calibration.h"
#include "delay_calibration_math.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/errors.h"
#include "../core/qa_pulses.h"
#include "../core/qa_tools.h"
#include <algorithm>
#include <functional>
#include <limits>

using namespace gr::sar;
namespace data = boost::unit_test::data;

namespace {

constexpr double fs = 2e6;

//! A stream of pulses as a receiver sees it.
struct scene {
    samples pulse = lfm(200, 0.8);
    double pri = 1000;
    double delay = 137.3; // samples, of pulse 0
    int pulses = 80;
    int first = 0; // pulse that is sent first
    double amplitude = 0.25;
    double phase = 0.7;         // at the start of the stream
    double frequency_hz = 0;    // of the carrier, received minus sent
    double drift = 0;           // samples a second
    double snr_db = 30;         // of one pulse, after correlation
    std::vector<int> lost = {}; // pulses that were not sent
    int seed = 1;

    //! When pulse k arrives, samples.
    double arrives(int k) const
    {
        const double sent = k * pri;
        return sent + delay + drift * sent / fs;
    }
    double phase_at(double sample) const
    {
        return phase + 2 * pi * frequency_hz * sample / fs;
    }

    samples stream() const { return noisy(clean()); }

    samples clean() const
    {
        samples x(static_cast<std::size_t>(pulses * pri + delay + 400));
        samples piece;
        double made = -1;
        for (int k = first; k < pulses; ++k) {
            if (std::count(lost.begin(), lost.end(), k))
                continue;
            const double at = arrives(k), whole = std::floor(at);
            if (std::abs(at - whole - made) > 1e-9) {
                made = at - whole;
                piece.assign(pulse.size() + 80, cf32{ 0, 0 });
                add(piece, pulse, 40 + made, 1);
            }
            const cf32 a = to_cf32(std::polar(amplitude, phase_at(at)));
            for (std::size_t i = 0; i < piece.size(); ++i) {
                const double place = whole - 40 + i;
                if (place >= 0 && place < x.size())
                    x[place] = x[place] + a * piece[i];
            }
        }
        return x;
    }

    samples noisy(samples x) const
    {
        std::mt19937 random(seed);
        add_noise(
            x, amplitude * amplitude * energy(pulse) / std::pow(10, snr_db / 10), random);
        return x;
    }
};

delay_calibration_params params_for(const scene& s, int pulses = 64)
{
    delay_calibration_params p;
    p.replica = s.pulse;
    p.sample_rate_hz = fs;
    p.pri_samples = s.pri;
    p.pulses = pulses;
    return p;
}

delay_estimate measure(const delay_calibration_params& p,
                       const samples& x,
                       const samples* reference = nullptr,
                       int piece = 777)
{
    const auto c = kernel::delay_calibration::make(p);
    for (std::size_t i = 0; i < x.size(); i += piece)
        if (c->take(x.data() + i,
                    reference ? reference->data() + i : nullptr,
                    static_cast<int>(std::min<std::size_t>(piece, x.size() - i))))
            break;
    return c->estimate();
}

} // namespace

// ---- delay, phase and their errors ----

BOOST_AUTO_TEST_CASE(twenty_starts)
{
    std::mt19937 random(3);
    std::uniform_real_distribution<double> offset(0, 5000);
    for (int start = 0; start < 20; ++start) {
        scene s;
        s.pri = 6000;
        s.pulses = 12;
        s.delay = start < 3 ? 2500.0 * start : offset(random);
        s.phase = 0.3 * start - 3;
        s.snr_db = 20;
        s.seed = start;
        const delay_estimate e = measure(params_for(s, 8), s.stream());
        BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
        // a cell of the 0.8 fs of bandwidth is 1.25 samples
        BOOST_TEST(std::abs(e.delay_s * fs - s.delay) < 0.05);
        BOOST_TEST(std::abs(e.delay_s * fs - s.delay) < 4 * e.delay_std_s * fs);
        BOOST_TEST(std::abs(angle(e.phase_rad - s.phase)) < 4 * e.phase_std_rad);
        BOOST_TEST(e.ambiguity_s == 6000 / fs);
        BOOST_TEST(e.pulses == 8);
    }
}

BOOST_DATA_TEST_CASE(truth_lies_within_two_standard_deviations,
                     data::make({ 17.0, 20.0, 35.0 }),
                     snr_db)
{
    scene s;
    s.snr_db = snr_db;
    s.frequency_hz = 1.19;
    s.drift = 0.4;
    int delay = 0, phase = 0, frequency = 0, drift = 0;
    double worst_delay = 0, worst_phase = 0;
    const int runs = 120;
    const samples clean = s.clean();
    for (int run = 0; run < runs; ++run) {
        s.seed = 100 + run;
        const delay_estimate e = measure(params_for(s), s.noisy(clean));
        BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
        const double middle = e.time_s * fs; // arrival of the middle of the pulses
        const double sent = (middle - s.delay) / (1 + s.drift / fs);
        const double d = e.delay_s * fs - (middle - sent);
        const double p = angle(e.phase_rad - s.phase_at(middle));
        worst_delay = std::max(worst_delay, std::abs(d));
        worst_phase = std::max(worst_phase, std::abs(p));
        delay += std::abs(d) < 2 * e.delay_std_s * fs;
        phase += std::abs(p) < 2 * e.phase_std_rad;
        frequency += std::abs(e.residual_frequency_hz - s.frequency_hz) <
                     2 * e.residual_frequency_std_hz;
        drift +=
            std::abs(e.drift_samples_per_s - s.drift) < 2 * e.drift_std_samples_per_s;
        BOOST_TEST(e.snr_db == snr_db, boost::test_tools::tolerance(0.05));
        BOOST_TEST(e.pulses_missing == 0);
        BOOST_TEST(std::abs(e.amplitude_db - 20 * std::log10(0.25)) < 0.5);
        BOOST_TEST(e.drift_rad_per_s == 2 * pi * e.residual_frequency_hz,
                   boost::test_tools::tolerance(1e-12));
    }
    BOOST_TEST_MESSAGE(snr_db << " dB: " << worst_delay << " samples, " << worst_phase
                              << " rad; covered " << delay << " " << phase << " "
                              << frequency << " " << drift);
    for (const int covered : { delay, phase, frequency, drift })
        BOOST_TEST(covered >= 0.9 * runs);
    if (snr_db >= 20) {
        BOOST_TEST(worst_delay < 0.05);
        BOOST_TEST(worst_phase < 0.03); // 3.4 standard deviations of 0.07 rad / 8
    }
}

BOOST_AUTO_TEST_CASE(phase_within_0_02_rad_at_20_db)
{
    scene s;
    s.snr_db = 20;
    s.pulses = 270;
    for (int run = 0; run < 20; ++run) {
        s.seed = run;
        const delay_estimate e = measure(params_for(s, 256), s.stream());
        BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
        BOOST_TEST(std::abs(angle(e.phase_rad - s.phase)) < 0.02);
        BOOST_TEST(std::abs(e.delay_s * fs - s.delay) < 0.02);
    }
}

BOOST_AUTO_TEST_CASE(fractional_pri_and_a_clock_that_is_off)
{
    scene s;
    s.pri = 1234.567;
    s.delay = 900.2;
    s.drift = 20e-6 * fs; // 20 ppm: 40 samples a second
    s.frequency_hz = -211;
    const delay_estimate e = measure(params_for(s), s.stream());
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_TEST(e.drift_samples_per_s == 40, boost::test_tools::tolerance(0.01));
    BOOST_TEST(e.residual_frequency_hz == -211, boost::test_tools::tolerance(1e-3));
    const double middle = e.time_s * fs;
    BOOST_TEST(std::abs(e.delay_s * fs - (s.delay + s.drift * (middle - s.delay) / fs)) <
               0.01);
}

BOOST_AUTO_TEST_CASE(the_size_of_pieces_does_not_matter)
{
    scene s;
    const samples x = s.stream();
    const delay_estimate e = measure(params_for(s), x);
    for (const int piece : { 1, 199, 4096, 1 << 20 }) {
        const delay_estimate f = measure(params_for(s), x, nullptr, piece);
        BOOST_REQUIRE(f.valid);
        BOOST_TEST(f.delay_s == e.delay_s);
        BOOST_TEST(f.phase_rad == e.phase_rad);
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_noise_must_not_turn)
{
    BOOST_TEST(cyclic_delay(-0.25, 1000) == -0.25);
    BOOST_TEST(cyclic_delay(999.5, 1000) == -0.5, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(cyclic_delay(998.5, 1000) == 998.5, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(cyclic_delay(5137.5, 1000) == 137.5, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(cyclic_delay(-1862.5, 1000) == 137.5, boost::test_tools::tolerance(1e-9));
    // phases that turn by almost half a circle a pulse, with a gap
    std::vector<int> k;
    std::vector<double> p;
    for (int i = 0; i < 50; ++i)
        if (i < 10 || i > 23) {
            k.push_back(i);
            p.push_back(std::remainder(0.4 - 2.9 * i, 2 * pi));
        }
    const std::vector<double> y = unwrap_phases(k, p);
    for (std::size_t i = 1; i < y.size(); ++i)
        BOOST_TEST(y[i] - y[0] == -2.9 * (k[i] - k[0]),
                   boost::test_tools::tolerance(1e-9));
}

// ---- ambiguity, reference, cable ----

BOOST_AUTO_TEST_CASE(a_delay_beyond_the_pri)
{
    scene s;
    s.delay = 3137.3;
    const samples x = s.stream();
    delay_calibration_params p = params_for(s);
    delay_estimate e = measure(p, x);
    BOOST_REQUIRE(e.valid);
    BOOST_TEST(std::abs(e.delay_s * fs - 137.3) < 0.02); // modulo the PRI, and says so
    BOOST_TEST(e.ambiguity_s == 1000 / fs);
    p.ambiguity = delay_ambiguity::first_pulse;
    e = measure(p, x);
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_TEST(std::abs(e.delay_s * fs - 3137.3) < 0.02);
    BOOST_TEST(e.ambiguity_s == 0);
    // sent later than the stream begins
    p.first_pulse_samples = 2000.5;
    e = measure(p, x);
    BOOST_REQUIRE(e.valid);
    BOOST_TEST(std::abs(e.delay_s * fs - 1136.8) < 0.02);
    p.first_pulse_samples = 4000;
    e = measure(p, x);
    BOOST_TEST(!e.valid);
    BOOST_TEST(has(e.problem, "before it was sent; check when transmission begins"));
}

BOOST_AUTO_TEST_CASE(a_reference_channel_takes_the_start_off)
{
    scene main, reference;
    main.delay = 431.85;
    main.phase = 2.5;
    reference.delay = 400.3;
    reference.phase = -1;
    reference.amplitude = 0.5;
    main.frequency_hz = reference.frequency_hz = 30; // the same local oscillator
    reference.seed = 9;
    for (const double swap : { 1.0, -1.0 }) {
        samples a = main.stream(), b = reference.stream();
        const std::size_t n = std::min(a.size(), b.size());
        a.resize(n);
        b.resize(n);
        delay_calibration_params p = params_for(main);
        p.reference = true;
        const delay_estimate e = swap > 0 ? measure(p, a, &b) : measure(p, b, &a);
        BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
        BOOST_TEST(std::abs(e.delay_s * fs - swap * 31.55) < 0.03);
        // the carrier turns by 2 pi 30 Hz from one arrival to the other
        const double phase = swap * (3.5 + 2 * pi * 30 * 31.55 / fs);
        BOOST_TEST(std::abs(angle(e.phase_rad - phase)) < 0.03);
        BOOST_TEST(std::abs(e.residual_frequency_hz) < 4 * e.residual_frequency_std_hz);
        BOOST_TEST(std::abs(e.amplitude_db + swap * 20 * std::log10(2)) < 0.1);
        BOOST_TEST(e.snr_db == 27, boost::test_tools::tolerance(0.02));
    }
    // on either side of the start of a PRI
    scene late = main, early = reference;
    late.delay = 3.2;
    early.delay = 998.9;
    samples a = late.stream(), b = early.stream();
    a.resize(70000);
    b.resize(70000);
    delay_calibration_params p = params_for(main);
    p.reference = true;
    const delay_estimate e = measure(p, a, &b);
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_TEST(std::abs(e.delay_s * fs - 4.3) < 0.03);
    // of pulses that follow each other, not of those half a turn of the carrier apart
    BOOST_TEST(std::abs(angle(e.phase_rad - 3.5 - 2 * pi * 30 * 4.3 / fs)) < 0.03);
}

BOOST_AUTO_TEST_CASE(a_cable_is_not_the_radio)
{
    scene s;
    delay_calibration_params p = params_for(s);
    const samples x = s.stream();
    const double all = measure(p, x).delay_s;
    p.cable_delay_s = 12.5e-9;
    const delay_estimate e = measure(p, x);
    BOOST_TEST(e.delay_s == all - 12.5e-9, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(e.cable_delay_s == 12.5e-9);
}

// ---- what is refused ----

BOOST_AUTO_TEST_CASE(refused_with_what_to_change)
{
    scene s;
    s.snr_db = 9;
    s.pulses = 1100;
    delay_calibration_params p = params_for(s);
    p.search_s = 0.2;
    delay_estimate e = measure(p, s.stream());
    BOOST_TEST(!e.valid);
    BOOST_TEST(has(e.problem, "no pulse was found in 0.2 s"));
    BOOST_TEST(has(e.problem, "dB after correlation, expected 15 dB or more"));
    BOOST_TEST(has(e.problem, "gain"));
    BOOST_TEST(has(e.problem, "attenuator"));
    BOOST_TEST(has(e.problem, "cable"));
    // a wrong PRI
    s.snr_db = 30;
    s.pulses = 80;
    p.pri_samples = 1010;
    e = measure(p, s.stream());
    BOOST_TEST(!e.valid);
    BOOST_TEST(has(e.problem, "PRI of 1010 samples say; check prf_hz"));
    // too short
    p = params_for(s, 100);
    e = measure(p, s.stream());
    BOOST_TEST(!e.valid);
    BOOST_TEST(has(e.problem, "the stream ended after"));
    BOOST_TEST(has(e.problem, "of 100 pulses measured; give a longer recording"));
    BOOST_TEST(!measure(p, {}).valid);
    // nothing
    p.search_s = 0.01;
    e = measure(p, samples(100000));
    BOOST_TEST(has(e.problem, "no pulse was found in 0.01 s that reaches 15 dB; raise"));
}

BOOST_DATA_TEST_CASE(lost_samples_are_told_from_drift, data::make({ 1, 3, 300 }), gone)
{
    scene s;
    samples x = s.stream();
    x.erase(x.begin() + 20500, x.begin() + 20500 + gone);
    const delay_estimate e = measure(params_for(s), x);
    BOOST_TEST(!e.valid);
    if (gone < 10)
        BOOST_TEST(
            has(e.problem,
                sentence("jumps by ", -gone, " samples at pulse 21: samples are")));
    else
        BOOST_TEST(has(e.problem, "samples are lost (overflow)"));
}

BOOST_AUTO_TEST_CASE(pulses_that_were_not_sent_are_counted)
{
    scene s;
    s.lost = { 3, 4, 5, 30, 31, 50 };
    s.drift = 10;
    s.frequency_hz = 300;
    const delay_estimate e = measure(params_for(s), s.stream());
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_TEST(e.pulses == 64);
    BOOST_TEST(e.pulses_missing == 6);
    BOOST_TEST(e.residual_frequency_hz == 300, boost::test_tools::tolerance(1e-3));
    BOOST_REQUIRE_EQUAL(e.warnings.size(), 1u);
    BOOST_TEST(has(e.warnings[0], "6 of 70 pulses were missing"));
}

BOOST_AUTO_TEST_CASE(a_gap_between_clocks_that_differ)
{
    // 40 ppm are 8 samples a PRI, and 32 over the gap: beyond 10 to either side
    scene s;
    s.pri = 200000;
    s.pulses = 17;
    s.drift = 40e-6 * fs;
    s.lost = { 8, 9, 10 };
    const delay_estimate e = measure(params_for(s, 12), s.stream());
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_TEST(e.pulses_missing == 3);
    BOOST_TEST(e.drift_samples_per_s == 80, boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(clipping_is_said)
{
    scene s;
    s.amplitude = 1.2;
    samples x = s.stream();
    for (cf32& v : x)
        v = { std::clamp(v.re, -1.0f, 1.0f), std::clamp(v.im, -1.0f, 1.0f) };
    const delay_estimate e = measure(params_for(s), x);
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_REQUIRE_EQUAL(e.warnings.size(), 1u);
    BOOST_TEST(has(e.warnings[0], "are at full scale, 1: put in an attenuator"));
    delay_calibration_params p = params_for(s);
    p.full_scale = 0;
    BOOST_TEST(measure(p, x).warnings.empty());
}

BOOST_AUTO_TEST_CASE(measured_anew)
{
    scene s;
    s.lost = { 5 };
    const samples x = s.stream();
    const auto c = kernel::delay_calibration::make(params_for(s));
    BOOST_TEST(c->take(x.data(), nullptr, static_cast<int>(x.size())));
    const delay_estimate e = c->estimate();
    BOOST_TEST(e.pulses_missing == 1);
    s.lost = {};
    s.delay = 700.6;
    const samples y = s.stream();
    BOOST_TEST(c->take(y.data(), nullptr, static_cast<int>(y.size()))); // ignored
    BOOST_TEST(c->estimate().delay_s == e.delay_s);
    c->restart(100);
    BOOST_TEST(!c->estimate().valid);
    BOOST_TEST(c->take(y.data(), nullptr, static_cast<int>(y.size())));
    BOOST_TEST(std::abs(c->estimate().delay_s * fs - 600.6) < 0.03);
    BOOST_TEST(c->estimate().pulses == 64);
    BOOST_TEST(c->estimate().pulses_missing == 0);
}

// ---- response ----

namespace {

//! Largest sidelobe of a compressed pulse, dB: q correlated with x, Hamming over the
//! band.
double pslr_db(const samples& x, const samples& q, double band)
{
    const int n = 4096;
    const auto spectrum = [](const samples& s) {
        std::vector<complex_double> out(n);
        for (int k = 0; k < n; ++k)
            for (std::size_t i = 0; i < s.size(); ++i)
                out[k] += complex_double(s[i].re, s[i].im) *
                          std::polar(1.0, -2 * pi * k * i / n);
        return out;
    };
    const auto a = spectrum(x), b = spectrum(q);
    const window w("hamming");
    std::vector<complex_double> c(n);
    for (int k = 0; k < n; ++k) {
        const double f = static_cast<double>(k < n / 2 ? k : k - n) / n;
        c[k] = a[k] * std::conj(b[k]) * w(f / band);
    }
    const auto value = [&](double t) {
        complex_double v = 0;
        for (int k = 0; k < n; ++k)
            if (c[k] != 0.0)
                v += c[k] * std::polar(1.0, 2 * pi * (k < n / 2 ? k : k - n) * t / n);
        return std::abs(v);
    };
    double best = 0, peak = 0;
    for (int t = -60; t < 60; ++t)
        if (value(t) > peak) {
            peak = value(t);
            best = t;
        }
    for (double d = -1; d <= 1; d += 0.05)
        if (value(best + d) > peak) {
            peak = value(best + d);
            best += d;
        }
    double side = 0;
    // a Hamming window's first null lies two cells out
    for (double t = 2.3 / band; t < 40; t += 0.1)
        side = std::max({ side, value(best + t), value(best - t) });
    return 20 * std::log10(side / peak);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_ripple_of_3_db_is_taken_out)
{
    // an echo within the cable: H = 1 + a exp(-j 2 pi f 6), from 1.17 to 0.83, 3 dB
    const double a = 0.171;
    scene s;
    s.pulse = lfm(400, 0.8);
    s.pulses = 140;
    s.snr_db = 40;
    samples x = s.stream();
    samples rippled = x;
    for (std::size_t i = 6; i < x.size(); ++i)
        rippled[i] = rippled[i] + static_cast<float>(a) * x[i - 6];
    delay_calibration_params p = params_for(s, 128);
    p.response_taps = 48;
    const delay_estimate e = measure(p, rippled);
    BOOST_REQUIRE_MESSAGE(e.valid, e.problem);
    BOOST_REQUIRE_EQUAL(e.response.size(), 97u);
    BOOST_REQUIRE_EQUAL(e.equaliser.size(), 97u);
    BOOST_REQUIRE_EQUAL(e.received.size(), 400u + 96);
    // equaliser on what was received: the replica again
    const samples q = equalised_replica(s.pulse, e.equaliser);
    BOOST_REQUIRE_EQUAL(q.size(), 400u + 96);
    const double ideal = pslr_db(s.pulse, s.pulse, 0.8);
    const double with_ripple = pslr_db(e.received, s.pulse, 0.8);
    const double equalised = pslr_db(e.received, q, 0.8);
    BOOST_TEST_MESSAGE("PSLR " << ideal << " dB, with ripple " << with_ripple
                               << " dB, equalised " << equalised << " dB");
    BOOST_TEST(with_ripple > ideal + 5);
    BOOST_TEST(std::abs(equalised - ideal) < 0.3);
}

BOOST_AUTO_TEST_CASE(no_ripple_is_a_single_tap)
{
    scene s;
    s.pulse = lfm(400, 0.8);
    s.snr_db = 50;
    delay_calibration_params p = params_for(s);
    p.response_taps = 20;
    const delay_estimate e = measure(p, s.stream());
    BOOST_REQUIRE(e.valid);
    for (int k = -20; k <= 20; ++k) {
        const cf32 h = e.response[k + 20], g = e.equaliser[k + 20];
        BOOST_TEST(std::abs(h.re - (k == 0)) < 0.02);
        BOOST_TEST(std::abs(h.im) < 0.02);
        BOOST_TEST(std::abs(g.re - (k == 0)) < 0.02);
    }
    samples middle(e.received.begin() + 20, e.received.begin() + 420);
    BOOST_TEST(difference_db(middle, s.pulse) < -38);
}

// ---- parameters ----

BOOST_AUTO_TEST_CASE(wrong_parameters_are_named)
{
    const auto wrong = [](const std::function<void(delay_calibration_params&)>& change) {
        delay_calibration_params p = params_for(scene());
        change(p);
        return sentence_of([&] { kernel::delay_calibration::make(p); });
    };
    using params = delay_calibration_params;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    BOOST_TEST(wrong([](params&) {}) == "no error");
    BOOST_TEST(has(wrong([](params& p) { p.replica.clear(); }), "replica has 0 samples"));
    BOOST_TEST(
        has(wrong([](params& p) { p.sample_rate_hz = 0; }), "sample_rate_hz is 0"));
    BOOST_TEST(has(wrong([](params& p) { p.pri_samples = 100; }),
                   "pri_samples is 100; expected at least the 200 samples of the pulse"));
    BOOST_TEST(has(wrong([&](params& p) { p.pri_samples = nan; }), "pri_samples is nan"));
    BOOST_TEST(has(wrong([](params& p) { p.pulses = 3; }), "pulses is 3"));
    BOOST_TEST(has(wrong([](params& p) { p.least_snr_db = 0; }), "least_snr_db is 0"));
    BOOST_TEST(
        has(wrong([](params& p) { p.response_taps = -1; }), "response_taps is -1"));
    BOOST_TEST(has(wrong([](params& p) { p.search_s = 0; }), "search_s is 0"));
    BOOST_TEST(
        has(wrong([&](params& p) { p.cable_delay_s = nan; }), "cable_delay_s is nan"));
    BOOST_TEST(has(wrong([](params& p) { p.full_scale = -1; }), "full_scale is -1"));
    BOOST_TEST(has(wrong([&](params& p) { p.first_pulse_samples = nan; }),
                   "first_pulse_samples is nan"));
    BOOST_TEST(has(wrong([](params& p) {
                       p.ambiguity = delay_ambiguity::first_pulse;
                       p.first_pulse_samples = -5;
                   }),
                   "start to receive before transmission"));
    BOOST_TEST(has(wrong([](params& p) {
                       p.ambiguity = delay_ambiguity::first_pulse;
                       p.reference = true;
                   }),
                   "together with a reference channel"));
    BOOST_TEST(has(sentence_of([] { delay_ambiguity_from_name("none"); }),
                   "ambiguity is 'none'; expected one of: cyclic, first_pulse"));
    BOOST_TEST(has(sentence_of([] { equalised_replica(samples(4), samples(2)); }),
                   "equaliser has 2 taps"));
}
