#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same workloads in the array libraries that people have: torch, cupy, numpy with scipy.

    peers.py [cuda|cpu] [SIZE ...]

Runs with any Python that has one of them; a library that is not there is left out. Each chain is
written the way its users write it well: whole arrays, transforms in single precision, the
tables (filter, phases, indices) made beforehand and not timed. It is held against itself in
double precision before a time is given. Migration is corrected by linear interpolation, which is
cheaper than what gr-sar does. Rows go to the file that SAR_BENCH_ROWS names, as JSON.
"""

import json
import math
import os
import sys
import time

import numpy as np


class Numpy:
    """numpy, with scipy's transforms on all cores where it is there."""

    name, device = "numpy", "cpu"

    def __init__(self):
        try:
            import scipy.fft as f

            self.name = "scipy"
            cores = os.cpu_count()
            self.fft = lambda x, axis: f.fft(x, axis=axis, workers=cores)
            self.ifft = lambda x, axis: f.ifft(x, axis=axis, workers=cores)
        except ImportError:
            self.fft = lambda x, axis: np.fft.fft(x, axis=axis).astype(x.dtype)
            self.ifft = lambda x, axis: np.fft.ifft(x, axis=axis).astype(x.dtype)

    put = staticmethod(np.asarray)
    get = staticmethod(np.asarray)
    gather = staticmethod(lambda x, i: np.take_along_axis(x, i, axis=1))
    sqrt, floor, exp, zeros = np.sqrt, np.floor, np.exp, np.zeros
    take = staticmethod(lambda line, i: line[i])
    index = staticmethod(lambda x: x.astype(np.int32))
    single = staticmethod(lambda x: x.astype(np.float32))
    double = staticmethod(lambda x: x.astype(np.float64))
    phasor = staticmethod(lambda cycles: np.exp(2j * np.pi * (cycles - np.rint(cycles)).astype(np.float32)))

    def time(self, work):
        work()
        times = []
        for _ in range(3):
            t = time.perf_counter()
            work()
            times.append(time.perf_counter() - t)
        return 1e3 * sorted(times)[1]


class Cupy:
    name, device = "cupy", "cuda"

    def __init__(self):
        import cupy as cp

        cp.cuda.runtime.getDeviceCount()
        self.cp = cp
        self.put, self.get = cp.asarray, cp.asnumpy
        self.fft = lambda x, axis: cp.fft.fft(x, axis=axis)
        self.ifft = lambda x, axis: cp.fft.ifft(x, axis=axis)
        self.gather = lambda x, i: cp.take_along_axis(x, i, axis=1)
        self.sqrt, self.floor, self.zeros = cp.sqrt, cp.floor, cp.zeros
        self.take = lambda line, i: line[i]
        self.index = lambda x: x.astype(cp.int32)
        self.single = lambda x: x.astype(cp.float32)
        self.double = lambda x: x.astype(cp.float64)
        self.phasor = lambda cycles: cp.exp(2j * cp.pi * (cycles - cp.rint(cycles)).astype(cp.float32))

    def time(self, work):
        cp = self.cp
        for _ in range(3):
            work()
        times = []
        for _ in range(15):
            a, b = cp.cuda.Event(), cp.cuda.Event()
            a.record()
            work()
            b.record()
            b.synchronize()
            times.append(cp.cuda.get_elapsed_time(a, b))
        return sorted(times)[7]


class Torch:
    name = "torch"

    def __init__(self, device):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU")
        self.torch, self.device = torch, device
        t = torch
        self.put = lambda x: t.from_numpy(np.ascontiguousarray(x)).to(device)
        self.get = lambda x: x.cpu().numpy()
        self.fft = lambda x, axis: t.fft.fft(x, dim=axis)
        self.ifft = lambda x, axis: t.fft.ifft(x, dim=axis)
        self.gather = lambda x, i: t.gather(x, 1, i)
        self.sqrt, self.floor = t.sqrt, t.floor
        self.zeros = lambda shape, dtype: t.zeros(shape, dtype={np.complex64: t.complex64, np.complex128: t.complex128}[dtype], device=device)
        self.take = lambda line, i: line[i]
        self.index = lambda x: x.long()
        self.single = lambda x: x.float()
        self.double = lambda x: x.double()
        self.phasor = lambda cycles: t.exp(2j * math.pi * (cycles - t.round(cycles)).float())

    def time(self, work):
        t = self.torch
        if self.device == "cpu":
            return Numpy.time(self, work)
        for _ in range(3):
            work()
        times = []
        for _ in range(15):
            a, b = t.cuda.Event(enable_timing=True), t.cuda.Event(enable_timing=True)
            a.record()
            work()
            b.record()
            b.synchronize()
            times.append(a.elapsed_time(b))
        return sorted(times)[7]


def error_db(x, truth):
    return 20 * math.log10(np.linalg.norm(x - truth) / np.linalg.norm(truth))


def noise(shape, seed=1):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((*shape, 2), dtype=np.float32)
    return v.view(np.complex64)[..., 0]


def filter_of(n, dtype):
    f = np.fft.fftfreq(n)
    return np.exp(1j * np.pi * n * f * f).astype(dtype)


