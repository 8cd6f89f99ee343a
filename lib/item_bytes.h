// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <gnuradio/sar/kernel/core/errors.h>
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

//! Items a stream buffer should hold at least so that a copy of half of it is worth its
//! launch: 2 MiB, but no less than 4 items.
inline int worthwhile_buffer(int bytes) { return std::max(4, (2 << 20) / bytes); }

} // namespace sar
} // namespace gr
