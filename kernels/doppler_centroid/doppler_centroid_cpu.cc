// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "../core/range_doppler.h"
#include "doppler_centroid.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <gnuradio/fft/fft.h>
#include <limits>
#include <map>

namespace gr {
namespace sar {
namespace kernel {

namespace {

using complex_double = std::complex<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

//! Cells from which the ambiguity is found: the spectrum of such a window is kept.
constexpr int most_window_cells = 1024;
//! Fewer complete cells than that are too few: then all are taken.
constexpr int least_cells = 64;
//! Cells of displacement a PRF wanted, to find M from afar and to compare neighbours.
constexpr double far_cells = 2;
constexpr double near_cells = 3;
//! Ambiguities around the acquisition's, when the velocity does not limit them.
constexpr int most_ambiguities = 1000;

//! Standard error of the phase of sum v, from the scatter of v across its direction, rad.
double phase_error(const std::vector<complex_double>& v)
{
    complex_double sum = 0;
    for (const complex_double& x : v)
        sum += x;
    if (v.size() < 2 || std::norm(sum) == 0)
        return infinity;
    double across = 0;
    for (const complex_double& x : v) {
        const double im = (x * std::conj(sum)).imag();
        across += im * im;
    }
    const double n = static_cast<double>(v.size());
    return std::sqrt(n / (n - 1) * across) / std::norm(sum);
}

//! Weighted least squares: coefficients of sum c_i x^i, lowest first; |x| near 1.
std::vector<double> fit(const std::vector<double>& x,
                        const std::vector<double>& y,
                        const std::vector<double>& weight,
                        int order)
{
    const int n = order + 1;
    std::vector<double> a(static_cast<std::size_t>(n) * (n + 1), 0.0);
    for (std::size_t k = 0; k < x.size(); ++k)
        for (int i = 0; i < n; ++i) {
            const double p = weight[k] * std::pow(x[k], i);
            for (int j = 0; j < n; ++j)
                a[i * (n + 1) + j] += p * std::pow(x[k], j);
            a[i * (n + 1) + n] += p * y[k];
        }
    for (int i = 0; i < n; ++i) {
        int pivot = i;
        for (int r = i + 1; r < n; ++r)
            if (std::abs(a[r * (n + 1) + i]) > std::abs(a[pivot * (n + 1) + i]))
                pivot = r;
        if (std::abs(a[pivot * (n + 1) + i]) < 1e-12 * weight.size())
            return fit(x, y, weight, order - 1); // too few places for this order
        for (int j = 0; j <= n; ++j)
            std::swap(a[i * (n + 1) + j], a[pivot * (n + 1) + j]);
        for (int r = 0; r < n; ++r) {
            if (r == i)
                continue;
            const double q = a[r * (n + 1) + i] / a[i * (n + 1) + i];
            for (int j = i; j <= n; ++j)
                a[r * (n + 1) + j] -= q * a[i * (n + 1) + j];
        }
    }
    std::vector<double> c(n);
    for (int i = 0; i < n; ++i)
        c[i] = a[i * (n + 1) + n] / a[i * (n + 1) + i];
    return c;
}

} // namespace

// ---- sizes ----

doppler_centroid::doppler_centroid(const doppler_centroid_params& params)
    : d_params(params), d_axis(params.acq.compressed_axis(params.oversampling))
{
    const acquisition& acq = params.acq;
    require(params.lines >= 1 && params.lines <= 1 << 20,
            "lines is ",
            params.lines,
            "; expected the number of lines in a frame, 1 to 2^20");
    require(params.order >= 0 && params.order <= 3,
            "order is ",
            params.order,
            "; expected a polynomial of order 0 to 3");
    require(params.given.size() <= 4,
            "given has ",
            params.given.size(),
            " coefficients; expected up to 4, or none to estimate them");
    for (const double c : params.given)
        require(std::isfinite(c), "given has a coefficient ", c, "; expected numbers");

    shape& s = d_shape;
    s.lines = params.lines;
    s.samples = d_axis.samples;
    s.cells = d_axis.samples;
    if (acq->wave == waveform::pulsed_lfm) {
        const int complete =
            (acq->samples - acq.pulse_samples()) * params.oversampling + 1;
        if (complete >= std::max(least_cells, d_axis.samples / 8)) {
            s.cells = complete;
            if (acq->pulse_ref == pulse_reference::centre)
                s.first_cell = acq.pulse_samples() / 2 * params.oversampling;
        }
    }
    s.window_cells = std::min(s.cells, most_window_cells);
    s.window_first = s.first_cell + (s.cells - s.window_cells) / 2;
    s.length = 2;
    while (s.length < 2 * s.window_cells)
        s.length *= 2;
    s.rows = fast_fft_length(params.lines);
    s.look_rows = 1;
    while (s.look_rows < 0.4 * s.rows)
        s.look_rows *= 2;
    s.max_bins = static_cast<int>(0.4 * s.rows) + 2;

    const double first = d_axis.first_m + s.window_first * d_axis.spacing_m;
    d_middle_m = first + s.window_cells / 2 * d_axis.spacing_m;
    if (acq->effective_velocity_m_s > 0) {
        const std::vector<double> v = acq.velocity_coefficients();
        d_velocity_m_s = polynomial(v, d_middle_m - acq->slant_range_first_m);
    }
    d_geometry = d_velocity_m_s > 0 && acq->range_from == range_reference::antenna &&
                 first - d_axis.range_bias_m > 0;
}

// ---- the estimate ----

centroid_estimate doppler_centroid::estimate(int filled)
{
    const acquisition& acq = d_params.acq;
    const double prf = acq->prf_hz;
    const double x = d_middle_m - acq->slant_range_first_m;
    centroid_estimate e;
    const auto split = [&](double absolute) {
        e.ambiguity = static_cast<int>(std::lrint(absolute / prf));
        e.baseband_hz = absolute - e.ambiguity * prf;
    };
    if (!d_params.given.empty()) {
        e.method = "given";
        e.coefficients_hz = d_params.given;
        e.ambiguity_confidence = 1;
        split(polynomial(d_params.given, x));
        return e;
    }
    const std::vector<double> prior = acq.centroid_coefficients();
    e.diversity_error_hz = infinity;
    std::vector<double>
        phases; // polynomial in cycles, at range minus slant_range_first_m
    find_baseband(filled, e, phases);
    if (phases.empty()) {
        e.method = "none";
        e.coefficients_hz = prior;
        e.standard_error_hz = prf / std::sqrt(12.0);
        split(polynomial(prior, x));
        return e;
    }
    e.method = "estimate";
    const double here = prf * polynomial(phases, x);
    const int wraps = static_cast<int>(std::lrint(here / prf));
    e.baseband_hz = here - wraps * prf;
    find_by_diversity(filled, e);
    const double before = (polynomial(prior, x) - e.baseband_hz) / prf;
    find_ambiguity(filled, e.baseband_hz, static_cast<int>(std::lrint(before)), e);
    for (const double p : phases)
        e.coefficients_hz.push_back(prf * p);
    e.coefficients_hz[0] += (e.ambiguity - wraps) * prf;
    return e;
}

void doppler_centroid::find_baseband(int filled,
                                     centroid_estimate& e,
                                     std::vector<double>& phases)
{
    const shape& s = d_shape;
    const int rows = std::min(line_blocks, filled - 1);
    const int cols = std::min(cell_blocks, s.cells);
    if (rows < 1)
        return;
    const std::vector<lag_sums> sums = sum_pairs(filled, rows, cols);
    complex_double all = 0;
    double power = 0;
    std::vector<complex_double> along_lines(rows), along_range(cols);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) {
            const lag_sums& b = sums[i * cols + j];
            if (!(b.power > 0))
                continue;
            const complex_double c(b.re, b.im);
            all += c;
            power += b.power;
            along_lines[i] += c / std::sqrt(b.power);
            along_range[j] += c / std::sqrt(b.power);
        }
    e.coherence = power > 0 ? std::abs(all) / power : 0;
    // noise has a coherence of one over the root of the independent samples
    const double samples =
        static_cast<double>(filled - 1) * s.cells * std::min(1.0, d_axis.occupied_band());
    complex_double total = 0;
    for (const complex_double& v : along_lines)
        total += v;
    if (!(e.coherence * std::sqrt(samples) > 5) || std::norm(total) == 0)
        return;
    const double prf = d_params.acq->prf_hz;
    const double a = phase_error(along_lines);
    const double b = phase_error(along_range);
    const double error = std::hypot(std::isfinite(a) ? a : 0, std::isfinite(b) ? b : 0);
    e.standard_error_hz =
        std::min(prf / (2 * pi) * (error > 0 ? error : infinity), prf / std::sqrt(12.0));

