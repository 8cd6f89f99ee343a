# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx: ./dev docs (warnings are errors)."""

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]

project = "gr-sar"
author = "the gr-sar authors"
copyright = author  # noqa: A001  the name is Sphinx's
release = re.search(r"project\(gr-sar VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
version = release

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
# pages link to headings of one another
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 3}
html_show_sphinx = False
html_copy_source = False


def name_files_of_the_tree(app, page, source):
    """A link to a file outside of docs/ works in the source tree only: here its name stands."""

    def replace(link):
        text, target = link.groups()
        file = (Path(app.srcdir) / page).parent / target
        if not file.exists() or Path(app.srcdir) in file.resolve().parents:
            return link[0]
        return f"{text} (`{file.resolve().relative_to(SOURCE)}`)"

    source[0] = re.sub(r"\[([^]]*)\]\(((?:\.\./)+[^)#]+)\)", replace, source[0])


def setup(app):
    app.connect("source-read", name_files_of_the_tree)
