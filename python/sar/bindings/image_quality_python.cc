// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "targets.h"
#include "whole.h"
#include <gnuradio/sar/image_quality.h>
#include <gnuradio/sar/kernel/core/errors.h>
#include <pybind11/numpy.h>

namespace py = pybind11;
using namespace gr::sar;

namespace {

using pixels =
    py::array_t<std::complex<float>, py::array::c_style | py::array::forcecast>;

py::dict to_dict(const cut_report& c)
{
    py::dict d;
    d["direction"] = c.direction;
    d["cell_m"] = c.cell_m;
    d["position_error_m"] = c.position_error_m;
    d["position_error_cells"] = c.position_error_cells;
    d["irw_m"] = c.irw_m;
    d["irw_theory_m"] = c.irw_theory_m;
    d["pslr_db"] = c.pslr_db;
    d["pslr_theory_db"] = c.pslr_theory_db;
    d["islr_db"] = c.islr_db;
    d["islr_theory_db"] = c.islr_theory_db;
    d["extent_before_m"] = c.extent_before_m;
    d["extent_after_m"] = c.extent_after_m;
    d["half_before_m"] = c.half_before_m;
    d["half_after_m"] = c.half_after_m;
    d["null_before_m"] = c.null_before_m;
    d["null_after_m"] = c.null_after_m;
    if (!c.power.empty()) {
        d["power"] = py::array_t<float>(c.power.size(), c.power.data());
        d["power_theory"] =
            py::array_t<float>(c.power_theory.size(), c.power_theory.data());
    }
    return d;
}

py::dict to_dict(const point_target_report& r)
{
    py::dict d;
    d["found"] = r.found;
    d["pass"] = r.pass;
    d["problem"] = r.problem;
    d["failures"] = r.failures;
    d["expected_m"] = r.expected_m;
    d["position_m"] = r.position_m;
    d["peak_amplitude"] = r.peak_amplitude;
    d["phase_error_rad"] = r.phase_error_rad;
    d["peak_to_median_db"] = r.peak_to_median_db;
    d["range"] = to_dict(r.range);
    d["azimuth"] = to_dict(r.azimuth);
    return d;
}

py::dict to_dict(const image_figures& f)
{
    py::dict d;
    d["pixels"] = f.pixels;
    d["non_finite"] = f.non_finite;
    d["peak"] = f.peak;
    d["mean"] = f.mean;
    d["contrast"] = f.contrast;
    d["entropy_nat"] = f.entropy_nat;
    d["peak_to_median_db"] = f.peak_to_median_db;
    d["saturated"] = f.saturated;
    return d;
}

py::dict to_dict(const image_quality_report& r)
{
    py::dict d;
    d["image"] = r.image;
    d["pass"] = r.pass;
    d["statistics"] = to_dict(r.figures);
    py::list targets;
    for (const auto& t : r.targets)
        targets.append(to_dict(t));
    d["targets"] = targets;
    return d;
}

pixels complex_image(const py::array& image)
{
    // a magnitude image would be taken for one of phase 0 without a word
    require(image.ndim() == 2 && image.dtype().kind() == 'c',
            "image is an array of ",
            image.ndim(),
            " dimensions and type ",
            std::string(py::str(image.dtype())),
            "; expected a 2-D complex array, rows x cols");
    return pixels::ensure(image);
}

point_target_geometry geometry_of(vec3 start,
                                  vec3 centre,
                                  vec3 end,
                                  double carrier_hz,
                                  double bandwidth_hz,
                                  const std::string& range_window,
                                  const std::string& azimuth_window,
                                  const std::string& ends = "angle")
{
    return { start,
             centre,
             end,
             carrier_hz,
             bandwidth_hz,
             window(range_window),
             window(azimuth_window),
             aperture_ends_from_name(ends) };
}

} // namespace

