#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Canvases of flowgraphs, drawn and looked at by GRC's own code without its window.

    ./dev run python3 docs/canvas.py FLOWGRAPH.grc [PICTURE.png]

says which blocks lie on each other and which wires run backwards, and draws the canvas as large
as it is. A display is needed to measure text: Xvfb where there is none.
"""

import atexit
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def display():
    """$DISPLAY, or a virtual one while the context lasts."""
    if os.environ.get("DISPLAY"):
        yield
        return
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24",
                               "-nolisten", "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        number = os.fdopen(read).readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        os.environ["DISPLAY"] = ":" + number
        yield
    finally:
        os.environ.pop("DISPLAY", None)
        server.terminate()
        server.wait()


def grc_platform():
    """GRC's platform with its drawing, block descriptions of this source tree, no user settings."""
    os.environ["GRC_BLOCKS_PATH"] = str(SOURCE / "grc")
    settings = tempfile.TemporaryDirectory(prefix="grc-")
    atexit.register(settings.cleanup)
    os.environ["GRC_PREFS_PATH"] = settings.name + "/grc.conf"
    import gi

    gi.require_version("Gtk", "3.0")
    gi.require_version("PangoCairo", "1.0")
    from gi.repository import Gio, Gtk
    from gnuradio import gr
    from gnuradio.grc.gui.Platform import Platform
    from gnuradio.grc.gui.canvas import flowgraph

    # a canvas asks the running application for its windows: here there is one without any,
    # and nothing to attach a context menu to
    flowgraph._ContextMenu = lambda window: None
    for action in vars(flowgraph.Actions).values():
        if getattr(action, "preference_name", None) and isinstance(action.default, bool):
            action.set_active(action.default)
    application = Gtk.Application()
    Gio.Application.set_default(application)

    platform = Platform(version=gr.version(), prefs=gr.prefs(), install_prefix=gr.prefix(),
                        version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    platform.build_library()
    platform.application = application # the default application is a weak reference
    return platform


def open_canvas(platform, path):
    """A flowgraph with its blocks measured and placed; errors on the canvas are refused."""
    flowgraph = platform.make_flow_graph()
    flowgraph.grc_file_path = str(path)
    flowgraph.import_data(platform.parse_flow_graph(str(path)))
    flowgraph.update()
    errors = [str(m) for _, m in flowgraph.iter_error_messages()]
    if errors:
        raise RuntimeError(f"{path}: {errors}")
    return flowgraph


def outline(block):
    """(left, top, right, bottom) of a block on the canvas, ports and comment included."""
    a, b = block.get_extents(), block.get_extents_comment()
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def overlaps(flowgraph):
    """Pairs of names of blocks that lie on each other."""
    boxes = [(b.name, outline(b)) for b in flowgraph.blocks]
    return [(m, n) for i, (m, a) in enumerate(boxes) for n, b in boxes[:i]
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


def backwards(flowgraph):
    """Wires whose end is not to the right of their beginning: pairs of names."""
    return [(c.source_block.name, c.sink_block.name) for c in flowgraph.connections
            if outline(c.source_block)[2] > outline(c.sink_block)[0]]


def draw(flowgraph, path):
    """The canvas as a PNG."""
    from gnuradio.grc.gui.Utils import make_screenshot # not before the rest of GRC's drawing

    make_screenshot(flowgraph, str(path))


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    with display():
        flowgraph = open_canvas(grc_platform(), sys.argv[1])
        print("on each other:", overlaps(flowgraph))
        print("backwards:", backwards(flowgraph))
        print("size: {:.0f} x {:.0f}".format(*flowgraph.get_extents()[2:]))
        if len(sys.argv) > 2:
            draw(flowgraph, sys.argv[2])


if __name__ == "__main__":
    main()
