// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The class behind pulse_framer; its members are in framer_*.cc by subject.

#include "../core/errors.h"
#include "../core/host_clock.h"
#include "../core/notices.h"
#include "../core/pulse_arrival.h"
#include "image_estimate.h"
#include "pulse_code.h"
#include "pulse_framer.h"
#include "pulse_framer_math.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <gnuradio/fft/fft.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace framing {

constexpr int guard = 16; // samples that a sub-sample arrival looks at on either side
constexpr int warm = 8;   // pulses until interval and delay are taken for known

using complex_double = std::complex<double>;

/*!
 * \brief DC of the receiver, undisturbed by pulses.
 *
 * The mean of a chirp is not 0: it passes the frequency 0. But it is there for a moment
 * only, and elsewhere the mean over a few samples is near 0. So: the median of such
 * means, part by part, over the newest 65536 samples.
 */
class dc_estimate
{
public:
    void add(const cf32* x, int n)
    {
        for (int i = 0; i < n; ++i) {
            d_sum = d_sum + x[i];
            if (++d_in_sum < length)
                continue;
            const cf32 mean = (1.0f / length) * d_sum;
            if (d_re.size() < kept) {
                d_re.push_back(mean.re);
                d_im.push_back(mean.im);
            } else {
                d_re[d_next % kept] = mean.re;
                d_im[d_next % kept] = mean.im;
            }
            ++d_next;
            d_sum = { 0, 0 };
            d_in_sum = 0;
        }
        // often at first, then every so often
        if (d_next > d_done && (d_next < kept || d_next - d_done >= kept / 16)) {
            d_done = d_next;
            d_value = { median(d_re), median(d_im) };
        } else if (d_next == 0 && d_in_sum > 0)
            d_value = (1.0f / static_cast<float>(d_in_sum)) * d_sum;
    }
    cf32 value() const { return d_value; }

private:
    static constexpr int length = 64;
    static constexpr std::size_t kept = 1024;

    float median(const std::vector<float>& values)
    {
        d_sorted = values;
        const auto middle = d_sorted.begin() + d_sorted.size() / 2;
        std::nth_element(d_sorted.begin(), middle, d_sorted.end());
        return *middle;
    }

    cf32 d_sum{ 0, 0 };
    int d_in_sum = 0;
    std::vector<float> d_re, d_im, d_sorted;
    std::size_t d_next = 0;
    std::size_t d_done = 0;
    cf32 d_value{ 0, 0 };
};

class framer final : public kernel::pulse_framer
{
public:
    explicit framer(const pulse_framer_params& params);

    const pulse_framer_params& params() const override { return d_p; }
    double line_rate_hz() const override { return d_p.acq->prf_hz / d_p.presum; }
    void tell(const kernel::radio_news& news) override;
    int feed(const cf32* samples,
             const cf32* reference,
             const float* trigger,
             int n,
             double host_s) override;
    void end() override { d_closing = d_ending = true; }
    void not_sent(std::int64_t first, std::int64_t last) override
    {
        if (last >= first && first >= 0)
            d_not_sent.push_back({ first, last });
    }
    std::optional<std::int64_t> ready() override;
    bool next(framed_line& facts, cf32* out) override;
    framer_status status() const override;
    std::vector<std::string> warnings() const override { return d_warnings; }
    std::vector<std::string> notices() override { return d_notices.take(); }

private:
    //! A pulse whose place in the buffer is known.
    struct found_pulse {
        std::int64_t n = 0;
        sample_time epoch; // its first sample at range zero
        bool confirmed = false;
        bool estimated = false;
        bool measured = false;
        arrival seen;
        double delay_samples = 0; // of the measured pulse against grid or schedule
        double phase_rad = 0;     // smoothed
        sample_time seen_at;      // of the measured pulse
    };
    struct edge {
        sample_time at;
        bool rising;
    };

    void check() const;

    //! Once it is known: pulses come at another interval than acq says.
    void say_interval()
    {
        if (d_delay.count != warm)
            return;
        if (const double ppm = 1e6 * d_delay.rate / d_pri; std::abs(ppm) > 100)
            d_notices.add("pulses come every ",
                          interval(),
                          " samples, where prf_hz of acq says ",
                          d_pri,
                          ": ",
                          std::lround(ppm),
                          " ppm");
    }

