# SPDX-License-Identifier: GPL-3.0-or-later
"""The tutorials: every block of commands marked to be run is run, in the order of the page.

    <!-- run -->         the fenced block below is run, and must succeed; ```python goes to python3
    <!-- run fails -->   likewise, and must fail
    <!-- file NAME -->   the fenced block below is written to NAME
    <!-- shows -->       lines of the output of the run above, in this order; "..." is any text,
                         numbers may differ by 5 % or 0.02

A page is run in a folder that looks like a clone: ./dev, examples.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PAGES = sorted((SOURCE / "docs").rglob("*.md"))
MARK = re.compile(r"^<!-- (run|run fails|shows|file \S+) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")

# what ./dev does in a clone that is built already
DEV = """#!/bin/sh
command=$1
shift
case $command in
run) exec "$@" ;;
demo) exec gr_sar demo -o out/demo "$@" ;;
esac
echo "the tutorials use ./dev run and ./dev demo only" >&2
exit 2
"""


def blocks_of(page):
    """(mark, language, text, number of the line) of each marked block."""
    text = page.read_text(encoding="utf-8")
    found = [(*m.groups(), text[: m.start()].count("\n") + 1) for m in MARK.finditer(text)]
    assert len(found) == len(re.findall(r"^<!-- (?:run|shows|file)", text, re.M)), (
        f"{page.name}: a mark without a fenced block right below")
    return found


MARKED = [p for p in PAGES if blocks_of(p)]


def same_line(shown, printed):
    """Is a printed line what the page shows?"""
    shown, printed = " ".join(shown.split()), " ".join(printed.split())
    pattern, expected = [], []
    for piece in re.split(r"(\.\.\.)", shown):
        if piece == "...":
            pattern.append(".*")
            continue
        at = 0
        for n in NUMBER.finditer(piece):
            pattern += [re.escape(piece[at : n.start()]), f"({NUMBER.pattern})"]
            expected.append(float(n.group()))
            at = n.end()
        pattern.append(re.escape(piece[at:]))
    got = re.fullmatch("".join(pattern), printed)
    return bool(got) and all(abs(float(g) - e) <= max(0.02, 0.05 * abs(e))
                             for g, e in zip(got.groups(), expected))


def find_lines(shown, printed):
    """The first shown line that does not come, or None."""
    rest = iter(printed)
    for line in shown:
        if not any(same_line(line, p) for p in rest):
            return line
    return None


def test_comparison_sees_differences():
    assert same_line("centre  0.512/0.443  -13.25  PASS", "centre 0.5119/0.4429 -13.26  PASS")
    assert not same_line("centre  0.512/0.443  PASS", "centre 0.9/0.443 PASS")
    assert not same_line("2 of 2 targets PASS", "1 of 2 targets PASS")
    assert not same_line("2 of 2 targets PASS", "2 of 2 targets FAIL")
    assert same_line("x.meta: 1250 pulses of ... samples", "x.meta: 1250 pulses of 909 samples")
    assert same_line("...1250 pulses...", "  pulses: 1250 pulses, 3 s")
    assert not same_line("...1250 pulses...", "  pulses: 250 pulses, 3 s")
    assert find_lines(["b", "a"], ["a", "b"]) == "a"


def test_tutorials_are_run():
    names = {p.name for p in MARKED}
    assert {"ten_minutes.md", "own_recording.md", "own_stage.md"} <= names


@pytest.fixture
def clone(tmp_path):
    """A folder with ./dev and the examples, and the environment in which ./dev run runs."""
    (tmp_path / "dev").write_text(DEV)
    (tmp_path / "dev").chmod(0o755 | stat.S_IXUSR)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    env = dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"),
               PATH=f"{SOURCE / 'python' / 'sar'}:/usr/bin:{os.environ['PATH']}")
    return tmp_path, env


@pytest.mark.parametrize("page", MARKED, ids=lambda p: p.stem)
def test_page(page, clone):
    folder, env = clone
    if "grcc" in page.read_text() and not shutil.which("grcc"):
        pytest.skip("grcc is not here (Debian: gnuradio)")
    printed = None
    for mark, language, text, line in blocks_of(page):
        where = f"{page.relative_to(SOURCE)}:{line}"
        if mark.startswith("file "):
            (folder / mark.split()[1]).write_text(text)
            continue
        if mark == "shows":
            assert printed is not None, f"{where}: nothing was run before"
            missing = find_lines(text.splitlines(), printed.splitlines())
            assert missing is None, f"{where} shows\n  {missing}\nprinted was\n{printed}"
            continue
        command = [sys.executable, "-c", text] if language == "python" else ["sh", "-e", "-c", text]
        done = subprocess.run(command, cwd=folder, env=env, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = done.stdout
        assert (done.returncode != 0) == (mark == "run fails"), f"{where}\n{text}\n{printed}"


@pytest.mark.parametrize("page", MARKED, ids=lambda p: p.stem)
def test_files_that_a_page_names_exist(page):
    text = page.read_text()
    for name in set(re.findall(r"`((?:examples(?!/out)|docs|python|kernels|lib|grc|cmake)/[\w./]+\.\w+)`", text)):
        assert (SOURCE / name).exists(), f"{page.name} names {name}"


def test_own_stage_fits_into_a_python_block():
    """What GRC makes of notch.py when it is put into a Python Block."""
    from gnuradio.grc.core.utils import epy_block_io
    (text,) = [t for mark, _, t, _ in blocks_of(SOURCE / "docs" / "tutorials" / "own_stage.md")
               if mark == "file notch.py"]
    io = epy_block_io.extract(text)
    assert (io.cls, [name for name, _ in io.params]) == ("notch", ["samples", "factor"])
    # (key, type, length) of the ports
    assert [p[1:] for p in io.sinks] == [p[1:] for p in io.sources] == [("complex", 1024)]
