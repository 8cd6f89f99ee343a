// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE pulse_arrival
#include "constants.h"
#include "parallel_for.h"
#include "pulse_arrival.h"
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "qa_pulses.h"
#include "qa_tools.h"
#include <algorithm>
#include <complex>
#include <limits>
#include <random>

using namespace gr::sar;
namespace data = boost::unit_test::data;

// ---- without noise ----

BOOST_DATA_TEST_CASE(any_fraction_of_a_sample_without_bias,
                     data::make({ 0.4, 0.65, 0.9 }) *
                         data::make({ "rect", "hamming", "taylor(5, 35)" }) *
                         data::make({ 128, 401, 509 }),
                     band,
                     shape,
                     n)
{
    const samples pulse = lfm(n, band, shape);
    const pulse_arrival find_pulse(pulse, 2 * n);
    double worst = 0, worst_phase = 0, worst_amplitude = 0;
    for (double fraction = -0.5; fraction <= 0.55; fraction += 0.05) {
        samples x(2 * n);
        const double delay = n / 3 + fraction;
        add(x, pulse, delay, std::polar(0.3, 2.1));
        const arrival a = find_pulse.find(x.data(), 2 * n, 0, n);
        BOOST_REQUIRE(a.found);
        worst = std::max(worst, std::abs(a.delay_samples - delay));
        worst_phase = std::max(worst_phase, std::abs(angle(a.phase_rad - 2.1)));
        worst_amplitude = std::max(worst_amplitude, std::abs(a.amplitude / 0.3 - 1));
        // nothing but a pulse: noise is what the sinc's tails leave
        BOOST_TEST(a.snr_db > 50);
        const arrival t = find_pulse.track(x.data(), 2 * n, delay + 1.7, 3);
        BOOST_TEST(t.found);
        // half way between two samples either may be the one that it starts from
        BOOST_TEST(std::abs(t.delay_samples - a.delay_samples) < 1e-4);
        BOOST_TEST(std::abs(t.phase_rad - a.phase_rad) < 1e-4);
        BOOST_TEST(t.snr_db > 50);
    }
    BOOST_TEST_MESSAGE("bias " << worst << " samples, " << worst_phase << " rad, "
                               << worst_amplitude);
    BOOST_TEST(worst < 1e-3);
    BOOST_TEST(worst_phase < 1e-3);
    BOOST_TEST(worst_amplitude < 2e-3);
}

// A chirp that is switched on and off and sampled as it is has energy beyond half the
// sampling rate, which folds back: samples at its edges come and go whole, so the error
// is a share of one sample of the pulse's n.
BOOST_DATA_TEST_CASE(a_chirp_sampled_at_any_instant,
                     data::make({ 0.4, 0.65, 0.9 }) * data::make({ "rect", "hamming" }) *
                         data::make({ 256, 1023 }),
                     band,
                     shape,
                     n)
{
    const window w(shape);
    const pulse_arrival find_pulse(lfm(n, band, shape), 2 * n);
    double worst = 0;
    for (double fraction = 0; fraction < 1; fraction += 0.05) {
        const double delay = 100 + fraction;
        samples x(2 * n);
        for (int i = 100; i < 100 + n + 1; ++i)
            if (i >= delay && i < delay + n)
                x[i] = to_cf32(chirp(i - delay, n, band, w));
        const arrival a = find_pulse.find(x.data(), 2 * n, 0, n);
        BOOST_REQUIRE(a.found);
        worst = std::max(worst, std::abs(a.delay_samples - delay));
    }
    BOOST_TEST_MESSAGE("bias " << worst);
    BOOST_TEST(worst < 2.2 / n);
    if (n > 500 || w.kind() != window_kind::rect)
        BOOST_TEST(worst < 5e-3);
}

BOOST_AUTO_TEST_CASE(pulses_that_are_no_chirp)
{
    // Barker code of 13 chips of 3 samples, shaped; a PN sequence; a pulse off centre
    std::mt19937 random(4);
    samples noise_like(251);
    add_noise(noise_like, 1, random);
    samples barker;
    for (const int chip : { 1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1 })
        for (const double s : { 0.5, 1.0, 0.5 })
            barker.push_back(to_cf32(s * chip));
    samples off = lfm(200, 0.3);
    for (int i = 0; i < 200; ++i)
        off[i] = off[i] * to_cf32(std::polar(1.0, 2 * pi * 0.2 * i));
    for (const samples& pulse : { noise_like, barker, off }) {
        const int n = static_cast<int>(pulse.size());
        const pulse_arrival find_pulse(pulse, 3 * n);
        for (const double delay : { 0.0, 17.25, 40.5, 2.0 * n }) {
            samples x(3 * n);
            add(x, pulse, delay, std::polar(7.0, -3.0));
            const arrival a = find_pulse.find(x.data(), 3 * n, 0, 2 * n);
            BOOST_REQUIRE(a.found);
            BOOST_TEST(std::abs(a.delay_samples - delay) < 4e-3);
            BOOST_TEST(std::abs(angle(a.phase_rad + 3.0)) < 8e-3);
        }
    }
}

