# SPDX-License-Identifier: GPL-3.0-or-later
"""delay_calibration as block. The measurement itself: qa_delay_calibration.cc."""

import json

import numpy as np
import pmt
import pytest
from conftest import tag
from gnuradio import blocks, gr, sar

FS = 2e6
ACQ = sar.acquisition(waveform="pulsed_lfm", samples=1000, carrier_hz=2.4e9, prf_hz=2000,
                      sample_rate_hz=FS, pulse_length_s=100e-6,
                      chirp_rate_hz_per_s=1.6e6 / 100e-6, slant_range_first_m=0)
PULSE = np.array(sar.transmitted_pulse(ACQ))
PRI = 1000


def stream(delay, pulses=60, amplitude=0.3, phase=0.5, noise=0.003, seed=1, silent=0):
    """Pulses without end, `delay` samples (whole) late, from pulse `silent` on."""
    x = np.zeros(PRI * pulses + int(delay) + 300, complex)
    for k in range(silent, pulses):
        at = k * PRI + delay
        x[at : at + len(PULSE)] += amplitude * np.exp(1j * phase) * PULSE
    rng = np.random.default_rng(seed)
    return (x + noise * (rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape))).astype(
        np.complex64)


def run(x, tags=(), second=None, **parameters):
    block = sar.delay_calibration(ACQ, **{"pulses": 32, **parameters})
    tb = gr.top_block()
    tb.connect(blocks.vector_source_c(x, False, 1, list(tags)), (block, 0))
    if second is not None:
        tb.connect(blocks.vector_source_c(second), (block, 1))
    messages = blocks.message_debug()
    tb.msg_connect((block, "calibration"), (messages, "store"))
    tb.run()
    return block, messages


def rx_time(offset, whole, fraction):
    return tag(offset, "rx_time", pmt.make_tuple(pmt.from_uint64(whole),
                                                 pmt.from_double(fraction)))


def only(block):
    assert block.error() == ""
    (c,) = block.calibrations()
    return c


def test_one_estimate_as_message_and_file(tmp_path):
    path = tmp_path / "delay.json"
    block, messages = run(stream(137), file=str(path), cable_delay_s=10e-9, response_taps=3,
                          key=dict(driver="sarsim", rx_gain_db=30), command='say "hello"')
    c = only(block)
    assert c["valid"] and c["problem"] == "" and c["pulses"] == 32
    assert c["delay_s"] * FS == pytest.approx(137 - 10e-9 * FS, abs=0.01)
    assert c["phase_rad"] == pytest.approx(0.5, abs=0.01)
    assert c["amplitude_db"] == pytest.approx(20 * np.log10(0.3), abs=0.05)
    assert c["snr_db"] == pytest.approx(10 * np.log10(0.3**2 * 200 / (2 * 0.003**2)), abs=1)
    assert c["ambiguity_s"] == PRI / FS and c["prf_hz"] == 2000
    assert c["key"]["driver"] == "sarsim" and c["key"]["serial"] is None
    assert messages.num_messages() == 1
    assert pmt.to_python(messages.get_message(0))["delay_s"] == c["delay_s"]
    # the file has the same numbers to the last bit
    read = json.loads(path.read_text())
    assert list(read)[:2] == ["format", "version"]
    assert {k: read[k] for k in read if k != "response"} == {
        k: list(v) if isinstance(v, tuple) else v for k, v in c.items() if k != "response"}
    assert read["response"]["first_tap"] == -3
    np.testing.assert_array_equal(
        np.array(read["response"]["taps"], np.float32).view(np.complex64)[:, 0],
        c["response"]["taps"])
    assert read["provenance"]["command"] == 'say "hello"'
    assert not list(tmp_path.glob("*.part"))
    arrivals = block.arrivals()
    assert len(arrivals) == 32 and arrivals[5]["number"] == 6 - (arrivals[0]["number"] == 0)
    assert len(block.received()) == 206


