// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE core
#include "acquisition.h"
#include "backend.h"
#include "cf32.h"
#include "errors.h"
#include "image_grid.h"
#include "parallel_for.h"
#include "phasor.h"
#include "trajectory.h"
#include "window.h"
#include <array>
#include <atomic>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "qa_tools.h"
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>
#include <thread>

using namespace gr::sar;
namespace data = boost::unit_test::data;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

acquisition_fields pulsed()
{
    acquisition_fields f;
    f.samples = 1200;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 5000;
    f.sample_rate_hz = 100e6;
    f.pulse_length_s = 8e-6;
    f.chirp_rate_hz_per_s = -1e13;
    f.slant_range_first_m = 5000;
    return f;
}

} // namespace

// ---- acquisition ----

BOOST_AUTO_TEST_CASE(pulsed_acquisition)
{
    acquisition_fields f = pulsed();
    f.range_bias_m = 0.46;
    const acquisition a(f);
    BOOST_TEST(!a.in_frequency_domain());
    BOOST_TEST(a.bandwidth_hz() == 80e6, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(a.centre_frequency_hz() == 9.6e9);
    BOOST_TEST(a.wavelength_m() == speed_of_light / 9.6e9);
    BOOST_TEST(a.pulse_samples() == 800); // not 801 for a rounding error
    const range_axis x = a.compressed_axis(4);
    BOOST_TEST(x.samples == 4800);
    BOOST_TEST(x.first_m == 5000);
    BOOST_TEST(x.spacing_m == speed_of_light / 2 / 400e6);
    BOOST_TEST(x.range_bias_m == 0.46);
    BOOST_TEST(x.occupied_band() == 0.2, boost::test_tools::tolerance(1e-12));
}

BOOST_DATA_TEST_CASE(frequency_domain_acquisition,
                     data::make({ 1.5e6, -1.5e6 }) * data::make({ 424, 425 }),
                     step,
                     samples)
{
    acquisition_fields f;
    f.wave = waveform::frequency_domain;
    f.samples = samples;
    f.carrier_hz = 9.3e9;
    f.prf_hz = 1;
    f.frequency_step_hz = step;
    const acquisition a(f);
    BOOST_TEST(a.in_frequency_domain());
    BOOST_TEST(a.bandwidth_hz() == 1.5e6 * samples);
    BOOST_TEST(a.centre_frequency_hz() == 9.3e9 + 212 * step);
    // the unambiguous range c / (2 step), whatever the oversampling
    for (const int over : { 1, 3 }) {
        const range_axis x = a.compressed_axis(over);
        BOOST_TEST(x.samples * x.spacing_m == speed_of_light / 3e6,
                   boost::test_tools::tolerance(1e-12));
    }
}

BOOST_AUTO_TEST_CASE(fmcw_acquisition)
{
    acquisition_fields f;
    f.wave = waveform::fmcw;
    f.samples = 1024;
    f.carrier_hz = 5.8e9;
    f.prf_hz = 900;
    f.sample_rate_hz = 1.024e6;
    f.chirp_rate_hz_per_s = -250e9;
    const acquisition a(f);
    BOOST_TEST(a.frequency_step_hz() == -250e9 / 1.024e6);
    BOOST_TEST(a.bandwidth_hz() == 250e6, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(a.centre_frequency_hz() == 5.8e9 - 125e6,
               boost::test_tools::tolerance(1e-12));

    // the carrier of a gated sweep is the middle of what is kept
    f.gate_start_s = 0.05e-3;
    f.sweep = sweep_shape::triangle;
    const acquisition gated(f);
    BOOST_TEST(gated.first_frequency_hz() == 5.8e9 - 12.5e6,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(gated.centre_frequency_hz() == 5.8e9 - 137.5e6,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(gated.compressed_axis(1).carrier_hz == gated.centre_frequency_hz());
    // sample n is taken at the same frequency on both ways
    const double k = f.chirp_rate_hz_per_s;
    for (const int n : { 0, 17, 1023 }) {
        const double out = gated.sweep_start_s(false) + n * gated.sweep_step_s(false);
        const double back = gated.sweep_start_s(true) + n * gated.sweep_step_s(true);
        BOOST_TEST(k * out == k * (1 / f.prf_hz - back),
                   boost::test_tools::tolerance(1e-9));
    }
    // approaching: nearer when the sweep goes up, farther when it goes down
    BOOST_TEST(gated.doppler_shift_m(100) == speed_of_light * 100 / (2 * 250e9),
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(acquisition_errors_name_field_value_and_expectation)
{
    const auto with = [](const std::function<void(acquisition_fields&)>& change) {
        acquisition_fields f = pulsed();
        change(f);
        return sentence_of([&] { acquisition a(f); });
    };
    using F = acquisition_fields;
    BOOST_TEST(has(with([](F& f) { f.samples = 0; }), "samples is 0; expected"));
    BOOST_TEST(
        has(with([](F& f) { f.carrier_hz = -1; }), "carrier_hz is -1 Hz; expected"));
    BOOST_TEST(
        has(with([](F& f) { f.prf_hz = not_a_number; }), "prf_hz is nan Hz; expected"));
    BOOST_TEST(has(with([](F& f) { f.slant_range_first_m = infinite; }),
                   "slant_range_first_m is inf"));
    BOOST_TEST(
        has(with([](F& f) { f.range_bias_m = not_a_number; }), "range_bias_m is nan"));
    BOOST_TEST(has(with([](F& f) { f.doppler_centroid_hz = not_a_number; }),
                   "doppler_centroid_hz is nan"));
    BOOST_TEST(has(with([](F& f) { f.effective_velocity_m_s = -7; }),
                   "effective_velocity_m_s is -7 m/s; expected"));
    BOOST_TEST(
        has(with([](F& f) { f.phase_sign = 0; }), "phase_sign is 0; expected -1 or +1"));
    BOOST_TEST(has(with([](F& f) { f.reference_point_m.y = not_a_number; }),
                   "reference_point_m"));
    BOOST_TEST(has(with([](F& f) { f.sample_rate_hz = 0; }), "sample_rate_hz is 0 Hz"));
    BOOST_TEST(has(with([](F& f) { f.pulse_length_s = 0; }), "pulse_length_s is 0 s"));
    BOOST_TEST(
        has(with([](F& f) { f.chirp_rate_hz_per_s = 0; }), "chirp_rate_hz_per_s is 0"));
    BOOST_TEST(has(with([](F& f) { f.chirp_rate_hz_per_s = 2e13; }),
                   "is 160000000 Hz; expected at most sample_rate_hz"));
    BOOST_TEST(
        has(with([](F& f) { f.carrier_hz = 30e6; }), "the lowest frequency of the band"));
    BOOST_TEST(has(with([](F& f) {
                       f.wave = waveform::replica;
                       f.replica_bandwidth_hz = 101e6;
                   }),
                   "replica_bandwidth_hz is 101000000 Hz; expected"));
    BOOST_TEST(has(with([](F& f) { f.gate_start_s = 1e-6; }),
                   "gate_start_s is 1e-06 s; expected 0 with the waveform pulsed_lfm"));
    BOOST_TEST(has(with([](F& f) { f.gate_start_s = -1; }), "gate_start_s is -1 s"));
    BOOST_TEST(has(with([](F& f) { f.sweep = sweep_shape::triangle; }),
                   "sweep is 'triangle'; expected 'sawtooth' with"));
    BOOST_TEST(has(with([](F& f) {
                       f.wave = waveform::fmcw;
                       f.sweep = sweep_shape::triangle;
                       f.prf_hz = f.sample_rate_hz / f.samples * 1.01;
                   }),
                   "expected at most the interval between ramps"));
    BOOST_TEST(has(sentence_of([] { sweep_shape_from_name("up"); }),
                   "sweep is 'up'; expected one of: sawtooth, triangle"));
    BOOST_TEST(has(with([](F& f) { f.wave = waveform::frequency_domain; }),
                   "frequency_step_hz is 0 Hz; expected"));
    BOOST_TEST(has(sentence_of([] { acquisition(pulsed()).compressed_axis(0); }),
                   "oversampling is 0; expected"));
    BOOST_TEST(sentence_of([] { waveform_from_name("chirp"); }) ==
               "waveform is 'chirp'; expected one of: pulsed_lfm, replica, fmcw, "
               "frequency_domain");
    BOOST_TEST(has(sentence_of([] { look_side_from_name("up"); }), "look_side is 'up'"));
    BOOST_TEST(
        has(sentence_of([] { pulse_reference_from_name("end"); }), "start, centre"));
    BOOST_TEST(
        has(sentence_of([] { range_reference_from_name("x"); }), "antenna, point"));
    BOOST_TEST(with([](F&) {}) == "no error");
    for (const waveform w : { waveform::pulsed_lfm,
                              waveform::replica,
                              waveform::fmcw,
                              waveform::frequency_domain })
        BOOST_TEST((waveform_from_name(to_string(w)) == w));
}

// ---- image_grid ----

BOOST_AUTO_TEST_CASE(grid_positions_and_indices)
{
    const double s = std::sqrt(0.5);
    const vec3 far = { 4.0e5, 5.2e6, 120 }; // UTM size
    const image_grid g =
        image_grid::centred(far, { s, s, 0 }, { 0, 0.6, 0.8 }, 0.5, 0.25, 101, 64);
    BOOST_TEST(length(g.position(50, 32) - far) < 1e-9);
    const vec3 step = g.position(11, 7) - g.position(10, 7);
    BOOST_TEST(length(step - vec3{ 0.5 * s, 0.5 * s, 0 }) < 1e-9);
    BOOST_TEST(length(g.position(3, 8) - g.position(3, 7) - vec3{ 0, 0.15, 0.2 }) < 1e-9);
    // oblique axes, a point above the plane
    double row, col;
    g.index_of(g.position(17.25, 3.5) + 12.0 * g.normal(), row, col);
    BOOST_TEST(std::abs(row - 17.25) < 1e-7);
    BOOST_TEST(std::abs(col - 3.5) < 1e-7);
    BOOST_TEST(std::abs(length(g.normal()) - 1) < 1e-12);
}

BOOST_AUTO_TEST_CASE(grid_errors_name_field_value_and_expectation)
{
    const auto with = [](const std::function<void(image_grid_fields&)>& change) {
        image_grid_fields f;
        f.row_spacing_m = f.col_spacing_m = 0.5;
        f.rows = f.cols = 8;
        change(f);
        return sentence_of([&] { image_grid g(f); });
    };
    using F = image_grid_fields;
    BOOST_TEST(with([](F&) {}) == "no error");
    BOOST_TEST(has(with([](F& f) { f.rows = 0; }), "rows is 0; expected"));
    BOOST_TEST(has(with([](F& f) { f.cols = -3; }), "cols is -3; expected"));
    BOOST_TEST(
        has(with([](F& f) { f.row_spacing_m = 0; }), "row_spacing_m is 0 m; expected"));
    BOOST_TEST(has(with([](F& f) { f.col_spacing_m = not_a_number; }),
                   "col_spacing_m is nan m"));
    BOOST_TEST(
        has(with([](F& f) { f.origin_m.z = infinite; }), "origin_m is not finite"));
    BOOST_TEST(
        has(with([](F& f) { f.row_axis.x = 2; }), "of length 2; expected a unit vector"));
    BOOST_TEST(has(with([](F& f) { f.col_axis = { -1, 0, 0 }; }), "are parallel"));
}

// ---- trajectory ----

BOOST_AUTO_TEST_CASE(straight_line_is_exact_on_uneven_times_far_from_the_origin)
{
    const vec3 start = { 4.0e5, 5.2e6, 3000 };
    const vec3 v = { 110.5, -37.25, 0.75 };
    std::mt19937 random(2);
    std::uniform_real_distribution<double> gap(0.001, 0.9);
    std::vector<double> times;
    std::vector<vec3> positions;
    for (double t = 0; times.size() < 60; t += gap(random)) {
        times.push_back(t);
        positions.push_back(start + t * v);
    }
    const auto sampled = trajectory::sampled(times, positions);
    const auto straight = trajectory::straight(start, v);
    BOOST_TEST(sampled.first_s() == 0);
    BOOST_TEST(sampled.last_s() == times.back());
    BOOST_TEST(straight.first_s() == -infinite);
    double worst = 0;
    for (int k = 0; k <= 5000; ++k) {
        const double t = times.back() * k / 5000;
        worst = std::max(worst, length(sampled.position(t) - straight.position(t)));
    }
    // rounding of coordinates of 5e6 m: 1e-9 m
    BOOST_TEST(worst < 5e-9);
    // at the samples it is the samples
    for (std::size_t i = 0; i < times.size(); ++i)
        BOOST_TEST(length(sampled.position(times[i]) - positions[i]) < 2e-9);
}

BOOST_AUTO_TEST_CASE(acceleration_is_exact_on_uneven_times)
{
    // the slope of a parabola through three uneven samples is the parabola's
    const auto truth = [](double t) {
        return vec3{ 100 * t + 1.5 * t * t, -4 * t * t, 1000 - 3 * t };
    };
    const std::vector<double> times = { 0, 0.1, 0.5, 0.6, 2, 2.3, 3 };
    std::vector<vec3> positions;
    for (const double t : times)
        positions.push_back(truth(t));
    const auto t = trajectory::sampled(times, positions);
    for (double s = 0.1; s <= 2.3; s += 0.01) // not in the first and last interval
        BOOST_TEST(length(t.position(s) - truth(s)) < 1e-9);
}

BOOST_AUTO_TEST_CASE(curved_track_is_smooth_and_close)
{
    // a turn of 500 m radius at 100 m/s, navigation at 50 Hz
    const auto truth = [](double t) {
        return vec3{ 500 * std::cos(0.2 * t), 500 * std::sin(0.2 * t), 1000 + t };
    };
    std::vector<double> times;
    std::vector<vec3> positions;
    for (int i = 0; i <= 500; ++i) {
        times.push_back(0.02 * i);
        positions.push_back(truth(times.back()));
    }
    const auto t = trajectory::sampled(times, positions);
    double worst = 0;
    for (double s = 0.1; s < 9.9; s += 0.00137)
        worst = std::max(worst, length(t.position(s) - truth(s)));
    BOOST_TEST(worst < 1e-6);
    // no step in velocity at a sample
    const double h = 1e-5;
    const vec3 before = (1 / h) * (t.position(5.0) - t.position(5.0 - h));
    const vec3 after = (1 / h) * (t.position(5.0 + h) - t.position(5.0));
    BOOST_TEST(length(after - before) < 1e-3);
}

BOOST_AUTO_TEST_CASE(clock_offset_and_lever_arm)
{
    const vec3 v = { 0, 50, 0 }; // north: right is east
    std::vector<double> times = { 0, 1, 2, 3 };
    std::vector<vec3> positions;
    for (const double t : times)
        positions.push_back(t * v);
    const auto t = trajectory::sampled(times, positions, 0.5, { 2, 0.25, -1 });
    BOOST_TEST(t.first_s() == -0.5);
    BOOST_TEST(t.last_s() == 2.5);
    BOOST_TEST(length(t.position(1.0) - vec3{ 0.25, 75 + 2, -1 }) < 1e-9);
    const auto p = t.positions(-0.5, 100, 301);
    BOOST_TEST(p.size() == 301u);
    BOOST_TEST(length(p[300] - vec3{ 0.25, 150 + 2, -1 }) < 1e-9);
}

BOOST_AUTO_TEST_CASE(trajectory_errors_name_the_row_and_the_time)
{
    using T = trajectory;
    const std::vector<vec3> p = { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 } };
    BOOST_TEST(has(sentence_of([&] {
                       T::sampled({ 0, 1 }, p);
                   }),
                   "times_s has 2 entries and positions_m 3"));
    BOOST_TEST(has(sentence_of([&] { T::sampled({ 0 }, { p[0] }); }), "2 or more"));
    BOOST_TEST(has(sentence_of([&] {
                       T::sampled({ 0, 2, 2 }, p);
                   }),
                   "times_s[2] is 2 s after 2 s; expected strictly increasing"));
    BOOST_TEST(has(sentence_of([&] {
                       T::sampled({ 0, not_a_number, 2 }, p);
                   }),
                   "row 1 of the"));
    BOOST_TEST(has(sentence_of([&] {
                       T::sampled({ 0, 1, 2 }, { p[0], p[1], { infinite, 0, 0 } });
                   }),
                   "row 2 of the"));
    BOOST_TEST(has(sentence_of([&] {
                       T::straight({ not_a_number, 0, 0 }, p[0]);
                   }),
                   "start_m"));
    const auto t = T::sampled({ 0, 1, 2 }, p, 0.25);
    BOOST_TEST(has(sentence_of([&] { t.position(1.76); }),
                   "pulse time 1.76 s (2.01 s on the navigation clock) lies outside"));
    BOOST_CHECK_THROW(t.position(-0.26), std::out_of_range);
    BOOST_CHECK_THROW(t.position(not_a_number), std::out_of_range);
    BOOST_TEST(has(sentence_of([&] { t.positions(0, 0, 1); }), "prf_hz is 0 Hz"));
    BOOST_TEST(has(sentence_of([&] { t.positions(0, 1, -1); }), "pulses is -1"));
    const auto standing = T::sampled({ 0, 1 }, { p[0], p[0] }, 0, { 1, 0, 0 });
    BOOST_TEST(has(sentence_of([&] { standing.position(0.5); }), "stands still"));
    const auto rising = T::sampled({ 0, 1 }, { p[0], { 0, 0, 9 } }, 0, { 1, 0, 0 });
    BOOST_TEST(has(sentence_of([&] { rising.position(0.5); }), "moves vertically"));
}

// ---- window ----

namespace {

struct window_row {
    const char* name;
    double irw; //!< in units of one over the bandwidth
    double nulls;
    double pslr_db;
    double islr_db; //!< null to null
    double loss_db;
};
std::ostream& operator<<(std::ostream& o, const window_row& r) { return o << r.name; }

// 256 samples of aperture; Taylor: nbar, sidelobe level
const window_row windows[] = {
    { "rect", 0.886, 2.00, -13.26, -9.68, 0 },
    { "taylor(4, 30)", 1.125, 3.03, -30.31, -23.35, -0.69 },
    { "taylor(4, -35)", 1.184, 3.31, -35.17, -27.13, -0.91 },
    { "taylor(5, 35)", 1.187, 3.34, -35.22, -27.42, -0.93 },
    { " taylor( 6 ,40 ) ", 1.248, 3.66, -40.17, -31.61, -1.15 },
    { "kaiser(2.5)", 1.043, 2.56, -21.02, -18.53, -0.37 },
    { "kaiser(4)", 1.203, 3.25, -30.10, -28.68, -0.97 },
    { "kaiser(6)", 1.407, 4.34, -43.85, -43.84, -1.68 },
    { "hamming", 1.306, 4.03, -42.66, -34.38, -1.36 },
    { "hann", 1.446, 4.03, -31.47, -32.89, -1.78 },
};

} // namespace

BOOST_DATA_TEST_CASE(windows_have_their_figures, data::make(windows), row)
{
    const window w(row.name);
    const int n = 256;
    const auto samples = w.samples(n);
    BOOST_REQUIRE_EQUAL(samples.size(), 256u);
    // power of the response at u, in units of one over the bandwidth
    const int per_unit = 64;
    std::vector<double> p(n / 2 * per_unit);
    for (std::size_t i = 0; i < p.size(); ++i) {
        double s = 0;
        for (int k = 0; k < n; ++k)
            s += samples[k] * std::cos(2 * pi * i / per_unit * ((k + 0.5) / n - 0.5));
        p[i] = s * s;
    }
    std::size_t half = 0;
    while (p[half + 1] > p[0] / 2)
        ++half;
    const double irw =
        2 * (half + (p[half] - p[0] / 2) / (p[half] - p[half + 1])) / per_unit;
    std::size_t null = half;
    while (p[null + 1] < p[null])
        ++null;
    double main = p[0] / 2;
    double side = 0;
    double largest = 0;
    for (std::size_t i = 1; i < p.size(); ++i)
        if (i <= null)
            main += p[i];
        else {
            side += p[i];
            largest = std::max(largest, p[i]);
        }
    double sum = 0;
    double squares = 0;
    for (const double v : samples) {
        sum += v;
        squares += v * v;
    }
    BOOST_TEST(std::abs(irw / row.irw - 1) < 0.01);
    BOOST_TEST(std::abs(w.irw() / row.irw - 1) < 0.01);
    BOOST_TEST(std::abs(2.0 * null / per_unit - row.nulls) < 0.06);
    BOOST_TEST(std::abs(10 * std::log10(largest / p[0]) - row.pslr_db) < 0.2);
    BOOST_TEST(std::abs(10 * std::log10(side / main) - row.islr_db) < 0.3);
    BOOST_TEST(std::abs(10 * std::log10(sum * sum / squares / n) - row.loss_db) < 0.02);

    BOOST_TEST(w(0) == 1, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(w(0.51) == 0);
    BOOST_TEST(w(-0.51) == 0);
    BOOST_TEST(w(0.3) == w(-0.3), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(window(w.name()).samples(9) == w.samples(9),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(window_errors_say_what_is_known)
{
    const auto of = [](const char* text) { return sentence_of([&] { window w(text); }); };
    for (const char* text : { "",
                              "Hamming",
                              "blackman",
                              "kaiser",
                              "taylor(4)",
                              "taylor 4 35",
                              "kaiser(2,3)",
                              "kaiser()",
                              "rect(" })
        BOOST_TEST(has(of(text), sentence("window is '", text, "'")));
    BOOST_TEST(
        has(of("boxcar"),
            "expected rect, hamming, hann, taylor(nbar, sll in dB) or kaiser(beta)"));
    BOOST_TEST(has(of("hann(3)"), "hann takes no arguments"));
    BOOST_TEST(has(of("taylor(4.5, 35)"), "nbar is 4.5, expected a whole number"));
    BOOST_TEST(has(of("taylor(4, 5)"), "sidelobe level is 5 dB, expected 10 to 120"));
    BOOST_TEST(has(of("kaiser(x)"), "'x' is not a number"));
    BOOST_TEST(has(of("kaiser(-1)"), "beta is -1, expected"));
}

BOOST_AUTO_TEST_CASE(bessel)
{
    // Abramowitz and Stegun, table 9.8
    BOOST_TEST(bessel_i0(0) == 1);
    BOOST_TEST(bessel_i0(1) == 1.2660658777520082, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(bessel_i0(10) == 2815.716628466254, boost::test_tools::tolerance(1e-14));
}

// ---- phasor, cf32, parallel_for, backend ----

BOOST_AUTO_TEST_CASE(phasor_is_right_to_float_rounding)
{
    double worst = 0;
    for (int i = -500000; i <= 500000; ++i) {
        const float x = i * 1e-6f;
        const cf32 p = unit_phasor(x);
        const std::complex<double> truth = std::polar(1.0, 2 * pi * double(x));
        worst = std::max(worst, std::abs(std::complex<double>(p.re, p.im) - truth));
    }
    BOOST_TEST(worst < 2e-7);
    for (const auto& [x, re, im] : { std::tuple{ 0.f, 1.f, 0.f },
                                     std::tuple{ 0.25f, 0.f, 1.f },
                                     std::tuple{ -0.25f, 0.f, -1.f },
                                     std::tuple{ 0.5f, -1.f, 0.f } }) {
        BOOST_TEST(std::abs(unit_phasor(x).re - re) < 1e-7f);
        BOOST_TEST(std::abs(unit_phasor(x).im - im) < 1e-7f);
    }
}

BOOST_AUTO_TEST_CASE(cycles_keep_their_fraction_at_orbital_range)
{
    // 770 km at X band: 5e7 cycles
    const double cycles = 2 * 9.6e9 * 770e3 / speed_of_light;
    for (const double fraction : { -0.499, -0.3, 0.0, 0.123456, 0.5 }) {
        const double x = std::rint(cycles) + fraction;
        const double f = fractional_cycles(x);
        BOOST_TEST(std::abs(f - fraction - std::rint(f - fraction)) < 5e-8);
        BOOST_TEST(std::abs(f) <= 0.5);
    }
}

BOOST_AUTO_TEST_CASE(complex_numbers)
{
    const cf32 a = { 1, 2 };
    const cf32 b = { 3, -1 };
    const cf32 p = a * b;
    BOOST_TEST((p.re == 5 && p.im == 5));
    BOOST_TEST((conj(a).im == -2 && norm(a) == 5));
    BOOST_TEST(is_finite(a));
    BOOST_TEST(is_finite(cf32{ 3e38f, -3e38f }));
    const float bad[] = { std::nanf(""), INFINITY, -INFINITY };
    for (const float x : bad) {
        BOOST_TEST(!is_finite(cf32{ x, 0 }));
        BOOST_TEST(!is_finite(cf32{ 0, x }));
        BOOST_TEST(!is_finite(vec3{ 0, x, 0 }));
    }
    BOOST_TEST(is_finite(vec3{ 1e300, -1e300, 0 }));
}

BOOST_AUTO_TEST_CASE(parallel_for_runs_all_and_passes_errors_on)
{
    std::vector<int> seen(1000);
    parallel_for(1000, [&](int i, int thread) {
        seen[i] += 1 + (thread < 0 || thread >= max_threads());
    });
    BOOST_TEST(seen == std::vector<int>(1000, 1), boost::test_tools::per_element());
    BOOST_CHECK_THROW(parallel_for(10,
                                   [](int i, int) {
                                       if (i == 3)
                                           throw std::runtime_error("three");
                                   }),
                      std::runtime_error);
    parallel_for(0, [](int, int) { BOOST_FAIL("nothing to do"); });
}

BOOST_AUTO_TEST_CASE(parallel_for_from_many_threads_and_within_itself)
{
    const int before = max_threads();
    set_max_threads(4);
    std::vector<std::thread> callers;
    std::atomic<int> sum{ 0 };
    std::atomic<int> clashes{ 0 };
    for (int c = 0; c < 6; ++c)
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                std::array<std::atomic<int>, 4> busy{};
                parallel_for(9, [&](int, int thread) {
                    clashes += thread < 0 || thread >= 4 || busy[thread]++;
                    parallel_for(3, [&](int i, int) { sum += i; });
                    --busy[thread];
                });
            }
        });
    for (std::thread& t : callers)
        t.join();
    BOOST_TEST(sum == 6 * 200 * 9 * 3);
    BOOST_TEST(clashes == 0);
    set_max_threads(1);
    parallel_for(5, [&](int, int thread) { clashes += thread; });
    BOOST_TEST(clashes == 0);
    BOOST_TEST(has(sentence_of([] { set_max_threads(0); }), "threads is 0; expected 1"));
    set_max_threads(before);
}

BOOST_AUTO_TEST_CASE(backends)
{
    BOOST_TEST(!choose_target(backend::cpu).space);
    const compute_target e = choose_target(backend::emulated, 1);
    BOOST_TEST(e.space);
    BOOST_TEST((e.kind == backend::emulated && !e.is_cuda()));
    BOOST_TEST((&emulated_device(1) == e.space));
    BOOST_TEST((&emulated_device(0) != e.space));
    BOOST_TEST(sentence_of([] { backend_from_name("gpu"); }) ==
               "backend is 'gpu'; expected one of: auto, cpu, cuda, emulated");
    BOOST_TEST(has(sentence_of([] { choose_target(backend::cpu, -1); }), "device is -1"));
    std::string reason;
    if (cuda_device_count(reason) == 0) {
        BOOST_TEST(!reason.empty());
        const compute_target t = choose_target(backend::automatic);
        BOOST_TEST((t.kind == backend::cpu));
        BOOST_TEST(has(t.description, reason));
        BOOST_TEST(has(sentence_of([] { choose_target(backend::cuda); }), reason));
    } else {
        BOOST_TEST((choose_target(backend::automatic).kind == backend::cuda));
    }
}
