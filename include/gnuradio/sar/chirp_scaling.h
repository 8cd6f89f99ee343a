// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Chirp scaling: compression and migration without an interpolation.
 * \ingroup sar
 *
 * \details
 * Raw rows of the range-Doppler domain, as azimuth_fft gives them of raw lines, to
 * compressed rows in which a point lies in the same cell whatever its Doppler frequency;
 * azimuth_filter follows. A linear phase over the chirp shifts points so that all migrate
 * alike; that common migration, compression and secondary range compression are one
 * product in the spectrum, and a phase per cell takes off what the first left. Formulas:
 * gnuradio/sar/kernel/chirp_scaling/chirp_scaling_math.h.
 *
 * Linear FM pulses only. The chirp rate is that of the middle of the swath, and the band
 * of points far from it is shifted: phase_error_rad() and band_shift_hz() say by how
 * much; make() refuses more than pi / 2, or a shift out of the sampling rate.
 *
 * Input: one row an item, acq.samples complex64, or with storage "half" 16-bit samples
 * (bytes) as azimuth_fft stores them. Output: acq.samples * oversampling of the same,
 * cell n at range slant_range_first_m + n spacing_m of its tag.
 *
 * Tags and values that are not finite: as rcmc.
 */
class SAR_API chirp_scaling : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<chirp_scaling> sptr;

    /*!
     * \param acq the recording, with its effective_velocity_m_s
     * \param lines of a frame, as given to azimuth_fft
     * \param fft_length rows of a frame; 0: the smallest fast length >= lines
     * \param oversampling of the compressed lines
     * \param range_window weighting over the band, as of pulse_compression
     * \param geometry "zero_doppler" or "centroid"
     * \param storage "single" or "half": of both input and output
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had
     */
    static sptr make(const acquisition& acq,
                     int lines,
                     int fft_length = 0,
                     int oversampling = 1,
                     const std::string& range_window = "rect",
                     const std::string& geometry = "zero_doppler",
                     const std::string& storage = "single",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Rows of a frame.
    virtual int rows() const = 0;
    //! Range of cell 0 of the output, m, for the Doppler centroid in use.
    virtual double slant_range_first_m() const = 0;
    //! Largest phase error at the edges of the band, at the ends of the swath, rad.
    virtual double phase_error_rad() const = 0;
    //! How far the band of a point is moved, at most, Hz.
    virtual double band_shift_hz() const = 0;
    //! Rows so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
