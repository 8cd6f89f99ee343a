// SPDX-License-Identifier: GPL-3.0-or-later
//
// Transforms of columns: checked against cuFFT in double, then timed beside cuFFT's
// strided plan and a plain copy in the same run. A row whose error is too large prints no
// time.
//
//     bench_column_fft [TEXT]     only rows whose size or name contains TEXT
#include "../core/errors.h"
#include "../cuda/column_fft.cuh"
#include "../cuda/column_kernel.h"
#include "bench_rows.h"
#include "bench_tools.cuh"
#include <cstring>
#include <memory>

using namespace gr::sar;
using namespace gr::sar::cuda;
using namespace gr::sar::bench;

namespace {

constexpr int pairs = 3; // buffer pairs in rotation
constexpr double allowed_error = 4e-7;

//! in, out, columns, values from row to row, rows that are not zero
using transform = std::function<
    void(const cf32* in, cf32* out, int cols, int pitch, int filled, bool inverse)>;

//! One way to transform columns of \p rows rows.
struct contender {
    std::string name;
    int rows;
    std::function<transform(std::string& how)> make;
};

std::vector<contender>& contenders()
{
    static std::vector<contender> all;
    return all;
}

template <typename Kernel>
std::string describe(Kernel kernel, int threads, int shared_bytes)
{
    SAR_CUDA(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    cudaFuncAttributes f;
    SAR_CUDA(cudaFuncGetAttributes(&f, kernel));
    int blocks = 0;
    SAR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, threads, shared_bytes));
    return sentence(threads,
                    " thr ",
                    f.numRegs,
                    " reg ",
                    f.localSizeBytes,
                    " B local ",
                    shared_bytes >> 10,
                    " KB ",
                    blocks,
                    " blk");
}

//! What column_fft uses.
contender product(int rows)
{
    return { "product", rows, [=](std::string& how) {
                constexpr int most_columns = 1 << 20;
                const std::shared_ptr<column_kernel> kernel =
                    column_kernel::make(rows, most_columns);
                require(kernel != nullptr, "no kernel for ", rows, "; expected one");
                how = sentence("holds ", kernel->bytes() >> 10, " KB");
                return [=](const cf32* in,
                           cf32* out,
                           int cols,
                           int pitch,
                           int filled,
                           bool inverse) {
                    kernel->run(in, out, cols, pitch, filled, inverse, nullptr);
                };
            } };
}

template <int Blocks, int MinBlocks, int Lanes, int Width, int... R>
void add_tile(const char* name)
{
    using shape = column_shape<Lanes, Width, R...>;
    contenders().push_back(
        { name, shape::size, [](std::string& how) {
             constexpr auto kernel = column_tile_kernel<shape, Blocks, MinBlocks>;
             using cluster = device_cluster<shape, Blocks>;
             constexpr int bytes = cluster::shared_bytes;
             how = describe(kernel, cluster::block_threads, bytes);
             if (Blocks > 8)
                 SAR_CUDA(cudaFuncSetAttribute(
                     kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
             const auto config = [](int cols, cudaLaunchAttribute& a) {
                 cudaLaunchConfig_t c = {};
                 c.gridDim = (cols + Width - 1) / Width * Blocks;
                 c.blockDim = cluster::block_threads;
                 c.dynamicSmemBytes = bytes;
                 a.id = cudaLaunchAttributeClusterDimension;
                 a.val.clusterDim.x = Blocks;
                 a.val.clusterDim.y = a.val.clusterDim.z = 1;
                 c.attrs = &a;
                 c.numAttrs = 1;
                 return c;
             };
             cudaLaunchAttribute a;
             cudaLaunchConfig_t c = config(4096, a);
             int clusters = 0;
             SAR_CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel, &c));
             how += sentence(" ", clusters, " clusters of ", Blocks);
             auto table = std::make_shared<device_buffer<cf32_pair>>(
                 upload(make_power_table<shape>()));
             return [=](const cf32* in,
                        cf32* out,
                        int cols,
                        int pitch,
                        int filled,
                        bool inverse) {
                 cudaLaunchAttribute at;
                 cudaLaunchConfig_t now = config(cols, at);
                 const column_frame f{
                     in,   out,    table->data(), static_cast<unsigned>(pitch),
                     cols, filled, inverse
                 };
                 SAR_CUDA(cudaLaunchKernelEx(&now, kernel, f));
             };
         } });
}

