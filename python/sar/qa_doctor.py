# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor on installations that are broken in one way each: it names the fault and the cure,
and the cure, where it is a command for the shell, mends it."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import sourced
from gnuradio.sar import doctor
from gnuradio.sar.build_info import BLOCKS, GNURADIO, VERSION

SUFFIX = next(s for s in (f".cpython-3{sys.version_info[1]}-x86_64-linux-gnu.so",
                          f".cpython-3{sys.version_info[1]}-aarch64-linux-gnu.so", ".so")
              if list(Path(doctor.__file__).parent.glob("sar_python" + s)))


@pytest.fixture
def site(install, tmp_path):
    """A copy of the installation to break: (prefix, its gnuradio/sar, environment)."""
    whole, env, _ = install
    prefix = tmp_path / "sar"
    shutil.copytree(whole, prefix, symlinks=True)
    script = prefix / "share/gr-sar/environment.sh"
    script.write_text(script.read_text().replace(str(whole), str(prefix)))
    # the Python that GNU Radio is for comes first, as on a user's machine
    env = dict(env, PATH=os.path.dirname(sys.executable) + ":" + env["PATH"])
    return prefix, next(prefix.glob("lib*/python3*/*-packages/gnuradio/sar")), env


@pytest.fixture
def healthy(site):
    prefix, folder, env = site
    return prefix, folder, sourced(prefix / "share/gr-sar/environment.sh", env)


def examine(folder, env, *only, python=sys.executable, cwd="/"):
    """(exit status, findings) of the doctor that is installed in a folder."""
    args = [a for name in only for a in ("--only", name)]
    done = subprocess.run([str(python), str(folder / "doctor.py"), "--json", *args], env=env,
                          cwd=cwd, capture_output=True, text=True)
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["works"] == (done.returncode == 0)
    return done.returncode, result["findings"]


def only_one(findings, status, *parts):
    """The one finding of this status, which says all of the parts; its cure."""
    found = [f for f in findings if f["status"] == status]
    assert len(found) == 1, findings
    for part in parts:
        assert str(part) in found[0]["text"], found[0]
    assert found[0]["cure"]
    return found[0]["cure"]


def after(cure, env):
    """The environment once the user has typed the cure."""
    done = subprocess.run(["bash", "-c", cure + ' && exec "$0" -c "import json, os; '
                           'print(json.dumps(dict(os.environ)))"', "/usr/bin/python3"],
                          env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_healthy(healthy):
    _, folder, env = healthy
    status, findings = examine(folder, env)
    assert status == 0
    said = {f["name"]: f["text"] for f in findings if f["status"] == "ok"}
    assert set(said) >= {"python", "gnuradio", "module", "library", "flowgraph", "grc",
                         "cuda build", "gpu", "packages", "fftw", "machine", "limits"}
    assert sys.executable in said["python"]
    assert f"gr-sar {VERSION}, {folder}" in said["module"]
    assert GNURADIO in said["gnuradio"]
    assert "auto runs on" in said["flowgraph"]
    assert f"all {len(BLOCKS)} blocks" in said["grc"]
    assert re.search(r"\d cores?, \d+\.\d GiB", said["machine"])
    text = subprocess.run(["gr_sar", "doctor"], env=env, cwd="/", capture_output=True, text=True)
    assert text.returncode == 0 and text.stdout.endswith("what is needed works\n")
    assert re.search(r"^OK   module     gr-sar ", text.stdout, re.M)


def test_each_check_and_fault_is_explained():
    """docs/install.md has a row for each check, and its faults are sentences of the doctor."""
    page = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).parents[2])) / "docs/install.md"
    text = page.read_text()
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == list(doctor.CHECKS)
    # joined over line ends, so that a sentence broken in the source is found
    source = re.sub(r'"\s*f?"', "", Path(doctor.__file__).read_text())
    faults = [f for row in re.findall(r"^\| (\*.+?) \| ", text, re.M)
              for f in re.findall(r"\*([^*]+)\*", row)]
    assert len(faults) >= 16
    for fault in faults:
        for part in re.split(r"\.\.\.|\(\.\.\.\)|\b[XYNM]\b|\bPIL\b", fault):
            assert part.strip(" ();:,") in source, fault


