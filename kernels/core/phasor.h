// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cf32.h"
#include <cmath>

namespace gr {
namespace sar {

//! Fraction of a phase in cycles, in [-0.5, 0.5]. The phase stays double until here:
//! at 770 km and X band it counts 5e7 cycles, more than a float can resolve.
SAR_HD float fractional_cycles(double cycles)
{
    return static_cast<float>(cycles - rint(cycles));
}

/*!
 * \brief exp(+j 2 pi x) for |x| <= 0.5 cycles, by polynomials.
 *
 * Reduces to |y| <= 1/8 cycle around the nearest quarter cycle, where the Taylor series
 * of sin(2 pi y) to degree 9 and cos(2 pi y) to degree 8 are within 2e-9 and 3e-8 of
 * the functions: below half a unit of float rounding. The same arithmetic on host and
 * device, without branches, so that compilers vectorise it and backends agree.
 */
SAR_HD cf32 unit_phasor(float x)
{
    const float q = rintf(4.0f * x); // quarter: -2 .. 2
    const float y = x - 0.25f * q;   // exact
    const float t = 6.28318530718f * y;
    const float t2 = t * t;
    const float s =
        t + t * t2 *
                (-1.6666667e-1f +
                 t2 * (8.3333333e-3f + t2 * (-1.9841270e-4f + t2 * 2.7557319e-6f)));
    const float c =
        1.0f +
        t2 * (-0.5f + t2 * (4.1666667e-2f + t2 * (-1.3888889e-3f + t2 * 2.4801587e-5f)));
    const int k = static_cast<int>(q) & 3;
    const float a = (k & 1) ? s : c; // |cos| part
    const float b = (k & 1) ? c : s;
    // cos is negative in quarters 1 and 2, sin in 2 and 3; no ||, so that loops vectorise
    return { ((k + 1) & 2) ? -a : a, (k & 2) ? -b : b };
}

} // namespace sar
} // namespace gr
