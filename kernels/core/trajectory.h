// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "vec3.h"
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Where the antenna is at a given time.
 *
 * Either a straight line, or samples of a navigation record interpolated with a cubic
 * Hermite spline whose slopes are finite differences (Catmull-Rom on an uneven time
 * axis): exact for constant velocity, continuous in velocity. Never extrapolates.
 */
class SAR_KERNEL_API trajectory
{
public:
    //! start_m + velocity_m_s * t, for every t.
    static trajectory straight(vec3 start_m, vec3 velocity_m_s);

    /*!
     * \brief From a navigation record.
     * \param times_s     strictly increasing times of the record, s; 2 or more
     * \param positions_m one position each, m
     * \param clock_offset_s add this to a pulse time to get the record's time
     * \param lever_arm_m  antenna minus navigation point, along track, across (right),
     *                     up, m: rotated into the direction of flight and added
     * \throws std::invalid_argument on unequal lengths, disorder or non-finite values
     */
    static trajectory sampled(std::vector<double> times_s,
                              std::vector<vec3> positions_m,
                              double clock_offset_s = 0,
                              vec3 lever_arm_m = { 0, 0, 0 });

    //! Position at pulse time \p t_s. \throws std::out_of_range outside the record.
    vec3 position(double t_s) const;

    //! Positions of \p pulses pulses from \p start_s at \p prf_hz.
    std::vector<vec3> positions(double start_s, double prf_hz, int pulses) const;

    //! First and last pulse time that position() accepts (+-infinity when straight).
    double first_s() const;
    double last_s() const;

private:
    trajectory() = default;
    vec3 slope(std::size_t i) const;

    std::vector<double> d_times_s;
    std::vector<vec3> d_positions_m;
    double d_clock_offset_s = 0;
    vec3 d_lever_arm_m = { 0, 0, 0 };
    vec3 d_start_m = { 0, 0, 0 };
    vec3 d_velocity_m_s = { 0, 0, 0 };
};

} // namespace sar
} // namespace gr
