#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Range-Doppler, fused and in stages: the same image, and the same signal-to-noise ratio.

Five point targets in complex noise 20 dB below each raw echo, 4096 lines of 4096 samples, C band
strip map. Both ways of forming the image run on the same echoes; of each target the ratio of its
peak to the noise around it is printed. With --reference also how far both are from a float64
computation.

    ./dev run python3 examples/fused_range_doppler.py --backend auto --reference
"""
import argparse
import json
import math

import numpy as np
from gnuradio import blocks, gr, sar

from gnuradio.sar import reference, simulate
from gnuradio.sar.focus import range_doppler
from gnuradio.sar.recordings import Recording

# offsets from the middle of the scene in shares of its size: along track, across
PLACES = [(0.003, -0.002), (-0.21, -0.24), (-0.17, 0.22), (0.19, -0.18), (0.22, 0.26)]
NOISE_DB = -20.0


def echoes(size):
    """Recording of size lines of size samples, and the targets."""
    acq, track, hints = simulate.stripmap(
        pulses=size, slant_range_m=20e3, pulse_length_s=5e-6 * size / 4096,
        swath_m=0.7 * size * 1.249, squint_deg=2.0)
    acq = acq.replace(samples=size)
    width, swath = hints["scene_extent_m"]
    targets = simulate.stripmap_targets(hints, [
        {"name": f"T{k + 1}", "amplitude": 1.0, "offset_m": (a * width, b * swath)}
        for k, (a, b) in enumerate(PLACES)])
    source = sar.point_target_source(
        acq, [(*t["position_m"], t["amplitude"]) for t in targets], track, size,
        10 ** (NOISE_DB / 10), 1, 1, hints["beam_rad"], hints["beam_squint_rad"])
    sink, tb = blocks.vector_sink_c(acq.samples, size), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    lines = np.array(sink.data(), np.complex64).reshape(size, acq.samples)
    rec = Recording(acq, lambda a, b: lines[a:b], size, np.arange(size) / acq.prf_hz, hints=hints)
    return rec, targets


def snr_db(image, grid, position):
    """Brightest pixel at a position over the mean power of noise off its side lobes."""
    i, j = (int(round(v)) for v in grid.index_of(tuple(position)))
    peak = np.max(np.abs(image[i - 2 : i + 3, j - 2 : j + 3])) ** 2
    away, side = len(image) // 12, len(image) // 32
    noise = [image[(i + a - side) : (i + a + side), (j + b - side) : (j + b + side)]
             for a in (-away, away) for b in (-away, away)]
    return 10 * math.log10(peak / np.mean(np.abs(np.array(noise)) ** 2))


def difference_db(x, truth):
    return 10 * math.log10(max(np.sum(np.abs(x - truth) ** 2), 1e-30)
                           / np.sum(np.abs(truth) ** 2))


def run(size=4096, backend="auto", against_float64=False):
    """Both images of one scene; a dict of what was measured."""
    rec, targets = echoes(size)
    images, reports = {}, {}
    for name in ("fused", "stages"):
        images[name], reports[name] = range_doppler(rec, fft_length=size, backend=backend,
                                                    stages=name == "stages")
    report = reports["fused"]
    grid = sar.image_grid(**report["grid"])
    result = {
        "rows": grid.rows, "cols": grid.cols, "backend": report["device"],
        "seconds": {k: r["timings_s"]["run"] for k, r in reports.items()},
        "fused_against_stages_db": difference_db(images["fused"], images["stages"]),
        "targets": [{"name": t["name"], "position_m": list(t["position_m"]),
                     **{f"snr_{k}_db": snr_db(v, grid, t["position_m"])
                        for k, v in images.items()}} for t in targets]}
    if against_float64:
        step = max(1, (1 << 22) // size)
        lines = np.concatenate([reference.compress(rec.acq, rec.lines(n, n + step))
                                for n in range(0, size, step)])
        truth = reference.range_doppler(
            rec.acq, lines, fft_length=size,
            azimuth_bandwidth_hz=report["azimuth_bandwidth_hz"])[0]
        a, b = report["quality"]["cols"]  # where lines are whole
        for name, image in images.items():
            result[f"{name}_against_float64_db"] = difference_db(image[:, a:b], truth[:, a:b])
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--size", type=int, default=4096, help="lines, and samples of each")
    p.add_argument("-b", "--backend", default="auto", help="auto, cpu or cuda")
    p.add_argument("--reference", action="store_true", help="compare with float64 (a minute)")
    p.add_argument("-o", "--output", help="write the numbers to this JSON file")
    args = p.parse_args()
    result = run(args.size, args.backend, args.reference)
    print(f"{result['rows']} x {result['cols']} on {result['backend']}: fused "
          f"{result['seconds']['fused']:.2f} s, stages {result['seconds']['stages']:.2f} s")
    print(f"{'target':<8}{'SNR fused':>12}{'SNR stages':>12}{'difference':>12}")
    for t in result["targets"]:
        print(f"{t['name']:<8}{t['snr_fused_db']:>9.2f} dB{t['snr_stages_db']:>9.2f} dB"
              f"{t['snr_fused_db'] - t['snr_stages_db']:>+9.3f} dB")
    for key in result:
        if key.endswith("_db"):
            print(f"{key[:-3].replace('_', ' ')}: {result[key]:.1f} dB")
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
