# SPDX-License-Identifier: GPL-3.0-or-later
"""trajectory_source: positions at the times of the pulses."""

import numpy as np
import pytest
from gnuradio import blocks, gr, sar


def positions_of(source, path, head=None):
    tb = gr.top_block()
    sink = blocks.file_sink(24, str(path))
    if head:
        tb.connect(source, blocks.head(24, head), sink)
    else:
        tb.connect(source, sink)
    tb.run()
    sink.close()
    assert source.error() == ""
    return np.fromfile(path).reshape(-1, 3)


def test_straight_track(tmp_path):
    track = sar.trajectory.straight((1, 2, 3), (10, 0, -1))
    p = positions_of(sar.trajectory_source(track, 100, 1237, 0.5), tmp_path / "p")
    t = 0.5 + np.arange(1237) / 100
    np.testing.assert_allclose(p, np.array([1 + 10 * t, 2 + 0 * t, 3 - t]).T, atol=1e-12)


def test_frames_and_record_with_large_coordinates(tmp_path):
    t = np.linspace(0, 10, 101)
    record = np.array([4e5 + 100 * t, 5.2e6 + t**2, 3e3 + 0 * t]).T
    track = sar.trajectory.sampled(t, [tuple(r) for r in record], clock_offset_s=2)
    p = positions_of(sar.trajectory_source(track, 7, 50, 0.3, 3), tmp_path / "p")
    assert p.shape == (150, 3)
    assert np.array_equal(p[:50], p[50:100]) and np.array_equal(p[:50], p[100:])
    at = 2 + 0.3 + np.arange(50) / 7
    expected = np.array([4e5 + 100 * at, 5.2e6 + at**2, 3e3 + 0 * at]).T
    np.testing.assert_allclose(p[:50], expected, rtol=0, atol=1e-6)


def test_without_end(tmp_path):
    track = sar.trajectory.straight((0, 0, 0), (1, 0, 0))
    p = positions_of(sar.trajectory_source(track, 1, 3, frames=0), tmp_path / "p", head=10)
    assert list(p[:, 0]) == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("kw,words", [
    (dict(pulses=0), "pulses is 0"),
    (dict(pulses=1.5), "pulses is 1.5"),
    (dict(prf_hz=0), "prf_hz is 0"),
    (dict(start_s=float("nan")), "start_s is nan"),
    (dict(frames=-2), "frames is -2"),
])
def test_wrong_parameters_are_named(kw, words):
    values = dict(track=sar.trajectory.straight((0, 0, 0), (1, 0, 0)), prf_hz=10, pulses=5)
    values.update(kw)
    with pytest.raises(ValueError) as e:
        sar.trajectory_source(**values)
    assert words in str(e.value)


def test_pulse_outside_the_record_is_named():
    track = sar.trajectory.sampled([0, 1], [(0, 0, 0), (1, 0, 0)])
    sar.trajectory_source(track, 10, 11)
    with pytest.raises(IndexError) as e:
        sar.trajectory_source(track, 10, 12)
    assert "pulse 11 of 12" in str(e.value) and "clock_offset_s" in str(e.value)
