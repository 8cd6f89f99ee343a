// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE polar_format_imager
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../bp_accumulator/bp_accumulator.h"
#include "../image_quality/image_quality.h"
#include "qa_polar_scene.h"
#include <limits>

using namespace polar_test;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

std::vector<cf32> focus(const polar_format_imager_params& p,
                        const aperture& a,
                        const std::vector<cf32>& raw)
{
    return form(*polar_format_imager::make(p, cpu), a, raw);
}

polar_format_figures figures_of(const polar_format_imager_params& p, const aperture& a)
{
    std::vector<int> lines(a.pulses());
    return polar_format_plan(p, a.tx.data(), a.rx.empty() ? nullptr : a.rx.data(), lines)
        .figures;
}

complex at(const std::vector<cf32>& image, const image_grid& g, int row, int col)
{
    const cf32 v = image[static_cast<std::size_t>(row) * g->cols + col];
    return { v.re, v.im };
}

image_grid square(double spacing_m, int side, vec3 centre = { 0, 0, 0 })
{
    return image_grid::centred(
        centre, { 0, -1, 0 }, { 1, 0, 0 }, spacing_m, spacing_m, side, side);
}

} // namespace

// The nonuniform FFT against the sum that it stands for: any geometry, any size.
BOOST_DATA_TEST_CASE(is_the_sum_over_plane_waves, data::xrange(12), seed)
{
    std::mt19937 random(seed);
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    spotlight_options o;
    o.samples = std::vector<int>{ 1, 37, 128, 199 }[seed % 4];
    o.pulses = std::vector<int>{ 1, 2, 83, 120 }[(seed / 2) % 4];
    o.resolution_m = uniform(0.3, 2);
    o.range_m = uniform(2e3, 2e4);
    o.depression_deg = uniform(5, 60);
    o.squint_deg = uniform(-30, 30);
    o.bandwidth_hz = o.samples * 3e6;
    o.side = seed % 2 ? 1 : -1;
    aperture a = spotlight(o);
    a.fields.phase_sign = seed % 3 ? -1 : 1;
    if (seed % 5 == 0) { // descending frequencies
        a.fields.carrier_hz += (a.fields.samples - 1) * a.fields.frequency_step_hz;
        a.fields.frequency_step_hz *= -1;
    }
    for (vec3& p : a.tx) // a track that no function describes, flown in any order
        p = p + vec3{ uniform(-1, 1), uniform(-1, 1), uniform(-1, 1) };
    std::shuffle(a.tx.begin(), a.tx.end(), random);
    if (seed % 4 == 3) // a receiver elsewhere
        for (const vec3& p : a.tx)
            a.rx.push_back(p + vec3{ 300, uniform(-5, 5), 50 });
    const double turn_rad = uniform(-3, 3);
    const double skew_rad = turn_rad + uniform(1.2, 1.8);
    const double reach =
        a.pulses() > 2 ? std::min(18.0, 0.3 * a.pulses() * o.resolution_m) : 0.5;
    const int rows = 1 + seed % 3 * 17;
    const int cols = 1 + (seed + 1) % 4 * 11;
    const image_grid g =
        image_grid::centred({ uniform(-3, 3), uniform(-3, 3), uniform(-2, 2) },
                            { std::cos(turn_rad), std::sin(turn_rad), 0 },
                            { std::cos(skew_rad), std::sin(skew_rad), 0 },
                            reach / 60,
                            reach / 40,
                            rows,
                            cols);
    std::vector<cf32> raw(static_cast<std::size_t>(a.pulses()) * a.fields.samples);
    std::normal_distribution<float> noise;
    for (cf32& v : raw)
        v = { noise(random), noise(random) };
    polar_format_imager_params p = params_of(a, g, curvature_mode::warn);
    p.range_window = window(seed % 2 ? "taylor(4, 35)" : "rect");
    p.azimuth_window = window(seed % 3 ? "hamming" : "rect");
    const image truth = direct_sum(a, g, raw, true, p.range_window, p.azimuth_window);
    BOOST_TEST(error_db(focus(p, a, raw), truth) < -90);
}

