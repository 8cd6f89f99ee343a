// SPDX-License-Identifier: GPL-3.0-or-later
//
// Chirp-Z transforms: checked against the sum in double, then timed beside cuFFT at the
// same length (which does primes by chirps of its own) and a plain copy in the same run.
// And columns of prime length: what chirps around column transforms of a good length
// could gain there at most. A row whose error is too large prints no time.
//
//     bench_chirp_z [TEXT]     only titles that contain TEXT
#include "../chirp_z/chirp_z.h"
#include "../core/errors.h"
#include "../core/range_doppler.h"
#include "../cuda/cuda_space.h"
#include "bench_tools.cuh"
#include <cstring>
#include <memory>

using namespace gr::sar;
using namespace gr::sar::cuda;
using namespace gr::sar::kernel;
using namespace gr::sar::bench;

namespace {

constexpr int pairs = 3; // buffer pairs in rotation
constexpr double allowed_error = 6e-7;

//! The sum itself for \p lines lines, one output a thread.
__global__ void direct_sum(const cf32* in,
                           double2* out,
                           int samples_in,
                           int samples_out,
                           double first,
                           double step)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= samples_out)
        return;
    const cf32* x = in + static_cast<size_t>(blockIdx.y) * samples_in;
    double2 sum = make_double2(0, 0);
    for (int n = 0; n < samples_in; ++n) {
        const double cycles =
            product_cycles(n, first) + product_cycles(static_cast<double>(n) * k, step);
        double s;
        double c;
        sincospi(-2 * cycles, &s, &c);
        sum.x += x[n].re * c - x[n].im * s;
        sum.y += x[n].re * s + x[n].im * c;
    }
    out[static_cast<size_t>(blockIdx.y) * samples_out + k] = sum;
}

void print_row(const char* name,
               const timing& t,
               double bytes,
               double copy_us,
               double error)
{
    std::printf("  %-26s %9.2f us [%9.2f %9.2f]  %6.0f GB/s  %5.1f %% of copy",
                name,
                t.median_us,
                t.low_us,
                t.high_us,
                1e-3 * bytes / t.median_us,
                100 * copy_us / t.median_us);
    if (error > 0)
        std::printf("  err %.2e (%.1f dB)", error, 20 * std::log10(error));
    std::printf("\n");
    std::fflush(stdout);
}

struct lines_of {
    int samples_in;
    int samples_out;
    double first;
    double step;
};

void run_lines(const lines_of& c, const char* only, const compute_target& target)
{
    const int lines = (1 << 24) / std::max(c.samples_in, c.samples_out) / 8 * 8;
    const std::string title = std::to_string(lines) + " lines of " +
                              std::to_string(c.samples_in) + " to " +
                              std::to_string(c.samples_out);
    if (only && !std::strstr(title.c_str(), only))
        return;
    const cudaStream_t stream = space_of(target.space).compute_stream();
    device_buffer<cf32> in[pairs];
    device_buffer<cf32> out[pairs];
    const size_t n_in = static_cast<size_t>(lines) * c.samples_in;
    const size_t n_out = static_cast<size_t>(lines) * c.samples_out;
    for (int i = 0; i < pairs; ++i) {
        in[i] = device_buffer<cf32>(n_in);
        out[i] = device_buffer<cf32>(n_out);
        fill_noise<<<2048, 256>>>(in[i].data(), n_in, i * 77 + 1);
    }
    SAR_CUDA(cudaDeviceSynchronize());
    const double bytes = sizeof(cf32) * static_cast<double>(n_in + n_out);
    const int launches = std::max(1, static_cast<int>(1.6e9 / bytes));
    std::printf("---- %s\n", title.c_str());
    // a copy that moves as many bytes
    const size_t moved = (n_in + n_out) / 2;
    device_buffer<cf32> from(moved);
    device_buffer<cf32> to(moved);
    const timing copy = time_of(
        [&](int) {
            copy_kernel<<<static_cast<unsigned>((moved / 2 + 1023) / 1024),
                          256,
                          0,
                          stream>>>(reinterpret_cast<const float4*>(from.data()),
                                    reinterpret_cast<float4*>(to.data()),
                                    moved / 2);
        },
        stream,
        launches,
        30);
    const double copy_us = copy.median_us;
    print_row("copy kernel", copy, bytes, copy_us, 0);

    const int checked = std::min(lines, 3);
    device_buffer<double2> truth(static_cast<size_t>(checked) * c.samples_out);
    direct_sum<<<dim3((c.samples_out + 255) / 256, checked), 256>>>(
        in[0].data(), truth.data(), c.samples_in, c.samples_out, c.first, c.step);
    SAR_CUDA_LAUNCH("direct_sum");
    const auto error_of = [&] {
        device_buffer<double> sums(2);
        SAR_CUDA(cudaMemset(sums.data(), 0, 2 * sizeof(double)));
        add_error<<<256, 256>>>(out[0].data(), truth.data(), truth.size(), sums.data());
        double s[2];
        SAR_CUDA(cudaMemcpy(s, sums.data(), sizeof(s), cudaMemcpyDeviceToHost));
        return std::sqrt(s[0] / s[1]);
    };
    const auto time = [&](const std::string& name, const std::function<void(int)>& run) {
        SAR_CUDA(cudaMemset(out[0].data(), 0xff, n_out * sizeof(cf32)));
        SAR_CUDA(cudaDeviceSynchronize());
        run(0);
        SAR_CUDA(cudaDeviceSynchronize());
        const double error = error_of();
        if (error < allowed_error)
            print_row(name.c_str(),
                      time_of(run, stream, std::max(1, launches / 2), 30),
                      bytes,
                      copy_us,
                      error);
        else
            std::printf("  %-26s WRONG: error %.2e; no time\n", name.c_str(), error);
    };
    // the product, and the ways it could have taken
    const chirp_z_params product;
    for (const auto [max_parts, max_batch] :
         { std::pair(product.max_parts, product.max_batch),
           std::pair(64, product.max_batch),
           std::pair(0, 32),
           std::pair(0, 128),
           std::pair(0, 512) }) {
        chirp_z_params p;
        p.samples_in = c.samples_in;
        p.samples_out = c.samples_out;
        p.first = c.first;
        p.step = c.step;
        p.max_parts = max_parts;
        p.max_batch = max_batch;
        const auto z = chirp_z::make(p, target);
        time((max_parts == 64  ? "chirp_z in any parts"
              : max_parts == 0 ? "by cuFFT, lines " + std::to_string(max_batch)
                               : "chirp_z") +
                 ", " + std::to_string(z->fft_length()),
             [&](int i) {
                 z->process(in[i % pairs].data(), out[i % pairs].data(), lines);
             });
    }
    if (c.samples_in == c.samples_out && c.first == 0) {
        const fft_plan plan(c.samples_in, lines, stream);
        time("cuFFT", [&](int i) {
            plan.execute(in[i % pairs].data(), out[i % pairs].data(), CUFFT_FORWARD);
        });
    }
}

