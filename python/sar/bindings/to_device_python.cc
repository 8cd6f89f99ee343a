// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/to_device.h>

namespace py = pybind11;

void bind_to_device(py::module& m)
{
    using gr::sar::to_device;
    py::class_<to_device,
               gr::sync_block,
               gr::block,
               gr::basic_block,
               std::shared_ptr<to_device>>
        c(m, "to_device", doc_to_device);
    c.def(py::init([](const py::object& vlen,
                      const py::object& itemsize,
                      const std::string& backend,
                      const py::object& device) {
              return to_device::make(whole("vlen", vlen),
                                     whole("itemsize", itemsize),
                                     backend,
                                     whole("device", device));
          }),
          py::arg("vlen"),
          py::arg("itemsize") = 8,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_to_device_make);
    bind_stage(c);
}
