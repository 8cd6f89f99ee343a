// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "point_target_source.h"
#include "point_target_source_math.h"
#include <algorithm>
#include <cmath>

namespace gr {
namespace sar {

void require_finite(const std::vector<point_target>& targets)
{
    for (std::size_t k = 0; k < targets.size(); ++k) {
        const point_target& t = targets[k];
        require(is_finite(t.position_m) && std::isfinite(t.amplitude.real()) &&
                    std::isfinite(t.amplitude.imag()),
                "targets[",
                k,
                "] is not finite; expected x, y, z in metres and an amplitude");
    }
}

namespace {

echo_model model_of(const acquisition& a)
{
    echo_model m{};
    m.samples = a->samples;
    m.carrier_hz = a->carrier_hz;
    if (a.in_frequency_domain()) {
        m.carrier_hz = a.first_frequency_hz();
        m.step_hz = a.frequency_step_hz();
        m.sign = a->phase_sign;
        m.residual_video_hz_per_s =
            a->wave == waveform::fmcw ? a->chirp_rate_hz_per_s : 0.0;
    } else {
        m.first_m = a->slant_range_first_m;
        m.spacing_m = speed_of_light / (2 * a->sample_rate_hz);
        m.sample_period_s = 1 / a->sample_rate_hz;
        m.pulse_length_s = a->pulse_length_s;
        m.chirp_rate_hz_per_s = a->chirp_rate_hz_per_s;
        m.reference_s =
            a->pulse_ref == pulse_reference::start ? 0 : a->pulse_length_s / 2;
    }
    return m;
}

class source final : public kernel::point_target_source
{
public:
    explicit source(const point_target_source_params& p)
        : d_params(p), d_model(model_of(p.acq))
    {
        require(p.acq->wave != waveform::replica,
                "waveform of acq is replica; expected pulsed_lfm, fmcw or "
                "frequency_domain: the source does not know the samples of the pulse");
        require(p.pulses >= 1, "pulses is ", p.pulses, "; expected 1 or more");
        require(std::isfinite(p.noise_power) && p.noise_power >= 0,
                "noise_power is ",
                p.noise_power,
                "; expected 0 (no noise) or more");
        require(
            std::isfinite(p.start_s), "start_s is ", p.start_s, " s; expected a time");
        require_finite(p.targets);
        require(p.beam_rad >= 0 && p.beam_rad <= pi,
                "beam_rad is ",
                p.beam_rad,
                " rad; expected 0 (the antenna sees everything) to pi");
        require(std::abs(p.beam_squint_rad) < pi / 2,
                "beam_squint_rad is ",
                p.beam_squint_rad,
                " rad; expected an angle from broadside, more than -pi / 2 and less than "
                "pi / 2");
        require(!p.sweep_motion || p.acq->wave == waveform::fmcw,
                "sweep_motion is true with the waveform ",
                to_string(p.acq->wave),
                "; expected fmcw, or false: pulses are taken as short");
        // with motion during a sweep the track reaches to the end of the last one
        d_positions =
            p.track.positions(p.start_s, p.acq->prf_hz, p.pulses + p.sweep_motion);
        d_positions.resize(p.pulses);
        if (p.beam_rad > 0)
            for (int pulse = 0; pulse < p.pulses; ++pulse)
                d_flight.push_back(flight_at(pulse));
    }

    int samples() const override { return d_model.samples; }
    int pulses() const override { return d_params.pulses; }
    vec3 position(int pulse) const override { return d_positions.at(pulse); }