BOOST_AUTO_TEST_CASE(replicas_of_every_length)
{
    for (int n = 2; n <= 70; ++n) {
        std::mt19937 random(n);
        samples pulse(n);
        add_noise(pulse, 1, random);
        const pulse_arrival find_pulse(pulse, n + 40);
        samples x(n + 40);
        add(x, pulse, 21.3, { 0, 1 });
        const arrival a = find_pulse.find(x.data(), n + 40, 0, 40);
        BOOST_TEST(a.found);
        BOOST_TEST(std::abs(a.delay_samples - 21.3) < 0.03,
                   "n = " << n << ", " << a.delay_samples << ", " << a.snr_db << " dB");
    }
}

// ---- noise ----

namespace {

struct scatter {
    double delay_bias = 0, delay_rms = 0, phase_bias = 0, phase_rms = 0;
    double delay_covered = 0, phase_covered = 0; // share within two standard deviations
    double mean_snr = 0, mean_delay_std = 0, mean_phase_std = 0;
    int lost = 0;
};

scatter measure(const samples& pulse, double snr_db, int draws, bool track)
{
    const int n = static_cast<int>(pulse.size());
    const pulse_arrival find_pulse(pulse, n + 80);
    const double delay = 31.37, phase = -1.1;
    samples clean(n + 80);
    add(clean, pulse, delay, std::polar(1.0, phase));
    const double power = energy(pulse) / std::pow(10, snr_db / 10);
    std::mt19937 random(11);
    scatter s;
    int found = 0;
    for (int i = 0; i < draws; ++i) {
        samples x = clean;
        add_noise(x, power, random);
        const arrival a = track ? find_pulse.track(x.data(), n + 80, 30, 4)
                                : find_pulse.find(x.data(), n + 80, 0, 80);
        if (!a.found) {
            ++s.lost;
            continue;
        }
        ++found;
        const double e = a.delay_samples - delay, p = angle(a.phase_rad - phase);
        s.delay_bias += e;
        s.delay_rms += e * e;
        s.phase_bias += p;
        s.phase_rms += p * p;
        s.delay_covered += std::abs(e) < 2 * a.delay_std_samples;
        s.phase_covered += std::abs(p) < 2 * a.phase_std_rad;
        s.mean_snr += std::pow(10, a.snr_db / 10);
        s.mean_delay_std += a.delay_std_samples;
        s.mean_phase_std += a.phase_std_rad;
    }
    for (double* v : { &s.delay_bias,
                       &s.delay_rms,
                       &s.phase_bias,
                       &s.phase_rms,
                       &s.delay_covered,
                       &s.phase_covered,
                       &s.mean_snr,
                       &s.mean_delay_std,
                       &s.mean_phase_std })
        *v /= found;
    s.delay_rms = std::sqrt(s.delay_rms);
    s.phase_rms = std::sqrt(s.phase_rms);
    s.mean_snr = 10 * std::log10(s.mean_snr);
    return s;
}

} // namespace

BOOST_DATA_TEST_CASE(errors_are_those_that_theory_says,
                     data::make({ 18.0, 20.0, 30.0, 45.0 }) * data::make({ 0.4, 0.9 }) *
                         data::make({ false, true }),
                     snr_db,
                     band,
                     track)
{
    const int draws = 600;
    // by hand: rms of a flat band of width 2 pi band is 2 pi band / sqrt(12)
    const double snr = std::pow(10, snr_db / 10);
    const double bound = 1 / (std::sqrt(2 * snr) * 2 * pi * band / std::sqrt(12.0));
    const scatter s = measure(lfm(512, band), snr_db, draws, track);
    BOOST_TEST(s.lost == 0);
    BOOST_TEST(s.delay_covered >= 0.92);
    BOOST_TEST(s.phase_covered >= 0.92);
    BOOST_TEST(s.delay_covered <= 0.985); // nor are they stated larger than they are
    BOOST_TEST(s.phase_covered <= 0.985);
    BOOST_TEST(std::abs(s.delay_bias) < 4 * bound / std::sqrt(draws) + 5e-4);
    BOOST_TEST(std::abs(s.phase_bias) < 4 / std::sqrt(2 * snr * draws) + 5e-4);
    BOOST_TEST(s.delay_rms == bound, boost::test_tools::tolerance(0.12));
    BOOST_TEST(s.mean_delay_std == bound, boost::test_tools::tolerance(0.05));
    BOOST_TEST(s.phase_rms == 1 / std::sqrt(2 * snr), boost::test_tools::tolerance(0.12));
    BOOST_TEST(s.mean_snr == snr_db, boost::test_tools::tolerance(0.02));
}

