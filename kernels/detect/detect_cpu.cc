// SPDX-License-Identifier: GPL-3.0-or-later
#include "../core/names.h"
#include "../core/parallel_for.h"
#include "detect.h"
#include <algorithm>
#include <atomic>
#include <vector>

namespace gr {
namespace sar {
namespace kernel {

namespace {
const name_table<detected_quantity, 3> quantities = {
    "quantity",
    { { { detected_quantity::magnitude, "magnitude" },
        { detected_quantity::power, "power" },
        { detected_quantity::db, "db" } } }
};
} // namespace

detected_quantity detected_quantity_from_name(const std::string& name)
{
    return quantities.from_name(name);
}
std::string to_string(detected_quantity q) { return quantities.to_name(q); }

detect::detect(const detect_params& params) : d_params(params)
{
    require(params.cols >= 1,
            "cols is ",
            params.cols,
            "; expected the number of pixels in a row, 1 or more");
    require(params.row_looks >= 1,
            "row_looks is ",
            params.row_looks,
            "; expected 1 or more rows to average");
    require(params.col_looks >= 1 && params.cols % params.col_looks == 0,
            "col_looks is ",
            params.col_looks,
            "; expected 1 or more columns to average, and a divisor of cols, ",
            params.cols);
    require(static_cast<double>(params.row_looks) * params.col_looks < 1 << 30,
            "row_looks * col_looks is ",
            static_cast<double>(params.row_looks) * params.col_looks,
            "; expected less than 2^30 pixels in a look");
}

int detect::rows_written_by(int rows, bool end_of_image) const
{
    const int all = d_filled + rows;
    return all / d_params.row_looks + (end_of_image && all % d_params.row_looks ? 1 : 0);
}

int detect::process(const cf32* in, int rows, float* out, bool end_of_image)
{
    const int looks = d_params.row_looks;
    int written = 0;
    const auto out_row = [&] {
        return out + static_cast<std::size_t>(written) * cols_out();
    };
    while (rows > 0) {
        int taken;
        if (d_filled == 0 && rows >= looks) {
            const int n = rows / looks;
            whole_looks(in, out_row(), n);
            written += n;
            taken = n * looks;
        } else {
            taken = std::min(rows, looks - d_filled);
            part_of_look(in, taken, d_filled == 0);
            d_filled += taken;
            if (d_filled == looks) {
                finish_look(out_row(), looks);
                ++written;
                d_filled = 0;
            }
        }
        in += static_cast<std::size_t>(taken) * cols_in();
        rows -= taken;
    }
    if (end_of_image && d_filled > 0) {
        finish_look(out_row(), d_filled);
        ++written;
        d_filled = 0;
    }
    return written;
}

namespace {

class detect_cpu final : public detect
{
public:
    explicit detect_cpu(const detect_params& params) : detect(params), d_kept(cols_out())
    {
    }

    std::uint64_t bad_pixels() const override { return d_bad_pixels; }

protected:
    void whole_looks(const cf32* in, float* out, int rows_out) override
    {
        const std::size_t look = static_cast<std::size_t>(d_params.row_looks) * cols_in();
        const int pixels = d_params.row_looks * d_params.col_looks;
        parallel_for(rows_out, [&](int i, int) {
            const cf32* from = in + i * look;
            float* to = out + static_cast<std::size_t>(i) * cols_out();
            std::uint64_t bad_in_row = 0;
            for (int j = 0; j < cols_out(); ++j) {
                int bad = 0;
                const double sum = cell_power(from + j * d_params.col_looks,
                                              cols_in(),
                                              d_params.row_looks,
                                              d_params.col_looks,
                                              bad);
                to[j] = detected_value(sum, pixels, d_params.quantity);
                bad_in_row += bad;
            }
            if (bad_in_row)
                d_bad_pixels += bad_in_row;
        });
    }

    void part_of_look(const cf32* in, int rows, bool first) override
    {
        for (int j = 0; j < cols_out(); ++j) {
            int bad = 0;
            const double sum = cell_power(
                in + j * d_params.col_looks, cols_in(), rows, d_params.col_looks, bad);
            d_kept[j] = (first ? 0.0 : d_kept[j]) + sum;
            d_bad_pixels += bad;
        }
    }

    void finish_look(float* out, int rows) override
    {
        for (int j = 0; j < cols_out(); ++j)
            out[j] =
                detected_value(d_kept[j], rows * d_params.col_looks, d_params.quantity);
    }

private:
    std::vector<double> d_kept;
    std::atomic<std::uint64_t> d_bad_pixels{ 0 };
};

} // namespace

std::unique_ptr<detect> detect::make(const detect_params& params,
                                     const compute_target& target)
{
#ifdef SAR_HAVE_CUDA
    if (target.is_cuda())
        return make_detect_cuda(params, target);
#endif
    (void)target;
    return std::make_unique<detect_cpu>(params);
}

} // namespace kernel
} // namespace sar
} // namespace gr
