// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/image_grid.h"
#include "../core/vec3.h"
#include "../core/window.h"
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! Where the aperture of a point ends.
enum class aperture_ends {
    angle,   //!< at two positions of the antenna, or ends of its beam: back-projection
    doppler, //!< at two Doppler frequencies, the same over the whole band: range-Doppler
             //!< and its kin, when they cut the Doppler band
};

SAR_KERNEL_API aperture_ends aperture_ends_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(aperture_ends e);

//! How an image was taken: what the response of a point must look like.
struct point_target_geometry {
    //! Ends of the aperture: the antenna at the first and the last pulse, and with few
    //! pulses half a pulse interval further (N pulses resolve as N intervals, not N - 1).
    vec3 aperture_start_m = { 0, 0, 0 };
    vec3 aperture_centre_m = { 0, 0, 0 }; //!< antenna in the middle of the aperture
    vec3 aperture_end_m = { 0, 0, 0 };
    double carrier_hz = 0; //!< middle of the band
    double bandwidth_hz = 0;
    window range_window;
    window azimuth_window;
    aperture_ends ends = aperture_ends::angle;
};

//! What counts as good: differences from theory, both signs. Defaults: DESIGN for
//! back-projection and omega-k.
struct point_target_limits {
    double position_cells = 1.0 / 32;
    double irw = 0.01; //!< relative
    double pslr_db = 0.2;
    double islr_db = 0.3;
    double phase_rad = 0.02;
    //! For range-Doppler and chirp scaling.
    static point_target_limits range_doppler()
    {
        return { 1.0 / 16, 0.02, 0.3, 0.5, 0.05 };
    }
};

struct point_target_options {
    int chip = 64; //!< pixels a side, at least; grows until 10 null distances fit
    //! Where the target is looked for, cells around the expected position.
    double search_cells = 5;
    double expected_phase_rad = 0; //!< phase of the target's amplitude
    //! A peak that stands out less than this over the median of the chip is no target.
    double least_peak_to_median_db = 12;
    bool keep_cuts = false; //!< put the cuts into the report
};

//! One direction of the response.
struct cut_report {
    vec3 direction = { 0, 0, 0 }; //!< unit vector in the plane
    double cell_m = 0;            //!< one over the bandwidth, along the cut
    double position_error_m =
        std::numeric_limits<double>::quiet_NaN(); //!< found - expected
    double position_error_cells = std::numeric_limits<double>::quiet_NaN();
    double irw_m = std::numeric_limits<double>::quiet_NaN();
    double irw_theory_m = 0;
    double pslr_db = std::numeric_limits<double>::quiet_NaN();
    double pslr_theory_db = 0;
    double islr_db = std::numeric_limits<double>::quiet_NaN();
    double islr_theory_db = 0;  //!< over the same extent as islr_db
    double extent_before_m = 0; //!< how far the cut reaches from the peak
    double extent_after_m = 0;
    double half_before_m =
        std::numeric_limits<double>::quiet_NaN(); //!< -3 dB, parts of irw_m
    double half_after_m = std::numeric_limits<double>::quiet_NaN();
    double null_before_m =
        std::numeric_limits<double>::quiet_NaN(); //!< ends of the main lobe
    double null_after_m = std::numeric_limits<double>::quiet_NaN();
    //! With point_target_options::keep_cuts the cut itself, power over that of its peak,
    //! and what theory says, both from -extent_before_m to extent_after_m.
    std::vector<float> power;
    std::vector<float> power_theory;
};

struct point_target_report {
    bool found = false;
    std::string problem;           //!< why it could not be measured; empty when found
    vec3 expected_m = { 0, 0, 0 }; //!< projected onto the plane of the image
    vec3 position_m = { 0, 0, 0 };
    double peak_amplitude = 0;
    //! Phase of the image at the expected position minus expected_phase_rad, rad.
    double phase_error_rad = std::numeric_limits<double>::quiet_NaN();
    double peak_to_median_db = 0; //!< over the chip
    cut_report range;
    cut_report azimuth;
    bool pass = false;
    std::vector<std::string> failures; //!< one sentence a figure that misses its limit
};

