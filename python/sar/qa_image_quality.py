# SPDX-License-Identifier: GPL-3.0-or-later
"""image_quality as block and functions. The measurement itself: qa_image_quality.cc."""

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
SCENE = np.array([0.0, 8660.0, 0.0])
GEOMETRY = dict(aperture_start_m=(-150, 0, 5000), aperture_centre_m=(0, 0, 5000),
                aperture_end_m=(150, 0, 5000), carrier_hz=9.6e9, bandwidth_hz=300e6)
GRID = sar.image_grid.centred(tuple(SCENE), (1, 0, 0), (0, 1, 0), 0.31, 0.28, 100, 90)


def ideal(target, amplitude=1.0, grid=GRID, wider=1.0):
    """Unweighted response on the carrier of the middle of the aperture."""
    i, j = np.mgrid[: grid.rows, : grid.cols]
    p = (np.array(grid.origin_m) + i[..., None] * grid.row_spacing_m * np.array(grid.row_axis)
         + j[..., None] * grid.col_spacing_m * np.array(grid.col_axis))
    start, centre, end = (np.array(GEOMETRY[f"aperture_{k}_m"], float)
                          for k in ("start", "centre", "end"))

    def look(q):
        return (target - q) / np.linalg.norm(target - q)

    e = p - target
    fc, b = GEOMETRY["carrier_hz"], GEOMETRY["bandwidth_hz"]
    r = np.linalg.norm(p - centre, axis=-1) - np.linalg.norm(target - centre)
    return (amplitude * np.exp(4j * np.pi * fc * r / C) * np.sinc(e @ look(centre) * 2 * b / C)
            * np.sinc(e @ (look(end) - look(start)) * 2 * fc / C / wider)).astype(np.complex64)


def test_measures_a_target():
    target = SCENE + (0.1, -0.07, 0)
    r = sar.measure_point_target(ideal(target), GRID, tuple(target), **GEOMETRY)
    assert r["found"] and r["pass"], r["failures"]
    assert r["problem"] == "" and r["failures"] == []
    assert r["peak_amplitude"] == pytest.approx(1, abs=2e-3)
    assert abs(r["phase_error_rad"]) < 2e-3
    assert np.linalg.norm(np.subtract(r["position_m"], target)) < 1e-3
    assert r["range"]["pslr_theory_db"] == pytest.approx(-13.26, abs=0.01)
    assert r["azimuth"]["irw_m"] == pytest.approx(0.886 * C / 9.6e9 / 2 / 0.03, rel=5e-3)
    # limits are parameters
    r = sar.measure_point_target(ideal(target, wider=1.03), GRID, tuple(target), **GEOMETRY)
    assert not r["pass"] and "azimuth IRW" in r["failures"][0]
    r = sar.measure_point_target(ideal(target, wider=1.03), GRID, tuple(target), irw=0.05,
                                 **GEOMETRY)
    assert r["pass"], r["failures"]
    r = sar.measure_point_target(ideal(target, -1), GRID, tuple(target),
                                 expected_phase_rad=np.pi, **GEOMETRY)
    assert r["pass"], r["failures"]


def test_strided_and_double_images_are_taken_others_refused():
    target = SCENE
    wide = np.zeros((100, 180), np.complex128)
    wide[:, ::2] = ideal(target)
    assert sar.measure_point_target(wide[:, ::2], GRID, tuple(target), **GEOMETRY)["pass"]
    for bad, words in ((np.abs(ideal(target)), "complex"),
                       (ideal(target)[:50], "50 x 90"), (ideal(target)[0], "dimensions")):
        with pytest.raises(ValueError) as e:
            sar.measure_point_target(bad, GRID, tuple(target), **GEOMETRY)
        assert words in str(e.value)
    with pytest.raises(ValueError) as e:
        sar.measure_point_target(ideal(target), GRID, tuple(target),
                                 **dict(GEOMETRY, bandwidth_hz=0))
    assert "bandwidth_hz is 0" in str(e.value)


