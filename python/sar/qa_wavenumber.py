# SPDX-License-Identifier: GPL-3.0-or-later
"""The wavenumber (omega-k) chain against theory, range-Doppler and back-projection: wide
bands, wide beams, squint; the limits are those of back-projection."""

import functools
import importlib.util
import math

import numpy as np
import pytest
from conftest import backends
from qa_range_doppler import SOURCE, Strip, energy_db, judge, quiet_blocks  # noqa: F401 (a fixture)

from gnuradio import sar
from gnuradio.sar import focus, reference
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

@functools.lru_cache(maxsize=1)
def ultra_high_resolution():
    """What examples/ultra_high_resolution.py measures, and the script itself."""
    spec = importlib.util.spec_from_file_location(
        "ultra_high_resolution", SOURCE / "examples" / "ultra_high_resolution.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example, example.run(backend="cpu")


@pytest.mark.parametrize("algorithm", ["rda", "omegak", "bp"])
def test_ultra_high_resolution(algorithm):
    """0.28 m or better without a window and 32.7 dB of signal over noise, in 1200 x 800."""
    example, result = ultra_high_resolution()
    assert (example.WIDEST_M, example.LEAST_SNR_DB, example.NOISE_DB) == (0.28, 32.7, 20.0)
    mine, other = result[algorithm], result["omegak"]
    assert mine["shape"] == [1200, 800]
    print(f"{algorithm}: {mine['width_m']:.4f} m, {mine['snr_db']:.2f} dB")
    assert mine["width_m"] < 0.28
    assert mine["snr_db"] > 32.7
    if algorithm == "omegak":
        return
    for direction in ("range", "azimuth"):
        assert abs(mine[direction]["position_error_cells"]
                   - other[direction]["position_error_cells"]) < 0.1
    assert mine["peak_amplitude"] == pytest.approx(other["peak_amplitude"], rel=0.012)
    assert mine["phase_error_rad"] == pytest.approx(other["phase_error_rad"], abs=0.05)


def test_ultra_high_resolution_counts_images(monkeypatch):
    """The speed that the example prints: of images that really came, without what starting costs."""
    example, _ = ultra_high_resolution()
    rec, _ = example.echoes()
    example.seconds_for(2, rec, None, "omegak", "cpu")  # raises unless two came
    monkeypatch.setattr(example, "seconds_for", lambda frames, *_: 3 + 0.5 * frames)
    assert example.images_a_second(rec, None, "rda", "cpu", 12) == pytest.approx(2)


def test_ultra_high_resolution_without_times(monkeypatch, capsys):
    example, result = ultra_high_resolution()
    monkeypatch.setattr(example, "run", lambda *_: result)
    monkeypatch.setattr("sys.argv", ["ultra_high_resolution.py", "--frames", "0"])
    example.main()
    said = capsys.readouterr().out
    assert said.count("PASS") == 3 and "images/s" not in said


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


@pytest.mark.parametrize("algorithm", ["omegak", "csa"])
def test_radarsat_in_single_precision_keeps_its_phase(radarsat, algorithm):
    """990 km away: the complex image against range-Doppler in float64, which shares no code with the
    blocks; what the algorithms differ by at 30 MHz is less."""
    scene = open_recording(f"{radarsat}/english_bay_ships.sigmf-meta")
    kaiser = dict(window="kaiser(2.5)", azimuth_window="kaiser(2.5)", fft_length=2048)
    image, report = focus.range_doppler(scene, algorithm=algorithm, backend="cpu", **kaiser)
    lines = reference.compress(scene.acq, scene.lines(0, scene.num_pulses), 1, "kaiser(2.5)")
    truth = reference.range_doppler(
        scene.acq, lines, fft_length=2048, window="kaiser(2.5)",
        azimuth_bandwidth_hz=report["azimuth_bandwidth_hz"])[0]
    a, b = report["quality"]["cols"]
    x, y = image[:, a:b].astype(complex), truth[:, a:b]
    correlation = np.vdot(x, y) / np.linalg.norm(x) / np.linalg.norm(y)
    print(algorithm, abs(correlation), np.angle(correlation), energy_db(x, y))
    assert correlation.real > 0.999


@pytest.mark.parametrize("algorithm", ["omegak", "csa"])
def test_radarsat_with_the_wrong_chirp_is_reported(radarsat, algorithm):
    rec = open_recording(f"{radarsat}/english_bay_ships.sigmf-meta", chirp_rate_hz_per_s=0.72135e12)
    options = dict(algorithm=algorithm, backend="cpu")
    _, report = focus.range_doppler(rec, **options)
    assert report["quality"]["contrast"] < 1
    assert "wrong sign of the chirp rate?" in focus.focus_hint(rec, report, options)


# ---- left, right, near and far ----------------------------------------------------------


@pytest.mark.parametrize("chirp", ["up", "down"])
@pytest.mark.parametrize("squint", [0.0, -4.0])
@pytest.mark.parametrize("algorithm", ["omegak", "csa"])
def test_an_l_is_an_l(algorithm, squint, chirp):
    """Three points in the shape of an L are where they were put, and nowhere else: a mirrored or
    turned image is as sharp."""
    def corner(hints):
        x, r, _ = hints["scene_centre_m"]
        return [{"name": str(k), "amplitude": 1.0, "position_m": (x + a, r + b, 0.0)}
                for k, (a, b) in enumerate(((-40, -60), (60, -60), (-40, 110)))]

    scene = Strip(squint, targets=corner, chirp=chirp)
    image, report = focus.range_doppler(scene.recording(), algorithm=algorithm, backend="cpu")
    image = np.abs(image)
    grid = sar.image_grid(**report["grid"])
    for t in scene.targets:
        i, j = (round(v) for v in grid.index_of(tuple(t["position_m"])))
        part = image[i - 2:i + 3, j - 2:j + 3]
        assert part.max() > 0.8 and part.argmax() in (6, 7, 8, 11, 12, 13, 16, 17, 18)
        image[i - 12:i + 13, j - 12:j + 13] = 0
    assert image.max() < 0.1