template <int MinBlocks, int Lag, int Lanes, int Width, int Rows, int... R>
void add_relay(const char* name)
{
    using shape = relay_shape<Lanes, Width, Rows, R...>;
    contenders().push_back(
        { name, shape::size, [](std::string& how) {
             constexpr auto kernel = column_relay_kernel<shape, MinBlocks>;
             constexpr int bytes = Rows * Width * sizeof(cf32);
             how = describe(kernel, shape::block_threads, bytes);
             int processors = 0;
             int blocks = 0;
             SAR_CUDA(
                 cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
             SAR_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &blocks, kernel, shape::block_threads, bytes));
             blocks = std::min(blocks, MinBlocks) * processors;
             // a lag of Lag halves of the items in flight
             const int lag =
                 std::max(1, (blocks * Lag / 2 + shape::items - 1) / shape::items);
             const int slots = 2 * lag + 1;
             auto scratch = std::make_shared<device_buffer<cf32>>(
                 static_cast<size_t>(slots) * shape::size * Width);
             how += sentence(" ",
                             blocks,
                             " blocks, lag ",
                             lag,
                             ", scratch ",
                             scratch->size() * sizeof(cf32) >> 20,
                             " MB");
             auto counters = std::make_shared<device_buffer<unsigned>>(1 << 16);
             SAR_CUDA(
                 cudaMemset(counters->data(), 0, counters->size() * sizeof(unsigned)));
             auto table = std::make_shared<device_buffer<cf32_pair>>(
                 upload(make_power_table<shape>()));
             return [=](const cf32* in,
                        cf32* out,
                        int cols,
                        int pitch,
                        int filled,
                        bool inverse) {
                 const int tiles = (cols + Width - 1) / Width;
                 const column_frame f{
                     in,   out,    table->data(), static_cast<unsigned>(pitch),
                     cols, filled, inverse
                 };
                 kernel<<<std::min(blocks, 2 * tiles * shape::items),
                          shape::block_threads,
                          bytes>>>(
                     f,
                     scratch->data(),
                     relay_order{ tiles, std::min(lag, tiles), slots, counters->data() });
                 SAR_CUDA_LAUNCH("column_relay_kernel");
             };
         } });
}

//! A copy that touches memory in the order of a column transform of tiles of \p Width.
template <int Width>
__global__ void __launch_bounds__(512, 2)
    copy_tiles(const cf32* in, cf32* out, int rows, int cols)
{
    constexpr int lanes = 512 / Width;
    const int parts = rows / 16 / lanes;
    const int column = blockIdx.x / parts * Width + threadIdx.x % Width;
    const int row = blockIdx.x % parts * lanes + threadIdx.x / Width;
    cf32 v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k)
        v[k] = load_once(in + row_offset(row + k * (rows / 16), cols) + column);
#pragma unroll
    for (int k = 0; k < 16; ++k)
        out[row_offset(row + k * (rows / 16), cols) + column] = v[k];
}

__global__ void
widen(const cf32* in, double2* out, size_t n, int cols, int pitch, int filled)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    const size_t row = i / cols;
    const cf32 v =
        row < static_cast<size_t>(filled) ? in[row * pitch + i % cols] : cf32{ 0, 0 };
    out[i] = make_double2(v.re, v.im);
}
__global__ void gather(const cf32* in, cf32* out, size_t n, int cols, int pitch)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n)
        out[i] = in[i / cols * pitch + i % cols];
}
//! Values beside the columns that are no longer what memset wrote.
__global__ void
count_touched(const cf32* p, int rows, int cols, int pitch, unsigned long long* touched)
{
    const int beside = pitch - cols;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
         i < static_cast<size_t>(rows) * beside;
         i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        const cf32 v = p[i / beside * pitch + cols + i % beside];
        if (__float_as_uint(v.re) != 0xffffffffu || __float_as_uint(v.im) != 0xffffffffu)
            atomicAdd(touched, 1ull);
    }
}

unsigned grid(size_t n) { return static_cast<unsigned>((n + 255) / 256); }

