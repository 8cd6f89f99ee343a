// SPDX-License-Identifier: GPL-3.0-or-later
#include "device_space.h"
#include "errors.h"
#include "host_ring.h"
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

namespace gr {
namespace sar {

namespace {

struct no_event final : device_event {
};

//! A ring that counts itself, so that tests see leaks.
struct counted_ring final : ring_memory {
    counted_ring(device_space::counters& c, std::unique_ptr<ring_memory> r)
        : d_counters(c), d_ring(std::move(r))
    {
        base = d_ring->base;
        bytes = d_ring->bytes;
        aliased = d_ring->aliased;
        ++d_counters.rings;
        d_counters.ring_bytes += bytes;
    }
    ~counted_ring() override
    {
        --d_counters.rings;
        d_counters.ring_bytes -= bytes;
    }
    device_space::counters& d_counters;
    std::unique_ptr<ring_memory> d_ring;
};

//! Everything happens at once, in the calling thread; memory is separate all the same.
class emulated_space final : public device_space
{
public:
    explicit emulated_space(int index) : d_index(index) {}

    std::string name() const override
    {
        return sentence("emulated:", d_index, " (CPU kernels, separate memory)");
    }
    bool is_cuda() const override { return false; }
    int index() const override { return d_index; }
    void bind_to_this_thread() override {}

    // coarser than a page, as on real devices
    std::size_t device_granularity() const override { return 64 * 1024; }
    std::size_t host_granularity() const override { return sysconf(_SC_PAGESIZE); }
    std::unique_ptr<ring_memory> make_device_ring(std::size_t bytes,
                                                  bool aliased) override
    {
        return std::make_unique<counted_ring>(stats(),
                                              make_plain_host_ring(bytes, aliased));
    }
    std::unique_ptr<ring_memory> make_host_ring(std::size_t bytes, bool aliased) override
    {
        return make_device_ring(bytes, aliased);
    }

    void copy(void* to, const void* from, std::size_t bytes, lane l) override
    {
        std::memcpy(to, from, bytes);
        ++(l == lane::upload     ? stats().uploads
           : l == lane::download ? stats().downloads
                                 : stats().device_copies);
    }
    std::unique_ptr<device_event> make_event() override
    {
        return std::make_unique<no_event>();
    }
    void record(device_event&, lane) override {}
    void wait(lane, device_event&) override {}
    void host_wait(device_event&) override { ++stats().host_waits; }
    void synchronize() override {}
    void memory(std::size_t& free_bytes, std::size_t& total_bytes) override
    {
        total_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      sysconf(_SC_PAGESIZE);
        free_bytes = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
                     sysconf(_SC_PAGESIZE);
    }

private:
    const int d_index;
};

} // namespace

device_space& emulated_device(int index)
{
    static std::mutex lock;
    static auto* spaces = new std::map<int, emulated_space*>; // never destroyed
    const std::lock_guard<std::mutex> guard(lock);
    auto& space = (*spaces)[index];
    if (!space)
        space = new emulated_space(index);
    return *space;
}

} // namespace sar
} // namespace gr
