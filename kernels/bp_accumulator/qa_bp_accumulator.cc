// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE bp_accumulator
#include "qa_bp_scene.h"
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <limits>
#include <random>

using namespace bp_test;

namespace {

const vec3 east = { 1, 0, 0 };
const vec3 north = { 0, 1, 0 };

std::unique_ptr<bp_accumulator> make(const bp_accumulator_params& p)
{
    return bp_accumulator::make(p, compute_target{});
}

image image_of(const setup& s, const bp_accumulator_params& p)
{
    return widen(run(*make(p), s, lines_of(s)));
}

//! Position of the peak by a parabola through the magnitudes, in pixels.
void peak_of(const image& im,
             int rows,
             int cols,
             double& row,
             double& col,
             complex& value)
{
    const std::size_t at = std::max_element(im.begin(),
                                            im.end(),
                                            [](complex a, complex b) {
                                                return std::norm(a) < std::norm(b);
                                            }) -
                           im.begin();
    const int i = static_cast<int>(at / cols);
    const int j = static_cast<int>(at % cols);
    BOOST_REQUIRE(i > 0 && i < rows - 1 && j > 0 && j < cols - 1);
    const auto vertex = [](double a, double b, double c) {
        return 0.5 * (a - c) / (a - 2 * b + c);
    };
    const auto m = [&](int r, int c) { return std::abs(im[r * cols + c]); };
    row = i + vertex(m(i - 1, j), m(i, j), m(i + 1, j));
    col = j + vertex(m(i, j - 1), m(i, j), m(i, j + 1));
    value = im[at];
}

} // namespace

// ---- interpolation
// ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sinc_taps_are_a_sample_at_whole_positions)
{
    for (const int taps : { 8, 16 }) {
        const std::vector<float> t = sinc_table(taps, 0.25);
        BOOST_REQUIRE_EQUAL(t.size(), static_cast<std::size_t>(514 * taps));
        for (int k = 0; k < taps; ++k) {
            BOOST_TEST(std::abs(t[k] - (k == taps / 2 - 1)) < 1e-7);
            BOOST_TEST(std::abs(t[512 * taps + k] - (k == taps / 2)) < 1e-7);
            // halfway, the taps are symmetric
            BOOST_TEST(std::abs(t[256 * taps + k] - t[256 * taps + taps - 1 - k]) < 1e-7);
        }
    }
    BOOST_TEST(sinc_kaiser_beta(8, 1.0) == 0);
    BOOST_TEST(std::abs(sinc_kaiser_beta(8, 0.2) - pi * std::sqrt(3.2 * 3.2 - 1)) <
               1e-12);
    BOOST_CHECK_THROW(interpolation_from_name("cubic"), std::invalid_argument);
    BOOST_TEST(to_string(interpolation_from_name("sinc16")) == "sinc16");
}

// The table in docs/accuracy.md: a line of 400 tones that fill 80 % of the band before
// oversampling, interpolated at random places, against the tones themselves in double.
BOOST_AUTO_TEST_CASE(interpolation_error_table)
{
    const int factors[] = { 1, 2, 4, 8 };
    // largest error allowed, dB: a dB or so above what was measured
    const double allowed[4][4] = { { -7, -13, -18.5, -24.5 },
                                   { -11.5, -24, -35.5, -45.5 },
                                   { -23, -69.5, -93, -102 },
                                   { -49.5, -125, -130, -130 } };
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::printf("interpolation  1x       2x       4x       8x   (error, dB)\n");
    const int n = 512;
    for (int how = 0; how < 4; ++how) {
        std::printf("%-12s", to_string(static_cast<interpolation>(how)).c_str());
        for (int f = 0; f < 4; ++f) {
            const double band = 0.8 / factors[f];
            std::vector<double> tone(400), phase(400);
            for (int k = 0; k < 400; ++k) {
                tone[k] = (uniform(random) - 0.5) * band;
                phase[k] = uniform(random);
            }
            const auto truth = [&](double x) {
                complex v = 0;
                for (int k = 0; k < 400; ++k)
                    v += std::polar(1.0, 2 * pi * (tone[k] * x + phase[k]));
                return v;
            };
            std::vector<cf32> line;
            for (int m = 0; m < n; ++m) {
                const complex v = truth(m);
                line.push_back(
                    { static_cast<float>(v.real()), static_cast<float>(v.imag()) });
            }
            const int taps = taps_of(static_cast<interpolation>(how));
            std::vector<bp::tap_quad> table;
            if (taps > 2) {
                const std::vector<float> t = sinc_table(taps, band);
                table.resize(t.size() / 4);
                std::copy(t.begin(), t.end(), &table[0].w[0]);
            }
            image got, wanted;
            for (int k = 0; k < 2000; ++k) {
                const double x = 20 + uniform(random) * (n - 40);
                const int bin = static_cast<int>(x);
                const float fraction = static_cast<float>(x - bin);
                const bp::edged_line l{ line.data(), n };
                const cf32 v = how == 0 ? bp::interpolate<interpolation::nearest>(
                                              l, bin, fraction, nullptr)
                               : how == 1 ? bp::interpolate<interpolation::linear>(
                                                l, bin, fraction, nullptr)
                               : how == 2 ? bp::interpolate<interpolation::sinc8>(
                                                l, bin, fraction, table.data())
                                          : bp::interpolate<interpolation::sinc16>(
                                                l, bin, fraction, table.data());
                got.emplace_back(v.re, v.im);
                wanted.push_back(truth(x));
            }
            const double db = error_db(got, wanted);
            std::printf("  %7.1f", db);
            BOOST_CHECK_LE(db, allowed[how][f]);
        }
        std::printf("\n");
    }
}

// ---- a point where it belongs
// ----------------------------------------------------------

