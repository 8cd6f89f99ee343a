// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/errors.h"
#include "../core/instruction_set.h"
#include "../core/parallel_for.h"
#include "../pulse_compression/pulse_compression.h"
#include "chirp_scaling.h"
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

//! Zeros beyond what pulse and migration need: the tails of responses.
constexpr int guard_samples = 64;

//! All but the lengths of the transforms.
scaling::shape shape_of(const range_doppler_plan& plan)
{
    const acquisition& acq = plan.params().acq;
    const range_doppler_frame& f = plan.frame();
    const double c = speed_of_light;
    scaling::shape s;
    s.samples = acq->samples;
    s.cols = f.cols;
    s.sampling_hz = acq->sample_rate_hz;
    s.chirp_rate = acq->chirp_rate_hz_per_s;
    s.carrier_hz = f.carrier_hz;
    s.reference_m = f.middle_m;
    s.reference_factor = f.geometry == image_geometry::centroid ? f.factor : 1.0;
    s.cell_first_m = closest_range(f, 0);
    s.cell_m = closest_range(f, 1) - closest_range(f, 0);
    // a raw echo begins (or has its middle) where the pulse's reference says
    const double middle_s =
        acq->pulse_ref == pulse_reference::centre ? 0.0 : acq->pulse_length_s / 2;
    s.first_s = 2 * (f.line_first_m - f.bias_m) / c - middle_s;
    const double cell0_m = s.cell_first_m / s.reference_factor + f.bias_m; // measured
    s.shift_s = 2 * (cell0_m - f.line_first_m) / c;
    return s;
}

} // namespace

chirp_scaling_bounds chirp_scaling_bounds_of(const range_doppler_plan& plan)
{
    const acquisition& acq = plan.params().acq;
    const range_doppler_frame& f = plan.frame();
    const scaling::shape s = shape_of(plan);
    const double c = speed_of_light;
    const double half = acq.bandwidth_hz() / 2;
    int first = 0;
    int count = 0;
    plan.complete(first, count);
    chirp_scaling_bounds b;
    for (int k = 0; k < f.rows; ++k) {
        const double frequency = doppler_frequency(f, k, f.centroid_hz);
        const scaling::row r = scaling::row_of(f, s, k);
        const auto z = [&](double closest) {
            return scaling::coupling(
                closest, frequency, r.factor, f.velocity_m_s, f.carrier_hz);
        };
        for (const int n : { first, first + count - 1 }) {
            const double closest = closest_range(f, n);
            b.phase_error_rad =
                std::max(b.phase_error_rad,
                         pi * half * half * std::abs(z(closest) - z(s.reference_m)));
            b.band_shift_hz =
                std::max(b.band_shift_hz,
                         std::abs(r.rate * (s.reference_factor / r.factor - 1) * 2 *
                                  (closest - s.reference_m) / (c * r.factor)));
        }
        for (const double ft : { -half, half }) {
            const double step = 1e-3 * half;
            b.delay_samples = std::max(b.delay_samples,
                                       std::abs(scaling::filter_cycles(s, r, ft + step) -
                                                scaling::filter_cycles(s, r, ft - step)) /
                                           (2 * step) * s.sampling_hz);
        }
    }
    return b;
}

chirp_scaling::chirp_scaling(const chirp_scaling_params& params)
    : d_params(params), d_plan(params.geometry)
{
    const acquisition& acq = params.geometry.acq;
    require(acq->wave == waveform::pulsed_lfm,
            "waveform is ",
            to_string(acq->wave),
            "; chirp scaling needs the chirp of a pulsed_lfm recording: compress others "
            "first and use rcmc or stolt");
    require(params.max_batch >= 1 && params.max_batch <= 32768,
            "max_batch is ",
            params.max_batch,
            "; expected 1 to 32768 rows");
    derive();
}

