#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hot CUDA kernels cost, read from a library without a GPU, against a stored table.

    kernel_resources.py LIBRARY           compare; exits with 1 and says what became worse
    kernel_resources.py LIBRARY --update  write what this library has into the table

For each architecture in the library: registers a thread, bytes of stack (registers that did
not fit: 0, but for the few kernels whose bytes the table has), static shared memory, instructions,
and instructions of the innermost loop that computes most. Numbers belong to the nvcc that compiled
the library: with another than that of the table nothing is compared, and that is said. So is an
architecture that the table has not; it may not spill all the same.

Needs cuobjdump and nvdisasm of the CUDA toolkit (or the wheels nvidia-cuda-cuobjdump and
nvidia-cuda-nvdisasm); exits with 77, skipped, without them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "kernels" / "cuda" / "kernel_resources.json"
# kernels whose numbers are kept; of all others only the stack is looked at
HOT = re.compile(r"line_filter|fused_rcmc|fused_rows|scaling_rows|stolt_rows|column_|patch_kernel|tile_kernel")
# what tells the loop that computes
FLOATS = re.compile(r"\b(FFMA|FMUL|FADD|HFMA2|FFMA2)\b")


def tool(name):
    """Path of a program of the toolkit, None where there is none."""
    places = [shutil.which(name)]
    nvcc = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", nvcc and Path(nvcc).resolve().parent.parent]
    places += [Path(r) / "bin" / name for r in roots if r]
    places += [Path(p) / "nvidia" / "cu13" / "bin" / name for p in sys.path if p]
    for p in places:
        if p and os.access(p, os.X_OK):
            return str(p)
    return None


def run(*command, env=None):
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def demangled(names):
    """{mangled: readable name without namespaces, parameters and return type}."""
    filt = shutil.which("c++filt")
    if not filt:
        raise SystemExit("c++filt of binutils is needed to name kernels")
    text = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    out = {}
    for mangled, line in zip(names, text.splitlines()):
        line = re.sub(r"gr::sar::|kernel::|cuda::|\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", line)
        line = re.sub(r"\((unsigned )?(int|bool|unsigned long|short|char)\)", "", line)  # casts of arguments
        line = line.removeprefix("void ")
        depth, end = 0, len(line)
        for i, c in enumerate(line):  # the parameters follow the closing bracket of the template
            depth += (c == "<") - (c == ">")
            if c == "(" and depth == 0:
                end = i
                break
        out[mangled] = line[:end].replace(" ", "")
    return out


def resources(library, cuobjdump):
    """{(arch, mangled): {registers, stack, shared}}."""
    found, arch, name = {}, None, None
    for line in run(cuobjdump, "-res-usage", library).splitlines():
        if m := re.match(r"arch = (sm_\w+)", line):
            arch = m[1]
        elif m := re.match(r"\s*Function (\S+):", line):
            name = m[1]
        elif name and (m := re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", line)):
            regs, stack, shared, local = map(int, m.groups())
            found[arch, name] = {"registers": regs, "stack": stack + local, "shared": shared}
            name = None
    return found


def loops(code):
    """Instructions of the innermost loop with most arithmetic, 0 if there is none.

    \\p code: (address, text) of the instructions of a kernel.
    """
    back = []
    for at, text in code:
        m = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", text)
        if m and int(m[1], 16) <= at:
            back.append((int(m[1], 16), at))
    best = (0, 0)
    for first, last in back:
        if any(first <= f and l <= last and (f, l) != (first, last) for f, l in back):
            continue  # not innermost
        inside = [text for at, text in code if first <= at <= last]
        best = max(best, (sum(bool(FLOATS.search(t)) for t in inside), len(inside)))
    return best[1]


def instructions(library, cuobjdump, env):
    """{(arch, mangled): (instructions, of them in the loop)}."""
    found, arch, name, code = {}, None, None, []

    def close():
        if name:
            found[arch, name] = (len(code), loops(code))

    process = subprocess.Popen([cuobjdump, "-sass", library], stdout=subprocess.PIPE, text=True, env=env)
    for line in process.stdout:
        if m := re.match(r"\s*code for (sm_\w+)", line):
            close()
            arch, name = m[1], None
        elif m := re.match(r"\s*Function : (\S+)", line):
            close()
            name, code = m[1], []
        elif m := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);", line):
            if not re.match(r"(NOP|BRA `?\(?\.L_x_\d+\)?\s*$)", m[2]):
                code.append((int(m[1], 16), m[2]))
    close()
    if process.wait():
        raise SystemExit(f"{cuobjdump} -sass {library} failed ({process.returncode})")
    return found


