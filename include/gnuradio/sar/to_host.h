// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Copy a device stream, so that host blocks can read it too.
 * \ingroup sar
 *
 * \details
 * Input: one stream in device memory. Output: the same items and tags.
 *
 * A device block may be connected to a host block directly. What GNU Radio cannot do is
 * to lead one device output to host and device blocks: connect the host blocks to a
 * to_host block then. It copies within the device; the way to host memory is the edge
 * behind it. It cannot be fed by a host block.
 *
 * On the CPU backend this is a copy in host memory.
 */
class SAR_API to_host : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<to_host> sptr;

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
