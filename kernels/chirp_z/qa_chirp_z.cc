// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_z
#include "../core/constants.h"
#include "../core/double_fft.h"
#include "../core/window.h"
#include "../image_quality/image_quality.h"
#include "chirp_z.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include "qa_chirp_z_sum.h"
#include <algorithm>
#include <limits>
#include <random>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

std::vector<cf32> transformed(const chirp_z_params& p, const std::vector<cf32>& x)
{
    const int lines = static_cast<int>(x.size()) / p.samples_in;
    std::vector<cf32> y(static_cast<std::size_t>(lines) * p.samples_out);
    chirp_z::make(p, cpu)->process(x.data(), y.data(), lines);
    return y;
}

chirp_z_params exact_length(int n, bool inverse = false)
{
    chirp_z_params p;
    p.samples_in = p.samples_out = n;
    p.step = 1.0 / n;
    p.inverse = inverse;
    return p;
}

} // namespace

// Lengths 1, those of images, primes, lines longer and shorter than what comes out, steps
// above one cycle, with weights and a reference.
BOOST_DATA_TEST_CASE(
    is_the_sum,
    (data::make({ 1, 1, 5, 800, 1200, 4099, 3, 2000, 7 }) ^
     data::make({ 1, 9, 1, 1200, 800, 4099, 5000, 3, 8 }) ^
     data::make({ 0.3, -0.2, 7.25, -0.5, 0.01, 0.0, -3.3, 0.124, 0.1 }) ^
     data::make(
         { 0.1, 1e-3, 0.5, 1.0 / 1200, -1e-5, 1.0 / 4099, 3.7e-4, 2.0 / 3, 12345.678 })) *
        data::make({ false, true }),
    samples_in,
    samples_out,
    first,
    step,
    inverse)
{
    chirp_z_params p;
    p.samples_in = samples_in;
    p.samples_out = samples_out;
    p.first = first;
    p.step = step;
    p.inverse = inverse;
    p.reference = samples_in / 2 + 0.25;
    p.weights = noise(samples_in, 7);
    const auto x = noise(3 * static_cast<std::size_t>(samples_in));
    const double db = difference_db(transformed(p, x), direct_sum(p, x));
    BOOST_TEST_MESSAGE("error " << db << " dB");
    BOOST_TEST(db < -128);
}

BOOST_DATA_TEST_CASE(is_the_fft_of_any_length,
                     data::make({ 1, 2, 800, 1200, 4099, 10007, 16001 }) *
                         data::make({ false, true }),
                     n,
                     inverse)
{
    const auto x = noise(n);
    std::vector<std::complex<double>> in;
    for (const cf32& v : x)
        in.emplace_back(v.re, inverse ? -v.im : v.im);
    std::vector<cf32> truth;
    for (std::complex<double> v : double_fft(in)) {
        v = inverse ? std::conj(v) / static_cast<double>(n) : v;
        truth.push_back({ static_cast<float>(v.real()), static_cast<float>(v.imag()) });
    }
    BOOST_TEST(difference_db(transformed(exact_length(n, inverse), x), truth) < -125);
}

BOOST_DATA_TEST_CASE(there_and_back_is_where_it_began,
                     data::make({ 1, 7, 1200, 4099, 10007 }),
                     n)
{
    const auto x = noise(2 * n);
    const auto y = transformed(exact_length(n, true), transformed(exact_length(n), x));
    BOOST_TEST(difference_db(y, x) < -120);
}

BOOST_AUTO_TEST_CASE(is_linear)
{
    chirp_z_params p;
    p.samples_in = 701;
    p.samples_out = 333;
    p.first = 0.123;
    p.step = 7e-4;
    const auto a = noise(p.samples_in, 1);
    const auto b = noise(p.samples_in, 2);
    std::vector<cf32> both;
    for (int i = 0; i < p.samples_in; ++i)
        both.push_back(a[i] + cf32{ 0.5f, -2 } * b[i]);
    const auto ya = transformed(p, a);
    const auto yb = transformed(p, b);
    std::vector<cf32> sum;
    for (int i = 0; i < p.samples_out; ++i)
        sum.push_back(ya[i] + cf32{ 0.5f, -2 } * yb[i]);
    BOOST_TEST(difference_db(transformed(p, both), sum) < -125);
}

// A tone between the bins of a line of 10^6 samples, looked at with a thousandth of their
// spacing: its peak and phase are where they belong.
BOOST_AUTO_TEST_CASE(phases_hold_at_a_million_samples)
{
    chirp_z_params p;
    p.samples_in = 1000000;
    p.samples_out = 2001;
    const double tone = 0.3141592653589793;
    p.step = 1e-9;
    p.first = tone - 1000 * p.step;
    std::vector<cf32> x;
    for (int n = 0; n < p.samples_in; ++n) {
        const auto v = std::polar(1.0, 2 * pi * product_cycles(n, tone));
        x.push_back({ static_cast<float>(v.real()), static_cast<float>(v.imag()) });
    }
    const auto y = transformed(p, x);
    for (const int k : { 0, 500, 1000, 1777, 2000 }) {
        // sum of exp(-j 2 pi n d) over the line, d the distance from the tone
        const double d = (p.first - tone) + k * p.step;
        const double n = p.samples_in;
        const double size = d == 0 ? n : std::sin(pi * n * d) / std::sin(pi * d);
        const auto truth = std::polar(1.0, -pi * (n - 1) * d) * size;
        const std::complex<double> value(y[k].re, y[k].im);
        BOOST_TEST(std::abs(value - truth) < 2e-6 * n);
    }
    for (const double n : { 1e6, 999999.0, 3e6 })
        for (const double step : { 1e-6, 0.3, 1.0 / 3 }) {
            const long double exact = static_cast<long double>(n * n) * (step / 2);
            const double cycles = static_cast<double>(exact - rintl(exact));
            const double apart = chirp_cycles(n, step) - cycles;
            // long double has 64 bits: 5e11 cycles to 3e-8
            BOOST_TEST(std::abs(apart - std::rint(apart)) < 1e-6);
        }
}

