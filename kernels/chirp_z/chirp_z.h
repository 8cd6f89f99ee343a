// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "chirp_z_math.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct chirp_z_params {
    int samples_in = 0;  //!< of a line
    int samples_out = 0; //!< frequencies that are evaluated
    double first = 0;    //!< frequency of output 0, cycles per input sample
    double step = 0;     //!< from output to output, cycles per input sample
    //! exp(+j ..) and 1 / samples_in instead of exp(-j ..) and 1
    bool inverse = false;
    double reference = 0; //!< n0: the input sample whose phase is the same in all outputs
    //! Factor of each input sample, window or calibration; empty: ones.
    std::vector<cf32> weights;
    int max_batch = 128; //!< lines that cuFFT transforms together on a GPU, at most
    //! Results too long for one kernel of a GPU are made in this many parts, at most, of
    //! which each transforms the line again; beyond, cuFFT does them. 0: cuFFT always.
    int max_parts = 10;
};

/*!
 * \brief Lines to any number of their frequencies with any spacing: an exact-length
 * transform (primes too), a zoom, or an image on any grid without interpolation.
 *
 *     X[k] = sum_n w_n x[n] exp(-j 2 pi (n - n0) (first + k step))
 *
 * inverse: 1/N sum_n w_n x[n] exp(+j ...), N = samples_in. Formula and source:
 * chirp_z_math.h. The convolution is done by transforms of length line_fft_length(),
 * samples_in + samples_out - 1 or more, so that nothing wraps around.
 *
 * The result is the sum for exactly these doubles first and step: the phases are reduced
 * without loss (product_cycles()). A step of 1/N is rounded to 53 bits, which turns the
 * outermost output by n k 2^-54 / N, 4e-10 rad at n = k = N = 10^6.
 *
 * A line with a sample that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API chirp_z
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<chirp_z> make(const chirp_z_params& params,
                                         const compute_target& target);
    virtual ~chirp_z() = default;

    //! \p lines lines from \p in (samples_in each) to \p out (samples_out each), in the
    //! memory of the target, not overlapping; on CUDA the work is enqueued only.
    virtual void process(const cf32* in, cf32* out, int lines) = 0;

    //! Lines so far that held a sample which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    //! Length of the transforms that the convolution is done with.
    virtual int fft_length() const = 0;

    const chirp_z_params& params() const { return d_params; }

protected:
    explicit chirp_z(const chirp_z_params& params);

    //! a_n with weights, for outputs from number \p output on.
    std::vector<cf32> input_factors(int output = 0) const;
    //! b_k of \p count outputs from number \p output on.
    std::vector<cf32> output_factors(int output, int count) const;
    //! DFT of h over \p length, for \p count outputs, with 1 / length in it.
    std::vector<cf32> filter(int length, int count) const;

    const chirp_z_params d_params;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<chirp_z> make_chirp_z_cuda(const chirp_z_params& params,
                                           const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
