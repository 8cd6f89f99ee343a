// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Scenes and slow, plain double-precision references for the tests of bp_accumulator.

#include "../core/constants.h"
#include "bp_accumulator.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace bp_test {

using namespace gr::sar;
using namespace gr::sar::kernel;
using complex = std::complex<double>;

struct target {
    vec3 position;
    complex amplitude;
};

struct setup {
    range_axis axis;
    std::vector<vec3> tx;
    std::vector<vec3> rx; // empty: one antenna
    std::vector<target> targets;
};

inline double sinc(double x) { return x == 0 ? 1 : std::sin(pi * x) / (pi * x); }

inline double measured_range(const setup& s, std::size_t pulse, vec3 p)
{
    const vec3 tx = s.tx[pulse];
    const vec3 rx = s.rx.empty() ? tx : s.rx[pulse];
    double r = 0.5 * (length(p - tx) + length(p - rx)) + s.axis.range_bias_m;
    if (s.axis.range_from == range_reference::point)
        r -= 0.5 * (length(s.axis.reference_point_m - tx) +
                    length(s.axis.reference_point_m - rx));
    return r;
}

inline complex phasor(const setup& s, double r)
{
    const double cycles = 2 * s.axis.carrier_hz * r / speed_of_light;
    return std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
}

//! What a perfectly compressed, endless line holds at range r: a sum of sinc pulses.
inline complex echo(const setup& s, std::size_t pulse, double r)
{
    complex sum = 0;
    for (const target& t : s.targets) {
        const double rt = measured_range(s, pulse, t.position);
        sum += t.amplitude * sinc(2 * s.axis.bandwidth_hz * (r - rt) / speed_of_light) *
               std::conj(phasor(s, rt));
    }
    return sum;
}

inline std::vector<cf32> lines_of(const setup& s)
{
    std::vector<cf32> lines;
    lines.reserve(s.tx.size() * s.axis.samples);
    for (std::size_t n = 0; n < s.tx.size(); ++n)
        for (int m = 0; m < s.axis.samples; ++m) {
            const complex v = echo(s, n, s.axis.first_m + m * s.axis.spacing_m);
            lines.push_back(
                { static_cast<float>(v.real()), static_cast<float>(v.imag()) });
        }
    return lines;
}

using image = std::vector<complex>;

//! The image that exact interpolation of endless lines would give.
inline image direct_image(const setup& s, const image_grid& g)
{
    image out;
    for (int i = 0; i < g->rows; ++i)
        for (int j = 0; j < g->cols; ++j) {
            complex sum = 0;
            for (std::size_t n = 0; n < s.tx.size(); ++n) {
                const double r = measured_range(s, n, g.position(i, j));
                sum += echo(s, n, r) * phasor(s, r);
            }
            out.push_back(sum / static_cast<double>(s.tx.size()));
        }
    return out;
}

//! Back-projection of given lines as its definition says, in double, with the weights
//! computed rather than looked up. Pulses \p first .. + \p count.
inline image reference_image(const setup& s,
                             const image_grid& g,
                             const std::vector<cf32>& lines,
                             interpolation how,
                             std::size_t first,
                             std::size_t count)
{
    const int n = s.axis.samples;
    const int taps = taps_of(how);
    const double beta = sinc_kaiser_beta(taps, s.axis.occupied_band());
    image out;
    for (int i = 0; i < g->rows; ++i)
        for (int j = 0; j < g->cols; ++j) {
            complex sum = 0;
            for (std::size_t k = first; k < first + count; ++k) {
                const double r = measured_range(s, k, g.position(i, j));
                const double x = (r - s.axis.first_m) / s.axis.spacing_m;
                if (!(x >= 0 && x <= n - 1))
                    continue;
                const auto at = [&](int m) {
                    const cf32 v = m >= 0 && m < n ? lines[k * n + m] : cf32{ 0, 0 };
                    return complex(v.re, v.im);
                };
                const int bin = static_cast<int>(std::floor(x));
                complex value = 0;
                if (how == interpolation::nearest)
                    value = at(static_cast<int>(std::floor(x + 0.5)));
                else if (how == interpolation::linear)
                    value = (1 - (x - bin)) * at(bin) + (x - bin) * at(bin + 1);
                else
                    for (int t = bin - taps / 2 + 1; t <= bin + taps / 2; ++t)
                        value += sinc_weight(x - t, taps, beta) * at(t);
                sum += value * phasor(s, r);
            }
            out.push_back(sum / static_cast<double>(count));
        }
    return out;
}

