// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/detect.h>

namespace py = pybind11;

void bind_detect(py::module& m)
{
    using gr::sar::detect;
    auto c = py::class_<detect, gr::block, gr::basic_block, std::shared_ptr<detect>>(
        m, "detect", doc_detect);
    c.def(py::init([](const py::object& cols,
                      const std::string& quantity,
                      const py::object& row_looks,
                      const py::object& col_looks,
                      const std::string& backend,
                      const py::object& device) {
              return detect::make(whole("cols", cols),
                                  quantity,
                                  whole("row_looks", row_looks),
                                  whole("col_looks", col_looks),
                                  backend,
                                  whole("device", device));
          }),
          py::arg("cols"),
          py::arg("quantity") = "magnitude",
          py::arg("row_looks") = 1,
          py::arg("col_looks") = 1,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_detect_make);
    c.def("bad_pixels", &detect::bad_pixels, "Pixels so far that were not finite.");
    bind_stage(c);
}
