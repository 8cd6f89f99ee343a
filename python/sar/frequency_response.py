# SPDX-License-Identifier: GPL-3.0-or-later
"""The response of a radar at each frequency that it measures, and its removal.

A stepped-frequency or FMCW radar multiplies what a scene returns by a complex number of its own at
each frequency: cables, filters, amplifiers. A line of X[k] H[k] is divided by H before it is
compressed; a window, and the range of things, then mean what they say.

    h = measure(reference, range_m=1.234)             # a reflector at a known range
    write("response.csv", reference.acq, h)
    rec = open_recording("scan.npy", frequency_response="response.csv")

In a flowgraph that runs on a radar: Multiply Const with the vector 1 / read("response.csv", acq)
in front of pulse_compression.

File: text, columns frequency_hz, phase_rad and, if not 1, magnitude, with a header that names them;
or without a header two rows or two columns of numbers, frequency in Hz and phase in rad. H is
magnitude exp(j phase), as it stands in lines that are read; between frequencies phase and magnitude
are interpolated linearly, so steps of phase must stay below half a turn.
"""

import numpy as np

from .recordings import C, RecordingError, read_csv

# Largest standard error of a phase that measure() accepts, rad.
LARGEST_ERROR_RAD = 0.2


def step_hz(acq):
    """From one sample of a line over frequency to the next, Hz."""
    if acq.waveform not in ("frequency_domain", "fmcw"):
        raise RecordingError(
            f"a frequency response was given, but the waveform is {acq.waveform}; expected lines "
            "over frequency, frequency_domain or fmcw (a pulse has its replica)")
    return (acq.frequency_step_hz if acq.waveform == "frequency_domain" else
            acq.chirp_rate_hz_per_s / acq.sample_rate_hz)


def frequencies_hz(acq):
    """Frequency of each sample of a line over frequency, Hz."""
    return acq.first_frequency_hz() + np.arange(acq.samples) * step_hz(acq)


def _table(path):
    with open(path, encoding="utf-8") as f:
        head = f.readline()
    if any(c.isalpha() and c not in "eE" for c in head):
        table = read_csv(path, "a frequency response")
        for name in ("frequency_hz", "phase_rad"):
            if name not in table:
                raise RecordingError(f"{path} has no column {name}; expected frequency_hz, "
                                     "phase_rad and, if not 1, magnitude")
        return table["frequency_hz"], table["phase_rad"], table.get("magnitude")
    try:
        numbers = np.loadtxt(path, ndmin=2, delimiter="," if "," in head else None)
    except ValueError as e:
        raise RecordingError(f"{path} is no table of numbers: {e}") from None
    if 2 not in numbers.shape:
        raise RecordingError(f"{path} has {numbers.shape[0]} rows and {numbers.shape[1]} columns; "
                             "expected two rows or two columns, frequency in Hz and phase in rad")
    in_rows = numbers.shape[0] == 2
    if numbers.shape == (2, 2):  # frequencies are the large ones
        in_rows = numbers[0].min() > np.abs(numbers[1]).max()
    return (*(numbers if in_rows else numbers.T), None)


def read(path, acq):
    """H at the frequencies of an acquisition from a file, complex128 (samples,)."""
    wanted = frequencies_hz(acq)
    f, phase, magnitude = _table(path)
    magnitude = np.ones(len(f)) if magnitude is None else magnitude
    order = np.argsort(f)
    f, phase, magnitude = f[order], phase[order], magnitude[order]
    if not (np.all(np.isfinite(phase)) and np.all(np.isfinite(f)) and np.all(magnitude > 0)):
        raise RecordingError(f"{path} holds numbers that are not finite, or magnitudes that are "
                             "not positive; expected a frequency response")
    if np.any(np.diff(f) == 0):
        raise RecordingError(f"{path} has {f[np.argmin(np.diff(f))]:g} Hz twice; expected each "
                             "frequency once")
    slack = 1e-6 * abs(wanted).max()
    if wanted.min() < f[0] - slack or wanted.max() > f[-1] + slack:
        raise RecordingError(
            f"{path} has {f[0] / 1e9:.6g} to {f[-1] / 1e9:.6g} GHz, but the lines go from "
            f"{wanted.min() / 1e9:.6g} to {wanted.max() / 1e9:.6g} GHz; expected all of them")
    return np.interp(wanted, f, magnitude) * np.exp(1j * np.interp(wanted, f, np.unwrap(phase)))


