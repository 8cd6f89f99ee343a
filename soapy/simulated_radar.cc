// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulated_radar.h"
#include "../kernels/core/constants.h"
#include "../kernels/core/errors.h"
#include "../kernels/core/instruction_set.h"
#include "../kernels/core/interpolator.h"
#include "../kernels/core/phasor.h"
#include "../kernels/point_target_source/point_target_source_math.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// Hot loops are compiled for several generations of x86, as in bp_accumulator_cpu.cc.
#define SAR_INTO_CLONE inline __attribute__((always_inline))

namespace gr {
namespace sar {

// Noise, walk and front end go by blocks of the receiver's count of samples: a block is
// the same work whichever part of it is asked for, and so are its samples.
constexpr int block = 64;

//! What phase noise has in common in all blocks.
struct walk_shape {
    float keep, step;    // from sample to sample
    float lost[block];   // keep^i - 1
    float bridge[block]; // share of sample i in what is missing at the end
    double keep_block, step_block;
};

namespace {

constexpr int piece_max = 64; // samples that share taps, at most
constexpr int piece_min = 8;
constexpr double tap_slack = 1.3e-4;  // samples that the delay may be off the taps
constexpr double knot_s = 200e-6;     // the delay is straight for so long at most
constexpr double ramp_knot_s = 20e-6; // ... in a sweep
constexpr std::int64_t knot_max = 2048;

// ---- a path: fractional delay, rotation, sum
// --------------------------------------------

struct path_job {
    const float* re; // window of the transmitter's line
    const float* im;
    std::int64_t window; // its first sample, relative to the first of the region
    int begin, end;      // samples of the region to work on, multiples of 64
    const float* table;  // [sinc_phases + 2][taps]
    double relative;     // k - n at the first sample of the region, and its rate
    double rate;
    double cycles;
    double cycle_rate;
    double amplitude_re, amplitude_im;
    int piece;
    float* sum_re;
    float* sum_im;
};

template <int taps>
SAR_INTO_CLONE void run_path(const path_job& j)
{
    // the rotation within a piece is the same in each
    alignas(64) float turn_re[piece_max], turn_im[piece_max];
    for (int i = 0; i < piece_max; ++i) {
        const cf32 w = unit_phasor(fractional_cycles(i * j.cycle_rate));
        turn_re[i] = w.re;
        turn_im[i] = w.im;
    }
    for (int p = j.begin; p < j.end; p += j.piece) {
        const double at = j.relative + j.rate * (p + 0.5 * j.piece);
        const double whole = std::floor(at);
        const float place = static_cast<float>((at - whole) * sinc_phases);
        const int row = static_cast<int>(place);
        const float part = place - row;
        const float* low = j.table + row * taps;
        float h[taps];
        for (int k = 0; k < taps; ++k)
            h[k] = low[k] + part * (low[taps + k] - low[k]);
        const std::int64_t first =
            p + static_cast<std::int64_t>(whole) - (taps / 2 - 1) - j.window;
        const float* re = j.re + first;
        const float* im = j.im + first;
        const cf64 start = times({ j.amplitude_re, j.amplitude_im },
                                 unit_phasor64(j.cycles + p * j.cycle_rate));
        const float a = static_cast<float>(start.re), b = static_cast<float>(start.im);
        float* sum_re = j.sum_re + p;
        float* sum_im = j.sum_im + p;
        alignas(64) float y_re[piece_max], y_im[piece_max];
        for (int l = 0; l < j.piece; ++l)
            y_re[l] = y_im[l] = 0;
        // 12 taps or fewer at a time: more do not stay in registers
        constexpr int group = taps % 12 == 0 ? 12 : 8;
        for (int g = 0; g < taps; g += group)
            for (int l = 0; l < j.piece; ++l) {
                float a_re = y_re[l], a_im = y_im[l];
                for (int k = 0; k < group; ++k) {
                    a_re += h[g + k] * re[l + g + k];
                    a_im += h[g + k] * im[l + g + k];
                }
                y_re[l] = a_re;
                y_im[l] = a_im;
            }
        for (int l = 0; l < j.piece; ++l) {
            const float w_re = a * turn_re[l] - b * turn_im[l];
            const float w_im = a * turn_im[l] + b * turn_re[l];
            sum_re[l] += y_re[l] * w_re - y_im[l] * w_im;
            sum_im[l] += y_re[l] * w_im + y_im[l] * w_re;
        }
    }
}

SAR_INTO_CLONE void run_path(const path_job& j, int taps)
{
    switch (taps) {
    case 8:
        return run_path<8>(j);
    case 16:
        return run_path<16>(j);
    case 24:
        return run_path<24>(j);
    default:
        return run_path<32>(j);
    }
}

// ---- noise
// ------------------------------------------------------------------------------

//! Natural logarithm of 0 < u <= 1 within 2e-7 (polynomial of Cephes' logf).
SAR_INTO_CLONE float log_of(float u)
{
    std::int32_t bits;
    std::memcpy(&bits, &u, 4);
    // mantissa in [sqrt(1/2), sqrt(2))
    const std::int32_t shifted = bits - 0x3f3504f3;
    const float e = static_cast<float>(shifted >> 23);
    bits = (shifted & 0x007fffff) + 0x3f3504f3;
    float m;
    std::memcpy(&m, &bits, 4);
    const float x = m - 1;
    const float z = x * x;
    float y = 7.0376836292e-2f;
    y = y * x - 1.1514610310e-1f;
    y = y * x + 1.1676998740e-1f;
    y = y * x - 1.2420140846e-1f;
    y = y * x + 1.4249322787e-1f;
    y = y * x - 1.6668057665e-1f;
    y = y * x + 2.0000714765e-1f;
    y = y * x - 2.4999993993e-1f;
    y = y * x + 3.3333331174e-1f;
    y = y * x * z - 2.12194440e-4f * e - 0.5f * z;
    return x + y + 0.693359375f * e;
}

//! Circular Gaussian of mean power 1 (Box and Muller, in float).
SAR_INTO_CLONE void gaussian_of(std::uint32_t a, std::uint32_t b, float& re, float& im)
{
    // signed conversions, which every instruction set has; 24 bits are exact
    const float u = (static_cast<std::int32_t>(a >> 8) + 0.5f) * (1.0f / 16777216);
    const float r = std::sqrt(-log_of(std::min(u, 1.0f)));
    const cf32 e = unit_phasor(static_cast<std::int32_t>(b) * (0.5f / 2147483648.0f));
    re = r * e.re;
    im = r * e.im;
}

constexpr std::uint32_t walk_stream = 7, node_stream = 8; // beside those of the channels

//! Circular Gaussians of mean power 1, \p calls * 2 of them; \p number counts blocks.
template <int calls>
SAR_INTO_CLONE void run_noise(std::int64_t number,
                              std::uint32_t stream,
                              std::uint64_t seed,
                              float* re,
                              float* im)
{
    const std::uint64_t counter = static_cast<std::uint64_t>(number) * calls;
    const auto low = static_cast<std::uint32_t>(counter);
    const auto high = static_cast<std::uint32_t>(counter >> 32);
    for (int i = 0; i < calls; ++i) {
        const random_words r = philox(low + i, high, stream, 0x5a125u, seed);
        gaussian_of(r.w[0], r.w[1], re[i], im[i]);
        gaussian_of(r.w[2], r.w[3], re[calls + i], im[calls + i]);
    }
}

// ---- phase noise
// ------------------------------------------------------------------------

struct walk_job {
    std::int64_t number; // of the block
    std::uint64_t seed;
    const walk_shape* shape;
    double begin, end; // of the walk, cycles
    float* out;
};

//! A walk whose begin and end are known: one that goes as it likes, and what is missing
//! at its end taken in by each sample as far as it is correlated with the end.
SAR_INTO_CLONE void run_walk(const walk_job& j)
{
    alignas(64) float white[block], y[block];
    run_noise<block / 4>(j.number, walk_stream, j.seed, white, white + block / 2);
    const walk_shape& s = *j.shape;
    float free = 0;
    for (int i = 0; i < block; ++i) {
        y[i] = free;
        free = s.keep * free + s.step * white[i];
    }
    const float missing = static_cast<float>(j.end - s.keep_block * j.begin) - free;
    const float begin = fractional_cycles(j.begin), all = static_cast<float>(j.begin);
    for (int i = 0; i < block; ++i)
        j.out[i] = begin + all * s.lost[i] + y[i] + missing * s.bridge[i];
}

// ---- front end
// --------------------------------------------------------------------------

struct finish_job {
    std::int64_t number; // of the block
    std::uint64_t seed;
    std::uint32_t channel;
    float noise;              // amplitude; 0: none
    const float* turn;        // cycles within a block
    float cycles;             // at its begin
    float gain_cos, gain_sin; // of the quadrature branch
    cf32 dc;
    float levels; // full scale in steps; 0: no converter
    // of the block in work
    const float* re; // null: nothing comes in
    const float* im;
    const float* walk; // cycles of each sample; null: none
    int from, to;      // what of it is wanted
    cf32* out;         // all of it
};

SAR_INTO_CLONE int run_finish(const finish_job& j)
{
    alignas(64) float re[block], im[block];
    if (j.noise > 0) {
        run_noise<block / 2>(j.number, j.channel, j.seed, re, im);
        for (int i = 0; i < block; ++i) {
            re[i] *= j.noise;
            im[i] *= j.noise;
        }
    } else {
        for (int i = 0; i < block; ++i)
            re[i] = im[i] = 0;
    }
    if (j.re) {
        alignas(64) float turn[block];
        for (int i = 0; i < block; ++i)
            turn[i] = j.cycles + j.turn[i];
        if (j.walk)
            for (int i = 0; i < block; ++i)
                turn[i] += j.walk[i];
        for (int i = 0; i < block; ++i) {
            const cf32 w = unit_phasor(turn[i] - rintf(turn[i]));
            re[i] += j.re[i] * w.re - j.im[i] * w.im;
            im[i] += j.re[i] * w.im + j.im[i] * w.re;
        }
    }
    for (int i = 0; i < block; ++i) {
        im[i] = j.gain_cos * im[i] + j.gain_sin * re[i] + j.dc.im;
        re[i] += j.dc.re;
    }
    int clipped = 0;
    if (j.levels > 0) {
        const float top = j.levels - 1, bottom = -j.levels, step = 1 / j.levels;
        for (int i = 0; i < block; ++i) {
            const float a = rintf(re[i] * j.levels), b = rintf(im[i] * j.levels);
            const float a2 = std::min(std::max(a, bottom), top);
            const float b2 = std::min(std::max(b, bottom), top);
            clipped += ((a2 != a) | (b2 != b)) & (i >= j.from) & (i < j.to);
            re[i] = a2 * step; // a power of two: exact
            im[i] = b2 * step;
        }
    }
    for (int i = 0; i < block; ++i)
        j.out[i] = { re[i], im[i] };
    return clipped;
}

// ---- one clone of each for each generation
// ----------------------------------------------

#define SAR_CLONES(name, target)                                                         \
    target void path_##name(const path_job& j, int taps) { run_path(j, taps); }          \
    target void walk_##name(const walk_job& j) { run_walk(j); }                          \
    target int finish_##name(const finish_job& j) { return run_finish(j); }

SAR_CLONES(plain, )
#ifdef SAR_HAVE_X86_SETS
SAR_CLONES(avx2, SAR_FOR_AVX2)
SAR_CLONES(avx512, SAR_FOR_AVX512)
#endif

struct clones {
    void (*path)(const path_job&, int);
    void (*walk)(const walk_job&);
    int (*finish)(const finish_job&);
};

clones clones_of_this_machine()
{
    switch (instructions_of_this_machine()) {
#ifdef SAR_HAVE_X86_SETS
    case instruction_set::avx512:
        return { path_avx512, walk_avx512, finish_avx512 };
    case instruction_set::avx2:
        return { path_avx2, walk_avx2, finish_avx2 };
#endif
    default:
        return { path_plain, walk_plain, finish_plain };
    }
}

const clones& hot()
{
    static const clones c = clones_of_this_machine();
    return c;
}

int taps_for(double band)
{
    return band <= 0.5 ? 8 : band <= 0.75 ? 16 : band <= 0.83 ? 24 : 32;
}

} // namespace

// ---- scene
// ------------------------------------------------------------------------------

std::vector<point_target>
clutter(int points, vec3 corner_m, vec3 opposite_m, double power, std::uint64_t seed)
{
    require(points >= 1, "clutter points is ", points, "; expected 1 or more");
    require(is_finite(corner_m) && is_finite(opposite_m),
            "clutter corner_m or opposite_m is not finite; expected x, y, z in metres");
    require(std::isfinite(power) && power >= 0,
            "clutter power is ",
            power,
            "; expected 0 or more");
    std::vector<point_target> all;
    const double scale = std::sqrt(power / points);
    for (int i = 0; i < points; ++i) {
        const random_words where = philox(i, 0, 1, 0xc1077e5, seed);
        const random_words what = philox(i, 0, 2, 0xc1077e5, seed);
        const auto part = [](std::uint32_t w) { return (w + 0.5) / 4294967296.0; };
        const vec3 d = opposite_m - corner_m;
        const cf64 a = gaussian(what.w[0], what.w[1]);
        all.push_back({ corner_m + vec3{ part(where.w[0]) * d.x,
                                         part(where.w[1]) * d.y,
                                         part(where.w[2]) * d.z },
                        { scale * a.re, scale * a.im } });
    }
    return all;
}

simulated_radar::simulated_radar(const radar_scene& scene)
    : d_scene(scene), d_walk_shape(std::make_unique<walk_shape>())
{
    require_finite(scene.targets);
    require(std::isfinite(scene.hold_s) && scene.hold_s >= 0,
            "hold_s is ",
            scene.hold_s,
            " s; expected 0 (the antenna moves) or more");
    require(std::isfinite(scene.spreading_reference_m) &&
                scene.spreading_reference_m >= 0,
            "spreading_reference_m is ",
            scene.spreading_reference_m,
            " m; expected 0 (no loss) or more");
    require(scene.beam_rad >= 0 && scene.beam_rad <= pi,
            "beam_rad is ",
            scene.beam_rad,
            " rad; expected 0 (the antenna sees everything) to pi");
    require(std::abs(scene.beam_squint_rad) < pi / 2,
            "beam_squint_rad is ",
            scene.beam_squint_rad,
            " rad; expected more than -pi / 2 and less than pi / 2");
    configure(d_front_end);
}

simulated_radar::~simulated_radar() = default;

void simulated_radar::configure(const radar_front_end& f, std::int64_t at)
{
    const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
    const auto level = [](const char* name, double x) {
        require(std::isfinite(x) && x >= 0, name, " is ", x, "; expected 0 or more");
    };
    require(positive(f.sample_rate_hz),
            "sample_rate_hz is ",
            f.sample_rate_hz,
            " Hz; expected more than 0");
    require(positive(f.carrier_hz),
            "carrier_hz is ",
            f.carrier_hz,
            " Hz; expected more than 0");
    require(f.occupied_band > 0 && f.occupied_band <= 0.9,
            "occupied_band is ",
            f.occupied_band,
            " of the sampling rate; expected more than 0, at most 0.9");
    require(std::isfinite(f.delay_samples) && f.delay_samples >= 0,
            "delay_samples is ",
            f.delay_samples,
            "; expected 0 or more");
    require(std::abs(f.clock_error) <= 1e-3,
            "clock_error is ",
            1e6 * f.clock_error,
            " ppm; expected -1000 to 1000");
    level("gain", f.gain);
    level("leakage", f.leakage);
    level("leakage_delay_s", f.leakage_delay_s);
    level("reference_gain", f.reference_gain);
    level("noise_power", f.noise_power);
    level("phase_noise_loop_hz", f.phase_noise_loop_hz);
    require(
        std::isfinite(f.offset_hz) && std::isfinite(f.phase_rad) &&
            std::isfinite(f.leakage_phase_rad),
        "offset_hz, phase_rad or leakage_phase_rad is not a number; expected Hz, rad");
    require(std::isfinite(f.phase_noise_dbc_hz) && positive(f.phase_noise_offset_hz),
            "phase noise is ",
            f.phase_noise_dbc_hz,
            " dBc/Hz at ",
            f.phase_noise_offset_hz,
            " Hz; expected a level at an offset above 0");
    require(std::isfinite(f.imbalance_db) && std::abs(f.imbalance_rad) < pi / 2,
            "imbalance is ",
            f.imbalance_db,
            " dB, ",
            f.imbalance_rad,
            " rad; expected less than pi / 2");
    require(is_finite(f.dc), "dc is not finite; expected two numbers");
    require(std::isfinite(f.ramp_hz_per_s),
            "ramp_hz_per_s is ",
            f.ramp_hz_per_s,
            " Hz/s; expected a number, 0 for no ramp");
    require(f.ramp_hz_per_s == 0 ||
                (f.ramp_s * f.sample_rate_hz >= 8 && f.ramp_period_s >= f.ramp_s &&
                 std::isfinite(f.ramp_period_s)),
            "ramp of ",
            f.ramp_s,
            " s each ",
            f.ramp_period_s,
            " s; expected 8 samples or more, and no longer than the period");
    require(f.adc_bits >= 0 && f.adc_bits <= 24,
            "adc_bits is ",
            f.adc_bits,
            "; expected 0 (no converter) to 24");

    const double turned = f.phase_rad - d_front_end.phase_rad;
    if (f.sample_rate_hz == d_front_end.sample_rate_hz)
        d_phase_cycles += turned / (2 * pi) +
                          (d_front_end.offset_hz - f.offset_hz) * at / f.sample_rate_hz;
    else
        d_phase_cycles = f.phase_rad / (2 * pi);
    if (d_table.empty() || f.occupied_band != d_front_end.occupied_band) {
        d_taps = taps_for(f.occupied_band);
        d_table = least_squares_table(d_taps, f.occupied_band);
    }
    d_front_end = f;
    d_node_batch = -1; // the seed may be another
    shape_walk();
    d_knot = f.ramp_hz_per_s ? piece_min : piece_max;
    while (d_knot < knot_max &&
           2 * d_knot <= (f.ramp_hz_per_s ? ramp_knot_s : knot_s) * f.sample_rate_hz)
        d_knot *= 2;
    d_lines_from = -1;
}

void simulated_radar::set_start(double start_s)
{
    d_start_s = start_s;
    d_lines_from = -1;
    d_next = 0;
    d_oldest = 0;
    d_walk_held = d_walk.empty() ? 0 : d_walk.back();
    d_walk.clear();
}

// ---- geometry
// ---------------------------------------------------------------------------

double simulated_radar::time_of(std::int64_t n) const
{
    return d_start_s + n / d_front_end.sample_rate_hz;
}

vec3 simulated_radar::antenna(double t_s) const
{
    // before and after the record it stands still
    return d_scene.track.position(
        std::clamp(t_s, d_scene.track.first_s(), d_scene.track.last_s()));
}

simulated_radar::stretch simulated_radar::stretch_of(std::int64_t n) const
{
    stretch s{ n / d_knot * d_knot, 0 };
    s.end = s.begin + d_knot;
    // cut at the edges origin + i period; one closer than 1e-6 samples to a sample counts
    // as on it
    const auto cut = [&](double origin, double period) {
        const double i = std::floor((n + 1e-6 - origin) / period);
        const auto edge = [&](double k) {
            return static_cast<std::int64_t>(std::ceil(origin + k * period - 1e-6));
        };
        s.begin = std::max(s.begin, edge(i));
        s.end = std::min(s.end, std::max(edge(i + 1), n + 1));
    };
    const radar_front_end& f = d_front_end;
    if (d_scene.hold_s > 0)
        cut(0, d_scene.hold_s * f.sample_rate_hz);
    if (f.ramp_hz_per_s != 0) {
        const double first = static_cast<double>(f.ramp_begin);
        cut(first, f.ramp_period_s * f.sample_rate_hz);
        cut(first + f.ramp_s * f.sample_rate_hz, f.ramp_period_s * f.sample_rate_hz);
    }
    return s;
}

//! Seconds into a ramp at the first sample of a stretch; -1 between ramps.
double simulated_radar::ramp_time(std::int64_t n) const
{
    const radar_front_end& f = d_front_end;
    if (f.ramp_hz_per_s == 0 || n < f.ramp_begin)
        return -1;
    const double since = static_cast<double>(n - f.ramp_begin);
    const double period = f.ramp_period_s * f.sample_rate_hz;
    const double u = since - period * std::floor((since + 1e-6) / period);
    return u < f.ramp_s * f.sample_rate_hz - 1e-6 ? u / f.sample_rate_hz : -1;
}

vec3 simulated_radar::position(std::int64_t n) const
{
    if (d_scene.hold_s > 0) {
        const double hold = d_scene.hold_s * d_front_end.sample_rate_hz;
        return antenna(d_start_s + std::floor((n + 1e-6) / hold) * d_scene.hold_s);
    }
    return antenna(time_of(n));
}

double
simulated_radar::delay_s(const vec3& target, std::int64_t n, const stretch& s) const
{
    if (d_scene.hold_s > 0)
        return 2 * length(target - position(s.begin)) / speed_of_light;
    const double t = time_of(n);
    const double now_m = length(target - antenna(t));
    double tau = 2 * now_m / speed_of_light;
    for (int round = 0; round < 2; ++round)
        tau = (length(target - antenna(t - tau)) + now_m) / speed_of_light;
    return tau;
}

void simulated_radar::make_lines(const stretch& s)
{
    if (d_lines_from == s.begin)
        return;
    d_lines_from = s.begin;
    const radar_front_end& f = d_front_end;
    const double samples = static_cast<double>(s.end - s.begin);
    const double into_ramp_s = ramp_time(s.begin);
    // phase of a delay, so many samples after the stretch began
    const auto cycles_of = [&](double tau_s, double after) {
        echo_model m{};
        m.carrier_hz = f.carrier_hz;
        m.sign = -1;
        if (into_ramp_s >= 0) {
            m.carrier_hz += f.ramp_hz_per_s * (into_ramp_s + after / f.sample_rate_hz);
            m.residual_video_hz_per_s = f.ramp_hz_per_s;
        }
        return frequency_cycles(m, 0, tau_s * speed_of_light / 2);
    };
    d_paths.clear();
    const auto add = [&](double first_s, double last_s, std::complex<double> amplitude) {
        line_of l;
        l.from = s.begin;
        l.relative =
            f.clock_error * s.begin - f.delay_samples - first_s * f.sample_rate_hz;
        l.rate = f.clock_error - (last_s - first_s) * f.sample_rate_hz / samples;
        l.cycles = cycles_of(first_s, 0);
        l.cycle_rate = (cycles_of(last_s, samples) - l.cycles) / samples;
        l.amplitude_re = amplitude.real();
        l.amplitude_im = amplitude.imag();
        l.piece = piece_max;
        while (l.piece > piece_min && std::abs(l.rate) * l.piece / 2 > tap_slack)
            l.piece /= 2;
        d_paths.push_back(l);
    };
    // the coupler of the reference channel, the leakage, and the targets; the coupler's
    // amplitude is put in where it is used
    add(0, 0, f.reference_gain);
    add(f.leakage_delay_s, f.leakage_delay_s, std::polar(f.leakage, f.leakage_phase_rad));
    // leakage's phase is given, whatever its delay and carrier; a ramp turns it
    d_paths.back().cycles += f.carrier_hz * f.leakage_delay_s;

    const std::int64_t middle = (s.begin + s.end) / 2;
    const vec3 here = position(middle);
    vec3 flight = { 0, 0, 0 };
    if (d_scene.beam_rad > 0) {
        const double half = std::max(0.5 * d_scene.hold_s, 1e-3);
        flight = antenna(time_of(middle) + half) - antenna(time_of(middle) - half);
    }
    for (const point_target& t : d_scene.targets) {
        std::complex<double> a = f.gain * t.amplitude;
        // an antenna that stands still has no direction of flight: it sees everything
        if (length(flight) > 0 &&
            !in_beam(
                t.position_m, here, flight, d_scene.beam_rad, d_scene.beam_squint_rad))
            a = 0;
        if (d_scene.spreading_reference_m > 0) {
            // a target in the antenna is no stronger than at a metre
            const double r = std::max(1.0, length(t.position_m - here));
            a *= d_scene.spreading_reference_m * d_scene.spreading_reference_m / (r * r);
        }
        add(delay_s(t.position_m, s.begin, s), delay_s(t.position_m, s.end, s), a);
    }
}

std::vector<echo_truth> simulated_radar::truth(std::int64_t n) const
{
    // by the formula itself, not by what the lines between knots make of it
    echo_model model{};
    model.carrier_hz = d_front_end.carrier_hz;
    const stretch s = stretch_of(n);
    std::vector<echo_truth> all;
    for (const point_target& t : d_scene.targets) {
        const double tau = delay_s(t.position_m, n, s);
        double a = d_front_end.gain * std::abs(t.amplitude);
        const double range_m = tau * speed_of_light / 2;
        if (d_scene.spreading_reference_m > 0)
            a *= std::pow(d_scene.spreading_reference_m / std::max(1.0, range_m), 2);
        all.push_back({ range_m,
                        d_front_end.delay_samples + tau * d_front_end.sample_rate_hz,
                        2 * pi * carrier_cycles(model, range_m),
                        a });
    }
    return all;
}

// ---- samples
// ----------------------------------------------------------------------------

std::int64_t simulated_radar::transmit_sample(std::int64_t n) const
{
    return n + static_cast<std::int64_t>(std::floor(d_front_end.clock_error * n));
}

std::int64_t simulated_radar::transmit_end(std::int64_t end) const
{
    // no path is shorter than the radio's own delay; taps reach half their number ahead,
    // and a piece may look at the next whole sample
    return end +
           static_cast<std::int64_t>(std::floor(d_front_end.clock_error * (end - 1) -
                                                d_front_end.delay_samples)) +
           d_taps / 2 + 1;
}

std::int64_t simulated_radar::receive_end(std::int64_t end) const
{
    std::int64_t n = static_cast<std::int64_t>(std::floor(
        (end + d_front_end.delay_samples - d_taps / 2) / (1 + d_front_end.clock_error)));
    while (transmit_end(n) > end)
        --n;
    while (transmit_end(n + 1) <= end)
        ++n;
    return n;
}

void simulated_radar::add_path(const transmit_line& line,
                               const line_of& path,
                               std::int64_t first,
                               std::int64_t n)
{
    if (path.amplitude_re == 0 && path.amplitude_im == 0)
        return;
    const double begin = path.relative + path.rate * (first - path.from);
    const double end = begin + path.rate * n;
    const std::int64_t low =
        static_cast<std::int64_t>(std::floor(std::min(begin, end))) - d_taps / 2;
    const std::int64_t high =
        static_cast<std::int64_t>(std::floor(std::max(begin, end))) + d_taps / 2 + 2;
    const std::size_t window = n + high - low;
    d_window.resize(window);
    d_parts.resize(2 * window);
    if (!line.read(first + low, window, d_window.data()))
        return;
    // silence before and behind a pulse adds nothing: pieces that see nothing else are
    // left out
    const auto silent = [](const cf32& v) { return v.re == 0 && v.im == 0; };
    const auto heard = std::find_if_not(d_window.begin(), d_window.end(), silent);
    if (heard == d_window.end())
        return;
    const auto last = std::find_if_not(d_window.rbegin(), d_window.rend(), silent);
    const std::int64_t reach = high - low;
    const std::int64_t from = std::max<std::int64_t>(
        0, (heard - d_window.begin() - reach) / piece_max * piece_max);
    const std::int64_t to =
        std::min(n, (d_window.rend() - last + piece_max - 1) / piece_max * piece_max);
    if (d_heard_end == 0) // the first path of this stretch that is heard
        d_sum.assign(2 * static_cast<std::size_t>(n), 0.0f);
    d_heard_begin = std::min(d_heard_begin, first + from);
    d_heard_end = std::max(d_heard_end, first + to);
    float* re = d_parts.data();
    float* im = re + window;
    for (std::int64_t i = from; i < std::min<std::int64_t>(window, to + reach); ++i) {
        re[i] = d_window[i].re;
        im[i] = d_window[i].im;
    }
    hot().path({ re,
                 im,
                 low,
                 static_cast<int>(from),
                 static_cast<int>(to),
                 d_table.data(),
                 begin,
                 path.rate,
                 path.cycles + path.cycle_rate * (first - path.from),
                 path.cycle_rate,
                 path.amplitude_re,
                 path.amplitude_im,
                 path.piece,
                 d_sum.data(),
                 d_sum.data() + n },
               d_taps);
}

//! The shape of the walk: S(f) = q / ((2 pi)^2 (f^2 + fl^2)), two-sided, with S(offset)
//! the level given. In cycles.
void simulated_radar::shape_walk()
{
    const radar_front_end& f = d_front_end;
    const double dt = 1 / f.sample_rate_hz;
    const double q = std::pow(10, f.phase_noise_dbc_hz / 10) *
                     (f.phase_noise_offset_hz * f.phase_noise_offset_hz +
                      f.phase_noise_loop_hz * f.phase_noise_loop_hz);
    const double rate = 2 * pi * f.phase_noise_loop_hz;
    // variance after so many samples, that of an Ornstein-Uhlenbeck process
    const auto variance = [&](int i) {
        return rate > 0 ? q * -std::expm1(-2 * rate * i * dt) / (2 * rate) : q * i * dt;
    };
    walk_shape& s = *d_walk_shape;
    // real parts of the noise have the variance 1 / 2
    s.keep = static_cast<float>(std::exp(-rate * dt));
    s.step = static_cast<float>(std::sqrt(2 * variance(1)));
    s.keep_block = std::exp(-rate * block * dt);
    s.step_block = std::sqrt(2 * variance(block));
    for (int i = 0; i < block; ++i) {
        s.lost[i] = static_cast<float>(std::expm1(-rate * i * dt));
        // (a rate that lets nothing through has no step either)
        s.bridge[i] = variance(block) > 0
                          ? static_cast<float>(std::exp(-rate * (block - i) * dt) *
                                               variance(i) / variance(block))
                          : 0.0f;
    }
}

//! One step of the walk, into the block \p number.
double simulated_radar::walk_on(double from, std::int64_t number)
{
    constexpr int batch = static_cast<int>(std::tuple_size_v<decltype(d_node_noise)>);
    if (number / batch != d_node_batch) {
        d_node_batch = number / batch;
        for (int i = 0; i < batch; i += 4) {
            const std::uint64_t counter = (d_node_batch * batch + i) / 4;
            const random_words w = philox(static_cast<std::uint32_t>(counter),
                                          static_cast<std::uint32_t>(counter >> 32),
                                          node_stream,
                                          0x5a125u,
                                          d_front_end.seed);
            const cf64 a = gaussian(w.w[0], w.w[1]), b = gaussian(w.w[2], w.w[3]);
            d_node_noise[i] = a.re;
            d_node_noise[i + 1] = a.im;
            d_node_noise[i + 2] = b.re;
            d_node_noise[i + 3] = b.im;
        }
    }
    return d_walk_shape->keep_block * from +
           d_walk_shape->step_block * d_node_noise[number % batch];
}

//! The walk at the edges of the blocks that hold samples [first, first + n), which are
//! asked for in order.
void simulated_radar::walk(std::int64_t first, std::int64_t n)
{
    const std::int64_t begin = first / block, end = (first + n - 1) / block + 1;
    if (d_walk.empty()) {
        d_walk = { d_walk_held };
        d_walk_block = begin;
    }
    double at = d_walk[std::min<std::int64_t>(begin - d_walk_block, d_walk.size() - 1)];
    for (std::int64_t k = d_walk_block + d_walk.size(); k <= begin; ++k)
        at = walk_on(at, k);
    // the end of the newest block was drawn before: a change of the level spares it
    std::vector<double>& edges = d_walk_next;
    edges.clear();
    for (std::int64_t k = begin; k <= end; ++k) {
        const std::int64_t known = k - d_walk_block;
        if (k > begin)
            at = known < static_cast<std::int64_t>(d_walk.size()) ? d_walk[known]
                                                                  : walk_on(at, k);
        edges.push_back(at);
    }
    d_walk.swap(edges);
    d_walk_block = begin;
}

//! \p re and \p im are samples of the paths, of which those outside [heard_begin,
//! heard_end) are 0 and are not looked at.
void simulated_radar::finish(std::int64_t first,
                             int n,
                             int channel,
                             const float* re,
                             const float* im,
                             std::int64_t heard_begin,
                             std::int64_t heard_end,
                             cf32* out)
{
    const radar_front_end& f = d_front_end;
    finish_job j{};
    j.seed = f.seed;
    j.channel = channel;
    j.noise = static_cast<float>(std::sqrt(f.noise_power));
    const double step = f.offset_hz / f.sample_rate_hz;
    alignas(64) float turn[block];
    for (int i = 0; i < block; ++i)
        turn[i] = fractional_cycles(i * step);
    j.turn = turn;
    const double gain = std::pow(10, f.imbalance_db / 20);
    j.gain_cos = static_cast<float>(gain * std::cos(f.imbalance_rad));
    j.gain_sin = static_cast<float>(gain * std::sin(f.imbalance_rad));
    j.dc = f.dc;
    j.levels = f.adc_bits ? static_cast<float>(1 << (f.adc_bits - 1)) : 0.0f;

    alignas(64) float part_re[block], part_im[block], walk[block];
    alignas(64) cf32 part[block];
    for (std::int64_t at = first; at < first + n;) {
        j.number = at / block;
        const std::int64_t begin = j.number * block;
        j.from = static_cast<int>(at - begin);
        j.to = static_cast<int>(std::min<std::int64_t>(block, first + n - begin));
        const int count = j.to - j.from;
        const bool whole = count == block;
        j.re = j.im = j.walk = nullptr;
        if (at < heard_end && begin + j.to > heard_begin) {
            j.re = re + (at - first);
            j.im = im + (at - first);
            if (!whole) {
                std::fill_n(part_re, block, 0.0f);
                std::fill_n(part_im, block, 0.0f);
                std::copy_n(j.re, count, part_re + j.from);
                std::copy_n(j.im, count, part_im + j.from);
                j.re = part_re;
                j.im = part_im;
            }
            j.cycles = fractional_cycles(d_phase_cycles + step * begin);
            if (f.phase_noise) {
                const std::int64_t k = j.number - d_walk_block;
                hot().walk({ j.number,
                             f.seed,
                             d_walk_shape.get(),
                             d_walk[k],
                             d_walk[k + 1],
                             walk });
                j.walk = walk;
            }
        }
        j.out = whole ? out : part;
        d_clipped += hot().finish(j);
        if (!whole)
            std::copy_n(part + j.from, count, out);
        at += count;
        out += count;
    }
}

void simulated_radar::receive(const transmit_line& line,
                              std::int64_t first,
                              std::int64_t n,
                              cf32* out,
                              cf32* reference)
{
    require(first >= d_next && n >= 0,
            "receive is asked for samples ",
            first,
            " to ",
            first + n,
            "; expected sample ",
            d_next,
            " or later, and none of them twice");
    const std::int64_t end = first + n;
    while (first < end) {
        const stretch s = stretch_of(first);
        make_lines(s);
        const int part = static_cast<int>(std::min(end, s.end) - first);
        // whole pieces, so that a sample comes out the same however it is asked for
        const std::int64_t begin = s.begin + (first - s.begin) / piece_max * piece_max;
        const int region = static_cast<int>((first + part - begin + piece_max - 1) /
                                            piece_max * piece_max);
        const int skip = static_cast<int>(first - begin);
        if (d_front_end.phase_noise)
            walk(first, part);
        for (int channel = 0; channel < (reference ? 2 : 1); ++channel) {
            d_heard_begin = std::numeric_limits<std::int64_t>::max();
            d_heard_end = 0;
            if (channel == 0)
                for (std::size_t k = 1; k < d_paths.size(); ++k)
                    add_path(line, d_paths[k], begin, region);
            else
                add_path(line, d_paths[0], begin, region);
            finish(first,
                   part,
                   channel,
                   d_sum.data() + skip,
                   d_sum.data() + region + skip,
                   d_heard_begin,
                   d_heard_end,
                   channel ? reference : out);
        }
        first += part;
        out += part;
        if (reference)
            reference += part;
        d_next = first;
        double farthest = 0;
        for (const line_of& l : d_paths)
            farthest = std::min(farthest, l.relative + l.rate * (first - l.from));
        // where the antenna jumps, ranges grow by less than a kilometre at 20 MS/s
        d_oldest = first + static_cast<std::int64_t>(farthest) - 256;
    }
}

} // namespace sar
} // namespace gr
