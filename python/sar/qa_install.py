# SPDX-License-Identifier: GPL-3.0-or-later
"""Install to a folder of its own, and use what is there as a user would."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = os.environ.get("SAR_BUILD_DIR")
SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))

pytestmark = pytest.mark.skipif(
    not BUILD or not Path(BUILD, "cmake_install.cmake").exists() or not shutil.which("cmake"),
    reason="no build tree with CMake here (set SAR_BUILD_DIR)")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """(prefix, environment with the variables that the install step printed)."""
    prefix = tmp_path_factory.mktemp("prefix")
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", str(prefix)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # not the build tree's paths: only what the user is told to set
    env = {k: v for k, v in os.environ.items()
           if k not in ("PYTHONPATH", "LD_LIBRARY_PATH", "GRC_BLOCKS_PATH", "SOAPY_SDR_PLUGIN_PATH")}
    told = re.findall(r"export (\w+)=(\S+)", done.stdout + done.stderr)
    assert {"PYTHONPATH", "LD_LIBRARY_PATH", "GRC_BLOCKS_PATH"} <= {name for name, _ in told}
    for name, value in told:
        env[name] = re.sub(r":?\$\w+$", "", value)
        assert Path(env[name]).is_dir(), f"the install step names {value}, which is not there"
    return prefix, env


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
    done = subprocess.run([sys.executable, str(prefix / "bin" / "gr_sar"), "doctor"], env=env,
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "auto runs on" in done.stdout


def test_grc_finds_all_blocks(installed, tmp_path):
    prefix, env = installed
    here = {p.name for p in (SOURCE / "grc").glob("*.block.yml")}
    there = {p.name for p in (prefix / "share/gnuradio/grc/blocks").glob("*.block.yml")}
    assert here == there and len(here) >= 14
    for example in sorted((prefix / "share/gnuradio/examples/sar").glob("*.grc")):
        done = subprocess.run(["grcc", "-o", str(tmp_path), str(example)], env=env,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


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


@pytest.mark.skipif(not shutil.which("SoapySDRUtil"),
                    reason="SoapySDRUtil is not here (soapysdr-tools)")
def test_simulated_radar_is_found(installed):
    prefix, env = installed
    if "SOAPY_SDR_PLUGIN_PATH" not in env:
        pytest.skip("the simulated radar was not built (libsoapysdr-dev, ENABLE_SOAPY)")
    done = subprocess.run(["SoapySDRUtil", "--find=driver=sarsim"], env=env, capture_output=True,
                          text=True)
    assert "label = sarsim, simulated radar" in done.stdout, done.stdout + done.stderr
