# SPDX-License-Identifier: GPL-3.0-or-later
"""What a display keeps of a stream of rows: the newest picture, in bounded memory, no Qt.

One thread writes (work() of the block), one reads (the window). Neither waits for the other:
counters are written after the rows they count, and a row that is read while it is being
written is drawn again the next time.
"""

import math

import numpy as np

from .image_sink import grid_axes, image_of_tag, tag_number, tag_numbers, tag_text

# Pixels of a picture that are kept one by one; a larger picture is kept as the brightest pixel
# of each block of pixels.
LARGEST_PICTURE = 1 << 22
# Complex samples that a spectrum over lines may be made of.
LARGEST_STRETCH = 1 << 24

VIEWS = ("image", "range_time", "doppler", "range_doppler")


def block_sizes(rows, cols, largest=LARGEST_PICTURE):
    """Rows and columns of the blocks that reduce a picture to at most ``largest`` pixels.

    As nearly square as the picture allows: a long strip is reduced along its length.
    """
    kr = kc = 1
    while math.ceil(rows / kr) * math.ceil(cols / kc) > largest:
        if math.ceil(rows / kr) >= math.ceil(cols / kc):
            kr *= 2
        else:
            kc *= 2
    return kr, kc


def block_peaks(power, kr, kc, row=0):
    """Largest value of each block of kr x kc; a value that is not a number is no value.

    ``row`` is the first row's place in its block: blocks end where those of the whole picture do.
    """
    if kc > 1:
        out = power[:, ::kc].copy()
        for k in range(1, min(kc, power.shape[1])):  # (some ten times faster than reduceat)
            other = power[:, k::kc]
            np.fmax(out[:, : other.shape[1]], other, out[:, : other.shape[1]])
        power = out
    if kr > 1:
        ends = np.arange(kr - row % kr, len(power), kr)
        power = np.fmax.reduceat(power, np.concatenate([[0], ends]), axis=0)
    return power


def axis_of_blocks(axis, k, first=0):
    """The axis of blocks of k pixels, from pixel ``first`` of the axis of pixels."""
    label, origin, step = axis
    return label, origin + (first + (k - 1) / 2) * step, k * step


def power_of(items, value):
    """Power of rows, float32, NaN where it is not finite; and the number of such pixels."""
    with np.errstate(over="ignore", invalid="ignore"):
        if value == "complex":
            parts = items.view(np.float32)
            power = parts[:, ::2] ** 2
            power += parts[:, 1::2] ** 2
        elif value == "power":
            power = np.abs(items)
        elif value == "db":
            power = np.float32(10) ** (items / np.float32(10))
        else:
            power = items * items
        bad = 0
        if not math.isfinite(power.sum(dtype=np.float64)):
            wrong = ~np.isfinite(power)
            if value == "db":
                wrong &= items != -np.inf  # the logarithm of zero
            power[wrong] = np.nan
            bad = int(np.count_nonzero(wrong))
    return power, bad


def doppler_spectrum(lines, prf_hz, centroid_hz):
    """Doppler spectrum of complex lines (lines, cells) at each cell, Hann weighted.

    Returns (power (frequencies, cells), first frequency, step, Hz): a row stands for the
    frequency next to the centroid that it can be, rising, within half a PRF of it; an echo of
    unit power and one frequency has the power 1 in its row.
    """
    try:
        from scipy.fft import fft  # single precision, lets other threads run
    except ImportError:
        from numpy.fft import fft
    count = len(lines)
    window = np.hanning(count + 2)[1:-1].astype(np.float32)[:, None]
    lines = np.nan_to_num(lines, nan=0.0, posinf=0.0, neginf=0.0) * window
    power = np.abs(fft(lines, axis=0)).astype(np.float32) ** 2
    power /= np.float32(np.sum(window, dtype=float) ** 2)
    k = np.arange(count)
    n = k + count * np.ceil(centroid_hz / prf_hz - 0.5 - k / count)
    order = np.argsort(n)
    return power[order], float(n[order[0]]) * prf_hz / count, prf_hz / count


