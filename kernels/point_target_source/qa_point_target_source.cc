// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE point_target_source
#include "../core/parallel_for.h"
#include "point_target_source.h"
#include "point_target_source_math.h"
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstring>

using namespace gr::sar;
using cd = std::complex<double>;

namespace {

const double c = speed_of_light;

// 100 MHz sampling: a sample is 1.499 m; a pulse of 16 samples
acquisition_fields pulsed()
{
    acquisition_fields f;
    f.samples = 101; // odd on purpose
    f.carrier_hz = 9.6e9;
    f.prf_hz = 500;
    f.sample_rate_hz = 100e6;
    f.pulse_length_s = 16 / 100e6;
    f.chirp_rate_hz_per_s = 50e6 / f.pulse_length_s;
    f.slant_range_first_m = 9000;
    return f;
}

point_target_source_params
one_target(const acquisition_fields& f, double range_m, cd a = 1)
{
    // the antenna stands at the origin, the target on the y axis
    point_target_source_params p{ acquisition(f),
                                  { { { 0, range_m, 0 }, a } },
                                  trajectory::straight({ 0, 0, 0 }, { 0, 0, 0 }) };
    p.pulses = 1;
    return p;
}

std::vector<cd> line_of(const point_target_source_params& p, int pulse = 0)
{
    const auto s = kernel::point_target_source::make(p);
    std::vector<cf32> line(s->samples(), cf32{ 7, 7 });
    s->line(pulse, line.data());
    std::vector<cd> out;
    for (const cf32 v : line)
        out.emplace_back(v.re, v.im);
    return out;
}

cd phasor(long double cycles) // written out anew, in long double
{
    const long double x = cycles - std::floor(cycles);
    return { static_cast<double>(std::cos(2 * M_PIl * x)),
             static_cast<double>(std::sin(2 * M_PIl * x)) };
}

void close(cd got, cd expected, double tolerance = 5e-7)
{
    BOOST_TEST(std::abs(got - expected) < tolerance,
               got << " where " << expected << " was expected");
}

} // namespace

BOOST_AUTO_TEST_CASE(whole_sample_delay_starts_where_it_should)
{
    const double spacing = c / (2 * 100e6);
    // 20 samples into the line: samples 20 .. 35 hold the pulse, nothing else
    const auto p = one_target(pulsed(), 9000 + 20 * spacing, { 0, 2 });
    const auto x = line_of(p);
    const long double range = 9000 + 20 * spacing;
    const cd carrier = phasor(-2 * 9.6e9L * range / c);
    const double kr = 50e6 / 160e-9;
    for (int n = 0; n < 101; ++n) {
        if (n < 20 || n >= 36) {
            close(x[n], 0);
            continue;
        }
        const double t = (n - 20) / 100e6;
        close(x[n],
              cd(0, 2) * carrier * phasor(0.5 * kr * (t - 80e-9) * (t - 80e-9)),
              1e-6);
    }
}

BOOST_AUTO_TEST_CASE(phase_turns_by_half_a_wavelength)
{
    // a quarter of a wavelength further: the way there and back is half a wavelength more
    const double lambda = c / 9.6e9;
    const auto near = line_of(one_target(pulsed(), 9030));
    const auto far = line_of(one_target(pulsed(), 9030 + lambda / 4));
    // the chirp itself moves by 16 mm only: look in the middle, where it is stationary
    const int middle = static_cast<int>(std::lround(30 / 1.49896 + 8));
    close(far[middle] / near[middle], -1, 0.02);
    // and exp(-j 4 pi f0 R / c), not +j: a sixteenth of a wavelength is an eighth of a
    // turn
    const auto eighth = line_of(one_target(pulsed(), 9030 + lambda / 16));
    close(eighth[middle] / near[middle], std::polar(1.0, -M_PI / 4), 0.02);
}