// Every pixel, also far from the middle: what is left is what the curvature defocuses.
BOOST_DATA_TEST_CASE(is_back_projection,
                     data::make({ 0.0, 10.0, -30.0 }) * data::make({ 40.0, 0.0 }),
                     squint_deg,
                     depression_deg)
{
    spotlight_options o;
    o.squint_deg = squint_deg;
    o.depression_deg = depression_deg;
    aperture a = spotlight(o);
    // level flight in the plane of the pixels, or above it
    const image_grid g = square(0.7, 61);
    std::vector<std::pair<int, int>> places = { { 30, 30 }, { 2, 3 },   { 3, 58 },
                                                { 57, 1 },  { 59, 57 }, { 30, 57 } };
    for (const auto& [row, col] : places)
        a.targets.push_back({ g.position(row, col), std::polar(1.0, 0.3 * row) });
    const std::vector<cf32> raw = raw_lines(a);
    const polar_format_imager_params p = params_of(a, g);
    const auto imager = polar_format_imager::make(p, cpu);
    const std::vector<cf32> out = form(*imager, a, raw);
    const polar_format_figures f = imager->report().figures;
    BOOST_TEST(f.phase_error_rad < 0.1);
    BOOST_TEST(f.displacement_m > 0.03); // or nothing would be tried
    const image truth = direct_sum(a, g, raw, false);
    BOOST_TEST(error_db(out, truth) < 20 * std::log10(f.phase_error_rad) - 3);
    for (const auto& [row, col] : places) {
        const complex v =
            at(out, g, row, col) / truth[static_cast<std::size_t>(row) * g->cols + col];
        BOOST_TEST(std::abs(20 * std::log10(std::abs(v))) < 0.05);
        BOOST_TEST(std::abs(std::arg(v)) < 0.02);
    }
    // and without the correction it is far from that
    polar_format_imager_params plain = p;
    plain.curvature = curvature_mode::warn;
    BOOST_TEST(error_db(focus(plain, a, raw), truth) > -20);
}

// Points against theory: 0.1 m in both axes, in the middle and at the corners.
BOOST_DATA_TEST_CASE(points_of_a_decimetre, data::make({ 0.0, 10.0, 30.0 }), squint_deg)
{
    spotlight_options o;
    o.bandwidth_hz = 1.5e9;
    o.resolution_m = 0.1;
    o.squint_deg = squint_deg;
    o.range_m = 10e3;
    o.depression_deg = 30;
    o.samples = 600;
    o.pulses = 700;
    aperture a = spotlight(o);
    const vec3 corners[] = { { 0, 0, 0 }, { -12, 11, 0 }, { 12, 12, 0 }, { 11, -12, 0 } };
    point_target_geometry geometry;
    geometry.aperture_start_m = a.tx.front();
    geometry.aperture_centre_m = a.tx[a.pulses() / 2];
    geometry.aperture_end_m = a.tx.back();
    geometry.carrier_hz = o.carrier_hz;
    geometry.bandwidth_hz = o.bandwidth_hz;
    for (const vec3& corner : corners) {
        a.targets = { { corner } };
        // the image around the target, of a scene whose middle is the origin
        const image_grid g = square(0.05, 601);
        const std::vector<cf32> out = focus(params_of(a, g), a, raw_lines(a));
        const point_target_report r =
            measure_point_target(out.data(), g, corner, geometry);
        BOOST_TEST_CONTEXT("target " << corner.x << ", " << corner.y << ": " << r.problem)
        {
            BOOST_TEST(r.found);
            for (const std::string& f : r.failures)
                BOOST_ERROR(f);
            BOOST_TEST(std::abs(20 * std::log10(r.peak_amplitude)) < 0.1);
        }
    }
}

