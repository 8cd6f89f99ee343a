// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/acquisition.h"
#include "../core/cf32.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! What tells the framer when a pulse was sent.
enum class framer_alignment {
    automatic, //!< the best of those below that there is
    scheduled, //!< time stamps of the radio and the time of pulse 0
    trigger,   //!< edges of a second input
    reference, //!< the transmitted pulse on a second input
    leakage,   //!< the transmitted pulse in the stream itself
    burst,     //!< the start of each buffer that the radio delivers
};

//! What stands in the place of a pulse whose samples were lost.
enum class hole_fill { zeros, hold, skip };

//! What is taken from the measured pulse and put right in the lines.
enum class framer_correction {
    none,        //!< nothing beyond the alignment asked for
    delay,       //!< lines begin where the measured pulse says
    delay_phase, //!< and have its phase taken off
    full,        //!< and its spectrum replaced by that of the replica
};

enum class trigger_edge { rising, falling, both };

SAR_KERNEL_API framer_alignment framer_alignment_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(framer_alignment a);
SAR_KERNEL_API hole_fill hole_fill_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(hole_fill f);
SAR_KERNEL_API framer_correction framer_correction_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(framer_correction c);
SAR_KERNEL_API trigger_edge trigger_edge_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(trigger_edge e);

//! A time of the radio's clock, as its tags give it.
struct radio_time {
    std::uint64_t seconds = 0;
    double fraction_s = 0;
};

struct pulse_framer_params {
    //! The recording; FMCW and FX need a trigger, a schedule, bursts or a replica.
    acquisition acq;
    framer_alignment alignment = framer_alignment::automatic;
    bool reference_input = false;
    bool trigger_input = false;

    //! Samples from pulse to pulse, fractional; 0: sample_rate_hz / prf_hz.
    double pri_samples = 0;
    //! When pulse 0 is sent, on the clock of the stamps; not given: the first sample.
    std::optional<radio_time> start = std::nullopt;
    //! Scheduled, trigger, burst: from the time of a pulse by schedule, edge or burst to
    //! its first received sample at range zero.
    double delay_s = 0;
    //! Reference, leakage: delay of that path over range zero (cable, leakage path).
    double reference_delay_s = 0;
    //! Further delay of the first sample of a line, beside acq.gate_start_s.
    double line_offset_s = 0;
    //! Lines begin at the nearest sample instead of between two.
    bool whole_samples = false;

    trigger_edge edge = trigger_edge::rising;
    double trigger_level = 0.5;
    double trigger_hysteresis = 0.1;

    //! The transmitted pulse at the sampling rate; empty: what acq says.
    std::vector<cf32> replica = {};
    double least_snr_db = 15;
    //! Pulses over which measured delay and phase are smoothed; 0: 1 with a trigger, else
    //! 32.
    int smoothing = 0;
    //! How far off its time a pulse may be; more is a loss that nobody told of. 0: half a
    //! range cell, with a trigger 1 % of the interval.
    double tolerance_samples = 0;
    framer_correction correct = framer_correction::none;
    //! What pulses are transmitted multiplied by: pulse n by code[n mod size], none of
    //! them 0, at most 4096. Lines are divided by it; empty: none.
    std::vector<cf32> code = {};

    hole_fill fill = hole_fill::zeros;
    //! A longer row of holes is not filled: a new stretch of lines begins after it.
    int longest_fill = 100000;

    bool swap_iq = false;
    bool conjugate = false;
    bool invert = false;
    //! Taken off the stream: a tone offset, an LO offset, Hz.
    double frequency_shift_hz = 0;
    bool remove_dc = false;
    //! Take off the image that I and Q of the receiver make; measured right before
    //! pulses.
    bool remove_image = false;
    //! Parts of a sample at or over this count as clipped; 0: none.
    double full_scale = 0.999;
    //! Discarded after a retune.
    double settle_s = 0;
    //! Pulses averaged to one line.
    int presum = 1;
    //! Stop and go: a silence longer than this separates stops, the pulses of a stop are
    //! averaged to one line, and lines are numbered by stops, s; 0: no stops.
    double stop_s = 0;
    //! Lines over which the mean line is taken that is subtracted; 0: none.
    int suppress = 0;
};

//! What an item of the stream of facts says, in this order.
struct framed_line {
    static constexpr int facts = 8;
    enum flag : unsigned {
        hole = 1,         //!< nothing was received: zeros, or the line before (held)
        held = 2,         //!< the line before stands in its place
        estimated = 4,    //!< its number was counted by the clock of the host
        unmeasured = 8,   //!< no reference pulse was found in it
        partial_sum = 16, //!< some of the pulses summed were lost
    };

