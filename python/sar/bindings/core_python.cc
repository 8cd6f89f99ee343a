// SPDX-License-Identifier: GPL-3.0-or-later
#include <gnuradio/sar/kernel/core/acquisition.h>
#include <gnuradio/sar/kernel/core/backend.h>
#include <gnuradio/sar/kernel/core/image_grid.h>
#include <gnuradio/sar/kernel/core/trajectory.h>
#include <gnuradio/sar/kernel/core/window.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "vec3_caster.h"
#include "whole.h"

namespace py = pybind11;
using namespace gr::sar;

namespace {

py::dict to_dict(const acquisition& a)
{
    py::dict d;
    d["waveform"] = to_string(a->wave);
    d["samples"] = a->samples;
    d["carrier_hz"] = a->carrier_hz;
    d["prf_hz"] = a->prf_hz;
    d["sample_rate_hz"] = a->sample_rate_hz;
    d["chirp_rate_hz_per_s"] = a->chirp_rate_hz_per_s;
    d["pulse_length_s"] = a->pulse_length_s;
    d["gate_start_s"] = a->gate_start_s;
    d["sweep"] = to_string(a->sweep);
    d["replica_bandwidth_hz"] = a->replica_bandwidth_hz;
    d["frequency_step_hz"] = a->frequency_step_hz;
    d["phase_sign"] = a->phase_sign;
    d["slant_range_first_m"] = a->slant_range_first_m;
    d["range_reference"] = to_string(a->range_from);
    d["reference_point_m"] = a->reference_point_m;
    d["pulse_reference"] = to_string(a->pulse_ref);
    d["range_bias_m"] = a->range_bias_m;
    d["look_side"] = to_string(a->side);
    d["effective_velocity_m_s"] = a->effective_velocity_m_s;
    d["doppler_centroid_hz"] = a->doppler_centroid_hz;
    d["effective_velocity_slopes"] = py::tuple(py::cast(a->effective_velocity_slopes));
    d["doppler_centroid_slopes"] = py::tuple(py::cast(a->doppler_centroid_slopes));
    return d;
}

py::dict to_dict(const image_grid& g)
{
    py::dict d;
    d["origin_m"] = g->origin_m;
    d["row_axis"] = g->row_axis;
    d["col_axis"] = g->col_axis;
    d["row_spacing_m"] = g->row_spacing_m;
    d["col_spacing_m"] = g->col_spacing_m;
    d["rows"] = g->rows;
    d["cols"] = g->cols;
    return d;
}

// Keyword arguments onto fields; an unknown name is an error that lists the known ones.
acquisition make_acquisition(const py::kwargs& kwargs, acquisition_fields f = {})
{
    for (const auto& [key, value_handle] : kwargs) {
        const std::string k = py::cast<std::string>(key);
        const py::object v = py::reinterpret_borrow<py::object>(value_handle);
        if (k == "waveform")
            f.wave = waveform_from_name(v.cast<std::string>());
        else if (k == "samples")
            f.samples = whole("samples", v);
        else if (k == "carrier_hz")
            f.carrier_hz = v.cast<double>();
        else if (k == "prf_hz")
            f.prf_hz = v.cast<double>();
        else if (k == "sample_rate_hz")
            f.sample_rate_hz = v.cast<double>();
        else if (k == "chirp_rate_hz_per_s")
            f.chirp_rate_hz_per_s = v.cast<double>();
        else if (k == "pulse_length_s")
            f.pulse_length_s = v.cast<double>();
        else if (k == "gate_start_s")
            f.gate_start_s = v.cast<double>();
        else if (k == "sweep")
            f.sweep = sweep_shape_from_name(v.cast<std::string>());
        else if (k == "replica_bandwidth_hz")
            f.replica_bandwidth_hz = v.cast<double>();
        else if (k == "frequency_step_hz")
            f.frequency_step_hz = v.cast<double>();
        else if (k == "phase_sign")
            f.phase_sign = whole("phase_sign", v);
        else if (k == "slant_range_first_m")
            f.slant_range_first_m = v.cast<double>();
        else if (k == "range_reference")
            f.range_from = range_reference_from_name(v.cast<std::string>());
        else if (k == "reference_point_m")
            f.reference_point_m = v.cast<vec3>();
        else if (k == "pulse_reference")
            f.pulse_ref = pulse_reference_from_name(v.cast<std::string>());
        else if (k == "range_bias_m")
            f.range_bias_m = v.cast<double>();
        else if (k == "look_side")
            f.side = look_side_from_name(v.cast<std::string>());
        else if (k == "effective_velocity_m_s")
            f.effective_velocity_m_s = v.cast<double>();
        else if (k == "doppler_centroid_hz")
            f.doppler_centroid_hz = v.cast<double>();
        else if (k == "effective_velocity_slopes")
            f.effective_velocity_slopes = v.cast<std::vector<double>>();
        else if (k == "doppler_centroid_slopes")
            f.doppler_centroid_slopes = v.cast<std::vector<double>>();
        else {
            std::string known;
            for (const auto& item : to_dict(acquisition([] {
                     acquisition_fields g;
                     g.samples = 1;
                     g.carrier_hz = 1e9;
                     g.prf_hz = 1;
                     g.wave = waveform::frequency_domain;
                     g.frequency_step_hz = 1;
                     return g;
                 }())))
                known += (known.empty() ? "" : ", ") + py::cast<std::string>(item.first);
            throw std::invalid_argument("acquisition has no parameter '" + k +
                                        "'; expected one of: " + known);
        }
    }
    return acquisition(f);
}

} // namespace

