#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write MANIFEST.yml, MANIFEST.md and gr-sar.lwr from packaging/module.yml and the version in
CMakeLists.txt; with --check, say which of them is not what would be written."""

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


class _Block(str):
    """Text that is written as a block, line by line."""


yaml.SafeDumper.add_representer(
    _Block, lambda d, v: d.represent_scalar("tag:yaml.org,2002:str", str(v), style="|"))


def version():
    return re.search(r"project\(gr-sar VERSION ([\d.]+)",
                     (ROOT / "CMakeLists.txt").read_text()).group(1)


def dump(fields):
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)


def files():
    """{name: text} of the three files."""
    m = yaml.safe_load((ROOT / "packaging/module.yml").read_text())
    note = "# written by ./dev manifest from packaging/module.yml\n"
    same = {k: m[k] for k in ("title", "brief", "tags", "author", "copyright_owner", "license")}
    address = {k: m[k] for k in ("repo", "website") if m[k]}
    new = {"title": m["title"], "version": version(), **same,
           "gr_supported_version": m["gr_supported_version"], **address,
           "description": _Block(m["description"]), "file_format": 1}
    old = {**same, "gr_supported_version": ", ".join(m["gr_supported_version"]), **address}
    recipe = {"category": "common", "depends": m["depends"], "description": m["brief"],
              "gitbranch": "main", "inherit": "cmake"}
    if m["repo"]:
        recipe["source"] = "git+" + m["repo"]
    return {"MANIFEST.yml": note + dump(new),
            "MANIFEST.md": dump(old) + "---\n" + m["description"] + "\n",
            "gr-sar.lwr": note + dump(recipe)}


def main():
    check = sys.argv[1:] == ["--check"]
    stale = [n for n, text in files().items()
             if not (ROOT / n).exists() or (ROOT / n).read_text() != text]
    for name in stale:
        if check:
            print(f"{name} is not what packaging/module.yml and CMakeLists.txt say: ./dev manifest")
        else:
            (ROOT / name).write_text(files()[name])
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
