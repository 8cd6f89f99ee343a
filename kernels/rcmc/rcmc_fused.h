// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/line_storage.h"
#include "../cuda/owners.h"
#include "rcmc_rows.cuh"
#include <memory>

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief Transform, SRC, inverse transform and interpolation of rows in one kernel: one
 * read and one write of device memory.
 */
class fused_rcmc
{
public:
    virtual ~fused_rcmc() = default;

    /*!
     * \brief For the current device; null where it has no kernel for the length, or too
     * little shared memory.
     *
     * \param length  of the forward transform
     * \param grid    grid points per sample
     */
    static std::unique_ptr<fused_rcmc> make(int length, int grid);

    //! Enqueues. \p batch: lines and pitch are not used; samples are those on the grid.
    //! The rows may be replaced in place where both are stored alike.
    virtual void run(const void* in,
                     line_storage storage,
                     int rows,
                     const row_batch& batch,
                     const rcm::transform_shape& shape,
                     migration_interpolation how,
                     cudaStream_t stream) const = 0;
};

} // namespace kernel
} // namespace sar
} // namespace gr
