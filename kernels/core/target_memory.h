// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend.h"
#include "cf32.h"
#include <memory>
#include <vector>

namespace gr {
namespace sar {

//! Uninitialised values in the memory that a target's stages work on.
class target_memory
{
public:
    //! \throws std::runtime_error when the device is short of memory
    target_memory(std::size_t values, const compute_target& target)
    {
        if (target.is_cuda()) {
            const std::size_t unit = target.space->device_granularity();
            const std::size_t bytes = values * sizeof(cf32);
            // one memory mapped twice where that can be had: half of a plain ring
            d_ring = target.space->make_device_ring(
                unit ? (bytes + unit - 1) / unit * unit : bytes, unit > 0);
        } else {
            d_host.resize(values);
        }
    }
    cf32* data()
    {
        return d_ring ? reinterpret_cast<cf32*>(d_ring->base) : d_host.data();
    }
    //! Of the memory that it takes.
    std::size_t bytes() const
    {
        return d_ring ? d_ring->bytes : d_host.size() * sizeof(cf32);
    }

private:
    std::unique_ptr<ring_memory> d_ring;
    std::vector<cf32> d_host;
};

} // namespace sar
} // namespace gr
