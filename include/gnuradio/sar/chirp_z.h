// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Lines to any of their frequencies: zoom, any spacing, any length.
 * \ingroup sar
 *
 * \details
 * The chirp-Z transform of each line,
 *
 *     X[k] = sum_n w_n x[n] exp(-j 2 pi (n - n0) (f0 + k df) / fs)
 *
 * for k = 0 .. samples_out - 1, inverse 1 / samples_in times the sum with exp(+j ..). A
 * spectrum is seen at any spacing, an image is made of its spectrum at any spacing, and a
 * transform has any length, all of it exactly, without interpolation. The window has mean
 * 1: a tone of amplitude A has the peak A samples_in, inverse A, with each. Formulas:
 * gnuradio/sar/kernel/chirp_z/chirp_z.h.
 *
 * The unit of frequencies is that of the sampling rate. Lines over time in Hz: their
 * sampling rate, Hz. Lines over frequency: one over the frequency step, s, and what comes
 * out lies over delay, s. Rate 1: cycles per sample.
 *
 * Input: one line an item, samples_in complex64. Output: one line an item, samples_out
 * complex64.
 *
 * A tag sar_frame passes with domain "chirp_z", samples, first_frequency and
 * frequency_step of the output and without slant_range_first_m and spacing_m; one whose
 * samples are not samples_in ends the flowgraph with an error. Other tags pass as they
 * are.
 *
 * A line with a value that is not finite becomes zeros and is counted.
 */
class SAR_API chirp_z : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<chirp_z> sptr;

    /*!
     * \param samples_in samples of a line, 1 to 2^23
     * \param samples_out frequencies that are evaluated; 0: as many as samples_in
     * \param first_frequency of the first output, in the unit of sample_rate
     * \param frequency_step from output to output; 0: sample_rate / samples_out, the
     * whole band \param sample_rate input samples per unit; 1: frequencies are cycles per
     * sample \param direction "forward": exp(-j ..), or "inverse": exp(+j ..) and 1 /
     * samples_in \param window weighting over the input line: "rect", "hamming", "hann",
     * "taylor(nbar, sll)" with the sidelobe level in dB, or "kaiser(beta)" \param
     * reference_sample n0, the input sample (of any number, also between two) whose phase
     * is the same in all outputs \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU \throws std::invalid_argument naming parameter,
     * value and expectation \throws std::runtime_error when CUDA is demanded and cannot
     * be had
     */
    static sptr make(int samples_in,
                     int samples_out = 0,
                     double first_frequency = 0,
                     double frequency_step = 0,
                     double sample_rate = 1,
                     const std::string& direction = "forward",
                     const std::string& window = "rect",
                     double reference_sample = 0,
                     const std::string& backend = "auto",
                     int device = 0);

    //! Frequencies that are evaluated.
    virtual int samples_out() const = 0;
    //! From output to output, in the unit of the sampling rate.
    virtual double frequency_step() const = 0;
    //! Length of the transforms that the work is done with.
    virtual int fft_length() const = 0;
    //! Lines so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
