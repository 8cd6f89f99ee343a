// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/range_doppler_imager.h>

namespace py = pybind11;

void bind_range_doppler_imager(py::module& m)
{
    using gr::sar::range_doppler_imager;
    auto c = py::class_<range_doppler_imager,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<range_doppler_imager>>(
        m, "range_doppler_imager", doc_range_doppler_imager);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& hop,
                      const py::object& oversampling,
                      const std::string& range_window,
                      const std::vector<gr_complex>& replica,
                      const std::string& interpolation,
                      bool src,
                      const std::string& azimuth_window,
                      double bandwidth_hz,
                      const py::object& looks,
                      const std::string& geometry,
                      const std::string& output,
                      const std::string& backend,
                      const py::object& device) {
              return range_doppler_imager::make(acq,
                                                whole("lines", lines),
                                                whole("fft_length", fft_length),
                                                whole("hop", hop),
                                                whole("oversampling", oversampling),
                                                range_window,
                                                replica,
                                                interpolation,
                                                src,
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
          py::arg("src") = true,
          py::arg("azimuth_window") = "rect",
          py::arg("bandwidth_hz") = 0.0,
          py::arg("looks") = 1,
          py::arg("geometry") = "zero_doppler",
          py::arg("output") = "all",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_range_doppler_imager_make);
    c.def("image_rows",
          &range_doppler_imager::image_rows,
          "Rows of an image (of one look) with the acquisition's Doppler centroid.")
        .def("aperture_lines",
             &range_doppler_imager::aperture_lines,
             "Lines for which a point is in the processed band, the most over the swath.")
        .def("images", &range_doppler_imager::images, "Images so far.")
        .def("bad_lines",
             &range_doppler_imager::bad_lines,
             "Lines so far that were zeroed for a sample that is not finite.")
        .def("memory_bytes",
             &range_doppler_imager::memory_bytes,
             "Memory that the block holds beside its streams, bytes.");
    bind_stage(c);
}
