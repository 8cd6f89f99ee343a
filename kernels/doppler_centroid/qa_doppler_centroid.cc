// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE doppler_centroid
#include "doppler_centroid.h"
#include "qa_centroid_scene.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include <cstring>
#include <functional>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::centroid_test;
using gr::sar::kernel::centroid_estimate;
using gr::sar::kernel::doppler_centroid;
using gr::sar::kernel::doppler_centroid_params;
namespace data = boost::unit_test::data;

namespace {

centroid_estimate estimate(const doppler_centroid_params& p, const std::vector<cf32>& x)
{
    const auto k = doppler_centroid::make(p, choose_target(backend::cpu));
    const int lines = static_cast<int>(x.size() / k->samples());
    k->take(x.data(), 0, lines / 2);
    k->take(x.data() + static_cast<std::size_t>(lines / 2) * k->samples(),
            lines / 2,
            lines - lines / 2);
    return k->estimate(lines);
}

centroid_estimate estimate(const scene& s, int order = 0)
{
    return estimate({ acquisition(fields_of(s)), s.lines, s.oversampling, {}, order },
                    lines_of(s));
}

//! Ground without contrast, as lines: a complex AR(1) process at each range frequency,
//! whose phase from line to line is that of a centroid proportional to the frequency.
std::vector<cf32> even_ground(const acquisition& acq,
                              int lines,
                              double centroid_hz,
                              double slope_hz_per_m = 0,
                              unsigned seed = 1)
{
    const range_axis axis = acq.compressed_axis(1);
    const int n = axis.samples;
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<complex_double> state(n), turn(n);
    std::vector<double> power(n, 1.0);
    const double step = speed_of_light / (2 * axis.spacing_m) / n;
    const bool in_range = slope_hz_per_m != 0; // the centroid of each cell instead
    for (int k = 0; k < n; ++k) {
        const double f = step * (2 * k < n ? k : k - n);
        const double centroid = in_range
                                    ? centroid_hz + slope_hz_per_m * k * axis.spacing_m
                                    : centroid_hz * (1 + f / axis.carrier_hz);
        turn[k] = 0.6 * std::polar(1.0, 2 * pi * centroid / acq->prf_hz);
        if (!in_range && std::abs(f) > axis.bandwidth_hz / 2)
            power[k] = 0;
    }
    std::vector<complex_double> roots(n);
    for (int k = 0; k < n; ++k)
        roots[k] = std::polar(1 / std::sqrt(n), 2 * pi * k / n);
    std::vector<cf32> x(static_cast<std::size_t>(lines) * n);
    for (int i = 0; i < lines; ++i) {
        for (int k = 0; k < n; ++k)
            state[k] =
                turn[k] * state[k] + complex_double(normal(random), normal(random));
        for (int m = 0; m < n; ++m) {
            complex_double sum = 0;
            if (in_range)
                sum = state[m];
            else
                for (int k = 0; k < n; ++k)
                    sum += state[k] * roots[static_cast<std::size_t>(k) *
                                            static_cast<std::size_t>(m) % n];
            x[static_cast<std::size_t>(i) * n + m] = { static_cast<float>(sum.real()),
                                                       static_cast<float>(sum.imag()) };
        }
    }
    return x;
}

//! 1 GHz, 100 MHz: a tenth of the carrier, so that range diversity is strong.
acquisition wide_band(int samples, double velocity_m_s = 0)
{
    acquisition_fields f;
    f.samples = samples;
    f.carrier_hz = 1e9;
    f.prf_hz = 500;
    f.sample_rate_hz = 120e6;
    f.pulse_length_s = 1 / 120e6;
    f.chirp_rate_hz_per_s = 100e6 * 120e6;
    f.slant_range_first_m = 10e3;
    f.effective_velocity_m_s = velocity_m_s;
    return acquisition(f);
}

} // namespace