    // cells of a block against the middle of the complete cells, over half their extent
    const double half = 0.5 * s.cells;
    std::vector<double> x(cols), y(cols), w(cols);
    for (int j = 0; j < cols; ++j) {
        const complex_double v = along_range[j] * std::conj(total);
        x[j] =
            (0.5 * (block_begin(j, s.cells, cols) + block_begin(j + 1, s.cells, cols)) -
             half) /
            half;
        y[j] = std::arg(v) / (2 * pi);
        w[j] = std::abs(along_range[j]) / std::abs(total);
    }
    std::vector<double> c = { 0.0 };
    if (d_params.order > 0)
        c = fit(x, y, w, std::min(d_params.order, cols - 1));
    c[0] += std::arg(total) / (2 * pi);
    // to x = range - slant_range_first_m: u = (x - middle) / scale
    const double scale = half * d_axis.spacing_m;
    const double middle = d_axis.first_m + s.first_cell * d_axis.spacing_m + scale -
                          d_params.acq->slant_range_first_m;
    phases.assign(1, 0.0);
    for (auto i = c.rbegin(); i != c.rend(); ++i) {
        std::vector<double> next(phases.size() + 1, 0.0);
        for (std::size_t k = 0; k < phases.size(); ++k) {
            next[k + 1] += phases[k] / scale;
            next[k] -= phases[k] * middle / scale;
        }
        next[0] += *i;
        phases = next;
    }
    phases.resize(d_params.order + 1);
}

void doppler_centroid::find_by_diversity(int filled, centroid_estimate& e)
{
    const shape& s = d_shape;
    const int blocks = std::min(jackknife_blocks, filled - 1);
    const std::vector<lag_sums> sums = transform(filled, blocks);
    const double step = speed_of_light / (2 * d_axis.spacing_m) / s.length; // Hz
    const auto frequency = [&](int k) {
        return step * (2 * k < s.length ? k : k - s.length);
    };
    std::vector<int> bins; // within 0.9 of the band
    for (int k = 0; k < s.length; ++k)
        if (std::abs(frequency(k)) < 0.45 * d_axis.bandwidth_hz)
            bins.push_back(k);
    std::vector<complex_double> total(s.length);
    std::vector<complex_double> part(static_cast<std::size_t>(blocks) * s.length);
    for (int b = 0; b < blocks; ++b) {
        const lag_sums* of = sums.data() + static_cast<std::size_t>(b) * s.length;
        double power = 0;
        for (const int k : bins)
            power += of[k].power;
        if (!(power > 0))
            continue;
        for (const int k : bins) {
            complex_double& v = part[static_cast<std::size_t>(b) * s.length + k];
            v = complex_double(of[k].re, of[k].im) / std::sqrt(power);
            total[k] += v;
        }
    }
    // The centroid for which the phases, 2 pi f / PRF (1 + ft / f0), agree best. From
    // afar on a grid on which the phase of the band's edges moves by half a radian, then
    // least squares of what is left.
    const double cycles = 1 / (d_axis.carrier_hz * d_params.acq->prf_hz); // per Hz per Hz
    const auto at = [&](int k, int without) {
        return without < 0
                   ? total[k]
                   : total[k] - part[static_cast<std::size_t>(without) * s.length + k];
    };
    const auto turned = [&](int k, double centroid) {
        return std::polar(1.0, -2 * pi * cycles * centroid * frequency(k));
    };
    const auto agreement = [&](double centroid) {
        complex_double sum = 0;
        for (const int k : bins)
            sum += total[k] * turned(k, centroid);
        return std::norm(sum);
    };
    const auto refined = [&](double centroid, int without) {
        std::vector<complex_double> v(bins.size());
        for (int pass = 0; pass < 4; ++pass) {
            complex_double sum = 0;
            for (std::size_t i = 0; i < bins.size(); ++i)
                sum += v[i] = at(bins[i], without) * turned(bins[i], centroid);
            if (!(std::norm(sum) > 0))
                return infinity;
            const complex_double turn = std::conj(sum) / std::abs(sum);
            double re = 0, f_re = 0, f_im = 0, f_f_re = 0;
            for (std::size_t i = 0; i < bins.size(); ++i) {
                const double f = frequency(bins[i]);
                re += (v[i] * turn).real();
                f_re += f * (v[i] * turn).real();
                f_im += f * (v[i] * turn).imag();
                f_f_re += f * f * (v[i] * turn).real();
            }
            const double spread = f_f_re - f_re * f_re / re; // around the mean frequency
            if (!(spread > 0))
                return infinity;
            centroid += f_im / spread / (2 * pi * cycles);
        }
        return centroid;
    };
    if (blocks < 3 || bins.size() < 8)
        return;
    const double spacing = 0.5 / (2 * pi * cycles * 0.45 * d_axis.bandwidth_hz);
    const int reach =
        d_velocity_m_s > 0
            ? static_cast<int>(std::min(1000.0,
                                        2 * d_velocity_m_s * d_axis.carrier_hz /
                                            speed_of_light / spacing))
            : 100;
    double coarse = 0;
    double best = -1;
    for (int i = -reach; i <= reach; ++i)
        if (agreement(i * spacing) > best) {
            best = agreement(i * spacing);
            coarse = i * spacing;
        }
    const double value = refined(coarse, -1);
    if (!std::isfinite(value))
        return;
    double mean = 0, square = 0;
    std::vector<double> without(blocks);
    for (int b = 0; b < blocks; ++b) {
        without[b] = refined(value, b);
        mean += without[b] / blocks;
    }
    for (const double v : without)
        square += (v - mean) * (v - mean);
    const double error = std::sqrt((blocks - 1.0) / blocks * square);
    if (!std::isfinite(error) || !(error > 0))
        return;
    e.diversity_hz = value;
    e.diversity_error_hz = error;
}

// ---- looks ----

double doppler_centroid::factor(double frequency_hz) const
{
    return migration_factor(frequency_hz, d_velocity_m_s, d_axis.carrier_hz);
}

//! Hz of Doppler a second at the middle of the window.
double doppler_centroid::fm_rate(double centroid_hz) const
{
    const double d = factor(centroid_hz);
    return 2 * d_axis.carrier_hz * d_velocity_m_s * d_velocity_m_s * d * d /
           (speed_of_light * (d_middle_m - d_axis.range_bias_m));
}

//! Range of a target in the upper look less that in the lower one, cells.
double doppler_centroid::displacement(double centroid_hz, double share) const
{
    const double half = 0.2 * share * d_params.acq->prf_hz;
    const double closest = (d_middle_m - d_axis.range_bias_m) * factor(centroid_hz);
    return closest * (1 / factor(centroid_hz + half) - 1 / factor(centroid_hz - half)) /
           d_axis.spacing_m;
}

//! Share q of the looks' width for which a PRF is \p cells of displacement.
double doppler_centroid::share_for(double centroid_hz, double cells, int filled) const
{
    const double prf = d_params.acq->prf_hz;
    const double whole =
        std::abs(displacement(centroid_hz + prf, 1) - displacement(centroid_hz, 1));
    double share = whole > cells ? cells / whole : 1.0;
    // both looks within 0.6 of the frame
    share = std::min(share, 0.75 * filled / prf * fm_rate(centroid_hz) / prf);
    return std::clamp(share, std::min(1.0, 40.0 / d_shape.rows), 1.0);
}

doppler_centroid::look_pair
doppler_centroid::looks_at(double centroid_hz, double share, int filled) const
{
    const shape& s = d_shape;
    const double prf = d_params.acq->prf_hz;
    const double f0 = d_axis.carrier_hz;
    const double v = d_velocity_m_s;
    const double d = factor(centroid_hz);
    const double closest = (d_middle_m - d_axis.range_bias_m) * d;
    const double width = 0.4 * share * prf;
    // cycles a metre of closest range, in the geometry of the beam's centre
    const auto phase = [&](double f) {
        return 2 * f0 * factor(f) / speed_of_light +
               f * speed_of_light * centroid_hz / (2 * f0 * v * v * d);
    };
    look_pair p;
    for (int look = 0; look < 2; ++look) {
        const double middle = centroid_hz + (look ? 0.5 : -0.5) * width;
        for (int k = 0; k < s.rows; ++k) {
            double f = k * prf / s.rows;
            f += prf * std::rint((middle - f) / prf);
            const double x = (f - middle) / width;
            if (!(std::abs(x) < 0.5))
                continue;
            look_bin b;
            b.bin = k;
            const int row =
                static_cast<int>(std::floor((f - middle) * s.rows / prf + 0.5 + 1e-6));
            b.row = (row % s.look_rows + s.look_rows) % s.look_rows;
            b.weight = static_cast<float>(0.5 + 0.5 * std::cos(2 * pi * x));
            b.shift_cells = closest * (1 / factor(f) - 1 / d) / d_axis.spacing_m;
            b.cycles_per_m = phase(f) - phase(centroid_hz);
            if (static_cast<int>(p.bins[look].size()) < s.max_bins)
                p.bins[look].push_back(b);
        }
    }
    p.first_closest_m =
        (d_axis.first_m - d_axis.range_bias_m + s.window_first * d_axis.spacing_m) * d;
    p.closest_step_m = d_axis.spacing_m * d;
    // rows of 1 / look_rows of the frame's time: 2.4 cells of azimuth to a group
    p.group = std::max(
        1, static_cast<int>(std::lrint(2.4 * s.look_rows / (0.4 * share * s.rows))));
    const double line = static_cast<double>(s.rows) / s.look_rows; // lines a row
    const double margin = width / fm_rate(centroid_hz) * prf;      // lines
    const auto first_after = [&](double at) {
        return static_cast<int>(std::ceil(std::max(0.0, at) / line / p.group));
    };
    const auto last_before = [&](double at) { // exclusive
        return static_cast<int>(std::floor(std::max(0.0, at) / line / p.group));
    };
    p.first_group = first_after(margin);
    p.groups = last_before(filled - 1 - margin) - p.first_group;
    if (p.groups < 2 * look_blocks) {
        p.first_group = 0;
        p.groups = std::max(1, last_before(filled));
    }
    p.groups = std::min(p.groups, s.look_rows / p.group - p.first_group);
    return p;
}

//! Correlation of two looks, over displacements of up to a quarter of the window.
struct doppler_centroid::look_result {
    int reach = 0;
    double step = 0; //!< cells that a PRF displaces
    double base = 0; //!< displacement that was taken off
    double share = 0;
    std::vector<double> values; //!< from -reach on