BOOST_AUTO_TEST_CASE(point_target_position_amplitude_phase)
{
    const double cell = speed_of_light / (2 * 500e6);
    for (const double side : { 1.0, -1.0 })
        for (const double squint : { 0.0, 20.0 })
            for (const vec3 p : { vec3{ 0, 0, 0 },
                                  vec3{ 20, 20, 0 },
                                  vec3{ -20, 20, 0 },
                                  vec3{ 20, -20, 0 },
                                  vec3{ -20, -20, 0 } }) {
                spotlight_options o;
                o.pulses = 128;
                o.side = side;
                o.squint_deg = squint;
                o.swath_m = squint > 0 ? 300 : 120; // ranges migrate
                setup s = spotlight(o);
                const complex amplitude = std::polar(0.7, 1.1);
                s.targets = { { p, amplitude } };
                const std::vector<cf32> lines = lines_of(s);
                // the target lies between pixels
                const image_grid g = image_grid::centred(p + vec3{ 0.013, -0.021, 0 },
                                                         north,
                                                         east,
                                                         cell / 8,
                                                         cell / 8,
                                                         33,
                                                         37);
                const image_grid on_it =
                    image_grid::centred(p, north, east, 0.1, 0.1, 1, 1);
                for (const accuracy_mode mode :
                     { accuracy_mode::exact, accuracy_mode::automatic }) {
                    const image im = widen(run(
                        *make(params_of(s, g, interpolation::sinc16, mode)), s, lines));
                    double row, col, true_row, true_col;
                    complex at_peak;
                    peak_of(im, 33, 37, row, col, at_peak);
                    g.index_of(p, true_row, true_col);
                    // 1/32 of a cell, which has 8 pixels
                    BOOST_CHECK_SMALL(row - true_row, 8 / 32.0);
                    BOOST_CHECK_SMALL(col - true_col, 8 / 32.0);
                    const complex value =
                        widen(run(*make(params_of(s, on_it, interpolation::sinc16, mode)),
                                  s,
                                  lines))[0];
                    BOOST_CHECK_SMALL(std::abs(value / amplitude) - 1, 1e-4);
                    BOOST_CHECK_SMALL(std::arg(value / amplitude), 1e-3);
                }
            }
}

// Three points not on a line: a mirrored or transposed image has them elsewhere.
BOOST_AUTO_TEST_CASE(three_targets_are_not_mirrored)
{
    spotlight_options o;
    o.pulses = 512;
    setup s = spotlight(o);
    s.targets = { { { -9, -6, 0 }, 1.0 },
                  { { 12, -6, 0 }, 0.8 },
                  { { -9, 11, 0 }, 0.6 } };
    const double step = 0.25;
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, step, step, 121, 121);
    const image im = image_of(s, params_of(s, g));
    const auto near = [&](double x, double y) {
        double best = 0;
        for (int i = -2; i <= 2; ++i)
            for (int j = -2; j <= 2; ++j)
                best = std::max(best,
                                std::abs(im[(60 + std::lround(y / step) + i) * 121 + 60 +
                                            std::lround(x / step) + j]));
        return best;
    };
    BOOST_CHECK_SMALL(near(-9, -6) - 1.0, 0.03);
    BOOST_CHECK_SMALL(near(12, -6) - 0.8, 0.03);
    BOOST_CHECK_SMALL(near(-9, 11) - 0.6, 0.03);
    BOOST_CHECK_LE(near(12, 11), 0.05);
    BOOST_CHECK_LE(near(9, 6), 0.05);
    BOOST_CHECK_LE(near(-6, -9), 0.05);
    BOOST_CHECK_LE(near(11, -9), 0.05);
}

// ---- against double precision
// ----------------------------------------------------------

BOOST_AUTO_TEST_CASE(exact_against_the_direct_sum)
{
    setup s = spotlight();
    s.targets = { { { 1, 2, 0 }, 1.0 },
                  { { -4, 3, 0 }, { 0, 0.5 } },
                  { { 3, -5, 1 }, 0.2 } };
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, 0.21, 0.19, 53, 71);
    const std::vector<cf32> lines = lines_of(s);
    const image im = widen(run(*make(params_of(s, g)), s, lines));
    const image ideal = direct_image(s, g);
    const image same_taps = reference_image(s, g, lines, interpolation::sinc16, 0, 256);
    // all of it: interpolation of finite lines, float samples, sums
    BOOST_CHECK_LE(error_db(im, ideal), -80);
    // of which interpolation
    BOOST_TEST_MESSAGE("total " << error_db(im, ideal) << " dB, interpolation "
                                << error_db(same_taps, ideal) << " dB, arithmetic "
                                << error_db(im, same_taps) << " dB");
    BOOST_CHECK_LE(error_db(im, same_taps), -100);
}

BOOST_AUTO_TEST_CASE(every_interpolation_against_its_definition)
{
    spotlight_options o;
    o.pulses = 70; // a chunk and a bit
    o.swath_m = 14;
    setup s = spotlight(o);
    s.targets = { { { 1, 2, 0 }, 1.0 }, { { 2, -5, 0 }, { 0, 0.5 } } };
    const std::vector<cf32> lines = lines_of(s);
    // wider than the swath: edges and pixels outside are part of it
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.4, 0.3, 67, 41);
    for (const interpolation how : { interpolation::nearest,
                                     interpolation::linear,
                                     interpolation::sinc8,
                                     interpolation::sinc16 }) {
        const image wanted = reference_image(s, g, lines, how, 0, 70);
        const auto b = make(params_of(s, g, how));
        BOOST_CHECK_LE(error_db(widen(run(*b, s, lines)), wanted), -100);
        std::uint64_t outside = 0;
        for (std::size_t n = 0; n < s.tx.size(); ++n)
            for (int i = 0; i < 67; ++i)
                for (int j = 0; j < 41; ++j) {
                    const double x =
                        (measured_range(s, n, g.position(i, j)) - s.axis.first_m) /
                        s.axis.spacing_m;
                    outside += !(x >= 0 && x <= s.axis.samples - 1);
                }
        BOOST_TEST(outside > 0);
        BOOST_CHECK_EQUAL(b->report().outside, outside);
        // fast counts alike but for pixels on the very edge, where a rounding decides
        const auto f = make(params_of(s, g, how, accuracy_mode::fast));
        run(*f, s, lines);
        BOOST_CHECK_LE(std::abs(static_cast<double>(f->report().outside) - outside),
                       1e-4 * outside);
    }
}

