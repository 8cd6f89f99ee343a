# SPDX-License-Identifier: GPL-3.0-or-later
"""rcmc as a block: rows, frames, tags, errors, end of stream."""

import inspect

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag, tag
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
SAMPLES, ROWS, PRF = 300, 16, 300.0


def airborne(samples=SAMPLES, **more):
    f = dict(
        waveform="pulsed_lfm",
        samples=samples,
        carrier_hz=9.6e9,
        prf_hz=PRF,
        sample_rate_hz=187.5e6,
        pulse_length_s=1e-6,
        chirp_rate_hz_per_s=150e6 / 1e-6,
        slant_range_first_m=8000.0,
        effective_velocity_m_s=100.0,
        doppler_centroid_hz=900.0,
    )
    f.update(more)
    return sar.acquisition(**f)


def frequencies(acq, rows=ROWS, centroid=None):
    base = np.arange(rows) * acq.prf_hz / rows
    centroid = acq.doppler_centroid_hz if centroid is None else centroid
    return base + acq.prf_hz * np.rint((centroid - base) / acq.prf_hz)


def factor(acq, f):
    return np.sqrt(1 - (C * f / (2 * acq.effective_velocity_m_s * acq.carrier_hz)) ** 2)


def frame_of_point(acq, cell, rows=ROWS, centroid=None):
    """Rows of a point in output cell `cell` (zero Doppler), from the 2-D spectrum."""
    axis = acq.compressed_axis(1)
    centroid = acq.doppler_centroid_hz if centroid is None else centroid
    closest = axis.first_m * factor(acq, centroid) + cell * axis.spacing_m
    ft = np.fft.fftfreq(2 * axis.samples, 2 * axis.spacing_m / C)
    ft = ft[abs(ft) <= axis.bandwidth_hz / 2]
    n = np.arange(axis.samples)
    lines = []
    for f in frequencies(acq, rows, centroid):
        s = C * f / 2 / acq.effective_velocity_m_s
        cycles = -2 * closest / C * np.sqrt((acq.carrier_hz + ft) ** 2 - s**2)
        r = axis.first_m + n[:, None] * axis.spacing_m
        lines.append(np.exp(2j * np.pi * (cycles + ft * 2 * r / C)).mean(axis=1))
    return np.array(lines, np.complex64)


def expected_peak(acq, cell, rows=ROWS, centroid=None):
    axis = acq.compressed_axis(1)
    centroid = acq.doppler_centroid_hz if centroid is None else centroid
    closest = axis.first_m * factor(acq, centroid) + cell * axis.spacing_m
    d = factor(acq, frequencies(acq, rows, centroid))
    return np.exp(-4j * np.pi / C * acq.carrier_hz * closest * d)


def rows_tag(offset, **fields):
    return frame_tag(offset, **{**dict(domain="range_doppler", samples=SAMPLES, rows=ROWS, prf_hz=PRF),
                                **fields})


def run(block, rows, tags=(), at_once=None):
    rows = np.asarray(rows, np.complex64)
    source = blocks.vector_source_c(rows.ravel(), False, rows.shape[1], list(tags))
    if at_once:
        block.set_max_noutput_items(at_once)
    sink = blocks.vector_sink_c(rows.shape[1])
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data(), np.complex64).reshape(-1, rows.shape[1]), sink.tags()


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("at_once", [None, 5])
def test_a_point_is_straightened(backend, at_once):
    acq = airborne()
    rows = frame_of_point(acq, 150)
    where = abs(rows).argmax(axis=1)
    assert where.max() - where.min() > 30
    block = sar.rcmc(acq, ROWS, ROWS, backend=backend)
    assert block.uses_src() and block.rows() == ROWS
    out, _ = run(block, np.tile(rows, (3, 1)), at_once=at_once)
    assert block.error() == "" and block.bad_lines() == 0
    assert out.shape == (3 * ROWS, SAMPLES)
    assert (abs(out).argmax(axis=1) == 150).all()
    assert abs(out[:, 150] - np.tile(expected_peak(acq, 150), 3)).max() < 0.02
    assert block.work_calls() >= 1


def test_rows_are_counted_from_the_tag():
    acq = airborne()
    rows = frame_of_point(acq, 150)
    tags = [rows_tag(3), tag(4, "other", pmt.from_long(7)), rows_tag(3 + ROWS)]
    out, passed = run(sar.rcmc(acq, ROWS, ROWS, backend="cpu"),
                      np.concatenate([rows[:3], rows, rows[:5]]), tags, at_once=4)
    assert len(out) == 3 + ROWS + 5
    assert (abs(out).argmax(axis=1) == 150).all()
    assert [(t.offset, pmt.to_python(t.key)) for t in passed] == [
        (3, "sar_frame"), (4, "other"), (3 + ROWS, "sar_frame")]


