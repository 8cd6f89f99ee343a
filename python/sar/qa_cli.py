# SPDX-License-Identifier: GPL-3.0-or-later
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from gnuradio import sar
from gnuradio.sar import cli, reference
from gnuradio.sar.focus import focus
from gnuradio.sar.grids import auto_grid
from gnuradio.sar.measure import find_peak, grid_of, load_result
from gnuradio.sar.recordings import RecordingError, open_recording

SMALL = ["--pulses", "300", "--scene", "60", "--bandwidth", "100e6", "--prf", "100",
         "--target", "1.3,-2.2", "--target", "-17,-15,0,0.5,90", "--target", "18,-16,0,0.7,200"]
# three targets: 40 samples a cell line, aperture of 3 s at 100 m/s


@pytest.fixture(autouse=True)
def quiet_blocks():
    from gnuradio import gr

    level = gr.logging().default_level()
    gr.logging().set_default_level(gr.log_levels.off)
    yield
    gr.logging().set_default_level(level)


def run(*args):
    return cli.main([str(a) for a in args])


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    base = tmp_path_factory.mktemp("scene") / "s"
    assert run("simulate", base, "--quiet", *SMALL) == 0
    return base


@pytest.fixture(scope="module")
def focused(scene):
    out = scene.parent / "focused"
    assert run("focus", scene, "-o", out, "--quiet", "--size", "100", "--backend", "cpu") == 0
    return out


def test_simulated_recording(scene):
    rec = open_recording(scene)
    assert rec.num_pulses == 300 and rec.dropped_samples == 0
    assert [t["position_m"] for t in rec.hints["targets"]] == [
        (1.3, -2.2, 0), (-17, -15, 0), (18, -16, 0)]
    assert rec.tx.shape == (300, 3) and rec.acq.look_side == "right"


def test_simulated_strip_map(tmp_path, capsys):
    assert run("simulate", tmp_path / "s", "--mode", "stripmap", "--squint", "10", "--pulses",
               "500", "--target", "3,-4", "--target", "-7,5,0,0.5,90") == 0
    assert "5.76 PRFs" in capsys.readouterr().out
    rec = open_recording(tmp_path / "s")
    acq = rec.acq
    squint = np.radians(10)
    assert rec.hints["mode"] == "stripmap" and rec.num_pulses == 500
    assert rec.hints["beam_rad"] == 0.0192 and rec.hints["beam_squint_rad"] == squint
    assert acq.doppler_centroid_hz == pytest.approx(2 * 150 * np.sin(squint) / acq.wavelength_m())
    assert acq.effective_velocity_m_s == 150 and acq.look_side == "left"
    np.testing.assert_allclose(rec.tx, np.outer(np.arange(500) * 150 / 160, (1, 0, 0)), atol=1e-9)
    # the middle of the scene is abeam of the beam's middle at mid-track
    x = rec.tx[:, 0].mean() + 12e3 * np.tan(squint)
    assert [t["position_m"] for t in rec.hints["targets"]] == [
        pytest.approx((x + 3, 12e3 - 4, 0)), pytest.approx((x - 7, 12e3 + 5, 0))]
    # echoes of both targets in the middle of the track, whole pulses, none at its ends
    power = np.sum(np.abs(rec.lines()) ** 2, axis=1)
    noise = 0.01 * acq.samples
    assert np.all(power[:20] < 1.5 * noise) and np.all(power[-20:] < 1.5 * noise)
    assert power[250] == pytest.approx(acq.pulse_samples() * (1 + 0.25) + noise, rel=0.25)
    # as long as the beam is wide
    lit = np.count_nonzero(power > acq.pulse_samples() * 0.1)
    seen = 12e3 * (np.tan(squint + 0.0096) - np.tan(squint - 0.0096)) * 160 / 150
    assert lit == pytest.approx(seen + 10 * 160 / 150, abs=6)


