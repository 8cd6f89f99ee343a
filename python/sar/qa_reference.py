# SPDX-License-Identifier: GPL-3.0-or-later
"""The range-Doppler reference: points where they belong, and recordings of known quality."""
import os

import numpy as np
import pytest

from gnuradio import sar
from gnuradio.sar import reference
from gnuradio.sar.recordings import open_recording


def scene(centroid, bias=0.0, samples=400, **changes):
    """C band, 20 km, 120 m/s, 100 MHz."""
    return sar.acquisition(**{**dict(
        waveform="pulsed_lfm", samples=samples, carrier_hz=5.3e9, prf_hz=300.0,
        sample_rate_hz=120e6, pulse_length_s=2.5e-8, chirp_rate_hz_per_s=4e15,
        slant_range_first_m=20e3, range_bias_m=bias, effective_velocity_m_s=120.0,
        doppler_centroid_hz=centroid), **changes})


def echoes(acq, lines, points, velocity=None):
    """Compressed lines of points (R0, t0, amplitude): sincs at the exact hyperbola."""
    axis = acq.compressed_axis(1)
    cells = axis.first_m + np.arange(axis.samples) * axis.spacing_m
    t = np.arange(lines) / acq.prf_hz
    k = 4 * np.pi * axis.carrier_hz / reference.C
    total = np.zeros((lines, axis.samples), complex)
    for r0, t0, amplitude in points:
        v = velocity or acq.effective_velocity_m_s
        r = np.sqrt(r0**2 + v**2 * (t - t0) ** 2)[:, None] + acq.range_bias_m
        x = cells - r
        total += amplitude * np.sinc(2 * acq.bandwidth_hz() / reference.C * x) * np.exp(-1j * k * r)
    return total


def crossing(acq, r0, fc, velocity=None):
    """(time after closest approach, range) at which a point's Doppler frequency is fc."""
    v, f0 = velocity or acq.effective_velocity_m_s, acq.carrier_hz
    sine = -reference.C * fc / (2 * v * f0)
    return r0 * sine / np.sqrt(1 - sine**2) / v, r0 / np.sqrt(1 - sine**2)


def value_at(image, first_row_time, first_range, prf, spacing, time, r0, fc):
    """Image at a fractional row (exact, through its spectrum) of its column nearest to r0."""
    n = len(image)
    column = int(round((r0 - first_range) / spacing))
    f = reference.doppler_axis(n, prf, fc)
    spectrum = np.fft.fft(image[:, column])
    return np.mean(spectrum * np.exp(2j * np.pi * f * (time - first_row_time)))


def test_doppler_axis():
    f = reference.doppler_axis(8, 100.0, -552.0)
    assert f.min() >= -602 and f.max() < -502
    np.testing.assert_allclose(np.mod(f, 100), np.arange(8) * 12.5)
    assert reference.doppler_axis(4, 100.0, np.zeros((2, 3))).shape == (2, 3, 4)
    # the lower edge belongs to the axis, the upper one does not
    assert sorted(reference.doppler_axis(4, 100.0, 0.0)) == [-50, -25, 0, 25]


@pytest.mark.parametrize("geometry", ["zero_doppler", "centroid"])
@pytest.mark.parametrize("centroid, bias", [(0.0, 0.0), (0.4 * 300, 3.7), (-5.5 * 300, 0.0)])
def test_point(geometry, centroid, bias):
    """A unit point: peak 1, phase 0, at its time and range."""
    acq = scene(centroid, bias)
    count, n = 3000, 4096
    axis = acq.compressed_axis(1)
    _, per_m = crossing(acq, 1.0, centroid)
    # seen by the beam in line 1500.3, in the middle of the line
    beam = axis.first_m - bias + 200 * axis.spacing_m
    r0 = beam / per_m
    at = beam if geometry == "centroid" else r0
    late, _ = crossing(acq, r0, centroid)
    t0 = 1500.3 / 300 - late
    lines = echoes(acq, count, [(r0, t0, 1.0)])
    image, t_first, r_first = reference.range_doppler(
        acq, lines, fft_length=n, geometry=geometry, azimuth_bandwidth_hz=150,
        first_range_m=at - 20 * axis.spacing_m, cols=41)
    assert r_first == at - 20 * axis.spacing_m
    time = t0 if geometry == "zero_doppler" else t0 + late
    assert t_first == pytest.approx(time - (1500.3 + 548) / 300, abs=1.0 / 300)
    peak = value_at(image, t_first, r_first, 300.0, axis.spacing_m, time, at, centroid)
    assert abs(peak) == pytest.approx(1, abs=0.005)
    assert abs(np.angle(peak)) < 0.005
    row, column = np.unravel_index(np.argmax(np.abs(image)), image.shape)
    assert column == 20
    assert abs(row - (time - t_first) * 300) <= 0.51
    # the whole line: where its first cell is
    _, _, first = reference.range_doppler(acq, lines[:1], geometry=geometry)
    expected = (axis.first_m - bias) / (1 if geometry == "centroid" else per_m)
    assert first == pytest.approx(expected, abs=1e-6)


