// SPDX-License-Identifier: GPL-3.0-or-later
#include "tee_impl.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <cstring>
#include <gnuradio/io_signature.h>

namespace gr {
namespace sar {

tee::sptr tee::make(int vlen, int itemsize, const std::string& backend, int device)
{
    return gnuradio::make_block_sptr<tee_impl>(
        vlen, itemsize, choose_target(backend_from_name(backend), device));
}

tee_impl::tee_impl(int vlen, int itemsize, const compute_target& target)
    : gr::sync_block(
          "tee",
          gr::io_signature::make(1, 1, item_bytes(vlen, itemsize), stream_type(target)),
          gr::io_signature::make(2, 2, item_bytes(vlen, itemsize), stream_type(target))),
      d_item_bytes(item_bytes(vlen, itemsize))
{
    set_target(target);
    set_tag_propagation_policy(TPP_ALL_TO_ALL);
    set_min_output_buffer(worthwhile_buffer(item_bytes(vlen, itemsize)));
    d_logger->info("runs on {:s}", target.description);
}

bool tee_impl::start()
{
    start_stage(*this);
    return true;
}

int tee_impl::work(int noutput_items,
                   gr_vector_const_void_star& input_items,
                   gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        const std::size_t bytes = noutput_items * d_item_bytes;
        for (void* out : output_items) {
            if (target().space)
                target().space->copy(
                    out, input_items[0], bytes, device_space::lane::compute);
            else
                std::memcpy(out, input_items[0], bytes);
        }
        return noutput_items;
    });
}

} // namespace sar
} // namespace gr
