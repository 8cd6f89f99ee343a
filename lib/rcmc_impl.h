// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "migration_block.h"
#include <gnuradio/sar/kernel/rcmc/rcmc.h>
#include <gnuradio/sar/rcmc.h>

namespace gr {
namespace sar {

class rcmc_impl final : public migration_block<rcmc, kernel::rcmc>
{
public:
    rcmc_impl(const kernel::rcmc_params& params, const compute_target& target);

    bool uses_src() const override;
};

} // namespace sar
} // namespace gr
