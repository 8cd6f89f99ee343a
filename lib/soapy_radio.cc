// SPDX-License-Identifier: GPL-3.0-or-later
#include "soapy_radio.h"
#include <SoapySDR/Constants.h>
#include <SoapySDR/Device.hpp>
#include <SoapySDR/Errors.h>
#include <SoapySDR/Formats.h>
#include <algorithm>
#include <cmath>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

static_assert(transceiver_radio::timeout == SOAPY_SDR_TIMEOUT &&
                  transceiver_radio::stream_error == SOAPY_SDR_STREAM_ERROR &&
                  transceiver_radio::corruption == SOAPY_SDR_CORRUPTION &&
                  transceiver_radio::overflow == SOAPY_SDR_OVERFLOW &&
                  transceiver_radio::not_supported == SOAPY_SDR_NOT_SUPPORTED &&
                  transceiver_radio::time_error == SOAPY_SDR_TIME_ERROR &&
                  transceiver_radio::underflow == SOAPY_SDR_UNDERFLOW,
              "codes are those of SoapySDR");

template <typename List>
std::string listed(const List& all)
{
    std::string out;
    for (const auto& v : all)
        out += (out.empty() ? "" : ", ") + std::string(v);
    return out;
}

std::string text_of(double v) { return sentence(v); }

class soapy_radio final : public known_radio
{
public:
    soapy_radio(const radio_settings& settings,
                double rate_hz,
                double carrier_hz,
                bool transmit)
        : d_s(settings),
          d_transmits(transmit),
          d_rx(settings.device, "device"),
          d_tx(transmit && !settings.tx_device.empty() ? settings.tx_device : "",
               "tx_device"),
          d_sender(d_tx ? *d_tx : *d_rx)
    {
        d_name = "'" + settings.device + "' (" + d_rx->getHardwareKey() + ")";
        check_channels();
        tune(*d_rx,
             SOAPY_SDR_RX,
             settings.rx_channel,
             rate_hz,
             carrier_hz,
             settings.rx_antenna,
             "rx_antenna",
             settings.rx_gain_db);
        if (settings.reference_channel >= 0)
            tune(*d_rx,
                 SOAPY_SDR_RX,
                 settings.reference_channel,
                 rate_hz,
                 carrier_hz,
                 "",
                 "",
                 std::nullopt);
        if (!transmit)
            return;
        tune(d_sender,
             SOAPY_SDR_TX,
             settings.tx_channel,
             rate_hz,
             carrier_hz,
             settings.tx_antenna,
             "tx_antenna",
             settings.tx_gain_db);
        for (const auto& a :
             d_sender.getStreamArgsInfo(SOAPY_SDR_TX, settings.tx_channel))
            d_has_cycle = d_has_cycle || a.key == "cyclic";
    }
    ~soapy_radio() override { close(); }

    std::string name() const override { return d_name; }
    bool has_time() const override
    {
        // two devices have two clocks
        return !d_tx && d_rx->hasHardwareTime("");
    }
    bool has_cycle() const override { return d_has_cycle; }
    long long time_ns() override { return d_rx->getHardwareTime(""); }

    void open(bool transmit, std::int64_t cycle) override
    {
        try {
            std::vector<std::size_t> channels = { static_cast<std::size_t>(
                d_s.rx_channel) };
            if (d_s.reference_channel >= 0)
                channels.push_back(d_s.reference_channel);
            d_rx_stream = d_rx->setupStream(SOAPY_SDR_RX,
                                            SOAPY_SDR_CF32,
                                            channels,
                                            SoapySDR::KwargsFromString(d_s.rx_stream));
            if (!transmit)
                return;
            SoapySDR::Kwargs args = SoapySDR::KwargsFromString(d_s.tx_stream);
            if (cycle > 0) {
                args["cyclic"] = "true";
                args["cyclic_samples"] = std::to_string(cycle);
            }
            d_tx_stream =
                d_sender.setupStream(SOAPY_SDR_TX,
                                     SOAPY_SDR_CF32,
                                     { static_cast<std::size_t>(d_s.tx_channel) },
                                     args);
        } catch (const std::exception& e) {
            close();
            throw std::runtime_error(
                sentence("the streams of ", d_name, " cannot be set up: ", e.what()));
        }
    }

    void close() noexcept override
    {
        const auto end = [](SoapySDR::Device& device, SoapySDR::Stream*& stream) {
            if (!stream)
                return;
            try {
                device.deactivateStream(stream);
            } catch (...) {
                // a radio that was unplugged has nothing to switch off
            }
            try {
                device.closeStream(stream);
            } catch (...) {
            }
            stream = nullptr;
        };
        end(d_sender, d_tx_stream);
        end(*d_rx, d_rx_stream);
        d_rx_active = false;
    }

