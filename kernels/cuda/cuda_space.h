// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/device_space.h"
#include "owners.h"

namespace gr {
namespace sar {
namespace cuda {

//! A CUDA device: the shared compute stream of the process, and its copy streams.
class cuda_space final : public device_space
{
public:
    explicit cuda_space(int index);

    std::string name() const override { return d_name; }
    bool is_cuda() const override { return true; }
    int index() const override { return d_index; }
    void bind_to_this_thread() override;

    std::size_t device_granularity() const override { return d_granularity; }
    std::size_t host_granularity() const override;
    std::unique_ptr<ring_memory> make_device_ring(std::size_t bytes,
                                                  bool aliased) override;
    std::unique_ptr<ring_memory> make_host_ring(std::size_t bytes, bool aliased) override;

    void copy(void* to, const void* from, std::size_t bytes, lane l) override;
    std::unique_ptr<device_event> make_event() override;
    void record(device_event& e, lane l) override;
    void wait(lane l, device_event& e) override;
    void host_wait(device_event& e) override;
    void synchronize() override;
    void memory(std::size_t& free_bytes, std::size_t& total_bytes) override;

    cudaStream_t stream_of(lane l) const { return d_lanes[static_cast<int>(l)].get(); }
    std::unique_ptr<recorded_work>
    record_work(const std::function<void()>& enqueue) override;

    //! The one stream that all compute blocks of this device enqueue on.
    compute_lane compute_stream() const { return stream_of(lane::compute); }

private:
    const int d_index;
    std::string d_name;
    std::size_t d_granularity = 0; // 0: no virtual memory management
    stream d_lanes[3];
};

//! A kernel of this library, to ask whether a device can run the build.
const void* probe_kernel();

//! The space of a CUDA target, for stages.
inline cuda_space& space_of(device_space* space)
{
    return static_cast<cuda_space&>(*space);
}

} // namespace cuda
} // namespace sar
} // namespace gr