double error_of(const cf32* in,
                const cf32* out,
                int rows,
                int cols,
                int pitch,
                int filled,
                bool inverse)
{
    const int step = std::min(cols, std::max(1, (1 << 26) / rows));
    const size_t n = static_cast<size_t>(step) * rows;
    static device_buffer<double2> ref;
    static device_buffer<cf32> got;
    if (ref.size() < n) {
        ref = device_buffer<double2>(n);
        got = device_buffer<cf32>(n);
    }
    device_buffer<double> sums(2);
    SAR_CUDA(cudaMemset(sums.data(), 0, 2 * sizeof(double)));
    for (int col = 0; col < cols; col += step) {
        const int some = std::min(step, cols - col);
        const size_t m = static_cast<size_t>(some) * rows;
        cufftHandle plan;
        int length = rows;
        SAR_CUDA(cufftPlanMany(
            &plan, 1, &length, &length, some, 1, &length, some, 1, CUFFT_Z2Z, some));
        widen<<<grid(m), 256>>>(in + col, ref.data(), m, some, pitch, filled);
        gather<<<grid(m), 256>>>(out + col, got.data(), m, some, pitch);
        SAR_CUDA(cufftExecZ2Z(
            plan, ref.data(), ref.data(), inverse ? CUFFT_INVERSE : CUFFT_FORWARD));
        add_error<<<1024, 256>>>(got.data(), ref.data(), m, sums.data());
        SAR_CUDA(cudaDeviceSynchronize());
        cufftDestroy(plan);
    }
    double s[2];
    SAR_CUDA(cudaMemcpy(s, sums.data(), sizeof(s), cudaMemcpyDeviceToHost));
    return std::sqrt(s[0] / s[1]);
}

void print_row(const char* name,
               const std::string& how,
               const timing& t,
               double bytes,
               double copy_us,
               double error)
{
    std::printf(
        "  %-26s %9.2f us [%9.2f %9.2f]  %6.0f GB/s  %5.1f %% of copy  err %.2e  %s\n",
        name,
        t.median_us,
        t.low_us,
        t.high_us,
        1e-3 * bytes / t.median_us,
        100 * copy_us / t.median_us,
        error,
        how.c_str());
    std::fflush(stdout);
}

