# SPDX-License-Identifier: GPL-3.0-or-later
"""Install to a folder of its own, and use what is there as a user would."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import sourced
from gnuradio.sar.build_info import BLOCKS, VERSION

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="module")
def installed(install):
    """(prefix, environment with the variables that the install step printed)."""
    prefix, env, said = install
    told = dict(re.findall(r'export (\w+)="([^"$]+)', said))
    assert {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "GRC_BLOCKS_PATH"} <= set(told)
    for name, value in told.items():
        assert Path(value).is_dir(), f"the install step names {value}, which is not there"
    script = prefix / "share/gr-sar/environment.sh"
    assert f"cure: . {script}" in said
    after = sourced(script, env)
    # the script sets what was printed, before what was there
    for name, value in told.items():
        assert after[name].split(":")[0] == value and after[name].endswith(env.get(name, ""))
    return prefix, after


def files_below(folder):
    return {str(p.relative_to(folder)) for p in Path(folder).rglob("*")}


def test_nothing_but_the_import_path_is_missing(install, tmp_path):
    """The library is found beside the module, and the program finds the module itself."""
    prefix, env, _ = install
    modules = str(next(prefix.glob("lib*/python3*/*-packages")))
    done = subprocess.run([sys.executable, "-c", "import gnuradio.sar"],
                          env=dict(env, PYTHONPATH=modules), cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([str(prefix / "bin/gr_sar"), "--version"], env=env, cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("gr_sar 0."), done.stderr


def test_first_python_line_is_our_import(installed, tmp_path):
    prefix, env = installed
    done = subprocess.run(
        [sys.executable, "-c", "from gnuradio import sar; print(sar.__file__)\n"
         "print(sar.pulse_compression, sar.recording_source)"],
        env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(prefix) in done.stdout


def test_program_runs(installed, tmp_path):
    prefix, env = installed
    done = subprocess.run(["gr_sar", "doctor"], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "auto runs on" in done.stdout and f"lists all {len(BLOCKS)} blocks" in done.stdout
    # where the module is broken, the other commands say who knows the cure
    done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['gnuradio.sar.cli'] = None\n"
                           "import runpy; sys.argv = ['gr_sar', 'info', 'x']\n"
                           f"runpy.run_path({str(prefix / 'bin/gr_sar')!r}, run_name='__main__')"],
                          env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "gr_sar doctor" in done.stderr


def test_blocks_and_examples_are_there(installed):
    prefix, env = installed
    there = {p.name for p in (prefix / "share/gnuradio/grc/blocks").glob("*.block.yml")}
    assert there == {p.name for p in (SOURCE / "grc").glob("*.block.yml")} and len(there) >= 14
    examples = {p.name for p in (prefix / "share/gnuradio/examples/sar").iterdir()}
    assert examples >= {p.name for p in (SOURCE / "examples").glob("*.grc")} and len(examples) >= 5


def test_cpp_program_links(installed, tmp_path):
    prefix, env = installed
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.24)
project(user CXX)
find_package(gnuradio-sar REQUIRED)
add_executable(user user.cc)
target_link_libraries(user gnuradio::gnuradio-sar)
""")
    (tmp_path / "user.cc").write_text("""
#include <gnuradio/sar/to_device.h>
#include <gnuradio/sar/kernel/core/window.h>
#include <cstdio>
int main()
{
    auto block = gr::sar::to_device::make(8, 8, "cpu");
    std::printf("%s %.3f\\n", block->backend().c_str(), gr::sar::window("rect").irw());
}
""")
    steps = [["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", str(tmp_path / "b"),
              f"-DCMAKE_PREFIX_PATH={prefix}"],
             ["cmake", "--build", str(tmp_path / "b")], [str(tmp_path / "b" / "user")]]
    for step in steps:
        done = subprocess.run(step, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].split() == ["cpu", "0.886"]  # after the log


