// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/window.h"
#include "pulse_compression_math.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct pulse_compression_params {
    acquisition acq;
    int oversampling = 1; //!< output samples per input sample
    window weighting;     //!< over the band of the waveform
    //! The transmitted pulse at the sampling rate, for waveform::replica only. With
    //! pulse_reference::centre the delay of an echo is that of sample size / 2.
    std::vector<cf32> replica;
    int max_batch = 64; //!< lines that are transformed together on a GPU, at most
    //! Range gate: cells (at oversampling 1) of the compressed line that are put out, as
    //! acquisition::gated() describes; 0 cells: all.
    int gate_first = 0;
    int gate_cells = 0;
};

/*!
 * \brief Matched filter of a pulsed waveform, over the bins of a transform of \p length.
 *
 * With everything in it that pulse_compression multiplies a spectrum with: window, 1 / E
 * and 1 / length; with oversampling the bin at half the sampling rate is halved.
 */
SAR_KERNEL_API std::vector<cf32> matched_filter(const pulse_compression_params& params,
                                                int length);

/*!
 * \brief Raw lines to range-compressed lines on acquisition::compressed_axis().
 *
 * Pulsed waveforms (LFM, replica): matched filter. With s(t) a line and q(t) the pulse,
 * t = 0 at its reference (start or centre),
 *
 *     y(tau) = 1/E sum_t s(t) conj q(t - tau)
 *
 * a linear correlation, done as Y = S H / (E L) through FFTs of a length L >= samples +
 * pulse - 1, so that nothing wraps around, with H = conj(Q) W. The window W covers the
 * band -B/2 .. B/2 and is 0 outside; "rect" is no weighting at all, the matched filter
 * proper. A weighted LFM pulse uses H = conj(Q) W / |Q|^2: the spectrum of a chirp is not
 * flat but ripples (Fresnel) and sags at the band's edges, which would cost a window up
 * to 1.5 dB of its sidelobe ratios at a time-bandwidth product of 8000, and more below. A
 * given replica is not divided by, since it may have no energy at some frequency. E makes
 * the peak of a unit echo 1 with every window. Oversampling appends zeros to the spectrum
 * before the inverse transform. An LFM pulse is exp(j pi Kr u^2), u counted from the
 * middle of the pulse, evaluated at the sampling instants: the peak of an echo with delay
 * tau lies at (tau - t0) fs, t0 the delay of the first sample, also when that is no whole
 * number. Where the pulse reaches over an end of the line the sum is partial: the echo of
 * a point there is incomplete, weaker and wider. Samples first_valid() .. first_valid() +
 * valid_samples() - 1 are free of that.
 *
 * Frequency-domain waveforms (FX, FMCW): a line X[k] is taken at f = carrier + k step. At
 * range r = first + m spacing
 *
 *     x[m] = 1/sum(w) sum_k w_k X[k] exp(+j 4 pi (k - k0) step r / c),  k0 = samples / 2
 *
 * (X conjugated first when phase_sign is +1), so a unit point has exp(-j 4 pi f(k0) r /
 * c) at its peak. One inverse FFT of length samples * oversampling, whatever its factors.
 * A dechirped FMCW beat is exp(j 2 pi (f_low tau + K tau t - K tau^2 / 2)) for phase_sign
 * +1: its last term, the residual video phase, is taken off each output sample as
 * exp(-j pi K tau^2), tau = 2 r / c, after which FMCW is FX. K is the chirp rate of the
 * line: of a triangle, lines of odd number have the opposite one.
 *
 * A ramp that was received in full, not dechirped, is a pulse like any other, however
 * long: pulsed_lfm. Its matched filter does what dechirp, transform and removal of the
 * residual video phase do, without the loss of what the delay moves out of the sweep, and
 * a range gate leaves as few cells as a filter and a decimation of the beat would.
 *
 * References: Cumming and Wong, Digital Processing of Synthetic Aperture Radar Data,
 * sections 3.3 and 3.4; Carrara, Goodman, Majewski, Spotlight SAR, section 2.6 and
 * appendix C (dechirp, residual video phase).
 *
 * A line with a sample that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API pulse_compression
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<pulse_compression> make(const pulse_compression_params& params,
                                                   const compute_target& target);
    virtual ~pulse_compression() = default;

    //! \p lines lines from \p in (samples_in() each) to \p out (samples_out() each), in
    //! the memory of the target; on CUDA the work is enqueued only. Of a triangular sweep
    //! the lines are the way back where \p first + i is odd.
    virtual void
    process(const cf32* in, cf32* out, int lines, std::int64_t first = 0) = 0;

    //! Lines so far that held a sample which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    int samples_in() const { return d_shape.samples; }
    int samples_out() const { return d_axis.samples; }
    const range_axis& axis() const { return d_axis; }
    //! First output sample, and number of them, whose correlation lies within the line.
    int first_valid() const { return d_first_valid; }
    int valid_samples() const { return d_valid_samples; }
    //! Length of the transforms before oversampling; 0: frequency-domain waveform.
    int fft_length() const { return d_shape.length; }
    //! What it multiplies the bins of a transform of fft_length() with: matched_filter().
    const std::vector<cf32>& filter() const { return d_filter; }

protected:
    explicit pulse_compression(const pulse_compression_params& params);

    pulse_compression_shape d_shape;
    //! Matched filter: H / (E L) over the bins. FX: weight and phase a sample.
    std::vector<cf32> d_filter;
    //! FMCW: the factor that takes off the residual video phase; else empty. The way back
    //! of a triangle takes its conjugate.
    std::vector<cf32> d_deskew;
    bool d_triangle = false;

private:
    void plan_matched_filter(const pulse_compression_params& params);
    void plan_frequency_domain(const pulse_compression_params& params);

    range_axis d_axis;
    int d_first_valid = 0;
    int d_valid_samples = 0;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<pulse_compression>
make_pulse_compression_cuda(const pulse_compression_params& params,
                            const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
