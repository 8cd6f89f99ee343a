// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/double_fft.h"
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "../core/range_doppler.h"
#include "pulse_compression.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <gnuradio/fft/fft.h>
#include <volk/volk.h>

namespace gr {
namespace sar {
namespace kernel {

namespace {

using complex_double = std::complex<double>;

complex_double turn(double cycles)
{
    const double a = 2 * pi * (cycles - std::rint(cycles));
    return { std::cos(a), std::sin(a) };
}

//! A pulse at the sampling instants: sample i is at (first + i) / fs from the reference.
struct sampled_pulse {
    int first = 0;
    std::vector<complex_double> samples;
};

sampled_pulse pulse_of(const pulse_compression_params& params)
{
    const acquisition& acq = params.acq;
    const bool centred = acq->pulse_ref == pulse_reference::centre;
    sampled_pulse p;
    if (acq->wave == waveform::replica) {
        if (centred)
            p.first = -static_cast<int>(params.replica.size() / 2);
        for (const cf32& v : params.replica)
            p.samples.emplace_back(v.re, v.im);
        return p;
    }
    // sampling instants in [0, Tp) or [-Tp/2, Tp/2); as in pulse_samples(), an instant
    // that misses an end by a rounding error counts as on it
    const double middle_s = centred ? 0.0 : acq->pulse_length_s / 2;
    const double begin = (middle_s - acq->pulse_length_s / 2) * acq->sample_rate_hz;
    const double end = (middle_s + acq->pulse_length_s / 2) * acq->sample_rate_hz;
    p.first = static_cast<int>(std::ceil(begin - 1e-6));
    const int after = std::max(p.first + 1, static_cast<int>(std::ceil(end - 1e-6)));
    for (int i = p.first; i < after; ++i)
        p.samples.push_back(turn(
            lfm_cycles(i / acq->sample_rate_hz, middle_s, acq->chirp_rate_hz_per_s)));
    return p;
}

//! conj(Q) W / (E L) over the bins of a transform of \p length; with oversampling the bin
//! at half the sampling rate is halved, since it stands on either side.
std::vector<cf32>
filter_of(const pulse_compression_params& params, const sampled_pulse& pulse, int length)
{
    const acquisition& acq = params.acq;
    std::vector<complex_double> padded(length);
    for (int i = 0; i < static_cast<int>(pulse.samples.size()); ++i) {
        const int at = pulse.first + i;
        padded[at < 0 ? at + length : at] = pulse.samples[i];
    }
    const std::vector<complex_double> q = double_fft(padded);

    const bool weighted = params.weighting.kind() != window_kind::rect;
    const double band = acq.bandwidth_hz() / acq->sample_rate_hz; // cycles a sample
    double total = 0;
    for (const complex_double& v : q)
        total += std::norm(v);
    // the spectrum of a chirp is 1/4 of its mean at the band's edges, and nowhere within
    // much lower; a chirp of few samples is kept from being divided by next to nothing
    const bool flatten = weighted && acq->wave == waveform::pulsed_lfm;
    const double lowest = 0.1 * total / (length * band);
    std::vector<complex_double> h(length);
    double peak = 0; // of the echo of a unit point
    for (int k = 0; k < length; ++k) {
        const double f = static_cast<double>(k <= length / 2 ? k : k - length) / length;
        const double w = weighted ? params.weighting(f / band) : 1.0;
        h[k] = std::conj(q[k]) * (flatten ? w / std::max(std::norm(q[k]), lowest) : w);
        peak += (q[k] * h[k]).real() / length;
    }
    require(total > 0 && (flatten || peak * length > 1e-9 * total),
            "the pulse has no energy within its band of ",
            acq.bandwidth_hz(),
            " Hz around 0; check replica and replica_bandwidth_hz");
    std::vector<cf32> filter(length);
    for (int k = 0; k < length; ++k)
        filter[k] = to_cf32(h[k] / (peak * length));
    if (length % 2 == 0 && params.oversampling > 1)
        filter[length / 2] = 0.5f * filter[length / 2]; // it stands on either side
    return filter;
}

} // namespace

std::vector<cf32> matched_filter(const pulse_compression_params& params, int length)
{
    const sampled_pulse pulse = pulse_of(params);
    require(length >= static_cast<int>(pulse.samples.size()),
            "length is ",
            length,
            "; expected at least the samples of the pulse, ",
            pulse.samples.size());
    return filter_of(params, pulse, length);
}

pulse_compression::pulse_compression(const pulse_compression_params& params)
    : d_axis(params.acq.compressed_axis(params.oversampling))
{
    const acquisition& acq = params.acq;
    if (params.gate_cells != 0)
        d_axis = acq.gated(params.gate_first, params.gate_cells)
                     .compressed_axis(params.oversampling);
    else
        require(params.gate_first == 0,
                "gate_first is ",
                params.gate_first,
                "; expected 0 without a range gate (gate_cells 0)");
    // transforms are indexed with int, and the padded one is a few times longer than a
    // line
    require(static_cast<double>(acq->samples) * params.oversampling <= 1 << 28,
            "samples * oversampling is ",
            static_cast<double>(acq->samples) * params.oversampling,
            "; expected at most 2^28 output samples a line");
    require(params.max_batch >= 1 && params.max_batch <= 4096,
            "max_batch is ",
            params.max_batch,
            "; expected 1 to 4096 lines");
    if (acq->wave == waveform::replica)
        require(
            !params.replica.empty(),
            "replica is empty; expected the samples of the pulse, since the waveform of "
            "the acquisition is replica");
    else
        require(params.replica.empty(),
                "replica has ",
                params.replica.size(),
                " samples, but the waveform of the acquisition is ",
                to_string(acq->wave),
                "; leave it empty, or set waveform to replica");
    d_shape.frequency_domain = acq.in_frequency_domain();
    d_shape.samples = acq->samples;
    d_shape.oversampling = params.oversampling;
    if (d_shape.frequency_domain)
        plan_frequency_domain(params);
    else
        plan_matched_filter(params);
}

void pulse_compression::plan_matched_filter(const pulse_compression_params& params)
{
    const acquisition& acq = params.acq;
    for (std::size_t i = 0; i < params.replica.size(); ++i)
        require(is_finite(params.replica[i]),
                "replica[",
                i,
                "] is not finite; expected complex numbers");
    require(acq->wave == waveform::replica ||
                acq->pulse_length_s * acq->sample_rate_hz <= 1 << 28,
            "pulse_length_s * sample_rate_hz is ",
            acq->pulse_length_s * acq->sample_rate_hz,
            " samples; expected at most 2^28");
    const sampled_pulse pulse = pulse_of(params);
    const int pulse_samples = static_cast<int>(pulse.samples.size());
    const double needed = static_cast<double>(acq->samples) + pulse_samples - 1;
    require(needed * params.oversampling <= 1 << 29,
            "(samples + pulse) * oversampling is ",
            needed * params.oversampling,
            "; expected at most 2^29");
    const int length = line_fft_length(acq->samples + pulse_samples - 1);
    d_shape.length = length;
    d_shape.padded = length * params.oversampling;

    d_filter = filter_of(params, pulse, length);
    // the first cell of a gate comes out as the first sample: a shift within the
    // transform
    if (params.gate_first != 0)
        for (int k = 0; k < length; ++k) {
            const std::int64_t turns = static_cast<std::int64_t>(k) * params.gate_first;
            const complex_double w = turn(static_cast<double>(turns % length) / length);
            d_filter[k] = to_cf32(complex_double(d_filter[k].re, d_filter[k].im) * w);
        }

    const int over = params.oversampling;
    const int valid = std::max(0, acq->samples - pulse_samples + 1);
    const int begin = std::max(0, -pulse.first - params.gate_first) * over;
    const int end = std::min((-pulse.first - params.gate_first + valid - 1) * over + 1,
                             samples_out());
    d_first_valid = end > begin && valid ? begin : 0;
    d_valid_samples = valid ? std::max(0, end - begin) : 0;
}

void pulse_compression::plan_frequency_domain(const pulse_compression_params& params)
{
    const acquisition& acq = params.acq;
    const range_axis& ax = axis();
    const double step_hz = acq.frequency_step_hz();
    d_shape.length = acq->samples;
    d_shape.padded = acq->samples * params.oversampling;
    d_shape.centre = acq.centre_sample();
    d_shape.direction = step_hz > 0 ? 1 : -1;
    d_shape.conjugate = acq->phase_sign > 0;

    const std::vector<double> w = params.weighting.samples(acq->samples);
    double sum = 0;
    for (const double v : w)
        sum += v;
    d_filter.resize(acq->samples);
    for (int k = 0; k < acq->samples; ++k)
        d_filter[k] = to_cf32((w[k] / sum) * turn(2.0 * (k - d_shape.centre) * step_hz *
                                                  ax.first_m / speed_of_light));

    d_triangle = acq->sweep == sweep_shape::triangle;
    if (acq->wave == waveform::fmcw) {
        d_deskew.resize(samples_out());
        for (int m = 0; m < samples_out(); ++m)
            d_deskew[m] = to_cf32(turn(
                deskew_cycles(ax.first_m + m * ax.spacing_m, acq->chirp_rate_hz_per_s)));
    }
    d_first_valid = 0;
    d_valid_samples = samples_out();
}

namespace {

gr_complex* as_gr(cf32* p) { return reinterpret_cast<gr_complex*>(p); }
cf32* as_cf32(gr_complex* p) { return reinterpret_cast<cf32*>(p); }

class pulse_compression_cpu final : public pulse_compression
{
public:
    explicit pulse_compression_cpu(const pulse_compression_params& params)
        : pulse_compression(params)
    {
        // planning takes time, so not in process(); other threads profit from what FFTW
        // has learnt
        d_workers.push_back(std::make_unique<worker>(d_shape));
    }

