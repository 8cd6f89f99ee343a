// SPDX-License-Identifier: GPL-3.0-or-later
#include "fused_rows.cuh"

namespace gr {
namespace sar {
namespace kernel {

std::unique_ptr<row_kernel> make_fine_row_kernel(int length, const cf32* spectrum)
{
    using cuda::block_shape;
    constexpr row_grid fine = row_grid::fine;
    constexpr row_grid halves = row_grid::fine_in_halves;
    static constexpr row_kernel_maker makers[] = {
        row_kernel_of<block_shape<64, 8, 8, 8>, fine, 8>::make,
        row_kernel_of<block_shape<96, 12, 8, 8>, fine, 6>::make,
        row_kernel_of<block_shape<64, 16, 8, 8>, fine, 8>::make,
        row_kernel_of<block_shape<96, 12, 12, 8>, fine, 6>::make,
        row_kernel_of<block_shape<64, 20, 8, 8>, fine, 7>::make,
        row_kernel_of<block_shape<64, 24, 8, 8>, fine, 7>::make,
        row_kernel_of<block_shape<128, 8, 16, 16>, fine, 6>::make,
        row_kernel_of<block_shape<96, 24, 12, 8>, fine, 5>::make,
        row_kernel_of<block_shape<160, 10, 16, 16>, fine, 4>::make,
        row_kernel_of<block_shape<256, 12, 16, 16>, fine, 3>::make,
        row_kernel_of<block_shape<256, 16, 16, 16>, fine, 3>::make,
        row_kernel_of<block_shape<288, 18, 16, 16>, fine, 3>::make,
        row_kernel_of<block_shape<320, 20, 16, 16>, fine, 2>::make,
        row_kernel_of<block_shape<384, 24, 16, 16>, fine, 2>::make,
        row_kernel_of<block_shape<256, 16, 16, 32>, halves, 2>::make,
        row_kernel_of<block_shape<384, 24, 16, 24>, fine, 1>::make,
        row_kernel_of<block_shape<512, 20, 8, 8, 8>, fine, 1>::make,
        row_kernel_of<block_shape<256, 48, 16, 16>, halves, 1>::make,
        row_kernel_of<block_shape<512, 32, 16, 32>, halves, 1>::make,
        row_kernel_of<block_shape<384, 48, 24, 16>, halves, 1>::make,
    };
    return first_row_kernel_of(makers, length, spectrum);
}

} // namespace kernel
} // namespace sar
} // namespace gr
