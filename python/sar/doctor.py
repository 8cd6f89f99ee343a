# SPDX-License-Identifier: GPL-3.0-or-later
"""``gr_sar doctor``: look at an installation, name what is wrong, and the command that mends it.

It runs where nothing else does: this file imports the standard library only, and everything
that may fail (GNU Radio, the compiled module, GRC, Soapy) is tried in processes of its own,
so that a crash there is a finding here.
"""

import argparse
import glob
import json
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST_GNURADIO = (3, 10, 1)
PY = f"{sys.version_info[0]}.{sys.version_info[1]}"
UHD_BUFFER_BYTES = 33554432  # what UHD asks of net.core.rmem_max for radios on Ethernet

# what each Python package is for: import name, required, package of Debian, of conda, purpose
PACKAGES = (
    ("numpy", True, "python3-numpy", "numpy", "every block"),
    ("scipy", False, "python3-scipy", "scipy", "GOTCHA .mat files"),
    ("PIL", False, "python3-pil", "pillow", "PNG images"),
    ("matplotlib", False, "python3-matplotlib", "matplotlib-base", "annotated figures"),
    ("tqdm", False, "python3-tqdm", "tqdm", "progress bars"),
    ("PyQt5", False, "python3-pyqt5", "pyqt", "GNU Radio Companion's Qt displays"),
)


# ---- findings ---------------------------------------------------------------------------


class Report:
    """Findings in order: name of the check, status, one sentence, and the cure."""

    WORDS = {"ok": "OK", "warning": "WARN", "failure": "FAIL"}

    def __init__(self):
        self.findings = []

    def _add(self, name, status, text, cure=None):
        self.findings.append({"name": name, "status": status, "text": text, "cure": cure})

    def ok(self, name, text):
        self._add(name, "ok", text)

    def warning(self, name, text, cure):
        self._add(name, "warning", text, cure)

    def failure(self, name, text, cure):
        self._add(name, "failure", text, cure)

    def count(self, status):
        return sum(f["status"] == status for f in self.findings)

    def text(self):
        lines = []
        for f in self.findings:
            lines.append(f"{self.WORDS[f['status']]:<5}{f['name']:<11}{f['text']}")
            if f["cure"]:
                lines.append(f"{'':<16}cure: {f['cure']}")
        failures, warnings = self.count("failure"), self.count("warning")
        lines.append(f"{failures} failure{'' if failures == 1 else 's'}, "
                     f"{warnings} warning{'' if warnings == 1 else 's'}"
                     + ("" if failures else ": what is needed works"))
        return "\n".join(lines)


# ---- what kind of machine, and how things are installed on it ---------------------------


def conda_prefix():
    """The conda environment that this Python belongs to, or None."""
    return sys.prefix if os.path.isdir(os.path.join(sys.prefix, "conda-meta")) else None


def is_debian():
    try:
        with open("/etc/os-release", encoding="utf-8") as f:
            return bool(re.search(r'^ID(_LIKE)?=.*\b(debian|ubuntu)\b', f.read(), re.M))
    except OSError:
        return False


def install_command(debian, conda):
    """The command that installs something for this Python."""
    if conda_prefix():
        return f"conda install -c conda-forge {conda}"
    if is_debian():
        return f"sudo apt install {debian}"
    return f"install {debian} (Debian's name) with your package manager"


def without(variable, *unwanted):
    """The command that takes folders out of a path variable."""
    left = [p for p in os.environ.get(variable, "").split(os.pathsep)
            if p and os.path.realpath(p) not in map(os.path.realpath, unwanted)]
    return f"export {variable}={shlex.quote(os.pathsep.join(left))}" if left else f"unset {variable}"


def get_rid(variable, *folders):
    """The command that makes folders not found: out of the variable that names them, else the
    removal of the installation they belong to."""
    named = [os.path.realpath(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
    if any(os.path.realpath(f) in named for f in folders):
        return without(variable, *folders)
    commands = []
    for folder in folders:
        prefix = prefix_of(folder + os.sep)
        package = run_tool("dpkg", "-S", os.path.join(folder, "gnuradio", "sar"))
        if os.path.exists(os.path.join(prefix, "share", "gr-sar", "install_manifest.txt")):
            commands.append(f"./dev uninstall {shlex.quote(prefix)}")
        elif package:
            commands.append(f"sudo apt remove {package.split(':')[0]}")
        else:
            commands.append(f"remove what is in {folder} with what installed it")
    return "; ".join(sorted(set(commands)))


def own_prefix():
    """The prefix that this file was installed to, or None (source tree)."""
    folder = HERE
    while folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, "share", "gr-sar", "environment.sh")):
            return folder
        folder = os.path.dirname(folder)
    return None


