// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <chrono>
#include <gnuradio/block.h>
#include <gnuradio/sar/kernel/pulse_framer/pulse_framer.h>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief What blocks around kernel::pulse_framer share: numbered lines on output 0, with
 * positions and facts beside them, tags, the counters on port status.
 */
class line_block : virtual public gr::block
{
protected:
    //! What a call of work() may take, and has taken.
    struct inputs {
        const gr_vector_int& items;
        const gr_vector_const_void_star& pointers;
        std::vector<int> used;

        template <typename T>
        const T* at(int input) const
        {
            return static_cast<const T*>(pointers[input]) + used[input];
        }
        int left(int input) const { return items[input] - used[input]; }
    };

    /*!
     * \param lines of a frame
     * \param positions input they come from, -1: none
     * \param facts give out the stream of them
     */
    line_block(const pulse_framer_params& params, int lines, int positions, bool facts);

    //! Sizes of the items of the outputs, in their order.
    static std::vector<int>
    output_sizes(const pulse_framer_params& p, bool positions, bool facts);
    static gr::io_signature::sptr signature(const std::vector<int>& sizes);

    //! Ports and, at each start, everything anew: to be called by constructor and
    //! start().
    void register_status();
    void begin_lines();

    bool ended(int input) const;
    /*!
     * \brief Line number \p lines of the call, when the kernel has one.
     * \return false: no line, or, as waits_for_position() says, no position yet
     * \throws std::runtime_error when the positions end before the lines
     */
    bool give_line(inputs& in, int lines, gr_vector_void_star& output_items);
    bool waits_for_position() const { return d_waits_for_position; }
    void ask_again() { d_waits_for_position = false; }

    //! A copy of the kernel's counters, for other threads.
    void note_status();
    framer_status noted_status() const;
    //! A message and at most one sentence a second.
    void report(double host_s, bool last);
    //! What stop() says.
    void sum_up();

    //! Of the radio's clock, where the framer counts from the first sample.
    virtual double clock_offset_s() const { return 0; }
    //! Seconds since the flowgraph started, as the kernel is told of arrivals.
    double host_s() const;
    //! Do samples come at the pace of the wall's clock? \p live: by the looks of it.
    virtual bool is_live(bool live) const { return live; }
    // what a block adds to its report: fields, a sentence, and whether it is bad news
    virtual void add_fields(frame_tag&) const {}
    virtual bool add_words(std::vector<std::string>&) { return false; }

    const pulse_framer_params d_params;
    const int d_lines;
    const int d_positions;
    const bool d_facts;
    std::unique_ptr<kernel::pulse_framer> d_kernel;

private:
    bool position_there(std::int64_t line, inputs& in);
    vec3 take_position(const framed_line& line);
    void tag_line(const framed_line& line, std::uint64_t item);
    void put_frame_tag(const framed_line& line, std::uint64_t item);

    std::uint64_t d_positions_taken = 0; // number of the next position
    std::vector<vec3> d_group;           // positions of the pulses of a line
    bool d_waits_for_position = false;

    std::uint64_t d_frame = 0;
    int d_line = 0; // of the frame
    std::uint64_t d_holes = 0;
    bool d_in_holes = false;
    std::uint64_t d_stretch = 0; // lines since the newest one that stands apart

    std::chrono::steady_clock::time_point d_begin; // monotonic, as Python's
    double d_reported_s = 0;
    framer_status d_reported;
    std::vector<std::string> d_notices;
    std::uint64_t d_unsaid = 0;
    mutable std::mutex d_lock; // of the copy of the status
    framer_status d_status;
};

} // namespace sar
} // namespace gr