class canvas:
    """Rows of one picture in a ring.

    values     (kept rows, kept columns): power float32, NaN where nothing has come; complex64
               lines for spectra
    rows, cols size of the picture in pixels; blocks of kr x kc of them are one value
    scroll     the picture goes on for ever, the oldest row makes way
    written    kept rows that have come so far, the ring's index counts modulo its length
    axes       of rows and columns: (label, position of pixel 0, step)
    """

    def __init__(self, rows, cols, axes, info=None, dtype=np.float32, scroll=False, kr=1, kc=1):
        self.rows, self.cols, self.kr, self.kc = rows, cols, kr, kc
        self.axes, self.info, self.scroll = axes, dict(info or {}), scroll
        self.values = np.full((math.ceil(rows / kr), math.ceil(cols / kc)), np.nan, dtype)
        self.written = 0
        self.row = 0      # next row of the picture
        self.bad = 0      # pixels of the picture that are not finite
        self.unseen = 0   # of a scrolling one: rows that were gone before they were shown
        self.seen = 0

    def put(self, values):
        """Rows already reduced over columns, at most as many as there is room for."""
        height, done = len(self.values), 0
        while done < len(values):
            at = self.row // self.kr % height
            part = values[done : done + (height - at) * self.kr - self.row % self.kr]
            kept = block_peaks(part, self.kr, 1, self.row)
            if self.row % self.kr:  # goes on with a block begun before
                kept[0] = np.fmax(kept[0], self.values[at])
            self.values[at : at + len(kept)] = kept
            self.written += len(kept) - (1 if self.row % self.kr else 0)
            self.row += len(part)
            done += len(part)
            if not self.scroll and self.row >= self.rows:
                break

    def first_row(self):
        """Row of the picture that is the oldest here."""
        return max(0, self.written - len(self.values)) if self.scroll else 0

    def mark_seen(self, written):
        """What had come when ``written`` was read is on the screen."""
        self.unseen += self._lost()
        self.seen = written

    def lost(self):
        return self.unseen + self._lost()

    def _lost(self):
        return max(0, self.written - len(self.values) - self.seen) if self.scroll else 0


def _continues(info, before, rows):
    """Do an image's rows go on where those of the one before ended, on the same grid?"""
    a, b = before.get("grid"), info.get("grid")
    if not a or not b or a["cols"] != b["cols"]:
        return False
    for key in ("row_axis", "col_axis", "row_spacing_m", "col_spacing_m"):
        if not np.allclose(a[key], b[key], rtol=1e-9, atol=1e-12):
            return False
    step = a["row_spacing_m"] * np.array(a["row_axis"])
    gap = np.array(b["origin_m"]) - np.array(a["origin_m"]) - rows * step
    return float(np.linalg.norm(gap)) < 0.01 * a["row_spacing_m"]


