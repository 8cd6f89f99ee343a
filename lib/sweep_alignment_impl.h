// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <deque>
#include <gnuradio/sar/sweep_alignment.h>

namespace gr {
namespace sar {

class sweep_alignment_impl final : public sweep_alignment
{
public:
    explicit sweep_alignment_impl(const sweep_alignment_params& params);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    double error_bound_db() const override { return d_kernel.error_bound_db(); }
    double doppler_band_hz() const override { return d_kernel.doppler_band_hz(); }
    std::uint64_t bad_lines() const override { return d_bad_lines; }

private:
    struct kept_line {
        std::vector<cf32> samples; // empty: not finite
        std::int64_t number = 0;   // within its stretch; holes leave gaps
        std::uint64_t stretch = 0;
        std::vector<gr::tag_t> tags;
    };

    void take(const cf32* line, std::vector<gr::tag_t> tags);
    int ready() const;
    void give(int lines, cf32* out);

    const kernel::sweep_alignment d_kernel;
    std::deque<kept_line> d_lines; // some behind d_at, for the lines that need them
    std::vector<std::vector<cf32>> d_spare; // whose memory is used again
    std::size_t d_at = 0;                   // the next to come out
    std::int64_t d_number = 0;              // of the next to come in
    std::uint64_t d_stretch = 0;
    bool d_over = false;
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace sar
} // namespace gr
