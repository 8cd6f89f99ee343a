// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/stage.h>
#include <gnuradio/sync_block.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Two copies of a device stream: one for device blocks, one for host blocks.
 * \ingroup sar
 *
 * \details
 * Input: one stream in device memory. Outputs: the same items and tags twice. The readers
 * of one output must be all device blocks or all host blocks; out0 is meant for the first
 * and out1 for the second. Both outputs advance together: the slower side sets the pace.
 *
 * On the CPU backend these are copies in host memory.
 */
class SAR_API tee : virtual public gr::sync_block, public stage
{
public:
    typedef std::shared_ptr<tee> sptr;

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
