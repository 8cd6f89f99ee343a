// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../core/cf32.h"
#include "../core/hd.h"
#include <utility>
#include <vector>

namespace gr {
namespace sar {
namespace cuda {

/*!
 * \file
 * \brief A Fourier transform inside one thread block: sizes known when compiled, values
 * in registers, exchanged between threads through shared memory.
 *
 * Everything here is arithmetic on plain values, the same on host and device. The block
 * (barriers, shared memory) is a template argument: block_fft.cuh has the GPU's, the test
 * one that plays all threads in turn and watches every access.
 *
 * A size N = r1 r2 .. rm. The index of a sample has the digits i1 .. im, i1 first:
 *
 *     i = i1 M1 + i2 M2 + .. + im,     Ms = r(s+1) .. rm
 *
 * and that of a frequency the digits k1 .. km in reversed weights:
 *
 *     k = k1 + k2 r1 + k3 r1 r2 + ..
 *
 * forward() replaces digit i1 by k1, then i2 by k2, ..: stage s is a DFT of rs points, of
 * elements that lie Ms apart, each multiplied before by w^i_s,
 *
 *     w = exp(-j 2 pi (k1 + k2 r1 + .. + k(s-1) r1 .. r(s-2)) / (r1 .. rs))
 *
 * inverse() goes back from km to k1 with
 *
 *     w = exp(+j 2 pi (i mod Ms) / (rs Ms))
 *
 * The spectrum thus stays in the order of the digits, which costs nothing where it is
 * only multiplied by something: the other factor is put into that order once (Cooley and
 * Tukey 1965; Gentleman and Sande 1966 for the two orders).
 *
 * All stages multiply before they add (decimation in time), since a radix-2 butterfly
 * then takes 6 fused multiply-adds, whether its factor is trivial or not (Linzer and
 * Feig, IEEE Trans. Signal Processing 41, 1993):
 *
 *     E' = E + c O,  O' = E - c O = 2 E - E'
 *
 * Every stage writes its results to the places it read its input from. Reading and
 * writing a place is then the business of one thread, and only the change from one stage
 * to the next needs a barrier: of a warp, where the stages are laid out so that it
 * suffices.
 */

// ---- tools at compile time
// -------------------------------------------------------------

template <int I>
struct int_constant {
    SAR_HD constexpr int operator()() const { return I; }
};

template <typename F, int... I>
SAR_HD void static_for(F&& f, std::integer_sequence<int, I...>)
{
    (f(int_constant<I>{}), ...);
}
//! f(0) .. f(N - 1), the argument known when compiled.
template <int N, typename F>
SAR_HD void static_for(F&& f)
{
    static_for(f, std::make_integer_sequence<int, N>{});
}

struct constant_root {
    double re;
    double im;
};

//! exp(j 2 pi k / n) when compiled: Taylor series about the nearest quarter turn.
SAR_HD constexpr constant_root root_of_unity(int k, int n)
{
    k = (k % n + n) % n;
    const int quarter = (4 * k + n / 2) / n;
    const double a =
        6.283185307179586476925 * (4.0 * k - double(quarter) * n) / (4.0 * n);
    double c = 0;
    double s = 0;
    double term = 1;
    for (int i = 0; i < 24; i += 2) {
        c += term;
        term *= a / (i + 1);
        s += term;
        term *= -a / (i + 2);
    }
    switch (quarter % 4) {
    case 0:
        return { c, s };
    case 1:
        return { -s, c };
    case 2:
        return { -c, -s };
    default:
        return { s, -c };
    }
}

//! exp(j 2 pi K / N) as float constants.
template <int K, int N>
struct root {
    static constexpr float re = static_cast<float>(root_of_unity(K, N).re);
    static constexpr float im = static_cast<float>(root_of_unity(K, N).im);
};

// ---- small transforms in registers
// -----------------------------------------------------

SAR_HD float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

SAR_HD cf32 times(cf32 a, cf32 b)
{
    return { fused(-a.im, b.im, a.re * b.re), fused(a.re, b.im, a.im * b.re) };
}
//! a times Sign j
template <int Sign>
SAR_HD cf32 turned(cf32 a)
{
    return Sign > 0 ? cf32{ -a.im, a.re } : cf32{ a.im, -a.re };
}
//! a times exp(Sign j 2 pi K / N), 0 <= K < N
template <int Sign, int K, int N>
SAR_HD cf32 rotated(cf32 a)
{
    if constexpr (K == 0)
        return a;
    else if constexpr (4 * K == N)
        return turned<Sign>(a);
    else if constexpr (4 * K > N && K * 4 % N < N && (N % 4 == 0) && K < N / 2)
        return turned<Sign>(rotated<Sign, K - N / 4, N>(a));
    else
        return times(a, cf32{ root<K, N>::re, Sign * root<K, N>::im });
}

//! (e, o) = (e + o, e - o)
SAR_HD void butterfly(cf32& e, cf32& o)
{
    const cf32 a = e;
    e = a + o;
    o = a - o;
}
//! (e, o) = (e + c o, e - c o) in six fused multiply-adds
SAR_HD void butterfly(cf32& e, cf32& o, cf32 c)
{
    const float re = fused(-c.im, o.im, fused(c.re, o.re, e.re));
    const float im = fused(c.im, o.re, fused(c.re, o.im, e.im));
    o = { fused(2.0f, e.re, -re), fused(2.0f, e.im, -im) };
    e = { re, im };
}

//! The factor that a small transform is split by first: 2 while it can be, then the
//! smallest odd one.
SAR_HD constexpr int first_factor(int r)
{
    for (int p = 2; p < r; ++p)
        if (r % p == 0)
            return p;
    return r;
}

/*!
 * \brief Powers of w that a DFT of \p r points with factors w^0 .. w^(r-1) on its inputs
 * reads: it is split by its factors p1 p2 ..; the level of pi reads the powers 1 .. pi -
 * 1 of w^(p1 .. p(i-1)), and turns them by constants.
 */
SAR_HD constexpr int power_count(int r)
{
    int n = 0;
    while (r > 1) {
        const int p = first_factor(r);
        n += p - 1;
        r /= p;
    }
    return n;
}
//! Exponent of the i-th of them.
SAR_HD constexpr int power_exponent(int r, int i)
{
    int base = 1;
    for (;;) {
        const int p = first_factor(r);
        if (i < p - 1)
            return base * (i + 1);
        i -= p - 1;
        base *= p;
        r /= p;
    }
}
//! They are stored in pairs.
SAR_HD constexpr int power_pairs(int r) { return (power_count(r) + 1) / 2; }

/*!
 * \brief DFT of R values in[First + i Step] w^i into out, in natural order; the factors
 * w^.. as power_exponent() lists them from w[0] on. Twiddled = false: w = 1.
 */
template <int R, int Sign, bool Twiddled, int First, int Step>
struct small_dft {
    static constexpr int p = first_factor(R);
    static constexpr int q = R / p;

