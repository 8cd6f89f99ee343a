#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""./dev soak: a radar at work for minutes, on this machine and without hardware.

    soak.py [--seconds 600] [--rate 20e6] [--backend cpu] [--pace real_time] [--json FILE]
            [--find-rate] [--every 30] [--realtime] [--settings KEY=VALUE,...]

sarsim (driver=sarsim, a B210 whose antenna goes to and fro before one target) ->
radar_transceiver -> pulse_compression -> bp_accumulator (60 x 50 pixels, 400 pulses, an image
each 100) -> image_sink, 1000 pulses a second. A row of the table each --every seconds; at the
end PASS, or FAIL and why:

  lines     no pulse lost: each one sent, received and framed
  memory    resident memory does not grow by more than 1 % and 4 MB once a minute is over (a
            quarter of a shorter run)
  image     the target at its place in every image: half a range cell, half a metre along the track
  latency   is measured, not judged: from the moment the last pulse of an image left to the
            image's last row in the sink

When a pulse left is known by sarsim's clock, asked through a second handle on the same device;
it is the wall's with pace=real_time, and means nothing otherwise. Beside it stands how far off
the block's own estimate is, which image_sink writes into the log: it knows when samples come in,
not when they were taken.

--find-rate repeats runs of --seconds (10), each a quarter faster than the last one, until pulses
are lost or a B210 has no higher one (61.44 MS/s), and says the last rate that held.
"""

import argparse
import array
import gc
import itertools
import json
import os
import re
import resource
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone

import numpy as np
import pmt
from bench import machine
from gnuradio import gr, sar

PRF, CARRIER, SPEED_M_S, HALF_TRACK_M = 1000, 5.8e9, 20.0, 10.0
TARGET_M = (1.5, 150.0, 0.0)
PULSES_PER_IMAGE, HOP = 400, 100
OVERSAMPLING = 4
LEAK_S, LEAD_S = 4e-9, 0.25
HIGHEST_RATE = 61.44e6  # that a B210 has
MAY_GROW, MAY_GROW_MB = 0.01, 4.0
NUMBERS = itertools.count(1)  # that devices are told apart by


def acquisition(rate_hz):
    """Lines of 80 us: as long as samples of 20 MHz make them in 22_video_sar.grc."""
    return sar.acquisition(
        waveform="pulsed_lfm", samples=round(80e-6 * rate_hz), carrier_hz=CARRIER, prf_hz=float(PRF), sample_rate_hz=rate_hz,
        pulse_length_s=20e-6, chirp_rate_hz_per_s=0.75 * rate_hz / 20e-6, slant_range_first_m=0.0)


def track_of(seconds):
    """(times, positions): to and fro at constant speed, turns rounded by the record's spline."""
    t = np.arange(0, seconds + 3, 0.02)
    x = 2 * HALF_TRACK_M / np.pi * np.arcsin(0.995 * np.sin(np.pi * SPEED_M_S * t / (2 * HALF_TRACK_M)))
    return t, np.stack([x, 0 * t, 0 * t + 1.5], 1)


class positions_of_pulses(gr.sync_block):
    """Positions of pulses 0, 1, ...: their times are known once the radio has begun."""

    def __init__(self, track, pulses, radar):
        gr.sync_block.__init__(self, "positions", None, [(np.float64, 3)])
        self.track, self.pulses, self.radar, self.n, self.t0 = track, pulses, radar, 0, None

    def work(self, input_items, output_items):
        if self.t0 is None:
            first = self.radar.radio_status()["first_sample_s"]
            if first is None:
                time.sleep(0.001)
                return 0
            self.t0 = first + LEAD_S
            self.radar = None  # a block in Python is never freed, nor what it refers to
        out = output_items[0]
        n = min(len(out), self.pulses - self.n)
        if n == 0:
            return -1
        out[:n] = self.track.positions(self.t0 + self.n / PRF, PRF, n)
        self.n += n
        return n


