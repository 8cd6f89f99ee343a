# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings with ``sar:`` keys (docs/sigmf_sar.md), and raw IQ without them."""

import csv
import hashlib
import json
import math
import os
import re
import stat
import sys

import numpy as np

from .recordings import (SIGMF_KEYS, Recording, RecordingError, analytic, attach_navigation,
                         check_mode, make_acquisition, swap_iq_of)

EXTENSION_VERSION = "0.3.0"

# Suffixes of raw files that name their own data type.
RAW_SUFFIXES = {".cf32": "cf32_le", ".fc32": "cf32_le", ".c64": "cf32_le", ".ci16": "ci16_le",
                ".sc16": "ci16_le", ".cs16": "ci16_le", ".ci8": "ci8", ".cs8": "ci8",
                ".cu8": "cu8", ".cf64": "cf64_le"}


class data_type:
    """A SigMF data type such as ci16_le. The number is the width of ONE component, so
    cf32 is 8 bytes a complex sample."""

    PATTERN = re.compile(r"^([cr])([fiu])(8|16|32|64)(?:_(le|be))?$")

    def __init__(self, name):
        m = self.PATTERN.match(str(name))
        kind, width = (m.group(2), int(m.group(3))) if m else ("", 0)
        if (not m or (kind == "f") != (width in (32, 64) and kind == "f")
                or (kind != "f" and width == 64) or (width > 8 and not m.group(4))):
            hint = ""
            if str(name) in ("complex64", "float32", "complex128", "<c8", "<c16"):
                hint = " (complex64 of numpy is cf32_le: the width is that of one component)"
            raise RecordingError(
                f"core:datatype is '{name}'; expected c or r, f, i or u, the width of one "
                f"component in bits, and _le or _be above 8 bits, such as cf32_le or ci8{hint}")
        self.name = str(name)
        self.complex = m.group(1) == "c"
        order = ">" if m.group(4) == "be" else "<"
        self.component = np.dtype(f"{order}{kind}{width // 8}")
        self.offset = float(1 << (width - 1)) if kind == "u" else 0.0
        self.integer = kind != "f"

    @property
    def sample_bytes(self):
        return self.component.itemsize * (2 if self.complex else 1)

    def decode(self, buffer, scale=1.0):
        """Samples of a buffer, complex64/128 or float32/64 (unsigned ones centred on 0)."""
        v = np.frombuffer(buffer, self.component)
        wide = self.component.itemsize > 4 or (self.integer and self.component.itemsize == 4)
        real = np.float64 if wide else np.float32
        v = v.astype(real)
        if self.offset:
            v -= real(self.offset)
        if scale != 1.0:
            v *= real(scale)
        return v.view(np.complex128 if wide else np.complex64) if self.complex else v

    def encode(self, samples, scale=1.0):
        """Bytes of samples divided by ``scale``; integers are rounded and clipped."""
        samples = np.asarray(samples)
        if self.complex:
            samples = np.ascontiguousarray(samples, np.complex128).view(np.float64)
        elif np.iscomplexobj(samples):
            raise RecordingError(f"complex samples cannot be written as {self.name}; expected a "
                                 "data type that starts with c")
        v = np.asarray(samples, np.float64) / scale + self.offset
        if self.integer:
            info = np.iinfo(self.component)
            v = np.clip(np.rint(v), info.min, info.max)
        return v.astype(self.component).tobytes()


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


def read(path, fields, options):
    """Recording of a SigMF file, a raw IQ file or standard input; see open_recording."""
    meta_path = options.get("meta")
    if path.endswith(".sigmf"):
        raise RecordingError(f"{path} is a SigMF archive; unpack it first: tar xf {path}")
    pair = None if meta_path else resolve(path)
    data_path = path
    metadata = {"global": {}, "captures": [], "annotations": []}
    if pair:
        meta_path, data_path = pair
    if meta_path:
        metadata = load_metadata(meta_path)
        dataset = metadata["global"].get("core:dataset")
        if pair and dataset:
            data_path = os.path.join(os.path.dirname(meta_path), dataset)
        source = os.path.basename(str(meta_path))
        fix = "add it to that file"
    else:
        if path.endswith((".sigmf-data", ".sigmf-meta")):
            raise RecordingError(f"{path} has no partner with the other suffix (.sigmf-meta and "
                                 ".sigmf-data belong together)")
        source = "standard input" if path == "-" else os.path.basename(path)
        fix = "give a metadata file"
    return _read(data_path, metadata, source, fix, fields, options)


