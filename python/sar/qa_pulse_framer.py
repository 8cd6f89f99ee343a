# SPDX-License-Identifier: GPL-3.0-or-later
"""pulse_framer as a block: one scene by every alignment, tags, positions, long pulses, a recording.
The framing itself: qa_pulse_framer.cc."""
import os
import time

import numpy as np
import pmt
import pytest
from conftest import _set, tag
from gnuradio import blocks, gr, sar

C = sar.speed_of_light
FS = 20e6
PRI = 2000.4


def acquisition(**kw):
    return sar.acquisition(**{**dict(
        waveform="pulsed_lfm", samples=900, carrier_hz=2.4e9, prf_hz=FS / PRI, sample_rate_hz=FS,
        pulse_length_s=400 / FS, chirp_rate_hz_per_s=10e6 * FS / 400, slant_range_first_m=300.0),
        **kw})


def time_tags(offset, seconds, fraction, rate=FS, frequency=None):
    """What gr-uhd puts on a sample."""
    tags = [tag(offset, "rx_time", pmt.make_tuple(pmt.from_uint64(seconds),
                                                  pmt.from_double(fraction)))]
    if rate:
        tags.append(tag(offset, "rx_rate", pmt.from_double(rate)))
    if frequency:
        tags.append(tag(offset, "rx_freq", pmt.from_double(frequency)))
    return tags


def pulses(acq, total, starts, amplitudes):
    """A stream of `total` samples with the pulse of acq at fractional starts."""
    out = np.zeros(total, complex)
    length = acq.pulse_length_s * FS
    n = np.arange(int(np.ceil(length)) + 1)
    for start, a in zip(starts, np.broadcast_to(amplitudes, len(starts))):
        first = int(np.ceil(start))
        t = first + n - start
        keep = (t < length - 1e-9) & (first + n >= 0) & (first + n < total)
        x = (t - length / 2) / FS
        out[(first + n)[keep]] += (a * np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * x**2))[keep]
    return out


def stream(values):
    """A source of complex or float values, from an array."""
    values = np.ascontiguousarray(values)
    if np.iscomplexobj(values):
        return blocks.vector_source_c(values.astype(np.complex64).tolist(), False)
    return blocks.vector_source_f(values.astype(np.float32).tolist(), False)


def run(framer, samples, inputs=(), track=None, tags=(), count=10**6):
    """Lines, the tags on them, positions, facts, messages."""
    acq_samples = framer.output_signature().sizeof_stream_item(0) // 8
    tb = gr.top_block()
    values = np.ascontiguousarray(samples)
    if np.iscomplexobj(values):
        source = blocks.vector_source_c(values.astype(np.complex64).tolist(), False, 1, list(tags))
    else:
        source = blocks.vector_source_f(values.astype(np.float32).tolist(), False, 1, list(tags))
    tb.connect(source, (framer, 0))
    for k, x in enumerate(inputs):
        tb.connect(stream(x), (framer, k + 1))
    sink = blocks.vector_sink_c(acq_samples)
    store = blocks.message_debug()
    tb.connect(framer, sink)
    tb.msg_connect(framer, "status", store, "store")
    extra = []
    for port in range(1, len(framer.output_signature().sizeof_stream_items())):
        size = framer.output_signature().sizeof_stream_item(port) // 4
        extra.append(blocks.vector_sink_f(size)) # doubles, bit by bit
    if track is not None:
        tb.connect(sar.trajectory_source(track, 1.0, count), (framer, 1 + len(inputs)))
    for k, s in enumerate(extra):
        tb.connect((framer, k + 1), s)
    tb.run()
    assert framer.error() == "", framer.error()
    side = [np.array(s.data(), np.float32).view(np.float64) for s in extra]
    messages = [pmt.to_python(store.get_message(i)) for i in range(store.num_messages())]
    return (np.array(sink.data(), np.complex64).reshape(-1, acq_samples), sink.tags(), side,
            messages)


def of(tags, key):
    return [(t.offset, pmt.to_python(t.value)) for t in tags
            if pmt.symbol_to_string(t.key) == key]