// Found from nothing, up to 11 degrees of squint: the number of PRFs, and the fraction
// within its error.
BOOST_DATA_TEST_CASE(points,
                     data::make({ 0.0, 0.4, -5.5, 3.3, -0.5, 0.49 }) *
                         data::make({ 1, 2 }),
                     prfs,
                     seed)
{
    scene s;
    s.centroid_hz = prfs * 300;
    s.seed = seed;
    const centroid_estimate e = estimate(s);
    BOOST_TEST_CONTEXT("baseband " << e.baseband_hz << " +- " << e.standard_error_hz
                                   << ", ambiguity " << e.ambiguity << ", confidence "
                                   << e.ambiguity_confidence << ", look " << e.look_score)
    {
        BOOST_TEST(e.method == "estimate");
        BOOST_REQUIRE_EQUAL(e.coefficients_hz.size(), 1u);
        const double error = e.coefficients_hz[0] - s.centroid_hz;
        BOOST_TEST(std::abs(error) < 3.5 * e.standard_error_hz);
        BOOST_TEST(e.standard_error_hz < 30);
        BOOST_TEST(e.coefficients_hz[0] == e.baseband_hz + e.ambiguity * 300.0,
                   boost::test_tools::tolerance(1e-9));
        BOOST_TEST(std::abs(e.baseband_hz) <= 150);
        BOOST_TEST(e.ambiguity_confidence > 0.9);
    }
}

// A bias and oversampling move samples, not Doppler.
BOOST_AUTO_TEST_CASE(bias_and_oversampling)
{
    scene s;
    s.centroid_hz = -5.5 * 300;
    s.bias_m = 7.3;
    s.oversampling = 2;
    s.noise = 0.01; // white over twice the band
    const centroid_estimate e = estimate(s);
    BOOST_TEST(std::abs(e.coefficients_hz[0] - s.centroid_hz) <
               3.5 * e.standard_error_hz);
    BOOST_TEST(e.ambiguity_confidence > 0.9);
}

// Even ground has nothing that looks could hold on to: range diversity.
BOOST_DATA_TEST_CASE(even_ground_by_range_diversity,
                     data::make({ 60.0, -1730.0, 2210.0 }),
                     centroid)
{
    const acquisition acq = wide_band(128);
    const centroid_estimate e =
        estimate({ acq, 1000, 1, {}, 0 }, even_ground(acq, 1000, centroid));
    BOOST_TEST(e.diversity_error_hz < 100);
    BOOST_TEST(std::abs(e.diversity_hz - centroid) < 4 * e.diversity_error_hz);
    BOOST_TEST(std::abs(e.coefficients_hz[0] - centroid) < 4 * e.standard_error_hz);
    BOOST_TEST(e.ambiguity_confidence > 0.95);
    BOOST_TEST(e.look_passes == 0); // no velocity, no looks
}

// What cannot be known is not claimed: a narrow band, and no velocity.
BOOST_AUTO_TEST_CASE(unsure_without_contrast)
{
    scene s;
    const acquisition_fields f = fields_of(s);
    int wrong = 0;
    for (unsigned seed = 0; seed < 8; ++seed) {
        const centroid_estimate e =
            estimate({ acquisition(f), 40, 1, {}, 0 },
                     even_ground(acquisition(f), 40, -1650, 0, seed));
        BOOST_TEST(e.method == "estimate");
        BOOST_TEST(std::abs(std::remainder(e.baseband_hz + 1650, 300)) <
                   4.5 * e.standard_error_hz);
        if (std::abs(e.coefficients_hz[0] + 1650) > 150)
            ++wrong;
        BOOST_TEST(e.ambiguity_confidence < 0.9);
    }
    BOOST_TEST(wrong > 0); // or this test is too easy
}

BOOST_AUTO_TEST_CASE(noise_is_no_signal)
{
    scene s;
    s.points = 0;
    s.noise = 1;
    acquisition_fields f = fields_of(s);
    f.doppler_centroid_hz = -710;
    f.doppler_centroid_slopes = { 0.25 };
    for (unsigned seed = 0; seed < 5; ++seed) {
        s.seed = seed;
        const centroid_estimate e =
            estimate({ acquisition(f), s.lines, 1, {}, 0 }, lines_of(s));
        BOOST_TEST(e.method == "none");
        BOOST_TEST(e.coefficients_hz == (std::vector<double>{ -710, 0.25 }),
                   boost::test_tools::per_element());
        BOOST_TEST(e.standard_error_hz == 300 / std::sqrt(12.0),
                   boost::test_tools::tolerance(1e-9));
        BOOST_TEST(e.ambiguity_confidence == 0);
    }
}

