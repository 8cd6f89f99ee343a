// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/sar/trajectory_source.h>
#include <vector>

namespace gr {
namespace sar {

class trajectory_source_impl final : public trajectory_source
{
public:
    trajectory_source_impl(std::vector<vec3> positions, int frames);

    bool start() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const std::vector<vec3> d_positions;
    const int d_frames;
    std::uint64_t d_next = 0;
};

} // namespace sar
} // namespace gr
