// SPDX-License-Identifier: GPL-3.0-or-later
#include "device_ring.h"
#include <gnuradio/buffer_double_mapped.h>

namespace gr {
namespace sar {

gr::buffer_type stream_type(const compute_target&) { return gr::buffer_double_mapped::type; }

} // namespace sar
} // namespace gr
