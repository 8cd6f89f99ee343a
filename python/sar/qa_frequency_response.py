# SPDX-License-Identifier: GPL-3.0-or-later
"""A radar's own response over frequency: measured on a reference, taken off, and what that does."""

import numpy as np
import pytest
from conftest import backends
from gnuradio import blocks, gr, sar
from gnuradio.sar import cli, frequency_response
from gnuradio.sar.focus import focus
from gnuradio.sar.recordings import RecordingError, open_recording

C = sar.speed_of_light
SAMPLES = 51
FX = dict(waveform="frequency_domain", samples=SAMPLES, carrier_hz=22.2e9, prf_hz=10.0,
          frequency_step_hz=40e6, slant_range_first_m=0.0)


def response(acq):
    """Cables of 0.4 m, a filter's ripple, a gain that falls by 6 dB over the band."""
    f = frequency_response.frequencies_hz(acq)
    x = (f - f[0]) / (f[-1] - f[0])
    h = (10 ** (-0.3 * x) * (1 + 0.3 * np.exp(2j * np.pi * 3.3 * x))
         * np.exp(2j * np.pi * acq.phase_sign * f * 2 * 0.4 / C))
    return h / np.abs(h).mean()


def lines_of(acq, points, tx, h=1, noise=0.0, seed=1):
    """Lines over frequency of points [(x, y, z, amplitude)] seen from tx."""
    f = frequency_response.frequencies_hz(acq)
    out = np.zeros((len(tx), acq.samples), complex)
    for *p, amplitude in points:
        r = np.linalg.norm(np.asarray(p) - tx, axis=1)
        out += amplitude * np.exp(2j * np.pi * acq.phase_sign * np.outer(2 * r / C, f))
    rng = np.random.default_rng(seed)
    out = out * h
    return out + noise * (rng.normal(size=out.shape) + 1j * rng.normal(size=out.shape))


def write(tmp_path, name, acq, lines, tx):
    sar.write_sigmf(str(tmp_path / name), lines.astype(np.complex64), acq, positions=tx)
    return str(tmp_path / (name + ".sigmf-meta"))


def track(count=101):
    return np.stack([np.linspace(-0.5, 0.5, count), np.zeros(count), np.zeros(count)], axis=1)


@pytest.mark.parametrize("phase_sign", [-1, 1])
@pytest.mark.parametrize("by_range", [False, True])
def test_measured_on_a_reference_at_its_place(tmp_path, phase_sign, by_range):
    acq = sar.acquisition(**FX, phase_sign=phase_sign)
    h = response(acq)
    tx = np.zeros((200, 3)) if by_range else track(200)
    place = (0.2, 1.3, 0.0)
    path = write(tmp_path, "corner", acq, lines_of(acq, [(*place, 2.5)], tx, h, noise=0.3), tx)
    out = str(tmp_path / "response.csv")
    how = (["--range", str(np.linalg.norm(place))] if by_range
           else ["--target", "0.2,1.3,0"])
    assert cli.main(["response", path, *how, "-o", out, "--quiet"]) == 0
    found = frequency_response.read(out, acq)
    measured, error = frequency_response.measure(open_recording(path), target_m=place)
    # the gain of the reference, 2.5, is no part of it
    assert np.abs(found - measured).max() < 1e-6
    expected = 0.3 / 2.5 / np.sqrt(200) / np.abs(h)
    assert error == pytest.approx(expected, rel=0.2)
    assert (np.abs(np.angle(found / h)) < 5 * expected).all()
    assert (np.abs(np.abs(found) / np.abs(h) - 1) < 5 * expected).all()


def test_of_few_lines_the_error_is_no_smaller_than_it_is():
    """The mean of the lines' own spread is as large as the error that is made, for 2 lines too."""
    acq = sar.acquisition(**FX)
    made, said = [], []
    for seed in range(200):
        lines = lines_of(acq, [(0, 1.3, 0, 1)], np.zeros((2, 3)), noise=0.05, seed=seed)
        rec = sar.Recording(acq, lambda a, b, x=lines: x[a:b], 2, np.arange(2) / 10)
        h, error = frequency_response.measure(rec, range_m=1.3)
        made.append(np.mean(np.angle(h) ** 2))
        said.append(np.mean(error**2))
    assert np.mean(said) == pytest.approx(np.mean(made), rel=0.05)


def test_divided_after_the_mean_line_was_subtracted(tmp_path):
    """In either order the same lines: without what stands still, and as a flat radar has them."""
    acq = sar.acquisition(**FX)
    h, tx = response(acq), track()
    path = write(tmp_path, "scan", acq, lines_of(acq, [(0, 1, 0, 1), (0, 1e6, 0, 5)], tx, h), tx)
    first, second = open_recording(path), open_recording(path)
    first.divide_by(h)
    first.subtract_mean()
    second.subtract_mean()
    second.divide_by(h)
    for start in (0, 40):
        assert np.abs(first.lines(start) - second.lines(start)).max() < 1e-5


