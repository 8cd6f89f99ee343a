// SPDX-License-Identifier: GPL-3.0-or-later
//
// The SoapySDR module: driver=sarsim. What it does is in simulated_radio; this file
// translates.

#include "../kernels/core/errors.h"
#include "simulated_radio.h"
#include <SoapySDR/Device.hpp>
#include <SoapySDR/Formats.h>
#include <SoapySDR/Logger.hpp>
#include <SoapySDR/Registry.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace {

using namespace gr::sar;
using side = simulated_radio::direction;

// ---- radios that several devices share
// --------------------------------------------------

std::mutex radios_mutex;
std::map<std::string, std::weak_ptr<simulated_radio>> radios;

std::shared_ptr<simulated_radio> radio_of(const SoapySDR::Kwargs& args)
{
    const auto given = [&](const char* key, const char* otherwise) {
        const auto a = args.find(key);
        return a == args.end() ? std::string(otherwise) : a->second;
    };
    const std::string id = given("id", "0");
    const std::lock_guard<std::mutex> lock(radios_mutex);
    std::shared_ptr<simulated_radio> radio = radios[id].lock();
    if (radio) {
        const std::string profile = given("profile", radio->profile().name.c_str());
        require(profile == radio->profile().name,
                "profile is '",
                profile,
                "' and the radio id=",
                id,
                " is open with '",
                radio->profile().name,
                "'; expected the same profile, or another id");
    } else {
        radio = std::make_shared<simulated_radio>(
            given("profile", "ideal"), [id](bool warning, const std::string& what) {
                SoapySDR::log(warning ? SOAPY_SDR_WARNING : SOAPY_SDR_INFO,
                              "sarsim id=" + id + ": " + what);
            });
    }
    for (const radio_setting& s : radio->settings())
        if (args.count(s.key))
            radio->set(s.key, args.at(s.key));
    static const char* const others[] = { "driver", "id", "profile", "label", "type" };
    for (const auto& [key, value] : args) {
        const bool known =
            std::any_of(radio->settings().begin(),
                        radio->settings().end(),
                        [&k = key](const radio_setting& s) { return s.key == k; }) ||
            std::any_of(std::begin(others), std::end(others), [&k = key](const char* o) {
                return k == o;
            });
        if (!known)
            SoapySDR::log(SOAPY_SDR_WARNING,
                          "sarsim: no setting is called '" + key +
                              "'; it is ignored (see docs/sarsim.md)");
    }
    radios[id] = radio;
    return radio;
}

// ---- formats
// ----------------------------------------------------------------------------

enum class sample_format { cf32, cs16, cs8 };

sample_format format_from_name(const std::string& name)
{
    if (name == SOAPY_SDR_CF32)
        return sample_format::cf32;
    if (name == SOAPY_SDR_CS16)
        return sample_format::cs16;
    if (name == SOAPY_SDR_CS8)
        return sample_format::cs8;
    throw std::invalid_argument(
        sentence("format is '", name, "'; expected one of: CF32, CS16, CS8"));
}

double full_scale(sample_format f)
{
    return f == sample_format::cs16 ? 32768 : f == sample_format::cs8 ? 128 : 1;
}

template <typename T>
void to_integers(const cf32* in, std::size_t n, float scale, T* out)
{
    const float* x = reinterpret_cast<const float*>(in);
    for (std::size_t i = 0; i < 2 * n; ++i)
        out[i] = static_cast<T>(
            std::lrint(std::min(std::max(x[i] * scale, -scale), scale - 1)));
}

template <typename T>
void from_integers(const T* in, std::size_t n, float scale, cf32* out)
{
    float* x = reinterpret_cast<float*>(out);
    for (std::size_t i = 0; i < 2 * n; ++i)
        x[i] = in[i] / scale;
}

void to_format(const std::vector<cf32>& in, std::size_t n, sample_format f, void* out)
{
    const auto scale = static_cast<float>(full_scale(f));
    if (f == sample_format::cf32)
        std::memcpy(out, in.data(), n * sizeof(cf32));
    else if (f == sample_format::cs16)
        to_integers(in.data(), n, scale, static_cast<std::int16_t*>(out));
    else
        to_integers(in.data(), n, scale, static_cast<std::int8_t*>(out));
}

