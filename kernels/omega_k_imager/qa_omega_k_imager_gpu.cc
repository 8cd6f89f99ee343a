// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE omega_k_imager_gpu
#include "../cuda/gpu_test.h"
#include "../range_doppler_imager/qa_imager_scene.h"
#include "omega_k_imager.h"
#include <boost/test/data/test_case.hpp>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

//! On the GPU, three times: plans and buffers are used again, and from the second time
//! on the work is enqueued by one call.
std::vector<cf32> form_on_gpu(const omega_k_imager_params& p,
                              const std::vector<cf32>& raw,
                              bool one_pass = true)
{
    const auto s = omega_k_imager::make(p, choose_target(backend::cuda));
    BOOST_TEST(s->one_pass() == one_pass);
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    const int rows = s->plan().frame().rows * p.band.looks;
    device_values<cf32> out(space,
                            static_cast<std::size_t>(rows) * s->plan().frame().cols);
    std::vector<cf32> first;
    for (int time = 0; time < 3; ++time) {
        s->take(in.data(), 0, p.geometry.lines);
        s->form(p.geometry.lines);
        s->give(out.data(), 0, rows);
        s->next(0);
        if (time)
            BOOST_TEST(difference_db(out.host(), first) < -150);
        first = out.host();
    }
    return first;
}

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 397, 1200 }) * data::make({ 1, 211, 800 }) *
                         data::make({ 0.0, -5.5 }) *
                         data::make({ "zero_doppler", "centroid" }),
                     samples,
                     lines,
                     centroid_prf,
                     geometry)
{
    imager_scene scene(samples, lines, centroid_prf, "pulsed");
    omega_k_imager_params p{ { acquisition(scene.fields), 1, lines },
                             {},
                             {},
                             migration_interpolation::exact,
                             {} };
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.band.weighting = window("hamming");
    const std::vector<cf32> raw = scene.noise();
    const auto truth =
        form_image(*omega_k_imager::make(p, choose_target(backend::cpu)), raw, lines);
    // (a line of one sample takes transforms that are none of a block's)
    BOOST_TEST(difference_db(form_on_gpu(p, raw, samples > 1), truth) < -100);
}

// Each length that a block transforms.
BOOST_DATA_TEST_CASE(rows_of_each_length,
                     data::make({ 400,
                                  500,
                                  560,
                                  700,
                                  800,
                                  900,
                                  1050,
                                  1300,
                                  1800,
                                  2000,
                                  2300,
                                  2700,
                                  3900,
                                  4400,
                                  4900,
                                  5900,
                                  8000,
                                  9000 }),
                     samples)
{
    imager_scene scene(samples, 24, 0.4, "pulsed");
    omega_k_imager_params p{ { acquisition(scene.fields), 1, 24 },
                             window("kaiser(2.5)"),
                             {},
                             migration_interpolation::exact,
                             {} };
    const std::vector<cf32> raw = scene.noise();
    const auto truth =
        form_image(*omega_k_imager::make(p, choose_target(backend::cpu)), raw, 24);
    BOOST_TEST(difference_db(form_on_gpu(p, raw), truth) < -100);
}

// Looks, rows outside the band, oversampling, radars in the frequency domain; other
// interpolations take the stages.
BOOST_DATA_TEST_CASE(equals_cpu_with_every_option,
                     data::make({ "zero_doppler", "centroid" }) * data::make({ 1, 3 }) *
                         data::make({ 1, 2 }) * data::make({ "pulsed", "fx" }) *
                         data::make({ "exact", "sinc8" }),
                     geometry,
                     looks,
                     oversampling,
                     kind,
                     interpolator)
{
    imager_scene scene(351, 120, -1.3, kind);
    // samples of the frequency domain leave no room for a band that the mapping widens
    const int times = oversampling + (scene.fields.wave == waveform::frequency_domain);
    omega_k_imager_params p{ { acquisition(scene.fields), times, 120, 150 },
                             window("hamming"),
                             {},
                             migration_interpolation_from_name(interpolator),
                             {} };
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.band.looks = looks;
    p.band.bandwidth_hz = 0.7 * scene.fields.prf_hz;
    const std::vector<cf32> raw = scene.noise();
    const auto truth = form_image(
        *omega_k_imager::make(p, choose_target(backend::cpu)), raw, 120, looks);
    BOOST_TEST(difference_db(
                   form_on_gpu(p, raw, p.interpolator == migration_interpolation::exact),
                   truth) < -100);
}

// A wide beam and a wide band: what the polynomials bend for. With a carrier so low that
// they do not suffice, the stages do it.
BOOST_DATA_TEST_CASE(wide_bands, data::make({ 9.6e9, 1.2e9, 0.35e9 }), carrier_hz)
{
    imager_scene scene(700, 200, 0.0, "pulsed");
    scene.fields.carrier_hz = carrier_hz;
    scene.fields.sample_rate_hz = 500e6;
    scene.fields.chirp_rate_hz_per_s = 400e12; // of 1 us
    // 30 degrees of beam
    scene.fields.prf_hz = 4 * 60 * 0.26 * carrier_hz / speed_of_light;
    omega_k_imager_params p{
        { acquisition(scene.fields), 2, 200 }, {}, {}, migration_interpolation::exact, {}
    };
    const std::vector<cf32> raw = scene.noise();
    const auto truth =
        form_image(*omega_k_imager::make(p, choose_target(backend::cpu)), raw, 200);
    BOOST_TEST(difference_db(form_on_gpu(p, raw, carrier_hz > 5e9), truth) < -100);
}

// Sums of huge values overflow on the way: such rows are zeros, not NaNs in all the
// image.
BOOST_AUTO_TEST_CASE(what_overflows_becomes_zeros)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    omega_k_imager_params p{
        { acquisition(scene.fields), 1, 120 }, {}, {}, migration_interpolation::exact, {}
    };
    std::vector<cf32> raw = scene.noise();
    for (int m = 0; m < 120; ++m)
        for (int n = 100; n < 300; ++n)
            raw[static_cast<std::size_t>(m) * 397 + n] = { 3e36f, 0 };
    for (const cf32& v : form_on_gpu(p, raw))
        BOOST_REQUIRE(is_finite(v));
}
