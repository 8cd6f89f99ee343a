// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE rcmc
#include "../core/interpolator.h"
#include "qa_rcmc_scene.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include <functional>
#include <limits>

using namespace gr::sar;
using namespace gr::sar::rcmc_test;
using gr::sar::kernel::migration_interpolation;
using gr::sar::kernel::rcmc;
using gr::sar::kernel::rcmc_params;
namespace data = boost::unit_test::data;
namespace rcm = gr::sar::kernel::rcm;

namespace {

const compute_target cpu = choose_target(backend::cpu);

std::vector<cd> migrate(rcmc& k, const std::vector<cd>& line, int row = 0, int rows = 1)
{
    const std::vector<cf32> in = to_cf32(line);
    std::vector<cf32> out(line.size());
    k.process(in.data(), out.data(), row, rows);
    return to_cd(out);
}

} // namespace

// ---- a point in the range-Doppler domain
// -------------------------------------------------

BOOST_DATA_TEST_CASE(
    a_point_is_straightened,
    data::make(
        { 0.0, 0.4 * 300, -5.5 * 300, doppler_of_squint(4), doppler_of_squint(10) }) *
        data::make({ image_geometry::zero_doppler, image_geometry::centroid }) *
        data::make({ 0.0, 12.3 }),
    centroid,
    geometry,
    bias)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = centroid;
    a.range_bias_m = bias;
    const auto k = rcmc::make(params_of(a, 64, geometry), cpu);
    const range_doppler_frame& f = k->plan().frame();
    BOOST_TEST(k->uses_src());
    double moved = 0;
    for (const int cell : { 256, 281 }) {
        const double at = cell + 0.3; // in the geometry of the image
        const double r = f.out_first_m + at * f.spacing_m;
        const double middle = factor_of(centroid, 100, a.carrier_hz);
        const double closest = geometry == image_geometry::centroid ? r * middle : r;
        double nearest = 1e9;
        double farthest = 0;
        for (int row = 0; row < 64; row += 9) {
            const double frequency = frequency_of_row(row, 64, a.prf_hz, centroid);
            const double d = factor_of(frequency, 100, a.carrier_hz);
            const response y =
                measure(migrate(*k, row_of_point(f, frequency, closest), row));
            BOOST_TEST(std::abs(y.position - at) < 1.0 / 64);
            BOOST_TEST(std::abs(std::abs(y.value) - 1) < 0.01);
            const cd expected =
                turn(-2 * a.carrier_hz / speed_of_light * (closest * d + bias));
            BOOST_TEST(std::abs(std::arg(y.value / expected)) < 0.02);
            // 0.886 / B over the range axis of the line, in cells of the image
            const double cells =
                0.8859 / 0.8 * d / (geometry == image_geometry::centroid ? middle : 1.0);
            BOOST_TEST(std::abs(y.width / cells - 1) < 0.01);
            nearest = std::min(nearest, closest / d);
            farthest = std::max(farthest, closest / d);
        }
        moved = std::max(moved, (farthest - nearest) / f.spacing_m);
    }
    BOOST_TEST(moved > (centroid == 0 ? 2 : 8)); // there was something to straighten
}

BOOST_AUTO_TEST_CASE(without_src_a_squinted_point_is_wide)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = doppler_of_squint(10);
    rcmc_params p = params_of(a, 64);
    const auto with = rcmc::make(p, cpu);
    p.src = false;
    const auto without = rcmc::make(p, cpu);
    BOOST_TEST(with->uses_src());
    BOOST_TEST(!without->uses_src());
    const range_doppler_frame& f = with->plan().frame();
    const double closest = f.out_first_m + 256 * f.spacing_m;
    const double frequency = frequency_of_row(5, 64, 300, a.doppler_centroid_hz);
    const std::vector<cd> line = row_of_point(f, frequency, closest);
    const double wide = measure(migrate(*without, line, 5)).width;
    const double narrow = measure(migrate(*with, line, 5)).width;
    BOOST_TEST_MESSAGE("width without SRC " << wide / narrow << " of that with it");
    BOOST_TEST(wide / narrow > 1.2);
}

