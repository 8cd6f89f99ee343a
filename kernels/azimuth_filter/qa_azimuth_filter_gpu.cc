// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE azimuth_filter_gpu
#include "../cuda/gpu_test.h"

#include "../core/qa_tools.h"
#include "azimuth_filter.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

azimuth_filter_params params(int lines, int rows, int cols, double centroid_hz)
{
    acquisition_fields f;
    f.samples = cols;
    f.carrier_hz = 5.3e9;
    f.prf_hz = 1257;
    f.sample_rate_hz = 32e6;
    f.chirp_rate_hz_per_s = 30e6 / 1e-6;
    f.pulse_length_s = 1e-6;
    f.slant_range_first_m = 988e3;
    f.effective_velocity_m_s = 7062;
    f.doppler_centroid_hz = centroid_hz;
    azimuth_filter_params p{ range_doppler_params{ acquisition(f) }, doppler_band() };
    p.geometry.lines = lines;
    p.geometry.fft_length = rows;
    p.band.weighting = window("hamming");
    return p;
}

std::vector<char> noise(line_storage s, int rows, int cols)
{
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<cf32> line(cols);
    std::vector<char> v(rows * line_bytes(s, cols));
    for (int k = 0; k < rows; ++k) {
        for (cf32& x : line)
            x = { normal(random), normal(random) };
        if (s == line_storage::single && k == rows / 2)
            line[cols - 1].im = std::numeric_limits<float>::quiet_NaN();
        store_line(s, line.data(), cols, v.data() + k * line_bytes(s, cols));
    }
    return v;
}

//! A frame of \p taken rows, through both.
void compare(azimuth_filter& cpu, azimuth_filter& gpu, int taken)
{
    const line_storage s = cpu.params().input;
    const int cols = cpu.plan().frame().cols;
    const auto rows = noise(s, taken, cols);
    device_space& space = cuda_device(0);
    device_values<char> in(space, rows);
    for (int k = 0, n = 1; k < taken; k += n, n *= 3) {
        n = std::min(n, taken - k);
        cpu.take(rows.data() + k * line_bytes(s, cols), k, n);
        gpu.take(in.data() + k * line_bytes(s, cols), k, n);
    }
    cpu.transform();
    gpu.transform();
    const std::size_t values = static_cast<std::size_t>(cpu.rows_out()) * cols;
    device_values<cf32> out(space, values);
    std::vector<cf32> truth(values);
    for (int i = 0, n = 1; i < cpu.rows_out(); i += n, n *= 2) {
        n = std::min(n, cpu.rows_out() - i);
        cpu.give(truth.data() + static_cast<std::size_t>(i) * cols, i, n);
        gpu.give(out.data() + static_cast<std::size_t>(i) * cols, i, n);
    }
    BOOST_TEST(difference_db(out.host(), truth) < -100);
    cpu.next();
    gpu.next();
    BOOST_TEST(gpu.bad_lines() == cpu.bad_lines());
}

const std::vector<int> frame_rows = { 1, 2, 127, 1200, 1201, 4099 };
const std::vector<int> frame_cols = { 1, 1201, 33, 800, 1025, 31 };

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     (data::make(frame_rows) ^ data::make(frame_cols)) *
                         data::make({ "zero_doppler", "centroid" }) *
                         data::make({ 0.0, -6900.0 }) * data::make({ false, true }),
                     rows,
                     cols,
                     geometry,
                     centroid,
                     varying)
{
    azimuth_filter_params p = params(rows, rows, cols, centroid);
    p.geometry.geometry = image_geometry_from_name(geometry);
    if (varying) {
        acquisition_fields f = p.geometry.acq.fields();
        f.effective_velocity_slopes = { -1e-4 };
        f.doppler_centroid_slopes = { 0.02, 1e-7 };
        p.geometry.acq = acquisition(f);
    }
    const auto cpu = azimuth_filter::make(p, choose_target(backend::cpu));
    const auto gpu = azimuth_filter::make(p, choose_target(backend::cuda));
    BOOST_TEST(cpu->plan().frame().uniform == !varying);
    compare(*cpu, *gpu, rows);
    compare(*cpu, *gpu, (rows + 1) / 2);
    BOOST_TEST(gpu->bytes() >= sizeof(cf32) * rows * cols);
}

BOOST_DATA_TEST_CASE(looks_and_half_rows,
                     data::make({ 1, 2, 5 }) * data::make({ 0.0, 700.0 }) *
                         data::make({ "single", "half" }) * data::make({ 0.0, 0.05 }),
                     looks,
                     bandwidth,
                     storage,
                     slope)
{
    azimuth_filter_params p = params(600, 625, 333, -6900);
    acquisition_fields f = p.geometry.acq.fields();
    f.doppler_centroid_slopes = { slope };
    p.geometry.acq = acquisition(f);
    p.band.looks = looks;
    p.band.bandwidth_hz = bandwidth;
    p.input = line_storage_from_name(storage);
    const auto cpu = azimuth_filter::make(p, choose_target(backend::cpu));
    const auto gpu = azimuth_filter::make(p, choose_target(backend::cuda));
    for (int i = 0; i < 2; ++i)
        compare(*cpu, *gpu, 625);
}

BOOST_AUTO_TEST_CASE(centroids_set_between_frames)
{
    const azimuth_filter_params p = params(600, 625, 333, -6900);
    const auto cpu = azimuth_filter::make(p, choose_target(backend::cpu));
    const auto gpu = azimuth_filter::make(p, choose_target(backend::cuda));
    for (const std::vector<double>& c : { std::vector<double>{ -6800 },
                                          std::vector<double>{ -6800, 0.05, 1e-6 },
                                          std::vector<double>{ -6800, 0.05, 1e-6 },
                                          std::vector<double>{ 3 } }) {
        cpu->set_centroid(c);
        gpu->set_centroid(c);
        compare(*cpu, *gpu, 625);
    }
}

BOOST_AUTO_TEST_CASE(too_large_a_frame_names_the_bytes)
{
    azimuth_filter_params p = params(1 << 20, 0, 1 << 24, 0);
    p.band.looks = 8;
    BOOST_CHECK_EXCEPTION(azimuth_filter::make(p, choose_target(backend::cuda)),
                          std::runtime_error,
                          [](const auto& e) {
                              return std::string(e.what()).find(
                                         "the GPU is out of memory: 1125899906842624 "
                                         "bytes needed") == 0;
                          });
}