def load_metadata(path):
    """The JSON of a .sigmf-meta file, with its three parts in place."""
    try:
        with open(path, encoding="utf-8") as f:
            metadata = json.load(f)
    except json.JSONDecodeError as e:
        raise RecordingError(f"{path} is not JSON: line {e.lineno}, {e.msg}") from None
    except UnicodeDecodeError:
        raise RecordingError(f"{path} is not text; expected the JSON of a SigMF file") from None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("global"), dict):
        raise RecordingError(f"{path} has no object 'global'; expected SigMF metadata")
    metadata.setdefault("captures", [])
    metadata.setdefault("annotations", [])
    return metadata


def _number(value, key, source):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RecordingError(f"{source}: {key} is {value!r}; expected a number")
    return value


def _fields_of(metadata, source, overrides):
    """Acquisition fields out of the metadata; overrides win."""
    g = metadata["global"]
    fields = {}
    for name, (key, _) in SIGMF_KEYS.items():
        if key in g and key != "core:frequency":
            fields[name] = g[key]
    captures = metadata["captures"]
    if captures:
        for key, name in (("core:frequency", "carrier_hz"), ("sar:prf_hz", "prf_hz")):
            values = [(c.get("core:sample_start", 0), c[key]) for c in captures if key in c]
            for at, v in values:
                _number(v, key, source)
                known = fields.get(name) if name == "prf_hz" and name in fields else values[0][1]
                # the first segment may restate the global value, no segment may change it
                if len(captures) > 1 and v != values[0][1]:
                    raise RecordingError(
                        f"{source}: {key} changes from {values[0][1]} to {v} at sample {at}; "
                        "split the recording there, one image is formed at one value")
                if len(captures) > 1 and name == "prf_hz" and v != known and at > 0:
                    raise RecordingError(
                        f"{source}: {key} changes from {known} to {v} at sample {at}; split the "
                        "recording there, one image is formed at one value")
            if values:
                fields[name] = values[0][1]
    if "carrier_hz" not in fields and "core:frequency" in g:
        fields["carrier_hz"] = g["core:frequency"]
    text = ("waveform", "range_reference", "pulse_reference", "look_side")
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
    fields.update({k: v for k, v in overrides.items() if v is not None})
    return fields


def _vector(value, key, source):
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise RecordingError(f"{source}: {key} is {value!r}; expected three numbers")
    return tuple(float(_number(v, key, source)) for v in value)


class _file_lines:
    """Lines of a flat file, read when asked for; only the touched pages are in memory."""

    def __init__(self, path, dtype, skip, samples, scale):
        self.path, self.dtype, self.skip, self.samples = path, dtype, skip, samples
        self.scale = scale
        self.file = None

    def __call__(self, start, stop):
        if self.file is None:
            self.file = open(self.path, "rb", buffering=0)
        line = self.samples * self.dtype.sample_bytes
        want = (stop - start) * line
        raw = bytearray(want)
        view, got = memoryview(raw), 0
        while got < want:  # one read may return less
            self.file.seek(self.skip + start * line + got)
            n = self.file.readinto(view[got:])
            if not n:
                raise RecordingError(f"{self.path} ended at pulse {start + got // line} while it "
                                     "was read; it was longer when it was opened")
            got += n
        return self.dtype.decode(raw, self.scale).reshape(-1, self.samples)


class _memory_lines:
    def __init__(self, raw, dtype, samples, scale):
        self.raw, self.dtype, self.samples, self.scale = memoryview(raw), dtype, samples, scale

    def __call__(self, start, stop):
        line = self.samples * self.dtype.sample_bytes
        return self.dtype.decode(self.raw[start * line : stop * line],
                                 self.scale).reshape(-1, self.samples)


