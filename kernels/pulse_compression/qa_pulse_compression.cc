// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE pulse_compression
#include "pulse_compression.h"
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "../core/qa_tools.h"
#include <cmath>
#include <complex>
#include <functional>
#include <limits>

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

// ---- sweeps as they are transmitted ----

namespace {

//! A drone radar: 300 MHz in 1.2 ms, of which 0.1 ms is left out and 1 ms kept.
acquisition_fields swept(sweep_shape shape, double sign = 1)
{
    acquisition_fields f;
    f.wave = waveform::fmcw;
    f.samples = 1024;
    f.sample_rate_hz = 1.024e6;
    f.chirp_rate_hz_per_s = sign * 250e6 / 1e-3;
    f.carrier_hz = 5.8e9;
    f.prf_hz = 1 / 1.2e-3;
    f.gate_start_s = 0.1e-3;
    f.sweep = shape;
    return f;
}

/*!
 * A dechirped line from the phase of the transmitter alone: phi(t) - phi(t - tau), with
 * the range at the time of each sample; on the way back from the last sample to the
 * first.
 */
std::vector<cf32> dechirped(const acquisition_fields& f,
                            const std::function<double(double)>& range_m,
                            bool way_back)
{
    const double interval_s = 1 / f.prf_hz;
    const double k = f.chirp_rate_hz_per_s;
    const double top_hz = f.carrier_hz + k * interval_s;
    const auto cycles = [&](double t) {
        return way_back ? top_hz * t - k * t * t / 2 : f.carrier_hz * t + k * t * t / 2;
    };
    std::vector<cf32> line;
    for (int n = 0; n < f.samples; ++n) {
        const double into_s = f.gate_start_s + n / f.sample_rate_hz;
        const double t = way_back ? interval_s - into_s : into_s;
        const double tau = 2 * range_m(t) / speed_of_light;
        line.push_back(to_cf32(turn(f.phase_sign * (cycles(t) - cycles(t - tau)))));
    }
    return line;
}

std::vector<cd>
compress_line(const pulse_compression_params& p, const std::vector<cf32>& raw, int number)
{
    const auto pc = pulse_compression::make(p, cpu);
    std::vector<cf32> out(pc->samples_out());
    pc->process(raw.data(), out.data(), 1, number);
    std::vector<cd> d;
    for (const cf32 v : out)
        d.push_back(to_cd(v));
    return d;
}

cd echo_phase(double frequency_hz, double range_m)
{
    return turn(-2 * frequency_hz * range_m / speed_of_light);
}

} // namespace

