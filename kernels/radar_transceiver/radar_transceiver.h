// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/api.h"
#include "../core/cf32.h"
#include "../pulse_framer/pulse_framer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gr {
namespace sar {

//! How pulses leave the radio.
enum class transmit_mode {
    automatic, //!< the best of those below that the driver can do
    timed,     //!< a burst a pulse, each at its time of the radio's clock
    cyclic,    //!< the radio repeats one interval by itself
    stream,    //!< one burst without end, pulses and the silence between them
    none,      //!< somebody else transmits
};

SAR_KERNEL_API transmit_mode transmit_mode_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(transmit_mode m);

/*!
 * \brief A radio with both directions, as radar_transceiver uses it: SoapySDR's calls
 * and codes, without SoapySDR.
 */
class transceiver_radio
{
public:
    enum code : int {
        timeout = -1,
        stream_error = -2,
        corruption = -3,
        overflow = -4,
        not_supported = -5,
        time_error = -6,
        underflow = -7,
    };
    //! What a call came to.
    struct outcome {
        int count = 0; //!< of samples, or a code
        std::optional<long long> time_ns = std::nullopt;
    };

    virtual ~transceiver_radio() = default;

    //! For sentences: "driver=lime (LimeSDR-USB)".
    virtual std::string name() const = 0;
    //! Of receiver and transmitter, which share it: samples of both have its times.
    virtual bool has_time() const = 0;
    //! The transmitter repeats by itself what it was given.
    virtual bool has_cycle() const = 0;
    virtual long long time_ns() = 0;

    /*!
     * \brief Set up the streams.
     * \param cycle samples that the transmitter repeats; 0: it does not
     */
    virtual void open(bool transmit, std::int64_t cycle) = 0;
    //! Everything off, the transmitter first. Does not throw, may come twice.
    virtual void close() noexcept = 0;
    //! \return 0 or a code
    virtual int start_receiver(std::optional<long long> time_ns) = 0;
    virtual int start_transmitter() = 0;

    //! At most \p n samples of the antenna and, with one, of the reference channel.
    virtual outcome read(cf32* samples, cf32* reference, int n, long timeout_us) = 0;
    virtual outcome write(const cf32* samples,
                          int n,
                          std::optional<long long> time_ns,
                          bool ends_burst,
                          long timeout_us) = 0;
    //! What the streams report by the side; timeout when there is nothing.
    virtual outcome receiver_status() = 0;
    virtual outcome transmitter_status() = 0;
};

struct radar_transceiver_params {
    std::vector<cf32> pulse; //!< as it is sent, at the sampling rate
    //! Pulse n is sent multiplied by code[n mod size]; empty: as it is.
    std::vector<cf32> code = {};
    double sample_rate_hz = 0;
    std::int64_t interval = 0; //!< samples from pulse to pulse
    transmit_mode mode = transmit_mode::automatic;
    bool reference = false; //!< the radio has a second channel with the transmitted pulse
    //! How far ahead pulses are handed to the radio, and how long after the first sample
    //! pulse 0 is sent, s.
    double lead_s = 0.1;
    //! Without a sample for so long the radio is given up, s.
    double patience_s = 5;
    int chunk = 16384; //!< samples read at a time at most
};

//! Counters since the start.
struct transceiver_status {
    std::string mode;            //!< in use
    std::uint64_t samples = 0;   //!< received
    std::uint64_t sent = 0;      //!< pulses handed to the radio; cyclic: 0
    std::uint64_t overflows = 0; //!< that the radio told of
    std::uint64_t untold = 0;    //!< losses that only its stamps showed
    std::uint64_t lost_samples = 0;
    std::uint64_t underflows = 0;
    std::uint64_t late = 0;     //!< bursts that came too late
    std::uint64_t not_sent = 0; //!< pulses known not to have been sent
    std::uint64_t untrue_stamps = 0;
    std::uint64_t errors = 0; //!< reads that failed otherwise
    //! Time of the first sample on the radio's clock, ns, where it has one.
    std::optional<long long> first_sample_ns = std::nullopt;
};

namespace kernel {

/*!
 * \brief Both directions of a radio in one loop: hands it pulses, takes samples from it,
 * and finds out what was lost on either way.
 *
 * step() is called again and again by one thread; each writes what the transmitter is
 * ready to take, asks both streams what they report, and reads once. No clock: the time
 * of the host is handed in. Formulas: radar_transceiver_math.h.
 *
 * Where radio and driver have a clock (timed, stream), pulse 0 is sent lead_s after the
 * first sample, on a sample of the receiver, and pulse n exactly n intervals later,
 * whatever happens in between. After a burst that came too late pulses are left out up to
 * the first one lead_s ahead of the radio's clock. Losses: samples by a stamp that jumps,
 * by OVERFLOW of read() or of the status; pulses by TIME_ERROR or UNDERFLOW of the
 * transmitter.
 */
class SAR_KERNEL_API radar_transceiver
{
public:
    virtual ~radar_transceiver() = default;

    /*!
     * \param params the pulse and how to send it
     * \param radio to be used; it stays open until stop()
     * \throws std::invalid_argument naming parameter, value and expectation, or what the
     * radio lacks and what to do
     */
    static std::unique_ptr<radar_transceiver> make(const radar_transceiver_params& params,
                                                   transceiver_radio& radio);

    //! That is used: never automatic.
    virtual transmit_mode mode() const = 0;
    //! Pulses have a place on the clock of the stamps.
    virtual bool scheduled() const = 0;

    virtual const radar_transceiver_params& params() const = 0;

    //! Open and start the streams, the receiver first. \throws std::runtime_error
    virtual void start(double host_s) = 0;

    //! What step() found; pointers hold until the next one.
    struct received {
        const cf32* samples = nullptr;
        const cf32* reference = nullptr;
        int count = 0;
        //! Number of the first one: samples since the first of the radio, those included
        //! that are known to be lost.
        std::int64_t first = 0;
        std::optional<radio_news> news; //!< to tell before the samples
    };
    /*!
     * \brief Once around.
     * \param room samples that the caller can take; less than what comes is lost, and
     * counted as lost
     * \throws std::runtime_error when the radio is of no use any more, with what to do
     */
    virtual received step(double host_s, long timeout_us, std::int64_t room) = 0;

    //! Time of pulse 0, relative as the news are; once it is known.
    virtual std::optional<radio_time> first_pulse() const = 0;

    //! Pulses that were found not to have been sent since the last call: from, to.
    virtual std::vector<std::pair<std::int64_t, std::int64_t>> not_sent() = 0;

    //! Transmitter off, streams closed.
    virtual void stop() noexcept = 0;

    virtual transceiver_status status() const = 0;
    //! Sentences since the last call.
    virtual std::vector<std::string> notices() = 0;
};

} // namespace kernel
} // namespace sar
} // namespace gr