// The bound: a point at the radius has the phase error of the formula, no more and no
// less, and loses what a quadratic phase takes.
BOOST_DATA_TEST_CASE(radius, data::make({ 0.2, 0.5, 1.0 }), resolution_m)
{
    spotlight_options o;
    o.depression_deg = 0; // in the plane of the pixels: range along y
    o.range_m = 100e3;    // or the next order of the wavefront would show
    o.resolution_m = resolution_m;
    o.samples = 2;
    o.bandwidth_hz = 20e3;
    o.pulses = 2001;
    aperture a = spotlight(o);
    const double wavelength = speed_of_light / o.carrier_hz;
    const double angle = wavelength / (2 * resolution_m);
    const double radius = polar_format_radius_m(o.range_m, wavelength, angle);
    BOOST_TEST(radius == resolution_m * std::sqrt(2 * o.range_m / wavelength),
               boost::test_tools::tolerance(1e-12));
    // ranges of the point, their plane wave taken off with the best displacement, in this
    // test's own way: the second difference over the aperture
    const vec3 p = { 0, radius, 0 };
    const auto bent = [&](int n) {
        const vec3 away = -1.0 * a.tx[n];
        return a.range(n, p) - (1 / length(away)) * dot(away, p);
    };
    const double edge = 0.5 * (bent(0) + bent(2000)) - bent(1000);
    const double phase = 4 * pi / wavelength * edge;
    BOOST_TEST(phase == polar_format_phase_limit_rad, boost::test_tools::tolerance(0.03));

    // the plan says the same of a grid whose rim is there
    const image_grid g = image_grid::centred(
        { 0, 0, 0 }, { 0, 1, 0 }, { 1, 0, 0 }, radius / 10, 0.1, 21, 1);
    const polar_format_figures f = figures_of(params_of(a, g), a);
    BOOST_TEST(f.phase_error_rad == polar_format_phase_limit_rad,
               boost::test_tools::tolerance(0.05));
    BOOST_TEST(f.radius_m == radius, boost::test_tools::tolerance(0.01));
    BOOST_TEST(f.range_m == o.range_m, boost::test_tools::tolerance(1e-6));

    // and the image shows it
    a.targets = { { p } };
    const std::vector<cf32> out = focus(params_of(a, g), a, raw_lines(a));
    double loss = 0; // of a quadratic phase without mean: 1 - variance / 2
    for (int n = 0; n <= 2000; ++n) {
        const double x = n / 1000.0 - 1;
        loss += std::cos(polar_format_phase_limit_rad * (x * x - 1.0 / 3)) / 2001;
    }
    const complex v = at(out, g, 20, 0);
    BOOST_TEST(std::abs(v) == loss, boost::test_tools::tolerance(0.005));
    BOOST_TEST(loss < 0.98);
    BOOST_TEST(std::abs(std::arg(v)) < 0.05);
}

BOOST_AUTO_TEST_CASE(radius_refuses_nonsense)
{
    BOOST_TEST(has(sentence_of([] { polar_format_radius_m(0, 0.03, 0.1); }),
                   "range_m is 0; expected a positive distance"));
    BOOST_TEST(has(sentence_of([] { polar_format_radius_m(1e4, 0.03, -0.1); }),
                   "aperture_rad is -0.1; expected a positive angle"));
}

// Order of the pulses is free; a track flown forth and back is one, too.
BOOST_AUTO_TEST_CASE(order_does_not_matter)
{
    aperture a = spotlight();
    a.targets = { { { 3, 4, 0 } }, { { -7, 2, 0 }, { 0, 2 } } };
    const image_grid g = square(0.3, 55);
    const std::vector<cf32> straight = focus(params_of(a, g), a, raw_lines(a));
    aperture back = a;
    std::mt19937 random(1);
    std::shuffle(back.tx.begin(), back.tx.end(), random);
    back.tx.insert(back.tx.end(), a.tx.begin(), a.tx.end());
    BOOST_TEST(difference_db(focus(params_of(back, g), back, raw_lines(back)), straight) <
               -110);
}