def test_twenty_starts_land_at_their_range():
    """A radio that starts anywhere within 5000 samples: leakage tells where, and a target that
    point_target_source puts at its range is found there, to a tenth of a cell."""
    rng = np.random.default_rng(7)
    target_m = 3000.0
    cell_m = sar.speed_of_light / 2 / 1.6e6
    base = ACQ.replace(prf_hz=200, samples=10000)  # a PRI of 10000 samples
    for start in range(20):
        offset = 5000 * rng.random() if start > 1 else 5000 * start
        # what is received from the instant of sending on: the radio is `offset` samples late
        # in everything, which for the source is the bias of the range
        late = base.replace(range_bias_m=offset / FS * sar.speed_of_light / 2)
        track = sar.trajectory.straight((0, 0, 0), (0, 0, 0))
        source = sar.point_target_source(
            late, [(0, 0, 0, 0.5), (target_m, 0, 0, 0.05)], track, 40, 1e-4, start + 1)
        sink = blocks.vector_sink_c(late.samples)
        tb = gr.top_block()
        tb.connect(source, sink)
        tb.run()
        x = np.array(sink.data(), np.complex64)
        block = sar.delay_calibration(base, pulses=32)
        tb = gr.top_block()
        tb.connect(blocks.vector_source_c(x), block)
        tb.run()
        c = only(block)
        assert c["valid"], c["problem"]
        calibrated = sar.calibration.apply(base, c)
        compress = sar.pulse_compression(calibrated, 8, "hann")
        sink = blocks.vector_sink_c(8 * base.samples)
        tb = gr.top_block()
        tb.connect(blocks.vector_source_c(x[: base.samples], False, base.samples), compress, sink)
        tb.run()
        axis = compress.axis()
        ranges = axis.first_m - axis.range_bias_m + axis.spacing_m * np.arange(8 * base.samples)
        line = np.abs(np.array(sink.data()))
        near = np.abs(ranges - target_m) < 5 * cell_m
        found = ranges[near][line[near].argmax()]
        # two tenths of a cell are what the grid of 1/8 sample itself may be off
        assert abs(found - target_m) < 0.1 * cell_m, (offset, found)


def test_corner_reflector_at_a_known_range():
    range_m, late = 150.0, 321.25
    radio = ACQ.replace(range_bias_m=late / FS * sar.speed_of_light / 2)
    source = sar.point_target_source(radio, [(range_m, 0, 0, 0.3)],
                                     sar.trajectory.straight((0, 0, 0), (0, 0, 0)), 40, 1e-5)
    block = sar.delay_calibration(
        ACQ, pulses=32, cable_delay_s=sar.calibration.path_delay_s(reflector_range_m=range_m))
    tb = gr.top_block()
    tb.connect(source, blocks.vector_to_stream(8, ACQ.samples), block)
    tb.run()
    c = only(block)
    # range zero at the antenna: the way there and back is not the radio's
    assert c["delay_s"] * FS == pytest.approx(late, abs=0.02)
    assert sar.calibration.apply(ACQ, c).range_bias_m == pytest.approx(
        radio.range_bias_m, abs=0.02 * sar.speed_of_light / 2 / FS)


def test_clock_of_the_radio():
    x = stream(137)
    block, _ = run(x, [rx_time(0, 1000, 0.25)], first_pulse_s=1000.25 - 0.5 / 2000)
    # pulse 0 was sent half a PRI before the first sample
    c = only(block)
    assert c["delay_s"] * FS == pytest.approx(637, abs=0.01)
    assert c["measured_at_s"] == pytest.approx(1000.25 + (137 + 15.5 * 1000) / FS, abs=1e-6)
    # a tag that says the same again changes nothing; the first one may come late
    block, _ = run(x, [rx_time(0, 0, 0.5), rx_time(20000, 0, 0.51)])
    assert only(block)["delay_s"] * FS == pytest.approx(137, abs=0.01)
    block, _ = run(x, [rx_time(500, 3, 0.0)], first_pulse_s=3.0)
    assert only(block)["delay_s"] * FS == pytest.approx(637, abs=0.01)


def test_lost_samples_begin_anew():
    x = stream(137, 80)
    cut = np.concatenate([x[:12300], x[12800:]])
    # known: rx_time jumps by the 500 samples
    block, _ = run(cut, [rx_time(0, 0, 0.0), rx_time(12300, 0, 12800 / FS)])
    c = only(block)
    assert c["valid"] and c["delay_s"] * FS == pytest.approx(137, abs=0.01)
    assert c["pulses_missing"] == 0 and block.arrivals()[0]["time_s"] < 1000 / FS
    # unknown: rx_rate again without a time, as gr-soapy does
    block, _ = run(cut, [tag(0, "rx_rate", pmt.from_double(FS)),
                         tag(12300, "rx_rate", pmt.from_double(FS))])
    c = only(block)  # pulses at 13137 - 500 and so on: how many are lost is not known
    assert c["valid"] and c["delay_s"] * FS == pytest.approx(637, abs=0.01)
    assert c["measured_at_s"] == pytest.approx((12637 + 15.5 * 1000) / FS, abs=1e-6)
    # with the first pulse asked for there is no second chance
    block, messages = run(cut, [rx_time(0, 0, 0.0), rx_time(12300, 0, 12800 / FS)],
                          ambiguity="first_pulse")
    c = only(block)
    assert not c["valid"] and "rx_time jumps by 0.00025 s before" in c["problem"]
    assert messages.num_messages() == 1


