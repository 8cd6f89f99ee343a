// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <gnuradio/basic_block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace sar {

struct edge_fault;

/*!
 * \brief What every gr-sar block answers: where it runs, how long it took, what failed.
 *
 * An error in work() ends the flowgraph (the scheduler of GNU Radio 3.10 hangs on an
 * exception there), is logged, and can be asked for here afterwards.
 */
class SAR_API stage
{
public:
    virtual ~stage() = default;

    //! Where the block runs, with the reason: "cuda:0 (NVIDIA H200)", "cpu (no CUDA
    //! ...)".
    std::string backend() const { return d_target.description; }
    //! Empty, or the sentence that ended the flowgraph.
    std::string error() const;
    //! Seconds spent in work() so far. CUDA blocks enqueue there: time of the host
    //! thread.
    double work_seconds() const { return 1e-9 * d_work_ns; }
    //! Calls of work() so far.
    std::uint64_t work_calls() const { return d_work_calls; }

    const compute_target& target() const { return d_target; }

protected:
    void set_target(const compute_target& t) { d_target = t; }

    //! To be called from start(): bind the device to the block's thread, and refuse edges
    //! that cannot work. Does not throw, since tb.start() of GNU Radio 3.10 hangs on an
    //! exception in start(): the error is noted and the flowgraph ends with the first
    //! work.
    void start_stage(gr::basic_block& self) noexcept;

    //! Run the body of a work function; see guarded_work.h in lib/.
    template <typename Body>
    int guarded(gr::basic_block& self, Body&& body) noexcept;

private:
    void note_error(gr::basic_block& self, const char* what) noexcept;
    void check_edges(gr::basic_block& self);
    bool must_end() const noexcept;

    compute_target d_target;
    mutable std::mutex d_error_lock; // of the two below
    std::string d_error;
    std::vector<std::shared_ptr<edge_fault>> d_edges; // device edges of this block
    std::atomic<bool> d_failed{ false };
    std::atomic<std::uint64_t> d_work_ns{ 0 };
    std::atomic<std::uint64_t> d_work_calls{ 0 };
};

} // namespace sar
} // namespace gr
