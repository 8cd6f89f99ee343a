# SPDX-License-Identifier: GPL-3.0-or-later
"""driver=sarsim as users of SoapySDR, gr-soapy and gr-osmosdr see it. Physics: qa_simulated_radar.cc."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar

SoapySDR = pytest.importorskip(
    "SoapySDR", reason="SoapySDR's Python binding is not here (python3-soapysdr)")
from SoapySDR import (SOAPY_SDR_CF32, SOAPY_SDR_CS8, SOAPY_SDR_CS16, SOAPY_SDR_END_ABRUPT,  # noqa: E402
                      SOAPY_SDR_END_BURST, SOAPY_SDR_HAS_TIME, SOAPY_SDR_NOT_SUPPORTED,
                      SOAPY_SDR_OVERFLOW, SOAPY_SDR_RX, SOAPY_SDR_TIME_ERROR, SOAPY_SDR_TIMEOUT,
                      SOAPY_SDR_TX, SOAPY_SDR_UNDERFLOW, SOAPY_SDR_WAIT_TRIGGER)

if not SoapySDR.Device.enumerate("driver=sarsim"):
    pytest.skip("the module sarsim was not built or is not found (ENABLE_SOAPY, "
                "SOAPY_SDR_PLUGIN_PATH)", allow_module_level=True)

RATE, CARRIER = 10e6, 5.8e9
PULSE = np.exp(1j * np.pi * 0.6 / 400 * (np.arange(400) - 200) ** 2).astype(np.complex64)
IDS = itertools.count()
REFUSED = (RuntimeError, ValueError)  # SWIG makes either of std::invalid_argument
# nothing between transmitter and receiver but the leakage, one to one
CABLE = dict(leakage_db=0, leakage_delay_s=0, noise_db="off", echo_db="off")
CLEAN = dict(noise_db="off", phase_noise_dbc_hz="off", dc_i=0, dc_q=0, imbalance_db=0,
             imbalance_deg=0, adc_bits=0)


class Radio:
    """A device with its two streams, closed at the end."""

    def __init__(self, rate=RATE, rx_format=SOAPY_SDR_CF32, tx_format=SOAPY_SDR_CF32,
                 channels=(0,), tx_args=None, **settings):
        settings.setdefault("id", f"qa{next(IDS)}")
        self.args = dict(driver="sarsim", **{k: str(v) for k, v in settings.items()})
        self.device = SoapySDR.Device(self.args)
        for side in (SOAPY_SDR_RX, SOAPY_SDR_TX):
            self.device.setSampleRate(side, 0, rate)
            self.device.setFrequency(side, 0, min(CARRIER, self.device.getFrequencyRange(side, 0)[0].maximum()))
        self.rate, self.channels = rate, channels
        self.type = {SOAPY_SDR_CF32: np.complex64, SOAPY_SDR_CS16: np.dtype("2i2"),
                     SOAPY_SDR_CS8: np.dtype("2i1")}[rx_format]
        self.rx = self.device.setupStream(SOAPY_SDR_RX, rx_format, list(channels))
        self.tx = self.device.setupStream(SOAPY_SDR_TX, tx_format, [0], tx_args or {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.closeStream(self.rx)
        self.device.closeStream(self.tx)

    def ns(self, sample):
        return round(sample * 1e9 / self.rate)

    def activate(self, side, flags=0, ns=0, count=0):
        return self.device.activateStream(self.rx if side == SOAPY_SDR_RX else self.tx, flags, ns, count)

    def write(self, samples, flags=SOAPY_SDR_END_BURST, ns=0):
        """All of the samples; None where the radio takes no more."""
        at = 0
        while at < len(samples):
            r = self.device.writeStream(self.tx, [samples[at:]], len(samples) - at, flags, ns)
            if r.ret <= 0:
                return r.ret
            at += r.ret
            flags &= ~SOAPY_SDR_HAS_TIME
        return at

    def read(self, count, timeout_us=1000000):
        """(samples of each channel, list of (code or count, flags, time in ns))"""
        out = [np.zeros(count, self.type) for _ in self.channels]
        seen, at = [], 0
        while at < count:
            r = self.device.readStream(self.rx, [o[at:] for o in out], count - at, timeoutUs=timeout_us)
            seen.append((r.ret, r.flags, r.timeNs))
            if r.ret > 0:
                at += r.ret
            elif r.ret == SOAPY_SDR_TIMEOUT:
                break
        return [o[:at] for o in out], seen

    def status(self, stream):
        r = self.device.readStreamStatus(stream, timeoutUs=1000)
        return r.ret, r.timeNs


def delay_of(x, pulse=PULSE):
    """(delay in samples, phase) of a pulse: correlation on a 32 times finer grid."""
    n = 1 << int(np.ceil(np.log2(len(x) + len(pulse))))
    product = np.fft.fft(x, n) * np.conj(np.fft.fft(pulse, n))
    fine = np.zeros(32 * n, complex)
    fine[:n // 2], fine[-n // 2:] = product[:n // 2], product[-n // 2:]
    y = np.fft.ifft(fine)
    k = int(np.argmax(abs(y)))
    a, b, c = abs(y[[k - 1, k, (k + 1) % len(y)]])
    return ((k + 0.5 * (a - c) / (a - 2 * b + c)) / 32) % n, np.angle(y[k])


def events(path, kind):
    with open(path) as f:
        return [e for e in map(json.loads, f) if e["event"] == kind]


def scene_file(tmp_path, **scene):
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({"format": "gr-sar scene", "version": 1, **scene}))
    return str(path)


# ---- what programs ask a driver ---------------------------------------------------------

PROFILES = ["ideal", "b210", "pluto", "pluto_tdd", "lime", "bladerf", "hackrf", "hackrf2", "phaser"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_device_answers_everything(profile):
    d = SoapySDR.Device(dict(driver="sarsim", profile=profile, id=f"qa{next(IDS)}"))
    assert d.getDriverKey() == "sarsim"
    assert d.getHardwareInfo()["profile"] == profile
    for side in (SOAPY_SDR_RX, SOAPY_SDR_TX):
        for channel in range(d.getNumChannels(side)):
            gains = d.getGainRange(side, channel)
            for wanted, set_to in ((gains.minimum(), gains.minimum()), (gains.maximum() + 10, gains.maximum())):
                d.setGain(side, channel, wanted)
                assert d.getGain(side, channel) == set_to
            rates = d.getSampleRateRange(side, channel)[0]
            d.setSampleRate(side, channel, rates.maximum())
            assert d.getSampleRate(side, channel) == rates.maximum()
            with pytest.raises(REFUSED, match="sample rate is"):
                d.setSampleRate(side, channel, rates.maximum() * 1.01)
            top = d.getFrequencyRange(side, channel)[0].maximum()
            d.setFrequency(side, channel, top)
            assert d.getFrequency(side, channel, "RF") == top
            with pytest.raises(REFUSED, match="frequency is"):
                d.setFrequency(side, channel, 2 * top)
            d.setAntenna(side, channel, d.listAntennas(side, channel)[-1])
            assert d.getAntenna(side, channel) == d.listAntennas(side, channel)[-1]
            with pytest.raises(REFUSED, match="antenna is 'none'"):
                d.setAntenna(side, channel, "none")
            assert set(d.getStreamFormats(side, channel)) == {"CF32", "CS16", "CS8"}
        with pytest.raises(REFUSED, match="channel is 2"):
            d.setGain(side, 2, 0.0)
    assert {a.key for a in d.getStreamArgsInfo(SOAPY_SDR_TX, 0)} == {"cyclic", "cyclic_samples"}
    for s in d.getSettingInfo():
        assert s.description and d.readSetting(s.key) == s.value
        d.writeSetting(s.key, s.value)
    for key, value, why in (("pace", "slow", "fast, real_time"), ("seed", "-1", "whole number"),
                            ("noise_db", "much", "expected a number"), ("scene", "none.json", "none.json"),
                            ("loss_at", "5", "SAMPLE:COUNT"), ("has_time", "maybe", "true or false"),
                            ("adc_bits", "50", "adc_bits is 50"), ("positions_origin", "47.5,8.5", "LATITUDE;LONGITUDE;HEIGHT"),
                            ("positions_origin", "91;8;0", "expected LATITUDE"), ("positions_start_s", "86400", "less than 86400"), ("what", "1", "'what' is not known")):
        with pytest.raises(REFUSED, match=why):
            d.writeSetting(key, value)
        if key != "what":
            assert d.readSetting(key) == {s.key: s.value for s in d.getSettingInfo()}[key]


def test_it_is_found_only_when_asked_for():
    assert not [d for d in SoapySDR.Device.enumerate() if dict(d)["driver"] == "sarsim"]
    found = dict(SoapySDR.Device.enumerate("driver=sarsim,profile=lime")[0])
    assert "simulated radar (lime)" in found["label"]


@pytest.mark.skipif(not shutil.which("SoapySDRUtil"), reason="SoapySDRUtil is not here (soapysdr-tools)")
def test_probe():
    out = subprocess.run(["SoapySDRUtil", "--probe=driver=sarsim,profile=b210"],
                         capture_output=True, text=True, check=True).stdout
    for part in ("driver=sarsim", "hardware=B210", "Channels: 2 Rx, 1 Tx", "Timestamps: YES",
                 "Full-duplex: YES", "Native format: CS16", "PGA gain range: [0, 76] dB", "GPIOs: MAIN",
                 "key=loss_mode", "key=cyclic"):
        assert part in out, part


def test_devices_share_a_radio_by_id():
    with Radio(id="shared", **CABLE) as a:
        b = SoapySDR.Device(dict(driver="sarsim", id="shared", seed="5"))
        b.setFrequency(SOAPY_SDR_TX, 0, 1e9)
        assert a.device.getFrequency(SOAPY_SDR_TX, 0) == 1e9
        assert a.device.readSetting("seed") == "5"
        with pytest.raises(REFUSED, match="stream is open already"):
            b.setupStream(SOAPY_SDR_RX, SOAPY_SDR_CF32, [0])
        with pytest.raises(REFUSED, match="open with 'ideal'"):
            SoapySDR.Device(dict(driver="sarsim", id="shared", profile="lime"))
        other = SoapySDR.Device(dict(driver="sarsim", id="other"))
        assert other.readSetting("seed") == "1"


def test_half_duplex_refuses_both_directions():
    d = SoapySDR.Device(dict(driver="sarsim", profile="hackrf", id=f"qa{next(IDS)}"))
    assert not d.getFullDuplex(SOAPY_SDR_RX, 0)
    rx = d.setupStream(SOAPY_SDR_RX, SOAPY_SDR_CF32, [0])
    with pytest.raises(REFUSED, match="half duplex.*no radar by itself.*hackrf2"):
        d.setupStream(SOAPY_SDR_TX, SOAPY_SDR_CF32, [0])
    d.closeStream(rx)
    d.closeStream(d.setupStream(SOAPY_SDR_TX, SOAPY_SDR_CF32, [0]))


# ---- samples and time -------------------------------------------------------------------


@pytest.mark.parametrize("profile,rate,delay", [("ideal", 10e6, 0), ("b210", 10e6, 46), ("b210", 20e6, 165),
                                                ("b210", 50e6, 158), ("lime", 10e6, 82.25)])
def test_timed_streams_have_the_delay_of_the_radio(profile, rate, delay, tmp_path):
    truth = str(tmp_path / "truth.json")
    with Radio(rate=rate, profile=profile, truth=truth, **{**CLEAN, **CABLE}) as r:
        r.device.setHardwareTime(7000000000)
        at = r.device.getHardwareTime()
        assert at == 7000000000
        assert r.activate(SOAPY_SDR_TX) == 0
        assert r.activate(SOAPY_SDR_RX, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at + r.ns(1000), 3000) == 0
        assert r.write(PULSE, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at + r.ns(1200)) == 400
        (x, ), seen = r.read(5000, 20000)
        # a finite burst: END_BURST with its last samples, then nothing
        assert len(x) == 3000 and seen[-1][0] == SOAPY_SDR_TIMEOUT
        assert [bool(s[1] & SOAPY_SDR_END_BURST) for s in seen[:-1]] == [False] * (len(seen) - 2) + [True]
        times = np.cumsum([1000] + [s[0] for s in seen[:-1]])
        assert [s[2] for s in seen[:-1]] == [at + r.ns(t) for t in times[:-1]]
        assert all(s[1] & SOAPY_SDR_HAS_TIME for s in seen[:-1])
    got, _ = delay_of(x)
    assert abs(got - 200 - delay) < 0.002
    if delay == int(delay):  # whole samples: nothing is interpolated
        np.testing.assert_allclose(abs(x[200 + delay:][:400]), 1, atol=2e-5)
    e, = events(truth, "transmit")
    assert e["timed"] and e["delay_samples"] == delay and e["sample"] == 1200
    assert events(truth, "receive")[0]["sample"] == 1000


def test_untimed_starts_are_drawn_from_the_seed(tmp_path):
    """Twenty starts: the delay measured is that of the truth, and covers the range."""
    truth = str(tmp_path / "truth.json")
    found = []
    for again in range(2):
        with Radio(profile="b210", start="together", truth=truth, seed=3, **{**CLEAN, **CABLE}) as r:
            begin = 0
            for _ in range(20):
                for side in (SOAPY_SDR_RX, SOAPY_SDR_TX) if again else (SOAPY_SDR_TX, SOAPY_SDR_RX):
                    assert r.activate(side) == 0
                assert r.write(PULSE) == 400
                (x, ), _ = r.read(8000)
                # a further burst is no further start
                assert r.write(PULSE) == 400
                (y, ), _ = r.read(2000)
                r.device.deactivateStream(r.tx)
                r.device.deactivateStream(r.rx)
                found += [begin + delay_of(x)[0], begin + 8000 + delay_of(y)[0]]
                begin += 10000
        sent = events(truth, "transmit")
        assert len(sent) == 40
        for delay, e in zip(found[-40:], sent):
            assert abs(delay - e["sample"] - e["delay_samples"]) < 0.02
    assert found[:40] == found[40:]  # the order of activation does not matter
    assert {e["sample"] % 10000 for e in sent[1::2]} == {8000 + 1024}
    sent = sent[::2]
    offsets = [e["sample"] % 10000 - 1024 for e in sent]
    fractions = [e["delay_samples"] - 46 for e in sent]
    assert min(offsets) >= 0 and max(offsets) <= 5000 and np.ptp(offsets) > 3000
    assert min(fractions) >= 0 and max(fractions) < 1 and np.ptp(fractions) > 0.5


def test_formats_hold_the_same_samples():
    got = {}
    for name, scale in ((SOAPY_SDR_CF32, 1), (SOAPY_SDR_CS16, 32768), (SOAPY_SDR_CS8, 128)):
        with Radio(rx_format=name, tx_format=name, **CABLE) as r:
            pulse = PULSE * 0.9
            if scale > 1:
                pulse = np.round(pulse.view(np.float32) * scale).astype(
                    {32768: np.int16, 128: np.int8}[scale]).reshape(-1, 2)
            r.activate(SOAPY_SDR_RX)
            r.activate(SOAPY_SDR_TX)
            assert r.write(pulse) == 400
            (x, ), _ = r.read(600)
            if scale > 1:
                x = (x.astype(float) / scale).astype(np.float32).reshape(-1).view(np.complex64)
            got[name] = x
            # what was written comes back
            np.testing.assert_allclose(x[:400], PULSE * 0.9, atol=1.5 / scale if scale > 1 else 2e-5)
    # full scale saturates, it does not wrap
    with Radio(rx_format=SOAPY_SDR_CS16, **{**CABLE, "leakage_db": 20}) as r:
        r.activate(SOAPY_SDR_RX)
        r.activate(SOAPY_SDR_TX)
        r.write(PULSE)
        (x, ), _ = r.read(400)
        assert x.max() == 32767 and x.min() == -32768
    with pytest.raises(REFUSED, match="format is 'CS4'"):
        d = SoapySDR.Device(dict(driver="sarsim", id="format"))
        d.setupStream(SOAPY_SDR_RX, "CS4", [0])


def test_echoes_of_a_moving_antenna_are_those_of_point_target_source(tmp_path):
    """The same scene and track as lines of point_target_source: less than -60 dB apart."""
    rate, prf, samples, pulses = 20e6, 5e3, 1000, 30
    targets = [(3, 1800, 0, 0.7), (-40, 2300, 50, 0.4j)]
    start, velocity = (-100.0, 0.0, 300.0), (120.0, 30.0, 0.0)
    skip = 220
    chirp = 0.6 * rate / 20e-6
    acq = sar.acquisition(waveform="pulsed_lfm", samples=samples, carrier_hz=CARRIER, prf_hz=prf,
                          sample_rate_hz=rate, pulse_length_s=20e-6, chirp_rate_hz_per_s=chirp,
                          slant_range_first_m=skip * sar.speed_of_light / 2 / rate)
    track = sar.trajectory.straight(start, velocity)
    source = sar.point_target_source(acq, targets, track, pulses, 0, 1, 1)
    tb, sink = gr.top_block(), blocks.vector_sink_c(samples)
    tb.connect(source, sink)
    tb.connect((source, 1), blocks.null_sink(24))
    tb.run()
    want = np.array(sink.data()).reshape(pulses, samples)

    scene = scene_file(
        tmp_path, hold_s=1 / prf, trajectory=dict(start_m=start, velocity_m_s=velocity),
        targets=[dict(position_m=t[:3], amplitude=abs(t[3]), phase_rad=float(np.angle(t[3]))) for t in targets])
    pulse = np.exp(1j * np.pi * chirp * ((np.arange(400) / rate) - 10e-6) ** 2).astype(np.complex64)
    pri = round(rate / prf)
    with Radio(rate=rate, scene=scene, start="together") as r:
        r.activate(SOAPY_SDR_RX)
        r.activate(SOAPY_SDR_TX)
        got = []
        for _ in range(pulses):
            r.write(np.concatenate([pulse, np.zeros(pri - 400, np.complex64)]), 0)
            got.append(r.read(pri - 32 if not got else pri)[0][0])
    got = np.concatenate(got)
    got = np.array([got[n * pri + skip:][:samples] for n in range(pulses - 1)])
    # away from the edges of pulses, where interpolated samples ring and exact ones do not
    use = np.ones_like(got, bool)
    for n in range(pulses - 1):
        for t in targets:
            r_m = np.linalg.norm(np.subtract(t[:3], np.add(start, np.multiply(velocity, n / prf))))
            for edge in (2 * r_m / sar.speed_of_light * rate - skip + np.array([0, 400])):
                use[n, max(0, int(edge) - 8):int(edge) + 10] = False
    error = np.sum(abs(got - want[:-1])[use] ** 2) / np.sum(abs(want[:-1][use]) ** 2)
    assert use.mean() > 0.9
    assert 10 * np.log10(error) < -60


def test_the_reference_channel_is_the_transmitter(tmp_path):
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, 3000, 0], amplitude=0.1)])
    for channels in ((0, 1), (1, 0), (1,)):
        with Radio(channels=channels, scene=scene, profile="b210", reference_db=-20, leakage_db="off", **CLEAN) as r:
            r.device.setGain(SOAPY_SDR_RX, 0, 40.0)
            r.activate(SOAPY_SDR_RX, SOAPY_SDR_HAS_TIME, 0)
            r.activate(SOAPY_SDR_TX, SOAPY_SDR_HAS_TIME, 0)
            r.write(PULSE)
            x, _ = r.read(2000)
        reference = x[channels.index(1)]
        assert abs(delay_of(reference)[0] - 46) < 0.005
        np.testing.assert_allclose(abs(reference[46:446]), 0.1, rtol=1e-3)
        if 0 in channels:
            delay = 2 * 3000 / sar.speed_of_light * RATE
            assert abs(delay_of(x[channels.index(0)])[0] - 46 - delay) < 0.005


def test_a_cycle_is_transmitted_again_and_again():
    period = np.concatenate([PULSE, np.zeros(600, np.complex64)])
    for args in (dict(cyclic="true"), dict(cyclic="true", cyclic_samples="1000")):
        with Radio(tx_args=args, start="together", start_offset_samples=300, **CABLE) as r:
            r.activate(SOAPY_SDR_TX)
            r.activate(SOAPY_SDR_RX)
            if "cyclic_samples" in args:  # as gr-soapy's sink does, in pieces
                assert r.write(period[:300], 0) == 300
                assert r.write(period[300:], 0) == 700
            else:
                assert r.write(period, 0) == 1000
            (x, ), _ = r.read(20000)
            y = x[2000:].reshape(-1, 1000)
            assert np.abs(y - y[0]).max() < 1e-6 and np.abs(y[0]).max() > 0.9
            r.device.deactivateStream(r.tx)
            (x, ), _ = r.read(5000)
            assert np.abs(x[1000:]).max() == 0


def test_gains_frequencies_and_corrections(tmp_path):
    """A constant transmitted; echo, leakage and noise in their turn."""
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, 1500, 0], amplitude=0.1)])
    with Radio(profile="b210", scene=scene, tx_args=dict(cyclic="true"), phase_per_retune="false", lo_step_hz=0,
               **{**CLEAN, "leakage_db": "off", "dc_i": 0.05}) as r:
        d = r.device
        assert (d.getGain(SOAPY_SDR_RX, 0), d.getGain(SOAPY_SDR_TX, 0)) == (40, 60)
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.write(np.ones(100, np.complex64), 0)
        r.read(20000)

        def level(dc=0.05):
            return np.abs(r.read(2000)[0][0] - dc).mean()

        assert level() == pytest.approx(0.1, rel=1e-3)
        d.setGain(SOAPY_SDR_RX, 0, 34.0)
        d.setGain(SOAPY_SDR_TX, 0, 50.0)
        assert level() == pytest.approx(0.1 * 10**(-16 / 20), rel=1e-3)
        d.writeSetting("echo_db", "off")
        d.writeSetting("leakage_db", "-10")
        assert level() == pytest.approx(10**(-26 / 20), rel=1e-3)
        # direct current: corrected by hand, and by the device
        d.setDCOffset(SOAPY_SDR_RX, 0, 0.05)
        assert level(0) == pytest.approx(10**(-26 / 20), rel=1e-3)
        d.setDCOffset(SOAPY_SDR_RX, 0, 0)
        d.setDCOffsetMode(SOAPY_SDR_RX, 0, True)
        assert level(0) == pytest.approx(10**(-26 / 20), rel=1e-3)

        def hz():
            (x, ), _ = r.read(2000)
            return np.polyfit(np.arange(2000) / RATE, np.unwrap(np.angle(x)), 1)[0] / (2 * np.pi)

        assert abs(hz()) < 1
        d.setFrequency(SOAPY_SDR_TX, 0, CARRIER + 250e3)
        assert abs(hz() - 250e3) < 1
        d.setFrequencyCorrection(SOAPY_SDR_RX, 0, 10.0)
        assert abs(hz() - 250e3 + 10e-6 * CARRIER) < 1
        d.writeSetting("drift_rad_per_min", "60000")
        assert abs(hz() - 250e3 + 10e-6 * CARRIER - 1000 / (2 * np.pi)) < 1
        # further apart than the rate: not received
        d.setFrequency(SOAPY_SDR_TX, 0, CARRIER + 20e6)
        assert level(0) == 0
        # noise follows the receiver's gain alone
        d.writeSetting("noise_db", "-30")
        assert np.var(r.read(20000)[0][0]) == pytest.approx(10**(-36 / 10), rel=0.05)


def test_a_transmitter_alone_moves_the_clock():
    d = SoapySDR.Device(dict(driver="sarsim", id=f"qa{next(IDS)}"))
    d.setSampleRate(SOAPY_SDR_TX, 0, 2e6)
    tx = d.setupStream(SOAPY_SDR_TX, SOAPY_SDR_CF32, [0])
    d.activateStream(tx)
    sent = 0
    while sent < 4000000:
        sent += d.writeStream(tx, [np.ones(50000, np.complex64)], 50000, 0).ret
    # all but what waits in the FIFO has left
    assert 0 <= sent - d.getHardwareTime() * 2e-3 <= 65536
    d.closeStream(tx)


def test_a_trigger_starts_both():
    with Radio(profile="pluto_tdd", **{**CLEAN, **CABLE, "delay_samples": 31.4}) as r:
        assert r.activate(SOAPY_SDR_RX, SOAPY_SDR_WAIT_TRIGGER) == 0
        assert r.activate(SOAPY_SDR_TX, SOAPY_SDR_WAIT_TRIGGER) == 0
        assert r.write(PULSE) == 400
        x, seen = r.read(1000, 20000)
        assert seen == [(SOAPY_SDR_TIMEOUT, 0, 0)]
        assert r.device.readGPIO("MAIN") == 0
        r.device.writeGPIO("MAIN", 1)
        (x, ), seen = r.read(100)
        assert r.device.readGPIO("MAIN") == 1 | 2 | 4  # pin, transmitting, receiving
        (y, ), _ = r.read(900)
        assert abs(delay_of(np.concatenate([x, y]))[0] - 31.4) < 0.005
        assert r.device.readGPIO("MAIN") == 1 | 4
        assert not seen[0][1] & SOAPY_SDR_HAS_TIME  # no hardware time


def test_phaser_gives_beats(tmp_path):
    """Zero range lies at the tone that is transmitted, and a target K tau below."""
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, 60, 0], amplitude=0.3)])
    rate, tone = 2e6, 100e3
    with Radio(profile="phaser", rate=rate, scene=scene, leakage_db="off", tx_args=dict(cyclic="true"),
               ramp_period_s=1e-3, **{**CLEAN, "delay_samples": 0, "noise_db": -60}) as r:
        for side in (SOAPY_SDR_RX, SOAPY_SDR_TX):
            r.device.setFrequency(side, 0, 2.2e9)
            r.activate(side, SOAPY_SDR_WAIT_TRIGGER)
        assert r.write(np.exp(2j * np.pi * tone / rate * np.arange(20)).astype(np.complex64)) == 20
        r.device.writeGPIO("MAIN", 1)
        (x, ), _ = r.read(20000)
    ramps = x.reshape(10, 2000)
    spectrum = abs(np.fft.fft(ramps[1:, 100:1000] * np.hanning(900), 1 << 16)).mean(0)
    beat = np.fft.fftfreq(1 << 16, 1 / rate)[np.argmax(spectrum)]
    assert abs(beat - (tone - 500e6 / 500e-6 * 2 * 60 / sar.speed_of_light)) < 100
    rest = abs(np.fft.fft(ramps[1:, 1020:1980] * np.hanning(960), 1 << 16)).mean(0)
    assert abs(np.fft.fftfreq(1 << 16, 1 / rate)[np.argmax(rest)] - tone) < 100


def test_real_time_takes_its_time():
    with Radio(rate=1e6, pace="real_time", **CABLE) as r:
        r.activate(SOAPY_SDR_RX)
        begin = time.monotonic()
        (x, ), seen = r.read(200000)
        gone = time.monotonic() - begin
        assert len(x) == 200000 and 0.19 < gone < 1
        # a reader who sleeps loses samples, and is told
        r.device.writeSetting("rx_buffer_samples", "50000")
        time.sleep(0.1)
        _, seen = r.read(10000)
        assert seen[0][0] == SOAPY_SDR_OVERFLOW


def test_retunes_change_phase_and_the_lo_steps():
    with Radio(profile="b210", tx_args=dict(cyclic="true"), rate=1e6, **{**CLEAN, **CABLE}) as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.write(np.ones(100, np.complex64), 0)
        r.read(20000)
        phases = []
        for _ in range(4):
            phases.append(np.angle(np.mean(r.read(1000)[0][0])))
            r.device.setFrequency(SOAPY_SDR_RX, 0, CARRIER)
        assert min(abs(np.exp(1j * a) - np.exp(1j * b)) for a, b in itertools.combinations(phases, 2)) > 0.01
        # from 2.4 GHz at first, and an excursion of 100 MHz and back: three steps of 1.19 Hz
        r.device.setFrequency(SOAPY_SDR_RX, 0, CARRIER - 100e6)
        r.device.setFrequency(SOAPY_SDR_RX, 0, CARRIER)
        (x, ), _ = r.read(200000)
        turned = np.unwrap(np.angle(x))
        hz = np.polyfit(np.arange(len(x)) / 1e6, turned, 1)[0] / (2 * np.pi)
        assert abs(hz + 3 * 1.19) < 0.01


def test_a_pair_of_hackrfs_has_two_clocks():
    """20 ppm: the delay falls by 0.2 samples in 10000, and the carrier is 20 ppm off."""
    period = np.concatenate([PULSE, np.zeros(9600, np.complex64)])
    with Radio(profile="hackrf2", tx_args=dict(cyclic="true"), start="together", **{**CLEAN, **CABLE}) as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.write(period)
        (x, ), _ = r.read(230000)
    # the carrier's offset is more than the correlation bears
    assert abs(x[30000:30400]).max() < 1.1
    offset = CARRIER * 20e-6
    x = x * np.exp(-2j * np.pi * offset / RATE * np.arange(len(x)))
    found = np.array([delay_of(x[30000 + 10000 * n:][:10000]) for n in range(20)])
    slope = np.polyfit(np.arange(20), np.unwrap(found[:, 0], period=10000), 1)[0]
    assert abs(slope + 0.2) < 0.002
    # what is left of the carrier is small: the phase stays
    assert np.ptp(np.unwrap(found[:, 1])) < 0.3


def test_profiles_above_their_link_lose_samples(tmp_path):
    truth = str(tmp_path / "truth.json")
    with Radio(profile="pluto", rate=5e6, truth=truth) as r:
        r.activate(SOAPY_SDR_RX)
        (x, ), seen = r.read(4000000)
        assert len(x) == 4000000 and all(s[0] > 0 and not s[1] for s in seen)
    lost = sum(e["count"] for e in events(truth, "lost"))
    assert abs(lost / (lost + 4e6) - 0.2) < 0.03


# ---- what goes wrong --------------------------------------------------------------------

LOST = dict(loss_at="10000:2500;30000:700")
MODES = {
    "overflow": dict(loss_mode="overflow"),
    "overflow without time": dict(loss_mode="overflow", has_time="false"),
    "silent": dict(loss_mode="silent", has_time="false"),
    "status": dict(loss_mode="status"),
    "frozen time": dict(loss_mode="frozen_time"),
    "time lie": dict(loss_mode="overflow", time_lie="backwards"),
}


@pytest.mark.parametrize("mode", MODES)
def test_loss_modes_as_a_driver_shows_them(mode, tmp_path):
    """A ramp of phase tells which sample is which: 2 pi / 65536 a sample."""
    truth = str(tmp_path / "truth.json")
    ramp = np.exp(2j * np.pi * np.arange(65536) / 65536).astype(np.complex64)
    with Radio(tx_args=dict(cyclic="true"), start="together", truth=truth, **CABLE, **LOST, **MODES[mode]) as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        assert r.write(ramp, 0) == 65536
        (x, ), seen = r.read(40000)
        reports = []
        while True:
            code, ns = r.status(r.rx)
            if code == SOAPY_SDR_TIMEOUT:
                break
            reports.append((code, ns))
    sample = np.round(np.mod(np.angle(x), 2 * np.pi) / (2 * np.pi) * 65536).astype(int)
    jumps = np.nonzero(np.diff(sample) != 1)[0] + 1
    assert jumps.tolist() == [10000, 27500]
    assert (np.diff(sample)[jumps - 1] - 1).tolist() == [2500, 700]
    assert [(e["sample"], e["count"], e["delivered"]) for e in events(truth, "lost")] == [
        (10000, 2500, 10000), (30000, 700, 27500)]

    codes = [s[0] for s in seen if s[0] < 0]
    good = [s for s in seen if s[0] > 0]
    first = np.cumsum([0] + [s[0] for s in good])[:-1]  # delivered sample of each read
    stamps = np.array([s[2] for s in good]) / 100       # samples of 10 MS/s
    shown = mode in ("overflow", "overflow without time", "time lie")
    assert codes == ([SOAPY_SDR_OVERFLOW] * 2 if shown else [])
    assert sum(bool(s[1] & SOAPY_SDR_END_ABRUPT) for s in good) == (2 if shown else 0)
    timed = mode not in ("overflow without time", "silent")
    assert all(bool(s[1] & SOAPY_SDR_HAS_TIME) == timed for s in good)
    if mode in ("overflow", "status"):
        assert stamps.tolist() == sample[first].tolist()
    if mode == "frozen time":
        assert stamps.tolist() == first.tolist()
    if mode == "time lie":
        assert np.all(np.diff(stamps) < 0)
    assert reports == ([(SOAPY_SDR_OVERFLOW, 1000000), (SOAPY_SDR_OVERFLOW, 3000000)]
                       if mode == "status" else [])


@pytest.mark.parametrize("lie,stamps", [("minus_one", {-1}), ("zero", {0})])
def test_stamps_that_lie(lie, stamps):
    with Radio(time_lie=lie) as r:
        r.activate(SOAPY_SDR_RX)
        _, seen = r.read(20000)
        assert {s[2] for s in seen} == stamps and all(s[1] & SOAPY_SDR_HAS_TIME for s in seen)


def test_losses_by_rate(tmp_path):
    truth = str(tmp_path / "truth.json")
    with Radio(loss_period_samples=50000, loss_samples=100, truth=truth) as r:
        r.activate(SOAPY_SDR_RX)
        r.read(200000)
    assert [(e["sample"], e["count"]) for e in events(truth, "lost")] == [
        (k * 50000 - 100, 100) for k in range(1, 5)]
    with pytest.raises(REFUSED, match="loss_samples is"):
        Radio(loss_period_samples=100, loss_samples=100)


def test_late_commands_are_time_errors(tmp_path):
    truth = str(tmp_path / "truth.json")
    with Radio(truth=truth, **CABLE) as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.read(5000)
        # transmit: taken, not transmitted, told by the status
        assert r.write(PULSE, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, r.ns(4000)) == 400
        assert r.status(r.tx) == (SOAPY_SDR_TIME_ERROR, r.ns(4000))
        (x, ), _ = r.read(3000)
        assert np.abs(x).max() == 0
        # the next one in time is well
        assert r.write(PULSE, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, r.ns(9000)) == 400
        (x, ), _ = r.read(3000)
        assert abs(delay_of(x)[0] - 1000) < 0.002
        assert r.status(r.tx)[0] == SOAPY_SDR_TIMEOUT
        # receive
        r.device.deactivateStream(r.rx)
        r.activate(SOAPY_SDR_RX, SOAPY_SDR_HAS_TIME, r.ns(10), 100)
        assert r.device.readStream(r.rx, [np.zeros(10, np.complex64)], 10).ret == SOAPY_SDR_TIME_ERROR
    assert [e["direction"] for e in events(truth, "late")] == ["transmit", "receive"]
    with Radio(profile="pluto") as r:
        assert r.activate(SOAPY_SDR_RX, SOAPY_SDR_HAS_TIME, 10**9) == SOAPY_SDR_NOT_SUPPORTED
        r.activate(SOAPY_SDR_TX)
        assert r.write(PULSE, SOAPY_SDR_HAS_TIME, 10**9) == SOAPY_SDR_NOT_SUPPORTED


def test_rates_that_differ_are_refused():
    with Radio() as r:
        r.device.setSampleRate(SOAPY_SDR_TX, 0, 5e6)
        assert r.activate(SOAPY_SDR_RX) == SOAPY_SDR_NOT_SUPPORTED


def test_underflows_take_pulses_away(tmp_path):
    truth = str(tmp_path / "truth.json")
    period = np.concatenate([PULSE, np.zeros(600, np.complex64)])
    with Radio(start="together", underflow_at="3000:1000;7100:100", truth=truth, underflow_after_s=0.1, **CABLE) as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.write(np.tile(period, 10), 0)
        # unfinished: what follows the last sample is silence once the writer was too slow
        (x, ), _ = r.read(12000)
        codes = [r.status(r.tx) for _ in range(4)]
    energy = (np.abs(x.reshape(-1, 1000)) ** 2).sum(1)
    np.testing.assert_allclose(energy, [400] * 3 + [0] + [400] * 3 + [300] + [400] * 2 + [0] * 2, rtol=1e-3, atol=1e-3)
    assert codes == [(SOAPY_SDR_UNDERFLOW, r.ns(3000)), (SOAPY_SDR_UNDERFLOW, r.ns(7100)),
                     (SOAPY_SDR_UNDERFLOW, r.ns(10000)), (SOAPY_SDR_TIMEOUT, 0)]
    assert [(e["sample"], e["count"]) for e in events(truth, "underflow")] == [(3000, 1000), (7100, 100), (10000, 0)]


# ---- truth and positions ----------------------------------------------------------------


def test_truth_tells_delay_phase_and_position(tmp_path):
    truth, nav = str(tmp_path / "truth.json"), str(tmp_path / "track.nav.csv")
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, 4000, 0], amplitude=0.5)],
                       trajectory=dict(start_m=[0, 0, 0], velocity_m_s=[0, 200, 0]))
    with Radio(rate=1e6, scene=scene, truth=truth, truth_interval_s=0.02, positions=nav,
               positions_rate_hz=50, tx_args=dict(cyclic="true"), start="together") as r:
        r.activate(SOAPY_SDR_TX)
        r.activate(SOAPY_SDR_RX)
        r.write(np.ones(100, np.complex64), 0)
        (x, ), _ = r.read(100000)
    rows = events(truth, "echoes")
    assert [e["sample"] for e in rows] == [0, 20000, 40000, 60000, 80000]
    for e in rows[1:]:
        range_m = 4000 - 200 * e["sample"] / 1e6
        assert e["position_m"] == pytest.approx([0, 200 * e["sample"] / 1e6, 0])
        assert e["delay_samples"][0] == pytest.approx(2 * range_m / sar.speed_of_light * 1e6, abs=1e-4)
        assert abs(np.exp(1j * e["phase_rad"][0]) - x[e["sample"]] / abs(x[e["sample"]])) < 1e-3
        assert abs(x[e["sample"]]) == pytest.approx(e["amplitude"][0], rel=1e-3)
    table = np.genfromtxt(nav, delimiter=",", names=True)
    np.testing.assert_allclose(table["time_s"], np.arange(5) / 50)
    np.testing.assert_allclose(table["y_m"], 200 * np.arange(5) / 50, atol=1e-9)
    # with errors of 3 m white and 2 m that hold for a minute
    with Radio(rate=1e3, scene=scene, positions=nav, positions_rate_hz=100, positions_sigma_m=3,
               positions_wander_m=2) as r:
        r.activate(SOAPY_SDR_RX)
        r.read(20000)
    table = np.genfromtxt(nav, delimiter=",", names=True)
    error = table["x_m"]
    assert abs(np.std(np.diff(error)) / np.sqrt(2) - 3) < 0.2
    assert 0.1 < abs(np.mean(table["z_m"])) < 6


def test_positions_as_nmea(tmp_path):
    """The same track, with the same errors, as sentences: over midnight, in metres again."""
    scene = scene_file(tmp_path, targets=[], trajectory=dict(start_m=[10, -20, 30], velocity_m_s=[3, 40, 0]))
    for name in ("a.nav.csv", "a.nmea"):
        with Radio(rate=1e4, scene=scene, positions=str(tmp_path / name), positions_rate_hz=20, positions_sigma_m=0.5,
                   positions_wander_m=1, positions_start_s=86399, positions_origin="-33.9;151.2;60", seed=7) as r:
            r.activate(SOAPY_SDR_RX)
            r.read(30000)
    csv = np.genfromtxt(tmp_path / "a.nav.csv", delimiter=",", names=True)
    log = sar.read_nmea(tmp_path / "a.nmea", (-33.9, 151.2, 60))
    np.testing.assert_allclose(log.times_s, 86399 + csv["time_s"], atol=2e-6)
    np.testing.assert_allclose(log.positions_m, np.column_stack([csv[k] for k in ("x_m", "y_m", "z_m")]), atol=2e-4)
    assert log.date == (2026, 1, 1) and "over midnight" in log.notes[0]
    assert 0.3 < np.std(np.diff(log.positions_m[:, 0] - 3 * csv["time_s"])) / np.sqrt(2) < 0.8
    rmc = [line.split(",") for line in open(tmp_path / "a.nmea") if line.startswith("$GPRMC")]
    assert float(rmc[5][7]) * 1852 / 3600 == pytest.approx(np.hypot(3, 40), rel=1e-3)
    assert float(rmc[5][8]) == pytest.approx(np.degrees(np.arctan2(3, 40)), abs=0.01)
    assert rmc[5][9] == "010126" and rmc[-1][9] == "020126"


# ---- GNU Radio --------------------------------------------------------------------------


def flowgraph(count, rate=RATE, channels=1, sink_args="", pulse=None, **settings):
    """gr-soapy's source and sink, made each by itself; (samples of each channel, tags)."""
    soapy = pytest.importorskip("gnuradio.soapy", reason="gr-soapy is not here")
    settings.setdefault("id", f"qa{next(IDS)}")
    # a thread that waits long for its turn is no underflow
    args = "underflow_after_s=20," + ",".join(f"{k}={v}" for k, v in settings.items())
    # other arguments, so that SoapySDR makes a second device
    source = soapy.source("driver=sarsim", "fc32", channels, args, "", [""], [""])
    sink = soapy.sink("driver=sarsim", "fc32", 1, f"id={settings['id']}", sink_args, [""], [""])
    for b in (source, sink):
        b.set_sample_rate(0, rate)
        b.set_frequency(0, CARRIER)
    tb = gr.top_block()
    if pulse is None:
        pulse = np.concatenate([PULSE, np.zeros(3600, np.complex64)])
    tb.connect(blocks.vector_source_c(pulse, True), sink)
    out = []
    for c in range(channels):
        head, data = blocks.head(gr.sizeof_gr_complex, count), blocks.vector_sink_c()
        tb.connect((source, c), head, data)
        out.append((head, data))
    tb.start()
    deadline = time.monotonic() + 60
    while any(d.nitems_read(0) < count for _, d in out) and time.monotonic() < deadline:
        time.sleep(0.005)
    tb.stop()
    tb.wait()
    return [np.array(d.data(), np.complex64) for _, d in out], out[0][1].tags()