def version(nvcc):
    """13.0 of a version 13.0.48, or of what the nvcc on the path says."""
    if not nvcc:
        program = tool("nvcc")
        nvcc = re.search(r"release ([\d.]+)", run(program, "--version"))[1] if program else "unknown"
    return ".".join(nvcc.split(".")[:2])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--nvcc", help="version that compiled the library (that of nvcc on the path)")
    parser.add_argument("--table", type=Path, default=TABLE)
    a = parser.parse_args(argv)
    cuobjdump, nvdisasm = tool("cuobjdump"), tool("nvdisasm")
    if not cuobjdump or not nvdisasm:
        print("skipped: cuobjdump and nvdisasm of the CUDA toolkit are not there (wheels: nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm)")
        return 77
    env = dict(os.environ, PATH=f"{Path(nvdisasm).parent}:{os.environ['PATH']}")
    used = resources(a.library, cuobjdump)
    if not used:
        print(f"skipped: no device code in {a.library}")
        return 77
    counts = instructions(a.library, cuobjdump, env)
    names = demangled(sorted({m for _, m in used}))
    now = {}
    for (arch, mangled), r in used.items():
        total, loop = counts.get((arch, mangled), (0, 0))
        now.setdefault(arch, {})[names[mangled]] = {**r, "instructions": total, "loop": loop}

    nvcc = version(a.nvcc)
    table = json.loads(a.table.read_text()) if a.table.exists() else {"nvcc": nvcc, "kernels": {}}
    same_nvcc = table["nvcc"] == nvcc
    spilling = [f"{arch} {k}: {v['stack']} bytes of stack, expected at most {allowed}"
                for arch, kernels in now.items() for k, v in kernels.items()
                if v["stack"] > (allowed := table["kernels"].get(arch, {}).get(k, {}).get("stack", 0))]
    wrong = spilling if same_nvcc and not a.update else []
    if a.update:
        table["nvcc"] = nvcc
        for arch, kernels in sorted(now.items()):
            table["kernels"][arch] = {
                k: {n: v[n] for n in ("registers", "stack", "shared", "instructions", "loop")}
                for k, v in sorted(kernels.items()) if HOT.search(k) or v["stack"]}
        a.table.write_text(json.dumps(table, indent=1) + "\n")
        print(f"{a.table}: {sum(map(len, table['kernels'].values()))} kernels")
    elif same_nvcc:
        better = 0
        for arch, kernels in now.items():
            stored = table["kernels"].get(arch)
            if stored is None:
                print(f"{arch} is not in the table: only its stack is looked at")
                continue
            for k, was in stored.items():
                is_now = kernels.get(k)
                if is_now is None:
                    wrong.append(f"{arch} {k}: in the table, not in the library; --update")
                    continue
                for what, v in was.items():
                    if what == "stack":
                        continue  # looked at above
                    # a few instructions more or less are the compiler's mood
                    allowed = v * 1.02 if what in ("instructions", "loop") else v
                    if is_now[what] > allowed:
                        wrong.append(f"{arch} {k}: {what} {is_now[what]}, expected at most {v}")
                    better += is_now[what] < 0.98 * v
            for k in kernels:
                if HOT.search(k) and k not in stored:
                    wrong.append(f"{arch} {k}: not in the table; --update")
        if better:
            print(f"{better} numbers are better than in the table: --update keeps them")
    else:
        print(f"the table is of nvcc {table['nvcc']}, this is {nvcc}: nothing to compare; "
              f"{len(spilling)} kernels with more stack than there")
    for line in wrong:
        print(line)
    print(f"{sum(map(len, now.values()))} kernels for {', '.join(sorted(now))}: " + ("FAILED" if wrong else "ok"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
