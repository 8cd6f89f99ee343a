// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "acquisition.h"
#include "api.h"
#include "cf32.h"
#include <memory>
#include <vector>

namespace gr {
namespace sar {

//! Where a known pulse lies in a stretch of samples; all but snr_db 0 unless found.
struct arrival {
    bool found = false; //!< snr_db reaches the limit and the peak is one of its own
    //! From the first sample of the stretch to the first of the pulse; fractional.
    double delay_samples = 0;
    double phase_rad = 0; //!< of the complex amplitude at that delay
    double amplitude = 0; //!< its magnitude: 1 for the replica itself
    //! Energy of the peak after correlation over that of the noise after correlation.
    double snr_db = 0;
    double delay_std_samples = 0; //!< Cramer-Rao bounds at that SNR
    double phase_std_rad = 0;
};

/*!
 * \brief Finds one known pulse in a stretch of samples: delay, amplitude, phase, errors.
 *
 * Model: x[n] = A p(n - d) + white noise of power s2 a sample, p the band-limited pulse
 * whose samples are the replica. The most likely d maximises |R(d)|^2,
 *
 *     R(d) = sum_n x[n] conj p(n - d),   A = R(d) / E,   E = sum |p|^2
 *
 * R is evaluated at whole samples and, around the largest, at Chebyshev nodes within
 * +-5/8 sample with shifted replicas (shifted by their spectrum, 16 samples of the sinc's
 * tails on either side); the polynomial through those is R to 1e-5 up to half the
 * sampling rate, so that the maximum is that of the interpolated correlation itself and
 * no parabola's.
 *
 * Noise: what the fitted pulse leaves over the N samples it covers,
 *
 *     s2 = (sum |x|^2 - |R|^2 / E) / (N - 1),   SNR = |R|^2 / (E s2)
 *
 * so anything else there (echoes, a second pulse, a response that is not flat) counts as
 * noise. White noise alone exceeds an SNR of s at one delay with the probability
 * (1 + s / (N - 1))^-(N - 1), whatever its power: at 15 dB 1e-10 for a pulse of 64
 * samples or more.
 *
 * Standard deviations are Cramer-Rao bounds for unknown delay, amplitude and phase (S.
 * Kay, Fundamentals of Statistical Signal Processing: Estimation Theory, sections 3.9 and
 * 3.11), from moments of the replica's spectrum, <w^k> = sum w^k |P|^2 / sum |P|^2, w in
 * rad/sample:
 *
 *     std d = 1 / sqrt(2 SNR b^2),   b^2 = <w^2> - <w>^2,   std phase = sqrt(<w^2>) std d
 *
 * Radios without a common clock: an LFM pulse that is f off in frequency seems f / Kr
 * late, which is in none of these.
 *
 * An object may be used by several threads at once.
 */
class SAR_KERNEL_API pulse_arrival
{
public:
    /*!
     * \param replica      the pulse at the sampling rate, 2 samples or more
     * \param max_stretch  samples of the longest stretch that find() will be given
     * \param least_snr_db below which nothing is found
     * \throws std::invalid_argument naming parameter, value and expectation
     */
    pulse_arrival(std::vector<cf32> replica, int max_stretch, double least_snr_db = 15);
    pulse_arrival(pulse_arrival&&) noexcept;
    pulse_arrival& operator=(pulse_arrival&&) noexcept;
    ~pulse_arrival();

    int replica_samples() const;
    int max_stretch() const;
    const std::vector<cf32>& replica() const;
    double least_snr_db() const;

    /*!
     * \brief The strongest pulse with a delay of \p first .. \p last whole samples.
     *
     * Correlates the whole stretch by FFT. A peak that is but a sidelobe of a stronger
     * pulse outside first .. last is not taken for one.
     *
     * \throws std::invalid_argument unless the stretch holds the pulse at every delay
     * asked for: 0 <= first <= last <= n - replica_samples(), n <= max_stretch()
     */
    arrival find(const cf32* stretch, int n, int first, int last) const;

    /*!
     * \brief The pulse within \p half_width samples of \p expected_delay, for use pulse
     * by pulse: 2 half_width + 12 sums over the pulse.
     *
     * Delays at which the pulse does not lie within the stretch are left out; nothing is
     * found when none is left, or when the correlation still rises at the last one.
     *
     * \throws std::invalid_argument when the stretch is shorter than the pulse,
     * expected_delay is not finite or half_width < 0
     */
    arrival
    track(const cf32* stretch, int n, double expected_delay, int half_width) const;

private:
    struct state;
    std::unique_ptr<state> d_state;
};

/*!
 * \brief The pulse that was transmitted, at the sampling rate, from its first sample.
 *
 * Pulsed LFM: exp(j pi Kr (i / fs - Tp / 2)^2), i = 0 .. acq.pulse_samples() - 1,
 * whatever pulse_reference is. Replica: \p replica_if_arbitrary.
 *
 * \throws std::invalid_argument on FMCW and FX, whose lines hold no pulse, and on a
 * replica that is missing, or given although the waveform says what it is
 */
SAR_KERNEL_API std::vector<cf32>
transmitted_pulse(const acquisition& acq,
                  const std::vector<cf32>& replica_if_arbitrary = {});

} // namespace sar
} // namespace gr