// A bright target that is seen only while it leaves the beam: its Doppler is far from the
// centroid, and the error says so.
BOOST_AUTO_TEST_CASE(one_bright_target_at_the_end)
{
    scene s;
    s.centroid_hz = 60;
    s.points = 60;
    std::vector<cf32> x = lines_of(s);
    scene bright = s;
    bright.points = 1;
    bright.noise = 0;
    bright.lines =
        2048; // seen at the end of these, of which only the first half is there
    bright.seed = 12;
    std::vector<cf32> y = lines_of(bright);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = x[i] + 10.0f * y[i];
    const centroid_estimate e =
        estimate({ acquisition(fields_of(s)), s.lines, 1, {}, 0 }, x);
    BOOST_TEST(std::abs(e.coefficients_hz[0] - 60) < 3.5 * e.standard_error_hz);
    BOOST_TEST(e.ambiguity == 0);
}

BOOST_DATA_TEST_CASE(polynomials, data::make({ 0, 1, 2, 3 }), order)
{
    const acquisition acq = wide_band(600);
    const double slope = 0.05; // 37 Hz over the swath
    const std::vector<cf32> x = even_ground(acq, 600, 180, slope);
    const centroid_estimate e = estimate({ acq, 600, 1, {}, order }, x);
    BOOST_REQUIRE_EQUAL(e.coefficients_hz.size(), order + 1u);
    const auto at = [&](double m) {
        double y = 0;
        for (int i = order; i >= 0; --i)
            y = y * m + e.coefficients_hz[i];
        return std::remainder(y, 500.0); // the ambiguity cannot be known
    };
    const double span = 600 * acq.compressed_axis(1).spacing_m;
    for (const double share : { 0.1, 0.5, 0.9 }) {
        const double truth = 180 + slope * (order ? share : 0.5) * span;
        BOOST_TEST(std::abs(at(share * span) - truth) < (order > 1 ? 2.5 : 1.5));
    }
}

BOOST_AUTO_TEST_CASE(given_is_taken)
{
    scene s;
    const doppler_centroid_params p{
        acquisition(fields_of(s)), 64, 1, { -6900, 0.5 }, 0
    };
    const centroid_estimate e = estimate(p, std::vector<cf32>(64 * 384));
    BOOST_TEST(e.method == "given");
    BOOST_TEST(e.coefficients_hz == p.given, boost::test_tools::per_element());
    BOOST_TEST(e.ambiguity_confidence == 1);
    BOOST_TEST(e.standard_error_hz == 0);
}

BOOST_AUTO_TEST_CASE(lines_go_out_as_they_came)
{
    scene s;
    s.lines = 101;
    std::vector<cf32> x = lines_of(s);
    x[5 * 384 + 17].im = std::numeric_limits<float>::quiet_NaN();
    x[100 * 384].re = std::numeric_limits<float>::infinity();
    const auto k = doppler_centroid::make({ acquisition(fields_of(s)), 101, 1, {}, 0 },
                                          choose_target(backend::cpu));
    for (int frame = 0; frame < 2; ++frame) {
        k->take(x.data(), 0, 101);
        const centroid_estimate e = k->estimate(101);
        BOOST_TEST(std::isfinite(e.coefficients_hz[0]));
        BOOST_TEST(std::isfinite(e.ambiguity_confidence));
        std::vector<cf32> y(x.size());
        k->give(y.data(), 0, 40);
        k->give(y.data() + 40 * 384, 40, 61);
        BOOST_TEST(std::memcmp(x.data(), y.data(), x.size() * sizeof(cf32)) == 0);
    }
    BOOST_TEST(k->bad_lines() == 4u);
}

// A bad line costs its two pairs and nothing else.
BOOST_AUTO_TEST_CASE(bad_lines_do_not_spread)
{
    scene s;
    s.centroid_hz = -5.5 * 300;
    std::vector<cf32> x = lines_of(s);
    for (const int n : { 0, 300, 301, 1023 })
        x[n * 384 + 3].re = std::numeric_limits<float>::quiet_NaN();
    const centroid_estimate e =
        estimate({ acquisition(fields_of(s)), 1024, 1, {}, 0 }, x);
    BOOST_TEST(std::abs(e.coefficients_hz[0] - s.centroid_hz) <
               3.5 * e.standard_error_hz);
    BOOST_TEST(e.ambiguity_confidence > 0.9);
}

