// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/instruction_set.h"
#include "../core/names.h"
#include "../core/parallel_for.h"
#include "bp_accumulator.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

// The hot loops are compiled for several generations of x86, and one is picked at run
// time. (Not by target_clones: it cannot ask for AVX2 together with FMA in all compilers,
// and its resolver runs before sanitizers are ready.)
#define SAR_INTO_CLONE inline __attribute__((always_inline))

namespace gr {
namespace sar {
namespace kernel {

namespace {

const name_table<accuracy_mode, 3> accuracies = {
    "accuracy",
    { { { accuracy_mode::automatic, "auto" },
        { accuracy_mode::exact, "exact" },
        { accuracy_mode::fast, "fast" } } }
};

bp::scene scene_of(const bp_accumulator_params& p)
{
    bp::scene s;
    s.row_step = p.grid.row_step();
    s.col_step = p.grid.col_step();
    s.first_m = p.axis.first_m;
    s.bins_per_m = 1 / p.axis.spacing_m;
    s.cycles_per_m = 2 * p.axis.carrier_hz / speed_of_light;
    s.rows = p.grid->rows;
    s.cols = p.grid->cols;
    s.samples = p.axis.samples;
    s.bistatic = p.bistatic;
    return s;
}

double distance_to_segment(vec3 p, vec3 a, vec3 step)
{
    const double square = dot(step, step);
    const double t = square > 0 ? std::clamp(dot(p - a, step) / square, 0.0, 1.0) : 0.0;
    return length(p - a - t * step);
}

//! Distance of a point to the parallelogram of the pixels.
double distance_to_grid(const bp::scene& s, vec3 p)
{
    const vec3 a = (s.rows - 1) * s.row_step;
    const vec3 b = (s.cols - 1) * s.col_step;
    double d = std::min({ distance_to_segment(p, { 0, 0, 0 }, a),
                          distance_to_segment(p, { 0, 0, 0 }, b),
                          distance_to_segment(p, b, a),
                          distance_to_segment(p, a, b) });
    const double aa = dot(a, a);
    const double bb = dot(b, b);
    const double ab = dot(a, b);
    const double det = aa * bb - ab * ab;
    if (det > 0) { // the foot of the perpendicular may lie inside
        const double u = (bb * dot(p, a) - ab * dot(p, b)) / det;
        const double v = (aa * dot(p, b) - ab * dot(p, a)) / det;
        if (u >= 0 && u <= 1 && v >= 0 && v <= 1)
            d = std::min(d, length(p - u * a - v * b));
    }
    return d;
}

} // namespace

accuracy_mode accuracy_mode_from_name(const std::string& n)
{
    return accuracies.from_name(n);
}
std::string to_string(accuracy_mode a) { return accuracies.to_name(a); }

std::vector<float>
fold_filter(interpolation how, double occupied_band, const bp::folding& f)
{
    const int taps = taps_of(how);
    std::vector<float> filter(static_cast<std::size_t>(f.parts) * 3 * taps);
    if (taps <= 2)
        return filter;
    const double beta = sinc_kaiser_beta(taps, occupied_band);
    // discrete sums over the cell, d in cells from its middle: of 1, d^2 and d^4
    constexpr int points = 33;
    const auto place = [](int j) { return (j + 0.5) / points - 0.5; };
    double s2 = 0;
    double s4 = 0;
    for (int j = 0; j < points; ++j) {
        s2 += std::pow(place(j), 2) / points;
        s4 += std::pow(place(j), 4) / points;
    }
    for (int part = 0; part < f.parts; ++part)
        for (int k = 0; k < taps; ++k) {
            double m0 = 0;
            double m1 = 0;
            double m2 = 0;
            for (int j = 0; j < points; ++j) {
                const double d = place(j);
                const double x = (part + 0.5 + d) / f.parts;
                const double w = sinc_weight(x - (k - (taps / 2 - 1)), taps, beta);
                m0 += w / points;
                m1 += w * d / points;
                m2 += w * d * d / points;
            }
            const double curvature = (m2 - s2 * m0) / (s4 - s2 * s2);
            float* h = filter.data() + part * 3 * taps + k;
            h[0] = static_cast<float>(m0 - s2 * curvature);
            h[taps] = static_cast<float>(m1 / s2 / f.radians);
            h[2 * taps] = static_cast<float>(curvature / (f.radians * f.radians));
        }
    return filter;
}

// ---- what both backends share
// ----------------------------------------------------------

bp_accumulator::bp_accumulator(const bp_accumulator_params& params)
    : d_params(params),
      d_scene(scene_of(params)),
      d_folding(
          bp::folding_of(d_scene,
                         bp::parts_of(params.interpolator, params.axis.occupied_band()))),
      d_pulses(std::max(params.slots, 1), 0)
{
    const range_axis& a = params.axis;
    require(a.samples >= 1, "axis.samples is ", a.samples, "; expected 1 or more");
    require(std::isfinite(a.spacing_m) && a.spacing_m > 0,
            "axis.spacing_m is ",
            a.spacing_m,
            " m; expected a positive distance");
    require(std::isfinite(a.carrier_hz) && a.carrier_hz > 0,
            "axis.carrier_hz is ",
            a.carrier_hz,
            " Hz; expected a positive frequency");
    require(params.slots >= 1, "slots is ", params.slots, "; expected 1 or more");
    require(params.accuracy != accuracy_mode::fast || a.samples <= bp::longest_fast_line,
            "accuracy is 'fast' with lines of ",
            a.samples,
            " samples; it serves at most ",
            bp::longest_fast_line,
            ", use 'exact' or 'auto'");
}

// Along an axis of step a the range changes by |a . g| a pixel, g the unit vector from
// the antenna; g turns by at most 1 / distance a metre, so that from the centre of the
// grid it is known everywhere. The long axis of a patch is that along which the range
// changes less, or did when the patches were laid, some pulses before or after.
bp_accumulator::patch_reach bp_accumulator::reach_of_patches(const bp::chunk& chunk,
                                                             double nearest_m) const
{
    const vec3 rows = 0.5 * (d_scene.rows - 1) * d_scene.row_step;
    const vec3 cols = 0.5 * (d_scene.cols - 1) * d_scene.col_step;
    const double u = length(d_scene.row_step);
    const double v = length(d_scene.col_step);
    const double margin = bp::patch_long * (u + v); // of a partial patch
    const double turn =
        (std::max(length(rows + cols), length(rows - cols)) + margin) / nearest_m;
    double along_u = 0;
    double along_v = 0;
    for (int k = 0; k < chunk.count; ++k)
        for (const vec3 antenna : { chunk.pulses[k].tx, chunk.pulses[k].rx }) {
            const vec3 away = rows + cols - antenna;
            const double r = length(away);
            along_u = std::max(along_u, std::abs(dot(away, d_scene.row_step)) / r);
            along_v = std::max(along_v, std::abs(dot(away, d_scene.col_step)) / r);
        }
    along_u = std::min(along_u + turn * u, u);
    along_v = std::min(along_v + turn * v, v);
    const double steep = std::max(along_u, along_v);
    const double less = std::min(along_u, along_v);
    // the look may turn by a fifth of a radian until a group of pulses is summed
    const double flat = less + 0.2 * std::max(u, v) < steep ? less : steep;
    const double radius = 0.5 * margin;
    const double reach = 0.5 * (bp::patch_long * flat + bp::patch_short * steep) +
                         radius * radius / nearest_m;
    const double cells =
        2 * (reach * d_folding.cells_per_m + 0.02 + 0.01 / d_folding.radians) + 2;
    return { cells < d_folding.cells ? static_cast<int>(std::ceil(cells))
                                     : d_folding.cells,
             0.5 * bp::patch_long * flat };
}

double
bp_accumulator::phase_bound(const bp::chunk& chunk, bp::ranging& how, int& segment) const
{
    double nearest = HUGE_VAL;
    double farthest = 0;
    const double extent = length((d_scene.rows - 1) * d_scene.row_step) +
                          length((d_scene.cols - 1) * d_scene.col_step);
    for (int k = 0; k < chunk.count; ++k) {
        const bp::pulse& p = chunk.pulses[k];
        nearest = std::min(nearest, distance_to_grid(d_scene, p.tx));
        farthest = std::max(farthest, length(p.tx) + extent);
        if (d_scene.bistatic) {
            nearest = std::min(nearest, distance_to_grid(d_scene, p.rx));
            farthest = std::max(farthest, length(p.rx) + extent);
        }
    }
    segment = 0;
    how = bp::ranging::exact;
    if (d_params.accuracy != accuracy_mode::exact &&
        d_scene.samples <= bp::longest_fast_line) {
        const double allowed = allowed_phase_error_rad;
        if (d_longest_segment > 0) {
            const patch_reach reach = reach_of_patches(chunk, nearest);
            segment = reach.segment;
            const double second = bp::patch_phase_bound_rad(
                d_scene, d_folding, 2, nearest, farthest, reach.along_m);
            const double third = bp::patch_phase_bound_rad(
                d_scene, d_folding, 3, nearest, farthest, reach.along_m);
            const bool enough = second - third < bp::second_order_phase_error_rad;
            const double bound = enough ? second : third;
            if (bound < allowed && segment <= d_longest_segment) {
                how = enough ? bp::ranging::patch2 : bp::ranging::patch3;
                return bound;
            }
        }
        const double bound = bp::fast_phase_bound_rad(d_scene, nearest, farthest);
        if (bound < allowed || d_params.accuracy == accuracy_mode::fast) {
            how = bp::ranging::fast;
            return bound;
        }
    }
    return bp::exact_phase_bound_rad(d_scene, farthest);
}

void bp_accumulator::add(const cf32* dev_lines,
                         const vec3* tx_m,
                         const vec3* rx_m,
                         int pulses)
{
    require(!d_params.bistatic || rx_m, "rx_m is null; a bistatic image needs receivers");
    const vec3 origin = d_params.grid->origin_m;
    const bool to_point = d_params.axis.range_from == range_reference::point;
    const vec3 point = d_params.axis.reference_point_m;
    bp::chunk c;
    for (int done = 0; done < pulses; done += bp::chunk_pulses) {
        const int n = std::min(bp::chunk_pulses, pulses - done);
        c.count = 0;
        for (int k = 0; k < n; ++k) {
            const vec3 tx = tx_m[done + k];
            const vec3 rx = d_params.bistatic ? rx_m[done + k] : tx;
            if (!is_finite(tx) || !is_finite(rx)) {
                if (d_report.skipped_pulses++ == 0)
                    d_report.first_skipped = static_cast<std::int64_t>(
                        d_report.pulses + d_report.skipped_pulses - 1 + c.count);
                continue;
            }
            bp::pulse& p = c.pulses[c.count];
            p.tx = tx - origin;
            p.rx = rx - origin;
            p.offset_m = d_params.axis.range_bias_m;
            if (to_point)
                p.offset_m -= 0.5 * (length(tx - point) + length(rx - point));
            c.line[c.count++] = k;
        }
        if (c.count == 0)
            continue;
        bp::ranging how;
        int segment;
        const double bound = phase_bound(c, how, segment);
        if (!(bound <= d_report.phase_bound_rad)) // also takes a NaN
            d_report.phase_bound_rad = bound;
        add_chunk(dev_lines + static_cast<std::ptrdiff_t>(done) * d_scene.samples,
                  c,
                  how,
                  segment,
                  d_slot);
        d_report.pulses += c.count;
        if (how != bp::ranging::exact)
            d_report.fast_pulses += c.count;
        if (how == bp::ranging::patch2 || how == bp::ranging::patch3)
            d_report.patch_pulses += c.count;
        d_pulses[d_slot] += c.count;
    }
}

void bp_accumulator::advance()
{
    d_slot = (d_slot + 1) % d_params.slots;
    d_pulses[d_slot] = 0;
    clear(d_slot);
}

void bp_accumulator::reset()
{
    for (int k = 0; k < d_params.slots; ++k)
        advance();
}

std::uint64_t bp_accumulator::pulses_in_image() const
{
    std::uint64_t sum = 0;
    for (const std::uint64_t n : d_pulses)
        sum += n;
    return sum;
}

void bp_accumulator::write_rows(cf32* dev_out, int first_row, int rows)
{
    require(first_row >= 0 && rows >= 0 && first_row <= d_scene.rows - rows,
            "rows ",
            first_row,
            " to ",
            first_row + rows,
            " lie outside the image of ",
            d_scene.rows,
            " rows");
    const std::uint64_t n = pulses_in_image();
    if (rows > 0)
        mean_rows(dev_out, first_row, rows, n ? 1.0 / static_cast<double>(n) : 0.0);
}

bp_report bp_accumulator::report()
{
    bp_report r = d_report;
    read_counters(r.outside, r.non_finite);
    return r;
}

// ---- CPU
// -------------------------------------------------------------------------------

namespace {

constexpr int ts = bp::tile_size;

//! The looks of a row of a tile, as arrays: what vectorises.
struct row_looks {
    alignas(64) int bin[ts];
    alignas(64) float fraction[ts];
    alignas(64) float cos[ts];
    alignas(64) float sin[ts];
};

//! Everything a tile needs.
struct tile_job {
    const bp::scene* scene;
    const bp::chunk* chunk;
    const cf32* lines;
    const bp::tap_quad* table;
    bp::pixel_sum* image; //!< of the slot
    int row, col;         //!< first pixel
};

struct tile_count {
    std::uint64_t outside = 0;
    std::uint64_t non_finite = 0;
};

//! Keep a look and its phasor; a pixel outside gets a phasor of zero.
SAR_INTO_CLONE int keep(row_looks& r, int j, const bp::look& l)
{
    const cf32 e = unit_phasor(l.cycles);
    r.bin[j] = l.bin;
    r.fraction[j] = l.fraction;
    r.cos[j] = l.inside ? e.re : 0.0f;
    r.sin[j] = l.inside ? e.im : 0.0f;
    return l.inside ? 0 : 1;
}

template <interpolation I, typename Line>
SAR_INTO_CLONE void
add_row(const row_looks& r, Line line, const bp::tap_quad* table, float* re, float* im)
{
    for (int j = 0; j < ts; ++j) {
        const cf32 v = bp::interpolate<I>(line, r.bin[j], r.fraction[j], table);
        re[j] += v.re * r.cos[j] - v.im * r.sin[j];
        im[j] += v.re * r.sin[j] + v.im * r.cos[j];
    }
}

template <bool Fast, interpolation I>
SAR_INTO_CLONE tile_count run_tile(const tile_job& job)
{
    const bp::scene s = *job.scene;
    const int rows = s.rows - job.row < ts ? s.rows - job.row : ts;
    const int cols = s.cols - job.col < ts ? s.cols - job.col : ts;
    alignas(64) float re[ts][ts] = {};
    alignas(64) float im[ts][ts] = {};
    row_looks r;
    tile_count count;
    for (int k = 0; k < job.chunk->count; ++k) {
        const bp::pulse p = job.chunk->pulses[k];
        const cf32* line =
            job.lines + static_cast<std::ptrdiff_t>(job.chunk->line[k]) * s.samples;
        bp::expansion e = {};
        bool inside = false;
        if (Fast) {
            e = bp::expand(s, p, job.row, job.col);
            inside = bp::all_inside(e, bp::taps_before(I), bp::taps_behind(I));
        }
        for (int i = 0; i < rows; ++i) {
            int outside = 0;
            if (Fast) {
                const bp::row_expansion row = bp::row_of(e, i);
                if (inside) {
                    for (int j = 0; j < ts; ++j)
                        keep(r, j, bp::fast_look<true>(row, j));
                    add_row<I>(r, bp::inner_line{ line }, job.table, re[i], im[i]);
                    continue;
                }
                for (int j = 0; j < ts; ++j)
                    outside += keep(r, j, bp::fast_look(row, j));
            } else {
                for (int j = 0; j < ts; ++j)
                    outside += keep(r, j, bp::exact_look(s, p, job.row + i, job.col + j));
            }
            if (cols < ts) { // a partial tile counts its own pixels only
                outside = 0;
                for (int j = 0; j < cols; ++j)
                    outside += r.cos[j] == 0.0f && r.sin[j] == 0.0f;
            }
            count.outside += outside;
            if (outside == cols)
                continue;
            int low = r.bin[0];
            int high = r.bin[0];
            for (int j = 0; j < ts; ++j) {
                low = r.bin[j] < low ? r.bin[j] : low;
                high = r.bin[j] > high ? r.bin[j] : high;
            }
            if (low >= bp::taps_before(I) && high + bp::taps_behind(I) < s.samples)
                add_row<I>(r, bp::inner_line{ line }, job.table, re[i], im[i]);
            else
                add_row<I>(r, bp::edged_line{ line, s.samples }, job.table, re[i], im[i]);
        }
    }
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) {
            bp::pixel_sum& pixel =
                job.image[static_cast<std::ptrdiff_t>(job.row + i) * s.cols + job.col +
                          j];
            if (!bp::add_chunk(pixel, { re[i][j], im[i][j] }))
                ++count.non_finite;
        }
    return count;
}

using tile_function = tile_count (*)(const tile_job&);
using tile_functions = tile_function[2][4]; // [fast][interpolation]

#define SAR_TILES(NAME, TARGET)                                                          \
    template <bool Fast, interpolation I>                                                \
    TARGET tile_count NAME##_tile(const tile_job& job)                                   \
    {                                                                                    \
        return run_tile<Fast, I>(job);                                                   \
    }                                                                                    \
    const tile_functions NAME##_tiles = {                                                \
        { NAME##_tile<false, interpolation::nearest>,                                    \
          NAME##_tile<false, interpolation::linear>,                                     \
          NAME##_tile<false, interpolation::sinc8>,                                      \
          NAME##_tile<false, interpolation::sinc16> },                                   \
        { NAME##_tile<true, interpolation::nearest>,                                     \
          NAME##_tile<true, interpolation::linear>,                                      \
          NAME##_tile<true, interpolation::sinc8>,                                       \
          NAME##_tile<true, interpolation::sinc16> },                                    \
    }

SAR_TILES(plain, );
#ifdef SAR_HAVE_X86_SETS
SAR_TILES(avx2, SAR_FOR_AVX2);
SAR_TILES(avx512, SAR_FOR_AVX512);
#endif

const tile_functions& tiles_of_this_machine()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return avx512_tiles;
    case instruction_set::avx2:
        return avx2_tiles;
#endif
    default:
        return plain_tiles;
    }
}

class bp_accumulator_cpu final : public bp_accumulator
{
public:
    explicit bp_accumulator_cpu(const bp_accumulator_params& p)
        : bp_accumulator(p),
          d_pixels(static_cast<std::size_t>(d_scene.rows) * d_scene.cols)
    {
        if (taps_of(p.interpolator) > 2) {
            const std::vector<float> t =
                sinc_table(taps_of(p.interpolator), p.axis.occupied_band());
            d_table.resize(t.size() / 4);
            std::memcpy(d_table.data(), t.data(), t.size() * sizeof(float));
        }
        const std::size_t pixels = d_pixels * p.slots;
        try {
            d_image.resize(pixels);
        } catch (const std::bad_alloc&) {
            throw std::runtime_error(sentence("no memory for the image: ",
                                              d_scene.rows,
                                              " rows x ",
                                              d_scene.cols,
                                              " columns x ",
                                              p.slots,
                                              " sub-images need ",
                                              pixels * sizeof(bp::pixel_sum),
                                              " bytes; use a smaller image"));
        }
    }

protected:
    void add_chunk(const cf32* lines,
                   const bp::chunk& chunk,
                   bp::ranging how,
                   int,
                   int slot) override
    {
        const bool fast = how != bp::ranging::exact;
        const tile_function run =
            tiles_of_this_machine()[fast][static_cast<int>(d_params.interpolator)];
        const int across = (d_scene.cols + ts - 1) / ts;
        const int tiles = across * ((d_scene.rows + ts - 1) / ts);
        std::atomic<std::uint64_t> outside{ 0 };
        std::atomic<std::uint64_t> non_finite{ 0 };
        parallel_for(tiles, [&](int t, int) {
            tile_job j;
            j.scene = &d_scene;
            j.chunk = &chunk;
            j.lines = lines;
            j.table = d_table.data();
            j.image = d_image.data() + d_pixels * slot;
            j.row = t / across * ts;
            j.col = t % across * ts;
            const tile_count c = run(j);
            outside += c.outside;
            non_finite += c.non_finite;
        });
        d_outside += outside;
        d_non_finite += non_finite;
    }

