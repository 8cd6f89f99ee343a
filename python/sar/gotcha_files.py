# SPDX-License-Identifier: GPL-3.0-or-later
"""The GOTCHA volumetric SAR set: ``data_3dsar_passP_azNNN_POL.mat``, one degree a file.

Each file holds a struct ``data``: phase history fp (frequency x pulse), freq in Hz, antenna
x, y, z and range to the scene centre r0 in metres, azimuth th and elevation phi in degrees,
and one autofocus solution af (r_correct in metres, ph_correct in radians). The phase of a
scatterer is exp(-j 4 pi f (R - r0) / c): motion compensated to the scene centre, the origin.
"""

import os

import numpy as np

from .recordings import C, Recording, RecordingError, make_acquisition


def read(paths, fields, options):
    """Recording of one or more files; several are one aperture, ordered by azimuth."""
    try:
        from scipy.io import loadmat
    except ImportError:
        raise RecordingError("reading .mat files needs scipy (apt install python3-scipy)") from None
    parts = []
    for path in paths:
        try:
            content = loadmat(path, squeeze_me=True, struct_as_record=False)
        except Exception as e:  # scipy raises many kinds for a file that is not MATLAB's
            raise RecordingError(f"{path} is not a MATLAB 5 file: {e}") from None
        data = content.get("data")
        needed = ("fp", "freq", "x", "y", "z", "r0")
        if data is None or not all(hasattr(data, n) for n in needed):
            raise RecordingError(f"{path} has no struct 'data' with fields {', '.join(needed)}; "
                                 "expected a GOTCHA phase history file")
        parts.append((path, data))
    freq = np.atleast_1d(parts[0][1].freq).astype(float)
    n = len(freq)
    step = (freq[-1] - freq[0]) / (n - 1)
    uneven = np.abs(freq - (freq[0] + step * np.arange(n))).max()
    if uneven > abs(step) / 100:
        raise RecordingError(f"{paths[0]}: the frequencies are {uneven:.3g} Hz off equal steps of "
                             f"{step:.6g} Hz; expected equal steps")
    notes, lines, tx, r0, th, af = [], [], [], [], [], []
    for path, data in parts:
        other = np.atleast_1d(data.freq).astype(float)
        if len(other) != n or np.abs(other - freq).max() > abs(step) / 100:
            raise RecordingError(f"{path} has other frequencies than {paths[0]}; files of one "
                                 "aperture have the same")
        fp = np.asarray(data.fp).reshape(n, -1)
        count = fp.shape[1]
        position = np.column_stack([np.atleast_1d(getattr(data, k)).astype(float) for k in "xyz"])
        if len(position) != count:
            raise RecordingError(f"{path} has {count} pulses but {len(position)} positions")
        lines.append(fp.T)
        tx.append(position)
        r0.append(np.atleast_1d(data.r0).astype(float))
        th.append(np.degrees(np.arctan2(position[:, 1], position[:, 0])))
        if options.get("autofocus"):
            if not hasattr(data, "af"):
                raise RecordingError(f"{path} has no field af; expected one with autofocus on")
            af.append(np.column_stack([np.atleast_1d(data.af.r_correct),
                                       np.atleast_1d(data.af.ph_correct)]).astype(float))
    lines, tx = np.concatenate(lines), np.concatenate(tx)
    r0, th = np.concatenate(r0), np.concatenate(th) % 360

    # one aperture: in order of azimuth, starting after the largest gap of the circle
    order = np.argsort(th, kind="stable")
    gaps = np.diff(np.concatenate([th[order], [th[order[0]] + 360]]))
    order = np.roll(order, -(int(np.argmax(gaps)) + 1))
    lines, tx, r0, th = lines[order], tx[order], r0[order], th[order]
    if len(paths) > 1:
        notes.append(f"{len(paths)} files are one aperture of {len(th)} pulses, azimuth "
                     f"{th[0]:.2f} to {th[-1]:.2f} degrees")

    alias_free = C / (2 * abs(step))
    values = {"waveform": "frequency_domain", "samples": n, "carrier_hz": freq[0],
              "frequency_step_hz": step, "phase_sign": -1, "prf_hz": 1.0,
              "range_reference": "point", "reference_point_m": (0.0, 0.0, 0.0),
              "slant_range_first_m": -alias_free / 2, "look_side": "left"}
    values.update(fields)
    acq = make_acquisition(values, os.path.basename(paths[0]))
    notes.append("the files hold no pulse times: time counts pulses (prf 1 Hz)")

    # What the data is compensated to (r0) against what an imager assumes (|antenna|).
    shift = r0 - np.linalg.norm(tx - np.array(acq.reference_point_m), axis=1)
    ramp = np.zeros(len(tx))
    if np.abs(shift).max() > acq.wavelength_m() / 1000:
        ramp += shift
        notes.append(
            f"r0 of the files differs from the antenna's distance by up to "
            f"{np.abs(shift).max() * 1e3:.3g} mm; each pulse's phase is corrected for it")
    phase = np.zeros(len(tx))
    if options.get("autofocus"):
        a = np.concatenate(af)[order]
        ramp += AUTOFOCUS_RANGE_SIGN * a[:, 0]
        phase += AUTOFOCUS_PHASE_SIGN * a[:, 1]
        notes.append("autofocus of the files is applied: range and phase corrections together")
    f = acq.carrier_hz + step * np.arange(n)
    if ramp.any() or phase.any():
        # exp(-j 4 pi f (R - r0) / c) becomes exp(-j 4 pi f (R - |antenna|) / c)
        lines = lines * np.exp(
            1j * (phase[:, None] - 4 * np.pi * f[None, :] * ramp[:, None] / C))
    lines = np.ascontiguousarray(lines, np.complex64)
    return Recording(
        acq, lambda a, b: lines[a:b], len(lines), np.arange(len(lines)) / acq.prf_hz, tx=tx,
        kind="gotcha", paths=paths, datatype="cf32_le", notes=notes,
        hints={"scene_centre_m": (0.0, 0.0, 0.0), "scene_extent_m": (100.0, 100.0),
               "row_axis": (0.0, -1.0, 0.0), "col_axis": (1.0, 0.0, 0.0), "landmarks": LANDMARKS},
        used={"autofocus": bool(options.get("autofocus")),
              "r0_correction_m": float(np.abs(shift).max())})


# exp(+j ph_correct) on the phase history and r0 + r_correct, found on the data: the other
# signs, and either correction alone, destroy the image.
AUTOFOCUS_RANGE_SIGN = 1.0
AUTOFOCUS_PHASE_SIGN = 1.0

# The two isolated calibration reflectors of the scene, as a float64 back-projection of pass 1
# HH shows them, m: only used to tell a conjugated recording, which focuses just as well but
# turned by 180 degrees, from a right one.
LANDMARKS = [(-15.60, 21.55, 0.0), (-27.80, 38.80, 0.0)]