def test_gr_soapy_source_and_sink_share_the_radio(tmp_path):
    truth = str(tmp_path / "truth.json")
    scene = scene_file(tmp_path, targets=[dict(position_m=[0, 1500, 0], amplitude=0.5)])
    kw = dict(start="together", scene=scene, profile="b210", start_offset_samples=1000)
    (x, reference), tags = flowgraph(100000, channels=2, truth=truth, seed=4, **kw)
    assert len(x) == 100000
    assert [str(t.key) for t in tags if t.offset == 0] == ["rx_time", "rx_rate", "rx_freq"]
    e = events(truth, "transmit")[0]
    begin = e["sample"] + e["delay_samples"]
    assert abs(delay_of(reference[:4000])[0] - begin) < 0.05
    echo = x[:4000] - np.mean(x[:1000])
    assert abs(delay_of(echo)[0] - begin - 3000 / sar.speed_of_light * RATE) < 0.05
    again, _ = flowgraph(100000, channels=2, seed=4, **kw)
    np.testing.assert_array_equal(again, [x, reference])
    other, _ = flowgraph(100000, channels=2, seed=5, **kw)
    assert not np.array_equal(other[0], x)


@pytest.mark.parametrize("mode", MODES)
def test_loss_modes_as_gr_soapy_shows_them(mode):
    _, tags = flowgraph(40000, start="together", **LOST, **MODES[mode])
    # the first tag of each key at the start, further ones after an overflow that is told
    shown = mode in ("overflow", "overflow without time", "time lie")
    timed = mode not in ("overflow without time", "silent")
    assert [t.offset for t in tags if str(t.key) == "rx_rate"] == ([0, 10000, 27500] if shown else [0])
    times = [t for t in tags if str(t.key) == "rx_time"]
    assert [t.offset for t in times] == ([0, 10000, 27500] if shown else [0]) * timed
    seconds = [pmt.to_uint64(pmt.tuple_ref(t.value, 0)) + pmt.to_double(pmt.tuple_ref(t.value, 1)) for t in times]
    if mode == "overflow":
        np.testing.assert_allclose(seconds, [0, 12500e-7, 30700e-7], atol=1e-9)


