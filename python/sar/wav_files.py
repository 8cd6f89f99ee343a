# SPDX-License-Identifier: GPL-3.0-or-later
"""WAV files: RIFF, RIFX (big-endian), RF64 and BW64 headers, as programs for radios write them.

Only the header is read here; what it leads to is a flat stream. scipy.io.wavfile reads the
whole file into memory, knows no RF64 before SciPy 1.15, and refuses what recorders leave
behind when they are stopped: a data size of 0 or 0xFFFFFFFF, or one that wrapped at 4 GiB.

Sources: Microsoft and IBM, Multimedia Programming Interface and Data Specifications 1.0
(1991); Microsoft, Multiple Channel Audio Data and WAVE Files (WAVE_FORMAT_EXTENSIBLE);
EBU Tech 3306 (RF64), ITU-R BS.2088 (BW64). The auxi chunk is that of SDRuno, HDSDR and
SpectraVue: two SYSTEMTIME structures, then the centre frequency in Hz, uint32.
"""

import struct

from .recordings import RecordingError
from .samples import data_type, pieces_of, sample_stream

UNKNOWN = 0xFFFFFFFF
COMPRESSED = {2: "ADPCM", 6: "A-law", 7: "mu-law", 0x11: "ADPCM", 0x50: "MPEG", 0x55: "MP3",
              0xFF: "AAC"}
# Chunks that follow the samples in files of others; anything else there is taken for samples.
KNOWN = (b"LIST", b"INFO", b"bext", b"auxi", b"id3 ", b"ID3 ", b"JUNK", b"PAD ", b"fact", b"cue ",
         b"smpl", b"inst", b"iXML", b"_PMX", b"rcvr", b"DISP", b"axml", b"chna", b"PEAK")


def is_wav(head):
    return head[:4] in (b"RIFF", b"RIFX", b"RF64", b"BW64") and head[8:12] == b"WAVE"


def _chunks_to_the_end(store, at, order):
    """True when known chunks, and nothing else, stand from byte ``at`` to the end."""
    while at + 8 <= store.size:
        name, size = struct.unpack(order + "4sI", bytes(store.read(at, 8)))
        if name not in KNOWN:
            return False
        at += 8 + size + size % 2
    return at >= store.size - 7


def open_wav(store, *, real=False, channel=None):
    """Stream of a WAV file: channels 2c and 2c + 1 are I and Q of receiver c, or, when real,
    each channel is one of real samples."""
    name = store.name
    order = ">" if bytes(store.read(0, 4)) == b"RIFX" else "<"
    notes, fmt, data, centre_hz, data_size_64 = [], None, None, None, None
    at = 12
    while at + 8 <= store.size:
        chunk, size = struct.unpack(order + "4sI", bytes(store.read(at, 8)))
        if not all(32 <= b < 127 for b in chunk):
            break  # no chunk: whatever it is, it is not looked through
        at += 8
        left = store.size - at
        if chunk == b"data" and data is None:
            if size == UNKNOWN and data_size_64 is not None:
                size = data_size_64
            if size == 0 and left and _chunks_to_the_end(store, at, order):
                pass  # a file without samples, but with what is known about them
            elif size in (0, UNKNOWN) and left:
                notes.append(f"{name} says nothing about its length: its recorder was stopped "
                             "before it wrote that; all that is there is read")
                size = left
            elif size > left:
                notes.append(f"{name} ends early: its header promises {size} bytes of samples, "
                             f"{left} are there")
                size = left
            elif left >= UNKNOWN and data_size_64 is None:
                notes.append(f"{name} is larger than the 4 GiB that its header can tell; all that "
                             "is there is read")
                size = left
            data = at, size
        elif size > left:
            break  # a chunk that was cut off
        elif chunk == b"ds64" and size >= 16:
            data_size_64 = struct.unpack(order + "Q", bytes(store.read(at + 8, 8)))[0]
        elif chunk == b"fmt " and size >= 16:
            fmt = bytes(store.read(at, min(size, 40)))
        elif chunk == b"auxi" and size >= 36:
            aux = struct.unpack(order + "16HI", bytes(store.read(at, 36)))
            if 1990 <= aux[0] < 2100 and 1 <= aux[1] <= 12 and aux[16]:
                centre_hz = float(aux[16])
        at += size + size % 2
    if fmt is None or data is None:
        raise RecordingError(f"{name} is a WAV file without a whole "
                             f"{'fmt' if fmt is None else 'data'} chunk; expected both")
    tag, channels, rate, _, frame, bits = struct.unpack(order + "HHIIHH", fmt[:16])
    if tag == 0xFFFE:
        if len(fmt) < 40:
            raise RecordingError(f"{name}: its fmt chunk has {len(fmt)} bytes; expected 40 for "
                                 "WAVE_FORMAT_EXTENSIBLE")
        tag = struct.unpack(order + "H", fmt[24:26])[0]
    if tag in COMPRESSED:
        raise RecordingError(f"{name} is compressed ({COMPRESSED[tag]}), which loses phase; "
                             "expected PCM or float samples")
    width, rest = divmod(8 * frame, channels or 1)
    kind = {1: "u" if width == 8 else "i", 3: "f"}.get(tag)
    if (not channels or rest or kind is None or not (width - 8 < bits <= width)
            or width not in ((32, 64) if kind == "f" else (8, 16, 24, 32))):
        raise RecordingError(
            f"{name}: format {tag:#x}, {channels} channels, {bits} bits, {frame} bytes a frame; "
            "expected PCM of 8, 16, 24 or 32 bits or float of 32 or 64")
    if bits != width:
        notes.append(f"{bits} bits stand in words of {width}, from the top")
    suffix = f"{kind}{width}" + ("" if width == 8 else "_be" if order == ">" else "_le")
    refused = None
    if not real and channels % 2:
        what = "one channel" if channels == 1 else f"{channels} channels, an odd number,"
        refused = (f"{name} has {what} but I and Q need two: give both files (iq_files=True, "
                   "--iq-files) if another holds the other part, or real=True (--real) for real "
                   "samples")
        if channels == 1:
            notes.append(f"{name} has one channel: real samples, or I or Q alone")
        real = True
    if real:
        dtype = data_type("r" + suffix)
    else:
        dtype, channels = data_type("c" + suffix), channels // 2
        notes.append("left is I, right is Q" if channels == 1 else
                     "channels are taken in pairs, I and Q")
    g = {"core:sample_rate": float(rate), "core:datatype": dtype.name}
    capture = {"core:sample_start": 0}
    if centre_hz:
        capture["core:frequency"] = centre_hz
        notes.append(f"centre frequency {centre_hz:.0f} Hz from the auxi chunk")
    return sample_stream(
        pieces_of(store, [data]), dtype, channels=channels, channel=channel, kind="wav",
        metadata={"global": g, "captures": [capture], "annotations": []}, notes=notes,
        full_scale=1.0, refused=refused,
        lacks=("I and Q", ""), needs=("OTHER_FILE", "--iq-files") if refused else ())
