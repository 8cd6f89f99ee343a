# SPDX-License-Identifier: GPL-3.0-or-later
import os

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar

VLEN, ITEMS = 1000, 500


def backends():
    yield "cpu"
    yield "emulated"
    try:
        sar.backend_description("cuda")
    except RuntimeError as why:
        if os.environ.get("SAR_REQUIRE_GPU", "0") != "0":
            raise
        yield pytest.param("cuda", marks=pytest.mark.skip(reason=str(why)))
    else:
        yield "cuda"


def connect_sink(tb, block, port):
    sink = blocks.vector_sink_c(VLEN)
    tb.connect((block, port), sink)
    return sink


@pytest.mark.parametrize("backend", backends())
def test_items_and_tags_pass(backend):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(2, ITEMS * VLEN)).astype(np.float32).T.copy().view(np.complex64)[:, 0]
    tags = [gr.python_to_tag((k, pmt.intern("line"), pmt.from_long(k))) for k in range(0, ITEMS, 7)]
    tb = gr.top_block()
    source = blocks.vector_source_c(data, False, VLEN, tags)
    # one host output to a host block and, through to_device, to two device blocks
    block = sar.to_device(VLEN, 8, backend)
    on_host = connect_sink(tb, source, 0)
    tb.connect(source, block)
    sinks = [on_host]
    for _ in range(2):
        down = sar.to_host(VLEN, 8, backend)
        tb.connect(block, down)
        sinks.append(connect_sink(tb, down, 0))
    tb.run()
    assert block.error() == ""
    assert block.work_calls() > 0
    for sink in sinks:
        np.testing.assert_array_equal(np.array(sink.data(), np.complex64), data)
        assert [(t.offset, pmt.to_long(t.value)) for t in sink.tags()] == [
            (k, k) for k in range(0, ITEMS, 7)]


def test_nothing_is_left(backend="emulated"):
    test_items_and_tags_pass(backend)
    assert sar.device_stats(backend)["rings"] == 0


@pytest.mark.parametrize("arguments, part", [
    (dict(vlen=0), "vlen is 0"),
    (dict(vlen=2048.5), "vlen is 2048.5"),
    (dict(vlen=8, itemsize=0), "itemsize is 0"),
    (dict(vlen=1 << 28), "2147483647"),
    (dict(vlen=8, backend="gpu"), "backend is 'gpu'"),
    (dict(vlen=8, device=-1), "device is -1"),
])
def test_parameters_are_checked(arguments, part):
    with pytest.raises(ValueError, match=part):
        sar.to_device(**dict(dict(backend="cpu"), **arguments))


def test_whole_floats_are_integers():
    assert sar.to_device(2048.0, 8, "cpu").backend() == "cpu"


def test_says_where_it_runs():
    assert "emulated:0" in sar.to_device(16, backend="emulated").backend()
