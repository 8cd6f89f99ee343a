// SPDX-License-Identifier: GPL-3.0-or-later

// The CUDA backend against its CPU twin. Exit status 77 (skipped) where there is no GPU,
// a failure when SAR_REQUIRE_GPU is set.
#define BOOST_TEST_MODULE bp_accumulator_gpu
#define BOOST_TEST_NO_MAIN
#include "../core/device_space.h"
#include "qa_bp_scene.h"
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace bp_test;

namespace {

const vec3 east = { 1, 0, 0 };
const vec3 north = { 0, 1, 0 };

//! Device memory through the public interface of a space: a ring used as a buffer.
class device_array
{
public:
    device_array(device_space& space, std::size_t bytes)
        : d_space(space),
          d_ring(space.make_device_ring((bytes + 4095) / 4096 * 4096, false))
    {
    }
    void upload(const void* from, std::size_t bytes)
    {
        d_space.synchronize();
        d_space.copy(d_ring->base, from, bytes, device_space::lane::upload);
        d_space.synchronize();
    }
    void download(void* to, std::size_t bytes)
    {
        d_space.synchronize();
        d_space.copy(to, d_ring->base, bytes, device_space::lane::download);
        d_space.synchronize();
    }
    cf32* data() { return reinterpret_cast<cf32*>(d_ring->base); }

private:
    device_space& d_space;
    std::unique_ptr<ring_memory> d_ring;
};

struct result {
    image pixels;
    bp_report report;
};

//! All pulses in pieces of \p batch, on a target.
result run_on(const compute_target& t,
              const setup& s,
              const bp_accumulator_params& p,
              const std::vector<cf32>& lines,
              int batch,
              int pulses_a_slot = 0)
{
    const auto b = bp_accumulator::make(p, t);
    const std::size_t pixels = static_cast<std::size_t>(p.grid->rows) * p.grid->cols;
    std::vector<cf32> out(pixels);
    const auto feed = [&](const cf32* where) {
        for (int n = 0; n < static_cast<int>(s.tx.size()); n += batch) {
            if (pulses_a_slot && n && n % pulses_a_slot == 0)
                b->advance();
            b->add(where + static_cast<std::size_t>(n) * s.axis.samples,
                   s.tx.data() + n,
                   s.rx.empty() ? nullptr : s.rx.data() + n,
                   std::min<int>(batch, s.tx.size() - n));
        }
    };
    if (!t.space) {
        feed(lines.data());
        b->write_rows(out.data(), 0, p.grid->rows);
        return { widen(out), b->report() };
    }
    device_array dev_lines(*t.space, lines.size() * sizeof(cf32));
    device_array dev_out(*t.space, pixels * sizeof(cf32));
    dev_lines.upload(lines.data(), lines.size() * sizeof(cf32));
    feed(dev_lines.data());
    // in two pieces
    const int first = p.grid->rows / 2;
    b->write_rows(dev_out.data(), 0, first);
    b->write_rows(dev_out.data() + static_cast<std::size_t>(first) * p.grid->cols,
                  first,
                  p.grid->rows - first);
    dev_out.download(out.data(), pixels * sizeof(cf32));
    return { widen(out), b->report() };
}

compute_target gpu() { return choose_target(backend::cuda, 0); }

void compare(const setup& s,
             const bp_accumulator_params& p,
             double allowed_db,
             int batch = 1000,
             int pulses_a_slot = 0)
{
    const std::vector<cf32> lines = lines_of(s);
    const result cpu = run_on(compute_target{}, s, p, lines, batch, pulses_a_slot);
    const result cuda = run_on(gpu(), s, p, lines, batch, pulses_a_slot);
    const double db = error_db(cuda.pixels, cpu.pixels);
    BOOST_TEST_MESSAGE(to_string(p.interpolator) << " " << to_string(p.accuracy)
                                                 << ": CUDA against CPU " << db << " dB");
    BOOST_CHECK_LE(db, allowed_db);
    BOOST_CHECK_EQUAL(cuda.report.pulses, cpu.report.pulses);
    BOOST_CHECK_EQUAL(cuda.report.fast_pulses, cpu.report.fast_pulses);
    BOOST_CHECK_EQUAL(cuda.report.skipped_pulses, cpu.report.skipped_pulses);
    BOOST_CHECK_EQUAL(cuda.report.non_finite, cpu.report.non_finite);
    BOOST_CHECK_LE(
        std::abs(static_cast<double>(cuda.report.outside) - cpu.report.outside),
        1e-4 * cpu.report.outside);
}

setup scene(const spotlight_options& o = {})
{
    setup s = spotlight(o);
    s.targets = { { { 1, 2, 0 }, 1.0 },
                  { { -4, 3, 0 }, { 0, 0.5 } },
                  { { 3, -5, 1 }, 0.2 } };
    return s;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_mode_and_interpolation)
{
    const setup s = scene();
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, 0.21, 0.19, 101, 131);
    for (const interpolation how : { interpolation::nearest,
                                     interpolation::linear,
                                     interpolation::sinc8,
                                     interpolation::sinc16 }) {
        // nearest: a rounding decides between two samples in few pixels
        compare(s,
                params_of(s, g, how, accuracy_mode::exact),
                how == interpolation::nearest ? -90 : -100);
        compare(s,
                params_of(s, g, how, accuracy_mode::fast),
                how == interpolation::nearest ? -60 : -80);
    }
}

