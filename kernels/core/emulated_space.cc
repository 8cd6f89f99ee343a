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

enum class side { host, device, unknown };

//! The rings of a device that are alive, to tell what an address belongs to.
struct ring_register {
    struct range {
        std::size_t usable; // bytes from the base that copies may use
        std::size_t mapped;
        side where;
    };

    //! Side of [p, p + bytes). \throws std::runtime_error when it leaves its ring
    side find(const void* p, std::size_t bytes)
    {
        const std::lock_guard<std::mutex> guard(lock);
        const auto* b = static_cast<const std::byte*>(p);
        auto after = ranges.upper_bound(b);
        if (after == ranges.begin())
            return side::unknown;
        const auto& [base, r] = *--after;
        const std::size_t offset = b - base;
        if (offset >= r.mapped)
            return side::unknown; // memory of a stage, or of a test
        if (offset + bytes > r.usable)
            throw std::runtime_error(sentence("emulated device: a copy of ",
                                              bytes,
                                              " bytes at offset ",
                                              offset,
                                              " leaves the ",
                                              r.usable,
                                              r.where == side::host ? " page-locked" : "",
                                              " bytes of its ring"));
        return r.where;
    }

    std::mutex lock;
    std::map<const std::byte*, range> ranges;
};

//! A ring that counts and registers itself, so that tests see leaks and mix-ups.
struct counted_ring final : ring_memory {
    counted_ring(device_space::counters& c,
                 ring_register& reg,
                 side where,
                 std::unique_ptr<ring_memory> r)
        : d_counters(c), d_register(reg), d_ring(std::move(r))
    {
        base = d_ring->base;
        bytes = d_ring->bytes;
        aliased = d_ring->aliased;
        const std::size_t usable = where == side::host && aliased ? bytes : 2 * bytes;
        {
            const std::lock_guard<std::mutex> guard(d_register.lock);
            d_register.ranges[base] = { usable, 2 * bytes, where };
        }
        ++d_counters.rings;
        d_counters.ring_bytes += bytes;
    }
    ~counted_ring() override
    {
        const std::lock_guard<std::mutex> guard(d_register.lock);
        d_register.ranges.erase(base);
        --d_counters.rings;
        d_counters.ring_bytes -= bytes;
    }
    device_space::counters& d_counters;
    ring_register& d_register;
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
        return make_ring(bytes, aliased, side::device);
    }
    std::unique_ptr<ring_memory> make_host_ring(std::size_t bytes, bool aliased) override
    {
        return make_ring(bytes, aliased, side::host);
    }

    void copy(void* to, const void* from, std::size_t bytes, lane l) override
    {
        const side target = d_rings.find(to, bytes);
        const side source = d_rings.find(from, bytes);
        if (target == (l == lane::download ? side::device : side::host) ||
            (l == lane::compute && source == side::host) ||
            (l == lane::download && source == side::host))
            throw std::runtime_error(
                sentence("emulated device: a copy mixes up host and device memory (lane ",
                         static_cast<int>(l),
                         ")"));
        std::memcpy(to, from, bytes);
        if ((source == side::host && target == side::device) ||
            (source == side::device && target == side::host))
            std::memset(const_cast<void*>(from), spoiled, bytes);
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
        total_bytes =
            static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
        free_bytes =
            static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    }

private:
    static constexpr int spoiled = 0xa5;

    std::unique_ptr<ring_memory> make_ring(std::size_t bytes, bool aliased, side where)
    {
        return std::make_unique<counted_ring>(
            stats(), d_rings, where, make_plain_host_ring(bytes, aliased));
    }

    const int d_index;
    ring_register d_rings;
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
