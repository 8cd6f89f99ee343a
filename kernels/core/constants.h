// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace gr {
namespace sar {

//! Speed of light in vacuum, m/s (exact, SI).
constexpr double speed_of_light = 299792458.0;
constexpr double pi = 3.14159265358979323846;

} // namespace sar
} // namespace gr