    // ---- times
    double interval() const { return d_pri + d_delay.rate; }
    sample_time grid(std::int64_t n) const { return pulse_time(d_grid, n, d_pri); }
    sample_time predicted(std::int64_t n) const { return later(grid(n), d_delay.at(n)); }
    std::int64_t nearest(sample_time t) const
    {
        std::int64_t n = pulse_number(d_grid, later(t, -d_delay.value), d_pri);
        for (int i = 0; i < 3; ++i) // the interval may differ from the nominal one
            n += std::llround(between(t, predicted(n)) / interval());
        return n;
    }
    double tolerance() const
    {
        return d_delay.count < warm && follows_trigger()
                   ? std::max(d_tolerance, 0.1 * d_pri)
                   : d_tolerance;
    }
    double time_s(sample_time u) const
    {
        const double since = (static_cast<double>(u.whole) + u.part) / d_fs;
        return d_based ? static_cast<double>(d_base.seconds) + (d_base.fraction_s + since)
                       : since;
    }
    sample_time origin() const;

    // ---- the buffer
    std::int64_t end_of_buffer() const
    {
        return d_first + static_cast<std::int64_t>(d_main.size() - d_skip);
    }
    const cf32* at(const std::vector<cf32>& x, std::int64_t u) const
    {
        return x.data() + d_skip + (u - d_first);
    }
    const std::vector<cf32>& measured_stream() const
    {
        return d_reference_used ? d_ref : d_main;
    }
    void drop_before(std::int64_t u);
    std::int64_t keep_from() const;

    // ---- gaps
    enum class verdict { none, good, bad, based };
    verdict check_stamp(const radio_time& t, const kernel::radio_news& news);
    void close(bool known, std::int64_t lost, std::int64_t settle, bool anew);
    void open();
    void shift(std::int64_t samples);
    std::int64_t resume(sample_time at, std::optional<int> place = std::nullopt);
    void say_unseen(std::uint64_t lost_before, const char* what);

    // ---- where pulses are
    bool follows_trigger() const { return d_mode == framer_alignment::trigger; }
    bool by_schedule() const
    {
        return d_mode == framer_alignment::scheduled || d_mode == framer_alignment::burst;
    }
    void choose();
    void detect();
    void detect_scheduled();
    void detect_measured();
    bool acquire();
    void number(sample_time t, std::optional<int> place);
    bool seeks_place();
    void begin_search(sample_time t, const arrival& a);
    enum class search { waits, lost, done };
    search follow_search();
    arrival decoded(arrival a, std::int64_t n) const
    {
        a.amplitude /= std::abs(d_code.at(n));
        a.phase_rad -= std::arg(d_code.at(n));
        return a;
    }
    void detect_trigger();
    void scan(const float* trigger, int n, std::int64_t first);
    void take(std::int64_t n, sample_time seen_at, const arrival& seen);
    void miss(std::int64_t n);
    bool lost_unseen(sample_time at);
    void push(found_pulse p);
    void measure(found_pulse& p);
    void odd_interval(sample_time at, double interval_samples);

    // ---- lines
    bool was_sent(std::int64_t n);
    sample_time line_start(const found_pulse& p) const;
    //! Is pulse \p n the ramp back of a triangle?
    bool way_back(std::int64_t n) const
    {
        return (n & 1) && (d_p.acq->sweep == sweep_shape::triangle ||
                           (d_p.edge == trigger_edge::both && follows_trigger()));
    }
    bool raw_line(framed_line& facts, std::vector<cf32>& line);
    void build(const found_pulse& p, sample_time start, cf32* out);
    void between_samples(const std::vector<cf32>& x, sample_time start, cf32* out, int n);
    void equalise(const found_pulse& p, cf32* line);
    bool prepare();
    bool summed(framed_line& facts);
    void condition(const cf32* in, cf32* out, int n, bool echoes);
    void conjugate_of(const cf32* x, cf32* out, int n, std::int64_t rotated) const;
    void take_off_image(complex_double w, cf32* x, int n, std::int64_t rotated);
    bool measure_image(const found_pulse& p);

    const pulse_framer_params d_p;
    const double d_fs;
    const double d_pri;
    const int d_samples;
    int d_taps = 32;
    double d_beta = 0;
    double d_start_offset = 0; // line against epoch, samples
    double d_tolerance = 0;
    int d_smoothing = 1;
    std::unique_ptr<pulse_arrival> d_arrival;
    const pulse_code d_code;

    framer_alignment d_mode = framer_alignment::automatic;
    bool d_chosen = false;
    bool d_measures = false; // pulses are looked for in the samples
    bool d_reference_used = false;

