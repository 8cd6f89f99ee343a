// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "device_ring.h"
#include "frame_check.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/row_migration.h>
#include <gnuradio/sync_block.h>
#include <memory>
#include <mutex>
#include <vector>

namespace gr {
namespace sar {

//! Port of a stage between azimuth_fft and azimuth_filter: rows of compressed lines, or
//! of raw ones with an \p oversampling of 1.
template <typename Params>
gr::io_signature::sptr
migration_port(const Params& p, int oversampling, const compute_target& target)
{
    return gr::io_signature::make(
        1, 1, line_item(p.geometry.acq, oversampling, p.input), stream_type(target));
}

/*!
 * \brief The scheduler's side of a stage between azimuth_fft and azimuth_filter: what
 * rcmc, stolt and chirp_scaling have in common.
 *
 * \tparam Block the public class, a gr::sync_block and a stage with bad_lines(), rows()
 * and slant_range_first_m(). The constructor of the stage calls begin_migration().
 * \tparam Kernel a kernel::row_migration
 */
template <typename Block, typename Kernel>
class migration_block : public Block
{
public:
    bool start() override
    {
        this->start_stage(*this);
        d_row = 0;
        return gr::sync_block::start();
    }

    bool stop() override
    {
        say_at_end(this->d_logger,
                   [this] { warn_of_zeroed(this->d_logger, bad_lines(), "rows"); });
        return gr::sync_block::stop();
    }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        return this->guarded(*this, [&] {
            const std::lock_guard<std::mutex> guard(d_lock);
            migrate(noutput_items,
                    static_cast<const char*>(input_items[0]),
                    static_cast<char*>(output_items[0]));
            return noutput_items;
        });
    }

    int rows() const override { return d_kernel->plan().frame().rows; }

    double slant_range_first_m() const override
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        return d_kernel->plan().frame().out_first_m;
    }

    std::uint64_t bad_lines() const override
    {
        const std::lock_guard<std::mutex> guard(d_lock);
        return d_kernel->bad_lines();
    }

protected:
    void begin_migration(std::unique_ptr<Kernel> k, const compute_target& target)
    {
        d_kernel = std::move(k);
        d_own_centroid = d_kernel->plan().centroid();
        this->set_target(target);
        this->set_tag_propagation_policy(gr::block::TPP_DONT);
        this->set_min_output_buffer(batch_buffer(
            this->output_signature()->sizeof_stream_item(0), this->target(), 512));
    }

    mutable std::mutex d_lock; // of the kernel
    std::unique_ptr<Kernel> d_kernel;

private:
    void migrate(int rows, const char* in, char* out)
    {
        const std::size_t bytes_in = this->input_signature()->sizeof_stream_item(0);
        const std::size_t bytes_out = this->output_signature()->sizeof_stream_item(0);
        int done = 0;
        const auto until = [&](int end) {
            d_kernel->process(
                in + done * bytes_in, out + done * bytes_out, d_row, end - done);
            d_row = static_cast<int>((static_cast<long long>(d_row) + end - done) %
                                     d_kernel->plan().frame().rows);
            done = end;
        };
        std::vector<gr::tag_t> tags;
        this->get_tags_in_window(tags, 0, 0, rows);
        for (gr::tag_t& tag : tags) { // sorted by offset
            if (pmt::eqv(tag.key, pmt::mp("sar_frame"))) {
                until(static_cast<int>(tag.offset - this->nitems_read(0)));
                const frame_tag frame(tag.value);
                begin_frame(frame);
                tag.value = migrated_frame(frame).dict();
            }
            // a sync block: same offset
            this->add_item_tag(0, tag);
        }
        until(rows);
    }

    void begin_frame(const frame_tag& frame)
    {
        const range_doppler_frame& f = d_kernel->plan().frame();
        const frame_check check(frame, this->name());
        check.same("rows", f.rows, 0, "fft_length")
            .same("lines", f.lines, 0, "lines")
            .same("prf_hz", f.prf_hz, 1e-9 * f.prf_hz, "acq.prf_hz")
            .same("slant_range_first_m",
                  f.line_first_m,
                  1e-3 * f.spacing_m,
                  "acq.slant_range_first_m");
        if (d_kernel->takes_raw_rows()) {
            const int samples = d_kernel->plan().params().acq->samples;
            check
                .domain({ "raw_doppler" },
                        "connect azimuth_fft before it, of raw lines: it compresses them")
                .same("samples", samples, 0, "acq.samples");
        } else {
            check.domain({ "range_doppler" }, "connect azimuth_fft before it")
                .same("samples", f.cols, 0, "acq.samples * oversampling")
                .same(
                    "spacing_m", f.spacing_m, 1e-6 * f.spacing_m, "acq and oversampling");
        }
        d_kernel->set_centroid(centroid_of(frame, d_own_centroid));
        d_row = 0;
    }

    frame_tag migrated_frame(frame_tag frame) const
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

    std::vector<double> d_own_centroid; // of the acquisition
    int d_row = 0;                      // of the next item
};

} // namespace sar
} // namespace gr
