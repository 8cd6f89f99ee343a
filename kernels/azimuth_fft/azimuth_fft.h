// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/line_storage.h"
#include "azimuth_fft_math.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace gr {
namespace sar {
namespace kernel {

struct azimuth_fft_params {
    int lines = 0; //!< of a frame
    int rows = 0;  //!< length N of the transform, >= lines
    int cols = 0;  //!< samples of a line
    bool inverse = false;
    bool overlap = false; //!< lines are kept for the next frame (forward only)
    line_storage input = line_storage::single;
    line_storage output = line_storage::single;
};

/*!
 * \brief A frame of lines to its Doppler spectrum, or back.
 *
 * Forward: X[k] = sum_m x[m] exp(-j 2 pi k m / N) over the lines m of a frame, for every
 * column, zeros in place of lines m >= the number that came. Rows k = 0 .. N-1 in the
 * transform's own order; what Doppler frequency k stands for: doppler_frequency().
 * Inverse: x[m] = 1/N sum_k X[k] exp(+j 2 pi k m / N), of which the first lines are given
 * out.
 *
 * One buffer of N x cols: lines are taken into the place where they are transformed. With
 * overlap they are collected in a second one, since the transform writes over the first.
 *
 * A line with a value that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API azimuth_fft
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation,
    //! std::runtime_error naming the bytes when there is no memory
    static std::unique_ptr<azimuth_fft> make(const azimuth_fft_params& params,
                                             const compute_target& target);
    virtual ~azimuth_fft() = default;

    // Pointers are in the memory of the target; on CUDA the work is enqueued only.

    //! Lines (inverse: rows) into first .. first + count - 1 of the frame.
    void take(const void* lines, int first, int count);
    //! Lines that are made where they are collected: write(place, from, n) writes lines
    //! first + from .. first + from + n - 1, finite ones. Forward only.
    void take(int first,
              int count,
              const std::function<void(cf32* place, int from, int n)>& write);
    //! Transform the frame, of which lines 0 .. filled - 1 came; the rest is zeros.
    void transform(int filled);
    //! Rows (inverse: lines) of the transformed frame.
    void give(void* out, int first, int count);
    //! Begin a frame: the last \p kept lines of the one before are its first.
    void next(int kept);

    //! The frame [rows][cols] in the memory of the target: the spectrum after
    //! transform().
    virtual cf32* frame() = 0;
    //! Memory that it holds, bytes: frame, collected lines, workspace.
    virtual std::size_t bytes() const = 0;
    //! Lines so far that held a value which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    const azimuth_fft_params& params() const { return d_params; }
    //! Lines that a frame takes, and that it gives.
    int frame_in() const { return d_params.inverse ? d_params.rows : d_params.lines; }
    int frame_out() const { return d_params.inverse ? d_params.lines : d_params.rows; }

protected:
    explicit azimuth_fft(const azimuth_fft_params& params);

    //! Where lines are collected: the ring with overlap, else the frame.
    virtual cf32* collected() = 0;
    //! Lines into the frame, or with overlap into places of the ring.
    virtual void load(const void* lines, int place, int count) = 0;
    //! Collected lines from the ring into the frame.
    virtual void collect(int place, int row, int count) = 0;
    virtual void run(int filled) = 0;
    virtual void store(void* out, int first, int count) = 0;

    //! Of the values that are taken.
    float scale() const { return d_params.inverse ? 1.0f / d_params.rows : 1.0f; }
    std::size_t line_values(std::size_t lines) const { return lines * d_params.cols; }
    std::size_t frame_values() const { return line_values(d_params.rows); }
    std::size_t ring_values() const
    {
        return d_params.overlap ? line_values(d_params.lines) : 0;
    }

    const azimuth_fft_params d_params;

private:
    //! f(place, from, n) for runs of places that lines first + from .. go to.
    void each_place(int first,
                    int count,
                    const std::function<void(int place, int from, int n)>& f);

    line_ring d_ring;
    int d_filled = 0; // of the frame that was transformed last
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<azimuth_fft> make_azimuth_fft_cuda(const azimuth_fft_params& params,
                                                   const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
