# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of file formats: how each is recognised, and how it is opened.

A format whose file is samples in a row gives a sample_stream (samples.py), with what the
file says about itself as SigMF metadata; sigmf_files.recording_of() makes lines of any of
them. A format that is more than that gives a Recording. To add one, add an entry to FORMATS.
Content counts more than names: a WAV file without its suffix is a WAV file.
"""

import os
from typing import Callable, NamedTuple, Optional, Tuple

from . import (gotcha_files, npy_files, p440_files, planar_scan_files, sigmf_files, ti_files,
               wav_files)
from .recordings import RecordingError
from .samples import bytes_of, data_type, iq_pair

# Options of reading that not every format has.
OPTIONS = ("meta", "datatype", "channel", "channels", "real", "iq_files", "capture",
           "header_bytes", "ti", "autofocus")

# Suffixes of raw files that name their own data type: of GNU Radio, SoapySDR, inspectrum,
# Universal Radio Hacker. Names of SigMF's, such as .ri16_le, need no entry.
RAW_SUFFIXES = {".cfile": "cf32_le", ".fc32": "cf32_le", ".c64": "cf32_le", ".complex": "cf32_le",
                ".fc64": "cf64_le", ".sc16": "ci16_le", ".cs16": "ci16_le",
                ".complex32s": "ci16_le", ".complex32u": "cu16_le", ".cs8": "ci8", ".sc8": "ci8",
                ".complex16s": "ci8", ".complex16u": "cu8", ".cs32": "ci32_le", ".f32": "rf32_le",
                ".f64": "rf64_le", ".s16": "ri16_le", ".s8": "ri8", ".u8": "ru8"}

# First bytes of files that are not read, at a place, and what to do about them.
FFMPEG = "compressed audio, which loses phase; if it is all there is: ffmpeg -i {path} {base}.wav"
NOT_READ = (
    (4, b"ftyp", FFMPEG), (0, b"ID3", FFMPEG), (0, b"\xff\xfb", FFMPEG), (0, b"OggS", FFMPEG),
    (0, b"fLaC", "FLAC; convert it: ffmpeg -i {path} {base}.wav"),
    (0, b"riff\x2e\x91\xcf\x11", "Wave64; convert it: ffmpeg -i {path} -rf64 auto {base}.wav"),
    (0, b"FORM", "AIFF; convert it: ffmpeg -i {path} {base}.wav"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5 (or MATLAB 7.3); save the samples with numpy.save()"),
    (0, b"MATLAB 5.0", "a MATLAB file without the suffix .mat"),
    (0, b"PK\x03\x04", "a zip archive (.npz is one); save one array with numpy.save()"),
    (0, b"\x1f\x8b", "compressed with gzip; unpack it first"),
)


def _said(options, name):
    """True when an option was given: a channel or a capture 0 is, no header bytes are not."""
    value = options.get(name)
    return value is not None and value is not False and not (value == 0 and name not in (
        "channel", "capture"))


class named:
    """What the user named, with its bytes when somebody asks for them."""

    def __init__(self, paths, options):
        self.paths, self.options = paths, options
        self.path = paths[0]
        self._store = None

    @property
    def store(self):
        if self._store is None:
            self._store = bytes_of(self.path)
        return self._store

    def head(self):
        """The first bytes; none of a folder, and none when the caller says what they are."""
        if len(self.paths) > 1 or self.options.get("datatype"):
            return b""
        if self.path != "-" and (not os.path.exists(self.path) or os.path.isdir(self.path)):
            return b""
        return bytes(self.store.read(0, min(self.store.size, 64)))

    def take(self, *names):
        return {n: self.options[n] for n in names if _said(self.options, n)}


class file_format(NamedTuple):
    name: str                              # as Recording.kind
    what: str                              # in words, for sentences
    options: Tuple[str, ...]               # those of OPTIONS that it understands
    matches: Callable                      # (named) -> bool
    open: Optional[Callable] = None        # (named) -> sample_stream
    read: Optional[Callable] = None        # (named, fields, options) -> Recording


def _open_two(n):
    i, q = (open_stream([p], dict(n.options, iq_files=False, real=True)) for p in n.paths)
    return iq_pair(i, q)


def _not_read(n):
    head = n.head()
    why = next(w for at, magic, w in NOT_READ if head[at:].startswith(magic))
    base = "recording" if n.path == "-" else os.path.splitext(n.path)[0]
    raise RecordingError(f"{n.path} is " + why.format(path=n.path, base=base))


def _raw_type(path):
    suffix = os.path.splitext(path)[1].lower()
    for name in (RAW_SUFFIXES.get(suffix), suffix[1:], suffix[1:] + "_le"):
        try:
            return data_type(name).name
        except RecordingError:
            continue
    return None


def _open_raw(n):
    suffix = os.path.splitext(n.path)[1].lower()
    notes, metadata = [], {"global": {}, "captures": [], "annotations": []}
    if n.options.get("datatype"):
        begin = bytes(n.store.read(0, min(n.store.size, 64)))
        if (wav_files.is_wav(begin) or begin.startswith(npy_files.MAGIC)) and not (
                n.options.get("header_bytes")):
            notes.append(f"{n.path} has a header, which is read as samples, since a data type was "
                         "given (header_bytes leaves it out)")
    else:
        for kind, begin in ((".wav", "RIFF, RIFX, RF64 or BW64"), (".npy", "\\x93NUMPY")):
            if suffix == kind:
                raise RecordingError(f"{n.path} has the suffix {kind}, but begins with "
                                     f"{n.head()[:8]!r}; expected {begin}, or datatype=... for raw "
                                     "IQ")
    source, fix = None, "give a metadata file"
    if n.options.get("meta"):
        metadata = sigmf_files.load_metadata(n.options["meta"])
        source, fix = os.path.basename(str(n.options["meta"])), "add it to that file"
    return sigmf_files.stream_of(n.store, metadata, n.options, kind="sigmf" if source else "raw",
                                 source=source, fix=fix, named=_raw_type(n.path), notes=notes)


def _sigmf_pair(n):
    if n.options.get("meta") or len(n.paths) > 1:
        return False
    return n.path.endswith((".sigmf-meta", ".sigmf-data")) or (
        sigmf_files.resolve(n.path) is not None and not os.path.isfile(n.path))


FORMATS = (
    file_format("gotcha", "a GOTCHA .mat file", ("autofocus",),
                lambda n: all(p.endswith(".mat") for p in n.paths),
                read=lambda n, fields, options: gotcha_files.read(n.paths, fields, options)),
    file_format("p440", "a P440 rail set", (),
                lambda n: len(n.paths) == 1 and p440_files.matches(n.path),
                read=lambda n, fields, options: p440_files.read(n.path, fields, options)),
    file_format("two files", "two files, I and Q", ("iq_files", "channel", "datatype",
                                                    "header_bytes", "meta"),
                lambda n: n.options.get("iq_files") and len(n.paths) == 2, _open_two),
    file_format("sigmf", "a SigMF recording", ("datatype", "channel", "channels", "real", "capture",
                                               "header_bytes"),
                _sigmf_pair, lambda n: sigmf_files.open_pair(n.path, n.options)),
    file_format("sigmf archive", "a SigMF archive", ("channel", "real", "capture"),
                lambda n: len(n.paths) == 1 and sigmf_files.archive_of(n.path) is not None,
                lambda n: sigmf_files.open_archive(n.path, n.options)),
    file_format("ti_dca1000", "a capture of a DCA1000", ("channel", "ti", "meta"),
                lambda n: n.options.get("ti") or (ti_files.is_capture(n.path)
                                                  and not n.options.get("datatype")),
                lambda n: ti_files.open_capture(n.store, n.path, n.options.get("ti") or {},
                                                **n.take("channel"))),
    file_format("wav", "a WAV file", ("channel", "real", "meta"),
                lambda n: wav_files.is_wav(n.head()),
                lambda n: wav_files.open_wav(n.store, **n.take("channel", "real"))),
    file_format("planar_scan", "a planar scan", (), planar_scan_files.matches,
                read=planar_scan_files.read),
    file_format("npy", "a NumPy file", ("real", "meta"),
                lambda n: n.head().startswith(npy_files.MAGIC),
                lambda n: npy_files.open_npy(n.store, **n.take("real"))),
    file_format("not read", "a file of a kind that is not read", OPTIONS,
                lambda n: any(n.head()[at:].startswith(m) for at, m, _ in NOT_READ)
                and _raw_type(n.path) is None and not n.options.get("meta"), _not_read),
    file_format("raw", "raw IQ", ("meta", "datatype", "channel", "channels", "real", "capture",
                                  "header_bytes"),
                lambda n: len(n.paths) == 1, _open_raw),
)


def recognise(paths, options):
    """(format, named) of what the user named; options that it does not have are refused."""
    for p in paths:
        if p != "-" and not os.path.exists(p) and not sigmf_files.resolve(p) and not (
                sigmf_files.archive_of(p)):
            raise RecordingError(f"{p} does not exist")
        if p != "-" and os.path.isfile(p) and os.path.getsize(p) == 0:
            if not p.endswith(".sigmf-data"):
                raise RecordingError(f"{p} is empty; expected a recording")
    n = named(paths, options)
    if len(paths) > 1 and not options.get("iq_files") and not FORMATS[0].matches(n):
        raise RecordingError(
            f"{len(paths)} input files were given, first {paths[0]}; several files are one "
            "aperture for GOTCHA .mat only, and I and Q with iq_files=True (--iq-files)")
    if options.get("iq_files") and len(paths) != 2:
        raise RecordingError(f"iq_files: {len(paths)} input files were given; expected two, I and Q")
    found = next(f for f in FORMATS if f.matches(n))
    for name in OPTIONS:
        if _said(options, name) and name not in found.options:
            raise RecordingError(f"{name} has no meaning for {found.what}, {paths[0]}")
    return found, n


def open_found(found, n):
    """Stream of a recognised format that is one of samples in a row."""
    stream = found.open(n)
    if n.options.get("meta") and found.name not in ("raw", "two files"):
        # a header knows its samples best, a metadata file everything else
        meta = sigmf_files.load_metadata(n.options["meta"])
        own = stream.metadata
        g = dict(own["global"], **meta["global"])
        g["core:datatype"] = own["global"]["core:datatype"]
        stream.metadata = dict(meta, **{"global": g, "captures": meta["captures"]
                                        or own["captures"]})
        stream.source = os.path.basename(str(n.options["meta"]))
        stream.fix = "add it to that file"
    return stream


def open_stream(paths, options=None):
    """Samples of a file as a sample_stream; options: those of OPTIONS."""
    paths = [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(p) for p in paths]
    found, n = recognise(paths, options or {})
    if found.open is None:
        raise RecordingError(f"{paths[0]} is {found.what}, which is no stream of samples")
    return open_found(found, n)
