// SPDX-License-Identifier: GPL-3.0-or-later
//
// The column transforms without a GPU: all threads of a cluster are played in turn from
// barrier to barrier, and every access to shared memory is watched.
#define BOOST_TEST_MODULE column_fft
#include "column_fft.h"
#include "qa_watched_memory.h"
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace gr::sar;
using namespace gr::sar::cuda;

namespace {

constexpr float untouched = -77;

//! All threads of a cluster.
template <typename Shape, int Blocks>
struct played_cluster {
    static constexpr int lanes = Shape::threads / Blocks;
    static constexpr int block_threads = lanes * Shape::width;
    struct memory {
        played_cluster& cluster;
        const column_thread& thread;
        void put(int place, cf32 v) { send(thread.rank, place, v); }
        cf32 get(int place)
        {
            return cluster.blocks[thread.rank].read(place * Shape::width + thread.column);
        }
        void send(int rank, int place, cf32 v)
        {
            cluster.blocks.at(rank).write(place * Shape::width + thread.column, v);
        }
    };

    played_cluster()
        : blocks(Blocks, watched_memory(Shape::shared_size / Blocks * Shape::width)),
          threads(Blocks * block_threads)
    {
        // what a thread does not own must never matter
        for (column_values<Shape>& v : threads)
            std::fill_n(v.x, Shape::points, cf32{ NAN, NAN });
    }
    template <typename F>
    void each(F&& f)
    {
        for (int i = 0; i < static_cast<int>(threads.size()); ++i) {
            for (watched_memory& block : blocks)
                block.begin(i);
            const column_thread t{ i % Shape::width,
                                   i % block_threads / Shape::width,
                                   i / block_threads };
            memory m{ *this, t };
            f(threads[i], t, m);
        }
    }
    void started() {}
    void sent() { sync(); }
    void sync()
    {
        for (watched_memory& block : blocks)
            block.pass(barrier_scope::block);
    }
    static cf32_pair read(const cf32_pair* p) { return *p; }
    static cf32 load(const cf32* p) { return *p; }
    static void store(cf32* p, cf32 v) { *p = v; }

    std::vector<watched_memory> blocks;
    std::vector<column_values<Shape>> threads;
};

//! The threads of a block that does an item of a relay.
template <typename Shape>
struct played_relay {
    struct registers {
        cf32 x[Shape::points];
    };
    struct memory {
        watched_memory& block;
        int column;
        void put(int place, cf32 v) { block.write(place * Shape::width + column, v); }
        cf32 get(int place) { return block.read(place * Shape::width + column); }
    };

    played_relay() : block(Shape::item_rows * Shape::width), threads(Shape::block_threads)
    {
        for (registers& r : threads)
            std::fill_n(r.x, Shape::points, cf32{ NAN, NAN });
    }
    template <typename F>
    void each(F&& f)
    {
        for (int i = 0; i < Shape::block_threads; ++i) {
            block.begin(i);
            memory m{ block, i % Shape::width };
            f(threads[i].x, column_thread{ i % Shape::width, i / Shape::width, 0 }, m);
        }
    }
    void sync() { block.pass(barrier_scope::block); }
    static cf32_pair read(const cf32_pair* p) { return *p; }
    static cf32 load(const cf32* p) { return *p; }
    static cf32 load_relayed(const cf32* p) { return *p; }
    static void store(cf32* p, cf32 v) { *p = v; }

    watched_memory block;
    std::vector<registers> threads;
};

//! A frame wider than what is transformed of it, two tiles of which the second is cut.
template <typename Shape>
struct scene {
    static constexpr int rows = Shape::size;
    static constexpr int cols = Shape::width + (Shape::width + 1) / 2;
    static constexpr int pitch = cols + 3;
    static constexpr int filled = rows * 5 / 8 + 1;

