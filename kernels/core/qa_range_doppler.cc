// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE range_doppler
#include "cf32.h"
#include "column_fft.h"
#include "interpolator.h"
#include "line_storage.h"
#include "range_doppler.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "qa_tools.h"
#include <complex>
#include <functional>
#include <limits>
#include <random>

using namespace gr::sar;
namespace data = boost::unit_test::data;
using complex_double = std::complex<double>;

namespace {

//! RADARSAT-1, fine beam: squint through a centroid of 5.5 PRF.
acquisition_fields radarsat()
{
    acquisition_fields f;
    f.samples = 2048;
    f.carrier_hz = 5.3e9;
    f.prf_hz = 1256.98;
    f.sample_rate_hz = 32.317e6;
    f.pulse_length_s = 41.75e-6;
    f.chirp_rate_hz_per_s = -0.72135e12;
    f.slant_range_first_m = 993.5e3;
    f.effective_velocity_m_s = 7062;
    f.doppler_centroid_hz = -6900;
    return f;
}

range_doppler_params radarsat_params(int lines = 1536, int fft_length = 2048)
{
    return { acquisition(radarsat()), 1, lines, fft_length };
}

//! Slant range, m, and Doppler, Hz, of a point that is passed at time 0.
double range_at(double t, double closest, double v) { return std::hypot(closest, v * t); }
double doppler_at(double t, double closest, double v, double carrier)
{
    return -2 * carrier / speed_of_light * v * v * t / range_at(t, closest, v);
}

} // namespace

// ---- the model ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(migration_is_that_of_a_straight_flight)
{
    for (const double squint : { -0.3, -0.02, 0.0, 0.1, 0.5 }) {
        const double closest = 8000, v = 120, carrier = 9.6e9;
        const double t = closest * std::tan(squint) / v;
        const double f = doppler_at(t, closest, v, carrier);
        const double d = migration_factor(f, v, carrier);
        BOOST_TEST(closest / d == range_at(t, closest, v),
                   boost::test_tools::tolerance(1e-12));
        BOOST_TEST(d == std::cos(squint), boost::test_tools::tolerance(1e-12));
    }
}

BOOST_AUTO_TEST_CASE(src_is_the_rest_of_the_two_dimensional_spectrum)
{
    const range_doppler_plan plan(radarsat_params());
    range_doppler_frame f = plan.frame();
    f.carrier_hz = 9.6e9;
    f.velocity_m_s = 100;
    for (const double squint : { 0.0, 0.07, 0.2 })
        for (const double x : { -0.03, -0.01, 0.0, 0.02, 0.03 }) {
            f.middle_m = 10e3;
            const double s = std::sin(squint);
            const double d = std::cos(squint);
            const double exact = 2 * f.middle_m * f.carrier_hz / speed_of_light *
                                 (std::sqrt((1 + x) * (1 + x) - s * s) - d - x / d);
            BOOST_TEST(std::abs(src_cycles(src_of_row(f, d), x) - exact) < 2e-5);
        }
    // in its usual form: K_src = 2 V^2 f0^3 D^3 / (c R0 f^2), phase -pi ft^2 / K_src
    const double d = std::cos(0.05),
                 fd = 2 * 100 * 9.6e9 / speed_of_light * std::sin(0.05);
    const double ft = 10e6;
    const double k_src =
        2 * 1e4 * std::pow(9.6e9 * d, 3) / (speed_of_light * 10e3 * fd * fd);
    BOOST_TEST(src_cycles(src_of_row(f, d), ft / 9.6e9) == -0.5 * ft * ft / k_src,
               boost::test_tools::tolerance(2e-3));
}

