// SPDX-License-Identifier: GPL-3.0-or-later
#include "device_ring.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <gnuradio/sar/stage.h>
#include <limits>
#include <numeric>

namespace gr {
namespace sar {

gr::buffer_type stream_type(const compute_target& target)
{
    return target.space ? device_ring::type : gr::buffer_double_mapped::type;
}

namespace {
constexpr std::size_t worthwhile_upload_ring = 16u << 20; // bytes
}

gr::buffer_type device_ring::type(gr::buftype<device_ring, device_ring>{});

// ---- copies under way
// ------------------------------------------------------------------

copies_under_way::copies_under_way(device_space& space)
{
    for (std::size_t i = 0; i < capacity; ++i) {
        d_events[i] = space.make_event();
        d_entries[i].event = d_events[i].get();
    }
}

device_event& copies_under_way::add(std::uint64_t begin, std::uint64_t end)
{
    if (d_size == capacity) {
        d_entries[1].begin = d_entries[0].begin;
        drop(0);
    }
    entry& e = d_entries[d_size++];
    e.begin = begin;
    e.end = end;
    e.number = ++d_numbers;
    return *e.event;
}

const copies_under_way::entry* copies_under_way::newest_of(std::uint64_t begin,
                                                           std::uint64_t end) const
{
    for (std::size_t i = d_size; i-- > 0;)
        if (d_entries[i].begin < end && d_entries[i].end > begin)
            return &d_entries[i];
    return nullptr;
}

void copies_under_way::complete(std::uint64_t number)
{
    while (d_size && d_entries[0].number <= number)
        drop(0);
}

void copies_under_way::drop(std::size_t index)
{
    // the entry goes behind the used ones and keeps its event
    std::rotate(d_entries.begin() + index,
                d_entries.begin() + index + 1,
                d_entries.begin() + d_size);
    --d_size;
}

// ---- making one
// ------------------------------------------------------------------------

namespace {

//! \p n items, rounded up so that their bytes are a multiple of granularity; 0 when that
//! is not affordable.
std::size_t rounded(std::size_t n, std::size_t item_bytes, std::size_t granularity)
{
    const std::size_t affordable =
        std::max<std::size_t>(4 * n * item_bytes, std::size_t(32) << 20);
    const std::size_t step = granularity / std::gcd(item_bytes, granularity);
    const std::size_t items = (n + step - 1) / step * step;
    return items <= affordable / item_bytes ? items : 0;
}

//! Items of a ring that is asked to hold \p asked: both sides mapped twice, else only the
//! host side, else neither.
std::size_t
ring_items(std::size_t asked, std::size_t item_bytes, const device_space& space)
{
    for (const std::size_t g : { space.device_granularity(), space.host_granularity() })
        if (g)
            if (const std::size_t n = rounded(asked, item_bytes, g))
                return n;
    return asked;
}

std::unique_ptr<ring_memory>
make_ring(device_space& space, bool on_device, std::size_t bytes)
{
    const std::size_t g =
        on_device ? space.device_granularity() : space.host_granularity();
    const bool aliased = g && bytes % g == 0;
    return on_device ? space.make_device_ring(bytes, aliased)
                     : space.make_host_ring(bytes, aliased);
}

// A host block whose output is about to be replaced by a device_ring must have no reader
// on that output yet: GNU Radio 3.10 (to 3.10.12) would leave such a reader on a buffer
// that nobody writes, and the flowgraph would hang. The port is not told; its buffer is
// known by its sizes.
void refuse_fan_out(gr::block& writer,
                    const gr::block& reader,
                    int nitems,
                    std::size_t size)
{
    const auto detail = writer.detail();
    bool any = false;
    bool fed = true;
    bool to_host = false;
    for (int i = 0; detail && i < detail->noutputs(); ++i) {
        const auto out = detail->output(i);
        if (!out || out->get_sizeof_item() != size ||
            out->bufsize() != static_cast<unsigned>(nitems))
            continue;
        any = true;
        fed = fed && out->nreaders() > 0;
        to_host = to_host || !dynamic_cast<device_ring*>(out.get());
    }
    if (!any || !fed)
        return;
    const std::string who = sentence("one output of the host block ", writer.alias());
    if (to_host)
        throw std::runtime_error(
            sentence(who,
                     " leads to host blocks and to the device block ",
                     reader.alias(),
                     ", which GNU Radio cannot do; put a to_device block before ",
                     reader.alias()));
    throw std::runtime_error(
        sentence(who,
                 " leads to several device blocks, one of them ",
                 reader.alias(),
                 ", which GNU Radio cannot do; put one to_device block behind it and "
                 "connect the device blocks to that"));
}

} // namespace

gr::buffer_sptr device_ring::make_buffer(int nitems,
                                         std::size_t sizeof_item,
                                         std::uint64_t downstream_lcm_nitems,
                                         std::uint32_t downstream_max_out_mult,
                                         gr::block_sptr link,
                                         gr::block_sptr owner)
{
    // The owner is asked now and not kept: it holds this buffer, and would never be
    // freed.
    const auto* device_block = dynamic_cast<const stage*>(owner.get());
    if (!device_block || !device_block->target().space)
        throw std::runtime_error(
            sentence("block ",
                     owner ? owner->alias() : "(none)",
                     " has a device stream in its signature, but runs on no device"));
    if (link != owner)
        refuse_fan_out(*link, *owner, nitems, sizeof_item);
    const bool written_on_host =
        link != owner || dynamic_cast<const writes_on_host*>(owner.get());
    // host blocks do not know that they feed a GPU: an upload has to be worth its start
    if (written_on_host && device_block->target().is_cuda())
        nitems = std::max<int>(nitems, worthwhile_upload_ring / sizeof_item);
    return gr::buffer_sptr(new device_ring(nitems,
                                           sizeof_item,
                                           downstream_lcm_nitems,
                                           downstream_max_out_mult,
                                           link,
                                           *device_block->target().space,
                                           written_on_host));
}

device_ring::device_ring(int nitems,
                         std::size_t sizeof_item,
                         std::uint64_t downstream_lcm_nitems,
                         std::uint32_t downstream_max_out_mult,
                         const gr::block_sptr& link,
                         device_space& space,
                         bool written_on_host)
    : gr::buffer(gr::buffer_mapping_type::double_mapped,
                 nitems,
                 sizeof_item,
                 downstream_lcm_nitems,
                 downstream_max_out_mult,
                 link),
      d_space(space),
      d_n(ring_items(nitems, sizeof_item, space)),
      d_written_on_host(written_on_host),
      d_device(make_ring(space, true, d_n * sizeof_item)),
      d_copies(space),
      d_computed(space.make_event())
{
    if (d_n > static_cast<std::size_t>(std::numeric_limits<int>::max()) / 2)
        throw std::runtime_error(sentence("a stream buffer of ",
                                          d_n,
                                          " items is too long; lower the minimum buffer "
                                          "or the output multiple"));
    d_bufsize = static_cast<unsigned>(d_n);
    if (d_written_on_host) {
        make_host_ring();
        for (read_mark& m : d_marks)
            m.event = space.make_event();
    }
}

device_ring::~device_ring()
{
    try {
        d_space.synchronize(); // copies and kernels may still use the memory
    } catch (...) {
        // the device is lost; its memory is still given back
    }
}

void device_ring::make_host_ring()
{
    d_host = make_ring(d_space, false, d_n * d_sizeof_item);
}

void device_ring::prepare()
{
    const std::lock_guard<std::mutex> guard(d_copies_lock);
    if (read_on_host() && !d_host)
        make_host_ring();
}

void device_ring::allow_read_ahead(std::uint64_t items)
{
    const std::lock_guard<std::mutex> guard(d_copies_lock);
    d_read_ahead = std::max(d_read_ahead, items);
    ++d_read_aheads;
}

// ---- what the scheduler asks
// -----------------------------------------------------------

unsigned device_ring::index_add(unsigned a, unsigned b)
{
    return (a + b) % (2 * d_bufsize);
}

unsigned device_ring::index_sub(unsigned a, unsigned b)
{
    if (d_fault->happened)
        return 0; // readers find no items: what is in the ring may be wrong
    return (a + 2 * d_bufsize - b) % (2 * d_bufsize);
}

int device_ring::space_available()
{
    // with the buffer's mutex held
    if (d_fault->happened)
        return 0;
    int used = 0;
    std::uint64_t slowest = std::numeric_limits<std::uint64_t>::max();
    for (gr::buffer_reader* r : d_readers) {
        used = std::max(used, r->items_available());
        slowest = std::min(slowest, r->nitems_read());
    }
    if (!d_readers.empty() && slowest != d_last_min_items_read) {
        prune_tags(d_last_min_items_read);
        d_last_min_items_read = slowest;
    }
    return static_cast<int>(d_bufsize) - used;
}

void* device_ring::write_pointer()
{
    try {
        if (d_written_on_host && !read_on_host())
            wait_until_uploaded();
    } catch (const std::exception& e) {
        fail(e.what());
    }
    const ring_memory& ring = d_written_on_host ? *d_host : *d_device;
    return ring.base + (d_write_index % d_n) * d_sizeof_item;
}

const void* device_ring::_read_pointer(unsigned int read_index)
{
    try {
        if (read_on_host()) {
            prepare();
            wait_until_downloaded();
        } else if (d_written_on_host) {
            order_reader(read_index);
        }
    } catch (const std::exception& e) {
        fail(e.what());
        if (read_on_host() && !d_host)
            return nullptr; // no items were promised: nothing was written yet
    }
    const ring_memory& ring = read_on_host() ? *d_host : *d_device;
    return ring.base + (read_index % d_n) * d_sizeof_item;
}

void device_ring::post_work(int nitems)
{
    if (nitems <= 0 || d_fault->happened)
        return;
    const std::size_t slot = d_write_index % d_n;
    const std::size_t n = nitems;
    try {
        const std::lock_guard<std::mutex> guard(d_copies_lock);
        if (d_written_on_host && read_on_host()) {
            mirror(*d_host, slot, n, [](void* to, const void* from, std::size_t bytes) {
                std::memcpy(to, from, bytes);
            });
        } else if (d_written_on_host) {
            upload(slot, n);
        } else if (read_on_host()) {
            if (!d_host)
                make_host_ring();
            download(slot, n);
        } else {
            mirror(
                *d_device, slot, n, [&](void* to, const void* from, std::size_t bytes) {
                    d_space.copy(to, from, bytes, device_space::lane::compute);
                });
        }
    } catch (const std::exception& e) {
        fail(e.what());
    }
}

// ---- copies
// ----------------------------------------------------------------------------

namespace {

//! Call for the pieces of items [slot, slot + n) that do not cross item N of the ring:
//! piece(first item in the ring, items, items before it).
template <typename Piece>
void split(std::size_t slot, std::size_t n, std::size_t ring_items, Piece&& piece)
{
    const std::size_t head = std::min(n, ring_items - slot);
    piece(slot, head, std::size_t(0));
    if (n > head)
        piece(std::size_t(0), n - head, head);
}

} // namespace

// Items [slot, slot + n) were written where they stand, beyond N too: make both halves of
// a plain ring equal.
template <typename Copy>
void device_ring::mirror(const ring_memory& ring,
                         std::size_t slot,
                         std::size_t n,
                         Copy&& copy)
{
    if (ring.aliased)
        return;
    const std::size_t half = ring.bytes;
    split(slot, n, d_n, [&](std::size_t first, std::size_t count, std::size_t before) {
        std::byte* low = ring.base + first * d_sizeof_item;
        if (before)
            copy(low, low + half, count * d_sizeof_item);
        else
            copy(low + half, low, count * d_sizeof_item);
    });
}

void device_ring::upload(std::size_t slot, std::size_t n)
{
    using lane = device_space::lane;
    if (d_abs_write_offset + n > d_n)
        wait_until_read(d_abs_write_offset + n - d_n);
    split(slot, n, d_n, [&](std::size_t first, std::size_t count, std::size_t before) {
        // of an aliased host ring only the first mapping is page locked
        const std::size_t from = d_host->aliased ? first : slot + before;
        const std::size_t bytes = count * d_sizeof_item;
        std::byte* to = d_device->base + first * d_sizeof_item;
        d_space.copy(to, d_host->base + from * d_sizeof_item, bytes, lane::upload);
        if (!d_device->aliased)
            d_space.copy(to + d_device->bytes, to, bytes, lane::upload);
    });
    d_space.record(d_copies.add(d_abs_write_offset, d_abs_write_offset + n),
                   lane::upload);
}

// Let the upload lane wait until the items before `end` have been read.
void device_ring::wait_until_read(std::uint64_t end)
{
    using lane = device_space::lane;
    if (d_readers.size() == 1)
        for (std::size_t i = 0; i < d_marks.size(); ++i) {
            const read_mark& m = d_marks[(d_next_mark + i) % d_marks.size()];
            if (m.position >= static_cast<std::int64_t>(end)) {
                d_space.wait(lane::upload, *m.event);
                return;
            }
        }
    // no mark yet: whoever read them has enqueued that by now
    d_space.record(*d_computed, lane::compute);
    d_space.wait(lane::upload, *d_computed);
}

// A reader is about to enqueue work on what was uploaded.
void device_ring::order_reader(unsigned read_index)
{
    using lane = device_space::lane;
    std::int64_t position; // of the read pointer; below zero in the history at the start
    {
        const gr::thread::scoped_lock guard(*mutex());
        position = static_cast<std::int64_t>(d_abs_write_offset) -
                   index_sub(d_write_index, read_index);
    }
    const std::lock_guard<std::mutex> guard(d_copies_lock);
    read_mark& mark = d_marks[d_next_mark];
    d_next_mark = (d_next_mark + 1) % d_marks.size();
    mark.position = position;
    d_space.record(*mark.event, lane::compute);

    // a reader that did not say may take all
    const std::uint64_t ahead = d_read_aheads == d_readers.size() ? d_read_ahead : d_n;
    const auto* newest = d_copies.newest_of(0, position + ahead);
    if (newest && newest->number > d_upload_seen) {
        d_space.wait(lane::compute, *newest->event);
        d_upload_seen = newest->number;
    }
}

void device_ring::download(std::size_t slot, std::size_t n)
{
    using lane = device_space::lane;
    d_space.record(*d_computed, lane::compute);
    d_space.wait(lane::download, *d_computed);
    split(slot, n, d_n, [&](std::size_t first, std::size_t count, std::size_t before) {
        const std::size_t from = d_device->aliased ? first : slot + before;
        const std::size_t bytes = count * d_sizeof_item;
        d_space.copy(d_host->base + first * d_sizeof_item,
                     d_device->base + from * d_sizeof_item,
                     bytes,
                     lane::download);
    });
    d_space.record(d_copies.add(d_abs_write_offset, d_abs_write_offset + n),
                   lane::download);
}

// The host may write up to N/2 items (the scheduler gives no more) from the write index
// on: wait for the uploads that still read what stood there. The wait is outside the
// lock, so that readers go on; if the event is recorded again meanwhile, that is a later
// copy of the same lane.
void device_ring::wait_until_uploaded()
{
    copies_under_way::entry wanted;
    {
        const std::lock_guard<std::mutex> guard(d_copies_lock);
        if (d_abs_write_offset + d_n / 2 <= d_n)
            return; // first time round
        const std::uint64_t end = d_abs_write_offset + d_n / 2 - d_n;
        const auto* newest = d_copies.newest_of(0, end);
        if (!newest)
            return;
        wanted = *newest;
    }
    d_space.host_wait(*wanted.event);
    const std::lock_guard<std::mutex> guard(d_copies_lock);
    d_copies.complete(wanted.number);
}

void device_ring::wait_until_downloaded()
{
    copies_under_way::entry wanted;
    {
        const std::lock_guard<std::mutex> guard(d_copies_lock);
        if (!d_copies.newest())
            return;
        wanted = *d_copies.newest();
    }
    d_space.host_wait(*wanted.event);
    const std::lock_guard<std::mutex> guard(d_copies_lock);
    d_copies.complete(wanted.number);
    if (d_host->aliased || wanted.end <= d_mirrored)
        return;
    // a plain host ring is mirrored here, not by a second download
    split(d_mirrored % d_n,
          wanted.end - d_mirrored,
          d_n,
          [&](std::size_t first, std::size_t count, std::size_t) {
              std::byte* low = d_host->base + first * d_sizeof_item;
              std::memcpy(low + d_host->bytes, low, count * d_sizeof_item);
          });
    d_mirrored = wanted.end;
}

void device_ring::fail(const char* what) noexcept
{
    try {
        {
            const std::lock_guard<std::mutex> guard(d_fault->lock);
            if (d_fault->text.empty()) {
                const gr::block_sptr writer = d_link.lock();
                d_fault->text = sentence(
                    "the edge from ", writer ? writer->alias() : "?", ": ", what);
                d_logger->error("{:s}; the flowgraph ends", d_fault->text);
            }
        }
        d_fault->happened = true;
        set_done(true);
    } catch (...) {
        d_fault->happened = true;
    }
}

} // namespace sar
} // namespace gr
