// SPDX-License-Identifier: GPL-3.0-or-later
#include "acquisition.h"
#include "errors.h"
#include "names.h"
#include <cmath>

namespace gr {
namespace sar {

namespace {

const name_table<waveform, 4> waveforms = {
    "waveform",
    { { { waveform::pulsed_lfm, "pulsed_lfm" },
        { waveform::replica, "replica" },
        { waveform::fmcw, "fmcw" },
        { waveform::frequency_domain, "frequency_domain" } } }
};
const name_table<pulse_reference, 2> pulse_references = {
    "pulse_reference",
    { { { pulse_reference::start, "start" }, { pulse_reference::centre, "centre" } } }
};
const name_table<sweep_shape, 2> sweep_shapes = {
    "sweep",
    { { { sweep_shape::sawtooth, "sawtooth" }, { sweep_shape::triangle, "triangle" } } }
};
const name_table<look_side, 2> look_sides = { "look_side",
                                              { { { look_side::left, "left" },
                                                  { look_side::right, "right" } } } };
const name_table<range_reference, 2> range_references = {
    "range_reference",
    { { { range_reference::antenna, "antenna" }, { range_reference::point, "point" } } }
};

void require_positive(const char* name, double value, const char* unit, const char* why)
{
    require(std::isfinite(value) && value > 0,
            name,
            " is ",
            value,
            " ",
            unit,
            "; expected a positive number (",
            why,
            ")");
}

void require_finite(const char* name, double value, const char* unit)
{
    require(std::isfinite(value), name, " is ", value, " ", unit, "; expected a number");
}

void require_slopes(const char* name, const std::vector<double>& values)
{
    require(values.size() <= 3,
            name,
            " has ",
            values.size(),
            " coefficients; expected at most 3");
    for (const double v : values)
        require_finite(name, v, "per m^n");
}

} // namespace

waveform waveform_from_name(const std::string& n) { return waveforms.from_name(n); }
std::string to_string(waveform w) { return waveforms.to_name(w); }
pulse_reference pulse_reference_from_name(const std::string& n)
{
    return pulse_references.from_name(n);
}
std::string to_string(pulse_reference r) { return pulse_references.to_name(r); }
sweep_shape sweep_shape_from_name(const std::string& n)
{
    return sweep_shapes.from_name(n);
}
std::string to_string(sweep_shape s) { return sweep_shapes.to_name(s); }
look_side look_side_from_name(const std::string& n) { return look_sides.from_name(n); }
std::string to_string(look_side s) { return look_sides.to_name(s); }
range_reference range_reference_from_name(const std::string& n)
{
    return range_references.from_name(n);
}
std::string to_string(range_reference r) { return range_references.to_name(r); }

acquisition::acquisition(const acquisition_fields& fields) : d_fields(fields)
{
    const acquisition_fields& f = d_fields;
    require(f.samples >= 1,
            "samples is ",
            f.samples,
            "; expected the number of complex samples in a line, 1 or more");
    require_positive("carrier_hz", f.carrier_hz, "Hz", "the radio frequency");
    require_positive("prf_hz", f.prf_hz, "Hz", "pulses a second");
    require_finite("slant_range_first_m", f.slant_range_first_m, "m");
    require_finite("range_bias_m", f.range_bias_m, "m");
    require_finite("doppler_centroid_hz", f.doppler_centroid_hz, "Hz");
    require(std::isfinite(f.effective_velocity_m_s) && f.effective_velocity_m_s >= 0,
            "effective_velocity_m_s is ",
            f.effective_velocity_m_s,
            " m/s; expected 0 (not given) or more");
    require_slopes("effective_velocity_slopes", f.effective_velocity_slopes);
    require_slopes("doppler_centroid_slopes", f.doppler_centroid_slopes);
    require(f.phase_sign == 1 || f.phase_sign == -1,
            "phase_sign is ",
            f.phase_sign,
            "; expected -1 or +1");
    require(is_finite(f.reference_point_m),
            "reference_point_m is not finite; expected three numbers in metres");

    require(
        std::isfinite(f.gate_start_s) && f.gate_start_s >= 0,
        "gate_start_s is ",
        f.gate_start_s,
        " s; expected the time from the start of a ramp to the first sample, 0 or more");
    if (f.wave != waveform::fmcw) {
        require(f.gate_start_s == 0,
                "gate_start_s is ",
                f.gate_start_s,
                " s; expected 0 with the waveform ",
                to_string(f.wave),
                ": only an fmcw sweep is gated");
        require(f.sweep == sweep_shape::sawtooth,
                "sweep is 'triangle'; expected 'sawtooth' with the waveform ",
                to_string(f.wave));
    }

    switch (f.wave) {
    case waveform::pulsed_lfm:
        require_positive(
            "sample_rate_hz", f.sample_rate_hz, "Hz", "complex sampling rate");
        require_positive("pulse_length_s", f.pulse_length_s, "s", "length of the chirp");
        require(std::isfinite(f.chirp_rate_hz_per_s) && f.chirp_rate_hz_per_s != 0,
                "chirp_rate_hz_per_s is ",
                f.chirp_rate_hz_per_s,
                " Hz/s; expected a number other than 0 (> 0 up-chirp, < 0 down-chirp)");
        require(bandwidth_hz() <= f.sample_rate_hz * (1 + 1e-9),
                "bandwidth |chirp_rate_hz_per_s| * pulse_length_s is ",
                bandwidth_hz(),
                " Hz; expected at most sample_rate_hz, ",
                f.sample_rate_hz,
                " Hz (complex samples)");
        break;
    case waveform::replica:
        require_positive(
            "sample_rate_hz", f.sample_rate_hz, "Hz", "complex sampling rate");
        require(std::isfinite(f.replica_bandwidth_hz) && f.replica_bandwidth_hz > 0 &&
                    f.replica_bandwidth_hz <= f.sample_rate_hz * (1 + 1e-9),
                "replica_bandwidth_hz is ",
                f.replica_bandwidth_hz,
                " Hz; expected more than 0 and at most sample_rate_hz, ",
                f.sample_rate_hz,
                " Hz");
        break;
    case waveform::fmcw:
        require_positive(
            "sample_rate_hz", f.sample_rate_hz, "Hz", "rate of the beat signal");
        require(std::isfinite(f.chirp_rate_hz_per_s) && f.chirp_rate_hz_per_s != 0,
                "chirp_rate_hz_per_s is ",
                f.chirp_rate_hz_per_s,
                " Hz/s; expected a number other than 0 (> 0 ramp up, < 0 ramp down)");
        if (f.gate_start_s > 0 || f.sweep == sweep_shape::triangle) {
            const double used_s = f.gate_start_s + f.samples / f.sample_rate_hz;
            require(used_s <= (1 + 1e-6) / f.prf_hz,
                    "gate_start_s + samples / sample_rate_hz is ",
                    used_s,
                    " s; expected at most the interval between ramps, 1 / prf_hz, ",
                    1 / f.prf_hz,
                    " s");
        }
        break;
    case waveform::frequency_domain:
        require(std::isfinite(f.frequency_step_hz) && f.frequency_step_hz != 0,
                "frequency_step_hz is ",
                f.frequency_step_hz,
                " Hz; expected a number other than 0");
        break;
    }
    require(centre_frequency_hz() - bandwidth_hz() / 2 > 0,
            "the lowest frequency of the band is ",
            centre_frequency_hz() - bandwidth_hz() / 2,
            " Hz; expected more than 0 (carrier_hz ",
            f.carrier_hz,
            " Hz, bandwidth ",
            bandwidth_hz(),
            " Hz)");
}

namespace {

std::vector<double> with_slopes(double constant, const std::vector<double>& slopes)
{
    std::vector<double> c = { constant };
    c.insert(c.end(), slopes.begin(), slopes.end());
    return c;
}

} // namespace

std::vector<double> acquisition::centroid_coefficients() const
{
    return with_slopes(d_fields.doppler_centroid_hz, d_fields.doppler_centroid_slopes);
}

std::vector<double> acquisition::velocity_coefficients() const
{
    return with_slopes(d_fields.effective_velocity_m_s,
                       d_fields.effective_velocity_slopes);
}

double polynomial(const std::vector<double>& c, double x)
{
    double y = 0;
    for (auto i = c.rbegin(); i != c.rend(); ++i)
        y = y * x + *i;
    return y;
}

bool acquisition::in_frequency_domain() const
{
    return d_fields.wave == waveform::fmcw || d_fields.wave == waveform::frequency_domain;
}

double acquisition::frequency_step_hz() const
{
    return d_fields.wave == waveform::fmcw
               ? d_fields.chirp_rate_hz_per_s / d_fields.sample_rate_hz
               : d_fields.frequency_step_hz;
}

double acquisition::bandwidth_hz() const
{
    switch (d_fields.wave) {
    case waveform::pulsed_lfm:
        return std::abs(d_fields.chirp_rate_hz_per_s) * d_fields.pulse_length_s;
    case waveform::replica:
        return d_fields.replica_bandwidth_hz;
    default:
        return std::abs(frequency_step_hz()) * d_fields.samples;
    }
}

double acquisition::centre_frequency_hz() const
{
    if (!in_frequency_domain())
        return d_fields.carrier_hz;
    return first_frequency_hz() + centre_sample() * frequency_step_hz();
}

double acquisition::first_frequency_hz() const
{
    return d_fields.wave == waveform::fmcw
               ? d_fields.carrier_hz +
                     d_fields.chirp_rate_hz_per_s * d_fields.gate_start_s
               : d_fields.carrier_hz;
}

double acquisition::sweep_start_s(bool way_back) const
{
    return way_back ? 1 / d_fields.prf_hz - d_fields.gate_start_s : d_fields.gate_start_s;
}

double acquisition::sweep_step_s(bool way_back) const
{
    return (way_back ? -1 : 1) / d_fields.sample_rate_hz;
}

double acquisition::doppler_shift_m(double doppler_hz) const
{
    const bool chirped =
        d_fields.wave == waveform::fmcw || d_fields.wave == waveform::pulsed_lfm;
    return chirped ? -speed_of_light * doppler_hz / (2 * d_fields.chirp_rate_hz_per_s)
                   : 0.0;
}

int acquisition::pulse_samples() const
{
    // a pulse of 8 us at 100 MHz has 800 samples, not 801 for a rounding error
    return static_cast<int>(
        std::ceil(d_fields.pulse_length_s * d_fields.sample_rate_hz - 1e-6));
}

range_axis acquisition::compressed_axis(int oversampling) const
{
    require(oversampling >= 1,
            "oversampling is ",
            oversampling,
            "; expected 1 or more output samples per input sample");
    range_axis a;
    a.samples = d_fields.samples * oversampling;
    a.first_m = d_fields.slant_range_first_m;
    a.spacing_m = in_frequency_domain()
                      ? speed_of_light / (2 * std::abs(frequency_step_hz()) * a.samples)
                      : speed_of_light / (2 * d_fields.sample_rate_hz * oversampling);
    a.carrier_hz = centre_frequency_hz();
    a.bandwidth_hz = bandwidth_hz();
    a.range_bias_m = d_fields.range_bias_m;
    a.range_from = d_fields.range_from;
    a.reference_point_m = d_fields.reference_point_m;
    return a;
}

acquisition acquisition::gated(int first, int cells) const
{
    const int samples = d_fields.samples;
    require(cells >= 1 && cells <= samples,
            "the range gate has ",
            cells,
            " cells; expected 1 to the samples of a line, ",
            samples);
    if (!in_frequency_domain())
        require(first >= 0 && first <= samples - cells,
                "the range gate is cells ",
                first,
                " to ",
                first + cells - 1,
                "; expected cells of the line, 0 to ",
                samples - 1);
    acquisition_fields f = d_fields;
    f.samples = cells;
    f.slant_range_first_m += first * compressed_axis(1).spacing_m;
    // velocity and centroid are polynomials in range minus that of the first sample
    const auto moved = [&](std::vector<double> c) {
        const double x = f.slant_range_first_m - d_fields.slant_range_first_m;
        for (std::size_t i = 0; i + 1 < c.size(); ++i)
            for (std::size_t k = c.size() - 1; k > i; --k)
                c[k - 1] += x * c[k];
        return c;
    };
    const std::vector<double> velocity = moved(velocity_coefficients());
    const std::vector<double> centroid = moved(centroid_coefficients());
    f.effective_velocity_m_s = velocity[0];
    f.effective_velocity_slopes.assign(velocity.begin() + 1, velocity.end());
    f.doppler_centroid_hz = centroid[0];
    f.doppler_centroid_slopes.assign(centroid.begin() + 1, centroid.end());
    if (in_frequency_domain()) {
        // the same band in fewer, larger steps, as after a filter and a decimation
        const double ratio = static_cast<double>(samples) / cells;
        f.sample_rate_hz /= ratio;
        f.frequency_step_hz *= ratio;
        f.carrier_hz += centre_sample() * frequency_step_hz() -
                        (cells / 2) * frequency_step_hz() * ratio;
    }
    return acquisition(f);
}

void acquisition::gate_of(double near_m, double far_m, int& first, int& cells) const
{
    require(std::isfinite(near_m) && std::isfinite(far_m) && far_m > near_m,
            "the range gate is ",
            near_m,
            " m to ",
            far_m,
            " m; expected a near range and a larger far range");
    const range_axis axis = compressed_axis(1);
    const double begin = std::floor((near_m - axis.first_m) / axis.spacing_m + 1e-9);
    const double end = std::ceil((far_m - axis.first_m) / axis.spacing_m - 1e-9);
    require(std::abs(begin) < 1e9 && end - begin + 1 <= axis.samples &&
                (in_frequency_domain() || (begin >= 0 && end <= axis.samples - 1)),
            "the range gate is ",
            near_m,
            " m to ",
            far_m,
            " m; expected ",
            in_frequency_domain() ? "a part of the unambiguous " : "within the line, ",
            axis.first_m,
            " m to ",
            axis.first_m + (axis.samples - 1) * axis.spacing_m,
            " m");
    first = static_cast<int>(begin);
    cells = static_cast<int>(end - begin) + 1;
}

} // namespace sar
} // namespace gr