    void process(const cf32* in, cf32* out, int lines, std::int64_t first) override
    {
        // the thread that calls may be allowed more threads than the one that made us
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
        parallel_for(lines, [&](int line, int thread) {
            const cf32* from = in + static_cast<std::size_t>(line) * samples_in();
            cf32* to = out + static_cast<std::size_t>(line) * samples_out();
            if (!std::all_of(
                    from, from + samples_in(), [](cf32 v) { return is_finite(v); })) {
                std::fill(to, to + samples_out(), cf32{ 0, 0 });
                ++d_bad_lines;
                return;
            }
            std::unique_ptr<worker>& w = d_workers[thread];
            if (!w)
                w = std::make_unique<worker>(d_shape);
            if (d_shape.frequency_domain)
                frequency_domain(*w, from, to, d_triangle && ((first + line) & 1));
            else
                matched_filter(*w, from, to);
        });
    }

    std::uint64_t bad_lines() const override { return d_bad_lines; }

private:
    //! Transforms with their buffers; gr::fft locks the planner, nothing is shared.
    struct worker {
        explicit worker(const pulse_compression_shape& s) : inverse(s.padded)
        {
            if (!s.frequency_domain)
                forward = std::make_unique<fft::fft_complex_fwd>(s.length);
            // Complex transforms keep their input (FFTW's default), so the zeros of the
            // padding are written once; planning has overwritten them.
            if (forward)
                std::fill_n(forward->get_inbuf(), s.length, gr_complex(0));
            std::fill_n(inverse.get_inbuf(), s.padded, gr_complex(0));
        }
        std::unique_ptr<fft::fft_complex_fwd> forward;
        fft::fft_complex_rev inverse;
    };

