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
    truth); one without, a reflector in a real scene, by position alone within ``limit_m``. So
    are targets in images of centroid geometry, whose axes are oblique, and of looks, which have
    no phase; there within half a resolution cell.
    """
    grid = grid_of(report["grid"])
    rows = []
    g = report["geometry"]
    if report.get("algorithm") == "rda":
        if g["image"] == "centroid":
            targets = [dict(t, position_m=centroid_position(g, t["position_m"])) for t in targets]
        if limit_m is None and (g["image"] == "centroid" or report.get("looks", 1) > 1):
            doppler = (g["doppler_bandwidth_hz"] or g["prf_hz"]) / report.get("looks", 1)
            limit_m = 0.5 * max(_sar.speed_of_light / 2 / g["bandwidth_hz"],
                                g["velocity_m_s"][0] / doppler)
    for t in targets:
        if t.get("amplitude") is not None and limit_m is None and hasattr(
                _sar, "measure_point_target"):
            rows.append(point_response(image, grid, t, report))
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


# Allowed differences from theory, DESIGN of range-Doppler and chirp scaling.
RANGE_DOPPLER_LIMITS = dict(position_cells=1 / 16, irw=0.02, pslr_db=0.3, islr_db=0.5,
                            phase_rad=0.05)


def strip_aperture(g, position):
    """Aperture of a point of a strip map, for measure_point_target().

    ``g`` is the geometry of a range-Doppler report, slant-plane coordinates: the antenna flies
    along x at y = z = 0 and sees a point at (x, R0) with the Doppler frequency f from
    x - R0 tan(asin(lambda f / (2 V))).
    """
    x, r0 = position[0], position[1]
    half_wave = _sar.speed_of_light / g["carrier_hz"] / 2

    def at_range(coefficients, r):
        return sum(c * (r - g["slant_range_first_m"]) ** k for k, c in enumerate(coefficients))

    seen = r0  # the range at which the middle of the beam sees the point
    for _ in range(8):
        v, centroid = at_range(g["velocity_m_s"], seen), at_range(g["centroid_hz"], seen)
        seen = r0 / math.sqrt(1 - (half_wave * centroid / v) ** 2)
    band = g["doppler_bandwidth_hz"] or g["prf_hz"]
    low, high, ends = centroid - band / 2, centroid + band / 2, "doppler"
    beam = g.get("beam_doppler_hz")
    if beam and (beam[0] > low or beam[1] < high):  # the antenna's beam is the narrower one
        low, high, ends = max(low, beam[0]), min(high, beam[1]), "angle"

    def antenna(f):
        sine = half_wave * f / v
        return x - r0 * sine / math.sqrt(1 - sine**2)

    track = g.get("track_m", (-math.inf, math.inf))
    start, end = max(antenna(high), track[0]), min(antenna(low), track[1])
    if (start, end) != (antenna(high), antenna(low)):
        ends = "angle"  # the recording begins or ends within the aperture
    centre = antenna((low + high) / 2)
    return dict(aperture_start_m=(start, 0.0, 0.0), aperture_centre_m=(centre, 0.0, 0.0),
                aperture_end_m=(end, 0.0, 0.0), carrier_hz=g["carrier_hz"],
                bandwidth_hz=g["bandwidth_hz"], aperture_ends=ends)


def centroid_position(g, position):
    """Where a point at (x, R0) lies in an image of centroid geometry: x when the middle of the
    beam sees it, and its slant range then."""
    aperture = strip_aperture(dict(g, beam_doppler_hz=None, track_m=(-math.inf, math.inf)),
                              position)
    x = aperture["aperture_centre_m"][0]
    return x, math.hypot(position[0] - x, position[1]), position[2]


def point_response(image, grid, t, report, **more):
    """measure_point_target() of a target of a focused image, from its report.

    ``t`` has a position and, where it is known, an amplitude, whose phase is the one expected.
    """
    g = report["geometry"]
    amplitude = t.get("amplitude")
    if amplitude is None:
        amplitude = 1.0
    elif not isinstance(amplitude, (int, float, complex)):
        amplitude = complex(*amplitude)
    if report.get("algorithm") == "rda":
        aperture = dict(strip_aperture(g, t["position_m"]), **RANGE_DOPPLER_LIMITS)
    else:
        aperture = {k: g[k] for k in ("aperture_start_m", "aperture_centre_m", "aperture_end_m",
                                      "carrier_hz", "bandwidth_hz")}
    m = _sar.measure_point_target(
        np.ascontiguousarray(image, np.complex64), grid, tuple(t["position_m"]),
        range_window=report.get("window", "rect"),
        azimuth_window=report.get("azimuth_window", "rect"),
        expected_phase_rad=float(np.angle(amplitude)), **{**aperture, **more})
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