# ---- one scene, every alignment ------------------------------------------------------------
LEAD, RADIO, LEAK, CABLE, SYNC = 731.3, 46.0, 3.7, 1.25, 5.5
TARGETS = [(-4.0, 3500.0, 0.0, 0.3), (5.0, 3530.0, 0.0, 0.2j)]
TRACK = sar.trajectory.straight((-10.0, 0, 0), (400.0, 0, 0))
PULSES = 500


@pytest.fixture(scope="module")
def scene():
    """Main stream with leakage and targets, reference, trigger."""
    acq = acquisition()
    n = np.arange(PULSES + 3)
    total = int(LEAD + (PULSES + 3) * PRI)
    sent = LEAD + RADIO + n * PRI
    main = pulses(acq, total, sent + LEAK, 1)
    where = np.stack([np.array(TRACK.position(t)) for t in n / acq.prf_hz])
    for *p, a in TARGETS:
        r = np.linalg.norm(np.array(p) - where, axis=1)
        main += pulses(acq, total, sent + 2 * r / C * FS,
                       a * np.exp(-2j * np.pi * np.mod(2 * r * acq.carrier_hz / C, 1)))
    reference = pulses(acq, total, sent + CABLE, 0.5)
    u = np.arange(total)
    phase = np.mod(u - (sent[0] - SYNC) + PRI / 2, PRI) - PRI / 2
    trigger = np.clip(phase / 2 + 0.5, 0, 1) - np.clip((phase - 100) / 2 + 0.5, 0, 1)
    return acq, main, reference, trigger


def image(acq, framer, main, inputs, tags=()):
    grid = sar.image_grid.centred(rows=40, cols=40, centre_m=(0, 3515, 0), row_axis=(0, 1, 0),
                                  col_axis=(1, 0, 0), row_spacing_m=3, col_spacing_m=2)
    tb = gr.top_block()
    source = blocks.vector_source_c(main.astype(np.complex64).tolist(), False, 1, list(tags))
    tb.connect(source, (framer, 0))
    for k, x in enumerate(inputs):
        tb.connect(stream(x), (framer, k + 1))
    tb.connect(sar.trajectory_source(TRACK, acq.prf_hz, PULSES + 10), (framer, 1 + len(inputs)))
    former = sar.bp_accumulator(acq, grid, oversampling=4, interpolation="sinc16",
                                pulses_per_image=PULSES - 2, backend="cpu")
    sink = blocks.vector_sink_c(grid.cols)
    compress = sar.pulse_compression(acq, 4, "hamming", backend="cpu")
    tb.connect(framer, compress, former, sink)
    tb.connect((framer, 1), (former, 1))
    tb.run()
    assert framer.error() == "" and former.error() == "" and compress.error() == ""
    return np.array(sink.data(), np.complex64).reshape(-1, grid.rows, grid.cols)[0]


def test_one_scene_by_every_alignment(scene):
    acq, main, reference, trigger = scene
    start = (7, 0.5 + LEAD / FS)
    tags = time_tags(0, 7, 0.5)
    cases = {
        "scheduled": (dict(start=start, delay_s=RADIO / FS), [], tags),
        "trigger": (dict(trigger_input=True, delay_s=SYNC / FS), [trigger], []),
        "reference": (dict(reference_input=True, reference_delay_s=CABLE / FS), [reference], []),
        "leakage": (dict(reference_delay_s=LEAK / FS), [], []),
    }
    images = {}
    for name, (kw, inputs, t) in cases.items():
        framer = sar.pulse_framer(acq, 100, name, positions=True, **kw)
        images[name] = image(acq, framer, main, inputs, t)
        assert framer.status()["alignment"] == name and framer.status()["lost"] == 0
        # and by itself
        auto = sar.pulse_framer(acq, 100, "auto", positions=True,
                                **{**kw, "reference_delay_s": kw.get("reference_delay_s",
                                                                     LEAK / FS)})
        images["auto " + name] = image(acq, auto, main, inputs, t)
        assert auto.status()["alignment"] == name
    truth = images["scheduled"]
    peak = np.unravel_index(np.abs(truth).argmax(), truth.shape)
    assert abs(np.abs(truth).max() - 0.3) < 0.03, (np.abs(truth).max(), peak)
    for name, got in images.items():
        error = np.sum(np.abs(got - truth) ** 2) / np.sum(np.abs(truth) ** 2)
        assert 10 * np.log10(error + 1e-20) < -60, (name, 10 * np.log10(error))


