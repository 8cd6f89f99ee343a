// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The owners of device resources. Destructors ignore errors (at exit the driver may be
// gone); nothing else does.

#include "check.h"
#include <cstddef>
#include <type_traits>
#include <utility>

namespace gr {
namespace sar {
namespace cuda {

//! Make a device current for a scope.
class device_guard
{
public:
    explicit device_guard(int device)
    {
        SAR_CUDA(cudaGetDevice(&d_before));
        if (d_before != device)
            SAR_CUDA(cudaSetDevice(device));
        d_changed = d_before != device;
    }
    ~device_guard()
    {
        if (d_changed)
            cudaSetDevice(d_before);
    }
    device_guard(const device_guard&) = delete;
    device_guard& operator=(const device_guard&) = delete;

private:
    int d_before = 0;
    bool d_changed = false;
};

class stream
{
public:
    stream() { SAR_CUDA(cudaStreamCreateWithFlags(&d_stream, cudaStreamNonBlocking)); }
    ~stream() { cudaStreamDestroy(d_stream); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    cudaStream_t get() const { return d_stream; }

private:
    cudaStream_t d_stream = nullptr;
};

class event
{
public:
    event() { SAR_CUDA(cudaEventCreateWithFlags(&d_event, cudaEventDisableTiming)); }
    ~event() { cudaEventDestroy(d_event); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    cudaEvent_t get() const { return d_event; }

private:
    cudaEvent_t d_event = nullptr;
};

//! Uninitialised device memory for \p n values.
template <typename T>
class device_buffer
{
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain values");

public:
    device_buffer() = default;
    explicit device_buffer(std::size_t n) : d_size(n)
    {
        if (n == 0)
            return;
        const cudaError_t code =
            cudaMalloc(reinterpret_cast<void**>(&d_data), n * sizeof(T));
        if (code == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            std::size_t free_bytes = 0;
            std::size_t total_bytes = 0;
            cudaMemGetInfo(&free_bytes, &total_bytes);
            throw std::runtime_error(sentence("the GPU is out of memory: ",
                                              n * sizeof(T),
                                              " bytes needed, ",
                                              free_bytes,
                                              " of ",
                                              total_bytes,
                                              " free; use a smaller image, shorter "
                                              "lines or smaller batches"));
        }
        check(code, "cudaMalloc");
    }
    ~device_buffer()
    {
        if (d_data)
            cudaFree(d_data);
    }
    device_buffer(device_buffer&& other) noexcept { swap(other); }
    device_buffer& operator=(device_buffer&& other) noexcept
    {
        swap(other);
        return *this;
    }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;

    T* data() const { return d_data; }
    std::size_t size() const { return d_size; }

private:
    void swap(device_buffer& other) noexcept
    {
        std::swap(d_data, other.d_data);
        std::swap(d_size, other.d_size);
    }
    T* d_data = nullptr;
    std::size_t d_size = 0;
};

//! Where this thread records what it would enqueue; null: nowhere. cuda_space.cc.
cudaStream_t& recording_stream();

//! The stream that a stage enqueues on, but for a thread that records.
class compute_lane
{
public:
    compute_lane(cudaStream_t stream) : d_stream(stream) {}
    operator cudaStream_t() const
    {
        const cudaStream_t recording = recording_stream();
        return recording ? recording : d_stream;
    }

private:
    cudaStream_t d_stream;
};

//! A cuFFT plan on a lane.
class plan_on_lane
{
public:
    explicit plan_on_lane(compute_lane lane) : d_lane(lane)
    {
        SAR_CUDA(cufftCreate(&d_plan));
    }
    ~plan_on_lane() { cufftDestroy(d_plan); }
    plan_on_lane(const plan_on_lane&) = delete;
    plan_on_lane& operator=(const plan_on_lane&) = delete;

    cufftHandle get() const { return d_plan; }

