// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE chirp_scaling
#include "../pulse_compression/pulse_compression.h"
#include "../rcmc/qa_rcmc_scene.h"
#include "../stolt/stolt.h"
#include "chirp_scaling.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include <limits>

using namespace gr::sar;
using namespace gr::sar::rcmc_test;
using gr::sar::kernel::chirp_scaling;
using gr::sar::kernel::chirp_scaling_params;
using gr::sar::kernel::stolt;
namespace data = boost::unit_test::data;

namespace {

const compute_target cpu = choose_target(backend::cpu);

//! A long chirp of X band, 8 km: 120 of 187.5 MHz.
acquisition_fields chirped(int samples, double squint_degrees = 0)
{
    acquisition_fields a = airborne(samples);
    a.pulse_length_s = 4e-6; // 750 samples
    a.chirp_rate_hz_per_s = 120e6 / a.pulse_length_s;
    a.prf_hz = 60;
    a.doppler_centroid_hz = doppler_of_squint(squint_degrees);
    return a;
}

chirp_scaling_params params_for(const acquisition_fields& f,
                                image_geometry geometry = image_geometry::zero_doppler,
                                int oversampling = 1)
{
    return { { acquisition(f), oversampling, 64, 64, geometry }, {} };
}

/*!
 * \brief Raw row of a point: its compressed row, by the exact two-dimensional spectrum,
 * with the chirp put back.
 *
 * The spectrum of the pulse times that of the point, so what a receiver would record.
 */
std::vector<cd> raw_row(const acquisition_fields& a,
                        const range_doppler_frame& f,
                        double frequency,
                        double closest,
                        double v = 100)
{
    const int n = 8 * a.samples;
    const double s = speed_of_light * frequency / (2 * v);
    const int pulse = acquisition(a).pulse_samples();
    // spectrum of the sampled pulse at the frequencies wanted, by definition
    std::vector<cd> p(pulse);
    for (int i = 0; i < pulse; ++i) {
        const double t = i / a.sample_rate_hz - a.pulse_length_s / 2;
        p[i] = turn(0.5 * a.chirp_rate_hz_per_s * t * t);
    }
    std::vector<cd> line(a.samples);
    for (int k = -n / 2; k < n / 2; ++k) {
        const double ft = k * a.sample_rate_hz / n;
        cd spectrum = 0;
        cd e = 1;
        const cd back = turn(-static_cast<double>(k) / n);
        for (const cd& v : p) {
            spectrum += v * e;
            e *= back;
        }
        const double cycles =
            -2 * closest / speed_of_light *
                std::sqrt((a.carrier_hz + ft) * (a.carrier_hz + ft) - s * s) +
            ft * 2 * (f.line_first_m - f.bias_m) / speed_of_light -
            2 * a.carrier_hz * f.bias_m / speed_of_light;
        cd value = spectrum * turn(cycles) / static_cast<double>(n);
        const cd step = turn(static_cast<double>(k) / n);
        for (cd& x : line) {
            x += value;
            value *= step;
        }
    }
    return line;
}

std::vector<cd> scaled(chirp_scaling& k, const std::vector<cd>& raw, int row)
{
    const std::vector<cf32> in = to_cf32(raw);
    std::vector<cf32> out(k.cols());
    k.process(in.data(), out.data(), row, 1);
    return to_cd(out);
}

} // namespace

