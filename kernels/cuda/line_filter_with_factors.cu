// SPDX-License-Identifier: GPL-3.0-or-later
// Apart from line_filter.cu since the two take a while to compile.
#include "line_filter.cuh"

namespace gr {
namespace sar {
namespace cuda {

std::unique_ptr<line_filter> line_filter::make_with_factors(const cf32* spectrum,
                                                            const cf32* before,
                                                            const cf32* after,
                                                            int length,
                                                            int samples_in,
                                                            int samples_out,
                                                            int parts)
{
    return make_fitting_filter<true>(
        spectrum, length, samples_in, samples_out, { before, after, parts });
}

} // namespace cuda
} // namespace sar
} // namespace gr
