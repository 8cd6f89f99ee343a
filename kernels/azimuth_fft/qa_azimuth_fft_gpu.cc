// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE azimuth_fft_gpu
#include "../cuda/gpu_test.h"

#include "../core/qa_tools.h"
#include "azimuth_fft.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::kernel;
using gr::sar::gpu_test::device_values;
namespace data = boost::unit_test::data;

namespace {

const std::vector<int> frame_lines = { 1, 1, 5, 7, 100, 1200, 1201, 4099, 5999 };
const std::vector<int> frame_rows = { 1, 8, 5, 7, 128, 1200, 1201, 4200, 5999 };
const std::vector<int> frame_cols = { 1, 33, 1, 1201, 17, 800, 2311, 31, 2 };

//! Stored lines as complex numbers.
std::vector<cf32> loaded(const std::vector<char>& lines, line_storage s, int cols)
{
    const std::size_t n = lines.size() / line_bytes(s, cols);
    std::vector<cf32> v(n * cols);
    for (std::size_t i = 0; i < n; ++i)
        load_line(s, lines.data() + i * line_bytes(s, cols), cols, v.data() + i * cols);
    return v;
}

std::vector<char> stored(const std::vector<cf32>& v, line_storage s, int cols)
{
    const std::size_t n = v.size() / cols;
    std::vector<char> lines(n * line_bytes(s, cols));
    for (std::size_t i = 0; i < n; ++i)
        store_line(s, v.data() + i * cols, cols, lines.data() + i * line_bytes(s, cols));
    return lines;
}

//! Frames of a stream through both, \p hop lines apart.
void compare(const azimuth_fft_params& p, int hop, int frames, int short_by, double limit)
{
    const auto cpu = azimuth_fft::make(p, choose_target(backend::cpu));
    const auto gpu = azimuth_fft::make(p, choose_target(backend::cuda));
    const int in_frame = cpu->frame_in();
    const int all = in_frame + (frames - 1) * hop - short_by;
    auto values = noise(static_cast<std::size_t>(all) * p.cols);
    if (all > 3 && p.input == line_storage::single) {
        values[p.cols].re = std::numeric_limits<float>::quiet_NaN();
        values[static_cast<std::size_t>(p.cols) * 4 - 1].im =
            std::numeric_limits<float>::infinity();
    }
    const auto lines = stored(values, p.input, p.cols);
    const std::size_t in_bytes = line_bytes(p.input, p.cols);
    device_space& space = cuda_device(0);
    device_values<char> in(space, lines);
    const std::size_t out_bytes = line_bytes(p.output, p.cols);
    device_values<char> out(space, cpu->frame_out() * out_bytes);
    std::vector<char> truth(cpu->frame_out() * out_bytes);
    int held = 0;
    for (int k = 0; k < frames; ++k) {
        const int filled = std::min(in_frame, all - k * hop);
        for (int m = held, n = 1; m < filled; m += n, n *= 3) {
            n = std::min(n, filled - m);
            const std::size_t at = (static_cast<std::size_t>(k) * hop + m) * in_bytes;
            cpu->take(lines.data() + at, m, n);
            gpu->take(in.data() + at, m, n);
        }
        cpu->transform(filled);
        gpu->transform(filled);
        const int half = cpu->frame_out() / 2;
        for (const int first : { 0, half }) {
            const int n = first ? cpu->frame_out() - half : half;
            cpu->give(truth.data() + first * out_bytes, first, n);
            gpu->give(out.data() + first * out_bytes, first, n);
        }
        if (half == 0) {
            cpu->give(truth.data(), 0, 1);
            gpu->give(out.data(), 0, 1);
        }
        BOOST_TEST(difference_db(loaded(out.host(), p.output, p.cols),
                                 loaded(truth, p.output, p.cols)) < limit);
        held = p.overlap ? std::max(0, filled - hop) : 0;
        cpu->next(held);
        gpu->next(held);
    }
    BOOST_TEST(gpu->bad_lines() == cpu->bad_lines());
    BOOST_TEST(gpu->bytes() >= sizeof(cf32) * p.rows * p.cols);
}

} // namespace

BOOST_DATA_TEST_CASE(equals_cpu,
                     (data::make(frame_lines) ^ data::make(frame_rows) ^
                      data::make(frame_cols)) *
                         data::make({ false, true }),
                     lines,
                     rows,
                     cols,
                     inverse)
{
    azimuth_fft_params p;
    p.lines = lines;
    p.rows = rows;
    p.cols = cols;
    p.inverse = inverse;
    compare(p, inverse ? rows : lines, 2, lines / 2, -100);
}

BOOST_DATA_TEST_CASE(half_storage,
                     data::make({ 1, 31, 32, 33, 257, 2311 }) *
                         data::make({ false, true }),
                     cols,
                     inverse)
{
    azimuth_fft_params p;
    p.lines = 60;
    p.rows = 64;
    p.cols = cols;
    p.inverse = inverse;
    (inverse ? p.input : p.output) = line_storage::half;
    // rounding to 16 bits may fall either way
    compare(p, inverse ? 64 : 60, 2, 0, inverse ? -100 : -90);
}

BOOST_DATA_TEST_CASE(overlap, data::make({ 1, 5, 12, 13 }), hop)
{
    azimuth_fft_params p;
    p.lines = 13;
    p.rows = 16;
    p.cols = 1201;
    p.overlap = true;
    compare(p, hop, 7, hop - 1, -100);
}

BOOST_AUTO_TEST_CASE(too_large_a_frame_names_the_bytes)
{
    azimuth_fft_params p;
    p.lines = p.rows = 1 << 20;
    p.cols = 1 << 28;
    BOOST_CHECK_EXCEPTION(azimuth_fft::make(p, choose_target(backend::cuda)),
                          std::runtime_error,
                          [](const auto& e) {
                              return std::string(e.what()).find(
                                         "the GPU is out of memory: 2251799813685248 "
                                         "bytes needed") == 0;
                          });
}
