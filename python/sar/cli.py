# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: ``gr_sar simulate | info | focus | measure | plot | calibrate | convert |
demo | doctor``."""

import argparse
import json
import os
import re
import sys
import traceback

from . import doctor
from . import sar_python as _sar
from .build_info import VERSION
from .image_sink import can_annotate

DESCRIPTION = """\
Synthetic-aperture-radar images out of recordings, by GNU Radio flowgraphs on CPU or GPU.

  gr_sar simulate scene                      write a simulated recording, scene.sigmf-*
  gr_sar info scene.sigmf-meta               say what is known about it
  gr_sar focus scene.sigmf-meta -o out       form the image: out/image.npy, .png, report.json
  gr_sar measure out                         compare targets with where they were put
  gr_sar plot out -o image.png               draw the image, or cuts; or a recording

All lengths are metres, times seconds, frequencies hertz. Exit status: 0 done, 1 failed or a
target FAILs, 2 wrong usage.
"""

FOCUS_TEXT = """\
Form an image. Back-projection (bp) takes any flight path: antenna positions are needed
(<name>.nav.csv beside a SigMF recording, the fields of GOTCHA files, platform.csv of the rail
set). Polar format (pfa) needs them too and makes the same image of a spotlight aperture, faster, of
scenes so small that wavefronts over them are nearly plane. Range-Doppler (rda) takes a straight one and needs no positions, but an effective velocity;
so do the wavenumber algorithm (omegak), exact for wide bands, wide beams and squint, and chirp
scaling (csa), which interpolates nothing.
Several files of one collection (the degrees of GOTCHA) are one aperture.
"""

FOCUS_EPILOG = """\
examples:
  gr_sar focus flight.sigmf-meta -o out
  gr_sar focus data_3dsar_pass1_az00?_HH.mat -o gotcha --window hann --azimuth-window hann
  gr_sar focus p440_uwb_rail -o rail --clock-offset 9.28 --range-bias 0.46
  gr_sar focus flight.sigmf-meta -o out --centre 20,35 --size 60 --spacing 0.1
  gr_sar focus data_3dsar_pass1_az00?_HH.mat -o polar --algorithm pfa
  gr_sar focus english_bay_ships.sigmf-meta -o bay --window 'kaiser(2.5)' \\
      --azimuth-window 'kaiser(2.5)'
  gr_sar focus strip.sigmf-meta -o out --algorithm rda --doppler-centroid estimate
  gr_sar focus squinted.sigmf-meta -o out --algorithm omegak --oversampling 2
  cat iq.cf32 | gr_sar focus - --meta flight.sigmf-meta --positions flight.nav.csv -o out

algorithm (--algorithm): auto compares what each would leave of this recording, from bandwidth,
beam, squint, swath and flight, with 0.05 rad of phase for a point and pi / 8 at the edges of its band,
and takes the first that fits of rda, csa, omegak and bp; a line an algorithm says why. Where the
positions are not already along a slant plane (x along the track, y = z = 0), bp and pfa alone have
images in their coordinates, and pfa comes first where bp would have more than 2e10 pixels times
pulses; an option of the Doppler domain asks for the others. docs/algorithms.md

accuracy (--accuracy): how ranges, and so phases, are computed; errors are the largest of
the image against a float64 reference, below its peak
  exact  range of every pixel and pulse in double: at most -80 dB
  fast   range expanded to third order over tiles of 32 x 32 pixels: at most -80 dB when the
         antenna is far from the scene, as GOTCHA's 10 km; grows when it is near, to -45 dB at a
         phase error of 0.01 rad, and without limit closer than that
  auto   (default) fast for those pulses whose proved phase error in this very geometry stays
         below 0.01 rad, exact for the others; the bound that held is in report.json

