// SPDX-License-Identifier: GPL-3.0-or-later
//
// The reference function of the Stolt mapping on a GPU, as bench_phase has it on the CPU:
// each way is checked against long double first, then timed beside the same kernel
// without a factor, which only moves the memory.
//
//   bench_phase_cuda

#include "bench_tools.cuh"
#include "phase_ways.h"

using namespace gr::sar;
using namespace gr::sar::bench;
using gr::sar::cuda::device_buffer;

namespace {

constexpr int block_threads = 256;
constexpr size_t bins_in_all = 1 << 24; // 134 MB, more than the cache holds

template <typename T>
device_buffer<T> on_device(const std::vector<T>& values)
{
    device_buffer<T> d(values.size());
    SAR_CUDA(cudaMemcpy(
        d.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

//! As apply_reference of stolt_cuda.cu.
template <way how>
__global__ void __launch_bounds__(block_threads) multiply(stolt_map::shape s,
                                                          const stolt_map::row* rows,
                                                          const cf32* phasors,
                                                          const double* phases,
                                                          cf32* lines)
{
    cf32* bins = lines + static_cast<size_t>(blockIdx.y) * s.padded;
    const stolt_map::row row = rows[blockIdx.y];
    const double* of_row = phases + static_cast<size_t>(blockIdx.y) * (table_entries + 1);
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < s.padded;
         j += gridDim.x * block_threads)
        bins[j] = factor_of<how>(s, row, phasors, of_row, j - s.length) * bins[j];
}

__global__ void __launch_bounds__(block_threads) move_only(int padded, cf32* lines)
{
    cf32* bins = lines + static_cast<size_t>(blockIdx.y) * padded;
    for (int j = blockIdx.x * block_threads + threadIdx.x; j < padded;
         j += gridDim.x * block_threads)
        bins[j] = conj(bins[j]);
}

__global__ void __launch_bounds__(block_threads)
    fill_tables(stolt_map::shape s, const stolt_map::row* rows, double* phases)
{
    double* t = phases + static_cast<size_t>(blockIdx.y) * (table_entries + 1);
    const stolt_map::row r = rows[blockIdx.y];
    const double step = static_cast<double>(s.padded) / table_entries;
    for (int n = blockIdx.x * block_threads + threadIdx.x; n <= table_entries;
         n += gridDim.x * block_threads) {
        const double ft = (n * step - s.length) * s.bin_hz;
        t[n] = s.reference_s * stolt_map::k_of(s, r, ft) - s.delay_s * ft;
    }
}

__global__ void set_ones(cf32* p, size_t n)
{
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        p[i] = { 1, 0 };
}

struct frame {
    stolt_map::shape shape;
    std::vector<stolt_map::row> rows;
    dim3 grid;
    device_buffer<stolt_map::row> device_rows;
    device_buffer<cf32> phasors;
    device_buffer<double> phases;
    device_buffer<cf32> lines;
};

template <way how>
void launch(frame& f)
{
    multiply<how><<<f.grid, block_threads>>>(
        f.shape, f.device_rows.data(), f.phasors.data(), f.phases.data(), f.lines.data());
}

void launch(frame& f, way w)
{
    switch (w) {
    case way::direct:
        return launch<way::direct>(f);
    case way::phasor_table:
        return launch<way::phasor_table>(f);
    case way::phase_table:
        return launch<way::phase_table>(f);
    default:
        return launch<way::single>(f);
    }
}

void fill(frame& f)
{
    const dim3 grid(table_entries / block_threads + 1, f.grid.y);
    fill_tables<<<grid, block_threads>>>(f.shape, f.device_rows.data(), f.phases.data());
}

//! Against long double, some of the rows.
factor_error error_of(frame& f, way w)
{
    set_ones<<<1024, block_threads>>>(f.lines.data(), f.rows.size() * f.shape.padded);
    launch(f, w);
    SAR_CUDA_LAUNCH("multiply");
    factor_error error;
    std::vector<cf32> row(f.shape.padded);
    for (size_t k = 0; k < f.rows.size(); k += 15 + f.rows.size() / 64) {
        SAR_CUDA(cudaMemcpy(row.data(),
                            f.lines.data() + k * f.shape.padded,
                            row.size() * sizeof(cf32),
                            cudaMemcpyDeviceToHost));
        for (int j = 0; j < f.shape.padded; ++j)
            error.add(row[j], true_cycles(f.shape, f.rows[k], j - f.shape.length));
    }
    return error;
}

timing time_to(const std::function<void()>& run)
{
    const timing t = time_of([&](int) { run(); }, nullptr, 8, 60);
    SAR_CUDA_LAUNCH("what was timed");
    return t;
}

void measure(const scene& c)
{
    const stolt_map::shape s = shape_of(c);
    const int rows = static_cast<int>(bins_in_all / s.padded);
    const std::vector<stolt_map::row> all = rows_of(c, rows);
    const dim3 grid((s.padded + 4 * block_threads - 1) / (4 * block_threads), rows);
    frame f{ s,
             all,
             grid,
             on_device(all),
             on_device(phasor_table()),
             device_buffer<double>(static_cast<size_t>(rows) * (table_entries + 1)),
             device_buffer<cf32>(static_cast<size_t>(rows) * s.padded) };
    fill(f);
    SAR_CUDA_LAUNCH("fill_tables");
    std::printf("\n%s: %d rows of %d bins\n", c.name.c_str(), rows, s.padded);
    const double bins = static_cast<double>(rows) * s.padded;
    const auto print = [&](const char* what, const timing& t) {
        std::printf(
            "  %-22s %7.1f us (%.1f to %.1f)", what, t.median_us, t.low_us, t.high_us);
    };
    const timing moved =
        time_to([&] { move_only<<<f.grid, block_threads>>>(s.padded, f.lines.data()); });
    print("memory alone", moved);
    std::printf(", %.2f TB/s\n", bins * 16 / moved.median_us * 1e-6);
    for (const way w : all_ways) {
        const factor_error e = error_of(f, w);
        print(name_of(w), time_to([&] { launch(f, w); }));
        std::printf(", error %7.1f dB, largest %.2g\n", e.rms_db(), e.largest());
    }
    print("filling of the tables", time_to([&] { fill(f); }));
    std::printf("\n");
}

} // namespace

int main()
{
    try {
        print_machine();
        for (const scene& c : scenes())
            measure(c);
        std::printf("\n%s\n", nvml().state().c_str());
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_phase_cuda: %s\n", e.what());
        return 1;
    }
    return 0;
}
