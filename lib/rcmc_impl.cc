// SPDX-License-Identifier: GPL-3.0-or-later
#include "rcmc_impl.h"
#include "device_ring.h"
#include "frame_check.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t frame_key = pmt::mp("sar_frame");

gr::io_signature::sptr signature_of(const kernel::rcmc_params& p,
                                    const compute_target& target)
{
    return gr::io_signature::make(
        1,
        1,
        line_item(p.geometry.acq, p.geometry.oversampling, p.input),
        stream_type(target));
}

} // namespace

rcmc::sptr rcmc::make(const acquisition& acq,
                      int lines,
                      int fft_length,
                      int oversampling,
                      const std::string& interpolation,
                      bool src,
                      const std::string& geometry,
                      const std::string& storage,
                      const std::string& backend,
                      int device)
{
    kernel::rcmc_params p{
        { acq, oversampling, lines, fft_length, image_geometry_from_name(geometry) }
    };
    p.interpolator = kernel::migration_interpolation_from_name(interpolation);
    p.src = src;
    p.input = p.output = line_storage_from_name(storage);
    return gnuradio::make_block_sptr<rcmc_impl>(
        p, choose_target(backend_from_name(backend), device));
}

rcmc_impl::rcmc_impl(const kernel::rcmc_params& params, const compute_target& target)
    : gr::sync_block("rcmc", signature_of(params, target), signature_of(params, target)),
      d_kernel(kernel::rcmc::make(params, target)),
      d_own_centroid(d_kernel->plan().centroid()),
      d_rows(d_kernel->plan().frame().rows)
{
    set_target(target);
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(batch_buffer(output_signature()->sizeof_stream_item(0), 512));
    d_logger->info("{:d} rows of {:d} cells, {:s} interpolation, SRC {:s}, geometry "
                   "{:s}, on {:s}",
                   d_rows,
                   d_kernel->cols(),
                   kernel::to_string(params.interpolator),
                   d_kernel->uses_src() ? "on"
                   : params.src         ? "negligible"
                                        : "off",
                   to_string(params.geometry.geometry),
                   target.description);
}

bool rcmc_impl::start()
{
    start_stage(*this);
    d_row = 0;
    return sync_block::start();
}

bool rcmc_impl::stop()
{
    try {
        if (const std::uint64_t n = bad_lines())
            d_logger->warn("{:d} rows held values that are not finite and were zeroed",
                           n);
    } catch (const std::exception& e) {
        d_logger->error("{:s}", e.what());
    }
    return sync_block::stop();
}

double rcmc_impl::slant_range_first_m() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->plan().frame().out_first_m;
}

bool rcmc_impl::uses_src() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->uses_src();
}

std::uint64_t rcmc_impl::bad_lines() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->bad_lines();
}

int rcmc_impl::work(int noutput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        const std::lock_guard<std::mutex> guard(d_lock);
        migrate(noutput_items,
                static_cast<const char*>(input_items[0]),
                static_cast<char*>(output_items[0]));
        return noutput_items;
    });
}

void rcmc_impl::migrate(int rows, const char* in, char* out)
{
    const std::size_t bytes = output_signature()->sizeof_stream_item(0);
    int done = 0;
    const auto until = [&](int end) {
        d_kernel->process(in + done * bytes, out + done * bytes, d_row, end - done);
        d_row = static_cast<int>((static_cast<long long>(d_row) + end - done) % d_rows);
        done = end;
    };
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, rows);
    for (gr::tag_t& tag : tags) { // sorted by offset
        if (pmt::eqv(tag.key, frame_key)) {
            until(static_cast<int>(tag.offset - nitems_read(0)));
            const frame_tag frame(tag.value);
            begin_frame(frame);
            tag.value = migrated_frame(frame).dict();
        }
        // a sync block: same offset
        add_item_tag(0, tag);
    }
    until(rows);
}

void rcmc_impl::begin_frame(const frame_tag& frame)
{
    const range_doppler_frame& f = d_kernel->plan().frame();
    frame_check(frame, "rcmc")
        .domain({ "range_doppler" }, "connect azimuth_fft before it")
        .same("rows", f.rows, 0, "fft_length")
        .same("lines", f.lines, 0, "lines")
        .same("samples", f.cols, 0, "acq.samples * oversampling")
        .same("prf_hz", f.prf_hz, 1e-9 * f.prf_hz, "acq.prf_hz")
        .same("spacing_m", f.spacing_m, 1e-6 * f.spacing_m, "acq and oversampling")
        .same("slant_range_first_m",
              f.line_first_m,
              1e-3 * f.spacing_m,
              "acq.slant_range_first_m");
    d_kernel->set_centroid(centroid_of(frame, d_own_centroid));
    d_row = 0;
}

frame_tag rcmc_impl::migrated_frame(frame_tag frame) const
{
    const range_doppler_frame& f = d_kernel->plan().frame();
    frame.put("domain", "migrated");
    frame.put("geometry", to_string(f.geometry));
    frame.put("samples", f.cols);
    frame.put("rows", f.rows);
    frame.put("spacing_m", f.spacing_m);
    frame.put("slant_range_first_m", f.out_first_m);
    frame.put("doppler_centroid_hz", d_kernel->plan().centroid());
    return frame;
}

} // namespace sar
} // namespace gr
