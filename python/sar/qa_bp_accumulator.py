#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bp_accumulator in flowgraphs: images, apertures, ends of streams, errors."""
import re

import numpy as np
import pmt
import pytest
from conftest import backends, logged, run
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
CELL = C / (2 * 200e6)
SAMPLES, OVERSAMPLING = 200, 4


def acquisition(**changes):
    fields = dict(waveform="pulsed_lfm", samples=SAMPLES, carrier_hz=9.6e9, prf_hz=1000,
                  sample_rate_hz=250e6, chirp_rate_hz_per_s=200e6 / 1e-6, pulse_length_s=1e-6,
                  slant_range_first_m=4940.0)
    fields.update(changes)
    return sar.acquisition(**fields)


def track(pulses):
    """Antenna 5 km south of the scene, flying east."""
    x = np.linspace(-60, 60, pulses) if pulses > 1 else np.zeros(1)
    return np.stack([x, np.full(pulses, -4000.0), np.full(pulses, 3000.0)], 1)


def lines_of(axis, positions, targets):
    """What pulse_compression would give: sinc pulses with the carrier's phase."""
    r = axis.first_m + axis.spacing_m * np.arange(axis.samples)
    lines = np.zeros((len(positions), axis.samples), complex)
    for n, p in enumerate(positions):
        for where, amplitude in targets:
            rt = np.linalg.norm(np.asarray(where) - p) + axis.range_bias_m
            lines[n] += (amplitude * np.sinc((r - rt) / CELL)
                         * np.exp(-4j * np.pi * axis.carrier_hz * rt / C))
    return lines.astype(np.complex64)


def direct(axis, grid, positions, targets):
    """The image in float64, with exact interpolation."""
    g = grid.to_dict()
    i, j = np.mgrid[:g["rows"], :g["cols"]]
    pixels = (np.asarray(g["origin_m"])
              + i[..., None] * g["row_spacing_m"] * np.asarray(g["row_axis"])
              + j[..., None] * g["col_spacing_m"] * np.asarray(g["col_axis"]))
    image = np.zeros(i.shape, complex)
    for p in positions:
        r = np.linalg.norm(pixels - p, axis=-1)
        for where, amplitude in targets:
            rt = np.linalg.norm(np.asarray(where) - p)
            image += (amplitude * np.sinc((r - rt) / CELL)
                      * np.exp(4j * np.pi * axis.carrier_hz * (r - rt) / C))
    return image / len(positions)


def error_db(image, reference):
    return 10 * np.log10(np.sum(np.abs(image - reference) ** 2) / np.sum(np.abs(reference) ** 2)
                         + 1e-30)


GRID = dict(centre_m=(0, 0, 0), row_axis=(0, 1, 0), col_axis=(1, 0, 0), row_spacing_m=0.5,
            col_spacing_m=0.4, rows=37, cols=41)
TARGETS = [((1.0, 2.0, 0.0), 1.0), ((-4.0, 3.0, 0.0), 0.5j), ((3.0, -5.0, 0.0), 0.2)]


def position_source(positions):
    data = np.ascontiguousarray(positions, np.float64)
    return blocks.vector_source_b(list(data.tobytes()), False, 24)


def focus(lines, positions, acq=None, grid=None, tags=(), receivers=None, **kwargs):
    """Returns block, images [n][rows][cols], sar_image dictionaries."""
    acq = acq or acquisition()
    grid = grid or sar.image_grid.centred(**GRID)
    kwargs.setdefault("oversampling", OVERSAMPLING)
    kwargs.setdefault("backend", "cpu")
    tb = gr.top_block()
    vlen = acq.samples * kwargs["oversampling"]
    source = blocks.vector_source_c(np.ravel(lines).tolist(), False, vlen, list(tags))
    block = sar.bp_accumulator(acq, grid, bistatic=receivers is not None, **kwargs)
    sink = blocks.vector_sink_c(grid.cols)
    tb.connect(source, (block, 0), sink)
    tb.connect(position_source(positions), (block, 1))
    if receivers is not None:
        tb.connect(position_source(receivers), (block, 2))
    run(tb)
    images = np.asarray(sink.data(), np.complex64).reshape(-1, grid.rows, grid.cols)
    dictionaries = []
    for n, tag in enumerate(sink.tags()):
        assert pmt.symbol_to_string(tag.key) == "sar_image"
        assert tag.offset == n * grid.rows
        dictionaries.append(pmt.to_python(tag.value))
    assert len(dictionaries) == len(images)
    return block, images, dictionaries


@pytest.fixture(scope="module")
def scene():
    axis = acquisition().compressed_axis(OVERSAMPLING)
    positions = track(150)
    return axis, positions, lines_of(axis, positions, TARGETS)


