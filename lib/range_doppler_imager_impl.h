// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_imager_impl.h"
#include <gnuradio/sar/kernel/range_doppler_imager/range_doppler_imager.h>
#include <gnuradio/sar/range_doppler_imager.h>

namespace gr {
namespace sar {

class range_doppler_imager_impl final : public frame_imager_impl<range_doppler_imager>
{
public:
    range_doppler_imager_impl(const kernel::range_doppler_imager_params& params,
                              const frame_imager_options& options,
                              const compute_target& target);
};

} // namespace sar
} // namespace gr