BOOST_AUTO_TEST_CASE(parabolic_migration_would_miss_the_cell)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = doppler_of_squint(10);
    const auto k = rcmc::make(params_of(a, 64), cpu);
    const range_doppler_frame& f = k->plan().frame();
    const double closest = f.out_first_m + 256 * f.spacing_m;
    // a row at an edge of the Doppler band; both forms agree in the middle of the beam
    double most = 0;
    for (int row = 0; row < 64; ++row) {
        const double frequency = frequency_of_row(row, 64, 300, a.doppler_centroid_hz);
        const double s = speed_of_light * frequency / (2 * 100 * a.carrier_hz);
        const double s0 =
            speed_of_light * a.doppler_centroid_hz / (2 * 100 * a.carrier_hz);
        const double parabolic = closest * (1 + s * s / 2 - s0 * s0 / 2) +
                                 closest * (1 / std::sqrt(1 - s0 * s0) - 1);
        const std::vector<cd> line = row_of_point(f, frequency, closest);
        if (row % 16 == 0)
            BOOST_TEST(std::abs(measure(migrate(*k, line, row)).position - 256) <
                       1.0 / 64);
        // where the row is read for cell 256, and where the point lies in it
        const double read = (parabolic - f.line_first_m) / f.spacing_m;
        most = std::max(most, std::abs(read - measure(line).position));
    }
    BOOST_TEST_MESSAGE("parabolic migration misses by " << most << " cells");
    BOOST_TEST(most > 0.25);
}

//! A swath whose velocity and centroid vary: each cell by its own.
BOOST_DATA_TEST_CASE(swath_that_is_not_uniform,
                     data::make({ image_geometry::zero_doppler,
                                  image_geometry::centroid }),
                     geometry)
{
    acquisition_fields a = airborne(512);
    a.doppler_centroid_hz = 600;
    a.doppler_centroid_slopes = { 0.6, 1e-4 };
    a.effective_velocity_slopes = { 2e-3 };
    const auto k = rcmc::make(params_of(a, 64, geometry), cpu);
    const range_doppler_frame& f = k->plan().frame();
    BOOST_TEST(!f.uniform);
    for (const int cell : { 150, 256, 350 }) {
        // where the beam's middle sees the point decides over its velocity and centroid
        double closest = f.out_first_m + cell * f.spacing_m;
        double beam = closest;
        double v = 0;
        double centroid = 0;
        const auto look_from = [&](double range) {
            const double x = range - a.slant_range_first_m;
            v = 100 + 2e-3 * x;
            centroid = 600 + 0.6 * x + 1e-4 * x * x;
            return factor_of(centroid, v, a.carrier_hz);
        };
        if (geometry == image_geometry::centroid)
            closest = beam * look_from(beam);
        else
            for (int i = 0; i < 20; ++i)
                beam = closest / look_from(beam);
        for (int row = 0; row < 64; row += 9) {
            const double frequency = frequency_of_row(row, 64, a.prf_hz, centroid);
            const response y =
                measure(migrate(*k, row_of_point(f, frequency, closest, v), row));
            BOOST_TEST(std::abs(y.position - cell) < 1.0 / 32);
            // a mean velocity or centroid is off by cells
            const double mean =
                f.bias_m + closest / factor_of(frequency, f.velocity_m_s, a.carrier_hz);
            const double own = closest / factor_of(frequency, v, a.carrier_hz);
            if (cell == 350)
                BOOST_TEST(std::abs(mean - own) / f.spacing_m > 1.0 / 32);
        }
    }
}

// ---- interpolators
// -----------------------------------------------------------------------

