// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_filter.cuh"

namespace gr {
namespace sar {
namespace cuda {

std::unique_ptr<line_filter>
line_filter::make(const cf32* spectrum, int length, int samples_in, int samples_out)
{
    return make_fitting_filter<false>(spectrum, length, samples_in, samples_out, {});
}

} // namespace cuda
} // namespace sar
} // namespace gr
