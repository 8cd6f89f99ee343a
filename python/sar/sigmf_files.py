# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings with ``sar:`` keys (docs/sigmf_sar.md): pairs, archives, conforming or not.

Also how any stream of samples becomes a recording, since what a file says about itself is
held as SigMF metadata whatever its format is.
"""

import csv
import hashlib
import io
import json
import math
import os
import re
import tarfile

import numpy as np

from .recordings import (SIGMF_KEYS, Recording, RecordingError, analytic, attach_navigation,
                         check_mode, check_names, make_acquisition)
from .samples import bytes_of, data_type, hints_of, measured, pieces_of, sample_stream, turned

EXTENSION_VERSION = "0.4.0"
NAVIGATION = (".nav.csv", ".nmea")  # of a record beside a dataset

def resolve(path):
    """(metadata file, data file) of a SigMF name in any of its spellings, or None."""
    path = str(path)
    for suffix in (".sigmf-meta", ".sigmf-data"):
        if path.endswith(suffix):
            path = path[: -len(suffix)]
            break
    meta = path + ".sigmf-meta"
    if not os.path.exists(meta):
        return None
    return meta, path + ".sigmf-data"


def parse_metadata(text, path):
    """The JSON of a .sigmf-meta file, with its three parts in place."""
    try:
        metadata = json.loads(bytes(text).decode("utf-8"))
    except json.JSONDecodeError as e:
        raise RecordingError(f"{path} is not JSON: line {e.lineno}, {e.msg}") from None
    except UnicodeDecodeError:
        raise RecordingError(f"{path} is not text; expected the JSON of a SigMF file") from None
    if isinstance(metadata, dict) and isinstance(metadata.get("collection"), dict):
        names = [str(v.get("name")) for v in metadata["collection"].get("core:streams", ())
                 if isinstance(v, dict)]
        raise RecordingError(f"{path} is a SigMF collection; expected one of its recordings: "
                             + ", ".join(names))
    if not isinstance(metadata, dict) or not isinstance(metadata.get("global"), dict):
        raise RecordingError(f"{path} has no object 'global'; expected SigMF metadata")
    for part in ("captures", "annotations"):
        metadata.setdefault(part, [])
        if not (isinstance(metadata[part], list)
                and all(isinstance(v, dict) for v in metadata[part])):
            raise RecordingError(f"{path}: {part} is not a list of objects")
    return metadata


def load_metadata(path):
    """Metadata of a .sigmf-meta file."""
    with open(path, "rb") as f:
        return parse_metadata(f.read(), path)


def open_pair(path, options):
    """Stream of a .sigmf-meta file with its data, named by either, or by neither suffix."""
    pair = resolve(path)
    if not pair:
        raise RecordingError(f"{path} has no partner with the other suffix (.sigmf-meta and "
                             ".sigmf-data belong together)")
    meta_path, data_path = pair
    metadata = load_metadata(meta_path)
    dataset = metadata["global"].get("core:dataset")
    if dataset:
        data_path = os.path.join(os.path.dirname(meta_path), str(dataset))
    source = os.path.basename(meta_path)
    if metadata["global"].get("core:metadata_only"):
        raise RecordingError(f"{source}: core:metadata_only is true; expected samples")
    if not os.path.exists(data_path) or os.path.isdir(data_path):
        raise RecordingError(f"{data_path} does not exist (the samples of {source})")
    return stream_of(bytes_of(data_path), metadata, options, source=source, kind="sigmf",
                     fix="add it to that file", base=meta_path[: -len(".sigmf-meta")])


def archive_of(path):
    """(archive, name of a recording in it or "") for x.sigmf and x.sigmf/name, else None."""
    m = re.match(r"^(.*\.sigmf)(?:/(.*))?$", path)
    return (m.group(1), m.group(2) or "") if m and os.path.isfile(m.group(1)) else None


def open_archive(path, options):
    """Stream of a recording in a SigMF archive, read in place: nothing is unpacked."""
    path, name = archive_of(path)
    try:
        with tarfile.open(path, "r:") as tar:
            members = {os.path.normpath(m.name): m for m in tar.getmembers() if m.isfile()}
    except tarfile.ReadError:
        with open(path, "rb") as f:
            packed = f.read(6)
        how = next((h for magic, h in ((b"\x1f\x8b", "gunzip"), (b"BZh", "bunzip2"),
                                       (b"\xfd7zXZ", "unxz")) if packed.startswith(magic)), None)
        raise RecordingError(
            f"{path} is compressed; expected a plain tar file ({how} -c {path} > plain.sigmf)"
            if how else f"{path} is not a whole SigMF archive, which is a tar file") from None
    found = sorted(m[: -len(".sigmf-meta")] for m in members if m.endswith(".sigmf-meta"))
    chosen = [f for f in found if not name or name in (f, os.path.basename(f))]
    if len(chosen) != 1:
        raise RecordingError(
            f"{path} holds {len(found)} recordings" + (f", none is '{name}'" if name else "")
            + (f"; expected {path}/NAME with NAME one of {', '.join(found)}" if found else
               "; expected a .sigmf-meta and a .sigmf-data file in it"))
    base = chosen[0]
    store = bytes_of(path)

    def member(file):
        m = members.get(file)
        return m and pieces_of(store, [(m.offset_data, m.size)])

    text = member(base + ".sigmf-meta")
    source = f"{os.path.basename(path)}/{base}.sigmf-meta"
    metadata = parse_metadata(text.read(0, text.size), source)
    dataset = str(metadata["global"].get("core:dataset") or "")
    beside = os.path.dirname(base)
    data = os.path.join(beside, dataset) if dataset else base + ".sigmf-data"
    if metadata["global"].get("core:metadata_only"):
        raise RecordingError(f"{source}: core:metadata_only is true; expected samples")
    if data not in members:
        raise RecordingError(f"{path} has no {data} (the samples of {source})")
    part = member(data)
    part.name = os.path.basename(data)
    stream = stream_of(part, metadata, options, source=source, kind="sigmf archive",
                       fix="add it to that file", base="")
    named = metadata["global"].get("sar:positions")
    for n in ([os.path.join(beside, str(named))] if named else []) + [base + s for s in NAVIGATION]:
        if n in members:
            text = member(n)
            stream.nav = io.StringIO(bytes(text.read(0, text.size)).decode("utf-8"))
            stream.nav.name = n
            break
    return stream


def stream_of(store, metadata, options, *, source=None, kind="raw", base=None,
              fix="give a metadata file", named=None, notes=()):
    """Stream of flat samples with SigMF metadata; ``named``: data type by the file's name."""
    g, notes = metadata["global"], list(notes)
    source = source or os.path.basename(store.name)
    name = options.get("datatype") or g.get("core:datatype")
    refused = None
    if name is None and named:
        name = named
        notes.append(f"data type {name} taken from the file name")
    if name is None:
        name = "ru8"
        refused = (f"{source} does not say core:datatype (for example cf32_le or ci16_le); {fix} "
                   "or give datatype=...")
    dtype = data_type(name)
    if options.get("real") and dtype.complex:
        dtype = data_type("r" + name[1:])
        notes.append(f"taken for real samples, {dtype.name}, as asked")
    channels = g.get("core:num_channels", 1)
    if isinstance(channels, bool) or not isinstance(channels, int) or channels < 1:
        raise RecordingError(f"{source}: core:num_channels is {channels!r}; expected 1 or more")
    if options.get("channels") is not None:
        channels = options["channels"]
    pieces, captures = _pieces(metadata, source, dtype.sample_bytes * channels, store.size, options)
    g = dict(g, **{"core:datatype": dtype.name})
    earlier = []
    if options.get("capture") is not None:
        earlier, captures = captures, captures[-1:]
        g.pop("sar:num_pulses", None)  # of the whole
    metadata = dict(metadata, captures=captures, **{"global": g})
    stream = sample_stream(pieces_of(store, pieces), dtype, channels=channels,
                           channel=options.get("channel"), kind=kind, source=source, fix=fix,
                           metadata=metadata, notes=notes, refused=refused,
                           lacks=("datatype", "core:datatype"),
                           needs=("--datatype", "DATATYPE") if refused else ())
    stream.base, stream.earlier = base, earlier
    return stream


