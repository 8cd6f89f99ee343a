# SPDX-License-Identifier: GPL-3.0-or-later
"""A sensible image grid for a recording, with every choice said."""

import math

import numpy as np

from . import sar_python as _sar
from .recordings import C, RecordingError

# Pixels per side that are chosen without being asked for; more with --size and --spacing.
LARGEST_SIDE = 2048


def _unit(v):
    return v / np.linalg.norm(v)


def phase_centres(rec):
    """Mid-point between transmitter and receiver for each pulse, (pulses, 3)."""
    if rec.tx is None:
        raise RecordingError(
            "the recording has no antenna positions; back-projection needs them: put "
            "<name>.nav.csv (columns time_s or pulse, x_m, y_m, z_m) beside it, or give "
            "positions=...")
    return rec.tx if rec.rx is None else (rec.tx + rec.rx) / 2


def resolution_m(rec, point, axis):
    """One over the extent of the spatial frequencies along ``axis`` at ``point``, m.

    K = 2 f / c times the direction to the point; its extent over band and aperture along an
    axis limits what an image can hold along it.
    """
    sights = [np.asarray(point) - p for p in (rec.tx, rec.rx) if p is not None]
    along = sum((s @ axis) / np.linalg.norm(s, axis=1) for s in sights) / len(sights)
    f0, b = rec.acq.centre_frequency_hz(), rec.acq.bandwidth_hz()
    k = 2 / C * np.outer([f0 - b / 2, f0 + b / 2], along)
    extent = k.max() - k.min()
    return 1 / extent if extent > 0 else math.inf


