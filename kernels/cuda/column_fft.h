// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "block_fft.h"
#include <cstddef>

namespace gr {
namespace sar {
namespace cuda {

/*!
 * \file
 * \brief Fourier transforms of the columns of a frame [rows][cols] without a transpose:
 * natural order in and out, a tile of neighbouring columns at a time, so that each piece
 * of a row that is touched has at least 32 bytes.
 *
 * The digits, radices and tables are those of block_fft.h. Both directions go from
 * samples to frequencies by the stages of its forward(); the inverse swaps real and
 * imaginary parts on load and store. As there, all of it runs on host and device alike,
 * with the threads and the memory as template arguments.
 *
 * Two ways, by where the values of a column are exchanged:
 *  - column_tile: a tile lives in the shared memory of a cluster of blocks, or of one
 *    block. The first stage reads the frame and sends digit k1 to the block that has it;
 *    all stages after it stay within a block.
 *  - column_relay: two passes of two stages each through a scratch that is small enough
 *    to stay in the L2 cache.
 */

//! \tparam Lanes  threads that share a column, in all blocks of a cluster
//! \tparam Width  columns of a tile
template <int Lanes, int Width, int... R>
struct column_shape : block_shape<Lanes, R...> {
    using base = block_shape<Lanes, R...>;
    static constexpr int width = Width;

    //! As in block_shape, but 16 values and more in a row fill the banks without gaps.
    static constexpr int stride(int s)
    {
        int n = 1;
        for (int i = base::stages - 1; i > s; --i)
            n = n * base::radix(i) +
                (i == base::stages - 1 && Width < 16 && base::radix(i) % 2 == 0 ? 1 : 0);
        return n;
    }
    static constexpr int shared_size = stride(0) * base::radix(0);
};

//! Reads the factors of a butterfly of stage S > 0, number the weight of its high digits.
template <typename Shape, int S, typename Read>
SAR_HD void read_factors(cf32* w, int number, const cf32_pair* table, Read&& read)
{
    using shape = stage_shape<Shape, S>;
    static_for<power_pairs(shape::radix)>([&](auto i) {
        const cf32_pair v =
            read(table + shape::forward_table + i() * shape::outer + number);
        w[2 * i()] = v.a;
        w[2 * i() + 1] = v.b;
    });
}

//! DFT of the values x[First ..] of a butterfly of stage S in natural order, each first
//! multiplied by its power of the factors.
template <typename Shape, int S, int First, int Points>
SAR_HD void column_butterfly(cf32 (&x)[Points], const cf32* w)
{
    constexpr int r = stage_shape<Shape, S>::radix;
    cf32 y[r];
    small_dft<r, -1, (S > 0), First, 1>::run(x, y, w);
    static_for<r>([&](auto k) { x[First + k()] = y[k()]; });
}

//! What a column transform works on.
struct column_frame {
    const cf32* in;
    cf32* out;              //!< may be in
    const cf32_pair* table; //!< make_power_table()
    unsigned pitch;         //!< from row to row, values
    int cols;
    int filled;   //!< rows from this one on are zeros
    bool inverse; //!< exp(+j ..)

    //! The inverse is a forward transform of swapped parts: after load, before store. All
    //! values at once, so that no load waits for the one before it.
    template <int N>
    SAR_HD void turn(cf32 (&x)[N]) const
    {
        if (inverse)
            static_for<N>([&](auto i) { x[i()] = { x[i()].im, x[i()].re }; });
    }
};

//! Values from the begin of a frame to that of a row: one wide multiplication.
SAR_HD std::size_t row_offset(int row, unsigned pitch)
{
    return static_cast<std::size_t>(static_cast<unsigned>(row)) * pitch;
}

//! A thread: its column of the tile, its number among those of the column in its block,
//! and the number of its block in the cluster.
struct column_thread {
    int column;
    int lane;
    int rank;
};

//! Do f(round, j, local) for the butterflies of a thread in stage S: j their number,
//! local that among those of the block.
template <typename Shape, int Blocks, int S, typename F>
SAR_HD void for_column_butterflies(const column_thread& t, F&& f)
{
    using shape = stage_shape<Shape, S>;
    constexpr int lanes = Shape::threads / Blocks;
    if constexpr (S == 0) {
        // threads of a block have neighbouring rows
        static_for<shape::rounds>([&](auto round) {
            const int j = t.rank * lanes + t.lane + round() * Shape::threads;
            if (shape::exact || j < shape::butterflies)
                f(round, j, j);
        });
    } else {
        constexpr int mine = shape::butterflies / Blocks;
        static_assert(mine * Blocks == shape::butterflies, "radix 0 is shared by blocks");
        static_for<shape::rounds>([&](auto round) {
            const int local = t.lane + round() * lanes;
            if (mine == shape::rounds * lanes || local < mine)
                f(round, t.rank * mine + local, local);
        });
    }
}

//! What a thread holds: values, and the factors of the stage that comes.
template <typename Shape>
struct column_values {
    //! Factors of a butterfly.
    template <int S>
    static constexpr int factors = S == 0 ? 0 : 2 * power_pairs(Shape::radix(S));

