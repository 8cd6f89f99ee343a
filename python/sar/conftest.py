# SPDX-License-Identifier: GPL-3.0-or-later
import os

import pytest


def data_folder():
    """Where the recordings of others are: $SAR_DATA, or shared/data beside the source."""
    source = os.environ.get(
        "SAR_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    for folder in (os.environ.get("SAR_DATA"), os.path.join(source, "..", "shared", "data")):
        if folder and os.path.isdir(folder):
            return folder
    return None


def _set(name):
    folder = data_folder()
    path = folder and os.path.join(folder, name)
    if not path or not os.path.isdir(path):
        pytest.skip(f"recording set {name} is not here (set SAR_DATA to its parent folder)")
    return path


@pytest.fixture
def gotcha():
    folder = _set("afrl_gotcha_pass1_hh")
    return [os.path.join(folder, f"data_3dsar_pass1_az00{i}_HH.mat") for i in (1, 2)]


@pytest.fixture
def rail():
    return _set("p440_uwb_rail")


@pytest.fixture
def planar_scan():
    return _set("kband_planar_scan")


@pytest.fixture
def radarsat():
    return _set("radarsat1_vancouver")


# ---- an installation --------------------------------------------------------------------


@pytest.fixture(scope="session")
def install(tmp_path_factory):
    """(prefix, environment without the build tree's paths, what the installation said)."""
    import shutil
    import subprocess

    build = os.environ.get("SAR_BUILD_DIR")
    if (not build or not os.path.exists(os.path.join(build, "cmake_install.cmake"))
            or not shutil.which("cmake")):
        pytest.skip("no build tree with CMake here (set SAR_BUILD_DIR)")
    env = {k: v for k, v in os.environ.items()
           if k not in ("PYTHONPATH", "LD_LIBRARY_PATH", "GRC_BLOCKS_PATH",
                        "SOAPY_SDR_PLUGIN_PATH")}
    prefix = tmp_path_factory.mktemp("prefix")
    done = subprocess.run(["cmake", "--install", build, "--prefix", str(prefix)], env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix, env, done.stdout + done.stderr


def sourced(script, env):
    """The environment after a shell sourced a script."""
    import json
    import subprocess

    done = subprocess.run(
        ["sh", "-c", '. "$0" && exec "$1" -c "import json, os; print(json.dumps(dict(os.environ)))"',
         str(script), "/usr/bin/python3"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- backends ---------------------------------------------------------------------------


def backends():
    """Backends to parametrize a test with. CUDA without a GPU is skipped, visibly; with
    SAR_REQUIRE_GPU set that is a failure."""
    from gnuradio import sar

    try:
        sar.backend_description("cuda")
    except RuntimeError as why:
        if os.environ.get("SAR_REQUIRE_GPU", "0") != "0":
            raise
        cuda = pytest.param("cuda", marks=pytest.mark.skip(reason=str(why)))
    else:
        cuda = "cuda"
    return ["cpu", "emulated", cuda]


# ---- flowgraphs -------------------------------------------------------------------------


def run(tb, seconds=60, state=str):
    """To the end; a flowgraph that hangs is a failure, which says state()."""
    import threading

    tb.start()
    waiter = threading.Thread(target=tb.wait, daemon=True)  # one that hangs on ends with the tests
    waiter.start()
    waiter.join(seconds)
    if waiter.is_alive():
        tb.stop()
        waiter.join(20)
        pytest.fail(f"the flowgraph hangs {state()}")


def logged(capfd, *parts, seconds=10):
    """What was said, once all parts are in it or time is up: a thread of its own writes the log."""
    import time

    said, end = "", time.monotonic() + seconds
    while True:
        said += "".join(capfd.readouterr())
        if all(p in said for p in parts) or time.monotonic() > end:
            return said
        time.sleep(0.02)


# ---- tags -------------------------------------------------------------------------------


def tag(offset, key, value):
    """A tag with a pmt value."""
    import pmt
    from gnuradio import gr

    t = gr.tag_t()
    t.offset, t.key, t.value = offset, pmt.intern(key), value
    return t


def dict_tag(key, offset, fields):
    """A tag whose value is a dictionary; tuples and lists of numbers become f64 vectors."""
    import pmt

    d = pmt.make_dict()
    for k, v in fields.items():
        if isinstance(v, (list, tuple)):
            v = pmt.init_f64vector(len(v), list(v))
        d = pmt.dict_add(d, pmt.intern(k), v if isinstance(v, pmt.pmt_base) else pmt.to_pmt(v))
    return tag(offset, key, d)


def frame_tag(offset, **fields):
    """sar_frame"""
    return dict_tag("sar_frame", offset, fields)


def image_tag(offset, **fields):
    """sar_image"""
    return dict_tag("sar_image", offset, fields)


# ---- to_device, to_host, tee: what their tests share ------------------------------------

VLEN, ITEMS = 1000, 500
WRONG_PARAMETERS = [
    (dict(vlen=0), "vlen is 0"),
    (dict(vlen=2048.5), "vlen is 2048.5"),
    (dict(vlen=8, itemsize=0), "itemsize is 0"),
    (dict(vlen=1 << 28), "2147483647"),
    (dict(vlen=8, backend="gpu"), "backend is 'gpu'"),
    (dict(vlen=8, device=-1), "device is -1"),
]


def plumbing_source():
    """(source block, its values): items of VLEN random values, each seventh tagged."""
    import numpy as np
    import pmt
    from gnuradio import blocks, gr

    rng = np.random.default_rng(1)
    data = rng.normal(size=(2, ITEMS * VLEN)).astype(np.float32).T.copy().view(np.complex64)[:, 0]
    tags = [gr.python_to_tag((k, pmt.intern("line"), pmt.from_long(k))) for k in range(0, ITEMS, 7)]
    return blocks.vector_source_c(data, False, VLEN, tags), data


def plumbing_sink(tb, block, port):
    from gnuradio import blocks

    sink = blocks.vector_sink_c(VLEN)
    tb.connect((block, port), sink)
    return sink


def check_plumbing(block, sinks, data):
    """The block worked without an error; every sink has all values and tags."""
    import numpy as np
    import pmt

    assert block.error() == ""
    assert block.work_calls() > 0
    for sink in sinks:
        np.testing.assert_array_equal(np.array(sink.data(), np.complex64), data)
        assert [(t.offset, pmt.to_long(t.value)) for t in sink.tags()] == [
            (k, k) for k in range(0, ITEMS, 7)]
