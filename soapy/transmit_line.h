// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../kernels/core/cf32.h"
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief What was transmitted, on the clock of the transmitter: sample k leaves at
 * k / rate. Nothing is transmitted where nothing was written.
 *
 * Bursts are written in order of time. One thread may write while another reads.
 */
class transmit_line
{
public:
    //! \p n samples from sample \p at; not before the end of what was written.
    void write(std::int64_t at, const cf32* samples, std::int64_t n);
    //! The samples again and again from sample \p at, until stop().
    void repeat(std::int64_t at, std::vector<cf32> samples);
    //! Nothing leaves from sample \p at on.
    void stop(std::int64_t at);
    //! \p n samples of silence from \p at: what was written there does not leave.
    void silence(std::int64_t at, std::int64_t n);
    //! Forget what left before sample \p at.
    void forget(std::int64_t at);
    void clear();

    /*!
     * \brief Samples [first, first + n) of the line.
     * \return false when nothing but silence is transmitted then; \p out means nothing
     */
    bool read(std::int64_t first, std::int64_t n, cf32* out) const;

    //! Samples held in memory.
    std::int64_t held() const;
    //! Written samples that leave at sample \p at or later; repetitions do not count.
    std::int64_t pending(std::int64_t at) const;

private:
    static constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

    struct burst {
        std::int64_t begin;
        std::int64_t end; // forever: repeated until stopped
        std::vector<cf32> samples;
        std::int64_t heard_begin, heard_end; // of samples: outside they are zero
    };

    mutable std::mutex d_mutex;
    std::deque<burst> d_bursts;
};

} // namespace sar
} // namespace gr
