# SPDX-License-Identifier: GPL-3.0-or-later
"""Flat streams of samples: data types, bytes read when asked for, one channel out of many.

A file format (formats.py) says where the bytes are and how they are laid out; everything
behind that is here, once. Bytes are read, not mapped: a file that another program shortens
is then an error with a sentence, where a mapping would end the process with a bus error,
and only the lines that are asked for are in memory all the same.
"""

import os
import re
import stat
import sys

import numpy as np

from .recordings import RecordingError

# ---- data types -------------------------------------------------------------------------


class data_type:
    """A SigMF data type such as ci16_le. The number is the width of ONE component, so
    cf32 is 8 bytes a complex sample. Beyond SigMF, integers of 24 bits (ci24_le), which WAV
    files have, can be read."""

    PATTERN = re.compile(r"^([cr])([fiu])(8|16|24|32|64)(?:_(le|be))?$")

    def __init__(self, name):
        m = self.PATTERN.match(str(name))
        kind, width = (m.group(2), int(m.group(3))) if m else ("", 0)
        if (not m or width not in {"f": (32, 64), "i": (8, 16, 24, 32), "u": (8, 16, 32)}[kind]
                or (width > 8) != bool(m.group(4))):
            hint = ""
            if str(name) in ("complex64", "float32", "complex128", "<c8", "<c16"):
                hint = " (complex64 of numpy is cf32_le: the width is that of one component)"
            raise RecordingError(
                f"core:datatype is '{name}'; expected c or r, f, i or u, the width of one "
                f"component in bits, and _le or _be above 8 bits, such as cf32_le or ci8{hint}")
        self.name = str(name)
        self.complex = m.group(1) == "c"
        self.component_bytes = width // 8
        order = ">" if m.group(4) == "be" else "<"
        self.component = np.dtype(f"{order}{kind}{4 if width == 24 else width // 8}")
        self.offset = float(1 << (width - 1)) if kind == "u" else 0.0
        self.integer = kind != "f"
        # the values of all components of 16 bits and of floats of 32 fit into float32
        self.wide = width > 32 or (self.integer and width > 16)

    @property
    def sample_bytes(self):
        return self.component_bytes * (2 if self.complex else 1)

    @property
    def written(self):
        """Name of the SigMF data type that holds these samples without loss."""
        return self.name.replace("24", "32")

    def components(self, buffer):
        """Components of a buffer as they are, integers of 24 bits in 32."""
        if self.component_bytes != 3:
            return np.frombuffer(buffer, self.component)
        three = np.frombuffer(buffer, np.uint8).reshape(-1, 3)
        four = np.zeros((len(three), 4), np.uint8)
        big = self.component.byteorder == ">"
        four[:, 0 if big else 1 :][:, :3] = three
        return four.reshape(-1).view(self.component) >> 8

    def values(self, components, scale=1.0, wide=False):
        """Components as floats, unsigned ones centred on 0; complex for c types: the last
        axis, of I and Q, goes. float32 where that holds every value, unless wide."""
        real = np.float64 if self.wide or wide else np.float32
        with np.errstate(invalid="ignore"):  # bits that are no number stay none
            v = components.astype(real)
        if self.offset:
            v -= real(self.offset)
        if scale != 1.0:
            v *= real(scale)
        if self.complex:
            v = np.ascontiguousarray(v).reshape(-1)
            v = v.view(np.complex128 if real is np.float64 else np.complex64)
        return v

    def decode(self, buffer, scale=1.0):
        """Samples of a buffer, complex64/128 or float32/64 (unsigned ones centred on 0)."""
        return self.values(self.components(buffer), scale)

    def encode(self, samples, scale=1.0):
        """Bytes of samples divided by ``scale``; integers are rounded and clipped."""
        if self.component_bytes == 3:
            raise RecordingError(f"{self.name} is read only, SigMF does not have it; expected "
                                 f"{self.written}")
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


# ---- bytes ------------------------------------------------------------------------------


class _Ended(RecordingError):
    """Bytes ended before those that were asked for; ``at`` counts from the first asked for."""

    def __init__(self, at):
        super().__init__("the file ended while it was read")
        self.at = at


