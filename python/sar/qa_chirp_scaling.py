# SPDX-License-Identifier: GPL-3.0-or-later
"""chirp_scaling as a block, and its chain against theory and the other algorithms; frames,
tags and their errors are those of rcmc (lib/migration_block.h)."""

import numpy as np
import pmt
import pytest
from conftest import backends, frame_tag
from qa_range_doppler import Strip, energy_db, judge, quiet_blocks, strip  # noqa: F401

from gnuradio import blocks, gr, sar
from gnuradio.sar import focus


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("stages", [False, True], ids=["fused", "stages"])
@pytest.mark.parametrize("squint,geometry", [(0.0, "zero_doppler"), (4.0, "zero_doppler"),
                                             (4.0, "centroid"), (10.0, "zero_doppler")])
def test_point_targets_meet_theory(squint, geometry, stages, backend):
    scene = strip(squint)
    image, report = focus.range_doppler(scene.recording(), algorithm="csa", stages=stages,
                                        geometry=geometry, backend=backend)
    assert report["algorithm"] == "csa"
    if geometry == "zero_doppler":
        # what the shifted band of a point at the end of the swath loses of its peak
        lost = sar.chirp_scaling(scene.acq, 800, backend="cpu").band_shift_hz() / scene.acq.bandwidth_hz()
        for t, r in zip(scene.targets, judge(image, report, scene.targets)):
            assert r["pass"], (t["name"], r["failures"])
            assert r["peak_amplitude"] == pytest.approx(abs(t["amplitude"]), rel=0.012 + lost)
        assert lost < 0.05
    other, _ = focus.range_doppler(scene.recording(), algorithm="omegak", geometry=geometry,
                                   backend="cpu")
    assert energy_db(image, other) < (-25 if squint < 10 else -18)


@pytest.mark.parametrize("chirp", ["up", "down"])
def test_five_points_as_range_doppler_sees_them(chirp):
    scene = Strip(4.0, chirp=chirp)
    a, report = focus.range_doppler(scene.recording(), algorithm="csa", backend="cpu")
    b, _ = focus.range_doppler(scene.recording(), backend="cpu")
    for x, y in zip(judge(a, report, scene.targets), judge(b, report, scene.targets)):
        assert np.all(np.abs(np.subtract(x["position_m"], y["position_m"])) < 0.1 * 1.25)
        assert 20 * abs(np.log10(x["peak_amplitude"] / y["peak_amplitude"])) < 0.1
        assert abs(x["phase_error_rad"] - y["phase_error_rad"]) < 0.05


def run(block, rows, tags=()):
    rows = np.asarray(rows, np.complex64)
    source = blocks.vector_source_c(rows.ravel(), False, rows.shape[1], list(tags))
    sink = blocks.vector_sink_c(block.output_signature().sizeof_stream_item(0) // 8)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data(), np.complex64).reshape(len(rows), -1), sink.tags()


def acquisition(**more):
    f = dict(waveform="pulsed_lfm", samples=300, carrier_hz=9.6e9, prf_hz=300.0,
             sample_rate_hz=187.5e6, pulse_length_s=1e-6, chirp_rate_hz_per_s=120e12,
             slant_range_first_m=8000.0, effective_velocity_m_s=100.0)
    f.update(more)
    return sar.acquisition(**f)


@pytest.mark.parametrize("oversampling", [1, 3])
def test_sizes_and_tags(oversampling):
    block = sar.chirp_scaling(acquisition(), 16, 16, oversampling, backend="cpu")
    assert 0 <= block.phase_error_rad() < 0.1 and block.band_shift_hz() < 1e6
    rows = np.random.default_rng(1).normal(size=(16, 300))
    rows[3, 7] = np.nan
    out, tags = run(block, rows, [frame_tag(0, domain="raw_doppler", samples=300, rows=16,
                                            prf_hz=300.0, spacing_m=0.8, frame=2)])
    assert block.error() == "" and out.shape == (16, 300 * oversampling)
    assert block.bad_lines() == 1 and not out[3].any() and out[2].any()
    d = pmt.to_python(tags[0].value)
    assert (d["domain"], d["samples"], d["frame"]) == ("migrated", 300 * oversampling, 2)


@pytest.mark.parametrize("fields, part", [
    (dict(domain="range_doppler"), "of raw lines: it compresses them"),
    (dict(domain="raw_doppler", samples=301), "acq.samples of chirp_scaling says 300")])
def test_frame_tag_that_disagrees_ends_the_flowgraph(fields, part):
    block = sar.chirp_scaling(acquisition(), 16, 16, backend="cpu")
    run(block, np.zeros((16, 300)), [frame_tag(0, **fields)])
    assert part in block.error()


@pytest.mark.parametrize("fields, args, message", [
    ({}, dict(lines=16.5), "lines is 16.5; expected a whole number"),
    ({}, dict(range_window="box"), "box"),
    ({}, dict(geometry="slant"), "geometry is 'slant'"),
    (dict(waveform="replica", replica_bandwidth_hz=1e8), {}, "waveform is replica; chirp scaling"),
    (dict(samples=4096, slant_range_first_m=2000.0, doppler_centroid_hz=2300.0),
     dict(geometry="centroid"), "use stolt, or a narrower swath")])
def test_errors(fields, args, message):
    with pytest.raises(ValueError, match=message):
        sar.chirp_scaling(acquisition(**fields), **{"lines": 16, "backend": "cpu", **args})


def test_estimates_need_compressed_lines():
    with pytest.raises(focus.FocusError, match="takes raw ones"):
        focus.range_doppler(strip(0.0).recording(), algorithm="csa", stages=True,
                            doppler_centroid="estimate")