def test_images_after_drops(scene):
    """1, 7 and 200 pulses less: every other line, position and its phase stay as they were."""
    acq, main, _, _ = scene
    whole, _, _, _ = run(sar.pulse_framer(acq, 100, "scheduled", start=(7, 0.5 + LEAD / FS),
                                          delay_s=RADIO / FS), main, tags=time_tags(0, 7, 0.5))
    keep, tags, at = [], time_tags(0, 7, 0.5), 0
    for first, dropped in ((20, 1), (60, 7), (200, 200)):
        begin = int(LEAD + first * PRI) + 333
        end = begin + int(dropped * PRI)
        keep.append(main[at:begin])
        at = end
        t = 0.5 + end / FS
        tags += time_tags(sum(map(len, keep)), 7, t)
    keep.append(main[at:])
    framer = sar.pulse_framer(acq, 100, "scheduled", start=(7, 0.5 + LEAD / FS),
                              delay_s=RADIO / FS, positions=True, facts=True)
    track = sar.trajectory.straight((0, 0, 0), (1, 0, 0)) # position n is (n, 0, 0)
    got, out_tags, (where, facts), messages = run(framer, np.concatenate(keep), track=track,
                                                  tags=tags, count=PULSES + 10)
    facts = facts.reshape(-1, 8)
    assert len(got) == len(whole) == len(facts)
    hole = facts[:, 2].astype(int) & 1 == 1
    np.testing.assert_array_equal(facts[:, 0], np.arange(len(got)))
    np.testing.assert_allclose(where.reshape(-1, 3)[:, 0], np.arange(len(got)), atol=1e-9)
    assert 208 <= hole.sum() <= 211
    np.testing.assert_allclose(got[~hole], whole[~hole], atol=1e-5)
    assert not got[hole].any()
    # tags: a frame each 100 lines, a row of holes at each loss
    frames = of(out_tags, "sar_frame")
    assert [o for o, _ in frames] == list(range(0, len(got), 100))
    for k, (o, f) in enumerate(frames):
        assert f["frame"] == k and f["pulse"] == o and f["lines"] == 100 and f["samples"] == 900
        assert f["domain"] == "raw" and f["alignment"] == "scheduled"
        assert f["prf_hz"] == pytest.approx(FS / PRI) and f["first_line"] == o
        assert f["slant_range_first_m"] == 300 and f["spacing_m"] == pytest.approx(C / 2 / FS)
        assert f["time_s"] == pytest.approx(7.5 + LEAD / FS + o * PRI / FS, abs=1e-9)
        assert f["holes"] == hole[:o].sum() and f["continues"] == (k > 0)
    holes = of(out_tags, "sar_holes")
    assert sum(h["count"] for _, h in holes) == hole.sum() and len(holes) == 3
    for o, h in holes:
        assert h["pulse"] == o and h["filled"] and not h["estimated"]
        assert hole[o : o + h["count"]].all() and not hole[o - 1]
    last = messages[-1]
    assert last["filled"] == hole.sum() == last["lost"] and last["gaps"] == 3
    assert last["framed"] == (~hole).sum() and last["locked"]


def test_positions_go_by_number_where_holes_are_skipped():
    acq = acquisition(samples=300, prf_hz=FS / 500, pulse_length_s=5e-6, chirp_rate_hz_per_s=1e12,
                      slant_range_first_m=0.0)
    x = np.arange(100 * 500).astype(float)
    cut, lost = 20 * 500 + 100, 30 * 500
    tags = time_tags(0, 3, 0.0) + time_tags(cut, 3, (cut + lost) / FS)
    framer = sar.pulse_framer(acq, 1000, "scheduled", positions=True, facts=True, fill="skip",
                              real_input=True)
    track = sar.trajectory.straight((0, 0, 0), (1, 0, 0))
    got, out_tags, (where, facts), _ = run(framer, np.delete(x, slice(cut, cut + lost)),
                                           track=track, tags=tags, count=200)
    numbers = facts.reshape(-1, 8)[:, 0]
    np.testing.assert_array_equal(numbers, np.r_[0:20, 51:100])
    np.testing.assert_allclose(where.reshape(-1, 3)[:, 0], numbers, atol=1e-9)
    np.testing.assert_array_equal(got.real[:, 0], 500 * numbers)
    ((offset, holes),) = of(out_tags, "sar_holes")
    assert offset == 20 and holes["pulse"] == 20 and holes["count"] == 31
    assert not holes["filled"]