def test_gr_soapy_cyclic_sink():
    period = np.concatenate([PULSE, np.zeros(600, np.complex64)])
    (x, ), _ = flowgraph(50000, start="together", sink_args="cyclic=true,cyclic_samples=1000", pulse=period,
                         **CABLE)
    y = x[2000:].reshape(-1, 1000)
    assert np.abs(y - y[0]).max() < 1e-6 and np.abs(y).max() > 0.9


def test_gr_osmosdr():
    osmosdr = pytest.importorskip("osmosdr", reason="gr-osmosdr is not here")
    source = osmosdr.source("soapy=0,driver=sarsim,profile=lime,noise_db=-20,id=osmo")
    source.set_sample_rate(2e6)
    source.set_center_freq(1e9)
    tb, data = gr.top_block(), blocks.vector_sink_c()
    tb.connect(source, blocks.head(gr.sizeof_gr_complex, 20000), data)
    tb.run()
    assert np.var(data.data()) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("step_hz", [0, 1.19])
def test_echoes_focus_where_the_target_is(step_hz, tmp_path):
    """A strip of 2 s from gr-soapy, cut into lines by the truth, back-projected by the book. An LO step is a Doppler shift, and so a displacement."""
    truth = str(tmp_path / "truth.json")
    targets = {(2.0, 900.0): 0.05, (-6.0, 1000.0): 0.03}
    velocity, pri = 20.0, 50000  # a PRF of 200 Hz at 10 MS/s: 0.1 m from pulse to pulse
    scene = scene_file(tmp_path, trajectory=dict(start_m=[-20, 0, 0], velocity_m_s=[velocity, 0, 0]),
                       targets=[dict(position_m=[x, y, 0], amplitude=a) for (x, y), a in targets.items()])
    pulse = np.concatenate([PULSE, np.zeros(pri - 400, np.complex64)])
    count = 400
    (x, ), _ = flowgraph((count + 1) * pri, start="together", scene=scene, profile="b210", truth=truth,
                         leakage_db="off", pulse=pulse, seed=2, lo_step_hz=step_hz)
    e = events(truth, "transmit")[0]
    begin = e["sample"] + e["delay_samples"]
    first = int(begin)
    lines = np.array([x[first + n * pri:][:1200] for n in range(count)])
    lines -= lines.mean()  # direct current
    spectrum = (np.fft.fft(lines, 2048) * np.conj(np.fft.fft(PULSE, 2048)))
    fine = np.zeros((count, 16 * 2048), complex)
    fine[:, :1024], fine[:, -1024:] = spectrum[:, :1024], spectrum[:, -1024:]
    fine = 16 * np.fft.ifft(fine) / 400
    along = -20 + velocity * (first + np.arange(count) * pri) / RATE
    for (tx, ty), amplitude in targets.items():
        # the receiver was tuned from 2.4 GHz: one step
        tx -= step_hz * sar.speed_of_light / CARRIER * ty / (2 * velocity)
        px, py = np.meshgrid(tx + np.arange(-15, 16) * 0.1, ty + np.arange(-10, 11) * 2.0, indexing="ij")
        image = np.zeros(px.shape, complex)
        for n in range(count):
            r = np.hypot(px - along[n], py)
            at = 2 * r / sar.speed_of_light * RATE + begin - first
            image += fine[n, np.round(16 * at).astype(int)] * np.exp(4j * np.pi * CARRIER * r / sar.speed_of_light)
        image = abs(image) / count
        i, j = np.unravel_index(np.argmax(image), image.shape)
        assert abs(px[i, j] - tx) <= 0.1 and abs(py[i, j] - ty) <= 2
        assert image.max() == pytest.approx(amplitude, rel=0.05)


