// SPDX-License-Identifier: GPL-3.0-or-later
//
// Times of the range-Doppler chain, stage by stage, and of the imagers, on one target.
//
//   bench_range_doppler [cpu | cuda] [imager] [SIZE ...]
//
// With the word imager the stages are left out, for a profiler.
// SIZE x SIZE complex64 samples, pulsed LFM, squint 0. Each stage works on data that the
// one before it left, all of it in the memory of the target. A time is the median of
// several runs of a whole frame, each from an idle device to an idle device, so that
// launches count. Bytes: what the stage holds beside its input and output.

#include "../azimuth_fft/azimuth_fft.h"
#include "../azimuth_filter/azimuth_filter.h"
#include "../chirp_scaling_imager/chirp_scaling_imager.h"
#include "../core/errors.h"
#include "../core/target_memory.h"
#include "../omega_k_imager/omega_k_imager.h"
#include "../pulse_compression/pulse_compression.h"
#include "../range_doppler_imager/range_doppler_imager.h"
#include "bench_host.h"
#include "bench_rows.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

using namespace gr::sar;
using namespace gr::sar::kernel;

namespace {

void fill(target_memory& m, std::size_t values, const compute_target& target)
{
    std::vector<cf32> some(1 << 20);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (cf32& v : some)
        v = { normal(random), normal(random) };
    for (std::size_t at = 0; at < values; at += some.size()) {
        const std::size_t n = std::min(some.size(), values - at);
        bench::write(target, m.data() + at, some.data(), n);
    }
    bench::idle(target);
}

using imager_maker =
    std::function<std::unique_ptr<frame_imager>(const compute_target& target)>;

//! The imagers of the Doppler domain, for one geometry.
std::vector<std::pair<std::string, imager_maker>> imagers(const range_doppler_params& g)
{
    return {
        { "range-Doppler",
          [g](const compute_target& t) {
              return range_doppler_imager::make(
                  { g, {}, {}, migration_interpolation::exact, true, {} }, t);
          } },
        { "chirp scaling",
          [g](const compute_target& t) {
              return chirp_scaling_imager::make({ g, {}, {}, false }, t);
          } },
        { "omega-k",
          [g](const compute_target& t) {
              return omega_k_imager::make(
                  { g, {}, {}, migration_interpolation::exact, {} }, t);
          } },
    };
}

//! Difference of the image \p out of raw lines \p in to that of the CPU, dB.
double against_cpu(const imager_maker& make,
                   const compute_target& target,
                   target_memory& in,
                   target_memory& out)
{
    const auto cpu = make(choose_target(backend::cpu));
    const range_doppler_frame& f = cpu->plan().frame();
    const std::size_t values = static_cast<std::size_t>(f.rows) * f.cols;
    std::vector<cf32> raw(static_cast<std::size_t>(f.lines) * f.cols);
    std::vector<cf32> got(values), truth(values);
    const auto read = [&](std::vector<cf32>& to, target_memory& from) {
        target.space->copy(to.data(),
                           from.data(),
                           to.size() * sizeof(cf32),
                           device_space::lane::download);
    };
    read(raw, in);
    read(got, out);
    target.space->synchronize();
    cpu->take(raw.data(), 0, f.lines);
    cpu->form(f.lines);
    cpu->give(truth.data(), 0, f.rows);
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < values; ++i) {
        error += norm(got[i] - truth[i]);
        power += norm(truth[i]);
    }
    return 10 * std::log10(error / power);
}

