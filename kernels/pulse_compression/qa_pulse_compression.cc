// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE pulse_compression
#include "pulse_compression.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

namespace gr {
namespace sar {
std::ostream& operator<<(std::ostream& o, pulse_reference r) { return o << to_string(r); }
} // namespace sar
} // namespace gr

using namespace gr::sar;
using gr::sar::kernel::pulse_compression;
using gr::sar::kernel::pulse_compression_params;
namespace data = boost::unit_test::data;

namespace {

using cd = std::complex<double>;

cd turn(double cycles) { return std::polar(1.0, 2 * pi * (cycles - std::rint(cycles))); }

cf32 to_cf32(cd v)
{
    return { static_cast<float>(v.real()), static_cast<float>(v.imag()) };
}
cd to_cd(cf32 v) { return { v.re, v.im }; }

const compute_target cpu = choose_target(backend::cpu);

//! 80 MHz in 20 us at 100 MHz: 2000 samples of pulse, time-bandwidth product 1600.
acquisition_fields pulsed(int samples = 6000, double sign = 1)
{
    acquisition_fields f;
    f.wave = waveform::pulsed_lfm;
    f.samples = samples;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 1000;
    f.sample_rate_hz = 100e6;
    f.pulse_length_s = 20e-6;
    f.chirp_rate_hz_per_s = sign * 80e6 / f.pulse_length_s;
    f.slant_range_first_m = 12345.678;
    return f;
}

struct point {
    double range_m;
    cd amplitude = 1;
};

//! Slant range of a fractional raw sample.
double range_of(const acquisition_fields& f, double sample)
{
    return f.slant_range_first_m + sample * speed_of_light / (2 * f.sample_rate_hz);
}

//! Raw line of a pulsed LFM radar from the definition in continuous time, no rounding of
//! delays.
std::vector<cf32> pulsed_line(const acquisition_fields& f,
                              const std::vector<point>& points)
{
    std::vector<cd> s(f.samples);
    for (const point& p : points) {
        const double tau = 2 * (p.range_m - f.slant_range_first_m) / speed_of_light;
        const double start =
            f.pulse_ref == pulse_reference::centre ? -f.pulse_length_s / 2 : 0.0;
        for (int n = 0; n < f.samples; ++n) {
            const double t = n / f.sample_rate_hz - tau - start; // from the pulse's start
            if (t < 0 || t >= f.pulse_length_s)
                continue;
            const double u = t - f.pulse_length_s / 2;
            s[n] += p.amplitude * turn(-2 * f.carrier_hz * p.range_m / speed_of_light) *
                    turn(f.chirp_rate_hz_per_s * u * u / 2);
        }
    }
    std::vector<cf32> line;
    for (const cd v : s)
        line.push_back(to_cf32(v));
    return line;
}

std::vector<cf32> noise(std::size_t n, unsigned seed = 1)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<cf32> v(n);
    for (cf32& x : v)
        x = { normal(random), normal(random) };
    return v;
}

std::vector<cd> compress(pulse_compression& pc, const std::vector<cf32>& raw)
{
    const int lines = static_cast<int>(raw.size() / pc.samples_in());
    std::vector<cf32> out(static_cast<std::size_t>(lines) * pc.samples_out(), { 9, 9 });
    pc.process(raw.data(), out.data(), lines);
    std::vector<cd> d;
    for (const cf32 v : out)
        d.push_back(to_cd(v));
    return d;
}

std::vector<cd> compress(const pulse_compression_params& p, const std::vector<cf32>& raw)
{
    return compress(*pulse_compression::make(p, cpu), raw);
}

double relative_db(const std::vector<cd>& x, const std::vector<cd>& truth)
{
    BOOST_REQUIRE_EQUAL(x.size(), truth.size());
    double e = 0;
    double s = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        e += std::norm(x[i] - truth[i]);
        s += std::norm(truth[i]);
    }
    return 10 * std::log10(e / s + 1e-300);
}