const cf32*
from_format(const void* in, std::size_t n, sample_format f, std::vector<cf32>& room)
{
    if (f == sample_format::cf32)
        return static_cast<const cf32*>(in);
    const auto scale = static_cast<float>(full_scale(f));
    room.resize(n);
    if (f == sample_format::cs16)
        from_integers(static_cast<const std::int16_t*>(in), n, scale, room.data());
    else
        from_integers(static_cast<const std::int8_t*>(in), n, scale, room.data());
    return room.data();
}

} // namespace

//! SoapySDR's opaque handle.
class SoapySDR::Stream
{
public:
    side direction;
    sample_format format;
    std::vector<std::size_t> channels;
    std::vector<cf32> antenna, reference, transmitted;
};

namespace {

constexpr char gain_name[] = "PGA";
constexpr char frequency_name[] = "RF";
constexpr char bank_name[] = "MAIN";

class sarsim_device final : public SoapySDR::Device
{
public:
    explicit sarsim_device(const SoapySDR::Kwargs& args)
        : d_id(args.count("id") ? args.at("id") : "0"), d_radio(radio_of(args))
    {
        for (const side d : { side::receive, side::transmit })
            of(d).antenna = antennas(d).front();
    }

    ~sarsim_device() override
    {
        // a program that forgets to close its streams leaves none behind
        for (SoapySDR::Stream* s : d_streams) {
            d_radio->close(s->direction);
            delete s;
        }
    }

    // ---- identification
    std::string getDriverKey() const override { return "sarsim"; }
    std::string getHardwareKey() const override { return profile().hardware; }
    SoapySDR::Kwargs getHardwareInfo() const override
    {
        return { { "id", d_id },
                 { "profile", profile().name },
                 { "description", profile().what },
                 { "serial", "sarsim-" + d_id },
                 { "origin", "gr-sar" } };
    }

    // ---- channels
    std::size_t getNumChannels(const int direction) const override
    {
        return direction == SOAPY_SDR_RX ? profile().rx_channels : 1;
    }
    SoapySDR::Kwargs getChannelInfo(const int direction,
                                    const std::size_t channel) const override
    {
        check(direction, channel);
        return { { "role",
                   direction == SOAPY_SDR_TX ? "transmitter"
                   : channel                 ? "reference: the transmitter, coupled"
                                             : "antenna" } };
    }
    bool getFullDuplex(const int, const std::size_t) const override
    {
        return !profile().half_duplex;
    }

    // ---- streams
    std::vector<std::string> getStreamFormats(const int, const std::size_t) const override
    {
        return { SOAPY_SDR_CF32, SOAPY_SDR_CS16, SOAPY_SDR_CS8 };
    }
    std::string getNativeStreamFormat(const int direction,
                                      const std::size_t channel,
                                      double& scale) const override
    {
        check(direction, channel);
        scale = full_scale(format_from_name(profile().native_format));
        return profile().native_format;
    }
    SoapySDR::ArgInfoList getStreamArgsInfo(const int direction,
                                            const std::size_t channel) const override
    {
        check(direction, channel);
        if (direction == SOAPY_SDR_RX)
            return {};
        SoapySDR::ArgInfo cyclic;
        cyclic.key = "cyclic";
        cyclic.value = "false";
        cyclic.type = SoapySDR::ArgInfo::BOOL;
        cyclic.description = "what is written first is transmitted again and again";
        SoapySDR::ArgInfo samples;
        samples.key = "cyclic_samples";
        samples.value = "0";
        samples.units = "samples";
        samples.type = SoapySDR::ArgInfo::INT;
        samples.description =
            "samples of the cycle; 0: those of the first write, or burst";
        return { cyclic, samples };
    }

