// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE sweep_alignment
#include "../point_target_source/point_target_source.h"
#include "../pulse_compression/pulse_compression.h"
#include "sweep_alignment.h"
#include "sweep_alignment_math.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <ctime>
#include <random>

#include "../core/qa_tools.h"

using namespace gr::sar;
using gr::sar::kernel::sweep_alignment;
namespace data = boost::unit_test::data;

namespace {

//! X band, 200 MHz in the 0.8 ms that are kept of a ramp of 1 ms, from a platform at
//! 40 m/s: at fd = 400 Hz an echo is seen 0.24 m off, a third of a cell.
acquisition_fields airborne(sweep_shape shape, double sign = 1)
{
    acquisition_fields f;
    f.wave = waveform::fmcw;
    f.samples = 200;
    f.sample_rate_hz = 250e3;
    f.chirp_rate_hz_per_s = sign * 200e6 / 0.8e-3;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 1000;
    f.gate_start_s = 0.1e-3;
    f.sweep = shape;
    return f;
}

constexpr double speed_m_s = 40;
constexpr double slow_m_s = 15; // half the Doppler band and less
constexpr int lines = 400;

//! Lines of targets that a platform flies by, with its motion during the sweep or
//! without. \p ahead_rad: where they lie, from broadside.
std::vector<cf32> flown_by(const acquisition_fields& f,
                           bool moves,
                           double ahead_rad,
                           double delay_s = 0,
                           double speed = speed_m_s)
{
    const double middle = speed * lines / f.prf_hz / 2;
    point_target_source_params p{ acquisition(f),
                                  {},
                                  trajectory::straight({ speed * delay_s, 0, 0 },
                                                       { speed, 0, 0 }) };
    for (const double away : { 40.0, 71.3 })
        p.targets.push_back({ { middle + away * std::tan(ahead_rad), away, 0 }, 1.0 });
    p.pulses = lines;
    p.sweep_motion = moves;
    std::vector<cf32> out(static_cast<std::size_t>(lines) * f.samples);
    std::vector<vec3> positions(lines);
    simulate(p, out.data(), positions.data());
    return out;
}

std::vector<cf32> aligned(const sweep_alignment& a, const std::vector<cf32>& raw)
{
    const int samples = a.samples();
    std::vector<cf32> out(raw.size());
    for (int n = 0; n < lines; ++n) {
        std::vector<const cf32*> from;
        for (int m = n - a.before(); m <= n + a.after(); ++m)
            from.push_back(m >= 0 && m < lines ? raw.data() + m * samples : nullptr);
        a.line(n, from.data(), out.data() + n * samples);
    }
    return out;
}

std::vector<cf32> inner(const std::vector<cf32>& x, int samples)
{
    return { x.begin() + 60 * samples, x.end() - 60 * samples };
}

//! Doppler centroid of a target \p ahead_rad from broadside, Hz.
double centroid_hz(const acquisition_fields& f, double ahead_rad)
{
    return 2 * speed_m_s * std::sin(ahead_rad) * acquisition(f).centre_frequency_hz() /
           speed_of_light;
}

} // namespace

BOOST_DATA_TEST_CASE(stop_and_go_is_what_comes_out,
                     data::make({ 1.0, -1.0 }) * data::make({ -1, 1 }) *
                         data::make({ 0.0, 0.35, -0.5 }) * data::make({ 0.0, 0.3e-3 }),
                     ramp,
                     sign,
                     ahead_rad,
                     instant_s)
{
    acquisition_fields f = airborne(sweep_shape::sawtooth, ramp);
    f.phase_sign = sign;
    f.doppler_centroid_hz = centroid_hz(f, ahead_rad);
    const sweep_alignment a({ acquisition(f), 0, instant_s });
    BOOST_TEST(a.error_bound_db() < -60);
    BOOST_TEST(a.noise_gain() < 1.01);
    // the echoes of an antenna that stands still at the instant asked for
    const auto truth = flown_by(f, false, ahead_rad, instant_s);
    const auto raw = flown_by(f, true, ahead_rad);
    const auto y = aligned(a, raw);
    BOOST_TEST(difference_db(inner(y, f.samples), inner(truth, f.samples)) < -55);
    // what stop and go would get wrong
    BOOST_TEST(difference_db(inner(raw, f.samples), inner(truth, f.samples)) > -12);
    // a centroid that is off by a PRF turns the phase across the sweep
    f.doppler_centroid_hz += f.prf_hz;
    const sweep_alignment off({ acquisition(f), 0, instant_s });
    BOOST_TEST(difference_db(inner(aligned(off, raw), f.samples),
                             inner(truth, f.samples)) > -10);
}

