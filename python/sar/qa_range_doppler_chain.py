# SPDX-License-Identifier: GPL-3.0-or-later
"""range_doppler_chain: the image of the stages connected one by one, and of the imager."""

import numpy as np
import pytest
from conftest import backends
from gnuradio import blocks, gr, sar
from qa_range_doppler_imager import difference_db, noise, run, strip

BAND = dict(bandwidth_hz=200, geometry="centroid")


@pytest.mark.parametrize("storage", ["single", "half"])
@pytest.mark.parametrize("backend", backends())
def test_image_is_that_of_the_stages(backend, storage):
    acq = strip(samples=200, doppler_centroid_hz=100.0)
    raw = noise(2 * 150, 200)
    chain = sar.range_doppler_chain(acq, 150, 160, oversampling=2, range_window="hann",
                                    azimuth_window="hamming", storage=storage, backend=backend,
                                    **BAND)
    image, tags = run([chain], raw)
    same = dict(oversampling=2, storage=storage, backend=backend)
    stages = [sar.pulse_compression(acq, 2, "hann", backend=backend),
              sar.azimuth_fft(acq, 150, 160, **same),
              sar.rcmc(acq, 150, 160, geometry="centroid", **same),
              sar.azimuth_filter(acq, 150, 160, window="hamming", **BAND, **same)]
    by_hand, tags_by_hand = run(stages, raw)
    assert image.shape == (320, 400) and len(tags) == 2
    assert difference_db(image, by_hand) < -120
    assert [t["origin_m"][1] for t in tags] == [t["origin_m"][1] for t in tags_by_hand]
    imager, _ = run([sar.range_doppler_imager(acq, 150, 160, oversampling=2, range_window="hann",
                                              azimuth_window="hamming", backend=backend, **BAND)],
                    raw)
    assert difference_db(image, imager) < (-100 if storage == "single" else -75)


def test_point_source_to_image():
    """A unit point: peak 1 in the cell of its closest range."""
    acq = strip(samples=300, slant_range_first_m=2900.0)
    track = sar.trajectory.straight((-30, 0, 0), (60, 0, 0))
    source = sar.point_target_source(acq, [(0, 3050, 0, 1)], track, 250, beam_rad=0.02)
    chain = sar.range_doppler_chain(acq, 250, bandwidth_hz=60)
    sink = blocks.vector_sink_c(300)
    tb = gr.top_block()
    tb.connect(source, chain, sink)
    tb.run()
    assert chain.error() == "" and chain.bad_lines() == 0 and chain.backend()
    image = abs(np.array(sink.data(), np.complex64).reshape(-1, 300))
    row, col = np.unravel_index(np.argmax(image), image.shape)
    assert col == pytest.approx((3050 - 2900) / (sar.speed_of_light / 2 / acq.sample_rate_hz), abs=1)
    assert image.max() == pytest.approx(1, abs=0.15)


def test_errors_are_those_of_the_stages():
    acq = strip(samples=64)
    with pytest.raises(ValueError, match="lines is 10.5; expected a whole number"):
        sar.range_doppler_chain(acq, 10.5)
    with pytest.raises(ValueError, match="interpolation is 'cubic'"):
        sar.range_doppler_chain(acq, 16, interpolation="cubic")
    with pytest.raises(ValueError, match="effective_velocity_m_s"):
        sar.range_doppler_chain(acq.replace(effective_velocity_m_s=0), 16)


def test_an_error_inside_is_told_with_the_stage():
    from conftest import frame_tag
    acq = strip(samples=64)
    chain = sar.range_doppler_chain(acq, 16)
    source = blocks.vector_source_c(noise(32, 64).ravel(), False, 64,
                                    [frame_tag(0, domain="raw", samples=63, prf_hz=250.0)])
    tb = gr.top_block()
    tb.connect(source, chain, blocks.null_sink(8 * 64))
    tb.run()
    assert chain.error().startswith("pulse_compression: ") and "63" in chain.error()
