// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE stolt
#include "../rcmc/qa_rcmc_scene.h"
#include "stolt.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include <limits>

using namespace gr::sar;
using namespace gr::sar::rcmc_test;
using gr::sar::kernel::migration_interpolation;
using gr::sar::kernel::rcmc;
using gr::sar::kernel::stolt;
using gr::sar::kernel::stolt_params;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

stolt_params params_for(const acquisition_fields& f,
                        int lines,
                        image_geometry geometry = image_geometry::zero_doppler)
{
    return { { acquisition(f), 1, lines, lines, geometry } };
}

//! So near and over so wide a swath that what holds in its middle does not at its ends; a
//! low PRF, so that points stay within the line over the Doppler band.
acquisition_fields wide_swath(double squint_degrees)
{
    acquisition_fields a = airborne(2048);
    a.slant_range_first_m = 2000.25;
    a.prf_hz = 60;
    a.chirp_rate_hz_per_s = 120e6 / a.pulse_length_s; // room for the wider band
    a.doppler_centroid_hz = doppler_of_squint(squint_degrees);
    return a;
}

constexpr double satellite_m_s = 7062;

//! 990 km away: a phase of 3.5e7 cycles, a Doppler centroid of 5.5 PRFs.
acquisition_fields satellite()
{
    acquisition_fields a = airborne(2048);
    a.carrier_hz = 5.3e9;
    a.prf_hz = 1256.98;
    a.sample_rate_hz = 32.317e6;
    a.chirp_rate_hz_per_s = 24e6 / a.pulse_length_s;
    a.slant_range_first_m = 988647.5;
    a.effective_velocity_m_s = satellite_m_s;
    a.doppler_centroid_hz = -6900;
    return a;
}

template <typename Stage>
std::vector<cd> mapped(Stage& k, const std::vector<cd>& line, int row)
{
    const std::vector<cf32> in = to_cf32(line);
    std::vector<cf32> out(line.size());
    k.process(in.data(), out.data(), row, 1);
    return to_cd(out);
}

} // namespace

// A point in the exact two-dimensional spectrum, anywhere in the swath: position, phase,
// peak and width, at squints at which rcmc, made for the middle, no longer focuses.
BOOST_DATA_TEST_CASE(a_point_is_straightened,
                     data::make({ 0.0, 4.0, 10.0, 23.0, 30.0 }) *
                         data::make({ image_geometry::zero_doppler,
                                      image_geometry::centroid }) *
                         data::make({ 0.0, 12.3 }),
                     squint,
                     geometry,
                     bias)
{
    acquisition_fields a = wide_swath(squint);
    a.range_bias_m = bias;
    const auto k = stolt::make(params_for(a, 64, geometry), cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double middle = factor_of(a.doppler_centroid_hz, 100, a.carrier_hz);
    double moved = 0;
    for (const int cell : { 40, 1024, 1033, 1700 }) {
        const double at = cell + 0.3; // in the geometry of the image
        const double r = f.out_first_m + at * f.spacing_m;
        const double closest = geometry == image_geometry::centroid ? r * middle : r;
        double nearest = 1e9;
        double farthest = 0;
        for (int row = 0; row < 64; row += 21) {
            const double frequency =
                frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
            const double d = factor_of(frequency, 100, a.carrier_hz);
            const response y =
                measure(mapped(*k, row_of_point(f, frequency, closest), row));
            BOOST_TEST(std::abs(y.position - at) < 1.0 / 64);
            BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.005);
            const cd expected =
                turn(-2 * a.carrier_hz / speed_of_light * (closest * d + bias));
            BOOST_TEST(std::abs(std::arg(y.value / expected)) < 0.01);
            // 0.886 over the band of K, in cells of the image
            const double sampling = speed_of_light / 2 / f.spacing_m;
            const double cells = 0.8859 * sampling / f.bandwidth_hz * d /
                                 (geometry == image_geometry::centroid ? middle : 1.0);
            BOOST_TEST(std::abs(y.width / cells - 1) < 0.01);
            nearest = std::min(nearest, closest / d);
            farthest = std::max(farthest, closest / d);
        }
        moved = std::max(moved, (farthest - nearest) / f.spacing_m);
    }
    BOOST_TEST(moved > (squint == 0 ? 0 : 1)); // there was something to straighten
}

