#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures in docs/images of canvases, a function each.

    ./dev screenshots [NAME ...]

Canvases are drawn on a virtual display where there is no other. Without names all pictures are
made.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(ROOT, "docs", "images")


def small(path):
    """PNG with a palette of 64 colours: a canvas has few."""
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def canvas(name, path):
    """The canvas of an example, in a process of its own: GRC keeps its state in modules."""
    subprocess.run([sys.executable, "-W", "ignore", os.path.join(ROOT, "docs", "canvas.py"),
                    os.path.join(ROOT, "examples", name + ".grc"), path], check=True,
                   stdout=subprocess.DEVNULL)
    small(path)


def grc_point_target(path):
    """Back-projection of simulated points."""
    canvas("01_point_target", path)


def grc_range_doppler(path):
    """The range-Doppler chain, stage by stage."""
    canvas("03_range_doppler", path)


def grc_chains(path):
    """One recording, two algorithms."""
    canvas("07_chains", path)


PICTURES = {f.__name__: f for f in (grc_point_target, grc_range_doppler, grc_chains)}


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
