// SPDX-License-Identifier: GPL-3.0-or-later
#include "nmea.h"
#include "../kernels/core/constants.h"
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <locale>
#include <sstream>

namespace gr {
namespace sar {

namespace {

constexpr double semi_major_m = 6378137.0;
constexpr double flattening = 1 / 298.257223563;
constexpr double e2 = flattening * (2 - flattening);
constexpr double degree = pi / 180;
constexpr double knot_m_s = 1852.0 / 3600;

double prime_vertical_m(double sine)
{
    return semi_major_m / std::sqrt(1 - e2 * sine * sine);
}

//! The sentence between $ and *, with both and the checksum.
std::string sentence_of(const std::string& body)
{
    unsigned sum = 0;
    for (const char c : body)
        sum ^= static_cast<unsigned char>(c);
    char end[8];
    std::snprintf(end, sizeof(end), "*%02X\n", sum);
    return "$" + body + end;
}

//! Degrees and minutes, rounded as a whole: never 60 minutes.
std::string angle_of(double deg, int digits, char positive, char negative)
{
    constexpr std::int64_t part = 100000000, degree_parts = 60 * part;
    const std::int64_t v = std::llround(std::abs(deg) * degree_parts);
    char text[48];
    std::snprintf(text,
                  sizeof(text),
                  "%0*lld%02lld.%08lld,%c",
                  digits,
                  static_cast<long long>(v / degree_parts),
                  static_cast<long long>(v % degree_parts / part),
                  static_cast<long long>(v % part),
                  deg < 0 ? negative : positive);
    return text;
}

//! \p places decimals, with a point wherever the program runs.
std::string decimal_of(double x, int places)
{
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::fixed << std::setprecision(places) << x;
    return text.str();
}

} // namespace

geodetic geodetic_of_local(const vec3& local, const geodetic& origin)
{
    const double sp = std::sin(origin.latitude_deg * degree);
    const double cp = std::cos(origin.latitude_deg * degree);
    const double sl = std::sin(origin.longitude_deg * degree);
    const double cl = std::cos(origin.longitude_deg * degree);
    const double n0 = prime_vertical_m(sp);
    const double horizontal = (n0 + origin.height_m) * cp;
    const double x =
        horizontal * cl - sl * local.x - sp * cl * local.y + cp * cl * local.z;
    const double y =
        horizontal * sl + cl * local.x - sp * sl * local.y + cp * sl * local.z;
    const double z = (n0 * (1 - e2) + origin.height_m) * sp + cp * local.y + sp * local.z;
    const double r = std::hypot(x, y);
    double phi = std::atan2(z, r * (1 - e2));
    for (int i = 0; i < 6; ++i) {
        const double s = std::sin(phi);
        phi = std::atan2(z + e2 * prime_vertical_m(s) * s, r);
    }
    const double s = std::sin(phi), c = std::cos(phi);
    // along the normal: good at the poles, too
    const double h = r * c + z * s - semi_major_m * std::sqrt(1 - e2 * s * s);
    return { phi / degree, std::atan2(y, x) / degree, h };
}

std::string
nmea_fix(double utc_s, const geodetic& at, double speed_m_s, double course_deg)
{
    constexpr std::int64_t second = 1000000, begin_of_2026 = 1767225600; // POSIX time
    const std::int64_t t = std::llround(utc_s * second);
    const std::int64_t part = (t % second + second) % second;
    const std::time_t whole = begin_of_2026 + (t - part) / second;
    std::tm at_utc = {};
    gmtime_r(&whole, &at_utc);
    char time[32], date[16];
    std::strftime(time, sizeof(time), "%H%M%S", &at_utc);
    std::snprintf(time + 6, sizeof(time) - 6, ".%06d", static_cast<int>(part));
    std::strftime(date, sizeof(date), "%d%m%y", &at_utc);
    const std::string place = angle_of(at.latitude_deg, 2, 'N', 'S') + "," +
                              angle_of(at.longitude_deg, 3, 'E', 'W');
    double course = std::fmod(course_deg, 360);
    course += course < 0 ? 360 : 0;
    return sentence_of(std::string("GPGGA,") + time + "," + place + ",1,12,0.8," +
                       decimal_of(at.height_m, 4) + ",M,0.0,M,,") +
           sentence_of(std::string("GPRMC,") + time + ",A," + place + "," +
                       decimal_of(speed_m_s / knot_m_s, 3) + "," + decimal_of(course, 2) +
                       "," + date + ",,,A");
}

} // namespace sar
} // namespace gr
