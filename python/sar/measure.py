# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets of a focused image against where they were put and what theory says."""

import json
import math
import os

import numpy as np

from . import sar_python as _sar
from .recordings import RecordingError


def load_result(folder):
    """(image, report) of a folder that ``gr_sar focus`` wrote."""
    name = os.path.join(folder, "report.json")
    if not os.path.exists(name):
        raise RecordingError(f"{name} does not exist; expected a folder that gr_sar focus wrote")
    with open(name, encoding="utf-8") as f:
        report = json.load(f)
    # the newest of several images; by its name, since folders get moved
    image = os.path.join(folder, os.path.basename(report.get("image_file") or "image.npy"))
    if not os.path.exists(image):
        raise RecordingError(f"{image} does not exist; expected the image that report.json is of")
    return np.load(image), report


def grid_of(d):
    """image_grid from the grid of a report."""
    return _sar.image_grid(d["origin_m"], d["row_axis"], d["col_axis"], d["row_spacing_m"],
                           d["col_spacing_m"], d["rows"], d["cols"])


def find_peak(image, grid, position, radius_m):
    """Brightest point within radius_m of a position, refined by a parabola: (x, y, z), level."""
    magnitude = np.abs(image).astype(float)
    r0, c0 = grid.index_of(tuple(position))
    dr, dc = radius_m / grid.row_spacing_m, radius_m / grid.col_spacing_m
    ra, rb = max(0, math.floor(r0 - dr)), min(grid.rows, math.ceil(r0 + dr) + 1)
    ca, cb = max(0, math.floor(c0 - dc)), min(grid.cols, math.ceil(c0 + dc) + 1)
    if ra >= rb or ca >= cb:
        return None, 0.0
    part = np.nan_to_num(magnitude[ra:rb, ca:cb])
    i, j = np.unravel_index(np.argmax(part), part.shape)
    i, j = i + ra, j + ca

    def shift(a, b, c):
        bend = a - 2 * b + c
        return 0.0 if bend >= 0 else float(np.clip(0.5 * (a - c) / bend, -0.5, 0.5))

    di = shift(*magnitude[i - 1 : i + 2, j]) if 0 < i < grid.rows - 1 else 0.0
    dj = shift(*magnitude[i, j - 1 : j + 2]) if 0 < j < grid.cols - 1 else 0.0
    return grid.position(i + di, j + dj), float(magnitude[i, j])


def measure(image, report, targets, limit_m=None):
    """Rows of the table, one a target.

    A target with an amplitude is compared with theory in every figure (the simulation's
    truth); one without, a reflector in a real scene, by position alone within ``limit_m``.
    """
    grid = grid_of(report["grid"])
    rows = []
    for t in targets:
        if t.get("amplitude") is not None and limit_m is None and hasattr(
                _sar, "measure_point_target"):
            rows.append(_against_theory(image, grid, t, report))
        else:
            rows.append(_by_position(image, grid, t, limit_m if limit_m is not None else 0.2))
    return rows


def _by_position(image, grid, t, limit_m):
    found, level = find_peak(image, grid, t["position_m"], 2.5 * limit_m)
    row = {"name": t["name"], "expected_m": [float(v) for v in t["position_m"]], "pass": False}
    if found is None:
        row["problem"] = "outside the image"
        return row
    r, c = grid.index_of(tuple(t["position_m"]))
    error = math.dist(found, grid.position(r, c))
    row.update(found_m=list(found), position_error_m=error, limit_m=limit_m,
               level_db=20 * math.log10(level) if level else None)
    row["pass"] = error <= limit_m
    if not row["pass"]:
        row["problem"] = f"position error {error:.3f} m is over {limit_m:g} m"
    return row


def _against_theory(image, grid, t, report):
    g = report["geometry"]
    amplitude = t["amplitude"]
    if not isinstance(amplitude, (int, float, complex)):
        amplitude = complex(*amplitude)
    m = _sar.measure_point_target(
        np.ascontiguousarray(image, np.complex64), grid, tuple(t["position_m"]),
        aperture_start_m=g["aperture_start_m"], aperture_centre_m=g["aperture_centre_m"],
        aperture_end_m=g["aperture_end_m"], carrier_hz=g["carrier_hz"],
        bandwidth_hz=g["bandwidth_hz"], range_window=report.get("window", "rect"),
        azimuth_window=report.get("azimuth_window", "rect"),
        expected_phase_rad=float(np.angle(amplitude)))
    return dict(m, name=t["name"])


def _cell(value, width, digits):
    if value is None or not isinstance(value, (int, float)) or not math.isfinite(value):
        return "-".rjust(width)
    return f"{value:{width}.{digits}f}"


def table(rows):
    """The report as text."""
    lines = []
    if any("range" in r for r in rows):
        lines.append(f"{'target':<12}{'error, m':>10}{'IRW, m':>16}{'theory':>16}{'PSLR, dB':>16}"
                     f"{'ISLR, dB':>16}{'phase, rad':>12}")
        lines.append(f"{'':<12}{'':>10}" + f"{'range/azim':>16}" * 4)
    else:
        lines.append(f"{'target':<14}{'expected x, y, z, m':>28}{'found x, y, z, m':>28}"
                     f"{'error, m':>10}")
    for r in rows:
        verdict = "PASS" if r.get("pass") else "FAIL"
        if "range" in r:
            a, b = r["range"], r["azimuth"]

            def pair(key, digits):
                return (_cell(a.get(key), 0, digits) + "/" + _cell(b.get(key), 0, digits)).rjust(16)

            error = math.hypot(a.get("position_error_m") or 0, b.get("position_error_m") or 0)
            lines.append(f"{r['name']:<12}" + _cell(error if r.get("found", True) else None, 10, 4)
                         + pair("irw_m", 4) + pair("irw_theory_m", 4) + pair("pslr_db", 2)
                         + pair("islr_db", 2) + _cell(r.get("phase_error_rad"), 12, 4)
                         + "  " + verdict)
        else:
            def place(p):
                return "-" if p is None else "(" + ", ".join(f"{v:.2f}" for v in p) + ")"

            lines.append(f"{r['name']:<14}{place(r.get('expected_m')):>28}"
                         f"{place(r.get('found_m')):>28}{_cell(r.get('position_error_m'), 10, 3)}"
                         f"  {verdict}")
        for problem in [r.get("problem")] + list(r.get("failures", ())):
            if problem:
                lines.append(f"    {problem}")
    return "\n".join(lines)
