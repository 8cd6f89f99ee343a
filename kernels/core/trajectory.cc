// SPDX-License-Identifier: GPL-3.0-or-later
#include "trajectory.h"
#include "errors.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr {
namespace sar {

trajectory trajectory::straight(vec3 start_m, vec3 velocity_m_s)
{
    require(is_finite(start_m), "start_m is not finite; expected three metres");
    require(is_finite(velocity_m_s), "velocity_m_s is not finite; expected three m/s");
    trajectory t;
    t.d_start_m = start_m;
    t.d_velocity_m_s = velocity_m_s;
    return t;
}

trajectory trajectory::sampled(std::vector<double> times_s,
                               std::vector<vec3> positions_m,
                               double clock_offset_s,
                               vec3 lever_arm_m)
{
    require(times_s.size() == positions_m.size(),
            "times_s has ",
            times_s.size(),
            " entries and positions_m ",
            positions_m.size(),
            "; expected as many of each");
    require(times_s.size() >= 2,
            "times_s has ",
            times_s.size(),
            " entries; expected 2 or more to interpolate between");
    require(std::isfinite(clock_offset_s),
            "clock_offset_s is ",
            clock_offset_s,
            " s; expected a number");
    require(is_finite(lever_arm_m), "lever_arm_m is not finite; expected three metres");
    for (std::size_t i = 0; i < times_s.size(); ++i) {
        require(std::isfinite(times_s[i]) && is_finite(positions_m[i]),
                "row ",
                i,
                " of the navigation record is not finite; remove it or mend it");
        require(i == 0 || times_s[i] > times_s[i - 1],
                "times_s[",
                i,
                "] is ",
                times_s[i],
                " s after ",
                i ? times_s[i - 1] : 0.0,
                " s; expected strictly increasing times");
    }
    trajectory t;
    t.d_times_s = std::move(times_s);
    t.d_positions_m = std::move(positions_m);
    t.d_clock_offset_s = clock_offset_s;
    t.d_lever_arm_m = lever_arm_m;
    return t;
}

double trajectory::first_s() const
{
    return d_times_s.empty() ? -std::numeric_limits<double>::infinity()
                             : d_times_s.front() - d_clock_offset_s;
}

double trajectory::last_s() const
{
    return d_times_s.empty() ? std::numeric_limits<double>::infinity()
                             : d_times_s.back() - d_clock_offset_s;
}

vec3 trajectory::slope(std::size_t i) const
{
    const std::size_t n = d_times_s.size();
    const auto chord = [this](std::size_t a) {
        return (1 / (d_times_s[a + 1] - d_times_s[a])) *
               (d_positions_m[a + 1] - d_positions_m[a]);
    };
    if (i == 0)
        return chord(0);
    if (i == n - 1)
        return chord(n - 2);
    // slope of the parabola through three neighbours
    const double h0 = d_times_s[i] - d_times_s[i - 1];
    const double h1 = d_times_s[i + 1] - d_times_s[i];
    return (h1 / (h0 + h1)) * chord(i - 1) + (h0 / (h0 + h1)) * chord(i);
}

vec3 trajectory::position(double t_s) const
{
    if (d_times_s.empty())
        return d_start_m + t_s * d_velocity_m_s;
    const double t = t_s + d_clock_offset_s;
    if (!(t >= d_times_s.front() && t <= d_times_s.back()))
        throw std::out_of_range(
            sentence("pulse time ",
                     t_s,
                     " s (",
                     t,
                     " s on the navigation clock) lies outside the navigation record, ",
                     d_times_s.front(),
                     " to ",
                     d_times_s.back(),
                     " s; check clock_offset_s, or leave these pulses out"));
    const auto after = std::upper_bound(d_times_s.begin(), d_times_s.end(), t);
    const std::size_t i =
        std::min<std::size_t>(after - d_times_s.begin(), d_times_s.size() - 1) - 1;
    const double h = d_times_s[i + 1] - d_times_s[i];
    const double u = (t - d_times_s[i]) / h;
    const vec3 m0 = h * slope(i);
    const vec3 m1 = h * slope(i + 1);
    const double u2 = u * u;
    const double u3 = u2 * u;
    // p0 + u (...) rather than the four Hermite weights, so that large coordinates do
    // not cancel: everything added to p0 is a difference
    const vec3 step = d_positions_m[i + 1] - d_positions_m[i];
    const vec3 p = d_positions_m[i] + (3 * u2 - 2 * u3) * step + (u3 - 2 * u2 + u) * m0 +
                   (u3 - u2) * m1;
    if (length(d_lever_arm_m) == 0)
        return p;
    const vec3 v = (1 / h) * ((6 * u - 6 * u2) * step + (3 * u2 - 4 * u + 1) * m0 +
                              (3 * u2 - 2 * u) * m1);
    const double speed = length(v);
    require(speed > 0,
            "the platform stands still at ",
            t,
            " s, so lever_arm_m has no direction to be rotated into; give positions of "
            "the antenna instead");
    const vec3 along = (1 / speed) * v;
    vec3 right = cross(along, vec3{ 0, 0, 1 });
    require(
        length(right) > 1e-9,
        "the platform moves vertically at ",
        t,
        " s, so lever_arm_m has no right hand; give positions of the antenna instead");
    right = (1 / length(right)) * right;
    const vec3 up = cross(right, along);
    return p + d_lever_arm_m.x * along + d_lever_arm_m.y * right + d_lever_arm_m.z * up;
}

std::vector<vec3> trajectory::positions(double start_s, double prf_hz, int pulses) const
{
    require(std::isfinite(prf_hz) && prf_hz > 0,
            "prf_hz is ",
            prf_hz,
            " Hz; expected a positive number");
    require(pulses >= 0, "pulses is ", pulses, "; expected 0 or more");
    std::vector<vec3> out(pulses);
    for (int n = 0; n < pulses; ++n) {
        try {
            out[n] = position(start_s + n / prf_hz);
        } catch (const std::out_of_range& e) {
            throw std::out_of_range(
                sentence("pulse ", n, " of ", pulses, ": ", e.what()));
        }
    }
    return out;
}

} // namespace sar
} // namespace gr
