// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE qa_nmea
#include <boost/test/unit_test.hpp>

#include "nmea.h"
#include <cmath>

using namespace gr::sar;

BOOST_AUTO_TEST_CASE(local_metres_are_those_of_the_ellipsoid)
{
    // radii of curvature at the equator: a along it, a (1 - e^2) across it
    const double a = 6378137, e2 = 6.69437999014e-3, degree = M_PI / 180;
    const geodetic east = geodetic_of_local({ 100, 0, 0 }, {});
    BOOST_TEST(east.longitude_deg == std::atan2(100, a) / degree,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(std::abs(east.latitude_deg) < 1e-14);
    BOOST_TEST(std::abs(east.height_m - 100 * 100 / (2 * a)) < 1e-8);
    const geodetic north = geodetic_of_local({ 0, 100, 0 }, {});
    BOOST_TEST(north.latitude_deg == 100 / (a * (1 - e2)) / degree,
               boost::test_tools::tolerance(1e-9));
    // up is up, anywhere
    for (const double latitude : { -90.0, -33.9, 0.0, 47.5, 89.9999 })
        for (const double longitude : { -179.99, 0.0, 151.2 }) {
            const geodetic at{ latitude, longitude, 123.4 };
            const geodetic up = geodetic_of_local({ 0, 0, 500 }, at);
            BOOST_TEST(std::abs(up.latitude_deg - latitude) < 1e-12);
            BOOST_TEST(std::abs(up.height_m - 623.4) < 1e-8);
            if (latitude > -90)
                BOOST_TEST(std::abs(up.longitude_deg - longitude) < 1e-9);
        }
}

BOOST_AUTO_TEST_CASE(sentences_of_a_fix)
{
    BOOST_TEST(nmea_fix(43200.25, { 47.5, -122.25, 31.5 }, 10, -90) ==
               "$GPGGA,120000.250000,4730.00000000,N,12215.00000000,W,1,12,0.8,31.5000,M,"
               "0.0,M,,*43\n"
               "$GPRMC,120000.250000,A,4730.00000000,N,12215.00000000,W,19.438,270.00,"
               "010126,,,A*4B\n");
    // never 60 minutes, and the next day
    const std::string s =
        nmea_fix(86400 * 59.0 - 1e-7, { -9.99999999999, 0, -0.5 }, 0, 0);
    BOOST_TEST(s.find("$GPGGA,000000.000000,1000.00000000,S,00000.00000000,E,") == 0, s);
    BOOST_TEST(s.find(",-0.5000,M,") != std::string::npos, s);
    BOOST_TEST(s.find(",010326,") != std::string::npos, s);
}
