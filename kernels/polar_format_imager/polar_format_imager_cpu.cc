// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/column_fft.h"
#include "../core/constants.h"
#include "../core/errors.h"
#include "../core/names.h"
#include "../core/parallel_for.h"
#include "../core/range_doppler.h"
#include "polar_format_imager.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <gnuradio/fft/fft.h>
#include <numeric>

namespace gr {
namespace sar {
namespace kernel {

namespace {

const name_table<curvature_mode, 3> curvatures = {
    "curvature",
    { { { curvature_mode::correct, "correct" },
        { curvature_mode::warn, "warn" },
        { curvature_mode::refuse, "refuse" } } }
};

} // namespace

curvature_mode curvature_mode_from_name(const std::string& n)
{
    return curvatures.from_name(n);
}
std::string to_string(curvature_mode c) { return curvatures.to_name(c); }

double polar_format_radius_m(double range_m,
                             double wavelength_m,
                             double aperture_rad,
                             double phase_rad)
{
    const auto positive = [](const char* name, double value, const char* what) {
        require(value > 0, name, " is ", value, "; expected a positive ", what);
    };
    positive("range_m", range_m, "distance");
    positive("wavelength_m", wavelength_m, "distance");
    positive("aperture_rad", aperture_rad, "angle");
    positive("phase_rad", phase_rad, "angle");
    return std::sqrt(2 * range_m * wavelength_m * phase_rad / pi) / aperture_rad;
}

// ---- the plan
// --------------------------------------------------------------------------

namespace {

//! Of the compressed lines. Taking off the residual video phase moves the band of an FMCW
//! line, by more the farther the echo; others fill their bins as they are.
int oversampling_of(const acquisition& acq)
{
    return acq->wave == waveform::fmcw ? 2 : 1;
}

int samples_of(const acquisition& acq) { return acq->samples * oversampling_of(acq); }

//! Bins of the transform of a compressed line. That of an FX line is its raw line.
int period_of(const acquisition& acq)
{
    return acq.in_frequency_domain() ? samples_of(acq) : line_fft_length(acq->samples);
}

//! Solve the symmetric system \p a x = \p b (rows of \p n) by elimination, in place.
void solve(std::vector<double>& a, std::vector<double>& b, int n)
{
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i)
            if (std::abs(a[i * n + k]) > std::abs(a[best * n + k]))
                best = i;
        for (int j = 0; j < n; ++j)
            std::swap(a[k * n + j], a[best * n + j]);
        std::swap(b[k], b[best]);
        for (int i = k + 1; i < n; ++i) {
            const double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; ++j)
                a[i * n + j] -= f * a[k * n + j];
            b[i] -= f * b[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j)
            b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
}

//! Fourier transform of phi at \p f cycles a cell; x = taps / 2 sin(t) takes the root out
//! of the integrand, and the trapezoidal rule converges at once.
double transform_of_phi(double f)
{
    constexpr int n = 256;
    constexpr double half = 0.5 * pfa::taps;
    double sum = 0;
    for (int i = 1; i < n; ++i) {
        const double t = pi * (static_cast<double>(i) / n - 0.5);
        sum += std::exp(pfa::beta * (std::cos(t) - 1)) *
               std::cos(2 * pi * f * half * std::sin(t)) * std::cos(t);
    }
    return sum * half * pi / n;
}

pfa::taper fit_taper()
{
    // interpolation at the Chebyshev points of s = (f / (used_share / 2))^2
    constexpr int n = pfa::taper_terms;
    std::vector<double> a(n * n);
    std::vector<double> b(n);
    for (int i = 0; i < n; ++i) {
        const double s = 0.5 - 0.5 * std::cos(pi * (i + 0.5) / n);
        b[i] = 1 / transform_of_phi(0.5 * pfa::used_share * std::sqrt(s));
        double power = 1;
        for (int j = 0; j < n; ++j, power *= s)
            a[i * n + j] = power;
    }
    solve(a, b, n);
    pfa::taper t;
    std::copy(b.begin(), b.end(), t.c);
    return t;
}

//! Points, -1 .. 1 in both directions, at which displacements are computed.
constexpr int nodes = 9;
double node(int i) { return -std::cos(pi * i / (nodes - 1)); }

//! The surface that fits the values at the nodes, [nodes][nodes], with least squares.
pfa::surface fit_surface(const std::array<double, nodes * nodes>& values)
{
    constexpr int side = pfa::warp_degree + 1;
    constexpr int n = side * (side + 1) / 2;
    std::vector<double> a(n * n);
    std::vector<double> b(n);
    for (int p = 0; p < nodes; ++p)
        for (int q = 0; q < nodes; ++q) {
            std::array<double, n> term;
            int k = 0;
            for (int i = 0; i < side; ++i)
                for (int j = 0; i + j < side; ++j)
                    term[k++] = std::pow(node(p), i) * std::pow(node(q), j);
            for (int i = 0; i < n; ++i) {
                b[i] += term[i] * values[p * nodes + q];
                for (int j = 0; j < n; ++j)
                    a[i * n + j] += term[i] * term[j];
            }
        }
    solve(a, b, n);
    pfa::surface s = {};
    int k = 0;
    for (int i = 0; i < side; ++i)
        for (int j = 0; i + j < side; ++j)
            s.c[i * side + j] = b[k++];
    return s;
}

//! One pulse as seen from the middle of the grid.
struct sight {
    vec3 tx, rx;   //!< relative to the middle
    vec3 gradient; //!< of the range
    bool bistatic; //!< false: rx is tx
    double range;  //!< R, m
    double row;    //!< gradient of the range along the axes of the grid
    double col;
    double weight; //!< sum 1
    int line;
};

double range_to(const sight& s, vec3 p)
{
    const double to = length(p - s.tx);
    return s.bistatic ? 0.5 * (to + length(p - s.rx)) : to;
}

//! Least squares: the displacement whose plane wave fits the weighted curvatures best.
class displacement_fit
{
public:
    explicit displacement_fit(const std::vector<sight>& sights) : d_sights(sights)
    {
        for (const sight& s : sights) {
            d_rr += s.weight * s.row * s.row;
            d_rc += s.weight * s.row * s.col;
            d_cc += s.weight * s.col * s.col;
        }
        // of a single direction only the part along it is seen
        const double trace = d_rr + d_cc;
        d_det = d_rr * d_cc - d_rc * d_rc;
        d_one = !(d_det > 1e-15 * trace * trace);
    }
    void solve(const std::vector<double>& curvature, double& row_m, double& col_m) const
    {
        double r = 0;
        double c = 0;
        for (std::size_t n = 0; n < d_sights.size(); ++n) {
            const sight& s = d_sights[n];
            r += s.weight * s.row * curvature[n];
            c += s.weight * s.col * curvature[n];
        }
        const double trace = d_rr + d_cc;
        row_m = d_one ? r / trace : (d_cc * r - d_rc * c) / d_det;
        col_m = d_one ? c / trace : (d_rr * c - d_rc * r) / d_det;
    }

private:
    const std::vector<sight>& d_sights;
    double d_rr = 0, d_rc = 0, d_cc = 0, d_det = 0;
    bool d_one = false;
};

int lattice_length(double cells)
{
    // a multiple of 4, so that the middle of the lattice has phase 1
    const double needed = std::max(32.0, cells / pfa::used_share);
    require(needed < 1 << 18,
            "the grid needs a lattice of ",
            needed,
            " cells along one of its axes; expected fewer than 2^18: use a smaller grid");
    return 4 * fast_fft_length(static_cast<int>(std::ceil(needed / 4)));
}

} // namespace

polar_format_plan::polar_format_plan(const polar_format_imager_params& params,
                                     const vec3* tx_m,
                                     const vec3* rx_m,
                                     const std::vector<int>& lines)
{
    const image_grid& grid = params.grid;
    const acquisition& acq = params.acq;
    const range_axis axis = acq.compressed_axis(oversampling_of(acq));
    const int period = period_of(acq);
    const int count = static_cast<int>(lines.size());
    const vec3 middle = grid.position(0.5 * (grid->rows - 1), 0.5 * (grid->cols - 1));
    const double kappa = 2 * axis.carrier_hz / speed_of_light; // cycles/m
    const double kappa_step = 1 / (period * axis.spacing_m);
    // the lowest frequency of a line; FX lines have their first or last sample there
    const bool descending =
        acq->wave == waveform::frequency_domain && acq.frequency_step_hz() < 0;
    const int lowest = descending ? -(period - 1 - period / 2) : -(period / 2);
    const double kappa_low = kappa + lowest * kappa_step;
    const double kappa_high = kappa_low + (period - 1) * kappa_step;

    // ---- each pulse: direction of the middle, and the factor of its samples
    const std::vector<double> window = params.azimuth_window.samples(count);
    const double sum = std::accumulate(window.begin(), window.end(), 0.0);
    require(sum > 0, "the azimuth window leaves nothing of ", count, " pulses");
    std::vector<sight> sights(count);
    std::vector<double> offsets(count); // measured minus true range
    vec3 ahead = { 0, 0, 0 };           // mean of the gradients
    for (int n = 0; n < count; ++n) {
        sight& s = sights[n];
        const vec3 tx = tx_m[n];
        const vec3 rx = params.bistatic ? rx_m[n] : tx;
        s.tx = tx - middle;
        s.rx = rx - middle;
        s.bistatic = params.bistatic;
        const double a = length(s.tx);
        const double b = length(s.rx);
        require(a > 0 && b > 0,
                "the antenna of pulse ",
                n,
                " lies in the middle of the grid; expected it far away");
        s.range = 0.5 * (a + b);
        s.gradient = -0.5 / a * s.tx + -0.5 / b * s.rx;
        s.row = dot(s.gradient, grid->row_axis);
        s.col = dot(s.gradient, grid->col_axis);
        s.weight = window[n] / sum;
        s.line = lines[n];
        ahead = ahead + s.weight * s.gradient;
        double offset = axis.range_bias_m;
        if (axis.range_from == range_reference::point)
            offset -= 0.5 * (length(axis.reference_point_m - tx) +
                             length(axis.reference_point_m - rx));
        offsets[n] = offset;
    }

    // ---- wavefronts: displacement and what it leaves, at nodes all over the grid
    const double half_row = 0.5 * std::max(grid->rows - 1, 1) * grid->row_spacing_m;
    const double half_col = 0.5 * std::max(grid->cols - 1, 1) * grid->col_spacing_m;
    const displacement_fit fit(sights);
    std::array<double, nodes * nodes> to_row;
    std::array<double, nodes * nodes> to_col;
    std::array<double, nodes * nodes> leftover;
    const double last_m =
        axis.first_m +
        (acq.in_frequency_domain() ? period : axis.samples - 1) * axis.spacing_m;
    const auto on_grid = [&](int k) { // a single row or column has no rim
        return (grid->rows > 1 || k / nodes == nodes / 2) &&
               (grid->cols > 1 || k % nodes == nodes / 2);
    };
    parallel_for(nodes * nodes, [&](int k, int) {
        const double row_m = node(k / nodes) * half_row;
        const double col_m = node(k % nodes) * half_col;
        const vec3 p = row_m * grid->row_axis + col_m * grid->col_axis;
        const bool checked = on_grid(k);
        std::vector<double> curvature(count);
        for (int n = 0; n < count; ++n) {
            const sight& s = sights[n];
            const double r = range_to(s, p);
            const double measured = r + offsets[n];
            require(!checked || (measured >= axis.first_m - 1e-9 * s.range &&
                                 measured <= last_m + 1e-9 * s.range),
                    "pixels of the grid lie at a range of ",
                    measured,
                    " m from pulse ",
                    n,
                    ", as the lines count it, outside their ",
                    acq.in_frequency_domain() ? "alias-free " : "",
                    "swath of ",
                    axis.first_m,
                    " to ",
                    last_m,
                    " m; expected a grid within it: polar format would fold what lies "
                    "outside");
            curvature[n] = r - s.range - (s.row * row_m + s.col * col_m);
        }
        fit.solve(curvature, to_row[k], to_col[k]);
        double low = HUGE_VAL;
        double high = -HUGE_VAL;
        for (int n = 0; n < count; ++n) {
            const double e =
                curvature[n] - sights[n].row * to_row[k] - sights[n].col * to_col[k];
            low = std::min(low, e);
            high = std::max(high, e);
        }
        leftover[k] = high - low;
    });
    double leftover_m = 0;
    for (int k = 0; k < nodes * nodes; ++k)
        if (on_grid(k)) {
            leftover_m = std::max(leftover_m, leftover[k]);
            figures.displacement_m =
                std::max(figures.displacement_m,
                         length(to_row[k] * grid->row_axis + to_col[k] * grid->col_axis));
        }
    pfa::scene& s = scene;
    s = {};
    double reach_row = half_row;
    double reach_col = half_col;
    if (params.curvature != curvature_mode::warn) {
        s.warp_row = fit_surface(to_row);
        s.warp_col = fit_surface(to_col);
        for (int k = 0; k < nodes * nodes; ++k) {
            const double x = node(k / nodes);
            const double y = node(k % nodes);
            const double dr = s.warp_row.at(x, y);
            const double dc = s.warp_col.at(x, y);
            reach_row = std::max(reach_row, std::abs(x * half_row + dr));
            reach_col = std::max(reach_col, std::abs(y * half_col + dc));
            // what the polynomial misses counts as phase error, too
            leftover_m =
                std::max(leftover_m, std::abs(dr - to_row[k]) + std::abs(dc - to_col[k]));
        }
    }
    figures.phase_error_rad = 2 * pi * kappa * leftover_m;
    figures.range_m = sights[count / 2].range;

    // ---- the lattice: K of every sample, positions of every pixel
    s.cell_row = 0.5 * pfa::used_share / (1.01 * reach_row);
    s.cell_col = 0.5 * pfa::used_share / (1.01 * reach_col);
    double low_row = HUGE_VAL, high_row = -HUGE_VAL;
    double low_col = HUGE_VAL, high_col = -HUGE_VAL;
    for (const sight& g : sights)
        for (const double k : { kappa_low, kappa_high }) {
            low_row = std::min(low_row, k * g.row);
            high_row = std::max(high_row, k * g.row);
            low_col = std::min(low_col, k * g.col);
            high_col = std::max(high_col, k * g.col);
        }
    constexpr int margin = pfa::taps + 1;
    s.rows = lattice_length((high_row - low_row) / s.cell_row + margin);
    s.cols = lattice_length((high_col - low_col) / s.cell_col + margin);
    s.middle_row = 0.5 * (low_row + high_row);
    s.middle_col = 0.5 * (low_col + high_col);
    s.zero_row = s.rows / 2 - s.middle_row / s.cell_row;
    s.zero_col = s.cols / 2 - s.middle_col / s.cell_col;
    s.first_row =
        static_cast<int>(std::ceil(s.zero_row + low_row / s.cell_row - 0.5 * pfa::taps));
    s.first_col =
        static_cast<int>(std::ceil(s.zero_col + low_col / s.cell_col - 0.5 * pfa::taps));
    s.used_rows = static_cast<int>(
                      std::floor(s.zero_row + high_row / s.cell_row + 0.5 * pfa::taps)) -
                  s.first_row + 1;
    s.used_cols = static_cast<int>(
                      std::floor(s.zero_col + high_col / s.cell_col + 0.5 * pfa::taps)) -
                  s.first_col + 1;
    s.pulses = count;
    s.bins = period;
    s.lowest = lowest;
    s.image_rows = grid->rows;
    s.image_cols = grid->cols;
    s.row_spacing_m = grid->row_spacing_m;
    s.col_spacing_m = grid->col_spacing_m;
    s.first_row_m = -0.5 * (grid->rows - 1) * grid->row_spacing_m;
    s.first_col_m = -0.5 * (grid->cols - 1) * grid->col_spacing_m;
    s.half_row_m = half_row;
    s.half_col_m = half_col;
    static const pfa::taper flatten = fit_taper();
    s.flatten = flatten;

    // ---- pulses in order of direction, seen in cells against the mean one
    std::vector<double> along(count);
    std::vector<double> across(count);
    for (int n = 0; n < count; ++n) {
        const double a = sights[n].row / s.cell_row;
        const double b = sights[n].col / s.cell_col;
        s.ahead_row += a * sights[n].weight;
        s.ahead_col += b * sights[n].weight;
    }
    const double norm = std::hypot(s.ahead_row, s.ahead_col);
    require(
        norm > 1e-9 * std::hypot(1 / s.cell_row, 1 / s.cell_col),
        "the antenna looks straight down on the grid, or from all sides; polar format "
        "expects directions on one side");
    s.ahead_row /= norm;
    s.ahead_col /= norm;
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> slope(count);
    const vec3 mean = (1 / length(ahead)) * ahead;
    for (int n = 0; n < count; ++n) {
        const double a = sights[n].row / s.cell_row;
        const double b = sights[n].col / s.cell_col;
        const double forward = a * s.ahead_row + b * s.ahead_col;
        const vec3 g = sights[n].gradient;
        const double angle = std::acos(std::clamp(dot(g, mean) / length(g), -1.0, 1.0));
        require(
            forward > 0 && angle < 75 * pi / 180,
            "the direction of pulse ",
            n,
            " is ",
            angle * 180 / pi,
            " degrees from the mean one; polar format expects less than 75: use fewer "
            "pulses, or back-projection");
        slope[n] = (b * s.ahead_row - a * s.ahead_col) / forward;
    }
    std::stable_sort(
        order.begin(), order.end(), [&](int a, int b) { return slope[a] < slope[b]; });
    const sight& first = sights[order.front()];
    const sight& last = sights[order.back()];

    // ---- what the pulses can tell apart
    const double wide_row = (grid->rows - 1) * grid->row_spacing_m;
    const double wide_col = (grid->cols - 1) * grid->col_spacing_m;
    if (count > 1) {
        const double cycles = kappa_high *
                              (std::abs(last.row - first.row) * wide_row +
                               std::abs(last.col - first.col) * wide_col) /
                              (count - 1);
        require(cycles <= 1 + 1e-6,
                "the grid of ",
                wide_row,
                " m x ",
                wide_col,
                " m is larger than what ",
                count,
                " pulses show without ambiguity: from pulse to pulse the phase across it "
                "changes by ",
                cycles,
                " cycles; expected 1 at most: use more pulses, or a grid ",
                cycles,
                " times smaller");
        const auto unit = [](const sight& g) {
            return (1 / length(g.gradient)) * g.gradient;
        };
        figures.aperture_rad =
            2 * std::asin(std::min(1.0, 0.5 * length(unit(first) - unit(last))));
    }
    figures.radius_m = figures.aperture_rad > 0
                           ? polar_format_radius_m(
                                 figures.range_m, 1 / (0.5 * kappa), figures.aperture_rad)
                           : HUGE_VAL;
    require(
        params.curvature != curvature_mode::refuse ||
            figures.phase_error_rad <= polar_format_phase_limit_rad,
        "curvature is 'refuse', and the curvature of the wavefronts leaves a phase error "
        "of ",
        figures.phase_error_rad,
        " rad on the grid of ",
        wide_row,
        " m x ",
        wide_col,
        " m; expected at most ",
        polar_format_phase_limit_rad,
        " rad, which holds up to ",
        figures.radius_m,
        " m from its middle: use a smaller grid, fewer pulses or back-projection");

    // ---- in that order
    for (const int n : order) {
        const sight& g = sights[n];
        pfa::ray r;
        const auto cells = [](double k) { // no ray is so steep that it never moves
            return std::abs(k) < 1e-30 ? 1e-30 : k;
        };
        r.row_step = cells(kappa_step * g.row / s.cell_row);
        r.col_step = cells(kappa_step * g.col / s.cell_col);
        r.row = s.zero_row + kappa_low * g.row / s.cell_row;
        r.col = s.zero_col + kappa_low * g.col / s.cell_col;
        r.row_inverse = 1 / r.row_step;
        r.col_inverse = 1 / r.col_step;
        rays.push_back(r);
        // line sample m is at first + m spacing, its carrier that of its own range
        const double r0 = g.range + offsets[n] - axis.first_m;
        turns.push_back({ kappa_low * r0 + kappa * axis.first_m,
                          kappa_step * r0,
                          static_cast<float>(g.weight / period),
                          g.line });
        slopes.push_back(slope[n]);
    }
}

// ---- what both backends share
// ----------------------------------------------------------

namespace {

std::size_t store_of(const polar_format_imager_params& p)
{
    require(p.pulses >= 1 && p.pulses <= 1 << 20,
            "pulses is ",
            p.pulses,
            "; expected the pulses of an aperture, 1 to 2^20");
    require(p.slots >= 1 && p.pulses % p.slots == 0,
            "slots is ",
            p.slots,
            "; expected a divisor of pulses, ",
            p.pulses);
    require(p.acq->sweep == sweep_shape::sawtooth,
            "sweep of acq is 'triangle'; expected 'sawtooth': polar format does not know "
            "which of its lines are the way back, use back-projection");
    return static_cast<std::size_t>(p.pulses) * samples_of(p.acq);
}

target_memory memory_for_lines(const polar_format_imager_params& p,
                               const compute_target& target)
{
    const std::size_t values = store_of(p);
    try {
        return target_memory(values, target);
    } catch (const std::bad_alloc&) {
        throw std::runtime_error(sentence("no memory for the aperture: ",
                                          p.pulses,
                                          " lines of ",
                                          samples_of(p.acq),
                                          " samples need ",
                                          values * sizeof(cf32),
                                          " bytes; use fewer pulses"));
    }
}

} // namespace

polar_format_imager::polar_format_imager(const polar_format_imager_params& params,
                                         const compute_target& target)
    : d_params(params),
      d_samples(samples_of(params.acq)),
      d_lines(memory_for_lines(params, target)),
      d_compression(pulse_compression::make({ params.acq,
                                              oversampling_of(params.acq),
                                              params.range_window,
                                              params.replica },
                                            target)),
      d_tx(params.pulses),
      d_rx(params.bistatic ? params.pulses : 0),
      d_in_slot(params.slots, 0)
{
}

void polar_format_imager::add(const cf32* dev_lines,
                              const vec3* tx_m,
                              const vec3* rx_m,
                              int pulses)
{
    require(!d_params.bistatic || rx_m, "rx_m is null; a bistatic image needs receivers");
    d_formed = false;
    for (int k = 0; k < pulses;) {
        const auto usable = [&](int n) {
            return is_finite(tx_m[n]) && (!d_params.bistatic || is_finite(rx_m[n]));
        };
        if (!usable(k)) {
            if (d_report.skipped_pulses++ == 0)
                d_report.first_skipped = static_cast<std::int64_t>(
                    d_report.pulses + d_report.skipped_pulses - 1);
            ++k;
            continue;
        }
        require(d_count < d_params.pulses,
                "the aperture holds its ",
                d_params.pulses,
                " pulses; expected advance() before more");
        // as many as lie behind each other in the stream and in the store
        const int place = (d_first + d_count) % d_params.pulses;
        const int room = std::min(d_params.pulses - place, d_params.pulses - d_count);
        int n = 0;
        for (; n < room && k + n < pulses && usable(k + n); ++n) {
            d_tx[place + n] = tx_m[k + n];
            if (d_params.bistatic)
                d_rx[place + n] = rx_m[k + n];
        }
        d_compression->process(
            dev_lines + static_cast<std::ptrdiff_t>(k) * d_compression->samples_in(),
            d_lines.data() + static_cast<std::ptrdiff_t>(place) * d_samples,
            n);
        d_count += n;
        d_in_slot[d_slot] += n;
        d_report.pulses += n;
        k += n;
    }
}

void polar_format_imager::advance()
{
    d_slot = (d_slot + 1) % d_params.slots;
    d_first = (d_first + d_in_slot[d_slot]) % d_params.pulses;
    d_count -= d_in_slot[d_slot];
    d_in_slot[d_slot] = 0;
    d_formed = false;
}

void polar_format_imager::reset()
{
    for (int k = 0; k < d_params.slots; ++k)
        advance();
}

void polar_format_imager::image()
{
    std::vector<vec3> tx(d_count);
    std::vector<vec3> rx(d_params.bistatic ? d_count : 0);
    std::vector<int> lines(d_count);
    for (int n = 0; n < d_count; ++n) {
        const int place = (d_first + n) % d_params.pulses;
        lines[n] = place;
        tx[n] = d_tx[place];
        if (d_params.bistatic)
            rx[n] = d_rx[place];
    }
    d_plan = polar_format_plan(d_params, tx.data(), rx.data(), lines);
    form();
    d_formed = true;
    ++d_report.images;
    d_report.figures = d_plan.figures;
    d_report.lattice_rows = d_plan.scene.rows;
    d_report.lattice_cols = d_plan.scene.cols;
}

void polar_format_imager::write_rows(cf32* dev_out, int first_row, int rows)
{
    const int all = d_params.grid->rows;
    require(first_row >= 0 && rows >= 0 && first_row <= all - rows,
            "rows ",
            first_row,
            " to ",
            first_row + rows,
            " lie outside the image of ",
            all,
            " rows");
    if (rows == 0)
        return;
    if (d_count == 0) {
        clear(dev_out, static_cast<std::size_t>(rows) * d_params.grid->cols);
        return;
    }
    if (!d_formed)
        image();
    read(dev_out, first_row, rows);
}

polar_format_report polar_format_imager::report()
{
    polar_format_report r = d_report;
    r.bad_lines = d_compression->bad_lines();
    return r;
}

// ---- CPU
// -------------------------------------------------------------------------------

namespace {

cf32* as_cf32(gr_complex* p) { return reinterpret_cast<cf32*>(p); }

class polar_format_imager_cpu final : public polar_format_imager
{
public:
    polar_format_imager_cpu(const polar_format_imager_params& params,
                            const compute_target& target)
        : polar_format_imager(params, target)
    {
    }

protected:
    void form() override
    {
        const pfa::scene& s = d_plan.scene;
        const std::size_t cells = static_cast<std::size_t>(s.rows) * s.cols;
        try {
            d_spectra.resize(static_cast<std::size_t>(s.pulses) * s.bins);
            d_lattice.resize(cells);
        } catch (const std::bad_alloc&) {
            throw std::runtime_error(sentence("no memory for the image: a lattice of ",
                                              s.rows,
                                              " x ",
                                              s.cols,
                                              " cells needs ",
                                              cells * sizeof(cf32),
                                              " bytes; use a smaller grid"));
        }
        if (!d_columns || d_rows_of != s.rows || d_cols_of != s.cols) {
            d_columns = column_fft::make(s.rows, s.cols, compute_target());
            if (d_cols_of != s.cols)
                d_rows.clear();
            d_rows_of = s.rows;
            d_cols_of = s.cols;
        }
        d_lines_fft.resize(max_threads());
        d_rows.resize(max_threads());
        parallel_for(s.pulses, [&](int n, int thread) {
            auto& fft = d_lines_fft[thread];
            if (!fft)
                fft = std::make_unique<fft::fft_complex_fwd>(s.bins);
            const pfa::turn& t = d_plan.turns[n];
            cf32* in = as_cf32(fft->get_inbuf());
            std::copy_n(d_lines.data() + static_cast<std::size_t>(t.line) * d_samples,
                        d_samples,
                        in);
            std::fill(in + d_samples, in + s.bins, cf32{ 0, 0 });
            fft->execute();
            const cf32* from = as_cf32(fft->get_outbuf());
            cf32* to = d_spectra.data() + static_cast<std::size_t>(n) * s.bins;
            for (int b = 0; b < s.bins; ++b) {
                const int j = pfa::bin_of(s, b);
                to[j] = pfa::turned(t, b, from[j]);
            }
        });
        parallel_for(s.rows, [&](int row, int thread) {
            cf32* to = d_lattice.data() + static_cast<std::size_t>(row) * s.cols;
            if (row < s.first_row || row >= s.first_row + s.used_rows) {
                std::fill_n(to, s.cols, cf32{ 0, 0 });
                return;
            }
            auto& fft = d_rows[thread];
            if (!fft)
                fft = std::make_unique<fft::fft_complex_rev>(s.cols);
            cf32* in = as_cf32(fft->get_inbuf());
            std::fill_n(in, s.cols, cf32{ 0, 0 });
            for (int col = s.first_col; col < s.first_col + s.used_cols; ++col)
                in[col] = pfa::cell(s,
                                    d_plan.rays.data(),
                                    d_plan.slopes.data(),
                                    d_spectra.data(),
                                    row,
                                    col);
            fft->execute();
            std::copy_n(as_cf32(fft->get_outbuf()), s.cols, to);
        });
        d_columns->inverse(d_lattice.data());
    }

