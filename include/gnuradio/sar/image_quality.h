// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/image_quality/image_quality.h>
#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Sharpness and place of point targets in complex images, against theory.
 * \ingroup sar
 *
 * \details
 * For each expected target: position error, peak phase, and along the range and the
 * azimuth direction -3 dB width, PSLR and ISLR with the values that theory says, checked
 * against limits; and figures of the whole image (contrast, entropy, peak over median).
 * Definitions: docs/blocks/image_quality.md.
 *
 * Input: image rows, grid.cols complex64 an item; grid.rows of them make an image. A tag
 * sar_image starts an image anew. An image that is not complete at the end of the stream
 * is left out, with a warning.
 *
 * Message output report: one dictionary an image.
 */
class SAR_API image_quality : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<image_quality> sptr;

    /*!
     * \param grid where the pixels are
     * \param geometry antenna at start, centre and end of the aperture, carrier (middle
     * of the band), bandwidth and windows \param targets position in metres and complex
     * amplitude of each \param limits allowed differences from theory \throws
     * std::invalid_argument naming parameter, value and expectation
     */
    static sptr make(const image_grid& grid,
                     const point_target_geometry& geometry,
                     const std::vector<expected_target>& targets,
                     const point_target_limits& limits = {});

    //! Reports of the latest images, at most 1000, the oldest first.
    virtual std::vector<image_quality_report> reports() const = 0;
};

} // namespace sar
} // namespace gr
