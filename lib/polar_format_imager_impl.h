// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "aperture_imager_impl.h"
#include <gnuradio/sar/polar_format_imager.h>

namespace gr {
namespace sar {

class polar_format_imager_impl final
    : public aperture_imager_impl<polar_format_imager, kernel::polar_format_imager>
{
public:
    polar_format_imager_impl(const kernel::polar_format_imager_params& params,
                             int hop,
                             const compute_target& target);

    bool stop() override;

    kernel::polar_format_report report() const override;
    std::uint64_t memory_bytes() const override;
    const kernel::polar_format_imager_params& params() const override
    {
        return d_kernel->params();
    }

private:
    void check_frame(const frame_tag& lines) override;
    void image_formed() override;
};

} // namespace sar
} // namespace gr
