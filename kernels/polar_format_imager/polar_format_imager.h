// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "../core/image_grid.h"
#include "../core/target_memory.h"
#include "../core/window.h"
#include "../pulse_compression/pulse_compression.h"
#include "polar_format_imager_math.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief What is done about the curvature of the wavefront. Written by users as
 * "correct", "warn", "refuse".
 *
 * correct: what it displaces is put back; what it defocuses stays. refuse: likewise, and
 * a grid on which it defocuses by more than polar_format_phase_limit_rad is an error.
 * warn: plain polar format, points stay where the plane wave puts them.
 */
enum class curvature_mode { correct, warn, refuse };

SAR_KERNEL_API curvature_mode curvature_mode_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(curvature_mode c);

//! Quadratic phase error, edge of the aperture against its middle, up to which a point
//! counts as focused, rad. It takes 0.24 dB off the peak; half a radian takes 0.1 dB.
constexpr double polar_format_phase_limit_rad = pi / 4;

/*!
 * \brief Radius of the scene that polar format focuses, m.
 *
 * A wavefront of radius R departs from its tangent plane by s^2 / (2 R), s the distance
 * across the line of sight. A point y behind or before the middle of the scene has
 * s = y sin(theta) at the aspect theta, which leaves the phase
 * (4 pi / lambda) y^2 theta^2 / (2 R) at the edge of an aperture of angle 2 theta against
 * its middle. It stays below phi for
 *
 *     y <= sqrt(2 R lambda phi / pi) / (2 theta),
 *
 * which is rho sqrt(2 R / lambda) for phi = pi / 4 and the cross-range resolution
 * rho = lambda / (4 theta). Points beside the middle fare better by sqrt(2). Source:
 * Carrara, Goodman, Majewski, Spotlight Synthetic Aperture Radar (1995), chapter 3;
 * A. Doerry, Basics of Polar-Format Algorithm for Processing Synthetic Aperture Radar
 * Images, Sandia report SAND2012-3369 (2012).
 *
 * \param range_m      R, from the antenna to the middle of the scene
 * \param wavelength_m lambda, in the middle of the band
 * \param aperture_rad 2 theta, angle that the aperture is seen under from the scene
 * \param phase_rad    phi, the largest phase error
 * \throws std::invalid_argument unless all are positive
 */
SAR_KERNEL_API double
polar_format_radius_m(double range_m,
                      double wavelength_m,
                      double aperture_rad,
                      double phase_rad = polar_format_phase_limit_rad);

struct polar_format_imager_params {
    acquisition acq;
    image_grid grid;
    int pulses;    //!< of an aperture: so many lines are kept
    int slots = 1; //!< parts of it, of which the oldest is dropped by advance()
    window range_window = window();
    window azimuth_window = window(); //!< over the pulses of the aperture
    std::vector<cf32> replica = {};   //!< of the pulse, for waveform::replica only
    curvature_mode curvature = curvature_mode::correct;
    bool bistatic = false;
};

//! How far a plane wave is from the truth, over the pixels of the grid.
struct polar_format_figures {
    double phase_error_rad = 0; //!< largest phase error left, over the aperture
    double displacement_m = 0;  //!< largest distance of a point from where it appears
    double range_m = 0;         //!< from the middle of the aperture to that of the grid
    double aperture_rad = 0;    //!< angle between the first and last direction
    double radius_m = 0; //!< polar_format_radius_m() of these; infinite: one aspect
};

/*!
 * \brief Everything that the geometry of one aperture decides, computed on the host.
 *
 * Pulses are in order of direction. \throws std::invalid_argument (see the class below)
 */
struct SAR_KERNEL_API polar_format_plan {
    polar_format_plan() = default;
    //! \param tx_m, rx_m of each pulse, in order of time; rx_m null unless bistatic
    //! \param lines      where each pulse's line is in the store
    polar_format_plan(const polar_format_imager_params& params,
                      const vec3* tx_m,
                      const vec3* rx_m,
                      const std::vector<int>& lines);

    pfa::scene scene;
    std::vector<pfa::ray> rays;
    std::vector<pfa::turn> turns;
    std::vector<double> slopes;
    polar_format_figures figures;
};

