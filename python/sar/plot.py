# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of recordings and of focused images: ``gr_sar plot``.

    from gnuradio.sar import plot
    plot.save(plot.recording_figure(rec, "doppler"), "doppler.pdf")
    plot.save(plot.folder_figure("out", "cuts"), "cuts.png")

Every function returns a matplotlib Figure; nothing is shown on a screen. Figures of point
targets are those of measure_point_target(), here they are only drawn.
"""

import math
import os

import numpy as np
from gnuradio import blocks, gr

from . import measure as m
from . import sar_python as _sar
from .display_buffer import (axis_of_blocks, block_peaks, block_sizes, canvas, doppler_spectrum,
                             power_of)
from .frequency_response import step_hz
from .image_sink import display_range, grid_axes, to_db, upright
from .python_stage import guarded, python_stage
from .recordings import RecordingError

# of a recording, of a folder that gr_sar focus wrote; the first is what is drawn unasked
RECORDING, FOLDER = ("range-time", "doppler", "range-doppler", "spectrum"), ("image", "cuts")

# values of a picture in a figure: more than it has dots, so that no dot goes without
PICTURE = 1 << 21
SPECTRUM_LINES = 1024      # of one Doppler spectrum; the mean is taken over the recording
SPECTRUM_SAMPLES = 1 << 24 # of a range-Doppler picture
ESTIMATE_LINES = 4096      # for the Doppler centroid
MOST_TARGETS = 8           # rows of cuts in a figure

# Okabe and Ito's colours, which those who see red and green alike can tell apart; lines
# differ in their dashes as well, for print without colour
BLUE, VERMILLION, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "0.45"


def new_figure(width, height):
    """A figure without a window, and matplotlib only when it is needed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib, which is not installed (Debian: apt install "
                          "python3-matplotlib)") from None
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure, path):
    """Write a figure as .png, .pdf or .svg."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in (".png", ".pdf", ".svg"):
        raise ValueError(f"the output is '{path}'; expected a name that ends in .png, .pdf or .svg")
    # without the date, the same figure is the same file
    figure.savefig(path, metadata={"CreationDate": None} if kind == ".pdf" else
                   {"Date": None} if kind == ".svg" else None)


def _levels(db, dynamic_range_db, reference_db):
    low, high = display_range(db)
    high = high if reference_db is None else reference_db
    return high - (dynamic_range_db or max(high - low, 1.0)), high


def _draw(axes, db, row_axis, col_axis, colours, levels, label="dB"):
    """A picture in dB with its axes; row 0 of the array at row_axis's origin."""
    shown, up, across = upright(db, row_axis, col_axis)
    low, high = levels
    extent = (across[1] - across[2] / 2, across[1] + (shown.shape[1] - 0.5) * across[2],
              up[1] - up[2] / 2, up[1] + (shown.shape[0] - 0.5) * up[2])
    picture = axes.imshow(np.ma.masked_invalid(np.where(np.isneginf(shown), low - 1, shown)),
                          cmap=colours, vmin=low, vmax=high, extent=extent, origin="lower",
                          interpolation="nearest", aspect="auto")
    axes.ticklabel_format(useOffset=False, style="plain")
    axes.set_facecolor("#7f93ad")  # pixels that are not finite
    axes.set_xlabel(across[0])
    axes.set_ylabel(up[0])
    # as high as the picture, whatever its shape
    axes.figure.colorbar(picture, cax=axes.inset_axes([1.02, 0, 0.03, 1]), label=label)
    return picture


# ---- images -----------------------------------------------------------------------------


