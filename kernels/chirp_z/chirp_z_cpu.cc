// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/constants.h"
#include "../core/double_fft.h"
#include "../core/errors.h"
#include "../core/parallel_for.h"
#include "../core/range_doppler.h"
#include "chirp_z.h"
#include <algorithm>
#include <atomic>
#include <complex>
#include <gnuradio/fft/fft.h>
#include <volk/volk.h>

namespace gr {
namespace sar {
namespace kernel {

namespace {

using complex_double = std::complex<double>;

complex_double turn(double cycles) { return std::polar(1.0, 2 * pi * cycles); }

double sign_of(const chirp_z_params& p) { return p.inverse ? 1 : -1; }

constexpr int most_samples = 1 << 23;

} // namespace

chirp_z::chirp_z(const chirp_z_params& params) : d_params(params)
{
    const auto samples = [](const char* name, int n) {
        require(
            n >= 1 && n <= most_samples, name, " is ", n, "; expected 1 to 2^23 samples");
    };
    samples("samples_in", params.samples_in);
    samples("samples_out", params.samples_out);
    // more cycles a sample mean nothing: whole ones have no effect
    const auto cycles = [](const char* name, double v) {
        require(std::abs(v) <= 1e6, // also refuses NaN
                name,
                " is ",
                v,
                " cycles per sample; expected -1e6 to 1e6, of which only the fraction "
                "counts");
    };
    cycles("first", params.first);
    cycles("step", params.step);
    require(std::abs(params.reference) <= 1e9,
            "reference is ",
            params.reference,
            "; expected the number of an input sample, -1e9 to 1e9");
    require(params.weights.empty() ||
                static_cast<int>(params.weights.size()) == params.samples_in,
            "weights has ",
            params.weights.size(),
            " values; expected one for each of the ",
            params.samples_in,
            " samples of a line, or none");
    for (std::size_t i = 0; i < params.weights.size(); ++i)
        require(is_finite(params.weights[i]),
                "weights[",
                i,
                "] is not finite; expected complex numbers");
    require(params.max_batch >= 1 && params.max_batch <= 4096,
            "max_batch is ",
            params.max_batch,
            "; expected 1 to 4096 lines");
    require(params.max_parts >= 0 && params.max_parts <= 64,
            "max_parts is ",
            params.max_parts,
            "; expected 0 to 64 parts of a result");
}

std::vector<cf32> chirp_z::input_factors(int output) const
{
    const chirp_z_params& p = d_params;
    const double scale = p.inverse ? 1.0 / p.samples_in : 1.0;
    std::vector<cf32> a(p.samples_in);
    for (int n = 0; n < p.samples_in; ++n) {
        // output 0 of these lies at first + output step
        const double cycles = input_cycles(n, p.first, p.step) +
                              product_cycles(static_cast<double>(n) * output, p.step);
        complex_double v = scale * turn(sign_of(p) * cycles);
        if (!p.weights.empty())
            v *= complex_double(p.weights[n].re, p.weights[n].im);
        a[n] = to_cf32(v);
    }
    return a;
}

std::vector<cf32> chirp_z::output_factors(int output, int count) const
{
    const chirp_z_params& p = d_params;
    std::vector<cf32> b(count);
    for (int k = 0; k < count; ++k) {
        const double cycles =
            output_cycles(k, p.first, p.step, p.reference) -
            product_cycles(p.reference * static_cast<double>(output), p.step);
        b[k] = to_cf32(turn(sign_of(p) * cycles));
    }
    return b;
}

std::vector<cf32> chirp_z::filter(int length, int count) const
{
    std::vector<complex_double> h(length);
    const auto chirp = [this](int m) {
        return turn(-sign_of(d_params) * chirp_cycles(m, d_params.step));
    };
    for (int m = 0; m < count; ++m)
        h[m] = chirp(m);
    for (int m = 1; m < d_params.samples_in; ++m)
        h[length - m] = chirp(m);
    std::vector<cf32> spectrum;
    for (const complex_double& v : double_fft(h))
        spectrum.push_back(to_cf32(v / static_cast<double>(length)));
    return spectrum;
}

namespace {

gr_complex* as_gr(cf32* p) { return reinterpret_cast<gr_complex*>(p); }
const gr_complex* as_gr(const cf32* p) { return reinterpret_cast<const gr_complex*>(p); }

class chirp_z_cpu final : public chirp_z
{
public:
    explicit chirp_z_cpu(const chirp_z_params& params)
        : chirp_z(params),
          d_length(line_fft_length(params.samples_in + params.samples_out - 1)),
          d_before(input_factors()),
          d_after(output_factors(0, params.samples_out)),
          d_filter(filter(d_length, params.samples_out))
    {
        // planning takes time, so not in process(); other threads profit from what FFTW
        // has learnt
        d_workers.push_back(std::make_unique<worker>(d_length));
    }

    void process(const cf32* in, cf32* out, int lines) override
    {
        // the thread that calls may be allowed more threads than the one that made us
        if (static_cast<int>(d_workers.size()) < max_threads())
            d_workers.resize(max_threads());
        const int samples_in = d_params.samples_in;
        const int samples_out = d_params.samples_out;
        parallel_for(lines, [&](int line, int thread) {
            const cf32* from = in + static_cast<std::size_t>(line) * samples_in;
            cf32* to = out + static_cast<std::size_t>(line) * samples_out;
            if (!std::all_of(
                    from, from + samples_in, [](cf32 v) { return is_finite(v); })) {
                std::fill(to, to + samples_out, cf32{ 0, 0 });
                ++d_bad_lines;
                return;
            }
            std::unique_ptr<worker>& w = d_workers[thread];
            if (!w)
                w = std::make_unique<worker>(d_length);
            volk_32fc_x2_multiply_32fc(
                w->forward.get_inbuf(), as_gr(from), as_gr(d_before.data()), samples_in);
            w->forward.execute();
            volk_32fc_x2_multiply_32fc(w->inverse.get_inbuf(),
                                       w->forward.get_outbuf(),
                                       as_gr(d_filter.data()),
                                       d_length);
            w->inverse.execute();
            volk_32fc_x2_multiply_32fc(
                as_gr(to), w->inverse.get_outbuf(), as_gr(d_after.data()), samples_out);
        });
    }

    std::uint64_t bad_lines() const override { return d_bad_lines; }
    int fft_length() const override { return d_length; }

private:
    //! Transforms with their buffers; gr::fft locks the planner, nothing is shared.
    struct worker {
        explicit worker(int n) : forward(n), inverse(n)
        {
            // Complex transforms keep their input (FFTW's default), so the zeros behind
            // the line are written once; planning has overwritten them.
            std::fill_n(forward.get_inbuf(), n, gr_complex(0));
        }
        fft::fft_complex_fwd forward;
        fft::fft_complex_rev inverse;
    };

    const int d_length;
    const std::vector<cf32> d_before;
    const std::vector<cf32> d_after;
    const std::vector<cf32> d_filter;
    std::vector<std::unique_ptr<worker>> d_workers; // one a thread, made when it runs
    std::atomic<std::uint64_t> d_bad_lines{ 0 };
};

} // namespace

std::unique_ptr<chirp_z> chirp_z::make(const chirp_z_params& params,
                                       const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_chirp_z_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<chirp_z_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
