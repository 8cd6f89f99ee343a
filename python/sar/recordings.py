# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of other people's radars as one object: parameters, lines, positions.

    from gnuradio.sar.recordings import open_recording
    rec = open_recording("flight.sigmf-meta", range_bias_m=0.46)
    rec.acq, rec.lines(0, 100), rec.tx, rec.notes

Formats: the table in formats.py, docs/files.md; parameters of the radar come from SigMF
metadata with ``sar:`` keys (docs/sigmf_sar.md) or are given. Whatever is decided on the way
(pulses left out, values assumed, samples dropped) is a sentence in ``notes``: nothing
happens in silence.
"""

import contextlib
import os

import numpy as np

from . import sar_python as _sar

C = _sar.speed_of_light


class RecordingError(ValueError):
    """A recording that cannot be used, as one sentence that says what to change."""


# How the parts of an acquisition are called in SigMF metadata, and what they are: used
# for reading, writing and for the sentence when one is missing.
SIGMF_KEYS = {
    "samples": ("sar:samples_per_pulse", "complex samples in a line"),
    "carrier_hz": ("core:frequency", "radio frequency of baseband zero, Hz"),
    "prf_hz": ("sar:prf_hz", "pulses a second"),
    "sample_rate_hz": ("core:sample_rate", "samples a second in a line"),
    "chirp_rate_hz_per_s": ("sar:chirp_rate_hz_per_s", "chirp rate, Hz/s, < 0 down"),
    "pulse_length_s": ("sar:pulse_width_s", "length of the chirp, s"),
    "gate_start_s": ("sar:gate_start_s", "start of a ramp to the first sample, s"),
    "sweep": ("sar:sweep", "sawtooth or triangle"),
    "replica_bandwidth_hz": ("sar:replica_bandwidth_hz", "bandwidth of the replica, Hz"),
    "frequency_step_hz": ("sar:frequency_step_hz", "step between samples, Hz"),
    "phase_sign": ("sar:phase_sign", "-1 or +1"),
    "slant_range_first_m": (
        "sar:slant_range_first_sample_m",
        "slant range of the first sample of a line, m",
    ),
    "range_reference": ("sar:range_reference", "antenna or point"),
    "reference_point_m": ("sar:reference_point_m", "x, y, z in metres"),
    "pulse_reference": ("sar:pulse_reference", "start or centre"),
    "range_bias_m": ("sar:range_bias_m", "measured minus true range, m"),
    "look_side": ("sar:look_side", "left or right"),
    "effective_velocity_m_s": ("sar:effective_velocity_m_per_s", "m/s"),
    "doppler_centroid_hz": ("sar:doppler_centroid_hz", "Hz, absolute"),
    "effective_velocity_slopes": (
        "sar:effective_velocity_slopes",
        "further terms of a polynomial in slant range, at most 3",
    ),
    "doppler_centroid_slopes": (
        "sar:doppler_centroid_slopes",
        "further terms of a polynomial in slant range, at most 3",
    ),
    "waveform": (
        "sar:waveform",
        "pulsed_lfm, replica, fmcw or frequency_domain",
    ),
}

# What must be known before a line can be imaged, by waveform.
REQUIRED = {
    "pulsed_lfm": ("samples", "carrier_hz", "prf_hz", "sample_rate_hz",
                   "chirp_rate_hz_per_s", "pulse_length_s", "slant_range_first_m"),
    "replica": ("samples", "carrier_hz", "prf_hz", "sample_rate_hz",
                "replica_bandwidth_hz", "slant_range_first_m"),
    "fmcw": ("samples", "carrier_hz", "prf_hz", "sample_rate_hz",
             "chirp_rate_hz_per_s", "slant_range_first_m"),
    "frequency_domain": ("samples", "carrier_hz", "prf_hz", "frequency_step_hz",
                         "slant_range_first_m"),
}

# Antenna modes that hold still enough for these imagers; burst modes do not.
MODES = ("stripmap", "spotlight", "sliding_spotlight", "circular")


def check_mode(mode, source):
    """Refuse burst modes before any work is done on them."""
    if mode is not None and str(mode).lower() not in MODES:
        raise RecordingError(
            f"{source}: sar:mode is '{mode}'; expected one of {', '.join(MODES)} "
            "(a burst mode such as ScanSAR or TOPS needs another imager than these)"
        )


def waveform_of(fields):
    """The waveform of acquisition fields, said or to be told from others; else None."""
    if fields.get("waveform") is not None:
        return fields["waveform"]
    if "frequency_step_hz" in fields:
        return "frequency_domain"
    if "chirp_rate_hz_per_s" in fields or "pulse_length_s" in fields:
        return "pulsed_lfm"
    return None


def lacking(fields):
    """Names of the acquisition fields that their waveform needs and that are not there."""
    return [n for n in REQUIRED.get(waveform_of(fields), ()) if fields.get(n) is None]


def check_names(fields):
    """Refuse what is no parameter of an acquisition."""
    unknown = sorted(set(fields) - set(SIGMF_KEYS))
    if unknown:
        raise RecordingError(
            f"'{unknown[0]}' is not a parameter of an acquisition; expected one of: "
            + ", ".join(SIGMF_KEYS)
        )


def make_acquisition(fields, source, fix="add it to the metadata"):
    """An acquisition from a dict of its fields; a missing one is named with its key."""
    fields = {k: v for k, v in fields.items() if v is not None}
    check_names(fields)
    waveform = waveform_of(fields)
    if waveform is None:
        key, what = SIGMF_KEYS["waveform"]
        raise RecordingError(
            f"{source} does not say {key} ({what}); {fix} or give waveform=...")
    fields["waveform"] = waveform
    for name in lacking(fields):
        key, what = SIGMF_KEYS[name]
        raise RecordingError(
            f"{source} does not say {key} ({what}), which waveform "
            f"{waveform} needs; {fix} or give {name}=...")
    try:
        return _sar.acquisition(**fields)
    except (ValueError, RuntimeError, TypeError) as e:
        raise RecordingError(f"{source}: {e}") from None


def analytic(real, acq, intermediate_frequency_hz):
    """Real lines made complex: one side of the spectrum, shifted down to baseband.

    x(tau) = cos(2 pi f_if tau - 4 pi f0 R / c) becomes exp(-j 4 pi f0 R / c) p(tau), tau
    the absolute delay, so the phase convention holds whether the radio frequency itself
    was sampled (f_if = carrier) or an intermediate frequency.
    """
    real = np.asarray(real, np.float64)
    n = real.shape[1]
    spectrum = np.fft.fft(real, axis=1)
    gain = np.zeros(n)
    gain[0] = 1
    gain[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        gain[n // 2] = 1
    lines = np.fft.ifft(spectrum * gain, axis=1)
    if acq.waveform == "fmcw":
        if acq.phase_sign * acq.chirp_rate_hz_per_s < 0:
            lines = lines.conj()
    if intermediate_frequency_hz:
        tau = 2 * acq.slant_range_first_m / C + np.arange(n) / acq.sample_rate_hz
        # cycles first, modulo 1, then the phase: a GHz times microseconds in double
        cycles = np.mod(intermediate_frequency_hz * tau, 1.0)
        lines = lines * np.exp(-2j * np.pi * cycles)
    return lines


class Recording:
    """Lines of a radar with what is known about them. Made by open_recording().

    acq          sar.acquisition
    num_pulses   number of lines
    times_s      time of each pulse on the radar's clock, s, starting at the recording's start
    tx, rx       (num_pulses, 3) positions in metres, or None; rx None = same antenna
    replica      complex samples of the pulse, or None (waveform "replica" needs one)
    dropped_samples  samples of the files that are in no line
    notes        sentences: every decision made while reading
    hints        dict: scene_centre_m, scene_extent_m (rows, cols), targets, axes
    used         dict: constants applied (clock_offset_s, lever_arm_m, range_bias_m, ...)
    """

    def __init__(self, acq, read, num_pulses, times_s, *, tx=None, rx=None, replica=None,
                 paths=(), kind="", datatype="cf32_le", dropped_samples=0, notes=(),
                 hints=None, used=None, metadata=None):
        self.acq = acq
        self.num_pulses = int(num_pulses)
        self.times_s = np.asarray(times_s, float)
        self.tx = None if tx is None else np.ascontiguousarray(tx, float).reshape(-1, 3)
        self.rx = None if rx is None else np.ascontiguousarray(rx, float).reshape(-1, 3)
        self.replica = replica
        self.paths = [str(p) for p in paths]
        self.kind = kind
        self.datatype = datatype
        self.dropped_samples = int(dropped_samples)
        self.notes = list(notes)
        self.hints = dict(hints or {})
        self.used = dict(used or {})
        self.metadata = metadata or {}
        self._read = read          # (start, stop) -> complex lines
        self._first = 0            # pulse of the file that pulse 0 is
        self._mean = None          # line subtracted from every line
        self._weights = None       # amplitude of each pulse
        self._response = None      # of the radar over frequency, which lines are divided by
        self.stream = None         # sample_stream that the lines are cut from
        self.pulses_before = 0     # pulses of the file in front of it, which it numbers, too
        self.kept = None           # (data type, scale, reader) that lose nothing, see exact()
        for name, p in (("positions", self.tx), ("receiver positions", self.rx)):
            if p is not None and len(p) != self.num_pulses:
                raise RecordingError(
                    f"there are {len(p)} {name} for {self.num_pulses} pulses; "
                    "expected one a pulse")

    def __len__(self):
        return self.num_pulses

    def __repr__(self):
        return (f"<Recording {self.kind} of {self.num_pulses} pulses x "
                f"{self.acq.samples} samples, {', '.join(self.paths)}>")

    def __getitem__(self, key):
        if isinstance(key, slice):
            start, stop, step = key.indices(self.num_pulses)
            if step > 0:
                return self.lines(start, max(start, stop))[::step]
            return self.lines(stop + 1, start + 1)[::step]
        i = key + self.num_pulses if key < 0 else key
        if not 0 <= i < self.num_pulses:
            raise IndexError(f"pulse {key} of {self.num_pulses}")
        return self.lines(i, i + 1)[0]

    def lines(self, start=0, stop=None):
        """Lines start .. stop-1, complex64 (stop - start, samples); read when asked for."""
        stop = self.num_pulses if stop is None else min(stop, self.num_pulses)
        lines = self._read(self._first + start, self._first + stop)
        if self._response is not None:
            lines = lines / self._response
        if self._mean is not None:
            lines = lines - self._mean
        if self._weights is not None:
            lines = lines * self._weights[start:stop, None]
        return np.ascontiguousarray(lines, np.complex64)

    def starts_with_file(self):
        """True when pulse 0 is the first of the file."""
        return self._first == 0

    def exact(self):
        """(SigMF data type, scale, batches) that keep each sample to the last bit, or None when
        the lines are no longer the samples of the file."""
        if self.kept is None or any(
                v is not None for v in (self._mean, self._weights, self._response)):
            return None
        name, scale, read = self.kept
        first, total = self._first, self.num_pulses
        return name, scale, (read(first + a, first + min(a + 256, total))
                             for a in range(0, total, 256))

    def batches(self, pulses=256):
        """Iterate over (start, lines) from the first pulse to the last."""
        for start in range(0, self.num_pulses, pulses):
            yield start, self.lines(start, start + pulses)

    @property
    def first_pulse(self):
        """Number, in the whole recording, of its first pulse: of a triangle it tells which ramps go back."""
        return self.pulses_before + self._first

    def select(self, start=0, stop=None):
        """The pulses start .. stop-1 as a recording of its own."""
        stop = self.num_pulses if stop is None else min(stop, self.num_pulses)
        if not 0 <= start < stop:
            raise RecordingError(
                f"pulses {start} to {stop} were asked for; expected 0 <= start < stop <= "
                f"{self.num_pulses}")
        import copy

        r = copy.copy(self)
        r.num_pulses = stop - start
        r.times_s = self.times_s[start:stop]
        r.tx = None if self.tx is None else self.tx[start:stop]
        r.rx = None if self.rx is None else self.rx[start:stop]
        r._weights = None if self._weights is None else self._weights[start:stop]
        r._first = self._first + start
        r.notes, r.hints, r.used = list(self.notes), dict(self.hints), dict(self.used)
        return r

    def divide_by(self, response):
        """Take off the radar's own response over frequency: a file, or a number a sample
        (frequency_response.py)."""
        from . import frequency_response

        h = frequency_response.of(response, self.acq)
        self._response = h if self._response is None else self._response * h
        if self._mean is not None:  # of lines before the division, which comes first
            self._mean = self._mean / h
        name = response if isinstance(response, (str, os.PathLike)) else "given"
        self.used["frequency_response"] = str(name)
        self.notes.append(f"the frequency response ({os.path.basename(str(name))}) is taken off "
                          "each line")

    def subtract_mean(self):
        """Remove what does not move: the mean line of the pulses from every line."""
        total = np.zeros(self.acq.samples, complex)
        for _, lines in self.batches():
            total += lines.sum(axis=0, dtype=complex)
        self._mean = total / self.num_pulses
        self.used["subtract_mean"] = True
        self.notes.append(
            f"the mean line of {self.num_pulses} pulses was subtracted from every line")

    def weight_aperture(self, window):
        """Amplitude weights over the pulses, mean 1, so that a unit point keeps peak 1."""
        w = np.array(_sar.window(window).samples(self.num_pulses))
        self._weights = w / w.mean()
        self.used["azimuth_window"] = window
        self.notes.append(f"the aperture is weighted with {window} (mean weight 1)")

    def replaced(self, **fields):
        """This recording with fields of the acquisition replaced, for example range_bias_m."""
        r = self.select()
        r.acq = self.acq.replace(**fields)
        return r


def _select_span(rec, start, stop, start_s, stop_s):
    first, last = 0, rec.num_pulses
    if start is not None:
        first = int(start)
    if stop is not None:
        last = int(stop)
    if start_s is not None:
        first = max(first, int(np.searchsorted(rec.times_s, start_s - 1e-9)))
    if stop_s is not None:
        last = min(last, int(np.searchsorted(rec.times_s, stop_s + 1e-9)))
    if (first, last) == (0, rec.num_pulses):
        return rec
    if first < 0 or first >= min(last, rec.num_pulses):
        raise RecordingError(
            f"the span asked for (pulses {first} to {last}) holds no pulse; the recording has "
            f"pulses 0 to {rec.num_pulses}, {rec.times_s[0]:.3f} s to {rec.times_s[-1]:.3f} s")
    total = rec.num_pulses
    rec = rec.select(first, last)
    rec.notes.append(f"pulses {first} to {first + rec.num_pulses - 1} of {total} are used, as asked")
    return rec


def _drop_standstill(rec):
    """Leave out pulses before and after the run, while the platform stands still."""
    if rec.tx is None or rec.num_pulses < 8:
        return rec
    dt = np.diff(rec.times_s)
    if np.any(dt <= 0):
        return rec
    speed = np.linalg.norm(np.diff(rec.tx, axis=0), axis=1) / dt
    span = max(1, min(9, rec.num_pulses // 8))
    speed = np.convolve(speed, np.ones(span) / span, mode="same")
    moving = np.flatnonzero(speed > 0.25 * np.percentile(speed, 90))
    if len(moving) == 0 or speed.max() == 0:
        return rec
    first, last = int(moving[0]), int(moving[-1]) + 2
    if first == 0 and last >= rec.num_pulses:
        return rec
    left_out = rec.num_pulses - (min(last, rec.num_pulses) - first)
    t = rec.times_s
    rec = rec.select(first, last)
    rec.notes.append(
        f"{left_out} pulses while the platform stands still are left out (kept: pulses "
        f"{first} to {first + rec.num_pulses - 1}, {t[first]:.2f} s to {rec.times_s[-1]:.2f} s)")
    rec.used["standstill_pulses_left_out"] = left_out
    return rec


def open_recording(path, *, swap_iq=False, conjugate=False, subtract_mean=None,
                   clock_offset_s=None, lever_arm_m=None, start=None, stop=None, start_s=None,
                   stop_s=None, keep_standstill=False, azimuth_window="rect", autofocus=False,
                   positions=None, positions_origin=None, meta=None, datatype=None, channel=None,
                   channels=None, real=False, iq_files=False, capture=None, header_bytes=0, ti=None,
                   intermediate_frequency_hz=None, frequency_response=None, **fields):
    """Open a recording; returns a Recording.

    path            file, list of files of one aperture, folder (P440 rail set), "-" for
                    standard input, or a sample_stream that is open already; docs/files.md
                    says what is read
    swap_iq         exchange I and Q, as recordings of the other convention need
    conjugate       change the sign of Q
    subtract_mean   subtract the mean line; default: for impulse data of the rail set and for
                    planar scans only
    clock_offset_s  navigation time minus radar time, s
    lever_arm_m     antenna minus navigation point: along track, right, up, m
    start, stop     pulses to use; start_s, stop_s the same in seconds of pulse time
    keep_standstill keep pulses before and after the run while the platform stands still
    azimuth_window  amplitude weights over the pulses: rect, hann, hamming, taylor(4, 35)
    autofocus       GOTCHA: apply the corrections in the file (range and phase together)
    positions       navigation file to use in place of <name>.nav.csv: CSV, or NMEA sentences
    positions_origin  NMEA: latitude, longitude (deg) and height (m) of local zero; default:
                    the first fix
    meta            SigMF metadata for a file that has none, or not all
    datatype        SigMF data type: the file is read as raw IQ of it
    channel         receiver, from 0, of a file with several; of a real one, channel
    channels        how many channels stand side by side in a raw file
    real            the samples are real: one channel of a WAV file, not two as I and Q
    iq_files        the two files given are I and Q
    capture         SigMF: use this capture segment alone, from 0
    header_bytes    of a raw file, before the samples
    ti              parameters of a capture by TI's DCA1000, a dict; ti_files.py
    intermediate_frequency_hz  real samples: the frequency that stands for the carrier
    frequency_response  of the radar, that lines over frequency are divided by: a file, or a
                    complex number a sample; frequency_response.py
    fields          parameters of sar.acquisition that override the file's: prf_hz=...

    Raises RecordingError with a sentence, OSError for unreadable files.
    """
    from . import formats, samples, sigmf_files

    options = dict(clock_offset_s=clock_offset_s, lever_arm_m=lever_arm_m, autofocus=autofocus,
                   positions=positions, positions_origin=positions_origin, meta=meta,
                   datatype=datatype, channel=channel, channels=channels, real=real,
                   iq_files=iq_files, capture=capture, header_bytes=header_bytes, ti=ti,
                   intermediate_frequency_hz=intermediate_frequency_hz)
    if isinstance(path, samples.sample_stream):
        paths, found, stream = [path.store.path], None, path
    else:
        paths = [str(path)] if isinstance(path, (str, os.PathLike)) else [str(p) for p in path]
        if not paths:
            raise RecordingError("no input file was given; expected one file or more")
        found, named = formats.recognise(paths, options)
        stream = formats.open_found(found, named) if found.open else None
    if stream is not None:
        rec = sigmf_files.recording_of(stream, fields, options)
    else:
        rec = found.read(named, fields, options)
    if subtract_mean is None:
        subtract_mean = rec.kind in ("p440", "planar_scan")
    if clock_offset_s is not None and "clock_offset_s" not in rec.used:
        rec.notes.append(f"clock offset {clock_offset_s} s has no effect: no navigation record "
                         "with times is used")
    rec.paths = paths  # as the user named them
    _turn(rec, swap_iq, conjugate)
    if frequency_response is not None:
        rec.divide_by(frequency_response)
    rec.used["range_bias_m"] = rec.acq.range_bias_m

    if not keep_standstill and "standstill" in rec.hints:
        rec = _drop_standstill(rec)
    rec = _select_span(rec, start, stop, start_s, stop_s)
    if subtract_mean:
        rec.subtract_mean()
    if azimuth_window and azimuth_window != "rect":
        rec.weight_aperture(azimuth_window)
    return rec


def _turn(rec, swap_iq, conjugate):
    """Bring the samples into our sign convention: as the file says, and as asked."""
    from .samples import turned

    rec.used["swap_iq"] = bool(swap_iq)
    if rec.metadata.get("global", {}).get("sar:iq_swapped"):
        rec.notes.append("sar:iq_swapped is set: I and Q are exchanged on reading")
        swapped = not swap_iq
    else:
        swapped = bool(swap_iq)
    if swap_iq:
        rec.notes.append("I and Q are swapped, as asked")
    if conjugate:
        rec.used["conjugate"] = True
        rec.notes.append("the samples are conjugated, as asked")
    if swapped or conjugate:
        inner = rec._read
        rec._read = lambda a, b: turned(inner(a, b), swapped, conjugate)
        if rec.kept:
            name, scale, exact = rec.kept
            rec.kept = name, scale, lambda a, b: turned(exact(a, b), swapped, conjugate)
            if conjugate and "f" not in name:
                rec.kept = None  # the smallest integer has no opposite


# ---- navigation records -----------------------------------------------------------------


def _name_of(path):
    """Name of a file, or of an open one."""
    return path.name if hasattr(path, "readline") else str(path)


def read_csv(path, what):
    """Columns of a CSV file with a header line as a dict of float arrays.

    path  of a file, or an open text file
    """
    with contextlib.ExitStack() as stack:
        if hasattr(path, "readline"):
            f, path = path, _name_of(path)
            f.seek(0)
        else:
            f = stack.enter_context(open(path))
        header = f.readline()
        if not header.strip():
            raise RecordingError(f"{path} is empty; expected a header line of column names")
        names = [n.strip() for n in header.strip().lstrip("#").split(",")]
        rows = []
        for number, line in enumerate(f, 2):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            try:
                row = [float(v) for v in line.split(",")]
            except ValueError:
                raise RecordingError(
                    f"{path} line {number}: '{line[:60]}' is not {len(names)} numbers") from None
            if len(row) != len(names):
                raise RecordingError(
                    f"{path} line {number} has {len(row)} values; expected {len(names)} "
                    f"({', '.join(names)})")
            if not all(np.isfinite(row)):
                raise RecordingError(
                    f"{path} line {number}: '{line[:60]}' holds a value that is not finite; "
                    f"expected {what}")
            rows.append(row)
    if not rows:
        raise RecordingError(f"{path} has a header but no row; expected {what}")
    table = np.array(rows)
    return {n: table[:, i] for i, n in enumerate(names)}


def read_navigation(path, times_s, prf_hz, clock_offset_s=0.0, lever_arm_m=(0, 0, 0),
                    pulses_before=0, track=None):
    """Positions at the pulse times from a navigation record.

    pulses_before  number that the record gives to the first pulse
    track          nmea.NmeaTrack, where that was read from the record

    Returns (tx, rx or None, covered): covered is the slice of pulses inside the record;
    positions outside are not made up.
    """
    if track is None:
        table = read_csv(path, "positions of the antenna in metres")
    else:
        table = dict(zip(("x_m", "y_m", "z_m"), track.positions_m.T), time_s=track.times_s)
    path = _name_of(path)
    time_name = next((n for n in ("time_s", "t_s") if n in table), None)
    if time_name:
        nav_t = table[time_name]
    elif "pulse" in table:
        # through the pulses' own times, which need not be evenly spaced
        pulse, last = table["pulse"] - pulses_before, len(times_s) - 1
        nav_t = (np.interp(pulse, np.arange(len(times_s)), times_s)
                 + (np.minimum(pulse, 0) + np.maximum(pulse - last, 0)) / prf_hz)
    else:
        raise RecordingError(f"{path} has columns {', '.join(table)}; expected time_s or pulse, "
                             "and x_m, y_m, z_m")
    for n in ("x_m", "y_m", "z_m"):
        if n not in table:
            raise RecordingError(f"{path} has no column {n}; expected x_m, y_m and z_m")
    order = np.diff(nav_t)
    if np.any(order <= 0):
        row = int(np.argmax(order <= 0)) + 3
        raise RecordingError(f"{path} line {row}: {time_name or 'pulse'} does not increase; "
                             "expected strictly increasing rows")
    tolerance = 1e-9 + 1e-6 * (np.median(order) if len(order) else 0)
    wanted = np.asarray(times_s) + clock_offset_s
    inside = (wanted >= nav_t[0] - tolerance) & (wanted <= nav_t[-1] + tolerance)
    if not inside.any():
        raise RecordingError(
            f"{path} covers {nav_t[0]:.3f} s to {nav_t[-1]:.3f} s, but the pulses lie at "
            f"{wanted[0]:.3f} s to {wanted[-1]:.3f} s (clock offset {clock_offset_s} s); "
            "expected an overlap, see the clock offset"
            + (": time of day (UTC, s) minus radar time" if track else ""))
    first = int(np.argmax(inside))
    last = len(inside) - int(np.argmax(inside[::-1]))

    def positions(x, y, z):
        p = np.column_stack([table[x], table[y], table[z]])
        if len(p) == 1:
            if any(lever_arm_m):
                raise RecordingError(f"{path} has one row, so no direction of flight to turn "
                                     "the lever arm by; expected two rows or more")
            return np.repeat(p, last - first, axis=0)
        track = _sar.trajectory.sampled(list(nav_t), [tuple(v) for v in p],
                                        clock_offset_s, tuple(lever_arm_m))
        t = np.clip(times_s[first:last], track.first_s(), track.last_s())
        return np.array([track.position(v) for v in t])

    tx = positions("x_m", "y_m", "z_m")
    rx = None
    if "rx_x_m" in table:
        rx = positions("rx_x_m", "rx_y_m", "rx_z_m")
    return tx, rx, slice(first, last)


def attach_navigation(rec, path, options, defaults=None):
    """Give a recording the positions of a navigation file; trims pulses outside it."""
    from . import nmea

    defaults = defaults or {}
    offset = options.get("clock_offset_s")
    origin = options.get("positions_origin")
    track = nmea.read_nmea(path, origin) if nmea.looks_like_nmea(path) else None
    if track is None and origin is not None:
        raise RecordingError(f"positions_origin is for NMEA sentences, and {_name_of(path)} has "
                             "none; expected a log of them, or no origin")
    if offset is None and "clock_offset_s" not in defaults and track is not None:
        offset, said = nmea.clock_offset(track, rec)
        rec.notes += said
    arm = options.get("lever_arm_m")
    if offset is None:
        offset = float(defaults.get("clock_offset_s", 0.0))
    if arm is None:
        arm = defaults.get("lever_arm_m", (0.0, 0.0, 0.0))
    arm = tuple(float(v) for v in arm)
    name = _name_of(path)
    tx, rx, covered = read_navigation(path, rec.times_s, rec.acq.prf_hz, offset, arm,
                                      rec.pulses_before, track)
    total = rec.num_pulses
    if covered.stop - covered.start < total:
        rec = rec.select(covered.start, covered.stop)
        rec.notes.append(
            f"{total - rec.num_pulses} of {total} pulses lie outside the navigation record "
            f"{os.path.basename(name)} and are left out")
    rec.tx, rec.rx = tx, rx
    rec.used["clock_offset_s"] = offset
    rec.used["lever_arm_m"] = list(arm)
    rec.used["positions"] = name
    if track is not None:
        rec.notes += track.notes
        rec.used["positions_origin"] = list(track.origin)
        rec.notes.append("local metres: x to the east, y to the north, z up of latitude "
                         "{:.8f}, longitude {:.8f}, {:.3f} m".format(*track.origin))
    rec.notes.append(f"positions from {os.path.basename(name)}, clock offset {offset} s, lever "
                     f"arm {list(arm)} m")
    return rec
