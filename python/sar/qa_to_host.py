# SPDX-License-Identifier: GPL-3.0-or-later
import pytest
from conftest import (VLEN, WRONG_PARAMETERS, backends,
                      check_plumbing, plumbing_sink, plumbing_source)
from gnuradio import gr, sar


@pytest.mark.parametrize("backend", backends())
def test_items_and_tags_pass(backend):
    tb = gr.top_block()
    source, data = plumbing_source()
    # one device output to a device block and, through to_host, to a host block
    up = sar.to_device(VLEN, 8, backend)
    block = sar.to_host(VLEN, 8, backend)
    further = sar.to_host(VLEN, 8, backend)
    tb.connect(source, up)
    tb.connect(up, block)
    tb.connect(up, further)
    sinks = [plumbing_sink(tb, block, 0), plumbing_sink(tb, further, 0)]
    tb.run()
    check_plumbing(block, sinks, data)


def test_nothing_is_left(backend="emulated"):
    test_items_and_tags_pass(backend)
    assert sar.device_stats(backend)["rings"] == 0


@pytest.mark.parametrize("arguments, part", WRONG_PARAMETERS)
def test_parameters_are_checked(arguments, part):
    with pytest.raises(ValueError, match=part):
        sar.to_host(**dict(dict(backend="cpu"), **arguments))


def test_whole_floats_are_integers():
    assert sar.to_host(2048.0, 8, "cpu").backend() == "cpu"


def test_says_where_it_runs():
    assert "emulated:0" in sar.to_host(16, backend="emulated").backend()
