// SPDX-License-Identifier: GPL-3.0-or-later
//
// Fused filtering of lines: checked against cuFFT in double, then timed beside the cuFFT
// chain and a plain copy in the same run. A row whose error is too large prints no time.
//
//     bench_fft [TEXT]     only rows whose length, samples or name contain TEXT
#include "../core/errors.h"
#include "../core/range_doppler.h"
#include "../cuda/line_filter.cuh"
#include "../cuda/line_filter.h"
#include "bench_rows.h"
#include "bench_tools.cuh"
#include <cstring>
#include <map>
#include <memory>

using namespace gr::sar;
using namespace gr::sar::cuda;
using namespace gr::sar::bench;

namespace {

constexpr int pairs = 3; // buffer pairs in rotation
constexpr double allowed_error = 6e-7;

struct buffers {
    int size;
    int lines;
    device_buffer<cf32> in[pairs];
    device_buffer<cf32> out[pairs];
};

struct outcome {
    std::string how;
    std::shared_ptr<device_buffer<unsigned long long>> bad_lines;
    std::function<void(const cf32*, cf32*, int, int, int)>
        run; // in, out, n in, n out, lines
};

//! One way to filter lines of a size.
struct contender {
    std::string name;
    int size;
    std::function<outcome(const std::vector<cf32>& filter)> make;
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
    char text[96];
    std::snprintf(text,
                  sizeof(text),
                  "%4d thr %3d reg %3zu B local %3d KB %2d blk",
                  threads,
                  f.numRegs,
                  f.localSizeBytes,
                  shared_bytes >> 10,
                  blocks);
    return text;
}

//! What pulse_compression uses.
contender product(int size)
{
    return { "product", size, [=](const std::vector<cf32>& filter) {
                auto made =
                    std::make_shared<std::map<int, std::unique_ptr<line_filter>>>();
                outcome o;
                o.bad_lines = std::make_shared<device_buffer<unsigned long long>>(1);
                o.run = [=, bad = o.bad_lines](
                            const cf32* in, cf32* out, int n_in, int n_out, int lines) {
                    auto& one = (*made)[n_in];
                    if (!one)
                        one = line_filter::make(filter.data(), size, n_in, n_out);
                    require(one != nullptr, "no kernel for ", size, "; expected one");
                    one->run(in, out, lines, bad->data(), nullptr);
                };
                return o;
            } };
}

//! Another shape.
template <typename Shape, bool InTurn, int Lines, int MinBlocks>
void add(const char* name)
{
    contenders().push_back(
        { name, Shape::size, [=](const std::vector<cf32>& filter) {
             constexpr auto kernel =
                 line_filter_kernel<Shape, InTurn, Lines, MinBlocks, false>;
             const int threads = Shape::threads * Lines;
             const int bytes =
                 Shape::shared_size * Lines * (InTurn ? sizeof(float) : sizeof(cf32));
             outcome o;
             o.how = describe(kernel, threads, bytes);
             auto table = std::make_shared<device_buffer<cf32_pair>>(
                 upload(make_power_table<Shape>()));
             auto h = std::make_shared<device_buffer<cf32_pair>>(
                 upload(in_block_order<Shape>(filter.data())));
             auto bad = std::make_shared<device_buffer<unsigned long long>>(1);
             o.bad_lines = bad;
             o.run = [=](const cf32* in, cf32* out, int n_in, int n_out, int lines) {
                 kernel<<<(lines + Lines - 1) / Lines, threads, bytes>>>(
                     line_filter_arguments{ in,
                                            out,
                                            table->data(),
                                            h->data(),
                                            n_in,
                                            n_out,
                                            lines,
                                            bad->data(),
                                            0 });
             };
             return o;
         } });
}

__global__ void multiply(float4* a, const float4* h, size_t n, int half)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    const float4 v = a[i];
    const float4 g = h[i % half];
    a[i] = make_float4(v.x * g.x - v.y * g.y,
                       v.x * g.y + v.y * g.x,
                       v.z * g.z - v.w * g.w,
                       v.z * g.w + v.w * g.z);
}
__global__ void multiply_double(double2* a, const cf32* h, size_t n, int size)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    const double2 v = a[i];
    const cf32 g = h[i % size];
    a[i] = make_double2(v.x * g.re - v.y * g.im, v.x * g.im + v.y * g.re);
}
__global__ void widen(const cf32* in, double2* out, size_t n, int size, int samples)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    const size_t line = i / size;
    const int at = static_cast<int>(i % size);
    const cf32 v = at < samples ? in[line * samples + at] : cf32{ 0, 0 };
    out[i] = make_double2(v.re, v.im);
}
__global__ void cut(const double2* in, double2* out, size_t n, int size, int samples)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n)
        out[i] = in[i / samples * size + i % samples];
}

