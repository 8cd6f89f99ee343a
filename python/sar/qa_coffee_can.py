# SPDX-License-Identifier: GPL-3.0-or-later
"""A radar on a sound card: examples/16_coffee_can.grc with a recording of others, and with one that is
made here, whose truth is known. WAV, sync edges, lines, range against time, Doppler signs."""

import os
import shutil

import numpy as np
import pytest
from conftest import _set
from gnuradio import sar
from qa_examples import compile_and_run, read, SOURCE

C = sar.speed_of_light
RATE, RAMP, PERIOD, BAND, BEGIN = 44100, 20.6e-3, 41.3e-3, 100e6, 2.4e9
SLOPE = BAND / RAMP
EXAMPLE = "16_coffee_can.grc"

pytestmark = pytest.mark.skipif(not shutil.which("grcc"), reason="grcc is not here")


def acquisition():
    return sar.acquisition(waveform="fmcw", samples=860, carrier_hz=BEGIN, prf_hz=1 / PERIOD,
                           sample_rate_hz=RATE, chirp_rate_hz_per_s=SLOPE, gate_start_s=20 / RATE)


def pictures(tmp_path, data, changes=()):
    """(moving, still, Doppler) of the example: rows of time, columns of range or frequency."""
    out = compile_and_run(EXAMPLE, tmp_path, "-b", "cpu", "-d", str(data), changes=changes)
    return [np.load(out / f"coffee_can{name}.npy") for name in ("", "_still", "_doppler")]


def axis(picture):
    a = acquisition().range_gate(0, 40).compressed_axis(4)
    assert picture.shape[1] == a.samples
    return a.first_m + a.spacing_m * np.arange(a.samples)


def place(r, power, near, far):
    """Range of the largest power within a part of the axis, between its samples."""
    inside = np.flatnonzero((r > near) & (r < far))
    k = inside[power[inside].argmax()]
    a, b, c = np.log(power[k - 1 : k + 2])
    return r[k] + (r[1] - r[0]) * 0.5 * (a - c) / (a - 2 * b + c)


def range_at(moving, seconds, near=2.0, far=16.0, half_s=0.4):
    """Range of what moves most around a time."""
    r, t = axis(moving), (np.arange(len(moving)) - 1) * PERIOD
    power = (moving[np.abs(t - seconds) < half_s] ** 2).sum(axis=0)
    return place(r, power, near, far)


def doppler(picture, first_s, last_s):
    """(Hz of the strongest line that moves, its power over that of the mirror image in dB)"""
    rows = picture[int(np.ceil(first_s / 0.64)) : int(last_s / 0.64)] ** 2
    power = rows.mean(axis=0)
    f = (np.arange(96) - 48) * 150 / 96
    k = int(np.where((np.abs(f) > 8) & (np.abs(f) < 70), power, 0).argmax())
    return f[k], 10 * np.log10(power[k] / power[96 - k])


# ---- made here ---------------------------------------------------------------------------


def walker(t):
    """To and fro, then away at 0.95 m/s."""
    return np.where(t < 4, 4 + np.sin(2 * np.pi * t / 4), 4 + 0.95 * (t - 4))


def seen_at(t, chirp_rate_hz_per_s=SLOPE):
    """Where a sweep whose middle is at t sees him: the Doppler frequency of his speed moves him."""
    acq = acquisition().replace(chirp_rate_hz_per_s=chirp_rate_hz_per_s,
                                carrier_hz=BEGIN if chirp_rate_hz_per_s > 0 else BEGIN + BAND)
    speed = (walker(t + 1e-3) - walker(t - 1e-3)) / 2e-3
    return walker(t) + acq.doppler_shift_m(-2 * speed * acq.centre_frequency_hz() / C)


