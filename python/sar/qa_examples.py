# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example flowgraph, compiled by grcc and run without a window; its image judged."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))

yaml = pytest.importorskip("yaml")
EXAMPLES = sorted((SOURCE / "examples").glob("*.grc"))

pytestmark = pytest.mark.skipif(not shutil.which("grcc"), reason="grcc is not here")


def compile_and_run(name, tmp_path, *args, changes=()):
    """Folder of the images of an example; changes: (block, parameter, value) to make first."""
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"))
    path = SOURCE / "examples" / name
    if changes:
        d = read(path)
        for block, parameter, value in changes:
            (b,) = [b for b in d["blocks"] if b["name"] == block]
            assert parameter in b["parameters"]
            b["parameters"][parameter] = value
        path = tmp_path / name
        path.write_text(yaml.safe_dump(d))
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(path)], env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    program = next(tmp_path.glob("*.py"))
    done = subprocess.run([sys.executable, str(program), "-o", str(tmp_path / "out"), *args],
                          env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search(r":error:|Traceback", done.stdout + done.stderr), done.stdout
    (tmp_path / "printed.txt").write_text(done.stdout)
    return tmp_path / "out"


def read(path):
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_teaches(path):
    """A title, an author, a description; a note that says what to see and what to try; blocks
    that have documentation; a line in the list of examples."""
    d = read(path)
    options = d["options"]["parameters"]
    assert options["title"] and options["author"] and len(options["description"]) > 20
    assert options["id"] == path.stem.split("_", 1)[1]
    assert options["run_options"] in ("run", "prompt")
    (note,) = [b for b in d["blocks"] if b["id"] == "note"]
    text = note["parameters"]["comment"]
    assert len(text) > 100 and "Try:" in text
    assert max(map(len, text.splitlines())) < 100, "longer lines run into the blocks beside"
    for b in d["blocks"]:
        if b["id"].startswith("sar_"):
            description = read(SOURCE / "grc" / f"{b['id']}.block.yml")
            assert description["documentation"]
            # names that a later version of the block does not have would be lost in silence
            assert set(b["parameters"]) <= {p["id"] for p in description["parameters"]} | {
                "alias", "affinity", "minoutbuf", "maxoutbuf", "comment"}
    assert f"`{path.name}`" in (SOURCE / "examples" / "README.md").read_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_canvas(path, tmp_path):
    """Nothing lies on anything else, wires run from left to right."""
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb is not here (Debian: xvfb): canvases are drawn on a display")
    picture = tmp_path / "canvas.png"
    done = subprocess.run([sys.executable, "-W", "ignore", str(SOURCE / "docs" / "canvas.py"),
                           str(path), str(picture)],
                          env=dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc")),
                          capture_output=True, text=True, timeout=120)
    if "No module named 'gi'" in done.stderr or "Namespace Gtk not available" in done.stderr:
        pytest.skip("GTK's Python bindings are not here (Debian: python3-gi gir1.2-gtk-3.0)")
    assert done.returncode == 0, done.stderr
    assert "on each other: []\nbackwards: []\n" in done.stdout, done.stdout
    width, height = map(int, re.search(r"size: (\d+) x (\d+)", done.stdout).groups())
    assert width <= 1900 and height <= 1000
    assert picture.stat().st_size > 10000


@pytest.mark.parametrize("name", [p.name for p in EXAMPLES])
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
        "range_doppler_imager", "polar_format_imager", "range_doppler_chain",
        "back_projection_chain", "to_device", "doppler_centroid", "stolt", "chirp_scaling")]
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


# What a wavenumber former of transforms over the plane makes of the block's mean magnitude, with and
# without the radar's own phase taken off. A mean over the aperture, which back-projection makes, is
# less by N k0 dx dy / (2 pi z): the phase at a depth z is stationary over an area of that inverse.
@pytest.mark.parametrize("depth_m,calibrated,measured", [
    (0.09, 30.4e3, 17.0e3), (0.10, 38.3e3, 16.2e3), (0.12, 32.1e3, 7.9e3)])
