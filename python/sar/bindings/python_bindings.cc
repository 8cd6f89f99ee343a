// SPDX-License-Identifier: GPL-3.0-or-later
#include <pybind11/pybind11.h>

#include "bind_all.h"

void bind_core(pybind11::module& m);
void bind_range_doppler(pybind11::module& m);

PYBIND11_MODULE(sar_python, m)
{
    // base classes of the blocks: import gr first, so that `from gnuradio import sar`
    // alone works
    pybind11::module::import("gnuradio.gr");
    bind_core(m);
    bind_range_doppler(m);
    bind_all_blocks(m);
}
