// SPDX-License-Identifier: GPL-3.0-or-later
#include "fused_rows.cuh"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<row_kernel> make_sample_row_kernel(int length, const cf32* spectrum)
{
    using cuda::block_shape;
    constexpr row_grid samples = row_grid::samples;
    static constexpr row_kernel_maker makers[] = {
        row_kernel_of<block_shape<64, 8, 8, 8>, samples, 8>::make,
        row_kernel_of<block_shape<96, 12, 8, 8>, samples, 6>::make,
        row_kernel_of<block_shape<64, 16, 8, 8>, samples, 8>::make,
        row_kernel_of<block_shape<96, 12, 12, 8>, samples, 6>::make,
        row_kernel_of<block_shape<64, 20, 8, 8>, samples, 7>::make,
        row_kernel_of<block_shape<64, 24, 8, 8>, samples, 7>::make,
        row_kernel_of<block_shape<128, 8, 16, 16>, samples, 6>::make,
        row_kernel_of<block_shape<96, 24, 12, 8>, samples, 5>::make,
        row_kernel_of<block_shape<160, 10, 16, 16>, samples, 4>::make,
        row_kernel_of<block_shape<256, 12, 16, 16>, samples, 3>::make,
        row_kernel_of<block_shape<256, 16, 16, 16>, samples, 3>::make,
        row_kernel_of<block_shape<288, 18, 16, 16>, samples, 3>::make,
        row_kernel_of<block_shape<320, 20, 16, 16>, samples, 2>::make,
        row_kernel_of<block_shape<384, 16, 24, 16>, samples, 2>::make,
        row_kernel_of<block_shape<256, 16, 16, 32>, samples, 2>::make,
        row_kernel_of<block_shape<384, 24, 16, 24>, samples, 1>::make,
        row_kernel_of<block_shape<512, 20, 8, 8, 8>, samples, 1>::make,
        row_kernel_of<block_shape<256, 48, 16, 16>, samples, 1>::make,
        row_kernel_of<block_shape<512, 32, 16, 32>, samples, 1>::make,
        row_kernel_of<block_shape<384, 48, 24, 16>, samples, 1>::make,
    };
    return first_row_kernel_of(makers, length, spectrum);
}

} // namespace kernel
} // namespace sar
} // namespace gr