//! What a SAR engineer asks of a response. Positions in samples of the line given.
struct response {
    double position = 0;
    cd value; // at the peak
    double irw = 0;
    double pslr_db = 0;
    double islr_db = 0;      // null to null, against all of the line
    double near_islr_db = 0; // null to null, against 10 null distances on either side
};

//! Needs an oversampled line (8 or more), then parabolas and straight lines do.
response measure(const std::vector<cd>& y, int from = 0, int to = -1)
{
    if (to < 0)
        to = static_cast<int>(y.size());
    std::vector<double> p(y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        p[i] = std::norm(y[i]);
    const int k =
        static_cast<int>(std::max_element(p.begin() + from, p.begin() + to) - p.begin());
    response r;
    const double l = p[k - 1];
    const double c = p[k];
    const double h = p[k + 1];
    const double shift = (l - h) / (2 * (l - 2 * c + h));
    r.position = k + shift;
    // three-point interpolation of the complex value at the vertex
    r.value = y[k - 1] * (shift * (shift - 1) / 2) + y[k] * (1 - shift * shift) +
              y[k + 1] * (shift * (shift + 1) / 2);
    const double top = std::norm(r.value);
    int a = k;
    while (p[a - 1] > top / 2)
        --a;
    int b = k;
    while (p[b + 1] > top / 2)
        ++b;
    r.irw = (b + (p[b] - top / 2) / (p[b] - p[b + 1])) -
            (a - (p[a] - top / 2) / (p[a] - p[a - 1]));
    int left = k;
    while (p[left - 1] < p[left])
        --left;
    int right = k;
    while (p[right + 1] < p[right])
        ++right;
    double main = 0;
    double side = 0;
    double near = 0;
    double largest = 0;
    for (int i = from; i < to; ++i) {
        const bool in_main = i >= left && i <= right;
        (in_main ? main : side) += p[i];
        if (!in_main)
            largest = std::max(largest, p[i]);
        if (!in_main && i >= k - 10 * (k - left) && i <= k + 10 * (right - k))
            near += p[i];
    }
    r.pslr_db = 10 * std::log10(largest / top);
    r.islr_db = 10 * std::log10(side / main);
    r.near_islr_db = 10 * std::log10(near / main);
    return r;
}

pulse_compression_params params_of(const acquisition_fields& f,
                                   int oversampling = 1,
                                   const char* w = "rect",
                                   std::vector<cf32> replica = {})
{
    return { acquisition(f), oversampling, window(w), std::move(replica) };
}

//! Mean-square float error that is allowed against double, dB: a float FFT of 10^4 points
//! errs by about -135 dB, cuFFT's and FFTW's worst algorithms (large primes) by -120 dB.
constexpr double float_budget_db = -110;

//! y[m] = sum_n s[n] conj q[n - m] / sum |q|^2 in double, straight from the definition.
std::vector<cd> correlate(const std::vector<cf32>& s, const std::vector<cd>& q, int first)
{
    double energy = 0;
    for (const cd v : q)
        energy += std::norm(v);
    std::vector<cd> y(s.size());
    const int samples = static_cast<int>(s.size());
    for (int m = 0; m < samples; ++m)
        for (int i = 0; i < static_cast<int>(q.size()); ++i) {
            const int n = m + first + i;
            if (n >= 0 && n < samples)
                y[m] += to_cd(s[n]) * std::conj(q[i]) / energy;
        }
    return y;
}

std::vector<cd> sampled_chirp(const acquisition_fields& f, int& first)
{
    const double x = f.pulse_length_s * f.sample_rate_hz;
    const bool centred = f.pulse_ref == pulse_reference::centre;
    first = centred ? static_cast<int>(std::ceil(-x / 2 - 1e-6)) : 0;
    const int after =
        std::max(first + 1, static_cast<int>(std::ceil((centred ? x / 2 : x) - 1e-6)));
    std::vector<cd> q;
    for (int i = first; i < after; ++i) {
        const double u = i / f.sample_rate_hz - (centred ? 0 : f.pulse_length_s / 2);
        q.push_back(turn(f.chirp_rate_hz_per_s * u * u / 2));
    }
    return q;
}

} // namespace

