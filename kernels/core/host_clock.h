// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace gr {
namespace sar {

/*!
 * \brief The host's clock against a stream of samples.
 *
 * Samples come late and never early. So the least lag behind their count that was seen is
 * the difference of the clocks, and what is more is waiting, or samples that are missing
 * in the count. Counted are those that came and those that are known to be lost.
 */
class host_clock
{
public:
    explicit host_clock(double rate_hz) : d_rate_hz(rate_hz) {}

    //! At \p host_s all samples before number \p end were here.
    void arrived(double host_s, std::int64_t end)
    {
        const double lag_s = host_s - static_cast<double>(end) / d_rate_hz;
        if (d_known == 0 || host_s - d_begin[0] > bucket_s) {
            for (int i = buckets - 1; i > 0; --i) {
                d_begin[i] = d_begin[i - 1];
                d_least[i] = d_least[i - 1];
            }
            d_begin[0] = host_s;
            d_least[0] = lag_s;
            d_known = std::min(d_known + 1, buckets);
        }
        d_least[0] = std::min(d_least[0], lag_s);
        d_now = lag_s;
        // it may grow as fast as clocks drift apart
        const double grown_s = clocks_differ * (host_s - d_noted_s);
        d_offset_s = d_offset_s ? std::min(*d_offset_s + grown_s, lag_s) : lag_s;
        d_noted_s = host_s;
    }

    //! The host's time of sample 0, once a sample is there.
    std::optional<double> offset_s() const { return d_offset_s; }
    //! As if none had been seen: the count went wrong by an unknown number.
    void forget_offset() { d_offset_s.reset(); }

    //! Do samples come at the pace of the wall's clock? Known after half a second. A
    //! recording that is read as fast as it goes, or slower, does not.
    bool live() const { return d_known > 2 && keeps_pace(); }

    //! Is lost_samples() more than a guess?
    bool knows_losses() const { return d_known > 1 && keeps_pace(); }
    //! Samples that came too late to be late only; 0 when that is not known.
    double lost_samples() const
    {
        if (!knows_losses())
            return 0;
        return std::max(0.0, (d_now - std::min(d_least[0], d_least[1])) * d_rate_hz);
    }

private:
    static constexpr int buckets = 4;
    static constexpr double bucket_s = 0.25;
    static constexpr double clocks_differ = 1e-4; // by no more

    bool keeps_pace() const
    {
        const int last = d_known - 1;
        return last < 2 || std::abs(d_least[1] - d_least[last]) <=
                               0.05 * (d_begin[1] - d_begin[last]);
    }

    double d_rate_hz;
    double d_begin[buckets] = {};
    double d_least[buckets] = {};
    int d_known = 0;
    double d_now = 0;
    std::optional<double> d_offset_s;
    double d_noted_s = 0;
};

} // namespace sar
} // namespace gr