    double at(double d) const
    {
        const double x = d + reach;
        const int i = std::clamp(
            static_cast<int>(std::floor(x)), 0, static_cast<int>(values.size()) - 2);
        return values[i] + (x - i) * (values[i + 1] - values[i]);
    }
    double width() const { return std::max(step, 1.0); }
    double score(double d) const
    {
        return at(d) - 0.5 * (at(d - width()) + at(d + width()));
    }
    bool covers(double d) const { return std::abs(d) <= reach - width(); }
    //! Of the score where nothing is expected.
    double deviation() const
    {
        double sum = 0;
        int n = 0;
        for (int d = -reach; d <= reach; ++d)
            if (covers(d) && std::abs(d) > 2.5 * width()) {
                sum += score(d) * score(d);
                ++n;
            }
        return n < 16 ? infinity : std::sqrt(sum / n);
    }
};

doppler_centroid::look_result
doppler_centroid::look(double baseband_hz, int ambiguity, double cells, int filled)
{
    const shape& s = d_shape;
    const double prf = d_params.acq->prf_hz;
    const double centroid = baseband_hz + ambiguity * prf;
    look_result r;
    r.share = share_for(centroid, cells, filled);
    r.base = displacement(centroid, r.share);
    r.step = std::abs(displacement(centroid + prf, r.share) - r.base);
    r.reach = s.window_cells / 4;
    const look_pair pair = looks_at(centroid, r.share, filled);
    const look_correlation c = correlate(pair);
    r.values.assign(2 * r.reach + 1, 0.0);
    int used = 0;
    for (int b = 0; b < look_blocks; ++b) {
        double lower = 0, upper = 0;
        for (int g = block_begin(b, pair.groups, look_blocks);
             g < block_begin(b + 1, pair.groups, look_blocks);
             ++g) {
            lower += c.power[2 * g];
            upper += c.power[2 * g + 1];
        }
        const double scale = std::sqrt(lower * upper) * s.length;
        if (!(scale > 0) || !std::isfinite(scale))
            continue;
        ++used;
        for (int d = -r.reach; d <= r.reach; ++d) {
            const cf32 v = c.values[static_cast<std::size_t>(b) * s.length +
                                    (d < 0 ? d + s.length : d)];
            // fewer cells overlap at a large displacement
            r.values[d + r.reach] +=
                v.re / scale / (1 - std::abs(d) / static_cast<double>(s.window_cells));
        }
    }
    for (double& v : r.values)
        v /= std::max(1, used);
    return r;
}

void doppler_centroid::find_ambiguity(int filled,
                                      double baseband,
                                      int first,
                                      centroid_estimate& e)
{
    const double prf = d_params.acq->prf_hz;
    // numbers that are possible at all: Doppler stays below 2 V / wavelength
    int lowest = first - most_ambiguities;
    int highest = first + most_ambiguities;
    const double diversity_m = (e.diversity_hz - baseband) / prf;
    const double diversity_sigma = e.diversity_error_hz / prf;
    if (d_velocity_m_s > 0) {
        const double limit =
            0.95 * 2 * d_velocity_m_s * d_axis.carrier_hz / speed_of_light - prf;
        lowest = std::max(lowest, static_cast<int>(std::ceil((-limit - baseband) / prf)));
        highest =
            std::min(highest, static_cast<int>(std::floor((limit - baseband) / prf)));
    }
    if (lowest >= highest) { // the beam cannot look anywhere else
        e.ambiguity = std::clamp(0, std::min(lowest, highest), std::max(lowest, highest));
        e.ambiguity_confidence = 1;
        return;
    }
    first = std::clamp(first, lowest, highest);
    std::map<int, look_result> seen; // compared closely
    double deviation = 0;
    double best_score = 0;
    if (d_geometry && d_shape.window_cells >= least_cells && filled >= 4 * look_blocks) {
        int m = first;
        if (diversity_sigma < 0.5)
            m = static_cast<int>(
                std::clamp<double>(std::rint(diversity_m), lowest, highest));
        std::vector<int> path = { m };
        for (int pass = 0; pass < 5; ++pass) {
            const look_result r = look(baseband, m, far_cells, filled);
            ++e.look_passes;
            int next = m;
            double best = -infinity;
            for (int k = lowest; k <= highest; ++k) {
                const double d = displacement(baseband + k * prf, r.share) - r.base;
                if (r.covers(d) && r.score(d) > best) {
                    best = r.score(d);
                    next = k;
                }
            }
            if (next == m)
                break;
            m = next;
            if (std::find(path.begin(), path.end(), m) != path.end())
                break;
            path.push_back(m);
        }
        for (int round = 0; round < 3; ++round) {
            for (int k = std::max(lowest, m - 2); k <= std::min(highest, m + 2); ++k)
                if (!seen.count(k)) {
                    seen.emplace(k, look(baseband, k, near_cells, filled));
                    ++e.look_passes;
                }
            const auto best = std::max_element(
                seen.begin(), seen.end(), [](const auto& a, const auto& b) {
                    return a.second.score(0) < b.second.score(0);
                });
            const int moved = std::abs(best->first - m);
            m = best->first;
            best_score = std::max(0.0, best->second.score(0));
            if (moved < 2)
                break;
        }
        for (const auto& k : seen)
            deviation = std::max(deviation, k.second.deviation());
        double next_score = -infinity;
        for (const auto& k : seen)
            if (k.first != m)
                next_score = std::max(next_score, k.second.score(0));
        if (std::isfinite(deviation) && deviation > 0) {
            e.look_score = best_score / deviation;
            e.look_next_score = std::isfinite(next_score) ? next_score / deviation : 0;
        } else {
            best_score = 0; // too short a window to know what chance does
            seen.clear();
        }
    }

    std::vector<double> likelihood(highest - lowest + 1);
    for (int k = lowest; k <= highest; ++k) {
        double& l = likelihood[k - lowest];
        const auto at = seen.find(k);
        if (at != seen.end()) {
            const double less = best_score - at->second.score(0);
            l = -0.5 * less * less /
                (deviation * deviation + best_score * best_score / 16);
        } else if (!seen.empty()) {
            l = -0.5 * std::pow(best_score / deviation, 2);
        }
        if (std::isfinite(diversity_sigma))
            l -= 0.5 * std::pow((k - diversity_m) / std::max(diversity_sigma, 1e-3), 2);
    }
    const auto best = std::max_element(likelihood.begin(), likelihood.end());
    double sum = 0;
    for (const double l : likelihood)
        sum += std::exp(l - *best);
    e.ambiguity = lowest + static_cast<int>(best - likelihood.begin());
    e.ambiguity_confidence = 1 / sum;
    if (sum > 0.999 * likelihood.size()) // nothing was seen that tells them apart
        e.ambiguity = first;
}

// ---- CPU ----

namespace {

class doppler_centroid_cpu final : public doppler_centroid
{
public:
    explicit doppler_centroid_cpu(const doppler_centroid_params& params)
        : doppler_centroid(params),
          d_frame(static_cast<std::size_t>(d_shape.lines) * d_shape.samples),
          d_bad(d_shape.lines)
    {
        if (!params.given.empty())
            return; // nothing to estimate
        const shape& s = d_shape;
        d_spectrum.resize(static_cast<std::size_t>(s.rows) * s.length);
        d_image.resize(static_cast<std::size_t>(s.look_rows) * s.window_cells);
        const compute_target cpu;
        d_azimuth = column_fft::make(s.rows, s.length, cpu);
        d_look_azimuth = column_fft::make(s.look_rows, s.window_cells, cpu);
        d_workers.push_back(std::make_unique<worker>(s.length));
    }