def swath_m(rec):
    """Slant ranges (first, last) in which echoes are complete, bias taken off, at mid-aperture."""
    axis = rec.acq.compressed_axis(1)
    pulse = rec.acq.pulse_samples() if rec.acq.waveform == "pulsed_lfm" else 0
    first = axis.first_m - axis.range_bias_m
    last = first + max(1, axis.samples - 1 - pulse) * axis.spacing_m
    if rec.acq.waveform == "pulsed_lfm" and rec.acq.pulse_reference == "centre":
        first, last = first + pulse / 2 * axis.spacing_m, last + pulse / 2 * axis.spacing_m
    if axis.range_reference == "point":
        p = phase_centres(rec)
        offset = np.linalg.norm(np.array(axis.reference_point_m) - p[len(p) // 2])
        first, last = first + offset, last + offset
    return first, last


def _scene_centre(rec, z, notes):
    """Where the middle of the swath meets the plane z, on the look side at mid-aperture."""
    p = phase_centres(rec)
    mid = p[len(p) // 2]
    if rec.acq.range_reference == "point":
        notes.append("scene centre: the reference point of the phase history")
        return np.array(rec.acq.reference_point_m)
    if np.linalg.norm(mid) > 6.3e6:
        raise RecordingError("the positions look earth-centred (more than 6300 km from the "
                             "origin), so there is no horizontal plane to guess; give the grid")
    first, last = swath_m(rec)
    height = mid[2] - z
    low = max(first, abs(height) * 1.001, 1e-6)
    if low >= last:
        raise RecordingError(
            f"the swath ends at {last:.1f} m slant range, but the antenna is {height:.1f} m above "
            f"the plane z = {z} m: nothing of that plane was seen; give another z or a grid")
    slant = (low + last) / 2
    ground = math.sqrt(slant**2 - height**2)
    track = p[-1] - p[0]
    track[2] = 0
    if np.linalg.norm(track) < 1e-6:
        raise RecordingError("the antenna does not move, so there is no look direction to guess "
                             "the scene from; give the grid")
    along = _unit(track)
    right = np.array([along[1], -along[0], 0.0])
    look = right if rec.acq.look_side == "right" else -right
    ahead = 0.0
    if rec.acq.doppler_centroid_hz:
        # fd = 2 v sin(squint) / lambda along the line of sight
        duration = rec.times_s[-1] - rec.times_s[0]
        v = rec.acq.effective_velocity_m_s or (np.linalg.norm(track) / duration if duration else 0)
        if v > 0:
            s = rec.acq.doppler_centroid_hz * rec.acq.wavelength_m() / (2 * v)
            ahead = float(np.clip(s, -0.9, 0.9)) * slant
    across = math.sqrt(max(ground**2 - ahead**2, 0.0))
    centre = mid + across * look + ahead * along
    centre[2] = z
    notes.append(f"scene centre: middle of the swath ({first:.1f} to {last:.1f} m slant range) on "
                 f"the {rec.acq.look_side} side at mid-aperture, plane z = {z:g} m: "
                 f"({centre[0]:.2f}, {centre[1]:.2f}, {centre[2]:.2f}) m")
    return centre


def _nice(value):
    """The number with two digits at or below value."""
    e = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / e + 1e-9) * e


def auto_grid(rec, *, centre=None, size=None, spacing=None, z=None, bounds=None):
    """(image_grid, notes) for a recording.

    centre   x, y (or x, y, z) of the middle, m; default: the metadata's scene centre, or the
             middle of the swath at mid-aperture
    size     width (columns, x), height (rows, y), m; one number for both
    spacing  of columns and rows, m; one number for both; default: about 0.6 of the finer
             resolution
    z        height of the plane, m
    bounds   x0, x1, y0, y1, m: in place of centre and size

    Rows run along -y and columns along x, so that the first row is the north edge and a
    picture has north up, east right.
    """
    notes = []
    hints = rec.hints
    phase_centres(rec)  # complain before anything else
    row_axis = np.array(hints.get("row_axis", (0.0, -1.0, 0.0)))
    col_axis = np.array(hints.get("col_axis", (1.0, 0.0, 0.0)))
    if bounds is not None:
        x0, x1, y0, y1 = bounds
        if not (x0 < x1 and y0 < y1):
            raise RecordingError(f"the grid bounds are x {x0} to {x1}, y {y0} to {y1}; expected "
                                 "increasing pairs x0,x1,y0,y1")
        middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2, z or 0.0])
    elif centre is not None:
        middle = np.array([*centre, z or 0.0][:3] if len(centre) == 2 else centre, float)
    elif "scene_centre_m" in hints:
        middle = np.array(hints["scene_centre_m"], float)
        notes.append(f"scene centre from the recording: {tuple(hints['scene_centre_m'])} m")
    else:
        middle = _scene_centre(rec, z or 0.0, notes)
    if z is not None:
        middle[2] = z

    if spacing is None:
        cell = min(resolution_m(rec, middle, row_axis), resolution_m(rec, middle, col_axis))
        if not math.isfinite(cell):
            raise RecordingError("one direction and one frequency resolve nothing; give the "
                                 "spacing of the grid")
        s = _nice(0.6 * cell)
        dc, dr = s, s
        notes.append(f"pixel spacing {s:g} m, {s / cell:.2f} of the finer resolution ({cell:.3g} m)")
    else:
        dc, dr = (spacing, spacing) if np.isscalar(spacing) else spacing
        if not (dc > 0 and dr > 0):
            raise RecordingError(f"the spacing is {spacing}; expected positive metres")

    if bounds is not None:
        width, height = x1 - x0, y1 - y0
    elif size is not None:
        width, height = (size, size) if np.isscalar(size) else size
        if not (width > 0 and height > 0):
            raise RecordingError(f"the size is {size}; expected positive metres")
    elif "scene_extent_m" in hints:
        width, height = hints["scene_extent_m"]
        notes.append(f"extent from the recording: {width:g} m x {height:g} m")
    else:
        first, last = swath_m(rec)
        p = phase_centres(rec)
        h = p[len(p) // 2][2] - middle[2]
        ground = [math.sqrt(max(r * r - h * h, 0.0)) for r in (first, last)]
        width = height = ground[1] - ground[0]
        largest = LARGEST_SIDE * min(dr, dc)
        if width > largest:
            width = height = largest
        notes.append(f"extent: {width:.4g} m squared"
                     + (f", cut to {LARGEST_SIDE} pixels a side" if width == largest else
                        ", the ground range of the swath"))
    rows, cols = (max(1, int(round(v))) for v in (height / dr, width / dc))
    grid = _sar.image_grid.centred(tuple(middle), tuple(row_axis), tuple(col_axis), dr, dc,
                                   rows, cols)
    if bounds is not None:  # pixel (0, 0) on the corner asked for
        grid = _sar.image_grid((x0, y1, middle[2]), tuple(row_axis), tuple(col_axis), dr, dc,
                               rows, cols)
    notes.append(f"grid of {rows} x {cols} pixels, rows along "
                 f"{tuple(float(v) for v in row_axis)}, columns along "
                 f"{tuple(float(v) for v in col_axis)}")
    return grid, notes
