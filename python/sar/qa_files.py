# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of every kind that is read, made here byte by byte; real ones where they are."""
import hashlib
import json
import os
import shlex
import struct
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from conftest import _set

from gnuradio import sar
from gnuradio.sar import cli, formats
from gnuradio.sar.describe import describe
from gnuradio.sar.focus import FocusError, range_doppler
from gnuradio.sar.formats import open_stream
from gnuradio.sar.recordings import RecordingError, open_recording
from gnuradio.sar.samples import hints_of, measured
from gnuradio.sar.sigmf_files import write_sigmf

N = 64
LFM = dict(waveform="pulsed_lfm", carrier_hz=9.6e9, prf_hz=100.0, sample_rate_hz=120e6,
           chirp_rate_hz_per_s=1e14, pulse_length_s=0.3e-6, slant_range_first_m=1000.0)


def noise(shape, bits=16, seed=5):
    """Complex integers of so many bits, as complex128."""
    rng = np.random.default_rng(seed)
    top = 1 << (bits - 2)
    return rng.integers(-top, top, shape) + 1j * rng.integers(-top, top, shape)


def interleaved(z, component):
    """I, Q, I, Q ... as bytes of a NumPy component type; unsigned: centred on half."""
    v = np.stack([z.real, z.imag], axis=-1)
    t = np.dtype(component)
    return (v + (1 << (8 * t.itemsize - 1)) * (t.kind == "u")).astype(t).tobytes()


def put(path, raw):
    path.write_bytes(raw)
    return str(path)


def run(*args):
    return cli.main([str(a) for a in args])


# ---- data types -------------------------------------------------------------------------

# type, suffix that says so, bytes of a sample, bytes of the file, first three samples
Z = [1 - 2j, 3 + 4j, -5 + 6j]
FLAT = [1, -2, 3, 4, -5, 6]
TYPES = [
    ("cf32_le", ".cf32", 8, np.array(FLAT, "<f4"), Z),
    ("cf32_be", ".cf32_be", 8, np.array(FLAT, ">f4"), Z),
    ("cf64_le", ".fc64", 16, np.array(FLAT, "<f8"), Z),
    ("cf64_be", ".cf64_be", 16, np.array(FLAT, ">f8"), Z),
    ("ci32_le", ".cs32", 8, np.array(FLAT, "<i4") * 70000, [70000 * z for z in Z]),
    ("ci32_be", ".ci32_be", 8, (np.array(FLAT) * 70000).astype(">i4"), [70000 * z for z in Z]),
    ("ci24_le", ".ci24", 6, b"".join((v * 70000).to_bytes(3, "little", signed=True) for v in FLAT),
     [70000 * z for z in Z]),
    ("ci24_be", ".ci24_be", 6, b"".join((v * 70000).to_bytes(3, "big", signed=True) for v in FLAT),
     [70000 * z for z in Z]),
    ("ci16_le", ".cs16", 4, np.array(FLAT, "<i2") * 300, [300 * z for z in Z]),
    ("ci16_be", ".ci16_be", 4, (np.array(FLAT) * 300).astype(">i2"), [300 * z for z in Z]),
    ("cu16_le", ".complex32u", 4, (np.array(FLAT) * 300 + 32768).astype("<u2"),
     [300 * z for z in Z]),
    ("cu16_be", ".cu16_be", 4, (np.array(FLAT) * 300 + 32768).astype(">u2"), [300 * z for z in Z]),
    ("cu32_le", ".cu32", 8, (np.array(FLAT) * 300 + 2**31).astype("<u4"), [300 * z for z in Z]),
    ("ci8", ".cs8", 2, np.array(FLAT, "i1"), Z),
    ("cu8", ".cu8", 2, (np.array(FLAT) + 128).astype("u1"), Z),
    ("rf32_le", ".f32", 4, np.array(FLAT, "<f4"), FLAT[:3]),
    ("rf32_be", ".rf32_be", 4, np.array(FLAT, ">f4"), FLAT[:3]),
    ("rf64_le", ".rf64", 8, np.array(FLAT, "<f8"), FLAT[:3]),
    ("ri32_le", ".ri32", 4, np.array(FLAT, "<i4") * 70000, [70000 * v for v in FLAT[:3]]),
    ("ri32_be", ".ri32_be", 4, (np.array(FLAT) * 70000).astype(">i4"),
     [70000 * v for v in FLAT[:3]]),
    ("ri16_le", ".s16", 2, np.array(FLAT, "<i2") * 300, [300 * v for v in FLAT[:3]]),
    ("ri16_be", ".ri16_be", 2, (np.array(FLAT) * 300).astype(">i2"), [300 * v for v in FLAT[:3]]),
    ("ri8", ".s8", 1, np.array(FLAT, "i1"), FLAT[:3]),
    ("ru8", ".u8", 1, (np.array(FLAT) + 128).astype("u1"), FLAT[:3]),
]


@pytest.mark.parametrize("name,suffix,width,raw,values", TYPES, ids=[t[0] for t in TYPES])
def test_data_types_of_raw_files(tmp_path, name, suffix, width, raw, values):
    raw = bytes(raw)
    for stream in (open_stream(put(tmp_path / "a.bin", raw), dict(datatype=name)),
                   open_stream(put(tmp_path / ("b" + suffix), raw))):
        assert stream.dtype.name == name and stream.dtype.sample_bytes == width
        assert stream.count == len(raw) // width and stream.stray_bytes == 0
        assert stream.read(0, 3).tolist() == values
        # from the middle, and after a header
        assert stream.read(1, 3).tolist() == values[1:]
    part = open_stream(put(tmp_path / "c.bin", b"head!" + raw), dict(datatype=name, header_bytes=5))
    assert part.read(0, 3).tolist() == values


def test_suffixes_of_raw_files():
    for suffix, name in formats.RAW_SUFFIXES.items():
        assert formats._raw_type("x" + suffix) == name
    assert formats._raw_type("X.CF32") == "cf32_le"
    for other in ("x.bin", "x", "x.raw", "x.iq", "x.dat"):
        assert formats._raw_type(other) is None


def test_channels_side_by_side(tmp_path):
    z = noise((100, 3))
    path = put(tmp_path / "a.ci16", interleaved(z, "<i2"))
    for c in range(3):
        s = open_stream(path, dict(channels=3, channel=c))
        np.testing.assert_array_equal(s.read(0, 100), z[:, c])
        np.testing.assert_array_equal(s.read(31, 57), z[31:57, c])
    assert any("channel 0 of 3" in n for n in open_stream(path, dict(channels=3)).notes)
    with pytest.raises(RecordingError, match="channel is 3; expected 0 to 2"):
        open_stream(path, dict(channels=3, channel=3))


# ---- WAV --------------------------------------------------------------------------------


def wav(columns, kind="i", bits=16, *, order="<", extensible=False, before=(), after=(),
        magic=None, size=None, rate=48000):
    """Bytes of a WAV file of integer-valued columns (one a channel)."""
    v = np.stack(columns, axis=1)
    if kind == "f":
        data = (v / 32768).astype(f"{order}f{bits // 8}").tobytes()
    elif bits == 8:
        data = (v + 128).astype("u1").tobytes()
    elif bits == 24:
        four = v.astype(f"{order}i4").reshape(-1, 1).view("u1")
        data = (four[:, :3] if order == "<" else four[:, 1:]).tobytes()
    else:
        data = v.astype(f"{order}i{bits // 8}").tobytes()
    channels, frame = v.shape[1], v.shape[1] * bits // 8
    tag = 3 if kind == "f" else 1
    fmt = struct.pack(order + "HHIIHH", 0xFFFE if extensible else tag, channels, rate,
                      rate * frame, frame, bits)
    if extensible:
        fmt += struct.pack(order + "HHIH", 22, bits, 3, tag)
        fmt += b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

    def chunk(name, content, size=None):
        head = struct.pack(order + "4sI", name, len(content) if size is None else size)
        return head + content + b"\0" * (len(content) % 2)

    body = b"WAVE" + b"".join(chunk(*c) for c in before) + chunk(b"fmt ", fmt)
    body += chunk(b"data", data, size)
    if after == "cut":
        body = body[: len(body) - len(data) % 2]
    else:
        body += b"".join(chunk(*c) for c in after)
    magic = magic or (b"RIFX" if order == ">" else b"RIFF")
    return struct.pack(order + "4sI", magic, min(len(body), 0xFFFFFFFF)) + body


EXTRA = [(b"bext", b"x" * 603), (b"JUNK", b""), (b"LIST", b"INFOISFT\x05\0\0\0gnu r")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind,bits", [("i", 8), ("i", 16), ("i", 24), ("i", 32), ("f", 32),
                                       ("f", 64)])
@pytest.mark.parametrize("extra", ["plain", "extensible", "chunks"])
def test_wav(tmp_path, order, kind, bits, extra):
    """An odd number of samples, so that 8 and 24 bits have a padded data chunk."""
    z = noise(101, 8 if bits == 8 else 16)
    options = dict(extensible=extra == "extensible")
    if extra == "chunks":
        options = dict(before=EXTRA, after=EXTRA)
    path = put(tmp_path / "a.wav", wav([z.real, z.imag], kind, bits, order=order, **options))
    s = open_stream(path)
    letter = "u" if bits == 8 else kind
    assert s.dtype.name == f"c{letter}{bits}" + (
        "" if bits == 8 else "_le" if order == "<" else "_be")
    assert (s.count, s.stray_bytes, s.channels) == (101, 0, 1)
    assert s.metadata["global"]["core:sample_rate"] == 48000
    np.testing.assert_array_equal(s.read(0, 101) * (32768 if kind == "f" else 1), z)
    np.testing.assert_array_equal(s.read(17, 40) * (32768 if kind == "f" else 1), z[17:40])
    # each channel as real samples
    for c, part in enumerate((z.real, z.imag)):
        r = open_stream(path, dict(real=True, channel=c))
        assert not r.dtype.complex and r.channels == 2
        np.testing.assert_array_equal(r.read(0, 101) * (32768 if kind == "f" else 1), part)


