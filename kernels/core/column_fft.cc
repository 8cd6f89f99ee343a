// SPDX-License-Identifier: GPL-3.0-or-later
#include "column_fft.h"
#include "errors.h"
#include "parallel_for.h"
#include <algorithm>
#include <gnuradio/fft/fft.h>
#include <vector>

namespace gr {
namespace sar {

namespace {

//! Columns that are gathered together: 16 x 8 bytes are two cache lines of each row.
constexpr int tile = 16;

class column_fft_cpu final : public column_fft
{
public:
    column_fft_cpu(int rows, int cols, int pitch)
        : d_rows(rows), d_cols(cols), d_pitch(pitch)
    {
        // planning takes time, so not in forward(); other threads profit from what FFTW
        // has learnt
        d_workers.push_back(std::make_unique<worker>(rows));
    }

    void forward(cf32* frame, int filled) override { run(frame, filled, true); }
    void inverse(cf32* frame) override { run(frame, d_rows, false); }

    std::size_t bytes() const override
    {
        // each thread: gathered columns, and in and out of two transforms
        return sizeof(gr_complex) * d_rows * (tile + 4) * max_threads();
    }

private:
    struct worker {
        explicit worker(int n)
            : forward(n), inverse(n), columns(static_cast<std::size_t>(n) * tile)
        {
        }
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
        std::vector<gr_complex> columns; // [tile][rows]
    };

    void run(cf32* frame, int filled, bool forward)
    {
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
        gr_complex* all = reinterpret_cast<gr_complex*>(frame);
        const int tiles = (d_cols + tile - 1) / tile;
        parallel_for(tiles, [&](int t, int thread) {
            std::unique_ptr<worker>& w = d_workers[thread];
            if (!w)
                w = std::make_unique<worker>(d_rows);
            const int width = std::min(tile, d_cols - t * tile);
            gr_complex* const corner = all + t * tile;
            gr_complex* const columns = w->columns.data();
            for (int r = 0; r < d_rows; ++r) {
                const gr_complex* from = corner + static_cast<std::size_t>(r) * d_pitch;
                for (int c = 0; c < width; ++c)
                    columns[static_cast<std::size_t>(c) * d_rows + r] =
                        r < filled ? from[c] : gr_complex(0);
            }
            for (int c = 0; c < width; ++c) {
                gr_complex* column = columns + static_cast<std::size_t>(c) * d_rows;
                if (forward)
                    transform(w->forward, column);
                else
                    transform(w->inverse, column);
            }
            for (int r = 0; r < d_rows; ++r) {
                gr_complex* to = corner + static_cast<std::size_t>(r) * d_pitch;
                for (int c = 0; c < width; ++c)
                    to[c] = columns[static_cast<std::size_t>(c) * d_rows + r];
            }
        });
    }

    template <typename Fft>
    void transform(Fft& fft, gr_complex* column) const
    {
        std::copy(column, column + d_rows, fft.get_inbuf());
        fft.execute();
        std::copy(fft.get_outbuf(), fft.get_outbuf() + d_rows, column);
    }

    const int d_rows;
    const int d_cols;
    const int d_pitch;
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread
};

} // namespace

std::unique_ptr<column_fft>
column_fft::make(int rows, int cols, const compute_target& target, int pitch)
{
    require(rows >= 1 && rows <= 1 << 21, "rows is ", rows, "; expected 1 to 2^21");
    require(cols >= 1 && cols <= 1 << 28, "cols is ", cols, "; expected 1 to 2^28");
    require(pitch == 0 || (pitch >= cols && pitch <= 1 << 28),
            "pitch is ",
            pitch,
            "; expected 0 or ",
            cols,
            " to 2^28");
    if (pitch == 0)
        pitch = cols;
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_column_fft_cuda(rows, cols, pitch, target);
#endif
    (void)target;
    return std::make_unique<column_fft_cpu>(rows, cols, pitch);
}

} // namespace sar
} // namespace gr
