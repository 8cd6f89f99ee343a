// SPDX-License-Identifier: GPL-3.0-or-later
#include "device_ring.h"
#include <algorithm>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/logger.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/stage.h>
#include <limits>

namespace gr {
namespace sar {

std::string stage::error() const
{
    const std::lock_guard<std::mutex> guard(d_error_lock);
    if (!d_error.empty())
        return d_error;
    for (const auto& edge : d_edges) {
        const std::lock_guard<std::mutex> edge_guard(edge->lock);
        if (!edge->text.empty())
            return edge->text;
    }
    return "";
}

void stage::note_error(gr::basic_block& self, const char* what) noexcept
{
    d_failed = true;
    try {
        {
            const std::lock_guard<std::mutex> guard(d_error_lock);
            if (d_error.empty())
                d_error = self.alias() + ": " + what;
        }
        gr::logger(self.alias()).error("{:s}; the flowgraph ends", what);
    } catch (...) {
        // nothing may leave a work function
    }
}

bool stage::must_end() const noexcept
{
    if (d_failed)
        return true;
    for (const auto& edge : d_edges) // changed only by start(), in this thread
        if (edge->happened)
            return true;
    return false;
}

namespace {

// Does the writer still write the buffer that this reader reads? See make_buffer().
bool is_orphan(gr::buffer_reader& in)
{
    const auto writer = in.buffer()->link()->detail();
    for (int i = 0; i < writer->noutputs(); ++i)
        if (writer->output(i) == in.buffer())
            return false;
    return true;
}

// Items that a block takes from an input in one call, at most. Known for blocks of a
// fixed rate: others may take all there is.
std::uint64_t read_ahead(gr::block& block)
{
    std::uint64_t n = std::numeric_limits<int>::max();
    if (!block.fixed_rate())
        return n;
    if (block.is_set_max_noutput_items())
        n = std::min<std::uint64_t>(n, block.max_noutput_items());
    const auto detail = block.detail();
    for (int i = 0; i < detail->noutputs(); ++i) // min_available_space() of the scheduler
        n = std::min<std::uint64_t>(n, detail->output(i)->bufsize() / 2);
    n = std::max<std::uint64_t>(n, block.output_multiple()) + block.alignment();
    return n < std::numeric_limits<int>::max() / 64
               ? block.fixed_rate_noutput_to_ninput(static_cast<int>(n))
               : n;
}

// End both sides of all inputs of a block, also where their items do not arrive.
void end_inputs(gr::block& self) noexcept
{
    try {
        const auto detail = self.detail();
        for (int i = 0; i < detail->ninputs(); ++i) {
            const auto in = detail->input(i);
            in->set_done(true);
            if (is_orphan(*in))
                in->buffer()->link()->detail()->set_done(true);
        }
    } catch (...) {
        // the next work() ends the flowgraph all the same
    }
}

} // namespace

void stage::check_edges(gr::basic_block& self)
{
    auto& block = dynamic_cast<gr::block&>(self);
    const auto detail = block.detail();
    std::vector<std::shared_ptr<edge_fault>> edges;
    for (int i = 0; i < detail->ninputs(); ++i) {
        const auto in = detail->input(i);
        if (is_orphan(*in))
            throw std::runtime_error(
                sentence("input ",
                         i,
                         " is connected to an output that leads to several device "
                         "blocks, or to host and device blocks, which GNU Radio cannot "
                         "do; put a to_device block behind ",
                         in->buffer()->link()->alias()));
        auto* ring = dynamic_cast<device_ring*>(in->buffer().get());
        const bool on_device =
            block.input_signature()->stream_buffer_type(i) == device_ring::type;
        if (on_device && !ring)
            throw std::runtime_error(
                sentence("input ",
                         i,
                         " needs a stream in device memory, but ",
                         in->buffer()->link()->alias(),
                         " gives one in host memory; put a to_device block between, or "
                         "give the block a device type in its output signature too"));
        if (!ring)
            continue;
        if (on_device && &ring->space() != d_target.space)
            throw std::runtime_error(sentence("input ",
                                              i,
                                              " is a stream on ",
                                              ring->space().name(),
                                              ", but the block runs on ",
                                              d_target.description,
                                              "; put a to_host block between"));
        if (on_device)
            ring->allow_read_ahead(read_ahead(block));
        edges.push_back(ring->fault());
    }
    for (int i = 0; i < detail->noutputs(); ++i) {
        if (auto* ring = dynamic_cast<device_ring*>(detail->output(i).get())) {
            ring->prepare();
            edges.push_back(ring->fault());
        }
    }
    const std::lock_guard<std::mutex> guard(d_error_lock);
    d_edges = std::move(edges);
}

void stage::start_stage(gr::basic_block& self) noexcept
{
    try {
        {
            const std::lock_guard<std::mutex> guard(d_error_lock);
            d_error.clear();
            d_edges.clear();
        }
        d_failed = false;
        if (d_target.space)
            d_target.space->bind_to_this_thread();
        check_edges(self);
        return;
    } catch (const std::exception& e) {
        note_error(self, e.what());
    } catch (...) {
        note_error(self, "unknown exception in start()");
    }
    if (auto* block = dynamic_cast<gr::block*>(&self))
        end_inputs(*block);
}

} // namespace sar
} // namespace gr