BOOST_DATA_TEST_CASE(ways_out_and_back_come_to_the_same_instants,
                     data::make({ -1, 1 }),
                     sign)
{
    acquisition_fields f = airborne(sweep_shape::triangle);
    f.phase_sign = sign;
    const sweep_alignment a({ acquisition(f) });
    BOOST_TEST(a.error_bound_db() < -60);
    BOOST_TEST(a.noise_gain() < 1.01);
    const auto truth = flown_by(f, false, 0, 0, slow_m_s);
    const auto raw = flown_by(f, true, 0, 0, slow_m_s);
    BOOST_TEST(difference_db(inner(aligned(a, raw), f.samples), inner(truth, f.samples)) <
               -55);
    BOOST_TEST(difference_db(inner(raw, f.samples), inner(truth, f.samples)) > -25);
}

BOOST_AUTO_TEST_CASE(the_coupling_is_gone_after_compression)
{
    // the peak of an echo that approaches with fd = 400 Hz, in the middle of the track
    acquisition_fields f = airborne(sweep_shape::sawtooth);
    const double ahead_rad = std::asin(
        400 / (2 * speed_m_s * acquisition(f).centre_frequency_hz() / speed_of_light));
    f.doppler_centroid_hz = 400;
    const acquisition acq(f);
    const int over = 32;
    const auto pc = kernel::pulse_compression::make(
        { acq, over, window("taylor(4, 35)") }, choose_target(backend::cpu));
    const auto nearest = [&](const std::vector<cf32>& raw) {
        std::vector<cf32> out(pc->samples_out());
        pc->process(raw.data() + lines / 2 * f.samples, out.data(), 1);
        const auto peak =
            std::max_element(out.begin(),
                             out.begin() + out.size() / 3,
                             [](cf32 a, cf32 b) { return norm(a) < norm(b); });
        return (peak - out.begin()) * pc->axis().spacing_m;
    };
    // the targets lie at 40 m and 71.3 m / cos(angle); look at the nearer
    const double range = 40 / std::cos(ahead_rad);
    const double cell = acq.compressed_axis(1).spacing_m;
    const double shift = acq.doppler_shift_m(400);
    BOOST_TEST(shift < -0.3 * cell);
    const auto raw = flown_by(f, true, ahead_rad);
    // at the middle of the sweep the range is less than at its start by 0.6 % of a cell
    BOOST_TEST(std::abs(nearest(raw) - (range + shift)) < 0.05 * cell);
    const sweep_alignment a({ acq, 400 });
    BOOST_TEST(std::abs(nearest(aligned(a, raw)) - range) < 0.05 * cell);
}

BOOST_DATA_TEST_CASE(the_bound_holds, data::make({ 1, 200, 3001 }), samples)
{
    // tones of every Doppler frequency in the band, sampled where a line is
    for (const sweep_shape shape : { sweep_shape::sawtooth, sweep_shape::triangle }) {
        acquisition_fields f = airborne(shape);
        f.samples = samples;
        f.sample_rate_hz = samples / 0.8e-3;
        const acquisition acq(f);
        const sweep_alignment a({ acq, 0, 0.2e-3 });
        double worst = 0;
        for (double fd = -a.doppler_band_hz() / 2; fd <= a.doppler_band_hz() / 2;
             fd += a.doppler_band_hz() / (samples > 1000 ? 5 : 37)) {
            std::vector<cf32> raw(static_cast<std::size_t>(lines) * f.samples);
            for (int n = 0; n < 200; ++n) {
                const bool back = shape == sweep_shape::triangle && (n & 1);
                for (int k = 0; k < f.samples; ++k) {
                    const double t = n / f.prf_hz + acq.sweep_start_s(back) +
                                     k * acq.sweep_step_s(back);
                    const auto v = std::polar(1.0, 2 * pi * fd * t);
                    raw[n * f.samples + k] = { static_cast<float>(v.real()),
                                               static_cast<float>(v.imag()) };
                }
            }
            const auto y = aligned(a, raw);
            for (int n = 90; n < 100; ++n) {
                const auto truth = std::polar(1.0, 2 * pi * fd * (n / f.prf_hz + 0.2e-3));
                for (int k = 0; k < f.samples; ++k) {
                    const cf32 v = y[n * f.samples + k];
                    worst = std::max(worst,
                                     std::abs(std::complex<double>(v.re, v.im) - truth));
                }
            }
        }
        BOOST_TEST(20 * std::log10(worst) < a.error_bound_db() + 0.5);
        BOOST_TEST(20 * std::log10(worst) > a.error_bound_db() - (samples > 1 ? 6 : 20));
    }
}

