// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/kernel/pulse_framer/pulse_framer.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <stdexcept>
#include <string>
#include <vector>

//! Complex values, such as the samples of a pulse; None: none.
inline std::vector<gr::sar::cf32> samples_from(const pybind11::object& value,
                                               const std::string& name = "replica",
                                               const std::string& what = "samples")
{
    namespace py = pybind11;
    if (value.is_none())
        return {};
    const auto a = py::array_t<std::complex<float>,
                               py::array::c_style | py::array::forcecast>::ensure(value);
    if (!a || a.ndim() != 1)
        throw std::invalid_argument(name + " is " + std::string(py::str(value)) +
                                    "; expected a list of complex " + what);
    const auto* p = reinterpret_cast<const gr::sar::cf32*>(a.data());
    return { p, p + a.size() };
}

//! Counters and newest measurements of a framer.
inline pybind11::dict to_dict(const gr::sar::framer_status& s)
{
    pybind11::dict d;
    d["alignment"] = s.alignment;
    d["locked"] = s.locked;
    d["samples"] = s.samples;
    d["framed"] = s.framed;
    d["lost"] = s.lost;
    d["filled"] = s.filled;
    d["estimated"] = s.estimated;
    d["unmeasured"] = s.unmeasured;
    d["gaps"] = s.gaps;
    d["silent_gaps"] = s.silent_gaps;
    d["lost_samples"] = s.lost_samples;
    d["rejected_stamps"] = s.rejected_stamps;
    d["clipped"] = s.clipped;
    d["interval_samples"] = s.interval_samples;
    d["jitter_rms_samples"] = s.jitter_rms_samples;
    d["delay_s"] = s.delay_s;
    d["delay_drift_samples_per_s"] = s.delay_drift_samples_per_s;
    d["amplitude_db"] = s.amplitude_db;
    d["snr_db"] = s.snr_db;
    d["phase_rad"] = s.phase_rad;
    d["phase_drift_hz"] = s.phase_drift_hz;
    d["dc"] = std::complex<double>(s.dc_re, s.dc_im);
    d["image_db"] = s.image_db;
    return d;
}
