# SPDX-License-Identifier: GPL-3.0-or-later
"""The wavenumber (omega-k) chain against theory, range-Doppler and back-projection: wide
bands, wide beams, squint; the limits are those of back-projection."""

import functools
import math

import numpy as np
import pytest
from conftest import backends
from qa_range_doppler import Strip, energy_db, judge, quiet_blocks  # noqa: F401 (a fixture)

from gnuradio import sar
from gnuradio.sar import focus
from gnuradio.sar.measure import strip_aperture
from gnuradio.sar.recordings import open_recording

# positions to 1/32 cell, IRW 1 %, PSLR 0.2 dB, ISLR 0.3 dB, phase 0.02 rad
LIMITS = dict(position_cells=1 / 32, irw=0.01, pslr_db=0.2, islr_db=0.3, phase_rad=0.02)
X_BAND = dict(carrier_hz=9.6e9, speed_m_s=60.0)
# name: squint and what simulate.stripmap() takes
SCENES = {
    # 0.1 m in both directions
    "fine": (0.0, dict(X_BAND, bandwidth_hz=1.5e9, pulse_length_s=0.3e-6, prf_hz=700.0, pulses=3000,
                       slant_range_m=1000.0, beam_rad=math.radians(9), swath_m=60.0)),
    # 30 degrees of beam: the range cells migrate by 17 m
    "wide": (0.0, dict(X_BAND, bandwidth_hz=400e6, pulse_length_s=0.3e-6, prf_hz=2200.0,
                       pulses=14000, slant_range_m=500.0, speed_m_s=50.0, beam_rad=math.radians(30),
                       swath_m=40.0)),
    # 30 degrees of squint, a Doppler centroid of 5 PRFs
    "squint": (30.0, dict(X_BAND, bandwidth_hz=400e6, sample_rate_hz=600e6, pulse_length_s=0.5e-6,
                          prf_hz=400.0, pulses=1700, slant_range_m=1000.0,
                          beam_rad=math.radians(4), swath_m=60.0)),
}


def middle_and_corners(hints):
    x, r, _ = hints["scene_centre_m"]
    half = 0.4 * hints["scene_extent_m"][1]
    return [{"name": name, "amplitude": 1.0, "position_m": (x + 4 * a, r + half * b, 0.0)}
            for name, a, b in (("middle", 0, 0), ("near back", -1, -1), ("far ahead", 1, 1),
                               ("far back", -1, 1), ("near ahead", 1, -1))]


@functools.lru_cache(maxsize=4)
def scene_of(name):
    squint, kw = SCENES[name]
    return Strip(squint, targets=middle_and_corners, **kw)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name", SCENES)
def test_point_targets_meet_theory(name, backend):
    if backend == "emulated" and name == "wide":
        pytest.skip("the emulated device is for the plumbing; this scene takes it a minute")
    scene = scene_of(name)
    image, report = focus.range_doppler(scene.recording(), algorithm="omegak", oversampling=2,
                                        backend=backend)
    assert report["algorithm"] == "omegak"
    for t, r in zip(scene.targets, judge(image, report, scene.targets, LIMITS)):
        assert r["pass"], (t["name"], r["failures"])
        assert r["peak_amplitude"] == pytest.approx(1, rel=0.015), t["name"]


def test_range_doppler_fails_where_this_passes():
    """The judge can tell: 30 degrees of squint, SRC of the middle of the swath."""
    scene = scene_of("squint")
    image, report = focus.range_doppler(scene.recording(), oversampling=2, backend="cpu")
    assert not any(r["pass"] for r in judge(image, report, scene.targets, LIMITS))


@pytest.mark.parametrize("squint", [0.0, 4.0])
def test_stages_and_fused_and_range_doppler_agree(squint):
    """A scene in which both algorithms hold: C band, 1.5 m."""
    scene = Strip(squint)
    fused, report = focus.range_doppler(scene.recording(), algorithm="omegak", backend="cpu")
    stages, _ = focus.range_doppler(scene.recording(), algorithm="omegak", stages=True,
                                    backend="cpu")
    assert energy_db(fused, stages) < -100
    other, _ = focus.range_doppler(scene.recording(), backend="cpu")
    for a, b, t in zip(judge(fused, report, scene.targets, LIMITS),
                       judge(other, report, scene.targets), scene.targets):
        assert a["pass"], (t["name"], a["failures"])
        assert a["peak_amplitude"] == pytest.approx(b["peak_amplitude"], rel=0.01)
        assert abs(a["phase_error_rad"] - b["phase_error_rad"]) < 0.05
        cells = np.subtract(a["position_m"], b["position_m"]) / 1.25
        assert np.all(np.abs(cells) < 0.1)


@pytest.mark.parametrize("geometry", ["zero_doppler", "centroid"])
@pytest.mark.parametrize("window", ["kaiser(2.5)", "taylor(4, 35)"])
def test_windows_and_geometries(window, geometry):
    scene = scene_of("squint")
    image, report = focus.range_doppler(scene.recording(), algorithm="omegak", oversampling=2,
                                        window=window, azimuth_window=window, geometry=geometry,
                                        backend="cpu")
    if geometry == "centroid":
        # a point lies where the middle of the beam sees it
        squint = scene.hints["beam_squint_rad"]
        where = [(t["position_m"][0] - t["position_m"][1] * math.tan(squint),
                  t["position_m"][1] / math.cos(squint)) for t in scene.targets]
        grid = sar.image_grid(**report["grid"])
        for x, y in where:
            row = round((x - grid.origin_m[0]) / grid.row_spacing_m)
            col = round((y - grid.origin_m[1]) / grid.col_spacing_m)
            chip = abs(image[row - 12:row + 13, col - 12:col + 13])
            assert np.unravel_index(chip.argmax(), chip.shape) == pytest.approx((12, 12), abs=1)
        return
    for t, r in zip(scene.targets, judge(image, report, scene.targets, LIMITS)):
        for cut in (r["range"], r["azimuth"]):
            assert abs(cut["irw_m"] / cut["irw_theory_m"] - 1) < 0.015, t["name"]
            assert abs(cut["position_error_cells"]) < 1 / 32
        assert r["peak_amplitude"] == pytest.approx(1, rel=0.02)