    int start_receiver(std::optional<long long> time_ns) override
    {
        // one that was started too late goes on only after it was stopped
        if (d_rx_active)
            d_rx->deactivateStream(d_rx_stream);
        d_rx_active = true;
        return d_rx->activateStream(
            d_rx_stream, time_ns ? SOAPY_SDR_HAS_TIME : 0, time_ns.value_or(0));
    }
    int start_transmitter() override { return d_sender.activateStream(d_tx_stream); }

    outcome read(cf32* samples, cf32* reference, int n, long timeout_us) override
    {
        void* const buffers[] = { samples, reference };
        int flags = 0;
        long long time_ns = 0;
        const int r =
            d_rx->readStream(d_rx_stream, buffers, n, flags, time_ns, timeout_us);
        return told(r, flags, time_ns);
    }

    outcome write(const cf32* samples,
                  int n,
                  std::optional<long long> time_ns,
                  bool ends_burst,
                  long timeout_us) override
    {
        const void* const buffers[] = { samples };
        int flags =
            (time_ns ? SOAPY_SDR_HAS_TIME : 0) | (ends_burst ? SOAPY_SDR_END_BURST : 0);
        const int r = d_sender.writeStream(
            d_tx_stream, buffers, n, flags, time_ns.value_or(0), timeout_us);
        return { r, std::nullopt };
    }

    outcome receiver_status() override { return status(*d_rx, d_rx_stream); }
    outcome transmitter_status() override { return status(d_sender, d_tx_stream); }

    bool waits() const override
    {
        return d_rx->getDriverKey() == "sarsim" && d_rx->readSetting("pace") == "fast";
    }

    std::map<std::string, std::string> key() const override
    {
        std::map<std::string, std::string> k;
        const auto put = [&k](const char* field, const auto& ask) {
            try {
                const std::string v = ask();
                if (!v.empty())
                    k[field] = v;
            } catch (...) {
                // not every driver answers everything
            }
        };
        const std::size_t rx = d_s.rx_channel, tx = d_s.tx_channel;
        put("driver", [&] { return d_rx->getDriverKey(); });
        put("hardware", [&] { return d_rx->getHardwareKey(); });
        put("serial", [&] {
            const auto info = d_rx->getHardwareInfo();
            const auto i = info.find("serial");
            return i == info.end() ? std::string() : i->second;
        });
        put("rx_rate_hz", [&] { return text_of(d_rx->getSampleRate(SOAPY_SDR_RX, rx)); });
        put("rx_antenna", [&] { return d_rx->getAntenna(SOAPY_SDR_RX, rx); });
        put("rx_gain_db", [&] { return text_of(d_rx->getGain(SOAPY_SDR_RX, rx)); });
        put("centre_frequency_hz",
            [&] { return text_of(d_rx->getFrequency(SOAPY_SDR_RX, rx)); });
        if (d_transmits) {
            put("tx_rate_hz",
                [&] { return text_of(d_sender.getSampleRate(SOAPY_SDR_TX, tx)); });
            put("tx_antenna", [&] { return d_sender.getAntenna(SOAPY_SDR_TX, tx); });
            put("tx_gain_db",
                [&] { return text_of(d_sender.getGain(SOAPY_SDR_TX, tx)); });
        }
        return k;
    }

private:
    //! A device that is open as long as this is.
    class owner
    {
    public:
        owner(const std::string& args, const char* parameter)
        {
            if (args.empty()) {
                require(std::string(parameter) != "device",
                        "device is empty; expected SoapySDR's arguments, such as "
                        "driver=lime (SoapySDRUtil --find lists the devices that are "
                        "there)");
                return;
            }
            try {
                d_device = SoapySDR::Device::make(args);
            } catch (const std::exception& e) {
                refuse(args, parameter, e.what());
            }
            if (!d_device)
                refuse(args, parameter, "there is no such device");
        }
        ~owner()
        {
            if (!d_device)
                return;
            try {
                SoapySDR::Device::unmake(d_device);
            } catch (...) {
                // a destructor
            }
        }
        owner(const owner&) = delete;
        owner& operator=(const owner&) = delete;

        explicit operator bool() const { return d_device; }
        SoapySDR::Device& operator*() const { return *d_device; }
        SoapySDR::Device* operator->() const { return d_device; }

    private:
        [[noreturn]] static void
        refuse(const std::string& args, const char* parameter, const std::string& why)
        {
            throw std::invalid_argument(
                sentence(parameter,
                         " is '",
                         args,
                         "', which cannot be opened (",
                         why,
                         "); expected one of those that SoapySDRUtil --find lists"));
        }
        SoapySDR::Device* d_device = nullptr;
    };