    template <int Size>
    SAR_HD static void run(const cf32 (&in)[Size], cf32* out, const cf32* w)
    {
        cf32 part[p][q];
        static_for<p>([&](auto j) {
            small_dft<q, Sign, Twiddled, First + j() * Step, Step * p>::run(
                in, part[j()], w + (p - 1));
        });
        static_for<q>([&](auto k) {
            if constexpr (p == 2)
                pair<k()>(part[0][k()], part[1][k()], w);
            else
                odd<k()>(part, w);
            static_for<p>([&](auto j) { out[k() + j() * q] = part[j()][k()]; });
        });
    }

    //! e + c o and e - c o with c = w exp(Sign j 2 pi K / R)
    template <int K>
    SAR_HD static void pair(cf32& e, cf32& o, const cf32* w)
    {
        if constexpr (Twiddled) {
            butterfly(e, o, rotated<Sign, K, R>(w[0]));
        } else if constexpr (K == 0) {
            butterfly(e, o);
        } else if constexpr (4 * K == R) {
            o = turned<Sign>(o);
            butterfly(e, o);
        } else {
            butterfly(e, o, cf32{ root<K, R>::re, Sign * root<K, R>::im });
        }
    }

    //! DFT of an odd number p of values, of which number j is first multiplied by
    //! (w exp(Sign j 2 pi K / R))^j. Conjugate pairs share their cosine and sine sums.
    template <int K>
    SAR_HD static void odd(cf32 (&part)[p][q], const cf32* w)
    {
        constexpr int half = (p - 1) / 2;
        static_for<p - 1>([&](auto i) {
            constexpr int j = i() + 1;
            cf32& v = part[j][K];
            if constexpr (Twiddled)
                v = times(v, rotated<Sign, j * K % R, R>(w[j - 1]));
            else
                v = rotated<Sign, j * K % R, R>(v);
        });
        const cf32 zero = part[0][K];
        cf32 sum[half];
        cf32 difference[half];
        cf32 total = zero;
        static_for<half>([&](auto i) {
            const cf32 a = part[i() + 1][K];
            const cf32 b = part[p - 1 - i()][K];
            sum[i()] = a + b;
            difference[i()] = a - b;
            total = total + sum[i()];
        });
        part[0][K] = total;
        static_for<half>([&](auto i) {
            constexpr int m = i() + 1;
            cf32 even = zero;
            cf32 odd = { 0, 0 };
            static_for<half>([&](auto l) {
                using r = root<m*(l() + 1) % p, p>;
                even = { fused(r::re, sum[l()].re, even.re),
                         fused(r::re, sum[l()].im, even.im) };
                if constexpr (l() == 0)
                    odd = { r::im * difference[0].re, r::im * difference[0].im };
                else
                    odd = { fused(r::im, difference[l()].re, odd.re),
                            fused(r::im, difference[l()].im, odd.im) };
            });
            part[m][K] = even + turned<Sign>(odd);
            part[p - m][K] = even - turned<Sign>(odd);
        });
    }
};

template <int Sign, bool Twiddled, int First, int Step>
struct small_dft<1, Sign, Twiddled, First, Step> {
    template <int Size>
    SAR_HD static void run(const cf32 (&in)[Size], cf32* out, const cf32*)
    {
        out[0] = in[First];
    }
};

// ---- the shape of a transform
// ----------------------------------------------------------

//! Two values that are loaded together.
struct alignas(16) cf32_pair {
    cf32 a;
    cf32 b;
};

enum class barrier_scope { warp, block };

/*!
 * \brief Radices R of a transform whose line is shared by Threads threads.
 *
 * Stage s has size / radix(s) butterflies, done in rounds: see stage_shape::butterfly_of.
 * These functions are for the compiler and the host; device code takes the constants of
 * stage_shape.
 */
template <int Threads, int... R>
struct block_shape {
    static constexpr int threads = Threads;
    static constexpr int stages = sizeof...(R);
    static constexpr int size = (R * ...);

