# SPDX-License-Identifier: GPL-3.0-or-later
"""Planar scans of a stepped-frequency radar: one antenna, moved over a plane, as one ``.npy``.

A file of six NumPy arrays, one behind the other: samples (2, frequencies, rows, columns), whole
numbers, Q first and then I; first frequency and last frequency, Hz; number of frequencies; steps
of the antenna along rows and columns, m; distance of the scene, m. Written by
github.com/Ritchizh/Multifrequency_Radar_Data_Processing.

Model: a line is what was measured at one position, I + jQ over frequency, phase = +2 pi f delay.
Positions lie in the plane z = 0, rows along x, columns along y, the scene at z > 0. Nothing in the
file says when they were measured: one a second is assumed, which no imager here looks at.
"""

import io

import numpy as np
from numpy.lib import format as npy

from .npy_files import MAGIC, component_of, header
from .recordings import C, Recording, RecordingError, make_acquisition

WHAT = ("samples", "first frequency", "last frequency", "number of frequencies",
        "steps of the antenna", "distance")


def matches(n):
    """A .npy whose first array has four axes, the first of them Q and I, and more behind it."""
    if not n.head().startswith(MAGIC):
        return False
    try:
        shape, _, dtype, start = header(n.store)
    except RecordingError:
        return False  # npy_files says why
    size = int(np.prod(shape)) * dtype.itemsize
    return (len(shape) == 4 and shape[0] == 2 and dtype.kind in "iuf"
            and n.store.size > start + size)


def _arrays(n):
    f = io.BytesIO(bytes(n.store.read(0, n.store.size)))
    arrays = []
    for what in WHAT:
        try:
            arrays.append(npy.read_array(f))
        except (ValueError, EOFError) as e:
            raise RecordingError(f"{n.path} ends before its array {len(arrays) + 1}, the {what}; "
                                 "expected six arrays of a planar scan: "
                                 + ", ".join(WHAT)) from e
    return arrays


def read(n, fields, options):
    samples, *numbers = _arrays(n)
    _, frequencies, rows, cols = samples.shape
    if 0 in samples.shape:
        raise RecordingError(f"{n.path}: the samples have the shape {samples.shape}; expected at "
                             "least one of each")
    for i, (what, value) in enumerate(zip(WHAT[1:], numbers)):
        sizes = (1, 2) if what == "steps of the antenna" else (1,)
        if value.size not in sizes or value.dtype.kind not in "iuf":
            raise RecordingError(f"{n.path}: the {what} is an array of {value.dtype}, shape "
                                 f"{value.shape}; expected " + " or ".join(
                                     ("a number", "two numbers")[:len(sizes)]))
        if not np.all(np.isfinite(value)) or not np.all(value > 0):
            raise RecordingError(f"{n.path}: the {what} is {value}; expected a positive number")
        numbers[i] = np.broadcast_to(value.ravel().astype(float), (2,)) if len(sizes) == 2 else value.item()
    first, last, count, steps, distance = numbers
    if count != frequencies or frequencies < 2:
        raise RecordingError(f"{n.path}: the number of frequencies is {count}, but the samples "
                             f"have {frequencies}; expected the same number, 2 or more")
    values = {"waveform": "frequency_domain", "samples": frequencies, "carrier_hz": first,
              "frequency_step_hz": (last - first) / (frequencies - 1),
              "prf_hz": 1.0, "slant_range_first_m": 0.0, "phase_sign": 1}
    values.update(fields)
    acq = make_acquisition(values, n.path)
    i, q = (samples[k].reshape(frequencies, -1).T.astype(np.float32) for k in (1, 0))
    lines = (i + 1j * q).astype(np.complex64)
    x, y = np.meshgrid(np.arange(rows) * steps[0], np.arange(cols) * steps[1], indexing="ij")
    tx = np.stack([x.ravel(), y.ravel(), np.zeros(rows * cols)], axis=1)
    notes = [f"{rows} x {cols} positions of the antenna, {1e3 * steps[0]:g} mm apart along x and "
             f"{1e3 * steps[1]:g} mm along y, at z = 0; one a second is assumed",
             f"ranges repeat each {C / 2 / abs(acq.frequency_step_hz):.4g} m"]
    hints = {"scene_centre_m": ((rows - 1) * steps[0] / 2, (cols - 1) * steps[1] / 2,
                                distance),
             "scene_extent_m": (cols * steps[1], rows * steps[0]),
             "row_axis": (1.0, 0.0, 0.0), "col_axis": (0.0, 1.0, 0.0)}
    return Recording(acq, lambda a, b: lines[a:b], len(lines), np.arange(len(lines)) / acq.prf_hz,
                     tx=tx, paths=[n.path], kind="planar_scan",
                     datatype="c" + component_of(samples.dtype, n.path)[1], notes=notes, hints=hints)
