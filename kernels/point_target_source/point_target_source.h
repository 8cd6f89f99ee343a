// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/cf32.h"
#include "../core/trajectory.h"
#include "../core/vec3.h"
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace sar {

//! A reflector that looks the same from everywhere.
struct point_target {
    vec3 position_m;
    std::complex<double> amplitude = 1;
};

//! \throws std::invalid_argument naming the first target that is not finite
SAR_KERNEL_API void require_finite(const std::vector<point_target>& targets);

struct point_target_source_params {
    acquisition acq;
    std::vector<point_target> targets;
    trajectory track;
    int pulses = 0;
    //! Mean power of the complex Gaussian noise of each raw sample (unit echo: 1).
    double noise_power = 0;
    std::uint64_t seed = 1;
    //! Time of the first pulse on the clock of the track, s.
    double start_s = 0;
    //! Full width of the antenna's beam along the track, rad; 0: it sees everything.
    double beam_rad = 0;
    //! Middle of the beam, rad from broadside, forward positive.
    double beam_squint_rad = 0;
    //! FMCW: the antenna moves on during a sweep; else it stands still from pulse to
    //! echo.
    bool sweep_motion = false;
};

namespace kernel {

/*!
 * \brief Raw echoes of point targets: pulsed LFM, FMCW and phase history over frequency.
 *
 * Formulas and conventions: point_target_source_math.h. Everything is computed in double
 * and rounded once, into the sample. A line depends on its number alone, so lines may be
 * computed in any order on any number of threads with the same bits.
 */
class SAR_KERNEL_API point_target_source
{
public:
    virtual ~point_target_source() = default;

    /*!
     * \throws std::invalid_argument on a waveform it cannot make (replica), a parameter
     * out of range, a target that is not finite, or a beam on a track that stands still
     * \throws std::out_of_range when the track does not cover a pulse
     */
    static std::unique_ptr<point_target_source>
    make(const point_target_source_params& params);

    virtual int samples() const = 0;
    virtual int pulses() const = 0;
    //! Antenna position of a pulse, m.
    virtual vec3 position(int pulse) const = 0;
    //! Write the acq.samples samples of line \p pulse.
    virtual void line(int pulse, cf32* out) const = 0;
};

} // namespace kernel

/*!
 * \brief All lines of a recording, on all cores.
 * \param lines     pulses x acq.samples
 * \param positions pulses antenna positions, m
 */
SAR_KERNEL_API void
simulate(const point_target_source_params& params, cf32* lines, vec3* positions);

} // namespace sar
} // namespace gr
