// SPDX-License-Identifier: GPL-3.0-or-later
//
// Flowgraphs over device_ring. Every test runs on
//   emulated   copies happen at once; a mix-up of host and device memory is noticed
//   shuffled   copies happen as late as they may, in a random order that lanes and events
//              still allow: a missing wait shows as wrong data
//   cuda       where there is a GPU; SAR_REQUIRE_GPU=1 makes its absence a failure
// Blocks under test do device copies only, which is the same code on all three.
#define BOOST_TEST_MODULE device_ring
#include "device_ring.h"
#include "guarded_work.h"
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <gnuradio/block_detail.h>
#include <gnuradio/blocks/copy.h>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/logger.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/tee.h>
#include <gnuradio/sar/to_device.h>
#include <gnuradio/sar/to_host.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

using namespace gr::sar;

namespace {

// ---- a device that does things late and in a random order
// --------------------------------

class shuffled_space final : public device_space
{
public:
    struct event final : device_event {
        std::uint64_t recorded = 0; // records enqueued so far
        std::uint64_t reached = 0;  // records executed so far
    };
    struct step {
        std::function<void()> run;
        std::function<bool()> ready;
    };

    explicit shuffled_space(device_space& memory) : d_memory(memory) {}

    std::string name() const override { return "shuffled"; }
    bool is_cuda() const override { return false; }
    int index() const override { return 0; }
    void bind_to_this_thread() override {}
    std::size_t device_granularity() const override
    {
        return d_memory.device_granularity();
    }
    std::size_t host_granularity() const override { return d_memory.host_granularity(); }
    std::unique_ptr<ring_memory> make_device_ring(std::size_t n, bool aliased) override
    {
        return d_memory.make_device_ring(n, aliased);
    }
    std::unique_ptr<ring_memory> make_host_ring(std::size_t n, bool aliased) override
    {
        return d_memory.make_host_ring(n, aliased);
    }
    void copy(void* to, const void* from, std::size_t bytes, lane l) override
    {
        ++(l == lane::upload     ? stats().uploads
           : l == lane::download ? stats().downloads
                                 : stats().device_copies);
        enqueue(l, { [=] { d_memory.copy(to, from, bytes, l); }, [] { return true; } });
    }
    std::unique_ptr<device_event> make_event() override
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_events.push_back(std::make_shared<event>());
        auto handle = std::make_unique<handle_t>();
        handle->e = d_events.back();
        return handle;
    }
    void record(device_event& e, lane l) override
    {
        // counted and enqueued at once: another thread may wait for it right away
        const std::lock_guard<std::mutex> guard(d_lock);
        auto ev = static_cast<handle_t&>(e).e;
        const std::uint64_t number = ++ev->recorded;
        enqueue_locked(l, { [=] { ev->reached = number; }, [] { return true; } });
    }
    void wait(lane l, device_event& e) override
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        auto ev = static_cast<handle_t&>(e).e;
        const std::uint64_t number = ev->recorded;
        enqueue_locked(l, { [] {}, [=] { return ev->reached >= number; } });
    }
    void host_wait(device_event& e) override
    {
        ++stats().host_waits;
        auto ev = static_cast<handle_t&>(e).e;
        const std::lock_guard<std::mutex> guard(d_lock);
        const std::uint64_t number = ev->recorded;
        while (ev->reached < number)
            if (!run_one())
                throw std::logic_error("shuffled device: a wait that never ends");
    }
    void synchronize() override
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        while (run_one())
            ;
    }
    void memory(std::size_t& f, std::size_t& t) override { d_memory.memory(f, t); }

private:
    struct handle_t final : device_event {
        std::shared_ptr<event> e;
    };

    void enqueue(lane l, step s)
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        enqueue_locked(l, std::move(s));
    }

    void enqueue_locked(lane l, step s)
    {
        d_lanes[static_cast<int>(l)].push_back(std::move(s));
        for (int n = d_random() % 8 == 0 ? d_random() % 8 : 0; n > 0; --n)
            run_one();
    }

    // Run the head of a lane chosen at random; false when all are empty or wait.
    bool run_one()
    {
        const unsigned first = d_random();
        for (unsigned k = 0; k < 3; ++k) {
            auto& steps = d_lanes[(first + k) % 3];
            if (steps.empty() || !steps.front().ready())
                continue;
            const step s = std::move(steps.front());
            steps.pop_front();
            s.run();
            return true;
        }
        return false;
    }

    device_space& d_memory;
    std::mutex d_lock;
    std::mt19937 d_random{ 1 };
    std::deque<step> d_lanes[3];
    std::vector<std::shared_ptr<event>> d_events;
};

struct device {
    std::string name;
    device_space* space;
    device_space::counters* rings; // whose counter of rings is that of the device
};

bool gpu_required()
{
    const char* v = std::getenv("SAR_REQUIRE_GPU");
    return v && *v && *v != '0';
}

const std::vector<device>& devices()
{
    static const auto* all = [] {
        auto* d = new std::vector<device>;
        d->push_back({ "emulated", &emulated_device(0), &emulated_device(0).stats() });
        d->push_back({ "shuffled",
                       new shuffled_space(emulated_device(7)),
                       &emulated_device(7).stats() });
        std::string reason;
        if (cuda_device_count(reason) > 0)
            d->push_back({ "cuda", &cuda_device(0), &cuda_device(0).stats() });
        return d;
    }();
    return *all;
}

compute_target on(device_space& space)
{
    compute_target t;
    t.kind = space.is_cuda() ? backend::cuda : backend::emulated;
    t.space = &space;
    t.description = space.name();
    return t;
}

