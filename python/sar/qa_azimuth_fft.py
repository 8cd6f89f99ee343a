# SPDX-License-Identifier: GPL-3.0-or-later
"""azimuth_fft as a block: frames, tags, overlap, storage, errors."""

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag, logged
from gnuradio import blocks, gr, sar

SAMPLES = 50


def radar(**changes):
    f = dict(waveform="pulsed_lfm", samples=SAMPLES, carrier_hz=9.6e9, prf_hz=1000,
             sample_rate_hz=100e6, pulse_length_s=1e-7, chirp_rate_hz_per_s=8e14,
             slant_range_first_m=5000.0, doppler_centroid_hz=320.0)
    f.update(changes)
    return sar.acquisition(**f)


def noise(lines, samples=SAMPLES, seed=1):
    r = np.random.default_rng(seed)
    x = r.normal(size=(lines, samples)) + 1j * r.normal(size=(lines, samples))
    return x.astype(np.complex64)


def run(block, x, tags=(), bytes_out=None, buffer=None):
    """Items through the block: output items, [(offset, dictionary)] of its tags."""
    if x.dtype == np.uint8:
        source = blocks.vector_source_b(x.ravel().tolist(), False, x.shape[1], list(tags))
    else:
        source = blocks.vector_source_c(x.ravel().tolist(), False, x.shape[1], list(tags))
    sink = blocks.vector_sink_b(bytes_out) if bytes_out else blocks.vector_sink_c(SAMPLES)
    if buffer:
        block.set_max_output_buffer(buffer)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    data = np.array(sink.data(), np.uint8 if bytes_out else np.complex64)
    assert all(pmt.to_python(t.key) == "sar_frame" for t in sink.tags())
    return (data.reshape(-1, bytes_out or SAMPLES),
            [(t.offset, pmt.to_python(t.value)) for t in sink.tags()])