// ---- matched filter ----

BOOST_DATA_TEST_CASE(point_at_fractional_delay,
                     data::make({ 1.0, -1.0 }) *
                         data::make({ pulse_reference::start, pulse_reference::centre }) *
                         data::make({ 0.0, 0.25, 0.5, 0.71828, 0.999 }),
                     sign,
                     reference,
                     fraction)
{
    acquisition_fields f = pulsed(6000, sign);
    f.pulse_ref = reference;
    const double sample = (reference == pulse_reference::start ? 2000 : 3000) + fraction;
    const double range = range_of(f, sample);
    const cd amplitude = std::polar(2.0, 0.7);
    const auto y = compress(params_of(f, 16), pulsed_line(f, { { range, amplitude } }));
    const response r = measure(y);
    BOOST_TEST(std::abs(r.position / 16 - sample) < 0.01);
    const cd expected = amplitude * turn(-2 * f.carrier_hz * range / speed_of_light);
    BOOST_TEST(std::abs(std::arg(r.value / expected)) < 0.01);
    BOOST_TEST(std::abs(std::abs(r.value / expected) - 1) < 0.005);
    // 0.886 over the bandwidth
    BOOST_TEST(std::abs(r.irw / 16 * 80e6 / 100e6 / 0.886 - 1) < 0.01);
    BOOST_TEST(std::abs(r.pslr_db - -13.26) < 0.2);
    BOOST_TEST(std::abs(r.islr_db - -9.68) < 0.3);
}

namespace {
struct window_row {
    const char* name;
    double irw;
    double pslr_db;
    double islr_db;
};
std::ostream& operator<<(std::ostream& o, const window_row& r) { return o << r.name; }
// ISLR up to 10 null distances: an echo at a fractional delay starts and ends between
// samples, unlike the replica, and this spreads some -30 dB of its energy over the line.
const window_row window_table[] = { { "taylor(4, 30)", 1.125, -30.31, -24.09 },
                                    { "taylor(4, 35)", 1.184, -35.17, -27.99 },
                                    { "taylor(6, 40)", 1.248, -40.17, -32.55 },
                                    { "kaiser(2.5)", 1.043, -21.02, -18.89 },
                                    { "kaiser(4)", 1.203, -30.10, -28.98 },
                                    { "hamming", 1.306, -42.66, -35.34 } };
} // namespace

BOOST_DATA_TEST_CASE(windows_give_their_table_values, data::make(window_table), row)
{
    acquisition_fields f = pulsed(7000);
    const double sample = 2500.37;
    const double range = range_of(f, sample);
    const auto y = compress(params_of(f, 16, row.name), pulsed_line(f, { { range } }));
    const response r = measure(y);
    BOOST_TEST(std::abs(r.position / 16 - sample) < 0.01);
    const cd expected = turn(-2 * f.carrier_hz * range / speed_of_light);
    BOOST_TEST(std::abs(std::arg(r.value / expected)) < 0.01);
    BOOST_TEST(std::abs(std::abs(r.value) - 1) < 0.005);
    BOOST_TEST(std::abs(r.irw / 16 * 0.8 / row.irw - 1) < 0.01);
    BOOST_TEST(std::abs(r.pslr_db - row.pslr_db) < 0.2);
    BOOST_TEST(std::abs(r.near_islr_db - row.islr_db) < 0.3);
}