def _read(data_path, metadata, source, fix, overrides, options):
    g = metadata["global"]
    check_mode(g.get("sar:mode"), source)
    if g.get("core:num_channels", 1) != 1:
        raise RecordingError(f"{source}: core:num_channels is {g['core:num_channels']}; expected "
                             "1 (split the channels into files)")
    if g.get("core:metadata_only"):
        raise RecordingError(f"{source}: core:metadata_only is true; expected samples")
    for c in metadata["captures"]:
        if c.get("core:header_bytes"):
            raise RecordingError(f"{source}: core:header_bytes is {c['core:header_bytes']}; "
                                 "expected a data file without headers")
    notes = []
    name = options.get("datatype") or g.get("core:datatype")
    if name is None:
        name = RAW_SUFFIXES.get(os.path.splitext(data_path)[1])
        if name is None:
            raise RecordingError(
                f"{source} does not say core:datatype (for example cf32_le or ci16_le); {fix} or "
                "give datatype=...")
        notes.append(f"data type {name} taken from the file name")
    dtype = data_type(name)
    fields = _fields_of(metadata, source, overrides)
    replica_text = options.get("replica", g.get("sar:replica"))
    acq = make_acquisition(fields, source, fix)
    if "waveform" not in fields:
        notes.append(f"no sar:waveform: taken for {acq.waveform}")
    scale = float(_number(g.get("sar:scale", 1.0), "sar:scale", source))

    # where the samples are
    starts = sorted(c.get("core:sample_start", 0) for c in metadata["captures"]) or [0]
    skip = int(starts[0]) * dtype.sample_bytes
    trailing = int(g.get("core:trailing_bytes", 0))
    line = acq.samples * dtype.sample_bytes
    piped = data_path == "-" or (os.path.exists(data_path)
                                 and not stat.S_ISREG(os.stat(data_path).st_mode))
    if piped:
        with (sys.stdin.buffer if data_path == "-" else open(data_path, "rb")) as f:
            raw = f.read()[skip:]
        size = len(raw)
        read_lines = _memory_lines(raw, dtype, acq.samples, scale)
    else:
        if not os.path.isfile(data_path):
            raise RecordingError(f"{data_path} does not exist (the samples of {source})")
        size = max(0, os.path.getsize(data_path) - skip - trailing)
        read_lines = _file_lines(data_path, dtype, skip, acq.samples, scale)
    pulses, rest = divmod(size, line)
    declared = g.get("sar:num_pulses")
    dropped, stray = divmod(rest, dtype.sample_bytes)
    where = "standard input" if data_path == "-" else os.path.basename(data_path)
    if declared is not None:
        declared = int(_number(declared, "sar:num_pulses", source))
        if pulses > declared:
            dropped += (pulses - declared) * acq.samples
            pulses = declared
            notes.append(f"{where} is longer than the {declared} pulses that sar:num_pulses says; "
                         f"the {dropped} samples behind them are dropped")
        elif pulses < declared:
            notes.append(f"{where} holds {pulses} whole pulses of the {declared} that "
                         f"sar:num_pulses says; {dropped} samples of an incomplete pulse are "
                         "dropped")
    if rest and not any("dropped" in n for n in notes):
        notes.append(f"{where} ends inside a pulse: {pulses} whole pulses are used, {dropped} "
                     "samples are dropped")
    if stray:
        notes.append(f"{stray} bytes at the end of {where} are not a whole {dtype.name} sample")
    if pulses == 0:
        raise RecordingError(f"{where} holds {size} bytes, less than one pulse of {acq.samples} "
                             f"{dtype.name} samples ({line} bytes)")

    read_lines = _to_complex(read_lines, dtype, acq, g, options, notes, source)
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
    t0 = float(_number(g.get("sar:start_time_s", 0.0), "sar:start_time_s", source))
    times = t0 + np.arange(pulses) / acq.prf_hz
    if "sar:pulse_times_s" in g:
        times = np.asarray(g["sar:pulse_times_s"], float)[:pulses]
        if len(times) != pulses:
            raise RecordingError(f"{source}: sar:pulse_times_s has {len(times)} values for "
                                 f"{pulses} pulses")
    rec = Recording(acq, read_lines, pulses, times, kind="sigmf" if fix.startswith("add") else
                    "raw", datatype=dtype.name, paths=[data_path], dropped_samples=dropped,
                    notes=notes, hints=hints, metadata=metadata,
                    replica=read_replica(replica_text, source))
    if acq.waveform == "replica" and rec.replica is None:
        raise RecordingError(f"{source} does not say sar:replica (samples of the pulse as [re, "
                             f"im] pairs), which waveform replica needs; {fix}")
    nav = options.get("positions")
    if nav is None and data_path != "-":
        base = re.sub(r"\.sigmf-data$", "", data_path)
        beside = [base + ".nav.csv"]
        if g.get("sar:positions"):
            beside.insert(0, os.path.join(os.path.dirname(data_path), g["sar:positions"]))
            if not os.path.exists(beside[0]):
                raise RecordingError(f"{source}: sar:positions names {g['sar:positions']}, which "
                                     "does not exist beside it")
        nav = next((p for p in beside if os.path.exists(p)), None)
    if nav:
        defaults = {k: g["sar:" + k] for k in ("clock_offset_s", "lever_arm_m")
                    if "sar:" + k in g}
        rec = attach_navigation(rec, nav, options, defaults)
        if g.get("sar:drop_standstill"):
            rec.hints["standstill"] = True
    return rec


