// SPDX-License-Identifier: GPL-3.0-or-later
#include <gnuradio/sar/kernel/core/image_grid.h>
#include <gnuradio/sar/kernel/core/range_doppler.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "vec3_caster.h"
#include "whole.h"

namespace py = pybind11;
using namespace gr::sar;

namespace {

doppler_band band_of(const std::string& weighting, double bandwidth_hz, int looks = 1)
{
    return { window(weighting), bandwidth_hz, looks };
}

// A column of a table of structs as a numpy array.
template <typename T>
py::array_t<double> field(const std::vector<T>& table, double T::*member)
{
    py::array_t<double> a(static_cast<py::ssize_t>(table.size()));
    double* p = a.mutable_data();
    for (const T& row : table)
        *p++ = row.*member;
    return a;
}

image_grid grid_of(const range_doppler_frame& f, int first, int rows, double first_line)
{
    image_grid_fields g;
    g.row_spacing_m = f.velocity_m_s / f.prf_hz;
    g.col_spacing_m = f.spacing_m;
    g.origin_m = { g.row_spacing_m * (first_line + f.first_row + first),
                   f.out_first_m,
                   0 };
    g.row_axis = { 1, 0, 0 };
    g.col_axis = { 0, 1, 0 };
    g.rows = rows;
    g.cols = f.cols;
    return image_grid(g);
}

} // namespace

void bind_range_doppler(py::module& m)
{
    py::class_<range_doppler_frame>(
        m, "range_doppler_frame", "Numbers of one frame in the range-Doppler domain.")
        .def_readonly("lines", &range_doppler_frame::lines)
        .def_readonly("rows", &range_doppler_frame::rows)
        .def_readonly("cols", &range_doppler_frame::cols)
        .def_readonly("prf_hz", &range_doppler_frame::prf_hz)
        .def_readonly("carrier_hz", &range_doppler_frame::carrier_hz)
        .def_readonly("bandwidth_hz", &range_doppler_frame::bandwidth_hz)
        .def_readonly("line_first_m", &range_doppler_frame::line_first_m)
        .def_readonly("spacing_m", &range_doppler_frame::spacing_m)
        .def_readonly("bias_m", &range_doppler_frame::bias_m)
        .def_property_readonly(
            "geometry",
            [](const range_doppler_frame& f) { return to_string(f.geometry); })
        .def_readonly("out_first_m", &range_doppler_frame::out_first_m)
        .def_readonly("middle_m", &range_doppler_frame::middle_m)
        .def_readonly("velocity_m_s", &range_doppler_frame::velocity_m_s)
        .def_readonly("centroid_hz", &range_doppler_frame::centroid_hz)
        .def_readonly("factor", &range_doppler_frame::factor)
        .def_readonly("uniform", &range_doppler_frame::uniform)
        .def_readonly("first_row", &range_doppler_frame::first_row);

    py::class_<range_doppler_plan>(
        m,
        "range_doppler_plan",
        "Geometry of a frame in the range-Doppler domain, as its stages see it.\n\n"
        "Raises ValueError naming parameter, value and expectation.")
        .def(py::init([](const acquisition& acq,
                         const py::object& lines,
                         const py::object& fft_length,
                         const py::object& oversampling,
                         const std::string& geometry) {
                 return range_doppler_plan(
                     range_doppler_params{ acq,
                                           whole("oversampling", oversampling),
                                           whole("lines", lines),
                                           whole("fft_length", fft_length),
                                           image_geometry_from_name(geometry) });
             }),
             py::arg("acq"),
             py::arg("lines"),
             py::arg("fft_length") = 0,
             py::arg("oversampling") = 1,
             py::arg("geometry") = "zero_doppler")
        .def_property_readonly("frame", &range_doppler_plan::frame)
        .def("set_centroid",
             &range_doppler_plan::set_centroid,
             py::arg("coefficients_hz"),
             "Coefficients in slant range minus acq.slant_range_first_m, lowest first.")
        .def("centroid", &range_doppler_plan::centroid)
        .def("velocity_at", &range_doppler_plan::velocity_at, py::arg("slant_range_m"))
        .def("centroid_at", &range_doppler_plan::centroid_at, py::arg("slant_range_m"))
        .def(
            "rows",
            [](const range_doppler_plan& p) {
                const auto rows = p.rows();
                py::dict d;
                d["frequency_hz"] = field(rows, &doppler_row::frequency_hz);
                d["factor"] = field(rows, &doppler_row::factor);
                return d;
            },
            "Of each row (Doppler bin), at the middle of the swath: frequency_hz, "
            "absolute, "
            "and factor, D.")
        .def(
            "columns",
            [](const range_doppler_plan& p) {
                const auto cells = p.columns();
                py::dict d;
                d["closest_m"] = field(cells, &doppler_column::closest_m);
                d["velocity_m_s"] = field(cells, &doppler_column::velocity_m_s);
                d["centroid_hz"] = field(cells, &doppler_column::centroid_hz);
                d["beam_delay_s"] = field(cells, &doppler_column::beam_delay_s);
                return d;
            },
            "Of each cell (column) of the image: closest_m, velocity_m_s, centroid_hz, "
            "beam_delay_s (beam centre minus closest approach).")
        .def(
            "gains",
            [](const range_doppler_plan& p,
               const std::string& window,
               double bandwidth_hz,
               const py::object& looks,
               const py::object& look) {
                const int l = whole("look", look);
                const std::vector<float> g =
                    p.gains(band_of(window, bandwidth_hz, whole("looks", looks)), l);
                return py::array_t<float>(static_cast<py::ssize_t>(g.size()), g.data());
            },
            py::arg("window") = "rect",
            py::arg("bandwidth_hz") = 0.0,
            py::arg("looks") = 1,
            py::arg("look") = 0,
            "Factor by cell that makes the peak of a unit point 1.")
        .def(
            "aperture_lines",
            [](const range_doppler_plan& p, double bandwidth_hz) {
                return p.aperture_lines(band_of("rect", bandwidth_hz));
            },
            py::arg("bandwidth_hz") = 0.0,
            "Lines from the first to the last moment in the Doppler band (0: the PRF), "
            "the "
            "most over the swath.")
        .def(
            "valid_rows",
            [](const range_doppler_plan& p, double bandwidth_hz) {
                int first = 0;
                const int count = p.valid_rows(band_of("rect", bandwidth_hz), first);
                return std::make_pair(first, count);
            },
            py::arg("bandwidth_hz") = 0.0,
            "(first, number) of the image rows whose whole aperture lies in the frame.")
        .def(
            "grid",
            [](const range_doppler_plan& p,
               const py::object& first,
               const py::object& rows,
               double first_line) {
                const range_doppler_frame& f = p.frame();
                const int from = whole("first", first);
                const int count = whole("rows", rows);
                return grid_of(f, from, count > 0 ? count : f.rows - from, first_line);
            },
            py::arg("first") = 0,
            py::arg("rows") = 0,
            py::arg("first_line") = 0.0,
            "image_grid of the image's rows first .. first + rows - 1 (0: to the last) "
            "in "
            "slant-plane coordinates: x = velocity times time along the track, y = "
            "range.");

    m.def("fast_fft_length",
          &fast_fft_length,
          py::arg("n"),
          "Smallest length >= n with no prime factor above 7.");
}