def _whole(value, key, source):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RecordingError(f"{source}: {key} is {value!r}; expected a whole number, 0 or more")
    return value


def _pieces(metadata, source, frame_bytes, size, options):
    """Stretches of bytes that hold samples, and the captures: up to the one that was chosen.

    Headers of non-conforming datasets stand before the samples of their capture
    (core:header_bytes); core:sample_start does not count them.
    """
    captures = sorted(metadata["captures"], key=lambda c: _whole(
        c.get("core:sample_start", 0), "core:sample_start", source))
    wanted = options.get("capture")
    if wanted is not None and not 0 <= wanted < len(captures):
        raise RecordingError(f"capture is {wanted}; expected 0 to {len(captures) - 1}: {source} "
                             f"has {len(captures)}")
    end = size - _whole(metadata["global"].get("core:trailing_bytes", 0), "core:trailing_bytes",
                        source)
    header = _whole(options.get("header_bytes") or 0, "header_bytes", source)
    if header > size:
        raise RecordingError(f"header_bytes is {header}; expected at most {size}, the bytes of "
                             f"{source}")
    pieces = [] if captures else [(header, end - header)]
    for k, c in enumerate(captures):
        header += _whole(c.get("core:header_bytes", 0), "core:header_bytes", source)
        start = header + c.get("core:sample_start", 0) * frame_bytes
        stop = end
        if k + 1 < len(captures):
            stop = min(end, header + captures[k + 1].get("core:sample_start", 0) * frame_bytes)
        if wanted in (None, k):
            pieces.append((start, stop - start))
    if wanted is None:
        return pieces, captures
    said, upto = {}, []
    for c in captures[: wanted + 1]:
        # what a capture does not say holds on from those before it
        said.update({k: c[k] for k in ("core:frequency", "sar:prf_hz", "core:sample_rate")
                     if k in c})
        upto.append({**said, **c})
    return pieces, upto