namespace {

/*!
 * \brief Noise that fills a share of the sampling rate and ends before the line does.
 *
 * Sum of random amplitudes times g(x - x_j), g = sinc(b x) under a Kaiser window of 2
 * reach samples: exactly 0 beyond, and below -120 dB outside the band.
 */
class banded_noise
{
public:
    banded_noise(int samples, double band, unsigned seed, double reach = 128)
        : d_reach(reach), d_band(band - 4.1 / reach)
    {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (double x = reach + 3; x < samples - reach - 3; x += 1 / band) {
            d_at.push_back(x);
            d_value.emplace_back(normal(random), normal(random));
        }
    }
    cd operator()(double x) const
    {
        cd sum = 0;
        auto j = std::lower_bound(d_at.begin(), d_at.end(), x - d_reach) - d_at.begin();
        for (; j < static_cast<long>(d_at.size()) && d_at[j] < x + d_reach; ++j) {
            const double d = x - d_at[j];
            const double y = pi * d_band * d;
            const double u = d / d_reach;
            sum += d_value[j] * (y == 0 ? 1 : std::sin(y) / y) *
                   bessel_i0(12.5 * std::sqrt(std::max(0.0, 1 - u * u)));
        }
        return sum / bessel_i0(12.5);
    }
    std::vector<cd> line(int samples) const
    {
        std::vector<cd> v;
        for (int n = 0; n < samples; ++n)
            v.push_back((*this)(n));
        return v;
    }

private:
    double d_reach;
    double d_band;
    std::vector<double> d_at;
    std::vector<cd> d_value;
};

//! Squinted by 10 degrees, filling \p band of the sampling rate.
acquisition_fields filling(double band, int samples)
{
    acquisition_fields a = airborne(samples);
    a.chirp_rate_hz_per_s = band * a.sample_rate_hz / a.pulse_length_s;
    a.doppler_centroid_hz = doppler_of_squint(10);
    return a;
}

} // namespace

// The table in docs/accuracy.md.
BOOST_DATA_TEST_CASE(interpolation_error_table, data::make({ 0.4, 0.8, 0.93 }), band)
{
    // 0.4: 80 % of the band in lines oversampled twice
    const double limits_of[][6] = { { -14, -25, -71, -125, -90, -25 },
                                    { -7, -12, -23, -50, -90, -12 },
                                    { -6, -10, -22, -26, -90, -10 } };
    const double* const limits = limits_of[band < 0.5 ? 0 : band < 0.9 ? 1 : 2];
    const int samples = 2048;
    const acquisition_fields a = filling(band, samples);
    for (std::size_t i = 0; i < 6; ++i) {
        rcmc_params p = params_of(a, 64);
        p.interpolator = all_interpolations[i];
        p.src = false;
        const auto k = rcmc::make(p, cpu);
        const range_doppler_frame& f = k->plan().frame();
        std::vector<cd> got;
        std::vector<cd> truth;
        for (const int row : { 3, 40 }) {
            const banded_noise signal(samples, band, 10 + row);
            const double d = factor_of(
                frequency_of_row(row, 64, a.prf_hz, a.doppler_centroid_hz), 100, 9.6e9);
            const std::vector<cd> y = migrate(*k, signal.line(samples), row);
            for (int n = 0; n < samples; ++n) {
                const double r = (f.out_first_m + n * f.spacing_m) / d;
                got.push_back(y[n]);
                truth.push_back(signal((r - f.line_first_m) / f.spacing_m));
            }
        }
        const double db = difference_db(got, truth);
        BOOST_TEST_MESSAGE(to_string(all_interpolations[i])
                           << ", " << 100 * band << " % of the band: " << db << " dB");
        BOOST_TEST(db < limits[i]);
        BOOST_TEST(db > limits[i] - 10); // the limit says something
    }
}

namespace {

//! Any line in double, from zeros to zeros: SRC over 4 x as many frequencies as the line
//! has samples, then the value at \p x by the whole sum.
class reference
{
public:
    reference(const range_doppler_frame& f,
              const std::vector<cf32>& line,
              const src_phase& src)
        : d_n(4 * f.cols + 4096)
    {
        const double sampling = speed_of_light / 2 / f.spacing_m;
        for (int k = -d_n / 2 + 1; k < d_n / 2; ++k) {
            cd bin = 0;
            cd e = 1;
            const cd step = turn(-static_cast<double>(k) / d_n);
            for (const cf32& v : line) {
                bin += cd(v.re, v.im) * e;
                e *= step;
            }
            const double x = k * sampling / d_n / f.carrier_hz;
            d_bins.push_back(bin * turn(src_cycles(src, x)) / double(d_n));
        }
    }
    cd operator()(double x) const
    {
        cd sum = 0;
        cd e = turn((-d_n / 2 + 1) * x / d_n);
        const cd step = turn(x / d_n);
        for (const cd& v : d_bins) {
            sum += v * e;
            e *= step;
        }
        return sum;
    }

private:
    int d_n;
    std::vector<cd> d_bins;
};

} // namespace

