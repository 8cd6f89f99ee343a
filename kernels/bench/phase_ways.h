// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Ways to the reference function of the Stolt mapping, for bench_phase and
// bench_phase_cuda: the phase evaluated in double (what stolt does), read from tables of
// 2048 entries by linear interpolation, and evaluated in single precision.

#include "../core/constants.h"
#include "../core/phasor.h"
#include "../stolt/stolt_math.h"
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace gr {
namespace sar {
namespace bench {

namespace stolt_map = kernel::stolt_map;

constexpr int table_entries = 2048;

enum class way {
    direct,       //!< phase in double, phasor by polynomials
    phasor_table, //!< phase in double, phasor from a table over one cycle
    phase_table,  //!< phase from a table of the row over the band, phasor by polynomials
    single        //!< everything in single precision
};
constexpr way all_ways[] = { way::direct,
                             way::phasor_table,
                             way::phase_table,
                             way::single };

inline const char* name_of(way w)
{
    switch (w) {
    case way::direct:
        return "direct, double";
    case way::phasor_table:
        return "phasor from a table";
    case way::phase_table:
        return "phase from a table";
    default:
        return "direct, single";
    }
}

//! exp(j 2 pi x), |x| <= 0.5, from table_entries + 1 values over the cycle.
SAR_HD cf32 phasor_of(const cf32* table, float x)
{
    const float at = (x + 0.5f) * table_entries;
    const int i = static_cast<int>(at) & (table_entries - 1);
    const cf32 a = table[i];
    const cf32 b = table[i + 1];
    return a + (at - static_cast<float>(i)) * (b - a);
}

//! Phase of bin \p i (from -length on) from the table of its row, cycles.
SAR_HD double phase_of(const stolt_map::shape& s, const double* table, int i)
{
    // times a power of two over the length: exact enough to hit the entries
    const double at = (i + s.length) * (static_cast<double>(table_entries) / s.padded);
    const int n = static_cast<int>(at);
    return table[n] + (at - n) * (table[n + 1] - table[n]);
}

//! The same formula, with constants and evaluation in single precision.
SAR_HD float single_cycles(const stolt_map::shape& s, const stolt_map::row& r, int i)
{
    const float carrier = static_cast<float>(s.carrier_hz);
    const float ft = static_cast<float>(i) * static_cast<float>(s.bin_hz);
    const float sum = carrier + ft;
    const float k2 = sum * sum - static_cast<float>(r.q2);
    const float k =
        k2 > 0 ? ft * (carrier + sum) / (sqrtf(k2) + static_cast<float>(r.k0)) : 0.0f;
    const float cycles =
        static_cast<float>(s.reference_s) * k - static_cast<float>(s.delay_s) * ft;
    return cycles - rintf(cycles);
}

template <way how>
SAR_HD cf32 factor_of(const stolt_map::shape& s,
                      const stolt_map::row& r,
                      const cf32* phasors,
                      const double* phases,
                      int i)
{
    const float there = stolt_map::propagates(s, r, i) ? 1.0f : 0.0f;
    if (how == way::direct)
        return stolt_map::reference_factor(s, r, i);
    if (how == way::phasor_table)
        return there * phasor_of(phasors,
                                 fractional_cycles(stolt_map::reference_cycles(s, r, i)));
    if (how == way::phase_table)
        return there * unit_phasor(fractional_cycles(phase_of(s, phases, i)));
    return there * unit_phasor(single_cycles(s, r, i));
}

inline std::vector<cf32> phasor_table()
{
    std::vector<cf32> t;
    for (int i = 0; i <= table_entries; ++i) {
        const double a = 2 * pi * (static_cast<double>(i) / table_entries - 0.5);
        t.push_back({ static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a)) });
    }
    return t;
}

//! table_entries + 1 phases of a row, cycles.
inline void
fill_phase_table(const stolt_map::shape& s, const stolt_map::row& r, double* t)
{
    const double step = static_cast<double>(s.padded) / table_entries;
    for (int n = 0; n <= table_entries; ++n) {
        const double ft = (n * step - s.length) * s.bin_hz;
        t[n] = s.reference_s * stolt_map::k_of(s, r, ft) - s.delay_s * ft;
    }
}

//! What a row is multiplied with at bin \p i, phase in long double, cycles.
inline long double true_cycles(const stolt_map::shape& s, const stolt_map::row& r, int i)
{
    const long double ft = static_cast<long double>(i) * s.bin_hz;
    const long double sum = s.carrier_hz + ft;
    const long double k2 = sum * sum - r.q2;
    if (k2 <= 0)
        return 0;
    const long double k0 =
        std::sqrt(static_cast<long double>(s.carrier_hz) * s.carrier_hz - r.q2);
    const long double x = s.reference_s * (std::sqrt(k2) - k0) - s.delay_s * ft;
    return x - std::rint(x);
}

struct scene {
    std::string name;
    double carrier_hz;
    double sampling_hz;
    int samples;
    int length; //!< of the inverse transform
    double velocity_m_s;
    double doppler_hz; //!< in the middle
    double doppler_band_hz;
    double middle_m;
};

inline std::vector<scene> scenes()
{
    return {
        { "X band, 800 MHz, 150 m", 9.6e9, 960e6, 800, 1024, 120, 0, 1540, 150 },
        { "X band, 1.5 GHz, 30 degrees, 10 km",
          9.6e9,
          1.8e9,
          8192,
          9216,
          60,
          1921,
          600,
          10e3 },
        { "C band, 30 MHz, satellite, 990 km",
          5.3e9,
          32.317e6,
          8192,
          9216,
          7062,
          -6900,
          1000,
          990e3 },
    };
}

inline stolt_map::shape shape_of(const scene& c)
{
    stolt_map::shape s;
    s.samples = s.cols = c.samples;
    s.length = c.length;
    s.padded = 2 * c.length;
    s.carrier_hz = c.carrier_hz;
    s.bin_hz = c.sampling_hz / s.padded;
    s.step_hz = c.sampling_hz / s.length;
    s.reference_s = 2 * c.middle_m / speed_of_light;
    s.delay_s = s.reference_s - c.samples / 2 / c.sampling_hz;
    return s;
}

//! Rows over the Doppler band.
inline std::vector<stolt_map::row> rows_of(const scene& c, int rows)
{
    std::vector<stolt_map::row> out;
    for (int k = 0; k < rows; ++k) {
        const double f =
            c.doppler_hz + c.doppler_band_hz * (static_cast<double>(k) / rows - 0.5);
        const double q = speed_of_light * f / (2 * c.velocity_m_s);
        out.push_back({ q * q, std::sqrt(c.carrier_hz * c.carrier_hz - q * q) });
    }
    return out;
}

//! Error of factors against exp(j 2 pi cycles) in long double.
class factor_error
{
public:
    void add(cf32 value, long double cycles)
    {
        const double a = 2 * pi * static_cast<double>(cycles);
        const double re = value.re - std::cos(a);
        const double im = value.im - std::sin(a);
        const double e = re * re + im * im;
        d_sum += e;
        d_most = std::max(d_most, e);
        ++d_count;
    }
    double rms_db() const { return 10 * std::log10(d_sum / d_count); }
    double largest() const { return std::sqrt(d_most); }

private:
    double d_sum = 0;
    double d_most = 0;
    long d_count = 0;
};

} // namespace bench
} // namespace sar
} // namespace gr