def set_paths(variable, folder):
    """The command that makes this installation found."""
    prefix = own_prefix()
    if prefix:
        return f". {shlex.quote(os.path.join(prefix, 'share', 'gr-sar', 'environment.sh'))}"
    return f"export {variable}={shlex.quote(folder)}${{{variable}:+:${variable}}}"


def build_info(folders):
    """The constants of build_info.py in the first of the folders that has one."""
    for folder in folders:
        path = os.path.join(folder, "build_info.py")
        if os.path.exists(path):
            return runpy.run_path(path)
    return None


def probe(program, timeout_s=120):
    """Run a program in a new process of this Python; it fills the dictionary `out`.

    Returns (out, None), or (out so far, what went wrong). It runs in the root folder, so that
    a folder gnuradio/ where the user happens to be does not matter.
    """
    mark = "--gr-sar-doctor--"
    text = ("import json, sys\nout = {}\ntry:\n"
            + "".join(f"    {line}\n" for line in program.strip().splitlines())
            + "except BaseException as e:\n"
            "    out['error'] = f'{type(e).__name__}: {e}'\n"
            f"print('\\n{mark}' + json.dumps(out), flush=True)\n"
            "import os\nos._exit(0)\n")
    env = dict(os.environ, GR_CONF_CONTROLPORT_ON="False", PYTHONDONTWRITEBYTECODE="1")
    try:
        done = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout_s, cwd="/", env=env)
    except subprocess.TimeoutExpired:
        return {}, f"no answer within {timeout_s} s"
    said = done.stdout.decode(errors="replace")
    if mark not in said:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        if done.returncode < 0:
            return {}, f"the process was ended by signal {-done.returncode}"
        return {}, last[0] if last else f"exit status {done.returncode}"
    out = json.loads(said.rsplit(mark, 1)[1])
    return out, out.pop("error", None)


MAPS = """
def maps(part):
    try:
        with open('/proc/self/maps') as f:
            return sorted({l.split(None, 5)[5].strip() for l in f if part in l})
    except OSError:
        return []
"""


def run_tool(*command, timeout_s=30):
    """Output of a program, or None when it is not there, fails or hangs."""
    if not shutil.which(command[0]):
        return None
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def same_file(a, b):
    return os.path.realpath(a) == os.path.realpath(b)


def prefix_of(path):
    """/opt/x of /opt/x/lib/python3/dist-packages/... or /opt/x/lib/libsomething.so."""
    found = re.match(r"(.*)/lib(?:32|64)?/", path)
    return (found.group(1) or "/") if found else path.rstrip(os.sep)


# ---- checks -----------------------------------------------------------------------------


def check_python(r, state):
    text = f"{platform.python_version()}, {sys.executable}"
    if conda_prefix():
        text += f", conda environment {conda_prefix()}"
    elif sys.prefix != sys.base_prefix:
        text += f", virtual environment {sys.prefix}"
    r.ok("python", text)

    active = os.environ.get("CONDA_PREFIX")
    if active and not same_file(active, sys.prefix):
        r.warning("python", f"the conda environment {active} is active, but this Python is not "
                  "of it: libraries of both get mixed", "conda deactivate")
    for entry in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        other = re.search(r"/python(3\.\d+)/", entry + "/")
        if not os.path.isdir(entry):
            r.warning("python", f"PYTHONPATH names {entry}, which is not there",
                      without("PYTHONPATH", entry))
        elif other and other.group(1) != PY:
            r.warning("python", f"PYTHONPATH names {entry}, which is for Python {other.group(1)}; "
                      f"this is Python {PY}", without("PYTHONPATH", entry))
        elif conda_prefix() and entry.startswith("/usr/"):
            r.warning("python", f"PYTHONPATH brings {entry} of the system into a conda "
                      "environment", without("PYTHONPATH", entry))


def gnuradio_packages(paths):
    """Folders gnuradio/ that are a GNU Radio (have gr/), on the path and at usual places."""
    roots = list(paths)
    for prefix in ("/usr", "/usr/local", "/opt/*", os.path.expanduser("~/.local"),
                   os.path.expanduser("~/radioconda"), os.environ.get("CONDA_PREFIX", ""),
                   os.environ.get("GR_PREFIX", "")):
        if prefix:
            roots += sorted(glob.glob(os.path.join(prefix, "lib*", "python3*", "*-packages")))
    found = []
    for root in roots:
        folder = os.path.join(root, "gnuradio")
        if (os.path.isdir(os.path.join(folder, "gr"))
                and not any(same_file(folder, f) for f in found)):
            found.append(folder)
    return found


