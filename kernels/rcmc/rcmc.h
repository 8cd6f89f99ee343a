// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/line_storage.h"
#include "../core/range_doppler.h"
#include "../core/row_migration.h"
#include "rcmc_math.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

SAR_KERNEL_API migration_interpolation
migration_interpolation_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(migration_interpolation i);

namespace rcm {

/*!
 * \brief Taps for value_of(), of an interpolation with 8 of them or more.
 *
 * Two more rows than phases, of width_of() / 4 quads each; `exact` has two such tables.
 * \param band  share of the sampling rate that a line occupies, or 1; `exact`, which has
 * a grid of its own, needs none
 */
SAR_KERNEL_API std::vector<tap_quad> tap_table(migration_interpolation how, double band);

} // namespace rcm

struct rcmc_params {
    range_doppler_params geometry;
    migration_interpolation interpolator = migration_interpolation::exact;
    bool src = true; //!< secondary range compression
    line_storage input = line_storage::single;
    line_storage output = line_storage::single;
    //! Rows that are transformed together on a GPU, at most; fewer where their transforms
    //! would not stay in its cache.
    int max_batch = 1024;
};

/*!
 * \brief Range cell migration correction and secondary range compression.
 *
 * Rows of a range-Doppler frame (azimuth_fft) to rows of the same length whose cell n
 * holds the points of one closest range, range_doppler_frame::out_first_m + n spacing
 * (geometry zero_doppler), or of one slant range in the middle of the beam (centroid), in
 * all rows. Positions are hyperbolic, R0 / D(f), and in double: formulas in rcmc_math.h
 * and range_doppler.h. What lies outside a line counts as 0.
 *
 * With SRC, and always for `exact`, a row goes through the FFT, with so many zeros behind
 * it that nothing wraps around. SRC is made for the middle of the swath. When its phase
 * is below 1e-6 cycles in all rows it is left out: uses_src().
 *
 * A row with a value that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API rcmc : public row_migration
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<rcmc> make(const rcmc_params& params,
                                      const compute_target& target);
    void set_centroid(const std::vector<double>& coefficients_hz) override;
    void process(const void* in, void* out, int first_row, int rows) override;
    const range_doppler_plan& plan() const override { return d_plan; }

    const rcmc_params& params() const { return d_params; }
    //! Is SRC applied?
    bool uses_src() const { return d_shape.src; }
    //! Length of the forward transform, 0 when there is none.
    int fft_length() const { return d_shape.length; }
    int cols() const { return d_shape.samples; }
    const rcm::transform_shape& shape() const { return d_shape; }
    //! rcm::tap_table(); empty below 8 taps.
    const std::vector<rcm::tap_quad>& taps() const { return d_taps; }

protected:
    explicit rcmc(const rcmc_params& params);

    //! The frame has changed, and with it the transforms if \p shape_changed.
    virtual void refresh(bool shape_changed) = 0;
    virtual void run(const char* in, char* out, int first_row, int rows) = 0;

    int grid() const { return rcm::grid_of(d_params.interpolator); }
    //! Points of a line on the grid that is interpolated on.
    int grid_samples() const { return d_shape.samples * grid(); }
    std::size_t bytes_in() const { return line_bytes(d_params.input, cols()); }
    std::size_t bytes_out() const { return line_bytes(d_params.output, cols()); }

    const rcmc_params d_params;
    range_doppler_plan d_plan;
    rcm::transform_shape d_shape;
    std::vector<rcm::tap_quad> d_taps; //!< empty below 8 taps

private:
    bool derive();
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<rcmc> make_rcmc_cuda(const rcmc_params& params,
                                     const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
