# SPDX-License-Identifier: GPL-3.0-or-later
"""What GRC makes of the block descriptions: they load, they are documented, code comes out."""

import ast
import atexit
import builtins
import functools
import itertools
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
FILES = sorted((SOURCE / "grc").glob("*.block.yml"))
EXAMPLES = sorted((SOURCE / "examples").rglob("*.grc"))
# shown in GRC only: which ports there are
ONLY_IN_GRC = {("sar_recording_source", "positions"), ("sar_image_display", "gui_hint")}
CATEGORIES = {"Parameters", "Sources", "Framing", "Stages", "Imagers", "Finishing", "Sinks",
              "Plumbing"}
# added by GRC to every block, or meant by Mako
RESERVED = {"id", "alias", "affinity", "minoutbuf", "maxoutbuf", "comment", "self", "context",
            "loop", "caller", "capture", "pageargs", "UNDEFINED", "value", "no_quotes"}


@pytest.fixture(scope="session")
def platform(tmp_path_factory):
    os.environ["GRC_BLOCKS_PATH"] = str(SOURCE / "grc")
    from gnuradio import gr
    from gnuradio.grc.core import Constants
    from gnuradio.grc.core.platform import Platform
    Constants.CACHE_FILE = str(tmp_path_factory.mktemp("grc") / "cache.json")
    p = Platform(name="gr-sar tests", prefs=gr.prefs(), version=gr.version(),
                 version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    p.build_library()
    return p


def read(path):
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f)


def name(path):
    return path.name.replace(".block.yml", "")


@pytest.fixture(params=FILES, ids=name)
def description(request):
    return name(request.param), read(request.param)


def test_there_are_blocks():
    assert len(FILES) >= 6


def test_loads(platform, description):
    file, d = description
    assert d["id"] == file and file.startswith("sar_")
    assert d["file_format"] == 1
    assert file in platform.blocks, "GRC could not load the file"
    block = platform.blocks[file]
    assert "python" in block.flags
    assert d["category"].startswith("[SAR]/") # in brackets: a tree of its own in the menu
    assert block.category[0] == "SAR" and block.category[1] in CATEGORIES
    assert "sar" in d["templates"]["imports"].split()


def test_schema(description):
    """GRC only warns of unknown keys; a misspelt key must not go unseen."""
    from gnuradio.grc.core.schema_checker import BLOCK_SCHEME, Validator
    checker = Validator(BLOCK_SCHEME)
    assert checker.run(description[1]), checker.messages


SECTIONS = ("Inputs", "Outputs", "Tags in", "Tags out", "Messages", "Parameters", "Example",
            "Reference")


def sections(text):
    """(first sentence, {heading: lines}) of a block's documentation. GRC sets lines without
    indentation that end in a colon in bold."""
    head, *rest = re.split(r"^(\S.*):$", text, flags=re.M)
    bodies = [b.strip("\n").splitlines() for b in rest[1::2]]
    return head.strip(), dict(zip(rest[::2], bodies))


def entries(lines):
    """Names and meanings of a section's lines '  name: meaning'; {} for '  none'."""
    if lines == ["  none"]:
        return {}
    assert all(re.match(r"  \S.*: \S", line) for line in lines), lines
    # a label may hold a colon in itself only with something else before the first ': '
    return dict(line.strip().split(": ", 1) for line in lines)


def test_documentation_has_the_fixed_form(description):
    file, d = description
    first, parts = sections(d["documentation"])
    assert first.endswith(".") and "\n" not in first and len(first) < 200
    assert tuple(parts) == SECTIONS
    ports = {"Inputs": d.get("inputs", []), "Outputs": d.get("outputs", [])}
    for where, listed in ports.items():
        stream = [p["label"] for p in listed if p.get("domain", "stream") != "message"]
        if not stream and where == "Outputs" and "show_id" in d["flags"]:
            stream = ["variable"]
        assert list(entries(parts[where])) == stream, where
    messages = [p["label"] for p in ports["Inputs"] + ports["Outputs"]
                if p.get("domain") == "message"]
    assert list(entries(parts["Messages"])) == messages
    for where in ("Tags in", "Tags out"):
        for tag in entries(parts[where]):
            assert re.fullmatch(r"(sar|rx)_[a-z]+|all", tag), tag
    told = entries([re.sub(r"^  (.*?) *: ", r"  \1: ", line) for line in parts["Parameters"]])
    labels = [p["label"] for p in d.get("parameters", [])]
    assert sorted(told) == sorted(labels)
    example = parts["Example"][0].strip()
    assert example.startswith("none") or example in {p.name for p in EXAMPLES}, example
    if not example.startswith("none"):
        (path,) = [p for p in EXAMPLES if p.name == example]
        assert any(b["id"] == file for b in read(path)["blocks"]), f"{example} has no {file}"
    page = SOURCE / "docs" / "blocks" / (file[len("sar_"):] + ".md")
    assert f"docs/blocks/{page.name}" in parts["Reference"][0] and page.is_file()


