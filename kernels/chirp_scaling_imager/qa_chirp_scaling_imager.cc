// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_scaling_imager
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../range_doppler_imager/qa_imager_scene.h"
#include "chirp_scaling_imager.h"
#include <cmath>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {
const compute_target cpu = choose_target(backend::cpu);
}

// Azimuth transform of raw lines, chirp scaling, azimuth filter: the same functions, one
// after another.
BOOST_DATA_TEST_CASE(equals_the_stages,
                     data::make({ 0.0, 0.4, -2.5 }) * data::make({ 1, 2 }),
                     centroid_prf,
                     oversampling)
{
    for (const int samples : { 397, 640 }) {
        imager_scene scene(samples, 211, centroid_prf, "pulsed");
        chirp_scaling_imager_params p{ { acquisition(scene.fields), oversampling, 211 },
                                       window("kaiser(2.5)"),
                                       { window("hamming") },
                                       false };
        const std::vector<cf32> raw = scene.noise();
        const auto filter = azimuth_filter::make({ p.geometry, p.band }, cpu);
        const range_doppler_frame& f = filter->plan().frame();
        const auto fft = azimuth_fft::make({ 211, f.rows, samples }, cpu);
        fft->take(raw.data(), 0, 211);
        fft->transform(211);
        std::vector<cf32> rows(static_cast<std::size_t>(f.rows) * samples);
        fft->give(rows.data(), 0, f.rows);
        std::vector<cf32> straight(static_cast<std::size_t>(f.rows) * f.cols);
        chirp_scaling::make({ p.geometry, p.range_window }, cpu)
            ->process(rows.data(), straight.data(), 0, f.rows);
        filter->take(straight.data(), 0, f.rows);
        filter->transform();
        std::vector<cf32> chain(straight.size());
        filter->give(chain.data(), 0, f.rows);
        BOOST_TEST(
            difference_db(form_image(*chirp_scaling_imager::make(p, cpu), raw, 211),
                          chain) < -110);
    }
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    imager_scene scene(256, 200, 0.0, "pulsed");
    imager_scene given(256, 200, 0.4, "pulsed");
    const std::vector<cf32> raw = scene.noise();
    const auto s = chirp_scaling_imager::make(
        { { acquisition(scene.fields), 1, 200 }, {}, {}, false }, cpu);
    s->set_centroid({ 0.4 * scene.fields.prf_hz });
    const auto other = chirp_scaling_imager::make(
        { { acquisition(given.fields), 1, 200 }, {}, {}, false }, cpu);
    BOOST_TEST(difference_db(form_image(*s, raw, 200), form_image(*other, raw, 200)) <
               -110);
    BOOST_CHECK_THROW(s->set_centroid({ 1e9 }), std::invalid_argument);
}
