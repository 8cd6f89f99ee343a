// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/buffer.h>
#include <gnuradio/buffer_type.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <gnuradio/sar/kernel/core/device_space.h>
#include <memory>
#include <mutex>
#include <vector>

namespace gr {
namespace sar {

//! Type of a stream port of a block that runs on \p target: device_ring, or GNU Radio's
//! own buffer on the CPU. Give it to every io_signature, also to one without ports: the
//! runtime asks the output signature of a block for the type of its *input* edges.
gr::buffer_type stream_type(const compute_target& target);

} // namespace sar
} // namespace gr