// Lengths of lines and transforms even and odd, SRC of many cycles.
BOOST_DATA_TEST_CASE(exact_equals_a_sum_in_double,
                     data::make({ 311, 443, 500, 552 }),
                     samples)
{
    const acquisition_fields a = filling(0.93, samples);
    const auto k = rcmc::make(params_of(a, 32), cpu);
    const range_doppler_frame& f = k->plan().frame();
    BOOST_TEST(k->uses_src());
    std::vector<cd> got;
    std::vector<cd> truth;
    for (const int row : { 2, 17 }) {
        const std::vector<cf32> line =
            to_cf32(banded_noise(samples, 0.93, row, 64).line(samples));
        const double d = factor_of(
            frequency_of_row(row, 32, a.prf_hz, a.doppler_centroid_hz), 100, 9.6e9);
        const reference at(f, line, src_of_row(f, d));
        const std::vector<cd> y = migrate(*k, to_cd(line), row);
        for (int n = 0; n < samples; ++n) {
            const double r = (f.out_first_m + n * f.spacing_m) / d;
            const double x = (r - f.line_first_m) / f.spacing_m;
            got.push_back(y[n]);
            truth.push_back(x > -0.5 && x < samples - 0.5 ? at(x) : cd(0));
        }
    }
    BOOST_TEST_MESSAGE(samples << " samples, transforms of " << k->fft_length() << ": "
                               << difference_db(got, truth) << " dB");
    BOOST_TEST(difference_db(got, truth) < -89);
}

BOOST_AUTO_TEST_CASE(one_cell)
{
    for (const migration_interpolation how : all_interpolations) {
        rcmc_params p = params_of(airborne(1), 1, image_geometry::centroid);
        p.interpolator = how;
        const auto k = rcmc::make(p, cpu);
        const cd y = migrate(*k, { cd(3, -4) })[0];
        BOOST_TEST(std::abs(y - cd(3, -4)) < 5e-4);
    }
}

BOOST_AUTO_TEST_CASE(src_on_the_grid_of_the_line)
{
    // in the centroid geometry the middle row is read at its own samples, so what is left
    // is SRC: in double against the transform
    for (const int samples : { 296, 311 }) {
        acquisition_fields a = filling(0.99, samples);
        rcmc_params p = params_of(a, 31, image_geometry::centroid);
        p.interpolator = migration_interpolation::nearest;
        const auto k = rcmc::make(p, cpu);
        const range_doppler_frame& f = k->plan().frame();
        int row = 0;
        for (int i = 1; i < 31; ++i)
            if (std::abs(k->plan().rows()[i].frequency_hz - f.centroid_hz) <
                std::abs(k->plan().rows()[row].frequency_hz - f.centroid_hz))
                row = i;
        std::vector<cf32> line = noise(samples, 5);
        const reference at(f, line, src_of_row(f, k->plan().rows()[row].factor));
        const std::vector<cd> y = migrate(*k, to_cd(line), row);
        std::vector<cd> truth;
        for (int n = 0; n < samples; ++n)
            truth.push_back(at(n));
        // white noise reaches to half the sampling rate, where the two differ: a bin
        BOOST_TEST(difference_db(y, truth) < -45);
    }
}

// A strong point at one end of the line does not come back at the other.
BOOST_AUTO_TEST_CASE(nothing_wraps_around)
{
    acquisition_fields a = filling(0.9, 256);
    a.slant_range_first_m = 400e3; // delays of more than a hundred samples
    a.prf_hz = 2;                  // migration of some cells
    rcmc_params p = params_of(a, 32, image_geometry::centroid);
    p.interpolator = migration_interpolation::linear;
    const auto k = rcmc::make(p, cpu);
    BOOST_TEST(k->fft_length() > 256 + 64 + 100);
    std::vector<cf32> line(256);
    line[0] = { 1, 0 };
    line[255] = { 0, 1 };
    std::vector<cd> sum(256);
    for (const int row : { 0, 9, 16, 25 }) {
        const range_doppler_frame& f = k->plan().frame();
        const double d = k->plan().rows()[row].factor;
        const reference at(f, line, src_of_row(f, d));
        const std::vector<cd> y = migrate(*k, to_cd(line), row);
        std::vector<cd> truth;
        for (int n = 0; n < 256; ++n) {
            const double r = (f.out_first_m + n * f.spacing_m) * f.factor / d;
            const double x = (r - f.line_first_m) / f.spacing_m;
            const double whole = std::floor(x);
            const auto inside = [&](double i) {
                return i >= 0 && i < 256 ? at(i) : cd(0);
            };
            truth.push_back(inside(whole) +
                            (x - whole) * (inside(whole + 1) - inside(whole)));
        }
        BOOST_TEST(difference_db(y, truth) < -36);
    }
}

