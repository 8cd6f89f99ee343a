// SPDX-License-Identifier: GPL-3.0-or-later
#include "azimuth_filter_impl.h"
#include "frame_check.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/names.h>
#include <gnuradio/sar/kernel/core/range_doppler.h>

namespace gr {
namespace sar {

namespace {

const name_table<bool, 2> outputs = { "output",
                                      { { { false, "all" }, { true, "valid" } } } };

} // namespace

azimuth_filter::sptr azimuth_filter::make(const acquisition& acq,
                                          int lines,
                                          int fft_length,
                                          int oversampling,
                                          const std::string& window_name,
                                          double bandwidth_hz,
                                          int looks,
                                          const std::string& geometry,
                                          const std::string& output,
                                          int hop,
                                          const std::string& storage,
                                          const std::string& backend,
                                          int device)
{
    const bool valid_only = outputs.from_name(output);
    require(hop >= 0 && (hop == 0 || valid_only),
            "hop is ",
            hop,
            " with output ",
            output,
            "; expected 0, or with output valid the hop of azimuth_fft");
    const kernel::azimuth_filter_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) },
        { window(window_name), bandwidth_hz, looks },
        line_storage_from_name(storage)
    };
    return gnuradio::make_block_sptr<azimuth_filter_impl>(
        p, valid_only, hop, choose_target(backend_from_name(backend), device));
}

azimuth_filter_impl::azimuth_filter_impl(const kernel::azimuth_filter_params& params,
                                         bool valid_only,
                                         int hop,
                                         const compute_target& target)
    : gr::block(
          "azimuth_filter",
          gr::io_signature::make(
              1,
              1,
              line_item(params.geometry.acq, params.geometry.oversampling, params.input),
              stream_type(target)),
          gr::io_signature::make(
              1,
              1,
              line_item(params.geometry.acq, params.geometry.oversampling),
              stream_type(target))),
      d_kernel(kernel::azimuth_filter::make(params, target)),
      d_image(d_kernel->plan(), params.band, valid_only, hop),
      d_centroid(d_kernel->plan().centroid()),
      d_image_rows(d_image.part_of(d_kernel->plan()).count),
      d_aperture_lines(d_kernel->plan().aperture_lines(params.band))
{
    d_flow.set_frames(d_kernel->plan().frame().rows, d_kernel->plan().frame().rows);
    set_target(target);
    const range_doppler_frame& f = d_kernel->plan().frame();
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(
        batch_buffer(output_signature()->sizeof_stream_item(0), this->target()));
    d_logger->info("frames of {:d} rows of {:d} cells to {:d} image rows, {:d} looks, "
                   "geometry {:s}, aperture {:d} of {:d} lines, {:d} bytes, on {:s}",
                   f.rows,
                   f.cols,
                   d_image_rows,
                   params.band.looks,
                   to_string(params.geometry.geometry),
                   d_aperture_lines,
                   f.lines,
                   d_kernel->bytes(),
                   target.description);
}

int azimuth_filter_impl::row_bytes() const
{
    return static_cast<int>(input_signature()->sizeof_stream_item(0));
}

void azimuth_filter_impl::begin(const frame_tag& tag)
{
    d_kernel->set_centroid(centroid_of(tag, d_centroid));
    const range_doppler_frame& f = d_kernel->plan().frame();
    frame_check(tag, "azimuth_filter")
        .domain({ "migrated" }, "connect rcmc before it")
        .same("rows", f.rows, 0, "fft_length")
        .same("lines", f.lines, 0, "lines")
        .same("samples", f.cols, 0, "acq.samples * oversampling")
        .same("prf_hz", f.prf_hz, 1e-9 * f.prf_hz, "acq.prf_hz")
        .same("geometry", to_string(f.geometry), "geometry")
        .same("spacing_m", f.spacing_m, 1e-6 * f.spacing_m, "acq and oversampling")
        .same("slant_range_first_m",
              f.out_first_m,
              1e-3 * f.spacing_m,
              "acq.slant_range_first_m, with Doppler centroid and geometry,");
}

void azimuth_filter_impl::take(const void* items, int first, int count)
{
    d_kernel->take(items, first, count);
}

int azimuth_filter_impl::finish(const collected_frame& frame)
{
    d_kernel->transform();
    const range_doppler_plan& plan = d_kernel->plan();
    d_part = d_image.next_part(plan, images(), d_logger);
    d_tag = d_image.tag(plan, frame, d_part, images());
    ++d_done;
    return d_part.count * d_kernel->params().band.looks;
}

void azimuth_filter_impl::give(void* out, int first, int count)
{
    if (first == 0)
        add_item_tag(
            0, nitems_written(0), pmt::mp("sar_image"), d_tag.dict(), alias_pmt());
    d_image.give(*d_kernel, d_part, static_cast<cf32*>(out), first, count);
}

void azimuth_filter_impl::next(int) { d_kernel->next(); }

} // namespace sar
} // namespace gr
