// SPDX-License-Identifier: GPL-3.0-or-later
#include "frame_flow.h"
#include "input_ended.h"
#include <algorithm>
#include <gnuradio/block_detail.h>

namespace gr {
namespace sar {

void frame_flow::restart()
{
    const bool again =
        d_frame.number > 0 || d_frame.lines > 0 || d_state != state::collect;
    d_state = state::collect;
    d_frame = {};
    d_news.clear();
    d_new = 0;
    d_input_over = false;
    d_anew = false;
    d_rows = d_row = 0;
    if (again)
        d_client.next(0);
}

// The scheduler ends a block that asks for more input than an ended stream holds. So one
// item is asked for while there can be one, and none once the input is used up: then
// general_work is called once more, to give out what has been collected.
void frame_flow::forecast(gr_vector_int& required)
{
    required[0] = d_state == state::collect && !input_ended(d_self, 0) ? 1 : 0;
}

int frame_flow::work(int noutput_items,
                     const gr_vector_int& ninput_items,
                     const gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items)
{
    if (d_state == state::finished)
        return gr::block::WORK_DONE;
    if (d_state == state::collect) {
        if (ninput_items[0] > 0)
            collect(ninput_items[0], input_items[0]);
        else if (input_ended(d_self, 0))
            finish(true);
    }
    if (d_state == state::finished)
        return gr::block::WORK_DONE;
    return d_state == state::emit ? emit(noutput_items, output_items[0]) : 0;
}

void frame_flow::collect(int available, const void* items)
{
    static const pmt::pmt_t key = pmt::mp("sar_frame");
    const std::uint64_t at = d_self.nitems_read(0);
    // the block's own get_tags_in_range is protected; its reader's is not
    std::vector<gr::tag_t> tags;
    d_self.detail()->get_tags_in_range(
        tags, 0, at, at + available, key, d_self.unique_id());
    int count = std::min(available, d_lines - d_frame.lines);
    for (const gr::tag_t& tag : tags) {
        if (tag.offset == at) {
            const frame_tag news(tag.value);
            if (news.is_true("continues")) {
                d_news.assign(1, news);
                if (d_new == 0)
                    take_news();
                continue;
            }
            d_news.clear();
            if (d_frame.lines > 0) {
                d_anew = true;
                if (d_new > 0)
                    return finish(false);
                d_client.next(0); // lines of an overlap that belong to another stretch
                d_frame.lines = 0;
            }
            d_anew = false;
            d_frame.tag = news;
            d_frame.first_line = 0;
            d_client.begin(d_frame.tag);
        } else if (tag.offset > at) {
            count = std::min<int>(count, tag.offset - at);
            break;
        }
    }
    d_client.take(items, d_frame.lines, count);
    d_frame.lines += count;
    d_new += count;
    d_self.consume(0, count);
    if (d_frame.lines == d_lines)
        finish(false);
}

// The place of the stretch stays that of the tag which began it: lines count from there.
void frame_flow::take_news()
{
    if (d_news.empty())
        return;
    frame_tag news = d_news[0];
    d_news.clear();
    if (const double prf_hz = news.number("prf_hz", 0); news.has("host_s") && prf_hz > 0)
        news.put("host_s",
                 news.number("host_s", 0) - (news.number("first_line", 0) -
                                             d_frame.tag.number("first_line", 0)) /
                                                prf_hz);
    for (const char* key : { "first_line", "time_s" })
        news.copy(key, d_frame.tag);
    d_frame.tag = news;
    d_client.begin(d_frame.tag);
}

void frame_flow::finish(bool input_over)
{
    d_input_over = input_over;
    if (input_over && d_new == 0) {
        if (d_frame.number == 0 && d_frame.lines == 0)
            throw std::runtime_error("the stream ended without a line; there is nothing "
                                     "to give out");
        d_state = state::finished;
        return;
    }
    d_frame.complete = d_frame.lines == d_lines;
    if (!d_frame.complete)
        gr::logger(d_self.alias())
            .warn("frame {:d} has {:d} of {:d} lines ({:s}); zeros take the place of the "
                  "others",
                  d_frame.number,
                  d_frame.lines,
                  d_lines,
                  input_over ? "the stream ended" : "a new sar_frame began");
    d_rows = d_client.finish(d_frame);
    d_row = 0;
    d_state = state::emit;
}

int frame_flow::emit(int room, void* out)
{
    const int count = std::min(room, d_rows - d_row);
    if (count > 0)
        d_client.give(out, d_row, count);
    d_row += count;
    if (d_row < d_rows)
        return count;
    const int kept = d_anew || d_input_over ? 0 : std::max(0, d_frame.lines - d_hop);
    d_client.next(kept);
    ++d_frame.number;
    d_frame.first_line += d_frame.lines - kept;
    d_frame.lines = kept;
    d_new = 0;
    d_state = d_input_over ? state::finished : state::collect;
    if (!d_input_over && !d_anew)
        take_news();
    return count;
}

} // namespace sar
} // namespace gr
