// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/line_storage.h"
#include "../core/range_doppler.h"
#include "../core/row_migration.h"
#include "../core/window.h"
#include "chirp_scaling_math.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct chirp_scaling_params {
    range_doppler_params geometry;
    window range_window;
    line_storage input = line_storage::single;
    line_storage output = line_storage::single;
    //! Rows that are transformed together on a GPU, at most.
    int max_batch = 1024;
};

//! What chirp scaling does not do exactly, the most over rows and the ranges of whole
//! pulses.
struct chirp_scaling_bounds {
    //! Phase at the edges of the band, by the chirp rate at the ends of the swath against
    //! that of its middle: pi (B / 2)^2 |Z - Zref|.
    double phase_error_rad = 0;
    //! Shift of a point's spectrum; what leaves the band of the matched filter is lost.
    double band_shift_hz = 0;
    //! Delay of the filter, samples of raw rows.
    double delay_samples = 0;
};

//! \param plan of a pulsed_lfm recording
SAR_KERNEL_API chirp_scaling_bounds
chirp_scaling_bounds_of(const range_doppler_plan& plan);

/*!
 * \brief Chirp scaling: range compression, secondary range compression and migration of
 * raw rows without an interpolation.
 *
 * Raw rows of a range-Doppler frame (azimuth_fft of lines as they came) to compressed
 * rows in which a point lies in the same cell, as pulse_compression and rcmc give them;
 * azimuth_filter follows. Linear FM pulses only. Formulas: chirp_scaling_math.h.
 *
 * The chirp rate of the rows is that of the middle of the swath, and scaling moves the
 * spectrum of points far from it: bounds(). make() refuses what would not focus.
 *
 * A row with a value that is not finite becomes zeros and is counted.
 */
class SAR_KERNEL_API chirp_scaling : public row_migration
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<chirp_scaling> make(const chirp_scaling_params& params,
                                               const compute_target& target);

    void set_centroid(const std::vector<double>& coefficients_hz) override;
    void process(const void* in, void* out, int first_row, int rows) override;
    const range_doppler_plan& plan() const override { return d_plan; }
    bool takes_raw_rows() const override { return true; }

    const chirp_scaling_params& params() const { return d_params; }
    //! Length of the forward transform.
    int fft_length() const { return d_shape.length; }
    int samples() const { return d_shape.samples; }
    int cols() const { return d_shape.cols; }

    const chirp_scaling_bounds& bounds() const { return d_bounds; }

    const scaling::shape& shape() const { return d_shape; }
    //! Matched filter with the window, over the fft_length() bins, with what the
    //! transforms are scaled by.
    const std::vector<cf32>& filter() const { return d_filter; }

protected:
    explicit chirp_scaling(const chirp_scaling_params& params);

    virtual void refresh(bool shape_changed) = 0;
    virtual void run(const char* in, char* out, int first_row, int rows) = 0;

    std::size_t bytes_in() const { return line_bytes(d_params.input, samples()); }
    std::size_t bytes_out() const { return line_bytes(d_params.output, cols()); }

    const chirp_scaling_params d_params;
    range_doppler_plan d_plan;
    scaling::shape d_shape;
    std::vector<cf32> d_filter; //!< matched filter with the window, over the bins

private:
    bool derive();

    chirp_scaling_bounds d_bounds;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<chirp_scaling> make_chirp_scaling_cuda(const chirp_scaling_params& params,
                                                       const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
