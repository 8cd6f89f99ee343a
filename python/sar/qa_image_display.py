# SPDX-License-Identifier: GPL-3.0-or-later
"""The display: what is kept of a stream, and the pixels that a window makes of it.

Windows are drawn off the screen (Qt's platform "offscreen"), so no X server is needed.
"""
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import dict_tag, frame_tag, image_tag
from gnuradio import blocks, gr, sar
from gnuradio.sar import display_buffer as kept
from gnuradio.sar.image_display import missing_packages

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
needs_qt = pytest.mark.skipif(bool(missing_packages()),
                              reason=f"{' and '.join(missing_packages())} not installed")


def image(offset, rows, cols, number=0, *, row_axis=(0.0, -1.0, 0.0), col_axis=(1.0, 0.0, 0.0),
          origin=(10.0, 20.0, 0.0), spacing=(0.5, 0.25), **more):
    return image_tag(offset, image=number, rows=rows, cols=cols, origin_m=origin,
                     row_axis=row_axis, col_axis=col_axis, row_spacing_m=spacing[0],
                     col_spacing_m=spacing[1], **more)


def told(tag):
    import pmt

    return tag.offset, pmt.symbol_to_string(tag.key), tag.value


def noise(rows, cols, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, cols)) + 1j * rng.normal(size=(rows, cols))).astype(np.complex64)


def in_batches(buffer, items, tags=(), seed=2):
    """As the scheduler hands them out: some rows at a time."""
    rng, at = np.random.default_rng(seed), 0
    tags = [told(t) for t in tags]
    while at < len(items):
        n = int(rng.integers(1, 40))
        buffer.take(items[at : at + n],
                    [(o - at, k, v) for o, k, v in tags if at <= o < at + n])
        at += n


# ---- what is kept -----------------------------------------------------------------------


def test_import_loads_no_gui():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from gnuradio import sar; sar.image_display; "
         "print([m for m in sys.modules if m.split('.')[0] in ('PyQt5', 'pyqtgraph')])"],
        capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("rows,cols,largest", [(200, 300, 60000), (200, 300, 3000), (7, 1000, 500),
                                               (1000, 3, 100), (1, 1, 1), (129, 257, 1000)])
