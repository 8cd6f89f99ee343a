// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "errors.h"
#include <array>
#include <string>
#include <utility>

namespace gr {
namespace sar {

//! A two-way table between an enumeration and the names users type.
template <typename Enum, std::size_t N>
struct name_table {
    const char* parameter;
    std::array<std::pair<Enum, const char*>, N> entries;

    Enum from_name(const std::string& name) const
    {
        std::string expected;
        for (const auto& [value, text] : entries) {
            if (name == text)
                return value;
            expected += expected.empty() ? text : std::string(", ") + text;
        }
        throw std::invalid_argument(
            sentence(parameter, " is '", name, "'; expected one of: ", expected));
    }

    std::string to_name(Enum value) const
    {
        for (const auto& [entry, text] : entries)
            if (entry == value)
                return text;
        throw std::invalid_argument(
            sentence(parameter, " holds no known value: ", static_cast<int>(value)));
    }
};

} // namespace sar
} // namespace gr
