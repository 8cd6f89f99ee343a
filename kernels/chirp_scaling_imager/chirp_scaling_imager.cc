// SPDX-License-Identifier: GPL-3.0-or-later
#include "chirp_scaling_imager.h"
#include "scaling_rows.h"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<frame_imager>
chirp_scaling_imager::make(const chirp_scaling_imager_params& p,
                           const compute_target& target)
{
    frame_imager::row_pass_maker pass;
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        pass = [&](const row_migration& scaling,
                   azimuth_filter& filter,
                   const pulse_compression*) {
            return make_scaling_rows_cuda(
                static_cast<const chirp_scaling&>(scaling), filter, target);
        };
#endif
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
        target,
        pass);
}

} // namespace kernel
} // namespace sar
} // namespace gr