// ---- accuracy modes
// --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(fast_against_exact)
{
    setup s = spotlight();
    s.targets = { { { 1, 2, 0 }, 1.0 },
                  { { -4, 3, 0 }, { 0, 0.5 } },
                  { { 3, -5, 0 }, 0.2 } };
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, 0.21, 0.19, 100, 71);
    const std::vector<cf32> lines = lines_of(s);
    const image exact = widen(run(*make(params_of(s, g)), s, lines));
    const auto b = make(params_of(s, g, interpolation::sinc16, accuracy_mode::automatic));
    const double db = error_db(widen(run(*b, s, lines)), exact);
    BOOST_TEST_MESSAGE("fast against exact " << db << " dB, bound "
                                             << b->report().phase_bound_rad << " rad");
    BOOST_CHECK_LE(db, -80);
    BOOST_CHECK_EQUAL(b->report().fast_pulses, 256);
    BOOST_CHECK_EQUAL(b->report().pulses, 256);
    BOOST_CHECK_GT(b->report().phase_bound_rad, 1e-6);
    BOOST_CHECK_LT(b->report().phase_bound_rad, 0.01);
}

// The bound holds for every pixel of every tile, and is not absurdly high.
BOOST_AUTO_TEST_CASE(phase_bound_is_a_bound)
{
    struct geometry {
        double range_m, carrier_hz, step_m;
    };
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const geometry q : { geometry{ 800e3, 9.6e9, 1.0 },
                              geometry{ 10e3, 9.6e9, 0.2 },
                              geometry{ 500, 9.6e9, 0.1 },
                              geometry{ 60, 4.3e9, 0.1 },
                              geometry{ 20, 4.3e9, 0.1 } }) {
        double worst = 0;
        double bound = 0;
        for (int trial = 0; trial < 400; ++trial) {
            bp::scene s = {};
            s.row_step = { q.step_m, 0, 0 };
            s.col_step = { 0.3 * q.step_m, q.step_m, 0 };
            s.bins_per_m = 10;
            s.first_m = q.range_m - 1000;
            s.cycles_per_m = 2 * q.carrier_hz / speed_of_light;
            s.rows = s.cols = bp::tile_size;
            s.samples = 1 << 20;
            bp::pulse p = {};
            const vec3 centre = 16.0 * (s.row_step + s.col_step);
            vec3 away = { uniform(random), uniform(random), 0.2 * uniform(random) };
            away = (q.range_m / length(away)) * away;
            p.tx = centre + away;
            const bp::expansion e = bp::expand(s, p, 0, 0);
            double nearest = HUGE_VAL;
            double error = 0;
            for (int i = 0; i < bp::tile_size; ++i)
                for (int j = 0; j < bp::tile_size; ++j) {
                    const vec3 pixel = i * s.row_step + j * s.col_step;
                    nearest = std::min(nearest, length(pixel - p.tx));
                    const double cycles =
                        (bp::measured_range_m(s, p, pixel)) * s.cycles_per_m;
                    const bp::look l = bp::fast_look(e, i, j);
                    BOOST_REQUIRE(l.inside);
                    const double d = cycles - l.cycles;
                    error = std::max(error, 2 * pi * std::abs(d - std::rint(d)));
                }
            const double b = bp::fast_phase_bound_rad(s, nearest, nearest + 100);
            BOOST_CHECK_LE(error, b);
            if (error > worst)
                worst = error, bound = b;
        }
        BOOST_TEST_MESSAGE("range " << q.range_m << " m: phase error " << worst
                                    << " rad, bound " << bound);
        BOOST_CHECK_LE(bound, 40 * worst);
    }
}

// ---- patches: what devices do, step by step on the host
// ---------------------------------------------------------------------------

namespace {

struct patch_result {
    image pixels;
    std::uint64_t outside = 0;
    std::uint64_t edges = 0; //!< patches of a pulse that are partly outside
    int longest = 0;         //!< segment
    double bound_rad = 0;
};

template <interpolation I, int Order>
patch_result
patch_image(const setup& s, const image_grid& g, const std::vector<cf32>& lines)
{
    bp::scene scene;
    scene.row_step = g.row_step();
    scene.col_step = g.col_step();
    scene.first_m = s.axis.first_m;
    scene.bins_per_m = 1 / s.axis.spacing_m;
    scene.cycles_per_m = 2 * s.axis.carrier_hz / speed_of_light;
    scene.rows = g->rows;
    scene.cols = g->cols;
    scene.samples = s.axis.samples;
    scene.bistatic = !s.rx.empty();
    const double band = s.axis.occupied_band();
    const bp::folding f = bp::folding_of(scene, bp::parts_of(I, band));
    const std::vector<float> filter = fold_filter(I, band, f);
    patch_result out;
    out.pixels.resize(static_cast<std::size_t>(g->rows) * g->cols);
    std::vector<bp::folded_cell> folded(f.cells);
    const auto pulse_of = [&](std::size_t n) {
        bp::pulse p;
        p.tx = s.tx[n] - g->origin_m;
        p.rx = (s.rx.empty() ? s.tx[n] : s.rx[n]) - g->origin_m;
        p.offset_m = s.axis.range_bias_m;
        return p;
    };
    const float cells = 1 / f.radians;
    double flattest = 0; // range along the long side of a patch, from its middle
    for (std::size_t n = 0; n < s.tx.size(); ++n) {
        const bp::edged_line line = { lines.data() + n * s.axis.samples, s.axis.samples };
        for (int m = 0; m < f.cells; ++m)
            folded[m] = bp::fold<I>(f,
                                    bp::samples_around<I>(line, m / f.parts),
                                    m % f.parts,
                                    bp::carrier_of_cell(scene, f, m),
                                    filter.data());
        const bp::pulse p = pulse_of(n);
        for (int k = 0; k < bp::patches_of(g->rows, g->cols); ++k) {
            const bp::patch t = bp::patch_at(scene, pulse_of(s.tx.size() / 2), k);
            bp::patch_segment segment;
            const bp::patch_range r =
                bp::range_over(scene, f, p, t, Order, 1 << 20, segment);
            out.edges += segment.count < 0;
            out.longest = std::max(out.longest, segment.count);
            flattest = std::max(flattest,
                                bp::patch_long / 2 * std::abs(static_cast<double>(r.x)));
            for (int i = t.row; i < std::min(t.row + t.rows(), g->rows); ++i)
                for (int j = t.col; j < std::min(t.col + t.cols(), g->cols); ++j) {
                    cf32 v = { 0, 0 };
                    if (segment.count == 0) {
                        ++out.outside;
                    } else if (segment.count < 0) {
                        const int row = i / bp::tile_size * bp::tile_size;
                        const int col = j / bp::tile_size * bp::tile_size;
                        const bp::look l = bp::fast_look(
                            bp::expand(scene, p, row, col), i - row, j - col);
                        if (l.inside)
                            v = bp::folded_echo<I>(scene, f, folded.data(), l);
                        else
                            ++out.outside;
                    } else {
                        const int u = i - t.row;
                        const int w = j - t.col;
                        const float x = (t.rows_long ? u : w) - 31.5f;
                        const float y = (t.rows_long ? w : u) - 15.5f;
                        // the thread's middle is 30 pixels behind its first
                        const float middle = std::fmod(x + 31.5f, 4.0f) + 30 - 31.5f;
                        const bp::patch_row along =
                            bp::along<Order>(r, middle, y, f.radians, cells);
                        const float phi = along.line.at(x - middle);
                        volatile float at = phi * cells + along.magic;
                        const float whole = at - along.magic;
                        const float in_cell = std::fma(whole, -f.radians, phi);
                        const int index =
                            static_cast<int>(bp::bits_of(at) - bp::rounding_magic_bits);
                        BOOST_REQUIRE(index >= 0 && index < segment.count);
                        v = bp::value_in<(taps_of(I) <= 2)>(folded[segment.first + index],
                                                            in_cell) *
                            cf32{ std::cos(in_cell), std::sin(in_cell) };
                    }
                    out.pixels[static_cast<std::size_t>(i) * g->cols + j] +=
                        complex(v.re, v.im);
                }
        }
    }
    for (complex& v : out.pixels)
        v /= static_cast<double>(s.tx.size());
    double nearest = HUGE_VAL;
    double farthest = 0;
    for (const vec3& p : s.tx)
        for (int i = 0; i < g->rows; ++i)
            for (int j = 0; j < g->cols; ++j) {
                const double r = length(g.position(i, j) - p);
                nearest = std::min(nearest, r);
                farthest = std::max(farthest, r);
            }
    out.bound_rad = bp::patch_phase_bound_rad(
        scene, f, Order, nearest, farthest, flattest / f.radians / f.cells_per_m);
    return out;
}

} // namespace

