// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/api.h"
#include "../core/backend.h"
#include "../core/cf32.h"
#include "doppler_centroid_math.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

struct doppler_centroid_params {
    acquisition acq;
    int lines = 0;        //!< of a frame
    int oversampling = 1; //!< of the compressed lines
    //! Coefficients of the centroid, Hz, absolute, in measured slant range minus
    //! acq.slant_range_first_m, lowest first; empty: estimate.
    std::vector<double> given;
    int order = 0; //!< of the polynomial to estimate, 0 to 3
};

//! What is known of the centroid of a frame.
struct centroid_estimate {
    //! Absolute, Hz, in slant range minus acq.slant_range_first_m, lowest first.
    std::vector<double> coefficients_hz;
    std::string method; //!< "estimate", "given", or "none": no signal, the acquisition's
    //! Fraction of the PRF that shows in the data, within half a PRF of 0, in the middle
    //! of the swath; its standard error; the whole number of PRFs to add.
    double baseband_hz = 0;
    double standard_error_hz = 0;
    int ambiguity = 0;
    //! Probability of that number, 0 to 1, as the data see it.
    double ambiguity_confidence = 0;
    //! Correlation of neighbouring lines, 0 to 1.
    double coherence = 0;
    //! From range diversity alone, absolute, and its standard error (infinite: nothing).
    double diversity_hz = 0;
    double diversity_error_hz = 0;
    //! From looks: score of the best number and of the second, in standard deviations.
    double look_score = 0;
    double look_next_score = 0;
    int look_passes = 0;
};

/*!
 * \brief Doppler centroid of frames of compressed lines, with its ambiguity.
 *
 * The beam looks a little ahead or astern, so the azimuth spectrum is centred at
 * f = baseband + M PRF. The parts, and an error of each from the data's own scatter:
 *
 * Baseband: phase of the correlation of neighbouring lines,
 *
 *     f = PRF / (2 pi) arg sum e,   e = sum x[n+1] conj x[n] / sqrt(sum |x|^2)
 *
 * over 8 x 16 blocks of lines and cells; the root of the power keeps a bright target that
 * only just enters the beam from deciding alone. Its standard error is from the scatter
 * of the blocks along lines and along range. A polynomial in range is fitted to the
 * phases of the blocks along range. No signal, i.e. a correlation that noise would show
 * as well (5 standard deviations), is said so.
 *
 * Looks tell M in a scene with contrast: two bands of Doppler, at f -+ 0.2 q PRF and 0.4
 * q PRF wide, are focused as for a centroid f + M' PRF and detected. A target lies at
 * range R0 / D(f) in the band at f, so for a wrong M' the two images are displaced in
 * range, by several cells a PRF; the correlation over range says by how much. That is
 * found from far away; then M' - 2 .. M' + 2 are each focused and the correlation at no
 * displacement is compared. From a correlation R(d) the score R(d) - (R(d - h) + R(d +
 * h)) / 2, h the displacement of a PRF, takes off what is broad (land beside water).
 * q <= 1 makes that displacement some cells and the aperture shorter than the frame.
 *
 * Range diversity tells M where there is no contrast: f is proportional to the carrier,
 * so the phase of the correlation of neighbouring lines has a slope over range frequency,
 * f / f0 2 pi / PRF a Hz. Error by the jackknife over 16 blocks of lines.
 *
 * Both are weighed together: the likelihood of M is that of its score s against the best
 * one, exp(-(s_best - s)^2 / 2 / (sigma^2 + (s_best / 4)^2)), sigma from the correlation
 * elsewhere and a quarter for what the model leaves out, times that of range diversity.
 *
 * Sources: S. Madsen, Estimating the Doppler centroid of SAR data, IEEE Trans. AES 25
 * (1989). I. Cumming, P. Kavanagh, M. Ito, Resolving the Doppler ambiguity for spaceborne
 * SAR, IGARSS 1986. F. Wong, I. Cumming, A combined SAR Doppler centroid estimation
 * scheme based upon signal phase, IEEE Trans. GRS 34 (1996). R. Bamler, H. Runge,
 * PRF-ambiguity resolving by wavelength diversity, IEEE Trans. GRS 29 (1991).
 *
 * A line with a value that is not finite counts as zeros here, but is given out as it
 * came.
 */
