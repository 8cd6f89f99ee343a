// SPDX-License-Identifier: GPL-3.0-or-later
// Where pulses are.

#include "../core/constants.h"
#include "framer.h"
#include <limits>

namespace gr {
namespace sar {
namespace framing {

namespace {

constexpr double side_lobe = 10;            // a pulse over what may be a side lobe of it
constexpr int strikes = 4;                  // intervals in a row that are not that of acq
constexpr std::int64_t code_wait = 1 << 22; // samples that wait for a place in the code
constexpr int lost_after = 3;               // pulses of a search for it not found

} // namespace

void framer::choose()
{
    d_chosen = true;
    d_mode = d_p.alignment;
    const bool automatic = d_mode == framer_alignment::automatic;
    std::string why = "as asked for";
    if (automatic) {
        if (d_p.reference_input) {
            d_mode = framer_alignment::reference;
            why = "there is a reference input";
        } else if (d_p.trigger_input) {
            d_mode = framer_alignment::trigger;
            why = "there is a trigger input";
        } else if (d_p.start && d_based) {
            d_mode = framer_alignment::scheduled;
            why = "the radio gives time stamps and start is given";
        } else if (d_arrival) {
            d_mode = framer_alignment::leakage;
            why = !d_p.start ? "no start is given"
                             : "the radio gives no time stamp that can be believed";
        } else {
            d_mode = framer_alignment::scheduled;
            why = "there is nothing else";
        }
    } else if (d_mode == framer_alignment::scheduled && d_p.start && !d_based) {
        if (d_arrival) {
            d_mode = framer_alignment::leakage;
            why = "there is no time stamp at the first sample that can be believed";
        } else
            d_notices.add(
                "no time stamp at the first sample that can be believed: start is "
                "counted from the first sample");
    }
    d_measures =
        d_arrival &&
        (d_mode == framer_alignment::reference || d_mode == framer_alignment::leakage ||
         d_p.correct != framer_correction::none || d_p.reference_input || automatic);
    d_reference_used =
        d_measures && d_p.reference_input && d_mode != framer_alignment::leakage;
    if (d_mode == framer_alignment::scheduled) {
        d_grid = origin();
        if (d_measures)
            d_grid = later(d_grid, d_fs * (d_p.delay_s + d_p.reference_delay_s));
        d_numbered = true;
    } else if (d_mode == framer_alignment::burst && !d_numbered) {
        d_grid = { d_first, 0 };
        d_numbered = true;
    }
    d_notices.add("alignment ", to_string(d_mode), ": ", why);
}

void framer::push(found_pulse p)
{
    if (p.n < 0)
        return; // before pulse 0
    p.estimated = d_guessed;
    d_guessed = false;
    d_found.push_back(p);
}

void framer::detect()
{
    if (!d_chosen)
        return;
    if (follows_trigger())
        detect_trigger();
    else if (d_measures && d_mode != framer_alignment::burst)
        detect_measured();
    else if (!d_adrift)
        detect_scheduled();
    if (d_closing)
        for (found_pulse& p : d_found) // its samples came before the gap
            p.confirmed = true;
}

void framer::detect_scheduled()
{
    // not one by one over a gap
    const double ahead = d_start_offset + d_fs * d_p.delay_s;
    d_detect = std::max(d_detect,
                        pulse_number(d_grid, later({ d_segment, 0 }, -ahead), d_pri) - 1);
    for (;;) {
        if (d_mode == framer_alignment::burst && d_burst_pulses > 0 &&
            d_detect >= d_burst_first + d_burst_pulses)
            return;
        found_pulse p;
        p.n = d_detect;
        p.epoch = later(grid(p.n), d_fs * d_p.delay_s);
        const sample_time start = line_start(p);
        if (start.whole + d_samples + d_taps > end_of_buffer() && !d_closing)
            return;
        if (start.whole >= end_of_buffer())
            return;
        p.confirmed = true;
        ++d_detect;
        if (start.whole >= d_segment)
            push(p);
    }
}

//! Look for a pulse anywhere within an interval, and for its place in the code. \return
//! false: more samples are needed
bool framer::acquire()
{
    const int m = d_arrival->replica_samples();
    const int wide = static_cast<int>(std::ceil(d_pri));
    for (;;) {
        if (d_search_of_code.on) {
            const search so_far = follow_search();
            if (so_far == search::waits)
                return false;
            if (so_far == search::done)
                return true;
        }
        if (end_of_buffer() < d_search + wide + m)
            return false;
        const arrival a =
            d_arrival->find(at(measured_stream(), d_search), wide + m, 0, wide);
        if (!a.found) {
            ++d_misses;
            if (d_misses == 16)
                d_notices.add("no pulse was found in ",
                              16 * wide,
                              " samples up to sample ",
                              d_delivered,
                              " (SNR ",
                              a.snr_db,
                              " dB at most, least_snr_db is ",
                              d_p.least_snr_db,
                              "): is it transmitted, does the ",
                              d_reference_used ? "reference cable" : "leakage",
                              " reach the receiver, is acq that of the pulse?");
            d_search += wide;
            continue;
        }
        const sample_time t = later({ d_search, 0 }, a.delay_samples);
        if (!seeks_place()) {
            number(t, std::nullopt);
            return true;
        }
        begin_search(t, a);
    }
}

//! The pulse at \p t gets its number, where it has this place in the code.
void framer::number(sample_time t, std::optional<int> place)
{
    if (d_numbered) {
        d_detect = resume(t, place);
    } else {
        d_detect = place.value_or(0);
        if (d_p.start && d_based) {
            const sample_time sent =
                later(t, -d_fs * (d_p.delay_s + d_p.reference_delay_s));
            d_detect = pulse_number(origin(), sent, d_pri);
        }
        d_grid = pulse_time(t, -d_detect, d_pri);
        d_numbered = true;
    }
    d_adrift = false;
    d_misses = 0;
    if (d_unseen)
        say_unseen(*d_unseen, "pulse");
    d_unseen.reset();
}

//! Is there no number, or one counted by the host's clock, and can the code tell more?
bool framer::seeks_place()
{
    if (d_code.length() == 1 || (!d_numbered && d_p.start && d_based))
        return false;
    const bool drift_known = d_numbered && d_phase.count >= warm;
    if (d_places.told() || (d_places.told_by_drift() && drift_known))
        return true;
    if (!d_told_of_code)
        d_notices.add(
            "the code looks alike from each of its ",
            d_code.length(),
            " places (phases linear or quadratic in n): which one the first pulse has "
            "cannot be seen, it is taken for ",
            d_numbered ? "that of its number" : "the first",
            "; correct = 'delay_phase' takes off what is wrong by that");
    d_told_of_code = true;
    return false;
}

void framer::begin_search(sample_time t, const arrival& a)
{
    // the host's clock forgets in the time that the search may take
    d_late = std::max(d_late, d_host.lost_samples());
    d_places.clear();
    d_places.add(0, std::polar(a.amplitude, a.phase_rad), a.phase_std_rad);
    d_search_of_code = { true, 0, t, 0, { { 0, t } } };
    d_search = t.whole;
}

//! On from pulse to pulse until their places are clear; what comes meanwhile waits.
framer::search framer::follow_search()
{
    const int m = d_arrival->replica_samples();
    const int half = static_cast<int>(std::ceil(tolerance())) + 5;
    auto& s = d_search_of_code;
    std::optional<double> drift_rad; // without it, unless it is needed
    if (!d_places.told())
        drift_rad = d_phase.rate;
    for (std::int64_t k = s.k + s.missed + 1;; ++k) {
        const sample_time t = later(s.at, static_cast<double>(k - s.k) * interval());
        if (t.whole - half < d_segment)
            continue; // in the gap
        const std::int64_t low = std::max(d_first, t.whole - half - guard);
        const std::int64_t high = t.whole + half + 1 + m + guard;
        if (high > end_of_buffer())
            return search::waits;
        const arrival a = d_arrival->track(at(measured_stream(), low),
                                           static_cast<int>(high - low),
                                           between(t, { low, 0 }),
                                           half);
        if (!a.found) {
            if (++s.missed < lost_after)
                continue;
            s.on = false;
            d_search = std::max(d_segment, t.whole - half);
            return search::lost;
        }
        s.k = k;
        s.at = later({ low, 0 }, a.delay_samples);
        s.missed = 0;
        s.waiting.push_back({ k, s.at });
        while (s.waiting.size() > 1 &&
               s.at.whole - s.waiting.front().at.whole > code_wait)
            s.waiting.pop_front();
        d_search = s.waiting.front().at.whole;
        d_places.add(k, std::polar(a.amplitude, a.phase_rad), a.phase_std_rad);
        if (const auto place = d_places.place(drift_rad)) {
            s.on = false;
            d_notices.add("the pulse at sample ",
                          d_delivered -
                              static_cast<std::uint64_t>(end_of_buffer() - d_search),
                          " has place ",
                          d_code.place(*place + s.waiting.front().k),
                          " of the ",
                          d_code.length(),
                          " of the code, by ",
                          d_places.products() + 1,
                          " pulses");
            number(s.waiting.front().at, d_code.place(*place + s.waiting.front().k));
            return search::done;
        }
        if (d_places.products() >= d_places.patience()) {
            if (!d_told_of_code)
                d_notices.add("in ",
                              d_places.patience(),
                              " pulses up to sample ",
                              d_delivered,
                              " the code is not found: is it what is transmitted?");
            d_told_of_code = true;
            d_places.clear();
        }
    }
}

void framer::detect_measured()
{
    if (end_of_buffer() < d_needs && !d_closing)
        return;
    d_needs = 0;
    const int m = d_arrival->replica_samples();
    for (;;) {
        if (!d_numbered || d_adrift) {
            // scheduled without a pulse ever seen: only a stamp can help
            if (d_numbered && by_schedule() && d_delay.count == 0)
                return;
            if (!acquire())
                return;
        }
        const std::int64_t n = d_detect;
        const sample_time t = predicted(n);
        const double limit = tolerance();
        const int half =
            static_cast<int>(std::ceil(limit)) + 1 + (d_delay.count < warm ? 4 : 0);
        if (t.whole - half < d_segment) { // begins before the segment
            d_detect = std::max(n + 1, nearest({ d_segment, 0 }) - 1);
            continue;
        }
        std::int64_t low = std::max(d_first, t.whole - half - guard);
        std::int64_t high = t.whole + half + 1 + m + guard;
        if (high > end_of_buffer()) {
            if (!d_closing || t.whole + half + 1 + m > end_of_buffer())
                return;
            high = end_of_buffer();
        }
        const std::vector<cf32>& x = measured_stream();
        arrival a = d_arrival->track(
            at(x, low), static_cast<int>(high - low), between(t, { low, 0 }), half);
        const auto off = [&] { return between(later({ low, 0 }, a.delay_samples), t); };
        const double allowed = d_delay.count < warm ? half : limit;
        // the first that a schedule meets may be a side lobe of the pulse, elsewhere
        const bool unmet = by_schedule() && d_delay.count == 0;
        const arrival near = a;
        const sample_time near_at = later({ low, 0 }, a.delay_samples);
        const bool is_near = a.found && std::abs(off()) <= allowed;
        const auto settle = [&] {
            if (is_near)
                take(n, near_at, near);
            else
                miss(n);
        };
        // nor is a schedule that never met a pulse doubted at each
        if ((is_near && !unmet) || (unmet && d_misses >= 4)) {
            settle();
            continue;
        }
        // not where it ought to be: anywhere within an interval?
        const auto wide = static_cast<std::int64_t>(std::ceil(d_pri / 2));
        low = std::max(d_segment, t.whole - wide);
        high = t.whole + wide + m;
        if (high > end_of_buffer()) {
            if (!d_closing) {
                d_needs = high;
                return;
            }
            settle();
            continue;
        }
        a = d_arrival->find(at(x, low),
                            static_cast<int>(high - low),
                            0,
                            static_cast<int>(high - low) - m);
        if (!a.found || (is_near && a.amplitude < side_lobe * near.amplitude)) {
            settle();
            continue;
        }
        const sample_time seen = later({ low, 0 }, a.delay_samples);
        if (std::abs(off()) <= allowed) {
            take(n, seen, a);
            continue;
        }
        // one alone may be anything; is the next where this one says?
        const sample_time next = later(seen, interval());
        low = next.whole - half - guard;
        high = next.whole + half + 1 + m + guard;
        if (high > end_of_buffer()) {
            if (!d_closing) {
                d_needs = high;
                return;
            }
            miss(n);
            continue;
        }
        const arrival b = d_arrival->track(
            at(x, low), static_cast<int>(high - low), between(next, { low, 0 }), half);
        if (!b.found ||
            std::abs(between(later({ low, 0 }, b.delay_samples), next)) > allowed) {
            odd_interval(seen, between(seen, d_odd_at));
            miss(n);
            continue;
        }
        if (by_schedule() && d_delay.count == 0) {
            const double late = between(seen, grid(n));
            d_notices.add("the pulse is ",
                          late,
                          " samples later than by schedule and delay_s (",
                          d_p.delay_s,
                          " s); delay_s = ",
                          d_p.delay_s + late / d_fs,
                          " would fit");
            take(n, seen, a);
            continue;
        }
        if (!lost_unseen(seen))
            return;
    }
}

void framer::take(std::int64_t n, sample_time seen_at, const arrival& seen)
{
    const arrival a = decoded(seen, n);
    found_pulse p;
    p.n = n;
    p.seen = a;
    p.seen_at = seen_at;
    p.delay_samples = between(seen_at, grid(n));
    // Where the number of pulses lost was guessed, delay and phase went on by as much as
    // is not known.
    if (d_guessed && std::abs(p.delay_samples - d_delay.at(n)) > 4 * a.delay_std_samples)
        d_delay.go_on_from(n, p.delay_samples);
    d_delay.add(n, p.delay_samples);
    // of the stream as it would be had the slip been known
    const double slipped =
        -2 * pi *
        std::fmod(d_p.frequency_shift_hz / d_fs * static_cast<double>(d_slip), 1.0);
    if (d_guessed && d_phase.count > 0)
        d_phase.go_on_from(n, a.phase_rad + slipped);
    d_phase.add_phase(n, a.phase_rad + slipped);
    p.phase_rad = d_smoothing == 1 ? a.phase_rad + slipped : d_phase.value;
    const sample_time smoothed =
        d_smoothing == 1 ? seen_at : later(grid(n), d_delay.value);
    p.epoch = by_schedule() && d_p.correct == framer_correction::none
                  ? later(grid(n), -d_fs * d_p.reference_delay_s)
                  : later(smoothed, -d_fs * d_p.reference_delay_s);
    if (!d_found.empty())
        d_found.back().confirmed = true;
    d_misses = 0;
    d_odd = 0;
    ++d_detect;
    say_interval();
    push(p);
}

//! No pulse where one ought to be.
void framer::miss(std::int64_t n)
{
    ++d_misses;
    ++d_detect;
    ++d_status.unmeasured;
    if (d_misses >= 2)
        for (found_pulse& p : d_found)
            p.confirmed = true;
    if (by_schedule()) { // the schedule says where it would be
        found_pulse p;
        p.n = n;
        const double late = d_p.correct == framer_correction::none ? 0.0 : d_delay.at(n);
        p.epoch = later(grid(n), late - d_fs * d_p.reference_delay_s);
        p.phase_rad = d_phase.at(n);
        p.delay_samples = d_delay.at(n);
        if (!d_found.empty())
            d_found.back().confirmed = true;
        push(p);
    }
}

//! Samples were lost before the pulse at \p seen, and nobody told. \return false: lines
//! from before that are to be given out first; the pulse will be found again
bool framer::lost_unseen(sample_time seen)
{
    // the last line was begun before that, and may reach into what was lost
    if (!d_found.empty() && !d_found.back().confirmed)
        d_found.pop_back();
    for (found_pulse& p : d_found)
        p.confirmed = true;
    d_found.erase(std::remove_if(d_found.begin(),
                                 d_found.end(),
                                 [&](const found_pulse& p) {
                                     return line_start(p).whole + d_samples > seen.whole;
                                 }),
                  d_found.end());
    if (!d_found.empty())
        return false;
    const std::uint64_t before = d_status.lost_samples;
    d_segment = seen.whole;
    drop_before(d_segment);
    ++d_status.gaps;
    ++d_status.silent_gaps;
    if (seeks_place()) {
        d_adrift = true;
        d_search = d_segment;
        d_unseen = before;
        return true;
    }
    d_detect = resume(seen);
    say_unseen(before, "pulse");
    return true;
}

void framer::say_unseen(std::uint64_t lost_before, const char* what)
{
    d_notices.add("about ",
                  d_status.lost_samples - lost_before,
                  " samples are missing before sample ",
                  d_delivered - static_cast<std::uint64_t>(end_of_buffer() - d_segment),
                  ", of which the radio told nothing: the ",
                  what,
                  " came early");
}

//! Intervals that are not that of acq, again and again: the PRF changed.
void framer::odd_interval(sample_time seen, double interval_samples)
{
    const bool same = d_odd > 0 && interval_samples > 0 &&
                      std::abs(interval_samples - d_odd_interval) <= 2 * d_tolerance;
    if (!same)
        d_odd_from =
            d_delivered - static_cast<std::uint64_t>(end_of_buffer() - seen.whole);
    d_odd = same ? d_odd + 1 : 1;
    d_odd_interval = interval_samples;
    d_odd_at = seen;
    if (d_odd >= strikes)
        throw std::runtime_error(
            sentence("the interval between pulses is ",
                     interval_samples,
                     " samples from about sample ",
                     d_odd_from,
                     " on, but prf_hz of acq says ",
                     d_pri,
                     "; lines of two intervals make no image: cut the recording there"));
}

void framer::detect_trigger()
{
    const auto number = [&](sample_time t) {
        if (d_adrift && d_numbered)
            return resume(t);
        if (d_numbered)
            return nearest(t);
        std::int64_t n = 0;
        if (d_p.start && d_based)
            n = pulse_number(origin(), t, d_pri);
        if (d_p.edge == trigger_edge::both && d_edges.front().rising == ((n & 1) != 0))
            ++n;
        d_grid = pulse_time(t, -n, d_pri);
        return n;
    };
    const auto on_grid = [&](const edge& a, const edge& b) {
        const double d = between(b.at, a.at);
        const auto k = std::max<std::int64_t>(1, std::llround(d / interval()));
        return std::abs(d - k * interval()) <=
                   tolerance() + 1e-3 * (k - 1) * interval() &&
               (d_p.edge != trigger_edge::both || (a.rising == b.rising) == (k % 2 == 0));
    };
    const auto give = [&](bool single) {
        const std::int64_t n = number(d_edges.front().at);
        const sample_time t = d_edges.front().at;
        d_numbered = true;
        d_edges.pop_front();
        if (!d_found.empty() && d_found.back().n >= n)
            return; // the same pulse again
        if (d_delay.count > 0 && std::abs(between(t, predicted(n))) > tolerance())
            d_delay.go_on_from(n, between(t, grid(n)));
        if (!single || d_delay.count > 0)
            d_delay.add(n, between(t, grid(n)));
        say_interval();
        found_pulse p;
        p.n = n;
        p.epoch = later(d_smoothing == 1 ? t : later(grid(n), d_delay.value),
                        d_fs * d_p.delay_s);
        p.delay_samples = between(t, grid(n));
        p.confirmed = true;
        push(p);
    };
    while (!d_edges.empty()) {
        const std::int64_t end = end_of_buffer();
        const auto silent_after = [&](const edge& e) {
            return d_closing || between({ end, 0 }, e.at) > 3 * interval();
        };
        if (d_edges.size() < 2) {
            if (!silent_after(d_edges[0]))
                return;
            give(true);
            continue;
        }
        if (on_grid(d_edges[0], d_edges[1])) {
            d_odd = 0;
            give(false);
            continue;
        }
        // what is lost leaves less than two intervals between edges: this is a silence,
        // and the grid begins anew
        if (between(d_edges[1].at, d_edges[0].at) > 2.1 * interval()) {
            give(true);
            continue;
        }
        if (d_edges.size() < 3) {
            if (!silent_after(d_edges[1]))
                return;
            d_edges.erase(d_edges.begin() + 1);
            continue;
        }
        if (on_grid(d_edges[0], d_edges[2])) { // a glitch
            d_edges.erase(d_edges.begin() + 1);
            continue;
        }
        if (on_grid(d_edges[1], d_edges[2])) {
            if (d_delay.count == 0) { // a ramp that was cut by the start
                d_edges.pop_front();
                continue;
            }
            // the pulse before may reach into what was lost
            const sample_time seen = d_edges[1].at;
            if (!d_found.empty()) {
                return; // those first
            }
            d_edges.pop_front();
            d_segment = seen.whole;
            const std::uint64_t before = d_status.lost_samples;
            d_adrift = true; // its number is found when it is given
            ++d_status.gaps;
            ++d_status.silent_gaps;
            number(seen);
            say_unseen(before, "trigger");
            continue;
        }
        const double first = between(d_edges[1].at, d_edges[0].at);
        if (std::abs(between(d_edges[2].at, d_edges[1].at) - first) <= d_tolerance &&
            first > 0.5 * interval())
            odd_interval(d_edges[1].at, first);
        d_edges.pop_front();
    }
}

//! Delay, amplitude and phase of the pulse where trigger or burst says it is.
void framer::measure(found_pulse& p)
{
    const int m = d_arrival->replica_samples();
    const sample_time t = later(p.epoch, d_fs * d_p.reference_delay_s);
    const int half = static_cast<int>(std::ceil(d_tolerance)) + 1;
    const std::int64_t low = std::max(d_first, t.whole - half - guard);
    const std::int64_t high = std::min(end_of_buffer(), t.whole + half + 1 + m + guard);
    arrival a;
    if (high - low >= m)
        a = d_arrival->track(at(measured_stream(), low),
                             static_cast<int>(high - low),
                             between(t, { low, 0 }),
                             half);
    if (!a.found) {
        ++d_status.unmeasured;
        p.phase_rad = d_phase.at(p.n);
        return;
    }
    a = decoded(a, p.n);
    p.seen = a;
    p.seen_at = later({ low, 0 }, a.delay_samples);
    p.delay_samples = between(p.seen_at, grid(p.n));
    d_phase.add_phase(p.n, a.phase_rad);
    p.phase_rad = d_smoothing == 1 ? a.phase_rad : d_phase.value;
    if (d_p.correct != framer_correction::none)
        p.epoch = later(p.seen_at, -d_fs * d_p.reference_delay_s);
}

} // namespace framing
} // namespace sar
} // namespace gr
