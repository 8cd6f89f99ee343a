// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "migration_block.h"
#include <gnuradio/sar/kernel/stolt/stolt.h>
#include <gnuradio/sar/stolt.h>

namespace gr {
namespace sar {

//! Velocity and centroid that vary over the swath: what the mapping leaves, above a
//! quarter of a cell.
inline void warn_of_residual_migration(const gr::logger_ptr& logger, double cells)
{
    if (cells > 0.25)
        logger->warn(
            "velocity and Doppler centroid vary over the swath: up to {:.2f} cells "
            "of migration are left at its ends, which rcmc would take off",
            cells);
}

class stolt_impl final : public migration_block<stolt, kernel::stolt>
{
public:
    stolt_impl(const kernel::stolt_params& params, const compute_target& target);

    double residual_migration_cells() const override;
};

} // namespace sar
} // namespace gr
