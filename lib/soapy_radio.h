// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/kernel/radar_transceiver/radar_transceiver.h>
#include <gnuradio/sar/radar_transceiver.h>
#include <map>
#include <memory>
#include <string>

namespace gr {
namespace sar {

//! A radio that also says what a calibration of it belongs to.
class known_radio : public transceiver_radio
{
public:
    //! It stands still while nobody reads: late is not lost (a simulation).
    virtual bool waits() const = 0;
    //! Fields of a calibration's key, as text; see docs/delay_calibration.schema.json.
    virtual std::map<std::string, std::string> key() const = 0;
};

/*!
 * \brief A device of SoapySDR, tuned, its streams not set up yet.
 *
 * \param settings device and what it is set to \param rate_hz of both directions
 * \param carrier_hz of both directions \param transmit use the transmitter
 * \throws std::invalid_argument naming parameter, value and expectation; in a build
 * without SoapySDR always
 */
std::unique_ptr<known_radio> open_soapy_radio(const radio_settings& settings,
                                              double rate_hz,
                                              double carrier_hz,
                                              bool transmit);

} // namespace sar
} // namespace gr