@pytest.mark.parametrize("dtype", ["u1", "<i2", "<i4", "<f4", "<f8"])
def test_wav_as_scipy_writes_it(tmp_path, dtype):
    wavfile = pytest.importorskip("scipy.io.wavfile")
    rng = np.random.default_rng(2)
    v = rng.integers(0, 100, (50, 2)).astype(dtype)
    wavfile.write(tmp_path / "a.wav", 44100, v)
    z = v[:, 0].astype(float) + 1j * v[:, 1] - (128 + 128j) * (dtype == "u1")
    np.testing.assert_array_equal(open_stream(tmp_path / "a.wav").read(0, 50), z)


@pytest.mark.parametrize("container", ["FORMAT_WAV", "FORMAT_RF64"])
@pytest.mark.parametrize("kind,steps", [
    ("PCM_U8", 128), ("PCM_16", 1 << 15), ("PCM_24", 1 << 23), ("PCM_32", 1 << 31), ("FLOAT", 1),
    ("DOUBLE", 1)])
def test_wav_of_gnu_radio(tmp_path, container, kind, steps):
    """As the block wavfile_sink (libsndfile) writes it, I on the left."""
    from gnuradio import blocks, gr

    z = noise(4000, 15) / 16384.0
    tb = gr.top_block()
    sink = blocks.wavfile_sink(str(tmp_path / "a.wav"), 2, 32000, getattr(blocks, container),
                               getattr(blocks, "FORMAT_" + kind))
    for k, part in enumerate((z.real, z.imag)):
        tb.connect(blocks.vector_source_f(part.tolist()), (sink, k))
    tb.run()
    sink.close()
    s = open_stream(tmp_path / "a.wav")
    assert s.kind == "wav" and s.count == 4000
    error = s.read(0, s.count) / steps - z
    assert max(np.abs(error.real).max(), np.abs(error.imag).max()) <= max(1.01 / steps, 1e-7)


def test_wav_of_four_channels_is_two_receivers(tmp_path):
    a, b = noise(50), noise(50, seed=6)
    path = put(tmp_path / "a.wav", wav([a.real, a.imag, b.real, b.imag]))
    for channel, z in enumerate((a, b)):
        s = open_stream(path, dict(channel=channel))
        np.testing.assert_array_equal(s.read(0, 50), z)
    s = open_stream(path)
    assert s.channels == 2 and any("channel 0 of 2" in n for n in s.notes)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 100000])
def test_wav_of_a_stopped_recorder(tmp_path, size):
    """No length was written, or one that the file does not reach."""
    z = noise(101)
    s = open_stream(put(tmp_path / "a.wav", wav([z.real, z.imag], size=size)))
    np.testing.assert_array_equal(s.read(0, s.count), z)
    assert any("stopped before" in n or "promises 100000 bytes of samples, 404 are there" in n
               for n in s.notes)


def test_wav_without_samples_is_not_taken_for_a_stopped_recorder(tmp_path):
    path = put(tmp_path / "a.wav", wav([[], []], after=EXTRA))
    s = open_stream(path)
    assert s.count == 0 and not any("stopped" in n for n in s.notes)
    with pytest.raises(RecordingError, match="a.wav holds no samples"):
        open_recording(path, samples=N, **LFM)
    assert run("info", path) == 0


def test_wav_rf64(tmp_path):
    z = noise(101)
    ds64 = struct.pack("<QQQI", 0, 404, 101, 0)
    for magic in (b"RF64", b"BW64"):
        raw = wav([z.real, z.imag], magic=magic, before=[(b"ds64", ds64)], after=EXTRA,
                  size=0xFFFFFFFF)
        s = open_stream(put(tmp_path / "a.wav", raw))
        assert s.count == 101 and not any("stopped" in n for n in s.notes)
        np.testing.assert_array_equal(s.read(0, 101), z)


def test_wav_beyond_four_gib(tmp_path):
    """A size that wrapped, in a sparse file; only what is asked for is read."""
    z = noise(101)
    path = put(tmp_path / "a.wav", wav([z.real, z.imag], size=404))
    start = os.path.getsize(path) - 404
    os.truncate(path, start + (1 << 32) + 404)
    with open(path, "r+b") as f:
        f.seek(start + (1 << 32))
        f.write(interleaved(z, "<i2"))
    s = open_stream(path)
    assert s.count == (1 << 30) + 101 and any("4 GiB" in n for n in s.notes)
    np.testing.assert_array_equal(s.read(1 << 30, (1 << 30) + 101), z)


def test_wav_with_gigabytes_of_nothing_behind(tmp_path):
    z = noise(101)
    path = put(tmp_path / "a.wav", wav([z.real, z.imag]))
    os.truncate(path, 3 << 30)
    assert open_stream(path).count == 101  # at once


def test_wav_centre_frequency_of_sdr_programs(tmp_path):
    when = (2024, 5, 3, 17, 12, 30, 0, 0)
    auxi = struct.pack("<16H9I", *when, *when, 2450000000, 1, 0, 0, 0, 0, 0, 0, 0)
    raw = wav([np.zeros(10), np.ones(10)], before=[(b"auxi", auxi)])
    s = open_stream(put(tmp_path / "a.wav", raw))
    assert s.metadata["captures"][0]["core:frequency"] == 2.45e9
    assert any("2450000000 Hz from the auxi chunk" in n for n in s.notes)
    junk = wav([np.zeros(10), np.ones(10)], before=[(b"auxi", b"\1" * 60)])
    s = open_stream(put(tmp_path / "a.wav", junk))
    assert "core:frequency" not in s.metadata["captures"][0]


@pytest.mark.parametrize("change,sentence", [
    (lambda r: r[:20], "without a whole fmt chunk"),
    (lambda r: r[:36], "without a whole data chunk"),
    (lambda r: r[:20] + b"\x06\0" + r[22:], r"compressed \(A-law\)"),
    (lambda r: r[:20] + b"\x77\0" + r[22:], "format 0x77, 2 channels, 16 bits"),
    (lambda r: r[:22] + b"\0\0" + r[24:], "0 channels"),
    (lambda r: r[:34] + b"\x0c\0" + r[36:], None),  # 12 bits in words of 16
    (lambda r: r[:34] + b"\x20\0" + r[36:], "32 bits, 4 bytes a frame"),
])
def test_wav_headers_that_are_wrong(tmp_path, change, sentence):
    z = noise(20)
    path = put(tmp_path / "a.wav", change(wav([z.real, z.imag])))
    if sentence is None:
        s = open_stream(path)
        assert any("12 bits stand in words of 16" in n for n in s.notes)
        np.testing.assert_array_equal(s.read(0, 20), z)
    else:
        with pytest.raises(RecordingError, match=sentence):
            open_stream(path)


# ---- I and Q in two files ---------------------------------------------------------------


def test_mono_is_refused_with_what_to_do(tmp_path):
    z = noise(4 * N)
    re = put(tmp_path / "re.wav", wav([z.real]))
    with pytest.raises(RecordingError, match="re.wav has one channel but I and Q need two: give "
                                             "both files .*--iq-files.* or real=True"):
        open_recording(re, samples=N, **LFM)
    d, _ = describe(re, tokens=["--set", "prf_hz=5", re, "--range-bias", "0"])
    assert d["command"].startswith(f"gr_sar focus --set prf_hz=5 {re} OTHER_FILE --range-bias 0 -o")
    assert "--iq-files" in d["command"] and d["missing"][0]["name"] == "I and Q"
    rec = open_recording(re, samples=N, real=True, intermediate_frequency_hz=1000.0,
                         **dict(LFM, sample_rate_hz=48000.0, pulse_length_s=1e-4,
                                chirp_rate_hz_per_s=1e8))
    assert rec.num_pulses == 4 and any("made analytic" in n for n in rec.notes)


def test_two_files_are_i_and_q(tmp_path):
    z = noise(4 * N)
    re = put(tmp_path / "re.wav", wav([z.real]))
    im = put(tmp_path / "im.wav", wav([np.append(z.imag, 0)]))
    rec = open_recording([re, im], iq_files=True, samples=N, **LFM)
    np.testing.assert_array_equal(rec.lines().ravel(), z)
    assert rec.paths == [re, im] and rec.datatype == "ci16_le"
    assert any("re.wav has 256 samples and im.wav 257: the 1 behind" in n for n in rec.notes)
    # raw files as well, and the other way round
    re2 = put(tmp_path / "re.f32", z.real.astype("<f4").tobytes())
    im2 = put(tmp_path / "im.f32", z.imag.astype("<f4").tobytes())
    rec = open_recording([im2, re2], iq_files=True, swap_iq=True, samples=N, **LFM)
    np.testing.assert_array_equal(rec.lines().ravel(), z)
    with pytest.raises(RecordingError, match="re.wav has ri16_le and im.f32 rf32_le samples"):
        open_recording([re, im2], iq_files=True)
    fast = put(tmp_path / "fast.wav", wav([z.imag], rate=96000))
    with pytest.raises(RecordingError, match="48000.0 samples a second and fast.wav 96000.0"):
        open_recording([re, fast], iq_files=True)
    with pytest.raises(RecordingError, match="1 input files were given; expected two"):
        open_recording(re, iq_files=True)
    with pytest.raises(RecordingError, match="2 input files were given.*I and Q with iq_files"):
        open_recording([re, im])


# ---- NumPy ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<c8", ">c8", "<c16", "<i2 pair", ">i2 pair", "u1 pair",
                                   "<f4 pair", "IQ", "QI"])
