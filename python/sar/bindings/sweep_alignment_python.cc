// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/sweep_alignment.h>

namespace py = pybind11;

void bind_sweep_alignment(py::module& m)
{
    using block = gr::sar::sweep_alignment;
    auto c = py::class_<block, gr::block, gr::basic_block, std::shared_ptr<block>>(
        m, "sweep_alignment", doc_sweep_alignment);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      double doppler_band_hz,
                      double instant_s,
                      const py::object& taps) {
              return block::make(acq, doppler_band_hz, instant_s, whole("taps", taps));
          }),
          py::arg("acq"),
          py::arg("doppler_band_hz") = 0.0,
          py::arg("instant_s") = 0.0,
          py::arg("taps") = 32,
          doc_sweep_alignment_make);
    c.def("error_bound_db",
          &block::error_bound_db,
          "Largest error in the band, relative to an echo, dB.")
        .def("doppler_band_hz", &block::doppler_band_hz, "The Doppler band in use, Hz.")
        .def("bad_lines",
             &block::bad_lines,
             "Lines so far that held a sample which is not finite.");
    bind_stage(c);
}
