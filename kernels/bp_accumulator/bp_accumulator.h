// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/image_grid.h"
#include "../core/interpolator.h"
#include "bp_accumulator_math.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief How ranges are computed. Written by users as "auto", "exact", "fast".
 *
 * exact: double range per pixel and pulse. fast: expansion per tile and pulse, right when
 * the antenna is far from the scene compared to 32 pixels; on CUDA with lines that are
 * interpolated by a polynomial per cell. auto: fast for those pulses whose proved phase
 * error stays below 0.01 rad, else exact.
 */
enum class accuracy_mode { automatic, exact, fast };

SAR_KERNEL_API accuracy_mode accuracy_mode_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(accuracy_mode a);

//! Phase error that accuracy_mode::automatic allows the fast mode, rad.
constexpr double allowed_phase_error_rad = 0.01;

struct bp_accumulator_params {
    range_axis axis;
    image_grid grid;
    interpolation interpolator = interpolation::sinc8;
    accuracy_mode accuracy = accuracy_mode::automatic;
    bool bistatic = false;
    int slots = 1; //!< sub-images of the aperture
};

/*!
 * \brief Filters that make the cells of folded lines, [parts][3][taps].
 *
 * Of each cell of a sample: value, slope a radian and half the second derivative a square
 * radian of the parabola that is closest to the interpolation with \p taps taps over the
 * cell, in least squares.
 */
SAR_KERNEL_API std::vector<float>
fold_filter(interpolation i, double occupied_band, const bp::folding& f);

//! What happened since the start.
struct bp_report {
    std::uint64_t pulses = 0;         //!< used
    std::uint64_t skipped_pulses = 0; //!< with a position that is not finite
    std::int64_t first_skipped = -1;  //!< number of the first of them
    std::uint64_t fast_pulses = 0;    //!< of the used ones, in fast mode
    std::uint64_t patch_pulses = 0;   //!< of those, on patches (CUDA)
    std::uint64_t outside = 0;        //!< pixel-pulses outside the swath
    std::uint64_t non_finite = 0;     //!< pixel-chunks left out: samples not finite
    double phase_bound_rad = 0;       //!< largest bound of the phase error used
};

/*!
 * \brief Direct back-projection: adds pulses to an image that stays where the target is.
 *
 * The maths is in bp_accumulator_math.h. The image is a ring of `slots` sub-images;
 * pulses are added to the current one, write_rows() gives the mean over the pulses of
 * all. A sliding aperture moves on with advance(), which clears the oldest: nothing is
 * subtracted, so nothing drifts.
 */
class SAR_KERNEL_API bp_accumulator
{
public:
    //! \throws std::invalid_argument on parameters that contradict each other,
    //! std::runtime_error when the memory for the image cannot be had
    static std::unique_ptr<bp_accumulator> make(const bp_accumulator_params& params,
                                                const compute_target& target);
    virtual ~bp_accumulator() = default;
    bp_accumulator(const bp_accumulator&) = delete;
    bp_accumulator& operator=(const bp_accumulator&) = delete;

    /*!
     * \brief Add pulses to the current sub-image. On CUDA only enqueued.
     * \param dev_lines compressed lines in the target's memory, [pulses][axis.samples]
     * \param tx_m      antenna (transmitter) of each pulse, host memory, m
     * \param rx_m      receiver of each pulse, host memory; null unless bistatic
     */
    void add(const cf32* dev_lines, const vec3* tx_m, const vec3* rx_m, int pulses);

    //! Make the oldest sub-image the current one, empty.
    void advance();
    //! Forget all pulses of the image; the report goes on.
    void reset();

    //! Mean over the pulses, rows \p first_row .. + \p rows, into the target's memory,
    //! [rows][cols]. Zero where there are no pulses. On CUDA only enqueued.
    void write_rows(cf32* dev_out, int first_row, int rows);

    //! Pulses in the image, without skipped ones.
    std::uint64_t pulses_in_image() const;
    //! Pulses used, skipped and so on, without the counters of the device: does not wait.
    const bp_report& host_report() const { return d_report; }
    //! All of it. On CUDA waits until the device is done.
    bp_report report();

    const bp_accumulator_params& params() const { return d_params; }

protected:
    explicit bp_accumulator(const bp_accumulator_params& params);

    //! \param segment  cells that a patch can touch, at most (for patches)
    virtual void add_chunk(const cf32* dev_lines,
                           const bp::chunk& chunk,
                           bp::ranging how,
                           int segment,
                           int slot) = 0;
    virtual void clear(int slot) = 0;
    virtual void mean_rows(cf32* dev_out, int first_row, int rows, double scale) = 0;
    virtual void read_counters(std::uint64_t& outside, std::uint64_t& non_finite) = 0;

    const bp_accumulator_params d_params;
    const bp::scene d_scene;
    const bp::folding d_folding;
    int d_longest_segment = 0; //!< that patches may have, cells; 0: a backend without

private:
    struct patch_reach {
        int segment;    //!< cells that a patch can touch
        double along_m; //!< range from its middle to the end of its long side
    };
    patch_reach reach_of_patches(const bp::chunk& chunk, double nearest_m) const;
    double phase_bound(const bp::chunk& chunk, bp::ranging& how, int& segment) const;

    int d_slot = 0;
    std::vector<std::uint64_t> d_pulses; // per slot
    bp_report d_report;
};

} // namespace kernel
} // namespace sar
} // namespace gr
