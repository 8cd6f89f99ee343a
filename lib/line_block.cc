// SPDX-License-Identifier: GPL-3.0-or-later
#include "line_block.h"
#include "input_ended.h"
#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/constants.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <limits>

namespace gr {
namespace sar {

namespace {

const pmt::pmt_t status_port = pmt::mp("status");
constexpr double clip_warning = 1e-3; // share of the samples

frame_tag message_of(const framer_status& s, double clip_share)
{
    frame_tag message;
    message.put("alignment", s.alignment)
        .put("locked", s.locked)
        .put("samples", s.samples)
        .put("framed", s.framed)
        .put("lost", s.lost)
        .put("filled", s.filled)
        .put("estimated", s.estimated)
        .put("unmeasured", s.unmeasured)
        .put("gaps", s.gaps)
        .put("silent_gaps", s.silent_gaps)
        .put("lost_samples", s.lost_samples)
        .put("rejected_stamps", s.rejected_stamps)
        .put("clip_share", clip_share)
        .put("interval_samples", s.interval_samples)
        .put("jitter_rms_samples", s.jitter_rms_samples)
        .put("delay_s", s.delay_s)
        .put("delay_drift_samples_per_s", s.delay_drift_samples_per_s)
        .put("amplitude_db", s.amplitude_db)
        .put("snr_db", s.snr_db)
        .put("phase_rad", s.phase_rad)
        .put("phase_drift_hz", s.phase_drift_hz)
        .put("dc_re", s.dc_re)
        .put("dc_im", s.dc_im)
        .put("image_db", s.image_db);
    return message;
}

} // namespace

std::vector<int>
line_block::output_sizes(const pulse_framer_params& p, bool positions, bool facts)
{
    require(p.acq->samples <= std::numeric_limits<int>::max() / 8,
            "samples of acq is ",
            p.acq->samples,
            "; expected at most ",
            std::numeric_limits<int>::max() / 8,
            " (an item of 2 GB)");
    std::vector<int> sizes = { static_cast<int>(p.acq->samples * sizeof(gr_complex)) };
    if (positions)
        sizes.push_back(sizeof(vec3));
    if (facts)
        sizes.push_back(framed_line::facts * sizeof(double));
    return sizes;
}

gr::io_signature::sptr line_block::signature(const std::vector<int>& sizes)
{
    const int n = static_cast<int>(sizes.size());
    return n ? gr::io_signature::makev(n, n, sizes) : gr::io_signature::make(0, 0, 0);
}

line_block::line_block(const pulse_framer_params& params,
                       int lines,
                       int positions,
                       bool facts)
    : d_params(params),
      d_lines(lines),
      d_positions(positions),
      d_facts(facts),
      d_kernel(kernel::pulse_framer::make(params))
{
}

void line_block::register_status() { message_port_register_out(status_port); }

void line_block::begin_lines()
{
    // a flowgraph may run again: its samples are others
    d_kernel = kernel::pulse_framer::make(d_params);
    d_begin = std::chrono::steady_clock::now();
    d_positions_taken = 0;
    d_waits_for_position = false;
    d_frame = 0;
    d_line = 0;
    d_holes = d_stretch = 0;
    d_in_holes = false;
    d_reported_s = -1;
    d_reported = {};
    d_notices.clear();
    d_unsaid = 0;
    for (const std::string& w : d_kernel->warnings())
        d_logger->warn("{:s}", w);
    const std::lock_guard<std::mutex> guard(d_lock);
    d_status = {};
}

double line_block::host_s() const
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - d_begin)
        .count();
}

void line_block::note_status()
{
    const std::lock_guard<std::mutex> guard(d_lock);
    d_status = d_kernel->status();
}

framer_status line_block::noted_status() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_status;
}