// Run a test body once a device, and look for leaks after it.
template <typename Body>
void on_each_device(Body&& body)
{
    for (const device& d : devices()) {
        BOOST_TEST_CONTEXT("on " << d.name)
        {
            body(*d.space);
            BOOST_TEST(d.rings->rings == 0u);
            BOOST_TEST(d.rings->ring_bytes == 0u);
        }
    }
}

// ---- blocks
// ------------------------------------------------------------------------------

// Every word of every item is known: item, word, stream.
std::uint32_t word_of(std::uint64_t item, std::size_t word)
{
    return static_cast<std::uint32_t>(item * 2654435761u + word * 40503u + 17u);
}

const pmt::pmt_t tag_key = pmt::mp("n");

//! Items with known words, a tag every \p tag_every items, in chunks of a random size.
class source final : public gr::sync_block
{
public:
    source(std::size_t words, std::uint64_t items, int tag_every, int largest)
        : gr::sync_block("source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, static_cast<int>(4 * words))),
          d_words(words),
          d_items(items),
          d_tag_every(tag_every),
          d_largest(largest)
    {
    }
    int work(int n, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (d_done == d_items)
            return WORK_DONE;
        ++calls;
        if (d_largest)
            n = std::min<int>(n, 1 + d_random() % d_largest);
        n = static_cast<int>(std::min<std::uint64_t>(n, d_items - d_done));
        auto* w = static_cast<std::uint32_t*>(out[0]);
        for (int i = 0; i < n; ++i, ++d_done) {
            if (d_tag_every && d_done % d_tag_every == 0)
                add_item_tag(0, d_done, tag_key, pmt::from_uint64(d_done));
            for (std::size_t k = 0; k < d_words; ++k)
                *w++ = word_of(d_done, k);
        }
        return n;
    }

    std::uint64_t calls = 0;

private:
    const std::size_t d_words;
    const std::uint64_t d_items;
    const unsigned d_tag_every;
    const int d_largest;
    std::uint64_t d_done = 0;
    std::mt19937 d_random{ 2 };
};

//! Counts items, and those that are not item order(k) at k; keeps the tags.
class sink final : public gr::sync_block
{
public:
    using order_t = std::function<std::int64_t(std::uint64_t)>; // < 0: zeros

    sink(std::size_t words, int largest = 0, order_t order = {}, int sleep_us = 0)
        : gr::sync_block("sink",
                         gr::io_signature::make(1, 1, static_cast<int>(4 * words)),
                         gr::io_signature::make(0, 0, 0)),
          d_words(words),
          d_largest(largest),
          d_sleep_us(sleep_us),
          d_order(order ? order : [](std::uint64_t k) { return std::int64_t(k); })
    {
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        if (d_largest)
            n = std::min<int>(n, 1 + d_random() % d_largest);
        ++calls;
        const auto* w = static_cast<const std::uint32_t*>(in[0]);
        std::vector<gr::tag_t> found;
        get_tags_in_range(found, 0, nitems_read(0), nitems_read(0) + n);
        tags.insert(tags.end(), found.begin(), found.end());
        for (int i = 0; i < n; ++i, ++items) {
            const std::int64_t k = d_order(items);
            bool right = true;
            for (std::size_t word = 0; word < d_words; ++word)
                right &= *w++ == (k < 0 ? 0 : word_of(k, word));
            wrong += !right;
        }
        if (d_sleep_us)
            std::this_thread::sleep_for(std::chrono::microseconds(d_sleep_us));
        return n;
    }

    std::uint64_t calls = 0;
    std::uint64_t items = 0;
    std::uint64_t wrong = 0;
    std::vector<gr::tag_t> tags;

