// SPDX-License-Identifier: GPL-3.0-or-later
#include "cuda_space.h"
#include "../core/host_ring.h"
#include <cuda.h> // types and flags only: functions are fetched from the driver at run time
#include <map>
#include <mutex>
#include <unistd.h>

namespace gr {
namespace sar {
namespace cuda {

namespace {

//! The driver's virtual memory functions, fetched at run time so that the library loads
//! on machines without a driver.
struct driver {
    template <typename F>
    static F function(const char* name, unsigned version)
    {
        void* p = nullptr;
        cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
        SAR_CUDA(cudaGetDriverEntryPointByVersion(
            name, &p, version, cudaEnableDefault, &found));
#else
        static_cast<void>(version);
        SAR_CUDA(cudaGetDriverEntryPoint(name, &p, cudaEnableDefault, &found));
#endif
        if (found != cudaDriverEntryPointSuccess || !p)
            throw std::runtime_error(sentence("the CUDA driver lacks ", name));
        return reinterpret_cast<F>(p);
    }

    decltype(&cuDeviceGet) device_get =
        function<decltype(&cuDeviceGet)>("cuDeviceGet", 2000);
    decltype(&cuDeviceGetAttribute) attribute =
        function<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute", 2000);
    decltype(&cuMemGetAllocationGranularity) granularity =
        function<decltype(&cuMemGetAllocationGranularity)>(
            "cuMemGetAllocationGranularity",
            10020);
    decltype(&cuMemCreate) create =
        function<decltype(&cuMemCreate)>("cuMemCreate", 10020);
    decltype(&cuMemRelease) release =
        function<decltype(&cuMemRelease)>("cuMemRelease", 10020);
    decltype(&cuMemAddressReserve) reserve =
        function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve", 10020);
    decltype(&cuMemAddressFree) free_address =
        function<decltype(&cuMemAddressFree)>("cuMemAddressFree", 10020);
    decltype(&cuMemMap) map = function<decltype(&cuMemMap)>("cuMemMap", 10020);
    decltype(&cuMemUnmap) unmap = function<decltype(&cuMemUnmap)>("cuMemUnmap", 10020);
    decltype(&cuMemSetAccess) set_access =
        function<decltype(&cuMemSetAccess)>("cuMemSetAccess", 10020);

    static const driver& get()
    {
        static const auto* d = new driver;
        return *d;
    }
    static void check(CUresult code, const char* call, std::size_t bytes)
    {
        if (code != CUDA_SUCCESS)
            throw std::runtime_error(sentence(
                "CUDA driver: ",
                call,
                " of ",
                bytes,
                " bytes failed with code ",
                static_cast<int>(code),
                code == CUDA_ERROR_OUT_OF_MEMORY ? " (the GPU is out of memory)" : ""));
    }
};

CUmemAllocationProp allocation_on(int device)
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    return p;
}

//! Size that memory mapped twice must be a multiple of; 0 when the device or the driver
//! cannot do that, and rings are plain ones.
std::size_t mapping_granularity(int index)
{
    try {
        const driver& d = driver::get();
        CUdevice device;
        driver::check(d.device_get(&device, index), "cuDeviceGet", 0);
        int supported = 0;
        driver::check(d.attribute(&supported,
                                  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                  device),
                      "cuDeviceGetAttribute",
                      0);
        if (!supported)
            return 0;
        const CUmemAllocationProp prop = allocation_on(index);
        std::size_t g = 0;
        driver::check(d.granularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                      "cuMemGetAllocationGranularity",
                      0);
        return g;
    } catch (const std::exception&) {
        return 0;
    }
}

struct ring_counter {
    ring_counter(device_space::counters& c, std::size_t n) : d_counters(c), d_bytes(n)
    {
        ++d_counters.rings;
        d_counters.ring_bytes += n;
    }
    ~ring_counter()
    {
        --d_counters.rings;
        d_counters.ring_bytes -= d_bytes;
    }
    device_space::counters& d_counters;
    std::size_t d_bytes;
};

//! One physical allocation, mapped twice back to back.
struct aliased_device_ring final : ring_memory {
    aliased_device_ring(int device, std::size_t n, device_space::counters& c)
        : d_count(c, n)
    {
        const driver& d = driver::get();
        const CUmemAllocationProp p = allocation_on(device);
        bytes = n;
        aliased = true;
        try {
            driver::check(d.create(&d_memory, n, &p, 0), "cuMemCreate", n);
            d_created = true;
            driver::check(
                d.reserve(&d_address, 2 * n, 0, 0, 0), "cuMemAddressReserve", 2 * n);
            for (int half = 0; half < 2; ++half, ++d_mapped)
                driver::check(
                    d.map(d_address + half * n, n, 0, d_memory, 0), "cuMemMap", n);
            CUmemAccessDesc access = {};
            access.location = p.location;
            access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            driver::check(
                d.set_access(d_address, 2 * n, &access, 1), "cuMemSetAccess", 2 * n);
            base = reinterpret_cast<std::byte*>(d_address);
            SAR_CUDA(cudaMemset(base, 0, n));
            SAR_CUDA(cudaDeviceSynchronize());
        } catch (...) {
            release();
            throw;
        }
    }
    ~aliased_device_ring() override { release(); }

