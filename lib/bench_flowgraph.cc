// SPDX-License-Identifier: GPL-3.0-or-later
//
// Times of flowgraphs in steady state, on one target.
//
//   bench_flowgraph [cpu | cuda] [SIZE]
//
// Frames of SIZE x SIZE samples, X band, as of bench_range_doppler, and images of SIZE x
// SIZE pixels from SIZE pulses at 10 km, as of bench_bp. They come from a block that
// leaves its output buffer as it is, in device memory or in host memory, and end in one
// that reads nothing, so that only the blocks between them and the edges take time. A
// time is the difference between a short run and a long one, each the least of three,
// over the frames that the long one has more.

#include "device_ring.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/sar/azimuth_fft.h>
#include <gnuradio/sar/azimuth_filter.h>
#include <gnuradio/sar/bp_accumulator.h>
#include <gnuradio/sar/chirp_scaling_imager.h>
#include <gnuradio/sar/kernel/bench/bench_host.h>
#include <gnuradio/sar/kernel/bench/bench_rows.h>
#include <gnuradio/sar/kernel/core/constants.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/target_memory.h>
#include <gnuradio/sar/omega_k_imager.h>
#include <gnuradio/sar/pulse_compression.h>
#include <gnuradio/sar/range_doppler_imager.h>
#include <gnuradio/sar/rcmc.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <string>
#include <vector>

using namespace gr::sar;

namespace {

//! Emits what its buffer holds: zeros.
class empty_source final : public gr::sync_block, public stage
{
public:
    using sptr = std::shared_ptr<empty_source>;
    empty_source(int bytes, std::uint64_t items, const compute_target& target)
        : gr::sync_block("empty_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, bytes, stream_type(target))),
          d_left(items)
    {
        set_target(target);
        set_min_output_buffer(batch_buffer(bytes, target));
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return guarded(*this, [&] {
            const int n = static_cast<int>(std::min<std::uint64_t>(items, d_left));
            d_left -= n;
            return n ? n : static_cast<int>(WORK_DONE);
        });
    }

private:
    std::uint64_t d_left;
};

//! Reads nothing.
class empty_sink final : public gr::sync_block, public stage
{
public:
    empty_sink(int bytes, const compute_target& target)
        : gr::sync_block("empty_sink",
                         gr::io_signature::make(1, 1, bytes, stream_type(target)),
                         gr::io_signature::make(0, 0, 0))
    {
        set_target(target);
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return guarded(*this, [&] { return items; });
    }
};

//! Positions on a straight line, again for each image.
class line_of_positions final : public gr::sync_block
{
public:
    line_of_positions(vec3 first, vec3 step, int pulses, std::uint64_t items)
        : gr::sync_block("line_of_positions",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(vec3))),
          d_first(first),
          d_step(step),
          d_pulses(pulses),
          d_left(items)
    {
    }
    int work(int items, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        const int n = static_cast<int>(std::min<std::uint64_t>(items, d_left));
        vec3* const to = static_cast<vec3*>(out[0]);
        for (int i = 0; i < n; ++i, d_at = (d_at + 1) % d_pulses)
            to[i] = d_first + static_cast<double>(d_at) * d_step;
        d_left -= n;
        return n ? n : static_cast<int>(WORK_DONE);
    }

private:
    const vec3 d_first;
    const vec3 d_step;
    const int d_pulses;
    int d_at = 0;
    std::uint64_t d_left;
};

using chain = std::vector<gr::block_sptr>;

//! Blocks that run one after the other, their input from the first one's output on.
chain line_up(gr::top_block_sptr tb,
              const compute_target& source_on,
              int bytes_in,
              std::uint64_t items,
              const chain& blocks,
              int bytes_out,
              const compute_target& sink_on)
{
    chain all{ gnuradio::make_block_sptr<empty_source>(bytes_in, items, source_on) };
    all.insert(all.end(), blocks.begin(), blocks.end());
    all.push_back(gnuradio::make_block_sptr<empty_sink>(bytes_out, sink_on));
    for (std::size_t i = 1; i < all.size(); ++i)
        tb->connect(all[i - 1], 0, all[i], 0);
    return all;
}

//! Seconds that a flowgraph of so many frames runs. \throws what a block ended with
using flowgraph = std::function<chain(gr::top_block_sptr, int frames)>;

double seconds(const flowgraph& make, int frames, const compute_target& target)
{
    auto tb = gr::make_top_block("bench_flowgraph");
    const chain all = make(tb, frames);
    const auto begin = std::chrono::steady_clock::now();
    tb->run();
    bench::idle(target);
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const auto& b : all)
        if (const auto* t = dynamic_cast<const stage*>(b.get()))
            require(t->error().empty(), t->error());
    return s;
}

