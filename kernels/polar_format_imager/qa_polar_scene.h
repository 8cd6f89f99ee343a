// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of polar_format_imager share: apertures, raw lines of points, and slow
// sums in double.

#include "../core/constants.h"
#include "../core/qa_tools.h"
#include "polar_format_imager.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

namespace polar_test {

using namespace gr::sar;
using namespace gr::sar::kernel;
using complex = std::complex<double>;

struct target {
    vec3 position;
    complex amplitude = 1;
};

struct aperture {
    acquisition_fields fields;
    std::vector<vec3> tx;
    std::vector<vec3> rx; // empty: one antenna
    std::vector<target> targets;

    int pulses() const { return static_cast<int>(tx.size()); }

    //! What the instrument measures of a point, m.
    double range(int n, vec3 p) const
    {
        const vec3 a = tx[n];
        const vec3 b = rx.empty() ? a : rx[n];
        double r = 0.5 * (length(p - a) + length(p - b)) + fields.range_bias_m;
        if (fields.range_from == range_reference::point)
            r -= 0.5 * (length(fields.reference_point_m - a) +
                        length(fields.reference_point_m - b));
        return r;
    }
};

inline complex turn(double cycles)
{
    return std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
}

//! Raw lines of the targets, whatever the waveform.
inline std::vector<cf32> raw_lines(const aperture& a)
{
    const acquisition acq(a.fields);
    const acquisition_fields& f = a.fields;
    std::vector<cf32> out;
    out.reserve(static_cast<std::size_t>(a.pulses()) * f.samples);
    for (int n = 0; n < a.pulses(); ++n)
        for (int k = 0; k < f.samples; ++k) {
            complex sum = 0;
            for (const target& t : a.targets) {
                const double r = a.range(n, t.position);
                const double delay = 2 * r / speed_of_light;
                if (f.wave == waveform::pulsed_lfm) {
                    const double at =
                        2 * f.slant_range_first_m / speed_of_light +
                        k / f.sample_rate_hz - delay -
                        (f.pulse_ref == pulse_reference::start ? f.pulse_length_s / 2
                                                               : 0.0);
                    if (std::abs(at) <= f.pulse_length_s / 2)
                        sum += t.amplitude * turn(0.5 * f.chirp_rate_hz_per_s * at * at -
                                                  f.carrier_hz * delay);
                } else {
                    double cycles = (f.carrier_hz + k * acq.frequency_step_hz()) * delay;
                    if (f.wave == waveform::fmcw)
                        cycles -= 0.5 * f.chirp_rate_hz_per_s * delay * delay;
                    sum += f.phase_sign > 0
                               ? std::conj(std::conj(t.amplitude) * turn(-cycles))
                               : t.amplitude * turn(-cycles);
                }
            }
            out.push_back(
                { static_cast<float>(sum.real()), static_cast<float>(sum.imag()) });
        }
    return out;
}

using image = std::vector<complex>;

/*!
 * \brief Frequency-domain lines summed as the definition says, in double.
 * \param plane true: with plane waves around the middle of the grid; false:
 *        back-projection
 */
inline image direct_sum(const aperture& a,
                        const image_grid& g,
                        const std::vector<cf32>& raw,
                        bool plane,
                        const window& range_window = {},
                        const window& azimuth_window = {})
{
    const acquisition acq(a.fields);
    const int samples = a.fields.samples;
    const std::vector<double> w = range_window.samples(samples);
    const std::vector<double> v = azimuth_window.samples(a.pulses());
    double total = 0;
    for (const double x : w)
        for (const double y : v)
            total += x * y;
    const vec3 middle = g.position(0.5 * (g->rows - 1), 0.5 * (g->cols - 1));
    const double k0 = 2 * a.fields.carrier_hz / speed_of_light;
    const double dk = 2 * acq.frequency_step_hz() / speed_of_light;
    image out(static_cast<std::size_t>(g->rows) * g->cols);
    for (int n = 0; n < a.pulses(); ++n) {
        const double r0 = a.range(n, middle);
        const vec3 tx = middle - a.tx[n];
        const vec3 rx = middle - (a.rx.empty() ? a.tx[n] : a.rx[n]);
        const vec3 gradient = 0.5 / length(tx) * tx + 0.5 / length(rx) * rx;
        for (int i = 0; i < g->rows; ++i)
            for (int j = 0; j < g->cols; ++j) {
                const vec3 p = g.position(i, j);
                const double r = plane ? r0 + dot(gradient, p - middle) : a.range(n, p);
                complex z = turn(k0 * r);
                const complex step = turn(dk * r);
                complex sum = 0;
                for (int k = 0; k < samples; ++k, z *= step) {
                    const cf32 x = raw[static_cast<std::size_t>(n) * samples + k];
                    sum +=
                        w[k] * z * complex(x.re, a.fields.phase_sign > 0 ? -x.im : x.im);
                }
                out[static_cast<std::size_t>(i) * g->cols + j] += v[n] / total * sum;
            }
    }
    return out;
}

inline double error_db(const std::vector<cf32>& a, const image& reference)
{
    double error = 0;
    double energy = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        error += std::norm(complex(a[i].re, a[i].im) - reference[i]);
        energy += std::norm(reference[i]);
    }
    return 10 * std::log10(error / energy + 1e-30);
}