BOOST_AUTO_TEST_CASE(the_band_follows_the_radio_frequency)
{
    // a fifth of the carrier: at the ends of a sweep a centroid of 3 kHz is 300 Hz off
    acquisition_fields f = airborne(sweep_shape::sawtooth);
    f.carrier_hz = 1e9;
    f.doppler_centroid_hz = 3000;
    const acquisition acq(f);
    const sweep_alignment a({ acq, 200 });
    const auto echo = [&](double t, int k) {
        const double share = (acq.first_frequency_hz() + k * acq.frequency_step_hz()) /
                             acq.centre_frequency_hz();
        const auto v = std::polar(1.0, 2 * pi * std::fmod(3000 * share * t, 1.0));
        return cf32{ static_cast<float>(v.real()), static_cast<float>(v.imag()) };
    };
    std::vector<cf32> raw, truth;
    for (int n = 0; n < lines; ++n)
        for (int k = 0; k < f.samples; ++k) {
            const double t = n / f.prf_hz;
            raw.push_back(
                echo(t + acq.sweep_start_s(false) + k * acq.sweep_step_s(false), k));
            truth.push_back(echo(t, k));
        }
    BOOST_TEST(difference_db(inner(aligned(a, raw), f.samples), inner(truth, f.samples)) <
               -60);
}

BOOST_AUTO_TEST_CASE(the_time_to_plan_is_proportional_to_the_line)
{
    const auto took_s = [](int samples) {
        acquisition_fields f = airborne(sweep_shape::sawtooth);
        f.samples = samples;
        f.sample_rate_hz = f.samples / 0.8e-3;
        const std::clock_t begin = std::clock(); // of the processor, however busy it is
        const sweep_alignment a({ acquisition(f), 300, 0, 8 });
        BOOST_TEST(a.samples() == samples);
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    const double some = took_s(100000);
    const double ten_times = took_s(1000000);
    BOOST_TEST_MESSAGE(some << " s, of ten times as many samples " << ten_times << " s");
    BOOST_TEST(ten_times < 30 * some);
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_named)
{
    const auto wrong = [](const acquisition_fields& f, double band, double at, int taps) {
        return sentence_of([&] { sweep_alignment({ acquisition(f), band, at, taps }); });
    };
    const acquisition_fields saw = airborne(sweep_shape::sawtooth);
    BOOST_TEST(wrong(saw, 0, 0, 32) == "no error");
    BOOST_TEST(has(wrong(saw, 1000, 0, 32), "doppler_band_hz is 1000 Hz; expected less"));
    BOOST_TEST(has(wrong(saw, -1, 0, 32), "doppler_band_hz is -1 Hz"));
    BOOST_TEST(has(wrong(saw, 0, 2e-3, 32), "instant_s is 0.002 s"));
    BOOST_TEST(has(wrong(saw, 0, 0, 1), "taps is 1; expected 2 to 256"));
    BOOST_TEST(has(wrong(saw, 950, 0, 32), "or more taps"));
    BOOST_TEST(has(wrong(airborne(sweep_shape::triangle), 500, 0.5e-3, 8),
                   "less than half the PRF"));
    acquisition_fields f = saw;
    f.wave = waveform::frequency_domain;
    f.gate_start_s = 0;
    f.frequency_step_hz = 1e6;
    BOOST_TEST(has(wrong(f, 0, 0, 32), "waveform of acq is frequency_domain"));
}
