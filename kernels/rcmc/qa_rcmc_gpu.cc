// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE rcmc_gpu
#include "../cuda/gpu_test.h"
#include "qa_rcmc_scene.h"
#include <boost/test/data/test_case.hpp>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::rcmc_test;
using gr::sar::gpu_test::device_values;
using gr::sar::kernel::migration_interpolation;
using gr::sar::kernel::rcmc;
using gr::sar::kernel::rcmc_params;
namespace data = boost::unit_test::data;

namespace {

std::unique_ptr<rcmc> made_on(backend b, const rcmc_params& p)
{
    return rcmc::make(p, choose_target(b));
}

//! A squinted aeroplane; sloped: velocity and centroid vary over the swath.
acquisition_fields squinted(int samples, bool sloped)
{
    acquisition_fields a = airborne(samples);
    a.doppler_centroid_hz = 900;
    if (sloped) {
        a.doppler_centroid_slopes = { 0.3, 1e-5 };
        a.effective_velocity_slopes = { 1e-3 };
    }
    return a;
}

std::vector<char> stored(line_storage s, const std::vector<cf32>& rows, int samples)
{
    const std::size_t n = rows.size() / samples;
    std::vector<char> v(n * line_bytes(s, samples));
    for (std::size_t r = 0; r < n; ++r)
        store_line(
            s, rows.data() + r * samples, samples, v.data() + r * line_bytes(s, samples));
    return v;
}

std::vector<cd> loaded(line_storage s, const std::vector<char>& rows, int samples)
{
    const std::size_t n = rows.size() / line_bytes(s, samples);
    std::vector<cf32> v(n * samples);
    for (std::size_t r = 0; r < n; ++r)
        load_line(
            s, rows.data() + r * line_bytes(s, samples), samples, v.data() + r * samples);
    return to_cd(v);
}

std::vector<char> on_cpu(rcmc& k, const std::vector<char>& in, int first, int rows)
{
    std::vector<char> out(rows * line_bytes(k.params().output, k.cols()));
    k.process(in.data(), out.data(), first, rows);
    return out;
}

std::vector<char> on_gpu(rcmc& k, const std::vector<char>& in, int first, int rows)
{
    device_space& space = cuda_device(0);
    device_values<char> from(space, in);
    device_values<char> to(space, rows * line_bytes(k.params().output, k.cols()));
    k.process(from.data(), to.data(), first, rows);
    return to.host();
}

//! 16-bit outputs may round to neighbouring numbers.
double limit_db(line_storage output) { return output == line_storage::half ? -85 : -100; }

} // namespace

// All kernels, lengths small, prime and long; rows that are no sum of few batches.
BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make(all_interpolations) * data::make({ false, true }) *
                         data::make({ false, true }) *
                         data::make({ 1, 31, 32, 211, 1200, 4099, 16001 }),
                     how,
                     src,
                     sloped,
                     samples)
{
    rcmc_params p = params_of(squinted(samples, sloped), 61);
    p.interpolator = how;
    p.src = src;
    const auto a = made_on(backend::cpu, p);
    const auto b = made_on(backend::cuda, p);
    BOOST_TEST(a->fft_length() == b->fft_length());
    for (const int rows : { 1, 27, 91 }) {
        const auto in = stored(line_storage::single,
                               noise(static_cast<std::size_t>(rows) * samples, rows),
                               samples);
        const auto truth = loaded(line_storage::single, on_cpu(*a, in, 7, rows), samples);
        for (int twice = 0; twice < 2; ++twice)
            BOOST_TEST(difference_db(
                           loaded(line_storage::single, on_gpu(*b, in, 7, rows), samples),
                           truth) < -100);
    }
    BOOST_TEST(b->bad_lines() == 0u);
}

// One kernel for a row: each length that it has, and how rows are stored; the samples of
// a transform that is just long enough come from the last ones too.
BOOST_DATA_TEST_CASE(
    fused_lengths,
    data::make({ 700, 960, 1088, 1200, 1472, 2240, 2496, 3008, 4544, 5056, 9152 }) *
        data::make({ migration_interpolation::exact,
                     migration_interpolation::sinc8,
                     migration_interpolation::linear }) *
        data::make({ false, true }) *
        data::make({ line_storage::single, line_storage::half }),
    samples,
    how,
    sloped,
    storage)
{
    rcmc_params p = params_of(squinted(samples, sloped), 37);
    p.interpolator = how;
    p.input = storage;
    p.output = storage;
    const auto a = made_on(backend::cpu, p);
    const auto b = made_on(backend::cuda, p);
    for (const int rows : { 1, 9 }) {
        const auto in = stored(
            storage, noise(static_cast<std::size_t>(rows) * samples, rows), samples);
        const auto truth = loaded(storage, on_cpu(*a, in, 33, rows), samples);
        BOOST_TEST(difference_db(loaded(storage, on_gpu(*b, in, 33, rows), samples),
                                 truth) < limit_db(storage));
    }
}

