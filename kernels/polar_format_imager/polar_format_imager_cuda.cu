// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../cuda/cuda_space.h"
#include "../cuda/owners.h"
#include "polar_format_imager.h"
#include <algorithm>
#include <cmath>

namespace gr {
namespace sar {
namespace kernel {

namespace {

constexpr int line_threads = 256;
// A warp, and how many of them, side by side.
constexpr int block_cols = 32;
constexpr int block_rows = 4;

//! Lines in order of direction, with zeros up to the length of the transform.
__global__ void __launch_bounds__(line_threads) load_lines(const cf32* store,
                                                           cf32* out,
                                                           const pfa::turn* turns,
                                                           int samples,
                                                           int bins)
{
    const int n = blockIdx.x;
    const cf32* from = store + static_cast<long long>(turns[n].line) * samples;
    cf32* to = out + static_cast<long long>(n) * bins;
    for (int i = threadIdx.x; i < bins; i += line_threads)
        to[i] = i < samples ? from[i] : cf32{ 0, 0 };
}

__global__ void __launch_bounds__(line_threads)
    turn_spectra(cf32* spectra, const pfa::turn* turns, pfa::scene s)
{
    const int n = blockIdx.x;
    const pfa::turn t = turns[n];
    cf32* line = spectra + static_cast<long long>(n) * s.bins;
    for (int b = threadIdx.x; b < s.bins; b += line_threads) {
        const int j = pfa::bin_of(s, b);
        line[j] = pfa::turned(t, b, line[j]);
    }
}

// Threads of a warp are neighbours along that axis of the lattice along which the rays
// run, so that they read neighbouring samples of the same rays.
__global__ void __launch_bounds__(block_rows* block_cols)
    gather_cells(cf32* lattice,
                 const pfa::ray* rays,
                 const double* slopes,
                 const cf32* spectra,
                 const __grid_constant__ pfa::scene s,
                 bool down)
{
    const int along = blockIdx.x * block_cols + threadIdx.x;
    const int across = blockIdx.y * block_rows + threadIdx.y;
    const int col = s.first_col + (down ? across : along);
    const int row = s.first_row + (down ? along : across);
    if (col < s.first_col + s.used_cols && row < s.first_row + s.used_rows)
        lattice[static_cast<long long>(row) * s.cols + col] =
            pfa::cell(s, rays, slopes, spectra, row, col);
}

__global__ void __launch_bounds__(block_rows* block_cols)
    read_pixels(cf32* out,
                const cf32* lattice,
                const __grid_constant__ pfa::scene s,
                int first_row,
                int rows)
{
    const int col = blockIdx.x * block_cols + threadIdx.x;
    // images may have more rows than a grid has blocks in y
    for (int i = blockIdx.y * block_rows + threadIdx.y; i < rows;
         i += gridDim.y * block_rows)
        if (col < s.image_cols)
            out[static_cast<long long>(i) * s.image_cols + col] =
                pfa::pixel(s, lattice, first_row + i, col);
}

dim3 blocks_for(int cols, int rows)
{
    return dim3((cols + block_cols - 1) / block_cols,
                std::min((rows + block_rows - 1) / block_rows, 65535));
}

class polar_format_imager_cuda final : public polar_format_imager
{
public:
    polar_format_imager_cuda(const polar_format_imager_params& params,
                             const compute_target& target)
        : polar_format_imager(params, target),
          d_target(target),
          d_space(cuda::space_of(target.space)),
          d_stream(d_space.compute_stream())
    {
    }

protected:
    void form() override
    {
        const cuda::device_guard device(d_space.index());
        const pfa::scene& s = d_plan.scene;
        make_room(s);
        // from pageable memory: the copies have left the host's when these calls return
        upload(d_rays, d_plan.rays);
        upload(d_turns, d_plan.turns);
        upload(d_slopes, d_plan.slopes);
        load_lines<<<s.pulses, line_threads, 0, d_stream>>>(
            d_lines.data(), d_spectra.data(), d_turns.data(), d_samples, s.bins);
        SAR_CUDA_LAUNCH("load_lines");
        d_lines_fft->execute(d_spectra.data(), d_spectra.data(), CUFFT_FORWARD);
        turn_spectra<<<s.pulses, line_threads, 0, d_stream>>>(
            d_spectra.data(), d_turns.data(), s);
        SAR_CUDA_LAUNCH("turn_spectra");
        SAR_CUDA(cudaMemsetAsync(
            d_lattice.data(), 0, d_lattice.size() * sizeof(cf32), d_stream));
        const bool down = std::abs(s.ahead_row) > std::abs(s.ahead_col);
        gather_cells<<<down ? blocks_for(s.used_rows, s.used_cols)
                            : blocks_for(s.used_cols, s.used_rows),
                       dim3(block_cols, block_rows),
                       0,
                       d_stream>>>(
            d_lattice.data(), d_rays.data(), d_slopes.data(), d_spectra.data(), s, down);
        SAR_CUDA_LAUNCH("gather_cells");
        cf32* used = d_lattice.data() + static_cast<std::size_t>(s.first_row) * s.cols;
        d_rows_fft->execute(used, used, CUFFT_INVERSE);
        d_columns->inverse(d_lattice.data());
    }

