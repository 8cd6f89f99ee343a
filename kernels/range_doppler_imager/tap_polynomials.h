// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "../rcmc/rcmc.h"

namespace gr {
namespace sar {
namespace kernel {

/*!
 * \brief The taps of an interpolation as polynomials in the position between two samples.
 *
 * With u = position - 1/2, -1/2 .. 1/2, tap k and its mirror image are
 *
 *     w[k](u) = e[k](u^2) + u o[k](u^2),   w[taps - 1 - k](u) = e[k](u^2) - u o[k](u^2)
 *
 * of degree 7. A table is a matter of memory, and a GPU that takes a row of it for every
 * cell waits for its cache; this is arithmetic.
 */
struct tap_polynomials {
    static constexpr int most_pairs = 8;
    static constexpr int terms = 4;
    float even[most_pairs][terms]; //!< e, lowest first
    float odd[most_pairs][terms];  //!< o

    /*!
     * \brief Through the table of \p how at the nodes of a Chebyshev polynomial.
     *
     * \param table  rcm::tap_table(), not used for `linear`
     * \param worst  largest difference from the table
     */
    static tap_polynomials of(migration_interpolation how,
                              const std::vector<rcm::tap_quad>& table,
                              double& worst);

    //! Is there such a form of it?
    static bool exists(migration_interpolation how)
    {
        using m = migration_interpolation;
        return how != m::nearest && how != m::fixed;
    }
};

} // namespace kernel
} // namespace sar
} // namespace gr
