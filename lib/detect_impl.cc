// SPDX-License-Identifier: GPL-3.0-or-later
#include "detect_impl.h"
#include "device_ring.h"
#include "guarded_work.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {
const pmt::pmt_t image_key = pmt::mp("sar_image");

std::unique_ptr<kernel::detect> kernel_of(int cols,
                                          const std::string& quantity,
                                          int row_looks,
                                          int col_looks,
                                          const compute_target& target)
{
    require(cols <= (1 << 28), "cols is ", cols, "; expected at most 2^28");
    kernel::detect_params p;
    p.cols = cols;
    p.quantity = kernel::detected_quantity_from_name(quantity);
    p.row_looks = row_looks;
    p.col_looks = col_looks;
    return kernel::detect::make(p, target);
}
} // namespace

detect::sptr detect::make(int cols,
                          const std::string& quantity,
                          int row_looks,
                          int col_looks,
                          const std::string& backend,
                          int device)
{
    return gnuradio::make_block_sptr<detect_impl>(
        cols,
        quantity,
        row_looks,
        col_looks,
        choose_target(backend_from_name(backend), device));
}

detect_impl::detect_impl(int cols,
                         const std::string& quantity,
                         int row_looks,
                         int col_looks,
                         const compute_target& target)
    : gr::block("detect",
                gr::io_signature::make(1, 1, sizeof(gr_complex), stream_type(target)),
                gr::io_signature::make(1, 1, sizeof(float), stream_type(target))),
      d_kernel(kernel_of(cols, quantity, row_looks, col_looks, target)),
      d_row_looks(row_looks),
      d_col_looks(col_looks),
      d_quantity(quantity)
{
    set_target(target);
    // the kernel has checked the numbers by now
    set_input_signature(gr::io_signature::make(
        1, 1, d_kernel->cols_in() * sizeof(gr_complex), stream_type(target)));
    set_output_signature(gr::io_signature::make(
        1, 1, d_kernel->cols_out() * sizeof(float), stream_type(target)));
    set_tag_propagation_policy(TPP_DONT);
    d_logger->info("rows of {:d} pixels to {:s}, {:d} x {:d} looks, on {:s}",
                   cols,
                   quantity,
                   row_looks,
                   col_looks,
                   target.description);
}

bool detect_impl::start()
{
    start_stage(*this);
    return block::start();
}

bool detect_impl::stop()
{
    say_at_end(d_logger, [&] {
        if (const int n = d_kernel->pending_rows())
            d_logger->warn(
                "{:d} rows of an incomplete look at the end of the stream are left "
                "out (row_looks is {:d})",
                n,
                d_row_looks);
        if (const std::uint64_t n = bad_pixels())
            d_logger->warn("{:d} pixels were not finite", n);
    });
    return block::stop();
}

void detect_impl::forecast(int, gr_vector_int& ninput_items_required)
{
    // incomplete looks are kept in the kernel, so any row is of use
    ninput_items_required[0] = 1;
}

int detect_impl::general_work(int noutput_items,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        return detect_rows(ninput_items[0],
                           noutput_items,
                           static_cast<const cf32*>(input_items[0]),
                           static_cast<float*>(output_items[0]));
    });
}

int detect_impl::detect_rows(int rows_in, int rows_out, const cf32* in, float* out)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, rows_in);
    const auto is_image = [](const gr::tag_t& t) { return pmt::eqv(t.key, image_key); };
    // of the tags of a row the image's comes first
    std::sort(tags.begin(), tags.end(), [&](const gr::tag_t& a, const gr::tag_t& b) {
        return a.offset != b.offset ? a.offset < b.offset : is_image(a) && !is_image(b);
    });
    auto tag = tags.begin();
    int read = 0;
    int written = 0;
    const auto process = [&](int rows, bool end) {
        const std::size_t at = static_cast<std::size_t>(written) * d_kernel->cols_out();
        written += d_kernel->process(in, rows, out + at, end);
        in += static_cast<std::size_t>(rows) * d_kernel->cols_in();
        read += rows;
    };
    // Tags are looked at only when a row can follow, or they would be seen twice.
    while (read < rows_in && written < rows_out) {
        if (tag != tags.end() && tag->offset == nitems_read(0) + read && is_image(*tag) &&
            d_kernel->pending_rows() > 0) {
            process(0,
                    true); // the image before was shorter than its tag said, or had none
            continue;
        }
        for (; tag != tags.end() && tag->offset == nitems_read(0) + read; ++tag) {
            const std::uint64_t row = nitems_written(0) + written;
            if (is_image(*tag))
                begin_image(tag->value, row);
            else
                add_item_tag(0, row, tag->key, tag->value, tag->srcid);
        }
        // up to the next tag, the end of the image and the end of the output
        int rows = rows_in - read;
        if (tag != tags.end())
            rows = static_cast<int>(tag->offset - nitems_read(0)) - read;
        bool end = false;
        if (d_rows_left >= 0 && rows >= d_rows_left) {
            rows = static_cast<int>(d_rows_left);
            end = true;
        }
        if (d_kernel->rows_written_by(rows, end) > rows_out - written) {
            rows = (rows_out - written) * d_row_looks - d_kernel->pending_rows();
            end = false;
        }
        process(rows, end);
        if (d_rows_left >= 0)
            d_rows_left = end ? -1 : d_rows_left - rows;
    }
    consume_each(read);
    return written;
}

