// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/line_storage.h>
#include <limits>

namespace gr {
namespace sar {

//! Bytes of a stream item of \p vlen values. \throws std::invalid_argument
inline int item_bytes(int vlen, int itemsize)
{
    require(vlen >= 1, "vlen is ", vlen, "; expected 1 or more values in an item");
    require(itemsize >= 1, "itemsize is ", itemsize, "; expected 1 byte or more");
    require(vlen <= std::numeric_limits<int>::max() / itemsize,
            "vlen ",
            vlen,
            " times itemsize ",
            itemsize,
            " bytes is more than GNU Radio's limit of 2147483647 bytes an item");
    return vlen * itemsize;
}

/*!
 * \brief Bytes of a line (or row) of acq.samples * oversampling cells.
 * \throws std::invalid_argument when there is none, or more than a stream's vector holds
 */
inline int line_item(const acquisition& acq,
                     int oversampling,
                     line_storage storage = line_storage::single)
{
    require(oversampling >= 1,
            "oversampling is ",
            oversampling,
            "; expected 1 or more output samples per input sample");
    const long long cells = static_cast<long long>(acq->samples) * oversampling;
    require(cells < 1 << 28,
            "acq.samples * oversampling is ",
            cells,
            "; expected at most 2^28 - 1, the largest vector of a stream");
    return static_cast<int>(line_bytes(storage, static_cast<int>(cells)));
}

//! Items a stream buffer should hold at least so that a block finds room for a batch of
//! half of \p most items while the reader has as many, within 64 MiB. Not
//! set_output_multiple: the scheduler drops the remainder at the end of a stream.
inline int batch_buffer(int bytes, int most = 128)
{
    return std::clamp((64 << 20) / bytes, 2, most);
}

//! The same for where a block runs. On a GPU a call of work() takes tens of microseconds,
//! whatever it enqueues: half of a buffer is 16 MiB, so that chains of blocks are not
//! held up by that.
inline int batch_buffer(int bytes, const compute_target& target, int most = 128)
{
    return target.is_cuda() ? std::clamp((32 << 20) / bytes, 2, 4096)
                            : batch_buffer(bytes, most);
}

//! Items a stream buffer should hold at least so that a copy of half of it is worth its
//! launch: 2 MiB, but no less than 4 items.
inline int worthwhile_buffer(int bytes) { return std::max(4, (2 << 20) / bytes); }

} // namespace sar
} // namespace gr
