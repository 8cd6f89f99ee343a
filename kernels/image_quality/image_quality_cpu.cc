// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/constants.h"
#include "../core/errors.h"
#include "../core/names.h"
#include "../core/parallel_for.h"
#include "image_quality.h"
#include "image_quality_math.h"
#include <algorithm>
#include <cmath>

namespace gr {
namespace sar {

namespace {

using cd = std::complex<double>;

const name_table<aperture_ends, 2> ends_names = {
    "aperture_ends",
    { { { aperture_ends::angle, "angle" }, { aperture_ends::doppler, "doppler" } } }
};

constexpr int steps_per_irw = 64;     // sampling of cuts
constexpr double null_distances = 10; // reach of a cut
constexpr int rim = 8;                // pixels over which a chip is tapered
constexpr int largest_chip = 320;     // pixels a side

cd phasor(double cycles)
{
    const double x = 2 * pi * (cycles - std::rint(cycles));
    return { std::cos(x), std::sin(x) };
}

bool finite(cf32 v) { return std::isfinite(v.re) && std::isfinite(v.im); }

// Response of a window, normalised to 1, u in cells.
class window_response
{
public:
    explicit window_response(const window& w) : d_weights(w.samples(1024))
    {
        for (const double v : d_weights)
            d_sum += v;
        // the first null: a rect has it at 1 cell, a taper further out
        const double step = 1.0 / 128;
        double before = 1;
        for (double u = step;; u += step) {
            const double p = power(u);
            if (before < 0.5 && p > before) {
                d_null = u - step;
                break;
            }
            before = p;
        }
    }

    double amplitude(double u) const
    {
        // symmetric weights: a cosine sum over one half
        const int n = static_cast<int>(d_weights.size());
        const double turn = 2 * pi * u / n;
        double s = 0;
        for (int i = 0; i < n / 2; ++i)
            s += d_weights[n / 2 + i] * std::cos(turn * (i + 0.5));
        return 2 * s / d_sum;
    }

    double power(double u) const
    {
        const double r = amplitude(u);
        return r * r;
    }

    double null() const { return d_null; }

private:
    std::vector<double> d_weights;
    double d_sum = 0;
    double d_null = 0;
};

// Its amplitude from a table, within 3e-5; far out (where it is below -35 dB) 0.
class tabulated_response
{
public:
    explicit tabulated_response(const window_response& response)
        : d_table(cells * steps + 2)
    {
        parallel_for(static_cast<int>(d_table.size()), [&](int i, int) {
            d_table[i] = response.amplitude(static_cast<double>(i) / steps);
        });
    }

    double operator()(double u) const
    {
        const double x = std::abs(u) * steps;
        if (!(x < cells * steps))
            return 0;
        const int i = static_cast<int>(x);
        return d_table[i] + (x - i) * (d_table[i + 1] - d_table[i]);
    }

private:
    static constexpr int steps = 128; // a cell
    static constexpr int cells = 40;
    std::vector<double> d_table;
};

// A response over an extent, on samples as fine as those of the image's cut.
template <typename Power>
std::vector<double> theory_cut(const Power& power_at, double step, int before, int after)
{
    std::vector<double> power(before + after + 1);
    parallel_for(before + after + 1,
                 [&](int i, int) { power[i] = power_at((i - before) * step); });
    return power;
}

// What a point looks like along one line through it: the sum over all its wave vectors.
class point_response
{
public:
    point_response(const point_target_geometry& g,
                   vec3 p,
                   vec3 direction,
                   const tabulated_response& range)
        : d_range(range),
          d_bandwidth_hz(g.bandwidth_hz),
          d_weights(g.azimuth_window.samples(looks))
    {
        const auto at = [&](double s) { // along the flight, 0 .. 1
            if (g.ends == aperture_ends::angle) {
                // the parabola through the three positions that are known
                const vec3 antenna = (1 - s) * (1 - 2 * s) * g.aperture_start_m +
                                     4 * s * (1 - s) * g.aperture_centre_m +
                                     s * (2 * s - 1) * g.aperture_end_m;
                return look_along(p, antenna, direction, g.carrier_hz);
            }
            const vec3 track = unit(g.aperture_end_m - g.aperture_start_m);
            const vec3 u = unit(p - g.aperture_centre_m);
            const double first = dot(unit(p - g.aperture_start_m), track);
            const double last = dot(unit(p - g.aperture_end_m), track);
            return look_at_doppler(first + s * (last - first),
                                   track,
                                   unit(u - dot(u, track) * track),
                                   direction,
                                   g.carrier_hz);
        };
        d_centre = at(0.5).carrier_per_m;
        for (int i = 0; i < looks; ++i) {
            d_looks.push_back(at((i + 0.5) / looks));
            d_weights[i] *= d_looks[i].weight;
            d_sum += d_weights[i];
        }
    }