    static constexpr int radix(int s)
    {
        const int r[] = { R... };
        return r[s];
    }
    //! Product of the radices after stage s: distance of its elements in natural order.
    static constexpr int inner(int s)
    {
        int n = 1;
        for (int i = stages - 1; i > s; --i)
            n *= radix(i);
        return n;
    }
    //! Product of the radices before stage s.
    static constexpr int outer(int s) { return size / inner(s) / radix(s); }
    static constexpr int butterflies(int s) { return size / radix(s); }
    static constexpr int rounds(int s)
    {
        return (butterflies(s) + threads - 1) / threads;
    }
    //! Every thread has all its butterflies.
    static constexpr bool exact(int s) { return butterflies(s) == rounds(s) * threads; }
    static constexpr int count_points()
    {
        int n = 0;
        for (int s = 0; s < stages; ++s)
            n = rounds(s) * radix(s) > n ? rounds(s) * radix(s) : n;
        return n;
    }
    //! Values a thread holds.
    static constexpr int points = count_points();

    //! Butterflies of one round that neighbouring threads do before the next round's
    //! follow. In the first stage that is all threads, so that they touch neighbours in
    //! device memory; else a warp, so that two stages keep to the same part of the line
    //! where they can.
    static constexpr int chunk(int s)
    {
        return s > 0 && rounds(s) > 1 && threads % 32 == 0 && exact(s) ? 32 : threads;
    }
    static constexpr int butterfly_of(int s, int t, int round)
    {
        const int c = chunk(s);
        return t / c * (c * rounds(s)) + round * c + t % c;
    }
    static constexpr int thread_of(int s, int j)
    {
        const int c = chunk(s);
        return j / (c * rounds(s)) * c + j % c;
    }

