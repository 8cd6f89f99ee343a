# SPDX-License-Identifier: GPL-3.0-or-later
"""radar_transceiver on the simulated radar, with the faults of real radios by profile; what it says
is held against the truth that sarsim writes beside. What a driver does wrong, call by call:
qa_radar_transceiver.cc. A build without SoapySDR: lib/qa_no_soapy.cc."""

import json
import math
import re
import sys
import time

import numpy as np
import pmt
import pytest
from conftest import logged, run
from gnuradio import blocks, gr, sar
from qa_sarsim import IDS, SoapySDR, events, scene_file

RATE, PRI, CARRIER = 10e6, 10000, 2.4e9
LENGTH, BAND = 400, 6e6
# leakage over a way of its own, as reference_delay_s takes it
LEAK_S = 4e-9
TARGET_M = 600.0
DELAY = 46  # samples from the transmitter's time to the receiver's, in the profile b210


def acquisition(rate=RATE, pri=PRI, length=LENGTH, samples=800, **more):
    return sar.acquisition(**{**dict(
        waveform="pulsed_lfm", samples=samples, carrier_hz=CARRIER, prf_hz=rate / pri, sample_rate_hz=rate,
        pulse_length_s=length / rate, chirp_rate_hz_per_s=BAND * rate / RATE / (length / rate),
        slant_range_first_m=0.0), **more})


def device(tmp_path, profile="b210", **settings):
    """(arguments of a radio that looks at one target, file of its truth)"""
    truth = str(tmp_path / f"truth{next(IDS)}.json")
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, TARGET_M, 0], amplitude=0.03)],
                       trajectory=dict(start_m=[0, 0, 0], velocity_m_s=[0, 0, 0]))
    phase = -2 * math.pi * math.fmod(CARRIER * LEAK_S, 1)
    args = dict(dict(driver="sarsim", id=f"trx{next(IDS)}", profile=profile, scene=scene, truth=truth,
                     leakage_db=-30, leakage_delay_s=LEAK_S, leakage_phase_rad=phase), **settings)
    return ",".join(f"{k}={v}" for k, v in args.items()), truth


class Run:
    """A radar until its pulses are there: lines, facts, tags, the messages of its status port."""

    def __init__(self, args, acq=None, pulses=100, lines=50, timeout=60, **more):
        self.acq = acq or acquisition()
        self.tb = gr.top_block()
        self.block = sar.radar_transceiver(self.acq, lines, args, pulses=pulses, facts=True,
                                           **{**dict(reference_delay_s=LEAK_S), **more})
        self.sink = blocks.vector_sink_c(self.acq.samples)
        self.facts_sink = blocks.vector_sink_f(16)  # doubles, bit by bit
        self.messages = blocks.message_debug()
        self.tb.connect(self.block, self.sink)
        self.tb.connect((self.block, 1), self.facts_sink)
        self.tb.msg_connect((self.block, "status"), (self.messages, "store"))
        self.timeout = timeout

    def go(self, error=""):
        run(self.tb, self.timeout, lambda: f"{self.block.radio_status()} {self.block.status()}")
        assert error in self.block.error() if error else self.block.error() == "", self.block.error()
        return self

    @property
    def lines(self):
        return np.array(self.sink.data(), np.complex64).reshape(-1, self.acq.samples)

    @property
    def facts(self):
        return np.array(self.facts_sink.data(), np.float32).view(np.float64).reshape(-1, 8)

    @property
    def holes(self):
        return np.flatnonzero(self.facts[:, 2].astype(int) & 1)