    std::int64_t pulse = 0; //!< number, counted by time from pulse 0
    double time_s = 0;      //!< of the pulse, on the clock of the stamps
    double host_s = 0;      //!< the same on the host's, as feed() was told of it
    bool live = false;      //!< samples come at the pace of the host's clock
    unsigned flags = 0;
    double jitter_samples = 0; //!< where the line begins minus where it ought to
    double amplitude = 0;      //!< of the reference pulse, 1: as the replica; no code
    double delay_s = 0;        //!< measured, against schedule or first pulse
    double phase_rad = 0;
    double snr_db = 0;

    // not in the stream of facts
    bool anew = false;           //!< begins a stretch of its own: retune, long gap
    std::int64_t skipped = 0;    //!< numbers missing right before it
    std::int64_t holes_left = 0; //!< of a hole: it and those that follow
    int step = 0;                //!< counts retunes
    double frequency_hz = 0;     //!< of the radio, 0: never told
    int summed = 1;              //!< pulses that went into it
    std::vector<char> used;      //!< with presum: which of them
};

//! Counters since start, and the newest measurements.
struct framer_status {
    std::string alignment; //!< in use
    bool locked = false;   //!< pulses are where they are expected
    std::uint64_t samples = 0;
    std::uint64_t framed = 0;
    std::uint64_t lost = 0;      //!< pulses without a line
    std::uint64_t filled = 0;    //!< lines given out in their place
    std::uint64_t estimated = 0; //!< lines lost in gaps counted by the host's clock
    std::uint64_t unmeasured = 0;
    std::uint64_t gaps = 0;
    std::uint64_t silent_gaps = 0; //!< of those, told by nobody
    std::uint64_t lost_samples = 0;
    std::uint64_t rejected_stamps = 0;
    std::uint64_t clipped = 0; //!< samples
    double interval_samples = 0;
    double jitter_rms_samples = 0; //!< of lines against where they ought to begin
    double delay_s = 0;
    double delay_drift_samples_per_s = 0;
    double amplitude_db = 0;
    double snr_db = 0;
    double phase_rad = 0;
    double phase_drift_hz = 0;
    double dc_re = 0;
    double dc_im = 0;
    double image_db = 0; //!< of the receiver, taken off; 0: not measured
};

namespace kernel {

//! What a radio tells with a sample.
struct radio_news {
    std::optional<radio_time> time;
    std::optional<double> rate_hz;
    std::optional<double> frequency_hz;
    bool gap = false;                 //!< samples are missing before it, how many unknown
    std::optional<int> burst_samples; //!< it begins a buffer of so many
};

/*!
 * \brief A continuous stream of samples into numbered lines.
 *
 * Pulse n is sent at t0 + n PRI and its line begins at the time of the pulse plus 2
 * slant_range_first_m / c plus delays; n is counted by time, never by arrival, so that
 * what is lost leaves numbered holes. Formulas: pulse_framer_math.h.
 *
 * Samples go in with feed(), what the radio tells about the next sample with tell(),
 * lines come out of next(): call it until it returns false after each. No scheduler, no
 * clock: the time of the host is handed in. Memory: the interval between pulses three
 * times, a line and a pulse, whatever goes wrong. Not thread safe.
 */
class SAR_KERNEL_API pulse_framer
{
public:
    virtual ~pulse_framer() = default;

    //! \throws std::invalid_argument naming parameter, value and expectation
    static std::unique_ptr<pulse_framer> make(const pulse_framer_params& params);

    virtual const pulse_framer_params& params() const = 0;
    //! Lines a second: prf_hz over presum.
    virtual double line_rate_hz() const = 0;

    /*!
     * \brief Something about the sample that is fed next.
     * \throws std::runtime_error when the rate contradicts acq
     */
    virtual void tell(const radio_news& news) = 0;

    /*!
     * \brief Samples, of all inputs alike.
     * \param reference null without reference input \param trigger null without trigger
     * input \param host_s time of the host when they arrived
     * \return how many were taken; less than \p n: call next() and feed the rest
     */
    virtual int feed(const cf32* samples,
                     const cf32* reference,
                     const float* trigger,
                     int n,
                     double host_s) = 0;

    //! The transmitter failed to send these pulses, both ends included: holes, unless the
    //! lines are out already.
    virtual void not_sent(std::int64_t first, std::int64_t last) = 0;

    //! No sample will follow: what is complete can be had from next().
    virtual void end() = 0;

    //! The pulse that the next line will have, if one is ready.
    virtual std::optional<std::int64_t> ready() = 0;

    /*!
     * \brief The next line, acq.samples values at \p out.
     * \return false: more samples are needed
     * \throws std::runtime_error when the interval between pulses changes for good
     */
    virtual bool next(framed_line& facts, cf32* out) = 0;

    virtual framer_status status() const = 0;
    //! What parameters that hold together will do badly, known from the start.
    virtual std::vector<std::string> warnings() const = 0;
    //! Sentences since the last call: what was decided, what was wrong.
    virtual std::vector<std::string> notices() = 0;
};

} // namespace kernel
} // namespace sar
} // namespace gr
