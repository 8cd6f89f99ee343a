// SPDX-License-Identifier: GPL-3.0-or-later
#include "bind_stage.h"
#include "whole.h"
#include <gnuradio/sar/kernel/stolt/stolt.h>
#include <gnuradio/sar/stolt.h>

namespace py = pybind11;

void bind_stolt(py::module& m)
{
    using gr::sar::stolt;
    auto c = py::
        class_<stolt, gr::sync_block, gr::block, gr::basic_block, std::shared_ptr<stolt>>(
            m, "stolt", doc_stolt);
    c.def(py::init([](const gr::sar::acquisition& acq,
                      const py::object& lines,
                      const py::object& fft_length,
                      const py::object& oversampling,
                      const std::string& interpolation,
                      const std::string& geometry,
                      const std::string& storage,
                      const std::string& backend,
                      const py::object& device) {
              return stolt::make(acq,
                                 whole("lines", lines),
                                 whole("fft_length", fft_length),
                                 whole("oversampling", oversampling),
                                 interpolation,
                                 geometry,
                                 storage,
                                 backend,
                                 whole("device", device));
          }),
          py::arg("acq"),
          py::arg("lines"),
          py::arg("fft_length") = 0,
          py::arg("oversampling") = 1,
          py::arg("interpolation") = "exact",
          py::arg("geometry") = "zero_doppler",
          py::arg("storage") = "single",
          py::arg("backend") = "auto",
          py::arg("device") = 0,
          doc_stolt_make);
    c.def("rows", &stolt::rows, "Rows of a frame.")
        .def("slant_range_first_m",
             &stolt::slant_range_first_m,
             "Range of cell 0 of the output, m, for the Doppler centroid in use.")
        .def("residual_migration_cells",
             &stolt::residual_migration_cells,
             "Largest migration that is left where velocity or centroid vary over the "
             "swath, cells.")
        .def("bad_lines",
             &stolt::bad_lines,
             "Rows so far that were zeroed for a value that is not finite.");
    bind_stage(c);

    m.def("residual_migration_cells",
          &gr::sar::kernel::residual_migration_cells,
          py::arg("plan"),
          "Largest migration, cells, that the Stolt mapping leaves for a "
          "range_doppler_plan whose velocity or centroid vary over the swath.");
    m.def(
        "mapped_band",
        [](const gr::sar::range_doppler_plan& plan) {
            const auto b = gr::sar::kernel::mapped_band_of(plan);
            py::dict d;
            d["widest_hz"] = b.widest_hz;
            d["needed_hz"] = b.needed_hz;
            d["cells_hz"] = b.cells_hz;
            d["oversampling"] = b.oversampling;
            return d;
        },
        py::arg("plan"),
        "The band that the Stolt mapping makes for a range_doppler_plan: widest_hz, "
        "needed_hz (what cells must hold), cells_hz (what they hold) and the least "
        "oversampling with which they hold it.");
}
