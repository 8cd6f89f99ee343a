# SPDX-License-Identifier: GPL-3.0-or-later
"""doppler_centroid as a block: recordings, points, tags, messages, errors."""
import os

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag
from gnuradio import blocks, gr, sar

from gnuradio.sar import reference
from gnuradio.sar.recordings import open_recording


def scene(**changes):
    """C band at 20 km, 250 m/s; a target is in the beam for 650 lines."""
    return sar.acquisition(**{**dict(
        waveform="pulsed_lfm", samples=384, carrier_hz=5.3e9, prf_hz=300.0, sample_rate_hz=60e6,
        pulse_length_s=1 / 60e6, chirp_rate_hz_per_s=50e6 * 60e6, slant_range_first_m=20e3,
        effective_velocity_m_s=250.0), **changes})


def points(acq, lines, centroid, count=20, noise=0.2, seed=1):
    """Compressed lines of points that an antenna sees around a Doppler centroid."""
    rng = np.random.default_rng(seed)
    axis = acq.compressed_axis(1)
    v, prf, wavelength = acq.effective_velocity_m_s, acq.prf_hz, acq.wavelength_m()
    cells = axis.first_m + np.arange(axis.samples) * axis.spacing_m
    t = np.arange(lines) / prf
    x = noise * (rng.normal(size=(lines, axis.samples))
                 + 1j * rng.normal(size=(lines, axis.samples))) / np.sqrt(2)
    sine = -wavelength * centroid / (2 * v)
    for _ in range(count):
        beam_range = rng.uniform(cells[0], cells[-1])
        along = v * (t - rng.uniform(-0.1, 1.1) * t[-1]) + beam_range * sine
        r = np.hypot(beam_range * np.sqrt(1 - sine**2), along)
        doppler = -2 * v * along / (wavelength * r)
        a = (rng.uniform(0.5, 1.5) * np.exp(2j * np.pi * rng.uniform())
             * np.sinc(0.96 * (doppler - centroid) / prf) ** 2)
        x += ((a * np.exp(-4j * np.pi * r / wavelength))[:, None]
              * np.sinc(2 * acq.bandwidth_hz() / reference.C * (cells - r[:, None])))
    return x.astype(np.complex64)


def run(block, x, tags=(), out_buffer=None):
    """(lines, tags, messages)"""
    x = np.ascontiguousarray(x, np.complex64)
    source = blocks.vector_source_c(x.ravel().tolist(), False, x.shape[1], list(tags))
    sink = blocks.vector_sink_c(x.shape[1])
    store = blocks.message_debug()
    top = gr.top_block()
    if out_buffer:
        block.set_max_output_buffer(out_buffer)
    top.connect(source, block, sink)
    top.msg_connect(block, "centroid", store, "store")
    top.run()
    out = np.array(sink.data(), np.complex64).reshape(-1, x.shape[1])
    return out, sink.tags(), [
        pmt.to_python(store.get_message(i)) for i in range(store.num_messages())]


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("name, truth, error", [
    ("coal_ferry", -6900, 60), ("english_bay_ships", -6900, 250)])
def test_radarsat(radarsat, backend, name, truth, error):
    """From nothing: five and a half PRFs, the number certain, the fraction within its error."""
    rec = open_recording(os.path.join(radarsat, name + ".sigmf-meta"))
    acq = rec.acq.replace(doppler_centroid_hz=0)
    lines = reference.compress(acq, rec.lines(), 1, "kaiser(2.5)")
    block = sar.doppler_centroid(acq, len(lines), backend=backend)
    out, tags, messages = run(block, lines)
    assert block.error() == ""
    np.testing.assert_array_equal(out, lines.astype(np.complex64))
    (m,) = messages
    assert abs(m["doppler_centroid_hz"] - truth) < error
    assert abs(m["doppler_centroid_hz"] - truth) < 3 * m["standard_error_hz"]
    assert m["standard_error_hz"] < 120
    assert m["ambiguity_confidence"] > 0.99
    assert m["look_score"] > 4 * abs(m["look_next_score"])
    tag = pmt.to_python(tags[0].value)
    assert tag["doppler_centroid_hz"] == m["doppler_centroid_hz"]
    assert tag["centroid_from"] == "estimate"


@pytest.mark.parametrize("name", ["coal_ferry", "english_bay_ships"])
def test_radarsat_unsure_when_too_short(radarsat, name):
    """A third of the time in the beam: either right or unsure."""
    rec = open_recording(os.path.join(radarsat, name + ".sigmf-meta"))
    acq = rec.acq.replace(doppler_centroid_hz=0)
    lines = reference.compress(acq, rec.lines(), 1, "kaiser(2.5)")
    block = sar.doppler_centroid(acq, 192, backend="cpu")
    run(block, lines)
    estimates = block.estimates()
    assert len(estimates) == 8
    for e in estimates:
        wrong = abs(e["doppler_centroid_hz"][0] + 6950) > 1256.98 / 2
        assert not (wrong and e["ambiguity_confidence"] > 0.95), e
    assert min(e["ambiguity_confidence"] for e in estimates) < 0.9


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("prfs", [0, 0.4, -5.5])
def test_points(backend, prfs):
    acq = scene()
    block = sar.doppler_centroid(acq, 1024, backend=backend)
    _, _, (m,) = run(block, points(acq, 1024, prfs * 300))
    assert abs(m["doppler_centroid_hz"] - prfs * 300) < 3.5 * m["standard_error_hz"]
    assert m["standard_error_hz"] < 30 and m["ambiguity_confidence"] > 0.9


