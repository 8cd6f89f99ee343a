// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <limits>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <string>

//! GRC divides with '/' and hands over floats: take 2048.0 for 2048, refuse 2048.5.
inline int whole(const char* name, const pybind11::object& value)
{
    const double v = value.cast<double>();
    if (!(v >= std::numeric_limits<int>::min() && v <= std::numeric_limits<int>::max()) ||
        v != static_cast<int>(v))
        throw std::invalid_argument(std::string(name) + " is " +
                                    std::string(pybind11::str(value)) +
                                    "; expected a whole number");
    return static_cast<int>(v);
}