BOOST_AUTO_TEST_CASE(exact_against_double_precision)
{
    const setup s = scene();
    const image_grid g =
        image_grid::centred({ 0, 0, 0 }, north, east, 0.21, 0.19, 53, 71);
    const result cuda = run_on(gpu(), s, params_of(s, g), lines_of(s), 1000);
    BOOST_CHECK_LE(error_db(cuda.pixels, direct_image(s, g)), -80);
}

BOOST_AUTO_TEST_CASE(edges_batches_and_odd_sizes)
{
    spotlight_options o;
    o.pulses = 150;
    o.swath_m = 14; // narrower than the image
    const setup s = scene(o);
    struct size {
        int rows, cols;
    };
    for (const size z : { size{ 1, 1 }, { 1, 97 }, { 101, 1 }, { 67, 41 } })
        for (const int batch : { 1, 64, 150 })
            compare(s,
                    params_of(s,
                              image_grid::centred(
                                  { 0, 0, 0 }, north, east, 0.4, 0.3, z.rows, z.cols),
                              interpolation::sinc8,
                              accuracy_mode::exact),
                    -100,
                    batch);
}

BOOST_AUTO_TEST_CASE(sliding_aperture)
{
    spotlight_options o;
    o.pulses = 90;
    const setup s = scene(o);
    bp_accumulator_params p =
        params_of(s,
                  image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 33, 35),
                  interpolation::sinc8);
    p.slots = 4;
    compare(s, p, -100, 5, 10);
}

BOOST_AUTO_TEST_CASE(bistatic_with_bias_and_reference_point)
{
    setup s = scene();
    for (const vec3& p : s.tx)
        s.rx.push_back(p + vec3{ 300, 40, -900 });
    s.axis.range_bias_m = 0.46;
    s.axis.range_from = range_reference::point;
    s.axis.first_m = -60;
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 45, 67);
    compare(s, params_of(s, g, interpolation::sinc8, accuracy_mode::exact), -100);
    compare(s, params_of(s, g, interpolation::sinc8, accuracy_mode::automatic), -80);
}

// Fast mode where the range, the pixels and the look angle are others.
BOOST_AUTO_TEST_CASE(fast_in_every_geometry)
{
    struct geometry {
        const char* name;
        double range_m, step_m, turn_deg, squint_deg, swath_m, allowed_db;
    };
    for (const geometry q : {
             geometry{ "10 km", 10e3, 0.2, 0, 0, 120, -80 },
             geometry{ "10 km, along the other axis", 10e3, 0.2, 90, 0, 120, -78 },
             geometry{ "10 km, 45 degrees off the axes", 10e3, 0.2, 45, 0, 120, -80 },
             geometry{ "10 km, squint", 10e3, 0.2, 30, 20, 400, -80 },
             geometry{ "770 km", 770e3, 0.4, 20, 0, 900, -77 },
             geometry{ "1 km", 1e3, 0.1, 45, 0, 120, -80 },
             geometry{ "100 m", 100, 0.05, 30, 0, 120, -76 },
         }) {
        BOOST_TEST_CONTEXT(q.name)
        {
            spotlight_options o;
            o.pulses = 100;
            o.range_m = q.range_m;
            o.squint_deg = q.squint_deg;
            o.swath_m = q.swath_m;
            setup s = spotlight(o);
            for (int k = 0; k < 20; ++k) // 80 dB of contrast
                s.targets.push_back(
                    { { 55 * q.step_m * std::sin(7.0 * k),
                        55 * q.step_m * std::cos(5.0 * k * k),
                        0 },
                      std::polar(std::pow(10.0, -4.0 * k / 19), k * 1.0) });
            const double a = q.turn_deg * pi / 180;
            const image_grid g = image_grid::centred({ 0, 0, 0 },
                                                     { -std::sin(a), std::cos(a), 0 },
                                                     { std::cos(a), std::sin(a), 0 },
                                                     q.step_m,
                                                     q.step_m,
                                                     101,
                                                     131);
            for (const interpolation how :
                 { interpolation::linear, interpolation::sinc8, interpolation::sinc16 })
                compare(s, params_of(s, g, how, accuracy_mode::fast), q.allowed_db, 40);
        }
    }
}

