// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the GPU benchmarks share: clocks, times with their spread, errors against double.

#include "../core/cf32.h"
#include "../cuda/owners.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace bench {

//! Clocks and power through NVML where it can be loaded; NVML is not linked.
class nvml
{
public:
    nvml()
    {
        void* lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        if (!lib)
            return;
        const auto init = reinterpret_cast<int (*)()>(dlsym(lib, "nvmlInit_v2"));
        const auto by_id = reinterpret_cast<int (*)(const char*, void**)>(
            dlsym(lib, "nvmlDeviceGetHandleByPciBusId_v2"));
        d_clock = reinterpret_cast<int (*)(void*, int, unsigned*)>(
            dlsym(lib, "nvmlDeviceGetClockInfo"));
        d_power = reinterpret_cast<int (*)(void*, unsigned*)>(
            dlsym(lib, "nvmlDeviceGetPowerUsage"));
        d_reasons = reinterpret_cast<int (*)(void*, unsigned long long*)>(
            dlsym(lib, "nvmlDeviceGetCurrentClocksThrottleReasons"));
        int device = 0;
        char id[32];
        if (!init || !by_id || init() || cudaGetDevice(&device) ||
            cudaDeviceGetPCIBusId(id, sizeof(id), device) || by_id(id, &d_device))
            d_device = nullptr;
    }
    std::string state() const
    {
        if (!d_device)
            return "clocks not known";
        unsigned sm = 0;
        unsigned memory = 0;
        unsigned milliwatts = 0;
        unsigned long long reasons = 0;
        if (d_clock)
            d_clock(d_device, 1, &sm), d_clock(d_device, 2, &memory);
        if (d_power)
            d_power(d_device, &milliwatts);
        if (d_reasons)
            d_reasons(d_device, &reasons);
        char text[128];
        std::snprintf(text,
                      sizeof(text),
                      "SM %u MHz, memory %u MHz, %u W, limits 0x%llx",
                      sm,
                      memory,
                      milliwatts / 1000,
                      reasons);
        return text;
    }

private:
    void* d_device = nullptr;
    int (*d_clock)(void*, int, unsigned*) = nullptr;
    int (*d_power)(void*, unsigned*) = nullptr;
    int (*d_reasons)(void*, unsigned long long*) = nullptr;
};

struct timing {
    double median_us = 0;
    double low_us = 0;  //!< 5 %
    double high_us = 0; //!< 95 %
};

//! Times run(i), i = 0, 1, ..: the caller rotates buffers by i. A sample is a few
//! launches back to back between two events.
inline timing
time_of(const std::function<void(int)>& run, cudaStream_t s, int launches, int samples)
{
    cudaEvent_t begin;
    cudaEvent_t end;
    SAR_CUDA(cudaEventCreate(&begin));
    SAR_CUDA(cudaEventCreate(&end));
    int i = 0;
    for (int warm = 0; warm < 20; ++warm)
        run(i++);
    std::vector<double> us;
    for (int n = 0; n < samples; ++n) {
        SAR_CUDA(cudaEventRecord(begin, s));
        for (int l = 0; l < launches; ++l)
            run(i++);
        SAR_CUDA(cudaEventRecord(end, s));
        SAR_CUDA(cudaEventSynchronize(end));
        float ms = 0;
        SAR_CUDA(cudaEventElapsedTime(&ms, begin, end));
        us.push_back(1e3 * ms / launches);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::sort(us.begin(), us.end());
    return { us[samples / 2], us[samples / 20], us[samples - 1 - samples / 20] };
}

//! 16-bit noise, the same for the same seed on every machine.
__global__ void fill_noise(cf32* p, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed; // SplitMix64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        z ^= z >> 31;
        p[i] = { static_cast<int>(z & 0xffff) / 32768.0f - 1,
                 static_cast<int>(z >> 16 & 0xffff) / 32768.0f - 1 };
    }
}

__global__ void copy_kernel(const float4* a, float4* b, size_t n)
{
    const size_t first = blockIdx.x * static_cast<size_t>(blockDim.x) * 4 + threadIdx.x;
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n)
            v[k] = __ldcs(a + first + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n)
            __stcs(b + first + k * blockDim.x, v[k]);
}

//! Sums of |a - b|^2 and |b|^2.
__global__ void add_error(const cf32* a, const double2* b, size_t n, double* sums)
{
    double e = 0;
    double s = 0;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        const double re = a[i].re - b[i].x;
        const double im = a[i].im - b[i].y;
        e += re * re + im * im;
        s += b[i].x * b[i].x + b[i].y * b[i].y;
    }
    atomicAdd(sums, e);
    atomicAdd(sums + 1, s);
}

inline void print_machine()
{
    int device = 0;
    SAR_CUDA(cudaGetDevice(&device));
    cudaDeviceProp p;
    SAR_CUDA(cudaGetDeviceProperties(&p, device));
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::printf(
        "%s, compute %d.%d, %d SM, L2 %d MB, shared memory a block %zu KB, driver "
        "%d, runtime %d\n",
        p.name,
        p.major,
        p.minor,
        p.multiProcessorCount,
        p.l2CacheSize >> 20,
        p.sharedMemPerBlockOptin >> 10,
        driver,
        runtime);
}

} // namespace bench
} // namespace sar
} // namespace gr
