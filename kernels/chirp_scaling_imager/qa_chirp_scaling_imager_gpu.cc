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
    const auto s = chirp_scaling_imager::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    device_values<cf32> out(space, truth.size());
    // one value alone is a sum in which nearly all cancels, of terms rounded apart
    const double limit_db = samples * lines == 1 ? -90 : -100;
    for (int twice = 0; twice < 2; ++twice) { // plans and buffers are used again
        s->take(in.data(), 0, lines);
        s->form(lines);
        s->give(out.data(), 0, s->plan().frame().rows);
        s->next(0);
        BOOST_TEST(difference_db(out.host(), truth) < limit_db);
    }
}