# ---- Python and GNU Radio ---------------------------------------------------------------


def test_installed_where_python_does_not_look(site):
    _, folder, env = site
    status, findings = examine(folder, env, "module", "grc")
    assert status == 1
    faults = {f["name"]: f for f in findings if f["status"] == "failure"}
    assert str(folder.parents[1]) in faults["module"]["text"]
    assert f"{len(BLOCKS)} of our {len(BLOCKS)} blocks" in faults["grc"]["text"]
    assert faults["module"]["cure"] == faults["grc"]["cure"]
    assert examine(folder, after(faults["grc"]["cure"], env), "module", "grc")[0] == 0


def test_python_path_with_a_folder_that_is_not_there(healthy):
    prefix, folder, env = healthy
    wrong = f"{prefix}/lib/python3/site-packages"
    broken = dict(env, PYTHONPATH=f"{wrong}:{env['PYTHONPATH']}")
    status, findings = examine(folder, broken, "python")
    cure = only_one(findings, "warning", wrong, "not there")
    assert after(cure, broken)["PYTHONPATH"] == env["PYTHONPATH"]
    # nothing else on it: the module is not found, and both are said
    status, findings = examine(folder, dict(env, PYTHONPATH=wrong), "python", "module")
    assert status == 1
    assert only_one(findings, "warning", wrong) == "unset PYTHONPATH"
    only_one(findings, "failure", folder.parents[1])


def test_python_path_of_another_python(healthy, tmp_path):
    _, folder, env = healthy
    old = tmp_path / "old/lib/python3.4/site-packages"
    old.mkdir(parents=True)
    _, findings = examine(folder, dict(env, PYTHONPATH=f"{old}:{env['PYTHONPATH']}"), "python")
    only_one(findings, "warning", old, "for Python 3.4")


def stub_gnuradio(tmp_path, program):
    stub = tmp_path / "other/lib/python3/site-packages"
    (stub / "gnuradio/gr").mkdir(parents=True)
    (stub / "gnuradio/__init__.py").write_text(program)
    (stub / "gnuradio/gr/__init__.py").write_text("from .gr_python import *\n")
    return stub


def test_second_gnuradio_that_hides_the_first(healthy, tmp_path):
    _, folder, env = healthy
    stub = stub_gnuradio(tmp_path, "")
    broken = dict(env, PYTHONPATH=f"{stub}:{env['PYTHONPATH']}")
    status, findings = examine(folder, broken, "gnuradio")
    assert status == 1
    cure = only_one(findings, "failure", f"{stub}/gnuradio hides the GNU Radio in", "gr_python")
    assert examine(folder, after(cure, broken), "gnuradio", "module")[0] == 0
    # the module's check says that it waits for that
    status, findings = examine(folder, broken, "gnuradio", "module", "grc")
    assert status == 1 and not [f for f in findings if f["name"] == "module" and f["status"] == "ok"]


def test_second_gnuradio_that_is_not_used(healthy, tmp_path):
    _, folder, env = healthy
    stub = stub_gnuradio(tmp_path, "")
    beside = dict(env, GR_PREFIX=str(tmp_path / "other"))
    status, findings = examine(folder, beside, "gnuradio")
    assert status == 0
    only_one(findings, "warning", "several GNU Radios", f"{stub}/gnuradio is there, too")


def test_gnuradio_that_does_not_look_into_other_prefixes(healthy, tmp_path):
    """A package gnuradio without extend_path, which works otherwise."""
    import gnuradio

    _, folder, env = healthy
    stub = stub_gnuradio(tmp_path, f"__path__ = [{str(Path(gnuradio.__file__).parent)!r}]\n")
    status, findings = examine(
        folder, dict(env, PYTHONPATH=f"{stub}:{env['PYTHONPATH']}"), "module")
    assert status == 1
    only_one(findings, "failure", folder, "does not look there", "extend_path")