BOOST_DATA_TEST_CASE(ways_out_and_back_of_a_triangle,
                     data::make({ 1.0, -1.0 }) * data::make({ -1, 1 }) *
                         data::make({ false, true }),
                     ramp,
                     sign,
                     way_back)
{
    acquisition_fields f = swept(sweep_shape::triangle, ramp);
    f.phase_sign = sign;
    f.slant_range_first_m = 3000; // pi K tau^2 is 314 rad
    const acquisition acq(f);
    BOOST_TEST(acq.first_frequency_hz() == 5.8e9 + ramp * 25e6,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(acq.centre_frequency_hz() == 5.8e9 + ramp * 150e6,
               boost::test_tools::tolerance(1e-12));
    const int over = 16;
    const double range = 3000 + 97.3 * over * acq.compressed_axis(over).spacing_m;
    const double tau = 2 * range / speed_of_light;
    const auto line = dechirped(
        f, [&](double) { return range; }, way_back);
    const cd expected = echo_phase(acq.centre_frequency_hz(), range);
    const double residual = 0.5 * f.chirp_rate_hz_per_s * tau * tau; // cycles

    const response r = measure(compress_line(params_of(f, over), line, way_back ? 7 : 4));
    BOOST_TEST(std::abs(r.position / over - 97.3) < 0.01);
    BOOST_TEST(std::abs(std::arg(r.value / expected)) < 0.01);
    BOOST_TEST(std::abs(std::abs(r.value) - 1) < 0.005);

    // what is wrong is wrong by what theory says: the other ramp's residual video phase,
    const auto other =
        measure(compress_line(params_of(f, over), line, way_back ? 4 : 7)).value;
    BOOST_TEST(std::abs(std::arg(other / expected /
                                 turn(way_back ? -2 * residual : 2 * residual))) < 0.01);
    // none taken off at all,
    acquisition_fields fx = f;
    fx.wave = waveform::frequency_domain;
    fx.sweep = sweep_shape::sawtooth;
    fx.gate_start_s = 0;
    fx.carrier_hz = acq.first_frequency_hz();
    fx.frequency_step_hz = acq.frequency_step_hz();
    const auto left = measure(compress_line(params_of(fx, over), line, 0)).value;
    BOOST_TEST(std::abs(std::arg(left / expected /
                                 turn(way_back ? -residual : residual))) < 0.01);
    BOOST_TEST(std::abs(std::arg(left / expected)) > 0.1);
    // a carrier that does not know of the gate
    acquisition_fields ungated = f;
    ungated.gate_start_s = 0;
    const auto wrong =
        measure(compress_line(params_of(ungated, over), line, way_back)).value;
    const double centre = acquisition(ungated).centre_frequency_hz();
    const double off = f.chirp_rate_hz_per_s * f.gate_start_s * tau;
    BOOST_TEST(std::abs(std::arg(wrong / echo_phase(centre, range) / turn(-off))) < 0.01);
    BOOST_TEST(std::abs(std::arg(wrong / echo_phase(centre, range))) > 0.1);
}

BOOST_DATA_TEST_CASE(range_doppler_coupling,
                     data::make({ 1.0, -1.0 }) * data::make({ -30.0, 12.0 }),
                     ramp,
                     velocity)
{
    // a point that is at `range` in the middle of the samples and moves all the while
    const acquisition_fields f = swept(sweep_shape::triangle, ramp);
    const acquisition acq(f);
    const int over = 16;
    const double cell = acq.compressed_axis(1).spacing_m;
    const double range = 41.7 * cell;
    const double middle_s = f.gate_start_s + acq.centre_sample() / f.sample_rate_hz;
    const double fc = acq.centre_frequency_hz();
    double seen[2];
    for (const bool way_back : { false, true }) {
        const double at_s = way_back ? 1 / f.prf_hz - middle_s : middle_s;
        const auto line = dechirped(
            f, [&](double t) { return range + velocity * (t - at_s); }, way_back);
        const response r = measure(compress_line(params_of(f, over), line, way_back));
        seen[way_back] = r.position / over * cell;
        // seen elsewhere, with the phase of the place where it is
        BOOST_TEST(std::abs(std::arg(r.value / echo_phase(fc, range))) < 0.03);
    }
    const double shift = acq.doppler_shift_m(-2 * velocity * fc / speed_of_light);
    BOOST_TEST(std::abs(shift) > 0.4 * cell);
    BOOST_TEST(std::abs(seen[0] - (range + shift)) < 0.01 * cell);
    BOOST_TEST(std::abs(seen[1] - (range - shift)) < 0.01 * cell);
}

BOOST_AUTO_TEST_CASE(a_ramp_received_in_full_is_a_long_pulse)
{
    // an SDR samples the whole band of a ramp, 16 MHz in 0.4 ms at 20 MHz, 8000 samples:
    // its matched filter, and a dechirp by hand with what follows, see the same
    acquisition_fields f = pulsed(8080);
    f.sample_rate_hz = 20e6;
    f.pulse_length_s = 0.4e-3;
    f.chirp_rate_hz_per_s = 16e6 / 0.4e-3;
    f.carrier_hz = 2.45e9;
    f.slant_range_first_m = 0;
    const double range = 23.4 * 7.5;
    const auto raw = pulsed_line(f, { { range } });

    pulse_compression_params p = params_of(f, 16);
    p.gate_cells = 41; // 0 to 300 m: of 8080 cells, what a decimated beat would leave
    const auto pc = pulse_compression::make(p, cpu);
    BOOST_TEST(pc->samples_out() == 41 * 16);
    const response r = measure(compress(*pc, raw));
    BOOST_TEST(std::abs(r.position / 16 - range / pc->axis().spacing_m / 16) < 0.01);
    BOOST_TEST(std::abs(std::abs(r.value) - 1) < 0.005);
    BOOST_TEST(std::abs(std::arg(r.value / echo_phase(2.45e9, range))) < 0.01);

    acquisition_fields beat = swept(sweep_shape::sawtooth);
    beat.sample_rate_hz = 20e6;
    beat.chirp_rate_hz_per_s = f.chirp_rate_hz_per_s;
    beat.carrier_hz = f.carrier_hz - 8e6; // where the ramp begins
    beat.prf_hz = 1000;
    beat.samples = 7900;
    beat.gate_start_s = 50 / 20e6; // the farthest echo is there
    std::vector<cf32> line;
    for (int n = 0; n < beat.samples; ++n) {
        const double u = (n + 50) / 20e6 - f.pulse_length_s / 2;
        line.push_back(
            to_cf32(to_cd(raw[n + 50]) * turn(-f.chirp_rate_hz_per_s * u * u / 2)));
    }
    pulse_compression_params q = params_of(beat, 16);
    q.gate_cells = 41;
    const auto fmcw = pulse_compression::make(q, cpu);
    const response b = measure(compress(*fmcw, line));
    BOOST_TEST(std::abs(b.position * fmcw->axis().spacing_m - range) < 0.01 * 9.4);
    BOOST_TEST(std::abs(std::arg(b.value /
                                 echo_phase(q.acq.centre_frequency_hz(), range))) < 0.01);
}

// ---- range gate ----

BOOST_DATA_TEST_CASE(a_gate_keeps_its_cells,
                     data::make({ "pulsed", "replica", "fmcw", "triangle", "stepped" }) *
                         data::make({ 1, 3 }) * data::make({ 0, 100 }) *
                         data::make({ 1, 300 }),
                     name,
                     over,
                     first,
                     cells)
{
    const std::string kind = name;
    acquisition_fields f = kind == "stepped"    ? stepped(801, -1e6, -1)
                           : kind == "fmcw"     ? swept(sweep_shape::sawtooth, -1)
                           : kind == "triangle" ? swept(sweep_shape::triangle)
                                                : pulsed(424);
    f.doppler_centroid_hz = 30;
    f.doppler_centroid_slopes = { 0.01, 1e-5 };
    pulse_compression_params p = params_of(f, over, "hamming");
    if (kind == "pulsed") {
        f.pulse_length_s = 2e-6;
        f.chirp_rate_hz_per_s = 63e6 / f.pulse_length_s;
        p = params_of(f, over, "hamming");
    } else if (kind == "replica") {
        f.wave = waveform::replica;
        f.pulse_ref = pulse_reference::centre;
        f.replica_bandwidth_hz = 100e6;
        p = params_of(f, over, "rect", noise(63, 7));
    }
    const auto whole = pulse_compression::make(p, cpu);
    pulse_compression_params gated = p;
    gated.gate_first = first;
    gated.gate_cells = cells;
    const auto part = pulse_compression::make(gated, cpu);
    const auto raw = noise(3 * f.samples);
    const auto y = compress(*whole, raw);
    const auto z = compress(*part, raw);
    std::vector<cd> kept;
    for (int line = 0; line < 3; ++line)
        for (int m = 0; m < cells * over; ++m)
            kept.push_back(y[line * whole->samples_out() + first * over + m]);
    BOOST_TEST(relative_db(z, kept) < float_budget_db);

    // the axis, and an acquisition that has it
    const range_axis a = whole->axis();
    const range_axis b = part->axis();
    const acquisition acq = p.acq.gated(first, cells);
    BOOST_TEST(b.samples == cells * over);
    BOOST_TEST(b.first_m == a.first_m + first * over * a.spacing_m,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(b.spacing_m == a.spacing_m, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(b.carrier_hz == a.carrier_hz, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(b.bandwidth_hz == a.bandwidth_hz, boost::test_tools::tolerance(1e-12));
    const double x = 12.5;
    BOOST_TEST(polynomial(acq.centroid_coefficients(), x) ==
                   polynomial(p.acq.centroid_coefficients(), x + b.first_m - a.first_m),
               boost::test_tools::tolerance(1e-12));
    for (int m = 0; m < b.samples; ++m) {
        const bool valid =
            m >= part->first_valid() && m < part->first_valid() + part->valid_samples();
        const int n = m + first * over;
        BOOST_REQUIRE(valid == (n >= whole->first_valid() &&
                                n < whole->first_valid() + whole->valid_samples()));
    }
    int from, count;
    const double cell = a.spacing_m * over;
    p.acq.gate_of(b.first_m, b.first_m + (std::max(cells, 2) - 1.5) * cell, from, count);
    BOOST_TEST(from == first);
    BOOST_TEST(count == std::max(cells, 2));
}

BOOST_AUTO_TEST_CASE(a_wrong_gate_is_named)
{
    pulse_compression_params p = params_of(pulsed(600));
    const auto wrong = [&](int first, int cells) {
        p.gate_first = first;
        p.gate_cells = cells;
        return sentence_of([&] { pulse_compression::make(p, cpu); });
    };
    BOOST_TEST(has(wrong(0, 601), "the range gate has 601 cells; expected 1 to"));
    BOOST_TEST(has(wrong(-1, 10), "cells -1 to 8; expected cells of the line, 0 to 599"));
    BOOST_TEST(has(wrong(595, 10), "cells 595 to 604"));
    BOOST_TEST(has(wrong(3, 0), "gate_first is 3; expected 0"));
    BOOST_TEST(wrong(590, 10) == "no error");
    int first, cells;
    BOOST_TEST(has(sentence_of([&] { p.acq.gate_of(5, 5, first, cells); }),
                   "the range gate is 5 m to 5 m"));
    BOOST_TEST(has(sentence_of([&] { p.acq.gate_of(0, 12400, first, cells); }),
                   "within the line, 12345.678 m to"));
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
        return sentence_of([&] { pulse_compression::make(p, cpu); });
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
