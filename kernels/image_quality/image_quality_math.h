// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Geometry of the response of a point target, and figures of a cut through it.
//
// The image of a point, formed by back-projection or anything equal to it, is
//   sum over frequency f and antenna position q of exp(j 4 pi f (|p - q| - |p_t - q|) /
//   c),
// so near the target its spectrum over positions p lies at the wave vectors
//   4 pi f / c u(q),   u = (p_t - q) / |p_t - q|  (unit look vector), projected on the
// plane. Across the band it extends along a1 = u(centre), across the aperture along
// a2 = u(end) - u(start). A cut along which one of the two does not change shows the
// other one's response alone, also when they are not perpendicular (squint):
//   range cut d_r in the plane, perpendicular to a2: one Doppler, width c/(2B) / |d_r.a1|
//   azimuth cut d_a in the plane, perpendicular to a1: one range, (lambda/2) / |d_a.a2|
// Where the aperture ends at Doppler frequencies instead of angles, the wave vector along
// the track t is the same all over the band, and across the band the spectrum extends
// along the part of u across the track alone, a1 = w / |w|^2, w = u - (u.t) t: the length
// of the wave vector is 4 pi f / c, so its part across grows with 1 / |w|.
// These widths ("cells") are one over the bandwidth of the cut; the -3 dB width is
// window.irw() cells (0.886 unweighted). Carrara, Goodman, Majewski, Spotlight SAR, 2.
//
// With a wide aperture the arc of wave vectors is no straight line, and its bend shows in
// the range cut; with a wide band the aperture's share grows with frequency. The theory
// that an image is measured against is therefore the sum over all wave vectors, along the
// cut (look_along() below).

#include "../core/constants.h"
#include "../core/hd.h"
#include "../core/vec3.h"
#include <cmath>
#include <limits>
#include <vector>