    scene() : in(std::size_t(rows) * pitch), out(in.size(), cf32{ untouched, 0 })
    {
        std::mt19937 random(rows);
        std::normal_distribution<float> normal;
        for (cf32& v : in)
            v = { normal(random), normal(random) };
    }
    //! Relative error; rows that are not filled count as zeros.
    double error(int sign) const
    {
        double e = 0;
        double s = 0;
        for (const int c : { 0, 1 % cols, Shape::width - 1, Shape::width, cols - 1 }) {
            std::vector<cd> column(rows);
            for (int i = 0; i < filled; ++i)
                column[i] = cd(in[i * pitch + c].re, in[i * pitch + c].im);
            const std::vector<cd> truth = dft(column, sign);
            for (int k = 0; k < rows; ++k) {
                const cf32 v = out[k * pitch + c];
                e += std::norm(truth[k] - cd(v.re, v.im));
                s += std::norm(truth[k]);
            }
        }
        return std::sqrt(e / s);
    }
    int touched_beside() const
    {
        int n = 0;
        for (int k = 0; k < rows; ++k)
            for (int c = cols; c < pitch; ++c)
                n += out[k * pitch + c].re != untouched;
        return n;
    }

    std::vector<cf32> in;
    std::vector<cf32> out;
};

template <int Blocks, typename Shape>
struct tile_of {
    template <int Sign>
    static void check()
    {
        BOOST_TEST_CONTEXT("rows " << Shape::size << ", width " << Shape::width
                                   << ", blocks " << Blocks << ", sign " << Sign)
        {
            scene<Shape> s;
            const auto table = make_power_table<Shape>();
            const column_frame f{ s.in.data(), s.out.data(), table.data(), s.pitch,
                                  s.cols,      s.filled,     Sign > 0 };
            double passes = 0;
            for (int column = 0; column < s.cols; column += Shape::width) {
                played_cluster<Shape, Blocks> cluster;
                column_tile<Shape, Blocks, (Sign < 0)>(cluster, f, column);
                for (watched_memory& block : cluster.blocks) {
                    BOOST_TEST(block.races == 0);
                    block.count_conflicts();
                    passes = std::max(passes, block.wavefronts / block.ideal);
                }
            }
            BOOST_TEST(s.error(Sign) < 3e-7);
            BOOST_TEST(s.touched_beside() == 0);
            BOOST_TEST_MESSAGE("rows " << Shape::size << " width " << Shape::width
                                       << " blocks " << Blocks << " error "
                                       << s.error(Sign) << " wavefronts an access "
                                       << passes);
            if ((Shape::size & (Shape::size - 1)) == 0)
                BOOST_TEST(passes == 1.0);
        }
    }
};

template <typename Shape>
struct relay_of {
    template <int Sign>
    static void check()
    {
        BOOST_TEST_CONTEXT("rows " << Shape::size << ", sign " << Sign)
        {
            scene<Shape> s;
            const auto table = make_power_table<Shape>();
            const column_frame f{ s.in.data(), s.out.data(), table.data(), s.pitch,
                                  s.cols,      s.filled,     Sign > 0 };
            for (int column = 0; column < s.cols; column += Shape::width) {
                std::vector<cf32> scratch(Shape::size * Shape::width, cf32{ NAN, NAN });
                const auto item = [&](auto&& work) {
                    played_relay<Shape> block;
                    work(block);
                    block.block.count_conflicts();
                    BOOST_TEST(block.block.races == 0);
                    BOOST_TEST(block.block.wavefronts == block.block.ideal);
                };
                for (int i = 0; i < Shape::items; ++i)
                    item([&](auto& b) {
                        relay_first<Shape>(b, f, column, i, scratch.data());
                    });
                for (int i = 0; i < Shape::items; ++i)
                    item([&](auto& b) {
                        relay_second<Shape>(b, f, column, i, scratch.data());
                    });
            }
            BOOST_TEST(s.error(Sign) < 3e-7);
            BOOST_TEST(s.touched_beside() == 0);
        }
    }
};

} // namespace

