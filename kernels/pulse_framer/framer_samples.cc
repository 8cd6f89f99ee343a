// SPDX-License-Identifier: GPL-3.0-or-later
// Samples in: what is wrong with them put right, edges of the trigger, the buffer.

#include "../core/constants.h"
#include "framer.h"

namespace gr {
namespace sar {
namespace framing {

namespace {

constexpr int chunk = 1 << 16;   // samples taken at a time
constexpr int image_memory = 64; // pulses

//! f(k, exp(j 2 pi turn (first + k))) for k = 0 .. n - 1, one sample after the other.
template <typename F>
void for_phasors(double turn, std::int64_t first, int n, F&& f)
{
    constexpr int run = 256; // samples from one exact phase to the next
    const complex_double step = std::polar(1.0, 2 * pi * turn);
    for (int i = 0; i < n; i += run) {
        const double turns = std::fmod(turn * static_cast<double>(first + i), 1.0);
        complex_double w = std::polar(1.0, 2 * pi * turns);
        for (int k = i; k < std::min(n, i + run); ++k, w *= step)
            f(k, cf32{ static_cast<float>(w.real()), static_cast<float>(w.imag()) });
    }
}

} // namespace

//! What is wrong with the radio's samples, put right; in the reference what concerns
//! both.
void framer::condition(const cf32* in, cf32* out, int n, bool echoes)
{
    if (d_p.full_scale > 0 && echoes) {
        const float limit = static_cast<float>(d_p.full_scale);
        int clipped = 0;
        for (int i = 0; i < n; ++i)
            clipped += std::abs(in[i].re) >= limit || std::abs(in[i].im) >= limit;
        d_status.clipped += clipped;
    }
    const bool swap = d_p.swap_iq;
    const float re_sign = d_p.invert && echoes ? -1.0f : 1.0f;
    const float im_sign = d_p.conjugate ? -re_sign : re_sign;
    if (swap || d_p.conjugate || re_sign < 0)
        for (int i = 0; i < n; ++i)
            out[i] = { re_sign * (swap ? in[i].im : in[i].re),
                       im_sign * (swap ? in[i].re : in[i].im) };
    else
        std::copy(in, in + n, out);
    if (d_p.remove_dc && echoes) {
        d_dc.add(out, n);
        const cf32 dc = d_dc.value();
        for (int i = 0; i < n; ++i)
            out[i] = out[i] - dc;
    }
    if (d_p.frequency_shift_hz != 0)
        for_phasors(-d_p.frequency_shift_hz / d_fs, d_rotated, n, [&](int k, cf32 w) {
            out[k] = out[k] * w;
        });
    if (d_image != 0.0 && echoes)
        take_off_image(d_image, out, n, d_rotated);
}

//! What the image of samples is made of, behind the frequency shift. \param rotated
//! samples that the shift had turned before
void framer::conjugate_of(const cf32* x, cf32* out, int n, std::int64_t rotated) const
{
    const auto conjugate = [x](int k) { return cf32{ x[k].re, -x[k].im }; };
    const double turn = -2 * d_p.frequency_shift_hz / d_fs;
    if (turn == 0)
        for (int k = 0; k < n; ++k)
            out[k] = conjugate(k);
    else
        for_phasors(turn, rotated, n, [&](int k, cf32 w) { out[k] = conjugate(k) * w; });
}

void framer::take_off_image(complex_double w, cf32* x, int n, std::int64_t rotated)
{
    d_conjugate.resize(n);
    conjugate_of(x, d_conjugate.data(), n, rotated);
    const double scale = 1 / (1 - std::norm(w));
    const auto same = static_cast<float>(scale);
    const cf32 other{ static_cast<float>(-scale * w.real()),
                      static_cast<float>(-scale * w.imag()) };
    for (int i = 0; i < n; ++i)
        x[i] = same * x[i] + other * d_conjugate[i];
}

//! What is left of the image right before a pulse, and off the samples that are here.
//! \return false: more samples are needed
bool framer::measure_image(const found_pulse& p)
{
    if (p.n < d_image_next)
        return true;
    std::int64_t t = p.epoch.whole;
    if (p.seen.found && !d_reference_used)
        t = std::min(t, p.seen_at.whole);
    const std::int64_t low = t - d_image_of->before();
    const int n = d_image_of->samples();
    if (low + n > end_of_buffer() && !d_closing)
        return false;
    if (low < d_first || low + n > end_of_buffer())
        return true;
    const cf32* y = at(d_main, low);
    d_conjugate.resize(n);
    conjugate_of(y, d_conjugate.data(), n, low - d_slip);
    const auto left = d_image_of->of(y, d_conjugate.data());
    if (!left)
        return true;
    d_image_pulses = std::min(d_image_pulses + 1, image_memory);
    d_image_next = p.n + (d_image_pulses < image_memory ? 1 : 16);
    const complex_double change = *left / static_cast<double>(d_image_pulses);
    d_image += change;
    take_off_image(change,
                   d_main.data() + d_skip,
                   static_cast<int>(d_main.size() - d_skip),
                   d_first - d_slip);
    return true;
}

int framer::feed(const cf32* samples,
                 const cf32* reference,
                 const float* trigger,
                 int n,
                 double host_s)
{
    if (!d_chosen && n > 0)
        choose();
    if (d_closing || n <= 0)
        return 0;
    n = std::min(n, chunk);
    if (d_discard > 0) {
        n = static_cast<int>(std::min<std::int64_t>(n, d_discard));
        d_discard -= n;
        d_first += n;
        d_segment += n;
        d_search += n;
        d_rotated += n;
        d_delivered += n;
        d_host.arrived(host_s, end_of_buffer());
        return n;
    }
    const std::int64_t first = end_of_buffer();
    const std::size_t had = d_main.size();
    d_main.resize(had + n);
    condition(samples, d_main.data() + had, n, true);
    if (d_reference_used) {
        d_ref.resize(had + n);
        condition(reference, d_ref.data() + had, n, false);
    }
    d_rotated += n;
    if (trigger && d_p.trigger_input)
        scan(trigger, n, first);
    d_delivered += n;
    d_status.samples += n;
    d_host.arrived(host_s, end_of_buffer());
    return n;
}

//! Edges of the trigger. Armed by the hysteresis below the level, fired by as much above;
//! the time is that of the level itself.
void framer::scan(const float* trigger, int n, std::int64_t first)
{
    const bool falling = d_p.edge == trigger_edge::falling;
    const float sign = falling ? -1.0f : 1.0f;
    const float level = sign * static_cast<float>(d_p.trigger_level);
    const float over = level + static_cast<float>(d_p.trigger_hysteresis);
    const float under = level - static_cast<float>(d_p.trigger_hysteresis);
    const bool both = d_p.edge == trigger_edge::both;
    int i = 0;
    if (!d_trigger_seen) {
        d_before = sign * trigger[0];
        d_high = d_before >= level;
        d_trigger_seen = true;
        if (d_trigger_samples == 0)
            d_trigger_low = d_trigger_high = trigger[0];
        i = 1;
    }
    for (; i < n; ++i) {
        const float x = sign * trigger[i];
        if (d_before < level && x >= level && !d_high)
            d_crossed = later({ first + i - 1, 0 }, crossing(d_before, x, level));
        else if (both && d_before >= level && x < level && d_high)
            d_crossed = later({ first + i - 1, 0 }, crossing(-d_before, -x, -level));
        if (!d_high && x >= over) {
            d_high = true;
            d_edges.push_back({ d_crossed, true });
        } else if (d_high && x < under) {
            d_high = false;
            if (both)
                d_edges.push_back({ d_crossed, false });
        }
        d_trigger_highs += x >= level;
        d_before = x;
    }
    const auto [low, high] = std::minmax_element(trigger, trigger + n);
    d_trigger_low = std::min<double>(d_trigger_low, *low);
    d_trigger_high = std::max<double>(d_trigger_high, *high);
    d_trigger_samples += n;
    // noise around a wrong level makes edges without end; the oldest say nothing
    while (d_edges.size() > 4096)
        d_edges.pop_front();
    if (!d_hinted && d_trigger_samples > 16 * d_pri) {
        d_hinted = true;
        const double high_share =
            static_cast<double>(d_trigger_highs) / d_trigger_samples;
        if (d_delay.count == 0 && d_edges.empty())
            d_notices.add("the trigger has no edge in ",
                          d_trigger_samples,
                          " samples: it lies between ",
                          d_trigger_low,
                          " and ",
                          d_trigger_high,
                          ", trigger_level is ",
                          d_p.trigger_level,
                          " +- ",
                          d_p.trigger_hysteresis,
                          "; is it the other channel?");
        else if (!both && high_share > 0.8)
            d_notices.add("the trigger is ",
                          falling ? "low" : "high",
                          " for ",
                          std::lround(100 * high_share),
                          " % of the time; it looks inverted: edge '",
                          falling ? "rising" : "falling",
                          "' may be meant");
    }
}

void framer::drop_before(std::int64_t u)
{
    u = std::min(u, end_of_buffer());
    if (u <= d_first)
        return;
    d_skip += static_cast<std::size_t>(u - d_first);
    d_first = u;
    if (d_skip > chunk && d_skip > d_main.size() / 2) {
        d_main.erase(d_main.begin(), d_main.begin() + d_skip);
        if (!d_ref.empty())
            d_ref.erase(d_ref.begin(), d_ref.begin() + d_skip);
        d_skip = 0;
    }
}

std::int64_t framer::keep_from() const
{
    // a line may begin before its pulse
    const auto before =
        static_cast<std::int64_t>(
            std::ceil(std::max(0.0, -d_start_offset - d_fs * std::min(0.0, d_p.delay_s)) +
                      d_fs * std::abs(d_p.reference_delay_s))) +
        d_taps + guard + 2 + (d_image_of ? d_image_of->before() : 0);
    std::int64_t keep = end_of_buffer() - before;
    if (!d_found.empty()) {
        keep = std::min(
            keep,
            std::min(line_start(d_found.front()).whole, d_found.front().epoch.whole) -
                before);
        if (d_found.front().seen.found)
            keep = std::min(keep, d_found.front().seen_at.whole - before);
    }
    if (!d_edges.empty())
        keep = std::min(keep, d_edges.front().at.whole - before);
    if (!follows_trigger() && d_measures) {
        if (!d_numbered || d_adrift)
            keep = std::min(keep, d_search - before);
        else
            keep = std::min(keep,
                            predicted(d_detect).whole -
                                static_cast<std::int64_t>(std::ceil(d_pri / 2)) - before);
    } else if (by_schedule() && d_numbered && !d_adrift) {
        found_pulse p;
        p.epoch = later(grid(d_detect), d_fs * d_p.delay_s);
        keep = std::min(keep, line_start(p).whole - before);
    }
    return keep;
}

} // namespace framing
} // namespace sar
} // namespace gr