def test_python_without_gnuradio(site, tmp_path):
    """A virtual environment that does not see the system's packages, and one that does."""
    _, folder, env = site
    for option, works in ((), False), (("--system-site-packages",), True):
        venv = tmp_path / f"venv{works}"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", *option, str(venv)], check=True)
        status, findings = examine(folder, dict(env, PATH=f"{venv}/bin:{env['PATH']}"), "python",
                                   "gnuradio", python=venv / "bin/python3")
        assert f"virtual environment {venv}" in findings[0]["text"]
        assert (status == 0) == works
        if not works:
            cure = only_one(findings, "failure", "has no GNU Radio; ", "has")
            assert "--system-site-packages" in cure
            # the same folder as a conda environment: its own package manager is named
            (venv / "conda-meta").mkdir()
            status, findings = examine(folder, dict(env, CONDA_PREFIX=str(venv)), "python",
                                       "packages", python=venv / "bin/python3")
            assert status == 1 and f"conda environment {venv}" in findings[0]["text"]
            cures = " ".join(f["cure"] or "" for f in findings)
            assert "conda install -c conda-forge numpy" in cures and "apt" not in cures
    _, findings = examine(folder, dict(env, CONDA_PREFIX=str(venv)), "python")
    assert only_one(findings, "warning", venv, "is active") == "conda deactivate"


# ---- the module -------------------------------------------------------------------------


def test_compiled_module_missing(healthy):
    prefix, folder, env = healthy
    (folder / f"sar_python{SUFFIX}").unlink()
    status, findings = examine(folder, env, "module")
    assert status == 1
    assert "./dev install" in only_one(findings, "failure", "lacks the compiled module", SUFFIX)
    # the program still starts, and sends there
    done = subprocess.run(["gr_sar", "info", "x"], env=env, cwd="/", capture_output=True, text=True)
    assert done.returncode == 1 and "gr_sar doctor" in done.stderr
    done = subprocess.run(["gr_sar", "doctor"], env=env, cwd="/", capture_output=True, text=True)
    assert done.returncode == 1 and "FAIL module" in done.stdout


def test_module_of_another_python(healthy):
    _, folder, env = healthy
    (folder / f"sar_python{SUFFIX}").rename(folder / "sar_python.cpython-34-x86_64-linux-gnu.so")
    status, findings = examine(folder, env, "module")
    assert status == 1
    cure = only_one(findings, "failure", "was built for Python 3.4", f"Python {doctor.PY}")
    assert f"-DPYTHON_EXECUTABLE={sys.executable}" in cure


def patch(file, old, new):
    """Other bytes of the same length in a binary."""
    data = file.read_bytes()
    assert old in data and len(old) == len(new)
    file.write_bytes(data.replace(old, new))


def test_module_of_another_gnuradio(healthy):
    _, folder, env = healthy
    patch(folder / f"sar_python{SUFFIX}", b"libgnuradio-runtime.so.3.10", b"libgnuradio-runtime.so.3.99")
    status, findings = examine(folder, env, "module")
    assert status == 1
    assert "build gr-sar again" in only_one(findings, "failure", "built for another GNU Radio",
                                            "libgnuradio-runtime.so.3.99")


def test_module_of_another_pybind11(healthy):
    _, folder, env = healthy
    module = folder / f"sar_python{SUFFIX}"
    tag = doctor.pybind_abi(module).encode()
    other = re.sub(rb"_v\d", b"_v9", tag)
    patch(module, tag, other)
    status, findings = examine(folder, env, "module")
    assert status == 1
    only_one(findings, "failure", "another pybind11 or compiler", other.decode(), tag.decode())


def test_library_missing(healthy):
    prefix, folder, env = healthy
    for file in prefix.rglob("libgnuradio-sar.so*"):
        file.unlink()
    status, findings = examine(folder, env, "module")
    assert status == 1
    only_one(findings, "failure", f"libgnuradio-sar.so.{VERSION} is not found")


