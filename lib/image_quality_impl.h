// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <deque>
#include <gnuradio/sar/image_quality.h>
#include <mutex>

namespace gr {
namespace sar {

class image_quality_impl final : public image_quality
{
public:
    explicit image_quality_impl(const image_quality_params& params);

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    std::vector<image_quality_report> reports() const override;

private:
    int collect(int rows, const cf32* in);
    void begin_image(const pmt::pmt_t& image);
    void finish_image();
    void leave_out();

    const std::unique_ptr<kernel::image_quality> d_kernel;
    const int d_rows;
    const int d_cols;
    std::vector<cf32> d_image;
    int d_rows_held = 0;
    std::uint64_t d_number = 0;
    mutable std::mutex d_lock;
    std::deque<image_quality_report> d_reports;
};

} // namespace sar
} // namespace gr
