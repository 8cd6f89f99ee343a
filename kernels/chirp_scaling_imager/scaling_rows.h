// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_filter.h"
#include "../chirp_scaling/chirp_scaling.h"
#include "../range_doppler_imager/frame_imager.h"

namespace gr {
namespace sar {
namespace kernel {

#ifdef SAR_HAVE_CUDA
/*!
 * \brief Chirp scaling and azimuth filter of a row in one kernel, for the GPU.
 *
 * It serves where velocity and centroid are the same over the swath, lines are not
 * oversampled and a thread block can transform a row.
 *
 * \param scaling  of the same target, which lives as long
 * \param filter   of the same target, which lives as long
 */
std::unique_ptr<row_pass> make_scaling_rows_cuda(const chirp_scaling& scaling,
                                                 azimuth_filter& filter,
                                                 const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
