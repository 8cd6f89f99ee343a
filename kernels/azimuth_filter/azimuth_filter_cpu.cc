// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../core/errors.h"
#include "../core/instruction_set.h"
#include "../core/parallel_for.h"
#include "azimuth_filter.h"
#include <algorithm>
#include <atomic>
#include <cmath>

// The hot loops are compiled for several generations of x86, and one is picked at run
// time: see bp_accumulator_cpu.cc.
#define SAR_INTO_CLONE inline __attribute__((always_inline))

namespace gr {
namespace sar {
namespace kernel {

azimuth_filter::azimuth_filter(const azimuth_filter_params& params)
    : d_params(params), d_plan(params.geometry)
{
    const range_doppler_frame& f = frame();
    const doppler_band& band = params.band;
    require(std::isfinite(band.bandwidth_hz) && band.bandwidth_hz >= 0 &&
                band.bandwidth_hz <= f.prf_hz,
            "bandwidth_hz is ",
            band.bandwidth_hz,
            " Hz; expected 0 (the whole band) or up to prf_hz, ",
            f.prf_hz,
            " Hz");
    require(band.looks >= 1 && band.looks <= 64,
            "looks is ",
            band.looks,
            "; expected 1 to 64 parts of the Doppler band");
    const double width = range_doppler_plan::bandwidth(band, f.prf_hz) / band.looks;
    require(width * f.rows >= f.prf_hz * (1 - 1e-9),
            "looks is ",
            band.looks,
            "; a look would have ",
            width * f.rows / f.prf_hz,
            " of the ",
            f.rows,
            " rows of the transform: expected at least one, so fewer looks, a wider "
            "bandwidth_hz or more lines");
    require(static_cast<double>(f.rows) * band.looks <= 1 << 30,
            "rows times looks is ",
            static_cast<double>(f.rows) * band.looks,
            "; expected at most 2^30 output rows");
}

void azimuth_filter::make_tables()
{
    before_tables();
    const range_doppler_frame& f = frame();
    const doppler_band& band = d_params.band;
    d_columns = d_plan.columns();
    d_gains.clear();
    for (int l = 0; l < band.looks; ++l) {
        const std::vector<float> g = d_plan.gains(band, l);
        for (const float v : g)
            require(std::isfinite(v),
                    "window is ",
                    band.weighting.name(),
                    "; it leaves nothing of the ",
                    f.rows,
                    " rows of the transform: expected more rows or another window");
        d_gains.insert(d_gains.end(), g.begin(), g.end());
    }
    d_rows.clear();
    d_row_weights.clear();
    d_weights.clear();
    if (f.uniform) {
        // range is linear in the cell, and so is the delay of the beam's centre
        const double delay = f.geometry == image_geometry::centroid
                                 ? d_columns[0].beam_delay_s / d_columns[0].closest_m
                                 : 0.0;
        const double first = closest_range(f, 0);
        const double spacing =
            f.geometry == image_geometry::centroid ? f.spacing_m * f.factor : f.spacing_m;
        for (const doppler_row& r : d_plan.rows()) {
            const double cycles =
                azimuth_filter_cycles(f, first, r.factor, r.frequency_hz, delay * first);
            const double step = 2 * f.carrier_hz / speed_of_light * r.factor * spacing -
                                r.frequency_hz * delay * spacing;
            d_rows.push_back({ cycles - std::rint(cycles), step });
        }
        for (int l = 0; l < band.looks; ++l)
            for (const doppler_row& r : d_plan.rows())
                d_row_weights.push_back(static_cast<float>(range_doppler_plan::weight(
                    band, f.prf_hz, r.frequency_hz - f.centroid_hz, l)));
    } else {
        for (int i = 0; i <= weight_steps; ++i)
            d_weights.push_back(static_cast<float>(
                band.weighting(static_cast<double>(i) / weight_steps - 0.5)));
    }
    after_tables();
}

azimuth_filter_tables azimuth_filter::host_tables() const
{
    azimuth_filter_tables t;
    t.frame = frame();
    t.looks = looks();
    t.gains = d_gains.data();
    t.rows = d_rows.data();
    t.row_weights = d_row_weights.data();
    t.columns = d_columns.data();
    t.weights = d_weights.data();
    t.look_width_hz =
        range_doppler_plan::bandwidth(d_params.band, frame().prf_hz) / looks();
    return t;
}

void azimuth_filter::set_centroid(const std::vector<double>& coefficients_hz)
{
    if (coefficients_hz == d_plan.centroid())
        return;
    d_plan.set_centroid(coefficients_hz);
    make_tables();
}

void azimuth_filter::take(const void* rows, int first_row, int count)
{
    require(first_row >= d_taken && count >= 0 && first_row <= frame().rows - count,
            "rows ",
            first_row,
            " to ",
            first_row + count,
            " lie outside the frame, of which rows ",
            d_taken,
            " to ",
            frame().rows,
            " are still to come");
    if (first_row > d_taken)
        clear(d_taken, first_row - d_taken);
    if (count > 0)
        load(rows, first_row, count);
    d_taken = first_row + count;
}

void azimuth_filter::transform()
{
    if (d_taken < frame().rows)
        clear(d_taken, frame().rows - d_taken);
    d_taken = frame().rows;
    run();
}

void azimuth_filter::give(cf32* out, int first_output_row, int count)
{
    require(first_output_row >= 0 && count >= 0 && first_output_row <= rows_out() - count,
            "rows ",
            first_output_row,
            " to ",
            first_output_row + count,
            " lie outside the image of ",
            rows_out(),
            " rows");
    if (count > 0)
        store(out, first_output_row, count);
}

namespace {

//! One row of one look, whose weight is the same for all cells.
SAR_INTO_CLONE void
uniform_row(const azimuth_row& row, const float* gains, float weight, int cols, cf32* io)
{
    for (int n = 0; n < cols; ++n)
        io[n] = weight * gains[n] * (io[n] * unit_phasor(uniform_cycles(row, n)));
}

//! Turn a row, and tell the offset of each cell.
SAR_INTO_CLONE void
varying_row(const azimuth_filter_tables& t, int row, cf32* io, double* offsets)
{
    const range_doppler_frame f = t.frame;
    const doppler_column* columns = t.columns;
    const double width = t.look_width_hz;
    for (int n = 0; n < f.cols; ++n) {
        const azimuth_turn turn = varying_turn(f, columns[n], row, width);
        offsets[n] = turn.offset;
        io[n] = io[n] * unit_phasor(turn.cycles);
    }
}

//! The weights of one look on a row that was turned.
SAR_INTO_CLONE void varying_look(const azimuth_filter_tables& t,
                                 int look,
                                 const double* offsets,
                                 const cf32* in,
                                 cf32* out)
{
    const int cols = t.frame.cols;
    const int looks = t.looks;
    const float* weights = t.weights;
    const float* gains = t.gains + static_cast<std::size_t>(look) * cols;
    for (int n = 0; n < cols; ++n)
        out[n] = look_weight(weights, looks, look, offsets[n]) * gains[n] * in[n];
}

struct row_functions {
    void (*uniform)(const azimuth_row&, const float*, float, int, cf32*);
    void (*varying)(const azimuth_filter_tables&, int, cf32*, double*);
    void (*look)(const azimuth_filter_tables&, int, const double*, const cf32*, cf32*);
};

#define SAR_ROWS(NAME, TARGET)                                                           \
    TARGET void NAME##_uniform(                                                          \
        const azimuth_row& r, const float* gains, float weight, int cols, cf32* io)      \
    {                                                                                    \
        uniform_row(r, gains, weight, cols, io);                                         \
    }                                                                                    \
    TARGET void NAME##_varying(                                                          \
        const azimuth_filter_tables& t, int row, cf32* io, double* offsets)              \
    {                                                                                    \
        varying_row(t, row, io, offsets);                                                \
    }                                                                                    \
    TARGET void NAME##_look(const azimuth_filter_tables& t,                              \
                            int look,                                                    \
                            const double* offsets,                                       \
                            const cf32* in,                                              \
                            cf32* out)                                                   \
    {                                                                                    \
        varying_look(t, look, offsets, in, out);                                         \
    }                                                                                    \
    const row_functions NAME##_rows = { NAME##_uniform, NAME##_varying, NAME##_look }

SAR_ROWS(plain, );
#ifdef SAR_HAVE_X86_SETS
SAR_ROWS(avx2, SAR_FOR_AVX2);
SAR_ROWS(avx512, SAR_FOR_AVX512);
#endif

const row_functions& rows_of_this_machine()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return avx512_rows;
    case instruction_set::avx2:
        return avx2_rows;
#endif
    default:
        return plain_rows;
    }
}

