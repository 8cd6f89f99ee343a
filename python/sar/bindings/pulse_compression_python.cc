// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/pulse_compression.h>

namespace py = pybind11;

void bind_pulse_compression(py::module& m)
{
    using gr::sar::pulse_compression;
    auto c = py::class_<pulse_compression,
                        gr::sync_block,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<pulse_compression>>(
        m, "pulse_compression", doc_pulse_compression);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& oversampling,
                      const std::string& window,
                      const std::vector<gr_complex>& replica,
                      const std::string& backend,
                      const py::object& device,
                      const std::vector<double>& range_gate_m) {
              return pulse_compression::make(acq,
                                             whole("oversampling", oversampling),
                                             window,
                                             replica,
                                             backend,
                                             whole("device", device),
                                             range_gate_m);
          }),
          py::arg("acq"),
          py::arg("oversampling") = 1,
          py::arg("window") = "rect",
          py::arg("replica") = std::vector<gr_complex>(),
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          py::arg("range_gate_m") = std::vector<double>(),
          doc_pulse_compression_make);
    c.def("axis", &pulse_compression::axis, "Axis of the output lines.")
        .def("first_valid",
             &pulse_compression::first_valid,
             "First output sample whose pulse lies wholly within the line.")
        .def("valid_samples",
             &pulse_compression::valid_samples,
             "Number of output samples whose pulse lies wholly within the line.")
        .def("bad_lines",
             &pulse_compression::bad_lines,
             "Lines so far that were zeroed for a sample that is not finite.");
    bind_stage(c);
}