BOOST_DATA_TEST_CASE(three_points_are_not_mirrored,
                     data::make({ 1.0, -1.0 }) *
                         data::make({ pulse_reference::start, pulse_reference::centre }),
                     sign,
                     reference)
{
    acquisition_fields f = pulsed(6000, sign);
    f.pulse_ref = reference;
    const double base = reference == pulse_reference::start ? 1000 : 2000;
    const double at[] = { base + 100.25, base + 180.5, base + 460.75 };
    const double size[] = { 1.0, 0.7, 0.5 };
    std::vector<point> points;
    for (int i = 0; i < 3; ++i)
        points.push_back({ range_of(f, at[i]), size[i] });
    const auto y = compress(params_of(f, 16, "taylor(4, 35)"), pulsed_line(f, points));
    for (int i = 0; i < 3; ++i) {
        const int k = static_cast<int>(16 * at[i]);
        const response r = measure(y, k - 320, k + 320);
        BOOST_TEST(std::abs(r.position / 16 - at[i]) < 0.02);
        BOOST_TEST(std::abs(std::abs(r.value) / size[i] - 1) < 0.02);
    }
}

BOOST_DATA_TEST_CASE(equals_time_domain_correlation,
                     data::make({ 1, 2, 37, 424, 800, 1200, 4099, 5999 }) *
                         data::make({ pulse_reference::start, pulse_reference::centre }) *
                         data::make({ 3.5e-6, 2e-6, 20e-9 }),
                     samples,
                     reference,
                     pulse_length)
{
    acquisition_fields f = pulsed(samples, -1);
    f.pulse_ref = reference;
    f.pulse_length_s = pulse_length;
    f.chirp_rate_hz_per_s = -63e6 / pulse_length;
    int first;
    const auto q = sampled_chirp(f, first);
    const auto raw = noise(samples);
    const auto pc = pulse_compression::make(params_of(f), cpu);
    const auto y = compress(*pc, raw);
    BOOST_TEST(relative_db(y, correlate(raw, q, first)) < float_budget_db);

    // oversampling keeps the samples that were there
    const auto y5 = compress(params_of(f, 5), raw);
    std::vector<cd> kept;
    for (int m = 0; m < samples; ++m)
        kept.push_back(y5[5 * m]);
    BOOST_TEST(relative_db(kept, y) < float_budget_db);

    const int pulse = static_cast<int>(q.size());
    BOOST_TEST(pc->valid_samples() == std::max(0, samples - pulse + 1));
    if (pc->valid_samples())
        BOOST_TEST(pc->first_valid() == -first);
}

BOOST_AUTO_TEST_CASE(window_equals_direct_sum_in_double)
{
    acquisition_fields f = pulsed(424);
    f.pulse_length_s = 2e-6;
    f.chirp_rate_hz_per_s = 63e6 / f.pulse_length_s;
    const int over = 3;
    const window w("taylor(5, 35)");
    const auto pc = pulse_compression::make(params_of(f, over, "taylor(5, 35)"), cpu);
    const int n = pc->fft_length();
    int first;
    const auto q = sampled_chirp(f, first);
    const auto raw = noise(424);
    std::vector<cd> y(424 * over);
    double energy = 0;
    for (int k = -n / 2; k <= (n - 1) / 2; ++k) {
        cd s = 0;
        cd r = 0;
        for (int i = 0; i < 424; ++i)
            s += to_cd(raw[i]) * turn(-double(k) * i / n);
        for (std::size_t i = 0; i < q.size(); ++i)
            r += q[i] * turn(-double(k) * i / n);
        const double weight = w(double(k) / n * 100e6 / 63e6);
        energy += weight / n;
        for (std::size_t m = 0; m < y.size() && weight > 0; ++m)
            y[m] += weight * s / r * turn(double(k) * m / over / n) / double(n);
    }
    for (cd& v : y)
        v /= energy;
    BOOST_TEST(relative_db(compress(*pc, raw), y) < float_budget_db);
}

