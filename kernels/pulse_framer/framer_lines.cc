// SPDX-License-Identifier: GPL-3.0-or-later
// Lines: cut between samples, equalised, summed, with the holes between them.

#include "../core/constants.h"
#include "../core/interpolator.h"
#include "../core/range_doppler.h"
#include "framer.h"
#include <volk/volk.h>

namespace gr {
namespace sar {
namespace framing {

namespace {

constexpr double regularisation = 1e-3; // of the spectrum divided by, against its peak

} // namespace

sample_time framer::line_start(const found_pulse& p) const
{
    if (way_back(p.n)) // sample i at the frequency of sample d_samples - 1 - i
        return later(p.epoch, interval() - d_start_offset - (d_samples - 1));
    return later(p.epoch, d_start_offset);
}

//! False for what the transmitter failed to send; lines come in the order of numbers.
bool framer::was_sent(std::int64_t n)
{
    d_not_sent.erase(std::remove_if(d_not_sent.begin(),
                                    d_not_sent.end(),
                                    [n](const numbers& x) { return x.last < n; }),
                     d_not_sent.end());
    return std::none_of(d_not_sent.begin(), d_not_sent.end(), [n](const numbers& x) {
        return x.first <= n;
    });
}

bool framer::raw_line(framed_line& facts, std::vector<cf32>& line)
{
    for (;;) {
        detect();
        if (d_found.empty() || !d_found.front().confirmed) {
            drop_before(keep_from());
            if (d_found.empty() && d_closing)
                open();
            return false;
        }
        found_pulse p = d_found.front();
        if (!was_sent(p.n)) {
            d_estimated |= p.estimated;
            d_found.pop_front();
            continue;
        }
        const bool follows = follows_trigger() || d_mode == framer_alignment::burst;
        if (d_measures && follows && !p.measured) {
            const std::int64_t needs =
                p.epoch.whole + d_arrival->replica_samples() + guard +
                static_cast<std::int64_t>(
                    std::ceil(d_tolerance + d_fs * std::abs(d_p.reference_delay_s))) +
                2;
            if (needs > end_of_buffer() && !d_closing)
                return false;
            measure(p);
            p.measured = true;
            d_found.front() = p;
        }
        sample_time start = line_start(p);
        double jitter = 0;
        if (d_p.whole_samples) {
            jitter = start.part < 0.5 ? -start.part : 1 - start.part;
            start = { start.whole + (start.part < 0.5 ? 0 : 1), 0 };
        }
        const int margin = start.part > 1e-9 && start.part < 1 - 1e-9 ? d_taps / 2 : 0;
        const std::int64_t low = start.whole - margin;
        const std::int64_t high = start.whole + d_samples + margin + 1;
        // what lies before a buffer was never taken: 0 stands for it in the interpolation
        const bool burst = d_mode == framer_alignment::burst;
        if (low < d_segment && !(burst && start.whole >= d_segment)) {
            d_estimated |= p.estimated; // the first line after it is as uncertain
            d_found.pop_front();
            continue;
        }
        if (high > end_of_buffer() &&
            !(burst && d_closing && start.whole + d_samples <= end_of_buffer())) {
            if (!d_closing)
                return false;
            if (d_ending)
                d_notices.add("the stream ended within the line of pulse ",
                              p.n,
                              ", which is left out: ",
                              std::max<std::int64_t>(0, end_of_buffer() - start.whole),
                              " of ",
                              d_samples,
                              " samples came");
            d_estimated |= p.estimated;
            d_found.pop_front(); // cut by the gap
            continue;
        }
        if (d_image_of && !measure_image(p))
            return false;
        d_found.pop_front();
        facts = {};
        facts.pulse = p.n;
        const sample_time sent =
            later(p.epoch, by_schedule() ? -d_fs * d_p.delay_s : 0.0);
        facts.time_s = time_s(sent);
        facts.host_s = d_host.offset_s().value_or(0) +
                       (static_cast<double>(sent.whole) + sent.part) / d_fs;
        facts.live = d_host.live();
        facts.jitter_samples = jitter;
        facts.amplitude = p.seen.amplitude;
        facts.snr_db = p.seen.snr_db;
        facts.phase_rad = p.phase_rad;
        facts.delay_s = p.delay_samples / d_fs;
        if (p.estimated || d_estimated)
            facts.flags |= framed_line::estimated;
        d_estimated = false;
        if (d_measures && !p.seen.found)
            facts.flags |= framed_line::unmeasured;
        facts.anew = d_anew;
        d_anew = false;
        facts.step = d_step;
        facts.frequency_hz = d_frequency_hz;
        line.resize(d_samples);
        build(p, start, line.data());
        // between stops nothing is sent
        const bool between_stops =
            d_p.stop_s > 0 && facts.time_s - d_last_raw_s > d_p.stop_s;
        if (d_raw_started && !between_stops)
            d_status.lost += std::max<std::int64_t>(0, p.n - d_last_raw - 1);
        d_last_raw_s = facts.time_s;
        d_raw_started = true;
        d_last_raw = p.n;
        d_jitter2 += jitter * jitter;
        if (p.seen.found) {
            d_status.amplitude_db = 20 * std::log10(p.seen.amplitude);
            d_status.snr_db = p.seen.snr_db;
        }
        d_status.phase_rad = p.phase_rad;
        d_status.delay_s = facts.delay_s;
        ++d_status.framed;
        return true;
    }
}

//! \p n values from \p start on by a windowed sinc; what is not in the buffer is 0.
void framer::between_samples(const std::vector<cf32>& x,
                             sample_time start,
                             cf32* out,
                             int n)
{
    const int before = d_taps / 2 - 1;
    d_weights.resize(d_taps);
    for (int k = 0; k < d_taps; ++k)
        d_weights[k] =
            static_cast<float>(sinc_weight(start.part - (k - before), d_taps, d_beta));
    const std::int64_t low = start.whole - before;
    const std::int64_t high = low + n + d_taps - 1;
    const cf32* in = nullptr;
    if (low >= d_first && high <= end_of_buffer()) {
        in = at(x, low);
    } else {
        d_padded.assign(high - low, cf32{ 0, 0 });
        const std::int64_t from = std::max(low, d_first);
        const std::int64_t to = std::min(high, end_of_buffer());
        if (to > from)
            std::copy_n(at(x, from), to - from, d_padded.begin() + (from - low));
        in = d_padded.data();
    }
    // tap by tap over a run of samples, which compilers make vectors of
    constexpr int run = 256;
    float sum[2 * run];
    for (int i = 0; i < n; i += run) {
        const int floats = 2 * std::min(run, n - i);
        std::fill_n(sum, floats, 0.0f);
        for (int k = 0; k < d_taps; ++k) {
            const float w = d_weights[k];
            const float* v = reinterpret_cast<const float*>(in + i + k);
            for (int j = 0; j < floats; ++j)
                sum[j] += w * v[j];
        }
        std::copy_n(sum, floats, reinterpret_cast<float*>(out + i));
    }
}

void framer::build(const found_pulse& p, sample_time start, cf32* out)
{
    if (start.part > 1 - 1e-9)
        start = { start.whole + 1, 0 };
    if (start.part < 1e-9) {
        std::copy_n(at(d_main, start.whole), d_samples, out);
    } else {
        between_samples(d_main, start, out, d_samples);
    }
    // what was lost unseen turned the oscillator of the shift, too
    double turn =
        -2 * pi *
        std::fmod(d_p.frequency_shift_hz / d_fs * static_cast<double>(d_slip), 1.0);
    const bool phase = d_measures && (d_p.correct == framer_correction::delay_phase ||
                                      d_p.correct == framer_correction::full);
    if (phase) {
        // of the path of the reference, at the frequency of this step
        const double carrier_hz =
            d_p.acq->carrier_hz + (d_frequency_hz - d_first_frequency_hz);
        turn -= p.phase_rad + 2 * pi * std::fmod(carrier_hz * d_p.reference_delay_s, 1.0);
    }
    const complex_double factor = std::polar(1.0, turn) / d_code.at(p.n);
    if (factor != 1.0) {
        const lv_32fc_t w(static_cast<float>(factor.real()),
                          static_cast<float>(factor.imag()));
        volk_32fc_s32fc_multiply_32fc(reinterpret_cast<lv_32fc_t*>(out),
                                      reinterpret_cast<const lv_32fc_t*>(out),
                                      w,
                                      d_samples);
    }
    if (way_back(p.n))
        std::reverse(out, out + d_samples);
    if (d_p.correct == framer_correction::full && d_measures)
        equalise(p, out);
}

//! Divide by the spectrum of the measured pulse and multiply by that of the replica.
void framer::equalise(const found_pulse& p, cf32* line)
{
    const int m = d_arrival->replica_samples();
    const int covered = m + 2 * guard;
    const int length = line_fft_length(d_samples + 2 * covered);
    if (!d_fft) {
        d_fft = std::make_unique<transforms>(length);
        d_pulse_mean.assign(covered, cf32{ 0, 0 });
    }
    const auto load = [&](const cf32* x, int n, int where) {
        gr_complex* in = d_fft->forward.get_inbuf();
        std::fill_n(in, length, gr_complex(0));
        std::copy_n(reinterpret_cast<const gr_complex*>(x), n, in + where);
        d_fft->forward.execute();
        return d_fft->forward.get_outbuf();
    };
    // the pulse as it was sent, without the code, brought to whole samples and phase 0,
    // averaged
    if (p.seen.found && p.seen_at.whole - guard - d_taps / 2 >= d_first &&
        p.seen_at.whole + m + guard + d_taps / 2 < end_of_buffer()) {
        std::vector<cf32> seen(covered);
        between_samples(
            measured_stream(), later(p.seen_at, -guard), seen.data(), covered);
        const complex_double turn = std::polar(1.0, -p.seen.phase_rad) / d_code.at(p.n);
        const float share = 1.0f / (1 + std::min(d_pulse_count, d_smoothing - 1));
        const cf32 w = share * cf32{ static_cast<float>(turn.real()),
                                     static_cast<float>(turn.imag()) };
        for (int i = 0; i < covered; ++i)
            d_pulse_mean[i] = (1 - share) * d_pulse_mean[i] + w * seen[i];
        ++d_pulse_count;
    }
    if (d_pulse_count == 0)
        return;
    // the mean hardly moves from pulse to pulse: a new filter each time only at first
    if (d_filter.empty() || d_pulse_count <= d_smoothing || d_pulse_count % 16 == 0) {
        d_filter.resize(length);
        const gr_complex* f = load(d_pulse_mean.data(), covered, 0);
        std::copy_n(f, length, d_filter.begin());
        float strongest = 0;
        for (const gr_complex& v : d_filter)
            strongest = std::max(strongest, std::norm(v));
        f = load(d_arrival->replica().data(), m, guard);
        const float floor = static_cast<float>(regularisation) * strongest;
        const float scale = 1.0f / static_cast<float>(length);
        for (int k = 0; k < length; ++k)
            d_filter[k] = f[k] * std::conj(d_filter[k]) *
                          (scale / (std::norm(d_filter[k]) + floor));
    }
    const gr_complex* f = load(line, d_samples, 0);
    volk_32fc_x2_multiply_32fc(d_fft->inverse.get_inbuf(), f, d_filter.data(), length);
    d_fft->inverse.execute();
    std::copy_n(
        reinterpret_cast<const cf32*>(d_fft->inverse.get_outbuf()), d_samples, line);
}

//! Lines of presum pulses: those of one multiple of presum, holes left out of the mean.
bool framer::summed(framed_line& facts)
{
    const bool stops = d_p.stop_s > 0;
    if (d_p.presum == 1 && !stops)
        return raw_line(facts, d_line);
    const int m = d_p.presum;
    const auto finish = [&] {
        facts = d_sum_facts;
        facts.summed = d_in_sum;
        if (stops)
            facts.pulse = d_stop++;
        else if (d_in_sum < m)
            facts.flags |= framed_line::partial_sum;
        const float scale = 1.0f / static_cast<float>(d_in_sum);
        for (int i = 0; i < d_samples; ++i)
            d_line[i] = scale * d_sum[i];
        d_in_sum = 0;
        return true;
    };
    const auto group = [m](std::int64_t n) { return n / m; }; // n >= 0
    for (;;) {
        if (!d_waits) {
            if (!raw_line(d_waiting_facts, d_waiting))
                return d_ending && d_in_sum > 0 ? finish() : false;
            d_waits = true;
        }
        const framed_line& w = d_waiting_facts;
        const bool apart = stops ? w.time_s - d_sum_last_s > d_p.stop_s
                                 : group(w.pulse) != d_sum_facts.pulse || w.anew;
        if (d_in_sum > 0 && apart)
            return finish();
        if (d_in_sum == 0) {
            d_sum_facts = w;
            d_sum_facts.pulse = group(w.pulse);
            d_sum_facts.used.assign(stops ? 0 : m, 0);
            d_sum.assign(d_samples, cf32{ 0, 0 });
        }
        for (int i = 0; i < d_samples; ++i)
            d_sum[i] = d_sum[i] + d_waiting[i];
        if (!stops)
            d_sum_facts.used[w.pulse % m] = 1;
        d_sum_last_s = w.time_s;
        d_sum_facts.flags |= w.flags;
        ++d_in_sum;
        d_waits = false;
        if (!stops && w.pulse % m == m - 1)
            return finish();
    }
}

bool framer::prepare()
{
    if (d_prepared)
        return true;
    if (!summed(d_facts))
        return false;
    if (d_p.suppress > 0) {
        if (d_facts.anew || d_mean_count == 0) {
            d_mean.assign(d_samples, cf32{ 0, 0 });
            d_mean_count = 0;
        }
        ++d_mean_count;
        const float share =
            1.0f /
            static_cast<float>(std::min<std::uint64_t>(d_mean_count, d_p.suppress));
        for (int i = 0; i < d_samples; ++i) {
            d_mean[i] = d_mean[i] + share * (d_line[i] - d_mean[i]);
            d_line[i] = d_line[i] - d_mean[i];
        }
    }
    if (!d_started) {
        d_started = true;
        d_next = d_facts.pulse;
        d_facts.anew = true;
    }
    const std::int64_t missing = d_facts.pulse - d_next;
    if (missing > d_p.longest_fill && d_p.fill != hole_fill::skip)
        d_facts.anew = true;
    if (missing > 0 &&
        (d_facts.anew || d_p.fill == hole_fill::skip || missing > d_p.longest_fill)) {
        d_facts.skipped = missing;
        if (d_facts.flags & framed_line::estimated)
            d_status.estimated += missing;
        if (missing > d_p.longest_fill && d_p.fill != hole_fill::skip)
            d_notices.add(missing,
                          " lines are missing before pulse ",
                          d_facts.pulse * d_p.presum,
                          ", more than longest_fill, ",
                          d_p.longest_fill,
                          ": not filled, a new frame begins");
        d_next = d_facts.pulse;
    }
    d_prepared = true;
    return true;
}

std::optional<std::int64_t> framer::ready()
{
    if (!prepare())
        return std::nullopt;
    return d_next;
}

bool framer::next(framed_line& facts, cf32* out)
{
    if (!prepare())
        return false;
    if (d_next < d_facts.pulse) {
        facts = {};
        facts.pulse = d_next;
        facts.flags = framed_line::hole;
        facts.holes_left = d_facts.pulse - d_next;
        if (d_facts.flags & framed_line::estimated) {
            facts.flags |= framed_line::estimated;
            ++d_status.estimated;
        }
        facts.step = d_facts.step;
        facts.frequency_hz = d_facts.frequency_hz;
        facts.summed = 0;
        facts.used.assign(d_p.presum > 1 ? d_p.presum : 0, 0);
        const double before_s =
            static_cast<double>(d_facts.pulse - d_next) * d_p.presum * interval() / d_fs;
        facts.time_s = d_facts.time_s - before_s;
        facts.host_s = d_facts.host_s - before_s;
        facts.live = d_facts.live;
        if (d_p.fill == hole_fill::hold) {
            facts.flags |= framed_line::held;
            std::copy(d_held.begin(), d_held.end(), out);
        } else {
            std::fill_n(out, d_samples, cf32{ 0, 0 });
        }
        ++d_status.filled;
        ++d_next;
        return true;
    }
    facts = d_facts;
    std::copy(d_line.begin(), d_line.end(), out);
    if (d_p.fill == hole_fill::hold)
        d_held = d_line;
    ++d_next;
    d_prepared = false;
    return true;
}

} // namespace framing
} // namespace sar
} // namespace gr