def other_pythons():
    """Other interpreters of this machine that have GNU Radio."""
    found = []
    for path in ("/usr/bin/python3", "/usr/local/bin/python3", shutil.which("python3") or "",
                 os.path.join(os.environ.get("CONDA_PREFIX", "/nowhere"), "bin", "python3")):
        # by name: the Python of a virtual environment is a link to the one it was made with
        if (os.path.exists(path) and path != sys.executable
                and run_tool(path, "-c", "from gnuradio import gr") is not None):
            found.append(path)
    return found


def check_gnuradio(r, state):
    out, wrong = probe(MAPS + """
out['sys_path'] = [p for p in sys.path if p]
import gnuradio
out['file'] = gnuradio.__file__
out['path'] = list(gnuradio.__path__)
from gnuradio import gr
out['version'], out['prefix'] = gr.version(), gr.prefix()
out['runtime'] = maps('libgnuradio-runtime')
""")
    state["gnuradio"] = out
    several = gnuradio_packages(out.get("sys_path", sys.path))
    used = os.path.dirname(out["file"]) if out.get("file") else None
    others = [f for f in several if used is None or not same_file(f, used)]
    on_path = [f for f in others
               if os.path.dirname(f) in map(os.path.normpath, out.get("sys_path", []))]
    if wrong:
        state["gnuradio_works"] = False
        pythons = other_pythons() if not used else []
        if used and on_path:
            r.failure("gnuradio", f"{used} hides the GNU Radio in {on_path[0]} and does not work "
                      f"itself ({wrong})", get_rid("PYTHONPATH", os.path.dirname(used)))
        elif used:
            r.failure("gnuradio", f"the GNU Radio in {used} does not import: {wrong}",
                      install_command("--reinstall gnuradio", "--force-reinstall gnuradio"))
        elif pythons:
            r.failure("gnuradio", f"Python {sys.executable} has no GNU Radio; {pythons[0]} has",
                      "python3 -m venv --system-site-packages ENV, made with " + pythons[0]
                      if sys.prefix != sys.base_prefix and not conda_prefix()
                      else f"export PATH={os.path.dirname(pythons[0])}:$PATH")
        else:
            r.failure("gnuradio", f"no GNU Radio in this Python ({wrong})",
                      install_command("gnuradio", "gnuradio"))
        return
    state["gnuradio_works"] = True
    version = tuple(int(n) for n in re.findall(r"\d+", out["version"])[:3])
    if version < OLDEST_GNURADIO:
        oldest = ".".join(map(str, OLDEST_GNURADIO))
        r.failure("gnuradio", f"{out['version']} in {used}; {oldest} or later is needed",
                  install_command("gnuradio", f"'gnuradio>={oldest}'"))
    else:
        r.ok("gnuradio", f"{out['version']}, prefix {out['prefix']}, Python package {used}")
    if others:
        r.warning("gnuradio", f"several GNU Radios: {used} is used, {', '.join(others)} "
                  f"{'is' if len(others) == 1 else 'are'} there, too",
                  without("PYTHONPATH", *map(os.path.dirname, on_path)) if on_path else
                  "keep one; remove the other with what installed it (apt, conda, or "
                  "'make uninstall' where it was built)")
    for lib in out["runtime"]:
        if not same_file(prefix_of(lib), prefix_of(used)):
            r.warning("gnuradio", f"the Python package is of {prefix_of(used)}, but the library "
                      f"that it loads is {lib}", get_rid("LD_LIBRARY_PATH", os.path.dirname(lib)))
    companion = shutil.which("gnuradio-companion") or shutil.which("grcc")
    if companion:
        with open(companion, "rb") as f:
            first = f.readline().decode(errors="replace").strip()
        words = first[2:].split() if first.startswith("#!") else []
        if words and words[0].endswith("/env"):
            words = [shutil.which(words[-1]) or words[-1]]
        if words and os.path.exists(words[0]) and not same_file(words[0], sys.executable):
            r.warning("gnuradio", f"{companion} runs in {words[0]}, not in {sys.executable}",
                      f"export PATH={os.path.dirname(sys.executable)}:$PATH")
    first = shutil.which("python3")
    if first and not same_file(first, sys.executable) and not run_tool(
            first, "-c", "from gnuradio import gr; print(1)"):
        r.warning("gnuradio", f"python3 on the PATH is {first}, which has no GNU Radio; "
                  f"{sys.executable} has", f"export PATH={os.path.dirname(sys.executable)}:$PATH")


