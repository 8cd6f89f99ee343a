// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/trajectory_source.h>

namespace py = pybind11;

void bind_trajectory_source(py::module& m)
{
    using namespace gr::sar;
    using block = gr::sar::trajectory_source;
    auto c = py::
        class_<block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<block>>(
            m, "trajectory_source", doc_trajectory_source);
    c.def(
        py::init([](const trajectory& track,
                    double prf_hz,
                    const py::object& pulses,
                    double start_s,
                    const py::object& frames) {
            return block::make(
                track, prf_hz, whole("pulses", pulses), start_s, whole("frames", frames));
        }),
        py::arg("track"),
        py::arg("prf_hz"),
        py::arg("pulses"),
        py::arg("start_s") = 0.0,
        py::arg("frames") = 1,
        doc_trajectory_source_make);
    bind_stage(c);
}
