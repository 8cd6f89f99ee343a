// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE doppler_centroid_gpu
#include "../cuda/gpu_test.h"
#include "doppler_centroid.h"
#include "qa_centroid_scene.h"
#include <boost/test/data/test_case.hpp>
#include <cstring>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::centroid_test;
using gr::sar::gpu_test::device_values;
using gr::sar::kernel::centroid_estimate;
using gr::sar::kernel::doppler_centroid;
using gr::sar::kernel::doppler_centroid_params;
namespace data = boost::unit_test::data;

namespace {

//! The same frame on both, twice; lines come back as they went in.
void compare(const doppler_centroid_params& p, const std::vector<cf32>& x)
{
    const auto cpu = doppler_centroid::make(p, choose_target(backend::cpu));
    const auto gpu = doppler_centroid::make(p, choose_target(backend::cuda));
    const int samples = cpu->samples();
    const int lines = static_cast<int>(x.size() / samples);
    const int half = lines / 2;
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, x);
    cpu->take(x.data(), 0, lines);
    const centroid_estimate a = cpu->estimate(lines);
    for (int twice = 0; twice < 2; ++twice) {
        gpu->take(in.data(), 0, half);
        gpu->take(
            in.data() + static_cast<std::size_t>(half) * samples, half, lines - half);
        const centroid_estimate b = gpu->estimate(lines);
        BOOST_TEST(a.method == b.method);
        BOOST_TEST(std::abs(a.baseband_hz - b.baseband_hz) < 1e-3);
        BOOST_TEST(std::abs(a.standard_error_hz - b.standard_error_hz) < 1e-3);
        BOOST_TEST(std::abs(a.coherence - b.coherence) < 1e-6);
        BOOST_TEST(a.ambiguity == b.ambiguity);
        BOOST_TEST(std::abs(a.ambiguity_confidence - b.ambiguity_confidence) < 1e-2);
        BOOST_TEST(a.look_passes == b.look_passes);
        BOOST_TEST(std::abs(a.look_score - b.look_score) <
                   1e-3 * (1 + std::abs(a.look_score)));
        BOOST_TEST(std::abs(a.look_next_score - b.look_next_score) <
                   1e-3 * (1 + std::abs(a.look_score)));
        if (std::isfinite(a.diversity_error_hz)) {
            BOOST_TEST(std::abs(a.diversity_hz - b.diversity_hz) <=
                       1e-2 * a.diversity_error_hz);
            BOOST_TEST(std::abs(a.diversity_error_hz - b.diversity_error_hz) <=
                       1e-2 * a.diversity_error_hz);
        } else {
            BOOST_TEST(!std::isfinite(b.diversity_error_hz));
        }
        BOOST_REQUIRE_EQUAL(a.coefficients_hz.size(), b.coefficients_hz.size());
        for (std::size_t i = 0; i < a.coefficients_hz.size(); ++i)
            BOOST_TEST(std::abs(a.coefficients_hz[i] - b.coefficients_hz[i]) <
                       1e-3 + 1e-4 * std::abs(a.coefficients_hz[i]));
        device_values<cf32> out(space, x.size());
        gpu->give(out.data(), 0, half);
        gpu->give(
            out.data() + static_cast<std::size_t>(half) * samples, half, lines - half);
        const std::vector<cf32> y = out.host();
        BOOST_TEST(std::memcmp(x.data(), y.data(), x.size() * sizeof(cf32)) == 0);
    }
    BOOST_TEST(gpu->bad_lines() == 2 * cpu->bad_lines());
}

} // namespace

BOOST_DATA_TEST_CASE(points_equal_cpu,
                     data::make({ 0.0, -5.5, 3.3 }) * data::make({ 1, 2 }),
                     prfs,
                     oversampling)
{
    scene s;
    s.centroid_hz = prfs * 300;
    s.oversampling = oversampling;
    compare({ acquisition(fields_of(s)), s.lines, oversampling, {}, 1 }, lines_of(s));
}

// Noise that is correlated over lines: a signal, with nothing in it for looks, so that
// every candidate is tried.
BOOST_DATA_TEST_CASE(any_size_equals_cpu,
                     data::make({ 1, 2, 3, 31, 33, 211, 1201 }) *
                         data::make({ 1, 2, 3, 37, 211, 1300 }),
                     lines,
                     samples)
{
    scene s;
    s.lines = lines;
    s.samples = samples;
    s.points = 3;
    compare({ acquisition(fields_of(s)), lines, 1, {}, 0 }, lines_of(s));
}

BOOST_AUTO_TEST_CASE(bad_lines_equal_cpu)
{
    scene s;
    s.centroid_hz = -1650;
    std::vector<cf32> x = lines_of(s);
    for (const int n : { 0, 300, 301, 1023 })
        x[n * 384 + 383].im = std::numeric_limits<float>::quiet_NaN();
    compare({ acquisition(fields_of(s)), s.lines, 1, {}, 0 }, x);
}

BOOST_AUTO_TEST_CASE(incomplete_frame_equals_cpu)
{
    scene s;
    s.centroid_hz = 1000;
    compare({ acquisition(fields_of(s)), 1700, 1, {}, 0 }, lines_of(s));
}

BOOST_AUTO_TEST_CASE(given_equals_cpu)
{
    scene s;
    s.lines = 65;
    compare({ acquisition(fields_of(s)), 65, 1, { -6900, 0.25 }, 0 }, lines_of(s));
}