    void clear(int slot) override
    {
        std::fill_n(d_image.begin() + d_pixels * slot, d_pixels, bp::pixel_sum{});
    }

    void mean_rows(cf32* out, int first_row, int rows, double scale) override
    {
        parallel_for(rows, [&](int i, int) {
            const std::size_t first =
                static_cast<std::size_t>(first_row + i) * d_scene.cols;
            cf32* row = out + static_cast<std::size_t>(i) * d_scene.cols;
            for (int j = 0; j < d_scene.cols; ++j)
                row[j] = bp::mean_of_slots(d_image.data() + first + j,
                                           static_cast<long long>(d_pixels),
                                           d_params.slots,
                                           scale);
        });
    }

    void read_counters(std::uint64_t& outside, std::uint64_t& non_finite) override
    {
        outside = d_outside;
        non_finite = d_non_finite;
    }

private:
    const std::size_t d_pixels; // of one sub-image
    std::vector<bp::tap_quad> d_table;
    std::vector<bp::pixel_sum> d_image; // [slot][row][col]
    std::atomic<std::uint64_t> d_outside{ 0 };
    std::atomic<std::uint64_t> d_non_finite{ 0 };
};

} // namespace

#ifdef SAR_HAVE_CUDA
std::unique_ptr<bp_accumulator>
make_bp_accumulator_cuda(const bp_accumulator_params& params,
                         const compute_target& target);
#endif

std::unique_ptr<bp_accumulator> bp_accumulator::make(const bp_accumulator_params& params,
                                                     const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_bp_accumulator_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<bp_accumulator_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
