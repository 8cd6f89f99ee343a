// SPDX-License-Identifier: GPL-3.0-or-later
#include "delay_calibration_impl.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include "pmt_json.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/constants.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t calibration_port = pmt::mp("calibration");
const pmt::pmt_t measure_port = pmt::mp("measure");
constexpr std::size_t kept_estimates = 1000;

const char* const key_names[] = {
    "driver",     "hardware",   "serial",       "master_clock_hz",
    "tx_rate_hz", "rx_rate_hz", "bandwidth_hz", "tx_antenna",
    "rx_antenna", "tx_gain_db", "rx_gain_db",   "centre_frequency_hz",
    "firmware",
};

//! Every name of a key, in order; those that are not given are nil.
pmt::pmt_t complete_key(const pmt::pmt_t& given)
{
    require(pmt::is_dict(given),
            "key is ",
            pmt::write_string(given),
            "; expected a dictionary of what the calibration belongs to");
    for (pmt::pmt_t i = pmt::dict_keys(given); pmt::is_pair(i); i = pmt::cdr(i)) {
        std::string known;
        bool found = false;
        for (const char* const name : key_names) {
            known += known.empty() ? name : std::string(", ") + name;
            found = found || pmt::equal(pmt::car(i), pmt::mp(name));
        }
        require(found,
                "key has no field ",
                pmt::write_string(pmt::car(i)),
                "; expected: ",
                known);
    }
    frame_tag key;
    for (const char* const name : key_names) {
        const pmt::pmt_t v = pmt::dict_ref(given, pmt::mp(name), pmt::PMT_NIL);
        const std::string text = name;
        const bool number = text.find("_hz") != std::string::npos ||
                            text.find("_db") != std::string::npos;
        require(pmt::is_null(v) || (number ? pmt::is_number(v) : pmt::is_symbol(v)),
                "key.",
                name,
                " is ",
                pmt::write_string(v),
                "; expected ",
                number ? "a number" : "text");
        key.put(name, v);
    }
    return key.dict();
}

std::string utc_now()
{
    const std::time_t now = std::time(nullptr);
    std::tm utc;
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

pmt::pmt_t taps_of(const std::vector<cf32>& taps)
{
    std::vector<gr_complex> v;
    for (const cf32 t : taps)
        v.emplace_back(t.re, t.im);
    return pmt::init_c32vector(v.size(), v);
}

} // namespace

delay_calibration::sptr
delay_calibration::make(const acquisition& acq,
                        int pulses,
                        const std::vector<std::complex<float>>& replica,
                        double first_pulse_s,
                        const std::string& ambiguity,
                        double cable_delay_s,
                        double least_snr_db,
                        bool reference,
                        int response_taps,
                        double full_scale,
                        const std::string& file,
                        const pmt::pmt_t& key,
                        const std::string& command)
{
    delay_calibration_params p;
    std::vector<cf32> samples;
    for (const auto& v : replica)
        samples.push_back({ v.real(), v.imag() });
    p.replica = transmitted_pulse(acq, samples);
    p.sample_rate_hz = acq->sample_rate_hz;
    p.pri_samples = acq->sample_rate_hz / acq->prf_hz;
    p.pulses =
        pulses ? pulses : static_cast<int>(std::clamp(0.5 * acq->prf_hz, 8.0, 256.0));
    require(std::isfinite(first_pulse_s),
            "first_pulse_s is ",
            first_pulse_s,
            "; expected the time of pulse 0 in seconds");
    p.first_pulse_samples = first_pulse_s * acq->sample_rate_hz;
    p.ambiguity = delay_ambiguity_from_name(ambiguity);
    p.cable_delay_s = cable_delay_s;
    p.least_snr_db = least_snr_db;
    p.reference = reference;
    p.response_taps = response_taps;
    p.full_scale = full_scale;
    p.search_s = std::max(1.0, 4 / acq->prf_hz);
    if (!file.empty()) {
        const auto folder = std::filesystem::absolute(file).parent_path();
        std::error_code failure;
        std::filesystem::create_directories(folder, failure);
        require(!failure && std::filesystem::is_directory(folder),
                "file is '",
                file,
                "', but the folder ",
                folder.string(),
                " cannot be made; expected a file to write the calibration to");
    }
    return gnuradio::make_block_sptr<delay_calibration_impl>(
        p, first_pulse_s, file, complete_key(key), command);
}

