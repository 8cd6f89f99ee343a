// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulated_radio.h"
#include "../kernels/core/constants.h"
#include "../kernels/core/errors.h"
#include "../kernels/point_target_source/point_target_source_math.h"
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <locale>
#include <sstream>

namespace gr {
namespace sar {

namespace {

std::string text_of(double x)
{
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << std::setprecision(15) << x;
    return out.str();
}

double number_of(const std::string& key, const std::string& value)
{
    std::istringstream in(value);
    in.imbue(std::locale::classic());
    double x;
    require(in >> x && std::isfinite(x) && (in >> std::ws).eof(),
            key,
            " is '",
            value,
            "'; expected a number");
    return x;
}

geodetic origin_of(const std::string& key, const std::string& value)
{
    std::istringstream in(value);
    in.imbue(std::locale::classic());
    geodetic g;
    char a = 0, b = 0;
    require(in >> g.latitude_deg >> a >> g.longitude_deg >> b >> g.height_m && a == ';' &&
                b == ';' && (in >> std::ws).eof() && std::abs(g.latitude_deg) <= 90 &&
                std::abs(g.longitude_deg) <= 180 && std::isfinite(g.height_m),
            key,
            " is '",
            value,
            "'; expected LATITUDE;LONGITUDE;HEIGHT in degrees and metres, such as "
            "47.5;8.5;450");
    return g;
}

std::vector<sample_range> ranges_of(const std::string& key, const std::string& value)
{
    std::vector<sample_range> all;
    std::istringstream in(value);
    for (std::string part; std::getline(in, part, ';');) {
        std::istringstream one(part);
        sample_range r{ -1, -1 };
        char colon = 0;
        require(one >> r.begin >> colon >> r.count && colon == ':' && r.begin >= 0 &&
                    r.count >= 1 && (one >> std::ws).eof(),
                key,
                " has '",
                part,
                "'; expected SAMPLE:COUNT, several of them parted by semicolons");
        require(all.empty() || r.begin >= all.back().begin + all.back().count,
                key,
                " has '",
                part,
                "' out of order; expected ranges that follow each other");
        all.push_back(r);
    }
    return all;
}

std::string list_of(const std::vector<double>& v)
{
    std::string s;
    for (const double x : v)
        s += (s.empty() ? "" : ", ") + text_of(x);
    return "[" + s + "]";
}

constexpr auto start_draw = 0x5a1u, retune_draw = 0x5a2u, position_draw = 0x5a3u;

} // namespace

void truth_log::open(const std::string& file)
{
    d_out.close();
    d_out.clear();
    if (file.empty())
        return;
    d_out.open(file);
    require(
        d_out.good(), "truth is '", file, "', which cannot be written; expected a file");
}

void truth_log::write(const std::string& event, const std::string& fields)
{
    if (d_out.is_open())
        d_out << "{\"event\": \"" << event << "\"" << (fields.empty() ? "" : ", ")
              << fields << "}" << std::endl;
}

// ---- settings
// ---------------------------------------------------------------------------

std::vector<radio_setting> simulated_radio::settings_of(const radio_profile& p)
{
    using s = radio_setting;
    const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
    const auto n = [](double x) { return text_of(x); };
    return {
        { "scene", s::text, "", "", "scene file (JSON); empty: one target at 150 m", {} },
        { "seed", s::integer, "1", "", "of everything that is drawn", {} },
        { "pace",
          s::text,
          "fast",
          "",
          "fast: the clock goes as the streams are served; real_time: the wall's clock",
          { "fast", "real_time" } },
        { "start",
          s::text,
          "free",
          "",
          "together: the clock stands until samples are transmitted and received",
          { "free", "together" } },
        { "has_time", s::boolean, flag(p.has_time), "", "hardware time and stamps", {} },
        { "start_offset_samples",
          s::integer,
          n(p.start_offset_samples),
          "samples",
          "an untimed transmission starts late by 0 to this many, and a fraction",
          {} },
        { "tx_latency_samples",
          s::integer,
          n(p.tx_latency_samples),
          "samples",
          "from writing an untimed burst to its start; real_time: 5 ms at least",
          {} },
        { "tx_fifo_samples",
          s::integer,
          "65536",
          "samples",
          "that wait to be transmitted at most",
          {} },
        { "rx_buffer_samples",
          s::integer,
          "4194304",
          "samples",
          "real_time: that wait to be read at most; more is an overflow",
          {} },
        { "underflow_after_s",
          s::number,
          "0.5",
          "s",
          "fast: an unfinished burst that is not written to for so long has ended",
          {} },
        { "delay_samples",
          s::text,
          "auto",
          "samples",
          "from transmitted to received sample at range 0; auto: the profile's",
          {} },
        { "clock_error_ppm",
          s::number,
          n(p.clock_error_ppm),
          "ppm",
          "how much faster the transmitter's clock runs",
          {} },
        { "occupied_band",
          s::number,
          "0.75",
          "",
          "part of the sampling rate that what is transmitted fills, at most 0.9",
          {} },
        { "rf_hz",
          s::number,
          n(p.rf_hz),
          "Hz",
          "carrier at the antenna, behind a mixer; 0: the transmitter's frequency",
          {} },
        { "ramp_hz",
          s::number,
          n(p.ramp_hz),
          "Hz",
          "the carrier sweeps up by this (down: negative) in both directions; 0: none",
          {} },
        { "ramp_s", s::number, "500e-6", "s", "length of a sweep", {} },
        { "ramp_period_s", s::number, "1.5e-3", "s", "from sweep to sweep", {} },
        { "echo_db", s::text, "0", "dB", "added to all targets, or off", {} },
        { "leakage_db",
          s::text,
          p.leakage_db,
          "dB",
          "transmitter in receiver, or off",
          {} },
        { "leakage_delay_s", s::number, n(p.leakage_delay_s), "s", "of the leakage", {} },
        { "leakage_phase_rad", s::number, "0", "rad", "of the leakage", {} },
        { "reference_db",
          s::text,
          "-20",
          "dB",
          "transmitter in channel 1 through a coupler, or off",
          {} },
        { "noise_db", s::text, p.noise_db, "dB", "power of the noise, or off", {} },
        { "offset_hz", s::number, "0", "Hz", "transmitter minus receiver", {} },
        { "drift_rad_per_min",
          s::number,
          "0",
          "rad/min",
          "transmitter's phase against the receiver's",
          {} },
        { "phase_noise_dbc_hz",
          s::text,
          p.phase_noise_dbc_hz,
          "dBc/Hz",
          "at phase_noise_offset_hz, or off",
          {} },
        { "phase_noise_offset_hz", s::number, "10000", "Hz", "where that level is", {} },
        { "phase_noise_loop_hz",
          s::number,
          "1000",
          "Hz",
          "below this the phase noise is flat; 0: the phase walks freely",
          {} },
        { "phase_per_retune",
          s::boolean,
          flag(p.phase_per_retune),
          "",
          "a new phase is drawn when a frequency is set",
          {} },
        { "lo_step_hz",
          s::number,
          n(p.lo_step_hz),
          "Hz",
          "the transmitter falls by this when the receiver is tuned by 100 MHz or more",
          {} },
        { "dc_i", s::number, n(p.dc_i), "", "direct current of I, full scale 1", {} },
        { "dc_q", s::number, n(p.dc_q), "", "direct current of Q", {} },
        { "imbalance_db", s::number, n(p.imbalance_db), "dB", "Q against I", {} },
        { "imbalance_deg",
          s::number,
          n(p.imbalance_deg),
          "degrees",
          "Q against I, from a right angle",
          {} },
        { "adc_bits",
          s::integer,
          n(p.adc_bits),
          "",
          "of the converter; 0: neither rounds nor clips",
          {} },
        { "loss_mode",
          s::text,
          p.loss_mode,
          "",
          "how a loss of samples shows",
          { "overflow", "silent", "status", "frozen_time" } },
        { "loss_at",
          s::text,
          "",
          "",
          "SAMPLE:COUNT;... lost since the stream began",
          {} },
        { "loss_period_samples",
          s::integer,
          "0",
          "samples",
          "loss_samples are lost at the end of each; 0: none",
          {} },
        { "loss_samples", s::integer, "10000", "samples", "lost at a time", {} },
        { "rate_limit_hz",
          s::number,
          n(p.rate_limit_hz),
          "Hz",
          "above, samples are lost ten times a second; 0: no limit",
          {} },
        { "time_lie",
          s::text,
          "none",
          "",
          "what stamps say instead of the time",
          { "none", "minus_one", "zero", "backwards" } },
        { "underflow_at",
          s::text,
          "",
          "",
          "SAMPLE:COUNT;... not transmitted since the stream began",
          {} },
        { "truth", s::text, "", "", "file for what really happened (JSON lines)", {} },
        { "truth_interval_s", s::number, "0.01", "s", "between its rows of echoes", {} },
        { "positions",
          s::text,
          "",
          "",
          "file for a navigation record: .nmea or .nav.csv",
          {} },
        { "positions_rate_hz", s::number, "10", "Hz", "its rows a second", {} },
        { "positions_sigma_m", s::number, "0", "m", "white error of each axis", {} },
        { "positions_wander_m",
          s::number,
          "0",
          "m",
          "slow error of each axis, correlated over a minute",
          {} },
        { "positions_origin",
          s::text,
          "47.5;8.5;450",
          "deg;deg;m",
          "NMEA: latitude, longitude and height of the scene's origin, x to the east, y "
          "to the north",
          {} },
        { "positions_start_s",
          s::number,
          "43200",
          "s",
          "NMEA: time of day (UTC) at time 0 of the radio",
          {} },
    };
}

simulated_radio::simulated_radio(const std::string& profile, talk say)
    : d_profile(radio_profile_from_name(profile)),
      d_known(settings_of(d_profile)),
      d_say(std::move(say)),
      d_rx_db(d_profile.rx_nominal_db),
      d_tx_db(d_profile.tx_nominal_db)
{
    const auto inside = [](double x, const extent& e) {
        return std::clamp(x, e.first, e.last);
    };
    d_rx_hz = d_tx_hz = inside(2.4e9, d_profile.frequency_hz);
    d_rx_rate = d_tx_rate = d_rate = inside(1e6, d_profile.rate_hz);
    for (const radio_setting& s : d_known)
        d_values[s.key] = s.value;
    const lock l(d_mutex);
    for (const radio_setting& s : d_known)
        take_in(s.key);
    configure();
}

const std::string& simulated_radio::value(const std::string& key) const
{
    const auto v = d_values.find(key);
    require(v != d_values.end(), "setting '", key, "' is not known; see getSettingInfo");
    return v->second;
}

std::string simulated_radio::get(const std::string& key) const
{
    const lock l(d_mutex);
    return value(key);
}

double simulated_radio::number(const std::string& key) const
{
    return number_of(key, value(key));
}

//! 10^(dB / per_decade), 0 for "off".
double simulated_radio::level(const std::string& key, double per_decade) const
{
    return value(key) == "off" ? 0 : std::pow(10, number(key) / per_decade);
}

void simulated_radio::set(const std::string& key, const std::string& given)
{
    const lock l(d_mutex);
    const std::string before = value(key);
    const auto& known = *std::find_if(
        d_known.begin(), d_known.end(), [&](const auto& s) { return s.key == key; });
    std::string text = given;
    if (known.type == radio_setting::boolean) {
        text = given == "1" ? "true" : given == "0" ? "false" : given;
        require(text == "true" || text == "false",
                key,
                " is '",
                given,
                "'; expected true or false");
    }
    if (known.type == radio_setting::number)
        number_of(key, text);
    if (known.type == radio_setting::integer) {
        const double x = number_of(key, text);
        require(x >= 0 && x == std::floor(x),
                key,
                " is '",
                given,
                "'; expected a whole number, 0 or more");
    }
    if (!known.options.empty() &&
        !std::count(known.options.begin(), known.options.end(), text)) {
        std::string expected;
        for (const std::string& o : known.options)
            expected += (expected.empty() ? "" : ", ") + o;
        require(false, key, " is '", given, "'; expected one of: ", expected);
    }
    if (text == before)
        return;
    d_values[key] = text;
    try {
        take_in(key);
        configure();
    } catch (...) {
        d_values[key] = before;
        take_in(key);
        configure();
        throw;
    }
    d_changed.notify_all();
}

//! What a setting means beyond the numbers that configure() passes on.
void simulated_radio::take_in(const std::string& key)
{
    const std::string& v = value(key);
    if (key == "scene") {
        radar_scene scene;
        if (v.empty())
            scene.targets = { { { 0, 150, 0 }, 0.1 } };
        else
            scene = read_scene(v);
        auto radar = std::make_unique<simulated_radar>(scene);
        radar->set_start(d_start_s);
        const std::lock_guard<std::mutex> r(d_radar_mutex);
        if (d_radar)
            radar->configure(d_radar->front_end(), d_rx_next);
        d_radar = std::move(radar);
    } else if (key == "pace") {
        d_clock = clock();
        d_real_time = v == "real_time";
        if (d_clock_begun) {
            d_wall = std::chrono::steady_clock::now();
            d_wall_sample = d_clock;
        }
    } else if (key == "start") {
        d_together = v == "together";
    } else if (key == "loss_at") {
        d_losses = ranges_of(key, v);
    } else if (key == "underflow_at") {
        d_underflows = ranges_of(key, v);
    } else if (key == "truth") {
        d_truth.open(v);
        d_truth.write("radio", "\"profile\": \"" + d_profile.name + "\"");
    } else if (key == "positions") {
        d_positions.close();
        d_positions.clear();
        if (!v.empty()) {
            d_positions.open(v);
            require(d_positions.good(),
                    "positions is '",
                    v,
                    "', which cannot be written; expected a file");
            d_positions.imbue(std::locale::classic());
            const std::string nmea = ".nmea";
            d_positions_nmea = v.size() > nmea.size() &&
                               v.compare(v.size() - nmea.size(), nmea.size(), nmea) == 0;
            if (!d_positions_nmea)
                d_positions << "time_s,x_m,y_m,z_m" << std::endl;
        }
    } else if (key == "positions_origin") {
        d_positions_origin = origin_of(key, v);
    } else if (key == "positions_start_s") {
        require(number(key) >= 0 && number(key) < 86400,
                key,
                " is ",
                v,
                "; expected seconds of a day, 0 or more and less than 86400");
    } else if (key == "tx_fifo_samples") {
        require(number(key) >= 1024, key, " is ", v, "; expected 1024 or more");
    } else if (key == "truth_interval_s" || key == "positions_rate_hz" ||
               key == "underflow_after_s") {
        require(number(key) > 0, key, " is ", v, "; expected more than 0");
    } else if (key == "delay_samples" && v != "auto") {
        number(key);
    } else if (key == "rate_limit_hz" || key == "lo_step_hz" || key == "rf_hz" ||
               key == "positions_sigma_m" || key == "positions_wander_m") {
        require(number(key) >= 0, key, " is ", v, "; expected 0 or more");
    }
}

double simulated_radio::delay_samples() const
{
    if (value("delay_samples") != "auto")
        return number("delay_samples");
    double delay = 0;
    for (const auto& [from_hz, samples] : d_profile.delays)
        if (d_rate >= from_hz)
            delay = samples;
    return delay;
}

//! All of the radar's front end, from settings and tuning. The mutex is held.
void simulated_radio::configure()
{
    radar_front_end f;
    f.sample_rate_hz = d_rate;
    const double rf_hz = number("rf_hz");
    f.carrier_hz = rf_hz > 0 ? rf_hz : d_tx_hz;
    if (number("ramp_hz") != 0) {
        require(number("ramp_s") > 0,
                "ramp_s is ",
                value("ramp_s"),
                " s; expected more than 0");
        f.ramp_hz_per_s = number("ramp_hz") / number("ramp_s");
        f.ramp_s = number("ramp_s");
        f.ramp_period_s = number("ramp_period_s");
        f.ramp_begin = d_ramp_begin;
    }
    f.occupied_band = number("occupied_band");
    f.delay_samples = delay_samples() + d_fraction;
    f.clock_error = 1e-6 * number("clock_error_ppm");
    const double rx_db = d_rx_db - d_profile.rx_nominal_db;
    const double tx_db = d_tx_db - d_profile.tx_nominal_db;
    const double gain = std::pow(10, (rx_db + tx_db) / 20);
    f.gain = gain * level("echo_db", 20);
    f.leakage = gain * level("leakage_db", 20);
    f.leakage_delay_s = number("leakage_delay_s");
    f.leakage_phase_rad = number("leakage_phase_rad");
    f.reference_gain = level("reference_db", 20);
    f.noise_power = level("noise_db", 10) * std::pow(10, rx_db / 10);
    f.offset_hz = d_tx_hz * (1 + f.clock_error) -
                  d_rx_hz * (1 + 1e-6 * d_correction_ppm) + number("offset_hz") +
                  number("drift_rad_per_min") / 60 / (2 * pi) - d_lo_steps_hz;
    f.phase_rad = d_retune_phase_rad;
    f.phase_noise = value("phase_noise_dbc_hz") != "off";
    if (f.phase_noise)
        f.phase_noise_dbc_hz = number("phase_noise_dbc_hz");
    f.phase_noise_offset_hz = number("phase_noise_offset_hz");
    f.phase_noise_loop_hz = number("phase_noise_loop_hz");
    f.imbalance_db = number("imbalance_db");
    f.imbalance_rad = number("imbalance_deg") * pi / 180;
    f.adc_bits = static_cast<int>(number("adc_bits"));
    f.seed = static_cast<std::uint64_t>(number("seed"));
    const auto dc =
        d_dc_automatic
            ? std::complex<double>(0)
            : std::complex<double>(number("dc_i"), number("dc_q")) - d_dc_correction;
    f.dc = { static_cast<float>(dc.real()), static_cast<float>(dc.imag()) };
    // the receiver's filter: nothing of the transmitter is in its band
    if (std::abs(f.offset_hz) >= d_rate) {
        f.gain = f.leakage = f.reference_gain = 0;
        if (!d_told_apart && d_tx_open && d_rx_open)
            d_say(true,
                  sentence("transmitter at ",
                           d_tx_hz,
                           " Hz and receiver at ",
                           d_rx_hz,
                           " Hz are further apart than the sampling rate, ",
                           d_rate,
                           " Hz: nothing of what is transmitted is received"));
        d_told_apart = d_tx_open && d_rx_open;
    } else {
        d_told_apart = false;
    }
    {
        const std::lock_guard<std::mutex> r(d_radar_mutex);
        d_radar->configure(f, d_rx_next);
    }

    d_rx_room = static_cast<std::int64_t>(number("rx_buffer_samples"));
    d_tx_fifo = static_cast<std::int64_t>(number("tx_fifo_samples"));
    d_loss_period = static_cast<std::int64_t>(number("loss_period_samples"));
    d_loss_samples = static_cast<std::int64_t>(number("loss_samples"));
    const double limit = number("rate_limit_hz");
    if (d_loss_period == 0 && limit > 0 && d_rate > limit) {
        d_loss_period = static_cast<std::int64_t>(0.1 * d_rate);
        d_loss_samples =
            static_cast<std::int64_t>(std::ceil(d_loss_period * (1 - limit / d_rate)));
    }
    require(d_loss_period == 0 || (d_loss_samples > 0 && d_loss_samples < d_loss_period),
            "loss_samples is ",
            d_loss_samples,
            "; expected 1 or more, and less than loss_period_samples, ",
            d_loss_period);
}

// ---- the analogue side
// ------------------------------------------------------------------

void simulated_radio::require_within(const char* what, double hz, const extent& e) const
{
    require(hz >= e.first && hz <= e.last,
            what,
            " is ",
            hz,
            " Hz; expected ",
            e.first,
            " to ",
            e.last,
            " Hz with profile=",
            d_profile.name);
}

void simulated_radio::set_frequency(direction d, double hz)
{
    require_within("frequency", hz, d_profile.frequency_hz);
    const lock l(d_mutex);
    double& f = d == direction::receive ? d_rx_hz : d_tx_hz;
    if (d == direction::receive && std::abs(hz - f) >= 100e6)
        d_lo_steps_hz += number("lo_step_hz");
    f = hz;
    ++d_retunes;
    if (is_on("phase_per_retune"))
        d_retune_phase_rad =
            2 * pi *
            philox(
                d_retunes, 0, 0, retune_draw, static_cast<std::uint64_t>(number("seed")))
                .w[0] /
            4294967296.0;
    configure();
    d_truth.write("retune",
                  sentence("\"sample\": ",
                           d_rx_next,
                           ", \"transmit_hz\": ",
                           text_of(d_tx_hz),
                           ", \"receive_hz\": ",
                           text_of(d_rx_hz),
                           ", \"offset_hz\": ",
                           text_of(d_radar->front_end().offset_hz),
                           ", \"phase_rad\": ",
                           text_of(d_retune_phase_rad)));
}

double simulated_radio::frequency(direction d) const
{
    const lock l(d_mutex);
    return d == direction::receive ? d_rx_hz : d_tx_hz;
}

void simulated_radio::set_gain(direction d, double db)
{
    const extent& e =
        d == direction::receive ? d_profile.rx_gain_db : d_profile.tx_gain_db;
    const lock l(d_mutex);
    // as drivers do: the nearest gain there is
    (d == direction::receive ? d_rx_db : d_tx_db) = std::clamp(db, e.first, e.last);
    configure();
}

double simulated_radio::gain(direction d) const
{
    const lock l(d_mutex);
    return d == direction::receive ? d_rx_db : d_tx_db;
}

void simulated_radio::set_rate(direction d, double hz)
{
    require_within("sample rate", hz, d_profile.rate_hz);
    const lock l(d_mutex);
    (d == direction::receive ? d_rx_rate : d_tx_rate) = hz;
    rebase();
}

double simulated_radio::rate(direction d) const
{
    const lock l(d_mutex);
    return d == direction::receive ? d_rx_rate : d_tx_rate;
}

void simulated_radio::correct_dc(std::complex<double> offset, bool automatic)
{
    const lock l(d_mutex);
    d_dc_correction = offset;
    d_dc_automatic = automatic;
    configure();
}

void simulated_radio::correct_frequency(double ppm)
{
    const lock l(d_mutex);
    d_correction_ppm = ppm;
    configure();
}

// ---- time
// -------------------------------------------------------------------------------

//! The receiver's rate, or the transmitter's when that works alone.
double simulated_radio::clock_rate() const
{
    return d_tx_open && !d_rx_open ? d_tx_rate : d_rx_rate;
}

//! Count samples anew when the clock's rate has changed; time goes on.
void simulated_radio::rebase()
{
    if (clock_rate() == d_rate)
        return;
    const std::int64_t n = clock();
    d_epoch_ns = ns_of(n);
    d_start_s += n / d_rate;
    d_rate = clock_rate();
    d_clock = d_rx_next = d_rx_begin = d_tx_next = d_tx_begin = d_hidden = 0;
    d_truth_next = d_positions_next = d_ramp_begin = 0;
    d_receiving = false;
    d_burst = false;
    d_cycle_begun = false;
    d_line.clear();
    d_wall = std::chrono::steady_clock::now();
    d_wall_sample = 0;
    {
        const std::lock_guard<std::mutex> r(d_radar_mutex);
        d_radar->set_start(d_start_s);
    }
    configure();
}

std::int64_t simulated_radio::clock() const
{
    if (!d_real_time || !d_clock_begun)
        return d_clock;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - d_wall;
    return d_wall_sample + static_cast<std::int64_t>(gone.count() * d_rate);
}

simulated_radio::moment simulated_radio::when(std::int64_t n) const
{
    return d_wall + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double>((n - d_wall_sample) / d_rate));
}

void simulated_radio::begin_clock()
{
    if (d_clock_begun)
        return;
    d_clock_begun = true;
    d_wall = std::chrono::steady_clock::now();
    d_wall_sample = d_clock;
}

bool simulated_radio::clock_may_run()
{
    if (d_together && !d_together_begun) {
        if (!d_rx_active || !d_tx_active || !d_tx_written)
            return false;
        d_together_begun = true;
        begin_clock();
    }
    return true;
}

long long simulated_radio::ns_of(std::int64_t n) const
{
    return d_epoch_ns + std::llround(static_cast<long double>(n) * 1e9L / d_rate);
}

std::int64_t simulated_radio::sample_of(long long t_ns) const
{
    return std::llround(static_cast<long double>(t_ns - d_epoch_ns) * d_rate / 1e9L);
}

bool simulated_radio::has_time() const
{
    const lock l(d_mutex);
    return is_on("has_time");
}

long long simulated_radio::time_ns() const
{
    const lock l(d_mutex);
    return ns_of(clock());
}

void simulated_radio::set_time_ns(long long t)
{
    const lock l(d_mutex);
    d_epoch_ns += t - ns_of(clock());
}

bool simulated_radio::wait(lock& l, moment until)
{
    if (std::chrono::steady_clock::now() >= until)
        return false;
    d_changed.wait_until(l, until);
    return true;
}

// ---- streams
// ----------------------------------------------------------------------------

void simulated_radio::open(direction d, bool cyclic, std::int64_t cycle_samples)
{
    const lock l(d_mutex);
    const bool receive = d == direction::receive;
    bool& open = receive ? d_rx_open : d_tx_open;
    const bool other = receive ? d_tx_open : d_rx_open;
    require(!open,
            receive ? "receive" : "transmit",
            " stream is open already; expected one stream in each direction");
    require(
        !(other && d_profile.half_duplex),
        d_profile.hardware,
        " is half duplex: it cannot transmit and receive at the same time, and so is no "
        "radar by itself; use two of them with a common clock and trigger "
        "(profile=hackrf2), or a radio that does both");
    open = true;
    if (!receive) {
        d_cyclic = cyclic;
        d_cycle_samples = cycle_samples;
    }
    rebase();
    configure();
}

void simulated_radio::close(direction d)
{
    deactivate(d, 0, 0);
    const lock l(d_mutex);
    (d == direction::receive ? d_rx_open : d_tx_open) = false;
    rebase();
    d_changed.notify_all();
}

int simulated_radio::activate(direction d, int flags, long long t_ns, std::size_t count)
{
    const lock l(d_mutex);
    const bool timed = flags & SOAPY_SDR_HAS_TIME;
    const bool triggered = flags & SOAPY_SDR_WAIT_TRIGGER;
    if (timed && !is_on("has_time")) {
        d_say(true,
              sentence("profile=",
                       d_profile.name,
                       " has no hardware time: a stream cannot be activated at a time"));
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    if (d_rx_open && d_tx_open && d_rx_rate != d_tx_rate) {
        d_say(true,
              sentence("transmit rate is ",
                       d_tx_rate,
                       " Hz and receive rate ",
                       d_rx_rate,
                       " Hz; expected the same for both"));
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    if (!d_together)
        begin_clock();
    if (d == direction::receive) {
        if (!d_rx_active) {
            d_commands.clear();
            d_receiving = false;
            d_rx_delivered = 0;
            d_hidden = 0;
            d_pending = 0;
            d_rx_reports.clear();
        }
        const std::int64_t begin = triggered                    ? at_trigger
                                   : timed                      ? sample_of(t_ns)
                                   : d_real_time && !d_together ? receive_clock()
                                                                : now;
        d_commands.push_back({ begin, static_cast<std::int64_t>(count), timed });
        d_rx_active = true;
    } else {
        if (!d_tx_active) {
            d_tx_written = d_burst = d_burst_late = d_cycle_begun = false;
            d_held.clear();
            d_held_ends = false;
            d_tx_reports.clear();
            ++d_tx_starts;
            const auto most = static_cast<std::int64_t>(number("start_offset_samples"));
            const random_words w = philox(d_tx_starts,
                                          0,
                                          0,
                                          start_draw,
                                          static_cast<std::uint64_t>(number("seed")));
            d_tx_offset = w.w[0] % (most + 1);
            d_fraction = most > 0 && !timed ? w.w[1] / 4294967296.0 : 0.0;
            configure();
        }
        d_tx_timed = timed;
        d_tx_time_ns = t_ns;
        d_tx_triggered = triggered;
        d_tx_active = true;
    }
    d_changed.notify_all();
    return 0;
}

int simulated_radio::deactivate(direction d, int flags, long long t_ns)
{
    const lock l(d_mutex);
    if ((flags & SOAPY_SDR_HAS_TIME) && !is_on("has_time"))
        return SOAPY_SDR_NOT_SUPPORTED;
    if (d == direction::receive) {
        d_rx_active = false;
        d_receiving = false;
        d_commands.clear();
        d_together_begun = false;
    } else {
        if (d_tx_active && (d_cyclic || (flags & SOAPY_SDR_HAS_TIME)))
            d_line.stop(d_radar->transmit_sample(
                (flags & SOAPY_SDR_HAS_TIME) ? sample_of(t_ns) : clock()));
        d_tx_active = false;
        d_burst = false;
        d_tx_triggered = false;
    }
    d_changed.notify_all();
    return 0;
}

// ---- receiver
// ---------------------------------------------------------------------------

//! The first loss that ends after sample \p from.
bool simulated_radio::next_loss(std::int64_t from, sample_range& loss) const
{
    bool found = false;
    const auto take = [&](std::int64_t begin, std::int64_t count) {
        const std::int64_t late = std::max<std::int64_t>(0, from - begin);
        if (!found || begin < loss.begin)
            loss = { begin + late, count - late };
        found = true;
    };
    for (const sample_range& r : d_losses)
        if (d_rx_begin + r.begin + r.count > from) {
            take(d_rx_begin + r.begin, r.count);
            break;
        }
    if (d_loss_period > 0) {
        const std::int64_t k = (from - d_rx_begin) / d_loss_period + 1;
        take(d_rx_begin + k * d_loss_period - d_loss_samples, d_loss_samples);
    }
    return found;
}

void simulated_radio::lose(const sample_range& loss)
{
    const std::string& mode = value("loss_mode");
    d_truth.write("lost",
                  sentence("\"sample\": ",
                           loss.begin,
                           ", \"count\": ",
                           loss.count,
                           ", \"delivered\": ",
                           d_rx_delivered,
                           ", \"mode\": \"",
                           mode,
                           "\""));
    const bool timed = is_on("has_time");
    if (mode == "overflow")
        d_pending = SOAPY_SDR_OVERFLOW;
    else if (mode == "status")
        d_rx_reports.push_back({ SOAPY_SDR_OVERFLOW,
                                 timed ? SOAPY_SDR_HAS_TIME : 0,
                                 timed ? stamp(loss.begin) : 0 });
    d_rx_next = loss.begin + loss.count;
    if (mode == "frozen_time")
        d_hidden += loss.count;
    d_clock = std::max(d_clock, d_rx_next);
}

//! Time that the stamp of sample \p n says.
long long simulated_radio::stamp(std::int64_t n) const
{
    const std::string& lie = value("time_lie");
    return lie == "minus_one"   ? -1
           : lie == "zero"      ? 0
           : lie == "backwards" ? ns_of(2 * d_rx_begin - n)
                                : ns_of(n - d_hidden);
}

int simulated_radio::read(cf32* out,
                          cf32* reference,
                          std::size_t n,
                          int& flags,
                          long long& t_ns,
                          long timeout_us)
{
    const moment deadline =
        std::chrono::steady_clock::now() + std::chrono::microseconds(timeout_us);
    flags = 0;
    t_ns = 0;
    lock l(d_mutex);
    for (;;) {
        if (d_pending) {
            const int code = d_pending;
            d_pending = 0;
            return code;
        }
        if (!d_rx_active || d_commands.empty() ||
            d_commands.front().begin == at_trigger || !clock_may_run()) {
            if (wait(l, deadline))
                continue;
            if (d_rx_active && d_together && !d_together_begun && !d_told_waiting) {
                d_told_waiting = true;
                d_say(true,
                      "start=together: the receiver waits until a transmit stream is "
                      "active and written to");
            }
            return SOAPY_SDR_TIMEOUT;
        }
        command& c = d_commands.front();
        if (!d_receiving) {
            if (c.begin == now)
                c.begin = receive_clock();
            else if (c.timed && c.begin < receive_clock()) {
                d_truth.write("late",
                              sentence("\"direction\": \"receive\", \"sample\": ",
                                       c.begin,
                                       ", \"clock\": ",
                                       receive_clock()));
                d_commands.pop_front();
                return SOAPY_SDR_TIME_ERROR;
            }
            d_receiving = true;
            d_rx_next = c.begin;
            if (d_rx_delivered == 0)
                d_rx_begin = c.begin;
            d_truth.write("receive",
                          sentence("\"sample\": ",
                                   c.begin,
                                   ", \"time_ns\": ",
                                   ns_of(c.begin),
                                   ", \"delivered\": ",
                                   d_rx_delivered));
        }
        const std::int64_t end = c.begin + c.count;
        if (c.count && d_rx_next >= end) { // its last samples were lost
            d_commands.pop_front();
            d_receiving = false;
            continue;
        }
        if (d_real_time) {
            if (clock() - d_rx_next > d_rx_room) {
                lose({ d_rx_next, clock() - d_rx_next - d_rx_room / 2 });
                continue;
            }
        }

        std::int64_t want =
            std::min<std::int64_t>(n, static_cast<std::int64_t>(d_profile.mtu));
        bool abrupt = false;
        if (c.count)
            want = std::min(want, end - d_rx_next);
        sample_range loss;
        if (next_loss(d_rx_next, loss)) {
            if (loss.begin <= d_rx_next) {
                lose(loss);
                continue;
            }
            if (loss.begin - d_rx_next <= want) {
                want = loss.begin - d_rx_next;
                abrupt = true;
            }
        }

        if (d_real_time) {
            const std::int64_t here = clock() - d_rx_next;
            if (here < want) {
                if (wait(l, std::min(deadline, when(d_rx_next + want))))
                    continue;
                if (here <= 0 && std::chrono::steady_clock::now() >= deadline)
                    return SOAPY_SDR_TIMEOUT;
                if (std::chrono::steady_clock::now() < deadline)
                    continue;
                want = std::min(want, here);
            }
            if (d_burst && d_tx_next < d_radar->transmit_end(d_rx_next + want))
                underflow(d_tx_next);
        } else if (d_burst) {
            // what is not written yet cannot be received
            const std::int64_t known = d_radar->receive_end(d_tx_next);
            d_clock = std::max(d_clock, std::min(known, d_rx_next));
            if (known <= d_rx_next) {
                const moment patience =
                    d_tx_last + std::chrono::microseconds(static_cast<std::int64_t>(
                                    1e6 * number("underflow_after_s")));
                d_changed.notify_all();
                if (wait(l, std::min(deadline, patience)))
                    continue;
                if (std::chrono::steady_clock::now() < patience)
                    return SOAPY_SDR_TIMEOUT;
                underflow(d_tx_next);
                continue;
            }
            if (known - d_rx_next < want) {
                want = known - d_rx_next;
                abrupt = false;
            }
        }

        const std::int64_t first = d_rx_next;
        d_rx_next += want;
        d_rx_delivered += want;
        d_clock = std::max(d_clock, d_rx_next);
        if (is_on("has_time")) {
            flags |= SOAPY_SDR_HAS_TIME;
            t_ns = stamp(first);
        }
        if (abrupt && value("loss_mode") == "overflow")
            flags |= SOAPY_SDR_END_ABRUPT;
        if (c.count && d_rx_next >= end) {
            flags |= SOAPY_SDR_END_BURST;
            d_commands.pop_front();
            d_receiving = false;
        }
        record(d_rx_next);
        d_changed.notify_all();
        l.unlock();
        const std::lock_guard<std::mutex> r(d_radar_mutex);
        d_radar->receive(d_line, first, want, out, reference);
        d_line.forget(d_radar->transmit_begin());
        return static_cast<int>(want);
    }
}

// ---- transmitter
// ------------------------------------------------------------------------

void simulated_radio::underflow(std::int64_t at)
{
    d_burst = false;
    d_tx_reports.push_back({ SOAPY_SDR_UNDERFLOW,
                             is_on("has_time") ? SOAPY_SDR_HAS_TIME : 0,
                             is_on("has_time") ? ns_of(at) : 0 });
    d_truth.write("underflow", sentence("\"sample\": ", at, ", \"count\": 0"));
}

//! \return false when its time has passed: it will not leave
bool simulated_radio::begin_burst(bool timed, long long t_ns)
{
    const std::int64_t here = d_radar->transmit_sample(clock());
    const bool first = !d_tx_written;
    if (timed) {
        const std::int64_t at = d_radar->transmit_sample(sample_of(t_ns));
        if (at < std::max(here, d_tx_next)) {
            d_tx_reports.push_back({ SOAPY_SDR_TIME_ERROR, SOAPY_SDR_HAS_TIME, t_ns });
            d_truth.write("late",
                          sentence("\"direction\": \"transmit\", \"sample\": ",
                                   at,
                                   ", \"clock\": ",
                                   std::max(here, d_tx_next)));
            return false;
        }
        d_tx_next = at;
        // one sample clock: what is timed has no fraction
        if (d_fraction != 0) {
            d_fraction = 0;
            configure();
        }
    } else {
        auto latency = static_cast<std::int64_t>(number("tx_latency_samples"));
        // a host needs time to stay ahead of the wall's clock
        if (d_real_time)
            latency = std::max(latency, static_cast<std::int64_t>(5e-3 * d_rate));
        d_tx_next = std::max(d_tx_next, here + latency + (first ? d_tx_offset : 0));
    }
    if (first)
        d_tx_begin = d_tx_next;
    d_tx_written = true;
    d_truth.write("transmit",
                  sentence("\"sample\": ",
                           d_tx_next,
                           ", \"timed\": ",
                           timed ? "true" : "false",
                           ", \"delay_samples\": ",
                           text_of(d_radar->front_end().delay_samples),
                           ", \"cyclic\": ",
                           d_cyclic ? "true" : "false"));
    return true;
}

//! Samples onto the line, without those that underflow_at takes.
void simulated_radio::put(const cf32* samples, std::int64_t n)
{
    const std::int64_t at = d_tx_next;
    d_line.write(at, samples, n);
    d_tx_next += n;
    for (const sample_range& r : d_underflows) {
        const std::int64_t begin = d_tx_begin + r.begin;
        d_line.silence(std::max(at, begin),
                       std::min(at + n, begin + r.count) - std::max(at, begin));
        if (begin >= at && begin < at + n) {
            d_tx_reports.push_back({ SOAPY_SDR_UNDERFLOW,
                                     is_on("has_time") ? SOAPY_SDR_HAS_TIME : 0,
                                     is_on("has_time") ? ns_of(begin) : 0 });
            d_truth.write("underflow",
                          sentence("\"sample\": ", begin, ", \"count\": ", r.count));
        }
    }
}

void simulated_radio::begin_cycle()
{
    if (begin_burst(d_tx_timed, d_tx_time_ns)) {
        const auto length = static_cast<std::int64_t>(d_held.size());
        d_line.repeat(d_tx_next, d_held);
        d_tx_next += length;
    }
    d_held.clear();
    d_cycle_begun = true;
}

int simulated_radio::write(const cf32* samples,
                           std::size_t n,
                           int& flags,
                           long long t_ns,
                           long timeout_us)
{
    const moment deadline =
        std::chrono::steady_clock::now() + std::chrono::microseconds(timeout_us);
    const bool timed = flags & SOAPY_SDR_HAS_TIME;
    const bool ends = flags & SOAPY_SDR_END_BURST;
    flags = 0;
    lock l(d_mutex);
    if (timed && !is_on("has_time"))
        return SOAPY_SDR_NOT_SUPPORTED;
    for (;;) {
        if (!d_tx_active) {
            if (!wait(l, deadline))
                return SOAPY_SDR_TIMEOUT;
            continue;
        }
        const std::int64_t fifo = d_tx_fifo;
        const auto count = static_cast<std::int64_t>(n);

        if (d_cyclic && !d_cycle_begun) {
            const auto held = static_cast<std::int64_t>(d_held.size());
            const std::int64_t part =
                d_cycle_samples ? std::min(count, d_cycle_samples - held) : count;
            d_held.insert(d_held.end(), samples, samples + part);
            if (timed) {
                d_tx_timed = true;
                d_tx_time_ns = t_ns;
            }
            d_held_ends = ends || d_cycle_samples == 0 || held + part == d_cycle_samples;
            if (d_held_ends && !d_tx_triggered)
                begin_cycle();
            d_changed.notify_all();
            return static_cast<int>(part);
        }
        if (d_tx_triggered) { // until the trigger samples wait in the radio
            const std::int64_t room = fifo - static_cast<std::int64_t>(d_held.size());
            if (room <= 0 || d_held_ends) {
                if (!wait(l, deadline))
                    return SOAPY_SDR_TIMEOUT;
                continue;
            }
            const std::int64_t part = std::min(count, room);
            d_held.insert(d_held.end(), samples, samples + part);
            d_held_ends = ends && part == count;
            return static_cast<int>(part);
        }

        const std::int64_t here = d_radar->transmit_sample(clock());
        if (d_real_time && d_burst && d_tx_next < here)
            underflow(d_tx_next);
        if (!d_cyclic && !d_burst && !d_burst_late) {
            const bool at_activation = d_tx_timed && !d_tx_written;
            d_burst_late =
                !begin_burst(timed || at_activation, timed ? t_ns : d_tx_time_ns);
            d_burst = !d_burst_late;
            d_tx_timed = false;
        } else if (d_burst && timed &&
                   d_radar->transmit_sample(sample_of(t_ns)) != d_tx_next) {
            // a burst that begins anew within one that nobody ended
            d_burst_late = !begin_burst(true, t_ns);
            d_burst = !d_burst_late;
        }
        if (d_burst_late) {
            if (ends)
                d_burst_late = false;
            return static_cast<int>(count);
        }

        std::int64_t room = fifo - (d_cyclic ? d_tx_next - here : d_line.pending(here));
        if (room <= 0 && !d_real_time && !d_rx_open) {
            // nobody receives: the transmitter moves the clock
            d_clock += std::min(count, fifo);
            room = std::min(count, fifo);
            record(d_clock);
            d_line.forget(d_clock - (1 << 22));
        }
        if (room <= 0) {
            d_tx_last = std::chrono::steady_clock::now();
            const moment free = d_real_time && d_clock_begun
                                    ? when(clock() + std::min(count, fifo / 2) - room)
                                    : deadline;
            if (!wait(l, std::min(deadline, free)) &&
                std::chrono::steady_clock::now() >= deadline)
                return SOAPY_SDR_TIMEOUT;
            continue;
        }
        const std::int64_t part = std::min(count, room);
        if (d_cyclic)
            d_tx_next += part; // taken from the host, and not transmitted
        else
            put(samples, part);
        d_tx_last = std::chrono::steady_clock::now();
        if (ends && part == count)
            d_burst = false;
        d_changed.notify_all();
        return static_cast<int>(part);
    }
}

int simulated_radio::status(direction d, int& flags, long long& t_ns, long timeout_us)
{
    const moment deadline =
        std::chrono::steady_clock::now() + std::chrono::microseconds(timeout_us);
    lock l(d_mutex);
    auto& reports = d == direction::receive ? d_rx_reports : d_tx_reports;
    while (reports.empty())
        if (!wait(l, deadline))
            return SOAPY_SDR_TIMEOUT;
    const report r = reports.front();
    reports.pop_front();
    flags = r.flags;
    t_ns = r.t_ns;
    return r.code;
}

// ---- pins
// -------------------------------------------------------------------------------

void simulated_radio::write_pins(unsigned value)
{
    const lock l(d_mutex);
    if (!(value & 1))
        return;
    begin_clock();
    const std::int64_t here = receive_clock();
    d_ramp_begin = here;
    configure();
    for (command& c : d_commands)
        if (c.begin == at_trigger)
            c.begin = here;
    if (d_tx_triggered) {
        d_tx_triggered = false;
        if (d_cyclic) {
            if (d_held_ends)
                begin_cycle();
        } else if (!d_held.empty()) {
            begin_burst(false, 0);
            put(d_held.data(), d_held.size());
            d_burst = !d_held_ends;
            d_tx_last = std::chrono::steady_clock::now();
            d_held.clear();
        }
    }
    d_truth.write("trigger", sentence("\"sample\": ", here));
    d_changed.notify_all();
}

unsigned simulated_radio::read_pins() const
{
    const lock l(d_mutex);
    const std::int64_t here = d_radar->transmit_sample(clock());
    cf32 sample;
    return (d_line.read(here, 1, &sample) ? 2u : 0u) |
           (d_rx_active && d_receiving ? 4u : 0u);
}

// ---- truth
// ------------------------------------------------------------------------------

//! Rows of truth and navigation up to sample \p until.
void simulated_radio::record(std::int64_t until)
{
    if (d_truth.is_open()) {
        const auto step =
            std::max<std::int64_t>(1, std::llround(number("truth_interval_s") * d_rate));
        for (; d_truth_next < until; d_truth_next += step) {
            std::vector<double> delay, phase, amplitude;
            for (const echo_truth& e : d_radar->truth(d_truth_next)) {
                delay.push_back(e.delay_samples);
                phase.push_back(e.phase_rad);
                amplitude.push_back(e.amplitude);
            }
            const vec3 p = d_radar->position(d_truth_next);
            d_truth.write("echoes",
                          sentence("\"sample\": ",
                                   d_truth_next,
                                   ", \"time_ns\": ",
                                   ns_of(d_truth_next),
                                   ", \"position_m\": ",
                                   list_of({ p.x, p.y, p.z }),
                                   ", \"delay_samples\": ",
                                   list_of(delay),
                                   ", \"phase_rad\": ",
                                   list_of(phase),
                                   ", \"amplitude\": ",
                                   list_of(amplitude)));
        }
    }
    if (d_positions.is_open()) {
        const double interval = d_rate / number("positions_rate_hz");
        const auto seed = static_cast<std::uint64_t>(number("seed"));
        const double keep = std::exp(-1 / number("positions_rate_hz") / 60);
        for (;; ++d_positions_next) {
            const std::int64_t n = std::llround(d_positions_next * interval);
            if (n >= until)
                break;
            const vec3 p = d_radar->position(n);
            double axis[3] = { p.x, p.y, p.z };
            for (int k = 0; k < 3; ++k) {
                const random_words w =
                    philox(static_cast<std::uint32_t>(d_positions_next),
                           k,
                           0,
                           position_draw,
                           seed);
                // real parts have the variance 1 / 2
                const double white = std::sqrt(2.0) * gaussian(w.w[0], w.w[1]).re;
                const double slow = std::sqrt(2.0) * gaussian(w.w[2], w.w[3]).re;
                double& wander = d_position_wander[k];
                wander = d_positions_next == 0
                             ? slow
                             : keep * wander + std::sqrt(1 - keep * keep) * slow;
                axis[k] += number("positions_sigma_m") * white +
                           number("positions_wander_m") * wander;
            }
            if (d_positions_nmea) {
                const vec3 next =
                    d_radar->position(n + static_cast<std::int64_t>(std::ceil(interval)));
                const double s = std::ceil(interval) / d_rate;
                const double east = (next.x - p.x) / s, north = (next.y - p.y) / s;
                d_positions << nmea_fix(number("positions_start_s") + 1e-9 * ns_of(n),
                                        geodetic_of_local({ axis[0], axis[1], axis[2] },
                                                          d_positions_origin),
                                        std::hypot(east, north),
                                        std::atan2(east, north) * 180 / pi)
                            << std::flush;
                continue;
            }
            d_positions << std::setprecision(15) << 1e-9 * ns_of(n) << ',' << axis[0]
                        << ',' << axis[1] << ',' << axis[2] << std::endl;
        }
    }
}

} // namespace sar
} // namespace gr
