// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the benchmarks on a target share: memory to and from it, and times from an idle
// target to an idle one, so that launches count.

#include "../core/acquisition.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace gr {
namespace sar {
namespace bench {

inline void idle(const compute_target& t)
{
    if (t.space)
        t.space->synchronize();
}

//! From host memory into that of the target. Enqueued only, on a device.
inline void write(const compute_target& t, cf32* to, const cf32* from, std::size_t n)
{
    if (t.is_cuda())
        t.space->copy(to, from, n * sizeof(cf32), device_space::lane::upload);
    else
        std::copy_n(from, n, to);
}

//! And back.
inline void read(const compute_target& t, cf32* to, const cf32* from, std::size_t n)
{
    if (t.is_cuda())
        t.space->copy(to, from, n * sizeof(cf32), device_space::lane::download);
    else
        std::copy_n(from, n, to);
}

//! Median time of a call, ms.
inline double
median_ms(const compute_target& target, int runs, const std::function<void()>& work)
{
    std::vector<double> ms;
    for (int i = 0; i < runs; ++i) {
        idle(target);
        const auto begin = std::chrono::steady_clock::now();
        work();
        idle(target);
        ms.push_back(std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now() - begin)
                         .count());
    }
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
}

//! X band from an aeroplane, pulses of an eighth of the line.
inline acquisition airborne(int samples)
{
    acquisition_fields f;
    f.samples = samples;
    f.carrier_hz = 9.6e9;
    f.sample_rate_hz = 180e6;
    f.pulse_length_s = samples / 8 / 180e6;
    f.chirp_rate_hz_per_s = 150e6 / f.pulse_length_s;
    f.prf_hz = 600;
    f.slant_range_first_m = 10e3;
    f.effective_velocity_m_s = 100;
    return acquisition(f);
}

} // namespace bench
} // namespace sar
} // namespace gr
