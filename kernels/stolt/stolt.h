// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/line_storage.h"
#include "../core/range_doppler.h"
#include "../core/row_migration.h"
#include "../rcmc/rcmc.h"
#include "stolt_math.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct stolt_params {
    range_doppler_params geometry;
    //! exact (least-squares taps), sinc16 or sinc8, all on a grid of half a bin.
    migration_interpolation interpolator = migration_interpolation::exact;
    line_storage input = line_storage::single;
    line_storage output = line_storage::single;
    //! Rows that are transformed together on a GPU, at most.
    int max_batch = 1024;
};

/*!
 * \brief Largest error of the migration that the Stolt mapping leaves, cells: 0 for a
 * uniform swath.
 *
 * Over all rows and ranges, R0 / D with the velocity and Doppler frequency there against
 * those of the middle, for rows that mean the same Doppler frequency in both.
 */
SAR_KERNEL_API double residual_migration_cells(const range_doppler_plan& plan);

/*!
 * \brief The band that the mapping makes of that of the pulse, over all rows, Hz: its
 * width, and twice its largest distance from K0, which the sampling rate of the image's
 * cells must exceed.
 */
struct mapped_band {
    double widest_hz = 0;
    double needed_hz = 0;
    double cells_hz = 0; //!< what cells hold with the oversampling of the plan
    //! Least oversampling with which they hold it.
    int oversampling = 1;
};

SAR_KERNEL_API mapped_band mapped_band_of(const range_doppler_plan& plan);

/*!
 * \brief Stolt mapping of rows of a range-Doppler frame: the wavenumber algorithm's
 * replacement for range cell migration correction.
 *
 * Rows of compressed lines (azimuth_fft) to rows whose cell n holds the points of one
 * closest range (or, with the centroid geometry, of one slant range in the middle of the
 * beam) in all rows, as rcmc gives them; azimuth_filter follows. Unlike rcmc, which is
 * made for the middle of the swath, it is exact for every range, bandwidth, beam and
 * squint: formulas in stolt_math.h.
 *
 * It is exact for one velocity. Where the velocity varies over the swath the phase
 * follows it (in azimuth_filter), the migration does not: residual_migration_cells().
 *
 * A row with a value that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API stolt : public row_migration
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation; also where
    //! the mapped band is wider than the cells of the image can hold (raise oversampling)
    static std::unique_ptr<stolt> make(const stolt_params& params,
                                       const compute_target& target);
    void set_centroid(const std::vector<double>& coefficients_hz) override;
    void process(const void* in, void* out, int first_row, int rows) override;
    const range_doppler_plan& plan() const override { return d_plan; }

    const stolt_params& params() const { return d_params; }
    //! Length of the forward transform.
    int fft_length() const { return d_shape.padded; }
    int cols() const { return d_shape.samples; }

    const stolt_map::shape& shape() const { return d_shape; }
    //! As of rcmc.
    const std::vector<rcm::tap_quad>& taps() const { return d_taps; }

protected:
    explicit stolt(const stolt_params& params);

    virtual void refresh(bool shape_changed) = 0;
    virtual void run(const char* in, char* out, int first_row, int rows) = 0;

    std::size_t bytes_in() const { return line_bytes(d_params.input, cols()); }
    std::size_t bytes_out() const { return line_bytes(d_params.output, cols()); }

    const stolt_params d_params;
    range_doppler_plan d_plan;
    stolt_map::shape d_shape;
    std::vector<rcm::tap_quad> d_taps; //!< as of rcmc

private:
    bool derive();
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<stolt> make_stolt_cuda(const stolt_params& params,
                                       const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
