# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of TI mmWave radars by the DCA1000EVM card: ``adc_data.bin``, 16-bit little-endian.

The order of the samples is that of the LVDS lanes (Texas Instruments, Mmwave Radar Device
ADC Raw Data Capture, SWRA581B, with the MATLAB readers in it):

4 lanes (xWR12xx, xWR14xx, xWR22xx), always four, of which unused ones hold zeros: for each
    sample I of receivers 0, 1, 2, 3, then Q of receivers 0, 1, 2, 3. Real: receivers 0 to 3.
2 lanes (xWR16xx, xWR18xx, xWR64xx, xWR68xx): for each chirp all samples of the first
    receiver, then all of the next; two samples at a time, as I, I, Q, Q. Real: as they come.

Transmitters that take turns (TDM) follow each other chirp by chirp. Parameters come from
the caller, from a JSON file of the same names beside the data (``adc_data.json``), or from
the one ``*.mmwave.json`` that mmWave Studio wrote into the same folder; there also the
radio's: first frequency, slope, sample rate, chirps a second.
"""

import glob
import json
import os
import re

from .recordings import RecordingError
from .samples import data_type, sample_stream

FOUR_LANES = ("12", "14", "22")
TWO_LANES = ("16", "18", "64", "68")
PARAMETERS = {
    "device": "such as xwr1843 or iwr6843; decides the number of lanes",
    "lanes": "2 or 4, in place of device",
    "num_adc_samples": "samples of a chirp",
    "num_rx": "receivers switched on (4 if not given)",
    "num_tx": "transmitters that take turns (1 if not given)",
    "tx": "whose chirps are lines, from 0 (0 if not given)",
    "num_chirps": "chirps of a frame, of each transmitter",
    "frame_period_s": "from the start of a frame to that of the next, s",
    "real": "true: real samples",
}


def is_capture(path):
    return re.match(r"adc_data.*\.bin$", os.path.basename(path)) is not None


def _load(path):
    try:
        with open(path, encoding="utf-8") as f:
            d = json.load(f)
    except ValueError as e:
        raise RecordingError(f"{path} is not JSON: {e}") from None
    if not isinstance(d, dict):
        raise RecordingError(f"{path} is not a JSON object; expected {', '.join(PARAMETERS)}")
    return d


def _bits(mask):
    return bin(int(str(mask), 0)).count("1")


def _of_studio(path):
    """(parameters, acquisition fields, swapped) of a configuration of mmWave Studio."""
    try:
        device = _load(path)["mmWaveDevices"][0]
        rf, raw = device["rfConfig"], device.get("rawDataCaptureConfig", {})
        profile = rf["rlProfiles"][0]["rlProfileCfg_t"]
        frame = rf["rlFrameCfg_t"]
        turns = int(frame["chirpEndIdx"]) - int(frame["chirpStartIdx"]) + 1
        lanes = raw.get("rlDevLaneEnable_t", {}).get("laneEn")
        given = {"num_adc_samples": int(profile["numAdcSamples"]),
                 "num_rx": _bits(rf["rlChanCfg_t"]["rxChannelEn"]), "num_tx": turns,
                 "num_chirps": int(frame["numLoops"]),
                 "frame_period_s": float(frame["framePeriodicity_msec"]) / 1e3,
                 "real": rf.get("rlAdcOutCfg_t", {}).get("fmt", {}).get("b2AdcOutFmt", 1) == 0}
        if lanes is not None:
            given["lanes"] = _bits(lanes)
        slope = float(profile["freqSlopeConst_MHz_usec"]) * 1e12
        start_s = float(profile["adcStartTimeConst_usec"]) / 1e6
        chirp_s = (float(profile["idleTimeConst_usec"]) + float(profile["rampEndTime_usec"])) / 1e6
        fields = {"sample_rate_hz": float(profile["digOutSampleRate"]) * 1e3,
                  "chirp_rate_hz_per_s": slope, "prf_hz": 1 / (chirp_s * turns),
                  "carrier_hz": float(profile["startFreqConst_GHz"]) * 1e9 + slope * start_s}
        swapped = int(raw.get("rlDevDataFmtCfg_t", {}).get("iqSwapSel", 0)) == 1
    except (KeyError, IndexError, TypeError, ValueError) as e:
        raise RecordingError(f"{path} is not as mmWave Studio writes it: {type(e).__name__} {e}; "
                             "expected mmWaveDevices[0].rfConfig with rlProfiles, rlChanCfg_t and "
                             "rlFrameCfg_t") from None
    return given, fields, swapped


def _parameters(path, ti):
    """(parameters, acquisition fields, swapped, notes), the caller's in front."""
    unknown = sorted(set(ti) - set(PARAMETERS))
    beside = os.path.splitext(path)[0] + ".json"
    given, fields, swapped, notes = {}, {}, False, []
    studio = glob.glob(os.path.join(glob.escape(os.path.dirname(path) or "."), "*.mmwave.json"))
    if path != "-" and os.path.exists(beside):
        given = _load(beside)
        if "mmWaveDevices" in given:
            given, studio = {}, [beside]
        else:
            unknown += sorted(set(given) - set(PARAMETERS))
            notes.append(f"parameters of the capture from {os.path.basename(beside)}")
    if not given and path != "-" and len(studio) == 1:
        given, fields, swapped = _of_studio(studio[0])
        notes.append("parameters of the capture, frequency, slope, sample rate and chirps a second "
                     f"from {os.path.basename(studio[0])}")
    if unknown:
        raise RecordingError(f"'{unknown[0]}' is not a parameter of a DCA1000 capture; expected "
                             f"one of {', '.join(PARAMETERS)}")
    return {**given, **{k: v for k, v in ti.items() if v is not None}}, fields, swapped, notes


