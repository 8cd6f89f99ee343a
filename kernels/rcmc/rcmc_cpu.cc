// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/instruction_set.h"
#include "../core/interpolator.h"
#include "../core/names.h"
#include "../core/parallel_for.h"
#include "rcmc.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gnuradio/fft/fft.h>

// The hot loops are compiled for several generations of x86, and one is picked at run
// time: see bp_accumulator_cpu.cc.
#define SAR_INTO_CLONE inline __attribute__((always_inline))

namespace gr {
namespace sar {
namespace kernel {

namespace {

const name_table<migration_interpolation, 6> interpolations = {
    "interpolation",
    { { { migration_interpolation::nearest, "nearest" },
        { migration_interpolation::linear, "linear" },
        { migration_interpolation::sinc8, "sinc8" },
        { migration_interpolation::sinc16, "sinc16" },
        { migration_interpolation::exact, "exact" },
        { migration_interpolation::fixed, "fixed" } } }
};

//! Phase of SRC that counts as none.
constexpr double negligible_cycles = 1e-6;
//! Zeros behind a line beyond the delay of SRC: the tails of its response.
constexpr int guard_samples = 64;

//! What the SRC of all rows does at the edges of the band.
struct src_extent {
    double cycles = 0;  //!< largest phase
    double samples = 0; //!< largest group delay
};

src_extent extent_of_src(const range_doppler_frame& f)
{
    src_extent e;
    const double sampling_hz = speed_of_light / (2 * f.spacing_m);
    for (int k = 0; k < f.rows; ++k) {
        const src_phase p = rcm::row_of(f, k, 1).src;
        for (const double edge : { -0.5, 0.5 }) {
            const double x = edge * f.bandwidth_hz / f.carrier_hz;
            const double slope =
                x * (2 * p.c2 + x * (3 * p.c3 + x * (4 * p.c4 + x * 5 * p.c5)));
            e.cycles = std::max(e.cycles, std::abs(src_cycles(p, x)));
            e.samples = std::max(e.samples, std::abs(slope / f.carrier_hz * sampling_hz));
        }
    }
    return e;
}

} // namespace

migration_interpolation migration_interpolation_from_name(const std::string& n)
{
    return interpolations.from_name(n);
}
std::string to_string(migration_interpolation i) { return interpolations.to_name(i); }

std::vector<rcm::tap_quad> rcm::tap_table(migration_interpolation how, double band)
{
    static_assert(rcm::phases == sinc_phases);
    const bool exact = how == migration_interpolation::exact;
    const int taps = rcm::taps_of(how);
    const int width = rcm::width_of(how);
    // `exact` serves whatever lies in the band of the line's own sampling rate: its taps
    // are made for half of the finer grid
    const std::vector<float> from =
        exact ? least_squares_table(taps, 0.5) : sinc_table(taps, band);
    const int rows = rcm::phases + 2;
    std::vector<float> to(static_cast<std::size_t>(exact ? 2 : 1) * rows * width);
    for (int shift = 0; shift <= (exact ? 1 : 0); ++shift)
        for (int p = 0; p < rows; ++p)
            std::copy_n(from.begin() + p * taps,
                        taps,
                        to.begin() + (shift * rows + p) * width + shift);
    std::vector<rcm::tap_quad> table(to.size() / 4);
    std::memcpy(table.data(), to.data(), to.size() * sizeof(float));
    return table;
}

// ---- what both backends share
// ----------------------------------------------------------

rcmc::rcmc(const rcmc_params& params) : d_params(params), d_plan(params.geometry)
{
    const migration_interpolation how = params.interpolator;
    to_string(how); // throws when it is none
    require(params.max_batch >= 1 && params.max_batch <= 32768,
            "max_batch is ",
            params.max_batch,
            "; expected 1 to 32768 rows");
    d_shape.samples = d_plan.frame().cols;
    require(how != migration_interpolation::fixed ||
                d_shape.samples <= rcm::longest_fixed_line,
            "interpolation is 'fixed' with rows of ",
            d_shape.samples,
            " cells; its index has 16 bits: expected at most ",
            rcm::longest_fixed_line,
            " cells, or another interpolation");
    derive();
    const double band =
        params.geometry.acq.compressed_axis(params.geometry.oversampling).occupied_band();
    if (rcm::taps_of(how) > 2)
        d_taps = rcm::tap_table(how, std::min(band, 1.0));
}

//! Transforms for the frame as it is. \return have they changed?
bool rcmc::derive()
{
    const range_doppler_frame& f = d_plan.frame();
    const src_extent extent = d_params.src ? extent_of_src(f) : src_extent{};
    rcm::transform_shape s;
    s.samples = f.cols;
    s.src = !(extent.cycles < negligible_cycles) && d_params.src;
    if (s.src || grid() > 1) {
        const double needed = s.samples + std::ceil(extent.samples) + guard_samples;
        require(needed <= (1 << 27),
                "secondary range compression delays the edges of the band by ",
                extent.samples,
                " samples, in rows of ",
                s.samples,
                "; expected at most 2^27 together: check doppler_centroid_hz, "
                "effective_velocity_m_s and the bandwidth, or set src to false");
        // a length that suffices stays: no new plans for every estimate
        s.length = needed <= d_shape.length ? d_shape.length
                                            : line_fft_length(static_cast<int>(needed));
        s.padded = s.length * grid();
        s.bin_step = speed_of_light / (2 * f.spacing_m) / (s.length * f.carrier_hz);
    }
    const bool changed = s.length != d_shape.length;
    d_shape = s;
    return changed;
}

void rcmc::set_centroid(const std::vector<double>& coefficients_hz)
{
    if (coefficients_hz == d_plan.centroid())
        return;
    const std::vector<double> before = d_plan.centroid();
    d_plan.set_centroid(coefficients_hz);
    bool shape_changed = false;
    try {
        shape_changed = derive();
    } catch (...) {
        d_plan.set_centroid(before);
        throw;
    }
    refresh(shape_changed);
}

void rcmc::process(const void* in, void* out, int first_row, int rows)
{
    require(first_row >= 0, "first_row is ", first_row, "; expected 0 or more");
    if (rows > 0)
        run(static_cast<const char*>(in),
            static_cast<char*>(out),
            first_row % d_plan.frame().rows,
            rows);
}

// ---- CPU
// -------------------------------------------------------------------------------

namespace {

//! A row that is to be interpolated.
struct row_job {
    const cf32* line; //!< on the grid
    int samples;      //!< of it
    cf32* out;
    int cols;
    rcm::row row;
    int number; //!< of the row
    const range_doppler_frame* frame;
    const doppler_column* columns; //!< where the swath is not uniform
    const rcm::tap_quad* taps;
};

//! Cells, or bins, that are prepared together: in arrays, which is what vectorises.
constexpr int strip = 64;

template <migration_interpolation how, typename Line>
SAR_INTO_CLONE void run_strip(Line line,
                              const int* first,
                              const int* row,
                              const float* between,
                              const rcm::tap_quad* taps,
                              cf32* out,
                              int cells)
{
    for (int i = 0; i < cells; ++i)
        out[i] =
            rcm::value_of<how>(line, rcm::place{ first[i], row[i], between[i] }, taps);
}

template <migration_interpolation how, bool uniform>
SAR_INTO_CLONE void run_row(const row_job& job)
{
    const row_job j = job;
    const range_doppler_frame frame = *j.frame;
    alignas(64) int first[strip];
    alignas(64) int row[strip];
    alignas(64) float between[strip];
    for (int begin = 0; begin < j.cols; begin += strip) {
        const int cells = j.cols - begin < strip ? j.cols - begin : strip;
        int outer = 0;
        // whole strips, so that loops have a fixed length; columns are there for them
        for (int i = 0; i < strip; ++i) {
            const int n = begin + i;
            const double at = uniform
                                  ? rcm::uniform_position(j.row, n)
                                  : rcm::cell_position(
                                        frame, j.columns[n], j.number, rcm::grid_of(how));
            const rcm::place p = rcm::place_of<how>(at, j.samples);
            first[i] = p.first;
            row[i] = p.row;
            between[i] = p.between;
            outer |= !rcm::is_inner<how>(p, j.samples);
        }
        if (!outer)
            run_strip<how>(rcm::line_for<how>{ j.line },
                           first,
                           row,
                           between,
                           j.taps,
                           j.out + begin,
                           cells);
        else
            run_strip<how>(rcm::edged_line{ j.line, j.samples },
                           first,
                           row,
                           between,
                           j.taps,
                           j.out + begin,
                           cells);
    }
}

//! Bins first .. last of the spectrum times their factors; \p from and \p to point to
//! bin 0.
SAR_INTO_CLONE void run_bins(const rcm::transform_shape& s,
                             const src_phase& p,
                             int first,
                             int last,
                             const cf32* from,
                             cf32* to)
{
    const float scale = rcm::scale_of(s);
    if (!s.src) {
        for (int k = first; k <= last; ++k)
            to[k] = scale * from[k];
        return;
    }
    alignas(64) float re[strip];
    alignas(64) float im[strip];
    for (int begin = first; begin <= last; begin += strip) {
        for (int i = 0; i < strip; ++i) {
            const cf32 f = rcm::src_factor(s, p, begin + i);
            re[i] = scale * f.re;
            im[i] = scale * f.im;
        }
        const int bins = last - begin < strip - 1 ? last - begin + 1 : strip;
        for (int i = 0; i < bins; ++i)
            to[begin + i] = cf32{ re[i], im[i] } * from[begin + i];
    }
}

//! Spectrum of a line into the bins of the inverse transform, whose gap holds zeros.
SAR_INTO_CLONE void run_filter(const rcm::transform_shape& shape,
                               const src_phase& src,
                               const cf32* spectrum,
                               cf32* bins)
{
    const rcm::transform_shape s = shape;
    const src_phase p = src;
    const int half = (s.length - 1) / 2; // highest bin that is not at half the rate
    run_bins(s, p, 0, half, spectrum, bins);
    run_bins(s, p, -half, -1, spectrum + s.length, bins + s.padded);
    if (s.length % 2 == 0) {
        const cf32 v = spectrum[s.length / 2];
        if (s.padded == s.length) {
            bins[s.length / 2] = rcm::middle_factor(s, p, 0) * v;
        } else {
            bins[s.length / 2] = rcm::middle_factor(s, p, 1) * v;
            bins[s.padded - s.length / 2] = rcm::middle_factor(s, p, -1) * v;
        }
    }
}

SAR_INTO_CLONE bool run_finite(const cf32* line, int samples)
{
    int bad = 0; // no early end, so that the loop vectorises
    for (int i = 0; i < samples; ++i)
        bad |= !is_finite(line[i]);
    return !bad;
}

struct row_functions {
    void (*interpolate[6][2])(const row_job&); // [interpolation][uniform]
    void (*filter)(const rcm::transform_shape&, const src_phase&, const cf32*, cf32*);
    bool (*finite)(const cf32*, int);
};

#define SAR_ROWS(NAME, TARGET)                                                           \
    template <migration_interpolation how, bool uniform>                                 \
    TARGET void NAME##_row(const row_job& j)                                             \
    {                                                                                    \
        run_row<how, uniform>(j);                                                        \
    }                                                                                    \
    TARGET void NAME##_filter(                                                           \
        const rcm::transform_shape& s, const src_phase& p, const cf32* from, cf32* to)   \
    {                                                                                    \
        run_filter(s, p, from, to);                                                      \
    }                                                                                    \
    TARGET bool NAME##_finite(const cf32* line, int n) { return run_finite(line, n); }   \
    const row_functions NAME##_rows = {                                                  \
        { { NAME##_row<migration_interpolation::nearest, false>,                         \
            NAME##_row<migration_interpolation::nearest, true> },                        \
          { NAME##_row<migration_interpolation::linear, false>,                          \
            NAME##_row<migration_interpolation::linear, true> },                         \
          { NAME##_row<migration_interpolation::sinc8, false>,                           \
            NAME##_row<migration_interpolation::sinc8, true> },                          \
          { NAME##_row<migration_interpolation::sinc16, false>,                          \
            NAME##_row<migration_interpolation::sinc16, true> },                         \
          { NAME##_row<migration_interpolation::exact, false>,                           \
            NAME##_row<migration_interpolation::exact, true> },                          \
          { NAME##_row<migration_interpolation::fixed, false>,                           \
            NAME##_row<migration_interpolation::fixed, true> } },                        \
        NAME##_filter,                                                                   \
        NAME##_finite                                                                    \
    }

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

cf32* as_cf32(gr_complex* p) { return reinterpret_cast<cf32*>(p); }

class rcmc_cpu final : public rcmc
{
public:
    explicit rcmc_cpu(const rcmc_params& params)
        : rcmc(params), d_functions(rows_of_this_machine())
    {
        refresh(true);
    }

    std::uint64_t bad_lines() const override { return d_bad_lines; }

protected:
    void refresh(bool shape_changed) override
    {
        const range_doppler_frame& f = d_plan.frame();
        d_rows.resize(f.rows);
        for (int k = 0; k < f.rows; ++k)
            d_rows[k] = rcm::row_of(f, k, grid());
        d_columns.clear();
        if (!f.uniform) {
            d_columns = d_plan.columns();
            // whole strips are prepared
            d_columns.resize((d_columns.size() / strip + 1) * strip, d_columns.back());
        }
        if (!shape_changed)
            return;
        // planning takes time, so not in run(); other threads profit from what FFTW has
        // learnt
        d_workers.clear();
        d_workers.push_back(std::make_unique<worker>(*this));
    }

    void run(const char* in, char* out, int first_row, int rows) override
    {
        // the thread that calls may be allowed more threads than the one that made us
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
        parallel_for(rows, [&](int i, int thread) {
            std::unique_ptr<worker>& w = d_workers[thread];
            if (!w)
                w = std::make_unique<worker>(*this);
            const char* from = in + static_cast<std::size_t>(i) * bytes_in();
            char* to = out + static_cast<std::size_t>(i) * bytes_out();
            const int k = static_cast<int>((static_cast<long long>(first_row) + i) %
                                           d_plan.frame().rows);
            migrate(*w, from, to, k);
        });
    }

private:
    //! Transforms with their buffers; gr::fft locks the planner, nothing is shared.
    struct worker {
        explicit worker(const rcmc_cpu& owner) : out(owner.cols())
        {
            const rcm::transform_shape& s = owner.d_shape;
            if (s.length == 0) {
                line.resize(s.samples);
                return;
            }
            // Complex transforms keep their input (FFTW's default), so the zeros of the
            // padding are written once; planning has overwritten them.
            forward = std::make_unique<fft::fft_complex_fwd>(s.length);
            inverse = std::make_unique<fft::fft_complex_rev>(s.padded);
            std::fill_n(forward->get_inbuf(), s.length, gr_complex(0));
            std::fill_n(inverse->get_inbuf(), s.padded, gr_complex(0));
        }
        std::unique_ptr<fft::fft_complex_fwd> forward; // null without transforms
        std::unique_ptr<fft::fft_complex_rev> inverse;
        std::vector<cf32> line;
        std::vector<cf32> out;
    };

    void migrate(worker& w, const char* from, char* to, int k)
    {
        const bool single_in = d_params.input == line_storage::single;
        const bool single_out = d_params.output == line_storage::single;
        const cf32* line = reinterpret_cast<const cf32*>(from);
        if (w.forward || !single_in || from == to) {
            cf32* copy = w.forward ? as_cf32(w.forward->get_inbuf()) : w.line.data();
            load_line(d_params.input, from, cols(), copy);
            line = copy;
        }
        cf32* const out = single_out ? reinterpret_cast<cf32*>(to) : w.out.data();
        if (d_functions.finite(line, cols())) {
            if (w.forward) {
                w.forward->execute();
                d_functions.filter(d_shape,
                                   d_rows[k].src,
                                   as_cf32(w.forward->get_outbuf()),
                                   as_cf32(w.inverse->get_inbuf()));
                w.inverse->execute();
                line = as_cf32(w.inverse->get_outbuf());
            }
            row_job j;
            j.line = line;
            j.samples = grid_samples();
            j.out = out;
            j.cols = cols();
            j.row = d_rows[k];
            j.number = k;
            j.frame = &d_plan.frame();
            j.columns = d_columns.data();
            j.taps = d_taps.data();
            d_functions.interpolate[static_cast<int>(d_params.interpolator)]
                                   [d_plan.frame().uniform](j);
        } else {
            std::fill_n(out, cols(), cf32{ 0, 0 });
            ++d_bad_lines;
        }
        if (!single_out)
            store_line(d_params.output, out, cols(), to);
    }

    const row_functions& d_functions;
    std::vector<rcm::row> d_rows;
    std::vector<doppler_column> d_columns;          // empty when the swath is uniform
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread, made when it runs
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<rcmc> rcmc::make(const rcmc_params& params, const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_rcmc_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<rcmc_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
