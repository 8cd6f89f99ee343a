// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_block.h"
#include "slant_image.h"
#include <gnuradio/sar/azimuth_filter.h>
#include <gnuradio/sar/kernel/azimuth_filter/azimuth_filter.h>
#include <memory>
#include <vector>

namespace gr {
namespace sar {

class azimuth_filter_impl final : public frame_block<azimuth_filter>
{
public:
    azimuth_filter_impl(const kernel::azimuth_filter_params& params,
                        bool valid_only,
                        int hop,
                        const compute_target& target);

    int image_rows() const override { return d_image_rows; }
    int aperture_lines() const override { return d_aperture_lines; }
    int row_bytes() const override;
    std::uint64_t images() const override { return d_done; }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }
    std::uint64_t memory_bytes() const override { return d_kernel->bytes(); }

private:
    const char* frames_are() const override { return "images"; }
    // frame_flow::client
    void begin(const frame_tag& tag) override;
    void take(const void* items, int first, int count) override;
    int finish(const collected_frame& frame) override;
    void give(void* out, int first, int count) override;
    void next(int kept) override;

    std::unique_ptr<kernel::azimuth_filter> d_kernel;
    const slant_image d_image;
    const std::vector<double> d_centroid; // of acq
    const int d_image_rows;
    const int d_aperture_lines;
    slant_image::part d_part; // of the image that goes out
    frame_tag d_tag;
};

} // namespace sar
} // namespace gr
