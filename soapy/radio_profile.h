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
 * changed. Levels in dB are of full scale, or of a target of amplitude 1; "off" is none.
 */
struct radio_profile {
    std::string name;
    std::string hardware; //!< hardware key
    std::string what;     //!< one line for people

    int rx_channels; //!< 2: the second one is the reference
    extent rate_hz;
    extent frequency_hz;
    extent rx_gain_db, tx_gain_db;
    double rx_nominal_db, tx_nominal_db; //!< gains at which the scene's amplitudes hold
    std::vector<std::string> rx_antennas, tx_antennas;
    std::string native_format;
    int mtu;
    bool half_duplex;

    bool has_time;
    //! From transmitted to received sample at range 0: (from this rate on, samples).
    std::vector<std::pair<double, double>> delays;
    int start_offset_samples; //!< of an untimed transmission, at most
    int tx_latency_samples;
    double clock_error_ppm;
    double rate_limit_hz; //!< what the link sustains; 0: no limit
    std::string loss_mode;

    std::string leakage_db;
    double leakage_delay_s;
    std::string noise_db;
    double dc_i, dc_q;
    double imbalance_db, imbalance_deg;
    int adc_bits;
    bool phase_per_retune;
    double lo_step_hz;
    std::string phase_noise_dbc_hz; //!< at 10 kHz
};

//! All of them; docs/sarsim.md has the table for readers.
const std::vector<radio_profile>& radio_profiles();

//! \throws std::invalid_argument with the names there are
const radio_profile& radio_profile_from_name(const std::string& name);

} // namespace sar
} // namespace gr