// Patches against the definition with the same taps, at every distance and look angle.
BOOST_AUTO_TEST_CASE(patches_are_what_their_definition_says)
{
    struct geometry {
        const char* name;
        double range_m, step_m, turn_deg, squint_deg, swath_m;
        int oversampling;
        int order;
        bool bistatic;
    };
    for (const geometry q : {
             geometry{ "10 km", 10e3, 0.2, 0, 0, 120, 4, 2, false },
             geometry{
                 "10 km, lines oversampled twice", 10e3, 0.2, 0, 0, 120, 2, 2, false },
             geometry{
                 "10 km, 45 degrees off the axes", 10e3, 0.2, 45, 0, 120, 4, 2, false },
             geometry{
                 "10 km, along the other axis", 10e3, 0.2, 90, 0, 120, 4, 2, false },
             geometry{
                 "10 km, squint, two antennas", 10e3, 0.2, 30, 20, 400, 4, 2, true },
             geometry{ "770 km", 770e3, 0.4, 20, 0, 900, 4, 2, false },
             geometry{ "1 km", 1e3, 0.1, 45, 0, 120, 4, 3, false },
             geometry{ "100 m", 100, 0.05, 30, 0, 120, 4, 3, false },
         }) {
        spotlight_options o;
        o.pulses = 24;
        o.range_m = q.range_m;
        o.squint_deg = q.squint_deg;
        o.oversampling = q.oversampling;
        o.swath_m = q.swath_m;
        setup s = spotlight(o);
        if (q.bistatic) {
            for (const vec3& p : s.tx)
                s.rx.push_back(p + vec3{ 300, 40, -900 });
            s.axis.first_m = measured_range(s, 12, { 0, 0, 0 }) - 200;
        }
        std::mt19937 random(9);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (int k = 0; k < 40; ++k) // 80 dB of contrast
            s.targets.push_back(
                { { 60 * q.step_m * uniform(random), 60 * q.step_m * uniform(random), 0 },
                  std::polar(std::pow(10.0, -4.0 * k / 39), 7 * uniform(random)) });
        const double a = q.turn_deg * pi / 180;
        const image_grid g = image_grid::centred({ 0, 0, 0 },
                                                 { -std::sin(a), std::cos(a), 0 },
                                                 { std::cos(a), std::sin(a), 0 },
                                                 q.step_m,
                                                 q.step_m,
                                                 101,
                                                 131);
        const std::vector<cf32> lines = lines_of(s);
        const auto check = [&](const patch_result& r, interpolation how, double allowed) {
            const double db =
                error_db(r.pixels, reference_image(s, g, lines, how, 0, s.tx.size()));
            std::printf("patches, %s, %s: %.1f dB, bound %.1f dB, %d cells\n",
                        q.name,
                        to_string(how).c_str(),
                        db,
                        20 * std::log10(r.bound_rad),
                        r.longest);
            BOOST_CHECK_LE(db, allowed);
            if (how == interpolation::linear) // else parabolas lose more than the phase
                BOOST_CHECK_LE(db, 20 * std::log10(r.bound_rad) + 1);
            BOOST_CHECK_LT(r.bound_rad, allowed_phase_error_rad);
            BOOST_CHECK_EQUAL(r.edges, 0);
            BOOST_CHECK_EQUAL(r.outside, 0);
        };
        if (q.order == 2) {
            check(patch_image<interpolation::linear, 2>(s, g, lines),
                  interpolation::linear,
                  -82);
            check(patch_image<interpolation::sinc8, 2>(s, g, lines),
                  interpolation::sinc8,
                  -81);
        } else {
            check(patch_image<interpolation::linear, 3>(s, g, lines),
                  interpolation::linear,
                  -86);
            check(patch_image<interpolation::sinc16, 3>(s, g, lines),
                  interpolation::sinc16,
                  -84);
        }
    }
}