    void read(cf32* out, int first_row, int rows) override
    {
        const cuda::device_guard device(d_space.index());
        read_pixels<<<blocks_for(d_plan.scene.image_cols, rows),
                      dim3(block_cols, block_rows),
                      0,
                      d_stream>>>(out, d_lattice.data(), d_plan.scene, first_row, rows);
        SAR_CUDA_LAUNCH("read_pixels");
    }

    void clear(cf32* out, std::size_t pixels) override
    {
        const cuda::device_guard device(d_space.index());
        SAR_CUDA(cudaMemsetAsync(out, 0, pixels * sizeof(cf32), d_stream));
    }

    std::size_t held_bytes() const override
    {
        return (d_spectra.size() + d_lattice.size()) * sizeof(cf32) +
               (d_columns ? d_columns->bytes() : 0);
    }

private:
    template <typename T>
    void upload(cuda::device_buffer<T>& to, const std::vector<T>& from)
    {
        if (to.size() < from.size()) {
            SAR_CUDA(cudaStreamSynchronize(d_stream)); // the old one may be in use
            to = {};
            to = cuda::device_buffer<T>(from.size());
        }
        SAR_CUDA(cudaMemcpyAsync(to.data(),
                                 from.data(),
                                 from.size() * sizeof(T),
                                 cudaMemcpyHostToDevice,
                                 d_stream));
    }

    //! Memory and transforms for another plan, where its sizes differ from the last
    //! one's.
    void make_room(const pfa::scene& s)
    {
        const std::size_t spectra = static_cast<std::size_t>(s.pulses) * s.bins;
        const std::size_t cells = static_cast<std::size_t>(s.rows) * s.cols;
        const bool lines = !d_lines_fft || d_lines_fft->batch() != s.pulses;
        const bool lattice = !d_columns || d_made.rows != s.rows || d_made.cols != s.cols;
        const bool rows = lattice || !d_rows_fft || d_made.used_rows != s.used_rows;
        if (!lines && !lattice && !rows)
            return;
        SAR_CUDA(cudaStreamSynchronize(d_stream)); // what goes may be in use
        if (lines) {
            d_lines_fft.reset();
            if (d_spectra.size() < spectra) {
                d_spectra = {};
                d_spectra = cuda::device_buffer<cf32>(spectra);
            }
            d_lines_fft = std::make_unique<cuda::fft_plan>(s.bins, s.pulses, d_stream);
        }
        if (lattice) {
            d_columns.reset();
            if (d_lattice.size() != cells) {
                d_lattice = {};
                d_lattice = cuda::device_buffer<cf32>(cells);
            }
        }
        if (rows) {
            d_rows_fft.reset();
            d_rows_fft = std::make_unique<cuda::fft_plan>(s.cols, s.used_rows, d_stream);
        }
        if (lattice)
            d_columns = column_fft::make(s.rows, s.cols, d_target);
        d_made = s;
    }

    const compute_target d_target;
    cuda::cuda_space& d_space;
    const cuda::compute_lane d_stream;
    cuda::device_buffer<pfa::ray> d_rays;
    cuda::device_buffer<pfa::turn> d_turns;
    cuda::device_buffer<double> d_slopes;
    cuda::device_buffer<cf32> d_spectra; // [pulses][bins]
    cuda::device_buffer<cf32> d_lattice; // of K, then of the image
    std::unique_ptr<cuda::fft_plan> d_lines_fft;
    std::unique_ptr<cuda::fft_plan> d_rows_fft;
    std::unique_ptr<column_fft> d_columns;
    pfa::scene d_made = {}; // the sizes that the transforms are for
};

} // namespace

std::unique_ptr<polar_format_imager>
make_polar_format_imager_cuda(const polar_format_imager_params& params,
                              const compute_target& target)
{
    return std::make_unique<polar_format_imager_cuda>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
