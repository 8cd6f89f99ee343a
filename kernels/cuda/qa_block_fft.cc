// SPDX-License-Identifier: GPL-3.0-or-later
//
// The block FFT without a GPU: all threads of a block are played in turn from barrier to
// barrier, and every access to shared memory is watched.
#define BOOST_TEST_MODULE block_fft
#include "block_fft.h"
#include "qa_watched_memory.h"
#include <algorithm>
#include <array>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace gr::sar;
using namespace gr::sar::cuda;

namespace {

template <typename T>
struct line_view {
    watched_memory& memory;
    int first;
    void put(int place, T v)
    {
        if constexpr (sizeof(T) == sizeof(float))
            memory.write(first + place, { v, 0 });
        else
            memory.write(first + place, v);
    }
    T get(int place)
    {
        if constexpr (sizeof(T) == sizeof(float))
            return memory.read(first + place).re;
        else
            return memory.read(first + place);
    }
};

//! All threads of a block with a few lines.
template <typename Shape, bool InTurn>
struct played_block {
    static constexpr bool in_turn = InTurn;
    using value = std::conditional_t<InTurn, float, cf32>;
    struct registers {
        cf32 x[Shape::points];
    };

    explicit played_block(int lines)
        : memory(lines * Shape::shared_size), threads(lines * Shape::threads)
    {
        memory.lanes = InTurn ? 32 : 16;
    }
    template <typename F>
    void each(F&& f)
    {
        for (int i = 0; i < static_cast<int>(threads.size()); ++i) {
            memory.begin(i);
            line_view<value> view{ memory, i / Shape::threads * Shape::shared_size };
            f(threads[i].x, i % Shape::threads, view);
        }
    }
    template <barrier_scope Scope, int, int>
    void sync()
    {
        memory.pass(Scope);
    }
    static cf32_pair read(const cf32_pair* p) { return *p; }

    watched_memory memory;
    std::vector<registers> threads;
};

template <typename Shape, bool InTurn>
void check(int lines)
{
    BOOST_TEST_CONTEXT("size " << Shape::size << ", threads " << Shape::threads
                               << ", in turn " << InTurn << ", lines " << lines)
    {
        std::mt19937 random(Shape::size);
        std::normal_distribution<float> normal;
        std::vector<std::vector<cd>> samples(lines, std::vector<cd>(Shape::size));
        played_block<Shape, InTurn> block(lines);
        // what a thread does not own must never matter
        for (auto& thread : block.threads)
            std::fill_n(thread.x, Shape::points, cf32{ NAN, NAN });
        for (int line = 0; line < lines; ++line)
            for (int t = 0; t < Shape::threads; ++t)
                for_butterflies<Shape, 0>(t, [&](auto round, int j) {
                    for (int k = 0; k < Shape::radix(0); ++k) {
                        const cf32 v{ normal(random), normal(random) };
                        block.threads[line * Shape::threads + t]
                            .x[round() * Shape::radix(0) + k] = v;
                        samples[line][j + k * Shape::inner(0)] = cd(v.re, v.im);
                    }
                });
        const std::vector<cf32_pair> table = make_power_table<Shape>();
        forward<Shape>(block, table.data());

        constexpr int last = Shape::stages - 1;
        double error = 0;
        double power = 0;
        int seen = 0;
        for (int line = 0; line < lines; ++line) {
            const auto spectrum = dft(samples[line], -1);
            std::vector<cf32> numbers;
            for (int k = 0; k < Shape::size; ++k)
                numbers.push_back({ float(k), float(k) });
            const auto order = in_block_order<Shape>(numbers.data());
            for (int t = 0; t < Shape::threads; ++t)
                for_butterflies<Shape, last>(t, [&](auto round, int j) {
                    BOOST_REQUIRE_EQUAL((stage_shape<Shape, last>::frequency(j)),
                                        Shape::frequency(j, 0));
                    for (int k = 0; k < Shape::radix(last); ++k) {
                        const int v = round() * Shape::radix(last) + k;
                        const cf32 x = block.threads[line * Shape::threads + t].x[v];
                        const int f = Shape::frequency(j, k);
                        error += std::norm(cd(x.re, x.im) - spectrum.at(f));
                        power += std::norm(spectrum.at(f));
                        ++seen;
                        const cf32_pair& p = order[v / 2 * Shape::threads + t];
                        BOOST_REQUIRE_EQUAL((v % 2 ? p.b : p.a).re, f);
                    }
                });
        }
        BOOST_TEST(seen == lines * Shape::size);
        BOOST_TEST(std::sqrt(error / power) < 3e-7);

        inverse<Shape>(block, table.data());
        error = power = 0;
        for (int line = 0; line < lines; ++line)
            for (int t = 0; t < Shape::threads; ++t)
                for_butterflies<Shape, 0>(t, [&](auto round, int j) {
                    for (int k = 0; k < Shape::radix(0); ++k) {
                        const cf32 x = block.threads[line * Shape::threads + t]
                                           .x[round() * Shape::radix(0) + k];
                        const cd s = samples[line][j + k * Shape::inner(0)];
                        error += std::norm(cd(x.re, x.im) / double(Shape::size) - s);
                        power += std::norm(s);
                    }
                });
        BOOST_TEST(std::sqrt(error / power) < 5e-7);
        BOOST_TEST(block.memory.races == 0);
        block.memory.count_conflicts();
        const double passes = block.memory.wavefronts / block.memory.ideal;
        BOOST_TEST_MESSAGE("size " << Shape::size << " threads " << Shape::threads
                                   << " in turn " << InTurn << " error "
                                   << std::sqrt(error / power) << " wavefronts an access "
                                   << passes);
        if (Shape::size % 64 == 0 && (Shape::size & (Shape::size - 1)) == 0 &&
            Shape::radix(last) >= (InTurn ? 32 : 16))
            BOOST_TEST(passes == 1.0);
    }
}

template <typename Shape>
void check_all()
{
    check<Shape, false>(1);
    check<Shape, true>(1);
    if (Shape::size <= 1024) {
        check<Shape, false>(3);
        check<Shape, true>(3);
    }
}

} // namespace