def cmake_install(prefix, env, **more):
    done = subprocess.run(["cmake", "--install", os.environ["SAR_BUILD_DIR"], "--prefix", str(prefix)],
                          env=dict(env, **more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def uninstall(prefix, env):
    return subprocess.run([str(SOURCE / "dev"), "uninstall", str(prefix)],
                          env=dict(env, SAR_BUILD_DIR="/nowhere"), capture_output=True, text=True)


def test_uninstall_removes_what_was_installed_and_nothing_else(install, tmp_path):
    _, env, _ = install
    prefix = tmp_path / "with a blank"
    for theirs in ("bin/other", "share/gnuradio/grc/blocks/other.block.yml", "empty/.keep",
                   "include/gnuradio/sar/kernel/notes.txt", "share/doc/gr-sar/mine/note"):
        (prefix / theirs).parent.mkdir(parents=True, exist_ok=True)
        (prefix / theirs).write_text("not ours")
    (prefix / "lib").mkdir()  # an empty folder that was there before stays, too
    before = files_below(prefix)
    cmake_install(prefix, env)
    modules = str(next(prefix.glob("lib*/python3*/*-packages")))
    bytecode = {k: v for k, v in env.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", "import gnuradio.sar"], check=True, cwd=tmp_path,
                   env=dict(bytecode, PYTHONPATH=modules))
    assert list(prefix.rglob("*.pyc"))
    assert len(files_below(prefix)) > len(before) + 80
    # an upgrade: a file of an earlier version, which this one lacks, goes
    manifest = prefix / "share/gr-sar/install_manifest.txt"
    stale = prefix / "bin/gr_sar_of_old"
    stale.write_text("")
    manifest.write_text(manifest.read_text() + "bin/gr_sar_of_old\n")
    cmake_install(prefix, env)
    assert not stale.exists()

    done = uninstall(prefix, env)
    assert done.returncode == 0, done.stderr
    assert files_below(prefix) == before
    done = uninstall(prefix, env)
    assert done.returncode == 1 and "no gr-sar is installed" in done.stderr


def test_python_folder_follows_the_prefix(install, tmp_path, monkeypatch):
    """Where this Python looks by itself, the module goes there (GNU Radio's own folder, Debian's
    dist-packages of /usr/local, the user's site-packages); elsewhere to a Python's usual place."""
    import site

    import gnuradio

    _, env, _ = install
    own = Path(gnuradio.__file__).parents[1]
    looks = [own, *(Path(p) for p in site.getsitepackages() if p.startswith("/usr/local/")),
             Path(site.getusersitepackages())]
    prefixes = [own.parents[2], Path("/usr/local"), Path(site.getuserbase())]
    assert str(own) in sys.path
    for prefix, expected in zip(prefixes, looks):
        # DESTDIR: as for that prefix, without touching it
        root = tmp_path / prefix.name
        cmake_install(prefix, env, DESTDIR=str(root))
        found = list(root.rglob("gnuradio/sar/__init__.py"))
        assert found == [Path(f"{root}{expected}/gnuradio/sar/__init__.py")]
        manifest = root / str(prefix)[1:] / "share/gr-sar/install_manifest.txt"
        assert not manifest.exists(), "a packager keeps its own list"
    root = tmp_path / "opt"
    cmake_install("/opt/sar", env, DESTDIR=str(root))
    assert list(root.rglob("gnuradio/sar/__init__.py"))[0].parents[2].name.endswith("-packages")


def test_python_folder_of_other_gnu_radios(install, tmp_path, monkeypatch):
    import importlib.util
    import runpy
    import site

    _, env, _ = install
    # one in a prefix of its own, known by PYTHONPATH
    own = tmp_path / "gr/lib/python3.4/site-packages"
    (own / "gnuradio").mkdir(parents=True)
    (own / "gnuradio/__init__.py").write_text("")
    done = subprocess.run([sys.executable, str(SOURCE / "cmake/python_dir.py"), str(tmp_path / "gr")],
                          env=dict(env, PYTHONPATH=str(own)), capture_output=True, text=True)
    assert done.stdout == "lib/python3.4/site-packages\n"
    # none at all: what is below /usr/local is of that prefix, not of /usr
    python_dir = runpy.run_path(str(SOURCE / "cmake/python_dir.py"))["python_dir"]
    debian = ["/usr/local/lib/python3.4/dist-packages", "/usr/lib/python3/dist-packages"]
    monkeypatch.setattr(site, "getsitepackages", lambda: debian)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert python_dir("/usr") == "lib/python3/dist-packages"
    assert python_dir("/usr/local") == "lib/python3.4/dist-packages"
    assert re.match(r"lib\d*/python3\.\d+/site-packages$", python_dir("/opt/x"))


@pytest.mark.parametrize("installs_one", [False, True])
def test_environment_names_the_folder_of_a_soapy_module(install, tmp_path, installs_one):
    _, env, _ = install
    files = f"{tmp_path}/lib/a/SoapySDR/modules0.8/libx.so" if installs_one else f"{tmp_path}/bin/x"
    done = subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path}", "-DSAR_PYTHON_DIR=lib/p",
                           f"-DCMAKE_INSTALL_MANIFEST_FILES={files}", "-P",
                           os.environ["SAR_BUILD_DIR"] + "/install_end.cmake"],
                          env=dict(env, DESTDIR=str(tmp_path / "root")),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    script = tmp_path / "root" / str(tmp_path)[1:] / "share/gr-sar/environment.sh"
    after = sourced(script, dict(env, SOAPY_SDR_PLUGIN_PATH="/theirs"))
    ours = f"{tmp_path}/lib/a/SoapySDR/modules0.8:" if installs_one else ""
    assert after["SOAPY_SDR_PLUGIN_PATH"] == ours + "/theirs"


