// SPDX-License-Identifier: GPL-3.0-or-later
//
// Speed and error of back-projection, by geometry, interpolation and accuracy mode.
//
//   bench_bp [cpu | cuda] [SIZE [PULSES]]
//
// SIZE x SIZE pixels, 10 GHz, 43 degrees of grazing angle, lines of band-limited noise
// oversampled four times, in the memory of the target. A time is the median of several
// images, each with all of its pulses and everything that is set up for them. Errors are
// those of scattered pixels, all pulses, against sums in double: with the same
// interpolation, and with a sinc of 24 taps that stands for no error of interpolation at
// all. A time whose error is too large is not printed.

#include "../bp_accumulator/bp_accumulator.h"
#include "../core/constants.h"
#include "../core/double_fft.h"
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "../core/target_memory.h"
#include "bench_host.h"
#include "bench_rows.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace gr::sar;
using namespace gr::sar::kernel;

namespace {

using complex = std::complex<double>;
using clock_type = std::chrono::steady_clock;

constexpr int kinds_of_lines = 64; // then they repeat

struct geometry {
    const char* name;
    double range_m, pixel_m, cell_m, turn_deg;
    double share; //!< of the pulses
};

//! Noise that fills the occupied band evenly.
std::vector<cf32> noise_lines(const range_axis& axis)
{
    std::size_t n = 1;
    while (n < static_cast<std::size_t>(axis.samples))
        n *= 2;
    const long edge = std::lround(axis.occupied_band() / 2 * n);
    std::vector<cf32> lines(static_cast<std::size_t>(kinds_of_lines) * axis.samples);
    parallel_for(kinds_of_lines, [&](int line, int) {
        std::mt19937 random(line + 1);
        std::normal_distribution<double> normal;
        std::vector<complex> x(n);
        for (long k = -edge; k <= edge; ++k)
            x[(k + n) % n] = { normal(random), normal(random) };
        x = double_fft(x);
        const double scale = 1 / std::sqrt(4.0 * edge + 2);
        for (int m = 0; m < axis.samples; ++m)
            lines[static_cast<std::size_t>(line) * axis.samples + m] = {
                static_cast<float>(x[m].real() * scale),
                static_cast<float>(x[m].imag() * scale)
            };
    });
    return lines;
}

//! Weights of a windowed sinc in double, between rows by a straight line: -150 dB.
class long_sinc
{
public:
    long_sinc(int taps, double band) : d_taps(taps), d_rows((phases + 2) * taps)
    {
        const double beta = sinc_kaiser_beta(taps, band);
        for (int p = 0; p < phases + 2; ++p)
            for (int k = 0; k < taps; ++k)
                d_rows[static_cast<std::size_t>(p) * taps + k] =
                    sinc_weight(p / double(phases) - (k - (taps / 2 - 1)), taps, beta);
    }
    complex at(const cf32* line, int samples, double x) const
    {
        const int bin = static_cast<int>(x);
        const double place = (x - bin) * phases;
        const int row = static_cast<int>(place);
        const double t = place - row;
        const double* h = d_rows.data() + static_cast<std::size_t>(row) * d_taps;
        complex sum = 0;
        for (int k = 0; k < d_taps; ++k) {
            const int m = bin + k - (d_taps / 2 - 1);
            if (m >= 0 && m < samples)
                sum +=
                    (h[k] + t * (h[k + d_taps] - h[k])) * complex(line[m].re, line[m].im);
        }
        return sum;
    }

private:
    static constexpr int phases = 8192;
    int d_taps;
    std::vector<double> d_rows;
};

double error_db(const std::vector<complex>& a, const std::vector<complex>& b)
{
    double difference = 0;
    double energy = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        difference += std::norm(a[i] - b[i]);
        energy += std::norm(b[i]);
    }
    return 10 * std::log10(difference / energy + 1e-30);
}

struct experiment {
    range_axis axis;
    image_grid grid;
    std::vector<vec3> tx;
};

