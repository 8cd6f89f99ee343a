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


def polynomial(coefficients, range_m, first_m):
    """Value(s) at slant range ``range_m`` of a number, or of c0 + c1 x + c2 x^2 + ...,

    x = range_m - first_m in metres.
    """
    x = np.asarray(range_m, float) - first_m
    total = np.zeros_like(x)
    for c in np.atleast_1d(np.asarray(coefficients, float))[::-1]:
        total = total * x + c
    return total


def fast_fft_length(n):
    """Smallest length >= n without a prime factor above 7."""
    while True:
        rest = n
        for p in (2, 3, 5, 7):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1


def doppler_axis(n, prf, centroid):
    """Doppler frequency in Hz of the azimuth FFT bins 0 .. n-1.

    A bin k stands for k prf / n plus any whole number of prf (Hz); this is the one in
    [centroid - prf / 2, centroid + prf / 2), ``centroid`` absolute in Hz. An array of
    centroids (any shape) gives an array of that shape + (n,).
    """
    return unwrapped(np.arange(n) * (prf / n), prf, np.asarray(centroid, float)[..., None])


def unwrapped(f, prf, centroid):
    """f plus the whole number of prf that brings it into [centroid -+ prf / 2), Hz."""
    # 1e-9: the same end of the band for every way of rounding
    return f + prf * np.ceil((centroid - f) / prf - 0.5 - 1e-9)


def cosine(f, carrier_hz, velocity):
    """D = sqrt(1 - (c f / (2 V f0))^2): closest range over range at Doppler f (Hz)."""
    return np.sqrt(1 - (C * f / (2 * velocity * carrier_hz)) ** 2)