def test_page_has_every_parameter(description):
    """What GRC calls a parameter is found on the block's page, by the name Python has for it."""
    file, d = description
    page = (SOURCE / "docs" / "blocks" / (file[len("sar_"):] + ".md")).read_text()
    others = {(block, ours): theirs for block in ("sar_image_sink", "sar_image_display")
              for ours, theirs in (("type", "dtype"), ("quantity", "value"))}
    for p in d.get("parameters", []):
        n = others.get((file, p["id"]), p["id"])
        if p["id"] == "type" and n == "type":
            n = "itemsize"
        if (file, n) in ONLY_IN_GRC:
            continue
        assert re.search(rf"(`|\b){n}(`|\b)", page), f"nothing on the page about {n}"
    index = (SOURCE / "README.md").read_text()
    assert f"docs/blocks/{file[4:]}.md" in index or f"`{file[4:]}`" in index


def test_no_port_without_number(description):
    """GNU Radio ignores a minimum buffer on blocks whose number of outputs is open."""
    for port in description[1].get("inputs", []) + description[1].get("outputs", []):
        # (an expression such as ${ 1 if reference else 0 } adds or takes away one port)
        assert not re.search(r"-1|inf", str(port.get("multiplicity", 1)))


def test_url_of_the_page_is_set_by_the_installation(description):
    """Older versions than 3.10.9 warn of the key each time they start, so the sources have none."""
    assert "doc_url" not in description[1]


