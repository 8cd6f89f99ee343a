// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "device_ring.h"
#include "frame_flow.h"
#include "guarded_work.h"
#include <atomic>
#include <cstdint>

namespace gr {
namespace sar {

/*!
 * \brief The scheduler's side of a frame stage: what azimuth_fft, azimuth_filter,
 * doppler_centroid and the imagers have in common.
 *
 * \tparam Block the public class, a gr::block and a stage with bad_lines(). The stage
 * itself is what frame_flow::client asks for; its constructor calls d_flow.set_frames(),
 * its finish() counts in d_done.
 */
template <typename Block>
class frame_block : public Block, protected frame_flow::client
{
public:
    bool start() override
    {
        d_flow.restart();
        this->start_stage(*this);
        return gr::block::start();
    }

    bool stop() override
    {
        say_at_end(this->d_logger, [&] {
            this->d_logger->info("{:d} {:s}", d_done.load(), frames_are());
            if (const std::uint64_t n = this->bad_lines())
                this->d_logger->warn(
                    "{:d} lines or rows held values that are not finite and {:s}",
                    n,
                    bad_lines_did());
        });
        return gr::block::stop();
    }

    void forecast(int, gr_vector_int& required) override { d_flow.forecast(required); }

    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        return this->guarded(*this, [&] {
            return d_flow.work(noutput_items, ninput_items, input_items, output_items);
        });
    }

protected:
    virtual const char* frames_are() const { return "frames"; }
    virtual const char* bad_lines_did() const { return "were zeroed"; }

    frame_flow d_flow{ *this, *this };
    std::atomic<std::uint64_t> d_done{ 0 }; // frames finished, over all runs
};

} // namespace sar
} // namespace gr