@pytest.mark.parametrize("backend", backends())
def test_image_at_the_end_of_the_stream(scene, backend):
    axis, positions, lines = scene
    grid = sar.image_grid.centred(**GRID)
    block, images, tags = focus(lines, positions, backend=backend, interpolation="sinc16")
    assert block.error() == ""
    assert len(images) == 1
    assert error_db(images[0], direct(axis, grid, positions, TARGETS)) < -70
    t = tags[0]
    assert t["pulses"] == 150 and t["first_pulse"] == 0 and t["image"] == 0
    assert t["rows"] == 37 and t["cols"] == 41 and t["value"] == "complex"
    assert t["row_spacing_m"] == 0.5 and t["col_spacing_m"] == 0.4 and t["complete"]
    assert tuple(t["origin_m"]) == pytest.approx(grid.origin_m)
    assert tuple(t["row_axis"]) == (0, 1, 0) and tuple(t["col_axis"]) == (1, 0, 0)
    report = block.report()
    assert report["pulses"] == 150 and report["skipped_pulses"] == 0
    assert report["accuracy_used"] == "fast" and 0 < report["phase_bound_rad"] < 0.01
    assert report["images"] == 1
    # the scheduler is not kept busy: a call takes lines in or gives rows out
    assert block.work_calls() <= 150 + 37 + 10


def test_exact_and_every_interpolation(scene):
    axis, positions, lines = scene
    reference = direct(axis, sar.image_grid.centred(**GRID), positions, TARGETS)
    for interpolation, limit in (("nearest", -13), ("linear", -30), ("sinc8", -60),
                                 ("sinc16", -100)):
        block, images, _ = focus(lines, positions, accuracy="exact", interpolation=interpolation)
        assert error_db(images[0], reference) < limit, interpolation
        assert block.report()["accuracy_used"] == "exact"


@pytest.mark.parametrize("backend", backends())
def test_sliding_aperture(scene, backend):
    axis, positions, lines = scene
    grid = sar.image_grid.centred(**GRID)
    _, images, tags = focus(lines[:137], positions[:137], pulses_per_image=60, hop=20,
                            accuracy="exact", interpolation="sinc16", backend=backend)
    expected = [(0, 60), (20, 80), (40, 100), (60, 120), (80, 137)]
    assert len(images) == len(expected)
    for n, ((first, end), image, tag) in enumerate(zip(expected, images, tags)):
        assert (tag["image"], tag["first_pulse"], tag["pulses"]) == (n, first, end - first)
        assert tag["complete"] == (n < 4)
        assert error_db(image, direct(axis, grid, positions[first:end], TARGETS)) < -95


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("pulses", [90, 120, 20])
def test_growing_image(scene, backend, pulses):
    """What there is so far, every hop pulses, and the whole when the stream ends, once."""
    axis, positions, lines = scene
    grid = sar.image_grid.centred(**GRID)
    block, images, tags = focus(lines[:pulses], positions[:pulses], hop=40, accuracy="exact",
                                interpolation="sinc16", backend=backend)
    parts = list(range(40, pulses + 1, 40))
    assert [(t["first_pulse"], t["pulses"], t["complete"]) for t in tags] == [
        (0, n, False) for n in parts] + [(0, pulses, True)]
    assert [t["image"] for t in tags] == list(range(len(parts) + 1))
    for n, image in zip(parts + [pulses], images):
        assert error_db(image, direct(axis, grid, positions[:n], TARGETS)) < -95
    assert block.report()["pulses"] == pulses


def test_jumping_aperture_and_a_last_incomplete_one(scene, capfd):
    axis, positions, lines = scene
    grid = sar.image_grid.centred(**GRID)
    _, images, tags = focus(lines[:110], positions[:110], pulses_per_image=50,
                            accuracy="exact", interpolation="sinc16")
    assert [(t["first_pulse"], t["pulses"], t["complete"]) for t in tags] == [
        (0, 50, True), (50, 50, True), (100, 10, False)]
    for tag, image in zip(tags, images):
        part = positions[tag["first_pulse"]:][:tag["pulses"]]
        assert error_db(image, direct(axis, grid, part, TARGETS)) < -95
    # a stream that ends with an aperture gives no empty image behind it
    assert len(focus(lines[:100], positions[:100], pulses_per_image=50)[1]) == 2
    # shorter than one aperture
    _, images, tags = focus(lines[:30], positions[:30], pulses_per_image=60, hop=10)
    assert [(t["pulses"], t["complete"]) for t in tags] == [(30, False)]


def test_one_pulse_is_an_arc():
    axis = acquisition().compressed_axis(OVERSAMPLING)
    positions = track(1)
    grid = sar.image_grid.centred(**GRID)
    target = [((0, 0, 0), 1.0)]
    block, images, _ = focus(lines_of(axis, positions, target), positions)
    assert block.error() == "" and len(images) == 1
    assert error_db(images[0], direct(axis, grid, positions, target)) < -60


def test_no_pulse_is_an_error():
    block, images, _ = focus(np.zeros((0, SAMPLES * OVERSAMPLING), np.complex64), track(5))
    assert len(images) == 0
    assert "no pulse arrived" in block.error() and "compressed lines" in block.error()
    block, images, _ = focus(np.zeros((3, SAMPLES * OVERSAMPLING), np.complex64),
                             np.zeros((0, 3)))
    assert len(images) == 0 and "the stream of positions" in block.error()


