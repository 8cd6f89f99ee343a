// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/constants.h"
#include "../core/errors.h"
#include "../core/interpolator.h"
#include "../core/names.h"
#include "../core/pulse_arrival.h"
#include "../core/range_doppler.h"
#include "image_estimate.h"
#include "pulse_code.h"
#include "pulse_framer.h"
#include "pulse_framer_math.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <deque>
#include <gnuradio/fft/fft.h>
#include <limits>
#include <volk/volk.h>

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

constexpr int guard = 16; // samples that a sub-sample arrival looks at on either side
constexpr int warm = 8;   // pulses until interval and delay are taken for known
constexpr int trend_memory = 32;
constexpr double side_lobe = 10; // a pulse over what may be a side lobe of it
constexpr int strikes = 4;       // intervals in a row that are not that of acq
constexpr int chunk = 1 << 16;   // samples taken at a time
constexpr double stamp_ppm = 100;
constexpr std::int64_t code_wait = 1 << 22; // samples that wait for a place in the code
constexpr int lost_after = 3;               // pulses of a search for it not found
constexpr int image_memory = 64;            // pulses
constexpr double regularisation = 1e-3; // of the spectrum divided by, against its peak

using complex_double = std::complex<double>;

//! Whole samples and a part of a product that may exceed what a double resolves.
sample_time samples_of(std::int64_t seconds, double fraction_s, double rate_hz)
{
    const long double product = static_cast<long double>(seconds) * rate_hz;
    const long double whole = std::floor(product);
    return later(
        { static_cast<std::int64_t>(whole), static_cast<double>(product - whole) },
        fraction_s * rate_hz);
}

//! What the host's clock says of how many samples were lost.
class host_clock
{
public:
    explicit host_clock(double rate_hz) : d_rate_hz(rate_hz) {}

    void arrived(double host_s, std::uint64_t delivered)
    {
        const double lag = host_s - static_cast<double>(delivered) / d_rate_hz;
        if (d_known == 0 || host_s - d_begin[0] > bucket_s) {
            for (int i = buckets - 1; i > 0; --i) {
                d_begin[i] = d_begin[i - 1];
                d_least[i] = d_least[i - 1];
            }
            d_begin[0] = host_s;
            d_least[0] = lag;
            d_known = std::min(d_known + 1, buckets);
        }
        d_least[0] = std::min(d_least[0], lag);
        d_now = lag;
    }

