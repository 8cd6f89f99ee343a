// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/doppler_centroid.h>

namespace py = pybind11;
using gr::sar::doppler_centroid;

namespace {

py::list estimates(const doppler_centroid& b)
{
    py::list all;
    for (const gr::sar::kernel::centroid_estimate& e : b.estimates()) {
        py::dict d;
        d["doppler_centroid_hz"] = e.coefficients_hz;
        d["baseband_hz"] = e.baseband_hz;
        d["ambiguity"] = e.ambiguity;
        d["standard_error_hz"] = e.standard_error_hz;
        d["ambiguity_confidence"] = e.ambiguity_confidence;
        d["method"] = e.method;
        d["coherence"] = e.coherence;
        d["look_score"] = e.look_score;
        d["look_next_score"] = e.look_next_score;
        d["look_passes"] = e.look_passes;
        d["diversity_hz"] = e.diversity_hz;
        d["diversity_error_hz"] = e.diversity_error_hz;
        all.append(d);
    }
    return all;
}

//! A number, a list of numbers, or None.
std::vector<double> coefficients(const py::object& value)
{
    if (value.is_none())
        return {};
    if (py::isinstance<py::float_>(value) || py::isinstance<py::int_>(value))
        return { value.cast<double>() };
    return value.cast<std::vector<double>>();
}

} // namespace

void bind_doppler_centroid(py::module& m)
{
    auto c = py::class_<doppler_centroid,
                        gr::block,
                        gr::basic_block,
                        std::shared_ptr<doppler_centroid>>(
        m, "doppler_centroid", doc_doppler_centroid);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& oversampling,
                      const py::object& given,
                      const py::object& order,
                      const std::string& backend,
                      const py::object& device) {
              return doppler_centroid::make(acq,
                                            whole("lines", lines),
                                            whole("oversampling", oversampling),
                                            coefficients(given),
                                            whole("order", order),
                                            backend,
                                            whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("oversampling") = 1,
          py::arg("given") = py::list(),
          py::arg("order") = 0,
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_doppler_centroid_make);
    c.def("estimates",
          &estimates,
          "Estimates so far, the newest 1000, a dictionary a frame: doppler_centroid_hz "
          "(list of coefficients), baseband_hz, ambiguity, standard_error_hz, "
          "ambiguity_confidence, method, ...")
        .def("frames", &doppler_centroid::frames, "Frames so far.")
        .def("bad_lines",
             &doppler_centroid::bad_lines,
             "Lines so far with a value that is not finite; they did not count.");
    bind_stage(c);
}