BOOST_DATA_TEST_CASE(a_point_is_compressed_and_straightened,
                     data::make({ 0.0, 4.0, 10.0 }) *
                         data::make({ image_geometry::zero_doppler,
                                      image_geometry::centroid }) *
                         data::make({ 0.0, 12.3 }) * data::make({ 1, -1 }),
                     squint,
                     geometry,
                     bias,
                     sign)
{
    acquisition_fields a = chirped(1536, squint);
    a.range_bias_m = bias;
    a.chirp_rate_hz_per_s *= sign;
    const auto k = chirp_scaling::make(params_for(a, geometry), cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double middle = factor_of(a.doppler_centroid_hz, 100, a.carrier_hz);
    for (const int cell : { 120, 600 }) {
        const double at = cell + 0.3; // in the geometry of the image
        const double r = f.out_first_m + at * f.spacing_m;
        const double closest = geometry == image_geometry::centroid ? r * middle : r;
        for (const int row : { 0, 31 }) {
            const double frequency =
                frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
            const double d = factor_of(frequency, 100, a.carrier_hz);
            const response y =
                measure(scaled(*k, raw_row(a, f, frequency, closest), row));
            BOOST_TEST(std::abs(y.position - at) < 1.0 / 32);
            BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.02);
            const cd expected =
                turn(-2 * a.carrier_hz / speed_of_light * (closest * d + bias));
            BOOST_TEST(std::abs(std::arg(y.value / expected)) < 0.05);
            const double sampling = speed_of_light / 2 / f.spacing_m;
            const double cells = 0.8859 * sampling / f.bandwidth_hz;
            BOOST_TEST(std::abs(y.width / cells - 1) < 0.02);
        }
    }
}

// 990 km away a phase of 3.5e7 cycles, a Doppler centroid of 5.5 PRFs, pulses of 1349
// samples: in single precision nothing would be left of it.
BOOST_DATA_TEST_CASE(phases_of_a_satellite, data::make({ 1, -1 }), sign)
{
    constexpr double v = 7062;
    acquisition_fields a = airborne(2048);
    a.carrier_hz = 5.3e9;
    a.prf_hz = 1256.98;
    a.sample_rate_hz = 32.317e6;
    a.pulse_length_s = 41.74e-6;
    a.chirp_rate_hz_per_s = sign * 30e6 / a.pulse_length_s;
    a.slant_range_first_m = 988647.5;
    a.effective_velocity_m_s = v;
    a.doppler_centroid_hz = -6900;
    const auto k = chirp_scaling::make(params_for(a), cpu);
    const range_doppler_frame& f = k->plan().frame();
    for (const int cell : { 60, 640 }) {
        const double at = cell + 0.3;
        const double closest = f.out_first_m + at * f.spacing_m;
        for (const int row : { 0, 40 }) {
            const double frequency =
                frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
            const double d = factor_of(frequency, v, a.carrier_hz);
            const response y =
                measure(scaled(*k, raw_row(a, f, frequency, closest, v), row));
            BOOST_TEST(std::abs(y.position - at) < 1.0 / 32);
            BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.02);
            const cd expected = turn(-2 * a.carrier_hz / speed_of_light * closest * d);
            BOOST_TEST(std::abs(std::arg(y.value / expected)) < 0.02);
        }
    }
}

// What the wavenumber algorithm makes of the same echo.
BOOST_AUTO_TEST_CASE(agrees_with_the_stolt_mapping)
{
    const acquisition_fields a = chirped(1536, 4);
    const auto k = chirp_scaling::make(params_for(a, image_geometry::centroid), cpu);
    const auto other =
        stolt::make({ { acquisition(a), 1, 64, 64, image_geometry::centroid } }, cpu);
    const auto compression =
        kernel::pulse_compression::make({ acquisition(a), 1, {}, {} }, cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double frequency = frequency_of_row(5, 64, a.prf_hz, a.doppler_centroid_hz);
    const auto raw = to_cf32(
        raw_row(a, f, frequency, (f.out_first_m + 400.4 * f.spacing_m) * f.factor));
    std::vector<cf32> x(1536);
    std::vector<cf32> y(1536);
    k->process(raw.data(), x.data(), 5, 1);
    compression->process(raw.data(), y.data(), 1);
    other->process(y.data(), y.data(), 5, 1);
    const double db = difference_db(to_cd(x), to_cd(y));
    BOOST_TEST_MESSAGE(db << " dB");
    BOOST_TEST(db < -42);
}

BOOST_AUTO_TEST_CASE(oversampling_and_windows)
{
    const acquisition_fields a = chirped(1536, 4);
    chirp_scaling_params p = params_for(a, image_geometry::centroid, 2);
    p.range_window = window("kaiser(2.5)");
    const auto k = chirp_scaling::make(p, cpu);
    BOOST_TEST(k->cols() == 2 * 1536);
    const range_doppler_frame& f = k->plan().frame();
    const double frequency = frequency_of_row(5, 64, a.prf_hz, a.doppler_centroid_hz);
    const double closest = (f.out_first_m + 800.6 * f.spacing_m) * f.factor;
    acquisition_fields raw_axis = a;
    const range_doppler_plan plain({ acquisition(raw_axis), 1, 64, 64 });
    const response y =
        measure(scaled(*k, raw_row(a, plain.frame(), frequency, closest), 5));
    BOOST_TEST(std::abs(y.position - 800.6) < 1.0 / 16);
    BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.02);
    const double sampling = speed_of_light / 2 / f.spacing_m;
    const double cells = window("kaiser(2.5)").irw() * sampling / f.bandwidth_hz;
    BOOST_TEST(std::abs(y.width / cells - 1) < 0.02);
}

