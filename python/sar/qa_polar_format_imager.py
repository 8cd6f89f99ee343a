#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""polar_format_imager in flowgraphs: the image of back-projection, apertures, errors; GOTCHA."""
import math

import numpy as np
import pmt
import pytest
from conftest import backends, dict_tag, logged, run
from gnuradio import blocks, gr, sar
from gnuradio.sar.focus import focus as back_projection
from gnuradio.sar.measure import find_peak
from gnuradio.sar.polar_format import polar_format
from gnuradio.sar.recordings import open_recording
from qa_bp_accumulator import acquisition, error_db, position_source, track

C = sar.speed_of_light
GRID = dict(centre_m=(0, 0, 0), row_axis=(0, 1, 0), col_axis=(1, 0, 0), row_spacing_m=0.5,
            col_spacing_m=0.4, rows=37, cols=41)
TARGETS = [((1.0, 2.0, 0.0), 1.0), ((-4.0, 3.0, 0.0), 0.5j), ((3.0, -5.0, 0.0), 0.2)]
ACQ = dict(samples=500, slant_range_first_m=4890.0)


def raw_lines(acq, positions, targets, receivers=None):
    """Echoes of an up-chirp whose delay is that of its start."""
    t = 2 * acq.slant_range_first_m / C + np.arange(acq.samples) / acq.sample_rate_hz
    lines = np.zeros((len(positions), acq.samples), complex)
    for n, p in enumerate(positions):
        for where, amplitude in targets:
            r = np.linalg.norm(np.asarray(where) - p)
            if receivers is not None:
                r = (r + np.linalg.norm(np.asarray(where) - receivers[n])) / 2
            u = t - 2 * r / C - acq.pulse_length_s / 2
            lines[n] += (amplitude * (np.abs(u) <= acq.pulse_length_s / 2)
                         * np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * u**2
                                  - 4j * np.pi * acq.carrier_hz * r / C))
    return lines.astype(np.complex64)


def form(block, lines, positions, receivers=None, tags=()):
    """Returns images [n][rows][cols], sar_image dictionaries."""
    grid = sar.image_grid.centred(**GRID)
    tb = gr.top_block()
    source = blocks.vector_source_c(np.ravel(lines).tolist(), False, lines.shape[1], list(tags))
    sink = blocks.vector_sink_c(grid.cols)
    tb.connect(source, (block, 0), sink)
    tb.connect(position_source(positions), (block, 1))
    if receivers is not None:
        tb.connect(position_source(receivers), (block, 2))
    run(tb)
    images = np.asarray(sink.data(), np.complex64).reshape(-1, grid.rows, grid.cols)
    assert [pmt.symbol_to_string(t.key) for t in sink.tags()] == ["sar_image"] * len(images)
    return images, [pmt.to_python(t.value) for t in sink.tags()]


def by_back_projection(acq, lines, positions, receivers=None):
    grid = sar.image_grid.centred(**GRID)
    tb = gr.top_block()
    source = blocks.vector_source_c(np.ravel(lines).tolist(), False, lines.shape[1])
    compression = sar.pulse_compression(acq, 4, backend="cpu")
    former = sar.bp_accumulator(acq, grid, 4, "sinc16", bistatic=receivers is not None,
                                backend="cpu")
    sink = blocks.vector_sink_c(grid.cols)
    tb.connect(source, compression, former, sink)
    tb.connect(position_source(positions), (former, 1))
    if receivers is not None:
        tb.connect(position_source(receivers), (former, 2))
    run(tb)
    return np.asarray(sink.data(), np.complex64).reshape(grid.rows, grid.cols)


@pytest.fixture(scope="module")
def scene():
    acq = acquisition(**ACQ)
    positions = track(150)
    lines = raw_lines(acq, positions, TARGETS)
    return acq, positions, lines, by_back_projection(acq, lines, positions)


def make(acq, pulses=150, **more):
    more.setdefault("backend", "cpu")
    return sar.polar_format_imager(acq, sar.image_grid.centred(**GRID), pulses, **more)


