// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_flow.h"
#include <atomic>
#include <gnuradio/sar/azimuth_fft.h>
#include <gnuradio/sar/kernel/azimuth_fft/azimuth_fft.h>
#include <memory>
#include <vector>

namespace gr {
namespace sar {

class azimuth_fft_impl final : public azimuth_fft, private frame_flow::client
{
public:
    azimuth_fft_impl(const acquisition& acq,
                     int oversampling,
                     int hop,
                     const kernel::azimuth_fft_params& params,
                     const compute_target& target);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    int rows() const override { return d_kernel->params().rows; }
    int row_bytes() const override;
    std::uint64_t frames() const override { return d_frames; }
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
    frame_flow d_flow;
    frame_tag d_tag; // of the frame that goes out
    std::atomic<std::uint64_t> d_frames{ 0 };
};

} // namespace sar
} // namespace gr
