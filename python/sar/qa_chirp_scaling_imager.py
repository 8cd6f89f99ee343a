# SPDX-License-Identifier: GPL-3.0-or-later
"""chirp_scaling_imager as a block: the chain's image; frames, strips and tags are those of
range_doppler_imager (lib/frame_imager_impl.h)."""

import numpy as np
import pytest
from conftest import backends, frame_tag
from qa_range_doppler_imager import difference_db, noise, run, strip

from gnuradio import sar


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("oversampling", [1, 2])
def test_image_is_that_of_the_chain(oversampling, backend):
    acq = strip(doppler_centroid_hz=100.0)
    raw = noise(2 * 211, 320)
    raw_frame = [frame_tag(0, domain="raw", samples=320)]
    common = dict(oversampling=oversampling, geometry="centroid", backend=backend)
    image, tags = run([sar.chirp_scaling_imager(acq, 211, 256, range_window="hamming",
                                                azimuth_window="hann", bandwidth_hz=200, **common)],
                      raw, raw_frame)
    by_stages, chain_tags = run(
        [sar.azimuth_fft(acq, 211, 256, backend=backend),
         sar.chirp_scaling(acq, 211, 256, range_window="hamming", **common),
         sar.azimuth_filter(acq, 211, 256, window="hann", bandwidth_hz=200, **common)],
        raw, raw_frame)
    assert image.shape == (2 * 256, 320 * oversampling)
    assert difference_db(image, by_stages) < -100
    assert len(tags) == len(chain_tags) == 2
    for a, b in zip(tags, chain_tags):
        assert set(a) == set(b)
        for key in a:
            assert np.all(a[key] == b[key]), key


@pytest.mark.parametrize("more,sentence", [
    (dict(lines=0), "lines is 0"), (dict(hop=201), "hop is 201"), (dict(looks=0), "looks is 0"),
    (dict(range_window="box"), "box"), (dict(backend="gpu"), "backend is 'gpu'")])
def test_wrong_parameters(more, sentence):
    with pytest.raises((ValueError, RuntimeError), match=sentence):
        sar.chirp_scaling_imager(**{"acq": strip(), "lines": 200, "backend": "cpu", **more})


def test_lines_that_are_not_finite_are_counted():
    raw = noise(200, 320)
    raw[7, 3] = np.nan
    block = sar.chirp_scaling_imager(strip(), 200, backend="cpu")
    image, _ = run([block], raw)
    assert np.all(np.isfinite(image))
    assert block.bad_lines() == 1 and block.memory_bytes() > 2 * 200 * 320 * 8