@pytest.mark.parametrize("geometry", ["zero_doppler", "centroid"])
def test_frame_tag_is_carried_on(geometry):
    acq = airborne()
    tags = [rows_tag(0, frame=5, lines=ROWS, complete=True, doppler_centroid_hz=900.0,
                      slant_range_first_m=8000.0, time_s=1.5)]
    block = sar.rcmc(acq, ROWS, ROWS, geometry=geometry, backend="cpu")
    _, passed = run(block, np.zeros((ROWS, SAMPLES)), tags)
    d = pmt.to_python(passed[0].value)
    first = 8000.0 * (factor(acq, 900.0) if geometry == "zero_doppler" else 1)
    assert d["domain"] == "migrated" and d["geometry"] == geometry
    assert d["slant_range_first_m"] == pytest.approx(first, abs=1e-6)
    assert block.slant_range_first_m() == d["slant_range_first_m"]
    assert d["spacing_m"] == pytest.approx(acq.compressed_axis(1).spacing_m)
    assert (d["frame"], d["lines"], d["rows"], d["samples"]) == (5, ROWS, ROWS, SAMPLES)
    assert (d["complete"], d["time_s"], d["doppler_centroid_hz"]) == (True, 1.5, 900.0)


def test_an_estimated_centroid_is_used_and_only_then():
    acq = airborne(doppler_centroid_hz=0.0)
    squinted = frame_of_point(acq, 150, centroid=900.0)
    straight = frame_of_point(acq, 150)
    tags = [
        rows_tag(0, doppler_centroid_hz=900.0, centroid_from="estimate"),
        rows_tag(ROWS, doppler_centroid_hz=900.0), # of the acquisition, as it seems
        rows_tag(2 * ROWS, doppler_centroid_hz=pmt.init_f64vector(2, [900.0, 0.0]),
                  centroid_from="given"),
        rows_tag(3 * ROWS),
    ]
    block = sar.rcmc(acq, ROWS, ROWS, backend="cpu")
    out, passed = run(block, np.concatenate([squinted, straight, squinted, straight]), tags)
    assert block.error() == ""
    assert (abs(out).argmax(axis=1) == 150).all()
    for i, centroid in enumerate([900, 0, 900, 0]):
        part = out[i * ROWS : (i + 1) * ROWS, 150]
        assert abs(part - expected_peak(acq, 150, centroid=centroid)).max() < 0.02
        d = pmt.to_python(passed[i].value)
        assert d["slant_range_first_m"] == pytest.approx(8000 * factor(acq, centroid))


@pytest.mark.parametrize(
    "fields, parts",
    [
        (dict(samples=SAMPLES + 1), ["samples 301", "acq.samples * oversampling of rcmc says 300"]),
        (dict(domain="compressed"), ["'compressed'", "azimuth_fft"]),
        (dict(domain="migrated"), ["'migrated'", "takes range_doppler"]),
        (dict(rows=32), ["rows 32", "fft_length of rcmc says 16"]),
        (dict(lines=15), ["lines 15", "lines of rcmc says 16"]),
        (dict(spacing_m=1.0), ["spacing_m 1,", "acq and oversampling of rcmc says 0.79"]),
        (dict(slant_range_first_m=7990.0), ["slant_range_first_m 7990", "says 8000"]),
        (dict(prf_hz=301.0), ["prf_hz 301", "acq.prf_hz of rcmc says 300"]),
        (dict(prf_hz=float("nan")), ["prf_hz nan", "says 300"]),
        (dict(centroid_from="estimate", doppler_centroid_hz=1e6), ["doppler_centroid_hz is 1000000 Hz"]),
        (dict(centroid_from="estimate", doppler_centroid_hz=float("nan")), ["coefficient nan"]),
    ],
)
def test_frame_tag_that_disagrees_ends_the_flowgraph(fields, parts):
    block = sar.rcmc(airborne(), ROWS, ROWS, backend="cpu")
    run(block, np.zeros((ROWS, SAMPLES)), [rows_tag(0, **fields)])
    for part in parts:
        assert part in block.error()


@pytest.mark.parametrize("backend", backends())
def test_rows_that_are_not_finite_are_counted(backend):
    rows = frame_of_point(airborne(), 150)
    rows[3, 7] = np.nan
    block = sar.rcmc(airborne(), ROWS, ROWS, backend=backend)
    out, _ = run(block, rows)
    assert block.bad_lines() == 1
    assert not out[3].any() and out[2].any()


