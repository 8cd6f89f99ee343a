# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording to a focused image: the flowgraph behind ``gr_sar focus``.

    from gnuradio.sar.focus import focus
    image, report = focus(rec, grid)

recording_source -> pulse_compression -> bp_accumulator -> image_sink
"""

import math
import threading
import time

import numpy as np
from gnuradio import gr

from . import sar_python as _sar
from .image_sink import image_sink
from .recording_source import recording_source

# Bound of the interpolation error, end to end, for accuracy statements in reports.
ACCURACY_TEXT = {
    "exact": "range and phase of every pixel and pulse in double",
    "fast": "second-order expansion of the range per tile of pixels",
    "auto": "fast where its proved phase error stays below 0.01 rad, else exact",
}


class FocusError(RuntimeError):
    """A stage ended the flowgraph; the sentence is the stage's."""


def choose_oversampling(acq, interpolation):
    """Oversampling of the compressed lines that keeps the interpolation error low.

    sinc8 at 2.4 samples a resolution cell: -77 dB of the image's energy on GOTCHA (-62 dB at
    2); nearest and linear cannot reach that at any price worth paying.
    """
    occupied = acq.compressed_axis(1).occupied_band()
    wanted = {"nearest": 16.0, "linear": 8.0}.get(interpolation, 2.4)
    return max(1, math.ceil(wanted * occupied - 1e-9))


def run_flowgraph(tb, stages, progress=None, poll=None):
    """Run to the end; raise FocusError with the first stage's error, if any."""
    failure = []
    tb.start()

    def wait():
        try:
            tb.wait()
        except Exception as e:  # shown below, in the calling thread
            failure.append(e)

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    try:
        while waiter.is_alive():
            waiter.join(0.1)
            if progress is not None and poll is not None:
                progress(poll())
    except KeyboardInterrupt:
        tb.stop()
        waiter.join()
        raise
    for name, block in stages:
        if hasattr(block, "error") and block.error():
            raise FocusError(f"{name}: {block.error()}")
    if failure:
        raise FocusError(str(failure[0]))
    if progress is not None and poll is not None:
        progress(poll())


def focus(rec, grid, *, folder="", window="rect", interpolation="sinc8", accuracy="auto",
          oversampling=0, backend="auto", device=0, pulses_per_image=0, hop=0, annotate=False,
          progress=None):
    """Form the image of a recording on a grid by back-projection.

    Returns (image complex64 (rows, cols), report dict). With pulses_per_image the newest
    image. ``progress`` is called with the number of pulses read so far.
    """
    if rec.tx is None:
        from .grids import phase_centres

        phase_centres(rec)  # raises the sentence
    for name in ("pulse_compression", "bp_accumulator"):
        if not hasattr(_sar, name):
            raise FocusError(f"this build of gr-sar has no block {name}")
    begin = time.perf_counter()
    oversampling = int(oversampling) or choose_oversampling(rec.acq, interpolation)
    bistatic = rec.rx is not None
    replica = [] if rec.replica is None else [complex(v) for v in rec.replica]
    source = recording_source(rec)
    compression = _sar.pulse_compression(rec.acq, oversampling, window, replica, backend, device)
    former = _sar.bp_accumulator(rec.acq, grid, oversampling, interpolation, accuracy,
                                 pulses_per_image, hop, bistatic, backend, device)
    sink = image_sink(grid.cols, folder, annotate=annotate)
    tb = gr.top_block("gr_sar focus")
    tb.connect(source, compression, former, sink)
    tb.connect((source, 1), (former, 1))
    if bistatic:
        tb.connect((source, 2), (former, 2))
    stages = [("recording_source", source), ("pulse_compression", compression),
              ("bp_accumulator", former), ("image_sink", sink)]
    built = time.perf_counter()
    run_flowgraph(tb, stages, progress, source.pulses_done)
    ended = time.perf_counter()
    image = sink.last_image()
    if image is None:
        raise FocusError("the flowgraph ended without an image")

    description = former.backend()
    formed = former.report()
    report = {
        "input": rec.paths,
        "format": rec.kind,
        "algorithm": "bp",
        "backend": description.split(":")[0].split(" ")[0],
        "device": description,
        "accuracy": {"mode": accuracy, "used": formed["accuracy_used"],
                     "phase_error_bound_rad": formed["phase_bound_rad"],
                     "meaning": ACCURACY_TEXT[accuracy]},
        "grid": grid_dict(grid),
        "dropped_samples": rec.dropped_samples,
        "outside_pixels": formed["outside_pixel_pulses"],
        "skipped_pulses": formed["skipped_pulses"],
        "non_finite_lines": compression.bad_lines(),
        "pulses": formed["pulses"],
        "timings_s": {"total": ended - begin, "set_up": built - begin, "run": ended - built,
                      **{name: block.work_seconds() for name, block in stages
                         if hasattr(block, "work_seconds")}},
        "range_bias_m": rec.acq.range_bias_m,
        "clock_offset_s": rec.used.get("clock_offset_s", 0.0),
        "lever_arm_m": rec.used.get("lever_arm_m", [0.0, 0.0, 0.0]),
        "window": window,
        "azimuth_window": rec.used.get("azimuth_window", "rect"),
        "interpolation": interpolation,
        "oversampling": oversampling,
        "quality": image_figures(image, grid),
        "images": sink.images,
        "image_file": sink.images[-1]["files"].get("npy"),
        "geometry": geometry_dict(rec, sink.images[-1]),
        "acquisition": plain(rec.acq.to_dict()),
        "used": plain(rec.used),
        "notes": list(rec.notes),
    }
    return image, report


