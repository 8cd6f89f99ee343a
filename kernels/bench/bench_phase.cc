// SPDX-License-Identifier: GPL-3.0-or-later
//
// The reference function of the Stolt mapping on one CPU thread: phase in double against
// tables of 2048 entries with linear interpolation. Errors against long double, time a
// bin. A row of tables takes as long to fill as to evaluate, so it is timed both kept
// from frame to frame and filled for each row.
//
//   bench_phase

#include "../core/instruction_set.h"
#include "phase_ways.h"
#include <cstdio>
#include <ctime>

using namespace gr::sar;
using namespace gr::sar::bench;

namespace {

constexpr int rows = 256;
constexpr int strip = 64;

struct tables {
    const cf32* phasors;
    const double* phases;
};

// the loop of stolt_cpu.cc
template <way how>
inline __attribute__((always_inline)) void multiply(const stolt_map::shape& shape,
                                                    const stolt_map::row& row,
                                                    tables t,
                                                    const cf32* from,
                                                    cf32* to)
{
    const stolt_map::shape s = shape;
    const stolt_map::row r = row;
    alignas(64) float re[strip];
    alignas(64) float im[strip];
    for (int begin = 0; begin < s.padded; begin += strip) {
        for (int i = 0; i < strip; ++i) {
            const cf32 f =
                factor_of<how>(s, r, t.phasors, t.phases, begin + i - s.length);
            re[i] = f.re;
            im[i] = f.im;
        }
        const int bins = std::min(strip, s.padded - begin);
        for (int i = 0; i < bins; ++i)
            to[begin + i] = cf32{ re[i], im[i] } * from[begin + i];
    }
}

using loop =
    void (*)(const stolt_map::shape&, const stolt_map::row&, tables, const cf32*, cf32*);

template <way how>
void plain_multiply(const stolt_map::shape& s,
                    const stolt_map::row& r,
                    tables t,
                    const cf32* from,
                    cf32* to)
{
    multiply<how>(s, r, t, from, to);
}

#ifdef SAR_HAVE_X86_SETS
template <way how>
SAR_FOR_AVX2 void avx2_multiply(const stolt_map::shape& s,
                                const stolt_map::row& r,
                                tables t,
                                const cf32* from,
                                cf32* to)
{
    multiply<how>(s, r, t, from, to);
}

template <way how>
SAR_FOR_AVX512 void avx512_multiply(const stolt_map::shape& s,
                                    const stolt_map::row& r,
                                    tables t,
                                    const cf32* from,
                                    cf32* to)
{
    multiply<how>(s, r, t, from, to);
}
#endif

template <way how>
loop loop_for()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return avx512_multiply<how>;
    case instruction_set::avx2:
        return avx2_multiply<how>;
#endif
    default:
        return plain_multiply<how>;
    }
}

loop loop_of(way w)
{
    switch (w) {
    case way::direct:
        return loop_for<way::direct>();
    case way::phasor_table:
        return loop_for<way::phasor_table>();
    case way::phase_table:
        return loop_for<way::phase_table>();
    default:
        return loop_for<way::single>();
    }
}

double cpu_nanoseconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

//! Least of the CPU times of a call, ns: what disturbs only adds.
template <typename Work>
double nanoseconds(Work work)
{
    double best = 1e30;
    for (int n = 0; n < 25; ++n) {
        const double begin = cpu_nanoseconds();
        work();
        best = std::min(best, cpu_nanoseconds() - begin);
    }
    return best;
}

} // namespace

int main()
{
    const instruction_set set = instructions_of_this_machine();
    std::printf("one thread, %s\n",
                set == instruction_set::avx512 ? "AVX-512"
                : set == instruction_set::avx2 ? "AVX2"
                                               : "no vector instructions chosen");
    const std::vector<cf32> phasors = phasor_table();
    for (const scene& c : scenes()) {
        const stolt_map::shape s = shape_of(c);
        const std::vector<stolt_map::row> all = rows_of(c, rows);
        std::vector<double> phases(static_cast<std::size_t>(rows) * (table_entries + 1));
        const auto fill = [&] {
            for (int k = 0; k < rows; ++k)
                fill_phase_table(s, all[k], &phases[k * (table_entries + 1L)]);
        };
        fill();
        // zeros of the padding that strips read beyond the end
        std::vector<cf32> ones(s.padded + strip, cf32{ 1, 0 });
        std::vector<cf32> out(s.padded + strip);
        std::printf("\n%s: rows of %d bins\n", c.name.c_str(), s.padded);
        for (const way w : all_ways) {
            const loop run = loop_of(w);
            factor_error error;
            for (int k = 0; k < rows; k += 15) {
                const tables t = { phasors.data(), &phases[k * (table_entries + 1L)] };
                run(s, all[k], t, ones.data(), out.data());
                for (int j = 0; j < s.padded; ++j)
                    error.add(out[j], true_cycles(s, all[k], j - s.length));
            }
            const double all_rows = nanoseconds([&] {
                for (int k = 0; k < rows; ++k)
                    run(s,
                        all[k],
                        { phasors.data(), &phases[k * (table_entries + 1L)] },
                        ones.data(),
                        out.data());
            });
            const double bins = static_cast<double>(rows) * s.padded;
            std::printf("  %-22s error %7.1f dB, largest %.2g   %6.2f ns a bin",
                        name_of(w),
                        error.rms_db(),
                        error.largest(),
                        all_rows / bins);
            if (w == way::phase_table)
                std::printf(", filled anew %6.2f", (all_rows + nanoseconds(fill)) / bins);
            std::printf("\n");
        }
    }
    return 0;
}
