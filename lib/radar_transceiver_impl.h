// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "line_block.h"
#include "soapy_radio.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <gnuradio/sar/radar_transceiver.h>
#include <mutex>
#include <thread>
#include <vector>

namespace gr {
namespace sar {

class radar_transceiver_impl final : public radar_transceiver, private line_block
{
public:
    //! Takes radio and transceiver over once nothing throws any more: until then they are
    //! the caller's, who ends the transceiver, which closes the radio, before the radio.
    radar_transceiver_impl(const pulse_framer_params& framing,
                           int lines,
                           const transceiver_settings& settings,
                           std::unique_ptr<known_radio>&& radio,
                           std::unique_ptr<kernel::radar_transceiver>&& transceiver);
    ~radar_transceiver_impl() override;

    bool start() override;
    bool stop() override;
    framer_status status() const override { return noted_status(); }
    transceiver_status radio_status() const override;
    std::map<std::string, std::string> radio_key() const override
    {
        return d_radio->key();
    }
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    //! Samples that wait for the flowgraph, with what is to be told before them.
    struct piece {
        std::vector<cf32> samples, reference;
        std::optional<kernel::radio_news> news;
        std::vector<std::pair<std::int64_t, std::int64_t>> not_sent;
        double host_s = 0;
        std::size_t used = 0;
    };

    std::int64_t room();
    void serve_radio() noexcept;
    void stop_radio() noexcept;
    bool next_piece();
    int give_lines(int noutput_items,
                   const gr_vector_int& ninput_items,
                   const gr_vector_const_void_star& input_items,
                   gr_vector_void_star& output_items);
    double clock_offset_s() const override;
    //! A radio that waits for its reader keeps no time.
    bool is_live(bool) const override { return !d_waits; }
    void add_fields(frame_tag& message) const override;
    bool add_words(std::vector<std::string>& words) override;
    void compare_with_expected();

    const transceiver_settings d_settings;
    const std::unique_ptr<known_radio> d_radio;
    // of the radio's thread while there is one, of the flowgraph's otherwise
    std::unique_ptr<kernel::radar_transceiver> d_transceiver;
    const std::size_t d_room; // samples that may wait

    const bool d_waits; // as the radio does

    std::thread d_thread;
    std::atomic<bool> d_stop{ false };

    mutable std::mutex d_queue_lock; // of what follows
    std::condition_variable d_more, d_less;
    std::deque<piece> d_queue;
    std::size_t d_waiting = 0;  // samples in it
    std::vector<piece> d_spare; // whose memory is used again
    bool d_radio_ended = false; // the thread has left
    std::string d_radio_error;  // and this is why
    std::vector<std::string> d_said;
    transceiver_status d_radio_status;

    piece d_piece;             // being framed
    transceiver_status d_told; // at the last report
    bool d_compared = false;
    double d_offset_samples = 0; // measured at this start
};

} // namespace sar
} // namespace gr
