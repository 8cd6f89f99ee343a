// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "rcmc_math.h"

namespace gr {
namespace sar {
namespace kernel {

//! Rows that are to be interpolated: those of a batch, row b from line b.
struct row_batch {
    const cf32* lines; //!< on the grid
    size_t pitch;
    int samples;
    char* out;
    size_t bytes_out;
    line_storage storage;
    int cols;
    int first_row;
    range_doppler_frame frame;
    const rcm::row* rows;          //!< of the whole frame
    const doppler_column* columns; //!< where the swath is not uniform
    const rcm::tap_quad* taps;
    unsigned long long* bad_lines;
};

template <migration_interpolation how, bool uniform>
__device__ double position(const row_batch& b, const rcm::row& row, int k, int n)
{
    return uniform ? rcm::uniform_position(row, n)
                   : rcm::cell_position(b.frame, b.columns[n], k, rcm::grid_of(how));
}

} // namespace kernel
} // namespace sar
} // namespace gr
