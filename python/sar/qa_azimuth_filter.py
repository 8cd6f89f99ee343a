# SPDX-License-Identifier: GPL-3.0-or-later
"""azimuth_filter as a block: images and their tags, centroids, looks, strips, errors."""

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag, logged
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
SAMPLES = 12
PRF = 250.0
F0 = 9.6e9
V = 100.0
FIRST = 5000.0
SPACING = C / 200e6


def radar(**changes):
    """About 490 lines in the band of the PRF."""
    f = dict(waveform="pulsed_lfm", samples=SAMPLES, carrier_hz=F0, prf_hz=PRF,
             sample_rate_hz=100e6, pulse_length_s=1e-7, chirp_rate_hz_per_s=8e14,
             slant_range_first_m=FIRST, effective_velocity_m_s=V)
    f.update(changes)
    return sar.acquisition(**f)


def factor(f):
    return np.sqrt(1 - (C * f / (2 * V * F0)) ** 2)


def time_of(f, r0):
    """After closest approach, when a point has the Doppler frequency f."""
    return -C * r0 * f / (2 * F0 * V**2 * factor(f))


def rows_of_points(rows, centroid, geometry, lines_at):
    """Rows of rcmc: in each cell one point, whose place is at a line of the frame."""
    first = FIRST * (factor(centroid) if geometry == "zero_doppler" else 1)
    r0 = first + SPACING * np.arange(SAMPLES)
    if geometry == "centroid":
        r0 = r0 * factor(centroid)
    f = np.arange(rows) * PRF / rows
    f = (f + PRF * np.round((centroid - f) / PRF))[:, None]
    t0 = np.asarray(lines_at) / PRF
    if geometry == "centroid":
        t0 = t0 - time_of(centroid, r0)
    slope = C * r0 / (2 * F0 * V**2 * factor(f) ** 3)
    phase = -4 * np.pi * F0 / C * r0 * factor(f) - np.pi / 4 - 2 * np.pi * f * t0
    return (PRF * np.sqrt(slope) * np.exp(1j * phase)).astype(np.complex64), first


def run(block, x, tags=()):
    source = blocks.vector_source_c(x.ravel().tolist(), False, x.shape[1], list(tags))
    sink = blocks.vector_sink_c(SAMPLES)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    assert all(pmt.to_python(t.key) == "sar_image" for t in sink.tags())
    return (np.array(sink.data(), np.complex64).reshape(-1, SAMPLES),
            [(t.offset, pmt.to_python(t.value)) for t in sink.tags()])


