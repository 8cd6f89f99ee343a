# SPDX-License-Identifier: GPL-3.0-or-later
"""Sink that shows images, range-time lines or Doppler spectra in a window while they arrive."""

import importlib.util
import threading

import numpy as np
import pmt
from gnuradio import gr

from .display_buffer import LARGEST_STRETCH, VIEWS, display_buffer
from .python_stage import guarded, python_stage

COLOURS = ("gray", "viridis", "inferno", "magma", "cividis")


def missing_packages():
    """Of what the window needs, that which is not installed: Debian package names."""
    return [package for module, package in (("PyQt5", "python3-pyqt5"),
                                            ("pyqtgraph", "python3-pyqtgraph"))
            if importlib.util.find_spec(module) is None]


class image_display(python_stage, gr.sync_block):
    """Shows the rows of a stream as a picture that grows while they arrive.

    Input: rows, vectors of cols complex64 (or float32). In the view "image" a tag sar_image on
    the first row of an image tells size and place; in the others a tag sar_frame on a line
    tells range, PRF and Doppler centroid.

    cols              vector length of the input
    view              "image": images, each over the one before, joined to a strip where they go
                      on; "range_time": the newest lines; "range_doppler": their Doppler spectrum
                      at each range; "doppler": the mean of it over range, a curve
    dtype             "complex" or "float": type of the items
    value             what float rows hold: "magnitude", "power" or "db"; a tag overrides it
    lines             rows kept of what goes on for ever, and lines of a spectrum
    dynamic_range_db  from black to white, dB; 0: chosen from the picture
    reference_db      level of white, dB; None: chosen from the picture
    colours           gray, viridis, inferno, magma or cividis; "": gray for images, else viridis
    title             above the picture

    work() never waits for the window: it writes into one picture in memory, at most 4 million
    values; a larger image is kept as the brightest pixel of each block of pixels. Images that
    came and went between two redraws are counted, see dropped().

    Raises ValueError on a parameter, ImportError when PyQt5 or pyqtgraph is not installed.
    """

    def __init__(self, cols, view="image", dtype="complex", value="magnitude", lines=1024,
                 dynamic_range_db=0.0, reference_db=None, colours="", title=""):
        if float(cols) != int(cols) or int(cols) < 1:
            raise ValueError(f"cols is {cols}; expected a whole number, 1 or more")
        if float(lines) != int(lines) or int(lines) < 2:
            raise ValueError(f"lines is {lines}; expected a whole number, 2 or more")
        if view not in VIEWS:
            raise ValueError(f"view is '{view}'; expected one of {', '.join(VIEWS)}")
        if dtype not in ("complex", "float"):
            raise ValueError(f"dtype is '{dtype}'; expected complex or float")
        if value not in ("complex", "magnitude", "power", "db"):
            raise ValueError(f"value is '{value}'; expected magnitude, power or db")
        if view in ("doppler", "range_doppler"):
            if dtype != "complex":
                raise ValueError(f"dtype is 'float', but view {view} needs the phase of the "
                                 "lines; expected complex")
            if cols * lines > LARGEST_STRETCH:
                raise ValueError(f"lines is {lines} with cols {cols}, {cols * lines} samples for "
                                 f"a spectrum; expected at most {LARGEST_STRETCH}")
        missing = missing_packages()
        if missing:
            raise ImportError(f"image_display needs {' and '.join(missing)}, not installed here "
                              f"(Debian: apt install {' '.join(missing)})")
        self._cols = int(cols)
        self._type = np.complex64 if dtype == "complex" else np.float32
        gr.sync_block.__init__(
            self, "image_display", [self._type if self._cols == 1 else (self._type, self._cols)],
            None)
        self.init_stage("image_display")
        self.buffer = display_buffer(self._cols, "complex" if dtype == "complex" else value, view,
                                     int(lines))
        self.view = view
        self.title = str(title)
        self.running = None   # True, or False after the end
        self._widget = None
        self.set_colours(colours)
        self.set_dynamic_range_db(dynamic_range_db)
        self.set_reference_db(reference_db)

    # what the window looks at; a flowgraph may change it while it runs

    def set_dynamic_range_db(self, dynamic_range_db):
        """From black to white, dB; 0: chosen from the picture."""
        if not 0 <= float(dynamic_range_db) < 1000:
            raise ValueError(f"dynamic_range_db is {dynamic_range_db}; expected 0 (chosen from "
                             "the picture) to 1000 dB")
        self.dynamic_range_db = float(dynamic_range_db)

    def set_reference_db(self, reference_db):
        """Level of white, dB; None: chosen from the picture."""
        if reference_db is not None and not np.isfinite(reference_db):
            raise ValueError(f"reference_db is {reference_db}; expected a level in dB, or None "
                             "(chosen from the picture)")
        self.reference_db = None if reference_db is None else float(reference_db)

    def set_colours(self, colours):
        """One of COLOURS, or "" for that of the view."""
        if colours and colours not in COLOURS:
            raise ValueError(f"colours is '{colours}'; expected one of {', '.join(COLOURS)}")
        self.colours = colours or ("gray" if self.view == "image" else "viridis")

    def qwidget(self):
        """The window's content, made at the first call, in the thread of the GUI."""
        if self._widget is None:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("qwidget() was called outside the main thread; expected the "
                                   "thread that runs the Qt application")
            from .display_widget import display_widget

            self._widget = display_widget(self)
        return self._widget

    def dropped(self):
        """(images, lines) that came and went without having been on the screen."""
        return self.buffer.dropped()

    def start(self):
        self.running = True
        return True

    def stop(self):
        self.running = False
        return True

    @guarded
    def work(self, input_items, output_items):
        items = input_items[0].reshape(-1, self._cols)
        begin = self.nitems_read(0)
        tags = [(t.offset - begin, pmt.symbol_to_string(t.key), t.value)
                for t in self.get_tags_in_window(0, 0, len(items))]
        self.buffer.take(items, tags)
        return len(items)