// The bounds say when: a near and wide swath with squint.
BOOST_AUTO_TEST_CASE(bounds_and_refusals)
{
    const auto says = [](const chirp_scaling_params& p, const std::string& word) {
        try {
            chirp_scaling::make(p, cpu);
        } catch (const std::invalid_argument& e) {
            if (std::string(e.what()).find(word) != std::string::npos)
                return true;
            BOOST_TEST_MESSAGE(e.what());
        }
        return false;
    };
    acquisition_fields a = chirped(4096, 25);
    a.slant_range_first_m = 2000;
    BOOST_TEST(says(params_for(a, image_geometry::centroid), "use stolt"));
    a = chirped(1024, 12); // a short pulse, and hardly more sampling rate than band
    a.sample_rate_hz = 40e6;
    a.pulse_length_s = 1e-6;
    a.chirp_rate_hz_per_s = 30e12;
    BOOST_TEST(says(params_for(a), "moves the band of points"));
    a = chirped(4096, 12);
    const auto k = chirp_scaling::make(params_for(a, image_geometry::centroid), cpu);
    BOOST_TEST(k->bounds().band_shift_hz < 2e6);
    BOOST_TEST(k->bounds().phase_error_rad > 0.01);
    // the bound on the phase is what is found: half of the band, one end of the swath
    const range_doppler_frame& f = k->plan().frame();
    double z = 0;
    for (int row = 0; row < 64; ++row) {
        const double frequency =
            frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz);
        const double d = factor_of(frequency, 100, a.carrier_hz);
        // half of the cells of whole pulses, of 750 samples
        const double half = (4096 - 750) / 2.0 * f.spacing_m * f.factor;
        z = std::max(z,
                     speed_of_light * half * frequency * frequency /
                         (2 * 1e4 * std::pow(a.carrier_hz * d, 3)));
    }
    BOOST_TEST(k->bounds().phase_error_rad == pi * 3.6e15 * z,
               boost::test_tools::tolerance(0.01));
    a = chirped(512);
    a.wave = waveform::replica;
    a.replica_bandwidth_hz = 120e6;
    BOOST_TEST(says(params_for(a), "waveform is replica"));
    chirp_scaling_params p = params_for(chirped(512));
    p.max_batch = 0;
    BOOST_TEST(says(p, "max_batch is 0"));
}

BOOST_DATA_TEST_CASE(any_size, data::make({ 1, 2, 211, 800, 1201, 4099, 5999 }), samples)
{
    const auto k = chirp_scaling::make(params_for(chirped(samples, 2)), cpu);
    const auto in = noise(static_cast<std::size_t>(7) * samples);
    std::vector<cf32> out(in.size());
    k->process(in.data(), out.data(), 61, 7); // beyond the last row: from the first
    std::vector<cf32> again(in.size());
    for (int r = 0; r < 7; ++r)
        k->process(in.data() + static_cast<std::size_t>(r) * samples,
                   again.data() + static_cast<std::size_t>(r) * samples,
                   (61 + r) % 64,
                   1);
    for (std::size_t i = 0; i < in.size(); ++i) {
        BOOST_REQUIRE(is_finite(out[i]));
        BOOST_REQUIRE((out[i].re == again[i].re && out[i].im == again[i].im));
    }
    // and other rows with plans that were used
    const auto more = noise(in.size(), 2);
    const auto fresh = chirp_scaling::make(params_for(chirped(samples, 2)), cpu);
    k->process(more.data(), out.data(), 61, 7);
    fresh->process(more.data(), again.data(), 61, 7);
    BOOST_TEST(difference_db(to_cd(out), to_cd(again)) < -200);
}