// Every pixel of patches seen from everywhere, rows and columns askew: no phase error
// exceeds the bound, and the bound is not so large that it forbids patches.
BOOST_AUTO_TEST_CASE(patch_bound_is_a_bound)
{
    struct geometry {
        double range_m, carrier_hz, step_m, spacing_m;
    };
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const geometry q : { geometry{ 800e3, 9.6e9, 1.0, 0.1 },
                              geometry{ 10e3, 9.6e9, 0.3, 0.075 },
                              geometry{ 1e3, 9.6e9, 0.1, 0.03 },
                              geometry{ 100, 9.6e9, 0.05, 0.02 },
                              geometry{ 40, 4.3e9, 0.1, 0.02 } }) {
        double worst[2] = {};
        double bound[2] = {};
        for (int trial = 0; trial < 300; ++trial) {
            bp::scene s = {};
            s.row_step = { q.step_m, 0, 0 };
            s.col_step = { 0.3 * q.step_m, q.step_m, 0 };
            s.bins_per_m = 1 / q.spacing_m;
            s.first_m = q.range_m - 2000;
            s.cycles_per_m = 2 * q.carrier_hz / speed_of_light;
            s.rows = s.cols = bp::patch_long;
            s.samples = 1 << 20;
            bp::pulse p = {};
            const vec3 middle = 31.5 * (s.row_step + s.col_step);
            vec3 away = { uniform(random), uniform(random), 0.2 * uniform(random) };
            away = (q.range_m / length(away)) * away;
            p.tx = p.rx = middle + away;
            const bp::folding f = bp::folding_of(s, 1);
            const bp::patch t = bp::patch_at(s, p, trial % 2);
            for (const int order : { 2, 3 }) {
                bp::patch_segment segment;
                const bp::patch_range r =
                    bp::range_over(s, f, p, t, order, 1 << 20, segment);
                BOOST_REQUIRE_GT(segment.count, 0);
                double nearest = HUGE_VAL;
                double error = 0;
                for (int i = 0; i < t.rows(); ++i)
                    for (int j = 0; j < t.cols(); ++j) {
                        const float x = (t.rows_long ? i : j) - 31.5f;
                        const float y = (t.rows_long ? j : i) - 15.5f;
                        const float from = std::fmod(x + 31.5f, 4.0f) - 1.5f;
                        const float cells = 1 / f.radians;
                        const bp::patch_row w =
                            order == 2 ? bp::along<2>(r, from, y, f.radians, cells)
                                       : bp::along<3>(r, from, y, f.radians, cells);
                        const float phi = w.line.at(x - from);
                        const float whole = std::rint(phi * cells);
                        const float in_cell = std::fma(whole, -f.radians, phi);
                        const double cell = segment.first + whole +
                                            (static_cast<double>(w.magic) -
                                             static_cast<double>(bp::rounding_magic));
                        BOOST_REQUIRE_GE(cell, segment.first);
                        BOOST_REQUIRE_LT(cell, segment.first + segment.count);
                        const double middle_m = s.first_m + (cell + 0.5) / f.cells_per_m;
                        const vec3 pixel =
                            (t.row + i) * s.row_step + (t.col + j) * s.col_step;
                        nearest = std::min(nearest, length(pixel - p.tx));
                        const double cycles =
                            s.cycles_per_m *
                                (bp::measured_range_m(s, p, pixel) - middle_m) -
                            in_cell / (2 * pi);
                        error = std::max(error,
                                         2 * pi * std::abs(cycles - std::rint(cycles)));
                    }
                const double along_m = bp::patch_long / 2 *
                                       std::abs(static_cast<double>(r.x)) /
                                       (2 * pi * s.cycles_per_m);
                const double b = bp::patch_phase_bound_rad(
                    s, f, order, nearest, nearest + 100, along_m);
                BOOST_CHECK_LE(error, b);
                if (error > worst[order - 2])
                    worst[order - 2] = error, bound[order - 2] = b;
            }
        }
        std::printf("patches at %g m: phase error %.2g and %.2g rad, bound %.2g and "
                    "%.2g\n",
                    q.range_m,
                    worst[0],
                    worst[1],
                    bound[0],
                    bound[1]);
        BOOST_CHECK_LE(bound[0], 40 * worst[0]);
        BOOST_CHECK_LE(bound[1], 40 * worst[1]);
    }
}

// However lanes lie, each pixel of a patch has one thread, and each patch one number.
BOOST_AUTO_TEST_CASE(patches_cover_the_image_once)
{
    std::vector<int> lays;
    for (int n = 0; n < bp::patch_lays; ++n) {
        const int lay = bp::lay_number(n);
        lays.push_back(lay);
        std::vector<int> seen(bp::patch_lanes * bp::patch_short);
        for (int thread = 0; thread < 128; ++thread) {
            const bp::patch_lane p = bp::lane_of(thread, lay);
            ++seen.at(p.y * bp::patch_lanes + p.x);
        }
        for (const int n_seen : seen)
            BOOST_CHECK_EQUAL(n_seen, 1);
    }
    std::sort(lays.begin(), lays.end());
    BOOST_TEST((std::unique(lays.begin(), lays.end()) == lays.end()));

    bp::scene s = {};
    s.row_step = { 1, 0, 0 };
    s.col_step = { 0, 1, 0 };
    for (const int rows : { 1, 65, 1100, 2500 })
        for (const int cols : { 1, 130, 1030, 2200 }) {
            s.rows = rows;
            s.cols = cols;
            bp::pulse p = {};
            p.tx = p.rx = { 1000, 700, 300 }; // patches lie both ways
            std::vector<int> seen(static_cast<std::size_t>(rows) * cols);
            for (int k = 0; k < bp::patches_of(rows, cols); ++k) {
                const bp::patch t = bp::patch_at(s, p, k);
                for (int i = t.row; i < std::min(t.row + t.rows(), rows); ++i)
                    for (int j = t.col; j < std::min(t.col + t.cols(), cols); ++j)
                        ++seen.at(static_cast<std::size_t>(i) * cols + j);
            }
            BOOST_CHECK_EQUAL(std::count(seen.begin(), seen.end(), 1),
                              static_cast<long>(rows) * cols);
        }
}

