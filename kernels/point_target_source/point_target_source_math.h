// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Raw echoes of point targets, sample by sample, in double.
//
// Symbols
//   r     measured range, m: slant range of the target (minus the antenna's distance to
//         the reference point when the recording is motion compensated to a point) plus
//         range_bias_m. The bias is a delay like any other, carrier included: a cable
//   c     speed of light;  tau = 2 r / c
//   f0    carrier_hz, fs sampling rate, s = phase_sign
//   K     chirp rate, tg = gate_start_s
//
// Pulsed LFM (Cumming and Wong, Digital Processing of SAR Data, chapter 3): the sample n
// of a line is at delay t_n = 2 r_n / c, r_n = slant_range_first_m + n c / (2 fs), and
// holds
//   p(t_n - tau) exp(-j 2 pi f0 tau),
//   p(t) = exp(j pi Kr (t - Tp/2)^2), 0 <= t < Tp           (pulse_reference start)
//   p(t) = exp(j pi Kr t^2), -Tp/2 <= t < Tp/2              (pulse_reference centre)
//
// Phase history over frequency (FX), f_n = f0 + n step:
//   exp(s j 2 pi f_n tau)
//
// FMCW, sweep against echo (Meta, Hoogeboom, Ligthart, TGRS 45-11, 2007), a beat with the
// residual video phase; t_n = tg + n / fs, f_n = f0 + K t_n:
//   exp(s j 2 pi (f_n tau - K tau^2 / 2))
// On the way back of a triangle (odd lines) the same f_n at the time 1 / PRF - t_n, with
// -K in the last term.
//
// Stop and go: the antenna stands still from pulse to echo. With sweep_motion tau is that
// at the time of the sample.
//
// Beam: a target is seen while the angle between the line of sight and the plane across
// the direction of flight lies within squint +- width / 2, and then with full amplitude:
//   |asin(sight . flight) - squint| <= width / 2, both unit vectors
// That is a sector of Doppler, fd = 2 |v| sin(angle) / lambda, on both sides of the
// track.

#include "../core/cf32.h"
#include "../core/constants.h"
#include "../core/hd.h"
#include "../core/vec3.h"
#include <cmath>
#include <cstdint>

namespace gr {
namespace sar {

struct cf64 {
    double re;
    double im;
};

//! exp(+j 2 pi cycles); whole cycles are dropped first, 5e7 of them are usual.
SAR_HD cf64 unit_phasor64(double cycles)
{
    const double x = 2 * pi * (cycles - rint(cycles));
    return { cos(x), sin(x) };
}

SAR_HD cf64 times(cf64 a, cf64 b)
{
    return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

//! Is a target in the beam? \p flight is a vector along the track, of any length but 0.
SAR_HD bool
in_beam(vec3 target, vec3 antenna, vec3 flight, double beam_rad, double squint_rad)
{
    const vec3 sight = target - antenna;
    const double sine = dot(sight, flight) / (length(sight) * length(flight));
    // a target at the antenna has no direction: not seen
    return fabs(asin(fmin(1.0, fmax(-1.0, sine))) - squint_rad) <= beam_rad / 2;
}

//! What the formulas above need of an acquisition, as plain numbers.
struct echo_model {
    int samples;
    double carrier_hz;
    // pulsed
    double first_m;         // measured range of sample 0
    double spacing_m;       // c / (2 fs)
    double sample_period_s; // 1 / fs
    double pulse_length_s;
    double chirp_rate_hz_per_s;
    double reference_s; // of the pulse: 0 (start) or Tp/2 (centre)
    // FX and FMCW
    double step_hz;
    double sign;
    double residual_video_hz_per_s; // chirp rate for FMCW, 0 for FX
};

//! Delay of an echo in samples of a pulsed line (fractional): where its reference falls.
SAR_HD double echo_sample(const echo_model& m, double range_m)
{
    return (range_m - m.first_m) / m.spacing_m;
}

//! First and last sample that a pulse with its reference at sample \p at covers, within
//! the line; last < first when there is none. A pulse edge closer than 1e-6 samples to a
//! sample counts as on it, so that whole-sample delays do not flicker with rounding.
SAR_HD void pulse_support(const echo_model& m, double at, int& first, int& last)
{
    const double begin = at - m.reference_s / m.sample_period_s;
    const double end = begin + m.pulse_length_s / m.sample_period_s;
    const double lo = ceil(begin - 1e-6);
    const double hi = ceil(end - 1e-6) - 1;
    first = lo > 0 ? (lo < m.samples ? static_cast<int>(lo) : m.samples) : 0;
    last = hi < m.samples - 1 ? (hi < 0 ? -1 : static_cast<int>(hi)) : m.samples - 1;
}

//! Phase of an LFM pulse in cycles, \p t_s after its reference.
SAR_HD double pulse_cycles(const echo_model& m, double t_s)
{
    const double t = t_s + m.reference_s - m.pulse_length_s / 2;
    return 0.5 * m.chirp_rate_hz_per_s * t * t;
}

//! Phase of the propagation at the carrier, cycles: exp(-j 4 pi f0 r / c).
SAR_HD double carrier_cycles(const echo_model& m, double range_m)
{
    return -2 * m.carrier_hz * range_m / speed_of_light;
}

//! Phase of sample \p n of an FX or FMCW line, cycles.
SAR_HD double
frequency_cycles(const echo_model& m, int n, double range_m, bool way_back = false)
{
    const double f = m.carrier_hz + n * m.step_hz;
    const double tau = 2 * range_m / speed_of_light;
    const double k = way_back ? -m.residual_video_hz_per_s : m.residual_video_hz_per_s;
    return m.sign * (f * tau - 0.5 * k * tau * tau);
}

//! Four random words that depend on nothing but counter and key.
struct random_words {
    std::uint32_t w[4];
};

//! Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC11): a counter-based generator, so that
//! noise is the same whichever thread computes which line.
SAR_HD random_words philox(std::uint32_t c0,
                           std::uint32_t c1,
                           std::uint32_t c2,
                           std::uint32_t c3,
                           std::uint64_t key)
{
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = 0xD2511F53ull * c0;
        const std::uint64_t b = 0xCD9E8D57ull * c2;
        const std::uint32_t n0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
        const std::uint32_t n2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
        c1 = static_cast<std::uint32_t>(b);
        c3 = static_cast<std::uint32_t>(a);
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return { { c0, c1, c2, c3 } };
}

//! Circular complex Gaussian of mean power 1 from two words (Box and Muller).
SAR_HD cf64 gaussian(std::uint32_t a, std::uint32_t b)
{
    const double u = (a + 0.5) * (1.0 / 4294967296.0); // 0 < u < 1
    const double r = sqrt(-log(u));
    const cf64 e = unit_phasor64(b * (1.0 / 4294967296.0));
    return { r * e.re, r * e.im };
}

//! Noise of samples 2 \p pair and 2 \p pair + 1 of line \p pulse, mean power 1.
SAR_HD void noise_pair(std::uint32_t pair,
                       std::uint32_t pulse,
                       std::uint64_t seed,
                       cf64& even,
                       cf64& odd)
{
    const random_words r = philox(pair, pulse, 0, 0, seed);
    even = gaussian(r.w[0], r.w[1]);
    odd = gaussian(r.w[2], r.w[3]);
}

} // namespace sar
} // namespace gr
