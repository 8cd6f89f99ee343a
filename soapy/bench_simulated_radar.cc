// SPDX-License-Identifier: GPL-3.0-or-later
// bench_simulated_radar [SECONDS [soak]]: samples a second on one core, with a leakage.
// The last row, with soak the only one, is the radio of `./dev soak`: all flaws of
// profile b210, and a pulse of 400 samples
#include "simulated_radar.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using namespace gr::sar;

struct load {
    int targets;
    double band;        // of the sampling rate
    bool noise;         // and a converter
    double speed_m_s;   // of the antenna
    int pulse;          // samples transmitted of each 20000
    bool flaws = false; // of profile b210
};

static double rate_of(const load& w, double s)
{
    radar_scene scene;
    for (int k = 0; k < w.targets; ++k)
        scene.targets.push_back({ { 10.0 * k, 1000.0 + 37 * k, 0 }, 0.01 });
    scene.track = trajectory::straight({ -500, 0, 300 }, { w.speed_m_s, 0, 0 });
    simulated_radar radar(scene);
    radar_front_end f;
    f.sample_rate_hz = 20e6;
    f.carrier_hz = 5.8e9;
    f.occupied_band = w.band;
    f.leakage = 0.1;
    f.noise_power = w.noise ? 1e-6 : 0;
    f.adc_bits = w.noise ? 12 : 0;
    if (w.flaws) {
        f.noise_power = 1e-7;
        f.phase_noise = true;
        f.phase_noise_dbc_hz = -95;
        f.phase_noise_loop_hz = 1e3;
        f.offset_hz = -1.19;
        f.dc = { 0.01f, -0.006f };
        f.imbalance_db = 0.1;
        f.imbalance_rad = 0.01;
    }
    radar.configure(f);
    transmit_line line;
    std::vector<cf32> chirp(20000), out(4096);
    for (int i = 0; i < w.pulse; ++i) {
        const double x = M_PI * 0.5 * i * (i - 20000.0) / 20000;
        chirp[i] = { static_cast<float>(std::cos(x)), static_cast<float>(std::sin(x)) };
    }
    line.repeat(0, chirp);
    std::int64_t n = 0;
    // of the processor: others may use this machine as well
    const std::clock_t begin = std::clock();
    double spent = 0;
    while (spent < s) {
        radar.receive(line, n, 4096, out.data(), nullptr);
        n += 4096;
        spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    return n / spent / 1e6;
}

int main(int argc, char** argv)
{
    const double s = argc > 1 ? std::atof(argv[1]) : 1;
    std::printf("targets  band  noise+ADC   m/s  pulse  flaws   MS/s\n");
    std::vector<load> all;
    for (const int targets : { 1, 10, 100 })
        for (const double band : { 0.5, 0.75, 0.9 })
            for (const bool noise : { false, true })
                all.push_back({ targets, band, noise, 100, 20000 });
    all.push_back({ 10, 0.75, true, 7500, 20000 });
    all.push_back({ 10, 0.75, true, 100, 1000 });
    all.push_back({ 100, 0.75, true, 100, 1000 });
    all.push_back({ 1, 0.75, true, 20, 400, true });
    if (argc > 2 && argv[2] == std::string("soak"))
        all.erase(all.begin(), all.end() - 1);
    for (const load& w : all)
        std::printf("%7d  %4.2f  %9s  %4.0f  %5d  %5s  %5.1f\n",
                    w.targets,
                    w.band,
                    w.noise ? "yes" : "no",
                    w.speed_m_s,
                    w.pulse,
                    w.flaws ? "yes" : "no",
                    rate_of(w, s));
}
