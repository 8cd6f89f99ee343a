// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "device_ring.h"
#include "frame_tag.h"
#include "guarded_work.h"
#include "input_ended.h"
#include "item_bytes.h"
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <gnuradio/sar/kernel/core/cf32.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/kernel/core/image_grid.h>
#include <gnuradio/sar/kernel/core/vec3.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief Around kernels that take lines and antenna positions in lock step and give
 * images on a grid: bp_accumulator and polar_format_imager.
 *
 * Pulses are collected for an aperture; then the rows of its image go out, during which
 * nothing is taken in. An image every hop pulses over an aperture of pulses_per_image,
 * and one of what the end of the stream leaves; without an aperture, the image so far
 * every hop pulses and the whole at the end.
 *
 * \tparam Block  the public class
 * \tparam Kernel add(), advance(), write_rows(), pulses_in_image(), host_report(),
 *                params().grid
 */
template <typename Block, typename Kernel>
class aperture_imager_impl : public Block
{
public:
    bool start() override
    {
        this->start_stage(*this);
        return gr::block::start();
    }

    // The scheduler ends a block that asks for more input than an ended stream holds. So
    // one item of each is asked for while there can be a pulse, and none once an input is
    // used up: then general_work is called once more, to give out what has been
    // collected. When all is out, an input that goes on is waited for, until it ends or
    // shows that it has more.
    void forecast(int, gr_vector_int& required) override
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

    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        return this->guarded(*this, [&] {
            const std::lock_guard<std::mutex> guard(d_lock);
            if (d_state == state::finished) {
                warn_of_unused();
                return static_cast<int>(gr::block::WORK_DONE);
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

    std::uint64_t images() const override { return d_images; }

protected:
    /*!
     * \param lines            what the items of input 0 are, for messages
     * \param pulses_per_image 0: all until the stream ends
     * \param hop              0: one image; else a divisor of pulses_per_image, or
     *                         without that, the image so far comes out each hop pulses
     */
    aperture_imager_impl(const std::string& lines,
                         int pulses_per_image,
                         int hop,
                         std::unique_ptr<Kernel> kernel,
                         const compute_target& target)
        : d_kernel(std::move(kernel)),
          d_port_names{ lines, "positions", "receiver positions" },
          d_pulses_per_image(pulses_per_image),
          d_hop(hop)
    {
        this->set_target(target);
        this->set_tag_propagation_policy(gr::block::TPP_DONT);
        this->set_min_output_buffer(
            batch_buffer(this->output_signature()->sizeof_stream_item(0), target));
    }

    //! Lines of \p samples on input 0, positions on the others.
    static gr::io_signature::sptr
    inputs_of(const char* what, long long samples, bool bistatic, const compute_target& t)
    {
        const int ports = bistatic ? 3 : 2;
        const int position = sizeof(vec3);
        const gr::buffer_type host = gr::buffer_double_mapped::type;
        return gr::io_signature::makev(
            ports,
            ports,
            { line_bytes_of(what, samples), position, position },
            { stream_type(t), host, host });
    }
    static gr::io_signature::sptr outputs_of(const image_grid& grid,
                                             const compute_target& target)
    {
        return gr::io_signature::make(
            1, 1, line_bytes_of("grid.cols", grid->cols), stream_type(target));
    }
    static int line_bytes_of(const char* what, long long samples)
    {
        require(samples >= 1 && samples < (1 << 28),
                what,
                " is ",
                samples,
                "; expected 1 to 2^28 - 1, the largest vector of a stream");
        return static_cast<int>(samples * sizeof(gr_complex));
    }

    //! Lines say what they are: throw when that contradicts the parameters.
    virtual void check_frame(const frame_tag& lines) = 0;

    //! The first row of an image is there: what is to be said of it.
    virtual void image_formed() {}

    mutable std::mutex d_lock; // report() is called from other threads
    const std::unique_ptr<Kernel> d_kernel;

private:
    enum class state {
        collect, //!< pulses are added
        emit,    //!< rows go out, nothing is taken in
        finished //!< the input has ended and its last image is out
    };

    //! What the tags on the next \p lines lines say of them.
    void look_at_frames(int lines)
    {
        std::vector<gr::tag_t> tags;
        this->get_tags_in_window(tags, 0, 0, lines, pmt::mp("sar_frame"));
        for (const gr::tag_t& tag : tags) {
            const frame_tag said(tag.value);
            check_frame(said);
            const double prf_hz = said.number("prf_hz", 0);
            d_timed.reset();
            if (said.has("host_s") && prf_hz > 0)
                d_timed = { tag.offset, said.number("host_s", 0), 1 / prf_hz };
        }
    }

    bool input_ended(int port) const { return sar::input_ended(*this, port); }

    int input_available(int port) const
    {
        const auto in = this->detail()->input(port);
        const gr::thread::scoped_lock guard(*in->mutex());
        return in->items_available();
    }

    int collect(int n, const gr_vector_const_void_star& input_items)
    {
        if (d_advance) {
            d_kernel->advance();
            d_advance = false;
            d_in_hop = 0;
        }
        if (d_hop)
            n = std::min(n, d_hop - d_in_hop);
        look_at_frames(n);
        const bool none_skipped = d_kernel->host_report().skipped_pulses == 0;
        d_kernel->add(static_cast<const cf32*>(input_items[0]),
                      static_cast<const vec3*>(input_items[1]),
                      input_items.size() > 2 ? static_cast<const vec3*>(input_items[2])
                                             : nullptr,
                      n);
        if (none_skipped && d_kernel->host_report().skipped_pulses > 0)
            this->d_logger->warn(
                "pulse {:d} is skipped, its position is not finite; further ones "
                "are counted",
                d_kernel->host_report().first_skipped);
        this->consume_each(n);
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

    void finish()
    {
        d_input_over = true;
        if (d_pulses == 0)
            throw std::runtime_error(sentence("no pulse arrived: the stream of ",
                                              d_port_names[input_ended(0)   ? 0
                                                           : input_ended(1) ? 1
                                                                            : 2],
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
            this->d_logger->warn(
                "the stream ended within an aperture: the last image has {:d} of {:d} "
                "pulses",
                d_kernel->pulses_in_image(),
                d_pulses_per_image);
        begin_image(complete);
    }

    void warn_of_unused()
    {
        const auto detail = this->detail();
        for (int i = 0; i < detail->ninputs(); ++i)
            if (const int left = input_available(i)) {
                int other = 0;
                while (other < detail->ninputs() - 1 && !input_ended(other))
                    ++other;
                this->d_logger->warn(
                    "the {:s} ended after {:d} pulses: {:s}{:d} of the {:s} were "
                    "left unused",
                    d_port_names[other],
                    d_pulses,
                    detail->input(i)->done() ? "" : "at least ",
                    left,
                    d_port_names[i]);
            }
    }

    void begin_image(bool complete)
    {
        d_state = state::emit;
        d_row = 0;
        d_complete = complete;
        if (d_kernel->pulses_in_image() == 0)
            this->d_logger->warn(
                "image {:d} is zero: none of its pulses has a finite position",
                d_images.load());
    }

    int emit(int rows, void* out)
    {
        const int all = d_kernel->params().grid->rows;
        rows = std::min(rows, all - d_row);
        d_kernel->write_rows(static_cast<cf32*>(out), d_row, rows);
        if (d_row == 0) {
            image_formed();
            tag_image();
        }
        d_row += rows;
        if (d_row == all) {
            d_new_pulses = 0;
            d_state = d_input_over ? state::finished : state::collect;
        }
        return rows;
    }

    void tag_image()
    {
        const image_grid_fields& g = d_kernel->params().grid.fields();
        const auto vector = [](vec3 v) {
            return pmt::init_f64vector(3, { v.x, v.y, v.z });
        };
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
        if (d_timed)
            put("last_pulse_host_s",
                pmt::from_double(d_timed->host_s +
                                 d_timed->interval_s * (static_cast<double>(d_pulses) -
                                                        1 - d_timed->line)));
        this->add_item_tag(
            0, this->nitems_written(0), pmt::mp("sar_image"), d, this->alias_pmt());
        ++d_images;
    }

    const std::string d_port_names[3];
    const int d_pulses_per_image; // 0: all
    const int d_hop;              // from image to image; 0: one image

    state d_state = state::collect;
    bool d_input_over = false;
    bool d_advance = false;         // before the next pulse
    std::uint64_t d_pulses = 0;     // taken in, with skipped ones
    std::uint64_t d_new_pulses = 0; // since the last image
    int d_in_hop = 0;               // in the current sub-image
    //! When the pulse of a line left, on the host's clock, and from line to line.
    struct line_time {
        std::uint64_t line;
        double host_s;
        double interval_s;
    };
    std::optional<line_time> d_timed; // as the newest tag says
    int d_row = 0;                    // next to go out
    bool d_complete = true;           // the aperture of the image that goes out
    std::atomic<std::uint64_t> d_images{ 0 };
};

//! Check pulses_per_image, at least \p least, and hop of such a block. \return hop, never
//! 0 with an aperture; with none an image that grows is given out each hop pulses
inline int checked_hop(int pulses_per_image, int hop, int least)
{
    require(pulses_per_image >= least,
            "pulses_per_image is ",
            pulses_per_image,
            least == 0 ? "; expected 0 (all pulses until the stream ends) or more"
                       : "; expected 1 or more: the lines of an aperture");
    require(hop >= 0, "hop is ", hop, "; expected 0 (as pulses_per_image) or more");
    if (hop == 0)
        hop = pulses_per_image;
    require(pulses_per_image == 0 || pulses_per_image % hop == 0,
            "pulses_per_image is ",
            pulses_per_image,
            "; expected a multiple of hop, ",
            hop);
    return hop;
}

} // namespace sar
} // namespace gr
