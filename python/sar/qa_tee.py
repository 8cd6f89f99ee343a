# SPDX-License-Identifier: GPL-3.0-or-later
import time

import numpy as np
import pytest
from conftest import (VLEN, WRONG_PARAMETERS, backends,
                      check_plumbing, plumbing_sink, plumbing_source)
from gnuradio import gr, sar


class slow_block(gr.sync_block):
    def __init__(self):
        gr.sync_block.__init__(self, "slow", [(np.complex64, VLEN)], [(np.complex64, VLEN)])

    def work(self, input_items, output_items):
        n = min(len(output_items[0]), 7)
        time.sleep(1e-3)
        output_items[0][:n] = input_items[0][:n]
        return n


@pytest.mark.parametrize("backend", backends())
def test_items_and_tags_pass(backend):
    tb = gr.top_block()
    source, data = plumbing_source()
    # out0 goes on on the device, out1 to a slow Python block and back
    up = sar.to_device(VLEN, 8, backend)
    block = sar.tee(VLEN, 8, backend)
    further = sar.to_host(VLEN, 8, backend)
    tb.connect(source, up, block)
    tb.connect((block, 0), further)
    slow = slow_block()
    again = sar.to_device(VLEN, 8, backend)
    down = sar.to_host(VLEN, 8, backend)
    tb.connect((block, 1), slow)
    tb.connect(slow, again, down)
    sinks = [plumbing_sink(tb, further, 0), plumbing_sink(tb, down, 0)]
    tb.run()
    check_plumbing(block, sinks, data)


def test_nothing_is_left(backend="emulated"):
    test_items_and_tags_pass(backend)
    assert sar.device_stats(backend)["rings"] == 0


@pytest.mark.parametrize("arguments, part", WRONG_PARAMETERS)
def test_parameters_are_checked(arguments, part):
    with pytest.raises(ValueError, match=part):
        sar.tee(**dict(dict(backend="cpu"), **arguments))


def test_whole_floats_are_integers():
    assert sar.tee(2048.0, 8, "cpu").backend() == "cpu"


def test_says_where_it_runs():
    assert "emulated:0" in sar.tee(16, backend="emulated").backend()