def test_kband_planar_scan(tmp_path, planar_scan, depth_m, calibrated, measured):
    """The block at three depths: as bright as it should be, by half without the radar's own phase,
    and with its outline."""
    means = []
    for reading in (None, "{}"):
        folder = tmp_path / str(len(means))
        folder.mkdir()
        # the part of the scene with the block, which lies in rows 57 to 85, columns 60 to 88
        changes = [("depth_m", "value", str(depth_m)), ("grid", "rows", "70"), ("grid", "cols", "68"),
                   ("grid", "point_m", "[0.105 + 0.105, 0.222, depth_m]")]
        if reading:
            changes.append(("reading", "value", reading))
        out = compile_and_run("12_kband_planar_scan.grc", folder, "-b", "cpu", "-d", planar_scan,
                              changes=changes)
        image = np.abs(np.load(out / "planar_scan.npy"))
        assert image.shape == (70, 68)
        # rows 35 to 104, columns 40 to 107 of the positions: the block's rows 45 to 94, columns 50 to 97
        block = image[10:60, 10:58].mean()
        k0 = 4 * np.pi * 24.2e9 / 299792458
        means.append(block * 187 * 144 * 11 * k0 * 0.003**2 / (2 * np.pi * depth_m))
        # the profile: the scene at 106 mm, and 330 mm behind it modulo 375 mm
        profile = np.load(out / "depth.npy").mean(axis=0)
        assert 2 * profile.argmax() == pytest.approx(61 if reading else 106, abs=8)
        if reading:
            break
        # edges: the change across them stands out of the change along lines beside them
        steps = [np.abs(np.diff(image, axis=a)).mean(axis=1 - a) for a in (0, 1)]
        for step, first, edges in ((steps[0], 35, (170, 255)), (steps[1], 40, (180, 265))):
            x_mm = 3 * (first + 0.5 + np.arange(len(step)))
            for edge in edges:
                near = step[np.abs(x_mm - edge) <= 9].max()
                outside = step[(x_mm < edges[0] - 15) | (x_mm > edges[1] + 15)]
                assert near > 2.5 * np.median(outside), (edge, near, np.median(outside))
    assert means[0] == pytest.approx(calibrated, rel=0.06)
    # what is out of phase is not quite the same sum over another aperture
    assert means[1] == pytest.approx(measured, rel=0.18)


def test_p440_rail(tmp_path, rail):
    """Reflectors where they are; without the bias as sharp and elsewhere; with a wrong clock smeared."""
    truth = ((2.204, -3.874), (2.329, 1.038))
    found = {}
    for name, changes in (("as it is", []), ("bias", [("bias_m", "value", "0")]),
                          ("clock", [("clock_offset_s", "value", "9.08")])):
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        out = compile_and_run("13_p440_rail.grc", folder, "-b", "cpu", "-d", rail, changes=changes)
        image = np.load(out / "p440_rail.npy")
        assert image.shape == (476, 250)
        found[name] = [place_of_peak(image, 0.02, -(y + 1.25), x - 2.5, 0.8) for x, y in truth]
    for (row, col, _), (x, y), seen in zip(found["as it is"], truth, ((2.18, -3.96), (2.20, 1.14))):
        assert np.hypot(col + 2.5 - seen[0], -row - 1.25 - seen[1]) < 0.05
        assert np.hypot(col + 2.5 - x, -row - 1.25 - y) < 0.2
    for (row, col, peak), seen, (_, _, sharp) in zip(found["bias"], ((2.62, -4.12), (2.66, 1.26)),
                                                     found["as it is"]):
        assert np.hypot(col + 2.5 - seen[0], -row - 1.25 - seen[1]) < 0.05
        assert abs(20 * np.log10(peak / sharp)) < 1.5
    for (_, _, peak), (_, _, sharp) in zip(found["clock"], found["as it is"]):
        assert peak < 0.5 * sharp


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_display(tmp_path, backend):
    """The flowgraph with a window, drawn off the screen, until it is told to end."""
    pytest.importorskip("PyQt5")
    pytest.importorskip("pyqtgraph")
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"), QT_QPA_PLATFORM="offscreen")
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(SOURCE / "examples/05_display.grc")],
                          env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "said.txt"
    with open(path, "w", encoding="utf-8") as said:
        running = subprocess.Popen([sys.executable, "-u", str(tmp_path / "display.py"), "-b", backend,
                                    "-s", "200"], env=env, stdout=said, stderr=said)
        try:
            # 8000 pulses at 200 times the PRF last a quarter of a second
            end = time.monotonic() + 90
            while time.monotonic() < end and running.poll() is None:
                if re.search(r"range_doppler_imager :info: \d+ images", path.read_text()):
                    break
                time.sleep(0.2)
        finally:
            running.terminate()
            running.wait(30)
    text = path.read_text()
    (images,) = re.findall(r"range_doppler_imager :info: (\d+) images", text)
    assert int(images) > 200 and "Error" not in text, text


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_estimated_centroid(tmp_path, backend):
    out = compile_and_run("06_estimated_centroid.grc", tmp_path, "-b", backend)
    image, at = grid_of(out, "estimated_centroid")
    for x, r in ((1214, 12000), (1124, 11870), (1154, 12120), (1294, 11900), (1314, 12140)):
        i, j = (round(v) for v in at(x, r))
        assert image[i - 3:i + 4, j - 3:j + 4].max() == pytest.approx(1, abs=0.15)
    said = (tmp_path / "printed.txt").read_text()
    (centroid,) = re.findall(r"\(doppler_centroid_hz \. ([-0-9.e+]+)\)", said)
    (error,) = re.findall(r"\(standard_error_hz \. ([-0-9.e+]+)\)", said)
    # 2 V sin(4 degrees) / wavelength
    assert abs(float(centroid) - 369.97) < 3 * float(error) < 80
    assert "(ambiguity . 2)" in said


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_chains(tmp_path, backend):
    out = compile_and_run("07_chains.grc", tmp_path, "-b", backend)
    strip, at = grid_of(out, "range_doppler")
    points = ((750, 12000), (700, 11900), (810, 12080))
    strip = np.abs(strip)
    patch = np.abs(np.load(out / "back_projection.npy"))
    assert patch.shape == (250, 240)
    for x, r in points:
        for image, (i, j) in ((strip, at(x, r)),
                              (patch, ((x - 750) / 0.8 + 125, (r - 12000) / 1.0 + 120))):
            i, j = round(i), round(j)
            part = image[i - 6:i + 7, j - 6:j + 7]
            a, b = np.unravel_index(np.argmax(part), part.shape)
            assert abs(a - 6) <= 1 and abs(b - 6) <= 1
            assert part.max() > 0.7 * image.max()
    said = (tmp_path / "printed.txt").read_text()
    assert "(pass . #t) (image . 0)" in said, said