def test_statistics():
    x = np.array([[1, -1, 1j, 3j, np.nan]], np.complex64)
    s = sar.image_statistics(x, full_scale=2)
    assert s["pixels"] == 5 and s["non_finite"] == 1
    assert s["contrast"] == pytest.approx(np.std([1, 1, 1, 3]) / 1.5, rel=1e-6)
    assert s["saturated"] == 0.25
    p = np.array([1, 1, 1, 9]) / 12
    assert s["entropy_nat"] == pytest.approx(-np.sum(p * np.log(p)), rel=1e-6)


def stream(rows, block, tags=()):
    tb = gr.top_block()
    source = blocks.vector_source_c(rows.ravel().tolist(), False, rows.shape[1], tags)
    messages = blocks.message_debug()
    tb.connect(source, block)
    tb.msg_connect((block, "report"), (messages, "store"))
    tb.run()
    return messages


def tag(offset, **fields):
    t = gr.tag_t()
    t.offset = offset
    t.key = pmt.intern("sar_image")
    t.value = pmt.to_pmt(fields)
    return t


def test_block_reports_each_image():
    target = SCENE + (0.1, -0.07, 0)
    good, bad = ideal(target), ideal(target + (0.05, 0, 0))
    block = sar.image_quality(GRID, targets=[(*target, 1)], **GEOMETRY)
    rows = np.concatenate([good, bad, good, good[:30]])
    messages = stream(rows, block)
    assert block.error() == ""
    reports = block.reports()
    assert [r["image"] for r in reports] == [0, 1, 2] # the fourth is not complete
    assert [r["pass"] for r in reports] == [True, False, True]
    assert reports[1]["targets"][0]["azimuth"]["position_error_m"] == pytest.approx(0.05, abs=1e-3)
    assert messages.num_messages() == 3
    d = pmt.to_python(messages.get_message(1))
    assert d["image"] == 1 and d["pass"] is False
    assert d["targets"][0]["azimuth"]["position_error_m"] == pytest.approx(0.05, abs=1e-3)
    assert "azimuth position" in d["targets"][0]["failures"][0]


def test_tags_align_images():
    target = SCENE
    im = ideal(target)
    rows = np.concatenate([im[60:], im]) # 40 rows of an image whose start was missed
    block = sar.image_quality(GRID, targets=[tuple(target)], **GEOMETRY)
    stream(rows, block, [tag(40, image=7, rows=100, cols=90, value="complex")])
    reports = block.reports()
    assert block.error() == "" and len(reports) == 1
    assert reports[0]["image"] == 7 and reports[0]["pass"]


@pytest.mark.parametrize("fields,words", [(dict(value="db"), "before detect"),
                                          (dict(rows=99), "99"), (dict(cols=1), "cols")])
def test_images_of_another_kind_end_the_flowgraph(fields, words):
    block = sar.image_quality(GRID, targets=[tuple(SCENE)], **GEOMETRY)
    stream(ideal(SCENE), block, [tag(0, **fields)])
    assert words in block.error() and block.reports() == []


def test_hopeless_input_is_reported_and_survived():
    block = sar.image_quality(GRID, targets=[tuple(SCENE), (1e6, 0, 0)], **GEOMETRY)
    stream(np.full((100, 90), np.nan, np.complex64), block)
    assert block.error() == ""
    (r,) = block.reports()
    assert not r["pass"] and r["statistics"]["non_finite"] == 9000
    assert all(not t["found"] and t["problem"] for t in r["targets"])


@pytest.mark.parametrize("kw,words", [
    (dict(carrier_hz=-1), "carrier_hz is -1"),
    (dict(aperture_end_m=(-150, 0, 5000)), "same point"),
    (dict(targets=[(1, 2)]), "targets[0]"),
    (dict(targets=[(np.nan, 2, 3)]), "targets[0]"),
    (dict(range_window="gauss"), "gauss"),
    (dict(irw=0), "irw is 0"),
    (dict(phase_rad=np.nan), "phase_rad is nan"),
])
def test_wrong_parameters_are_named(kw, words):
    with pytest.raises(ValueError) as e:
        sar.image_quality(GRID, **{**GEOMETRY, "targets": [], **kw})
    assert words in str(e.value)