def test_whole_band_of_a_short_frame():
    """Fewer lines than an aperture: the image is the mean over the lines there are."""
    acq = scene(0.0)
    r0 = 20e3 + 200 * acq.compressed_axis(1).spacing_m
    lines = echoes(acq, 500, [(r0, 250.0 / 300, 1.0)])
    image, t_first, _ = reference.range_doppler(acq, lines, fft_length=4096)
    row, column = np.unravel_index(np.argmax(np.abs(image)), image.shape)
    assert abs(image[row, column]) == pytest.approx(1, abs=0.05)
    assert column == 200 and row / 300 + t_first == pytest.approx(250 / 300, abs=0.6 / 300)


def test_polynomials():
    """A velocity that changes over range focuses each point with its own."""
    acq = scene(0.4 * 300)
    slope = 0.02  # m/s per m
    axis = acq.compressed_axis(1)
    # velocity and centroid are told for the range at which the beam sees a point
    v = 120 + slope * 300 * axis.spacing_m
    r0 = (axis.first_m + 300 * axis.spacing_m) * reference.cosine(120.0, 5.3e9, v)
    late, _ = crossing(acq, r0, 120.0, v)
    t0 = 1500 / 300 - late
    lines = echoes(acq, 3000, [(r0, t0, 1.0)], v)
    values = []
    for velocity in (120.0, [120.0, slope]):
        image, t_first, r_first = reference.range_doppler(
            acq, lines, fft_length=4096, velocity=velocity, azimuth_bandwidth_hz=150,
            first_range_m=r0 - 5 * axis.spacing_m, cols=11)
        peak = value_at(image, t_first, r_first, 300.0, axis.spacing_m, t0, r0, 120.0)
        values.append(abs(peak))
    assert values[1] == pytest.approx(1, abs=0.005)
    assert values[0] < 0.8


FIGURES = {  # contrast, entropy (nat), peak over median
    "coal_ferry": (1.80, 10.05, 309),
    "english_bay_ships": (1.50, 9.67, 544),
}


def figures(image):
    a = np.abs(image)
    p = a**2 / np.sum(a**2)
    entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)))
    return a.std() / a.mean(), entropy, a.max() / np.median(a)


def radarsat_image(acq, raw, **options):
    cell = acq.compressed_axis(1).spacing_m
    lines = reference.compress(acq, raw, 1, "kaiser(2.5)")
    image, _, _ = reference.range_doppler(
        acq, lines, fft_length=2048, window="kaiser(2.5)", cols=595,
        first_range_m=acq.slant_range_first_m + 5 * cell, **options)
    return image


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_radarsat(radarsat, name):
    rec = open_recording(os.path.join(radarsat, name + ".sigmf-meta"))
    contrast, entropy, ratio = figures(radarsat_image(rec.acq, rec.lines()))
    assert contrast == pytest.approx(FIGURES[name][0], abs=0.02)
    assert entropy == pytest.approx(FIGURES[name][1], abs=0.05)
    assert ratio == pytest.approx(FIGURES[name][2], rel=0.1)


@pytest.mark.parametrize("options, contrast, entropy, ratio", [
    ({}, 1.50, 9.77, 462),
    (dict(centroid=-6900 + 1256.98), 1.47, 10.10, 357),
    (dict(centroid=-6300.0), 1.30, 10.87, 212),
    (dict(centroid=0.0), 1.17, 11.71, 71),
    (dict(velocity=7062 * 1.01), 1.45, 10.37, 294),
    (dict(migration="none"), 1.34, 11.15, 97),
])
def test_radarsat_with_one_thing_wrong(radarsat, options, contrast, entropy, ratio):
    """As published with the data: all of these without the offset of the first cell."""
    rec = open_recording(os.path.join(radarsat, "english_bay_ships.sigmf-meta"))
    acq = rec.acq.replace(slant_range_first_m=988647.462)
    seen = figures(radarsat_image(acq, rec.lines(), **options))
    assert seen[0] == pytest.approx(contrast, abs=0.02)
    assert seen[1] == pytest.approx(entropy, abs=0.06)
    assert seen[2] == pytest.approx(ratio, rel=0.12)