    double power(double x_m) const
    {
        cd sum = 0;
        for (int i = 0; i < looks; ++i)
            sum += d_weights[i] * d_range(d_bandwidth_hz * d_looks[i].band_per_m * x_m) *
                   phasor((d_looks[i].carrier_per_m - d_centre) * x_m);
        return std::norm(sum / d_sum);
    }

    //! Between the half-power points next to the peak, m. \param guess about that
    double width(double guess_m) const
    {
        double sum = 0;
        for (const double sign : { -1.0, 1.0 }) {
            double in = 0;
            double out = guess_m / 16;
            while (power(sign * out) > 0.5) {
                in = out;
                out += guess_m / 16;
            }
            for (int i = 0; i < 30; ++i) {
                const double middle = (in + out) / 2;
                (power(sign * middle) > 0.5 ? in : out) = middle;
            }
            sum += in;
        }
        return sum;
    }

private:
    static constexpr int looks = 512;
    const tabulated_response& d_range;
    const double d_bandwidth_hz;
    std::vector<double> d_weights;
    std::vector<cut_look> d_looks;
    double d_centre = 0;
    double d_sum = 0;
};

// A chip of the image as a trigonometric polynomial of fractional pixel indices.
class polynomial
{
public:
    polynomial(const std::vector<cd>& chip, int rows, int cols)
    {
        // where the signal sits in the spectrum, cycles a pixel: angle of the lag-1
        // autocorrelation
        cd lag_r = 0, lag_c = 0;
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < cols; ++c) {
                const cd v = std::conj(chip[r * cols + c]);
                if (r + 1 < rows)
                    lag_r += chip[(r + 1) * cols + c] * v;
                if (c + 1 < cols)
                    lag_c += chip[r * cols + c + 1] * v;
            }
        std::vector<double> weight_r, weight_c;
        frequencies(rows, std::arg(lag_r) / (2 * pi), d_row_f, weight_r);
        frequencies(cols, std::arg(lag_c) / (2 * pi), d_col_f, weight_c);
        const std::size_t nr = d_row_f.size();
        const std::size_t nc = d_col_f.size();
        // separable transform in double; chips are small
        std::vector<cd> half(rows * nc);
        parallel_for(rows, [&](int r, int) {
            for (std::size_t l = 0; l < nc; ++l) {
                const cd turn = phasor(-d_col_f[l]);
                cd e = 1, s = 0;
                for (int c = 0; c < cols; ++c) {
                    s += chip[r * cols + c] * e;
                    e *= turn;
                }
                half[r * nc + l] = s * (weight_c[l] / cols);
            }
        });
        d_spectrum.assign(nr * nc, 0);
        parallel_for(static_cast<int>(nr), [&](int k, int) {
            const cd turn = phasor(-d_row_f[k]);
            cd e = weight_r[k] / rows;
            for (int r = 0; r < rows; ++r) {
                for (std::size_t l = 0; l < nc; ++l)
                    d_spectrum[k * nc + l] += half[r * nc + l] * e;
                e *= turn;
            }
        });
    }

    cd operator()(double r, double c) const
    {
        cd v, unused[5];
        evaluate<false>(r, c, v, unused);
        return v;
    }

