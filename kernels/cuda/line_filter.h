// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "owners.h"
#include <memory>

namespace gr {
namespace sar {
namespace cuda {

/*!
 * \brief Filters lines through their spectra in one kernel: one read and one write of
 * device memory.
 *
 *     y = IDFT(H DFT(x)),  neither transform scaled
 *
 * of lines that are continued with zeros to the length of the transforms. A line with a
 * value that is not finite becomes zeros and is counted.
 */
class line_filter
{
public:
    virtual ~line_filter() = default;

    /*!
     * \brief The filter for the current device; null where it has no kernel for the
     * length: the length is none of line_fft_length(), the line is too long for the
     * shared memory of a block.
     *
     * \param spectrum     H, \p length values on the host, copied when this returns
     * \param samples_in   values of a line
     * \param samples_out  values of a result, from the first on; at most \p length
     */
    static std::unique_ptr<line_filter>
    make(const cf32* spectrum, int length, int samples_in, int samples_out);

    /*!
     * \brief Likewise with factors around it, y = after IDFT(H DFT(before x)): a
     * chirp-Z transform.
     *
     * \param before       a factor of each value of a line, on the host, for each part
     * \param after        a factor of each value of a result, on the host
     * \param samples_out  values of a result, all parts together
     * \param parts        1, or more where \p length has no room for a result: it is made
     *                     in parts of ceil(samples_out / parts), from the same line
     */
    static std::unique_ptr<line_filter> make_with_factors(const cf32* spectrum,
                                                          const cf32* before,
                                                          const cf32* after,
                                                          int length,
                                                          int samples_in,
                                                          int samples_out,
                                                          int parts);

    //! Enqueues; \p in and \p out must not overlap.
    virtual void run(const cf32* in,
                     cf32* out,
                     int lines,
                     unsigned long long* bad_lines,
                     cudaStream_t stream) const = 0;
};

} // namespace cuda
} // namespace sar
} // namespace gr
