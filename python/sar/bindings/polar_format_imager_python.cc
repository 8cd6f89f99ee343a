// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/polar_format_imager.h>

namespace py = pybind11;
using gr::sar::polar_format_imager;

namespace {

py::dict report(const polar_format_imager& b)
{
    gr::sar::kernel::polar_format_report r;
    {
        const py::gil_scoped_release released; // may wait for the device
        r = b.report();
    }
    const auto& p = b.params();
    py::dict d;
    d["images"] = b.images();
    d["pulses"] = r.pulses;
    d["skipped_pulses"] = r.skipped_pulses;
    d["first_skipped_pulse"] = r.first_skipped;
    d["bad_lines"] = r.bad_lines;
    d["curvature"] = gr::sar::kernel::to_string(p.curvature);
    d["phase_error_rad"] = r.figures.phase_error_rad;
    d["displacement_m"] = r.figures.displacement_m;
    d["range_m"] = r.figures.range_m;
    d["aperture_rad"] = r.figures.aperture_rad;
    d["radius_m"] = r.figures.radius_m;
    d["lattice"] = py::make_tuple(r.lattice_rows, r.lattice_cols);
    d["range_bias_m"] = p.acq->range_bias_m;
    d["backend"] = b.backend();
    return d;
}

} // namespace

void bind_polar_format_imager(py::module& m)
{
    m.def(
        "polar_format_radius_m",
        &gr::sar::kernel::polar_format_radius_m,
        py::arg("range_m"),
        py::arg("wavelength_m"),
        py::arg("aperture_rad"),
        py::arg("phase_rad") = gr::sar::kernel::polar_format_phase_limit_rad,
        "Radius of the scene that polar format focuses, m: sqrt(2 R lambda phi / pi) / "
        "(2 theta) for the range R, the wavelength lambda, an aperture seen under the "
        "angle 2 theta, and a phase error of at most phi at its edge (default pi / 4, "
        "which takes 0.24 dB off the peak). With the cross-range resolution "
        "rho = lambda / (4 theta) and that default it is rho sqrt(2 R / lambda). "
        "Carrara, "
        "Goodman, Majewski, Spotlight Synthetic Aperture Radar (1995), chapter 3. Raises "
        "ValueError unless all are positive.");
    auto c = py::class_<polar_format_imager,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<polar_format_imager>>(
        m, "polar_format_imager", doc_polar_format_imager);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const gr::sar::image_grid& grid,
                      const py::object& pulses_per_image,
                      const py::object& hop,
                      const std::string& range_window,
                      const std::string& azimuth_window,
                      const std::string& curvature,
                      const std::vector<gr_complex>& replica,
                      bool bistatic,
                      const std::string& backend,
                      const py::object& device) {
              return polar_format_imager::make(
                  acq,
                  grid,
                  whole("pulses_per_image", pulses_per_image),
                  whole("hop", hop),
                  range_window,
                  azimuth_window,
                  curvature,
                  replica,
                  bistatic,
                  backend,
                  whole("device", device));
          }),
          py::arg("acq"),
          py::arg("grid"),
          py::arg("pulses_per_image"),
          py::arg("hop") = 0,
          py::arg("range_window") = "rect",
          py::arg("azimuth_window") = "rect",
          py::arg("curvature") = "correct",
          py::arg("replica") = std::vector<gr_complex>(),
          py::arg("bistatic") = false,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_polar_format_imager_make);
    c.def("report",
          &report,
          "What happened so far, a dictionary: images, pulses, skipped_pulses, "
          "bad_lines; of "
          "the newest image phase_error_rad (largest left by the curvature of the "
          "wavefronts on the grid), displacement_m (what it displaces points by), "
          "aperture_rad, range_m, radius_m (polar_format_radius_m of these), lattice.")
        .def("images", &polar_format_imager::images, "Images so far.")
        .def(
            "bad_lines",
            [](const polar_format_imager& b) {
                const py::gil_scoped_release released;
                return b.report().bad_lines;
            },
            "Lines so far that were zeroed for a sample that is not finite.")
        .def("memory_bytes",
             &polar_format_imager::memory_bytes,
             "Memory that the block holds beside its streams, bytes.");
    bind_stage(c);
}
