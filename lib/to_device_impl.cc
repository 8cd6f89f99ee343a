// SPDX-License-Identifier: GPL-3.0-or-later
#include "to_device_impl.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <cstring>
#include <gnuradio/io_signature.h>

namespace gr {
namespace sar {

to_device::sptr
to_device::make(int vlen, int itemsize, const std::string& backend, int device)
{
    return gnuradio::make_block_sptr<to_device_impl>(
        vlen, itemsize, choose_target(backend_from_name(backend), device));
}

to_device_impl::to_device_impl(int vlen, int itemsize, const compute_target& target)
    : gr::sync_block(
          "to_device",
          gr::io_signature::make(1, 1, item_bytes(vlen, itemsize)),
          gr::io_signature::make(1, 1, item_bytes(vlen, itemsize), stream_type(target))),
      d_item_bytes(item_bytes(vlen, itemsize))
{
    set_target(target);
    set_tag_propagation_policy(TPP_ALL_TO_ALL);
    set_min_output_buffer(worthwhile_buffer(item_bytes(vlen, itemsize)));
    d_logger->info("runs on {:s}", target.description);
}

bool to_device_impl::start()
{
    start_stage(*this);
    return true;
}

int to_device_impl::work(int noutput_items,
                         gr_vector_const_void_star& input_items,
                         gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        // the output's memory is the host side of the edge, which uploads it
        std::memcpy(output_items[0], input_items[0], noutput_items * d_item_bytes);
        return noutput_items;
    });
}

} // namespace sar
} // namespace gr
