// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE image_quality
#include "../core/constants.h"
#include "image_quality.h"
#include "image_quality_math.h"
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace gr::sar;
using cd = std::complex<double>;

namespace {

const double c = speed_of_light;

// X band, 300 MHz, 10 km: cells of about 0.5 m
point_target_geometry broadside()
{
    point_target_geometry g;
    g.aperture_start_m = { -150, 0, 5000 };
    g.aperture_centre_m = { 0, 0, 5000 };
    g.aperture_end_m = { 150, 0, 5000 };
    g.carrier_hz = 9.6e9;
    g.bandwidth_hz = 300e6;
    return g;
}
const vec3 scene = { 0, 8660, 0 };

// The same track seen from ahead: the target lies 20 degrees off broadside
point_target_geometry squinted()
{
    auto g = broadside();
    const vec3 shift = { -10000 * std::tan(20 * pi / 180), 0, 0 };
    g.aperture_start_m = g.aperture_start_m + shift;
    g.aperture_centre_m = g.aperture_centre_m + shift;
    g.aperture_end_m = g.aperture_end_m + shift;
    return g;
}

image_grid
grid_of(double spacing_m = 0.31, int rows = 128, int cols = 120, double turn = 0)
{
    return image_grid::centred(scene,
                               { std::cos(turn), std::sin(turn), 0 },
                               { -std::sin(turn), std::cos(turn), 0 },
                               spacing_m,
                               spacing_m * 0.9,
                               rows,
                               cols);
}

// Response of a window by its definition, an integral over the band (midpoints); sinc for
// the rect, where it is known
double response(const window& w, double u)
{
    if (w.kind() == window_kind::rect)
        return std::abs(u) < 1e-9 ? 1 : std::sin(pi * u) / (pi * u);
    double s = 0, s0 = 0;
    for (int i = 0; i < 200; ++i) {
        const double x = (i + 0.5) / 200 - 0.5;
        s += w(x) * std::cos(2 * pi * u * x);
        s0 += w(x);
    }
    return s / s0;
}

using image = std::vector<cf32>;

void add(image& im, const image_grid& g, const std::function<cd(vec3)>& f)
{
    for (int i = 0; i < g->rows; ++i)
        for (int j = 0; j < g->cols; ++j) {
            const cd v = f(g.position(i, j));
            cf32& o = im[i * g->cols + j];
            o = { static_cast<float>(o.re + v.real()),
                  static_cast<float>(o.im + v.imag()) };
        }
}

image blank(const image_grid& g) { return image(g->rows * g->cols, cf32{ 0, 0 }); }

// Ideal response: one window over the band, one over the aperture, on the carrier of the
// middle of the aperture. widen stretches a direction.
image ideal(const image_grid& g,
            const point_target_geometry& geo,
            vec3 target,
            cd amplitude = 1,
            double widen_range = 1,
            double widen_azimuth = 1)
{
    const auto u = [&](vec3 q) { return (1 / length(target - q)) * (target - q); };
    const vec3 a1 = u(geo.aperture_centre_m);
    const vec3 a2 = u(geo.aperture_end_m) - u(geo.aperture_start_m);
    image im = blank(g);
    add(im, g, [&](vec3 p) {
        const vec3 e = p - target;
        const double r =
            length(p - geo.aperture_centre_m) - length(target - geo.aperture_centre_m);
        return amplitude * std::polar(1.0, 4 * pi * geo.carrier_hz * r / c) *
               response(geo.range_window,
                        dot(e, a1) * 2 * geo.bandwidth_hz / c / widen_range) *
               response(geo.azimuth_window,
                        dot(e, a2) * 2 * geo.carrier_hz / c / widen_azimuth);
    });
    return im;
}

// What back-projection makes of a point: mean over pulses and frequencies, no
// approximation. The antenna moves evenly when its centre is in the middle, else with
// constant acceleration.
image projected(const image_grid& g,
                const point_target_geometry& geo,
                vec3 target,
                int pulses)
{
    image im = blank(g);
    const int n = 256; // frequencies
    add(im, g, [&](vec3 p) {
        cd s = 0;
        for (int k = 0; k < pulses; ++k) {
            const double t = (k + 0.5) / pulses;
            const vec3 q = (1 - t) * (1 - 2 * t) * geo.aperture_start_m +
                           4 * t * (1 - t) * geo.aperture_centre_m +
                           t * (2 * t - 1) * geo.aperture_end_m;
            const double d = 2 * (length(p - q) - length(target - q)) / c;
            const double x = d * geo.bandwidth_hz / n;
            const double band =
                std::abs(x) < 1e-12 ? 1 : std::sin(pi * n * x) / (n * std::sin(pi * x));
            s += std::polar(band, 2 * pi * geo.carrier_hz * d);
        }
        return s / double(pulses);
    });
    return im;
}

void tight(const point_target_report& r, double irw, double pslr, double islr)
{
    BOOST_TEST_REQUIRE(r.found, r.problem);
    for (const cut_report& k : { r.range, r.azimuth }) {
        BOOST_TEST(std::abs(k.position_error_cells) < 2e-3);
        BOOST_TEST(std::abs(k.irw_m / k.irw_theory_m - 1) < irw);
        BOOST_TEST(std::abs(k.pslr_db - k.pslr_theory_db) < pslr);
        BOOST_TEST(std::abs(k.islr_db - k.islr_theory_db) < islr);
    }
    BOOST_TEST(std::abs(r.phase_error_rad) < 2e-3);
    BOOST_TEST(std::abs(r.peak_amplitude - 1) < 2e-3);
}

} // namespace