    void line(int pulse, cf32* out) const override
    {
        const vec3 antenna = d_positions.at(pulse);
        const bool over_frequency = d_params.acq.in_frequency_domain();
        const bool way_back = d_params.acq->sweep == sweep_shape::triangle && (pulse & 1);
        const std::vector<vec3> antennas = d_params.sweep_motion
                                               ? antennas_during(pulse, way_back)
                                               : std::vector<vec3>{ antenna };
        std::vector<cf64> sum(d_model.samples, cf64{ 0, 0 });
        for (const point_target& t : d_params.targets) {
            if (!d_flight.empty() && !in_beam(t.position_m,
                                              antenna,
                                              d_flight.at(pulse),
                                              d_params.beam_rad,
                                              d_params.beam_squint_rad))
                continue;
            const cf64 a = { t.amplitude.real(), t.amplitude.imag() };
            if (over_frequency)
                add_over_frequency(t.position_m, antennas, way_back, a, sum);
            else
                add_pulse(measured_range_m(t.position_m, antenna), a, sum);
        }
        add_noise(pulse, sum);
        for (int n = 0; n < d_model.samples; ++n)
            out[n] = { static_cast<float>(sum[n].re), static_cast<float>(sum[n].im) };
    }

private:
    // Movement of the antenna around a pulse, half an interval to either side where the
    // track reaches that far.
    vec3 flight_at(int pulse) const
    {
        const trajectory& track = d_params.track;
        const double t = d_params.start_s + pulse / d_params.acq->prf_hz;
        const double half = 0.5 / d_params.acq->prf_hz;
        const vec3 v = track.position(std::min(t + half, track.last_s())) -
                       track.position(std::max(t - half, track.first_s()));
        require(length(v) > 0,
                "track stands still at pulse ",
                pulse,
                "; with a beam, beam_rad ",
                d_params.beam_rad,
                ", expected a direction of flight");
        return v;
    }

    double measured_range_m(vec3 target, vec3 antenna) const
    {
        double range_m = length(target - antenna) + d_params.acq->range_bias_m;
        if (d_params.acq->range_from == range_reference::point)
            range_m -= length(d_params.acq->reference_point_m - antenna);
        return range_m;
    }

    //! Where the antenna is at each sample of a sweep.
    std::vector<vec3> antennas_during(int pulse, bool way_back) const
    {
        const acquisition& acq = d_params.acq;
        const double begin_s =
            d_params.start_s + pulse / acq->prf_hz + acq.sweep_start_s(way_back);
        std::vector<vec3> at;
        for (int n = 0; n < d_model.samples; ++n)
            at.push_back(
                d_params.track.position(begin_s + n * acq.sweep_step_s(way_back)));
        return at;
    }

    static void add(cf64& sum, cf64 a)
    {
        sum.re += a.re;
        sum.im += a.im;
    }

    void add_pulse(double range_m, cf64 amplitude, std::vector<cf64>& sum) const
    {
        const double at = echo_sample(d_model, range_m);
        const cf64 a = times(amplitude, unit_phasor64(carrier_cycles(d_model, range_m)));
        int first, last;
        pulse_support(d_model, at, first, last);
        for (int n = first; n <= last; ++n) {
            const double t_s = (n - at) * d_model.sample_period_s;
            add(sum[n], times(a, unit_phasor64(pulse_cycles(d_model, t_s))));
        }
    }

    //! \p antennas one, or one a sample
    void add_over_frequency(vec3 target,
                            const std::vector<vec3>& antennas,
                            bool way_back,
                            cf64 a,
                            std::vector<cf64>& sum) const
    {
        double range_m = measured_range_m(target, antennas[0]);
        for (int n = 0; n < d_model.samples; ++n) {
            if (antennas.size() > 1)
                range_m = measured_range_m(target, antennas[n]);
            const double cycles = frequency_cycles(d_model, n, range_m, way_back);
            add(sum[n], times(a, unit_phasor64(cycles)));
        }
    }

    void add_noise(int pulse, std::vector<cf64>& sum) const
    {
        if (d_params.noise_power == 0)
            return;
        const double scale = std::sqrt(d_params.noise_power);
        for (int n = 0; n < d_model.samples; n += 2) {
            cf64 even, odd;
            noise_pair(n / 2, pulse, d_params.seed, even, odd);
            add(sum[n], { scale * even.re, scale * even.im });
            if (n + 1 < d_model.samples)
                add(sum[n + 1], { scale * odd.re, scale * odd.im });
        }
    }

    const point_target_source_params d_params;
    const echo_model d_model;
    std::vector<vec3> d_positions;
    std::vector<vec3> d_flight; // direction at each pulse; empty: no beam
};

} // namespace

std::unique_ptr<kernel::point_target_source>
kernel::point_target_source::make(const point_target_source_params& params)
{
    return std::make_unique<source>(params);
}

void simulate(const point_target_source_params& params, cf32* lines, vec3* positions)
{
    const auto s = kernel::point_target_source::make(params);
    const std::size_t samples = s->samples();
    parallel_for(s->pulses(), [&](int pulse, int) {
        s->line(pulse, lines + pulse * samples);
        positions[pulse] = s->position(pulse);
    });
}

} // namespace sar
} // namespace gr
