// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "framer_python.h"
#include "whole.h"
#include <cmath>
#include <gnuradio/sar/pulse_framer.h>

namespace py = pybind11;
using namespace gr::sar;

namespace {

//! None, seconds, or (seconds, fraction): a double alone resolves 0.2 us of today's date.
std::optional<radio_time> time_from(const py::object& value)
{
    if (value.is_none())
        return std::nullopt;
    const auto wrong = [&] {
        return std::invalid_argument("start is " + std::string(py::str(value)) +
                                     "; expected None, seconds, or (whole seconds, "
                                     "fraction), 0 or more");
    };
    try {
        if (py::isinstance<py::sequence>(value)) {
            const auto s = value.cast<py::sequence>();
            if (s.size() != 2 || s[0].cast<double>() < 0)
                throw wrong();
            return radio_time{ s[0].cast<std::uint64_t>(), s[1].cast<double>() };
        }
        const double t = value.cast<double>();
        if (!(t >= 0 && t < 1e18))
            throw wrong();
        return radio_time{ static_cast<std::uint64_t>(t), t - std::floor(t) };
    } catch (const py::cast_error&) {
        throw wrong();
    }
}

} // namespace

void bind_pulse_framer(py::module& m)
{
    using block = gr::sar::pulse_framer;
    auto c = py::class_<block, gr::block, gr::basic_block, std::shared_ptr<block>>(
        m, "pulse_framer", doc_pulse_framer);
    c.def(py::init([](const acquisition& acq,
                      const py::object& lines,
                      const std::string& alignment,
                      bool reference_input,
                      bool trigger_input,
                      bool positions,
                      bool facts,
                      bool real_input,
                      double pri_samples,
                      const py::object& start,
                      double delay_s,
                      double reference_delay_s,
                      double line_offset_s,
                      bool whole_samples,
                      const std::string& edge,
                      double trigger_level,
                      double trigger_hysteresis,
                      const py::object& replica,
                      double least_snr_db,
                      const py::object& smoothing,
                      double tolerance_samples,
                      const std::string& correct,
                      const std::string& fill,
                      const py::object& longest_fill,
                      bool swap_iq,
                      bool conjugate,
                      bool invert,
                      double frequency_shift_hz,
                      bool remove_dc,
                      double full_scale,
                      double settle_s,
                      const py::object& presum,
                      double stop_s,
                      const py::object& suppress,
                      const std::string& burst_tag,
                      const py::object& code,
                      bool remove_image) {
              pulse_framer_params p{ acq };
              p.alignment = framer_alignment_from_name(alignment);
              p.reference_input = reference_input;
              p.trigger_input = trigger_input;
              p.pri_samples = pri_samples;
              p.start = time_from(start);
              p.delay_s = delay_s;
              p.reference_delay_s = reference_delay_s;
              p.line_offset_s = line_offset_s;
              p.whole_samples = whole_samples;
              p.edge = trigger_edge_from_name(edge);
              p.trigger_level = trigger_level;
              p.trigger_hysteresis = trigger_hysteresis;
              p.replica = samples_from(replica);
              p.least_snr_db = least_snr_db;
              p.smoothing = whole("smoothing", smoothing);
              p.tolerance_samples = tolerance_samples;
              p.correct = framer_correction_from_name(correct);
              p.fill = hole_fill_from_name(fill);
              p.longest_fill = whole("longest_fill", longest_fill);
              p.swap_iq = swap_iq;
              p.conjugate = conjugate;
              p.invert = invert;
              p.frequency_shift_hz = frequency_shift_hz;
              p.remove_dc = remove_dc;
              p.full_scale = full_scale;
              p.settle_s = settle_s;
              p.presum = whole("presum", presum);
              p.stop_s = stop_s;
              p.suppress = whole("suppress", suppress);
              p.code = samples_from(code, "code", "values");
              p.remove_image = remove_image;
              return block::make(
                  p, whole("lines", lines), { real_input, positions, facts, burst_tag });
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("alignment") = "auto",
          py::arg("reference_input") = false,
          py::arg("trigger_input") = false,
          py::arg("positions") = false,
          py::arg("facts") = false,
          py::arg("real_input") = false,
          py::arg("pri_samples") = 0.0,
          py::arg("start") = py::none(),
          py::arg("delay_s") = 0.0,
          py::arg("reference_delay_s") = 0.0,
          py::arg("line_offset_s") = 0.0,
          py::arg("whole_samples") = false,
          py::arg("edge") = "rising",
          py::arg("trigger_level") = 0.5,
          py::arg("trigger_hysteresis") = 0.1,
          py::arg("replica") = py::none(),
          py::arg("least_snr_db") = 15.0,
          py::arg("smoothing") = 0,
          py::arg("tolerance_samples") = 0.0,
          py::arg("correct") = "none",
          py::arg("fill") = "zeros",
          py::arg("longest_fill") = 100000,
          py::arg("swap_iq") = false,
          py::arg("conjugate") = false,
          py::arg("invert") = false,
          py::arg("frequency_shift_hz") = 0.0,
          py::arg("remove_dc") = false,
          py::arg("full_scale") = 0.999,
          py::arg("settle_s") = 0.0,
          py::arg("presum") = 1,
          py::arg("stop_s") = 0.0,
          py::arg("suppress") = 0,
          py::arg("burst_tag") = "packet_len",
          py::arg("code") = py::none(),
          py::arg("remove_image") = false,
          doc_pulse_framer_make);
    c.def(
        "status",
        [](const block& b) { return to_dict(b.status()); },
        "Counters and newest measurements, a dictionary.");
    bind_stage(c);
}
