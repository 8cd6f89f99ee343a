// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <gnuradio/block.h>
#include <gnuradio/sar/stage.h>

namespace gr {
namespace sar {

// The wall at the border of a block: nothing is thrown into the scheduler, which would
// end only this thread and leave the flowgraph hanging. WORK_DONE ends it in order.
template <typename Body>
int stage::guarded(gr::basic_block& self, Body&& body) noexcept
{
    const auto begin = std::chrono::steady_clock::now();
    int result = gr::block::WORK_DONE;
    try {
        if (!must_end())
            result = body();
    } catch (const std::exception& e) {
        note_error(self, e.what());
    } catch (...) {
        note_error(self, "unknown exception");
    }
    d_work_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now() - begin)
                     .count();
    ++d_work_calls;
    return result;
}

//! What a block says when the flowgraph ends. Counters of a device that has failed cannot
//! be had: then that is said.
template <typename Log, typename Body>
void say_at_end(const Log& log, Body&& body) noexcept
{
    try {
        body();
    } catch (const std::exception& e) {
        log->error("{:s}", e.what());
    }
}

//! \p what: "lines", "rows"
template <typename Log>
void warn_of_zeroed(const Log& log, std::uint64_t n, const char* what)
{
    if (n)
        log->warn("{:d} {:s} held values that are not finite and were zeroed", n, what);
}

} // namespace sar
} // namespace gr
