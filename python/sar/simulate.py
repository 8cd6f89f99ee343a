# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated spotlight recordings: the flowgraph behind ``gr_sar simulate``."""

import math
import os
import re

import numpy as np
from gnuradio import blocks, gr

from . import sar_python as _sar
from .focus import FocusError, run_flowgraph
from .sigmf_files import data_type, write_sigmf

C = _sar.speed_of_light

# Off the pixel grid, not on one line, far apart in range and azimuth: a mirrored or turned
# image cannot pass, and side lobes of one do not reach into another.
DEFAULT_TARGETS = [
    {"name": "centre", "position_m": (1.37, -2.21, 0.0), "amplitude": 1.0 + 0j},
    {"name": "near left", "position_m": (-37.15, -31.42, 0.0), "amplitude": 0.8 * 1j},
    {"name": "far left", "position_m": (34.83, -42.06, 0.0), "amplitude": -0.9 + 0j},
    {"name": "near right", "position_m": (-31.64, 38.55, 0.0), "amplitude": 0.7 - 0.7j},
    {"name": "far right", "position_m": (41.27, 29.88, 0.0), "amplitude": 1.1 + 0j},
]


def spotlight(*, carrier_hz=9.6e9, bandwidth_hz=300e6, pulse_length_s=2e-6, sample_rate_hz=None,
              prf_hz=400.0, pulses=1250, slant_range_m=10e3, altitude_m=5e3, speed_m_s=100.0,
              squint_deg=0.0, look_side="right", chirp="up", scene_m=120.0):
    """(acquisition, trajectory, hints) of an X-band spotlight scene around the origin.

    The platform flies along +y, the scene is at its side (right: at +x of the track).
    """
    if altitude_m >= slant_range_m:
        raise ValueError(f"altitude_m is {altitude_m} m; expected less than slant_range_m, "
                         f"{slant_range_m} m")
    if not -60 <= squint_deg <= 60:
        raise ValueError(f"squint_deg is {squint_deg}; expected -60 to 60 degrees")
    if chirp not in ("up", "down"):
        raise ValueError(f"chirp is '{chirp}'; expected up or down")
    if pulses < 1 or pulses != int(pulses):
        raise ValueError(f"pulses is {pulses}; expected a whole number, 1 or more")
    rate = sample_rate_hz or 1.2 * bandwidth_hz
    ground = math.sqrt(slant_range_m**2 - altitude_m**2)
    s = math.radians(squint_deg)
    side = -1.0 if look_side == "right" else 1.0
    middle = np.array([side * ground * math.cos(s), -ground * math.sin(s), altitude_m])
    velocity = np.array([0.0, speed_m_s, 0.0])
    start = middle - velocity * (pulses - 1) / 2 / prf_hz
    track = _sar.trajectory.straight(tuple(start), tuple(velocity))
    end = start + velocity * (pulses - 1) / prf_hz
    half = scene_m / 2
    corners = np.array([[x, y, 0.0] for x in (-half, 0, half) for y in (-half, 0, half)])
    ranges = [np.linalg.norm(corners - p, axis=1) for p in (start, middle, end)]
    margin = 30 * C / (2 * rate)
    first = min(r.min() for r in ranges) - margin
    last = max(r.max() for r in ranges) + margin
    samples = math.ceil((last - first) * 2 * rate / C + pulse_length_s * rate)
    wavelength = C / carrier_hz
    cone = np.dot(-middle / np.linalg.norm(middle), velocity)
    acq = _sar.acquisition(
        waveform="pulsed_lfm", samples=samples, carrier_hz=carrier_hz, prf_hz=prf_hz,
        sample_rate_hz=rate, pulse_length_s=pulse_length_s,
        chirp_rate_hz_per_s=(1 if chirp == "up" else -1) * bandwidth_hz / pulse_length_s,
        slant_range_first_m=first, look_side=look_side, effective_velocity_m_s=speed_m_s,
        doppler_centroid_hz=2 * cone / wavelength)
    return acq, track, {"scene_centre_m": (0.0, 0.0, 0.0), "scene_extent_m": (scene_m, scene_m)}


def simulate(path, acq, track, targets, pulses, *, noise_power=0.0, seed=1, hints=None,
             datatype="cf32_le", description="simulated by gr_sar simulate", progress=None):
    """Write the raw echoes of point targets as a SigMF recording; returns its metadata path."""
    if not hasattr(_sar, "point_target_source"):
        raise FocusError("this build of gr-sar has no block point_target_source")
    base = re.sub(r"\.sigmf(-meta|-data)?$", "", str(path))
    os.makedirs(os.path.dirname(os.path.abspath(base)), exist_ok=True)
    pulses = int(pulses)
    source = _sar.point_target_source(
        acq, [(*t["position_m"], complex(t["amplitude"])) for t in targets], track, pulses,
        noise_power, int(seed))
    raw = data_type(datatype)
    floats = data_type("cf32_le")
    written = base + (".sigmf-data" if raw.name == "cf32_le" else ".tmp-data")
    # a file sink that cannot open its file ends the process in some versions: try first
    with open(written, "wb"):
        pass
    sink = blocks.file_sink(gr.sizeof_gr_complex * acq.samples, written)
    null = blocks.null_sink(24)
    tb = gr.top_block("gr_sar simulate")
    tb.connect(source, sink)
    tb.connect((source, 1), null)
    run_flowgraph(tb, [("point_target_source", source)], progress,
                  lambda: int(source.nitems_written(0)))
    sink.close()
    extra = {"sar:mode": "spotlight"}
    for key, value in (hints or {}).items():
        extra["sar:" + key] = list(value)
    if noise_power:
        extra["sar:noise_power"] = noise_power
    lines = None
    if raw.name != "cf32_le":
        flat = np.fromfile(written, floats.component).view(np.complex64)
        lines = flat.reshape(-1, acq.samples)
    positions = np.array(track.positions(0.0, acq.prf_hz, pulses))
    meta, _, count = write_sigmf(base, lines, acq, positions, datatype=raw.name,
                                 targets=targets, extra=extra, description=description)
    if lines is not None:
        os.unlink(written)
    if count != pulses:
        raise FocusError(f"the simulation wrote {count} pulses; expected {pulses}")
    return meta
