# SPDX-License-Identifier: GPL-3.0-or-later
import json
import os
import re
import time

import numpy as np
import pmt
import pytest
from conftest import logged
from gnuradio import blocks, gr, sar
from gnuradio.sar.image_sink import KEPT, to_picture
from PIL import Image


def tag(offset, rows, cols, number=0, value="complex"):
    d = pmt.make_dict()
    for k, v in (("image", pmt.from_long(number)), ("rows", pmt.from_long(rows)),
                 ("cols", pmt.from_long(cols)), ("origin_m", pmt.init_f64vector(3, [1.0, 2.0, 3.0])),
                 ("row_axis", pmt.init_f64vector(3, [0.0, -1.0, 0.0])),
                 ("col_axis", pmt.init_f64vector(3, [1.0, 0.0, 0.0])),
                 ("row_spacing_m", pmt.from_double(0.5)), ("col_spacing_m", pmt.from_double(0.25)),
                 ("pulses", pmt.from_long(77)), ("first_pulse", pmt.from_long(5)),
                 ("value", pmt.intern(value))):
        d = pmt.dict_add(d, pmt.intern(k), v)
    return gr.python_to_tag((offset, pmt.intern("sar_image"), d, pmt.PMT_F))


def run(items, cols, tags, folder, dtype="complex", **more):
    flat = np.asarray(items).ravel()
    source = (blocks.vector_source_c(flat.tolist(), False, cols, tags) if dtype == "complex" else
              blocks.vector_source_f(flat.tolist(), False, cols, tags))
    sink = sar.image_sink(cols, folder, dtype=dtype, **more)
    tb = gr.top_block()
    tb.connect(source, sink)
    tb.run()
    return sink


def noise(rows, cols, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, cols)) + 1j * rng.normal(size=(rows, cols))).astype(np.complex64)


def test_two_images(tmp_path):
    a, b = noise(30, 40), noise(30, 40, 2)
    sink = run([a, b], 40, [tag(0, 30, 40), tag(30, 30, 40, 1)], str(tmp_path / "new" / "folder"))
    assert sink.error() == ""
    folder = tmp_path / "new" / "folder"
    for name, image in (("image", a), ("image_0001", b)):
        got = np.load(folder / (name + ".npy"))
        assert got.dtype == np.complex64
        np.testing.assert_array_equal(got, image)
        info = json.load(open(folder / (name + ".json")))
        assert info["grid"]["origin_m"] == [1, 2, 3] and info["grid"]["row_axis"] == [0, -1, 0]
        assert info["pulses"] == 77 and info["first_pulse"] == 5 and info["missing_rows"] == 0
    np.testing.assert_array_equal(sink.last_image(), b)


def test_what_range_doppler_says_is_kept(tmp_path):
    t = tag(0, 3, 4)
    d = t.value
    for k, v in (("plane", pmt.intern("slant")), ("geometry", pmt.intern("centroid")),
                 ("looks", pmt.from_long(1)), ("complete", pmt.PMT_F),
                 ("doppler_centroid_hz", pmt.init_f64vector(2, [-6900.0, 0.25]))):
        d = pmt.dict_add(d, pmt.intern(k), v)
    t.value = d
    run(noise(3, 4), 4, [t], str(tmp_path))
    info = json.load(open(tmp_path / "image.json"))
    assert info["plane"] == "slant" and info["geometry"] == "centroid" and info["looks"] == 1
    assert info["complete"] is False and info["doppler_centroid_hz"] == [-6900, 0.25]


def test_png_has_the_orientation_of_the_array(tmp_path):
    image = np.full((20, 30), 1e-3, np.complex64)
    image[2, 25] = 1
    run(image, 30, [tag(0, 20, 30)], str(tmp_path))
    png = np.array(Image.open(tmp_path / "image.png"))
    assert png.shape == (20, 30)
    assert np.unravel_index(np.argmax(png), png.shape) == (2, 25)


def test_incomplete_image_is_zero_padded_and_said(tmp_path):
    a = noise(10, 16)
    sink = run(a, 16, [tag(0, 25, 16)], str(tmp_path))
    got = np.load(tmp_path / "image.npy")
    np.testing.assert_array_equal(got[:10], a)
    assert got.shape == (25, 16) and not got[10:].any()
    info = json.load(open(tmp_path / "image.json"))
    assert info["missing_rows"] == 15 and "after 10 of 25 rows" in info["note"]
    assert sink.images[0]["missing_rows"] == 15


def test_rows_without_a_tag_are_one_image(tmp_path):
    a = noise(9, 1)
    run(a, 1, [], str(tmp_path))
    np.testing.assert_array_equal(np.load(tmp_path / "image.npy"), a)


@pytest.mark.parametrize("value,scale", [("magnitude", lambda m: m), ("power", lambda m: m**2),
                                         ("db", lambda m: 20 * np.log10(m))])
