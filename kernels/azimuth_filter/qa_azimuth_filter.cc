// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE azimuth_filter
#include "../azimuth_fft/azimuth_fft.h"
#include "../core/qa_noise.h"
#include "azimuth_filter.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;
using complex_double = std::complex<double>;

namespace {

const compute_target cpu = choose_target(backend::cpu);
constexpr double prf = 250;
constexpr double carrier = 9.6e9;
constexpr double velocity = 100;
constexpr double first_m = 5000;
constexpr double bias = 3.7;
constexpr int cols = 24;

//! X band at 100 m/s from 5 km: about 490 lines in the band of the PRF.
acquisition_fields radar(double centroid_hz)
{
    acquisition_fields f;
    f.samples = cols;
    f.carrier_hz = carrier;
    f.prf_hz = prf;
    f.sample_rate_hz = 100e6;
    f.chirp_rate_hz_per_s = 80e6 / 1e-7;
    f.pulse_length_s = 1e-7;
    f.slant_range_first_m = first_m;
    f.range_bias_m = bias;
    f.effective_velocity_m_s = velocity;
    f.doppler_centroid_hz = centroid_hz;
    return f;
}

azimuth_filter_params filter(const acquisition_fields& f,
                             const std::string& geometry,
                             const std::string& weighting,
                             int lines,
                             int rows = 0)
{
    azimuth_filter_params p{ range_doppler_params{ acquisition(f) }, doppler_band() };
    p.geometry.lines = lines;
    p.geometry.fft_length = rows;
    p.geometry.geometry = image_geometry_from_name(geometry);
    p.band.weighting = window(weighting);
    return p;
}

double polynomial(double constant, const std::vector<double>& slopes, double x)
{
    double y = constant;
    double power = 1;
    for (const double s : slopes)
        y += s * (power *= x);
    return y;
}

// The physics, written once more and apart from the code under test.

struct point {
    double closest_m;
    double velocity_m_s;
    double centroid_hz;

