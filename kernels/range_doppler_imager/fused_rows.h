// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../azimuth_filter/azimuth_filter.h"
#include "../pulse_compression/pulse_compression.h"
#include "../rcmc/rcmc.h"
#include "frame_imager.h"

namespace gr {
namespace sar {
namespace kernel {

#ifdef SAR_HAVE_CUDA
/*!
 * \brief Compression, rcmc and azimuth filter of a row in one kernel, for the GPU.
 *
 * It serves what most frames are: velocity and centroid the same over the swath, an
 * interpolation with taps (linear, sinc8, sinc16, exact), rows that a thread block can
 * transform. It compresses as well where that takes transforms of the same length.
 *
 * \param migration    of the same target, which lives as long
 * \param filter       of the same target, which lives as long
 * \param compression  of raw rows, which lives as long; null where rows come compressed
 * \return null where there is no kernel for the interpolation
 */
std::unique_ptr<row_pass> make_fused_rows_cuda(const rcmc& migration,
                                               azimuth_filter& filter,
                                               const pulse_compression* compression,
                                               const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
