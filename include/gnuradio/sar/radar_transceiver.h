// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/pulse_framer/pulse_framer.h>
#include <gnuradio/sar/kernel/radar_transceiver/radar_transceiver.h>
#include <gnuradio/sar/stage.h>
#include <map>
#include <optional>
#include <string>

namespace gr {
namespace sar {

//! A device of SoapySDR and what it is set to.
struct radio_settings {
    std::string device;      //!< SoapySDR's arguments: driver=lime,serial=...
    std::string tx_device;   //!< the transmitter, where it is another one
    double frequency_hz = 0; //!< that it is tuned to; 0: carrier_hz of acq
    std::optional<double> rx_gain_db = std::nullopt; //!< not given: the driver's own
    std::optional<double> tx_gain_db = std::nullopt;
    std::string rx_antenna = ""; //!< port; empty: the driver's own
    std::string tx_antenna = "";
    int rx_channel = 0;
    int tx_channel = 0;
    int reference_channel = -1; //!< receives the transmitted pulse by a coupler; -1: none
    double bandwidth_hz = 0;    //!< of the filters; 0: the driver's own
    std::string rx_stream = ""; //!< arguments of the streams: bufflen=...
    std::string tx_stream = "";
};

//! A calibration that was measured before: what the delay ought to be.
struct expected_delay {
    double delay_s = 0;
    double ambiguity_s = 0; //!< delay_s is known modulo that; 0: it is known
    std::string source;     //!< its file, for sentences
    std::map<std::string, std::string> key; //!< what it belongs to, as text
};

struct transceiver_settings {
    radio_settings radio;
    transmit_mode transmit = transmit_mode::automatic;
    double amplitude = 0.7; //!< of the pulse, full scale of the transmitter: 1
    double lead_s = 0.1;    //!< pulses are handed to the radio that much ahead
    double patience_s = 5;  //!< without a sample for so long the radio is given up
    double buffer_s = 1;    //!< of samples that wait for the flowgraph at most
    int pulses = 0;         //!< the stream ends after so many; 0: it does not
    bool positions = false; //!< antenna positions go in, one a pulse, and out
    bool facts = false;     //!< a stream of facts about the lines
    std::optional<expected_delay> expected = std::nullopt;
};

/*!
 * \brief A radio as a radar: transmits pulses, receives, and gives out numbered lines.
 * \ingroup sar
 *
 * \details
 * Owns both directions of a SoapySDR device (a USRP as well: driver=uhd) and the framer
 * that pulse_framer is around. Pulses leave as bursts at times of the radio's clock, out
 * of a buffer that the radio repeats, or in a stream without end, by what the driver can
 * (transmit). A thread of its own serves the radio whatever the flowgraph does: samples
 * that find no room are counted, and leave numbered holes like those that the radio
 * loses. Where the transmitted pulse is seen (leakage, a reference channel) the start
 * offset is measured at every start and followed from pulse to pulse.
 *
 * Every sign of a loss is heeded: OVERFLOW of a read or of the stream's status, a time
 * stamp of any buffer that jumps, TIME_ERROR and UNDERFLOW of the transmitter. gr-soapy
 * tells of the first alone.
 *
 * The device is opened by make() and the streams live from start() to stop(); however
 * the flowgraph ends, the transmitter is switched off first.
 *
 * Input 0, with positions: those of the antenna, 3 doubles, one for each pulse from
 * number 0 on. Outputs: lines of acq.samples complex64; with positions one a line; with
 * facts 8 doubles a line, as pulse_framer has them.
 *
 * Tags written: sar_frame and sar_holes, as pulse_framer's; times are those of the
 * radio's clock, or seconds since the first sample where it has none. Message port
 * status out: a dictionary of counters once a second, those of pulse_framer and of the
 * radio.
 */
class SAR_API radar_transceiver : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<radar_transceiver> sptr;

    /*!
     * \param framing what is transmitted and how it is framed:
     * kernel/pulse_framer/pulse_framer.h. Inputs, start and pri_samples are not for the
     * caller
     * \param lines of a frame
     * \param settings the radio, and how it transmits
     * \throws std::invalid_argument naming parameter, value and expectation, or what the
     * radio lacks and what to do about it
     */
    static sptr make(const pulse_framer_params& framing,
                     int lines,
                     const transceiver_settings& settings);

    //! Counters and newest measurements of the framer.
    virtual framer_status status() const = 0;
    //! Counters of the radio.
    virtual transceiver_status radio_status() const = 0;
    //! What a calibration of this radio belongs to: driver, serial, rates, gains, ...
    virtual std::map<std::string, std::string> radio_key() const = 0;
};

} // namespace sar
} // namespace gr
