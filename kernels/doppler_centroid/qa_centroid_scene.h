// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Compressed lines with a known Doppler centroid, for qa_doppler_centroid*.cc.

#include "../core/constants.h"
#include "doppler_centroid.h"
#include <cmath>
#include <complex>
#include <random>

namespace gr {
namespace sar {
namespace centroid_test {

using complex_double = std::complex<double>;

struct scene {
    double centroid_hz = 0;
    int points = 20;
    double noise = 0.2; //!< root of its power; a point has 1
    int lines = 1024;
    int samples = 384;
    int oversampling = 1;
    unsigned seed = 1;
    double bias_m = 0;
    double velocity_m_s = 250;
};

//! C band at 20 km: a point walks up to 40 cells through the beam, and has 650 lines.
inline acquisition_fields fields_of(const scene& s)
{
    acquisition_fields f;
    f.samples = s.samples;
    f.carrier_hz = 5.3e9;
    f.prf_hz = 300;
    f.sample_rate_hz = 60e6;
    f.pulse_length_s = 1 / 60e6; // no cell is incomplete
    f.chirp_rate_hz_per_s = 50e6 * 60e6;
    f.slant_range_first_m = 20e3;
    f.range_bias_m = s.bias_m;
    f.effective_velocity_m_s = s.velocity_m_s;
    return f;
}

inline std::vector<cf32> lines_of(const scene& s)
{
    const acquisition acq(fields_of(s));
    const range_axis axis = acq.compressed_axis(s.oversampling);
    const double v = s.velocity_m_s;
    const double prf = acq->prf_hz;
    const double wavelength = speed_of_light / axis.carrier_hz;
    std::mt19937 random(s.seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<cf32> x(static_cast<std::size_t>(s.lines) * axis.samples);
    for (cf32& value : x)
        value = { static_cast<float>(s.noise * normal(random) / std::sqrt(2)),
                  static_cast<float>(s.noise * normal(random) / std::sqrt(2)) };
    const double sine = -wavelength * s.centroid_hz / (2 * v);
    for (int p = 0; p < s.points; ++p) {
        // where and when the middle of the beam sees it
        const double range =
            20e3 + uniform(random) * axis.samples * axis.spacing_m - s.bias_m;
        const double time = (1.2 * uniform(random) - 0.1) * s.lines / prf;
        const complex_double amplitude =
            std::polar(0.5 + uniform(random), 2 * pi * uniform(random));
        const double closest = range * std::sqrt(1 - sine * sine);
        for (int n = 0; n < s.lines; ++n) {
            const double along = v * (n / prf - time) + range * sine;
            const double r = std::hypot(closest, along);
            const double doppler = -2 * v * along / (wavelength * r);
            const double beam = 0.96 * pi * (doppler - s.centroid_hz) / prf;
            const double one_way = std::abs(beam) < 1e-9 ? 1 : std::sin(beam) / beam;
            if (std::abs(one_way) < 0.05)
                continue;
            const double r_seen = r + s.bias_m;
            const complex_double echo =
                amplitude * one_way * one_way *
                std::polar(1.0, -4 * pi * std::fmod(r_seen / wavelength, 1.0));
            const double middle = (r_seen - axis.first_m) / axis.spacing_m;
            const int reach = 16 * s.oversampling;
            for (int m = std::max(0, static_cast<int>(middle) - reach);
                 m < std::min(axis.samples, static_cast<int>(middle) + reach);
                 ++m) {
                const double u = pi * axis.bandwidth_hz * 2 / speed_of_light *
                                 (m - middle) * axis.spacing_m;
                const complex_double value =
                    echo * (std::abs(u) < 1e-9 ? 1.0 : std::sin(u) / u);
                cf32& to = x[static_cast<std::size_t>(n) * axis.samples + m];
                to.re += static_cast<float>(value.real());
                to.im += static_cast<float>(value.imag());
            }
        }
    }
    return x;
}

} // namespace centroid_test
} // namespace sar
} // namespace gr
