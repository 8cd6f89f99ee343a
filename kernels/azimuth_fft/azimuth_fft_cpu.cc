// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "azimuth_fft.h"
#include <algorithm>
#include <atomic>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

azimuth_fft::azimuth_fft(const azimuth_fft_params& params) : d_params(params)
{
    require(params.lines >= 1 && params.lines <= 1 << 20,
            "lines is ",
            params.lines,
            "; expected the number of lines in a frame, 1 to 2^20");
    require(params.rows >= params.lines && params.rows <= 1 << 21,
            "rows is ",
            params.rows,
            "; expected the length of the transform, at least lines, ",
            params.lines,
            ", and at most 2^21");
    require(params.cols >= 1 && params.cols <= 1 << 28,
            "cols is ",
            params.cols,
            "; expected the samples of a line, 1 to 2^28");
    require(!(params.inverse && params.overlap),
            "overlap is true with the inverse transform; expected false: frames of a "
            "spectrum do not overlap");
    d_ring.lines = params.lines;
}

void azimuth_fft::each_place(int first,
                             int count,
                             const std::function<void(int place, int from, int n)>& f)
{
    require(first >= 0 && count >= 0 && first <= frame_in() - count,
            "lines ",
            first,
            " to ",
            first + count,
            " lie outside the frame of ",
            frame_in(),
            " lines");
    if (!d_params.overlap) {
        if (count > 0)
            f(first, 0, count);
        return;
    }
    for (int done = 0; done < count;) {
        const int n = d_ring.run(first + done, count - done);
        f(d_ring.place(first + done), done, n);
        done += n;
    }
}

void azimuth_fft::take(const void* lines, int first, int count)
{
    each_place(first, count, [&](int place, int from, int n) {
        load(line_at(lines, d_params.input, d_params.cols, from), place, n);
    });
}

void azimuth_fft::take(int first,
                       int count,
                       const std::function<void(cf32* place, int from, int n)>& write)
{
    each_place(first, count, [&](int place, int from, int n) {
        write(collected() + line_values(place), from, n);
    });
}

void azimuth_fft::transform(int filled)
{
    require(filled >= 0 && filled <= frame_in(),
            "filled is ",
            filled,
            "; expected 0 to ",
            frame_in(),
            ", the lines of a frame");
    d_filled = filled;
    if (d_params.overlap)
        for (int done = 0; done < filled;) {
            const int n = d_ring.run(done, filled - done);
            collect(d_ring.place(done), done, n);
            done += n;
        }
    run(filled);
}

void azimuth_fft::give(void* out, int first, int count)
{
    require(first >= 0 && count >= 0 && first <= frame_out() - count,
            "rows ",
            first,
            " to ",
            first + count,
            " lie outside the frame of ",
            frame_out(),
            " rows");
    if (count > 0)
        store(out, first, count);
}

void azimuth_fft::next(int kept)
{
    require(kept == 0 || (d_params.overlap && kept > 0 && kept <= d_filled),
            "kept is ",
            kept,
            "; expected 0, or with overlap up to the lines of the frame before, ",
            d_filled);
    d_ring.advance(d_params.overlap ? d_filled - kept : 0);
}

namespace {

std::vector<cf32> values(std::size_t n, const azimuth_fft_params& p)
{
    try {
        return std::vector<cf32>(n);
    } catch (const std::bad_alloc&) {
        throw std::runtime_error(sentence("no memory for a frame of ",
                                          p.rows,
                                          " rows x ",
                                          p.cols,
                                          " samples: ",
                                          n * sizeof(cf32),
                                          " bytes needed; use shorter frames or lines"));
    }
}

class azimuth_fft_cpu final : public azimuth_fft
{
public:
    azimuth_fft_cpu(const azimuth_fft_params& params, const compute_target& target)
        : azimuth_fft(params),
          d_frame(values(frame_values(), params)),
          d_lines(values(ring_values(), params)),
          d_fft(column_fft::make(params.rows, params.cols, target))
    {
    }

    cf32* frame() override { return d_frame.data(); }
    std::size_t bytes() const override
    {
        return (d_frame.size() + d_lines.size()) * sizeof(cf32) + d_fft->bytes();
    }
    std::uint64_t bad_lines() const override { return d_bad_lines; }

protected:
    cf32* collected() override
    {
        return d_params.overlap ? d_lines.data() : d_frame.data();
    }

    void load(const void* lines, int place, int count) override
    {
        cf32* into = collected() + line_values(place);
        parallel_for(count, [&](int i, int) {
            cf32* line = into + line_values(i);
            cf32* end = line + d_params.cols;
            load_line(d_params.input,
                      line_at(lines, d_params.input, d_params.cols, i),
                      d_params.cols,
                      line);
            if (!std::all_of(line, end, [](cf32 v) { return is_finite(v); })) {
                std::fill(line, end, cf32{ 0, 0 });
                ++d_bad_lines;
            } else if (d_params.inverse) {
                std::for_each(line, end, [s = scale()](cf32& v) { v = s * v; });
            }
        });
    }

    void collect(int place, int row, int count) override
    {
        std::copy_n(d_lines.data() + line_values(place),
                    line_values(count),
                    d_frame.data() + line_values(row));
    }

    void run(int filled) override
    {
        if (!d_params.inverse) {
            d_fft->forward(d_frame.data(), filled);
            return;
        }
        std::fill(d_frame.begin() + line_values(filled), d_frame.end(), cf32{ 0, 0 });
        d_fft->inverse(d_frame.data());
    }

    void store(void* out, int first, int count) override
    {
        parallel_for(count, [&](int i, int) {
            store_line(d_params.output,
                       d_frame.data() + line_values(first + i),
                       d_params.cols,
                       line_at(out, d_params.output, d_params.cols, i));
        });
    }

private:
    std::vector<cf32> d_frame;
    std::vector<cf32> d_lines; // ring of lines, with overlap
    std::unique_ptr<column_fft> d_fft;
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<azimuth_fft> azimuth_fft::make(const azimuth_fft_params& params,
                                               const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_azimuth_fft_cuda(params, target);
#endif
    return std::make_unique<azimuth_fft_cpu>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
