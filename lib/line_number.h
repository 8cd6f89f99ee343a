// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <cstdint>
#include <gnuradio/tags.h>
#include <optional>

namespace gr {
namespace sar {

//! Number of the line that a tag lies on, where sar_frame or sar_holes says one; else
//! lines are counted on.
inline std::optional<std::int64_t> line_number(const gr::tag_t& tag)
{
    static const pmt::pmt_t frame_key = pmt::mp("sar_frame");
    static const pmt::pmt_t holes_key = pmt::mp("sar_holes");
    if (pmt::eqv(tag.key, frame_key)) {
        const frame_tag frame(tag.value);
        if (frame.has("pulse") || !frame.is_true("continues"))
            return static_cast<std::int64_t>(frame.number("pulse", 0));
    } else if (pmt::eqv(tag.key, holes_key)) {
        const frame_tag holes(tag.value, "sar_holes");
        // it lies on the line behind a row of holes that was skipped
        if (holes.has("filled") && !holes.is_true("filled"))
            return static_cast<std::int64_t>(holes.number("pulse", 0) +
                                             holes.number("count", 0));
    }
    return std::nullopt;
}

} // namespace sar
} // namespace gr
