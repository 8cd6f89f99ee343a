// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "device_space.h"

namespace gr {
namespace sar {

//! Ring in ordinary host memory: one memory file mapped twice, or two plain halves.
//! Shared by the emulated device (both sides) and CUDA (host side, then registered).
//! \throws std::runtime_error with the bytes asked for when memory is short
std::unique_ptr<ring_memory> make_plain_host_ring(std::size_t bytes, bool aliased);

} // namespace sar
} // namespace gr