BOOST_AUTO_TEST_CASE(patches_at_the_edges_of_the_swath)
{
    spotlight_options o;
    o.pulses = 9;
    o.swath_m = 14; // narrower than the image
    setup s = spotlight(o);
    s.targets = { { { 1, 2, 0 }, 1.0 }, { { 2, -5, 0 }, { 0, 0.5 } } };
    const std::vector<cf32> lines = lines_of(s);
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, 0.3, 0.3, 197, 141);
    const patch_result r = patch_image<interpolation::sinc8, 2>(s, g, lines);
    BOOST_CHECK_LE(
        error_db(r.pixels, reference_image(s, g, lines, interpolation::sinc8, 0, 9)),
        -74);
    BOOST_TEST(r.edges > 0);
    const auto exact = make(params_of(s, g, interpolation::sinc8));
    run(*exact, s, lines);
    BOOST_CHECK_LE(std::abs(static_cast<double>(r.outside) - exact->report().outside),
                   1e-4 * r.outside);
}

BOOST_AUTO_TEST_CASE(auto_falls_back_to_exact_at_short_range)
{
    // a rail 20 m from the scene, as in CASES: the expansion is wrong by radians
    setup s;
    s.axis.carrier_hz = 4.3e9;
    s.axis.bandwidth_hz = 1.4e9;
    s.axis.spacing_m = 0.02;
    s.axis.samples = 1500;
    s.axis.first_m = 5;
    for (int n = 0; n < 100; ++n)
        s.tx.push_back({ 0.02 * n - 1, -20, 1.5 });
    s.targets = { { { 0.5, 0.3, 0 }, 1.0 } };
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.1, 0.1, 65, 65);
    const std::vector<cf32> lines = lines_of(s);
    const image wanted = reference_image(s, g, lines, interpolation::sinc16, 0, 100);
    const auto a = make(params_of(s, g, interpolation::sinc16, accuracy_mode::automatic));
    BOOST_CHECK_LE(error_db(widen(run(*a, s, lines)), wanted), -90);
    BOOST_CHECK_EQUAL(a->report().fast_pulses, 0);
    BOOST_CHECK_LT(a->report().phase_bound_rad, 1e-5);
    const auto f = make(params_of(s, g, interpolation::sinc16, accuracy_mode::fast));
    BOOST_CHECK_GT(error_db(widen(run(*f, s, lines)), wanted), -60);
    BOOST_CHECK_GT(f->report().phase_bound_rad, 0.01);
    BOOST_CHECK_EQUAL(f->report().fast_pulses, 100);
}

// CASES 16: map coordinates must cost nothing.
BOOST_AUTO_TEST_CASE(a_shift_of_everything_changes_nothing)
{
    const vec3 shift = { 4.0e5, 5.2e6, 0 };
    spotlight_options o;
    setup s = spotlight(o);
    s.targets = { { { 1, 2, 0 }, 1.0 }, { { -4, 3, 0 }, { 0, 0.5 } } };
    const std::vector<cf32> lines = lines_of(s);
    setup moved = s;
    for (vec3& p : moved.tx)
        p = p + shift;
    for (const accuracy_mode mode : { accuracy_mode::exact, accuracy_mode::fast }) {
        const image_grid g =
            image_grid::centred({ 0, 0, 0 }, north, east, 0.21, 0.19, 53, 71);
        const image_grid h = image_grid::centred(shift, north, east, 0.21, 0.19, 53, 71);
        const image at_home =
            widen(run(*make(params_of(s, g, interpolation::sinc8, mode)), s, lines));
        const image away = widen(
            run(*make(params_of(moved, h, interpolation::sinc8, mode)), moved, lines));
        BOOST_CHECK_LE(error_db(away, at_home), -100);
    }
}