    //! Tags of the source that sit where they should, moved by \p shift items.
    std::size_t right_tags(std::int64_t shift = 0) const
    {
        std::set<std::uint64_t> offsets;
        for (const auto& t : tags)
            if (static_cast<std::int64_t>(t.offset) ==
                static_cast<std::int64_t>(pmt::to_uint64(t.value)) + shift)
                offsets.insert(t.offset);
        return offsets.size();
    }

private:
    const std::size_t d_words;
    const int d_largest;
    const int d_sleep_us;
    const order_t d_order;
    std::mt19937 d_random{ 3 };
};

//! A device copy of what is `delay` items back, in batches; looks at its pointers.
class dev_copy final : public gr::sync_block, public stage
{
public:
    dev_copy(device_space& space,
             std::size_t words,
             int batch,
             int delay = 0,
             int largest = 0)
        : gr::sync_block("dev_copy",
                         gr::io_signature::make(1,
                                                1,
                                                static_cast<int>(4 * words),
                                                stream_type(on(space))),
                         gr::io_signature::make(1,
                                                1,
                                                static_cast<int>(4 * words),
                                                stream_type(on(space)))),
          d_bytes(4 * words),
          d_largest(largest)
    {
        set_target(on(space));
        if (batch > 1)
            set_output_multiple(batch);
        set_history(delay + 1);
    }
    bool start() override
    {
        start_stage(*this);
        for (int side = 0; side < 2; ++side) {
            const gr::buffer_sptr b =
                side ? detail()->input(0)->buffer() : detail()->output(0);
            if (const auto* ring = dynamic_cast<device_ring*>(b.get())) {
                ++(ring->device_memory().aliased ? aliased : plain);
                if (ring->host_memory())
                    ++(ring->host_memory()->aliased ? host_aliased : host_plain);
            }
        }
        return true;
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override
    {
        return guarded(*this, [&] {
            if (fail_at && nitems_written(0) + n > fail_at)
                throw std::runtime_error("the test fails here");
            if (d_largest)
                n = std::min<int>(n, 1 + d_random() % d_largest);
            longest = std::max(longest, n);
            target().space->copy(out[0], in[0], n * d_bytes, device_space::lane::compute);
            return n;
        });
    }

    std::uint64_t fail_at = 0;
    int longest = 0;
    int aliased = 0, plain = 0, host_aliased = 0, host_plain = 0;

private:
    const std::size_t d_bytes;
    const int d_largest;
    std::mt19937 d_random{ 4 };
};

//! What to_device does, on any device.
class dev_upload final : public gr::sync_block, public stage, public writes_on_host
{
public:
    dev_upload(device_space& space, std::size_t words)
        : gr::sync_block("dev_upload",
                         gr::io_signature::make(1, 1, static_cast<int>(4 * words)),
                         gr::io_signature::make(1,
                                                1,
                                                static_cast<int>(4 * words),
                                                stream_type(on(space)))),
          d_bytes(4 * words)
    {
        set_target(on(space));
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override
    {
        return guarded(*this, [&] {
            std::memcpy(out[0], in[0], n * d_bytes);
            return n;
        });
    }

private:
    const std::size_t d_bytes;
};

//! Turns each frame of `lines` items upside down, the frame contiguous in the ring.
class dev_flip final : public gr::sync_block, public stage
{
public:
    dev_flip(device_space& space, std::size_t words, int lines)
        : gr::sync_block("dev_flip",
                         gr::io_signature::make(1,
                                                1,
                                                static_cast<int>(4 * words),
                                                stream_type(on(space))),
                         gr::io_signature::make(1,
                                                1,
                                                static_cast<int>(4 * words),
                                                stream_type(on(space)))),
          d_bytes(4 * words),
          d_lines(lines)
    {
        set_target(on(space));
        set_output_multiple(lines);
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override
    {
        return guarded(*this, [&] {
            const auto* from = static_cast<const std::byte*>(in[0]);
            auto* to = static_cast<std::byte*>(out[0]);
            for (int i = 0; i < n; ++i) {
                const int source = i / d_lines * d_lines + d_lines - 1 - i % d_lines;
                target().space->copy(to + i * d_bytes,
                                     from + source * d_bytes,
                                     d_bytes,
                                     device_space::lane::compute);
            }
            return n;
        });
    }

private:
    const std::size_t d_bytes;
    const int d_lines;
};

//! The same with its own device memory: takes lines as they come, emits when a frame is
//! in.
class dev_accumulate final : public gr::block, public stage
{
public:
    dev_accumulate(device_space& space, std::size_t words, int lines)
        : gr::block("dev_accumulate",
                    gr::io_signature::make(1,
                                           1,
                                           static_cast<int>(4 * words),
                                           stream_type(on(space))),
                    gr::io_signature::make(1,
                                           1,
                                           static_cast<int>(4 * words),
                                           stream_type(on(space)))),
          d_bytes(4 * words),
          d_lines(lines),
          d_frame(space.make_device_ring(d_bytes * lines, false))
    {
        set_target(on(space));
        set_tag_propagation_policy(TPP_DONT);
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    void forecast(int, gr_vector_int& needed) override
    {
        needed[0] = d_have < d_lines ? 1 : 0;
    }
    int general_work(int n,
                     gr_vector_int& available,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override
    {
        return guarded(*this, [&] {
            auto& space = *target().space;
            const int take = std::min(available[0], d_lines - d_have);
            if (take > 0)
                space.copy(d_frame->base + d_have * d_bytes,
                           in[0],
                           take * d_bytes,
                           device_space::lane::compute);
            d_have += take;
            consume_each(take);
            if (d_have < d_lines)
                return 0;
            const int give = std::min(n, d_lines - d_given);
            for (int i = 0; i < give; ++i)
                space.copy(static_cast<std::byte*>(out[0]) + i * d_bytes,
                           d_frame->base + (d_lines - 1 - d_given - i) * d_bytes,
                           d_bytes,
                           device_space::lane::compute);
            d_given += give;
            if (d_given == d_lines)
                d_have = d_given = 0;
            return give;
        });
    }

private:
    const std::size_t d_bytes;
    const int d_lines;
    std::unique_ptr<ring_memory> d_frame;
    int d_have = 0;
    int d_given = 0;
};

sink::order_t flipped(int lines)
{
    return [lines](std::uint64_t k) {
        return std::int64_t(k / lines * lines + lines - 1 - k % lines);
    };
}

// Run with a limit: a flowgraph that hangs must fail the test, not stop it.
void run(const gr::top_block_sptr& tb)
{
    tb->start();
    auto done = std::async(std::launch::async, [&] { tb->wait(); });
    if (done.wait_for(std::chrono::seconds(120)) != std::future_status::ready) {
        BOOST_ERROR("the flowgraph hangs");
        tb->stop();
    }
    done.wait();
}

template <typename Block, typename... Args>
std::shared_ptr<Block> make(Args&&... args)
{
    return gnuradio::make_block_sptr<Block>(std::forward<Args>(args)...);
}

//! source -> dev -> dev -> sink, checked in full.
void check_chain(device_space& space, std::size_t words, int batch, int random = 0)
{
    BOOST_TEST_CONTEXT("vlen " << words / 2 << ", batch " << batch
                               << ", random chunks of " << random)
    {
        // about 24 MiB, at least 6 batches, and at least several times round each ring
        const std::uint64_t batches =
            std::max<std::uint64_t>(6, (std::uint64_t(24) << 20) / (4 * words * batch));
        const std::uint64_t items =
            std::min<std::uint64_t>(batches, random ? 10000 : 100000) * batch;
        auto tb = gr::make_top_block("test");
        auto src = make<source>(words, items, batch, random);
        auto a = make<dev_copy>(space, words, batch, 0, batch > 1 ? 0 : random);
        auto b = make<dev_copy>(space, words, batch, 0, batch > 1 ? 0 : random);
        auto dst = make<sink>(words, random);
        tb->connect(src, 0, a, 0);
        tb->connect(a, 0, b, 0);
        tb->connect(b, 0, dst, 0);
        run(tb);
        BOOST_TEST(a->error() == "");
        BOOST_TEST(b->error() == "");
        BOOST_TEST(dst->items == items);
        BOOST_TEST(dst->wrong == 0u);
        BOOST_TEST(dst->tags.size() == items / batch);
        BOOST_TEST(dst->right_tags() == items / batch);
        BOOST_TEST(a->longest >= batch);
    }
}

} // namespace

//! GNU Radio says much at its default level.
struct quiet {
    quiet()
    {
        if (!std::getenv("SAR_TEST_LOG"))
            gr::logging::singleton().set_default_level(gr::log_level::off);
    }
};
BOOST_TEST_GLOBAL_FIXTURE(quiet);

// ---- tests
// -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(gpu_is_there_when_required)
{
    std::string reason;
    const int n = cuda_device_count(reason);
    BOOST_TEST_MESSAGE("CUDA devices: " << n << " " << reason);
    if (gpu_required())
        BOOST_TEST(n > 0);
}

BOOST_AUTO_TEST_CASE(copies_merge_when_events_run_out)
{
    auto& space = emulated_device(0);
    copies_under_way c(space);
    std::set<device_event*> events;
    for (std::uint64_t i = 0; i < 16; ++i)
        events.insert(&c.add(10 * i, 10 * i + 10));
    BOOST_TEST(events.size() == 16u);
    const device_event* second = c.newest_of(10, 20)->event;
    c.add(160, 170); // merges the two oldest: [0, 20) ends with the second
    BOOST_TEST(c.newest_of(0, 5)->event == second);
    BOOST_TEST(c.newest_of(0, 5)->number == 2u);
    BOOST_TEST(c.newest_of(0, 25)->number == 3u);
    BOOST_TEST(c.newest()->number == 17u);
    std::set<device_event*> used;
    for (std::uint64_t i = 0; i < 17; ++i)
        used.insert(c.newest_of(10 * i, 10 * i + 1)->event);
    BOOST_TEST(used.size() == 16u); // no event serves two copies
    c.complete(3);
    BOOST_TEST(!c.newest_of(0, 30));
    BOOST_TEST(c.newest_of(30, 31)->number == 4u);
    c.complete(17);
    BOOST_TEST(!c.newest());
}

BOOST_AUTO_TEST_CASE(data_and_tags_for_all_line_lengths_and_batches)
{
    on_each_device([](device_space& space) {
        for (const int vlen : { 1000, 4096, 5000, 4099, 1 })
            for (const int batch : { 1, 64, 1024 })
                check_chain(space, 2 * vlen, batch);
    });
}

BOOST_AUTO_TEST_CASE(random_chunks)
{
    on_each_device([](device_space& space) {
        for (const int vlen : { 1, 3, 1000, 4099 })
            for (const int largest : { 3, 17, 1000 })
                check_chain(space, 2 * vlen, 1, largest);
        check_chain(space, 2 * 1000, 16, 5);
    });
}

// CASES 34: pulses longer than the default stream buffer
BOOST_AUTO_TEST_CASE(long_pulses)
{
    on_each_device([](device_space& space) {
        for (const int vlen : { 1000, 8191, 8192, 10000, 1000000 })
            check_chain(space, 2 * vlen, 1);
        check_chain(space, 2 * 16001, 4); // the host ring is a plain one, too
    });
}

BOOST_AUTO_TEST_CASE(both_kinds_of_ring_are_used)
{
    // on the emulated device, whose granularity is known: 64 KiB and a page
    const auto rings = [](std::size_t words) {
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(emulated_device(0), words, 1);
        auto dst = make<sink>(words);
        tb->connect(make<source>(words, 100, 0, 0), 0, a, 0);
        tb->connect(a, 0, dst, 0);
        run(tb);
        BOOST_TEST(dst->items == 100u);
        BOOST_TEST(dst->wrong == 0u);
        return std::array<int, 4>{ a->aliased, a->plain, a->host_aliased, a->host_plain };
    };
    BOOST_TEST((rings(2 * 4096) == std::array<int, 4>{ 2, 0, 2, 0 }));
    BOOST_TEST((rings(2 * 8191) == std::array<int, 4>{ 0, 2, 2, 0 }));  // 536 MB / 34 MB
    BOOST_TEST((rings(2 * 16001) == std::array<int, 4>{ 0, 2, 1, 1 })); // see below
    // 16001 samples: 65 MB for a page. The host block's own buffer was already that
    // large.
}

BOOST_AUTO_TEST_CASE(history)
{
    on_each_device([](device_space& space) {
        for (const int delay : { 1, 5, 50, 100 })
            for (const int vlen : { 64, 1000, 4099 }) {
                BOOST_TEST_CONTEXT("delay " << delay << ", vlen " << vlen)
                {
                    const std::uint64_t items = 2000;
                    auto tb = gr::make_top_block("test");
                    const auto late = [&](int n) {
                        return [n](std::uint64_t k) { return std::int64_t(k) - n; };
                    };
                    auto a = make<dev_copy>(space, 2 * vlen, 1, delay);
                    auto b = make<dev_copy>(space, 2 * vlen, 4, delay);
                    auto dst = make<sink>(2 * vlen, 0, late(2 * delay));
                    tb->connect(make<source>(2 * vlen, items, 0, 7), 0, a, 0);
                    tb->connect(a, 0, b, 0);
                    tb->connect(b, 0, dst, 0);
                    run(tb);
                    BOOST_TEST(dst->items == items);
                    BOOST_TEST(dst->wrong == 0u);
                }
            }
    });
}

BOOST_AUTO_TEST_CASE(fan_out_to_device_readers)
{
    on_each_device([](device_space& space) {
        for (const int vlen : { 500, 1000, 4096 })
            for (const bool uploads : { false, true }) {
                const std::uint64_t items = 4000;
                auto tb = gr::make_top_block("test");
                auto src = make<source>(2 * vlen, items, 50, 0);
                gr::block_sptr first;
                if (uploads)
                    first = make<dev_upload>(space, 2 * vlen);
                else
                    first = make<dev_copy>(space, 2 * vlen, 1);
                tb->connect(src, 0, first, 0);
                std::vector<std::shared_ptr<sink>> sinks;
                for (const int batch : { 1, 5, 16 }) {
                    auto copy =
                        make<dev_copy>(space, 2 * vlen, batch, 0, batch == 1 ? 3 : 0);
                    auto dst =
                        make<sink>(2 * vlen, 9, sink::order_t{}, batch == 5 ? 50 : 0);
                    tb->connect(first, 0, copy, 0);
                    tb->connect(copy, 0, dst, 0);
                    sinks.push_back(dst);
                }
                // and two host readers of one device output
                auto second = make<sink>(2 * vlen, 11);
                auto last = make<dev_copy>(space, 2 * vlen, 1);
                auto third = make<sink>(2 * vlen, 30);
                tb->connect(first, 0, last, 0);
                tb->connect(last, 0, second, 0);
                tb->connect(last, 0, third, 0);
                sinks.push_back(second);
                sinks.push_back(third);
                run(tb);
                for (const auto& s : sinks) {
                    BOOST_TEST(s->items == items);
                    BOOST_TEST(s->wrong == 0u);
                    BOOST_TEST(s->right_tags() == items / 50);
                }
            }
    });
}

BOOST_AUTO_TEST_CASE(whole_frames)
{
    on_each_device([](device_space& space) {
        for (const int lines : { 96, 100, 1024 })
            for (const int batch : { 1, 4 }) {
                BOOST_TEST_CONTEXT(lines << " lines, batches of " << batch)
                {
                    const std::size_t words = 2 * 256;
                    const std::uint64_t items = 12 * lines;
                    auto tb = gr::make_top_block("test");
                    auto a = make<dev_copy>(space, words, batch);
                    auto flip = make<dev_flip>(space, words, lines);
                    auto acc = make<dev_accumulate>(space, words, lines);
                    auto c = make<dev_copy>(space, words, batch);
                    auto dst = make<sink>(words); // turned twice
                    auto once = make<sink>(words, 0, flipped(lines));
                    tb->connect(make<source>(words, items, 0, 50), 0, a, 0);
                    tb->connect(a, 0, flip, 0);
                    tb->connect(flip, 0, acc, 0);
                    tb->connect(acc, 0, c, 0);
                    tb->connect(c, 0, dst, 0);
                    auto branch = make<dev_accumulate>(space, words, lines);
                    tb->connect(a, 0, branch, 0);
                    tb->connect(branch, 0, once, 0);
                    run(tb);
                    BOOST_TEST(dst->items == items);
                    BOOST_TEST(dst->wrong == 0u);
                    BOOST_TEST(once->items == items);
                    BOOST_TEST(once->wrong == 0u);
                }
            }
    });
}

BOOST_AUTO_TEST_CASE(end_of_stream_in_mid_batch)
{
    on_each_device([](device_space& space) {
        // 10 items are left over: a block with batches drops them, others pass them
        const std::uint64_t items = 64 * 7 + 10;
        auto tb = gr::make_top_block("test");
        auto src = make<source>(2000, items, 1, 13);
        auto a = make<dev_copy>(space, 2000, 1);
        auto batched = make<dev_copy>(space, 2000, 64);
        auto all = make<dev_copy>(space, 2000, 1);
        auto whole = make<sink>(2000);
        auto cut = make<sink>(2000);
        tb->connect(src, 0, a, 0);
        tb->connect(a, 0, batched, 0);
        tb->connect(a, 0, all, 0);
        tb->connect(batched, 0, cut, 0);
        tb->connect(all, 0, whole, 0);
        run(tb);
        BOOST_TEST(whole->items == items);
        BOOST_TEST(whole->wrong == 0u);
        BOOST_TEST(whole->right_tags() == items);
        BOOST_TEST(cut->items == 64u * 7u);
        BOOST_TEST(cut->wrong == 0u);
    });
}

BOOST_AUTO_TEST_CASE(host_block_in_the_middle)
{
    on_each_device([](device_space& space) {
        for (const int vlen : { 512, 1000, 16001 }) {
            const std::uint64_t items = vlen > 10000 ? 300 : 3000;
            auto tb = gr::make_top_block("test");
            auto a = make<dev_copy>(space, 2 * vlen, 1);
            auto host = gr::blocks::copy::make(8 * vlen);
            auto b = make<dev_copy>(space, 2 * vlen, 1);
            auto dst = make<sink>(2 * vlen, 40);
            tb->connect(make<source>(2 * vlen, items, 10, 40), 0, a, 0);
            tb->connect(a, 0, host, 0);
            tb->connect(host, 0, b, 0);
            tb->connect(b, 0, dst, 0);
            run(tb);
            BOOST_TEST(dst->items == items);
            BOOST_TEST(dst->wrong == 0u);
            BOOST_TEST(dst->right_tags() == items / 10);
        }
    });
}

BOOST_AUTO_TEST_CASE(nobody_waits_between_device_blocks)
{
    on_each_device([](device_space& space) {
        const std::uint64_t items = 4096;
        const auto count = [&](int device_blocks) {
            auto& s = space.stats();
            const std::array<std::uint64_t, 3> before = { s.host_waits,
                                                          s.uploads,
                                                          s.downloads };
            auto tb = gr::make_top_block("test");
            auto src = make<source>(1024, items, 0, 0);
            gr::block_sptr last = src;
            for (int i = 0; i < device_blocks; ++i) {
                auto next = make<dev_copy>(space, 1024, 64);
                tb->connect(last, 0, next, 0);
                last = next;
            }
            auto dst = make<sink>(1024);
            tb->connect(last, 0, dst, 0);
            run(tb);
            BOOST_TEST(dst->items == items);
            BOOST_TEST(dst->wrong == 0u);
            // a copy that crosses the seam is two; nothing crosses but at both ends
            const auto writes = src->calls, reads = dst->calls;
            BOOST_TEST(s.uploads - before[1] > 0u);
            BOOST_TEST(s.uploads - before[1] <= 2 * writes);
            BOOST_TEST(s.downloads - before[2] > 0u);
            BOOST_TEST(s.downloads - before[2] <= 2 * (items / 64));
            BOOST_TEST(s.host_waits - before[0] <= writes + reads);
        };
        count(1);
        count(8);
    });
}

BOOST_AUTO_TEST_CASE(fifty_flowgraphs_leak_nothing)
{
    on_each_device([](device_space& space) {
        const long buffers = gr::buffer_ncurrently_allocated();
        for (int i = 0; i < 50; ++i) {
            auto tb = gr::make_top_block("test");
            auto a = make<dev_copy>(space, 128, 1);
            auto b = make<dev_copy>(space, 128, 1);
            auto dst = make<sink>(128);
            tb->connect(make<source>(128, 100, 0, 0), 0, a, 0);
            tb->connect(a, 0, b, 0);
            tb->connect(b, 0, dst, 0);
            run(tb);
            BOOST_TEST(dst->wrong == 0u);
            BOOST_TEST(dst->items == 100u);
        }
        BOOST_TEST(gr::buffer_ncurrently_allocated() == buffers);
    });
}

BOOST_AUTO_TEST_CASE(tags_do_not_pile_up)
{
    on_each_device([](device_space& space) {
        // several times what a ring holds, and that into a GPU holds 16 MiB
        const std::uint64_t items = space.is_cuda() ? 80000 : 5000;
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 1024, 1);
        auto b = make<dev_copy>(space, 1024, 1);
        auto dst = make<sink>(1024);
        tb->connect(make<source>(1024, items, 1, 0), 0, a, 0);
        tb->connect(a, 0, b, 0);
        tb->connect(b, 0, dst, 0);
        run(tb);
        BOOST_TEST(dst->right_tags() == items);
        for (const auto& buffer :
             { a->detail()->input(0)->buffer(), a->detail()->output(0) }) {
            const auto left =
                std::distance(buffer->get_tags_begin(), buffer->get_tags_end());
            BOOST_TEST(left <= 4 * static_cast<long>(buffer->bufsize()));
            BOOST_TEST(left < static_cast<long>(items) / 2);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_flowgraph_runs_again)
{
    on_each_device([](device_space& space) {
        auto tb = gr::make_top_block("test");
        auto src = make<source>(256, 1000, 0, 0);
        auto a = make<dev_copy>(space, 256, 1);
        auto dst = make<sink>(256);
        tb->connect(src, 0, a, 0);
        tb->connect(a, 0, dst, 0);
        run(tb);
        BOOST_TEST(dst->items == 1000u);
        run(tb); // the source is at its end
        BOOST_TEST(dst->items == 1000u);
        BOOST_TEST(dst->wrong == 0u);
        BOOST_TEST(a->error() == "");
    });
}

// ---- to_device, to_host, tee
// -------------------------------------------------------------

BOOST_AUTO_TEST_CASE(plumbing_blocks_do_what_the_scheduler_cannot)
{
    for (const char* where : { "emulated", "cuda", "cpu" }) {
        std::string reason;
        if (where == std::string("cuda") && cuda_device_count(reason) == 0)
            continue;
        BOOST_TEST_CONTEXT("on " << where)
        for (const int vlen : { 1, 1000, 4096, 16001 }) {
            const std::uint64_t items = vlen > 10000 ? 400 : 5000;
            const std::size_t words = 2 * vlen;
            const auto target = choose_target(backend_from_name(where));
            auto tb = gr::make_top_block("test");
            auto src = make<source>(words, items, 100, 60);
            std::vector<std::shared_ptr<sink>> sinks;
            const auto end = [&](const gr::basic_block_sptr& block, int port, int us) {
                sinks.push_back(make<sink>(words, 33, sink::order_t{}, us));
                tb->connect(block, port, sinks.back(), 0);
            };
            // one host output to host and device
            auto up = to_device::make(vlen, 8, where);
            end(src, 0, 0);
            tb->connect(src, 0, up, 0);
            // one to_device to several device blocks
            auto down = to_host::make(vlen, 8, where);
            auto split = tee::make(vlen, 8, where);
            tb->connect(up, 0, down, 0);
            tb->connect(up, 0, split, 0);
            end(down, 0, 0);
            // tee: two consumers of unequal speed (CASES 37)
            auto after = tee::make(vlen, 8, where);
            tb->connect(split, 0, after, 0);
            end(split, 1, 300);
            auto next = to_host::make(vlen, 8, where);
            tb->connect(after, 0, next, 0);
            end(next, 0, 0);
            end(after, 1, 0);
            // to_device straight to host blocks
            auto again = to_device::make(vlen, 8, where);
            tb->connect(src, 0, again, 0);
            end(again, 0, 0);
            run(tb);
            for (const auto& s : sinks) {
                BOOST_TEST(s->items == items);
                BOOST_TEST(s->wrong == 0u);
                BOOST_TEST(s->right_tags() == (items + 99) / 100);
            }
            BOOST_TEST(split->error() == "");
            BOOST_TEST(up->backend() == target.description);
        }
    }
    BOOST_TEST(emulated_device(0).stats().rings == 0u);
}

// CASES 35
BOOST_AUTO_TEST_CASE(no_block_has_unlimited_outputs)
{
    for (const char* where : { "emulated", "cpu" }) {
        const std::vector<gr::basic_block_sptr> all = { to_device::make(8, 8, where),
                                                        to_host::make(8, 8, where),
                                                        tee::make(8, 8, where) };
        for (const auto& b : all) {
            BOOST_TEST(b->output_signature()->max_streams() > 0);
            BOOST_TEST(b->input_signature()->max_streams() > 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(parameters_are_checked)
{
    const auto says = [](const std::string& part) {
        return [part](const std::exception& e) {
            return std::string(e.what()).find(part) != std::string::npos;
        };
    };
    BOOST_CHECK_EXCEPTION(
        to_device::make(0, 8, "cpu"), std::invalid_argument, says("vlen is 0"));
    BOOST_CHECK_EXCEPTION(
        to_host::make(4, 0, "cpu"), std::invalid_argument, says("itemsize is 0"));
    BOOST_CHECK_EXCEPTION(
        tee::make(1 << 28, 8, "cpu"), std::invalid_argument, says("2147483647"));
    BOOST_CHECK_EXCEPTION(
        tee::make(4, 8, "gpu"), std::invalid_argument, says("backend is 'gpu'"));
    BOOST_CHECK_EXCEPTION(
        tee::make(4, 8, "emulated", -1), std::invalid_argument, says("device is -1"));
}

// ---- what goes wrong
// ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(error_in_work_ends_the_flowgraph)
{
    on_each_device([](device_space& space) {
        for (const int batch : { 1, 16 }) {
            auto tb = gr::make_top_block("test");
            auto a = make<dev_copy>(space, 512, batch);
            auto b = make<dev_copy>(space, 512, batch);
            auto dst = make<sink>(512);
            b->fail_at = 500;
            tb->connect(make<source>(512, std::uint64_t(1) << 60, 0, 0), 0, a, 0);
            tb->connect(a, 0, b, 0);
            tb->connect(b, 0, dst, 0);
            run(tb);
            BOOST_TEST(a->error() == "");
            BOOST_TEST(b->error() == b->alias() + ": the test fails here");
            BOOST_TEST(dst->items <= 500u);
            BOOST_TEST(dst->wrong == 0u);
        }
    });
}

namespace {

//! Fails in one kind of call, at the n-th.
class failing_space final : public device_space
{
public:
    enum class call {
        none,
        upload,
        download,
        device_copy,
        host_wait,
        wait,
        record,
        host_ring
    };

    explicit failing_space(device_space& s) : d_space(s) {}
    call which = call::none;
    std::atomic<int> calls_left{ 0 };

    std::string name() const override { return "failing"; }
    bool is_cuda() const override { return false; }
    int index() const override { return 0; }
    void bind_to_this_thread() override {}
    std::size_t device_granularity() const override
    {
        return d_space.device_granularity();
    }
    std::size_t host_granularity() const override { return d_space.host_granularity(); }
    std::unique_ptr<ring_memory> make_device_ring(std::size_t n, bool aliased) override
    {
        return d_space.make_device_ring(n, aliased);
    }
    std::unique_ptr<ring_memory> make_host_ring(std::size_t n, bool aliased) override
    {
        check(call::host_ring);
        return d_space.make_host_ring(n, aliased);
    }
    void copy(void* to, const void* from, std::size_t bytes, lane l) override
    {
        check(l == lane::upload     ? call::upload
              : l == lane::download ? call::download
                                    : call::device_copy);
        d_space.copy(to, from, bytes, l);
    }
    std::unique_ptr<device_event> make_event() override { return d_space.make_event(); }
    void record(device_event& e, lane l) override
    {
        check(call::record);
        d_space.record(e, l);
    }
    void wait(lane l, device_event& e) override
    {
        check(call::wait);
        d_space.wait(l, e);
    }
    void host_wait(device_event& e) override
    {
        check(call::host_wait);
        d_space.host_wait(e);
    }
    void synchronize() override { throw std::runtime_error("the device is lost"); }
    void memory(std::size_t& f, std::size_t& t) override { d_space.memory(f, t); }

private:
    void check(call c)
    {
        if (c == which && --calls_left < 0)
            throw std::runtime_error("the device fails here");
    }
    device_space& d_space;
};

} // namespace

BOOST_AUTO_TEST_CASE(error_of_the_device_outside_work_ends_the_flowgraph)
{
    using call = failing_space::call;
    for (const call which : { call::upload,
                              call::download,
                              call::device_copy,
                              call::host_wait,
                              call::wait,
                              call::record }) {
        for (const int calls : { 0, 1, 20 }) {
            BOOST_TEST_CONTEXT("call " << static_cast<int>(which) << " fails after "
                                       << calls)
            {
                failing_space space(emulated_device(0));
                space.which = which;
                space.calls_left = calls;
                auto tb = gr::make_top_block("test");
                // an endless source, and blocks that never fail by themselves
                auto a = make<dev_copy>(space, 2 * 1000, 1);
                auto b = make<dev_copy>(space, 2 * 1000, 1);
                auto dst = make<sink>(2 * 1000);
                tb->connect(
                    make<source>(2 * 1000, std::uint64_t(1) << 60, 0, 0), 0, a, 0);
                tb->connect(a, 0, b, 0);
                tb->connect(b, 0, dst, 0);
                run(tb);
                const std::string said = a->error() + b->error();
                BOOST_TEST(said.find("the device fails here") != std::string::npos);
                BOOST_TEST(dst->wrong == 0u);
            }
        }
    }
    BOOST_TEST(emulated_device(0).stats().rings == 0u);
}

BOOST_AUTO_TEST_CASE(no_host_memory)
{
    failing_space space(emulated_device(0));
    space.which = failing_space::call::host_ring;
    { // host -> device: start() says it
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 256, 1);
        tb->connect(make<source>(256, 1000, 0, 0), 0, a, 0);
        tb->connect(a, 0, make<sink>(256), 0);
        BOOST_CHECK_THROW(tb->start(), std::runtime_error);
    }
    { // device -> host is known only once the blocks start
        space.calls_left = 1;
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 256, 1);
        auto dst = make<sink>(256);
        tb->connect(make<source>(256, std::uint64_t(1) << 60, 0, 0), 0, a, 0);
        tb->connect(a, 0, dst, 0);
        run(tb);
        BOOST_TEST(a->error() == a->alias() + ": the device fails here");
        BOOST_TEST(dst->items == 0u);
    }
}

BOOST_AUTO_TEST_CASE(wiring_that_cannot_work_is_refused)
{
    auto& space = emulated_device(0);
    const auto says = [](const std::string& part) {
        return [part](const std::exception& e) {
            BOOST_TEST_MESSAGE(e.what());
            return std::string(e.what()).find(part) != std::string::npos;
        };
    };
    { // one host output, two device blocks
        auto tb = gr::make_top_block("test");
        auto src = make<source>(256, 1000, 0, 0);
        for (int i = 0; i < 2; ++i) {
            auto a = make<dev_copy>(space, 256, 1);
            tb->connect(src, 0, a, 0);
            tb->connect(a, 0, make<sink>(256), 0);
        }
        BOOST_CHECK_EXCEPTION(tb->start(), std::runtime_error, says("to_device"));
    }
    // One host output, host and device. Blocks are visited in the order of their
    // addresses: GNU Radio itself refuses one order, and we the other.
    for (int i = 0; i < 20; ++i) {
        auto tb = gr::make_top_block("test");
        auto src = make<source>(256, 1000, 0, 0);
        std::vector<gr::basic_block_sptr> several;
        for (int k = 0; k < 5; ++k)
            several.push_back(make<sink>(256));
        auto a = make<dev_copy>(space, 256, 1);
        tb->connect(src, 0, a, 0);
        tb->connect(src, 0, several[i % 5], 0);
        tb->connect(a, 0, make<sink>(256), 0);
        BOOST_CHECK_EXCEPTION(tb->start(), std::runtime_error, [](const auto& e) {
            const std::string s = e.what();
            return s.find("to_device") != std::string::npos ||
                   s.find("Cannot change to transfer type") != std::string::npos;
        });
    }
    { // one device output, host and device
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 256, 1);
        auto b = make<dev_copy>(space, 256, 1);
        tb->connect(make<source>(256, 1000, 0, 0), 0, a, 0);
        tb->connect(a, 0, b, 0);
        tb->connect(a, 0, make<sink>(256), 0);
        tb->connect(b, 0, make<sink>(256), 0);
        BOOST_CHECK_THROW(tb->start(), std::runtime_error);
    }
    { // another device
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 256, 1);
        auto b = make<dev_copy>(emulated_device(1), 256, 1);
        auto dst = make<sink>(256);
        tb->connect(make<source>(256, std::uint64_t(1) << 60, 0, 0), 0, a, 0);
        tb->connect(a, 0, b, 0);
        tb->connect(b, 0, dst, 0);
        run(tb);
        BOOST_TEST(b->error().find("put a to_host block between") != std::string::npos);
        BOOST_TEST(dst->items == 0u);
    }
    { // to_host takes no host stream... GNU Radio makes it one all the same, or we say so
        auto tb = gr::make_top_block("test");
        auto down = to_host::make(128, 8, "emulated");
        auto dst = make<sink>(256);
        tb->connect(make<source>(256, 1000, 0, 0), 0, down, 0);
        tb->connect(down, 0, dst, 0);
        run(tb);
        BOOST_TEST(dst->items == 1000u);
        BOOST_TEST(dst->wrong == 0u);
    }
    { // ... which is all right
        auto tb = gr::make_top_block("test");
        auto a = make<dev_copy>(space, 256, 1);
        auto down = to_host::make(128, 8, "emulated");
        auto up = to_device::make(128, 8, "emulated", 1);
        auto b = make<dev_copy>(emulated_device(1), 256, 1);
        auto dst = make<sink>(256);
        tb->connect(make<source>(256, 10000, 0, 0), 0, a, 0);
        tb->connect(a, 0, down, 0);
        tb->connect(down, 0, up, 0);
        tb->connect(up, 0, b, 0);
        tb->connect(b, 0, dst, 0);
        run(tb);
        BOOST_TEST(b->error() == "");
        BOOST_TEST(dst->items == 10000u);
        BOOST_TEST(dst->wrong == 0u);
    }
}

namespace {

//! A device sink whose output signature forgets the type: GNU Radio then gives it host
//! pointers without a word.
class forgetful_sink final : public gr::sync_block, public stage
{
public:
    explicit forgetful_sink(device_space& space)
        : gr::sync_block("forgetful_sink",
                         gr::io_signature::make(1, 1, 1024, stream_type(on(space))),
                         gr::io_signature::make(0, 0, 0))
    {
        set_target(on(space));
    }
    bool start() override
    {
        start_stage(*this);
        return true;
    }
    int work(int n, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return guarded(*this, [&] {
            items += n;
            return n;
        });
    }
    std::uint64_t items = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(host_memory_where_device_memory_is_expected)
{
    auto tb = gr::make_top_block("test");
    auto dst = make<forgetful_sink>(emulated_device(0));
    tb->connect(make<source>(256, std::uint64_t(1) << 60, 0, 0), 0, dst, 0);
    run(tb);
    BOOST_TEST(dst->error().find("needs a stream in device memory") != std::string::npos);
    BOOST_TEST(dst->items == 0u);
}
