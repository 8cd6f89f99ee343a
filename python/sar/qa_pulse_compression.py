# SPDX-License-Identifier: GPL-3.0-or-later
"""pulse_compression as a block: streams, tags, errors, end of stream."""

import inspect
import subprocess
import sys

import numpy as np
import pmt
import pytest
from conftest import backends, dict_tag, frame_tag, tag
from gnuradio import blocks, gr, sar

C = sar.speed_of_light


def pulsed(samples=600, **more):
    f = dict(
        waveform="pulsed_lfm",
        samples=samples,
        carrier_hz=9.6e9,
        prf_hz=1000,
        sample_rate_hz=100e6,
        pulse_length_s=2e-6,
        chirp_rate_hz_per_s=80e6 / 2e-6,
        slant_range_first_m=5000.0,
    )
    f.update(more)
    return sar.acquisition(**f)


def echo(acq, sample, amplitude=1.0):
    n = np.arange(acq.samples)
    t = (n - sample) / acq.sample_rate_hz
    u = t - acq.pulse_length_s / 2
    r = acq.slant_range_first_m + sample * C / 2 / acq.sample_rate_hz
    inside = (t >= 0) & (t < acq.pulse_length_s)
    line = inside * np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * u**2)
    return amplitude * np.exp(-4j * np.pi * acq.carrier_hz * r / C) * line


def run(block, lines, vlen_out, tags=(), buffer=None):
    """Lines through the block in a flowgraph: output array and output tags."""
    lines = np.asarray(lines, dtype=np.complex64)
    source = blocks.vector_source_c(lines.ravel().tolist(), False, lines.shape[1], list(tags))
    sink = blocks.vector_sink_c(vlen_out)
    top = gr.top_block()
    if buffer:
        source.set_max_output_buffer(buffer)
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data()).reshape(-1, vlen_out), sink.tags()


@pytest.mark.parametrize("backend", ["cpu", "emulated", "auto"])
@pytest.mark.parametrize("lines", [1, 3, 64, 131])
def test_every_line_comes_out(backend, lines):
    acq = pulsed()
    raw = [echo(acq, 100 + (7 * i) % 250, 1 + i) for i in range(lines)]
    block = sar.pulse_compression(acq, 2, backend=backend)
    out, _ = run(block, raw, 1200)
    assert block.error() == ""
    assert out.shape == (lines, 1200)
    for i, line in enumerate(out):
        sample = 100 + (7 * i) % 250
        assert np.argmax(abs(line)) == 2 * sample
        r = 5000 + sample * C / 2 / 100e6
        truth = (1 + i) * np.exp(-4j * np.pi * 9.6e9 * r / C)
        assert abs(line[2 * sample] - truth) < 1e-3 * abs(truth)
    assert block.work_calls() >= 1


def fmcw(**more):
    return sar.acquisition(**{**dict(waveform="fmcw", samples=400, carrier_hz=5.8e9, prf_hz=2000,
                                     sample_rate_hz=1e6, chirp_rate_hz_per_s=5e11, phase_sign=1,
                                     gate_start_s=50e-6), **more})


def beats(acq, numbers, r):
    """Dechirped lines of a point at r: phi(t) - phi(t - tau), ramps back from their end."""
    into = acq.gate_start_s + np.arange(acq.samples) / acq.sample_rate_hz
    interval, k, tau = 1 / acq.prf_hz, acq.chirp_rate_hz_per_s, 2 * r / C
    lines = []
    for n in numbers:
        back = acq.sweep == "triangle" and n % 2 == 1
        t = interval - into if back else into
        top = acq.carrier_hz + k * interval

        def phi(t):
            return top * t - k * t**2 / 2 if back else acq.carrier_hz * t + k * t**2 / 2
        lines.append(np.exp(2j * np.pi * ((phi(t) - phi(t - tau)) % 1)))
    return lines