@pytest.mark.parametrize("backend", ["cpu", "emulated", "auto"])
@pytest.mark.parametrize("out_buffer", [None, 3])
def test_frames(backend, out_buffer):
    """Frames by count and by tag; the last is short; nothing is lost, tags are the block's own."""
    acq = scene(samples=37)
    x = points(acq, 250, 0, 3)
    tags = [frame_tag(0, domain="compressed", samples=37, time_s=5.0, note="mine"),
            frame_tag(130, domain="compressed", samples=37, first_line=1000)]
    other = gr.tag_t()
    other.offset, other.key, other.value = 7, pmt.intern("other"), pmt.PMT_T
    block = sar.doppler_centroid(acq, 100, given=-6900, backend=backend)
    out, got, messages = run(block, x, tags + [other], out_buffer)
    assert block.error() == ""
    np.testing.assert_array_equal(out, x)
    assert [t.offset for t in got] == [0, 100, 130, 230]
    frames = [pmt.to_python(t.value) for t in got]
    assert [f["frame"] for f in frames] == [0, 1, 2, 3]
    assert [f["first_line"] for f in frames] == [0, 100, 1000, 1100]
    assert [f["complete"] for f in frames] == [True, False, True, False]
    assert [f.get("time_s") for f in frames] == [5.0, pytest.approx(5 + 100 / 300), None, None]
    for f in frames:
        assert f["doppler_centroid_hz"] == -6900 and f["centroid_from"] == "given"
        assert f["lines"] == 100 and f["samples"] == 37 and f["prf_hz"] == 300
        assert f["domain"] == "compressed"
        assert f["slant_range_first_m"] == 20e3
    assert frames[0]["note"] == "mine"
    assert [m["frame"] for m in messages] == [0, 1, 2, 3]


def test_given_polynomial():
    acq = scene(samples=37)
    block = sar.doppler_centroid(acq, 50, given=[-6900, 0.25, 1e-6], backend="cpu")
    _, tags, (m,) = run(block, np.ones((50, 37)))
    assert list(m["doppler_centroid_hz"]) == [-6900, 0.25, 1e-6] and m["method"] == "given"
    assert list(pmt.f64vector_elements(pmt.dict_ref(
        tags[0].value, pmt.intern("doppler_centroid_hz"), pmt.PMT_NIL))) == [-6900, 0.25, 1e-6]


def test_order():
    """One coefficient more than the order, that vary around the truth within the swath."""
    acq = scene()
    block = sar.doppler_centroid(acq, 1024, order=1, backend="cpu")
    _, _, (m,) = run(block, points(acq, 1024, 400.0, 60))
    c = m["doppler_centroid_hz"]
    assert len(c) == 2
    middle = c[0] + c[1] * 192 * acq.compressed_axis(1).spacing_m
    assert abs(middle - 400) < 3.5 * m["standard_error_hz"]


def test_noise_keeps_the_acquisitions():
    acq = scene(doppler_centroid_hz=-710.0)
    block = sar.doppler_centroid(acq, 200, backend="cpu")
    _, tags, (m,) = run(block, points(acq, 200, 0, 0, noise=1))
    assert m["method"] == "none" and m["doppler_centroid_hz"] == -710
    assert m["ambiguity_confidence"] == 0
    assert pmt.to_python(tags[0].value)["centroid_from"] == "acquisition"


@pytest.mark.parametrize("backend", ["cpu", "emulated", "auto"])
def test_not_finite(backend):
    acq = scene()
    x = points(acq, 1024, -1650.0)
    x[10, 3] = np.nan
    x[700, 383] = np.inf
    block = sar.doppler_centroid(acq, 1024, backend=backend)
    out, _, (m,) = run(block, x)
    np.testing.assert_array_equal(out, x)
    assert block.bad_lines() == 2
    assert abs(m["doppler_centroid_hz"] + 1650) < 3.5 * m["standard_error_hz"]


@pytest.mark.parametrize("field, value, words", [
    ("domain", "raw", "it goes behind pulse_compression"),
    ("domain", "range_doppler", "takes compressed"),
    ("samples", 38, "acq.samples * oversampling"),
    ("prf_hz", 301.0, "acq.prf_hz of doppler_centroid says 300"),
    ("spacing_m", 1.0, "acq and oversampling"),
    ("slant_range_first_m", 19e3, "acq.slant_range_first_m"),
])
def test_contradicting_frame(field, value, words):
    acq = scene(samples=37)
    block = sar.doppler_centroid(acq, 10, backend="cpu")
    run(block, np.ones((20, 37)), [frame_tag(0, **{field: value})])
    assert words in block.error()


@pytest.mark.parametrize("wrong, words", [
    (dict(lines=0), "lines is 0"),
    (dict(lines=10.5), "lines is 10.5; expected a whole number"),
    (dict(oversampling=0), "oversampling is 0"),
    (dict(order=4), "order is 4"),
    (dict(given=[1, 2, 3, 4, 5]), "given has 5"),
    (dict(given=[float("nan")]), "given has a coefficient nan"),
    (dict(backend="gpu"), "backend is 'gpu'"),
])
def test_wrong_parameters(wrong, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        sar.doppler_centroid(scene(), **{**dict(lines=100), **wrong})


def test_defaults():
    text = sar.doppler_centroid.__init__.__doc__
    for default in ("oversampling: object = 1", "order: object = 0", "backend: str = 'auto'",
                    "device: object = 0"):
        assert default in text