class display_buffer:
    """Rows in, the newest picture to look at in ``canvas`` (None before the first row).

    cols    vector length
    value   what the rows hold: complex, magnitude, power or db; a tag overrides it
    view    image: pictures of sar_image tags, each over the one before, or joined to a strip
            where they go on; range_time: the last ``lines`` lines; doppler, range_doppler: the
            same lines, complex, for a spectrum over them
    lines   rows kept of a picture that goes on for ever
    """

    def __init__(self, cols, value="complex", view="image", lines=1024):
        self.cols, self.value, self.view, self.lines = cols, value, view, lines
        self.canvas = None
        self.rows_done = 0
        self.images = 0        # begun
        self.images_done = 0   # complete
        self.images_seen = 0   # the newest that was on the screen
        self.dropped_images = 0
        self._image_value = value
        self._length = 0       # rows of the image that is coming

    def dropped(self):
        """(images, lines) that were never on the screen, though they came; of strips the rows."""
        c = self.canvas
        return self.dropped_images, c.lost() if c is not None else 0

    def take(self, items, tags=()):
        """Rows (n, cols) and their tags, as (row, key, value) with rows counted from the first
        item. Raises ValueError for a tag that contradicts the input."""
        at = 0
        for row, key, value in sorted(tags, key=lambda t: t[0]):
            self._rows(items[at:row])
            at = row
            if key == "sar_image" and self.view == "image":
                self._begin_image(value)
            elif key == "sar_frame" and self.view != "image":
                self._begin_frame(value)
        self._rows(items[at:])
        self.rows_done += len(items)

    # ---- pictures that end ----

    def _begin_image(self, tag):
        info = image_of_tag(tag, self.cols, "image_display", self.value, self.images)
        before, old = self.canvas, self.canvas.info if self.canvas is not None else {}
        rows, joined = info["rows"], False
        self._image_value = info["value"]
        if before is None or old.get("rows") is None:
            self.canvas = self._picture(info)
        elif before.rows == rows and not before.scroll and info["grid"] == old["grid"]:
            # over the image before, row by row, which stays until they come
            height = len(before.values)
            before.written = math.ceil(before.written / height) * height
            before.row, before.bad, before.info = 0, 0, info
        elif _continues(info, old, self._length) and before.row - self._row0 == self._length:
            self.canvas, joined = self._strip(before, info), True
        else:
            self.canvas = self._picture(info)
        if self.images and self.images_seen < self.images and not joined:
            self.dropped_images += 1
        self._length, self._row0 = rows, self.canvas.row
        self.images += 1

    _row0 = 0  # row of the canvas at which the image that is coming began

    def _picture(self, info):
        rows = info["rows"]
        kr, kc = block_sizes(rows, self.cols)
        axes = (grid_axes(info["grid"], info) if info["grid"] else
                (("row", 0.0, 1.0), ("column", 0.0, 1.0)))
        return canvas(rows, self.cols, axes, info, kr=kr, kc=kc)

    def _strip(self, before, info):
        if not before.scroll:
            c = canvas(max(self.lines, 2 * before.rows), self.cols, before.axes, info,
                       scroll=True, kc=self._column_blocks(max(self.lines, 2 * before.rows)))
            if before.kr == 1 and before.kc == c.kc:
                c.put(before.values)
            else:  # it was too large to be kept pixel by pixel: the strip begins here
                label, origin, step = before.axes[0]
                c.axes = ((label, origin + before.rows * step, step), before.axes[1])
            c.bad = before.bad
            return c
        before.info = info
        return before

    def _column_blocks(self, rows):
        kc = 1
        while rows * math.ceil(self.cols / kc) > LARGEST_PICTURE and kc < self.cols:
            kc *= 2
        return kc

    # ---- pictures that go on for ever ----

    def _begin_frame(self, tag):
        c = self.canvas
        prf = tag_number(tag, "prf_hz")
        step = tag_number(tag, "spacing_m")
        first = tag_number(tag, "slant_range_first_m")
        centroid = tag_numbers(tag, "doppler_centroid_hz")
        columns = (("slant range, m", first, step) if step and first is not None else
                   ("range sample", 0.0, 1.0))
        rows = ("time, s", tag_number(tag, "time_s", 0.0), 1 / prf) if prf else ("line", 0.0, 1.0)
        domain = tag_text(tag, "domain")
        if domain in ("range_doppler", "raw_doppler"):
            rows = ("row of the transform", 0.0, 1.0)
        info = {"prf_hz": prf, "doppler_centroid_hz": centroid, "domain": domain}
        if c is not None and (c.axes[1], c.axes[0][2]) == (columns, rows[2]):
            c.info = info  # the frame goes on where the one before ended
            return
        self.canvas = self._endless((rows, columns), info)

    def _endless(self, axes, info=None):
        spectrum = self.view in ("doppler", "range_doppler")
        return canvas(self.lines, self.cols, axes, info, scroll=True,
                      dtype=np.complex64 if spectrum else np.float32,
                      kc=1 if spectrum else self._column_blocks(self.lines))

    # ---- rows ----

    def _rows(self, items):
        if len(items) == 0:
            return
        if self.canvas is None:
            self.canvas = self._endless((("row" if self.view == "image" else "line", 0.0, 1.0),
                                         ("column" if self.view == "image" else "range sample",
                                          0.0, 1.0)))
        c = self.canvas
        if self.view == "image" and self.images:
            room = self._length - (c.row - self._row0)
            if len(items) > room:
                raise ValueError(
                    f"{len(items) - room} more rows arrived than the image has, and no tag "
                    "sar_image with them; expected a tag on each image's first row")
        if c.values.dtype == np.complex64:
            c.put(items)
        else:
            step = max(1, (1 << 18) // self.cols)  # rows that fit a cache
            for k in range(0, len(items), step):
                power, bad = power_of(items[k : k + step], self._image_value)
                c.bad += bad
                c.put(block_peaks(power, 1, c.kc))
        if self.view == "image" and self.images and c.row - self._row0 == self._length:
            self.images_done += 1


__all__ = ["axis_of_blocks", "block_peaks", "block_sizes", "canvas", "display_buffer",
           "doppler_spectrum", "power_of"]
