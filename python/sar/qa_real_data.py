# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of others, on every backend, against a float64 reference and known places."""
import os

import numpy as np
import pytest
from conftest import _set, backends

from gnuradio import sar
from gnuradio.sar import reference
from gnuradio.sar.focus import focus
from gnuradio.sar.grids import auto_grid
from gnuradio.sar.measure import find_peak
from gnuradio.sar.recordings import open_recording


def energy_db(x, truth):
    return 10 * np.log10(max(np.sum(np.abs(x - truth) ** 2), 1e-30) / np.sum(np.abs(truth) ** 2))


def peak_db(x, truth):
    return 20 * np.log10(np.max(np.abs(x - truth)) / np.max(np.abs(truth)))


GRID = dict(row_axis=(0, -1, 0), col_axis=(1, 0, 0), row_spacing_m=0.25, col_spacing_m=0.25,
            rows=400, cols=400)
_truth = {}


def gotcha_truth(files):
    """The whole 100 m x 100 m in double, once."""
    if not _truth:
        rec = open_recording(files)
        grid = sar.image_grid.centred((0, 0, 0), **GRID)
        lines = reference.compress(rec.acq, rec.lines(), 4)
        _truth["image"] = reference.backproject(rec.acq, lines, rec.tx, grid, oversampling=4)
    return _truth["image"]


@pytest.mark.parametrize("backend", backends())
def test_gotcha_against_float64(gotcha, backend):
    truth = gotcha_truth(gotcha)
    rec = open_recording(gotcha)
    grid = sar.image_grid.centred((0, 0, 0), **GRID)
    image, report = focus(rec, grid, backend=backend)  # auto accuracy
    assert energy_db(image, truth) < -60
    assert report["accuracy"]["phase_error_bound_rad"] < 0.01
    # accuracy modes: what --help promises of each, below the peak of the image
    for accuracy, limit in (("exact", -80), ("fast", -80)):
        image, _ = focus(rec, grid, backend=backend, accuracy=accuracy, interpolation="sinc16",
                         oversampling=4)
        assert peak_db(image, truth) < limit, accuracy


@pytest.mark.parametrize("backend", backends())
def test_gotcha_reflectors(gotcha, backend):
    rec = open_recording(gotcha, azimuth_window="hann")
    grid = sar.image_grid.centred((0, 0, 0), **dict(GRID, row_spacing_m=0.1, col_spacing_m=0.1,
                                                    rows=1000, cols=1000))
    image, _ = focus(rec, grid, window="hann", backend=backend)
    first = np.array(grid.position(*np.unravel_index(np.argmax(np.abs(image)), image.shape)))
    assert np.linalg.norm(first - (-15.60, 21.55, 0)) <= 0.1
    _, a1 = find_peak(image, grid, (-15.60, 21.55, 0), 1)
    p2, a2 = find_peak(image, grid, (-27.80, 38.80, 0), 1)
    assert np.linalg.norm(np.subtract(p2, (-27.80, 38.80, 0))) <= 0.15
    assert 20 * np.log10(a1 / a2) == pytest.approx(5.3, abs=0.5)
    # no mirror image: what lies opposite is weak
    for x, y in ((15.60, -21.55), (-15.60, -21.55), (15.60, 21.55)):
        _, a = find_peak(image, grid, (x, y, 0), 1)
        assert 20 * np.log10(a / a1) < -15


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_gotcha_in_map_coordinates(gotcha, backend, accuracy):
    far = (4.0e5, 5.2e6, 0.0)
    grid = dict(GRID, rows=200, cols=200)
    here, there = open_recording(gotcha), open_recording(gotcha)
    there.tx = there.tx + far
    there.acq = there.acq.replace(reference_point_m=far)
    a, _ = focus(here, sar.image_grid.centred((0, 0, 0), **grid), backend=backend,
                 accuracy=accuracy)
    b, _ = focus(there, sar.image_grid.centred(far, **grid), backend=backend, accuracy=accuracy)
    assert energy_db(b, a) < -60


@pytest.mark.parametrize("backend", backends())
def test_gotcha_single_pulse_is_an_arc(gotcha, backend):
    """One pulse: every pixel of the same range has the same magnitude."""
    rec = open_recording(gotcha, stop=1)
    grid = sar.image_grid.centred((0, 0, 0), **dict(GRID, rows=120, cols=120))
    image, report = focus(rec, grid, backend=backend, accuracy="exact", interpolation="sinc16",
                          oversampling=4)
    assert report["pulses"] == 1
    row, col = np.mgrid[:120, :120]
    p = (np.array(grid.origin_m) + row[..., None] * np.array(grid.row_axis) * 0.25
         + col[..., None] * np.array(grid.col_axis) * 0.25)
    r = np.linalg.norm(p - rec.tx[0], axis=-1) - np.linalg.norm(rec.tx[0])
    lines = reference.compress(rec.acq, rec.lines(), 16)[0]
    axis = rec.acq.compressed_axis(16)
    x = (r - axis.first_m) / axis.spacing_m
    k = np.floor(x).astype(int)
    value = lines[k] + (x - k) * (lines[k + 1] - lines[k])
    expected = np.abs(value)
    assert np.max(np.abs(np.abs(image) - expected)) < 2e-2 * expected.max()


