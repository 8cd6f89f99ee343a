// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/azimuth_filter.h>

namespace py = pybind11;

void bind_azimuth_filter(py::module& m)
{
    using gr::sar::azimuth_filter;
    auto c = py::class_<azimuth_filter,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<azimuth_filter>>(
        m, "azimuth_filter", doc_azimuth_filter);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& oversampling,
                      const std::string& window,
                      double bandwidth_hz,
                      const py::object& looks,
                      const std::string& geometry,
                      const std::string& output,
                      const py::object& hop,
                      const std::string& storage,
                      const std::string& backend,
                      const py::object& device) {
              return azimuth_filter::make(acq,
                                          whole("lines", lines),
                                          whole("fft_length", fft_length),
                                          whole("oversampling", oversampling),
                                          window,
                                          bandwidth_hz,
                                          whole("looks", looks),
                                          geometry,
                                          output,
                                          whole("hop", hop),
                                          storage,
                                          backend,
                                          whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("oversampling") = 1,
          py::arg("window") = "rect",
          py::arg("bandwidth_hz") = 0.0,
          py::arg("looks") = 1,
          py::arg("geometry") = "zero_doppler",
          py::arg("output") = "all",
          py::arg("hop") = 0,
          py::arg("storage") = "single",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_azimuth_filter_make);
    c.def("image_rows",
          &azimuth_filter::image_rows,
          "Image rows of a frame that go out, with the Doppler centroid of acq; times "
          "looks on the stream.")
        .def("aperture_lines",
             &azimuth_filter::aperture_lines,
             "Lines from the first to the last moment of a point in the band, the most "
             "over the swath.")
        .def("row_bytes", &azimuth_filter::row_bytes, "Bytes of an item of the input.")
        .def("images", &azimuth_filter::images, "Images so far.")
        .def("bad_lines",
             &azimuth_filter::bad_lines,
             "Rows so far that were zeroed for a value that is not finite.")
        .def("memory_bytes",
             &azimuth_filter::memory_bytes,
             "Memory of the frames and of the transform, bytes; streams not counted.");
    bind_stage(c);
}
