# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example flowgraph, compiled by grcc and run without a window; its image judged."""
import os
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