    //! Samples that came too late to be late only; 0 when the stream is not live.
    double lost_samples() const
    {
        if (d_known < 2)
            return 0;
        // a recording that is read as fast as it goes, or slower, says nothing
        const int last = d_known - 1;
        if (last >= 2 &&
            std::abs(d_least[1] - d_least[last]) > 0.05 * (d_begin[1] - d_begin[last]))
            return 0;
        return std::max(0.0, (d_now - std::min(d_least[0], d_least[1])) * d_rate_hz);
    }

private:
    static constexpr int buckets = 4;
    static constexpr double bucket_s = 0.25;
    double d_rate_hz;
    double d_begin[buckets] = {};
    double d_least[buckets] = {};
    int d_known = 0;
    double d_now = 0;
};

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
    std::vector<std::string> notices() override
    {
        std::vector<std::string> out;
        out.swap(d_notices);
        return out;
    }

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
    template <typename... Parts>
    void notice(const Parts&... parts)
    {
        if (d_notices.size() < 20) // someone who does not ask does not fill the memory
            d_notices.push_back(sentence(parts...));
    }

    //! Once it is known: pulses come at another interval than acq says.
    void say_interval()
    {
        if (d_delay.count != warm)
            return;
        if (const double ppm = 1e6 * d_delay.rate / d_pri; std::abs(ppm) > 100)
            notice("pulses come every ",
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
    std::vector<std::string> d_notices;
};

framer::framer(const pulse_framer_params& params)
    : d_p(params),
      d_fs(params.acq->sample_rate_hz),
      d_pri(params.pri_samples != 0 ? params.pri_samples
                                    : params.acq->sample_rate_hz / params.acq->prf_hz),
      d_samples(params.acq->samples),
      d_code(params.code.size() <= pulse_code::longest ? params.code
                                                       : std::vector<cf32>()),
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
            std::vector<cf32> pulse =
                d_p.replica.empty() ? transmitted_pulse(acq) : d_p.replica;
            const int m = static_cast<int>(pulse.size());
            require(m <= d_pri,
                    "the pulse has ",
                    m,
                    " samples; expected at most the interval between pulses, ",
                    d_pri);
            d_arrival = std::make_unique<pulse_arrival>(
                std::move(pulse),
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
        const double band = over_delay && acq.bandwidth_hz() > 0
                                ? std::min(1.0, acq.bandwidth_hz() / d_fs)
                                : 1.0;
        d_image_of = std::make_unique<image_estimate>(
            d_p.replica.empty() ? transmitted_pulse(acq) : d_p.replica,
            static_cast<int>(std::ceil(2 / band)),
            d_pri);
        require(d_image_of->possible(),
                "remove_image is on, but the pulse or the interval is too short for it; "
                "expected a pulse of 32 samples or more");
    }
    const double cell = over_delay && acq.bandwidth_hz() > 0
                            ? std::max(1.0, d_fs / acq.bandwidth_hz())
                            : 1.0;
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
    require(d_p.code.size() <= pulse_code::longest,
            "code has ",
            d_p.code.size(),
            " values; expected at most ",
            pulse_code::longest);
    for (std::size_t m = 0; m < d_p.code.size(); ++m)
        require(is_finite(d_p.code[m]) && norm(d_p.code[m]) > 0,
                "code[",
                m,
                "] is ",
                d_p.code[m].re,
                " + ",
                d_p.code[m].im,
                "i; expected numbers that are finite and not 0");
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

// ---- what the radio tells
// ---------------------------------------------------------------

framer::verdict framer::check_stamp(const radio_time& t, const kernel::radio_news& news)
{
    const auto reject = [&](const auto&... why) {
        ++d_status.rejected_stamps;
        notice("rx_time ",
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
            notice("a gap within a buffer before sample ",
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
            notice("a gap of ", lost, " samples before sample ", d_delivered);
        else if (!known)
            notice("a gap of unknown length before sample ", d_delivered);
    }
    if (anew)
        notice("the radio is at ", d_after_hz, " Hz from sample ", d_delivered, " on");
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
        notice("until the next time stamp no line can be placed: a schedule alone cannot "
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
    d_guessed = d_unsure = true;
    d_adrift = false;
    return n;
}

// ---- samples in
// -------------------------------------------------------------------------

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
    if (d_p.frequency_shift_hz != 0) {
        const double turn = -d_p.frequency_shift_hz / d_fs;
        constexpr int run = 256; // samples from one exact phase to the next
        const complex_double step = std::polar(1.0, 2 * pi * turn);
        for (int i = 0; i < n; i += run) {
            const double turns =
                std::fmod(turn * static_cast<double>(d_rotated + i), 1.0);
            complex_double w = std::polar(1.0, 2 * pi * turns);
            for (int k = i; k < std::min(n, i + run); ++k, w *= step)
                out[k] = out[k] * cf32{ static_cast<float>(w.real()),
                                        static_cast<float>(w.imag()) };
        }
    }
    if (d_image != 0.0 && echoes)
        take_off_image(d_image, out, n, d_rotated);
}

//! What the image of samples is made of, behind the frequency shift. \param rotated
//! samples that the shift had turned before
void framer::conjugate_of(const cf32* x, cf32* out, int n, std::int64_t rotated) const
{
    constexpr int run = 256;
    const double turn = -2 * d_p.frequency_shift_hz / d_fs;
    const complex_double step = std::polar(1.0, 2 * pi * turn);
    for (int i = 0; i < n; i += run) {
        const int end = std::min(n, i + run);
        if (turn == 0) {
            for (int k = i; k < end; ++k)
                out[k] = { x[k].re, -x[k].im };
            continue;
        }
        complex_double w = std::polar(
            1.0, 2 * pi * std::fmod(turn * static_cast<double>(rotated + i), 1.0));
        for (int k = i; k < end; ++k, w *= step)
            out[k] = cf32{ x[k].re, -x[k].im } *
                     cf32{ static_cast<float>(w.real()), static_cast<float>(w.imag()) };
    }
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
        d_host.arrived(host_s, d_delivered);
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
    d_host.arrived(host_s, d_delivered);
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
            notice("the trigger has no edge in ",
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
            notice("the trigger is ",
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

// ---- where pulses are
// -------------------------------------------------------------------

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
            notice("no time stamp at the first sample that can be believed: start is "
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
    notice("alignment ", to_string(d_mode), ": ", why);
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
                notice("no pulse was found in ",
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
    if (d_code.told() || (d_code.told_by_drift() && drift_known))
        return true;
    if (!d_told_of_code)
        notice("the code looks alike from each of its ",
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
    if (!d_code.told())
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
            notice("the pulse at sample ",
                   d_delivered - static_cast<std::uint64_t>(end_of_buffer() - d_search),
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
        if (d_places.products() >= d_code.patience()) {
            if (!d_told_of_code)
                notice("in ",
                       d_code.patience(),
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
            notice("the pulse is ",
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
    notice("about ",
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

// ---- lines
// ------------------------------------------------------------------------------

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
                notice("the stream ended within the line of pulse ",
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
        facts.time_s = time_s(later(p.epoch, by_schedule() ? -d_fs * d_p.delay_s : 0.0));
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
            notice(missing,
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
        facts.time_s = d_facts.time_s - static_cast<double>(d_facts.pulse - d_next) *
                                            d_p.presum * interval() / d_fs;
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

} // namespace

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
    return std::make_unique<framer>(params);
}

} // namespace sar
} // namespace gr
