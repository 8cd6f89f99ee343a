// SPDX-License-Identifier: GPL-3.0-or-later
//
// Stands in for cuda_space.cc in a build without CUDA.
#include "../core/device_space.h"
#include <stdexcept>

namespace gr {
namespace sar {

static const char* const reason_text =
    "this build has no CUDA: configure with -DENABLE_CUDA=ON and nvcc on the PATH";

int cuda_device_count(std::string& reason)
{
    reason = reason_text;
    return 0;
}

device_space& cuda_device(int)
{
    throw std::runtime_error(std::string("backend 'cuda' cannot be used: ") +
                             reason_text);
}

} // namespace sar
} // namespace gr
