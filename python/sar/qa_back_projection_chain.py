# SPDX-License-Identifier: GPL-3.0-or-later
"""back_projection_chain: the image of its two stages connected by hand."""

import numpy as np
import pytest
from conftest import backends
from gnuradio import blocks, gr, sar
from qa_range_doppler_imager import difference_db


def scene():
    acq = sar.acquisition(waveform="pulsed_lfm", samples=256, carrier_hz=9.6e9, prf_hz=200,
                          sample_rate_hz=180e6, pulse_length_s=0.5e-6, chirp_rate_hz_per_s=300e12,
                          slant_range_first_m=950)
    track = sar.trajectory.straight((-20, -800, 600), (100, 0, 0))
    grid = sar.image_grid.centred((0, 0, 0), (0, 1, 0), (1, 0, 0), 0.4, 0.4, 48, 40)
    return acq, track, grid


def form(acq, track, grid, blocks_of, receiver=None):
    """The image rows of a chain that blocks_of() gives as (entry, end)."""
    source = sar.point_target_source(acq, [(0, 0, 0, 1), (4, -6, 0, 0.5j)], track, 80)
    entry, end = blocks_of()
    sink = blocks.vector_sink_c(grid.cols)
    tb = gr.top_block()
    tb.connect(source, entry)
    if entry is not end:
        tb.connect(entry, end)
    tb.connect((source, 1), (end, 1))
    if receiver is not None:
        tb.connect(sar.trajectory_source(receiver, acq.prf_hz, 80), (end, 2))
    tb.connect(end, sink)
    tb.run()
    assert end.error() == "" and entry.error() == ""
    names = [str(t.key) for t in sink.tags()]
    return np.array(sink.data(), np.complex64).reshape(-1, grid.cols), names


@pytest.mark.parametrize("bistatic", [False, True])
@pytest.mark.parametrize("backend", backends())
def test_image_is_that_of_the_stages(backend, bistatic):
    acq, track, grid = scene()
    receiver = sar.trajectory.straight((-20, -800, 600), (100, 0, 0)) if bistatic else None

    def chain():
        block = sar.back_projection_chain(acq, grid, oversampling=2, window="hann",
                                          interpolation="sinc16", accuracy="exact",
                                          bistatic=bistatic, backend=backend)
        return block, block

    def by_hand():
        return (sar.pulse_compression(acq, 2, "hann", backend=backend),
                sar.bp_accumulator(acq, grid, oversampling=2, interpolation="sinc16",
                                   accuracy="exact", bistatic=bistatic, backend=backend))

    image, tags = form(acq, track, grid, chain, receiver)
    reference, tags_by_hand = form(acq, track, grid, by_hand, receiver)
    assert image.shape == (48, 40) and "sar_image" in tags and tags == tags_by_hand
    # batches, and so the order of sums, may differ
    assert difference_db(image, reference) < -120
    assert np.unravel_index(np.argmax(abs(image)), image.shape) == (24, 20)
    assert abs(image).max() == pytest.approx(1, abs=0.05)


def test_images_while_flying():
    acq, track, grid = scene()

    def chain():
        block = sar.back_projection_chain(acq, grid, pulses_per_image=40.0, hop=20)
        return block, block

    images, tags = form(acq, track, grid, chain)
    assert len(images) == 3 * grid.rows and tags.count("sar_image") == 3


def test_errors_are_those_of_the_stages():
    acq, _, grid = scene()
    with pytest.raises(ValueError, match="oversampling is 2.5; expected a whole number"):
        sar.back_projection_chain(acq, grid, oversampling=2.5)
    with pytest.raises(ValueError, match="accuracy is 'best'"):
        sar.back_projection_chain(acq, grid, accuracy="best")