    void release() noexcept
    {
        const driver& d = driver::get();
        for (int half = 0; half < d_mapped; ++half)
            d.unmap(d_address + half * bytes, bytes);
        if (d_address)
            d.free_address(d_address, 2 * bytes);
        if (d_created)
            d.release(d_memory);
        d_mapped = 0;
        d_address = 0;
        d_created = false;
    }

    ring_counter d_count;
    CUmemGenericAllocationHandle d_memory = 0;
    CUdeviceptr d_address = 0;
    bool d_created = false;
    int d_mapped = 0;
};

struct plain_device_ring final : ring_memory {
    plain_device_ring(std::size_t n, device_space::counters& c)
        : d_count(c, n), d_memory(2 * n)
    {
        bytes = n;
        base = d_memory.data();
        SAR_CUDA(cudaMemset(base, 0, 2 * n));
        SAR_CUDA(cudaDeviceSynchronize());
    }
    ring_counter d_count;
    device_buffer<std::byte> d_memory;
};

//! Host memory, page locked. Of an aliased ring only the first mapping is registered:
//! copies use the addresses of the first half.
struct pinned_ring final : ring_memory {
    pinned_ring(std::size_t n, bool alias, device_space::counters& c)
        : d_count(c, n), d_ring(make_plain_host_ring(n, alias))
    {
        base = d_ring->base;
        bytes = n;
        aliased = alias;
        const std::size_t registered = alias ? n : 2 * n;
        const cudaError_t code =
            cudaHostRegister(base, registered, cudaHostRegisterPortable);
        if (code != cudaSuccess) {
            cudaGetLastError();
            throw std::runtime_error(sentence("page-locking ",
                                              registered,
                                              " bytes of host memory failed: ",
                                              cudaGetErrorString(code),
                                              "; raise the limit (ulimit -l) or use "
                                              "smaller batches"));
        }
    }
    ~pinned_ring() override { cudaHostUnregister(base); }
    ring_counter d_count;
    std::unique_ptr<ring_memory> d_ring;
};

struct cuda_event final : device_event {
    event e;
};

//! A graph that can be launched.
class cuda_graph final : public recorded_work
{
public:
    cuda_graph(int device, cudaStream_t lane, const std::function<void()>& enqueue)
        : d_device(device), d_lane(lane)
    {
        const device_guard guard(device);
        const stream apart; // other threads go on with the lane
        cudaGraph_t graph = nullptr;
        SAR_CUDA(cudaStreamBeginCapture(apart.get(), cudaStreamCaptureModeThreadLocal));
        recording_stream() = apart.get();
        try {
            enqueue();
        } catch (...) {
            recording_stream() = nullptr;
            cudaStreamEndCapture(apart.get(), &graph);
            cudaGraphDestroy(graph);
            cudaGetLastError();
            throw;
        }
        recording_stream() = nullptr;
        SAR_CUDA(cudaStreamEndCapture(apart.get(), &graph));
        const cudaError_t made = cudaGraphInstantiate(&d_graph, graph, 0);
        cudaGraphDestroy(graph);
        check(made, "cudaGraphInstantiate");
    }
    ~cuda_graph() override { cudaGraphExecDestroy(d_graph); }
    cuda_graph(const cuda_graph&) = delete;
    cuda_graph& operator=(const cuda_graph&) = delete;

