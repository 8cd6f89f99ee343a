// SPDX-License-Identifier: GPL-3.0-or-later
#define BOOST_TEST_MODULE tap_polynomials
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tap_polynomials.h"
#include <cmath>

using namespace gr::sar;
using namespace gr::sar::kernel;
namespace data = boost::unit_test::data;

namespace {

//! Tap \p k at \p u behind the middle of the two samples around it.
double tap(const tap_polynomials& p, int taps, int k, double u)
{
    const int pair = k < taps / 2 ? k : taps - 1 - k;
    const double side = k < taps / 2 ? u : -u;
    double value = 0;
    for (int n = tap_polynomials::terms - 1; n >= 0; --n)
        value = value * u * u + p.even[pair][n] + side * p.odd[pair][n];
    return value;
}

} // namespace

// against the table, between whose rows the stage interpolates: all of them, and what a
// kernel needs, -105 dB
BOOST_DATA_TEST_CASE(are_the_table,
                     data::make({ "exact", "sinc8", "sinc16" }) *
                         data::make({ 0.2, 0.4, 0.6, 0.83, 0.93, 1.0 }),
                     interpolator,
                     band)
{
    const migration_interpolation how = migration_interpolation_from_name(interpolator);
    const std::vector<rcm::tap_quad> table = rcm::tap_table(how, band);
    double worst = 0;
    const tap_polynomials p = tap_polynomials::of(how, table, worst);
    const int taps = rcm::taps_of(how);
    double largest = 0;
    for (int row = 0; row <= rcm::phases; ++row)
        for (int k = 0; k < taps; ++k) {
            const float w = table[row * rcm::width_of(how) / 4 + k / 4].w[k % 4];
            const double u = static_cast<double>(row) / rcm::phases - 0.5;
            largest = std::max(largest, std::abs(tap(p, taps, k, u) - w));
        }
    BOOST_TEST(std::abs(largest - worst) < 1e-7);
    BOOST_TEST(worst < 5e-6);
}

BOOST_AUTO_TEST_CASE(linear_is_exact)
{
    double worst = 1;
    const tap_polynomials p =
        tap_polynomials::of(migration_interpolation::linear, {}, worst);
    BOOST_TEST(worst == 0);
    for (const double at : { 0.0, 0.25, 1.0 }) {
        BOOST_TEST(tap(p, 2, 0, at - 0.5) == 1 - at);
        BOOST_TEST(tap(p, 2, 1, at - 0.5) == at);
    }
}

BOOST_AUTO_TEST_CASE(a_table_that_is_not_smooth_is_noticed)
{
    std::vector<rcm::tap_quad> table =
        rcm::tap_table(migration_interpolation::sinc8, 0.8);
    table[300].w[2] += 1e-3f;
    double worst = 0;
    tap_polynomials::of(migration_interpolation::sinc8, table, worst);
    BOOST_TEST(worst > 5e-4);
}
