#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures in docs/images of canvases, windows and figures, a function each.

    ./dev screenshots [NAME ...]

Windows are drawn off the screen (Qt's platform "offscreen", or QT_QPA_PLATFORM as it is set),
canvases on a virtual display where there is no other. Without names all pictures are made.
"""
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(ROOT, "docs", "images")


def small(path, colours=256):
    """PNG with a palette, rare colours among it: a quarter of the bytes."""
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    picture = picture.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)


def image_display(path):
    """examples/05_display.grc after some seconds."""
    from PyQt5 import Qt

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["grcc", "-o", folder, os.path.join(ROOT, "examples", "05_display.grc")],
                       check=True, capture_output=True)
        sys.path.insert(0, folder)
        import display

    app = Qt.QApplication.instance() or Qt.QApplication(["screenshots"])
    tb = display.display(backend="cpu", speed_up=10)
    tb.resize(1120, 800)
    tb.show()
    tb.start()

    def look():
        if tb.image.buffer.images < 85:
            return
        timer.stop()
        tb.stop()
        tb.wait()
        Qt.QTimer.singleShot(500, end)

    def end():
        tb.grab().save(path)
        app.quit()

    timer = Qt.QTimer()
    timer.timeout.connect(look)
    timer.start(100)
    app.exec_()
    small(path)


def _command(*args):
    from gnuradio.sar.cli import main

    if main([*args, "--quiet"]):
        raise RuntimeError("gr_sar " + " ".join(args))


def plot_cuts(path):
    """Cuts through one target of the simulated spotlight."""
    with tempfile.TemporaryDirectory() as folder:
        scene, out = os.path.join(folder, "scene"), os.path.join(folder, "out")
        _command("simulate", scene)
        _command("focus", scene + ".sigmf-meta", "-o", out)
        _command("plot", out, "-o", path, "--what", "cuts", "--target", "1.37,-2.21")
    small(path)


def plot_doppler(path):
    """Doppler spectrum of a strip map at 4 degrees of squint."""
    with tempfile.TemporaryDirectory() as folder:
        strip = os.path.join(folder, "strip")
        _command("simulate", strip, "--mode", "stripmap", "--squint", "4")
        _command("plot", strip + ".sigmf-meta", "-o", path, "--what", "doppler")
    small(path)


def canvas(name, path):
    """The canvas of an example, in a process of its own: GRC keeps its state in modules."""
    subprocess.run([sys.executable, "-W", "ignore", os.path.join(ROOT, "docs", "canvas.py"),
                    os.path.join(ROOT, "examples", name + ".grc"), path], check=True,
                   stdout=subprocess.DEVNULL)
    small(path, 64)


def grc_point_target(path):
    """Back-projection of simulated points."""
    canvas("01_point_target", path)


def grc_range_doppler(path):
    """The range-Doppler chain, stage by stage."""
    canvas("03_range_doppler", path)


def grc_chains(path):
    """One recording, two algorithms."""
    canvas("07_chains", path)


PICTURES = {f.__name__: f for f in (grc_point_target, grc_range_doppler, grc_chains,
                                    image_display, plot_cuts, plot_doppler)}


def main():
    names = sys.argv[1:] or list(PICTURES)
    for name in names:
        if name not in PICTURES:
            sys.exit(f"make_screenshots: '{name}' is no picture; expected one of "
                     + ", ".join(PICTURES))
    for name in names:
        path = os.path.join(IMAGES, name + ".png")
        PICTURES[name](path)
        print(f"{os.path.relpath(path, ROOT)}: {os.path.getsize(path) // 1024} KiB")


if __name__ == "__main__":
    main()