    void take(const cf32* lines, int first, int count) override
    {
        const std::size_t n = d_shape.samples;
        parallel_for(count, [&](int i, int) {
            const cf32* from = lines + i * n;
            std::memcpy(d_frame.data() + (first + i) * n, from, n * sizeof(cf32));
            bool finite = true;
            for (std::size_t k = 0; k < n; ++k)
                finite = finite && is_finite(from[k]);
            d_bad[first + i] = !finite;
            if (!finite)
                ++d_bad_lines;
        });
    }

    void give(cf32* out, int first, int count) override
    {
        const std::size_t n = d_shape.samples;
        std::memcpy(out, d_frame.data() + first * n, count * n * sizeof(cf32));
    }

    std::uint64_t bad_lines() const override { return d_bad_lines; }

protected:
    std::vector<lag_sums> sum_pairs(int filled, int rows, int cols) override
    {
        const shape& s = d_shape;
        std::vector<lag_sums> sums(static_cast<std::size_t>(rows) * cols);
        parallel_for(rows * cols, [&](int b, int) {
            const int row = b / cols;
            const int col = b % cols;
            const int first = s.first_cell + block_begin(col, s.cells, cols);
            const int last = s.first_cell + block_begin(col + 1, s.cells, cols);
            lag_sums sum = { 0, 0, 0 };
            for (int n = block_begin(row, filled - 1, rows);
                 n < block_begin(row + 1, filled - 1, rows);
                 ++n) {
                if (d_bad[n] || d_bad[n + 1])
                    continue;
                const cf32* before =
                    d_frame.data() + static_cast<std::size_t>(n) * s.samples;
                const cf32* after = before + s.samples;
                for (int k = first; k < last; ++k)
                    add_pair(sum, before[k], after[k]);
            }
            sums[b] = sum;
        });
        return sums;
    }

