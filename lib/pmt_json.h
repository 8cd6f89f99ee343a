// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <pmt/pmt.h>
#include <stdexcept>
#include <string>

namespace gr {
namespace sar {

//! Text of a JSON string.
inline std::string json_string(const std::string& s)
{
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof(code), "\\u%04x", c);
            out += code;
        } else {
            out += c;
        }
    }
    return out + '"';
}

//! The shortest number that reads back the same; null when it is not finite.
inline std::string json_number(double v)
{
    if (!std::isfinite(v))
        return "null";
    char text[32];
    const auto end = std::to_chars(text, text + sizeof(text), v).ptr;
    return std::string(text, end);
}

/*!
 * \brief A PMT as JSON: dictionaries in the order in which they were filled, vectors,
 * complex vectors as pairs, text, numbers, booleans; PMT_NIL is null.
 *
 * \throws std::runtime_error on anything else
 */
inline std::string to_json(const pmt::pmt_t& v, int indent = 0)
{
    const std::string line = "\n" + std::string(indent + 1, ' ');
    const std::string last = "\n" + std::string(indent, ' ');
    std::string out;
    const auto put = [&](const std::string& piece, bool lines) {
        out += (out.empty() ? "" : ",") + (lines ? line : out.empty() ? "" : " ") + piece;
    };
    if (pmt::is_null(v))
        return "null";
    if (pmt::is_bool(v))
        return pmt::to_bool(v) ? "true" : "false";
    if (pmt::is_symbol(v))
        return json_string(pmt::symbol_to_string(v));
    if (pmt::is_uint64(v))
        return std::to_string(pmt::to_uint64(v));
    if (pmt::is_integer(v))
        return std::to_string(pmt::to_long(v));
    if (pmt::is_real(v))
        return json_number(pmt::to_double(v));
    if (pmt::is_c32vector(v)) {
        for (const auto& z : pmt::c32vector_elements(v))
            put("[" + json_number(z.real()) + ", " + json_number(z.imag()) + "]", false);
        return "[" + out + "]";
    }
    if (pmt::is_vector(v)) {
        for (std::size_t i = 0; i < pmt::length(v); ++i)
            put(to_json(pmt::vector_ref(v, i), indent + 1), true);
        return out.empty() ? "[]" : "[" + out + last + "]";
    }
    if (pmt::is_dict(v)) {
        // the latest entry comes first
        for (pmt::pmt_t i = pmt::reverse(pmt::dict_items(v)); pmt::is_pair(i);
             i = pmt::cdr(i))
            put(json_string(pmt::symbol_to_string(pmt::car(pmt::car(i)))) + ": " +
                    to_json(pmt::cdr(pmt::car(i)), indent + 1),
                true);
        return out.empty() ? "{}" : "{" + out + last + "}";
    }
    throw std::runtime_error("a value of " + pmt::write_string(v) +
                             " has no form in JSON");
}

} // namespace sar
} // namespace gr
