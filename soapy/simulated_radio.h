// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The radio around simulated_radar: a clock, two streams, what goes wrong in them, and a
// record of the truth. It speaks SoapySDR's codes and flags, and knows nothing else of
// it.

#include "nmea.h"
#include "radio_profile.h"
#include "simulated_radar.h"
#include <algorithm>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! A knob: what SoapySDR's ArgInfo wants to know.
struct radio_setting {
    enum kind { number, integer, boolean, text };
    std::string key;
    kind type;
    std::string value; //!< default
    std::string units;
    std::string description;
    std::vector<std::string> options; //!< all values there are, or none
};

//! A stretch of samples.
struct sample_range {
    std::int64_t begin;
    std::int64_t count;
};

//! A file with one JSON object a line; none while it has no name.
class truth_log
{
public:
    void open(const std::string& file);
    bool is_open() const { return d_out.is_open(); }
    //! \p fields is the inside of the object.
    void write(const std::string& event, const std::string& fields);

private:
    std::ofstream d_out;
};

class simulated_radio
{
public:
    enum class direction { receive, transmit };

    //! A sentence for people: \p warning or for information.
    using talk = std::function<void(bool warning, const std::string& what)>;

    /*!
     * \param profile name of a radio_profile
     * \throws std::invalid_argument
     */
    simulated_radio(const std::string& profile, talk say);

    const radio_profile& profile() const { return d_profile; }

    //! All knobs of a radio with this profile, with their defaults.
    static std::vector<radio_setting> settings_of(const radio_profile& profile);
    const std::vector<radio_setting>& settings() const { return d_known; }
    //! \throws std::invalid_argument on an unknown key or a value out of range
    void set(const std::string& key, const std::string& value);
    std::string get(const std::string& key) const;

    // ---- the analogue side
    void set_frequency(direction d, double hz);
    double frequency(direction d) const;
    void set_gain(direction d, double db);
    double gain(direction d) const;
    void set_rate(direction d, double hz);
    double rate(direction d) const;
    //! Corrections of the receiver that its user makes; automatic leaves no DC at all.
    void correct_dc(std::complex<double> offset, bool automatic);
    void correct_frequency(double ppm);

    // ---- time
    bool has_time() const;
    long long time_ns() const;
    void set_time_ns(long long t);

    // ---- streams: one a direction
    /*!
     * \param cyclic what is written first is transmitted again and again
     * \param cycle_samples of it; 0: those of the first write, or of the burst
     * \throws std::invalid_argument where the radio does not do that at the same time
     */
    void open(direction d, bool cyclic, std::int64_t cycle_samples);
    void close(direction d);
    //! As SoapySDR::Device::activateStream and so on.
    int activate(direction d, int flags, long long t_ns, std::size_t count);
    int deactivate(direction d, int flags, long long t_ns);
    /*!
     * \brief At most \p n samples of the antenna and, unless null, of the reference.
     * \return how many, or a code
     */
    int read(cf32* out,
             cf32* reference,
             std::size_t n,
             int& flags,
             long long& t_ns,
             long timeout_us);
    int write(const cf32* samples,
              std::size_t n,
              int& flags,
              long long t_ns,
              long timeout_us);
    int status(direction d, int& flags, long long& t_ns, long timeout_us);

    // ---- pins: bit 0 trigger (written), 1 transmitting, 2 receiving (read)
    void write_pins(unsigned value);
    unsigned read_pins() const;

private:
    using lock = std::unique_lock<std::mutex>;
    using moment = std::chrono::steady_clock::time_point;

    struct command {        // of the receiver
        std::int64_t begin; // or one of those below
        std::int64_t count; // 0: until deactivated
        bool timed;
    };
    static constexpr std::int64_t now = -1;
    static constexpr std::int64_t at_trigger = -2;

    struct report {
        int code;
        int flags;
        long long t_ns;
    };

    void require_within(const char* what, double hz, const extent& e) const;
    double number(const std::string& key) const;
    double level(const std::string& key, double per_decade) const;
    bool is_on(const std::string& key) const { return value(key) == "true"; }
    const std::string& value(const std::string& key) const;
    void take_in(const std::string& key);
    void configure();
    double delay_samples() const;

