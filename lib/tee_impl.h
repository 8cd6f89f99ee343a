// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "device_ring.h"
#include <gnuradio/sar/tee.h>

namespace gr {
namespace sar {

class tee_impl final : public tee
{
public:
    tee_impl(int vlen, int itemsize, const compute_target& target);

    bool start() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const std::size_t d_item_bytes;
};

} // namespace sar
} // namespace gr