    SoapySDR::Stream* setupStream(const int direction,
                                  const std::string& format,
                                  const std::vector<std::size_t>& channels,
                                  const SoapySDR::Kwargs& args) override
    {
        auto s = std::make_unique<SoapySDR::Stream>();
        s->direction = of(direction);
        s->format = format_from_name(format);
        s->channels = channels.empty() ? std::vector<std::size_t>{ 0 } : channels;
        for (std::size_t k = 0; k < s->channels.size(); ++k) {
            check(direction, s->channels[k]);
            require(std::count(s->channels.begin(), s->channels.end(), s->channels[k]) ==
                        1,
                    "channel ",
                    s->channels[k],
                    " is asked for twice; expected each once");
        }
        bool cyclic = false;
        std::int64_t cycle = 0;
        for (const auto& [key, value] : args) {
            if (key == "cyclic" && direction == SOAPY_SDR_TX)
                cyclic = SoapySDR::StringToSetting<bool>(value);
            else if (key == "cyclic_samples" && direction == SOAPY_SDR_TX)
                cycle = SoapySDR::StringToSetting<long long>(value);
            else if (key != "WIRE")
                SoapySDR::log(SOAPY_SDR_WARNING,
                              "sarsim: no stream argument is called '" + key +
                                  "'; it is ignored");
        }
        require(cycle >= 0, "cyclic_samples is ", cycle, "; expected 0 or more");
        d_radio->open(s->direction, cyclic, cycle);
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_streams.push_back(s.get());
        return s.release();
    }

    void closeStream(SoapySDR::Stream* s) override
    {
        d_radio->close(s->direction);
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_streams.erase(std::remove(d_streams.begin(), d_streams.end(), s),
                        d_streams.end());
        delete s;
    }

    std::size_t getStreamMTU(SoapySDR::Stream*) const override { return profile().mtu; }

    int activateStream(SoapySDR::Stream* s,
                       const int flags,
                       const long long t_ns,
                       const std::size_t count) override
    {
        return d_radio->activate(s->direction, flags, t_ns, count);
    }
    int deactivateStream(SoapySDR::Stream* s, const int flags, const long long t) override
    {
        return d_radio->deactivate(s->direction, flags, t);
    }

    int readStream(SoapySDR::Stream* s,
                   void* const* buffers,
                   const std::size_t n,
                   int& flags,
                   long long& t_ns,
                   const long timeout_us) override
    {
        if (s->direction != side::receive)
            return SOAPY_SDR_NOT_SUPPORTED;
        const std::size_t most = std::min<std::size_t>(n, profile().mtu);
        const bool both = std::count(s->channels.begin(), s->channels.end(), 1);
        s->antenna.resize(most);
        s->reference.resize(both ? most : 0);
        try {
            const int got = d_radio->read(s->antenna.data(),
                                          both ? s->reference.data() : nullptr,
                                          most,
                                          flags,
                                          t_ns,
                                          timeout_us);
            for (std::size_t k = 0; got > 0 && k < s->channels.size(); ++k)
                to_format(s->channels[k] ? s->reference : s->antenna,
                          got,
                          s->format,
                          buffers[k]);
            return got;
        } catch (const std::exception& e) {
            SoapySDR::log(SOAPY_SDR_ERROR, std::string("sarsim: ") + e.what());
            return SOAPY_SDR_STREAM_ERROR;
        }
    }

    int writeStream(SoapySDR::Stream* s,
                    const void* const* buffers,
                    const std::size_t n,
                    int& flags,
                    const long long t_ns,
                    const long timeout_us) override
    {
        if (s->direction != side::transmit)
            return SOAPY_SDR_NOT_SUPPORTED;
        try {
            return d_radio->write(from_format(buffers[0], n, s->format, s->transmitted),
                                  n,
                                  flags,
                                  t_ns,
                                  timeout_us);
        } catch (const std::exception& e) {
            SoapySDR::log(SOAPY_SDR_ERROR, std::string("sarsim: ") + e.what());
            return SOAPY_SDR_STREAM_ERROR;
        }
    }

    int readStreamStatus(SoapySDR::Stream* s,
                         std::size_t& channels,
                         int& flags,
                         long long& t_ns,
                         const long timeout_us) override
    {
        channels = 1;
        return d_radio->status(s->direction, flags, t_ns, timeout_us);
    }

