// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Ring memory: 2 * bytes of address space that hold a ring of \p bytes.
 *
 * aliased: base[i] and base[i + bytes] are one memory (mapped twice), so a run of items
 * never wraps. Not aliased: both halves are real and whoever writes keeps them equal.
 */
struct ring_memory {
    virtual ~ring_memory() = default;
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    bool aliased = false;
};

//! Work that is enqueued again and again by one call.
struct recorded_work {
    virtual ~recorded_work() = default;
    virtual void enqueue() = 0;
};

//! A point in the order of work of a device_space, to wait for.
struct device_event {
    virtual ~device_event() = default;
};

/*!
 * \brief One device as the plumbing sees it: memory, copies, order.
 *
 * Work is ordered in three lanes (streams): compute, upload (host to device) and
 * download. There is one object per device and process and it is never destroyed, since
 * at exit a driver may be gone before static objects are. Implementations: CUDA, and an
 * emulation on the CPU whose "device" memory is separate host memory, so that a mix-up of
 * host and device shows as wrong data. All functions throw std::runtime_error with call,
 * error and numbers; none may be called from a destructor without a catch.
 */
class SAR_KERNEL_API device_space
{
public:
    enum class lane { compute = 0, upload = 1, download = 2 };

    virtual ~device_space() = default;

    virtual std::string name() const = 0; //!< for messages: "cuda:0 (NVIDIA H200)"
    virtual bool is_cuda() const = 0;
    virtual int index() const = 0;
    //! Make this device current in the calling thread (cudaSetDevice).
    virtual void bind_to_this_thread() = 0;

    //! Size that aliased rings must be a multiple of, bytes.
    virtual std::size_t device_granularity() const = 0;
    virtual std::size_t host_granularity() const = 0;
    //! Zeroed ring of \p bytes in device memory.
    virtual std::unique_ptr<ring_memory> make_device_ring(std::size_t bytes,
                                                          bool aliased) = 0;
    //! Zeroed ring of \p bytes in host memory the device copies from and to (pinned).
    virtual std::unique_ptr<ring_memory> make_host_ring(std::size_t bytes,
                                                        bool aliased) = 0;

    //! Enqueue a copy. Upload: to device memory; download: to host memory; compute:
    //! within the device. Host memory is to be that of make_host_ring(): its first half
    //! if aliased.
    virtual void copy(void* to, const void* from, std::size_t bytes, lane l) = 0;
    virtual std::unique_ptr<device_event> make_event() = 0;
    virtual void record(device_event& e, lane l) = 0;
    //! Let a lane wait for an event; the calling thread goes on at once.
    virtual void wait(lane l, device_event& e) = 0;
    //! Let the calling thread wait for an event.
    virtual void host_wait(device_event& e) = 0;
    /*!
     * \brief What \p enqueue puts on the compute lane, to be put there again by one call
     * (a CUDA graph); null where a device has no such thing.
     *
     * \p enqueue runs once, in the calling thread, and what it enqueues does not run
     * then. It must not allocate or wait; memory that it names has to stay, and values
     * that it passes to kernels stay as they are now.
     */
    virtual std::unique_ptr<recorded_work>
    record_work(const std::function<void()>& enqueue)
    {
        (void)enqueue;
        return nullptr;
    }
    //! Wait until all lanes are idle.
    virtual void synchronize() = 0;

    //! Free and total device memory, bytes. Slow on CUDA: never per pulse.
    virtual void memory(std::size_t& free_bytes, std::size_t& total_bytes) = 0;

    //! Counters for traces and tests.
    struct counters {
        std::atomic<std::uint64_t> host_waits{ 0 };
        std::atomic<std::uint64_t> uploads{ 0 };
        std::atomic<std::uint64_t> downloads{ 0 };
        std::atomic<std::uint64_t> device_copies{ 0 };
        std::atomic<std::uint64_t> rings{ 0 };      //!< alive now
        std::atomic<std::uint64_t> ring_bytes{ 0 }; //!< alive now
    };
    counters& stats() { return d_stats; }

private:
    counters d_stats;
};

/*!
 * \brief The emulated device (index is a number to tell several apart).
 *
 * It notices a mix-up of host and device memory: a copy in the wrong direction, or one
 * beyond the page-locked half of a host ring, throws; and the source of an upload or a
 * download between rings is spoiled afterwards, so that whoever reads it on the wrong
 * side gets wrong data.
 */
SAR_KERNEL_API device_space& emulated_device(int index);

//! The CUDA device. \throws std::runtime_error saying why there is none: a build without
//! CUDA names the option to set, a missing or old driver and a GPU that the build has no
//! code for are named as such.
SAR_KERNEL_API device_space& cuda_device(int index);

//! Number of CUDA devices that can be used, and if 0 the reason why.
SAR_KERNEL_API int cuda_device_count(std::string& reason);

} // namespace sar
} // namespace gr
