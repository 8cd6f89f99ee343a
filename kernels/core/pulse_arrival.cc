// SPDX-License-Identifier: GPL-3.0-or-later
#include "pulse_arrival.h"
#include "constants.h"
#include "errors.h"
#include "range_doppler.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <gnuradio/fft/fft.h>
#include <mutex>
#include <volk/volk.h>

namespace gr {
namespace sar {

namespace {

using complex_double = std::complex<double>;

constexpr int nodes = 9;        // odd: the middle one is no shift at all
constexpr double reach = 0.625; // of the outermost shifts, samples
constexpr int guard = 16;       // samples of a shifted replica beyond the pulse

//! Shift of a node, samples; Chebyshev nodes keep the polynomial true up to the ends.
double node_shift(int i) { return reach * std::cos(pi * (i + 0.5) / nodes); }

//! sum a conj b. Floats within a thousand terms, double beyond: a long pulse loses
//! nothing.
complex_double correlate(const cf32* a, const cf32* b, int n)
{
    constexpr int block = 1024;
    complex_double sum = 0;
    for (int i = 0; i < n; i += block) {
        lv_32fc_t part;
        volk_32fc_x2_conjugate_dot_prod_32fc(&part,
                                             reinterpret_cast<const lv_32fc_t*>(a + i),
                                             reinterpret_cast<const lv_32fc_t*>(b + i),
                                             std::min(block, n - i));
        sum += complex_double(part.real(), part.imag());
    }
    return sum;
}

double energy_of(const cf32* x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += static_cast<double>(x[i].re) * x[i].re +
               static_cast<double>(x[i].im) * x[i].im;
    return sum;
}

//! Polynomial in u, |u| <= 1, lowest first.
using coefficients = std::array<complex_double, nodes>;

complex_double value(const coefficients& c, double u)
{
    complex_double y = 0;
    for (int i = nodes - 1; i >= 0; --i)
        y = y * u + c[i];
    return y;
}

complex_double slope(const coefficients& c, double u)
{
    complex_double y = 0;
    for (int i = nodes - 1; i >= 1; --i)
        y = y * u + static_cast<double>(i) * c[i];
    return y;
}

//! Coefficients of the polynomial through values at the nodes: Chebyshev series by its
//! discrete orthogonality, then powers of u by T[k+1] = 2 u T[k] - T[k-1].
struct polynomial_maker {
    std::array<std::array<double, nodes>, nodes> of_value; // [coefficient][node]

    polynomial_maker() : of_value{}
    {
        std::array<double, nodes> before = {}, now = {}; // T[k-1], T[k]
        now[0] = 1;
        for (int k = 0; k < nodes; ++k) {
            for (int i = 0; i < nodes; ++i) {
                const double weight =
                    (k ? 2.0 : 1.0) / nodes * std::cos(pi * k * (i + 0.5) / nodes);
                for (int power = 0; power < nodes; ++power)
                    of_value[power][i] += weight * now[power];
            }
            std::array<double, nodes> next = {};
            for (int power = 0; power < nodes; ++power)
                next[power] =
                    (power ? (k ? 2.0 : 1.0) * now[power - 1] : 0.0) - before[power];
            before = now;
            now = next;
        }
    }

    coefficients through(const coefficients& values) const
    {
        coefficients c;
        for (int power = 0; power < nodes; ++power) {
            c[power] = 0;
            for (int i = 0; i < nodes; ++i)
                c[power] += of_value[power][i] * values[i];
        }
        return c;
    }
};

} // namespace

struct pulse_arrival::state {
    std::vector<cf32> replica;
    int longest;
    double least_snr_db;
    double energy = 0;
    double rms_w = 0;       // sqrt(<w^2>), rad/sample
    double bandwidth_w = 0; // sqrt(<w^2> - <w>^2)
    //! Shifted replicas, [nodes][guard + pulse + guard]: later by node_shift().
    std::vector<cf32> shifted;
    polynomial_maker polynomials;
    int length = 0;               // of the transforms of a stretch
    std::vector<cf32> filter;     // conj P / length
    std::vector<float> sidelobes; // |sum p[n] conj p[n - k]| / E, k = 0 .. pulse - 1

    struct worker {
        explicit worker(int n) : forward(n), inverse(n) {}
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
    };
    mutable std::mutex lock;
    mutable std::vector<std::unique_ptr<worker>> idle;

    int pulse() const { return static_cast<int>(replica.size()); }
    int covered() const { return pulse() + 2 * guard; }

