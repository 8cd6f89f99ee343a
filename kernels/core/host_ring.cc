// SPDX-License-Identifier: GPL-3.0-or-later
#include "host_ring.h"
#include "errors.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace gr {
namespace sar {

namespace {

[[noreturn]] void fail(const char* call, std::size_t bytes)
{
    const int code = errno;
    throw std::runtime_error(
        sentence(call, " of a ring of ", bytes, " bytes failed: ", std::strerror(code)));
}

struct mapped_ring final : ring_memory {
    mapped_ring(std::size_t n, bool alias)
    {
        bytes = n;
        aliased = alias;
        // reserve both halves, then lay the memory over the reservation
        void* p = mmap(nullptr,
                       2 * n,
                       alias ? PROT_NONE : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | (alias ? MAP_NORESERVE : 0),
                       -1,
                       0);
        if (p == MAP_FAILED)
            fail("mmap", 2 * n);
        base = static_cast<std::byte*>(p);
        if (!alias)
            return;
        const int fd = memfd_create("gr-sar ring", MFD_CLOEXEC);
        bool ok = fd >= 0 && ftruncate(fd, static_cast<off_t>(n)) == 0;
        for (std::size_t half = 0; half < 2 && ok; ++half)
            ok = mmap(base + half * n,
                      n,
                      PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED,
                      fd,
                      0) != MAP_FAILED;
        const int code = errno;
        if (fd >= 0)
            close(fd);
        if (!ok) {
            munmap(base, 2 * n);
            errno = code;
            fail("mapping twice", n);
        }
    }
    ~mapped_ring() override { munmap(base, 2 * bytes); }
};

} // namespace

std::unique_ptr<ring_memory> make_plain_host_ring(std::size_t bytes, bool aliased)
{
    return std::make_unique<mapped_ring>(bytes, aliased);
}

} // namespace sar
} // namespace gr
