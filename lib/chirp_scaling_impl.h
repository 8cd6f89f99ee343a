// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "migration_block.h"
#include <gnuradio/sar/chirp_scaling.h>
#include <gnuradio/sar/kernel/chirp_scaling/chirp_scaling.h>

namespace gr {
namespace sar {

//! What chirp scaling leaves at the ends of the swath, above an eighth of pi or a
//! twentieth of the band.
inline void warn_of_chirp_scaling(const gr::logger_ptr& logger,
                                  const range_doppler_plan& plan)
{
    const kernel::chirp_scaling_bounds b = kernel::chirp_scaling_bounds_of(plan);
    if (b.phase_error_rad > pi / 8)
        logger->warn(
            "the chirp rate is that of the middle of the swath: {:.2f} rad are left "
            "at the edges of the band at its ends; stolt leaves none",
            b.phase_error_rad);
    const double share = b.band_shift_hz / plan.params().acq.bandwidth_hz();
    if (share > 0.05)
        logger->warn(
            "scaling moves the band of points at the ends of the swath by {:.1f} % of "
            "its width; geometry centroid moves it less, stolt not at all",
            100 * share);
}

class chirp_scaling_impl final
    : public migration_block<chirp_scaling, kernel::chirp_scaling>
{
public:
    chirp_scaling_impl(const kernel::chirp_scaling_params& params,
                       const compute_target& target);

    double phase_error_rad() const override;
    double band_shift_hz() const override;
};

} // namespace sar
} // namespace gr