BOOST_AUTO_TEST_CASE(fixed_point_is_linear_but_for_its_rounding)
{
    std::vector<cf32> line = noise(300, 8);
    double worst = 0;
    for (double x = -1.5; x < 301.5; x += 0.0371) {
        using m = migration_interpolation;
        const cf32 a = rcm::value_at<m::linear>(line.data(), 300, x, nullptr);
        const cf32 b = rcm::value_at<m::fixed>(line.data(), 300, x, nullptr);
        const double q = std::rint(x * 256) / 256;
        const cf32 c = rcm::value_at<m::linear>(line.data(), 300, q, nullptr);
        worst = std::max(worst, std::sqrt(double(norm(a - b))));
        BOOST_REQUIRE(norm(b - c) < 1e-12);
    }
    BOOST_TEST(worst > 0.002);
    BOOST_TEST(worst < 6.0 * 0.5 / 256);
    const auto place = [](double x) {
        return rcm::place_of<migration_interpolation::fixed>(x, 65536);
    };
    BOOST_TEST(place(65535.0 + 100.0 / 256).first == 65535);
    BOOST_TEST(place(65535.0 + 100.4 / 256).between == 100.0f / 256);
    BOOST_TEST(place(-0.25).first == -1);
    BOOST_TEST(place(-0.25).between == 0.75f);
}

namespace {

template <migration_interpolation how>
void check_positions()
{
    alignas(16) cf32 line[40];
    std::fill_n(line, 40, cf32{ 1, 1 });
    // every row of every table: a mean of the samples
    std::vector<rcm::tap_quad> taps(2 * (rcm::phases + 2) * rcm::width_of(how) / 4 + 1);
    for (rcm::tap_quad& q : taps)
        std::fill_n(q.w, 4, 1.0f / rcm::width_of(how));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double x :
         { nan, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, 3e9, -3e9, 60., -20. })
        for (const int samples : { 0, 1, 40 }) {
            const cf32 v = rcm::value_at<how>(line, samples, x, taps.data());
            BOOST_TEST(v.re == 0.0f);
            BOOST_TEST(v.im == 0.0f);
        }
    // every position around and within a line, and one beside whole numbers
    for (const int samples : { 0, 1, 2, 9, 40 })
        for (double x = -20; x < 60; x += 0.25)
            for (const double e : { -1e-15, 0.0, 1e-15 }) {
                const cf32 v = rcm::value_at<how>(line, samples, x + e, taps.data());
                BOOST_REQUIRE(is_finite(v));
                if (x >= samples + 8 || x <= -9)
                    BOOST_REQUIRE(v.re == 0.0f);
            }
    const cf32 v = rcm::value_at<how>(line, 40, 20.0, taps.data());
    BOOST_TEST(std::abs(v.re - 1) < 1e-6);
}

} // namespace

BOOST_AUTO_TEST_CASE(any_position_is_safe)
{
    using m = migration_interpolation;
    check_positions<m::nearest>();
    check_positions<m::linear>();
    check_positions<m::sinc8>();
    check_positions<m::sinc16>();
    check_positions<m::exact>();
    check_positions<m::fixed>();
}

// ---- rows, storage, centroids
// ------------------------------------------------------------

