// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_scaling_imager_gpu
#include "../cuda/gpu_test.h"
#include "../range_doppler_imager/qa_imager_scene.h"
#include "chirp_scaling_imager.h"
#include <boost/test/data/test_case.hpp>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

//! On the GPU, three times: plans and buffers are used again, and from the second time
//! on the work is enqueued by one call.
std::vector<cf32> form_on_gpu(const chirp_scaling_imager_params& p,
                              const std::vector<cf32>& raw,
                              bool one_pass)
{
    const auto s = chirp_scaling_imager::make(p, choose_target(backend::cuda));
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
                         data::make({ 0.0, -2.5 }) *
                         data::make({ "zero_doppler", "centroid" }),
                     samples,
                     lines,
                     centroid_prf,
                     geometry)
{
    imager_scene scene(samples, lines, centroid_prf, "pulsed");
    chirp_scaling_imager_params p{
        { acquisition(scene.fields), 1, lines }, {}, {}, false
    };
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.band.weighting = window("hamming");
    const std::vector<cf32> raw = scene.noise();
    const auto truth = form_image(
        *chirp_scaling_imager::make(p, choose_target(backend::cpu)), raw, lines);
    // one value alone is a sum in which nearly all cancels, of terms rounded apart
    const double limit_db = samples * lines == 1 ? -90 : -100;
    // (a line of one sample takes transforms that are none of a block's)
    BOOST_TEST(difference_db(form_on_gpu(p, raw, samples > 1), truth) < limit_db);
}

// Each length that a block transforms.
BOOST_DATA_TEST_CASE(rows_of_each_length,
                     data::make({ 300,  400,  450,  500,  800,   900,   1050,
                                  1300, 1800, 2000, 2300, 2700,  3900,  4400,
                                  4900, 5900, 8000, 9000, 10000, 12000, 16000 }),
                     samples)
{
    imager_scene scene(samples, 24, 0.4, "pulsed");
    chirp_scaling_imager_params p{
        { acquisition(scene.fields), 1, 24 }, window("kaiser(2.5)"), {}, false
    };
    const std::vector<cf32> raw = scene.noise();
    const auto truth =
        form_image(*chirp_scaling_imager::make(p, choose_target(backend::cpu)), raw, 24);
    BOOST_TEST(difference_db(form_on_gpu(p, raw, true), truth) < -100);
}

// Looks, rows outside the band; oversampling takes the stages.
BOOST_DATA_TEST_CASE(equals_cpu_with_every_option,
                     data::make({ "zero_doppler", "centroid" }) * data::make({ 1, 3 }) *
                         data::make({ 1, 2 }),
                     geometry,
                     looks,
                     oversampling)
{
    imager_scene scene(700, 120, -1.3, "pulsed");
    chirp_scaling_imager_params p{ { acquisition(scene.fields), oversampling, 120, 150 },
                                   window("hamming"),
                                   {},
                                   false };
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.band.looks = looks;
    p.band.bandwidth_hz = 0.7 * scene.fields.prf_hz;
    const std::vector<cf32> raw = scene.noise();
    const auto truth = form_image(
        *chirp_scaling_imager::make(p, choose_target(backend::cpu)), raw, 120, looks);
    BOOST_TEST(difference_db(form_on_gpu(p, raw, oversampling == 1), truth) < -100);
}

// One that varies over the swath takes the stages, as the next one does not.
BOOST_AUTO_TEST_CASE(other_centroids)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    chirp_scaling_imager_params p{ { acquisition(scene.fields), 1, 120 }, {}, {}, false };
    const std::vector<cf32> raw = scene.noise();
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    const auto cpu = chirp_scaling_imager::make(p, choose_target(backend::cpu));
    const auto gpu = chirp_scaling_imager::make(p, choose_target(backend::cuda));
    const double prf = scene.fields.prf_hz;
    for (const std::vector<double>& centroid : std::vector<std::vector<double>>{
             { 0.3 * prf }, { 0.3 * prf, 0.05 }, { -0.2 * prf }, { -2.5 * prf } }) {
        gpu->set_centroid(centroid);
        BOOST_TEST(gpu->one_pass() == (centroid.size() == 1));
        gpu->take(in.data(), 0, 120);
        gpu->form(120);
        const range_doppler_frame& f = gpu->plan().frame();
        device_values<cf32> out(space, static_cast<std::size_t>(f.rows) * f.cols);
        gpu->give(out.data(), 0, f.rows);
        gpu->next(0);
        cpu->set_centroid(centroid);
        const std::vector<cf32> image = form_image(*cpu, raw, 120);
        cpu->next(0);
        BOOST_TEST(difference_db(out.host(), image) < -100);
    }
}

// Sums of huge values overflow on the way: such rows are zeros, not NaNs in all the
// image.
BOOST_AUTO_TEST_CASE(what_overflows_becomes_zeros)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    chirp_scaling_imager_params p{ { acquisition(scene.fields), 1, 120 }, {}, {}, false };
    std::vector<cf32> raw = scene.noise();
    for (int m = 0; m < 120; ++m)
        for (int n = 100; n < 300; ++n)
            raw[static_cast<std::size_t>(m) * 397 + n] = { 3e36f, 0 };
    for (const cf32& v : form_on_gpu(p, raw, true))
        BOOST_REQUIRE(is_finite(v));
}