def test_npy(tmp_path, order, dtype):
    z = noise((7, N), 8 if dtype[0] == "u" else 16)
    if dtype in ("IQ", "QI"):
        a = np.zeros(z.shape, [(dtype[0], "<i2"), (dtype[1], "<i2")])
        a["I"], a["Q"] = z.real, z.imag
    elif dtype.endswith("pair"):
        t = np.dtype(dtype[:-5])
        a = (np.stack([z.real, z.imag], -1) + 128 * (t.kind == "u")).astype(t)
    else:
        a = z.astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(a, order=order))
    s = open_stream(tmp_path / "a.npy")
    np.testing.assert_array_equal(s.read(0, s.count).reshape(7, N), z)
    np.testing.assert_array_equal(s.read(100, 203), z.ravel()[100:203])
    rec = open_recording(tmp_path / "a.npy", **LFM)  # the file says how long a line is
    assert (rec.num_pulses, rec.acq.samples, rec.dropped_samples) == (7, N, 0)
    np.testing.assert_array_equal(rec.lines(2, 5), z[2:5])
    # from a pipe, too, through a process of its own
    code = ("import sys, numpy as np; from gnuradio import sar\n"
            "s = sar.open_stream('-'); np.save(sys.argv[1], s.read(0, s.count))")
    out = tmp_path / "out.npy"
    subprocess.run([sys.executable, "-c", code, out], check=True,
                   input=(tmp_path / "a.npy").read_bytes())
    np.testing.assert_array_equal(np.load(out).reshape(7, N), z)


def test_npy_shapes(tmp_path):
    z = noise(5 * N)
    path = tmp_path / "a.npy"
    np.save(path, z)
    assert open_recording(path, samples=N, **LFM).num_pulses == 5
    np.save(path, z.real)
    s = open_stream(path)
    assert s.dtype.name == "rf64_le" and s.count == 5 * N
    np.save(path, np.stack([z.real, z.imag], 1))  # a column each
    np.testing.assert_array_equal(open_stream(path).read(0, 5 * N), z)
    assert open_stream(path, dict(real=True)).count == 10 * N
    for a, sentence in ((np.zeros((2, 3, 4), complex), r"shape \(2, 3, 4\)"),
                        (np.zeros((0, 4), complex), r"shape \(0, 4\)"),
                        (np.complex64(1), r"shape \(\)"),
                        (np.zeros(3, np.int64), "holds int64; expected complex64"),
                        (np.zeros(3, np.float16), "holds float16"),
                        (np.zeros(3, bool), "holds bool"),
                        (np.zeros(3, [("a", "<i2"), ("b", "<i2")]), "two fields of one type"),
                        (np.array([{}]), "holds object")):
        np.save(path, a, allow_pickle=True)
        with pytest.raises(RecordingError, match=sentence):
            open_stream(path)


def test_npy_truncated(tmp_path):
    z = noise((7, N)).astype(np.complex64)
    path = tmp_path / "a.npy"
    np.save(path, z)
    os.truncate(path, os.path.getsize(path) - 5)
    rec = open_recording(path, **LFM)
    assert (rec.num_pulses, rec.dropped_samples) == (6, N - 1)
    assert any("ends early" in n for n in rec.notes)
    np.testing.assert_array_equal(rec.lines(), z[:6])
    np.save(path, np.asfortranarray(z))
    os.truncate(path, os.path.getsize(path) - 5)
    with pytest.raises(RecordingError, match="Fortran order no line is whole"):
        open_recording(path, **LFM)
    np.save(path, z)
    with open(path, "ab") as f:
        f.write(b"another array")
    assert any("13 bytes behind the array" in n for n in open_stream(path).notes)
    os.truncate(path, 20)
    with pytest.raises(RecordingError, match="is not a whole .npy file"):
        open_stream(path)


# ---- SigMF: archives, captures, headers -------------------------------------------------


def sigmf(folder, name="a", pulses=6, **more):
    z = noise((pulses, N), seed=len(name) + pulses)
    write_sigmf(folder / name, z, sar.acquisition(samples=N, **LFM), datatype="ci16_le", scale=1.0,
                **more)
    return str(folder / (name + ".sigmf-meta")), z


def edit(meta, captures=None, **changes):
    m = json.load(open(meta))
    for k, v in changes.items():
        m["global"][k.replace("__", ":")] = v
    if captures is not None:
        m["captures"] = captures
    json.dump(m, open(meta, "w"))


def archive(path, folder, names, mode="w"):
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as tar:
        for n in names:
            tar.add(folder / n, arcname=n)


def test_sigmf_archive_is_read_in_place(tmp_path):
    source = tmp_path / "source"
    (source / "flight").mkdir(parents=True)
    positions = np.random.default_rng(0).normal(size=(6, 3))
    _, z = sigmf(source / "flight", positions=positions)
    _, other = sigmf(source / "flight", "second", pulses=4)
    inside = [f"flight/a{s}" for s in (".sigmf-meta", ".sigmf-data", ".nav.csv")]
    archive(tmp_path / "a.sigmf", source, inside)
    rec = open_recording(tmp_path / "a.sigmf")
    np.testing.assert_array_equal(rec.lines(), z)
    np.testing.assert_allclose(rec.tx, positions)
    assert rec.kind == "sigmf archive" and rec.used["positions"] == "flight/a.nav.csv"
    # nothing was unpacked
    assert sorted(os.listdir(tmp_path)) == ["a.sigmf", "source"]
    inside += [f"flight/second{s}" for s in (".sigmf-meta", ".sigmf-data")]
    archive(tmp_path / "two.sigmf", source, inside)
    with pytest.raises(RecordingError, match="two.sigmf holds 2 recordings; expected .*/NAME with "
                                             "NAME one of flight/a, flight/second"):
        open_recording(tmp_path / "two.sigmf")
    rec = open_recording(tmp_path / "two.sigmf" / "second")
    np.testing.assert_array_equal(rec.lines(), other)
    with pytest.raises(RecordingError, match="none is 'third'"):
        open_recording(tmp_path / "two.sigmf" / "third")
    archive(tmp_path / "no.sigmf", source, inside[:1])
    with pytest.raises(RecordingError, match="has no flight/a.sigmf-data"):
        open_recording(tmp_path / "no.sigmf")


def test_sigmf_archives_that_are_wrong(tmp_path):
    meta, _ = sigmf(tmp_path)
    archive(tmp_path / "z.sigmf", tmp_path, ["a.sigmf-meta", "a.sigmf-data"], "w:gz")
    with pytest.raises(RecordingError, match="is compressed; .*gunzip -c"):
        open_recording(tmp_path / "z.sigmf")
    put(tmp_path / "t.sigmf", b"not a tar file" * 100)
    with pytest.raises(RecordingError, match="is not a whole SigMF archive"):
        open_recording(tmp_path / "t.sigmf")
    archive(tmp_path / "e.sigmf", tmp_path, [])
    with pytest.raises(RecordingError, match="holds 0 recordings"):
        open_recording(tmp_path / "e.sigmf")


def test_sigmf_captures_are_chosen(tmp_path):
    meta, z = sigmf(tmp_path)
    captures = [{"core:sample_start": 0, "core:frequency": 9.6e9,
                 "core:datetime": "2026-05-01T10:00:00Z"},
                {"core:sample_start": 2 * N, "core:frequency": 5.4e9, "sar:prf_hz": 200.0,
                 "core:datetime": "2026-05-01T10:00:09Z"}]
    edit(meta, captures, sar__num_pulses=6)
    with pytest.raises(RecordingError, match="core:frequency changes from 9600000000.0 to "
                                             "5400000000.0 at sample 128; .*capture=0"):
        open_recording(meta)
    first, second = (open_recording(meta, capture=k) for k in (0, 1))
    np.testing.assert_array_equal(first.lines(), z[:2])
    np.testing.assert_array_equal(second.lines(), z[2:])
    assert (first.acq.carrier_hz, first.acq.prf_hz) == (9.6e9, 100)
    assert not any("sar:num_pulses" in n for n in first.notes)  # that is of the whole
    assert (second.acq.carrier_hz, second.acq.prf_hz) == (5.4e9, 200)
    with pytest.raises(RecordingError, match="capture is 2; expected 0 to 1"):
        open_recording(meta, capture=2)
    # info says what there is, and the command has a capture to choose
    d, rec = describe(meta)
    assert rec is None and "--capture 0" in d["command"]
    assert d["missing"][0]["name"] == "capture" and "sample 128" in d["missing"][0]["what"]
    d, rec = describe(meta, capture=1)
    assert rec is not None and not d["missing"]
    # converted: one capture, with its own time
    assert run("convert", meta, "--capture", 1, "-o", tmp_path / "one", "--quiet") == 0
    m = json.load(open(tmp_path / "one.sigmf-meta"))
    assert m["captures"] == [{"core:sample_start": 0, "core:frequency": 5.4e9,
                              "core:datetime": "2026-05-01T10:00:09Z"}]
    assert m["global"]["sar:prf_hz"] == 200 and m["global"]["core:datatype"] == "ci16_le"


@pytest.mark.parametrize("by", ["pulse", "time_s"])
def test_a_chosen_capture_keeps_its_pulses_and_times(tmp_path, by):
    """Positions and times of the pulses it has in the whole, not of the first ones."""
    meta, z = sigmf(tmp_path)
    captures = [{"core:sample_start": 0, "core:frequency": 9.6e9, "sar:prf_hz": 100.0},
                {"core:sample_start": 2 * N, "sar:prf_hz": 200.0},
                {"core:sample_start": 4 * N, "sar:prf_hz": 50.0}]
    edit(meta, captures, sar__start_time_s=5.0)
    t = 5 + np.array([0, 0.01, 0.02, 0.025, 0.03, 0.05])
    rows = ["pulse,x_m,y_m,z_m" if by == "pulse" else "time_s,x_m,y_m,z_m"]
    rows += [f"{k if by == 'pulse' else t[k]!r},{100 * t[k]!r},0,{k}" for k in range(6)]
    (tmp_path / "a.nav.csv").write_text("\n".join(rows) + "\n")
    for k in range(3):
        rec = open_recording(meta, capture=k)
        part = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(rec.times_s, t[part], atol=1e-9)
        np.testing.assert_allclose(rec.tx[:, 0], 100 * t[part], atol=1e-6)
        np.testing.assert_array_equal(rec.lines(), z[part])
    captures[2]["core:global_index"], captures[0]["core:global_index"] = 120000000, 0
    edit(meta, captures)
    os.unlink(tmp_path / "a.nav.csv")
    np.testing.assert_allclose(open_recording(meta, capture=2).times_s, [6, 6.02])


