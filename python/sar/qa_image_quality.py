# SPDX-License-Identifier: GPL-3.0-or-later
"""image_quality as block and functions. The measurement itself: qa_image_quality.cc."""

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
SCENE = np.array([0.0, 8660.0, 0.0])
GEOMETRY = dict(aperture_start_m=(-150, 0, 5000), aperture_centre_m=(0, 0, 5000),
                aperture_end_m=(150, 0, 5000), carrier_hz=9.6e9, bandwidth_hz=300e6)
GRID = sar.image_grid.centred(tuple(SCENE), (1, 0, 0), (0, 1, 0), 0.31, 0.28, 100, 90)


def ideal(target, amplitude=1.0, grid=GRID, wider=1.0):
    """Unweighted response on the carrier of the middle of the aperture."""
    i, j = np.mgrid[: grid.rows, : grid.cols]
    p = (np.array(grid.origin_m) + i[..., None] * grid.row_spacing_m * np.array(grid.row_axis)
         + j[..., None] * grid.col_spacing_m * np.array(grid.col_axis))
    start, centre, end = (np.array(GEOMETRY[f"aperture_{k}_m"], float)
                          for k in ("start", "centre", "end"))

    def look(q):
        return (target - q) / np.linalg.norm(target - q)

    e = p - target
    fc, b = GEOMETRY["carrier_hz"], GEOMETRY["bandwidth_hz"]
    r = np.linalg.norm(p - centre, axis=-1) - np.linalg.norm(target - centre)
    return (amplitude * np.exp(4j * np.pi * fc * r / C) * np.sinc(e @ look(centre) * 2 * b / C)
            * np.sinc(e @ (look(end) - look(start)) * 2 * fc / C / wider)).astype(np.complex64)


def test_cuts_are_those_that_were_measured():
    target = SCENE + (0.1, -0.07, 0)
    assert "power" not in sar.measure_point_target(ideal(target), GRID, tuple(target),
                                                   **GEOMETRY)["range"]
    r = sar.measure_point_target(ideal(target), GRID, tuple(target), keep_cuts=True, **GEOMETRY)
    for cut in (r["range"], r["azimuth"]):
        x = np.linspace(-cut["extent_before_m"], cut["extent_after_m"], len(cut["power"]))
        peak = int(np.argmax(cut["power"]))
        assert abs(x[peak]) < 1e-9 and cut["power"][peak] == 1
        assert cut["half_before_m"] + cut["half_after_m"] == pytest.approx(cut["irw_m"], rel=1e-12)
        for at in (-cut["half_before_m"], cut["half_after_m"]):
            assert np.interp(at, x, cut["power"]) == pytest.approx(0.5, abs=1e-6)
        rest = (x < -cut["null_before_m"] - 1e-9) | (x > cut["null_after_m"] + 1e-9)
        step = x[1] - x[0]
        assert 10 * np.log10(cut["power"][rest].max()) == pytest.approx(cut["pslr_db"], abs=1e-4)
        assert 10 * np.log10(cut["power"][rest].sum() / cut["power"][~rest].sum()) == pytest.approx(
            cut["islr_db"], abs=1e-4)
        assert step == pytest.approx(cut["irw_theory_m"] / 64, rel=1e-9)
        u = x / cut["cell_m"]
        # (an aperture of 30 mrad and a band of 3 % are not quite one window each)
        np.testing.assert_allclose(cut["power_theory"], np.sinc(u) ** 2, atol=1e-4)