def test_report_has_its_fields(scene, focused):
    report = json.load(open(focused / "report.json"))
    assert report["input"] == [str(scene)] and report["algorithm"] == "bp"
    assert report["backend"] == "cpu" and report["device"].startswith("cpu")
    assert report["accuracy"]["mode"] == "auto"
    assert 0 <= report["accuracy"]["phase_error_bound_rad"] < 0.01
    grid = report["grid"]
    for key in ("origin_m", "row_axis", "col_axis"):
        assert len(grid[key]) == 3
    image = np.load(focused / "image.npy")
    assert image.dtype == np.complex64 and image.shape == (grid["rows"], grid["cols"])
    for key in ("dropped_samples", "outside_pixels", "skipped_pulses"):
        assert report[key] == 0, key
    for key in ("recording_source", "pulse_compression", "bp_accumulator", "image_sink", "total"):
        assert report["timings_s"][key] >= 0
    assert report["range_bias_m"] == 0 and report["clock_offset_s"] == 0
    assert report["quality"]["contrast"] > 2 and report["notes"]
    assert (focused / "image.png").exists()


def test_targets_are_where_they_were_put(focused):
    """The pixel equation of the report leads to each target: a mirrored image fails."""
    image, report = load_result(focused)
    grid = report["grid"]
    o, r, c = (np.array(grid[k]) for k in ("origin_m", "row_axis", "col_axis"))
    for t in report["targets"]:
        d = np.array(t["position_m"]) - o
        i, j = d @ r / grid["row_spacing_m"], d @ c / grid["col_spacing_m"]
        i, j = int(round(i)), int(round(j))
        patch = np.abs(image[i - 1 : i + 2, j - 1 : j + 2])
        assert patch.max() == pytest.approx(abs(complex(*t["amplitude"])), rel=0.1)
        found, _ = find_peak(image, grid_of(grid), t["position_m"], 1.0)
        assert np.linalg.norm(np.array(found) - t["position_m"]) < 0.1


def test_measure_passes_and_fails(focused, capsys, tmp_path):
    assert run("measure", focused) == 0
    assert capsys.readouterr().out.count("PASS") == 4  # three targets and the summary
    image, report = load_result(focused)
    report["targets"][1]["position_m"][0] += 0.5
    json.dump(report, open(tmp_path / "report.json", "w"))
    np.save(tmp_path / "image.npy", image)
    assert run("measure", tmp_path) == 1
    out = capsys.readouterr().out
    assert "FAIL" in out and "2 of 3 targets PASS" in out
    assert run("measure", tmp_path / "nowhere") == 1
    assert run("measure", focused, "--target", "-17,-15", "--limit", "0.1") == 0
    assert run("measure", focused, "--target", "-17,15", "--limit", "0.1") == 1


def test_focus_equals_the_reference(scene):
    """The whole chain against float64, everywhere in the image."""
    rec = open_recording(scene)
    grid = sar.image_grid.centred((0, -5, 0), (0, -1, 0), (1, 0, 0), 0.8, 0.8, 61, 64)
    # hamming: the jump of the window at the band's edges falls between other bins there
    for window, accuracy, limit in (("rect", "exact", -70), ("rect", "auto", -50),
                                    ("hamming", "exact", -60), ("hamming", "auto", -50)):
        lines = reference.compress(rec.acq, rec.lines(), 4, window)
        truth = reference.backproject(rec.acq, lines, rec.tx, grid, oversampling=4)
        image, report = focus(rec, grid, window=window, accuracy=accuracy, backend="cpu")
        error = np.abs(image - truth).max() / np.abs(truth).max()
        assert 20 * np.log10(error) < limit, (window, accuracy)
        assert report["pulses"] == 300


def test_polar_format(scene, tmp_path, capsys):
    """On the grid of back-projection, and the same image there."""
    grid = ("--size", "100", "--backend", "cpu", "--no-swap-check")
    for algorithm, more in (("pfa", []), ("bp", ["--interpolation", "sinc16", "--oversampling", "4"])):
        assert run("focus", scene, "-o", tmp_path / algorithm, "--algorithm", algorithm, *grid,
                   *more) == 0
    assert "points are displaced by up to" in capsys.readouterr().out
    image, report = load_result(tmp_path / "pfa")
    other, theirs = load_result(tmp_path / "bp")
    assert report["algorithm"] == "pfa" and report["grid"] == theirs["grid"]
    assert 10 * np.log10(np.sum(np.abs(image - other) ** 2) / np.sum(np.abs(other) ** 2)) < -50
    assert report["curvature"]["phase_error_rad"] < 0.1 and report["pulses"] == 300
    assert run("measure", tmp_path / "pfa") == 0
    # several apertures, weighted
    assert run("focus", scene, "-o", tmp_path / "two", "--algorithm", "pfa", *grid, "--quiet",
               "--pulses-per-image", 150, "--azimuth-window", "hann") == 0
    report = json.load(open(tmp_path / "two" / "report.json"))
    assert [i["first_pulse"] for i in report["images"]] == [0, 150]
    assert report["azimuth_window"] == "hann"


