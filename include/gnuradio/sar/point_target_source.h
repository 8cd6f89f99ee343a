// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/point_target_source/point_target_source.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Simulated raw echoes of point targets, with the antenna positions.
 * \ingroup sar
 *
 * \details
 * Pulsed LFM, FMCW or phase history over frequency, as the acquisition says; stop and go,
 * unless the motion during an FMCW sweep is asked for.
 * A target at slant range R has the delay 2 (R + range_bias_m) / c and the phase
 * exp(-j 4 pi f0 R / c), so that its phase in the image is that of its amplitude whatever
 * the bias. Everything is computed in double and rounded once.
 *
 * With a beam, a target is seen, with full amplitude, while the angle between the line of
 * sight and the plane across the direction of flight lies within beam_squint_rad +-
 * beam_rad / 2: a strip map with sharp ends of the aperture.
 *
 * Output 0: raw lines, acq.samples complex64 an item. Output 1: antenna positions, 3
 * doubles an item, metres, one a line. The tag sar_frame stands on the first line of each
 * frame.
 *
 * The frame is computed when the block is made, on all cores, and kept; the flowgraph
 * copies it out as often as frames says, noise included, and never waits for a
 * computation. It takes 8 bytes a sample.
 */
class SAR_API point_target_source : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<point_target_source> sptr;

    /*!
     * \param acq the recording to make; every waveform but replica
     * \param targets position in metres and complex amplitude of each
     * \param track where the antenna is; pulse n is sent at time n / prf_hz
     * \param pulses lines in a frame, 1 or more
     * \param noise_power mean power of complex Gaussian noise a raw sample; 0: none
     * \param seed of the noise: the same seed gives the same bits on any machine
     * \param frames how often the frame is sent; 0: without end
     * \param beam_rad full width of the antenna's beam along the track, rad; 0: it sees
     * everything
     * \param beam_squint_rad middle of the beam, rad from broadside, forward positive
     * \param sweep_motion FMCW: the antenna moves on during a sweep
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::out_of_range when the track does not cover a pulse
     * \throws std::runtime_error when the memory does not hold a frame
     */
    static sptr make(const acquisition& acq,
                     const std::vector<point_target>& targets,
                     const trajectory& track,
                     int pulses,
                     double noise_power = 0,
                     std::uint64_t seed = 1,
                     int frames = 1,
                     double beam_rad = 0,
                     double beam_squint_rad = 0,
                     bool sweep_motion = false);
};

} // namespace sar
} // namespace gr