def image_figure(pixels, value="complex", info=None, *, targets=(), title="",
                 dynamic_range_db=0.0, reference_db=None):
    """An image with axes in metres (where ``info["grid"]`` is) and a colour bar in dB.

    A large image is drawn as the brightest pixel of each block. ``targets``: dicts of name and
    position_m, marked by circles.
    """
    pixels = np.asarray(pixels)
    grid = (info or {}).get("grid")
    row_axis, col_axis = (grid_axes(grid, info) if grid else
                          (("row", 0.0, 1.0), ("column", 0.0, 1.0)))
    kr, kc = block_sizes(*pixels.shape, PICTURE)
    db = to_db(pixels, value)
    levels = _levels(db, dynamic_range_db, reference_db)
    db = block_peaks(np.where(np.isfinite(pixels), db, np.nan), kr, kc)
    # as much paper as the sides ask for, within limits; _draw() turns what runs along x
    extents = [abs(a[2]) * n for a, n in zip((row_axis, col_axis), pixels.shape)]
    height, width = extents if upright(db, row_axis, col_axis)[1][0] == row_axis[0] else \
        extents[::-1]
    ratio = min(max(height / width, 0.3), 1.6)
    figure = new_figure(7.5, min(9.0, 6.0 * ratio + 0.9))
    axes = figure.add_subplot()
    _draw(axes, db, axis_of_blocks(row_axis, kr), axis_of_blocks(col_axis, kc), "gray", levels)
    if max(height, width) <= 8 * min(height, width):
        axes.set_aspect("equal")
    if grid:
        g = m.grid_of(grid)
        for t in targets:
            r, c = g.index_of(tuple(t["position_m"]))
            along = {a[0]: a[1] + i * a[2] for a, i in ((row_axis, r), (col_axis, c))}
            x, y = along[axes.get_xlabel()], along[axes.get_ylabel()]
            if not (0 <= r <= g.rows - 1 and 0 <= c <= g.cols - 1):
                continue
            axes.plot(x, y, "o", ms=11, mfc="none", mec="#e69f00", mew=1.2)
            axes.annotate(t["name"], (x, y), xytext=(7, 7), textcoords="offset points",
                          color="#e69f00", fontsize=8, bbox=dict(
                              boxstyle="round,pad=0.15", fc="black", ec="none", alpha=0.6))
    if kr * kc > 1:
        title += ("\n" if title else "") + f"(brightest of each {kr} x {kc} pixels)"
    axes.set_title(title, fontsize=10)
    return figure


def _report_info(report):
    """What a report says of where its image lies, as a sidecar of image_sink has it."""
    g = report["geometry"]
    return {"grid": report["grid"], "plane": g.get("plane"), "geometry": g.get("image")}


def cuts_figure(image, report, targets):
    """Range and azimuth cut of point targets against theory: a row a target.

    The curves and every number are those of measure_point_target(). Returns (figure, its
    dictionaries).
    """
    if np.asarray(image).dtype.kind != "c":
        raise ValueError("the image is not complex (looks of magnitude?), and cuts are measured "
                         "on complex images; expected one focused with a single look")
    if report["geometry"].get("image") == "centroid":
        raise ValueError("the image has centroid geometry, whose axes are oblique to the response "
                         "of a point; expected one focused with --geometry zero_doppler")
    rows = [m.point_response(image, m.grid_of(report["grid"]), t, report, keep_cuts=True)
            for t in targets]
    figure = new_figure(10, 0.4 + 3.1 * len(rows))
    panes = figure.subplots(len(rows), 2, squeeze=False)
    for row, pair in zip(rows, panes):
        for axes, direction in zip(pair, ("range", "azimuth")):
            axes.set_title(f"{row['name']}, {direction} cut", fontsize=10)
            axes.set_xlabel(f"offset from the peak along the {direction} cut, m")
            axes.set_ylabel("level below the peak, dB")
            if row["found"]:
                _draw_cut(axes, row[direction])
            else:
                axes.text(0.5, 0.5, _wrapped(row["problem"]), ha="center", va="center",
                          transform=axes.transAxes, fontsize=8)
    return figure, rows