def test_sample_rate_may_not_change(tmp_path):
    meta, _ = sigmf(tmp_path)
    edit(meta, [{"core:sample_start": 0, "core:frequency": 9.6e9},
                {"core:sample_start": 2 * N, "core:sample_rate": 60e6}])
    with pytest.raises(RecordingError, match="core:sample_rate changes from 120000000.0 to "
                                             "60000000.0 at sample 128"):
        open_recording(meta)


def test_global_index_moves_pulses_in_time(tmp_path):
    """Samples lost between pulses move the pulses behind them; within a pulse is refused."""
    meta, z = sigmf(tmp_path)
    first = {"core:sample_start": 0, "core:frequency": 9.6e9, "core:global_index": 1000}
    edit(meta, [first, {"core:sample_start": 3 * N, "core:global_index": 1000 + 3 * N}])
    rec = open_recording(meta)
    np.testing.assert_allclose(rec.times_s, np.arange(6) / 100)  # nothing lost
    edit(meta, [first, {"core:sample_start": 3 * N, "core:global_index": 1000 + 12000000}])
    rec = open_recording(meta)
    np.testing.assert_allclose(rec.times_s, [0, 0.01, 0.02, 0.1, 0.11, 0.12])
    np.testing.assert_array_equal(rec.lines(), z)
    assert any("core:global_index jumps before 1 captures" in n for n in rec.notes)
    # range-Doppler, which counts pulses, says so
    with pytest.raises(FocusError, match="pulse 3 is 7 pulses away from even spacing"):
        range_doppler(open_recording(meta, effective_velocity_m_s=100.0))
    edit(meta, [first, {"core:sample_start": 3 * N + 5, "core:global_index": 9000}])
    with pytest.raises(RecordingError, match="7803 samples are lost at sample 197 .*inside pulse 3"):
        open_recording(meta)
    edit(meta, [first, {"core:sample_start": 3 * N, "core:global_index": 1000 + N}])
    with pytest.raises(RecordingError, match="core:global_index of capture 1 is 1064, 128 before"):
        open_recording(meta)


def test_sigmf_non_conforming_dataset(tmp_path):
    """core:dataset of another program: headers before each capture, a trailer."""
    meta, z = sigmf(tmp_path)
    raw = (tmp_path / "a.sigmf-data").read_bytes()
    os.unlink(tmp_path / "a.sigmf-data")
    cut = 2 * N * 4
    put(tmp_path / "radar.dat", b"h" * 33 + raw[:cut] + b"H" * 7 + raw[cut:] + b"end")
    captures = [{"core:sample_start": 0, "core:header_bytes": 33, "core:frequency": 9.6e9},
                {"core:sample_start": 2 * N, "core:header_bytes": 7}]
    edit(meta, captures, core__dataset="radar.dat", core__trailing_bytes=3)
    rec = open_recording(meta)
    assert rec.num_pulses == 6 and rec.dropped_samples == 0
    np.testing.assert_array_equal(rec.lines(), z)
    np.testing.assert_array_equal(rec.lines(1, 4), z[1:4])  # over the header
    np.testing.assert_array_equal(open_recording(meta, capture=1).lines(), z[2:])
    edit(meta, [{"core:sample_start": -1, "core:frequency": 9.6e9}])
    with pytest.raises(RecordingError, match="core:sample_start is -1"):
        open_recording(meta)
    edit(meta, captures, core__dataset="gone.dat")
    with pytest.raises(RecordingError, match="gone.dat does not exist"):
        open_recording(meta)
    edit(meta, captures, core__metadata_only=True)
    with pytest.raises(RecordingError, match="core:metadata_only is true"):
        open_recording(meta)


def test_sigmf_channels(tmp_path):
    z = noise((6, N, 2))
    meta, _ = sigmf(tmp_path)
    put(tmp_path / "a.sigmf-data", interleaved(z, "<i2"))
    edit(meta, core__num_channels=2)
    for c in (0, 1):
        np.testing.assert_array_equal(open_recording(meta, channel=c).lines(), z[:, :, c])
    assert any("channel 0 of 2" in n for n in open_recording(meta).notes)
    edit(meta, core__num_channels=2.5)
    with pytest.raises(RecordingError, match="core:num_channels is 2.5"):
        open_recording(meta)


def test_sigmf_collection_names_its_recordings(tmp_path):
    put(tmp_path / "c.sigmf-meta", json.dumps({"collection": {"core:streams": [
        {"name": "east"}, {"name": "west"}]}}).encode())
    put(tmp_path / "c.sigmf-data", b"1234")
    with pytest.raises(RecordingError, match="collection; expected one of its recordings: east, "):
        open_recording(tmp_path / "c.sigmf-meta")


def test_metadata_given_for_a_file_with_a_header(tmp_path):
    """The header knows its samples, the metadata file the radar."""
    z = noise((6, N))
    meta, _ = sigmf(tmp_path)
    edit(meta, core__datatype="cf64_be")
    path = put(tmp_path / "a.wav", wav([z.real.ravel(), z.imag.ravel()]))
    rec = open_recording(path, meta=meta)
    np.testing.assert_array_equal(rec.lines(), z)
    assert rec.acq.prf_hz == 100 and rec.datatype == "ci16_le"
    assert rec.metadata["global"]["core:datatype"] == "ci16_le"


# ---- TI ---------------------------------------------------------------------------------


def capture(cube, lanes, real=False):
    """Bytes of adc_data.bin of cube[chirp, receiver, sample], word by word."""
    out = []
    for chirp in cube:
        if lanes == 4:
            for k in range(chirp.shape[1]):
                four = [chirp[r, k] if r < len(chirp) else 0 for r in range(4)]
                out += [np.real(v) for v in four] + ([] if real else [np.imag(v) for v in four])
        elif real:
            out += list(np.real(chirp).ravel())
        else:
            flat = chirp.ravel()
            for a, b in zip(flat[::2], flat[1::2]):
                out += [a.real, b.real, a.imag, b.imag]
    return np.array(out).astype("<i2").tobytes()


@pytest.mark.parametrize("device,lanes", [("xwr1443", 4), ("AWR1243", 4), ("iwr6843", 2),
                                          ("xWR18xx", 2), (None, 2), (None, 4)])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("rx,n", [(4, 16), (2, 15), (1, 16), (3, 8)])
def test_ti_capture(tmp_path, device, lanes, real, rx, n):
    cube = noise((6, rx, n))
    path = put(tmp_path / "adc_data.bin", capture(cube, lanes, real))
    ti = dict(num_adc_samples=n, num_rx=rx, real=real, **(
        dict(device=device) if device else dict(lanes=lanes)))
    for r in range(rx):
        s = open_stream(path, dict(ti=ti, channel=r))
        assert (s.count, s.stray_bytes) == (6 * n, 0)
        wanted = cube[:, r].real if real else cube[:, r]
        np.testing.assert_array_equal(s.read(0, 6 * n).reshape(6, n), wanted)
        np.testing.assert_array_equal(s.read(n + 3, 4 * n - 1), wanted.ravel()[n + 3 : 4 * n - 1])
    # two transmitters that take turns
    for turn in (0, 1):
        s = open_stream(path, dict(ti=dict(ti, num_tx=2, tx=turn), channel=rx - 1))
        wanted = cube[turn::2, rx - 1]
        np.testing.assert_array_equal(s.read(0, 3 * n).reshape(3, n),
                                      wanted.real if real else wanted)


def test_ti_capture_as_a_recording(tmp_path):
    cube = noise((8, 4, 32))
    path = put(tmp_path / "adc_data.bin", capture(cube, 2)[:-6])
    put(tmp_path / "adc_data.json", json.dumps(dict(
        device="iwr1843", num_adc_samples=32, num_tx=2, num_chirps=2, frame_period_s=0.5)).encode())
    radio = dict(carrier_hz=77e9, prf_hz=1000.0, sample_rate_hz=5e6, chirp_rate_hz_per_s=3e13,
                 slant_range_first_m=0.0)
    rec = open_recording(path, channel=2, **radio)
    # the last chirp of the second transmitter is cut: its turn is left out
    assert (rec.num_pulses, rec.acq.samples, rec.acq.waveform) == (3, 32, "fmcw")
    assert rec.dropped_samples == 31 and any("31 samples are dropped" in n for n in rec.notes)
    np.testing.assert_array_equal(rec.lines(), cube[0:6:2, 2])
    np.testing.assert_allclose(rec.times_s, [0, 0.001, 0.5])
    # the caller goes before the file; Q first, as other tools have it
    other = open_recording(path, ti=dict(tx=1), swap_iq=True, **radio)
    np.testing.assert_array_equal(other.lines(), cube[1:7:2, 0].imag + 1j * cube[1:7:2, 0].real)
    for ti, sentence in ((dict(rx=4), "'rx' is not a parameter of a DCA1000 capture"),
                         (dict(device="esp32"), "device is 'esp32'"),
                         (dict(num_rx=5), "num_rx is 5"), (dict(num_rx=2.5), "num_rx is 2.5"),
                         (dict(tx=2), "tx is 2; expected 0 to 1"),
                         (dict(lanes=3), "lanes is 3"),
                         (dict(num_adc_samples=10**9), "less than one chirp of each transmitter"),
                         (dict(num_adc_samples=31, num_rx=1), "expected an even number")):
        with pytest.raises(RecordingError, match=sentence):
            open_recording(path, ti=ti, **radio)
    with pytest.raises(RecordingError, match="channel is 4; expected 0 to 3"):
        open_recording(path, channel=4, **radio)


