// SPDX-License-Identifier: GPL-3.0-or-later
// Names, settings, status; the rest is in framer_*.cc.

#include "../core/constants.h"
#include "../core/interpolator.h"
#include "../core/names.h"
#include "framer.h"

namespace gr {
namespace sar {

namespace {

const name_table<framer_alignment, 6> alignments = {
    "alignment",
    { { { framer_alignment::automatic, "auto" },
        { framer_alignment::scheduled, "scheduled" },
        { framer_alignment::trigger, "trigger" },
        { framer_alignment::reference, "reference" },
        { framer_alignment::leakage, "leakage" },
        { framer_alignment::burst, "burst" } } }
};
const name_table<hole_fill, 3> fills = { "fill",
                                         { { { hole_fill::zeros, "zeros" },
                                             { hole_fill::hold, "hold" },
                                             { hole_fill::skip, "skip" } } } };
const name_table<framer_correction, 4> corrections = {
    "correct",
    { { { framer_correction::none, "none" },
        { framer_correction::delay, "delay" },
        { framer_correction::delay_phase, "delay_phase" },
        { framer_correction::full, "full" } } }
};
const name_table<trigger_edge, 3> edge_names = { "edge",
                                                 { { { trigger_edge::rising, "rising" },
                                                     { trigger_edge::falling, "falling" },
                                                     { trigger_edge::both, "both" } } } };

} // namespace

namespace framing {

namespace {

constexpr int trend_memory = 32;

} // namespace

namespace {

//! Time-bandwidth product from which on the image of a receiver is taken off well.
constexpr double enough_for_image = 100;

//! Of w, by the side lobes that a pulse has before it; docs/blocks/pulse_framer.md has
//! what was measured at 50, 100 and more.
double image_error_db(double product) { return -45 + 11 * std::log2(100 / product); }

} // namespace

framer::framer(const pulse_framer_params& params)
    : d_p(params),
      d_fs(params.acq->sample_rate_hz),
      d_pri(params.pri_samples != 0 ? params.pri_samples
                                    : params.acq->sample_rate_hz / params.acq->prf_hz),
      d_samples(params.acq->samples),
      d_code(params.code),
      d_host(params.acq->sample_rate_hz)
{
    check();
    const acquisition& acq = d_p.acq;
    const bool over_delay = !acq.in_frequency_domain();
    const double pulse_s = acq->wave == waveform::pulsed_lfm
                               ? acq->pulse_length_s
                               : static_cast<double>(d_p.replica.size() / 2) * 2 / d_fs;
    d_start_offset = d_fs * (d_p.line_offset_s + acq->gate_start_s);
    if (over_delay) {
        d_start_offset += d_fs * 2 * acq->slant_range_first_m / speed_of_light;
        if (acq->pulse_ref == pulse_reference::centre)
            d_start_offset += d_fs * pulse_s / 2;
    }
    const double band = over_delay ? std::min(0.95, acq.bandwidth_hz() / d_fs)
                                   : 0.8; // a beat has no band
    d_taps = std::clamp(2 * static_cast<int>(std::ceil(2.6 / (1 - band))), 32, 128);
    d_beta = sinc_kaiser_beta(d_taps, band);

    const bool has_replica =
        over_delay ? acq->wave == waveform::pulsed_lfm || !d_p.replica.empty()
                   : !d_p.replica.empty();
    const double cell = over_delay && acq.bandwidth_hz() > 0
                            ? std::max(1.0, d_fs / acq.bandwidth_hz())
                            : 1.0;
    std::vector<cf32> pulse;
    if (has_replica)
        pulse = d_p.replica.empty() ? transmitted_pulse(acq) : d_p.replica;
    const bool wants =
        d_p.alignment == framer_alignment::reference ||
        d_p.alignment == framer_alignment::leakage ||
        d_p.correct != framer_correction::none || d_p.reference_input ||
        (d_p.alignment == framer_alignment::automatic && !d_p.trigger_input);
    if (wants) {
        require(has_replica || d_p.alignment == framer_alignment::automatic,
                "replica is empty; expected the samples of the transmitted pulse, since "
                "the waveform is ",
                to_string(acq->wave),
                " and pulses are to be found in the samples (alignment ",
                to_string(d_p.alignment),
                ", correct ",
                to_string(d_p.correct),
                ")");
        if (has_replica) {
            const int m = static_cast<int>(pulse.size());
            require(m <= d_pri,
                    "the pulse has ",
                    m,
                    " samples; expected at most the interval between pulses, ",
                    d_pri);
            d_arrival = std::make_unique<pulse_arrival>(
                pulse,
                static_cast<int>(std::ceil(d_pri)) + m + 4 * guard + 64,
                d_p.least_snr_db);
        }
    }
    if (d_p.remove_image) {
        require(has_replica,
                "remove_image is on, but the waveform ",
                to_string(acq->wave),
                " has no pulse before which the image stands; expected pulsed_lfm, or a "
                "replica");
        d_image_of = std::make_unique<image_estimate>(
            pulse, static_cast<int>(std::ceil(2 * cell)), d_pri);
        require(d_image_of->possible(),
                "remove_image is on, but the pulse or the interval is too short for it; "
                "expected a pulse of 32 samples or more");
        const double product = d_p.replica.empty()
                                   ? acq->pulse_length_s * acq.bandwidth_hz()
                                   : d_image_of->time_bandwidth();
        if (product < enough_for_image)
            d_warnings.push_back(sentence(
                "remove_image is on, and the time-bandwidth product of the pulse is ",
                std::lround(product),
                "; expected ",
                enough_for_image,
                " or more: what is taken off is wrong by about ",
                std::lround(image_error_db(product)),
                " dB, which an image weaker than that becomes. A longer pulse or one of "
                "more bandwidth helps, or remove_image off"));
    }
    const bool trigger = d_p.alignment == framer_alignment::trigger ||
                         (d_p.alignment == framer_alignment::automatic &&
                          d_p.trigger_input && !d_p.reference_input);
    d_tolerance = d_p.tolerance_samples > 0 ? d_p.tolerance_samples
                  : trigger                 ? std::max(2.0, 0.01 * d_pri)
                                            : 0.5 * cell;
    d_smoothing = d_p.smoothing > 0 ? d_p.smoothing : trigger ? 1 : trend_memory;
    d_delay.memory = d_smoothing > 1 ? d_smoothing : trend_memory;
    d_phase.memory = d_delay.memory;
    d_line.resize(d_samples);
    d_held.resize(d_samples);
}

void framer::check() const
{
    const acquisition& acq = d_p.acq;
    require(d_fs > 0,
            "sample_rate_hz of acq is ",
            d_fs,
            " Hz; expected the rate of the samples that come in");
    require(std::isfinite(d_pri) && d_pri >= 2 && d_pri <= 1 << 26,
            "the interval between pulses, pri_samples or sample_rate_hz / prf_hz, is ",
            d_pri,
            " samples; expected 2 to 2^26");
    const auto finite = [](const char* name, double v, const char* unit) {
        require(std::isfinite(v), name, " is ", v, " ", unit, "; expected a number");
    };
    finite("delay_s", d_p.delay_s, "s");
    finite("reference_delay_s", d_p.reference_delay_s, "s");
    finite("line_offset_s", d_p.line_offset_s, "s");
    finite("trigger_level", d_p.trigger_level, "");
    finite("frequency_shift_hz", d_p.frequency_shift_hz, "Hz");
    const auto least = [](const char* name, double v, double lowest, const char* what) {
        require(std::isfinite(v) && v >= lowest,
                name,
                " is ",
                v,
                "; expected ",
                lowest,
                " or more",
                what);
    };
    least("trigger_hysteresis", d_p.trigger_hysteresis, 0, "");
    least("smoothing", d_p.smoothing, 0, " pulses (0: automatic)");
    least("tolerance_samples", d_p.tolerance_samples, 0, " (0: automatic)");
    least("longest_fill", d_p.longest_fill, 0, " lines");
    least("full_scale", d_p.full_scale, 0, " (0: not counted)");
    least("settle_s", d_p.settle_s, 0, " s");
    least("presum", d_p.presum, 1, " pulses");
    least("stop_s", d_p.stop_s, 0, " s (0: no stops)");
    require(d_p.stop_s == 0 || d_p.presum == 1,
            "presum is ",
            d_p.presum,
            "; expected 1 with stop_s, which sums the pulses of a stop");
    require(d_p.stop_s == 0 || d_p.edge != trigger_edge::both,
            "edge is 'both'; expected 'rising' or 'falling' with stop_s");
    least("suppress", d_p.suppress, 0, " lines (0: nothing is subtracted)");
    require(d_p.presum <= 1 << 20, "presum is ", d_p.presum, "; expected at most 2^20");
    if (d_p.start)
        require(d_p.start->fraction_s >= 0 && d_p.start->fraction_s < 1,
                "start has a fraction of ",
                d_p.start->fraction_s,
                " s; expected 0 or more and less than 1");
    require(d_p.alignment != framer_alignment::reference || d_p.reference_input,
            "alignment is 'reference' without a reference input; expected "
            "reference_input = true");
    require(d_p.alignment != framer_alignment::trigger || d_p.trigger_input,
            "alignment is 'trigger' without a trigger input; expected trigger_input = "
            "true");
    const bool triangle = acq->sweep == sweep_shape::triangle;
    require(d_p.presum == 1 || (d_p.edge != trigger_edge::both && !triangle),
            "presum is ",
            d_p.presum,
            "; expected 1 with edge 'both' or a triangular sweep, whose ramps alternate");
    require(!triangle || d_p.stop_s == 0,
            "stop_s is ",
            d_p.stop_s,
            " s; expected 0 (no stops) with a triangular sweep, whose ramps alternate");
    require(acq->wave != waveform::fmcw || d_p.edge != trigger_edge::both || triangle,
            "edge is 'both', but sweep of acq is 'sawtooth'; expected the sweep "
            "'triangle', since a falling edge begins a ramp back");
    require(
        d_p.alignment != framer_alignment::automatic || d_p.reference_input ||
            d_p.trigger_input || !acq.in_frequency_domain() || d_p.start ||
            !d_p.replica.empty(),
        "alignment is 'auto', but lines of the waveform ",
        to_string(acq->wave),
        " hold no pulse to find; expected trigger_input, reference_input or start, or "
        "alignment 'scheduled' to count from the first sample");
}

framer_status framer::status() const
{
    framer_status s = d_status;
    s.alignment = to_string(d_mode);
    s.locked = d_numbered && !d_adrift && d_misses == 0 && d_status.framed > 0;
    s.interval_samples = interval();
    s.jitter_rms_samples = s.framed ? std::sqrt(d_jitter2 / s.framed) : 0;
    s.delay_drift_samples_per_s = d_delay.count > 1 ? d_delay.rate * d_fs / d_pri : 0;
    s.phase_drift_hz = d_phase.count > 1 ? d_phase.rate / (2 * pi) * d_fs / d_pri : 0;
    s.dc_re = d_dc.value().re;
    s.dc_im = d_dc.value().im;
    s.image_db = d_image != 0.0 ? 20 * std::log10(std::abs(d_image)) : 0;
    return s;
}

} // namespace framing

framer_alignment framer_alignment_from_name(const std::string& n)
{
    return alignments.from_name(n);
}
std::string to_string(framer_alignment a) { return alignments.to_name(a); }
hole_fill hole_fill_from_name(const std::string& n) { return fills.from_name(n); }
std::string to_string(hole_fill f) { return fills.to_name(f); }
framer_correction framer_correction_from_name(const std::string& n)
{
    return corrections.from_name(n);
}
std::string to_string(framer_correction c) { return corrections.to_name(c); }
trigger_edge trigger_edge_from_name(const std::string& n)
{
    return edge_names.from_name(n);
}
std::string to_string(trigger_edge e) { return edge_names.to_name(e); }

std::unique_ptr<kernel::pulse_framer>
kernel::pulse_framer::make(const pulse_framer_params& params)
{
    return std::make_unique<framing::framer>(params);
}

} // namespace sar
} // namespace gr