@pytest.mark.parametrize("lines_left, positions_left", [(40, 0), (0, 25)])
def test_one_input_ends_early(scene, capfd, lines_left, positions_left):
    axis, positions, lines = scene
    n = 60
    block, images, tags = focus(lines[:n + lines_left], positions[:n + positions_left])
    assert block.error() == "" and len(images) == 1 and tags[0]["pulses"] == n
    said = logged(capfd, f"ended after {n} pulses")
    assert f"ended after {n} pulses" in said
    # lines come in pieces: what has not arrived yet is not counted
    count = re.search(r"(at least )?(\d+) of the (compressed lines|positions) were left unused", said)
    assert count and 0 < int(count[2]) <= lines_left + positions_left
    assert count[1] or int(count[2]) == lines_left + positions_left
    assert count[3] == ("compressed lines" if lines_left else "positions")


@pytest.mark.parametrize("backend", backends())
def test_broken_positions_are_skipped_and_counted(scene, backend, capfd):
    axis, positions, lines = scene
    broken = positions.copy()
    broken[7, 1] = np.nan
    broken[9, 0] = np.inf
    good = np.delete(np.arange(150), [7, 9])
    grid = sar.image_grid.centred(**GRID)
    block, images, tags = focus(lines, broken, accuracy="exact", interpolation="sinc16",
                                backend=backend)
    assert error_db(images[0], direct(axis, grid, positions[good], TARGETS)) < -95
    report = block.report()
    assert (report["pulses"], report["skipped_pulses"], report["first_skipped_pulse"]) == (148, 2, 7)
    assert tags[0]["pulses"] == 148
    assert "pulse 7 is skipped" in logged(capfd, "pulse 7 is skipped")
    block, images, _ = focus(lines, positions * np.nan)
    assert len(images) == 0 and "none of the 150 pulses" in block.error()


def test_bistatic(scene):
    axis, positions, lines = scene
    # a receiver at the transmitter: the monostatic image
    grid = sar.image_grid.centred(**GRID)
    _, images, _ = focus(lines, positions, receivers=positions, interpolation="sinc16",
                         accuracy="exact")
    assert error_db(images[0], direct(axis, grid, positions, TARGETS)) < -95


def test_pixels_outside_the_swath_are_counted(scene):
    axis, positions, lines = scene
    grid = sar.image_grid.centred(**{**GRID, "centre_m": (0, 2000, 0)})
    block, images, _ = focus(lines, positions, grid=grid)
    assert not images.any()
    assert block.report()["outside_pixel_pulses"] == 150 * 37 * 41


def frame_tag(**fields):
    d = pmt.make_dict()
    for key, value in fields.items():
        d = pmt.dict_add(d, pmt.intern(key), pmt.to_pmt(value))
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = 0, pmt.intern("sar_frame"), d
    return tag


def test_frames_that_contradict_the_parameters(scene):
    axis, positions, lines = scene
    right = dict(domain="compressed", samples=axis.samples, spacing_m=axis.spacing_m,
                 slant_range_first_m=axis.first_m)
    block, images, tags = focus(lines, positions, tags=[frame_tag(**right)])
    assert block.error() == "" and len(images) == 1
    for change, words in ((dict(domain="raw"), ["raw", "pulse_compression"]),
                          (dict(samples=77), ["samples", "77", "800"]),
                          (dict(spacing_m=0.6), ["spacing_m", "0.6", "0.1498"]),
                          (dict(slant_range_first_m=1.0), ["slant_range_first_m", "4940"])):
        block, images, _ = focus(lines, positions, tags=[frame_tag(**{**right, **change})])
        assert len(images) == 0
        for word in words:
            assert word in block.error()


def test_parameters_are_checked():
    acq, grid = acquisition(), sar.image_grid.centred(**GRID)
    for kwargs, word in ((dict(oversampling=0), "oversampling is 0"),
                         (dict(oversampling=2.5), "oversampling is 2.5"),
                         (dict(interpolation="cubic"), "interpolation is 'cubic'"),
                         (dict(accuracy="good"), "accuracy is 'good'"),
                         (dict(pulses_per_image=-1), "pulses_per_image is -1"),
                         (dict(pulses_per_image=100, hop=30), "multiple of hop"),
                         (dict(hop=-30), "hop is -30"),
                         (dict(backend="gpu"), "backend is 'gpu'"),
                         (dict(oversampling=10_000_000), "acq.samples * oversampling")):
        with pytest.raises(ValueError, match=None) as e:
            sar.bp_accumulator(acq, grid, **kwargs)
        assert word in str(e.value)
    # what GRC computes by division
    sar.bp_accumulator(acq, grid, oversampling=4.0, pulses_per_image=64.0, hop=16.0, backend="cpu")