void run_size(int rows, int cols, const char* only, const nvml& clocks)
{
    std::vector<contender> ours;
    const std::string title = std::to_string(rows) + " x " + std::to_string(cols);
    for (const contender& c : contenders())
        if (c.rows == rows &&
            (!only || std::strstr((title + " " + c.name).c_str(), only)))
            ours.push_back(c);
    if (ours.empty())
        return;
    const size_t n = static_cast<size_t>(rows) * cols;
    device_buffer<cf32> in[pairs];
    device_buffer<cf32> out[pairs];
    for (int i = 0; i < pairs; ++i) {
        in[i] = device_buffer<cf32>(n);
        out[i] = device_buffer<cf32>(n);
        fill_noise<<<2048, 256>>>(in[i].data(), n, i * 77 + 1);
    }
    SAR_CUDA(cudaDeviceSynchronize());
    const double bytes = 2.0 * n * sizeof(cf32);
    const int launches = std::max(1, static_cast<int>(1.6e9 / bytes));
    const int samples = n > (1 << 27) ? 20 : 40;
    std::printf("---- %s; %s\n", title.c_str(), clocks.state().c_str());
    const timing copy_time = time_of(
        [&](int i) {
            copy_kernel<<<static_cast<unsigned>((n / 2 + 1023) / 1024), 256>>>(
                reinterpret_cast<const float4*>(in[i % pairs].data()),
                reinterpret_cast<float4*>(out[i % pairs].data()),
                n / 2);
        },
        nullptr,
        launches,
        samples);
    const double copy_us = copy_time.median_us;
    print_row("copy kernel", "", copy_time, bytes, copy_us, 0);
    const auto put =
        [&](const char* what, const char* who, const timing& t, double error) {
            put_row({ what,
                      title,
                      who,
                      "cuda",
                      1e-3 * t.median_us,
                      error > 0 ? 20 * std::log10(error) : NAN });
        };
    put("copy", "copy kernel", copy_time, 0);
    const auto copy = [&](auto width) {
        print_row(("copy, tiles of " + std::to_string(width())).c_str(),
                  "",
                  time_of(
                      [&](int i) {
                          copy_tiles<width()><<<n / 8192, 512>>>(
                              in[i % pairs].data(), out[i % pairs].data(), rows, cols);
                      },
                      nullptr,
                      launches,
                      samples),
                  bytes,
                  copy_us,
                  0);
    };
    if (rows >= 2048) {
        copy(int_constant<16>{});
        copy(int_constant<32>{});
    }
    {
        cufftHandle plan;
        int length = rows;
        SAR_CUDA(cufftPlanMany(
            &plan, 1, &length, &length, cols, 1, &length, cols, 1, CUFFT_C2C, cols));
        const auto strided = [&](int i) {
            cufftExecC2C(plan,
                         reinterpret_cast<cufftComplex*>(in[i % pairs].data()),
                         reinterpret_cast<cufftComplex*>(out[i % pairs].data()),
                         CUFFT_FORWARD);
        };
        strided(0);
        const double error =
            error_of(in[0].data(), out[0].data(), rows, cols, cols, rows, false);
        const timing t = time_of(strided, nullptr, launches, samples);
        print_row("cuFFT strided", "", t, bytes, copy_us, error);
        put("column transform", "cuFFT strided", t, error);
        cufftDestroy(plan);
    }
    for (const contender& c : ours) {
        transform run;
        std::string how;
        try {
            run = c.make(how);
        } catch (const std::exception& e) {
            std::printf(
                "  %-26s cannot run: %s %s\n", c.name.c_str(), how.c_str(), e.what());
            continue;
        }
        double worst = 0;
        bool failed = false;
        // whole; partly filled and narrower than no multiple of a tile, in a wider frame
        for (const bool whole : { true, false }) {
            const int some = whole ? cols : std::min(cols - 7, 1201);
            const int filled = whole ? rows : rows - rows / 3 - 1;
            SAR_CUDA(cudaMemset(out[0].data(), 0xff, n * sizeof(cf32)));
            run(in[0].data(), out[0].data(), some, cols, filled, !whole);
            const cudaError_t code = cudaDeviceSynchronize();
            if (code != cudaSuccess) {
                std::printf("  %-26s %s\n", c.name.c_str(), cudaGetErrorString(code));
                std::exit(1);
            }
            const double error =
                error_of(in[0].data(), out[0].data(), rows, some, cols, filled, !whole);
            device_buffer<unsigned long long> touched(1);
            SAR_CUDA(cudaMemset(touched.data(), 0, sizeof(unsigned long long)));
            count_touched<<<1024, 256>>>(out[0].data(), rows, some, cols, touched.data());
            unsigned long long beside = 0;
            SAR_CUDA(cudaMemcpy(
                &beside, touched.data(), sizeof(beside), cudaMemcpyDeviceToHost));
            if (!(error < allowed_error) || beside) {
                std::printf("  %-26s WRONG: error %.2e with %d of %d rows, %d columns, "
                            "%llu values beside; no time  %s\n",
                            c.name.c_str(),
                            error,
                            filled,
                            rows,
                            some,
                            beside,
                            how.c_str());
                failed = true;
            }
            worst = std::max(worst, error);
        }
        const bool product = c.name == "product"; // the others are trials
        if (failed) {
            if (product)
                put("column transform", "gr-sar", {}, worst);
            continue;
        }
        const timing t = time_of(
            [&](int i) {
                run(in[i % pairs].data(), out[i % pairs].data(), cols, cols, rows, false);
            },
            nullptr,
            launches,
            samples);
        print_row(c.name.c_str(), how, t, bytes, copy_us, worst);
        if (product)
            put("column transform", "gr-sar", t, worst);
    }
    std::printf("     %s\n", clocks.state().c_str());
}

} // namespace

int main(int argc, char** argv)
{
    try {
        print_machine();
        const nvml clocks;
        for (int unit = 32; unit <= 1024; unit *= 2)
            for (const int factor : { 8, 9, 10, 12 })
                contenders().push_back(product(factor * unit));
        contenders().push_back(product(16384));
        contenders().push_back(product(32768));

        const char* only = argc > 1 ? argv[1] : nullptr;
        std::vector<int> sizes;
        for (const contender& c : contenders())
            sizes.push_back(c.rows);
        std::sort(sizes.begin(), sizes.end());
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        for (const int rows : sizes)
            // frames of 2^24 values; from 4096 to 16384 rows square ones
            run_size(rows,
                     rows >= 4096 && rows <= 16384 ? rows : (1 << 24) / rows / 16 * 16,
                     only,
                     clocks);
        return 0;
    } catch (const std::exception& e) {
        std::printf("stopped: %s\n", e.what());
        return 1;
    }
}