BOOST_AUTO_TEST_CASE(doppler_axis_lies_around_the_centroid)
{
    const range_doppler_plan plan(radarsat_params());
    const auto rows = plan.rows();
    BOOST_TEST(rows.size() == 2048u);
    double lowest = 1e9, highest = -1e9;
    for (int k = 0; k < 2048; ++k) {
        const double turns =
            (rows[k].frequency_hz - k * 1256.98 / 2048) / 1256.98; // same bin
        BOOST_TEST(std::abs(turns - std::rint(turns)) < 1e-9);
        lowest = std::min(lowest, rows[k].frequency_hz);
        highest = std::max(highest, rows[k].frequency_hz);
    }
    BOOST_TEST(lowest >= -6900 - 1256.98 / 2 - 1e-6);
    BOOST_TEST(highest <= -6900 + 1256.98 / 2 + 1e-6);
    // the bin at half a PRF from the centroid is the lower edge, for odd and even folds
    range_doppler_frame f;
    f.prf_hz = 1000;
    f.rows = 8;
    for (int fold = -7; fold <= 7; ++fold) {
        BOOST_TEST(doppler_frequency(f, 4, fold * 1000.0) == fold * 1000.0 - 500);
        BOOST_TEST(doppler_frequency(f, 1, fold * 1000.0 + 625) == fold * 1000.0 + 125);
    }
}

BOOST_AUTO_TEST_CASE(numbers_of_radarsat)
{
    const range_doppler_plan plan(radarsat_params());
    const range_doppler_frame& f = plan.frame();
    // migration of some 80 cells, zero Doppler some 5000 lines before the beam
    BOOST_TEST(f.out_first_m < 993.5e3);
    BOOST_TEST(std::abs((993.5e3 - f.out_first_m) / f.spacing_m - 81) < 2);
    BOOST_TEST(f.first_row < -4600);
    BOOST_TEST(f.first_row > -5400);
    // FM rate near 1733 Hz/s: the PRF band lasts 0.725 s
    doppler_band band;
    BOOST_TEST(std::abs(plan.aperture_lines(band) - 0.725 * 1256.98) < 15);
    int first = 0;
    const int valid = plan.valid_rows(band, first);
    BOOST_TEST(valid > 1536 - 911 - 40);
    BOOST_TEST(valid < 1536 - 911 + 15);
    // first row is one before whose zero-Doppler time the aperture begins: shear of the
    // swath included
    BOOST_TEST(first >= 256 + 455 - 20);
}

BOOST_AUTO_TEST_CASE(cells_of_both_geometries)
{
    for (const bool sloped : { false, true }) {
        acquisition_fields a = radarsat();
        if (sloped) {
            a.effective_velocity_slopes = { 2e-5 };
            a.doppler_centroid_slopes = { 0.01, 1e-7 };
        }
        range_doppler_params p = { acquisition(a), 1, 1536, 2048 };
        const range_doppler_plan zero(p);
        p.geometry = image_geometry::centroid;
        const range_doppler_plan centre(p);
        BOOST_TEST(zero.frame().uniform == !sloped);
        const auto z = zero.columns();
        const auto c = centre.columns();
        // a cell of the centroid geometry looks at the line's own range in mid-beam
        for (const int n : { 0, 1000, 2047 }) {
            const double d = migration_factor(
                c[n].centroid_hz, c[n].velocity_m_s, centre.frame().carrier_hz);
            BOOST_TEST(std::abs(migrated_sample(centre.frame(), c[n].closest_m, d) - n) <
                       1e-6);
            if (!sloped) {
                BOOST_TEST(std::abs(closest_range(centre.frame(), n) - c[n].closest_m) <
                           1e-6);
                BOOST_TEST(std::abs(closest_range(zero.frame(), n) - z[n].closest_m) <
                           1e-6);
            }
            BOOST_TEST(std::abs(doppler_at(c[n].beam_delay_s,
                                           c[n].closest_m,
                                           c[n].velocity_m_s,
                                           5.3e9) -
                                c[n].centroid_hz) < 1e-6);
        }
        BOOST_TEST(centre.frame().first_row == -256);
    }
}