def _lanes(given):
    if "lanes" in given:
        if given["lanes"] not in (2, 4):
            raise RecordingError(f"lanes is {given['lanes']!r}; expected 2 or 4")
        return given["lanes"]
    m = re.match(r"^(?:[aixAIX][wW][rR][lL]?)?(\d\d)(\d\d|xx)?", str(given["device"]))
    family = m.group(1) if m else None
    if family in FOUR_LANES:
        return 4
    if family in TWO_LANES:
        return 2
    raise RecordingError(
        f"device is '{given['device']}'; expected xWR{', xWR'.join(FOUR_LANES + TWO_LANES)} and two "
        "digits more, or lanes=2 or 4 for another device")


def _count(given, name, default, least=1):
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RecordingError(f"{name} is {value!r}; expected a whole number, {least} or more "
                             f"({PARAMETERS[name]})")
    return value


def open_capture(store, path, ti, *, channel=None):
    """Stream of one receiver, with the chirps of one transmitter."""
    given, fields, swapped, notes = _parameters(path, ti)
    lacking = [] if {"device", "lanes"} & set(given) else ["device"]
    lacking += [] if "num_adc_samples" in given else ["num_adc_samples"]
    if lacking:
        first = lacking[0]
        return sample_stream(
            store, data_type("ci16_le"), kind="ti_dca1000", notes=notes,
            metadata={"global": {"core:datatype": "ci16_le", "sar:waveform": "fmcw"},
                      "captures": [], "annotations": []},
            lacks=("order of samples", ""),
            needs=[t for n in lacking for t in ("--ti", f"{n}={n.upper()}")],
            refused=f"{store.name} is a capture of TI's DCA1000, whose order of samples depends on "
                    "parameters that are not known: give "
                    + " and ".join(f"{n} ({PARAMETERS[n]})" for n in lacking)
                    + f" as ti=dict({first}=...) (--ti {first}=...), or in "
                    f"{os.path.splitext(store.name)[0]}.json beside it")
    lanes, real = _lanes(given), bool(given.get("real", False))
    n, rx = _count(given, "num_adc_samples", None), _count(given, "num_rx", 4)
    tx, turn = _count(given, "num_tx", 1), _count(given, "tx", 0, 0)
    if turn >= tx:
        raise RecordingError(f"tx is {turn}; expected 0 to {tx - 1}: num_tx is {tx}")
    if rx > 4:
        raise RecordingError(f"num_rx is {rx}; expected 1 to 4")
    if channel is None:
        notes.append(f"receiver 0 of {rx} is used; choose with channel=")
    channel = channel or 0
    if not 0 <= channel < rx:
        raise RecordingError(f"channel is {channel}; expected 0 to {rx - 1}: num_rx is {rx}")
    parts = 1 if real else 2
    chirp = parts * n * (4 if lanes == 4 else rx)
    if 2 * chirp * tx > store.size:
        raise RecordingError(
            f"{store.name} holds {store.size} bytes, less than one chirp of each transmitter, "
            f"{2 * chirp * tx} bytes with num_adc_samples {n}, num_rx {rx}, num_tx {tx}")
    if lanes == 4:
        i = [turn * chirp + 4 * parts * k + channel for k in range(n)]
        q = None if real else [a + 4 for a in i]
    else:
        if not real and chirp % 4:
            raise RecordingError(f"num_rx x num_adc_samples is {rx} x {n}; expected an even number "
                                 "with two lanes, which send samples in pairs")
        at = range(channel * n, (channel + 1) * n)
        i = [turn * chirp + (k if real else 4 * (k // 2) + k % 2) for k in at]
        q = None if real else [a + 2 for a in i]
    if tx > 1:
        notes.append(f"chirps of transmitter {turn} of {tx}, which take turns")
    g = {"core:datatype": "ri16_le" if real else "ci16_le", "sar:samples_per_pulse": n,
         "sar:waveform": "fmcw"}
    if swapped:
        g["sar:iq_swapped"] = True
    for name, key in (("sample_rate_hz", "core:sample_rate"),
                      ("chirp_rate_hz_per_s", "sar:chirp_rate_hz_per_s"),
                      ("prf_hz", "sar:prf_hz")):
        if name in fields:
            g[key] = fields[name]
    capture = {"core:sample_start": 0}
    if "carrier_hz" in fields:
        capture["core:frequency"] = fields["carrier_hz"]
    stream = sample_stream(
        store, data_type(g["core:datatype"]), kind="ti_dca1000", layout=(chirp * tx, i, q),
        notes=notes, metadata={"global": g, "captures": [capture], "annotations": []})
    stream.channels, stream.channel = rx, channel
    if "num_chirps" in given and "frame_period_s" in given:
        stream.frames = _count(given, "num_chirps", None), float(given["frame_period_s"])
    return stream