# ---- docs/sarsim.md ---------------------------------------------------------------------


def manual():
    source = os.environ.get("SAR_SOURCE_DIR")
    if not source:
        pytest.skip("the source tree is not known (set SAR_SOURCE_DIR)")
    with open(os.path.join(source, "docs", "sarsim.md"), encoding="utf-8") as f:
        return f.read()


def test_the_manual_has_every_setting_and_profile():
    text = manual()
    rows = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if cells and re.fullmatch(r"`\w+`", cells[0]):
            rows.setdefault(cells[0].strip("`"), []).append(cells[1:])
    head = next(line for line in text.splitlines() if line.startswith("| setting | ideal"))
    names = [c.strip() for c in head.split("|")[2:-1]]
    assert sorted(names) == sorted(PROFILES)
    devices = [SoapySDR.Device(dict(driver="sarsim", profile=p, id=f"qa{next(IDS)}")) for p in names]
    for s in devices[0].getSettingInfo():
        values = [d.readSetting(s.key) for d in devices]
        if len(set(values)) > 1:
            assert values in rows[s.key], s.key
        assert any(s.description in r[-1] for r in rows[s.key]), s.key


def test_the_examples_of_the_manual_run(tmp_path):
    parts = re.findall(r"```python\n(.*?)```", manual(), re.S)
    assert len(parts) == 2
    said = [subprocess.run([sys.executable, "-c", p], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            for p in parts]
    assert "2000 samples at 1000000 ns" in said[0].stdout, said[0].stderr
    assert "46 samples late" in said[0].stdout
    assert "100000 samples, the first tags: ['rx_time', 'rx_rate', 'rx_freq']" in said[1].stdout, said[1].stderr
    scene = re.search(r"```json\n(.*?)```", manual(), re.S).group(1)
    (tmp_path / "scene.json").write_text(scene)
    SoapySDR.Device(dict(driver="sarsim", id="manual", scene=str(tmp_path / "scene.json")))