// The image of a point from its spectrum, sampled 32 times a cell around the peak: width,
// side lobe and place are those of theory.
BOOST_DATA_TEST_CASE(zoomed_point_has_width_and_side_lobe_of_theory,
                     data::make({ "rect", "hamming", "taylor(4, 35)" }),
                     weighting)
{
    const int band = 1001;         // samples of the spectrum
    const double place = 123.4567; // cells, of the point
    const double spacing = 1.0 / 32;
    chirp_z_params p;
    p.samples_in = band;
    p.samples_out = 20 * 32 + 1;
    p.inverse = true;
    p.reference = band / 2;
    p.first = 113.0 / band;
    p.step = spacing / band;
    const window w{ std::string(weighting) };
    const auto samples = w.samples(band);
    double mean = 0;
    for (const double v : samples)
        mean += v / band;
    for (const double v : samples)
        p.weights.push_back({ static_cast<float>(v / mean), 0 });
    std::vector<cf32> x;
    for (int n = 0; n < band; ++n) {
        const auto v = std::polar(1.0, -2 * pi * (n - p.reference) * place / band);
        x.push_back({ static_cast<float>(v.real()), static_cast<float>(v.imag()) });
    }
    const auto y = transformed(p, x);
    std::vector<double> size;
    for (const cf32& v : y)
        size.push_back(std::sqrt(norm(v)));
    const int top =
        static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());
    BOOST_TEST(std::abs(113.0 + top * spacing - place) <= spacing / 2 + 1e-6);
    BOOST_TEST(size[top] == 1.0, boost::test_tools::tolerance(2e-3));
    const double half_power = std::sqrt(0.5);
    double edges[2];
    for (const int way : { -1, 1 }) {
        int i = top;
        while (size[i + way] > half_power)
            i += way;
        const double part = (size[i] - half_power) / (size[i] - size[i + way]);
        edges[way > 0] = i + way * part;
    }
    const double width = (edges[1] - edges[0]) * spacing;
    BOOST_TEST(width == w.irw(), boost::test_tools::tolerance(0.003));
    double lobe = 0;
    for (const int way : { -1, 1 }) {
        int i = top;
        while (size[i + way] < size[i])
            i += way;
        for (; i >= 0 && i < p.samples_out; i += way)
            lobe = std::max(lobe, size[i]);
    }
    const double theory_db = theory_of(w, place - 113, 133 - place).pslr_db;
    BOOST_TEST(std::abs(20 * std::log10(lobe / size[top]) - theory_db) < 0.05);
}

BOOST_AUTO_TEST_CASE(lines_that_are_not_finite_become_zeros)
{
    chirp_z_params p = exact_length(37);
    auto x = noise(5 * 37);
    x[37].re = std::numeric_limits<float>::quiet_NaN();
    x[4 * 37 - 1].im = std::numeric_limits<float>::infinity();
    auto cleared = x;
    std::fill_n(cleared.begin() + 37, 37, cf32{ 0, 0 });
    std::fill_n(cleared.begin() + 3 * 37, 37, cf32{ 0, 0 });
    const auto z = chirp_z::make(p, cpu);
    std::vector<cf32> y(x.size());
    z->process(x.data(), y.data(), 5);
    BOOST_TEST(z->bad_lines() == 2u);
    BOOST_TEST(difference_db(y, transformed(p, cleared)) == -300);
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto said = [](auto change) {
        chirp_z_params p = exact_length(8);
        change(p);
        return sentence_of([&] { chirp_z::make(p, cpu); });
    };
    BOOST_TEST(
        has(said([](auto& p) { p.samples_in = 0; }), "samples_in is 0; expected 1"));
    BOOST_TEST(has(said([](auto& p) { p.samples_out = 8388609; }),
                   "samples_out is 8388609; expected 1 to 2^23"));
    BOOST_TEST(
        has(said([](auto& p) { p.first = NAN; }), "first is nan cycles per sample"));
    BOOST_TEST(has(said([](auto& p) { p.step = 1e7; }), "step is 10000000 cycles"));
    BOOST_TEST(has(said([](auto& p) { p.reference = INFINITY; }), "reference is inf"));
    BOOST_TEST(has(said([](auto& p) { p.weights.resize(7); }),
                   "weights has 7 values; expected one for each of the 8 samples"));
    BOOST_TEST(has(said([](auto& p) {
                       p.weights.resize(8);
                       p.weights[3].im = NAN;
                   }),
                   "weights[3] is not finite"));
    BOOST_TEST(has(said([](auto& p) { p.max_batch = 0; }), "max_batch is 0"));
    BOOST_TEST(has(said([](auto& p) { p.max_parts = 65; }), "max_parts is 65"));
    BOOST_TEST(said([](auto&) {}) == "no error");
}