def error(a, b):
    assert a.shape == b.shape
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("geometry", ["zero_doppler", "centroid"])
@pytest.mark.parametrize("centroid", [0, 0.4 * PRF, -5.5 * PRF + 3])
def test_points_lie_where_the_tag_says(backend, geometry, centroid):
    acq = radar(doppler_centroid_hz=centroid)
    middle = (FIRST + SAMPLES // 2 * SPACING) * factor(centroid)
    early = 0 if geometry == "centroid" else time_of(centroid, middle) * PRF
    lines_at = np.round(250 + 17 * np.arange(SAMPLES) - early)
    rows, first = rows_of_points(640, centroid, geometry, lines_at)
    block = sar.azimuth_filter(acq, 600, 640, window="hann", geometry=geometry, backend=backend)
    tags = [frame_tag(640 * k, domain="migrated", rows=640, lines=600, lines_used=600 - k,
                      samples=SAMPLES, prf_hz=PRF, spacing_m=SPACING, geometry=geometry,
                      slant_range_first_m=first, first_line=600 * k, complete=k == 0,
                      doppler_centroid_hz=centroid, time_s=3.0) for k in range(2)]
    y, out = run(block, np.concatenate([rows, rows]), tags)
    assert block.error() == "" and block.images() == 2
    assert [at for at, _ in out] == [0, 640]
    for k, (_, d) in enumerate(out):
        image = y[640 * k : 640 * (k + 1)]
        assert (d["image"], d["rows"], d["cols"]) == (k, 640, SAMPLES)
        assert (d["pulses"], d["first_pulse"], d["complete"]) == (600 - k, 600 * k, k == 0)
        assert (d["value"], d["plane"], d["geometry"]) == ("complex", "slant", geometry)
        assert (d["looks"], d["doppler_centroid_hz"]) == (1, centroid)
        assert list(d["row_axis"]) == [1, 0, 0] and list(d["col_axis"]) == [0, 1, 0]
        assert d["row_spacing_m"] == pytest.approx(V / PRF)
        assert d["col_spacing_m"] == pytest.approx(SPACING)
        assert d["origin_m"][1] == pytest.approx(first) and d["origin_m"][2] == 0
        x = V / PRF * (lines_at + 600 * k)
        at = (x - d["origin_m"][0]) / d["row_spacing_m"]
        assert np.allclose(at, np.round(at), atol=1e-6)
        at = np.round(at).astype(int)
        assert (np.argmax(abs(image), axis=0) == at).all()
        peaks = image[at, np.arange(SAMPLES)]
        assert np.allclose(peaks, 1, atol=2e-3), peaks


@pytest.mark.parametrize("backend", backends())
def test_the_centroid_of_the_tag(backend):
    """acq's is wrong by whole PRFs; the tag's is used from frame to frame, and only when it
    says where it comes from."""
    centroids = [-800.0, -800.0, 600.0]
    x, tags = [], []
    for k, c in enumerate(centroids):
        place = 300 + np.round(-time_of(c, 5000 * factor(c)) * PRF)
        rows, first = rows_of_points(640, c, "zero_doppler", np.full(SAMPLES, place))
        x.append(rows)
        tags.append(frame_tag(640 * k, domain="migrated", slant_range_first_m=first,
                              doppler_centroid_hz=c, centroid_from="estimate"))
    block = sar.azimuth_filter(radar(), 600, 640, backend=backend)
    y, out = run(block, np.concatenate(x), tags)
    assert block.error() == ""
    for k, (_, d) in enumerate(out):
        assert d["doppler_centroid_hz"] == centroids[k]
        image = y[640 * k : 640 * (k + 1)]
        peaks = image[np.argmax(abs(image), axis=0), np.arange(SAMPLES)]
        assert np.allclose(peaks, 1, atol=5e-3)

    # with a polynomial, and without the word of where it is from
    rows = np.zeros((640, SAMPLES))
    _, out = run(sar.azimuth_filter(radar(), 600, 640, backend=backend), rows,
                 [frame_tag(0, doppler_centroid_hz=(-800.0, 1e-9), centroid_from="given")])
    assert list(out[0][1]["doppler_centroid_hz"]) == [-800, 1e-9]
    _, out = run(sar.azimuth_filter(radar(), 600, 640, backend=backend), rows,
                 [frame_tag(0, doppler_centroid_hz=-800.0)])
    assert out[0][1]["doppler_centroid_hz"] == 0


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("looks", [2, 3])
def test_looks_and_detect(backend, looks):
    lines_at = 280 + 5 * np.arange(SAMPLES)
    rows, _ = rows_of_points(640, 0, "zero_doppler", lines_at)
    f = sar.azimuth_filter(radar(), 600, 640, window="hamming", looks=looks, backend=backend)
    y, out = run(f, rows)
    assert f.image_rows() == 640 and len(y) == 640 * looks
    d = out[0][1]
    assert (d["rows"], d["looks"]) == (640 * looks, looks)
    assert d["row_spacing_m"] == pytest.approx(V / PRF)
    at = np.round(lines_at - d["origin_m"][0] / d["row_spacing_m"]).astype(int)
    for look in range(looks):
        one = y[look::looks]
        assert (np.argmax(abs(one), axis=0) == at).all()
        assert np.allclose(one[at, np.arange(SAMPLES)], 1, atol=5e-3)

    source = blocks.vector_source_c(rows.ravel().tolist(), False, SAMPLES)
    f = sar.azimuth_filter(radar(), 600, 640, window="hamming", looks=looks, backend=backend)
    detect = sar.detect(SAMPLES, "power", 2 * looks, backend=backend)
    sink = blocks.vector_sink_f(SAMPLES)
    top = gr.top_block()
    top.connect(source, f, detect, sink)
    top.run()
    assert detect.error() == ""
    power = np.array(sink.data()).reshape(-1, SAMPLES)
    assert np.allclose(power, (abs(y) ** 2).reshape(320, 2 * looks, SAMPLES).mean(axis=1),
                       atol=1e-4)
    e = pmt.to_python(sink.tags()[0].value)
    assert (e["rows"], e["looks"]) == (320, 1)
    assert e["row_spacing_m"] == pytest.approx(2 * V / PRF)
    assert e["origin_m"][0] == pytest.approx(d["origin_m"][0] + 0.5 * V / PRF)


class migrated(gr.sync_block):
    """Stands for rcmc where there is nothing to migrate: says so in the tags."""

    def __init__(self):
        gr.sync_block.__init__(self, "migrated", [(np.complex64, SAMPLES)],
                               [(np.complex64, SAMPLES)])
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def work(self, input_items, output_items):
        n = len(output_items[0])
        output_items[0][:] = input_items[0][:n]
        for t in self.get_tags_in_window(0, 0, n):
            d = pmt.dict_add(t.value, pmt.intern("domain"), pmt.intern("migrated"))
            self.add_item_tag(0, t.offset, t.key, d)
        return n


def echoes(lines, seed=1):
    """Lines of a strip of points at centroid 0, each in its cell and in 0.95 of the band."""
    rng = np.random.default_rng(seed)
    r0 = FIRST + SPACING * np.arange(SAMPLES)
    x = np.zeros((lines, SAMPLES), complex)
    edge = time_of(-0.475 * PRF, r0)
    for t0 in rng.uniform(-1, lines / PRF + 1, size=(6, SAMPLES)):
        t = np.arange(lines)[:, None] / PRF - t0
        r = np.hypot(r0, V * t)
        x += np.where(abs(t) <= edge, np.exp(-4j * np.pi * F0 / C * r), 0)
    return x.astype(np.complex64)


@pytest.mark.parametrize("backend", ["cpu", "emulated"])
def test_strip(backend):
    """Frames of 700 lines every 250 join to the image of one long frame."""
    x = echoes(2500)
    args = dict(window="hamming", bandwidth_hz=0.7 * PRF, backend=backend)
    hop = 250

    def image(lines, hop, output):
        filt = sar.azimuth_filter(radar(), lines, output=output,
                                  hop=hop if output == "valid" else 0, **args)
        source = blocks.vector_source_c(x.ravel().tolist(), False, SAMPLES)
        sink = blocks.vector_sink_c(SAMPLES)
        fft = sar.azimuth_fft(radar(), lines, hop=hop, backend=backend)
        relabel = migrated()
        top = gr.top_block()
        if backend == "emulated":
            top.connect(source, fft, sar.to_host(SAMPLES, backend=backend), relabel,
                        sar.to_device(SAMPLES, backend=backend), filt, sink)
        else:
            top.connect(source, fft, relabel, filt, sink)
        top.run()
        assert fft.error() == "" and filt.error() == ""
        return (np.array(sink.data(), np.complex64).reshape(-1, SAMPLES),
                [(t.offset, pmt.to_python(t.value)) for t in sink.tags()])

    whole, tags = image(2500, 0, "all")
    begin = round(tags[0][1]["origin_m"][0] / (V / PRF))
    strip, tags = image(700, hop, "valid")
    # the stream ends: an incomplete frame is the last
    tags = [t for t in tags if t[1]["complete"]]
    assert [d["rows"] for _, d in tags] == [hop] * len(tags) and len(tags) == 8
    starts = [round(d["origin_m"][0] / (V / PRF), 6) for _, d in tags]
    assert np.diff(starts).tolist() == [hop] * 7 # no gap, no overlap
    assert [at for at, _ in tags] == [hop * k for k in range(8)]
    first = round(starts[0]) - begin
    truth = whole[first : first + 8 * hop]
    assert error(strip[: 8 * hop], truth) < 0.01
    assert abs(strip[: 8 * hop] - truth).max() < 0.01


def test_valid_rows():
    kw = dict(bandwidth_hz=0.7 * PRF, output="valid", backend="cpu")
    block = sar.azimuth_filter(radar(), 700, **kw)
    assert block.aperture_lines() == pytest.approx(2 * PRF * time_of(-0.35 * PRF, 5018), abs=2)
    assert block.image_rows() == pytest.approx(700 - block.aperture_lines(), abs=3)
    y, out = run(block, np.zeros((700, SAMPLES)))
    assert len(y) == block.image_rows() == out[0][1]["rows"]
    assert out[0][1]["origin_m"][0] == pytest.approx(
        V / PRF * block.aperture_lines() / 2, abs=2 * V / PRF)
    # hop rows of the middle of them
    part = sar.azimuth_filter(radar(), 700, hop=101, **kw)
    z, tags = run(part, np.zeros((700, SAMPLES)))
    assert len(z) == 101
    middle = tags[0][1]["origin_m"][0] + 50 * V / PRF
    assert middle == pytest.approx(V / PRF * 350, abs=2 * V / PRF)
    assert sar.azimuth_filter(radar(), 700, **dict(kw, output="all")).image_rows() == 700
    assert sar.azimuth_filter(radar(), 700, hop=123, **kw).image_rows() == 123


def test_a_strip_keeps_its_place_when_the_centroid_moves(capfd):
    """Valid rows move with the centroid; those that go out must not."""
    block = sar.azimuth_filter(radar(), 700, bandwidth_hz=0.5 * PRF, output="valid", hop=300,
                               backend="cpu")
    tags = []
    for k, c in enumerate([0.0, 8.0, -8.0, 100.0]):
        first = FIRST * factor(c)
        tags.append(frame_tag(700 * k, first_line=300 * k, doppler_centroid_hz=c,
                              centroid_from="estimate", slant_range_first_m=first))
    _, out = run(block, np.zeros((2800, SAMPLES)), tags)
    assert block.error() == ""
    x = [d["origin_m"][0] / (V / PRF) for _, d in out]
    assert np.allclose(np.diff(x), 300)
    assert logged(capfd, "away from the strip").count("away from the strip") == 1


@pytest.mark.parametrize("backend", backends())
def test_half_rows_and_rows_that_are_not_finite(backend):
    x = echoes(400)
    results = []
    for storage in "single", "half":
        source = blocks.vector_source_c(x.ravel().tolist(), False, SAMPLES)
        fft = sar.azimuth_fft(radar(), 400, storage=storage, backend=backend)
        filt = sar.azimuth_filter(radar(), 400, storage=storage, backend=backend)
        assert fft.row_bytes() == filt.row_bytes()
        filt_sink = blocks.vector_sink_c(SAMPLES)
        top = gr.top_block()
        top.connect(source, fft, filt, filt_sink)
        top.run()
        # without a rcmc between: the tag is refused, whatever the storage
        assert "domain 'range_doppler'" in filt.error() and "rcmc" in filt.error()
        results.append(filt.error())
    assert results[0].split(":", 1)[1] == results[1].split(":", 1)[1]

    rows = np.fft.fft(x, axis=0).astype(np.complex64)
    rows[17, 3] = np.nan
    block = sar.azimuth_filter(radar(), 400, backend=backend)
    y, _ = run(block, rows)
    assert block.bad_lines() == 1
    rows[17] = 0
    z, _ = run(sar.azimuth_filter(radar(), 400, backend=backend), rows)
    assert np.array_equal(y, z)


def test_an_incomplete_frame(capfd):
    rows, _ = rows_of_points(640, 0, "zero_doppler", np.full(SAMPLES, 300))
    y, out = run(sar.azimuth_filter(radar(), 600, 640, backend="cpu"), rows[:400])
    assert len(y) == 640 and out[0][1]["complete"] is False
    cut = rows.copy()
    cut[400:] = 0
    z, _ = run(sar.azimuth_filter(radar(), 600, 640, backend="cpu"), cut)
    assert np.array_equal(y, z)
    assert "frame 0 has 400 of 640 lines" in logged(capfd, "frame 0 has 400 of 640 lines")


@pytest.mark.parametrize("fields, parts", [
    (dict(domain="range_doppler"), ["domain 'range_doppler'", "migrated", "rcmc"]),
    (dict(rows=641), ["rows 641", "fft_length", "640"]),
    (dict(lines=601), ["lines 601", "600"]),
    (dict(samples=13), ["samples 13", "12"]),
    (dict(prf_hz=251.0), ["prf_hz 251", "acq.prf_hz", "250"]),
    (dict(spacing_m=1.0), ["spacing_m 1,"]),
    (dict(geometry="centroid"), ["geometry 'centroid'", "'zero_doppler'"]),
    (dict(slant_range_first_m=4999.0), ["4999", "5000"]),
    (dict(centroid_from="estimate", doppler_centroid_hz=1e6), ["doppler_centroid_hz is 1000000"]),
])
def test_tag_that_disagrees_ends_the_flowgraph(fields, parts):
    block = sar.azimuth_filter(radar(), 600, 640, backend="cpu")
    y, _ = run(block, np.zeros((640, SAMPLES)), [frame_tag(0, **fields)])
    assert len(y) == 0
    for part in parts:
        assert part in block.error(), block.error()


def test_whole_numbers():
    sar.azimuth_filter(radar(), 600.0, 640.0, 1.0, "rect", 0, 2.0)
    with pytest.raises(ValueError, match="looks is 2.5; expected a whole number"):
        sar.azimuth_filter(radar(), 600, looks=2.5)


@pytest.mark.parametrize("fields, message", [
    (dict(lines=0), "lines is 0; expected"),
    (dict(fft_length=599), "fft_length is 599; expected"),
    (dict(oversampling=0), "oversampling is 0; expected"),
    (dict(window="flat"), "window is 'flat'; expected"),
    (dict(bandwidth_hz=-1), "bandwidth_hz is -1 Hz; expected"),
    (dict(bandwidth_hz=251), "bandwidth_hz is 251 Hz; expected .* prf_hz, 250"),
    (dict(looks=0), "looks is 0; expected"),
    (dict(geometry="beam"), "geometry is 'beam'; expected one of: zero_doppler, centroid"),
    (dict(output="some"), "output is 'some'; expected one of: all, valid"),
    (dict(hop=10), "hop is 10 with output all; expected 0"),
    (dict(output="valid", lines=400), "no row has its whole aperture in a frame; a frame has "
                                      "400 lines and a point is in the Doppler band for up to"),
    (dict(output="valid", hop=500), "hop is 500, but .* rows have their whole aperture"),
    (dict(storage="quarter"), "storage is 'quarter'; expected"),
    (dict(acq=radar(effective_velocity_m_s=0)), "effective_velocity_m_s is 0 m/s"),
    (dict(acq=radar(doppler_centroid_hz=7000)), "doppler_centroid_hz is 7000 Hz"),
])
def test_errors(fields, message):
    f = dict(acq=radar(), lines=600)
    f.update(fields)
    with pytest.raises(ValueError, match=message):
        sar.azimuth_filter(**f)


@pytest.mark.parametrize("backend", backends())
def test_too_large_a_frame_names_the_bytes(backend):
    with pytest.raises(RuntimeError, match=f"{8 << 46} bytes needed"):
        sar.azimuth_filter(radar(samples=1 << 24), 1 << 20, looks=4, backend=backend)


def test_signature_in_the_documentation():
    for part in "window", "'rect'", "bandwidth_hz", "looks", "'zero_doppler'", "'all'", "hop":
        assert part in sar.azimuth_filter.__init__.__doc__
