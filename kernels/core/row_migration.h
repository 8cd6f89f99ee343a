// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "range_doppler.h"
#include <cstdint>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief What comes between azimuth_fft and azimuth_filter: rows of the range-Doppler
 * domain to rows in which a point lies in the same cell in all of them.
 *
 * rcmc and stolt are such stages, of compressed rows, and chirp_scaling, of raw ones;
 * imagers and blocks are made around any of them.
 */
class SAR_KERNEL_API row_migration
{
public:
    virtual ~row_migration() = default;

    /*!
     * \brief Another Doppler centroid, from the next process() on.
     *
     * Coefficients as in range_doppler_plan. On CUDA this only enqueues where the swath
     * is uniform and transforms need not become longer; else it may wait.
     * \throws std::invalid_argument; then the centroid is what it was
     */
    virtual void set_centroid(const std::vector<double>& coefficients_hz) = 0;

    /*!
     * \brief Rows first_row .. first_row + rows - 1 of a frame, modulo its rows.
     *
     * In the memory of the target; on CUDA the work is enqueued only. \p in and \p out
     * may be the same where input and output are stored alike.
     */
    virtual void process(const void* in, void* out, int first_row, int rows) = 0;

    //! Rows so far that held a value which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    virtual const range_doppler_plan& plan() const = 0;

    //! Rows that go in are those of raw lines; it compresses them too.
    virtual bool takes_raw_rows() const { return false; }
};

} // namespace kernel
} // namespace sar
} // namespace gr