    void execute(cufftComplex* in, cufftComplex* out, int direction) const
    {
        const cudaStream_t stream = d_lane;
        if (stream != d_stream)
            SAR_CUDA(cufftSetStream(d_plan, stream));
        d_stream = stream;
        SAR_CUDA(cufftExecC2C(d_plan, in, out, direction));
    }

private:
    const compute_lane d_lane;
    cufftHandle d_plan = 0;
    mutable cudaStream_t d_stream = nullptr; // that the plan is set to: the default one
};

//! Batched 1-D complex FFT of contiguous lines, bound to a stream. One plan belongs to
//! one stage object: it is never shared between threads or devices.
class fft_plan
{
public:
    //! \p pitch from line to line, samples; 0: the length
    fft_plan(int length, int batch, compute_lane lane, int pitch = 0)
        : d_plan(lane), d_length(length), d_batch(batch)
    {
        std::size_t workspace = 0;
        int n = length;
        int* const embedded = pitch ? &n : nullptr; // null: pitch is not looked at
        const cufftResult made = cufftMakePlanMany(d_plan.get(),
                                                   1,
                                                   &n,
                                                   embedded,
                                                   1,
                                                   pitch,
                                                   embedded,
                                                   1,
                                                   pitch,
                                                   CUFFT_C2C,
                                                   batch,
                                                   &workspace);
        if (made != CUFFT_SUCCESS) {
            std::size_t free_bytes = 0;
            std::size_t total_bytes = 0;
            cudaMemGetInfo(&free_bytes, &total_bytes);
            throw std::runtime_error(sentence("cuFFT cannot plan ",
                                              batch,
                                              " transforms of length ",
                                              length,
                                              ": code ",
                                              static_cast<int>(made),
                                              ", workspace ",
                                              workspace,
                                              " bytes, ",
                                              free_bytes,
                                              " of ",
                                              total_bytes,
                                              " free"));
        }
    }

    //! CUFFT_FORWARD: exp(-j), CUFFT_INVERSE: exp(+j), both unscaled; always the whole
    //! batch. in == out is allowed.
    template <typename Complex>
    void execute(Complex* in, Complex* out, int direction) const
    {
        static_assert(sizeof(Complex) == sizeof(cufftComplex));
        d_plan.execute(reinterpret_cast<cufftComplex*>(in),
                       reinterpret_cast<cufftComplex*>(out),
                       direction);
    }
    int length() const { return d_length; }
    int batch() const { return d_batch; }

private:
    plan_on_lane d_plan;
    int d_length;
    int d_batch;
};

//! FFT of \p batch neighbouring columns of a [rows][pitch] frame, in place.
class column_plan
{
public:
    column_plan(int rows, int pitch, int batch, compute_lane lane)
        : d_plan(lane), d_batch(batch)
    {
        long long n = rows;
        const cufftResult made = cufftMakePlanMany64(
            d_plan.get(), 1, &n, &n, pitch, 1, &n, pitch, 1, CUFFT_C2C, batch, &d_bytes);
        if (made != CUFFT_SUCCESS) {
            std::size_t free_bytes = 0;
            std::size_t total_bytes = 0;
            cudaMemGetInfo(&free_bytes, &total_bytes);
            throw std::runtime_error(sentence("cuFFT cannot plan ",
                                              batch,
                                              " columns of ",
                                              rows,
                                              " rows: code ",
                                              static_cast<int>(made),
                                              ", workspace ",
                                              d_bytes,
                                              " bytes, ",
                                              free_bytes,
                                              " of ",
                                              total_bytes,
                                              " free"));
        }
    }

    //! Bytes of workspace such a plan would take.
    static std::size_t workspace(int rows, int pitch, int batch)
    {
        cufftHandle plan = 0;
        SAR_CUDA(cufftCreate(&plan));
        long long n = rows;
        std::size_t bytes = 0;
        const cufftResult code = cufftGetSizeMany64(
            plan, 1, &n, &n, pitch, 1, &n, pitch, 1, CUFFT_C2C, batch, &bytes);
        cufftDestroy(plan);
        check(code, "cufftGetSizeMany64");
        return bytes;
    }

    template <typename Complex>
    void execute(Complex* corner, int direction) const
    {
        static_assert(sizeof(Complex) == sizeof(cufftComplex));
        cufftComplex* p = reinterpret_cast<cufftComplex*>(corner);
        d_plan.execute(p, p, direction);
    }
    int batch() const { return d_batch; }
    std::size_t bytes() const { return d_bytes; } //!< of the workspace

private:
    plan_on_lane d_plan;
    int d_batch;
    std::size_t d_bytes = 0;
};

} // namespace cuda
} // namespace sar
} // namespace gr