    // ---- antennas
    std::vector<std::string> listAntennas(const int direction,
                                          const std::size_t channel) const override
    {
        check(direction, channel);
        return antennas(of(direction));
    }
    void setAntenna(const int direction,
                    const std::size_t channel,
                    const std::string& name) override
    {
        check(direction, channel);
        const auto all = antennas(of(direction));
        std::string expected;
        for (const std::string& a : all)
            expected += (expected.empty() ? "" : ", ") + a;
        require(std::count(all.begin(), all.end(), name),
                "antenna is '",
                name,
                "'; expected one of: ",
                expected);
        of(of(direction)).antenna = name;
    }
    std::string getAntenna(const int direction, const std::size_t channel) const override
    {
        check(direction, channel);
        return of(of(direction)).antenna;
    }

    // ---- corrections
    bool hasDCOffsetMode(const int d, const std::size_t) const override
    {
        return d == SOAPY_SDR_RX;
    }
    void setDCOffsetMode(const int d, const std::size_t, const bool automatic) override
    {
        if (d == SOAPY_SDR_RX)
            d_radio->correct_dc(d_dc, d_dc_automatic = automatic);
    }
    bool getDCOffsetMode(const int d, const std::size_t) const override
    {
        return d == SOAPY_SDR_RX && d_dc_automatic;
    }
    bool hasDCOffset(const int d, const std::size_t) const override
    {
        return d == SOAPY_SDR_RX;
    }
    void setDCOffset(const int d,
                     const std::size_t,
                     const std::complex<double>& offset) override
    {
        if (d == SOAPY_SDR_RX)
            d_radio->correct_dc(d_dc = offset, d_dc_automatic);
    }
    std::complex<double> getDCOffset(const int, const std::size_t) const override
    {
        return d_dc;
    }
    bool hasFrequencyCorrection(const int d, const std::size_t) const override
    {
        return d == SOAPY_SDR_RX;
    }
    void setFrequencyCorrection(const int d, const std::size_t, const double ppm) override
    {
        if (d == SOAPY_SDR_RX)
            d_radio->correct_frequency(d_ppm = ppm);
    }
    double getFrequencyCorrection(const int, const std::size_t) const override
    {
        return d_ppm;
    }

    // ---- gain
    std::vector<std::string> listGains(const int, const std::size_t) const override
    {
        return { gain_name };
    }
    bool hasGainMode(const int, const std::size_t) const override { return false; }
    void setGain(const int direction, const std::size_t c, const double db) override
    {
        check(direction, c);
        d_radio->set_gain(of(direction), db);
    }
    void setGain(const int direction,
                 const std::size_t channel,
                 const std::string& name,
                 const double db) override
    {
        require(name == gain_name, "gain is '", name, "'; expected ", gain_name);
        setGain(direction, channel, db);
    }
    double getGain(const int direction, const std::size_t) const override
    {
        return d_radio->gain(of(direction));
    }
    double getGain(const int direction,
                   const std::size_t channel,
                   const std::string&) const override
    {
        return getGain(direction, channel);
    }
    SoapySDR::Range getGainRange(const int direction, const std::size_t) const override
    {
        const extent& e =
            direction == SOAPY_SDR_RX ? profile().rx_gain_db : profile().tx_gain_db;
        return { e.first, e.last };
    }
    SoapySDR::Range getGainRange(const int direction,
                                 const std::size_t channel,
                                 const std::string&) const override
    {
        return getGainRange(direction, channel);
    }

