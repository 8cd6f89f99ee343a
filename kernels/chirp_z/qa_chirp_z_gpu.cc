// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_z_gpu
#include "../cuda/gpu_test.h"

#include "../core/qa_tools.h"
#include "chirp_z.h"
#include "qa_chirp_z_sum.h"
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

//! Lines through both backends, twice through one object, in calls of several sizes.
void compare(const chirp_z_params& p, int lines)
{
    auto x = noise(static_cast<std::size_t>(lines) * p.samples_in);
    if (lines > 3) {
        x[p.samples_in].re = std::numeric_limits<float>::quiet_NaN();
        x[static_cast<std::size_t>(p.samples_in) * 4 - 1].im =
            std::numeric_limits<float>::infinity();
    }
    const auto cpu = chirp_z::make(p, choose_target(backend::cpu));
    const auto gpu = chirp_z::make(p, choose_target(backend::cuda));
    device_space& space = cuda_device(0);
    std::vector<cf32> truth(static_cast<std::size_t>(lines) * p.samples_out);
    cpu->process(x.data(), truth.data(), lines);
    device_values<cf32> in(space, x);
    for (const int call : { lines, 2 }) {
        device_values<cf32> out(space, std::vector<cf32>(truth.size() + 1, { 7, 7 }));
        for (int i = 0; i < lines; i += call)
            gpu->process(in.data() + static_cast<std::size_t>(i) * p.samples_in,
                         out.data() + static_cast<std::size_t>(i) * p.samples_out,
                         std::min(call, lines - i));
        auto y = out.host();
        BOOST_TEST((y.back().re == 7 && y.back().im == 7)); // nothing beyond the last
        y.pop_back();
        BOOST_TEST(difference_db(y, truth) < -120);
    }
    BOOST_TEST(gpu->bad_lines() == 2 * cpu->bad_lines());
}

} // namespace

// Every length of a block's transform, results in one part and in several, and lengths
// that go to cuFFT.
BOOST_DATA_TEST_CASE(
    equals_cpu,
    (data::make({ 1,    1,    9,    128,  150,  200,  300,   400,   500,   600,
                  700,  800,  1200, 1000, 1300, 1600, 2000,  2500,  3000,  4099,
                  5000, 6000, 7919, 8192, 3,    9000, 10007, 12288, 16001, 20011,
                  140,  180,  270,  350,  512,  1100, 1400,  2200,  4000,  14600 }) ^
     data::make({ 1,    7,    1,    129,  151,  220,  333,   444,   511,   611,
                  813,  1200, 800,  1001, 1200, 1500, 2049,  2555,  3073,  4099,
                  5011, 6001, 7919, 8192, 9000, 3,    10007, 12000, 16001, 40,
                  141,  181,  280,  355,  520,  1111, 1411,  2211,  4003,  14601 })) *
        data::make({ false, true }),
    samples_in,
    samples_out,
    inverse)
{
    chirp_z_params p;
    p.samples_in = samples_in;
    p.samples_out = samples_out;
    p.first = -0.21;
    p.step = 0.9 / samples_out;
    p.reference = samples_in / 2;
    p.inverse = inverse;
    p.weights = noise(samples_in, 5);
    compare(p, samples_in > 5000 ? 7 : 37);
}

// By cuFFT, whatever the length.
BOOST_DATA_TEST_CASE(equals_cpu_without_the_kernel, data::make({ 1, 37, 1200, 4099 }), n)
{
    chirp_z_params p;
    p.samples_in = n;
    p.samples_out = n / 2 + 1;
    p.step = 1.1 / n;
    p.max_parts = 0;
    p.max_batch = 16;
    compare(p, 37);
}

// Against the sum itself, with a result in two parts.
BOOST_AUTO_TEST_CASE(is_the_sum)
{
    chirp_z_params p;
    p.samples_in = 10007;
    p.samples_out = 7000;
    p.first = 0.123;
    p.step = 1e-5;
    p.reference = 77.5;
    const auto x = noise(p.samples_in);
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, x);
    device_values<cf32> out(space, p.samples_out);
    chirp_z::make(p, choose_target(backend::cuda))->process(in.data(), out.data(), 1);
    BOOST_TEST(difference_db(out.host(), direct_sum(p, x)) < -125);
}

// Exact lengths, primes that cuFFT does by several transforms of its own, a plan used
// twice.
BOOST_DATA_TEST_CASE(there_and_back, data::make({ 1, 1200, 4099, 5999, 16001, 40009 }), n)
{
    chirp_z_params p;
    p.samples_in = p.samples_out = n;
    p.step = 1.0 / n;
    const auto forward = chirp_z::make(p, choose_target(backend::cuda));
    p.inverse = true;
    const auto inverse = chirp_z::make(p, choose_target(backend::cuda));
    const auto x = noise(5 * n);
    device_space& space = cuda_device(0);
    device_values<cf32> a(space, x);
    device_values<cf32> b(space, x.size());
    for (int i = 0; i < 2; ++i) {
        forward->process(a.data(), b.data(), 5);
        inverse->process(b.data(), a.data(), 5);
    }
    BOOST_TEST(difference_db(a.host(), x) < -115);
}