    void read(cf32* out, int first_row, int rows) override
    {
        const pfa::scene& s = d_plan.scene;
        parallel_for(rows, [&](int i, int) {
            for (int j = 0; j < s.image_cols; ++j)
                out[static_cast<std::size_t>(i) * s.image_cols + j] =
                    pfa::pixel(s, d_lattice.data(), first_row + i, j);
        });
    }

    void clear(cf32* out, std::size_t pixels) override
    {
        std::fill_n(out, pixels, cf32{ 0, 0 });
    }

    std::size_t held_bytes() const override
    {
        return (d_spectra.size() + d_lattice.size()) * sizeof(cf32) +
               (d_columns ? d_columns->bytes() : 0);
    }

private:
    std::vector<cf32> d_spectra;
    std::vector<cf32> d_lattice;
    std::unique_ptr<column_fft> d_columns;
    int d_rows_of = 0, d_cols_of = 0; // sizes that the transforms are for
    std::vector<std::unique_ptr<fft::fft_complex_fwd>> d_lines_fft; // one a thread
    std::vector<std::unique_ptr<fft::fft_complex_rev>> d_rows;
};

} // namespace

std::unique_ptr<polar_format_imager>
polar_format_imager::make(const polar_format_imager_params& params,
                          const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_polar_format_imager_cuda(params, target);
#endif
    return std::make_unique<polar_format_imager_cpu>(params, target);
}

} // namespace kernel
} // namespace sar
} // namespace gr
