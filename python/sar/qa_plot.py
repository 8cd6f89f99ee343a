# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures: what is drawn stands where it is, and the numbers are those of measure and focus."""

import re

import numpy as np
import pytest
from gnuradio import sar
from gnuradio.sar import focus, measure, plot, simulate
from gnuradio.sar.cli import main
from gnuradio.sar.recordings import Recording, open_recording

pytest.importorskip("matplotlib", reason="python3-matplotlib is not installed")
from PIL import Image  # noqa: E402


@pytest.fixture(scope="module")
def strip(tmp_path_factory):
    """A strip map with a Doppler centroid of 2.3 PRFs; its folder and its image's."""
    folder = tmp_path_factory.mktemp("strip")
    base = str(folder / "strip")
    assert main(["simulate", base, "--mode", "stripmap", "--squint", "4", "--pulses", "640",
                 "--swath", "300", "--quiet"]) == 0
    assert main(["focus", base + ".sigmf-meta", "-o", str(folder / "image"), "--algorithm", "rda",
                 "--quiet"]) == 0
    return base + ".sigmf-meta", str(folder / "image")


@pytest.fixture(scope="module")
def spot(tmp_path_factory):
    """A spotlight image by back-projection, three targets."""
    folder = tmp_path_factory.mktemp("spot")
    base = str(folder / "spot")
    assert main(["simulate", base, "--target", "3,-2", "--target", "-12,10,0,0.5,90", "--target",
                 "14,16", "--scene", "50", "--pulses", "600", "--quiet"]) == 0
    assert main(["focus", base + ".sigmf-meta", "-o", str(folder / "image"), "--size", "48",
                 "--quiet"]) == 0
    return base + ".sigmf-meta", str(folder / "image")


def picture_of(figure):
    """(values, left, right, bottom, top) of a figure's picture."""
    (shown,) = figure.axes[0].get_images()
    return shown.get_array(), *shown.get_extent()


def pixels(figure, tmp_path):
    """A figure as the PNG has it, and from its data's coordinates to a pixel."""
    path = tmp_path / "figure.png"
    plot.save(figure, str(path))
    rgb = np.array(Image.open(path).convert("RGB")).astype(int)
    axes = figure.axes[0]

    def at(x, y):
        column, row = axes.transData.transform((x, y))
        return round(rgb.shape[0] - row), round(column)

    return rgb, at


@pytest.mark.parametrize("row_axis,col_axis,plane", [
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), None), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), None),
    ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), None), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), "slant")])
def test_image_points_are_where_they_are(tmp_path, row_axis, col_axis, plane):
    rows, cols = 60, 90
    grid = sar.image_grid((100, -40, 0), row_axis, col_axis, 0.5, 0.4, rows, cols)
    x = np.full((rows, cols), 1e-4, np.complex64)
    points = [(8, 20), (40, 80), (50, 10)]
    for p in points:
        x[p[0] - 1 : p[0] + 2, p[1] - 1 : p[1] + 2] = 1
    figure = plot.image_figure(x, "complex", {"grid": focus.grid_dict(grid), "plane": plane},
                               dynamic_range_db=40, reference_db=0)
    rgb, at = pixels(figure, tmp_path)
    for i, j in points:
        px, py, _ = grid.position(float(i), float(j))
        assert rgb[at(px, py)].min() > 240
        assert rgb[at(px + 2, py)].max() < 20 and rgb[at(px, py + 2)].max() < 20
    axes = figure.axes[0]
    assert axes.get_xlabel() == ("along track, m" if plane else "x, m")
    assert axes.get_ylabel() == ("closest range, m" if plane else "y, m")
    bar = axes.child_axes[0]
    assert bar.get_ylabel() == "dB" and bar.get_ylim() == (-40, 0)
    assert axes.get_xlim()[0] < axes.get_xlim()[1] and axes.get_ylim()[0] < axes.get_ylim()[1]


