// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/basic_block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace gr {
namespace sar {

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

    //! Where the block runs, with the reason: "cuda:0 (NVIDIA H200)", "cpu (no CUDA ...)".
    std::string backend() const { return d_target.description; }
    //! Empty, or the sentence that ended the flowgraph.
    std::string error() const;
    //! Seconds spent in work() so far. CUDA blocks enqueue there: time of the host thread.
    double work_seconds() const { return 1e-9 * d_work_ns; }
    //! Calls of work() so far.
    std::uint64_t work_calls() const { return d_work_calls; }

    const compute_target& target() const { return d_target; }

protected:
    void set_target(const compute_target& t) { d_target = t; }

    //! To be called from start(): bind the device to the block's thread, and refuse edges
    //! that lead to another device. \throws std::runtime_error
    void start_stage(gr::basic_block& self) const;

    //! Run the body of a work function; see guarded_work.h in lib/.
    template <typename Body>
    int guarded(gr::basic_block& self, Body&& body) noexcept;

private:
    void note_error(gr::basic_block& self, const char* what) noexcept;

    compute_target d_target;
    mutable std::mutex d_error_lock;
    std::string d_error;
    std::atomic<std::uint64_t> d_work_ns{ 0 };
    std::atomic<std::uint64_t> d_work_calls{ 0 };
};

} // namespace sar
} // namespace gr