class SAR_KERNEL_API doppler_centroid
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<doppler_centroid> make(const doppler_centroid_params& params,
                                                  const compute_target& target);
    virtual ~doppler_centroid() = default;

    //! Lines first .. first + count - 1 of the frame, in the memory of the target; on
    //! CUDA the work is enqueued only.
    virtual void take(const cf32* lines, int first, int count) = 0;
    //! Lines of the frame as they came.
    virtual void give(cf32* out, int first, int count) = 0;
    //! Of the frame, of which \p filled lines were taken. On CUDA this waits, since the
    //! result is for the host.
    centroid_estimate estimate(int filled);

    //! Lines so far with a value that is not finite. On CUDA this waits.
    virtual std::uint64_t bad_lines() const = 0;

    const doppler_centroid_params& params() const { return d_params; }
    int samples() const { return d_shape.samples; }

protected:
    static constexpr int line_blocks = 8;
    static constexpr int cell_blocks = 16;
    static constexpr int jackknife_blocks = 16;
    static constexpr int look_blocks = 8;

    explicit doppler_centroid(const doppler_centroid_params& params);

    //! Sizes, fixed by the parameters.
    struct shape {
        int lines = 0;
        int samples = 0;
        int first_cell = 0; //!< that holds complete echoes, and their number
        int cells = 0;
        int window_first = 0; //!< cells that the ambiguity is found from
        int window_cells = 0;
        int length = 0;    //!< of transforms over range
        int rows = 0;      //!< of the azimuth transform
        int look_rows = 0; //!< of the azimuth transform of a look
        int max_bins = 0;  //!< Doppler bins of a look, at most
    };

    //! Two looks and what of them is compared.
    struct look_pair {
        std::vector<look_bin> bins[2];
        double first_closest_m = 0; //!< closest range of the window's first cell
        double closest_step_m = 0;
        int group = 1;       //!< rows of a look that are averaged
        int first_group = 0; //!< of those that lie wholly within the frame
        int groups = 0;
    };

    //! Of a correlation over range: [look_blocks][length], the lag 0 first, and the
    //! power of the two images in each block.
    struct look_correlation {
        std::vector<cf32> values;
        std::vector<double> power; //!< [groups][2]
    };

    //! Sums over line blocks and cell blocks of the complete cells, row by row.
    virtual std::vector<lag_sums> sum_pairs(int filled, int rows, int cols) = 0;
    //! Transform the window over range and, after the sums over pairs of lines
    //! ([blocks][length]), over the lines; kept for correlate().
    virtual std::vector<lag_sums> transform(int filled, int blocks) = 0;
    virtual look_correlation correlate(const look_pair& looks) = 0;

    const doppler_centroid_params d_params;
    shape d_shape;

private:
    struct scores;
    struct look_result;

    void find_baseband(int filled, centroid_estimate& e, std::vector<double>& phases);
    void find_by_diversity(int filled, centroid_estimate& e);
    void find_ambiguity(int filled, double baseband_hz, int first, centroid_estimate& e);

    double factor(double frequency_hz) const;
    double fm_rate(double centroid_hz) const;
    double displacement(double centroid_hz, double share) const;
    double share_for(double centroid_hz, double cells, int filled) const;
    look_pair looks_at(double centroid_hz, double share, int filled) const;
    look_result look(double baseband_hz, int ambiguity, double cells, int filled);

    range_axis d_axis;
    double d_velocity_m_s = 0; // in the middle of the window; 0: not known
    double d_middle_m = 0;     // measured range there
    bool d_geometry = false;
};

#ifdef SAR_HAVE_CUDA
std::unique_ptr<doppler_centroid>
make_doppler_centroid_cuda(const doppler_centroid_params& params,
                           const compute_target& target);
#endif

} // namespace kernel
} // namespace sar
} // namespace gr
