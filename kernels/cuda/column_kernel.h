// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "owners.h"
#include <memory>

namespace gr {
namespace sar {
namespace cuda {

/*!
 * \brief Transforms all columns of a frame in one kernel: one read and one write of
 * device memory.
 */
class column_kernel
{
public:
    virtual ~column_kernel() = default;

    //! The kernel for up to \p cols columns of \p rows values on the current device; null
    //! where there is none: the length is none of them, or the shared memory of a block
    //! or a cluster and the L2 cache are too small.
    static std::unique_ptr<column_kernel> make(int rows, int cols);

    /*!
     * \brief Enqueues exp(-j 2 pi k n / rows), inverse: exp(+j ..), neither scaled.
     *
     * \param in     [rows][pitch], of which the first \p cols are transformed, at most
     *               those of make()
     * \param out    as in; may be in
     * \param filled rows of \p in from this one on are taken as zeros and not read
     */
    virtual void run(const cf32* in,
                     cf32* out,
                     int cols,
                     int pitch,
                     int filled,
                     bool inverse,
                     cudaStream_t stream) const = 0;

    //! Device memory that it holds, bytes.
    virtual std::size_t bytes() const = 0;
};

} // namespace cuda
} // namespace sar
} // namespace gr
