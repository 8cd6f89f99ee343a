# SPDX-License-Identifier: GPL-3.0-or-later
"""sweep_alignment as a block: streams, stretches, holes, ends; and an image at speed."""

import re

import numpy as np
import pmt
import pytest
from conftest import dict_tag, frame_tag, tag
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
ACQ = dict(waveform="fmcw", samples=40, carrier_hz=9.6e9, prf_hz=1000, sample_rate_hz=50e3,
           chirp_rate_hz_per_s=250e9, gate_start_s=0.1e-3)


def tones(acq, numbers, fd):
    """Lines of an echo with Doppler frequency fd, as a sweep samples it."""
    n, k = np.meshgrid(numbers, np.arange(acq.samples), indexing="ij")
    into = acq.gate_start_s + k / acq.sample_rate_hz
    back = (n % 2 == 1) & (acq.sweep == "triangle")
    t = n / acq.prf_hz + np.where(back, 1 / acq.prf_hz - into, into)
    return np.exp(2j * np.pi * fd * t).astype(np.complex64)


def run(block, lines, tags=(), buffer=None):
    lines = np.asarray(lines, np.complex64)
    source = blocks.vector_source_c(lines.ravel().tolist(), False, lines.shape[1], list(tags))
    sink = blocks.vector_sink_c(lines.shape[1])
    top = gr.top_block()
    if buffer:
        source.set_max_output_buffer(buffer)  # a few lines at a time
    top.connect(source, block, sink)
    top.run()
    assert block.error() == ""
    return np.array(sink.data()).reshape(-1, lines.shape[1]), sink.tags()


@pytest.mark.parametrize("sweep", ["sawtooth", "triangle"])
@pytest.mark.parametrize("lines,buffer", [(1, None), (7, None), (300, None), (300, 128)])
def test_every_line_comes_out_at_its_instant(sweep, lines, buffer):
    acq = sar.acquisition(**ACQ, sweep=sweep)
    block = sar.sweep_alignment(acq, instant_s=0.25e-3)
    # a source of tags gives out all its items at once
    marked = range(0, 0 if buffer else lines, 5)
    out, tags = run(block, tones(acq, np.arange(lines), 150.0),
                    [tag(k, "k", pmt.from_long(k)) for k in marked], buffer)
    assert out.shape == (lines, acq.samples)
    assert [(t.offset, pmt.to_long(t.value)) for t in tags] == [(k, k) for k in marked]
    truth = np.exp(2j * np.pi * 150 * (np.arange(lines) / 1000 + 0.25e-3))[:, None]
    if lines > 100:
        error = np.abs(out - truth)[40:-40].max()
        assert 20 * np.log10(error) < block.error_bound_db() + 0.5 < -60
        # without it the phase runs on while the sweep lasts: 0.12 turns
        assert np.abs(tones(acq, np.arange(lines), 150.0) - truth)[40:-40].max() > 0.5


def test_the_centroid_may_be_many_prfs():
    acq = sar.acquisition(**ACQ, doppler_centroid_hz=3210.0)
    lines = tones(acq, np.arange(200), 3210.0)
    out, _ = run(sar.sweep_alignment(acq), lines)
    # the Doppler frequency of a tone is the same over the sweep, that of an echo grows with
    # the radio frequency: the centroid is told for the middle
    middle = acq.samples // 2
    truth = np.exp(2j * np.pi * 3210 * np.arange(200) / 1000)
    assert np.abs(out[20:-20, middle] - truth[20:-20]).max() < 2e-3


@pytest.mark.parametrize("sweep", ["sawtooth", "triangle"])
@pytest.mark.parametrize("begin", [501, 101, None])
def test_stretches_are_not_mixed(sweep, begin):
    """Two stretches, the second from an odd pulse on, or not numbered; a frame that goes on is none."""
    acq = sar.acquisition(**ACQ, sweep=sweep)
    first, second = np.arange(100), (begin or 0) + np.arange(100)
    lines = np.concatenate([tones(acq, first, 90.0), tones(acq, second, -60.0)])
    tags = [frame_tag(0), frame_tag(50, continues=True), frame_tag(100)] if begin is None else [
        frame_tag(0, pulse=0), frame_tag(50, pulse=50, continues=True), frame_tag(100, pulse=begin)]
    out, _ = run(sar.sweep_alignment(acq), lines, tags)
    for at, numbers, fd in ((0, first, 90.0), (100, second, -60.0)):
        alone, _ = run(sar.sweep_alignment(acq), lines[at : at + 100],
                       [frame_tag(0, pulse=int(numbers[0]))])
        np.testing.assert_array_equal(out[at : at + 100], alone)
        truth = np.exp(2j * np.pi * fd * numbers / 1000)[:, None]
        assert np.abs(alone - truth)[40:-40].max() < 0.01