//! Small frames, many of them: what the device takes for one while the host is ahead.
void measure_small(const compute_target& target, int lines, int samples, int fft_length)
{
    constexpr int frames = 100;
    const acquisition acq = bench::airborne(samples);
    const std::string size = std::to_string(lines) + " x " + std::to_string(samples) +
                             ", transforms of " + std::to_string(fft_length);
    std::printf(
        "%s on %s, %d in a row\n", size.c_str(), target.description.c_str(), frames);
    for (const auto& [name, make] : imagers({ acq, 1, lines, fft_length })) {
        const auto s = make(target);
        const range_doppler_frame& f = s->plan().frame();
        target_memory in(static_cast<std::size_t>(lines) * samples, target);
        target_memory out(static_cast<std::size_t>(f.rows) * f.cols, target);
        fill(in, static_cast<std::size_t>(lines) * samples, target);
        const auto whole = [&] {
            s->take(in.data(), 0, lines);
            s->form(lines);
            s->give(out.data(), 0, f.rows);
            s->next(0);
        };
        whole();
        const double ms = bench::median_ms(target,
                                           5,
                                           [&] {
                                               for (int i = 0; i < frames; ++i)
                                                   whole();
                                           }) /
                          frames;
        const double forming = bench::median_ms(target,
                                                5,
                                                [&] {
                                                    for (int i = 0; i < frames; ++i) {
                                                        s->form(lines);
                                                        s->next(0);
                                                    }
                                                }) /
                               frames;
        whole();
        bench::bench_row row{
            name, size, "gr-sar", target.is_cuda() ? "cuda" : "cpu", ms
        };
        if (target.is_cuda())
            row.error_db = against_cpu(make, target, in, out);
        if (row.error_db > -95)
            row.ms = 0;
        std::printf("  %-16s %d rows %9.4f ms, of it forming %9.4f ms%s, error %.0f dB\n",
                    name.c_str(),
                    f.rows,
                    row.ms,
                    forming,
                    s->one_pass() ? ", 1 pass for rows" : "",
                    row.error_db);
        bench::put_row(row);
    }
}

