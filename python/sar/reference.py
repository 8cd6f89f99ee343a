# SPDX-License-Identifier: GPL-3.0-or-later
"""Slow, plain float64 processing to compare the blocks with.

Nothing here shares code with the kernels: the formulas are written out again, in double,
with numpy alone. Truth is what anyone can check, so this file favours the obvious form.

Conventions (docs/blocks/acquisition.md): a unit echo at slant range R has the phase
exp(-j 4 pi f0 R / c); it compresses to peak 1, and an image value is the mean over the
aperture, so that a unit point has peak 1 in the image.
"""

import numpy as np

C = 299792458.0


def band_window(name, x):
    """Weights of the window ``name`` at band positions x (-0.5 .. 0.5); 0 outside."""
    x = np.asarray(x, float)
    inside = np.abs(x) <= 0.5 + 1e-12
    head = name.split("(")[0].strip()
    if head == "rect":
        w = np.ones_like(x)
    elif head == "hann":
        w = 0.5 + 0.5 * np.cos(2 * np.pi * x)
    elif head == "hamming":
        w = 0.54 + 0.46 * np.cos(2 * np.pi * x)
    elif head == "kaiser":
        beta = float(name.split("(")[1].rstrip(") "))
        w = np.i0(beta * np.sqrt(np.clip(1 - (2 * x) ** 2, 0, None))) / np.i0(beta)
    else:
        from . import sar_python

        window = sar_python.window(name)
        w = np.array([window(v) for v in x.ravel()]).reshape(x.shape)
    return np.where(inside, w, 0.0)


def compress(acq, lines, oversampling=1, window="rect", replica=None):
    """Range-compressed lines, complex128, on ``acq.compressed_axis(oversampling)``."""
    lines = np.atleast_2d(np.asarray(lines, np.complex128))
    n = lines.shape[1]
    if n != acq.samples:
        raise ValueError(f"lines have {n} samples; expected acq.samples, {acq.samples}")
    axis = acq.compressed_axis(oversampling)
    if acq.waveform == "frequency_domain":
        return _compress_fx(acq, lines, axis, oversampling, window)
    if acq.waveform not in ("pulsed_lfm", "replica"):
        raise ValueError(f"the reference does not compress waveform '{acq.waveform}'")

    fs = acq.sample_rate_hz
    if acq.waveform == "replica":
        pulse = np.asarray(replica if replica is not None else [1.0], np.complex128)
        lead = len(pulse) // 2 if acq.pulse_reference == "centre" else 0
    else:
        count = acq.pulse_samples()
        t = np.arange(count) / fs
        if acq.pulse_reference == "centre":
            half = count // 2
            t = (np.arange(count) - half) / fs
            lead = half
            tau = t
        else:
            lead = 0
            tau = t - acq.pulse_length_s / 2
        inside = np.abs(tau) <= acq.pulse_length_s / 2 * (1 + 1e-9)
        pulse = np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * tau**2) * inside
    padded = 1 << int(np.ceil(np.log2(n + len(pulse))))
    spectrum = np.zeros(padded, complex)
    spectrum[: len(pulse)] = pulse
    spectrum = np.fft.fft(np.roll(spectrum, -lead))
    f = np.fft.fftfreq(padded, 1 / fs)
    # "rect" is the matched filter proper, without an edge at the band's ends
    weight = (np.ones(padded) if window == "rect"
              else band_window(window, f / acq.bandwidth_hz()))
    gain = weight * spectrum.conj()
    power = np.abs(spectrum) ** 2
    if acq.waveform == "pulsed_lfm" and window != "rect":
        # a window is meant for a flat spectrum: the ripples of a chirp's are divided out,
        # where it is not next to nothing (a tenth of its mean over the band)
        gain = gain / np.maximum(power, 0.1 * power.mean() * fs / acq.bandwidth_hz())
    gain = gain / np.mean((gain * spectrum).real)
    compressed = np.fft.fft(lines, padded, axis=1) * gain
    return upsample_spectrum(compressed, oversampling)[:, : n * oversampling]