    // Climb to the maximum of the magnitude from (r, c): Newton's method on |f|^2, kept
    // to steps of half a pixel; uphill where the surface is not yet a summit.
    void climb(double& r, double& c) const
    {
        for (int i = 0; i < 40; ++i) {
            cd f, d[5]; // f_r, f_c, f_rr, f_rc, f_cc
            evaluate<true>(r, c, f, d);
            const auto re = [](cd a, cd b) { return 2 * (std::conj(a) * b).real(); };
            const double gr = re(f, d[0]), gc = re(f, d[1]);
            const double hrr = re(d[0], d[0]) + re(f, d[2]);
            const double hrc = re(d[0], d[1]) + re(f, d[3]);
            const double hcc = re(d[1], d[1]) + re(f, d[4]);
            const double det = hrr * hcc - hrc * hrc;
            double sr, sc;
            if (hrr < 0 && det > 0) {
                sr = -(hcc * gr - hrc * gc) / det;
                sc = -(hrr * gc - hrc * gr) / det;
            } else {
                const double g = std::hypot(gr, gc);
                if (!(g > 0))
                    return;
                sr = 0.25 * gr / g;
                sc = 0.25 * gc / g;
            }
            const double s = std::hypot(sr, sc);
            const double scale = s > 0.5 ? 0.5 / s : 1;
            r += scale * sr;
            c += scale * sc;
            if (s < 1e-7)
                return;
        }
    }

private:
    // n frequencies in cycles a pixel around the centre; for even n the bin half a turn
    // away stands on both sides with half the weight
    static void
    frequencies(int n, double centre, std::vector<double>& f, std::vector<double>& weight)
    {
        const int k0 = static_cast<int>(std::lround(centre * n));
        for (int k = -(n / 2); k <= n / 2; ++k) {
            f.push_back(static_cast<double>(k0 + k) / n);
            weight.push_back(n % 2 == 0 && std::abs(k) == n / 2 ? 0.5 : 1.0);
        }
    }

    template <bool derivatives>
    void evaluate(double r, double c, cd& v, cd* d) const
    {
        const std::size_t nr = d_row_f.size();
        const std::size_t nc = d_col_f.size();
        static thread_local std::vector<cd> e;
        e.resize(nc);
        for (std::size_t l = 0; l < nc; ++l)
            e[l] = phasor(d_col_f[l] * c);
        v = 0;
        for (int i = 0; derivatives && i < 5; ++i)
            d[i] = 0;
        for (std::size_t k = 0; k < nr; ++k) {
            const cd* row = &d_spectrum[k * nc];
            double s0r = 0, s0i = 0;
            cd s1 = 0, s2 = 0;
            for (std::size_t l = 0; l < nc; ++l) {
                const double tr =
                    row[l].real() * e[l].real() - row[l].imag() * e[l].imag();
                const double ti =
                    row[l].real() * e[l].imag() + row[l].imag() * e[l].real();
                s0r += tr;
                s0i += ti;
                if (derivatives) {
                    const cd jw(0, 2 * pi * d_col_f[l]);
                    s1 += jw * cd(tr, ti);
                    s2 += jw * jw * cd(tr, ti);
                }
            }
            const cd p = phasor(d_row_f[k] * r);
            const cd s0(s0r, s0i);
            v += p * s0;
            if (derivatives) {
                const cd jw(0, 2 * pi * d_row_f[k]);
                d[0] += p * jw * s0;
                d[1] += p * s1;
                d[2] += p * jw * jw * s0;
                d[3] += p * jw * s1;
                d[4] += p * s2;
            }
        }
    }

