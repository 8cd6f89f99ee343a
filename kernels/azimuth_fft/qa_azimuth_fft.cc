// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE azimuth_fft
#include "../core/constants.h"
#include "../core/qa_noise.h"
#include "azimuth_fft.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;
using complex_double = std::complex<double>;

namespace {

const compute_target cpu = choose_target(backend::cpu);

azimuth_fft_params size(int lines, int rows, int cols)
{
    azimuth_fft_params p;
    p.lines = lines;
    p.rows = rows;
    p.cols = cols;
    return p;
}

complex_double value(cf32 v) { return { v.re, v.im }; }

//! Relative error, in amplitude, of one column of a frame against a DFT in double.
double column_error(const std::vector<cf32>& lines,
                    const std::vector<cf32>& spectrum,
                    const azimuth_fft_params& p,
                    int filled,
                    int col)
{
    std::vector<complex_double> roots(p.rows);
    for (int i = 0; i < p.rows; ++i)
        roots[i] = std::polar(1.0, -2 * pi * i / p.rows);
    double error = 0;
    double power = 0;
    // every row of a short frame, some of a long one
    for (int k = 0; k < p.rows; k += 1 + p.rows / 500) {
        complex_double sum = 0;
        for (int m = 0; m < filled; ++m)
            sum += value(lines[static_cast<std::size_t>(m) * p.cols + col]) *
                   roots[static_cast<std::size_t>(m) * k % p.rows];
        const complex_double x =
            value(spectrum[static_cast<std::size_t>(k) * p.cols + col]);
        error += std::norm(x - sum);
        power += std::norm(sum);
    }
    return std::sqrt(error / power);
}

std::vector<cf32> give(azimuth_fft& f)
{
    std::vector<cf32> out(static_cast<std::size_t>(f.frame_out()) * f.params().cols);
    // in two pieces
    const int half = f.frame_out() / 2;
    f.give(out.data(), 0, half);
    f.give(out.data() + static_cast<std::size_t>(half) * f.params().cols,
           half,
           f.frame_out() - half);
    return out;
}

//! Take lines in pieces of 1, 2, 4, ... lines.
void take(azimuth_fft& f, const cf32* lines, int first, int count)
{
    for (int done = 0, n = 1; done < count; done += n, n *= 2) {
        n = std::min(n, count - done);
        f.take(lines + static_cast<std::size_t>(done) * f.params().cols, first + done, n);
    }
}

double difference(const std::vector<cf32>& a, const std::vector<cf32>& b)
{
    BOOST_REQUIRE_EQUAL(a.size(), b.size());
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        error += std::norm(value(a[i]) - value(b[i]));
        power += std::norm(value(b[i]));
    }
    return std::sqrt(error / power);
}

const std::vector<int> frame_lines = { 1, 1, 5, 7, 100, 1200, 1201, 4099, 5999 };
const std::vector<int> frame_rows = { 1, 8, 5, 7, 128, 1200, 1201, 4200, 5999 };
const std::vector<int> frame_cols = { 1, 33, 1, 1201, 17, 800, 67, 3, 2 };

} // namespace

BOOST_DATA_TEST_CASE(equals_a_dft_in_double_twice_with_one_object,
                     data::make(frame_lines) ^ data::make(frame_rows) ^
                         data::make(frame_cols),
                     lines,
                     rows,
                     cols)
{
    const azimuth_fft_params p = size(lines, rows, cols);
    const auto f = azimuth_fft::make(p, cpu);
    BOOST_TEST(f->bytes() >= sizeof(cf32) * rows * cols);
    for (const int seed : { 1, 2 }) {
        // all lines, then a shorter frame: nothing of the one before may be left in it
        const int filled = seed == 1 ? lines : (lines + 1) / 2;
        const auto in = noise(static_cast<std::size_t>(lines) * cols, seed);
        take(*f, in.data(), 0, filled);
        f->transform(filled);
        const auto out = give(*f);
        for (const int col : { 0, cols / 2, cols - 1 })
            BOOST_TEST(column_error(in, out, p, filled, col) < 1e-6);
        f->next(0);
    }
}