BOOST_AUTO_TEST_CASE(theory_agrees_with_published_figures)
{
    // name, IRW, null, PSLR, ISLR over everything, ISLR over 10 null distances
    const struct {
        const char* name;
        double irw, null_to_null, pslr, islr, islr10;
    } table[] = {
        { "rect", 0.886, 2.00, -13.26, -9.68, -10.11 },
        { "taylor(4, 35)", 1.184, 3.31, -35.17, -27.13, -27.99 },
        { "kaiser(2.5)", 1.043, 2.56, -21.02, -18.53, -18.89 },
        { "hamming", 1.306, 4.03, -42.66, -34.38, -35.34 },
        { "hann", 1.446, 4.03, -31.47, -32.89, -32.89 },
    };
    for (const auto& t : table) {
        const window w(t.name);
        const auto far = theory_of(w, 150, 150);
        const auto near = theory_of(w, 10 * far.null_cells, 10 * far.null_cells);
        BOOST_TEST_CONTEXT(t.name)
        {
            BOOST_TEST(std::abs(w.irw() / t.irw - 1) < 0.01);
            BOOST_TEST(std::abs(2 * far.null_cells / t.null_to_null - 1) < 0.02);
            BOOST_TEST(std::abs(far.pslr_db - t.pslr) < 0.15);
            BOOST_TEST(std::abs(far.islr_db - t.islr) < 0.3);
            BOOST_TEST(std::abs(near.islr_db - t.islr10) < 0.3);
        }
    }
    const auto rect = theory_of(window(), 150, 150);
    BOOST_TEST(std::abs(rect.pslr_db + 13.26) < 0.01);
    BOOST_TEST(std::abs(rect.islr_db + 9.68) < 0.04);
}

BOOST_AUTO_TEST_CASE(cuts_point_where_the_geometry_says)
{
    const auto g = broadside();
    const auto t = cuts_at(
        scene, g.aperture_start_m, g.aperture_centre_m, g.aperture_end_m, { 0, 0, 1 });
    BOOST_TEST(length(t.range_direction - vec3{ 0, 1, 0 }) < 1e-9);   // away
    BOOST_TEST(length(t.azimuth_direction - vec3{ 1, 0, 0 }) < 1e-9); // along the flight
    BOOST_TEST(std::abs(t.range_slope - 8660 / std::hypot(8660.0, 5000.0)) < 1e-12);
    BOOST_TEST(std::abs(t.azimuth_slope - 0.03) < 1e-5); // 300 m at 10 km
    // squint: the range cut is along the mean line of Doppler, the azimuth cut across the
    // line of sight on the ground
    const auto s = squinted();
    const auto q = cuts_at(
        scene, s.aperture_start_m, s.aperture_centre_m, s.aperture_end_m, { 0, 0, 1 });
    const vec3 sight = { 10000 * std::tan(20 * pi / 180), 8660, 0 };
    BOOST_TEST(std::abs(dot(q.azimuth_direction, unit(sight))) < 1e-9);
    BOOST_TEST(q.azimuth_direction.x > 0.9);
    BOOST_TEST(q.range_direction.y > 0.9);
    double r, a;
    along_cuts(q, 0.7 * q.range_direction - 0.2 * q.azimuth_direction, r, a);
    BOOST_TEST(std::abs(r - 0.7) < 1e-9);
    BOOST_TEST(std::abs(a + 0.2) < 1e-9);
}

