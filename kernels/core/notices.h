// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "errors.h"
#include <cstddef>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! Sentences for whoever asks; someone who does not ask does not fill the memory.
class notices
{
public:
    template <typename... Parts>
    void add(const Parts&... parts)
    {
        if (d_sentences.size() < most)
            d_sentences.push_back(sentence(parts...));
    }

    //! Those since the last call.
    std::vector<std::string> take()
    {
        std::vector<std::string> out;
        out.swap(d_sentences);
        return out;
    }

private:
    static constexpr std::size_t most = 20;

    std::vector<std::string> d_sentences;
};

} // namespace sar
} // namespace gr
