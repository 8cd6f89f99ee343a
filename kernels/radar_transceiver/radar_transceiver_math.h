// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Samples, pulses and the time of a radio's clock.
//
// Symbols
//   u    samples of the receiver since its first one, those included that were lost
//   b    time of u = 0 on the radio's clock, ns
//   fs   samples a second
//   PRI  samples from pulse to pulse, a whole number: a converter sends nothing else
//   u_0  sample at which pulse 0 is sent
//
// Sample u has the time b + 10^9 u / fs, pulse n is sent at u_0 + n PRI. A double holds
// 10^15 ns of a clock, 12 days; times are differences of whole numbers, and long double
// where they are multiplied.

#include <cmath>
#include <cstdint>

namespace gr {
namespace sar {

//! Time of sample \p u, rounded to a nanosecond.
inline long long sample_time_ns(long long base_ns, std::int64_t u, double rate_hz)
{
    return base_ns + std::llround(static_cast<long double>(u) * 1e9L / rate_hz);
}

//! The sample nearest to a time: right as long as a sample lasts longer than 1 ns.
inline std::int64_t sample_at(long long base_ns, long long t_ns, double rate_hz)
{
    return std::llround(static_cast<long double>(t_ns - base_ns) * rate_hz / 1e9L);
}

//! Number of the pulse within whose interval sample \p u lies; negative before pulse 0.
inline std::int64_t
pulse_of_sample(std::int64_t u, std::int64_t u_0, std::int64_t interval)
{
    const std::int64_t d = u - u_0;
    return d >= 0 ? d / interval : -((-d + interval - 1) / interval);
}

//! Number of the first pulse that is sent at sample \p u or later.
inline std::int64_t
first_pulse_from(std::int64_t u, std::int64_t u_0, std::int64_t interval)
{
    return pulse_of_sample(u - 1, u_0, interval) + 1;
}

/*!
 * \brief What a time stamp says, which is \p ahead samples later than were counted.
 *
 * Stamps in nanoseconds are right to a fraction of a sample, so anything but 0 means
 * something: a stamp before its sample is untrue, one behind it a loss. A single sample
 * more is taken for a loss only when the radio told of one: clocks that round do that.
 */
enum class stamp_verdict { right, lost, rounded, untrue };

inline stamp_verdict judge_stamp(std::int64_t ahead, bool loss_told)
{
    if (ahead == 0)
        return stamp_verdict::right;
    if (ahead < 0)
        return ahead == -1 ? stamp_verdict::rounded : stamp_verdict::untrue;
    return ahead == 1 && !loss_told ? stamp_verdict::rounded : stamp_verdict::lost;
}

} // namespace sar
} // namespace gr