def of(what, acq):
    """H of what a user gives: a file, or one number for each sample of a line."""
    if isinstance(what, (str, bytes)) or hasattr(what, "__fspath__"):
        return read(what, acq)
    frequencies_hz(acq)  # complains of a waveform that has none
    h = np.asarray(what, complex).ravel()
    if len(h) != acq.samples:
        raise RecordingError(f"the frequency response has {len(h)} values; expected one for each "
                             f"of the {acq.samples} samples of a line")
    if not np.all(np.isfinite(h)) or np.any(h == 0):
        raise RecordingError("the frequency response holds 0 or a number that is not finite; "
                             "expected something to divide by")
    return h


def measure(rec, *, range_m=None, target_m=None):
    """(H, standard error of its phase in rad) from a recording of one strong point.

    range_m    its slant range in all lines, m; or
    target_m   its place x, y, z, m, for a recording with positions

    H[k] is the mean over the lines of X[k], the phase of the way there and back taken off, in
    units of its own mean magnitude. What stands still and is no part of it (leakage, walls) has to
    be subtracted before. The error is that of the mean, from the spread of the lines, 2 or more;
    more than 0.2 rad at any frequency is refused.
    """
    acq = rec.acq
    f = frequencies_hz(acq)
    if rec.num_pulses < 2:
        raise RecordingError("the recording has 1 line; expected 2 or more, whose spread says how "
                             "well the response is known")
    if (range_m is None) == (target_m is None):
        raise RecordingError("give either range_m or target_m: the range of the reference, or its "
                             "place")
    if target_m is not None:
        if rec.tx is None:
            raise RecordingError("the recording has no antenna positions; give range_m in place of "
                                 "target_m")
        rx = rec.tx if rec.rx is None else rec.rx
        ranges = sum(np.linalg.norm(p - np.asarray(target_m, float), axis=1)
                     for p in (rec.tx, rx)) / 2
    else:
        ranges = np.full(rec.num_pulses, float(range_m))
    ranges = ranges + acq.range_bias_m
    total, power = np.zeros(acq.samples, complex), np.zeros(acq.samples)
    for start, lines in rec.batches():
        cycles = np.outer(2 * ranges[start:start + len(lines)] / C, f)
        here = lines * np.exp(-2j * np.pi * acq.phase_sign * (cycles - np.rint(cycles)))
        total += here.sum(axis=0)
        power += (np.abs(here) ** 2).sum(axis=0)
    mean = total / rec.num_pulses
    if not np.all(np.abs(mean) > 0):
        raise RecordingError("the reference has no energy at some frequency; expected a strong "
                             "point in every line")
    spread = np.sqrt(np.maximum(power / rec.num_pulses - np.abs(mean) ** 2, 0))
    error = spread / np.abs(mean) / np.sqrt(2 * (rec.num_pulses - 1))
    if np.max(error) > LARGEST_ERROR_RAD:
        k = int(np.argmax(error))
        raise RecordingError(
            f"the phase at {f[k] / 1e9:.6g} GHz is known to {error[k]:.2g} rad only, from "
            f"{rec.num_pulses} lines; expected {LARGEST_ERROR_RAD} rad: is the range right, is the "
            "point strong, is what stands still subtracted?")
    return mean / np.abs(mean).mean(), error


def write(path, acq, response):
    """A frequency response as a file that read() takes."""
    h = of(response, acq)
    with open(path, "w", encoding="utf-8") as out:
        out.write("frequency_hz,phase_rad,magnitude\n")
        for row in zip(frequencies_hz(acq), np.unwrap(np.angle(h)), np.abs(h)):
            out.write(",".join(f"{v:.10g}" for v in row) + "\n")


def run(args, open_recording):
    """``gr_sar response``; returns sentences for the user."""
    rec = open_recording(args)
    target = args.target["position_m"] if args.target else None
    h, error = measure(rec, range_m=args.range, target_m=target)
    write(args.output, rec.acq, h)
    level = 20 * np.log10(np.abs(h))
    return rec.notes + [
        f"{args.output}: response at {rec.acq.samples} frequencies from {rec.num_pulses} lines, "
        f"phase to {error.max():.2g} rad, magnitude {level.min():+.1f} to {level.max():+.1f} dB; "
        f"use it with --frequency-response {args.output}"]