def _wrapped(text, width=50):
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def _draw_cut(axes, cut):
    def db(power):
        return 10 * np.log10(np.maximum(power, 1e-12))

    x = np.linspace(-cut["extent_before_m"], cut["extent_after_m"], len(cut["power"]))
    level = db(cut["power"])
    axes.plot(x, level, color=BLUE, lw=1.4, label="image")
    axes.plot(x, db(cut["power_theory"]), color="black", lw=1.0, ls=(0, (4, 2)), label="theory")
    half = -10 * math.log10(2)
    axes.annotate("", (-cut["half_before_m"], half), (cut["half_after_m"], half),
                  arrowprops=dict(arrowstyle="<->", color=VERMILLION, shrinkA=0, shrinkB=0))
    axes.plot([-cut["half_before_m"], cut["half_after_m"]], [half, half], color=VERMILLION, lw=1.4,
              label=f"IRW {cut['irw_m']:.4g} m (theory {cut['irw_theory_m']:.4g} m)")
    outside = (x < -cut["null_before_m"] - 1e-12) | (x > cut["null_after_m"] + 1e-12)
    highest = np.flatnonzero(outside)[np.argmax(level[outside])]
    axes.plot(x[highest], cut["pslr_db"], "v", color=GREEN, ms=7,
              label=f"PSLR {cut['pslr_db']:.2f} dB (theory {cut['pslr_theory_db']:.2f} dB)")
    axes.axhline(cut["pslr_db"], color=GREEN, lw=0.7, ls=":")
    for k, null in enumerate((-cut["null_before_m"], cut["null_after_m"])):
        axes.axvline(null, color=GREY, lw=0.8, ls="-.", label="nulls" if k == 0 else None)
    axes.plot([], [], " ", label=f"ISLR {cut['islr_db']:.2f} dB (theory "
                                 f"{cut['islr_theory_db']:.2f} dB)")
    reach = 8 * max(cut["null_before_m"], cut["null_after_m"])
    axes.set_xlim(max(x[0], -reach), min(x[-1], reach))
    axes.set_ylim(min(-45.0, 10 * math.floor(cut["pslr_db"] / 10) - 20), 22)
    axes.set_yticks([t for t in axes.get_yticks() if t <= 0])
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper center", ncol=2, framealpha=0.9)


# ---- recordings -------------------------------------------------------------------------


class _each(python_stage, gr.sync_block):
    """Gives the rows that arrive to a function."""

    def __init__(self, cols, take):
        gr.sync_block.__init__(self, "plot", [np.complex64 if cols == 1 else (np.complex64, cols)],
                               None)
        self.init_stage("plot")
        self._cols, self._take = cols, take

    @guarded
    def work(self, input_items, output_items):
        self._take(input_items[0].reshape(-1, self._cols))
        return len(input_items[0])


def for_each_line(rec, take, raw=False, window="rect"):
    """Call ``take`` with the lines of a recording, some (n, samples) at a time, in order.

    raw      as recorded, instead of compressed in range by pulse_compression
    """
    if raw:
        for _, lines in rec.batches():
            take(lines)
        return
    from .focus import replica_of, run_flowgraph
    from .recording_source import recording_source

    source, sink = recording_source(rec), _each(rec.acq.samples, take)
    compression = _sar.pulse_compression(rec.acq, 1, window, replica_of(rec), "auto", 0)
    tb = gr.top_block("gr_sar plot")
    tb.connect(source, compression, sink)
    # the other outputs of the source may stay open; its ports are known by their number
    for port in range(1, source.output_signature().max_streams()):
        tb.connect((source, port), blocks.null_sink(24))
    run_flowgraph(tb, [("recording_source", source), ("pulse_compression", compression),
                       ("plot", sink)])


def _columns(acq, raw):
    """The axis of a line's samples."""
    if raw and acq.in_frequency_domain():
        return "radio frequency, MHz", acq.first_frequency_hz() / 1e6, step_hz(acq) / 1e6
    axis = acq.compressed_axis(1)
    where = "slant range" if axis.range_reference == "antenna" else "range from the reference point"
    return f"{where}, m", axis.first_m, axis.spacing_m


def _centroid_at_middle(acq):
    axis = acq.compressed_axis(1)
    middle = (axis.samples - 1) / 2 * axis.spacing_m
    return float(np.polyval([*reversed(acq.doppler_centroid_slopes), acq.doppler_centroid_hz],
                            middle))


def _name(rec):
    return os.path.basename(rec.paths[0]) if rec.paths else "recording"