def range_doppler(acq, compressed_lines, *, oversampling=1, fft_length=None, velocity=None,
                  centroid=None, window="rect", azimuth_bandwidth_hz=0, src=True,
                  migration="hyperbolic", geometry="zero_doppler", first_range_m=None,
                  cols=None):
    """Range-Doppler image of a straight flight: (image, first_row_time_s, first_range_m).

    ``compressed_lines`` (lines, cells) lie on ``acq.compressed_axis(oversampling)``. A point
    passed at closest range R0 at time t0 is at R(t) = sqrt(R0^2 + V^2 (t - t0)^2), t = 0 at
    the first line; a unit point has peak 1 and phase 0 in the image (``fft_length``, ``cols``),
    complex128, whose row i is the time first_row_time_s + i / prf and whose column n is the
    range first_range_m + n spacing.

    ``geometry`` "zero_doppler": time and range of closest approach, the first column at
    D(centroid) times the range of the line's first cell. "centroid": a point lies at the time
    and the range at which its Doppler frequency is the centroid. Ranges are true ones, the bias
    taken off.

    Steps, with f the Doppler frequency unwrapped around the centroid, ft that over range, and
    D(f) = sqrt(1 - (c f / (2 V f0))^2):
    1. FFT over the lines, zero padded to ``fft_length`` (default: the next fast length).
    2. ``src``: spectra over range times exp(+j 4 pi Rref / c (sqrt((f0 + ft)^2
       - (c f / 2 V)^2) - f0 D - ft / D)), Rref = R0 in the middle of the cells of whole pulses.
    3. ``migration``: column R0 is read at R0 / D(f) ("hyperbolic"), R0 (1 + (c f / (2 V f0))^2
       / 2) ("parabolic") or R0 / D(centroid) ("none"), plus the range bias.
    4. Filter exp(+j 4 pi f0 (R0 D + bias) / c + j pi / 4), ``window`` over
       ``azimuth_bandwidth_hz`` (0: prf) around the centroid, in centroid geometry
       exp(-j 2 pi f eta_c), with eta_c = -c R0 fc / (2 f0 V^2 D(fc)) the time of the centroid
       after closest approach; over (1 / N) sum w prf sqrt(c R0 / (2 f0 V^2 D^3)) min(1, time of
       the lines / aperture time), aperture time = sum over the band of c R0 / (2 f0 V^2 D^3)
       prf / N.
    5. Inverse FFT and a turn by whole lines: half of the padding lies before the echoes.

    ``velocity`` (m/s, effective) and ``centroid`` (Hz, absolute) default to the acquisition's
    and may be polynomials, ascending coefficients in measured slant range where the beam sees a
    cell, R0 / D(centroid), minus acq.slant_range_first_m (m). ``first_range_m`` and ``cols``
    pick other columns without changing values.

    I. Cumming, F. Wong, Digital Processing of Synthetic Aperture Radar Data, chapter 6.
    """
    if migration not in ("hyperbolic", "parabolic", "none"):
        raise ValueError(f"migration is '{migration}'; expected hyperbolic, parabolic or none")
    if geometry not in ("zero_doppler", "centroid"):
        raise ValueError(f"geometry is '{geometry}'; expected zero_doppler or centroid")
    axis = acq.compressed_axis(oversampling)
    lines = np.atleast_2d(np.asarray(compressed_lines, np.complex128))
    count, cells = lines.shape
    if cells != axis.samples:
        raise ValueError(f"lines have {cells} cells; expected {axis.samples}")
    n = fft_length or fast_fft_length(count)
    if n < count:
        raise ValueError(f"fft_length is {n}; expected at least the number of lines, {count}")
    if velocity is None:
        velocity = [acq.effective_velocity_m_s, *acq.effective_velocity_slopes]
    if centroid is None:
        centroid = [acq.doppler_centroid_hz, *acq.doppler_centroid_slopes]
    f0, prf, spacing, bias = axis.carrier_hz, acq.prf_hz, axis.spacing_m, axis.range_bias_m
    bandwidth = azimuth_bandwidth_hz or prf

    def at(polynomial_of_range, beam_range):
        return polynomial(polynomial_of_range, beam_range + bias, acq.slant_range_first_m)

    def delay_of_centroid(r0, v, fc):
        return -C * r0 * fc / (2 * f0 * v**2 * cosine(fc, f0, v))

    # the middle of the line, and each column: closest range R0, velocity V, centroid fc
    line_first = axis.first_m - bias
    # (of the samples to which whole pulses belong)
    pulse = acq.pulse_samples() if acq.waveform == "pulsed_lfm" else 1
    whole, begin = (acq.samples - pulse + 1) * oversampling, 0
    if pulse >= acq.samples:
        whole = cells
    elif acq.pulse_reference == "centre":
        begin = pulse // 2 * oversampling
    middle = line_first + (begin + whole // 2) * spacing
    v_ref, fc_ref = at(velocity, middle), at(centroid, middle)
    d_ref = cosine(fc_ref, f0, v_ref)
    r_ref = middle * d_ref
    start = line_first * (d_ref if geometry == "zero_doppler" else 1.0)
    first = start if first_range_m is None else first_range_m
    r = first + np.arange(cols or cells) * spacing
    beam = r / d_ref if geometry == "zero_doppler" else r
    v, fc = at(velocity, beam), at(centroid, beam)
    if geometry == "zero_doppler":
        for _ in range(8):  # the range where the beam sees R0 depends on both there
            beam = r / cosine(fc, f0, v)
            v, fc = at(velocity, beam), at(centroid, beam)
    r0 = r if geometry == "zero_doppler" else r * cosine(fc, f0, v)

    shift = -((n - count) // 2)
    if geometry == "zero_doppler":
        shift += int(np.round(-prf * delay_of_centroid(r_ref, v_ref, fc_ref)))

    spectrum = np.fft.fft(lines, n, axis=0)
    f_ref = doppler_axis(n, prf, fc_ref)
    padded = 2 << int(np.ceil(np.log2(cells)))
    refine = 16
    ft = np.fft.fftfreq(padded, spacing * 2 / C)
    nyquist = 0.5
    if acq.in_frequency_domain() and oversampling == 1:
        nyquist = 0.0 if acq.frequency_step_hz > 0 else 1.0

    image = np.zeros((n, len(r0)), complex)
    level = np.zeros(len(r0))  # (1 / N) sum of w |S| over the bins
    aperture = np.zeros(len(r0))  # s
    for k in range(n):
        line = np.fft.fft(spectrum[k], padded)
        if src:
            root = np.sqrt((f0 + ft) ** 2 - (C * f_ref[k] / (2 * v_ref)) ** 2)
            d = cosine(f_ref[k], f0, v_ref)
            line = line * np.exp(4j * np.pi * r_ref / C * (root - f0 * d - ft / d))
        fine = upsample_spectrum(line[None], refine, nyquist)[0]
        fine = fine[: (cells - 1) * refine + 1]

        f = unwrapped(k * prf / n, prf, fc)
        d = cosine(f, f0, v)
        if migration == "hyperbolic":
            read = r0 / d
        elif migration == "parabolic":
            read = r0 * (1 + (C * f / (2 * v * f0)) ** 2 / 2)
        else:
            read = r0 / cosine(fc, f0, v)
        x = (read + bias - axis.first_m) / spacing * refine
        w = band_window(window, (f - fc) / bandwidth)
        inside = np.abs(f - fc) <= bandwidth * (0.5 + 1e-9)
        slope = C * r0 / (2 * f0 * v**2 * d**3)  # s of aperture a Hz
        phase = 4 * np.pi * f0 * (r0 * d + bias) / C + np.pi / 4
        if geometry == "centroid":
            phase = phase - 2 * np.pi * f * delay_of_centroid(r0, v, fc)
        image[k] = _interpolate(fine, x) * w * np.exp(1j * phase)
        level += w * prf * np.sqrt(slope) / n
        aperture += inside * slope * prf / n
    gain = 1 / (level * np.minimum(1, count / prf / aperture))
    image = np.roll(np.fft.ifft(image * gain, axis=0), -shift, axis=0)
    return image, shift / prf, float(first)
