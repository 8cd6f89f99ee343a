// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "detect_math.h"
#include <cstdint>
#include <memory>
#include <string>

namespace gr {
namespace sar {
namespace kernel {

//! "magnitude", "power" or "db". \throws std::invalid_argument listing these
SAR_KERNEL_API detected_quantity detected_quantity_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(detected_quantity q);

struct detect_params {
    int cols = 0; //!< pixels in a row of the complex image
    detected_quantity quantity = detected_quantity::magnitude;
    int row_looks = 1; //!< rows averaged to one
    int col_looks = 1; //!< columns averaged to one; must divide cols
};

/*!
 * \brief Complex image rows to magnitude, power or dB, with multilooking.
 *
 * The power |x|^2 of row_looks x col_looks pixels is averaged (incoherent looks, which
 * lower speckle by the square root of their number); then
 *
 *     magnitude = sqrt(power),   dB = 10 log10(power), not below -200
 *
 * Sums are kept in double. At the end of an image fewer than row_looks rows may be left:
 * their average is the last row. A look cell with a pixel that is not finite becomes 0
 * (-200 dB), and such pixels are counted.
 *
 * Reference: Oliver and Quegan, Understanding Synthetic Aperture Radar Images,
 * section 4.3.
 */
class SAR_KERNEL_API detect
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<detect> make(const detect_params& params,
                                        const compute_target& target);
    virtual ~detect() = default;

    /*!
     * \brief Take \p rows rows of cols pixels, write the rows of looks that are complete.
     *
     * Incomplete looks are kept for the next call. Pointers are in the memory of the
     * target; on CUDA the work is enqueued only.
     *
     * \param end_of_image the last of these rows ends an image: what is left of a look is
     *                     averaged and written, and the next row begins a new look
     * \return rows written to \p out, each of cols_out() values
     */
    int process(const cf32* in, int rows, float* out, bool end_of_image = false);

    //! Rows that process() would write.
    int rows_written_by(int rows, bool end_of_image) const;
    //! Rows of an incomplete look that are being kept.
    int pending_rows() const { return d_filled; }

    //! Pixels so far that were not finite. On CUDA this waits.
    virtual std::uint64_t bad_pixels() const = 0;

    int cols_in() const { return d_params.cols; }
    int cols_out() const { return d_params.cols / d_params.col_looks; }

protected:
    explicit detect(const detect_params& params);

    //! \p rows_out rows of complete looks, from input to output.
    virtual void whole_looks(const cf32* in, float* out, int rows_out) = 0;
    //! Sum \p rows rows into the kept look, from zero if \p first.
    virtual void part_of_look(const cf32* in, int rows, bool first) = 0;
    //! The kept look of \p rows rows to output.
    virtual void finish_look(float* out, int rows) = 0;

    const detect_params d_params;

private:
    int d_filled = 0; // rows in the kept look
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<detect> make_detect_cuda(const detect_params& params,
                                         const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