experiment prepare(const geometry& q, int size, int pulses)
{
    const double grazing = 43 * pi / 180;
    const double aperture = 2.9 * pi / 180;
    const double a = q.turn_deg * pi / 180;
    experiment e = { {},
                     image_grid::centred({ 0, 0, 0 },
                                         { -std::sin(a), std::cos(a), 0 },
                                         { std::cos(a), std::sin(a), 0 },
                                         q.pixel_m,
                                         q.pixel_m,
                                         size,
                                         size),
                     {} };
    const double track = 2 * q.range_m * std::cos(grazing) * std::tan(aperture / 2);
    double low = HUGE_VAL;
    double high = 0;
    for (int n = 0; n < pulses; ++n) {
        const vec3 p = { ((n + 0.5) / pulses - 0.5) * track,
                         -q.range_m * std::cos(grazing),
                         q.range_m * std::sin(grazing) };
        e.tx.push_back(p);
        for (int i = 0; i <= 8; ++i)
            for (int j = 0; j <= 8; ++j) {
                const double r = length(
                    e.grid.position(i * (size - 1) / 8.0, j * (size - 1) / 8.0) - p);
                low = std::min(low, r);
                high = std::max(high, r);
            }
    }
    const double margin = 0.05 * (high - low) + 30 * q.cell_m;
    e.axis.carrier_hz = 10e9;
    e.axis.bandwidth_hz = 0.8 * speed_of_light / (2 * q.cell_m);
    e.axis.spacing_m = q.cell_m / 4;
    e.axis.first_m = std::max(low - margin, 1.0);
    e.axis.samples =
        static_cast<int>((high + margin - e.axis.first_m) / e.axis.spacing_m);
    return e;
}

struct mode {
    interpolation how;
    accuracy_mode accuracy;
    double same_db, end_db; //!< errors allowed: same interpolation, long sinc
    double share;           //!< of the pulses
};

void measure(const compute_target& target, const geometry& q, int size, int pulses)
{
    const experiment e = prepare(q, size, pulses);
    const std::vector<cf32> kinds = noise_lines(e.axis);
    const std::size_t samples = e.axis.samples;
    target_memory lines(samples * pulses, target);
    for (int n = 0; n < pulses; ++n)
        bench::write(target,
                     lines.data() + n * samples,
                     kinds.data() + n % kinds_of_lines * samples,
                     samples);
    const std::size_t pixels = static_cast<std::size_t>(size) * size;
    target_memory out(pixels, target);
    bench::idle(target);
    std::printf("%s: %d x %d pixels of %g m, %d pulses, lines of %zu samples\n",
                q.name,
                size,
                size,
                q.pixel_m,
                pulses,
                samples);

    const mode modes[] = {
        { interpolation::linear, accuracy_mode::fast, -70, -30, 1 },
        { interpolation::sinc8, accuracy_mode::fast, -70, -65, 1 },
        { interpolation::sinc16, accuracy_mode::fast, -70, -65, 1 },
        { interpolation::nearest, accuracy_mode::fast, -50, -15, 0.125 },
        { interpolation::linear, accuracy_mode::exact, -100, -30, 0.125 },
        { interpolation::sinc8, accuracy_mode::exact, -100, -80, 0.125 },
    };
    // scattered pixels, among them the corners
    std::vector<std::size_t> where = { 0, pixels - 1, pixels - size };
    std::mt19937_64 random(3);
    while (where.size() < 160)
        where.push_back(random() % pixels);
    const double band = e.axis.occupied_band();
    const long_sinc ideal(24, band);
    const long_sinc sinc8(8, band);
    const long_sinc sinc16(16, band);
    std::vector<cf32> host(pixels);

    for (const mode& m : modes) {
        const int used = std::max(1, static_cast<int>(pulses * m.share));
        bp_accumulator_params p{ e.axis, e.grid };
        p.interpolator = m.how;
        p.accuracy = m.accuracy;
        const auto b = bp_accumulator::make(p, target);
        const auto image = [&] {
            b->reset();
            b->add(lines.data(), e.tx.data(), nullptr, used);
            b->write_rows(out.data(), 0, size);
            bench::idle(target);
        };
        image();
        const bp_report report = b->report();
        bench::read(target, host.data(), out.data(), pixels);
        bench::idle(target);

        std::vector<complex> got(where.size()), same(where.size()), end(where.size());
        parallel_for(static_cast<int>(where.size()), [&](int k, int) {
            const vec3 at = e.grid.position(where[k] / size, where[k] % size);
            for (int n = 0; n < used; ++n) {
                const cf32* line = kinds.data() + n % kinds_of_lines * samples;
                const double r = length(at - e.tx[n]);
                const double x = (r - e.axis.first_m) / e.axis.spacing_m;
                if (!(x >= 0 && x <= e.axis.samples - 1))
                    continue;
                const double cycles = 2 * e.axis.carrier_hz * r / speed_of_light;
                const complex phase =
                    std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
                const auto sample = [&](int i) {
                    return complex(line[i].re, line[i].im);
                };
                const int bin = static_cast<int>(x);
                complex v;
                if (m.how == interpolation::sinc8)
                    v = sinc8.at(line, e.axis.samples, x);
                else if (m.how == interpolation::sinc16)
                    v = sinc16.at(line, e.axis.samples, x);
                else if (m.how == interpolation::nearest)
                    v = sample(static_cast<int>(x + 0.5));
                else
                    v = sample(bin) +
                        (x - bin) *
                            (sample(std::min(bin + 1, e.axis.samples - 1)) - sample(bin));
                same[k] += v * phase / static_cast<double>(used);
                end[k] +=
                    ideal.at(line, e.axis.samples, x) * phase / static_cast<double>(used);
            }
            got[k] = { host[where[k]].re, host[where[k]].im };
        });
        const double same_db = error_db(got, same);
        const double end_db = error_db(got, end);
        std::printf("  %-8s %-6s %5d pulses  %7.1f dB same interpolation %7.1f dB end to "
                    "end  bound %.1e rad  ",
                    to_string(m.how).c_str(),
                    to_string(m.accuracy).c_str(),
                    used,
                    same_db,
                    end_db,
                    report.phase_bound_rad);
        bench::bench_row row{ "back-projection",
                              "pulse-pixels",
                              "gr-sar, " + to_string(m.how) + " " +
                                  to_string(m.accuracy) + ", " + q.name,
                              target.is_cuda() ? "cuda" : "cpu" };
        row.error_db = same_db;
        row.work = static_cast<double>(pixels) * used;
        if (same_db > m.same_db || end_db > m.end_db) {
            bench::put_row(row);
            std::printf("error above %g and %g dB: no time\n", m.same_db, m.end_db);
            continue;
        }
        std::vector<double> ms;
        for (int i = 0; i < (target.is_cuda() ? 5 : 1); ++i) {
            const auto begin = clock_type::now();
            image();
            ms.push_back(
                std::chrono::duration<double, std::milli>(clock_type::now() - begin)
                    .count());
        }
        std::sort(ms.begin(), ms.end());
        const double t = ms[ms.size() / 2];
        row.ms = t;
        bench::put_row(row);
        std::printf("%9.2f ms (%.2f to %.2f)  %8.1f G pulse-pixels/s\n",
                    t,
                    ms.front(),
                    ms.back(),
                    static_cast<double>(pixels) * used / t / 1e6);
        std::fflush(stdout);
    }
}