def echo_of(lines, acq, amplitude=0.7):
    """(delay in samples, amplitude) of the target in the mean of lines; a window keeps the leakage's
    side lobes away."""
    x = np.mean(lines, 0)
    pulse = np.array(sar.transmitted_pulse(acq))
    n = 1 << int(np.ceil(np.log2(len(x) + len(pulse))))
    f = np.fft.fftfreq(n) * acq.sample_rate_hz / acq.bandwidth_hz()
    window = np.where(abs(f) < 0.5, 0.54 + 0.46 * np.cos(2 * np.pi * f), 0)
    spectrum = np.fft.fft(pulse, n)
    y = np.fft.fft(x, n) * np.conj(spectrum) * window
    fine = np.zeros(32 * n, complex)
    fine[:n // 2], fine[-n // 2:] = y[:n // 2], y[-n // 2:]
    y = np.abs(np.fft.ifft(fine))
    where = 2 * TARGET_M / sar.speed_of_light * acq.sample_rate_hz
    low = int(32 * (where - 8))
    k = low + int(np.argmax(y[low:low + 512]))
    a, b, c = y[k - 1:k + 2]
    energy = np.sum(np.abs(spectrum)**2 * window) / n
    return (k + 0.5 * (a - c) / (a - 2 * b + c)) / 32, 32 * b / energy / amplitude


def in_place(run, good=None, cells=0.05):
    """The target is where it was put, in lines that are no holes, to a part of a range cell."""
    lines = run.lines
    good = np.setdiff1d(np.arange(len(lines)), run.holes) if good is None else good
    where = 2 * TARGET_M / sar.speed_of_light * run.acq.sample_rate_hz
    delay, amplitude = echo_of(lines[good], run.acq)
    cell = run.acq.sample_rate_hz / run.acq.bandwidth_hz()
    assert abs(delay - where) < cells * cell, (delay, where)
    assert amplitude == pytest.approx(0.03, rel=0.1)


def same_radio(args):
    """Another device on the radio of these arguments: Python closes it when it is gone."""
    given = dict(a.split("=", 1) for a in args.split(","))
    return SoapySDR.Device({k: given[k] for k in ("driver", "id", "profile")})


def is_off(args):
    """Nothing is transmitted any more, and the streams are free for others."""
    radio = same_radio(args)
    for side in (SoapySDR.SOAPY_SDR_RX, SoapySDR.SOAPY_SDR_TX):
        radio.closeStream(radio.setupStream(side, SoapySDR.SOAPY_SDR_CF32, [0]))
    # its clock stands while nobody reads, and what it was given before plays to its end
    rx = radio.setupStream(SoapySDR.SOAPY_SDR_RX, SoapySDR.SOAPY_SDR_CF32, [0])
    radio.activateStream(rx)
    sends, some = [], np.zeros(PRI // 5, np.complex64)
    for _ in range(1200):
        radio.readStream(rx, [some], len(some))
        sends.append(radio.readGPIO("MAIN") & 2)
    radio.deactivateStream(rx)
    radio.closeStream(rx)
    return not any(sends[-100:]) and not radio.readGPIO("MAIN") & 4


# ---- each way to transmit ---------------------------------------------------------------


@pytest.mark.parametrize("profile,mode", [("b210", "timed"), ("lime", "timed"), ("bladerf", "timed"),
                                          ("pluto", "cyclic"), ("hackrf2", "cyclic"), ("pluto", "stream"),
                                          ("hackrf2", "stream"), ("b210", "stream"), ("b210", "cyclic")])
def test_range_is_right_by_every_way_to_transmit(profile, mode, tmp_path):
    rate = 4e6 if profile == "pluto" else RATE
    acq = acquisition(rate, pri=4000 if profile == "pluto" else PRI, samples=600)
    args, truth = device(tmp_path, profile)
    run = Run(args, acq, transmit=mode).go()
    s, r = run.block.status(), run.block.radio_status()
    assert r["transmit"] == mode and len(run.lines) == 100
    assert s["lost"] == 0 and s["gaps"] == 0 and r["lost_samples"] == 0 and r["late"] == 0
    np.testing.assert_array_equal(run.facts[:, 0], np.arange(100))
    in_place(run)
    first = events(truth, "transmit")[0]
    assert first["timed"] == (mode == "timed") and first["cyclic"] == (mode == "cyclic")
    if mode == "timed":
        # every burst on its sample: one a pulse, PRI after PRI
        sent = np.array([e["sample"] for e in events(truth, "transmit")])
        assert len(sent) >= 100 and np.all(np.diff(sent) == PRI)
        assert not events(truth, "late")
        # what was measured is the delay of the radio, as the truth has it, without the leakage's way
        assert pmt.to_python(run.messages.get_message(0))["transmit"] == "timed"
        assert abs(run.facts[50:, 5].mean() * rate - first["delay_samples"]) < 0.02 < LEAK_S * rate
    assert is_off(args)


def test_auto_takes_what_the_driver_can(tmp_path):
    for profile, mode, alignment in (("b210", "timed", "scheduled"), ("pluto", "cyclic", "leakage")):
        args, _ = device(tmp_path, profile)
        rate = 4e6 if profile == "pluto" else RATE
        run = Run(args, acquisition(rate, 4000, samples=600), pulses=20).go()
        assert run.block.radio_status()["transmit"] == mode
        assert run.block.status()["alignment"] == alignment


def test_every_start_is_measured(tmp_path):
    """Twenty starts with another offset each: the same range to a tenth of a cell."""
    acq = acquisition(4e6, 4000, samples=600)
    offsets = []
    for seed in range(20):
        args, truth = device(tmp_path, "pluto", seed=seed)
        run = Run(args, acq, pulses=24).go()
        in_place(run, good=np.arange(8, 24), cells=0.1)
        e, = events(truth, "transmit")
        offsets.append(e["sample"] + e["delay_samples"])
    assert np.ptp(offsets) > 1000 and len(set(offsets)) == 20


def test_a_reference_channel(tmp_path):
    args, _ = device(tmp_path, "b210", leakage_db="off", reference_db=-20)
    run = Run(args, reference_channel=1, reference_delay_s=0.0).go()
    assert run.block.status()["alignment"] == "reference"
    assert run.block.status()["unmeasured"] == 0
    in_place(run)


def test_a_flowgraph_runs_again(tmp_path):
    args, truth = device(tmp_path, "b210")
    run = Run(args, pulses=30).go()
    in_place(run)
    run.sink.reset()
    run.facts_sink.reset()
    run.go()
    assert len(run.lines) == 30
    in_place(run)


def test_the_image_of_a_receiver_is_taken_off(tmp_path):
    """A still scene, which is the hard case: -33 dB of image in the profile lime, less than -50 is left."""
    lines = {}
    for name, more in (("clean", dict(imbalance_db=0, imbalance_deg=0)), ("image", {}), ("removed", {})):
        args, _ = device(tmp_path, "lime", seed=4, phase_noise_dbc_hz="off", **more)
        run = Run(args, pulses=400, remove_image=name == "removed").go()
        lines[name] = np.mean(run.lines[10:], 0, dtype=complex)
    assert run.block.status()["image_db"] == pytest.approx(-33.3, abs=0.5)
    last = pmt.to_python(run.messages.get_message(run.messages.num_messages() - 1))
    assert last["image_db"] == pytest.approx(-33.3, abs=0.5)

    def image_db(x):
        x = x * np.vdot(x, lines["clean"]) / np.vdot(x, x)
        return 10 * np.log10(np.sum(abs(x - lines["clean"])**2) / np.sum(abs(lines["clean"])**2))

    assert image_db(lines["image"]) == pytest.approx(-33.3, abs=0.5)
    assert image_db(lines["removed"]) < -50


# ---- losses -------------------------------------------------------------------------------


def gone(truth, samples, pulses):
    """Numbers of the pulses whose lines a loss met, by the truth."""
    e = events(truth, "transmit")[0]
    begin = e["sample"] + e["delay_samples"] + PRI * np.arange(pulses)
    lost = [(x["sample"], x["count"]) for x in events(truth, "lost")]
    assert lost
    return np.flatnonzero(np.any([(begin + samples > a) & (begin < a + n) for a, n in lost], 0))


@pytest.mark.parametrize("mode", ["overflow", "status"])
@pytest.mark.parametrize("leakage", [-30, "off"])
def test_losses_that_stamps_show_leave_numbered_holes(mode, leakage, tmp_path):
    """Told by read(), or by the status alone, which gr-soapy never asks: by schedule too."""
    at = [(2000000, 37000), (2300000, 400)]
    args, truth = device(tmp_path, "b210", loss_mode=mode, leakage_db=leakage,
                         loss_at=";".join(f"{a}:{n}" for a, n in at))
    more = dict(delay_s=DELAY / RATE, correct="none") if leakage == "off" else {}
    run = Run(args, pulses=200, **more).go()
    s, r = run.block.status(), run.block.radio_status()
    want = gone(truth, run.acq.samples, 200)
    np.testing.assert_array_equal(run.facts[:, 0], np.arange(200))
    assert set(want) <= set(run.holes) and len(run.holes) <= len(want) + 2
    assert r["lost_samples"] == 37400 and r["overflows"] + r["untold_losses"] >= 2
    assert s["gaps"] == 2 and s["estimated"] == 0
    in_place(run)
    late = np.setdiff1d(np.arange(120, 200), run.holes)
    in_place(run, good=late)
    tags = [t for t in run.sink.tags() if str(t.key) == "sar_holes"]
    assert sum(pmt.to_python(t.value)["count"] for t in tags) == len(run.holes)


def test_losses_without_a_clock(tmp_path):
    """A radio without time says OVERFLOW: how much was lost is found by the pulse and the host."""
    acq = acquisition(2.5e6, 5000, length=200, samples=400)
    args, _ = device(tmp_path, "pluto", pace="real_time", loss_mode="overflow", loss_at="3000000:42500")
    run = Run(args, acq, pulses=1000).go()
    assert run.block.radio_status()["overflows"] == 1
    assert run.block.status()["gaps"] == 1 and run.block.status()["silent_gaps"] == 0
    assert 7 <= len(run.holes) <= 13, run.holes
    assert run.facts[run.holes[-1] + 1, 2].astype(int) & 4
    delay = [echo_of(run.lines[a:b], acq)[0] for a, b in ((100, 500), (800, 1000))]
    assert abs(delay[0] - delay[1]) < 0.05


@pytest.mark.parametrize("profile,mode", [("bladerf", "frozen_time"), ("pluto", "silent")])
def test_losses_nobody_tells_of(profile, mode, tmp_path):
    """The pulse comes early; how many were lost the host's clock says, so in real time."""
    acq = acquisition(2.5e6, 5000, length=200, samples=400)
    args, _ = device(tmp_path, profile, pace="real_time", loss_mode=mode, loss_at="3000000:1500")
    run = Run(args, acq, pulses=1000, transmit="cyclic").go()
    s = run.block.status()
    assert s["silent_gaps"] == 1 and len(run.holes) <= 3 + s["lost_samples"] // 5000
    # to the sample, but for intervals that the host's clock may count under load
    assert min(s["lost_samples"] % 5000 - 1500, 1500 - s["lost_samples"] % 5000, key=abs) in (-1, 0, 1)
    in_place(run, good=np.setdiff1d(np.arange(900, 1000), run.holes), cells=0.1)


@pytest.mark.parametrize("mode", ["silent", "overflow"])
def test_a_stream_is_read_in_time(mode, tmp_path):
    """Written or not, what the radio has room for: 8.5 intervals lost are seen to be 8.5 by the host's clock."""
    acq = acquisition(2.5e6, 5000, length=200, samples=400)
    # 0.1 s of it: enough for a loaded machine, less than what is written ahead
    args, truth = device(tmp_path, "pluto", pace="real_time", loss_mode=mode, loss_at="3000000:42500",
                         tx_fifo_samples=250000)
    run = Run(args, acq, pulses=1000, transmit="stream", lead_s=0.3).go()
    assert run.block.radio_status()["underflows"] == 0 and not events(truth, "underflow")
    # not fewer; a loaded machine may count more
    lost = run.block.status()["lost_samples"]
    assert lost >= 42499 and min(lost % 5000 - 2500, 2500 - lost % 5000, key=abs) in (-1, 0, 1), lost
    in_place(run, good=np.setdiff1d(np.arange(900, 1000), run.holes), cells=0.1)


@pytest.mark.parametrize("profile,mode", [("b210", "timed"), ("pluto", "stream")])
def test_a_code_is_sent_and_taken_off(profile, mode, tmp_path):
    """Random phases from pulse to pulse: after a loss without a clock the leakage tells their places."""
    slow = profile == "pluto"
    acq = acquisition(2.5e6, 5000, length=200, samples=400) if slow else acquisition()
    code = np.exp(2j * np.pi * np.random.default_rng(7).random(7))
    loss = dict(pace="real_time", loss_mode="overflow", loss_at="3000000:42500") if slow else {}
    args, _ = device(tmp_path, profile, **loss)
    run = Run(args, acq, pulses=1000 if slow else 100, code=code).go()
    assert run.block.radio_status()["transmit"] == mode
    good = np.setdiff1d(np.arange(len(run.lines)), run.holes)
    assert (len(run.holes) > 0) == slow
    in_place(run, good)  # the mean over the lines is that of a target: they add up
    pulse = np.array(sar.transmitted_pulse(acq))
    leak = run.lines[good][:, :len(pulse)] @ np.conj(pulse)
    off = np.angle(leak / np.mean(leak))
    noise = np.sqrt(0.5 * 10**(-np.min(run.facts[good, 7]) / 10))  # a pulse, by its SNR; echoes count
    assert np.max(np.abs(off)) < 2 * noise < 0.1 and abs(np.mean(off[-100:])) < 0.01


# ---- what the transmitter fails to send ---------------------------------------------------------


def test_a_pulse_that_underflowed_is_a_hole(tmp_path):
    """By schedule alone, without leakage: only the transmitter's report tells."""
    args, truth = device(tmp_path, "b210", leakage_db="off",
                         underflow_at=f"{30 * PRI + 100}:50;{47 * PRI}:400")
    run = Run(args, alignment="scheduled", correct="none", delay_s=DELAY / RATE).go()
    assert len(events(truth, "underflow")) == 2
    assert list(run.holes) == [30, 47]
    r = run.block.radio_status()
    assert r["underflows"] == 2 and r["not_sent"] == 2
    in_place(run)


def test_bursts_that_come_too_late_are_counted_and_are_holes(tmp_path):
    """The shortest lead on a radio in real time under load: whatever is late is a hole, nothing ends."""
    acq = acquisition(2e6, 4000, length=100, samples=300)
    args, truth = device(tmp_path, "b210", pace="real_time", leakage_db="off")
    run = Run(args, acq, pulses=300, lead_s=0.001, alignment="scheduled", correct="none",
              delay_s=DELAY / 2e6).go()
    late = {e["sample"] for e in events(truth, "late")}
    sent = {e["sample"] for e in events(truth, "transmit")}
    r = run.block.radio_status()
    assert r["late"] == len(late) and r["late"] + r["not_sent"] > 0
    # they begin with the first that left, and go on by number
    first = int(run.facts[0, 0])
    np.testing.assert_array_equal(run.facts[:, 0], np.arange(first, 300))
    # a line that is no hole is that of a burst that left, a hole that of one that did not
    samples = np.round(run.facts[:, 1] * 2e6).astype(int)
    good = np.setdiff1d(np.arange(300 - first), run.holes)
    assert set(samples[good]) <= sent and not set(samples[run.holes]) & sent


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile,more,words", [
    ("pluto", dict(transmit="timed"), "has no hardware time; expected 'cyclic' or 'stream'"),
    ("pluto", dict(alignment="scheduled"), "have no time; expected leakage"),
    ("hackrf", {}, "half duplex.*expected a second one as tx_device"),
    ("b210", dict(alignment="reference"), "without a reference channel"),
    ("pluto", dict(reference_channel=1), "reference_channel is 1; expected 0 to 0"),
    ("b210", dict(reference_channel=0), "as rx_channel; expected another"),
    ("b210", dict(rx_antenna="RX9"), "rx_antenna is 'RX9'; expected one of: TX/RX, RX2"),
    ("b210", dict(frequency_hz=9e9), "cannot be set to"),
    ("b210", dict(rx_gain_db="loud"), "rx_gain_db is loud; expected a number"),
    ("b210", dict(rx_gain_db=math.nan), "rx_gain_db is nan; expected a finite number of dB"),
    ("b210", dict(tx_gain_db=math.inf), "tx_gain_db is inf; expected a finite number of dB"),
    ("b210", dict(bandwidth_hz=-1.0), "bandwidth_hz is -1; expected that of the radio's filters"),
    ("b210", dict(bandwidth_hz=math.nan), "bandwidth_hz is nan; expected that of the radio's filters"),
    ("b210", dict(amplitude=1.5), "amplitude is 1.5"),
    ("b210", dict(code=[1, 1j], transmit="cyclic"), "code has values that differ; expected 'timed' or 'stream'"),
    ("b210", dict(code=[1, 2]), r"the pulse times code\[1\] reaches"),
    ("b210", dict(code=[1, 0]), r"code\[1\] is 0"),
    ("b210", dict(code="dither"), "code is dither; expected a list of complex values"),
    ("b210", dict(lead_s=0.0), "lead_s is 0"),
    ("b210", dict(pulses=-1), "pulses is -1"),
    ("b210", dict(pulses=1.5), "pulses is 1.5; expected a whole number"),
    ("b210", dict(pulses=3, presum=4), "pulses is 3, less than presum, 4; expected those of a line or more"),
    ("b210", dict(presum=0), "presum is 0; expected"),
    ("b210", dict(full_scale=-1.0), "full_scale is -1; expected"),
    ("b210", dict(transmit="loudly"), "transmit is 'loudly'; expected one of"),
    ("b210", dict(alignment="trigger"), "no trigger input"),
    ("b210", dict(acq=dict(prf_hz=999.95)), "transmitter sends at whole ones; expected prf_hz = 1000 or 999.9"),
    ("b210", dict(acq=dict(prf_hz=50000.0)), "the pulse has 400 samples"),
    ("b210", dict(acq=dict(waveform="fmcw", samples=500, chirp_rate_hz_per_s=1e9, pulse_length_s=9e-4)),
     "expected pulsed_lfm, or a pulse by samples"),
    ("b210", dict(acq=dict(sample_rate_hz=100e6, prf_hz=1e4)), "cannot be set to 100000000 samples"),
])
def test_refuses_with_a_cure(profile, more, words, tmp_path):
    args, _ = device(tmp_path, profile)
    more = {"pulses": 10, **more}
    acq = acquisition(**more.pop("acq", {}))
    with pytest.raises(ValueError, match=words):
        Run(args, acq, **more)
    if profile != "hackrf":  # half duplex: it has not both streams at once
        assert is_off(args)