class azimuth_filter_cpu final : public azimuth_filter
{
public:
    azimuth_filter_cpu(const azimuth_filter_params& params, const compute_target& target)
        : azimuth_filter(params),
          d_functions(rows_of_this_machine()),
          d_fft(column_fft::make(frame().rows, frame().cols, target))
    {
        const std::size_t n = frame_values() * looks();
        try {
            d_frames.resize(n);
        } catch (const std::bad_alloc&) {
            throw std::runtime_error(
                sentence("no memory for ",
                         looks(),
                         " looks of ",
                         frame().rows,
                         " rows x ",
                         frame().cols,
                         " cells: ",
                         n * sizeof(cf32),
                         " bytes needed; use shorter frames or lines, or fewer looks"));
        }
        make_tables();
    }

    azimuth_filter_tables tables() const override { return d_tables; }
    cf32* frames() override { return d_frames.data(); }
    std::size_t bytes() const override
    {
        return d_frames.size() * sizeof(cf32) + d_fft->bytes();
    }
    std::uint64_t bad_lines() const override { return d_bad_lines; }

protected:
    void after_tables() override { d_tables = host_tables(); }

    void load(const void* rows, int first_row, int count) override
    {
        const int cols = frame().cols;
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
        parallel_for(count, [&](int i, int thread) {
            worker& w = d_workers[thread];
            w.row.resize(cols);
            const char* from =
                static_cast<const char*>(rows) + i * line_bytes(d_params.input, cols);
            load_line(d_params.input, from, cols, w.row.data());
            if (!std::all_of(
                    w.row.begin(), w.row.end(), [](cf32 v) { return is_finite(v); })) {
                ++d_bad_lines;
                clear(first_row + i, 1);
                return;
            }
            if (frame().uniform)
                load_uniform(w, first_row + i);
            else
                load_varying(w, first_row + i);
        });
    }

