# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example flowgraph, compiled by grcc and run without a window; its image judged."""
import json
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
        "range_doppler_imager", "range_doppler_chain", "back_projection_chain", "to_device",
        "doppler_centroid")]
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
], ids=lambda v: v if isinstance(v, str) else v[0] if isinstance(v, tuple) else "")
def test_what_the_note_says_to_try(tmp_path, name, change, says):
    images = []
    for changes in ((), (change,)):
        folder = tmp_path / str(len(images))
        folder.mkdir()
        out = compile_and_run(f"{name}.grc", folder, "-b", "cpu", changes=changes)
        first = {"07_chains": "range_doppler.npy"}.get(name, name.split("_", 1)[1] + ".npy")
        images.append(np.abs(np.load(out / first)))
    assert says(*images)


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