def test_unknown_algorithm():
    with pytest.raises(focus.FocusError, match="algorithm is 'csar'; expected one of: rda, omegak"):
        focus.range_doppler(Strip(0.0).recording(), algorithm="csar")


# ---- ultra-high resolution --------------------------------------------------------------

NOISE_POWER = 100.0  # of a raw sample, against a unit echo: 20 dB above it


@functools.lru_cache(maxsize=1)
def ultra_high_resolution():
    """X band, PRF 5 kHz, 800 MHz, 1200 pulses of 800 samples; one point, in noise."""
    scene = Strip(0.0, pulses=1200, carrier_hz=9.6e9, bandwidth_hz=800e6, sample_rate_hz=960e6,
                  pulse_length_s=0.3e-6, prf_hz=5000.0, slant_range_m=150.0, speed_m_s=120.0,
                  beam_rad=0.2, swath_m=69.55, noise_power=NOISE_POWER,
                  targets=lambda h: [{"name": "point", "amplitude": 1.0,
                                      "position_m": (*h["scene_centre_m"][:2], 0.0)}])
    assert scene.lines.shape == (1200, 800)
    return scene


def width_and_snr(image, report, target):
    """(widest -3 dB width, m; power of the peak over the mean of noise beside it, dB)."""
    m = sar.measure_point_target(
        np.ascontiguousarray(image, np.complex64), sar.image_grid(**report["grid"]),
        tuple(target["position_m"]), range_window="rect", azimuth_window="rect",
        **strip_aperture(report["geometry"], target["position_m"]))
    assert m["found"], m["failures"]
    g = report["grid"]
    row = round((target["position_m"][0] - g["origin_m"][0]) / g["row_spacing_m"])
    col = round((target["position_m"][1] - g["origin_m"][1]) / g["col_spacing_m"])
    # rows in the middle, ranges beyond the sidelobes and within the swath of whole pulses
    noise = np.concatenate([image[row - 300:row + 300, col - 180:col - 60],
                            image[row - 300:row + 300, col + 60:col + 180]], axis=1)
    widest = max(m["range"]["irw_m"], m["azimuth"]["irw_m"])
    return widest, 10 * math.log10(m["peak_amplitude"] ** 2 / np.mean(np.abs(noise) ** 2)), m


@pytest.mark.parametrize("algorithm", ["rda", "omegak", "bp"])
def test_ultra_high_resolution(algorithm):
    """0.28 m or better without a window and 32.7 dB of signal over noise, in 1200 x 800."""
    scene = ultra_high_resolution()
    rec = scene.recording()
    image, report = focus.range_doppler(rec, algorithm="rda" if algorithm == "rda" else "omegak",
                                        backend="cpu", fft_length=1200)
    if algorithm == "bp":
        rec.tx = np.array(scene.track.positions(0.0, 5000.0, 1200))
        other, _ = focus.focus(rec, sar.image_grid(**report["grid"]), backend="cpu")
        # the wavenumber image of the same raw lines, of the beam's middle nine tenths
        _, _, m = width_and_snr(image, report, scene.targets[0])
        image = other
    assert image.shape == (1200, 800)
    width, snr, mine = width_and_snr(image, report, scene.targets[0])
    print(f"{algorithm}: {width:.4f} m, {snr:.2f} dB")
    assert width < 0.28
    assert snr > 32.7
    if algorithm == "bp":
        for direction in ("range", "azimuth"):
            assert abs(mine[direction]["position_error_cells"]
                       - m[direction]["position_error_cells"]) < 0.1
        assert mine["peak_amplitude"] == pytest.approx(m["peak_amplitude"], rel=0.012)
        assert mine["phase_error_rad"] == pytest.approx(m["phase_error_rad"], abs=0.05)


# ---- real echoes ------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["omegak", "csa"])
@pytest.mark.parametrize("name", ["english_bay_ships", "coal_ferry"])
def test_radarsat_is_as_sharp_as_by_range_doppler(radarsat, name, algorithm):
    rec = open_recording(f"{radarsat}/{name}.sigmf-meta")
    keep = dict(window="kaiser(2.5)", azimuth_window="kaiser(2.5)", backend="cpu")
    image, report = focus.range_doppler(rec, algorithm=algorithm, **keep)
    other, reference = focus.range_doppler(rec, **keep)
    a, b = report["quality"], reference["quality"]
    assert a["contrast"] > 0.998 * b["contrast"]
    assert a["entropy_nat"] < b["entropy_nat"] + 0.005
    assert a["peak_to_median_db"] > b["peak_to_median_db"] - 0.1
    assert a["peak_pixel"] == pytest.approx(b["peak_pixel"], abs=1)
    # and the picture is the same one
    x, y = np.abs(image).ravel(), np.abs(other).ravel()
    assert np.corrcoef(x, y)[0, 1] > 0.99
