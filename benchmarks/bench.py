#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""./dev bench: what this machine has, measured side by side, in one table.

    bench.py --build BUILD [--device cuda|cpu|all] [--sizes 1024,4096] [--json FILE] [--verbose]

Runs the benchmark programs of the build and the peers of peers.py one after another, each with
a machine to itself. The share of the floor is that of a copy of the data, read and written as
often as the workload has to at least, measured in the same run. A result that misses its
accuracy prints no time.
"""

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
# passes over memory that cannot be saved
PASSES = {"pulse compression": 1, "column transform": 1, "range-Doppler": 3, "omega-k": 3, "chirp scaling": 3}
OURS = "gr-sar"


def peer_environment():
    """Without what belongs to the Python of this process, which a bundle may have brought along."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
    if "SAR_PEER_LD_LIBRARY_PATH" in env:
        env["LD_LIBRARY_PATH"] = env["SAR_PEER_LD_LIBRARY_PATH"]
    return env


def peer_python():
    """A Python with array libraries: SAR_PEER_PYTHON, or the first that has torch, cupy or numpy."""
    if os.environ.get("SAR_PEER_PYTHON"):
        return os.environ["SAR_PEER_PYTHON"]
    best = None
    for p in ("python3", "/usr/bin/python3"):
        for module in ("torch", "cupy", "numpy"):
            if subprocess.run([p, "-c", f"import {module}"], capture_output=True, env=peer_environment()).returncode == 0:
                if module != "numpy":
                    return p
                best = best or p
    return best


def run(command, rows, verbose, env=os.environ):
    """Run a program that adds to the file \\p rows; says how it went."""
    env = dict(env, SAR_BENCH_ROWS=str(rows))
    began = time.monotonic()
    done = subprocess.run(command, env=env, text=True, capture_output=not verbose)
    shown = " ".join(Path(c).name if os.sep in c else c for c in command)
    print(f"  {shown}: {time.monotonic() - began:.0f} s" + (f", FAILED ({done.returncode})" if done.returncode else ""), file=sys.stderr)
    if done.returncode and not verbose:
        print((done.stdout + done.stderr)[-2000:], file=sys.stderr)
    elif not verbose and "left out:" in done.stderr:
        print("    " + "\n    ".join(s for s in done.stderr.splitlines() if s.startswith("left out:")), file=sys.stderr)
    return done.returncode == 0


def machine(device):
    if device == "cuda":
        query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory", "--format=csv,noheader"]
        try:
            return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
        except (OSError, subprocess.CalledProcessError, IndexError):
            return "GPU"
    model = next((s.split(":")[1].strip() for s in open("/proc/cpuinfo") if s.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def table(rows, device):
    """Lines of the table of a device."""
    rows = [r for r in rows if r["device"] == device]
    copies = {r["size"]: r["ms"] for r in rows if r["workload"] == "copy"}
    keys = list(dict.fromkeys((r["workload"], r["size"]) for r in rows if r["workload"] != "copy"))
    lines = ["| workload | size | who | ms | rate | of the floor | gr-sar is faster by | error, dB |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for key in keys:
        same = [r for r in rows if (r["workload"], r["size"]) == key]

        def cost(r):  # of the same amount of work; none where it was inaccurate
            return r["ms"] / r.get("work", 1) if r["ms"] else None

        same.sort(key=lambda r: (not r["who"].startswith(OURS), cost(r) or math.inf))
        ours = next((cost(r) for r in same if r["who"].startswith(OURS) and r["ms"]), None)
        for r in same:
            floor = PASSES.get(key[0], 0) * copies.get(key[1], 0)
            lines.append("| " + " | ".join([
                key[0], key[1], r["who"],
                f"{r['ms']:.3f}" if r["ms"] else "inaccurate",
                f"{r['work'] / r['ms'] / 1e6:.1f} G/s" if r.get("work") and r["ms"] else "",
                f"{100 * floor / r['ms']:.0f} %" if floor and r["ms"] else "",
                f"{cost(r) / ours:.1f}" if ours and r["ms"] and not r["who"].startswith(OURS) else "",
                f"{r['error_db']:.0f}" if "error_db" in r else ""]) + " |")
    return lines


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="folder with the benchmark programs, or with kernels/ that has them")
    parser.add_argument("--device", choices=["cuda", "cpu", "all"], default="all")
    parser.add_argument("--sizes", type=lambda s: [int(x) for x in s.split(",")], help="of square frames")
    parser.add_argument("--json", type=Path, help="write all rows there")
    parser.add_argument("--verbose", action="store_true", help="show what the programs print")
    a = parser.parse_args(argv)
    programs = a.build / "kernels" if (a.build / "kernels").is_dir() else a.build

    gpu = subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0 if shutil.which("nvidia-smi") else False
    devices = [d for d in ("cuda", "cpu") if a.device in (d, "all") and (d == "cpu" or gpu)]
    if not devices:
        raise SystemExit("bench: --device cuda: nvidia-smi finds no GPU; expected one, or --device cpu")
    good = True
    everything = []
    with tempfile.TemporaryDirectory() as folder:
        for device in devices:
            sizes = [str(n) for n in a.sizes or ([4096, 8192, 16384] if device == "cuda" else [1024, 4096])]
            rows = Path(folder) / f"{device}.jsonl"
            rows.touch()
            commands = [["bench_range_doppler", device, *sizes]]
            commands += [["bench_fft"], ["bench_column_fft"]] if device == "cuda" else []
            commands += [["bench_bp", device], ["bench_flowgraph", device]]
            for c in commands:
                for program in (programs / c[0], a.build / "lib" / c[0]):
                    if program.exists():
                        good &= run([str(program), *c[1:]], rows, a.verbose)
            python = peer_python()
            if python:
                good &= run([python, str(HERE / "peers.py"), device, *sizes], rows, a.verbose, peer_environment())
            got = [json.loads(line) for line in rows.read_text().splitlines()]
            everything += got
            print(f"\n{machine(device)}; {datetime.now(timezone.utc):%Y-%m-%d}\n")
            print("\n".join(table(got, device)), flush=True)
    if a.json:
        a.json.write_text(json.dumps({"date": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", "machines": {d: machine(d) for d in devices},
                                      "rows": everything}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
