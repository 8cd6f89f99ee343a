// SPDX-License-Identifier: GPL-3.0-or-later
#include "omega_k_imager.h"
#include "stolt_rows.h"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<frame_imager> omega_k_imager::make(const omega_k_imager_params& p,
                                                   const compute_target& target)
{
    frame_imager::row_pass_maker pass;
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        pass = [&](const row_migration& mapping,
                   azimuth_filter& filter,
                   const pulse_compression*) {
            return make_stolt_rows_cuda(
                static_cast<const stolt&>(mapping), filter, target);
        };
#endif
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
        target,
        pass);
}

} // namespace kernel
} // namespace sar
} // namespace gr
