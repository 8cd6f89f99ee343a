// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../range_doppler_imager/frame_imager.h"
#include "../stolt/stolt.h"

namespace gr {
namespace sar {
namespace kernel {

struct omega_k_imager_params {
    range_doppler_params geometry; //!< with the acquisition
    window range_window;
    std::vector<cf32> replica; //!< of the pulse, for waveform::replica only
    migration_interpolation interpolator = migration_interpolation::exact;
    doppler_band band;
    bool overlap = false; //!< lines are kept for the next frame
};

//! The wavenumber (omega-k) chain: migration by the Stolt mapping.
struct SAR_KERNEL_API omega_k_imager {
    //! \throws as frame_imager::make()
    static std::unique_ptr<frame_imager> make(const omega_k_imager_params& params,
                                              const compute_target& target);
};

} // namespace kernel
} // namespace sar
} // namespace gr
