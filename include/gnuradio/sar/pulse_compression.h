// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/gr_complex.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Raw lines to range-compressed lines.
 * \ingroup sar
 *
 * \details
 * Pulsed waveforms go through the matched filter (a linear correlation with the pulse, by
 * FFT), FMCW and frequency-domain lines through a weighted inverse DFT; FMCW also loses
 * its residual video phase. Formulas:
 * gnuradio/sar/kernel/pulse_compression/pulse_compression.h.
 *
 * Input: one line an item, acq.samples complex64. Output: one line an item, acq.samples *
 * oversampling complex64, on the axis acq.compressed_axis(oversampling); with a range
 * gate those of acq.range_gate(near, far) instead of acq. The echo of a unit point has
 * peak 1 and phase exp(-j 4 pi f R / c) with every window.
 *
 * A tag sar_frame passes with domain "compressed" and samples, spacing_m and
 * slant_range_first_m of the output; one that does not describe raw lines of acq.samples
 * ends the flowgraph with an error. Other tags pass as they are. Of a triangular sweep
 * the field pulse of sar_frame, and sar_holes, tell which lines are the way back.
 *
 * A line with a sample that is not finite becomes zeros and is counted.
 */
class SAR_API pulse_compression : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<pulse_compression> sptr;

    /*!
     * \param acq the recording, with its waveform
     * \param oversampling output samples per input sample, 1 or more
     * \param window weighting over the band: "rect", "hamming", "hann", "taylor(nbar,
     * sll)" with the sidelobe level in dB, or "kaiser(beta)" \param replica samples of
     * the transmitted pulse at acq.sample_rate_hz, for the waveform "replica" only \param
     * backend "auto", "cpu", "cuda" or "emulated" \param device index of the GPU \throws
     * std::invalid_argument naming parameter, value and expectation \throws
     * std::runtime_error when CUDA is demanded and cannot be had
     * \param range_gate_m near and far range of the cells that are put out, m; empty: all
     */
    static sptr make(const acquisition& acq,
                     int oversampling = 1,
                     const std::string& window = "rect",
                     const std::vector<gr_complex>& replica = {},
                     const std::string& backend = "auto",
                     int device = 0,
                     const std::vector<double>& range_gate_m = {});

    //! Axis of the output lines.
    virtual range_axis axis() const = 0;
    //! First output sample, and number of them, whose pulse lies wholly within the line.
    virtual int first_valid() const = 0;
    virtual int valid_samples() const = 0;
    //! Lines so far that were zeroed for a sample that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
