// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the estimator of the Doppler centroid does to samples, for host and device. The
// formulas and their symbols are in doppler_centroid.h.

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/phasor.h"

namespace gr {
namespace sar {
namespace kernel {

//! Sums over pairs of neighbouring lines: of after conj(before), and of their power.
struct lag_sums {
    double re;
    double im;
    double power;
};

SAR_HD void add_pair(lag_sums& s, cf32 before, cf32 after)
{
    const double a = before.re, b = before.im, c = after.re, d = after.im;
    s.re += c * a + d * b;
    s.im += d * a - c * b;
    s.power += 0.5 * (a * a + b * b + c * c + d * d);
}

SAR_HD lag_sums operator+(lag_sums a, lag_sums b)
{
    return { a.re + b.re, a.im + b.im, a.power + b.power };
}

//! First of the items of block \p b when \p n items are cut into \p blocks.
SAR_HD int block_begin(int b, int n, int blocks)
{
    return static_cast<int>(static_cast<long long>(n) * b / blocks);
}

//! One Doppler bin of an azimuth look.
struct look_bin {
    int bin;             //!< of the azimuth transform of the frame
    int row;             //!< of the look's own, shorter transform
    float weight;        //!< Hann over the look
    double shift_cells;  //!< range walk relative to the centroid
    double cycles_per_m; //!< azimuth phase of a metre of closest range
};

//! Value \p k of the range spectrum of a bin (\p length values), moved back in range by
//! the bin's walk.
SAR_HD cf32 without_walk(cf32 v, const look_bin& b, int k, int length)
{
    const int f = 2 * k < length ? k : k - length;
    return b.weight * (v * unit_phasor(fractional_cycles(b.shift_cells * f / length)));
}

//! A cell of a bin after the azimuth matched filter.
SAR_HD cf32 azimuth_matched(cf32 v, const look_bin& b, double closest_m)
{
    return v * unit_phasor(fractional_cycles(b.cycles_per_m * closest_m));
}

//! Spectrum of the correlation of two real signals a and b that were transformed as
//! a + j b: conj(A) B at a bin with the value \p z, \p mirrored that at minus the bin.
SAR_HD cf32 cross_spectrum(cf32 z, cf32 mirrored)
{
    const cf32 m = conj(mirrored);
    const cf32 a = 0.5f * (z + m);
    const cf32 d = 0.5f * (z - m);
    const cf32 b = { d.im, -d.re };
    return conj(a) * b;
}

} // namespace kernel
} // namespace sar
} // namespace gr
