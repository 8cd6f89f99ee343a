// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/chirp_z.h>

namespace py = pybind11;

void bind_chirp_z(py::module& m)
{
    using gr::sar::chirp_z;
    auto c = py::class_<chirp_z,
                        gr::sync_block,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<chirp_z>>(m, "chirp_z", doc_chirp_z);
    c.def(py::init([](const py::object& samples_in,
                      const py::object& samples_out,
                      double first_frequency,
                      double frequency_step,
                      double sample_rate,
                      const std::string& direction,
                      const std::string& window,
                      double reference_sample,
                      const std::string& backend,
                      const py::object& device) {
              return chirp_z::make(whole("samples_in", samples_in),
                                   whole("samples_out", samples_out),
                                   first_frequency,
                                   frequency_step,
                                   sample_rate,
                                   direction,
                                   window,
                                   reference_sample,
                                   backend,
                                   whole("device", device));
          }),
          py::arg("samples_in"),
          py::arg("samples_out") = 0,
          py::arg("first_frequency") = 0.0,
          py::arg("frequency_step") = 0.0,
          py::arg("sample_rate") = 1.0,
          py::arg("direction") = "forward",
          py::arg("window") = "rect",
          py::arg("reference_sample") = 0.0,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_chirp_z_make);
    c.def("samples_out", &chirp_z::samples_out, "Frequencies that are evaluated.")
        .def("frequency_step",
             &chirp_z::frequency_step,
             "From output to output, in the unit of the sampling rate.")
        .def("fft_length",
             &chirp_z::fft_length,
             "Length of the transforms that the work is done with.")
        .def("bad_lines",
             &chirp_z::bad_lines,
             "Lines so far that were zeroed for a value that is not finite.");
    bind_stage(c);
}
