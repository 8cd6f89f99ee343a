# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file is, what is missing to focus it, and the command that would: ``gr_sar info``.

A file that can be read is described whatever it lacks; an error is one of the file.
"""

import inspect
import shlex

import numpy as np

from . import formats, samples, sigmf_files
from . import sar_python as _sar
from .frequency_response import frequencies_hz
from .recordings import REQUIRED, SIGMF_KEYS, RecordingError, lacking, open_recording, waveform_of

# A waveform that nothing tells: what is asked for is what this one needs.
ASSUMED = "pulsed_lfm"


def look(paths, **options):
    """Open a file as far as it goes.

    Returns (recording or None, stream or None, missing): missing is a list of (name, SigMF
    key or "", what it is), empty when there is a recording. Options: of open_recording().
    """
    paths = [paths] if isinstance(paths, str) else list(paths)
    chosen = {k: options.get(k) for k in formats.OPTIONS}
    found, named = formats.recognise(paths, chosen)
    if found.open is None:
        return open_recording(paths, **options), None, []
    stream = formats.open_found(found, named)
    missing = missing_of(stream, options)
    if missing:
        return None, stream, missing
    rec = open_recording(stream, **{k: v for k, v in options.items()
                                    if k not in formats.OPTIONS})
    rec.paths = paths
    return rec, stream, []


# Options of open_recording() that are no parameters of the acquisition.
NO_FIELDS = set(inspect.signature(open_recording).parameters)


def overrides_of(options):
    """The acquisition fields among options of open_recording()."""
    return {k: v for k, v in options.items() if k not in NO_FIELDS and v is not None}


def known_of(stream, options):
    """(acquisition fields, what is missing for lack of one value for all captures)."""
    overrides, captures = overrides_of(options), stream.metadata["captures"]
    try:
        return sigmf_files.fields_of(stream.metadata, stream.source, overrides), []
    except RecordingError as e:
        first = dict(stream.metadata, captures=captures[:1])
        fields = sigmf_files.fields_of(first, stream.source, overrides)
        return fields, [("capture", "", str(e))]


def missing_of(stream, options):
    g = stream.metadata["global"]
    fields, missing = known_of(stream, options)
    if stream.refused:
        missing.append((*stream.lacks, stream.refused))
    waveform = waveform_of(fields)
    if waveform is None:
        key, what = SIGMF_KEYS["waveform"]
        missing.append(("waveform", key, what + f"; {ASSUMED} is taken for what follows"))
        fields["waveform"] = ASSUMED
    missing += [(n,) + SIGMF_KEYS[n] for n in lacking(fields)]
    if waveform == "replica" and not g.get("sar:replica"):
        missing.append(("replica", "sar:replica", "samples of the pulse, [re, im] pairs, in a "
                        "metadata file (--meta)"))
    key = "sar:intermediate_frequency_hz"
    if not stream.dtype.complex and not stream.refused and waveform != "fmcw" and (
            key not in g and options.get("intermediate_frequency_hz") is None):
        missing.append(("intermediate_frequency_hz", key, "frequency in the real samples that "
                        "stands for the carrier, Hz"))
    return missing


def focus_command(tokens, inputs, stream, missing, positions, velocity):
    """The gr_sar focus command: what was given, and capital letters for what is missing."""
    more = list(stream.needs) if stream is not None else []
    words = list(tokens)
    if more and not more[0].startswith("-"):  # a further input stands behind the others
        at = max(k for k, t in enumerate(words) if t in inputs) + 1
        words.insert(at, more.pop(0))
    words += ["-o", "out"] + more
    for name, _, _ in missing:
        if name == "waveform":
            words += ["--set", f"waveform={ASSUMED}"]
        elif name == "replica":
            words += ["--meta", "REPLICA.sigmf-meta"]
        elif name == "capture":
            words += ["--capture", "0"]
        elif name in SIGMF_KEYS or name == "intermediate_frequency_hz":
            words += ["--set", f"{name}={name.upper()}"]
    if not positions and not velocity:
        words += ["--positions", "POSITIONS.csv"]
    return "gr_sar focus " + shlex.join(words)


def describe(paths, tokens=None, **options):
    """Everything that is known about a file, as a dict; text() prints it."""
    rec, stream, missing = look(paths, **options)
    paths = [paths] if isinstance(paths, str) else list(paths)
    out = {"input": paths}
    if stream is not None:
        g = stream.metadata["global"]
        level = samples.measured(stream)
        rate = overrides_of(options).get("sample_rate_hz", g.get("core:sample_rate"))
        known = not (stream.refused and "--datatype" in stream.needs)
        out["stream"] = {
            "samples": stream.count, "complex": stream.dtype.complex, "channels": stream.channels,
            "channel": stream.channel, "sample_rate_hz": rate, "bytes": stream.store.size,
            "duration_s": stream.count / rate if rate and rec is None else None,
            "level": dict(level) if known else None,
            "captures": [{k: v for k, v in c.items() if k in (
                "core:sample_start", "core:frequency", "core:datetime", "core:global_index")}
                for c in stream.metadata["captures"]]}
        if not known:
            out["stream"]["samples"] = None
    if rec is not None:
        out.update({
            "format": rec.kind, "datatype": rec.datatype, "pulses": rec.num_pulses,
            "dropped_samples": rec.dropped_samples, "acquisition": rec.acq.to_dict(),
            "positions": rec.tx is not None, "bistatic": rec.rx is not None, "hints": rec.hints,
            "used": rec.used, "notes": list(rec.notes)})
        positions, velocity = rec.tx is not None, rec.acq.effective_velocity_m_s > 0
    else:
        fields, _ = known_of(stream, options)
        notes = list(stream.notes)
        if stream.stray_bytes and known:
            what = "sample" if not stream.stray_samples else (
                f"chirp: {stream.stray_samples} samples of the channel are dropped")
            notes.append(f"{stream.stray_bytes} bytes at the end are not a whole {what}")
        if known:
            notes += samples.hints_of(stream, level, waveform_of(fields) == "frequency_domain")
        out.update({"format": stream.kind, "datatype": stream.dtype.name if known else None,
                    "known": fields, "notes": notes})
        positions = bool(options.get("positions") or sigmf_files.navigation_of(stream))
        velocity = fields.get("effective_velocity_m_s")
    out["missing"] = [{"name": n, "key": k or None, "what": w} for n, k, w in missing]
    out["command"] = focus_command(tokens or paths, paths, stream, missing, positions, velocity)
    return out, rec


def _quantity(value):
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _stream_lines(s):
    kind = "complex" if s["complex"] else "real"
    if s["samples"] is None:
        yield f"  bytes             {s['bytes']}"
        return
    text = f"{s['samples']} {kind}"
    if s["duration_s"] is not None:
        text += f", {s['duration_s']:.6g} s at {_quantity(float(s['sample_rate_hz']))} Hz"
    yield f"  samples           {text}"
    if s["channels"] > 1:
        yield f"  channels          {s['channels']}, of which channel {s['channel']} is read"
    v = s["level"]
    if v["samples"]:
        text = f"rms {v['rms']:.4g}, peak {v['peak']:.4g}"
        if v["level_db"] is not None:
            text += f", rms {v['level_db']:.1f} dB of full scale"
        yield (f"  level             {text}; constant {100 * v['dc_share']:.2g} % of the power, "
               f"clipped {100 * v['clipped_share']:.2g} % ({v['samples']} samples looked at)")
    if len(s["captures"]) > 1:
        for k, c in enumerate(s["captures"]):
            yield f"  capture {k:<9} " + ", ".join(f"{n[5:]} {_quantity(v)}" for n, v in c.items())
    elif s["captures"] and "core:datetime" in s["captures"][0]:
        yield f"  recorded          {s['captures'][0]['core:datetime']}"


def text(d, rec):
    """Lines that say what describe() found."""
    yield ", ".join(d["input"])
    yield f"  format            {d['format']}, {d['datatype'] or 'unknown data type'}"
    if "stream" in d:
        yield from _stream_lines(d["stream"])
    if rec is not None:
        yield from _recording_lines(rec)
    else:
        for k, v in d["known"].items():
            yield f"  {k:<24} {_quantity(v)}"
    for n in d["notes"]:
        yield f"  note: {n}"
    if d["missing"]:
        yield "missing to focus it:"
        for m in d["missing"]:
            yield f"  {m['name']:<24} {m['key'] or '':<34} {m['what']}"
        if any(m["name"] == "waveform" for m in d["missing"]):
            for waveform, names in REQUIRED.items():
                more = [n for n in names if n not in REQUIRED[ASSUMED]]
                less = [n for n in REQUIRED[ASSUMED] if n not in names]
                if waveform != ASSUMED:
                    yield (f"  waveform {waveform}: " + (f"{', '.join(more)} in place of "
                           if more else "no ") + " and ".join(less))
        if any(m["name"] == "samples" for m in d["missing"]):
            yield ("  lines are cut from the first sample on, one PRI after the other; where a radio "
                   "ran freely, the block pulse_framer finds its pulses")
    if "--positions" in d["command"] and "POSITIONS.csv" in d["command"]:
        yield ("no positions: a file of time_s or pulse, x_m, y_m, z_m (--positions), or for a "
               "straight flight its speed (--set effective_velocity_m_s=...)")
    yield "to focus it" + (" (capital letters: yours to fill in):" if d["missing"]
                           or "POSITIONS.csv" in d["command"] else ":")
    yield "  " + d["command"]


def _recording_lines(rec):
    acq = rec.acq
    yield (f"  pulses            {rec.num_pulses} of {acq.samples} samples, "
           f"{rec.times_s[-1] - rec.times_s[0]:.4g} s")
    yield f"  dropped samples   {rec.dropped_samples}"
    for k, v in acq.to_dict().items():
        if v not in (0.0, (), (0.0, 0.0, 0.0)):
            yield f"  {k:<24} {_quantity(v)}"
    axis = acq.compressed_axis(1)
    yield (f"  bandwidth         {acq.bandwidth_hz() / 1e6:.6g} MHz, slant resolution "
           f"{_sar.speed_of_light / 2 / acq.bandwidth_hz():.4g} m")
    yield f"  wavelength        {acq.wavelength_m():.6g} m"
    if acq.waveform == "fmcw":
        first, last = frequencies_hz(acq)[[0, -1]]
        shift = abs(acq.doppler_shift_m(acq.prf_hz / 2))
        yield (f"  sweep             {first / 1e9:.6g} to {last / 1e9:.6g} GHz, the middle is "
               f"{acq.centre_frequency_hz() / 1e9:.6g} GHz")
        yield (f"  motion in a sweep an echo with a Doppler frequency of half the PRF is seen "
               f"{shift:.3g} m off ({shift / axis.spacing_m:.2g} cells); sweep_alignment takes that out")
    where = axis.range_reference if axis.range_reference == "antenna" else "reference point"
    yield (f"  range line        {axis.first_m:.3f} m to "
           f"{axis.first_m + (axis.samples - 1) * axis.spacing_m:.3f} m, step {axis.spacing_m:.4g} m"
           f", from the {where}")
    if rec.tx is None:
        yield "  positions         none (back-projection needs them)"
    else:
        length = float(np.linalg.norm(np.diff(rec.tx, axis=0), axis=1).sum())
        first, last = (", ".join(f"{v:.2f}" for v in p) for p in (rec.tx[0], rec.tx[-1]))
        yield (f"  positions         ({first}) m to ({last}) m, {length:.2f} m of track"
               + ("" if rec.rx is None else ", separate receiver"))
    for t in rec.hints.get("targets", ()):
        yield f"  target            {t['name']} at {tuple(round(v, 3) for v in t['position_m'])} m"
    for k, v in sorted(rec.used.items()):
        yield f"  used: {k} = {v}"


def convert(paths, output, to=None, **options):
    """Write a recording as SigMF; one that lacks parameters of the radar, as far as it goes.

    Returns sentences for the user.
    """
    rec, stream, missing = look(paths, **options)
    if rec is not None:
        meta, pulses, _, why = sigmf_files.convert(rec, output, to)
        return rec.notes + [why] * bool(why) + [f"{meta}: {pulses} pulses"]
    if stream.refused and ("--datatype" in stream.needs or stream.kind == "ti_dca1000"):
        raise RecordingError(stream.refused)
    for name in ("start", "stop", "start_s", "stop_s", "subtract_mean", "positions",
                 "positions_origin", "clock_offset_s", "lever_arm_m"):
        if options.get(name) is not None:
            raise RecordingError(f"{name} needs lines, for which {stream.source} lacks "
                                 + ", ".join(n for n, _, _ in missing))
    meta, _, count = sigmf_files.write_stream(
        output, stream, overrides_of(options), swap_iq=options.get("swap_iq", False),
        conjugate=options.get("conjugate", False), datatype=to,
        description="converted by gr_sar convert")
    return stream.notes + [
        "still missing to focus it, keys for that file: "
        + ", ".join(k for _, k, _ in missing if k), f"{meta}: {count} samples"]