void bind_core(py::module& m)
{
    py::class_<acquisition> acq(
        m,
        "acquisition",
        "The parameters of a recording, checked; immutable.\n\n"
        "Keyword arguments and units: see docs/blocks/acquisition.md.");
    acq.def(py::init([](const py::kwargs& k) { return make_acquisition(k); }))
        .def(
            "replace",
            [](const acquisition& a, const py::kwargs& k) {
                return make_acquisition(k, a.fields());
            },
            "A copy with some parameters replaced, checked again.")
        .def("to_dict", [](const acquisition& a) { return to_dict(a); })
        .def("in_frequency_domain", &acquisition::in_frequency_domain)
        .def("bandwidth_hz", &acquisition::bandwidth_hz)
        .def("centre_frequency_hz", &acquisition::centre_frequency_hz)
        .def("first_frequency_hz", &acquisition::first_frequency_hz)
        .def("doppler_shift_m",
             &acquisition::doppler_shift_m,
             py::arg("doppler_hz"),
             "By how much an echo of a Doppler frequency is seen farther than it is, m.")
        .def("wavelength_m", &acquisition::wavelength_m)
        .def("pulse_samples", &acquisition::pulse_samples)
        .def(
            "compressed_axis", &acquisition::compressed_axis, py::arg("oversampling") = 1)
        .def(
            "range_gate",
            [](const acquisition& a, double near_m, double far_m) {
                int first, cells;
                a.gate_of(near_m, far_m, first, cells);
                return a.gated(first, cells);
            },
            py::arg("near_m"),
            py::arg("far_m"),
            "The acquisition of compressed lines of which only the ranges from near_m to "
            "far_m are kept.")
        .def("__repr__",
             [](const acquisition& a) {
                 return "sar.acquisition(**" + std::string(py::repr(to_dict(a))) + ")";
             })
        .def("__getattr__",
             [](const acquisition& a, const std::string& name) -> py::object {
                 const py::dict d = to_dict(a);
                 if (!d.contains(name))
                     throw py::attribute_error("acquisition has no attribute '" + name +
                                               "'");
                 return d[name.c_str()];
             });

    py::class_<range_axis>(m, "range_axis", "Axis of range-compressed lines.")
        .def_readonly("samples", &range_axis::samples)
        .def_readonly("first_m", &range_axis::first_m)
        .def_readonly("spacing_m", &range_axis::spacing_m)
        .def_readonly("carrier_hz", &range_axis::carrier_hz)
        .def_readonly("bandwidth_hz", &range_axis::bandwidth_hz)
        .def_readonly("range_bias_m", &range_axis::range_bias_m)
        .def_readonly("reference_point_m", &range_axis::reference_point_m)
        .def_property_readonly(
            "range_reference",
            [](const range_axis& a) { return to_string(a.range_from); })
        .def("occupied_band", &range_axis::occupied_band);

    py::class_<image_grid>(
        m,
        "image_grid",
        "A plane of pixels: pixel (i, j) at origin_m + i row_spacing_m "
        "row_axis + j col_spacing_m col_axis; immutable.")
        .def(py::init([](vec3 origin,
                         vec3 row_axis,
                         vec3 col_axis,
                         double row_spacing,
                         double col_spacing,
                         const py::object& rows,
                         const py::object& cols) {
                 image_grid_fields f;
                 f.origin_m = origin;
                 f.row_axis = row_axis;
                 f.col_axis = col_axis;
                 f.row_spacing_m = row_spacing;
                 f.col_spacing_m = col_spacing;
                 f.rows = whole("rows", rows);
                 f.cols = whole("cols", cols);
                 return image_grid(f);
             }),
             py::arg("origin_m"),
             py::arg("row_axis"),
             py::arg("col_axis"),
             py::arg("row_spacing_m"),
             py::arg("col_spacing_m"),
             py::arg("rows"),
             py::arg("cols"))
        .def_static(
            "centred",
            [](vec3 centre,
               vec3 row_axis,
               vec3 col_axis,
               double row_spacing,
               double col_spacing,
               const py::object& rows,
               const py::object& cols) {
                return image_grid::centred(centre,
                                           row_axis,
                                           col_axis,
                                           row_spacing,
                                           col_spacing,
                                           whole("rows", rows),
                                           whole("cols", cols));
            },
            py::arg("centre_m"),
            py::arg("row_axis"),
            py::arg("col_axis"),
            py::arg("row_spacing_m"),
            py::arg("col_spacing_m"),
            py::arg("rows"),
            py::arg("cols"),
            "A grid around centre_m: pixel (rows // 2, cols // 2) lies on it.")
        .def("to_dict", [](const image_grid& g) { return to_dict(g); })
        .def("position", &image_grid::position, py::arg("row"), py::arg("col"))
        .def("normal", &image_grid::normal)
        .def(
            "index_of",
            [](const image_grid& g, vec3 p) {
                double r, c;
                g.index_of(p, r, c);
                return std::make_pair(r, c);
            },
            py::arg("point_m"),
            "Fractional (row, column) of the point's projection onto the plane.")
        .def("__repr__",
             [](const image_grid& g) {
                 return "sar.image_grid(**" + std::string(py::repr(to_dict(g))) + ")";
             })
        .def("__getattr__",
             [](const image_grid& g, const std::string& name) -> py::object {
                 const py::dict d = to_dict(g);
                 if (!d.contains(name))
                     throw py::attribute_error("image_grid has no attribute '" + name +
                                               "'");
                 return d[name.c_str()];
             });

    py::class_<trajectory>(m, "trajectory", "Where the antenna is at a given time.")
        .def_static("straight",
                    &trajectory::straight,
                    py::arg("start_m"),
                    py::arg("velocity_m_s"),
                    "start_m + velocity_m_s * t.")
        .def_static("sampled",
                    &trajectory::sampled,
                    py::arg("times_s"),
                    py::arg("positions_m"),
                    py::arg("clock_offset_s") = 0.0,
                    py::arg("lever_arm_m") = vec3{ 0, 0, 0 },
                    "From a navigation record, cubic Hermite interpolation.")
        .def("position", &trajectory::position, py::arg("t_s"))
        .def("positions",
             &trajectory::positions,
             py::arg("start_s"),
             py::arg("prf_hz"),
             py::arg("pulses"))
        .def("first_s", &trajectory::first_s)
        .def("last_s", &trajectory::last_s);

    py::class_<window>(m, "window", "Spectral weighting, from its text form.")
        .def(py::init<const std::string&>(), py::arg("text"))
        .def("__call__", &window::operator(), py::arg("x"))
        .def("samples", &window::samples, py::arg("n"))
        .def("irw", &window::irw)
        .def("name", &window::name);

    m.def(
        "backend_description",
        [](const std::string& name, int device) {
            return choose_target(backend_from_name(name), device).description;
        },
        py::arg("backend") = "auto",
        py::arg("device") = 0,
        "Where a block with this backend would run, with the reason; raises RuntimeError "
        "with the reason when it cannot.");
    m.def(
        "device_stats",
        [](const std::string& name, int device) {
            const compute_target t = choose_target(backend_from_name(name), device);
            py::dict d;
            if (t.space) {
                auto& s = t.space->stats();
                d["host_waits"] = s.host_waits.load();
                d["uploads"] = s.uploads.load();
                d["downloads"] = s.downloads.load();
                d["device_copies"] = s.device_copies.load();
                d["rings"] = s.rings.load();
                d["ring_bytes"] = s.ring_bytes.load();
            }
            return d;
        },
        py::arg("backend"),
        py::arg("device") = 0,
        "Counters of a device: waits of the host, copies, device rings alive.");
    m.attr("speed_of_light") = speed_of_light;
}