    void clear(int first_row, int count) override
    {
        for (int l = 0; l < looks(); ++l)
            std::fill_n(at(l, first_row),
                        static_cast<std::size_t>(count) * frame().cols,
                        cf32{ 0, 0 });
    }

    void run() override
    {
        for (int l = 0; l < looks(); ++l)
            d_fft->inverse(at(l, 0));
    }

    void store(cf32* out, int first_output_row, int count) override
    {
        const int cols = frame().cols;
        parallel_for(count, [&](int i, int) {
            const int row = (first_output_row + i) / looks();
            const int look = (first_output_row + i) % looks();
            std::copy_n(at(look, transform_row(row)),
                        cols,
                        out + static_cast<std::size_t>(i) * cols);
        });
    }

private:
    struct worker {
        std::vector<cf32> row;
        std::vector<double> offsets;
    };

    cf32* at(int look, int row)
    {
        return d_frames.data() + look * frame_values() +
               static_cast<std::size_t>(row) * frame().cols;
    }

    void load_uniform(const worker& w, int row)
    {
        for (int l = 0; l < looks(); ++l) {
            const float weight = d_tables.row_weights[l * frame().rows + row];
            if (weight == 0) {
                std::fill_n(at(l, row), frame().cols, cf32{ 0, 0 });
                continue;
            }
            std::copy(w.row.begin(), w.row.end(), at(l, row));
            d_functions.uniform(d_tables.rows[row],
                                d_tables.gains +
                                    static_cast<std::size_t>(l) * frame().cols,
                                weight,
                                frame().cols,
                                at(l, row));
        }
    }

    void load_varying(worker& w, int row)
    {
        w.offsets.resize(frame().cols);
        d_functions.varying(d_tables, row, w.row.data(), w.offsets.data());
        for (int l = 0; l < looks(); ++l)
            d_functions.look(d_tables, l, w.offsets.data(), w.row.data(), at(l, row));
    }

    const row_functions& d_functions;
    std::unique_ptr<column_fft> d_fft;
    std::vector<cf32> d_frames; // [looks][rows][cols]
    azimuth_filter_tables d_tables;
    std::vector<worker> d_workers; // one a thread
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<azimuth_filter> azimuth_filter::make(const azimuth_filter_params& params,
                                                     const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_azimuth_filter_cuda(params, target);
#endif
    return std::make_unique<azimuth_filter_cpu>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
