# SPDX-License-Identifier: GPL-3.0-or-later
"""Print where Python modules go below a prefix, relative to it, so that this Python finds
them: beside GNU Radio's where that prefix is GNU Radio's own, else in a folder that Python
looks into by itself (dist-packages of /usr/local on Debian, the user's site-packages), else
in the folder of a plain Python."""

import importlib.util
import os
import site
import sys
import sysconfig


def python_dir(prefix):
    prefix = os.path.normpath(prefix)
    places = list(site.getsitepackages()) + [site.getusersitepackages()]
    spec = importlib.util.find_spec("gnuradio")
    if spec is not None and spec.origin:
        places.insert(0, os.path.dirname(os.path.dirname(spec.origin)))
    for place in places:
        relative = os.path.relpath(os.path.normpath(place), prefix)
        # /usr/local is a prefix of its own, not a part of /usr
        if relative.split(os.sep)[0] not in ("..", "local"):
            return relative
    scheme = "venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix"
    place = sysconfig.get_path("platlib", scheme, vars={"base": prefix, "platbase": prefix})
    return os.path.relpath(place, prefix)


if __name__ == "__main__":
    print(python_dir(sys.argv[1]))