@pytest.mark.parametrize("library, said, cure", [
    ("libcufft.so.99", "libcufft.so.99 of CUDA 12.4 is not found", "install that CUDA toolkit"),
    ("libz.so.1", "the library libz.so.1 is missing", "the package that has it"),
])
def test_library_of_others(library, said, cure):
    sentence, command = doctor.explain_import(
        f"ImportError: {library}: cannot open shared object file: No such file or directory",
        "/opt/x/lib/python3/dist-packages/gnuradio/sar", {"CUDA": "12.4"})
    assert sentence == said and cure in command


def test_library_of_another_place(healthy, tmp_path):
    prefix, folder, env = healthy
    stale = tmp_path / "stale/lib"
    stale.mkdir(parents=True)
    for file in prefix.rglob("libgnuradio-sar.so.*"):
        shutil.copy(file, stale)
    broken = dict(env, LD_LIBRARY_PATH=f"{stale}:{env['LD_LIBRARY_PATH']}")
    status, findings = examine(folder, broken, "module")
    assert status == 0
    cure = only_one(findings, "warning", f"its library is {stale}")
    assert not [f for f in examine(folder, after(cure, broken), "module")[1]
                if f["status"] != "ok"]


def test_python_files_of_another_version(healthy):
    _, folder, env = healthy
    info = folder / "build_info.py"
    info.write_text(info.read_text().replace(f'"{VERSION}"', '"9.8.7"'))
    status, findings = examine(folder, env, "module")
    assert status == 1
    only_one(findings, "failure", "Python files are of 9.8.7", f".so.{VERSION}")


def test_two_of_us(healthy, install):
    prefix, folder, env = healthy
    other = next(install[0].glob("lib*/python3*/*-packages"))
    status, findings = examine(folder, dict(env, PYTHONPATH=f"{env['PYTHONPATH']}:{other}"), "module")
    assert status == 0
    cure = only_one(findings, "warning", "several gr-sar", folder, f"{other}/gnuradio/sar is there")
    assert after(cure, dict(env, PYTHONPATH=f"{env['PYTHONPATH']}:{other}"))["PYTHONPATH"] == \
        env["PYTHONPATH"]
    # not on the path by a variable: the installation is to be removed, or put first
    done = examine(next(install[0].glob("lib*/python3*/*-packages/gnuradio/sar")), env, "module")
    only_one(done[1], "warning", "this program is of", folder)


@pytest.mark.parametrize("program, said", [
    ("import os; os.kill(os.getpid(), 11)\n", "crashes when it is imported"),
    ("raise ImportError('generic_type: type \"to_host\" referenced unknown base type "
     "\"gr::block\"')\n", "another GNU Radio or pybind11"),
    ("raise ImportError('x.so: undefined symbol: _ZN2gr5blockC2Ev')\n", "undefined symbol"),
    ("raise RuntimeError('odd')\n", "RuntimeError: odd"),
])
def test_import_that_fails(healthy, program, said):
    _, folder, env = healthy
    (folder / "__init__.py").write_text(program)
    status, findings = examine(folder, env, "module")
    assert status == 1
    only_one(findings, "failure", said)


def test_where_one_stands_does_not_matter(healthy, tmp_path):
    """A folder gnuradio/ in the current folder (a source tree) is not taken for GNU Radio."""
    _, folder, env = healthy
    (tmp_path / "cwd/gnuradio").mkdir(parents=True)
    (tmp_path / "cwd/gnuradio/__init__.py").write_text("raise ImportError('mine')")
    assert examine(folder, env, "gnuradio", "module", cwd=tmp_path / "cwd")[0] == 0


# ---- GRC --------------------------------------------------------------------------------


def test_grc_path_missing(healthy):
    _, folder, env = healthy
    broken = {k: v for k, v in env.items() if k != "GRC_BLOCKS_PATH"}
    status, findings = examine(folder, broken, "module", "grc")
    assert status == 1
    cure = only_one(findings, "failure", f"does not list {len(BLOCKS)} of our {len(BLOCKS)} blocks")
    assert examine(folder, after(cure, broken), "module", "grc")[0] == 0