def range_time_figure(rec, *, raw=False, dynamic_range_db=0.0, reference_db=None):
    """Lines over time in dB, compressed in range or as recorded."""
    kr, kc = block_sizes(rec.num_pulses, rec.acq.samples, PICTURE)
    times = rec.times_s
    even = rec.num_pulses < 3 or np.ptp(np.diff(times)) < 0.01 * np.median(np.diff(times))
    step = float(np.median(np.diff(times))) if rec.num_pulses > 1 else 1 / rec.acq.prf_hz
    row_axis = ("time, s", float(times[0]), step) if even else ("pulse", 0.0, 1.0)
    picture = canvas(rec.num_pulses, rec.acq.samples, None, kr=kr, kc=kc)

    def take(lines):
        power, bad = power_of(np.ascontiguousarray(lines), "complex")
        picture.bad += bad
        picture.put(block_peaks(power, 1, kc))

    for_each_line(rec, take, raw)
    db = to_db(picture.values, "power")
    levels = _levels(db, dynamic_range_db, reference_db)
    db = np.where(np.isfinite(picture.values), db, np.nan)
    figure = new_figure(7.5, 6)
    axes = figure.add_subplot()
    _draw(axes, db, axis_of_blocks(row_axis, kr), axis_of_blocks(_columns(rec.acq, raw), kc), "viridis",
          levels, "power, dB")
    title = f"{_name(rec)}: {rec.num_pulses} lines, " + ("raw" if raw else "compressed in range")
    if kr * kc > 1:
        title += f"\n(brightest of each {kr} x {kc} samples)"
    if picture.bad:
        title += f"\n({picture.bad} samples are not finite)"
    axes.set_title(title, fontsize=10)
    return figure


def doppler_of(rec, raw=False):
    """Mean Doppler spectrum of a recording: (frequencies Hz, power, lines of one spectrum).

    The mean over range, and over stretches of at most SPECTRUM_LINES lines.
    """
    if rec.num_pulses < 2:
        raise RecordingError(f"{_name(rec)} has one pulse; a Doppler spectrum needs two or more")
    count = min(rec.num_pulses, SPECTRUM_LINES)
    stretch, total, filled, spectra = np.zeros((count, rec.acq.samples), np.complex64), 0.0, 0, 0
    axis = None

    def take(lines):
        nonlocal total, filled, spectra, axis
        while len(lines):
            n = min(len(lines), count - filled)
            stretch[filled : filled + n] = lines[:n]
            filled, lines = filled + n, lines[n:]
            if filled == count:
                power, first, step = doppler_spectrum(stretch, rec.acq.prf_hz,
                                                      _centroid_at_middle(rec.acq))
                total = total + power.mean(axis=1, dtype=np.float64)
                axis = first + step * np.arange(count)
                filled, spectra = 0, spectra + 1

    for_each_line(rec, take, raw)
    return axis, total / spectra, count