    std::vector<lag_sums> transform(int filled, int blocks) override
    {
        const shape& s = d_shape;
        make_workers();
        parallel_for(filled, [&](int n, int thread) {
            fft::fft_complex_fwd& fft = worker_of(thread).forward;
            cf32* in = reinterpret_cast<cf32*>(fft.get_inbuf());
            std::fill(in, in + s.length, cf32{ 0, 0 });
            if (!d_bad[n])
                std::copy_n(d_frame.data() + static_cast<std::size_t>(n) * s.samples +
                                s.window_first,
                            s.window_cells,
                            in);
            fft.execute();
            std::memcpy(d_spectrum.data() + static_cast<std::size_t>(n) * s.length,
                        fft.get_outbuf(),
                        s.length * sizeof(cf32));
        });
        std::vector<lag_sums> sums(static_cast<std::size_t>(blocks) * s.length,
                                   lag_sums{ 0, 0, 0 });
        parallel_for(blocks, [&](int b, int) {
            lag_sums* to = sums.data() + static_cast<std::size_t>(b) * s.length;
            for (int n = block_begin(b, filled - 1, blocks);
                 n < block_begin(b + 1, filled - 1, blocks);
                 ++n) {
                const cf32* before =
                    d_spectrum.data() + static_cast<std::size_t>(n) * s.length;
                for (int k = 0; k < s.length; ++k)
                    add_pair(to[k], before[k], before[k + s.length]);
            }
        });
        d_azimuth->forward(d_spectrum.data(), filled);
        return sums;
    }