    //! Distance in shared memory of elements whose digit s differs by one. Odd where
    //! threads that are neighbours differ in that digit: no two of them meet in a bank.
    static constexpr int stride(int s)
    {
        int n = 1;
        for (int i = stages - 1; i > s; --i)
            n = n * radix(i) + (i == stages - 1 && radix(i) % 2 == 0 ? 1 : 0);
        return n;
    }
    //! Values of shared memory for a line.
    static constexpr int shared_size = stride(0) * radix(0);

    //! k1 + k2 r1 + .. of butterflies whose digits before stage s make the number high.
    static constexpr int reversed(int s, int high)
    {
        int k = 0;
        int weight = outer(s);
        for (int i = s - 1; i >= 0; --i) {
            weight /= radix(i);
            k += high % radix(i) * weight;
            high /= radix(i);
        }
        return k;
    }
    //! Frequency of element k of butterfly j of the last stage.
    static constexpr int frequency(int j, int k)
    {
        return reversed(stages - 1, j) + k * outer(stages - 1);
    }

    //! Whether stages a and a + 1 exchange values only within warps.
    static constexpr bool within_warps(int a)
    {
        if (threads <= 32)
            return 32 % threads == 0;
        const int parts = outer(a);
        for (int part = 0; part < parts; ++part) {
            const int warp = thread_of(a, part * (butterflies(a) / parts)) / 32;
            for (int s = a; s <= a + 1; ++s) {
                const int n = butterflies(s) / parts;
                for (int j = part * n; j < (part + 1) * n; ++j)
                    if (thread_of(s, j) / 32 != warp)
                        return false;
            }
        }
        return true;
    }

    // ---- table of powers: for each stage that multiplies, pairs[i][number] ----
    static constexpr int forward_entries(int s)
    {
        return s > 0 ? power_pairs(radix(s)) * outer(s) : 0;
    }
    static constexpr int inverse_entries(int s)
    {
        return s < stages - 1 ? power_pairs(radix(s)) * inner(s) : 0;
    }
    static constexpr int forward_table(int s)
    {
        int n = 0;
        for (int i = 0; i < s; ++i)
            n += forward_entries(i);
        return n;
    }
    static constexpr int inverse_table(int s)
    {
        int n = forward_table(stages);
        for (int i = 0; i < s; ++i)
            n += inverse_entries(i);
        return n;
    }
    //! Pairs in the table of both directions.
    static constexpr int table_size = inverse_table(stages);
};

//! The constants of stage S.
template <typename Shape, int S>
struct stage_shape {
    static constexpr int radix = Shape::radix(S);
    static constexpr int inner = Shape::inner(S);
    static constexpr int outer = Shape::outer(S);
    static constexpr int stride = Shape::stride(S);
    static constexpr int butterflies = Shape::butterflies(S);
    static constexpr int rounds = Shape::rounds(S);
    static constexpr int chunk = Shape::chunk(S);
    static constexpr bool exact = Shape::exact(S);
    static constexpr int forward_table = Shape::forward_table(S);
    static constexpr int inverse_table = Shape::inverse_table(S);

    //! Butterfly of thread t in a round.
    template <int Round>
    SAR_HD static int butterfly_of(int t)
    {
        if constexpr (chunk == Shape::threads)
            return t + Round * chunk;
        else
            return t / chunk * (chunk * rounds) + t % chunk + Round * chunk;
    }

    //! Place in shared memory of element 0 of butterfly j; element k lies k stride
    //! further.
    SAR_HD static int place(int j)
    {
        return digits<S - 1>(j / inner) +
               (S + 1 < Shape::stages ? digits<Shape::stages - 1, S>(j % inner) : 0);
    }