BOOST_AUTO_TEST_CASE(ideal_target_anywhere_between_pixels)
{
    const auto geo = broadside();
    const auto g = grid_of();
    for (const vec3 off : { vec3{ 0, 0, 0 }, { 0.155, 0.139, 0 }, { -0.1, 0.077, 0 } }) {
        const vec3 target = scene + off;
        const auto r = measure_point_target(ideal(g, geo, target).data(), g, target, geo);
        tight(r, 2e-3, 0.02, 0.04);
        BOOST_TEST(length(r.position_m - target) < 1e-3);
        BOOST_TEST(r.pass, (r.failures.empty() ? "" : r.failures[0]));
        BOOST_TEST(std::abs(r.range.pslr_theory_db + 13.26) < 0.01);
        // (the share of the aperture grows over 3 % of band)
        BOOST_TEST(std::abs(r.azimuth.islr_theory_db + 10.11) < 0.1);
        // 0.886 c / (2B) on the ground at 30 degrees, and 0.886 (lambda / 2) / 0.03
        BOOST_TEST(std::abs(r.range.irw_theory_m - 0.886 * c / 600e6 / 0.86603) < 1e-3);
        BOOST_TEST(std::abs(r.azimuth.irw_theory_m - 0.886 * c / 19.2e9 / 0.03) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(ideal_target_under_squint)
{
    // skewed response: cuts along rows and columns would show neither of the two windows
    const auto geo = squinted();
    for (const double turn : { 0.0, 0.4 }) {
        const auto g = grid_of(0.3, 140, 150, turn);
        const vec3 target = scene + vec3{ 0.11, -0.06, 0 };
        const auto r = measure_point_target(ideal(g, geo, target).data(), g, target, geo);
        tight(r, 3e-3, 0.04, 0.06);
        BOOST_TEST(r.pass, (r.failures.empty() ? "" : r.failures[0]));
    }
}

BOOST_AUTO_TEST_CASE(aperture_that_ends_at_doppler_frequencies)
{
    // slant plane, track along x at y = z = 0, 20 degrees ahead, C band; what is left of
    // the spectrum is a band of kx, the same at every frequency, and the band of the
    // pulse
    const double f0 = 5.3e9, bandwidth = 100e6, k0 = 2 * f0 / c, width = 0.66;
    const vec3 target = { 3000.11, 8000.04, 0 };
    const double kx0 = k0 * std::sin(20 * pi / 180);
    const auto antenna = [&](double kx) {
        return vec3{ target.x - target.y * kx / std::sqrt(k0 * k0 - kx * kx), 0, 0 };
    };
    point_target_geometry geo;
    geo.aperture_start_m = antenna(kx0 + width / 2); // furthest ahead
    geo.aperture_centre_m = antenna(kx0);
    geo.aperture_end_m = antenna(kx0 - width / 2);
    geo.carrier_hz = f0;
    geo.bandwidth_hz = bandwidth;
    const auto g = image_grid::centred(
        { 3000, 8000, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, 0.8, 0.6, 128, 120);
    image im = blank(g);
    const int n = 64;
    add(im, g, [&](vec3 p) {
        cd s = 0;
        for (int i = 0; i < n; ++i) {
            const double kx = kx0 + width * ((i + 0.5) / n - 0.5);
            for (int j = 0; j < n; ++j) {
                const double k = 2 * (f0 + bandwidth * ((j + 0.5) / n - 0.5)) / c;
                s += std::polar(1.0,
                                2 * pi *
                                    (kx * (p.x - target.x) +
                                     std::sqrt(k * k - kx * kx) * (p.y - target.y)));
            }
        }
        return s / double(n * n);
    });
    const auto wrong = measure_point_target(im.data(), g, target, geo);
    BOOST_TEST(!wrong.pass); // cut across the line of sight, the band shows
    BOOST_TEST(wrong.azimuth.pslr_db < wrong.azimuth.pslr_theory_db - 0.5);
    geo.ends = aperture_ends::doppler;
    const auto r = measure_point_target(im.data(), g, target, geo);
    tight(r, 4e-3, 0.08, 0.1);
    BOOST_TEST(r.pass, (r.failures.empty() ? "" : r.failures[0]));
    BOOST_TEST(length(r.azimuth.direction - vec3{ 1, 0, 0 }) < 1e-9);
    BOOST_TEST(std::abs(r.azimuth.cell_m - 1 / width) < 1e-6);
    BOOST_TEST(std::abs(r.range.cell_m / (c / (2 * bandwidth)) - 1) < 1e-3);
    BOOST_TEST(to_string(aperture_ends_from_name("doppler")) == "doppler");
    BOOST_CHECK_THROW(aperture_ends_from_name("beam"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(windows_and_a_complex_amplitude)
{
    for (const char* name : { "taylor(4, 35)", "kaiser(2.5)", "hamming" }) {
        auto geo = broadside();
        geo.range_window = window(name);
        const auto g = grid_of(0.3, 150, 170);
        const vec3 target = scene + vec3{ 0.04, 0.13, 0 };
        const cd amplitude = std::polar(1.0, 2.5);
        point_target_options o;
        o.expected_phase_rad = 2.5;
        const auto r = measure_point_target(
            ideal(g, geo, target, amplitude).data(), g, target, geo, o);
        BOOST_TEST_CONTEXT(name)
        {
            tight(r, 3e-3, 0.1, 0.1);
            BOOST_TEST(std::abs(r.range.irw_theory_m / r.range.cell_m -
                                window(name).irw()) < 1e-4);
            BOOST_TEST(std::abs(r.azimuth.irw_theory_m / r.azimuth.cell_m - 0.886) <
                       1e-3);
        }
    }
}

BOOST_AUTO_TEST_CASE(critically_sampled_image_off_the_middle_of_its_spectrum)
{
    // hardly more than one pixel a cell, and a carrier that is not the middle of the
    // spectrum: there is no spare band, and the signal lies across the edge of an
    // uncentred spectrum
    const auto geo = broadside();
    for (const double cells : { 0.97, 0.93 }) {
        const auto g = image_grid::centred(
            scene, { 1, 0, 0 }, { 0, 1, 0 }, cells * c / 19.2e9 / 0.03, 0.3, 120, 100);
        const vec3 target = scene + vec3{ 0.2, 0.1, 0 };
        image im = ideal(g, geo, target);
        for (int i = 0; i < g->rows; ++i)
            for (int j = 0; j < g->cols; ++j) {
                const double x = g.position(i, j).x - target.x;
                const cd turn = std::polar(1.0, 2 * pi * 0.2 * x);
                cf32& v = im[i * g->cols + j];
                const cd w = cd(v.re, v.im) * turn;
                v = { static_cast<float>(w.real()), static_cast<float>(w.imag()) };
            }
        const auto r = measure_point_target(im.data(), g, target, geo);
        tight(r, 5e-3, 0.1, 0.15);
    }
}

// An antenna that is faster at one end weighs the other end more, and the theory knows.
BOOST_AUTO_TEST_CASE(uneven_speed)
{
    auto geo = broadside();
    geo.aperture_centre_m.x = 20;
    const auto g = grid_of(0.25);
    const vec3 target = scene + vec3{ 0.2, 0.1, 0 };
    const auto r =
        measure_point_target(projected(g, geo, target, 400).data(), g, target, geo);
    tight(r, 5e-3, 0.1, 0.15);
    BOOST_TEST(std::abs(r.azimuth.pslr_theory_db + 13.26) > 0.1);
}

// A beam of 30 degrees: the arc of wave vectors narrows the range response and lowers its
// sidelobes; the theory sees it, against an image with no approximation.
BOOST_AUTO_TEST_CASE(wide_beam)
{
    point_target_geometry geo;
    const double half = 500 * std::tan(15 * pi / 180);
    geo.aperture_start_m = { -half, 0, 0 };
    geo.aperture_end_m = { half, 0, 0 };
    geo.carrier_hz = 9.6e9;
    geo.bandwidth_hz = 400e6;
    const vec3 target = { 0.01, 500.02, 0 };
    const auto g = image_grid::centred(
        { 0, 500, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, 0.02, 0.06, 100, 150);
    const auto r =
        measure_point_target(projected(g, geo, target, 1500).data(), g, target, geo);
    tight(r, 5e-3, 0.1, 0.15);
    BOOST_TEST(r.range.irw_theory_m / (0.8859 * r.range.cell_m) < 0.9);
    BOOST_TEST(r.range.pslr_theory_db < -20);
}

BOOST_AUTO_TEST_CASE(true_back_projection_images_of_random_geometries)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int k = 0; k < 5; ++k) {
        point_target_geometry geo;
        // either side of the track, any heading, squint up to 20 degrees
        const double heading = pi * uniform(random);
        const vec3 along = { std::cos(heading), std::sin(heading), 0 };
        const vec3 left = { -along.y, along.x, 0 };
        const double side = k % 2 ? 1 : -1;
        const double squint = 20 * pi / 180 * uniform(random);
        const vec3 middle = scene + (6000 + 2000 * uniform(random)) * side * left +
                            (7000 * std::tan(squint)) * along +
                            vec3{ 0, 0, 4000 + 1000 * uniform(random) };
        const double half = 120;
        geo.aperture_start_m = middle - half * along;
        geo.aperture_centre_m = middle;
        geo.aperture_end_m = middle + half * along;
        geo.carrier_hz = 9.6e9;
        geo.bandwidth_hz = 300e6;
        const vec3 target = scene + vec3{ uniform(random), uniform(random), 0 };
        const auto g = grid_of(0.3, 128, 130, uniform(random));
        const auto r =
            measure_point_target(projected(g, geo, target, 100).data(), g, target, geo);
        BOOST_TEST_CONTEXT("geometry " << k << ", squint " << squint * 180 / pi)
        {
            BOOST_TEST_REQUIRE(r.found, r.problem);
            BOOST_TEST(r.pass, (r.failures.empty() ? "" : r.failures[0]));
        }
    }
}

BOOST_AUTO_TEST_CASE(faults_fail)
{
    const auto geo = broadside();
    const auto g = grid_of();
    const vec3 target = scene + vec3{ 0.1, 0.1, 0 };
    const auto failure_of = [&](const image& im) {
        const auto r = measure_point_target(im.data(), g, target, geo);
        BOOST_TEST(!r.pass);
        std::string all;
        for (const auto& s : r.failures)
            all += s + "\n";
        BOOST_TEST_MESSAGE(all);
        return all;
    };
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    BOOST_TEST(has(failure_of(ideal(g, geo, target, 1, 1.02)), "range IRW"));
    BOOST_TEST(!has(failure_of(ideal(g, geo, target, 1, 1.02)), "azimuth IRW"));
    BOOST_TEST(has(failure_of(ideal(g, geo, target, 1, 1, 1.02)), "azimuth IRW"));
    // a twentieth of a cell
    BOOST_TEST(has(failure_of(ideal(g, geo, target + vec3{ 0, 0.05 * 0.577, 0 })),
                   "range position"));
    BOOST_TEST(has(failure_of(ideal(g, geo, target + vec3{ 0.05 * 0.52, 0, 0 })),
                   "azimuth position"));
    // sidelobes of another window
    auto other = geo;
    other.azimuth_window = window("hamming");
    BOOST_TEST(has(failure_of(ideal(g, other, target)), "azimuth PSLR"));
    // phase: the conjugate amplitude, and 0.03 rad
    BOOST_TEST(has(failure_of(ideal(g, geo, target, std::polar(1.0, 0.03))), "phase"));
    BOOST_TEST(measure_point_target(
                   ideal(g, geo, target, std::polar(1.0, 0.015)).data(), g, target, geo)
                   .pass);
    // mirrored in the middle of the image: target off the centre, so it is not there
    const vec3 far = scene + vec3{ 8, -6, 0 };
    image mirrored = ideal(g, geo, far);
    std::reverse(mirrored.begin(), mirrored.end());
    const auto r = measure_point_target(mirrored.data(), g, far, geo);
    BOOST_TEST(!r.pass);
    // conjugated image (wrong sign of the phase): no clean response is left
    image conjugate = ideal(g, geo, target);
    for (cf32& v : conjugate)
        v = conj(v);
    BOOST_TEST(!measure_point_target(conjugate.data(), g, target, geo).pass);
    // range-Doppler limits are wider
    const auto wide = measure_point_target(ideal(g, geo, target, 1, 1.015).data(),
                                           g,
                                           target,
                                           geo,
                                           {},
                                           point_target_limits::range_doppler());
    BOOST_TEST(wide.pass);
}

BOOST_AUTO_TEST_CASE(targets_that_cannot_be_measured_are_said_so)
{
    const auto geo = broadside();
    const auto g = grid_of();
    const auto problem = [&](const image& im, vec3 at) {
        const auto r = measure_point_target(im.data(), g, at, geo);
        BOOST_TEST(!r.found);
        BOOST_TEST(!r.pass);
        BOOST_TEST(!r.failures.empty());
        BOOST_TEST_MESSAGE(r.problem);
        return r.problem;
    };
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    BOOST_TEST(has(problem(blank(g), scene), "zero"));
    image flat(g->rows * g->cols, cf32{ 1, 0 });
    BOOST_TEST(has(problem(flat, scene), "no target"));
    BOOST_TEST(has(problem(ideal(g, geo, scene), scene + vec3{ 100, 0, 0 }), "outside"));
    image hole = ideal(g, geo, scene);
    hole[70 * g->cols + 66].re = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(has(problem(hole, scene), "1 of "));
    const image nothing(g->rows * g->cols,
                        cf32{ std::numeric_limits<float>::infinity(), 0 });
    problem(nothing, scene);
    // noise alone
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    image noise = blank(g);
    for (cf32& v : noise)
        v = { normal(random), normal(random) };
    BOOST_TEST(has(problem(noise, scene), "no target"));
    // every place along the border, and images too small to hold a chip
    for (const double i : { 0.0, 1.0, 3.0, 127.0 })
        for (const double j : { 0.0, 60.0, 119.0 })
            if (i != 60) {
                const vec3 at = g.position(i, j);
                BOOST_TEST(has(problem(ideal(g, geo, at), at), "edge"));
            }
    for (const int n : { 1, 2, 5, 9 }) {
        const auto small = grid_of(0.3, n, n);
        const vec3 at = small.position(n / 2, n / 2);
        const auto r = measure_point_target(ideal(small, geo, at).data(), small, at, geo);
        BOOST_TEST(!r.found);
    }
    // near the border but not at it: measured on what is there
    const vec3 near = g.position(30, 60.4);
    const auto r = measure_point_target(ideal(g, geo, near).data(), g, near, geo);
    BOOST_TEST(r.found, r.problem);
    BOOST_TEST(r.pass, (r.failures.empty() ? "" : r.failures[0]));
}

BOOST_AUTO_TEST_CASE(geometry_that_says_nothing_is_refused)
{
    const auto g = grid_of();
    const image im = blank(g);
    const auto fails = [&](point_target_geometry geo, const char* word) {
        BOOST_CHECK_EXCEPTION(measure_point_target(im.data(), g, scene, geo),
                              std::invalid_argument,
                              [&](const std::invalid_argument& e) {
                                  return std::string(e.what()).find(word) !=
                                         std::string::npos;
                              });
    };
    auto geo = broadside();
    geo.carrier_hz = 0;
    fails(geo, "carrier_hz is 0");
    geo = broadside();
    geo.bandwidth_hz = NAN;
    fails(geo, "bandwidth_hz is nan");
    geo = broadside();
    geo.aperture_end_m = geo.aperture_start_m;
    fails(geo, "same point");
    geo = broadside();
    geo.aperture_centre_m.x = INFINITY;
    fails(geo, "aperture_centre_m");
    geo = broadside();
    geo.aperture_start_m = scene + vec3{ 0, 0, 100 }; // straight down, straight up
    geo.aperture_centre_m = scene + vec3{ 0, 0, 200 };
    geo.aperture_end_m = scene + vec3{ 0, 0, 300 };
    const auto r = measure_point_target(im.data(), g, scene, geo);
    BOOST_TEST(!r.found);
    BOOST_TEST(r.problem.find("resolves nothing") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(figures_of_a_whole_image)
{
    // four pixels of known magnitude: 1, 1, 1, 3
    std::vector<cf32> im = { { 1, 0 }, { 0, -1 }, { -1, 0 }, { 0, 3 } };
    auto s = image_statistics(im.data(), 4);
    BOOST_TEST(s.mean == 1.5, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(s.contrast == std::sqrt(0.75) / 1.5, boost::test_tools::tolerance(1e-6));
    const double p = 1.0 / 12, q = 9.0 / 12;
    BOOST_TEST(s.entropy_nat == -3 * p * std::log(p) - q * std::log(q),
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(s.peak == 3, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(s.peak_to_median_db == 20 * std::log10(3),
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(s.saturated == 0);
    BOOST_TEST(image_statistics(im.data(), 4, 2.5).saturated == 0.25);
    im.push_back({ NAN, 0 });
    im.push_back({ 0, INFINITY });
    s = image_statistics(im.data(), 6);
    BOOST_TEST(s.non_finite == 2);
    BOOST_TEST(s.mean == 1.5, boost::test_tools::tolerance(1e-12));
    // equal intensities: the entropy is the logarithm of their number
    std::vector<cf32> even(1000, cf32{ 0.6f, 0.8f });
    s = image_statistics(even.data(), 1000);
    BOOST_TEST(s.entropy_nat == std::log(1000.0), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(s.contrast < 1e-3);
    // speckle: Rayleigh magnitude has contrast sqrt(4 / pi - 1)
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<cf32> speckle(200000);
    for (cf32& v : speckle)
        v = { normal(random), normal(random) };
    s = image_statistics(speckle.data(), speckle.size());
    BOOST_TEST(std::abs(s.contrast - std::sqrt(4 / pi - 1)) < 0.005);
    BOOST_TEST(image_statistics(nullptr, 0).peak == 0);
}

BOOST_AUTO_TEST_CASE(several_targets_of_one_image)
{
    const auto geo = broadside();
    const auto g = grid_of(0.3, 220, 220);
    const vec3 a = scene + vec3{ -14, -14, 0 }, b = scene + vec3{ 13, 15, 0 };
    image im = ideal(g, geo, a, { 0, 1 });
    const image other = ideal(g, geo, b, 0.5);
    for (std::size_t i = 0; i < im.size(); ++i)
        im[i] = im[i] + other[i];
    image_quality_params p{ g, geo, { { a, { 0, 1 } }, { b, 0.5 } } };
    auto r = kernel::image_quality::make(p)->measure(im.data(), 4);
    BOOST_TEST(r.image == 4);
    BOOST_TEST(r.targets.size() == 2);
    for (const auto& t : r.targets)
        BOOST_TEST(t.pass, (t.failures.empty() ? "" : t.failures[0]));
    BOOST_TEST(r.pass);
    p.targets[0].amplitude = 1; // another phase than the image has
    r = kernel::image_quality::make(p)->measure(im.data(), 5);
    BOOST_TEST(!r.pass);
    BOOST_TEST(!r.targets[0].pass);
    BOOST_TEST(r.targets[1].pass);
}
