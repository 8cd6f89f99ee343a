# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw lines to a range-Doppler image as one block: the stages, connected."""

from . import sar_python as _sar
from .stage_chain import stage_chain


class range_doppler_chain(stage_chain):
    """pulse_compression - azimuth_fft - rcmc - azimuth_filter.

    Input: raw lines, vectors of acq.samples complex64. Output: rows of the complex image,
    vectors of acq.samples * oversampling complex64, with the tags of azimuth_filter.

    Copy this file to put a stage of your own between two of these; without one,
    range_doppler_imager makes the same image in fewer passes over memory. Parameters and
    errors are those of the stages.
    """

    def __init__(self, acq, lines, fft_length=0, hop=0, oversampling=1, range_window="rect",
                 replica=(), interpolation="exact", src=True, azimuth_window="rect",
                 bandwidth_hz=0.0, looks=1, geometry="zero_doppler", output="all",
                 storage="single", backend="auto", device=0):
        stages = {
            "pulse_compression": _sar.pulse_compression(
                acq, oversampling, range_window, replica, backend, device),
            "azimuth_fft": _sar.azimuth_fft(
                acq, lines, fft_length, hop, oversampling, "forward", storage, backend, device),
            "rcmc": _sar.rcmc(
                acq, lines, fft_length, oversampling, interpolation, src, geometry, storage,
                backend, device),
            "azimuth_filter": _sar.azimuth_filter(
                acq, lines, fft_length, oversampling, azimuth_window, bandwidth_hz, looks,
                geometry, output, hop, storage, backend, device),
        }
        stage_chain.__init__(self, "range_doppler_chain", [8 * acq.samples], stages)