delay_calibration_impl::delay_calibration_impl(const delay_calibration_params& p,
                                               double first_pulse_s,
                                               const std::string& file,
                                               const pmt::pmt_t& key,
                                               const std::string& command)
    : gr::sync_block("delay_calibration",
                     gr::io_signature::make(p.reference ? 2 : 1,
                                            p.reference ? 2 : 1,
                                            sizeof(gr_complex)),
                     gr::io_signature::make(0, 0, 0)),
      d_kernel(kernel::delay_calibration::make(p)),
      d_rate_hz(p.sample_rate_hz),
      d_first_pulse_s(first_pulse_s),
      d_file(file),
      d_key(key),
      d_command(command)
{
    message_port_register_out(calibration_port);
    message_port_register_in(measure_port);
    set_msg_handler(measure_port, [this](const pmt::pmt_t&) {
        d_measuring = true;
        restart(nitems_read(0));
    });
    d_logger->info("{:d} pulses of {:d} samples, PRI {:g} samples, {:s}, on {:s}",
                   p.pulses,
                   p.replica.size(),
                   p.pri_samples,
                   to_string(p.ambiguity),
                   backend());
}

bool delay_calibration_impl::start()
{
    start_stage(*this);
    d_has_clock = false;
    d_measuring = true;
    restart(nitems_read(0));
    return sync_block::start();
}

bool delay_calibration_impl::stop()
{
    // not a message, since nobody is there any more to get it
    if (d_measuring && error().empty())
        finish(d_kernel->estimate());
    return sync_block::stop();
}

std::vector<delay_estimate> delay_calibration_impl::estimates() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return { d_estimates.begin(), d_estimates.end() };
}

std::vector<pmt::pmt_t> delay_calibration_impl::calibrations() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return { d_messages.begin(), d_messages.end() };
}

bool delay_calibration_impl::done() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return !d_estimates.empty();
}

int delay_calibration_impl::work(int noutput_items,
                                 gr_vector_const_void_star& input_items,
                                 gr_vector_void_star&)
{
    return guarded(*this, [&] {
        return take(noutput_items,
                    static_cast<const cf32*>(input_items[0]),
                    input_items.size() > 1 ? static_cast<const cf32*>(input_items[1])
                                           : nullptr);
    });
}

int delay_calibration_impl::take(int n, const cf32* in, const cf32* reference)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, n);
    std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    auto tag = tags.begin();
    int done = 0;
    while (done < n) {
        for (; tag != tags.end() && tag->offset == nitems_read(0) + done; ++tag)
            heed(*tag);
        int piece = n - done;
        if (tag != tags.end())
            piece = std::min<int>(piece, tag->offset - nitems_read(0) - done);
        if (d_measuring) {
            d_begun = true;
            if (d_kernel->take(in + done, reference ? reference + done : nullptr, piece))
                finish(d_kernel->estimate());
        }
        done += piece;
    }
    return n;
}

//! What a radio says beside its samples.
void delay_calibration_impl::heed(const gr::tag_t& tag)
{
    const std::string name =
        pmt::is_symbol(tag.key) ? pmt::symbol_to_string(tag.key) : "";
    if (name == "rx_rate") {
        const double rate = pmt::is_number(tag.value) ? pmt::to_double(tag.value) : 0;
        if (!(std::abs(rate / d_rate_hz - 1) < 1e-4))
            throw std::runtime_error(sentence("the radio runs at ",
                                              rate,
                                              " samples a second (tag rx_rate), but "
                                              "acq.sample_rate_hz is ",
                                              d_rate_hz));
    }
    if (name == "rx_time") {
        if (!pmt::is_tuple(tag.value) || pmt::length(tag.value) != 2)
            throw std::runtime_error(sentence("the tag rx_time is ",
                                              pmt::write_string(tag.value),
                                              "; expected seconds and a fraction"));
        const auto whole = pmt::to_uint64(pmt::tuple_ref(tag.value, 0));
        const double fraction = pmt::to_double(pmt::tuple_ref(tag.value, 1));
        const double off =
            static_cast<double>(static_cast<std::int64_t>(whole - d_clock_whole_s)) +
            (fraction - d_clock_fraction_s) -
            static_cast<double>(tag.offset - d_clock_sample) / d_rate_hz;
        const bool fits = d_has_clock && std::abs(off * d_rate_hz) < 0.5;
        const bool first = !d_has_clock;
        d_has_clock = true;
        d_clock_sample = tag.offset;
        d_clock_whole_s = whole;
        d_clock_fraction_s = fraction;
        if (fits)
            return;
        if (first || !d_begun)
            restart(tag.offset);
        else
            lost(tag.offset, sentence("rx_time jumps by ", off, " s"));
    } else if ((name == "rx_rate" || name == "rx_freq") && d_begun &&
               !(d_has_clock && d_clock_sample == tag.offset)) {
        // gr-soapy repeats these after an overflow, and after a retune
        lost(tag.offset, sentence("the tag ", name, " came again"));
    }
}

//! The next sample is the first of a measurement.
void delay_calibration_impl::restart(std::uint64_t sample)
{
    // seconds since the clock was told, or since the first sample of the stream
    const double since = static_cast<double>(static_cast<std::int64_t>(
                             sample - (d_has_clock ? d_clock_sample : 0))) /
                         d_rate_hz;
    double first = d_first_pulse_s;
    d_begin_s = since;
    if (d_has_clock) {
        first =
            (d_first_pulse_s - static_cast<double>(d_clock_whole_s)) - d_clock_fraction_s;
        d_begin_s += static_cast<double>(d_clock_whole_s) + d_clock_fraction_s;
    }
    d_kernel->restart((first - since) * d_rate_hz);
    d_begun = false;
}

