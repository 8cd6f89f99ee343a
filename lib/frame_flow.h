// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <cstdint>
#include <gnuradio/block.h>
#include <vector>

namespace gr {
namespace sar {

//! A frame of lines, as it was collected.
struct collected_frame {
    std::uint64_t number = 0;     //!< counts frames of the stream
    std::uint64_t first_line = 0; //!< counts lines since the newest sar_frame tag
    int lines = 0;                //!< lines that came; the rest of the frame is zeros
    bool complete = true;         //!< as many as expected
    frame_tag tag;                //!< the newest sar_frame, or an empty dictionary
};

/*!
 * \brief Items into frames, frames into rows: the flow of every frame stage.
 *
 * To be called from the general_work() and forecast() of a block with one input and one
 * output. Lines are handed to the client as they arrive; when a frame is full it is
 * finished and its rows go out, during which nothing is taken in. A sar_frame tag begins
 * a new frame: what has been collected before it, like what the end of the stream leaves,
 * is an incomplete frame: zero-padded, said so in the log and in `complete`. One whose
 * field `continues` is true says something new of the same stretch of lines
 * (doppler_centroid does for each frame) and begins none: it holds from the next frame
 * on. With hop < lines consecutive frames overlap; then an ended stream leaves a frame
 * only if it has lines that were in none yet.
 */
class frame_flow
{
public:
    //! What the stage does; called in the thread of the block, within guarded().
    struct client {
        virtual ~client() = default;
        //! A sar_frame tag begins a frame; before its first take().
        virtual void begin(const frame_tag&) {}
        //! Items of the stream into lines first .. first + count - 1 of the frame.
        virtual void take(const void* items, int first, int count) = 0;
        //! All lines are there. \return rows to give out, 0 or more
        virtual int finish(const collected_frame& frame) = 0;
        //! Rows of the finished frame into the output.
        virtual void give(void* out, int first, int count) = 0;
        //! All rows are out: keep the last \p kept of the frame's lines as the first of
        //! the next frame (0 when it starts anew).
        virtual void next(int kept) = 0;
    };

    frame_flow(gr::block& self, client& c) : d_self(self), d_client(c) {}

    //! \p lines of a frame; \p hop lines from one frame to the next, 1 to lines
    void set_frames(int lines, int hop)
    {
        d_lines = lines;
        d_hop = hop;
    }

    //! From start(): a flowgraph may run again after its end.
    void restart();
    void forecast(gr_vector_int& required);
    int work(int noutput_items,
             const gr_vector_int& ninput_items,
             const gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items);

private:
    enum class state { collect, emit, finished };

    void collect(int available, const void* items);
    void take_news();
    void finish(bool input_over);
    int emit(int room, void* out);

    gr::block& d_self;
    client& d_client;
    int d_lines = 1;
    int d_hop = 1;

    state d_state = state::collect;
    collected_frame d_frame;
    std::vector<frame_tag> d_news; // of this stretch, for the next frame
    int d_new = 0;                 // lines of it that were in no frame before
    bool d_input_over = false;
    bool d_anew = false; // the next frame shares no lines with this one
    int d_rows = 0;
    int d_row = 0;
};

} // namespace sar
} // namespace gr