def decode(items, samples=SAMPLES):
    """Half rows to complex numbers."""
    scales = -(-samples // 32)
    scale = items[:, : 4 * scales].copy().view(np.float32)
    values = items[:, 4 * scales :].copy().view(np.int16).astype(np.float32)
    scale = np.repeat(scale, 32, axis=1)[:, :samples]
    return scale * (values[:, 0::2] + 1j * values[:, 1::2])


def error(a, b):
    assert a.shape == b.shape
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("lines, fft_length, rows", [
    (1, 0, 1), (100, 0, 100), (101, 0, 105), (101, 101, 101), (64, 200, 200)])
def test_frames_of_a_stream(backend, lines, fft_length, rows):
    x = noise(3 * lines)
    block = sar.azimuth_fft(radar(), lines, fft_length, backend=backend)
    assert block.rows() == rows and block.row_bytes() == 8 * SAMPLES
    y, tags = run(block, x)
    assert block.error() == ""
    truth = [np.fft.fft(x[k * lines : (k + 1) * lines], rows, axis=0) for k in range(3)]
    assert error(y, np.concatenate(truth)) < 1e-6
    assert [at for at, _ in tags] == [0, rows, 2 * rows]
    assert [d["first_line"] for _, d in tags] == [0, lines, 2 * lines]
    assert block.frames() == 3 and block.bad_lines() == 0
    assert block.memory_bytes() >= 8 * rows * SAMPLES


@pytest.mark.parametrize("backend", backends())
def test_small_buffers(backend):
    x = noise(90)
    y, _ = run(sar.azimuth_fft(radar(), 30, backend=backend), x, buffer=2)
    truth = np.concatenate([np.fft.fft(x[k : k + 30], axis=0) for k in (0, 30, 60)])
    assert error(y, truth) < 1e-6


def test_tag_of_a_frame():
    tags = [frame_tag(0, frame=7, lines=40, samples=SAMPLES, prf_hz=1000.0,
                      slant_range_first_m=5000.0, spacing_m=sar.speed_of_light / 200e6,
                      domain="compressed", time_s=12.0)]
    _, out = run(sar.azimuth_fft(radar(), 20, 32, backend="cpu"), noise(40), tags)
    assert [at for at, _ in out] == [0, 32]
    d = out[1][1]
    assert (d["frame"], d["lines"], d["lines_used"], d["rows"]) == (1, 20, 20, 32)
    assert (d["samples"], d["prf_hz"], d["slant_range_first_m"]) == (SAMPLES, 1000, 5000)
    assert d["spacing_m"] == pytest.approx(sar.speed_of_light / 200e6)
    assert (d["doppler_centroid_hz"], d["domain"]) == (320, "range_doppler")
    assert (d["first_line"], d["complete"]) == (20, True)
    assert d["time_s"] == pytest.approx(12.02)
    assert "centroid_from" not in d


def test_centroid_of_the_tag_is_passed_on():
    def of(acq=radar(), **fields):
        _, out = run(sar.azimuth_fft(acq, 20, backend="cpu"), noise(20), [frame_tag(0, **fields)])
        return out[0][1]

    # what a source repeats of its acquisition is no estimate
    d = of(doppler_centroid_hz=-11.0)
    assert d["doppler_centroid_hz"] == 320 and "centroid_from" not in d
    d = of(doppler_centroid_hz=-11.0, centroid_from="estimate")
    assert (d["doppler_centroid_hz"], d["centroid_from"]) == (-11, "estimate")
    d = of(doppler_centroid_hz=(-11.0, 0.5), centroid_from="given")
    assert list(d["doppler_centroid_hz"]) == [-11, 0.5] and d["centroid_from"] == "given"
    d = of(radar(doppler_centroid_slopes=[0.25]))
    assert list(d["doppler_centroid_hz"]) == [320, 0.25]


@pytest.mark.parametrize("backend", backends())
def test_a_sar_frame_within_a_frame_cuts_it_short(backend, capfd):
    x = noise(55)
    tags = [frame_tag(0, time_s=1.0), frame_tag(27, time_s=5.0)]
    y, out = run(sar.azimuth_fft(radar(), 20, 21, backend=backend), x, tags)
    parts = [x[0:20], x[20:27], x[27:47], x[47:55]]
    truth = np.concatenate([np.fft.fft(p, 21, axis=0) for p in parts])
    assert error(y, truth) < 1e-6
    assert [at for at, _ in out] == [0, 21, 42, 63]
    assert [d["lines_used"] for _, d in out] == [20, 7, 20, 8]
    assert [d["complete"] for _, d in out] == [True, False, True, False]
    assert [d["first_line"] for _, d in out] == [0, 20, 0, 20]
    assert [d["time_s"] for _, d in out] == pytest.approx([1, 1.02, 5, 5.02])
    assert [d["frame"] for _, d in out] == [0, 1, 2, 3]
    parts = ["frame 1 has 7 of 20 lines (a new sar_frame began)", "frame 3 has 8 of 20 lines (the stream ended)"]
    said = logged(capfd, *parts)
    assert all(p in said for p in parts), said


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("hop", [1, 7, 13, 20])
@pytest.mark.parametrize("more", [0, 1, 5])
def test_overlap(backend, hop, more):
    """Frames every hop lines; lines that no frame had make one more, incomplete."""
    frames = 5
    x = noise(20 + (frames - 1) * hop + more)
    y, out = run(sar.azimuth_fft(radar(), 20, hop=hop, backend=backend), x)
    starts = [k * hop for k in range(frames)]
    while starts[-1] + 20 < len(x):
        starts.append(starts[-1] + hop)
    truth = np.concatenate([np.fft.fft(x[s : s + 20], 20, axis=0) for s in starts])
    assert error(y, truth) < 1e-6
    assert [d["first_line"] for _, d in out] == starts
    assert [d["lines_used"] for _, d in out] == [min(20, len(x) - s) for s in starts]


@pytest.mark.parametrize("backend", backends())
def test_overlap_ends_at_a_new_stretch(backend):
    x = noise(60)
    y, out = run(sar.azimuth_fft(radar(), 20, hop=5, backend=backend), x,
                 [frame_tag(0), frame_tag(32)])
    # 30 of the first 32 lines are in full frames, then two more lines come
    starts = [0, 5, 10, 15, 32, 37, 42]
    ends = [20, 25, 30, 32, 52, 57, 60]
    truth = np.concatenate([np.fft.fft(x[a:b], 20, axis=0) for a, b in zip(starts, ends)])
    assert error(y, truth) < 1e-6
    assert [d["first_line"] for _, d in out] == [0, 5, 10, 15, 0, 5, 10]


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("storage, limit", [("single", 1e-6), ("half", 6e-5)])
def test_round_trip(backend, storage, limit):
    """Lines of two stretches, the last frame short: they come back as they were."""
    x = noise(47)
    forward = sar.azimuth_fft(radar(), 20, 32, storage=storage, backend=backend)
    inverse = sar.azimuth_fft(radar(), 20, 32, direction="inverse", storage=storage,
                              backend=backend)
    assert forward.row_bytes() == inverse.row_bytes()
    assert forward.row_bytes() == (8 * SAMPLES if storage == "single" else 4 * (2 + SAMPLES))
    source = blocks.vector_source_c(x.ravel().tolist(), False, SAMPLES,
                                    [frame_tag(0, domain="compressed"), frame_tag(30)])
    sink = blocks.vector_sink_c(SAMPLES)
    top = gr.top_block()
    top.connect(source, forward, inverse, sink)
    top.run()
    assert forward.error() == "" and inverse.error() == ""
    y = np.array(sink.data(), np.complex64).reshape(-1, SAMPLES)
    assert error(y, x) < limit
    out = [(t.offset, pmt.to_python(t.value)) for t in sink.tags()]
    assert [at for at, _ in out] == [0, 20, 30]
    assert [d["lines_used"] for _, d in out] == [20, 10, 17]
    assert [d["first_line"] for _, d in out] == [0, 20, 0]
    assert all(d["domain"] == "compressed" and "rows" not in d for _, d in out)


def test_half_items():
    x = noise(20)
    block = sar.azimuth_fft(radar(), 20, storage="half", backend="cpu")
    y, _ = run(block, x, bytes_out=block.row_bytes())
    truth = np.fft.fft(x, axis=0)
    assert 1e-6 < error(decode(y), truth) < 6e-5
    back = sar.azimuth_fft(radar(), 20, direction="inverse", storage="half", backend="cpu")
    z, _ = run(back, y)
    assert error(z, x) < 6e-5


@pytest.mark.parametrize("domain, spectrum", [("raw", "raw_doppler"),
                                              ("compressed", "range_doppler")])
def test_domains(domain, spectrum):
    _, out = run(sar.azimuth_fft(radar(), 20, backend="cpu"), noise(20),
                 [frame_tag(0, domain=domain)])
    assert out[0][1]["domain"] == spectrum
    for of, becomes in ((spectrum, domain), ("migrated", "migrated_lines")):
        _, out = run(sar.azimuth_fft(radar(), 20, direction="inverse", backend="cpu"), noise(20),
                     [frame_tag(0, domain=of)])
        assert out[0][1]["domain"] == becomes


@pytest.mark.parametrize("backend", backends())
def test_lines_that_are_not_finite_are_counted(backend):
    x = noise(40)
    x[3, 7] = np.nan
    x[25, 0] = np.inf
    block = sar.azimuth_fft(radar(), 20, hop=10, backend=backend)
    y, _ = run(block, x)
    assert block.bad_lines() == 2
    x[[3, 25]] = 0
    truth = np.concatenate([np.fft.fft(x[k : k + 20], axis=0) for k in (0, 10, 20)])
    assert error(y, truth) < 1e-6


@pytest.mark.parametrize("direction, fields, parts", [
    ("forward", dict(samples=51), ["samples 51", "acq.samples * oversampling", "50"]),
    ("forward", dict(prf_hz=999.0), ["prf_hz 999", "acq.prf_hz", "1000"]),
    ("forward", dict(domain="range_doppler"), ["domain 'range_doppler'", "raw or compressed"]),
    ("forward", dict(domain="compressed", spacing_m=1.0), ["spacing_m 1,", "1.49896"]),
    ("forward", dict(domain="compressed", slant_range_first_m=5001.0), ["5001", "5000"]),
    ("inverse", dict(domain="compressed"), ["domain 'compressed'", "range_doppler"]),
    ("inverse", dict(rows=21), ["rows 21", "fft_length", "20"]),
    ("inverse", dict(lines=19), ["lines 19", "20"]),
])
def test_tag_that_disagrees_ends_the_flowgraph(direction, fields, parts):
    block = sar.azimuth_fft(radar(), 20, direction=direction, backend="cpu")
    y, _ = run(block, noise(20), [frame_tag(0, **fields)])
    assert len(y) == 0
    for part in parts:
        assert part in block.error(), block.error()


def test_no_line_is_an_error():
    block = sar.azimuth_fft(radar(), 20, backend="cpu")
    top = gr.top_block()
    top.connect(blocks.null_source(8 * SAMPLES), blocks.head(8 * SAMPLES, 0), block,
                blocks.null_sink(8 * SAMPLES))
    top.run()
    assert "the stream ended without a line" in block.error()


def test_whole_numbers():
    sar.azimuth_fft(radar(), 20.0, 32.0, 10.0, 1.0)
    with pytest.raises(ValueError, match="lines is 20.5; expected a whole number"):
        sar.azimuth_fft(radar(), 20.5)


@pytest.mark.parametrize("fields, message", [
    (dict(lines=0), "lines is 0; expected"),
    (dict(lines=1 << 21), "lines is 2097152; expected"),
    (dict(fft_length=19), "fft_length is 19; expected 0 .* at least lines, 20"),
    (dict(hop=21), "hop is 21; expected 0 .* 1 to lines, 20"),
    (dict(hop=-1), "hop is -1; expected"),
    (dict(hop=10, direction="inverse"), "hop is 10 with direction inverse; expected 0"),
    (dict(oversampling=0), "oversampling is 0; expected"),
    (dict(direction="back"), "direction is 'back'; expected one of: forward, inverse"),
    (dict(storage="quarter"), "storage is 'quarter'; expected one of: single, half"),
    (dict(backend="gpu"), "backend is 'gpu'; expected"),
])
def test_errors(fields, message):
    f = dict(lines=20)
    f.update(fields)
    with pytest.raises(ValueError, match=message):
        sar.azimuth_fft(radar(), **f)


@pytest.mark.parametrize("backend", backends())
def test_too_large_a_frame_names_the_bytes(backend):
    with pytest.raises(RuntimeError, match=f"{8 << 44} bytes needed"):
        sar.azimuth_fft(radar(samples=1 << 24), 1 << 20, backend=backend)


def test_signature_in_the_documentation():
    for part in "fft_length", "hop", "'forward'", "'single'", "'auto'", "= 0":
        assert part in sar.azimuth_fft.__init__.__doc__