BOOST_DATA_TEST_CASE(storage_and_in_place,
                     data::make(all_interpolations) * data::make({ false, true }) *
                         data::make({ line_storage::single, line_storage::half }) *
                         data::make({ line_storage::single, line_storage::half }) *
                         data::make({ 1, 33, 1000 }),
                     how,
                     src,
                     input,
                     output,
                     samples)
{
    rcmc_params p = params_of(squinted(samples, false), 16);
    p.interpolator = how;
    p.src = src;
    p.input = input;
    p.output = output;
    p.max_batch = 5; // batches of 4 and 1
    const auto a = made_on(backend::cpu, p);
    const auto b = made_on(backend::cuda, p);
    const auto in = stored(input, noise(23 * samples, 2), samples);
    const auto truth = loaded(output, on_cpu(*a, in, 3, 23), samples);
    BOOST_TEST(difference_db(loaded(output, on_gpu(*b, in, 3, 23), samples), truth) <
               limit_db(output));
    if (input != output)
        return;
    device_values<char> both(cuda_device(0), in);
    b->process(both.data(), both.data(), 3, 23);
    BOOST_TEST(difference_db(loaded(output, both.host(), samples), truth) <
               limit_db(output));
}

BOOST_DATA_TEST_CASE(rows_that_are_not_finite,
                     data::make(all_interpolations) * data::make({ false, true }) *
                         data::make({ line_storage::single, line_storage::half }),
                     how,
                     src,
                     output)
{
    rcmc_params p = params_of(squinted(800, false), 21);
    p.interpolator = how;
    p.src = src;
    p.output = output;
    const auto k = made_on(backend::cuda, p);
    const std::size_t bytes = line_bytes(output, 800);
    std::vector<cf32> rows = noise(21 * 800);
    const auto clean = on_gpu(*k, stored(line_storage::single, rows, 800), 0, 21);
    rows[800 + 17].im = std::numeric_limits<float>::quiet_NaN();
    rows[20 * 800 + 799].re = std::numeric_limits<float>::infinity();
    const auto y = on_gpu(*k, stored(line_storage::single, rows, 800), 0, 21);
    BOOST_TEST(k->bad_lines() == 2u);
    for (std::size_t i = 0; i < y.size(); ++i)
        BOOST_REQUIRE(y[i] == (i / bytes == 1 || i / bytes == 20 ? char(0) : clean[i]));
}

// A change of the centroid while earlier rows are still under way.
BOOST_DATA_TEST_CASE(another_centroid, data::make(all_interpolations), how)
{
    const int samples = 3000;
    const int rows = 64;
    rcmc_params p = params_of(squinted(samples, false), rows);
    p.interpolator = how;
    const auto a = made_on(backend::cpu, p);
    const auto b = made_on(backend::cuda, p);
    const auto in = stored(line_storage::single, noise(rows * samples, 4), samples);
    const std::vector<std::vector<double>> centroids = {
        { 0 }, { 1500 }, { 900, 0.2 }, { -700, 0.1, 1e-5 }, { 2500, 0.1 }, { 33 }
    };
    device_space& space = cuda_device(0);
    device_values<char> from(space, in);
    std::vector<std::unique_ptr<device_values<char>>> out;
    for (const auto& c : centroids) { // all of it enqueued
        b->set_centroid(c);
        out.push_back(std::make_unique<device_values<char>>(space, in.size()));
        b->process(from.data(), out.back()->data(), 0, rows);
    }
    for (std::size_t i = 0; i < centroids.size(); ++i) {
        a->set_centroid(centroids[i]);
        const auto truth = loaded(line_storage::single, on_cpu(*a, in, 0, rows), samples);
        BOOST_TEST(difference_db(loaded(line_storage::single, out[i]->host(), samples),
                                 truth) < -100);
    }
}

// Cells of one tile that lie far apart in the line: a centroid that unwraps within it.
BOOST_AUTO_TEST_CASE(fixed_point_reads_lines_that_no_tile_holds)
{
    acquisition_fields f = squinted(20000, false);
    f.slant_range_first_m = 100e3;
    f.doppler_centroid_slopes = { 0.05 };
    f.prf_hz = 1200;
    rcmc_params p = params_of(f, 16);
    p.interpolator = migration_interpolation::fixed;
    p.src = false;
    const auto a = made_on(backend::cpu, p);
    const auto b = made_on(backend::cuda, p);
    const auto in = stored(line_storage::single, noise(16 * 20000, 6), 20000);
    const auto truth = loaded(line_storage::single, on_cpu(*a, in, 0, 16), 20000);
    BOOST_TEST(difference_db(loaded(line_storage::single, on_gpu(*b, in, 0, 16), 20000),
                             truth) < -100);
}

// More rows than one launch has blocks for.
BOOST_AUTO_TEST_CASE(many_rows)
{
    rcmc_params p = params_of(squinted(3, false), 7);
    for (const bool src : { false, true }) {
        p.interpolator = migration_interpolation::linear;
        p.src = src;
        const auto a = made_on(backend::cpu, p);
        const auto b = made_on(backend::cuda, p);
        const int rows = 70001;
        const auto in = stored(line_storage::single, noise(3 * rows, 7), 3);
        const auto truth = loaded(line_storage::single, on_cpu(*a, in, 5, rows), 3);
        BOOST_TEST(difference_db(loaded(line_storage::single, on_gpu(*b, in, 5, rows), 3),
                                 truth) < -100);
    }
}
