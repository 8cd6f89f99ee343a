// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "line_block.h"
#include <atomic>
#include <gnuradio/sar/pulse_framer.h>
#include <vector>

namespace gr {
namespace sar {

class pulse_framer_impl final : public pulse_framer, private line_block
{
public:
    pulse_framer_impl(const pulse_framer_params& params,
                      int lines,
                      const pulse_framer_ports& ports);

    bool start() override;
    bool stop() override;
    framer_status status() const override { return noted_status(); }
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    int frame_lines(int noutput_items,
                    const gr_vector_int& ninput_items,
                    const gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items);
    void tell(const std::vector<gr::tag_t>& tags, std::size_t first, std::size_t last);
    int feed(inputs& in, int n, double arrived_s);

    const pulse_framer_ports d_ports;
    const int d_reference = -1; // index of the input, -1: none
    const int d_trigger = -1;
    const int d_samples_inputs;  // those that carry samples
    std::vector<cf32> d_complex; // of a real input

    bool d_input_over = false;
    std::uint64_t d_told = 0; // tags before this sample have been read
    std::atomic<bool> d_overflow{ false };
};

} // namespace sar
} // namespace gr
