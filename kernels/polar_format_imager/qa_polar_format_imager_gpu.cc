// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE polar_format_imager_gpu
#include "../cuda/gpu_test.h"
#include "qa_polar_scene.h"
#include <boost/test/data/test_case.hpp>
#include <limits>

using namespace polar_test;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

std::vector<cf32> on_gpu(polar_format_imager& imager,
                         const aperture& a,
                         device_values<cf32>& raw,
                         device_values<cf32>& out)
{
    const image_grid& g = imager.params().grid;
    imager.reset();
    imager.add(raw.data(), a.tx.data(), a.rx.empty() ? nullptr : a.rx.data(), a.pulses());
    for (int row = 0; row < g->rows; row += 100) // in parts
        imager.write_rows(out.data() + static_cast<std::size_t>(row) * g->cols,
                          row,
                          std::min(100, g->rows - row));
    return out.host();
}

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 127, 424, 1200 }) * data::make({ 1, 211, 800 }) *
                         data::make({ 0.0, 30.0 }),
                     samples,
                     pulses,
                     squint_deg)
{
    spotlight_options o;
    o.samples = samples;
    o.pulses = pulses;
    o.squint_deg = squint_deg;
    o.bandwidth_hz = samples * 1.5e6;
    const aperture a = spotlight(o);
    const double extent = std::min(45.0, pulses * o.resolution_m * 0.4);
    for (const auto& [rows, cols] :
         { std::pair<int, int>{ 1, 1 }, { 203, 101 }, { 1, 331 }, { 120, 80 } }) {
        const image_grid g = image_grid::centred({ 1, -2, 0 },
                                                 { 0, -1, 0 },
                                                 { 1, 0, 0 },
                                                 extent / 203,
                                                 extent / 331,
                                                 rows,
                                                 cols);
        std::mt19937 random(rows + cols);
        std::normal_distribution<float> noise;
        std::vector<cf32> raw(static_cast<std::size_t>(samples) * pulses);
        for (cf32& v : raw)
            v = { noise(random), noise(random) };
        polar_format_imager_params p = params_of(a, g);
        p.azimuth_window = window("hamming");
        p.range_window = window("taylor(4, 35)");
        const std::vector<cf32> truth =
            form(*polar_format_imager::make(p, choose_target(backend::cpu)), a, raw);
        const auto imager = polar_format_imager::make(p, choose_target(backend::cuda));
        device_space& space = cuda_device(0);
        device_values<cf32> in(space, raw);
        device_values<cf32> out(space, truth.size());
        const std::vector<cf32> once = on_gpu(*imager, a, in, out);
        BOOST_TEST(difference_db(once, truth) < -100);
        // plans and buffers are used again, and the sum has one order
        BOOST_TEST(difference_db(on_gpu(*imager, a, in, out), once) == -300);
    }
}

// CASES: large prime factors. One object forms apertures of several sizes.
BOOST_DATA_TEST_CASE(odd_lengths, data::make({ 5999, 4099, 16001 }), samples)
{
    spotlight_options o;
    o.samples = samples;
    o.pulses = 12;
    o.resolution_m = 3;
    aperture a = spotlight(o);
    a.targets = { { { 0, 0, 0 } }, { { 0.5, -1, 0 }, { 0, 0.5 } } };
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, 0.3, 0.3, 17, 13);
    const std::vector<cf32> raw = raw_lines(a);
    const polar_format_imager_params p = params_of(a, g);
    const auto cpu = polar_format_imager::make(p, choose_target(backend::cpu));
    const auto gpu = polar_format_imager::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    device_values<cf32> out(space, 17 * 13);
    for (const int pulses : { 12, 5, 12 }) {
        aperture part = a;
        part.tx.resize(pulses);
        cpu->reset();
        const std::vector<cf32> truth = form(*cpu, part, raw);
        BOOST_TEST(difference_db(on_gpu(*gpu, part, in, out), truth) < -100);
    }
}

BOOST_AUTO_TEST_CASE(bad_values)
{
    aperture a = spotlight();
    a.targets = { { { 1, 2, 0 } } };
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, 0.3, 0.3, 33, 33);
    std::vector<cf32> raw = raw_lines(a);
    raw[50 * a.fields.samples + 9].im = std::numeric_limits<float>::infinity();
    raw[51 * a.fields.samples].re = std::numeric_limits<float>::quiet_NaN();
    a.tx[60].x = std::numeric_limits<double>::quiet_NaN();
    a.tx[61].z = std::numeric_limits<double>::infinity();
    const polar_format_imager_params p = params_of(a, g);
    const auto cpu = polar_format_imager::make(p, choose_target(backend::cpu));
    const std::vector<cf32> truth = form(*cpu, a, raw);
    const auto gpu = polar_format_imager::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    device_values<cf32> out(space, truth.size());
    BOOST_TEST(difference_db(on_gpu(*gpu, a, in, out), truth) < -100);
    BOOST_TEST(gpu->report().bad_lines == 2u);
    BOOST_TEST(gpu->report().skipped_pulses == 2u);
    gpu->reset();
    gpu->write_rows(out.data(), 0, 33);
    for (const cf32& v : out.host())
        BOOST_REQUIRE(norm(v) == 0);
}