// The bound of the very geometry chooses: patches, tiles where patches are too large for
// the distance or their cells for the memory of a block, exact ranges where tiles are.
BOOST_AUTO_TEST_CASE(auto_takes_patches_tiles_or_exact_ranges)
{
    enum path { patches, tiles, exact };
    struct geometry {
        const char* name;
        double range_m, step_m;
        int oversampling;
        path wanted;
    };
    for (const geometry q : { geometry{ "10 km", 10e3, 0.2, 4, patches },
                              geometry{ "150 m", 150, 0.1, 4, patches },
                              geometry{ "75 m", 75, 0.1, 4, tiles },
                              geometry{ "10 km, long segments", 10e3, 0.2, 64, tiles },
                              geometry{ "25 m", 25, 0.1, 4, exact } }) {
        BOOST_TEST_CONTEXT(q.name)
        {
            spotlight_options o;
            o.pulses = 20;
            o.range_m = q.range_m;
            o.oversampling = q.oversampling;
            setup s = spotlight(o);
            s.targets = { { { 1, 2, 0 }, 1.0 }, { { -3, 1, 0 }, { 0, 0.5 } } };
            const image_grid g = image_grid::centred({ 0, 0, 0 },
                                                     { -0.6, 0.8, 0 },
                                                     { 0.8, 0.6, 0 },
                                                     q.step_m,
                                                     q.step_m,
                                                     81,
                                                     99);
            const std::vector<cf32> lines = lines_of(s);
            const bp_accumulator_params p =
                params_of(s, g, interpolation::sinc8, accuracy_mode::automatic);
            const result r = run_on(gpu(), s, p, lines, 1000);
            const double db = error_db(
                r.pixels, reference_image(s, g, lines, interpolation::sinc8, 0, 20));
            BOOST_TEST_MESSAGE(q.name << ": " << db << " dB, bound "
                                      << r.report.phase_bound_rad << " rad");
            BOOST_CHECK_LT(r.report.phase_bound_rad, allowed_phase_error_rad);
            BOOST_CHECK_LE(db, q.wanted == exact ? -100 : -60);
            BOOST_CHECK_EQUAL(r.report.patch_pulses, q.wanted == patches ? 20 : 0);
            BOOST_CHECK_EQUAL(r.report.fast_pulses, q.wanted == exact ? 0 : 20);
        }
    }
}

BOOST_AUTO_TEST_CASE(fast_edges_batches_and_odd_sizes)
{
    struct size {
        int rows, cols;
    };
    for (const int pulses : { 1, 150, 300 }) {
        spotlight_options o;
        o.pulses = pulses;
        o.swath_m = 14; // narrower than the image
        const setup s = scene(o);
        for (const size z :
             { size{ 1, 1 }, { 1, 97 }, { 101, 1 }, { 67, 41 }, { 129, 193 } })
            for (const int batch : { 1, 7, 64, 300 }) {
                if (pulses == 300 && (batch == 1 || z.rows < 129))
                    continue;
                compare(s,
                        params_of(s,
                                  image_grid::centred(
                                      { 0, 0, 0 }, north, east, 0.2, 0.2, z.rows, z.cols),
                                  interpolation::sinc8,
                                  accuracy_mode::fast),
                        -78,
                        batch);
            }
    }
}

