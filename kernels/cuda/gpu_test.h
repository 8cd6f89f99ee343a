// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// For qa_X_gpu.cc: the main program of a twin test, and lines in device memory. Include
// instead of Boost.Test's own header, once in a program.

#define BOOST_TEST_NO_MAIN
#include "../core/backend.h"
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace gr {
namespace sar {
namespace gpu_test {

//! Values in device memory, by way of the device_space: no CUDA header is needed here.
template <typename T>
class device_values
{
public:
    device_values(device_space& space, std::size_t n)
        : d_space(space), d_size(n), d_ring(space.make_device_ring(n * sizeof(T), false))
    {
    }
    device_values(device_space& space, const std::vector<T>& host)
        : device_values(space, host.size())
    {
        d_space.copy(data(), host.data(), d_size * sizeof(T), device_space::lane::upload);
        d_space.synchronize();
    }
    T* data() { return reinterpret_cast<T*>(d_ring->base); }
    std::vector<T> host()
    {
        std::vector<T> v(d_size);
        d_space.synchronize();
        d_space.copy(v.data(), data(), d_size * sizeof(T), device_space::lane::download);
        d_space.synchronize();
        return v;
    }

private:
    device_space& d_space;
    std::size_t d_size;
    std::unique_ptr<ring_memory> d_ring;
};

} // namespace gpu_test
} // namespace sar
} // namespace gr

//! 77 is CTest's "skipped"; with SAR_REQUIRE_GPU set a missing GPU is a failure.
int main(int argc, char* argv[])
{
    std::string reason;
    if (gr::sar::cuda_device_count(reason) == 0) {
        std::cout << "skipped: " << reason << std::endl;
        const char* required = std::getenv("SAR_REQUIRE_GPU");
        return required && *required && *required != '0' ? 1 : 77;
    }
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
