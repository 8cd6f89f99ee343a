# SPDX-License-Identifier: GPL-3.0-or-later
"""gr_sar calibrate: recordings, and live with a radio that is made up or simulated."""

import json
import sys
import types

import gnuradio
import numpy as np
import pytest
from gnuradio import blocks, gr, sar
from gnuradio.sar import cli
from gnuradio.sar import calibration as cal

FS, PRI = 2e6, 2000
FIELDS = dict(sample_rate_hz=FS, prf_hz=FS / PRI, pulse_length_s=1e-4, chirp_rate_hz_per_s=1.6e10)
SET = [w for k, v in FIELDS.items() for w in ("--set", f"{k}={v!r}")]
ACQ = sar.acquisition(waveform="pulsed_lfm", samples=1, carrier_hz=1e9, slant_range_first_m=0,
                      **FIELDS)
PULSE = np.array(sar.transmitted_pulse(ACQ))
LIVE = ["--rate", "2e6", "--prf", "1000", "--frequency", "2.4e9", "--pulses", "16",
        "--response", "0"]
SAFE = ["--tx-power", "0", "--rx-limit", "-15", "--attenuator", "30"]


def stream(delay, pulses=40, amplitude=0.3, noise=0.003, seed=0):
    x = np.zeros(PRI * (pulses + 2), complex)
    for k in range(pulses):
        at = k * PRI + delay
        x[at : at + len(PULSE)] += amplitude * np.exp(0.5j) * PULSE
    rng = np.random.default_rng(seed)
    x += noise * (rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape))
    return x.astype(np.complex64)


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "loop.cf32"
    stream(137).tofile(path)
    return path


def run(*args):
    return cli.main(["calibrate", *map(str, args), "--debug"])


# ---- recordings ----


def test_table_file_and_picture(recording, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(recording, *SET, "--pulses", 32, "-o", out, "--cable-length", 2, "--key",
               "driver=uhd", "--key", "rx_gain_db=30") == 0
    said = capsys.readouterr().out
    assert "136.980 samples" in said and "modulo 1000 us" in said and said.endswith("PASS\n")
    assert "FAIL" not in said and "10.108 ns" in said  # 2 m at 0.66
    c = cal.read(out / "calibration.json")
    assert c["delay_s"] * FS == pytest.approx(137 - 2 / 0.66 / cal.C * FS, abs=0.002)
    assert c["key"]["driver"] == "uhd" and c["key"]["rx_gain_db"] == 30
    assert c["provenance"]["command"].startswith("gr_sar calibrate ")
    assert len(c["response"]["taps"]) == 65
    pillow = pytest.importorskip("PIL.Image")
    image = np.asarray(pillow.open(out / "calibration.png").convert("L"))
    assert image.shape[0] > 500 and image.std() > 10


@pytest.mark.parametrize("kind,scale", [("ci16_le", 32767), ("ci8", 127)])
def test_integers_and_sigmf(recording, tmp_path, kind, scale, capsys):
    x = stream(137)
    width = {"ci16_le": "<i2", "ci8": "i1"}[kind]
    np.rint(scale * np.stack([x.real, x.imag], 1)).astype(width).tofile(tmp_path / "a.sigmf-data")
    (tmp_path / "a.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": kind, "core:version": "1.0.0", "core:sample_rate": FS,
                   "sar:prf_hz": FS / PRI, "sar:pulse_width_s": 1e-4,
                   "sar:chirp_rate_hz_per_s": 1.6e10},
        "captures": [{"core:sample_start": 0, "core:frequency": 2.4e9}], "annotations": []}))
    assert run(tmp_path / "a.sigmf-meta", "--pulses", 16, "-o", tmp_path) == 0
    c = cal.read(tmp_path / "calibration.json")
    assert c["delay_s"] * FS == pytest.approx(137, abs=0.005)
    assert c["amplitude_db"] == pytest.approx(20 * np.log10(0.3), abs=0.1)
    assert c["clipped"] == 0


