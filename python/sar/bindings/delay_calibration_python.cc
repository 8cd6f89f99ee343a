// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/delay_calibration.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace py = pybind11;
using namespace gr::sar;

namespace {

std::vector<cf32> to_cf32(const std::vector<gr_complex>& v)
{
    std::vector<cf32> out;
    for (const gr_complex z : v)
        out.push_back({ z.real(), z.imag() });
    return out;
}

std::vector<gr_complex> to_complex(const std::vector<cf32>& v)
{
    std::vector<gr_complex> out;
    for (const cf32 z : v)
        out.emplace_back(z.re, z.im);
    return out;
}

//! A dictionary of text and numbers; None is left out.
pmt::pmt_t key_from(const py::dict& key)
{
    pmt::pmt_t d = pmt::make_dict();
    for (const auto& [name_handle, value] : key) {
        const std::string name = py::str(name_handle);
        if (value.is_none())
            continue;
        require(py::isinstance<py::str>(value) || py::isinstance<py::int_>(value) ||
                    py::isinstance<py::float_>(value),
                "key.",
                name,
                " is ",
                std::string(py::str(value)),
                "; expected text, a number or None");
        d = pmt::dict_add(d,
                          pmt::mp(name),
                          py::isinstance<py::str>(value)
                              ? pmt::mp(value.cast<std::string>())
                              : pmt::from_double(value.cast<double>()));
    }
    return d;
}

py::dict to_dict(const calibration_pulse& p)
{
    py::dict d;
    d["number"] = p.number;
    d["time_s"] = p.time_s;
    d["delay_samples"] = p.delay_samples;
    d["phase_rad"] = p.phase_rad;
    d["amplitude"] = p.amplitude;
    d["snr_db"] = p.snr_db;
    return d;
}

} // namespace

void bind_delay_calibration(py::module& m)
{
    using block = gr::sar::delay_calibration;
    auto c = py::
        class_<block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<block>>(
            m, "delay_calibration", doc_delay_calibration);
    c.def(py::init([](const acquisition& acq,
                      const py::object& pulses,
                      const std::vector<gr_complex>& replica,
                      double first_pulse_s,
                      const std::string& ambiguity,
                      double cable_delay_s,
                      double least_snr_db,
                      bool reference,
                      const py::object& response_taps,
                      double full_scale,
                      const std::string& file,
                      const py::dict& key,
                      const std::string& command) {
              return block::make(acq,
                                 whole("pulses", pulses),
                                 replica,
                                 first_pulse_s,
                                 ambiguity,
                                 cable_delay_s,
                                 least_snr_db,
                                 reference,
                                 whole("response_taps", response_taps),
                                 full_scale,
                                 file,
                                 key_from(key),
                                 command);
          }),
          py::arg("acq"),
          py::arg("pulses") = 0,
          py::arg("replica") = std::vector<gr_complex>(),
          py::arg("first_pulse_s") = 0.0,
          py::arg("ambiguity") = "cyclic",
          py::arg("cable_delay_s") = 0.0,
          py::arg("least_snr_db") = 15.0,
          py::arg("reference") = false,
          py::arg("response_taps") = 0,
          py::arg("full_scale") = 1.0,
          py::arg("file") = "",
          py::arg("key") = py::dict(),
          py::arg("command") = "",
          doc_delay_calibration_make);
    c.def(
         "calibrations",
         [](const block& b) {
             const py::object to_python = py::module::import("pmt").attr("to_python");
             py::list out;
             for (const pmt::pmt_t& p : b.calibrations())
                 out.append(to_python(p));
             return out;
         },
         "Dictionaries of the estimates so far, as the messages, at most 1000.")
        .def(
            "arrivals",
            [](const block& b) {
                py::list out;
                const auto all = b.estimates();
                if (!all.empty())
                    for (const calibration_pulse& p : all.back().arrivals)
                        out.append(to_dict(p));
                return out;
            },
            "The pulses of the latest estimate: number, time_s, delay_samples, "
            "phase_rad, "
            "amplitude, snr_db of each.")
        .def(
            "received",
            [](const block& b) {
                const auto all = b.estimates();
                return all.empty() ? std::vector<gr_complex>()
                                   : to_complex(all.back().received);
            },
            "Mean received pulse of the latest estimate, from response_taps samples "
            "before "
            "it; empty without response_taps.")
        .def("done", &block::done, "True when an estimate, valid or not, is there.");
    bind_stage(c);

    m.def(
        "transmitted_pulse",
        [](const acquisition& acq, const std::vector<gr_complex>& replica) {
            return to_complex(transmitted_pulse(acq, to_cf32(replica)));
        },
        py::arg("acq"),
        py::arg("replica") = std::vector<gr_complex>(),
        "Samples of the pulse at acq.sample_rate_hz, from its first: the LFM pulse of "
        "the "
        "acquisition, or the replica given. ValueError on FMCW and frequency_domain.");
    m.def(
        "equalised_replica",
        [](const std::vector<gr_complex>& pulse,
           const std::vector<gr_complex>& equaliser) {
            return to_complex(equalised_replica(to_cf32(pulse), to_cf32(equaliser)));
        },
        py::arg("pulse"),
        py::arg("equaliser"),
        "The replica that compresses what came through an equalised path to the response "
        "of "
        "the pulse itself; len(equaliser) - 1 samples longer, the pulse begins at the "
        "middle tap.");
}