BOOST_DATA_TEST_CASE(rows_in_pieces_and_in_place,
                     data::make(all_interpolations) * data::make({ false, true }) *
                         data::make({ 1, 2, 211 }) * data::make({ 1, 13 }),
                     how,
                     src,
                     samples,
                     lines)
{
    acquisition_fields a = filling(0.8, samples);
    rcmc_params p = params_of(a, lines);
    p.interpolator = how;
    p.src = src;
    const auto k = rcmc::make(p, cpu);
    const int rows = 2 * lines + 1; // around the frame
    const std::vector<cf32> in = noise(static_cast<std::size_t>(rows) * samples);
    std::vector<cf32> all(in.size());
    k->process(in.data(), all.data(), 0, rows);
    std::vector<cf32> pieces(in.size());
    for (int r = 0, n = 1; r < rows; r += n, n = std::min(n + 1, rows - r)) {
        const std::size_t at = static_cast<std::size_t>(r) * samples;
        std::copy(in.begin() + at, in.begin() + at + n * samples, pieces.begin() + at);
        k->process(pieces.data() + at, pieces.data() + at, r, n); // in place
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        BOOST_REQUIRE(all[i].re == pieces[i].re);
        BOOST_REQUIRE(all[i].im == pieces[i].im);
    }
    BOOST_TEST(k->bad_lines() == 0u);
    k->process(nullptr, nullptr, 3, 0);
    // row k is row k + rows of a frame
    std::vector<cf32> again(samples);
    k->process(in.data(), again.data(), lines, 1);
    BOOST_TEST(again[samples / 2].re == all[samples / 2].re);
}

BOOST_DATA_TEST_CASE(rows_that_are_not_finite,
                     data::make(all_interpolations) * data::make({ false, true }) *
                         data::make({ line_storage::single, line_storage::half }),
                     how,
                     src,
                     storage)
{
    rcmc_params p = params_of(filling(0.8, 101), 8);
    p.interpolator = how;
    p.src = src;
    p.output = storage;
    const auto k = rcmc::make(p, cpu);
    const std::size_t bytes = line_bytes(storage, 101);
    std::vector<cf32> in = noise(5 * 101);
    std::vector<char> clean(5 * bytes);
    std::vector<char> got(5 * bytes);
    k->process(in.data(), clean.data(), 0, 5);
    in[101 + 100].im = std::numeric_limits<float>::quiet_NaN();
    in[3 * 101].re = -std::numeric_limits<float>::infinity();
    k->process(in.data(), got.data(), 0, 5);
    BOOST_TEST(k->bad_lines() == 2u);
    for (std::size_t i = 0; i < got.size(); ++i)
        BOOST_REQUIRE(got[i] == (i / bytes == 1 || i / bytes == 3 ? char(0) : clean[i]));
}

BOOST_DATA_TEST_CASE(half_storage, data::make({ 31, 32, 33, 1000 }), samples)
{
    rcmc_params p = params_of(filling(0.8, samples), 8);
    p.interpolator = migration_interpolation::sinc8;
    const auto single = rcmc::make(p, cpu);
    p.input = p.output = line_storage::half;
    const auto half = rcmc::make(p, cpu);
    const std::size_t bytes = line_bytes(line_storage::half, samples);
    const std::vector<cf32> in = noise(3 * samples);
    std::vector<char> stored(3 * bytes);
    for (int r = 0; r < 3; ++r)
        store_line(line_storage::half,
                   in.data() + r * samples,
                   samples,
                   stored.data() + r * bytes);
    std::vector<cf32> truth(3 * samples);
    single->process(in.data(), truth.data(), 2, 3);
    std::vector<cf32> got(3 * samples);
    half->process(stored.data(), stored.data(), 2, 3); // in place
    for (int r = 0; r < 3; ++r)
        load_line(line_storage::half,
                  stored.data() + r * bytes,
                  samples,
                  got.data() + r * samples);
    const double db = difference_db(to_cd(got), to_cd(truth));
    BOOST_TEST_MESSAGE("16 bits in and out: " << db << " dB");
    BOOST_TEST(db < -85);
}

