// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_block.h"
#include <gnuradio/sar/azimuth_fft.h>
#include <gnuradio/sar/kernel/azimuth_fft/azimuth_fft.h>
#include <memory>
#include <vector>

namespace gr {
namespace sar {

class azimuth_fft_impl final : public frame_block<azimuth_fft>
{
public:
    azimuth_fft_impl(const acquisition& acq,
                     int oversampling,
                     int hop,
                     const kernel::azimuth_fft_params& params,
                     const compute_target& target);

    int rows() const override { return d_kernel->params().rows; }
    int row_bytes() const override;
    std::uint64_t frames() const override { return d_done; }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }
    std::uint64_t memory_bytes() const override { return d_kernel->bytes(); }

private:
    // frame_flow::client
    void begin(const frame_tag& tag) override;
    void take(const void* items, int first, int count) override;
    int finish(const collected_frame& frame) override;
    void give(void* out, int first, int count) override;
    void next(int kept) override;

    bool inverse() const { return d_kernel->params().inverse; }
    frame_tag spectrum_tag(const collected_frame& frame) const;
    frame_tag lines_tag(const collected_frame& frame) const;

    const acquisition d_acq;
    const range_axis d_axis;
    const int d_hop;
    const std::vector<double> d_centroid;
    std::unique_ptr<kernel::azimuth_fft> d_kernel;
    frame_tag d_tag; // of the frame that goes out
};

} // namespace sar
} // namespace gr
