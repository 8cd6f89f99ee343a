# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion during the sweeps of an FMCW recording: how much it matters, and the block that takes it out."""

import numpy as np

from . import sar_python as _sar

C = _sar.speed_of_light


def doppler_hz(rec, point_m):
    """Doppler frequency of a point at each pulse, from the positions; Hz at the middle of the band."""
    t = rec.times_s
    tx = rec.tx
    path = np.linalg.norm(tx - point_m, axis=1)
    path = path + (path if rec.rx is None else np.linalg.norm(rec.rx - point_m, axis=1))
    return -np.gradient(path, t) * rec.acq.centre_frequency_hz() / C


def alignment(rec, wanted, acq=None, point_m=None):
    """(stages, notes): [("sweep_alignment", block)] or [] for a flowgraph, and sentences for the user.

    acq      with the Doppler centroid to use; None: the recording's
    point_m  middle of the scene: where the recording has positions and no centroid is told, that
             of this point is taken

    Raises ValueError when alignment is wanted of a recording that is not FMCW.
    """
    acq = acq or rec.acq
    if acq.waveform != "fmcw":
        if wanted:
            raise ValueError(f"align_sweeps is set, but the waveform is {acq.waveform}; expected fmcw")
        return [], []
    largest, notes, fd = abs(acq.doppler_centroid_hz), [], np.empty(0)
    if point_m is not None and rec.tx is not None and rec.num_pulses > 1:
        fd = doppler_hz(rec, np.asarray(point_m, float))
        fd = fd[np.isfinite(fd)]
        if len(fd):
            largest = float(np.abs(fd).max())
            if wanted and not acq.doppler_centroid_hz:
                acq = acq.replace(doppler_centroid_hz=float((fd.min() + fd.max()) / 2))
    shift_m = abs(acq.doppler_shift_m(largest))
    cells = shift_m * 2 * acq.bandwidth_hz() / C
    if not wanted:
        if cells > 0.1:
            notes.append(
                f"the antenna moves during the sweeps: with a Doppler frequency of {largest:.4g} Hz echoes "
                f"are seen {shift_m:.3g} m ({cells:.2g} cells) off; align_sweeps (--align-sweeps) takes "
                "that out")
        return [], notes
    block = _sar.sweep_alignment(acq)
    notes.append(
        f"motion during the sweeps, {shift_m:.3g} m ({cells:.2g} cells) at {largest:.4g} Hz, is taken out to "
        f"{block.error_bound_db():.0f} dB in a Doppler band of {block.doppler_band_hz():.4g} Hz around "
        f"{acq.doppler_centroid_hz:.4g} Hz")
    if len(fd) and np.abs(fd - acq.doppler_centroid_hz).max() > block.doppler_band_hz() / 2:
        notes.append(f"Doppler frequencies of the scene's middle are {fd.min():.4g} to {fd.max():.4g} Hz, not "
                     "all within that band: the ends of the aperture lose echoes; choose fewer pulses (start, "
                     "stop)")
    return [("sweep_alignment", block)], notes
