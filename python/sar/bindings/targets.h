// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "vec3_caster.h"
#include <complex>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <string>
#include <vector>

//! Targets as users write them: (x, y, z) or (x, y, z, complex amplitude), metres.
template <typename Target>
std::vector<Target> targets_from(const pybind11::object& list)
{
    namespace py = pybind11;
    std::vector<Target> out;
    if (!py::isinstance<py::sequence>(list) && !py::hasattr(list, "__iter__"))
        throw std::invalid_argument("targets is " + std::string(py::str(list)) +
                                    "; expected a list of (x, y, z, amplitude)");
    for (const py::handle item : list) {
        const std::string name = "targets[" + std::to_string(out.size()) + "]";
        const auto wrong = [&] {
            return std::invalid_argument(
                name + " is " + std::string(py::str(item)) +
                "; expected (x, y, z, amplitude): three numbers in "
                "metres and a real or complex number (1 when left "
                "out)");
        };
        // a numpy row of complex numbers is fine too, as long as x, y, z are real
        if (!PySequence_Check(item.ptr()))
            throw wrong();
        const py::sequence s = py::reinterpret_borrow<py::sequence>(item);
        if (s.size() != 3 && s.size() != 4)
            throw wrong();
        Target t;
        try {
            double v[3];
            for (int i = 0; i < 3; ++i) {
                const auto z = py::object(s[i]).cast<std::complex<double>>();
                if (z.imag() != 0)
                    throw wrong();
                v[i] = z.real();
            }
            t.position_m = { v[0], v[1], v[2] };
            if (s.size() == 4)
                t.amplitude = py::object(s[3]).cast<std::complex<double>>();
        } catch (const py::cast_error&) {
            throw wrong();
        }
        out.push_back(t);
    }
    return out;
}
