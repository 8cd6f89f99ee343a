// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "constants.h"
#include "vec3.h"
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! What was transmitted, and so what a raw line holds.
enum class waveform {
    pulsed_lfm,       //!< echoes of a linear FM pulse; lines over delay (fast time)
    replica,          //!< echoes of an arbitrary pulse whose samples are given
    fmcw,             //!< dechirped FMCW sweeps; the sign of the chirp rate is the ramp's
    frequency_domain, //!< phase history over frequency (FX): stepped frequency, GOTCHA,
                      //!< CPHD
};

//! Which instant of the pulse the delay 2R/c of an echo refers to.
enum class pulse_reference { start, centre };

//! What follows a ramp of an FMCW radar.
enum class sweep_shape {
    sawtooth, //!< the next ramp of the same direction
    triangle, //!< a ramp back: lines of odd number have the opposite chirp rate
};

//! Side of the track that the antenna looks to.
enum class look_side { left, right };

//! Where the slant range of the first sample is counted from.
enum class range_reference {
    antenna, //!< slant range proper: from the antenna
    point, //!< motion compensated: range minus the antenna's distance to reference_point
};

/*!
 * \brief The numbers of a recording: plain fields, defaults that describe nothing.
 *
 * Fill in what applies to the waveform and hand it to acquisition, which checks it.
 */
struct acquisition_fields {
    waveform wave = waveform::pulsed_lfm;
    //! Complex samples in a raw line (range cells, or frequencies for FX and FMCW).
    int samples = 0;
    //! Carrier, Hz: the radio frequency that baseband 0 Hz stands for. FMCW: the
    //! frequency at the start of the ramp. FX: frequency of the first sample.
    double carrier_hz = 0;
    //! Pulses (lines) a second.
    double prf_hz = 0;
    //! Pulsed: complex sampling rate, Hz. FMCW: rate of the dechirped samples, Hz.
    double sample_rate_hz = 0;
    //! Pulsed LFM and FMCW: chirp rate, Hz/s; > 0 up-chirp, < 0 down-chirp.
    double chirp_rate_hz_per_s = 0;
    //! Pulsed LFM: pulse length, s. The bandwidth is |chirp rate| times this.
    double pulse_length_s = 0;
    //! Replica: bandwidth of the pulse, Hz (others derive it).
    double replica_bandwidth_hz = 0;
    //! FMCW: from the start of a ramp to the first sample of a line, s: the part left out
    //! while the ramp settles and the farthest echo is on its way. Frequencies follow
    //! from it: a line begins at carrier_hz + chirp rate * gate_start_s.
    double gate_start_s = 0;
    //! FMCW. With triangle the chirp rate is that of lines 0, 2, 4, ...; odd lines are
    //! the way back, read backwards, so that all lines run over the same frequencies.
    sweep_shape sweep = sweep_shape::sawtooth;
    //! FX: frequency step between samples, Hz; may be negative.
    double frequency_step_hz = 0;
    //! FX and FMCW: sign of the phase, phase = sign * 2 pi f delay (-1: GOTCHA, most
    //! CPHD; +1: transmit times conjugate of receive).
    int phase_sign = -1;
    //! Slant range of the first sample of a line, m (FX and FMCW: of the first sample of
    //! the compressed line). Counted as range_from says.
    double slant_range_first_m = 0;
    range_reference range_from = range_reference::antenna;
    vec3 reference_point_m = { 0, 0, 0 };
    //! Echo delay 2R/c is that of the pulse's start or centre.
    pulse_reference pulse_ref = pulse_reference::start;
    //! Known range offset of the instrument (cables, trigger), m: measured minus true.
    double range_bias_m = 0;
    look_side side = look_side::right;
    //! Effective (radar) velocity, m/s; 0 = not given.
    double effective_velocity_m_s = 0;
    //! Doppler centroid, Hz, absolute (may be many PRFs).
    double doppler_centroid_hz = 0;
    //! Where velocity and centroid vary over the swath: the values above are those at
    //! slant_range_first_m, and these the coefficients of the further terms of a
    //! polynomial in slant range minus slant_range_first_m, lowest first (1/m, 1/m^2,
    //! 1/m^3 times the unit); at most 3.
    std::vector<double> effective_velocity_slopes;
    std::vector<double> doppler_centroid_slopes;
};