void measure(const char* workload,
             const std::string& size,
             int frames,
             const flowgraph& make,
             const compute_target& target,
             double work = 0,
             double bytes = 0)
{
    const int few = std::max(2, frames / 4);
    double least[2] = { 1e300, 1e300 }; // of a short run, of a long one
    for (int run = 0; run < 3; ++run)
        for (const int more : { 0, 1 })
            least[more] =
                std::min(least[more], seconds(make, few + more * frames, target));
    const double best = (least[1] - least[0]) / frames;
    const double ms = 1e3 * best;
    std::printf("  %-48s %9.3f ms", workload, ms);
    if (work > 0)
        std::printf("  %7.1f G pulse-pixels/s", work / ms / 1e6);
    if (bytes > 0)
        std::printf("  %6.1f GB/s from the host", bytes / ms / 1e6);
    std::printf("\n");
    std::fflush(stdout);
    bench::put_row(
        { workload, size, "gr-sar", target.is_cuda() ? "cuda" : "cpu", ms, NAN, work });
}

void range_doppler(const compute_target& target, int size)
{
    const compute_target host;
    const acquisition acq = bench::airborne(size);
    const std::string where = to_string(target.kind);
    const std::string name = std::to_string(size) + " x " + std::to_string(size);
    const int line = size * static_cast<int>(sizeof(gr_complex));
    const double bytes = static_cast<double>(line) * size;
    const int frames = target.is_cuda() ? 60 : 4;
    const auto lines = [&](int n) { return static_cast<std::uint64_t>(n) * size; };
    const auto stages = [&] {
        return chain{
            pulse_compression::make(acq, 1, "rect", {}, where),
            azimuth_fft::make(acq, size, size, 0, 1, "forward", "single", where),
            rcmc::make(
                acq, size, size, 1, "exact", true, "zero_doppler", "single", where),
            azimuth_filter::make(acq,
                                 size,
                                 size,
                                 1,
                                 "rect",
                                 0,
                                 1,
                                 "zero_doppler",
                                 "all",
                                 0,
                                 "single",
                                 where)
        };
    };
    const std::pair<const char*, std::function<chain()>> kinds[] = {
        { "range-Doppler, a chain of blocks", stages },
        { "range-Doppler, a block",
          [&] {
              return chain{ range_doppler_imager::make(acq,
                                                       size,
                                                       size,
                                                       0,
                                                       1,
                                                       "rect",
                                                       {},
                                                       "exact",
                                                       true,
                                                       "rect",
                                                       0,
                                                       1,
                                                       "zero_doppler",
                                                       "all",
                                                       where) };
          } },
        { "chirp scaling, a block",
          [&] {
              return chain{ chirp_scaling_imager::make(acq,
                                                       size,
                                                       size,
                                                       0,
                                                       1,
                                                       "rect",
                                                       "rect",
                                                       0,
                                                       1,
                                                       "zero_doppler",
                                                       "all",
                                                       where) };
          } },
        { "omega-k, a block",
          [&] {
              return chain{ omega_k_imager::make(acq,
                                                 size,
                                                 size,
                                                 0,
                                                 1,
                                                 "rect",
                                                 {},
                                                 "exact",
                                                 "rect",
                                                 0,
                                                 1,
                                                 "zero_doppler",
                                                 "all",
                                                 where) };
          } },
    };
    for (const auto& [workload, make] : kinds)
        measure(
            workload,
            name,
            frames,
            [&, make = make](auto tb, int n) {
                return line_up(tb, target, line, lines(n), make(), line, target);
            },
            target);
    if (!target.is_cuda())
        return;
    measure(
        "range-Doppler, a block, from host memory",
        name,
        frames,
        [&](auto tb, int n) {
            return line_up(tb, host, line, lines(n), kinds[1].second(), line, target);
        },
        target,
        0,
        bytes);
    const auto ring = target.space->make_host_ring(1 << 26, false);
    target_memory device((1 << 26) / sizeof(cf32), target);
    const double copy = bench::median_ms(target, 20, [&] {
        target.space->copy(
            device.data(), ring->base, 1 << 26, device_space::lane::upload);
    });
    std::printf("  %-48s %9.3f ms  %6.1f GB/s\n",
                "a copy of as much page-locked memory",
                copy * bytes / (1 << 26),
                (1 << 26) / copy / 1e6);
}