def test_a_pulse_as_long_as_the_interval(tmp_path):
    """25 kHz is 400 samples: that may be."""
    args, _ = device(tmp_path, "b210")
    run = Run(args, acquisition(prf_hz=RATE / LENGTH))
    assert run.block.radio_status()["transmit"] == "timed"


def test_no_such_device():
    with pytest.raises(ValueError, match="device is 'driver=none_such', which cannot be opened.*--find"):
        sar.radar_transceiver(acquisition(), 10, "driver=none_such")
    with pytest.raises(ValueError, match="device is empty; expected SoapySDR's arguments"):
        sar.radar_transceiver(acquisition(), 10, "")


@pytest.mark.parametrize("lie", ["minus_one", "zero", "backwards"])
def test_stamps_that_lie_cannot_schedule(lie, tmp_path):
    args, _ = device(tmp_path, "b210", time_lie=lie)
    run = Run(args).go(error="are no clock")
    assert "expected transmit = 'cyclic' or 'stream'" in run.block.error()
    assert is_off(args)
    # and the cure is one
    args, _ = device(tmp_path, "b210", time_lie=lie)
    run = Run(args, transmit="stream").go()
    assert run.block.radio_status()["untrue_stamps"] > 0
    in_place(run)


# ---- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["timed", "cyclic", "stream"])
def test_off_when_the_flowgraph_stops(mode, tmp_path):
    args, _ = device(tmp_path, "b210", pace="real_time")
    acq = acquisition(2e6, 2000, length=200, samples=400)
    run = Run(args, acq, pulses=0, transmit=mode)
    run.tb.start()
    end = time.monotonic() + 20
    while run.sink.nitems_read(0) < 20 and time.monotonic() < end:
        time.sleep(0.05)
    assert run.sink.nitems_read(0) >= 20
    run.tb.stop()
    run.tb.wait()
    time.sleep(0.3)  # what was handed over lead_s ahead
    assert is_off(args)


