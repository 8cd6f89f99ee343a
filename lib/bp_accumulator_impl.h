// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/bp_accumulator.h>
#include <memory>
#include <mutex>

namespace gr {
namespace sar {

class bp_accumulator_impl final : public bp_accumulator
{
public:
    bp_accumulator_impl(const kernel::bp_accumulator_params& params,
                        int pulses_per_image,
                        int hop,
                        const compute_target& target);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    kernel::bp_report report() const override;
    std::uint64_t images() const override { return d_images; }
    const kernel::bp_accumulator_params& params() const override
    {
        return d_kernel->params();
    }

private:
    enum class state {
        collect, //!< pulses are added
        emit,    //!< rows go out, nothing is taken in
        finished //!< the input has ended and its last image is out
    };

    int collect(int pulses, const gr_vector_const_void_star& input_items);
    int emit(int rows, void* out);
    void finish();
    void begin_image(bool complete);

    bool input_ended(int port) const;
    int input_available(int port) const;
    void check_frames(int lines);
    void warn_of_unused();
    void tag_image();

    const int d_pulses_per_image; // 0: all
    const int d_hop;              // from image to image; 0: one image
    mutable std::mutex d_lock;    // report() is called from other threads
    std::unique_ptr<kernel::bp_accumulator> d_kernel;

    state d_state = state::collect;
    bool d_input_over = false;
    bool d_advance = false;         // before the next pulse
    std::uint64_t d_pulses = 0;     // taken in, with skipped ones
    std::uint64_t d_new_pulses = 0; // since the last image
    int d_in_hop = 0;               // in the current sub-image
    int d_row = 0;                  // next to go out
    bool d_complete = true;         // the aperture of the image that goes out
    std::atomic<std::uint64_t> d_images{ 0 };
};

} // namespace sar
} // namespace gr