def test_dc_of_the_receiver(scene):
    """0.7 of full scale: the same image but for -50 dB."""
    acq, main, _, _ = scene
    kw = dict(alignment="leakage", positions=True, reference_delay_s=LEAK / FS, full_scale=0)
    clean = image(acq, sar.pulse_framer(acq, 100, **kw), main, [])
    framer = sar.pulse_framer(acq, 100, remove_dc=True, **kw)
    got = image(acq, framer, main + 0.7 - 0.2j, [])
    error = np.sum(np.abs(got - clean) ** 2) / np.sum(np.abs(clean) ** 2)
    assert 10 * np.log10(error) < -50
    assert abs(framer.status()["dc"] - (0.7 - 0.2j)) < 0.02


@pytest.mark.parametrize("gain", [1, 40])
def test_a_receiver_that_clips_is_told(scene, gain, capfd):
    """More than 0.1 % of the samples at full scale: a sentence with the share and what to do."""
    acq, main, _, _ = scene
    x = main / np.max(np.abs(main)) * 0.9 * gain
    x = np.clip(x.real, -1, 1) + 1j * np.clip(x.imag, -1, 1)
    share = np.mean((np.abs(x.real) >= 1) | (np.abs(x.imag) >= 1))
    assert share > 2e-3 if gain > 1 else share == 0
    run(sar.pulse_framer(acq, 100, alignment="leakage", reference_delay_s=LEAK / FS), x)
    said = [t for t in capfd.readouterr().out.splitlines() if "at full scale" in t]
    assert bool(said) == (gain > 1), said
    if said:
        assert "at full scale (0.999): the receiver clips, lower its gain" in said[0]
        assert float(said[0].split(" %")[0].split()[-1]) == pytest.approx(100 * share, rel=0.5)


def test_the_log_names_the_alignment(scene, capfd):
    """Of several that are possible, and which one was taken."""
    acq, main, reference, trigger = scene
    tags = time_tags(0, 7, 0.5)
    framer = sar.pulse_framer(acq, 100, "auto", start=(7, 0.5 + LEAD / FS), delay_s=RADIO / FS)
    run(framer, main, tags=tags)
    assert framer.status()["alignment"] == "scheduled"
    assert "alignment scheduled" in capfd.readouterr().out
    framer = sar.pulse_framer(acq, 100, "auto", reference_delay_s=LEAK / FS)
    run(framer, main)
    assert framer.status()["alignment"] == "leakage"
    assert "alignment leakage" in capfd.readouterr().out