def test_several_starts_are_compared(recording, tmp_path, capsys):
    other = tmp_path / "other.cf32"
    stream(900, seed=2).tofile(other)
    assert run(recording, other, *SET, "--pulses", 16, "-o", tmp_path) == 0
    said = capsys.readouterr().out
    assert "2 starts: delays of 137.000 to 900.000 samples: drawn anew" in said
    assert (tmp_path / "calibration_loop.json").exists()
    assert (tmp_path / "calibration_other.json").exists()
    stream(137, seed=2).tofile(other)
    assert run(recording, other, *SET, "--pulses", 16) == 0
    assert "the same each time" in capsys.readouterr().out


def test_expectation(recording, tmp_path, capsys):
    key = ["--key", "driver=uhd"]
    assert run(recording, *SET, "--pulses", 16, "-o", tmp_path / "stored", *key) == 0
    other = tmp_path / "other.cf32"
    stream(139).tofile(other)
    stored = tmp_path / "stored" / "calibration.json"
    assert run(recording, *SET, "--pulses", 16, "--expect", stored) == 0
    capsys.readouterr()
    assert run(other, *SET, "--pulses", 16, "--expect", stored) == 1
    said = capsys.readouterr()
    assert "+2.000 samples (limit 1)" in said.out and said.out.endswith("FAIL\n")
    assert "warning: the delay is 139.00 samples, 137.00 were expected" in said.err
    # a folder is looked through by key
    assert run(recording, *SET, "--pulses", 16, "--expect", tmp_path / "stored", *key) == 0
    assert run(recording, *SET, "--pulses", 16, "--expect", tmp_path / "stored", "--key",
               "driver=lime") == 1
    assert "driver 'uhd' in place of 'lime'" in capsys.readouterr().err


def test_first_pulse_and_reference(recording, tmp_path, capsys):
    late = np.concatenate([np.zeros(5000, np.complex64), stream(137)])
    late.tofile(tmp_path / "late.cf32")
    assert run(tmp_path / "late.cf32", *SET, "--pulses", 16, "--first-pulse", 0.001, "-o",
               tmp_path) == 0
    c = cal.read(tmp_path / "calibration.json")
    assert c["delay_s"] * FS == pytest.approx(5137 - 2000, abs=0.01) and c["ambiguity_s"] is None
    stream(100, amplitude=0.6, seed=8).tofile(tmp_path / "reference.cf32")
    assert run(recording, *SET, "--pulses", 16, "--reference", tmp_path / "reference.cf32", "-o",
               tmp_path) == 0
    assert cal.read(tmp_path / "calibration.json")["delay_s"] * FS == pytest.approx(37, abs=0.01)


def test_what_is_bad_fails(tmp_path, capsys):
    quiet = tmp_path / "quiet.cf32"
    stream(137, 1100, noise=0.9).tofile(quiet)
    assert run(quiet, *SET, "-o", tmp_path) == 1
    assert "pulse            none: no pulse was found" in capsys.readouterr().out
    assert not (tmp_path / "calibration.json").exists()
    loud = np.clip(4 * stream(137).view(np.float32), -1, 1)
    loud.tofile(tmp_path / "loud.cf32")
    assert run(tmp_path / "loud.cf32", *SET, "--pulses", 16) == 1
    said = capsys.readouterr()
    assert "FAIL" in [w for w in said.out.splitlines() if "at full scale" in w][0]
    assert "put in an attenuator" in said.err