def _number(value, key, source):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RecordingError(f"{source}: {key} is {value!r}; expected a number")
    return value


def fields_of(metadata, source, overrides):
    """Acquisition fields out of the metadata; overrides win."""
    g = metadata["global"]
    fields = {}
    for name, (key, _) in SIGMF_KEYS.items():
        if key in g and key != "core:frequency":
            fields[name] = g[key]
    captures = metadata["captures"]
    if captures:
        for key, name in (("core:frequency", "carrier_hz"), ("sar:prf_hz", "prf_hz"),
                          ("core:sample_rate", "sample_rate_hz")):
            values = [(c.get("core:sample_start", 0), c[key]) for c in captures if key in c]
            for at, v in values:
                _number(v, key, source)
                known = fields.get(name, values[0][1]) if at > 0 else values[0][1]
                # the first segment may restate the global value, no segment may change it
                if len(captures) > 1 and v != values[0][1]:
                    raise RecordingError(
                        f"{source}: {key} changes from {values[0][1]} to {v} at sample {at}; "
                        "one image is formed at one value, choose a capture (capture=0, "
                        "--capture 0)")
                if len(captures) > 1 and v != known:
                    raise RecordingError(
                        f"{source}: {key} changes from {known} to {v} at sample {at}; one image is "
                        "formed at one value, choose a capture (capture=0, --capture 0)")
            if values:
                fields[name] = values[0][1]
    if "carrier_hz" not in fields and "core:frequency" in g:
        fields["carrier_hz"] = g["core:frequency"]
    text = ("waveform", "range_reference", "pulse_reference", "look_side", "sweep")
    for name, value in fields.items():
        key = SIGMF_KEYS[name][0]
        if name == "reference_point_m":
            fields[name] = _vector(value, key, source)
        elif name.endswith("_slopes"):
            if not isinstance(value, (list, tuple)) or len(value) > 3:
                raise RecordingError(f"{source}: {key} is {value!r}; expected a list of at most "
                                     "three numbers")
            fields[name] = tuple(float(_number(v, key, source)) for v in value)
        elif name in text:
            if not isinstance(value, str):
                raise RecordingError(f"{source}: {key} is {value!r}; expected text")
        else:
            _number(value, key, source)
    overrides = {k: v for k, v in overrides.items() if v is not None}
    check_names(overrides)
    for name, value in overrides.items():
        if name not in text and not name.endswith("_slopes") and name != "reference_point_m" and (
                isinstance(value, (bool, str)) or not math.isfinite(value)):
            raise RecordingError(f"{name} is {value!r}; expected a number")
    fields.update(overrides)
    return fields


def _vector(value, key, source):
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise RecordingError(f"{source}: {key} is {value!r}; expected three numbers")
    return tuple(float(_number(v, key, source)) for v in value)


