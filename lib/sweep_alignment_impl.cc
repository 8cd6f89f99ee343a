// SPDX-License-Identifier: GPL-3.0-or-later
#include "sweep_alignment_impl.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include "input_ended.h"
#include "item_bytes.h"
#include "line_number.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/parallel_for.h>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t frame_key = pmt::mp("sar_frame");

} // namespace

sweep_alignment::sptr sweep_alignment::make(const acquisition& acq,
                                            double doppler_band_hz,
                                            double instant_s,
                                            int taps)
{
    return gnuradio::make_block_sptr<sweep_alignment_impl>(
        sweep_alignment_params{ acq, doppler_band_hz, instant_s, taps });
}

sweep_alignment_impl::sweep_alignment_impl(const sweep_alignment_params& p)
    : gr::block("sweep_alignment",
                gr::io_signature::make(1, 1, line_item(p.acq, 1)),
                gr::io_signature::make(1, 1, line_item(p.acq, 1))),
      d_kernel(p)
{
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(batch_buffer(line_item(p.acq, 1)));
    const double shift_m = p.acq.doppler_shift_m(d_kernel.doppler_band_hz() / 2);
    d_logger->info(
        "motion during the sweep, up to {:.3g} m ({:.2g} cells) at the edges of "
        "a Doppler band of {:g} Hz, is taken out to {:.0f} dB; noise times "
        "{:.2f}, on {:s}",
        std::abs(shift_m),
        std::abs(shift_m) / p.acq.compressed_axis(1).spacing_m,
        d_kernel.doppler_band_hz(),
        d_kernel.error_bound_db(),
        d_kernel.noise_gain(),
        backend());
}

bool sweep_alignment_impl::start()
{
    start_stage(*this);
    d_lines.clear();
    d_at = 0;
    d_number = 0;
    d_over = false;
    return gr::block::start();
}

bool sweep_alignment_impl::stop()
{
    if (const std::uint64_t n = bad_lines())
        d_logger->warn("{:d} lines held samples that are not finite and count as zeros",
                       n);
    return gr::block::stop();
}

// The scheduler ends a block that asks for more than an ended stream holds.
void sweep_alignment_impl::forecast(int, gr_vector_int& required)
{
    required[0] = d_over || input_ended(*this, 0) || ready() > 0 ? 0 : 1;
}

//! Lines that have all the lines behind them that they need, or that there are.
int sweep_alignment_impl::ready() const
{
    std::size_t last = d_at;
    for (; last < d_lines.size(); ++last) {
        const kept_line& newest = d_lines.back();
        const bool closed = d_over || newest.stretch != d_lines[last].stretch ||
                            newest.number >= d_lines[last].number + d_kernel.after();
        if (!closed)
            break;
    }
    return static_cast<int>(last - d_at);
}

void sweep_alignment_impl::take(const cf32* line, std::vector<gr::tag_t> tags)
{
    for (const gr::tag_t& tag : tags) {
        if (pmt::eqv(tag.key, frame_key)) {
            const frame_tag t(tag.value);
            const std::string domain = t.text("domain");
            if (!domain.empty() && domain != "raw")
                throw std::runtime_error(
                    sentence("sar_frame has the domain '",
                             domain,
                             "', but sweep_alignment takes raw lines: it stands before "
                             "pulse_compression"));
            if (!t.is_true("continues"))
                ++d_stretch;
        }
        d_number = line_number(tag).value_or(d_number);
    }
    kept_line kept;
    kept.number = d_number++;
    kept.stretch = d_stretch;
    kept.tags = std::move(tags);
    const int samples = d_kernel.samples();
    if (std::all_of(line, line + samples, [](cf32 v) { return is_finite(v); })) {
        if (!d_spare.empty()) {
            kept.samples = std::move(d_spare.back());
            d_spare.pop_back();
        }
        kept.samples.assign(line, line + samples);
    } else {
        ++d_bad_lines;
    }
    d_lines.push_back(std::move(kept));
}

void sweep_alignment_impl::give(int lines, cf32* out)
{
    const int taps = d_kernel.before() + 1 + d_kernel.after();
    parallel_for(lines, [&](int i, int) {
        const std::size_t at = d_at + i;
        const kept_line& own = d_lines[at];
        std::vector<const cf32*> from(taps, nullptr);
        const auto look = [&](const kept_line& l) {
            const std::int64_t tap = l.number - own.number + d_kernel.before();
            if (l.stretch != own.stretch || tap < 0 || tap >= taps)
                return false;
            from[tap] = l.samples.empty() ? nullptr : l.samples.data();
            return true;
        };
        for (std::size_t k = at; k < d_lines.size() && look(d_lines[k]); ++k) {
        }
        for (std::size_t k = at; k > 0 && look(d_lines[k - 1]); --k) {
        }
        d_kernel.line(own.number,
                      from.data(),
                      out + static_cast<std::size_t>(i) * d_kernel.samples());
    });
    for (int i = 0; i < lines; ++i)
        for (gr::tag_t& tag : d_lines[d_at + i].tags) {
            tag.offset = nitems_written(0) + i;
            add_item_tag(0, tag);
        }
    d_at += lines;
    while (d_at > static_cast<std::size_t>(d_kernel.before())) {
        if (d_lines.front().samples.capacity() > 0)
            d_spare.push_back(std::move(d_lines.front().samples));
        d_lines.pop_front();
        --d_at;
    }
}

int sweep_alignment_impl::general_work(int noutput_items,
                                       gr_vector_int& ninput_items,
                                       gr_vector_const_void_star& input_items,
                                       gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        const std::uint64_t first = nitems_read(0);
        // no more at a time than can go out again
        const int taken = std::min(ninput_items[0], noutput_items);
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, taken);
        std::stable_sort(tags.begin(), tags.end(), gr::tag_t::offset_compare);
        auto tag = tags.begin();
        const cf32* in = static_cast<const cf32*>(input_items[0]);
        for (int i = 0; i < taken; ++i) {
            std::vector<gr::tag_t> own;
            for (; tag != tags.end() && tag->offset == first + i; ++tag)
                own.push_back(*tag);
            take(in + static_cast<std::size_t>(i) * d_kernel.samples(), std::move(own));
        }
        consume(0, taken);
        if (taken == 0 && input_ended(*this, 0))
            d_over = true;
        const int lines = std::min(ready(), noutput_items);
        if (lines > 0)
            give(lines, static_cast<cf32*>(output_items[0]));
        return lines == 0 && d_over ? static_cast<int>(WORK_DONE) : lines;
    });
}

} // namespace sar
} // namespace gr
