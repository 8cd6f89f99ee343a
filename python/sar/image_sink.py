# SPDX-License-Identifier: GPL-3.0-or-later
"""Sink that writes images: NPY with the numbers, PNG to look at, JSON to know what it is."""

import importlib.util
import json
import os
import time

import numpy as np
import pmt
from gnuradio import gr

from .python_stage import guarded, python_stage


KEPT = 1000  # sidecars of the newest images: a radar that runs for days fills no memory


def to_db(pixels, value="complex"):
    """Pixels in dB (20 log10 of the magnitude); -inf where they are zero or not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if value == "db":
            db = np.asarray(pixels, np.float32)
        elif value == "power":
            db = 10 * np.log10(np.abs(pixels))
        else:
            db = 20 * np.log10(np.abs(pixels))
    return np.where(np.isfinite(db), db, -np.inf)


def display_range(db, saturated=0.02):
    """(black, white) in dB for a picture.

    White is where ``saturated`` of the pixels (2 %) are brighter, so that clutter is seen
    beside strong reflectors; but at most 35 dB below the maximum, so that the side lobes of a
    few points in an empty scene do not become the picture. Black lies 25 to 40 dB below white,
    so that the median is dark grey (a third of the way up).
    """
    finite = db[np.isfinite(db)]
    if finite.size == 0:
        return -1.0, 0.0
    peak = float(finite.max())
    white = max(float(np.quantile(finite, 1 - saturated)), peak - 35.0)
    median = float(np.median(finite))
    black = white - np.clip((white - median) * 1.5, 25.0, 40.0)
    return float(black), float(white)


def to_picture(pixels, value="complex"):
    """8-bit grey picture, pixel (0, 0) of the image at the top left; and its dB range."""
    db = to_db(pixels, value)
    black, white = display_range(db)
    grey = np.clip((db - black) / (white - black), 0, 1)
    return (255 * np.nan_to_num(grey, neginf=0.0) + 0.5).astype(np.uint8), black, white


def can_annotate():
    """Is matplotlib there, which only figures with axes need?"""
    return importlib.util.find_spec("matplotlib") is not None


def grid_axes(grid, info=None):
    """Axes of an image's rows and of its columns: (label, position of pixel 0, step), m.

    An axis along x, y or z has that coordinate, which falls where the axis points back; an
    oblique one the length along it. In the slant plane (``info["plane"]``) x and y have names.
    """
    origin = np.array(grid["origin_m"])
    names = {"x": "x, m", "y": "y, m", "z": "z, m"}
    if (info or {}).get("plane") == "slant":
        seen = info.get("geometry", "zero_doppler") == "zero_doppler"
        names.update(x="along track, m", y="closest range, m" if seen else "slant range, m")

    def axis(v, step):
        v = np.array(v)
        for unit, letter in zip(np.eye(3), "xyz"):
            if abs(abs(v @ unit) - 1) < 1e-9:
                return names[letter], float(origin @ unit), step * (1 if v @ unit > 0 else -1)
        return "along (" + ", ".join(f"{u:.3f}" for u in v) + "), m", float(origin @ v), step

    return (axis(grid["row_axis"], grid["row_spacing_m"]),
            axis(grid["col_axis"], grid["col_spacing_m"]))


def upright(values, row_axis, col_axis):
    """The picture as it is drawn: (values, vertical axis, horizontal axis).

    Coordinates grow to the right and upwards; where rows run along x (or along the track) and
    columns do not, x lies horizontally. Row 0 of the result is the lowest.
    """
    if row_axis[0] in ("x, m", "along track, m"):
        values, row_axis, col_axis = values.T, col_axis, row_axis

    def rising(axis, count):
        label, first, step = axis
        return (label, first + (count - 1) * step, -step) if step < 0 else axis

    turned = values[:: -1 if row_axis[2] < 0 else 1, :: -1 if col_axis[2] < 0 else 1]
    return turned, rising(row_axis, values.shape[0]), rising(col_axis, values.shape[1])


def write_annotated(path, pixels, value, info, title=""):
    """A figure with axes in metres and a colour bar in dB."""
    from .plot import image_figure, save

    save(image_figure(pixels, value, info, title=title), path)


def _value(dict_, key, convert, default=None):
    v = pmt.dict_ref(dict_, pmt.intern(key), pmt.PMT_NIL)
    return default if pmt.is_null(v) else convert(v)


def _whole(v):
    # C++ blocks may send any kind of PMT integer
    return int(pmt.to_uint64(v) if pmt.is_uint64(v) else pmt.to_long(v))


def _vector(v):
    return [float(x) for x in pmt.f64vector_elements(v)]


def _real(v):
    return float(pmt.to_uint64(v)) if pmt.is_uint64(v) else pmt.to_double(v)


def _numbers(v):
    return _vector(v) if pmt.is_f64vector(v) else _real(v)


def _text(v):
    return pmt.symbol_to_string(v)


def tag_number(tag, key, default=None):
    """A number of a dictionary, None when it is not there."""
    return _value(tag, key, _real, default)


def tag_numbers(tag, key):
    """A number or a list of them, None when it is not there."""
    return _value(tag, key, _numbers)


def tag_text(tag, key, default=""):
    return _value(tag, key, _text, default)


def image_of_tag(tag, cols, block, value, number):
    """What a tag sar_image says, as a dict; value and number where it does not.

    Raises ValueError when it contradicts rows of ``cols`` pixels.
    """
    rows, tag_cols = _value(tag, "rows", _whole, 0), _value(tag, "cols", _whole, 0)
    if tag_cols != cols or rows < 1:
        raise ValueError(f"an image of {rows} x {tag_cols} pixels arrived at {block}; expected "
                         f"rows of {cols}")
    info = {"image": _value(tag, "image", _whole, number),
            "pulses": _value(tag, "pulses", _whole),
            "first_pulse": _value(tag, "first_pulse", _whole),
            "value": _value(tag, "value", _text, value)}
    # what range-Doppler says of its images
    for key, convert in (("plane", _text), ("geometry", _text), ("looks", _whole),
                         ("doppler_centroid_hz", _numbers), ("complete", pmt.to_bool)):
        if pmt.dict_has_key(tag, pmt.intern(key)):
            info[key] = _value(tag, key, convert)
    grid = {k: _value(tag, k, _vector) for k in ("origin_m", "row_axis", "col_axis")}
    grid.update({k: _value(tag, k, pmt.to_double)
                 for k in ("row_spacing_m", "col_spacing_m")})
    grid.update(rows=rows, cols=cols)
    info["grid"] = grid if all(v is not None for v in grid.values()) else None
    return dict(info, rows=rows, cols=cols)


class image_sink(python_stage, gr.sync_block):
    """Writes the images of a stream of rows.

    Input: rows, vectors of cols complex64 (or float32). A tag sar_image on the first row of
    an image tells its size and place; without one all rows of the run are one image.

    Files in folder: image.npy, image.png and image.json; further images of the run are
    image_0001 and so on. PNG pixel (row i from the top, column j from the left) is
    element [i, j] of the NPY; the brightness is in dB, range in the JSON. Rows that did not
    come before the end of the run are zeros, counted in the JSON. Of a radio's images the log
    says, once a second at most, how long after its last pulse one was there, and the JSON has
    it as latency_s.

    cols       vector length of the input
    folder     folder for the files, made if needed; "" writes nothing (see last_image())
    name       base name of the files
    dtype      "complex" or "float": type of the items
    value      what float rows hold: "magnitude", "power" or "db"; a tag overrides it
    annotate   also write <name>_axes.png, a figure with axes and colour bar

    Raises ValueError on a parameter, OSError when the folder cannot be written.
    """

    def __init__(self, cols, folder="", name="image", dtype="complex", value="magnitude",
                 annotate=False):
        if float(cols) != int(cols) or int(cols) < 1:
            raise ValueError(f"cols is {cols}; expected a whole number, 1 or more")
        if dtype not in ("complex", "float"):
            raise ValueError(f"dtype is '{dtype}'; expected complex or float")
        if value not in ("complex", "magnitude", "power", "db"):
            raise ValueError(f"value is '{value}'; expected magnitude, power or db")
        if not name or os.path.basename(name) != name:
            raise ValueError(f"name is '{name}'; expected a file name without folder and suffix")
        self._cols = int(cols)
        self._folder = str(folder)
        self._name = name
        self._type = np.complex64 if dtype == "complex" else np.float32
        self._value = "complex" if dtype == "complex" else value
        self._annotate = bool(annotate)
        if self._annotate and not can_annotate():
            raise ValueError("annotate is set, but matplotlib is not installed; expected "
                             "python3-matplotlib, or leave annotate off")
        if self._folder:
            os.makedirs(self._folder, exist_ok=True)
            if not os.access(self._folder, os.W_OK):
                raise PermissionError(f"folder {self._folder} cannot be written to")
        gr.sync_block.__init__(
            self, "image_sink", [self._type if self._cols == 1 else (self._type, self._cols)],
            None)
        self.init_stage("image_sink")
        self._rows = None     # rows of the image being collected
        self._filled = 0
        self._info = None
        self._loose = []      # rows without a tag
        self._last = None
        self._left_s = None   # when the last pulse of the image left
        self._late = []       # latencies that the log does not have yet
        self._told_s = None   # when it had the newest
        self.images = []      # sidecars of the newest KEPT images
        self._done = 0        # images so far
        self.rows_done = 0

    def last_image(self):
        """The newest image, complete or not: array (rows, cols), or None."""
        if self._rows is not None and self._filled:
            return self._rows.copy()
        return self._last

    @guarded
    def work(self, input_items, output_items):
        items = input_items[0].reshape(-1, self._cols)
        begin = self.nitems_read(0)
        tags = sorted(self.get_tags_in_window(0, 0, len(items), pmt.intern("sar_image")),
                      key=lambda t: t.offset)
        at = 0
        for tag in tags:
            self._take(items[at : tag.offset - begin])
            at = tag.offset - begin
            self._finish()
            self._begin(tag.value)
        self._take(items[at:])
        self.rows_done += len(items)
        return len(items)

    @guarded
    def stop(self):
        self._finish()
        return True

    def _begin(self, tag):
        info = image_of_tag(tag, self._cols, "image_sink", self._value, self._done)
        rows, cols = info["rows"], info["cols"]
        self._info = info
        self._left_s = tag_number(tag, "last_pulse_host_s")
        self._rows = np.zeros((rows, cols), self._type)
        self._filled = 0

    def _take(self, rows):
        if len(rows) == 0:
            return
        if self._rows is None and not self._done:
            self._loose.append(np.array(rows))
            return
        room = 0 if self._rows is None else len(self._rows) - self._filled
        if len(rows) > room:
            raise ValueError(f"{len(rows) - room} more rows arrived than the image has, and no tag "
                             "sar_image with them; expected a tag on each image's first row")
        self._rows[self._filled : self._filled + len(rows)] = rows
        self._filled += len(rows)
        if self._filled == len(self._rows):
            self._tell_latency()
            self._finish()

    def _tell_latency(self):
        """An image is complete: how long ago its last pulse left, where the tag says when."""
        if self._left_s is None:
            return
        now = time.monotonic()
        self._info["latency_s"] = now - self._left_s
        self._late.append(1e3 * (now - self._left_s))
        if self._told_s is not None and now - self._told_s < 1:
            return
        text = f"image {self._info['image']}: {self._late[-1]:.1f} ms after its last pulse"
        if len(self._late) > 1:
            text += (f"; {min(self._late):.1f} to {max(self._late):.1f} ms in the last "
                     f"{len(self._late)} images")
        self.logger.info(f"image_sink: {text}")
        self._late, self._told_s = [], now

    def _finish(self):
        """Write what was collected."""
        if self._loose:
            rows = np.concatenate(self._loose)
            self._loose = []
            self._info = {"image": self._done, "pulses": None, "first_pulse": None,
                          "value": self._value, "grid": None}
            self._filled = len(rows)
            self._rows = rows
        if self._rows is None:
            return
        image, self._rows = self._rows, None
        info = dict(self._info, rows=len(image), cols=self._cols,
                    missing_rows=len(image) - self._filled,
                    non_finite_pixels=int(np.count_nonzero(~np.isfinite(image))))
        if info["missing_rows"]:
            info["note"] = (f"the run ended after {self._filled} of {len(image)} rows; the rest "
                            "are zeros")
            self.logger.warn(f"image_sink: {info['note']}")
        picture, black, white = to_picture(image, info["value"])
        info.update(png_black_db=black, png_white_db=white, files={})
        self._last = image
        if self._folder:
            number = self._done
            base = os.path.join(self._folder,
                                self._name if number == 0 else f"{self._name}_{number:04d}")
            from PIL import Image

            np.save(base + ".npy", image)
            Image.fromarray(picture, "L").save(base + ".png")
            info["files"] = {"npy": base + ".npy", "png": base + ".png"}
            if self._annotate:
                write_annotated(base + "_axes.png", image, info["value"], info)
                info["files"]["figure"] = base + "_axes.png"
            with open(base + ".json", "w", encoding="utf-8") as f:
                json.dump(info, f, indent=1, allow_nan=False)
                f.write("\n")
        self.images.append(info)
        del self.images[:-KEPT]
        self._done += 1