def test_home(install, tmp_path):
    """~/.local: Python looks there by itself, GRC has to be told."""
    _, env, _ = install
    home = tmp_path / "home"
    env = dict(env, HOME=str(home))
    said = cmake_install(home / ".local", env)
    assert "OK   module" in said and "FAIL grc" in said and "GRC_BLOCKS_PATH=" in said
    done = subprocess.run([sys.executable, "-c", "import gnuradio.sar as s; print(s.__file__)"], env=env,
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(str(home)), done.stderr


def test_dev_install_takes_the_prefix_from_where_it_was_called(install, tmp_path):
    """./dev install PREFIX, without building: ninja finds nothing to do in a finished build."""
    _, env, _ = install
    done = subprocess.run([str(SOURCE / "dev"), "install", "here"], cwd=tmp_path, capture_output=True,
                          text=True, env=dict(env, SAR_BUILD_DIR=os.environ["SAR_BUILD_DIR"]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "here/bin/gr_sar").exists()
    assert f"is installed in {tmp_path / 'here'}" in done.stdout
    assert f"cure: . {tmp_path / 'here'}/share/gr-sar/environment.sh" in done.stdout


def test_configure_says_what_is_on_and_off(tmp_path, install):
    """The end of the configure step lists each optional part, with why or from what."""
    done = subprocess.run(["cmake", "-S", str(SOURCE), "-B", str(tmp_path), "-G", "Ninja",
                           "-DENABLE_CUDA=OFF"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = done.stdout[done.stdout.index(f"gr-sar {VERSION}"):]
    assert "off  CUDA backend: switched off (ENABLE_CUDA=OFF)" in summary
    assert re.search(r"(on |off)  C\+\+ tests: Boost.Test \(libboost-test-dev\)", summary)
    assert re.search(r"on   Python bindings: /\S*python3\S*, pybind11 \d", summary)
    assert "install prefix: " in summary


@pytest.mark.skipif(not shutil.which("SoapySDRUtil"),
                    reason="SoapySDRUtil is not here (soapysdr-tools)")
def test_simulated_radar_is_found(installed):
    prefix, env = installed
    if "SOAPY_SDR_PLUGIN_PATH" not in env:
        pytest.skip("the simulated radar was not built (libsoapysdr-dev, ENABLE_SOAPY)")
    done = subprocess.run(["SoapySDRUtil", "--find=driver=sarsim"], env=env, capture_output=True,
                          text=True)
    assert "label = sarsim, simulated radar" in done.stdout, done.stdout + done.stderr