    std::unique_ptr<worker> borrow() const
    {
        {
            const std::lock_guard<std::mutex> guarded(lock);
            if (!idle.empty()) {
                std::unique_ptr<worker> w = std::move(idle.back());
                idle.pop_back();
                return w;
            }
        }
        return std::make_unique<worker>(length);
    }
    void give_back(std::unique_ptr<worker> w) const
    {
        const std::lock_guard<std::mutex> guarded(lock);
        idle.push_back(std::move(w));
    }

    void make_shifts();
    void make_filter();
    complex_double at(const cf32* stretch, int n, int delay, int node) const;
    arrival refine(const cf32* stretch, int n, int delay) const;
};

//! Replicas shifted through their spectrum, and moments of that.
void pulse_arrival::state::make_shifts()
{
    const int m = line_fft_length(2 * covered());
    worker w(m);
    std::fill_n(w.forward.get_inbuf(), m, gr_complex(0));
    for (int i = 0; i < pulse(); ++i)
        w.forward.get_inbuf()[guard + i] = { replica[i].re, replica[i].im };
    w.forward.execute();
    const gr_complex* const spectrum = w.forward.get_outbuf();
    const auto frequency = [m](int k) {
        return 2 * pi * (k <= m / 2 ? k : k - m) / m; // rad/sample
    };
    double total = 0, mean = 0, square = 0;
    for (int k = 0; k < m; ++k) {
        const double p = std::norm(complex_double(spectrum[k]));
        const double f = m % 2 == 0 && k == m / 2 ? 0.0 : frequency(k); // both signs
        total += p;
        mean += p * f;
        square += p * frequency(k) * frequency(k);
    }
    mean /= total;
    square /= total;
    rms_w = std::sqrt(square);
    bandwidth_w = std::sqrt(std::max(0.0, square - mean * mean));

    shifted.resize(static_cast<std::size_t>(nodes) * covered());
    for (int node = 0; node < nodes; ++node) {
        for (int k = 0; k < m; ++k) {
            const double a = -frequency(k) * node_shift(node);
            const complex_double turn = 2 * k == m
                                            ? complex_double(std::cos(a))
                                            : complex_double(std::cos(a), std::sin(a));
            const complex_double v =
                complex_double(spectrum[k]) * turn / static_cast<double>(m);
            w.inverse.get_inbuf()[k] = gr_complex(v);
        }
        w.inverse.execute();
        for (int i = 0; i < covered(); ++i) {
            const gr_complex v = w.inverse.get_outbuf()[i];
            shifted[static_cast<std::size_t>(node) * covered() + i] = { v.real(),
                                                                        v.imag() };
        }
    }
}

void pulse_arrival::state::make_filter()
{
    length = line_fft_length(longest + pulse() - 1);
    auto w = std::make_unique<worker>(length);
    std::fill_n(w->forward.get_inbuf(), length, gr_complex(0));
    for (int i = 0; i < pulse(); ++i)
        w->forward.get_inbuf()[i] = { replica[i].re, replica[i].im };
    w->forward.execute();
    filter.resize(length);
    for (int k = 0; k < length; ++k) {
        const gr_complex p = w->forward.get_outbuf()[k];
        filter[k] = (1.0f / length) * cf32{ p.real(), -p.imag() };
        w->inverse.get_inbuf()[k] = p * gr_complex(filter[k].re, filter[k].im);
    }
    w->inverse.execute();
    sidelobes.resize(pulse());
    for (int k = 0; k < pulse(); ++k)
        sidelobes[k] = static_cast<float>(
            std::abs(complex_double(w->inverse.get_outbuf()[k])) / energy);
    give_back(std::move(w));
}

pulse_arrival::pulse_arrival(std::vector<cf32> replica,
                             int max_stretch,
                             double least_snr_db)
    : d_state(std::make_unique<state>())
{
    require(replica.size() >= 2 && replica.size() <= 1 << 24,
            "replica has ",
            replica.size(),
            " samples; expected 2 to 2^24");
    const int samples = static_cast<int>(replica.size());
    double mean = 0;
    for (int i = 0; i < samples; ++i) {
        require(is_finite(replica[i]),
                "replica[",
                i,
                "] is not finite; expected complex numbers");
        mean += norm(replica[i]) / samples;
    }
    require(mean > 1e-30 && mean < 1e30,
            "replica has a mean power of ",
            mean,
            "; expected the samples of a pulse, 1e-30 to 1e30");
    require(max_stretch >= samples && max_stretch <= 1 << 27,
            "max_stretch is ",
            max_stretch,
            "; expected at least the ",
            samples,
            " samples of the replica, and at most 2^27");
    require(std::isfinite(least_snr_db) && least_snr_db >= 10,
            "least_snr_db is ",
            least_snr_db,
            "; expected 10 dB or more, since noise alone reaches less");
    d_state->energy = energy_of(replica.data(), samples);
    d_state->replica = std::move(replica);
    d_state->longest = max_stretch;
    d_state->least_snr_db = least_snr_db;
    d_state->make_shifts();
    // at a bound of 1000 samples an arrival says nothing
    require(d_state->bandwidth_w > 1e-6,
            "replica has a bandwidth of ",
            d_state->bandwidth_w,
            " rad/sample; expected a pulse whose delay can be seen");
    d_state->make_filter();
}

pulse_arrival::pulse_arrival(pulse_arrival&&) noexcept = default;
pulse_arrival& pulse_arrival::operator=(pulse_arrival&&) noexcept = default;
pulse_arrival::~pulse_arrival() = default;

int pulse_arrival::replica_samples() const { return d_state->pulse(); }
int pulse_arrival::max_stretch() const { return d_state->longest; }
const std::vector<cf32>& pulse_arrival::replica() const { return d_state->replica; }
double pulse_arrival::least_snr_db() const { return d_state->least_snr_db; }

//! Correlation at a delay of whole samples plus the shift of a node; the stretch is zero
//! beyond its ends.
complex_double
pulse_arrival::state::at(const cf32* stretch, int n, int delay, int node) const
{
    const int begin = std::max(0, delay - guard);
    const int end = std::min(n, delay - guard + covered());
    return correlate(stretch + begin,
                     shifted.data() + static_cast<std::size_t>(node) * covered() +
                         (begin - (delay - guard)),
                     end - begin);
}

//! The maximum of the correlation within a sample of \p delay.
arrival pulse_arrival::state::refine(const cf32* stretch, int n, int delay) const
{
    arrival a;
    coefficients values;
    for (int i = 0; i < nodes; ++i)
        values[i] = at(stretch, n, delay, i);
    const coefficients c = polynomials.through(values);
    // its highest point on a grid, then where the slope of |R|^2 changes sign
    constexpr int steps = 25;
    const auto power = [&c](double u) { return std::norm(value(c, u)); };
    const auto rising = [&c](double u) {
        return (slope(c, u) * std::conj(value(c, u))).real() > 0;
    };
    const auto place = [](int i) { return -1 + 2.0 * i / (steps - 1); };
    int best = 0;
    for (int i = 1; i < steps; ++i)
        if (power(place(i)) > power(place(best)))
            best = i;
    if (best == 0 || best == steps - 1)
        return a; // no peak here
    double low = place(best - 1), high = place(best + 1);
    for (int i = 0; i < 40; ++i) {
        const double middle = (low + high) / 2;
        (rising(middle) ? low : high) = middle;
    }
    const double u = (low + high) / 2;
    const complex_double peak = value(c, u);

    const int begin = std::max(0, delay - guard);
    const int end = std::min(n, delay - guard + covered());
    const double signal = std::norm(peak) / energy;
    const double all = energy_of(stretch + begin, end - begin);
    // what floats cannot tell from nothing is not less noise than that
    const double noise = std::max(all - signal, 1e-12 * all) / (end - begin - 1);
    const double snr = signal / noise;
    if (!std::isfinite(snr))
        return a;
    a.snr_db = 10 * std::log10(snr);
    if (a.snr_db < least_snr_db)
        return a;
    a.found = true;
    a.delay_samples = delay + reach * u;
    a.phase_rad = std::arg(peak);
    a.amplitude = std::abs(peak) / energy;
    a.delay_std_samples = 1 / (std::sqrt(2 * snr) * bandwidth_w);
    a.phase_std_rad = rms_w * a.delay_std_samples;
    return a;
}

arrival pulse_arrival::find(const cf32* stretch, int n, int first, int last) const
{
    const state& s = *d_state;
    require(n >= s.pulse(),
            "the stretch has ",
            n,
            " samples; expected at least the ",
            s.pulse(),
            " of the pulse");
    require(n <= s.longest,
            "the stretch has ",
            n,
            " samples; expected at most max_stretch, ",
            s.longest);
    require(first >= 0 && first <= last && last <= n - s.pulse(),
            "the delays searched are ",
            first,
            " to ",
            last,
            " samples; expected first <= last, within 0 to ",
            n - s.pulse(),
            " (stretch minus pulse)");
    std::unique_ptr<state::worker> w = s.borrow();
    const gr_complex* const in = reinterpret_cast<const gr_complex*>(stretch);
    std::copy(in, in + n, w->forward.get_inbuf());
    std::fill(w->forward.get_inbuf() + n, w->forward.get_inbuf() + s.length, 0);
    w->forward.execute();
    volk_32fc_x2_multiply_32fc(w->inverse.get_inbuf(),
                               w->forward.get_outbuf(),
                               reinterpret_cast<const gr_complex*>(s.filter.data()),
                               s.length);
    w->inverse.execute();
    // delay k stands in bin k, or k + length where the pulse begins before the stretch
    const gr_complex* const bins = w->inverse.get_outbuf();
    const auto power = [&](int k) { return std::norm(bins[k < 0 ? k + s.length : k]); };
    int best = first;
    for (int k = first + 1; k <= last; ++k)
        if (power(k) > power(best))
            best = k;
    // Sidelobes of a pulse outside come with its own, higher peak. Half the amplitude
    // from there, and what is left tells nothing.
    bool sidelobe = false;
    const double here = power(best);
    for (int k = std::max(best - s.pulse() + 1, -s.pulse() + 1);
         k <= std::min(best + s.pulse() - 1, n - 1) && !sidelobe;
         ++k) {
        const double there = power(k);
        if ((k < first || k > last) && there > here) {
            const float part = s.sidelobes[std::abs(k - best)];
            sidelobe = part * part * there > 0.25 * here;
        }
    }
    s.give_back(std::move(w));
    return sidelobe ? arrival{} : s.refine(stretch, n, best);
}

arrival pulse_arrival::track(const cf32* stretch,
                             int n,
                             double expected_delay,
                             int half_width) const
{
    const state& s = *d_state;
    require(n >= s.pulse(),
            "the stretch has ",
            n,
            " samples; expected at least the ",
            s.pulse(),
            " of the pulse");
    require(std::isfinite(expected_delay),
            "expected_delay is ",
            expected_delay,
            " samples; expected a number");
    require(
        half_width >= 0, "half_width is ", half_width, "; expected 0 or more samples");
    const double middle = std::rint(expected_delay);
    const double first = std::max(0.0, middle - half_width);
    const double last = std::min<double>(n - s.pulse(), middle + half_width);
    int best = -1;
    double highest = -1;
    for (double k = first; k <= last; ++k) {
        const double p = std::norm(
            correlate(stretch + static_cast<int>(k), s.replica.data(), s.pulse()));
        if (p > highest) {
            highest = p;
            best = static_cast<int>(k);
        }
    }
    return best < 0 ? arrival{} : s.refine(stretch, n, best);
}

std::vector<cf32> transmitted_pulse(const acquisition& acq,
                                    const std::vector<cf32>& replica_if_arbitrary)
{
    require(!acq.in_frequency_domain(),
            "the waveform of the acquisition is ",
            to_string(acq->wave),
            "; expected pulsed_lfm or replica, whose lines hold the pulse");
    if (acq->wave == waveform::replica) {
        require(!replica_if_arbitrary.empty(),
                "replica is empty; expected the samples of the pulse, since the waveform "
                "of the acquisition is replica");
        return replica_if_arbitrary;
    }
    require(replica_if_arbitrary.empty(),
            "replica has ",
            replica_if_arbitrary.size(),
            " samples, but the waveform of the acquisition is ",
            to_string(acq->wave),
            "; leave it empty, or set waveform to replica");
    require(acq->pulse_length_s * acq->sample_rate_hz <= 1 << 24,
            "pulse_length_s * sample_rate_hz is ",
            acq->pulse_length_s * acq->sample_rate_hz,
            " samples; expected at most 2^24");
    std::vector<cf32> pulse(acq.pulse_samples());
    for (std::size_t i = 0; i < pulse.size(); ++i) {
        const double t = i / acq->sample_rate_hz - acq->pulse_length_s / 2;
        const double a = pi * std::fmod(acq->chirp_rate_hz_per_s * t * t, 2.0);
        pulse[i] = { static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a)) };
    }
    return pulse;
}

} // namespace sar
} // namespace gr
