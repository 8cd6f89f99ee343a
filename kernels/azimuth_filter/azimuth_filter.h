// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/line_storage.h"
#include "../core/range_doppler.h"
#include "azimuth_filter_math.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct azimuth_filter_params {
    range_doppler_params geometry;
    doppler_band band;
    line_storage input = line_storage::single;
};

/*!
 * \brief Range-Doppler rows without migration to image rows: the azimuth matched filter.
 *
 * Cell n of row k (Doppler f, closest range R0) is multiplied by
 *
 *     w(f) g(n) exp(+j 2 pi (2 f0 (R0 D(f) + bias) / c + 1/8))
 *
 * with the window w over the processed band and the gain g that makes the peak of a unit
 * point 1; columns are then inversely transformed. In centroid geometry the response is
 * also moved to the time of the beam's centre. Image row i is row (i + first_row) modulo
 * N of the transform. The phase of an image is that of back-projection: 0 for a point of
 * phase 0, since the carrier's phase is taken off at the point's own range.
 *
 * The phase is double until its fraction of a cycle. Velocity and centroid may vary with
 * range (polynomials); then frequency, D and weight are those of each cell.
 *
 * With L looks the band is split into L equal parts, each one with its own transform and
 * gain; the output has L rows for each image row, look 0 (lowest frequencies) first.
 *
 * A row with a value that is not finite becomes zeros and is counted.
 *
 * Source: Cumming and Wong, Digital Processing of Synthetic Aperture Radar Data, section
 * 6.3.2 (6.24, hyperbolic) and 6.5 (looks).
 */
class SAR_KERNEL_API azimuth_filter
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation,
    //! std::runtime_error naming the bytes when there is no memory
    static std::unique_ptr<azimuth_filter> make(const azimuth_filter_params& params,
                                                const compute_target& target);
    virtual ~azimuth_filter() = default;

    //! Doppler centroid of the rows to come, coefficients as range_doppler_plan takes
    //! them. Between frames. On CUDA this waits for the device if they are other ones.
    void set_centroid(const std::vector<double>& coefficients_hz);

    // Pointers are in the memory of the target; on CUDA the work is enqueued only.

    //! Rows first_row .. first_row + count - 1 of the frame, in ascending order. Rows
    //! that do not come are zeros.
    void take(const void* rows, int first_row, int count);
    //! Compress what was taken.
    void transform();
    //! Output rows of the compressed frame, cols complex64 each: image row i, look l is
    //! output row i L + l.
    void give(cf32* out, int first_output_row, int count);
    //! Begin a frame.
    void next() { d_taken = 0; }

    // Instead of take(), for kernels that have a row at hand and multiply it themselves:

    //! What cells are multiplied by.
    virtual azimuth_filter_tables tables() const = 0;
    //! Where rows go: [looks][rows][cols].
    virtual cf32* frames() = 0;
    //! All rows of all looks have been put there.
    void filled() { d_taken = frame().rows; }

    //! Memory that it holds, bytes.
    virtual std::size_t bytes() const = 0;
    //! Rows so far that held a value which is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    const range_doppler_plan& plan() const { return d_plan; }
    const azimuth_filter_params& params() const { return d_params; }
    int rows_out() const { return frame().rows * looks(); }

protected:
    explicit azimuth_filter(const azimuth_filter_params& params);

    const range_doppler_frame& frame() const { return d_plan.frame(); }
    int looks() const { return d_params.band.looks; }
    std::size_t frame_values() const
    {
        return static_cast<std::size_t>(frame().rows) * frame().cols;
    }

    //! The tables below are about to change, and then have changed.
    virtual void before_tables() {}
    virtual void after_tables() = 0;
    virtual void load(const void* rows, int first_row, int count) = 0;
    //! Zeros into rows of all looks.
    virtual void clear(int first_row, int count) = 0;
    //! Transform the looks.
    virtual void run() = 0;
    virtual void store(cf32* out, int first_output_row, int count) = 0;

    //! Row of the transform that is image row \p row.
    int transform_row(int row) const
    {
        const int rows = frame().rows;
        return ((row + frame().first_row) % rows + rows) % rows;
    }
    //! To be called by the constructor of a backend.
    void make_tables();
    //! Pointers into the host's tables.
    azimuth_filter_tables host_tables() const;

    std::vector<float> d_gains; // [looks][cols]
    std::vector<azimuth_row> d_rows;
    std::vector<float> d_row_weights; // [looks][rows]
    std::vector<doppler_column> d_columns;
    std::vector<float> d_weights;

    const azimuth_filter_params d_params;

private:
    range_doppler_plan d_plan;
    int d_taken = 0; // rows of the frame
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<azimuth_filter>
make_azimuth_filter_cuda(const azimuth_filter_params& params,
                         const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
