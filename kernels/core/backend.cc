// SPDX-License-Identifier: GPL-3.0-or-later
#include "backend.h"
#include "names.h"

namespace gr {
namespace sar {

namespace {
const name_table<backend, 4> backends = { "backend",
                                          { { { backend::automatic, "auto" },
                                              { backend::cpu, "cpu" },
                                              { backend::cuda, "cuda" },
                                              { backend::emulated, "emulated" } } } };
}

backend backend_from_name(const std::string& name) { return backends.from_name(name); }
std::string to_string(backend b) { return backends.to_name(b); }

compute_target choose_target(backend wanted, int device)
{
    require(device >= 0, "device is ", device, "; expected a GPU index, 0 or more");
    compute_target t;
    std::string reason;
    if (wanted == backend::automatic) {
        wanted = cuda_device_count(reason) > device ? backend::cuda : backend::cpu;
        if (wanted == backend::cpu && reason.empty())
            reason = sentence("there is no CUDA device ", device);
    }
    t.kind = wanted;
    switch (wanted) {
    case backend::cuda:
        t.space = &cuda_device(device);
        t.description = t.space->name();
        break;
    case backend::emulated:
        t.space = &emulated_device(device);
        t.description = t.space->name();
        break;
    default:
        t.description = reason.empty() ? "cpu" : sentence("cpu (", reason, ")");
    }
    return t;
}

} // namespace sar
} // namespace gr
