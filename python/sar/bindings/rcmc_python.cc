// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/rcmc.h>

namespace py = pybind11;

void bind_rcmc(py::module& m)
{
    using gr::sar::rcmc;
    auto c = py::
        class_<rcmc, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<rcmc>>(
            m, "rcmc", doc_rcmc);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& oversampling,
                      const std::string& interpolation,
                      bool src,
                      const std::string& geometry,
                      const std::string& storage,
                      const std::string& backend,
                      const py::object& device) {
              return rcmc::make(acq,
                                whole("lines", lines),
                                whole("fft_length", fft_length),
                                whole("oversampling", oversampling),
                                interpolation,
                                src,
                                geometry,
                                storage,
                                backend,
                                whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("oversampling") = 1,
          py::arg("interpolation") = "exact",
          py::arg("src") = true,
          py::arg("geometry") = "zero_doppler",
          py::arg("storage") = "single",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_rcmc_make);
    c.def("rows", &rcmc::rows, "Rows of a frame.")
        .def("slant_range_first_m",
             &rcmc::slant_range_first_m,
             "Range of cell 0 of the output, m, for the Doppler centroid in use.")
        .def("uses_src",
             &rcmc::uses_src,
             "Is SRC applied? Not where its phase is below 1e-6 cycles in all rows.")
        .def("bad_lines",
             &rcmc::bad_lines,
             "Rows so far that were zeroed for a value that is not finite.");
    bind_stage(c);
}
