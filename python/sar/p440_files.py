# SPDX-License-Identifier: GPL-3.0-or-later
"""Scans of a P440 impulse radar on a rail, with motion capture on another clock.

A folder with ``scans.json`` (data type, sizes, first range bin and step), ``scans.ri32_le``
(real samples of the radio frequency itself), ``scan_time_ms.csv`` (radar clock of each scan),
``platform.csv`` (t_s, x_m, y_m, z_m of the motion capture) and perhaps ``reflectors.csv``.

Model: an impulse needs no pulse compression, so the waveform is "replica" with the one-sample
replica [1]. Real lines are made analytic and shifted to baseband around 4.02 GHz, the centroid
of what moves; the carrier of the acquisition is that frequency. Pulse times are the radar's
clock minus its first stamp.
"""

import json
import os

import numpy as np

from . import sigmf_files
from .recordings import (C, Recording, RecordingError, attach_navigation, make_acquisition,
                         read_csv)
from .samples import data_type, file_bytes, sample_stream

CENTRE_HZ = 4.02e9
BANDWIDTH_HZ = 1.8e9  # 3.1 to 4.9 GHz


def _folder(path):
    return path if os.path.isdir(path) else os.path.dirname(path) or "."


def matches(path):
    """True for the folder, its scans.json or its scans.* data file."""
    name = os.path.basename(path)
    if not (os.path.isdir(path) or name.startswith("scans.")):
        return False
    if not os.path.exists(os.path.join(_folder(path), "scans.json")):
        if os.path.isdir(path):
            raise RecordingError(f"{path} is a folder without scans.json; expected a file, or "
                                 "the folder of a P440 rail set")
        return False
    return True


def read(path, fields, options):
    folder = _folder(path)
    with open(os.path.join(folder, "scans.json"), encoding="utf-8") as f:
        info = json.load(f)
    for key in ("datatype", "samples_per_scan", "first_range_bin_m", "range_bin_step_m"):
        if key not in info:
            raise RecordingError(f"{folder}/scans.json does not say {key}")
    dtype = data_type(info["datatype"])
    values = {"waveform": "replica", "samples": info["samples_per_scan"],
              "carrier_hz": CENTRE_HZ, "replica_bandwidth_hz": BANDWIDTH_HZ,
              "sample_rate_hz": C / (2 * info["range_bin_step_m"]),
              "slant_range_first_m": info["first_range_bin_m"], "look_side": "left"}
    stamps = read_csv(os.path.join(folder, "scan_time_ms.csv"), "radar clock in ms")
    times = (stamps["radar_clock_ms"] - stamps["radar_clock_ms"][0]) / 1e3
    values["prf_hz"] = (len(times) - 1) / (times[-1] - times[0])
    values.update(fields)
    acq = make_acquisition(values, "scans.json")

    data = os.path.join(folder, "scans." + info["datatype"])
    if not os.path.exists(data):
        raise RecordingError(f"{data} does not exist (the samples of scans.json)")
    stream = sample_stream(file_bytes(data), dtype, kind="p440")
    n = stream.samples = acq.samples
    scans, dropped = divmod(stream.count, n)
    notes = []
    count = min(scans, len(times))
    dropped += (scans - count) * n
    if dropped or count < info.get("scans", count):
        notes.append(f"{count} whole scans are used; {dropped} samples are dropped")
    lines = sigmf_files.to_complex(lambda a, b: stream.read(a * n, b * n).reshape(-1, n), dtype,
                                   acq, acq.carrier_hz, {}, notes, "scans.json")
    hints = {"standstill": True}
    truth = os.path.join(folder, "reflectors.csv")
    if os.path.exists(truth):
        t = read_csv(truth, "positions of reflectors in metres")
        hints["targets"] = [
            {"name": f"reflector {i + 1}", "position_m": p, "amplitude": None}
            for i, p in enumerate(zip(t["x_m"], t["y_m"], t["z_m"]))]
    rec = Recording(acq, lines, count, times[:count], replica=np.ones(1, np.complex64),
                    kind="p440", datatype=dtype.name, paths=[data], dropped_samples=dropped,
                    notes=notes, hints=hints,
                    metadata={"intermediate_frequency_hz": acq.carrier_hz})
    nav = options.get("positions") or os.path.join(folder, "platform.csv")
    if os.path.exists(nav):
        rec = attach_navigation(rec, nav, options)
        if options.get("clock_offset_s") is None:
            rec.notes.append("no clock offset was given: the navigation clock is taken to start "
                             "with the first scan, which smears the image if it did not")
    return rec