@pytest.mark.parametrize("backend", backends())
def test_rail_reflectors(rail, backend):
    """Positions, not sharpness: without the bias the points are as sharp and elsewhere."""
    truth = [(2.204, -3.874), (2.329, 1.038)]
    offsets = {}
    for bias in (0.46, 0.0):
        rec = open_recording(rail, clock_offset_s=9.28, range_bias_m=bias)
        grid, _ = auto_grid(rec)
        image, report = focus(rec, grid, backend=backend)
        assert report["range_bias_m"] == bias and report["clock_offset_s"] == 9.28
        offsets[bias] = [
            np.linalg.norm(np.subtract(find_peak(image, grid, (*t, 0), 0.8)[0][:2], t))
            for t in truth]
    assert max(offsets[0.46]) < 0.20, offsets
    assert min(offsets[0.0]) > 0.25, offsets


def english_bay(radarsat):
    """Recording with the positions of a straight flight at the effective velocity."""
    rec = open_recording(os.path.join(radarsat, "english_bay_ships.sigmf-meta"))
    acq = rec.acq
    t = np.arange(len(rec)) / acq.prf_hz
    rec.tx = np.stack([acq.effective_velocity_m_s * t, 0 * t, 0 * t], axis=1)
    return rec


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("accuracy", ["auto", "exact"])
def test_english_bay_from_orbit(radarsat, backend, accuracy):
    """988 km: a float phase would be wrong by radians. Against float64, and a ship in focus."""
    rec = english_bay(radarsat)
    acq = rec.acq
    sine = acq.wavelength_m() * acq.doppler_centroid_hz / (2 * acq.effective_velocity_m_s)
    cell = sar.speed_of_light / (2 * acq.sample_rate_hz)
    r0 = acq.slant_range_first_m
    # plane of closest range (rows) and along track (columns), around the brightest ship;
    # lines refer to the start of the pulse, so no cell is lost at the near side
    ship = (acq.effective_velocity_m_s * len(rec) / 2 / acq.prf_hz + (r0 + 30 * cell) * sine
            - 3000 + 489 * 6.0, np.sqrt(1 - sine**2) * r0 + 140 * cell, 0)
    grid = sar.image_grid.centred(ship, (0, 1, 0), (1, 0, 0), cell, 6.0, 96, 97)
    image, report = focus(rec, grid, window="kaiser(2.5)", backend=backend, accuracy=accuracy)
    assert report["accuracy"]["phase_error_bound_rad"] < 0.01
    key = "english bay"
    if key not in _truth:
        lines = reference.compress(acq, rec.lines(), 4, "kaiser(2.5)")
        _truth[key] = reference.backproject(acq, lines, rec.tx, grid, oversampling=4)
    truth = _truth[key]
    correlation = abs(np.vdot(image, truth)) / np.linalg.norm(image) / np.linalg.norm(truth)
    assert correlation > 0.99999
    assert energy_db(image, truth) < -50
    # focused: the ship stands far above the water, which a wrong phase would spread it over
    assert 20 * np.log10(np.abs(image).max() / np.median(np.abs(image))) > 35


def test_sdr_doppler_signs(tmp_path):
    """5.8 GHz CW through GNU Radio: a person walks to and fro; swapped I/Q mirrors the signs."""
    from scipy.io import wavfile

    folder = _set("kth_sdr_coffee_can")
    rate, i = wavfile.read(os.path.join(folder, "sdr_cw_single_real.wav"))
    _, q = wavfile.read(os.path.join(folder, "sdr_cw_single_imag.wav"))
    x = (i.astype(np.float32) + 1j * q.astype(np.float32)).astype(np.complex64)
    samples = 1024
    x = x[: len(x) // samples * samples].reshape(-1, samples)
    acq = sar.acquisition(waveform="replica", samples=samples, carrier_hz=5.8e9,
                          prf_hz=rate / samples, sample_rate_hz=rate,
                          replica_bandwidth_hz=rate)
    name = str(tmp_path / "walk")
    sar.write_sigmf(name, x, acq, datatype="ci16_le", replica=[1.0])

    def balance(swap, first_s, last_s):
        """Power at positive over power at negative Doppler, 5 to 80 Hz, dB."""
        rec = open_recording(name + ".sigmf-meta", swap_iq=swap)
        y = rec.lines().ravel()[int(first_s * rate): int(last_s * rate)]
        spectrum = np.abs(np.fft.fft((y - y.mean()) * np.hanning(len(y)))) ** 2
        f = np.fft.fftfreq(len(y), 1 / rate)
        return 10 * np.log10(spectrum[(f > 5) & (f < 80)].sum()
                             / spectrum[(f < -5) & (f > -80)].sum())

    for first, last, sign in ((6, 10, 1), (11, 14, -1), (17.5, 20, 1), (22, 25, -1), (27, 33, 1)):
        assert sign * balance(False, first, last) > 6, (first, last)
        assert sign * balance(True, first, last) < -6, (first, last)
