// SPDX-License-Identifier: GPL-3.0-or-later
#include "nmea.h"
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace gr {
namespace sar {

namespace {

constexpr double semi_major_m = 6378137.0;
constexpr double flattening = 1 / 298.257223563;
constexpr double e2 = flattening * (2 - flattening);
constexpr double degree = M_PI / 180;
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
    double scale = 1;
    for (int i = 0; i < places; ++i)
        scale *= 10;
    const long long v = std::llround(std::abs(x) * scale);
    const auto s = static_cast<long long>(scale);
    char text[48];
    std::snprintf(text,
                  sizeof(text),
                  "%s%lld.%0*lld",
                  x < 0 && v > 0 ? "-" : "",
                  v / s,
                  places,
                  v % s);
    return text;
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
    constexpr std::int64_t second = 1000000, day = 86400 * second;
    const std::int64_t t = std::llround(utc_s * second);
    const std::int64_t days = t >= 0 ? t / day : -((-t + day - 1) / day);
    const std::int64_t of_day = t - days * day;
    char time[32];
    std::snprintf(time,
                  sizeof(time),
                  "%02d%02d%02d.%06d",
                  static_cast<int>(of_day / (3600 * second)),
                  static_cast<int>(of_day / (60 * second) % 60),
                  static_cast<int>(of_day / second % 60),
                  static_cast<int>(of_day % second));
    // H. Fliegel, T. Van Flandern, Communications of the ACM 11 (1968): 2026-01-01 is the
    // Julian day 2461042
    std::int64_t l = 2461042 + days + 68569;
    const std::int64_t n = 4 * l / 146097;
    l -= (146097 * n + 3) / 4;
    const std::int64_t i = 4000 * (l + 1) / 1461001;
    l += 31 - 1461 * i / 4;
    const std::int64_t j = 80 * l / 2447;
    const auto day_of_month = static_cast<int>(l - 2447 * j / 80);
    const auto month = static_cast<int>(j + 2 - 12 * (j / 11));
    const auto year = static_cast<int>(100 * (n - 49) + i + j / 11);
    char date[16];
    std::snprintf(
        date, sizeof(date), "%02d%02d%02d", day_of_month % 100, month % 100, year % 100);
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