def width_3db(image, axis):
    """Pixels above half of the peak's power, in the row or column of the brightest."""
    i, j = np.unravel_index(np.argmax(image), image.shape)
    line = image[:, j] if axis == 0 else image[i]
    middle = (i, j)[axis]
    first = last = middle
    while line[first - 1] > image[i, j] / 2**0.5:
        first -= 1
    while line[last + 1] > image[i, j] / 2**0.5:
        last += 1
    return last - first + 1


def all_sharp(image):
    """Are there five peaks of nearly 1, nothing else near them counted?"""
    image, peaks = image.copy(), []
    for _ in range(5):
        i, j = np.unravel_index(np.argmax(image), image.shape)
        peaks.append(image[i, j])
        image[max(0, i - 40):i + 41, max(0, j - 40):j + 41] = 0
    return min(peaks) > 0.85


def beside_in_range(image):
    """Level of the side lobes in range of the brightest point, 6 to 12 cells away, to its own."""
    i, j = np.unravel_index(np.argmax(image), image.shape)
    return max(image[i, j + 6:j + 13].max(), image[i, j - 12:j - 5].max()) / image[i, j]


@pytest.mark.parametrize("name,change,says", [
    ("01_point_target", ("pulses", "value", "96"),
     lambda before, after: 2.5 <= width_3db(after, 1) / width_3db(before, 1) <= 5),
    ("01_point_target", ("compress", "window", "hann"),
     lambda before, after: width_3db(after, 0) > width_3db(before, 0)),
    ("03_range_doppler", ("squint", "value", "math.radians(4.5)"),
     lambda before, after: after.max() > 0.95 and width_3db(after, 0) <= 2),
    ("03_range_doppler", ("acq", "doppler_centroid_hz", "0"),
     lambda before, after: abs(20 * np.log10(after.max() / before.max()) + 16) < 1),
    ("06_estimated_centroid", ("centroid", "given", "[0]"),
     lambda before, after: abs(20 * np.log10(after.max() / before.max()) + 16) < 1),
    ("07_chains", ("by_stages", "azimuth_window", "hamming"),
     lambda before, after: width_3db(after, 0) > width_3db(before, 0)),
    ("14_omega_k", ("squint", "value", "math.radians(5)"), lambda before, after: all_sharp(after)
     and not all_sharp(before)),
    ("14_omega_k", ("acq", "chirp_rate_hz_per_s", "100e6 / 0.5e-6"),
     lambda before, after: all_sharp(after)),
    ("15_chirp_scaling", ("acq", "chirp_rate_hz_per_s", "-100e6 / 2e-6"),
     lambda before, after: np.sum((after - before) ** 2) < 0.05 * np.sum(before**2)),
    ("15_chirp_scaling", ("scale", "range_window", "hamming"),
     lambda before, after: beside_in_range(after) < 0.5 * beside_in_range(before)),
], ids=lambda v: v if isinstance(v, str) else v[0] if isinstance(v, tuple) else "")
def test_what_the_note_says_to_try(tmp_path, name, change, says):
    images = []
    for changes in ((), (change,)):
        folder = tmp_path / str(len(images))
        folder.mkdir()
        out = compile_and_run(f"{name}.grc", folder, "-b", "cpu", changes=changes)
        first = {"07_chains": "range_doppler.npy", "14_omega_k": "range_doppler.npy"}.get(name, name.split("_", 1)[1] + ".npy")
        images.append(np.abs(np.load(out / first)))
    assert says(*images)


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_polar_format(tmp_path, backend):
    out = compile_and_run("10_polar_format.grc", tmp_path, "-b", backend)
    polar, projected = (np.load(out / f"{n}.npy") for n in ("polar_format", "back_projection"))
    assert polar.shape == projected.shape == (320, 320)
    for x, y in ((0, 0), (26, 24), (-28, 22), (24, -28), (-26, -26)):
        row, col, peak = place_of_peak(polar, 0.2, -y, x, 3)
        assert abs(row + y) <= 0.2 and abs(col - x) <= 0.2
        assert peak == pytest.approx(1, abs=0.1)

    def difference_db(a, b):
        return 10 * np.log10(np.sum(np.abs(a - b) ** 2) / np.sum(np.abs(b) ** 2))

    assert difference_db(polar, projected) < -40
    # what the note says to try: the points at the corners move
    folder = tmp_path / "warn"
    folder.mkdir()
    out = compile_and_run("10_polar_format.grc", folder, "-b", backend,
                          changes=[("polar", "curvature", '"warn"')])
    moved = np.load(out / "polar_format.npy")
    assert difference_db(moved, projected) > -10
    row, col, _ = place_of_peak(moved, 0.2, -24, 26, 3)
    assert math.hypot(row + 24, col - 26) > 0.15  # a pixel
    assert "appear up to" in (folder / "printed.txt").read_text()


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_delay_calibration(tmp_path, backend):
    out = compile_and_run("08_delay_calibration.grc", tmp_path, "-b", backend)
    c = json.loads((out / "delay.json").read_text())
    assert c["delay_s"] * 2e6 == pytest.approx(1234.5, abs=0.02) and c["pulses"] == 32
    lines = np.load(out / "range.npy")
    # leakage and target, 3000 m apart, both late
    first = lines[0, :1300].argmax()
    second = 1260 + lines[0, 1260:1300].argmax()
    assert abs(first - 1234.5) <= 1 and abs(second - 1234.5 - 3000 * 4e6 / 299792458) <= 1


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_omega_k(tmp_path, backend):
    """Sharp at all ranges; range-Doppler, on the same echoes, in the middle of the swath alone."""
    out = compile_and_run("14_omega_k.grc", tmp_path, "-b", backend)
    slope = 3**-0.5
    for name, ends in (("omega_k", (0.93, 1.02)), ("range_doppler", (0.4, 0.6))):
        image, at = grid_of(out, name)
        assert image.shape == (2688, 3400) and (out / f"{name}.png").stat().st_size > 1000
        for a, r in ((0, 0), (-20, -110), (20, -110), (-20, 110), (20, 110)):
            i, j = at(140 + 1000 * slope + a + r * slope, 1000 + r)
            part = image[round(i) - 4:round(i) + 5, round(j) - 4:round(j) + 5]
            low, high = ends if r else (0.93, 1.02)
            assert low < part.max() < high, (name, a, r)
            if name == "omega_k":
                m, n = np.unravel_index(np.argmax(part), part.shape)
                assert abs(round(i) - 4 + m - i) <= 1 and abs(round(j) - 4 + n - j) <= 1


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_chirp_scaling(tmp_path, backend):
    """What 03 shows of the same echoes, without an interpolation."""
    images = []
    for name in ("15_chirp_scaling", "03_range_doppler"):
        folder = tmp_path / name
        folder.mkdir()
        out = compile_and_run(f"{name}.grc", folder, "-b", backend)
        images.append(grid_of(out, name.split("_", 1)[1])[0])
    a, b = images
    assert a.shape == (1080, 648)
    for x, r in ((1214, 12000), (1124, 11870), (1154, 12120), (1294, 11900), (1314, 12140)):
        i, j = (round(v) for v in grid_of(out, "range_doppler")[1](x, r))
        near = np.s_[i - 4:i + 5, j - 4:j + 5]
        assert a[near].argmax() == b[near].argmax()
        assert a[near].max() == pytest.approx(b[near].max(), abs=0.02)
    assert np.sum((a - b) ** 2) < 10**-2.5 * np.sum(b**2)