    look_correlation correlate(const look_pair& pair) override
    {
        const shape& s = d_shape;
        const std::size_t cells = s.window_cells;
        make_workers();
        std::vector<float> looks[2];
        for (int l = 0; l < 2; ++l) {
            std::fill(d_image.begin(), d_image.end(), cf32{ 0, 0 });
            const std::vector<look_bin>& bins = pair.bins[l];
            parallel_for(static_cast<int>(bins.size()), [&](int j, int thread) {
                fft::fft_complex_rev& fft = worker_of(thread).inverse;
                const look_bin& b = bins[j];
                const cf32* from =
                    d_spectrum.data() + static_cast<std::size_t>(b.bin) * s.length;
                cf32* in = reinterpret_cast<cf32*>(fft.get_inbuf());
                for (int k = 0; k < s.length; ++k)
                    in[k] = without_walk(from[k], b, k, s.length);
                fft.execute();
                const cf32* line = reinterpret_cast<const cf32*>(fft.get_outbuf());
                cf32* to = d_image.data() + b.row * cells;
                for (std::size_t k = 0; k < cells; ++k)
                    to[k] = azimuth_matched(
                        line[k], b, pair.first_closest_m + k * pair.closest_step_m);
            });
            d_look_azimuth->inverse(d_image.data());
            looks[l].assign(pair.groups * cells, 0.0f);
            parallel_for(pair.groups, [&](int g, int) {
                float* to = looks[l].data() + g * cells;
                for (int i = 0; i < pair.group; ++i) {
                    const cf32* from =
                        d_image.data() +
                        (static_cast<std::size_t>(pair.first_group + g) * pair.group +
                         i) *
                            cells;
                    for (std::size_t k = 0; k < cells; ++k)
                        to[k] += std::sqrt(norm(from[k]));
                }
            });
        }
        look_correlation c;
        c.power.resize(2 * pair.groups);
        c.values.assign(static_cast<std::size_t>(look_blocks) * s.length, cf32{ 0, 0 });
        parallel_for(look_blocks, [&](int b, int thread) {
            worker& w = worker_of(thread);
            cf32* to = c.values.data() + static_cast<std::size_t>(b) * s.length;
            for (int g = block_begin(b, pair.groups, look_blocks);
                 g < block_begin(b + 1, pair.groups, look_blocks);
                 ++g) {
                cf32* in = reinterpret_cast<cf32*>(w.forward.get_inbuf());
                std::fill(in, in + s.length, cf32{ 0, 0 });
                float* image[2] = { looks[0].data() + g * cells,
                                    looks[1].data() + g * cells };
                for (int l = 0; l < 2; ++l) {
                    double mean = 0;
                    for (std::size_t k = 0; k < cells; ++k)
                        mean += image[l][k];
                    const float middle = static_cast<float>(mean / cells);
                    double power = 0;
                    for (std::size_t k = 0; k < cells; ++k) {
                        const float v = image[l][k] - middle;
                        (l ? in[k].im : in[k].re) = v;
                        power += static_cast<double>(v) * v;
                    }
                    c.power[2 * g + l] = power;
                }
                w.forward.execute();
                const cf32* z = reinterpret_cast<const cf32*>(w.forward.get_outbuf());
                for (int k = 0; k < s.length; ++k)
                    to[k] = to[k] + cross_spectrum(z[k], z[k ? s.length - k : 0]);
            }
            std::copy_n(to, s.length, reinterpret_cast<cf32*>(w.inverse.get_inbuf()));
            w.inverse.execute();
            std::memcpy(to, w.inverse.get_outbuf(), s.length * sizeof(cf32));
        });
        return c;
    }

private:
    struct worker {
        explicit worker(int n) : forward(n), inverse(n) {}
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
    };

    void make_workers()
    {
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
    }
    worker& worker_of(int thread)
    {
        std::unique_ptr<worker>& w = d_workers[thread];
        if (!w)
            w = std::make_unique<worker>(d_shape.length);
        return *w;
    }

    std::vector<cf32> d_frame;    // [lines][samples]
    std::vector<char> d_bad;      // lines that are not finite
    std::vector<cf32> d_spectrum; // [rows][length]
    std::vector<cf32> d_image;    // of a look: [look_rows][window_cells]
    std::unique_ptr<column_fft> d_azimuth;
    std::unique_ptr<column_fft> d_look_azimuth;
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<doppler_centroid>
doppler_centroid::make(const doppler_centroid_params& params,
                       const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_doppler_centroid_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<doppler_centroid_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
