# SPDX-License-Identifier: GPL-3.0-or-later
"""point_target_source as a block: counts, tags, replay, parameters. Physics: qa_*.cc."""

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar

C = sar.speed_of_light


def acquisition(samples=101, **kw):
    values = dict(waveform="pulsed_lfm", samples=samples, carrier_hz=9.6e9, prf_hz=500,
                  sample_rate_hz=100e6, pulse_length_s=160e-9,
                  chirp_rate_hz_per_s=50e6 / 160e-9, slant_range_first_m=9000)
    values.update(kw)
    return sar.acquisition(**values)


TRACK = sar.trajectory.straight((0, 0, 5000), (100, 0, 0))
TARGETS = [(3, 7500, 0, 1), (0, 7520, 10, 0.5j)]


def run(source, samples, positions=True):
    tb = gr.top_block()
    lines = blocks.vector_sink_c(samples)
    tb.connect(source, lines)
    if positions:
        where = blocks.file_sink(24, "/dev/null")
        count = blocks.probe_rate(24)
        tb.connect((source, 1), where)
        tb.connect((source, 1), count)
    tb.run()
    assert source.error() == ""
    return np.array(lines.data(), np.complex64).reshape(-1, samples), lines.tags()


def direct(acq, target, position, samples):
    """Written out from the definition: delay 2R/c, phase exp(-j 4 pi f0 R / c)."""
    r = np.linalg.norm(np.subtract(target[:3], position))
    t = (acq.slant_range_first_m - r) * 2 / C + np.arange(samples) / acq.sample_rate_hz
    inside = (t >= 0) & (t < acq.pulse_length_s)
    chirp = np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * (t - acq.pulse_length_s / 2) ** 2)
    turns = np.mod(2 * acq.carrier_hz * r / C, 1)
    return target[3] * np.where(inside, chirp, 0) * np.exp(-2j * np.pi * turns)


@pytest.mark.parametrize("samples,pulses,frames", [(101, 37, 1), (64, 1, 5), (1000, 130, 3)])
def test_lines_positions_and_tags(samples, pulses, frames, tmp_path):
    acq = acquisition(samples)
    source = sar.point_target_source(acq, TARGETS, TRACK, pulses, 0, 1, frames)
    tb = gr.top_block()
    lines = blocks.vector_sink_c(samples)
    path = str(tmp_path / "positions")
    where = blocks.file_sink(24, path)
    tb.connect(source, lines)
    tb.connect((source, 1), where)
    tb.run()
    where.close()
    x = np.array(lines.data(), np.complex64).reshape(-1, samples)
    p = np.fromfile(path).reshape(-1, 3)
    assert len(x) == len(p) == pulses * frames
    for n in range(pulses * frames):
        at = (100 * (n % pulses) / 500, 0, 5000)
        np.testing.assert_allclose(p[n], at, rtol=0, atol=1e-9)
        if n % 29 == 0:
            expected = sum(direct(acq, t, at, samples) for t in TARGETS)
            assert np.abs(x[n] - expected).max() < 1e-5
    tags = [(t.offset, pmt.to_python(t.value)) for t in lines.tags()
            if pmt.symbol_to_string(t.key) == "sar_frame"]
    assert [offset for offset, _ in tags] == [k * pulses for k in range(frames)]
    for k, (_, d) in enumerate(tags):
        assert d["frame"] == k
        assert d["lines"] == pulses and d["samples"] == samples
        assert d["prf_hz"] == 500 and d["domain"] == "raw"
        assert d["slant_range_first_m"] == 9000
        assert d["spacing_m"] == pytest.approx(C / 200e6)
        assert d["doppler_centroid_hz"] == 0
        assert d["time_s"] == pytest.approx(k * pulses / 500)


def test_noise_is_replayed_and_depends_on_the_seed():
    acq = acquisition()
    x, _ = run(sar.point_target_source(acq, [], TRACK, 20, 0.5, 3, 2), 101)
    assert np.array_equal(x[:20], x[20:])
    assert np.mean(np.abs(x[:20]) ** 2) == pytest.approx(0.5, rel=0.15)
    y, _ = run(sar.point_target_source(acq, [], TRACK, 20, 0.5, 2**63), 101)
    assert not np.array_equal(x[:20], y)