def test_several_apertures(scene, tmp_path):
    assert run("focus", scene, "-o", tmp_path, "--quiet", "--pulses-per-image", 150,
               "--size", "20", "--no-swap-check") == 0
    report = json.load(open(tmp_path / "report.json"))
    assert [i["first_pulse"] for i in report["images"]] == [0, 150]
    assert report["image_file"].endswith("image_0001.npy")
    rec = open_recording(scene, start=150)
    assert report["geometry"]["aperture_start_m"] == pytest.approx(rec.tx[0].tolist())


def test_swapped_iq_gets_a_hint(scene, tmp_path, capsys):
    assert run("focus", scene, "-o", tmp_path, "--quiet", "--swap-iq") == 0
    assert "swap I/Q?" in capsys.readouterr().err
    assert any("swap I/Q?" in n for n in json.load(open(tmp_path / "report.json"))["notes"])
    # without known targets contrast tells
    rec = open_recording(scene, swap_iq=True)
    del rec.hints["targets"]
    from gnuradio.sar.focus import swap_hint

    grid, _ = auto_grid(rec)
    image, _ = focus(rec, grid, backend="cpu")
    assert "swap I/Q?" in swap_hint(rec, grid, image, {"backend": "cpu"})
    right = open_recording(scene)
    del right.hints["targets"]
    image, _ = focus(right, grid, backend="cpu")
    assert swap_hint(right, grid, image, {"backend": "cpu"}) == ""


def test_nothing_in_the_image_is_said(scene, tmp_path, capsys):
    assert run("focus", scene, "-o", tmp_path, "--centre", "5000,0", "--size", "10",
               "--spacing", "1") == 0
    assert "image is empty" in capsys.readouterr().out


def test_bad_position_skips_the_pulse(scene):
    rec = open_recording(scene)
    rec.tx[7] = np.nan
    rec.tx[9] = np.inf
    grid = sar.image_grid.centred((1.3, -2.2, 0), (0, -1, 0), (1, 0, 0), 0.5, 0.5, 9, 9)
    image, report = focus(rec, grid, backend="cpu")
    assert report["skipped_pulses"] == 2 and report["pulses"] == 298
    assert np.isfinite(image).all() and abs(image[4, 4]) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("args,sentence", [
    (["focus", "nothing.sigmf-meta", "-o", "{tmp}"], "nothing.sigmf-meta does not exist"),
    (["focus", "{scene}", "-o", "{tmp}/file/below"], "Not a directory"),
    (["focus", "{scene}", "-o", "{tmp}", "--start", "400"], "holds no pulse"),
    (["focus", "{scene}", "-o", "{tmp}", "--start", "x"], "--start is 'x'"),
    (["focus", "{scene}", "-o", "{tmp}", "--window", "blackmann"], "blackmann"),
    (["focus", "{scene}", "-o", "{tmp}", "--set", "prf=3"], "'prf' is not a parameter"),
    (["focus", "{scene}", "-o", "{tmp}", "--set", "prf_hz=-3"], "prf_hz is -3"),
    (["focus", "{scene}", "-o", "{tmp}", "--grid", "1,2,3"], "--grid is '1,2,3'"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "bp", "--no-src"], "--no-src has no meaning for --algorithm bp"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "omegak", "--no-src"], "--no-src has no mean"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "csa", "--interpolation", "sinc8"],
     "--interpolation has no meaning for --algorithm csa"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "rda", "--size", "9"], "--size has no mean"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "bp", "--curvature", "warn"],
     "--curvature has no meaning for --alg"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "pfa", "--accuracy", "fast"],
     "--accuracy has no meaning for --algorithm pfa"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "pfa", "--size", "5000", "--spacing", "9"],
     "pixels of the grid lie at a range of"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "rda", "--fft-length", "9"],
     "fft_length is 9"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "rda", "--storage", "half"],
     "storage is 'half'"),
    (["focus", "{scene}", "-o", "{tmp}", "--algorithm", "rda", "--doppler-centroid", "1e6"],
     "nothing can be seen"),
    (["focus", "{scene}", "-o", "{tmp}", "--grid", "1,0,0,5"], "grid bounds"),
    (["focus", "{scene}", "-o", "{tmp}", "--positions", "{tmp}/file"], "file"),
    (["simulate", "{tmp}/s", "--altitude", "20e3"], "altitude_m is 20000"),
    (["simulate", "{tmp}/s", "--beam", "0.1"], "--beam has no meaning for --mode spotlight"),
    (["simulate", "{tmp}/s", "--mode", "stripmap", "--scene", "9"], "--scene has no meaning"),
    (["simulate", "{tmp}/s", "--mode", "stripmap", "--beam", "0"], "beam_rad is 0"),
    (["simulate", "{tmp}/s", "--mode", "stripmap", "--squint", "80"], "squint_deg is 80"),
    (["simulate", "{tmp}/s", "--datatype", "complex64"], "core:datatype is 'complex64'"),
    (["info", "{tmp}"], "without scans.json"),
])
def test_errors_are_one_sentence(scene, tmp_path, capsys, args, sentence):
    (tmp_path / "file").write_text("x,y\n")
    args = [a.replace("{tmp}", str(tmp_path)).replace("{scene}", str(scene)) for a in args]
    assert cli.main(args) == 1
    err = capsys.readouterr().err.strip().splitlines()
    assert len(err) == 1 and err[0].startswith("gr_sar: ") and sentence in err[0], err


