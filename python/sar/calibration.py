# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay calibrations: reading, writing, looking up, comparing and applying them.

A calibration is a dictionary with the fields of docs/delay_calibration.schema.json, as
the block delay_calibration gives it (``calibrations()``, message, file).
"""

import glob
import json
import math
import os

import numpy as np

from . import sar_python as _sar

FORMAT = "gr-sar delay calibration"
VERSION = 1
KEY_FIELDS = ("driver", "hardware", "serial", "master_clock_hz", "tx_rate_hz", "rx_rate_hz",
              "bandwidth_hz", "tx_antenna", "rx_antenna", "tx_gain_db", "rx_gain_db",
              "centre_frequency_hz", "firmware")
C = _sar.speed_of_light

# Every field but key, provenance and response: its unit or kind, and its value where a file of
# this version does not have it (none: it must).
_REQUIRED = object()
_FIELDS = {
    "delay_s": _REQUIRED, "delay_std_s": _REQUIRED, "phase_rad": _REQUIRED,
    "phase_std_rad": _REQUIRED, "amplitude_db": _REQUIRED, "snr_db": _REQUIRED,
    "pulses": _REQUIRED, "residual_frequency_hz": _REQUIRED, "drift_samples_per_s": _REQUIRED,
    "drift_rad_per_s": _REQUIRED, "ambiguity_s": _REQUIRED, "cable_delay_s": _REQUIRED,
    "pulses_missing": 0, "residual_frequency_std_hz": None, "drift_std_samples_per_s": None,
    "measured_at_s": None, "sample_rate_hz": None, "prf_hz": None, "clipped": None,
}
_NEVER_NEGATIVE = ("delay_std_s", "phase_std_rad", "pulses")


class CalibrationError(ValueError):
    """A file that is no calibration, or none for this radio; the text says which and why."""


def check(calibration, source="the calibration"):
    """The calibration with every field there, those it may lack filled in.

    Raises CalibrationError with source, field, value and expectation.
    """
    if not isinstance(calibration, dict) or calibration.get("format") != FORMAT:
        raise CalibrationError(f"{source} is no delay calibration: its field format is not "
                               f"'{FORMAT}'")
    version = calibration.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CalibrationError(f"{source}: version is {version!r}; expected a whole number from 1")
    if version > VERSION:
        raise CalibrationError(f"{source} has version {version}, this gr-sar reads up to "
                               f"{VERSION}; expected an older file, or a newer gr-sar")
    out = dict(calibration)
    for name, otherwise in _FIELDS.items():
        value = out.get(name, otherwise)
        if value is _REQUIRED:
            raise CalibrationError(f"{source} lacks {name}; expected a number")
        # None stands for what is not known, and for no ambiguity
        if value is None and (otherwise is None or name == "ambiguity_s"):
            out[name] = None
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) \
                or not math.isfinite(value):
            raise CalibrationError(f"{source}: {name} is {value!r}; expected a number")
        if name in _NEVER_NEGATIVE and value < 0 or name == "ambiguity_s" and value <= 0:
            raise CalibrationError(f"{source}: {name} is {value}; expected a positive number")
        out[name] = value
    key = out.get("key") or {}
    unknown = sorted(set(key) - set(KEY_FIELDS))
    if unknown:
        raise CalibrationError(f"{source}: key has no field {unknown[0]}; expected: "
                               + ", ".join(KEY_FIELDS))
    out["key"] = {name: key.get(name) for name in KEY_FIELDS}
    out["provenance"] = {"time_utc": None, "software": None, "command": None,
                         **(out.get("provenance") or {})}
    out.setdefault("valid", True)
    out.setdefault("problem", "")
    out["warnings"] = list(out.get("warnings") or ())
    response = out.get("response")
    if response is not None:
        out["response"] = {
            "first_tap": int(response["first_tap"]),
            **{name: _taps(response.get(name), f"{source}: response.{name}")
               for name in ("taps", "equaliser")}}
        if len(out["response"]["taps"]) != 1 - 2 * out["response"]["first_tap"]:
            raise CalibrationError(
                f"{source}: response has {len(out['response']['taps'])} taps from "
                f"{out['response']['first_tap']} on; expected as many on either side of 0")
    else:
        out["response"] = None
    return out


def _taps(value, source):
    v = np.asarray(value)
    if v.ndim == 2 and v.shape[1] == 2:  # pairs, as in JSON
        v = v[:, 0] + 1j * v[:, 1]
    if v.ndim != 1 or not len(v) or v.dtype.kind not in "fc" or not np.isfinite(v).all():
        raise CalibrationError(f"{source} is {str(value)[:40]}; expected pairs of real and "
                               "imaginary part")
    return v.astype(np.complex64)


def read(path):
    """The calibration in a JSON file. CalibrationError when it is none."""
    try:
        with open(path, encoding="utf-8") as f:
            calibration = json.load(f)
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise CalibrationError(f"{path} is not JSON: {e}") from None
    return check(calibration, str(path))


def write(calibration, path):
    """Write a calibration as JSON, atomically; only a valid one."""
    c = check(calibration)
    if not c["valid"]:
        raise CalibrationError(f"the calibration is not valid ({c['problem']}); expected one that "
                               "can be used")
    if c["response"]:
        c["response"] = {k: v if k == "first_tap" else
                         [[float(z.real), float(z.imag)] for z in v]
                         for k, v in c["response"].items()}
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as f:
        json.dump(c, f, indent=1, allow_nan=False)
        f.write("\n")
    os.replace(part, path)


def _same(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9)
    return a == b


def lookup(entries, key):
    """The stored calibration with exactly this key.

    entries  calibrations, or a folder whose *.json are looked through
    key      dictionary of KEY_FIELDS; those not given count as None

    Raises CalibrationError when there is none, with the nearest and in what it differs: a delay is
    not a property of board and rate alone (bandwidth, gain and firmware shift it, the centre
    frequency turns its phase).
    """
    if isinstance(entries, (str, os.PathLike)):
        entries = [read(p) for p in sorted(glob.glob(os.path.join(entries, "*.json")))]
    wanted = check({**_NOTHING, "key": key}, "the key")["key"]
    if not entries:
        raise CalibrationError("there is no stored calibration to look through")

    def differing(c):
        return [n for n in KEY_FIELDS if not _same(c["key"].get(n), wanted[n])]

    # of equal ones the latest
    found = [c for c in entries if not differing(c)]
    if found:
        return max(found, key=lambda c: c["provenance"].get("time_utc") or "")
    nearest = min(entries, key=lambda c: len(differing(c)))
    wrong = ", ".join(f"{n} {nearest['key'].get(n)!r} in place of {wanted[n]!r}"
                      for n in differing(nearest))
    raise CalibrationError(
        f"no stored calibration has this key; the nearest is of "
        f"{nearest['provenance'].get('time_utc')}, with {wrong}. Measure: gr_sar calibrate")


_NOTHING = {"format": FORMAT, "version": VERSION, **dict.fromkeys(_FIELDS, 0.0),
            "ambiguity_s": None}


def delay_difference_s(measured, expected):
    """Measured minus expected delay, s; the smallest when either is known modulo the PRI only."""
    d = measured["delay_s"] - expected["delay_s"]
    for c in (measured, expected):
        if c.get("ambiguity_s"):
            d = math.remainder(d, c["ambiguity_s"])
    return d


def compare(measured, expected, sample_rate_hz=None):
    """Empty, or the sentence that warns when the delay is more than a sample off a stored one."""
    rate = sample_rate_hz or measured.get("sample_rate_hz")
    if not rate:
        raise CalibrationError("the calibration does not say sample_rate_hz; expected it as a "
                               "parameter")
    off = delay_difference_s(measured, expected)
    if abs(off) * rate <= 1:
        return ""
    return (f"the delay is {measured['delay_s'] * rate:.2f} samples, "
            f"{expected['delay_s'] * rate:.2f} were expected (stored "
            f"{expected['provenance'].get('time_utc')}): {off * rate:+.2f} samples, "
            f"{off * C / 2:+.1f} m of range. Cable, filter or firmware changed, or this radio draws "
            "its delay anew at each start: measure at each start")


def apply(acq, calibration):
    """The acquisition with the delay of the radio in its range bias.

    For lines that begin at the instant of sending plus 2 slant_range_first_m / c: everything in them
    is delay_s late, so the measured range of a target is too large by c delay_s / 2, and
    range_bias_m (measured minus true) grows by that. Lines that were cut with the delay already,
    as pulse_framer does, need nothing.
    """
    c = check(calibration)
    if not c["valid"]:
        raise CalibrationError(f"the calibration is not valid: {c['problem']}")
    return acq.replace(range_bias_m=acq.range_bias_m + C * c["delay_s"] / 2)


def equalised(acq, calibration, replica=()):
    """(acquisition, replica) for pulse_compression that take the path's response out.

    The replica is the pulse times 1 / conj(response), so that the compressed response is that of
    the pulse itself. It begins half its taps before the pulse, which goes into range_bias_m.
    """
    c = check(calibration)
    if c["response"] is None:
        raise CalibrationError("the calibration has no response; measure with response_taps, such "
                               "as 32")
    pulse = np.array(_sar.transmitted_pulse(acq, list(replica)))
    out = np.array(_sar.equalised_replica(pulse, c["response"]["equaliser"]))
    taps = -c["response"]["first_tap"]
    # where the old reference lies, from sample 0 of the pulse, and the new one
    if acq.pulse_reference == "centre":
        old = len(pulse) // 2 if acq.waveform == "replica" else \
            acq.pulse_length_s * acq.sample_rate_hz / 2
        new = len(out) // 2 - taps
    else:
        old, new = 0, -taps
    # the delay of an echo is counted to the reference: later by so many samples
    bias = (new - old) * C / 2 / acq.sample_rate_hz
    return acq.replace(waveform="replica", replica_bandwidth_hz=acq.bandwidth_hz(),
                       range_bias_m=acq.range_bias_m + bias), out


def path_delay_s(cable_length_m=0.0, velocity_factor=0.66, feed_length_m=0.0,
                 air_path_m=0.0, reflector_range_m=0.0):
    """cable_delay_s of delay_calibration: delay of what is there only for the calibration.

    cable_length_m     loopback cable in place of antennas
    velocity_factor    of cable and feeds, such as 0.66 (solid polyethylene) or 0.85 (foam)
    feed_length_m      both antenna feeds together, when the cable bypasses them: they belong to the
                       radio when range is zero at the antenna's phase centre
    air_path_m         from phase centre to phase centre (leakage)
    reflector_range_m  slant range of a corner reflector: there and back
    """
    for name, value in (("cable_length_m", cable_length_m), ("feed_length_m", feed_length_m),
                        ("air_path_m", air_path_m), ("reflector_range_m", reflector_range_m)):
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value} m; expected 0 or more")
    if not 0 < velocity_factor <= 1:
        raise ValueError(f"velocity_factor is {velocity_factor}; expected more than 0 and at most 1")
    return ((cable_length_m - feed_length_m) / velocity_factor + air_path_m
            + 2 * reflector_range_m) / C


def attenuation_db(tx_power_dbm, rx_limit_dbm, margin_db=10.0):
    """Attenuation that a loopback needs, dB, 0 or more: transmit power minus what the receiver
    stands, plus a margin for what data sheets and gains are off."""
    for name, value in (("tx_power_dbm", tx_power_dbm), ("rx_limit_dbm", rx_limit_dbm)):
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}; expected a level in dBm")
    if not (math.isfinite(margin_db) and margin_db >= 0):
        raise ValueError(f"margin_db is {margin_db}; expected 0 dB or more")
    return max(0.0, tx_power_dbm - rx_limit_dbm + margin_db)


def safety_text(tx_power_dbm, rx_limit_dbm, attenuator_db=None, margin_db=10.0):
    """(text, safe): what must be between transmitter and receiver before anything is sent."""
    need = attenuation_db(tx_power_dbm, rx_limit_dbm, margin_db)
    watts = 10 ** (tx_power_dbm / 10 - 3)
    buy = 10 * math.ceil(need / 10 - 1e-9)
    text = (f"transmitter {tx_power_dbm:g} dBm ({watts:.2g} W), receiver stands "
            f"{rx_limit_dbm:g} dBm: {need:g} dB of attenuation are needed between the two, "
            f"{margin_db:g} dB of margin included")
    if buy:
        text += f"; an attenuator of {buy} dB for {watts:.2g} W or more does"
    if attenuator_db is None:
        return text + ". It is not said what is there", False
    left = tx_power_dbm - attenuator_db
    text += f". With the {attenuator_db:g} dB that are there {left:g} dBm reach the receiver"
    return text, attenuator_db >= need