@pytest.mark.parametrize("numbers, tags", [
    (list(range(9)), []),
    (list(range(3, 12)), [frame_tag(0, pulse=3)]),
    # a frame that is not numbered begins with a ramp out, one that goes on does not begin
    ([0, 1, 2, 3, 4, 0, 1, 2, 3], [frame_tag(0), frame_tag(3, continues=True), frame_tag(5)]),
    # three pulses that were skipped, told on the line behind them
    ([0, 1, 2, 3, 7, 8, 9, 10, 11], [frame_tag(0, pulse=0), dict_tag(
        "sar_holes", 4, dict(pulse=4, count=3, filled=False, estimated=False))]),
    # and holes that were filled
    (list(range(9)), [frame_tag(0, pulse=0), dict_tag(
        "sar_holes", 4, dict(pulse=4, count=3, filled=True, estimated=False))]),
])
def test_ways_back_are_counted(numbers, tags):
    acq = fmcw(sweep="triangle", slant_range_first_m=400)
    r = 400 + 111 * acq.compressed_axis(1).spacing_m
    block = sar.pulse_compression(acq, backend="cpu")
    out, _ = run(block, beats(acq, numbers, r), 400, tags)
    assert block.error() == ""
    truth = np.exp(-4j * np.pi * acq.centre_frequency_hz() * r / C)
    assert np.abs(np.angle(out[:, 111] / truth)).max() < 0.01
    # a sawtooth would have every other line wrong
    wrong, _ = run(sar.pulse_compression(acq.replace(sweep="sawtooth"), backend="cpu"),
                   beats(acq, numbers, r), 400)
    assert np.abs(np.angle(wrong[:, 111] / truth)).max() > 0.5


def test_imagers_send_a_triangle_to_the_stages():
    """They compress Doppler rows, in which ways out and back are mixed already."""
    acq = fmcw(sweep="triangle", slant_range_first_m=400, effective_velocity_m_s=100.0)
    with pytest.raises(ValueError, match="sweep of acq is 'triangle'; expected 'sawtooth'"):
        sar.range_doppler_imager(acq, 64)
    sar.range_doppler_imager(acq.replace(sweep="sawtooth"), 64)


def test_range_gate():
    acq = fmcw()
    near = acq.range_gate(30, 50)
    block = sar.pulse_compression(acq, 2, backend="cpu", range_gate_m=[30, 50])
    out, tags = run(block, beats(acq, range(3), 41.3), 2 * near.samples,
                    [frame_tag(0, domain="raw", samples=400)])
    whole, _ = run(sar.pulse_compression(acq, 2, backend="cpu"), beats(acq, range(3), 41.3), 800)
    axis = near.compressed_axis(2)
    first = round((axis.first_m - acq.slant_range_first_m) / axis.spacing_m)
    np.testing.assert_allclose(out, whole[:, first : first + 2 * near.samples], atol=1e-6)
    d = pmt.to_python(tags[0].value)
    assert (d["samples"], d["domain"]) == (axis.samples, "compressed")
    assert d["slant_range_first_m"] == pytest.approx(axis.first_m)
    assert block.axis().first_m == pytest.approx(axis.first_m)
    at = axis.first_m + axis.spacing_m * np.argmax(abs(out[0]))
    assert at == pytest.approx(41.3, abs=axis.spacing_m)
    with pytest.raises(ValueError, match="range_gate_m has 1 numbers"):
        sar.pulse_compression(acq, range_gate_m=[3])
    with pytest.raises(ValueError, match="the range gate is 0 m to 5000 m"):
        sar.pulse_compression(acq, range_gate_m=[0, 5000])


@pytest.mark.parametrize("samples", [8191, 10_000, 300_000])
def test_long_lines(samples):
    """Lines larger than GNU Radio's default buffer."""
    acq = pulsed(samples)
    raw = np.zeros((3, samples), np.complex64)
    raw[1] = echo(acq, samples - 300)
    out, _ = run(sar.pulse_compression(acq, backend="cpu"), raw, samples)
    assert np.argmax(abs(out[1])) == samples - 300
    assert not out[0].any() and not out[2].any()


def test_batches_are_offered():
    acq = pulsed()
    block = sar.pulse_compression(acq, backend="cpu")
    source = blocks.null_source(8 * 600)
    head = blocks.head(8 * 600, 2000)
    head.set_min_output_buffer(256)
    top = gr.top_block()
    top.connect(source, head, block, blocks.null_sink(8 * 600))
    top.run()
    assert block.output_multiple() == 1
    assert block.min_output_buffer(0) == 128