def test_without_it_points_are_wide_and_elsewhere(tmp_path):
    acq = sar.acquisition(**FX)
    tx, h = track(), response(acq)
    path = write(tmp_path, "scan", acq, lines_of(acq, [(0, 1.0, 0, 1)], tx, h), tx)
    frequency_response.write(tmp_path / "h.csv", acq, h)
    grid = sar.image_grid.centred((0, 1.2, 0), (0, -1, 0), (1, 0, 0), 0.005, 0.005, 161, 41)
    images = []
    for given in (None, str(tmp_path / "h.csv"), h):
        rec = open_recording(path, frequency_response=given)
        assert (given is None) or rec.exact() is None and "frequency_response" in rec.used
        image, report = focus(rec, grid, backend="cpu")
        images.append(np.abs(image))
    raw, corrected, by_numbers = images
    peak = np.unravel_index(np.argmax(corrected), corrected.shape)
    assert corrected.max() == pytest.approx(1, abs=0.01) and peak == (120, 20)
    assert np.abs(corrected - by_numbers).max() < 1e-4
    # 0.4 m too far, and a ripple of 3.3 turns over the band makes echoes
    i, j = np.unravel_index(np.argmax(raw), raw.shape)
    assert (120 - i) * 0.005 == pytest.approx(0.4, abs=0.02)
    clean = np.sort(corrected[:, 20])[-40:].sum()
    assert np.sort(raw[:, j])[-40:].sum() / raw.max() > 1.15 * clean / corrected.max()


@pytest.mark.parametrize("backend", backends())
def test_live_by_multiply_const(backend):
    """In a running flowgraph a vector of GNU Radio's own Multiply Const does it."""
    acq = sar.acquisition(**FX)
    h = response(acq)
    lines = lines_of(acq, [(0, 1.0, 0, 1)], track(5), h)
    source = blocks.vector_source_c(lines.ravel().tolist(), False, SAMPLES)
    correct = blocks.multiply_const_vcc([complex(v) for v in 1 / h])
    compress = sar.pulse_compression(acq, 4, backend=backend)
    sink = blocks.vector_sink_c(4 * SAMPLES)
    top = gr.top_block()
    top.connect(source, correct, compress, sink)
    top.run()
    y = np.abs(np.array(sink.data()).reshape(5, -1))
    r = np.linalg.norm(track(5) - (0, 1.0, 0), axis=1)
    spacing = acq.compressed_axis(4).spacing_m
    assert np.abs(y.argmax(axis=1) * spacing - r).max() < spacing
    assert y.max(axis=1) == pytest.approx(1, abs=0.1)


def test_files_without_a_header(tmp_path):
    """Two rows or two columns, frequency and phase; between them it is interpolated."""
    acq = sar.acquisition(**FX)
    f = np.linspace(22e9, 25e9, 61)
    phase = 3e-9 * (f - 22e9) * 2 * np.pi
    wanted = np.exp(1j * 3e-9 * (frequency_response.frequencies_hz(acq) - 22e9) * 2 * np.pi)
    np.savetxt(tmp_path / "rows.txt", [f, phase])
    np.savetxt(tmp_path / "cols.txt", np.stack([f, phase], axis=1)[::-1])
    np.savetxt(tmp_path / "cols.csv", np.stack([f, phase], axis=1), delimiter=",")
    for name in ("rows.txt", "cols.txt", "cols.csv"):
        h = frequency_response.read(tmp_path / name, acq)
        assert np.abs(h - wanted).max() < 1e-6, name


@pytest.mark.parametrize("text, part", [
    ("frequency_hz,phase\n1,2\n", "has no column phase_rad"),
    ("1 2 3\n4 5 6\n7 8 9\n", "3 rows and 3 columns; expected two rows or two columns"),
    ("22.5e9 0\n26e9 0\n", "has 22.5 to 26 GHz, but the lines go from 22.2 to 24.2 GHz"),
    ("22e9 0\n22e9 1\n26e9 0\n", "has 2.2e+10 Hz twice"),
    ("frequency_hz,phase_rad,magnitude\n22e9,0,1\n26e9,0,0\n", "magnitudes that are not positive"),
    ("frequency_hz,phase_rad,magnitude\n22e9,0,1\n26e9,0,inf\n", "holds a value that is not finite"),
    ("22e9 zero\n", "has a header but no row"),
])
def test_files_that_are_none(tmp_path, text, part):
    (tmp_path / "h.txt").write_text(text)
    with pytest.raises(RecordingError) as error:
        frequency_response.read(str(tmp_path / "h.txt"), sar.acquisition(**FX))
    assert part in str(error.value)


def test_errors_say_what_to_change(tmp_path):
    acq = sar.acquisition(**FX)
    tx = track()
    path = write(tmp_path, "scan", acq, lines_of(acq, [(0, 1, 0, 1)], tx, noise=0.01), tx)
    rec = open_recording(path)
    for call, part in (
            (lambda: frequency_response.measure(rec), "either range_m or target_m"),
            (lambda: frequency_response.measure(rec.select(7, 8), range_m=1.0), "has 1 line; expected 2"),
            # the range turns under way: a phase at random in each line
            (lambda: frequency_response.measure(rec, range_m=1.0), "is the range right"),
            (lambda: open_recording(path, frequency_response=[1, 2]), "has 2 values; expected"),
            (lambda: open_recording(path, frequency_response=np.zeros(SAMPLES)), "holds 0"),
            (lambda: frequency_response.of(np.ones(600), sar.acquisition(
                waveform="pulsed_lfm", samples=600, carrier_hz=9.6e9, prf_hz=1000,
                sample_rate_hz=100e6, pulse_length_s=2e-6, chirp_rate_hz_per_s=4e13,
                slant_range_first_m=5e3)), "the waveform is pulsed_lfm")):
        with pytest.raises(RecordingError) as error:
            call()
        assert part in str(error.value)