void detect_impl::begin_image(const pmt::pmt_t& image, std::uint64_t output_row)
{
    add_item_tag(0, output_row, image_key, detected_image(image), alias_pmt());
    const pmt::pmt_t rows = pmt::dict_ref(image, pmt::mp("rows"), pmt::PMT_NIL);
    d_rows_left = pmt::is_number(rows) ? static_cast<long>(pmt::to_double(rows)) : -1;
    if (d_rows_left == 0)
        d_rows_left = -1;
}

pmt::pmt_t detect_impl::detected_image(const pmt::pmt_t& image) const
{
    if (!pmt::is_dict(image))
        throw std::runtime_error("the tag sar_image is no dictionary");
    const auto field = [&image](const char* name) {
        return pmt::dict_ref(image, pmt::mp(name), pmt::PMT_NIL);
    };
    pmt::pmt_t d = image;
    const auto put = [&d](const char* name, const pmt::pmt_t& value) {
        d = pmt::dict_add(d, pmt::mp(name), value);
    };
    const pmt::pmt_t value = field("value");
    if (!pmt::is_null(value) && pmt::write_string(value) != "complex")
        throw std::runtime_error(
            sentence("sar_image has the value '",
                     pmt::write_string(value),
                     "', but detect takes complex rows; is it in the chain twice?"));
    const pmt::pmt_t cols = field("cols");
    if (pmt::is_number(cols) && pmt::to_double(cols) != d_kernel->cols_in())
        throw std::runtime_error(sentence("sar_image has ",
                                          pmt::to_double(cols),
                                          " cols, but detect was made with cols ",
                                          d_kernel->cols_in()));
    put("value", pmt::mp(d_quantity));
    put("cols", pmt::from_long(d_kernel->cols_out()));
    if (const pmt::pmt_t rows = field("rows"); pmt::is_number(rows)) {
        const long n = static_cast<long>(pmt::to_double(rows));
        put("rows", pmt::from_long((n + d_row_looks - 1) / d_row_looks));
    }
    // Rows of an image with looks come looks at a time at one place: row_looks stream
    // rows are that many fewer places.
    int row_places = d_row_looks;
    if (const pmt::pmt_t looks = field("looks"); pmt::is_number(looks)) {
        const long n = static_cast<long>(pmt::to_double(looks));
        if (n > 1 && d_row_looks % n != 0 && n % d_row_looks != 0)
            throw std::runtime_error(
                sentence("sar_image has ",
                         n,
                         " looks, and row_looks of detect is ",
                         d_row_looks,
                         "; expected a multiple of the looks (or a divisor, to average "
                         "some of them only)"));
        if (n > 1) {
            row_places = static_cast<int>(std::max(1L, d_row_looks / n));
            put("looks", pmt::from_long(std::max(1L, n / d_row_looks)));
        }
    }
    // pixel (0, 0) moves to the middle of its look
    pmt::pmt_t origin = field("origin_m");
    const auto average = [&](const char* spacing_name, const char* axis_name, int looks) {
        const pmt::pmt_t spacing = field(spacing_name);
        if (!pmt::is_number(spacing))
            return;
        const double metres = pmt::to_double(spacing);
        put(spacing_name, pmt::from_double(metres * looks));
        const pmt::pmt_t axis = field(axis_name);
        if (!pmt::is_f64vector(origin) || pmt::length(origin) != 3 ||
            !pmt::is_f64vector(axis) || pmt::length(axis) != 3)
            return;
        double moved[3];
        for (int i = 0; i < 3; ++i)
            moved[i] = pmt::f64vector_ref(origin, i) +
                       0.5 * (looks - 1) * metres * pmt::f64vector_ref(axis, i);
        origin = pmt::init_f64vector(3, moved);
    };
    average("row_spacing_m", "row_axis", row_places);
    average("col_spacing_m", "col_axis", d_col_looks);
    if (!pmt::is_null(origin))
        put("origin_m", origin);
    return d;
}

} // namespace sar
} // namespace gr
