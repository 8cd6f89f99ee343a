# SPDX-License-Identifier: GPL-3.0-or-later
"""``gr_sar calibrate``: measure the delay of a radio, in recordings of it or live."""

import argparse
import os
import shlex
import sys
import tempfile
import time

import numpy as np
from gnuradio import blocks, gr

from . import calibration as cal
from . import sar_python as _sar
from .formats import open_stream
from .recordings import RecordingError, make_acquisition
from .sigmf_files import fields_of, read_replica

TEXT = """\
Measure the delay and phase of a radio between sending and receiving. FILE is what the receiver
recorded while the radar pulse was transmitted through a loopback cable, as leakage or onto a known
reflector: one stream without gaps, SigMF or raw IQ. Several files are several starts of one radio,
whose delays are compared. With --args the pulse is transmitted and received now.
"""

EPILOG = """\
examples:
  gr_sar calibrate loopback.sigmf-meta --cable-length 2 -o cal
  gr_sar calibrate start*.cf32 --set sample_rate_hz=2e6 --set prf_hz=1000 --set carrier_hz=2.4e9 \\
      --set pulse_length_s=1e-4 --set chirp_rate_hz_per_s=1.6e10
  gr_sar calibrate --args driver=lime --rate 5e6 --frequency 2.4e9 --tx-power 10 --rx-limit -15 \\
      --attenuator 40 --cable-length 1 -o cal

Live, nothing is sent before it is said what is between transmitter and receiver: --tx-power (at the
port, with its gain), --rx-limit (what the receiver stands without damage) and --attenuator (all the
attenuation on the way; between two antennas: their isolation) must leave 10 dB of margin.

output: a table with PASS or FAIL; with -o DIR calibration.json (docs/blocks/delay_calibration.md)
and calibration.png (correlation, delay and phase over the pulses). Exit status 1 when a row FAILs.
"""

# what a calibration must keep to be trusted
DELAY_STD_SAMPLES = 0.05
PHASE_STD_RAD = 0.02
DRIFT_PPM = 1.0
CLIPPED = 1e-3