def test_large_images_keep_their_peaks(monkeypatch):
    monkeypatch.setattr(plot, "PICTURE", 5000)
    x = np.full((300, 333), 1e-3, np.complex64)
    x[211, 100] = 1
    figure = plot.image_figure(x)
    values, left, right, bottom, top = picture_of(figure)
    assert values.size <= 5000 and values.max() == pytest.approx(0, abs=1e-4)
    i, j = np.unravel_index(np.argmax(values), values.shape)
    said = re.search(r"brightest of each (\d+) x (\d+) pixels", figure.axes[0].get_title())
    kr, kc = int(said[1]), int(said[2])
    # the middle of the pixels that the block is made of
    for got, pixel, k in ((left + (j + 0.5) * (right - left) / values.shape[1], 100, kc),
                          (bottom + (i + 0.5) * (top - bottom) / values.shape[0], 211, kr)):
        assert k > 1 and got == pytest.approx(pixel // k * k + (k - 1) / 2, abs=1e-9)


def test_a_focused_image(spot, tmp_path):
    figure, said = plot.folder_figure(spot[1])
    assert said == []
    values, left, right, bottom, top = picture_of(figure)
    i, j = np.unravel_index(np.argmax(values), values.shape)
    image, report = measure.load_result(spot[1])
    x, y, _ = report["quality"]["peak_position_m"]
    assert left + (j + 0.5) / values.shape[1] * (right - left) == pytest.approx(x, abs=1e-6)
    assert bottom + (i + 0.5) / values.shape[0] * (top - bottom) == pytest.approx(y, abs=1e-6)
    # targets are marked where the report has them
    marks = sorted(tuple(float(v[0]) for v in line.get_data()) for line in figure.axes[0].lines)
    np.testing.assert_allclose(marks, sorted([(3, -2), (-12, 10), (14, 16)]), atol=1e-6)


@pytest.mark.parametrize("which", ["spot", "strip"])
def test_cuts_show_what_measure_says(which, request):
    """Each number and each mark equals that of gr_sar measure; the curve passes through them."""
    folder = request.getfixturevalue(which)[1]
    image, report = measure.load_result(folder)
    expected = measure.measure(image, report, report["targets"])
    figure, rows = plot.cuts_figure(image, report, report["targets"])
    panes = figure.axes
    assert len(panes) == 2 * len(expected) and len(expected) >= 3
    for k, truth in enumerate(expected):
        assert truth["pass"], truth
        for axes, direction in zip(panes[2 * k : 2 * k + 2], ("range", "azimuth")):
            cut = truth[direction]
            assert axes.get_title() == f"{truth['name']}, {direction} cut"
            text = " ".join(t.get_text() for t in axes.get_legend().get_texts())
            number = r"(-?[0-9.]+)"
            for name, key, digits, unit in (("IRW", "irw_m", ".4g", "m"),
                                            ("PSLR", "pslr_db", ".2f", "dB"),
                                            ("ISLR", "islr_db", ".2f", "dB")):
                got = re.search(rf"{name} {number} {unit} \(theory {number} {unit}\)", text)
                theory = key.replace("_m", "_theory_m").replace("_db", "_theory_db")
                assert got.groups() == (format(cut[key], digits), format(cut[theory], digits))
            lines = {line.get_label().split(" ")[0]: line for line in axes.lines}
            x, level = lines["image"].get_data()
            width = np.array(lines["IRW"].get_xdata())
            assert width[1] - width[0] == pytest.approx(cut["irw_m"], rel=1e-6)
            np.testing.assert_allclose(np.interp(width, x, level), -3.01, atol=0.05)
            side, height = (float(v[0]) for v in lines["PSLR"].get_data())
            assert height == pytest.approx(cut["pslr_db"], abs=1e-9)
            assert np.interp(side, x, level) == pytest.approx(cut["pslr_db"], abs=1e-3)
            assert level.max() == pytest.approx(0, abs=1e-5) and abs(x[np.argmax(level)]) < 1e-9
            null = cut["irw_theory_m"] * 0.9  # beyond it, short of the second null
            assert null < abs(side) < 3 * null
            # theory is the window's: a sinc, unweighted
            t = lines["theory"].get_ydata()
            u = x / cut["cell_m"]
            near = np.abs(u) < 0.9
            np.testing.assert_allclose(t[near], 20 * np.log10(np.abs(np.sinc(u[near]))), atol=0.01)


def test_cuts_of_a_place_without_a_target(spot):
    figure, said = plot.folder_figure(spot[1], "cuts", targets=[
        {"name": "nothing", "position_m": (0.0, 200.0, 0.0)}])
    assert len(said) == 1 and "nothing: the expected position falls on pixel" in said[0]
    assert not figure.axes[0].lines and figure.axes[0].texts


def lines_of(doppler_hz, cell=30, pulses=700, centroid=0.0, prf=200.0, **fields):
    """A recording of compressed-like lines: one echo of one Doppler frequency, and noise."""
    acq = sar.acquisition(waveform="pulsed_lfm", samples=128, carrier_hz=5e9, prf_hz=prf,
                          sample_rate_hz=120e6, chirp_rate_hz_per_s=100e6 / 0.2e-6,
                          pulse_length_s=0.2e-6, slant_range_first_m=1000,
                          effective_velocity_m_s=100, doppler_centroid_hz=centroid, **fields)
    rng = np.random.default_rng(1)
    x = 1e-3 * (rng.normal(size=(pulses, 128)) + 1j * rng.normal(size=(pulses, 128)))
    x[:, cell] += np.exp(2j * np.pi * doppler_hz / prf * np.arange(pulses))
    return Recording(acq, lambda a, b: x[a:b].astype(np.complex64), pulses,
                     np.arange(pulses) / prf, paths=["made.sigmf-meta"])


@pytest.mark.parametrize("centroid,doppler", [(0.0, -60.0), (730.0, 790.0), (-510.0, -600.0)])
def test_range_doppler_and_doppler(centroid, doppler):
    rec = lines_of(doppler, centroid=centroid)
    values, left, right, bottom, top = picture_of(plot.range_doppler_figure(rec, raw=True))
    i, j = np.unravel_index(np.argmax(values), values.shape)
    assert bottom + (i + 0.5) / values.shape[0] * (top - bottom) == pytest.approx(
        doppler, abs=200 / 700)
    axis = rec.acq.compressed_axis(1)
    assert left + (j + 0.5) / values.shape[1] * (right - left) == pytest.approx(
        axis.first_m + 30 * axis.spacing_m)
    assert values.max() == pytest.approx(0, abs=1.5)
    f, power, count = plot.doppler_of(rec, raw=True)
    assert count == 700 and f[np.argmax(power)] == pytest.approx(doppler, abs=200 / 700)
    assert f[0] >= centroid - 100 - 1e-6 and f[-1] < centroid + 100


def test_long_recordings_are_averaged(monkeypatch):
    monkeypatch.setattr(plot, "SPECTRUM_LINES", 128)
    rec = lines_of(30.0, pulses=1000)
    f, power, count = plot.doppler_of(rec, raw=True)
    assert count == 128 and len(f) == 128
    # noise of 2e-6 a sample, Hann of 128 lines: 1.5 / 128 of it in a row, to 3 deviations
    away = np.abs(f - 30) > 10
    assert power[away].mean() == pytest.approx(2e-6 * 1.5 / 128, rel=0.05)


def test_doppler_marks_the_centroid(strip):
    """The recording's, and the estimate that the block makes: the same numbers."""
    rec = open_recording(strip[0])
    figure, estimate, why = plot.doppler_figure(rec)
    assert why == ""
    direct = focus.estimate_centroid(rec, rec.num_pulses)
    known = rec.acq.doppler_centroid_hz
    curve, given, found = figure.axes[0].lines[:3]
    assert given.get_xdata()[0] == pytest.approx(known)
    assert found.get_xdata()[0] == pytest.approx(direct["doppler_centroid_hz"][0])
    assert f"{direct['doppler_centroid_hz'][0]:.1f} Hz" in found.get_label()
    assert f"{known:.1f} Hz, {known / rec.acq.prf_hz:.2f} PRFs" in given.get_label()
    assert abs(found.get_xdata()[0] - known) < 3 * direct["standard_error_hz"]
    # the curve is the spectrum of the beam: power within it, symmetric to the centroid
    f, db = curve.get_data()
    power = 10 ** (np.array(db) / 10)
    assert np.sum(f * power) / np.sum(power) == pytest.approx(known, abs=3)


@pytest.mark.parametrize("raw", [False, True])
def test_range_time(raw):
    """Compressed, an echo of a simulated target lies at its range; raw, it begins there."""
    acq, track, hints = simulate.stripmap(pulses=200, swath_m=100)
    x, r = hints["scene_centre_m"][:2]
    source = sar.point_target_source(acq, [(x, r, 0, 1)], track, 200, 0.0, 1, 1, 0.0, 0.0)
    from gnuradio import blocks, gr

    sink, tb = blocks.vector_sink_c(acq.samples), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    lines = np.array(sink.data(), np.complex64).reshape(200, -1)
    rec = Recording(acq, lambda a, b: lines[a:b], 200, np.arange(200) / acq.prf_hz)
    values, left, right, bottom, top = picture_of(plot.range_time_figure(rec, raw=raw))
    middle = values[100].filled(-300)
    step = (right - left) / len(middle)
    ranges = left + (np.arange(len(middle)) + 0.5) * step
    if raw:
        seen = ranges[middle > middle.max() - 3]
        assert seen[0] == pytest.approx(r, abs=2 * step)
        assert seen[-1] - seen[0] == pytest.approx(acq.pulse_length_s * 299792458 / 2, abs=3 * step)
    else:
        assert ranges[np.argmax(middle)] == pytest.approx(r, abs=step)
    assert (bottom, top) == pytest.approx((-0.5 / acq.prf_hz, 199.5 / acq.prf_hz))


def test_spectrum_of_a_chirp():
    acq, track, hints = simulate.stripmap(pulses=20, swath_m=100)
    x, r = hints["scene_centre_m"][:2]
    t = np.arange(acq.pulse_samples()) / acq.sample_rate_hz - acq.pulse_length_s / 2
    line = np.zeros(acq.samples, np.complex64)
    line[40 : 40 + len(t)] = np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * t**2)
    rec = Recording(acq, lambda a, b: np.tile(line, (b - a, 1)), 20, np.arange(20) / acq.prf_hz)
    figure = plot.spectrum_figure(rec)
    f, db = figure.axes[0].lines[0].get_data()
    # half of the pulse's level at the edges of the band, which are drawn
    inside = np.abs(f - 5300) < 45
    assert np.std(db[inside]) < 1.5
    for edge, mark in zip((-50, 50), figure.axes[0].lines[1:3]):
        assert mark.get_xdata()[0] == pytest.approx(5300 + edge)
        assert np.interp(5300 + edge, f, db) - np.median(db[inside]) == pytest.approx(-6, abs=1)
    # Parseval: the sum over frequency is the mean power of a sample
    assert np.sum(10 ** (np.array(db) / 10)) == pytest.approx(np.mean(np.abs(rec.lines(0, 1)) ** 2),
                                                              rel=1e-4)


