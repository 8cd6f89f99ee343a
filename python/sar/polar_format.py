# SPDX-License-Identifier: GPL-3.0-or-later
"""A spotlight recording to an image by polar format: the flowgraph behind
``gr_sar focus --algorithm pfa``.

    from gnuradio.sar.polar_format import polar_format
    image, report = polar_format(rec, grid)

recording_source -> polar_format_imager -> image_sink
"""

import math
import time

from gnuradio import gr

from . import sar_python as _sar
from .focus import (FocusError, _require_blocks, grid_report, replica_of, report_of,
                    run_flowgraph)
from .grids import phase_centres
from .image_sink import image_sink
from .recording_source import recording_source
from .sweeps import alignment


def polar_format(rec, grid, *, folder="", window="rect", azimuth_window="rect",
                 curvature="correct", backend="auto", device=0, pulses_per_image=0, hop=0,
                 annotate=False, align_sweeps=False, progress=None):
    """Form the image of a recording on a grid by polar format.

    curvature  of the wavefronts: "correct" (points are put back to where they are), "refuse"
               (likewise, and an error where they are defocused by more than pi/4 rad) or "warn"
               (points stay displaced)

    Returns (image complex64 (rows, cols), report dict), on the same grid the image of
    focus.focus() as far as wavefronts are planes. With pulses_per_image the newest image.
    ``align_sweeps``: FMCW: motion during the sweeps is taken out.
    ``progress`` is called with the number of pulses read so far. Raises FocusError with the
    stage's sentence where no image is right, RecordingError without positions.
    """
    phase_centres(rec)  # raises the sentence where there are none
    _require_blocks("polar_format_imager")
    begin = time.perf_counter()
    bistatic = rec.rx is not None
    source = recording_source(rec)
    former = _sar.polar_format_imager(
        rec.acq, grid, int(pulses_per_image) or rec.num_pulses, hop, window, azimuth_window,
        curvature, replica_of(rec), bistatic, backend, device)
    sink = image_sink(grid.cols, folder, annotate=annotate)
    tb = gr.top_block("gr_sar focus")
    middle = grid.position((grid.rows - 1) / 2, (grid.cols - 1) / 2)
    aligned, sweep_notes = alignment(rec, align_sweeps, point_m=middle)
    tb.connect(source, *[block for _, block in aligned], former, sink)
    tb.connect((source, 1), (former, 1))
    if bistatic:
        tb.connect((source, 2), (former, 2))
    stages = [("recording_source", source), *aligned, ("polar_format_imager", former), ("image_sink", sink)]
    built = time.perf_counter()
    run_flowgraph(tb, stages, progress, source.pulses_done)
    ended = time.perf_counter()
    image = sink.last_image()
    if image is None or not sink.images:
        raise FocusError("the flowgraph ended without an image")

    formed = former.report()
    phase, radius = formed["phase_error_rad"], formed["radius_m"]
    notes = list(rec.notes) + sweep_notes
    notes.append(
        f"wavefront curvature over the grid: points are displaced by up to "
        f"{formed['displacement_m']:.3g} m" + ("" if curvature == "warn" else ", put back")
        + f", and defocused by up to {phase:.3g} rad"
        + (f" (pi/4 at some {radius:.4g} m from its middle)" if math.isfinite(radius) else ""))
    if phase > math.pi / 4:
        notes.append("the rim of the image is defocused: use a smaller grid, fewer pulses, or "
                     "back-projection")
    own = grid_report(rec, grid, image, formed, sink)
    if azimuth_window != "rect":
        own["azimuth_window"] = azimuth_window
    return image, report_of(
        rec, "pfa", former, stages, sink, (begin, built, ended), notes, **own,
        curvature={"mode": curvature, "phase_error_rad": phase,
                   "displacement_m": formed["displacement_m"],
                   "radius_m": radius if math.isfinite(radius) else None,
                   "aperture_rad": formed["aperture_rad"], "range_m": formed["range_m"]},
        non_finite_lines=formed["bad_lines"], lattice=list(formed["lattice"]), window=window)