def test_block_file_missing_or_twice(healthy, install):
    prefix, folder, env = healthy
    whole = install[0] / "share/gnuradio/grc/blocks"
    _, findings = examine(folder, dict(env, GRC_BLOCKS_PATH=f"{env['GRC_BLOCKS_PATH']}:{whole}"), "grc")
    cure = only_one(findings, "warning", f"{len(BLOCKS)} block files are there twice", whole)
    assert str(whole) not in cure and cure.startswith("export GRC_BLOCKS_PATH=")
    (prefix / "share/gnuradio/grc/blocks/sar_detect.block.yml").unlink()
    status, findings = examine(folder, env, "grc")
    assert status == 1
    assert "install gr-sar again" in only_one(findings, "failure", f"1 of our {len(BLOCKS)} blocks",
                                              "sar_detect")


def test_blocks_that_grc_cannot_load(healthy, tmp_path):
    """GRC itself breaks off (another version's, here one that lacks build_library)."""
    _, folder, env = healthy
    (tmp_path / "sitecustomize.py").write_text(
        "import gnuradio.grc.core.platform as p\ndel p.Platform.build_library\n")
    status, findings = examine(folder, dict(env, PYTHONPATH=f"{tmp_path}:{env['PYTHONPATH']}"), "grc")
    assert status == 1
    only_one(findings, "failure", "cannot load its blocks", "build_library")


# ---- what lies around it ----------------------------------------------------------------


def test_packages(healthy, tmp_path):
    """A package that is missing, one that another numpy broke, and numpy itself."""
    _, folder, env = healthy
    for name in ("PIL", "numpy"):
        (tmp_path / "pip" / name).mkdir(parents=True)
    (tmp_path / "pip/PIL/__init__.py").write_text("raise ImportError('built for numpy 1')")
    hidden = dict(env, PYTHONPATH=f"{tmp_path / 'pip'}:{env['PYTHONPATH']}")
    (tmp_path / "pip/numpy/__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'x'\")")
    status, findings = examine(folder, hidden, "packages")
    assert status == 1
    assert "numpy" in only_one(findings, "failure", "numpy", "every block")
    faults = {f["text"].split()[0]: f for f in findings if f["status"] == "warning"}
    assert "built for numpy 1" in faults["PIL"]["text"] and "PNG" in faults["PIL"]["text"]


def fake_card(tmp_path, capability, cuda, env):
    tool = tmp_path / "bin/nvidia-smi"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text("#!/bin/sh\ncase \"$*\" in\n"
                    f"*query*) echo 'Test Card, 535.1, {capability}, 8192 MiB' ;;\n"
                    f"*) echo '| Driver Version: 535.1   CUDA Version: {cuda} |' ;;\nesac\n")
    tool.chmod(0o755)
    return dict(env, PATH=f"{tmp_path / 'bin'}:{env['PATH']}")


def set_build(folder, cuda, architectures):
    text = (folder / "build_info.py").read_text()
    text = re.sub('^CUDA = .*', f'CUDA = "{cuda}"', text, flags=re.M)
    text = re.sub('^CUDA_ARCHITECTURES = "[^"]*"', f'CUDA_ARCHITECTURES = "{architectures}"', text,
                  flags=re.M)
    (folder / "build_info.py").write_text(text)


@pytest.mark.parametrize("capability, driver, built, architectures, said", [
    ("8.6", "12.4", "", "", "this build has no CUDA"),
    ("8.6", "12.4", "12.4", "90-real", "code for 90-real alone"),
    ("8.6", "11.8", "12.4", "86", "the driver knows CUDA up to 11.8"),
    ("8.6", "12.4", "12.4", "75-real 86-real", None),
])
def test_card_and_build(healthy, tmp_path, capability, driver, built, architectures, said):
    _, folder, env = healthy
    set_build(folder, built, architectures)
    status, findings = examine(folder, fake_card(tmp_path, capability, driver, env), "gpu")
    assert status == 0
    if said:
        only_one(findings, "warning", "Test Card, 8192 MiB", said)
    else:
        assert [f["text"] for f in findings if f["name"] == "gpu"] == [
            "0: Test Card, 8192 MiB, compute capability 8.6, driver 535.1"]