def recording_of(stream, overrides, options):
    """Recording of a stream: its lines, with what its metadata and the caller say."""
    g, source, fix = stream.metadata["global"], stream.source, stream.fix
    check_mode(g.get("sar:mode"), source)
    if stream.refused:
        raise RecordingError(stream.refused)
    notes, dtype = list(stream.notes), stream.dtype
    if stream.count == 0 and not stream.stray_bytes:
        raise RecordingError(f"{stream.store.path} holds no samples (of {source})")
    fields = fields_of(stream.metadata, source, overrides)
    replica_text = options.get("replica", g.get("sar:replica"))
    acq = make_acquisition(fields, source, fix)
    if "waveform" not in fields:
        notes.append(f"no sar:waveform: taken for {acq.waveform}")
    scale = float(_number(g.get("sar:scale", 1.0), "sar:scale", source))

    n = stream.samples = acq.samples
    pulses, rest = divmod(stream.count, n)
    dropped, stray = rest + stream.stray_samples, stream.stray_bytes
    declared = g.get("sar:num_pulses")
    where = os.path.basename(stream.store.name)
    if declared is not None:
        declared = int(_number(declared, "sar:num_pulses", source))
        if pulses > declared:
            dropped += (pulses - declared) * n
            pulses = declared
            notes.append(f"{where} is longer than the {declared} pulses that sar:num_pulses says; "
                         f"the {dropped} samples behind them are dropped")
        elif pulses < declared:
            notes.append(f"{where} holds {pulses} whole pulses of the {declared} that "
                         f"sar:num_pulses says; {dropped} samples of an incomplete pulse are "
                         "dropped")
    if (dropped or stray) and not any("dropped" in t for t in notes):
        notes.append(f"{where} ends inside a pulse: {pulses} whole pulses are used, {dropped} "
                     "samples are dropped")
    if stray and not stream.stray_samples:
        notes.append(f"{stray} bytes at the end of {where} are not a whole {dtype.name} sample")
    if pulses == 0:
        raise RecordingError(f"{where} holds {stream.store.size} bytes, less than one pulse of {n} "
                             f"{dtype.name} samples ({n * dtype.sample_bytes} bytes)")

    def read_lines(a, b, wide=False):
        return stream.read(a * n, b * n, scale, wide).reshape(-1, n)

    lines = to_complex(read_lines, dtype, acq, options.get("intermediate_frequency_hz"), g, notes,
                       source)
    hints = {}
    if "sar:scene_centre_m" in g:
        hints["scene_centre_m"] = _vector(g["sar:scene_centre_m"], "sar:scene_centre_m", source)
    if "sar:scene_extent_m" in g:
        extent = g["sar:scene_extent_m"]
        if not isinstance(extent, list) or len(extent) != 2:
            raise RecordingError(f"{source}: sar:scene_extent_m is {extent!r}; expected two "
                                 "lengths")
        hints["scene_extent_m"] = tuple(float(_number(v, "sar:scene_extent_m", source))
                                        for v in extent)
    for key in ("mode", "beam_rad", "beam_squint_rad"):
        if "sar:" + key in g:
            value = g["sar:" + key]
            hints[key] = value if key == "mode" else float(_number(value, "sar:" + key, source))
    if "sar:targets" in g:
        hints["targets"] = read_targets(g["sar:targets"], source)
    notes += hints_of(stream, measured(stream), acq.waveform == "frequency_domain")
    t0 = float(_number(g.get("sar:start_time_s", 0.0), "sar:start_time_s", source))
    first, before_s = _before(stream, acq)
    times = t0 + before_s + _pulse_times(stream, acq, pulses, notes)
    if "sar:pulse_times_s" in g:
        times = np.asarray(g["sar:pulse_times_s"], float)[round(first) :][:pulses]
        if len(times) != pulses:
            raise RecordingError(f"{source}: sar:pulse_times_s has {len(times)} values for "
                                 f"{pulses} pulses")
    rec = Recording(acq, lines, pulses, times, kind=stream.kind, datatype=dtype.name,
                    paths=[stream.store.path], dropped_samples=dropped, notes=notes, hints=hints,
                    metadata=stream.metadata, replica=read_replica(replica_text, source))
    rec.stream, rec.pulses_before = stream, first
    if dtype.complex:
        rec.kept = dtype.written, scale, lambda a, b: read_lines(a, b, wide=True)
    if acq.waveform == "replica" and rec.replica is None:
        raise RecordingError(f"{source} does not say sar:replica (samples of the pulse as [re, "
                             f"im] pairs), which waveform replica needs; {fix}")
    nav = options.get("positions") or navigation_of(stream)
    if nav:
        defaults = {k: g["sar:" + k] for k in ("clock_offset_s", "lever_arm_m")
                    if "sar:" + k in g}
        rec = attach_navigation(rec, nav, options, defaults)
        if g.get("sar:drop_standstill"):
            rec.hints["standstill"] = True
    return rec


