// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_imager_impl.h"
#include <gnuradio/sar/chirp_scaling_imager.h>
#include <gnuradio/sar/kernel/chirp_scaling_imager/chirp_scaling_imager.h>

namespace gr {
namespace sar {

class chirp_scaling_imager_impl final : public frame_imager_impl<chirp_scaling_imager>
{
public:
    chirp_scaling_imager_impl(const kernel::chirp_scaling_imager_params& params,
                              const frame_imager_options& options,
                              const compute_target& target);
};

} // namespace sar
} // namespace gr
