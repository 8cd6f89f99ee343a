// SPDX-License-Identifier: GPL-3.0-or-later
//
// A trace of what a flowgraph asks of CUDA, block by block: GNU Radio names each thread
// after its block, so API calls counted per thread are calls per block.
//
//   g++ -shared -fPIC -I$CUDA/include cuda_trace.cc -o libcuda_trace.so -lcupti
//   CUDA_INJECTION64_PATH=./libcuda_trace.so SAR_TRACE=trace.txt python3 flowgraph.py
//
// Prints, per thread: kernel launches, asynchronous copies by direction, calls that make
// the host wait, synchronous copies, allocations. Bytes and device time of copies by
// direction come from CUPTI's activity records. At the end, over all threads, what must
// not happen in steady state: allocations, and queries of the device.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>

namespace {

std::mutex lock;
std::map<std::string, std::map<std::string, long>> calls; // thread -> API -> count
struct copies {
    long count = 0;
    unsigned long long bytes = 0;
    unsigned long long ns = 0;
};
std::map<int, copies> by_kind;
long kernels = 0;
unsigned long long kernel_ns = 0;

std::map<std::string, long> slow; // API -> count

bool is_slow(const char* n)
{
    for (const char* part : { "Malloc",
                              "Free",
                              "HostAlloc",
                              "HostRegister",
                              "MemGetInfo",
                              "DeviceProperties",
                              "GetAttribute",
                              "FuncSet",
                              "Occupancy",
                              "StreamCreate",
                              "EventCreate",
                              "GraphInstantiate",
                              "ModuleLoad" })
        if (strstr(n, part))
            return true;
    return false;
}

void CUPTIAPI on_call(void*,
                      CUpti_CallbackDomain domain,
                      CUpti_CallbackId,
                      const void* data)
{
    const auto* info = static_cast<const CUpti_CallbackData*>(data);
    if (info->callbackSite != CUPTI_API_ENTER || domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    const char* n = info->functionName;
    if (is_slow(n)) {
        const std::lock_guard<std::mutex> guard(lock);
        ++slow[n];
    }
    if (!strstr(n, "Synchronize") && !strstr(n, "Memcpy") && !strstr(n, "Launch") &&
        !strstr(n, "Malloc") && !strstr(n, "MemGetInfo") && !strstr(n, "Memset"))
        return;
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::lock_guard<std::mutex> guard(lock);
    ++calls[name][n];
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records)
{
    *size = 1 << 20;
    *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
    *records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid)
{
    CUpti_Activity* r = nullptr;
    const std::lock_guard<std::mutex> guard(lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
        if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
            const auto* m = reinterpret_cast<const CUpti_ActivityMemcpy6*>(r);
            copies& c = by_kind[m->copyKind];
            ++c.count;
            c.bytes += m->bytes;
            c.ns += m->end - m->start;
        } else if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            const auto* k = reinterpret_cast<const CUpti_ActivityKernel9*>(r);
            ++kernels;
            kernel_ns += k->end - k->start;
        }
    }
    free(buffer);
}

void print()
{
    cuptiActivityFlushAll(1);
    const char* path = getenv("SAR_TRACE");
    FILE* out = path ? fopen(path, "w") : stderr;
    if (!out)
        out = stderr;
    const std::lock_guard<std::mutex> guard(lock);
    fprintf(out, "CUDA calls by thread (GNU Radio names threads after blocks):\n");
    for (const auto& [thread, list] : calls) {
        fprintf(out, "  %s\n", thread.c_str());
        for (const auto& [api, n] : list)
            fprintf(out, "    %8ld %s\n", n, api.c_str());
    }
    const char* kinds[] = { "?",
                            "host to device",
                            "device to host",
                            "host to array",
                            "array to host",
                            "array to array",
                            "array to device",
                            "device to array",
                            "device to device",
                            "host to host",
                            "peer" };
    fprintf(out, "copies on the device's timeline:\n");
    for (const auto& [kind, c] : by_kind)
        fprintf(out,
                "    %8ld %s, %.1f MB, %.3f ms\n",
                c.count,
                kind >= 0 && kind < 11 ? kinds[kind] : "?",
                c.bytes * 1e-6,
                c.ns * 1e-6);
    fprintf(out, "kernels: %ld, %.3f ms\n", kernels, kernel_ns * 1e-6);
    fprintf(out, "allocations and queries:\n");
    for (const auto& [api, n] : slow)
        fprintf(out, "    %8ld %s\n", n, api.c_str());
    if (out != stderr)
        fclose(out);
}

} // namespace

extern "C" int InitializeInjection()
{
    static CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, on_call, nullptr) != CUPTI_SUCCESS)
        return 0;
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    atexit(print);
    return 1;
}