void line_block::sum_up()
{
    report(d_reported_s, true);
    const framer_status s = noted_status();
    d_logger->info("{:d} lines, {:d} pulses lost, {:d} holes filled, {:d} numbered by "
                   "the host's clock",
                   s.framed,
                   s.lost,
                   s.filled,
                   s.estimated);
    if (d_params.whole_samples)
        d_logger->info("lines begin at whole samples: range jitter {:.3g} m rms",
                       s.jitter_rms_samples * speed_of_light /
                           (2 * d_params.acq->sample_rate_hz));
    if (s.samples > 0 && s.framed == 0)
        d_logger->warn("no line came out of {:d} samples: no pulse was found where "
                       "alignment {:s} looks for it",
                       s.samples,
                       s.alignment);
}

bool line_block::ended(int input) const { return input_ended(*this, input); }

bool line_block::give_line(inputs& in, int lines, gr_vector_void_star& output_items)
{
    const auto number = d_kernel->ready();
    if (!number)
        return false;
    if (d_positions >= 0 && !position_there(*number, in)) {
        // what came since this call began is not in ninput_items: ask the buffer
        if (ended(d_positions))
            throw std::runtime_error(
                sentence("the stream of positions ended with pulse ",
                         static_cast<std::int64_t>(d_positions_taken) - 1,
                         ", but there is a line of pulse ",
                         *number * d_params.presum,
                         "; give a position for each pulse, from number 0 on"));
        d_waits_for_position = true;
        return false;
    }
    framed_line line;
    d_kernel->next(line,
                   static_cast<cf32*>(output_items[0]) +
                       static_cast<std::size_t>(lines) * d_params.acq->samples);
    int port = 1;
    if (d_positions >= 0)
        static_cast<vec3*>(output_items[port++])[lines] = take_position(line);
    if (d_facts) {
        double* f = static_cast<double*>(output_items[port]) +
                    static_cast<std::size_t>(lines) * framed_line::facts;
        const double values[framed_line::facts] = { static_cast<double>(line.pulse),
                                                    clock_offset_s() + line.time_s,
                                                    static_cast<double>(line.flags),
                                                    line.jitter_samples,
                                                    line.amplitude,
                                                    line.delay_s,
                                                    line.phase_rad,
                                                    line.snr_db };
        std::copy_n(values, framed_line::facts, f);
    }
    tag_line(line, nitems_written(0) + lines);
    return true;
}

//! Positions up to that of a line: those before it are dropped, its own are kept.
bool line_block::position_there(std::int64_t line, inputs& in)
{
    const auto m = static_cast<std::uint64_t>(d_params.presum);
    const std::uint64_t begin = static_cast<std::uint64_t>(line) * m;
    d_group.resize(m);
    while (d_positions_taken < begin + m && in.left(d_positions) > 0) {
        if (d_positions_taken < begin) {
            const auto n = static_cast<int>(
                std::min<std::uint64_t>(begin - d_positions_taken, in.left(d_positions)));
            in.used[d_positions] += n;
            d_positions_taken += n;
            continue;
        }
        d_group[d_positions_taken - begin] = *in.at<vec3>(d_positions);
        ++in.used[d_positions];
        ++d_positions_taken;
    }
    return d_positions_taken >= begin + m;
}

//! The mean over the pulses that went into the line; over all where none did.
vec3 line_block::take_position(const framed_line& line)
{
    vec3 sum = { 0, 0, 0 };
    int n = 0;
    for (std::size_t i = 0; i < d_group.size(); ++i)
        if (line.used.empty() || line.summed == 0 || line.used[i]) {
            sum = sum + d_group[i];
            ++n;
        }
    return (1.0 / n) * sum;
}

