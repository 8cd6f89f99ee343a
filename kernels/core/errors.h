// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gr {
namespace sar {

//! Strings, numbers and anything streamable, put together to one sentence.
template <typename... Parts>
std::string sentence(const Parts&... parts)
{
    std::ostringstream out;
    out.precision(10);
    (out << ... << parts);
    return out.str();
}

//! Throw std::invalid_argument with the sentence unless \p condition holds. A sentence
//! names the parameter, its value and what was expected.
template <typename... Parts>
void require(bool condition, const Parts&... parts)
{
    if (!condition)
        throw std::invalid_argument(sentence(parts...));
}

} // namespace sar
} // namespace gr
