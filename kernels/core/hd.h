// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// SAR_HD: the function has one body, compiled for the host and, by nvcc, for the device.
// This is the only place that looks at __CUDACC__.
#ifdef __CUDACC__
#define SAR_HD __host__ __device__ __forceinline__
#else
#define SAR_HD inline
#endif
