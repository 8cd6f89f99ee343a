// SPDX-License-Identifier: GPL-3.0-or-later
#include "device_ring.h"
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/logger.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/stage.h>

namespace gr {
namespace sar {

std::string stage::error() const
{
    const std::lock_guard<std::mutex> guard(d_error_lock);
    return d_error;
}

void stage::note_error(gr::basic_block& self, const char* what) noexcept
{
    try {
        {
            const std::lock_guard<std::mutex> guard(d_error_lock);
            if (d_error.empty())
                d_error = self.alias() + ": " + what;
        }
        gr::logger(self.alias()).error("{:s}; the flowgraph ends", what);
    } catch (...) {
        // nothing may leave a work function
    }
}

void stage::start_stage(gr::basic_block& self) const
{
    if (d_target.space)
        d_target.space->bind_to_this_thread();
    (void)self;
}

} // namespace sar
} // namespace gr