def test_beam():
    """500 Hz at 100 m/s: a target is seen for its share of the track, and no longer."""
    acq = acquisition()
    track = sar.trajectory.straight((-30, 0, 0), (100, 0, 0))
    x, _ = run(sar.point_target_source(acq, [(0, 9040, 0, 1)], track, 300, 0, 1, 1, 0.002), 101)
    # x = -9040 tan(0.001) .. +9040 tan(0.001) = -9.04 m .. 9.04 m
    lit = np.flatnonzero(np.abs(x).sum(axis=1) > 0)
    assert lit[0] == 105 and lit[-1] == 195 and len(lit) == 91
    ahead, _ = run(sar.point_target_source(acq, [(0, 9040, 0, 1)], track, 300, beam_rad=0.002,
                                           beam_squint_rad=0.002), 101)
    # forward: sooner, -9040 tan(0.003) .. -9040 tan(0.001)
    lit = np.flatnonzero(np.abs(ahead).sum(axis=1) > 0)
    assert lit[0] == 15 and lit[-1] == 104
    np.testing.assert_array_equal(ahead[15:105], run(
        sar.point_target_source(acq, [(0, 9040, 0, 1)], track, 300), 101)[0][15:105])


def test_centroid_with_slopes_is_a_vector():
    acq = acquisition(doppler_centroid_hz=-70.5, doppler_centroid_slopes=(0.25, 1e-5))
    _, tags = run(sar.point_target_source(acq, TARGETS, TRACK, 5), 101)
    value = pmt.dict_ref(tags[0].value, pmt.intern("doppler_centroid_hz"), pmt.PMT_NIL)
    assert list(pmt.f64vector_elements(value)) == [-70.5, 0.25, 1e-5]


def test_positions_may_stay_unconnected():
    x, _ = run(sar.point_target_source(acquisition(), TARGETS, TRACK, 5), 101, positions=False)
    assert x.shape == (5, 101)


def test_without_end():
    source = sar.point_target_source(acquisition(), TARGETS, TRACK, 3, frames=0)
    tb = gr.top_block()
    head = blocks.head(8 * 101, 100)
    sink = blocks.vector_sink_c(101)
    tb.connect(source, head, sink)
    tb.run()
    assert len(sink.data()) == 100 * 101
    assert len([t for t in sink.tags()]) == 34


@pytest.mark.parametrize("kw,words", [
    (dict(pulses=0), "pulses is 0"),
    (dict(pulses=2.5), "pulses is 2.5"),
    (dict(noise_power=-1), "noise_power is -1"),
    (dict(frames=-1), "frames is -1"),
    (dict(beam_rad=-1), "beam_rad is -1"),
    (dict(beam_rad=0.1, beam_squint_rad=2), "beam_squint_rad is 2"),
    (dict(beam_rad=0.1, track=sar.trajectory.straight((0, 0, 0), (0, 0, 0))), "stands still"),
    (dict(seed=-1), "seed is -1"),
    (dict(targets=[(1, 2)]), "targets[0]"),
    (dict(targets=[(1, 2, 3, 1), (1, 2, "x", 1)]), "targets[1]"),
    (dict(targets=[(1, 2, float("nan"), 1)]), "targets[0]"),
    (dict(targets=7), "targets is 7"),
    (dict(track=sar.trajectory.sampled([0, 0.01], [(0, 0, 0), (1, 0, 0)])), "pulse 6 of 20"),
    (dict(acq=sar.acquisition(waveform="replica", samples=10, carrier_hz=1e9, prf_hz=1,
                              sample_rate_hz=1e6, replica_bandwidth_hz=1e5)), "replica"),
])
def test_wrong_parameters_are_named(kw, words):
    values = dict(acq=acquisition(), targets=TARGETS, track=TRACK, pulses=20)
    values.update(kw)
    with pytest.raises((ValueError, IndexError)) as e:
        sar.point_target_source(**values)
    assert words in str(e.value)


def test_whole_floats_and_numpy_targets_are_taken():
    targets = np.array([[3, 7500, 0, 1j]])
    a, _ = run(sar.point_target_source(acquisition(), targets, TRACK, 4.0, 0, 1.0, 1.0), 101)
    b, _ = run(sar.point_target_source(acquisition(), [(3, 7500, 0, 1j)], TRACK, 4), 101)
    assert np.array_equal(a, b)
    d, _ = run(sar.point_target_source(acquisition(), [(3, 7500, 0)], TRACK, 4), 101)
    np.testing.assert_allclose(1j * d, a, atol=1e-6)