def upsample_spectrum(spectrum, factor, nyquist=0.5):
    """Inverse FFT of rows onto ``factor`` times as many points (zero padding).

    ``nyquist`` is the share of the bin n / 2 (n even) that belongs to positive
    frequencies: half for samples over delay, 0 or 1 for phase history.
    """
    n = spectrum.shape[1]
    if factor == 1:
        return np.fft.ifft(spectrum, axis=1)
    wide = np.zeros((spectrum.shape[0], n * factor), complex)
    half = (n + 1) // 2
    wide[:, :half] = spectrum[:, :half]
    wide[:, wide.shape[1] - (n - half):] = spectrum[:, half:]
    if n % 2 == 0:
        wide[:, half] = spectrum[:, half] * nyquist
        wide[:, wide.shape[1] - half] = spectrum[:, half] * (1 - nyquist)
    return np.fft.ifft(wide, axis=1) * factor


def _compress_fx(acq, lines, axis, oversampling, window):
    n = lines.shape[1]
    step = acq.frequency_step_hz
    k = np.arange(n) - n // 2  # frequencies count from the centre sample
    weight = band_window(window, (np.arange(n) + 0.5) / n - 0.5)
    data = lines if acq.phase_sign == -1 else lines.conj()
    data = data * (weight / weight.sum())
    # y(r) = sum_k s_k exp(+j 4 pi k step r / c) with r = first + m spacing
    data = data * np.exp(4j * np.pi * k * step * axis.first_m / C)
    m = n * oversampling
    wide = np.zeros((lines.shape[0], m), complex)
    wide[:, (k * (1 if step > 0 else -1)) % m] = data
    return np.fft.ifft(wide, axis=1) * m


_LAGRANGE = np.arange(-2, 4)


def _interpolate(line, x):
    """6-point Lagrange interpolation at fractional indices x; 0 outside."""
    base = np.floor(x).astype(np.int64)
    d = x - base
    inside = (x >= 0) & (x <= len(line) - 1)
    padded = np.concatenate([np.zeros(3, line.dtype), line, np.zeros(4, line.dtype)])
    base = np.where(inside, base, 0)
    total = np.zeros(x.shape, complex)
    for k in _LAGRANGE:
        weight = np.ones_like(d)
        for j in _LAGRANGE:
            if j != k:
                weight = weight * ((d - j) / (k - j))
        total += weight * padded[base + k + 3]
    return np.where(inside, total, 0)


def backproject(acq, lines, tx, grid, rx=None, oversampling=1, refine=16, weights=None):
    """Image (rows, cols) complex128: the mean over the pulses of the lines at each pixel.

    ``lines`` are compressed lines on ``acq.compressed_axis(oversampling)``; they are
    interpolated by zero padding ``refine`` times and a 6-point Lagrange polynomial, below
    -100 dB. Pixels outside a line count as 0 for that pulse.
    """
    axis = acq.compressed_axis(oversampling)
    lines = np.atleast_2d(lines)
    tx = np.asarray(tx, float).reshape(-1, 3)
    rx = tx if rx is None else np.asarray(rx, float).reshape(-1, 3)
    weights = np.ones(len(lines)) if weights is None else np.asarray(weights, float)
    refine = max(1, refine // oversampling)
    origin = np.array(grid.origin_m)
    i = np.arange(grid.rows) * grid.row_spacing_m
    j = np.arange(grid.cols) * grid.col_spacing_m
    pixel = (origin + i[:, None, None] * np.array(grid.row_axis)
             + j[None, :, None] * np.array(grid.col_axis))
    point = np.array(axis.reference_point_m)
    image = np.zeros((grid.rows, grid.cols), complex)
    k = 4 * np.pi * axis.carrier_hz / C
    nyquist = 0.5
    if acq.in_frequency_domain() and oversampling == 1:
        nyquist = 0.0 if acq.frequency_step_hz > 0 else 1.0
    for p in range(len(lines)):
        fine = upsample_spectrum(np.fft.fft(lines[p : p + 1]), refine, nyquist)[0]
        r = (np.linalg.norm(pixel - tx[p], axis=2)
             + np.linalg.norm(pixel - rx[p], axis=2)) / 2
        if axis.range_reference == "point":
            r = r - (np.linalg.norm(point - tx[p]) + np.linalg.norm(point - rx[p])) / 2
        r = r + axis.range_bias_m
        x = (r - axis.first_m) / axis.spacing_m * refine
        image += weights[p] * _interpolate(fine, x) * np.exp(1j * k * r)
    return image / len(lines)
