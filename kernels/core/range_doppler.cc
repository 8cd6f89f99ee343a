// SPDX-License-Identifier: GPL-3.0-or-later
#include "range_doppler.h"
#include "errors.h"
#include "names.h"
#include <algorithm>

namespace gr {
namespace sar {

namespace {

const name_table<image_geometry, 2> geometries = {
    "geometry",
    { { { image_geometry::zero_doppler, "zero_doppler" },
        { image_geometry::centroid, "centroid" } } }
};

//! -d eta / d f over R0
double slowness(double velocity_m_s, double carrier_hz, double factor)
{
    return speed_of_light /
           (2 * carrier_hz * velocity_m_s * velocity_m_s * factor * factor * factor);
}

//! eta(f), s
double
time_of(double frequency_hz, double closest_m, double velocity_m_s, double carrier_hz)
{
    const double d = migration_factor(frequency_hz, velocity_m_s, carrier_hz);
    return -speed_of_light * closest_m * frequency_hz /
           (2 * carrier_hz * velocity_m_s * velocity_m_s * d);
}

//! Every so many cells are looked at where a smooth quantity is wanted.
std::vector<int> some_columns(int cols)
{
    std::vector<int> v;
    for (int i = 0; i <= 16; ++i)
        v.push_back(static_cast<int>(static_cast<std::int64_t>(cols - 1) * i / 16));
    return v;
}

} // namespace

image_geometry image_geometry_from_name(const std::string& n)
{
    return geometries.from_name(n);
}
std::string to_string(image_geometry g) { return geometries.to_name(g); }

int fast_fft_length(int n)
{
    for (;; ++n) {
        int rest = n;
        for (const int p : { 2, 3, 5, 7 })
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return n;
    }
}

int line_fft_length(int n)
{
    if (n <= longest_block_line) {
        int unit = 1;
        while (unit * 16 < n)
            unit *= 2;
        for (const int factor : { 8, 9, 10, 12 })
            if (unit * factor >= n)
                return unit * factor;
        return unit * 16;
    }
    if (n <= 1 << 16)
        return fast_fft_length(n);
    int unit = 1 << 14;
    while (unit * 8 <= n)
        unit *= 2;
    return (n + unit - 1) / unit * unit;
}

range_doppler_plan::range_doppler_plan(const range_doppler_params& params)
    : d_params(params)
{
    const acquisition& acq = params.acq;
    require(params.lines >= 1 && params.lines <= 1 << 20,
            "lines is ",
            params.lines,
            "; expected the number of lines in a frame, 1 to 2^20");
    require(params.fft_length == 0 ||
                (params.fft_length >= params.lines && params.fft_length <= 1 << 21),
            "fft_length is ",
            params.fft_length,
            "; expected 0 (the smallest fast length) or at least lines, ",
            params.lines,
            ", and at most 2^21");
    require(acq->effective_velocity_m_s > 0,
            "effective_velocity_m_s is ",
            acq->effective_velocity_m_s,
            " m/s; range-Doppler processing needs it: expected more than 0");
    require(acq->range_from == range_reference::antenna,
            "range_reference is point; range-Doppler processing needs slant ranges from "
            "the antenna: expected antenna");
    const range_axis axis = acq.compressed_axis(params.oversampling);
    require(axis.first_m - axis.range_bias_m > 0,
            "slant_range_first_m is ",
            axis.first_m,
            " m with a range_bias_m of ",
            axis.range_bias_m,
            " m; expected a positive slant range");

    d_frame.lines = params.lines;
    d_frame.rows = params.fft_length ? params.fft_length : fast_fft_length(params.lines);
    d_frame.cols = axis.samples;
    d_frame.prf_hz = acq->prf_hz;
    d_frame.carrier_hz = axis.carrier_hz;
    d_frame.bandwidth_hz = axis.bandwidth_hz;
    d_frame.line_first_m = axis.first_m;
    d_frame.spacing_m = axis.spacing_m;
    d_frame.bias_m = axis.range_bias_m;
    d_frame.geometry = params.geometry;
    d_velocity = acq.velocity_coefficients();
    d_centroid = acq.centroid_coefficients();
    derive();
}

void range_doppler_plan::set_centroid(const std::vector<double>& coefficients_hz)
{
    require(!coefficients_hz.empty() && coefficients_hz.size() <= 4,
            "the Doppler centroid has ",
            coefficients_hz.size(),
            " coefficients; expected 1 to 4");
    for (const double c : coefficients_hz)
        require(std::isfinite(c),
                "the Doppler centroid has a coefficient ",
                c,
                "; expected numbers");
    if (coefficients_hz == d_centroid)
        return;
    const std::vector<double> before = d_centroid;
    d_centroid = coefficients_hz;
    try {
        derive();
    } catch (...) {
        d_centroid = before;
        derive();
        throw;
    }
}

void range_doppler_plan::complete(int& first, int& count) const
{
    const acquisition& acq = d_params.acq;
    const int over = d_params.oversampling;
    const int pulse = acq->wave == waveform::pulsed_lfm ? acq.pulse_samples() : 1;
    first = 0;
    count = d_frame.cols;
    if (pulse >= acq->samples)
        return; // no whole pulse anywhere
    count = (acq->samples - pulse + 1) * over;
    if (acq->pulse_ref == pulse_reference::centre)
        first = pulse / 2 * over;
}

double range_doppler_plan::velocity_at(double r) const
{
    return polynomial(d_velocity, r + d_frame.bias_m - d_params.acq->slant_range_first_m);
}

double range_doppler_plan::centroid_at(double r) const
{
    return polynomial(d_centroid, r + d_frame.bias_m - d_params.acq->slant_range_first_m);
}

void range_doppler_plan::derive()
{
    range_doppler_frame& f = d_frame;
    const double first = f.line_first_m - f.bias_m;
    for (const int n : some_columns(f.cols)) {
        const double r = first + n * f.spacing_m;
        const double v = velocity_at(r);
        const double limit = 2 * v * f.carrier_hz / speed_of_light;
        require(v > 0,
                "the effective velocity at slant range ",
                r,
                " m is ",
                v,
                " m/s; expected more than 0 over the whole swath");
        require(std::abs(centroid_at(r)) + f.prf_hz / 2 < limit,
                "doppler_centroid_hz is ",
                centroid_at(r),
                " Hz at slant range ",
                r,
                " m; expected less than 2 effective_velocity_m_s / wavelength - prf_hz / "
                "2 = ",
                limit - f.prf_hz / 2,
                " Hz, beyond which nothing can be seen");
    }
    int complete_first = 0;
    int complete_count = 0;
    complete(complete_first, complete_count);
    const double middle = first + (complete_first + complete_count / 2) * f.spacing_m;
    f.velocity_m_s = velocity_at(middle);
    f.centroid_hz = centroid_at(middle);
    f.factor = migration_factor(f.centroid_hz, f.velocity_m_s, f.carrier_hz);
    f.middle_m = middle * f.factor;
    f.out_first_m = f.geometry == image_geometry::zero_doppler ? first * f.factor : first;
    f.uniform = std::all_of(d_velocity.begin() + 1,
                            d_velocity.end(),
                            [](double c) { return c == 0; }) &&
                std::all_of(d_centroid.begin() + 1, d_centroid.end(), [](double c) {
                    return c == 0;
                });
    // row 0 is that of a point whose beam centre comes half of the zeros before line 0
    const int before = (f.rows - f.lines) / 2;
    const double delay = time_of(f.centroid_hz, f.middle_m, f.velocity_m_s, f.carrier_hz);
    f.first_row = -before;
    if (f.geometry == image_geometry::zero_doppler)
        f.first_row += static_cast<int>(std::lrint(-delay * f.prf_hz));
}

std::vector<doppler_row> range_doppler_plan::rows() const
{
    std::vector<doppler_row> v(d_frame.rows);
    for (int k = 0; k < d_frame.rows; ++k) {
        v[k].frequency_hz = doppler_frequency(d_frame, k, d_frame.centroid_hz);
        v[k].factor =
            migration_factor(v[k].frequency_hz, d_frame.velocity_m_s, d_frame.carrier_hz);
    }
    return v;
}

std::vector<doppler_column> range_doppler_plan::columns() const
{
    const range_doppler_frame& f = d_frame;
    std::vector<doppler_column> v(f.cols);
    for (int n = 0; n < f.cols; ++n) {
        doppler_column& c = v[n];
        const double r = f.out_first_m + n * f.spacing_m;
        double beam = f.geometry == image_geometry::centroid ? r : r / f.factor;
        c.velocity_m_s = velocity_at(beam);
        c.centroid_hz = centroid_at(beam);
        // where the beam sees a closest range depends on velocity and centroid there
        double step = f.uniform || f.geometry == image_geometry::centroid ? 0 : 1;
        for (int i = 0; i < 32 && std::abs(step) > 1e-9 * r; ++i) {
            step =
                r / migration_factor(c.centroid_hz, c.velocity_m_s, f.carrier_hz) - beam;
            beam += step;
            c.velocity_m_s = velocity_at(beam);
            c.centroid_hz = centroid_at(beam);
        }
        c.closest_m =
            f.geometry == image_geometry::centroid
                ? r * migration_factor(c.centroid_hz, c.velocity_m_s, f.carrier_hz)
                : r;
        c.beam_delay_s =
            time_of(c.centroid_hz, c.closest_m, c.velocity_m_s, f.carrier_hz);
    }
    return v;
}

double range_doppler_plan::weight(const doppler_band& band,
                                  double prf_hz,
                                  double offset_hz,
                                  int look)
{
    const double width = bandwidth(band, prf_hz) / band.looks;
    const double middle = (look - 0.5 * (band.looks - 1)) * width;
    const double x = (offset_hz - middle) / width;
    // the band's ends belong to it, also after rounding
    return std::abs(x) <= 0.5 + 1e-9 ? band.weighting(std::clamp(x, -0.5, 0.5)) : 0.0;
}

std::vector<float> range_doppler_plan::gains(const doppler_band& band, int look) const
{
    const range_doppler_frame& f = d_frame;
    const double frame_s = f.lines / f.prf_hz;
    // sums over the bins for R0 = 1: of the spectrum, and of the time in the band
    const auto sums = [&](double velocity, double centroid, double& level, double& time) {
        level = time = 0;
        // all bins where a frame has one set of them, else enough for a smooth integral
        const int n = f.uniform ? f.rows : 512;
        for (int k = 0; k < n; ++k) {
            const double frequency = f.uniform
                                         ? doppler_frequency(f, k, centroid)
                                         : centroid + f.prf_hz * ((k + 0.5) / n - 0.5);
            const double w = weight(band, f.prf_hz, frequency - centroid, look);
            if (w == 0)
                continue;
            const double s =
                slowness(velocity,
                         f.carrier_hz,
                         migration_factor(frequency, velocity, f.carrier_hz));
            level += w * std::sqrt(s) * f.prf_hz / n;
            time += s * f.prf_hz / n;
        }
    };
    double level = 0;
    double time = 0;
    if (f.uniform)
        sums(f.velocity_m_s, f.centroid_hz, level, time);
    std::vector<float> v(f.cols);
    const std::vector<doppler_column> cells = columns();
    for (int n = 0; n < f.cols; ++n) {
        if (!f.uniform)
            sums(cells[n].velocity_m_s, cells[n].centroid_hz, level, time);
        const double r = cells[n].closest_m;
        const double share = std::min(1.0, frame_s / (r * time));
        v[n] = static_cast<float>(1 / (level * std::sqrt(r) * share * f.rows));
    }
    return v;
}

int range_doppler_plan::aperture_lines(const doppler_band& band) const
{
    const range_doppler_frame& f = d_frame;
    const double half = bandwidth(band, f.prf_hz) / 2;
    const std::vector<doppler_column> cells = columns();
    double longest = 0;
    for (const int n : some_columns(f.cols)) {
        const doppler_column& c = cells[n];
        longest = std::max(
            longest,
            time_of(c.centroid_hz - half, c.closest_m, c.velocity_m_s, f.carrier_hz) -
                time_of(c.centroid_hz + half, c.closest_m, c.velocity_m_s, f.carrier_hz));
    }
    return static_cast<int>(std::ceil(longest * f.prf_hz));
}

int range_doppler_plan::valid_rows(const doppler_band& band, int& first) const
{
    const range_doppler_frame& f = d_frame;
    const double half = bandwidth(band, f.prf_hz) / 2;
    const std::vector<doppler_column> cells = columns();
    double begin = -1e300; // lines from the first line of the frame
    double end = 1e300;
    for (const int n : some_columns(f.cols)) {
        const doppler_column& c = cells[n];
        const double own = f.geometry == image_geometry::centroid ? c.beam_delay_s : 0.0;
        const auto shift = [&](double frequency) {
            return f.prf_hz *
                   (time_of(frequency, c.closest_m, c.velocity_m_s, f.carrier_hz) - own);
        };
        begin = std::max(begin, -shift(c.centroid_hz + half));
        end = std::min(end, f.lines - 1 - shift(c.centroid_hz - half));
    }
    first = static_cast<int>(std::ceil(begin)) - f.first_row;
    const int last = static_cast<int>(std::floor(end)) - f.first_row;
    first = std::clamp(first, 0, f.rows);
    return std::clamp(last + 1, first, f.rows) - first;
}

} // namespace sar
} // namespace gr