def test_ti_capture_with_the_configuration_of_mmwave_studio(tmp_path):
    cube = noise((12, 2, 32))
    path = put(tmp_path / "adc_data.bin", capture(cube, 4))
    studio = {"mmWaveDevices": [{
        "rfConfig": {
            "rlChanCfg_t": {"rxChannelEn": "0x3", "txChannelEn": "0x5"},
            "rlAdcOutCfg_t": {"fmt": {"b2AdcBits": 2, "b2AdcOutFmt": 1}},
            "rlProfiles": [{"rlProfileCfg_t": {
                "startFreqConst_GHz": 77.0, "idleTimeConst_usec": 100.0,
                "adcStartTimeConst_usec": 6.0, "rampEndTime_usec": 60.0,
                "freqSlopeConst_MHz_usec": 30.0, "numAdcSamples": 32,
                "digOutSampleRate": 10000.0}}],
            "rlFrameCfg_t": {"chirpStartIdx": 0, "chirpEndIdx": 1, "numLoops": 3,
                             "framePeriodicity_msec": 40.0}},
        "rawDataCaptureConfig": {"rlDevDataFmtCfg_t": {"iqSwapSel": 1, "chInterleave": 0},
                                 "rlDevLaneEnable_t": {"laneEn": "0xF"}}}]}
    put(tmp_path / "mine.mmwave.json", json.dumps(studio).encode())
    rec = open_recording(path, channel=1, slant_range_first_m=0.0)
    acq = rec.acq
    assert acq.waveform == "fmcw" and acq.samples == 32 and rec.num_pulses == 6
    assert acq.carrier_hz == pytest.approx(77e9 + 30e12 * 6e-6)
    assert acq.chirp_rate_hz_per_s == pytest.approx(30e12) and acq.sample_rate_hz == 10e6
    assert acq.prf_hz == pytest.approx(1 / 320e-6)
    z = cube[::2, 1]
    np.testing.assert_array_equal(rec.lines(), z.imag + 1j * z.real)  # iqSwapSel
    np.testing.assert_allclose(rec.times_s, [0, 320e-6, 640e-6, 0.04, 0.04032, 0.04064])
    del studio["mmWaveDevices"][0]["rfConfig"]["rlProfiles"]
    put(tmp_path / "mine.mmwave.json", json.dumps(studio).encode())
    with pytest.raises(RecordingError, match="is not as mmWave Studio writes it: KeyError 'rlProf"):
        open_recording(path)


def test_ti_capture_without_parameters(tmp_path):
    path = put(tmp_path / "adc_data_1.bin", capture(noise((2, 4, 8)), 2))
    with pytest.raises(RecordingError, match="capture of TI's DCA1000.* give device .*num_adc_sam"):
        open_recording(path, prf_hz=100.0)
    d, _ = describe(path)
    assert d["missing"][0]["name"] == "order of samples"
    assert "--ti device=DEVICE --ti num_adc_samples=NUM_ADC_SAMPLES" in d["command"]
    # raw IQ when a data type is given
    assert open_stream(path, dict(datatype="ci16_le")).kind == "raw"


# ---- one place for the sign convention --------------------------------------------------


def every_kind(folder, z):
    """{kind: (path or paths, options)}: the same integer samples z in each kind of file."""
    flat = z.ravel()
    raw = interleaved(flat, "<i2")
    write_sigmf(folder / "s", z, sar.acquisition(samples=z.shape[1], **LFM), datatype="ci16_le",
                scale=1.0)
    archive(folder / "s.sigmf", folder, ["s.sigmf-meta", "s.sigmf-data"])
    np.save(folder / "c.npy", z.astype(np.complex64))
    np.save(folder / "f.npy", np.asfortranarray(z))
    two = [put(folder / "i.wav", wav([flat.real])), put(folder / "q.wav", wav([flat.imag]))]
    return {
        "raw": (put(folder / "r.cs16", raw), {}),
        "bytes": (put(folder / "r.bin", b"head" + raw), dict(datatype="ci16_le", header_bytes=4)),
        "wav": (put(folder / "w.wav", wav([flat.real, flat.imag])), {}),
        "wav24": (put(folder / "w24.wav", wav([flat.real, flat.imag], bits=24)), {}),
        "wavf": (put(folder / "wf.wav", wav([flat.real, flat.imag], "f", 32)), {}),
        "two files": (two, dict(iq_files=True)),
        "npy": (str(folder / "c.npy"), {}),
        "npy, Fortran": (str(folder / "f.npy"), {}),
        "sigmf": (str(folder / "s.sigmf-meta"), {}),
        "archive": (str(folder / "s.sigmf"), {}),
        "ti": (put(folder / "adc_data.bin", capture(z[:, None], 2)),
               dict(ti=dict(device="xwr1642", num_rx=1, num_adc_samples=z.shape[1]))),
    }


KINDS = ["raw", "bytes", "wav", "wav24", "wavf", "two files", "npy", "npy, Fortran", "sigmf",
         "archive", "ti"]


@pytest.mark.parametrize("kind", KINDS)
def test_swap_and_conjugate_of_every_kind(tmp_path, kind):
    z = noise((6, N))
    path, options = every_kind(tmp_path, z)[kind]
    factor = 1 / 32768 if kind == "wavf" else 1
    options = dict(options, samples=N, **LFM)
    for turn, wanted in ((dict(), z), (dict(swap_iq=True), z.imag + 1j * z.real),
                         (dict(conjugate=True), z.conj()),
                         (dict(swap_iq=True, conjugate=True), z.imag - 1j * z.real)):
        rec = open_recording(path, **options, **turn)
        np.testing.assert_array_equal(rec.lines(), wanted * factor)
        np.testing.assert_array_equal(rec.lines(2, 4), wanted[2:4] * factor)
        assert ("as asked" in " ".join(rec.notes)) == bool(turn)


def test_kinds_cover_the_table(tmp_path):
    """An entry of FORMATS without a fixture here is a format without a test."""
    made = every_kind(tmp_path, noise((6, N)))
    found = set()
    for path, options in made.values():
        paths = [path] if isinstance(path, str) else path
        found.add(formats.recognise(paths, options)[0].name)
    others = {"gotcha", "p440", "not read"}  # in qa_recordings.py, and below
    assert found == {f.name for f in formats.FORMATS} - others


def test_options_without_a_meaning_are_refused(tmp_path):
    kinds = every_kind(tmp_path, noise((6, N)))
    for kind, option in (("wav", dict(capture=0)), ("npy", dict(channel=1)), ("sigmf", dict(ti={
            "device": "xwr1642"})), ("raw", dict(autofocus=True)), ("ti", dict(real=True)),
            ("archive", dict(channels=2))):
        path, options = kinds[kind]
        name = next(iter(option))
        if name == "ti":
            continue  # ti says by itself what the file is
        with pytest.raises(RecordingError, match=f"^{name} has no meaning for "):
            open_recording(path, **options, **option)


# ---- cut files, standard input ----------------------------------------------------------


@pytest.mark.parametrize("cut,pulses,dropped", [(5, 5, N - 2), (N * 4, 5, 0), (N * 4 + 80, 4, N - 20)])
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("kind", ["raw", "wav"])
def test_cut_files(tmp_path, kind, piped, cut, pulses, dropped):
    z = noise((6, N))
    path, _ = every_kind(tmp_path, z)[kind]
    os.truncate(path, os.path.getsize(path) - cut)
    code = ("import sys, json, numpy as np; from gnuradio import sar\n"
            "r = sar.open_recording(sys.argv[1], **json.loads(sys.argv[2]))\n"
            "np.save(sys.argv[3], r.lines())\n"
            "print(json.dumps([r.num_pulses, r.dropped_samples, r.notes]))")
    options = dict(samples=N, **LFM)
    if piped and kind == "raw":
        options["datatype"] = "ci16_le"
    with open(path, "rb") as f:
        out = subprocess.run([sys.executable, "-c", code, "-" if piped else path,
                              json.dumps(options), str(tmp_path / "out.npy")], stdin=f,
                             capture_output=True, check=True)
    found_pulses, found_dropped, notes = json.loads(out.stdout)
    assert (found_pulses, found_dropped) == (pulses, dropped)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), z[:pulses])
    assert any(f"{pulses} whole pulses are used, {dropped} samples are dropped" in n for n in notes
               ) == bool(dropped)
    assert any("bytes at the end" in n for n in notes) == bool(cut % 4)


def test_info_of_standard_input(tmp_path, monkeypatch, capsys):
    z = noise(100)
    path = put(tmp_path / "a.wav", wav([z.real, z.imag]))
    with open(path, "rb") as f:
        monkeypatch.setattr(sys, "stdin", type("pipe", (), {"buffer": f}))
        assert run("info", "-") == 0
    out = capsys.readouterr().out
    assert "wav, ci16_le" in out and "100 complex" in out and "gr_sar focus - -o out" in out


# ---- what looks wrong -------------------------------------------------------------------


def hints(tmp_path, raw, datatype="ci16_le"):
    s = open_stream(put(tmp_path / "h.bin", raw), dict(datatype=datatype))
    return hints_of(s, measured(s)), measured(s)


def test_hints(tmp_path):
    z = noise(20000)
    assert hints(tmp_path, interleaved(z, "<i2"))[0] == []
    zero = hints(tmp_path, interleaved(z.real + 0j, "<i2"))[0]
    assert len(zero) == 1 and zero[0].startswith("Q is all zero: these look like real samples")
    zero = hints(tmp_path, interleaved(1j * z.imag, "<i2"))[0]
    assert len(zero) == 1 and zero[0].startswith("I is all zero")
    both = hints(tmp_path, interleaved(z.real * (1 + 1j), "<i2"))[0]
    assert len(both) == 1 and both[0].startswith("I and Q are identical: a real signal in both")
    near = z.real + 1j * (z.real + np.rint(z.imag / 20))
    near = hints(tmp_path, interleaved(near, "<i2"))[0]
    assert len(near) == 1 and near[0].startswith("I and Q are alike (correlation 0.99")
    none = hints(tmp_path, bytes(400))[0]
    assert none == ["all 100 samples looked at are zero"]


def test_constant_and_level(tmp_path):
    """A constant of a third of the power, and the level against full scale."""
    z = noise(40000)
    power = np.mean(np.abs(z) ** 2)
    d = round((power / 4) ** 0.5)
    z = z + d * (1 + 1j)
    found, level = hints(tmp_path, interleaved(z, "<i2"))
    assert level["dc_share"] == pytest.approx(1 / 3, abs=0.01)
    assert len(found) == 1 and found[0].startswith("33 % of the power is a constant")
    assert level["level_db"] == pytest.approx(10 * np.log10(1.5 * power) - 20 * np.log10(32768),
                                              abs=0.05)
    # of unsigned samples the middle is no constant
    u = np.random.default_rng(1).normal(size=(2, 40000)) * 20
    u = np.rint(u[0]) + 1j * np.rint(u[1])
    found, level = hints(tmp_path, interleaved(u, "u1"), "cu8")
    assert not found and level["dc_share"] < 1e-3


