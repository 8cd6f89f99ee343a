// SPDX-License-Identifier: GPL-3.0-or-later
// bench_simulated_radar [SECONDS]: samples a second on one core, continuous transmission
#include "simulated_radar.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace gr::sar;

static double rate_of(int targets, double band, bool noise, double speed_m_s, double s)
{
    radar_scene scene;
    for (int k = 0; k < targets; ++k)
        scene.targets.push_back({ { 10.0 * k, 1000.0 + 37 * k, 0 }, 0.01 });
    scene.track = trajectory::straight({ -500, 0, 300 }, { speed_m_s, 0, 0 });
    simulated_radar radar(scene);
    radar_front_end f;
    f.sample_rate_hz = 20e6;
    f.carrier_hz = 5.8e9;
    f.occupied_band = band;
    f.leakage = 0.1;
    f.noise_power = noise ? 1e-6 : 0;
    f.adc_bits = noise ? 12 : 0;
    radar.configure(f);
    transmit_line line;
    std::vector<cf32> chirp(20000), out(4096);
    for (int i = 0; i < 20000; ++i) {
        const double x = M_PI * 0.5 * i * (i - 20000.0) / 20000;
        chirp[i] = { static_cast<float>(std::cos(x)), static_cast<float>(std::sin(x)) };
    }
    line.repeat(0, chirp);
    std::int64_t n = 0;
    const auto begin = std::chrono::steady_clock::now();
    double spent = 0;
    while (spent < s) {
        radar.receive(line, n, 4096, out.data(), nullptr);
        n += 4096;
        spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
                    .count();
    }
    return n / spent / 1e6;
}

int main(int argc, char** argv)
{
    const double s = argc > 1 ? std::atof(argv[1]) : 1;
    std::printf("targets  band  noise+ADC  m/s   MS/s\n");
    for (const int targets : { 1, 10, 100 })
        for (const double band : { 0.5, 0.75, 0.9 })
            for (const bool noise : { false, true })
                std::printf("%7d  %4.2f  %9s  %4d  %5.1f\n",
                            targets,
                            band,
                            noise ? "yes" : "no",
                            100,
                            rate_of(targets, band, noise, 100, s));
    std::printf("%7d  %4.2f  %9s  %4d  %5.1f\n",
                10,
                0.75,
                "yes",
                7500,
                rate_of(10, 0.75, true, 7500, s));
}