class judge(gr.sync_block):
    """Looks at each image: when it came, and whether the target is at its place."""

    def __init__(self, grid, target, cell_m):
        gr.sync_block.__init__(self, "judge", [(np.complex64, grid.cols)], None)
        self.rows, self.cols, self.grid = grid.rows, grid.cols, grid
        self.tolerance_m = np.array([0.5, cell_m / 2])
        self.image = np.zeros((grid.rows, grid.cols), np.complex64)
        self.filled, self.tag = 0, None
        self.lock = threading.Lock()
        self.arrivals = []  # (last pulse, when the image was there, when the block thinks the pulse left)
        self.images = self.wrong = 0
        self.last, self.problem = None, ""
        self.target = np.array(target)

    def work(self, input_items, output_items):
        try:
            return self.look(input_items)
        except Exception as e:  # one thrown out of here would leave the flowgraph hanging
            self.problem = f"{type(e).__name__}: {e}"
            return -1

    def look(self, input_items):
        items, begin = input_items[0].reshape(-1, self.cols), self.nitems_read(0)
        tags = {t.offset - begin: t.value for t in self.get_tags_in_window(0, 0, len(items), pmt.intern("sar_image"))}
        for i, row in enumerate(items):
            if i in tags:
                self.tag, self.filled = pmt.to_python(tags[i]), 0
            self.image[self.filled] = row
            self.filled += 1
            if self.filled == self.rows:
                self.take()
        return len(items)

    def take(self):
        now = time.monotonic()
        t = self.tag
        with self.lock:
            self.arrivals.append((t["first_pulse"] + t["pulses"] - 1, now, t.get("last_pulse_host_s")))
        at = np.unravel_index(np.argmax(np.abs(self.image)), self.image.shape)
        where = np.array(self.grid.position(int(at[0]), int(at[1])))
        off = np.abs(where - self.target)[:2]
        self.last = where
        self.images += 1
        if t["complete"] and np.any(off > self.tolerance_m):
            self.wrong += 1


def threads():
    """{id: (name, seconds of a processor)} of this process."""
    out = {}
    tick = os.sysconf("SC_CLK_TCK")
    for tid in os.listdir("/proc/self/task"):
        try:
            text = open(f"/proc/self/task/{tid}/stat", encoding="utf-8").read()
        except OSError:
            continue  # ended meanwhile
        fields = text[text.rindex(")") + 2:].split()
        out[int(tid)] = (text[text.index("(") + 1:text.rindex(")")], (int(fields[11]) + int(fields[12])) / tick)
    return out


def resident_mb():
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status", encoding="utf-8").read()).group(1)) / 1024