unsigned grid(size_t n) { return static_cast<unsigned>((n + 255) / 256); }

std::vector<cf32> make_filter(int n)
{
    std::vector<cf32> h(n);
    for (int k = 0; k < n; ++k) {
        const double f = (k + n / 2) % n - n / 2;
        const double phase = 3.14159265358979 * 0.37 * f * f / n + 0.3 * k;
        const double size = (0.75 + 0.25 * std::cos(6.283185307179586 * k / n)) / n;
        h[k] = { static_cast<float>(size * std::cos(phase)),
                 static_cast<float>(size * std::sin(phase)) };
    }
    return h;
}

double
error_of(const buffers& b, const device_buffer<cf32>& h, int samples, const cf32* out)
{
    const int step = std::min(b.lines, std::max(1, (1 << 24) / b.size));
    const size_t n = static_cast<size_t>(step) * b.size;
    static device_buffer<double2> ref;
    static device_buffer<double2> cropped;
    if (ref.size() < n) {
        ref = device_buffer<double2>(n);
        cropped = device_buffer<double2>(n);
    }
    device_buffer<double> sums(2);
    SAR_CUDA(cudaMemset(sums.data(), 0, 2 * sizeof(double)));
    cufftHandle plan;
    SAR_CUDA(cufftPlan1d(&plan, b.size, CUFFT_Z2Z, step));
    for (int line = 0; line + step <= b.lines; line += step) {
        widen<<<grid(n), 256>>>(b.in[0].data() + static_cast<size_t>(line) * samples,
                                ref.data(),
                                n,
                                b.size,
                                samples);
        SAR_CUDA(cufftExecZ2Z(plan, ref.data(), ref.data(), CUFFT_FORWARD));
        multiply_double<<<grid(n), 256>>>(ref.data(), h.data(), n, b.size);
        SAR_CUDA(cufftExecZ2Z(plan, ref.data(), ref.data(), CUFFT_INVERSE));
        const size_t m = static_cast<size_t>(step) * samples;
        cut<<<grid(m), 256>>>(ref.data(), cropped.data(), m, b.size, samples);
        add_error<<<1024, 256>>>(
            out + static_cast<size_t>(line) * samples, cropped.data(), m, sums.data());
    }
    double s[2];
    SAR_CUDA(cudaMemcpy(s, sums.data(), sizeof(s), cudaMemcpyDeviceToHost));
    cufftDestroy(plan);
    return std::sqrt(s[0] / s[1]);
}

//! Lines with a NaN or an infinity become zeros and are counted, huge ones do not, the
//! others stay as they were, and nothing is written beyond the last. Empty: all well.
std::string check_bad_lines(const buffers& b, const outcome& o)
{
    const int size = b.size;
    const int lines = std::min(b.lines, 16 * 7 - 3); // no multiple of lines in a block
    const auto row = [&](const cf32* p, int line) {
        std::vector<cf32> v(size);
        SAR_CUDA(cudaMemcpy(v.data(),
                            p + static_cast<size_t>(line) * size,
                            size * sizeof(cf32),
                            cudaMemcpyDeviceToHost));
        return v;
    };
    const auto same = [](const std::vector<cf32>& u, const std::vector<cf32>& v) {
        return std::memcmp(u.data(), v.data(), u.size() * sizeof(cf32)) == 0;
    };
    const auto zero = [](const std::vector<cf32>& u) {
        return std::all_of(
            u.begin(), u.end(), [](cf32 v) { return v.re == 0 && v.im == 0; });
    };
    cf32* out = b.out[1].data();
    cf32* in = b.in[1].data();
    const size_t bytes = static_cast<size_t>(lines) * size * sizeof(cf32);
    const auto run = [&] {
        SAR_CUDA(cudaMemset(out, 0xff, bytes + size * sizeof(cf32)));
        o.run(in, out, size, size, lines);
        SAR_CUDA(cudaDeviceSynchronize());
    };
    run();
    const std::vector<int> watched = { 0, 1, 2, 3, 17, lines - 2, lines - 1 };
    std::vector<std::vector<cf32>> clean;
    for (const int line : watched)
        clean.push_back(row(out, line));
    const auto untouched = row(out, lines);
    device_buffer<cf32> kept(static_cast<size_t>(lines) * size);
    SAR_CUDA(cudaMemcpy(kept.data(), in, bytes, cudaMemcpyDeviceToDevice));
    const auto put = [&](int line, int at, float v) {
        SAR_CUDA(cudaMemcpy(&in[static_cast<size_t>(line) * size + at].im,
                            &v,
                            4,
                            cudaMemcpyHostToDevice));
    };
    put(1, size - 1, NAN);
    put(17, size / 3, INFINITY);
    put(lines - 1, 0, -INFINITY);
    put(2, 7, 3e38f);
    put(2, 7 + size / 2, 3e38f); // sums overflow, values do not
    SAR_CUDA(cudaMemset(o.bad_lines->data(), 0, sizeof(unsigned long long)));
    run();
    unsigned long long bad = 0;
    SAR_CUDA(cudaMemcpy(&bad, o.bad_lines->data(), sizeof(bad), cudaMemcpyDeviceToHost));
    SAR_CUDA(cudaMemcpy(in, kept.data(), bytes, cudaMemcpyDeviceToDevice));
    if (bad != 3)
        return "bad lines counted: " + std::to_string(bad) + " of 3";
    for (std::size_t i = 0; i < watched.size(); ++i) {
        const int line = watched[i];
        if (line == 2)
            continue;
        const bool should_be_zero = line == 1 || line == 17 || line == lines - 1;
        const auto now = row(out, line);
        if (should_be_zero ? !zero(now) : !same(now, clean[i]))
            return "line " + std::to_string(line) + " wrong beside bad lines";
    }
    return same(untouched, row(out, lines)) ? "" : "written beyond the last line";
}