    // ---- frequency
    void setFrequency(const int direction,
                      const std::size_t channel,
                      const double hz,
                      const SoapySDR::Kwargs&) override
    {
        check(direction, channel);
        d_radio->set_frequency(of(direction), hz);
    }
    void setFrequency(const int direction,
                      const std::size_t channel,
                      const std::string& name,
                      const double hz,
                      const SoapySDR::Kwargs& args) override
    {
        require(name == frequency_name,
                "frequency component is '",
                name,
                "'; expected ",
                frequency_name);
        setFrequency(direction, channel, hz, args);
    }
    double getFrequency(const int direction, const std::size_t) const override
    {
        return d_radio->frequency(of(direction));
    }
    double getFrequency(const int direction,
                        const std::size_t channel,
                        const std::string&) const override
    {
        return getFrequency(direction, channel);
    }
    std::vector<std::string> listFrequencies(const int, const std::size_t) const override
    {
        return { frequency_name };
    }
    SoapySDR::RangeList getFrequencyRange(const int, const std::size_t) const override
    {
        return { { profile().frequency_hz.first, profile().frequency_hz.last } };
    }
    SoapySDR::RangeList getFrequencyRange(const int direction,
                                          const std::size_t channel,
                                          const std::string&) const override
    {
        return getFrequencyRange(direction, channel);
    }
    SoapySDR::ArgInfoList getFrequencyArgsInfo(const int,
                                               const std::size_t) const override
    {
        return {};
    }

    // ---- rate and bandwidth
    void setSampleRate(const int direction, const std::size_t c, const double hz) override
    {
        check(direction, c);
        d_radio->set_rate(of(direction), hz);
    }
    double getSampleRate(const int direction, const std::size_t) const override
    {
        return d_radio->rate(of(direction));
    }
    std::vector<double> listSampleRates(const int, const std::size_t) const override
    {
        const extent& e = profile().rate_hz;
        std::vector<double> all;
        for (const double r : { 1e6, 2e6, 4e6, 5e6, 10e6, 20e6, 40e6, 50e6 })
            if (r >= e.first && r <= e.last)
                all.push_back(r);
        return all;
    }
    SoapySDR::RangeList getSampleRateRange(const int, const std::size_t) const override
    {
        return { { profile().rate_hz.first, profile().rate_hz.last } };
    }
    //! Kept, without effect: there is no filter.
    void setBandwidth(const int direction, const std::size_t, const double hz) override
    {
        of(of(direction)).bandwidth_hz = hz;
    }
    double getBandwidth(const int direction, const std::size_t channel) const override
    {
        const double b = of(of(direction)).bandwidth_hz;
        return b > 0 ? b : getSampleRate(direction, channel);
    }
    SoapySDR::RangeList getBandwidthRange(const int, const std::size_t) const override
    {
        return { { profile().rate_hz.first, profile().rate_hz.last } };
    }

    // ---- clocks and time
    void setMasterClockRate(const double) override {}
    double getMasterClockRate() const override { return profile().rate_hz.last; }
    SoapySDR::RangeList getMasterClockRates() const override
    {
        return { { profile().rate_hz.last, profile().rate_hz.last } };
    }
    std::vector<std::string> listClockSources() const override { return { "internal" }; }
    std::string getClockSource() const override { return "internal"; }
    std::vector<std::string> listTimeSources() const override { return { "internal" }; }
    std::string getTimeSource() const override { return "internal"; }
    bool hasHardwareTime(const std::string& what) const override
    {
        return what.empty() && d_radio->has_time();
    }
    long long getHardwareTime(const std::string&) const override
    {
        return d_radio->has_time() ? d_radio->time_ns() : 0;
    }
    void setHardwareTime(const long long t, const std::string&) override
    {
        if (d_radio->has_time())
            d_radio->set_time_ns(t);
    }

    // ---- sensors
    std::vector<std::string> listSensors() const override { return { "clock_locked" }; }
    SoapySDR::ArgInfo getSensorInfo(const std::string& key) const override
    {
        SoapySDR::ArgInfo info;
        info.key = key;
        info.value = "false";
        info.type = SoapySDR::ArgInfo::BOOL;
        info.description = "transmitter and receiver share a clock";
        return info;
    }
    std::string readSensor(const std::string& key) const override
    {
        require(key == "clock_locked", "sensor is '", key, "'; expected clock_locked");
        return SoapySDR::SettingToString(
            SoapySDR::StringToSetting<double>(d_radio->get("clock_error_ppm")) == 0);
    }

