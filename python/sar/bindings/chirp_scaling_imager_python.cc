// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/chirp_scaling_imager.h>

namespace py = pybind11;

void bind_chirp_scaling_imager(py::module& m)
{
    using gr::sar::chirp_scaling_imager;
    auto c = py::class_<chirp_scaling_imager,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<chirp_scaling_imager>>(
        m, "chirp_scaling_imager", doc_chirp_scaling_imager);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& hop,
                      const py::object& oversampling,
                      const std::string& range_window,
                      const std::string& azimuth_window,
                      double bandwidth_hz,
                      const py::object& looks,
                      const std::string& geometry,
                      const std::string& output,
                      const std::string& backend,
                      const py::object& device) {
              return chirp_scaling_imager::make(acq,
                                                whole("lines", lines),
                                                whole("fft_length", fft_length),
                                                whole("hop", hop),
                                                whole("oversampling", oversampling),
                                                range_window,
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
          py::arg("azimuth_window") = "rect",
          py::arg("bandwidth_hz") = 0.0,
          py::arg("looks") = 1,
          py::arg("geometry") = "zero_doppler",
          py::arg("output") = "all",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_chirp_scaling_imager_make);
    c.def("image_rows",
          &chirp_scaling_imager::image_rows,
          "Rows of an image (of one look) with the acquisition's Doppler centroid.")
        .def("aperture_lines",
             &chirp_scaling_imager::aperture_lines,
             "Lines for which a point is in the processed band, the most over the swath.")
        .def("images", &chirp_scaling_imager::images, "Images so far.")
        .def("bad_lines",
             &chirp_scaling_imager::bad_lines,
             "Lines so far that were zeroed for a sample that is not finite.")
        .def("memory_bytes",
             &chirp_scaling_imager::memory_bytes,
             "Memory that the block holds beside its streams, bytes.");
    bind_stage(c);
}
