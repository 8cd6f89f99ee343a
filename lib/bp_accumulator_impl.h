// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "aperture_imager_impl.h"
#include <gnuradio/sar/bp_accumulator.h>

namespace gr {
namespace sar {

class bp_accumulator_impl final
    : public aperture_imager_impl<bp_accumulator, kernel::bp_accumulator>
{
public:
    bp_accumulator_impl(const kernel::bp_accumulator_params& params,
                        int pulses_per_image,
                        int hop,
                        const compute_target& target);

    bool stop() override;

    kernel::bp_report report() const override;
    const kernel::bp_accumulator_params& params() const override
    {
        return d_kernel->params();
    }

private:
    void check_frame(const frame_tag& lines) override;
};

} // namespace sar
} // namespace gr