def test_frequency_steps_add_up():
    """22 steps of 5 MHz with another phase and delay each: one profile of 110 MHz."""
    steps, step_hz, target_m = 22, 5e6, 900.0
    acq = acquisition(samples=900, slant_range_first_m=0.0)
    rng = np.random.default_rng(2)
    n = 6 # pulses a step
    main, reference, tags, at = [], [], [], 0
    for k in range(steps):
        f = acq.carrier_hz + k * step_hz
        total = int((n + 0.5) * PRI) + rng.integers(500)
        starts = rng.uniform(0, PRI / 2) + PRI * np.arange(n)
        phase = np.exp(2j * np.pi * rng.uniform())
        cable = CABLE / FS
        reference.append(pulses(acq, total, starts + CABLE,
                                phase * np.exp(-2j * np.pi * f * cable)))
        main.append(pulses(acq, total, starts + 2 * target_m / C * FS,
                           phase * np.exp(-4j * np.pi * f * target_m / C)))
        tags += [tag(at, "rx_rate", pmt.from_double(FS)), tag(at, "rx_freq", pmt.from_double(f))]
        at += total
    framer = sar.pulse_framer(acq, 100, "reference", reference_input=True, smoothing=4,
                              reference_delay_s=CABLE / FS, correct="delay_phase", fill="skip")
    got, out_tags, _, _ = run(framer, np.concatenate(main), [np.concatenate(reference)], tags=tags)
    frames = of(out_tags, "sar_frame")
    assert [f["step"] for _, f in frames] == list(range(steps))
    assert [f["frequency_hz"] for _, f in frames] == [acq.carrier_hz + k * step_hz
                                                      for k in range(steps)]
    assert all(not f["continues"] for _, f in frames)
    assert np.diff([o for o, _ in frames]).tolist() == [n] * (steps - 1)
    # the echo of each step: one value, its phase that of the range alone
    t = (np.arange(400) - 200) / FS
    replica = np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * t**2)
    whole = int(round(2 * target_m / C * FS))
    ends = [o for o, _ in frames[1:]] + [len(got)]
    values = np.array([np.vdot(replica, got[o:e, whole : whole + 400].mean(axis=0)) / 400
                       for (o, _), e in zip(frames, ends)])
    r = np.linspace(-6, 6, 4801)
    f = acq.carrier_hz + step_hz * np.arange(steps)
    profile = np.abs(np.exp(4j * np.pi * np.outer(target_m + r, f) / C) @ values)
    ideal = np.abs(np.exp(4j * np.pi * np.outer(r, f) / C).sum(axis=1))

    def pslr(x):
        null = C / (2 * steps * step_hz)
        return 20 * np.log10(x[np.abs(r) > null].max() / x.max())
    assert abs(r[profile.argmax()]) < 0.02
    assert abs(pslr(profile) - pslr(ideal)) < 0.3


def test_presum_takes_the_mean_position(scene):
    acq, main, _, _ = scene
    framer = sar.pulse_framer(acq, 10, "scheduled", start=(7, 0.5 + LEAD / FS),
                              delay_s=RADIO / FS, positions=True, presum=4)
    track = sar.trajectory.straight((0, 0, 0), (1, 0, 0))
    cut = int(LEAD + 41.4 * PRI) # the end of 40, all of 41 and the begin of 42 are missing
    end = cut + int(1.2 * PRI)
    x = np.concatenate([main[:cut], main[end:]])
    tags = time_tags(0, 7, 0.5) + time_tags(cut, 7, 0.5 + end / FS)
    got, out_tags, (where,), _ = run(framer, x, track=track, tags=tags, count=PULSES + 10)
    where = where.reshape(-1, 3)[:, 0]
    expected = np.arange(len(got)) * 4 + 1.5
    assert len(got) == (PULSES + 3) // 4 + 1
    odd = np.flatnonzero(np.abs(where - expected) > 1e-9)
    assert set(odd) <= {10, len(got) - 1}
    assert where[10] == pytest.approx(np.mean([40, 43]))
    assert of(out_tags, "sar_frame")[0][1]["prf_hz"] == pytest.approx(FS / PRI / 4)


def test_leakage_at_any_offset():
    """0 to 5000 samples before the first pulse: the range of a target within a tenth of a cell."""
    acq = acquisition(slant_range_first_m=0.0)
    rng = np.random.default_rng(4)
    target = 470.25
    for lead in np.concatenate([[0, 5000], rng.uniform(0, 5000, 18)]):
        n = np.arange(12)
        total = int(lead + 12 * PRI)
        main = pulses(acq, total, lead + n * PRI + LEAK, 1)
        main += pulses(acq, total, lead + n * PRI + target, 0.01)
        main += 1e-3 * (rng.normal(size=total) + 1j * rng.normal(size=total))
        got, _, _, _ = run(sar.pulse_framer(acq, 10, "leakage", reference_delay_s=LEAK / FS), main)
        assert len(got) >= 10
        t = (np.arange(400) - 200) / FS
        replica = np.exp(1j * np.pi * acq.chirp_rate_hz_per_s * t**2)
        for line in got:
            c = np.abs(np.correlate(line, replica, "valid"))[420:]
            k = c.argmax()
            fine = k + 0.5 * (c[k - 1] - c[k + 1]) / (c[k - 1] - 2 * c[k] + c[k + 1])
            assert abs(420 + fine - target) < 0.2 # samples; a cell has two


