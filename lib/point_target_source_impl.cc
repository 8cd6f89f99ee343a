// SPDX-License-Identifier: GPL-3.0-or-later
#include "point_target_source_impl.h"
#include "device_ring.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

point_target_source::sptr
point_target_source::make(const acquisition& acq,
                          const std::vector<point_target>& targets,
                          const trajectory& track,
                          int pulses,
                          double noise_power,
                          std::uint64_t seed,
                          int frames,
                          double beam_rad,
                          double beam_squint_rad,
                          bool sweep_motion)
{
    require(frames >= 0, "frames is ", frames, "; expected 1 or more, or 0: without end");
    return gnuradio::make_block_sptr<point_target_source_impl>(
        point_target_source_params{ acq,
                                    targets,
                                    track,
                                    pulses,
                                    noise_power,
                                    seed,
                                    0,
                                    beam_rad,
                                    beam_squint_rad,
                                    sweep_motion },
        frames);
}

point_target_source_impl::point_target_source_impl(const point_target_source_params& p,
                                                   int frames)
    : gr::sync_block("point_target_source",
                     gr::io_signature::make(0, 0, 0),
                     gr::io_signature::make2(1,
                                             2,
                                             p.acq->samples * sizeof(gr_complex),
                                             sizeof(vec3))),
      d_acq(p.acq),
      d_pulses(p.pulses),
      d_frames(frames)
{
    kernel::point_target_source::make(p); // checks the parameters before memory is taken
    const std::size_t samples = static_cast<std::size_t>(p.pulses) * p.acq->samples;
    try {
        d_lines.resize(samples);
    } catch (const std::bad_alloc&) {
        throw std::runtime_error(
            sentence("a frame of ",
                     p.pulses,
                     " x ",
                     p.acq->samples,
                     " samples takes ",
                     samples * sizeof(cf32) / 1e9,
                     " GB, more than the memory of this machine gives; "
                     "reduce pulses or acq.samples"));
    }
    d_positions.resize(p.pulses);
    simulate(p, d_lines.data(), d_positions.data());
    d_logger->info("{:d} targets, {:d} pulses of {:d} samples, on {:s}",
                   p.targets.size(),
                   p.pulses,
                   p.acq->samples,
                   backend());
}

bool point_target_source_impl::start()
{
    start_stage(*this);
    return sync_block::start();
}

int point_target_source_impl::work(int noutput_items,
                                   gr_vector_const_void_star&,
                                   gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        return copy_lines(noutput_items,
                          static_cast<char*>(output_items[0]),
                          output_items.size() > 1 ? static_cast<char*>(output_items[1])
                                                  : nullptr);
    });
}

int point_target_source_impl::copy_lines(int noutput_items, char* lines, char* positions)
{
    const std::size_t line_bytes = d_acq->samples * sizeof(cf32);
    int done = 0;
    while (done < noutput_items) {
        const std::uint64_t frame = d_next_line / d_pulses;
        if (d_frames > 0 && frame >= static_cast<std::uint64_t>(d_frames))
            break;
        const int first = static_cast<int>(d_next_line % d_pulses);
        const int n = std::min(noutput_items - done, d_pulses - first);
        if (first == 0)
            add_item_tag(0,
                         nitems_written(0) + done,
                         pmt::mp("sar_frame"),
                         frame_tag(frame),
                         alias_pmt());
        std::memcpy(lines + done * line_bytes,
                    d_lines.data() + static_cast<std::size_t>(first) * d_acq->samples,
                    n * line_bytes);
        if (positions)
            std::memcpy(positions + done * sizeof(vec3),
                        d_positions.data() + first,
                        n * sizeof(vec3));
        done += n;
        d_next_line += n;
    }
    return done > 0 ? done : WORK_DONE;
}

pmt::pmt_t point_target_source_impl::frame_tag(std::uint64_t frame) const
{
    sar::frame_tag tag;
    tag.put("frame", frame)
        .put("lines", d_pulses)
        .put("samples", d_acq->samples)
        .put("prf_hz", d_acq->prf_hz)
        .put("slant_range_first_m", d_acq->slant_range_first_m)
        .put("spacing_m", d_acq.compressed_axis(1).spacing_m)
        .put("doppler_centroid_hz", d_acq.centroid_coefficients())
        .put("domain", "raw")
        .put("time_s", static_cast<double>(frame) * d_pulses / d_acq->prf_hz);
    return tag.dict();
}

} // namespace sar
} // namespace gr