// A pulse off the middle of the band: phase and delay hang together
BOOST_AUTO_TEST_CASE(phase_error_of_a_pulse_off_centre)
{
    samples pulse = lfm(400, 0.2);
    for (int i = 0; i < 400; ++i)
        pulse[i] = pulse[i] * to_cf32(std::polar(1.0, 2 * pi * 0.25 * i));
    const scatter s = measure(pulse, 25, 600, false);
    BOOST_TEST(s.lost == 0);
    BOOST_TEST(s.phase_covered >= 0.92);
    BOOST_TEST(s.delay_covered >= 0.92);
    BOOST_TEST(s.phase_rms == s.mean_phase_std, boost::test_tools::tolerance(0.12));
    BOOST_TEST(s.phase_rms > 3 / std::sqrt(2 * std::pow(10, 2.5)));
}

BOOST_AUTO_TEST_CASE(good_enough_at_20_db)
{
    // one pulse: 1 / sqrt(2 SNR) is 0.07 rad; the mean of 256 has 1/16 of that
    const int draws = 256, runs = 10;
    for (int run = 0; run < runs; ++run) {
        const samples pulse = lfm(300, 0.8);
        const pulse_arrival find_pulse(pulse, 400);
        samples clean(400);
        add(clean, pulse, 50.7, 1);
        std::mt19937 random(run);
        double delay = 0, phase = 0;
        for (int i = 0; i < draws; ++i) {
            samples x = clean;
            add_noise(x, energy(pulse) / 100, random);
            const arrival a = find_pulse.find(x.data(), 400, 0, 100);
            BOOST_TEST(std::abs(a.delay_samples - 50.7) < 4.5 * a.delay_std_samples);
            delay += a.delay_samples / draws;
            phase += a.phase_rad / draws;
        }
        BOOST_TEST(std::abs(delay - 50.7) < 0.05);
        BOOST_TEST(std::abs(phase) < 0.02);
    }
}

BOOST_AUTO_TEST_CASE(noise_alone_is_no_pulse)
{
    const samples pulse = lfm(64, 0.8);
    // at 10 dB noise is taken for a pulse as often as stated, at 15 dB never here
    const pulse_arrival loose(pulse, 1000, 10), strict(pulse, 1000);
    std::mt19937 random(2);
    const int draws = 3000;
    int found = 0, found_strict = 0;
    for (int i = 0; i < draws; ++i) {
        samples x(1000);
        add_noise(x, std::pow(10.0, i % 7 - 3), random); // of any power
        found += loose.find(x.data(), 1000, 0, 900).found;
        found_strict += strict.find(x.data(), 1000, 0, 900).found;
    }
    const double stated = 901 * std::pow(1 + 10 / 95.0, -95);
    BOOST_TEST_MESSAGE(found << " of " << draws << ", stated " << stated * draws);
    BOOST_TEST(found > 0.5 * stated * draws);
    BOOST_TEST(found < 2.5 * stated * draws); // between samples there is more to find
    BOOST_TEST(found_strict == 0);
}

// ---- what is no pulse, and what is not the one asked for ----

