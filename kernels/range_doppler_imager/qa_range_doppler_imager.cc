// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE range_doppler_imager
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "qa_imager_scene.h"
#include <cmath>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {
const compute_target cpu = choose_target(backend::cpu);
}

// the fused imager and the stages one after another: the same functions, so the same
// image
BOOST_DATA_TEST_CASE(equals_the_stages,
                     (data::make({ 0.0, 0.4, -5.5 }) ^
                      data::make({ "pulsed", "pulsed", "fx" })) *
                         data::make({ 1, 2 }),
                     centroid_prf,
                     kind,
                     oversampling)
{
    for (const int samples : { 397, 640 }) {
        imager_scene scene(samples, 211, centroid_prf, kind);
        range_doppler_imager_params p = scene.params(oversampling);
        p.interpolator = oversampling == 1 ? migration_interpolation::exact
                                           : migration_interpolation::sinc8;
        p.range_window = window("kaiser(2.5)");
        p.band.weighting = window("hamming");
        const std::vector<cf32> raw = scene.noise();
        const std::vector<cf32> fused = form_fused(p, raw, cpu);
        const std::vector<cf32> chain = form_by_stages(p, raw, cpu);
        BOOST_TEST(difference_db(fused, chain) < -110);
    }
}

BOOST_AUTO_TEST_CASE(conjugated_lines_are_compressed_first)
{
    imager_scene scene(256, 96, 0.3, "fx");
    scene.fields.phase_sign = +1;
    const range_doppler_imager_params p = scene.params(1);
    const std::vector<cf32> raw = scene.noise();
    BOOST_TEST(difference_db(form_fused(p, raw, cpu), form_by_stages(p, raw, cpu)) <
               -110);
}

BOOST_DATA_TEST_CASE(a_point_has_peak_one_at_its_place,
                     data::make({ 0.0, 0.4, -5.5 }) *
                         data::make({ "zero_doppler", "centroid" }),
                     centroid_prf,
                     geometry)
{
    imager_scene scene(800, 1201, centroid_prf, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    p.geometry.geometry = image_geometry_from_name(geometry);
    // seen by a beam of 0.95 PRF of which 0.7 are processed, in the middle of the frame
    // and of the swath
    p.band.bandwidth_hz = 0.7 * scene.fields.prf_hz;
    const range_doppler_plan plan(p.geometry);
    const range_doppler_frame& f = plan.frame();
    int whole_first = 0;
    int whole = 0;
    plan.complete(whole_first, whole);
    const int col = whole_first + whole / 2; // where SRC is exact
    const double closest = plan.columns()[col].closest_m;
    const int line = 600;
    const double passed =
        line / f.prf_hz - plan.columns()[col].beam_delay_s; // closest approach, s
    const std::vector<cf32> raw =
        scene.point(closest, passed, 0.95 * scene.fields.prf_hz);
    const std::vector<cf32> image = form_fused(p, raw, cpu);
    const double at_line =
        p.geometry.geometry == image_geometry::centroid ? line : passed * f.prf_hz;
    const int row = static_cast<int>(std::lrint(at_line)) - f.first_row;
    BOOST_REQUIRE(row >= 0 && row < f.rows);
    // the brightest pixel is the one next to it
    std::size_t brightest = 0;
    for (std::size_t i = 0; i < image.size(); ++i)
        if (norm(image[i]) > norm(image[brightest]))
            brightest = i;
    BOOST_TEST(static_cast<int>(brightest / f.cols) == row);
    BOOST_TEST(static_cast<int>(brightest % f.cols) == col);
    if (p.geometry.geometry ==
        image_geometry::centroid) { // on the pixel itself; the edges of the pulse are not
                                    // band-limited, 1 %
        const cf32 v = image[static_cast<std::size_t>(row) * f.cols + col];
        BOOST_TEST(std::sqrt(norm(v)) == 1.0, boost::test_tools::tolerance(0.015));
        BOOST_TEST(std::abs(std::atan2(v.im, v.re)) < 0.01);
    }
}

BOOST_AUTO_TEST_CASE(frames_that_overlap)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    range_doppler_imager_params p = scene.params(1);
    std::vector<cf32> raw = scene.noise(260);
    const std::size_t line = 256;
    p.overlap = true;
    const auto s = range_doppler_imager::make(p, cpu);
    s->take(raw.data(), 0, 200);
    s->form(200);
    s->next(140); // lines 60 ..
    s->take(raw.data() + 200 * line, 140, 60);
    s->form(200);
    std::vector<cf32> second(static_cast<std::size_t>(s->plan().frame().rows) * line);
    s->give(second.data(), 0, s->plan().frame().rows);
    p.overlap = false;
    const std::vector<cf32> alone = form_fused(
        p, std::vector<cf32>(raw.begin() + 60 * line, raw.begin() + 260 * line), cpu);
    BOOST_TEST(difference_db(second, alone) < -130);
}

BOOST_AUTO_TEST_CASE(an_incomplete_frame_is_one_with_zeros)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    const range_doppler_imager_params p = scene.params(1);
    std::vector<cf32> raw = scene.noise();
    std::fill(raw.begin() + 150 * 256, raw.end(), cf32{ 0, 0 });
    const std::vector<cf32> zeros = form_fused(p, raw, cpu);
    const auto s = range_doppler_imager::make(p, cpu);
    std::vector<cf32> other(200 * 256, cf32{ 5, 5 }); // leaves something behind
    s->take(other.data(), 0, 200);
    s->form(200);
    s->next(0);
    s->take(raw.data(), 0, 150);
    s->form(150);
    std::vector<cf32> image(zeros.size());
    s->give(image.data(), 0, s->plan().frame().rows);
    BOOST_TEST(difference_db(image, zeros) < -130);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_not_finite_is_zeros_and_counted)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    const range_doppler_imager_params p = scene.params(1);
    std::vector<cf32> raw = scene.noise();
    std::vector<cf32> zeroed = raw;
    std::fill(zeroed.begin() + 30 * 256, zeroed.begin() + 31 * 256, cf32{ 0, 0 });
    raw[30 * 256 + 5].im = std::nanf("");
    const auto s = range_doppler_imager::make(p, cpu);
    s->take(raw.data(), 0, 200);
    s->form(200);
    std::vector<cf32> image(static_cast<std::size_t>(s->plan().frame().rows) * 256);
    s->give(image.data(), 0, s->plan().frame().rows);
    BOOST_TEST(difference_db(image, form_fused(p, zeroed, cpu)) < -130);
    BOOST_TEST(s->bad_lines() == 1u);
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    const std::vector<cf32> raw = scene.noise();
    const auto s = range_doppler_imager::make(scene.params(1), cpu);
    s->set_centroid({ 0.4 * scene.fields.prf_hz });
    s->take(raw.data(), 0, 200);
    s->form(200);
    std::vector<cf32> image(static_cast<std::size_t>(s->plan().frame().rows) * 256);
    s->give(image.data(), 0, s->plan().frame().rows);
    imager_scene given(256, 200, 0.4, "pulsed");
    BOOST_TEST(difference_db(image, form_fused(given.params(1), raw, cpu)) < -130);
    BOOST_CHECK_THROW(s->set_centroid({ 1e9 }), std::invalid_argument);
}
