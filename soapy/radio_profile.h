// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

namespace gr {
namespace sar {

//! Numbers from lowest to highest.
struct extent {
    double first;
    double last;
};

/*!
 * \brief What a kind of radio is like: the defaults of the settings, and what cannot be
 * changed. As it stands here it has no flaw. Levels in dB are of full scale, or of a
 * target of amplitude 1; "off" is none.
 */
struct radio_profile {
    std::string name = "ideal";
    std::string hardware = "simulated"; //!< hardware key
    std::string what = "no flaw, everything supported";

    int rx_channels = 2; //!< the second one is the reference
    extent rate_hz = { 1e3, 500e6 };
    extent frequency_hz = { 1, 100e9 };
    extent rx_gain_db = { -60, 60 }, tx_gain_db = { -60, 60 };
    double rx_nominal_db = 0, tx_nominal_db = 0; //!< the scene's amplitudes hold there
    std::vector<std::string> rx_antennas = { "RX" }, tx_antennas = { "TX" };
    std::string native_format = "CF32";
    int mtu = 4096;
    bool half_duplex = false;

    bool has_time = true;
    //! From transmitted to received sample at range 0: (from this rate on, samples).
    std::vector<std::pair<double, double>> delays = { { 0, 0 } };
    int start_offset_samples = 0; //!< of an untimed transmission, at most
    int tx_latency_samples = 0;
    double clock_error_ppm = 0;
    double rate_limit_hz = 0; //!< what the link sustains; 0: no limit
    std::string loss_mode = "overflow";

    std::string leakage_db = "off";
    double leakage_delay_s = 0;
    std::string noise_db = "off";
    double dc_i = 0, dc_q = 0;
    double imbalance_db = 0, imbalance_deg = 0;
    int adc_bits = 0;
    bool phase_per_retune = false;
    double lo_step_hz = 0;
    std::string phase_noise_dbc_hz = "off"; //!< at 10 kHz
    double rf_hz = 0;                       //!< carrier at the antenna; 0: as tuned
    double ramp_hz = 0;                     //!< that the carrier sweeps over
};

//! All of them; docs/sarsim.md has the table for readers.
const std::vector<radio_profile>& radio_profiles();

//! \throws std::invalid_argument with the names there are
const radio_profile& radio_profile_from_name(const std::string& name);

} // namespace sar
} // namespace gr
