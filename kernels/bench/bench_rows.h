// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace gr {
namespace sar {
namespace bench {

//! One measured time. Rows of the same workload, size and device are put side by side.
struct bench_row {
    std::string
        workload;       //!< "pulse compression", "range-Doppler", "back-projection", ...
    std::string size;   //!< "4096 x 4096"
    std::string who;    //!< "gr-sar", or the peer
    std::string device; //!< "cuda" or "cpu"
    double ms = 0;      //!< time of all of it
    double error_db = NAN; //!< of the result, against double precision; NaN: not known
    double work = 0;       //!< pulse-pixels, for a rate; 0: none
};

/*!
 * \brief Add \p row to the file that SAR_BENCH_ROWS names, a line of JSON, for ./dev
 * bench.
 *
 * Without that variable nothing happens. A result that failed its accuracy gate must not
 * come here with a time: give ms 0, and the table says so.
 */
inline void put_row(const bench_row& row)
{
    const char* name = std::getenv("SAR_BENCH_ROWS");
    if (!name || !*name)
        return;
    std::FILE* f = std::fopen(name, "a");
    if (!f) {
        std::fprintf(stderr, "cannot write to %s, which SAR_BENCH_ROWS names\n", name);
        return;
    }
    std::fprintf(f,
                 "{\"workload\": \"%s\", \"size\": \"%s\", \"who\": \"%s\", \"device\": "
                 "\"%s\", \"ms\": %.6g",
                 row.workload.c_str(),
                 row.size.c_str(),
                 row.who.c_str(),
                 row.device.c_str(),
                 row.ms);
    if (std::isfinite(row.error_db))
        std::fprintf(f, ", \"error_db\": %.1f", row.error_db);
    if (row.work > 0)
        std::fprintf(f, ", \"work\": %.6g", row.work);
    std::fprintf(f, "}\n");
    std::fclose(f);
}

} // namespace bench
} // namespace sar
} // namespace gr
