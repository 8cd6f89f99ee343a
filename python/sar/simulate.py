# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated recordings, spotlight and strip map: the flowgraph behind ``gr_sar simulate``."""

import math
import os
import re

import numpy as np
from gnuradio import blocks, gr

from . import sar_python as _sar
from .focus import FocusError, run_flowgraph
from .sigmf_files import data_type, write_sigmf

C = _sar.speed_of_light

# Pulses of a recording when none are asked for.
PULSES = {"spotlight": 1250, "stripmap": 800}

# Off the pixel grid, not on one line, far apart in range and azimuth: a mirrored or turned
# image cannot pass, and side lobes of one do not reach into another.
DEFAULT_TARGETS = [
    {"name": "centre", "position_m": (1.37, -2.21, 0.0), "amplitude": 1.0 + 0j},
    {"name": "near left", "position_m": (-37.15, -31.42, 0.0), "amplitude": 0.8 * 1j},
    {"name": "far left", "position_m": (34.83, -42.06, 0.0), "amplitude": -0.9 + 0j},
    {"name": "near right", "position_m": (-31.64, 38.55, 0.0), "amplitude": 0.7 - 0.7j},
    {"name": "far right", "position_m": (41.27, 29.88, 0.0), "amplitude": 1.1 + 0j},
]


# The same idea for a strip map: along track and in closest range from the scene's centre.
STRIPMAP_TARGETS = [
    {"name": "centre", "offset_m": (1.37, -2.21), "amplitude": 1.0 + 0j},
    {"name": "near back", "offset_m": (-97.15, -131.42), "amplitude": 0.8 * 1j},
    {"name": "far back", "offset_m": (-84.83, 122.06), "amplitude": -0.9 + 0j},
    {"name": "near ahead", "offset_m": (91.64, -118.55), "amplitude": 0.7 - 0.7j},
    {"name": "far ahead", "offset_m": (81.27, 129.88), "amplitude": 1.1 + 0j},
]


def _check_common(pulses, squint_deg, chirp):
    if not -60 <= squint_deg <= 60:
        raise ValueError(f"squint_deg is {squint_deg}; expected -60 to 60 degrees")
    if chirp not in ("up", "down"):
        raise ValueError(f"chirp is '{chirp}'; expected up or down")
    if pulses < 1 or pulses != int(pulses):
        raise ValueError(f"pulses is {pulses}; expected a whole number, 1 or more")


def spotlight(*, carrier_hz=9.6e9, bandwidth_hz=300e6, pulse_length_s=2e-6, sample_rate_hz=None,
              prf_hz=400.0, pulses=PULSES["spotlight"], slant_range_m=10e3, altitude_m=5e3, speed_m_s=100.0,
              squint_deg=0.0, look_side="right", chirp="up", scene_m=120.0):
    """(acquisition, trajectory, hints) of an X-band spotlight scene around the origin.

    The platform flies along +y, the scene is at its side (right: at +x of the track).
    """
    if altitude_m >= slant_range_m:
        raise ValueError(f"altitude_m is {altitude_m} m; expected less than slant_range_m, "
                         f"{slant_range_m} m")
    _check_common(pulses, squint_deg, chirp)
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


