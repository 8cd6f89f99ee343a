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

//! Forward and back on both, twice, in a frame whose rows are pitch values apart.
void compare(int rows, int cols, int pitch, int filled)
{
    BOOST_TEST_CONTEXT(rows << " rows, " << cols << " columns, pitch " << pitch
                            << ", filled " << filled)
    {
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        std::vector<cf32> frame(static_cast<std::size_t>(rows) * pitch);
        for (cf32& v : frame)
            v = { normal(random), normal(random) };
        const auto cpu = column_fft::make(rows, cols, choose_target(backend::cpu), pitch);
        const auto gpu =
            column_fft::make(rows, cols, choose_target(backend::cuda), pitch);
        std::vector<cf32> truth = frame;
        cpu->forward(truth.data(), filled);
        std::vector<cf32> back = truth;
        cpu->inverse(back.data());
        // what lies beside the columns stays as it is on both
        const auto beside = [&](const std::vector<cf32>& v) {
            std::size_t changed = 0;
            for (std::size_t i = 0; i < v.size(); ++i)
                changed += static_cast<int>(i % pitch) >= cols &&
                           (v[i].re != frame[i].re || v[i].im != frame[i].im);
            return changed;
        };
        BOOST_TEST(beside(back) == 0);
        for (int twice = 0; twice < 2; ++twice) {
            device_values<cf32> on(cuda_device(0), frame);
            gpu->forward(on.data(), filled);
            BOOST_TEST(difference_db(on.host(), truth) < -115);
            gpu->inverse(on.data());
            const std::vector<cf32> got = on.host();
            BOOST_TEST(difference_db(got, back) < -115);
            BOOST_TEST(beside(got) == 0);
        }
    }
}

} // namespace

// odd sizes, primes, and primes that cuFFT once got wrong the second time
BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ 1, 2, 211, 1200, 4099, 5999, 16001 }) *
                         data::make({ 1, 53, 128 }),
                     rows,
                     cols)
{
    compare(rows, cols, cols, (rows + 1) / 2);
}

// each length that has a kernel, in frames of no whole number of tiles
BOOST_DATA_TEST_CASE(kernels_equal_cpu,
                     data::make({ 256,  288,  320,  384,  512,   576,   640,   768,  1024,
                                  1152, 1280, 1536, 2048, 2304,  2560,  3072,  4096, 4608,
                                  5120, 6144, 8192, 9216, 10240, 12288, 16384, 32768 }),
                     rows)
{
    compare(rows, 53, 53, rows);
    compare(rows, 17, 19, rows - rows / 3 - 1);
}

BOOST_DATA_TEST_CASE(widths_and_fillings,
                     data::make({ 1, 4, 15, 16, 800, 1201 }) * data::make({ 512, 4096 }),
                     cols,
                     rows)
{
    compare(rows, cols, cols + 5, 1);
    compare(rows, cols, cols, rows / 2);
    compare(rows, cols, cols + 1, rows);
}