def geometry_dict(rec, image=None):
    """What measuring a point target needs to know about the aperture of an image."""
    p = rec.tx if rec.rx is None else (rec.tx + rec.rx) / 2
    if image and image["pulses"]:
        first = image["first_pulse"] or 0
        p = p[first : first + image["pulses"]]
    return {"aperture_start_m": p[0].tolist(), "aperture_centre_m": p[len(p) // 2].tolist(),
            "aperture_end_m": p[-1].tolist(), "carrier_hz": rec.acq.centre_frequency_hz(),
            "bandwidth_hz": rec.acq.bandwidth_hz()}


def grid_dict(grid):
    return plain(grid.to_dict())


def plain(value):
    """Only what JSON knows: tuples, numpy numbers and complex numbers become lists, floats."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def image_figures(image, grid=None):
    """Figures of a whole image; definitions as in docs/accuracy.md."""
    magnitude = np.abs(image).astype(float)
    finite = np.isfinite(magnitude)
    values = magnitude[finite]
    out = {"pixels": int(magnitude.size), "non_finite_pixels": int((~finite).sum())}
    if not values.size or values.max() == 0:
        return dict(out, peak=0.0, note="the image is empty")
    at = np.unravel_index(np.argmax(np.where(finite, magnitude, -1)), magnitude.shape)
    power = values**2 / np.sum(values**2)
    power = power[power > 0]
    median = float(np.median(values))
    out.update(peak=float(values.max()),
               peak_db=20 * math.log10(values.max()),
               peak_pixel=[int(at[0]), int(at[1])],
               contrast=float(values.std() / values.mean()),
               entropy_nat=float(-np.sum(power * np.log(power))),
               peak_to_median_db=20 * math.log10(values.max() / median) if median else None)
    if grid is not None:
        out["peak_position_m"] = list(grid.position(*[float(v) for v in at]))
    return out


# ---- swapped I and Q --------------------------------------------------------------------


def swap_hint(rec, grid, image, options):
    """A sentence when the conjugate of the recording makes the better image, else "".

    Where something bright is known to be (targets, landmarks of the set), the level there is
    compared; otherwise contrast, on a small patch, when that of the image is low. Motion
    compensated phase history focuses as well when conjugated, turned by 180 degrees about
    the reference point: without a known place it cannot be told from the focus alone.
    """
    swapped = rec.select()
    inner = swapped._read
    swapped._read = lambda a, b: _conjugate_raw(inner(a, b))
    places = [p for p in rec.hints.get("landmarks", ())]
    places += [t["position_m"] for t in rec.hints.get("targets", ())
               if t.get("amplitude") is not None]
    inside = []
    for p in places:
        r, c = grid.index_of(tuple(p))
        if 0 <= r < grid.rows and 0 <= c < grid.cols:
            inside.append(p)
    keep = {k: options[k] for k in ("window", "interpolation", "accuracy", "oversampling",
                                    "backend", "device") if k in options}
    if inside:
        levels = [0.0, 0.0]
        reach = 8
        for p in inside[:3]:
            patch = _sar.image_grid.centred(
                tuple(p), grid.row_axis, grid.col_axis, grid.row_spacing_m, grid.col_spacing_m,
                2 * reach, 2 * reach)
            for k, r in enumerate((rec, swapped)):
                levels[k] += float(np.max(np.abs(focus(r, patch, **keep)[0])) ** 2)
        gain = 10 * math.log10(levels[1] / levels[0]) if levels[0] and levels[1] else 0.0
        if gain > 6:
            return (f"swap I/Q? the bright points known in this scene are {gain:.0f} dB stronger "
                    "in the image of the conjugate: try --swap-iq")
        return ""
    if rec.acq.range_reference == "point":
        return ""
    figures = image_figures(image)
    if figures.get("contrast", 0) > 1.5:
        return ""
    side = 256
    rows, cols = min(side, grid.rows), min(side, grid.cols)
    patch = _sar.image_grid.centred(grid.position(grid.rows / 2, grid.cols / 2), grid.row_axis,
                                    grid.col_axis, grid.row_spacing_m, grid.col_spacing_m, rows,
                                    cols)
    r0, c0 = (grid.rows - rows) // 2, (grid.cols - cols) // 2
    now = image_figures(image[r0 : r0 + rows, c0 : c0 + cols])
    other = image_figures(focus(swapped, patch, **keep)[0])
    if other.get("contrast", 0) > 1.3 * max(now.get("contrast", 0), 1e-9):
        return (f"swap I/Q? the conjugate focuses better in the middle of the scene (contrast "
                f"{other['contrast']:.2f} against {now['contrast']:.2f}): try --swap-iq")
    return ""


def _conjugate_raw(lines):
    return np.conj(lines)