def test_frame_tag_is_carried_on():
    acq = pulsed()
    tags = [
        frame_tag(0, frame=0, samples=600, domain="raw", lines=5, prf_hz=1000.0),
        tag(3, "other", pmt.from_long(4)),
        frame_tag(5, frame=1, samples=600, domain="raw", lines=2),
    ]
    _, out = run(sar.pulse_compression(acq, 4, backend="cpu"), np.zeros((7, 600)), 2400, tags)
    assert [(t.offset, pmt.to_python(t.key)) for t in out] == [
        (0, "sar_frame"),
        (3, "other"),
        (5, "sar_frame"),
    ]
    d = pmt.to_python(out[0].value)
    axis = acq.compressed_axis(4)
    assert d["domain"] == "compressed"
    assert d["samples"] == 2400
    assert d["spacing_m"] == pytest.approx(axis.spacing_m)
    assert d["slant_range_first_m"] == 5000.0
    assert (d["frame"], d["lines"], d["prf_hz"]) == (0, 5, 1000.0)
    assert pmt.to_python(out[2].value)["frame"] == 1


@pytest.mark.parametrize(
    "fields, parts",
    [
        (dict(domain="raw", samples=601), ["601", "acq.samples is 600"]),
        (dict(domain="compressed", samples=600), ["compressed", "takes raw lines"]),
    ],
)
def test_frame_tag_that_disagrees_ends_the_flowgraph(fields, parts):
    block = sar.pulse_compression(pulsed(), backend="cpu")
    run(block, np.zeros((7, 600)), 600, [frame_tag(0, **fields)])
    for part in parts:
        assert part in block.error()


def test_lines_that_are_not_finite_are_counted():
    acq = pulsed()
    raw = np.array([echo(acq, 100)] * 5)
    raw[2, 17] = np.nan
    block = sar.pulse_compression(acq, backend="cpu")
    out, _ = run(block, raw, 600)
    assert block.bad_lines() == 1
    assert not out[2].any()
    assert np.array_equal(out[1], out[3]) and out[1].any()


def test_valid_range():
    block = sar.pulse_compression(pulsed(), backend="cpu")
    assert (block.first_valid(), block.valid_samples()) == (0, 401)
    block = sar.pulse_compression(pulsed(pulse_reference="centre"), 2, backend="cpu")
    assert (block.first_valid(), block.valid_samples()) == (200, 801)
    assert block.axis().samples == 1200


def test_replica_and_windows():
    acq = pulsed(waveform="replica", replica_bandwidth_hz=80e6)
    line = np.zeros(600, complex)
    pulse = echo(pulsed(), 0)[:200]
    line[50:250] = 3 * pulse
    for window in "rect", "hann", "hamming", "taylor(4, 35)", "kaiser(2.5)":
        block = sar.pulse_compression(acq, window=window, replica=pulse, backend="cpu")
        out, _ = run(block, [line], 600)
        assert np.argmax(abs(out[0])) == 50
        assert out[0, 50] == pytest.approx(3, abs=1e-3)


def test_frequency_domain():
    acq = sar.acquisition(
        waveform="frequency_domain",
        samples=424,
        carrier_hz=9.288e9,
        prf_hz=1,
        frequency_step_hz=1.47e6,
        phase_sign=-1,
        slant_range_first_m=-40.0,
    )
    axis = acq.compressed_axis(1)
    r = axis.first_m + 123 * axis.spacing_m
    f = acq.carrier_hz + acq.frequency_step_hz * np.arange(424)
    out, _ = run(
        sar.pulse_compression(acq, backend="cpu"), [np.exp(-4j * np.pi * f * r / C)], 424
    )
    assert np.argmax(abs(out[0])) == 123
    truth = np.exp(-4j * np.pi * acq.centre_frequency_hz() * r / C)
    assert abs(out[0, 123] - truth) < 1e-3


def test_whole_numbers():
    acq = pulsed()
    sar.pulse_compression(acq, 2.0, backend="cpu")
    with pytest.raises(ValueError, match="oversampling is 2.5; expected a whole number"):
        sar.pulse_compression(acq, 2.5)


@pytest.mark.parametrize(
    "args, message",
    [
        (dict(oversampling=0), "oversampling is 0; expected 1 or more"),
        (dict(window="blackman"), "window is 'blackman'; expected rect"),
        (dict(backend="gpu"), "backend is 'gpu'; expected one of: auto, cpu"),
        (dict(device=-1), "device is -1; expected"),
        (dict(replica=[1, 1]), "replica has 2 samples, but the waveform"),
    ],
)
def test_errors(args, message):
    with pytest.raises(ValueError, match=message):
        sar.pulse_compression(pulsed(), **args)