def test_first_pulse_and_reference():
    block, _ = run(stream(2137, silent=0), ambiguity="first_pulse")
    c = only(block)
    assert c["delay_s"] * FS == pytest.approx(2137, abs=0.01) and c["ambiguity_s"] is None
    a, b = stream(700, phase=1.0), stream(650, phase=-1.0, amplitude=0.6, seed=2)
    n = min(len(a), len(b))
    block, _ = run(a[:n], second=b[:n], reference=True)
    c = only(block)
    assert c["delay_s"] * FS == pytest.approx(50, abs=0.01) and c["reference"]
    assert c["phase_rad"] == pytest.approx(2, abs=0.02)
    assert c["amplitude_db"] == pytest.approx(-6.02, abs=0.1)


def test_measured_at_each_start_and_when_asked():
    block = sar.delay_calibration(ACQ, pulses=8)
    x = np.concatenate([stream(100, 20)[:20000], stream(300, 20)[:20000]])
    source = blocks.vector_source_c(x)
    tb = gr.top_block()
    tb.connect(source, block)
    tb.run()
    assert len(block.calibrations()) == 1 and block.done()
    source.set_data(stream(444, 20))
    source.rewind()
    tb.run()
    first, second = block.calibrations()
    assert first["delay_s"] * FS == pytest.approx(100, abs=0.01)
    assert second["valid"]
    block.to_basic_block()._post(pmt.intern("measure"), pmt.PMT_T)
    source.rewind()
    tb.run()
    assert len(block.calibrations()) >= 3


def test_refusals_say_what_to_change():
    rng = np.random.default_rng(3)
    noise = (rng.normal(size=2200000) + 1j * rng.normal(size=2200000)).astype(np.complex64) * 0.01
    block, messages = run(noise)
    c = only(block)
    assert not c["valid"] and "no pulse was found in 1" in c["problem"]
    assert "attenuator" in c["problem"] and messages.num_messages() == 1
    block, messages = run(stream(100, 20))
    assert "the stream ended after" in only(block)["problem"]
    block, _ = run(np.full(100000, np.nan, np.complex64))
    assert not only(block)["valid"]


def test_another_rate_ends_the_flowgraph():
    block, _ = run(stream(137), [tag(0, "rx_rate", pmt.from_double(1e6))])
    assert "the radio runs at 1000000 samples a second" in block.error()
    assert block.calibrations() == []


@pytest.mark.parametrize("kw,words", [
    (dict(pulses=2), "pulses is 2; expected 4"),
    (dict(pulses=10.5), "pulses is 10.5"),
    (dict(ambiguity="none"), "ambiguity is 'none'"),
    (dict(first_pulse_s=np.nan), "first_pulse_s is nan"),
    (dict(least_snr_db=3), "least_snr_db is 3"),
    (dict(replica=[1, 2]), "replica has 2 samples, but the waveform"),
    (dict(file="/proc/none/a.json"), "folder /proc/none cannot be made"),
    (dict(key=dict(colour="red")), "key has no field colour; expected: driver"),
    (dict(key=dict(driver=3)), "key.driver is 3; expected text"),
    (dict(key=dict(rx_gain_db="high")), "key.rx_gain_db is high; expected a number"),
    (dict(key=dict(driver=[1])), "key.driver is [1]"),
])
def test_wrong_parameters_are_named(kw, words):
    with pytest.raises(ValueError) as e:
        sar.delay_calibration(ACQ, **kw)
    assert words in str(e.value)
    with pytest.raises(ValueError) as e:
        sar.delay_calibration(sar.acquisition(
            waveform="fmcw", samples=100, carrier_hz=1e9, prf_hz=10, sample_rate_hz=1e6,
            chirp_rate_hz_per_s=1e9))
    assert "fmcw" in str(e.value)
