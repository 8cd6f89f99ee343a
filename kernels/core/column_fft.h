// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "backend.h"
#include "cf32.h"
#include <cstddef>
#include <memory>

namespace gr {
namespace sar {

/*!
 * \brief Transforms of all columns of a frame in place: [rows][cols], columns contiguous
 * in memory across. No transpose is made.
 *
 * forward: exp(-j 2 pi k n / rows); inverse: exp(+j ...); neither is scaled. On CUDA the
 * work is enqueued only. 32768 rows, and 8, 9, 10, 12 and 16 x 2^k from 256 to 16384, go
 * by one kernel where the device has the shared memory, the clusters of blocks or the L2
 * cache for it; all others by cuFFT, in batches of columns whose workspace fits into
 * memory.
 * CPU: tiles of columns on all cores. An object belongs to one stage: plans are never
 * shared.
 */
class SAR_KERNEL_API column_fft
{
public:
    /*!
     * \param pitch values from row to row; 0: cols. What lies beside the columns is left
     *              as it is.
     * \throws std::invalid_argument on sizes below 1 and a pitch below cols,
     * std::runtime_error naming the bytes when no plan fits into the GPU's memory
     */
    static std::unique_ptr<column_fft>
    make(int rows, int cols, const compute_target& target, int pitch = 0);
    virtual ~column_fft() = default;

    /*!
     * \param frame [rows][pitch] in the target's memory
     * \param filled rows from this one on are taken as zeros, whatever they hold
     */
    virtual void forward(cf32* frame, int filled) = 0;
    virtual void inverse(cf32* frame) = 0;

    //! Memory that it holds besides the frame, bytes.
    virtual std::size_t bytes() const = 0;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<column_fft>
make_column_fft_cuda(int rows, int cols, int pitch, const compute_target& target);
#endif

} // namespace sar
} // namespace gr