def _to_complex(read_lines, dtype, acq, g, options, notes, source):
    """Wrap a reader so that it gives complex lines in the sign convention asked for."""
    swap = bool(options.get("swap_iq"))
    if g.get("sar:iq_swapped"):
        notes.append("sar:iq_swapped is set: I and Q are exchanged on reading")
        swap = not swap
    if dtype.complex:
        return (lambda a, b: swap_iq_of(read_lines(a, b))) if swap else read_lines
    if acq.in_frequency_domain() and acq.waveform != "fmcw":
        raise RecordingError(f"{source}: core:datatype is {dtype.name}, real, but waveform "
                             "frequency_domain needs complex samples")
    key = "sar:intermediate_frequency_hz"
    if acq.waveform == "fmcw":
        f_if = float(_number(g.get(key, 0.0), key, source))
    elif key not in g:
        raise RecordingError(f"{source} does not say {key} (the frequency in the real samples "
                             "that stands for the carrier, Hz), which real data needs; add it "
                             "to the metadata")
    else:
        f_if = float(_number(g[key], key, source))
    notes.append(f"real samples ({dtype.name}) are made analytic along range"
                 + (f" and shifted down by {f_if / 1e6:.6g} MHz" if f_if else ""))

    def lines(a, b):
        z = analytic(read_lines(a, b), acq, f_if)
        return swap_iq_of(z) if swap else z

    return lines


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


def write_sigmf(path, lines, acq, positions=None, *, datatype="cf32_le", rx=None, times_s=None,
                start_time_s=0.0, scale=None, replica=None, targets=None, extra=None,
                description=""):
    """Write a recording: <path>.sigmf-meta, .sigmf-data and, with positions, .nav.csv.

    lines       (pulses, samples) array, or an iterator of such arrays; None when the
                .sigmf-data file is there already (its size gives the number of pulses)
    positions   (pulses, 3) of the antenna, m; rx: of a separate receiver
    datatype    SigMF data type; integers are divided by ``scale``, written as sar:scale
                (default: the largest component of the first batch at 90 % of full scale)
    targets     list of dicts name, position_m, amplitude: written as sar:targets
    extra       further global keys

    Returns (metadata path, data path, pulses).
    """
    base = re.sub(r"\.sigmf(-meta|-data)?$", "", str(path))
    os.makedirs(os.path.dirname(os.path.abspath(base)), exist_ok=True)
    meta_path, data_path = base + ".sigmf-meta", base + ".sigmf-data"
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
    digest = hashlib.sha512()
    with open(data_path, "rb") as f:
        for block in iter(lambda: f.read(1 << 22), b""):
            digest.update(block)
    g = {"core:datatype": dtype.name, "core:version": "1.0.0", "core:num_channels": 1,
         "core:sha512": digest.hexdigest(),
         "core:extensions": [{"name": "sar", "version": EXTENSION_VERSION, "optional": True}]}
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
    metadata = {"global": g, "captures": [{"core:sample_start": 0,
                                           "core:frequency": acq.carrier_hz}],
                "annotations": []}
    with open(meta_path, "w", encoding="utf-8") as f:
        json.dump(metadata, f, indent=1)
        f.write("\n")
    return meta_path, data_path, pulses


def _worth_writing(name, value, acq):
    """Keys that say something about this waveform; zeros that mean 'not given' are left out."""
    fx = acq.waveform == "frequency_domain"
    if name == "sample_rate_hz":
        return not fx
    if name == "frequency_step_hz":
        return fx
    if name == "phase_sign":
        return acq.in_frequency_domain()
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
