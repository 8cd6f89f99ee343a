// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE detect_gpu
#include "../cuda/gpu_test.h"
#include "detect.h"
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <random>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ "magnitude", "power", "db" }) *
                         data::make({ 1, 3, 4 }) * data::make({ 1, 7 }),
                     quantity,
                     row_looks,
                     col_looks)
{
    detect_params p;
    p.cols = 7 * 191;
    p.quantity = detected_quantity_from_name(quantity);
    p.row_looks = row_looks;
    p.col_looks = col_looks;
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<cf32> image(static_cast<std::size_t>(p.cols) * 50);
    for (cf32& x : image)
        x = { normal(random), normal(random) };
    image[5] = { std::nanf(""), 0 };
    image[image.size() - 1].im = INFINITY;
    image[image.size() / 2] = { 0, 0 };

    const auto cpu = detect::make(p, choose_target(backend::cpu));
    const auto gpu = detect::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, image);
    device_values<float> out(space, image.size());
    std::vector<float> truth(image.size());
    // in pieces of 1, 2, ... rows
    std::size_t written = 0;
    for (int r = 0, n = 1; r < 50; r += n, n = std::min(n + 1, 50 - r)) {
        const bool end = r + n == 50;
        const std::size_t at = static_cast<std::size_t>(r) * p.cols;
        const int a = cpu->process(image.data() + at, n, truth.data() + written, end);
        const int b = gpu->process(in.data() + at, n, out.data() + written, end);
        BOOST_REQUIRE_EQUAL(a, b);
        written += static_cast<std::size_t>(a) * cpu->cols_out();
    }
    const auto y = out.host();
    for (std::size_t i = 0; i < written; ++i)
        BOOST_REQUIRE(std::abs(y[i] - truth[i]) <= 1e-6 * std::abs(truth[i]) + 1e-6);
    BOOST_TEST(gpu->bad_pixels() == 2u);
    BOOST_TEST(cpu->bad_pixels() == 2u);
}