    static constexpr int count_factors()
    {
        int n = 1;
        for (int s = 1; s < Shape::stages; ++s) {
            const int mine = Shape::rounds(s) * 2 * power_pairs(Shape::radix(s));
            n = mine > n ? mine : n;
        }
        return n;
    }
    cf32 x[Shape::points];
    cf32 w[count_factors()];
};

/*!
 * \brief Transforms columns first_column .. of a frame with a cluster.
 *
 * cluster.each(f) does f(column_values, thread, memory) for all threads;
 * memory.send(rank, place, v) writes into a block of the cluster, put and get into the
 * own one. cluster.started() comes before the first send, cluster.sent() after the last,
 * cluster.sync() is the barrier of a block.
 *
 * \tparam Early  factors are read before the barrier, so that both are waited for at
 *                once; not where the values leave no registers for them
 */
template <typename Shape, int Blocks, bool Early, typename Cluster>
SAR_HD void column_tile(Cluster& cluster, const column_frame& f, int first_column)
{
    using values = column_values<Shape>;
    using first = stage_shape<Shape, 0>;
    constexpr int last = Shape::stages - 1;
    constexpr int each_block = first::radix / Blocks;
    static_assert(each_block * Blocks == first::radix, "radix 0 is shared by blocks");
    static_assert(last > 0);

    const auto factors = [&](auto s, values& v, const column_thread& t) {
        constexpr int stage = s();
        for_column_butterflies<Shape, Blocks, stage>(t, [&](auto round, int j, int) {
            read_factors<Shape, stage>(v.w + round() * values::template factors<stage>,
                                       j / stage_shape<Shape, stage>::inner,
                                       f.table,
                                       Cluster::read);
        });
    };

    cluster.each([&](values& v, const column_thread& t, auto&) {
        const bool there = first_column + t.column < f.cols;
        for_column_butterflies<Shape, Blocks, 0>(t, [&](auto round, int j, int) {
            const cf32* p = f.in + row_offset(j, f.pitch) + first_column + t.column;
            const int rest = there ? f.filled - j : 0;
            static_for<first::radix>([&](auto k) {
                constexpr int at = k() * first::inner;
                cf32& x = v.x[round() * first::radix + k()];
                if (at < rest)
                    x = Cluster::load(p + row_offset(at, f.pitch));
                else
                    x = { 0, 0 };
            });
        });
        f.turn(v.x);
        for_column_butterflies<Shape, Blocks, 0>(t, [&](auto round, int, int) {
            column_butterfly<Shape, 0, round() * first::radix>(v.x, v.w);
        });
    });
    cluster.started();
    cluster.each([&](values& v, const column_thread& t, auto& m) {
        for_column_butterflies<Shape, Blocks, 0>(t, [&](auto round, int j, int) {
            const int place = first::place(j);
            static_for<first::radix>([&](auto k) {
                m.send(k() / each_block,
                       place + k() % each_block * first::stride,
                       v.x[round() * first::radix + k()]);
            });
        });
        if constexpr (Early)
            factors(int_constant<1>{}, v, t);
    });
    cluster.sent();
    static_for<last>([&](auto i) {
        constexpr int s = i() + 1;
        using shape = stage_shape<Shape, s>;
        cluster.each([&](values& v, const column_thread& t, auto& m) {
            for_column_butterflies<Shape, Blocks, s>(t, [&](auto round, int, int local) {
                const int place = shape::place(local);
                static_for<shape::radix>([&](auto k) {
                    v.x[round() * shape::radix + k()] =
                        m.get(place + k() * shape::stride);
                });
            });
            for_column_butterflies<Shape, Blocks, s>(t, [&](auto round, int j, int) {
                cf32* w = v.w + round() * values::template factors<s>;
                if constexpr (!Early)
                    read_factors<Shape, s>(w, j / shape::inner, f.table, Cluster::read);
                column_butterfly<Shape, s, round() * shape::radix>(v.x, w);
            });
            if constexpr (s < last) {
                for_column_butterflies<Shape, Blocks, s>(
                    t, [&](auto round, int, int local) {
                        const int place = shape::place(local);
                        static_for<shape::radix>([&](auto k) {
                            m.put(place + k() * shape::stride,
                                  v.x[round() * shape::radix + k()]);
                        });
                    });
                if constexpr (Early)
                    factors(int_constant<s + 1>{}, v, t);
            }
        });
        if constexpr (s < last)
            cluster.sync();
    });
    cluster.each([&](values& v, const column_thread& t, auto&) {
        using shape = stage_shape<Shape, last>;
        f.turn(v.x);
        if (first_column + t.column >= f.cols)
            return;
        for_column_butterflies<Shape, Blocks, last>(t, [&](auto round, int j, int) {
            cf32* p = f.out + row_offset(shape::frequency(j), f.pitch) + first_column +
                      t.column;
            static_for<shape::radix>([&](auto k) {
                Cluster::store(p + row_offset(k() * shape::outer, f.pitch),
                               v.x[round() * shape::radix + k()]);
            });
        });
    });
}

// ---- two passes through the cache -----------------------------------------------------

/*!
 * \brief Shape of a column_relay: R1 .. R4, the first two the first pass.
 *
 * An item is the work of a block in a pass: Rows values of Width columns, Rows / (R1 R2)
 * transforms of the first pass or Rows / (R3 R4) of the second.
 */
template <int Lanes, int Width, int Rows, int R1, int R2, int R3, int R4>
struct relay_shape : block_shape<Lanes, R1, R2, R3, R4> {
    using base = block_shape<Lanes, R1, R2, R3, R4>;
    static constexpr int width = Width;
    static constexpr int item_rows = Rows;
    static constexpr int items = base::size / Rows; //!< of a pass and tile
    static constexpr int lanes = Lanes;
    static constexpr int block_threads = Lanes * Width;
    static constexpr int shared_bytes = Rows * Width * static_cast<int>(sizeof(cf32));
    static constexpr int outer_size = R1 * R2; //!< of a transform of the first pass
    static constexpr int inner_size = R3 * R4; //!< of the second
    static constexpr int points_of(int s)
    {
        const int n = Rows / base::radix(s);
        return (n + Lanes - 1) / Lanes * base::radix(s);
    }
    static constexpr int max(int a, int b) { return a > b ? a : b; }
    static constexpr int points =
        max(max(points_of(0), points_of(1)), max(points_of(2), points_of(3)));
    static_assert(base::size % Rows == 0 && Rows % (R1 * R2) == 0 &&
                  Rows % (R3 * R4) == 0);
    static_assert(Width >= 16, "rows of shared memory have no gaps");
};

//! Do f(round, of, digit) for the butterflies of a lane in stage S of a relay: of the
//! number of the transform in the item, digit that of the butterfly in it.
template <typename Shape, int S, typename F>
SAR_HD void for_relay_butterflies(int lane, F&& f)
{
    constexpr int partner =
        stage_shape<Shape, (S ^ 1)>::radix; // butterflies of a transform
    constexpr int butterflies = Shape::item_rows / stage_shape<Shape, S>::radix;
    constexpr int rounds = (butterflies + Shape::lanes - 1) / Shape::lanes;
    static_for<rounds>([&](auto round) {
        const int b = lane + round() * Shape::lanes;
        if (butterflies == rounds * Shape::lanes || b < butterflies)
            f(round, b / partner, b % partner);
    });
}

/*!
 * \brief An item of pass First / 2 (First = 0 or 2): the stages First and First + 1.
 *
 * \param get  get(column, of, at): value \p at of transform \p of, in natural order
 * \param put  put(column, of, digit, k, v) takes element k of butterfly \p digit of stage
 *             First + 1
 * \param high high(of): the number that the digits before stage First make
 */
template <typename Shape,
          int First,
          typename Block,
          typename Get,
          typename Put,
          typename High>
SAR_HD void
relay_pass(Block& block, const column_frame& f, Get&& get, Put&& put, High&& high)
{
    constexpr int ra = stage_shape<Shape, First>::radix;
    constexpr int rb = stage_shape<Shape, First + 1>::radix;
    block.each([&](cf32(&x)[Shape::points], const column_thread& t, auto& m) {
        for_relay_butterflies<Shape, First>(t.lane, [&](auto round, int of, int digit) {
            static_for<ra>([&](auto k) {
                x[round() * ra + k()] = get(t.column, of, k() * rb + digit);
            });
        });
        if constexpr (First == 0)
            f.turn(x);
        for_relay_butterflies<Shape, First>(t.lane, [&](auto round, int of, int digit) {
            cf32 w[2 * power_pairs(ra)];
            if constexpr (First > 0)
                read_factors<Shape, First>(w, high(of), f.table, Block::read);
            column_butterfly<Shape, First, round() * ra>(x, w);
            static_for<ra>([&](auto k) {
                m.put(of * (ra * rb) + k() * rb + digit, x[round() * ra + k()]);
            });
        });
    });
    block.sync();
    block.each([&](cf32(&x)[Shape::points], const column_thread& t, auto& m) {
        for_relay_butterflies<Shape, First + 1>(
            t.lane, [&](auto round, int of, int digit) {
                static_for<rb>([&](auto k) {
                    x[round() * rb + k()] = m.get(of * (ra * rb) + digit * rb + k());
                });
            });
        for_relay_butterflies<Shape, First + 1>(
            t.lane, [&](auto round, int of, int digit) {
                cf32 w[2 * power_pairs(rb)];
                read_factors<Shape, First + 1>(
                    w, high(of) * ra + digit, f.table, Block::read);
                column_butterfly<Shape, First + 1, round() * rb>(x, w);
            });
        if constexpr (First == 2)
            f.turn(x);
        for_relay_butterflies<Shape, First + 1>(
            t.lane, [&](auto round, int of, int digit) {
                static_for<rb>(
                    [&](auto k) { put(t.column, of, digit, k, x[round() * rb + k()]); });
            });
    });
}

//! First pass of an item: frame to scratch [size][width] of the tile.
template <typename Shape, typename Block>
SAR_HD void relay_first(Block& block,
                        const column_frame& f,
                        int first_column,
                        int item,
                        cf32* scratch)
{
    constexpr int inner = Shape::inner_size;
    constexpr int transforms = Shape::item_rows / Shape::outer_size;
    const cf32* in = f.in + first_column;
    relay_pass<Shape, 0>(
        block,
        f,
        [&](int column, int of, int at) {
            const int row = at * inner + item * transforms + of;
            return row < f.filled && first_column + column < f.cols
                       ? Block::load(in + row_offset(row, f.pitch) + column)
                       : cf32{ 0, 0 };
        },
        [&](int column, int of, int digit, auto k, cf32 v) {
            const int high = digit * stage_shape<Shape, 1>::radix + k();
            scratch[(high * inner + item * transforms + of) * Shape::width + column] = v;
        },
        [](int) { return 0; });
}

//! Second pass: scratch to frame.
template <typename Shape, typename Block>
SAR_HD void relay_second(Block& block,
                         const column_frame& f,
                         int first_column,
                         int item,
                         const cf32* scratch)
{
    constexpr int inner = Shape::inner_size;
    constexpr int transforms = Shape::item_rows / inner;
    cf32* out = f.out + first_column;
    relay_pass<Shape, 2>(
        block,
        f,
        [&](int column, int of, int at) {
            return Block::load_relayed(
                scratch + ((item * transforms + of) * inner + at) * Shape::width +
                column);
        },
        [&](int column, int of, int digit, auto k, cf32 v) {
            using shape = stage_shape<Shape, 3>;
            const int j = (item * transforms + of) * stage_shape<Shape, 2>::radix + digit;
            const int row = shape::frequency(j) + k() * shape::outer;
            if (first_column + column < f.cols)
                Block::store(out + row_offset(row, f.pitch) + column, v);
        },
        [&](int of) { return item * transforms + of; });
}

} // namespace cuda
} // namespace sar
} // namespace gr
