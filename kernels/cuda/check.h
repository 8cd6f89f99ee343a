// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/errors.h"
#include <cuda_runtime.h>
#include <cufft.h>

namespace gr {
namespace sar {
namespace cuda {

//! Throw std::runtime_error with call and error unless the call succeeded.
inline void check(cudaError_t code, const char* call)
{
    if (code == cudaSuccess)
        return;
    cudaGetLastError(); // a sticky error stays, any other is cleared
    throw std::runtime_error(sentence("CUDA: ",
                                      call,
                                      " failed: ",
                                      cudaGetErrorString(code),
                                      " (",
                                      cudaGetErrorName(code),
                                      ")"));
}

inline void check(cufftResult code, const char* call)
{
    if (code != CUFFT_SUCCESS)
        throw std::runtime_error(
            sentence("cuFFT: ", call, " failed with code ", static_cast<int>(code)));
}

} // namespace cuda
} // namespace sar
} // namespace gr

//! Check a CUDA or cuFFT call; the text of the call is in the message.
#define SAR_CUDA(call) ::gr::sar::cuda::check((call), #call)
//! Check a kernel launch.
#define SAR_CUDA_LAUNCH(name)                                                            \
    ::gr::sar::cuda::check(cudaGetLastError(), "launch of " name)