def half(rows):
    """Rows as bytes: scales of blocks of 32 samples, then pairs of int16."""
    stored = []
    for row in rows:
        n = len(row)
        parts = np.stack([row.real, row.imag], axis=1)
        blocks_ = -(-n // 32)
        padded = np.zeros((blocks_ * 32, 2))
        padded[:n] = parts
        scale = (abs(padded.reshape(blocks_, -1)).max(axis=1) / 32767).astype(np.float32)
        safe = np.where(scale > 0, scale, 1).repeat(32)[:n, None]
        values = np.rint(parts / safe).astype(np.int16)
        stored.append(np.concatenate([scale.view(np.uint8), values.ravel().view(np.uint8)]))
    return np.concatenate(stored)


def from_half(data, n):
    blocks_ = -(-n // 32)
    rows = []
    for row in np.asarray(data, np.uint8).reshape(-1, 4 * (blocks_ + n)):
        scale = row[: 4 * blocks_].view(np.float32).repeat(32)[:n]
        values = row[4 * blocks_ :].view(np.int16).reshape(n, 2) * scale[:, None]
        rows.append(values[:, 0] + 1j * values[:, 1])
    return np.array(rows)


@pytest.mark.parametrize("backend", backends())
def test_half_storage(backend):
    acq = airborne()
    rows = frame_of_point(acq, 150)
    truth, _ = run(sar.rcmc(acq, ROWS, ROWS, backend="cpu"), rows)
    size = 4 * (-(-SAMPLES // 32) + SAMPLES)
    source = blocks.vector_source_b(half(rows).tolist(), False, size)
    block = sar.rcmc(acq, ROWS, ROWS, storage="half", backend=backend)
    sink = blocks.vector_sink_b(size)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    assert block.error() == ""
    out = from_half(sink.data(), SAMPLES)
    assert np.linalg.norm(out - truth) < 1e-4 * np.linalg.norm(truth)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "sinc8", "sinc16", "fixed"])
def test_interpolations(interpolation):
    """The coarser they are the worse, but the point is in its cell."""
    acq = airborne()
    block = sar.rcmc(acq, ROWS, ROWS, interpolation=interpolation, src=False, backend="cpu")
    assert not block.uses_src()
    out, _ = run(block, frame_of_point(acq, 150))
    assert abs(abs(out).argmax(axis=1) - 150).max() <= 1


def test_oversampled_lines():
    acq = airborne()
    block = sar.rcmc(acq, 13, 0, 3, "sinc8", backend="cpu")
    assert block.rows() == 14 # the smallest length without large prime factors
    out, _ = run(block, np.ones((3, 3 * SAMPLES)))
    assert out.shape == (3, 3 * SAMPLES)


def test_whole_numbers():
    sar.rcmc(airborne(), 16.0, backend="cpu")
    with pytest.raises(ValueError, match="lines is 16.5; expected a whole number"):
        sar.rcmc(airborne(), 16.5)


@pytest.mark.parametrize(
    "acq, args, message",
    [
        ({}, dict(lines=0), "lines is 0; expected"),
        ({}, dict(fft_length=8), "fft_length is 8; expected 0 .* or at least lines, 16"),
        ({}, dict(oversampling=0), "oversampling is 0; expected 1 or more"),
        ({}, dict(interpolation="cubic"), "interpolation is 'cubic'; expected one of: nearest"),
        ({}, dict(geometry="slant"), "geometry is 'slant'; expected one of: zero_doppler"),
        ({}, dict(storage="double"), "storage is 'double'; expected one of: single, half"),
        ({}, dict(backend="gpu"), "backend is 'gpu'; expected one of: auto, cpu"),
        ({}, dict(device=-1), "device is -1; expected"),
        ({}, dict(interpolation="fixed", oversampling=300), "rows of 90000 cells.*16 bits"),
        (dict(samples=1 << 27), dict(oversampling=4), r"acq.samples \* oversampling is 536870912"),
        (dict(effective_velocity_m_s=0.0), {}, "effective_velocity_m_s is 0"),
        (dict(doppler_centroid_hz=7000.0), {}, "doppler_centroid_hz is 7000"),
    ],
)
def test_errors(acq, args, message):
    with pytest.raises(ValueError, match=message):
        sar.rcmc(airborne(**acq), **{"lines": ROWS, "backend": "cpu", **args})


def test_cuda_or_the_reason_why_not():
    try:
        sar.backend_description("cuda")
    except RuntimeError as e:
        with pytest.raises(RuntimeError) as caught:
            sar.rcmc(airborne(), ROWS, backend="cuda")
        assert str(caught.value) == str(e)
    else:
        rows = frame_of_point(airborne(), 150)
        cpu, _ = run(sar.rcmc(airborne(), ROWS, ROWS, backend="cpu"), rows)
        cuda, _ = run(sar.rcmc(airborne(), ROWS, ROWS, backend="cuda"), rows)
        assert np.linalg.norm(cuda - cpu) < 1e-5 * np.linalg.norm(cpu)


def test_signature_in_the_documentation():
    doc = sar.rcmc.__init__.__doc__
    assert inspect.cleandoc(doc)
    for part in "lines", "fft_length", "'exact'", "= True", "'zero_doppler'", "'single'", "'auto'":
        assert part in doc
