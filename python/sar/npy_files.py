# SPDX-License-Identifier: GPL-3.0-or-later
"""NumPy ``.npy`` files: one stream, or lines x samples; complex, real, or I and Q apart.

I and Q apart is a last axis of two (sample, 2) or (line, sample, 2), or a structured type
of two fields such as [("I", "<i2"), ("Q", "<i2")], in either order.
Format: numpy.lib.format, versions 1.0 to 3.0.
"""

import io

import numpy as np
from numpy.lib import format as npy

from .recordings import RecordingError
from .samples import array_bytes, data_type, file_bytes, pieces_of, sample_stream

MAGIC = b"\x93NUMPY"
IN_PHASE = ("i", "re", "real", "inphase", "in_phase")
QUADRATURE = ("q", "im", "imag", "quadrature")


def header(store):
    """(shape, in Fortran order, data type, place of the first value) of the first array."""
    f = io.BytesIO(bytes(store.read(0, min(store.size, 1 << 16))))
    try:
        version = npy.read_magic(f)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(f)
    except (ValueError, EOFError) as e:
        raise RecordingError(f"{store.name} is not a whole .npy file: {e}") from None
    return shape, fortran, dtype, f.tell()


def component_of(dtype, name):
    """SigMF's letters and order of a NumPy type, such as ("r", "i16_le")."""
    kind, width = dtype.kind, 8 * dtype.itemsize
    if kind == "c":
        kind, width = "f", width // 2
    if kind not in "fiu" or width not in ((32, 64) if kind == "f" else (8, 16, 32)):
        raise RecordingError(
            f"{name} holds {dtype}; expected complex64, complex128, float32, float64 or integers "
            "of 8, 16 or 32 bits (a.astype(numpy.complex64) makes one of them)")
    order = "" if width == 8 else "_be" if dtype.str[0] == ">" else "_le"
    return ("c" if dtype.kind == "c" else "r"), f"{kind}{width}{order}"


def open_npy(store, *, real=False):
    name = store.name
    shape, fortran, dtype, start = header(store)
    notes, swapped, block = [], False, None
    bytes_each = dtype.itemsize
    if dtype.names:
        fields = [f.lower() for f in dtype.names]
        parts = [dtype.fields[n][0] for n in dtype.names]
        if len(fields) == 2 and fields[0] in QUADRATURE:
            swapped, fields = True, fields[::-1]
        if (len(fields) != 2 or fields[0] not in IN_PHASE or fields[1] not in QUADRATURE
                or parts[0] != parts[1] or bytes_each != 2 * parts[0].itemsize):
            raise RecordingError(f"{name} holds records of {dtype}; expected two fields of one "
                                 "type, I and Q")
        letter, component = component_of(parts[0], name)
        if letter == "c":
            raise RecordingError(f"{name} holds records of {dtype}; expected real I and Q")
        letter = "c"
    else:
        letter, component = component_of(dtype, name)
        if letter == "r" and len(shape) in (2, 3) and shape[-1] == 2 and not (
                real and len(shape) == 2):
            letter, shape = "c", shape[:-1]
            notes.append("the last axis, of two, is I and Q")
            block = 2
    if real and letter == "c":
        raise RecordingError(f"{name} holds complex samples; expected real ones with real=True")
    if len(shape) not in (1, 2) or 0 in shape:
        raise RecordingError(f"{name} has the shape {shape}; expected samples, or lines x "
                             "samples, with a last axis of two for I and Q apart")
    whole = tuple(shape) + ((2,) if block else ())
    size = int(np.prod(whole)) * bytes_each
    left = store.size - start
    if left > size:
        notes.append(f"{left - size} bytes behind the array of {name} are not read")
    if fortran and len(whole) > 1:
        if left < size:
            raise RecordingError(f"{name} ends early: {left} of {size} bytes are there, and in "
                                 "Fortran order no line is whole; expected all of it")
        if isinstance(store, file_bytes):
            array = np.memmap(store.path, dtype, "r", start, whole, "F")
        else:
            raw = np.frombuffer(store.read(start, size), dtype)
            array = raw.reshape(whole, order="F")
        notes.append("in Fortran order: each line is gathered from all over the file")
        part = array_bytes(array, store)
    else:
        if left < size:
            notes.append(f"{name} ends early: {left} of {size} bytes are there")
        part = pieces_of(store, [(start, min(left, size))])
    dtype = data_type(letter + component)
    g = {"core:datatype": dtype.name}
    if len(shape) == 2:
        g["sar:samples_per_pulse"] = int(shape[1])
    return sample_stream(
        part, dtype, kind="npy", notes=notes, layout=(2, [1], [0]) if swapped else None,
        metadata={"global": g, "captures": [], "annotations": []})
