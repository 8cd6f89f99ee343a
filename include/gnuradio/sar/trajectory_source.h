// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/trajectory.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>

namespace gr {
namespace sar {

/*!
 * \brief Antenna positions at the times of the pulses, from a trajectory.
 * \ingroup sar
 *
 * \details
 * Pulse n of a frame has the position of the trajectory at start_s + n / prf_hz.
 *
 * Output: positions, 3 doubles an item (x, y, z in metres), one a pulse, in lock step
 * with the raw lines of the same recording.
 */
class SAR_API trajectory_source : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<trajectory_source> sptr;

    /*!
     * \param track where the antenna is
     * \param prf_hz pulses a second
     * \param pulses positions in a frame, 1 or more
     * \param start_s time of the first pulse on the clock of the pulses, s
     * \param frames how often the positions are sent; 0: without end
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::out_of_range when the track does not cover a pulse, with its number
     */
    static sptr make(const trajectory& track,
                     double prf_hz,
                     int pulses,
                     double start_s = 0,
                     int frames = 1);
};

} // namespace sar
} // namespace gr
