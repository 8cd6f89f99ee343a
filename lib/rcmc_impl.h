// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <gnuradio/sar/kernel/rcmc/rcmc.h>
#include <gnuradio/sar/rcmc.h>
#include <mutex>

namespace gr {
namespace sar {

class rcmc_impl final : public rcmc
{
public:
    rcmc_impl(const kernel::rcmc_params& params, const compute_target& target);

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    int rows() const override { return d_rows; }
    double slant_range_first_m() const override;
    bool uses_src() const override;
    std::uint64_t bad_lines() const override;

private:
    void migrate(int rows, const char* in, char* out);
    void begin_frame(const frame_tag& frame);
    frame_tag migrated_frame(frame_tag frame) const;

    mutable std::mutex d_lock; // of the kernel
    const std::unique_ptr<kernel::rcmc> d_kernel;
    const std::vector<double> d_own_centroid; // of the acquisition
    const int d_rows;
    int d_row = 0; // of the next item
};

} // namespace sar
} // namespace gr