inline std::vector<cf32>
form(polar_format_imager& imager, const aperture& a, const std::vector<cf32>& raw)
{
    imager.add(raw.data(), a.tx.data(), a.rx.empty() ? nullptr : a.rx.data(), a.pulses());
    const image_grid& g = imager.params().grid;
    std::vector<cf32> out(static_cast<std::size_t>(g->rows) * g->cols);
    imager.write_rows(out.data(), 0, g->rows);
    return out;
}

inline polar_format_imager_params
params_of(const aperture& a,
          const image_grid& g,
          curvature_mode curvature = curvature_mode::correct)
{
    polar_format_imager_params p{ acquisition(a.fields), g, a.pulses() };
    p.curvature = curvature;
    p.bistatic = !a.rx.empty();
    return p;
}

struct spotlight_options {
    double carrier_hz = 9.6e9;
    double bandwidth_hz = 600e6;
    double range_m = 10e3;
    double resolution_m = 0.25; //!< across
    double depression_deg = 40;
    double squint_deg = 0;
    int samples = 300;
    int pulses = 240;
    double side = 1; //!< +1: antenna south of the scene, flying east
    vec3 shift = { 0, 0, 0 };
};

//! A straight track past a scene at the origin; frequency-domain lines, compensated to
//! the origin.
inline aperture spotlight(const spotlight_options& o = {})
{
    aperture a;
    acquisition_fields& f = a.fields;
    f.wave = waveform::frequency_domain;
    f.samples = o.samples;
    f.prf_hz = 1000;
    f.frequency_step_hz = o.bandwidth_hz / o.samples;
    f.carrier_hz = o.carrier_hz - o.bandwidth_hz / 2;
    f.range_from = range_reference::point;
    f.reference_point_m = o.shift;
    f.slant_range_first_m = -speed_of_light / (4 * f.frequency_step_hz);
    const double wavelength = speed_of_light / o.carrier_hz;
    const double angle = wavelength / (2 * o.resolution_m);
    const double depression = o.depression_deg * pi / 180;
    const double squint = o.squint_deg * pi / 180;
    // in the slant plane: closest range, and the place along the track of each pulse
    const double closest = o.range_m * std::cos(squint);
    const double height = closest * std::sin(depression);
    const double ground = closest * std::cos(depression);
    for (int n = 0; n < o.pulses; ++n) {
        const double at = squint + angle * (n / std::max(o.pulses - 1.0, 1.0) - 0.5);
        a.tx.push_back(vec3{ -closest * std::tan(at), -o.side * ground, height } +
                       o.shift);
    }
    return a;
}

} // namespace polar_test
