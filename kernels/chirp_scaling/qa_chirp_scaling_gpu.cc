// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_scaling_gpu
#include "../cuda/gpu_test.h"
#include "../rcmc/qa_rcmc_scene.h"
#include "chirp_scaling.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::rcmc_test;
using gr::sar::gpu_test::device_values;
using gr::sar::kernel::chirp_scaling;
using gr::sar::kernel::chirp_scaling_params;
namespace data = boost::unit_test::data;

namespace {

acquisition_fields squinted(int samples)
{
    acquisition_fields a = airborne(samples);
    a.chirp_rate_hz_per_s = 120e6 / a.pulse_length_s;
    // what the scaling moves the band by grows with the swath and this squared
    a.doppler_centroid_hz = 900 * std::sqrt(std::min(1.0, 400.0 / samples));
    return a;
}

chirp_scaling_params params_for(const acquisition_fields& f, int lines)
{
    return { { acquisition(f), 1, lines, lines }, {} };
}

std::vector<cf32>
on_cpu(chirp_scaling& k, const std::vector<cf32>& in, int first, int rows)
{
    std::vector<cf32> out(in.size() / k.samples() * k.cols());
    k.process(in.data(), out.data(), first, rows);
    return out;
}

std::vector<cf32>
on_gpu(chirp_scaling& k, const std::vector<cf32>& in, int first, int rows)
{
    device_space& space = cuda_device(0);
    device_values<cf32> from(space, in);
    device_values<cf32> to(space, in.size() / k.samples() * k.cols());
    k.process(from.data(), to.data(), first, rows);
    return to.host();
}

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 2, 3 }) *
                         data::make({ 1, 31, 32, 211, 800, 1200, 4099, 8209 }),
                     oversampling,
                     samples)
{
    chirp_scaling_params p = params_for(squinted(samples), 61);
    p.geometry.oversampling = oversampling;
    const auto a = chirp_scaling::make(p, choose_target(backend::cpu));
    const auto b = chirp_scaling::make(p, choose_target(backend::cuda));
    BOOST_TEST(a->fft_length() == b->fft_length());
    for (const int rows : { 1, 27, 91 }) {
        const auto in = noise(static_cast<std::size_t>(rows) * samples, rows);
        const auto truth = to_cd(on_cpu(*a, in, 7, rows));
        for (int twice = 0; twice < 2; ++twice)
            BOOST_TEST(difference_db(to_cd(on_gpu(*b, in, 7, rows)), truth) < -100);
    }
    BOOST_TEST(b->bad_lines() == 0u);
}

BOOST_DATA_TEST_CASE(both_geometries,
                     data::make({ image_geometry::zero_doppler,
                                  image_geometry::centroid }),
                     geometry)
{
    chirp_scaling_params p = params_for(squinted(500), 40);
    p.geometry.geometry = geometry;
    const auto a = chirp_scaling::make(p, choose_target(backend::cpu));
    const auto b = chirp_scaling::make(p, choose_target(backend::cuda));
    const auto in = noise(40 * 500);
    BOOST_TEST(difference_db(to_cd(on_gpu(*b, in, 0, 40)), to_cd(on_cpu(*a, in, 0, 40))) <
               -100);
}

BOOST_AUTO_TEST_CASE(sixteen_bits)
{
    chirp_scaling_params p = params_for(squinted(300), 8);
    p.input = p.output = line_storage::half;
    const auto a = chirp_scaling::make(p, choose_target(backend::cpu));
    const auto b = chirp_scaling::make(p, choose_target(backend::cuda));
    const std::size_t bytes = line_bytes(line_storage::half, 300);
    std::vector<char> in(8 * bytes);
    const auto rows = noise(8 * 300);
    for (int r = 0; r < 8; ++r)
        store_line(line_storage::half, rows.data() + r * 300, 300, in.data() + r * bytes);
    std::vector<char> truth(in.size());
    a->process(in.data(), truth.data(), 0, 8);
    device_space& space = cuda_device(0);
    device_values<char> from(space, in);
    b->process(from.data(), from.data(), 0, 8); // in place
    const std::vector<char> got = from.host();
    std::vector<cf32> x(8 * 300);
    std::vector<cf32> y(8 * 300);
    for (int r = 0; r < 8; ++r) {
        load_line(line_storage::half, got.data() + r * bytes, 300, x.data() + r * 300);
        load_line(line_storage::half, truth.data() + r * bytes, 300, y.data() + r * 300);
    }
    BOOST_TEST(difference_db(to_cd(x), to_cd(y)) < -85);
}

BOOST_AUTO_TEST_CASE(a_bad_row_is_zeroed_and_counted)
{
    const auto b =
        chirp_scaling::make(params_for(squinted(300), 8), choose_target(backend::cuda));
    std::vector<cf32> in = noise(3 * 300);
    in[300 + 17].im = std::numeric_limits<float>::quiet_NaN();
    const auto out = on_gpu(*b, in, 0, 3);
    BOOST_TEST(b->bad_lines() == 1u);
    for (int n = 0; n < 300; ++n) {
        BOOST_REQUIRE(norm(out[300 + n]) == 0);
        BOOST_REQUIRE((is_finite(out[n]) && is_finite(out[600 + n])));
    }
    BOOST_TEST(norm(out[5]) > 0);
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    const auto a =
        chirp_scaling::make(params_for(squinted(300), 64), choose_target(backend::cpu));
    const auto b =
        chirp_scaling::make(params_for(squinted(300), 64), choose_target(backend::cuda));
    const auto in = noise(64 * 300);
    for (const double centroid : { 950.0, 1100.0, -100.0 }) {
        a->set_centroid({ centroid });
        b->set_centroid({ centroid });
        BOOST_TEST(difference_db(to_cd(on_gpu(*b, in, 0, 64)),
                                 to_cd(on_cpu(*a, in, 0, 64))) < -100);
    }
    BOOST_CHECK_THROW(b->set_centroid({ 1e6 }), std::invalid_argument);
}