def bytes_of(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def pybind_abi(path):
    """The tag by which pybind11 modules share their types; modules of other tags do not."""
    found = re.search(rb"__pybind11_internals_v\w+", bytes_of(path))
    return found.group().decode() if found else None


def compiled_for(name):
    """'3.9' of sar_python.cpython-39-x86_64-linux-gnu.so."""
    found = re.search(r"\.cpython-3(\d+)", name)
    return f"3.{found.group(1)}" if found else None


def explain_import(wrong, folder, info):
    """(sentence, cure) of an exception from `from gnuradio import sar`."""
    rebuild = "build gr-sar again for this GNU Radio: cmake --build build --clean-first, ./dev install"
    library = re.search(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file", wrong)
    if library and library.group(1).startswith("libgnuradio-sar"):
        return (f"the library {library.group(1)} is not found",
                set_paths("LD_LIBRARY_PATH", os.path.join(prefix_of(folder), "lib"))
                + "; or, where the prefix is /usr/local: sudo ldconfig")
    if library and library.group(1).startswith("libgnuradio"):
        return (f"the module was built for another GNU Radio ({library.group(1)} is not there"
                + (f", it was {info['GNURADIO']}" if info else "") + ")", rebuild)
    if library and library.group(1).startswith("libcu"):
        toolkit = next(iter(glob.glob(f"/usr/local/cuda*/lib*/{library.group(1)}")), None)
        return (f"{library.group(1)} of CUDA {info['CUDA'] if info else ''} is not found",
                f"export LD_LIBRARY_PATH={os.path.dirname(toolkit)}"
                "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" if toolkit else
                "install that CUDA toolkit (its cuFFT), or the build for the CPU")
    if library:
        return (f"the library {library.group(1)} is missing",
                "ask apt-file search, or install the package that has it")
    if "unknown base type" in wrong or "undefined symbol" in wrong:
        return f"the module was built for another GNU Radio or pybind11: {wrong}", rebuild
    if "signal" in wrong:
        return f"the module crashes when it is imported ({wrong}): built for another GNU Radio", rebuild
    return f"it does not import: {wrong}", rebuild


def check_module(r, state):
    if "gnuradio" not in state:
        check_gnuradio(Report(), state)
    gnuradio = state["gnuradio"]
    paths = gnuradio.get("path") or [os.path.join(p, "gnuradio")
                                     for p in gnuradio.get("sys_path", sys.path)]
    folders = []
    for path in paths:
        folder = os.path.join(path, "sar")
        if (os.path.exists(os.path.join(folder, "__init__.py"))
                and not any(same_file(folder, f) for f in folders)):
            folders.append(folder)
    installed = os.path.basename(os.path.dirname(HERE)) == "gnuradio"
    if not folders:
        hidden = [os.path.join(p, "gnuradio", "sar") for p in gnuradio.get("sys_path", [])
                  if os.path.exists(os.path.join(p, "gnuradio", "sar", "__init__.py"))]
        if hidden:
            r.failure("module", f"{hidden[0]} is on Python's path, but the GNU Radio in "
                      f"{gnuradio.get('file')} does not look there (it lacks extend_path)",
                      f"install gr-sar into GNU Radio's prefix: ./dev install "
                      f"{gnuradio.get('prefix', 'PREFIX')}")
        elif installed:
            r.failure("module", f"Python does not look into {os.path.dirname(os.path.dirname(HERE))}"
                      ", where gr-sar is installed",
                      set_paths("PYTHONPATH", os.path.dirname(os.path.dirname(HERE))))
        else:
            r.failure("module", "gr-sar is not installed for this Python",
                      "./dev install, or from the source tree: ./dev run gr_sar doctor")
        return
    folder = folders[0]
    state["module_folder"] = folder
    info = build_info([folder])
    version = info["VERSION"] if info else "of unknown version"
    if len(folders) > 1:
        r.warning("module", f"several gr-sar: {folder} is used, {', '.join(folders[1:])} "
                  "is there, too", get_rid("PYTHONPATH", *(os.path.dirname(os.path.dirname(f))
                                                           for f in folders[1:])))
    if installed and not any(same_file(HERE, f) for f in folders[:1]):
        r.warning("module", f"this program is of {HERE}, but Python takes {folder}",
                  set_paths("PYTHONPATH", os.path.dirname(os.path.dirname(HERE))))

    compiled = sorted(glob.glob(os.path.join(folder, "sar_python*.so")))
    suffixes = sysconfig.get_config_var("EXT_SUFFIX"), ".abi3.so", ".so"
    usable = [c for c in compiled for s in suffixes if os.path.basename(c) == "sar_python" + s]
    if not compiled:
        r.failure("module", f"{folder} lacks the compiled module sar_python"
                  f"{suffixes[0]}: the build or the installation did not end",
                  "in gr-sar's source tree: ./dev install (from a package: "
                  "sudo apt install --reinstall gr-sar)")
        return
    if not usable:
        other = compiled_for(os.path.basename(compiled[0]))
        r.failure("module", f"{os.path.basename(compiled[0])} was built for Python {other}; this "
                  f"is Python {PY}, {sys.executable}",
                  (f"run with python{other}, or b" if shutil.which(f"python{other}") else "b")
                  + "uild again with this Python: cmake -S . -B build "
                  f"-DPYTHON_EXECUTABLE={sys.executable}, ./dev install")
        return
    if not state.get("gnuradio_works"):
        r.failure("module", f"{version}, {folder}: not tried, since GNU Radio does not import",
                  "mend GNU Radio first (above)")
        return
    out, wrong = probe(MAPS + f"device = {state.get('device', 0)}" + """
from gnuradio import sar
out['file'] = sar.__file__
out['library'] = maps('libgnuradio-sar')
out['runtime'] = maps('libgnuradio-runtime')
out['fftw_threads'] = maps('libfftw3f_threads')
out['auto'] = sar.backend_description('auto', device)
try:
    out['cuda'] = sar.backend_description('cuda', device)
except Exception as e:
    out['no_cuda'] = str(e)
from gnuradio import blocks, gr
tb = gr.top_block()
source = blocks.vector_source_c([1, 2j, 3, 4] * 8, False, 4)
stage = sar.detect(4, backend='cpu')
sink = blocks.vector_sink_f(4)
tb.connect(source, stage, sink)
tb.run()
out['values'] = list(sink.data())[:4]
""")
    gr_modules = glob.glob(os.path.join(os.path.dirname(gnuradio["file"]), "gr", "gr_python*.so"))
    theirs = pybind_abi(gr_modules[0]) if gr_modules else None
    ours = pybind_abi(usable[0])
    if theirs and ours and theirs != ours:
        r.failure("module", f"built with another pybind11 or compiler than GNU Radio: {ours} "
                  f"against {theirs}; they share no types",
                  "build with GNU Radio's own: " + install_command(
                      "pybind11-dev g++, build with /usr/bin/python3, ./dev install",
                      "pybind11 cxx-compiler, build in this environment"))
        return
    if wrong and "file" not in out:
        sentence, cure = explain_import(wrong, folder, info)
        r.failure("module", f"{version}, {folder}: {sentence}", cure)
        return
    state["sar"] = out
    r.ok("module", f"gr-sar {version}, {folder}")
    libraries = out.get("library", [])
    if len(out.get("runtime", [])) > 1:
        r.failure("library", f"two GNU Radios in one process: {', '.join(out['runtime'])}",
                  "build gr-sar again for the GNU Radio in " + gnuradio.get("prefix", "use"))
    elif info and libraries and not re.search(
            r"\.so\." + re.escape(version) + "$", libraries[0]):
        r.failure("library", f"the Python files are of {version}, but the library is {libraries[0]}",
                  "install again: ./dev install")
    elif libraries and own_prefix() and installed and not same_file(
            prefix_of(libraries[0]), prefix_of(folder)):
        r.warning("library", f"the module is of {prefix_of(folder)}, but its library is "
                  f"{libraries[0]}", get_rid("LD_LIBRARY_PATH", os.path.dirname(libraries[0])))
    else:
        r.ok("library", ", ".join(libraries))
    if wrong or out.get("values") != [1.0, 2.0, 3.0, 4.0]:
        r.failure("flowgraph", f"detect of 1, 2j, 3, 4 gave {out.get('values')}"
                  + (f": {wrong}" if wrong else ""),
                  "GNU Radio's buffers may lack shared memory (line 'limits'); else report it")
    else:
        r.ok("flowgraph", f"one ran; auto runs on {out['auto']}")


def check_grc(r, state):
    out, wrong = probe("""
from gnuradio import gr
from gnuradio.grc.core.platform import Platform
p = Platform(version=gr.version(), version_parts=(gr.major_version(), gr.api_version(),
             gr.minor_version()), prefs=gr.prefs())
out['paths'] = list(p.config.block_paths)
p.build_library()
out['blocks'] = {k: list(b.category or []) for k, b in p.blocks.items() if k.startswith('sar_')}
""")
    missing_grc = wrong and "paths" not in out
    if missing_grc:
        if "gnuradio" in state and not state.get("gnuradio_works"):
            r.warning("grc", "not tried, since GNU Radio does not import",
                      "mend GNU Radio first (above)")
        else:
            r.warning("grc", f"GNU Radio Companion is not there ({wrong})",
                      install_command("gnuradio", "gnuradio-grc"))
        return
    if wrong:
        r.failure("grc", f"GRC cannot load its blocks: {wrong}",
                  f"mend or remove the block file it stumbles over, in {', '.join(out['paths'])}")
        return
    info = build_info([state.get("module_folder", HERE), HERE])
    if info is None:
        r.warning("grc", "not judged: the list of our blocks (build_info.py) is not there",
                  "mend the module first")
        return
    missing = sorted(set(info["BLOCKS"]) - set(out.get("blocks", {})))
    without_category = sorted(k for k, c in out.get("blocks", {}).items() if not c)
    files = {}
    for path in out["paths"]:
        for file in glob.glob(os.path.join(path, "**", "sar_*.block.yml"), recursive=True):
            files.setdefault(os.path.basename(file), []).append(file)
    twice = [f for f in files.values() if len({os.path.realpath(x) for x in f}) > 1]
    if missing:
        prefix = own_prefix()
        folder = (os.path.join(prefix, "share", "gnuradio", "grc", "blocks") if prefix else
                  os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "grc"))
        folder = os.path.normpath(folder)
        on_disk = os.path.exists(os.path.join(folder, missing[0] + ".block.yml"))
        r.failure("grc", f"GRC does not list {len(missing)} of our {len(info['BLOCKS'])} blocks "
                  f"({', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}); it looks in "
                  f"{', '.join(out['paths']) or 'no folder'}",
                  set_paths("GRC_BLOCKS_PATH", folder) if on_disk
                  else f"install gr-sar again: {folder} lacks them")
    elif without_category:
        r.failure("grc", f"these blocks have no category: {', '.join(without_category)}",
                  "install gr-sar again")
    else:
        where = sorted({os.path.dirname(f[0]) for f in files.values()})
        r.ok("grc", f"lists all {len(info['BLOCKS'])} blocks, from {', '.join(where)}")
    if twice:
        r.warning("grc", f"{len(twice)} block files are there twice: {', '.join(twice[0])}",
                  get_rid("GRC_BLOCKS_PATH", os.path.dirname(twice[0][-1])))


def nvidia_cards():
    """(list of (name, driver, compute capability, memory), CUDA version of the driver)."""
    text = run_tool("nvidia-smi", "--query-gpu=name,driver_version,compute_cap,memory.total",
                    "--format=csv,noheader")
    cards = [[v.strip() for v in line.split(",")] for line in (text or "").splitlines()]
    cards = [c for c in cards if len(c) == 4]
    version = re.search(r"CUDA Version: *(\d+\.\d+)", run_tool("nvidia-smi") or "")
    return cards, version.group(1) if version else None


def runs_on(capability, architectures):
    """Whether code built for these architectures runs on a card of this compute capability,
    such as 8.6: machine code of the same major and no higher minor number, or PTX of a lower
    architecture (entries without -real)."""
    major, minor = (int(n) for n in capability.split("."))
    card = 10 * major + minor
    for a in architectures:
        found = re.match(r"(\d+)[a-f]?(-real|-virtual)?$", a)
        if not found:
            continue
        number, kind = int(found.group(1)), found.group(2)
        if kind != "-virtual" and number // 10 == major and number <= card:
            return True
        if kind != "-real" and number <= card:
            return True
    return False


def check_gpu(r, state):
    cards, driver_cuda = nvidia_cards()
    folder = state.get("module_folder", HERE)
    info = build_info([folder, HERE])
    built = info["CUDA"] if info else ""
    on_bus = False
    for vendor in glob.glob("/sys/bus/pci/devices/*/vendor"):
        try:
            with open(vendor, encoding="ascii") as f, open(
                    os.path.join(os.path.dirname(vendor), "class"), encoding="ascii") as c:
                on_bus |= f.read().strip() == "0x10de" and c.read().startswith("0x03")
        except OSError:
            pass
    rebuild = ("build with CUDA: cmake -S . -B build -DENABLE_CUDA=ON "
               "-DCMAKE_CUDA_ARCHITECTURES=native, ./dev install"
               + ("; or conda install -c conda-forge gnuradio-sar 'cuda-version>=12'"
                  if conda_prefix() else ""))
    r.ok("cuda build", f"CUDA {built}, architectures {' '.join(info['CUDA_ARCHITECTURES'])}"
         if built else "none: everything runs on the CPU")
    if not cards:
        if on_bus:
            r.warning("gpu", "an NVIDIA card is on the bus, but its driver does not answer "
                      "(nvidia-smi)", install_command("nvidia-driver", "nvidia-driver")
                      .replace("conda install -c conda-forge nvidia-driver",
                               "install the driver with the system's package manager")
                      + ", then start the machine again")
        else:
            r.ok("gpu", "none: everything runs on the CPU")
        return
    for number, (name, driver, capability, memory) in enumerate(cards):
        text = f"{number}: {name}, {memory}, compute capability {capability}, driver {driver}"
        if not built:
            r.warning("gpu", text + "; not used, since this build has no CUDA", rebuild)
        elif not runs_on(capability, info["CUDA_ARCHITECTURES"]):
            r.warning("gpu", text + "; not used, since this build has code for "
                      f"{' '.join(info['CUDA_ARCHITECTURES'])} alone", rebuild)
        elif driver_cuda and int(driver_cuda.split(".")[0]) < int(built.split(".")[0]):
            r.warning("gpu", text + f"; the driver knows CUDA up to {driver_cuda}, this build is "
                      f"of CUDA {built}", "bring the driver up to date, or build with the older "
                      "toolkit")
        else:
            r.ok("gpu", text)
    if built and os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        r.warning("gpu", "CUDA_VISIBLE_DEVICES hides every card", "unset CUDA_VISIBLE_DEVICES")
    elif built and "no_cuda" in state.get("sar", {}):
        r.warning("gpu", f"CUDA does not start: {state['sar']['no_cuda']}",
                  "see docs/install.md, 'gpu'")


def check_packages(r, state):
    names = [p[0] for p in PACKAGES]
    out, wrong = probe(f"""
import importlib
for name in {names!r}:
    try:
        m = importlib.import_module(name)
        v = getattr(m, '__version__', None)
        if v is None and name == 'PyQt5':
            from PyQt5.QtCore import PYQT_VERSION_STR as v
        out[name] = [str(v), getattr(m, '__file__', None)]
    except BaseException as e:
        out[name] = [None, f'{{type(e).__name__}}: {{e}}'.splitlines()[0]]
""")
    have = []
    for name, needed, debian, conda, purpose in PACKAGES:
        version, where = out.get(name, (None, wrong))
        if version is not None:
            have.append(f"{name} {version}")
            continue
        say = r.failure if needed else r.warning
        if "No module named" in where:
            say("packages", f"{name} is not there; needed for {purpose}",
                install_command(debian, conda))
        else:
            # most often a package from pip that hides the distribution's
            say("packages", f"{name} does not import ({where}); needed for {purpose}",
                f"{sys.executable} -m pip list --user; {sys.executable} -m pip uninstall numpy "
                f"(or what hides the distribution's), then {install_command(debian, conda)}")
    r.ok("packages", ", ".join(have))


def soapy_module_dirs(prefix):
    return sorted(glob.glob(os.path.join(prefix, "lib*", "SoapySDR", "modules*"))
                  + glob.glob(os.path.join(prefix, "lib*", "*", "SoapySDR", "modules*")))


def check_soapy(r, state):
    text = run_tool("SoapySDRUtil", "--info")
    binding, _ = probe("import SoapySDR\nout['version'] = SoapySDR.getAPIVersion()")
    gr_soapy, _ = probe("from gnuradio import soapy\nout['have'] = True")
    if text is None and not binding:
        r.warning("soapy", "SoapySDR is not there; needed for radios through gr-soapy and the "
                  "simulated radar", install_command("soapysdr-tools python3-soapysdr "
                                                     "soapysdr-module-all", "soapysdr"))
        return
    if not gr_soapy:
        r.warning("soapy", "GNU Radio has no gr-soapy (gnuradio.soapy does not import)",
                  install_command("gnuradio", "gnuradio-soapy"))
    text = text or ""
    found = re.search(r"Available factories\.*\s*(.*)", text)  # a list, or 'No factories found!'
    drivers = re.findall(r"\w+", found.group(1)) if found and "No f" not in found.group(1) else []
    for line in text.splitlines():
        broken = re.match(r"Module found: (\S+)\s+(.*(?:cannot|undefined|mismatch|failed).*)", line)
        if broken:
            r.warning("soapy", f"{broken.group(1)} does not load: {broken.group(2).strip()}",
                      "remove it, or install it again with its package")
    version = re.search(r"Lib Version: *v?(\S+)", text)
    r.ok("soapy", f"SoapySDR {version.group(1) if version else binding.get('version')}, drivers: "
         f"{', '.join(drivers) or 'none'}" + ("" if binding else "; no Python binding"))
    if "sarsim" not in drivers:
        prefix = own_prefix()
        ours = [d for d in soapy_module_dirs(prefix) if glob.glob(os.path.join(d, "*sarsim*"))] \
            if prefix else []
        if ours:
            r.warning("soapy", f"the simulated radar is in {ours[0]}, where SoapySDR does not "
                      "look", f"export SOAPY_SDR_PLUGIN_PATH={ours[0]}"
                      "${SOAPY_SDR_PLUGIN_PATH:+:$SOAPY_SDR_PLUGIN_PATH}")
        else:
            r.warning("soapy", "the simulated radar (driver=sarsim) is not installed",
                      install_command("libsoapysdr-dev", "soapysdr")
                      + ", then build and install gr-sar again")


def check_uhd(r, state):
    out, wrong = probe(MAPS + """
from gnuradio import uhd
out['library'] = maps('libuhd')
""")
    if wrong:
        r.warning("uhd", f"GNU Radio has no gr-uhd ({wrong}); needed for USRPs",
                  install_command("gnuradio uhd-host", "gnuradio-uhd"))
        return
    text = f"gr-uhd with {', '.join(out['library'])}"
    try:
        with open("/proc/sys/net/core/rmem_max", encoding="ascii") as f:
            size = int(f.read())
        if size < UHD_BUFFER_BYTES:
            text += (f"; for USRPs on Ethernet: sudo sysctl -w net.core.rmem_max={UHD_BUFFER_BYTES}"
                     f" (now {size})")
    except (OSError, ValueError):
        pass
    r.ok("uhd", text)


def check_fftw(r, state):
    sar = state.get("sar")
    if sar is None:
        return
    if sar["fftw_threads"]:
        r.ok("fftw", f"with threads: {sar['fftw_threads'][0]}")
    else:
        r.warning("fftw", "GNU Radio's FFT was built without threads: long transforms on the CPU "
                  "use one core", "use a GNU Radio whose FFTW has threads "
                  "(libfftw3f_threads), as those of Debian and conda-forge")
    home = os.path.expanduser("~")
    if not os.access(home, os.W_OK):
        r.warning("fftw", f"{home} is not writable: plans of FFTW (.gr_fftw_wisdom) are made anew "
                  "at each start", "export HOME=FOLDER with a folder of yours")


def gibibytes(n):
    return f"{n / 2**30:.1f} GiB"


def check_machine(r, state):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = f"{cores} core{'' if cores == 1 else 's'}"
    asked = os.environ.get("OMP_NUM_THREADS")
    if asked:
        text += f", OMP_NUM_THREADS={asked}"
    memory = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as f:
            memory = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in f}
    except (OSError, ValueError):
        pass
    total, free = memory.get("MemTotal"), memory.get("MemAvailable")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit, encoding="ascii") as f:
                total = min(total, int(f.read()))
        except (OSError, ValueError, TypeError):
            pass
    if total:
        text += f", {gibibytes(total)} of memory, {gibibytes(min(free, total))} free"
    if free is not None and free < 2**30:
        r.warning("machine", text + ": an image of 4096 x 4096 needs about 1 GiB",
                  "close programs, or focus smaller images (--size)")
    else:
        r.ok("machine", text)

    # GNU Radio's buffers are double-mapped shared memory, one or two a connection
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    text = f"{files} open files" if files != resource.RLIM_INFINITY else "open files unlimited"
    if files != resource.RLIM_INFINITY and files < 256:
        r.warning("limits", f"{files} open files are allowed; a large flowgraph needs more",
                  "ulimit -n 1024")
    try:
        with open("/proc/sys/kernel/shmmax", encoding="ascii") as f:
            shmmax = int(f.read())
        with open("/proc/sys/kernel/shmmni", encoding="ascii") as f:
            shmmni = int(f.read())
        if shmmax < 2**25 or shmmni < 256:
            r.warning("limits", f"shared memory: kernel.shmmax={shmmax}, kernel.shmmni={shmmni}; "
                      "GNU Radio's buffers need more",
                      "sudo sysctl -w kernel.shmmax=2147483647 kernel.shmmni=32000")
    except (OSError, ValueError):
        pass
    try:
        space = os.statvfs("/dev/shm")
        free = space.f_bavail * space.f_frsize
        text += f", /dev/shm {gibibytes(free)} free"
        if free < 2**26:
            r.warning("limits", f"/dev/shm has {free // 2**20} MiB free; buffers of GNU Radio and "
                      "of emulated devices live there",
                      "sudo mount -o remount,size=50% /dev/shm (docker run --shm-size=1g)")
    except OSError:
        pass
    r.ok("limits", text)


CHECKS = {"python": check_python, "gnuradio": check_gnuradio, "module": check_module,
          "grc": check_grc, "gpu": check_gpu, "packages": check_packages, "soapy": check_soapy,
          "uhd": check_uhd, "fftw": check_fftw, "machine": check_machine}


# ---- the command ------------------------------------------------------------------------


def add_arguments(parser):
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--only", action="append", choices=sorted(CHECKS), metavar="CHECK",
                        help="this check alone, may be repeated: " + ", ".join(CHECKS))


def run(args):
    """Check, print; 0 when what is needed works, 1 when not."""
    report, state = Report(), {"device": args.device}
    for name, check in CHECKS.items():
        if not args.only or name in args.only:
            check(report, state)
    if args.json:
        print(json.dumps({"works": report.count("failure") == 0, "findings": report.findings},
                         indent=1))
    else:
        print(report.text())
    return 1 if report.count("failure") else 0


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="gr_sar doctor", description="Look at this installation: each line is OK, or says "
        "what is wrong and the command that mends it. Exit status 0 when what is needed works.")
    parser.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    add_arguments(parser)
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
