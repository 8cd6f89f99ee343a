// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE detect
#include "../core/qa_noise.h"
#include "detect.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

std::vector<float> run(detect& d, const std::vector<cf32>& in, bool end = true)
{
    const int rows = static_cast<int>(in.size() / d.cols_in());
    const int expected = d.rows_written_by(rows, end);
    std::vector<float> out(static_cast<std::size_t>(expected) * d.cols_out(), -1);
    BOOST_TEST(d.process(in.data(), rows, out.data(), end) == expected);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(quantities)
{
    const std::vector<cf32> in = { { 3, 4 }, { 0, 0 }, { 1e20f, 0 }, { 0, -1e-3f } };
    const float expected[3][4] = {
        { 5, 0, 1e20f, 1e-3f },
        { 25, 0, std::numeric_limits<float>::infinity(), 1e-6f },
        { 13.9794f, -200, 400, -60 }
    };
    int row = 0;
    for (const char* name : { "magnitude", "power", "db" }) {
        detect_params p;
        p.cols = 4;
        p.quantity = detected_quantity_from_name(name);
        BOOST_TEST(to_string(p.quantity) == name);
        const auto out = run(*detect::make(p, cpu), in);
        for (int j = 0; j < 4; ++j)
            BOOST_TEST(
                (out[j] == expected[row][j] || std::abs(out[j] - expected[row][j]) <
                                                   1e-5 * std::abs(expected[row][j])));
        ++row;
    }
}

BOOST_DATA_TEST_CASE(looks_average_power,
                     data::make({ 1, 2, 3, 5 }) * data::make({ 1, 2, 4 }) *
                         data::make({ 1, 2, 7, 15, 16 }),
                     row_looks,
                     col_looks,
                     rows)
{
    detect_params p;
    p.cols = 12;
    p.row_looks = row_looks;
    p.col_looks = col_looks;
    const auto in = noise(12 * rows);
    const auto d = detect::make(p, cpu);
    const auto out = run(*d, in);
    BOOST_TEST(d->pending_rows() == 0);
    const int rows_out = (rows + row_looks - 1) / row_looks; // the last may be incomplete
    const int cols_out = 12 / col_looks;
    BOOST_REQUIRE_EQUAL(out.size(), static_cast<std::size_t>(rows_out * cols_out));
    for (int i = 0; i < rows_out; ++i)
        for (int j = 0; j < cols_out; ++j) {
            double sum = 0;
            int n = 0;
            for (int r = i * row_looks; r < std::min(rows, (i + 1) * row_looks); ++r)
                for (int c = j * col_looks; c < (j + 1) * col_looks; ++c, ++n)
                    sum += double(in[r * 12 + c].re) * in[r * 12 + c].re +
                           double(in[r * 12 + c].im) * in[r * 12 + c].im;
            BOOST_TEST(std::abs(out[i * cols_out + j] - std::sqrt(sum / n)) < 1e-6);
        }

    // the same, whatever pieces the rows come in
    for (const int piece : { 1, 2, 3, 7 }) {
        std::vector<float> pieces;
        for (int r = 0; r < rows; r += piece) {
            const int n = std::min(piece, rows - r);
            const auto part = run(
                *d, { in.begin() + r * 12, in.begin() + (r + n) * 12 }, r + n == rows);
            pieces.insert(pieces.end(), part.begin(), part.end());
        }
        BOOST_REQUIRE_EQUAL(pieces.size(), out.size());
        // sums are formed in another order
        for (std::size_t i = 0; i < out.size(); ++i)
            BOOST_TEST(std::abs(pieces[i] - out[i]) < 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(looks_of_one_image_do_not_reach_into_the_next)
{
    detect_params p;
    p.cols = 1;
    p.row_looks = 4;
    p.quantity = detected_quantity::power;
    const auto d = detect::make(p, cpu);
    const std::vector<cf32> ones(6, cf32{ 1, 0 });
    const std::vector<cf32> twos(4, cf32{ 2, 0 });
    BOOST_TEST(run(*d, ones) == (std::vector<float>{ 1, 1 }),
               boost::test_tools::per_element());
    BOOST_TEST(run(*d, twos, false) == std::vector<float>{ 4 },
               boost::test_tools::per_element());
    run(*d, ones, false);
    BOOST_TEST(d->pending_rows() == 2);
}

BOOST_DATA_TEST_CASE(pixels_that_are_not_finite, data::make({ 1, 3 }), piece)
{
    detect_params p;
    p.cols = 6;
    p.row_looks = 3;
    p.col_looks = 2;
    auto in = noise(6 * 6);
    const auto d = detect::make(p, cpu);
    const auto clean = run(*d, in);
    in[0] = { std::nanf(""), 0 };
    in[7].im = -std::numeric_limits<float>::infinity(); // same look cell
    in[6 * 4 + 4].re = std::numeric_limits<float>::infinity();
    std::vector<float> y;
    for (int r = 0; r < 6; r += piece) {
        const auto part =
            run(*d, { in.begin() + r * 6, in.begin() + (r + piece) * 6 }, false);
        y.insert(y.end(), part.begin(), part.end());
    }
    BOOST_TEST(d->bad_pixels() == 3u);
    for (int k = 0; k < 6; ++k)
        BOOST_TEST(std::abs(y[k] - (k == 0 || k == 5 ? 0 : clean[k])) < 1e-6);
    p.quantity = detected_quantity::db;
    BOOST_TEST(run(*detect::make(p, cpu), in)[0] == -200);
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto message = [](int cols, int row_looks, int col_looks) {
        detect_params p;
        p.cols = cols;
        p.row_looks = row_looks;
        p.col_looks = col_looks;
        try {
            detect::make(p, cpu);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    BOOST_TEST(message(0, 1, 1).find("cols is 0; expected") == 0u);
    BOOST_TEST(message(8, 0, 1).find("row_looks is 0; expected") == 0u);
    BOOST_TEST(message(8, 1, 3).find("col_looks is 3; expected") == 0u);
    BOOST_TEST(message(8, 1, 3).find("a divisor of cols, 8") != std::string::npos);
    BOOST_CHECK_EXCEPTION(
        detected_quantity_from_name("loud"), std::invalid_argument, [](const auto& e) {
            return std::string(e.what()) ==
                   "quantity is 'loud'; expected one of: magnitude, power, db";
        });
}
