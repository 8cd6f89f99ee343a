// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE omega_k_imager
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../range_doppler_imager/qa_imager_scene.h"
#include "omega_k_imager.h"
#include "stolt_polynomials.h"
#include <cmath>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

omega_k_imager_params params_of(const imager_scene& scene, int oversampling = 1)
{
    return { { acquisition(scene.fields), oversampling, scene.lines },
             {},
             {},
             migration_interpolation::exact,
             {} };
}

std::vector<cf32> form(const omega_k_imager_params& p, const std::vector<cf32>& raw)
{
    return form_image(*omega_k_imager::make(p, cpu), raw, p.geometry.lines, p.band.looks);
}

} // namespace

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
        omega_k_imager_params p = params_of(scene, oversampling);
        if (oversampling == 1 && kind == std::string("fx")) {
            // the whole band is occupied, and the mapping widens it
            BOOST_CHECK_THROW(omega_k_imager::make(p, cpu), std::invalid_argument);
            continue;
        }
        p.range_window = window("kaiser(2.5)");
        p.band.weighting = window("hamming");
        const std::vector<cf32> raw = scene.noise();
        const auto migration = stolt::make({ p.geometry, p.interpolator }, cpu);
        const std::vector<cf32> chain = form_by_stages(
            { p.geometry, p.range_window, p.replica, p.band }, *migration, raw, cpu);
        BOOST_TEST(difference_db(form(p, raw), chain) < -110);
    }
}

BOOST_DATA_TEST_CASE(equals_range_doppler_where_that_holds,
                     data::make({ 0.0, 0.4 }),
                     centroid_prf)
{
    // 80 MHz, 3 km, the middle of the swath: SRC of one range is enough
    imager_scene scene(800, 1201, centroid_prf, "pulsed");
    omega_k_imager_params p = params_of(scene);
    p.band.bandwidth_hz = 0.7 * scene.fields.prf_hz;
    range_doppler_imager_params q = scene.params(1);
    q.band = p.band;
    const range_doppler_plan plan(p.geometry);
    const doppler_column c = plan.columns()[plan.frame().cols / 2];
    const std::vector<cf32> raw = scene.point(c.closest_m,
                                              600 / scene.fields.prf_hz - c.beam_delay_s,
                                              0.95 * scene.fields.prf_hz);
    BOOST_TEST(difference_db(form(p, raw), form_fused(q, raw, cpu)) < -50);
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    const std::vector<cf32> raw = scene.noise();
    const auto s = omega_k_imager::make(params_of(scene), cpu);
    s->set_centroid({ 0.4 * scene.fields.prf_hz });
    imager_scene given(256, 200, 0.4, "pulsed");
    BOOST_TEST(difference_db(form_image(*s, raw, 200), form(params_of(given), raw)) <
               -110);
    BOOST_CHECK_THROW(s->set_centroid({ 1e9 }), std::invalid_argument);
}

// What a GPU takes in place of square roots: good enough wherever they say so, which is
// for 0.25 m at X band from a beam of 15 degrees, and not where they bend more.
BOOST_DATA_TEST_CASE(polynomials_are_the_functions,
                     data::make({ 0.0, 0.2, -0.2 }) * data::make({ 9.6e9, 2e9 }) *
                         data::make({ 150e6, 960e6 }),
                     sine_of_squint,
                     carrier_hz,
                     sampling_hz)
{
    imager_scene scene(800, 300, 0.0, "pulsed");
    scene.fields.carrier_hz = carrier_hz;
    scene.fields.sample_rate_hz = sampling_hz;
    scene.fields.chirp_rate_hz_per_s = 0.7 * sampling_hz / 1e-6;
    scene.fields.prf_hz = 4 * 60 * 0.13 * carrier_hz / speed_of_light;
    scene.fields.doppler_centroid_hz =
        2 * 60 * sine_of_squint * carrier_hz / speed_of_light;
    const auto s = stolt::make({ { acquisition(scene.fields), 1, 300 } }, cpu);
    const stolt_map::shape& shape = s->shape();
    const range_doppler_frame& f = s->plan().frame();
    const bool serve = stolt_map::polynomials_serve(f, shape);
    BOOST_TEST(serve == (carrier_hz > 9e9 || sampling_hz < 5e8));
    double phase = 0;
    double place = 0;
    double weight = 0;
    for (int k = 0; k < f.rows; k += 5) {
        const stolt_map::row r = stolt_map::row_of(f, k);
        if (!stolt_map::all_propagate(shape, r))
            continue;
        const stolt_map::row_polynomials p = stolt_map::polynomials_of(shape, r);
        for (int i = -shape.length; i < shape.length; i += 13)
            phase = std::max(
                phase,
                std::abs(stolt_map::polynomial(p.reference, 1.0 * i / shape.length) -
                         stolt_map::reference_cycles(shape, r, i)));
        for (int i = -shape.length / 2; i < shape.length / 2; i += 7) {
            const double x = 2.0 * i / shape.length;
            place = std::max(place,
                             std::abs(stolt_map::position_by(p, x) -
                                      stolt_map::position(shape, r, i)));
            const float w = stolt_map::weight(shape, r, i);
            weight = std::max<double>(
                weight,
                std::abs(stolt_map::polynomial(p.weight, static_cast<float>(x)) / w - 1));
        }
    }
    const double slack = 1.2; // between the points that polynomials_serve() looks at
    BOOST_TEST(serve == (phase < slack * stolt_map::largest_phase_error &&
                         place < slack * stolt_map::largest_position_error &&
                         weight < slack * stolt_map::largest_weight_error));
    BOOST_TEST_MESSAGE(phase << " cycles, " << place << " bins, " << weight);
}
