// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/bp_accumulator/bp_accumulator.h>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/kernel/core/image_grid.h>
#include <gnuradio/sar/stage.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Forms an image by direct back-projection of compressed lines.
 * \ingroup sar
 * \details
 * image(p) = mean over the pulses of line(r) exp(+j 4 pi fc r / c), with r the distance
 * of the pixel p to the antenna (two antennas: half the way there and back) plus the
 * range bias. Works for any track and any plane of pixels. A point of unit amplitude
 * becomes a peak of 1.
 *
 * Input 0: compressed lines, vectors of acq.samples * oversampling complex. Input 1: the
 * antenna's position for each line, vectors of 3 double, metres. Input 2 (bistatic): the
 * receiver's. The inputs run in lock step. Output: image rows, vectors of grid.cols
 * complex; a tag sar_image on the first row of an image.
 *
 * An image comes out at the end of the stream, or every hop pulses over an aperture of
 * pulses_per_image. The last, incomplete aperture comes out too. With hop alone the image
 * grows: every hop pulses comes that of all pulses so far, marked as not complete, and
 * at the end of the stream the complete one. Pulses whose position is
 * not finite are skipped and counted; pixels outside the swath get nothing and are
 * counted.
 */
class SAR_API bp_accumulator : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<bp_accumulator> sptr;

    /*!
     * \brief Make a back-projection block.
     *
     * \param acq how the lines were recorded
     * \param grid the pixels, in the frame of the positions
     * \param oversampling output samples of pulse_compression per input sample
     * \param interpolation between samples: "nearest", "linear", "sinc8" or "sinc16"
     * \param accuracy "exact": double range for each pixel and pulse; "fast": range
     *        expanded per 32 x 32 pixels; "auto": fast for those pulses whose proved
     * phase error stays below 0.01 rad \param pulses_per_image pulses in an aperture; 0:
     * all until the stream ends \param hop pulses from one image to the next, a divisor
     * of pulses_per_image where that is given; 0: as many as pulses_per_image (apertures
     * do not overlap)
     * \param bistatic take the receiver's positions from a third input
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had, or when there
     * is no memory for the image
     */
    static sptr make(const acquisition& acq,
                     const image_grid& grid,
                     int oversampling = 1,
                     const std::string& interpolation = "sinc8",
                     const std::string& accuracy = "auto",
                     int pulses_per_image = 0,
                     int hop = 0,
                     bool bistatic = false,
                     const std::string& backend = "auto",
                     int device = 0);

    //! What happened so far: pulses, skipped ones, pixels outside, the phase bound. On
    //! CUDA waits for the device.
    virtual kernel::bp_report report() const = 0;
    //! Images begun so far.
    virtual std::uint64_t images() const = 0;
    virtual const kernel::bp_accumulator_params& params() const = 0;
};

} // namespace sar
} // namespace gr
