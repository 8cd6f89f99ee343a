# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw lines and antenna positions to a back-projected image as one block."""

from . import sar_python as _sar
from .stage_chain import stage_chain


class back_projection_chain(stage_chain):
    """pulse_compression - bp_accumulator.

    Inputs: raw lines, vectors of acq.samples complex64; position of the antenna for each line,
    vectors of 3 doubles, m; with bistatic that of the receiver, likewise. Output: rows of the
    complex image, vectors of grid.cols complex64, with the tags of bp_accumulator.

    Copy this file to put a stage of your own between the two. Parameters and errors are those
    of the stages; the oversampling is that of the lines between them.
    """

    def __init__(self, acq, grid, oversampling=4, window="rect", replica=(),
                 interpolation="sinc8", accuracy="auto", pulses_per_image=0, hop=0,
                 bistatic=False, backend="auto", device=0):
        stages = {
            "pulse_compression": _sar.pulse_compression(
                acq, oversampling, window, replica, backend, device),
            "bp_accumulator": _sar.bp_accumulator(
                acq, grid, oversampling, interpolation, accuracy, pulses_per_image, hop, bistatic,
                backend, device),
        }
        stage_chain.__init__(self, "back_projection_chain",
                             [8 * acq.samples] + [24] * (2 if bistatic else 1), stages)