    std::vector<double> d_row_f, d_col_f;
    std::vector<cd> d_spectrum;
};

void check(const point_target_geometry& g)
{
    const auto at = [](const char* name, vec3 v) {
        require(
            is_finite(v), name, " is not finite; expected an antenna position in metres");
    };
    at("aperture_start_m", g.aperture_start_m);
    at("aperture_centre_m", g.aperture_centre_m);
    at("aperture_end_m", g.aperture_end_m);
    require(std::isfinite(g.carrier_hz) && g.carrier_hz > 0,
            "carrier_hz is ",
            g.carrier_hz,
            " Hz; expected a positive number, the middle of the band");
    require(std::isfinite(g.bandwidth_hz) && g.bandwidth_hz > 0,
            "bandwidth_hz is ",
            g.bandwidth_hz,
            " Hz; expected a positive number");
    require(
        length(g.aperture_end_m - g.aperture_start_m) > 0,
        "aperture_start_m and aperture_end_m are the same point; expected the antenna "
        "at the first and the last pulse of an aperture");
}

void check(const point_target_limits& l)
{
    const auto positive = [](const char* name, double v) {
        require(v > 0, "the limit ", name, " is ", v, "; expected a positive number");
    };
    positive("position_cells", l.position_cells);
    positive("irw", l.irw);
    positive("pslr_db", l.pslr_db);
    positive("islr_db", l.islr_db);
    positive("phase_rad", l.phase_rad);
}

void check(const point_target_options& o)
{
    require(o.chip >= 16, "chip is ", o.chip, " pixels; expected 16 or more");
    require(std::isfinite(o.search_cells) && o.search_cells > 0,
            "search_cells is ",
            o.search_cells,
            "; expected a positive number of resolution cells");
}

// Extent in rows and columns of both cuts, given reaches in metres.
void pixel_extent(const image_grid& grid,
                  vec3 p,
                  const target_cuts& cuts,
                  double range_m,
                  double azimuth_m,
                  double& rows,
                  double& cols)
{
    double r0, c0, rr, cr, ra, ca;
    grid.index_of(p, r0, c0);
    grid.index_of(p + range_m * cuts.range_direction, rr, cr);
    grid.index_of(p + azimuth_m * cuts.azimuth_direction, ra, ca);
    rows = std::max(std::abs(rr - r0), std::abs(ra - r0));
    cols = std::max(std::abs(cr - c0), std::abs(ca - c0));
}

struct chip_bounds {
    int row, col, rows, cols;
    int rim_rows, rim_cols;
    // usable part, in indices of the chip
    bool inside(double r, double c) const
    {
        return r >= rim_rows && c >= rim_cols && r <= rows - 1 - rim_rows &&
               c <= cols - 1 - rim_cols;
    }
};

double taper(int i, int n, int width)
{
    const int edge = std::min(i, n - 1 - i);
    return edge >= width ? 1 : 0.5 - 0.5 * std::cos(pi * (edge + 1) / (width + 1));
}

// One cut through the peak at chip index (r, c).
void measure_direction(const polynomial& f,
                       const chip_bounds& chip,
                       const image_grid& grid,
                       vec3 peak_m,
                       double r,
                       double c,
                       const point_response& response,
                       double null_cells,
                       bool keep,
                       cut_report& cut)
{
    double r1, c1, r0, c0;
    grid.index_of(peak_m, r0, c0);
    grid.index_of(peak_m + cut.direction, r1, c1);
    const double rows_per_m = r1 - r0;
    const double cols_per_m = c1 - c0;
    const double step_m = cut.irw_theory_m / steps_per_irw;
    const int most = static_cast<int>(null_distances * null_cells * cut.cell_m / step_m);
    const auto reach = [&](int sign) {
        int i = 0;
        while (i < most && chip.inside(r + sign * (i + 1) * step_m * rows_per_m,
                                       c + sign * (i + 1) * step_m * cols_per_m))
            ++i;
        return i;
    };
    const int before = reach(-1);
    const int after = reach(+1);
    cut.extent_before_m = before * step_m;
    cut.extent_after_m = after * step_m;
    std::vector<double> power(before + after + 1);
    parallel_for(before + after + 1, [&](int i, int) {
        const double u = (i - before) * step_m;
        power[i] = std::norm(f(r + u * rows_per_m, c + u * cols_per_m));
    });
    const cut_figures got = measure_cut(power, before);
    cut.irw_m = got.irw * step_m;
    cut.pslr_db = got.pslr_db;
    cut.islr_db = got.islr_db;
    cut.half_before_m = got.half_before * step_m;
    cut.half_after_m = got.half_after * step_m;
    cut.null_before_m = got.null_before * step_m;
    cut.null_after_m = got.null_after * step_m;
    const std::vector<double> expected =
        theory_cut([&](double x) { return response.power(x); }, step_m, before, after);
    // PSLR and ISLR of the theory, by the code that measures images
    const cut_figures theory = measure_cut(expected, before);
    cut.pslr_theory_db = theory.pslr_db;
    cut.islr_theory_db = theory.islr_db;
    if (!keep)
        return;
    for (const double p : power)
        cut.power.push_back(static_cast<float>(p / power[before]));
    cut.power_theory.assign(expected.begin(), expected.end());
}

double median_of(std::vector<float>& v)
{
    const auto middle = v.begin() + v.size() / 2;
    std::nth_element(v.begin(), middle, v.end());
    return *middle;
}

double db(double ratio) { return 20 * std::log10(ratio); }

} // namespace

aperture_ends aperture_ends_from_name(const std::string& n)
{
    return ends_names.from_name(n);
}
std::string to_string(aperture_ends e) { return ends_names.to_name(e); }

window_figures theory_of(const window& w, double cells_before, double cells_after)
{
    const window_response response(w);
    const double step = w.irw() / steps_per_irw;
    const int before = static_cast<int>(cells_before / step);
    const int after = static_cast<int>(cells_after / step);
    const cut_figures f = measure_cut(
        theory_cut([&](double u) { return response.power(u); }, step, before, after),
        before);
    return { response.null(), f.pslr_db, f.islr_db };
}

point_target_report measure_point_target(const cf32* image,
                                         const image_grid& grid,
                                         vec3 expected_m,
                                         const point_target_geometry& geometry,
                                         const point_target_options& options,
                                         const point_target_limits& limits)
{
    check(geometry);
    check(options);
    check(limits);
    require(is_finite(expected_m), "the expected position is not finite");

    point_target_report out;
    const auto unmeasured = [&out](std::string why) {
        out.problem = std::move(why);
        out.failures = { out.problem };
        return out;
    };

    double row0, col0;
    grid.index_of(expected_m, row0, col0);
    const vec3 p0 = grid.position(row0, col0);
    out.expected_m = p0;
    const int rows = grid->rows;
    const int cols = grid->cols;
    if (!(row0 >= 0 && col0 >= 0 && row0 <= rows - 1 && col0 <= cols - 1))
        return unmeasured(sentence("the expected position falls on pixel (",
                                   row0,
                                   ", ",
                                   col0,
                                   "), outside the image of ",
                                   rows,
                                   " x ",
                                   cols));
    const target_cuts cuts = cuts_at(p0,
                                     geometry.aperture_start_m,
                                     geometry.aperture_centre_m,
                                     geometry.aperture_end_m,
                                     grid.normal(),
                                     geometry.ends == aperture_ends::doppler);
    if (!(cuts.range_slope > 1e-9 && cuts.azimuth_slope > 1e-12))
        return unmeasured(sentence(
            "the geometry resolves nothing in the image plane at (",
            p0.x,
            ", ",
            p0.y,
            ", ",
            p0.z,
            ") m: look direction and its change along the aperture are parallel or "
            "perpendicular to the plane; check aperture_start_m, aperture_centre_m and "
            "aperture_end_m"));
    const window_response range_response(geometry.range_window);
    const window_response azimuth_response(geometry.azimuth_window);
    out.range.direction = cuts.range_direction;
    out.range.cell_m = speed_of_light / (2 * geometry.bandwidth_hz) / cuts.range_slope;
    const tabulated_response over_band(range_response);
    const point_response range_cut(geometry, p0, cuts.range_direction, over_band);
    out.range.irw_theory_m = range_cut.width(out.range.cell_m);
    out.azimuth.direction = cuts.azimuth_direction;
    out.azimuth.cell_m = speed_of_light / geometry.carrier_hz / 2 / cuts.azimuth_slope;
    const point_response azimuth_cut(geometry, p0, cuts.azimuth_direction, over_band);
    out.azimuth.irw_theory_m = azimuth_cut.width(out.azimuth.cell_m);

    // the brightest pixel near the expected position
    double reach_r, reach_c;
    pixel_extent(grid,
                 p0,
                 cuts,
                 options.search_cells * out.range.cell_m,
                 options.search_cells * out.azimuth.cell_m,
                 reach_r,
                 reach_c);
    reach_r = std::max(reach_r, 2.0);
    reach_c = std::max(reach_c, 2.0);
    int best_r = -1, best_c = -1;
    float best = -1;
    const int r_first = std::max(0, static_cast<int>(std::ceil(row0 - reach_r)));
    const int r_last = static_cast<int>(std::min<double>(rows - 1, row0 + reach_r));
    const int c_first = std::max(0, static_cast<int>(std::ceil(col0 - reach_c)));
    const int c_last = static_cast<int>(std::min<double>(cols - 1, col0 + reach_c));
    for (int r = r_first; r <= r_last; ++r)
        for (int c = c_first; c <= c_last; ++c) {
            const cf32 v = image[static_cast<std::size_t>(r) * cols + c];
            if (finite(v) && norm(v) > best) {
                best = norm(v);
                best_r = r;
                best_c = c;
            }
        }
    if (!(best > 0))
        return unmeasured("the image is zero or not finite around the expected position");

    // the chip
    double half_r, half_c;
    pixel_extent(grid,
                 p0,
                 cuts,
                 null_distances * range_response.null() * out.range.cell_m,
                 null_distances * azimuth_response.null() * out.azimuth.cell_m,
                 half_r,
                 half_c);
    const auto bounds = [&](int centre, double half, int n, int& first, int& count) {
        const int h = static_cast<int>(std::min<double>(
            largest_chip / 2,
            std::max<double>(options.chip / 2, std::ceil(half) + rim + 2)));
        first = std::max(0, centre - h);
        count = std::min(n, centre + h) - first;
    };
    chip_bounds chip{};
    bounds(best_r, half_r, rows, chip.row, chip.rows);
    bounds(best_c, half_c, cols, chip.col, chip.cols);
    chip.rim_rows = std::min(rim, chip.rows / 4);
    chip.rim_cols = std::min(rim, chip.cols / 4);

    std::vector<cd> z(static_cast<std::size_t>(chip.rows) * chip.cols);
    std::vector<float> magnitude(z.size());
    std::size_t bad = 0;
    for (int r = 0; r < chip.rows; ++r)
        for (int c = 0; c < chip.cols; ++c) {
            const cf32 v =
                image[static_cast<std::size_t>(chip.row + r) * cols + chip.col + c];
            if (!finite(v)) {
                ++bad;
                continue;
            }
            const cd carrier =
                phasor(-carrier_cycles_between(grid.position(chip.row + r, chip.col + c),
                                               p0,
                                               geometry.aperture_centre_m,
                                               geometry.carrier_hz));
            const std::size_t i = static_cast<std::size_t>(r) * chip.cols + c;
            z[i] = cd(v.re, v.im) * carrier * taper(r, chip.rows, chip.rim_rows) *
                   taper(c, chip.cols, chip.rim_cols);
            magnitude[i] = std::sqrt(norm(v));
        }
    if (bad)
        return unmeasured(
            sentence(bad, " of ", z.size(), " pixels around the target are not finite"));
    const double middle = median_of(magnitude);
    out.peak_to_median_db =
        std::min(300.0, db(std::sqrt(best) / std::max(middle, 1e-30)));
    if (out.peak_to_median_db < options.least_peak_to_median_db)
        return unmeasured(sentence("no target near the expected position: the brightest "
                                   "pixel stands ",
                                   out.peak_to_median_db,
                                   " dB over the median around it; expected ",
                                   options.least_peak_to_median_db,
                                   " dB or more"));

    double r = best_r - chip.row;
    double c = best_c - chip.col;
    const auto at_edge = [&] {
        return unmeasured(sentence("the peak lies at pixel (",
                                   chip.row + r,
                                   ", ",
                                   chip.col + c,
                                   "), too near to the edge of the image of ",
                                   rows,
                                   " x ",
                                   cols,
                                   " to measure its response"));
    };
    const double start_r = r, start_c = c;
    if (!chip.inside(r, c))
        return at_edge();
    const polynomial f(z, chip.rows, chip.cols);
    f.climb(r, c);
    if (!chip.inside(r, c))
        return at_edge();
    if (!(std::hypot(r - start_r, c - start_c) < 3))
        return unmeasured("the brightest pixel near the expected position is no peak of "
                          "its own: a brighter target is next to it");
    const vec3 found = grid.position(chip.row + r, chip.col + c);
    out.position_m = found;
    out.peak_amplitude = std::abs(f(r, c));
    double range_m, azimuth_m;
    along_cuts(cuts, found - p0, range_m, azimuth_m);
    out.range.position_error_m = range_m;
    out.range.position_error_cells = range_m / out.range.cell_m;
    out.azimuth.position_error_m = azimuth_m;
    out.azimuth.position_error_cells = azimuth_m / out.azimuth.cell_m;
    if (chip.inside(row0 - chip.row, col0 - chip.col)) {
        const cd there = f(row0 - chip.row, col0 - chip.col);
        out.phase_error_rad =
            std::arg(there * std::polar(1.0, -options.expected_phase_rad));
    }
    const bool keep = options.keep_cuts;
    const double range_null = range_response.null();
    const double azimuth_null = azimuth_response.null();
    measure_direction(f, chip, grid, found, r, c, range_cut, range_null, keep, out.range);
    measure_direction(
        f, chip, grid, found, r, c, azimuth_cut, azimuth_null, keep, out.azimuth);
    const auto too_short = [](const cut_report& cut, const window_response& w) {
        const double need = 1.5 * w.null() * cut.cell_m;
        return cut.extent_before_m < need || cut.extent_after_m < need;
    };
    if (too_short(out.range, range_response) || too_short(out.azimuth, azimuth_response))
        return at_edge();
    out.found = true;
    out.failures = check_limits(out, limits);
    out.pass = out.failures.empty();
    return out;
}

std::vector<std::string> check_limits(const point_target_report& report,
                                      const point_target_limits& limits)
{
    std::vector<std::string> failures;
    if (!report.found) {
        failures.push_back(report.problem);
        return failures;
    }
    const auto hold = [&failures](const char* direction,
                                  const char* figure,
                                  double error,
                                  double limit,
                                  const char* unit) {
        if (std::abs(error) <= limit) // false for NaN
            return;
        failures.push_back(sentence(direction,
                                    direction[0] ? " " : "",
                                    figure,
                                    " is off by ",
                                    error,
                                    unit,
                                    "; allowed are ",
                                    limit,
                                    unit));
    };
    const auto cut = [&](const char* name, const cut_report& c) {
        hold(name, "position", c.position_error_cells, limits.position_cells, " cells");
        hold(name, "IRW", 100 * (c.irw_m / c.irw_theory_m - 1), 100 * limits.irw, " %");
        hold(name, "PSLR", c.pslr_db - c.pslr_theory_db, limits.pslr_db, " dB");
        hold(name, "ISLR", c.islr_db - c.islr_theory_db, limits.islr_db, " dB");
    };
    cut("range", report.range);
    cut("azimuth", report.azimuth);
    hold("", "phase", report.phase_error_rad, limits.phase_rad, " rad");
    return failures;
}

image_figures image_statistics(const cf32* image, std::size_t pixels, double full_scale)
{
    require(std::isfinite(full_scale) && full_scale >= 0,
            "full_scale is ",
            full_scale,
            "; expected a level, or 0 for none");
    image_figures out;
    out.pixels = pixels;
    std::vector<float> magnitude;
    magnitude.reserve(pixels);
    double sum = 0, power = 0, weighted = 0;
    std::size_t saturated = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
        const cf32 v = image[i];
        if (!finite(v))
            continue;
        const double p = double(v.re) * v.re + double(v.im) * v.im;
        const double m = std::sqrt(p);
        magnitude.push_back(static_cast<float>(m));
        sum += m;
        power += p;
        if (p > 0)
            weighted += p * std::log(p);
        out.peak = std::max(out.peak, m);
        if (full_scale > 0 &&
            (std::abs(v.re) >= full_scale || std::abs(v.im) >= full_scale))
            ++saturated;
    }
    const std::size_t n = magnitude.size();
    out.non_finite = pixels - n;
    if (n == 0 || !(power > 0))
        return out;
    out.mean = sum / n;
    out.contrast = std::sqrt(std::max(0.0, power / n - out.mean * out.mean)) / out.mean;
    out.entropy_nat = std::log(power) - weighted / power;
    out.saturated = static_cast<double>(saturated) / n;
    const double middle = median_of(magnitude);
    out.peak_to_median_db = std::min(300.0, db(out.peak / std::max(middle, 1e-30)));
    return out;
}

