// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The chirp-Z transform on an arc of the unit circle,
//
//   X[k] = sum_n w_n x[n] exp(s j 2 pi (n - n0) (f0 + k df)),   s = -1 (forward) or +1
//
// with n k = (n^2 + k^2 - (k - n)^2) / 2 becomes a convolution with a chirp between two
// multiplications by chirps, whatever the numbers of inputs and outputs:
//
//   X[k] = b_k sum_n h_(k - n) a_n x[n]
//   a_n = w_n exp(s j 2 pi (n f0 + n^2 df / 2))
//   h_m = exp(-s j 2 pi m^2 df / 2)
//   b_k = exp(s j 2 pi (k^2 df / 2 - n0 (f0 + k df)))
//
// L. Bluestein, A linear filtering approach to the computation of discrete Fourier
// transform, IEEE Trans. Audio Electroacoustics 18 (1970); L. Rabiner, R. Schafer, C.
// Rader, The chirp z-transform algorithm, ibid. 17 (1969).

#include "../core/hd.h"
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief Fraction of a product in cycles, in [-0.5, 0.5].
 *
 * Phases of chirps are n^2 times something, 5e11 cycles and more at n = 10^6, so whole
 * cycles are taken off the exact product, in a fused multiply-add: what comes out is
 * right to 1e-16 cycles for every whole \p a below 2^53.
 */
SAR_HD double product_cycles(double a, double b)
{
    const double cycles = fma(a, b, -rint(a * b));
    return cycles - rint(cycles);
}

//! m^2 df / 2, the phase of a chirp, in cycles modulo 1; |m| below 2^26.
SAR_HD double chirp_cycles(double m, double step)
{
    return product_cycles(m * m, step / 2);
}

//! Phase of a_n, cycles, for s = +1.
SAR_HD double input_cycles(double n, double first, double step)
{
    return product_cycles(n, first) + chirp_cycles(n, step);
}

//! Phase of b_k, cycles, for s = +1.
SAR_HD double output_cycles(double k, double first, double step, double reference)
{
    return chirp_cycles(k, step) - product_cycles(reference, first) -
           product_cycles(reference * k, step);
}

} // namespace kernel
} // namespace sar
} // namespace gr
