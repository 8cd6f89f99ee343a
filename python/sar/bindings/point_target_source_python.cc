// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "targets.h"
#include "whole.h"
#include <gnuradio/sar/point_target_source.h>

namespace py = pybind11;

namespace {
// seeds may be as large as 64 bits; 1.0 from GRC is 1
std::uint64_t seed_from(const py::object& value)
{
    if (!py::isinstance<py::int_>(value)) {
        const int v = whole("seed", value);
        if (v >= 0)
            return v;
    } else {
        const auto v = PyLong_AsUnsignedLongLong(value.ptr());
        if (!PyErr_Occurred())
            return v;
        PyErr_Clear();
    }
    throw std::invalid_argument("seed is " + std::string(py::str(value)) +
                                "; expected a whole number from 0 to 2^64 - 1");
}
} // namespace

void bind_point_target_source(py::module& m)
{
    using namespace gr::sar;
    using block = gr::sar::point_target_source;
    auto c = py::
        class_<block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<block>>(
            m, "point_target_source", doc_point_target_source);
    c.def(py::init([](const acquisition& acq,
                      const py::object& targets,
                      const trajectory& track,
                      const py::object& pulses,
                      double noise_power,
                      const py::object& seed,
                      const py::object& frames,
                      double beam_rad,
                      double beam_squint_rad,
                      bool sweep_motion) {
              const auto list = targets_from<point_target>(targets);
              const int n = whole("pulses", pulses);
              const auto s = seed_from(seed);
              const int f = whole("frames", frames);
              // a frame may take a while
              const py::gil_scoped_release release;
              return block::make(acq,
                                 list,
                                 track,
                                 n,
                                 noise_power,
                                 s,
                                 f,
                                 beam_rad,
                                 beam_squint_rad,
                                 sweep_motion);
          }),
          py::arg("acq"),
          py::arg("targets"),
          py::arg("track"),
          py::arg("pulses"),
          py::arg("noise_power") = 0.0,
          py::arg("seed") = 1,
          py::arg("frames") = 1,
          py::arg("beam_rad") = 0.0,
          py::arg("beam_squint_rad") = 0.0,
          py::arg("sweep_motion") = false,
          doc_point_target_source_make);
    bind_stage(c);
}
