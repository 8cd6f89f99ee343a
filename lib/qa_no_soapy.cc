// SPDX-License-Identifier: GPL-3.0-or-later
//
// What stands in for soapy_radio.cc where SoapySDR is not there, in any build.
#define BOOST_TEST_MODULE qa_no_soapy
#include <boost/test/unit_test.hpp>

#include "no_soapy.cc"
#include <string>

BOOST_AUTO_TEST_CASE(it_says_what_is_missing_and_what_to_do)
{
    const gr::sar::radio_settings settings{ "driver=lime", "" };
    BOOST_CHECK_EXCEPTION(gr::sar::open_soapy_radio(settings, 1e6, 1e9, true),
                          std::invalid_argument,
                          [](const std::invalid_argument& e) {
                              const std::string s = e.what();
                              return s.find("built without SoapySDR") !=
                                         std::string::npos &&
                                     s.find("libsoapysdr-dev") != std::string::npos &&
                                     s.find("ENABLE_SOAPY not OFF") != std::string::npos;
                          });
}