BOOST_AUTO_TEST_CASE(sub_sample_delay_is_not_rounded)
{
    const double spacing = c / (2 * 100e6);
    for (const double at : { 20.25, 20.5, 20.999, 21.001 }) {
        const long double range = 9000 + at * spacing;
        const auto x = line_of(one_target(pulsed(), 9000 + at * spacing));
        const double kr = 50e6 / 160e-9;
        for (int n = 0; n < 101; ++n) {
            const double t = (n - at) / 100e6;
            const bool inside = t >= 0 && t < 160e-9;
            close(x[n],
                  inside ? phasor(-2 * 9.6e9L * range / c) *
                               phasor(0.5 * kr * (t - 80e-9) * (t - 80e-9))
                         : cd(0),
                  1e-6);
        }
    }
}

BOOST_AUTO_TEST_CASE(reference_at_the_centre_of_a_down_chirp)
{
    auto f = pulsed();
    f.pulse_ref = pulse_reference::centre;
    f.chirp_rate_hz_per_s = -f.chirp_rate_hz_per_s;
    const double spacing = c / (2 * 100e6);
    const auto x = line_of(one_target(f, 9000 + 50 * spacing));
    const cd carrier = phasor(-2 * 9.6e9L * (9000 + 50 * spacing) / c);
    close(x[41], 0);
    close(x[50], carrier, 1e-6); // phase of the pulse is 0 at its reference
    const double t = 5 / 100e6;
    close(x[55], carrier * phasor(-0.5 * 50e6 / 160e-9 * t * t), 1e-6);
    close(x[42], carrier * phasor(-0.5 * 50e6 / 160e-9 * (80e-9 * 80e-9)), 1e-6);
    close(x[57], carrier * phasor(-0.5 * 50e6 / 160e-9 * (70e-9 * 70e-9)), 1e-6);
    close(x[58], 0);
}

