// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/names.h"
#include "../core/range_doppler.h"
#include "delay_calibration.h"
#include "delay_calibration_math.h"
#include <algorithm>
#include <gnuradio/fft/fft.h>

namespace gr {
namespace sar {

namespace {

using complex_double = std::complex<double>;

const name_table<delay_ambiguity, 2> ambiguities = {
    "ambiguity",
    { { { delay_ambiguity::cyclic, "cyclic" },
        { delay_ambiguity::first_pulse, "first_pulse" } } }
};

constexpr int margin = 16; // of a stretch for pulse_arrival: tails of the sinc
//! Of pulses that are followed: leaving out the weaker ones would bias the amplitude.
constexpr double least_followed_snr_db = 10;

void require_positive(const char* name, double value, const char* unit)
{
    require(std::isfinite(value) && value > 0,
            name,
            " is ",
            value,
            " ",
            unit,
            "; expected a positive number");
}

void check(const delay_calibration_params& p)
{
    require_positive("sample_rate_hz", p.sample_rate_hz, "Hz");
    require_positive("search_s", p.search_s, "s");
    require(std::isfinite(p.pri_samples) && p.pri_samples <= 1 << 26,
            "pri_samples is ",
            p.pri_samples,
            "; expected at most 2^26");
    // or the end of one pulse hides the next one
    require(p.pri_samples >= p.replica.size(),
            "pri_samples is ",
            p.pri_samples,
            "; expected at least the ",
            p.replica.size(),
            " samples of the pulse");
    require(p.pulses >= 4 && p.pulses <= 1 << 20,
            "pulses is ",
            p.pulses,
            "; expected 4 to 2^20, through which a line can be put");
    require(std::isfinite(p.first_pulse_samples) &&
                std::abs(p.first_pulse_samples) < 1e15,
            "first_pulse_samples is ",
            p.first_pulse_samples,
            "; expected samples from the first of the stream");
    require(std::isfinite(p.cable_delay_s) && std::abs(p.cable_delay_s) < 1,
            "cable_delay_s is ",
            p.cable_delay_s,
            " s; expected less than a second");
    require(std::isfinite(p.least_snr_db) && p.least_snr_db >= 12,
            "least_snr_db is ",
            p.least_snr_db,
            "; expected 12 dB or more, or noise is taken for a pulse");
    require(p.response_taps >= 0 && p.response_taps <= 4096,
            "response_taps is ",
            p.response_taps,
            "; expected 0 (none) to 4096 on either side");
    require(std::isfinite(p.full_scale) && p.full_scale >= 0,
            "full_scale is ",
            p.full_scale,
            "; expected a level, or 0: not looked at");
    require(p.ambiguity == delay_ambiguity::cyclic || !p.reference,
            "ambiguity is first_pulse together with a reference channel, from which "
            "delays count anyway; expected cyclic");
    require(
        p.ambiguity == delay_ambiguity::cyclic || p.first_pulse_samples >= 0,
        "first_pulse_samples is ",
        p.first_pulse_samples,
        "; expected 0 or more with the ambiguity first_pulse: the first pulse must lie "
        "in the stream, so start to receive before transmission");
}

//! Samples with their place in the stream.
struct held_samples {
    std::vector<cf32> values;
    std::int64_t first = 0;

    std::int64_t end() const { return first + static_cast<std::int64_t>(values.size()); }
    const cf32* at(std::int64_t sample) const { return values.data() + (sample - first); }
    void drop_before(std::int64_t sample)
    {
        const std::int64_t n = std::min(sample, end()) - first;
        if (n <= 0)
            return;
        values.erase(values.begin(), values.begin() + n);
        first += n;
    }
};

class calibration final : public kernel::delay_calibration
{
public:
    explicit calibration(const delay_calibration_params& p)
        : d_params(p),
          d_window(static_cast<int>(std::ceil(p.pri_samples))),
          // clocks differ by up to 50 ppm
          d_half_width(std::max(4, static_cast<int>(std::ceil(5e-5 * p.pri_samples)))),
          d_around(margin + d_half_width + p.response_taps + 2),
          d_pulse(static_cast<int>(p.replica.size())),
          d_finder(p.replica,
                   std::max(d_window - 1 + d_pulse, d_pulse + 2 * d_around + 2),
                   least_followed_snr_db)
    {
        if (p.response_taps > 0)
            d_response = std::make_unique<response>(p.replica, p.response_taps);
        restart(p.first_pulse_samples);
    }