def test_measures_a_target():
    target = SCENE + (0.1, -0.07, 0)
    r = sar.measure_point_target(ideal(target), GRID, tuple(target), **GEOMETRY)
    assert r["found"] and r["pass"], r["failures"]
    assert r["problem"] == "" and r["failures"] == []
    assert r["peak_amplitude"] == pytest.approx(1, abs=2e-3)
    assert abs(r["phase_error_rad"]) < 2e-3
    assert np.linalg.norm(np.subtract(r["position_m"], target)) < 1e-3
    assert r["range"]["pslr_theory_db"] == pytest.approx(-13.26, abs=0.01)
    assert r["azimuth"]["irw_m"] == pytest.approx(0.886 * C / 9.6e9 / 2 / 0.03, rel=5e-3)
    # limits are parameters
    r = sar.measure_point_target(ideal(target, wider=1.03), GRID, tuple(target), **GEOMETRY)
    assert not r["pass"] and "azimuth IRW" in r["failures"][0]
    r = sar.measure_point_target(ideal(target, wider=1.03), GRID, tuple(target), irw=0.05,
                                 **GEOMETRY)
    assert r["pass"], r["failures"]
    r = sar.measure_point_target(ideal(target, -1), GRID, tuple(target),
                                 expected_phase_rad=np.pi, **GEOMETRY)
    assert r["pass"], r["failures"]


def test_strided_and_double_images_are_taken_others_refused():
    target = SCENE
    wide = np.zeros((100, 180), np.complex128)
    wide[:, ::2] = ideal(target)
    assert sar.measure_point_target(wide[:, ::2], GRID, tuple(target), **GEOMETRY)["pass"]
    for bad, words in ((np.abs(ideal(target)), "complex"),
                       (ideal(target)[:50], "50 x 90"), (ideal(target)[0], "dimensions")):
        with pytest.raises(ValueError) as e:
            sar.measure_point_target(bad, GRID, tuple(target), **GEOMETRY)
        assert words in str(e.value)
    with pytest.raises(ValueError) as e:
        sar.measure_point_target(ideal(target), GRID, tuple(target),
                                 **dict(GEOMETRY, bandwidth_hz=0))
    assert "bandwidth_hz is 0" in str(e.value)


def test_statistics():
    x = np.array([[1, -1, 1j, 3j, np.nan]], np.complex64)
    s = sar.image_statistics(x, full_scale=2)
    assert s["pixels"] == 5 and s["non_finite"] == 1
    assert s["contrast"] == pytest.approx(np.std([1, 1, 1, 3]) / 1.5, rel=1e-6)
    assert s["saturated"] == 0.25
    p = np.array([1, 1, 1, 9]) / 12
    assert s["entropy_nat"] == pytest.approx(-np.sum(p * np.log(p)), rel=1e-6)


def stream(rows, block, tags=()):
    tb = gr.top_block()
    source = blocks.vector_source_c(rows.ravel().tolist(), False, rows.shape[1], tags)
    messages = blocks.message_debug()
    tb.connect(source, block)
    tb.msg_connect((block, "report"), (messages, "store"))
    tb.run()
    return messages


def tag(offset, **fields):
    t = gr.tag_t()
    t.offset = offset
    t.key = pmt.intern("sar_image")
    t.value = pmt.to_pmt(fields)
    return t


def test_block_reports_each_image():
    target = SCENE + (0.1, -0.07, 0)
    good, bad = ideal(target), ideal(target + (0.05, 0, 0))
    block = sar.image_quality(GRID, targets=[(*target, 1)], **GEOMETRY)
    rows = np.concatenate([good, bad, good, good[:30]])
    messages = stream(rows, block)
    assert block.error() == ""
    reports = block.reports()
    assert [r["image"] for r in reports] == [0, 1, 2] # the fourth is not complete
    assert [r["pass"] for r in reports] == [True, False, True]
    assert reports[1]["targets"][0]["azimuth"]["position_error_m"] == pytest.approx(0.05, abs=1e-3)
    assert messages.num_messages() == 3
    d = pmt.to_python(messages.get_message(1))
    assert d["image"] == 1 and d["pass"] is False
    assert d["targets"][0]["azimuth"]["position_error_m"] == pytest.approx(0.05, abs=1e-3)
    assert "azimuth position" in d["targets"][0]["failures"][0]


def test_tags_align_images():
    target = SCENE
    im = ideal(target)
    rows = np.concatenate([im[60:], im]) # 40 rows of an image whose start was missed
    block = sar.image_quality(GRID, targets=[tuple(target)], **GEOMETRY)
    stream(rows, block, [tag(40, image=7, rows=100, cols=90, value="complex")])
    reports = block.reports()
    assert block.error() == "" and len(reports) == 1
    assert reports[0]["image"] == 7 and reports[0]["pass"]


