// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_imager_impl.h"
#include <gnuradio/sar/kernel/omega_k_imager/omega_k_imager.h>
#include <gnuradio/sar/omega_k_imager.h>

namespace gr {
namespace sar {

class omega_k_imager_impl final : public frame_imager_impl<omega_k_imager>
{
public:
    omega_k_imager_impl(const kernel::omega_k_imager_params& params,
                        const frame_imager_options& options,
                        const compute_target& target);
};

} // namespace sar
} // namespace gr