//! Transforms for the frame as it is. \return have they changed?
bool chirp_scaling::derive()
{
    const acquisition& acq = d_params.geometry.acq;
    const chirp_scaling_bounds bounds = chirp_scaling_bounds_of(d_plan);
    const double phase = bounds.phase_error_rad;
    const double shift = bounds.band_shift_hz;
    scaling::shape s = shape_of(d_plan);
    require(
        phase <= pi / 2,
        "chirp scaling takes the chirp rate of the middle of the swath, which leaves ",
        phase,
        " rad at the edges of the band at the ends of this swath; expected at most "
        "pi / 2: use stolt, or a narrower swath");
    const double spare = (s.sampling_hz - acq.bandwidth_hz()) / 2;
    require(shift <= spare + 0.1 * acq.bandwidth_hz(),
            "chirp scaling moves the band of points at the ends of this swath by ",
            shift,
            " Hz, and the sampling rate has ",
            spare,
            " Hz to spare; expected less: use stolt, a narrower swath or geometry "
            "centroid");
    const double needed =
        s.samples + acq.pulse_samples() + std::ceil(bounds.delay_samples) + guard_samples;
    require(needed * d_params.geometry.oversampling <= (1 << 27),
            "rows of ",
            s.samples,
            " samples are delayed by up to ",
            bounds.delay_samples,
            " samples; expected at most 2^27 together: check doppler_centroid_hz and "
            "effective_velocity_m_s");
    // a length that suffices stays: no new plans for every estimate
    s.length = needed <= d_shape.length ? d_shape.length
                                        : line_fft_length(static_cast<int>(needed));
    s.padded = s.length * d_params.geometry.oversampling;
    const bool changed = s.length != d_shape.length;
    if (changed)
        d_filter = matched_filter(
            { acq, d_params.geometry.oversampling, d_params.range_window, {} }, s.length);
    d_shape = s;
    d_bounds = bounds;
    return changed;
}

void chirp_scaling::set_centroid(const std::vector<double>& coefficients_hz)
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

void chirp_scaling::process(const void* in, void* out, int first_row, int rows)
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

constexpr int strip = 64;

//! to[i] = factor(first + i) * from[i], the factors in arrays, which is what vectorises.
template <typename Factor>
SAR_INTO_CLONE void
run_product(int first, int count, const cf32* from, cf32* to, Factor factor)
{
    alignas(64) float re[strip];
    alignas(64) float im[strip];
    for (int begin = 0; begin < count; begin += strip) {
        for (int i = 0; i < strip; ++i) {
            const cf32 f = factor(first + begin + i);
            re[i] = f.re;
            im[i] = f.im;
        }
        const int n = std::min(strip, count - begin);
        for (int i = 0; i < n; ++i)
            to[begin + i] = cf32{ re[i], im[i] } * from[begin + i];
    }
}

struct scaling_functions {
    void (*scale)(const scaling::shape&, const scaling::row&, const cf32*, cf32*);
    void (*filter)(const scaling::shape&, const scaling::row&, const cf32*, cf32*);
    void (*residual)(const scaling::shape&, const scaling::row&, const cf32*, cf32*);
};

#define SAR_SCALINGS(NAME, TARGET)                                                       \
    TARGET void NAME##_scale(const scaling::shape& shape,                                \
                             const scaling::row& row,                                    \
                             const cf32* from,                                           \
                             cf32* to)                                                   \
    {                                                                                    \
        const scaling::shape s = shape;                                                  \
        const scaling::row r = row;                                                      \
        run_product(0, s.samples, from, to, [=](int n) {                                 \
            return scaling::scaling_factor(s, r, n);                                     \
        });                                                                              \
    }                                                                                    \
    TARGET void NAME##_filter(const scaling::shape& shape,                               \
                              const scaling::row& row,                                   \
                              const cf32* from,                                          \
                              cf32* to)                                                  \
    {                                                                                    \
        const scaling::shape s = shape;                                                  \
        const scaling::row r = row;                                                      \
        const int half = s.length / 2;                                                   \
        const int gap = s.padded - s.length;                                             \
        run_product(0, half + 1, from, to, [=](int k) {                                  \
            return scaling::filter_factor(s, r, k);                                      \
        });                                                                              \
        const int first = s.length - half;                                               \
        run_product(-half, half, from + first, to + first + gap, [=](int k) {            \
            return scaling::filter_factor(s, r, k);                                      \
        });                                                                              \
    }                                                                                    \
    TARGET void NAME##_residual(const scaling::shape& shape,                             \
                                const scaling::row& row,                                 \
                                const cf32* from,                                        \
                                cf32* to)                                                \
    {                                                                                    \
        const scaling::shape s = shape;                                                  \
        const scaling::row r = row;                                                      \
        run_product(0, s.cols, from, to, [=](int n) {                                    \
            return scaling::residual_factor(s, r, n);                                    \
        });                                                                              \
    }                                                                                    \
    const scaling_functions NAME##_scalings = { NAME##_scale,                            \
                                                NAME##_filter,                           \
                                                NAME##_residual }

