// SPDX-License-Identifier: GPL-3.0-or-later
#include "omega_k_imager.h"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<frame_imager> omega_k_imager::make(const omega_k_imager_params& p,
                                                   const compute_target& target)
{
    return frame_imager::make(
        { p.geometry, p.range_window, p.replica, p.band, p.overlap },
        [&](int max_batch) {
            return stolt::make({ p.geometry,
                                 p.interpolator,
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
