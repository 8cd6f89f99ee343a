# SPDX-License-Identifier: GPL-3.0-or-later
import os

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, sar
from gnuradio.sar.recordings import open_recording
from gnuradio.sar.sigmf_files import write_sigmf
from qa_recordings import PULSED, make


@pytest.mark.parametrize("frames", [1, 3])
def test_lines_positions_and_tags(tmp_path, frames):
    p = np.random.default_rng(2).normal(size=(600, 3)) * 1e6
    meta, lines = make(tmp_path, pulses=600, positions=p)
    source = sar.recording_source(meta, 64.0, frames)
    sink, positions = blocks.vector_sink_c(64), blocks.file_sink(24, str(tmp_path / "p"))
    tb = gr.top_block()
    tb.connect(source, sink)
    tb.connect((source, 1), positions)
    tb.run()
    positions.close()
    np.testing.assert_array_equal(np.array(sink.data()).reshape(-1, 64), np.tile(lines, (frames, 1)))
    np.testing.assert_allclose(np.fromfile(tmp_path / "p").reshape(-1, 3), np.tile(p, (frames, 1)))
    tags = [t for t in sink.tags() if pmt.symbol_to_string(t.key) == "sar_frame"]
    assert [t.offset for t in tags] == [600 * i for i in range(frames)]
    d = pmt.to_python(tags[-1].value)
    assert d["frame"] == frames - 1 and d["lines"] == 600 and d["samples"] == 64
    assert d["prf_hz"] == 100.0 and d["domain"] == "raw" and d["slant_range_first_m"] == 1000.0
    assert source.error() == "" and source.work_calls() > 0 and d["pulse"] == 0


def test_ramps_back_are_those_of_the_whole_recording(tmp_path):
    """A triangle from its third line on: the first of those is a ramp back."""
    acq = sar.acquisition(waveform="fmcw", samples=100, carrier_hz=10e9, prf_hz=1000,
                          sample_rate_hz=1e6, chirp_rate_hz_per_s=5e11, gate_start_s=100e-6,
                          sweep="triangle", slant_range_first_m=2000)
    range_m = 2000 + 30 * acq.compressed_axis(1).spacing_m
    tb = gr.top_block()
    lines = blocks.vector_sink_c(100)
    tb.connect(sar.point_target_source(acq, [(0, range_m, 0, 1)], sar.trajectory.straight(
        (0, 0, 0), (0, 0, 0)), 12), lines)
    tb.run()
    write_sigmf(tmp_path / "t", np.array(lines.data()).reshape(12, 100), acq)
    rec = open_recording(tmp_path / "t", start=3)
    assert rec.acq.to_dict() == acq.to_dict() and rec.first_pulse == 3
    tb, out = gr.top_block(), blocks.vector_sink_c(100)
    source = sar.recording_source(rec)
    tb.connect(source, sar.pulse_compression(acq, backend="cpu"), out)
    tb.run()
    got = np.array(out.data()).reshape(9, 100)[:, 30]
    truth = np.exp(-4j * np.pi * acq.centre_frequency_hz() * range_m / sar.speed_of_light)
    assert np.abs(np.angle(got / truth)).max() < 0.01


@pytest.mark.parametrize("slopes", [(), (0.0,), (0.25, -1e-4)])
def test_centroid_in_the_tag(tmp_path, slopes):
    meta, _ = make(tmp_path)
    source = sar.recording_source(meta, options={"doppler_centroid_hz": -70.5,
                                                 "doppler_centroid_slopes": slopes})
    sink, tb = blocks.vector_sink_c(64), gr.top_block()
    tb.connect(source, sink)
    tb.run()
    value = pmt.dict_ref(sink.tags()[0].value, pmt.intern("doppler_centroid_hz"), pmt.PMT_NIL)
    if any(slopes):
        assert list(pmt.f64vector_elements(value)) == [-70.5, *slopes]
    else:
        assert pmt.to_double(value) == -70.5
    assert not pmt.dict_has_key(sink.tags()[0].value, pmt.intern("centroid_from"))


def test_positions_may_stay_unconnected(tmp_path):
    meta, lines = make(tmp_path, positions=np.ones((6, 3)))
    source, sink = sar.recording_source(sar.open_recording(meta)), blocks.vector_sink_c(64)
    tb = gr.top_block()
    tb.connect(source, sink)
    tb.run()
    assert len(sink.data()) == lines.size


def test_refuses(tmp_path):
    meta, _ = make(tmp_path)
    with pytest.raises(ValueError, match="samples is 65, but the recording has lines of 64"):
        sar.recording_source(meta, 65)
    with pytest.raises(ValueError, match="samples is 64.5; expected a whole number"):
        sar.recording_source(meta, 64.5)
    with pytest.raises(ValueError, match="frames is 0"):
        sar.recording_source(meta, frames=0)
    with pytest.raises(ValueError, match="nothing does not exist"):
        sar.recording_source(str(tmp_path / "nothing"))
    assert sar.recording_source(meta, options={"prf_hz": 5}).recording.acq.prf_hz == 5


def test_a_file_that_shrinks_ends_the_flowgraph(tmp_path):
    meta, _ = make(tmp_path, pulses=600)
    source, sink = sar.recording_source(meta), blocks.vector_sink_c(64)
    os.truncate(meta.replace("-meta", "-data"), 512 * 10)
    tb = gr.top_block()
    tb.connect(source, sink)
    tb.run()  # must return
    assert "ended at pulse" in source.error()
    assert PULSED["samples"] == 64
