// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/kernel/pulse_compression/pulse_compression.h>
#include <gnuradio/sar/pulse_compression.h>

namespace gr {
namespace sar {

class pulse_compression_impl final : public pulse_compression
{
public:
    pulse_compression_impl(const kernel::pulse_compression_params& params,
                           const compute_target& target);

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    range_axis axis() const override { return d_kernel->axis(); }
    int first_valid() const override { return d_kernel->first_valid(); }
    int valid_samples() const override { return d_kernel->valid_samples(); }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }

private:
    //! A line of the batch from which on lines of a triangle are counted anew.
    struct numbering {
        int line;
        std::int64_t number;
    };

    std::vector<numbering> pass_tags(int lines);
    pmt::pmt_t compressed_frame(const pmt::pmt_t& frame) const;

    std::unique_ptr<kernel::pulse_compression> d_kernel;
    const bool d_triangle;     // the one waveform for which numbers of lines matter
    std::int64_t d_number = 0; // of the next line
};

} // namespace sar
} // namespace gr