// what column_kernel.cu is made of
using one_block = boost::mpl::list<tile_of<1, column_shape<16, 16, 16, 16>>,
                                   tile_of<1, column_shape<18, 16, 16, 18>>,
                                   tile_of<1, column_shape<20, 16, 16, 20>>,
                                   tile_of<1, column_shape<24, 16, 16, 24>>,
                                   tile_of<1, column_shape<32, 16, 8, 8, 8>>,
                                   tile_of<1, column_shape<24, 16, 24, 24>>,
                                   tile_of<1, column_shape<40, 8, 8, 8, 10>>,
                                   tile_of<1, column_shape<48, 16, 16, 6, 8>>,
                                   tile_of<1, column_shape<48, 8, 16, 6, 8>>,
                                   tile_of<1, column_shape<64, 8, 16, 8, 8>>>;
using one_narrow_block = boost::mpl::list<tile_of<1, column_shape<72, 4, 16, 8, 9>>,
                                          tile_of<1, column_shape<80, 4, 16, 8, 10>>,
                                          tile_of<1, column_shape<96, 4, 16, 8, 12>>,
                                          tile_of<1, column_shape<144, 4, 16, 16, 9>>,
                                          tile_of<1, column_shape<160, 4, 16, 16, 10>>,
                                          tile_of<1, column_shape<192, 4, 16, 12, 16>>,
                                          tile_of<1, column_shape<256, 4, 16, 16, 16>>>;
using short_clusters = boost::mpl::list<tile_of<2, column_shape<32, 16, 8, 8, 8>>,
                                        tile_of<2, column_shape<40, 16, 8, 8, 10>>,
                                        tile_of<4, column_shape<64, 16, 16, 8, 8>>,
                                        tile_of<4, column_shape<72, 16, 16, 8, 9>>,
                                        tile_of<4, column_shape<80, 16, 16, 8, 10>>,
                                        tile_of<4, column_shape<96, 16, 16, 8, 12>>,
                                        tile_of<8, column_shape<128, 16, 16, 16, 8>>,
                                        tile_of<8, column_shape<144, 16, 16, 16, 9>>,
                                        tile_of<8, column_shape<160, 16, 16, 16, 10>>>;
using long_clusters = boost::mpl::list<tile_of<16, column_shape<192, 16, 16, 12, 16>>,
                                       tile_of<8, column_shape<256, 16, 16, 16, 16>>,
                                       tile_of<16, column_shape<256, 16, 16, 16, 16>>,
                                       tile_of<16, column_shape<288, 16, 16, 16, 18>>,
                                       tile_of<16, column_shape<320, 16, 16, 16, 20>>,
                                       tile_of<16, column_shape<384, 16, 16, 16, 24>>,
                                       tile_of<16, column_shape<512, 16, 16, 8, 8, 8>>,
                                       tile_of<8, column_shape<512, 8, 16, 8, 8, 8>>,
                                       tile_of<16, column_shape<576, 8, 16, 9, 8, 8>>,
                                       tile_of<16, column_shape<640, 8, 16, 10, 8, 8>>,
                                       tile_of<16, column_shape<768, 8, 16, 12, 8, 8>>,
                                       tile_of<8, column_shape<512, 8, 32, 32, 16>>>;

template <typename Tile>
void check_tile()
{
    Tile::template check<-1>();
    Tile::template check<1>();
}
BOOST_AUTO_TEST_CASE_TEMPLATE(block, Tile, one_block) { check_tile<Tile>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(narrow, Tile, one_narrow_block) { check_tile<Tile>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(cluster, Tile, short_clusters) { check_tile<Tile>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(big, Tile, long_clusters) { check_tile<Tile>(); }

using relays = boost::mpl::list<relay_of<relay_shape<8, 16, 128, 8, 8, 16, 8>>,
                                relay_of<relay_shape<8, 16, 128, 16, 8, 16, 8>>,
                                relay_of<relay_shape<4, 16, 32, 8, 4, 4, 8>>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(relay, Relay, relays)
{
    Relay::template check<-1>();
    Relay::template check<1>();
}
