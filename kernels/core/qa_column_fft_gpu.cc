// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE column_fft_gpu
#include "../cuda/gpu_test.h"

#include "column_fft.h"
#include "qa_tools.h"
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <random>

using namespace gr::sar;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

} // namespace

// odd sizes, primes, and primes that cuFFT once got wrong the second time
BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 2, 211, 1200, 1536, 4096, 4099, 5999, 16001 }) *
                         data::make({ 1, 53, 128 }),
                     rows,
                     cols)
{
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<cf32> frame(static_cast<std::size_t>(rows) * cols);
    for (cf32& v : frame)
        v = { normal(random), normal(random) };
    const int filled = (rows + 1) / 2;
    const auto cpu = column_fft::make(rows, cols, choose_target(backend::cpu));
    const auto gpu = column_fft::make(rows, cols, choose_target(backend::cuda));
    std::vector<cf32> truth = frame;
    cpu->forward(truth.data(), filled);
    std::vector<cf32> back = truth;
    cpu->inverse(back.data());
    for (int twice = 0; twice < 2; ++twice) {
        device_values<cf32> on(cuda_device(0), frame);
        gpu->forward(on.data(), filled);
        BOOST_TEST(difference_db(on.host(), truth) < -115);
        gpu->inverse(on.data());
        BOOST_TEST(difference_db(on.host(), back) < -115);
    }
}