@pytest.mark.parametrize("share", [0.0005, 0.002, 0.05])
@pytest.mark.parametrize("top", [32767, 2047])
def test_clipping(tmp_path, share, top):
    """Gaussian noise with the share given beyond full scale, of the word or of 12 bits in it."""
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    sigma = top / norm.isf(share / 2)
    v = np.clip(np.rint(rng.normal(size=400000) * sigma), -top - 1, top).astype("<i2")
    found, level = hints(tmp_path, v.tobytes())
    assert level["clipped_share"] == pytest.approx(share, rel=0.2)
    assert any("seems to clip" in h for h in found) == (share > 1e-3)
    assert not found or f"{-top - 1} and {top}" in found[0]


def test_clipping_of_floats(tmp_path):
    """Only where the format has a full scale; a steady tone in floats is no clipping."""
    rng = np.random.default_rng(1)
    v = np.clip(rng.normal(size=(2, 20000)), -1, 1)
    s = open_stream(put(tmp_path / "a.wav", wav(list(v * 32768), "f", 32)))
    level = measured(s)
    assert level["clipped_share"] == pytest.approx(0.317, abs=0.01)
    assert any("seems to clip" in h for h in hints_of(s, level))
    tone = np.exp(0.5j * np.pi * np.arange(1000)).astype("<c8")
    assert hints(tmp_path, tone.tobytes(), "cf32_le")[0] == []


def test_hints_are_notes_and_look_at_a_bounded_part(tmp_path):
    """A sparse file of a TiB: some of it is looked at, its end included."""
    path = put(tmp_path / "a.cs16", b"")
    os.truncate(path, 1 << 40)
    with open(path, "r+b") as f:
        f.seek((1 << 40) - 4 * 1000)
        f.write(interleaved(noise(1000), "<i2"))
    s = open_stream(path)
    level = measured(s)
    assert level["samples"] == 16 << 15 and level["rms"] > 0
    path = put(tmp_path / "b.cs16", interleaved(noise(10 * N).real * (1 + 1j), "<i2"))
    rec = open_recording(path, samples=N, **LFM)
    assert any(n.startswith("I and Q are identical") for n in rec.notes)


def test_not_finite(tmp_path):
    z = noise((6, N)).astype("<c8")
    z[3, 7] = complex("nan")
    path = put(tmp_path / "a.cf32", z.tobytes())
    rec = open_recording(path, samples=N, **LFM)
    assert any(n == "1 of 384 samples looked at are not finite" for n in rec.notes)
    with pytest.raises(RecordingError, match=r"a.cf32: pulse 3, sample 7, is \(nan"):
        rec.lines()
    assert np.isfinite(rec.lines(0, 3)).all()
    assert run("info", path) == 0
    # a flowgraph stops with the sentence
    assert run("focus", path, "-o", tmp_path / "out", "--quiet", "--algorithm", "rda", "--set",
               f"samples={N}", "--set", "effective_velocity_m_s=100",
               *[a for k, v in LFM.items() for a in ("--set", f"{k}={v}")]) == 1


# ---- wrong names, broken files ----------------------------------------------------------


def test_content_counts_more_than_the_name(tmp_path):
    z = noise(5 * N)
    s = open_stream(put(tmp_path / "sdr_cw_real", wav([z.real, z.imag])))
    assert s.kind == "wav"
    s = open_stream(put(tmp_path / "a.cf32", wav([z.real, z.imag])))
    assert s.kind == "wav"
    for name, begin in (("a.wav", "RIFF, RIFX, RF64 or BW64"), ("a.npy", "x93NUMPY")):
        path = put(tmp_path / name, z.astype("<c8").tobytes())
        with pytest.raises(RecordingError, match=f"has the suffix .*; expected .*{begin}, or datat"):
            open_stream(path)
        assert open_stream(path, dict(datatype="cf32_le")).count == 5 * N
    s = open_stream(put(tmp_path / "b.wav", wav([z.real, z.imag])), dict(datatype="ci16_le"))
    assert s.kind == "raw" and any("has a header, which is read as samples" in n for n in s.notes)


@pytest.mark.parametrize("name,head,sentence", [
    ("a.m4a", b"\0\0\0\x20ftypM4A ", "a.m4a is compressed audio, which loses phase.*ffmpeg -i .*"
                                      "a.m4a .*a.wav"),
    ("a.mp4", b"\0\0\0\x20ftypmp42", "compressed audio"),
    ("a.mp3", b"ID3\x04\0\0", "compressed audio"),
    ("a.flac", b"fLaC\0\0\0\x22", "FLAC; convert it: ffmpeg"),
    ("a.h5", b"\x89HDF\r\n\x1a\n", "HDF5"),
    ("a.npz", b"PK\x03\x04....", "zip archive"),
    ("a.gz", b"\x1f\x8b\x08\0", "compressed with gzip"),
])
def test_kinds_that_are_not_read(tmp_path, name, head, sentence):
    path = put(tmp_path / name, head + b"\0" * 100)
    with pytest.raises(RecordingError, match=sentence):
        open_recording(path)
    # raw IQ may begin with any bytes when somebody says that it is raw IQ
    assert open_stream(path, dict(datatype="ci8")).kind == "raw"
    assert open_stream(put(tmp_path / "b.cs8", head + b"\0" * 100)).kind == "raw"


def test_broken_files(tmp_path, capsys):
    (tmp_path / "empty.wav").touch()
    (tmp_path / "folder").mkdir()
    odd = put(tmp_path / "odd.cs16", bytes(range(1, 8)))
    meta, _ = sigmf(tmp_path)
    put(tmp_path / "list.sigmf-meta", b"[1, 2]")
    put(tmp_path / "list.sigmf-data", b"1234")
    put(tmp_path / "cap.sigmf-meta", b'{"global": {}, "captures": [1]}')
    put(tmp_path / "cap.sigmf-data", b"1234")
    os.truncate(tmp_path / "a.sigmf-data", 0)
    for path, sentence in ((tmp_path / "empty.wav", "empty.wav is empty"),
                           (tmp_path / "folder", "is a folder without scans.json"),
                           (meta, "a.sigmf-data holds no samples"),
                           (tmp_path / "list.sigmf-meta", "has no object 'global'"),
                           (tmp_path / "cap.sigmf-meta", "captures is not a list of objects"),
                           (tmp_path / "gone.cf32", "gone.cf32 does not exist")):
        assert run("focus", path, "-o", tmp_path / "out") == 1
        err = capsys.readouterr().err
        assert sentence in err and err.count("\n") == 1, err
    assert run("info", odd) == 0
    assert "3 bytes at the end are not a whole sample" in capsys.readouterr().out


