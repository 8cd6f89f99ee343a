// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE pulse_compression_gpu
#include "../core/qa_noise.h"
#include "../cuda/gpu_test.h"
#include "pulse_compression.h"
#include <boost/test/data/test_case.hpp>
#include <cmath>
#include <complex>
#include <limits>

using namespace gr::sar;
using gr::sar::gpu_test::device_values;
using gr::sar::kernel::pulse_compression;
using gr::sar::kernel::pulse_compression_params;
namespace data = boost::unit_test::data;

namespace {

acquisition_fields fields_of(waveform w, int samples)
{
    acquisition_fields f;
    f.wave = w;
    f.samples = samples;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 1000;
    f.sample_rate_hz = w == waveform::fmcw ? 1e6 : 100e6;
    f.pulse_length_s = 2.5e-6;
    f.chirp_rate_hz_per_s = w == waveform::fmcw ? -2e11 : 70e6 / f.pulse_length_s;
    f.frequency_step_hz = -1.3e5;
    f.replica_bandwidth_hz = 90e6;
    f.slant_range_first_m = 5000.25;
    f.phase_sign = w == waveform::fmcw ? 1 : -1;
    return f;
}

std::vector<cf32>
on_device(pulse_compression& pc, const std::vector<cf32>& raw, int lines, int number = 0)
{
    device_space& space = cuda_device(0);
    device_values<cf32> in(space, raw);
    device_values<cf32> out(space, static_cast<std::size_t>(lines) * pc.samples_out());
    pc.process(in.data(), out.data(), lines, number);
    return out.host();
}

double relative_db(const std::vector<cf32>& x, const std::vector<cf32>& truth)
{
    BOOST_REQUIRE_EQUAL(x.size(), truth.size());
    double e = 0;
    double s = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double a = double(x[i].re) - truth[i].re;
        const double b = double(x[i].im) - truth[i].im;
        e += a * a + b * b;
        s += double(truth[i].re) * truth[i].re + double(truth[i].im) * truth[i].im;
    }
    return 10 * std::log10(e / s + 1e-300);
}

} // namespace

// Lengths with small factors, primes, and primes above what cuFFT has direct kernels for;
// a number of lines that is no sum of few batches; one plan used twice.
BOOST_DATA_TEST_CASE(equals_cpu,
                     data::make({ "pulsed_lfm", "replica", "fmcw", "frequency_domain" }) *
                         data::make({ 1, 37, 424, 800, 1200, 4096, 4099, 5999, 16001 }) *
                         data::make({ 1, 3 }) * data::make({ false, true }),
                     name,
                     samples,
                     over,
                     gated)
{
    const waveform w = waveform_from_name(name);
    acquisition_fields f = fields_of(w, samples);
    if (gated && w == waveform::fmcw) {
        // and the triangle, whose lines alternate
        f.sweep = sweep_shape::triangle;
        f.prf_hz = 50;
    }
    pulse_compression_params p{ acquisition(f), over, window("taylor(4, 35)"), {} };
    if (gated) {
        p.gate_first = samples / 3;
        p.gate_cells = (samples + 2) / 3;
    }
    if (w == waveform::replica)
        p.replica = noise(301, 5);
    const auto cpu = pulse_compression::make(p, choose_target(backend::cpu));
    const auto gpu = pulse_compression::make(p, choose_target(backend::cuda));
    for (const int lines : { 1, 27, 91 }) {
        const auto raw = noise(static_cast<std::size_t>(lines) * samples, lines);
        std::vector<cf32> truth(static_cast<std::size_t>(lines) * cpu->samples_out());
        cpu->process(raw.data(), truth.data(), lines, lines & 1);
        const auto first = on_device(*gpu, raw, lines, lines & 1);
        BOOST_TEST(relative_db(first, truth) < -100);
        const auto second = on_device(*gpu, raw, lines, lines & 1);
        BOOST_TEST(relative_db(second, truth) < -100);
    }
    BOOST_TEST(gpu->bad_lines() == 0u);
}

BOOST_DATA_TEST_CASE(lines_that_are_not_finite,
                     data::make({ "pulsed_lfm", "frequency_domain" }),
                     name)
{
    const pulse_compression_params p{
        acquisition(fields_of(waveform_from_name(name), 800)), 2, window(), {}
    };
    const auto gpu = pulse_compression::make(p, choose_target(backend::cuda));
    auto raw = noise(21 * 800);
    const auto clean = on_device(*gpu, raw, 21);
    raw[800 + 17].im = std::numeric_limits<float>::quiet_NaN();
    raw[20 * 800 + 799].re = std::numeric_limits<float>::infinity();
    const auto y = on_device(*gpu, raw, 21);
    BOOST_TEST(gpu->bad_lines() == 2u);
    for (int line = 0; line < 21; ++line)
        for (int m = 0; m < 1600; ++m) {
            const bool bad = line == 1 || line == 20;
            const cf32 expected = bad ? cf32{ 0, 0 } : clean[line * 1600 + m];
            BOOST_REQUIRE(y[line * 1600 + m].re == expected.re);
            BOOST_REQUIRE(y[line * 1600 + m].im == expected.im);
        }
}

// Lines whose transforms would not fit in a batch of 64 are done in smaller batches. The
// truth is the direct sum, at a few places: FFTW would plan for minutes.
BOOST_AUTO_TEST_CASE(long_lines_in_small_batches)
{
    const int samples = 1 << 22;
    const int over = 8;
    const acquisition_fields f = fields_of(waveform::pulsed_lfm, samples);
    const pulse_compression_params p{ acquisition(f), over, window(), {} };
    const auto gpu = pulse_compression::make(p, choose_target(backend::cuda));
    const int lines = 3;
    const auto raw = noise(lines * static_cast<std::size_t>(samples));
    const auto y = on_device(*gpu, raw, lines);
    const int pulse = acquisition(f).pulse_samples();
    for (int line = 0; line < lines; ++line)
        for (int m = 0; m < samples - pulse; m += 104729) {
            std::complex<double> sum = 0;
            for (int i = 0; i < pulse; ++i) {
                const double u = i / f.sample_rate_hz - f.pulse_length_s / 2;
                const cf32 s = raw[static_cast<std::size_t>(line) * samples + m + i];
                sum += std::complex<double>(s.re, s.im) *
                       std::polar(1.0, -pi * f.chirp_rate_hz_per_s * u * u) /
                       double(pulse);
            }
            const cf32 v = y[static_cast<std::size_t>(line) * gpu->samples_out() +
                             static_cast<std::size_t>(m) * over];
            BOOST_REQUIRE(std::abs(std::complex<double>(v.re, v.im) - sum) < 1e-5);
        }
}