def navigation_of(stream):
    """The navigation file beside the samples, or in the same archive, or None."""
    g, source = stream.metadata["global"], stream.source
    if stream.nav is not None:
        return stream.nav
    base = stream.base
    if base is None:
        if not isinstance(stream.store.path, str) or not os.path.isfile(stream.store.path):
            return None
        base = stream.store.path
    elif not base:
        return None
    if g.get("sar:positions"):
        named = os.path.join(os.path.dirname(base), g["sar:positions"])
        if not os.path.exists(named):
            raise RecordingError(f"{source}: sar:positions names {g['sar:positions']}, which "
                                 "does not exist beside it")
        return named
    beside = [b + s for s in NAVIGATION for b in (base, os.path.splitext(base)[0])]
    return next((p for p in beside if os.path.exists(p)), None)


def _before(stream, acq):
    """(pulses, seconds) from the first pulse of a recording to the capture that was chosen."""
    captures = stream.earlier
    if len(captures) < 2:
        return 0, 0.0
    start = [c.get("core:sample_start", 0) for c in captures]
    index = [c.get("core:global_index") for c in (captures[0], captures[-1])]
    pulses = (start[-1] - start[0]) / acq.samples
    if None not in index and acq.sample_rate_hz > 0:
        return pulses, (index[1] - index[0]) / acq.sample_rate_hz
    prf_hz = stream.metadata["global"].get("sar:prf_hz", acq.prf_hz)
    return pulses, sum((b - a) / acq.samples / c.get("sar:prf_hz", prf_hz)
                       for a, b, c in zip(start, start[1:], captures))


def _pulse_times(stream, acq, pulses, notes):
    """Times of pulses, s, from the first one on: evenly spaced, unless the file says more."""
    times = np.arange(pulses) / acq.prf_hz
    if stream.frames:
        chirps, period_s = stream.frames
        k = np.arange(pulses)
        notes.append(f"frames of {chirps} chirps start each {period_s:g} s")
        return k // chirps * period_s + k % chirps / acq.prf_hz
    captures = stream.metadata["captures"]
    index = [c.get("core:global_index") for c in captures]
    if len(captures) < 2 or any(i is None for i in index):
        return times
    start = [c.get("core:sample_start", 0) - captures[0].get("core:sample_start", 0)
             for c in captures]
    lost = 0
    for k in range(1, len(captures)):
        jump = index[k] - index[k - 1] - (start[k] - start[k - 1])
        if jump == 0:
            continue
        at, off = divmod(start[k], acq.samples)
        if jump < 0:
            raise RecordingError(f"{stream.source}: core:global_index of capture {k} is {index[k]}, "
                                 f"{-jump} before the end of the capture in front of it")
        if off:
            raise RecordingError(
                f"{stream.source}: {jump} samples are lost at sample {start[k]} "
                f"(core:global_index), inside pulse {at}; lines behind it would be shifted, choose "
                f"a capture (capture={k}, --capture {k})")
        if acq.sample_rate_hz <= 0:
            raise RecordingError(f"{stream.source}: core:global_index jumps at sample {start[k]}, "
                                 "which needs core:sample_rate; expected both or none")
        lost += 1
        begun = (index[k] - index[0]) / acq.sample_rate_hz
        times[at:] = begun + np.arange(max(0, pulses - at)) / acq.prf_hz
    if lost:
        notes.append(f"core:global_index jumps before {lost} captures: pulses are at the times "
                     "that it says")
    return times


def to_complex(read_lines, dtype, acq, intermediate_frequency_hz, g, notes, source):
    """Wrap a reader so that it gives complex lines."""
    if dtype.complex:
        return read_lines
    if acq.in_frequency_domain() and acq.waveform != "fmcw":
        raise RecordingError(f"{source}: core:datatype is {dtype.name}, real, but waveform "
                             "frequency_domain needs complex samples")
    key = "sar:intermediate_frequency_hz"
    f_if = g.get(key) if intermediate_frequency_hz is None else intermediate_frequency_hz
    if f_if is None and acq.waveform != "fmcw":
        raise RecordingError(f"{source} does not say {key} (the frequency in the real samples "
                             "that stands for the carrier, Hz), which real data needs; add it "
                             "to the metadata or give intermediate_frequency_hz=...")
    f_if = float(_number(f_if or 0.0, key, source))
    notes.append(f"real samples ({dtype.name}) are made analytic along range"
                 + (f" and shifted down by {f_if / 1e6:.6g} MHz" if f_if else ""))
    return lambda a, b: analytic(read_lines(a, b), acq, f_if)