// what line_filter.cu, rcmc_fused.cu and fused_rows_*.cu are made of, and a few odd ones
using odd_shapes = boost::mpl::list<block_shape<2, 2, 2>,
                                    block_shape<3, 3, 3>,
                                    block_shape<4, 4, 3>,
                                    block_shape<8, 5, 8>,
                                    block_shape<9, 9, 7>,
                                    block_shape<16, 8, 16>>;
using short_shapes = boost::mpl::list<block_shape<16, 16, 16>,
                                      block_shape<8, 12, 6, 4>,
                                      block_shape<8, 10, 8, 4>,
                                      block_shape<8, 24, 16>,
                                      block_shape<16, 16, 32>,
                                      block_shape<24, 24, 24>,
                                      block_shape<16, 10, 8, 8>,
                                      block_shape<32, 12, 8, 8>,
                                      block_shape<32, 32, 32>,
                                      block_shape<64, 8, 8, 8>,
                                      block_shape<96, 12, 8, 8>,
                                      block_shape<64, 16, 8, 8>,
                                      block_shape<64, 20, 8, 8>>;
using middle_shapes = boost::mpl::list<block_shape<48, 12, 12, 8>,
                                       block_shape<96, 12, 12, 8>,
                                       block_shape<32, 20, 8, 8>,
                                       block_shape<64, 24, 8, 8>,
                                       block_shape<128, 8, 16, 16>,
                                       block_shape<96, 24, 12, 8>,
                                       block_shape<160, 10, 16, 16>,
                                       block_shape<256, 12, 16, 16>>;
using long_shapes = boost::mpl::list<block_shape<256, 16, 16, 16>,
                                     block_shape<288, 18, 16, 16>,
                                     block_shape<320, 20, 16, 16>,
                                     block_shape<384, 24, 16, 16>,
                                     block_shape<256, 16, 16, 32>,
                                     block_shape<192, 24, 24, 16>,
                                     block_shape<576, 16, 18, 32>,
                                     block_shape<320, 16, 20, 32>,
                                     block_shape<512, 24, 16, 32>,
                                     block_shape<512, 32, 16, 32>,
                                     block_shape<384, 16, 24, 16>,
                                     block_shape<384, 24, 16, 24>,
                                     block_shape<512, 20, 8, 8, 8>,
                                     block_shape<256, 48, 16, 16>,
                                     block_shape<384, 48, 24, 16>,
                                     block_shape<512, 40, 8, 8, 8>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(odd_ones, Shape, odd_shapes) { check_all<Shape>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(short_lines, Shape, short_shapes) { check_all<Shape>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(middle_lines, Shape, middle_shapes) { check_all<Shape>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(long_lines, Shape, long_shapes) { check_all<Shape>(); }
