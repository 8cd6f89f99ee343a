# SPDX-License-Identifier: GPL-3.0-or-later
"""chirp_z as a block: the sum it stands for, exact lengths, zoom, tags, errors."""

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag, tag
from gnuradio import blocks, gr, sar


def run(block, lines, tags=()):
    """Lines through the block in a flowgraph: output lines and output tags."""
    lines = np.asarray(lines, np.complex64)
    source = blocks.vector_source_c(lines.ravel().tolist(), False, lines.shape[1], list(tags))
    sink = blocks.vector_sink_c(block.samples_out())
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data(), np.complex64).reshape(-1, block.samples_out()), sink.tags()


def noise(lines, samples, seed=1):
    r = np.random.default_rng(seed)
    x = r.normal(size=(lines, samples)) + 1j * r.normal(size=(lines, samples))
    return x.astype(np.complex64)


def db(x, truth):
    assert x.shape == truth.shape
    return 20 * np.log10(max(np.linalg.norm(x - truth), 1e-30) / np.linalg.norm(truth))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("direction", ["forward", "inverse"])
@pytest.mark.parametrize("window", ["rect", "taylor(4, 35)"])
def test_is_the_sum_in_hz(backend, direction, window):
    """In the unit of the sampling rate, with a window of mean 1."""
    x = noise(5, 300)
    block = sar.chirp_z(300, 200, 1.5e6, -12.5e3, 20e6, direction, window, 149.5, backend)
    y, _ = run(block, x)
    assert block.error() == ""
    n = np.arange(300) - 149.5
    f = 1.5e6 - 12.5e3 * np.arange(200)
    w = np.array([sar.window(window)((i + 0.5) / 300 - 0.5) for i in range(300)])
    sign = -1 if direction == "forward" else 1
    kernel = np.exp(sign * 2j * np.pi * np.outer(f / 20e6, n))
    truth = (w / w.mean() * x.astype(complex)) @ kernel.T
    if direction == "inverse":
        truth /= 300
    assert db(y, truth) < -128
    assert block.frequency_step() == -12.5e3


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("samples", [1, 800, 1200, 4099, 10007])
def test_exact_length(backend, samples):
    """Without numbers it is the discrete Fourier transform, whatever the length, and the
    inverse leads back."""
    x = noise(3, samples)
    y, _ = run(sar.chirp_z(samples, backend=backend), x)
    assert db(y, np.fft.fft(x.astype(complex))) < -125
    z, _ = run(sar.chirp_z(samples, direction="inverse", backend=backend), y)
    assert db(z, x) < -120


def test_lines_over_frequency_to_delay():
    """A stepped-frequency line: the profile at any spacing, the carrier's phase at its peak."""
    step_hz, count, delay_s = 4e6, 101, 63.4e-9
    line = np.exp(-2j * np.pi * (np.arange(count) - 50) * step_hz * delay_s)
    spacing_s = 0.05e-9
    block = sar.chirp_z(count, 801, 43.4e-9, spacing_s, 1 / step_hz, "inverse",
                        reference_sample=50, backend="cpu")
    y, _ = run(block, [line])
    peak = np.argmax(abs(y[0]))
    assert 43.4e-9 + peak * spacing_s == pytest.approx(delay_s, abs=1e-15)
    assert y[0][peak] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("window, pslr_db, tolerance_db",
                         [("rect", -13.26, 0.02), ("hamming", -42.7, 0.3),
                          ("taylor(4, 35)", -35.2, 0.3)])