def test_unsigned_numbers_of_a_tag():
    """bp_accumulator counts its images without a sign, which pmt does not convert by itself."""
    t = tag(0, rows=100, cols=90, value="complex")
    for key, number in (("image", 5), ("rows", 100)):
        t.value = pmt.dict_add(t.value, pmt.intern(key), pmt.from_uint64(number))
    block = sar.image_quality(GRID, targets=[tuple(SCENE)], **GEOMETRY)
    stream(ideal(SCENE), block, [t])
    assert block.error() == "" and [r["image"] for r in block.reports()] == [5]


@pytest.mark.parametrize("fields,words", [(dict(value="db"), "before detect"),
                                          (dict(rows=99), "99"), (dict(cols=1), "cols")])
def test_images_of_another_kind_end_the_flowgraph(fields, words):
    block = sar.image_quality(GRID, targets=[tuple(SCENE)], **GEOMETRY)
    stream(ideal(SCENE), block, [tag(0, **fields)])
    assert words in block.error() and block.reports() == []


def test_hopeless_input_is_reported_and_survived():
    block = sar.image_quality(GRID, targets=[tuple(SCENE), (1e6, 0, 0)], **GEOMETRY)
    stream(np.full((100, 90), np.nan, np.complex64), block)
    assert block.error() == ""
    (r,) = block.reports()
    assert not r["pass"] and r["statistics"]["non_finite"] == 9000
    assert all(not t["found"] and t["problem"] for t in r["targets"])


@pytest.mark.parametrize("kw,words", [
    (dict(carrier_hz=-1), "carrier_hz is -1"),
    (dict(aperture_end_m=(-150, 0, 5000)), "same point"),
    (dict(targets=[(1, 2)]), "targets[0]"),
    (dict(targets=[(np.nan, 2, 3)]), "targets[0]"),
    (dict(range_window="gauss"), "gauss"),
    (dict(irw=0), "irw is 0"),
    (dict(phase_rad=np.nan), "phase_rad is nan"),
])
def test_wrong_parameters_are_named(kw, words):
    with pytest.raises(ValueError) as e:
        sar.image_quality(GRID, **{**GEOMETRY, "targets": [], **kw})
    assert words in str(e.value)