    void enqueue() override
    {
        const device_guard guard(d_device);
        SAR_CUDA(cudaGraphLaunch(d_graph, d_lane));
    }

private:
    const int d_device;
    const cudaStream_t d_lane;
    cudaGraphExec_t d_graph = nullptr;
};

} // namespace

cudaStream_t& recording_stream()
{
    thread_local cudaStream_t stream = nullptr;
    return stream;
}

cuda_space::cuda_space(int index) : d_index(index)
{
    // the streams were made on the device that cuda_device() bound before
    cudaDeviceProp p;
    SAR_CUDA(cudaGetDeviceProperties(&p, index));
    d_name = sentence("cuda:", index, " (", p.name, ")");
    d_granularity = mapping_granularity(index);
}

void cuda_space::bind_to_this_thread() { SAR_CUDA(cudaSetDevice(d_index)); }

std::size_t cuda_space::host_granularity() const { return sysconf(_SC_PAGESIZE); }

std::unique_ptr<ring_memory> cuda_space::make_device_ring(std::size_t bytes, bool aliased)
{
    const device_guard guard(d_index);
    if (aliased)
        return std::make_unique<aliased_device_ring>(d_index, bytes, stats());
    return std::make_unique<plain_device_ring>(bytes, stats());
}

std::unique_ptr<ring_memory> cuda_space::make_host_ring(std::size_t bytes, bool aliased)
{
    const device_guard guard(d_index);
    return std::make_unique<pinned_ring>(bytes, aliased, stats());
}

void cuda_space::copy(void* to, const void* from, std::size_t bytes, lane l)
{
    const device_guard guard(d_index);
    // the direction follows from the addresses: a lane also copies within the device
    SAR_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(l)));
    ++(l == lane::upload     ? stats().uploads
       : l == lane::download ? stats().downloads
                             : stats().device_copies);
}

std::unique_ptr<recorded_work>
cuda_space::record_work(const std::function<void()>& enqueue)
{
    return std::make_unique<cuda_graph>(d_index, stream_of(lane::compute), enqueue);
}

std::unique_ptr<device_event> cuda_space::make_event()
{
    const device_guard guard(d_index);
    return std::make_unique<cuda_event>();
}

void cuda_space::record(device_event& e, lane l)
{
    const device_guard guard(d_index);
    SAR_CUDA(cudaEventRecord(static_cast<cuda_event&>(e).e.get(), stream_of(l)));
}

void cuda_space::wait(lane l, device_event& e)
{
    const device_guard guard(d_index);
    SAR_CUDA(cudaStreamWaitEvent(stream_of(l), static_cast<cuda_event&>(e).e.get(), 0));
}

void cuda_space::host_wait(device_event& e)
{
    ++stats().host_waits;
    SAR_CUDA(cudaEventSynchronize(static_cast<cuda_event&>(e).e.get()));
}

void cuda_space::synchronize()
{
    const device_guard guard(d_index);
    for (const stream& s : d_lanes)
        SAR_CUDA(cudaStreamSynchronize(s.get()));
}

void cuda_space::memory(std::size_t& free_bytes, std::size_t& total_bytes)
{
    const device_guard guard(d_index);
    SAR_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
}

} // namespace cuda

namespace {

// Empty when device `index` can run this build's kernels.
std::string why_not(int index)
{
    // a kernel of this library must have code for the device: asked without a launch
    cudaFuncAttributes attributes;
    const cuda::device_guard guard(index);
    const cudaError_t code = cudaFuncGetAttributes(&attributes, cuda::probe_kernel());
    if (code == cudaSuccess)
        return "";
    cudaGetLastError();
    cudaDeviceProp p;
    SAR_CUDA(cudaGetDeviceProperties(&p, index));
    return sentence("CUDA device ",
                    index,
                    " (",
                    p.name,
                    ", compute capability ",
                    p.major,
                    ".",
                    p.minor,
                    ") cannot run this build: ",
                    cudaGetErrorString(code),
                    "; configure with -DCMAKE_CUDA_ARCHITECTURES=",
                    p.major,
                    p.minor);
}

} // namespace

int cuda_device_count(std::string& reason)
{
    int n = 0;
    const cudaError_t code = cudaGetDeviceCount(&n);
    if (code != cudaSuccess || n == 0) {
        cudaGetLastError();
        reason = code == cudaSuccess || code == cudaErrorNoDevice
                     ? std::string("no CUDA device is visible")
                     : sentence("CUDA cannot start: ", cudaGetErrorString(code));
        return 0;
    }
    for (int i = 0; i < n; ++i) {
        try {
            reason = why_not(i);
        } catch (const std::exception& e) {
            reason = e.what();
        }
        if (!reason.empty())
            return i;
    }
    return n;
}

device_space& cuda_device(int index)
{
    static std::mutex lock;
    static auto* spaces = new std::map<int, cuda::cuda_space*>; // never destroyed
    const std::lock_guard<std::mutex> guard(lock);
    auto& space = (*spaces)[index];
    if (!space) {
        std::string reason;
        const int n = cuda_device_count(reason);
        if (index >= n) {
            spaces->erase(index);
            throw std::runtime_error(
                sentence("backend 'cuda' cannot be used: ",
                         reason.empty() ? sentence("device is ",
                                                   index,
                                                   ", but there are only ",
                                                   n,
                                                   " CUDA devices (counted from 0)")
                                        : reason));
        }
        try {
            const cuda::device_guard device(index);
            space = new cuda::cuda_space(index);
        } catch (...) {
            spaces->erase(index);
            throw;
        }
    }
    return *space;
}

} // namespace sar
} // namespace gr