def stripmap(*, carrier_hz=5.3e9, bandwidth_hz=100e6, pulse_length_s=2e-6, sample_rate_hz=None,
             prf_hz=160.0, pulses=PULSES["stripmap"], slant_range_m=12e3, speed_m_s=150.0, squint_deg=0.0,
             beam_rad=0.0192, chirp="up", swath_m=400.0):
    """(acquisition, trajectory, hints) of an airborne C-band strip map in slant-plane
    coordinates.

    The platform flies along +x at y = z = 0, pulse n at x = speed n / PRF; a target at (x, R0,
    0) has the closest range R0, ``slant_range_m`` in the middle of the swath of ``swath_m``. The
    beam of width ``beam_rad`` looks ``squint_deg`` ahead (> 0); the Doppler centroid is
    2 speed sin(squint) / wavelength, however many PRFs that is. The scene's centre is what the
    middle of the beam sees at mid-track. ``hints`` has what simulate() needs of the beam.
    """
    _check_common(pulses, squint_deg, chirp)
    if not 0 < beam_rad < 1:
        raise ValueError(f"beam_rad is {beam_rad}; expected more than 0 and less than 1 rad")
    if not 0 < swath_m < slant_range_m:
        raise ValueError(f"swath_m is {swath_m} m; expected more than 0 and less than "
                         f"slant_range_m, {slant_range_m} m")
    rate = sample_rate_hz or 1.2 * bandwidth_hz
    squint = math.radians(squint_deg)
    wavelength = C / carrier_hz
    # ranges while a target is in the beam, R0 / cos(angle)
    angles = np.abs([squint - beam_rad / 2, squint + beam_rad / 2])
    nearest = 0.0 if abs(squint) < beam_rad / 2 else angles.min()
    margin = 30 * C / (2 * rate)
    first = (slant_range_m - swath_m / 2) / math.cos(nearest) - margin
    last = (slant_range_m + swath_m / 2) / math.cos(angles.max()) + margin
    samples = math.ceil((last - first) * 2 * rate / C + pulse_length_s * rate)
    acq = _sar.acquisition(
        waveform="pulsed_lfm", samples=samples, carrier_hz=carrier_hz, prf_hz=prf_hz,
        sample_rate_hz=rate, pulse_length_s=pulse_length_s,
        chirp_rate_hz_per_s=(1 if chirp == "up" else -1) * bandwidth_hz / pulse_length_s,
        slant_range_first_m=first, look_side="left", effective_velocity_m_s=speed_m_s,
        doppler_centroid_hz=2 * speed_m_s * math.sin(squint) / wavelength)
    track = _sar.trajectory.straight((0.0, 0.0, 0.0), (speed_m_s, 0.0, 0.0))
    middle = speed_m_s * (pulses - 1) / 2 / prf_hz + slant_range_m * math.tan(squint)
    # along track: what all of the beam passes over, at near and at far range
    footprint = (slant_range_m + swath_m / 2) * (math.tan(squint + beam_rad / 2)
                                                 - math.tan(squint - beam_rad / 2))
    length = (speed_m_s * (pulses - 1) / prf_hz - footprint
              - swath_m * abs(math.tan(squint)))
    hints = {"scene_centre_m": (middle, slant_range_m, 0.0),
             "scene_extent_m": (max(length, swath_m / 10), swath_m),
             "mode": "stripmap", "beam_rad": beam_rad, "beam_squint_rad": squint}
    return acq, track, hints


def stripmap_targets(hints, targets=None):
    """Targets with absolute positions: offsets along track and in closest range from the
    scene's centre."""
    x, r, _ = hints["scene_centre_m"]
    return [{"name": t["name"], "amplitude": t["amplitude"],
             "position_m": (x + t["offset_m"][0], r + t["offset_m"][1], 0.0)}
            for t in targets or STRIPMAP_TARGETS]


def simulate(path, acq, track, targets, pulses, *, noise_power=0.0, seed=1, hints=None,
             datatype="cf32_le", description="simulated by gr_sar simulate", progress=None):
    """Write the raw echoes of point targets as a SigMF recording; returns its metadata path.

    ``hints`` become global keys: scene_centre_m, scene_extent_m, mode (default spotlight),
    beam_rad and beam_squint_rad, which also give the antenna that beam.
    """
    hints = dict(hints or {})
    if not hasattr(_sar, "point_target_source"):
        raise FocusError("this build of gr-sar has no block point_target_source")
    base = re.sub(r"\.sigmf(-meta|-data)?$", "", str(path))
    os.makedirs(os.path.dirname(os.path.abspath(base)), exist_ok=True)
    pulses = int(pulses)
    source = _sar.point_target_source(
        acq, [(*t["position_m"], complex(t["amplitude"])) for t in targets], track, pulses,
        noise_power, int(seed), 1, hints.get("beam_rad", 0.0), hints.get("beam_squint_rad", 0.0))
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
    for key, value in hints.items():
        extra["sar:" + key] = list(value) if isinstance(value, tuple) else value
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