BOOST_AUTO_TEST_CASE(what_is_no_pulse_is_not_found)
{
    const pulse_arrival find_pulse(lfm(128, 0.8), 600);
    samples x(600);
    BOOST_TEST(!find_pulse.find(x.data(), 600, 0, 472).found); // silence
    std::fill(x.begin(), x.end(), cf32{ 1, 0 });
    BOOST_TEST(!find_pulse.find(x.data(), 600, 0, 472).found); // DC
    for (int i = 0; i < 600; ++i)
        x[i] = to_cf32(std::polar(1.0, 0.7 * i));
    BOOST_TEST(!find_pulse.find(x.data(), 600, 0, 472).found); // a tone
    std::fill(x.begin(), x.end(), cf32{ 0, 0 });
    add(x, lfm(128, -0.8), 200, 1);
    BOOST_TEST(!find_pulse.find(x.data(), 600, 0, 472).found); // down, not up
    std::fill(x.begin(), x.end(), cf32{ 0, 0 });
    add(x, lfm(128, 0.8), 200, 1);
    BOOST_TEST(find_pulse.find(x.data(), 600, 0, 472).found);
    for (const float bad : { std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity() }) {
        samples y = x;
        y[210].im = bad;
        BOOST_TEST(!find_pulse.find(y.data(), 600, 0, 472).found);
        BOOST_TEST(!find_pulse.track(y.data(), 600, 200, 3).found);
    }
}

BOOST_AUTO_TEST_CASE(leakage_outside_the_window_is_not_taken)
{
    const int n = 512;
    const samples pulse = lfm(n, 0.8);
    const pulse_arrival find_pulse(pulse, 3000);
    // leakage alone, far from and just outside either end, and before the stretch; the
    // first sidelobe of so long a pulse alone would be strong enough
    const samples longer = lfm(2048, 0.8);
    const pulse_arrival find_longer(longer, 3000);
    for (const double delay : { 700.0, 760.5, 739.2, 801.8, -100.0 }) {
        samples x(3000);
        add(x, longer, delay, 1);
        const arrival a = find_longer.find(x.data(), 3000, delay < 0 ? 0 : 741, 800);
        BOOST_TEST(a.found == (delay == 760.5), "leakage at " << delay);
    }
    // an echo 30 dB below leakage that it does not overlap, and one that it does
    samples x(3000);
    add(x, pulse, 100, 1);
    add(x, pulse, 1200.25, 0.03);
    const arrival a = find_pulse.find(x.data(), 3000, 1000, 2000);
    BOOST_TEST(a.found);
    BOOST_TEST(std::abs(a.delay_samples - 1200.25) < 2e-3);
    samples y(3000);
    add(y, pulse, 900, 1);
    add(y, pulse, 1200.25, 0.03);
    BOOST_TEST(!find_pulse.find(y.data(), 3000, 1000, 2000).found);
    // leakage within the window beats echoes, however many
    samples z(3000);
    add(z, pulse, 300.4, 1);
    for (int i = 0; i < 20; ++i)
        add(z, pulse, 320 + 31.3 * i, std::polar(0.1, 1.0 * i));
    const arrival b = find_pulse.find(z.data(), 3000, 0, 2000);
    BOOST_TEST(b.found);
    BOOST_TEST(std::abs(b.delay_samples - 300.4) < 0.02);
}

