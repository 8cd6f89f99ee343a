// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "api.h"
#include "vec3.h"

namespace gr {
namespace sar {

//! The numbers of an image plane; hand them to image_grid, which checks them.
struct image_grid_fields {
    vec3 origin_m = { 0, 0, 0 }; //!< position of pixel (0, 0)
    vec3 row_axis = { 1, 0, 0 }; //!< unit vector along which the row index grows
    vec3 col_axis = { 0, 1, 0 }; //!< unit vector along which the column index grows
    double row_spacing_m = 0;    //!< distance between rows
    double col_spacing_m = 0;    //!< distance between columns
    int rows = 0;
    int cols = 0;
};

/*!
 * \brief Where the pixels of an image are: a plane of equally spaced points.
 *
 * Pixel (i, j) sits at origin + i row_spacing row_axis + j col_spacing col_axis, metres,
 * in the frame of the platform positions. Valid after construction, immutable.
 *
 * \throws std::invalid_argument naming field, value and expectation.
 */
class SAR_KERNEL_API image_grid
{
public:
    explicit image_grid(const image_grid_fields& fields);

    //! A grid around \p centre_m: pixel (rows / 2, cols / 2) lies on it.
    static image_grid centred(vec3 centre_m,
                              vec3 row_axis,
                              vec3 col_axis,
                              double row_spacing_m,
                              double col_spacing_m,
                              int rows,
                              int cols);

    const image_grid_fields* operator->() const { return &d_fields; }
    const image_grid_fields& fields() const { return d_fields; }

    //! Position of a pixel; fractional indices are allowed.
    vec3 position(double row, double col) const
    {
        return d_fields.origin_m + row * row_step() + col * col_step();
    }
    vec3 row_step() const { return d_fields.row_spacing_m * d_fields.row_axis; }
    vec3 col_step() const { return d_fields.col_spacing_m * d_fields.col_axis; }
    //! Unit normal of the plane, row_axis x col_axis.
    vec3 normal() const;
    //! Row and column (fractional) of the point's projection onto the plane.
    void index_of(vec3 point_m, double& row, double& col) const;

private:
    image_grid_fields d_fields;
};

} // namespace sar
} // namespace gr