/*!
 * \brief The axis of range-compressed lines: what an image former needs to know.
 *
 * Sample m of a line lies at first_m + m spacing_m. A point at (biased) range r has the
 * phase exp(-j 4 pi carrier_hz r / c).
 */
struct range_axis {
    int samples = 0;
    double first_m = 0;
    double spacing_m = 0;
    double carrier_hz = 0;   //!< frequency that the baseband centre stands for
    double bandwidth_hz = 0; //!< two-sided, around the carrier
    double range_bias_m = 0; //!< subtract from first_m; kept apart so it can be reported
    range_reference range_from = range_reference::antenna;
    vec3 reference_point_m = { 0, 0, 0 };

    //! Bandwidth as a share of the sampling rate of the line, 0 .. 1.
    double occupied_band() const
    {
        return bandwidth_hz * 2.0 * spacing_m / speed_of_light;
    }
};

/*!
 * \brief Checked description of a recording; valid after construction, immutable.
 *
 * \throws std::invalid_argument naming field, value and expectation.
 */
class SAR_KERNEL_API acquisition
{
public:
    explicit acquisition(const acquisition_fields& fields);

    const acquisition_fields* operator->() const { return &d_fields; }
    const acquisition_fields& fields() const { return d_fields; }

    //! True for FX and FMCW: a raw line runs over frequency, not over delay.
    bool in_frequency_domain() const;
    //! Bandwidth of the waveform over one line, Hz.
    double bandwidth_hz() const;
    //! Frequency in the middle of the band, Hz: what imaging uses as the carrier.
    double centre_frequency_hz() const;
    //! FX and FMCW: frequency of the first sample of a line, Hz.
    double first_frequency_hz() const;
    //! FMCW: when sample 0 of a line was taken, and the time from one sample to the next,
    //! s after the start of the line's interval; the way back of a triangle runs
    //! backwards, and its interval is 1 / prf_hz long.
    double sweep_start_s(bool way_back) const;
    double sweep_step_s(bool way_back) const;
    /*!
     * \brief Range-Doppler coupling: by how much an echo of Doppler frequency \p
     * doppler_hz is seen farther than it is, m, in even lines (odd ones of a triangle:
     * nearer).
     *
     * During a sweep the range changes by v t: a beat or a chirp is shifted by the
     * Doppler frequency fd, as if the delay were -fd / K longer, so the range -c fd / (2
     * K). 0 without a chirp.
     */
    double doppler_shift_m(double doppler_hz) const;
    //! Doppler centroid as a polynomial in measured slant range minus
    //! slant_range_first_m, lowest first: Hz, Hz/m, ...
    std::vector<double> centroid_coefficients() const;
    //! Effective velocity likewise: m/s, m/s/m, ...
    std::vector<double> velocity_coefficients() const;
    double wavelength_m() const { return speed_of_light / centre_frequency_hz(); }
    //! FX and FMCW: signed step between samples of a line, Hz.
    double frequency_step_hz() const;
    //! FX and FMCW: index of the sample that becomes baseband zero, samples / 2.
    int centre_sample() const { return d_fields.samples / 2; }
    //! Samples of the pulse at the sampling rate, rounded up (pulsed LFM).
    int pulse_samples() const;

    /*!
     * \brief Axis of the lines that pulse_compression makes of this recording.
     * \param oversampling output samples per input sample, >= 1
     */
    range_axis compressed_axis(int oversampling) const;

    /*!
     * \brief What describes lines of which only cells \p first .. \p first + \p cells - 1
     * of the compressed line are kept: the same band, spacing and frequencies, another
     * range of the first sample.
     *
     * Over frequency the axis goes on periodically, so \p first may be negative.
     */
    acquisition gated(int first, int cells) const;
    //! First cell of gated() that holds \p near_m, and how many there are to \p far_m.
    void gate_of(double near_m, double far_m, int& first, int& cells) const;

private:
    acquisition_fields d_fields;
};

//! Value of a polynomial, coefficients lowest first.
SAR_KERNEL_API double polynomial(const std::vector<double>& c, double x);

SAR_KERNEL_API waveform waveform_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(waveform w);
SAR_KERNEL_API pulse_reference pulse_reference_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(pulse_reference r);
SAR_KERNEL_API sweep_shape sweep_shape_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(sweep_shape s);
SAR_KERNEL_API look_side look_side_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(look_side s);
SAR_KERNEL_API range_reference range_reference_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(range_reference r);

} // namespace sar
} // namespace gr
