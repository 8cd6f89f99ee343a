# SPDX-License-Identifier: GPL-3.0-or-later
"""range_doppler_imager as a block: the chain's image, frames, strips, tags, errors."""

import math

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag
from gnuradio import blocks, gr, sar

C = sar.speed_of_light


def strip(samples=320, **more):
    f = dict(waveform="pulsed_lfm", samples=samples, carrier_hz=9.6e9, prf_hz=250,
             sample_rate_hz=100e6, pulse_length_s=1e-6, chirp_rate_hz_per_s=80e12,
             slant_range_first_m=3000.0, effective_velocity_m_s=60.0)
    f.update(more)
    return sar.acquisition(**f)


def noise(lines, samples, seed=1):
    v = np.random.default_rng(seed).normal(size=(lines, samples, 2)).astype(np.float32)
    return v.view(np.complex64)[..., 0]


def run(stages, lines, tags=()):
    source = blocks.vector_source_c(lines.ravel(), False, lines.shape[1], list(tags))
    cols = stages[-1].output_signature().sizeof_stream_item(0) // 8
    sink = blocks.vector_sink_c(cols)
    tb = gr.top_block()
    tb.connect(source, *stages, sink)
    tb.run()
    for s in stages:
        assert s.error() == ""
    images = [pmt.to_python(t.value) for t in sink.tags() if pmt.symbol_to_string(t.key) == "sar_image"]
    return np.array(sink.data(), np.complex64).reshape(-1, cols), images


def difference_db(a, b):
    return 10 * math.log10(max(np.sum(abs(a - b) ** 2), 1e-30) / np.sum(abs(b) ** 2))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("centroid", [0.0, 0.4, -5.5])
def test_image_is_that_of_the_chain(centroid, backend):
    acq = strip(doppler_centroid_hz=centroid * 250)
    raw = noise(2 * 211, 320)
    common = dict(geometry="centroid", backend=backend)
    image, tags = run([sar.range_doppler_imager(acq, 211, 256, azimuth_window="hann",
                                                bandwidth_hz=200, **common)], raw)
    chain = [sar.pulse_compression(acq, backend=backend),
             sar.azimuth_fft(acq, 211, 256, backend=backend),
             sar.rcmc(acq, 211, 256, **common),
             sar.azimuth_filter(acq, 211, 256, window="hann", bandwidth_hz=200, **common)]
    by_stages, chain_tags = run(chain, raw)
    assert image.shape == (2 * 256, 320)
    assert difference_db(image, by_stages) < -100
    assert len(tags) == len(chain_tags) == 2
    for a, b in zip(tags, chain_tags):
        assert set(a) == set(b)
        for key in a:
            assert np.all(a[key] == b[key]), key


@pytest.mark.parametrize("backend", backends())
def test_overlapping_frames_join_to_one_strip(backend):
    """Consecutive frames' valid rows are those of one long frame."""
    acq = strip(doppler_centroid_hz=70.0)
    raw = noise(1500, 320)
    band = dict(bandwidth_hz=100, azimuth_window="hamming", output="valid", backend=backend)
    whole = sar.range_doppler_imager(acq, 1500, 2048, **band)
    reference, (long_tag,) = run([whole], raw)
    lines = whole.aperture_lines() + 250
    block = sar.range_doppler_imager(acq, lines, 2 * lines, hop=200, **band)
    assert block.image_rows() == 200
    joined, tags = run([block], raw)
    full = [t for t in tags if t["complete"]]
    assert len(full) == (1500 - lines) // 200 + 1
    step = acq.effective_velocity_m_s / acq.prf_hz
    for i, t in enumerate(full):
        assert t["first_pulse"] == 200 * i
        offset = round((t["origin_m"][0] - long_tag["origin_m"][0]) / step)
        rows = slice(max(0, offset), offset + 200)
        part = joined[200 * i : 200 * (i + 1)][max(0, -offset) :]
        # the band's edges reach beyond any frame: what the window leaves of them
        assert difference_db(part, reference[rows][: len(part)]) < -45
        if i:
            assert t["origin_m"][0] - full[i - 1]["origin_m"][0] == pytest.approx(200 * step)


def test_incomplete_frames_are_said_so():
    acq = strip()
    raw = noise(300, 320)
    block = sar.range_doppler_imager(acq, 200, backend="cpu")
    image, tags = run([block], raw)
    assert [t["complete"] for t in tags] == [True, False]
    assert [t["pulses"] for t in tags] == [200, 100]
    padded = np.zeros((200, 320), np.complex64)
    padded[:100] = raw[200:]
    alone, _ = run([sar.range_doppler_imager(acq, 200, backend="cpu")], padded)
    assert difference_db(image[200:], alone) < -120


def test_a_new_recording_begins_a_frame():
    acq = strip()
    raw = noise(350, 320)
    image, tags = run([sar.range_doppler_imager(acq, 200, backend="cpu")], raw,
                      [frame_tag(0, domain="raw", prf_hz=250.0), frame_tag(150, domain="raw", prf_hz=250.0)])
    assert [t["complete"] for t in tags] == [False, True]
    assert [t["first_pulse"] for t in tags] == [0, 0]
    alone, _ = run([sar.range_doppler_imager(acq, 200, backend="cpu")], raw[150:])
    assert difference_db(image[200:], alone) < -120