/*!
 * \brief Measure one point target in a complex image.
 *
 * Steps: take a chip around the brightest pixel near the expected position; take the
 * carrier off, which is spatially aliased in most images, exp(-j 4 pi fc (R(p) - R(p0)) /
 * c) with R the range from the middle of the aperture, in double; taper the rim,
 * transform and evaluate the trigonometric polynomial where needed (spectrum centred on
 * the signal, Nyquist bin split), which interpolates band-limited data exactly; find the
 * peak with Newton's method; sample the cuts of image_quality_math.h at 1/64 of the
 * expected width.
 *
 * PSLR is taken outside the first nulls. ISLR: main lobe null to null, sidelobes out to
 * 10 null distances on each side or to the rim of the chip; its theory (and that of IRW
 * and PSLR) is measured by the same code over the same extent, on the sum over all wave
 * vectors of the point: the windows, and what a wide beam and a wide band do to them. For
 * rect and a narrow beam that is -10.1 dB at 10 null distances; -9.68 dB is the limit for
 * a boundless cut.
 *
 * A target that cannot be measured (outside, at the edge, lost in noise, not finite)
 * gives a report with found = false and the reason.
 *
 * \param image grid.rows x grid.cols pixels
 * \throws std::invalid_argument on a geometry or options that describe nothing
 */
SAR_KERNEL_API point_target_report
measure_point_target(const cf32* image,
                     const image_grid& grid,
                     vec3 expected_m,
                     const point_target_geometry& geometry,
                     const point_target_options& options = {},
                     const point_target_limits& limits = {});

//! Sentences for the figures of a report that miss the limits; empty when all hold.
SAR_KERNEL_API std::vector<std::string> check_limits(const point_target_report& report,
                                                     const point_target_limits& limits);

//! What a window does to a point, over an extent in cells on either side of the peak.
struct window_figures {
    double null_cells; //!< first null
    double pslr_db;
    double islr_db; //!< null to null against the rest of the extent
};
SAR_KERNEL_API window_figures theory_of(const window& w,
                                        double cells_before,
                                        double cells_after);

//! Figures of a whole image. Pixels that are not finite count in nothing but their
//! number.
struct image_figures {
    std::uint64_t pixels = 0;
    std::uint64_t non_finite = 0;
    double peak = 0;        //!< largest magnitude
    double mean = 0;        //!< of the magnitude
    double contrast = 0;    //!< standard deviation over mean of the magnitude
    double entropy_nat = 0; //!< of the intensity: - sum p ln p, p = |z|^2 / sum |z|^2
    double peak_to_median_db = 0;
    double saturated = 0; //!< share of pixels with a part at or over full_scale
};

/*!
 * \param full_scale level at which real or imaginary part counts as saturated; 0: none
 * does
 */
SAR_KERNEL_API image_figures image_statistics(const cf32* image,
                                              std::size_t pixels,
                                              double full_scale = 0);

//! A target that an image is expected to show.
struct expected_target {
    vec3 position_m;
    std::complex<double> amplitude = 1;
};

struct image_quality_params {
    image_grid grid;
    point_target_geometry geometry;
    std::vector<expected_target> targets;
    point_target_limits limits = {};
};

struct image_quality_report {
    std::uint64_t image = 0; //!< number of the image
    image_figures figures;
    std::vector<point_target_report> targets;
    bool pass = false; //!< every target found and within limits, no pixel non-finite
};

namespace kernel {

//! Measure images of one grid again and again.
class SAR_KERNEL_API image_quality
{
public:
    virtual ~image_quality() = default;
    //! \throws std::invalid_argument as measure_point_target
    static std::unique_ptr<image_quality> make(const image_quality_params& params);
    virtual image_quality_report measure(const cf32* image,
                                         std::uint64_t number) const = 0;
};

} // namespace kernel

} // namespace sar
} // namespace gr
