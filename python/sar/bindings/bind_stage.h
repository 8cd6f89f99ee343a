// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_docs.h"
#include <gnuradio/sar/stage.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

//! What every block answers (gr::sar::stage), added to a block's Python class.
template <typename Class>
Class& bind_stage(Class& c)
{
    using block = typename Class::type;
    c.def(
         "backend",
         [](const block& b) { return b.backend(); },
         "Where the block runs, with the reason.")
        .def(
            "error",
            [](const block& b) { return b.error(); },
            "Empty, or the sentence that ended the flowgraph.")
        .def(
            "work_seconds",
            [](const block& b) { return b.work_seconds(); },
            "Seconds spent in work() so far (host time).")
        .def(
            "work_calls",
            [](const block& b) { return b.work_calls(); },
            "Calls of work() so far.");
    return c;
}
