// SPDX-License-Identifier: GPL-3.0-or-later
#include "image_grid.h"
#include "errors.h"
#include <cmath>

namespace gr {
namespace sar {

namespace {
void require_unit(const char* name, vec3 v)
{
    require(is_finite(v) && std::abs(length(v) - 1) < 1e-6,
            name,
            " is (",
            v.x,
            ", ",
            v.y,
            ", ",
            v.z,
            ") of length ",
            length(v),
            "; expected a unit vector");
}
} // namespace

image_grid::image_grid(const image_grid_fields& fields) : d_fields(fields)
{
    const image_grid_fields& f = d_fields;
    require(f.rows >= 1, "rows is ", f.rows, "; expected 1 or more");
    require(f.cols >= 1, "cols is ", f.cols, "; expected 1 or more");
    require(std::isfinite(f.row_spacing_m) && f.row_spacing_m > 0,
            "row_spacing_m is ",
            f.row_spacing_m,
            " m; expected a positive distance");
    require(std::isfinite(f.col_spacing_m) && f.col_spacing_m > 0,
            "col_spacing_m is ",
            f.col_spacing_m,
            " m; expected a positive distance");
    require(is_finite(f.origin_m), "origin_m is not finite; expected three metres");
    require_unit("row_axis", f.row_axis);
    require_unit("col_axis", f.col_axis);
    require(
        length(cross(f.row_axis, f.col_axis)) > 1e-3,
        "row_axis and col_axis are parallel; expected two directions that span a plane");
}

image_grid image_grid::centred(vec3 centre_m,
                               vec3 row_axis,
                               vec3 col_axis,
                               double row_spacing_m,
                               double col_spacing_m,
                               int rows,
                               int cols)
{
    image_grid_fields f;
    f.origin_m = centre_m - (rows / 2) * row_spacing_m * row_axis -
                 (cols / 2) * col_spacing_m * col_axis;
    f.row_axis = row_axis;
    f.col_axis = col_axis;
    f.row_spacing_m = row_spacing_m;
    f.col_spacing_m = col_spacing_m;
    f.rows = rows;
    f.cols = cols;
    return image_grid(f);
}

vec3 image_grid::normal() const
{
    const vec3 n = cross(d_fields.row_axis, d_fields.col_axis);
    return (1 / length(n)) * n;
}

void image_grid::index_of(vec3 point_m, double& row, double& col) const
{
    // least squares in the (possibly oblique) basis of the two axes
    const vec3 d = point_m - d_fields.origin_m;
    const double g = dot(d_fields.row_axis, d_fields.col_axis);
    const double a = dot(d, d_fields.row_axis);
    const double b = dot(d, d_fields.col_axis);
    const double det = 1 - g * g;
    row = (a - g * b) / det / d_fields.row_spacing_m;
    col = (b - g * a) / det / d_fields.col_spacing_m;
}

} // namespace sar
} // namespace gr