BOOST_AUTO_TEST_CASE(another_centroid)
{
    acquisition_fields a = airborne(311);
    std::vector<cf32> in;
    for (int r = 0; r < 16; ++r) {
        const auto line = to_cf32(banded_noise(311, 0.9, r, 64).line(311));
        in.insert(in.end(), line.begin(), line.end());
    }
    const auto rows_of = [&](rcmc& k) {
        std::vector<cf32> out(in.size());
        k.process(in.data(), out.data(), 0, 16);
        return to_cd(out);
    };
    for (const migration_interpolation how : all_interpolations) {
        a.doppler_centroid_hz = 0;
        rcmc_params p = params_of(a, 16);
        p.interpolator = how;
        const auto k = rcmc::make(p, cpu);
        const std::vector<cd> before = rows_of(*k);
        const int length = k->fft_length();
        a.doppler_centroid_hz = 2300;
        p = params_of(a, 16);
        p.interpolator = how;
        const auto other = rcmc::make(p, cpu);
        k->set_centroid({ 2300 });
        const std::vector<cd> after = rows_of(*k);
        BOOST_TEST(difference_db(after, rows_of(*other)) < -100);
        BOOST_TEST(difference_db(after, before) > -10);
        BOOST_TEST(k->fft_length() >= other->fft_length());
        BOOST_TEST(k->fft_length() >= length);
        // one that cannot be changes nothing
        BOOST_TEST(
            has(sentence_of([&] { k->set_centroid({ 1e9 }); }), "doppler_centroid_hz"));
        BOOST_TEST((rows_of(*k) == after));
        // a polynomial that varies nothing is no other centroid
        k->set_centroid({ 2300, 1e-13 });
        BOOST_TEST(!k->plan().frame().uniform);
        if (how != migration_interpolation::nearest) // which jumps
            BOOST_TEST(difference_db(rows_of(*k), after) < -90);
        const int longer = k->fft_length();
        k->set_centroid({ 0 });
        BOOST_TEST(difference_db(rows_of(*k), before) < -100);
        BOOST_TEST(k->fft_length() == longer); // plans that suffice are kept
    }
}

BOOST_AUTO_TEST_CASE(src_that_does_nothing_is_left_out)
{
    acquisition_fields a = airborne(256);
    a.effective_velocity_m_s = 1e5; // a narrow beam
    rcmc_params p = params_of(a, 16);
    p.interpolator = migration_interpolation::sinc8;
    const auto k = rcmc::make(p, cpu);
    BOOST_TEST(!k->uses_src());
    BOOST_TEST(k->fft_length() == 0);
    p.interpolator = migration_interpolation::exact;
    BOOST_TEST(rcmc::make(p, cpu)->fft_length() >= 256 + 64);
    // an estimate may need it
    k->set_centroid({ 9e5 });
    BOOST_TEST(k->uses_src());
    BOOST_TEST(k->fft_length() > 256);
    k->set_centroid({ 0 });
    BOOST_TEST(!k->uses_src());
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto message = [](const rcmc_params& p) {
        return sentence_of([&] { rcmc::make(p, cpu); });
    };
    rcmc_params p = params_of(airborne(65537), 8);
    p.interpolator = migration_interpolation::fixed;
    BOOST_TEST(has(message(p),
                   "interpolation is 'fixed' with rows of 65537 cells; its index has 16 "
                   "bits: expected at most 65536"));
    p = params_of(airborne(65536), 8);
    p.src = false;
    p.interpolator = migration_interpolation::fixed;
    BOOST_TEST(message(p) == "no error");
    p = params_of(airborne(100), 8);
    p.max_batch = 0;
    BOOST_TEST(has(message(p), "max_batch is 0; expected 1 to 32768"));
    p = params_of(airborne(100), 8);
    p.geometry.lines = 0;
    BOOST_TEST(has(message(p), "lines is 0; expected"));
    BOOST_TEST(has(
        sentence_of([] { gr::sar::kernel::migration_interpolation_from_name("cubic"); }),
        "interpolation is 'cubic'; expected one of: nearest, linear, sinc8, "
        "sinc16, exact, fixed"));
    p = params_of(airborne(100), 8);
    const auto k = rcmc::make(p, cpu);
    BOOST_TEST(has(sentence_of([&] { k->process(nullptr, nullptr, -1, 1); }),
                   "first_row is -1; expected 0 or more"));
    // so much squint that SRC would smear a line over a hundred million samples
    acquisition_fields a = airborne(100);
    a.slant_range_first_m = 1e6;
    a.prf_hz = 1e-6;
    a.doppler_centroid_hz = 2 * 100 * 9.6e9 / speed_of_light * 0.99999;
    BOOST_TEST(has(message(params_of(a, 2)), "secondary range compression delays"));
    const double beyond = a.doppler_centroid_hz;
    a.doppler_centroid_hz = 10;
    const auto other = rcmc::make(params_of(a, 2), cpu);
    BOOST_TEST(has(sentence_of([&] { other->set_centroid({ beyond }); }),
                   "secondary range compression delays"));
    BOOST_TEST(other->plan().frame().centroid_hz == 10);
}