    void check_channels() const
    {
        const auto channel = [this](SoapySDR::Device& device,
                                    int direction,
                                    const char* parameter,
                                    int c) {
            const auto n = static_cast<int>(device.getNumChannels(direction));
            require(n > 0,
                    d_name,
                    direction == SOAPY_SDR_TX
                        ? " has no transmitter; expected transmit = 'none', or another "
                          "device as tx_device"
                        : " has no receiver; expected a device with one");
            require(c >= 0 && c < n,
                    parameter,
                    " is ",
                    c,
                    "; expected 0 to ",
                    n - 1,
                    ", the channels of ",
                    d_name);
            const auto formats = device.getStreamFormats(direction, c);
            require(std::count(formats.begin(), formats.end(), SOAPY_SDR_CF32),
                    "the driver of ",
                    d_name,
                    " gives samples as ",
                    listed(formats),
                    "; expected CF32 among them");
        };
        channel(*d_rx, SOAPY_SDR_RX, "rx_channel", d_s.rx_channel);
        if (d_s.reference_channel >= 0) {
            channel(*d_rx, SOAPY_SDR_RX, "reference_channel", d_s.reference_channel);
            require(d_s.reference_channel != d_s.rx_channel,
                    "reference_channel is ",
                    d_s.reference_channel,
                    ", as rx_channel; expected another one");
        }
        if (!d_transmits)
            return;
        channel(d_sender, SOAPY_SDR_TX, "tx_channel", d_s.tx_channel);
        require(d_tx || d_rx->getFullDuplex(SOAPY_SDR_RX, d_s.rx_channel),
                d_name,
                " is half duplex: it cannot transmit and receive at the same time, and "
                "so is no radar by itself; expected a second one as tx_device, with a "
                "common clock, or a radio that does both");
    }

    void tune(SoapySDR::Device& device,
              int direction,
              std::size_t channel,
              double rate_hz,
              double carrier_hz,
              const std::string& antenna,
              const char* antenna_parameter,
              const std::optional<double>& gain_db)
    {
        const char* const side =
            direction == SOAPY_SDR_RX ? "the receiver of " : "the transmitter of ";
        if (!antenna.empty()) {
            const auto all = device.listAntennas(direction, channel);
            require(std::count(all.begin(), all.end(), antenna),
                    antenna_parameter,
                    " is '",
                    antenna,
                    "'; expected one of: ",
                    listed(all));
        }
        try {
            device.setSampleRate(direction, channel, rate_hz);
            if (!antenna.empty())
                device.setAntenna(direction, channel, antenna);
            device.setFrequency(direction, channel, carrier_hz);
            if (gain_db)
                device.setGain(direction, channel, *gain_db);
            if (d_s.bandwidth_hz > 0)
                device.setBandwidth(direction, channel, d_s.bandwidth_hz);
        } catch (const std::exception& e) {
            throw std::invalid_argument(
                sentence(side,
                         d_name,
                         " cannot be set to ",
                         rate_hz,
                         " samples a second at ",
                         carrier_hz,
                         " Hz: ",
                         e.what(),
                         "; expected sample_rate_hz and carrier_hz of acq, gain, antenna "
                         "and bandwidth within what SoapySDRUtil --probe says"));
        }
        const double rate = device.getSampleRate(direction, channel);
        require(std::abs(rate / rate_hz - 1) < 1e-9,
                side,
                d_name,
                " runs at ",
                rate,
                " samples a second; expected sample_rate_hz of acq, ",
                rate_hz,
                ": give acq a rate that the radio has");
        const double hz = device.getFrequency(direction, channel);
        require(std::abs(hz / carrier_hz - 1) < 1e-5,
                side,
                d_name,
                " is at ",
                hz,
                " Hz; expected the carrier, ",
                carrier_hz,
                " Hz (frequency_hz, or carrier_hz of acq)");
    }

    static outcome told(int r, int flags, long long time_ns)
    {
        if (flags & SOAPY_SDR_HAS_TIME)
            return { r, time_ns };
        return { r, std::nullopt };
    }

    static outcome status(SoapySDR::Device& device, SoapySDR::Stream* stream)
    {
        std::size_t mask = 0;
        int flags = 0;
        long long time_ns = 0;
        const int r = device.readStreamStatus(stream, mask, flags, time_ns, 0);
        return told(r, flags, time_ns);
    }

    const radio_settings d_s;
    const bool d_transmits;
    const owner d_rx;
    const owner d_tx; // when it is another one
    SoapySDR::Device& d_sender;
    std::string d_name;
    bool d_has_cycle = false;
    bool d_rx_active = false;
    SoapySDR::Stream* d_rx_stream = nullptr;
    SoapySDR::Stream* d_tx_stream = nullptr;
};

} // namespace

std::unique_ptr<known_radio> open_soapy_radio(const radio_settings& settings,
                                              double rate_hz,
                                              double carrier_hz,
                                              bool transmit)
{
    return std::make_unique<soapy_radio>(settings, rate_hz, carrier_hz, transmit);
}

} // namespace sar
} // namespace gr
