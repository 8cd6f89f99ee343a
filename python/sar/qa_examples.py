# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example flowgraph, compiled by grcc and run without a window; its image judged."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))

pytestmark = pytest.mark.skipif(not shutil.which("grcc"), reason="grcc is not here")


def compile_and_run(name, tmp_path, *args):
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"))
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(SOURCE / "examples" / name)], env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    program = next(tmp_path.glob("*.py"))
    done = subprocess.run([sys.executable, str(program), "-o", str(tmp_path / "out"), *args],
                          env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "out"


@pytest.mark.parametrize("name", sorted(p.name for p in (SOURCE / "examples").glob("*.grc")))
def test_backend_reaches_every_block(tmp_path, name):
    """-b is not swallowed: GRC takes the default of an enum for a value it does not know."""
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(SOURCE / "examples" / name)],
                          env=dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc")),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join(next(tmp_path.glob("*.py")).read_text().split())
    calls = [c.split("self.connect")[0] for c in text.split("= sar.")[1:]]
    takers = [c for c in calls if c.split("(")[0] in (
        "pulse_compression", "bp_accumulator", "azimuth_fft", "rcmc", "azimuth_filter", "detect",
        "range_doppler_imager", "doppler_centroid")]
    assert len(takers) >= 2
    for c in takers:
        assert re.search(r"(, |=)backend,", c), c


def place_of_peak(image, spacing_m, row, col, radius_m):
    """Rows and columns from the middle in metres; peak within a radius of a place."""
    i = int(image.shape[0] // 2 + row / spacing_m)
    j = int(image.shape[1] // 2 + col / spacing_m)
    n = int(radius_m / spacing_m)
    part = np.abs(image[i - n:i + n + 1, j - n:j + n + 1])
    a, b = np.unravel_index(np.argmax(part), part.shape)
    return ((i - n + a - image.shape[0] // 2) * spacing_m,
            (j - n + b - image.shape[1] // 2) * spacing_m, part.max())


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_point_target(tmp_path, backend):
    out = compile_and_run("01_point_target.grc", tmp_path, "-b", backend)
    image = np.load(out / "point_target.npy")
    assert image.shape == (320, 320) and (out / "point_target.png").stat().st_size > 1000
    for x, y in ((0, 0), (20, 15), (-20, 18), (12, -22)):
        # rows run along -y, columns along x
        row, col, peak = place_of_peak(image, 0.2, -y, x, 3)
        assert abs(row + y) <= 0.2 and abs(col - x) <= 0.2
        assert peak == pytest.approx(1, abs=0.1)


def test_spotlight_gotcha(tmp_path, gotcha):
    out = compile_and_run("02_spotlight_gotcha.grc", tmp_path, "-b", "cpu", "-d",
                          os.path.dirname(gotcha[0]))
    image = np.load(out / "gotcha.npy")
    assert image.shape == (500, 500)
    # rows run along x, columns along y
    i, j = np.unravel_index(np.argmax(np.abs(image)), image.shape)
    assert abs((i - 250) * 0.2 + 15.60) <= 0.2 and abs((j - 250) * 0.2 - 21.55) <= 0.2


def grid_of(out, name):
    """The image with its sidecar's grid: a function from (x, range) to (row, column)."""
    image = np.load(out / f"{name}.npy")
    with open(out / f"{name}.json", encoding="utf-8") as f:
        info = json.load(f)
    g = info["grid"]
    assert info["plane"] == "slant" and info["geometry"] == "zero_doppler"
    return image, lambda x, r: ((x - g["origin_m"][0]) / g["row_spacing_m"],
                                (r - g["origin_m"][1]) / g["col_spacing_m"])


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_range_doppler(tmp_path, backend):
    out = compile_and_run("03_range_doppler.grc", tmp_path, "-b", backend)
    image, at = grid_of(out, "range_doppler")
    assert image.shape == (1080, 648) and (out / "range_doppler.png").stat().st_size > 1000
    for x, r in ((1214, 12000), (1124, 11870), (1154, 12120), (1294, 11900), (1314, 12140)):
        i, j = at(x, r)
        part = image[round(i) - 4 : round(i) + 5, round(j) - 4 : round(j) + 5]
        a, b = np.unravel_index(np.argmax(part), part.shape)
        assert abs(round(i) - 4 + a - i) <= 1 and abs(round(j) - 4 + b - j) <= 1
        assert part.max() == pytest.approx(1, abs=0.15)
    assert image.max() / np.median(image) > 300


@pytest.mark.parametrize("scene,contrast", [("english_bay_ships", 1.50), ("coal_ferry", 1.80)])
def test_radarsat(tmp_path, radarsat, scene, contrast):
    out = compile_and_run("04_radarsat.grc", tmp_path, "-b", "cpu", "-d", radarsat, "-n", scene)
    image, at = grid_of(out, "radarsat")
    assert image.shape == (2500, 2048)
    # rows that were seen at all, cells that whole pulses belong to
    part = image[232:-232, 87:682]
    assert part.std() / part.mean() > 0.95 * contrast
    assert part.max() / np.median(part) > 200


def test_delay_calibration(tmp_path):
    out = compile_and_run("08_delay_calibration.grc", tmp_path, "-b", "cpu")
    c = json.loads((out / "delay.json").read_text())
    assert c["delay_s"] * 2e6 == pytest.approx(1234.5, abs=0.02) and c["pulses"] == 32
    lines = np.load(out / "range.npy")
    # leakage and target, 3000 m apart, both late
    first = lines[0, :1300].argmax()
    second = 1260 + lines[0, 1260:1300].argmax()
    assert abs(first - 1234.5) <= 1 and abs(second - 1234.5 - 3000 * 4e6 / 299792458) <= 1
