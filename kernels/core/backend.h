// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "device_space.h"
#include <string>

namespace gr {
namespace sar {

//! Where a stage runs. Names for users: "auto", "cpu", "cuda", "emulated".
enum class backend {
    automatic, //!< CUDA when a usable device and build are there, else the CPU
    cpu,
    cuda,
    emulated, //!< CPU kernels behind device-resident edges: tests the plumbing
};

SAR_KERNEL_API backend backend_from_name(const std::string& name);
SAR_KERNEL_API std::string to_string(backend b);

//! A decided backend. What the pointers given to a stage refer to follows from it.
struct compute_target {
    backend kind = backend::cpu;     //!< never automatic
    device_space* space = nullptr;   //!< null on the CPU
    std::string description = "cpu"; //!< for logs and reports, with the reason
    bool is_cuda() const { return kind == backend::cuda; }
};

/*!
 * \brief Decide where to run.
 * \throws std::runtime_error when CUDA is demanded and cannot be had, with the reason
 */
SAR_KERNEL_API compute_target choose_target(backend wanted, int device = 0);

} // namespace sar
} // namespace gr
