// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_block.h"
#include "slant_image.h"
#include <gnuradio/sar/kernel/range_doppler_imager/range_doppler_imager.h>
#include <gnuradio/sar/range_doppler_imager.h>
#include <memory>
#include <vector>

namespace gr {
namespace sar {

class range_doppler_imager_impl final : public frame_block<range_doppler_imager>
{
public:
    range_doppler_imager_impl(const kernel::range_doppler_imager_params& params,
                              int hop,
                              bool valid_only,
                              const compute_target& target);

    int image_rows() const override { return d_image_rows; }
    int aperture_lines() const override
    {
        return d_kernel->plan().aperture_lines(d_band);
    }
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

    const acquisition d_acq;
    std::unique_ptr<kernel::range_doppler_imager> d_kernel;
    const std::vector<double> d_centroid; // of acq
    const doppler_band d_band;
    const slant_image d_image;
    int d_image_rows = 0;
    slant_image::part d_part;
    frame_tag d_tag; // of the image that goes out
};

} // namespace sar
} // namespace gr