namespace gr {
namespace sar {

SAR_HD vec3 unit(vec3 a) { return (1 / length(a)) * a; }

//! The part of \p a in the plane with unit normal \p n.
SAR_HD vec3 in_plane(vec3 a, vec3 n) { return a - dot(a, n) * n; }

struct target_cuts {
    vec3 range_gradient;    //!< a1 in the plane
    vec3 azimuth_gradient;  //!< a2 in the plane
    vec3 range_direction;   //!< d_r, unit; away from the radar
    vec3 azimuth_direction; //!< d_a, unit; along the flight
    double range_slope;     //!< |d_r . a1|: slant range per metre along the range cut
    double azimuth_slope;   //!< |d_a . a2|
};

//! Directions of the two cuts at \p p; a slope is 0 when the geometry resolves nothing.
SAR_HD target_cuts cuts_at(vec3 p,
                           vec3 start,
                           vec3 centre,
                           vec3 end,
                           vec3 normal,
                           bool ends_at_doppler = false)
{
    target_cuts t{};
    vec3 a1 = unit(p - centre);
    if (ends_at_doppler) {
        const vec3 track = unit(end - start);
        const vec3 across = a1 - dot(a1, track) * track;
        a1 = (1 / dot(across, across)) * across;
    }
    t.range_gradient = in_plane(a1, normal);
    t.azimuth_gradient = in_plane(unit(p - end) - unit(p - start), normal);
    const vec3 dr = cross(normal, t.azimuth_gradient);
    const vec3 da = cross(normal, t.range_gradient);
    if (!(length(dr) > 0) || !(length(da) > 0))
        return t;
    // looking ahead, the look vector turns back: a2 points against the flight
    t.range_direction = (dot(dr, t.range_gradient) < 0 ? -1.0 : 1.0) * unit(dr);
    t.azimuth_direction = (dot(da, t.azimuth_gradient) > 0 ? -1.0 : 1.0) * unit(da);
    t.range_slope = fabs(dot(t.range_direction, t.range_gradient));
    t.azimuth_slope = fabs(dot(t.azimuth_direction, t.azimuth_gradient));
    return t;
}

//! One direction of the aperture, along a cut: its wave vectors over the band.
struct cut_look {
    double weight;        //!< beside that of the window
    double carrier_per_m; //!< turns of the middle of the band, against the centre's
    double band_per_m;    //!< turns over one hertz of the band
};

/*!
 * \brief Wave vectors of a point seen from \p antenna, along the unit vector \p
 * direction.
 *
 * 2 f / c u turns a metre. Where the aperture ends at Doppler frequencies a look is one
 * part of u along the track, k_t, the same all over the band, and the part across is
 * sqrt(f^2 - (f0 k_t)^2): it grows with f as 1 / sqrt(1 - k_t^2). A matched filter of
 * phase alone leaves the amplitude of the azimuth spectrum as it is, by stationary phase
 * the root of one over the FM rate, (1 - k_t^2)^(-3/4).
 */
SAR_HD cut_look look_along(vec3 p, vec3 antenna, vec3 direction, double carrier_hz)
{
    const double along = dot(unit(p - antenna), direction);
    return { 1, 2 / speed_of_light * carrier_hz * along, 2 / speed_of_light * along };
}

SAR_HD cut_look
look_at_doppler(double k_t, vec3 track, vec3 across, vec3 direction, double carrier_hz)
{
    const double k_a = sqrt(1 - k_t * k_t);
    return { pow(k_a, -1.5),
             2 / speed_of_light * carrier_hz *
                 (k_t * dot(track, direction) + k_a * dot(across, direction)),
             2 / speed_of_light / k_a * dot(across, direction) };
}

//! Components of an offset in the plane along the two (oblique) cut directions, m.
SAR_HD void
along_cuts(const target_cuts& t, vec3 offset, double& range_m, double& azimuth_m)
{
    // d_a is perpendicular to a1, and d_r to a2
    range_m = dot(offset, t.range_gradient) / dot(t.range_direction, t.range_gradient);
    azimuth_m =
        dot(offset, t.azimuth_gradient) / dot(t.azimuth_direction, t.azimuth_gradient);
}

//! Cycles to take off the image at \p p so that the carrier is gone; 0 at \p p0.
SAR_HD double carrier_cycles_between(vec3 p, vec3 p0, vec3 antenna, double carrier_hz)
{
    // |p - q| - |p0 - q| without the cancellation of two large numbers
    const vec3 a = p - antenna;
    const vec3 b = p0 - antenna;
    const double difference = dot(p - p0, a + b) / (length(a) + length(b));
    return 2 * carrier_hz * difference / speed_of_light;
}

//! Figures of one cut; NaN where the cut does not reach far enough.
struct cut_figures {
    double irw = std::numeric_limits<double>::quiet_NaN(); //!< in units of the step
    double half_before = std::numeric_limits<double>::quiet_NaN(); //!< parts of the IRW
    double half_after = std::numeric_limits<double>::quiet_NaN();
    double null_before = std::numeric_limits<double>::quiet_NaN();
    double null_after = std::numeric_limits<double>::quiet_NaN();
    double pslr_db = std::numeric_limits<double>::quiet_NaN();
    double islr_db = std::numeric_limits<double>::quiet_NaN();
};

/*!
 * \brief Measure a finely sampled cut of power values.
 *
 * IRW: width between the half-power crossings next to the peak, linear between samples.
 * Main lobe: between the first minima below half power on either side (the nulls).
 * PSLR: largest value outside the main lobe over the peak.
 * ISLR: sum outside the main lobe over the sum inside, both to the ends of the cut.
 */
inline cut_figures measure_cut(const std::vector<double>& power, int peak)
{
    cut_figures f;
    const int n = static_cast<int>(power.size());
    const double top = power[peak];
    // walk from the peak to one side; returns crossing and null in steps from the peak
    const auto side = [&](int direction, double& half, double& null) {
        int i = peak;
        while (i + direction >= 0 && i + direction < n && power[i + direction] > top / 2)
            i += direction;
        const int j = i + direction;
        if (j < 0 || j >= n)
            return;
        half = std::abs(i - peak) + (power[i] - top / 2) / (power[i] - power[j]);
        i = j;
        while (i + direction >= 0 && i + direction < n && power[i + direction] < power[i])
            i += direction;
        if (i + direction >= 0 && i + direction < n)
            null = std::abs(i - peak);
    };
    side(-1, f.half_before, f.null_before);
    side(+1, f.half_after, f.null_after);
    f.irw = f.half_before + f.half_after;
    if (!std::isfinite(f.null_before) || !std::isfinite(f.null_after))
        return f;
    const int first = peak - static_cast<int>(f.null_before);
    const int last = peak + static_cast<int>(f.null_after);
    double main = 0, rest = 0, highest = 0;
    for (int i = 0; i < n; ++i) {
        if (i >= first && i <= last) {
            main += power[i];
        } else {
            rest += power[i];
            highest = power[i] > highest ? power[i] : highest;
        }
    }
    f.pslr_db = 10 * std::log10(highest / top);
    f.islr_db = 10 * std::log10(rest / main);
    return f;
}

} // namespace sar
} // namespace gr