    bool take(const cf32* samples, const cf32* reference, int n) override
    {
        // a piece of a PRI at a time, so that no more than about two are held
        for (int done = 0; done < n && !d_done;) {
            const int piece = std::min(n - done, d_window + d_pulse);
            d_main.values.insert(
                d_main.values.end(), samples + done, samples + done + piece);
            if (d_params.reference)
                d_reference.values.insert(
                    d_reference.values.end(), reference + done, reference + done + piece);
            count_clipped(samples + done, piece);
            done += piece;
            while (!d_done && (d_following ? follow() : search()))
                ;
        }
        return d_done;
    }

    void restart(double first_pulse_samples) override
    {
        d_first_pulse = first_pulse_samples;
        d_main = {};
        d_reference = {};
        d_following = d_done = false;
        d_problem.clear();
        d_best_snr_db = 0;
        d_pulses.clear();
        d_missing = 0;
        d_samples = d_clipped = 0;
        if (d_response)
            d_response->clear();
    }

    delay_estimate estimate() const override;

    const delay_calibration_params& params() const override { return d_params; }

private:
    //! One pulse in the two channels.
    struct pair {
        int number;
        double main; // sample of arrival
        double reference;
        arrival a; // of the main channel, relative to the reference where there is one
    };

    //! Sums up spectra of received pulses.
    class response
    {
    public:
        response(const std::vector<cf32>& replica, int taps)
            : d_taps(taps),
              d_pulse(static_cast<int>(replica.size())),
              d_length(line_fft_length(d_pulse + 2 * taps + 4 * margin)),
              d_forward(d_length),
              d_inverse(d_length),
              d_sum(d_length),
              d_replica(d_length)
        {
            const int before = margin + taps;
            std::fill_n(d_forward.get_inbuf(), d_length, gr_complex(0));
            for (int i = 0; i < d_pulse; ++i)
                d_forward.get_inbuf()[before + i] = { replica[i].re, replica[i].im };
            d_forward.execute();
            for (int k = 0; k < d_length; ++k)
                d_replica[k] = complex_double(d_forward.get_outbuf()[k]);
        }

        void clear() { std::fill(d_sum.begin(), d_sum.end(), 0); }
        int before() const { return margin + d_taps; }
        int covered() const { return d_pulse + 2 * before(); }

        //! \p x: covered() samples, in which the pulse lies at before() + \p fraction.
        void add(const cf32* x, double fraction, const arrival& a)
        {
            std::fill_n(d_forward.get_inbuf(), d_length, gr_complex(0));
            const gr_complex* const from = reinterpret_cast<const gr_complex*>(x);
            std::copy(from, from + covered(), d_forward.get_inbuf());
            d_forward.execute();
            for (int k = 0; k < d_length; ++k) {
                const double f =
                    2 * pi * (k <= d_length / 2 ? k : k - d_length) / d_length;
                d_sum[k] += complex_double(d_forward.get_outbuf()[k]) *
                            std::polar(1 / a.amplitude, f * fraction - a.phase_rad);
            }
        }

        void put(int pulses, double snr_db, delay_estimate& e)
        {
            double strongest = 0, energy = 0;
            for (const complex_double p : d_replica) {
                strongest = std::max(strongest, std::norm(p));
                energy += std::norm(p) / d_length;
            }
            // of the mean of received spectra: what there is less of says nothing
            const double noise =
                std::max(1e-4 * strongest,
                         energy * std::pow(10, -snr_db / 10) * covered() / pulses);
            std::vector<complex_double> h(d_length), inverse(d_length), mean(d_length);
            for (int k = 0; k < d_length; ++k) {
                mean[k] = d_sum[k] / static_cast<double>(pulses);
                const double p = std::norm(d_replica[k]);
                const double share = p / (p + noise);
                h[k] = p > 0 ? share * mean[k] * std::conj(d_replica[k]) / p : 0;
                h[k] += 1 - share;
                // a notch in the band cannot be filled without end
                const double floor = 1e-2;
                inverse[k] = std::conj(h[k]) / std::max(std::norm(h[k]), floor);
            }
            e.response = samples_of(h, -d_taps, 2 * d_taps + 1);
            e.equaliser = samples_of(inverse, -d_taps, 2 * d_taps + 1);
            e.received = samples_of(mean, margin, d_pulse + 2 * d_taps);
        }

    private:
        std::vector<cf32>
        samples_of(const std::vector<complex_double>& spectrum, int first, int n)
        {
            for (int k = 0; k < d_length; ++k)
                d_inverse.get_inbuf()[k] =
                    gr_complex(spectrum[k] / static_cast<double>(d_length));
            d_inverse.execute();
            std::vector<cf32> out(n);
            for (int i = 0; i < n; ++i) {
                const int at = first + i;
                const gr_complex v = d_inverse.get_outbuf()[at < 0 ? at + d_length : at];
                out[i] = { v.real(), v.imag() };
            }
            return out;
        }