    // ---- settings
    SoapySDR::ArgInfoList getSettingInfo() const override
    {
        SoapySDR::ArgInfoList all;
        for (const radio_setting& s : d_radio->settings()) {
            SoapySDR::ArgInfo i;
            i.key = s.key;
            i.value = s.value;
            i.units = s.units;
            i.description = s.description;
            i.options = s.options;
            i.type = s.type == radio_setting::number    ? SoapySDR::ArgInfo::FLOAT
                     : s.type == radio_setting::integer ? SoapySDR::ArgInfo::INT
                     : s.type == radio_setting::boolean ? SoapySDR::ArgInfo::BOOL
                                                        : SoapySDR::ArgInfo::STRING;
            all.push_back(i);
        }
        return all;
    }
    void writeSetting(const std::string& key, const std::string& value) override
    {
        d_radio->set(key, value);
    }
    std::string readSetting(const std::string& key) const override
    {
        return d_radio->get(key);
    }

    // ---- pins
    std::vector<std::string> listGPIOBanks() const override { return { bank_name }; }
    void writeGPIO(const std::string& bank, const unsigned value) override
    {
        check(bank);
        const unsigned before = d_pins;
        d_pins = value & 1;
        // the rising edge is the trigger
        if (d_pins & ~before)
            d_radio->write_pins(1);
    }
    void
    writeGPIO(const std::string& bank, const unsigned value, const unsigned mask) override
    {
        writeGPIO(bank, (d_pins & ~mask) | (value & mask));
    }
    unsigned readGPIO(const std::string& bank) const override
    {
        check(bank);
        return d_pins | d_radio->read_pins();
    }
    void writeGPIODir(const std::string& bank, const unsigned) override { check(bank); }
    void writeGPIODir(const std::string& bank, const unsigned, const unsigned) override
    {
        check(bank);
    }
    unsigned readGPIODir(const std::string& bank) const override
    {
        check(bank);
        return 1;
    }

private:
    struct chain {
        std::string antenna;
        double bandwidth_hz = 0;
    };

    const radio_profile& profile() const { return d_radio->profile(); }
    static side of(int direction)
    {
        return direction == SOAPY_SDR_RX ? side::receive : side::transmit;
    }
    chain& of(side d) { return d_chains[d == side::receive]; }
    const chain& of(side d) const { return d_chains[d == side::receive]; }
    std::vector<std::string> antennas(side d) const
    {
        return d == side::receive ? profile().rx_antennas : profile().tx_antennas;
    }
    void check(int direction, std::size_t channel) const
    {
        require(channel < getNumChannels(direction),
                direction == SOAPY_SDR_RX ? "receive" : "transmit",
                " channel is ",
                channel,
                "; expected less than ",
                getNumChannels(direction),
                " with profile=",
                profile().name);
    }
    static void check(const std::string& bank)
    {
        require(bank == bank_name, "GPIO bank is '", bank, "'; expected ", bank_name);
    }

    const std::string d_id;
    const std::shared_ptr<simulated_radio> d_radio;
    std::mutex d_mutex;
    std::vector<SoapySDR::Stream*> d_streams;
    chain d_chains[2];
    std::complex<double> d_dc = 0;
    bool d_dc_automatic = false;
    double d_ppm = 0;
    unsigned d_pins = 0;
};

//! Found by those who ask for it: nobody wants a simulation in place of a radio.
SoapySDR::KwargsList find(const SoapySDR::Kwargs& args)
{
    if (!args.count("driver") || args.at("driver") != "sarsim")
        return {};
    // SoapySDR makes one device of what is found under the same arguments
    SoapySDR::Kwargs found = args;
    found.erase("driver");
    found.emplace("id", "0");
    found["label"] = "sarsim, simulated radar";
    if (args.count("profile"))
        found["label"] += " (" + args.at("profile") + ")";
    return { found };
}

SoapySDR::Device* make(const SoapySDR::Kwargs& args) { return new sarsim_device(args); }

const SoapySDR::Registry registration("sarsim", &find, &make, SOAPY_SDR_ABI_VERSION);

} // namespace