def test_unreadable_file(tmp_path, capsys):
    path = put(tmp_path / "a.cs16", bytes(400))
    os.chmod(path, 0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read every file")
    for command in (["info"], ["convert", "-o", tmp_path / "o"], ["focus", "-o", tmp_path / "o"]):
        assert run(command[0], path, *command[1:]) == 1
        assert capsys.readouterr().err == f"gr_sar: {path}: Permission denied\n"


# ---- gr_sar info ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_info_of_what_lacks_everything(tmp_path, kind, capsys):
    path, options = every_kind(tmp_path, noise((6, N)))[kind]
    if kind in ("sigmf", "archive"):
        m = {"global": {"core:datatype": "ci16_le", "core:version": "1.0.0"}, "captures": [],
             "annotations": []}
        (tmp_path / "s.sigmf-meta").write_text(json.dumps(m))
        archive(tmp_path / "s.sigmf", tmp_path, ["s.sigmf-meta", "s.sigmf-data"])
    flags = {"header_bytes": ["--header-bytes", "4"], "datatype": ["--datatype", "ci16_le"],
             "iq_files": ["--iq-files"],
             "ti": ["--ti", "device=xwr1642", "--ti", "num_rx=1", "--ti", f"num_adc_samples={N}"]}
    args = ([path] if isinstance(path, str) else path) + [f for o in options for f in flags[o]]
    assert run("info", *args) == 0
    out = capsys.readouterr().out
    assert f"{6 * N} complex" in out and "missing to focus it" in out
    for key in ("core:frequency", "sar:prf_hz", "sar:chirp_rate_hz_per_s",
                "sar:slant_range_first_sample_m"):
        assert key in out, key
    assert ("sar:samples_per_pulse" in out) == (kind not in ("npy", "npy, Fortran", "ti"))
    assert ("pulse_framer" in out) == ("sar:samples_per_pulse" in out)
    assert run("info", *args, "--json") == 0
    d = json.loads(capsys.readouterr().out)
    assert shlex.split(d["command"])[:2] == ["gr_sar", "focus"]
    assert shlex.split(d["command"])[2 : 2 + len(args)] == [str(a) for a in args]
    assert "--positions POSITIONS.csv" in d["command"]


def test_the_command_of_info_focuses(tmp_path, capsys):
    """A simulated scene as a bare raw file: info's command, filled in, makes the same image."""
    base = tmp_path / "scene"
    assert run("simulate", base, "--quiet", "--pulses", "200", "--scene", "40", "--bandwidth",
               "100e6", "--prf", "100", "--target", "1.3,-2.2") == 0
    acq = open_recording(base).acq.to_dict()
    bare = str(tmp_path / "b are.dat")
    os.rename(tmp_path / "scene.sigmf-data", bare)
    assert run("info", bare, "--json", "--range-bias", "0") == 0
    d = json.loads(capsys.readouterr().out)
    words = shlex.split(d["command"])[1:]
    values = {n.upper(): v for n, v in acq.items()}
    values.update({"DATATYPE": "cf32_le", "POSITIONS.csv": str(tmp_path / "scene.nav.csv"),
                   "out": str(tmp_path / "image")})
    filled = []
    for w in words:
        name, sep, value = w.partition("=")
        filled.append(f"{name}={values.get(value, value)}" if sep else values.get(w, w))
    assert not [w for w in filled if w.isupper()]
    assert run(*filled, "--size", "20", "--quiet", "--backend", "cpu") == 0
    report = json.load(open(tmp_path / "image" / "report.json"))
    x, y, _ = report["quality"]["peak_position_m"]
    assert np.hypot(x - 1.3, y + 2.2) < 0.2
    # of what is complete the command is complete
    os.rename(bare, tmp_path / "scene.sigmf-data")
    assert run("info", base, "--json") == 0
    d = json.loads(capsys.readouterr().out)
    assert d["missing"] == [] and d["command"] == f"gr_sar focus {base} -o out"
    assert d["pulses"] == 200 and d["positions"] is True and d["stream"]["channels"] == 1


def test_info_refuses_what_focus_would(tmp_path, capsys):
    path, _ = every_kind(tmp_path, noise((6, N)))["raw"]
    for args, sentence in (
            (["--set", "foo=3"], "'foo' is not a parameter of an acquisition"),
            (["--set", "carrier_hz=abc"], "carrier_hz is 'abc'; expected a number"),
            (["--set", "prf_hz=NaN"], "prf_hz is nan; expected a number"),
            (["--channels", "0"], "has 0 channels; expected 1 or more"),
            (["--channel", "1"], "channel is 1; expected 0 to 0"),
            (["--header-bytes", "99999999"], "header_bytes is 99999999; expected at most 1536"),
            (["--header-bytes", "-5"], "header_bytes is -5")):
        for command in (["info"], ["convert", "-o", tmp_path / "o"], ["focus", "-o", tmp_path / "o"]):
            assert run(command[0], path, *command[1:], *args) == 1, args
            err = capsys.readouterr().err
            assert sentence in err and err.count("\n") == 1, err


def test_bits_that_are_no_numbers(tmp_path, recwarn):
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, 8 * 4096).astype("u1")
    raw[3::8], raw[2::8] = 0x7F, 0xA0  # signalling NaN
    path = put(tmp_path / "a.cf32", raw.tobytes())
    assert run("info", path) == 0
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_info_of_other_waveforms(tmp_path):
    path, _ = every_kind(tmp_path, noise((6, N)))["raw"]

    def missing(**given):
        return [m["name"] for m in describe(path, **given)[0]["missing"]]

    assert missing() == ["waveform", "samples", "carrier_hz", "prf_hz", "sample_rate_hz",
                         "chirp_rate_hz_per_s", "pulse_length_s", "slant_range_first_m"]
    assert missing(waveform="fmcw", samples=N) == [
        "carrier_hz", "prf_hz", "sample_rate_hz", "chirp_rate_hz_per_s", "slant_range_first_m"]
    assert missing(frequency_step_hz=1e6, samples=N) == [
        "carrier_hz", "prf_hz", "slant_range_first_m"]
    assert "replica" in missing(waveform="replica")
    real = put(tmp_path / "a.f32", np.ones(500, "<f4").tobytes())
    assert describe(real, waveform="pulsed_lfm")[0]["missing"][-1]["key"] == (
        "sar:intermediate_frequency_hz")
    with pytest.raises(RecordingError, match="does not say sar:intermediate_frequency_hz"):
        open_recording(real, samples=N, **LFM)


# ---- gr_sar convert ---------------------------------------------------------------------


def components(path, options=None):
    s = open_stream(path, options)
    return s.dtype.name, s.components(0, s.count)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
def test_convert_keeps_every_sample(tmp_path, kind, known):
    """With the radar's parameters and without them; in a data type that loses nothing."""
    z = noise((6, N))
    path, options = every_kind(tmp_path, z)[kind]
    flags = {"header_bytes": ["--header-bytes", "4"], "datatype": ["--datatype", "ci16_le"],
             "iq_files": ["--iq-files"],
             "ti": ["--ti", "device=xwr1642", "--ti", "num_rx=1", "--ti", f"num_adc_samples={N}"]}
    args = ([path] if isinstance(path, str) else path) + [f for o in options for f in flags[o]]
    if known:
        args += [a for k, v in dict(LFM, samples=N).items() for a in ("--set", f"{k}={v}")]
    assert run("convert", *args, "-o", tmp_path / "out", "--quiet") == 0
    m = json.load(open(tmp_path / "out.sigmf-meta"))
    data = (tmp_path / "out.sigmf-data").read_bytes()
    name, before = components(path, options)
    assert m["global"]["core:datatype"] == name.replace("24", "32")
    assert m["global"]["core:sha512"] == hashlib.sha512(data).hexdigest()
    assert m["global"]["core:num_channels"] == 1 and "sar:scale" not in m["global"]
    _, after = components(tmp_path / "out.sigmf-meta")
    np.testing.assert_array_equal(after, before)
    if known or kind in ("sigmf", "archive"):
        rec = open_recording(tmp_path / "out.sigmf-meta")
        assert rec.acq.to_dict() == sar.acquisition(samples=N, **LFM).to_dict()
    elif kind == "wav":
        assert m["global"]["core:sample_rate"] == 48000


@pytest.mark.parametrize("name", [t[0] for t in TYPES])
def test_convert_of_every_data_type(tmp_path, name):
    """Every code of narrow types, edges of wide ones."""
    t = sar.formats.data_type(name)
    if t.integer:
        info = np.iinfo(t.component)
        low, high = info.min, info.max
        if "24" in name:
            low, high = -(1 << 23), (1 << 23) - 1
        v = np.unique(np.concatenate([np.linspace(low, high, 70000).astype(np.int64),
                                      low + np.arange(300), high - np.arange(300)]))
    else:
        info = np.finfo(t.component)
        v = np.array([0, -0.0, info.max, info.min, info.tiny, 1 / 3, np.nan, np.inf])
    v = np.resize(v, 2 * len(v)).astype(t.component)
    raw = v.tobytes()
    if "24" in name:
        four = np.frombuffer(raw, "u1").reshape(-1, 4)
        raw = (four[:, :3] if name.endswith("le") else four[:, 1:]).tobytes()
    path = put(tmp_path / "a.bin", raw)
    assert run("convert", path, "--datatype", name, "-o", tmp_path / "o", "--quiet") == 0
    to, after = components(tmp_path / "o.sigmf-meta")
    assert to == name.replace("24", "32")
    np.testing.assert_array_equal(after.ravel(), v)
    # as a recording, too
    if t.complex and t.integer:
        assert run("convert", path, "--datatype", name, "-o", tmp_path / "p", "--quiet",
                   *[a for k, x in dict(LFM, samples=N).items() for a in ("--set", f"{k}={x}")]) == 0
        to, after = components(tmp_path / "p.sigmf-meta")
        assert to == name.replace("24", "32")
        np.testing.assert_array_equal(after.ravel(), v[: after.size])


@pytest.mark.parametrize("known", [False, True])
def test_convert_carries_what_else_a_file_says(tmp_path, known):
    meta, z = sigmf(tmp_path)
    m = json.load(open(meta))
    m["global"].update({"core:author": "A. N. Other", "core:description": "a flight",
                        "sar:noise_power": 0.5, "other:thing": [1], "sar:iq_swapped": True,
                        "core:extensions": [{"name": "other", "version": "1.0.0",
                                             "optional": True}]})
    if not known:
        del m["global"]["sar:prf_hz"]
    m["captures"][0].update({"core:sample_start": N, "core:datetime": "2026-05-01T10:00:00Z"})
    m["annotations"] = [{"core:sample_start": 5, "core:label": "before"},
                        {"core:sample_start": 2 * N, "core:sample_count": 3, "core:label": "ship"}]
    m["global"].pop("sar:num_pulses")
    json.dump(m, open(meta, "w"))
    assert run("convert", meta, "-o", tmp_path / "o", "--quiet") == 0
    o = json.load(open(tmp_path / "o.sigmf-meta"))
    for key in ("core:author", "core:description", "sar:noise_power", "other:thing"):
        assert o["global"][key] == m["global"][key]
    assert [e["name"] for e in o["global"]["core:extensions"]] == ["sar", "other"]
    assert o["captures"] == [{"core:sample_start": 0, "core:frequency": 9.6e9,
                              "core:datetime": "2026-05-01T10:00:00Z"}]
    assert o["annotations"] == [{"core:sample_start": N, "core:sample_count": 3,
                                 "core:label": "ship"}]
    # put right once, not twice
    assert "sar:iq_swapped" not in o["global"]
    s = open_stream(tmp_path / "o.sigmf-meta")
    z = z[1:].ravel()
    np.testing.assert_array_equal(s.read(0, s.count), z.imag + 1j * z.real)


def test_convert_turns_and_takes_a_type(tmp_path):
    z = noise((6, N))
    path, _ = every_kind(tmp_path, z)["raw"]
    for flags, wanted, name in ((["--swap-iq"], z.imag + 1j * z.real, "ci16_le"),
                                (["--conjugate"], z.conj(), "ci16_le"),
                                (["--to", "cf64_be"], z, "cf64_be")):
        assert run("convert", path, "-o", tmp_path / "o", "--quiet", *flags) == 0
        s = open_stream(tmp_path / "o.sigmf-meta")
        assert s.dtype.name == name
        np.testing.assert_array_equal(s.read(0, 6 * N), wanted.ravel())
    assert run("convert", path, "-o", tmp_path / "o", "--quiet", "--to", "rf32_le") == 1
    # the smallest integer has no opposite: the conjugate of it needs another type
    z[0, 0] = 5 - 32768j
    put(tmp_path / "e.cs16", interleaved(z, "<i2"))
    radar = [a for k, v in dict(LFM, samples=N).items() for a in ("--set", f"{k}={v}")]
    assert run("convert", tmp_path / "e.cs16", "-o", tmp_path / "e", "--quiet", "--conjugate",
               *radar) == 0
    np.testing.assert_array_equal(open_recording(tmp_path / "e").lines(), z.conj())


