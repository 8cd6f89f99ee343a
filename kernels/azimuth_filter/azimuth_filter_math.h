// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/phasor.h"
#include "../core/range_doppler.h"
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {

//! Intervals of the table of a window over the band. Between them it is taken as a
//! straight line: 3e-7 off at most for a Hann window (pi^2 / 4 / 2048^2 / 2).
constexpr int weight_steps = 2048;

//! One row where velocity and centroid are uniform: the phase is linear in the cell.
struct azimuth_row {
    double cycles; //!< of cell 0
    double step;   //!< from a cell to the next
};

//! Tables of a frame, for host and device.
struct azimuth_filter_tables {
    range_doppler_frame frame;
    int looks = 1;
    const float* gains = nullptr; //!< [looks][cols]
    // uniform
    const azimuth_row* rows = nullptr;  //!< [rows]
    const float* row_weights = nullptr; //!< [looks][rows]
    // else
    const doppler_column* columns = nullptr; //!< [cols]
    const float* weights = nullptr;          //!< [weight_steps + 1] over a look's band
    double look_width_hz = 0;
};

//! What the filter turns a cell by, and its Doppler relative to the centroid.
struct azimuth_turn {
    float cycles;  //!< -0.5 .. 0.5
    double offset; //!< from the middle of the band, in widths of a look
};

//! Matched filter of cell \p col, uniform case.
SAR_HD float uniform_cycles(const azimuth_row& row, int col)
{
    return fractional_cycles(row.cycles + col * row.step);
}

/*!
 * \brief Matched filter of a cell with its own velocity and centroid.
 *
 * A bin stands for the frequency next to the centroid of the cell, so the row at which
 * the band is cut moves with the cell.
 */
SAR_HD azimuth_turn varying_turn(const range_doppler_frame& f,
                                 const doppler_column& c,
                                 int row,
                                 double look_width_hz)
{
    const double frequency = doppler_frequency(f, row, c.centroid_hz);
    const double factor = migration_factor(frequency, c.velocity_m_s, f.carrier_hz);
    const double delay = f.geometry == image_geometry::centroid ? c.beam_delay_s : 0.0;
    return { fractional_cycles(
                 azimuth_filter_cycles(f, c.closest_m, factor, frequency, delay)),
             (frequency - c.centroid_hz) / look_width_hz };
}

//! Weight of one look at an offset in widths of a look: range_doppler_plan::weight().
SAR_HD float look_weight(const float* weights, int looks, int look, double offset)
{
    const double x = offset - (look - 0.5 * (looks - 1)); // -0.5 .. 0.5 within
    // the band's ends belong to it, also after rounding
    const bool within = x >= -0.5 - 1e-9 && x <= 0.5 + 1e-9;
    const float t = within ? static_cast<float>(x + 0.5) * weight_steps : 0.0f;
    const float inside = t < 0 ? 0.0f : t;
    const int at = static_cast<int>(inside);
    const int i = at < weight_steps ? at : weight_steps - 1;
    const float w = weights[i] + (inside - i) * (weights[i + 1] - weights[i]);
    return within ? w : 0.0f;
}

} // namespace kernel
} // namespace sar
} // namespace gr