BOOST_AUTO_TEST_CASE(phases_of_a_satellite)
{
    constexpr double v = satellite_m_s;
    const acquisition_fields a = satellite();
    const auto k = stolt::make(params_for(a, 64), cpu);
    const range_doppler_frame& f = k->plan().frame();
    for (const int cell : { 60, 1024, 1900 }) {
        const double at = cell + 0.3;
        const double closest = f.out_first_m + at * f.spacing_m;
        for (const int row : { 0, 25, 63 }) {
            const double frequency =
                frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
            const double d = factor_of(frequency, v, a.carrier_hz);
            const response y =
                measure(mapped(*k, row_of_point(f, frequency, closest, v), row));
            BOOST_TEST(std::abs(y.position - at) < 1.0 / 64);
            BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.005);
            const cd expected = turn(-2 * a.carrier_hz / speed_of_light * closest * d);
            BOOST_TEST(std::abs(std::arg(y.value / expected)) < 0.01);
        }
    }
}

// The whole line against the integral over K, in double.
BOOST_DATA_TEST_CASE(error_of_the_interpolation,
                     (data::make({ migration_interpolation::sinc8,
                                   migration_interpolation::sinc16,
                                   migration_interpolation::exact }) ^
                      data::make({ -45.0, -65.0, -75.0 })) *
                         data::make({ false, true }),
                     how,
                     limit_db,
                     from_space)
{
    const acquisition_fields a = from_space ? satellite() : wide_swath(20);
    const double v = from_space ? satellite_m_s : 100;
    stolt_params p = params_for(a, 64);
    p.interpolator = how;
    const auto k = stolt::make(p, cpu);
    const range_doppler_frame& f = k->plan().frame();
    const int row = 11;
    const double frequency = frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
    const double q = speed_of_light * frequency / (2 * v);
    const double k0 = f.carrier_hz * factor_of(frequency, v, a.carrier_hz);
    const double sampling = speed_of_light / 2 / f.spacing_m;
    double worst = -300;
    for (const double at : { 50.4, 1024.0, 1850.7 }) {
        const double closest = f.out_first_m + at * f.spacing_m;
        // with a Hann window, so that the responses end before the line does
        std::vector<cd> line(2048);
        std::vector<cd> truth(2048);
        const int edge = static_cast<int>(f.bandwidth_hz / sampling * 4096);
        for (int i = -edge; i <= edge; ++i) {
            const double ft = i * sampling / 8192;
            const double weight = std::pow(std::cos(pi / 2 * i / (edge + 1)), 2);
            const double x = f.carrier_hz + ft;
            const double over = std::sqrt(x * x - q * q);
            const auto add = [&](std::vector<cd>& to, double first, double step) {
                cd value = weight * turn(first);
                for (cd& v : to) {
                    v += value;
                    value *= turn(step);
                }
            };
            add(line,
                2 / speed_of_light * (ft * f.line_first_m - closest * over),
                i / 8192.0);
            const double cycles = 2 * f.spacing_m / speed_of_light * (over - k0);
            add(truth, -2 * k0 * closest / speed_of_light - at * cycles, cycles);
        }
        worst = std::max(worst, difference_db(mapped(*k, line, row), truth));
    }
    BOOST_TEST_MESSAGE(to_string(how) << ": " << worst << " dB");
    BOOST_TEST(worst < limit_db);
}

BOOST_AUTO_TEST_CASE(where_rcmc_still_holds_both_agree)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = doppler_of_squint(2);
    const auto k = stolt::make(params_for(a, 64), cpu);
    const auto other = rcmc::make(params_of(a, 64), cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double frequency = frequency_of_row(3, 64, a.prf_hz, a.doppler_centroid_hz);
    const auto line = row_of_point(f, frequency, f.out_first_m + 256.4 * f.spacing_m);
    const double db = difference_db(mapped(*k, line, 3), mapped(*other, line, 3));
    BOOST_TEST_MESSAGE(db);
    BOOST_TEST(db < -55);
}

