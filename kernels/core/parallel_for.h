// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include <functional>

namespace gr {
namespace sar {

/*!
 * \brief Threads that parallel_for uses at most: the processors this process may run on,
 * or the environment's SAR_NUM_THREADS, or OMP_NUM_THREADS.
 */
SAR_KERNEL_API int max_threads();

//! Change max_threads(), 1 or more; for tests and for programs that share a machine.
SAR_KERNEL_API void set_max_threads(int threads);

/*!
 * \brief Run body(i, thread) for i = 0 .. n-1 on all cores; thread < max_threads(), and
 * no two run at a time with the same one in a call.
 *
 * All blocks of a process share one set of threads, which sleep while there is nothing to
 * do: a flowgraph has a thread for each block already, and a team of spinning threads for
 * each of those would stand in its way. The calling thread works too and never waits for
 * a thread that has not begun, so calls may come from many threads at once and from
 * within each other.
 *
 * The first exception stops nothing that runs already and is thrown again at the end.
 */
SAR_KERNEL_API void parallel_for(int n, const std::function<void(int, int)>& body);

} // namespace sar
} // namespace gr