def test_spectrum_of_samples_over_frequency():
    acq = sar.acquisition(waveform="frequency_domain", samples=100, carrier_hz=9.7e9,
                          frequency_step_hz=-2e6, prf_hz=100, slant_range_first_m=0)
    x = np.ones((5, 100), np.complex64)
    x[:, 10] = 10
    rec = Recording(acq, lambda a, b: x[a:b], 5, np.arange(5) / 100)
    f, power = plot.spectrum_of(rec)
    assert f[np.argmax(power)] == pytest.approx(9.7e9 - 10 * 2e6)
    assert np.mean([f[0], f[-1]]) == pytest.approx(acq.centre_frequency_hz(), abs=1.1e6)


def test_command(strip, spot, tmp_path, capsys):
    for source, what, suffix in ((strip[0], "range-time", "png"), (strip[0], "doppler", "pdf"),
                                 (strip[0], "range-doppler", "svg"), (strip[0], "spectrum", "png"),
                                 (spot[1], "image", "png"), (spot[1], "cuts", "pdf")):
        out = tmp_path / f"{what}.{suffix}"
        assert main(["plot", source, "-o", str(out), "--what", what]) == 0
        head = out.read_bytes()[:300]
        assert {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}[suffix] in head
        assert f"{out}: {what} of" in capsys.readouterr().out
    # unasked: by the input
    assert main(["plot", strip[0], "-o", str(tmp_path / "a.png"), "--raw"]) == 0
    assert main(["plot", spot[1], "-o", str(tmp_path / "b.png"), "--range", "50", "--reference",
                 "0"]) == 0
    assert "a.png: range-time of" in (said := capsys.readouterr().out) and "image of" in said