//! Columns: a prime length by cuFFT against what chirps would need at least, two
//! transforms of a good length that is twice as long.
void run_columns(int rows, int cols, const char* only, const compute_target& target)
{
    const int length = line_fft_length(2 * rows - 1);
    const std::string title = "columns of " + std::to_string(rows) + " rows, " +
                              std::to_string(cols) + " of them";
    if (only && !std::strstr(title.c_str(), only))
        return;
    const cudaStream_t stream = space_of(target.space).compute_stream();
    device_buffer<cf32> frame(static_cast<size_t>(length) * cols);
    SAR_CUDA(cudaMemset(frame.data(), 0, frame.size() * sizeof(cf32)));
    SAR_CUDA(cudaDeviceSynchronize());
    std::printf("---- %s\n", title.c_str());
    const double bytes = 2.0 * sizeof(cf32) * rows * cols;
    double first_us = 0;
    for (const int n : { rows, length }) {
        const column_plan plan(n, cols, cols, stream);
        const timing t = time_of(
            [&](int) { plan.execute(frame.data(), CUFFT_FORWARD); }, stream, 2, 20);
        if (first_us == 0)
            first_us = t.median_us;
        std::printf(
            "  cuFFT, one transform of %5d  %9.2f us [%9.2f %9.2f]  %6.0f GB/s of "
            "the frame\n",
            n,
            t.median_us,
            t.low_us,
            t.high_us,
            1e-3 * bytes / t.median_us);
        if (n == length)
            std::printf(
                "  chirps around two of these: %.2f times cuFFT's own, at least\n",
                2 * t.median_us / first_us);
    }
}

} // namespace

int main(int argc, char** argv)
{
    try {
        print_machine();
        const nvml clocks;
        std::printf("%s\n", clocks.state().c_str());
        const char* only = argc > 1 ? argv[1] : nullptr;
        const compute_target target = choose_target(backend::cuda);
        for (const int n :
             { 800, 1200, 1201, 2311, 4096, 4099, 5999, 7919, 8192, 10007, 12007, 16001 })
            run_lines({ n, n, 0, 1.0 / n }, only, target);
        run_lines({ 4096, 512, 0.1, 1e-5 }, only, target);        // zoom
        run_lines({ 512, 4096, -0.5, 1.0 / 4096 }, only, target); // finer
        run_lines({ 1001, 8000, -0.5, 1.1e-4 }, only, target);
        // 4, 6 and 9 parts
        for (const int n : { 13000, 14000, 14600 })
            run_lines({ n, n, 0, 1.0 / n }, only, target);
        for (const int rows : { 1201, 4099, 5999 })
            run_columns(rows, 4096, only, target);
        std::printf("%s\n", clocks.state().c_str());
        return 0;
    } catch (const std::exception& e) {
        std::printf("stopped: %s\n", e.what());
        return 1;
    }
}