class file_bytes:
    """Bytes of a file, read when asked for."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.path = path
        self.size = os.path.getsize(path)
        self._file = open(path, "rb", buffering=0)

    def read(self, start, count):
        raw = bytearray(count)
        view, got = memoryview(raw), 0
        while got < count:  # one read may return less
            self._file.seek(start + got)
            n = self._file.readinto(view[got:])
            if not n:
                raise _Ended(got)
            got += n
        return raw


class memory_bytes:
    """Bytes of a pipe, read to its end."""

    def __init__(self, raw, name):
        self.name = self.path = name
        self.size = len(raw)
        self._raw = memoryview(raw)

    def read(self, start, count):
        return self._raw[start : start + count]


class pieces_of:
    """Stretches (start, count) of other bytes, one behind the other."""

    def __init__(self, store, pieces):
        self.name, self.path = store.name, store.path
        self._store = store
        self._pieces = [(s, n) for s, n in pieces if n > 0]
        self.size = sum(n for _, n in self._pieces)

    def read(self, start, count):
        if len(self._pieces) == 1:
            return self._store.read(self._pieces[0][0] + start, count)
        out = bytearray()
        for first, n in self._pieces:
            if start < n and count > 0:
                take = min(count, n - start)
                out += self._store.read(first + start, take)
                start, count = 0, count - take
            else:
                start -= n
        return out


class array_bytes:
    """An array in C order, whatever its order in the file is."""

    def __init__(self, array, store):
        self.name, self.path = store.name, store.path
        self._array = array
        self._row = array.dtype.itemsize * int(np.prod(array.shape[1:]))
        self.size = self._row * len(array)

    def read(self, start, count):
        first, last = start // self._row, -(-(start + count) // self._row)
        rows = self._array[first:last].tobytes()
        return memoryview(rows)[start - first * self._row :][:count]


def bytes_of(path):
    """Bytes of a file, of a pipe, or of standard input ("-")."""
    if path == "-":
        return memory_bytes(sys.stdin.buffer.read(), "standard input")
    if not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "rb") as f:
            return memory_bytes(f.read(), path)
    return file_bytes(path)


# ---- streams ----------------------------------------------------------------------------


class sample_stream:
    """Samples of one channel: complex, or real when ``dtype`` is.

    store, dtype   where the bytes are, and what one component is
    layout         (block, i, q): a block of ``block`` components holds len(i) samples, at
                   the places i and q of the block; default: I and Q of ``channels``
                   channels side by side, of which ``channel`` is taken
    samples        of a line, once it is known: for sentences
    kind           name of the format
    source, fix    what sentences call the file, and how they say to add what it lacks
    metadata       what the file says, as SigMF metadata
    full_scale     of float samples, when the format has one
    refused        sentence why lines cannot be made of this, although it can be looked at
    lacks, needs   what it is that is missing then, (name, SigMF key or ""), and what to add
                   to a command line
    notes          sentences: what was decided while opening
    """

    def __init__(self, store, dtype, *, channels=1, channel=None, layout=None, kind="raw",
                 source=None, fix="give a metadata file", metadata=None, notes=(),
                 full_scale=None, refused=None, lacks=None, needs=(), nav=None):
        self.store, self.dtype = store, dtype
        self.source = source or store.name
        self.notes = list(notes)
        self.samples = None
        self.base = None    # name without suffix of what it belongs to, "" for none
        self.frames = None  # (pulses, seconds) of frames of pulses
        self.earlier = []   # captures of SigMF in front of the one that was chosen, and that one
        if not isinstance(channels, int) or channels < 1:
            raise RecordingError(f"{self.source} has {channels!r} channels; expected 1 or more")
        if channel is None:
            channel = 0
            if channels > 1:
                self.notes.append(f"channel 0 of {channels} is used; choose with channel=")
        if not 0 <= channel < channels:
            raise RecordingError(f"channel is {channel}; expected 0 to {channels - 1}: "
                                 f"{self.source} has {channels}")
        self.channels, self.channel = channels, channel
        if layout is None:
            width = 2 if dtype.complex else 1
            layout = (width * channels, [width * channel],
                      [width * channel + 1] if dtype.complex else None)
        self._block, self._i, self._q = layout
        self.kind, self.fix = kind, fix
        self.metadata = metadata or {"global": {}, "captures": [], "annotations": []}
        self.full_scale, self.nav = full_scale, nav
        self.refused, self.lacks, self.needs = refused, lacks, needs
        blocks, self.stray_bytes = divmod(store.size, self._block * dtype.component_bytes)
        self.count = blocks * len(self._i)

    @property
    def stray_samples(self):
        """Samples in the block that the file ends in."""
        block = self._block * self.dtype.component_bytes
        return self.stray_bytes * len(self._i) // block

    def _where(self, sample):
        if not self.samples:
            return f"sample {sample}"
        return f"pulse {sample // self.samples}, sample {sample % self.samples},"

    def components(self, start, stop):
        """Samples start .. stop-1 as the file has them: (n, 2) components, (n,) if real."""
        per = len(self._i)
        first, last = start // per, -(-stop // per)
        size = self._block * self.dtype.component_bytes
        try:
            raw = self.store.read(first * size, (last - first) * size)
        except _Ended as e:
            raise RecordingError(
                f"{self.store.path} ended at {self._where(start + e.at * per // size)} while it was "
                "read; it was longer when it was opened") from None
        v = self.dtype.components(raw).reshape(-1, self._block)
        cut = slice(start - first * per, stop - first * per)
        if self._q is None:
            return v[:, self._i].reshape(-1)[cut]
        if self._block == 2 and (self._i[0], self._q[0]) == (0, 1):
            return v  # as most files have it: no copy
        return np.stack([v[:, self._i].reshape(-1)[cut], v[:, self._q].reshape(-1)[cut]], axis=1)

    def read(self, start, stop, scale=1.0, wide=False):
        """Samples start .. stop-1, complex or real, times scale."""
        v = self.dtype.values(self.components(start, stop), scale, wide)
        if not self.dtype.integer and not np.isfinite(v).all():
            at = start + int(np.argmin(np.isfinite(v)))
            raise RecordingError(f"{self.store.path}: {self._where(at)} is {v[at - start]}; "
                                 "expected finite numbers (leave it out with start and stop)")
        return v


class iq_pair(sample_stream):
    """Two real streams as I and Q."""

    def __init__(self, i, q):
        if i.dtype.complex or q.dtype.complex or i.dtype.name != q.dtype.name:
            raise RecordingError(
                f"{i.source} has {i.dtype.name} and {q.source} {q.dtype.name} samples; expected "
                "two files of real samples of one data type as I and Q")
        rates = [s.metadata["global"].get("core:sample_rate") for s in (i, q)]
        if rates[0] != rates[1]:
            raise RecordingError(f"{i.source} has {rates[0]} samples a second and {q.source} "
                                 f"{rates[1]}; expected the same as I and Q")
        self._parts = i, q
        self.store, self.dtype = i.store, data_type("c" + i.dtype.name[1:])
        self.samples, self.base, self.frames, self.earlier = None, i.base, None, []
        self.source, self.kind, self.fix = f"{i.source} and {q.source}", i.kind, i.fix
        self.channels, self.channel = 1, 0
        self.metadata, self.full_scale, self.nav = i.metadata, i.full_scale, i.nav
        self.refused, self.lacks, self.needs = None, None, ()
        self.notes = i.notes + [n for n in q.notes if n not in i.notes]
        self.notes.append(f"{i.source} is I, {q.source} is Q")
        self.count = min(i.count, q.count)
        if i.count != q.count:
            self.notes.append(f"{i.source} has {i.count} samples and {q.source} {q.count}: the "
                              f"{abs(i.count - q.count)} behind the shorter one's end are dropped")
        self.stray_bytes = min(i.stray_bytes, q.stray_bytes)

    stray_samples = 0

    def components(self, start, stop):
        return np.stack([p.components(start, stop) for p in self._parts], axis=1)


def turned(samples, swap_iq=False, conjugate=False):
    """Samples in another sign convention: I + jQ -> Q + jI, and I + jQ -> I - jQ."""
    if swap_iq:
        samples = samples.imag + 1j * samples.real
    return samples.conj() if conjugate else samples


# ---- what the samples look like ---------------------------------------------------------

CLIPPED_SHARE = 1e-3     # of components at the largest or smallest value,
CLIPPED_LEAST = 16       # and so many, as the largest of few values is a large share
DC_SHARE = 0.1           # of the power
SAME_CORRELATION = 0.99  # between I and Q


def measured(stream, parts=16, samples=1 << 15):
    """Level of a bounded part of a stream: stretches of ``samples``, evenly spread over it.

    Returns a dict: samples (looked at), not_finite, rms and peak (of the samples), dc_share
    (of the power), dc, clipped, clipped_share (components that have the largest or smallest value),
    range (smallest and largest component), correlation (of I and Q, None if real), full_scale
    (of one component, None for floats without), level_db (rms against full scale, None).
    """
    if stream.count <= parts * samples:
        raw = stream.components(0, stream.count)
    else:
        starts = np.linspace(0, stream.count - samples, parts).astype(int)
        raw = np.concatenate([stream.components(a, a + samples) for a in starts])
    v = stream.dtype.values(raw, wide=True)
    good = np.isfinite(v)
    out = {"samples": len(v), "not_finite": int(len(v) - good.sum())}
    v = v[good]
    if not len(v):
        return dict(out, rms=0.0, peak=0.0, dc=0.0, dc_share=0.0, clipped=0, clipped_share=0.0,
                    range=[0.0, 0.0], correlation=None, full_scale=None, level_db=None)
    power = float(np.mean(np.abs(v) ** 2))
    mean = v.mean()
    parts = np.stack([v.real, v.imag]) if stream.dtype.complex else v[None]
    low, high = float(parts.min()), float(parts.max())
    out.update(rms=power**0.5, peak=float(np.abs(v).max()),
               dc=complex(mean) if stream.dtype.complex else float(mean),
               dc_share=float(np.abs(mean) ** 2 / power) if power else 0.0, range=[low, high],
               power_of_parts=[float(np.mean(p**2)) for p in parts])
    # Where a converter clips, its largest values are common; in a narrow word (12 bits in
    # 16) they are not the word's. A signal of a few steps has them often without that.
    full = stream.full_scale
    if stream.dtype.integer:
        edge = (parts == high) | (parts == low) if high - low > 6 else np.zeros(1)
        full = float(1 << (8 * stream.dtype.component_bytes - 1))
    else:
        edge = np.abs(parts) >= full if full else np.zeros(1)
    out["clipped"] = int(np.count_nonzero(edge))
    out["clipped_share"] = out["clipped"] / parts.size
    out["correlation"] = None
    if len(parts) == 2:
        both = float(np.mean(parts[0] * parts[1]))
        size = float(np.mean(parts[0] ** 2) * np.mean(parts[1] ** 2)) ** 0.5
        out["correlation"] = both / size if size else None
    out["full_scale"] = full
    out["level_db"] = 20 * np.log10(out["rms"] / full) if full and power else None
    return out


def hints_of(stream, level, frequency_domain=False):
    """Sentences about what looks wrong in measured()."""
    out = []
    if not level["samples"]:
        return out
    if level["not_finite"]:
        out.append(f"{level['not_finite']} of {level['samples']} samples looked at are not finite")
    if level["rms"] == 0:
        if level["not_finite"] < level["samples"]:
            out.append(f"all {level['samples']} samples looked at are zero")
        return out
    if stream.dtype.complex:
        for name, p in zip("IQ", level["power_of_parts"]):
            if p == 0:
                out.append(f"{name} is all zero: these look like real samples (read one channel "
                           "with real=True)")
        rho = level["correlation"]
        if rho is not None and abs(rho) > SAME_CORRELATION:
            same = "identical" if rho > 1 - 1e-12 else f"alike (correlation {rho:.4f})"
            out.append(f"I and Q are {same}: a real signal in both channels, not I/Q (read one "
                       "channel with real=True)")
    if level["dc_share"] > DC_SHARE and not frequency_domain:
        out.append(f"{100 * level['dc_share']:.0f} % of the power is a constant, {level['dc']:.4g} "
                   "(offset of the receiver, or leakage)")
    if level["clipped_share"] > CLIPPED_SHARE and level["clipped"] >= CLIPPED_LEAST:
        low, high = level["range"]
        out.append(f"{100 * level['clipped_share']:.2g} % of the components are at the smallest or "
                   f"largest value, {low:.6g} and {high:.6g}: the receiver seems to clip, give it "
                   "less gain")
    return out