    //! Frequency of element 0 of butterfly j, if this is the last stage; element k is
    //! that of k outer more.
    SAR_HD static int frequency(int j) { return reversed<S - 1>(j); }

private:
    //! k1 + k2 r1 + .. of a number with the digits of the stages 0 .. D.
    template <int D>
    SAR_HD static int reversed(int number)
    {
        if constexpr (D < 0)
            return 0;
        else if constexpr (D == 0)
            return number;
        else
            return number % stage_shape<Shape, D>::radix * stage_shape<Shape, D>::outer +
                   reversed<D - 1>(number / stage_shape<Shape, D>::radix);
    }
    //! Place of a number whose digits are those of the stages Stop + 1 .. D.
    template <int D, int Stop = -1>
    SAR_HD static int digits(int number)
    {
        if constexpr (D <= Stop)
            return 0;
        else if constexpr (D == Stop + 1)
            return number * stage_shape<Shape, D>::stride;
        else
            return digits<D - 1, Stop>(number / stage_shape<Shape, D>::radix) +
                   number % stage_shape<Shape, D>::radix * stage_shape<Shape, D>::stride;
    }
};

// ---- stages
// ----------------------------------------------------------------------------

//! Do f(round, j) for the butterflies of thread t in stage S.
template <typename Shape, int S, typename F>
SAR_HD void for_butterflies(int t, F&& f)
{
    using shape = stage_shape<Shape, S>;
    static_for<shape::rounds>([&](auto round) {
        const int j = shape::template butterfly_of<round()>(t);
        if (shape::exact || j < shape::butterflies)
            f(round, j);
    });
}

/*!
 * \brief The butterflies of thread t in stage S: the values x[round * radix + k] are
 * replaced.
 *
 * \param table  Shape::table_size pairs
 * \param read   reads a pair of the table
 */
template <typename Shape, int S, int Sign, typename Read>
SAR_HD void
transform_stage(cf32 (&x)[Shape::points], int t, const cf32_pair* table, Read&& read)
{
    using shape = stage_shape<Shape, S>;
    constexpr int r = shape::radix;
    constexpr bool twiddled = Sign < 0 ? S > 0 : S < Shape::stages - 1;
    for_butterflies<Shape, S>(t, [&](auto round, int j) {
        cf32 w[2 * power_pairs(r)];
        if constexpr (twiddled) {
            constexpr int count = Sign < 0 ? shape::outer : shape::inner;
            constexpr int first = Sign < 0 ? shape::forward_table : shape::inverse_table;
            const int number = Sign < 0 ? j / shape::inner : j % shape::inner;
            static_for<power_pairs(r)>([&](auto i) {
                const cf32_pair v = read(table + first + i() * count + number);
                w[2 * i()] = v.a;
                w[2 * i() + 1] = v.b;
            });
        }
        cf32 y[r];
        small_dft<r, Sign, twiddled, round() * r, 1>::run(x, y, w);
        static_for<r>([&](auto k) { x[round() * r + k()] = y[k()]; });
    });
}

//! f(value, its place) for all values of thread t in stage S.
template <typename Shape, int S, typename F>
SAR_HD void for_places(cf32 (&x)[Shape::points], int t, F&& f)
{
    using shape = stage_shape<Shape, S>;
    for_butterflies<Shape, S>(t, [&](auto round, int j) {
        const int base = shape::place(j);
        static_for<shape::radix>([&](auto k) {
            f(x[round() * shape::radix + k()], base + k() * shape::stride);
        });
    });
}

template <typename Shape, int A>
inline constexpr barrier_scope scope_after = Shape::within_warps(A)
                                                 ? barrier_scope::warp
                                                 : barrier_scope::block;

/*!
 * \brief What a block of threads does from one barrier to the next is passed to
 * Block::each(), as f(values of a thread, its number, shared memory of the line);
 * Block::sync<scope, From, To>() is the barrier. Shared memory holds complex values, or
 * with Block::in_turn real and imaginary parts one after the other in half the room.
 */
template <typename Shape, int From, int To, typename Block>
SAR_HD void exchange(Block& block)
{
    constexpr barrier_scope scope = scope_after<Shape, (From < To ? From : To)>;
    if constexpr (Block::in_turn) {
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, From>(x, t, [&](cf32& v, int at) { m.put(at, v.re); });
        });
        block.template sync<scope, From, To>();
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, To>(x, t, [&](cf32& v, int at) { v.re = m.get(at); });
        });
        block.template sync<scope, From, To>();
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, From>(x, t, [&](cf32& v, int at) { m.put(at, v.im); });
        });
        block.template sync<scope, From, To>();
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, To>(x, t, [&](cf32& v, int at) { v.im = m.get(at); });
        });
    } else {
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, From>(x, t, [&](cf32& v, int at) { m.put(at, v); });
        });
        block.template sync<scope, From, To>();
        block.each([&](cf32(&x)[Shape::points], int t, auto& m) {
            for_places<Shape, To>(x, t, [&](cf32& v, int at) { v = m.get(at); });
        });
    }
}

