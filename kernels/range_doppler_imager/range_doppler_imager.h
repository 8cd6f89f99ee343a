// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../rcmc/rcmc.h"
#include "frame_imager.h"

namespace gr {
namespace sar {
namespace kernel {

struct range_doppler_imager_params {
    range_doppler_params geometry; //!< with the acquisition
    window range_window;
    std::vector<cf32> replica; //!< of the pulse, for waveform::replica only
    migration_interpolation interpolator = migration_interpolation::exact;
    bool src = true;
    doppler_band band;
    bool overlap = false; //!< lines are kept for the next frame
};

//! The range-Doppler chain: migration by rcmc, with secondary range compression.
struct SAR_KERNEL_API range_doppler_imager {
    //! \throws as frame_imager::make()
    static std::unique_ptr<frame_imager> make(const range_doppler_imager_params& params,
                                              const compute_target& target);
};

} // namespace kernel
} // namespace sar
} // namespace gr
