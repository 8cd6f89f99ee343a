// SPDX-License-Identifier: GPL-3.0-or-later
//
// Times of what happens to rows between the transforms along azimuth, on a GPU: by the
// stages in batches of 8 MB, and in one kernel.
//
//   bench_rows [SIZE ...]
//
// SIZE x SIZE complex64 samples, pulsed LFM of an eighth of the line. The kernel's frame
// is compared with that of the stages first; no time is printed where they differ by more
// than -100 dB.

#include "../core/errors.h"
#include "../core/target_memory.h"
#include "../range_doppler_imager/fused_rows.h"
#include "bench_host.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

using namespace gr::sar;
using namespace gr::sar::kernel;

namespace {

//! Median of \p runs times of \p launches calls one behind the other, ms a call.
double time_of(const compute_target& target, const std::function<void()>& work)
{
    constexpr int runs = 15;
    constexpr int launches = 4;
    using clock_type = std::chrono::steady_clock;
    std::vector<double> ms;
    work();
    for (int i = 0; i < runs; ++i) {
        target.space->synchronize();
        const auto begin = clock_type::now();
        for (int l = 0; l < launches; ++l)
            work();
        target.space->synchronize();
        ms.push_back(
            std::chrono::duration<double, std::milli>(clock_type::now() - begin).count() /
            launches);
    }
    std::sort(ms.begin(), ms.end());
    return ms[runs / 2];
}

//! Of two frames, row by row.
double difference_db(const compute_target& target, const cf32* a, const cf32* b, int size)
{
    std::vector<cf32> x(size);
    std::vector<cf32> y(size);
    double error = 0;
    double power = 0;
    const auto row = [&](std::vector<cf32>& to, const cf32* from, int k) {
        target.space->copy(to.data(),
                           from + static_cast<std::size_t>(k) * size,
                           size * sizeof(cf32),
                           device_space::lane::download);
    };
    for (int k = 0; k < size; ++k) {
        row(x, a, k);
        row(y, b, k);
        target.space->synchronize();
        for (int n = 0; n < size; ++n) {
            error += norm(x[n] - y[n]);
            power += norm(y[n]);
        }
    }
    return 10 * std::log10(error / power);
}

void measure(const compute_target& target,
             int size,
             migration_interpolation how,
             bool src)
{
    const acquisition acq = bench::airborne(size);
    const range_doppler_params geometry = { acq, 1, size, size };
    const int batch = std::max(1, (8 << 20) / (size * 8));
    const auto compression = pulse_compression::make({ acq, 1, {}, {}, batch }, target);
    const auto migration = rcmc::make({ geometry, how, src }, target);
    const auto filter = azimuth_filter::make({ geometry, {} }, target);
    const auto other = azimuth_filter::make({ geometry, {} }, target);
    const auto pass = make_fused_rows_cuda(*migration, *other, compression.get(), target);
    const std::string name = to_string(how) + (src ? ", SRC" : "");
    if (!pass || !pass->serves() || !pass->compresses()) {
        std::printf("  %-14s no kernel\n", name.c_str());
        return;
    }
    target_memory rows(static_cast<std::size_t>(size) * size, target);
    target_memory compressed(static_cast<std::size_t>(batch) * size, target);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<cf32> line(size);
    for (int k = 0; k < size; ++k) {
        for (cf32& v : line)
            v = { normal(random), normal(random) };
        target.space->copy(rows.data() + static_cast<std::size_t>(k) * size,
                           line.data(),
                           size * sizeof(cf32),
                           device_space::lane::upload);
        target.space->synchronize();
    }
    const auto stages = [&] {
        filter->next();
        for (int k = 0; k < size; k += batch) {
            const int n = std::min(batch, size - k);
            compression->process(
                rows.data() + static_cast<std::size_t>(k) * size, compressed.data(), n);
            migration->process(compressed.data(), compressed.data(), k, n);
            filter->take(compressed.data(), k, n);
        }
    };
    const auto kernel = [&] { pass->run(rows.data(), 0, size); };
    stages();
    kernel();
    const double difference =
        difference_db(target, other->frames(), filter->frames(), size);
    if (!(difference < -100)) {
        std::printf(
            "  %-14s WRONG: differs by %.1f dB; no time\n", name.c_str(), difference);
        return;
    }
    std::printf("  %-14s stages %8.3f ms, kernel %8.3f ms, difference %.1f dB\n",
                name.c_str(),
                time_of(target, stages),
                time_of(target, kernel),
                difference);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        const compute_target target = choose_target(backend::cuda);
        std::vector<int> sizes;
        for (int i = 1; i < argc; ++i)
            sizes.push_back(std::atoi(argv[i]));
        if (sizes.empty())
            sizes = { 4096, 8192 };
        for (const int size : sizes) {
            require(size >= 256 && size <= 16384,
                    "SIZE is ",
                    size,
                    "; expected 256 to 16384");
            std::printf("%d x %d on %s\n", size, size, target.description.c_str());
            for (const auto how : { migration_interpolation::exact,
                                    migration_interpolation::sinc16,
                                    migration_interpolation::sinc8,
                                    migration_interpolation::linear })
                for (const bool src : { true, false })
                    measure(target, size, how, src);
        }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_rows: %s\n", e.what());
        return 1;
    }
}
