// SPDX-License-Identifier: GPL-3.0-or-later
//
// Times of polar format, and of back-projection of the same aperture onto the same grid.
//
//   bench_polar_format [cpu | cuda] [SIZE ...]
//
// SIZE pulses of SIZE frequencies (X band, 600 MHz, 0.25 m across) to SIZE x SIZE pixels
// of 0.2 m from SIZE * 50 m. A time is the median of several runs, each from an idle
// device to an idle device. Before a time is printed the image is compared with the sum
// in double at some points. back-projection: pulse_compression to lines three times as
// fine, bp_accumulator with sinc8 and accuracy "auto".

#include "../bp_accumulator/bp_accumulator.h"
#include "../core/constants.h"
#include "../core/errors.h"
#include "../core/target_memory.h"
#include "../polar_format_imager/polar_format_imager.h"
#include "bench_host.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

using namespace gr::sar;
using namespace gr::sar::kernel;

namespace {

using clock_type = std::chrono::steady_clock;
using complex = std::complex<double>;

struct spotlight {
    acquisition acq;
    image_grid grid;
    std::vector<vec3> tx;
    std::vector<vec3> targets;

    //! Motion compensated to the origin.
    double range(int n, vec3 p) const { return length(p - tx[n]) - length(tx[n]); }
    complex sample(int n, int k) const
    {
        complex sum = 0;
        const double f = acq->carrier_hz + k * acq->frequency_step_hz;
        for (const vec3& p : targets)
            sum += turn(-2 * f / speed_of_light * range(n, p));
        return sum;
    }
    static complex turn(double cycles)
    {
        return std::polar(1.0, 2 * pi * (cycles - std::rint(cycles)));
    }
};

spotlight scene_of(int size)
{
    acquisition_fields f;
    f.wave = waveform::frequency_domain;
    f.samples = size;
    f.prf_hz = 1000;
    f.frequency_step_hz = 600e6 / size;
    f.carrier_hz = 9.3e9;
    f.range_from = range_reference::point;
    f.slant_range_first_m = -speed_of_light / (4 * f.frequency_step_hz);
    spotlight s{ acquisition(f),
                 image_grid::centred(
                     { 0, 0, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, 0.2, 0.2, size, size),
                 {},
                 {} };
    const double range = 50.0 * size;
    const double angle = speed_of_light / 9.6e9 / (2 * 0.25);
    for (int n = 0; n < size; ++n)
        s.tx.push_back({ range * std::tan(angle * ((n + 0.5) / size - 0.5)),
                         -range * std::cos(pi / 6),
                         range * std::sin(pi / 6) });
    for (const auto& [row, col] :
         { std::pair<double, double>{ 0.5, 0.5 }, { 0.1, 0.2 }, { 0.8, 0.9 } })
        s.targets.push_back(
            s.grid.position(std::floor(row * size), std::floor(col * size)));
    return s;
}

std::vector<cf32> raw_lines(const spotlight& s)
{
    // phases run evenly along a line
    const int samples = s.acq->samples;
    std::vector<cf32> raw(s.tx.size() * samples);
    for (std::size_t n = 0; n < s.tx.size(); ++n) {
        std::vector<complex> line(samples);
        for (const vec3& p : s.targets) {
            const double r = s.range(static_cast<int>(n), p);
            complex z = spotlight::turn(-2 * s.acq->carrier_hz / speed_of_light * r);
            const complex step =
                spotlight::turn(-2 * s.acq->frequency_step_hz / speed_of_light * r);
            for (complex& v : line) {
                v += z;
                z *= step;
            }
        }
        for (int k = 0; k < samples; ++k)
            raw[n * samples + k] = { static_cast<float>(line[k].real()),
                                     static_cast<float>(line[k].imag()) };
    }
    return raw;
}

//! Largest error at some points, of a peak of 1.
double error_of(const spotlight& s, const std::vector<cf32>& image)
{
    double worst = 0;
    const int size = s.grid->rows;
    for (const vec3& target : s.targets)
        for (const int shift : { 0, 3 }) {
            double row, col;
            s.grid.index_of(target, row, col);
            const int i = std::min(static_cast<int>(std::lround(row)) + shift, size - 1);
            const int j = std::min(static_cast<int>(std::lround(col)) + shift, size - 1);
            complex sum = 0;
            for (int n = 0; n < static_cast<int>(s.tx.size()); ++n)
                for (const vec3& p : s.targets) {
                    // the sum over the band of exp(j 4 pi f (r - rp) / c), closed
                    const double d = s.range(n, s.grid.position(i, j)) - s.range(n, p);
                    const double x = 2 * s.acq->frequency_step_hz / speed_of_light * d;
                    const int k = s.acq->samples;
                    const double ratio =
                        std::abs(std::sin(pi * x)) < 1e-12
                            ? 1
                            : std::sin(pi * x * k) / (k * std::sin(pi * x));
                    sum += ratio *
                           spotlight::turn(2 * s.acq->carrier_hz / speed_of_light * d +
                                           x * 0.5 * (k - 1));
                }
            sum /= static_cast<double>(s.tx.size());
            const cf32 v = image[static_cast<std::size_t>(i) * size + j];
            worst = std::max(worst, std::abs(complex(v.re, v.im) - sum));
        }
    return worst;
}

void measure(const compute_target& target, int size)
{
    const spotlight s = scene_of(size);
    const std::size_t values = static_cast<std::size_t>(size) * size;
    const std::vector<cf32> raw = raw_lines(s);
    target_memory in(values, target);
    target_memory out(values, target);
    const auto fetch = [&] {
        std::vector<cf32> host(values);
        bench::idle(target);
        bench::read(target, host.data(), out.data(), values);
        bench::idle(target);
        return host;
    };
    bench::write(target, in.data(), raw.data(), values);
    bench::idle(target);
    const auto time = [&](const std::function<void()>& work, int runs) {
        return bench::median_ms(target, runs, work);
    };
    const int runs = target.is_cuda() ? 7 : 1;

    const auto polar = polar_format_imager::make({ s.acq, s.grid, size }, target);
    const auto add = [&] { polar->add(in.data(), s.tx.data(), nullptr, size); };
    const auto image = [&] { polar->write_rows(out.data(), 0, size); };
    add();
    image();
    const double error = error_of(s, fetch());
    require(error < 2e-3, "polar format is off by ", error, "; expected 2e-3 of a peak");
    const polar_format_report r = polar->report();
    std::printf("%d x %d on %s: lattice %d x %d, phase error of the wavefronts %.2g rad, "
                "off by %.1e at most\n",
                size,
                size,
                target.description.c_str(),
                r.lattice_rows,
                r.lattice_cols,
                r.figures.phase_error_rad,
                error);
    const double adding = time(
        [&] {
            polar->reset();
            add();
        },
        runs);
    image(); // forms it: what follows only reads
    const double read = time(image, runs);
    const double all = time(
        [&] {
            polar->reset();
            add();
            image();
        },
        runs);
    std::printf("  polar format      %9.3f ms: compression %.3f, pixels %.3f, %.0f MB\n",
                all,
                adding,
                read,
                polar->bytes() / 1e6);
    std::fflush(stdout);

    const auto compression = pulse_compression::make({ s.acq, 3, window(), {} }, target);
    bp_accumulator_params p{ compression->axis(), s.grid };
    const auto projection = bp_accumulator::make(p, target);
    target_memory lines(3 * values, target);
    const auto project = [&] {
        projection->reset();
        compression->process(in.data(), lines.data(), size);
        projection->add(lines.data(), s.tx.data(), nullptr, size);
        projection->write_rows(out.data(), 0, size);
    };
    project();
    const double other = error_of(s, fetch());
    require(
        other < 1e-2, "back-projection is off by ", other, "; expected 1e-2 of a peak");
    std::printf("  back-projection   %9.3f ms, off by %.1e at most\n",
                time(project, runs),
                other);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        const std::string where = argc > 1 ? argv[1] : "auto";
        const compute_target target = choose_target(backend_from_name(where));
        std::vector<int> sizes;
        for (int i = 2; i < argc; ++i)
            sizes.push_back(std::atoi(argv[i]));
        if (sizes.empty())
            sizes = { 512, 1024 };
        for (const int size : sizes) {
            require(
                size >= 64 && size <= 8192, "SIZE is ", size, "; expected 64 to 8192");
            measure(target, size);
        }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_polar_format: %s\n", e.what());
        return 1;
    }
}