def test_cuda_that_is_not_there_fails_with_the_reason(scene, tmp_path, capsys):
    try:
        sar.backend_description("cuda")
    except RuntimeError as e:
        reason = str(e)
    else:
        pytest.skip("CUDA is here; the refusal is tested on machines without")
    assert run("focus", scene, "-o", tmp_path, "--backend", "cuda") == 1
    assert " ".join(reason.split()) in capsys.readouterr().err
    assert run("focus", scene, "-o", tmp_path, "--size", "10") == 0
    assert "runs on cpu" in capsys.readouterr().out


def test_truncated_recording_says_what_was_dropped(scene, tmp_path, capsys):
    import shutil

    for suffix in (".sigmf-meta", ".sigmf-data", ".nav.csv"):
        shutil.copy(str(scene) + suffix, tmp_path / ("s" + suffix))
    os.truncate(tmp_path / "s.sigmf-data", os.path.getsize(tmp_path / "s.sigmf-data") - 5)
    assert run("focus", tmp_path / "s", "-o", tmp_path / "o", "--size", "10") == 0
    report = json.load(open(tmp_path / "o" / "report.json"))
    assert report["dropped_samples"] == open_recording(scene).acq.samples - 1
    assert report["pulses"] == 299
    assert f"dropped samples: {report['dropped_samples']}" in capsys.readouterr().out


def test_grid_from_another_report(focused, scene, tmp_path):
    assert run("focus", scene, "-o", tmp_path, "--quiet", "--grid", focused / "report.json") == 0
    a, b = np.load(tmp_path / "image.npy"), np.load(focused / "image.npy")
    # not to the bit: how many pulses are added at once depends on the scheduler
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


def test_grid_options(scene):
    rec = open_recording(scene)
    grid, notes = auto_grid(rec, bounds=(-10, 10, -5, 5), spacing=0.5, z=2)
    assert (grid.rows, grid.cols) == (20, 40) and grid.origin_m == (-10, 5, 2)
    grid, _ = auto_grid(rec, centre=(3, 4), size=(10, 20), spacing=(0.5, 1))
    assert (grid.rows, grid.cols) == (20, 20) and grid.position(10, 10) == (3, 4, 0)
    del rec.hints["scene_centre_m"], rec.hints["scene_extent_m"]
    grid, notes = auto_grid(rec)  # out of swath and look side: the scene at the origin
    middle = np.array(grid.position(grid.rows / 2, grid.cols / 2))
    assert np.linalg.norm(middle) < 30 and any("swath" in n for n in notes)
    rec.tx = None
    with pytest.raises(RecordingError, match="no antenna positions"):
        auto_grid(rec)