def read_targets(value, source):
    """sar:targets, a list of {position_m, amplitude [re, im], name}, checked."""
    targets = []
    if not isinstance(value, list):
        raise RecordingError(f"{source}: sar:targets is not a list")
    for i, t in enumerate(value):
        if not isinstance(t, dict) or "position_m" not in t:
            raise RecordingError(f"{source}: sar:targets[{i}] has no position_m")
        amplitude = t.get("amplitude", [1.0, 0.0])
        if isinstance(amplitude, (int, float)):
            amplitude = [amplitude, 0.0]
        targets.append({"name": str(t.get("name", f"T{i + 1}")),
                        "position_m": _vector(t["position_m"], f"sar:targets[{i}].position_m",
                                              source),
                        "amplitude": complex(*[float(a) for a in amplitude])})
    return targets


def read_replica(value, source):
    if value is None:
        return None
    a = np.asarray(value, float)
    if a.ndim != 2 or a.shape[1] != 2 or not len(a) or not np.isfinite(a).all():
        raise RecordingError(f"{source}: sar:replica is not a list of [re, im] pairs")
    return (a[:, 0] + 1j * a[:, 1]).astype(np.complex64)


# ---- writing ----------------------------------------------------------------------------


def _names(path):
    base = re.sub(r"\.sigmf(-meta|-data)?$", "", str(path))
    os.makedirs(os.path.dirname(os.path.abspath(base)), exist_ok=True)
    return base, base + ".sigmf-meta", base + ".sigmf-data"


# Keys that say how samples lie in a file, and so belong to that file alone.
OF_THE_FILE = {"core:datatype", "core:version", "core:sha512", "core:num_channels", "core:dataset",
               "core:trailing_bytes", "core:metadata_only", "core:collection", "core:offset",
               "sar:iq_swapped", "sar:positions"}
# Keys that a recording has worked in already, or that are written from what it is.
OF_THE_LINES = {key for key, _ in SIGMF_KEYS.values()} | {
    "sar:" + k for k in ("num_pulses", "start_time_s", "pulse_times_s", "scale", "replica",
                         "targets", "clock_offset_s", "lever_arm_m", "drop_standstill",
                         "intermediate_frequency_hz")}


def _carried(metadata, but):
    """Global keys of another file that hold for what is made of it, too."""
    g = {k: v for k, v in metadata.get("global", {}).items() if k not in but}
    others = [e for e in g.pop("core:extensions", None) or ()
              if isinstance(e, dict) and e.get("name") != "sar"]
    if others:
        g["core:extensions"] = others
    return g


def _write_metadata(meta_path, data_path, g, captures, annotations=()):
    """Write the .sigmf-meta of data that is there, with its hash."""
    digest = hashlib.sha512()
    with open(data_path, "rb") as f:
        for block in iter(lambda: f.read(1 << 22), b""):
            digest.update(block)
    first = {"core:datatype": g["core:datatype"], "core:version": "1.0.0", "core:num_channels": 1,
             "core:sha512": digest.hexdigest(),
             "core:extensions": [{"name": "sar", "version": EXTENSION_VERSION, "optional": True}]}
    g = dict(g, **{"core:extensions": first["core:extensions"] + g.get("core:extensions", [])})
    with open(meta_path, "w", encoding="utf-8") as f:
        json.dump({"global": {**first, **g}, "captures": captures,
                   "annotations": list(annotations)}, f, indent=1)
        f.write("\n")


def _not_over_itself(data_path, sources):
    for p in sources:
        if isinstance(p, str) and os.path.exists(p) and os.path.exists(data_path) and (
                os.path.samefile(p, data_path)):
            raise RecordingError(f"{data_path} is what is read; expected another name to write")


