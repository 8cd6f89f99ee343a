// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/omega_k_imager.h>

namespace py = pybind11;

void bind_omega_k_imager(py::module& m)
{
    using gr::sar::omega_k_imager;
    auto c = py::class_<omega_k_imager,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<omega_k_imager>>(
        m, "omega_k_imager", doc_omega_k_imager);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& hop,
                      const py::object& oversampling,
                      const std::string& range_window,
                      const std::vector<gr_complex>& replica,
                      const std::string& interpolation,
                      const std::string& azimuth_window,
                      double bandwidth_hz,
                      const py::object& looks,
                      const std::string& geometry,
                      const std::string& output,
                      const std::string& backend,
                      const py::object& device) {
              return omega_k_imager::make(acq,
                                          whole("lines", lines),
                                          whole("fft_length", fft_length),
                                          whole("hop", hop),
                                          whole("oversampling", oversampling),
                                          range_window,
                                          replica,
                                          interpolation,
                                          azimuth_window,
                                          bandwidth_hz,
                                          whole("looks", looks),
                                          geometry,
                                          output,
                                          backend,
                                          whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("hop") = 0,
          py::arg("oversampling") = 1,
          py::arg("range_window") = "rect",
          py::arg("replica") = std::vector<gr_complex>(),
          py::arg("interpolation") = "exact",
          py::arg("azimuth_window") = "rect",
          py::arg("bandwidth_hz") = 0.0,
          py::arg("looks") = 1,
          py::arg("geometry") = "zero_doppler",
          py::arg("output") = "all",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_omega_k_imager_make);
    c.def("image_rows",
          &omega_k_imager::image_rows,
          "Rows of an image (of one look) with the acquisition's Doppler centroid.")
        .def("aperture_lines",
             &omega_k_imager::aperture_lines,
             "Lines for which a point is in the processed band, the most over the swath.")
        .def("images", &omega_k_imager::images, "Images so far.")
        .def("bad_lines",
             &omega_k_imager::bad_lines,
             "Lines so far that were zeroed for a sample that is not finite.")
        .def("memory_bytes",
             &omega_k_imager::memory_bytes,
             "Memory that the block holds beside its streams, bytes.");
    bind_stage(c);
}
