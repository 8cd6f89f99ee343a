# SPDX-License-Identifier: GPL-3.0-or-later
"""The window of image_display: draws what a display_buffer holds, by a timer of its own."""

import math
import time

import numpy as np
from PyQt5 import Qt  # before pyqtgraph, which takes the binding that is loaded

import pyqtgraph as pg

from .display_buffer import axis_of_blocks, block_peaks, doppler_spectrum
from .image_display import COLOURS
from .image_sink import display_range, upright

INTERVAL_MS = 50             # between redraws, at least
SHARE = 1 / 3                # of the GUI thread's time that redraws may take
NOT_SEEN = (38, 50, 70)      # where nothing has come, and pixels that are not finite
NAMES = {"image": "Image", "range_time": "Range-time", "doppler": "Doppler spectrum",
         "range_doppler": "Range-Doppler"}


def in_db(power):
    with np.errstate(divide="ignore", invalid="ignore"):
        return 10 * np.log10(power)


def levels_of(db, share=1 << 16):
    """display_range() of a picture, from a sample of it and its true maximum."""
    step = max(1, math.isqrt(db.size // share))
    flat = db[::step, ::step].ravel()
    top = np.nanmax(db, initial=-np.inf) if db.size else -np.inf
    return display_range(np.append(flat, top))


def largest_of_parts(db, parts, axis):
    """Largest value of each of so many parts of an axis, as equal as they can be. (What
    np.fmax.reduceat does, three times as fast.)"""
    edges = np.arange(parts + 1) * db.shape[axis] // parts
    out = np.take(db, edges[:-1], axis)
    for k in range(1, int(np.diff(edges).max())):
        np.fmax(out, np.take(db, np.minimum(edges[:-1] + k, edges[1:] - 1), axis), out)
    return out


class plain_numbers(pg.AxisItem):
    """An axis in the unit that its label says, at any scale."""

    def __init__(self, side):
        super().__init__(side)
        self.enableAutoSIPrefix(False)


class display_widget(Qt.QWidget):
    """Picture, axes, colour bar, controls and read-out."""

    def __init__(self, block, parent=None):
        super().__init__(parent)
        self._block = block
        self._buffer = block.buffer
        self._curve_view = block.view == "doppler"
        self._canvas = None      # that the picture below is of
        self._written = -1
        self._db = None          # rows in the ring's order
        self._drawn = None       # (db, vertical axis, horizontal axis): upright
        self._axes = None        # of rows and columns of pixels
        self._blocks = None      # values on the screen, up and across; None: draw anew
        self._asked = (None, None, None)
        self._mouse = None
        self._next = 0.0
        self.redraws = 0
        self._make_controls()
        self._make_picture()
        self._timer = Qt.QTimer(self)
        self._timer.timeout.connect(self.tick)
        self._timer.start(INTERVAL_MS)
        self.setMinimumSize(240, 200)

    # ---- what it is made of ----

    def sizeHint(self):
        return Qt.QSize(760, 640)

    def resizeEvent(self, event):
        # controls that do not fit make way for the picture
        need = self._controls.sizeHint().width() + self.title.fontMetrics().averageCharWidth() * 6
        self._controls.setVisible(event.size().width() >= need)
        super().resizeEvent(event)

    def _make_controls(self):
        def level(text, low, high, tip):
            box = Qt.QDoubleSpinBox()
            box.setRange(low, high)
            box.setDecimals(1)
            box.setSuffix(" dB")
            box.setToolTip(tip)
            box.setKeyboardTracking(False)
            box.setButtonSymbols(Qt.QAbstractSpinBox.NoButtons)
            box.setFixedWidth(box.fontMetrics().horizontalAdvance("-188.8 dB") + 12)
            box.valueChanged.connect(self._levels_typed)
            label = Qt.QLabel(text)
            label.setBuddy(box)
            return label, box

        self.title = Qt.QLabel(self._block.title or NAMES[self._block.view])
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.auto = Qt.QCheckBox("Auto")
        self.auto.setToolTip("choose the levels from the picture")
        self.auto.toggled.connect(self._auto_set)
        top_label, self.reference = level("Reference", -400, 400, "level of the brightest colour")
        range_label, self.range = level("Range", 1, 400, "from the darkest to the brightest colour")
        self.colours = Qt.QComboBox()
        self.colours.addItems(COLOURS)
        self.colours.currentTextChanged.connect(self._set_colours)
        self.square = Qt.QCheckBox("1:1")
        self.square.setToolTip("a metre is as long across as upwards")
        self.square.toggled.connect(lambda on: self.plot.getViewBox().setAspectLocked(on))
        reset = Qt.QPushButton("Reset")
        reset.setToolTip("show all of the picture (wheel: zoom, left button: move, right button: stretch)")
        reset.clicked.connect(self.reset_view)
        save = Qt.QPushButton("Save…")
        save.setToolTip("write the picture with axes and colour bar as PNG")
        save.clicked.connect(self._save)
        for button in (reset, save):  # no wider than its text, so that narrow windows hold it all
            button.setFixedWidth(button.fontMetrics().horizontalAdvance(button.text()) + 16)
        self._controls = Qt.QWidget()
        inner = Qt.QHBoxLayout(self._controls)
        inner.setContentsMargins(0, 0, 0, 0)
        for w in (self.auto, top_label, self.reference, range_label, self.range, self.colours,
                  self.square, reset, save):
            inner.addWidget(w)
        if self._curve_view:
            for w in (self.colours, self.square):
                w.hide()
        row = Qt.QHBoxLayout()
        row.addWidget(self.title, 1)
        row.addWidget(self._controls)
        self.status = Qt.QLabel()
        self.readout = Qt.QLabel(" ")
        for label in (self.title, self.status, self.readout):
            label.setTextFormat(Qt.Qt.PlainText)
            # a long line must not make the window wider
            label.setSizePolicy(Qt.QSizePolicy.Ignored, Qt.QSizePolicy.Preferred)
        self._layout = Qt.QVBoxLayout(self)
        self._layout.setContentsMargins(6, 4, 6, 4)
        self._layout.addLayout(row)
        self._layout.setSpacing(2)
        self._layout.addWidget(self.readout)
        self._layout.addWidget(self.status)

    def _make_picture(self):
        self.graphics = pg.GraphicsLayoutWidget()
        self.graphics.ci.layout.setContentsMargins(0, 4, 4, 0)
        palette = self.palette()
        ink = palette.color(Qt.QPalette.WindowText)
        self.graphics.setBackground(palette.color(Qt.QPalette.Window))
        sides = {side: plain_numbers(side) for side in ("left", "bottom")}
        self.plot = self.graphics.addPlot(axisItems=sides)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        for side in sides.values():
            side.setPen(ink)
            side.setTextPen(ink)
        view = self.plot.getViewBox()
        self.picture = self.curve = None
        if self._curve_view:
            self.curve = self.plot.plot(pen=pg.mkPen("#0072b2", width=1.5))
            self.centroid = pg.InfiniteLine(angle=90, pen=pg.mkPen("#d55e00", width=1.5),
                                            label="centroid", labelOpts={"position": 0.94,
                                                                         "color": "#d55e00"})
            self.centroid.hide()
            self.plot.addItem(self.centroid)
            self.plot.showGrid(x=True, y=True, alpha=0.25)
        else:
            view.setBackgroundColor(NOT_SEEN)
            self.picture = pg.ImageItem(axisOrder="row-major")
            self.plot.addItem(self.picture)
            self.bar = pg.ColorBarItem(values=(-40, 0), colorMap=self._map(self._block.colours),
                                       rounding=0.1)
            self.bar.setImageItem(self.picture, insert_in=self.plot)
            self.bar.axis.setPen(ink)
            self.bar.axis.setTextPen(ink)
            self.bar.axis.setLabel("dB", color=ink.name())
            # (it would not make room for both numbers and label by itself)
            metrics = self.fontMetrics()
            self.bar.axis.setWidth(metrics.horizontalAdvance("-188") + metrics.height() + 8)
            self.bar.sigLevelsChanged.connect(self._levels_dragged)
        self.cross = [pg.InfiniteLine(angle=a, pen=pg.mkPen(255, 210, 0, 150))
                      for a in (0, 90)]
        for line in self.cross:
            line.hide()
            self.plot.addItem(line, ignoreBounds=True)
        view.sigRangeChanged.connect(self._redraw_soon)
        self.graphics.scene().sigMouseMoved.connect(self._moved)
        self.graphics.viewport().installEventFilter(self)
        self._layout.insertWidget(1, self.graphics, 1)

    @staticmethod
    def _map(name):
        return pg.colormap.get("CET-L1" if name == "gray" else name)

    # ---- what a user does ----

    def _set_colours(self, name):
        if self.picture is not None:
            self.bar.setColorMap(self._map(name))

    def _levels_typed(self):
        self.auto.setChecked(False)
        self._redraw_soon()

    def _levels_dragged(self):
        low, high = self.bar.levels()
        self._show_levels(low, high)
        self.auto.setChecked(False)

    def _show_levels(self, low, high):
        for box, value in ((self.reference, high), (self.range, high - low)):
            box.blockSignals(True)
            box.setValue(value)
            box.blockSignals(False)

    def reset_view(self):
        """All of the picture."""
        if self._drawn is not None:
            _, up, across = self._drawn
            rows, cols = self._drawn[0].shape
            self.plot.setRange(xRange=(across[1] - across[2] / 2,
                                       across[1] + (cols - 0.5) * across[2]),
                               yRange=(up[1] - up[2] / 2, up[1] + (rows - 0.5) * up[2]), padding=0)
        elif self._curve_view:
            self.plot.autoRange()
        self._follow = True
        self._redraw_soon()

    _follow = True  # the picture's edges, while it grows; until somebody zooms or pans

    def eventFilter(self, watched, event):
        if event.type() == Qt.QEvent.Leave:
            self._mouse = None
            self._read_out()
        elif event.type() in (Qt.QEvent.Wheel, Qt.QEvent.MouseButtonPress):
            self._follow = False
        return False

    def _moved(self, position):
        self._mouse = position
        self._read_out()

    def _save(self):
        name, _ = Qt.QFileDialog.getSaveFileName(self, "Save PNG", "image.png", "PNG (*.png)")
        if name and not self.save_png(name):
            Qt.QMessageBox.warning(self, "Save PNG", f"{name} cannot be written")

    def save_png(self, name):
        """The picture with axes and colour bar, as on the screen; False when it cannot be."""
        return self.graphics.grab().save(str(name), "PNG")

    # ---- drawing ----

    def _redraw_soon(self, *_):
        self._blocks = None

    def tick(self):
        """Draw what has come; called by the timer."""
        if not self.isVisible() or time.monotonic() < self._next:
            return
        try:
            self._tick()
        except Exception as e:  # PyQt would end the program, and the flowgraph with it
            self._timer.stop()
            self._block.note_error(e)
            self.status.setText(f"the display ended: {e}")

    def _tick(self):
        begin = time.monotonic()
        asked = (self._block.reference_db, self._block.dynamic_range_db, self._block.colours)
        if asked != self._asked:
            self._ask(asked)
        c = self._buffer.canvas
        if c is not None:
            number, written = self._buffer.images, c.written
            if c is not self._canvas or written != self._written or self._blocks is None:
                (self._draw_curve if self._curve_view else self._draw)(c, written)
                self.redraws += 1
            c.mark_seen(written)
            self._buffer.images_seen = number
            self._read_out()
        self._say()
        cost = time.monotonic() - begin
        self._next = begin + max(INTERVAL_MS / 1000 - 0.005, cost / SHARE)

    def _ask(self, asked):
        """Settings of the block, when a flowgraph changed them."""
        reference, span, colours = asked
        self._asked = asked
        self.auto.setChecked(reference is None and span == 0)
        self._show_levels((self.reference.value() if reference is None else reference)
                          - (span or self.range.value()),
                          self.reference.value() if reference is None else reference)
        self._choose_top, self._choose_span = reference is None, span == 0
        self.colours.setCurrentText(colours)
        self._redraw_soon()

    def _levels(self, db):
        """(black, white): those of the controls, or chosen, wholly or in part."""
        low, high = levels_of(db) if self._choose_top or self._choose_span else (-1.0, 0.0)
        span = high - low if self._choose_span else self.range.value()
        high = high if self._choose_top else self.reference.value()
        return high - span, high

    _choose_top = _choose_span = True

    def _auto_set(self, on):
        self._choose_top = self._choose_span = on
        self._redraw_soon()

    def _draw(self, c, written):
        if self._block.view == "range_doppler":
            values, row_axis = self._spectrum(c, written)
            if values is None:
                return
            kc = math.ceil(values.shape[1] / 2048)
            db, col_axis = in_db(block_peaks(values, 1, kc)), c.axes[1]
            kr, first = 1, 0
        else:
            db, first = self._rows_in_db(c, written)
            kr, kc = c.kr, c.kc
            row_axis, col_axis = c.axes
        fresh = self._drawn is None or c is not self._canvas

        before = self._drawn
        self._drawn = upright(db, axis_of_blocks(row_axis, kr, first),
                              axis_of_blocks(col_axis, kc))
        self._canvas, self._written, self._axes = c, written, (row_axis, col_axis)
        db, up, across = self._drawn
        if fresh:
            self.plot.setLabel("left", up[0])
            self.plot.setLabel("bottom", across[0])
            tall, wide = db.shape[0] * up[2], db.shape[1] * across[2]
            metres = up[0].endswith(", m") and across[0].endswith(", m")
            self.square.setEnabled(metres)
            self.square.setChecked(metres and max(tall, wide) <= 8 * min(tall, wide))
            self._follow = True
        if fresh or self._follow and (
                before[0].shape != db.shape or before[1:] != self._drawn[1:]):
            self.reset_view()
        self._paint()

    def _paint(self):
        """At most as many values as the screen has pixels, each the largest of its part."""
        db, up, across = self._drawn
        size = self.plot.getViewBox().viewPixelSize()
        shown, counts = db, []
        for side, (step, pixel) in enumerate(((up[2], size[1]), (across[2], size[0]))):
            count = db.shape[side]
            # never more than pixels: the screen would leave some of them out
            wanted = max(1, min(count, int(count * step / pixel)))
            if wanted < count:
                shown = largest_of_parts(shown, wanted, side)
            counts.append(wanted)
        self._blocks = tuple(counts)
        low, high = self._levels(db)
        # zero is black, not a hole; what has not come is one
        shown = np.where(np.isneginf(shown), np.float32(low - 1), shown).astype(np.float32)
        self.picture.setImage(shown, autoLevels=False)
        self.picture.setRect(Qt.QRectF(across[1] - across[2] / 2, up[1] - up[2] / 2,
                                       db.shape[1] * across[2], db.shape[0] * up[2]))
        self.bar.blockSignals(True)
        self.bar.setLevels((low, high))
        self.bar.blockSignals(False)
        self._show_levels(low, high)

    def _rows_in_db(self, c, written):
        """dB of a canvas, oldest row first, and the row of the picture it begins with."""
        height = len(c.values)
        if c is not self._canvas:
            self._db = np.full(c.values.shape, np.nan, np.float32)
            self._written = 0
        # one row back, which may be a block that was not complete
        begin = max(0, min(self._written, written) - 1, written - height)
        changed = np.arange(begin, written) % height
        self._db[changed] = in_db(c.values[changed])
        if not c.scroll:
            return self._db, 0
        if written < height:
            return self._db[:max(written, 1)], 0
        return np.roll(self._db, -(written % height), axis=0), written - height

    def _spectrum(self, c, written):
        """Power over (Doppler frequency, range) of the newest lines, and the axis of rows."""
        height = len(c.values)
        count = min(written, height)
        if count < 2:
            return None, None
        lines = np.roll(c.values, -(written % height), axis=0) if written >= height \
            else c.values[:count]
        prf, centroid = self._doppler(c)
        spectrum, first, step = doppler_spectrum(lines, prf, centroid)
        label = "Doppler frequency, Hz" if c.info.get("prf_hz") else "cycles a line"
        return spectrum, (label, first, step)

    @staticmethod
    def _doppler(c):
        prf = c.info.get("prf_hz") or 1.0
        centroid = np.atleast_1d(c.info.get("doppler_centroid_hz") or 0.0)
        middle = (c.cols - 1) / 2 * c.axes[1][2]  # a polynomial from the first sample on
        return prf, float(np.polyval(centroid[::-1], middle))

    def _draw_curve(self, c, written):
        spectrum, axis = self._spectrum(c, written)
        if spectrum is None:
            return
        fresh = c is not self._canvas
        self._canvas, self._written, self._blocks = c, written, ()
        db = in_db(spectrum.mean(axis=1, dtype=np.float64))
        self.curve.setData(axis[1] + axis[2] * np.arange(len(db)), np.maximum(db, -400))
        if fresh:
            self.plot.setLabel("bottom", axis[0])
            self.plot.setLabel("left", "power, dB")
            self.centroid.setVisible(c.info.get("doppler_centroid_hz") is not None)
            self.centroid.setValue(self._doppler(c)[1])
        if self._follow:
            self.plot.setXRange(axis[1], axis[1] + axis[2] * (len(db) - 1), padding=0.02)
            low, high = float(np.min(db)), float(np.max(db))
            if not self.auto.isChecked():
                high = self.reference.value()
                low = high - self.range.value()
            elif math.isfinite(high):
                low = max(low, high - 80)
                self._show_levels(low, high)
            if math.isfinite(high) and math.isfinite(low):
                self.plot.setYRange(low, high if high > low else low + 1, padding=0.05)

    # ---- words ----

    def _read_out(self):
        text, here = "", self._mouse
        view = self.plot.getViewBox()
        inside = here is not None and view.sceneBoundingRect().contains(here)
        if inside:
            p = view.mapSceneToView(here)
            self.cross[0].setValue(p.y())
            self.cross[1].setValue(p.x())
            text = self.text_at(p.x(), p.y())
        for line in self.cross:
            line.setVisible(inside)
        self.readout.setText(text or " ")

    def text_at(self, x, y):
        """What is at a place of the picture."""
        def quantity(axis, value):
            name, _, unit = axis[0].partition(", ")
            return f"{name} {value:.6g}" + (f" {unit}" if unit else "")

        if self._curve_view:
            xs, ys = self.curve.getData()
            if xs is None or len(xs) == 0:
                return ""
            k = int(np.clip(np.rint((x - xs[0]) / (xs[1] - xs[0])), 0, len(xs) - 1))
            return f"{xs[k]:.6g} Hz   {ys[k]:.2f} dB"
        if self._drawn is None:
            return ""
        db, up, across = self._drawn
        i, j = round((y - up[1]) / up[2]), round((x - across[1]) / across[2])
        text = quantity(across, x) + "   " + quantity(up, y)
        if not (0 <= i < db.shape[0] and 0 <= j < db.shape[1]):
            return text
        c, level = self._canvas, db[i, j]
        along = {up[0]: y, across[0]: x}
        row, col = (round((along[a[0]] - a[1]) / a[2]) for a in self._axes)
        block = f" (brightest of {c.kr} x {c.kc})" if c.kr * c.kc > 1 else ""
        level = "not finite or not there" if math.isnan(level) else f"{level:.2f} dB{block}"
        return f"{text}   row {row}, column {col}   {level}"

    def _say(self):
        b, parts = self._buffer, []
        c = b.canvas
        if c is None:
            parts.append("waiting for rows" if self._block.running else "not started")
        elif self._block.view == "image" and b.images:
            parts.append(f"image {b.images}" if b.images_done >= b.images else
                         f"image {b.images}: row {c.row - b._row0} of {b._length}")
            pulses = c.info.get("pulses")
            if pulses:
                parts.append(f"{pulses} pulses")
            if c.kr * c.kc > 1:
                parts.append(f"shown: brightest of {c.kr} x {c.kc} pixels")
        else:
            parts.append(f"{b.rows_done} lines" if self._block.view != "image" else
                         f"{b.rows_done} rows")
        if c is not None and c.bad:
            parts.append(f"{c.bad} pixels not finite")
        for count, what in zip(b.dropped(), ("image", "row" if b.view == "image" else "line")):
            if count:
                parts.append(f"{count} {what}{'s' if count > 1 else ''} not shown")
        if self._block.error():
            parts = ["ended: " + self._block.error()]
        elif self._block.running is False:
            parts.append("stopped")
        self.status.setText("   ".join(parts))
        self.status.setToolTip(self.status.text())
