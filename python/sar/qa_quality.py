# SPDX-License-Identifier: GPL-3.0-or-later
"""Back-projected point targets against theory, through the blocks, on every backend.

Geometry: spotlight at X band, 0.5 m cells, targets in the middle, near and far, left and
right of the scene, not on a line and unevenly spaced, so that a mirrored image fails.
"""
import math

import numpy as np
import pytest
from conftest import backends
from gnuradio import blocks, gr

from gnuradio import sar

CARRIER_HZ = 9.6e9
BANDWIDTH_HZ = 300e6
SAMPLE_RATE_HZ = 360e6
PULSE_S = 1.5e-6
PULSES = 384
RANGE_M = 5000.0
GRAZING = math.radians(40)
APERTURE_RAD = 0.03125
SIDE_M = 64.0
SPACING_M = 0.2

# (along the look direction on the ground, across it), m: middle, corners, edges
TARGETS = [(0.3, -0.4), (22.1, 19.3), (21.2, -20.6), (-20.7, 17.9), (-23.3, -18.2)]


class Scene:
    """A straight pass at a squint; x along the flight, ground plane z = 0."""

    def __init__(self, side="right", chirp=+1, squint_deg=0.0, centre=(0.0, 0.0, 0.0)):
        sign = -1.0 if side == "right" else 1.0  # flying along +x, right is -y
        squint = math.radians(squint_deg)
        ground = RANGE_M * math.cos(GRAZING)
        height = RANGE_M * math.sin(GRAZING)
        self.look = np.array([math.sin(squint), sign * math.cos(squint), 0.0])
        self.across = np.array([math.cos(squint), -sign * math.sin(squint), 0.0])
        self.centre = np.array(centre, float)
        middle = self.centre - ground * self.look + np.array([0, 0, height])
        # the aperture angle in the slant plane: part of the flight across the line of sight
        los = (self.centre - middle) / RANGE_M
        across = math.sqrt(1 - los[0] ** 2)
        length = 2 * RANGE_M * math.tan(APERTURE_RAD / 2) / across
        speed, self.prf = 100.0, PULSES * 100.0 / length
        start = middle - np.array([length / 2 * (PULSES - 1) / PULSES, 0, 0])
        self.track = sar.trajectory.straight(tuple(start), (speed, 0, 0))
        self.positions = [np.array(p) for p in self.track.positions(0, self.prf, PULSES)]
        reach = SIDE_M / 2 * 1.5
        samples = int(math.ceil((2 * reach * 2 / sar.speed_of_light + PULSE_S) * SAMPLE_RATE_HZ))
        self.acq = sar.acquisition(
            waveform="pulsed_lfm", samples=samples, carrier_hz=CARRIER_HZ, prf_hz=self.prf,
            sample_rate_hz=SAMPLE_RATE_HZ, chirp_rate_hz_per_s=chirp * BANDWIDTH_HZ / PULSE_S,
            pulse_length_s=PULSE_S, slant_range_first_m=RANGE_M - reach,
            look_side=side)
        n = int(SIDE_M / SPACING_M)
        self.grid = sar.image_grid.centred(
            tuple(self.centre), tuple(self.look), tuple(self.across), SPACING_M, SPACING_M, n, n)
        self.targets = [tuple(self.centre + a * self.look + b * self.across) for a, b in TARGETS]

    def geometry(self):
        return dict(
            aperture_start_m=tuple(self.positions[0]),
            aperture_centre_m=tuple((self.positions[0] + self.positions[-1]) / 2),
            aperture_end_m=tuple(self.positions[-1]),
            carrier_hz=CARRIER_HZ, bandwidth_hz=BANDWIDTH_HZ)

    def focus(self, backend, targets=None, **bp):
        tb = gr.top_block()
        source = sar.point_target_source(
            self.acq, [(*p, 1.0) for p in (targets or self.targets)], self.track, PULSES)
        compress = sar.pulse_compression(self.acq, oversampling=2, backend=backend)
        image = sar.bp_accumulator(self.acq, self.grid, oversampling=2, backend=backend, **bp)
        sink = blocks.vector_sink_c(self.grid.cols)
        tb.connect((source, 0), compress, image, sink)
        tb.connect((source, 1), (image, 1))
        tb.run()
        for block in (source, compress, image):
            assert block.error() == ""
        return np.array(sink.data(), np.complex64).reshape(self.grid.rows, self.grid.cols)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(
    "side,chirp,squint,accuracy",
    [("right", +1, 0, "exact"), ("right", +1, 0, "fast"), ("left", +1, 0, "auto"),
     ("right", -1, 0, "auto"), ("left", -1, 20, "auto"), ("right", +1, 20, "exact"),
     ("right", +1, -20, "fast")])
def test_point_targets_meet_theory(side, chirp, squint, accuracy, backend):
    scene = Scene(side, chirp, squint)
    image = scene.focus(backend, accuracy=accuracy)
    for target in scene.targets:
        r = sar.measure_point_target(image, scene.grid, target, **scene.geometry())
        assert r["pass"], r["failures"]
        assert abs(r["peak_amplitude"] - 1) < 0.02


def test_mirrored_image_fails():
    """The same judge must refuse an image mirrored along either axis."""
    scene = Scene()
    image = scene.focus("cpu")
    for mirrored in (image[::-1], image[:, ::-1]):
        mirrored = np.ascontiguousarray(mirrored)
        results = [sar.measure_point_target(mirrored, scene.grid, t, **scene.geometry())["pass"]
                   for t in scene.targets]
        assert not any(results)


def test_wrong_chirp_sign_fails():
    scene, other = Scene(chirp=+1), Scene(chirp=-1)
    scene.acq, acq = other.acq, scene.acq
    # simulate with one sign, compress with the other
    tb = gr.top_block()
    source = sar.point_target_source(acq, [(*p, 1.0) for p in scene.targets], scene.track, PULSES)
    compress = sar.pulse_compression(scene.acq, oversampling=2, backend="cpu")
    image = sar.bp_accumulator(scene.acq, scene.grid, oversampling=2, backend="cpu")
    sink = blocks.vector_sink_c(scene.grid.cols)
    tb.connect((source, 0), compress, image, sink)
    tb.connect((source, 1), (image, 1))
    tb.run()
    wrong = np.array(sink.data(), np.complex64).reshape(scene.grid.rows, scene.grid.cols)
    assert not sar.measure_point_target(wrong, scene.grid, scene.targets[0], **scene.geometry())["pass"]


@pytest.mark.parametrize("backend", backends())
def test_map_coordinates_change_nothing(backend):
    """UTM-sized coordinates on platform and grid: same image (geometry in double)."""
    here = Scene()
    there = Scene(centre=(4.0e5, 5.2e6, 0.0))
    for accuracy in ("exact", "fast"):
        a = here.focus(backend, accuracy=accuracy)
        b = there.focus(backend, accuracy=accuracy)
        error = 10 * math.log10(np.sum(abs(a - b) ** 2) / np.sum(abs(a) ** 2))
        assert error < -60, (accuracy, error)


@pytest.mark.parametrize("backend", [b for b in backends() if b != "cpu"])
def test_backends_agree(backend):
    scene = Scene(squint_deg=20)
    for accuracy, limit_db in (("exact", -100), ("fast", -80)):
        a = scene.focus("cpu", accuracy=accuracy)
        b = scene.focus(backend, accuracy=accuracy)
        error = 10 * math.log10(max(np.sum(abs(a - b) ** 2), 1e-30) / np.sum(abs(a) ** 2))
        assert error < limit_db, (accuracy, error)