        const int d_taps;
        const int d_pulse;
        const int d_length;
        fft::fft_complex_fwd d_forward;
        fft::fft_complex_rev d_inverse;
        std::vector<complex_double> d_sum;
        std::vector<complex_double> d_replica;
    };

    void count_clipped(const cf32* x, int n)
    {
        d_samples += n;
        if (!(d_params.full_scale > 0))
            return;
        const float level = static_cast<float>(0.999 * d_params.full_scale);
        for (int i = 0; i < n; ++i)
            d_clipped += std::abs(x[i].re) >= level || std::abs(x[i].im) >= level;
    }

    //! Samples below this are not needed any more.
    void drop_before(std::int64_t sample)
    {
        d_main.drop_before(sample);
        if (d_params.reference)
            d_reference.drop_before(sample);
    }

    bool search();
    bool follow();
    double expected(double pair::*place, double first, int number) const;
    bool refuse(const std::string& why)
    {
        d_problem = why;
        d_done = true;
        return false;
    }

    const delay_calibration_params d_params;
    const int d_window;
    const int d_half_width;
    const int d_around; // samples before and behind a pulse that following it needs
    const int d_pulse;
    const pulse_arrival d_finder;
    std::unique_ptr<response> d_response;

    double d_first_pulse = 0;
    held_samples d_main, d_reference;
    bool d_following = false;
    bool d_done = false;
    std::string d_problem;
    double d_best_snr_db = 0;
    double d_first_main = 0, d_first_reference = 0; // where the first pulse was found
    int d_number = 0;                               // of the next pulse to follow
    std::vector<pair> d_pulses;
    int d_missing = 0;
    std::int64_t d_samples = 0, d_clipped = 0;
};

//! Look through the next PRI; false when there are not enough samples yet.
bool calibration::search()
{
    const int n = d_window - 1 + d_pulse;
    if (d_main.end() - d_main.first < n)
        return false;
    const std::int64_t first = d_main.first;
    const arrival m = d_finder.find(d_main.at(first), n, 0, d_window - 1);
    arrival r = m;
    if (d_params.reference)
        r = d_finder.find(d_reference.at(first), n, 0, d_window - 1);
    if (std::min(m.snr_db, r.snr_db) < d_params.least_snr_db || !m.found || !r.found) {
        d_best_snr_db = std::max(d_best_snr_db, std::min(m.snr_db, r.snr_db));
        drop_before(first + d_window);
        const double so_far = d_main.first / d_params.sample_rate_hz;
        if (so_far < d_params.search_s || d_main.first < 4 * d_window)
            return true;
        return refuse(sentence(
            "no pulse was found in ",
            so_far,
            " s",
            d_params.reference && r.snr_db < m.snr_db
                ? " of the reference channel"
                : (d_params.reference ? " of the main channel" : ""),
            d_best_snr_db > 0 ? sentence(": the best candidate has an SNR of ",
                                         std::round(10 * d_best_snr_db) / 10,
                                         " dB after correlation, expected ",
                                         d_params.least_snr_db,
                                         " dB or more")
                              : sentence(" that reaches ", d_params.least_snr_db, " dB"),
            "; raise the transmit or receive gain, take out an attenuator, check cable "
            "and "
            "antenna ports, and that pulse, sampling rate and PRF are those "
            "transmitted"));
    }
    d_first_reference = d_params.reference ? first + r.delay_samples : 0;
    d_first_main = first + m.delay_samples;
    if (d_params.reference) {
        // the two may belong to different pulses
        d_first_main =
            d_first_reference +
            smallest_delay(d_first_main - d_first_reference, d_params.pri_samples);
        if (d_first_main < first) {
            d_first_main += d_params.pri_samples;
            d_first_reference += d_params.pri_samples;
        }
    }
    d_following = true;
    d_number = 0;
    return true;
}

//! Where a pulse is due: on the line through the first and the latest, once they are far
//! enough apart to tell the drift.
double calibration::expected(double pair::*place, double first, int number) const
{
    if (d_pulses.empty())
        return first + number * d_params.pri_samples;
    const pair& from = d_pulses.front();
    const pair& last = d_pulses.back();
    const int apart = last.number - from.number;
    const double step =
        apart >= 4 ? (last.*place - from.*place) / apart : d_params.pri_samples;
    return last.*place + (number - last.number) * step;
}

//! The next pulse; false when its samples are not there yet.
bool calibration::follow()
{
    const auto track = [&](const held_samples& x, double place, arrival& a) {
        const std::int64_t first = std::max<std::int64_t>(
            x.first, static_cast<std::int64_t>(std::floor(place)) - d_around);
        const int n = static_cast<int>(static_cast<std::int64_t>(std::floor(place)) +
                                       d_pulse + d_around + 1 - first);
        a = d_finder.track(x.at(first), n, place - first, d_half_width);
        return first;
    };
    const double main = expected(&pair::main, d_first_main, d_number);
    const double reference = d_params.reference
                                 ? expected(&pair::reference, d_first_reference, d_number)
                                 : main;
    const std::int64_t need =
        static_cast<std::int64_t>(std::floor(std::max(main, reference))) + d_pulse +
        d_around + 1;
    if (d_main.end() < need)
        return false;
    pair p = { d_number++, 0, 0, {} };
    arrival m, r;
    const std::int64_t first = track(d_main, main, m);
    bool found = m.found;
    p.main = first + m.delay_samples;
    p.a = m;
    if (d_params.reference && found) {
        const std::int64_t first_reference = track(d_reference, reference, r);
        found = r.found;
        if (found) {
            p.reference = first_reference + r.delay_samples;
            p.a.phase_rad = std::remainder(m.phase_rad - r.phase_rad, 2 * pi);
            p.a.amplitude = m.amplitude / r.amplitude;
            p.a.snr_db = -10 * std::log10(std::pow(10, -m.snr_db / 10) +
                                          std::pow(10, -r.snr_db / 10));
            p.a.delay_std_samples = std::hypot(m.delay_std_samples, r.delay_std_samples);
            p.a.phase_std_rad = std::hypot(m.phase_std_rad, r.phase_std_rad);
        }
    }
    if (found) {
        d_pulses.push_back(p);
        if (d_response) {
            const auto whole = static_cast<std::int64_t>(std::llround(p.main));
            const std::int64_t begin = whole - d_response->before();
            if (begin >= d_main.first && begin + d_response->covered() <= d_main.end())
                d_response->add(d_main.at(begin), p.main - whole, m);
            else // the first pulse stands at the very start of the stream
                d_pulses.pop_back();
        }
    } else {
        ++d_missing;
    }
    if (static_cast<int>(d_pulses.size()) == d_params.pulses)
        d_done = true;
    else if (d_missing >= std::max(8, d_params.pulses / 2))
        return refuse(sentence(
            "of ",
            d_number,
            " pulses only ",
            d_pulses.size(),
            " were where the first one and a PRI of ",
            d_params.pri_samples,
            " samples say; check prf_hz and the sampling rate, whether samples are lost "
            "(overflow), and whether the transmitter runs dry (underflow)"));
    const double next = std::min(
        expected(&pair::main, d_first_main, d_number),
        d_params.reference ? expected(&pair::reference, d_first_reference, d_number)
                           : 1e300);
    drop_before(static_cast<std::int64_t>(std::floor(next)) - d_around);
    return !d_done;
}

delay_estimate calibration::estimate() const
{
    delay_estimate e;
    e.cable_delay_s = d_params.cable_delay_s;
    e.pulses = static_cast<int>(d_pulses.size());
    e.pulses_missing = d_missing;
    e.clipped = d_samples ? static_cast<double>(d_clipped) / d_samples : 0;
    if (e.clipped > 1e-3)
        e.warnings.push_back(
            sentence(std::round(1000 * e.clipped) / 10,
                     " % of the samples are at full scale, ",
                     d_params.full_scale,
                     ": put in an attenuator or lower a gain, or the "
                     "amplitude is wrong and noise hides in distortion"));
    const double fs = d_params.sample_rate_hz, pri = d_params.pri_samples;
    std::vector<double> times, delays, phases;
    std::vector<int> numbers;
    double delay_var = 0, phase_var = 0, amplitude = 0, snr = 0;
    for (const pair& p : d_pulses) {
        const double sent =
            d_params.reference ? p.reference : d_first_pulse + p.number * pri;
        numbers.push_back(p.number);
        times.push_back(p.main / fs);
        delays.push_back(p.main - sent);
        phases.push_back(p.a.phase_rad);
        delay_var += p.a.delay_std_samples * p.a.delay_std_samples / e.pulses;
        phase_var += p.a.phase_std_rad * p.a.phase_std_rad / e.pulses;
        amplitude += p.a.amplitude / e.pulses;
        snr += std::pow(10, p.a.snr_db / 10) / e.pulses;
        e.arrivals.push_back({ p.number,
                               p.main / fs,
                               p.main - sent,
                               p.a.phase_rad,
                               p.a.amplitude,
                               p.a.snr_db });
    }
    if (e.pulses) {
        e.amplitude_db = 20 * std::log10(amplitude);
        e.snr_db = 10 * std::log10(snr);
    }
    if (!d_done || !d_problem.empty()) {
        e.problem = d_problem;
        if (d_problem.empty())
            e.problem = sentence("the stream ended after ",
                                 d_samples / fs,
                                 " s with ",
                                 e.pulses,
                                 " of ",
                                 d_params.pulses,
                                 " pulses measured; give a longer recording or ask for "
                                 "fewer pulses");
        return e;
    }
    // a step from pulse to pulse is no drift
    std::vector<double> steps;
    for (std::size_t i = 1; i < delays.size(); ++i)
        steps.push_back((delays[i] - delays[i - 1]) / (numbers[i] - numbers[i - 1]));
    std::vector<double> sorted = steps;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    const double usual = sorted[sorted.size() / 2];
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double jump = (steps[i] - usual) * (numbers[i + 1] - numbers[i]);
        if (std::abs(jump) > std::max(0.5, 8 * std::sqrt(2 * delay_var))) {
            e.problem = sentence("the delay jumps by ",
                                 std::round(10 * jump) / 10,
                                 " samples at pulse ",
                                 numbers[i + 1],
                                 ": samples are lost in the receiver or the transmitter; "
                                 "lower the sampling rate or enlarge the buffers");
            return e;
        }
    }
    const straight_line d = fit_line(times, delays, std::sqrt(delay_var));
    const straight_line p =
        fit_line(times, unwrap_phases(numbers, phases), std::sqrt(phase_var));
    double delay = d.value;
    if (d_params.reference) {
        delay = smallest_delay(delay, pri);
        e.ambiguity_s = pri / fs;
    } else if (d_params.ambiguity == delay_ambiguity::cyclic) {
        delay = cyclic_delay(delay, pri);
        e.ambiguity_s = pri / fs;
    } else if (delay < -1) {
        e.problem =
            sentence("the first pulse arrives ",
                     -delay,
                     " samples before it was sent; check when transmission begins");
        return e;
    }
    e.valid = true;
    e.delay_s = delay / fs - e.cable_delay_s;
    e.delay_std_s = d.value_std / fs;
    e.phase_rad = std::remainder(p.value, 2 * pi);
    e.phase_std_rad = p.value_std;
    e.drift_samples_per_s = d.slope;
    e.drift_std_samples_per_s = d.slope_std;
    e.drift_rad_per_s = p.slope;
    e.residual_frequency_hz = p.slope / (2 * pi);
    e.residual_frequency_std_hz = p.slope_std / (2 * pi);
    e.time_s = d.middle;
    if (d_missing)
        e.warnings.push_back(sentence(d_missing,
                                      " of ",
                                      d_number,
                                      " pulses were missing; samples are lost, or the "
                                      "transmitter runs dry"));
    if (d_response)
        d_response->put(e.pulses, e.snr_db, e);
    return e;
}

} // namespace

delay_ambiguity delay_ambiguity_from_name(const std::string& n)
{
    return ambiguities.from_name(n);
}
std::string to_string(delay_ambiguity a) { return ambiguities.to_name(a); }

std::unique_ptr<kernel::delay_calibration>
kernel::delay_calibration::make(const delay_calibration_params& params)
{
    check(params);
    return std::make_unique<calibration>(params);
}

std::vector<cf32> equalised_replica(const std::vector<cf32>& pulse,
                                    const std::vector<cf32>& equaliser)
{
    require(equaliser.size() % 2 == 1,
            "equaliser has ",
            equaliser.size(),
            " taps; expected an odd number, the middle one at delay 0");
    // the taps of 1 / H* are those of 1 / H conjugated and turned round
    std::vector<complex_double> sum(pulse.size() + equaliser.size() - 1);
    const std::size_t n = equaliser.size();
    for (std::size_t k = 0; k < n; ++k) {
        const complex_double tap(equaliser[n - 1 - k].re, -equaliser[n - 1 - k].im);
        for (std::size_t i = 0; i < pulse.size(); ++i)
            sum[i + k] += tap * complex_double(pulse[i].re, pulse[i].im);
    }
    std::vector<cf32> out;
    for (const complex_double v : sum)
        out.push_back({ static_cast<float>(v.real()), static_cast<float>(v.imag()) });
    return out;
}

} // namespace sar
} // namespace gr