def test_off_when_a_block_behind_fails(tmp_path):
    args, _ = device(tmp_path, "pluto")
    acq = acquisition(4e6, 4000, samples=600)
    tb = gr.top_block()
    radar = sar.radar_transceiver(acq, 50, args, reference_delay_s=LEAK_S)
    head = blocks.head(gr.sizeof_gr_complex * acq.samples, 20)
    tb.connect(radar, head, blocks.null_sink(gr.sizeof_gr_complex * acq.samples))
    run(tb)
    assert is_off(args)


def test_off_when_the_radio_fails(tmp_path):
    """The streams cannot be had: a sentence, the end, and nothing left on."""
    args, _ = device(tmp_path, "b210")
    other = same_radio(args)
    taken = other.setupStream(SoapySDR.SOAPY_SDR_TX, SoapySDR.SOAPY_SDR_CF32, [0])
    run = Run(args).go(error="streams of")
    assert "open already" in run.block.error()
    other.closeStream(taken)
    assert is_off(args)
    run.go()  # and once it is free it runs
    in_place(run)


def test_positions_that_end(tmp_path):
    args, _ = device(tmp_path, "b210")
    acq = acquisition()
    tb = gr.top_block()
    radar = sar.radar_transceiver(acq, 50, args, reference_delay_s=LEAK_S, positions=True, pulses=100)
    track = sar.trajectory.straight((0, 0, 0), (1, 0, 0))
    places = blocks.vector_sink_f(6)
    tb.connect((sar.trajectory_source(track, acq.prf_hz, 40), 0), radar)
    tb.connect(radar, blocks.null_sink(gr.sizeof_gr_complex * acq.samples))
    tb.connect((radar, 1), places)
    run(tb)
    assert "the stream of positions ended with pulse 39" in radar.error()
    at = np.array(places.data(), np.float32).view(np.float64).reshape(-1, 3)
    np.testing.assert_allclose(at[:, 0], np.arange(40) / acq.prf_hz, atol=1e-12)
    assert is_off(args)


