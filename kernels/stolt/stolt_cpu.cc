// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/instruction_set.h"
#include "../core/parallel_for.h"
#include "stolt.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <gnuradio/fft/fft.h>

// The hot loops are compiled for several generations of x86, and one is picked at run
// time: see bp_accumulator_cpu.cc.
#define SAR_INTO_CLONE inline __attribute__((always_inline))

namespace gr {
namespace sar {
namespace kernel {

namespace {

//! Cells behind the image beyond what migrates past its ends: the tails of responses.
constexpr int guard_cells = 64;
//! Ranges of the swath that are looked at.
constexpr int looked_at = 16;

//! Signed ranges in cells from the ends of the image to what lies in a row beyond them.
double cells_beyond(const range_doppler_frame& f)
{
    double most = 0;
    const double slope = f.geometry == image_geometry::centroid ? f.factor : 1.0;
    for (int k = 0; k < f.rows; ++k) {
        const double frequency = doppler_frequency(f, k, f.centroid_hz);
        const double d = migration_factor(frequency, f.velocity_m_s, f.carrier_hz);
        for (const int n : { 0, f.cols - 1 }) {
            // closest range of what stands in the row's first or last sample
            const double r = (f.line_first_m - f.bias_m + n * f.spacing_m) * d;
            most =
                std::max(most, std::abs(r - closest_range(f, n)) / (f.spacing_m * slope));
        }
    }
    return most;
}

} // namespace

stolt::stolt(const stolt_params& params) : d_params(params), d_plan(params.geometry)
{
    const migration_interpolation how = params.interpolator;
    require(rcm::taps_of(how) > 2,
            "interpolation is '",
            to_string(how),
            "'; the Stolt mapping needs exact, sinc16 or sinc8");
    require(params.max_batch >= 1 && params.max_batch <= 32768,
            "max_batch is ",
            params.max_batch,
            "; expected 1 to 32768 rows");
    derive();
    // the image fills half of the forward transform at most
    d_taps = rcm::tap_table(how, 0.5);
}

//! Transforms for the frame as it is. \return have they changed?
bool stolt::derive()
{
    const range_doppler_frame& f = d_plan.frame();
    stolt_map::shape s;
    s.samples = s.cols = f.cols;
    s.carrier_hz = f.carrier_hz;
    const double beyond = cells_beyond(f);
    const double needed = f.cols + std::ceil(beyond) + guard_cells;
    require(needed <= (1 << 26),
            "rows of ",
            f.cols,
            " cells migrate by up to ",
            beyond,
            " cells; expected at most 2^26 together: check doppler_centroid_hz and "
            "effective_velocity_m_s");
    // a length that suffices stays: no new plans for every estimate
    s.length = 2 * needed <= d_shape.padded ? d_shape.length
                                            : line_fft_length(static_cast<int>(needed));
    s.padded = 2 * s.length;
    const double sampling_hz = speed_of_light / (2 * f.spacing_m);
    const mapped_band band = mapped_band_of(d_plan);
    s.bin_hz = sampling_hz / s.padded;
    s.step_hz = band.cells_hz / s.length;
    s.delay_s = 2 * (f.line_first_m - f.bias_m) / speed_of_light;
    s.reference_s = 2 * closest_range(f, f.cols / 2) / speed_of_light;

    require(band.needed_hz <= band.cells_hz,
            "oversampling is ",
            d_params.geometry.oversampling,
            ": the band of ",
            f.bandwidth_hz / 1e6,
            " MHz becomes up to ",
            band.widest_hz / 1e6,
            " MHz wide by the mapping, and cells hold ",
            band.cells_hz / 1e6,
            " MHz; expected an oversampling of ",
            band.oversampling,
            " or more");
    const bool changed = s.length != d_shape.length;
    d_shape = s;
    return changed;
}

void stolt::set_centroid(const std::vector<double>& coefficients_hz)
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

void stolt::process(const void* in, void* out, int first_row, int rows)
{
    require(first_row >= 0, "first_row is ", first_row, "; expected 0 or more");
    if (rows > 0)
        run(static_cast<const char*>(in),
            static_cast<char*>(out),
            first_row % d_plan.frame().rows,
            rows);
}

mapped_band mapped_band_of(const range_doppler_plan& plan)
{
    const range_doppler_frame& f = plan.frame();
    stolt_map::shape s;
    s.carrier_hz = f.carrier_hz;
    mapped_band b;
    for (int k = 0; k < f.rows; ++k) {
        const stolt_map::row r = stolt_map::row_of(f, k);
        const double half = f.bandwidth_hz / 2;
        const double low = stolt_map::k_of(s, r, -half);
        const double high = stolt_map::k_of(s, r, half);
        b.widest_hz = std::max(b.widest_hz, high - low);
        b.needed_hz = std::max({ b.needed_hz, 2 * high, -2 * low });
    }
    b.cells_hz = speed_of_light / (2 * (closest_range(f, 1) - closest_range(f, 0)));
    b.oversampling = static_cast<int>(
        std::ceil(b.needed_hz / b.cells_hz * plan.params().oversampling));
    return b;
}

double residual_migration_cells(const range_doppler_plan& plan)
{
    const range_doppler_frame& f = plan.frame();
    if (f.uniform)
        return 0;
    const std::vector<doppler_column> columns = plan.columns();
    double most = 0;
    for (int i = 0; i <= looked_at; ++i) {
        const doppler_column& c =
            columns[static_cast<std::int64_t>(f.cols - 1) * i / looked_at];
        for (int k = 0; k < f.rows; ++k) {
            const double own = doppler_frequency(f, k, c.centroid_hz);
            const double middle = doppler_frequency(f, k, f.centroid_hz);
            if (std::abs(own - middle) > f.prf_hz / 2)
                continue; // at the ends of the band, which are weighted away
            const double error =
                1 / migration_factor(own, c.velocity_m_s, f.carrier_hz) -
                1 / migration_factor(middle, f.velocity_m_s, f.carrier_hz);
            most = std::max(most, std::abs(error) * c.closest_m / f.spacing_m);
        }
    }
    return most;
}

// ---- CPU
// -------------------------------------------------------------------------------

namespace {

//! Bins that are prepared together: in arrays, which is what vectorises.
constexpr int strip = 64;

//! The spectrum, from bin -length on, times the reference function.
SAR_INTO_CLONE void run_reference(const stolt_map::shape& shape,
                                  const stolt_map::row& row,
                                  const cf32* from,
                                  cf32* to)
{
    const stolt_map::shape s = shape;
    const stolt_map::row r = row;
    alignas(64) float re[strip];
    alignas(64) float im[strip];
    for (int begin = 0; begin < s.padded; begin += strip) {
        for (int i = 0; i < strip; ++i) {
            const cf32 f = stolt_map::reference_factor(s, r, begin + i - s.length);
            re[i] = f.re;
            im[i] = f.im;
        }
        const int bins = std::min(strip, s.padded - begin);
        for (int i = 0; i < bins; ++i)
            to[begin + i] = cf32{ re[i], im[i] } * from[begin + i];
    }
}

//! Bins of the image from those of a row; \p to in the order of the inverse transform.
template <migration_interpolation how>
SAR_INTO_CLONE void run_mapping(const stolt_map::shape& shape,
                                const stolt_map::row& row,
                                const rcm::tap_quad* taps,
                                const cf32* from,
                                cf32* to)
{
    const stolt_map::shape s = shape;
    const stolt_map::row r = row;
    alignas(64) int first[strip];
    alignas(64) int phase[strip];
    alignas(64) float between[strip];
    alignas(64) float weight[strip];
    const int low = -(s.length / 2);
    for (int begin = 0; begin < s.length; begin += strip) {
        int outer = 0;
        for (int i = 0; i < strip; ++i) {
            const int k = low + begin + i;
            const rcm::place p =
                rcm::place_of<how>(stolt_map::position(s, r, k), s.padded);
            first[i] = p.first;
            phase[i] = p.row;
            between[i] = p.between;
            weight[i] = stolt_map::weight(s, r, k);
            outer |= !rcm::is_inner<how>(p, s.padded);
        }
        const int bins = std::min(strip, s.length - begin);
        for (int i = 0; i < bins; ++i) {
            const rcm::place p = { first[i], phase[i], between[i] };
            const cf32 v =
                outer ? rcm::value_of<how>(rcm::edged_line{ from, s.padded }, p, taps)
                      : rcm::value_of<how>(rcm::line_for<how>{ from }, p, taps);
            const int k = low + begin + i;
            to[k < 0 ? k + s.length : k] = weight[i] * v;
        }
    }
}

struct mapping_functions {
    void (*reference)(const stolt_map::shape&, const stolt_map::row&, const cf32*, cf32*);
    void (*map[3])(const stolt_map::shape&,
                   const stolt_map::row&,
                   const rcm::tap_quad*,
                   const cf32*,
                   cf32*); // sinc8, sinc16, exact
};

#define SAR_MAPPINGS(NAME, TARGET)                                                       \
    TARGET void NAME##_reference(                                                        \
        const stolt_map::shape& s, const stolt_map::row& r, const cf32* from, cf32* to)  \
    {                                                                                    \
        run_reference(s, r, from, to);                                                   \
    }                                                                                    \
    template <migration_interpolation how>                                               \
    TARGET void NAME##_map(const stolt_map::shape& s,                                    \
                           const stolt_map::row& r,                                      \
                           const rcm::tap_quad* taps,                                    \
                           const cf32* from,                                             \
                           cf32* to)                                                     \
    {                                                                                    \
        run_mapping<how>(s, r, taps, from, to);                                          \
    }                                                                                    \
    const mapping_functions NAME##_mappings = {                                          \
        NAME##_reference,                                                                \
        { NAME##_map<migration_interpolation::sinc8>,                                    \
          NAME##_map<migration_interpolation::sinc16>,                                   \
          NAME##_map<migration_interpolation::exact> }                                   \
    }

SAR_MAPPINGS(plain, );
#ifdef SAR_HAVE_X86_SETS
SAR_MAPPINGS(avx2, SAR_FOR_AVX2);
SAR_MAPPINGS(avx512, SAR_FOR_AVX512);
#endif

const mapping_functions& mappings_of_this_machine()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return avx512_mappings;
    case instruction_set::avx2:
        return avx2_mappings;
#endif
    default:
        return plain_mappings;
    }
}