def test_installation_can_set_the_url(tmp_path):
    for path in FILES:
        shutil.copy(path, tmp_path)
    for _ in range(2): # an installation over another one
        done = subprocess.run(["cmake", f"-DBLOCKS={tmp_path}", "-DPAGES=/opt/radar/doc/blocks", "-P",
                               str(SOURCE / "cmake" / "doc_urls.cmake")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for path in FILES:
        d = read(tmp_path / path.name) # YAML as before, and one more key
        url = d.pop("doc_url")
        assert d == read(path)
        assert url == f"file:///opt/radar/doc/blocks/{name(path)[4:]}.md"
        assert (tmp_path / path.name).read_text().count("doc_url:") == 1


def test_pages_are_installed(tmp_path):
    """Each block's page, and, where GRC knows the key, the link to it in the dialog."""
    build = os.environ.get("SAR_BUILD_DIR", "")
    if not Path(build, "cmake_install.cmake").exists():
        pytest.skip("no build tree here (set SAR_BUILD_DIR)")
    done = subprocess.run(["cmake", "--install", build, "--prefix", str(tmp_path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    from gnuradio import gr
    known = (int(gr.api_version()), int(re.match(r"\d+", gr.minor_version())[0])) >= (10, 9)
    for path in FILES:
        page = tmp_path / "share/doc/gr-sar/blocks" / f"{name(path)[4:]}.md"
        assert page.is_file()
        text = (tmp_path / "share/gnuradio/grc/blocks" / path.name).read_text()
        assert (f"doc_url: file://{page}\n" in text) == known


def test_parameters(description):
    _, d = description
    parameters = d.get("parameters", [])
    for p in parameters:
        assert p["id"] not in RESERVED and not keyword.iskeyword(p["id"])
        # (type is what GRC's own blocks call it)
        assert p["id"] == "type" or not hasattr(builtins, p["id"]), f"{p['id']} hides a builtin"
        assert p["label"] and p["label"] != p["id"]
        unit = re.search(r"_(hz|m|s|db|rad|cells)$", p["id"])
        if unit:
            wanted = {"hz": "Hz", "db": "dB"}.get(unit[1], unit[1])
            assert wanted in p["label"], f"no unit in the label '{p['label']}' of {p['id']}"
    if parameters:
        assert d.get("asserts"), "no asserts: they repeat what make() refuses"


def whole_numbers(file):
    """Parameters of a block that its bindings, or its Python class, take as whole numbers."""
    bindings = SOURCE / "python" / "sar" / "bindings"
    stage = file[len("sar_"):]
    path = bindings / f"{stage}_python.cc"
    if stage in ("acquisition", "image_grid"):
        path = bindings / "core_python.cc"
    elif not path.exists():
        path = SOURCE / "python" / "sar" / f"{stage}.py"
    if not path.exists():
        return set()
    named = set(re.findall(r'whole\("(\w+)"', path.read_text()))
    if path.suffix == ".py":
        # whatever is compared with its own int(), and what the stages of a chain take
        named |= set(re.findall(r"float\((\w+)\) != int\(\1\)", path.read_text()))
        for inner in re.findall(r"_sar\.(\w+)\(", path.read_text()):
            if (bindings / f"{inner}_python.cc").exists():
                named |= whole_numbers(f"sar_{inner}")
    return named & {p["id"] for p in read(SOURCE / "grc" / f"{file}.block.yml")["parameters"]
                    if p["dtype"] != "enum"}


WHOLE = [(name(path), i) for path in FILES for i in sorted(whole_numbers(name(path)))]


def test_every_whole_number_is_known():
    assert len(WHOLE) >= 50
    for path in FILES:
        d = read(path)
        whole = {i for f, i in WHOLE if f == name(path)}
        # no type "int": GRC refuses the float that a division makes, also 4096 / 2
        assert not [p["id"] for p in d["parameters"] if p["dtype"] == "int"]
        asserted = {m for a in d["asserts"] for m in re.findall(r"\$\{ (\w+) == int\(\1\) \}", a)}
        assert asserted == whole, f"{d['id']}: {asserted ^ whole}"
        make = d["templates"].get("make") or d["templates"]["var_make"]
        assert not re.search(r"int\(\$\{", make), "int() would hide a fraction from make()"


def loaded_block(platform, path):
    """(flowgraph, its block "under_test", what GRC marks on it but open ports)"""
    fg = platform.make_flow_graph()
    fg.import_data(platform.parse_flow_graph(str(path)))
    fg.rewrite()
    fg.validate()
    b = fg.get_block("under_test")
    found = list(b.get_error_messages())
    for p in b.params.values():
        found += p.get_error_messages()
    return fg, b, [f for f in found if "Port is not connected" not in f]


FMCW_ONLY = {"sar_sweep_alignment"}  # the others take the waveform that acq has by default


@pytest.fixture(scope="session")
def canvas(platform, tmp_path_factory):
    """What GRC says of a block on a canvas with acq, grid and track at their own defaults.

    returns a function (key, fields) -> (block, error messages but those of open ports)
    """
    folder = tmp_path_factory.mktemp("canvas")

    def drop(key, **fields):
        acq = dict(waveform="fmcw", sample_rate_hz="5e6") if key in FMCW_ONLY else {}
        variables = [block("sar_acquisition", name="acq", **acq), block("sar_image_grid", name="grid"),
                     block("sar_trajectory", name="track")]
        path = flowgraph(folder, [v for v in variables if v["id"] != key]
                         + [block(key, name="under_test", **fields)],
                         generate="qt_gui" if "need_qt_gui" in platform.blocks[key].flags
                         else "no_gui")
        return loaded_block(platform, path)

    return drop


def make_it(fg, b):
    """The object that the generated code would make."""
    space = {"self": type("flowgraph", (), {})()}
    exec(b.templates.render("imports"), space)
    space.update(fg.namespace)
    if b.is_variable:
        exec(b.get_var_make(), space, space)
        return space[b.name]
    if "need_qt_gui" in b.flags:
        pytest.importorskip("PyQt5")
        pytest.importorskip("pyqtgraph")
    if b.key == "sar_radar_transceiver":
        SoapySDR = pytest.importorskip("SoapySDR")
        if not SoapySDR.Device.enumerate("driver=sarsim"):
            pytest.skip("the module sarsim was not built or is not found (ENABLE_SOAPY, SOAPY_SDR_PLUGIN_PATH)")
    # behind the block itself a GUI block places its widget
    return eval(b.templates.render("make").strip().split("\nself.")[0], space)


NEEDS_A_FILE = {"sar_recording_source"}


def test_defaults_are_valid(canvas, description, tmp_path, monkeypatch):
    """Dropped on a canvas with acq, grid and track: no red, and make() takes it."""
    monkeypatch.chdir(tmp_path)
    fg, b, marks = canvas(description[0])
    assert not marks
    if description[0] in NEEDS_A_FILE:
        with pytest.raises((ValueError, OSError), match="recording.sigmf-meta"):
            make_it(fg, b)
        return
    thing = make_it(fg, b)
    if hasattr(thing, "input_signature"):
        for signature in (thing.input_signature(), thing.output_signature()):
            assert signature.max_streams() >= 0, "unlimited ports"
        for port, signature in ((b.sinks, thing.input_signature()),
                                (b.sources, thing.output_signature())):
            sizes = [p.item_size for p in port if not p.hidden and p.domain == "stream"]
            assert sizes == [signature.sizeof_stream_item(i) for i in range(len(sizes))]


@pytest.mark.parametrize("key,parameter", WHOLE, ids=lambda v: v.replace("sar_", ""))
def test_quotients_are_whole_numbers(canvas, tmp_path, monkeypatch, key, parameter):
    """4096 / 2 is 2048.0 in Python: taken. A half more is refused, and the name is said."""
    monkeypatch.chdir(tmp_path)
    d = read(SOURCE / "grc" / f"{key}.block.yml")
    (p,) = [p for p in d["parameters"] if p["id"] == parameter]
    value = int(ast.literal_eval(p["default"])) if re.fullmatch(r"\d+", p["default"]) else 512
    fg, b, marks = canvas(key, **{parameter: f"{2 * value} / 2"})
    assert not marks
    if key not in NEEDS_A_FILE:
        make_it(fg, b)
    fg, b, marks = canvas(key, **{parameter: f"{value} + 0.5"})
    assert any(re.search(rf"\b{parameter}\b", m) for m in marks), marks
    # what a script is told that GRC did not check
    if key not in NEEDS_A_FILE:
        with pytest.raises(ValueError, match=rf"{parameter} is {value}\.5; expected a whole number"):
            make_it(fg, b)


def test_positions_have_one_type(description):
    for port in description[1].get("inputs", []) + description[1].get("outputs", []):
        if re.fullmatch(r"positions?|tx|rx|receiver|transmitter", port.get("label", "")):
            assert (port["dtype"], port["vlen"]) == ("f64", 3)


def test_variables_and_callbacks_use_no_keywords(description):
    # GRC sorts variables by the names in var_make, and writes self.NAME for a name in a
    # callback: a keyword is taken for the variable of the same name
    templates = description[1]["templates"]
    for text in [templates.get("var_make", "")] + templates.get("callbacks", []):
        call = text.split("(", 1)[1] if "(" in text else ""
        assert not re.search(r"(?<![=!<>'\"\w])[a-z_]+\s*=(?!=)\s*[^=]", call), call


# ---- flowgraphs --------------------------------------------------------------------------
def block(key, **parameters):
    return {"name": parameters.pop("name", key), "id": key, "parameters": parameters,
            "states": {"state": "enabled", "coordinate": [0, 0], "rotation": 0}}


def flowgraph(folder, blocks, connections=(), generate="no_gui"):
    d = {"options": {"parameters": {"id": "compiled", "title": "test", "author": "",
                                    "generate_options": generate, "run_options": "run",
                                    "output_language": "python"},
                     "states": {"state": "enabled", "coordinate": [0, 0], "rotation": 0}},
         "blocks": blocks, "connections": [list(map(str, c)) for c in connections],
         "metadata": {"file_format": 1}}
    path = folder / "compiled.grc"
    path.write_text(yaml.safe_dump(d))
    return path


# names that users have, and that are also names of parameters
VARIABLES = [
    block("variable", name="samples", value="1200"),
    block("variable", name="prf_hz", value="400"),
    block("variable", name="pulses", value="acq.samples // 4"),
    block("variable", name="rows", value="64"),
    block("variable", name="targets", value="[(1, -2, 0, 1), (-20, 8, 0, 0.5j)]"),
    block("sar_acquisition", name="acq", waveform="pulsed_lfm", samples="samples",
          prf_hz="prf_hz", slant_range_first_m="9950"),
    # a variable made of the acquisition and called as one of its fields
    block("variable", name="carrier_hz", value="acq.carrier_hz"),
    block("sar_image_grid", name="grid", rows="rows", cols="int(rows * 1.5)",
          row_spacing_m="0.3"),
    block("sar_trajectory", name="track"),
]
SOURCE_TO_NOWHERE = VARIABLES + [
    block("sar_point_target_source", name="source", acq="acq", targets="targets", track="track",
          pulses="pulses", noise_power="0.1", seed="3", frames="2"),
    block("sar_trajectory_source", name="positions", track="track", prf_hz="prf_hz",
          pulses="pulses"),
    block("blocks_null_sink", name="lines", type="complex", vlen="acq.samples"),
    block("blocks_null_source", name="empty", type="complex", vlen="grid.cols"),
    block("blocks_head", name="some", type="complex", vlen="grid.cols", num_items="2 * rows"),
    block("sar_image_quality", name="quality", grid="grid", targets="targets"),
    block("blocks_null_source", name="silence", type="complex", vlen="1"),
    block("blocks_head", name="short", type="complex", vlen="1", num_items="1000"),
    block("sar_delay_calibration", name="calibrate", acq="acq"),
]
EDGES = [("source", 0, "lines", 0), ("empty", 0, "some", 0), ("some", 0, "quality", 0),
         ("silence", 0, "short", 0), ("short", 0, "calibrate", 0)]


@functools.cache
def home():
    """A home for all runs of grcc: with an empty one it reads some 500 descriptions anew."""
    folder = tempfile.TemporaryDirectory(prefix="grc-")
    atexit.register(folder.cleanup)
    return folder.name


def environment():
    return dict(os.environ, GRC_BLOCKS_PATH=str(SOURCE / "grc"), HOME=home(),
                XDG_CACHE_HOME=home(), XDG_CONFIG_HOME=home())


def grcc(path, out):
    tool = shutil.which("grcc", path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
    assert tool, "grcc is not installed (Debian: gnuradio)"
    got = subprocess.run([sys.executable, tool, "-o", str(out), str(path)], text=True,
                         capture_output=True, env=environment(), timeout=300)
    return got.returncode, got.stdout + got.stderr


def load(platform, path):
    fg = platform.make_flow_graph()
    fg.import_data(platform.parse_flow_graph(str(path)))
    fg.rewrite()
    fg.validate()
    return fg, [text for _, text in
                ((e, m) for e, m in fg.iter_error_messages())]


def test_compiles_and_runs(tmp_path):
    # the f64 outputs stay open: GNU Radio has no sink of that type in GRC
    blocks = [b for b in SOURCE_TO_NOWHERE if b["name"] != "positions"]
    path = flowgraph(tmp_path, blocks, EDGES)
    code, said = grcc(path, tmp_path)
    assert code == 0, said
    program = tmp_path / "compiled.py"
    text = program.read_text()
    check = text.replace("if __name__ == '__main__':", "if False:") + """
tb = compiled()
assert tb.acq.samples == 1200 and tb.acq.carrier_hz == 9.6e9, tb.acq
assert tb.acq.phase_sign == -1 and tb.acq.range_reference == "antenna"
assert tb.pulses == 300 and tb.carrier_hz == 9.6e9
assert (tb.grid.rows, tb.grid.cols, tb.grid.row_spacing_m) == (64, 96, 0.3)
assert tb.track.position(1)[1] == -156 + 100
tb.run()
assert tb.source.nitems_written(0) == 600
assert tb.quality.error() == "" and len(tb.quality.reports()) == 2
assert not tb.quality.reports()[0]["targets"][0]["found"]
assert "the stream ended" in tb.calibrate.calibrations()[0]["problem"]
print("ran through")
"""
    (tmp_path / "check.py").write_text(check)
    got = subprocess.run([sys.executable, "check.py"], cwd=tmp_path, text=True,
                         capture_output=True, timeout=300)
    assert got.returncode == 0 and "ran through" in got.stdout, got.stdout + got.stderr


@pytest.mark.parametrize("fields,attributes", [
    (dict(waveform="frequency_domain", frequency_step_hz="-2e6", phase_sign="1",
          range_reference="point", reference_point_m="[1, 2, 3]"),
     dict(waveform="frequency_domain", frequency_step_hz=-2e6, phase_sign=1,
          range_reference="point", reference_point_m=(1, 2, 3))),
    (dict(waveform="fmcw", chirp_rate_hz_per_s="-1e12", sample_rate_hz="5e6"),
     dict(waveform="fmcw", chirp_rate_hz_per_s=-1e12, sample_rate_hz=5e6, gate_start_s=0,
          sweep="sawtooth")),
    (dict(waveform="fmcw", chirp_rate_hz_per_s="1e12", sample_rate_hz="5e6", gate_start_s="1e-4",
          sweep="triangle"),
     dict(waveform="fmcw", gate_start_s=1e-4, sweep="triangle")),
    (dict(gate_start_s="1e-4", sweep="triangle"), dict(gate_start_s=0, sweep="sawtooth")),
    (dict(waveform="replica", pulse_reference="centre", look_side="left", range_bias_m="0.5"),
     dict(waveform="replica", pulse_reference="centre", look_side="left", range_bias_m=0.5,
          replica_bandwidth_hz=300e6)),
    (dict(effective_velocity_m_s="100", effective_velocity_slopes="[1e-3, 2e-6]",
          doppler_centroid_hz="-70", doppler_centroid_slopes="(0.25,)"),
     dict(effective_velocity_slopes=(1e-3, 2e-6), doppler_centroid_slopes=(0.25,))),
])
def test_acquisition_value_and_code_agree(platform, tmp_path, fields, attributes):
    path = flowgraph(tmp_path, [block("sar_acquisition", name="acq", **fields)])
    fg, errors = load(platform, path)
    assert not errors, errors
    value = fg.namespace["acq"]
    made = {}
    b = fg.get_block("acq")
    exec(b.templates.render("imports"), made)
    exec(b.get_var_make(), {**made, "self": type("flowgraph", (), {})()}, made)
    for a in (value, made["acq"]):
        d = a.to_dict()
        assert {k: d[k] for k in attributes} == attributes
    assert value.to_dict() == made["acq"].to_dict()


@pytest.mark.parametrize("key,fields", [
    ("sar_trajectory", dict(kind="sampled", times_s="[0, 1, 3]", clock_offset_s="0.5",
                            positions_m="[(0, 0, 9), (0, 100, 9), (0, 310, 8)]")),
    ("sar_trajectory", dict(kind="straight", start_m="[1, 2, 3]")),
    ("sar_image_grid", dict(place="origin", point_m="[1, 2, 3]", rows="5")),
    ("sar_image_grid", dict(place="centre", point_m="[1, 2, 3]", rows="5")),
])
def test_value_and_code_of_the_others_agree(platform, tmp_path, key, fields):
    fg, errors = load(platform, flowgraph(tmp_path, [block(key, name="thing", **fields)]))
    assert not errors, errors
    b = fg.get_block("thing")
    made = {}
    exec(b.templates.render("imports"), made)
    exec(b.get_var_make(), {**made, "self": type("flowgraph", (), {})()}, made)
    for v in (fg.namespace["thing"], made["thing"]):
        if key == "sar_trajectory":
            expected = (0, 100, 9) if fields["kind"] == "sampled" else (1, 2 + 50, 3)
            assert v.position(0.5) == pytest.approx(expected, abs=1e-9)
        else:
            at = (0, 0) if fields["place"] == "origin" else (2, 256)
            assert v.position(*at) == pytest.approx((1, 2, 3), abs=1e-9)


@pytest.mark.parametrize("key,fields", [
    ("sar_acquisition", dict(samples="0")),
    ("sar_acquisition", dict(samples="2048.5")),
    ("sar_acquisition", dict(carrier_hz="0")),
    ("sar_acquisition", dict(pulse_length_s="3e-6")), # 450 MHz at 360 MHz
    ("sar_acquisition", dict(waveform="frequency_domain", frequency_step_hz="0")),
    ("sar_acquisition", dict(doppler_centroid_slopes="[1, 2, 3, 4]")),
    ("sar_image_grid", dict(rows="-1")),
    ("sar_image_grid", dict(row_axis="[2, 0, 0]")),
    ("sar_trajectory", dict(kind="sampled", times_s="[0]")),
    ("sar_trajectory", dict(kind="sampled", times_s="[1, 0]")), # caught by the value
    ("sar_point_target_source", dict(pulses="0")),
    ("sar_point_target_source", dict(pulses="10.5")),
    ("sar_point_target_source", dict(targets="[(1, 2)]")),
    ("sar_point_target_source", dict(beam_rad="-0.1")),
    ("sar_trajectory_source", dict(prf_hz="0")),
    ("sar_image_quality", dict(carrier_hz="-1")),
    ("sar_image_quality", dict(irw="0")),
    ("sar_pulse_compression", dict(window="hanning")),
    ("sar_pulse_compression", dict(replica="[1, 1j]")), # acq is a chirp
    ("sar_pulse_compression", dict(acq="acq.replace(waveform='replica')")), # without samples
    ("sar_azimuth_filter", dict(acq="acq.replace(effective_velocity_m_s=60)", window="taylor(0)")),
    ("sar_image_quality", dict(azimuth_window="square")),
    ("sar_delay_calibration", dict(pulses="3")),
    ("sar_delay_calibration", dict(reference="True", ambiguity='"first_pulse"')),
    ("sar_pulse_framer", dict(lines="0")),
    ("sar_pulse_framer", dict(alignment='"trigger"')), # without a trigger input
    ("sar_pulse_framer", dict(presum="0")),
    ("sar_azimuth_fft", dict(lines="0")),
    ("sar_azimuth_fft", dict(fft_length="1000")), # less than lines
    ("sar_azimuth_fft", dict(hop="100", direction='"inverse"')),
])
def test_wrong_values_are_marked(platform, tmp_path, key, fields):
    others = [b for b in VARIABLES if b["id"] != key]
    good = flowgraph(tmp_path, others + [block(key, name="under_test")])

    def marks(path):
        return loaded_block(platform, path)[2]

    assert not marks(good)
    bad = flowgraph(tmp_path, others + [block(key, name="under_test", **fields)])
    assert marks(bad)


@pytest.mark.parametrize("storage,items", [("single", ("complex", 50)), ("half", ("byte", 208))])
@pytest.mark.parametrize("key,fields,ports", [
    ("sar_azimuth_fft", {}, ("complex", "rows")),
    ("sar_azimuth_fft", dict(direction='"inverse"'), ("rows", "complex")),
    ("sar_azimuth_filter", {}, ("rows", "complex")),
])
def test_ports_of_half_rows(platform, tmp_path, storage, items, key, fields, ports):
    """Rows of 16 bits are bytes in GRC, as many as the block makes of them."""
    acq = "acq.replace(samples=25, effective_velocity_m_s=100)"
    thing = block(key, name="thing", acq=acq, oversampling="2", storage=f'"{storage}"', **fields)
    fg, _ = load(platform, flowgraph(tmp_path, VARIABLES + [thing]))
    b = fg.get_block("thing")
    marks = list(b.get_error_messages()) + [m for p in b.params.values()
                                            for m in p.get_error_messages()]
    assert not [m for m in marks if "Port is not connected" not in m], marks
    made = {}
    exec(b.templates.render("imports"), made)
    made["acq"] = fg.namespace["acq"]
    made["thing"] = eval(b.templates.render("make"), made)
    for port, kind, signature in ((b.sources[0], ports[1], made["thing"].output_signature()),
                                  (b.sinks[0], ports[0], made["thing"].input_signature())):
        wanted = items if kind == "rows" else ("complex", 50)
        assert (port.dtype, port.vlen) == wanted
        assert {"complex": 8, "byte": 1}[port.dtype] * port.vlen == signature.sizeof_stream_item(0)


@pytest.mark.parametrize("flags", list(itertools.product(["False", "True"], repeat=4)), ids=str)
def test_ports_of_the_framer_are_those_of_the_block(platform, tmp_path, flags):
    """GRC numbers hidden ports too: whatever is shown, numbers and items are the block's."""
    names = ("reference_input", "trigger_input", "positions", "facts")
    thing = block("sar_pulse_framer", name="thing", acq="acq", lines="10", **dict(zip(names, flags)))
    fg, errors = load(platform, flowgraph(tmp_path, VARIABLES + [thing]))
    b = fg.get_block("thing")
    made = {}
    exec(b.templates.render("imports"), made)
    made["acq"] = fg.namespace["acq"]
    made["thing"] = eval(b.templates.render("make"), made)
    sizes = {"complex": 8, "float": 4, "f64": 8}
    for ports, signature in ((b.active_sinks, made["thing"].input_signature()),
                             (b.active_sources, made["thing"].output_signature())):
        ports = [p for p in ports if p.domain == "stream"]
        assert [p.key for p in ports] == [str(k) for k in range(len(ports))]
        assert len(ports) == signature.max_streams()
        for k, p in enumerate(ports):
            assert sizes[p.dtype] * p.vlen == signature.sizeof_stream_item(k)


@pytest.mark.parametrize("storage", ["single", "half"])
@pytest.mark.parametrize("oversampling", ["1", "3"])
def test_ports_of_the_range_doppler_chain_fit(platform, tmp_path, storage, oversampling):
    """Rows of 16 bits are items of bytes; the expressions must see the choice, and agree."""
    same = dict(acq="acq", lines="100", fft_length="128", oversampling=oversampling,
                storage=f'"{storage}"')
    size = dict(type="complex", vlen=f"acq.samples * {oversampling}")
    path = flowgraph(tmp_path, [
        block("sar_acquisition", name="acq", samples="601", effective_velocity_m_s="100"),
        block("blocks_null_source", name="empty", **size),
        block("sar_azimuth_fft", name="doppler", **same),
        block("sar_rcmc", name="migrate", **same),
        block("sar_azimuth_filter", name="azimuth", **same),
        block("blocks_null_sink", name="end", **size)],
        [("empty", 0, "doppler", 0), ("doppler", 0, "migrate", 0), ("migrate", 0, "azimuth", 0),
         ("azimuth", 0, "end", 0)])
    fg, errors = load(platform, path)
    assert not errors, errors
    (port,) = fg.get_block("migrate").sinks
    samples = 601 * int(oversampling)
    wanted = {"single": ("complex", samples),
              "half": ("byte", 4 * ((samples + 31) // 32 + samples))}[storage]
    assert (port.dtype, port.vlen) == wanted


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_compile(path, tmp_path):
    code, said = grcc(path, tmp_path)
    assert code == 0, said
    assert list(tmp_path.glob("*.py")), said
    # GRC warns where a Throttle is beside a source that ends, even if it is to slow that down
    if "blocks_throttle" not in {b["id"] for b in read(path)["blocks"]}:
        assert "Warning" not in said, said


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_have_no_reserved_id(path):
    """Names that one version of GRC or another reserves, and names of modules in the code."""
    from gnuradio import gr
    from gnuradio.grc.core.params.dtypes import ID_BLACKLIST
    reserved = (set(ID_BLACKLIST) | set(keyword.kwlist) | set(keyword.softkwlist)
                | set(dir(builtins)) | set(dir(gr.top_block()))
                | {"self", "default", "gnuradio", "gr", "sar", "blocks", "qtgui", "fft", "filter",
                   "window", "analog", "digital", "math", "os", "sys", "signal", "time", "pmt"})
    d = read(path)
    names = [b["name"] for b in d["blocks"]] + [d["options"]["parameters"]["id"]]
    assert not reserved & set(names)
    assert len(set(names)) == len(names)


def test_ids_are_nobody_elses(platform):
    """No id of ours is one of GNU Radio's own blocks; those have no prefix sar_."""
    ours = {name(p) for p in FILES}
    theirs = {k for k, c in platform.blocks.items() if not str(
        getattr(c, "loaded_from", "")).startswith(str(SOURCE))}
    assert len(theirs) > 300 and not ours & theirs
    labels = [platform.blocks[k].label for k in ours]
    assert len(set(labels)) == len(labels)