BOOST_AUTO_TEST_CASE(rcmc_fails_where_this_does_not)
{
    const acquisition_fields a = wide_swath(23);
    const auto k = rcmc::make(params_of(a, 64), cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double frequency = frequency_of_row(0, 64, a.prf_hz, a.doppler_centroid_hz);
    const auto line = row_of_point(f, frequency, f.out_first_m + 1800.3 * f.spacing_m);
    BOOST_TEST(std::abs(measure(mapped(*k, line, 0)).value) < 0.96);
    const auto s = stolt::make(params_for(a, 64), cpu);
    BOOST_TEST(std::abs(measure(mapped(*s, line, 0)).value) > 0.995);
}

// ---- sizes, storage, bad values
// -----------------------------------------------------------

BOOST_DATA_TEST_CASE(any_size,
                     data::make({ 1, 2, 7, 211, 800, 1200, 1201, 4099, 5999 }),
                     samples)
{
    acquisition_fields a = airborne(samples);
    a.chirp_rate_hz_per_s = 120e6 / a.pulse_length_s;
    a.doppler_centroid_hz = 400;
    const auto k = stolt::make(params_for(a, 5), cpu);
    const auto in = noise(static_cast<std::size_t>(7) * samples);
    std::vector<cf32> out(in.size());
    k->process(in.data(), out.data(), 4, 7); // beyond the last row: from the first
    std::vector<cf32> again(in.size());
    for (int r = 0; r < 7; ++r)
        k->process(in.data() + static_cast<std::size_t>(r) * samples,
                   again.data() + static_cast<std::size_t>(r) * samples,
                   (4 + r) % 5,
                   1);
    for (std::size_t i = 0; i < in.size(); ++i) {
        BOOST_REQUIRE(is_finite(out[i]));
        BOOST_REQUIRE((out[i].re == again[i].re && out[i].im == again[i].im));
    }
    std::vector<cf32> place = in;
    k->process(place.data(), place.data(), 4, 7);
    BOOST_TEST(difference_db(to_cd(place), to_cd(out)) < -200);
    // and other rows with plans that were used
    const auto more = noise(in.size(), 2);
    const auto fresh = stolt::make(params_for(a, 5), cpu);
    k->process(more.data(), out.data(), 4, 7);
    fresh->process(more.data(), again.data(), 4, 7);
    BOOST_TEST(difference_db(to_cd(out), to_cd(again)) < -200);
}

BOOST_AUTO_TEST_CASE(a_bad_row_is_zeroed_and_counted)
{
    const auto k = stolt::make(params_for(airborne(300), 8), cpu);
    std::vector<cf32> in = noise(3 * 300);
    in[300 + 17].im = std::numeric_limits<float>::quiet_NaN();
    std::vector<cf32> out(in.size());
    k->process(in.data(), out.data(), 0, 3);
    BOOST_TEST(k->bad_lines() == 1u);
    for (int n = 0; n < 300; ++n) {
        BOOST_TEST(norm(out[300 + n]) == 0);
        BOOST_REQUIRE(is_finite(out[n]));
        BOOST_REQUIRE(is_finite(out[600 + n]));
    }
    BOOST_TEST(norm(out[5]) > 0);
}

BOOST_AUTO_TEST_CASE(evanescent_bins_are_nothing)
{
    // a low carrier and a wide band: at the ends of the band nothing propagates
    acquisition_fields a = airborne(512);
    a.carrier_hz = 200e6;
    a.effective_velocity_m_s = 100;
    a.prf_hz = 40;
    a.doppler_centroid_hz = 95; // of at most 133 Hz
    a.chirp_rate_hz_per_s = 60e6 / a.pulse_length_s;
    const auto k = stolt::make(params_for(a, 16), cpu);
    const auto in = noise(16 * 512);
    std::vector<cf32> out(in.size());
    k->process(in.data(), out.data(), 0, 16);
    for (const cf32& v : out)
        BOOST_REQUIRE(is_finite(v));
    BOOST_TEST(k->bad_lines() == 0u);
}

BOOST_AUTO_TEST_CASE(half_storage)
{
    stolt_params p = params_for(airborne(300), 8);
    const auto single = stolt::make(p, cpu);
    p.input = p.output = line_storage::half;
    const auto half = stolt::make(p, cpu);
    const auto in = noise(300);
    std::vector<char> packed(line_bytes(line_storage::half, 300));
    store_line(line_storage::half, in.data(), 300, packed.data());
    half->process(packed.data(), packed.data(), 3, 1);
    std::vector<cf32> out(300);
    load_line(line_storage::half, packed.data(), 300, out.data());
    std::vector<cf32> truth(300);
    single->process(in.data(), truth.data(), 3, 1);
    BOOST_TEST(difference_db(to_cd(out), to_cd(truth)) < -80);
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    acquisition_fields a = airborne(512);
    a.chirp_rate_hz_per_s = 120e6 / a.pulse_length_s;
    const auto k = stolt::make(params_for(a, 64), cpu);
    a.doppler_centroid_hz = 2100;
    k->set_centroid({ 2100.0 });
    const auto fresh = stolt::make(params_for(a, 64), cpu);
    const auto in = noise(512);
    std::vector<cf32> x(512);
    std::vector<cf32> y(512);
    k->process(in.data(), x.data(), 9, 1);
    fresh->process(in.data(), y.data(), 9, 1);
    BOOST_TEST(difference_db(to_cd(x), to_cd(y)) < -100);
    BOOST_CHECK_THROW(k->set_centroid({ 1e6 }), std::invalid_argument);
    k->process(in.data(), y.data(), 9, 1);
    BOOST_TEST(difference_db(to_cd(x), to_cd(y)) < -200);
}

BOOST_AUTO_TEST_CASE(a_swath_that_is_not_uniform_is_measured)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = 300;
    BOOST_TEST(kernel::residual_migration_cells(
                   range_doppler_plan({ acquisition(a), 1, 64 })) == 0);
    a.effective_velocity_slopes = { 1e-3 };
    const auto k = stolt::make(params_for(a, 64), cpu);
    // the largest is that of an end of the swath at the end of the band
    const double far = 8000.25 + 511 * k->plan().frame().spacing_m;
    const double v = 100 + 1e-3 * (far - 8000.25);
    const double expected =
        far *
        (1 / factor_of(450, k->plan().frame().velocity_m_s, a.carrier_hz) -
         1 / factor_of(450, v, a.carrier_hz)) /
        k->plan().frame().spacing_m;
    BOOST_TEST(std::abs(kernel::residual_migration_cells(k->plan()) / expected - 1) <
               0.1);
}

BOOST_AUTO_TEST_CASE(refusals)
{
    acquisition_fields a = airborne(512);
    const auto says = [](const stolt_params& p, const std::string& word) {
        try {
            stolt::make(p, cpu);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what()).find(word) != std::string::npos;
        }
        return false;
    };
    stolt_params p = params_for(a, 64);
    for (const auto how : { migration_interpolation::nearest,
                            migration_interpolation::linear,
                            migration_interpolation::fixed }) {
        p.interpolator = how;
        BOOST_TEST(says(p, "interpolation is '" + to_string(how)));
    }
    // 150 MHz of 187.5 become more than that at 40 degrees
    a.doppler_centroid_hz = doppler_of_squint(40);
    BOOST_TEST(says(params_for(a, 64), "expected an oversampling of 2"));
    p = params_for(a, 64);
    p.geometry.oversampling = 2;
    BOOST_CHECK_NO_THROW(stolt::make(p, cpu));
    p = params_for(airborne(512), 64);
    p.max_batch = 0;
    BOOST_TEST(says(p, "max_batch is 0"));
}