# ---- calibration, status ---------------------------------------------------------------------------


def calibration(tmp_path, delay_s, **key):
    c = dict(format="gr-sar delay calibration", version=1, delay_s=delay_s, delay_std_s=1e-10, phase_rad=0.0,
             phase_std_rad=0.01, amplitude_db=-30.0, snr_db=40.0, pulses=64, residual_frequency_hz=0.0,
             drift_samples_per_s=0.0, drift_rad_per_s=0.0, ambiguity_s=None, cable_delay_s=0.0, key=key)
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(c))
    return str(path)


def test_a_calibration_gives_the_delay_where_no_pulse_is_seen(tmp_path):
    args, _ = device(tmp_path, "b210", leakage_db="off")
    run = Run(args, calibration=calibration(tmp_path, DELAY / RATE), correct="none").go()
    assert run.block.status()["alignment"] == "scheduled"
    in_place(run)
    with pytest.raises(ValueError, match="calibration.json is no delay calibration"):
        (tmp_path / "calibration.json").write_text("{}")
        Run(args, calibration=str(tmp_path / "calibration.json"))


def test_a_calibration_that_does_not_fit_is_said(tmp_path, capfd):
    args, _ = device(tmp_path, "b210")
    path = calibration(tmp_path, (DELAY - 6) / RATE, driver="sarsim", rx_gain_db=13.0)
    run = Run(args, calibration=path).go()
    in_place(run)  # lines are where the pulse is
    said = logged(capfd, "off what the calibration")
    assert "rx_gain_db 13.0 in place of 40" in said and "driver" not in said.split("of other settings")[1][:60]
    metres = float(re.search(r"\(([+-][\d.]+) m of range\) off what the calibration", said)[1])
    assert abs(metres - 6 / RATE * 299792458 / 2) < 0.5
    assert run.block.radio_key()["serial"].startswith("sarsim-")


