// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE simulated_radar
#include <boost/test/unit_test.hpp>

#include "../kernels/core/constants.h"
#include "../kernels/core/qa_tools.h"
#include "simulated_radar.h"
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

using namespace gr::sar;
using cd = std::complex<double>;

namespace {

constexpr double fs = 20e6;

//! Tones all over the band: a signal that is known between its samples.
struct tones {
    std::vector<double> f; // of the sampling rate
    std::vector<double> phase;

    explicit tones(double band, int n = 41)
    {
        std::mt19937 r(3);
        for (int i = 0; i < n; ++i) {
            f.push_back(band * (static_cast<double>(i) / (n - 1) - 0.5));
            phase.push_back(r() / 4294967296.0);
        }
    }
    cd at(double t) const
    {
        cd sum = 0;
        for (std::size_t i = 0; i < f.size(); ++i)
            sum += std::polar(1.0, 2 * pi * (f[i] * t + phase[i]));
        return sum / std::sqrt(static_cast<double>(f.size()));
    }
};

std::vector<cf32> samples_of(const tones& s, int n)
{
    std::vector<cf32> x(n);
    for (int i = 0; i < n; ++i) {
        const cd v = s.at(i);
        x[i] = { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    }
    return x;
}

radar_front_end plain_radio()
{
    radar_front_end f;
    f.sample_rate_hz = fs;
    f.carrier_hz = 5.8e9;
    return f;
}

radar_scene moving(double speed_m_s)
{
    radar_scene s;
    s.targets = { { { 3, 1000, 0 }, 0.7 }, { { -40, 1300, 50 }, std::polar(0.4, 1.0) } };
    s.track = trajectory::straight({ -100, 0, 300 }, { speed_m_s, 0.3 * speed_m_s, 0 });
    return s;
}

std::vector<cf32> receive(simulated_radar& r, const transmit_line& line, int n, int chunk)
{
    std::vector<cf32> out(n);
    for (int at = 0; at < n; at += chunk)
        r.receive(line, at, std::min(chunk, n - at), out.data() + at, nullptr);
    return out;
}

cd mean_of(const std::vector<cf32>& x)
{
    cd sum = 0;
    for (const cf32 v : x)
        sum += cd(v.re, v.im);
    return sum / static_cast<double>(x.size());
}

double power_of(const std::vector<cf32>& x)
{
    double p = 0;
    for (const cf32 v : x)
        p += norm(v);
    return p / x.size();
}

transmit_line carrier_only() { return {}; }

} // namespace

BOOST_AUTO_TEST_CASE(echoes_of_a_moving_antenna_follow_the_delay_within_the_pulse)
{
    // x(t - tau(t)) exp(-j 2 pi f0 tau(t)) with tau from c tau = |p(t - tau)| + |p(t)|,
    // by bisection in long double: nothing of the method under test
    struct expectation {
        double band, speed_m_s, db;
    };
    for (const expectation e : { expectation{ 0.5, 100, -70 },
                                 expectation{ 0.75, 100, -67 },
                                 expectation{ 0.83, 100, -67 },
                                 expectation{ 0.9, 100, -55 },
                                 expectation{ 0.75, 3000, -66 } }) {
        const tones s(e.band);
        const int n = 12000;
        transmit_line line;
        const auto x = samples_of(s, n + 100);
        line.write(0, x.data(), x.size());
        radar_scene scene = moving(e.speed_m_s);
        // what flies fast is far away
        if (e.speed_m_s > 1000)
            for (point_target& t : scene.targets)
                t.position_m = 25 * t.position_m;
        simulated_radar radar(scene);
        auto f = plain_radio();
        f.occupied_band = e.band;
        f.delay_samples = 46.3;
        f.leakage = 0.2;
        f.leakage_delay_s = 0.33 / fs;
        f.leakage_phase_rad = 2;
        radar.configure(f);
        const auto got = receive(radar, line, n, n);
        std::vector<cf32> want(n), have(n);
        for (int i = 5000; i < n; ++i) {
            const double t = i / fs;
            cd v = std::polar(0.2, 2.0) * s.at(i - 46.3 - 0.33);
            for (const point_target& q : scene.targets) {
                long double lo = 0, hi = 1e-3;
                for (int k = 0; k < 80; ++k) {
                    const long double tau = (lo + hi) / 2;
                    const long double way =
                        length(scene.track.position(static_cast<double>(t - tau)) -
                               q.position_m) +
                        length(scene.track.position(t) - q.position_m);
                    (way > tau * speed_of_light ? lo : hi) = tau;
                }
                const double tau = static_cast<double>(lo);
                v += q.amplitude * s.at(i - 46.3 - tau * fs) *
                     std::polar(1.0, -2 * pi * std::fmod(5.8e9 * tau, 1.0));
            }
            want[i] = { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
            have[i] = got[i];
        }
        const double db = difference_db(have, want);
        BOOST_TEST_MESSAGE("band " << e.band << ", " << e.speed_m_s << " m/s: " << db
                                   << " dB");
        BOOST_TEST(db < e.db);
    }
}

BOOST_AUTO_TEST_CASE(pulses_are_those_of_point_target_source)
{
    // stop and go, as the source has it: the antenna holds for a pulse interval
    acquisition_fields a;
    a.samples = 1600;
    a.carrier_hz = 9.6e9;
    a.prf_hz = 5e3;
    a.sample_rate_hz = fs;
    a.pulse_length_s = 20e-6;
    a.chirp_rate_hz_per_s = 0.6 * fs / a.pulse_length_s;
    // the lines begin on a sample of the receiver
    const int skip = 121;
    a.slant_range_first_m = skip * speed_of_light / (2 * fs);
    point_target_source_params p{
        acquisition(a),
        { { { 3, 1800, 0 }, 0.7 }, { { -40, 2300, 50 }, std::polar(0.4, 1.0) } },
        trajectory::straight({ -100, 0, 300 }, { 120, 30, 0 })
    };
    p.pulses = 40;
    std::vector<cf32> lines(p.pulses * a.samples);
    std::vector<vec3> positions(p.pulses);
    simulate(p, lines.data(), positions.data());

    radar_scene scene;
    scene.targets = p.targets;
    scene.track = p.track;
    scene.hold_s = 1 / a.prf_hz;
    simulated_radar radar(scene);
    auto f = plain_radio();
    f.carrier_hz = a.carrier_hz;
    radar.configure(f);
    transmit_line line;
    const int pri = 4000, pulse = 400;
    std::vector<cf32> chirp(pulse);
    for (int i = 0; i < pulse; ++i) {
        const double t = i / fs - a.pulse_length_s / 2;
        const cd v = std::polar(1.0, pi * a.chirp_rate_hz_per_s * t * t);
        chirp[i] = { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    }
    // the edges of a pulse are not band-limited: interpolated samples ring there, the
    // source's do not. Compared is what lies half the taps or more away from all edges
    double error = 0, power = 0;
    int compared = 0;
    std::vector<cf32> out(pri);
    for (int n = 0; n < p.pulses; ++n)
        line.write(static_cast<std::int64_t>(n) * pri, chirp.data(), pulse);
    for (int n = 0; n < p.pulses; ++n) {
        radar.receive(line, static_cast<std::int64_t>(n) * pri, pri, out.data(), nullptr);
        for (int i = 0; i < a.samples; ++i) {
            bool edge = false;
            for (const point_target& t : p.targets) {
                const double at =
                    2 * length(t.position_m - positions[n]) / speed_of_light * fs - skip;
                edge |= std::abs(i - at) < 9 || std::abs(i - at - pulse) < 9;
            }
            if (edge)
                continue;
            const cf32 want = lines[n * a.samples + i];
            error += norm(out[skip + i] - want);
            power += norm(want);
            compared += norm(want) > 0;
        }
        // where the antenna is
        BOOST_TEST(length(radar.position(static_cast<std::int64_t>(n) * pri + 17) -
                          positions[n]) < 1e-9);
    }
    BOOST_TEST(compared > 0.9 * 1.1 * pulse * p.pulses);
    const double db = 10 * std::log10(error / power);
    BOOST_TEST_MESSAGE("against point_target_source: " << db << " dB");
    BOOST_TEST(db < -60);
}

BOOST_AUTO_TEST_CASE(a_sweeping_front_end_gives_the_beats_of_point_target_source)
{
    // 500 MHz in 500 us at X band, 1 ms from sweep to sweep, a constant transmitted
    acquisition_fields a;
    a.wave = waveform::fmcw;
    a.samples = 1000;
    a.carrier_hz = 9.75e9;
    a.prf_hz = 1e3;
    a.sample_rate_hz = 2e6;
    a.chirp_rate_hz_per_s = 500e6 / 500e-6;
    point_target_source_params p{ acquisition(a),
                                  { { { 3, 90, 0 }, 0.7 },
                                    { { -4, 150, 5 }, std::polar(0.4, 1.0) } },
                                  trajectory::straight({ -10, 0, 3 }, { 40, 3, 0 }) };
    p.pulses = 30;
    std::vector<cf32> want(p.pulses * a.samples);
    std::vector<vec3> positions(p.pulses);
    simulate(p, want.data(), positions.data());

    transmit_line line;
    line.repeat(-1000, { { 1, 0 } });
    auto f = plain_radio();
    f.sample_rate_hz = a.sample_rate_hz;
    f.carrier_hz = a.carrier_hz;
    f.ramp_hz_per_s = a.chirp_rate_hz_per_s;
    f.ramp_s = 500e-6;
    f.ramp_period_s = 1e-3;
    f.ramp_begin = 300;
    for (const double hold_s : { 1e-3, 0.0 }) {
        radar_scene scene;
        scene.targets = p.targets;
        scene.track = p.track;
        scene.hold_s = hold_s;
        simulated_radar radar(scene);
        // stop and go: the antenna's steps are those of the pulses
        f.ramp_begin = hold_s > 0 ? 0 : 300;
        radar.configure(f);
        radar.set_start(-f.ramp_begin / a.sample_rate_hz);
        std::vector<cf32> got;
        const std::vector<cf32> all = receive(radar, line, 300 + 30 * 2000, 777);
        for (int n = 0; n < p.pulses; ++n)
            got.insert(got.end(),
                       all.begin() + f.ramp_begin + n * 2000,
                       all.begin() + f.ramp_begin + n * 2000 + a.samples);
        const double db = difference_db(got, want);
        BOOST_TEST_MESSAGE("sweeps, hold " << hold_s << " s: " << db << " dB");
        // within 500 us the moving antenna comes closer by millimetres, which stop and go
        // does not have
        if (hold_s > 0)
            BOOST_TEST(db < -70);
        else
            BOOST_TEST(db > -20);
        // between the ramps a target is a constant
        const cf32 d = all[f.ramp_begin + 1500] - all[f.ramp_begin + 1501];
        BOOST_TEST(norm(d) < 1e-5);
        // and the move within the pulse is that of the delay: by the formula itself
        if (hold_s == 0) {
            double error = 0, power = 0;
            for (int n = 0; n < p.pulses; ++n)
                for (int i = 0; i < a.samples; ++i) {
                    const double u = i / a.sample_rate_hz, t = n * 1e-3 + u;
                    cd v = 0;
                    for (const point_target& q : p.targets) {
                        double tau = 0;
                        for (int k = 0; k < 6; ++k)
                            tau = (length(p.track.position(t - tau) - q.position_m) +
                                   length(p.track.position(t) - q.position_m)) /
                                  speed_of_light;
                        const double cycles =
                            (a.carrier_hz + a.chirp_rate_hz_per_s * u) * tau -
                            a.chirp_rate_hz_per_s * tau * tau / 2;
                        v += q.amplitude *
                             std::polar(1.0, -2 * pi * std::fmod(cycles, 1.0));
                    }
                    const cf32 g = got[n * a.samples + i];
                    error += std::norm(v - cd(g.re, g.im));
                    power += std::norm(v);
                }
            BOOST_TEST(10 * std::log10(error / power) < -65);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_sample_is_the_same_however_it_is_asked_for)
{
    const tones s(0.7);
    const int n = 20000;
    const auto x = samples_of(s, n);
    transmit_line line;
    line.write(500, x.data(), x.size());
    auto f = plain_radio();
    f.leakage = 0.1;
    f.leakage_delay_s = 1e-7;
    f.noise_power = 1e-4;
    f.clock_error = 3e-6;
    f.offset_hz = 1234.5;
    f.phase_noise = true;
    f.imbalance_db = 0.3;
    f.imbalance_rad = 0.02;
    f.adc_bits = 12;
    std::vector<cf32> first, reference;
    for (const double hold_s : { 37.1e-6, 1e-9, 0.0 }) {
        auto scene = moving(150);
        scene.hold_s = hold_s < 1e-6 ? 0 : hold_s;
        f.ramp_hz_per_s = hold_s == 1e-9 ? 1e12 : 0;
        f.ramp_s = 100.03e-6;
        f.ramp_period_s = 150.01e-6;
        f.ramp_begin = 13;
        first.clear();
        for (const int chunk : { n, 4096, 1000, 37, 1 }) {
            simulated_radar radar(scene), both(scene);
            radar.configure(f);
            both.configure(f);
            const auto got = receive(radar, line, n, chunk);
            std::vector<cf32> again(n), coupled(n);
            for (int at = 0; at < n; at += chunk)
                both.receive(line,
                             at,
                             std::min(chunk, n - at),
                             again.data() + at,
                             coupled.data() + at);
            if (first.empty()) {
                first = got;
                reference = coupled;
            }
            const auto same = [&](const std::vector<cf32>& a,
                                  const std::vector<cf32>& b) {
                return std::memcmp(a.data(), b.data(), n * sizeof(cf32)) == 0;
            };
            BOOST_TEST(same(first, got));
            BOOST_TEST(same(first, again));
            BOOST_TEST(same(reference, coupled));
        }
    }
    f.seed = 2;
    simulated_radar other(moving(150));
    other.configure(f);
    const auto got = receive(other, line, n, n);
    BOOST_TEST(std::memcmp(first.data(), got.data(), n * sizeof(cf32)) != 0);
    BOOST_CHECK_EXCEPTION(
        other.receive(line, 10, 1, first.data(), nullptr),
        std::invalid_argument,
        [](const auto& e) { return has(e.what(), "none of them twice"); });
}

BOOST_AUTO_TEST_CASE(silence_is_the_same_written_or_not)
{
    const auto x = samples_of(tones(0.7), 100);
    transmit_line gaps, zeros;
    std::vector<cf32> all(20000, cf32{ 0, 0 });
    for (int at = 0; at < 19900; at += 397) { // pulses begin anywhere in a piece
        gaps.write(at, x.data(), x.size());
        std::copy(x.begin(), x.end(), all.begin() + at);
    }
    zeros.write(0, all.data(), all.size());
    auto f = plain_radio();
    f.leakage = 0.1;
    f.delay_samples = 31.4;
    simulated_radar a(moving(150)), b(moving(150)), c(moving(150));
    for (simulated_radar* r : { &a, &b, &c })
        r->configure(f);
    const auto got = receive(a, gaps, 22000, 22000);
    const auto same = receive(b, zeros, 22000, 1000);
    // and as if nothing were left out: a trace of signal, everywhere
    transmit_line trace;
    for (cf32& v : all)
        v.re += 1e-30f;
    trace.write(0, all.data(), all.size());
    const auto full = receive(c, trace, 22000, 22000);
    for (int i = 0; i < 22000; ++i) {
        BOOST_REQUIRE(got[i].re == same[i].re);
        BOOST_REQUIRE(got[i].im == same[i].im);
        BOOST_REQUIRE(std::abs(got[i].re - full[i].re) < 1e-25);
        BOOST_REQUIRE(std::abs(got[i].im - full[i].im) < 1e-25);
    }
    BOOST_TEST(power_of(got) > 0.01);
}

BOOST_AUTO_TEST_CASE(transmit_end_is_what_a_received_sample_needs)
{
    for (const double band : { 0.5, 0.75, 0.83, 0.9 })
        // with the second of them the delay comes to a whole sample within the piece of 8
        // that the last received sample begins
        for (const double delay : { 0.0, 2e-5 * 4994, 46.3, 165.0 }) {
            auto f = plain_radio();
            f.occupied_band = band;
            f.delay_samples = delay;
            f.leakage = 1;
            f.clock_error = 2e-5;
            const int end = 4993;
            simulated_radar a{ radar_scene{} };
            a.configure(f);
            const std::int64_t need = a.transmit_end(end);
            BOOST_TEST(a.receive_end(need) == end);
            BOOST_TEST(a.receive_end(need - 1) == end - 1);
            const auto x = samples_of(tones(0.5), static_cast<int>(need) + 3);
            const auto until = [&](std::int64_t k) {
                transmit_line line;
                line.write(0, x.data(), k);
                simulated_radar r{ radar_scene{} };
                r.configure(f);
                return receive(r, line, end, end);
            };
            const auto enough = until(need), more = until(need + 3);
            BOOST_TEST(std::memcmp(enough.data(), more.data(), end * sizeof(cf32)) == 0);
            const auto less = until(need - 4);
            BOOST_TEST(norm(less.back() - more.back()) > 0);
        }
}

BOOST_AUTO_TEST_CASE(doppler_and_offset_are_theirs)
{
    // a constant transmitted: the echo of an approaching target turns at 2 v / lambda,
    // and a carrier offset of the transmitter adds to it
    transmit_line line;
    line.repeat(0, { { 1, 0 } });
    radar_scene scene;
    scene.targets = { { { 2000, 0, 0 }, 1 } };
    scene.track = trajectory::straight({ 0, 0, 0 }, { 60, 0, 0 });
    simulated_radar radar(scene);
    auto f = plain_radio();
    f.offset_hz = 1.19e3;
    radar.configure(f);
    const int n = 200000;
    auto got = receive(radar, line, n, 5000);
    const auto phase = [&](int i) { return std::atan2(got[i].im, got[i].re); };
    const double expected = 2 * 60 * 5.8e9 / speed_of_light + 1.19e3;
    double turned = 0;
    for (int i = 1001; i < n; ++i)
        turned += std::remainder(phase(i) - phase(i - 1), 2 * pi);
    BOOST_TEST(turned / (2 * pi) * fs / (n - 1001) == expected,
               boost::test_tools::tolerance(1e-4));
    // the phase goes on where an offset ends, and jumps where it is told to
    f.offset_hz = 0;
    radar.configure(f, n);
    std::vector<cf32> next(2);
    radar.receive(line, n, 2, next.data(), nullptr);
    const double step =
        std::remainder(std::atan2(next[0].im, next[0].re) - phase(n - 1), 2 * pi);
    BOOST_TEST(std::abs(step - 2 * pi * expected / fs) < 1e-4);
    f.phase_rad += 1;
    radar.configure(f, n + 2);
    radar.receive(line, n + 2, 2, next.data(), nullptr);
    const double jump =
        std::remainder(std::atan2(next[0].im, next[0].re) - phase(n - 1) - step, 2 * pi);
    const double meanwhile = 2 * 2 * pi * (expected - 1.19e3) / fs;
    BOOST_TEST(std::abs(jump - 1 - meanwhile) < 1e-4);
}

BOOST_AUTO_TEST_CASE(two_clocks_drift_apart)
{
    // 20 ppm: after 1e6 samples the transmitter is 20 samples ahead
    const tones s(0.4, 5);
    transmit_line line;
    const auto x = samples_of(s, 20000);
    line.write(990000, x.data(), x.size());
    auto f = plain_radio();
    f.leakage = 1;
    f.clock_error = 20e-6;
    simulated_radar radar{ radar_scene{} };
    radar.configure(f);
    std::vector<cf32> got(3000), want(3000);
    radar.receive(line, 1000000, 3000, got.data(), nullptr);
    for (int i = 0; i < 3000; ++i) {
        const cd v = s.at((1000000 + i) * (1 + 20e-6) - 990000);
        want[i] = { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    }
    BOOST_TEST(difference_db(got, want) < -65);
    BOOST_TEST(radar.transmit_sample(1000000) == 1000020);
    // taps keep up with a delay that moves: here they do better, and what is left is the
    // distance of the delay from them
    const tones inner(0.6);
    f.occupied_band = 0.83;
    f.clock_error = 30e-6;
    transmit_line other;
    const auto z = samples_of(inner, 20000);
    other.write(0, z.data(), z.size());
    simulated_radar fast{ radar_scene{} };
    fast.configure(f);
    got = receive(fast, other, 15000, 15000);
    got.erase(got.begin(), got.begin() + 5000);
    want.resize(10000);
    for (int i = 0; i < 10000; ++i) {
        const cd v = inner.at((5000 + i) * (1 + 30e-6));
        want[i] = { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    }
    BOOST_TEST_MESSAGE("30 ppm: " << difference_db(got, want) << " dB");
    BOOST_TEST(difference_db(got, want) < -75);
}

BOOST_AUTO_TEST_CASE(noise_is_white_gaussian_and_of_its_power)
{
    auto f = plain_radio();
    f.noise_power = 0.25;
    simulated_radar radar{ radar_scene{} };
    radar.configure(f);
    const int n = 1000000;
    std::vector<cf32> a(n), b(n);
    radar.receive(carrier_only(), 1, n, a.data(), b.data());
    // 1e6 samples: the power is known to 0.1 %, a correlation to 0.001
    BOOST_TEST(power_of(a) == 0.25, boost::test_tools::tolerance(0.005));
    BOOST_TEST(std::abs(mean_of(a)) < 0.003);
    double fourth = 0, above = 0;
    cd lag = 0, twin = 0, square = 0;
    for (int i = 1; i < n; ++i) {
        const cd v(a[i].re, a[i].im), u(a[i - 1].re, a[i - 1].im), w(b[i].re, b[i].im);
        fourth += std::norm(v) * std::norm(v);
        above += std::norm(v) > 0.25 * 6;
        lag += v * std::conj(u);
        twin += v * std::conj(w);
        square += v * v;
    }
    BOOST_TEST(fourth / n / (0.25 * 0.25) == 2, boost::test_tools::tolerance(0.01));
    BOOST_TEST(above / n == std::exp(-6), boost::test_tools::tolerance(0.1));
    BOOST_TEST(std::abs(lag) / n / 0.25 < 0.005);
    BOOST_TEST(std::abs(twin) / n / 0.25 < 0.005);
    BOOST_TEST(std::abs(square) / n / 0.25 < 0.005);
    // samples of a draw lie 32 apart, blocks 64
    for (const int far : { 2, 3, 16, 31, 32, 33, 64, 128, 2048 }) {
        cd product = 0, mirrored = 0;
        double power = 0;
        for (int i = far; i < n; ++i) {
            const cd v(a[i].re, a[i].im), u(a[i - far].re, a[i - far].im);
            product += v * std::conj(u);
            mirrored += v * u;
            power += (std::norm(v) - 0.25) * (std::norm(u) - 0.25);
        }
        BOOST_TEST(std::abs(product) / n / 0.25 < 0.005);
        BOOST_TEST(std::abs(mirrored) / n / 0.25 < 0.005);
        BOOST_TEST(std::abs(power) / n / (0.25 * 0.25) < 0.01);
    }
    // parts are independent, not uncorrelated alone, and each is Gaussian
    double mixed = 0, parts[2] = { 0, 0 }, beyond[2] = { 0, 0 };
    const double sigma = std::sqrt(0.125);
    for (int i = 0; i < n; ++i) {
        const double x = a[i].re / sigma, y = a[i].im / sigma;
        mixed += x * x * y * y;
        parts[0] += x * x;
        parts[1] += y * y;
        beyond[0] += std::abs(x) > 3;
        beyond[1] += std::abs(y) > 3;
    }
    BOOST_TEST(mixed / n == 1, boost::test_tools::tolerance(0.015));
    for (int k = 0; k < 2; ++k) {
        BOOST_TEST(parts[k] / n == 1, boost::test_tools::tolerance(0.007));
        BOOST_TEST(beyond[k] / n == std::erfc(3 / std::sqrt(2.0)),
                   boost::test_tools::tolerance(0.08));
    }
}

BOOST_AUTO_TEST_CASE(phase_noise_has_its_level)
{
    // L(f) = L0 (f0 / f)^2: a walk whose variance grows by (2 pi f0)^2 L0 a second
    transmit_line line;
    line.repeat(0, { { 1, 0 } });
    auto f = plain_radio();
    f.sample_rate_hz = 1e6;
    f.leakage = 1;
    f.phase_noise = true;
    f.phase_noise_dbc_hz = -80;
    f.phase_noise_offset_hz = 10e3;
    simulated_radar radar{ radar_scene{} };
    radar.configure(f);
    const int n = 400000, lag = 20;
    const auto got = receive(radar, line, n, n);
    double variance = 0;
    int used = 0;
    for (int i = 100; i + lag < n; i += lag, ++used) {
        const cf32 d = got[i + lag] * conj(got[i]);
        const double step = std::atan2(d.im, d.re);
        variance += step * step;
    }
    const double expected = std::pow(2 * pi * 10e3, 2) * 1e-8 * lag / 1e6;
    BOOST_TEST(variance / used == expected, boost::test_tools::tolerance(0.05));
    // a loop holds it: variance q / (4 pi fl)
    f.phase_noise_loop_hz = 20e3;
    simulated_radar held{ radar_scene{} };
    held.configure(f);
    const auto steady = receive(held, line, n, n);
    double phase2 = 0;
    for (int i = 1000; i < n; ++i)
        phase2 += std::pow(std::atan2(steady[i].im, steady[i].re), 2);
    const double q = 1e-8 * 4 * pi * pi * (10e3 * 10e3 + 20e3 * 20e3);
    BOOST_TEST(phase2 / (n - 1000) == q / (4 * pi * 20e3),
               boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(phase_noise_is_the_same_process_within_blocks_and_across_them)
{
    transmit_line line;
    line.repeat(0, { { 1, 0 } });
    auto f = plain_radio();
    f.sample_rate_hz = 1e6;
    f.leakage = 1;
    f.phase_noise = true;
    f.phase_noise_dbc_hz = -90;
    const int n = 1 << 20;
    for (const double loop_hz : { 0.0, 3e3 }) {
        f.phase_noise_loop_hz = loop_hz;
        simulated_radar radar{ radar_scene{} };
        radar.configure(f);
        const auto got = receive(radar, line, n, 5000);
        const double q = 1e-9 * 4 * pi * pi * (1e8 + loop_hz * loop_hz);
        const double rate = 2 * pi * loop_hz;
        const auto structure = [&](double s) { // variance of phase(t + s) - phase(t)
            return loop_hz > 0 ? q / rate * -std::expm1(-rate * s) : q * s;
        };
        // wherever in a block of 64 they begin
        for (const int phase : { 0, 1, 17, 40, 63 })
            for (const int lag : { 1, 13, 64, 200 }) {
                double sum = 0;
                int used = 0;
                for (int i = 128 + phase; i + lag < n; i += 64, ++used) {
                    const cf32 d = got[i + lag] * conj(got[i]);
                    const double step = std::atan2(d.im, d.re);
                    sum += step * step;
                }
                BOOST_TEST(sum / used == structure(lag / 1e6),
                           boost::test_tools::tolerance(0.12));
            }
        // steps know nothing of each other
        double twin = 0, power = 0;
        for (int i = 65; i + 1 < n; ++i) {
            const cf32 a = got[i] * conj(got[i - 1]), b = got[i + 1] * conj(got[i]);
            twin += std::atan2(a.im, a.re) * std::atan2(b.im, b.re);
            power += std::pow(std::atan2(a.im, a.re), 2);
        }
        BOOST_TEST(std::abs(twin / power) < 0.02);

        // and of what is heard: where a pulse is, it is the phase of the carrier
        transmit_line pulses;
        std::vector<cf32> pulse(1000, { 0, 0 });
        std::fill_n(pulse.begin(), 150, cf32{ 1, 0 });
        pulses.repeat(0, pulse);
        simulated_radar gated{ radar_scene{} };
        gated.configure(f);
        const auto heard = receive(gated, pulses, n, 777);
        double worst = 0;
        for (int i = 0; i < n; ++i)
            if (i % 1000 >= 40 && i % 1000 < 110) {
                const cf32 d = heard[i] * conj(got[i]);
                worst = std::max<double>(worst, std::abs(std::atan2(d.im, d.re)));
            }
        BOOST_TEST(worst < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(front_end_spoils_as_told)
{
    // image of a tone under an imbalance g, phi: (1 + g^2 - 2 g cos) / (1 + g^2 + 2 g
    // cos)
    const int n = 4000;
    std::vector<cf32> tone(n);
    for (int i = 0; i < n; ++i)
        tone[i] = { static_cast<float>(0.5 * std::cos(2 * pi * 0.1 * i)),
                    static_cast<float>(0.5 * std::sin(2 * pi * 0.1 * i)) };
    transmit_line line;
    line.repeat(0, tone);
    auto f = plain_radio();
    f.leakage = 1;
    f.imbalance_db = 0.5;
    f.imbalance_rad = 0.03;
    f.dc = { 0.1f, -0.2f };
    simulated_radar radar{ radar_scene{} };
    radar.configure(f);
    auto got = receive(radar, line, 2 * n, 1000);
    got.erase(got.begin(), got.begin() + n);
    const auto part = [&](double at) {
        cd sum = 0;
        for (int i = 0; i < n; ++i)
            sum += cd(got[i].re, got[i].im) * std::polar(1.0, -2 * pi * at * i);
        return std::abs(sum) / n;
    };
    const double g = std::pow(10, 0.5 / 20);
    const double image = std::sqrt((1 + g * g - 2 * g * std::cos(0.03)) /
                                   (1 + g * g + 2 * g * std::cos(0.03)));
    BOOST_TEST(part(-0.1) / part(0.1) == image, boost::test_tools::tolerance(0.01));
    BOOST_TEST(std::abs(mean_of(got) - cd(0.1, -0.2)) < 1e-5);
    BOOST_TEST(radar.clipped() == 0);

    // 4 bits: steps of 1/8, full scale from -1 to 7/8
    f.imbalance_db = f.imbalance_rad = 0;
    f.dc = { 0, 0 };
    f.adc_bits = 4;
    f.leakage = 4; // amplitude 2
    simulated_radar coarse{ radar_scene{} };
    coarse.configure(f);
    got = receive(coarse, line, n, n);
    float low = 0, high = 0;
    for (const cf32 v : got) {
        BOOST_REQUIRE(v.re * 8 == std::round(v.re * 8));
        low = std::min(low, v.re);
        high = std::max(high, v.im);
    }
    BOOST_TEST(low == -1);
    BOOST_TEST(high == 0.875f);
    BOOST_TEST(coarse.clipped() > n / 2);
}

BOOST_AUTO_TEST_CASE(amplitudes_fall_with_range_and_outside_the_beam)
{
    transmit_line line;
    line.repeat(0, { { 1, 0 } });
    radar_scene scene;
    scene.targets = { { { 0, 3000, 0 }, 0.8 } };
    scene.spreading_reference_m = 1500;
    simulated_radar radar(scene);
    radar.configure(plain_radio());
    auto got = receive(radar, line, 1000, 1000);
    BOOST_TEST(std::sqrt(norm(got[999])) == 0.2f, boost::test_tools::tolerance(5e-4f));
    // a beam of 2 degrees, squinted so that the target ahead is seen or not
    scene.spreading_reference_m = 0;
    scene.track = trajectory::straight({ 0, 0, 0 }, { 100, 0, 0 });
    scene.beam_rad = 2 * pi / 180;
    for (const double squint : { 0.0, 0.1 }) {
        scene.beam_squint_rad = squint;
        simulated_radar beam(scene);
        beam.configure(plain_radio());
        got = receive(beam, line, 1000, 1000);
        BOOST_TEST(std::sqrt(norm(got[999])) == (squint ? 0.0f : 0.8f),
                   boost::test_tools::tolerance(5e-4f));
    }
    const auto points = clutter(4000, { 0, 100, 0 }, { 50, 300, 0 }, 0.01, 3);
    double power = 0;
    for (const point_target& p : points) {
        power += std::norm(p.amplitude);
        BOOST_REQUIRE((p.position_m.x >= 0 && p.position_m.x <= 50));
        BOOST_REQUIRE((p.position_m.y >= 100 && p.position_m.y <= 300));
        BOOST_REQUIRE(p.position_m.z == 0);
    }
    BOOST_TEST(power == 0.01, boost::test_tools::tolerance(0.06));
}

BOOST_AUTO_TEST_CASE(the_line_holds_bursts_silence_and_repetitions)
{
    transmit_line line;
    std::vector<cf32> x(10), out(40);
    for (int i = 0; i < 10; ++i)
        x[i] = { i + 1.0f, 0 };
    line.write(5, x.data(), 10);
    line.write(15, x.data(), 5);
    line.write(25, x.data(), 10);
    BOOST_TEST(line.read(0, 40, out.data()));
    for (int i = 0; i < 40; ++i) {
        const float want = i >= 5 && i < 15    ? i - 4
                           : i >= 15 && i < 20 ? i - 14
                           : i >= 25 && i < 35 ? i - 24
                                               : 0;
        BOOST_TEST(out[i].re == want);
    }
    BOOST_TEST(!line.read(20, 5, out.data()));
    BOOST_TEST(!line.read(35, 5, out.data()));
    line.silence(13, 4);
    line.read(0, 40, out.data());
    BOOST_TEST(out[12].re == 8);
    BOOST_TEST(out[13].re + out[14].re + out[15].re + out[16].re == 0);
    BOOST_TEST(out[17].re == 3);
    BOOST_TEST(has(sentence_of([&] { line.write(30, x.data(), 2); }), "expected 35"));
    line.repeat(35, { { 1, 0 }, { 2, 0 }, { 3, 0 } });
    line.stop(1000000);
    line.read(35 + 3 * 1000 + 2, 2, out.data());
    BOOST_TEST(out[0].re == 3);
    BOOST_TEST(out[1].re == 1);
    BOOST_TEST(!line.read(1000000, 10, out.data()));
    // zeros that were written are silence as well
    transmit_line quiet;
    quiet.write(0, std::vector<cf32>(10, cf32{ 0, 0 }).data(), 10);
    BOOST_TEST(!quiet.read(0, 10, out.data()));
    quiet.repeat(10, { { 0, 0 }, { 0, 0 }, { 5, 0 }, { 0, 0 } });
    BOOST_TEST(!quiet.read(10, 2, out.data()));
    BOOST_TEST(!quiet.read(10 + 400 + 3, 3, out.data()));
    BOOST_TEST(quiet.read(10 + 400 + 3, 4, out.data()));
    BOOST_TEST(out[3].re == 5);
    BOOST_TEST((out[0].re == 0 && out[1].re == 0 && out[2].re == 0));
    line.forget(34);
    BOOST_TEST(line.held() == 13);
    line.forget(35);
    BOOST_TEST(line.held() == 3);
}

BOOST_AUTO_TEST_CASE(scenes_are_read_and_their_mistakes_named)
{
    const std::string file = "qa_simulated_radar_scene.json";
    const auto write = [](const std::string& name, const std::string& text) {
        std::ofstream(name) << text;
    };
    const std::string head = "{\"format\": \"gr-sar scene\", \"version\": 1, ";
    write("qa_simulated_radar.nav.csv",
          "pulse,time_s,x_m,y_m,z_m\n0,0,1,2,3\n1,0.5,2,2,3\n2,1,3,2,3\n");
    write(file,
          head + "\"targets\": [{\"position_m\": [1, 2e2, -3], \"amplitude_db\": -20},"
                 "{\"position_m\": [0, 0, 0], \"amplitude\": 0.5, \"phase_rad\": 1}],"
                 "\"trajectory\": {\"file\": \"qa_simulated_radar.nav.csv\"},"
                 "\"hold_s\": 0.01, \"spreading_reference_m\": 100, \"beam_deg\": 10,"
                 "\"beam_squint_deg\": -2,"
                 "\"clutter\": {\"points\": 7, \"corner_m\": [0,0,0],"
                 "\"opposite_m\": [1,1,1], \"power_db\": -30, \"seed\": 4}}");
    const radar_scene s = read_scene(file);
    BOOST_TEST(s.targets.size() == 9u);
    BOOST_TEST(s.targets[0].position_m.y == 200);
    BOOST_TEST(std::abs(s.targets[0].amplitude - 0.1) < 1e-12);
    BOOST_TEST(std::abs(s.targets[1].amplitude - std::polar(0.5, 1.0)) < 1e-12);
    BOOST_TEST(s.track.position(0.75).x == 2.5, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(s.hold_s == 0.01);
    BOOST_TEST(s.beam_rad == 10 * pi / 180);

    const auto says = [&](const std::string& text, const char* part) {
        write(file, text);
        const std::string why = sentence_of([&] { read_scene(file); });
        BOOST_TEST(has(why, part));
        BOOST_TEST(has(why, file));
    };
    says("{", "line 1");
    says("{\"version\": 1}", "\"format\": \"gr-sar scene\"");
    says(head + "\"target\": []}", "key 'target'");
    says(head + "\"targets\": [{\"position_m\": [1, 2]}]}", "has 2 numbers");
    says(head + "\"targets\": [{\"amplitude\": 1}]}", "targets[0] has no 'position_m'");
    says(head + "\"hold_s\": \"often\"}", "hold_s is 'often'");
    says(head + "\"hold_s\": -1}", "hold_s is -1");
    says(head +
             "\"trajectory\": {\"times_s\": [0, 0], \"positions_m\": [[0,0,0],[1,0,0]]}}",
         "strictly increasing");
    says(head + "\"trajectory\": {\"file\": \"none.csv\"}}", "none.csv");
    std::remove(file.c_str());
    std::remove("qa_simulated_radar.nav.csv");
    BOOST_TEST(has(sentence_of([] { read_scene("nowhere.json"); }), "nowhere.json"));
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_named)
{
    simulated_radar radar{ radar_scene{} };
    const auto says = [&](auto change, const char* part) {
        auto f = plain_radio();
        change(f);
        BOOST_TEST(has(sentence_of([&] { radar.configure(f); }), part));
    };
    says([](auto& f) { f.sample_rate_hz = 0; }, "sample_rate_hz is 0");
    says([](auto& f) { f.carrier_hz = -1; }, "carrier_hz is -1");
    says([](auto& f) { f.occupied_band = 0.95; }, "occupied_band is 0.95");
    says([](auto& f) { f.delay_samples = -1; }, "delay_samples is -1");
    says([](auto& f) { f.clock_error = 0.01; }, "clock_error is 10000 ppm");
    says([](auto& f) { f.noise_power = NAN; }, "noise_power is nan");
    says([](auto& f) { f.adc_bits = 40; }, "adc_bits is 40");
    says(
        [](auto& f) {
            f.ramp_hz_per_s = 1e12;
            f.ramp_s = 2;
            f.ramp_period_s = 1;
        },
        "ramp of 2 s each 1 s");
    says([](auto& f) { f.leakage_delay_s = -1; }, "leakage_delay_s is -1");
    radar_scene s;
    s.targets = { { { NAN, 0, 0 }, 1 } };
    BOOST_TEST(has(sentence_of([&] { simulated_radar r(s); }), "targets[0]"));
}