def test_real_samples_converted_as_lines_are_complex(tmp_path):
    """Made analytic and moved to baseband once; without lines they stay as they are."""
    z = noise((6, N))
    path = put(tmp_path / "a.s16", interleaved(z, "<i2"))
    radar = dict(LFM, samples=N, intermediate_frequency_hz=30e6)
    flags = [a for k, v in radar.items() for a in ("--set", f"{k}={v}")]
    assert run("convert", path, "-o", tmp_path / "r", "--quiet") == 0
    edit(tmp_path / "r.sigmf-meta", sar__intermediate_frequency_hz=30e6)
    stays = open_stream(tmp_path / "r.sigmf-meta")
    assert stays.dtype.name == "ri16_le"
    assert (tmp_path / "r.sigmf-data").read_bytes() == interleaved(z, "<i2")
    lines = open_recording(path, **radar).lines()
    for source in (path, tmp_path / "r"):
        assert run("convert", source, "-o", tmp_path / "o", "--quiet", *flags) == 0
        m = json.load(open(tmp_path / "o.sigmf-meta"))
        assert m["global"]["core:datatype"] == "cf32_le"
        assert "sar:intermediate_frequency_hz" not in m["global"]
        np.testing.assert_array_equal(open_recording(tmp_path / "o").lines(), lines)


def test_converted_recording_is_completed_by_hand(tmp_path, capsys):
    """WAV to SigMF, the missing keys added to the file, and it is a recording."""
    z = noise((6, N))
    path, _ = every_kind(tmp_path, z)["wav"]
    assert run("convert", path, "-o", tmp_path / "o", "--set", "prf_hz=750") == 0
    out = capsys.readouterr().out
    assert "keys for that file: sar:waveform, sar:samples_per_pulse, core:frequency" in out
    with pytest.raises(RecordingError, match="o.sigmf-meta does not say sar:waveform"):
        open_recording(tmp_path / "o")
    edit(tmp_path / "o.sigmf-meta", [{"core:sample_start": 0, "core:frequency": 2.4e9}],
         sar__waveform="pulsed_lfm", sar__samples_per_pulse=N, sar__chirp_rate_hz_per_s=1e8,
         sar__pulse_width_s=1e-4, sar__slant_range_first_sample_m=0.0)
    rec = open_recording(tmp_path / "o")
    assert rec.acq.prf_hz == 750 and rec.acq.sample_rate_hz == 48000
    np.testing.assert_array_equal(rec.lines(), z)


def test_convert_refuses(tmp_path, capsys):
    kinds = every_kind(tmp_path, noise((6, N)))
    path, _ = kinds["sigmf"]
    before = (tmp_path / "s.sigmf-data").read_bytes()
    for args, sentence in (
            ([path, "-o", tmp_path / "s"], "s.sigmf-data is what is read"),
            ([kinds["raw"][0], "-o", tmp_path / "o", "--start", "2"], "start needs lines, for which"),
            ([tmp_path / "r.bin", "-o", tmp_path / "o"], "does not say core:datatype")):
        assert run("convert", *args) == 1
        assert sentence in capsys.readouterr().err
    assert (tmp_path / "s.sigmf-data").read_bytes() == before
    # a mono file is converted as what it is
    assert run("convert", tmp_path / "i.wav", "-o", tmp_path / "mono", "--quiet") == 0
    assert open_stream(tmp_path / "mono.sigmf-meta").dtype.name == "ri16_le"
    # weights and means make other samples: floats
    assert run("convert", path, "--subtract-mean", "-o", tmp_path / "m", "--quiet") == 0
    assert open_stream(tmp_path / "m.sigmf-meta").dtype.name == "cf32_le"
    assert run("convert", path, "--start", "2", "--stop", "4", "-o", tmp_path / "n", "--quiet") == 0
    s = open_stream(tmp_path / "n.sigmf-meta")
    assert s.dtype.name == "ci16_le" and s.count == 2 * N


# ---- recordings of others ---------------------------------------------------------------


def cw(swap=False, **more):
    folder = _set("kth_sdr_coffee_can")
    paths = [os.path.join(folder, f"sdr_cw_single_{p}.wav") for p in ("real", "imag")]
    n = 1024
    meta = dict(waveform="fmcw", samples=n, carrier_hz=5.8e9, prf_hz=44100 / n,
                chirp_rate_hz_per_s=1e9, slant_range_first_m=0.0)
    return open_recording(paths, iq_files=True, swap_iq=swap, **meta, **more)


def sides(rec, first_s, last_s, low=5.0, high=80.0):
    """Strongest line at positive and at negative Doppler, power, Hz: (p+, f+, p-, f-)."""
    x = rec.lines().ravel()[int(first_s * 44100) : int(last_s * 44100)]
    w = np.hanning(len(x))
    spectrum = np.abs(np.fft.fft((x - x.mean()) * w)) ** 2
    f = np.fft.fftfreq(len(x), 1 / 44100)
    out = []
    for sign in (1, -1):
        band = np.flatnonzero((sign * f > low) & (sign * f < high))
        k = band[np.argmax(spectrum[band])]
        out += [spectrum[k], f[k]]
    return out


def test_cw_of_two_mono_files():
    """A person walks to and fro: signs and Doppler of the README, and the image rejected."""
    rec, swapped = cw(), cw(swap=True)
    assert rec.num_pulses == 1517760 // 1024
    rejection = []
    for first, last, hz in ((6, 10, 21.5), (11, 14, -21.5), (17.5, 20, 21.5), (22, 25, -54),
                            (27, 33, 21.5)):
        for r, sign in ((rec, 1), (swapped, -1)):
            up, f_up, down, f_down = sides(r, first, last)
            balance = 10 * np.log10(up / down) * np.sign(hz) * sign
            assert balance > 0, (first, last, balance)
        # the mirror image of the strongest line itself
        x = rec.lines().ravel()[int(first * 44100) : int(last * 44100)]
        spectrum = np.abs(np.fft.fft((x - x.mean()) * np.hanning(len(x)))) ** 2
        f = np.fft.fftfreq(len(x), 1 / 44100)
        k = int(np.argmax(np.where((np.abs(f) > 5) & (np.abs(f) < 80), spectrum, 0)))
        assert f[k] == pytest.approx(hz, abs=5), (first, last, f[k])
        mirror = spectrum[[-k - 1, -k, (-k + 1) % len(f)]].max()
        rejection.append(10 * np.log10(spectrum[k] / mirror))
    assert min(rejection) > 17, rejection


def test_cw_alone_is_refused():
    folder = _set("kth_sdr_coffee_can")
    path = os.path.join(folder, "sdr_cw_single_real.wav")
    with pytest.raises(RecordingError, match="sdr_cw_single_real.wav has one channel but I and Q"):
        open_recording(path, samples=1024, **LFM)
    with pytest.raises(RecordingError, match="fmcw_promenade.m4a is compressed audio"):
        open_recording(os.path.join(folder, "fmcw_promenade.m4a"))


def test_radar_on_the_sound_card():
    """Beat signal left, ramp sync right: the channel is chosen; the sync swings rail to rail."""
    path = os.path.join(_set("kth_sdr_coffee_can"), "fmcw_promenade_first20s.wav")
    beat, sync = (open_stream(path, dict(real=True, channel=c)) for c in (0, 1))
    assert beat.count == 882000 and beat.metadata["global"]["core:sample_rate"] == 44100
    assert measured(sync)["rms"] > 2 * measured(beat)["rms"]
    v = sync.read(0, sync.count)
    edges = np.flatnonzero(np.diff(np.signbit(v[np.abs(v) > 16000]))).size
    assert edges / 20 == pytest.approx(2 / 0.0413, rel=0.05)  # two a period


def test_radarsat_converted_bit_by_bit(radarsat, tmp_path):
    path = os.path.join(radarsat, "english_bay_ships.sigmf-meta")
    assert run("convert", path, "-o", tmp_path / "e", "--quiet") == 0
    raw = open(path.replace("-meta", "-data"), "rb").read()
    assert (tmp_path / "e.sigmf-data").read_bytes() == raw[: 1536 * 2048 * 2]
    rec = open_recording(tmp_path / "e")
    assert rec.acq.to_dict() == open_recording(path).acq.to_dict()
    assert any("-15 and 15: the receiver seems to clip" in n for n in rec.notes)  # 4 bits


# ---- the pages --------------------------------------------------------------------------


def page(name):
    root = os.environ.get("SAR_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
    return open(os.path.join(root, "docs", name)).read()


def test_the_page_says_what_is_read(tmp_path):
    """Every suffix and every TI parameter stands on it, and its example is a recording."""
    text = page("files.md")
    for suffix, name in formats.RAW_SUFFIXES.items():
        assert f"`{suffix}`" in text, suffix
    for name in formats.ti_files.PARAMETERS:
        assert name in text, name
    block = text.split("```json")[1].split("```")[0]
    (tmp_path / "mine.sigmf-meta").write_text(block)
    put(tmp_path / "mine.sigmf-data", interleaved(noise(2000), "<i2"))
    rec = open_recording(tmp_path / "mine")
    assert rec.num_pulses == 2 and rec.acq.prf_hz * rec.acq.samples == rec.acq.sample_rate_hz
    # options of its examples are options of the program
    import re

    for command in re.findall(r"`(gr_sar [^`]*)`", text):
        words = shlex.split(command.replace("FILE", "x.wav").replace("\\|", "|").split("|")[-1])
        if len(words) > 2:
            assert cli.parser().parse_args(words[1:]).command in ("info", "convert", "focus")


def test_captures_of_the_page_fit_the_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(page("sigmf_sar.schema.json"))
    check = jsonschema.Draft7Validator(schema)
    meta, _ = sigmf(tmp_path)
    edit(meta, [{"core:sample_start": 0, "core:frequency": 9.6e9, "core:header_bytes": 33,
                 "core:global_index": 5}], core__num_channels=2, core__dataset="x.dat",
         core__trailing_bytes=3)
    assert not list(check.iter_errors(json.load(open(meta))))
    for change in (dict(core__num_channels=0), dict(core__trailing_bytes=-1)):
        edit(meta, **change)
        assert list(check.iter_errors(json.load(open(meta))))
        edit(meta, core__num_channels=1, core__trailing_bytes=0)
