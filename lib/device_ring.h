// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_type.h>
#include <gnuradio/sar/api.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <gnuradio/sar/kernel/core/device_space.h>
#include <memory>
#include <mutex>
#include <string>

namespace gr {
namespace sar {

//! Type of a stream port of a block that runs on \p target: device_ring, or GNU Radio's
//! own buffer on the CPU. Give it to every io_signature, also to one without ports: the
//! runtime asks the output signature of a block for the type of its *input* edges.
SAR_API gr::buffer_type stream_type(const compute_target& target);

//! A block whose output is a device_ring, but that writes it from the host (to_device).
struct writes_on_host {
    virtual ~writes_on_host() = default;
};

//! The first error of an edge. Outlives the edge, so that blocks can be asked afterwards.
struct edge_fault {
    std::atomic<bool> happened{ false };
    std::mutex lock;
    std::string text;
};

/*!
 * \brief Copies of an edge that are enqueued and not known to be complete, oldest first.
 *
 * All are in one lane, so that the end of one is the end of all before it. The number of
 * events is fixed: when they are used up the two oldest copies become one that ends when
 * the later one does.
 */
class SAR_API copies_under_way
{
public:
    struct entry {
        std::uint64_t begin = 0;  //!< first item, counted from the start of the stream
        std::uint64_t end = 0;    //!< one past the last
        std::uint64_t number = 0; //!< counts entries, from 1
        device_event* event = nullptr;
    };

    explicit copies_under_way(device_space& space);

    //! Note a copy of items [begin, end); the caller records the event that is returned.
    device_event& add(std::uint64_t begin, std::uint64_t end);
    //! The newest copy, or null.
    const entry* newest() const { return d_size ? &d_entries[d_size - 1] : nullptr; }
    //! The newest copy that touches items [begin, end), or null.
    const entry* newest_of(std::uint64_t begin, std::uint64_t end) const;
    //! The copy of this number, and so all before it, is complete.
    void complete(std::uint64_t number);

private:
    static constexpr std::size_t capacity = 16;
    void drop(std::size_t index);

    std::array<std::unique_ptr<device_event>, capacity> d_events;
    std::array<entry, capacity> d_entries; // events of the unused ones are free
    std::size_t d_size = 0;
    std::uint64_t d_numbers = 0;
};

/*!
 * \brief The stream buffer between device blocks: a ring in device memory.
 *
 * For the scheduler this is a double-mapped buffer: N items, and pointers that are good
 * for N items wherever they start. Indices run modulo 2N, so all N items can be in use.
 *
 * Memory. A ring is *aliased* (one memory mapped twice) when a multiple of both the item
 * and the mapping granularity is affordable. Line lengths like 5000 samples would need
 * gigabytes for that (lcm of 40000 bytes and 2 MiB); their ring is *plain*: two real
 * halves, and what is written at items [w, w + n) is copied to the other half.
 *
 * Crossings. Writer and reader are each on the host or on the device; where they differ,
 * there is a second ring, in page-locked host memory, and post_work() copies across:
 *
 *     writer   reader   when                                   post_work()
 *     device   device   two device blocks                      mirrors a plain ring
 *     host     device   host block -> device block, to_device  uploads
 *     device   host     device block -> host block             downloads
 *     host     host     to_device -> host block                mirrors a plain ring
 *
 * Order. All compute blocks of a device enqueue on one lane, and a consumer sees items
 * only after the producer enqueued its work: between device blocks the lane alone keeps
 * the order, nobody waits. An upload waits until what it overwrites has been read: each
 * call of the reader leaves a mark in the compute lane, and what lies before its read
 * pointer was read before the mark. The compute lane waits for the uploads of the items
 * that the reader may take in this call, not for newer ones: so uploads run beside the
 * computation. The host waits only before it rewrites memory an upload still reads, and
 * before it reads what a download still writes. A device writer need not wait for
 * downloads of the old content: the host has read, so it has waited for them.
 *
 * Errors. The scheduler calls these functions outside work() and cannot bear exceptions:
 * they are caught, logged and kept in fault(); the ring then is done, takes no more items
 * and shows none, which ends writer and readers, and each block's stage::error() tells.
 */
class SAR_API device_ring final : public gr::buffer
{
public:
    static gr::buffer_type type;
    //! Pure virtual in GNU Radio after 3.10.12, unknown before: hence no 'override'.
    gr::buffer_type get_buffer_type() const { return type; }

    //! Called by the runtime. \p owner is the device block the edge belongs to: a stage.
    //! \throws std::runtime_error when memory is short, or the wiring cannot work
    static gr::buffer_sptr make_buffer(int nitems,
                                       std::size_t sizeof_item,
                                       std::uint64_t downstream_lcm_nitems,
                                       std::uint32_t downstream_max_out_mult,
                                       gr::block_sptr link,
                                       gr::block_sptr owner);
    ~device_ring() override;

    int space_available() override;
    void post_work(int nitems) override;
    void* write_pointer() override;
    const void* _read_pointer(unsigned int read_index) override;

    //! Allocate what the readers need, once they are known. \throws std::runtime_error
    void prepare();
    //! Items from its read pointer on that a reader takes in one call, at most.
    void allow_read_ahead(std::uint64_t items);
    device_space& space() const { return d_space; }
    std::shared_ptr<edge_fault> fault() const { return d_fault; }
    const ring_memory& device_memory() const { return *d_device; }
    const ring_memory* host_memory() const { return d_host.get(); }

protected:
    unsigned index_add(unsigned a, unsigned b) override;
    unsigned index_sub(unsigned a, unsigned b) override;

private:
    device_ring(int nitems,
                std::size_t sizeof_item,
                std::uint64_t downstream_lcm_nitems,
                std::uint32_t downstream_max_out_mult,
                const gr::block_sptr& link,
                device_space& space,
                bool written_on_host);

    bool read_on_host() const { return d_transfer_type == transfer_type::DEVICE_TO_HOST; }
    void make_host_ring();
    void upload(std::size_t slot, std::size_t n);
    void download(std::size_t slot, std::size_t n);
    template <typename Copy>
    void mirror(const ring_memory& ring, std::size_t slot, std::size_t n, Copy&& copy);
    void wait_until_read(std::uint64_t end);
    void order_reader(unsigned read_index);
    void wait_until_uploaded();
    void wait_until_downloaded();
    void fail(const char* what) noexcept;

    device_space& d_space;
    const std::size_t d_n; // items in the ring; d_bufsize is the same for the base
    const bool d_written_on_host;
    std::unique_ptr<ring_memory> d_device;
    std::unique_ptr<ring_memory> d_host;

    std::mutex d_copies_lock; // of what follows
    copies_under_way d_copies;
    std::unique_ptr<device_event> d_computed; // the compute lane at the last post_work()
    struct read_mark {
        std::int64_t position = 0; // items before it were read before the event
        std::unique_ptr<device_event> event;
    };
    std::array<read_mark, 8> d_marks; // of the only reader, the oldest at d_next_mark
    std::size_t d_next_mark = 0;
    std::uint64_t d_read_ahead = 0;  // of all readers,
    std::size_t d_read_aheads = 0;   // of which so many have said
    std::uint64_t d_upload_seen = 0; // number of the upload the compute lane waits for
    std::uint64_t d_mirrored = 0;    // items of a plain host ring in both halves

    std::shared_ptr<edge_fault> d_fault = std::make_shared<edge_fault>();
};

} // namespace sar
} // namespace gr