    double wavelength() const { return speed_of_light / carrier; }
    double factor(double f) const
    {
        const double s = wavelength() * f / (2 * velocity_m_s);
        return std::sqrt(1 - s * s);
    }
    //! Time after closest approach at which it has a Doppler frequency.
    double time(double f) const
    {
        return -wavelength() * closest_m * f /
               (2 * velocity_m_s * velocity_m_s * factor(f));
    }
    //! Doppler spectrum (sum over lines) of an echo exp(-j 4 pi (R + bias) f0 / c) whose
    //! closest approach is at time t0, by stationary phase.
    complex_double spectrum(double f, double t0) const
    {
        const double rate = (time(f - 0.5) - time(f + 0.5)); // s per Hz
        const double phase = -4 * pi / wavelength() * (closest_m * factor(f) + bias) -
                             pi / 4 - 2 * pi * f * t0;
        return prf * std::sqrt(rate) * std::polar(1.0, phase);
    }
};

//! What cell \p n of an image images.
point point_of_cell(const acquisition_fields& a, const range_doppler_frame& f, int n)
{
    const double r = f.out_first_m + n * speed_of_light / (2 * a.sample_rate_hz);
    const bool centroid = f.geometry == image_geometry::centroid;
    const auto at = [&](double beam_m, double constant, const std::vector<double>& s) {
        return polynomial(constant, s, beam_m + bias - first_m);
    };
    point p;
    double beam = r;
    for (int i = 0; i < 50; ++i) { // converges
        p.velocity_m_s = at(beam, a.effective_velocity_m_s, a.effective_velocity_slopes);
        p.centroid_hz = at(beam, a.doppler_centroid_hz, a.doppler_centroid_slopes);
        p.closest_m = centroid ? r * p.factor(p.centroid_hz) : r;
        beam = centroid ? r : r / p.factor(p.centroid_hz);
    }
    return p;
}

//! Row (line of the frame) at which cell \p n has its point.
double line_of_cell(const range_doppler_frame& f, int n)
{
    return f.first_row + (5 + 13 * n) % f.rows;
}

//! Spectrum of a frame that has one point in each cell.
std::vector<cf32> points(const azimuth_filter& filter, const acquisition_fields& a)
{
    const range_doppler_frame& f = filter.plan().frame();
    std::vector<cf32> frame(static_cast<std::size_t>(f.rows) * f.cols);
    for (int n = 0; n < f.cols; ++n) {
        const point p = point_of_cell(a, f, n);
        double t0 = line_of_cell(f, n) / prf;
        if (f.geometry == image_geometry::centroid)
            t0 -= p.time(p.centroid_hz);
        for (int k = 0; k < f.rows; ++k) {
            double frequency = k * prf / f.rows;
            while (frequency < p.centroid_hz - prf / 2)
                frequency += prf;
            while (frequency > p.centroid_hz + prf / 2)
                frequency -= prf;
            const complex_double x = p.spectrum(frequency, t0);
            frame[static_cast<std::size_t>(k) * f.cols + n] = {
                static_cast<float>(x.real()), static_cast<float>(x.imag())
            };
        }
    }
    return frame;
}

std::vector<cf32> run(azimuth_filter& f, const std::vector<cf32>& frame)
{
    const int rows = f.plan().frame().rows;
    for (int k = 0, n = 1; k < rows; k += n, n *= 2) {
        n = std::min(n, rows - k);
        f.take(frame.data() + static_cast<std::size_t>(k) * cols, k, n);
    }
    f.transform();
    std::vector<cf32> out(static_cast<std::size_t>(f.rows_out()) * cols);
    const int half = f.rows_out() / 2;
    f.give(out.data(), 0, half);
    f.give(out.data() + static_cast<std::size_t>(half) * cols, half, f.rows_out() - half);
    f.next();
    return out;
}

complex_double value(cf32 v) { return { v.re, v.im }; }

//! Every cell has its point at its row, with peak 1 and phase 0.
void check_points(const std::vector<cf32>& image,
                  const range_doppler_frame& f,
                  int looks,
                  double tolerance)
{
    BOOST_REQUIRE_EQUAL(image.size(), std::size_t(f.rows) * f.cols * looks);
    for (int n = 0; n < f.cols; ++n)
        for (int l = 0; l < looks; ++l) {
            int best = 0;
            const auto at = [&](int row) {
                return value(image[(std::size_t(row) * looks + l) * f.cols + n]);
            };
            for (int i = 0; i < f.rows; ++i)
                if (std::abs(at(i)) > std::abs(at(best)))
                    best = i;
            BOOST_TEST(best == (5 + 13 * n) % f.rows);
            BOOST_TEST(std::abs(std::abs(at(best)) - 1) < tolerance);
            BOOST_TEST(std::abs(std::arg(at(best))) < 0.05);
            // nothing but sidelobes far off
            BOOST_TEST(std::abs(at((best + f.rows / 2) % f.rows)) < 0.05);
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

const std::vector<std::string> geometries = { "zero_doppler", "centroid" };
const std::vector<double> centroids = { 0, 0.4 * prf, -5.5 * prf };

} // namespace

BOOST_DATA_TEST_CASE(points_focus_at_their_rows_with_peak_1_and_phase_0,
                     data::make(geometries) * data::make(centroids) *
                         data::make({ "rect", "hann", "taylor(4, 35)" }) *
                         data::make({ 700, 701 }),
                     geometry,
                     centroid,
                     weighting,
                     rows)
{
    const acquisition_fields a = radar(centroid);
    const auto f = azimuth_filter::make(filter(a, geometry, weighting, 690, rows), cpu);
    BOOST_TEST(f->bytes() >= sizeof(cf32) * rows * cols);
    BOOST_TEST(f->plan().frame().uniform);
    const auto frame = points(*f, a);
    // at -5.5 PRF a bin lies on both ends of the band, and may be taken as either
    for (int i = 0; i < 2; ++i)
        check_points(run(*f, frame), f->plan().frame(), 1, 1e-4 + 2.0 / rows);
}

BOOST_DATA_TEST_CASE(looks_focus_each,
                     data::make(geometries) * data::make(centroids) *
                         data::make({ 2, 3, 7 }) * data::make({ 0.0, 0.77 * prf }) *
                         data::make({ false, true }),
                     geometry,
                     centroid,
                     looks,
                     bandwidth,
                     varying)
{
    acquisition_fields a = radar(centroid);
    if (varying)
        a.doppler_centroid_slopes = { 0.5, 0.002 };
    azimuth_filter_params p = filter(a, geometry, "hamming", 700);
    p.band.looks = looks;
    p.band.bandwidth_hz = bandwidth;
    const auto f = azimuth_filter::make(p, cpu);
    BOOST_TEST(f->plan().frame().uniform == !varying);
    check_points(run(*f, points(*f, a)), f->plan().frame(), looks, 0.02);
}

BOOST_DATA_TEST_CASE(velocity_and_centroid_may_vary_over_range,
                     data::make(geometries) * data::make(centroids) *
                         data::make({ "rect", "hann" }),
                     geometry,
                     centroid,
                     weighting)
{
    acquisition_fields a = radar(centroid);
    a.effective_velocity_slopes = { 0.03, -0.0002, 1e-6 };
    a.doppler_centroid_slopes = { -1.5, 0.01 }; // 50 Hz over the swath
    const auto f = azimuth_filter::make(filter(a, geometry, weighting, 700, 720), cpu);
    BOOST_TEST(!f->plan().frame().uniform);
    check_points(run(*f, points(*f, a)), f->plan().frame(), 1, 5e-3);
}

BOOST_DATA_TEST_CASE(equal_tables_when_nothing_varies,
                     data::make(geometries) * data::make(centroids) *
                         data::make({ 1, 3 }),
                     geometry,
                     centroid,
                     looks)
{
    acquisition_fields a = radar(centroid);
    azimuth_filter_params p = filter(a, geometry, "hann", 600, 631);
    p.band.looks = looks;
    const auto uniform = azimuth_filter::make(p, cpu);
    a.doppler_centroid_slopes = { 1e-12 }; // takes the other path
    azimuth_filter_params q = filter(a, geometry, "hann", 600, 631);
    q.band.looks = looks;
    const auto varying = azimuth_filter::make(q, cpu);
    BOOST_TEST(!varying->plan().frame().uniform);
    const auto frame = noise(std::size_t(631) * cols);
    // gains: the sum over the bins against an integral
    BOOST_TEST(difference(run(*varying, frame), run(*uniform, frame)) < 2e-3);
}

BOOST_DATA_TEST_CASE(a_centroid_that_is_set_replaces_the_given_one,
                     data::make(geometries) * data::make({ 0.0, 0.7 }),
                     geometry,
                     slope)
{
    const std::vector<double> coefficients =
        slope == 0 ? std::vector<double>{ 80 } : std::vector<double>{ -900, slope };
    acquisition_fields a = radar(-5.5 * prf);
    const auto f = azimuth_filter::make(filter(a, geometry, "hann", 700), cpu);
    const auto before = points(*f, a);
    check_points(run(*f, before), f->plan().frame(), 1, 5e-3);
    f->set_centroid(coefficients);
    acquisition_fields b = a;
    b.doppler_centroid_hz = coefficients[0];
    b.doppler_centroid_slopes.assign(coefficients.begin() + 1, coefficients.end());
    check_points(run(*f, points(*f, b)), f->plan().frame(), 1, 5e-3);
    const auto other = azimuth_filter::make(filter(b, geometry, "hann", 700), cpu);
    const auto frame = points(*f, b);
    BOOST_TEST(difference(run(*f, frame), run(*other, frame)) == 0);
    f->set_centroid({ -5.5 * prf });
    check_points(run(*f, before), f->plan().frame(), 1, 5e-3);
    BOOST_CHECK_THROW(f->set_centroid({ 1e6 }), std::invalid_argument);
    check_points(run(*f, before), f->plan().frame(), 1, 5e-3);
}

// ---- lines in time, through both transforms

namespace {

//! Lines of a point, cell by cell as after migration: its own phase while it is in the
//! band, line 0 at time 0.
complex_double echo(const point& p, double t, double t0, double band_hz)
{
    if (t < t0 + p.time(p.centroid_hz + band_hz / 2) ||
        t > t0 + p.time(p.centroid_hz - band_hz / 2))
        return 0;
    const double r = std::hypot(p.closest_m, p.velocity_m_s * (t - t0));
    return std::polar(1.0, -4 * pi / p.wavelength() * (r + bias));
}

//! Image of lines first .. of a strip.
std::vector<cf32>
image_of(const std::vector<cf32>& strip, int first, azimuth_filter& filter)
{
    const range_doppler_frame& f = filter.plan().frame();
    azimuth_fft_params p;
    p.lines = f.lines;
    p.rows = f.rows;
    p.cols = f.cols;
    const auto fft = azimuth_fft::make(p, cpu);
    fft->take(strip.data() + std::size_t(first) * cols, 0, f.lines);
    fft->transform(f.lines);
    std::vector<cf32> spectrum(std::size_t(f.rows) * f.cols);
    fft->give(spectrum.data(), 0, f.rows);
    return run(filter, spectrum);
}

} // namespace

BOOST_DATA_TEST_CASE(echoes_in_time_focus,
                     data::make(geometries) * data::make(centroids),
                     geometry,
                     centroid)
{
    const acquisition_fields a = radar(centroid);
    azimuth_filter_params p = filter(a, geometry, "hamming", 1200);
    p.band.bandwidth_hz = 0.8 * prf;
    const auto f = azimuth_filter::make(p, cpu);
    const range_doppler_frame& frame = f->plan().frame();
    const point middle = point_of_cell(a, frame, cols / 2);
    // seen in the middle of the frame
    const double t0 = std::rint(600 - middle.time(middle.centroid_hz) * prf) / prf;
    std::vector<cf32> lines(std::size_t(1200) * cols);
    for (int m = 0; m < 1200; ++m)
        for (int n = 0; n < cols; ++n) {
            const complex_double x =
                echo(point_of_cell(a, frame, n), m / prf, t0, 0.95 * prf);
            lines[std::size_t(m) * cols + n] = { float(x.real()), float(x.imag()) };
        }
    const auto image = image_of(lines, 0, *f);
    for (int n = 0; n < cols; ++n) {
        const point own = point_of_cell(a, frame, n);
        double line = t0 * prf;
        if (geometry == "centroid")
            line += own.time(own.centroid_hz) * prf;
        const double row = line - frame.first_row;
        int best = 0;
        const auto at = [&](int i) { return value(image[std::size_t(i) * cols + n]); };
        for (int i = 0; i < frame.rows; ++i)
            if (std::abs(at(i)) > std::abs(at(best)))
                best = i;
        BOOST_TEST(std::abs(best - row) <= 0.5001);
        if (geometry == "zero_doppler") { // on a row
            BOOST_TEST(std::abs(std::abs(at(best)) - 1) < 0.02);
            BOOST_TEST(std::abs(std::arg(at(best))) < 0.05);
        }
    }
}

BOOST_DATA_TEST_CASE(frames_of_a_strip_join,
                     data::make(geometries) * data::make({ 0.0, 0.4 * prf }),
                     geometry,
                     centroid)
{
    const acquisition_fields a = radar(centroid);
    const int all = 2400;
    azimuth_filter_params p = filter(a, geometry, "hamming", all);
    p.band.bandwidth_hz = 0.7 * prf;
    const auto whole = azimuth_filter::make(p, cpu);
    p.geometry.lines = 800;
    const auto part = azimuth_filter::make(p, cpu);
    // points all along the strip
    std::mt19937 random(4);
    std::uniform_real_distribution<double> time(-2, all / prf + 2);
    std::vector<complex_double> sum(std::size_t(all) * cols);
    for (int i = 0; i < 60; ++i) {
        const int n = i % cols;
        const point q = point_of_cell(a, whole->plan().frame(), n);
        const double t0 = time(random) - q.time(q.centroid_hz);
        for (int m = 0; m < all; ++m)
            sum[std::size_t(m) * cols + n] += echo(q, m / prf, t0, 0.95 * prf);
    }
    std::vector<cf32> strip;
    for (const complex_double& x : sum)
        strip.push_back({ float(x.real()), float(x.imag()) });
    const auto truth = image_of(strip, 0, *whole);

    int first = 0;
    const int hop = part->plan().valid_rows(p.band, first);
    BOOST_REQUIRE(hop >= 300);
    const int shift = part->plan().frame().first_row - whole->plan().frame().first_row;
    double error = 0;
    double power = 0;
    double largest = 0;
    for (int begin = 0; begin + 800 <= all; begin += hop) {
        const auto image = image_of(strip, begin, *part);
        for (int i = first; i < first + hop; ++i)
            for (int n = 0; n < cols; ++n) {
                const complex_double x = value(image[std::size_t(i) * cols + n]);
                const complex_double y =
                    value(truth[std::size_t(begin + i + shift) * cols + n]);
                error += std::norm(x - y);
                power += std::norm(y);
                largest = std::max(largest, std::abs(x - y));
            }
    }
    BOOST_TEST_MESSAGE("joined frames differ from one long frame by "
                       << 10 * std::log10(error / power) << " dB, " << largest
                       << " of a point at most");
    BOOST_TEST(10 * std::log10(error / power) < -40);
    BOOST_TEST(largest < 0.01);
}

BOOST_AUTO_TEST_CASE(half_rows_and_rows_that_do_not_come)
{
    const acquisition_fields a = radar(90);
    azimuth_filter_params p = filter(a, "zero_doppler", "rect", 101);
    const auto single = azimuth_filter::make(p, cpu);
    p.input = line_storage::half;
    const auto half = azimuth_filter::make(p, cpu);
    const int rows = single->plan().frame().rows;
    auto frame = noise(std::size_t(rows) * cols);
    const auto full = run(*single, frame);
    std::vector<char> stored(rows * line_bytes(line_storage::half, cols));
    for (int k = 0; k < rows; ++k)
        store_line(line_storage::half,
                   frame.data() + std::size_t(k) * cols,
                   cols,
                   stored.data() + k * line_bytes(line_storage::half, cols));
    half->take(stored.data(), 0, rows);
    half->transform();
    std::vector<cf32> out(full.size());
    half->give(out.data(), 0, rows);
    BOOST_TEST(difference(out, full) < 5e-5);

    // rows 0 to 9, 20 to 29: the others are zeros, also after a full frame
    single->take(frame.data(), 0, 10);
    single->take(frame.data() + 20 * cols, 20, 10);
    single->transform();
    single->give(out.data(), 0, rows);
    single->next();
    for (int k = 0; k < rows; ++k)
        if (k >= 30 || (k >= 10 && k < 20))
            std::fill_n(frame.begin() + std::size_t(k) * cols, cols, cf32{ 0, 0 });
    BOOST_TEST(difference(out, run(*single, frame)) == 0);
}

BOOST_DATA_TEST_CASE(a_row_that_is_not_finite_becomes_zeros,
                     data::make({ 1, 2 }) * data::make({ 0.0, 1.0 }),
                     looks,
                     slope)
{
    acquisition_fields a = radar(90);
    a.doppler_centroid_slopes = { slope };
    azimuth_filter_params p = filter(a, "centroid", "rect", 97, 101);
    p.band.looks = looks;
    const auto f = azimuth_filter::make(p, cpu);
    auto frame = noise(101 * cols);
    auto clean = frame;
    run(*f, frame);
    frame[cols * 7 + cols - 1].re = std::numeric_limits<float>::quiet_NaN();
    frame[cols * 100].im = std::numeric_limits<float>::infinity();
    for (const int k : { 7, 100 })
        std::fill_n(clean.begin() + k * cols, cols, cf32{ 0, 0 });
    const auto out = run(*f, frame);
    BOOST_TEST(f->bad_lines() == 2u);
    BOOST_TEST(difference(out, run(*f, clean)) == 0);
    BOOST_TEST(f->bad_lines() == 2u);
}

BOOST_DATA_TEST_CASE(any_size, data::make({ 1, 2, 3, 127, 1201 }), rows)
{
    const acquisition_fields a = radar(0.4 * prf);
    const auto f = azimuth_filter::make(filter(a, "centroid", "rect", rows, rows), cpu);
    const auto frame = noise(std::size_t(rows) * cols);
    for (const cf32 v : run(*f, frame))
        BOOST_REQUIRE(is_finite(v));
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto message = [](int looks, double bandwidth, int rows, const char* w) {
        azimuth_filter_params p = filter(radar(0), "zero_doppler", w, rows, rows);
        p.band.looks = looks;
        p.band.bandwidth_hz = bandwidth;
        try {
            azimuth_filter::make(p, cpu);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    BOOST_TEST(message(0, 0, 64, "rect").find("looks is 0; expected") == 0u);
    BOOST_TEST(message(65, 0, 64, "rect").find("looks is 65; expected") == 0u);
    BOOST_TEST(message(60, 200, 64, "rect").find("looks is 60; a look would have") == 0u);
    BOOST_TEST(message(1, -1, 64, "rect").find("bandwidth_hz is -1 Hz; expected") == 0u);
    BOOST_TEST(message(1, 251, 64, "rect").find("bandwidth_hz is 251 Hz; expected") ==
               0u);
    BOOST_TEST(message(1, NAN, 64, "rect").find("bandwidth_hz is nan Hz; expected") ==
               0u);
#ifndef __SANITIZE_ADDRESS__ // it ends the program where there is no memory
    acquisition_fields a = radar(0);
    a.samples = 1 << 24;
    azimuth_filter_params p = filter(a, "zero_doppler", "rect", 1 << 20);
    p.band.looks = 8;
    try {
        azimuth_filter::make(p, cpu);
        BOOST_TEST(false);
    } catch (const std::runtime_error& e) {
        BOOST_TEST(std::string(e.what()).find(
                       "no memory for 8 looks of 1048576 rows x 16777216 cells: "
                       "1125899906842624 bytes needed; use") == 0u);
    }
#endif

    const auto f =
        azimuth_filter::make(filter(radar(0), "zero_doppler", "rect", 16, 16), cpu);
    const auto in = noise(16 * cols);
    std::vector<cf32> out(16 * cols);
    f->take(in.data(), 0, 8);
    BOOST_CHECK_THROW(f->take(in.data(), 7, 1), std::invalid_argument);
    BOOST_CHECK_THROW(f->take(in.data(), 8, 9), std::invalid_argument);
    BOOST_CHECK_THROW(f->give(out.data(), 9, 8), std::invalid_argument);
    BOOST_CHECK_THROW(f->give(out.data(), -1, 8), std::invalid_argument);
}