@pytest.mark.parametrize("backend", backends())
def test_image_is_that_of_back_projection(scene, backend):
    acq, positions, lines, truth = scene
    block = make(acq, backend=backend)
    images, tags = form(block, lines, positions)
    assert block.error() == "" and len(images) == 1
    assert error_db(images[0], truth) < -60
    t = tags[0]
    grid = sar.image_grid.centred(**GRID)
    assert t["pulses"] == 150 and t["first_pulse"] == 0 and t["image"] == 0 and t["complete"]
    assert t["rows"] == 37 and t["cols"] == 41 and t["value"] == "complex"
    assert t["row_spacing_m"] == 0.5 and t["col_spacing_m"] == 0.4
    assert tuple(t["origin_m"]) == pytest.approx(grid.origin_m)
    assert tuple(t["row_axis"]) == (0, 1, 0) and tuple(t["col_axis"]) == (1, 0, 0)
    report = block.report()
    assert report["pulses"] == 150 and report["skipped_pulses"] == 0 and report["images"] == 1
    assert report["aperture_rad"] == pytest.approx(2 * math.atan(60 / 5000), rel=1e-3)
    assert report["range_m"] == pytest.approx(5000, rel=1e-3)
    assert report["radius_m"] == pytest.approx(sar.polar_format_radius_m(
        report["range_m"], acq.wavelength_m(), report["aperture_rad"]))
    assert 0 < report["phase_error_rad"] < 0.05 and 0.005 < report["displacement_m"] < 0.1
    assert block.memory_bytes() > 2 * 150 * 500 * 8
    assert block.work_calls() <= 150 + 37 + 10


def test_curvature_that_is_not_corrected_is_said(scene, capfd):
    acq, positions, lines, truth = scene
    block = make(acq, curvature="warn")
    images, _ = form(block, lines, positions)
    assert error_db(images[0], truth) > -20
    said = logged(capfd, "points of image 0 appear")
    assert "points of image 0 appear up to" in said and "'correct' puts them back" in said
    assert f"{block.report()['displacement_m']:.3g} m" in said


def test_separate_receiver(scene):
    acq, positions, _, _ = scene
    receivers = positions + [30.0, 200.0, -50.0]
    lines = raw_lines(acq, positions, TARGETS, receivers)
    images, _ = form(make(acq, bistatic=True), lines, positions, receivers)
    assert error_db(images[0], by_back_projection(acq, lines, positions, receivers)) < -60


@pytest.mark.parametrize("backend", backends())
def test_apertures_that_overlap(scene, backend):
    acq, positions, lines, _ = scene
    images, tags = form(make(acq, 80, hop=20, backend=backend), lines, positions)
    assert [(t["first_pulse"], t["pulses"], t["complete"]) for t in tags] == [
        (0, 80, True), (20, 80, True), (40, 80, True), (60, 80, True), (80, 70, False)]
    for image, t in zip(images, tags):
        part = slice(t["first_pulse"], t["first_pulse"] + t["pulses"])
        alone, _ = form(make(acq, t["pulses"], backend=backend), lines[part], positions[part])
        assert error_db(image, alone[0]) < -120


def test_bad_lines_and_positions_are_counted(scene, capfd):
    acq, positions, lines, truth = scene
    lines, positions = lines.copy(), positions.copy()
    lines[7, 3] = np.nan
    positions[20, 1] = np.inf
    block = make(acq)
    images, tags = form(block, lines, positions)
    assert np.all(np.isfinite(images)) and error_db(images[0], truth) < -25
    assert tags[0]["pulses"] == 149
    assert block.bad_lines() == 1 and block.report()["skipped_pulses"] == 1
    said = logged(capfd, "pulse 20 is skipped", "1 lines held")
    assert "pulse 20 is skipped" in said and "1 lines held values that are not finite" in said


def test_aperture_that_gives_no_image_ends_the_flowgraph(scene):
    acq, positions, lines, _ = scene
    block = make(acq, 3)  # from pulse to pulse the phase over the grid changes too much
    images, _ = form(block, lines[::50], positions[::50])
    assert len(images) == 0
    assert "larger than what 3 pulses show without ambiguity" in block.error()
    block = make(acq.replace(slant_range_first_m=5000.0), 150)
    form(block, lines, positions)
    assert "outside their swath of 5000 to" in block.error()
    block = make(acq)
    form(block, lines[:0], positions)
    assert "no pulse arrived: the stream of raw lines ended without one" in block.error()


@pytest.mark.parametrize("fields,sentence", [
    (dict(domain="compressed"), "domain 'compressed'"), (dict(samples=400), "samples 400"),
    (dict(slant_range_first_m=4700.0), "slant_range_first_m 4700")])
def test_lines_that_contradict(scene, fields, sentence):
    acq, positions, lines, _ = scene
    block = make(acq)
    form(block, lines, positions, tags=[dict_tag("sar_frame", 0, fields)])
    assert sentence in block.error()