template <typename Shape, int S, int Sign, typename Block>
SAR_HD void stage(Block& block, const cf32_pair* table)
{
    block.each([&](cf32(&x)[Shape::points], int t, auto&) {
        transform_stage<Shape, S, Sign>(x, t, table, Block::read);
    });
}

//! exp(-j ..): samples of thread t, x[round r1 + k] = s[butterfly_of(0, t, round) + k
//! M1], to frequencies frequency(butterfly_of(last, t, round), k). With First > 0: the
//! rest of it, from after the exchange between the stages First - 1 and First.
template <typename Shape, int First = 0, typename Block>
SAR_HD void forward(Block& block, const cf32_pair* table)
{
    stage<Shape, First, -1>(block, table);
    static_for<Shape::stages - 1 - First>([&](auto s) {
        exchange<Shape, First + s(), First + s() + 1>(block);
        stage<Shape, First + s() + 1, -1>(block, table);
    });
}

//! exp(+j ..), unscaled: from where forward() ended to where it began.
template <typename Shape, typename Block>
SAR_HD void inverse(Block& block, const cf32_pair* table)
{
    constexpr int last = Shape::stages - 1;
    stage<Shape, last, 1>(block, table);
    static_for<last>([&](auto i) {
        exchange<Shape, last - i(), last - i() - 1>(block);
        stage<Shape, last - i() - 1, 1>(block, table);
    });
}

// ---- tables, made on the host in double and rounded once
// --------------------------------

template <typename Shape>
std::vector<cf32_pair> make_power_table()
{
    std::vector<cf32_pair> table(Shape::table_size, cf32_pair{ { 1, 0 }, { 1, 0 } });
    const auto fill = [&](int first, int number, int entries, int r, int k, int n) {
        for (int i = 0; i < power_count(r); ++i) {
            const long long turns = static_cast<long long>(k) * power_exponent(r, i);
            const constant_root w = root_of_unity(static_cast<int>(turns % n), n);
            cf32_pair& pair = table[first + i / 2 * entries + number];
            (i % 2 ? pair.b : pair.a) = { static_cast<float>(w.re),
                                          static_cast<float>(w.im) };
        }
    };
    for (int s = 0; s < Shape::stages; ++s) {
        const int r = Shape::radix(s);
        if (s > 0)
            for (int high = 0; high < Shape::outer(s); ++high)
                fill(Shape::forward_table(s),
                     high,
                     Shape::outer(s),
                     r,
                     -Shape::reversed(s, high),
                     Shape::outer(s) * r);
        if (s < Shape::stages - 1)
            for (int low = 0; low < Shape::inner(s); ++low)
                fill(Shape::inverse_table(s),
                     low,
                     Shape::inner(s),
                     r,
                     low,
                     Shape::inner(s) * r);
    }
    return table;
}

//! Values that a thread holds of a spectrum, rounded up to pairs.
template <typename Shape>
inline constexpr int spectrum_pairs =
    (Shape::rounds(Shape::stages - 1) * Shape::radix(Shape::stages - 1) + 1) / 2;

//! A spectrum in the order in which threads hold it: pair i of thread t at
//! [i * threads + t].
template <typename Shape>
std::vector<cf32_pair> in_block_order(const cf32* spectrum)
{
    constexpr int last = Shape::stages - 1;
    constexpr int r = Shape::radix(last);
    std::vector<cf32_pair> out(spectrum_pairs<Shape> * Shape::threads,
                               cf32_pair{ { 0, 0 }, { 0, 0 } });
    for (int t = 0; t < Shape::threads; ++t)
        for (int v = 0; v < Shape::rounds(last) * r; ++v) {
            const int j = Shape::butterfly_of(last, t, v / r);
            if (j >= Shape::butterflies(last))
                continue;
            cf32_pair& pair = out[v / 2 * Shape::threads + t];
            (v % 2 ? pair.b : pair.a) = spectrum[Shape::frequency(j, v % r)];
        }
    return out;
}

} // namespace cuda
} // namespace sar
} // namespace gr