BOOST_DATA_TEST_CASE(round_trip,
                     data::make({ 1, 5, 128, 1201 }) * data::make({ 0, 1, 27 }) *
                         data::make({ "single", "half" }),
                     lines,
                     padding,
                     storage)
{
    azimuth_fft_params p = size(lines, lines + padding, 37);
    p.output = line_storage_from_name(storage);
    azimuth_fft_params back = p;
    back.inverse = true;
    std::swap(back.input, back.output);
    const auto forward = azimuth_fft::make(p, cpu);
    const auto inverse = azimuth_fft::make(back, cpu);
    BOOST_TEST(inverse->frame_in() == p.rows);
    BOOST_TEST(inverse->frame_out() == lines);
    const auto in = noise(static_cast<std::size_t>(lines) * 37);
    for (int i = 0; i < 2; ++i) {
        forward->take(in.data(), 0, lines);
        forward->transform(lines);
        std::vector<char> spectrum(p.rows * line_bytes(p.output, 37));
        forward->give(spectrum.data(), 0, p.rows);
        forward->next(0);
        inverse->take(spectrum.data(), 0, p.rows);
        inverse->transform(p.rows);
        const auto out = give(*inverse);
        inverse->next(0);
        // 16 bits below the largest of 32 samples, about 2.5 times their rms
        const double limit = p.output == line_storage::single ? 1e-6 : 5e-5;
        BOOST_TEST(difference(out, in) < limit);
        if (p.output == line_storage::half && lines > 1)
            BOOST_TEST(difference(out, in) > 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(an_incomplete_spectrum_is_padded_with_zeros)
{
    azimuth_fft_params p = size(16, 16, 3);
    p.inverse = true;
    const auto f = azimuth_fft::make(p, cpu);
    auto in = noise(16 * 3);
    f->take(in.data(), 0, 16);
    f->transform(16);
    f->next(0);
    f->take(in.data(), 0, 5);
    f->transform(5);
    const auto out = give(*f);
    std::fill(in.begin() + 5 * 3, in.end(), cf32{ 0, 0 });
    f->next(0);
    f->take(in.data(), 0, 16);
    f->transform(16);
    BOOST_TEST(difference(out, give(*f)) < 1e-7);
}

BOOST_DATA_TEST_CASE(overlapping_frames_share_lines,
                     data::make({ 1, 2, 5, 8, 12, 13 }),
                     hop)
{
    const int lines = 13;
    const int cols = 5;
    azimuth_fft_params p = size(lines, 16, cols);
    const auto alone = azimuth_fft::make(p, cpu);
    p.overlap = true;
    const auto f = azimuth_fft::make(p, cpu);
    BOOST_TEST(f->bytes() > alone->bytes());
    const int frames = 9;
    const int all = lines + (frames - 1) * hop - (hop > 2 ? 2 : 0); // the last is short
    const auto in = noise(static_cast<std::size_t>(all) * cols);
    int held = 0;
    for (int k = 0; k < frames; ++k) {
        const int filled = std::min(lines, all - k * hop);
        take(*f,
             in.data() + static_cast<std::size_t>(k * hop + held) * cols,
             held,
             filled - held);
        f->transform(filled);
        alone->take(in.data() + static_cast<std::size_t>(k * hop) * cols, 0, filled);
        alone->transform(filled);
        BOOST_TEST(difference(give(*f), give(*alone)) == 0);
        alone->next(0);
        held = std::max(0, filled - hop);
        f->next(held);
    }
    // a new stretch
    f->next(0);
    f->take(in.data(), 0, 3);
    f->transform(3);
    alone->take(in.data(), 0, 3);
    alone->transform(3);
    BOOST_TEST(difference(give(*f), give(*alone)) == 0);
}

BOOST_DATA_TEST_CASE(a_line_that_is_not_finite_becomes_zeros,
                     data::make({ false, true }),
                     overlap)
{
    azimuth_fft_params p = size(6, 8, 9);
    p.overlap = overlap;
    const auto f = azimuth_fft::make(p, cpu);
    auto in = noise(6 * 9);
    auto clean = in;
    in[9 * 2 + 8].im = std::numeric_limits<float>::quiet_NaN();
    in[9 * 5].re = -std::numeric_limits<float>::infinity();
    for (const int line : { 2, 5 })
        std::fill_n(clean.begin() + 9 * line, 9, cf32{ 0, 0 });
    f->take(in.data(), 0, 6);
    f->transform(6);
    const auto out = give(*f);
    BOOST_TEST(f->bad_lines() == 2u);
    f->next(0);
    f->take(clean.data(), 0, 6);
    f->transform(6);
    BOOST_TEST(difference(out, give(*f)) == 0);
    BOOST_TEST(f->bad_lines() == 2u);
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto message = [](const azimuth_fft_params& p) {
        try {
            azimuth_fft::make(p, cpu);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    BOOST_TEST(message(size(0, 8, 8)).find("lines is 0; expected") == 0u);
    BOOST_TEST(message(size(9, 8, 8)).find("rows is 8; expected") == 0u);
    BOOST_TEST(message(size(8, 8, 0)).find("cols is 0; expected") == 0u);
    BOOST_TEST(message(size(8, 1 << 22, 8)).find("rows is 4194304; expected") == 0u);
#ifndef __SANITIZE_ADDRESS__ // it ends the program where there is no memory
    BOOST_TEST(message(size(1 << 20, 1 << 20, 1 << 28))
                   .find("no memory for a frame of 1048576 rows x 268435456 samples: "
                         "2251799813685248 bytes needed; use") == 0u);
#endif
    azimuth_fft_params p = size(8, 8, 8);
    p.inverse = p.overlap = true;
    BOOST_TEST(message(p).find("overlap is true with the inverse") == 0u);

    const auto f = azimuth_fft::make(size(8, 16, 2), cpu);
    const auto in = noise(32);
    std::vector<cf32> out(64);
    BOOST_CHECK_THROW(f->take(in.data(), 5, 4), std::invalid_argument);
    BOOST_CHECK_THROW(f->take(in.data(), -1, 4), std::invalid_argument);
    BOOST_CHECK_THROW(f->transform(9), std::invalid_argument);
    BOOST_CHECK_THROW(f->give(out.data(), 15, 2), std::invalid_argument);
    BOOST_CHECK_THROW(f->next(1), std::invalid_argument);
}