@pytest.mark.parametrize("more,sentence", [
    (dict(pulses=0), "pulses_per_image is 0; expected 1"), (dict(pulses=1.5), "pulses_per_image is 1.5"),
    (dict(hop=7), "expected a multiple of hop, 7"), (dict(hop=-1), "hop is -1"),
    (dict(range_window="box"), "box"), (dict(azimuth_window="box"), "box"),
    (dict(curvature="ignore"), "curvature is 'ignore'; expected one of: correct, warn, refuse"),
    (dict(replica=[1, 2]), "replica has 2 samples"), (dict(backend="gpu"), "backend is 'gpu'")])
def test_wrong_parameters(more, sentence):
    with pytest.raises((ValueError, RuntimeError), match=sentence):
        make(acquisition(**ACQ), **more)


def test_radius():
    wavelength, resolution = 0.031, 0.25
    angle = wavelength / (2 * resolution)
    assert sar.polar_format_radius_m(10e3, wavelength, angle) == pytest.approx(
        resolution * math.sqrt(2 * 10e3 / wavelength))
    assert sar.polar_format_radius_m(10e3, wavelength, angle, math.pi) == pytest.approx(
        2 * resolution * math.sqrt(2 * 10e3 / wavelength))
    with pytest.raises(ValueError, match="range_m is -1"):
        sar.polar_format_radius_m(-1, wavelength, angle)


# ---- GOTCHA -----------------------------------------------------------------------------

REFLECTORS = [(-15.60, 21.55, 0.0), (-27.80, 38.80, 0.0)]
PIXEL = 0.2


def gotcha_grid():
    return sar.image_grid.centred((0, 0, 0), row_axis=(0, -1, 0), col_axis=(1, 0, 0),
                                  row_spacing_m=PIXEL, col_spacing_m=PIXEL, rows=500, cols=500)


@pytest.mark.parametrize("backend", backends())
def test_gotcha_is_that_of_back_projection(gotcha, backend):
    grid = gotcha_grid()
    image, report = polar_format(open_recording(gotcha), grid, backend=backend, window="hann",
                                 azimuth_window="hann")
    truth, _ = back_projection(open_recording(gotcha, azimuth_window="hann"), grid,
                               backend=backend, window="hann", interpolation="sinc16")
    # the two calibration reflectors: same place to half a pixel, level and phase
    levels = []
    for place in REFLECTORS:
        p, a = find_peak(image, grid, place, 1)
        q, b = find_peak(truth, grid, place, 1)
        assert np.linalg.norm(np.subtract(p, q)) < PIXEL / 2
        assert np.linalg.norm(np.subtract(p, place)) < 0.15
        assert abs(20 * math.log10(a / b)) < 0.1
        i, j = (round(v) for v in grid.index_of(place))
        assert abs(np.angle(image[i, j] / truth[i, j])) < 0.05
        levels.append(a)
    # neither image is turned or mirrored: what lies opposite is weak
    for x, y in ((15.60, -21.55), (-15.60, -21.55), (15.60, 21.55)):
        assert 20 * math.log10(find_peak(image, grid, (x, y, 0), 1)[1] / levels[0]) < -15
    # and they can be subtracted
    assert error_db(image, truth) < -40
    assert report["curvature"]["phase_error_rad"] < 0.1
    assert 0.1 < report["curvature"]["displacement_m"] < 1
    # plain polar format puts them elsewhere by more than half a pixel
    plain, _ = polar_format(open_recording(gotcha), grid, backend=backend, window="hann",
                            azimuth_window="hann", curvature="warn")
    far = find_peak(plain, grid, REFLECTORS[1], 1)[0]
    assert np.linalg.norm(np.subtract(far, find_peak(truth, grid, REFLECTORS[1], 1)[0])) > PIXEL / 2


def test_gotcha_conjugated_is_seen(gotcha):
    grid = gotcha_grid()
    rec = open_recording(gotcha)
    right, _ = polar_format(rec, grid, backend="cpu")
    rec.acq = rec.acq.replace(phase_sign=1)
    wrong, _ = polar_format(rec, grid, backend="cpu")
    loss = find_peak(right, grid, REFLECTORS[0], 1)[1] / find_peak(wrong, grid, REFLECTORS[0], 1)[1]
    assert 20 * math.log10(loss) > 12


def test_gotcha_single_pulse(gotcha):
    rec = open_recording(gotcha).select(100, 101)
    grid = gotcha_grid()
    image, _ = polar_format(rec, grid, backend="cpu")
    truth, _ = back_projection(rec, grid, backend="cpu", interpolation="sinc16")
    # one range profile all over the image, in arcs: of one direction the fit leaves nothing
    assert error_db(image, truth) < -50


if __name__ == "__main__":
    import sys

    sys.exit(pytest.main([__file__, "-q", *sys.argv[1:]]))
