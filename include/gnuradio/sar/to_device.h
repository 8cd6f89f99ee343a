// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Bring a stream into the memory of a device.
 * \ingroup sar
 *
 * \details
 * Input: one stream in host memory. Output: the same items and tags, in device memory.
 *
 * A host block may be connected to a device block directly; the items are then copied at
 * the edge. What GNU Radio cannot do is to lead one host output to several device blocks,
 * or to host and device blocks: connect the device blocks to a to_device block then. All
 * blocks behind one output of it must be device blocks, or all host blocks.
 *
 * On the CPU backend this is a copy in host memory.
 */
class SAR_API to_device : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<to_device> sptr;

    /*!
     * \param vlen values in an item, 1 or more
     * \param itemsize bytes of a value (8: complex)
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the device
     * \throws std::invalid_argument naming the parameter that is out of range
     * \throws std::runtime_error when the backend cannot be had, with the reason
     */
    static sptr
    make(int vlen, int itemsize = 8, const std::string& backend = "auto", int device = 0);
};

} // namespace sar
} // namespace gr