// CASES: an L of three points shows a mirrored axis, whatever the sign of the chirp.
BOOST_DATA_TEST_CASE(waveforms,
                     data::make({ "up", "down", "centre", "fmcw", "fmcw down", "fx" }) *
                         data::make({ 1.0, -1.0 }),
                     kind_text,
                     side)
{
    const std::string kind = kind_text;
    spotlight_options o;
    o.range_m = 2e3;
    o.bandwidth_hz = 150e6;
    o.resolution_m = 1;
    o.depression_deg = 30;
    o.pulses = 150;
    o.samples = 301;
    o.side = side;
    aperture a = spotlight(o);
    acquisition_fields& f = a.fields;
    if (kind != "fx") {
        f.frequency_step_hz = 0;
        f.range_from = range_reference::antenna;
        f.carrier_hz = o.carrier_hz;
        f.range_bias_m = 0.7;
    }
    if (kind.rfind("fmcw", 0) == 0) {
        const double sign = kind == "fmcw" ? 1 : -1;
        f.wave = waveform::fmcw;
        f.sample_rate_hz = 10e6;
        f.chirp_rate_hz_per_s = sign * o.bandwidth_hz * f.sample_rate_hz / f.samples;
        f.carrier_hz = o.carrier_hz - sign * o.bandwidth_hz / 2;
        f.slant_range_first_m = o.range_m - 150;
        f.phase_sign = 1;
    } else if (kind != "fx") {
        f.wave = waveform::pulsed_lfm;
        f.samples = 431;
        f.sample_rate_hz = 180e6;
        f.pulse_length_s = 1e-6;
        f.chirp_rate_hz_per_s =
            (kind == "down" ? -1 : 1) * o.bandwidth_hz / f.pulse_length_s;
        f.slant_range_first_m = o.range_m - 100;
        if (kind == "centre") {
            f.pulse_ref = pulse_reference::centre;
            f.slant_range_first_m = o.range_m - 170;
        }
    }
    const image_grid g = square(0.5, 101);
    const std::vector<std::pair<int, int>> l = { { 20, 30 }, { 80, 30 }, { 80, 65 } };
    for (const auto& [row, col] : l)
        a.targets.push_back({ g.position(row, col), 1 });
    const std::vector<cf32> raw = raw_lines(a);
    const std::vector<cf32> out = focus(params_of(a, g), a, raw);
    for (const auto& [row, col] : l) {
        const complex v = at(out, g, row, col);
        BOOST_TEST(std::abs(20 * std::log10(std::abs(v))) < 0.3);
        // the bias shifts the carrier as it does the echo, as the convention says
        BOOST_TEST(std::abs(std::arg(v)) < 0.1);
    }
    // the mirror images are empty
    for (const auto& [row, col] :
         { std::pair<int, int>{ 20, 65 }, { 20, 70 }, { 80, 50 } })
        BOOST_TEST(std::abs(at(out, g, row, col)) < 0.1);

    // back-projection of the same lines says the same
    const auto compression =
        pulse_compression::make({ acquisition(f), 3, window(), {} }, cpu);
    std::vector<cf32> lines(static_cast<std::size_t>(a.pulses()) *
                            compression->samples_out());
    compression->process(raw.data(), lines.data(), a.pulses());
    bp_accumulator_params bp{ compression->axis(), g };
    bp.interpolator = interpolation::sinc16;
    const auto accumulator = bp_accumulator::make(bp, cpu);
    accumulator->add(lines.data(), a.tx.data(), nullptr, a.pulses());
    std::vector<cf32> other(out.size());
    accumulator->write_rows(other.data(), 0, g->rows);
    BOOST_TEST(difference_db(out, other) < -40);
}

// CASES: phases in double. Lines that count range from an antenna 900 km away, and
// coordinates of a map.
BOOST_DATA_TEST_CASE(far_away_and_large_coordinates,
                     data::make({ 900e3, 10e3 }) ^ data::make({ 0.0, 1.0 }),
                     range_m,
                     far)
{
    spotlight_options o;
    o.range_m = range_m;
    o.resolution_m = 0.5;
    o.bandwidth_hz = 300e6;
    o.samples = 1200;
    o.pulses = 100;
    const auto antenna = [&] {
        aperture a = spotlight(o);
        a.fields.range_from = range_reference::antenna;
        a.fields.slant_range_first_m = range_m - 200;
        return a;
    };
    aperture a = antenna();
    a.targets = { { { 0, 0, 0 } }, { { 6, -7, 0 }, { 0, 1 } } };
    const image_grid g = square(0.5, 41);
    const std::vector<cf32> here = focus(params_of(a, g), a, raw_lines(a));
    BOOST_TEST(error_db(here, direct_sum(a, g, raw_lines(a), false)) < -60);
    o.shift = far * vec3{ 4.0e5, 5.2e6, 0 };
    aperture b = antenna();
    b.targets = a.targets;
    for (target& t : b.targets)
        t.position = t.position + o.shift;
    const image_grid h = square(0.5, 41, o.shift);
    BOOST_TEST(difference_db(focus(params_of(b, h), b, raw_lines(b)), here) < -60);
}