BOOST_AUTO_TEST_CASE(fast_sliding_aperture)
{
    spotlight_options o;
    o.pulses = 90;
    const setup s = scene(o);
    bp_accumulator_params p =
        params_of(s,
                  image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 83, 75),
                  interpolation::sinc8,
                  accuracy_mode::fast);
    p.slots = 4;
    compare(s, p, -80, 5, 10);
}

// A line of samples that are not finite: the sums it belongs to are left out, no others.
BOOST_AUTO_TEST_CASE(fast_samples_that_are_not_finite)
{
    spotlight_options o;
    o.pulses = 200;
    const setup s = scene(o);
    std::vector<cf32> lines = lines_of(s);
    const int middle = s.axis.samples / 2;
    for (int m = middle - 30; m < middle + 30; ++m)
        lines[100 * s.axis.samples + m].re = std::numeric_limits<float>::quiet_NaN();
    lines[150 * s.axis.samples + middle].im = std::numeric_limits<float>::infinity();
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 141, 95);
    for (const interpolation how : { interpolation::linear, interpolation::sinc8 }) {
        const bp_accumulator_params p = params_of(s, g, how, accuracy_mode::fast);
        const result cpu = run_on(compute_target{}, s, p, lines, 200);
        const result cuda = run_on(gpu(), s, p, lines, 200);
        BOOST_TEST(cpu.report.non_finite > 100);
        // at the rim of what is not finite a rounding decides
        BOOST_CHECK_LE(
            std::abs(static_cast<double>(cuda.report.non_finite) - cpu.report.non_finite),
            0.01 * cpu.report.non_finite);
        BOOST_CHECK_LE(error_db(cuda.pixels, cpu.pixels), -30);
        int differing = 0;
        for (std::size_t i = 0; i < cpu.pixels.size(); ++i)
            differing += std::abs(cuda.pixels[i] - cpu.pixels[i]) > 1e-3;
        BOOST_CHECK_LE(differing, 0.01 * cpu.report.non_finite);
    }
}

// CASES 19: broken positions and samples; the context lives and the next image is right.
BOOST_AUTO_TEST_CASE(what_is_not_finite)
{
    spotlight_options o;
    o.pulses = 80;
    const setup s = scene(o);
    const image_grid g = image_grid::centred({ 0, 0, 0 }, north, east, 0.2, 0.2, 41, 41);
    for (const accuracy_mode mode : { accuracy_mode::exact, accuracy_mode::fast }) {
        const bp_accumulator_params p = params_of(s, g, interpolation::sinc8, mode);
        setup broken = s;
        std::vector<cf32> lines = lines_of(s);
        broken.tx[3].y = std::numeric_limits<double>::quiet_NaN();
        broken.tx[70].x = std::numeric_limits<double>::infinity();
        broken.tx[71] = { 1e300, -1e300, 1e200 };
        lines[65 * s.axis.samples + 1].re = std::numeric_limits<float>::quiet_NaN();
        const result cpu = run_on(compute_target{}, broken, p, lines, 80);
        const result cuda = run_on(gpu(), broken, p, lines, 80);
        BOOST_CHECK_LE(error_db(cuda.pixels, cpu.pixels), -80);
        BOOST_CHECK_EQUAL(cuda.report.skipped_pulses, 2);
        BOOST_CHECK_EQUAL(cuda.report.outside, cpu.report.outside);
        BOOST_CHECK_EQUAL(cuda.report.non_finite, cpu.report.non_finite);
        compare(s, p, -80);
    }
}

BOOST_AUTO_TEST_CASE(an_image_too_large_names_the_bytes)
{
    const setup s = scene();
    bp_accumulator_params p =
        params_of(s, image_grid::centred({ 0, 0, 0 }, north, east, 1, 1, 60000, 60000));
    p.slots = 16;
    try {
        bp_accumulator::make(p, gpu());
        BOOST_FAIL("an image of 921 GB was taken");
    } catch (const std::runtime_error& e) {
        BOOST_TEST(std::string(e.what()).find("921600000000 bytes") != std::string::npos,
                   e.what());
    }
}

int main(int argc, char** argv)
{
    std::string reason;
    if (cuda_device_count(reason) == 0) {
        std::printf("no GPU: %s\n", reason.c_str());
        return std::getenv("SAR_REQUIRE_GPU") ? 1 : 77;
    }
    return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