BOOST_DATA_TEST_CASE(replica_of_any_shape,
                     data::make({ pulse_reference::start, pulse_reference::centre }) *
                         data::make({ 1, 64, 63 }),
                     reference,
                     pulse)
{
    acquisition_fields f = pulsed(500);
    f.wave = waveform::replica;
    f.replica_bandwidth_hz = 100e6;
    f.pulse_ref = reference;
    const auto replica = noise(pulse, 7);
    const int first = reference == pulse_reference::start ? 0 : -(pulse / 2);
    std::vector<cd> q;
    for (const cf32 v : replica)
        q.push_back(to_cd(v));
    const auto raw = noise(500);
    BOOST_TEST(relative_db(compress(params_of(f, 1, "rect", replica), raw),
                           correlate(raw, q, first)) < float_budget_db);
    // an echo of the replica itself has peak 1 at its delay
    for (const char* w : { "rect", "hamming" }) {
        std::vector<cf32> echo(500, cf32{ 0, 0 });
        std::copy(replica.begin(), replica.end(), echo.begin() + 200 + first);
        const auto y = compress(params_of(f, 1, w, replica), echo);
        BOOST_TEST(std::abs(y[200] - 1.0) < 1e-5);
    }
}

BOOST_AUTO_TEST_CASE(partial_echoes_stay_in_their_place)
{
    // an echo that reaches over the end must not show up at the beginning (linear, not
    // circular correlation)
    acquisition_fields f = pulsed(3000);
    const auto y = compress(params_of(f), pulsed_line(f, { { range_of(f, 2500) } }));
    const auto peak = std::max_element(
        y.begin(), y.end(), [](cd a, cd b) { return std::norm(a) < std::norm(b); });
    BOOST_TEST(std::abs((peak - y.begin()) - 2500) <= 4);
    BOOST_TEST(std::abs(*peak) > 0.24);
    BOOST_TEST(std::abs(*peak) < 0.30);
    double early = 0;
    for (int m = 0; m < 400; ++m)
        early = std::max(early, std::abs(y[m]));
    BOOST_TEST(early < 0.02);
}

BOOST_DATA_TEST_CASE(padding_keeps_every_frequency,
                     data::make({ 1, 2, 5, 6, 16, 21 }) * data::make({ 1, 2, 3, 5 }),
                     length,
                     over)
{
    // the CUDA kernel gathers by this function, the CPU copies in two runs
    const int padded = length * over;
    std::vector<int> expected(padded, -1);
    for (int k = -(length / 2); k <= length / 2; ++k)
        expected[(k + padded) % padded] = (k + length) % length;
    for (int j = 0; j < padded; ++j)
        BOOST_TEST(gr::sar::kernel::padded_source_bin(j, length, padded) == expected[j]);
}

// ---- frequency domain ----

namespace {

acquisition_fields stepped(int samples, double step_hz, int phase_sign)
{
    acquisition_fields f;
    f.wave = waveform::frequency_domain;
    f.samples = samples;
    f.carrier_hz = 9.288e9;
    f.prf_hz = 1000;
    f.frequency_step_hz = step_hz;
    f.phase_sign = phase_sign;
    f.slant_range_first_m = 7089.4;
    return f;
}

std::vector<cf32> stepped_line(const acquisition_fields& f,
                               const std::vector<point>& points)
{
    std::vector<cf32> line;
    for (int k = 0; k < f.samples; ++k) {
        cd v = 0;
        for (const point& p : points)
            v += p.amplitude *
                 turn(f.phase_sign * (f.carrier_hz + k * f.frequency_step_hz) * 2 *
                      p.range_m / speed_of_light);
        line.push_back(to_cf32(v));
    }
    return line;
}

} // namespace

BOOST_DATA_TEST_CASE(frequency_domain_equals_direct_sum,
                     data::make({ 1, 2, 5, 101, 424, 800, 1009 }) * data::make({ 1, 3 }) *
                         data::make({ 1.47e6, -1.47e6 }) * data::make({ -1, 1 }),
                     samples,
                     over,
                     step,
                     sign)
{
    const acquisition_fields f = stepped(samples, step, sign);
    const auto raw = noise(samples);
    const auto pc = pulse_compression::make(params_of(f, over, "hamming"), cpu);
    const range_axis axis = pc->axis();
    const auto w = window("hamming").samples(samples);
    std::vector<cd> truth(samples * over);
    double sum = 0;
    for (const double v : w)
        sum += v;
    for (int m = 0; m < samples * over; ++m) {
        const double r = axis.first_m + m * axis.spacing_m;
        for (int k = 0; k < samples; ++k)
            truth[m] += w[k] / sum *
                        (sign > 0 ? std::conj(to_cd(raw[k])) : to_cd(raw[k])) *
                        turn(2.0 * (k - samples / 2) * step * r / speed_of_light);
    }
    BOOST_TEST(relative_db(compress(*pc, raw), truth) < float_budget_db);
    BOOST_TEST(pc->valid_samples() == samples * over);
}

