// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/thread/thread.h>

namespace gr {
namespace sar {

//! The stream of an input is over, and all of it has been taken in.
inline bool input_ended(const gr::block& self, int port)
{
    const auto in = self.detail()->input(port);
    const gr::thread::scoped_lock guard(*in->mutex());
    return in->done() && in->items_available() == 0;
}

} // namespace sar
} // namespace gr
