// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/chirp_z.h>
#include <gnuradio/sar/kernel/chirp_z/chirp_z.h>
#include <pmt/pmt.h>

namespace gr {
namespace sar {

class chirp_z_impl final : public chirp_z
{
public:
    //! \param params    for the kernel, in cycles per sample
    //! \param first, step  in the user's unit, for tags
    chirp_z_impl(const kernel::chirp_z_params& params,
                 double first,
                 double step,
                 const compute_target& target);

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    int samples_out() const override { return d_kernel->params().samples_out; }
    double frequency_step() const override { return d_step; }
    int fft_length() const override { return d_kernel->fft_length(); }
    std::uint64_t bad_lines() const override { return d_kernel->bad_lines(); }

private:
    void pass_tags(int lines);
    pmt::pmt_t transformed_frame(const pmt::pmt_t& value) const;

    const double d_first;
    const double d_step;
    std::unique_ptr<kernel::chirp_z> d_kernel;
};

} // namespace sar
} // namespace gr
