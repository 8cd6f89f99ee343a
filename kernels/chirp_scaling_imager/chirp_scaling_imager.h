// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../chirp_scaling/chirp_scaling.h"
#include "../range_doppler_imager/frame_imager.h"

namespace gr {
namespace sar {
namespace kernel {

struct chirp_scaling_imager_params {
    range_doppler_params geometry; //!< with the acquisition
    window range_window;
    doppler_band band;
    bool overlap = false; //!< lines are kept for the next frame
};

//! The chirp scaling chain: compression and migration without an interpolation.
struct SAR_KERNEL_API chirp_scaling_imager {
    //! \throws as frame_imager::make()
    static std::unique_ptr<frame_imager> make(const chirp_scaling_imager_params& params,
                                              const compute_target& target);
};

} // namespace kernel
} // namespace sar
} // namespace gr