def test_cuda_or_the_reason_why_not():
    try:
        sar.backend_description("cuda")
    except RuntimeError as e:
        with pytest.raises(RuntimeError) as caught:
            sar.pulse_compression(pulsed(), backend="cuda")
        assert str(caught.value) == str(e)
        assert str(e) in sar.pulse_compression(pulsed()).backend() or "cpu" in str(
            sar.pulse_compression(pulsed()).backend()
        )
    else:
        raw = [echo(pulsed(), 123)] * 70
        cpu, _ = run(sar.pulse_compression(pulsed(), backend="cpu"), raw, 600)
        cuda, _ = run(sar.pulse_compression(pulsed(), backend="cuda"), raw, 600)
        error = np.linalg.norm(cuda - cpu) / np.linalg.norm(cpu)
        assert error < 1e-5


def test_signature_in_the_documentation():
    doc = sar.pulse_compression.__init__.__doc__
    assert inspect.cleandoc(doc)
    for part in "oversampling", "= 1", "'rect'", "= []", "'auto'", "= 0":
        assert part in doc


@pytest.mark.parametrize("backend", backends())
def test_blocks_of_equal_size_side_by_side(backend):
    """Two blocks with the same transform in one flowgraph, a thread each: equal bytes."""
    rng = np.random.default_rng(24)
    acq = pulsed()
    lines = (rng.normal(size=(40, 600)) + 1j * rng.normal(size=(40, 600))).astype(np.complex64)
    first = None
    for _ in range(200):
        tb = gr.top_block()
        sinks = []
        for _ in range(2):
            source = blocks.vector_source_c(lines.ravel().tolist(), False, 600)
            block = sar.pulse_compression(acq, 2, backend=backend)
            sink = blocks.vector_sink_c(1200)
            tb.connect(source, block, sink)
            sinks.append(sink)
        tb.run()
        results = [np.array(s.data(), np.complex64).tobytes() for s in sinks]
        first = first or results[0]
        assert results[0] == first and results[1] == first
        assert len(first) == 40 * 1200 * 8


PROGRAM = """
import hashlib, sys
import numpy as np
from gnuradio import blocks, gr, sar
rng = np.random.default_rng(5)
x = (rng.normal(size=(64, 600)) + 1j * rng.normal(size=(64, 600))).astype(np.complex64)
acq = sar.acquisition(waveform="pulsed_lfm", samples=600, carrier_hz=9.6e9, prf_hz=1000,
                      sample_rate_hz=100e6, pulse_length_s=2e-6, chirp_rate_hz_per_s=4e13,
                      slant_range_first_m=5000)
out = set()
for _ in range(20):
    tb = gr.top_block()
    sink = blocks.vector_sink_c(1200)
    tb.connect(blocks.vector_source_c(x.ravel().tolist(), False, 600),
               sar.pulse_compression(acq, 2, backend=sys.argv[1], device=int(sys.argv[2])), sink)
    tb.run()
    out.add(hashlib.sha256(np.array(sink.data(), np.complex64).tobytes()).hexdigest())
print("digest", *out)
"""


@pytest.mark.parametrize("backend", backends())
def test_two_processes_on_one_device(backend):
    """At the same time, again and again: one result."""
    programs = [subprocess.Popen([sys.executable, "-c", PROGRAM, backend, "0"],
                                 stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [p.communicate()[0] for p in programs]
    assert [p.returncode for p in programs] == [0, 0]
    digests = [line for s in said for line in s.splitlines() if line.startswith("digest")]
    assert len(set(digests)) == 1 and len(digests[0].split()) == 2


@pytest.mark.parametrize("backend", [b for b in backends() if b != "cpu"])
def test_one_device_after_another(backend):
    """Plans and memory belong to a device: block on device 0, then on 1, in one process."""
    devices = 0
    while devices < 8:
        try:
            sar.backend_description(backend, devices)
        except RuntimeError:
            break
        devices += 1
    rng = np.random.default_rng(26)
    lines = (rng.normal(size=(30, 600)) + 1j * rng.normal(size=(30, 600))).astype(np.complex64)
    truth, _ = run(sar.pulse_compression(pulsed(), 2, backend="cpu"), lines, 1200)
    for device in list(range(devices)) + [0]:
        block = sar.pulse_compression(pulsed(), 2, backend=backend, device=device)
        assert f"{backend}:{device}" in block.backend()
        out, _ = run(block, lines, 1200)
        assert np.linalg.norm(out - truth) < 1e-5 * np.linalg.norm(truth)
