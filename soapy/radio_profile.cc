// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio_profile.h"
#include "../kernels/core/errors.h"

namespace gr {
namespace sar {

namespace {

// Where the numbers come from. b210: delays measured by users of gr-plasma at 10, 20 to
// 40 and 50 MS/s; direct current of up to 0.7 of full scale before the first large
// retune; one step of 1.19 Hz of the AD9361's synthesizer at each retune of 100 MHz or
// more. pluto: no time stamps in stock firmware, about 4 MS/s over USB 2. lime: losses
// are told by the stream's status alone. bladerf: samples missing without a jump of the
// time. phaser: the ADF4159 sweeps 500 MHz in 500 us, from ramp to ramp 1.5 ms.
// hackrf: half duplex, gaps without a report; two of them have two clocks. Levels
// and imbalances are of the order that data sheets give.
std::vector<radio_profile> make_profiles()
{
    const radio_profile ideal;

    // what a transceiver with 12 bits has in any case
    radio_profile any;
    any.native_format = "CS16";
    any.start_offset_samples = 5000;
    any.adc_bits = 12;
    any.phase_per_retune = true;
    any.leakage_delay_s = 4e-9;

    radio_profile b210 = any;
    b210.name = "b210";
    b210.hardware = "B210";
    b210.what = "two channels, time stamps, a delay for each rate";
    b210.rate_hz = { 200e3, 61.44e6 };
    b210.frequency_hz = { 50e6, 6e9 };
    b210.rx_gain_db = { 0, 76 };
    b210.tx_gain_db = { 0, 89.75 };
    b210.rx_nominal_db = 40;
    b210.tx_nominal_db = 60;
    b210.rx_antennas = { "TX/RX", "RX2" };
    b210.tx_antennas = { "TX/RX" };
    b210.mtu = 2040;
    b210.delays = { { 0, 46 }, { 20e6, 165 }, { 50e6, 158 } };
    b210.tx_latency_samples = 1024;
    b210.leakage_db = "-40";
    b210.noise_db = "-70";
    b210.dc_i = 0.01;
    b210.dc_q = -0.006;
    b210.imbalance_db = 0.1;
    b210.imbalance_deg = 0.6;
    b210.lo_step_hz = 1.19;
    b210.phase_noise_dbc_hz = "-95";

    radio_profile pluto = any;
    pluto.name = "pluto";
    pluto.hardware = "PlutoSDR";
    pluto.what = "no time stamps, 4 MS/s at most, random start";
    pluto.rx_channels = 1;
    pluto.rate_hz = { 65.1e3, 61.44e6 };
    pluto.frequency_hz = { 70e6, 6e9 };
    pluto.rx_gain_db = { 0, 73 };
    pluto.tx_gain_db = { -89, 0 };
    pluto.rx_nominal_db = 40;
    pluto.tx_nominal_db = -10;
    pluto.rx_antennas = { "A_BALANCED" };
    pluto.tx_antennas = { "A" };
    pluto.mtu = 8192;
    pluto.has_time = false;
    pluto.delays = { { 0, 31.4 } };
    pluto.tx_latency_samples = 4096;
    pluto.rate_limit_hz = 4e6;
    pluto.loss_mode = "silent";
    pluto.leakage_db = "-35";
    pluto.noise_db = "-65";
    pluto.dc_i = 0.02;
    pluto.dc_q = 0.01;
    pluto.imbalance_db = 0.2;
    pluto.imbalance_deg = 1;
    pluto.phase_noise_dbc_hz = "-90";

    radio_profile pluto_tdd = pluto;
    pluto_tdd.name = "pluto_tdd";
    pluto_tdd.what = "both directions start on one trigger";
    pluto_tdd.start_offset_samples = 0;
    pluto_tdd.tx_latency_samples = 0;

    radio_profile phaser = pluto_tdd;
    phaser.name = "phaser";
    phaser.hardware = "PlutoSDR+ADF4159";
    phaser.what = "FMCW: both directions sweep, and start on one trigger";
    phaser.rx_channels = 2;
    phaser.phase_per_retune = false;
    phaser.rf_hz = 10e9;
    phaser.ramp_hz = 500e6;
    phaser.phase_noise_dbc_hz = "-85";

    radio_profile lime = any;
    lime.name = "lime";
    lime.hardware = "LimeSDR-USB";
    lime.what = "time stamps; losses in the status of the stream alone";
    lime.rate_hz = { 100e3, 61.44e6 };
    lime.frequency_hz = { 100e3, 3.8e9 };
    lime.rx_gain_db = { -12, 61 };
    lime.tx_gain_db = { -12, 64 };
    lime.rx_nominal_db = 30;
    lime.tx_nominal_db = 40;
    lime.rx_antennas = { "LNAH", "LNAL", "LNAW" };
    lime.tx_antennas = { "BAND1", "BAND2" };
    lime.mtu = 4080;
    lime.delays = { { 0, 82.25 } };
    lime.tx_latency_samples = 2048;
    lime.loss_mode = "status";
    lime.leakage_db = "-35";
    lime.noise_db = "-68";
    lime.dc_i = -0.02;
    lime.dc_q = 0.015;
    lime.imbalance_db = 0.3;
    lime.imbalance_deg = 1.5;
    lime.phase_noise_dbc_hz = "-88";

    radio_profile bladerf = any;
    bladerf.name = "bladerf";
    bladerf.hardware = "bladerf2";
    bladerf.what = "losses that the time stamps do not show";
    bladerf.rate_hz = { 521e3, 61.44e6 };
    bladerf.frequency_hz = { 47e6, 6e9 };
    bladerf.rx_gain_db = { -15, 60 };
    bladerf.tx_gain_db = { -23.75, 66 };
    bladerf.rx_nominal_db = 30;
    bladerf.tx_nominal_db = 40;
    bladerf.delays = { { 0, 58 } };
    bladerf.tx_latency_samples = 2048;
    bladerf.loss_mode = "frozen_time";
    bladerf.leakage_db = "-40";
    bladerf.noise_db = "-68";
    bladerf.dc_i = 0.015;
    bladerf.dc_q = -0.01;
    bladerf.imbalance_db = 0.15;
    bladerf.imbalance_deg = 0.8;
    bladerf.phase_noise_dbc_hz = "-92";

    radio_profile hackrf2 = any;
    hackrf2.name = "hackrf2";
    hackrf2.hardware = "HackRF One";
    hackrf2.what = "a pair, each with its own clock";
    hackrf2.rx_channels = 1;
    hackrf2.rate_hz = { 1e6, 20e6 };
    hackrf2.frequency_hz = { 1e6, 6e9 };
    hackrf2.rx_gain_db = { 0, 116 };
    hackrf2.tx_gain_db = { 0, 61 };
    hackrf2.rx_nominal_db = 40;
    hackrf2.tx_nominal_db = 30;
    hackrf2.rx_antennas = { "TX/RX" };
    hackrf2.tx_antennas = { "TX/RX" };
    hackrf2.native_format = "CS8";
    hackrf2.mtu = 131072;
    hackrf2.has_time = false;
    hackrf2.delays = { { 0, 20.7 } };
    hackrf2.tx_latency_samples = 16384;
    hackrf2.clock_error_ppm = 20;
    hackrf2.loss_mode = "silent";
    hackrf2.leakage_db = "-30";
    hackrf2.noise_db = "-45";
    hackrf2.dc_i = 0.03;
    hackrf2.dc_q = -0.02;
    hackrf2.imbalance_db = 0.4;
    hackrf2.imbalance_deg = 2;
    hackrf2.adc_bits = 8;
    hackrf2.phase_noise_dbc_hz = "-80";

    radio_profile hackrf = hackrf2;
    hackrf.name = "hackrf";
    hackrf.what = "half duplex: one direction at a time";
    hackrf.half_duplex = true;
    hackrf.clock_error_ppm = 0;

    return { ideal, b210, pluto, pluto_tdd, phaser, lime, bladerf, hackrf, hackrf2 };
}

} // namespace

const std::vector<radio_profile>& radio_profiles()
{
    static const std::vector<radio_profile> all = make_profiles();
    return all;
}

const radio_profile& radio_profile_from_name(const std::string& name)
{
    std::string expected;
    for (const radio_profile& p : radio_profiles()) {
        if (p.name == name)
            return p;
        expected += (expected.empty() ? "" : ", ") + p.name;
    }
    throw std::invalid_argument(
        sentence("profile is '", name, "'; expected one of: ", expected));
}

} // namespace sar
} // namespace gr