void print_row(const char* name,
               const std::string& how,
               const timing& t,
               double bytes,
               double copy_us,
               double error)
{
    std::printf(
        "  %-30s %9.2f us [%9.2f %9.2f]  %6.0f GB/s  %5.1f %% of copy  err %.2e  %s\n",
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

//! Lines of \p samples, continued with zeros to \p size.
void run_size(int size, int samples, int lines, const char* only, const nvml& clocks)
{
    std::vector<contender> ours;
    const std::string title = std::to_string(lines) + " lines of " +
                              std::to_string(samples) + " in transforms of " +
                              std::to_string(size);
    for (const contender& c : contenders())
        if (c.size == size &&
            (!only || std::strstr((title + " " + c.name).c_str(), only)))
            ours.push_back(c);
    if (ours.empty())
        return;
    buffers b{ size, lines, {}, {} };
    const size_t n = static_cast<size_t>(size) * lines;
    for (int i = 0; i < pairs; ++i) {
        b.in[i] = device_buffer<cf32>(n);
        b.out[i] = device_buffer<cf32>(n);
        fill_noise<<<2048, 256>>>(b.in[i].data(), n, i * 77 + 1);
        SAR_CUDA(cudaMemset(b.out[i].data(), 0xff, n * sizeof(cf32)));
    }
    SAR_CUDA(cudaDeviceSynchronize());
    const size_t moved = static_cast<size_t>(samples) * lines;
    const double bytes = 2.0 * moved * sizeof(cf32);
    const int launches = std::max(1, static_cast<int>(1.6e9 / bytes));
    std::printf("---- %s; %s\n", title.c_str(), clocks.state().c_str());
    const timing memcpy_time = time_of(
        [&](int i) {
            cudaMemcpyAsync(b.out[i % pairs].data(),
                            b.in[i % pairs].data(),
                            moved * sizeof(cf32),
                            cudaMemcpyDeviceToDevice);
        },
        nullptr,
        launches,
        50);
    const timing copy_time = time_of(
        [&](int i) {
            copy_kernel<<<static_cast<unsigned>((moved / 2 + 1023) / 1024), 256>>>(
                reinterpret_cast<const float4*>(b.in[i % pairs].data()),
                reinterpret_cast<float4*>(b.out[i % pairs].data()),
                moved / 2);
        },
        nullptr,
        launches,
        50);
    const double copy_us = copy_time.median_us;
    const std::string frame = std::to_string(lines) + " x " + std::to_string(samples);
    const auto put =
        [&](const char* what, const char* who, const timing& t, double error) {
            put_row({ what,
                      frame,
                      who,
                      "cuda",
                      1e-3 * t.median_us,
                      error > 0 ? 20 * std::log10(error) : NAN });
        };
    put("copy", "copy kernel", copy_time, 0);
    print_row("cudaMemcpyAsync", "", memcpy_time, bytes, copy_us, 0);
    print_row("copy kernel", "", copy_time, bytes, copy_us, 0);

    const std::vector<cf32> filter = make_filter(size);
    const device_buffer<cf32> h = upload(filter);
    {
        cufftHandle plan;
        SAR_CUDA(cufftPlan1d(&plan, size, CUFFT_C2C, lines));
        const auto chain = [&](int i) {
            auto* in = reinterpret_cast<cufftComplex*>(b.in[i % pairs].data());
            auto* out = reinterpret_cast<cufftComplex*>(b.out[i % pairs].data());
            cufftExecC2C(plan, in, out, CUFFT_FORWARD);
            multiply<<<grid(n / 2), 256>>>(reinterpret_cast<float4*>(out),
                                           reinterpret_cast<const float4*>(h.data()),
                                           n / 2,
                                           size / 2);
            cufftExecC2C(plan, out, out, CUFFT_INVERSE);
        };
        if (size % 2 == 0 && samples == size) {
            chain(0);
            const double error = error_of(b, h, size, b.out[0].data());
            const timing t = time_of(chain, nullptr, std::max(1, launches / 3), 50);
            print_row("cuFFT, multiply, cuFFT", "", t, bytes, copy_us, error);
            put("pulse compression", "cuFFT chain", t, error);
        }
        cufftDestroy(plan);
    }
    for (const contender& c : ours) {
        outcome o;
        try {
            o = c.make(filter);
        } catch (const std::exception& e) {
            std::printf("  %-30s cannot run: %s\n", c.name.c_str(), e.what());
            cudaGetLastError();
            continue;
        }
        double worst = 0;
        bool failed = false;
        // also lines that are continued with zeros
        for (const int some : { samples, size - size / 7 - 3 }) {
            SAR_CUDA(cudaMemset(b.out[0].data(), 0xff, n * sizeof(cf32)));
            o.run(b.in[0].data(), b.out[0].data(), some, some, lines);
            const cudaError_t code = cudaDeviceSynchronize();
            if (code != cudaSuccess) {
                std::printf("  %-30s %s\n", c.name.c_str(), cudaGetErrorString(code));
                std::exit(1);
            }
            const double error = error_of(b, h, some, b.out[0].data());
            if (!(error < allowed_error)) {
                std::printf("  %-30s WRONG: error %.2e with %d samples; no time\n",
                            c.name.c_str(),
                            error,
                            some);
                failed = true;
                if (c.name == "product")
                    put("pulse compression", "gr-sar", {}, error);
            }
            worst = std::max(worst, error);
        }
        const std::string wrong = check_bad_lines(b, o);
        if (!wrong.empty()) {
            std::printf("  %-30s WRONG: %s; no time\n", c.name.c_str(), wrong.c_str());
            failed = true;
        }
        if (failed)
            continue;
        const timing t = time_of(
            [&](int i) {
                o.run(b.in[i % pairs].data(),
                      b.out[i % pairs].data(),
                      samples,
                      samples,
                      lines);
            },
            nullptr,
            launches,
            50);
        print_row(c.name.c_str(), o.how, t, bytes, copy_us, worst);
        if (c.name == "product") // the others are trials
            put("pulse compression", "gr-sar", t, worst);
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
        add<block_shape<96, 12, 12, 8>, false, 2, 3>("12.12.8 96");
        add<block_shape<64, 40, 8, 8>, false, 1, 6>("40.8.8");
        add<block_shape<192, 24, 24, 8>, false, 1, 3>("24.24.8");
        add<block_shape<192, 8, 24, 24>, false, 1, 3>("8.24.24");
        add<block_shape<128, 24, 16, 16>, false, 1, 3>("24.16.16 128");
        add<block_shape<256, 16, 16, 32>, false, 1, 2>("16.16.32 no fetch");
        add<block_shape<512, 32, 16, 32>, false, 1, 1>("32.16.32 no fetch");
        std::vector<int> sizes;
        for (const contender& c : contenders())
            sizes.push_back(c.size);
        std::sort(sizes.begin(), sizes.end());
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        const char* only = argc > 1 ? argv[1] : nullptr;
        for (const int size : sizes) {
            // frames of 2^24 values; 8192 and 16384 square
            const int lines =
                size == 8192 || size == 16384 ? size : (1 << 24) / size / 8 * 8;
            run_size(size, size, lines, only, clocks);
            for (const int samples : { 800, 1200, 3000, 5000 })
                if (line_fft_length(samples) == size)
                    run_size(size, samples, lines, only, clocks);
        }
        return 0;
    } catch (const std::exception& e) {
        std::printf("stopped: %s\n", e.what());
        return 1;
    }
}
