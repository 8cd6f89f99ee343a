// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/detect.h>
#include <gnuradio/sar/kernel/detect/detect.h>

namespace gr {
namespace sar {

class detect_impl final : public detect
{
public:
    detect_impl(int cols,
                const std::string& quantity,
                int row_looks,
                int col_looks,
                const compute_target& target);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    std::uint64_t bad_pixels() const override { return d_kernel->bad_pixels(); }

private:
    int detect_rows(int rows_in, int rows_out, const cf32* in, float* out);
    void begin_image(const pmt::pmt_t& image, std::uint64_t output_row);
    pmt::pmt_t detected_image(const pmt::pmt_t& image) const;

    std::unique_ptr<kernel::detect> d_kernel;
    const int d_row_looks;
    const int d_col_looks;
    const std::string d_quantity;
    long d_rows_left = -1; // of the current image; -1: no tag has told
};

} // namespace sar
} // namespace gr
