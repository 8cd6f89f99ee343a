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
 * \brief Stolt mapping: migration of the wavenumber (omega-k) algorithm.
 * \ingroup sar
 *
 * \details
 * Rows of the range-Doppler domain, as azimuth_fft gives them, to rows in which a point
 * lies in the same cell whatever its Doppler frequency, as rcmc does; azimuth_filter
 * follows. A row is taken to its spectrum over range frequency ft, that is resampled over
 * K = sqrt((f0 + ft)^2 - (c f / (2 V))^2), and taken back: migration and secondary range
 * compression are then exact for every range, whatever bandwidth, beam and squint, where
 * rcmc is made for the middle of the swath. Formulas:
 * gnuradio/sar/kernel/stolt/stolt_math.h.
 *
 * It is exact for one effective velocity and one Doppler centroid; where they vary over
 * the swath the phase follows them, and the migration that is left is
 * residual_migration_cells() (a warning above a quarter of a cell).
 *
 * Input: one row an item, acq.samples * oversampling complex64, or with storage "half"
 * 16-bit samples (bytes) as azimuth_fft stores them. Output: the same, cell n at range
 * slant_range_first_m + n spacing_m of its tag. What lies outside a row counts as 0.
 *
 * The mapping widens the band to B / cos(squint), and cells must hold it: oversampling.
 * Tags and values that are not finite: as rcmc.
 */
class SAR_API stolt : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<stolt> sptr;

    /*!
     * \param acq the recording, with its effective_velocity_m_s
     * \param lines of a frame, as given to azimuth_fft
     * \param fft_length rows of a frame; 0: the smallest fast length >= lines
     * \param oversampling of the compressed lines
     * \param interpolation of the spectrum, on a grid of half a bin: "exact" (least
     * squares), "sinc16" or "sinc8"
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
                     const std::string& interpolation = "exact",
                     const std::string& geometry = "zero_doppler",
                     const std::string& storage = "single",
                     const std::string& backend = "auto",
                     int device = 0);

    //! Rows of a frame.
    virtual int rows() const = 0;
    //! Range of cell 0 of the output, m, for the Doppler centroid in use.
    virtual double slant_range_first_m() const = 0;
    //! Largest migration that is left where velocity or centroid vary over the swath,
    //! cells.
    virtual double residual_migration_cells() const = 0;
    //! Rows so far that were zeroed for a value that is not finite.
    virtual std::uint64_t bad_lines() const = 0;
};

} // namespace sar
} // namespace gr