def machine_seconds():
    """(busy, all) seconds of all processors together."""
    v = [int(x) for x in open("/proc/stat", encoding="utf-8").readline().split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    return (sum(v) - v[3] - v[4]) / tick, sum(v) / tick


def quantiles(ms):
    return [float(np.quantile(ms, q)) for q in (0.5, 0.95, 1)] if len(ms) else None


def shown(ms):
    return " / ".join(f"{v:.1f}" for v in ms) if ms else "-"


class Soak:
    def __init__(self, a, rate_hz, seconds, folder):
        self.a, self.rate_hz, self.seconds = a, rate_hz, seconds
        if round(rate_hz / PRF) * PRF != rate_hz:
            raise SystemExit(f"soak: --rate is {rate_hz:g}; expected a multiple of the {PRF} pulses a second")
        self.acq = acquisition(rate_hz)
        self.cell_m = sar.speed_of_light / (2 * self.acq.bandwidth_hz())
        times, positions = track_of(seconds)
        scene = os.path.join(folder, "scene.json")
        with open(scene, "w", encoding="utf-8") as f:
            json.dump({"format": "gr-sar scene", "version": 1, "targets": [{"position_m": TARGET_M, "amplitude": 0.01}],
                       "trajectory": {"times_s": times.tolist(), "positions_m": positions.tolist()}}, f)
        key = f"driver=sarsim,id=soak{os.getpid()}.{next(NUMBERS)},profile=b210"
        phase = -2 * np.pi * ((CARRIER * LEAK_S) % 1)
        args = f"{key},seed=1,pace={a.pace},scene={scene},leakage_db=-30,leakage_delay_s={LEAK_S},leakage_phase_rad={phase}"
        if a.settings:
            args += "," + a.settings
        track = sar.trajectory.sampled(times, positions)
        grid = sar.image_grid.centred(rows=60, cols=50, centre_m=(TARGET_M[0], TARGET_M[1], 0), row_axis=(1, 0, 0),
                                      col_axis=(0, 1, 0), row_spacing_m=0.1, col_spacing_m=min(self.cell_m / 6, 2.0))
        self.radar = sar.radar_transceiver(
            self.acq, PULSES_PER_IMAGE, args, transmit="timed", pulses=int(seconds * PRF), lead_s=LEAD_S, positions=True,
            correct="delay_phase", reference_delay_s=LEAK_S)
        # the same radio: for its clock
        self.device = None
        if a.pace == "real_time":
            import SoapySDR

            self.device = SoapySDR.Device(dict(v.split("=") for v in key.split(",")))
        compress = sar.pulse_compression(self.acq, OVERSAMPLING, "hamming", backend=a.backend)
        imager = sar.bp_accumulator(self.acq, grid, oversampling=OVERSAMPLING, interpolation="sinc8",
                                    pulses_per_image=PULSES_PER_IMAGE, hop=HOP, backend=a.backend)
        host = []
        if imager.backend().startswith("cuda"):
            host = [sar.to_host(grid.cols)]
        self.judge = judge(grid, TARGET_M, self.cell_m)
        self.sink = sar.image_sink(grid.cols)
        self.sink.logger.set_level("warn")  # its latencies are in the table
        self.positions = positions_of_pulses(track, int(seconds * PRF) + 1000, self.radar)
        self.stages = [self.radar, compress, imager, self.sink]
        self.tb = gr.top_block()
        self.tb.connect(self.positions, self.radar)
        self.tb.connect(self.radar, compress, imager, *host)
        last = host[-1] if host else imager
        self.tb.connect(last, self.sink)
        self.tb.connect(last, self.judge)
        self.tb.connect((self.radar, 1), (imager, 1))
        self.all_ms, self.off_ms = array.array("d"), array.array("d")
        self.rows, self.busiest = [], []

    def latencies(self):
        """Of the images since the last call, ms."""
        with self.judge.lock:
            arrivals, self.judge.arrivals = self.judge.arrivals, []
        if not self.device or self.positions.t0 is None:
            return []
        # the difference of the clocks between two looks at the host's
        best = None
        for _ in range(20):
            before = time.monotonic()
            radio = 1e-9 * self.device.getHardwareTime()
            after = time.monotonic()
            if best is None or after - before < best[0]:
                best = after - before, (before + after) / 2 - radio
        ms = []
        for pulse, there, thought in arrivals:
            left = best[1] + self.positions.t0 + pulse / PRF
            ms.append(1e3 * (there - left))
            if thought is not None:
                self.off_ms.append(1e3 * (thought - left))
        self.all_ms.extend(ms)
        return ms

    def row(self, begun, before):
        now, use, busy = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF), machine_seconds()
        used = use.ru_utime + use.ru_stime
        per_thread = threads()
        s, r = self.radar.status(), self.radar.radio_status()
        span = now - before["at"]
        row = {
            "s": now - begun, "samples": r["received_samples"], "lines": self.radar.nitems_written(0), "lost": s["lost"], "told": r["overflows"],
            "untold": r["untold_losses"] + s["silent_gaps"], "lost_samples": r["lost_samples"], "late": r["late"], "underflows": r["underflows"],
            "not_sent": r["not_sent"], "memory_mb": resident_mb(), "cpu": (used - before["used"]) / span,
            "machine": (busy[0] - before["busy"][0]) / max(busy[1] - before["busy"][1], 1e-9), "images": self.judge.images,
            "wrong": self.judge.wrong, "latency_ms": quantiles(self.latencies())}
        share = {}
        for tid, (name, seconds) in per_thread.items():
            name = "program" if tid == os.getpid() else "radio" if name == before["main"] else name
            share[name] = share.get(name, 0) + (seconds - before["threads"].get(tid, ("", 0))[1]) / span
        row["threads"] = dict(sorted(share.items(), key=lambda kv: -kv[1]))
        before.update(at=now, used=used, busy=busy, threads=per_thread)
        return row

    HEAD = ("   s  Msamples     lines  lost  told untold  late  memory/MB  cores  machine   latency/ms (median / 95 % / worst)")

    @staticmethod
    def text(r):
        return (f"{r['s']:4.0f} {r['samples'] / 1e6:9.1f} {r['lines']:9d} {r['lost']:5d} {r['told']:5d} {r['untold']:6d} {r['late']:5d} "
                f"{r['memory_mb']:10.1f} {r['cpu']:6.2f} {100 * r['machine']:6.0f} %   {shown(r['latency_ms'])}")

    def run(self):
        own = threads()
        use = resource.getrusage(resource.RUSAGE_SELF)
        before = dict(at=time.monotonic(), used=use.ru_utime + use.ru_stime, busy=machine_seconds(), threads=own, main=own[os.getpid()][0])
        begun = time.monotonic()
        self.tb.start()
        waiter = threading.Thread(target=self.tb.wait, daemon=True)
        waiter.start()
        # it ends by itself, unless it hangs
        patience_s = self.seconds + 30 if self.a.pace == "real_time" else 20 * self.seconds + 60
        next_row = begun + self.a.every
        settled_s = min(60.0, self.seconds / 4)
        settled_mb, most_mb = None, 0.0
        print(self.HEAD, flush=True)
        while waiter.is_alive():
            waiter.join(max(0.0, min(next_row - time.monotonic(), 1.0)))
            now = time.monotonic()
            if waiter.is_alive() and now - begun >= settled_s:
                mb = resident_mb()
                settled_mb = settled_mb or mb
                most_mb = max(most_mb, mb)
            if now >= next_row and waiter.is_alive():
                next_row += self.a.every
                self.rows.append(self.row(begun, before))
                print(self.text(self.rows[-1]), flush=True)
            if now - begun > patience_s or self.judge.problem:
                self.judge.problem = self.judge.problem or f"no end after {now - begun:.0f} s"
                self.tb.stop()
                break
        waiter.join(20)
        self.rows.append(self.row(begun, before))
        print(self.text(self.rows[-1]), flush=True)
        return self.verdict(settled_mb, most_mb)

    def verdict(self, settled_mb, most_mb):
        end = self.rows[-1]
        wanted = int(self.seconds * PRF)
        bad = [b.error() for b in self.stages if b.error()]
        if self.judge.problem:
            bad.append(self.judge.problem)
        if end["lost"] or end["lines"] != wanted or end["not_sent"]:
            bad.append(f"lines: {end['lines']} of {wanted}, {end['lost']} lost, {end['not_sent']} not sent; {self.behind()}")
        grown = most_mb - (settled_mb or most_mb)
        if grown > MAY_GROW * (settled_mb or 0) + MAY_GROW_MB:
            bad.append(f"memory: {grown:.1f} MB more than the {settled_mb:.1f} MB it had settled at")
        expected = wanted // HOP - PULSES_PER_IMAGE // HOP + 1
        if end["wrong"] or self.judge.images < expected:
            bad.append(f"image: {self.judge.images} of {expected}, the target off its place in {end['wrong']}, in the last one at "
                       f"{self.judge.last} in place of {TARGET_M}")
        result = {"rate_hz": self.rate_hz, "seconds": self.seconds, "backend": self.stages[2].backend(), "pace": self.a.pace, "pass": not bad,
                  "problems": bad, "memory_grown_mb": grown, "latency_ms": quantiles(self.all_ms),
                  "estimate_off_ms": quantiles(np.abs(self.off_ms)) if len(self.off_ms) else None, "rows": self.rows}
        print(f"latency over all {len(self.all_ms)} images: {shown(result['latency_ms'])} ms; the block's own clock of it is off by "
              f"{shown(result['estimate_off_ms'])} ms" if self.all_ms else "latency: not measured, the radio's clock is not the wall's")
        print(f"memory: {grown:+.1f} MB since it settled; cores by thread: " + ", ".join(f"{k} {v:.2f}" for k, v in self.shares().items()))
        print("PASS" if not bad else "FAIL: " + "\n      ".join(bad), flush=True)
        return result

    def shares(self):
        """Of a core, by thread: in the busiest row, since threads are gone at the end."""
        return max((r["threads"] for r in self.rows), key=lambda t: sum(t.values()))

    def behind(self):
        """Which stage could not keep up."""
        end = self.rows[-1]
        name, share = next(iter(self.shares().items()))
        busy = max(r["machine"] for r in self.rows)
        if end["late"] or end["underflows"]:
            what = "the radio's thread handed bursts over too late"
        elif end["told"] or end["untold"]:
            what = "the radio's samples were not read in time"
        elif end["lost_samples"]:
            what = "lines were not taken in time by what is behind radar_transceiver"
        else:
            what = "nothing was told"
        return (f"{what}; the busiest thread is {name} with {share:.2f} of a core, the machine is busy to {100 * busy:.0f} %, "
                f"{100 * max(r['cpu'] for r in self.rows) / os.cpu_count():.0f} % by this")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="600; with --find-rate 10 a run")
    parser.add_argument("--rate", type=float, default=20e6, help="samples a second")
    parser.add_argument("--backend", default="cpu", help="of pulse_compression and bp_accumulator")
    parser.add_argument("--pace", choices=["real_time", "fast"], default="real_time", help="fast: for the accounting alone")
    parser.add_argument("--every", type=float, default=30, help="seconds from row to row")
    parser.add_argument("--realtime", action="store_true", help="GNU Radio's real-time scheduling, ahead of other programs; needs the right to it")
    parser.add_argument("--settings", default="", help="further ones of sarsim, such as loss_at=40000000:25000")
    parser.add_argument("--find-rate", action="store_true", help="raise the rate until pulses are lost")
    parser.add_argument("--json", metavar="FILE", help="write everything there")
    a = parser.parse_args(argv)
    seconds = a.seconds or (10 if a.find_rate else 600)
    if not seconds >= 2:
        raise SystemExit(f"soak: --seconds is {seconds:g}; expected 2 or more, a few images")
    scheduling = "time sharing"
    if a.realtime:
        if gr.enable_realtime_scheduling() != gr.RT_OK:
            raise SystemExit("soak: --realtime: this user may not; expected root, or rtprio in /etc/security/limits.conf")
        scheduling = "real-time scheduling"
    print(f"{machine('cpu')}; {datetime.now(timezone.utc):%Y-%m-%d}; {scheduling}; load before {os.getloadavg()[0]:.1f}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        rate = a.rate
        while True:
            print(f"\n{rate / 1e6:g} MS/s, {seconds:g} s, {a.pace}", flush=True)
            results.append(Soak(a, rate, seconds, folder).run())
            gc.collect()
            if not a.find_rate or not results[-1]["pass"]:
                break
            if rate >= HIGHEST_RATE:
                break
            rate = min(round(1.25 * rate / 1e6) * 1e6, HIGHEST_RATE)
    held = [r["rate_hz"] for r in results if r["pass"]]
    if a.find_rate:
        print(f"\nhighest rate that held for {seconds:g} s: {max(held) / 1e6:g} MS/s" if held else "\nno rate held", flush=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump({"date": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", "machine": machine("cpu"), "scheduling": scheduling, "runs": results}, f, indent=1)
            f.write("\n")
    return 0 if (held if a.find_rate else results[-1]["pass"]) else 1


if __name__ == "__main__":
    sys.exit(main())
