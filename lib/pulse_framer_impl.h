// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <atomic>
#include <chrono>
#include <deque>
#include <gnuradio/sar/pulse_framer.h>
#include <mutex>
#include <vector>

namespace gr {
namespace sar {

class pulse_framer_impl final : public pulse_framer
{
public:
    pulse_framer_impl(const pulse_framer_params& params,
                      int lines,
                      const pulse_framer_ports& ports);

    bool start() override;
    bool stop() override;
    framer_status status() const override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    struct inputs;

    bool ended(int input) const;
    int frame_lines(int noutput_items,
                    const gr_vector_int& ninput_items,
                    const gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items);
    bool position_there(std::int64_t line, inputs& in);
    vec3 take_position(const framed_line& line);
    void tell(const std::vector<gr::tag_t>& tags, std::size_t first, std::size_t last);
    int feed(inputs& in, int n, double host_s);
    void tag_line(const framed_line& line, std::uint64_t item);
    void put_frame_tag(const framed_line& line, std::uint64_t item);
    void report(double host_s, bool last);

    const pulse_framer_params d_params;
    const int d_lines;
    const pulse_framer_ports d_ports;
    const int d_reference = -1; // index of the input, -1: none
    const int d_trigger = -1;
    const int d_positions = -1;
    const int d_samples_inputs; // those that carry samples
    std::unique_ptr<kernel::pulse_framer> d_kernel;
    std::vector<cf32> d_complex; // of a real input

    std::uint64_t d_positions_taken = 0; // number of the next position
    std::vector<vec3> d_group;           // positions of the pulses of a line
    bool d_waits_for_position = false;
    bool d_input_over = false;
    std::uint64_t d_told = 0; // tags before this sample have been read
    std::atomic<bool> d_overflow{ false };

    std::uint64_t d_frame = 0;
    int d_line = 0; // of the frame
    std::uint64_t d_holes = 0;
    bool d_in_holes = false;
    std::uint64_t d_stretch = 0; // lines since the newest one that stands apart

    std::chrono::steady_clock::time_point d_begin;
    double d_reported_s = 0;
    framer_status d_reported;
    std::vector<std::string> d_notices;
    std::uint64_t d_unsaid = 0;
    mutable std::mutex d_lock; // of the copy of the status
    framer_status d_status;
};

} // namespace sar
} // namespace gr