@pytest.mark.parametrize("samples", [1000, 8191, 8192, 10000, 1000000])
def test_long_lines_do_not_freeze(samples):
    acq = acquisition(samples=samples, prf_hz=FS / (samples + 500), pulse_length_s=500 / FS,
                      chirp_rate_hz_per_s=1e11, slant_range_first_m=0.0)
    lines = 3 if samples == 1000000 else 40
    total = lines * (samples + 500) + 20
    tb = gr.top_block()
    framer = sar.pulse_framer(acq, 4, "scheduled", positions=True)
    source = blocks.null_source(8)
    head = blocks.head(8, total)
    sink = blocks.null_sink(8 * samples)
    tb.connect(source, head, framer, sink)
    tb.connect(sar.trajectory_source(TRACK, acq.prf_hz, lines + 1), (framer, 1))
    tb.connect((framer, 1), blocks.null_sink(24))
    tb.run()
    assert framer.error() == ""
    assert framer.nitems_written(0) == lines == framer.nitems_written(1)


def test_gaps_as_gr_soapy_tells_them(scene):
    """rx_rate again without rx_time: a gap of unknown length, found again by leakage."""
    acq, main, _, _ = scene
    cut = int(LEAD + RADIO + 100 * PRI) + 300 # in a line
    x = np.concatenate([main[:cut], main[cut + 345 :]])
    framer = sar.pulse_framer(acq, 100, "auto", reference_delay_s=LEAK / FS, facts=True)
    got, out_tags, (facts,), messages = run(
        framer, x, tags=[tag(0, "rx_rate", pmt.from_double(FS)), tag(cut, "rx_rate",
                                                                     pmt.from_double(FS))])
    facts = facts.reshape(-1, 8)
    whole, _, _, _ = run(sar.pulse_framer(acq, 100, "auto", reference_delay_s=LEAK / FS), main)
    hole = facts[:, 2].astype(int) & 1 == 1
    assert 1 <= hole.sum() <= 2 and hole[99:102].sum() == hole.sum()
    assert (facts[hole, 2].astype(int) & 4).all()
    error = np.abs(got[~hole] - whole[: len(got)][~hole]).max()
    assert error < 0.02
    assert messages[-1]["gaps"] == 1 and messages[-1]["estimated"] == hole.sum()


def test_an_overflow_message_is_a_gap(scene):
    acq, main, _, _ = scene
    framer = sar.pulse_framer(acq, 100, "leakage")
    framer.to_basic_block()._post(pmt.intern("overflow"), pmt.PMT_T)
    run(framer, main)
    assert framer.status()["gaps"] in (0, 1) # before the first sample it is none
    framer = sar.pulse_framer(acq, 100, "leakage")
    tb = gr.top_block()
    source = blocks.vector_source_c(main.astype(np.complex64).tolist(), True)
    sink = blocks.null_sink(8 * 900)
    tb.connect(source, framer, sink)
    tb.start()
    import time
    for _ in range(200):
        time.sleep(0.05)
        if framer.nitems_written(0) > 50:
            break
    framer.to_basic_block()._post(pmt.intern("overflow"), pmt.PMT_T)
    for _ in range(200):
        time.sleep(0.05)
        if framer.status()["gaps"] > framer.status()["silent_gaps"]:
            break
    tb.stop()
    tb.wait()
    assert framer.status()["gaps"] > framer.status()["silent_gaps"]


def test_bursts_by_length_tags():
    acq = acquisition(samples=300, prf_hz=FS / 500, pulse_length_s=5e-6, chirp_rate_hz_per_s=1e12,
                      slant_range_first_m=0.0)
    x = np.tile(np.arange(2000), 6)
    tags = [tag(k * 2000, "packet_len", pmt.from_long(2000)) for k in range(6)]
    got, _, _, messages = run(sar.pulse_framer(acq, 100, "burst"), x.astype(complex), tags=tags)
    assert len(got) == 24
    np.testing.assert_array_equal(got.real[:, 0], 500 * (np.arange(24) % 4))


def test_real_samples():
    acq = acquisition(samples=300, prf_hz=FS / 500, pulse_length_s=5e-6, chirp_rate_hz_per_s=1e12,
                      slant_range_first_m=0.0)
    x = np.arange(5000) % 500
    got, _, _, _ = run(sar.pulse_framer(acq, 100, "scheduled", real_input=True, invert=True),
                       x.astype(float))
    assert len(got) == 10
    np.testing.assert_array_equal(got, np.tile(-np.arange(300), (10, 1)).astype(np.complex64))