void delay_calibration_impl::lost(std::uint64_t sample, const std::string& what)
{
    if (!d_measuring)
        return;
    if (d_kernel->params().ambiguity == delay_ambiguity::first_pulse) {
        delay_estimate e = d_kernel->estimate();
        e.problem = sentence(what,
                             " before the measurement was complete: samples were lost; "
                             "the ambiguity first_pulse needs all from the start");
        finish(e);
        return;
    }
    d_logger->warn("{:s}: samples were lost or the radio was retuned; the measurement "
                   "begins anew",
                   what);
    restart(sample);
}

void delay_calibration_impl::finish(const delay_estimate& e)
{
    d_measuring = false;
    const pmt::pmt_t message = message_of(e);
    for (const std::string& w : e.warnings)
        d_logger->warn("{:s}", w);
    if (e.valid)
        d_logger->info("delay {:.9g} s +- {:.2g} s ({:.3f} samples{:s}), phase {:.4f} +- "
                       "{:.4f} rad, SNR {:.1f} dB, {:.4g} Hz off, from {:d} pulses",
                       e.delay_s,
                       e.delay_std_s,
                       e.delay_s * d_rate_hz,
                       e.ambiguity_s > 0 ? " modulo the PRI" : "",
                       e.phase_rad,
                       e.phase_std_rad,
                       e.snr_db,
                       e.residual_frequency_hz,
                       e.pulses);
    else
        d_logger->warn("no calibration: {:s}", e.problem);
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_estimates.push_back(e);
        d_messages.push_back(message);
        if (d_estimates.size() > kept_estimates) {
            d_estimates.pop_front();
            d_messages.pop_front();
        }
    }
    message_port_pub(calibration_port, message);
    if (e.valid && !d_file.empty())
        write(message);
}

pmt::pmt_t delay_calibration_impl::message_of(const delay_estimate& e) const
{
    pmt::pmt_t warnings = pmt::make_vector(e.warnings.size(), pmt::PMT_NIL);
    for (std::size_t i = 0; i < e.warnings.size(); ++i)
        pmt::vector_set(warnings, i, pmt::mp(e.warnings[i]));
    frame_tag d;
    d.put("format", "gr-sar delay calibration").put("version", 1);
    d.put("valid", e.valid).put("problem", e.problem).put("warnings", warnings);
    d.put("delay_s", e.delay_s)
        .put("delay_std_s", e.delay_std_s)
        .put("phase_rad", e.phase_rad)
        .put("phase_std_rad", e.phase_std_rad)
        .put("amplitude_db", e.amplitude_db)
        .put("snr_db", e.snr_db)
        .put("pulses", e.pulses)
        .put("pulses_missing", e.pulses_missing)
        .put("residual_frequency_hz", e.residual_frequency_hz)
        .put("residual_frequency_std_hz", e.residual_frequency_std_hz)
        .put("drift_samples_per_s", e.drift_samples_per_s)
        .put("drift_std_samples_per_s", e.drift_std_samples_per_s)
        .put("drift_rad_per_s", e.drift_rad_per_s)
        .put("ambiguity_s",
             e.ambiguity_s > 0 ? pmt::from_double(e.ambiguity_s) : pmt::PMT_NIL)
        .put("cable_delay_s", e.cable_delay_s)
        .put("measured_at_s", d_begin_s + e.time_s)
        .put("sample_rate_hz", d_rate_hz)
        .put("prf_hz", d_rate_hz / d_kernel->params().pri_samples)
        .put("reference", d_kernel->params().reference)
        .put("clipped", e.clipped);
    pmt::pmt_t response = pmt::PMT_NIL;
    if (!e.response.empty())
        response = frame_tag()
                       .put("first_tap", -d_kernel->params().response_taps)
                       .put("taps", taps_of(e.response))
                       .put("equaliser", taps_of(e.equaliser))
                       .dict();
    d.put("response", response).put("key", d_key);
    d.put("provenance",
          frame_tag()
              .put("time_utc", utc_now())
              .put("software", "gr-sar " SAR_VERSION)
              .put("command", d_command)
              .dict());
    return d.dict();
}

void delay_calibration_impl::write(const pmt::pmt_t& message) const
{
    // whoever reads it meanwhile gets the old one
    const std::string unfinished = d_file + ".part";
    {
        std::ofstream out(unfinished);
        out << to_json(message) << '\n';
        if (!out.flush())
            throw std::runtime_error(
                sentence("the calibration could not be written to ", d_file));
    }
    std::filesystem::rename(unfinished, d_file);
}

} // namespace sar
} // namespace gr
