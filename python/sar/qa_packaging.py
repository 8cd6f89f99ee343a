# SPDX-License-Identifier: GPL-3.0-or-later
"""What is handed on: Debian package, conda recipe, manifests, and the version in all of them."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import sourced
from gnuradio.sar.build_info import BLOCKS, CUDA, VERSION

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
RECIPE = SOURCE / ".conda/recipe"

pytestmark = pytest.mark.skipif(not (SOURCE / "packaging").is_dir(), reason="no source tree here")


def cmake_version():
    return re.search(r"^project\(gr-sar VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(),
                     re.M).group(1)


# ---- version and manifests --------------------------------------------------------------


def test_one_version():
    from gnuradio.sar import cli

    assert cli.VERSION == VERSION == cmake_version()
    written = subprocess.run(
        ["grep", "-rlF", "--include=*.py", "--include=*.txt", "--include=*.cmake", "--include=*.in",
         f'"{VERSION}"', str(SOURCE / "python"), str(SOURCE / "cmake"), str(SOURCE / "lib")],
        capture_output=True, text=True).stdout.split()
    assert written == [], "the version stands in CMakeLists.txt alone"


def test_manifests_agree():
    new = yaml.safe_load((SOURCE / "MANIFEST.yml").read_text())
    head, text = (SOURCE / "MANIFEST.md").read_text().split("\n---\n")
    old = yaml.safe_load(head)
    for field in ("title", "brief", "tags", "author", "copyright_owner", "license"):
        assert new[field] == old[field] and new[field], field
    assert new["description"].strip() == text.strip()
    assert new["gr_supported_version"] == old["gr_supported_version"].split(", ") == ["3.10"]
    # the keys of gr_modtool's template
    assert new["file_format"] == 1 and new["version"] == cmake_version()
    recipe = yaml.safe_load((SOURCE / "gr-sar.lwr").read_text())
    assert recipe["inherit"] == "cmake" and "gnuradio" in recipe["depends"]
    assert recipe["description"] == new["brief"]


def test_manifests_are_what_their_source_says(tmp_path):
    copy = tmp_path / "tree"
    (copy / "cmake").mkdir(parents=True)
    shutil.copytree(SOURCE / "packaging", copy / "packaging")
    for name in ("CMakeLists.txt", "cmake/manifest.py", "MANIFEST.yml", "MANIFEST.md", "gr-sar.lwr"):
        shutil.copy(SOURCE / name, copy / name)

    def manifest(*args):
        return subprocess.run([sys.executable, str(copy / "cmake/manifest.py"), *args],
                              capture_output=True, text=True)

    done = manifest("--check")
    assert done.returncode == 0, done.stdout
    cmake = copy / "CMakeLists.txt"
    cmake.write_text(cmake.read_text().replace(f"VERSION {VERSION} ", "VERSION 7.6.5 "))
    done = manifest("--check")
    assert done.returncode == 1 and done.stdout.startswith("MANIFEST.yml is not what")
    assert manifest().returncode == 0 and manifest("--check").returncode == 0
    assert yaml.safe_load((copy / "MANIFEST.yml").read_text())["version"] == "7.6.5"


# ---- conda recipe -----------------------------------------------------------------------


def render(cuda):
    """meta.yaml as conda-build sees it on Linux: selectors behind lines, then Jinja."""
    import jinja2

    names = {"linux": True, "win": False, "osx": False, "os": os, "build_platform": "linux-64",
             "target_platform": "linux-64", "cuda_compiler_version": cuda, "gnuradio_extra_pin": ""}
    lines = []
    for line in (RECIPE / "meta.yaml").read_text().splitlines():
        selector = re.search(r"#\s*\[(.+)\]\s*$", line)
        if not selector or eval(selector.group(1), {"__builtins__": {}}, names):
            lines.append(line[:selector.start()] if selector else line)

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (RECIPE / load_file).read_text())

    text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string("\n".join(lines)).render(
        load_file_regex=load_file_regex, environ={}, CONDA_PY="311", PKG_HASH="0123456",
        compiler=lambda x: f"{x}_compiler", stdlib=lambda x: f"{x}_stdlib", **names)
    return yaml.safe_load(text)


def variants():
    return yaml.safe_load((RECIPE / "conda_build_config.yaml").read_text())["cuda_compiler_version"]


def test_recipe_has_both_variants():
    assert len(variants()) == 2 and variants()[0] == "None"
    cpu, cuda = (render(v) for v in variants())
    for recipe in cpu, cuda:
        assert recipe["package"] == {"name": "gnuradio-sar", "version": cmake_version()}
        assert "skip" not in recipe["build"]
        assert set(recipe["requirements"]["host"]) >= {"gnuradio-core", "pybind11", "python", "volk"}
        assert set(recipe["requirements"]["run"]) >= {"numpy", "python"}
        assert (SOURCE / recipe["about"]["license_file"]).exists()
        assert recipe["about"]["license"] == "GPL-3.0-or-later"
        assert recipe["test"]["imports"] == ["gnuradio.sar"]
    # conda takes the higher build number where it may: the one with CUDA
    assert (cpu["build"]["number"], cuda["build"]["number"]) == (0, 200)
    assert cpu["build"]["string"].startswith("cpu_py311h") and cpu["build"]["string"].endswith("_0")
    assert re.match(r"cuda12\d_py311h\w+_200$", cuda["build"]["string"])
    more = {k: set(cuda["requirements"][k]) - set(cpu["requirements"][k]) for k in ("build", "host")}
    assert more["build"] == {"cuda_compiler"}
    assert more["host"] == {f"cuda-version {variants()[1]}", "cuda-cudart-dev", "libcufft-dev"}
    # the options that build.sh gives are ones that CMake knows
    script = (RECIPE / "build.sh").read_text()
    assert subprocess.run(["bash", "-n", str(RECIPE / "build.sh")]).returncode == 0
    ours = "".join(f.read_text() for f in [SOURCE / "CMakeLists.txt", SOURCE / "kernels/CMakeLists.txt"])
    for option in ("ENABLE_CUDA", "GR_PYTHON_DIR", "CMAKE_CUDA_RUNTIME_LIBRARY"):
        assert f"-D{option}=" in script and option in ours


def test_recipe_lists_every_block():
    commands = render("None")["test"]["commands"]
    listed = re.findall(r"grc/blocks/(\w+)\.block\.yml", "\n".join(commands))
    assert sorted(listed) == sorted(BLOCKS)


def test_commands_of_the_recipe(install, tmp_path):
    """The test section of the recipe, against an installation without conda."""
    prefix, env, _ = install
    env = dict(sourced(prefix / "share/gr-sar/environment.sh", env), PREFIX=str(prefix),
               SHLIB_EXT=".so", TMPDIR=str(tmp_path))
    # conda has no lib/x86_64-linux-gnu
    library = next(prefix.rglob("libgnuradio-sar.so"))
    if not (prefix / "lib" / library.name).exists():
        (prefix / "lib" / library.name).symlink_to(library)
    commands = render("None")["test"]["commands"]
    assert len(commands) > len(BLOCKS) + 5
    for command in commands:
        done = subprocess.run(["bash", "-ec", command], env=env, cwd=tmp_path, capture_output=True,
                              text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    compiled = {p.name for p in tmp_path.glob("*.py")}
    flowgraphs = [yaml.safe_load(p.read_text()) for p in (SOURCE / "examples").glob("*.grc")]
    assert compiled >= {f"{f['options']['parameters']['id']}.py" for f in flowgraphs}
    assert len(flowgraphs) >= 4


# ---- Debian package ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def package(install, tmp_path_factory):
    """(the .deb, its files, its root unpacked)."""
    for tool, where in ("dpkg-shlibdeps", "dpkg-dev"), ("file", "file"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here (package {where})")
    folder = tmp_path_factory.mktemp("package")
    done = subprocess.run(["cpack", "-G", "DEB", "-B", str(folder), "--config",
                           os.environ["SAR_BUILD_DIR"] + "/CPackConfig.cmake"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    deb = next(folder.glob("*.deb"))
    root = folder / "root"
    subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    return deb, {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()}, root


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", str(deb), name], capture_output=True, text=True,
                          check=True).stdout.strip()


def test_package_says_what_it_needs(package):
    deb, _, _ = package
    assert field(deb, "Package") == ("gr-sar-cuda" if CUDA else "gr-sar")
    assert field(deb, "Version") == cmake_version()
    needs = field(deb, "Depends")
    minor = sys.version_info[1]
    for need in ("gnuradio (>= 3.10.1)", "python3-numpy", "python3-pil", "libgnuradio-runtime",
                 "libgnuradio-fft", "libvolk", "libc6 ", f"python3 (>= 3.{minor}~)",
                 f"python3 (<< 3.{minor + 1})"):
        assert need in needs, needs
    assert "python3-matplotlib" in field(deb, "Recommends")
    summary, *text = field(deb, "Description").splitlines()
    assert len(summary) < 80 and len(text) > 3 and summary.strip() not in text[0]


def test_package_holds_what_belongs_where(package):
    _, files, root = package
    modules = "usr/lib/python3/dist-packages/gnuradio/sar/"
    assert {modules + "__init__.py", modules + "build_info.py", modules + "doctor.py",
            "usr/bin/gr_sar"} <= files
    assert any(re.match(modules + r"sar_python\.cpython-\S+\.so$", f) for f in files)
    assert any(re.match(rf"usr/lib/[\w-]+/libgnuradio-sar\.so\.{VERSION}$", f) for f in files)
    assert {f"usr/share/gnuradio/grc/blocks/{b}.block.yml" for b in BLOCKS} <= files
    assert {f"usr/share/gnuradio/examples/sar/{p.name}"
            for p in (SOURCE / "examples").glob("*.grc")} <= files
    doc = f"usr/share/doc/gr-sar{'-cuda' if CUDA else ''}"
    assert {f"{doc}/copyright", f"{doc}/changelog.gz"} <= files
    # all below /usr; no bytecode, no tests, no list of files beside dpkg's
    assert not [f for f in files if not f.startswith("usr/") or "local" in f or f.endswith(".pyc")
                or "/qa_" in f or f.endswith("install_manifest.txt")]
    assert (root / "usr/bin/gr_sar").read_text().startswith("#!/usr/bin/python3\n")
    # paths of the machine that built it are of no use elsewhere
    build = os.environ["SAR_BUILD_DIR"].encode()
    for file in files:
        path = root / file
        if path.suffix in (".py", ".cmake", ".sh", ".yml", ".h") and not path.is_symlink():
            assert build not in path.read_bytes(), file
    dynamic = subprocess.run(["readelf", "-d", *map(str, (root / modules).glob("*.so"))],
                             capture_output=True, text=True).stdout
    assert "NEEDED" in dynamic and "PATH" not in dynamic


def test_package_scripts(package, tmp_path):
    deb, _, _ = package
    subprocess.run(["dpkg-deb", "-e", str(deb), str(tmp_path / "c")], check=True)
    control = tmp_path / "c"
    assert "activate-noawait ldconfig" in (control / "triggers").read_text()
    name = field(deb, "Package")
    assert f"libgnuradio-sar {VERSION} {name} (= {VERSION})" in (control / "shlibs").read_text()
    for script, command in ("postinst", f"py3compile -p {name}"), ("prerm", f"py3clean -p {name}"):
        assert command in (control / script).read_text()
        assert subprocess.run(["sh", "-n", str(control / script)]).returncode == 0


def test_package_runs_unpacked(package, tmp_path):
    deb, _, root = package
    library = next(root.rglob("libgnuradio-sar.so.*")).parent
    env = {k: v for k, v in os.environ.items() if k not in ("GRC_BLOCKS_PATH",)}
    env.update(PYTHONPATH=str(root / "usr/lib/python3/dist-packages"), LD_LIBRARY_PATH=str(library),
               GRC_BLOCKS_PATH=str(root / "usr/share/gnuradio/grc/blocks"))
    done = subprocess.run([str(root / "usr/bin/gr_sar"), "doctor", "--only", "module", "--only", "grc"],
                          env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"OK   module     gr-sar {VERSION}, {root}/usr/lib" in done.stdout


def test_lintian(package):
    """No errors. Warnings that stay: one package has library and headers, as conda's."""
    if not shutil.which("lintian"):
        pytest.skip("lintian is not here (apt install lintian)")
    deb, _, _ = package
    done = subprocess.run(["lintian", "--fail-on", "error", str(deb)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert not re.search("^E:", done.stdout, re.M)
