// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// A radar in front of a scene of points, sample by sample: what is transmitted comes
// back.
//
// Symbols
//   n     sample of the receiver, at t = n / fs; k sample of the transmitter, at
//         k / (fs (1 + e)), e the clock error: without one, k and n are the same instants
//   x[k]  transmitted samples, band-limited to occupied_band of fs
//   f0    carrier_hz
//   tau   two-way delay of a path at the time of reception, s
//   D     delay of the radio from transmitted to received sample, samples of fs
//   a     complex amplitude of a path
//
// Received, before the front end spoils it:
//   y[n] = sum over paths  a exp(-j 2 pi f0 tau(t_n)) x(n (1 + e) - D - tau(t_n) fs)
//
// Two-way delay: c tau = |p(t - tau) - q| + |p(t) - q| for the antenna at p and a target
// at q: the antenna moves while the pulse travels and while it is received. Two rounds of
// tau <- (|p(t - tau) - q| + |p(t) - q|) / c from tau = 2 |p(t) - q| / c leave a relative
// error of (v / c)^3.
//
// Between knots, 2048 samples or 200 us apart, whichever is less (64 samples at least),
// tau is a straight line. That leaves a / 8 h^2 of range, h the distance of the knots and
// a = v^2 / R the acceleration of range: 1e-8 m (1e-5 rad at 10 GHz) for 100 m/s at 1 km
// and 20 MS/s.
//
// Front ends that sweep: with ramp_hz_per_s = K the carrier of both directions runs up
// (or down) from f0 for ramp_s, u seconds into it, and again after each ramp_period_s. An
// echo is then a beat, as in point_target_source_math.h with phase_sign -1:
//   f0 tau becomes (f0 + K u) tau - K tau^2 / 2
// Between ramps the carrier rests at f0. The first tau of a ramp, in which an echo of the
// rest comes in, is shown as the rest of the ramp. Knots are 20 us apart at most (8
// samples at least): K h^2 v / (2 c) cycles off, 4e-4 rad for 1 MHz/us at 100 m/s.
//
// Fractional delay: an FIR of least squares in the occupied band (least_squares_table of
// kernels/core), chosen by occupied_band: 8 taps to 0.5, 16 to 0.75, 24 to 0.83, 32 to
// 0.9. Measured with tones all over the band: -71, -68, -68, -56 dB. Taps are renewed
// before the delay has moved away from them by 1.3e-4 samples, every 64 to 8 samples: -75
// dB at 0.8 of the band, and beyond 4500 m/s of range rate 6 dB more each time that
// doubles.
//
// Phase noise: an Ornstein-Uhlenbeck process, or a Brownian one where no loop holds it.
// It is drawn at each 64th sample, and between two of those, where anything is heard, as
// a process that ends where it is known to end: one that is free, plus what is missing at
// the end times cov(y_i, y_64) / var(y_64).
//
// Every sample depends on its number, not on how many are asked for at a time, apart from
// the walk of the phase noise, which begins at the first sample asked for.

#include "../kernels/core/cf32.h"
#include "../kernels/core/trajectory.h"
#include "../kernels/point_target_source/point_target_source.h"
#include "transmit_line.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! What the radar looks at, and from where.
struct radar_scene {
    std::vector<point_target> targets;
    trajectory track = trajectory::straight({ 0, 0, 0 }, { 0, 0, 0 });
    //! The antenna stands still for this long and then jumps to where it should be
    //! (stop and go, as point_target_source has it with 1 / PRF); 0: it moves, s.
    double hold_s = 0;
    //! Amplitudes of targets hold at this range and fall with its square; 0: no loss, m.
    double spreading_reference_m = 0;
    //! As in point_target_source_params.
    double beam_rad = 0;
    double beam_squint_rad = 0;
};

/*!
 * \brief Points of Rayleigh amplitude and random phase, spread evenly over a box.
 * \param power sum of their mean powers
 */
std::vector<point_target>
clutter(int points, vec3 corner_m, vec3 opposite_m, double power, std::uint64_t seed);

/*!
 * \brief Read a scene; docs/sarsim.md has the format.
 * \throws std::invalid_argument with file, key, value and what was expected
 */
radar_scene read_scene(const std::string& file);

//! The radio between the samples and the antenna.
struct radar_front_end {
    double sample_rate_hz = 1e6;
    double carrier_hz = 1e9;
    //! Part of the sampling rate that the transmitted signal occupies.
    double occupied_band = 0.75;
    //! From transmitted to received sample at range 0, samples; may have a fraction.
    double delay_samples = 0;
    //! How much faster the transmitter's sample clock runs, parts of 1.
    double clock_error = 0;
    //! Amplitude from transmitted sample to received sample for a target of amplitude 1.
    double gain = 1;
    //! Amplitude of transmitter in receiver (0: none), its delay (s) and phase.
    double leakage = 0;
    double leakage_delay_s = 0;
    double leakage_phase_rad = 0;
    //! Amplitude of the transmitter in the reference channel.
    double reference_gain = 1;
    //! Transmitter minus receiver: frequency (Hz) and phase at time zero.
    double offset_hz = 0;
    double phase_rad = 0;
    //! Sweep of the carrier (0: none), Hz/s, s; the first begins at sample ramp_begin.
    double ramp_hz_per_s = 0;
    double ramp_s = 0;
    double ramp_period_s = 0;
    std::int64_t ramp_begin = 0;
    //! Phase that walks: level at an offset, and the loop that holds it (0: none does).
    bool phase_noise = false;
    double phase_noise_dbc_hz = -90;
    double phase_noise_offset_hz = 10e3;
    double phase_noise_loop_hz = 0;
    //! Mean power of the complex Gaussian noise of a sample (full scale: 1).
    double noise_power = 0;
    std::uint64_t seed = 1;
    //! Quadrature against in-phase: amplitude (dB) and angle from 90 degrees (rad).
    double imbalance_db = 0;
    double imbalance_rad = 0;
    cf32 dc = { 0, 0 };
    //! Bits of the converter, full scale 1; 0: it neither rounds nor clips.
    int adc_bits = 0;
};