def focused(acq, grid, track, pulses, lines):
    """Textbook back-projection in numpy, double: compressed by an FFT, oversampled by 16."""
    from numpy.fft import fft, fftshift, ifft, ifftshift
    n, q = acq.samples, 16
    if acq.in_frequency_domain():
        f = acq.carrier_hz + np.arange(n) * acq.compressed_axis(1).bandwidth_hz / n * np.sign(
            acq.chirp_rate_hz_per_s if acq.waveform == "fmcw" else acq.frequency_step_hz)
    else:
        f = np.fft.fftfreq(n, 1 / acq.sample_rate_hz)
        t = np.arange(n) / acq.sample_rate_hz
        half = acq.pulse_length_s / 2
        if acq.pulse_reference == "centre": # the first half of the pulse wraps to the end
            t = np.where(t > n / acq.sample_rate_hz / 2, t - n / acq.sample_rate_hz, t) + half
        chirp = np.where((t >= -1e-12) & (t < 2 * half - 1e-12),
                         np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * (t - half) ** 2), 0)
        matched = np.conj(fft(chirp)) / np.sum(np.abs(chirp) ** 2)
    i, j = np.mgrid[: grid.rows, : grid.cols]
    p = (np.array(grid.origin_m) + i[..., None] * grid.row_spacing_m * np.array(grid.row_axis)
         + j[..., None] * grid.col_spacing_m * np.array(grid.col_axis))
    image = np.zeros(p.shape[:2], complex)
    fc = acq.centre_frequency_hz()
    for line, at in zip(lines.astype(complex), track.positions(0, acq.prf_hz, pulses)):
        r = np.linalg.norm(p - np.array(at), axis=-1)
        if acq.range_reference == "point":
            r = r - np.linalg.norm(np.array(acq.reference_point_m) - np.array(at))
        measured = r + acq.range_bias_m
        if acq.in_frequency_domain():
            # direct sum over the band, samples of unit weight: no interpolation at all
            if acq.waveform == "fmcw":
                # residual video phase of the range under each pixel
                rvp = np.exp(acq.phase_sign * 1j * np.pi * acq.chirp_rate_hz_per_s
                             * (2 * measured / C) ** 2)
            else:
                rvp = 1
            step = np.exp(-acq.phase_sign * 2j * np.pi * (f[1] - f[0]) * (2 * measured / C))
            value = np.polynomial.polynomial.polyval(step, line) * rvp / n
            value = value * np.exp(-acq.phase_sign * 2j * np.pi * (f[0] - fc) * 2 * measured / C)
            value = value * np.exp(-acq.phase_sign * 2j * np.pi * np.mod(2 * fc * measured / C, 1))
        else:
            s = ifftshift(np.pad(fftshift(fft(line) * matched), (n * (q - 1) // 2,) * 2))
            fine = ifft(s) * q
            x = (measured - acq.slant_range_first_m) * 2 * acq.sample_rate_hz * q / C
            k = np.floor(x).astype(int)
            value = fine[k] + (x - k) * (fine[k + 1] - fine[k])
            value = value * np.exp(2j * np.pi * np.mod(2 * acq.carrier_hz * measured / C, 1))
        image += value / pulses
    return image


FOCUS_GRID = sar.image_grid.centred(tuple(SCENE), (1, 0, 0), (0, 1, 0), 0.4, 0.4, 64, 64)
PULSES = 128
FOCUS_TRACK = sar.trajectory.straight((-150 * (PULSES - 1) / PULSES, 0, 5000),
                                      (300 * 100 / PULSES, 0, 0))
PULSED = dict(waveform="pulsed_lfm", samples=700, carrier_hz=9.6e9, prf_hz=100,
              sample_rate_hz=360e6, pulse_length_s=1e-6, chirp_rate_hz_per_s=300e12,
              slant_range_first_m=9940)
FX = dict(waveform="frequency_domain", samples=150, carrier_hz=9.6e9 - 150e6,
          frequency_step_hz=2e6, prf_hz=100)


@pytest.mark.parametrize("fields", [
    PULSED,
    dict(PULSED, chirp_rate_hz_per_s=-300e12, pulse_reference="centre",
         slant_range_first_m=9800),
    dict(PULSED, range_bias_m=3.21),
    dict(PULSED, range_reference="point", reference_point_m=(3, 8650, 1),
         slant_range_first_m=-60),
    FX,
    dict(FX, phase_sign=1, range_bias_m=-2.5, range_reference="point",
         reference_point_m=(3, 8650, 1)),
    dict(FX, carrier_hz=9.6e9 + 150e6, frequency_step_hz=-2e6),
    dict(waveform="fmcw", samples=150, carrier_hz=9.6e9 - 150e6, prf_hz=100,
         sample_rate_hz=1e5, chirp_rate_hz_per_s=2e11, phase_sign=1, range_bias_m=0.7),
])
def test_simulated_echoes_focus_to_the_target(fields):
    """Source, signal conventions and measurement against each other: sign, bias, references."""
    acq = sar.acquisition(**fields)
    target = SCENE + (2.3, -1.7, 0)
    source = sar.point_target_source(acq, [(*target, 0.5j)], FOCUS_TRACK, PULSES)
    sink = blocks.vector_sink_c(acq.samples)
    tb = gr.top_block()
    tb.connect(source, sink)
    tb.run()
    image = focused(acq, FOCUS_GRID, FOCUS_TRACK, PULSES,
                    np.array(sink.data()).reshape(PULSES, -1))
    r = sar.measure_point_target(image, FOCUS_GRID, tuple(target), **dict(
        GEOMETRY, carrier_hz=acq.centre_frequency_hz(), bandwidth_hz=acq.bandwidth_hz()),
        expected_phase_rad=np.pi / 2)
    assert r["pass"], r["failures"]
    assert r["peak_amplitude"] == pytest.approx(0.5, rel=0.01)