def pulse_compression(lib, n):
    """y = IDFT(H DFT(x)) of n lines of n samples."""

    def chain(x, h):
        return lib.ifft(lib.fft(x, 1) * h, 1)

    x = noise((n, n))
    rows = slice(0, min(n, 64))
    truth = np.fft.ifft(np.fft.fft(x[rows].astype(complex), axis=1) * filter_of(n, complex), axis=1)
    on, h = lib.put(x), lib.put(filter_of(n, np.complex64))
    error = error_db(lib.get(chain(on, h)[rows]), truth)
    return lib.time(lambda: chain(on, h)), error, 0


def range_doppler(lib, n):
    """Compression, azimuth transform, migration by linear interpolation, azimuth filter, back."""
    velocity, wavelength, prf, spacing, first = 100.0, 0.03123, 600.0, 0.8327, 10e3
    f = np.fft.fftfreq(n, 1 / prf)
    d = np.sqrt(1 - (wavelength * f / (2 * velocity)) ** 2)
    r0 = first + spacing * np.arange(n)
    at = np.clip((r0[None, :] / d[:, None] - first) / spacing, 0, n - 2)
    cycles = 2 / wavelength * r0[None, :] * (d[:, None] - 1)
    tables = (np.floor(at), (at - np.floor(at)), np.exp(2j * np.pi * (cycles - np.rint(cycles))))

    def chain(x, h, low, part, phase):
        x = lib.fft(lib.ifft(lib.fft(x, 1) * h, 1), 0)
        a, b = lib.gather(x, low), lib.gather(x, low + 1)
        return lib.ifft((a + (b - a) * part) * phase, 0)

    x = noise((n, n))
    args = (lib.put(filter_of(n, np.complex64)), lib.index(lib.put(tables[0])), lib.put(tables[1].astype(np.float32)),
            lib.put(tables[2].astype(np.complex64)))
    on = lib.put(x)
    error = math.nan
    if n <= 4096:
        exact = (lib.put(filter_of(n, np.complex128)), args[1], lib.put(tables[1]), lib.put(tables[2]))
        truth = lib.get(chain(lib.put(x.astype(np.complex128)), *exact))
        error = error_db(lib.get(chain(on, *args)), truth)
        del exact, truth
    return lib.time(lambda: chain(on, *args)), error, 0


def back_projection(lib, n, pulses=32):
    """n x n pixels; ranges in double precision, samples by linear interpolation in single."""
    samples, spacing, wavelength = 4096, 0.5, 0.03123
    at = np.stack([np.full(pulses, -10e3), 2.0 * (np.arange(pulses) - pulses / 2), np.full(pulses, 3e3)], 1)
    centre = math.hypot(10e3, 3e3)
    first = centre - spacing * samples / 2
    data = noise((pulses, samples))
    xs = np.linspace(-400, 400, n)
    x, y = lib.put(xs[None, :]), lib.put(xs[:, None])
    lines = [lib.put(line) for line in data]

    def image(real, dtype):
        sum_ = lib.zeros((n, n), dtype=dtype)
        for (px, py, pz), line in zip(at.tolist(), lines):
            r = lib.sqrt((x - px) ** 2 + (y - py) ** 2 + pz**2)
            k = (r - first) / spacing
            low = lib.floor(k)
            part = real(k - low)
            i = lib.index(low)
            a, b = lib.take(line, i), lib.take(line, i + 1)
            sum_ = sum_ + (a + (b - a) * part) * lib.phasor(r * (2 / wavelength))
        return sum_

    truth = lib.get(image(lib.double, np.complex128))
    got = lib.get(image(lib.single, np.complex64))
    return lib.time(lambda: image(lib.single, np.complex64)), error_db(got, truth), float(n) * n * pulses


WORKLOADS = {
    "pulse compression": (pulse_compression, lambda n: f"{n} x {n}"),
    "range-Doppler": (range_doppler, lambda n: f"{n} x {n}"),
    "back-projection": (back_projection, lambda n: "pulse-pixels"),
}
WORST_DB = {"pulse compression": -110, "range-Doppler": -100, "back-projection": -80}


def libraries(device):
    makers = [Cupy, lambda: Torch("cuda")] if device == "cuda" else [Numpy, lambda: Torch("cpu")]
    for make in makers:
        try:
            yield make()
        except Exception as e:  # whatever keeps a library from starting; it is said
            print(f"left out: {e}", file=sys.stderr)


def main(argv):
    device = argv[0] if argv else "cpu"
    sizes = [int(a) for a in argv[1:]] or ([1024] if device == "cpu" else [4096])
    rows = os.environ.get("SAR_BENCH_ROWS")
    for lib in libraries(device):
        for workload, (run, name) in WORKLOADS.items():
            for n in sizes if workload != "back-projection" else [1024]:
                try:
                    ms, error, work = run(lib, n)
                except Exception as e:  # memory, mostly
                    print(f"{lib.name} {workload} {n}: {type(e).__name__}: {e}", file=sys.stderr)
                    continue
                ok = not error > WORST_DB[workload]
                row = {"workload": workload, "size": name(n), "who": lib.name, "device": lib.device, "ms": ms if ok else 0}
                if math.isfinite(error):
                    row["error_db"] = round(error, 1)
                if work:
                    row["work"] = work
                print(f"{lib.name:8} {workload:20} {name(n):16} {ms:10.3f} ms"
                      + (f"  error {error:.1f} dB" if math.isfinite(error) else "") + ("" if ok else ": too large"))
                if rows:
                    with open(rows, "a") as f:
                        f.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