//! Where an echo is, for the truth.
struct echo_truth {
    double range_m;       //!< c tau / 2
    double delay_samples; //!< D + tau fs
    double phase_rad;     //!< -2 pi f0 tau, of the propagation alone
    double amplitude;
};

struct walk_shape;

class simulated_radar
{
public:
    /*!
     * \throws std::invalid_argument on targets or a beam that point_target_source would
     * not take, or a hold or reference range below zero
     */
    explicit simulated_radar(const radar_scene& scene);
    ~simulated_radar();

    /*!
     * \brief Change the front end from sample \p at on; the phase goes on where a change
     * of offset_hz leaves it.
     * \throws std::invalid_argument naming what is out of range
     */
    void configure(const radar_front_end& front_end, std::int64_t at = 0);
    const radar_front_end& front_end() const { return d_front_end; }

    //! Time zero of the trajectory is sample 0; \p start_s moves it.
    void set_start(double start_s);

    /*!
     * \brief Samples [first, first + n). Never goes back: \p first is the end of the last
     * call, or later.
     * \param out       antenna
     * \param reference the transmitter through a coupler; may be null
     */
    void receive(const transmit_line& line,
                 std::int64_t first,
                 std::int64_t n,
                 cf32* out,
                 cf32* reference);

    //! Transmitted samples before this one decide all received samples before \p end.
    std::int64_t transmit_end(std::int64_t end) const;
    //! Received samples before this one are decided by transmitted ones before \p end.
    std::int64_t receive_end(std::int64_t end) const;
    //! Transmitted samples before this one are of no use after what was received.
    std::int64_t transmit_begin() const { return d_oldest; }
    //! The transmitter's sample that leaves at the receiver's sample \p n.
    std::int64_t transmit_sample(std::int64_t n) const;

    vec3 position(std::int64_t n) const;
    std::vector<echo_truth> truth(std::int64_t n) const;
    std::int64_t clipped() const { return d_clipped; }
    const radar_scene& scene() const { return d_scene; }

private:
    struct line_of {            // of a path between two knots
        std::int64_t from = -1; // first sample; -1: not computed
        double relative;        // k - n there, samples
        double rate;            // change of it a sample
        double cycles;          // phase of the carrier there
        double cycle_rate;
        double amplitude_re, amplitude_im;
        int piece; // samples between new taps
    };
    struct stretch { // from knot to knot
        std::int64_t begin, end;
    };

    double time_of(std::int64_t n) const;
    vec3 antenna(double t_s) const;
    double delay_s(const vec3& target, std::int64_t n, const stretch& s) const;
    double ramp_time(std::int64_t n) const;
    stretch stretch_of(std::int64_t n) const;
    void make_lines(const stretch& s);
    void add_path(const transmit_line& line,
                  const line_of& path,
                  std::int64_t first,
                  std::int64_t n);
    void finish(std::int64_t first,
                int n,
                int channel,
                const float* re,
                const float* im,
                std::int64_t heard_begin,
                std::int64_t heard_end,
                cf32* out);
    void shape_walk();
    double walk_on(double from, std::int64_t number);
    void walk(std::int64_t first, std::int64_t n);

    radar_scene d_scene;
    radar_front_end d_front_end;
    double d_start_s = 0;
    int d_taps = 16;
    std::int64_t d_knot = 2048;
    std::vector<float> d_table;
    std::vector<line_of> d_paths; // coupler, leakage, targets
    std::int64_t d_lines_from = -1;
    std::vector<cf32> d_window;                      // of the transmitter's line
    std::vector<float> d_parts;                      // the same, real and imaginary apart
    std::vector<float> d_sum;                        // of the paths, likewise
    std::int64_t d_heard_begin = 0, d_heard_end = 0; // samples of it that may not be 0
    double d_phase_cycles = 0; // at time zero, offset changes taken in
    std::unique_ptr<walk_shape> d_walk_shape;
    std::vector<double> d_walk, d_walk_next; // at the edges of blocks, cycles
    std::int64_t d_walk_block = 0;           // the first of them
    double d_walk_held = 0;                  // from before the clock began anew
    std::int64_t d_node_batch = -1;          // of the noise that it goes by
    std::array<double, 128> d_node_noise;
    std::int64_t d_next = 0; // sample to be asked for
    std::int64_t d_oldest = 0;
    std::int64_t d_clipped = 0;
};

} // namespace sar
} // namespace gr
