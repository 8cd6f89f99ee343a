// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <exception>
#include <mutex>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace gr {
namespace sar {

//! Threads that parallel_for uses at most (OMP_NUM_THREADS is honoured).
inline int max_threads()
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/*!
 * \brief Run body(i, thread) for i = 0 .. n-1 on all cores; thread < max_threads().
 *
 * The first exception stops nothing that runs already and is thrown again at the end.
 */
template <typename Body>
void parallel_for(int n, Body&& body)
{
    std::exception_ptr error;
    std::mutex error_lock;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
    for (int i = 0; i < n; ++i) {
        try {
#ifdef _OPENMP
            body(i, omp_get_thread_num());
#else
            body(i, 0);
#endif
        } catch (...) {
            const std::lock_guard<std::mutex> guard(error_lock);
            if (!error)
                error = std::current_exception();
        }
    }
    if (error)
        std::rethrow_exception(error);
}

} // namespace sar
} // namespace gr