BOOST_AUTO_TEST_CASE(gain_is_one_over_the_sum_of_a_point)
{
    // a point seen through the band, summed line by line in time and transformed with the
    // stationary phase: PRF sum w sqrt(dt/df) / N
    doppler_band band;
    band.bandwidth_hz = 800;
    const range_doppler_plan plan(radarsat_params(4096, 4096));
    const auto g = plan.gains(band);
    const double r = plan.columns()[700].closest_m;
    double sum = 0;
    for (const doppler_row& k : plan.rows())
        if (std::abs(k.frequency_hz + 6900) <= 400)
            sum +=
                1256.98 * std::sqrt(speed_of_light * r /
                                    (2 * 5.3e9 * 7062. * 7062. * std::pow(k.factor, 3)));
    BOOST_TEST(g[700] * sum == 1.0, boost::test_tools::tolerance(1e-5));
    // half of the aperture in the frame: twice the gain
    band.bandwidth_hz = 0;
    const int lines = plan.aperture_lines(band);
    const auto whole = range_doppler_plan(radarsat_params(2 * lines, 4096)).gains(band);
    const auto half = range_doppler_plan(radarsat_params(lines / 2, 4096)).gains(band);
    BOOST_TEST(half[700] / whole[700] == 2.0, boost::test_tools::tolerance(0.01));
    // polynomials that vary nothing change nothing
    acquisition_fields a = radarsat();
    a.effective_velocity_slopes = { 1e-12 };
    const auto sloped =
        range_doppler_plan({ acquisition(a), 1, 2 * lines, 4096 }).gains(band);
    BOOST_TEST(sloped[700] / whole[700] == 1.0, boost::test_tools::tolerance(1e-3));
    // looks share the band
    band.looks = 4;
    double offset = 0;
    for (int l = 0; l < 4; ++l) {
        offset = (l - 1.5) * 1256.98 / 4;
        for (int m = 0; m < 4; ++m)
            BOOST_TEST(range_doppler_plan::weight(band, 1256.98, offset, m) ==
                       (l == m ? 1.0 : 0.0));
    }
}

BOOST_AUTO_TEST_CASE(an_estimate_replaces_the_centroid)
{
    range_doppler_plan plan(radarsat_params());
    plan.set_centroid({ -5643, 0.001 });
    BOOST_TEST(!plan.frame().uniform);
    BOOST_TEST(std::abs(plan.frame().centroid_hz + 5643) < 10);
    // one that cannot be leaves all as it was
    BOOST_TEST(
        has(sentence_of([&] { plan.set_centroid({ 1e6 }); }), "doppler_centroid_hz"));
    BOOST_TEST(has(sentence_of([&] { plan.set_centroid({}); }), "0 coefficients"));
    BOOST_TEST(
        has(sentence_of([&] { plan.set_centroid({ std::nan("") }); }), "coefficient"));
    BOOST_TEST(std::abs(plan.frame().centroid_hz + 5643) < 10);
}

BOOST_AUTO_TEST_CASE(wrong_parameters)
{
    const auto error = [](const std::function<void(acquisition_fields&,
                                                   range_doppler_params&)>& change) {
        acquisition_fields a = radarsat();
        range_doppler_params p = radarsat_params();
        change(a, p);
        return sentence_of([&] {
            p = { acquisition(a), p.oversampling, p.lines, p.fft_length, p.geometry };
            range_doppler_plan plan(p);
        });
    };
    BOOST_TEST(has(error([](auto&, auto& p) { p.lines = 0; }), "lines is 0"));
    BOOST_TEST(
        has(error([](auto&, auto& p) { p.fft_length = 1535; }), "fft_length is 1535"));
    BOOST_TEST(has(error([](auto& a, auto&) { a.effective_velocity_m_s = 0; }),
                   "effective_velocity_m_s is 0"));
    BOOST_TEST(has(error([](auto& a, auto&) { a.range_from = range_reference::point; }),
                   "range_reference"));
    BOOST_TEST(has(error([](auto& a, auto&) { a.doppler_centroid_hz = 2.6e5; }),
                   "doppler_centroid_hz is"));
    BOOST_TEST(has(error([](auto& a, auto&) { a.slant_range_first_m = -5; }),
                   "slant_range_first_m is -5"));
    BOOST_TEST(has(error([](auto& a, auto&) { a.effective_velocity_slopes = { -1 }; }),
                   "effective velocity at slant range"));
    BOOST_TEST(has(error([](auto& a, auto&) {
                       a.doppler_centroid_slopes = { 0, 0, 0, 0 };
                   }),
                   "doppler_centroid_slopes has 4"));
    BOOST_TEST(has(sentence_of([] { image_geometry_from_name("squint"); }),
                   "geometry is 'squint'"));
}

