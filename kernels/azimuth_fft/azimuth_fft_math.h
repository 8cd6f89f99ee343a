// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/hd.h"
#include "../core/line_storage.h"
#include <cstddef>

namespace gr {
namespace sar {
namespace kernel {

//! Line \p i of stored lines that follow each other.
SAR_HD const void* line_at(const void* lines, line_storage s, int samples, std::size_t i)
{
    return static_cast<const char*>(lines) + i * line_bytes(s, samples);
}
SAR_HD void* line_at(void* lines, line_storage s, int samples, std::size_t i)
{
    return static_cast<char*>(lines) + i * line_bytes(s, samples);
}

/*!
 * \brief Where lines lie that are kept from frame to frame: a ring.
 *
 * Nothing is moved when a frame begins with the last lines of the one before; the start
 * of the frame moves instead.
 */
struct line_ring {
    int lines = 0; //!< of the ring
    int start = 0; //!< where line 0 of the frame lies

    int place(int line) const { return (start + line) % lines; }
    //! Lines that follow line \p first in memory, of \p count wanted.
    int run(int first, int count) const
    {
        const int left = lines - place(first);
        return count < left ? count : left;
    }
    //! Line \p line becomes line 0.
    void advance(int line) { start = place(line); }
};

} // namespace kernel
} // namespace sar
} // namespace gr