// CASES: large prime factors, and the same transforms again.
BOOST_DATA_TEST_CASE(odd_lengths, data::make({ 1, 2, 127, 5999, 4099, 16001 }), samples)
{
    spotlight_options o;
    o.samples = samples;
    o.bandwidth_hz = samples < 1000 ? samples * 3e6 : 600e6;
    o.pulses = 7;
    o.resolution_m = 3;
    aperture a = spotlight(o);
    a.targets = { { { 0, 0, 0 } }, { { 0.5, -1, 0 }, { 0, 0.5 } } };
    const image_grid g = square(0.31, 7);
    const std::vector<cf32> raw = raw_lines(a);
    const auto imager = polar_format_imager::make(params_of(a, g), cpu);
    const std::vector<cf32> once = form(*imager, a, raw);
    BOOST_TEST(error_db(once, direct_sum(a, g, raw, false)) < -70);
    imager->reset();
    const std::vector<cf32> twice = form(*imager, a, raw);
    BOOST_TEST(difference_db(twice, once) == -300);
}

// Two apertures that overlap, the store going round; and one that is not complete.
BOOST_AUTO_TEST_CASE(sliding_aperture)
{
    spotlight_options o;
    o.pulses = 270;
    aperture a = spotlight(o);
    a.targets = { { { 2, -3, 0 } } };
    a.tx[100].y = std::numeric_limits<double>::quiet_NaN();
    const std::vector<cf32> raw = [&] {
        aperture whole = spotlight(o);
        whole.targets = a.targets;
        return raw_lines(whole);
    }();
    const image_grid g = square(0.3, 33);
    polar_format_imager_params p = params_of(a, g);
    p.pulses = 120;
    p.slots = 4;
    const auto imager = polar_format_imager::make(p, cpu);
    std::vector<cf32> out(33 * 33);
    for (int hop = 0; hop < 9; ++hop) {
        if (hop > 0)
            imager->advance();
        imager->add(
            raw.data() + hop * 30 * a.fields.samples, &a.tx[hop * 30], nullptr, 30);
        imager->write_rows(out.data(), 0, 33);
        const int first = std::max(0, hop - 3) * 30;
        aperture part = a;
        part.tx.assign(a.tx.begin() + first, a.tx.begin() + hop * 30 + 30);
        const std::vector<cf32> lines(raw.begin() + first * a.fields.samples,
                                      raw.begin() + (hop * 30 + 30) * a.fields.samples);
        polar_format_imager_params q = params_of(part, g);
        BOOST_TEST(difference_db(out, focus(q, part, lines)) == -300);
        BOOST_TEST(imager->pulses_in_image() ==
                   static_cast<std::uint64_t>(part.pulses()) -
                       (first <= 100 && hop * 30 + 30 > 100));
    }
    const polar_format_report r = imager->report();
    BOOST_TEST(r.pulses == 269u);
    BOOST_TEST(r.skipped_pulses == 1u);
    BOOST_TEST(r.first_skipped == 100);
    BOOST_TEST(r.images == 9u);
    BOOST_TEST(
        has(sentence_of([&] { imager->add(raw.data(), a.tx.data(), nullptr, 200); }),
            "the aperture holds its 120 pulses"));
    imager->reset();
    imager->write_rows(out.data(), 0, 33);
    for (const cf32& v : out)
        BOOST_REQUIRE(norm(v) == 0);
}

BOOST_AUTO_TEST_CASE(lines_that_are_not_finite)
{
    aperture a = spotlight();
    a.targets = { { { 1, 1, 0 } } };
    const image_grid g = square(0.3, 33);
    std::vector<cf32> raw = raw_lines(a);
    const auto zero = [&](std::vector<cf32> lines) {
        std::fill_n(
            lines.begin() + 50 * a.fields.samples, a.fields.samples, cf32{ 0, 0 });
        return lines;
    }(raw);
    raw[50 * a.fields.samples + 9].im = std::numeric_limits<float>::infinity();
    const auto imager = polar_format_imager::make(params_of(a, g), cpu);
    const std::vector<cf32> out = form(*imager, a, raw);
    BOOST_TEST(imager->report().bad_lines == 1u);
    BOOST_TEST(difference_db(out, focus(params_of(a, g), a, zero)) == -300);
}