void bind_image_quality(py::module& m)
{
    using block = gr::sar::image_quality;
    const point_target_limits l;
    const point_target_options o;
    auto c = py::
        class_<block, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<block>>(
            m, "image_quality", doc_image_quality);
    c.def(py::init([](const image_grid& grid,
                      vec3 start,
                      vec3 centre,
                      vec3 end,
                      double carrier_hz,
                      double bandwidth_hz,
                      const py::object& targets,
                      const std::string& range_window,
                      const std::string& azimuth_window,
                      double position_cells,
                      double irw,
                      double pslr_db,
                      double islr_db,
                      double phase_rad) {
              return block::make(grid,
                                 geometry_of(start,
                                             centre,
                                             end,
                                             carrier_hz,
                                             bandwidth_hz,
                                             range_window,
                                             azimuth_window),
                                 targets_from<expected_target>(targets),
                                 { position_cells, irw, pslr_db, islr_db, phase_rad });
          }),
          py::arg("grid"),
          py::arg("aperture_start_m"),
          py::arg("aperture_centre_m"),
          py::arg("aperture_end_m"),
          py::arg("carrier_hz"),
          py::arg("bandwidth_hz"),
          py::arg("targets"),
          py::arg("range_window") = "rect",
          py::arg("azimuth_window") = "rect",
          py::arg("position_cells") = l.position_cells,
          py::arg("irw") = l.irw,
          py::arg("pslr_db") = l.pslr_db,
          py::arg("islr_db") = l.islr_db,
          py::arg("phase_rad") = l.phase_rad,
          doc_image_quality_make);
    c.def(
        "reports",
        [](const block& b) {
            py::list out;
            for (const auto& r : b.reports())
                out.append(to_dict(r));
            return out;
        },
        "One dictionary an image, the oldest first; at most the latest 1000.");
    bind_stage(c);

    m.def(
        "measure_point_target",
        [](const py::array& image,
           const image_grid& grid,
           vec3 expected,
           vec3 start,
           vec3 centre,
           vec3 end,
           double carrier_hz,
           double bandwidth_hz,
           const std::string& range_window,
           const std::string& azimuth_window,
           double expected_phase_rad,
           const py::object& chip,
           double search_cells,
           double position_cells,
           double irw,
           double pslr_db,
           double islr_db,
           double phase_rad,
           const std::string& ends,
           bool keep_cuts) {
            const pixels p = complex_image(image);
            require(p.shape(0) == grid->rows && p.shape(1) == grid->cols,
                    "image is ",
                    p.shape(0),
                    " x ",
                    p.shape(1),
                    ", but grid is ",
                    grid->rows,
                    " x ",
                    grid->cols);
            point_target_options options;
            options.chip = whole("chip", chip);
            options.search_cells = search_cells;
            options.expected_phase_rad = expected_phase_rad;
            options.keep_cuts = keep_cuts;
            const auto geometry = geometry_of(start,
                                              centre,
                                              end,
                                              carrier_hz,
                                              bandwidth_hz,
                                              range_window,
                                              azimuth_window,
                                              ends);
            point_target_report r;
            {
                const py::gil_scoped_release release;
                r = measure_point_target(
                    reinterpret_cast<const cf32*>(p.data()),
                    grid,
                    expected,
                    geometry,
                    options,
                    { position_cells, irw, pslr_db, islr_db, phase_rad });
            }
            return to_dict(r);
        },
        py::arg("image"),
        py::arg("grid"),
        py::arg("expected_m"),
        py::arg("aperture_start_m"),
        py::arg("aperture_centre_m"),
        py::arg("aperture_end_m"),
        py::arg("carrier_hz"),
        py::arg("bandwidth_hz"),
        py::arg("range_window") = "rect",
        py::arg("azimuth_window") = "rect",
        py::arg("expected_phase_rad") = 0.0,
        py::arg("chip") = o.chip,
        py::arg("search_cells") = o.search_cells,
        py::arg("position_cells") = l.position_cells,
        py::arg("irw") = l.irw,
        py::arg("pslr_db") = l.pslr_db,
        py::arg("islr_db") = l.islr_db,
        py::arg("phase_rad") = l.phase_rad,
        py::arg("aperture_ends") = "angle",
        py::arg("keep_cuts") = false,
        "Measure one point target in a complex image (rows x cols) and compare with "
        "theory.\n\n"
        "Returns a dictionary: found, pass, problem, failures, expected_m, position_m,\n"
        "peak_amplitude, phase_error_rad, peak_to_median_db, and for range and azimuth\n"
        "position_error_m and _cells, irw_m, pslr_db, islr_db with their theory, and "
        "the\n"
        "nulls null_before_m, null_after_m. With keep_cuts also the cuts: power and\n"
        "power_theory over their peak, evenly spaced from -extent_before_m to\n"
        "extent_after_m. A target\n"
        "that cannot be measured has found = False and a problem. Definitions and "
        "limits:\n"
        "docs/blocks/image_quality.md. Raises ValueError on a geometry that says "
        "nothing.");

    m.def(
        "image_statistics",
        [](const py::array& image, double full_scale) {
            const pixels p = complex_image(image);
            image_figures f;
            {
                const py::gil_scoped_release release;
                f = image_statistics(
                    reinterpret_cast<const cf32*>(p.data()), p.size(), full_scale);
            }
            return to_dict(f);
        },
        py::arg("image"),
        py::arg("full_scale") = 0.0,
        "Figures of a whole complex image: contrast, entropy, peak over median, share "
        "of\n"
        "pixels at or over full_scale (0: not counted), number of pixels not finite.");
}