def write_stream(path, stream, overrides=None, *, swap_iq=False, conjugate=False, datatype=None,
                 description=""):
    """Write the samples of a stream as SigMF, with what is known of it and no more.

    The samples keep their data type, or get one that holds each of them (24 bits in 32),
    unless ``datatype`` is given. A recording of which more becomes known later: add the keys.
    Returns (metadata path, data path, samples).
    """
    base, meta_path, data_path = _names(path)
    _not_over_itself(data_path, [stream.store.path])
    own = stream.metadata["global"]
    swapped = bool(swap_iq) != bool(own.get("sar:iq_swapped"))
    to = data_type(datatype or stream.dtype.written)
    if to.complex != stream.dtype.complex:
        raise RecordingError(f"datatype is {to.name}, but the samples are {stream.dtype.name}; "
                             f"expected a type that starts with {stream.dtype.name[0]}")
    with open(data_path, "wb") as f:
        for a in range(0, stream.count, 1 << 20):
            v = stream.dtype.values(stream.components(a, min(a + (1 << 20), stream.count)),
                                    wide=True)
            if swapped or conjugate:
                v = turned(v, swapped, conjugate)
            f.write(to.encode(v))
    g = {"core:datatype": to.name, **_carried(stream.metadata, OF_THE_FILE)}
    if description:
        g.setdefault("core:description", description)
    captures = [{k: v for k, v in c.items() if k != "core:header_bytes"}
                for c in stream.metadata["captures"]] or [{"core:sample_start": 0}]
    start = captures[0].get("core:sample_start", 0)
    for c in captures:
        c["core:sample_start"] = c.get("core:sample_start", 0) - start
    for name, value in (overrides or {}).items():
        key = SIGMF_KEYS[name][0]
        if key == "core:frequency":
            for c in captures:
                c[key] = value
        else:
            g[key] = value
    _write_metadata(meta_path, data_path, g, captures, _moved(stream.metadata, start))
    return meta_path, data_path, stream.count


def _moved(metadata, start):
    """Annotations of samples from ``start`` on, counted from there."""
    for a in metadata.get("annotations", ()):
        at = a.get("core:sample_start", 0)
        if isinstance(at, int) and at >= start:
            yield dict(a, **{"core:sample_start": at - start})


def write_sigmf(path, lines, acq, positions=None, *, datatype="cf32_le", rx=None, times_s=None,
                start_time_s=0.0, scale=None, replica=None, targets=None, extra=None,
                capture=None, annotations=(), description=""):
    """Write a recording: <path>.sigmf-meta, .sigmf-data and, with positions, .nav.csv.

    lines       (pulses, samples) array, or an iterator of such arrays; None when the
                .sigmf-data file is there already (its size gives the number of pulses)
    positions   (pulses, 3) of the antenna, m; rx: of a separate receiver
    datatype    SigMF data type; integers are divided by ``scale``, written as sar:scale
                (default: the largest component of the first batch at 90 % of full scale)
    targets     list of dicts name, position_m, amplitude: written as sar:targets
    extra       further global keys; capture: of the capture; annotations: as SigMF has them

    Returns (metadata path, data path, pulses).
    """
    base, meta_path, data_path = _names(path)
    dtype = data_type(datatype)
    if not dtype.complex and extra is None:
        raise RecordingError(f"datatype is {datatype}, real; expected complex, or "
                             "sar:intermediate_frequency_hz in extra")
    if lines is None:
        pulses, rest = divmod(os.path.getsize(data_path), acq.samples * dtype.sample_bytes)
        if rest:
            raise RecordingError(f"{data_path} ends inside a pulse")
    else:
        pulses = 0
        batches = [lines] if isinstance(lines, np.ndarray) else lines
        with open(data_path, "wb") as f:
            for batch in batches:
                batch = np.atleast_2d(batch)
                if batch.shape[1] != acq.samples:
                    raise RecordingError(f"lines have {batch.shape[1]} samples; expected "
                                         f"acq.samples, {acq.samples}")
                if scale is None:
                    scale = 1.0
                    if dtype.integer:
                        part = np.abs(batch.view(batch.real.dtype)) if np.iscomplexobj(
                            batch) else np.abs(batch)
                        full = np.iinfo(dtype.component).max - dtype.offset
                        scale = float(part.max() / (0.9 * full)) or 1.0
                f.write(dtype.encode(batch, scale))
                pulses += len(batch)
    g = {"core:datatype": dtype.name}
    if description:
        g["core:description"] = description
    for name, value in acq.to_dict().items():
        key = SIGMF_KEYS[name][0]
        if key == "core:frequency" or not _worth_writing(name, value, acq):
            continue
        g[key] = list(value) if isinstance(value, tuple) else value
    g["sar:num_pulses"] = pulses
    if start_time_s:
        g["sar:start_time_s"] = float(start_time_s)
    if scale not in (None, 1.0):
        g["sar:scale"] = scale
    if replica is not None:
        g["sar:replica"] = [[float(np.real(v)), float(np.imag(v))] for v in replica]
    if targets:
        g["sar:targets"] = [
            {"name": t["name"], "position_m": [float(v) for v in t["position_m"]],
             "amplitude": [complex(t["amplitude"]).real, complex(t["amplitude"]).imag]}
            for t in targets]
    if times_s is not None:
        uniform = start_time_s + np.arange(pulses) / acq.prf_hz
        if not np.allclose(times_s, uniform, rtol=0, atol=1e-6 / acq.prf_hz):
            g["sar:pulse_times_s"] = [float(t) for t in times_s]
    g.update(extra or {})
    if positions is not None:
        nav = base + ".nav.csv"
        write_navigation(nav, positions, rx)
        g["sar:positions"] = os.path.basename(nav)
    _write_metadata(meta_path, data_path, g, [
        {"core:sample_start": 0, "core:frequency": acq.carrier_hz, **(capture or {})}], annotations)
    return meta_path, data_path, pulses


