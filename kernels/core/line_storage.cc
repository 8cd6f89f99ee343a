// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_storage.h"
#include "names.h"
#include <algorithm>

namespace gr {
namespace sar {

namespace {
const name_table<line_storage, 2> storages = { "storage",
                                               { { { line_storage::single, "single" },
                                                   { line_storage::half, "half" } } } };
}

line_storage line_storage_from_name(const std::string& n)
{
    return storages.from_name(n);
}
std::string to_string(line_storage s) { return storages.to_name(s); }

void store_line(line_storage s, const cf32* from, int samples, void* line)
{
    if (s == line_storage::single) {
        std::copy(from, from + samples, static_cast<cf32*>(line));
        return;
    }
    float* scales = static_cast<float*>(line);
    half_sample* values = reinterpret_cast<half_sample*>(scales + half_scales(samples));
    for (int begin = 0; begin < samples; begin += half_block) {
        const int end = std::min(samples, begin + half_block);
        float largest = 0;
        for (int i = begin; i < end; ++i)
            largest = std::max(largest, largest_component(from[i]));
        const float scale = half_scale(largest);
        scales[begin / half_block] = scale;
        for (int i = begin; i < end; ++i)
            values[i] = to_half(from[i], scale);
    }
}

void load_line(line_storage s, const void* line, int samples, cf32* to)
{
    if (s == line_storage::single) {
        const cf32* from = static_cast<const cf32*>(line);
        std::copy(from, from + samples, to);
        return;
    }
    for (int i = 0; i < samples; ++i)
        to[i] = load_sample(s, line, samples, i);
}

} // namespace sar
} // namespace gr