inline image widen(const std::vector<cf32>& v)
{
    image out;
    for (const cf32 x : v)
        out.emplace_back(x.re, x.im);
    return out;
}

//! Energy of the difference over energy of the reference, dB.
inline double error_db(const image& a, const image& reference)
{
    double difference = 0;
    double energy = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        difference += std::norm(a.at(i) - reference[i]);
        energy += std::norm(reference[i]);
    }
    return 10 * std::log10(difference / energy + 1e-30);
}

//! X band, 500 MHz, range 10 km, 0.3 m in range and azimuth, 32 degrees of depression.
//! \p side +1: antenna south of the scene looking north (left of a track to the east is
//! north), -1: mirrored. \p squint in degrees.
struct spotlight_options {
    int pulses = 256;
    double side = 1;
    double squint_deg = 0;
    int oversampling = 4;
    double swath_m = 120;
    double range_m = 10e3;
    vec3 shift = { 0, 0, 0 };
};

inline setup spotlight(const spotlight_options& o = {})
{
    setup s;
    const double bandwidth = 500e6;
    s.axis.carrier_hz = 9.6e9;
    s.axis.bandwidth_hz = bandwidth;
    s.axis.spacing_m = speed_of_light / (2 * 1.25 * bandwidth) / o.oversampling;
    s.axis.samples = static_cast<int>(o.swath_m / s.axis.spacing_m);
    s.axis.first_m = o.range_m - o.swath_m / 2;
    const double wavelength = speed_of_light / s.axis.carrier_hz;
    const double cell = speed_of_light / (2 * bandwidth);
    const double angle = wavelength / (2 * cell); // of the aperture
    const double depression = 32 * pi / 180;
    for (int n = 0; n < o.pulses; ++n) {
        const double a =
            (n / std::max(o.pulses - 1.0, 1.0) - 0.5) * angle + o.squint_deg * pi / 180;
        // a straight track to the east: the slant range changes along it
        const double ground = o.range_m * std::cos(depression);
        const double middle = o.squint_deg * pi / 180;
        const double near = ground * std::cos(middle);
        s.tx.push_back(
            vec3{ near * std::tan(a), -o.side * near, o.range_m * std::sin(depression) } +
            o.shift);
    }
    // the middle of the line at the range of the scene's centre
    s.axis.first_m = length(s.tx[o.pulses / 2] - o.shift) - o.swath_m / 2;
    return s;
}

inline std::vector<cf32>
run(bp_accumulator& b, const setup& s, const std::vector<cf32>& lines)
{
    b.add(lines.data(),
          s.tx.data(),
          s.rx.empty() ? nullptr : s.rx.data(),
          static_cast<int>(s.tx.size()));
    std::vector<cf32> out(static_cast<std::size_t>(b.params().grid->rows) *
                          b.params().grid->cols);
    b.write_rows(out.data(), 0, b.params().grid->rows);
    return out;
}

inline bp_accumulator_params params_of(const setup& s,
                                       const image_grid& g,
                                       interpolation how = interpolation::sinc16,
                                       accuracy_mode accuracy = accuracy_mode::exact)
{
    bp_accumulator_params p{ s.axis, g };
    p.interpolator = how;
    p.accuracy = accuracy;
    p.bistatic = !s.rx.empty();
    return p;
}

} // namespace bp_test
