// SPDX-License-Identifier: GPL-3.0-or-later
#include "image_quality_impl.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t report_port = pmt::mp("report");

pmt::pmt_t put(const pmt::pmt_t& d, const char* name, const pmt::pmt_t& value)
{
    return pmt::dict_add(d, pmt::mp(name), value);
}

pmt::pmt_t put(const pmt::pmt_t& d, const char* name, double value)
{
    return put(d, name, pmt::from_double(value));
}

pmt::pmt_t put(const pmt::pmt_t& d, const char* name, vec3 v)
{
    return put(d, name, pmt::init_f64vector(3, std::vector<double>{ v.x, v.y, v.z }));
}

pmt::pmt_t to_pmt(const cut_report& c)
{
    pmt::pmt_t d = pmt::make_dict();
    d = put(d, "direction", c.direction);
    d = put(d, "cell_m", c.cell_m);
    d = put(d, "position_error_m", c.position_error_m);
    d = put(d, "position_error_cells", c.position_error_cells);
    d = put(d, "irw_m", c.irw_m);
    d = put(d, "irw_theory_m", c.irw_theory_m);
    d = put(d, "pslr_db", c.pslr_db);
    d = put(d, "pslr_theory_db", c.pslr_theory_db);
    d = put(d, "islr_db", c.islr_db);
    d = put(d, "islr_theory_db", c.islr_theory_db);
    d = put(d, "extent_before_m", c.extent_before_m);
    return put(d, "extent_after_m", c.extent_after_m);
}

pmt::pmt_t to_pmt(const point_target_report& r)
{
    pmt::pmt_t d = pmt::make_dict();
    d = put(d, "found", pmt::from_bool(r.found));
    d = put(d, "pass", pmt::from_bool(r.pass));
    d = put(d, "problem", pmt::mp(r.problem));
    d = put(d, "expected_m", r.expected_m);
    d = put(d, "position_m", r.position_m);
    d = put(d, "peak_amplitude", r.peak_amplitude);
    d = put(d, "phase_error_rad", r.phase_error_rad);
    d = put(d, "peak_to_median_db", r.peak_to_median_db);
    d = put(d, "range", to_pmt(r.range));
    d = put(d, "azimuth", to_pmt(r.azimuth));
    pmt::pmt_t failures = pmt::make_vector(r.failures.size(), pmt::PMT_NIL);
    for (std::size_t i = 0; i < r.failures.size(); ++i)
        pmt::vector_set(failures, i, pmt::mp(r.failures[i]));
    return put(d, "failures", failures);
}

pmt::pmt_t to_pmt(const image_quality_report& r)
{
    pmt::pmt_t d = pmt::make_dict();
    d = put(d, "image", pmt::from_uint64(r.image));
    d = put(d, "pass", pmt::from_bool(r.pass));
    d = put(d, "non_finite", pmt::from_uint64(r.figures.non_finite));
    d = put(d, "peak", r.figures.peak);
    d = put(d, "contrast", r.figures.contrast);
    d = put(d, "entropy_nat", r.figures.entropy_nat);
    d = put(d, "peak_to_median_db", r.figures.peak_to_median_db);
    pmt::pmt_t targets = pmt::make_vector(r.targets.size(), pmt::PMT_NIL);
    for (std::size_t i = 0; i < r.targets.size(); ++i)
        pmt::vector_set(targets, i, to_pmt(r.targets[i]));
    return put(d, "targets", targets);
}

} // namespace

image_quality::sptr image_quality::make(const image_grid& grid,
                                        const point_target_geometry& geometry,
                                        const std::vector<expected_target>& targets,
                                        const point_target_limits& limits)
{
    return gnuradio::make_block_sptr<image_quality_impl>(
        image_quality_params{ grid, geometry, targets, limits });
}

image_quality_impl::image_quality_impl(const image_quality_params& p)
    : gr::sync_block("image_quality",
                     gr::io_signature::make(1, 1, p.grid->cols * sizeof(gr_complex)),
                     gr::io_signature::make(0, 0, 0)),
      d_kernel(kernel::image_quality::make(p)),
      d_rows(p.grid->rows),
      d_cols(p.grid->cols),
      d_image(static_cast<std::size_t>(p.grid->rows) * p.grid->cols)
{
    message_port_register_out(report_port);
    d_logger->info("{:d} targets in images of {:d} x {:d}, on {:s}",
                   p.targets.size(),
                   d_rows,
                   d_cols,
                   backend());
}

bool image_quality_impl::start()
{
    start_stage(*this);
    return sync_block::start();
}

bool image_quality_impl::stop()
{
    leave_out();
    return sync_block::stop();
}

std::vector<image_quality_report> image_quality_impl::reports() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return { d_reports.begin(), d_reports.end() };
}

int image_quality_impl::work(int noutput_items,
                             gr_vector_const_void_star& input_items,
                             gr_vector_void_star&)
{
    return guarded(*this, [&] {
        return collect(noutput_items, static_cast<const cf32*>(input_items[0]));
    });
}

int image_quality_impl::collect(int rows, const cf32* in)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, rows, pmt::mp("sar_image"));
    std::sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
    auto tag = tags.begin();
    int read = 0;
    while (read < rows) {
        for (; tag != tags.end() && tag->offset == nitems_read(0) + read; ++tag)
            begin_image(tag->value);
        int n = std::min(rows - read, d_rows - d_rows_held);
        if (tag != tags.end())
            n = std::min<int>(n, tag->offset - nitems_read(0) - read);
        std::memcpy(d_image.data() + static_cast<std::size_t>(d_rows_held) * d_cols,
                    in + static_cast<std::size_t>(read) * d_cols,
                    static_cast<std::size_t>(n) * d_cols * sizeof(cf32));
        read += n;
        d_rows_held += n;
        if (d_rows_held == d_rows)
            finish_image();
    }
    return rows;
}

void image_quality_impl::begin_image(const pmt::pmt_t& image)
{
    leave_out();
    const frame_tag tag(image, "sar_image");
    if (!tag.text("value").empty() && tag.text("value") != "complex")
        throw std::runtime_error(sentence("sar_image has the value '",
                                          tag.text("value"),
                                          "', but image_quality needs the complex image: "
                                          "connect it before detect"));
    const auto same = [&](const char* name, int expected) {
        const double v = tag.number(name, expected);
        if (v != expected)
            throw std::runtime_error(sentence("sar_image has ",
                                              v,
                                              " ",
                                              name,
                                              ", but the grid of image_quality has ",
                                              expected));
    };
    same("rows", d_rows);
    same("cols", d_cols);
    d_number =
        static_cast<std::uint64_t>(tag.number("image", static_cast<double>(d_number)));
}

void image_quality_impl::finish_image()
{
    d_rows_held = 0;
    const image_quality_report report = d_kernel->measure(d_image.data(), d_number++);
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        d_reports.push_back(report);
        if (d_reports.size() > 1000)
            d_reports.pop_front();
    }
    const auto passed = std::count_if(report.targets.begin(),
                                      report.targets.end(),
                                      [](const auto& t) { return t.pass; });
    d_logger->info("image {:d}: {:d} of {:d} targets within limits, contrast {:.2f}",
                   report.image,
                   passed,
                   report.targets.size(),
                   report.figures.contrast);
    message_port_pub(report_port, to_pmt(report));
}

void image_quality_impl::leave_out()
{
    if (d_rows_held > 0)
        d_logger->warn("an image of {:d} of {:d} rows is left out: it is not complete",
                       d_rows_held,
                       d_rows);
    d_rows_held = 0;
}

} // namespace sar
} // namespace gr
