// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_flow.h"
#include <gnuradio/logger.h>
#include <gnuradio/sar/kernel/core/range_doppler.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Which rows of a range-Doppler image go out, and the tag that says where they
 * are.
 *
 * output "all": every row of the transform. "valid": those of which the whole aperture
 * lies in the frame; with a hop exactly that many, at the same place of each frame, so
 * that frames which begin hop lines after each other join to one strip.
 */
class slant_image
{
public:
    struct part {
        int first; //!< image row
        int count;
    };

    /*!
     * \throws std::invalid_argument when output and hop contradict each other, or no (or
     * too few) rows have their aperture in a frame; \p frame_hop lines from frame to
     * frame
     */
    slant_image(const range_doppler_plan& plan,
                const doppler_band& band,
                const std::string& output,
                int hop);

    //! For the plan's present centroid. \throws std::runtime_error when no row is valid
    part rows(const range_doppler_plan& plan) const;
    //! Does this part hold rows whose aperture is not whole? A sentence, or empty.
    std::string incomplete_rows(const range_doppler_plan& plan, const part& p) const;
    //! sar_image; \p first_line of the frame since the newest sar_frame
    frame_tag tag(const range_doppler_plan& plan,
                  const part& p,
                  std::uint64_t number,
                  double first_line,
                  int lines_used,
                  bool complete,
                  const frame_tag& frame) const;

    int looks() const { return d_band.looks; }
    int aperture_lines() const { return d_aperture_lines; }

private:
    const doppler_band d_band;
    const bool d_valid_only;
    const int d_hop;
    int d_aperture_lines = 0;
    int d_join = 0; // line of the frame at which a strip's part begins
};

} // namespace sar
} // namespace gr
