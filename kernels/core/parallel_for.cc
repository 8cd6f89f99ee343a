// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel_for.h"
#include "errors.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <sched.h>
#include <thread>

namespace gr {
namespace sar {

namespace {

int processors()
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return std::max(1, CPU_COUNT(&set));
    return std::max(1u, std::thread::hardware_concurrency());
}

int threads_of_environment()
{
    for (const char* name : { "SAR_NUM_THREADS", "OMP_NUM_THREADS" })
        if (const char* text = std::getenv(name)) {
            const int n = std::atoi(text);
            if (n >= 1)
                return std::min(n, 1024);
        }
    return processors();
}

std::atomic<int>& thread_limit()
{
    static std::atomic<int> n{ threads_of_environment() };
    return n;
}

//! A call of parallel_for.
struct job {
    job(int n, const std::function<void(int, int)>& b, int limit)
        : count(n), most(limit), body(b)
    {
    }
    const int count;
    const int most; // threads that may take part
    const std::function<void(int, int)>& body;
    std::atomic<int> next{ 0 };
    int joined = 1;  // threads that took part, the caller first; under the pool's lock
    int working = 0; // helpers that have not left; likewise
    std::mutex error_lock;
    std::exception_ptr error;

    bool has_work() const { return next.load(std::memory_order_relaxed) < count; }
    void work(int thread)
    {
        for (int i; (i = next.fetch_add(1)) < count;) {
            try {
                body(i, thread);
            } catch (...) {
                const std::lock_guard<std::mutex> guard(error_lock);
                if (!error)
                    error = std::current_exception();
            }
        }
    }
};

//! The threads of the process that help callers. Never destroyed: at exit a flowgraph may
//! still run, and sleeping threads do not hold a process up.
class pool
{
public:
    void run(job& j)
    {
        {
            const std::lock_guard<std::mutex> guard(d_lock);
            const int helpers = std::min(j.most, j.count) - 1;
            for (; d_threads < helpers; ++d_threads)
                std::thread([this] { help(); }).detach();
            d_jobs.push_back(&j);
        }
        d_wake.notify_all();
        j.work(0);
        std::unique_lock<std::mutex> guard(d_lock);
        d_jobs.erase(std::find(d_jobs.begin(), d_jobs.end(), &j));
        d_left.wait(guard, [&] { return j.working == 0; });
    }

private:
    job* open_job()
    {
        for (job* j : d_jobs)
            if (j->joined < j->most && j->has_work())
                return j;
        return nullptr;
    }

    void help()
    {
        std::unique_lock<std::mutex> guard(d_lock);
        for (;;) {
            job* j = nullptr;
            d_wake.wait(guard, [&] { return (j = open_job()) != nullptr; });
            const int thread = j->joined++;
            ++j->working;
            guard.unlock();
            j->work(thread);
            guard.lock();
            if (--j->working == 0)
                d_left.notify_all();
        }
    }

    std::mutex d_lock;
    std::condition_variable d_wake; // a job came
    std::condition_variable d_left; // a helper left a job
    std::deque<job*> d_jobs;        // oldest first
    int d_threads = 0;
};

} // namespace

int max_threads() { return thread_limit(); }

void set_max_threads(int threads)
{
    require(
        threads >= 1 && threads <= 1024, "threads is ", threads, "; expected 1 to 1024");
    thread_limit() = threads;
}

void parallel_for(int n, const std::function<void(int, int)>& body)
{
    job j(n, body, max_threads());
    if (n > 1 && j.most > 1) {
        static pool& all = *new pool;
        all.run(j);
    } else {
        j.work(0);
    }
    if (j.error)
        std::rethrow_exception(j.error);
}

} // namespace sar
} // namespace gr
