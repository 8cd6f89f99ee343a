// SPDX-License-Identifier: GPL-3.0-or-later
//
// Memory, copies and order of the devices: the emulated one, and CUDA where there is a
// GPU (SAR_REQUIRE_GPU=1 makes its absence a failure).
#define BOOST_TEST_MODULE device_space
#include "backend.h"
#include "device_space.h"
#include "host_ring.h"
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

using namespace gr::sar;
using lane = device_space::lane;

namespace {

auto says(const std::string& part)
{
    return [part](const std::exception& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string(e.what()).find(part) != std::string::npos;
    };
}

template <typename Body>
void on_each_device(Body&& body)
{
    std::vector<device_space*> all = { &emulated_device(0) };
    std::string reason;
    if (cuda_device_count(reason) > 0)
        all.push_back(&cuda_device(0));
    else
        BOOST_TEST_MESSAGE("no CUDA: " << reason);
    for (device_space* space : all) {
        BOOST_TEST_CONTEXT("on " << space->name())
        {
            body(*space);
            BOOST_TEST(space->stats().rings == 0u);
            BOOST_TEST(space->stats().ring_bytes == 0u);
        }
    }
}

std::vector<std::byte> noise(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<std::byte> v(n);
    for (auto& b : v)
        b = static_cast<std::byte>(random());
    return v;
}

bool equal(const std::byte* a, const std::byte* b, std::size_t n)
{
    return std::memcmp(a, b, n) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(gpu_is_there_when_required)
{
    std::string reason;
    const char* required = std::getenv("SAR_REQUIRE_GPU");
    if (required && *required && *required != '0')
        BOOST_REQUIRE_MESSAGE(cuda_device_count(reason) > 0, reason);
}

BOOST_AUTO_TEST_CASE(host_rings)
{
    const std::size_t n = 64 * 1024;
    for (const bool aliased : { true, false }) {
        const auto r = make_plain_host_ring(n, aliased);
        BOOST_TEST(r->bytes == n);
        BOOST_TEST(r->aliased == aliased);
        BOOST_TEST(std::all_of(
            r->base, r->base + 2 * n, [](std::byte b) { return b == std::byte(0); }));
        r->base[5] = std::byte(42);
        BOOST_TEST((r->base[n + 5] == std::byte(aliased ? 42 : 0)));
        r->base[2 * n - 1] = std::byte(43);
        BOOST_TEST((r->base[n - 1] == std::byte(aliased ? 43 : 0)));
    }
    BOOST_CHECK_EXCEPTION(make_plain_host_ring(std::size_t(1) << 50, false),
                          std::runtime_error,
                          says("2251799813685248 bytes failed")); // both halves
    // not a multiple of a page cannot be mapped twice
    BOOST_CHECK_THROW(make_plain_host_ring(1000, true), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(rings_start_as_zeros)
{
    on_each_device([](device_space& space) {
        for (const bool aliased : { true, false }) {
            const std::size_t g = space.device_granularity();
            if (aliased && g == 0)
                continue;
            const std::size_t n = aliased ? g : 12345;
            const auto device = space.make_device_ring(n, aliased);
            const auto host = space.make_host_ring(2 * n, false);
            BOOST_TEST(space.stats().rings == 2u);
            BOOST_TEST(space.stats().ring_bytes == 3 * n);
            std::fill_n(host->base, 2 * n, std::byte(1));
            space.copy(host->base, device->base, 2 * n, lane::download);
            space.synchronize();
            BOOST_TEST(std::all_of(host->base, host->base + 2 * n, [](std::byte b) {
                return b == std::byte(0);
            }));
        }
    });
}

BOOST_AUTO_TEST_CASE(around_the_seam_and_back)
{
    on_each_device([](device_space& space) {
        for (const bool aliased : { true, false }) {
            if (aliased && space.device_granularity() == 0)
                continue;
            const std::size_t n = aliased ? space.device_granularity() : 100000;
            const auto in = space.make_host_ring(n, n % space.host_granularity() == 0);
            const auto a = space.make_device_ring(n, aliased);
            const auto b = space.make_device_ring(n, aliased);
            const auto out = space.make_host_ring(n, n % space.host_granularity() == 0);
            const auto uploaded = space.make_event();
            const auto computed = space.make_event();
            const auto downloaded = space.make_event();
            for (unsigned round = 0; round < 20; ++round) {
                const auto data = noise(n / 2, round);
                std::copy(data.begin(), data.end(), in->base);
                const std::size_t at =
                    n - 1 - round * n / 40; // most rounds cross the seam
                space.copy(a->base + at, in->base, n / 2, lane::upload);
                space.record(*uploaded, lane::upload);
                space.wait(lane::compute, *uploaded);
                space.copy(b->base + at, a->base + at, n / 2, lane::compute);
                space.record(*computed, lane::compute);
                space.wait(lane::download, *computed);
                // an aliased ring shows at 0 what was written at n
                const std::size_t spill = at + n / 2 > n ? at + n / 2 - n : 0;
                const std::size_t head = n / 2 - spill;
                space.copy(out->base, b->base + at, head, lane::download);
                if (spill)
                    space.copy(out->base + head,
                               aliased ? b->base : b->base + n,
                               spill,
                               lane::download);
                space.record(*downloaded, lane::download);
                space.host_wait(*downloaded);
                BOOST_TEST(equal(out->base, data.data(), n / 2));
            }
        }
    });
}

// the upload lane also copies within the device: a plain ring is mirrored there
BOOST_AUTO_TEST_CASE(upload_lane_copies_within_the_device)
{
    on_each_device([](device_space& space) {
        const std::size_t n = 10000;
        const auto host = space.make_host_ring(2 * n, false);
        const auto ring = space.make_device_ring(n, false);
        const auto data = noise(n, 1);
        std::copy(data.begin(), data.end(), host->base);
        space.copy(ring->base, host->base, n, lane::upload);
        space.copy(ring->base + n, ring->base, n, lane::upload);
        space.synchronize();
        space.copy(host->base, ring->base, 2 * n, lane::download);
        space.synchronize();
        BOOST_TEST(equal(host->base, data.data(), n));
        BOOST_TEST(equal(host->base + n, data.data(), n));
    });
}

BOOST_AUTO_TEST_CASE(a_ring_that_is_too_large)
{
    on_each_device([](device_space& space) {
        const std::size_t n = std::size_t(1) << 47;
        BOOST_CHECK_THROW(space.make_device_ring(n, false), std::runtime_error);
        BOOST_CHECK_THROW(space.make_host_ring(n, false), std::runtime_error);
        if (space.is_cuda() && space.device_granularity()) {
            const std::size_t terabyte = std::size_t(1) << 40;
            BOOST_CHECK_EXCEPTION(space.make_device_ring(terabyte, true),
                                  std::runtime_error,
                                  says("memory"));
        }
        // and the device works on
        const auto ring = space.make_device_ring(1000, false);
        space.copy(ring->base + 1000, ring->base, 1000, lane::compute);
        space.synchronize();
    });
}

BOOST_AUTO_TEST_CASE(counters)
{
    on_each_device([](device_space& space) {
        auto& s = space.stats();
        const auto waits = s.host_waits.load(), up = s.uploads.load(),
                   down = s.downloads.load(), within = s.device_copies.load();
        const auto host = space.make_host_ring(4096, false);
        const auto ring = space.make_device_ring(4096, false);
        const auto e = space.make_event();
        space.copy(ring->base, host->base, 16, lane::upload);
        space.copy(ring->base + 16, ring->base, 16, lane::compute);
        space.copy(host->base, ring->base, 16, lane::download);
        space.record(*e, lane::download);
        space.wait(lane::compute, *e);
        BOOST_TEST(s.host_waits - waits == 0u);
        space.host_wait(*e);
        BOOST_TEST(s.host_waits - waits == 1u);
        BOOST_TEST(s.uploads - up == 1u);
        BOOST_TEST(s.downloads - down == 1u);
        BOOST_TEST(s.device_copies - within == 1u);
        std::size_t free_bytes = 0, total_bytes = 0;
        space.memory(free_bytes, total_bytes);
        BOOST_TEST(free_bytes > 0u);
        BOOST_TEST(free_bytes <= total_bytes);
        space.synchronize();
    });
}

BOOST_AUTO_TEST_CASE(emulated_devices_are_separate)
{
    BOOST_TEST(&emulated_device(0) == &emulated_device(0));
    BOOST_TEST(&emulated_device(0) != &emulated_device(1));
    const auto ring = emulated_device(1).make_device_ring(100, false);
    BOOST_TEST(emulated_device(0).stats().rings == 0u);
    BOOST_TEST(emulated_device(1).stats().rings == 1u);
}

BOOST_AUTO_TEST_CASE(emulated_device_notices_a_mix_up)
{
    auto& space = emulated_device(0);
    const std::size_t n = 64 * 1024;
    const auto host = space.make_host_ring(n, true);
    const auto device = space.make_device_ring(n, true);
    const auto mixed = says("mixes up");
    const auto leaves = says("leaves");
    const auto copy = [&](void* to, const void* from, std::size_t bytes, lane l) {
        return [=, &space] { space.copy(to, from, bytes, l); };
    };
    std::byte *h = host->base, *d = device->base;
    BOOST_CHECK_EXCEPTION(copy(h, h + 16, 16, lane::upload)(), std::runtime_error, mixed);
    BOOST_CHECK_EXCEPTION(copy(d, h, 16, lane::compute)(), std::runtime_error, mixed);
    BOOST_CHECK_EXCEPTION(copy(h, d, 16, lane::compute)(), std::runtime_error, mixed);
    BOOST_CHECK_EXCEPTION(
        copy(d, d + 16, 16, lane::download)(), std::runtime_error, mixed);
    BOOST_CHECK_EXCEPTION(
        copy(h, h + 16, 16, lane::download)(), std::runtime_error, mixed);
    // only the first mapping of a host ring is page locked
    BOOST_CHECK_EXCEPTION(
        copy(d, h + n - 8, 16, lane::upload)(), std::runtime_error, leaves);
    BOOST_CHECK_EXCEPTION(copy(d, h + n, 16, lane::upload)(), std::runtime_error, leaves);
    BOOST_CHECK_EXCEPTION(
        copy(d + 2 * n - 8, h, 16, lane::upload)(), std::runtime_error, leaves);
    BOOST_CHECK_NO_THROW(copy(d + n - 8, h, 16, lane::upload)());
    // memory of a stage counts as neither
    std::vector<std::byte> own(16);
    BOOST_CHECK_NO_THROW(copy(d, own.data(), 16, lane::compute)());
    BOOST_CHECK_NO_THROW(copy(own.data(), d, 16, lane::compute)());
    BOOST_CHECK_NO_THROW(copy(d, own.data(), 16, lane::upload)());

    // what was copied across is spoiled where it came from
    h[100] = std::byte(7);
    copy(d + 100, h + 100, 1, lane::upload)();
    BOOST_TEST((d[100] == std::byte(7)));
    BOOST_TEST((h[100] != std::byte(7)));
    copy(h + 200, d + 100, 1, lane::download)();
    BOOST_TEST((h[200] == std::byte(7)));
    BOOST_TEST((d[100] != std::byte(7)));
}

BOOST_AUTO_TEST_CASE(choosing_a_backend)
{
    std::string reason;
    const int gpus = cuda_device_count(reason);
    BOOST_TEST((gpus > 0 || !reason.empty()));
    BOOST_TEST(choose_target(backend::cpu).description == "cpu");
    BOOST_TEST(choose_target(backend::cpu).space == nullptr);
    BOOST_TEST(choose_target(backend::emulated, 3).space == &emulated_device(3));
    const compute_target t = choose_target(backend::automatic);
    BOOST_TEST((t.kind == (gpus > 0 ? backend::cuda : backend::cpu)));
    if (gpus == 0) {
        BOOST_TEST(t.description == "cpu (" + reason + ")");
        BOOST_CHECK_EXCEPTION(
            choose_target(backend::cuda), std::runtime_error, says(reason));
    } else {
        BOOST_TEST(t.space == &cuda_device(0));
    }
    BOOST_CHECK_EXCEPTION(
        choose_target(backend::cuda, 1000), std::runtime_error, says("cuda"));
    BOOST_CHECK_EXCEPTION(
        choose_target(backend::cpu, -1), std::invalid_argument, says("device is -1"));
    BOOST_CHECK_EXCEPTION(backend_from_name("gpu"),
                          std::invalid_argument,
                          says("auto, cpu, cuda, emulated"));
}