void measure(const compute_target& target, int size, bool with_stages)
{
    const acquisition acq = bench::airborne(size);
    const std::size_t values = static_cast<std::size_t>(size) * size;
    const int runs = target.is_cuda() ? 15 : 3;
    const auto time = [&](const std::function<void()>& work) {
        work();
        return bench::median_ms(target, runs, work);
    };
    const int batch = std::max(1, (8 << 20) / (size * 8)); // lines a work() call has
    range_doppler_params geometry = { acq, 1, size, size };

    std::size_t free_before = 0;
    std::size_t total = 0;
    if (target.is_cuda())
        target.space->memory(free_before, total);
    target_memory a(values, target);
    target_memory b(values, target);
    fill(a, values, target);

    const auto batches = [&](const std::function<void(int, int)>& work) {
        for (int row = 0; row < size; row += batch)
            work(row, std::min(batch, size - row));
    };
    const auto at = [&](target_memory& m, int row) {
        return m.data() + static_cast<std::size_t>(row) * size;
    };
    std::printf("%d x %d on %s, %d lines a call\n",
                size,
                size,
                target.description.c_str(),
                batch);
    double sum = 0;
    const auto print = [&](const char* name, double ms, double bytes) {
        std::printf("  %-22s %9.3f ms", name, ms);
        if (bytes > 0)
            std::printf("  %8.1f MB", bytes / 1e6);
        std::printf("\n");
        std::fflush(stdout);
    };
    if (with_stages) {
        {
            const auto s = pulse_compression::make({ acq, 1, {}, {} }, target);
            const double ms = time([&] {
                batches([&](int r, int n) { s->process(at(a, r), at(b, r), n); });
            });
            sum += ms;
            print("pulse_compression", ms, 0);
        }
        {
            const auto s = azimuth_fft::make({ size, size, size }, target);
            const double take = time([&] {
                batches([&](int r, int n) { s->take(at(b, r), r, n); });
                s->next(0);
            });
            batches([&](int r, int n) { s->take(at(b, r), r, n); });
            const double fft = time([&] { s->transform(size); });
            const double give =
                time([&] { batches([&](int r, int n) { s->give(at(a, r), r, n); }); });
            sum += take + fft + give;
            print("azimuth_fft", take + fft + give, s->bytes());
            print("  of it the transform", fft, 0);
        }
        fill(a, values, target);
        for (const bool src : { true, false })
            for (const auto how : { migration_interpolation::exact,
                                    migration_interpolation::sinc16,
                                    migration_interpolation::sinc8,
                                    migration_interpolation::linear,
                                    migration_interpolation::fixed }) {
                const auto s = rcmc::make({ geometry, how, src }, target);
                const double ms = time([&] {
                    batches([&](int r, int n) { s->process(at(a, r), at(b, r), r, n); });
                });
                if (src && how == migration_interpolation::exact)
                    sum += ms;
                print(("rcmc " + to_string(how) + (src ? ", SRC" : "")).c_str(), ms, 0);
            }
        {
            const auto s = azimuth_filter::make({ geometry, {} }, target);
            const double take = time([&] {
                batches([&](int r, int n) { s->take(at(b, r), r, n); });
                s->next();
            });
            batches([&](int r, int n) { s->take(at(b, r), r, n); });
            const double fft = time([&] { s->transform(); });
            const double give =
                time([&] { batches([&](int r, int n) { s->give(at(a, r), r, n); }); });
            sum += take + fft + give;
            print("azimuth_filter", take + fft + give, s->bytes());
            print("  of it the transform", fft, 0);
        }
        print("stages together", sum, 0);
    }
    fill(a, values, target);
    range_doppler_imager_params p = { geometry, {}, {}, migration_interpolation::exact,
                                      true,     {} };
    for (const auto& [name, make] : imagers(geometry)) {
        const auto s = make(target);
        const double whole = time([&] {
            batches([&](int r, int n) { s->take(at(a, r), r, n); });
            s->form(size);
            batches([&](int r, int n) { s->give(at(b, r), r, n); });
            s->next(0);
        });
        bench::bench_row row{ name,
                              std::to_string(size) + " x " + std::to_string(size),
                              "gr-sar",
                              target.is_cuda() ? "cuda" : "cpu",
                              whole };
        if (target.is_cuda() && size <= 4096) { // the CPU takes seconds for more
            row.error_db = against_cpu(make, target, a, b);
            if (!(row.error_db < -95))
                row.ms = 0;
        }
        if (row.ms > 0)
            print((name + " imager").c_str(), whole, s->bytes());
        else
            std::printf("  %s imager   %.1f dB from the CPU's: no time\n",
                        name.c_str(),
                        row.error_db);
        bench::put_row(row);
        const double form = time([&] {
            s->form(size);
            s->next(0);
        });
        print(s->one_pass() ? "  of it forming, 1 pass" : "  of it forming", form, 0);
        if (target.is_cuda() && s->one_pass()) {
            std::size_t free_after = 0;
            target.space->memory(free_after, total);
            print("  device memory in use",
                  0,
                  static_cast<double>(free_before - free_after));
        }
    }
    for (const auto how : { migration_interpolation::exact,
                            migration_interpolation::sinc16,
                            migration_interpolation::sinc8 })
        for (const bool src : { true, false }) {
            p.interpolator = how;
            p.src = src;
            const auto s = range_doppler_imager::make(p, target);
            batches([&](int r, int n) { s->take(at(a, r), r, n); });
            const double form = time([&] {
                s->form(size);
                s->next(0);
            });
            print(
                ("  forming, " + to_string(how) + (src ? ", SRC" : "")).c_str(), form, 0);
        }
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        const std::string where = argc > 1 ? argv[1] : "auto";
        const compute_target target = choose_target(backend_from_name(where));
        const bool with_stages = argc < 3 || std::string(argv[2]) != "imager";
        std::vector<int> sizes;
        for (int i = with_stages ? 2 : 3; i < argc; ++i)
            sizes.push_back(std::atoi(argv[i]));
        if (sizes.empty())
            sizes = { 1024, 4096 };
        for (const int size : sizes) {
            require(
                size >= 16 && size <= 32768, "SIZE is ", size, "; expected 16 to 32768");
            measure(target, size, with_stages);
        }
        for (const int fft_length : { 1200, 1280 })
            measure_small(target, 1200, 800, fft_length);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_range_doppler: %s\n", e.what());
        return 1;
    }
}