def test_positions_that_end_too_early_are_named():
    acq = acquisition(samples=300, prf_hz=FS / 500, pulse_length_s=5e-6, chirp_rate_hz_per_s=1e12,
                      slant_range_first_m=0.0)
    framer = sar.pulse_framer(acq, 100, "scheduled", positions=True)
    tb = gr.top_block()
    tb.connect(blocks.null_source(8), blocks.head(8, 50000), framer, blocks.null_sink(2400))
    tb.connect(sar.trajectory_source(TRACK, acq.prf_hz, 7), (framer, 1))
    tb.connect((framer, 1), blocks.null_sink(24))
    tb.run()
    assert "positions ended with pulse 6" in framer.error() and "pulse 7" in framer.error()


def test_a_rate_that_contradicts_is_named():
    framer = sar.pulse_framer(acquisition(), 100)
    tb = gr.top_block()
    source = blocks.vector_source_c([0] * 5000, False, 1, [tag(10, "rx_rate",
                                                               pmt.from_double(19e6))])
    tb.connect(source, framer, blocks.null_sink(8 * 900))
    tb.run()
    assert "rx_rate" in framer.error() and "19000000 Hz" in framer.error()


@pytest.mark.parametrize("kw,words", [
    (dict(lines=0), "lines is 0"),
    (dict(lines=2.5), "lines is 2.5"),
    (dict(alignment="sync"), "alignment is 'sync'"),
    (dict(alignment="trigger"), "trigger_input"),
    (dict(correct="phase"), "correct is 'phase'"),
    (dict(fill="nan"), "fill is 'nan'"),
    (dict(edge="up"), "edge is 'up'"),
    (dict(start="noon"), "start is noon"),
    (dict(start=(1, 2)), "fraction of 2"),
    (dict(start=-1), "start is -1"),
    (dict(replica=7), "replica"),
    (dict(presum=0), "presum is 0"),
    (dict(burst_tag=""), "burst_tag is empty"),
    (dict(pri_samples=1), "pri_samples"),
])
def test_wrong_parameters_are_named(kw, words):
    with pytest.raises(ValueError) as e:
        sar.pulse_framer(**{**dict(acq=acquisition(), lines=100), **kw})
    assert words in str(e.value)


# ---- a recording ---------------------------------------------------------------------------


@pytest.fixture
def coffee_can():
    return os.path.join(_set("kth_sdr_coffee_can"), "fmcw_promenade_first20s.wav")


def promenade(path, order=(0, 1), **kw):
    from scipy.io import wavfile
    rate, x = wavfile.read(path)
    beat, sync = (x[:, k] / 32768 for k in order)
    # ramp of 20.6 ms from 2.4 to 2.5 GHz, one every 41.3 ms
    acq = sar.acquisition(waveform="fmcw", samples=860, carrier_hz=2.4e9, prf_hz=1 / 41.3e-3,
                          sample_rate_hz=rate, chirp_rate_hz_per_s=100e6 / 20.6e-3)
    framer = sar.pulse_framer(acq, 100, "trigger", trigger_input=True, real_input=True,
                              trigger_level=0, trigger_hysteresis=0.2, facts=True,
                              line_offset_s=20 / rate, invert=True, **kw)
    got, _, (facts,), _ = run(framer, beat, [sync])
    return acq, framer, got, facts.reshape(-1, 8)


