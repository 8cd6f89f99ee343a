// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the C++ tests share. Include after Boost.Test (or gpu_test.h, which brings it).

#include "cf32.h"
#include "qa_noise.h"
#include <cmath>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! The sentence of what `f` throws, or "no error".
inline std::string sentence_of(const std::function<void()>& f)
{
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "no error";
}

inline bool has(const std::string& text, const std::string& part)
{
    if (text.find(part) == std::string::npos)
        BOOST_TEST_MESSAGE("'" << part << "' is not in: " << text);
    return text.find(part) != std::string::npos;
}

//! Energy of a - b over that of b, dB; -300 when they are equal (also both zero).
inline double difference_db(const std::vector<cf32>& a, const std::vector<cf32>& b)
{
    BOOST_REQUIRE_EQUAL(a.size(), b.size());
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        error += norm(a[i] - b[i]);
        power += norm(b[i]);
    }
    return error == 0 ? -300 : 10 * std::log10(error / power);
}

} // namespace sar
} // namespace gr