void print_clocks(const char* when)
{
    std::printf("%s: ", when);
    std::fflush(stdout);
    if (std::system("nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,"
                    "power.draw --format=csv,noheader 2>/dev/null") != 0)
        std::printf("no card's clocks to be had\n");
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        const std::string kind = argc > 1 ? argv[1] : "auto";
        const compute_target target = choose_target(backend_from_name(kind));
        const bool cuda = target.is_cuda();
        const int size = argc > 2 ? std::atoi(argv[2]) : cuda ? 4096 : 200;
        const int pulses = argc > 3 ? std::atoi(argv[3]) : cuda ? 4096 : 128;
        require(size >= 16 && size <= 32768, "SIZE is ", size, "; expected 16 to 32768");
        require(pulses >= 1 && pulses <= 65536,
                "PULSES is ",
                pulses,
                "; expected 1 to 65536");
        std::printf("bench_bp on %s\n", target.description.c_str());
        if (cuda)
            print_clocks("before");
        for (const geometry& q :
             { geometry{ "10 km", 10e3, 0.3, 0.3, 0, 1 },
               geometry{ "10 km, 45 degrees", 10e3, 0.3, 0.3, 45, 0.25 },
               geometry{ "770 km", 770e3, 0.7, 0.6, 0, 0.25 },
               geometry{ "1 km", 1e3, 0.1, 0.1, 0, 0.25 },
               geometry{ "100 m", 100, 0.05, 0.05, 0, 0.25 } })
            measure(target, q, size, std::max(1, static_cast<int>(pulses * q.share)));
        if (cuda)
            print_clocks("after");
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_bp: %s\n", e.what());
        return 1;
    }
}
