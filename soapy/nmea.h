// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Positions as the sentences of a satellite receiver.
//
// Symbols (WGS-84: NIMA TR8350.2, Department of Defense World Geodetic System 1984,
// third edition, 2000)
//   a, f       semi-major axis, 6378137 m; flattening, 1 / 298.257223563
//   e^2        f (2 - f)
//   phi, l, h  geodetic latitude, longitude, height over the ellipsoid
//   N          a / sqrt(1 - e^2 sin^2 phi), radius of curvature in the prime vertical
//
// Earth-fixed coordinates are X = (N + h) cos phi cos l, Y = (N + h) cos phi sin l,
// Z = (N (1 - e^2) + h) sin phi. Local ones are x to the east, y to the north and z up at
// an origin, metres. The way back from X, Y, Z iterates tan phi = (Z + e^2 N sin phi) /
// sqrt(X^2 + Y^2) (B. Hofmann-Wellenhof, H. Lichtenegger, J. Collins, Global Positioning
// System: Theory and Practice, 5th edition, 2001, chapter 10), which near the ground
// gains two to three digits a turn.

#include "../kernels/core/vec3.h"
#include <string>

namespace gr {
namespace sar {

struct geodetic {
    double latitude_deg = 0;
    double longitude_deg = 0;
    double height_m = 0; //!< over the ellipsoid
};

//! \p local: east, north, up of \p origin, m.
geodetic geodetic_of_local(const vec3& local, const geodetic& origin);

/*!
 * \brief GGA and RMC of one fix, a line each: NMEA 0183, talker GP, 10^-8 minutes of arc,
 * microseconds, millimetres.
 *
 * \param utc_s time since the midnight (UTC) that began 2026-01-01
 * \param speed_m_s, course_deg over ground, clockwise from north
 */
std::string
nmea_fix(double utc_s, const geodetic& at, double speed_m_s, double course_deg);

} // namespace sar
} // namespace gr