STILL_M, CLUTTER = 24.6, 0.3


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Three files as the recording of others has them. The ramp begins anywhere between two samples,
    its period is no whole number of them; the sound card inverts and is coupled by AC."""
    from scipy.io import wavfile
    from scipy.signal import lfilter, resample_poly

    folder = tmp_path_factory.mktemp("coffee_can")
    random = np.random.default_rng(3)
    fine = 8  # what a sound card samples has no more than its band: edges lie between two samples
    t = np.arange(12 * RATE * fine) / (RATE * fine)
    into = (t + 0.0171) % PERIOD
    sweeps = into < RAMP
    beat = np.zeros(len(t))
    for r, a in ((walker(t), 0.1), (STILL_M, CLUTTER)):
        tau = 2 * r / C
        f = np.where(sweeps, BEGIN + SLOPE * into, BEGIN + BAND - SLOPE * (into - RAMP))
        beat += a * np.cos(2 * np.pi * ((f * tau) % 1))
    beat, sync = (resample_poly(v, 1, fine) for v in (beat, np.where(sweeps, 0.9, -0.9)))
    t = t[::fine]
    coupled = lfilter([1, -1], [1, -(1 - 2 * np.pi * 5 / RATE)], sync)  # 5 Hz
    both = np.column_stack([-beat, coupled / np.abs(coupled).max()])
    both += random.normal(scale=0.01, size=both.shape)
    name = folder / "fmcw_promenade_first20s.wav"
    wavfile.write(name, RATE, np.clip(32767 * both, -32768, 32767).astype(np.int16))
    # CW at 5.8 GHz: nearer at +20 Hz, then away at -20 Hz, on a large constant
    hz = np.where(t < 6, 20.0, -20.0)
    iq = 0.05 * np.exp(2j * np.pi * np.cumsum(hz) / RATE) + 0.5
    iq += random.normal(scale=0.001, size=len(t)) + 1j * random.normal(scale=0.001, size=len(t))
    for part, v in (("real", iq.real), ("imag", iq.imag)):
        wavfile.write(folder / f"sdr_cw_single_{part}.wav", RATE, (32767 * v).astype(np.int16))
    return folder


def test_simulated(tmp_path, simulated):
    moving, still, cw = pictures(tmp_path, simulated)
    # every ramp but those that are cut: 12 s / 41.3 ms is 290. At the end of a stream the adder of
    # GNU Radio drops what is no multiple of its alignment
    assert len(still) in (289, 290) and 0 <= len(still) - len(moving) < 8
    acq = acquisition()
    begin = PERIOD - 0.0171  # of the first ramp
    for seconds in (1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0):
        at = range_at(moving, seconds, half_s=0.15)
        expected = seen_at(seconds + begin + 20 / RATE + 430 / RATE)
        # to and fro his speed changes within the lines that are summed
        assert at == pytest.approx(expected, abs=0.25 if seconds < 4 else 0.03), seconds
    r = axis(still)
    mean = (still ** 2).mean(axis=0)
    far = (r > 20) & (r < 30)
    assert place(r, mean, 20, 30) == pytest.approx(STILL_M, abs=0.05)
    # a real beat is half a complex one
    assert np.sqrt(mean[far].max()) == pytest.approx(CLUTTER / 2, rel=0.02)
    # and the canceller leaves nothing of it: every line begins at the same place of the ramp
    assert np.sqrt((moving[2:] ** 2).mean(axis=0)[far].max()) < 0.02 * CLUTTER
    assert doppler(cw, 1, 5.7)[0] == pytest.approx(20, abs=1.6)
    assert doppler(cw, 7, 11.7)[0] == pytest.approx(-20, abs=1.6)
    assert min(doppler(cw, 1, 5.7)[1], doppler(cw, 7, 11.7)[1]) > 25


def test_lines_of_the_nominal_ramp_drift_away(tmp_path, simulated):
    """Cut by a schedule of 40 ms, not at the edges: the still object is all over the place."""
    changes = [("framer", "alignment", '"scheduled"'), ("framer", "trigger_input", "False"),
               ("framer", "pri_samples", "2 * 20e-3 * rate")]
    d = read(SOURCE / "examples" / EXAMPLE)
    assert ["ramps", "1", "framer", "1"] in d["connections"]
    import yaml

    d["connections"].remove(["ramps", "1", "framer", "1"])
    d["blocks"].append(dict(name="unused", id="blocks_null_sink", states=dict(
        coordinate=[256, 560], rotation=0, state="enabled"), parameters=dict(
            type="float", vlen="1", num_inputs="1")))
    d["connections"].append(["ramps", "1", "unused", "0"])
    for block, parameter, value in changes:  # the example leaves some at their defaults
        (b,) = [b for b in d["blocks"] if b["name"] == block]
        b["parameters"][parameter] = value
    path = tmp_path / EXAMPLE
    path.write_text(yaml.safe_dump(d))
    out = compile_and_run(str(path), tmp_path, "-b", "cpu", "-d", str(simulated))
    still = np.load(out / "coffee_can_still.npy")
    far = np.abs(axis(still) - STILL_M) < 0.5
    assert still[:, far].max(axis=1).min() < 0.5 * CLUTTER / 2


def test_edges_of_the_other_sense_show_the_ramp_back(tmp_path, simulated):
    """Falling edges begin the ramp down: the same ranges by a chirp rate of the other sign."""
    changes = [("framer", "edge", '"falling"'), ("acq", "carrier_hz", "2.5e9"),
               ("acq", "chirp_rate_hz_per_s", "-100e6 / ramp")]
    moving, still, _ = pictures(tmp_path, simulated, changes)
    r, mean = axis(still), (still ** 2).mean(axis=0)
    assert place(r, mean, 20, 30) == pytest.approx(STILL_M, abs=0.05)
    # he walks away and is seen nearer
    for seconds in (6.0, 8.0, 10.0):
        expected = seen_at(seconds + 2 * PERIOD - 0.0171 - RAMP, -SLOPE)
        assert range_at(moving, seconds, half_s=0.15) == pytest.approx(expected, abs=0.08)


# ---- of others ---------------------------------------------------------------------------

DOPPLER = ((6, 10, 21.5), (11, 14, -21.5), (17.5, 20, 21.5), (22, 25, -54), (27, 33, 21.5))


@pytest.fixture
def coffee_can():
    return _set("kth_sdr_coffee_can")


def test_recording(tmp_path, coffee_can):
    """Ranges against time and Doppler signs as the recording's README has them."""
    moving, still, cw = pictures(tmp_path, coffee_can)
    assert 482 <= len(still) <= 485 and 0 <= len(still) - len(moving) < 8
    # 3 to 5 m to and fro, then away
    early = [range_at(moving, k) for k in np.arange(1, 8, 0.5)]
    assert 2 < min(early) < 4 < max(early) < 6  # 3 to 5 m, in cells of 1.5 m
    assert range_at(moving, 9.0) == pytest.approx(3.6, abs=1.5)
    assert range_at(moving, 18.9) == pytest.approx(12.7, abs=1.5)
    walk = np.polyfit(np.arange(10, 19), [range_at(moving, k) for k in range(10, 19)], 1)[0]
    assert walk == pytest.approx(0.95, abs=0.15)
    r, mean = axis(still), (still ** 2).mean(axis=0)
    assert place(r, mean, 20, 30) == pytest.approx(24.6, abs=0.5)
    # the walker before a CW radar, to and fro
    for first, last, expected in DOPPLER:
        hz, over_mirror = doppler(cw, first, last)
        assert hz == pytest.approx(expected, abs=5), (first, hz)
        assert over_mirror > 12, (first, over_mirror)


def test_swapped_parts_mirror_the_doppler_signs(tmp_path, coffee_can):
    folder = tmp_path / "swapped"
    folder.mkdir()
    for name, of in (("sdr_cw_single_real.wav", "sdr_cw_single_imag.wav"),
                     ("sdr_cw_single_imag.wav", "sdr_cw_single_real.wav"),
                     ("fmcw_promenade_first20s.wav", "fmcw_promenade_first20s.wav")):
        os.symlink(os.path.join(coffee_can, of), folder / name)
    cw = pictures(tmp_path, folder)[2]
    for first, last, expected in DOPPLER:
        assert doppler(cw, first, last)[0] == pytest.approx(-expected, abs=5)
