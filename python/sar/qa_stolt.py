# SPDX-License-Identifier: GPL-3.0-or-later
"""stolt as a block: what is its own; frames, tags and their errors are those of rcmc
(lib/migration_block.h)."""

import numpy as np
import pmt
import pytest
from conftest import backends
from qa_rcmc import PRF, ROWS, SAMPLES, airborne, expected_peak, factor, frame_of_point, rows_tag, run

from gnuradio import blocks, gr, sar


def near(samples=1024, **more):
    """So near and so much squinted that rcmc fails at the ends of the swath."""
    f = dict(slant_range_first_m=1000.0, prf_hz=60.0, pulse_length_s=2e-8,
             chirp_rate_hz_per_s=120e6 / 2e-8,
             doppler_centroid_hz=2500.0)
    f.update(more)
    return airborne(samples, **f)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("interpolation", ["exact", "sinc16", "sinc8"])
@pytest.mark.parametrize("cell", [60, 512, 870])
def test_a_point_is_straightened_where_rcmc_is_not(backend, interpolation, cell):
    acq = near()
    rows = frame_of_point(acq, cell)
    block = sar.stolt(acq, ROWS, ROWS, interpolation=interpolation, backend=backend)
    assert block.rows() == ROWS and block.residual_migration_cells() == 0
    out, _ = run(block, np.tile(rows, (2, 1)))
    assert block.error() == "" and block.bad_lines() == 0
    assert (abs(out).argmax(axis=1) == cell).all()
    worst = abs(out[:, cell] - np.tile(expected_peak(acq, cell), 2)).max()
    assert worst < 0.02
    other, _ = run(sar.rcmc(acq, ROWS, ROWS, backend="cpu"), rows)
    lost = abs(other[:, cell] - expected_peak(acq, cell)).max()
    assert lost < 0.05 if cell == 512 else lost > 0.1


@pytest.mark.parametrize("geometry", ["zero_doppler", "centroid"])
def test_frames_and_their_tags(geometry):
    acq = airborne(chirp_rate_hz_per_s=100e6 / 1e-6)
    rows = frame_of_point(acq, 150)
    block = sar.stolt(acq, ROWS, ROWS, geometry=geometry, backend="cpu")
    _, passed = run(block, np.concatenate([rows[:3], rows, rows[:5]]),
                    [rows_tag(3, frame=5, complete=True), rows_tag(3 + ROWS)], at_once=4)
    assert [t.offset for t in passed] == [3, 3 + ROWS]
    d = pmt.to_python(passed[0].value)
    first = 8000.0 * (factor(acq, 900.0) if geometry == "zero_doppler" else 1)
    assert (d["domain"], d["geometry"], d["frame"]) == ("migrated", geometry, 5)
    assert d["slant_range_first_m"] == pytest.approx(first, abs=1e-6)
    assert block.slant_range_first_m() == d["slant_range_first_m"]


def test_an_estimated_centroid_is_used():
    acq = airborne(doppler_centroid_hz=0.0)
    squinted = frame_of_point(acq, 150, centroid=900.0)
    block = sar.stolt(acq, ROWS, ROWS, backend="cpu")
    out, _ = run(block, squinted, [rows_tag(0, doppler_centroid_hz=900.0, centroid_from="estimate")])
    assert abs(out[:, 150] - expected_peak(acq, 150, centroid=900.0)).max() < 0.02


@pytest.mark.parametrize("fields, part", [
    (dict(domain="compressed"), "azimuth_fft"),
    (dict(rows=32), "fft_length of stolt says 16"),
    (dict(prf_hz=PRF + 1), "acq.prf_hz of stolt says 300")])
def test_frame_tag_that_disagrees_ends_the_flowgraph(fields, part):
    block = sar.stolt(airborne(), ROWS, ROWS, backend="cpu")
    run(block, np.zeros((ROWS, SAMPLES)), [rows_tag(0, **fields)])
    assert part in block.error()


@pytest.mark.parametrize("backend", backends())
def test_rows_that_are_not_finite_are_counted(backend):
    rows = frame_of_point(airborne(), 150)
    rows[3, 7] = np.nan
    block = sar.stolt(airborne(), ROWS, ROWS, backend=backend)
    out, _ = run(block, rows)
    assert block.bad_lines() == 1
    assert not out[3].any() and out[2].any()


def test_storage_is_that_of_the_ports():
    block = sar.stolt(airborne(), ROWS, ROWS, storage="half", backend="cpu")
    size = 4 * (-(-SAMPLES // 32) + SAMPLES)
    assert block.input_signature().sizeof_stream_item(0) == size
    source = blocks.vector_source_b([0] * size * ROWS, False, size)
    sink = blocks.vector_sink_b(size)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    assert block.error() == "" and len(sink.data()) == size * ROWS and not any(sink.data())


@pytest.mark.parametrize("fields, args, message", [
    ({}, dict(lines=0), "lines is 0; expected"),
    ({}, dict(lines=16.5), "lines is 16.5; expected a whole number"),
    ({}, dict(fft_length=8), "fft_length is 8; expected 0 .* or at least lines, 16"),
    ({}, dict(interpolation="linear"), "interpolation is 'linear'; the Stolt mapping needs exact"),
    ({}, dict(interpolation="cubic"), "interpolation is 'cubic'; expected one of"),
    ({}, dict(geometry="slant"), "geometry is 'slant'; expected one of: zero_doppler"),
    ({}, dict(storage="double"), "storage is 'double'; expected one of: single, half"),
    ({}, dict(backend="gpu"), "backend is 'gpu'; expected one of: auto, cpu"),
    (dict(effective_velocity_m_s=0.0), {}, "effective_velocity_m_s is 0"),
    (dict(doppler_centroid_hz=4500.0), {}, "oversampling is 1: .*expected an oversampling of 2")])
def test_errors(fields, args, message):
    with pytest.raises(ValueError, match=message):
        sar.stolt(airborne(**fields), **{"lines": ROWS, "backend": "cpu", **args})