namespace {

class quality final : public kernel::image_quality
{
public:
    explicit quality(const image_quality_params& p) : d_params(p)
    {
        check(p.geometry);
        check(p.limits);
        for (std::size_t k = 0; k < p.targets.size(); ++k)
            require(is_finite(p.targets[k].position_m) &&
                        std::isfinite(std::abs(p.targets[k].amplitude)),
                    "targets[",
                    k,
                    "] is not finite; expected x, y, z in metres and an amplitude");
    }

    image_quality_report measure(const cf32* image, std::uint64_t number) const override
    {
        const image_grid& grid = d_params.grid;
        image_quality_report out;
        out.image = number;
        out.figures =
            image_statistics(image, static_cast<std::size_t>(grid->rows) * grid->cols);
        out.pass = out.figures.non_finite == 0;
        for (const expected_target& t : d_params.targets) {
            point_target_options options;
            options.expected_phase_rad = std::arg(t.amplitude);
            out.targets.push_back(measure_point_target(
                image, grid, t.position_m, d_params.geometry, options, d_params.limits));
            out.pass = out.pass && out.targets.back().pass;
        }
        return out;
    }

private:
    const image_quality_params d_params;
};

} // namespace

std::unique_ptr<kernel::image_quality>
kernel::image_quality::make(const image_quality_params& params)
{
    return std::make_unique<quality>(params);
}

} // namespace sar
} // namespace gr
