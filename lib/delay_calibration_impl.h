// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <deque>
#include <gnuradio/sar/delay_calibration.h>
#include <mutex>

namespace gr {
namespace sar {

class delay_calibration_impl final : public delay_calibration
{
public:
    delay_calibration_impl(const delay_calibration_params& params,
                           double first_pulse_s,
                           const std::string& file,
                           const pmt::pmt_t& key,
                           const std::string& command);

    bool start() override;
    bool stop() override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    std::vector<delay_estimate> estimates() const override;
    std::vector<pmt::pmt_t> calibrations() const override;
    bool done() const override;

private:
    int take(int n, const cf32* in, const cf32* reference);
    void heed(const gr::tag_t& tag);
    void restart(std::uint64_t sample);
    void lost(std::uint64_t sample, const std::string& what);
    void finish(const delay_estimate& e);
    pmt::pmt_t message_of(const delay_estimate& e) const;
    void write(const pmt::pmt_t& message) const;

    const std::unique_ptr<kernel::delay_calibration> d_kernel;
    const double d_rate_hz;
    const double d_first_pulse_s;
    const std::string d_file;
    const pmt::pmt_t d_key;
    const std::string d_command;
    //! The clock of the stream: this sample was taken at this time.
    std::uint64_t d_clock_sample = 0;
    std::uint64_t d_clock_whole_s = 0;
    double d_clock_fraction_s = 0;
    bool d_has_clock = false;
    double d_begin_s = 0; // when the measurement began, on that clock
    bool d_measuring = true;
    bool d_begun = false; // samples were taken since the last restart
    mutable std::mutex d_lock;
    std::deque<delay_estimate> d_estimates;
    std::deque<pmt::pmt_t> d_messages;
};

} // namespace sar
} // namespace gr
