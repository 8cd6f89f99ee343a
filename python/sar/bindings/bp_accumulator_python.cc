// SPDX-License-Identifier: GPL-3.0-or-later
#include <gnuradio/sar/bp_accumulator.h>
#include <pybind11/pybind11.h>
#include <string>

#include "bind_stage.h"
#include "block_docs.h"
#include "whole.h"

namespace py = pybind11;
using gr::sar::bp_accumulator;

namespace {

py::dict report(const bp_accumulator& b)
{
    gr::sar::kernel::bp_report r;
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
    d["fast_pulses"] = r.fast_pulses;
    d["patch_pulses"] = r.patch_pulses;
    d["outside_pixel_pulses"] = r.outside;
    d["non_finite_sums"] = r.non_finite;
    d["phase_bound_rad"] = r.phase_bound_rad;
    d["accuracy"] = to_string(p.accuracy);
    d["accuracy_used"] = r.fast_pulses == 0          ? "exact"
                         : r.fast_pulses == r.pulses ? "fast"
                                                     : "mixed";
    d["interpolation"] = to_string(p.interpolator);
    d["range_bias_m"] = p.axis.range_bias_m;
    d["backend"] = b.backend();
    return d;
}

} // namespace

void bind_bp_accumulator(py::module& m)
{
    auto c = py::class_<bp_accumulator,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<bp_accumulator>>(
        m, "bp_accumulator", doc_bp_accumulator);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const gr::sar::image_grid& grid,
                      const py::object& oversampling,
                      const std::string& interpolation,
                      const std::string& accuracy,
                      const py::object& pulses_per_image,
                      const py::object& hop,
                      bool bistatic,
                      const std::string& backend,
                      const py::object& device) {
              return bp_accumulator::make(acq,
                                          grid,
                                          whole("oversampling", oversampling),
                                          interpolation,
                                          accuracy,
                                          whole("pulses_per_image", pulses_per_image),
                                          whole("hop", hop),
                                          bistatic,
                                          backend,
                                          whole("device", device));
          }),
          py::arg("acq"),
          py::arg("grid"),
          py::arg("oversampling") = 1,
          py::arg("interpolation") = "sinc8",
          py::arg("accuracy") = "auto",
          py::arg("pulses_per_image") = 0,
          py::arg("hop") = 0,
          py::arg("bistatic") = false,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_bp_accumulator_make);
    c.def("report",
          &report,
          "What happened so far, a dictionary: images, pulses, skipped_pulses, "
          "first_skipped_pulse, fast_pulses, patch_pulses, outside_pixel_pulses, "
          "non_finite_sums, phase_bound_rad (largest proved bound of the phase error), "
          "accuracy_used, ...");
    bind_stage(c);
}
