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
    // plans and buffers are used again, and from the second time on the work is enqueued
    // by one call
    for (int time = 0; time < 3; ++time) {
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

// Rows take one kernel, and give the image of the stages: with and without transforms for
// the migration, compressed in the kernel (397 samples) or, where compression takes
// longer transforms, before it (420).
BOOST_DATA_TEST_CASE(one_kernel_for_rows_equals_the_stages,
                     data::make({ "exact", "sinc16", "sinc8", "linear" }) *
                         data::make({ true, false }) * data::make({ 397, 420 }) *
                         data::make({ 1, 3 }),
                     interpolator,
                     src,
                     samples,
                     looks)
{
    imager_scene scene(samples, 120, -5.5, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    p.interpolator = migration_interpolation_from_name(interpolator);
    p.src = src;
    p.range_window = window("kaiser(2.5)");
    p.band.looks = looks;
    p.band.bandwidth_hz = 0.7 * scene.fields.prf_hz; // rows outside it are zeros
    const std::vector<cf32> raw = scene.noise();
    const compute_target target = choose_target(backend::cuda);
    BOOST_TEST(range_doppler_imager::make(p, target)->one_pass());
    const auto stages = form_by_stages(p, raw, choose_target(backend::cpu));
    BOOST_TEST(difference_db(form_on_gpu(p, raw), stages) < -100);
}

// Each length that a block transforms, up to rows that are longer than the shared memory
// of one holds twice.
BOOST_DATA_TEST_CASE(rows_of_each_length,
                     data::make({ 900,
                                  1050,
                                  1200,
                                  1400,
                                  1900,
                                  2000,
                                  2300,
                                  2900,
                                  3990,
                                  4400,
                                  5000,
                                  5600,
                                  8000,
                                  9000,
                                  10000,
                                  12000,
                                  15000 }) *
                         data::make({ "exact", "sinc8" }),
                     samples,
                     interpolator)
{
    imager_scene scene(samples, 24, 0.4, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    p.interpolator = migration_interpolation_from_name(interpolator);
    const std::vector<cf32> raw = scene.noise();
    BOOST_TEST(range_doppler_imager::make(p, choose_target(backend::cuda))->one_pass());
    const auto cpu = form_fused(p, raw, choose_target(backend::cpu));
    BOOST_TEST(difference_db(form_on_gpu(p, raw), cpu) < -100);
}

// A pulse of an eighth of the line: what the longest transforms are for.
BOOST_DATA_TEST_CASE(the_longest_rows,
                     data::make({ 16384, 18000 }) * data::make({ "exact", "sinc16" }),
                     samples,
                     interpolator)
{
    imager_scene scene(samples, 12, 0.4, "pulsed");
    scene.fields.pulse_length_s = 20e-6; // 2000 samples
    scene.fields.chirp_rate_hz_per_s = 4e12;
    range_doppler_imager_params p = scene.params(1);
    p.interpolator = migration_interpolation_from_name(interpolator);
    const std::vector<cf32> raw = scene.noise();
    BOOST_TEST(range_doppler_imager::make(p, choose_target(backend::cuda))->one_pass());
    const auto cpu = form_fused(p, raw, choose_target(backend::cpu));
    BOOST_TEST(difference_db(form_on_gpu(p, raw), cpu) < -100);
}

BOOST_AUTO_TEST_CASE(what_one_kernel_does_not_serve)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    const compute_target target = choose_target(backend::cuda);
    for (const auto how :
         { migration_interpolation::nearest, migration_interpolation::fixed }) {
        p.interpolator = how;
        BOOST_TEST(!range_doppler_imager::make(p, target)->one_pass());
        const std::vector<cf32> raw = scene.noise();
        BOOST_TEST(difference_db(form_on_gpu(p, raw),
                                 form_fused(p, raw, choose_target(backend::cpu))) < -60);
    }
}

// A centroid that varies over range takes the stages, one that does not the kernel again;
// one that is far from zero needs longer transforms.
BOOST_AUTO_TEST_CASE(other_centroids)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    const range_doppler_imager_params p = scene.params(1);
    const std::vector<cf32> raw = scene.noise();
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    const auto cpu = range_doppler_imager::make(p, choose_target(backend::cpu));
    const auto gpu = range_doppler_imager::make(p, choose_target(backend::cuda));
    const double prf = scene.fields.prf_hz;
    for (const std::vector<double>& centroid : std::vector<std::vector<double>>{
             { 0.3 * prf }, { 0.3 * prf, 0.05 }, { -0.2 * prf }, { 7.4 * prf } }) {
        gpu->set_centroid(centroid);
        BOOST_TEST(gpu->one_pass() == (centroid.size() == 1));
        gpu->take(in.data(), 0, p.geometry.lines);
        gpu->form(p.geometry.lines);
        const range_doppler_frame& f = gpu->plan().frame();
        device_values<cf32> out(space, static_cast<std::size_t>(f.rows) * f.cols);
        gpu->give(out.data(), 0, f.rows);
        gpu->next(0);
        cpu->set_centroid(centroid);
        const std::vector<cf32> image = form_image(*cpu, raw, p.geometry.lines);
        cpu->next(0);
        BOOST_TEST(difference_db(out.host(), image) < -100);
    }
}

// Sums of huge values overflow on the way: such rows are zeros, not NaNs in all the
// image.
BOOST_AUTO_TEST_CASE(what_overflows_becomes_zeros)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    const range_doppler_imager_params p = scene.params(1);
    std::vector<cf32> raw = scene.noise();
    for (int m = 0; m < p.geometry.lines; ++m)
        for (int n = 100; n < 300; ++n)
            raw[static_cast<std::size_t>(m) * 397 + n] = { 3e36f, 0 };
    for (const cf32& v : form_on_gpu(p, raw))
        BOOST_REQUIRE(is_finite(v));
}

// Frames of other lengths and other centroids in between: what is enqueued by one call is
// what belongs to the frame.
BOOST_AUTO_TEST_CASE(frames_in_turn)
{
    imager_scene scene(397, 120, 0.0, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    const std::vector<cf32> raw = scene.noise();
    const auto gpu = range_doppler_imager::make(p, choose_target(backend::cuda));
    const auto cpu = range_doppler_imager::make(p, choose_target(backend::cpu));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    const range_doppler_frame& f = gpu->plan().frame();
    device_values<cf32> out(space, static_cast<std::size_t>(f.rows) * f.cols);
    std::vector<cf32> image(out.host().size());
    const double other = 0.3 * scene.fields.prf_hz;
    const std::pair<int, double> frames[] = {
        { 120, 0 },     { 120, 0 },     { 120, 0 },    { 77, 0 },
        { 77, 0 },      { 120, 0 },     { 120, 0 },    { 120, other },
        { 120, other }, { 120, other }, { 77, other }, { 120, 0 }
    };
    for (const auto& [lines, centroid] : frames) {
        for (frame_imager* s : { gpu.get(), cpu.get() }) {
            s->set_centroid({ centroid });
            s->take(s == gpu.get() ? in.data() : raw.data(), 0, lines);
            s->form(lines);
            s->give(s == gpu.get() ? out.data() : image.data(), 0, f.rows);
            s->next(0);
        }
        BOOST_TEST(difference_db(out.host(), image) < -100);
    }
}