//! What happened since the start.
struct polar_format_report {
    std::uint64_t pulses = 0;         //!< used
    std::uint64_t skipped_pulses = 0; //!< with a position that is not finite
    std::int64_t first_skipped = -1;  //!< number of the first of them
    std::uint64_t bad_lines = 0;      //!< with samples that are not finite: zeroed
    std::uint64_t images = 0;         //!< formed
    polar_format_figures figures;     //!< of the newest image
    int lattice_rows = 0, lattice_cols = 0;
};

/*!
 * \brief Raw lines of an aperture and their positions to an image, by polar format.
 *
 * The image is that of bp_accumulator on the same grid (mean over pulses and band, a unit
 * point has peak 1 and phase 0), as far as the wavefronts are planes: the maths is in
 * polar_format_imager_math.h. Any track and any plane of pixels; the order of the pulses
 * and the spacing of their directions are free.
 *
 * The last `pulses` lines are kept, compressed, in the target's memory. An image is made
 * when its first row is asked for. On CUDA work is enqueued only, but for the plan: when
 * another lattice is needed than for the image before, memory is allocated.
 *
 * An aperture is refused with std::invalid_argument when no image is right there:
 * - pixels lie outside the swath (FX and FMCW: the alias-free range)
 * - the phase between neighbouring pulses changes by more than a cycle over the grid:
 *   too few pulses for it, and all would be seen twice
 * - directions spread over more than 75 degrees from their mean
 * - curvature is refuse, and the phase error exceeds polar_format_phase_limit_rad
 */
class SAR_KERNEL_API polar_format_imager
{
public:
    //! \throws std::invalid_argument on parameters that contradict each other,
    //! std::runtime_error when memory cannot be had
    static std::unique_ptr<polar_format_imager>
    make(const polar_format_imager_params& params, const compute_target& target);
    virtual ~polar_format_imager() = default;
    polar_format_imager(const polar_format_imager&) = delete;
    polar_format_imager& operator=(const polar_format_imager&) = delete;

    /*!
     * \brief Add pulses to the aperture. On CUDA only enqueued.
     * \param dev_lines raw lines in the target's memory, [pulses][acq.samples]
     * \param tx_m      antenna (transmitter) of each pulse, host memory, m
     * \param rx_m      receiver of each pulse, host memory; null unless bistatic
     */
    void add(const cf32* dev_lines, const vec3* tx_m, const vec3* rx_m, int pulses);

    //! Forget the oldest part of the aperture, and put what comes into a new one.
    void advance();
    //! Forget all pulses; the report goes on.
    void reset();

    //! Rows \p first_row .. + \p rows of the image, into the target's memory,
    //! [rows][cols]. Zero where there are no pulses.
    void write_rows(cf32* dev_out, int first_row, int rows);

    //! Pulses in the aperture, without skipped ones.
    std::uint64_t pulses_in_image() const { return d_count; }
    //! Without the counters of the device: does not wait.
    const polar_format_report& host_report() const { return d_report; }
    //! All of it. On CUDA waits until the device is done.
    polar_format_report report();
    //! Memory that it holds, bytes.
    std::size_t bytes() const { return d_lines.bytes() + held_bytes(); }

    const polar_format_imager_params& params() const { return d_params; }

protected:
    polar_format_imager(const polar_format_imager_params& params,
                        const compute_target& target);

    //! Spectra, cells and the image's lattice, of d_plan.
    virtual void form() = 0;
    virtual void read(cf32* dev_out, int first_row, int rows) = 0;
    virtual void clear(cf32* dev_out, std::size_t pixels) = 0;
    virtual std::size_t held_bytes() const = 0;

    const polar_format_imager_params d_params;
    const int d_samples; //!< of a compressed line
    target_memory d_lines;
    polar_format_plan d_plan;

private:
    void image();

    std::unique_ptr<pulse_compression> d_compression;
    std::vector<vec3> d_tx, d_rx; // of the lines kept, by place in the store
    int d_first = 0;              // place of the oldest
    int d_count = 0;
    int d_slot = 0;
    std::vector<int> d_in_slot;
    bool d_formed = false;
    polar_format_report d_report;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<polar_format_imager>
make_polar_format_imager_cuda(const polar_format_imager_params& params,
                              const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
