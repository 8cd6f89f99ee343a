// SPDX-License-Identifier: GPL-3.0-or-later
#include "transmit_line.h"
#include "../kernels/core/errors.h"
#include <algorithm>
#include <cstring>

namespace gr {
namespace sar {

namespace {
bool is_zero(cf32 v) { return v.re == 0 && v.im == 0; }
} // namespace

void transmit_line::write(std::int64_t at, const cf32* samples, std::int64_t n)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    require(d_bursts.empty() || at >= d_bursts.back().end,
            "burst begins at sample ",
            at,
            "; expected ",
            d_bursts.empty() ? 0 : d_bursts.back().end,
            ", the end of the burst before it, or later");
    if (n <= 0)
        return;
    std::int64_t begin = 0, end = n;
    while (begin < end && is_zero(samples[begin]))
        ++begin;
    while (end > begin && is_zero(samples[end - 1]))
        --end;
    d_bursts.push_back({ at, at + n, { samples, samples + n }, begin, end });
}

void transmit_line::repeat(std::int64_t at, std::vector<cf32> samples)
{
    require(!samples.empty(), "samples to repeat are none; expected 1 or more");
    write(at, samples.data(), samples.size());
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_bursts.back().end = forever;
}

void transmit_line::stop(std::int64_t at)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    while (!d_bursts.empty() && d_bursts.back().begin >= at)
        d_bursts.pop_back();
    if (!d_bursts.empty())
        d_bursts.back().end = std::min(d_bursts.back().end, at);
}

void transmit_line::silence(std::int64_t at, std::int64_t n)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    for (burst& b : d_bursts) {
        const std::int64_t first = std::max(at, b.begin);
        const std::int64_t last = std::min(at + n, b.end);
        if (first < last && b.end != forever)
            std::fill(b.samples.begin() + (first - b.begin),
                      b.samples.begin() + (last - b.begin),
                      cf32{ 0, 0 });
    }
}

void transmit_line::forget(std::int64_t at)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    while (!d_bursts.empty() && d_bursts.front().end <= at)
        d_bursts.pop_front();
}

void transmit_line::clear()
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_bursts.clear();
}

bool transmit_line::read(std::int64_t first, std::int64_t n, cf32* out) const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    const std::int64_t end = first + n;
    auto b = std::partition_point(
        d_bursts.begin(), d_bursts.end(), [&](const burst& x) { return x.end <= first; });
    if (b == d_bursts.end() || b->begin >= end)
        return false;
    // part of a burst: its samples from `from` on leave from sample `at` on
    const auto each = [&](auto&& take) {
        for (auto x = b; x != d_bursts.end() && x->begin < end; ++x) {
            const std::int64_t last = std::min(x->end, end);
            const std::int64_t period = x->samples.size();
            for (std::int64_t at = std::max(first, x->begin); at < last;) {
                const std::int64_t from = (at - x->begin) % period;
                const std::int64_t part = std::min(last - at, period - from);
                take(*x, from, part, at);
                at += part;
            }
        }
    };
    bool heard = false;
    each([&](const burst& x, std::int64_t from, std::int64_t part, std::int64_t) {
        heard |= from < x.heard_end && from + part > x.heard_begin;
    });
    if (!heard)
        return false;
    std::int64_t done = first;
    each([&](const burst& x, std::int64_t from, std::int64_t part, std::int64_t at) {
        std::memset(out + (done - first), 0, (at - done) * sizeof(cf32));
        std::memcpy(out + (at - first), x.samples.data() + from, part * sizeof(cf32));
        done = at + part;
    });
    std::memset(out + (done - first), 0, (end - done) * sizeof(cf32));
    return true;
}

std::int64_t transmit_line::held() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    std::int64_t n = 0;
    for (const burst& b : d_bursts)
        n += b.samples.size();
    return n;
}

std::int64_t transmit_line::pending(std::int64_t at) const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    std::int64_t n = 0;
    for (const burst& b : d_bursts)
        if (b.end != forever)
            n += std::max<std::int64_t>(0, b.end - std::max(at, b.begin));
    return n;
}

} // namespace sar
} // namespace gr
