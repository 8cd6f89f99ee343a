// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of the imager share: a recording, a point in it, and the chain of
// stages.

#include "../azimuth_fft/azimuth_fft.h"
#include "../azimuth_filter/azimuth_filter.h"
#include "../core/qa_tools.h"
#include "../pulse_compression/pulse_compression.h"
#include "range_doppler_imager.h"
#include <cmath>
#include <complex>
#include <random>
#include <string>

namespace gr {
namespace sar {
namespace kernel {

struct imager_scene {
    acquisition_fields fields;
    int lines;

    //! X band from 3 km; \p kind "pulsed" or "fx"
    imager_scene(int samples,
                 int frame_lines,
                 double centroid_prf,
                 const std::string& kind)
        : lines(frame_lines)
    {
        fields.samples = samples;
        fields.prf_hz = 250;
        fields.slant_range_first_m = 3000;
        fields.effective_velocity_m_s = 60;
        fields.doppler_centroid_hz = centroid_prf * fields.prf_hz;
        if (kind == "fx") {
            fields.wave = waveform::frequency_domain;
            fields.carrier_hz = 9.6e9 - 40e6;
            fields.frequency_step_hz = 80e6 / samples;
        } else {
            fields.carrier_hz = 9.6e9;
            fields.sample_rate_hz = 100e6;
            fields.pulse_length_s = 1e-6;
            fields.chirp_rate_hz_per_s = 80e12;
        }
    }

    range_doppler_imager_params params(int oversampling) const
    {
        return { { acquisition(fields), oversampling, lines },
                 {},
                 {},
                 migration_interpolation::exact,
                 true,
                 {} };
    }

    std::vector<cf32> noise(int count = 0) const
    {
        std::mt19937 random(5);
        std::normal_distribution<float> normal;
        std::vector<cf32> v(static_cast<std::size_t>(count ? count : lines) *
                            fields.samples);
        for (cf32& x : v)
            x = { normal(random), normal(random) };
        return v;
    }

    //! Raw echoes of a unit point on a straight line, seen while its Doppler is within
    //! the band around the centroid. Pulsed only; range bias included.
    std::vector<cf32> point(double closest_m, double passed_s, double band_hz) const
    {
        const acquisition acq(fields);
        std::vector<cf32> v(static_cast<std::size_t>(lines) * fields.samples,
                            cf32{ 0, 0 });
        const double velocity = fields.effective_velocity_m_s;
        for (int m = 0; m < lines; ++m) {
            const double t = m / fields.prf_hz - passed_s;
            const double r = std::hypot(closest_m, velocity * t);
            const double doppler =
                -2 * fields.carrier_hz / speed_of_light * velocity * velocity * t / r;
            if (std::abs(doppler - fields.doppler_centroid_hz) > band_hz / 2)
                continue;
            const double measured = r + fields.range_bias_m;
            for (int n = 0; n < fields.samples; ++n) {
                const double delay =
                    2 / speed_of_light * (fields.slant_range_first_m - measured) +
                    n / fields.sample_rate_hz;
                if (delay < 0 || delay >= fields.pulse_length_s)
                    continue;
                const double cycles = lfm_cycles(delay,
                                                 fields.pulse_length_s / 2,
                                                 fields.chirp_rate_hz_per_s) -
                                      2 * fields.carrier_hz * measured / speed_of_light;
                const std::complex<double> e =
                    std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
                v[static_cast<std::size_t>(m) * fields.samples + n] = {
                    static_cast<float>(e.real()), static_cast<float>(e.imag())
                };
            }
        }
        return v;
    }
};

//! A whole frame through an imager, in pieces.
inline std::vector<cf32>
form_image(frame_imager& s, const std::vector<cf32>& raw, int lines, int looks = 1)
{
    const int samples = static_cast<int>(raw.size() / lines);
    for (int m = 0, n = 1; m < lines; m += n, n = std::min(2 * n, lines - m))
        s.take(raw.data() + static_cast<std::size_t>(m) * samples, m, n);
    s.form(lines);
    const range_doppler_frame& f = s.plan().frame();
    const int rows = f.rows * looks;
    std::vector<cf32> image(static_cast<std::size_t>(rows) * f.cols);
    s.give(image.data(), 0, rows / 3);
    s.give(image.data() + static_cast<std::size_t>(rows / 3) * f.cols,
           rows / 3,
           rows - rows / 3);
    return image;
}

inline std::vector<cf32> form_fused(const range_doppler_imager_params& p,
                                    const std::vector<cf32>& raw,
                                    const compute_target& cpu)
{
    return form_image(
        *range_doppler_imager::make(p, cpu), raw, p.geometry.lines, p.band.looks);
}

//! The same by stages, one after another.
inline std::vector<cf32> form_by_stages(const frame_imager_params& p,
                                        row_migration& migration,
                                        const std::vector<cf32>& raw,
                                        const compute_target& cpu)
{
    const int lines = p.geometry.lines;
    const auto filter = azimuth_filter::make({ p.geometry, p.band }, cpu);
    const range_doppler_frame& f = filter->plan().frame();
    const auto compression = pulse_compression::make(
        { p.geometry.acq, p.geometry.oversampling, p.range_window, p.replica }, cpu);
    std::vector<cf32> compressed(static_cast<std::size_t>(lines) * f.cols);
    compression->process(raw.data(), compressed.data(), lines);
    const auto fft = azimuth_fft::make({ lines, f.rows, f.cols }, cpu);
    fft->take(compressed.data(), 0, lines);
    fft->transform(lines);
    std::vector<cf32> rows(static_cast<std::size_t>(f.rows) * f.cols);
    fft->give(rows.data(), 0, f.rows);
    std::vector<cf32> straight(rows.size());
    migration.process(rows.data(), straight.data(), 0, f.rows);
    filter->take(straight.data(), 0, f.rows);
    filter->transform();
    std::vector<cf32> image(rows.size() * p.band.looks);
    filter->give(image.data(), 0, f.rows * p.band.looks);
    return image;
}

inline std::vector<cf32> form_by_stages(const range_doppler_imager_params& p,
                                        const std::vector<cf32>& raw,
                                        const compute_target& cpu)
{
    const auto migration = rcmc::make({ p.geometry, p.interpolator, p.src }, cpu);
    return form_by_stages(
        { p.geometry, p.range_window, p.replica, p.band }, *migration, raw, cpu);
}

} // namespace kernel
} // namespace sar
} // namespace gr
