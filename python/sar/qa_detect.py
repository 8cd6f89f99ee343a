# SPDX-License-Identifier: GPL-3.0-or-later
"""detect as a block: looks, images, tags, errors."""

import numpy as np
import pmt
import pytest
from conftest import image_tag, tag
from gnuradio import blocks, gr, sar


def image(rows, cols, seed=1):
    r = np.random.default_rng(seed)
    x = r.normal(size=(rows, cols)) + 1j * r.normal(size=(rows, cols))
    return x.astype(np.complex64)


def looks(x, rows, cols):
    """Average power; the last row of looks over what is there."""
    p = abs(x.astype(np.complex128)) ** 2
    p = p.reshape(len(p), -1, cols).mean(axis=2)
    return np.array([p[i : i + rows].mean(axis=0) for i in range(0, len(p), rows)])


def average(x, rows):
    return looks(x, rows, 1)


def run(block, x, cols_out, tags=(), out_buffer=None):
    x = np.asarray(x, dtype=np.complex64)
    source = blocks.vector_source_c(x.ravel().tolist(), False, x.shape[1], list(tags))
    sink = blocks.vector_sink_f(cols_out)
    top = gr.top_block()
    if out_buffer:
        block.set_max_output_buffer(out_buffer)
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data()).reshape(-1, cols_out), sink.tags()


@pytest.mark.parametrize("backend", ["cpu", "emulated", "auto"])
@pytest.mark.parametrize("quantity", ["magnitude", "power", "db"])
def test_quantities(backend, quantity):
    x = image(33, 20)
    block = sar.detect(20, quantity, backend=backend)
    y, _ = run(block, x, 20)
    assert block.error() == ""
    p = abs(x.astype(np.complex128)) ** 2
    truth = dict(magnitude=np.sqrt(p), power=p, db=10 * np.log10(p))[quantity]
    assert y.shape == truth.shape
    assert np.allclose(y, truth, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [12, 13, 1])