interpolation (--interpolation): nearest, linear, sinc8 (bp's default), sinc16; rda also exact
(default: least-squares taps on a grid of twice the samples) and fixed (16-bit positions)

curvature (--curvature): what polar format does about wavefronts that are no planes. They displace
points, and defocus those farther than some rho sqrt(2 R / wavelength) from the middle (rho:
cross-range resolution, R: range); both are computed from the positions and said
  correct  (default) points are put back to where they are
  refuse   likewise, and an error where a point is defocused by more than pi/4
  warn     points stay displaced

range-Doppler (--algorithm rda): the image lies in the slant plane, x = effective velocity times
time along the track (0 at the first pulse), y = closest range; a Doppler centroid of many PRFs is
taken as it is. --stages runs the chain pulse_compression, azimuth_fft, rcmc, azimuth_filter in
place of the fused imager: the same image. docs/range_doppler.md has the theory.

backend (--backend): auto uses a CUDA GPU when a usable one and a build for it are there, else
the CPU, and says which; cuda fails with the reason when it cannot.

output: image.npy complex64 (rows, cols), a unit point has magnitude 1; image.png in dB, the
same orientation, first row on top; report.json with all choices, counts, times and figures.
Pixel (i, j) sits at origin_m + i row_spacing_m row_axis + j col_spacing_m col_axis.
"""


# ---- arguments --------------------------------------------------------------------------


def _numbers(counts, what):
    def parse(text):
        try:
            values = [float(v) for v in text.replace(" ", "").split(",")]
        except ValueError:
            values = []
        if len(values) not in counts:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return values

    return parse


def _setting(text):
    key, sep, value = text.partition("=")
    if not sep:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    try:
        parsed = json.loads(value)
    except json.JSONDecodeError:
        parsed = value
    return key.strip(), parsed


def _target(text):
    parts = text.replace(" ", "").split(",")
    try:
        v = [float(p) for p in parts]
    except ValueError:
        v = []
    if not 2 <= len(v) <= 5:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not x,y[,z[,amplitude[,phase in degrees]]]")
    v += [0.0, 1.0, 0.0][len(v) - 2 :]
    import cmath
    import math

    return {"position_m": tuple(v[:3]), "amplitude": v[3] * cmath.exp(1j * math.radians(v[4]))}


# Options of reading that open_recording() has under the same name.
READING = ("meta", "datatype", "positions", "positions_origin", "clock_offset_s", "lever_arm_m",
           "swap_iq", "conjugate", "channel", "channels", "real", "iq_files", "capture", "header_bytes", "autofocus",
           "subtract_mean", "keep_standstill", "frequency_response")


def _reading(p, many=True):
    p.add_argument("input", nargs="+" if many else None, metavar="INPUT",
                   help="recording: SigMF, WAV, .npy, raw IQ, TI adc_data.bin, GOTCHA .mat (one or "
                        "more), P440 rail folder (docs/files.md), or - for standard input")
    g = p.add_argument_group("reading")
    g.add_argument("--meta", metavar="FILE", help="metadata (.sigmf-meta) for a file that "
                   "has none, or not all")
    g.add_argument("--datatype", metavar="TYPE", help="SigMF data type of raw IQ: cf32_le, "
                   "ci16_le, ci8 ... (the number is the width of one component)")
    g.add_argument("--positions", metavar="FILE", help="navigation file in place of "
                   "<name>.nav.csv: CSV with columns time_s or pulse, x_m, y_m, z_m; or a log of "
                   "NMEA sentences (GGA, RMC), whose clock offset is the time of day (UTC, s) of "
                   "radar time 0")
    g.add_argument("--origin", dest="positions_origin", type=_numbers((3,), "latitude, longitude, height"),
                   metavar="LAT,LON,H", help="NMEA: degrees and metres of local zero; x is east, y north, "
                   "z up of it (the first fix)")
    g.add_argument("--set", metavar="NAME=VALUE", type=_setting, action="append", default=[],
                   help="a parameter of the acquisition the file lacks or has wrong, such as "
                   "prf_hz=1200")
    g.add_argument("--range-bias", type=float, metavar="M", help="measured minus true range, m "
                   "(cables, trigger); sharpness does not show it, positions do")
    g.add_argument("--clock-offset", dest="clock_offset_s", type=float, metavar="S",
                   help="navigation time minus radar time, s")
    g.add_argument("--lever-arm", dest="lever_arm_m", type=_numbers((3,), "three metres"), metavar="A,R,U",
                   help="antenna minus navigation point: along track, right, up, m")
    g.add_argument("--swap-iq", action="store_true",
                   help="exchange I and Q (recordings of the other sign convention)")
    g.add_argument("--conjugate", action="store_true", help="change the sign of Q")
    g.add_argument("--channel", type=int, metavar="N", help="receiver, from 0, of a file with "
                   "several; with --real: channel")
    g.add_argument("--channels", type=int, metavar="N", help="channels side by side in raw IQ")
    g.add_argument("--real", action="store_true", help="real samples: one channel of a WAV file, "
                   "not two as I and Q")
    g.add_argument("--iq-files", action="store_true", help="the two files given are I and Q")
    g.add_argument("--capture", type=int, metavar="N", help="SigMF: this capture segment alone, "
                   "from 0")
    g.add_argument("--header-bytes", type=int, metavar="N", help="of raw IQ, before the samples")
    g.add_argument("--ti", metavar="NAME=VALUE", type=_setting, action="append", default=[],
                   help="of a capture by TI's DCA1000: device=xwr1843, num_adc_samples=256, "
                   "num_rx=4, num_tx=1 ... (docs/files.md)")
    g.add_argument("--autofocus", action="store_true", help="GOTCHA: apply the corrections in the "
                   "files (range and phase together)")
    g.add_argument("--subtract-mean", action=argparse.BooleanOptionalAction, default=None,
                   help="subtract the mean line, which removes what does not move (default: only "
                   "for the rail set and planar scans)")
    g.add_argument("--frequency-response", metavar="FILE", help="of the radar, taken off lines over "
                   "frequency: columns frequency_hz, phase_rad, magnitude (gr_sar response)")
    g.add_argument("--keep-standstill", action="store_true",
                   help="rail set: keep scans before and after the run")
    g.add_argument("--start", metavar="N|Ts", help="first pulse, or time such as 3.9s")
    g.add_argument("--stop", metavar="N|Ts", help="pulse to stop before, or time such as 8.3s")


def _given(args):
    """Options of reading as arguments of open_recording()."""
    given = {**dict(args.set), **{n: getattr(args, n) for n in READING}}
    given["ti"] = dict(args.ti) or None
    if args.range_bias is not None:
        given["range_bias_m"] = args.range_bias
    for name in ("start", "stop"):
        text = getattr(args, name)
        if text is None:
            continue
        try:
            if text.endswith("s"):
                given[name + "_s"] = float(text[:-1])
            else:
                given[name] = int(text)
        except ValueError:
            raise ValueError(f"--{name} is '{text}'; expected a pulse number or seconds such as "
                             "3.9s") from None
    return given


def _open(args, **more):
    from .recordings import open_recording

    inputs = args.input if isinstance(args.input, list) else [args.input]
    return open_recording(inputs, **_given(args), **more)


class _progress:
    """A bar on a terminal, nothing with --quiet or into a file."""

    def __init__(self, total, unit, quiet, text):
        self.bar = None
        self.done = 0
        if not quiet and sys.stderr.isatty():
            try:
                from tqdm import tqdm

                self.bar = tqdm(total=total, unit=unit, desc=text, leave=False)
            except ImportError:
                print(f"{text}: {total} {unit}", file=sys.stderr)

    def __call__(self, done):
        if self.bar is not None and done > self.done:
            self.bar.update(done - self.done)
            self.done = done

    def close(self):
        if self.bar is not None:
            self.bar.close()


def _say(args, text):
    if not args.quiet:
        print(text)


# ---- subcommands ------------------------------------------------------------------------


def do_simulate(args):
    from . import simulate as sim

    spotlight = args.mode == "spotlight"
    chosen = dict(carrier_hz=args.carrier, bandwidth_hz=args.bandwidth,
                  pulse_length_s=args.pulse_length, prf_hz=args.prf, pulses=args.pulses,
                  slant_range_m=args.range, speed_m_s=args.speed, squint_deg=args.squint,
                  chirp=args.chirp)
    own = dict(altitude_m=args.altitude, look_side=args.look, scene_m=args.scene)
    other = dict(beam_rad=args.beam, swath_m=args.swath)
    if not spotlight:
        own, other = other, own
    for name, value in other.items():
        if value is not None:
            flag = "--" + re.sub("_(m|rad|side)$", "", name)
            raise ValueError(f"{flag} has no meaning for --mode {args.mode}")
    chosen = {k: v for k, v in {**chosen, **own}.items() if v is not None}
    acq, track, hints = (sim.spotlight if spotlight else sim.stripmap)(**chosen)
    pulses = chosen.get("pulses", sim.PULSES[args.mode])
    targets = sim.DEFAULT_TARGETS if spotlight else sim.stripmap_targets(hints)
    if args.target:
        targets = [dict(t, name=f"T{i + 1}") for i, t in enumerate(args.target)]
        if not spotlight:  # given from the scene's centre
            targets = sim.stripmap_targets(hints, [
                dict(t, offset_m=t["position_m"]) for t in targets])
    bar = _progress(pulses, "pulses", args.quiet, "simulating")
    try:
        meta = sim.simulate(args.output, acq, track, targets, pulses,
                            noise_power=0.0 if args.noise is None else 10 ** (args.noise / 10),
                            seed=args.seed, hints=hints, datatype=args.datatype, progress=bar)
    finally:
        bar.close()
    _say(args, f"{meta}: {pulses} pulses of {acq.samples} samples, {len(targets)} targets")
    if not spotlight:
        _say(args, f"  beam {hints['beam_rad']:.4g} rad, Doppler centroid "
                   f"{acq.doppler_centroid_hz:.2f} Hz, {acq.doppler_centroid_hz / acq.prf_hz:.2f} "
                   "PRFs")
    for t in targets:
        x, y, z = t["position_m"]
        _say(args, f"  {t['name']:<12} ({x:.2f}, {y:.2f}, {z:.2f}) m, amplitude "
                   f"{abs(t['amplitude']):.2f}")
    return 0


def do_info(args):
    from .describe import describe, text

    d, rec = describe(args.input, tokens=args.given, **_given(args))
    if args.json:
        from .focus import plain

        print(json.dumps(plain(d), indent=1))
        return 0
    for line in text(d, rec):
        print(line)
    return 0


def _grid(args, rec):
    from .grids import auto_grid
    from .measure import grid_of

    if args.grid is not None:
        if os.path.exists(args.grid):
            with open(args.grid, encoding="utf-8") as f:
                d = json.load(f)
            return grid_of(d.get("grid", d)), [f"grid from {args.grid}"]
        try:
            bounds = _numbers((4,), "")(args.grid)
        except argparse.ArgumentTypeError:
            raise ValueError(f"--grid is '{args.grid}'; expected x0,x1,y0,y1 in metres, or a "
                             "report.json") from None
    else:
        bounds = None

    def pair(v):
        return None if v is None else v[0] if len(v) == 1 else tuple(v)

    return auto_grid(rec, centre=args.centre, size=pair(args.size), spacing=pair(args.spacing),
                     z=args.z, bounds=bounds)


# Options of focus that one algorithm alone understands, with their values when not given.
FOCUS_OPTIONS = {
    "bp": {"accuracy": None, "grid": None, "centre": None, "size": None, "spacing": None,
           "z": None},
    "pfa": {"curvature": None},
    "not pfa": {"accuracy": None, "interpolation": None, "oversampling": 0},
    "doppler": {"azimuth_bandwidth": None, "src": True, "geometry": None, "looks": None,
            "doppler_centroid": None, "fft_length": None, "stages": False, "storage": None,
            "valid": False},
}


def _given_any(args, kind):
    """Is an option of FOCUS_OPTIONS[kind] given?"""
    return any(getattr(args, name) != default for name, default in FOCUS_OPTIONS[kind].items())


def _plane(args):
    """The plane that options ask for which one kind of algorithm alone understands, see
    algorithms.choose()."""
    ground = _given_any(args, "bp") or _given_any(args, "pfa")
    slant = _given_any(args, "doppler") or args.interpolation in ("exact", "fixed")
    return {(True, False): "ground", (False, True): "slant"}.get((ground, slant))


def _centroid(text):
    if text == "estimate":
        return text
    try:
        return _numbers((1, 2, 3, 4), "")(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of Hz (or up to four coefficients over range), nor "
            "estimate") from None


def do_focus(args):
    from . import focus as f
    from .algorithms import choose

    # say no before long work, and before reading: a GPU that was asked for and is not there
    where = _sar.backend_description(args.backend, args.device)
    rec = _open(args)
    asked_of = _plane(args)
    # its options are not those of polar format, and the other way round
    without = ["pfa"] if _given_any(args, "not pfa") else ["bp"] if _given_any(args, "pfa") else []
    choice = choose(rec, args.algorithm, plane=asked_of, without=without,
                    grid=_grid(args, rec)[0] if rec.tx is not None and asked_of == "ground" else None,
                    geometry=args.geometry or "zero_doppler", doppler_centroid=args.doppler_centroid)
    algorithm = choice.algorithm
    on_grid = algorithm in ("bp", "pfa")
    strange = dict(FOCUS_OPTIONS["doppler" if on_grid else "bp"])
    strange.update(FOCUS_OPTIONS["not pfa" if algorithm == "pfa" else "pfa"])
    if algorithm in ("omegak", "csa"):
        strange["src"] = True
    if algorithm == "csa":
        strange["interpolation"] = None
    for name, default in strange.items():
        if getattr(args, name) != default:
            flag = "--no-src" if name == "src" else "--" + name.replace("_", "-")
            raise ValueError(f"{flag} has no meaning for --algorithm {algorithm}")
    if algorithm == "bp" and args.azimuth_window != "rect":
        rec.weight_aperture(args.azimuth_window)
    grid, grid_notes = _grid(args, rec) if on_grid else (None, [])
    grid_notes = choice.reasons + grid_notes
    _say(args, f"{', '.join(rec.paths)}: {rec.num_pulses} pulses of {rec.acq.samples} samples")
    for n in rec.notes + grid_notes:
        _say(args, f"  {n}")
    _say(args, f"  range bias {rec.acq.range_bias_m:g} m, clock offset "
               f"{rec.used.get('clock_offset_s', 0.0):g} s")
    _say(args, f"  runs on {where}")
    if rec.dropped_samples:
        _say(args, f"  dropped samples: {rec.dropped_samples}")
    os.makedirs(args.output, exist_ok=True)
    options = dict(window=args.window, backend=args.backend, device=args.device,
                   align_sweeps=args.align_sweeps)
    if algorithm == "bp":
        options.update(interpolation=args.interpolation or "sinc8",
                       accuracy=args.accuracy or "auto", oversampling=args.oversampling)
    elif algorithm == "pfa":
        options.update(azimuth_window=args.azimuth_window, curvature=args.curvature or "correct")
    else:
        options.update(
            algorithm=algorithm, interpolation=args.interpolation or "exact", oversampling=args.oversampling,
            azimuth_window=args.azimuth_window, azimuth_bandwidth_hz=args.azimuth_bandwidth,
            src=args.src, geometry=args.geometry or "zero_doppler",
            looks=1 if args.looks is None else args.looks,
            doppler_centroid=args.doppler_centroid, fft_length=args.fft_length or 0,
            stages=args.stages, storage=args.storage or "single", valid_only=args.valid,
            lines=args.pulses_per_image, hop=args.hop)
    bar = _progress(rec.num_pulses, "pulses", args.quiet, "focusing")
    try:
        if on_grid:
            from .polar_format import polar_format

            form = f.focus if algorithm == "bp" else polar_format
            image, report = form(rec, grid, folder=args.output, progress=bar,
                                 pulses_per_image=args.pulses_per_image, hop=args.hop,
                                 annotate=args.annotate, **options)
            for n in report["notes"][len(rec.notes):]:
                _say(args, f"  {n}")
        else:
            image, report = f.range_doppler(rec, folder=args.output, progress=bar,
                                            annotate=args.annotate, **options)
            for n in report["notes"][len(rec.notes):]:
                _say(args, f"  {n}")
            c = report["doppler_centroid"]
            _say(args, f"  Doppler centroid {c['hz'][0]:.2f} Hz ({c['prfs']:.2f} PRFs), from: "
                       f"{c['from']}")
    finally:
        bar.close()
    report["notes"] += grid_notes
    hint = ""
    if not args.no_swap_check:
        hint = (f.swap_hint(rec, grid, image, options) if on_grid else
                f.focus_hint(rec, report, options))
    if hint:
        report["notes"].append(hint)
        print(f"hint: {hint}", file=sys.stderr)
    if rec.hints.get("targets"):
        report["targets"] = [
            {"name": t["name"], "position_m": list(t["position_m"]),
             "amplitude": None if t["amplitude"] is None else
             [complex(t["amplitude"]).real, complex(t["amplitude"]).imag]}
            for t in rec.hints["targets"]]
    report["gr_sar"] = VERSION
    path = os.path.join(args.output, "report.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(f.plain(report), out, indent=1, allow_nan=False)
        out.write("\n")
    q = report["quality"]
    if q.get("peak"):
        x, y, z = q["peak_position_m"]
        _say(args, f"  peak {q['peak_db']:.2f} dB at ({x:.2f}, {y:.2f}, {z:.2f}) m, contrast "
                   f"{q['contrast']:.2f}, entropy {q['entropy_nat']:.2f} nat, peak to median "
                   f"{q['peak_to_median_db'] or 0:.1f} dB")
    else:
        _say(args, "  the image is empty: no pixel lies inside the swath, check grid and ranges")
    if report.get("skipped_pulses"):
        _say(args, f"  skipped pulses (position not finite): {report['skipped_pulses']}")
    _say(args, f"  {args.output}/image.npy, image.png, report.json in "
               f"{report['timings_s']['total']:.2f} s")
    return 0


def do_measure(args):
    from . import measure as m

    image, report = m.load_result(args.folder)
    targets = report.get("targets", [])
    if args.target:
        targets = [dict(t, name=f"T{i + 1}") for i, t in enumerate(args.target)]
        if args.limit is None:
            args.limit = 0.2
    if not targets:
        raise ValueError(f"{args.folder}/report.json knows no targets; give --target x,y,z")
    rows = m.measure(image, report, targets, args.limit)
    from .focus import plain

    with open(os.path.join(args.folder, "measure.json"), "w", encoding="utf-8") as f:
        json.dump(plain(rows), f, indent=1)
        f.write("\n")
    print(m.table(rows))
    good = all(r.get("pass") for r in rows)
    print(f"{sum(bool(r.get('pass')) for r in rows)} of {len(rows)} targets PASS")
    return 0 if good else 1


def do_calibrate(args):
    from . import calibrate

    return calibrate.run(args, lambda text: _say(args, text))


def do_plot(args):
    from .plot import run

    for sentence in run(args, _open):
        _say(args, "  " + sentence)
    return 0


def do_response(args):
    from .frequency_response import run

    for sentence in run(args, _open):
        _say(args, "  " + sentence)
    return 0


def do_convert(args):
    from .describe import convert

    *notes, done = convert(args.input, args.output, args.to, **_given(args))
    for n in notes:
        _say(args, f"  {n}")
    _say(args, done)
    return 0


def do_demo(args):
    """simulate, focus, measure: the first thing to run."""
    quiet = ["--quiet"] if args.quiet else []
    recording = os.path.join(args.output, "recording", "spotlight")
    image = os.path.join(args.output, "image")
    steps = [["simulate", recording] + quiet,
             ["focus", recording + ".sigmf-meta", "-o", image, "--backend", args.backend]
             + (["--annotate"] if can_annotate() else []) + quiet,
             ["measure", image]]
    for step in steps:
        _say(args, "\n$ gr_sar " + " ".join(step))
        status = main(step + (["--debug"] if args.debug else []))
        if status:
            return status
    _say(args, f"\nlook at {image}/image.png")
    return 0


# ---- the parser -------------------------------------------------------------------------


def parser():
    p = argparse.ArgumentParser(prog="gr_sar", description=DESCRIPTION,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--version", action="version", version=f"gr_sar {VERSION}")
    sub = p.add_subparsers(dest="command", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--quiet", action="store_true", help="no progress, no chatter")
    common.add_argument("--debug", action="store_true", help="show the Python traceback of errors")

    # what looks like negative numbers is a value, not an option: --centre -15.6,21.55
    negative = re.compile(r"^-[0-9.][0-9.,eE+-]*$")

    def add(name, run, text, description=None, epilog=None):
        s = sub.add_parser(name, help=text, description=description or text, epilog=epilog,
                           parents=[common],
                           formatter_class=argparse.RawDescriptionHelpFormatter)
        s.set_defaults(run=run)
        s._negative_number_matcher = negative
        return s

    s = add("simulate", do_simulate, "write a simulated recording, spotlight or strip map",
            "Raw echoes of point targets as SigMF (<OUTPUT>.sigmf-meta, .sigmf-data) with positions\n"
            "(<OUTPUT>.nav.csv) and the truth (sar:targets).\n\n"
            "spotlight: X band, the scene lies around the origin, the platform flies along +y beside\n"
            "it. stripmap: C band, slant-plane coordinates: the platform flies along +x at y = z = 0,\n"
            "y is the closest range; targets are given from the middle of the scene.",
            "examples:\n  gr_sar simulate scene --target 0,0 --target 20,-15,0,0.5,90 --noise -10\n"
            "  gr_sar simulate strip --mode stripmap --squint 4")
    s.add_argument("output", metavar="OUTPUT", help="base name of the files")
    s.add_argument("--target", type=_target, action="append", metavar="X,Y[,Z[,A[,DEG]]]",
                   help="target: position m, amplitude, phase in degrees (default: five targets)")
    s.add_argument("--mode", choices=("spotlight", "stripmap"), default="spotlight",
                   help="(default %(default)s)")
    for flag, default, unit, text in (
            ("--carrier", "9.6e9; stripmap 5.3e9", "HZ", "radio frequency"),
            ("--bandwidth", "3e8; stripmap 1e8", "HZ", "bandwidth"),
            ("--pulse-length", "2e-6", "S", "length of the chirp"),
            ("--prf", "400; stripmap 160", "HZ", "pulses a second"),
            ("--range", "10e3; stripmap 12e3", "M", "slant range of the scene centre, stripmap: "
             "the closest one"),
            ("--altitude", "5e3", "M", "spotlight: height of the platform"),
            ("--speed", "100; stripmap 150", "M/S", "speed of the platform"),
            ("--squint", "0", "DEG", "look ahead (> 0) of broadside; spotlight: in the ground plane"),
            ("--scene", "120", "M", "spotlight: side of the scene"),
            ("--beam", "0.0192", "RAD", "stripmap: width of the beam along the track"),
            ("--swath", "400", "M", "stripmap: width of the swath in range")):
        s.add_argument(flag, type=float, metavar=unit, help=f"{text} (default {default})")
    s.add_argument("--pulses", type=int, help="number of pulses (default 1250; stripmap 800)")
    s.add_argument("--look", choices=("left", "right"), help="spotlight: side of the antenna "
                   "(default right)")
    s.add_argument("--chirp", choices=("up", "down"), help="sign of the chirp (default up)")
    s.add_argument("--noise", type=float, default=-20.0, metavar="DB", help="noise power of a raw "
                   "sample against a unit echo, dB (default %(default)g)")
    s.add_argument("--seed", type=int, default=1, help="seed of the noise")
    s.add_argument("--datatype", default="cf32_le", help="cf32_le, ci16_le, ci8 ... (default "
                   "%(default)s)")

    s = add("info", do_info, "say everything that is known about a recording",
            "Format, level, what is missing to focus it, and the command that would: docs/files.md.",
            "examples:\n  gr_sar info flight.sigmf-meta\n  gr_sar info sdr.wav\n"
            "  gr_sar info re.wav im.wav --iq-files\n"
            "  gr_sar info adc_data.bin --ti device=xwr1843 --ti num_adc_samples=256")
    _reading(s)
    s.add_argument("--json", action="store_true", help="as JSON")

    s = add("focus", do_focus, "form an image", FOCUS_TEXT, FOCUS_EPILOG)
    _reading(s)
    s.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the results")
    g = s.add_argument_group("image formation")
    g.add_argument("--algorithm", choices=("auto", "bp", "pfa", "rda", "omegak", "csa"),
                   default="auto", help="bp: back-projection; pfa: polar format; rda: "
                   "range-Doppler; omegak: wavenumber; csa: chirp scaling; auto (default): the first "
                   "that leaves little enough, and why")
    g.add_argument("--backend", choices=("auto", "cpu", "cuda", "emulated"), default="auto",
                   help="where to compute (default %(default)s)")
    g.add_argument("--device", type=int, default=0, help="number of the GPU")
    g.add_argument("--window", default="rect", help="weighting over the bandwidth: rect, hann, "
                   "hamming, taylor(4, 35), kaiser(2.5) (default %(default)s)")
    g.add_argument("--align-sweeps", action="store_true",
                   help="FMCW: take out the motion during the sweeps")
    g.add_argument("--azimuth-window", default="rect", help="weighting over the aperture (rda: over "
                   "the Doppler band), the same names (default %(default)s)")
    g.add_argument("--interpolation", choices=("nearest", "linear", "sinc8", "sinc16", "exact",
                                               "fixed"),
                   help="between range samples (default: bp sinc8, rda exact)")
    g.add_argument("--accuracy", choices=("auto", "exact", "fast"),
                   help="bp: of ranges and phases, see below (default auto)")
    g.add_argument("--oversampling", type=int, default=0, metavar="N", help="range samples per "
                   "sample before interpolation (default: bp what the interpolation needs for -60 "
                   "dB, rda 1)")
    g.add_argument("--curvature", choices=("correct", "warn", "refuse"),
                   help="pfa: of wavefronts, see below (default correct)")
    g.add_argument("--pulses-per-image", type=int, default=0, metavar="N",
                   help="an image each N pulses (default: one of all)")
    g.add_argument("--hop", type=int, default=0, metavar="N",
                   help="with --pulses-per-image: pulses between images (default: N); rda: the images "
                   "join to one strip; bp without it: also the image so far, each N pulses")
    g.add_argument("--annotate", action="store_true", help="also write image_axes.png")
    g.add_argument("--no-swap-check", action="store_true",
                   help="do not try whether the conjugate (rda: or the other sign of the chirp "
                   "rate) focuses better")
    g = s.add_argument_group("Doppler domain (rda, omegak, csa)")
    g.add_argument("--doppler-centroid", type=_centroid, metavar="HZ|estimate",
                   help="absolute, may be many PRFs; HZ,S1,S2,S3: polynomial in slant range minus "
                   "that of the first sample (default: the recording's)")
    g.add_argument("--azimuth-bandwidth", type=float, metavar="HZ", help="Doppler band that is "
                   "processed, around the centroid; 0: the PRF (default: nine tenths of the beam's "
                   "where the recording knows it, else the PRF)")
    g.add_argument("--no-src", dest="src", action="store_false",
                   help="leave out secondary range compression")
    g.add_argument("--geometry", choices=("zero_doppler", "centroid"), help="where a point lies: at "
                   "its closest approach (default), or where the middle of the beam sees it")
    g.add_argument("--looks", type=int, metavar="N", help="sub-bands of Doppler, added in power "
                   "(default 1)")
    g.add_argument("--fft-length", type=int, metavar="N", help="rows of the azimuth transform "
                   "(default: so many that nothing wraps)")
    g.add_argument("--valid", action="store_true",
                   help="only rows whose whole aperture was recorded")
    g.add_argument("--stages", action="store_true", help="as a chain of stages, not fused")
    g.add_argument("--storage", choices=("single", "half"), help="of lines between stages: 32 "
                   "(default) or 16 bits a component")
    g = s.add_argument_group("grid of bp and pfa (default: chosen from the recording, and said)")
    g.add_argument("--grid", metavar="X0,X1,Y0,Y1|FILE", help="bounds in metres, or the report.json "
                   "of another image")
    g.add_argument("--centre", type=_numbers((2, 3), "x,y or x,y,z"), metavar="X,Y[,Z]",
                   help="middle of the image, m")
    g.add_argument("--size", type=_numbers((1, 2), "one or two lengths"), metavar="W[,H]",
                   help="width along x and height along y, m")
    g.add_argument("--spacing", type=_numbers((1, 2), "one or two lengths"), metavar="DX[,DY]",
                   help="of pixels, m (default: 0.6 of the finer resolution)")
    g.add_argument("--z", type=float, metavar="M", help="height of the image plane, m")

    s = add("measure", do_measure, "compare the targets of an image with truth and theory",
            "Position error, IRW, PSLR, ISLR and phase of each target that the recording names, with\n"
            "PASS or FAIL; targets of real scenes by position. Exit status 1 when one FAILs.",
            "examples:\n  gr_sar measure out\n  gr_sar measure gotcha --target -15.6,21.55 --limit 0.1")
    s.add_argument("folder", metavar="DIR", help="folder that gr_sar focus wrote")
    s.add_argument("--target", type=_target, action="append", metavar="X,Y[,Z]",
                   help="position where a target should be, m (in place of the recording's)")
    s.add_argument("--limit", type=float, metavar="M", help="compare positions alone, error allowed "
                   "in m (default for real targets: 0.2)")

    s = add("plot", do_plot, "draw a recording or a focused image as PNG, PDF or SVG",
            "Of a recording: range-time (default; lines in dB, compressed, or --raw), doppler (mean\n"
            "spectrum with the centroid), range-doppler, spectrum (over range frequency). Of a folder\n"
            "that gr_sar focus wrote: image (default; axes in metres), cuts (of each target in range\n"
            "and azimuth, with the figures of gr_sar measure and theory).",
            "examples:\n  gr_sar plot flight.sigmf-meta -o lines.png\n"
            "  gr_sar plot flight.sigmf-meta -o doppler.pdf --what doppler\n"
            "  gr_sar plot out -o image.png --range 50\n"
            "  gr_sar plot out -o cuts.pdf --what cuts --target -15.6,21.55")
    _reading(s)
    s.add_argument("-o", "--output", required=True, metavar="FILE", help=".png, .pdf or .svg")
    g = s.add_argument_group("figure")
    g.add_argument("--what", choices=("range-time", "doppler", "range-doppler", "spectrum", "image",
                                      "cuts"), help="what to draw (default: by the input)")
    g.add_argument("--raw", action="store_true", help="lines as recorded, not compressed in range")
    g.add_argument("--target", type=_target, action="append", metavar="X,Y[,Z]",
                   help="target of an image, m (in place of the report's)")
    g.add_argument("--range", type=float, metavar="DB", help="from the darkest to the brightest "
                   "level (default: chosen from the data)")
    g.add_argument("--reference", type=float, metavar="DB", help="the brightest level (default: "
                   "chosen from the data)")

    s = add("convert", do_convert, "write a recording as SigMF",
            "What the file lacks of the radar's parameters can be added to the metadata afterwards.",
            "examples:\n  gr_sar convert p440_uwb_rail -o rail --clock-offset 9.28\n"
            "  gr_sar convert sdr.wav -o mine --set carrier_hz=2.4e9")
    _reading(s)
    s.add_argument("-o", "--output", required=True, help="base name of the files")
    s.add_argument("--to", metavar="TYPE", help="data type to write (default: one that keeps each "
                   "sample as it is, else cf32_le)")

    from . import calibrate

    s = add("calibrate", do_calibrate, "measure the delay of a radio, in recordings or live",
            calibrate.TEXT, calibrate.EPILOG)
    calibrate.add_arguments(s, _setting)

    s = add("response", do_response, "measure the response of a radar over frequency",
            "From a recording of one strong point at a known range, for lines over frequency "
            "(stepped frequency, FMCW).",
            "examples:\n  gr_sar response corner.sigmf-meta --range 1.234 -o response.csv\n"
            "  gr_sar focus scan.npy -o out --frequency-response response.csv")
    _reading(s, many=False)
    s.add_argument("-o", "--output", required=True, metavar="CSV", help="file to write")
    g = s.add_mutually_exclusive_group(required=True)
    g.add_argument("--range", type=float, metavar="M", help="slant range of the point")
    g.add_argument("--target", type=_target, metavar="X,Y,Z", help="place of the point, for a "
                   "recording with positions")

    s = add("demo", do_demo, "simulate, focus and measure: the first thing to run")
    s.add_argument("-o", "--output", default="out/demo", help="folder (default %(default)s)")
    s.add_argument("--backend", choices=("auto", "cpu", "cuda", "emulated"), default="auto")

    s = add("doctor", doctor.run, "look at the installation; the cure of what is wrong")
    doctor.add_arguments(s)
    return p


def main(argv=None):
    """Run the command line; returns the exit status."""
    args = parser().parse_args(argv)
    args.words = sys.argv[1:] if argv is None else argv
    # what was said about the input, for commands that gr_sar suggests
    args.given = [t for t in args.words[1:] if t not in ("--json", "--quiet", "--debug")]
    from gnuradio import gr

    # errors of blocks come back as our own sentence; GNU Radio's talk about buffers helps
    # only who debugs a flowgraph
    log, level = gr.logging(), gr.logging().default_level()
    if not args.debug:
        log.set_default_level(gr.log_levels.off)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("gr_sar: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of our output went away (| head): not a failure of ours
        sys.stdout = open(os.devnull, "w")
        return 0
    except Exception as e:
        if args.debug:
            traceback.print_exc()
        text = " ".join(str(e).split()) or type(e).__name__
        if isinstance(e, OSError) and e.filename:
            text = f"{e.filename}: {e.strerror}"
        print(f"gr_sar: {text}", file=sys.stderr)
        return 1
    finally:
        log.set_default_level(level)


if __name__ == "__main__":
    sys.exit(main())
