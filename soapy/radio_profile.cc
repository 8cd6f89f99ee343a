// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio_profile.h"
#include "../kernels/core/errors.h"

namespace gr {
namespace sar {

// Where the numbers come from. b210: delays measured by users of gr-plasma at 10, 20 to 40
// and 50 MS/s; direct current of up to 0.7 of full scale before the first large retune;
// one step of 1.19 Hz of the AD9361's synthesizer at each retune of 100 MHz or more.
// pluto: no time stamps in stock firmware, about 4 MS/s over USB 2. lime: losses are told
// by the stream's status alone. bladerf: samples missing without a jump of the time.
// hackrf: half duplex, gaps without a report; two of them have two clocks. Levels and
// imbalances are of the order that data sheets give.
const std::vector<radio_profile>& radio_profiles()
{
    static const std::vector<radio_profile> all = {
        { "ideal",       "simulated",  "no flaw, everything supported",
          2,             { 1e3, 200e6 }, { 1, 100e9 },
          { -60, 60 },   { -60, 60 },  0,
          0,             { "RX" },     { "TX" },
          "CF32",        4096,         false,
          true,          { { 0, 0 } }, 0,
          0,             0,            0,
          "overflow",    "off",        0,
          "off",         0,            0,
          0,             0,            0,
          false,         0,            "off" },
        { "b210",        "B210",       "two channels, time stamps, a delay for each rate",
          2,             { 200e3, 61.44e6 }, { 50e6, 6e9 },
          { 0, 76 },     { 0, 89.75 }, 40,
          60,            { "TX/RX", "RX2" }, { "TX/RX" },
          "CS16",        2040,         false,
          true,          { { 0, 46 }, { 20e6, 165 }, { 50e6, 158 } }, 5000,
          1024,          0,            0,
          "overflow",    "-40",        5e-9,
          "-70",         0.01,         -0.006,
          0.1,           0.6,          12,
          true,          1.19,         "-95" },
        { "pluto",       "PlutoSDR",   "no time stamps, 4 MS/s at most, random start",
          1,             { 65.1e3, 61.44e6 }, { 70e6, 6e9 },
          { 0, 73 },     { -89, 0 },   40,
          -10,           { "A_BALANCED" }, { "A" },
          "CS16",        8192,         false,
          false,         { { 0, 31.4 } }, 5000,
          4096,          0,            4e6,
          "silent",      "-35",        3e-9,
          "-65",         0.02,         0.01,
          0.2,           1.0,          12,
          true,          0,            "-90" },
        { "pluto_tdd",   "PlutoSDR",   "both directions start on one trigger",
          1,             { 65.1e3, 61.44e6 }, { 70e6, 6e9 },
          { 0, 73 },     { -89, 0 },   40,
          -10,           { "A_BALANCED" }, { "A" },
          "CS16",        8192,         false,
          false,         { { 0, 31.4 } }, 0,
          0,             0,            4e6,
          "silent",      "-35",        3e-9,
          "-65",         0.02,         0.01,
          0.2,           1.0,          12,
          true,          0,            "-90" },
        { "lime",        "LimeSDR-USB", "time stamps; losses in the stream's status alone",
          2,             { 100e3, 61.44e6 }, { 100e3, 3.8e9 },
          { -12, 61 },   { -12, 64 },  30,
          40,            { "LNAH", "LNAL", "LNAW" }, { "BAND1", "BAND2" },
          "CS16",        4080,         false,
          true,          { { 0, 82.25 } }, 5000,
          2048,          0,            0,
          "status",      "-35",        4e-9,
          "-68",         -0.02,        0.015,
          0.3,           1.5,          12,
          true,          0,            "-88" },
        { "bladerf",     "bladerf2",   "losses that the time stamps do not show",
          2,             { 521e3, 61.44e6 }, { 47e6, 6e9 },
          { -15, 60 },   { -23.75, 66 }, 30,
          40,            { "RX" },     { "TX" },
          "CS16",        4096,         false,
          true,          { { 0, 58 } }, 5000,
          2048,          0,            0,
          "frozen_time", "-40",        4e-9,
          "-68",         0.015,        -0.01,
          0.15,          0.8,          12,
          true,          0,            "-92" },
        { "hackrf",      "HackRF One", "half duplex: one direction at a time",
          1,             { 1e6, 20e6 }, { 1e6, 6e9 },
          { 0, 116 },    { 0, 61 },    40,
          30,            { "TX/RX" },  { "TX/RX" },
          "CS8",         131072,       true,
          false,         { { 0, 20.7 } }, 5000,
          16384,         0,            0,
          "silent",      "-30",        5e-9,
          "-45",         0.03,         -0.02,
          0.4,           2.0,          8,
          true,          0,            "-80" },
        { "hackrf2",     "HackRF One", "a pair, each with its own clock (20 ppm)",
          1,             { 1e6, 20e6 }, { 1e6, 6e9 },
          { 0, 116 },    { 0, 61 },    40,
          30,            { "TX/RX" },  { "TX/RX" },
          "CS8",         131072,       false,
          false,         { { 0, 20.7 } }, 5000,
          16384,         20,           0,
          "silent",      "-30",        5e-9,
          "-45",         0.03,         -0.02,
          0.4,           2.0,          8,
          true,          0,            "-80" },
        { "phaser",      "PlutoSDR+ADF4159", "FMCW front end: the PLL sweeps, both start on "
                                             "one trigger",
          2,             { 65.1e3, 61.44e6 }, { 70e6, 12e9 },
          { 0, 73 },     { -89, 0 },   40,
          -10,           { "A_BALANCED" }, { "A" },
          "CS16",        8192,         false,
          false,         { { 0, 31.4 } }, 0,
          0,             0,            4e6,
          "silent",      "-35",        3e-9,
          "-60",         0.02,         0.01,
          0.2,           1.0,          12,
          false,         0,            "-85" },
    };
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
