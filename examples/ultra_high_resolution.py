#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An airborne radar of 0.25 m: range-Doppler, omega-k and back-projection on the same echoes.

X band, 800 MHz, PRF 5 kHz, 1200 lines of 800 samples, one point at 150 m, in noise 20 dB above
each of its raw echoes; images of 1200 x 800, no windows. Of each algorithm: the widest -3 dB width
of the point, the power of its peak over the mean of the noise beside it, and how many images a
second leave the flowgraph when echoes keep coming, from host memory to host memory.

    ./dev run python3 examples/ultra_high_resolution.py --backend auto
"""
import argparse
import json
import math
import time

import numpy as np
from gnuradio import blocks, gr, sar

from gnuradio.sar import simulate
from gnuradio.sar.focus import (DOPPLER_ALGORITHMS, choose_bandwidth, choose_oversampling, focus,
                                  range_doppler)
from gnuradio.sar.measure import strip_aperture
from gnuradio.sar.recordings import Recording

LINES, SAMPLES, PRF_HZ = 1200, 800, 5000.0
NOISE_DB = 20.0  # of a raw sample, against the echo of the point
ALGORITHMS = ("rda", "omegak", "bp")
# what the radar's design asks for
WIDEST_M, LEAST_SNR_DB = 0.28, 32.7


def echoes():
    """(recording with positions, position of the point)."""
    acq, track, hints = simulate.stripmap(
        pulses=LINES, carrier_hz=9.6e9, bandwidth_hz=800e6, sample_rate_hz=960e6,
        pulse_length_s=0.3e-6, prf_hz=PRF_HZ, slant_range_m=150.0, speed_m_s=120.0, beam_rad=0.2,
        swath_m=69.55)
    if acq.samples != SAMPLES:
        raise RuntimeError(f"a line has {acq.samples} samples; expected {SAMPLES}")
    point = (*hints["scene_centre_m"][:2], 0.0)
    source = sar.point_target_source(acq, [(*point, 1.0)], track, LINES, 10 ** (NOISE_DB / 10), 1, 1,
                                     hints["beam_rad"], hints["beam_squint_rad"])
    sink, tb = blocks.vector_sink_c(SAMPLES, LINES), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    lines = np.array(sink.data(), np.complex64).reshape(LINES, SAMPLES)
    rec = Recording(acq, lambda a, b: lines[a:b], LINES, np.arange(LINES) / PRF_HZ,
                    tx=np.array(track.positions(0.0, PRF_HZ, LINES)), hints=hints)
    return rec, point


def measured(image, grid, geometry, point):
    """Figures of the point, with snr_db and the widest width_m of both directions."""
    m = sar.measure_point_target(
        np.ascontiguousarray(image, np.complex64), grid, point, range_window="rect",
        azimuth_window="rect", **strip_aperture(geometry, point))
    if not m["found"]:
        raise RuntimeError(f"the point was not found: {m['problem']}")
    i, j = (round(v) for v in grid.index_of(point))
    # rows in the middle, ranges beyond the side lobes and within the swath of whole pulses
    noise = np.concatenate([image[i - 300:i + 300, j - 180:j - 60],
                            image[i - 300:i + 300, j + 60:j + 180]], axis=1)
    snr = 10 * math.log10(m["peak_amplitude"] ** 2 / np.mean(np.abs(noise) ** 2))
    return dict(m, snr_db=snr, width_m=max(m["range"]["irw_m"], m["azimuth"]["irw_m"]))


def seconds_for(frames, rec, grid, algorithm, backend):
    """Time in which so many images leave a flowgraph that reads the echoes again and again."""
    lines = rec.lines(0, LINES)
    source = blocks.vector_source_c(lines.ravel(), True, SAMPLES)
    head = blocks.head(gr.sizeof_gr_complex * SAMPLES, frames * LINES)
    tb, sink = gr.top_block(), blocks.null_sink(gr.sizeof_gr_complex * SAMPLES)
    if algorithm == "bp":
        oversampling = choose_oversampling(rec.acq, "sinc8")  # as focus() does for the image
        compression = sar.pulse_compression(rec.acq, oversampling, "rect", [], backend)
        former = sar.bp_accumulator(rec.acq, grid, oversampling, "sinc8", "auto", LINES, 0, False,
                                    backend)
        # an item is three doubles, as long as six floats
        positions = blocks.vector_source_f(rec.tx.ravel().view(np.float32), True, 6)
        tb.connect(source, head, compression, former, sink)
        tb.connect(positions, (former, 1))
    else:
        former = getattr(sar, DOPPLER_ALGORITHMS[algorithm][1])(
            rec.acq, LINES, LINES, bandwidth_hz=choose_bandwidth(rec.acq, rec.hints)[0],
            backend=backend)
        tb.connect(source, head, former, sink)
    begin = time.perf_counter()
    tb.run()
    rows = sink.nitems_read(0)
    if former.error() or rows != frames * LINES:
        raise RuntimeError(f"{algorithm}: {rows / LINES:g} of {frames} images; {former.error()}")
    return time.perf_counter() - begin


def images_a_second(rec, grid, algorithm, backend, frames):
    """From the difference of two runs, which leaves out what starting costs."""
    first = max(1, frames // 4)
    a = seconds_for(first, rec, grid, algorithm, backend)
    b = seconds_for(first + frames, rec, grid, algorithm, backend)
    return frames / max(b - a, 1e-9)


def run(backend="auto", frames=0, algorithms=ALGORITHMS):
    """Figures of each algorithm: a dict of dicts; with frames their speed as well."""
    rec, point = echoes()
    result, grid, geometry = {}, None, None
    for algorithm in ("rda", *(a for a in algorithms if a != "rda")):
        if algorithm == "bp":
            image, report = focus(rec, grid, backend=backend)
        else:
            image, report = range_doppler(rec, algorithm=algorithm, fft_length=LINES,
                                          backend=backend)
            grid, geometry = sar.image_grid(**report["grid"]), report["geometry"]
        result[algorithm] = dict(measured(image, grid, geometry, point), shape=list(image.shape),
                                 backend=report["device"])
        if frames:
            result[algorithm]["images_a_second"] = images_a_second(
                rec, grid, algorithm, backend, frames if algorithm != "bp" else max(1, frames // 8))
    return {a: result[a] for a in algorithms}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-b", "--backend", default="auto", help="auto, cpu or cuda")
    p.add_argument("--frames", type=int, default=24, help="images whose time is measured, an eighth "
                   "of it for bp; 0: none (default %(default)s)")
    p.add_argument("-o", "--output", help="write the numbers to this JSON file")
    args = p.parse_args()
    result = run(args.backend, args.frames)
    print(f"{LINES} x {SAMPLES}, no windows, noise {NOISE_DB:g} dB above a raw echo, on "
          f"{result['rda']['backend']}")
    print(f"{'algorithm':<10}{'range, m':>10}{'along, m':>10}{'SNR, dB':>10}{'phase, rad':>12}"
          + (f"{'images/s':>10}" if args.frames else ""))
    for name, r in result.items():
        good = r["width_m"] <= WIDEST_M and r["snr_db"] >= LEAST_SNR_DB
        print(f"{name:<10}{r['range']['irw_m']:>10.4f}{r['azimuth']['irw_m']:>10.4f}"
              f"{r['snr_db']:>10.2f}{r['phase_error_rad']:>12.3f}"
              + (f"{r['images_a_second']:>10.2f}" if args.frames else "")
              + f"  {'PASS' if good else 'FAIL'}")
    print(f"asked for: {WIDEST_M} m or better, {LEAST_SNR_DB} dB or more")
    if args.output:
        from gnuradio.sar.focus import plain

        with open(args.output, "w", encoding="utf-8") as f:
            json.dump(plain(result), f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
