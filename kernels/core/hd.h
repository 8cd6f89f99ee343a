// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// SAR_HD: the function has one body, compiled for the host and, by nvcc, for the device.
// This is the only place that looks at __CUDACC__.
#ifdef __CUDACC__
#define SAR_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
// always: GCC does not inline an ordinary function into a target clone of another one
#define SAR_HD inline __attribute__((always_inline))
#else
#define SAR_HD inline
#endif