    void matched_filter(worker& w, const cf32* from, cf32* to)
    {
        std::copy(from, from + samples_in(), as_cf32(w.forward->get_inbuf()));
        w.forward->execute();
        // the two runs of bins that padded_source_bin() describes
        const int half = d_shape.length / 2;
        const int gap = d_shape.padded - d_shape.length;
        const gr_complex* spectrum = w.forward->get_outbuf();
        const gr_complex* filter = as_gr(d_filter.data());
        gr_complex* bins = w.inverse.get_inbuf();
        volk_32fc_x2_multiply_32fc(bins, spectrum, filter, half + 1);
        const int first = d_shape.length - half; // lowest negative frequency
        volk_32fc_x2_multiply_32fc(
            bins + first + gap, spectrum + first, filter + first, half);
        w.inverse.execute();
        const cf32* y = as_cf32(w.inverse.get_outbuf());
        std::copy(y, y + samples_out(), to);
    }

    void frequency_domain(worker& w, const cf32* from, cf32* to, bool way_back)
    {
        cf32* bins = as_cf32(w.inverse.get_inbuf());
        for (int j = 0; j < d_shape.padded; ++j)
            bins[j] = frequency_bin(d_shape, from, d_filter.data(), j);
        w.inverse.execute();
        const gr_complex* y = w.inverse.get_outbuf();
        gr_complex* out = as_gr(to);
        // as without_residual_video()
        if (d_deskew.empty())
            std::copy(y, y + samples_out(), out);
        else if (way_back)
            volk_32fc_x2_multiply_conjugate_32fc(
                out, y, as_gr(d_deskew.data()), samples_out());
        else
            volk_32fc_x2_multiply_32fc(out, y, as_gr(d_deskew.data()), samples_out());
    }

    std::vector<std::unique_ptr<worker>> d_workers; // one a thread, made when it runs
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<pulse_compression>
pulse_compression::make(const pulse_compression_params& params,
                        const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_pulse_compression_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<pulse_compression_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