// A frame that was not filled is estimated from the lines there are.
BOOST_AUTO_TEST_CASE(incomplete_frame)
{
    scene s;
    s.centroid_hz = 1000;
    const std::vector<cf32> x = lines_of(s);
    const auto whole = doppler_centroid::make(
        { acquisition(fields_of(s)), 1700, 1, {}, 0 }, choose_target(backend::cpu));
    // what an earlier frame left must not count
    scene before;
    before.centroid_hz = -1550; // the same fraction of the PRF
    before.lines = 1700;
    before.points = 100;
    std::vector<cf32> other = lines_of(before);
    for (cf32& v : other)
        v = 20.0f * v;
    whole->take(other.data(), 0, 1700);
    whole->estimate(1700);
    whole->take(x.data(), 0, 1024);
    const centroid_estimate e = whole->estimate(1024);
    BOOST_TEST(std::abs(e.coefficients_hz[0] - s.centroid_hz) <
               3.5 * e.standard_error_hz);
    BOOST_TEST(e.ambiguity_confidence > 0.9);
    // to the last bit what an estimator says that has seen nothing else
    const auto fresh = doppler_centroid::make(
        { acquisition(fields_of(s)), 1700, 1, {}, 0 }, choose_target(backend::cpu));
    fresh->take(x.data(), 0, 1024);
    const centroid_estimate f = fresh->estimate(1024);
    BOOST_TEST(e.coefficients_hz[0] == f.coefficients_hz[0]);
    BOOST_TEST(e.standard_error_hz == f.standard_error_hz);
    BOOST_TEST(e.look_score == f.look_score);
    BOOST_TEST(e.look_next_score == f.look_next_score);
    BOOST_TEST(e.diversity_hz == f.diversity_hz);
    BOOST_TEST(e.diversity_error_hz == f.diversity_error_hz);
}

// Odd sizes, primes, 1: something finite, never more than is known.
BOOST_DATA_TEST_CASE(any_size,
                     data::make({ 1, 2, 3, 31, 33, 211 }) *
                         data::make({ 1, 2, 3, 37, 211 }),
                     lines,
                     samples)
{
    for (const int order : { 0, 3 }) {
        scene s;
        s.lines = lines;
        s.samples = samples;
        s.points = 3;
        const centroid_estimate e = estimate(s, order);
        for (const double c : e.coefficients_hz)
            BOOST_TEST(std::isfinite(c));
        BOOST_TEST(std::isfinite(e.baseband_hz));
        BOOST_TEST(e.standard_error_hz >= 0);
        BOOST_TEST(e.standard_error_hz <= 300 / std::sqrt(12.0) + 1e-9);
        BOOST_TEST(e.ambiguity_confidence >= 0);
        BOOST_TEST(e.ambiguity_confidence <= 1);
    }
}

BOOST_AUTO_TEST_CASE(zeros)
{
    scene s;
    const centroid_estimate e = estimate({ acquisition(fields_of(s)), 100, 1, {}, 0 },
                                         std::vector<cf32>(100 * 384));
    BOOST_TEST(e.method == "none");
    BOOST_TEST(e.coefficients_hz[0] == 0);
}

BOOST_AUTO_TEST_CASE(wrong_parameters)
{
    const acquisition acq(fields_of(scene()));
    const auto with =
        [&](int lines, int oversampling, std::vector<double> given, int order) {
            return sentence_of([&] {
                doppler_centroid::make({ acq, lines, oversampling, given, order },
                                       choose_target(backend::cpu));
            });
        };
    BOOST_TEST(has(with(0, 1, {}, 0), "lines is 0"));
    BOOST_TEST(has(with(1 << 21, 1, {}, 0), "lines is 2097152"));
    BOOST_TEST(has(with(8, 0, {}, 0), "oversampling is 0"));
    BOOST_TEST(has(with(8, 1, {}, 4), "order is 4"));
    BOOST_TEST(has(with(8, 1, {}, -1), "order is -1"));
    BOOST_TEST(has(with(8, 1, { 1, 2, 3, 4, 5 }, 0), "given has 5"));
    BOOST_TEST(has(with(8, 1, { 1, NAN }, 0), "given has a coefficient nan"));
    BOOST_TEST(with(8, 1, {}, 0) == "no error");
}
