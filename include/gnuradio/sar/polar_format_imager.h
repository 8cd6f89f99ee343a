// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/kernel/core/image_grid.h>
#include <gnuradio/sar/kernel/polar_format_imager/polar_format_imager.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/types.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Raw lines of a spotlight aperture to an image, by polar format.
 * \ingroup sar
 * \details
 * Samples of the spectra of all lines lie on rays in the frequency plane of the grid; a
 * nonuniform FFT makes the image of them. It is the image of pulse_compression and
 * bp_accumulator on the same grid, as far as the wavefronts over the scene are planes:
 * what their curvature displaces is put back, what it defocuses is computed from the
 * positions and said. Any track, any plane of pixels, any order of the pulses. A point of
 * unit amplitude becomes a peak of 1.
 *
 * Input 0: raw lines, vectors of acq.samples complex. Input 1: the antenna's position for
 * each line, vectors of 3 double, metres. Input 2 (bistatic): the receiver's. The inputs
 * run in lock step. Output: image rows, vectors of grid.cols complex; a tag sar_image on
 * the first row of an image.
 *
 * An image comes out every hop pulses over an aperture of pulses_per_image. The last,
 * incomplete aperture comes out too. Pulses whose position is not finite are skipped and
 * counted; lines with samples that are not finite count as zeros.
 */
class SAR_API polar_format_imager : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<polar_format_imager> sptr;

    /*!
     * \brief Make a polar-format imager.
     *
     * \param acq how the lines were recorded: FX, dechirped FMCW, or pulses
     * \param grid the pixels, in the frame of the positions
     * \param pulses_per_image pulses of an aperture
     * \param hop pulses from one image to the next, a divisor of pulses_per_image; 0: as
     *        many as pulses_per_image (apertures do not overlap)
     * \param range_window weighting over the band: "rect", "hann", "hamming",
     *        "taylor(nbar, sll)", "kaiser(beta)"
     * \param azimuth_window weighting over the pulses of the aperture, likewise
     * \param curvature of the wavefronts. "correct": points are put back to where they
     *        are, and a warning says by how much they are defocused where that is more
     *        than pi/4; "refuse": an error there; "warn": points stay displaced, and a
     *        warning says by how much
     * \param replica the transmitted pulse, for waveform replica only
     * \param bistatic take the receiver's positions from a third input
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had, or when there
     * is no memory for the aperture
     */
    static sptr make(const acquisition& acq,
                     const image_grid& grid,
                     int pulses_per_image,
                     int hop = 0,
                     const std::string& range_window = "rect",
                     const std::string& azimuth_window = "rect",
                     const std::string& curvature = "correct",
                     const std::vector<gr_complex>& replica = {},
                     bool bistatic = false,
                     const std::string& backend = "auto",
                     int device = 0);

    //! What happened so far: pulses, skipped ones, the figures of the newest image. On
    //! CUDA waits for the device.
    virtual kernel::polar_format_report report() const = 0;
    //! Images begun so far.
    virtual std::uint64_t images() const = 0;
    //! Memory that the stage holds on its target, bytes.
    virtual std::uint64_t memory_bytes() const = 0;
    virtual const kernel::polar_format_imager_params& params() const = 0;
};

} // namespace sar
} // namespace gr