BOOST_AUTO_TEST_CASE(fast_lengths)
{
    BOOST_TEST(fast_fft_length(1) == 1);
    BOOST_TEST(fast_fft_length(1201) == 1215);
    BOOST_TEST(fast_fft_length(4096) == 4096);
    BOOST_TEST(fast_fft_length(5999) == 6000);
    BOOST_TEST(line_fft_length(1) == 8);
    BOOST_TEST(line_fft_length(129) == 144);
    BOOST_TEST(line_fft_length(4097) == 4608);
    BOOST_TEST(line_fft_length(6145) == 8192);
    BOOST_TEST(line_fft_length(longest_block_line) == longest_block_line);
    BOOST_TEST(line_fft_length(16385) == 18432);
    BOOST_TEST(line_fft_length(20481) == 20480 + 100);
    BOOST_TEST(line_fft_length(70000) == 81920);
    for (int n = 1; n < 70000; n += 13)
        BOOST_TEST((line_fft_length(n) >= n && line_fft_length(n) < 1.34 * n + 8));
}

// ---- interpolation
// ----------------------------------------------------------------------

BOOST_DATA_TEST_CASE(least_squares_taps_on_a_double_grid,
                     data::make({ 0.8, 0.93 }) * data::make({ 8, 10, 12 }),
                     occupied,
                     taps)
{
    const double band = occupied / 2;
    const auto table = least_squares_table(taps, band);
    double error = 0, power = 0;
    for (int i = -200; i <= 200; ++i) { // tones over the band
        const double f = band / 2 * i / 200;
        for (int p = 0; p < sinc_phases; p += 7) {
            complex_double sum = 0;
            for (int k = 0; k < taps; ++k)
                sum += static_cast<double>(table[p * taps + k]) *
                       std::polar(1.0, 2 * pi * f * (k - (taps / 2 - 1)));
            error += std::norm(
                sum - std::polar(1.0, 2 * pi * f * p / static_cast<double>(sinc_phases)));
            power += 1;
        }
    }
    const double db = 10 * std::log10(error / power);
    BOOST_TEST_MESSAGE(occupied << " occupied, " << taps << " taps: " << db << " dB");
    const double limit = taps == 8 ? -78 : taps == 10 ? -95 : -105;
    BOOST_TEST(db < limit);
}

BOOST_AUTO_TEST_CASE(least_squares_errors)
{
    BOOST_TEST(has(sentence_of([] { least_squares_table(7, 0.5); }), "taps is 7"));
    BOOST_TEST(has(sentence_of([] { least_squares_table(8, 0); }), "occupied_band is 0"));
}

