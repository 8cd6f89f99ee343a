# SPDX-License-Identifier: GPL-3.0-or-later
"""Planar scans of a stepped-frequency radar: the file, a simulated point, the recording of a block."""

import os

import numpy as np
import pytest
from conftest import backends
from gnuradio import sar
from gnuradio.sar.focus import focus
from gnuradio.sar.grids import auto_grid
from gnuradio.sar.recordings import RecordingError, open_recording

C = sar.speed_of_light
ROWS, COLS, STEP_M, POINT = 40, 30, 0.004, (0.083, 0.051, 0.15)
FREQUENCIES = np.linspace(22.2e9, 26.2e9, 11)
NAME = "Big_22.2_26.2_nf11_56x43cm_3mm_d9cm.npy"


def scan_file(path, arrays=6, **changes):
    """A scan of one point, with an offset of the receiver as real ones have."""
    x, y = np.meshgrid(np.arange(ROWS) * STEP_M, np.arange(COLS) * STEP_M, indexing="ij")
    r = np.sqrt((x - POINT[0]) ** 2 + (y - POINT[1]) ** 2 + POINT[2] ** 2)
    s = 1000 * np.exp(4j * np.pi * FREQUENCIES[:, None, None] * r / C)
    data = np.stack([s.imag, s.real]) + 20000 + 300 * np.arange(11)[:, None, None]
    parts = dict(data=data.round().astype("<u2"), first=FREQUENCIES[0], last=FREQUENCIES[-1],
                 count=np.int32(11), steps=np.array([STEP_M, STEP_M]), distance=POINT[2])
    parts.update(changes)
    with open(path, "wb") as f:
        for value in list(parts.values())[:arrays]:
            np.save(f, value)
    return str(path)


@pytest.mark.parametrize("backend", backends())
def test_a_point_is_where_it_was(tmp_path, backend):
    rec = open_recording(scan_file(tmp_path / "scan.npy"))
    assert rec.kind == "planar_scan" and rec.datatype == "cu16_le"
    assert rec.num_pulses == ROWS * COLS
    assert rec.acq.samples == 11 and rec.acq.frequency_step_hz == pytest.approx(400e6)
    assert any("ranges repeat each 0.3747 m" in n for n in rec.notes)
    assert rec.used["subtract_mean"]
    grid, _ = auto_grid(rec, spacing=0.002)
    image, _ = focus(rec, grid, backend=backend)
    image = np.abs(image)
    i, j = np.unravel_index(np.argmax(image), image.shape)
    assert np.allclose(grid.position(int(i), int(j)), POINT, atol=0.002)
    assert image.max() == pytest.approx(1000, rel=0.1)
    # the other sign of the phase puts nothing there
    other, _ = focus(open_recording(scan_file(tmp_path / "scan.npy"), conjugate=True), grid,
                     backend=backend)
    assert np.abs(other).max() < 0.5 * image.max()


def test_positions_and_samples(tmp_path):
    path = scan_file(tmp_path / "scan.npy")
    rec = open_recording(path, subtract_mean=False)
    with open(path, "rb") as f:
        q, i = np.load(f)
    line = rec.lines()[3 * COLS + 7]
    np.testing.assert_array_equal(line, i[:, 3, 7] + 1j * q[:, 3, 7])
    np.testing.assert_allclose(rec.tx[3 * COLS + 7], (3 * STEP_M, 7 * STEP_M, 0))


@pytest.mark.parametrize("how, part", [
    (dict(arrays=4), "ends before its array 5, the steps of the antenna"),
    (dict(count=np.int32(12)), "the number of frequencies is 12, but the samples have 11"),
    (dict(distance=-0.1), "the distance is -0.1; expected a positive number"),
    (dict(first=np.nan), "the first frequency is nan"),
    (dict(data=np.zeros((2, 11, 0, 5), "<u2")), "the samples have the shape (2, 11, 0, 5)"),
    (dict(first=FREQUENCIES), "the first frequency is an array of float64, shape (11,); expected a number"),
    (dict(steps=np.ones(3)), "the steps of the antenna is an array of float64, shape (3,); expected a "
     "number or two numbers"),
    (dict(count=np.float64(11.5)), "the number of frequencies is 11.5, but the samples have 11"),
    (dict(distance=np.array("0.15")), "the distance is an array of <U4"),
    (dict(last=np.array([])), "the last frequency is an array of float64, shape (0,)"),
])
def test_files_that_are_broken(tmp_path, how, part):
    with pytest.raises(RecordingError) as error:
        open_recording(scan_file(tmp_path / "scan.npy", **how))
    assert part in str(error.value) and "scan.npy" in str(error.value)


def test_one_step_is_that_of_both(tmp_path):
    rec = open_recording(scan_file(tmp_path / "scan.npy", steps=np.array([STEP_M])))
    np.testing.assert_allclose(rec.tx[3 * COLS + 7], (3 * STEP_M, 7 * STEP_M, 0))


def test_a_truncated_file_says_so(tmp_path):
    path = scan_file(tmp_path / "scan.npy")
    with open(path, "rb") as f:
        whole = f.read()
    (tmp_path / "scan.npy").write_bytes(whole[:-3])
    with pytest.raises(RecordingError, match="ends before its array 6, the distance"):
        open_recording(path)


def test_other_npy_files_are_as_before(tmp_path):
    np.save(tmp_path / "lines.npy", np.ones((5, 64), np.complex64))
    acq = dict(waveform="frequency_domain", carrier_hz=9e9, prf_hz=1, frequency_step_hz=1e6,
               slant_range_first_m=0)
    assert open_recording(str(tmp_path / "lines.npy"), **acq).kind == "npy"
    np.save(tmp_path / "one.npy", np.ones((2, 11, 4, 5), np.uint16))
    with pytest.raises(RecordingError, match="has the shape"):
        open_recording(str(tmp_path / "one.npy"), **acq)


@pytest.mark.parametrize("backend", backends())
def test_the_block_under_foam(planar_scan, backend):
    """A coarse look at the whole: the block stands out where it is, and not 5 cm deeper."""
    rec = open_recording(os.path.join(planar_scan, NAME),
                         frequency_response=os.path.join(planar_scan, "myfile_phi.txt"))
    assert rec.num_pulses == 187 * 144 and rec.acq.bandwidth_hz() == pytest.approx(4.4e9)
    assert np.allclose(rec.hints["scene_centre_m"], (0.279, 0.2145, 0.09))
    texture = []
    for z in (0.10, 0.15):
        # lines of 2 mm pixels along x through the block and beside it
        grid = sar.image_grid((0.12, 0.22, z), (1, 0, 0), (0, 1, 0), 0.002, 0.1, 100, 2)
        image, _ = focus(rec, grid, backend=backend)
        image = np.abs(image)
        inside = image[30:60]  # x 180 to 240 mm
        texture.append(np.std(np.diff(inside[:, 0])) / np.std(np.diff(inside[:, 1])))
    assert texture[0] > 2.2, texture
    assert texture[1] < 0.75 * texture[0], texture