SAR_SCALINGS(plain, );
#ifdef SAR_HAVE_X86_SETS
SAR_SCALINGS(avx2, SAR_FOR_AVX2);
SAR_SCALINGS(avx512, SAR_FOR_AVX512);
#endif

const scaling_functions& scalings_of_this_machine()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return avx512_scalings;
    case instruction_set::avx2:
        return avx2_scalings;
#endif
    default:
        return plain_scalings;
    }
}

cf32* as_cf32(gr_complex* p) { return reinterpret_cast<cf32*>(p); }

class chirp_scaling_cpu final : public chirp_scaling
{
public:
    explicit chirp_scaling_cpu(const chirp_scaling_params& params)
        : chirp_scaling(params), d_functions(scalings_of_this_machine())
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
            scale(*w, in + i * bytes_in(), out + i * bytes_out(), k);
        });
    }

private:
    //! Transforms with their buffers; gr::fft locks the planner, nothing is shared.
    struct worker {
        explicit worker(const chirp_scaling_cpu& owner)
            : forward(owner.d_shape.length),
              inverse(owner.d_shape.padded),
              raw(owner.samples()),
              filtered(owner.d_shape.length),
              cells(owner.cols())
        {
            // Complex transforms keep their input (FFTW's default), so the zeros of the
            // padding are written once; planning has overwritten them.
            std::fill_n(forward.get_inbuf(), owner.d_shape.length, gr_complex(0));
            std::fill_n(inverse.get_inbuf(), owner.d_shape.padded, gr_complex(0));
        }
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
        std::vector<cf32> raw;
        std::vector<cf32> filtered;
        std::vector<cf32> cells;
    };

    void scale(worker& w, const char* from, char* to, int k)
    {
        const scaling::shape& s = d_shape;
        load_line(d_params.input, from, s.samples, w.raw.data());
        if (std::all_of(
                w.raw.begin(), w.raw.end(), [](const cf32& v) { return is_finite(v); })) {
            const scaling::row row = scaling::row_of(d_plan.frame(), s, k);
            d_functions.scale(s, row, w.raw.data(), as_cf32(w.forward.get_inbuf()));
            w.forward.execute();
            const cf32* spectrum = as_cf32(w.forward.get_outbuf());
            for (int j = 0; j < s.length; ++j)
                w.filtered[j] = d_filter[j] * spectrum[j];
            d_functions.filter(s, row, w.filtered.data(), as_cf32(w.inverse.get_inbuf()));
            w.inverse.execute();
            d_functions.residual(s, row, as_cf32(w.inverse.get_outbuf()), w.cells.data());
        } else {
            std::fill(w.cells.begin(), w.cells.end(), cf32{ 0, 0 });
            ++d_bad_lines;
        }
        store_line(d_params.output, w.cells.data(), s.cols, to);
    }

    const scaling_functions& d_functions;
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread, made when it runs
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<chirp_scaling> chirp_scaling::make(const chirp_scaling_params& params,
                                                   const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_chirp_scaling_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<chirp_scaling_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
