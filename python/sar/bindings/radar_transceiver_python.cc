// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "framer_python.h"
#include "whole.h"
#include <gnuradio/sar/radar_transceiver.h>

namespace py = pybind11;
using namespace gr::sar;

namespace {

std::optional<double> gain_from(const char* name, const py::object& value)
{
    if (value.is_none())
        return std::nullopt;
    try {
        return value.cast<double>();
    } catch (const py::cast_error&) {
        throw std::invalid_argument(std::string(name) + " is " +
                                    std::string(py::str(value)) +
                                    "; expected a number of dB, or None for the driver's "
                                    "own");
    }
}

//! None, or the number of a channel.
int reference_from(const char* name, const py::object& value)
{
    if (value.is_none())
        return -1;
    const int channel = whole(name, value);
    if (channel < 0)
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(channel) +
                                    "; expected the number of a channel, or None");
    return channel;
}

//! A calibration: a file, or what it holds; None or an empty name: none.
std::optional<expected_delay> expected_from(const py::object& value)
{
    if (value.is_none() || (py::isinstance<py::str>(value) && py::len(value) == 0))
        return std::nullopt;
    const py::module calibration = py::module::import("gnuradio.sar.calibration");
    const bool given = py::isinstance<py::dict>(value);
    const py::dict c =
        given ? calibration.attr("check")(value) : calibration.attr("read")(value);
    expected_delay e;
    e.source = given ? std::string("given as a dictionary") : std::string(py::str(value));
    if (!c["valid"].cast<bool>())
        throw std::invalid_argument("calibration " + e.source +
                                    " is not valid: " + c["problem"].cast<std::string>() +
                                    "; expected one that gr_sar calibrate passes");
    e.delay_s = c["delay_s"].cast<double>();
    if (!c["ambiguity_s"].is_none())
        e.ambiguity_s = c["ambiguity_s"].cast<double>();
    for (const auto& [field, v] : c["key"].cast<py::dict>())
        if (!v.is_none())
            e.key[py::str(field)] = py::str(v);
    return e;
}

py::dict to_dict(const transceiver_status& s)
{
    py::dict d;
    d["transmit"] = s.mode;
    d["received_samples"] = s.samples;
    d["sent_pulses"] = s.sent;
    d["overflows"] = s.overflows;
    d["untold_losses"] = s.untold;
    d["lost_samples"] = s.lost_samples;
    d["underflows"] = s.underflows;
    d["late"] = s.late;
    d["not_sent"] = s.not_sent;
    d["untrue_stamps"] = s.untrue_stamps;
    d["radio_errors"] = s.errors;
    d["first_sample_s"] = py::none();
    if (s.first_sample_ns)
        d["first_sample_s"] = 1e-9 * static_cast<double>(*s.first_sample_ns);
    return d;
}

} // namespace

