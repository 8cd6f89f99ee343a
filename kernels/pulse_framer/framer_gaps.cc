// SPDX-License-Identifier: GPL-3.0-or-later
// What the radio tells: stamps, gaps, retunes.

#include "framer.h"

namespace gr {
namespace sar {
namespace framing {

namespace {

constexpr double stamp_ppm = 100;

//! Whole samples and a part of a product that may exceed what a double resolves.
sample_time samples_of(std::int64_t seconds, double fraction_s, double rate_hz)
{
    const long double product = static_cast<long double>(seconds) * rate_hz;
    const long double whole = std::floor(product);
    return later(
        { static_cast<std::int64_t>(whole), static_cast<double>(product - whole) },
        fraction_s * rate_hz);
}

} // namespace

sample_time framer::origin() const
{
    if (!d_p.start)
        return {};
    if (!d_based)
        return samples_of(
            static_cast<std::int64_t>(d_p.start->seconds), d_p.start->fraction_s, d_fs);
    return samples_of(static_cast<std::int64_t>(d_p.start->seconds) -
                          static_cast<std::int64_t>(d_base.seconds),
                      d_p.start->fraction_s - d_base.fraction_s,
                      d_fs);
}

framer::verdict framer::check_stamp(const radio_time& t, const kernel::radio_news& news)
{
    const auto reject = [&](const auto&... why) {
        ++d_status.rejected_stamps;
        d_notices.add("rx_time ",
                      t.seconds,
                      " + ",
                      t.fraction_s,
                      " s at sample ",
                      d_delivered,
                      " is not believed: ",
                      why...);
        return verdict::bad;
    };
    if (!(t.fraction_s >= 0 && t.fraction_s < 1) || t.seconds > (1ull << 62))
        return reject("expected seconds, and a fraction from 0 to 1");
    const std::int64_t u = end_of_buffer();
    const auto base = [&] {
        d_base = t;
        d_base.fraction_s -= static_cast<double>(u) / d_fs;
        d_based = true;
        d_unsure = false;
        d_loose = d_adrift || (d_delivered > 0 && news.rate_hz);
        d_stamp_u = u;
        return verdict::based;
    };
    if (!d_based)
        return base();
    const sample_time says =
        samples_of(static_cast<std::int64_t>(t.seconds - d_base.seconds),
                   t.fraction_s - d_base.fraction_s,
                   d_fs);
    const double more = between(says, { u, 0 });
    const double since = static_cast<double>(u - d_stamp_u);
    if (more < -0.5 && d_unsure && !d_adrift)
        return base(); // the host's clock counted too many
    if (more < -0.5)
        return reject("by the count of samples it is ",
                      time_s({ u, 0 }),
                      " s, and time does not go back");
    if (more > 0.5 && since > 0) {
        const double ratio = more / since;
        // time stamps of a computer's clock: no loss, as long as nothing else says so
        if (ratio < 1e-6 * stamp_ppm && !news.rate_hz && !news.gap)
            return verdict::none;
        d_stamp_same = std::abs(ratio - d_stamp_ratio) < 0.1 * ratio && ratio > 0
                           ? d_stamp_same + 1
                           : 0;
        d_stamp_ratio = ratio;
        const bool alone = !news.rate_hz && !news.gap && !news.burst_samples;
        if (d_stamp_same >= 2 && ratio < 0.5 && alone)
            return reject("since the last one ",
                          since,
                          " samples came, ",
                          since / d_fs,
                          " s, but the clock went on by ",
                          (since + more) / d_fs,
                          " s, ",
                          1e6 * ratio,
                          " ppm more, each time: its rate is not sample_rate_hz of acq");
    }
    d_stamp_u = std::max(u, says.whole);
    d_unsure = false;
    return verdict::good;
}

void framer::tell(const kernel::radio_news& news)
{
    if (news.rate_hz && std::abs(*news.rate_hz / d_fs - 1) > 1e-6 * stamp_ppm)
        throw std::runtime_error(sentence("rx_rate at sample ",
                                          d_delivered,
                                          " says ",
                                          *news.rate_hz,
                                          " Hz, but sample_rate_hz of acq is ",
                                          d_fs,
                                          "; give both the same"));
    const bool first = d_delivered == 0;
    const bool retuned =
        news.frequency_hz && d_frequency_hz != 0 && *news.frequency_hz != d_frequency_hz;
    if (news.frequency_hz && d_frequency_hz == 0)
        d_frequency_hz = d_first_frequency_hz = *news.frequency_hz;
    if (retuned)
        d_after_hz = *news.frequency_hz; // holds when the lines before it are out
    const verdict stamp = news.time ? check_stamp(*news.time, news) : verdict::none;
    std::int64_t lost = 0; // as far as stamps tell
    if (stamp == verdict::good)
        lost = std::llround(std::max(
            0.0,
            between(
                samples_of(static_cast<std::int64_t>(news.time->seconds - d_base.seconds),
                           news.time->fraction_s - d_base.fraction_s,
                           d_fs),
                { end_of_buffer(), 0 })));
    if (d_p.alignment == framer_alignment::burst) {
        // after a gap within a buffer only the next one tells where pulses are
        const std::int64_t rest = std::int64_t(1) << 60;
        if (news.burst_samples) {
            d_next_burst_pulses =
                std::max(1, static_cast<int>(std::lround(*news.burst_samples / d_pri)));
            close(true, lost, 0, retuned);
            d_after.settle = 0;
        } else if (!first && (news.gap || news.rate_hz || retuned)) {
            d_notices.add("a gap within a buffer before sample ",
                          d_delivered,
                          "; the rest of it is left out");
            d_next_burst_pulses = 0;
            close(true, lost, rest, retuned);
        }
        if (d_closing && d_main.size() == d_skip)
            open();
        return;
    }
    if (first)
        return;
    const auto settle = static_cast<std::int64_t>(std::ceil(d_p.settle_s * d_fs));
    if (stamp == verdict::good) {
        if (d_adrift && !news.rate_hz && !retuned) {
            shift(lost);
            d_adrift = false;
            d_search_of_code.on = false;
            d_late = 0;
            d_unseen.reset();
            return;
        }
        if (lost > 0 || retuned)
            close(true, lost, retuned ? settle : 0, retuned);
    } else if (stamp == verdict::none && news.time) { // believed, and nothing was lost
        if (retuned)
            close(true, 0, settle, true);
    } else if (news.gap || news.rate_hz || retuned) {
        close(false, 0, retuned ? settle : 0, retuned);
    }
}

//! The segment ends here; what lies in it is given out first.
void framer::close(bool known, std::int64_t lost, std::int64_t settle, bool anew)
{
    if (d_p.alignment != framer_alignment::burst) {
        ++d_status.gaps;
        d_status.lost_samples += lost;
        if (known && lost > 0)
            d_notices.add("a gap of ", lost, " samples before sample ", d_delivered);
        else if (!known)
            d_notices.add("a gap of unknown length before sample ", d_delivered);
    }
    if (anew)
        d_notices.add(
            "the radio is at ", d_after_hz, " Hz from sample ", d_delivered, " on");
    if (d_closing) { // two gaps without a sample between them
        d_after.known = d_after.known && known;
        d_after.lost += lost;
        d_after.settle = std::max(d_after.settle, settle);
        d_after.anew |= anew;
        return;
    }
    d_closing = true;
    d_after = { known, lost, settle, anew };
}

//! All lines of the old segment are out.
void framer::open()
{
    const std::int64_t u = end_of_buffer() + d_after.lost;
    d_rotated += d_after.lost;
    d_first = d_segment = u;
    d_needs = 0;
    d_main.clear();
    d_ref.clear();
    d_skip = 0;
    d_found.clear();
    d_edges.clear();
    d_discard = d_after.settle;
    const bool known = d_after.known;
    d_adrift = d_adrift ? !d_after.known || d_after.lost == 0 : !d_after.known;
    d_anew |= d_after.anew;
    d_search = u;
    d_search_of_code.on = d_search_of_code.on && known && (!d_numbered || d_adrift);
    d_search_of_code.waiting.clear();
    if (!d_adrift || !known)
        d_unseen.reset();
    if (!d_adrift)
        d_late = 0;
    d_misses = 0;
    d_trigger_seen = false;
    if (d_after.anew) { // another frequency has another phase
        d_phase.count = 0;
        d_image_pulses = 0; // and another image
        d_image_next = 0;
        d_frequency_hz = d_after_hz;
        ++d_step;
    }
    if (d_p.alignment == framer_alignment::burst) {
        d_adrift = false;
        d_numbered = true;
        d_burst_first += d_burst_pulses;
        d_burst_pulses = d_next_burst_pulses;
        d_detect = d_burst_first;
        d_grid = pulse_time({ u, 0 }, -d_burst_first, d_pri);
    }
    d_after = {};
    d_closing = false;
    if (d_adrift && by_schedule() && !(d_measures && d_delay.count > 0))
        d_notices.add(
            "until the next time stamp no line can be placed: a schedule alone cannot "
            "bridge a gap of unknown length; a reference, a trigger or leakage can");
}

//! More samples were lost before this segment than was known.
void framer::shift(std::int64_t samples)
{
    d_first += samples;
    d_segment += samples;
    d_search += samples;
    d_slip += samples;
    d_needs = 0;
    d_status.lost_samples += samples;
    if (d_loose)
        d_base.fraction_s -= static_cast<double>(samples) / d_fs;
    d_loose = false;
    for (edge& e : d_edges)
        e.at.whole += samples;
}

//! A pulse after a gap of unknown length: the number of samples lost is such that it is
//! on the grid, and as the host's clock says but for that. \param place that it has in
//! the code \return its number
std::int64_t framer::resume(sample_time t, std::optional<int> place)
{
    const double late = std::max(d_late, d_host.lost_samples());
    d_late = 0;
    std::int64_t n = nearest(t);
    double lost = between(predicted(n), t);
    if (lost < -0.5) {
        ++n;
        lost += interval();
    }
    const auto more = std::max<std::int64_t>(0, std::llround((late - lost) / interval()));
    n += more;
    lost += more * interval();
    if (place) {
        std::int64_t off = d_code.place(*place - n);
        if (off > d_code.length() / 2 && more >= d_code.length() - off)
            off -= d_code.length();
        n += off;
        lost += off * interval();
    }
    if (d_p.edge == trigger_edge::both && follows_trigger() && !d_edges.empty() &&
        d_edges.front().rising == ((n & 1) != 0)) { // even ramps go up
        ++n;
        lost += interval();
    }
    shift(std::llround(lost));
    if (!d_host.knows_losses()) // fewer than there were, it may be
        d_host.forget_offset();
    d_guessed = d_unsure = true;
    d_adrift = false;
    return n;
}

} // namespace framing
} // namespace sar
} // namespace gr