@pytest.mark.parametrize("sweep", ["sawtooth", "triangle"])
def test_skipped_holes_leave_the_rest_right(sweep):
    acq = sar.acquisition(**ACQ, sweep=sweep)
    numbers = np.concatenate([np.arange(100), np.arange(103, 203)])
    out, _ = run(sar.sweep_alignment(acq), tones(acq, numbers, 120.0),
                 [frame_tag(0, pulse=0), dict_tag("sar_holes", 100, dict(
                     pulse=100, count=3, filled=False, estimated=False))])
    truth = np.exp(2j * np.pi * 120 * numbers / 1000)[:, None]
    error = np.abs(out - truth).max(axis=1)
    assert error[40:60].max() < 0.01 and error[140:160].max() < 0.01
    assert 0.05 < error[98:102].max() < 1


def test_a_line_that_is_not_finite_counts_as_zeros():
    acq = sar.acquisition(**ACQ)
    lines = tones(acq, np.arange(200), 120.0)
    zeros = lines.copy()
    lines[100, 7], zeros[100] = np.nan, 0
    block = sar.sweep_alignment(acq)
    out, _ = run(block, lines)
    np.testing.assert_array_equal(out, run(sar.sweep_alignment(acq), zeros)[0])
    assert block.bad_lines() == 1


def test_compressed_lines_are_refused():
    acq = sar.acquisition(**ACQ)
    block = sar.sweep_alignment(acq)
    source = blocks.vector_source_c([0j] * 400, False, 40, [frame_tag(0, domain="compressed")])
    top = gr.top_block()
    top.connect(source, block, blocks.null_sink(320))
    top.run()
    assert "it stands before pulse_compression" in block.error()


@pytest.mark.parametrize("kw,words", [
    (dict(taps=2.5), "taps is 2.5"), (dict(taps=1), "taps is 1"),
    (dict(doppler_band_hz=1000), "doppler_band_hz is 1000"), (dict(instant_s=1), "instant_s is 1"),
])
def test_wrong_parameters_are_named(kw, words):
    with pytest.raises(ValueError, match=words):
        sar.sweep_alignment(sar.acquisition(**ACQ), **kw)


# ---- an image ----------------------------------------------------------------------------


def image(sweep, align, moves=True, **change):
    """Squinted spotlight from 60 m/s, back-projected: (image, grid, truth of the point)."""
    f = dict(waveform="fmcw", samples=256, carrier_hz=9.6e9, prf_hz=2000, sample_rate_hz=640e3,
             chirp_rate_hz_per_s=500e6 / 0.4e-3, gate_start_s=0.05e-3, sweep=sweep, phase_sign=1)
    lines, more, v = 400, 64, 60.0  # the first and last lines are made of fewer: left out
    middle = np.array([v * (lines / 2 + more) / f["prf_hz"], 0, 0])
    at = middle + [18.0, 60.0, 0.0]  # 17 degrees ahead
    acq = sar.acquisition(**f)
    sight = at - middle
    fd = 2 * v * sight[0] / np.linalg.norm(sight) * acq.centre_frequency_hz() / C
    acq = acq.replace(doppler_centroid_hz=fd)
    track = sar.trajectory.straight((0, 0, 0), (v, 0, 0))
    source = sar.point_target_source(acq, [(*at, 1.0)], track, lines + 2 * more, sweep_motion=moves)
    used = acq.replace(**change)
    grid = sar.image_grid.centred(tuple(at), (1, 0, 0), (0, 1, 0), 0.05, 0.05, 81, 81)
    compress = sar.pulse_compression(used, 4, "rect", backend="cpu")
    former = sar.bp_accumulator(used, grid, 4, backend="cpu")
    sink = blocks.vector_sink_c(81)
    top = gr.top_block()
    top.connect(source, *[sar.sweep_alignment(used)] * align, blocks.skiphead(8 * 256, more),
                blocks.head(8 * 256, lines), compress, former, sink)
    top.connect((source, 1), blocks.skiphead(24, more), (former, 1))
    top.run()
    return np.array(sink.data()).reshape(81, 81), fd, acq


def peak(x):
    i, j = np.unravel_index(np.argmax(abs(x)), x.shape)

    def vertex(a, b, c):
        return 0.5 * (a - c) / (a - 2 * b + c)
    p = abs(x)
    return (np.array([i + vertex(*p[i - 1 : i + 2, j]), j + vertex(*p[i, j - 1 : j + 2])]) - 40) * 0.05


@pytest.mark.parametrize("sweep", ["sawtooth", "triangle"])
def test_a_point_is_where_it_is_at_speed(sweep):
    """Back-projection takes the antenna to stand still: half a cell wrong at 60 m/s."""
    x, fd, acq = image(sweep, True)
    cell = C / 2 / acq.bandwidth_hz()
    still = image(sweep, False, moves=False)[0]
    assert np.linalg.norm(peak(x)) < cell / 16
    assert abs(x).max() == pytest.approx(abs(still).max(), rel=0.01)
    assert abs(np.angle(x[40, 40])) < 0.05
    wrong = image(sweep, False)[0]
    if sweep == "sawtooth":
        assert np.linalg.norm(peak(wrong)) > 0.7 * abs(acq.doppler_shift_m(fd)) > 0.3 * cell
    else: # one half of the lines sees it nearer, one farther
        assert abs(wrong).max() < 0.9 * abs(still).max()


