// SPDX-License-Identifier: GPL-3.0-or-later
#include "trajectory_source_impl.h"
#include "guarded_work.h"
#include <cmath>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

trajectory_source::sptr trajectory_source::make(const trajectory& track,
                                                double prf_hz,
                                                int pulses,
                                                double start_s,
                                                int frames)
{
    require(pulses >= 1, "pulses is ", pulses, "; expected 1 or more");
    require(std::isfinite(start_s), "start_s is ", start_s, " s; expected a time");
    require(frames >= 0, "frames is ", frames, "; expected 1 or more, or 0: without end");
    return gnuradio::make_block_sptr<trajectory_source_impl>(
        track.positions(start_s, prf_hz, pulses), frames);
}

trajectory_source_impl::trajectory_source_impl(std::vector<vec3> positions, int frames)
    : gr::sync_block("trajectory_source",
                     gr::io_signature::make(0, 0, 0),
                     gr::io_signature::make(1, 1, sizeof(vec3))),
      d_positions(std::move(positions)),
      d_frames(frames)
{
    d_logger->info("{:d} positions, on {:s}", d_positions.size(), backend());
}

bool trajectory_source_impl::start()
{
    start_stage(*this);
    return sync_block::start();
}

int trajectory_source_impl::work(int noutput_items,
                                 gr_vector_const_void_star&,
                                 gr_vector_void_star& output_items)
{
    return guarded(*this, [&]() -> int {
        vec3* out = static_cast<vec3*>(output_items[0]);
        const std::uint64_t pulses = d_positions.size();
        int n = 0;
        while (n < noutput_items &&
               (d_frames == 0 || d_next < pulses * static_cast<std::uint64_t>(d_frames)))
            out[n++] = d_positions[d_next++ % pulses];
        return n > 0 ? n : WORK_DONE;
    });
}

} // namespace sar
} // namespace gr