@pytest.mark.parametrize("stages", [False, True], ids=["fused", "stages"])
def test_a_centroid_for_each_frame_keeps_a_strip_whole(stages):
    """doppler_centroid says something of each of its frames; those of a strip go on all the
    same, each with the newest centroid."""
    acq = strip()
    raw = noise(1000, 320)
    given = sar.doppler_centroid(acq, 300, given=[20.0], backend="cpu")
    compression = sar.pulse_compression(acq, backend="cpu")
    args = dict(bandwidth_hz=60, output="valid", backend="cpu")
    known = strip(doppler_centroid_hz=20.0)
    lines, hop = 500, 150

    def chain(a):
        return [sar.azimuth_fft(a, lines, 1024, hop, backend="cpu"),
                sar.rcmc(a, lines, 1024, backend="cpu"),
                sar.azimuth_filter(a, lines, 1024, hop=hop, **args)]

    if stages:
        image, tags = run([compression, given, *chain(acq)], raw)
        right, expected = run([sar.pulse_compression(known, backend="cpu"), *chain(known)], raw)
    else:  # raw lines have no block in front of the imager: tags by hand
        frame = dict(domain="raw", doppler_centroid_hz=20.0, centroid_from="given")
        image, tags = run(
            [sar.range_doppler_imager(acq, lines, 1024, hop, **args)], raw,
            [frame_tag(0, **frame, time_s=5.0)] + [
                frame_tag(k, **frame, first_line=k, time_s=77.0, continues=True) for k in (300, 600, 900)])
        right, expected = run([sar.range_doppler_imager(known, lines, 1024, hop, **args)], raw)
    assert len(tags) == len(expected) == 5  # the last one incomplete
    for a, b in zip(tags, expected):
        for key in ("first_pulse", "pulses", "complete", "rows", "doppler_centroid_hz"):
            assert a[key] == b[key], key
        assert a["centroid_from"] == "given"
        if not stages:
            assert a["time_s"] == 5.0 + a["first_pulse"] / 250
    # the strip lies in the middle of what is valid for the acquisition's own centroid: 0
    shift = round((tags[0]["origin_m"][0] - expected[0]["origin_m"][0]) / (60.0 / 250))
    n = hop - abs(shift)
    for k in range(4):
        a = image[k * hop:][max(0, -shift):][:n]
        b = right[k * hop:][max(0, shift):][:n]
        assert difference_db(a, b) < -80


def test_runs_again_after_its_end():
    acq = strip()
    raw = noise(250, 320)
    block = sar.range_doppler_imager(acq, 200, backend="cpu")
    source = blocks.vector_source_c(raw.ravel(), False, 320)
    sink = blocks.vector_sink_c(320)
    tb = gr.top_block()
    tb.connect(source, block, sink)
    tb.run()
    first = np.array(sink.data())
    source.rewind()
    sink.reset()
    tb.run()
    assert block.error() == ""
    assert block.images() == 4
    np.testing.assert_array_equal(first, np.array(sink.data()))


def test_centroid_of_the_tag_counts_when_it_says_where_it_comes_from():
    raw = noise(200, 320)
    given = strip(doppler_centroid_hz=400.0)
    right, _ = run([sar.range_doppler_imager(given, 200, backend="cpu")], raw)
    for more, same in ((dict(centroid_from="estimate"), True), (dict(), False)):
        image, tags = run([sar.range_doppler_imager(strip(), 200, backend="cpu")], raw,
                          [frame_tag(0, domain="raw", doppler_centroid_hz=400.0, **more)])
        assert (difference_db(image, right) < -100) == same
        assert tags[0]["doppler_centroid_hz"] == (400.0 if same else 0.0)


@pytest.mark.parametrize("fields,sentence", [
    (dict(domain="compressed"), "domain 'compressed'"),
    (dict(samples=321), "samples 321"),
    (dict(prf_hz=300.0), "prf_hz 300"),
    (dict(slant_range_first_m=1.0), "slant_range_first_m 1"),
    (dict(doppler_centroid_hz=1e7, centroid_from="estimate"), "doppler_centroid_hz")])
def test_contradicting_tags_end_the_flowgraph(fields, sentence):
    raw = noise(200, 320)
    block = sar.range_doppler_imager(strip(), 200, backend="cpu")
    source = blocks.vector_source_c(raw.ravel(), False, 320, [frame_tag(0, **fields)])
    sink = blocks.vector_sink_c(320)
    tb = gr.top_block()
    tb.connect(source, block, sink)
    tb.run()
    assert sentence in block.error()
    assert len(sink.data()) == 0


@pytest.mark.parametrize("more,sentence", [
    (dict(lines=0), "lines is 0"), (dict(lines=200.5), "lines is 200.5"),
    (dict(fft_length=100), "fft_length is 100"), (dict(hop=201), "hop is 201"),
    (dict(oversampling=0), "oversampling is 0"), (dict(range_window="box"), "box"),
    (dict(interpolation="cubic"), "cubic"), (dict(looks=0), "looks is 0"),
    (dict(bandwidth_hz=300.0), "bandwidth_hz is 300"), (dict(geometry="flat"), "flat"),
    (dict(output="some"), "some"), (dict(backend="gpu"), "backend is 'gpu'"),
    (dict(output="valid"), "output is valid"), (dict(replica=[1.0]), "replica has 1")])
def test_wrong_parameters(more, sentence):
    with pytest.raises((ValueError, RuntimeError), match=sentence):
        sar.range_doppler_imager(**{"acq": strip(), "lines": 200, "backend": "cpu", **more})


def test_velocity_is_needed():
    with pytest.raises(ValueError, match="effective_velocity_m_s is 0"):
        sar.range_doppler_imager(strip(effective_velocity_m_s=0.0), 200)


def test_lines_that_are_not_finite_are_counted():
    raw = noise(200, 320)
    raw[7, 3] = np.nan
    block = sar.range_doppler_imager(strip(), 200, backend="cpu")
    image, _ = run([block], raw)
    assert np.all(np.isfinite(image))
    assert block.bad_lines() == 1
    assert block.memory_bytes() > 2 * 200 * 320 * 8