BOOST_AUTO_TEST_CASE(one_sentence_each)
{
    aperture a = spotlight();
    const auto error = [](const image_grid& g, const aperture& s, curvature_mode c) {
        const std::vector<cf32> silence(static_cast<std::size_t>(s.pulses()) *
                                        s.fields.samples);
        return sentence_of([&] { focus(params_of(s, g, c), s, silence); });
    };
    const auto correct = curvature_mode::correct;
    // larger than the alias-free range of 75 m
    BOOST_TEST(has(error(square(1.5, 81), a, correct), "alias-free swath of -37.4"));
    // more than 240 pulses of 0.25 m: some 60 m
    BOOST_TEST(has(
        error(image_grid::centred({ 0, 0, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, 0.2, 1, 11, 71),
              a,
              correct),
        "larger than what 240 pulses show without ambiguity"));
    // a point at the rim of a fine and close scene
    spotlight_options o;
    o.range_m = 100;
    o.resolution_m = 0.15;
    o.pulses = 400;
    const aperture close = spotlight(o);
    const image_grid wide = square(0.5, 61);
    const std::string refused = error(wide, close, curvature_mode::refuse);
    BOOST_TEST(has(refused, "curvature is 'refuse'"));
    BOOST_TEST(has(refused, "m from its middle"));
    BOOST_TEST(error(wide, close, curvature_mode::correct) == "no error");
    const polar_format_figures f = figures_of(params_of(close, wide), close);
    BOOST_TEST(f.phase_error_rad > polar_format_phase_limit_rad);
    BOOST_TEST(f.radius_m < 15);
    // all around the scene
    aperture around = a;
    for (int n = 0; n < around.pulses(); ++n)
        around.tx[n] = { 1e3 * std::cos(0.026 * n), 1e3 * std::sin(0.026 * n), 500 };
    BOOST_TEST(has(error(square(0.01, 5), around, correct), "polar format expects"));
    aperture above = a;
    for (vec3& p : above.tx)
        p = { 0, 0, 1000 };
    BOOST_TEST(has(error(square(0.1, 5), above, correct), "looks straight down"));
    BOOST_TEST(has(sentence_of([&] {
                       polar_format_imager_params p = params_of(a, wide);
                       p.pulses = 0;
                       polar_format_imager::make(p, cpu);
                   }),
                   "pulses is 0; expected the pulses of an aperture"));
    BOOST_TEST(has(sentence_of([&] {
                       polar_format_imager_params p = params_of(a, wide);
                       p.slots = 7;
                       polar_format_imager::make(p, cpu);
                   }),
                   "slots is 7; expected a divisor of pulses, 240"));
    BOOST_TEST(has(sentence_of([&] {
                       polar_format_imager_params p = params_of(a, wide);
                       acquisition_fields f = a.fields;
                       f.wave = waveform::fmcw;
                       f.sample_rate_hz = 1e6;
                       f.chirp_rate_hz_per_s = f.frequency_step_hz * f.sample_rate_hz;
                       f.frequency_step_hz = 0;
                       f.sweep = sweep_shape::triangle;
                       p.acq = acquisition(f);
                       polar_format_imager::make(p, cpu);
                   }),
                   "sweep of acq is 'triangle'; expected 'sawtooth'"));
    BOOST_TEST(has(sentence_of([] { curvature_mode_from_name("ignore"); }),
                   "curvature is 'ignore'; expected one of: correct, warn, refuse"));
}

// Sizes that are nobody's powers of two.
BOOST_AUTO_TEST_CASE(odd_images)
{
    spotlight_options o;
    o.samples = 200;
    o.pulses = 160;
    aperture a = spotlight(o);
    const auto raw = [&] {
        a.targets = { { { 0, 0, 0 } } };
        return raw_lines(a);
    }();
    for (const auto& [rows, cols] : { std::pair<int, int>{ 1200, 800 },
                                      { 1, 1 },
                                      { 997, 1 },
                                      { 1, 1009 },
                                      { 211, 503 } }) {
        const image_grid g = image_grid::centred({ 0.02, 0.03, 0 },
                                                 { 0, -1, 0 },
                                                 { 1, 0, 0 },
                                                 36.0 / std::max(rows, 60),
                                                 36.0 / std::max(cols, 60),
                                                 rows,
                                                 cols);
        const std::vector<cf32> out = focus(params_of(a, g), a, raw);
        // the rows and columns around the point, and the last ones
        double worst = 0;
        for (const int i : { 0, rows / 2, rows - 1 })
            for (const int j : { 0, cols / 2, cols - 1 }) {
                const vec3 p = g.position(i, j);
                image_grid_fields one = g.fields();
                one.origin_m = p;
                one.rows = one.cols = 1;
                const image truth = direct_sum(a, image_grid(one), raw, false);
                worst = std::max(worst, std::abs(at(out, g, i, j) - truth[0]));
            }
        BOOST_TEST(worst < 1e-3);
    }
}