    double clock_rate() const;
    void rebase();
    std::int64_t clock() const;
    long long ns_of(std::int64_t n) const;
    std::int64_t sample_of(long long t_ns) const;
    void begin_clock();
    bool clock_may_run();
    std::int64_t receive_clock() const { return std::max(clock(), d_rx_next); }
    bool wait(lock& l, moment until);
    moment when(std::int64_t n) const;

    bool next_loss(std::int64_t from, sample_range& loss) const;
    void lose(const sample_range& loss);
    long long stamp(std::int64_t n) const;
    bool begin_burst(bool timed, long long t_ns);
    void put(const cf32* samples, std::int64_t n);
    void begin_cycle();
    void underflow(std::int64_t at);
    void record(std::int64_t until);

    const radio_profile d_profile;
    const std::vector<radio_setting> d_known;
    const talk d_say;
    std::map<std::string, std::string> d_values;

    mutable std::mutex d_mutex; // all below but the radar, which is taken after it
    std::condition_variable d_changed;
    std::mutex d_radar_mutex;
    std::unique_ptr<simulated_radar> d_radar;
    transmit_line d_line;

    // settings, in numbers
    bool d_real_time = false;
    bool d_together = false;
    std::vector<sample_range> d_losses, d_underflows;
    std::int64_t d_loss_period = 0, d_loss_samples = 0;
    std::int64_t d_rx_room = 0, d_tx_fifo = 0; // that wait at most

    // analogue side
    double d_rx_hz = 2.4e9, d_tx_hz = 2.4e9;
    double d_rx_db, d_tx_db;
    double d_rx_rate = 1e6, d_tx_rate = 1e6;
    double d_rate = 1e6; // of the clock
    double d_lo_steps_hz = 0;
    int d_retunes = 0;
    double d_retune_phase_rad = 0;
    std::complex<double> d_dc_correction = 0;
    bool d_dc_automatic = false;
    double d_correction_ppm = 0;
    double d_fraction = 0;
    std::int64_t d_ramp_begin = 0; // the last trigger

    // clock
    long long d_epoch_ns = 0;   // hardware time of sample 0
    double d_start_s = 0;       // of the trajectory, at sample 0
    std::int64_t d_clock = 0;   // as fast as possible: where the streams have got to
    bool d_clock_begun = false; // real time: the wall's clock runs
    moment d_wall;              // ... since then, sample d_wall_sample
    std::int64_t d_wall_sample = 0;
    bool d_together_begun = false;
    bool d_told_waiting = false;

    // receiver
    bool d_rx_open = false, d_rx_active = false;
    std::deque<command> d_commands;
    bool d_receiving = false;        // the first command has begun
    std::int64_t d_rx_begin = 0;     // sample where the stream began
    std::int64_t d_rx_next = 0;      // next sample to deliver
    std::int64_t d_rx_delivered = 0; // since activated
    std::int64_t d_hidden = 0;       // lost samples that the time does not show
    int d_pending = 0;               // code to return instead of samples
    std::deque<report> d_rx_reports;

    // transmitter
    bool d_tx_open = false, d_tx_active = false;
    bool d_cyclic = false, d_cycle_begun = false;
    std::int64_t d_cycle_samples = 0;
    std::vector<cf32> d_held;    // samples that wait: for their cycle, or the trigger
    bool d_held_ends = false;    // with the end of a burst
    bool d_tx_triggered = false; // waits for the trigger
    bool d_tx_timed = false;     // the first burst has the time of the activation
    long long d_tx_time_ns = 0;
    bool d_burst = false;      // within one
    bool d_burst_late = false; // within one that came too late
    bool d_tx_written = false; // since activated
    int d_tx_starts = 0;
    std::int64_t d_tx_offset = 0; // drawn, of the first untimed burst
    std::int64_t d_tx_begin = 0;  // first sample since activated
    std::int64_t d_tx_next = 0;   // where the next sample goes
    moment d_tx_last;
    std::deque<report> d_tx_reports;

    truth_log d_truth;
    std::int64_t d_truth_next = 0;
    std::ofstream d_positions;
    std::int64_t d_positions_next = 0;
    double d_position_wander[3] = { 0, 0, 0 };
    bool d_positions_nmea = false;
    geodetic d_positions_origin;
    bool d_told_apart = false;
};

} // namespace sar
} // namespace gr
