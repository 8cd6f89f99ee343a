// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/stage.h>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Complex image rows to magnitude, power or dB, with multilooking.
 * \ingroup sar
 *
 * \details
 * The power of row_looks x col_looks pixels is averaged; magnitude is its square root, dB
 * 10 log10 of it and not below -200.
 *
 * Input: one image row an item, cols complex64. Output: one row of looks an item,
 * cols / col_looks float32, for each row_looks input rows.
 *
 * A tag sar_image starts an image, and with it a new look. When its rows are no multiple
 * of row_looks, the last output row is the average of the rows that are left. The tag
 * goes on with rows, cols, spacing and value of the output, and with origin_m at the
 * centre of the first look. Where the tag says that the image has looks, so many rows at
 * one place, row_looks must be a multiple or a divisor of them. Without tags looks are
 * counted from the first row, and rows of an incomplete look at the end of the stream are
 * left out, with a warning.
 *
 * A look with a pixel that is not finite becomes 0 (-200 dB); such pixels are counted.
 */
class SAR_API detect : virtual public gr::block, public stage
{
public:
    typedef std::shared_ptr<detect> sptr;

    /*!
     * \param cols pixels in an input row
     * \param quantity "magnitude", "power" or "db"
     * \param row_looks rows averaged to one, 1 or more
     * \param col_looks columns averaged to one; a divisor of cols
     * \param backend "auto", "cpu", "cuda" or "emulated"
     * \param device index of the GPU
     * \throws std::invalid_argument naming parameter, value and expectation
     * \throws std::runtime_error when CUDA is demanded and cannot be had
     */
    static sptr make(int cols,
                     const std::string& quantity = "magnitude",
                     int row_looks = 1,
                     int col_looks = 1,
                     const std::string& backend = "auto",
                     int device = 0);

    //! Pixels so far that were not finite.
    virtual std::uint64_t bad_pixels() const = 0;
};

} // namespace sar
} // namespace gr