void line_block::tag_line(const framed_line& line, std::uint64_t item)
{
    if (line.anew) {
        d_line = 0;
        d_stretch = 0;
    }
    if (d_line == 0)
        put_frame_tag(line, item);
    d_line = (d_line + 1) % d_lines;
    ++d_stretch;

    const bool hole = line.flags & framed_line::hole;
    const std::int64_t count = hole && !d_in_holes ? line.holes_left : line.skipped;
    d_holes += hole ? 1 : line.skipped;
    if (count > 0)
        add_item_tag(
            0,
            item,
            pmt::mp("sar_holes"),
            frame_tag()
                .put("pulse",
                     static_cast<std::uint64_t>(hole ? line.pulse : line.pulse - count))
                .put("count", static_cast<std::uint64_t>(count))
                .put("filled", hole)
                .put("estimated", (line.flags & framed_line::estimated) != 0)
                .dict(),
            alias_pmt());
    d_in_holes = hole;
}

void line_block::put_frame_tag(const framed_line& line, std::uint64_t item)
{
    const acquisition& acq = d_params.acq;
    frame_tag tag;
    tag.put("frame", d_frame++)
        .put("lines", d_lines)
        .put("samples", acq->samples)
        .put("prf_hz", d_kernel->line_rate_hz())
        .put("slant_range_first_m", acq->slant_range_first_m)
        .put("spacing_m", acq.compressed_axis(1).spacing_m)
        .put("doppler_centroid_hz", acq.centroid_coefficients())
        .put("domain", "raw")
        .put("time_s", clock_offset_s() + line.time_s)
        .put("pulse", static_cast<std::uint64_t>(line.pulse))
        .put("first_line", d_stretch)
        .put("continues", d_stretch > 0)
        .put("holes", d_holes)
        .put("alignment", d_kernel->status().alignment);
    if (is_live(line.live))
        tag.put("host_s",
                std::chrono::duration<double>(d_begin.time_since_epoch()).count() +
                    line.host_s);
    if (line.frequency_hz != 0)
        tag.put("frequency_hz", line.frequency_hz).put("step", line.step);
    add_item_tag(0, item, pmt::mp("sar_frame"), tag.dict(), alias_pmt());
}

//! A message and at most one sentence a second.
void line_block::report(double host_s, bool last)
{
    for (std::string& s : d_kernel->notices()) {
        if (d_notices.size() < 4)
            d_notices.push_back(std::move(s));
        else
            ++d_unsaid;
    }
    if (!last && d_reported_s >= 0 && host_s - d_reported_s < 1)
        return;
    const framer_status s = d_kernel->status();
    // asked for without samples too: a radio that gives none may have a reason
    std::vector<std::string> words;
    bool bad = add_words(words);
    if (s.samples == d_reported.samples && d_notices.empty() && words.empty())
        return;
    const auto since = [&](auto member) { return s.*member - d_reported.*member; };
    const std::uint64_t samples = since(&framer_status::samples);
    const double clipped =
        samples ? static_cast<double>(since(&framer_status::clipped)) / samples : 0;
    frame_tag message = message_of(s, clipped);
    add_fields(message);
    message_port_pub(status_port, message.dict());
    std::string text;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : "; ") + part;
    };
    if (const std::uint64_t lost = since(&framer_status::lost)) {
        bad = true;
        add(sentence("lost ",
                     lost,
                     " pulses of ",
                     lost + since(&framer_status::framed),
                     " since the last report"));
    }
    if (clipped > clip_warning) {
        bad = true;
        add(sentence(100 * clipped,
                     " % of the samples are at full scale (",
                     d_params.full_scale,
                     "): the receiver clips, lower its gain"));
    }
    bad = bad || since(&framer_status::gaps) || since(&framer_status::rejected_stamps);
    words.insert(words.end(), d_notices.begin(), d_notices.end());
    for (const std::string& n : words)
        add(n);
    if (d_unsaid > 0)
        add(sentence("and ", d_unsaid, " more of these"));
    if (!text.empty()) {
        if (bad)
            d_logger->warn("{:s}", text);
        else
            d_logger->info("{:s}", text);
    }
    d_notices.clear();
    d_unsaid = 0;
    d_reported = s;
    d_reported_s = host_s;
}

} // namespace sar
} // namespace gr
