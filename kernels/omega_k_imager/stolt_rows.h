// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_filter.h"
#include "../range_doppler_imager/frame_imager.h"
#include "../stolt/stolt.h"

namespace gr {
namespace sar {
namespace kernel {

#ifdef SAR_HAVE_CUDA
/*!
 * \brief Stolt mapping and azimuth filter of a row in one kernel, for the GPU.
 *
 * It serves where velocity and centroid are the same over the swath, the interpolation is
 * `exact`, all of the spectrum propagates and is narrow enough against the carrier for
 * the polynomials of stolt_polynomials.h, and a thread block can transform a row.
 *
 * \param mapping  of the same target, which lives as long
 * \param filter   of the same target, which lives as long
 * \return null where the interpolation is another one
 */
std::unique_ptr<row_pass> make_stolt_rows_cuda(const stolt& mapping,
                                               azimuth_filter& filter,
                                               const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