def test_a_carrier_that_forgets_the_gate_is_seen():
    """The centre frequency follows from the gate; without it the scale is wrong by 0.6 %."""
    right = image("sawtooth", False, moves=False)[0]
    wrong = image("sawtooth", False, moves=False, gate_start_s=0)[0]
    assert abs(np.angle(right[40, 40])) < 0.02
    assert abs(abs(right[40, 40]) - 1) < 0.02
    assert abs(np.angle(wrong[40, 40])) > 0.1 or abs(wrong[40, 40]) < 0.9


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A file of sweeps from 60 m/s, 17 degrees ahead; no centroid is told. (name, the point)"""
    from gnuradio.sar.sigmf_files import write_sigmf

    acq = sar.acquisition(waveform="fmcw", samples=256, carrier_hz=9.6e9, prf_hz=2000, slant_range_first_m=0,
                          sample_rate_hz=640e3, chirp_rate_hz_per_s=500e6 / 0.4e-3, gate_start_s=0.05e-3)
    at, lines = (24.0, 60.0, 0.0), 400
    source = sar.point_target_source(acq, [(*at, 1.0)], sar.trajectory.straight((0, 0, 0), (60, 0, 0)),
                                     lines, sweep_motion=True)
    sink, top = blocks.vector_sink_c(256), gr.top_block()
    top.connect(source, sink)
    top.run()
    path = tmp_path_factory.mktemp("recorded") / "sweeps"
    write_sigmf(path, np.array(sink.data()).reshape(lines, 256), acq,
                np.column_stack([np.arange(lines) * 60 / 2000, np.zeros((lines, 2))]))
    return str(path) + ".sigmf-meta", at


def test_a_recording_is_aligned_when_asked_for(recorded):
    from gnuradio.sar.focus import focus
    from gnuradio.sar.recordings import open_recording

    rec = open_recording(recorded[0])
    grid = sar.image_grid.centred(recorded[1], (1, 0, 0), (0, 1, 0), 0.05, 0.05, 81, 81)
    cell = C / 2 / rec.acq.bandwidth_hz()
    wrong, report = focus(rec, grid, backend="cpu")
    (said,) = [n for n in report["notes"] if "--align-sweeps" in n]
    assert "the antenna moves during the sweeps" in said
    right, report = focus(rec, grid, backend="cpu", align_sweeps=True)
    assert any(re.search("is taken out to -[67]. dB", n) for n in report["notes"])
    assert "sweep_alignment" in report["timings_s"]
    assert np.linalg.norm(peak(wrong)) > 0.3 * cell
    assert np.linalg.norm(peak(right)) < cell / 16
    # 16 lines at either end of the 400 are made of fewer
    assert abs(right).max() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("centroid_hz,said", [(400.0, True), (-400.0, True), (125.0, False)])
def test_echoes_beyond_the_band_are_said(centroid_hz, said):
    """Doppler frequencies of -50 to 300 Hz in the band of 800 Hz around the centroid that is told."""
    from gnuradio.sar.recordings import Recording
    from gnuradio.sar.sweeps import alignment

    acq = sar.acquisition(**ACQ, doppler_centroid_hz=centroid_hz)
    fd = np.linspace(300, -50, 100)
    # straight away from the point, at the speed that gives them
    far = np.cumsum(-fd * C / (2 * acq.centre_frequency_hz()) / acq.prf_hz)
    tx = np.stack([-1000 - far, 0 * far, 0 * far], axis=1)
    rec = Recording(acq, None, 100, np.arange(100) / acq.prf_hz, tx=tx)
    ((_, block), ), notes = alignment(rec, True, point_m=(0, 0, 0))
    assert block.doppler_band_hz() == pytest.approx(800)
    assert any("of the scene's middle are -5" in n and "lose echoes" in n for n in notes) == said


def test_align_sweeps_of_the_command_line(recorded, tmp_path, capsys):
    from gnuradio.sar.cli import main

    assert main(["focus", recorded[0], "-o", str(tmp_path / "o"), "--align-sweeps", "--backend", "cpu",
                 "--grid", "20,28,56,64", "--no-swap-check"]) == 0
    assert "motion during the sweeps" in capsys.readouterr().out
    assert main(["info", recorded[0]]) == 0
    said = capsys.readouterr().out
    assert "9.6625 to 10.1605 GHz, the middle is 9.9125 GHz" in said and "sweep_alignment takes that out" in said


def test_only_sweeps_are_aligned(tmp_path):
    from gnuradio.sar.focus import focus
    from gnuradio.sar.recordings import open_recording
    from qa_recordings import make

    meta, _ = make(tmp_path, positions=np.zeros((6, 3)))
    grid = sar.image_grid.centred((0, 1000, 0), (1, 0, 0), (0, 1, 0), 1, 1, 9, 9)
    with pytest.raises(ValueError, match="align_sweeps is set, but the waveform is pulsed_lfm"):
        focus(open_recording(meta), grid, backend="cpu", align_sweeps=True)