BOOST_AUTO_TEST_CASE(energy_of_whole_cut_and_absent_pulses)
{
    const double spacing = c / (2 * 100e6);
    const auto energy = [&](double at) {
        double e = 0;
        for (const cd v : line_of(one_target(pulsed(), 9000 + at * spacing)))
            e += std::norm(v);
        return e;
    };
    BOOST_TEST(energy(20) == 16, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(energy(20.5) == 16, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(energy(-10) == 6, boost::test_tools::tolerance(1e-6)); // cut at the start
    BOOST_TEST(energy(95) == 6, boost::test_tools::tolerance(1e-6));  // cut at the end
    BOOST_TEST(energy(-16) == 0);
    BOOST_TEST(energy(101) == 0);
    BOOST_TEST(energy(-5000) == 0); // far outside: no index runs over
    BOOST_TEST(energy(1e9) == 0);
}

BOOST_AUTO_TEST_CASE(range_bias_is_a_delay_like_any_other)
{
    const auto same = [](acquisition_fields f, double range_m, double bias_m) {
        const auto farther = line_of(one_target(f, range_m + bias_m));
        f.range_bias_m = bias_m;
        const auto biased = line_of(one_target(f, range_m));
        for (std::size_t n = 0; n < biased.size(); ++n)
            close(biased[n], farther[n], 1e-6);
    };
    same(pulsed(), 9000 + 20 * c / (2 * 100e6), 3.21);

    acquisition_fields x;
    x.wave = waveform::frequency_domain;
    x.samples = 65;
    x.carrier_hz = 9e9;
    x.prf_hz = 1;
    x.frequency_step_hz = 2e6;
    same(x, 30, 4.5);
}

BOOST_AUTO_TEST_CASE(fmcw_is_the_beat_of_two_sweeps)
{
    for (const int sign : { -1, 1 })
        for (const double rate : { 4e12, -4e12 }) {
            acquisition_fields f;
            f.wave = waveform::fmcw;
            f.samples = 250;
            f.carrier_hz = 10e9;
            f.prf_hz = 1000;
            f.sample_rate_hz = 5e6;
            f.chirp_rate_hz_per_s = rate;
            f.phase_sign = sign;
            const auto x = line_of(one_target(f, 123.456));
            const long double tau = 2 * 123.456L / c;
            for (int n = 0; n < 250; ++n) {
                // transmit f0 t + K t^2 / 2 minus receive, the same tau later
                const long double t = n / 5e6L;
                const long double beat =
                    (10e9L * t + rate * t * t / 2) -
                    (10e9L * (t - tau) + rate * (t - tau) * (t - tau) / 2);
                close(x[n], phasor(sign * beat));
            }
        }
}

BOOST_AUTO_TEST_CASE(a_triangle_in_motion_is_the_beat_of_two_sweeps)
{
    // 3 m/s away from the target; gate, way out and way back
    for (const int sign : { -1, 1 }) {
        acquisition_fields f;
        f.wave = waveform::fmcw;
        f.samples = 250;
        f.carrier_hz = 10e9;
        f.prf_hz = 1000;
        f.sample_rate_hz = 0.5e6;
        f.chirp_rate_hz_per_s = 4e11;
        f.phase_sign = sign;
        f.gate_start_s = 0.2e-3;
        f.sweep = sweep_shape::triangle;
        point_target_source_params p{ acquisition(f),
                                      { { { 0, 123.456, 0 }, 1 } },
                                      trajectory::straight({ 0, 0, 0 }, { 0, -3, 0 }) };
        p.pulses = 2;
        for (const bool moves : { false, true })
            for (const int pulse : { 0, 1 }) {
                p.sweep_motion = moves;
                const auto x = line_of(p, pulse);
                for (int n = 0; n < 250; ++n) {
                    const long double into = 0.2e-3L + n / 0.5e6L;
                    const long double t = pulse ? 1e-3L - into : into;
                    const long double range =
                        123.456L + 3 * (pulse * 1e-3L + (moves ? t : 0));
                    const auto sent = [&](long double s) {
                        return pulse ? (10e9L + 4e8L) * s - 4e11L * s * s / 2
                                     : 10e9L * s + 4e11L * s * s / 2;
                    };
                    close(x[n], phasor(sign * (sent(t) - sent(t - 2 * range / c))));
                }
            }
    }
}

BOOST_AUTO_TEST_CASE(phase_history_and_reference_point)
{
    for (const int sign : { -1, 1 }) {
        acquisition_fields f;
        f.wave = waveform::frequency_domain;
        f.samples = 33;
        f.carrier_hz = 9.3e9;
        f.prf_hz = 1;
        f.frequency_step_hz = -1.5e6;
        f.phase_sign = sign;
        f.range_from = range_reference::point;
        f.reference_point_m = { 0, 10, 3 };
        auto p = one_target(f, 0);
        p.track = trajectory::straight({ 7000, 100, 5000 }, { 0, 100, 0 });
        p.targets = { { { -15.6, 21.55, 0 }, { 0.5, -0.25 } },
                      { { 3, 4, 0.5 }, { 1, 0 } } };
        p.pulses = 4;
        const auto x = line_of(p, 3);
        // 100 m/s and one pulse a second: pulse 3 is 300 m on, not 3 m
        const auto moved = [](double x0, double y, double z) {
            return std::sqrt((7000.0L - x0) * (7000 - x0) + (400.0L - y) * (400 - y) +
                             (5000.0L - z) * (5000 - z));
        };
        for (int n = 0; n < 33; ++n) {
            const long double freq = 9.3e9L - 1.5e6L * n;
            const long double r0 = moved(0, 10, 3);
            const cd expected =
                cd(0.5, -0.25) *
                    phasor(sign * freq * 2 * (moved(-15.6, 21.55, 0) - r0) / c) +
                phasor(sign * freq * 2 * (moved(3, 4, 0.5) - r0) / c);
            close(x[n], expected, 1e-6);
        }
    }
}

BOOST_AUTO_TEST_CASE(philox_gives_the_published_numbers)
{
    // known answers of Random123, philox 4x32-10
    const random_words zero = philox(0, 0, 0, 0, 0);
    BOOST_TEST(zero.w[0] == 0x6627e8d5u);
    BOOST_TEST(zero.w[1] == 0xe169c58du);
    BOOST_TEST(zero.w[2] == 0xbc57ac4cu);
    BOOST_TEST(zero.w[3] == 0x9b00dbd8u);
    const std::uint32_t f = 0xffffffffu;
    const random_words ones = philox(f, f, f, f, ~0ull);
    BOOST_TEST(ones.w[0] == 0x408f276du);
    BOOST_TEST(ones.w[1] == 0x41c83b0eu);
    BOOST_TEST(ones.w[2] == 0xa20bc7c6u);
    BOOST_TEST(ones.w[3] == 0x6d5451fdu);
}

BOOST_AUTO_TEST_CASE(noise_has_the_power_asked_for_and_no_memory)
{
    auto f = pulsed();
    f.samples = 4001;
    point_target_source_params p{ acquisition(f),
                                  {},
                                  trajectory::straight({ 0, 0, 0 }, { 1, 0, 0 }) };
    p.pulses = 50;
    p.noise_power = 0.25;
    std::vector<cf32> x(50 * 4001);
    std::vector<vec3> pos(50);
    simulate(p, x.data(), pos.data());
    cd mean, square, next, across;
    double power = 0, fourth = 0;
    const auto at = [&](int i) { return cd(x[i].re, x[i].im); };
    const int n = x.size();
    for (int i = 0; i < n; ++i) {
        mean += at(i);
        square += at(i) * at(i);
        power += std::norm(at(i));
        fourth += std::norm(at(i)) * std::norm(at(i));
        if (i + 1 < n)
            next += at(i) * std::conj(at(i + 1));
        if (i + 4001 < n)
            across += at(i) * std::conj(at(i + 4001));
    }
    const double s = 1 / std::sqrt(double(n)); // standard deviation of a mean of units
    BOOST_TEST(std::abs(mean) / n < 5 * 0.5 * s);
    BOOST_TEST(std::abs(power / n - 0.25) < 5 * 0.25 * s);
    BOOST_TEST(std::abs(square) / n < 5 * 0.25 * s); // circular
    BOOST_TEST(std::abs(next) / n < 5 * 0.25 * s);
    BOOST_TEST(std::abs(across) / n < 5 * 0.25 * s);
    // Gaussian: E|z|^4 = 2 (E|z|^2)^2
    BOOST_TEST(std::abs(fourth / n / (0.25 * 0.25) - 2) < 0.05);
}

BOOST_AUTO_TEST_CASE(bits_depend_on_the_seed_and_on_nothing_else)
{
    auto p = one_target(pulsed(), 9050);
    p.pulses = 37;
    p.noise_power = 1;
    std::vector<cf32> a(37 * 101), b(37 * 101), d(37 * 101);
    std::vector<vec3> pos(37);
    simulate(p, a.data(), pos.data());
    const int before = max_threads();
    set_max_threads(before == 1 ? 3 : 1);
    simulate(p, b.data(), pos.data());
    set_max_threads(before);
    BOOST_TEST(std::memcmp(a.data(), b.data(), a.size() * sizeof(cf32)) == 0);
    const auto s = kernel::point_target_source::make(p);
    s->line(36, b.data()); // one line alone
    BOOST_TEST(std::memcmp(&a[36 * 101], b.data(), 101 * sizeof(cf32)) == 0);
    p.seed = 2;
    simulate(p, d.data(), pos.data());
    BOOST_TEST(std::memcmp(a.data(), d.data(), a.size() * sizeof(cf32)) != 0);
    BOOST_TEST(a[0].re != a[101].re); // lines differ
}

BOOST_AUTO_TEST_CASE(beam_is_a_sector_of_angle)
{
    // 1 m from pulse to pulse along (0.6, 0.8, 0); a target 9040 m abeam of the start
    const double beam = 0.02;
    for (const double squint : { 0.0, 0.1, -0.1 }) {
        auto p = one_target(pulsed(), 0);
        const vec3 along = { 0.6, 0.8, 0 };
        p.targets = { { 9040 * vec3{ 0.8, -0.6, 0 }, 1 } };
        p.pulses = 400;
        p.beam_rad = beam;
        p.beam_squint_rad = squint;
        // the target comes into the beam ahead, and leaves it behind
        const double begin = -9040 * std::tan(squint + beam / 2);
        const double end = -9040 * std::tan(squint - beam / 2);
        const double first_m = begin - 100.3;
        p.track = trajectory::straight(first_m * along, 500 * along);
        const auto s = kernel::point_target_source::make(p);
        auto everything = p;
        everything.beam_rad = 0;
        const auto all = kernel::point_target_source::make(everything);
        int seen = 0;
        for (int pulse = 0; pulse < p.pulses; ++pulse) {
            std::vector<cf32> line(101), whole(101);
            s->line(pulse, line.data());
            all->line(pulse, whole.data());
            const double at = first_m + pulse;
            const bool inside = at >= begin && at <= end;
            seen += inside;
            for (int n = 0; n < 101; ++n) {
                // in the beam the same bits as without one, outside nothing
                BOOST_REQUIRE(line[n].re == (inside ? whole[n].re : 0));
                BOOST_REQUIRE(line[n].im == (inside ? whole[n].im : 0));
            }
        }
        BOOST_TEST(std::abs(seen - (end - begin)) <= 1);
    }
}

BOOST_AUTO_TEST_CASE(beam_follows_a_curved_track)
{
    // a quarter circle around the origin, flown at the target's distance 9040 m: the
    // target in the middle is abeam all the time, one further ahead never
    std::vector<double> t;
    std::vector<vec3> at;
    for (int i = 0; i <= 200; ++i) {
        const double a = i / 200.0 * pi / 2;
        t.push_back(i * 0.01);
        at.push_back({ 9040 * std::cos(a), 9040 * std::sin(a), 0 });
    }
    auto p = one_target(pulsed(), 0);
    p.track = trajectory::sampled(t, at);
    p.pulses = 1000; // 2 s at 500 Hz, the record to its end
    p.beam_rad = 0.01;
    const auto energy = [&](int pulse) {
        std::vector<cf32> line(101);
        kernel::point_target_source::make(p)->line(pulse, line.data());
        double e = 0;
        for (const cf32 v : line)
            e += norm(v);
        return e;
    };
    for (const int pulse : { 0, 1, 499, 998, 999 })
        BOOST_TEST(energy(pulse) > 10);
    p.beam_squint_rad = 0.02;
    for (const int pulse : { 0, 1, 499, 998, 999 })
        BOOST_TEST(energy(pulse) == 0);
    // one pulse alone knows its direction as well
    p.pulses = 1;
    p.beam_squint_rad = 0;
    BOOST_TEST(energy(0) > 10);
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_named)
{
    const auto fails = [](const point_target_source_params& p, const char* word) {
        BOOST_CHECK_EXCEPTION(kernel::point_target_source::make(p),
                              std::exception,
                              [&](const std::exception& e) {
                                  BOOST_TEST_MESSAGE(e.what());
                                  return std::string(e.what()).find(word) !=
                                         std::string::npos;
                              });
    };
    auto p = one_target(pulsed(), 9050);
    p.pulses = 0;
    fails(p, "pulses is 0");
    p.pulses = 1;
    p.noise_power = -1;
    fails(p, "noise_power is -1");
    p.noise_power = NAN;
    fails(p, "noise_power is nan");
    p.noise_power = 0;
    p.targets.push_back({ { NAN, 0, 0 }, 1 });
    fails(p, "targets[1]");
    auto f = pulsed();
    f.wave = waveform::replica;
    f.replica_bandwidth_hz = 1e6;
    fails(one_target(f, 9050), "replica");
    p = one_target(pulsed(), 9050);
    p.beam_rad = -0.1;
    fails(p, "beam_rad is -0.1");
    p.beam_rad = NAN;
    fails(p, "beam_rad is nan");
    p.beam_rad = 0.1;
    fails(p, "stands still at pulse 0");
    p.beam_squint_rad = 1.6;
    fails(p, "beam_squint_rad is 1.6");
    p = one_target(pulsed(), 9050);
    p.sweep_motion = true;
    fails(p, "sweep_motion is true with the waveform pulsed_lfm");
    p.sweep_motion = false;
    p.track = trajectory::sampled({ 0, 0.01 }, { { 0, 0, 0 }, { 1, 0, 0 } });
    p.pulses = 7; // 500 Hz: pulse 5 is at 10 ms, pulse 6 outside
    fails(p, "pulse 6 of 7");
}
