// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_block.h"
#include <deque>
#include <gnuradio/sar/doppler_centroid.h>
#include <memory>
#include <mutex>

namespace gr {
namespace sar {

class doppler_centroid_impl final : public frame_block<doppler_centroid>
{
public:
    doppler_centroid_impl(const kernel::doppler_centroid_params& params,
                          const compute_target& target);

    std::vector<kernel::centroid_estimate> estimates() const override;
    std::uint64_t frames() const override { return d_done; }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }

private:
    const char* bad_lines_did() const override { return "did not count"; }
    // frame_flow::client
    void begin(const frame_tag& tag) override;
    void take(const void* items, int first, int count) override;
    int finish(const collected_frame& frame) override;
    void give(void* out, int first, int count) override;
    void next(int kept) override;

    void log(std::uint64_t frame, const kernel::centroid_estimate& e);

    const range_axis d_axis;
    std::unique_ptr<kernel::doppler_centroid> d_kernel;
    frame_tag d_tag; // of the frame that goes out
    mutable std::mutex d_lock;
    std::deque<kernel::centroid_estimate> d_estimates;
};

} // namespace sar
} // namespace gr