def test_chirp_scaling_refuses_what_its_note_says(tmp_path):
    d = read(SOURCE / "examples" / "15_chirp_scaling.grc")
    (b,) = [b for b in d["blocks"] if b["name"] == "squint"]
    b["parameters"]["value"] = "math.radians(40)"
    (tmp_path / "s.grc").write_text(yaml.safe_dump(d))
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"))
    subprocess.run(["grcc", "-o", str(tmp_path), str(tmp_path / "s.grc")], env=env, check=True,
                   capture_output=True)
    done = subprocess.run([sys.executable, str(tmp_path / "chirp_scaling.py"), "-b", "cpu"], env=env,
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode and "use stolt" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
@pytest.mark.parametrize("correct,seed", [(True, 1), (True, 2), (False, 1)])
def test_live_rail(tmp_path, backend, correct, seed):
    """Transmitted and received through gr-soapy; ends by itself. The uncorrected oscillators, 1.19 Hz
    apart, move points along the track."""
    SoapySDR = pytest.importorskip("SoapySDR", reason="SoapySDR's Python binding is not here")
    pytest.importorskip("gnuradio.soapy", reason="gr-soapy is not here")
    if not SoapySDR.Device.enumerate("driver=sarsim"):
        pytest.skip("the module sarsim was not built or is not found (ENABLE_SOAPY, SOAPY_SDR_PLUGIN_PATH)")
    (radio, ) = [b for b in read(SOURCE / "examples" / "09_live_rail.grc")["blocks"] if b["name"] == "receiver"]
    arguments = radio["parameters"]["dev_args"].replace("seed=1", f"seed={seed}")
    out = compile_and_run("09_live_rail.grc", tmp_path, "-b", backend, "-s",
                          str(SOURCE / "examples" / "live_rail.json"),
                          changes=[("receiver", "dev_args", arguments),
                                   ("framer", "correct", '"delay_phase"' if correct else '"none"')])
    image = np.abs(np.load(out / "live_rail.npy"))
    assert image.shape == (240, 240) and (out / "live_rail.png").stat().st_size > 1000
    for x, y, amplitude in ((0, 150, 0.01), (3, 220, 0.01), (-2, 300, 0.007)):
        # rows run along -y, a metre each; columns along x, 0.1 m each
        i, j = 120 - (y - 225), 120 + round(x / 0.1)
        part = image[i - 8:i + 9, j - 12:j + 13]
        a, b = np.unravel_index(np.argmax(part), part.shape)
        if not correct:
            # lambda / (2 V) a Hz of the offset, times range
            moved = 1.19 * 299792458 / 5.8e9 * y / 40
            assert abs(abs(b - 12) * 0.1 - moved) <= 0.1 and moved > 0.2
        else:
            assert abs(a - 8) <= 1 and abs(b - 12) <= 1
            assert part.max() == pytest.approx(amplitude, rel=0.05)


def on_sarsim(name, *args, backend="cpu", changes=(), tmp_path):
    """Folder of the images of a flowgraph around radar_transceiver."""
    SoapySDR = pytest.importorskip("SoapySDR", reason="SoapySDR's Python binding is not here")
    if not SoapySDR.Device.enumerate("driver=sarsim"):
        pytest.skip("the module sarsim was not built or is not found (ENABLE_SOAPY, SOAPY_SDR_PLUGIN_PATH)")
    (scene, ) = [b for b in read(SOURCE / "examples" / name)["blocks"] if b["name"] == "scene"]
    return compile_and_run(name, tmp_path, "-b", backend, "-s",
                           str(SOURCE / "examples" / scene["parameters"]["value"]), *args, changes=changes)


def points_of(image, targets, centre_m, row_m, col_m, cells=(8, 12)):
    """(rows off, columns off, peak over amplitude) of each target; rows run along -y, columns along x."""
    out = []
    for x, y, amplitude in targets:
        i = image.shape[0] // 2 - round((y - centre_m) / row_m)
        j = image.shape[1] // 2 + round(x / col_m)
        part = image[i - cells[0]:i + cells[0] + 1, j - cells[1]:j + cells[1] + 1]
        a, b = np.unravel_index(np.argmax(part), part.shape)
        out.append((a - cells[0], b - cells[1], part.max() / amplitude))
    return out


RAIL = ((0, 150, 0.01), (3, 220, 0.01), (-2, 300, 0.007))


def test_pluto_rail(tmp_path):
    """Cyclic, without a clock; and as the note says, in a stream."""
    for transmit in ('"cyclic"', '"stream"'):
        out = on_sarsim("18_pluto_rail.grc", changes=[("radar", "transmit", transmit)], tmp_path=tmp_path)
        image = np.abs(np.load(out / "pluto_rail.npy"))
        assert image.shape == (80, 160) and (out / "pluto_rail.png").stat().st_size > 1000
        # cells of 65 m in range (Hamming), 1.9 to 3.2 m along the track
        for a, b, peak in points_of(image, ((0, 300, 0.01), (8, 400, 0.01), (-10, 500, 0.007)), 400, 5, 0.25,
                                    (5, 8)):
            assert abs(a) <= 1 and abs(b) <= 1 and peak == pytest.approx(0.7, rel=0.1)


@pytest.mark.parametrize("correct", [True, False])
def test_b210_reference(tmp_path, correct):
    out = on_sarsim("19_b210_reference.grc", tmp_path=tmp_path,
                    changes=[] if correct else [("radar", "correct", '"none"')])
    image = np.abs(np.load(out / "b210_reference.npy"))
    for (a, b, peak), (x, y, _) in zip(points_of(image, RAIL, 225, 1, 0.1), RAIL):
        if correct:
            assert abs(a) <= 1 and abs(b) <= 1 and peak == pytest.approx(0.7, rel=0.05)
        else:  # lambda / (2 V) a Hz of the offset, times range
            moved = 1.19 * 299792458 / 5.8e9 * y / 40
            assert abs(abs(b) * 0.1 - moved) <= 0.1 and moved > 0.2


def test_b210_reference_with_a_loss(tmp_path):
    device = "driver=sarsim,profile=b210,id=b210_loss,leakage_db=off,loss_at=3000000:70000"
    out = on_sarsim("19_b210_reference.grc", "-d", device, tmp_path=tmp_path)
    image = np.abs(np.load(out / "b210_reference.npy"))
    for a, b, peak in points_of(image, RAIL, 225, 1, 0.1):
        assert abs(a) <= 1 and abs(b) <= 1 and peak == pytest.approx(0.7 * 396 / 400, rel=0.05)
    assert "pulses lost" in (tmp_path / "printed.txt").read_text()


def test_uhd_bursts(tmp_path):
    """UHD's names and ports as the flowgraph has them; what it does, on a simulated B210."""
    d = read(SOURCE / "examples" / "20_uhd_bursts.grc")
    p = {b["name"]: b["parameters"] for b in d["blocks"]}
    assert p["device"]["value"].startswith("driver=uhd,type=")
    assert p["radar"]["transmit"] == '"timed"'
    # those of a B210: qa_sarsim's profile has them from UHD's list
    assert (p["radar"]["rx_antenna"], p["radar"]["tx_antenna"]) == ("RX2", "TX/RX")
    assert 0 <= float(p["radar"]["rx_gain_db"]) <= 76 and 0 <= float(p["radar"]["tx_gain_db"]) <= 89.75
    out = on_sarsim("20_uhd_bursts.grc", "-d", "driver=sarsim,profile=b210,id=uhd_bursts,leakage_db=-30",
                    tmp_path=tmp_path)
    image = np.abs(np.load(out / "uhd_bursts.npy"))
    for a, b, peak in points_of(image, RAIL, 225, 1, 0.1):
        assert abs(a) <= 1 and abs(b) <= 1 and peak == pytest.approx(0.7, rel=0.05)
    said = (tmp_path / "printed.txt").read_text()
    assert "transmit timed" in said
    offset = float(re.search(r"the start offset is ([\d.]+) samples", said)[1])
    assert offset == pytest.approx(165, abs=0.05)
    assert "pulse 0 left at 0.15" in said


@pytest.mark.parametrize("correct", ["delay_phase", "delay"])
def test_two_hackrf(tmp_path, correct):
    out = on_sarsim("21_two_hackrf.grc", tmp_path=tmp_path, changes=[("radar", "correct", f'"{correct}"')])
    image = np.abs(np.load(out / "two_hackrf.npy"))
    for a, b, peak in points_of(image, RAIL, 225, 1, 0.1):
        assert abs(a) <= 2 and peak == pytest.approx(0.7, rel=0.05)
        assert abs(b) <= 1 if correct == "delay_phase" else abs(b) >= 4  # as the note says
    said = (tmp_path / "printed.txt").read_text()
    assert "transmit stream" in said and "alignment leakage" in said


def test_two_hackrf_is_one_too_few(tmp_path):
    """As the note says: half duplex is refused, with what is missing."""
    one = "driver=sarsim,profile=hackrf,id=one"
    with pytest.raises(AssertionError, match="half duplex"):
        on_sarsim("21_two_hackrf.grc", "-d", one, "-t", one, tmp_path=tmp_path)


def test_video_sar(tmp_path):
    out = on_sarsim("22_video_sar.grc", tmp_path=tmp_path)
    files = sorted(out.glob("video_sar*.npy"))
    assert len(files) == 13 and len(list(out.glob("video_sar*.png"))) == 13
    for n, path in enumerate(files):
        image = np.abs(np.load(path))
        info = json.loads(path.with_suffix(".json").read_text())
        assert info["pulses"] == 400 and info["first_pulse"] == 100 * n
        # the antenna passes, the points stay
        for a, b, peak in points_of(image, ((0, 150, 0.01), (9, 220, 0.01), (-7, 300, 0.007)), 225, 1, 0.2):
            assert abs(a) <= 1 and abs(b) <= 2 and peak == pytest.approx(0.7, rel=0.1), (n, a, b, peak)


@pytest.mark.parametrize("backend,changes,off", [
    ("cpu", (), False), ("emulated", (), False),
    # what the note says to try: without the alignment, and with the carrier of the whole ramp
    ("cpu", "bypass", True),
    ("cpu", (("acq", "gate_start_s", "0"), ("framer", "line_offset_s", "50e-6")), True)],
    ids=["cpu", "emulated", "not aligned", "wrong carrier"])
def test_phaser_fmcw(tmp_path, backend, changes, off):
    """Swept, received, framed, aligned and focused: points in place, with the amplitudes of the scene."""
    SoapySDR = pytest.importorskip("SoapySDR", reason="SoapySDR's Python binding is not here")
    pytest.importorskip("gnuradio.soapy", reason="gr-soapy is not here")
    if not SoapySDR.Device.enumerate("driver=sarsim"):
        pytest.skip("the module sarsim was not built or is not found (ENABLE_SOAPY, SOAPY_SDR_PLUGIN_PATH)")
    name = "17_phaser_fmcw.grc"
    if changes == "bypass":
        d = read(SOURCE / "examples" / name)
        (b,) = [b for b in d["blocks"] if b["name"] == "align"]
        b["states"]["state"] = "bypassed"
        (tmp_path / name).write_text(yaml.safe_dump(d))
        name, changes = str(tmp_path / name), ()
    out = compile_and_run(name, tmp_path, "-b", backend, "-s",
                          str(SOURCE / "examples" / "phaser_fmcw.json"), changes=changes)
    image = np.abs(np.load(out / "phaser_fmcw.npy"))
    assert image.shape == (300, 300) and (out / "phaser_fmcw.png").stat().st_size > 1000
    for x, y, amplitude in ((35, 60, 0.01), (46, 80, 0.01), (58, 100, 0.007)):
        # rows run along -y, columns along x, 0.2 m each
        i, j = 150 - round((y - 80) / 0.2), 150 + round((x - 46) / 0.2)
        if off:
            assert image[i, j] < 0.6 * amplitude
        else:
            part = image[i - 8:i + 9, j - 8:j + 9]
            assert np.unravel_index(np.argmax(part), part.shape) == (8, 8)
            assert part.max() == pytest.approx(amplitude, rel=0.03)
