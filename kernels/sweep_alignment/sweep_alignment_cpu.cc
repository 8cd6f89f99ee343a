// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "sweep_alignment.h"
#include "sweep_alignment_math.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

// -70 dB of error, and no noise to speak of
constexpr double ridge = 1e-7;
// an image is not worth having beyond that
constexpr double worst_error_db = -30;

} // namespace

sweep_alignment::sweep_alignment(const sweep_alignment_params& params)
    : d_samples(params.acq->samples),
      d_taps(params.taps),
      d_step(params.acq->sweep == sweep_shape::triangle ? 2 : 1)
{
    const acquisition& acq = params.acq;
    const bool triangle = d_step == 2;
    require(acq->wave == waveform::fmcw,
            "waveform of acq is ",
            to_string(acq->wave),
            "; expected fmcw: the samples of other lines are taken at one instant, or as "
            "good as");
    require(d_taps >= 2 && d_taps <= 256,
            "taps is ",
            d_taps,
            "; expected 2 to 256 lines that a line is made of");
    require(std::isfinite(params.doppler_band_hz) && params.doppler_band_hz >= 0 &&
                params.doppler_band_hz < acq->prf_hz / d_step,
            "doppler_band_hz is ",
            params.doppler_band_hz,
            " Hz; expected less than ",
            triangle ? "half the PRF, since ways out and back are taken apart, "
                     : "the PRF, ",
            acq->prf_hz / d_step,
            " Hz, or 0: 0.8 of that");
    require(std::isfinite(params.instant_s) && params.instant_s >= 0 &&
                params.instant_s <= 1 / acq->prf_hz,
            "instant_s is ",
            params.instant_s,
            " s; expected 0 to the interval between lines, ",
            1 / acq->prf_hz,
            " s");
    d_band_hz =
        params.doppler_band_hz > 0 ? params.doppler_band_hz : 0.8 * acq->prf_hz / d_step;
    const double band = d_band_hz / acq->prf_hz;
    const double u = params.instant_s * acq->prf_hz;
    const auto sample_time = [&](bool way_back, double k) {
        return acq->prf_hz *
               (acq.sweep_start_s(way_back) + k * acq.sweep_step_s(way_back));
    };
    // the middle of a way out and of a way back lie at either side of half an interval
    const double middle =
        triangle ? 0.5 : (sample_time(false, 0) + sample_time(false, d_samples - 1)) / 2;
    d_before =
        std::clamp(-static_cast<int>(std::ceil((u - middle) / d_step - d_taps / 2.0)),
                   0,
                   d_taps - 1);

    // lines hold all ranges yet, so one centroid must do: that of the middle
    const double swath_m = acq.compressed_axis(1).spacing_m * d_samples;
    const double centroid = polynomial(acq.centroid_coefficients(), swath_m / 2) *
                            (acq->phase_sign < 0 ? 1 : -1) / acq->prf_hz;
    d_weights.resize(static_cast<std::size_t>(d_step) * d_taps * d_samples);
    // weights are a smooth function of the time within the sweep: between 1025 of them
    // straight lines are good to 1e-6
    const int nodes = std::min(d_samples, 1025);
    const double step = nodes > 1 ? (d_samples - 1.0) / (nodes - 1) : 1.0;
    std::vector<double> t(d_taps);
    const auto tap_times = [&](int way, double k) {
        for (int j = 0; j < d_taps; ++j)
            t[j] = d_step * (j - d_before) + sample_time(way == 1, k);
    };
    double worst = 0;
    for (int way = 0; way < d_step; ++way) {
        std::vector<std::vector<double>> at;
        for (int node = 0; node < nodes; ++node) {
            tap_times(way, node * step);
            at.push_back(alignment_weights(t, u, band, ridge));
            if (node != nodes - 1 && node % std::max(1, nodes / 64) != 0)
                continue;
            for (int i = 0; i <= 64; ++i)
                worst = std::max(
                    worst, alignment_error(at.back(), t, u, band * (i / 64.0 - 0.5)));
        }
        for (int k = 0; k < d_samples; ++k) {
            tap_times(way, k);
            const int node = std::min(static_cast<int>(k / step), std::max(0, nodes - 2));
            const double part = k / step - node;
            const std::vector<double>& next = at[std::min(node + 1, nodes - 1)];
            // Doppler frequencies go with the radio frequency
            const double f = centroid *
                             (acq.first_frequency_hz() + k * acq.frequency_step_hz()) /
                             acq.centre_frequency_hz();
            double gain = 0;
            for (int j = 0; j < d_taps; ++j) {
                const double turns = -f * (t[j] - u);
                const double w = (1 - part) * at[node][j] + part * next[j];
                const auto v = std::polar(w, 2 * pi * (turns - std::rint(turns)));
                d_weights[(static_cast<std::size_t>(way) * d_taps + j) * d_samples +
                          k] = { static_cast<float>(v.real()),
                                 static_cast<float>(v.imag()) };
                gain += w * w;
            }
            d_noise_gain = std::max(d_noise_gain, gain);
        }
    }
    d_error_bound_db = 20 * std::log10(worst);
    require(d_error_bound_db <= worst_error_db,
            "doppler_band_hz is ",
            d_band_hz,
            " Hz with taps ",
            d_taps,
            ", which leaves an error of ",
            d_error_bound_db,
            " dB; expected at most ",
            worst_error_db,
            " dB: a narrower band, or more taps");
}

void sweep_alignment::line(std::int64_t number, const cf32* const* lines, cf32* out) const
{
    const std::size_t way = d_step == 2 ? number & 1 : 0;
    std::fill_n(out, d_samples, cf32{ 0, 0 });
    for (int j = 0; j < d_taps; ++j) {
        const cf32* x = lines[j * d_step];
        if (!x)
            continue;
        const cf32* w = d_weights.data() + (way * d_taps + j) * d_samples;
        for (int k = 0; k < d_samples; ++k)
            out[k] = out[k] + w[k] * x[k];
    }
}

} // namespace kernel
} // namespace sar
} // namespace gr