def test_script_runs_and_pipes(scene, tmp_path):
    root = os.environ.get("SAR_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
    script = os.path.join(root, "python", "sar", "gr_sar")
    data = open(str(scene) + ".sigmf-data", "rb").read()
    done = subprocess.run(
        [sys.executable, script, "focus", "-", "--meta", str(scene) + ".sigmf-meta", "--positions",
         str(scene) + ".nav.csv", "-o", str(tmp_path), "--size", "20"], input=data,
        capture_output=True)
    assert done.returncode == 0, done.stderr
    text = subprocess.run([sys.executable, script, "focus", "--help"], capture_output=True,
                          text=True).stdout
    for word in ("examples:", "accuracy", "-45 dB", "-80 dB", "auto", "--range-bias"):
        assert word in text
    for command in ("simulate", "info", "measure", "convert", "demo", "doctor"):
        done = subprocess.run([sys.executable, script, command, "--help"], capture_output=True)
        assert done.returncode == 0 and len(done.stdout) > 100


@pytest.fixture(scope="module")
def strip(tmp_path_factory):
    base = tmp_path_factory.mktemp("strip") / "s"
    assert run("simulate", base, "--quiet", "--mode", "stripmap", "--squint", "10") == 0
    return base


def test_range_doppler(strip, tmp_path, capsys):
    assert run("focus", strip, "-o", tmp_path, "--algorithm", "rda", "--backend", "cpu") == 0
    out = capsys.readouterr().out
    assert "nothing wraps" in out and "(5.76 PRFs), from: recording" in out
    report = json.load(open(tmp_path / "report.json"))
    assert report["algorithm"] == "rda" and report["geometry"]["plane"] == "slant"
    for key in ("recording_source", "range_doppler_imager", "image_sink", "total"):
        assert report["timings_s"][key] >= 0
    assert report["images"][0]["plane"] == "slant" and report["images"][0]["complete"]
    assert report["doppler_centroid"]["from"] == "recording"
    assert run("measure", tmp_path) == 0
    assert "5 of 5 targets PASS" in capsys.readouterr().out
    # out of focus the same figures fail, and so they do with all else right
    assert run("focus", strip, "-o", tmp_path, "--algorithm", "rda", "--backend", "cpu", "--quiet",
               "--no-src") == 0
    assert run("measure", tmp_path) == 1


@pytest.mark.parametrize("algorithm", ["omegak", "csa"])
@pytest.mark.parametrize("options", [[], ["--stages"], ["--oversampling", "2"]], ids=str)
def test_other_algorithms_of_the_doppler_domain(strip, tmp_path, capsys, algorithm, options):
    assert run("focus", strip, "-o", tmp_path, "--algorithm", algorithm, "--backend", "cpu",
               *options, "--quiet") == 0
    report = json.load(open(tmp_path / "report.json"))
    assert report["algorithm"] == algorithm and report["geometry"]["plane"] == "slant"
    assert run("measure", tmp_path) == 0, capsys.readouterr().out


@pytest.mark.parametrize("options", [
    ["--stages"], ["--stages", "--storage", "half"], ["--geometry", "centroid"], ["--looks", "2"],
    ["--valid"], ["--interpolation", "sinc16", "--oversampling", "2"],
    ["--doppler-centroid", "920.97"], ["--azimuth-bandwidth", "60", "--fft-length", "1200"]])
def test_range_doppler_options(strip, tmp_path, capsys, options):
    assert run("focus", strip, "-o", tmp_path, "--algorithm", "rda", "--backend", "cpu", *options,
               "--quiet") == 0
    assert run("measure", tmp_path) == 0, capsys.readouterr().out
    report = json.load(open(tmp_path / "report.json"))
    assert report["chain"] == ("stages" if "--stages" in options else "fused")


def test_range_doppler_needs_no_positions(strip, tmp_path, capsys):
    import shutil

    for suffix in (".sigmf-meta", ".sigmf-data"):
        shutil.copy(str(strip) + suffix, tmp_path / ("s" + suffix))
    meta = json.load(open(tmp_path / "s.sigmf-meta"))
    del meta["global"]["sar:positions"]
    json.dump(meta, open(tmp_path / "s.sigmf-meta", "w"))
    assert run("focus", tmp_path / "s", "-o", tmp_path / "o", "--backend", "cpu") == 0
    assert "algorithm rda" in capsys.readouterr().out
    assert run("measure", tmp_path / "o") == 0
    assert run("focus", tmp_path / "s", "-o", tmp_path / "o", "--set",
               "effective_velocity_m_s=0") == 1
    said = capsys.readouterr().err
    assert "neither antenna positions" in said and "effective velocity" in said


def test_noise_is_not_called_an_image(tmp_path, capsys):
    """Neither the conjugate nor the other chirp is better: the numbers to look at are named."""
    assert run("simulate", tmp_path / "n", "--quiet", "--mode", "stripmap", "--pulses", "500",
               "--target", "0,0,0,0", "--noise", "0") == 0
    assert run("focus", tmp_path / "n", "-o", tmp_path / "o", "--algorithm", "rda", "--backend",
               "cpu", "--quiet") == 0
    said = capsys.readouterr().err
    assert "not focused? the contrast is 0.5" in said and "effective velocity" in said


def test_info_and_doctor(scene, capsys):
    assert run("info", scene) == 0
    out = capsys.readouterr().out
    assert "300 of" in out and "chirp_rate_hz_per_s" in out and "target" in out
    assert run("info", scene, "--json") == 0
    assert json.loads(capsys.readouterr().out)["pulses"] == 300
    assert run("doctor", "--only", "module") == 0
    assert "auto runs on" in capsys.readouterr().out


def test_demo(tmp_path, capsys):
    assert run("demo", "-o", tmp_path) == 0
    assert "5 of 5 targets PASS" in capsys.readouterr().out


# ---- recordings of others ---------------------------------------------------------------


def test_gotcha_with_defaults(gotcha, tmp_path, capsys):
    assert run("focus", *gotcha, "-o", tmp_path) == 0
    captured = capsys.readouterr()
    assert "swap" not in captured.err and "pixel spacing" in captured.out
    image, report = load_result(tmp_path)
    grid = grid_of(report["grid"])
    assert 90 < grid.rows * grid.row_spacing_m < 110 and 90 < grid.cols * grid.col_spacing_m < 110
    assert np.array(report["quality"]["peak_position_m"])[:2] == pytest.approx(
        [-15.60, 21.55], abs=0.1)
    # the picture: 1 to 5 % saturated, the median at least 30 dB below the maximum
    from PIL import Image

    png = np.array(Image.open(tmp_path / "image.png"))
    assert 0.01 <= np.mean(png == 255) <= 0.05
    assert report["quality"]["peak_to_median_db"] >= 30
    # the whole image against float64
    rec = open_recording(gotcha)
    lines = reference.compress(rec.acq, rec.lines(), 4)
    truth = reference.backproject(rec.acq, lines, rec.tx, grid, oversampling=4)
    error = 10 * np.log10(np.sum(np.abs(image - truth) ** 2) / np.sum(np.abs(truth) ** 2))
    assert error < -60
    # as far east and north as UTM goes: the same image
    far = (4.0e5, 5.2e6, 0.0)
    moved = open_recording(gotcha)
    moved.tx = moved.tx + far
    moved.acq = moved.acq.replace(reference_point_m=far)
    g = report["grid"]
    there = sar.image_grid(tuple(np.add(g["origin_m"], far)), g["row_axis"], g["col_axis"],
                           g["row_spacing_m"], g["col_spacing_m"], g["rows"], g["cols"])
    other, _ = focus(moved, there)
    change = np.abs(other - image).max() / np.abs(image).max()
    assert change < 1e-3


def test_gotcha_windows_and_landmarks(gotcha, tmp_path):
    assert run("focus", *gotcha, "-o", tmp_path, "--window", "hann", "--azimuth-window", "hann",
               "--quiet", "--spacing", "0.1", "--centre", "-22,30", "--size", "30") == 0
    image, report = load_result(tmp_path)
    grid = grid_of(report["grid"])
    p1, a1 = find_peak(image, grid, (-15.60, 21.55, 0), 1)
    p2, a2 = find_peak(image, grid, (-27.80, 38.80, 0), 1)
    assert np.linalg.norm(np.subtract(p1, (-15.60, 21.55, 0))) <= 0.1
    assert np.linalg.norm(np.subtract(p2, (-27.80, 38.80, 0))) <= 0.15
    assert 20 * np.log10(a1 / a2) == pytest.approx(5.3, abs=0.5)


def test_gotcha_swapped(gotcha, tmp_path, capsys):
    assert run("focus", *gotcha, "-o", tmp_path, "--quiet", "--swap-iq") == 0
    assert "swap I/Q?" in capsys.readouterr().err


def test_rail(rail, tmp_path, capsys):
    assert run("focus", rail, "-o", tmp_path, "--clock-offset", "9.28", "--range-bias", "0.46") == 0
    out = capsys.readouterr().out
    assert "range bias 0.46 m, clock offset 9.28 s" in out
    report = json.load(open(tmp_path / "report.json"))
    assert (report["range_bias_m"], report["clock_offset_s"]) == (0.46, 9.28)
    assert run("measure", tmp_path) == 0  # both reflectors within 0.20 m
    assert run("focus", rail, "-o", tmp_path, "--clock-offset", "9.28", "--quiet") == 0
    assert run("measure", tmp_path) == 1  # without the bias


def test_rail_converted_to_sigmf(rail, tmp_path):
    assert run("convert", rail, "-o", tmp_path / "r", "--clock-offset", "9.28", "--quiet") == 0
    rec = open_recording(tmp_path / "r", range_bias_m=0.46)
    first = open_recording(rail, clock_offset_s=9.28)
    np.testing.assert_allclose(rec.tx, first.tx, atol=1e-6)
    np.testing.assert_allclose(rec.times_s, first.times_s, atol=1e-9)
    scale = np.abs(first.lines()).max()
    assert np.abs(rec.lines() - first.lines()).max() < 1e-6 * scale


def test_radarsat_needs_positions_for_back_projection(radarsat, tmp_path, capsys):
    name = os.path.join(radarsat, "english_bay_ships.sigmf-meta")
    assert run("focus", name, "-o", tmp_path, "--algorithm", "bp") == 1
    assert "no antenna positions" in capsys.readouterr().err
    assert run("info", name) == 0
    assert "-721350000000" in capsys.readouterr().out


def test_radarsat_with_defaults(radarsat, tmp_path, capsys):
    """No positions, an effective velocity: range-Doppler, and said so."""
    name = os.path.join(radarsat, "english_bay_ships.sigmf-meta")
    assert run("focus", name, "-o", tmp_path, "--window", "kaiser(2.5)", "--azimuth-window",
               "kaiser(2.5)", "--backend", "cpu") == 0
    captured = capsys.readouterr()
    assert "algorithm rda: range-Doppler, the first of the 3 that fit" in captured.out
    assert "back-projection (bp): the recording has no antenna positions" in captured.out
    assert "Doppler centroid -6900.00 Hz (-5.49 PRFs), from: recording" in captured.out
    assert "hint" not in captured.err
    image, report = load_result(tmp_path)
    assert report["algorithm"] == "rda" and report["chain"] == "fused"
    # 1536 lines, an aperture of 900, and the swath's shear: nothing wraps
    assert report["frame"]["fft_length"] >= 1536 + 900 and image.shape == (
        report["frame"]["fft_length"], 2048)
    assert report["quality"]["contrast"] > 2 and report["quality"]["cols"] == [15, 683]
    # the beam looks back: what it sees has its closest approach 27 km before
    x = report["grid"]["origin_m"][0]
    assert -31e3 < x < -27e3


def test_radarsat_out_of_focus(radarsat, tmp_path, capsys):
    name = os.path.join(radarsat, "english_bay_ships.sigmf-meta")
    assert run("focus", name, "-o", tmp_path, "--quiet", "--backend", "cpu", "--set",
               "chirp_rate_hz_per_s=0.72135e12") == 0
    said = capsys.readouterr().err
    assert "hint: wrong sign of the chirp rate?" in said and "-7.2135e+11" in said
    assert any("chirp rate?" in n for n in json.load(open(tmp_path / "report.json"))["notes"])
