// SPDX-License-Identifier: GPL-3.0-or-later
#include "range_doppler_imager.h"
#include "../azimuth_fft/azimuth_fft.h"
#include "../azimuth_filter/azimuth_filter.h"
#include "../core/errors.h"
#include "../core/target_memory.h"
#include "../pulse_compression/pulse_compression.h"
#include "fused_rows.h"
#include <algorithm>

namespace gr {
namespace sar {
namespace kernel {

namespace {

//! What the rows of a batch may take of the last cache, of a GPU or of a CPU, between the
//! stages.
constexpr std::size_t batch_bytes_gpu = 8u << 20;
constexpr std::size_t batch_bytes_cpu = 8u << 20;

class composed_imager final : public frame_imager
{
public:
    composed_imager(const frame_imager_params& p,
                    const migration_maker& migration,
                    const compute_target& target,
                    const row_pass_maker& pass)
        : d_space(target.space),
          d_overlap(p.overlap),
          d_filter(azimuth_filter::make({ p.geometry, p.band }, target)),
          d_raw(p.geometry.acq->samples),
          d_cols(d_filter->plan().frame().cols),
          d_batch(batch_of(target)),
          d_migration(migration(d_batch)),
          d_compression(d_migration->takes_raw_rows()
                            ? nullptr
                            : pulse_compression::make({ p.geometry.acq,
                                                        p.geometry.oversampling,
                                                        p.range_window,
                                                        p.replica,
                                                        d_batch },
                                                      target)),
          d_compress_first(compresses_first(p.geometry.acq, target)),
          d_fft(azimuth_fft::make({ p.geometry.lines,
                                    d_filter->plan().frame().rows,
                                    d_compress_first ? d_cols : d_raw,
                                    false,
                                    p.overlap },
                                  target)),
          d_compressed(static_cast<std::size_t>(d_batch) * d_cols, target)
    {
        if (pass)
            d_pass = pass(*d_migration,
                          *d_filter,
                          d_compress_first ? nullptr : d_compression.get());
    }

    void set_centroid(const std::vector<double>& coefficients_hz) override
    {
        if (coefficients_hz == plan().centroid())
            return;
        d_recorded.reset();
        d_filled = -1;
        d_migration->set_centroid(coefficients_hz);
        d_filter->set_centroid(coefficients_hz);
        if (d_pass)
            d_pass->refresh();
    }

    void take(const cf32* lines, int first, int count) override
    {
        if (!d_compress_first) {
            d_fft->take(lines, first, count);
            return;
        }
        d_fft->take(first, count, [&](cf32* place, int from, int n) {
            d_compression->process(
                lines + static_cast<std::size_t>(from) * d_raw, place, n);
        });
    }

    void form(int filled) override
    {
        // Frames of one kind are enqueued by one call from the second on: the first shows
        // that there is no error and lets libraries load what they load late, which a
        // recording must not. With overlap a frame lies elsewhere in the ring each time.
        if (d_space && !d_overlap) {
            if (filled != d_filled)
                d_recorded.reset();
            else if (!d_recorded)
                d_recorded = d_space->record_work([&] { enqueue(filled); });
            d_filled = filled;
        }
        if (d_recorded)
            d_recorded->enqueue();
        else
            enqueue(filled);
    }

    void enqueue(int filled)
    {
        d_fft->transform(filled);
        const int rows = d_filter->plan().frame().rows;
        const bool one = one_pass();
        const bool compress =
            d_compression && !d_compress_first && !(one && d_pass->compresses());
        const int batch = one && !compress ? rows : d_batch;
        for (int row = 0; row < rows; row += batch) {
            const int n = std::min(batch, rows - row);
            const cf32* lines =
                d_fft->frame() + static_cast<std::size_t>(row) * d_fft->params().cols;
            if (compress) {
                d_compression->process(lines, d_compressed.data(), n);
                lines = d_compressed.data();
            }
            if (one) {
                d_pass->run(lines, row, n);
                continue;
            }
            d_migration->process(lines, d_compressed.data(), row, n);
            d_filter->take(d_compressed.data(), row, n);
        }
        if (one)
            d_filter->filled();
        d_filter->transform();
    }

    void give(cf32* out, int first, int count) override
    {
        d_filter->give(out, first, count);
    }

    void next(int kept) override
    {
        d_fft->next(kept);
        d_filter->next();
    }

    const range_doppler_plan& plan() const override { return d_filter->plan(); }
    bool one_pass() const override { return d_pass && d_pass->serves(); }
    std::size_t bytes() const override
    {
        return d_fft->bytes() + d_filter->bytes() + d_compressed.bytes();
    }
    std::uint64_t bad_lines() const override
    {
        return d_fft->bad_lines() + (d_compress_first ? d_compression->bad_lines() : 0);
    }

private:
    bool compresses_first(const acquisition& acq, const compute_target& target) const
    {
        if (!d_compression)
            return false;
        return (acq.in_frequency_domain() && acq->phase_sign > 0) ||
               (target.is_cuda() && d_raw == d_compression->samples_out());
    }

    int batch_of(const compute_target& target) const
    {
        const std::size_t line = std::max(d_raw, d_cols) * sizeof(cf32);
        const std::size_t n =
            (target.is_cuda() ? batch_bytes_gpu : batch_bytes_cpu) / line;
        return static_cast<int>(std::clamp<std::size_t>(n, 1, 1024));
    }

    device_space* const d_space; // null on the CPU
    const bool d_overlap;
    std::unique_ptr<azimuth_filter> d_filter;
    const int d_raw;   // samples of a raw line
    const int d_cols;  // of a compressed one, and cells of the image
    const int d_batch; // rows that go through the stages together
    std::unique_ptr<row_migration> d_migration;
    std::unique_ptr<pulse_compression>
        d_compression; // null: the migration takes raw rows
    const bool d_compress_first;
    std::unique_ptr<azimuth_fft> d_fft;
    target_memory d_compressed;                // rows of a batch
    std::unique_ptr<row_pass> d_pass;          // null: by the stages
    int d_filled = -1;                         // lines of the frame before
    std::unique_ptr<recorded_work> d_recorded; // forming such a frame; null: not yet
};

} // namespace

std::unique_ptr<frame_imager> frame_imager::make(const frame_imager_params& params,
                                                 const migration_maker& migration,
                                                 const compute_target& target,
                                                 const row_pass_maker& pass)
{
    require(params.geometry.acq->sweep == sweep_shape::sawtooth,
            "sweep of acq is 'triangle'; expected 'sawtooth': compress the lines by "
            "pulse_compression, which knows the way back, and go on with its lines");
    return std::make_unique<composed_imager>(params, migration, target, pass);
}

std::unique_ptr<frame_imager>
range_doppler_imager::make(const range_doppler_imager_params& p,
                           const compute_target& target)
{
    frame_imager::row_pass_maker pass;
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        pass = [&](const row_migration& migration,
                   azimuth_filter& filter,
                   const pulse_compression* compression) {
            return make_fused_rows_cuda(
                static_cast<const rcmc&>(migration), filter, compression, target);
        };
#endif
    return frame_imager::make(
        { p.geometry, p.range_window, p.replica, p.band, p.overlap },
        [&](int max_batch) {
            return rcmc::make({ p.geometry,
                                p.interpolator,
                                p.src,
                                line_storage::single,
                                line_storage::single,
                                max_batch },
                              target);
        },
        target,
        pass);
}

} // namespace kernel
} // namespace sar
} // namespace gr