@pytest.mark.parametrize("which,options,text", [
    ("spot", ["--what", "doppler"], "is a folder that gr_sar focus wrote; expected one of image"),
    ("strip", ["--what", "image"], "is a recording; expected one of range-time"),
    ("strip", ["--target", "1,2"], "--target has no meaning for a recording"),
    ("spot", ["--raw"], "--raw has no meaning for a focused image"),
    ("spot", ["--range", "-3"], "--range is -3"),
    ("strip", ["-o", "x.jpeg"], "'x.jpeg'; expected a name that ends in .png")])
def test_refuses(which, options, text, request, tmp_path, capsys):
    files = request.getfixturevalue(which)
    source = files[1] if which == "spot" else files[0]
    arguments = ["plot", source, "-o", str(tmp_path / "x.png"), *options]
    assert main(arguments) == 1
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_real_echoes(radarsat, tmp_path):
    """Coal and ferry terminals: the spectrum's centre of gravity lies where the recording says it is."""
    import os

    rec = open_recording(os.path.join(radarsat, "coal_ferry.sigmf-meta"), stop=1536)
    figure, estimate, _ = plot.doppler_figure(rec)
    known = rec.acq.doppler_centroid_hz
    f, db = figure.axes[0].lines[0].get_data()
    power = 10 ** (np.array(db) / 10)
    power = power - power.min()
    assert abs(np.sum(f * power) / np.sum(power) - known) < 0.1 * rec.acq.prf_hz
    plot.save(figure, str(tmp_path / "terminals.png"))