def test_zoom_of_an_image_needs_no_interpolation(window, pslr_db, tolerance_db):
    """A row of an image at one sample a cell to 64: its spectrum, then the piece around the
    point. Width, side lobe and place of the point are those of theory."""
    samples, place, spacing = 500, 201.37, 1 / 64
    band = np.arange(samples) - samples // 2
    w = np.array([sar.window(window)((i + 0.5) / samples - 0.5) for i in range(samples)])
    row = np.array([np.mean(w / w.mean() * np.exp(2j * np.pi * band * (n - place) / samples))
                    for n in range(samples)])
    spectrum = sar.chirp_z(samples, samples, -0.5, backend="cpu")
    piece = sar.chirp_z(samples, 40 * 64 + 1, 181 / samples, spacing / samples, 1, "inverse",
                        reference_sample=samples // 2, backend="cpu")
    bins, _ = run(spectrum, [row])
    cut, _ = run(piece, bins)
    size = abs(cut[0])
    peak = int(np.argmax(size))
    assert abs(181 + peak * spacing - place) <= spacing / 2 + 1e-6
    assert size[peak] == pytest.approx(1, abs=1e-3)

    def edge(way):
        i = peak
        while size[i + way] > size[peak] / np.sqrt(2):
            i += way
        part = (size[i] - size[peak] / np.sqrt(2)) / (size[i] - size[i + way])
        return i + way * part

    assert (edge(1) - edge(-1)) * spacing == pytest.approx(sar.window(window).irw(), rel=0.003)
    lobes = []
    for way in (-1, 1):
        i = peak
        while size[i + way] < size[i]:
            i += way
        lobes.append(size[i::way].max())
    assert 20 * np.log10(max(lobes) / size[peak]) == pytest.approx(pslr_db, abs=tolerance_db)


def test_frame_tag_is_carried_on():
    tags = [frame_tag(0, frame=0, samples=300, domain="compressed", spacing_m=0.5,
                      slant_range_first_m=5000.0, prf_hz=1000.0),
            tag(3, "other", pmt.from_long(4))]
    _, out = run(sar.chirp_z(300, 17, 0.1, 1e-3, backend="cpu"), np.zeros((7, 300)), tags)
    assert [(t.offset, pmt.to_python(t.key)) for t in out] == [(0, "sar_frame"), (3, "other")]
    assert pmt.to_python(out[0].value) == dict(
        frame=0, samples=17, domain="chirp_z", prf_hz=1000.0, first_frequency=0.1,
        frequency_step=1e-3)


def test_frame_tag_that_disagrees_ends_the_flowgraph():
    block = sar.chirp_z(300, 17, backend="cpu")
    run(block, np.zeros((7, 300)), [frame_tag(0, samples=301)])
    assert "sar_frame has 301 samples a line, but samples_in is 300" in block.error()


@pytest.mark.parametrize("backend", backends())
def test_lines_that_are_not_finite_are_counted(backend):
    x = noise(5, 64)
    x[2, 17] = np.nan
    x[4, 0] = np.inf
    block = sar.chirp_z(64, 33, backend=backend)
    y, _ = run(block, x)
    assert block.bad_lines() == 2
    assert not y[2].any() and not y[4].any()
    assert y[1].any() and y[3].any()


@pytest.mark.parametrize("arguments, part", [
    (dict(samples_in=0), "samples_in is 0"),
    (dict(samples_in=10.5), "samples_in is 10.5; expected a whole number"),
    (dict(samples_in=1 << 24), "samples_in is 16777216; expected 1 to 2^23"),
    # no window of that length is computed first
    (dict(samples_in=(1 << 31) - 1, window="hamming"), "samples_in is 2147483647; expected 1 to 2^23"),
    (dict(samples_out=-1), "samples_out is -1"),
    (dict(first_frequency=float("nan")), "first_frequency is nan"),
    (dict(frequency_step=float("inf")), "frequency_step is inf"),
    (dict(frequency_step=2e6), "frequency_step is 2000000; expected at most 10^6 cycles per sample"),
    (dict(sample_rate=0), "sample_rate is 0"),
    (dict(direction="back"), "direction is 'back'; expected forward or inverse"),
    (dict(window="blackman"), "blackman"),
    (dict(reference_sample=float("nan")), "reference_sample is nan"),
    (dict(backend="gpu"), "backend is 'gpu'"),
])
def test_errors_name_the_parameter(arguments, part):
    with pytest.raises(ValueError) as error:
        sar.chirp_z(**{"samples_in": 100, **arguments})
    assert part in str(error.value)
