// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "hd.h"
#include <cmath>

namespace gr {
namespace sar {

//! A position or direction in metres, local Cartesian or ECEF, always double.
struct vec3 {
    double x;
    double y;
    double z;
};
static_assert(sizeof(vec3) == 24, "vec3 is one item of a position stream: 3 doubles");

SAR_HD vec3 operator+(vec3 a, vec3 b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
SAR_HD vec3 operator-(vec3 a, vec3 b) { return { a.x - b.x, a.y - b.y, a.z - b.z }; }
SAR_HD vec3 operator*(double s, vec3 a) { return { s * a.x, s * a.y, s * a.z }; }
SAR_HD double dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
SAR_HD vec3 cross(vec3 a, vec3 b)
{
    return { a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}
SAR_HD double length(vec3 a) { return sqrt(dot(a, a)); }
SAR_HD bool is_finite(vec3 a)
{
    // a NaN or infinity makes the sum of differences a NaN, on host and device alike
    return (a.x - a.x) + (a.y - a.y) + (a.z - a.z) == 0.0;
}

} // namespace sar
} // namespace gr