def convert(rec, path, datatype=None):
    """Write a Recording as SigMF, by default in a data type that keeps each sample.

    Returns (metadata path, pulses, data type, sentence about the data type or "").
    """
    kept, scale, why = rec.exact(), None, ""
    lines = (batch for _, batch in rec.batches())
    if kept and datatype in (None, kept[0]):
        datatype, scale, lines = kept
    elif kept:
        why = f"the samples were {rec.datatype} and are written as {datatype}"
    elif datatype is None:
        why = "the lines are no longer the samples of the file: written as cf32_le"
    _not_over_itself(_names(path)[2], rec.paths + [rec.stream.store.path if rec.stream else None])
    extra = _carried(rec.metadata, OF_THE_FILE | OF_THE_LINES)
    extra.update({
        "sar:" + k: list(rec.hints[k]) if isinstance(rec.hints[k], tuple) else rec.hints[k]
        for k in ("scene_centre_m", "scene_extent_m", "mode", "beam_rad", "beam_squint_rad")
        if k in rec.hints})
    annotations = []
    if rec.starts_with_file() and rec.stream is not None:
        captures = rec.metadata["captures"]
        annotations = _moved(rec.metadata, captures[0].get("core:sample_start", 0)
                             if captures else 0)
    first = (rec.metadata.get("captures") or [{}])[0] if rec.starts_with_file() else {}
    meta, _, pulses = write_sigmf(
        path, lines, rec.acq, rec.tx, rx=rec.rx, datatype=datatype or "cf32_le", scale=scale,
        times_s=rec.times_s, start_time_s=float(rec.times_s[0]), replica=rec.replica,
        description="converted by gr_sar convert",
        targets=[t for t in rec.hints.get("targets", ()) if t.get("amplitude") is not None],
        extra=extra, capture={k: v for k, v in first.items() if k == "core:datetime"},
        annotations=annotations)
    return meta, pulses, datatype or "cf32_le", why


def _worth_writing(name, value, acq):
    """Keys that say something about this waveform; zeros that mean 'not given' are left out."""
    fx = acq.waveform == "frequency_domain"
    if name == "sample_rate_hz":
        return not fx
    if name == "frequency_step_hz":
        return fx
    if name == "phase_sign":
        return acq.in_frequency_domain()
    if name in ("gate_start_s", "sweep"):
        return value not in (0, "sawtooth")
    if name == "reference_point_m":
        return acq.range_reference == "point"
    if name.endswith("_slopes"):
        return len(value) > 0
    if name in ("chirp_rate_hz_per_s", "pulse_length_s", "replica_bandwidth_hz",
                "effective_velocity_m_s"):
        return value != 0
    return True


def write_navigation(path, positions, rx=None):
    """Positions, one row a pulse, with all digits of a double."""
    positions = np.asarray(positions, float)
    with open(path, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        names = ["pulse", "x_m", "y_m", "z_m"]
        w.writerow(names + ([] if rx is None else ["rx_x_m", "rx_y_m", "rx_z_m"]))
        for i, p in enumerate(positions):
            row = [i] + [repr(float(v)) for v in p]
            if rx is not None:
                row += [repr(float(v)) for v in np.asarray(rx, float)[i]]
            w.writerow(row)