def test_promenade(coffee_can):
    """A person walks away: 3.6 m at 9 s to 12.7 m at 18.9 s; a still object at 24.6 m."""
    acq, framer, lines, facts = promenade(coffee_can)
    s = framer.status()
    assert 482 <= len(lines) <= 485 and s["lost"] == 0
    assert s["interval_samples"] / 44100 == pytest.approx(41.3e-3, abs=0.15e-3)
    assert np.all(np.diff(facts[:, 0]) == 1)
    x = lines.real
    moving = x[2:] - 2 * x[1:-1] + x[:-2] # three-pulse canceller
    spectrum = np.abs(np.fft.rfft(moving * np.hanning(x.shape[1]), 8 * x.shape[1], axis=1)) ** 2
    cells = np.arange(spectrum.shape[1]) * acq.sample_rate_hz / (8 * x.shape[1])
    ranges = cells * 20.6e-3 * C / (2 * 100e6)
    t = np.arange(len(moving)) * s["interval_samples"] / 44100 + facts[1, 1] * 0
    near = (ranges > 2) & (ranges < 16)

    def at(seconds):
        mean = spectrum[np.abs(t - seconds) < 0.4][:, near].sum(axis=0)
        return ranges[near][mean.argmax()]
    assert at(9.0) == pytest.approx(3.6, abs=1.5)
    assert at(18.9) == pytest.approx(12.7, abs=1.5)
    walk = np.polyfit(np.arange(10, 19), [at(k) for k in range(10, 19)], 1)[0]
    assert walk == pytest.approx(0.95, abs=0.15)
    still = np.abs(np.fft.rfft(x.mean(axis=0) * np.hanning(x.shape[1]), 8 * x.shape[1])) ** 2
    far = (ranges > 20) & (ranges < 30)
    assert ranges[far][still[far].argmax()] == pytest.approx(24.6, abs=1.5)


def test_promenade_by_the_wrong_channel(coffee_can):
    """The beat as trigger and the sync as beat: no lines of even interval, and a hint."""
    try:
        _, framer, lines, _ = promenade(coffee_can, order=(1, 0))
    except AssertionError as e: # an error of the block
        assert "interval" in str(e)
    else:
        assert len(lines) < 400 or framer.status()["lost"] > 50

@pytest.mark.parametrize("length", [100, 200])
def test_an_image_taken_off_by_a_short_pulse_is_warned_of_at_the_start(length, capfd):
    """Of 100 samples over half the band: a time-bandwidth product of 50."""
    acq = acquisition(pulse_length_s=length / FS, chirp_rate_hz_per_s=10e6 * FS / length)
    framer = sar.pulse_framer(acq, 10, alignment="leakage", remove_image=True)
    run(framer, np.zeros(10000, complex))
    said = [x for x in capfd.readouterr().out.splitlines() if "remove_image" in x]
    assert len(said) == (length == 100), said
    if said:
        assert "warning" in said[0] and "product of the pulse is 50; expected 100 or more" in said[0]


# ---- the host's clock ------------------------------------------------------------------------------
@pytest.mark.parametrize("live", [True, False])
def test_frames_of_a_live_stream_say_when_they_left(live):
    """Behind a throttle as behind a radio; a recording that is read as fast as it goes has no such time."""
    fs, pri, count = 1e6, 2000, 1000
    acq = sar.acquisition(waveform="pulsed_lfm", samples=300, carrier_hz=2.4e9, prf_hz=fs / pri, sample_rate_hz=fs,
                          pulse_length_s=100 / fs, chirp_rate_hz_per_s=0.5 * fs * fs / 100, slant_range_first_m=0.0)
    one = np.zeros(pri, np.complex64)
    one[7:107] = sar.transmitted_pulse(acq)
    tb = gr.top_block()
    source = blocks.vector_source_c(one.tolist(), True)
    throttle = blocks.throttle(gr.sizeof_gr_complex, fs) if live else blocks.copy(gr.sizeof_gr_complex)
    throttle.set_max_noutput_items(2000)  # late by 2 ms at most
    head = blocks.head(gr.sizeof_gr_complex, count * pri + 400)
    framer = sar.pulse_framer(acq, 50, alignment="leakage")
    sink = blocks.vector_sink_c(acq.samples)
    tb.connect(source, throttle, head, framer, sink)
    began = time.monotonic()
    tb.run()
    ended = time.monotonic()
    assert framer.error() == ""
    frames = [f for _, f in of(sink.tags(), "sar_frame")]
    assert len(frames) >= 19
    if not live:
        assert not any("host_s" in f for f in frames)
        return
    # known after some three quarters of a second
    timed = [f for f in frames if "host_s" in f]
    assert [f["frame"] for f in timed] == [f["frame"] for f in frames[-len(timed):]] and len(timed) >= 9
    off = np.array([f["host_s"] - f["time_s"] for f in timed])
    assert np.ptp(off) < 0.02 and began - 0.01 < off[-1] < began + 0.5, off - began
    assert timed[-1]["host_s"] < ended