BOOST_DATA_TEST_CASE(frequency_domain_points,
                     data::make({ 1.47e6, -1.47e6 }) * data::make({ -1, 1 }) *
                         data::make({ 424, 431 }),
                     step,
                     sign,
                     samples)
{
    const acquisition_fields f = stepped(samples, step, sign);
    const acquisition acq(f);
    const int over = 16;
    const range_axis axis = acq.compressed_axis(over);
    const double at[] = { 100.3, 160.6, 290.9 }; // in cells, unequal distances
    const cd size[] = { std::polar(1.0, 0.4), 0.7, std::polar(0.5, -2.0) };
    std::vector<point> points;
    for (int i = 0; i < 3; ++i)
        points.push_back({ axis.first_m + at[i] * over * axis.spacing_m, conj(size[i]) });
    // phase_sign +1 records the conjugate of everything
    if (sign < 0)
        for (point& p : points)
            p.amplitude = std::conj(p.amplitude);
    const auto y = compress(params_of(f, over, "taylor(5, 35)"), stepped_line(f, points));
    for (int i = 0; i < 3; ++i) {
        const int k = static_cast<int>(over * at[i]);
        const response r = measure(y, k - 20 * over, k + 20 * over);
        BOOST_TEST(std::abs(r.position / over - at[i]) < 0.02);
        BOOST_TEST(std::abs(std::abs(r.value) / std::abs(size[i]) - 1) < 0.02);
    }
    // one point alone: phase and shape
    const double range = axis.first_m + 200.37 * over * axis.spacing_m;
    const response r =
        measure(compress(params_of(f, over), stepped_line(f, { { range } })));
    BOOST_TEST(std::abs(r.position / over - 200.37) < 0.01);
    const cd expected = turn(-2 * acq.centre_frequency_hz() * range / speed_of_light);
    BOOST_TEST(std::abs(std::arg(r.value / expected)) < 0.01);
    BOOST_TEST(std::abs(std::abs(r.value) - 1) < 0.005);
    BOOST_TEST(std::abs(r.irw / over / 0.886 - 1) < 0.01);
    BOOST_TEST(std::abs(r.pslr_db - -13.26) < 0.2);
    BOOST_TEST(std::abs(r.islr_db - -9.68) < 0.3);
}

BOOST_DATA_TEST_CASE(fmcw_ramps_and_signs,
                     data::make({ 1.0, -1.0 }) * data::make({ -1, 1 }) *
                         data::make({ 3.2, 41.7, 97.3 }),
                     ramp,
                     sign,
                     cells)
{
    // a drone radar: 1 ms sweep over 250 MHz, 1024 samples; residual video phase at 58 m
    // is 0.12 rad, and 3 km further 340 rad
    for (const double first_m : { 0.0, 3000.0 }) {
        acquisition_fields f;
        f.wave = waveform::fmcw;
        f.samples = 1024;
        f.sample_rate_hz = 1.024e6;
        f.chirp_rate_hz_per_s = ramp * 250e6 / 1e-3;
        f.carrier_hz = 5.8e9;
        f.prf_hz = 900;
        f.phase_sign = sign;
        f.slant_range_first_m = first_m;
        const acquisition acq(f);
        const int over = 16;
        const range_axis axis = acq.compressed_axis(over);
        const double range = axis.first_m + cells * over * axis.spacing_m;
        const double tau = 2 * range / speed_of_light;
        std::vector<cf32> line;
        for (int n = 0; n < f.samples; ++n) {
            const double t = n / f.sample_rate_hz;
            line.push_back(to_cf32(
                turn(sign * (f.carrier_hz * tau + f.chirp_rate_hz_per_s * tau * t -
                             f.chirp_rate_hz_per_s * tau * tau / 2))));
        }
        const response r = measure(compress(params_of(f, over), line));
        // taking the phase off sample by sample leaves a slope of K tau across the peak
        BOOST_TEST(std::abs(r.position / over - cells) < 0.01);
        const cd expected = turn(-2 * acq.centre_frequency_hz() * range / speed_of_light);
        BOOST_TEST(std::abs(std::arg(r.value / expected)) < 0.01);
        BOOST_TEST(std::abs(std::abs(r.value) - 1) < 0.005);
    }
}