// ---- geometry
// --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(bistatic_bias_reference_point_and_oblique_axes)
{
    for (int variant = 0; variant < 8; ++variant) {
        spotlight_options o;
        o.pulses = 96;
        setup s = spotlight(o);
        if (variant & 1)
            for (const vec3& p : s.tx)
                s.rx.push_back(p + vec3{ 300, 40, -900 });
        if (variant & 2)
            s.axis.range_bias_m = 0.46;
        if (variant & 4) {
            s.axis.range_from = range_reference::point;
            s.axis.reference_point_m = { 3, -2, 0 };
        }
        const double middle = measured_range(s, 48, { 0, 0, 0 });
        s.axis.first_m = middle - 60;
        const vec3 p = { 2.5, -1.5, 0 };
        s.targets = { { p, 1.0 } };
        const vec3 oblique = { std::cos(0.5), std::sin(0.5), 0 };
        const image_grid g =
            image_grid::centred({ 0, 0, 0 }, north, oblique, 0.25, 0.3, 43, 47);
        const std::vector<cf32> lines = lines_of(s);
        for (const accuracy_mode mode :
             { accuracy_mode::exact, accuracy_mode::automatic }) {
            const auto b = make(params_of(s, g, interpolation::sinc16, mode));
            const double db = error_db(widen(run(*b, s, lines)), direct_image(s, g));
            BOOST_CHECK_LE(db, mode == accuracy_mode::exact ? -100 : -75);
            // the phase error is a bound of the relative error of every pixel
            BOOST_CHECK_LE(db, 20 * std::log10(b->report().phase_bound_rad) + 1);
            BOOST_CHECK_EQUAL(b->report().fast_pulses,
                              mode == accuracy_mode::exact ? 0 : 96);
        }
        // phase and amplitude on the point: the convention includes the bias
        const image_grid on_it = image_grid::centred(p, north, east, 0.1, 0.1, 1, 1);
        const complex v = image_of(s, params_of(s, on_it))[0];
        BOOST_CHECK_SMALL(std::abs(v - 1.0), 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(an_instrument_that_delays_only_the_echo_gives_a_constant_phase)
{
    spotlight_options o;
    o.pulses = 96;
    setup s = spotlight(o);
    s.targets = { { { 2, 1, 0 }, 1.0 }, { { -6, 4, 0 }, 1.0 } };
    std::vector<cf32> lines = lines_of(s); // phase of the true range
    s.axis.range_bias_m = 0.46;            // and the echo later by the bias
    s.axis.first_m += 0.46;
    const double cycles = 2 * s.axis.carrier_hz * 0.46 / speed_of_light;
    const complex constant = std::polar(1.0, 2 * pi * cycles);
    for (const target& t : s.targets) {
        const image_grid g = image_grid::centred(t.position, north, east, 0.1, 0.1, 1, 1);
        const complex v = widen(run(*make(params_of(s, g)), s, lines))[0];
        BOOST_CHECK_SMALL(std::abs(v / constant - 1.0), 0.02);
    }
}

BOOST_AUTO_TEST_CASE(odd_sizes)
{
    struct size {
        int rows, cols;
    };
    spotlight_options o;
    o.pulses = 65;
    setup s = spotlight(o);
    s.targets = { { { 0.4, -0.3, 0 }, 1.0 } };
    const std::vector<cf32> lines = lines_of(s);
    for (const size z : { size{ 1, 1 }, { 1, 97 }, { 101, 1 }, { 31, 37 }, { 33, 32 } })
        for (const accuracy_mode mode : { accuracy_mode::exact, accuracy_mode::fast }) {
            const image_grid g =
                image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, z.rows, z.cols);
            const image wanted =
                reference_image(s, g, lines, interpolation::sinc8, 0, 65);
            BOOST_CHECK_LE(
                error_db(widen(run(*make(params_of(s, g, interpolation::sinc8, mode)),
                                   s,
                                   lines)),
                         wanted),
                -75);
        }
    // rows in pieces are the rows
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 31, 37);
    const auto b = make(params_of(s, g));
    const std::vector<cf32> whole = run(*b, s, lines);
    std::vector<cf32> pieces(whole.size());
    for (int first = 0; first < 31; first += 7)
        b->write_rows(pieces.data() + first * 37, first, std::min(7, 31 - first));
    for (std::size_t i = 0; i < whole.size(); ++i)
        BOOST_REQUIRE(whole[i].re == pieces[i].re && whole[i].im == pieces[i].im);
    BOOST_CHECK_THROW(b->write_rows(pieces.data(), 30, 2), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(one_pulse_is_an_arc)
{
    spotlight_options o;
    o.pulses = 1;
    setup s = spotlight(o);
    s.targets = { { { 0, 0, 0 }, 1.0 } };
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.1, 0.1, 81, 81);
    const image im = image_of(s, params_of(s, g));
    const double r0 = measured_range(s, 0, { 0, 0, 0 });
    for (int i = 0; i < 81; ++i)
        for (int j = 0; j < 81; ++j) {
            const double d = measured_range(s, 0, g.position(i, j)) - r0;
            BOOST_REQUIRE_SMALL(std::abs(im[i * 81 + j]) -
                                    std::abs(sinc(2 * 500e6 * d / speed_of_light)),
                                1e-3);
        }
}

// ---- what must not crash
// ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(positions_that_are_not_finite)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    spotlight_options o;
    o.pulses = 80;
    setup s = spotlight(o);
    s.targets = { { { 0.4, -0.3, 0 }, 1.0 } };
    const std::vector<cf32> lines = lines_of(s);
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 41, 41);
    for (const accuracy_mode mode :
         { accuracy_mode::exact, accuracy_mode::fast, accuracy_mode::automatic }) {
        setup broken = s;
        broken.tx[3].y = nan;
        broken.tx[70].x = inf;
        const auto b = make(params_of(s, g, interpolation::sinc8, mode));
        const image im = widen(run(*b, broken, lines));
        // the image of the other 78
        setup good = s;
        std::vector<cf32> good_lines = lines;
        const int n = s.axis.samples;
        for (const int k : { 70, 3 }) {
            good.tx.erase(good.tx.begin() + k);
            good_lines.erase(good_lines.begin() + k * n,
                             good_lines.begin() + (k + 1) * n);
        }
        const image wanted =
            reference_image(good, g, good_lines, interpolation::sinc8, 0, 78);
        BOOST_CHECK_LE(error_db(im, wanted), -75);
        BOOST_CHECK_EQUAL(b->report().pulses, 78);
        BOOST_CHECK_EQUAL(b->report().skipped_pulses, 2);
        BOOST_CHECK_EQUAL(b->report().first_skipped, 3);
        // and the next image is right
        b->reset();
        BOOST_CHECK_EQUAL(b->pulses_in_image(), 0);
        BOOST_CHECK_LE(
            error_db(widen(run(*b, s, lines)),
                     reference_image(s, g, lines, interpolation::sinc8, 0, 80)),
            -75);
        // finite, but beyond any range: outside, nothing else
        setup huge = s;
        for (vec3& p : huge.tx)
            p = { 1e300, -1e300, 1e200 };
        const auto c = make(params_of(s, g, interpolation::sinc8, mode));
        for (const complex v : widen(run(*c, huge, lines)))
            BOOST_REQUIRE(v == 0.0);
        BOOST_CHECK_EQUAL(c->report().outside, 80u * 41 * 41);
    }
}

BOOST_AUTO_TEST_CASE(the_last_sample_is_used_and_nothing_behind_it)
{
    // one pixel exactly on the first and the last sample of a line of known numbers
    setup s;
    s.axis.carrier_hz = speed_of_light / 2; // one cycle a metre: phase 0 at whole metres
    s.axis.bandwidth_hz = 1e6;
    s.axis.spacing_m = 1;
    s.axis.first_m = 1000;
    for (const int samples : { 1, 2, 9, 40 }) {
        s.axis.samples = samples;
        std::vector<cf32> lines(samples, cf32{ 1, 0 });
        lines.front() = { 3, 0 };
        lines.back() = { 5, 0 };
        for (const interpolation how : { interpolation::nearest,
                                         interpolation::linear,
                                         interpolation::sinc8,
                                         interpolation::sinc16 })
            for (const accuracy_mode mode :
                 { accuracy_mode::exact, accuracy_mode::fast }) {
                const auto value = [&](double range) {
                    s.tx = { { -range, 0, 0 } };
                    const image_grid g = image_grid::centred(
                        { 0, 0, 0 }, north, { 0, 0, 1 }, 1e-6, 1e-6, 1, 1);
                    return std::abs(
                        widen(run(*make(params_of(s, g, how, mode)), s, lines))[0]);
                };
                const double last = 1000 + samples - 1;
                BOOST_CHECK_EQUAL(value(last + 0.01), 0);
                if (mode == accuracy_mode::exact) { // in fast mode a rounding decides
                    BOOST_CHECK_SMALL(value(last) - 5, 1e-3);
                    if (samples > 1)
                        BOOST_CHECK_SMALL(value(1000) - 3, 1e-3);
                } else if (samples > 1) {
                    BOOST_CHECK_SMALL(value(last - 1e-3) - 5, 0.02);
                    BOOST_CHECK_SMALL(value(1000 + 1e-3) - 3, 0.02);
                }
                BOOST_CHECK_EQUAL(value(999.99), 0);
            }
    }
}