@pytest.mark.parametrize("row_looks, col_looks", [(1, 4), (3, 2), (5, 1), (4, 20)])
def test_images_with_tags(rows, row_looks, col_looks):
    """Three images in one stream: no look reaches over an end, no row is lost."""
    images = [image(rows, 20, seed) for seed in range(3)]
    tags = [
        image_tag(
            i * rows,
            image=i,
            rows=rows,
            cols=20,
            value="complex",
            row_spacing_m=0.5,
            col_spacing_m=0.25,
            origin_m=(100.0, 200.0, 3.0),
            row_axis=(0.0, 1.0, 0.0),
            col_axis=(1.0, 0.0, 0.0),
            pulses=77,
        )
        for i in range(3)
    ]
    block = sar.detect(20, "power", row_looks, col_looks, backend="cpu")
    y, out = run(block, np.concatenate(images), 20 // col_looks, tags)
    assert block.error() == ""
    truth = np.concatenate([looks(x, row_looks, col_looks) for x in images])
    assert y.shape == truth.shape
    assert np.allclose(y, truth, rtol=1e-5)
    rows_out = -(-rows // row_looks)
    assert [t.offset for t in out] == [0, rows_out, 2 * rows_out]
    d = pmt.to_python(out[1].value)
    assert (d["image"], d["rows"], d["cols"]) == (1, rows_out, 20 // col_looks)
    assert (d["value"], d["pulses"]) == ("power", 77)
    assert d["row_spacing_m"] == pytest.approx(0.5 * row_looks)
    assert d["col_spacing_m"] == pytest.approx(0.25 * col_looks)
    # the middle of the first look
    assert list(d["origin_m"]) == pytest.approx(
        [100 + 0.25 * (col_looks - 1) / 2, 200 + 0.5 * (row_looks - 1) / 2, 3]
    )


@pytest.mark.parametrize("looks, row_looks, places, left", [
    (4, 4, 1, 1), (4, 12, 3, 1), (4, 2, 1, 2), (4, 1, 1, 4), (1, 3, 3, 1)])
def test_an_image_with_looks_has_several_rows_at_a_place(looks, row_looks, places, left):
    x = image(24 * looks, 6)
    tags = [image_tag(0, rows=24 * looks, looks=looks, row_spacing_m=0.5,
                      origin_m=(100.0, 200.0, 3.0), row_axis=(0.0, 1.0, 0.0))]
    block = sar.detect(6, "power", row_looks, backend="cpu")
    y, out = run(block, x, 6, tags)
    assert block.error() == ""
    assert np.allclose(y, average(x, row_looks), rtol=1e-5)
    d = pmt.to_python(out[0].value)
    assert (d["rows"], d["looks"]) == (24 * looks // row_looks, left)
    assert d["row_spacing_m"] == pytest.approx(0.5 * places)
    assert list(d["origin_m"]) == pytest.approx([100, 200 + 0.25 * (places - 1), 3])


def test_small_output_buffer():
    x = image(1000, 1024)
    tags = [image_tag(i, image=i, rows=7, cols=1024) for i in range(0, 1000, 7)]
    y, out = run(sar.detect(1024, "power", 3, backend="cpu"), x, 1024, tags, out_buffer=2)
    truth = [looks(x[i : i + 7], 3, 1) for i in range(0, 1000, 7)]
    # the last image is cut short by the end of the stream: 6 of 7 rows, two whole looks
    assert np.allclose(y, np.concatenate(truth), rtol=1e-5)
    assert [t.offset for t in out] == [3 * i for i in range(len(tags))]


def test_image_that_is_cut_short_by_the_next():
    x = image(8, 4)
    tags = [image_tag(0, rows=6), image_tag(5, rows=3), tag(6, "other", pmt.PMT_T)]
    y, out = run(sar.detect(4, "power", 2, backend="cpu"), x, 4, tags)
    assert np.allclose(y, np.concatenate([looks(x[:5], 2, 1), looks(x[5:], 2, 1)]), rtol=1e-5)
    assert [(t.offset, pmt.to_python(t.key)) for t in out] == [
        (0, "sar_image"),
        (3, "sar_image"),
        (3, "other"),
    ]


def test_without_tags_an_incomplete_look_is_left_out():
    x = image(11, 4)
    y, out = run(sar.detect(4, "power", 4, backend="cpu"), x, 4)
    assert np.allclose(y, looks(x[:8], 4, 1), rtol=1e-5)
    assert not out


def test_pixels_that_are_not_finite():
    x = image(4, 4)
    x[1, 2] = np.inf
    x[3, 0] = np.nan
    block = sar.detect(4, "db", backend="cpu")
    y, _ = run(block, x, 4)
    assert block.bad_pixels() == 2
    assert y[1, 2] == y[3, 0] == -200
    assert np.isfinite(y).all()


@pytest.mark.parametrize(
    "fields, parts",
    [
        (dict(rows=4, cols=5), ["5 cols", "cols 4"]),
        (dict(rows=4, cols=4, value="power"), ["value 'power'", "complex"]),
        (dict(rows=4, looks=2), ["2 looks", "row_looks of detect is 3"]),
    ],
)
def test_image_tag_that_disagrees_ends_the_flowgraph(fields, parts):
    block = sar.detect(4, row_looks=3, backend="cpu")
    run(block, image(4, 4), 4, [image_tag(0, **fields)])
    for part in parts:
        assert part in block.error()


def test_whole_numbers():
    sar.detect(8.0, "power", 2.0, 4.0)
    for args, name in (((8.5,), "cols"), ((8, "db", 1.5), "row_looks")):
        with pytest.raises(ValueError, match=f"{name} is .*; expected a whole number"):
            sar.detect(*args)


@pytest.mark.parametrize(
    "args, message",
    [
        ((0,), "cols is 0; expected"),
        ((8, "loud"), "quantity is 'loud'; expected one of: magnitude, power, db"),
        ((8, "db", 0), "row_looks is 0; expected"),
        ((8, "db", 1, 3), "col_looks is 3; expected .* a divisor of cols, 8"),
    ],
)
def test_errors(args, message):
    with pytest.raises(ValueError, match=message):
        sar.detect(*args)


def test_signature_in_the_documentation():
    for part in "'magnitude'", "row_looks", "col_looks", "= 1", "'auto'", "= 0":
        assert part in sar.detect.__init__.__doc__