def test_float_rows_give_the_same_picture(tmp_path, value, scale):
    a = noise(30, 40)
    run(a, 40, [tag(0, 30, 40)], str(tmp_path / "c"))
    run(scale(np.abs(a)).astype(np.float32), 40, [tag(0, 30, 40, 0, value)], str(tmp_path / "f"),
        "float", value=value)
    c, f = (np.array(Image.open(tmp_path / d / "image.png")).astype(int) for d in "cf")
    assert np.abs(c - f).max() <= 1
    assert np.load(tmp_path / "f" / "image.npy").dtype == np.float32


def test_contrast_of_the_picture():
    """Clutter with strong points: 1 to 5 % saturated, the median neither black nor bright."""
    a = noise(200, 200)
    a[::40, ::40] *= 20
    picture, black, white = to_picture(a)
    assert 0.01 <= np.mean(picture == 255) <= 0.05
    assert 40 <= np.median(picture) <= 200 and 25 <= white - black <= 40
    # a few points in an empty scene: their side lobes do not become the picture
    x = np.sinc(np.arange(-100, 100) / 3.0)
    picture, _, _ = to_picture(np.outer(x, x) + 1e-7)
    assert np.mean(picture == 255) < 0.05


@pytest.mark.parametrize("image", [np.zeros((4, 5)), np.full((4, 5), np.nan), np.ones((4, 5))])
def test_degenerate_images(tmp_path, image):
    sink = run(image.astype(np.complex64), 5, [tag(0, 4, 5)], str(tmp_path))
    assert sink.error() == ""
    assert json.load(open(tmp_path / "image.json"))["non_finite_pixels"] == np.isnan(image).sum()


def test_refuses(tmp_path):
    with pytest.raises(ValueError, match="cols is 4.5"):
        sar.image_sink(4.5)
    with pytest.raises(ValueError, match="dtype is 'int'"):
        sar.image_sink(4, dtype="int")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        sar.image_sink(4, str(tmp_path / "file" / "under"))
    sink = run(noise(3, 16), 16, [tag(0, 3, 8)], str(tmp_path))
    assert "expected rows of 16" in sink.error() and sink.last_image() is None
    sink = run(noise(5, 16), 16, [tag(0, 3, 16)], "")  # the last two rows are nobody's
    assert "2 more rows arrived than the image has" in sink.error()


def test_annotated_figure(tmp_path):
    pytest.importorskip("matplotlib")
    run(noise(30, 40), 40, [tag(0, 30, 40)], str(tmp_path), annotate=True)
    assert os.path.getsize(tmp_path / "image_axes.png") > 1000


def test_latency_of_images_of_a_radio(tmp_path, capfd):
    """From the last pulse to the last row, by the host's clock; in the log and in the file."""
    tags = [tag(0, 30, 40), tag(30, 30, 40, 1)]
    left = time.monotonic() - 0.25
    tags[1].value = pmt.dict_add(tags[1].value, pmt.intern("last_pulse_host_s"), pmt.from_double(left))
    sink = run([noise(30, 40), noise(30, 40, 2)], 40, tags, str(tmp_path))
    assert "latency_s" not in sink.images[0]
    assert 0.25 <= sink.images[1]["latency_s"] <= 0.25 + time.monotonic() - left
    assert json.load(open(tmp_path / "image_0001.json"))["latency_s"] == sink.images[1]["latency_s"]
    said = logged(capfd, "after its last pulse")
    ms = float(re.search(r"image 1: ([0-9.]+) ms after its last pulse\n", said).group(1))
    assert ms == pytest.approx(1e3 * sink.images[1]["latency_s"], abs=0.06)
    assert "image 0:" not in said


def test_log_of_latencies_is_short(capfd):
    """Many images a second are one line, with the least and the most."""
    left = time.monotonic() - 1
    sink = sar.image_sink(4)
    tags = [tag(3 * n, 3, 4, n) for n in range(20)]
    for n, t in enumerate(tags):
        t.value = pmt.dict_add(t.value, pmt.intern("last_pulse_host_s"), pmt.from_double(left - n))
    tb = gr.top_block()
    tb.connect(blocks.vector_source_c(noise(60, 4).ravel().tolist(), False, 4, tags), sink)
    tb.run()
    assert len(sink.images) == 20
    sink._told_s -= 1  # a second later
    sink._begin(tags[0].value)
    sink._take(noise(3, 4))
    said = logged(capfd, "in the last 20 images")
    assert said.count("after its last pulse") == 2, said
    low, high = re.search(r"; ([0-9.]+) to ([0-9.]+) ms in the last 20 images", said).groups()
    assert 1000 <= float(low) < 20000 <= float(high)


def test_a_long_run_keeps_the_newest_sidecars():
    count = KEPT + 50
    sink = run(noise(count, 4), 4, [tag(n, 1, 4, n) for n in range(count)], "")
    assert [i["image"] for i in sink.images] == list(range(50, count))