BOOST_AUTO_TEST_CASE(samples_that_are_not_finite_are_counted_and_stay_out)
{
    spotlight_options o;
    o.pulses = 128;
    setup s = spotlight(o);
    s.targets = { { { 0.4, -0.3, 0 }, 1.0 } };
    std::vector<cf32> lines = lines_of(s);
    for (int m = 0; m < s.axis.samples; ++m)
        lines[100 * s.axis.samples + m].re = std::numeric_limits<float>::quiet_NaN();
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 41, 41);
    const auto b = make(params_of(s, g));
    for (const complex v : widen(run(*b, s, lines)))
        BOOST_REQUIRE(std::isfinite(v.real()) && std::isfinite(v.imag()));
    BOOST_CHECK_EQUAL(b->report().non_finite, 41u * 41);
}

// ---- sums
// ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sliding_aperture_is_the_sum_of_its_pulses)
{
    spotlight_options o;
    o.pulses = 100;
    setup s = spotlight(o);
    s.targets = { { { 0.4, -0.3, 0 }, 1.0 }, { { -2, 1, 0 }, 0.5 } };
    const std::vector<cf32> lines = lines_of(s);
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 35, 33);
    bp_accumulator_params p = params_of(s, g, interpolation::sinc8);
    p.slots = 4; // 40 pulses, a hop of 10
    const auto b = make(p);
    std::vector<cf32> out(35 * 33);
    for (int hop = 0; hop < 10; ++hop) {
        if (hop > 0)
            b->advance();
        // in pieces of 3 and 7
        for (const int piece : { 0, 3 }) {
            const int first = hop * 10 + piece;
            b->add(lines.data() + first * s.axis.samples,
                   s.tx.data() + first,
                   nullptr,
                   piece ? 7 : 3);
        }
        const int first = std::max(0, hop * 10 - 30);
        const int count = hop * 10 + 10 - first;
        BOOST_REQUIRE_EQUAL(b->pulses_in_image(), static_cast<std::uint64_t>(count));
        b->write_rows(out.data(), 0, 35);
        BOOST_CHECK_LE(
            error_db(widen(out),
                     reference_image(s, g, lines, interpolation::sinc8, first, count)),
            -100);
    }
}

// A target 60 dB below must survive a long aperture: the sum over 65 536 pulses.
BOOST_AUTO_TEST_CASE(long_apertures_lose_nothing)
{
    setup s;
    s.axis.carrier_hz = 9.6e9;
    s.axis.bandwidth_hz = 100e6;
    s.axis.spacing_m = 0.5;
    s.axis.samples = 16;
    s.axis.first_m = 1000 - 4;
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.05, 0.05, 1, 3);
    const auto b = make(params_of(s, g, interpolation::nearest));
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    complex sums[3] = {};
    const int total = 65536;
    const int batch = 512;
    std::vector<cf32> lines(batch * 16);
    std::vector<vec3> tx(batch, vec3{ 0, -1000, 0 });
    for (int done = 0; done < total; done += batch) {
        for (cf32& v : lines)
            v = { 1 + 0.5f * uniform(random), 0.5f * uniform(random) };
        s.tx = tx;
        for (int n = 0; n < batch; ++n)
            for (int j = 0; j < 3; ++j) {
                const double r = measured_range(s, n, g.position(0, j));
                const int m = static_cast<int>(
                    std::floor((r - s.axis.first_m) / s.axis.spacing_m + 0.5));
                const cf32 v = lines[n * 16 + m];
                sums[j] += complex(v.re, v.im) * phasor(s, r);
            }
        // a quarter one by one, as live data come: each is then a chunk of its own
        const int piece = done < total / 4 ? 1 : batch;
        for (int n = 0; n < batch; n += piece)
            b->add(lines.data() + n * 16, tx.data() + n, nullptr, piece);
    }
    std::vector<cf32> out(3);
    b->write_rows(out.data(), 0, 1);
    BOOST_CHECK_EQUAL(b->pulses_in_image(), 65536);
    for (int j = 0; j < 3; ++j) {
        const complex wanted = sums[j] / static_cast<double>(total);
        const complex got(out[j].re, out[j].im);
        // a target 60 dB below is then right to 2e-4; plain float sums fail by far
        BOOST_CHECK_LE(std::abs(got - wanted) / std::abs(wanted), 2e-7);
    }
}

BOOST_AUTO_TEST_CASE(compensated_sum_of_many_chunks)
{
    // sums of chunks that a plain float sum would round away
    bp::pixel_sum p = {};
    BOOST_TEST(bp::add_chunk(p, { 1e8f, 0 }));
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST(bp::add_chunk(p, { 1.0f, -0.25f }));
    const cf32 v = bp::mean_of_slots(&p, 0, 1, 1e-3);
    BOOST_CHECK_CLOSE(v.re, 1e5 + 1, 1e-5);
    BOOST_CHECK_CLOSE(v.im, -0.25, 1e-5);
    BOOST_TEST(!bp::add_chunk(p, { INFINITY, 0 }));
}

BOOST_AUTO_TEST_CASE(parameters_are_checked)
{
    setup s = spotlight();
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 4, 4);
    bp_accumulator_params p = params_of(s, g);
    p.slots = 0;
    BOOST_CHECK_THROW(make(p), std::invalid_argument);
    p = params_of(s, g);
    p.axis.samples = 0;
    BOOST_CHECK_THROW(make(p), std::invalid_argument);
    p = params_of(s, g);
    p.accuracy = accuracy_mode::fast;
    p.axis.samples = (1 << 23) + 1;
    BOOST_CHECK_THROW(make(p), std::invalid_argument);
    BOOST_CHECK_THROW(accuracy_mode_from_name("good"), std::invalid_argument);
}
