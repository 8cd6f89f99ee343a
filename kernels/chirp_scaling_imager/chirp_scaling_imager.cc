// SPDX-License-Identifier: GPL-3.0-or-later
#include "chirp_scaling_imager.h"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<frame_imager>
chirp_scaling_imager::make(const chirp_scaling_imager_params& p,
                           const compute_target& target)
{
    return frame_imager::make(
        { p.geometry, p.range_window, {}, p.band, p.overlap },
        [&](int max_batch) {
            return chirp_scaling::make({ p.geometry,
                                         p.range_window,
                                         line_storage::single,
                                         line_storage::single,
                                         max_batch },
                                       target);
        },
        target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