def test_peaks_of_a_large_image_are_kept(monkeypatch, rows, cols, largest):
    monkeypatch.setattr(kept, "LARGEST_PICTURE", largest)
    monkeypatch.setattr(kept.block_sizes, "__defaults__", (largest,))
    x = noise(rows, cols)
    x[rows // 2, cols // 3] = np.nan
    b = kept.display_buffer(cols)
    in_batches(b, x, [image(0, rows, cols)])
    c = b.canvas
    assert c.values.size <= largest and b.images_done == 1 and c.bad == 1
    power = (x.real**2 + x.imag**2).astype(np.float32)
    wide = np.full((c.kr * c.values.shape[0], c.kc * c.values.shape[1]), np.nan, np.float32)
    wide[:rows, :cols] = power
    wide = wide.reshape(c.values.shape[0], c.kr, c.values.shape[1], c.kc)
    expected = np.fmax.reduce(np.fmax.reduce(wide, axis=3), axis=1)
    np.testing.assert_allclose(c.values, expected, rtol=1e-6)


def test_a_huge_image_takes_little_memory():
    b = kept.display_buffer(16384)
    row = np.ones((64, 16384), np.complex64)
    row[10, 5000] = 100
    b.take(row, [told(image(0, 16384, 16384))])
    c = b.canvas
    assert c.values.nbytes <= 4 * kept.LARGEST_PICTURE and (c.kr, c.kc) == (8, 8)
    assert c.values[1, 625] == 10000 and c.values[1, 624] == 1 and np.isnan(c.values[8, 0])


@pytest.mark.parametrize("value", ["magnitude", "power", "db"])
def test_float_rows_mean_the_same(value):
    x = noise(20, 30)
    x[3, 4] = 0
    with np.errstate(divide="ignore"):
        rows = {"magnitude": np.abs(x), "power": np.abs(x) ** 2,
                "db": 20 * np.log10(np.abs(x))}[value].astype(np.float32)
    b = kept.display_buffer(30, "magnitude")
    b.take(rows, [told(image(0, 20, 30, value=value))])
    np.testing.assert_allclose(b.canvas.values, np.abs(x) ** 2, rtol=2e-5)
    assert b.canvas.bad == 0


def test_images_of_a_strip_join():
    x = noise(300, 20)
    b = kept.display_buffer(20, lines=128)
    tags = [image(60 * k, 60, 20, k, row_axis=(1.0, 0.0, 0.0), col_axis=(0.0, 1.0, 0.0),
                  origin=(100 + 30.0 * k, 5000.0, 0.0), plane="slant", geometry="zero_doppler")
            for k in range(5)]
    in_batches(b, x, tags)
    c = b.canvas
    assert c.scroll and len(c.values) == 128 and c.first_row() == 300 - 128
    rows = np.arange(300 - 128, 300)
    np.testing.assert_allclose(c.values[rows % 128], np.abs(x[rows]) ** 2, rtol=1e-5)
    assert c.axes[0] == ("along track, m", 100.0, 0.5) and c.axes[1][0] == "closest range, m"
    assert b.dropped() == (0, 300 - 128)  # no window has shown them
    # a gap: a picture of its own
    in_batches(b, x[:60], [image(0, 60, 20, 5, row_axis=(1.0, 0.0, 0.0), origin=(300.0, 5000.0, 0.0),
                                 col_axis=(0.0, 1.0, 0.0), plane="slant")])
    assert not b.canvas.scroll and b.canvas.rows == 60


def test_lines_go_round():
    x = noise(333, 16)
    b = kept.display_buffer(16, view="range_time", lines=100)
    in_batches(b, x, [frame_tag(0, prf_hz=200.0, slant_range_first_m=5000.0, spacing_m=1.5,
                                time_s=2.0, domain="raw")])
    c = b.canvas
    assert c.first_row() == 233 and c.axes == (("time, s", 2.0, 0.005),
                                               ("slant range, m", 5000.0, 1.5))
    rows = np.arange(233, 333)
    np.testing.assert_allclose(c.values[rows % 100], np.abs(x[rows]) ** 2, rtol=1e-5)
    assert c.lost() == 233
    c.mark_seen(c.written)
    b.take(x[:150])
    assert c.lost() == 233 + 50


def test_dropped_images_are_counted():
    b = kept.display_buffer(5)
    for k in range(7):
        b.take(noise(4, 5), [told(image(0, 4, 5, k))])
        if k in (2, 5):
            b.images_seen = b.images
    assert b.images == b.images_done == 7
    assert b.dropped() == (4, 0)  # 0, 1, 3, 4; the last one may still be drawn


def test_contradictions_end_the_flowgraph():
    for items, tags, text in ((noise(5, 16), [image(0, 5, 8)], "expected rows of 16"),
                              (noise(5, 16), [image(0, 3, 16)], "2 more rows arrived")):
        source = blocks.vector_source_c(items.ravel().tolist(), False, 16, tags)
        if missing_packages():
            pytest.skip("python3-pyqt5 or python3-pyqtgraph not installed")
        display = sar.image_display(16)
        tb = gr.top_block()
        tb.connect(source, display)
        tb.run()
        assert text in display.error()


@needs_qt
@pytest.mark.parametrize("arguments,text", [
    (dict(cols=4.5), "cols is 4.5"), (dict(cols=4, view="map"), "view is 'map'"),
    (dict(cols=4, dtype="int"), "dtype is 'int'"), (dict(cols=4, lines=1), "lines is 1"),
    (dict(cols=4, dtype="float", value="volts"), "value is 'volts'"),
    (dict(cols=4, dtype="float", view="doppler"), "needs the phase"),
    (dict(cols=1 << 16, view="range_doppler"), "67108864 samples"),
    (dict(cols=4, dynamic_range_db=-3), "dynamic_range_db is -3"),
    (dict(cols=4, reference_db=np.nan), "reference_db is nan"),
    (dict(cols=4, colours="jet"), "colours is 'jet'")])
def test_refuses(arguments, text):
    with pytest.raises(ValueError, match=text):
        sar.image_display(**arguments)


def test_says_what_is_missing(monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *a: None if name == "pyqtgraph" else real(name, *a))
    with pytest.raises(ImportError, match="needs .*python3-pyqtgraph.*apt install"):
        sar.image_display(4)


# ---- the window -------------------------------------------------------------------------


@pytest.fixture
def qt():
    if missing_packages():
        pytest.skip(f"{' and '.join(missing_packages())} not installed")
    from PyQt5 import Qt

    app = Qt.QApplication.instance() or Qt.QApplication(["test"])
    opened = []

    class windows:
        @staticmethod
        def show(display, width=700, height=600):
            w = display.qwidget()
            opened.append(w)
            w.resize(width, height)
            w.show()
            windows.draw(w)
            return w

        @staticmethod
        def draw(w, seconds=0.0):
            end = time.monotonic() + seconds
            while True:
                w._next = 0
                app.processEvents()
                w.tick()
                if time.monotonic() >= end:
                    return

    yield windows
    for w in opened:
        w.close()
        w.setParent(None)
        w.deleteLater()
    app.processEvents()


def shown(w):
    """The window's pixels (rows, columns, RGB), and a function from metres to a pixel."""
    from PyQt5 import Qt

    picture = w.graphics.grab().toImage().convertToFormat(Qt.QImage.Format_RGB888)
    data = picture.bits()
    data.setsize(picture.sizeInBytes())
    rgb = np.array(data).reshape(picture.height(), -1)[:, : 3 * picture.width()]
    rgb = rgb.reshape(picture.height(), picture.width(), 3).astype(int)

    def at(x, y):
        p = w.graphics.mapFromScene(w.plot.getViewBox().mapViewToScene(Qt.QPointF(x, y)))
        return p.y(), p.x()

    return rgb, at


def brightness(rgb, at, x, y, reach=2):
    i, j = at(x, y)
    return rgb[i - reach : i + reach + 1, j - reach : j + reach + 1].mean(axis=2).max()


@pytest.mark.parametrize("rows,cols", [(120, 160), (900, 1100)])
@pytest.mark.parametrize("row_axis,col_axis,plane", [
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), ""), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), ""),
    ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), ""), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), "slant")])
