// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/sweep_alignment/sweep_alignment.h>
#include <gnuradio/sar/stage.h>

namespace gr {
namespace sar {

/*!
 * \brief Takes the motion during an FMCW sweep out of the lines.
 * \ingroup sar
 *
 * \details
 * While a sweep lasts the antenna moves on: echoes are seen by -c fd / (2 K) too far, fd
 * their Doppler frequency and K the chirp rate. Behind this block all samples of a line
 * are as of one instant, and every imager may take the antenna to stand still from pulse
 * to echo. Each sample is interpolated over the lines, within the Doppler band around
 * acq.doppler_centroid_hz, so neither track nor targets need be known. Formulas:
 * gnuradio/sar/kernel/sweep_alignment/sweep_alignment_math.h.
 *
 * Input and output: one line an item, acq.samples complex64, before pulse_compression.
 * As many lines come out as go in, taps / 2 lines later (of a triangle, whose ways out
 * and back are taken apart, taps); positions go past it.
 *
 * Tags pass with their lines. A stretch of lines begins with sar_frame, unless its field
 * continues is true; its first and last lines are made of fewer lines and are less
 * accurate. So are those beside lines that were lost, or that hold a
 * sample which is not finite: such a line counts as zeros.
 */
class SAR_API sweep_alignment : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<sweep_alignment> sptr;

    /*!
     * \param acq the recording, fmcw
     * \param doppler_band_hz Doppler frequencies that come out right, around the
     * centroid; 0: 0.8 PRF, of a triangle 0.4 PRF
     * \param instant_s the instant that lines are brought to, after the start of their
     * interval: that of the positions
     * \param taps lines that a line is made of
     * \throws std::invalid_argument naming parameter, value and expectation
     */
    static sptr make(const acquisition& acq,
                     double doppler_band_hz = 0,
                     double instant_s = 0,
                     int taps = 32);

    //! Largest error in the band, relative to an echo, dB.
    virtual double error_bound_db() const = 0;
    //! The band in use.
    virtual double doppler_band_hz() const = 0;
    //! Lines so far that held a sample which is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
