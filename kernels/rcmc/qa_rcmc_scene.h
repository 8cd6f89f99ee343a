// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of rcmc on CPU and GPU share.

#include "rcmc.h"
#include <cmath>
#include <complex>
#include <random>
#include <vector>

namespace gr {
namespace sar {
namespace rcmc_test {

using cd = std::complex<double>;

inline cd turn(double cycles)
{
    return std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
}

inline std::vector<cf32> to_cf32(const std::vector<cd>& v)
{
    std::vector<cf32> w;
    for (const cd& x : v)
        w.push_back({ static_cast<float>(x.real()), static_cast<float>(x.imag()) });
    return w;
}

inline std::vector<cd> to_cd(const std::vector<cf32>& v)
{
    std::vector<cd> w;
    for (const cf32& x : v)
        w.emplace_back(x.re, x.im);
    return w;
}

//! Energy of the difference over that of the truth, dB.
inline double difference_db(const std::vector<cd>& x, const std::vector<cd>& truth)
{
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        error += std::norm(x[i] - truth[i]);
        power += std::norm(truth[i]);
    }
    return 10 * std::log10(error / (power + 1e-300) + 1e-30);
}

inline std::vector<cf32> noise(std::size_t n, unsigned seed = 1)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<cf32> v(n);
    for (cf32& x : v)
        x = { normal(random), normal(random) };
    return v;
}

//! X band from an aeroplane, 8 km: 150 MHz fill 80 % of the sampling rate.
inline acquisition_fields airborne(int samples)
{
    acquisition_fields f;
    f.samples = samples;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 300;
    f.sample_rate_hz = 187.5e6;
    f.pulse_length_s = 2e-6;
    f.chirp_rate_hz_per_s = 150e6 / f.pulse_length_s;
    f.slant_range_first_m = 8000.25;
    f.effective_velocity_m_s = 100;
    return f;
}

inline kernel::rcmc_params
params_of(const acquisition_fields& f,
          int lines,
          image_geometry geometry = image_geometry::zero_doppler)
{
    kernel::rcmc_params p{ { acquisition(f), 1, lines, lines, geometry } };
    return p;
}

inline const kernel::migration_interpolation all_interpolations[] = {
    kernel::migration_interpolation::nearest, kernel::migration_interpolation::linear,
    kernel::migration_interpolation::sinc8,   kernel::migration_interpolation::sinc16,
    kernel::migration_interpolation::exact,   kernel::migration_interpolation::fixed,
};

} // namespace rcmc_test

// for the messages of data test cases
inline std::ostream& operator<<(std::ostream& s, image_geometry g)
{
    return s << to_string(g);
}
inline std::ostream& operator<<(std::ostream& s, line_storage g)
{
    return s << to_string(g);
}
namespace kernel {
inline std::ostream& operator<<(std::ostream& s, migration_interpolation i)
{
    return s << to_string(i);
}
} // namespace kernel

} // namespace sar
} // namespace gr