    // buffer: samples d_first .. of one segment without gaps
    std::vector<cf32> d_main, d_ref;
    std::size_t d_skip = 0;
    std::int64_t d_first = 0;
    std::int64_t d_segment = 0; // first sample since the newest gap
    std::int64_t d_slip = 0;    // of d_first, after samples were conditioned
    std::int64_t d_discard = 0; // samples after a retune
    std::uint64_t d_delivered = 0;
    bool d_closing = false;
    bool d_ending = false;
    bool d_adrift = false; // how much was lost before the segment is not known
    struct {
        bool known = true;
        std::int64_t lost = 0;
        std::int64_t settle = 0;
        bool anew = false;
    } d_after;
    bool d_anew = false;
    bool d_estimated = false;
    bool d_guessed = false; // the next pulse's number rests on the host's clock

    // clock of the stamps
    bool d_based = false;
    radio_time d_base;     // time of u = 0
    bool d_loose = false;  // d_base was set in a segment whose place was not known
    bool d_unsure = false; // u rests on the host's clock
    std::int64_t d_stamp_u = 0;
    double d_stamp_ratio = 0;
    int d_stamp_same = 0;
    double d_frequency_hz = 0;
    double d_first_frequency_hz = 0;
    double d_after_hz = 0;
    int d_step = 0;
    host_clock d_host;

    // pulses
    bool d_numbered = false; // d_grid holds
    sample_time d_grid;      // of pulse 0
    trend d_delay;           // of pulses against the grid
    trend d_phase;
    std::int64_t d_detect = 0; // next to look for
    std::int64_t d_search = 0; // from where to acquire
    std::int64_t d_needs = 0;  // a pulse is looked for again when this sample is there
    int d_misses = 0;
    //! Pulses looked at until it is clear which of the code they are.
    struct {
        bool on = false;
        std::int64_t k = 0; // of the newest one
        sample_time at;
        int missed = 0; // since
        struct pulse {
            std::int64_t k;
            sample_time at;
        };
        std::deque<pulse> waiting; // whose samples are kept
    } d_search_of_code;
    code_search d_places{ d_code };
    bool d_told_of_code = false;
    double d_late = 0; // samples by the host's clock, before pulses were waited for
    std::optional<std::uint64_t> d_unseen; // lost_samples before a loss nobody told of
    std::deque<found_pulse> d_found;
    std::deque<edge> d_edges;
    struct numbers {
        std::int64_t first, last;
    };
    std::vector<numbers> d_not_sent;
    sample_time d_odd_at;
    double d_odd_interval = 0;
    int d_odd = 0;
    std::uint64_t d_odd_from = 0;
    int d_burst_pulses = 0; // of the newest buffer
    int d_next_burst_pulses = 0;
    std::int64_t d_burst_first = 0;

    // trigger
    bool d_high = false, d_trigger_seen = false;
    float d_before = 0;
    sample_time d_crossed;
    double d_trigger_low = 0, d_trigger_high = 0;
    std::uint64_t d_trigger_samples = 0, d_trigger_highs = 0;
    bool d_hinted = false;

    // lines
    bool d_prepared = false;
    framed_line d_facts;
    std::vector<cf32> d_line, d_held, d_mean, d_waiting, d_sum;
    framed_line d_waiting_facts;
    bool d_waits = false;
    int d_in_sum = 0;
    framed_line d_sum_facts;
    double d_sum_last_s = 0; // time of the newest pulse in it
    std::int64_t d_stop = 0;
    std::uint64_t d_mean_count = 0;
    bool d_started = false;
    std::int64_t d_next = 0; // number of the next line
    std::int64_t d_last_raw = 0;
    double d_last_raw_s = 0;
    bool d_raw_started = false;
    std::vector<float> d_weights;
    std::vector<cf32> d_padded;
    std::vector<cf32> d_pulse_mean;
    std::vector<gr_complex> d_filter;
    int d_pulse_count = 0;
    struct transforms {
        explicit transforms(int n) : forward(n), inverse(n) {}
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
    };
    std::unique_ptr<transforms> d_fft;

    // conditioning
    dc_estimate d_dc;
    std::unique_ptr<image_estimate> d_image_of;
    complex_double d_image = 0;    // against what is received
    int d_image_pulses = 0;        // it rests on
    std::int64_t d_image_next = 0; // pulse that is looked at next
    std::vector<cf32> d_conjugate;
    std::int64_t d_rotated = 0; // u without slip

    framer_status d_status;
    double d_jitter2 = 0;
    std::vector<std::string> d_warnings;
    sar::notices d_notices;
};

} // namespace framing
} // namespace sar
} // namespace gr