def test_points_lie_where_the_axes_say(qt, rows, cols, row_axis, col_axis, plane):
    """x to the right and y upwards, however rows and columns run; single pixels are seen even
    where the screen has fewer."""
    d = sar.image_display(cols, dynamic_range_db=40, reference_db=0)
    x = np.full((rows, cols), 1e-4, np.complex64)
    points = [(rows // 10, cols // 6), (rows // 3, cols - cols // 8), (rows - rows // 9, cols // 4)]
    for p in points:
        x[p] = 1
    d.buffer.take(x, [told(image(0, rows, cols, row_axis=row_axis, col_axis=col_axis,
                                 **({"plane": plane} if plane else {})))])
    w = qt.show(d)
    rgb, at = shown(w)
    grid = sar.image_grid((10, 20, 0), row_axis, col_axis, 0.5, 0.25, rows, cols)
    places = [grid.position(float(i), float(j))[:2] for i, j in points]
    for (px, py), (i, j) in zip(places, points):
        assert brightness(rgb, at, px, py) > 200
        assert f"row {i}, column {j}   0.00 dB" in w.text_at(px, py)
        # mirrored or transposed it would be somewhere else
        (x0, x1), (y0, y1) = w.plot.viewRange()
        middle = np.array(grid.position((rows - 1) / 2, (cols - 1) / 2)[:2])
        for other in ((2 * middle[0] - px, py), (px, 2 * middle[1] - py)):
            if min(np.hypot(*(np.array(other) - q)) for q in places) > 3:
                assert brightness(rgb, at, *other) < 60
    # x grows to the right, y upwards
    assert at(places[0][0] + 1, places[0][1])[1] > at(*places[0])[1]
    assert at(places[0][0], places[0][1] + 1)[0] < at(*places[0])[0]
    label = w.plot.getAxis("bottom").labelText
    assert label == ("along track, m" if plane else "x, m")


def test_points_of_a_reduced_image_lie_in_their_block(qt, monkeypatch):
    monkeypatch.setattr(kept.block_sizes, "__defaults__", (10000,))
    d = sar.image_display(500, dynamic_range_db=40, reference_db=0)
    x = np.full((400, 500), 1e-4, np.complex64)
    x[213, 77] = 1
    d.buffer.take(x, [told(image(0, 400, 500))])
    w = qt.show(d)
    kr, kc = d.buffer.canvas.kr, d.buffer.canvas.kc
    assert kr > 2 and kc > 2 and f"brightest of {kr} x {kc}" in w.status.text()
    # the block covers its pixels, from edge to edge, and no others
    y0, y1 = (20 - 0.5 * (213 // kr * kr + k - 0.5) for k in (0, kr))
    x0, x1 = (10 + 0.25 * (77 // kc * kc + k - 0.5) for k in (0, kc))
    for px in (x0 + 0.05, x1 - 0.05):
        for py in (y0 - 0.1, y1 + 0.1):
            assert "  0.00 dB (brightest of" in w.text_at(px, py)
    for px, py in ((x0 - 0.05, y0 - 0.1), (x1 + 0.05, y0 - 0.1), (x0 + 0.05, y0 + 0.1),
                   (x0 + 0.05, y1 - 0.1)):
        assert "-80.00 dB" in w.text_at(px, py)


def test_grows_and_says_so(qt):
    d = sar.image_display(50, dynamic_range_db=40, reference_db=0)
    x = np.ones((40, 50), np.complex64)
    d.buffer.take(x[:15], [told(image(0, 40, 50, pulses=77))])
    w = qt.show(d)
    rgb, at = shown(w)
    # row i lies at y = 20 - i / 2
    assert brightness(rgb, at, 16, 20 - 14 / 2, 0) > 240
    from gnuradio.sar.display_widget import NOT_SEEN

    assert tuple(rgb[at(16, 20 - 16 / 2)]) == NOT_SEEN
    assert "image 1: row 15 of 40" in w.status.text() and "77 pulses" in w.status.text()
    d.buffer.take(x[15:30])
    qt.draw(w)
    rgb, at = shown(w)
    assert brightness(rgb, at, 16, 20 - 29 / 2, 0) > 240
    assert tuple(rgb[at(16, 20 - 31 / 2)]) == NOT_SEEN
    # the next image comes over it: what has not come is still the one before
    d.buffer.take(x[30:])
    d.buffer.take(0.1 * x[:20], [told(image(0, 40, 50, 1))])
    qt.draw(w)
    rgb, at = shown(w)
    new, old = (brightness(rgb, at, 16, 20 - i / 2, 0) for i in (19, 21))
    assert abs(new - 255 / 2) < 12 and old > 240  # -20 dB of 40
    assert "image 2: row 20 of 40" in w.status.text()


def test_a_strip_grows_to_the_right_and_scrolls(qt):
    d = sar.image_display(30, lines=100, dynamic_range_db=40, reference_db=0)
    x = np.full((60, 30), 1e-4, np.complex64)
    x[50, 10] = 1
    w = None
    for k in range(5):
        d.buffer.take(x, [told(image(0, 60, 30, k, row_axis=(1.0, 0.0, 0.0),
                                     col_axis=(0.0, 1.0, 0.0), origin=(30.0 * k, 5000.0, 0.0),
                                     plane="slant", geometry="zero_doppler"))])
        if w is None:
            w = qt.show(d)
        qt.draw(w)
    rgb, at = shown(w)
    for k in (3, 4):  # 100 rows (doubled: 120) are from 90 m to 150 m
        assert brightness(rgb, at, 30 * k + 25, 5002.5) > 200
    assert w.plot.viewRange()[0][1] >= 149.7 and w._drawn[2][1] == 90
    assert brightness(rgb, at, 30 * 4 + 10, 5002.5) < 60


def test_levels(qt):
    d = sar.image_display(50, reference_db=10, dynamic_range_db=20)
    x = np.full((50, 50), 1.0, np.complex64)
    d.buffer.take(x, [told(image(0, 50, 50))])
    w = qt.show(d)
    assert w.bar.levels() == (-10, 10)
    rgb, at = shown(w)
    assert abs(brightness(rgb, at, 15, 10, 0) - 255 / 2) < 12
    d.set_reference_db(0)
    qt.draw(w)
    assert w.bar.levels() == (-20, 0) and brightness(*shown(w), 15, 10, 0) > 240
    w.range.setValue(40)
    w.reference.setValue(30)
    qt.draw(w)
    assert w.bar.levels() == (-10, 30) and not w.auto.isChecked()
    w.auto.setChecked(True)
    qt.draw(w)
    assert w.bar.levels()[1] == pytest.approx(0, abs=0.1)
    d.set_colours("inferno")
    qt.draw(w)
    assert w.colours.currentText() == "inferno"


@pytest.mark.parametrize("x", [np.zeros((40, 50)), np.full((40, 50), np.nan), np.ones((1, 1)),
                               np.ones((3, 1000)), np.ones((2000, 2)), np.full((5, 5), np.inf)],
                         ids=["zero", "nan", "1x1", "3x1000", "2000x2", "inf"])
def test_degenerate_images(qt, x):
    d = sar.image_display(x.shape[1])
    d.buffer.take(x.astype(np.complex64), [told(image(0, *x.shape))])
    w = qt.show(d)
    for size in ((240, 200), (900, 300)):
        w.resize(*size)
        w.plot.getViewBox().scaleBy((0.5, 0.5))
        qt.draw(w)
    w.reset_view()
    qt.draw(w)
    assert d.error() == "" and w._timer.isActive()
    bad = np.count_nonzero(~np.isfinite(x))
    assert (f"{bad} pixels not finite" in w.status.text()) == (bad > 0)


def test_a_frame_with_holes(qt):
    from gnuradio.sar.display_widget import NOT_SEEN

    d = sar.image_display(60, dynamic_range_db=20, reference_db=0)
    x = np.ones((60, 60), np.complex64)
    x[20:30, 20:30] = np.nan
    x[40:50, 40:50] = 0
    d.buffer.take(x, [told(image(0, 60, 60))])
    w = qt.show(d)
    rgb, at = shown(w)
    assert tuple(rgb[at(10 + 25 / 4, 20 - 25 / 2)]) == NOT_SEEN  # not finite: a hole
    assert tuple(rgb[at(10 + 45 / 4, 20 - 45 / 2)]) == (0, 0, 0)  # zero: black
    assert "100 pixels not finite" in w.status.text()


def test_zoom_stays_while_rows_arrive(qt):
    d = sar.image_display(200, "range_time", lines=150)
    x = noise(200, 200)
    d.buffer.take(x[:50])
    w = qt.show(d)
    assert w.plot.viewRange()[1] == pytest.approx([-0.5, 49.5])
    d.buffer.take(x[50:60])
    qt.draw(w)
    assert w.plot.viewRange()[1] == pytest.approx([-0.5, 59.5])  # follows
    from PyQt5 import Qt, QtTest

    QtTest.QTest.mousePress(w.graphics.viewport(), Qt.Qt.LeftButton)
    QtTest.QTest.mouseRelease(w.graphics.viewport(), Qt.Qt.LeftButton)
    w.plot.setRange(xRange=(20, 30), yRange=(0, 10), padding=0)
    qt.draw(w)
    before = w.plot.viewRange()
    d.buffer.take(x[60:])
    qt.draw(w)
    assert w.plot.viewRange() == before
    assert w._blocks == (150, 200)  # every value on its own
    w.reset_view()
    assert w.plot.viewRange()[1] == pytest.approx([49.5, 199.5])


def doppler_lines(prf, doppler, cell, cols=32, lines=256):
    x = 1e-3 * noise(lines, cols)
    x[:, cell] += np.exp(2j * np.pi * doppler / prf * np.arange(lines))
    return x


@pytest.mark.parametrize("centroid", [0.0, 1234.0, [-500.0, 2.0]])
def test_range_doppler(qt, centroid):
    """An echo of a known Doppler frequency lies there, also when that is many PRFs."""
    prf, cell, cols = 200.0, 11, 32
    middle = np.polyval(np.atleast_1d(centroid)[::-1], 1.5 * (cols - 1) / 2)
    doppler = middle + 60.0
    x = doppler_lines(prf, doppler, cell, cols)
    tags = [told(frame_tag(0, prf_hz=prf, slant_range_first_m=5000.0, spacing_m=1.5,
                           doppler_centroid_hz=centroid, domain="compressed"))]
    d = sar.image_display(cols, "range_doppler", lines=256, dynamic_range_db=40, reference_db=0)
    d.buffer.take(x, tags)
    w = qt.show(d)
    rgb, at = shown(w)
    assert rgb[at(5000 + 1.5 * cell, doppler)].sum() > 400  # viridis: yellow
    i, j = np.unravel_index(np.argmax(w._drawn[0]), w._drawn[0].shape)
    assert w._drawn[1][1] + i * w._drawn[1][2] == pytest.approx(doppler, abs=prf / 256)
    assert w._drawn[0][i, j] == pytest.approx(0, abs=1.5)  # Hann: at most 1.42 dB between bins
    c = sar.image_display(cols, "doppler", lines=256)
    c.buffer.take(x, tags)
    w = qt.show(c)
    f, level = w.curve.getData()
    assert f[np.argmax(level)] == pytest.approx(doppler, abs=prf / 256)
    assert f[0] >= middle - prf / 2 - 1e-6 and f[-1] < middle + prf / 2
    assert level.max() == pytest.approx(-10 * np.log10(cols), abs=1.5)
    assert w.centroid.value() == pytest.approx(middle) and w.centroid.isVisible()


def test_range_time(qt):
    d = sar.image_display(64, "range_time", lines=100, dynamic_range_db=40, reference_db=0)
    x = np.full((250, 64), 1e-4, np.complex64)
    x[200, 20] = 1
    d.buffer.take(x, [told(frame_tag(0, prf_hz=100.0, slant_range_first_m=700.0, spacing_m=2.0))])
    w = qt.show(d)
    rgb, at = shown(w)
    assert rgb[at(740, 2.0)].sum() > 400 and rgb[at(740, 2.2)].sum() < 300
    assert "250 lines" in w.status.text() and "150 lines not shown" in w.status.text()
    (_, _), (y0, y1) = w.plot.viewRange()
    assert y0 == pytest.approx(1.495) and y1 == pytest.approx(2.495)


def test_saves_what_is_seen(qt, tmp_path):
    from PIL import Image

    d = sar.image_display(60)
    d.buffer.take(noise(60, 60), [told(image(0, 60, 60))])
    w = qt.show(d)
    assert w.save_png(tmp_path / "picture.png")
    saved = np.array(Image.open(tmp_path / "picture.png").convert("RGB")).astype(int)
    np.testing.assert_array_equal(saved, shown(w)[0])
    assert not w.save_png(tmp_path / "nowhere" / "picture.png")


# ---- in a flowgraph ---------------------------------------------------------------------


def endless(cols, rows):
    x = np.tile(noise(rows, cols), (1, 1))
    return blocks.vector_source_c(x.ravel().tolist(), True, cols, [image(0, rows, cols)])


def test_a_frozen_window_does_not_stop_the_graph(qt):
    """Nobody runs the window's events; rows go on as without it, and what was not seen is
    counted."""
    rows, cols, total = 50, 1000, 20000
    d = sar.image_display(cols)
    w = qt.show(d)
    tb = gr.top_block()
    tb.connect(endless(cols, rows), blocks.head(8 * cols, total), d)
    runner = threading.Thread(target=tb.run, daemon=True)
    begin = time.monotonic()
    runner.start()
    runner.join(60)  # the main thread, the window's, sleeps here
    assert not runner.is_alive(), "the graph waits for the window"
    seconds = time.monotonic() - begin
    assert d.error() == "" and d.buffer.rows_done == total
    assert total * cols / seconds > 3e6  # a fiftieth of what a core can
    assert d.dropped() == (total // rows - 1, 0)
    assert d.buffer.canvas.values.size == rows * cols
    qt.draw(w)
    assert f"{total // rows - 1} images not shown" in w.status.text()
    assert "stopped" in w.status.text()


def test_two_windows_one_closed_while_the_graph_runs(qt):
    cols = 64
    a, b = sar.image_display(cols), sar.image_display(cols, "range_time", lines=200)
    wa, wb = qt.show(a), qt.show(b)
    tb = gr.top_block()
    source, throttle = endless(cols, 100), blocks.throttle(8 * cols, 4000)
    tb.connect(source, throttle, a)
    tb.connect(throttle, b)
    tb.start()
    qt.draw(wa, 0.4)
    wa.close()
    wa.deleteLater()
    seen, begin = a.buffer.rows_done, wb.redraws
    qt.draw(wb, 0.4)
    tb.stop()
    tb.wait()
    assert a.buffer.rows_done > seen and wb.redraws > begin
    qt.draw(wb)
    assert a.error() == b.error() == "" and "stopped" in wb.status.text()


def test_redraws_at_most_twenty_times_a_second(qt):
    d = sar.image_display(64)
    w = qt.show(d)
    from PyQt5 import Qt

    before, begin, x = w.redraws, time.monotonic(), noise(10, 64)
    tags = [told(image(0, 10, 64))]
    while time.monotonic() - begin < 1.0:
        d.buffer.take(x, tags)
        Qt.QApplication.processEvents()
        w.tick()
    assert 3 <= w.redraws - before <= 23


def test_an_error_in_the_window_ends_the_window_alone(qt):
    d = sar.image_display(8)
    w = qt.show(d)
    w._draw = lambda *a: 1 / 0
    d.buffer.take(noise(3, 8))
    qt.draw(w)
    assert "division by zero" in w.status.text() and not w._timer.isActive()
    d.buffer.take(noise(3, 8))
    assert d.buffer.rows_done == 6


@pytest.mark.skipif(not shutil.which("grcc"), reason="grcc is not here")
@pytest.mark.parametrize("old,new,text", [
    ("generate_options: qt_gui", "generate_options: no_gui", "no_gui"),
    ("view: doppler", "view: doppler, type: float", "Assertion"),
    ("dynamic_range_db: '45'", "dynamic_range_db: '-45'", "Assertion"),
    ("lines: '1200'", "lines: '1'", "Assertion")])
def test_grc_refuses(tmp_path, old, new, text):
    """A flowgraph without a window, and parameters that do not fit, before anything runs."""
    flowgraph = (SOURCE / "examples" / "05_display.grc").read_text()
    if "type: float" in new:
        at = flowgraph.index(old)
        head = flowgraph[:at].rindex("type: complex")
        flowgraph = flowgraph[:head] + "type: float" + flowgraph[head + len("type: complex"):]
    else:
        assert old in flowgraph
        flowgraph = flowgraph.replace(old, new)
    (tmp_path / "wrong.grc").write_text(flowgraph)
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(tmp_path / "wrong.grc")],
                          env=dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"),
                                   HOME=str(tmp_path)), capture_output=True, text=True)
    assert done.returncode != 0 and text in done.stdout + done.stderr
    assert not (tmp_path / "display.py").exists()


@needs_qt
@pytest.mark.skipif(not shutil.which("grcc"), reason="grcc is not here")
def test_example(tmp_path):
    """examples/05_display.grc with its windows, for some seconds: a strip of letters."""
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"), HOME=str(tmp_path),
               QT_QPA_PLATFORM="offscreen")
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(SOURCE / "examples" / "05_display.grc")],
                          env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "look.py").write_text("""
import math
import os
import sys
from PyQt5 import Qt
import display
app = Qt.QApplication(sys.argv)
tb = display.display(backend="cpu", speed_up=50)
tb.start()
tb.resize(1200, 900)
tb.show()
def end():
    tb.stop()
    tb.wait()
    w = tb.image.qwidget()
    w._next = 0
    w.tick()
    print(tb.image.error(), tb.echoes.error(), tb.spectrum.error())
    db, up, across = w._drawn
    n = math.ceil((across[1] + 4 - 300) / (13 * 46))  # the first word that is whole
    for row in range(7):
        y = round((12085 - 20 * row - up[1]) / up[2])
        print("".join("1" if db[y - 1 : y + 2, x - 1 : x + 2].max() > -6 else "0" for x in (
            round((300 + 13 * (c + 46 * n) - across[1]) / across[2]) for c in range(35))))
    sys.stdout.flush()
    os._exit(0)
def look():
    if tb.image.buffer.images >= 90:
        end()
    else:
        Qt.QTimer.singleShot(100, look)
look()
app.exec_()
""")
    done = subprocess.run([sys.executable, "look.py"], cwd=tmp_path, env=env, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    got = [line for line in done.stdout.splitlines() if set(line) <= set("01 ") and line.strip()]
    with open(SOURCE / "examples" / "05_display.grc", encoding="utf-8") as f:
        import yaml

        letters = next(b for b in yaml.safe_load(f)["blocks"] if b["name"] == "letters")
    expected = eval(letters["parameters"]["value"])
    assert [g.replace(" ", "") for g in got] == [e.replace(" ", "0")[:35] for e in expected], \
        done.stdout + done.stderr