BOOST_AUTO_TEST_CASE(bad_rows_storage_and_another_centroid)
{
    const auto k = chirp_scaling::make(params_for(chirped(300)), cpu);
    std::vector<cf32> in = noise(3 * 300);
    in[300 + 17].im = std::numeric_limits<float>::infinity();
    std::vector<cf32> out(in.size());
    k->process(in.data(), out.data(), 0, 3);
    BOOST_TEST(k->bad_lines() == 1u);
    for (int n = 0; n < 300; ++n)
        BOOST_REQUIRE((norm(out[300 + n]) == 0 && is_finite(out[n])));

    chirp_scaling_params p = params_for(chirped(300));
    p.input = p.output = line_storage::half;
    const auto half = chirp_scaling::make(p, cpu);
    std::vector<char> packed(line_bytes(line_storage::half, 300));
    store_line(line_storage::half, in.data(), 300, packed.data());
    half->process(packed.data(), packed.data(), 0, 1);
    std::vector<cf32> back(300);
    load_line(line_storage::half, packed.data(), 300, back.data());
    BOOST_TEST(difference_db(to_cd(back), to_cd({ out.begin(), out.begin() + 300 })) <
               -80);

    k->set_centroid({ 500.0 });
    acquisition_fields a = chirped(300);
    a.doppler_centroid_hz = 500;
    const auto fresh = chirp_scaling::make(params_for(a), cpu);
    std::vector<cf32> x(300);
    std::vector<cf32> y(300);
    k->process(in.data(), x.data(), 9, 1);
    fresh->process(in.data(), y.data(), 9, 1);
    BOOST_TEST(difference_db(to_cd(x), to_cd(y)) < -100);
    BOOST_CHECK_THROW(k->set_centroid({ 1e6 }), std::invalid_argument);
    k->process(in.data(), y.data(), 9, 1);
    BOOST_TEST(difference_db(to_cd(x), to_cd(y)) < -200);
}

// The phases of a row as polynomials are those of the functions, whole cycles aside.
BOOST_DATA_TEST_CASE(polynomials_are_the_phases,
                     data::make({ 0.0, 7.0, -20.0 }) *
                         data::make({ image_geometry::zero_doppler,
                                      image_geometry::centroid }),
                     squint_degrees,
                     geometry)
{
    namespace scaling = gr::sar::kernel::scaling;
    const auto s =
        chirp_scaling::make(params_for(chirped(1500, squint_degrees), geometry), cpu);
    const scaling::shape& shape = s->shape();
    const gr::sar::range_doppler_frame& f = s->plan().frame();
    const auto differ = [](double a, double b) {
        return std::abs(a - b - std::rint(a - b));
    };
    double worst = 0;
    for (int k = 0; k < f.rows; ++k) {
        const scaling::row row = scaling::row_of(f, shape, k);
        const scaling::row_phases p = scaling::phases_of(shape, row);
        BOOST_TEST(p.gain == scaling::gain(shape, row));
        double most = 0;
        const auto look = [&](double polynomial, double function) {
            worst = std::max(worst, differ(polynomial, function));
            most = std::max(most, std::abs(polynomial));
        };
        for (int n = 0; n < shape.cols; n += 7) {
            look(scaling::polynomial(p.scaling, n),
                 scaling::scaling_cycles(shape, row, n));
            look(scaling::polynomial(p.residual, n),
                 scaling::residual_cycles(shape, row, n));
        }
        for (int n = -shape.length / 2; n < shape.length / 2; n += 7)
            look(scaling::polynomial(p.filter, n),
                 scaling::filter_cycles(
                     shape, row, n * (shape.sampling_hz / shape.length)));
        BOOST_REQUIRE(most <= scaling::largest_cycles(shape, p));
    }
    BOOST_TEST(worst < 1e-7);
}
