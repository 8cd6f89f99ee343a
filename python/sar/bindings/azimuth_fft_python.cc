// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/azimuth_fft.h>

namespace py = pybind11;

void bind_azimuth_fft(py::module& m)
{
    using gr::sar::azimuth_fft;
    auto c =
        py::class_<azimuth_fft, gr::block, gr::basic_block, std::shared_ptr<azimuth_fft>>(
            m, "azimuth_fft", doc_azimuth_fft);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& hop,
                      const py::object& oversampling,
                      const std::string& direction,
                      const std::string& storage,
                      const std::string& backend,
                      const py::object& device) {
              return azimuth_fft::make(acq,
                                       whole("lines", lines),
                                       whole("fft_length", fft_length),
                                       whole("hop", hop),
                                       whole("oversampling", oversampling),
                                       direction,
                                       storage,
                                       backend,
                                       whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("hop") = 0,
          py::arg("oversampling") = 1,
          py::arg("direction") = "forward",
          py::arg("storage") = "single",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_azimuth_fft_make);
    c.def("rows", &azimuth_fft::rows, "Rows of a spectrum: the length of the transform.")
        .def("row_bytes", &azimuth_fft::row_bytes, "Bytes of an item of rows.")
        .def("frames", &azimuth_fft::frames, "Frames transformed so far.")
        .def("bad_lines",
             &azimuth_fft::bad_lines,
             "Lines so far that were zeroed for a value that is not finite.")
        .def("memory_bytes",
             &azimuth_fft::memory_bytes,
             "Memory of the frame and of the transform, bytes; streams not counted.");
    bind_stage(c);
}
