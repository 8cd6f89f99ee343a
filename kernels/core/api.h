// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Symbols of the kernel library that programs and the Python bindings may use.
#if defined(__GNUC__)
#define SAR_KERNEL_API __attribute__((visibility("default")))
#else
#define SAR_KERNEL_API
#endif
