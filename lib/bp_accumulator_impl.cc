// SPDX-License-Identifier: GPL-3.0-or-later
#include "bp_accumulator_impl.h"
#include "device_ring.h"
#include "guarded_work.h"
#include "item_bytes.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/errors.h>

namespace gr {
namespace sar {

namespace {

const char* const port_names[] = { "compressed lines",
                                   "positions",
                                   "receiver positions" };

int item_bytes(const char* what, long long samples)
{
    require(samples >= 1 && samples < (1 << 28),
            what,
            " is ",
            samples,
            "; expected 1 to 2^28 - 1, the largest vector of a stream");
    return static_cast<int>(samples * sizeof(gr_complex));
}

gr::io_signature::sptr inputs_of(const kernel::bp_accumulator_params& p,
                                 const compute_target& target)
{
    const int ports = p.bistatic ? 3 : 2;
    const int position = sizeof(vec3);
    const gr::buffer_type host = gr::buffer_double_mapped::type;
    return gr::io_signature::makev(
        ports,
        ports,
        { item_bytes("acq.samples * oversampling", p.axis.samples), position, position },
        { stream_type(target), host, host });
}

gr::io_signature::sptr outputs_of(const kernel::bp_accumulator_params& p,
                                  const compute_target& target)
{
    return gr::io_signature::make(
        1, 1, item_bytes("grid.cols", p.grid->cols), stream_type(target));
}

} // namespace

bp_accumulator::sptr bp_accumulator::make(const acquisition& acq,
                                          const image_grid& grid,
                                          int oversampling,
                                          const std::string& interpolation,
                                          const std::string& accuracy,
                                          int pulses_per_image,
                                          int hop,
                                          bool bistatic,
                                          const std::string& backend,
                                          int device)
{
    require(oversampling >= 1,
            "oversampling is ",
            oversampling,
            "; expected 1 or more output samples per input sample");
    item_bytes("acq.samples * oversampling",
               static_cast<long long>(acq->samples) * oversampling);
    require(pulses_per_image >= 0,
            "pulses_per_image is ",
            pulses_per_image,
            "; expected 0 (all pulses until the stream ends) or more");
    require(hop >= 0, "hop is ", hop, "; expected 0 (as pulses_per_image) or more");
    if (hop == 0)
        hop = pulses_per_image;
    require(pulses_per_image == 0 || pulses_per_image % hop == 0,
            "pulses_per_image is ",
            pulses_per_image,
            "; expected a multiple of hop, ",
            hop);
    kernel::bp_accumulator_params p{ acq.compressed_axis(oversampling), grid };
    p.interpolator = interpolation_from_name(interpolation);
    p.accuracy = kernel::accuracy_mode_from_name(accuracy);
    p.bistatic = bistatic;
    p.slots = pulses_per_image ? pulses_per_image / hop : 1;
    return gnuradio::make_block_sptr<bp_accumulator_impl>(
        p, pulses_per_image, hop, choose_target(backend_from_name(backend), device));
}

bp_accumulator_impl::bp_accumulator_impl(const kernel::bp_accumulator_params& p,
                                         int pulses_per_image,
                                         int hop,
                                         const compute_target& target)
    : gr::block("bp_accumulator", inputs_of(p, target), outputs_of(p, target)),
      d_pulses_per_image(pulses_per_image),
      d_hop(hop),
      d_kernel(kernel::bp_accumulator::make(p, target))
{
    set_target(target);
    set_tag_propagation_policy(TPP_DONT);
    set_min_output_buffer(batch_buffer(output_signature()->sizeof_stream_item(0)));
    d_logger->info(
        "{:d} x {:d} pixels, {:s} interpolation, {:s} accuracy, range bias {:g} m, "
        "on {:s}",
        p.grid->rows,
        p.grid->cols,
        to_string(p.interpolator),
        kernel::to_string(p.accuracy),
        p.axis.range_bias_m,
        target.description);
}

bool bp_accumulator_impl::start()
{
    start_stage(*this);
    return block::start();
}

bool bp_accumulator_impl::stop()
{
    try {
        const kernel::bp_report r = report();
        d_logger->info("{:d} images; {:d} pulses, {:d} of them in fast mode; phase error "
                       "below {:.2g} rad",
                       d_images.load(),
                       r.pulses,
                       r.fast_pulses,
                       r.phase_bound_rad);
        if (r.skipped_pulses)
            d_logger->warn("{:d} pulses were skipped: their positions are not finite",
                           r.skipped_pulses);
        if (r.outside)
            d_logger->info("{:d} pixel-pulses lay outside the swath", r.outside);
        if (r.non_finite)
            d_logger->warn(
                "samples that are not finite: {:d} sums over up to {:d} pulses "
                "for a pixel were left out",
                r.non_finite,
                kernel::bp::chunk_pulses);
    } catch (const std::exception& e) {
        d_logger->error("{:s}", e.what());
    }
    return block::stop();
}

kernel::bp_report bp_accumulator_impl::report() const
{
    const std::lock_guard<std::mutex> guard(d_lock);
    return d_kernel->report();
}

// The scheduler ends a block that asks for more input than an ended stream holds. So one
// item of each is asked for while there can be a pulse, and none once an input is used
// up: then general_work is called once more, to give out what has been collected. When
// all is out, an input that goes on is waited for, until it ends or shows that it has
// more.
void bp_accumulator_impl::forecast(int, gr_vector_int& required)
{
    const int ports = static_cast<int>(required.size());
    if (d_state == state::finished) {
        for (int i = 0; i < ports; ++i)
            required[i] = input_ended(i) ? 0 : 1;
        return;
    }
    bool wanted = d_state == state::collect;
    for (int i = 0; i < ports; ++i)
        wanted = wanted && !input_ended(i);
    std::fill(required.begin(), required.end(), wanted ? 1 : 0);
}

bool bp_accumulator_impl::input_ended(int port) const
{
    const auto in = detail()->input(port);
    const gr::thread::scoped_lock guard(*in->mutex());
    return in->done() && in->items_available() == 0;
}

int bp_accumulator_impl::input_available(int port) const
{
    const auto in = detail()->input(port);
    const gr::thread::scoped_lock guard(*in->mutex());
    return in->items_available();
}

int bp_accumulator_impl::general_work(int noutput_items,
                                      gr_vector_int& ninput_items,
                                      gr_vector_const_void_star& input_items,
                                      gr_vector_void_star& output_items)
{
    return guarded(*this, [&] {
        const std::lock_guard<std::mutex> guard(d_lock);
        if (d_state == state::finished) {
            warn_of_unused();
            return static_cast<int>(WORK_DONE);
        }
        if (d_state == state::collect) {
            const int n = *std::min_element(ninput_items.begin(), ninput_items.end());
            if (n > 0)
                return collect(n, input_items);
            bool ended = false;
            for (std::size_t i = 0; i < ninput_items.size(); ++i)
                ended = ended || input_ended(static_cast<int>(i));
            if (ended)
                finish();
        }
        return d_state == state::emit ? emit(noutput_items, output_items[0]) : 0;
    });
}

int bp_accumulator_impl::collect(int n, const gr_vector_const_void_star& input_items)
{
    if (d_advance) {
        d_kernel->advance();
        d_advance = false;
        d_in_hop = 0;
    }
    if (d_hop)
        n = std::min(n, d_hop - d_in_hop);
    check_frames(n);
    const bool none_skipped = d_kernel->host_report().skipped_pulses == 0;
    d_kernel->add(static_cast<const cf32*>(input_items[0]),
                  static_cast<const vec3*>(input_items[1]),
                  input_items.size() > 2 ? static_cast<const vec3*>(input_items[2])
                                         : nullptr,
                  n);
    if (none_skipped && d_kernel->host_report().skipped_pulses > 0)
        d_logger->warn("pulse {:d} is skipped, its position is not finite; further ones "
                       "are counted",
                       d_kernel->host_report().first_skipped);
    consume_each(n);
    d_pulses += n;
    d_new_pulses += n;
    d_in_hop = d_hop ? d_in_hop + n : 0;
    if (d_hop && d_in_hop == d_hop && d_pulses_per_image == 0) {
        // the image grows: what there is so far, and on with the same sum
        d_in_hop = 0;
        begin_image(false);
    } else if (d_hop && d_in_hop == d_hop) {
        d_advance = true;
        if (d_pulses >= static_cast<std::uint64_t>(d_pulses_per_image))
            begin_image(true);
    }
    return 0;
}

void bp_accumulator_impl::finish()
{
    d_input_over = true;
    if (d_pulses == 0)
        throw std::runtime_error(sentence("no pulse arrived: the stream of ",
                                          input_ended(0)   ? port_names[0]
                                          : input_ended(1) ? port_names[1]
                                                           : port_names[2],
                                          " ended without one; there is no image"));
    if (d_kernel->host_report().pulses == 0)
        throw std::runtime_error(
            sentence("none of the ",
                     d_pulses,
                     " pulses has a finite position; there is no image"));
    const bool complete = d_pulses_per_image == 0;
    if (d_new_pulses == 0 && !complete) {
        d_state = state::finished;
        return;
    }
    if (!complete)
        d_logger->warn(
            "the stream ended within an aperture: the last image has {:d} of {:d} "
            "pulses",
            d_kernel->pulses_in_image(),
            d_pulses_per_image);
    begin_image(complete);
}

void bp_accumulator_impl::warn_of_unused()
{
    for (int i = 0; i < detail()->ninputs(); ++i)
        if (const int left = input_available(i)) {
            int other = 0;
            while (other < detail()->ninputs() - 1 && !input_ended(other))
                ++other;
            d_logger->warn("the {:s} ended after {:d} pulses: {:s}{:d} of the {:s} were "
                           "left unused",
                           port_names[other],
                           d_pulses,
                           detail()->input(i)->done() ? "" : "at least ",
                           left,
                           port_names[i]);
        }
}

void bp_accumulator_impl::begin_image(bool complete)
{
    d_state = state::emit;
    d_row = 0;
    d_complete = complete;
    if (d_kernel->pulses_in_image() == 0)
        d_logger->warn("image {:d} is zero: none of its pulses has a finite position",
                       d_images.load());
}

int bp_accumulator_impl::emit(int rows, void* out)
{
    const int all = params().grid->rows;
    rows = std::min(rows, all - d_row);
    if (d_row == 0)
        tag_image();
    d_kernel->write_rows(static_cast<cf32*>(out), d_row, rows);
    d_row += rows;
    if (d_row == all) {
        d_new_pulses = 0;
        d_state = d_input_over ? state::finished : state::collect;
    }
    return rows;
}

void bp_accumulator_impl::tag_image()
{
    const image_grid_fields& g = params().grid.fields();
    const auto vector = [](vec3 v) { return pmt::init_f64vector(3, { v.x, v.y, v.z }); };
    pmt::pmt_t d = pmt::make_dict();
    const auto put = [&d](const char* name, const pmt::pmt_t& value) {
        d = pmt::dict_add(d, pmt::mp(name), value);
    };
    // the aperture in pulses of the stream, skipped ones included
    std::uint64_t aperture = d_pulses;
    if (d_pulses_per_image)
        aperture =
            std::min<std::uint64_t>(aperture, d_pulses_per_image - d_hop + d_in_hop);
    put("image", pmt::from_uint64(d_images));
    put("rows", pmt::from_long(g.rows));
    put("cols", pmt::from_long(g.cols));
    put("origin_m", vector(g.origin_m));
    put("row_axis", vector(g.row_axis));
    put("col_axis", vector(g.col_axis));
    put("row_spacing_m", pmt::from_double(g.row_spacing_m));
    put("col_spacing_m", pmt::from_double(g.col_spacing_m));
    put("pulses", pmt::from_uint64(d_kernel->pulses_in_image()));
    put("first_pulse", pmt::from_uint64(d_pulses - aperture));
    put("complete", pmt::from_bool(d_complete));
    put("value", pmt::mp("complex"));
    add_item_tag(0, nitems_written(0), pmt::mp("sar_image"), d, alias_pmt());
    ++d_images;
}

// The lines say what they are: what contradicts the parameters would give a wrong image.
void bp_accumulator_impl::check_frames(int lines)
{
    std::vector<gr::tag_t> tags;
    get_tags_in_window(tags, 0, 0, lines, pmt::mp("sar_frame"));
    const range_axis& axis = params().axis;
    for (const gr::tag_t& tag : tags) {
        const auto field = [&tag](const char* name) {
            return pmt::is_dict(tag.value)
                       ? pmt::dict_ref(tag.value, pmt::mp(name), pmt::PMT_NIL)
                       : pmt::PMT_NIL;
        };
        const auto same = [&](const char* name, double mine, double tolerance) {
            const pmt::pmt_t theirs = field(name);
            if (!pmt::is_number(theirs))
                return;
            if (!(std::abs(pmt::to_double(theirs) - mine) <= tolerance))
                throw std::runtime_error(
                    sentence("the lines have ",
                             name,
                             " ",
                             pmt::to_double(theirs),
                             " (tag sar_frame), but acq and oversampling "
                             "of this block say ",
                             mine,
                             "; give both blocks the same"));
        };
        const pmt::pmt_t domain = field("domain");
        if (pmt::is_symbol(domain) && pmt::symbol_to_string(domain) != "compressed")
            throw std::runtime_error(
                sentence("the lines have domain '",
                         pmt::symbol_to_string(domain),
                         "' (tag sar_frame), expected 'compressed'; "
                         "connect pulse_compression before this block"));
        same("samples", axis.samples, 0);
        same("spacing_m", axis.spacing_m, 1e-6 * axis.spacing_m);
        same("slant_range_first_m", axis.first_m, 1e-3 * axis.spacing_m);
    }
}

} // namespace sar
} // namespace gr