@pytest.mark.parametrize("args,words", [
    ([], "there is nothing to measure"),
    (["nothing.cf32", *SET], "nothing.cf32 does not exist"),
    (["a.bin", *SET], "a.bin"),
    (["a.cf32", *SET, "--datatype", "rf32_le"], "expected one of complex samples"),
    (["a.cf32"], "does not say"),
    (["a.cf32", "b.cf32", "--reference", "c.cf32"], "--reference belongs to one recording"),
    (["a.cf32", "--args", "driver=none"], "a.cf32 was given together with --args"),
    (["--args", "driver=none"], "--frequency is not given"),
    (["--args", "driver=none", *LIVE], "--tx-power and --rx-limit are not both given"),
    (["--args", "driver=none", *LIVE, "--tx-power", "10", "--rx-limit", "-15"],
     "nothing is sent: transmitter 10 dBm (0.01 W), receiver stands -15 dBm: 35 dB"),
    (["--args", "driver=none", *LIVE, "--tx-power", "10", "--rx-limit", "-15", "--attenuator",
      "30"], "expected --attenuator 35 or more"),
    (["--args", "driver=none", *LIVE, *SAFE, "--prf", "999"], "expected a whole number of them"),
    (["--args", "driver=none", *LIVE, *SAFE, "--level", "2"], "--level is 2"),
    (["--args", "driver=none", *LIVE, *SAFE, "--first-pulse", "0"], "--first-pulse is for"),
])
def test_wrong_use_is_named(args, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.bin", "a.cf32", "b.cf32", "c.cf32"):
        np.ones(100, np.complex64).tofile(name)
    assert cli.main(["calibrate", *args]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", ["colour=red", "driver", "rx_gain_db=high"])
def test_wrong_keys_are_usage(text, capsys):
    with pytest.raises(SystemExit) as e:
        run("a.cf32", "--key", text)
    assert e.value.code == 2 and f"'{text}'" in capsys.readouterr().err


# ---- live ----


class made_up_radio:
    """What gr-soapy's source and sink answer, around samples that are there already."""

    def __init__(self, received, rate_factor=1.0):
        self.calls, self.sent = [], None
        radio = self

        class end(gr.hier_block2):
            def __init__(self, name, inputs):
                self.name_, self.values = name, {}
                gr.hier_block2.__init__(self, name, gr.io_signature(inputs, inputs, 8),
                                        gr.io_signature(1 - inputs, 1 - inputs, 8))

            def __getattr__(self, name):
                kind, _, what = name.partition("_")
                if kind == "set":
                    def put(channel, value):
                        radio.calls.append((self.name_, what, value))
                        self.values[what] = value
                    return put
                if kind == "get" and what in ("sample_rate", "frequency", "gain", "antenna"):
                    factor = rate_factor if what == "sample_rate" else 1
                    return lambda channel: self.values.get(what, 0) and self.values[what] * factor
                return super().__getattr__(name)  # as every block in Python

        def source(device, *_):
            radio.calls.append(("source", "make", device))
            e = end("source", 0)
            e.connect(blocks.vector_source_c(received, True), blocks.throttle(8, 20e6), e)
            return e

        def sink(device, *_):
            radio.calls.append(("sink", "make", device))
            e = end("sink", 1)
            radio.sent = blocks.vector_sink_c(1, 0)
            e.connect(e, blocks.head(8, 3 * PRI), radio.sent)
            return e

        self.module = types.ModuleType("gnuradio.soapy")
        self.module.source, self.module.sink = source, sink


@pytest.fixture
def radio(monkeypatch):
    def use(received, **more):
        r = made_up_radio(received, **more)
        monkeypatch.setitem(sys.modules, "gnuradio.soapy", r.module)
        monkeypatch.setattr(gnuradio, "soapy", r.module, raising=False)
        return r

    return use


def test_what_is_asked_of_the_radio(radio, tmp_path, capsys):
    r = radio(stream(137)[: 40 * PRI])
    assert run("--args", "driver=mine,serial=7", "--tx-args", "driver=other", *LIVE, *SAFE,
               "--rx-gain", 20, "--tx-gain", 3, "--rx-antenna", "LNAH", "--level", 0.25, "-o",
               tmp_path, "--key", "firmware=1.20") == 0
    assert ("source", "make", "driver=mine,serial=7") in r.calls
    assert ("sink", "make", "driver=other") in r.calls
    for name in ("source", "sink"):
        assert (name, "sample_rate", 2e6) in r.calls and (name, "frequency", 2.4e9) in r.calls
    assert ("source", "gain", 20) in r.calls and ("sink", "gain", 3) in r.calls
    assert ("source", "antenna", "LNAH") in r.calls
    # the pulse, over and over
    sent = np.array(r.sent.data())
    np.testing.assert_allclose(sent[: len(PULSE)], 0.25 * PULSE, atol=1e-6)
    assert not sent[len(PULSE) : PRI].any()
    np.testing.assert_array_equal(sent[:PRI], sent[PRI : 2 * PRI])
    said = capsys.readouterr().out
    assert said.index("25 dB of attenuation are needed") < said.index("driver=mine")
    c = cal.read(tmp_path / "calibration.json")
    assert c["delay_s"] * FS == pytest.approx(137, abs=0.01)
    assert c["key"] == {**dict.fromkeys(cal.KEY_FIELDS), "driver": "mine", "serial": "7",
                        "tx_rate_hz": 2e6, "rx_rate_hz": 2e6, "rx_antenna": "LNAH",
                        "tx_gain_db": 3, "rx_gain_db": 20, "centre_frequency_hz": 2.4e9,
                        "firmware": "1.20"}


def test_nothing_is_sent_unless_it_is_safe(radio, capsys):
    r = radio(stream(137))
    assert cli.main(["calibrate", "--args", "driver=mine", *LIVE, "--tx-power", "10",
                     "--rx-limit", "-15", "--attenuator", "20"]) == 1
    assert not r.calls


def test_radios_that_cannot_do_it(radio, capsys):
    radio(stream(137), rate_factor=1.1)
    assert cli.main(["calibrate", "--args", "driver=mine", *LIVE, *SAFE]) == 1
    assert "the receiver runs at 2200000 samples a second" in capsys.readouterr().err
    r = radio(stream(137))

    def gone(*_):
        raise RuntimeError("no match")

    r.module.sink = gone
    assert cli.main(["calibrate", "--args", "driver=mine", *LIVE, *SAFE]) == 1
    said = capsys.readouterr().err
    assert "the transmitter 'driver=mine' cannot be used: no match; SoapySDRUtil" in said


@pytest.fixture
def sarsim(tmp_path):
    soapy = pytest.importorskip("gnuradio.soapy")
    try:
        soapy.source("driver=sarsim,id=probe", "fc32", 1, "", "", [""], [""])
    except Exception as e:
        pytest.skip(f"the simulated radar is not here ({e}); SOAPY_SDR_PLUGIN_PATH")
    return tmp_path


@pytest.mark.parametrize("profile", ["b210", "pluto"])
def test_starts_of_the_simulated_radar(sarsim, profile, capsys):
    """Ten starts of a radio that draws its offset: against what it says it did."""
    for seed in range(10):
        truth = sarsim / f"{profile}{seed}.json"
        args = (f"driver=sarsim,id={profile}{seed},profile={profile},seed={seed},echo_db=off,"
                f"leakage_delay_s=0,leakage_db=-20,truth={truth}")
        # a late transmitter leaves a gap in the first pulses of a busy machine: those are FAIL
        run("--args", args, *LIVE, *SAFE, "-o", sarsim, "--quiet")
        c = cal.read(sarsim / "calibration.json")
        events = [json.loads(line) for line in truth.read_text().splitlines()]
        (sent,) = [e for e in events if e["event"] == "transmit"]
        expected = (sent["sample"] + sent["delay_samples"]) % PRI
        off = np.remainder(c["delay_s"] * FS - expected + PRI / 2, PRI) - PRI / 2
        assert abs(off) < 0.05, (seed, off)
        assert abs(off) < 5 * c["delay_std_s"] * FS + 2e-3
