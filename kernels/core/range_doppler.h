// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "acquisition.h"
#include "api.h"
#include "constants.h"
#include "hd.h"
#include "window.h"
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace sar {

/*!
 * \brief Where a point lies in a range-Doppler image.
 *
 * zero_doppler: at its closest approach, time and slant range. centroid: where the middle
 * of the beam sees it, time and slant range (the raw data's own geometry).
 */
enum class image_geometry { zero_doppler, centroid };

SAR_KERNEL_API image_geometry image_geometry_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(image_geometry g);

/*!
 * \brief Numbers of one frame in the range-Doppler domain, for host and device.
 *
 * The model: an antenna on a straight line at velocity V, a point with closest range R0
 * passed at time 0, R(eta) = sqrt(R0^2 + V^2 eta^2). Its echo in the Doppler spectrum, by
 * stationary phase, lies at range R0 / D(f) with phase -4 pi R0 f0 D(f) / c, where
 *
 *     D(f) = sqrt(1 - (c f / (2 V f0))^2)          the migration factor,
 *     eta(f) = -c R0 f / (2 f0 V^2 D(f))           the time at which it has Doppler f,
 *     -d eta / d f = c R0 / (2 f0 V^2 D^3)         one over the azimuth FM rate.
 *
 * Doppler frequencies are absolute: bin k of the azimuth transform stands for the one of
 * k PRF / N + m PRF nearest to the centroid, which may be many PRFs from zero; the edge
 * of the band, half a PRF from it, is its lower one.
 *
 * Source: Cumming and Wong, Digital Processing of Synthetic Aperture Radar Data, sections
 * 5.3 and 6.3 (the hyperbolic form of 6.24, not the parabolic approximation).
 */
struct range_doppler_frame {
    int lines = 0; //!< of the frame, before the azimuth transform
    int rows = 0;  //!< length N of the azimuth transform
    int cols = 0;  //!< samples of a line, and cells of an image row
    double prf_hz = 0;
    double carrier_hz = 0;
    double bandwidth_hz = 0;
    double line_first_m = 0; //!< measured slant range of sample 0 (with the bias)
    double spacing_m = 0;    //!< of samples and of cells
    double bias_m = 0;       //!< measured minus true range
    image_geometry geometry = image_geometry::zero_doppler;
    //! zero_doppler: closest range of cell 0. centroid: true slant range of cell 0.
    double out_first_m = 0;
    //! Closest range in the middle of the swath (of the samples to which whole pulses
    //! belong): the reference.
    double middle_m = 0;
    double velocity_m_s = 0; //!< there
    double centroid_hz = 0;  //!< there
    double factor = 1;       //!< D of the centroid there
    //! Velocity and centroid are the same over the swath.
    bool uniform = true;
    //! Image row i is row (i + first_row) modulo rows of the inverse transform: row 0 of
    //! the image lies first_row / prf_hz after the first line.
    int first_row = 0;
};

//! One row (Doppler bin) of a frame at the middle of the swath.
struct doppler_row {
    double frequency_hz; //!< absolute
    double factor;       //!< D
};

//! One cell (column) of the image.
struct doppler_column {
    double closest_m; //!< R0
    double velocity_m_s;
    double centroid_hz;
    double beam_delay_s; //!< eta of the centroid: beam centre minus closest approach
};

//! Absolute Doppler frequency of bin \p row next to a centroid, Hz.
SAR_HD double doppler_frequency(const range_doppler_frame& f, int row, double centroid_hz)
{
    const double base = row * f.prf_hz / f.rows;
    // 1e-9: the same end of the band for every way of rounding
    return base + f.prf_hz * ceil((centroid_hz - base) / f.prf_hz - 0.5 - 1e-9);
}

//! D(f) = sqrt(1 - (c f / (2 V f0))^2)
SAR_HD double
migration_factor(double frequency_hz, double velocity_m_s, double carrier_hz)
{
    const double s = speed_of_light * frequency_hz / (2 * velocity_m_s * carrier_hz);
    return sqrt(1 - s * s);
}

//! Closest range of cell \p col when velocity and centroid are uniform, m.
SAR_HD double closest_range(const range_doppler_frame& f, int col)
{
    const double r = f.out_first_m + col * f.spacing_m;
    return f.geometry == image_geometry::centroid ? r * f.factor : r;
}

//! Sample (fractional) of the line at Doppler factor \p factor that belongs to a closest
//! range: the migration R0 / D, hyperbolic.
SAR_HD double
migrated_sample(const range_doppler_frame& f, double closest_m, double factor)
{
    return (closest_m / factor + f.bias_m - f.line_first_m) / f.spacing_m;
}

/*!
 * \brief Phase of the azimuth matched filter, cycles: 2 f0 (R0 D + bias) / c + 1/8.
 *
 * The eighth is that of the stationary phase. With the centroid geometry the response is
 * also moved by \p delay_s (0 else).
 */
SAR_HD double azimuth_filter_cycles(const range_doppler_frame& f,
                                    double closest_m,
                                    double factor,
                                    double frequency_hz,
                                    double delay_s)
{
    return 2 * f.carrier_hz / speed_of_light * (closest_m * factor + f.bias_m) + 0.125 -
           frequency_hz * delay_s;
}

/*!
 * \brief Secondary range compression of one row: phase over range frequency.
 *
 * In the Doppler spectrum the range phase of a point at R_ref is
 * -4 pi R_ref / c sqrt((f0 + ft)^2 - (c f / 2V)^2): carrier and migration are its terms
 * of order 0 and 1 in ft, and this takes off the rest, orders 2 to 5 of the Taylor series
 * in x = ft / f0 (order 2 alone is the usual K_src, Cumming and Wong 6.22). With a = 1 /
 * D^2:
 *
 *     sqrt(D^2 + 2 x + x^2) = D (1 + a x + q2 x^2 + q3 x^3 + q4 x^4 + q5 x^5 + ...)
 *     q2 = a (1 - a) / 2,  q3 = a^2 (a - 1) / 2,  q4 = -a^2 / 8 + 3 a^3 / 4 - 5 a^4 / 8,
 *     q5 = 3 a^3 / 8 - 5 a^4 / 4 + 7 a^5 / 8
 */
struct src_phase {
    double c2, c3, c4, c5; //!< cycles per x^n
};

SAR_HD src_phase src_of_row(const range_doppler_frame& f, double factor)
{
    const double a = 1 / (factor * factor);
    const double scale = 2 * f.middle_m * f.carrier_hz * factor / speed_of_light;
    return { scale * a * (1 - a) / 2,
             scale * a * a * (a - 1) / 2,
             scale * a * a * (-0.125 + a * (0.75 - a * 0.625)),
             scale * a * a * a * (0.375 + a * (-1.25 + a * 0.875)) };
}

//! Phase of the SRC filter at x = range frequency / carrier, cycles.
SAR_HD double src_cycles(const src_phase& p, double x)
{
    return x * x * (p.c2 + x * (p.c3 + x * (p.c4 + x * p.c5)));
}

struct range_doppler_params {
    acquisition acq;
    int oversampling = 1; //!< of the compressed lines
    int lines = 0;        //!< of a frame
    int fft_length = 0;   //!< rows; 0: the smallest fast length >= lines
    image_geometry geometry = image_geometry::zero_doppler;
};

//! The Doppler band that is processed, and how it is weighted and split into looks.
struct doppler_band {
    window weighting;
    double bandwidth_hz = 0; //!< 0: the PRF
    int looks = 1;           //!< sub-bands of equal width, without overlap
};

/*!
 * \brief Tables and checks behind range_doppler_frame, for all stages of the chain.
 *
 * Not for the inner loops. A Doppler centroid that was estimated replaces that of the
 * acquisition by set_centroid().
 */
class SAR_KERNEL_API range_doppler_plan
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation: lines,
    //! fft_length, a missing effective velocity, a Doppler beyond 2 V / wavelength, a
    //! range reference other than the antenna
    explicit range_doppler_plan(const range_doppler_params& params);

    //! Coefficients in slant range minus acq.slant_range_first_m, lowest first; 1 to 4.
    void set_centroid(const std::vector<double>& coefficients_hz);
    const std::vector<double>& centroid() const { return d_centroid; }

    const range_doppler_params& params() const { return d_params; }
    const range_doppler_frame& frame() const { return d_frame; }
    //! Samples of a line, and so cells in the middle of the beam, to which whole pulses
    //! belong: first .. first + count - 1; all where pulses are no part of it.
    void complete(int& first, int& count) const;

    double velocity_at(double slant_range_m) const;
    double centroid_at(double slant_range_m) const;

    //! All rows, at the middle of the swath.
    std::vector<doppler_row> rows() const;
    //! All cells.
    std::vector<doppler_column> columns() const;

    /*!
     * \brief Factor by cell that makes the peak of a unit point 1.
     *
     * After the matched filter and an unscaled inverse transform, whose 1 / N is in here,
     * a point is PRF sum_k w_k sqrt(-d eta / d f) / N. An image value is the mean over
     * the aperture: where the frame is shorter than the time in the band, only that share
     * of the spectrum is there.
     */
    std::vector<float> gains(const doppler_band& band, int look = 0) const;

    //! Weight of a frequency relative to the centroid, for one look.
    static double
    weight(const doppler_band& band, double prf_hz, double offset_hz, int look);

    //! Lines from the first to the last moment in the band, the most over the swath.
    int aperture_lines(const doppler_band& band) const;
    //! Image rows of which the whole aperture lies within the frame, over the whole
    //! swath: \p first and number (0 when there is none).
    int valid_rows(const doppler_band& band, int& first) const;

    static double bandwidth(const doppler_band& band, double prf_hz)
    {
        return band.bandwidth_hz > 0 ? band.bandwidth_hz : prf_hz;
    }

private:
    void derive();

    const range_doppler_params d_params;
    range_doppler_frame d_frame;
    std::vector<double> d_velocity; // polynomials, constant first
    std::vector<double> d_centroid;
};

//! Smallest length >= n with no prime factor above 7.
SAR_KERNEL_API int fast_fft_length(int n);

//! Longest line that one thread block of a GPU transforms.
constexpr int longest_block_line = 20480;

/*!
 * \brief Length >= n for transforms of lines, the same on every backend: filters depend
 * on it.
 *
 * Up to longest_block_line: 8, 9, 10 or 12 times a power of two, for which the GPU has
 * kernels of its own. A few zeros more cost little there: they never get to device
 * memory. Up to 2^16: fast_fft_length(). Beyond: 4, 5, 6 or 7 times a power of two, since
 * FFTW takes minutes to plan odd lengths there.
 */
SAR_KERNEL_API int line_fft_length(int n);

} // namespace sar
} // namespace gr