def _key(text):
    name, sep, value = text.partition("=")
    if not sep or name not in cal.KEY_FIELDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE with a NAME of "
                                         + ", ".join(cal.KEY_FIELDS))
    if name.endswith(("_hz", "_db")):
        try:
            return name, float(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' has no number") from None
    return name, value  # a serial of 0042 is text


def add_arguments(s, setting):
    """Options of the subcommand. ``setting`` reads NAME=VALUE."""
    s.add_argument("input", nargs="*", metavar="FILE", help=".sigmf-meta or raw IQ")
    s.add_argument("-o", "--output", metavar="DIR", help="folder for file and picture")
    g = s.add_argument_group("reading")
    g.add_argument("--meta", metavar="FILE", help="metadata (.sigmf-meta) for raw IQ")
    g.add_argument("--datatype", metavar="TYPE", help="of raw IQ: cf32_le, ci16_le, ci8 ...")
    g.add_argument("--set", metavar="NAME=VALUE", type=setting, action="append", default=[],
                   help="a parameter of the acquisition, such as prf_hz=1200")
    g.add_argument("--reference", metavar="FILE", help="second coherent channel, with the pulse as "
                   "it was sent; the delay is that between the two")
    g = s.add_argument_group("measuring")
    g.add_argument("--pulses", type=int, default=0, metavar="N",
                   help="(default: half a second of them, 8 to 256)")
    g.add_argument("--first-pulse", type=float, metavar="S", help="pulse 0 is sent S seconds behind "
                   "the first sample, 0 or more, and lies in the stream: resolves the ambiguity")
    g.add_argument("--least-snr", type=float, default=15.0, metavar="DB",
                   help="of a pulse after correlation (default %(default)g)")
    g.add_argument("--response", type=int, default=32, metavar="TAPS", help="on either side, of the "
                   "response of the path; 0: none (default %(default)s)")
    g.add_argument("--full-scale", type=float, default=1.0, metavar="LEVEL",
                   help="level at which the radio clips (default %(default)g)")
    g.add_argument("--expect", metavar="FILE", help="stored calibration to compare with, or a folder "
                   "of them, of which the one with the same key is taken")
    g.add_argument("--key", metavar="NAME=VALUE", type=_key, action="append", default=[],
                   help="what it belongs to: " + ", ".join(cal.KEY_FIELDS))
    g = s.add_argument_group("what is there only for the calibration")
    for flag, text in (("--cable-length", "loopback cable"),
                       ("--feed-length", "both antenna feeds, when the cable bypasses them"),
                       ("--air-path", "from antenna to antenna, for leakage"),
                       ("--reflector-range", "slant range of a corner reflector")):
        g.add_argument(flag, type=float, default=0.0, metavar="M", help=text)
    g.add_argument("--velocity-factor", type=float, default=0.66, help="of cable and feeds: 0.66 "
                   "solid, 0.85 foamed polyethylene (default %(default)g)")
    g = s.add_argument_group("live")
    g.add_argument("--args", metavar="DEVICE", help="of SoapySDR, such as driver=lime")
    g.add_argument("--tx-args", metavar="DEVICE", help="of the transmitter (default: the same)")
    for flag, name, unit, default, text in (
            ("--rate", "rate", "HZ", 2e6, "samples a second"),
            ("--frequency", "frequency", "HZ", None, "carrier"),
            ("--bandwidth", "bandwidth", "HZ", None, "of the pulse (default 0.8 of the rate)"),
            ("--pulse-length", "pulse_length", "S", 1e-4, "of the pulse"),
            ("--prf", "prf", "HZ", 1000.0, "pulses a second"),
            ("--tx-gain", "tx_gain", "DB", None, "transmit gain"),
            ("--rx-gain", "rx_gain", "DB", None, "receive gain"),
            ("--level", "level", "0..1", 0.5, "of the samples that are sent"),
            ("--tx-power", "tx_power", "DBM", None, "power at the transmitter's port"),
            ("--rx-limit", "rx_limit", "DBM", None, "what the receiver stands"),
            ("--attenuator", "attenuator", "DB", None, "between the two"),
            ("--seconds", "seconds", "S", 5.0, "to wait for the measurement")):
        more = f" (default {default:g})" if default is not None else ""
        g.add_argument(flag, dest=name, type=float, metavar=unit, default=default,
                       help=text + more)
    g.add_argument("--tx-antenna", metavar="NAME", help="port of the transmitter")
    g.add_argument("--rx-antenna", metavar="NAME", help="port of the receiver")


# ---- recordings ---------------------------------------------------------------------------


class _stream:
    """Samples of a file, as floats that a flowgraph can read, and what its metadata say."""

    def __init__(self, path, args, folder):
        stream = open_stream(path, {"meta": args.meta, "datatype": args.datatype})
        if not stream.dtype.complex or stream.channels != 1:
            raise RecordingError(f"{stream.source} holds {stream.channels} channels of "
                                 f"{stream.dtype.name}; expected one of complex samples")
        fields = fields_of(stream.metadata, stream.source, dict(args.set))
        # a stream has no lines
        fields.setdefault("samples", 1)
        fields.setdefault("slant_range_first_m", 0.0)
        fields.setdefault("carrier_hz", 1e9)
        self.acq = make_acquisition(fields, stream.source, "give --set NAME=VALUE")
        g = stream.metadata["global"]
        replica = read_replica(g.get("sar:replica"), stream.source)
        self.replica = [] if replica is None else [complex(v) for v in replica]
        # integers become shares of full scale, unless the metadata say otherwise
        bits = 8 * stream.dtype.component_bytes
        scale = g.get("sar:scale", 2.0 ** (1 - bits) if stream.dtype.integer else 1.0)
        self.floats = stream.store.path
        if (stream.dtype.name != "cf32_le" or scale != 1.0 or not os.path.isfile(self.floats)
                or os.path.getsize(self.floats) != 8 * stream.count):
            self.floats = os.path.join(folder, f"{os.path.basename(path)}.cf32")
            with open(self.floats, "wb") as out:
                for start in range(0, stream.count, 1 << 20):
                    part = stream.read(start, min(start + (1 << 20), stream.count), scale)
                    out.write(part.astype(np.complex64).tobytes())

    def block(self):
        return blocks.file_source(gr.sizeof_gr_complex, self.floats, False)


def _block(args, acq, replica, key, path):
    return _sar.delay_calibration(
        acq, args.pulses, replica, args.first_pulse or 0.0,
        "cyclic" if args.first_pulse is None else "first_pulse",
        cal.path_delay_s(args.cable_length, args.velocity_factor, args.feed_length, args.air_path,
                         args.reflector_range),
        args.least_snr, args.reference is not None, args.response, args.full_scale, path, key,
        "gr_sar " + " ".join(shlex.quote(a) for a in (args.words or ())))


def _recorded(path, args, key, target):
    with tempfile.TemporaryDirectory() as folder:
        stream = _stream(path, args, folder)
        block = _block(args, stream.acq, stream.replica, key, target)
        tb = gr.top_block("gr_sar calibrate")
        tb.connect(stream.block(), (block, 0))
        if args.reference is not None:
            tb.connect(_stream(args.reference, args, folder).block(), (block, 1))
        tb.run()
    return block, stream.acq, stream.replica


# ---- live ---------------------------------------------------------------------------------


def live_acquisition(args):
    """What is sent: an LFM pulse whose PRI is a whole number of samples, since the buffer of the
    transmitter is repeated."""
    if args.frequency is None:
        raise ValueError("--frequency is not given; expected the carrier in Hz")
    pri = args.rate / args.prf
    if abs(pri - round(pri)) > 1e-6:
        raise ValueError(f"--rate over --prf is {pri:.10g} samples; expected a whole number of them, "
                         f"such as --prf {args.rate / round(pri):.10g}")
    bandwidth = args.bandwidth or 0.8 * args.rate
    return _sar.acquisition(
        waveform="pulsed_lfm", samples=round(pri), carrier_hz=args.frequency,
        prf_hz=args.rate / round(pri), sample_rate_hz=args.rate, pulse_length_s=args.pulse_length,
        chirp_rate_hz_per_s=bandwidth / args.pulse_length, slant_range_first_m=0)


def check_safety(args, say):
    """Say what is needed between the ports; ValueError when it is not there, or not said."""
    if args.tx_power is None or args.rx_limit is None:
        raise ValueError(
            "--tx-power and --rx-limit are not both given; expected the power at the transmitter's "
            "port and what the receiver stands, in dBm (data sheet), before anything is sent")
    text, safe = cal.safety_text(args.tx_power, args.rx_limit, args.attenuator)
    say(text)
    if not safe:
        raise ValueError(f"nothing is sent: {text}; expected --attenuator "
                         f"{cal.attenuation_db(args.tx_power, args.rx_limit):g} or more")


def open_radio(args, acq):
    """(source block, sink block, key) of a SoapySDR device, tuned."""
    try:
        from gnuradio import soapy
    except ImportError:
        raise ValueError("GNU Radio was built without gr-soapy, which --args needs; install it "
                         "(Debian: gnuradio, soapysdr-module-all)") from None
    ends = []
    for kind, device, gain, antenna in (
            (soapy.source, args.args, args.rx_gain, args.rx_antenna),
            (soapy.sink, args.tx_args or args.args, args.tx_gain, args.tx_antenna)):
        name = "receiver" if kind is soapy.source else "transmitter"
        try:
            end = kind(device, "fc32", 1, "", "", [""], [""])
            end.set_sample_rate(0, acq.sample_rate_hz)
            end.set_frequency(0, acq.carrier_hz)
            if antenna is not None:
                end.set_antenna(0, antenna)
            if gain is not None:
                end.set_gain(0, gain)
            rate = end.get_sample_rate(0)
        except Exception as e:
            raise ValueError(f"the {name} '{device}' cannot be used: {e}; SoapySDRUtil --find lists "
                             "the devices that are there") from None
        if abs(rate / acq.sample_rate_hz - 1) > 1e-6:
            raise ValueError(f"the {name} runs at {rate:.10g} samples a second; expected --rate, "
                             f"{acq.sample_rate_hz:.10g}")
        ends.append(end)
    source, sink = ends
    device = dict(p.split("=", 1) for p in args.args.split(",") if "=" in p)
    key = {"driver": device.get("driver"), "serial": device.get("serial"),
           "hardware": device.get("hardware"), "tx_rate_hz": sink.get_sample_rate(0),
           "rx_rate_hz": source.get_sample_rate(0), "tx_antenna": sink.get_antenna(0) or None,
           "rx_antenna": source.get_antenna(0) or None, "tx_gain_db": sink.get_gain(0),
           "rx_gain_db": source.get_gain(0), "centre_frequency_hz": source.get_frequency(0)}
    for name, ask in (("master_clock_hz", lambda: source.get_master_clock_rate()),
                      ("bandwidth_hz", lambda: source.get_bandwidth(0))):
        try:
            key[name] = ask() or None
        except Exception:  # not every driver knows
            key[name] = None
    return source, sink, key


def _live(args, key, target, say):
    if args.reference is not None:
        raise ValueError("--reference is for recordings; expected none with --args")
    if not 0 < args.level <= 1:
        raise ValueError(f"--level is {args.level}; expected more than 0 and at most 1")
    if args.first_pulse is not None:
        raise ValueError("--first-pulse is for recordings; live the buffer is repeated without end "
                         "and the delay known modulo the PRI")
    acq = live_acquisition(args)
    check_safety(args, say)
    source, sink, of_radio = open_radio(args, acq)
    block = _block(args, acq, [], {**of_radio, **key}, target)
    period = np.zeros(acq.samples, np.complex64)
    pulse = np.array(_sar.transmitted_pulse(acq))
    if len(pulse) > len(period):
        raise ValueError(f"--pulse-length is {len(pulse)} samples; expected at most the PRI, "
                         f"{len(period)}")
    period[: len(pulse)] = args.level * pulse
    tb = gr.top_block("gr_sar calibrate")
    tb.connect(blocks.vector_source_c(period, True), sink)
    tb.connect(source, block)
    tb.start()
    try:
        end = time.monotonic() + args.seconds
        while not block.done() and not block.error() and time.monotonic() < end:
            time.sleep(0.02)
    finally:
        tb.stop()
        tb.wait()
    return block, acq, []


# ---- output -------------------------------------------------------------------------------


def judge(c, expected=None):
    """Rows (what, value, limit, good) of a calibration."""
    if not c["valid"]:
        return [("pulse", "none: " + c["problem"], "", False)]
    rate = c["sample_rate_hz"]
    d, ppm = c["delay_s"], c["drift_samples_per_s"] / rate * 1e6
    ambiguity = f", modulo {c['ambiguity_s'] * 1e6:.6g} us" if c["ambiguity_s"] else ""
    rows = [
        ("pulses", f"{c['pulses']}, {c['pulses_missing']} missing", "none missing",
         c["pulses_missing"] == 0),
        ("delay", f"{d * rate:.3f} samples, {d * 1e6:.6f} us, {d * cal.C / 2:.3f} m of range"
         + ambiguity, "", True),
        ("  its error", f"{c['delay_std_s'] * rate:.4f} samples", f"{DELAY_STD_SAMPLES:g}",
         c["delay_std_s"] * rate <= DELAY_STD_SAMPLES),
        ("cable taken off", f"{c['cable_delay_s'] * 1e9:.3f} ns", "", True),
        ("phase", f"{c['phase_rad']:.4f} rad", "", True),
        ("  its error", f"{c['phase_std_rad']:.4f} rad", f"{PHASE_STD_RAD:g}",
         c["phase_std_rad"] <= PHASE_STD_RAD),
        ("amplitude", f"{c['amplitude_db']:.2f} dB", "", True),
        ("SNR of a pulse", f"{c['snr_db']:.1f} dB", "", True),
        ("carrier off by", f"{c['residual_frequency_hz']:.4f} Hz", "", True),
        ("clock off by", f"{ppm:.4f} ppm", f"{DRIFT_PPM:g}",
         abs(ppm) <= max(DRIFT_PPM, 3e6 * c["drift_std_samples_per_s"] / rate)),
        ("at full scale", f"{100 * c['clipped']:.2g} %", f"{100 * CLIPPED:g} %",
         c["clipped"] <= CLIPPED)]
    if expected is not None:
        off = cal.delay_difference_s(c, expected) * rate
        rows.append(("against stored", f"{off:+.3f} samples", "1", abs(off) <= 1))
    return rows


def table(rows):
    lines = []
    for what, value, limit, good in rows:
        verdict = ("PASS" if good else "FAIL") if limit or not good else ""
        lines.append(f"  {what:<16} {value + (f' (limit {limit})' if limit else ''):<58} "
                     f"{verdict}".rstrip())
    return "\n".join(lines)


def picture(block, acq, replica, path, title):
    """Correlation of the mean received pulse, delay and phase over the pulses, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    (c,) = block.calibrations()[-1:]
    arrivals = block.arrivals()
    t = 1e3 * np.array([a["time_s"] for a in arrivals])
    delay = np.array([a["delay_samples"] for a in arrivals])
    phase = np.unwrap([a["phase_rad"] for a in arrivals])
    figure = Figure(figsize=(8, 9), layout="constrained")
    FigureCanvasAgg(figure)
    received = np.array(block.received())
    axes = figure.subplots(3 if len(received) else 2, 1)
    figure.suptitle(title)
    if len(received):
        pulse = np.array(_sar.transmitted_pulse(acq, replica))
        n, over = 1 << (len(received) + len(pulse)).bit_length(), 8
        s = np.fft.fftshift(np.fft.fft(received, n) * np.conj(np.fft.fft(pulse, n)))
        fine = np.fft.ifft(np.fft.ifftshift(np.pad(s, n * (over - 1) // 2))) * over
        taps = (len(received) - len(pulse)) // 2
        x = np.arange(n * over) / over - taps
        keep = np.abs(x) <= taps
        energy = np.sum(np.abs(pulse) ** 2)
        axes[0].plot(x[keep], 20 * np.log10(np.maximum(np.abs(fine[keep]) / energy, 1e-6)))
        axes[0].set(xlabel="samples from the measured delay", ylabel="correlation (dB)",
                    ylim=(-60, 3))
    middle = np.median(delay)
    axes[-2].plot(t, delay - middle, ".")
    axes[-2].set(xlabel="time (ms)", ylabel=f"delay minus {middle:.3f} (samples)")
    axes[-1].plot(t, phase, ".")
    axes[-1].set(xlabel="time (ms)", ylabel="phase (rad)")
    for a in axes:
        a.grid(alpha=0.3)
    if not c["valid"]:
        axes[0].set_title(c["problem"], fontsize=8, wrap=True)
    figure.savefig(path, dpi=100)


def run(args, say=print):
    """The subcommand; returns the exit status."""
    if not args.input and not args.args:
        raise ValueError("there is nothing to measure; expected a recording, or a radio: --args")
    if args.input and args.args:
        raise ValueError(f"{args.input[0]} was given together with --args; expected recordings or a "
                         "radio")
    if args.reference is not None and len(args.input) > 1:
        raise ValueError(f"--reference belongs to one recording, {len(args.input)} were given")
    key = dict(args.key)
    if args.output:
        os.makedirs(args.output, exist_ok=True)
    names = [os.path.basename(p).rsplit(".", 1)[0] for p in args.input] or ["radio"]
    good, found = True, []
    for name, path in zip(names, args.input or [None]):
        base = "calibration" if len(names) == 1 else f"calibration_{name}"
        target = os.path.join(args.output, base + ".json") if args.output else ""
        if path is None:
            block, acq, replica = _live(args, key, target, say)
        else:
            block, acq, replica = _recorded(path, args, key, target)
        if block.error():
            raise ValueError(block.error())
        c = cal.check(block.calibrations()[-1])
        expected = None
        if args.expect:
            expected = (cal.lookup(args.expect, c["key"]) if os.path.isdir(args.expect)
                        else cal.read(args.expect))
        rows = judge(c, expected if c["valid"] else None)
        print(f"{path or args.args}")
        print(table(rows))
        warnings = list(c["warnings"])
        if expected is not None and c["valid"]:
            warnings += [w for w in (cal.compare(c, expected),) if w]
        for w in warnings:
            print(f"warning: {w}", file=sys.stderr)
        good = good and all(r[-1] for r in rows)
        if c["valid"]:
            found.append(c["delay_s"] * c["sample_rate_hz"])
        if args.output and block.arrivals():
            try:
                picture(block, acq, replica, os.path.join(args.output, base + ".png"),
                        path or args.args)
            except ImportError:
                print("no picture: matplotlib is missing (Debian: python3-matplotlib)",
                      file=sys.stderr)
    if len(found) > 1:
        print(f"{len(found)} starts: delays of {min(found):.3f} to {max(found):.3f} samples: "
              + ("the same each time" if max(found) - min(found) < 0.1 else
                 "drawn anew at each start, so measure at each start"))
    print("PASS" if good else "FAIL")
    return 0 if good else 1