// ---- columns
// ----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(columns_against_the_sum_in_double,
                     data::make({ 1, 2, 37, 96, 211 }) * data::make({ 1, 15, 16, 53 }),
                     rows,
                     cols)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<cf32> frame(static_cast<std::size_t>(rows) * cols);
    for (cf32& v : frame)
        v = { normal(random), normal(random) };
    const int filled = (rows + 1) / 2;
    const std::vector<cf32> before = frame;
    const auto fft = column_fft::make(rows, cols, choose_target(backend::cpu));
    for (int twice = 0; twice < 2; ++twice) {
        frame = before;
        fft->forward(frame.data(), filled);
        double error = 0, power = 0;
        for (int c = 0; c < cols; c += 7)
            for (int k = 0; k < rows; ++k) {
                complex_double sum = 0;
                for (int r = 0; r < filled; ++r) {
                    const cf32 v = before[static_cast<std::size_t>(r) * cols + c];
                    sum += complex_double(v.re, v.im) *
                           std::polar(1.0, -2 * pi * (1.0 * r * k / rows));
                }
                const cf32 v = frame[static_cast<std::size_t>(k) * cols + c];
                error += std::norm(sum - complex_double(v.re, v.im));
                power += std::norm(sum);
            }
        BOOST_TEST(error < 1e-12 * power);
    }
    fft->inverse(frame.data());
    for (std::size_t i = 0; i < frame.size(); ++i) {
        const cf32 wanted = i < static_cast<std::size_t>(filled) * cols
                                ? static_cast<float>(rows) * before[i]
                                : cf32{ 0, 0 };
        BOOST_REQUIRE(std::sqrt(norm(frame[i] - wanted)) < 1e-5 * rows);
    }
}

BOOST_AUTO_TEST_CASE(column_errors)
{
    const compute_target cpu = choose_target(backend::cpu);
    BOOST_TEST(has(sentence_of([&] { column_fft::make(0, 5, cpu); }), "rows is 0"));
    BOOST_TEST(has(sentence_of([&] { column_fft::make(5, 0, cpu); }), "cols is 0"));
    BOOST_TEST(has(sentence_of([&] { column_fft::make(5, 7, cpu, 6); }), "pitch is 6"));
}

// ---- storage
// ----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(half_lines_keep_15_bits_of_each_block,
                     data::make({ 1, 31, 32, 33, 1201 }),
                     samples)
{
    BOOST_TEST(line_bytes(line_storage::half, samples) ==
               4u * ((samples + 31) / 32) + 4u * samples);
    BOOST_TEST(line_bytes(line_storage::single, samples) == 8u * samples);
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (const float level : { 1e-30f, 1.0f, 1e30f }) {
        std::vector<cf32> line(samples);
        for (int i = 0; i < samples; ++i) {
            // each block at its own level, over 120 dB
            const float s = level * std::pow(10.0f, static_cast<float>(i / 32 % 7) - 3);
            line[i] = { s * normal(random), s * normal(random) };
        }
        std::vector<float> stored(line_bytes(line_storage::half, samples) / 4);
        std::vector<cf32> back(samples);
        store_line(line_storage::half, line.data(), samples, stored.data());
        load_line(line_storage::half, stored.data(), samples, back.data());
        for (int b = 0; b < samples; b += 32) {
            float largest = 0;
            for (int i = b; i < std::min(samples, b + 32); ++i)
                largest = std::max(largest, largest_component(line[i]));
            for (int i = b; i < std::min(samples, b + 32); ++i) {
                BOOST_REQUIRE(std::abs(back[i].re - line[i].re) <=
                              0.51f / 32767 * largest);
                BOOST_REQUIRE(std::abs(back[i].im - line[i].im) <=
                              0.51f / 32767 * largest);
                const cf32 one =
                    load_sample(line_storage::half, stored.data(), samples, i);
                BOOST_REQUIRE(one.re == back[i].re);
            }
        }
    }
    std::vector<cf32> zeros(samples, cf32{ 0, 0 });
    zeros[0] = { 1e-36f, -1e-37f }; // denormal: becomes zero, not infinite
    std::vector<float> stored(line_bytes(line_storage::half, samples) / 4);
    std::vector<cf32> back(samples);
    store_line(line_storage::half, zeros.data(), samples, stored.data());
    load_line(line_storage::half, stored.data(), samples, back.data());
    for (const cf32& v : back)
        BOOST_REQUIRE(norm(v) == 0);
}
