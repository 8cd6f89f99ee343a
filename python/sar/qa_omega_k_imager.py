# SPDX-License-Identifier: GPL-3.0-or-later
"""omega_k_imager as a block: the chain's image; frames, strips and tags are those of
range_doppler_imager (lib/frame_imager_impl.h)."""

import numpy as np
import pytest
from conftest import backends
from qa_range_doppler_imager import difference_db, noise, run, strip

from gnuradio import sar


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("centroid", [0.0, 0.4, -5.5])
def test_image_is_that_of_the_chain(centroid, backend):
    acq = strip(doppler_centroid_hz=centroid * 250)
    raw = noise(2 * 211, 320)
    common = dict(geometry="centroid", backend=backend)
    image, tags = run([sar.omega_k_imager(acq, 211, 256, azimuth_window="hann", bandwidth_hz=200,
                                          **common)], raw)
    by_stages, chain_tags = run(
        [sar.pulse_compression(acq, backend=backend), sar.azimuth_fft(acq, 211, 256, backend=backend),
         sar.stolt(acq, 211, 256, **common),
         sar.azimuth_filter(acq, 211, 256, window="hann", bandwidth_hz=200, **common)], raw)
    assert image.shape == (2 * 256, 320)
    assert difference_db(image, by_stages) < -100
    assert len(tags) == len(chain_tags) == 2
    for a, b in zip(tags, chain_tags):
        assert set(a) == set(b)
        for key in a:
            assert np.all(a[key] == b[key]), key


def test_overlapping_frames():
    acq = strip(doppler_centroid_hz=70.0)
    block = sar.omega_k_imager(acq, 700, 1400, hop=200, bandwidth_hz=100, output="valid",
                               azimuth_window="hamming", backend="cpu")
    assert block.image_rows() == 200
    joined, tags = run([block], noise(1500, 320))
    full = [t for t in tags if t["complete"]]
    assert [t["first_pulse"] for t in full] == [0, 200, 400, 600, 800]
    alone, _ = run([sar.omega_k_imager(acq, 700, 1400, bandwidth_hz=100, azimuth_window="hamming",
                                       backend="cpu")], noise(1500, 320)[200:900])
    where = difference_db(joined[200:400], alone[:200])
    assert min(difference_db(joined[200:400], alone[k:k + 200]) for k in range(len(alone) - 199)) < -100
    assert where > -3  # (not the first rows: those are not valid)


@pytest.mark.parametrize("more,sentence", [
    (dict(lines=0), "lines is 0"), (dict(hop=201), "hop is 201"),
    (dict(interpolation="nearest"), "Stolt mapping needs exact"), (dict(looks=0), "looks is 0"),
    (dict(output="some"), "some"), (dict(backend="gpu"), "backend is 'gpu'")])
def test_wrong_parameters(more, sentence):
    with pytest.raises((ValueError, RuntimeError), match=sentence):
        sar.omega_k_imager(**{"acq": strip(), "lines": 200, "backend": "cpu", **more})


def test_lines_that_are_not_finite_are_counted():
    raw = noise(200, 320)
    raw[7, 3] = np.nan
    block = sar.omega_k_imager(strip(), 200, backend="cpu")
    image, _ = run([block], raw)
    assert np.all(np.isfinite(image))
    assert block.bad_lines() == 1 and block.memory_bytes() > 2 * 200 * 320 * 8