def test_status_has_both(tmp_path):
    args, _ = device(tmp_path, "b210", loss_mode="overflow", loss_at="1500000:5000")
    run = Run(args).go()
    last = pmt.to_python(run.messages.get_message(run.messages.num_messages() - 1))
    assert last["transmit"] == "timed" and last["alignment"] == "scheduled"
    assert last["overflows"] == 1 and last["radio_lost_samples"] == 5000
    assert last["framed"] + last["lost"] >= 100 and last["sent_pulses"] >= 100
    assert last["start_offset_samples"] == pytest.approx(DELAY, abs=0.1)


# ---- the host's clock ------------------------------------------------------------------------------


def host_minus_radio(radio):
    """(difference of the clocks, how well it is known), s: the closest of many looks at both."""
    looks = []
    for _ in range(100):
        before = time.monotonic()
        ns = radio.getHardwareTime()
        looks.append((time.monotonic() - before, before - 1e-9 * ns))
    known, difference = min(looks)
    return difference + known / 2, known / 2


def test_an_image_knows_when_its_last_pulse_left(tmp_path):
    """By sarsim's clock no frame's time on the host's is before its first pulse, and none much after it: the
    least lag of many reads counts. The time of an image's last pulse follows from that of its frame."""
    acq = acquisition(2e6, 2000, length=200, samples=400, slant_range_first_m=300.0, effective_velocity_m_s=50.0)
    args, _ = device(tmp_path, "b210", pace="real_time")
    tb = gr.top_block()
    radar = sar.radar_transceiver(acq, 50, args, reference_delay_s=LEAK_S, positions=True, pulses=1000)
    still = sar.trajectory_source(sar.trajectory.straight((0, 0, 0), (0, 0, 0)), acq.prf_hz, 2000)
    grid = sar.image_grid.centred(rows=4, cols=4, centre_m=(0, TARGET_M, 0), row_axis=(1, 0, 0), col_axis=(0, 1, 0),
                                  row_spacing_m=1.0, col_spacing_m=10.0)
    imager = sar.bp_accumulator(acq, grid, oversampling=4, pulses_per_image=100, backend="cpu")
    strip = sar.range_doppler_imager(acq, 100, oversampling=1, bandwidth_hz=60, backend="cpu")
    lines, images, strips = (blocks.vector_sink_c(n) for n in (acq.samples, grid.cols, acq.samples))
    tb.connect(still, radar)
    tb.connect(radar, lines)
    tb.connect(radar, sar.pulse_compression(acq, 4, backend="cpu"), imager, images)
    tb.connect(radar, strip, strips)
    tb.connect((radar, 1), (imager, 1))
    radio = same_radio(args)
    run(tb, 60)
    assert radar.error() == imager.error() == strip.error() == ""
    difference, known = host_minus_radio(radio)
    frames = {t.offset: pmt.to_python(t.value) for t in lines.tags() if str(t.key) == "sar_frame"}
    assert list(frames) == list(range(0, 1000, 50))
    off = np.array([f["host_s"] - f["time_s"] - difference for f in frames.values()])
    assert np.all(off > -known - 1e-4) and np.all(np.diff(off) < 1e-3) and off[-1] < 0.02, off
    for sink in (images, strips):
        tags = [pmt.to_python(t.value) for t in sink.tags() if str(t.key) == "sar_image"]
        assert len(tags) == 10
        for t in tags:
            last = t["first_pulse"] + t["pulses"] - 1
            left = t["last_pulse_host_s"] - difference
            assert -known - 1e-4 < left - (frames[0]["time_s"] + last / acq.prf_hz) <= off.max() + 2e-4, t


