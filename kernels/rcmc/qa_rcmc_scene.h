// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of rcmc on CPU and GPU share.

#include "../core/qa_noise.h"
#include "rcmc.h"
#include <cmath>
#include <complex>
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

//! X band from an aeroplane, 8 km: 150 MHz fill 80 % of the sampling rate.
inline acquisition_fields airborne(int samples)
{
    acquisition_fields f;
    f.samples = samples;
    f.carrier_hz = 9.6e9;
    f.prf_hz = 300;
    f.sample_rate_hz = 187.5e6;
    f.pulse_length_s = 0.1e-6; // so that the middle is the middle of the line
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

inline double frequency_of_row(int row, int rows, double prf_hz, double centroid_hz)
{
    const double base = row * prf_hz / rows;
    return base + prf_hz * std::rint((centroid_hz - base) / prf_hz);
}

inline double factor_of(double frequency, double v, double carrier)
{
    const double s = speed_of_light * frequency / (2 * v * carrier);
    return std::sqrt(1 - s * s);
}

//! Value between samples, by the sinc of the whole row.
inline cd sinc_at(const std::vector<cd>& row, double x)
{
    const double s = std::sin(pi * x) / pi;
    if (std::abs(s) < 1e-12) {
        const long n = std::lrint(x);
        return n >= 0 && n < static_cast<long>(row.size()) ? row[n] : cd(0);
    }
    cd sum = 0;
    for (std::size_t n = 0; n < row.size(); ++n)
        sum += row[n] * ((n % 2 ? -s : s) / (x - n));
    return sum;
}

/*!
 * \brief Row of a point, by the exact two-dimensional spectrum.
 *
 * Mean over the band of exp(-j 4 pi R0 / c sqrt((f0 + ft)^2 - (c f / 2 V)^2)), as line
 * over range: what pulse compression and the azimuth transform make of a point, but for
 * its azimuth envelope. In double, from 4 x cols frequencies.
 */
inline std::vector<cd> row_of_point(const range_doppler_frame& f,
                                    double frequency,
                                    double closest,
                                    double v = 100)
{
    const int n = 4 * f.cols;
    const double sampling = speed_of_light / 2 / f.spacing_m;
    const int edge = static_cast<int>(f.bandwidth_hz / sampling * n / 2);
    const double s = speed_of_light * frequency / (2 * v);
    std::vector<cd> line(f.cols);
    for (int k = -edge; k <= edge; ++k) {
        const double ft = k * sampling / n;
        const double cycles =
            -2 * closest / speed_of_light *
                std::sqrt((f.carrier_hz + ft) * (f.carrier_hz + ft) - s * s) +
            ft * 2 * (f.line_first_m - f.bias_m) / speed_of_light -
            2 * f.carrier_hz * f.bias_m / speed_of_light;
        cd value = turn(cycles) / (2.0 * edge + 1);
        const cd step = turn(static_cast<double>(k) / n);
        for (cd& x : line) {
            x += value;
            value *= step;
        }
    }
    return line;
}

struct response {
    double position; //!< of the peak, cells
    cd value;        //!< there
    double width;    //!< at half of the power, cells
};

inline response measure(const std::vector<cd>& row)
{
    int top = 0;
    for (int n = 0; n < static_cast<int>(row.size()); ++n)
        if (std::norm(row[n]) > std::norm(row[top]))
            top = n;
    const auto power = [&](double x) { return std::norm(sinc_at(row, x)); };
    double low = top - 1.0;
    double high = top + 1.0;
    for (int i = 0; i < 40; ++i) {
        const double a = low + (high - low) / 3;
        const double b = high - (high - low) / 3;
        if (power(a) > power(b))
            high = b;
        else
            low = a;
    }
    response r;
    r.position = (low + high) / 2;
    r.value = sinc_at(row, r.position);
    const double half = 0.5 * std::norm(r.value);
    const auto flank = [&](double sign) {
        double in = 0;
        double out = 0.1;
        while (out < 20 && power(r.position + sign * out) > half) {
            in = out;
            out += 0.1;
        }
        for (int i = 0; i < 20; ++i) {
            const double middle = (in + out) / 2;
            (power(r.position + sign * middle) > half ? in : out) = middle;
        }
        return in;
    };
    r.width = flank(1) + flank(-1);
    return r;
}

//! 2 V / wavelength sin(angle)
inline double doppler_of_squint(double degrees)
{
    return 2 * 100 * 9.6e9 / speed_of_light * std::sin(degrees * pi / 180);
}

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
