// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/cf32.h"
#include "../core/pulse_arrival.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! What is known of when transmission began.
enum class delay_ambiguity {
    cyclic,      //!< nothing: the pulses come without end, the delay is modulo the PRI
    first_pulse, //!< the first pulse lies in the stream, behind silence: no ambiguity
};

SAR_KERNEL_API delay_ambiguity delay_ambiguity_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(delay_ambiguity a);

struct delay_calibration_params {
    std::vector<cf32> replica; //!< the transmitted pulse at the sampling rate
    double sample_rate_hz = 0;
    double pri_samples = 0; //!< need not be whole
    int pulses = 64;        //!< to measure
    //! When pulse 0 was sent, in samples from the first of the stream; may be negative.
    double first_pulse_samples = 0;
    delay_ambiguity ambiguity = delay_ambiguity::cyclic;
    double least_snr_db = 15; //!< of each pulse
    //! A second channel carries the pulse as it was sent; delays count from there.
    bool reference = false;
    //! Delay of what lies between the radio's ports, or antennas, only while it is
    //! calibrated (cable, way to a reflector): taken off.
    double cable_delay_s = 0;
    int response_taps = 0;   //!< on either side of the pulse, of the response; 0: none
    double search_s = 1;     //!< give up when there was no pulse for so long
    double full_scale = 1.0; //!< level at which samples clip; 0: not looked at
};

//! A pulse that was measured.
struct calibration_pulse {
    int number = 0; //!< from the first that was seen
    double time_s = 0;
    double delay_samples = 0; //!< of the straight line's points: a - k PRI - first
    double phase_rad = 0;
    double amplitude = 0;
    double snr_db = 0;
};

struct delay_estimate {
    bool valid = false;
    std::string problem;               //!< why it is not valid, and what to change
    std::vector<std::string> warnings; //!< a sentence each
    double delay_s = 0; //!< of the radio: measured minus cable_delay_s, at time_s
    double delay_std_s = 0;
    double phase_rad = 0; //!< of the received pulse in baseband, at time_s
    double phase_std_rad = 0;
    double amplitude_db = 0; //!< of the received pulse over the replica
    double snr_db = 0;       //!< of one pulse after correlation
    int pulses = 0;
    int pulses_missing = 0;
    //! Received minus transmitted carrier, within half a PRF of 0.
    double residual_frequency_hz = 0;
    double residual_frequency_std_hz = 0;
    double drift_samples_per_s = 0;
    double drift_std_samples_per_s = 0;
    double drift_rad_per_s = 0; //!< 2 pi residual_frequency_hz
    double ambiguity_s = 0;     //!< delay_s is known modulo that; 0: it is known
    double cable_delay_s = 0;
    double time_s = 0;  //!< of the middle of the measurement, from the first sample
    double clipped = 0; //!< share of samples at full scale
    std::vector<calibration_pulse> arrivals;
    /*!
     * Impulse response of the path over the band of the pulse, delay, phase and amplitude
     * taken off: taps -response_taps .. response_taps. 1 outside the band.
     */
    std::vector<cf32> response;
    //! Its inverse: filters the received pulse to the replica again.
    std::vector<cf32> equaliser;
    //! The received pulse, mean of all: from -response_taps samples before the pulse.
    std::vector<cf32> received;
};

namespace kernel {

/*!
 * \brief Delay and phase between sending and receiving, out of leakage or a loopback.
 *
 * Looks for the pulse over a whole PRI, then follows it from pulse to pulse
 * (pulse_arrival both times), so that clocks that differ by up to 50 ppm and lost pulses
 * do no harm, and puts straight lines through delays and phases
 * (delay_calibration_math.h). It takes the samples as they come, in pieces of any size,
 * and holds about one PRI of them.
 *
 * An estimate is refused, with a sentence that says what to change, when no pulse of
 * least_snr_db comes within search_s, when half the pulses are missing behind the first,
 * or when the delay jumps, which is what lost samples look like.
 *
 * Response: the spectra X of the received pulses, delay and phase taken off, are added
 * up, and with P that of the replica
 *
 *     H = w X P* / |P|^2 + (1 - w),   w = |P|^2 / (|P|^2 + N)
 *
 * with N the noise power of X, so that H becomes 1 where the pulse has no energy.
 * equaliser is 1 / H.
 */
class SAR_KERNEL_API delay_calibration
{
public:
    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<delay_calibration>
    make(const delay_calibration_params& params);
    virtual ~delay_calibration() = default;

    /*!
     * \brief \p n samples more; \p reference only with params().reference.
     * \return true when the estimate is there; further samples are ignored then
     */
    virtual bool take(const cf32* samples, const cf32* reference, int n) = 0;

    /*!
     * \brief Forget everything: a new measurement, or samples were lost.
     * \param first_pulse_samples when pulse 0 was sent, from the next sample
     */
    virtual void restart(double first_pulse_samples) = 0;

    //! Of the samples so far; when take() has not said true its problem says what lacks.
    virtual delay_estimate estimate() const = 0;

    virtual const delay_calibration_params& params() const = 0;
};

} // namespace kernel

/*!
 * \brief The replica that compresses what came through an equalised path to the response
 * of the pulse itself: p * 1 / H*, since its conjugate spectrum P* / H meets H P.
 *
 * \param equaliser taps -k .. k, as in delay_estimate
 * \return taps - 1 more samples than the pulse, which begins at sample k
 */
SAR_KERNEL_API std::vector<cf32> equalised_replica(const std::vector<cf32>& pulse,
                                                   const std::vector<cf32>& equaliser);

} // namespace sar
} // namespace gr