BOOST_AUTO_TEST_CASE(track_looks_where_it_is_told)
{
    const samples pulse = lfm(200, 0.5);
    const pulse_arrival find_pulse(pulse, 500);
    samples x(500);
    add(x, pulse, 100.3, 1);
    BOOST_TEST(find_pulse.track(x.data(), 500, 100, 0).found);
    BOOST_TEST(find_pulse.track(x.data(), 500, 97.6, 3).found);
    BOOST_TEST(!find_pulse.track(x.data(), 500, 96, 3).found); // it still rises at 99
    BOOST_TEST(!find_pulse.track(x.data(), 500, 600, 3).found);
    BOOST_TEST(!find_pulse.track(x.data(), 500, -50, 3).found);
    BOOST_TEST(!find_pulse.track(x.data(), 500, 1e300, 3).found);
    // the window is cut at the ends of the stretch
    for (const double delay : { 0.0, 300.0 }) {
        samples y(500);
        add(y, pulse, delay, 1);
        const arrival a = find_pulse.track(y.data(), 500, delay, 5);
        BOOST_TEST(a.found);
        BOOST_TEST(std::abs(a.delay_samples - delay) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_an_earlier_stretch)
{
    const samples pulse = lfm(200, 0.5);
    const pulse_arrival find_pulse(pulse, 1000);
    samples loud(1000, cf32{ 1e6f, 0 }), x(400);
    add(x, pulse, 100.3, 1);
    const double fresh = find_pulse.find(x.data(), 400, 0, 200).delay_samples;
    find_pulse.find(loud.data(), 1000, 0, 800);
    BOOST_TEST(find_pulse.find(x.data(), 400, 0, 200).delay_samples == fresh);
    // the rest of a long transform holds the loud samples when they are not cleared
    add(loud, pulse, 600, 1e9);
    find_pulse.find(loud.data(), 1000, 0, 800);
    BOOST_TEST(find_pulse.find(x.data(), 400, 0, 200).delay_samples == fresh);
}

BOOST_AUTO_TEST_CASE(many_threads_one_object)
{
    const samples pulse = lfm(300, 0.7);
    const pulse_arrival find_pulse(pulse, 1000);
    std::vector<samples> stretches(64, samples(1000));
    parallel_for(64, [&](int i, int) { add(stretches[i], pulse, 7.3 * i, 1); });
    std::vector<double> delays(64);
    parallel_for(64, [&](int i, int) {
        delays[i] = find_pulse.find(stretches[i].data(), 1000, 0, 700).delay_samples;
    });
    for (int i = 0; i < 64; ++i)
        BOOST_TEST(std::abs(delays[i] - 7.3 * i) < 2e-3);
}

// ---- the pulse of an acquisition ----

BOOST_AUTO_TEST_CASE(pulse_of_an_acquisition)
{
    acquisition_fields f;
    f.samples = 1000;
    f.carrier_hz = 1e9;
    f.prf_hz = 1000;
    f.sample_rate_hz = 10e6;
    f.pulse_length_s = 20.05e-6;
    f.chirp_rate_hz_per_s = -3e11;
    const samples p = transmitted_pulse(acquisition(f));
    BOOST_TEST(p.size() == 201u);
    for (const int i : { 0, 17, 100, 200 }) {
        const double u = i / 10e6 - 20.05e-6 / 2;
        BOOST_TEST(std::abs(complex_double(p[i].re, p[i].im) -
                            std::polar(1.0, pi * -3e11 * u * u)) < 1e-6);
    }
    f.pulse_ref = pulse_reference::centre; // the same pulse, counted differently
    BOOST_TEST(difference_db(transmitted_pulse(acquisition(f)), p) == -300);
    BOOST_TEST(has(sentence_of([&] { transmitted_pulse(acquisition(f), p); }),
                   "replica has 201 samples, but the waveform"));
    f.wave = waveform::replica;
    f.replica_bandwidth_hz = 1e6;
    BOOST_TEST(difference_db(transmitted_pulse(acquisition(f), p), p) == -300);
    BOOST_TEST(
        has(sentence_of([&] { transmitted_pulse(acquisition(f)); }), "replica is empty"));
    f.wave = waveform::fmcw;
    BOOST_TEST(has(sentence_of([&] { transmitted_pulse(acquisition(f)); }),
                   "waveform of the acquisition is fmcw"));
}

BOOST_AUTO_TEST_CASE(wrong_input_is_named)
{
    const samples pulse = lfm(100, 0.5);
    const auto make = [](samples p, int longest, double snr = 15) {
        return sentence_of([&] { pulse_arrival(std::move(p), longest, snr); });
    };
    BOOST_TEST(has(make({}, 10), "replica has 0 samples; expected 2"));
    BOOST_TEST(has(make(samples(50), 100), "mean power of 0"));
    BOOST_TEST(has(make(pulse, 99), "max_stretch is 99; expected at least the 100"));
    BOOST_TEST(has(make(pulse, 200, 3), "least_snr_db is 3"));
    samples bad = pulse;
    bad[3].re = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(has(make(bad, 200), "replica[3] is not finite"));

    const pulse_arrival a(pulse, 300);
    samples x(400);
    const auto find = [&](int n, int first, int last) {
        return sentence_of([&] { a.find(x.data(), n, first, last); });
    };
    BOOST_TEST(
        has(find(99, 0, 0), "the stretch has 99 samples; expected at least the 100"));
    BOOST_TEST(has(find(301, 0, 0), "expected at most max_stretch, 300"));
    BOOST_TEST(has(find(300, 0, 201), "searched are 0 to 201 samples; expected"));
    BOOST_TEST(has(find(300, -1, 10), "searched are -1 to 10"));
    BOOST_TEST(has(find(300, 11, 10), "searched are 11 to 10"));
    BOOST_TEST(has(sentence_of([&] { a.track(x.data(), 99, 0, 3); }), "has 99 samples"));
    BOOST_TEST(has(sentence_of([&] { a.track(x.data(), 300, NAN, 3); }),
                   "expected_delay is nan"));
    BOOST_TEST(
        has(sentence_of([&] { a.track(x.data(), 300, 0, -1); }), "half_width is -1"));
}
