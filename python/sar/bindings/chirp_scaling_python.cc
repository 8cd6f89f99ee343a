// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/chirp_scaling.h>
#include <gnuradio/sar/kernel/chirp_scaling/chirp_scaling.h>

namespace py = pybind11;

void bind_chirp_scaling(py::module& m)
{
    using gr::sar::chirp_scaling;
    auto c =
        py::class_<chirp_scaling,
                   gr::sync_block,
                   gr::block,
                   gr::basic_block,
                   std::shared_ptr<chirp_scaling>>(m, "chirp_scaling", doc_chirp_scaling);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& oversampling,
                      const std::string& range_window,
                      const std::string& geometry,
                      const std::string& storage,
                      const std::string& backend,
                      const py::object& device) {
              return chirp_scaling::make(acq,
                                         whole("lines", lines),
                                         whole("fft_length", fft_length),
                                         whole("oversampling", oversampling),
                                         range_window,
                                         geometry,
                                         storage,
                                         backend,
                                         whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("oversampling") = 1,
          py::arg("range_window") = "rect",
          py::arg("geometry") = "zero_doppler",
          py::arg("storage") = "single",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_chirp_scaling_make);
    c.def("rows", &chirp_scaling::rows, "Rows of a frame.")
        .def("slant_range_first_m",
             &chirp_scaling::slant_range_first_m,
             "Range of cell 0 of the output, m, for the Doppler centroid in use.")
        .def("phase_error_rad",
             &chirp_scaling::phase_error_rad,
             "Largest phase error at the edges of the band, at the ends of the swath, "
             "rad.")
        .def("band_shift_hz",
             &chirp_scaling::band_shift_hz,
             "How far the band of a point is moved, at most, Hz.")
        .def("bad_lines",
             &chirp_scaling::bad_lines,
             "Rows so far that were zeroed for a value that is not finite.");
    bind_stage(c);

    m.def(
        "chirp_scaling_bounds",
        [](const gr::sar::range_doppler_plan& plan) {
            const auto b = gr::sar::kernel::chirp_scaling_bounds_of(plan);
            py::dict d;
            d["phase_error_rad"] = b.phase_error_rad;
            d["band_shift_hz"] = b.band_shift_hz;
            d["delay_samples"] = b.delay_samples;
            return d;
        },
        py::arg("plan"),
        "What chirp scaling leaves at most for a range_doppler_plan: phase_error_rad at "
        "the edges of the band, band_shift_hz, and the delay_samples of its filter.");
}