def test_card_that_is_hidden(healthy, tmp_path):
    _, folder, env = healthy
    set_build(folder, "12.4", "86")
    env = dict(fake_card(tmp_path, "8.6", "12.4", env), CUDA_VISIBLE_DEVICES="")
    _, findings = examine(folder, env, "gpu")
    assert only_one(findings, "warning", "hides every card") == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize("capability, architectures, runs", [
    ("9.0", "90-real", True), ("9.0", "80-real", False), ("8.9", "86-real", True),
    ("8.6", "89-real", False), ("12.0", "90", True), ("12.0", "90-real", False),
    ("7.5", "80", False), ("9.0", "90a-real", True), ("10.0", "90-virtual", True),
    ("8.7", "75-real 80-real", True),
])
def test_code_that_runs_on_a_card(capability, architectures, runs):
    """Compute capabilities: machine code runs on cards of its major and a minor number not below
    its own, PTX on every later card (CUDA programming guide)."""
    assert doctor.runs_on(capability, architectures.split()) is runs


def fake_soapy(tmp_path, env, factories, more=""):
    tool = tmp_path / "bin/SoapySDRUtil"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text("#!/bin/sh\ncat <<'T'\nLib Version: v0.8.1-3\nAPI Version: v0.8.200\n"
                    f"{more}\nAvailable factories... {factories}\nT\n")
    tool.chmod(0o755)
    return dict(env, PATH=f"{tmp_path / 'bin'}:{env['PATH']}")


def test_soapy(healthy, tmp_path):
    prefix, folder, env = healthy
    for folder_of_modules in prefix.rglob("SoapySDR"):
        shutil.rmtree(folder_of_modules)
    _, findings = examine(folder, fake_soapy(tmp_path, env, "lime, sarsim"), "soapy")
    assert [f["status"] for f in findings] == ["ok"]
    assert "0.8.1-3, drivers: lime, sarsim" in findings[0]["text"]
    _, findings = examine(folder, fake_soapy(tmp_path, env, "No factories found!"), "soapy")
    only_one(findings, "warning", "driver=sarsim", "not installed")
    # installed, but not where SoapySDR looks
    modules = prefix / "lib/SoapySDR/modules0.8"
    modules.mkdir(parents=True)
    (modules / "libsarsimSupport.so").write_bytes(b"")
    _, findings = examine(folder, fake_soapy(tmp_path, env, "lime"), "soapy")
    cure = only_one(findings, "warning", modules)
    for before, found in ({}, str(modules)), ({"SOAPY_SDR_PLUGIN_PATH": "/x"}, f"{modules}:/x"):
        clean = {k: v for k, v in env.items() if k != "SOAPY_SDR_PLUGIN_PATH"}
        assert after(cure, dict(clean, **before))["SOAPY_SDR_PLUGIN_PATH"] == found
    broken = "Module found: /x/libbad.so    (dlopen() failed: libz9.so: cannot open)"
    _, findings = examine(folder, fake_soapy(tmp_path, env, "sarsim", broken), "soapy")
    only_one(findings, "warning", "/x/libbad.so does not load", "libz9.so")


def test_cures_are_commands(healthy):
    """Whatever is quoted survives a shell: a prefix with a blank."""
    prefix, folder, env = healthy
    odd = prefix.parent / "a b"
    shutil.move(str(prefix), odd)
    script = odd / "share/gr-sar/environment.sh"
    script.write_text(script.read_text().replace(str(prefix), str(odd)))
    folder = odd / folder.relative_to(prefix)
    bare = {k: v for k, v in env.items() if k not in ("PYTHONPATH", "GRC_BLOCKS_PATH")}
    _, findings = examine(folder, bare, "module")
    cure = only_one(findings, "failure", folder.parents[1])
    assert shlex.split(cure) == [".", str(script)]
    assert examine(folder, after(cure, bare), "module", "grc")[0] == 0
