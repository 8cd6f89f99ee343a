// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <complex>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/delay_calibration/delay_calibration.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <pmt/pmt.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Delay and phase of a radio between sending and receiving, measured at each
 * start.
 * \ingroup sar
 *
 * \details
 * Looks for the transmitted pulse in what is received (leakage, a loopback cable, a known
 * reflector), follows it over so many pulses and gives one estimate: delay, phase,
 * amplitude, SNR, their standard deviations, residual frequency and drift. Formulas and
 * conventions: docs/blocks/delay_calibration.md.
 *
 * Pulse n is sent at first_pulse_s + n / prf_hz on the clock of the tag rx_time, or in
 * seconds from the first sample where there is no such tag. The delay is what passes from
 * there until sample 0 of the pulse arrives, minus cable_delay_s. It is known modulo the
 * PRI, unless ambiguity is first_pulse.
 *
 * Input 0: the stream of the receiver, complex64 at acq.sample_rate_hz. Input 1, with
 * reference: a second coherent channel with the pulse as it was sent; the delay is then
 * that between the two.
 *
 * A tag rx_time that does not fit, rx_rate or rx_freq again in the stream, say that
 * samples were lost or the radio was retuned: the measurement begins anew.
 *
 * Message output calibration: a dictionary an estimate, also when it is refused (valid is
 * false, problem says why). Message input measure: anything; measure anew.
 */
class SAR_API delay_calibration : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<delay_calibration> sptr;

    /*!
     * \param acq what is transmitted: pulsed LFM or replica, sampling rate and PRF
     * \param pulses to measure, 4 or more; 0: what half a second holds, 8 to 256
     * \param replica the pulse at the sampling rate, for the waveform replica only
     * \param first_pulse_s when pulse 0 is sent, s
     * \param ambiguity cyclic, or first_pulse: the receiver runs before the first pulse
     * is sent, which therefore lies in the stream behind silence \param cable_delay_s
     * delay of what is there only for the calibration (loopback cable, way to a reflector
     * and back), less that of the antenna's feeds when those are not; taken off, so that
     * range is zero at the antenna's phase centre \param least_snr_db of a pulse after
     * correlation, below which nothing is found \param reference there is a second input
     * with the transmitted pulse \param response_taps on either side of the pulse, of the
     * response of the path; 0: none \param full_scale level at which the radio clips; 0:
     * not looked at \param file JSON to write the calibration to; empty: none \param key
     * what the calibration belongs to: a dictionary with driver, hardware, serial,
     * master_clock_hz, tx_rate_hz, rx_rate_hz, bandwidth_hz, tx_antenna, rx_antenna,
     * tx_gain_db, rx_gain_db, centre_frequency_hz, firmware; any may be missing \param
     * command how this was made, for the file \throws std::invalid_argument naming
     * parameter, value and expectation
     */
    static sptr make(const acquisition& acq,
                     int pulses = 0,
                     const std::vector<std::complex<float>>& replica = {},
                     double first_pulse_s = 0,
                     const std::string& ambiguity = "cyclic",
                     double cable_delay_s = 0,
                     double least_snr_db = 15,
                     bool reference = false,
                     int response_taps = 0,
                     double full_scale = 1,
                     const std::string& file = "",
                     const pmt::pmt_t& key = pmt::make_dict(),
                     const std::string& command = "");

    //! The estimates so far, at most 1000, the oldest first.
    virtual std::vector<delay_estimate> estimates() const = 0;
    //! The same as the messages: every field of the file.
    virtual std::vector<pmt::pmt_t> calibrations() const = 0;
    //! True when an estimate, valid or not, is there.
    virtual bool done() const = 0;
};

} // namespace sar
} // namespace gr
