#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes docs/images/algorithms.png, algorithms_one_scene.png and the table of docs/algorithms.md:
what each algorithm of the Doppler domain leaves, by formula and measured.

    ./dev run python3 docs/make_algorithms.py            # the pictures and the table
    ./dev run python3 docs/make_algorithms.py --table    # the table alone

The formulas are those of the error budget, gnuradio.sar.algorithms. Measured: a strip map, one
point in the middle and one near the far end of the swath, both judged by
measure_point_target(); the figures are differences from theory. And one scene by all
algorithms, with the differences of the images.
"""

import argparse
import math
import os
import sys

import numpy as np

from gnuradio import blocks, gr, sar
from gnuradio.sar import algorithms, focus, simulate
from gnuradio.sar.measure import strip_aperture
from gnuradio.sar.polar_format import polar_format
from gnuradio.sar.recordings import Recording

C = sar.speed_of_light
CARRIER_HZ = 9.6e9
HERE = os.path.dirname(os.path.abspath(__file__))


def left_phase_rad(resolution_m, squint_deg, half_swath_m, carrier_hz=CARRIER_HZ):
    """Phase at the edges of the band at the ends of a swath, rad, by algorithms.edge_phase_rad();
    the beam is as wide as the resolution along track asks."""
    beam = C / carrier_hz / (2 * resolution_m)
    a = np.minimum(np.radians(squint_deg) + beam / 2, math.radians(80))
    return algorithms.edge_phase_rad(C / (2 * resolution_m), half_swath_m, np.sin(a), carrier_hz)


def swath_for(phase_rad, resolution_m, squint_deg):
    """Width of the swath at whose ends that phase is \\p phase_rad, m."""
    return 2 * phase_rad / left_phase_rad(resolution_m, squint_deg, 1.0)


# ---- measured ---------------------------------------------------------------------------

SCENES = {  # resolution, squint, width of the swath, range, velocity
    "1 m, broadside, 400 m": (1.0, 0.0, 400.0, 5000.0, 100.0),
    "0.5 m, 5 degrees, 400 m": (0.5, 5.0, 400.0, 5000.0, 100.0),
    "0.5 m, 15 degrees, 400 m": (0.5, 15.0, 400.0, 3000.0, 100.0),
    "0.25 m, broadside, 200 m": (0.25, 0.0, 200.0, 2000.0, 100.0),
    "0.25 m, 10 degrees, 200 m": (0.25, 10.0, 200.0, 1500.0, 100.0),
}


def scene(resolution, squint_deg, swath, distance, speed):
    """Recording of two points, with what is known of it."""
    band = C / (2 * resolution)
    # the band widens with squint, and the processor takes nine tenths of the beam
    beam = C / CARRIER_HZ / (2 * resolution) * 1.15
    prf = 1.3 * 2 * speed / (C / CARRIER_HZ) * beam
    squint = math.radians(squint_deg)
    footprint = distance * (math.tan(squint + beam / 2) - math.tan(squint - beam / 2))
    track = footprint * 1.3 + swath * abs(math.tan(squint)) + 20
    acq, path, hints = simulate.stripmap(
        carrier_hz=CARRIER_HZ, bandwidth_hz=band, sample_rate_hz=1.25 * band,
        pulse_length_s=2e-6, prf_hz=prf, pulses=int(track / speed * prf), slant_range_m=distance,
        speed_m_s=speed, squint_deg=squint_deg, beam_rad=beam, swath_m=swath)
    x, r, _ = hints["scene_centre_m"]
    end = 0.45 * swath
    targets = [(x, r, 0.0), (x + end * math.tan(squint), r + end, 0.0)]
    pulses = int(track / speed * prf)
    source = sar.point_target_source(acq, [(*t, 1.0) for t in targets], path, pulses, 0.0, 1, 1,
                                     hints["beam_rad"], hints["beam_squint_rad"])
    sink, tb = blocks.vector_sink_c(acq.samples), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    lines = np.array(sink.data(), np.complex64).reshape(pulses, acq.samples)
    rec = Recording(acq, lambda a, b: lines[a:b], pulses, np.arange(pulses) / prf, hints=hints)
    return rec, targets


def figures(rec, targets, algorithm):
    """[(position error in cells, IRW error in %, PSLR error in dB, phase error), ...]"""
    try:
        image, report = focus.range_doppler(rec, algorithm=algorithm, oversampling=2,
                                            geometry="zero_doppler")
    except (ValueError, RuntimeError) as why:
        return str(why).split(";")[0]
    grid = sar.image_grid(**report["grid"])
    found = []
    for t in targets:
        m = sar.measure_point_target(
            np.ascontiguousarray(image, np.complex64), grid, tuple(t), range_window="rect",
            azimuth_window="rect", **strip_aperture(report["geometry"], t))
        if not m["found"]:
            return m["problem"]
        cuts = (m["range"], m["azimuth"])
        found.append((max(abs(c["position_error_cells"]) for c in cuts),
                      max(abs(c["irw_m"] / c["irw_theory_m"] - 1) for c in cuts) * 100,
                      max(abs(c["pslr_db"] - c["pslr_theory_db"]) for c in cuts),
                      abs(m["phase_error_rad"])))
    return found


def promised_rad(rec, target):
    """Phase that the budget of range-Doppler and chirp scaling gives a point at its place, rad."""
    acq = rec.acq
    band = focus.choose_bandwidth(acq, rec.hints)[0]
    f = sar.range_doppler_plan(acq, rec.num_pulses).frame
    doppler = acq.doppler_centroid_hz + band / 2 * np.linspace(-1, 1, 65)[:, None]
    return abs(algorithms.phase_of_point(algorithms.left_phase_rad(
        target[1], f.middle_m, doppler, acq.bandwidth_hz() / 2 * np.linspace(-1, 1, 33),
        acq.effective_velocity_m_s, f.carrier_hz)))


def table():
    gr.logging().set_default_level(gr.log_levels.off)
    print("| scene | phi, rad | algorithm | position, cells | IRW, % | PSLR, dB | phase, rad | "
          "promised |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, s in SCENES.items():
        rec, targets = scene(*s)
        phi = left_phase_rad(s[0], s[1], 0.45 * s[2])
        for algorithm in ("rda", "csa", "omegak"):
            got = figures(rec, targets, algorithm)
            if isinstance(got, str):
                print(f"| {name} | {phi:.2f} | {algorithm} | {got} | | | | |")
                continue
            columns = " | ".join(
                " / ".join(f"{g[i]:.{digits}f}" for g in got)
                for i, digits in ((0, 3), (1, 1), (2, 2), (3, 3)))
            promised = 0.0 if algorithm == "omegak" else promised_rad(rec, targets[-1])
            print(f"| {name} | {phi:.2f} | {algorithm} | {columns} | {promised:.3f} |")
            sys.stdout.flush()


# ---- one scene by all --------------------------------------------------------------------

SCENE_HALF_M = 20.0  # of the patch that is compared


def one_scene():
    """(recording, targets): X band, 600 MHz, five points, all of them in the beam all the time, so
    that every algorithm sees them through the same aperture: 100 m of flight at 600 m."""
    track, distance, speed, prf = 100.0, 600.0, 100.0, 1600.0
    pulses = int(track / speed * prf)
    acq, path, _ = simulate.stripmap(
        carrier_hz=CARRIER_HZ, bandwidth_hz=600e6, pulse_length_s=0.4e-6, prf_hz=prf, pulses=pulses,
        slant_range_m=distance, speed_m_s=speed, beam_rad=130 / distance, swath_m=60.0)
    x = track / 2
    targets = [(x + a, distance + r, 0.0) for a, r in (
        (1.37, -2.21), (-11.1, -13.4), (-9.8, 12.1), (10.6, -11.9), (9.3, 13.0))]
    source = sar.point_target_source(acq, [(*t, 1.0) for t in targets], path, pulses, 0.0, 1, 1)
    sink, tb = blocks.vector_sink_c(acq.samples), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    lines = np.array(sink.data(), np.complex64).reshape(pulses, acq.samples)
    rec = Recording(acq, lambda a, b: lines[a:b], pulses, np.arange(pulses) / prf,
                    tx=np.array(path.positions(0.0, prf, pulses)),
                    hints={"scene_centre_m": (x, distance, 0.0)})
    return rec, targets


def images_of(rec, backend="cpu"):
    """(grid, {algorithm: image on that grid}) of one_scene()."""
    images, grid = {}, None
    for algorithm in focus.DOPPLER_ALGORITHMS:
        whole, report = focus.range_doppler(rec, algorithm=algorithm, oversampling=2,
                                            azimuth_bandwidth_hz=0, backend=backend)
        g = sar.image_grid(**report["grid"])
        middle = [round(v) for v in g.index_of(rec.hints["scene_centre_m"])]
        half = [round(SCENE_HALF_M / v) for v in (g.row_spacing_m, g.col_spacing_m)]
        first = [m - h for m, h in zip(middle, half)]
        images[algorithm] = np.ascontiguousarray(
            whole[first[0]:first[0] + 2 * half[0], first[1]:first[1] + 2 * half[1]])
        grid = sar.image_grid(g.position(*map(float, first)), g.row_axis, g.col_axis,
                              g.row_spacing_m, g.col_spacing_m, 2 * half[0], 2 * half[1])
    images["bp"], _ = focus.focus(rec, grid, interpolation="sinc16", accuracy="exact",
                                  backend=backend)
    images["pfa"], _ = polar_format(rec, grid, backend=backend)
    return grid, images


def difference_db(image, other):
    """Energy of the difference of two images over that of the second, dB."""
    return 10 * math.log10(np.sum(np.abs(image - other) ** 2) / np.sum(np.abs(other) ** 2))


def picture_of_one_scene(path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rec, _ = one_scene()
    grid, images = images_of(rec)
    peak = np.abs(images["bp"]).max()
    shown = [("bp", images["bp"])]
    shown += [(f"{a} - bp: {difference_db(images[a], images['bp']):.1f} dB", images[a] - images["bp"])
              for a in (*focus.DOPPLER_ALGORITHMS, "pfa")]
    shown += [(f"{a} - omegak: {difference_db(images[a], images['omegak']):.1f} dB",
               images[a] - images["omegak"]) for a in focus.DOPPLER_ALGORITHMS if a != "omegak"]
    plt.rcParams.update({"font.size": 9, "axes.grid": False})
    fig, axes = plt.subplots(2, 4, figsize=(11, 6.2), sharex=True, sharey=True,
                             constrained_layout=True)
    ends = grid.position(0.0, 0.0), grid.position(grid.rows - 1.0, grid.cols - 1.0)
    axes[1, 3].axis("off")
    for ax, (title, image) in zip(axes.flat, shown):
        drawn = ax.imshow(20 * np.log10(np.maximum(np.abs(image) / peak, 1e-9)), vmin=-90, vmax=0,
                          cmap="magma", origin="lower", interpolation="nearest",
                          extent=(ends[0][1], ends[1][1], ends[0][0], ends[1][0]))
        ax.set_title(title, fontsize=9)
    for ax in axes[1]:
        ax.set_xlabel("slant range, m")
    for ax in axes[:, 0]:
        ax.set_ylabel("along the track, m")
    fig.colorbar(drawn, ax=axes, label="dB below the peak of the image")
    fig.savefig(path, dpi=110)


def picture(path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    resolution = np.geomspace(0.08, 3, 300)
    styles = (("-", "#000000"), ("--", "#0072b2"), ("-.", "#d55e00"), (":", "#009e73"))
    for squint, (line, colour) in zip((0, 5, 15, 30), styles):
        left.loglog(resolution, swath_for(math.pi / 8, resolution, squint), line, color=colour,
                    label=f"{squint}° of squint")
    left.set(xlabel="resolution, m", ylabel="swath, m", ylim=(10, 1e6),
             title="Swath for which rda and csa leave π/8 at its ends")
    left.legend()
    squints = np.linspace(0, 40, 200)
    for fine, (line, colour) in zip((1.0, 0.5, 0.25, 0.1), styles):
        right.semilogy(squints, left_phase_rad(fine, squints, 250.0), line, color=colour,
                       label=f"{fine:g} m")
    right.axhline(math.pi / 8, color="0.5", lw=0.8)
    right.text(39.5, math.pi / 8 * 1.15, "π/8", ha="right", color="0.4")
    right.set(xlabel="squint, degrees", ylabel="phase at the band's edges, rad", ylim=(1e-4, 1e3),
              title="What they leave at the ends of a swath of 500 m")
    right.legend()
    fig.savefig(path, dpi=110)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--table", action="store_true", help="the table alone")
    args = p.parse_args()
    if not args.table:
        gr.logging().set_default_level(gr.log_levels.off)
        picture(os.path.join(HERE, "images", "algorithms.png"))
        picture_of_one_scene(os.path.join(HERE, "images", "algorithms_one_scene.png"))
    table()


if __name__ == "__main__":
    main()
