// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE range_doppler_imager_gpu
#include "../cuda/gpu_test.h"
#include "qa_imager_scene.h"
#include <boost/test/data/test_case.hpp>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

std::vector<cf32> form_on_gpu(const range_doppler_imager_params& p,
                              const std::vector<cf32>& raw)
{
    const auto s = range_doppler_imager::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    const int lines = p.geometry.lines;
    const range_doppler_frame& f = s->plan().frame();
    const int rows = f.rows * p.band.looks;
    device_values<cf32> out(space, static_cast<std::size_t>(rows) * f.cols);
    for (int twice = 0; twice < 2; ++twice) { // plans and buffers are used again
        for (int m = 0, n = 1; m < lines; m += n, n = std::min(2 * n, lines - m))
            s->take(
                in.data() + static_cast<std::size_t>(m) * p.geometry.acq->samples, m, n);
        s->form(lines);
        s->give(out.data(), 0, rows / 3);
        s->give(out.data() + static_cast<std::size_t>(rows / 3) * f.cols,
                rows / 3,
                rows - rows / 3);
        s->next(0);
    }
    return out.host();
}

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 397, 1200 }) * data::make({ 1, 211, 800 }) *
                         data::make({ 0.0, -5.5 }),
                     samples,
                     lines,
                     centroid_prf)
{
    imager_scene scene(samples, lines, centroid_prf, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    p.band.weighting = window("hamming");
    const std::vector<cf32> raw = scene.noise();
    const auto cpu = form_fused(p, raw, choose_target(backend::cpu));
    BOOST_TEST(difference_db(form_on_gpu(p, raw), cpu) < -100);
}

BOOST_DATA_TEST_CASE(equals_cpu_with_every_option,
                     data::make({ "fx", "pulsed" }) *
                         data::make({ "zero_doppler", "centroid" }) *
                         data::make({ 1, 3 }) * data::make({ false, true }),
                     kind,
                     geometry,
                     looks,
                     sloped)
{
    imager_scene scene(300, 251, 0.4, kind);
    if (sloped) {
        scene.fields.doppler_centroid_slopes = { 0.05 };
        scene.fields.effective_velocity_slopes = { 1e-3 };
    }
    range_doppler_imager_params p = scene.params(2);
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.geometry.fft_length = 360;
    p.band.looks = looks;
    p.band.bandwidth_hz = 0.8 * scene.fields.prf_hz;
    p.interpolator = migration_interpolation::sinc8;
    const std::vector<cf32> raw = scene.noise();
    const auto cpu = form_fused(p, raw, choose_target(backend::cpu));
    BOOST_TEST(difference_db(form_on_gpu(p, raw), cpu) < -100);
}