// ---- robustness ----

BOOST_DATA_TEST_CASE(lines_that_are_not_finite, data::make({ false, true }), fx)
{
    acquisition_fields f = fx ? stepped(800, 1e6, -1) : pulsed(800);
    f.pulse_length_s = 1e-6;
    f.chirp_rate_hz_per_s = 80e12;
    const auto pc = pulse_compression::make(params_of(f, 2), cpu);
    auto raw = noise(5 * 800);
    const auto clean = compress(*pc, raw);
    BOOST_TEST(pc->bad_lines() == 0u);
    raw[800 + 17].im = std::numeric_limits<float>::quiet_NaN();
    raw[3 * 800 + 799].re = -std::numeric_limits<float>::infinity();
    const auto y = compress(*pc, raw);
    BOOST_TEST(pc->bad_lines() == 2u);
    for (int line = 0; line < 5; ++line)
        for (int m = 0; m < 1600; ++m) {
            const cd expected = line == 1 || line == 3 ? cd(0) : clean[line * 1600 + m];
            BOOST_REQUIRE(y[line * 1600 + m] == expected);
        }
}

BOOST_AUTO_TEST_CASE(any_number_of_lines_gives_the_same_lines)
{
    acquisition_fields f = pulsed(799);
    f.pulse_length_s = 1.5e-6;
    f.chirp_rate_hz_per_s = 60e12;
    const auto pc = pulse_compression::make(params_of(f, 2), cpu);
    const auto raw = noise(131 * 799);
    const auto all = compress(*pc, raw);
    std::vector<cd> pieces;
    for (int first = 0, n = 1; first < 131;
         first += n, n = std::min(2 * n + 1, 131 - first)) {
        const auto y =
            compress(*pc, { raw.begin() + first * 799, raw.begin() + (first + n) * 799 });
        pieces.insert(pieces.end(), y.begin(), y.end());
    }
    BOOST_TEST((pieces == all));
    pc->process(nullptr, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(errors_name_parameter_value_and_expectation)
{
    const auto message = [](const pulse_compression_params& p) {
        try {
            pulse_compression::make(p, cpu);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    BOOST_TEST(has(message(params_of(pulsed(), 0)), "oversampling is 0; expected 1"));
    BOOST_TEST(has(message(params_of(pulsed(1 << 27), 4)), "at most 2^28"));
    BOOST_TEST(
        has(message(params_of(pulsed(), 1, "rect", noise(3))),
            "replica has 3 samples, but the waveform of the acquisition is pulsed_lfm"));
    acquisition_fields f = pulsed();
    f.wave = waveform::replica;
    f.replica_bandwidth_hz = 80e6;
    BOOST_TEST(has(message(params_of(f)), "replica is empty; expected"));
    auto bad = noise(8);
    bad[5].re = std::nanf("");
    BOOST_TEST(has(message(params_of(f, 1, "rect", bad)), "replica[5] is not finite"));
    BOOST_TEST(
        has(message(params_of(f, 1, "rect", { { 0, 0 }, { 0, 0 } })), "no energy"));
}
