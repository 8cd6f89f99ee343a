// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the tests of transforms without a GPU share: the truth in double, and shared
// memory that watches every access. Include after block_fft.h.

#include "../core/constants.h"
#include <algorithm>
#include <complex>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gr {
namespace sar {
namespace cuda {

using cd = std::complex<double>;

//! DFT in double, recursively by the smallest factor.
inline std::vector<cd> dft(const std::vector<cd>& x, int sign)
{
    const int n = static_cast<int>(x.size());
    if (n == 1)
        return x;
    const int p = first_factor(n);
    const int m = n / p;
    std::vector<std::vector<cd>> part;
    for (int r = 0; r < p; ++r) {
        std::vector<cd> y;
        for (int i = 0; i < m; ++i)
            y.push_back(x[i * p + r]);
        part.push_back(dft(y, sign));
    }
    std::vector<cd> out(n);
    for (int k = 0; k < n; ++k)
        for (int r = 0; r < p; ++r)
            out[k] += part[r][k % m] *
                      std::polar(1.0, sign * 2 * pi * (double(r) * k / n - r * k / n));
    return out;
}

//! Shared memory of a block that knows who touched a place since which barrier.
class watched_memory
{
public:
    explicit watched_memory(int size) : d_places(size) {}

    void pass(barrier_scope scope)
    {
        count_conflicts();
        ++d_warp_epoch;
        if (scope == barrier_scope::block)
            ++d_block_epoch;
    }
    //! Another instruction sequence of this thread begins.
    void begin(int thread)
    {
        d_thread = thread;
        d_access = 0;
    }
    void write(int place, cf32 v)
    {
        visit& p = at(place);
        for (const auto& reader : p.readers)
            if (!ordered(reader))
                ++races;
        if (p.writer.thread >= 0 && !ordered(p.writer))
            ++races;
        p.readers.clear();
        p.writer = now();
        p.value = v;
    }
    cf32 read(int place)
    {
        visit& p = at(place);
        if (p.writer.thread < 0 || !ordered(p.writer))
            ++races;
        p.readers.push_back(now());
        return p.value;
    }
    void count_conflicts()
    {
        for (const auto& [key, places] : d_accesses) {
            std::map<int, std::set<int>> banks;
            for (const int place : places)
                banks[place % lanes].insert(place);
            std::size_t passes = 0;
            for (const auto& [bank, distinct] : banks)
                passes = std::max(passes, distinct.size());
            wavefronts += passes;
            ideal += 1;
        }
        d_accesses.clear();
    }

    int races = 0;
    int lanes = 16; //!< 8-byte accesses go by half warps, 4-byte ones by warps
    double wavefronts = 0;
    double ideal = 0;

private:
    struct moment {
        int thread = -1;
        int block_epoch = 0;
        int warp_epoch = 0;
    };
    struct visit {
        cf32 value{ 0, 0 };
        moment writer;
        std::vector<moment> readers;
    };
    moment now() const { return { d_thread, d_block_epoch, d_warp_epoch }; }
    bool ordered(const moment& m) const
    {
        return m.thread == d_thread || m.block_epoch != d_block_epoch ||
               (m.thread / 32 == d_thread / 32 && m.warp_epoch != d_warp_epoch);
    }
    visit& at(int place)
    {
        d_accesses[{ d_access++, d_thread / lanes }].push_back(place);
        return d_places.at(place);
    }

    std::vector<visit> d_places;
    std::map<std::pair<int, int>, std::vector<int>> d_accesses;
    int d_thread = 0;
    int d_access = 0;
    int d_block_epoch = 0;
    int d_warp_epoch = 0;
};

} // namespace cuda
} // namespace sar
} // namespace gr