def doppler_figure(rec, *, raw=False, dynamic_range_db=0.0, reference_db=None):
    """Doppler spectrum over the PRF with the centroid: the recording's, and as the block
    doppler_centroid estimates it. Returns (figure, estimate or None, sentence or "")."""
    from .focus import FocusError, estimate_centroid

    f, power, count = doppler_of(rec, raw)
    db = 10 * np.log10(np.maximum(power, 1e-40))
    figure = new_figure(7.5, 4.5)
    axes = figure.add_subplot()
    axes.plot(f, db, color=BLUE, lw=1.3)
    centroid = _centroid_at_middle(rec.acq)
    axes.axvline(centroid, color="black", lw=1.2, ls=(0, (4, 2)),
                 label=f"centroid of the recording {centroid:.1f} Hz, "
                       f"{centroid / rec.acq.prf_hz:.2f} PRFs")
    estimate, why = None, ""
    try:
        estimate = estimate_centroid(rec, min(rec.num_pulses, ESTIMATE_LINES), backend="auto")
        if estimate["method"] == "none":
            estimate, why = None, "no centroid is estimated: the echoes show no signal over noise"
    except (FocusError, RuntimeError, ValueError) as e:
        why = f"no centroid is estimated: {e}"
    if estimate is not None:
        value, prf = estimate["doppler_centroid_hz"][0], rec.acq.prf_hz
        drawn = value - prf * round((value - centroid) / prf)
        error = estimate["standard_error_hz"]
        axes.axvline(drawn, color=VERMILLION, lw=1.2,
                     label=f"centroid estimated {value:.1f} Hz, standard error {error:.1f} Hz")
        axes.axvspan(drawn - error, drawn + error, color=VERMILLION, alpha=0.2, lw=0)
    axes.set_xlim(f[0], f[-1] + (f[1] - f[0]))
    if reference_db is not None or dynamic_range_db:
        high = db.max() if reference_db is None else reference_db
        axes.set_ylim(high - (dynamic_range_db or np.ptp(db)), high)
    axes.set_xlabel("Doppler frequency, Hz")
    axes.set_ylabel("mean power a cell, dB")
    axes.set_title(f"{_name(rec)}: Doppler spectra of {count} lines, Hann, mean over range",
                   fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower center")
    return figure, estimate, why


def range_doppler_figure(rec, *, raw=False, dynamic_range_db=0.0, reference_db=None):
    """Doppler spectrum at each range, of the lines in the middle of a recording."""
    if rec.num_pulses < 2:
        raise RecordingError(f"{_name(rec)} has one pulse; a Doppler spectrum needs two or more")
    count = min(rec.num_pulses, 4096, max(2, SPECTRUM_SAMPLES // rec.acq.samples))
    first = (rec.num_pulses - count) // 2
    part, lines = rec.select(first, first + count), []

    def take(rows):
        lines.append(np.array(rows))

    for_each_line(part, take, raw)
    power, low, step = doppler_spectrum(np.concatenate(lines), rec.acq.prf_hz,
                                        _centroid_at_middle(rec.acq))
    kr, kc = block_sizes(*power.shape, PICTURE)
    db = to_db(block_peaks(power, kr, kc), "power")
    figure = new_figure(7.5, 6)
    axes = figure.add_subplot()
    _draw(axes, db, axis_of_blocks(("Doppler frequency, Hz", low, step), kr),
          axis_of_blocks(_columns(rec.acq, raw), kc), "viridis",
          _levels(db, dynamic_range_db, reference_db), "power, dB")
    axes.set_title(f"{_name(rec)}: pulses {first} to {first + count - 1}, Hann", fontsize=10)
    return figure


def spectrum_of(rec):
    """Mean range spectrum of a recording's raw lines: (frequencies Hz, power).

    Pulsed waveforms: the transform of the lines, around the carrier. Those whose samples are
    over frequency (fmcw, frequency_domain): their mean power itself, the radio frequency.
    """
    acq, total = rec.acq, 0.0
    for _, lines in rec.batches():
        lines = np.nan_to_num(lines, nan=0.0, posinf=0.0, neginf=0.0)
        if not acq.in_frequency_domain():
            lines = np.fft.fftshift(np.fft.fft(lines, axis=1), axes=1) / acq.samples
        total = total + (np.abs(lines).astype(np.float64) ** 2).sum(axis=0)
    if acq.in_frequency_domain():
        _, first, step = _columns(acq, True)
        f = 1e6 * (first + step * np.arange(acq.samples))
    else:
        f = acq.carrier_hz + np.fft.fftshift(np.fft.fftfreq(acq.samples, 1 / acq.sample_rate_hz))
    return f, total / rec.num_pulses


def spectrum_figure(rec, *, dynamic_range_db=0.0, reference_db=None):
    """Range spectrum with the edges of the band."""
    f, power = spectrum_of(rec)
    db = 10 * np.log10(np.maximum(power, 1e-40))
    figure = new_figure(7.5, 4.5)
    axes = figure.add_subplot()
    axes.plot(f / 1e6, db, color=BLUE, lw=1.0)
    centre, band = rec.acq.centre_frequency_hz(), rec.acq.bandwidth_hz()
    for side in (-0.5, 0.5):
        axes.axvline((centre + side * band) / 1e6, color="black", lw=1.0, ls=(0, (4, 2)),
                     label=f"bandwidth {band / 1e6:.6g} MHz" if side < 0 else None)
    axes.axvline(centre / 1e6, color=VERMILLION, lw=1.0, ls="-.",
                 label=f"centre {centre / 1e6:.6g} MHz")
    if reference_db is not None or dynamic_range_db:
        high = db.max() if reference_db is None else reference_db
        axes.set_ylim(high - (dynamic_range_db or np.ptp(db)), high)
    axes.set_xlabel("radio frequency, MHz")
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.set_ylabel("mean power, dB")
    axes.set_title(f"{_name(rec)}: mean of {rec.num_pulses} raw lines", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower center")
    return figure


# ---- the command ------------------------------------------------------------------------


def is_result(path):
    """Is it a folder that gr_sar focus wrote?"""
    return os.path.isdir(path) and os.path.exists(os.path.join(path, "report.json"))


def folder_figure(folder, what="image", *, targets=None, dynamic_range_db=0.0, reference_db=None):
    """(figure, sentences) of a folder that gr_sar focus wrote. ``targets`` in place of those
    of the report."""
    image, report = m.load_result(folder)
    known = report.get("targets", []) if targets is None else targets
    if what == "image":
        value = "magnitude" if image.dtype.kind != "c" else "complex"
        window = f"{report.get('algorithm', 'bp')}, {report['pulses']} pulses"
        return image_figure(image, value, _report_info(report), targets=known,
                            title=f"{os.path.basename(os.path.abspath(folder))}: {window}",
                            dynamic_range_db=dynamic_range_db, reference_db=reference_db), []
    if not known:
        raise ValueError(f"{folder}/report.json knows no targets; give --target x,y,z")
    said = []
    if len(known) > MOST_TARGETS:
        said.append(f"the first {MOST_TARGETS} of {len(known)} targets; name others with --target")
        known = known[:MOST_TARGETS]
    figure, rows = cuts_figure(image, report, known)
    for row in rows:
        if not row["found"]:
            said.append(f"{row['name']}: {row['problem']}")
    return figure, said


def recording_figure(rec, what="range-time", *, raw=False, dynamic_range_db=0.0,
                     reference_db=None):
    """(figure, sentences) of a recording."""
    levels = dict(dynamic_range_db=dynamic_range_db, reference_db=reference_db)
    if what == "range-time":
        return range_time_figure(rec, raw=raw, **levels), []
    if what == "range-doppler":
        return range_doppler_figure(rec, raw=raw, **levels), []
    if what == "spectrum":
        return spectrum_figure(rec, **levels), []
    figure, _, why = doppler_figure(rec, raw=raw, **levels)
    return figure, [why] if why else []


def run(args, open_recording):
    """``gr_sar plot``; returns sentences for the user."""
    first = args.input[0] if isinstance(args.input, list) else args.input
    result = is_result(first)
    possible = FOLDER if result else RECORDING
    what = args.what or possible[0]
    if what not in possible:
        raise ValueError(f"--what is {what}, but {first} is "
                         + ("a folder that gr_sar focus wrote" if result else "a recording")
                         + f"; expected one of {', '.join(possible)}")
    levels = dict(dynamic_range_db=args.range or 0.0, reference_db=args.reference)
    if levels["dynamic_range_db"] < 0:
        raise ValueError(f"--range is {args.range}; expected more than 0 dB")
    if result:
        if args.raw:
            raise ValueError("--raw has no meaning for a focused image")
        targets = None
        if args.target:
            targets = [dict(t, name=f"T{i + 1}") for i, t in enumerate(args.target)]
        figure, said = folder_figure(first, what, targets=targets, **levels)
    else:
        if args.target:
            raise ValueError("--target has no meaning for a recording")
        if args.raw and what == "spectrum":
            raise ValueError("--raw has no meaning for --what spectrum, which is of raw lines")
        rec = open_recording(args)
        figure, said = recording_figure(rec, what, raw=args.raw, **levels)
        said = rec.notes + said
    save(figure, args.output)
    return said + [f"{args.output}: {what} of {first}"]
