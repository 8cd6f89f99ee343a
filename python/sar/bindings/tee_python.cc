// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/tee.h>

namespace py = pybind11;

void bind_tee(py::module& m)
{
    using gr::sar::tee;
    py::class_<tee, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<tee>> c(
        m, "tee", doc_tee);
    c.def(py::init([](const py::object& vlen,
                      const py::object& itemsize,
                      const std::string& backend,
                      const py::object& device) {
              return tee::make(whole("vlen", vlen),
                               whole("itemsize", itemsize),
                               backend,
                               whole("device", device));
          }),
          py::arg("vlen"),
          py::arg("itemsize") = 8,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_tee_make);
    bind_stage(c);
}
