// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/kernel/core/vec3.h>
#include <pybind11/pybind11.h>

// vec3 <-> any Python sequence of three numbers; comes back as a tuple.
namespace pybind11 {
namespace detail {
template <>
struct type_caster<gr::sar::vec3> {
    PYBIND11_TYPE_CASTER(gr::sar::vec3, const_name("Sequence[float]"));

    bool load(handle src, bool)
    {
        if (!src || !PySequence_Check(src.ptr()) || PySequence_Size(src.ptr()) != 3) {
            PyErr_Clear();
            return false;
        }
        double v[3];
        for (int i = 0; i < 3; ++i) {
            const object item =
                reinterpret_steal<object>(PySequence_GetItem(src.ptr(), i));
            v[i] = PyFloat_AsDouble(item.ptr());
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return false;
            }
        }
        value = { v[0], v[1], v[2] };
        return true;
    }

    static handle cast(gr::sar::vec3 v, return_value_policy, handle)
    {
        return make_tuple(v.x, v.y, v.z).release();
    }
};
} // namespace detail
} // namespace pybind11
