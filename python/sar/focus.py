# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording to a focused image: the flowgraph behind ``gr_sar focus``.

    from gnuradio.sar.focus import focus
    image, report = focus(rec, grid)

recording_source -> pulse_compression -> bp_accumulator -> image_sink

    from gnuradio.sar.focus import range_doppler
    image, report = range_doppler(rec)

recording_source -> range_doppler_imager -> image_sink, or the same in stages. No positions are
needed, only an effective velocity; the image lies in slant-plane coordinates.
"""

import math
import threading
import time

import numpy as np
from gnuradio import blocks, gr

from . import sar_python as _sar
from .image_sink import image_sink
from .recording_source import recording_source
from .sweeps import alignment

C = _sar.speed_of_light

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


def _require_blocks(*names):
    for name in names:
        if not hasattr(_sar, name):
            raise FocusError(f"this build of gr-sar has no block {name}")


def report_of(rec, algorithm, former, stages, sink, moments, notes, **own):
    """What report.json says of any image, and ``own``, what this algorithm alone has to say.

    moments   time.perf_counter() of the call, of the flowgraph that was built, and of its end
    """
    begin, built, ended = moments
    description = former.backend()
    return {
        "input": rec.paths,
        "format": rec.kind,
        "algorithm": algorithm,
        "backend": description.split(":")[0].split(" ")[0],
        "device": description,
        "dropped_samples": rec.dropped_samples,
        "timings_s": {"total": ended - begin, "set_up": built - begin, "run": ended - built,
                      **{name: block.work_seconds() for name, block in stages
                         if hasattr(block, "work_seconds")}},
        "images": sink.images,
        "image_file": sink.images[-1]["files"].get("npy"),
        "used": plain(rec.used),
        "notes": notes,
        **own,
    }


def grid_report(rec, grid, image, formed, sink):
    """What reports say of an image on a grid, for report_of(); ``formed``: of the block."""
    return {
        "grid": grid_dict(grid),
        "skipped_pulses": formed["skipped_pulses"],
        "pulses": formed["pulses"],
        "range_bias_m": rec.acq.range_bias_m,
        "clock_offset_s": rec.used.get("clock_offset_s", 0.0),
        "lever_arm_m": rec.used.get("lever_arm_m", [0.0, 0.0, 0.0]),
        "azimuth_window": rec.used.get("azimuth_window", "rect"),
        "quality": image_figures(image, grid),
        "geometry": geometry_dict(rec, sink.images[-1]),
        "acquisition": plain(rec.acq.to_dict()),
    }


def _refuse_options(algorithm, interpolation, accuracy, oversampling):
    """Of focus(): what is set, and would be without effect."""
    given = {"interpolation": interpolation is not None, "accuracy": accuracy != "auto",
             "oversampling": bool(oversampling)}
    takes = {"bp": given, "pfa": (), "csa": ("oversampling", )}.get(algorithm, ("interpolation", "oversampling"))
    lost = [name for name in given if given[name] and name not in takes]
    if lost:
        raise FocusError(f"{', '.join(lost)} of focus() would do nothing: algorithm {algorithm} has no "
                         "such option; expected it not to be set, or algorithm bp")


def focus(rec, grid=None, *, algorithm="bp", folder="", window="rect", interpolation=None,
          accuracy="auto", oversampling=0, backend="auto", device=0, pulses_per_image=0, hop=0,
          annotate=False, align_sweeps=False, progress=None):
    """Form the image of a recording on a grid, by back-projection unless told otherwise.

    algorithm  "bp", one of range_doppler(), or "auto", see algorithms.choose(): with a grid
               among those that form images on it
    grid       None: for bp and pfa what grids.auto_grid() makes; the others have their own
    accuracy   of bp alone; oversampling not of pfa, interpolation not of pfa and csa

    Returns (image complex64 (rows, cols), report dict), whose "choice" says why "auto" chose. With
    pulses_per_image the newest image. ``align_sweeps``: FMCW: motion during the sweeps is taken
    out. ``progress`` is called with the number of pulses read so far.
    """
    from .grids import auto_grid, phase_centres

    reasons = None
    if algorithm != "bp":
        from . import algorithms

        choice = algorithms.choose(
            rec, algorithm, plane="ground" if grid is not None or accuracy != "auto" else None, grid=grid,
            without=["pfa"] if interpolation or accuracy != "auto" or oversampling else [])
        reasons = choice.reasons
        _refuse_options(choice.algorithm, interpolation, accuracy, oversampling)
        if choice.algorithm in DOPPLER_ALGORITHMS:
            if grid is not None:
                raise FocusError(f"grid is given, and algorithm {choice.algorithm} has its own, in "
                                 "the slant plane; expected None, or algorithm bp")
            more = {} if interpolation is None else {"interpolation": interpolation}
            image, report = range_doppler(
                rec, algorithm=choice.algorithm, folder=folder, window=window,
                oversampling=oversampling, backend=backend, device=device, lines=pulses_per_image,
                hop=hop, annotate=annotate, align_sweeps=align_sweeps, progress=progress, **more)
            report["choice"] = reasons
            return image, report
        grid = choice.grid
        if choice.algorithm == "pfa":
            from .polar_format import polar_format

            image, report = polar_format(
                rec, grid or auto_grid(rec)[0], folder=folder, window=window, backend=backend,
                device=device, pulses_per_image=pulses_per_image, hop=hop, annotate=annotate,
                align_sweeps=align_sweeps, progress=progress)
            report["choice"] = reasons
            return image, report
    interpolation = interpolation or "sinc8"
    phase_centres(rec)  # raises the sentence where there are no positions
    if grid is None:
        grid, _ = auto_grid(rec)
    _require_blocks("pulse_compression", "bp_accumulator")
    begin = time.perf_counter()
    oversampling = int(oversampling) or choose_oversampling(rec.acq, interpolation)
    bistatic = rec.rx is not None
    source = recording_source(rec)
    compression = _sar.pulse_compression(rec.acq, oversampling, window, replica_of(rec), backend,
                                         device)
    former = _sar.bp_accumulator(rec.acq, grid, oversampling, interpolation, accuracy,
                                 pulses_per_image, hop, bistatic, backend, device)
    sink = image_sink(grid.cols, folder, annotate=annotate)
    middle = grid.position((grid.rows - 1) / 2, (grid.cols - 1) / 2)
    aligned, sweep_notes = alignment(rec, align_sweeps, point_m=middle)
    tb = gr.top_block("gr_sar focus")
    tb.connect(source, *[block for _, block in aligned], compression, former, sink)
    tb.connect((source, 1), (former, 1))
    if bistatic:
        tb.connect((source, 2), (former, 2))
    stages = [("recording_source", source), *aligned, ("pulse_compression", compression),
              ("bp_accumulator", former), ("image_sink", sink)]
    built = time.perf_counter()
    run_flowgraph(tb, stages, progress, source.pulses_done)
    ended = time.perf_counter()
    image = sink.last_image()
    if image is None:
        raise FocusError("the flowgraph ended without an image")

    formed = former.report()
    return image, report_of(
        rec, "bp", former, stages, sink, (begin, built, ended), list(rec.notes) + sweep_notes,
        **grid_report(rec, grid, image, formed, sink),
        accuracy={"mode": accuracy, "used": formed["accuracy_used"],
                  "phase_error_bound_rad": formed["phase_bound_rad"],
                  "meaning": ACCURACY_TEXT[accuracy]},
        outside_pixels=formed["outside_pixel_pulses"], non_finite_lines=compression.bad_lines(),
        window=window, interpolation=interpolation, oversampling=oversampling,
        **({} if reasons is None else {"choice": reasons}))


# ---- range-Doppler ----------------------------------------------------------------------


def unevenness(rec):
    """Why the pulses of a recording are not evenly spaced, a sentence, or ""."""
    off = np.abs(rec.times_s - rec.times_s[0] - np.arange(rec.num_pulses) / rec.acq.prf_hz)
    if off.max() <= 0.5 / rec.acq.prf_hz:
        return ""
    k = int(np.argmax(off > 0.5 / rec.acq.prf_hz))
    return (f"pulse {k} is {off[k] * rec.acq.prf_hz:.3g} pulses away from even spacing, which "
            "range-Doppler needs; choose an even stretch (start, stop), or back-projection")


def beam_doppler_hz(acq, hints):
    """Doppler frequencies (lowest, highest) of the recording's antenna beam at the carrier, or
    None when it says nothing of it."""
    if "beam_rad" not in hints or not acq.effective_velocity_m_s:
        return None
    middle, half = hints.get("beam_squint_rad", 0.0), hints["beam_rad"] / 2
    scale = 2 * acq.effective_velocity_m_s / acq.wavelength_m()
    return scale * math.sin(middle - half), scale * math.sin(middle + half)


def choose_bandwidth(acq, hints):
    """Doppler bandwidth to process, Hz (0: the PRF), and a sentence or "".

    Where the beam is known: nine tenths of the band, around the centroid, in which the target
    is seen at every frequency of the pulse; then the edges of the aperture are the processor's,
    the band is flat, and a unit point has peak 1.
    """
    beam = beam_doppler_hz(acq, hints)
    if beam is None:
        return 0.0, ""
    b = acq.bandwidth_hz() / 2 / acq.centre_frequency_hz()
    low = max(beam[0] * (1 - b), beam[0] * (1 + b))
    high = min(beam[1] * (1 - b), beam[1] * (1 + b))
    band = 0.9 * 2 * min(acq.doppler_centroid_hz - low, high - acq.doppler_centroid_hz)
    if not 0 < band < acq.prf_hz:
        return 0.0, ""
    return band, (f"azimuth bandwidth {band:.4g} Hz: nine tenths of what the beam of "
                  f"{hints['beam_rad']:.4g} rad gives at every frequency of the pulse")


def choose_fft_length(acq, lines, bandwidth_hz=0.0, geometry="zero_doppler", oversampling=1):
    """Smallest fast length in which nothing wraps: the lines, the aperture, and in zero-Doppler
    geometry what the times of the beam differ over the swath."""
    plan = _sar.range_doppler_plan(acq, lines, 0, oversampling, geometry)
    skew = 0.0
    if geometry == "zero_doppler":
        delay = plan.columns()["beam_delay_s"]
        skew = 2 * np.abs(delay - delay[len(delay) // 2]).max() * acq.prf_hz
    return _sar.fast_fft_length(lines + plan.aperture_lines(bandwidth_hz) + math.ceil(skew))


def complete_cells(acq, frame, bandwidth_hz=0.0):
    """Columns [first, stop) of a range-Doppler image to which whole pulses belong, over the
    whole aperture; all columns when there are none."""
    pulse = acq.pulse_samples() if acq.waveform == "pulsed_lfm" else 0
    scale = frame.cols // acq.samples
    before = pulse // 2 if acq.pulse_reference == "centre" else 0
    first, last = before * scale, frame.cols - max(1, pulse - before) * scale
    near, far = frame.line_first_m + frame.spacing_m * np.array([first, last]) - frame.bias_m
    # a closest range is read where it migrates to, R0 / D, at both ends of the Doppler band
    half = (bandwidth_hz or frame.prf_hz) / 2
    edge = np.array([max(abs(frame.centroid_hz) - half, 0.0), abs(frame.centroid_hz) + half])
    d = np.sqrt(1 - (edge * C / (2 * frame.velocity_m_s * frame.carrier_hz)) ** 2)
    scale = 1.0 if frame.geometry == "zero_doppler" else frame.factor
    a = math.ceil((near * d[0] / scale - frame.out_first_m) / frame.spacing_m)
    b = math.floor((far * d[1] / scale - frame.out_first_m) / frame.spacing_m) + 1
    return (max(0, a), min(frame.cols, b)) if a < b else (0, frame.cols)


def estimate_centroid(rec, lines=0, *, window="rect", oversampling=1, order=0, backend="auto", device=0):
    """Doppler centroid of a recording, estimated from the echoes of its first ``lines`` lines:
    a dict with doppler_centroid_hz (coefficients), standard_error_hz, ambiguity_confidence ..."""
    _require_blocks("pulse_compression", "doppler_centroid")
    lines = lines or rec.num_pulses
    source = recording_source(rec.select(0, lines))
    compression = _sar.pulse_compression(rec.acq, oversampling, window, replica_of(rec), backend,
                                         device)
    estimator = _sar.doppler_centroid(rec.acq, lines, oversampling, [], order, backend, device)
    end = blocks.null_sink(gr.sizeof_gr_complex * rec.acq.samples * oversampling)
    tb = gr.top_block("gr_sar doppler centroid")
    tb.connect(source, compression, estimator, end)
    run_flowgraph(tb, [("recording_source", source), ("pulse_compression", compression),
                       ("doppler_centroid", estimator)])
    found = estimator.estimates()
    if not found:
        raise FocusError("doppler_centroid: the flowgraph ended without an estimate")
    return found[0]


def replica_of(rec):
    return [] if rec.replica is None else [complex(v) for v in rec.replica]


def with_centroid(acq, coefficients_hz):
    """The acquisition with another Doppler centroid: coefficients over range, lowest first."""
    c = [float(v) for v in np.atleast_1d(coefficients_hz)]
    return acq.replace(doppler_centroid_hz=c[0], doppler_centroid_slopes=c[1:])


# Algorithms of the Doppler domain: the stage that straightens rows, and the imager.
DOPPLER_ALGORITHMS = {"rda": ("rcmc", "range_doppler_imager"),
                      "omegak": ("stolt", "omega_k_imager"),
                      "csa": ("chirp_scaling", "chirp_scaling_imager")}


def range_doppler(rec, *, algorithm="rda", folder="", window="rect", azimuth_window="rect",
                  azimuth_bandwidth_hz=None, interpolation="exact", src=True,
                  geometry="zero_doppler", looks=1, doppler_centroid=None, fft_length=0,
                  oversampling=1, stages=False, storage="single", valid_only=False, backend="auto",
                  device=0, lines=0, hop=0, annotate=False, align_sweeps=False, progress=None):
    """Form the image of a recording in the Doppler domain; positions are not needed.

    algorithm             "rda" (range-Doppler), "omegak" (wavenumber; src is always exact) or
                          "csa" (chirp scaling; no interpolation, src always)
    azimuth_bandwidth_hz  Doppler band processed; 0: the PRF; None: see choose_bandwidth()
    doppler_centroid      None: the recording's; number or list of coefficients in slant range
                          minus that of the first sample, lowest first, Hz; "estimate"
    fft_length            0: so long that nothing wraps, see choose_fft_length()
    oversampling          0: 1, and for omegak what the band needs that the mapping makes
    stages                as a chain of stages instead of the fused imager: the same image
    valid_only            only the rows whose whole aperture was recorded
    lines, hop            frames of so many lines, each ``hop`` lines after the one before:
                          one strip of images without a seam; 0: one frame of all

    align_sweeps          FMCW: motion during the sweeps is taken out, around the Doppler centroid

    Returns (image (rows, cols), report dict): complex64, with looks their magnitude, float32.
    With several frames the newest image.
    """
    begin = time.perf_counter()
    if algorithm not in DOPPLER_ALGORITHMS:
        raise FocusError(f"algorithm is '{algorithm}'; expected one of: "
                         + ", ".join(DOPPLER_ALGORITHMS))
    migration_name, imager_name = DOPPLER_ALGORITHMS[algorithm]
    migration = {"rda": [interpolation, src], "omegak": [interpolation], "csa": []}[algorithm]
    if algorithm == "csa" and stages and doppler_centroid == "estimate":
        raise FocusError("doppler_centroid is estimated from compressed lines, and chirp scaling "
                         "takes raw ones; expected the fused chain (stages=False)")
    notes = list(rec.notes)
    acq = rec.acq
    if acq.effective_velocity_m_s <= 0:
        raise FocusError("the recording has no effective velocity, which range-Doppler needs; "
                         "give effective_velocity_m_s=...")
    uneven = unevenness(rec)
    if uneven:
        raise FocusError(uneven)
    centroid_from, estimate = "recording", None
    if isinstance(doppler_centroid, str):
        if doppler_centroid != "estimate":
            raise FocusError(f"doppler_centroid is '{doppler_centroid}'; expected a number of Hz, "
                             "coefficients, or estimate")
        centroid_from = "estimate"
    elif doppler_centroid is not None:
        centroid_from = "given"
        acq = with_centroid(acq, doppler_centroid)
    if storage != "single" and not stages:
        raise FocusError(f"storage is '{storage}', but the fused imager stores nothing between "
                         "stages; expected single, or stages")
    lines = int(lines) or rec.num_pulses
    if centroid_from == "estimate" and not stages:
        estimate = estimate_centroid(rec, lines, window=window, oversampling=oversampling or 1,
                                     backend=backend, device=device)
        acq = with_centroid(acq, estimate["doppler_centroid_hz"])
    if azimuth_bandwidth_hz is None:
        azimuth_bandwidth_hz, why = choose_bandwidth(acq, rec.hints)
        if why:
            notes.append(why)
    if not oversampling:
        oversampling = 1
        if algorithm == "omegak":
            band = _sar.mapped_band(_sar.range_doppler_plan(acq, lines, fft_length, 1, geometry))
            # the ends of a chirp's spectrum are stretched as well: cut off by more than a tenth
            # the side lobes are 0.3 dB off
            oversampling = max(band["oversampling"],
                               math.ceil(band["needed_hz"] / (1.1 * acq.bandwidth_hz())))
        if oversampling > 1:
            notes.append(f"oversampling {oversampling}: cells hold the band that the Stolt mapping "
                         "makes")
    if not fft_length:
        fft_length = choose_fft_length(acq, lines, azimuth_bandwidth_hz, geometry, oversampling)
        notes.append(f"azimuth transform of {fft_length} rows for {lines} lines: nothing wraps"
                     + (" at the recording's Doppler centroid" if stages and
                        centroid_from == "estimate" else ""))
    output = "valid" if hop or valid_only else "all"

    source = recording_source(rec)
    aligned, sweep_notes = alignment(rec, align_sweeps, acq)
    notes += sweep_notes
    chain = [("recording_source", source), *aligned]
    if stages:
        _require_blocks("pulse_compression", "azimuth_fft", migration_name, "azimuth_filter",
                        *(["doppler_centroid"] if centroid_from == "estimate" else []))
        if algorithm != "csa":
            chain.append(("pulse_compression", _sar.pulse_compression(
                acq, oversampling, window, replica_of(rec), backend, device)))
        if centroid_from == "estimate":
            chain.append(("doppler_centroid", _sar.doppler_centroid(
                acq, lines, oversampling, [], 0, backend, device)))
        chain += [
            ("azimuth_fft", _sar.azimuth_fft(
                acq, lines, fft_length, hop, 1 if algorithm == "csa" else oversampling, "forward",
                storage, backend, device)),
            (migration_name, getattr(_sar, migration_name)(
                acq, lines, fft_length, oversampling,
                *([window] if algorithm == "csa" else migration), geometry, storage, backend,
                device)),
            ("azimuth_filter", _sar.azimuth_filter(
                acq, lines, fft_length, oversampling, azimuth_window, azimuth_bandwidth_hz, looks,
                geometry, output, hop, storage, backend, device))]
    else:
        if storage != "single":
            raise FocusError(f"storage is '{storage}': that is for the edges between stages, and "
                             "the imager has none; expected single, or stages")
        _require_blocks(imager_name)
        chain.append((imager_name, getattr(_sar, imager_name)(
            acq, lines, fft_length, hop, oversampling, window,
            *([] if algorithm == "csa" else [replica_of(rec), *migration]), azimuth_window, azimuth_bandwidth_hz, looks, geometry, output, backend, device)))
    former = chain[-1][1]
    cols = acq.samples * oversampling
    if looks > 1:
        chain.append(("detect", _sar.detect(cols, "magnitude", looks, 1, backend, device)))
    sink = image_sink(cols, folder, dtype="float" if looks > 1 else "complex", annotate=annotate)
    chain.append(("image_sink", sink))
    tb = gr.top_block("gr_sar focus")
    tb.connect(*[block for _, block in chain])
    built = time.perf_counter()
    run_flowgraph(tb, chain, progress, source.pulses_done)
    ended = time.perf_counter()
    image = sink.last_image()
    if image is None or not sink.images:
        raise FocusError(
            f"the flowgraph ended without an image: {rec.num_pulses} pulses, frames of {lines}")
    if centroid_from == "estimate" and stages:
        estimate = dict(chain)["doppler_centroid"].estimates()[-1]
        acq = with_centroid(acq, estimate["doppler_centroid_hz"])
    if estimate is not None:
        notes.append(
            f"Doppler centroid estimated: {estimate['doppler_centroid_hz'][0]:.1f} Hz; "
            f"{estimate['baseband_hz']:.1f} +- {estimate['standard_error_hz']:.1f} Hz within a PRF, "
            f"and {estimate['ambiguity']} PRFs with confidence "
            f"{estimate['ambiguity_confidence']:.2f} ({estimate['method']})")
    said = sink.images[-1]
    used = said.get("doppler_centroid_hz")
    coefficients = [acq.doppler_centroid_hz, *acq.doppler_centroid_slopes]
    if used is None:
        used = coefficients
    plan = _sar.range_doppler_plan(acq, lines, fft_length, oversampling, geometry)
    grid = _sar.image_grid(**said["grid"])
    notes.append(f"slant-plane coordinates: x along the track, 0 at the first line, y the "
                 f"{'closest' if geometry == 'zero_doppler' else 'slant'} range")
    first, stop = complete_cells(acq, plan.frame, azimuth_bandwidth_hz)
    valid_first, valid = plan.valid_rows(azimuth_bandwidth_hz)
    rows = (slice(valid_first, valid_first + valid)
            if output == "all" and valid > 0 and len(image) == plan.frame.rows
            else slice(0, len(image)))
    quality = image_figures(image[rows, first:stop])
    if quality.get("peak"):
        i, j = (p + q for p, q in zip(quality["peak_pixel"], (rows.start, first)))
        quality.update(peak_pixel=[i, j], peak_position_m=list(grid.position(float(i), float(j))))
    quality["rows"] = [rows.start, rows.stop]
    quality["cols"] = [first, stop]
    bad = [block.bad_lines() for _, block in chain if hasattr(block, "bad_lines")]
    return image, report_of(
        rec, algorithm, former, chain, sink, (begin, built, ended), notes,
        chain="stages" if stages else "fused",
        grid=grid_dict(grid),
        doppler_centroid={"hz": [float(v) for v in np.atleast_1d(used)], "from": centroid_from,
                          "prfs": float(np.atleast_1d(used)[0]) / acq.prf_hz,
                          "estimate": plain(estimate)},
        frame={"lines": lines, "hop": hop, "fft_length": plan.frame.rows,
               "first_row": plan.frame.first_row, "output": output,
               "aperture_lines": plan.aperture_lines(azimuth_bandwidth_hz),
               "valid_rows": [valid_first, valid]},
        non_finite_lines=max(bad) if bad else 0, pulses=said["pulses"],
        range_bias_m=acq.range_bias_m, window=window, azimuth_window=azimuth_window,
        azimuth_bandwidth_hz=azimuth_bandwidth_hz, interpolation=interpolation, src=bool(src),
        looks=looks, storage=storage, oversampling=oversampling, quality=quality,
        geometry={
            "plane": "slant", "image": geometry,
            "carrier_hz": acq.centre_frequency_hz(), "bandwidth_hz": acq.bandwidth_hz(),
            "prf_hz": acq.prf_hz, "doppler_bandwidth_hz": azimuth_bandwidth_hz,
            "slant_range_first_m": acq.slant_range_first_m - acq.range_bias_m,
            "velocity_m_s": [acq.effective_velocity_m_s, *acq.effective_velocity_slopes],
            "centroid_hz": [float(v) for v in np.atleast_1d(used)],
            "beam_doppler_hz": beam_doppler_hz(acq, rec.hints),
            "track_m": [plan.frame.velocity_m_s / acq.prf_hz * n for n in
                        (0.0, rec.num_pulses - 1.0)]},
        acquisition=plain(acq.to_dict()))


def focus_hint(rec, report, options):
    """A sentence when a range-Doppler image is not focused, else "".

    Below a contrast of 1 (speckle alone has 0.52; a scene in focus, with anything in it, more)
    the conjugate samples and the opposite sign of the chirp rate are tried.
    """
    contrast = report["quality"].get("contrast")
    if contrast is None or contrast >= 1.0:
        return ""
    keep = {k: v for k, v in options.items() if k not in ("folder", "annotate", "progress")}
    swapped = rec.select()
    inner = swapped._read
    swapped._read = lambda a, b: _conjugate_raw(inner(a, b))
    tries = [("swap I/Q? the conjugate of the samples", "--swap-iq", swapped)]
    if rec.acq.chirp_rate_hz_per_s:
        rate = -rec.acq.chirp_rate_hz_per_s
        tries.append(("wrong sign of the chirp rate? the opposite one",
                      f"--set chirp_rate_hz_per_s={rate:.9g}",
                      rec.replaced(chirp_rate_hz_per_s=rate)))
    best = max(((range_doppler(r, **keep)[1]["quality"].get("contrast") or 0.0, text, flag)
                for text, flag, r in tries))
    if best[0] > 1.3 * contrast:
        return (f"{best[1]} focuses better (contrast {best[0]:.2f} against {contrast:.2f}): try "
                f"{best[2]}")
    return (f"not focused? the contrast is {contrast:.2f}; speckle alone has 0.52, and neither the "
            "conjugate nor the other sign of the chirp rate is better: check effective velocity, "
            "Doppler centroid and slant range, unless the scene is uniform")


# ---- what reports hold ------------------------------------------------------------------


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