void back_projection(const compute_target& target, int size)
{
    const compute_target host;
    constexpr double range = 10e3;
    constexpr double grazing = 43 * pi / 180;
    constexpr double aperture = 2.9 * pi / 180;
    constexpr int oversampling = 4;
    acquisition_fields f;
    f.carrier_hz = 10e9;
    f.prf_hz = 600;
    f.sample_rate_hz = 500e6;
    f.pulse_length_s = 1e-6;
    f.chirp_rate_hz_per_s = 400e12;
    f.samples = static_cast<int>(size * 0.85);
    f.slant_range_first_m = range - f.samples * 0.3 / 2;
    const acquisition acq(f);
    const image_grid grid =
        image_grid::centred({ 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, 0.3, 0.3, size, size);
    const std::string where = to_string(target.kind);
    const std::string name = std::to_string(size) + " x " + std::to_string(size);
    const int line = oversampling * f.samples * static_cast<int>(sizeof(gr_complex));
    const double y = -range * std::cos(grazing);
    const double z = range * std::sin(grazing);
    const vec3 first = { -range * aperture / 2, y, z };
    const vec3 step = { range * aperture / size, 0, 0 };
    const double work = std::pow(static_cast<double>(size), 3);
    const int frames = target.is_cuda() ? 12 : 1;
    const int row = size * static_cast<int>(sizeof(gr_complex));
    for (const char* how : { "linear", "sinc8" })
        for (const bool from_host : { false, true }) {
            if (from_host && !target.is_cuda())
                continue;
            const std::string workload = std::string("back-projection, a block, ") + how +
                                         (from_host ? ", from host memory" : "");
            measure(
                workload.c_str(),
                name,
                frames,
                [&](auto tb, int n) {
                    const auto imager = bp_accumulator::make(
                        acq, grid, oversampling, how, "auto", size, 0, false, where);
                    chain all = line_up(tb,
                                        from_host ? host : target,
                                        line,
                                        static_cast<std::uint64_t>(n) * size,
                                        { imager },
                                        row,
                                        target);
                    tb->connect(
                        gnuradio::make_block_sptr<line_of_positions>(
                            first, step, size, static_cast<std::uint64_t>(n) * size),
                        0,
                        imager,
                        1);
                    return all;
                },
                target,
                work,
                from_host ? static_cast<double>(line) * size : 0);
        }
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        const compute_target target =
            choose_target(backend_from_name(argc > 1 ? argv[1] : "auto"));
        gr::logging::singleton().set_default_level(spdlog::level::err);
        const int size = argc > 2 ? std::atoi(argv[2]) : target.is_cuda() ? 4096 : 1024;
        require(size >= 64 && size <= 16384, "SIZE is ", size, "; expected 64 to 16384");
        std::printf(
            "flowgraphs of %d x %d on %s\n", size, size, target.description.c_str());
        range_doppler(target, size);
        back_projection(target, size);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_flowgraph: %s\n", e.what());
        return 1;
    }
}