void bind_radar_transceiver(py::module& m)
{
    using block = gr::sar::radar_transceiver;
    auto c = py::class_<block, gr::block, gr::basic_block, std::shared_ptr<block>>(
        m, "radar_transceiver", doc_radar_transceiver);
    c.def(py::init([](const acquisition& acq,
                      const py::object& lines,
                      const std::string& device,
                      const std::string& tx_device,
                      const std::string& transmit,
                      const py::object& pulses,
                      double frequency_hz,
                      const py::object& rx_gain_db,
                      const py::object& tx_gain_db,
                      const std::string& rx_antenna,
                      const std::string& tx_antenna,
                      const py::object& rx_channel,
                      const py::object& tx_channel,
                      const py::object& reference_channel,
                      double bandwidth_hz,
                      const std::string& rx_stream,
                      const std::string& tx_stream,
                      double amplitude,
                      double lead_s,
                      double buffer_s,
                      double patience_s,
                      bool positions,
                      bool facts,
                      const std::string& alignment,
                      const std::string& correct,
                      double delay_s,
                      double reference_delay_s,
                      const py::object& calibration,
                      const py::object& replica,
                      double least_snr_db,
                      const py::object& smoothing,
                      double tolerance_samples,
                      const std::string& fill,
                      const py::object& longest_fill,
                      bool remove_dc,
                      double full_scale,
                      const py::object& presum,
                      const py::object& suppress,
                      const py::object& code,
                      bool remove_image) {
              pulse_framer_params p{ acq };
              p.alignment = framer_alignment_from_name(alignment);
              p.correct = framer_correction_from_name(correct);
              p.delay_s = delay_s;
              p.reference_delay_s = reference_delay_s;
              p.replica = samples_from(replica);
              p.least_snr_db = least_snr_db;
              p.smoothing = whole("smoothing", smoothing);
              p.tolerance_samples = tolerance_samples;
              p.fill = hole_fill_from_name(fill);
              p.longest_fill = whole("longest_fill", longest_fill);
              p.remove_dc = remove_dc;
              p.full_scale = full_scale;
              p.presum = whole("presum", presum);
              p.suppress = whole("suppress", suppress);
              p.code = samples_from(code, "code", "values");
              p.remove_image = remove_image;
              transceiver_settings s;
              s.radio.device = device;
              s.radio.tx_device = tx_device;
              s.radio.frequency_hz = frequency_hz;
              s.radio.rx_gain_db = gain_from("rx_gain_db", rx_gain_db);
              s.radio.tx_gain_db = gain_from("tx_gain_db", tx_gain_db);
              s.radio.rx_antenna = rx_antenna;
              s.radio.tx_antenna = tx_antenna;
              s.radio.rx_channel = whole("rx_channel", rx_channel);
              s.radio.tx_channel = whole("tx_channel", tx_channel);
              s.radio.reference_channel =
                  reference_from("reference_channel", reference_channel);
              s.radio.bandwidth_hz = bandwidth_hz;
              s.radio.rx_stream = rx_stream;
              s.radio.tx_stream = tx_stream;
              s.transmit = transmit_mode_from_name(transmit);
              s.pulses = whole("pulses", pulses);
              s.amplitude = amplitude;
              s.lead_s = lead_s;
              s.buffer_s = buffer_s;
              s.patience_s = patience_s;
              s.positions = positions;
              s.facts = facts;
              s.expected = expected_from(calibration);
              const int frame_lines = whole("lines", lines);
              // opening a radio takes seconds
              py::gil_scoped_release others_run;
              return block::make(p, frame_lines, s);
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("device"),
          py::arg("tx_device") = "",
          py::arg("transmit") = "auto",
          py::arg("pulses") = 0,
          py::arg("frequency_hz") = 0.0,
          py::arg("rx_gain_db") = py::none(),
          py::arg("tx_gain_db") = py::none(),
          py::arg("rx_antenna") = "",
          py::arg("tx_antenna") = "",
          py::arg("rx_channel") = 0,
          py::arg("tx_channel") = 0,
          py::arg("reference_channel") = py::none(),
          py::arg("bandwidth_hz") = 0.0,
          py::arg("rx_stream") = "",
          py::arg("tx_stream") = "",
          py::arg("amplitude") = 0.7,
          py::arg("lead_s") = 0.1,
          py::arg("buffer_s") = 1.0,
          py::arg("patience_s") = 5.0,
          py::arg("positions") = false,
          py::arg("facts") = false,
          py::arg("alignment") = "auto",
          py::arg("correct") = "delay_phase",
          py::arg("delay_s") = 0.0,
          py::arg("reference_delay_s") = 0.0,
          py::arg("calibration") = py::none(),
          py::arg("replica") = py::none(),
          py::arg("least_snr_db") = 15.0,
          py::arg("smoothing") = 0,
          py::arg("tolerance_samples") = 0.0,
          py::arg("fill") = "zeros",
          py::arg("longest_fill") = 100000,
          py::arg("remove_dc") = true,
          py::arg("full_scale") = 0.999,
          py::arg("presum") = 1,
          py::arg("suppress") = 0,
          py::arg("code") = py::none(),
          py::arg("remove_image") = false,
          doc_radar_transceiver_make);
    c.def(
         "status",
         [](const block& b) { return to_dict(b.status()); },
         "Counters and newest measurements of the framer, a dictionary.")
        .def(
            "radio_status",
            [](const block& b) { return to_dict(b.radio_status()); },
            "Counters of the radio, a dictionary.")
        .def(
            "radio_key",
            [](const block& b) { return b.radio_key(); },
            "What a calibration of this radio belongs to, as text: driver, serial, ...");
    bind_stage(c);
}
