// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE qa_host_clock
#include <boost/test/unit_test.hpp>

#include "host_clock.h"
#include <random>

using namespace gr::sar;

namespace {

constexpr double fs = 1e6;
constexpr double difference_s = 12.25; // of the clocks

//! Samples come in a thousand at a time, a little late, and now and then much.
struct stream {
    host_clock clock{ fs };
    std::mt19937 random{ 5 };
    double pace = 1;    // seconds of the host's clock for one of the radio's
    double radio_s = 0; // what was taken
    std::int64_t counted = 0;

    void run(double s)
    {
        for (const double end_s = radio_s + s; radio_s < end_s;) {
            radio_s += 1e-3;
            counted += 1000;
            const double late_s = random() % 20 ? 1e-6 * (random() % 2000) : 0.015;
            clock.arrived(difference_s + pace * radio_s + late_s, counted);
        }
    }
    void lose(std::int64_t samples, bool known)
    {
        radio_s += samples / fs;
        counted += known ? samples : 0;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(the_least_lag_is_the_difference_of_the_clocks)
{
    stream s;
    BOOST_TEST(!s.clock.offset_s().has_value());
    s.run(0.1);
    BOOST_TEST(!s.clock.live());
    BOOST_TEST(*s.clock.offset_s() >= difference_s);
    BOOST_TEST(*s.clock.offset_s() < difference_s + 1e-3);
    s.run(3);
    BOOST_TEST(s.clock.live());
    BOOST_TEST(*s.clock.offset_s() >= difference_s);
    BOOST_TEST(*s.clock.offset_s() < difference_s + 1e-4);
    // a loss that is counted changes nothing
    s.lose(40000, true);
    s.run(0.1);
    BOOST_TEST(*s.clock.offset_s() < difference_s + 1e-4);
    // a count that went wrong does, once that is said
    s.lose(40000, false);
    s.clock.forget_offset();
    s.run(0.2);
    BOOST_TEST(*s.clock.offset_s() >= difference_s + 0.04);
    BOOST_TEST(*s.clock.offset_s() < difference_s + 0.04 + 1e-3);
}

BOOST_AUTO_TEST_CASE(clocks_may_drift_apart)
{
    for (const double ppm : { -60.0, 60.0 }) {
        stream s;
        s.pace = 1 + 1e-6 * ppm;
        s.run(100);
        BOOST_TEST(s.clock.live());
        const double now_s = difference_s + 1e-6 * ppm * s.radio_s;
        BOOST_TEST(*s.clock.offset_s() > now_s - 1e-4);
        BOOST_TEST(*s.clock.offset_s() < now_s + 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(a_recording_is_not_live)
{
    for (const double pace : { 0.1, 0.9, 1.1, 5.0 }) {
        stream s;
        s.pace = pace;
        s.run(3 / pace);
        BOOST_TEST(!s.clock.live());
        BOOST_TEST(!s.clock.knows_losses());
        BOOST_TEST(s.clock.lost_samples() == 0);
    }
}

BOOST_AUTO_TEST_CASE(what_is_missing_in_the_count_comes_late)
{
    stream s;
    s.lose(30000, false); // nothing is known yet
    s.run(0.1);
    BOOST_TEST(s.clock.lost_samples() == 0);
    s.run(1);
    for (int i = 0; i < 3; ++i) {
        s.lose(30000 + 1000 * i, false);
        s.run(0.02);
        BOOST_TEST(std::abs(s.clock.lost_samples() - 30000 - 1000 * i) < 15500);
        s.counted += 30000 + 1000 * i; // once it is known it is not told again
        s.run(0.02);
        BOOST_TEST(s.clock.lost_samples() < 15500);
    }
}