def test_no_latency_of_a_radio_that_waits(tmp_path):
    run = Run(device(tmp_path, "b210")[0]).go()
    tags = [pmt.to_python(t.value) for t in run.sink.tags() if str(t.key) == "sar_frame"]
    assert tags and not any("host_s" in t for t in tags)


# ---- a slow flowgraph, long pulses -------------------------------------------------------------------


def test_a_flowgraph_that_is_too_slow_loses_samples_and_nothing_else(tmp_path):
    """The radio is served all the same: what found no room are holes, numbers and ranges stay right."""
    acq = acquisition(2.5e6, 2500, length=200, samples=400)
    args, _ = device(tmp_path, "b210", pace="real_time")
    run = Run(args, acq, pulses=1500, buffer_s=0.05, transmit="cyclic")

    class slow(gr.sync_block):
        def __init__(self):
            gr.sync_block.__init__(self, "slow", [(np.complex64, acq.samples)], None)
            self.first = True

        def work(self, input_items, output_items):
            if self.first:
                time.sleep(1.0)
            self.first = False
            return len(input_items[0])

    run.block.set_max_output_buffer(16)
    behind = slow()  # the flowgraph alone does not keep a Python block
    run.tb.connect(run.block, behind)
    run.go()
    r = run.block.radio_status()
    assert r["lost_samples"] > 0 and r["overflows"] == 0
    np.testing.assert_array_equal(run.facts[:, 0], np.arange(1500))
    assert len(run.holes) > 50
    in_place(run, good=np.setdiff1d(np.arange(1400, 1500), run.holes))


@pytest.mark.parametrize("length", [1000, 8191, 8192, 10000, 1000000])
@pytest.mark.parametrize("profile,mode", [("b210", "timed"), ("pluto", "cyclic"), ("lime", "stream")])
def test_pulses_of_any_length(length, profile, mode, tmp_path):
    """No freeze: lines as long as the pulse and more, in bursts longer than the radio's buffers."""
    pri = 2 * length + 2000
    rate = 4e6 if profile == "pluto" else RATE
    acq = acquisition(rate, pri, length=length, samples=length + 500)
    args, _ = device(tmp_path, profile, echo_db="off")
    pulses = 5 if length > 100000 else 20
    run = Run(args, acq, pulses=pulses, transmit=mode, timeout=100).go()
    assert len(run.lines) == pulses and len(run.holes) == 0
    replica = np.array(sar.transmitted_pulse(acq))
    want = run.lines[-1][:length] / replica  # the leakage, LEAK_S after the start
    assert abs(np.mean(want[length // 4:-length // 4])) == pytest.approx(0.7 * 10**(-30 / 20), rel=0.1)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-v"]))
