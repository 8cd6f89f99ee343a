// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/point_target_source.h>

namespace gr {
namespace sar {

class point_target_source_impl final : public point_target_source
{
public:
    point_target_source_impl(const point_target_source_params& params, int frames);

    bool start() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    int copy_lines(int noutput_items, char* lines, char* positions);
    pmt::pmt_t frame_tag(std::uint64_t frame) const;

    const acquisition d_acq;
    const int d_pulses;
    const int d_frames;
    std::vector<cf32> d_lines;
    std::vector<vec3> d_positions;
    std::uint64_t d_next_line = 0;
};

} // namespace sar
} // namespace gr