cf32* as_cf32(gr_complex* p) { return reinterpret_cast<cf32*>(p); }

class stolt_cpu final : public stolt
{
public:
    explicit stolt_cpu(const stolt_params& params)
        : stolt(params),
          d_functions(mappings_of_this_machine()),
          d_map(d_functions
                    .map[params.interpolator == migration_interpolation::sinc8    ? 0
                         : params.interpolator == migration_interpolation::sinc16 ? 1
                                                                                  : 2])
    {
        refresh(true);
    }

    std::uint64_t bad_lines() const override { return d_bad_lines; }

protected:
    void refresh(bool shape_changed) override
    {
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
            const int k = static_cast<int>((static_cast<long long>(first_row) + i) %
                                           d_plan.frame().rows);
            map(*w, in + i * bytes_in(), out + i * bytes_out(), k);
        });
    }

private:
    //! Transforms with their buffers; gr::fft locks the planner, nothing is shared.
    struct worker {
        explicit worker(const stolt_cpu& owner)
            : forward(owner.d_shape.padded),
              inverse(owner.d_shape.length),
              spectrum(owner.d_shape.padded),
              line(owner.cols())
        {
            // complex transforms keep their input (FFTW's default), so the zeros of the
            // padding are written once; planning has overwritten them
            std::fill_n(forward.get_inbuf(), owner.d_shape.padded, gr_complex(0));
        }
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
        volk::vector<cf32> spectrum;
        std::vector<cf32> line;
    };

    void map(worker& w, const char* from, char* to, int k)
    {
        const stolt_map::shape& s = d_shape;
        load_line(d_params.input, from, s.samples, w.line.data());
        bool finite = true;
        for (const cf32& v : w.line)
            finite &= is_finite(v);
        cf32* const padded = as_cf32(w.forward.get_inbuf());
        // times (-1)^n: the transform begins at bin -length
        for (int n = 0; n < s.samples; ++n)
            padded[n] = (n & 1 ? -1.0f : 1.0f) * w.line[n];
        if (finite) {
            const stolt_map::row row = stolt_map::row_of(d_plan.frame(), k);
            w.forward.execute();
            d_functions.reference(
                s, row, as_cf32(w.forward.get_outbuf()), w.spectrum.data());
            d_map(
                s, row, d_taps.data(), w.spectrum.data(), as_cf32(w.inverse.get_inbuf()));
            w.inverse.execute();
            const cf32* const cells = as_cf32(w.inverse.get_outbuf());
            // cell 0 stands cols / 2 before the middle, which is at 0
            const int before = s.cols / 2;
            std::copy_n(cells + s.length - before, before, w.line.data());
            std::copy_n(cells, s.cols - before, w.line.data() + before);
        } else {
            std::fill(w.line.begin(), w.line.end(), cf32{ 0, 0 });
            ++d_bad_lines;
        }
        store_line(d_params.output, w.line.data(), s.cols, to);
    }

    const mapping_functions& d_functions;
    void (*const d_map)(const stolt_map::shape&,
                        const stolt_map::row&,
                        const rcm::tap_quad*,
                        const cf32*,
                        cf32*);
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread, made when it runs
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<stolt> stolt::make(const stolt_params& params,
                                   const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_stolt_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<stolt_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
