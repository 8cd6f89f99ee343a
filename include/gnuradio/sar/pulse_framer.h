// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/pulse_framer/pulse_framer.h>
#include <gnuradio/sar/stage.h>
#include <string>

namespace gr {
namespace sar {

//! What the block does beside framing.
struct pulse_framer_ports {
    bool real_input = false; //!< the samples are floats: one channel of a sound card
    bool positions = false; //!< antenna positions go in, one a pulse, and out, one a line
    bool facts = false;     //!< a stream of facts about the lines
    std::string burst_tag = "packet_len"; //!< that begins a buffer, alignment burst
};

/*!
 * \brief A continuous stream of samples into numbered lines.
 * \ingroup sar
 *
 * \details
 * Pulse n is sent at t0 + n / prf_hz; its line is the acq.samples samples from 2
 * slant_range_first_m / c after that on. n is counted by time, so that a gap in the
 * stream leaves numbered holes and nothing behind it moves. When a pulse was sent is told
 * by time stamps and a schedule, by the edges of a trigger, by the transmitted pulse on a
 * second input or in the stream itself, or by the start of a buffer (alignment). The
 * lines are the same whichever it is.
 *
 * Inputs, in this order: the stream, complex64 (or float); with reference_input the
 * transmitted pulse, complex64; with trigger_input the trigger, float; with positions the
 * antenna positions, 3 doubles, one for each pulse from number 0 on. Outputs: the lines,
 * acq.samples complex64; with positions one position a line, in step with the lines; with
 * facts 8 doubles a line: number, time (s), flags (1 hole, 2 held, 4 number estimated, 8
 * no reference pulse found, 16 sum of fewer), jitter of the first sample (samples),
 * amplitude, delay (s), phase (rad) and SNR (dB) of the reference pulse.
 *
 * Tags read: rx_time, rx_rate, rx_freq. Tags written: sar_frame on the first line of each
 * frame, sar_holes on the first line of a row of holes, or behind one that is skipped.
 * Message port overflow in: any message means that samples are missing here. Message port
 * status out: a dictionary of counters once a second.
 */
class SAR_API pulse_framer : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<pulse_framer> sptr;

    /*!
     * \param params what to frame and how: kernel/pulse_framer/pulse_framer.h
     * \param lines of a frame
     * \param ports further inputs and outputs
     * \throws std::invalid_argument naming parameter, value and expectation
     */
    static sptr make(const pulse_framer_params& params,
                     int lines,
                     const pulse_framer_ports& ports = {});

    //! Counters and newest measurements.
    virtual framer_status status() const = 0;
};

} // namespace sar
} // namespace gr
