# SPDX-License-Identifier: GPL-3.0-or-later
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from gnuradio import sar
from gnuradio.sar import reference
from gnuradio.sar.recordings import C, RecordingError, open_recording
from gnuradio.sar.sigmf_files import data_type, write_sigmf

PULSED = dict(waveform="pulsed_lfm", samples=64, carrier_hz=9.6e9, prf_hz=100.0,
              sample_rate_hz=120e6, chirp_rate_hz_per_s=1e14, pulse_length_s=1e-6,
              slant_range_first_m=1000.0)


def make(tmp_path, name="a", pulses=6, datatype="cf32_le", **more):
    rng = np.random.default_rng(5)
    lines = (rng.normal(size=(pulses, 64)) + 1j * rng.normal(size=(pulses, 64))).astype(
        np.complex64)
    write_sigmf(tmp_path / name, lines, sar.acquisition(**PULSED), datatype=datatype, **more)
    return str(tmp_path / (name + ".sigmf-meta")), lines


def edit(meta, **changes):
    """Change keys of the global object; None removes one."""
    m = json.load(open(meta))
    for k, v in changes.items():
        k = k.replace("__", ":", 1)
        m["global"].pop(k, None) if v is None else m["global"].__setitem__(k, v)
    json.dump(m, open(meta, "w"))
    return m


# ---- data types (width is that of one component) ----------------------------------------

RAW = [
    # type, bytes of a sample, raw values, samples
    ("cf32_le", 8, np.array([1.5, -2, 3, 4, 5, 6], "<f4"), [1.5 - 2j, 3 + 4j, 5 + 6j]),
    ("cf32_be", 8, np.array([1.5, -2, 3, 4, 5, 6], ">f4"), [1.5 - 2j, 3 + 4j, 5 + 6j]),
    ("cf64_le", 16, np.array([1.5, -2, 3, 4, 5, 6], "<f8"), [1.5 - 2j, 3 + 4j, 5 + 6j]),
    ("cf64_be", 16, np.array([1.5, -2, 3, 4, 5, 6], ">f8"), [1.5 - 2j, 3 + 4j, 5 + 6j]),
    ("ci32_le", 8, np.array([1, -70000, 3, 4, 5, 6], "<i4"), [1 - 70000j, 3 + 4j, 5 + 6j]),
    ("ci32_be", 8, np.array([1, -70000, 3, 4, 5, 6], ">i4"), [1 - 70000j, 3 + 4j, 5 + 6j]),
    ("ci16_le", 4, np.array([1, -300, 3, 4, 5, 6], "<i2"), [1 - 300j, 3 + 4j, 5 + 6j]),
    ("ci16_be", 4, np.array([1, -300, 3, 4, 5, 6], ">i2"), [1 - 300j, 3 + 4j, 5 + 6j]),
    ("cu16_le", 4, np.array([32769, 32468, 32771, 32772, 32773, 32774], "<u2"),
     [1 - 300j, 3 + 4j, 5 + 6j]),
    ("ci8", 2, np.array([1, -2, 3, 4, 5, 6], "i1"), [1 - 2j, 3 + 4j, 5 + 6j]),
    ("cu8", 2, np.array([129, 126, 131, 132, 133, 134], "u1"), [1 - 2j, 3 + 4j, 5 + 6j]),
    ("rf32_le", 4, np.array([1.5, -2, 3], "<f4"), [1.5, -2, 3]),
    ("rf32_be", 4, np.array([1.5, -2, 3], ">f4"), [1.5, -2, 3]),
    ("rf64_le", 8, np.array([1.5, -2, 3], "<f8"), [1.5, -2, 3]),
    ("ri16_le", 2, np.array([1, -300, 3], "<i2"), [1, -300, 3]),
    ("ri16_be", 2, np.array([1, -300, 3], ">i2"), [1, -300, 3]),
    ("ri32_le", 4, np.array([1, -70000, 3], "<i4"), [1, -70000, 3]),
    ("ri32_be", 4, np.array([1, -70000, 3], ">i4"), [1, -70000, 3]),
    ("ri8", 1, np.array([1, -2, 3], "i1"), [1, -2, 3]),
    ("ru8", 1, np.array([129, 126, 131], "u1"), [1, -2, 3]),
]


@pytest.mark.parametrize("name,width,raw,samples", RAW, ids=[r[0] for r in RAW])
def test_data_type(name, width, raw, samples):
    t = data_type(name)
    assert t.sample_bytes == width
    np.testing.assert_array_equal(t.decode(raw.tobytes()), samples)
    assert t.encode(np.array(samples)) == raw.tobytes()


@pytest.mark.parametrize("name", ["complex64", "cf32", "ci16", "cf16_le", "ci64_le", "xf32_le", ""])
def test_bad_data_type(name):
    with pytest.raises(RecordingError, match="core:datatype is '" + name):
        data_type(name)


# ---- SigMF ------------------------------------------------------------------------------


@pytest.mark.parametrize("datatype", ["cf32_le", "cf64_be", "ci16_le", "ci16_be", "ci8", "cu8"])
def test_round_trip(tmp_path, datatype):
    meta, lines = make(tmp_path, datatype=datatype)
    for name in (meta, meta.replace("-meta", "-data"), str(tmp_path / "a")):
        rec = open_recording(name)
        assert rec.num_pulses == 6 and rec.dropped_samples == 0
        limit = {"c": 0, "8": 0.02, "6": 1e-4}["c" if "f" in datatype else
                                               "8" if datatype.endswith("8") else "6"]
        assert np.abs(rec.lines() - lines).max() <= limit * np.abs(lines).max()
        assert rec.acq.to_dict() == sar.acquisition(**PULSED).to_dict()
        np.testing.assert_array_equal(rec[2], rec.lines(2, 3)[0])
        np.testing.assert_array_equal(rec[1:5:2], rec.lines()[1:5:2])


def test_positions_round_trip(tmp_path):
    p = np.random.default_rng(1).normal(size=(6, 3)) * 1e6
    meta, _ = make(tmp_path, positions=p, rx=p + 5)
    rec = open_recording(meta)
    np.testing.assert_allclose(rec.tx, p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(rec.rx, p + 5, rtol=0, atol=1e-9)
    assert rec.select(2, 4).tx.tolist() == rec.tx[2:4].tolist()


def test_sweep_round_trip(tmp_path):
    fmcw = dict(waveform="fmcw", samples=64, carrier_hz=10e9, prf_hz=1000, sample_rate_hz=1e6,
                chirp_rate_hz_per_s=5e11, slant_range_first_m=0)
    acq = sar.acquisition(**fmcw, gate_start_s=50e-6, sweep="triangle")
    write_sigmf(tmp_path / "s", np.zeros((2, 64), complex), acq)
    meta = str(tmp_path / "s.sigmf-meta")
    g = json.load(open(meta))["global"]
    assert (g["sar:gate_start_s"], g["sar:sweep"]) == (50e-6, "triangle")
    assert not list(schema().iter_errors(json.load(open(meta))))
    assert open_recording(meta).acq.to_dict() == acq.to_dict()
    # of a plain sweep nothing is written, and files without a word of it are such
    write_sigmf(tmp_path / "n", np.zeros((2, 64), complex), sar.acquisition(**fmcw))
    text = open(tmp_path / "n.sigmf-meta").read()
    assert "gate_start" not in text and "sar:sweep" not in text
    assert open_recording(tmp_path / "n").acq.sweep == "sawtooth"
    for change, words in ((dict(sar__sweep="up"), "sweep is 'up'"),
                          (dict(sar__gate_start_s=-1), "gate_start_s is -1")):
        edit(meta, **change)
        assert list(schema().iter_errors(json.load(open(meta))))
        with pytest.raises(RecordingError, match=words):
            open_recording(meta)
        edit(meta, sar__sweep="triangle", sar__gate_start_s=50e-6)


def test_slopes_round_trip(tmp_path):
    acq = sar.acquisition(**PULSED, effective_velocity_m_s=100.0,
                          effective_velocity_slopes=(1e-3, -2e-7), doppler_centroid_hz=-31.5,
                          doppler_centroid_slopes=(0.25,))
    write_sigmf(tmp_path / "s", np.zeros((2, 64), complex), acq)
    meta = str(tmp_path / "s.sigmf-meta")
    g = json.load(open(meta))["global"]
    assert g["sar:effective_velocity_slopes"] == [1e-3, -2e-7]
    assert g["sar:doppler_centroid_slopes"] == [0.25]
    assert not list(schema().iter_errors(json.load(open(meta))))
    assert open_recording(meta).acq.to_dict() == acq.to_dict()
    assert open_recording(meta, doppler_centroid_slopes=[]).acq.doppler_centroid_slopes == ()
    # without slopes nothing is written
    write_sigmf(tmp_path / "n", np.zeros((2, 64), complex), sar.acquisition(**PULSED))
    assert "slopes" not in open(tmp_path / "n.sigmf-meta").read()
    for wrong in (0.25, [1, 2, 3, 4], [1, None], "x"):
        edit(meta, sar__doppler_centroid_slopes=wrong)
        assert list(schema().iter_errors(json.load(open(meta)))), wrong
        with pytest.raises(RecordingError, match="sar:doppler_centroid_slopes is"):
            open_recording(meta)


@pytest.mark.parametrize("key,name", [
    ("core:datatype", "core:datatype"), ("sar:prf_hz", "sar:prf_hz"),
    ("sar:slant_range_first_sample_m", "sar:slant_range_first_sample_m"),
    ("sar:chirp_rate_hz_per_s", "sar:chirp_rate_hz_per_s"),
    ("sar:pulse_width_s", "sar:pulse_width_s"), ("core:sample_rate", "core:sample_rate"),
    ("sar:samples_per_pulse", "sar:samples_per_pulse")])
def test_missing_key_is_named(tmp_path, key, name):
    meta, _ = make(tmp_path)
    edit(meta, **{key.replace(":", "__"): None})
    with pytest.raises(RecordingError, match=f"a.sigmf-meta does not say {name}"):
        open_recording(meta)


def test_missing_frequency_is_named_and_can_be_given(tmp_path):
    meta, _ = make(tmp_path)
    m = json.load(open(meta))
    del m["captures"][0]["core:frequency"]
    json.dump(m, open(meta, "w"))
    with pytest.raises(RecordingError, match="does not say core:frequency"):
        open_recording(meta)
    assert open_recording(meta, carrier_hz=5e9).acq.carrier_hz == 5e9


@pytest.mark.parametrize("mode", ["IW", "tops", "scansar"])
def test_burst_modes_are_refused(tmp_path, mode):
    meta, _ = make(tmp_path)
    edit(meta, sar__mode=mode)
    with pytest.raises(RecordingError, match=f"sar:mode is '{mode}'"):
        open_recording(meta)


def test_change_of_prf_is_refused_with_its_sample(tmp_path):
    meta, _ = make(tmp_path)
    m = json.load(open(meta))
    m["captures"] = [{"core:sample_start": 0, "core:frequency": 9.6e9, "sar:prf_hz": 100.0},
                     {"core:sample_start": 192, "core:frequency": 9.6e9, "sar:prf_hz": 101.5}]
    json.dump(m, open(meta, "w"))
    with pytest.raises(RecordingError, match="sar:prf_hz changes from 100.0 to 101.5 at sample 192"):
        open_recording(meta)
    m["captures"][1]["sar:prf_hz"] = 100.0
    json.dump(m, open(meta, "w"))
    assert open_recording(meta).num_pulses == 6
    # only the second segment says it: the first has the global value
    m["captures"] = [{"core:sample_start": 0, "core:frequency": 9.6e9},
                     {"core:sample_start": 192, "sar:prf_hz": 101.5}]
    json.dump(m, open(meta, "w"))
    with pytest.raises(RecordingError, match="at sample 192"):
        open_recording(meta)


# cut 5 bytes: 63 samples of the last pulse are whole, and 3 bytes of another
@pytest.mark.parametrize("cut,pulses,dropped", [(5, 5, 63), (64 * 8 * 2, 4, 0), (64 * 8 + 80, 4, 54)])
def test_truncated(tmp_path, cut, pulses, dropped):
    meta, lines = make(tmp_path)
    data = meta.replace("-meta", "-data")
    os.truncate(data, os.path.getsize(data) - cut)
    rec = open_recording(meta)
    assert (rec.num_pulses, rec.dropped_samples) == (pulses, dropped)
    np.testing.assert_array_equal(rec.lines(), lines[:pulses])
    assert any(f"{dropped} samples" in n for n in rec.notes)


def test_less_than_one_pulse(tmp_path):
    meta, _ = make(tmp_path)
    os.truncate(meta.replace("-meta", "-data"), 100)
    with pytest.raises(RecordingError, match="100 bytes, less than one pulse"):
        open_recording(meta)


def test_longer_than_declared(tmp_path):
    meta, lines = make(tmp_path)
    edit(meta, sar__num_pulses=4)
    rec = open_recording(meta)
    assert rec.num_pulses == 4 and rec.dropped_samples == 128


def test_swap_iq(tmp_path):
    meta, lines = make(tmp_path)
    rec = open_recording(meta, swap_iq=True)
    np.testing.assert_array_equal(rec.lines(), lines.imag + 1j * lines.real)
    edit(meta, sar__iq_swapped=True)  # swapped twice: as it was
    np.testing.assert_array_equal(open_recording(meta, swap_iq=True).lines(), lines)


def test_standard_input_and_raw_files(tmp_path):
    meta, lines = make(tmp_path)
    data = meta.replace("-meta", "-data")
    code = ("import sys, numpy as np; from gnuradio import sar\n"
            "r = sar.open_recording('-', meta=sys.argv[1])\n"
            "print(r.num_pulses, r.dropped_samples, abs(r.lines()).sum())")
    raw = open(data, "rb").read()[:-24]
    out = subprocess.run([sys.executable, "-c", code, meta], input=raw, capture_output=True)
    pulses, dropped, total = out.stdout.split()
    assert (int(pulses), int(dropped)) == (5, 61), out.stderr
    assert float(total) == pytest.approx(np.abs(lines[:5]).sum(), rel=1e-6)
    shutil.copy(data, tmp_path / "b.cf32")
    rec = open_recording(tmp_path / "b.cf32", **PULSED)
    np.testing.assert_array_equal(rec.lines(), lines)
    with pytest.raises(RecordingError, match="b.cf32 does not say"):
        open_recording(tmp_path / "b.cf32")
    shutil.copy(data, tmp_path / "b.bin")
    with pytest.raises(RecordingError, match="does not say core:datatype"):
        open_recording(tmp_path / "b.bin", **PULSED)


def test_lines_are_read_when_asked_for(tmp_path):
    """A file of many times the memory (sparse) opens at once, and its end can be read."""
    meta, _ = make(tmp_path)
    edit(meta, sar__num_pulses=None)
    os.truncate(meta.replace("-meta", "-data"), 1 << 40)
    rec = open_recording(meta, samples=1 << 20)
    assert rec.num_pulses == 1 << 17
    assert not rec.lines(rec.num_pulses - 2).any()


def test_broken_files(tmp_path):
    with pytest.raises(RecordingError, match="nothing.sigmf-meta does not exist"):
        open_recording(tmp_path / "nothing.sigmf-meta")
    meta, _ = make(tmp_path)
    os.unlink(meta.replace("-meta", "-data"))
    with pytest.raises(RecordingError, match="a.sigmf-data does not exist"):
        open_recording(meta)
    open(meta, "w").write("{]")
    with pytest.raises(RecordingError, match="is not JSON: line 1"):
        open_recording(meta)
    (tmp_path / "c.mat").write_bytes(b"no matlab here")
    with pytest.raises(RecordingError, match="c.mat is not a MATLAB 5 file"):
        open_recording(tmp_path / "c.mat")


def test_unknown_parameter(tmp_path):
    meta, _ = make(tmp_path)
    with pytest.raises(RecordingError, match="'prf' is not a parameter"):
        open_recording(meta, prf=3)
    with pytest.raises(RecordingError, match="prf_hz is -3"):
        open_recording(meta, prf_hz=-3)


# ---- real data --------------------------------------------------------------------------


@pytest.mark.parametrize("datatype", ["rf32_le", "ri16_be", "ri32_le"])
def test_real_data_becomes_analytic(tmp_path, datatype):
    """A real echo at a known range: peak there, with the phase exp(-j 4 pi f0 R / c)."""
    f0, rate, first, r = 3e9, 16e9, 2.0, 3.2345
    acq = sar.acquisition(waveform="replica", samples=400, carrier_hz=f0, prf_hz=10,
                          sample_rate_hz=rate, replica_bandwidth_hz=2e9,
                          slant_range_first_m=first)
    tau = 2 * first / C + np.arange(400) / rate - 2 * r / C
    echo = np.exp(-(tau * 1e9) ** 2 * 4) * np.cos(2 * np.pi * f0 * tau)
    write_sigmf(tmp_path / "r", echo[None] * 1000, acq, datatype=datatype, replica=[1.0],
                extra={"sar:intermediate_frequency_hz": f0}, scale=0.05)
    rec = open_recording(tmp_path / "r.sigmf-meta")
    line = rec[0]
    axis = first + np.arange(400) * C / 2 / rate
    at = np.argmax(np.abs(line))
    assert abs(axis[at] - r) <= C / 2 / rate
    assert abs(line[at]) == pytest.approx(1000, rel=0.02)
    phase = np.angle(line[at] * np.exp(4j * np.pi * f0 * r / C))
    assert abs(phase) < 0.02
    edit(str(tmp_path / "r.sigmf-meta"), **{"sar__intermediate_frequency_hz": None})
    with pytest.raises(RecordingError, match="sar:intermediate_frequency_hz"):
        open_recording(tmp_path / "r.sigmf-meta")


def test_subtract_mean(tmp_path):
    meta, lines = make(tmp_path)
    rec = open_recording(meta, subtract_mean=True, start=1)
    np.testing.assert_allclose(rec.lines(), lines[1:] - lines[1:].mean(axis=0), atol=1e-5)


def test_azimuth_window_keeps_the_mean(tmp_path):
    meta, lines = make(tmp_path)
    rec = open_recording(meta, azimuth_window="hann")
    w = np.array(sar.window("hann").samples(6))
    np.testing.assert_allclose(rec.lines(), lines * (w / w.mean())[:, None], rtol=1e-5)


# ---- navigation -------------------------------------------------------------------------


def nav(tmp_path, rows, header="time_s,x_m,y_m,z_m"):
    (tmp_path / "a.nav.csv").write_text(header + "\n" + "\n".join(rows) + "\n")


def test_navigation_with_its_own_clock(tmp_path):
    meta, _ = make(tmp_path)  # pulses at 0 .. 0.05 s
    t = 9 + np.arange(0, 2, 0.03)
    nav(tmp_path, [f"{v!r},{10 * v!r},0,100" for v in t.tolist()])
    rec = open_recording(meta, clock_offset_s=9.28)
    np.testing.assert_allclose(rec.tx[:, 0], 10 * (9.28 + np.arange(6) / 100), atol=1e-9)
    assert rec.used["clock_offset_s"] == 9.28
    # a lever arm is turned into the direction of flight: forward is +x, right is -y
    arm = open_recording(meta, clock_offset_s=9.28, lever_arm_m=(1, 2, 3))
    np.testing.assert_allclose(arm.tx - rec.tx, [[1, -2, 3]] * 6, atol=1e-6)
    with pytest.raises(RecordingError, match="covers 9.000 s to .* pulses lie at 0.000 s"):
        open_recording(meta)
    part = open_recording(meta, clock_offset_s=8.975)  # the first three lie before the record
    assert part.num_pulses == 3 and any("3 of 6 pulses lie outside" in n for n in part.notes)
    np.testing.assert_array_equal(part.lines(), open_recording(meta, clock_offset_s=9.28)[3:])


@pytest.mark.parametrize("rows,sentence", [
    (["0,0,0,0", "1,nan,0,0"], "line 3: .* not finite"),
    (["0,0,0,0", "1,inf,0,0"], "line 3: .* not finite"),
    (["0,0,0,0", "1,zero,0,0"], "line 3: .* is not 4 numbers"),
    (["0,0,0,0", "1,0,0"], "line 3 has 3 values"),
    (["0,0,0,0", "0,1,0,0", "2,2,0,0"], "line 3: time_s does not increase"),
    ([], "has a header but no row"),
])
def test_bad_navigation_names_the_row(tmp_path, rows, sentence):
    meta, _ = make(tmp_path)
    nav(tmp_path, rows)
    with pytest.raises(RecordingError, match=sentence):
        open_recording(meta)


# ---- schema -----------------------------------------------------------------------------


def schema():
    jsonschema = pytest.importorskip("jsonschema")
    root = os.environ.get("SAR_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
    s = json.load(open(os.path.join(root, "docs", "sigmf_sar.schema.json")))
    jsonschema.Draft7Validator.check_schema(s)
    return jsonschema.Draft7Validator(s)


def test_schema_takes_what_we_write(tmp_path):
    meta, _ = make(tmp_path, positions=np.zeros((6, 3)), targets=[
        {"name": "a", "position_m": (1, 2, 3), "amplitude": 1j}])
    fx = sar.acquisition(waveform="frequency_domain", samples=64, carrier_hz=9e9, prf_hz=1,
                         frequency_step_hz=1e6, slant_range_first_m=-5, range_reference="point")
    write_sigmf(tmp_path / "fx", np.zeros((2, 64), complex), fx)
    check = schema()
    for m in (meta, tmp_path / "fx.sigmf-meta"):
        assert not [e.message for e in check.iter_errors(json.load(open(m)))]


def test_schema_refuses(tmp_path):
    meta, _ = make(tmp_path)
    check = schema()
    for change in ({"sar__prf_hz": 0}, {"sar__mode": "IW"}, {"core__datatype": "complex64"},
                   {"sar__chirp_rate_hz_per_s": None}, {"sar__samples_per_pulse": 2.5},
                   {"sar__waveform": "replica"}):
        good = open(meta).read()
        assert list(check.iter_errors(edit(meta, **change))), change
        open(meta, "w").write(good)


def test_schema_lists_every_key_of_the_page():
    root = os.environ.get("SAR_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
    import re

    page = open(os.path.join(root, "docs", "sigmf_sar.md")).read()
    rows = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    keys = set(re.findall(r"`(sar:\w+)`", rows))
    assert keys == {k for k in schema().schema["properties"]["global"]["properties"]
                    if k.startswith("sar:")}


# ---- recordings of others ---------------------------------------------------------------


def peak(rec, centre, half, spacing, window="rect", oversampling=4):
    """(position, magnitude) of the strongest point of a patch, float64 reference."""
    n = int(2 * half / spacing) + 1
    grid = sar.image_grid.centred((*centre, 0), (0, 1, 0), (1, 0, 0), spacing, spacing, n, n)
    lines = reference.compress(rec.acq, rec.lines(), oversampling, window)
    image = np.abs(reference.backproject(rec.acq, lines, rec.tx, grid, oversampling=oversampling))
    i, j = np.unravel_index(np.argmax(image), image.shape)
    return np.array(grid.position(float(i), float(j)))[:2], image.max()


def test_gotcha(gotcha):
    rec = open_recording(gotcha[::-1], azimuth_window="hann")
    assert rec.num_pulses == 234 and rec.acq.samples == 424
    azimuth = np.degrees(np.arctan2(rec.tx[:, 1], rec.tx[:, 0]))
    assert np.all(np.diff(azimuth) > 0)  # in order, though the files were not
    p1, a1 = peak(rec, (-15.6, 21.55), 2, 0.05, "hann")
    p2, a2 = peak(rec, (-27.8, 38.8), 2, 0.05, "hann")
    assert np.linalg.norm(p1 - (-15.60, 21.55)) <= 0.1
    assert np.linalg.norm(p2 - (-27.80, 38.80)) <= 0.15
    assert 20 * np.log10(a1 / a2) == pytest.approx(5.3, abs=0.5)
    wrong = open_recording(gotcha, azimuth_window="hann", swap_iq=True)
    assert 20 * np.log10(a1 / peak(wrong, (-15.6, 21.55), 2, 0.05, "hann")[1]) > 15
    focused = open_recording(gotcha, azimuth_window="hann", autofocus=True)
    p3, a3 = peak(focused, (-16, 21), 2, 0.05, "hann")
    assert np.linalg.norm(p3 - (-16.0, 21.0)) <= 0.1 and a3 > 0.95 * a1


def test_gotcha_phase_is_corrected_to_the_antenna(tmp_path):
    """r0 off by centimetres: the lines read are compensated to |antenna|, exactly."""
    io = pytest.importorskip("scipy.io")
    rng = np.random.default_rng(3)
    f = 9.288e9 + 1.5e6 * np.arange(64)
    th = np.radians(np.arange(5) * 0.01 + 359.975)  # the aperture goes through 360 degrees
    antenna = np.column_stack([7000 * np.cos(th), 7000 * np.sin(th), np.full(5, 7200.0)])
    distance = np.linalg.norm(antenna, axis=1)
    r0 = distance + rng.uniform(-0.05, 0.05, 5)
    r = np.linalg.norm(antenna - (3, -4, 0), axis=1)
    fp = np.exp(-4j * np.pi * f[:, None] * (r - r0) / C)
    order = [3, 0, 4, 1, 2]
    io.savemat(tmp_path / "g.mat", {"data": {
        "fp": fp[:, order], "freq": f, "x": antenna[order, 0], "y": antenna[order, 1],
        "z": antenna[order, 2], "r0": r0[order]}})
    rec = open_recording(tmp_path / "g.mat")
    np.testing.assert_allclose(rec.tx, antenna)
    np.testing.assert_allclose(rec.lines(), np.exp(-4j * np.pi * f * (r - distance)[:, None] / C),
                               atol=1e-5)
    assert any("phase is corrected" in n for n in rec.notes)
    with pytest.raises(RecordingError, match="no field af"):
        open_recording(tmp_path / "g.mat", autofocus=True)
    io.savemat(tmp_path / "h.mat", {"data": {"fp": fp}})
    with pytest.raises(RecordingError, match="no struct 'data' with fields fp, freq"):
        open_recording(tmp_path / "h.mat")


def test_rail(rail):
    rec = open_recording(rail, clock_offset_s=9.28, range_bias_m=0.46)
    assert 230 < rec.num_pulses < 280  # without the scans at standstill
    truth = [t["position_m"][:2] for t in rec.hints["targets"]]
    for t in truth:
        found, _ = peak(rec, t, 0.7, 0.03, oversampling=1)
        assert np.linalg.norm(found - t) <= 0.20
    # without the bias: just as sharp, but elsewhere
    off = open_recording(rail, clock_offset_s=9.28, range_bias_m=0.0)
    assert all(np.linalg.norm(peak(off, t, 0.7, 0.03, oversampling=1)[0] - t) > 0.3 for t in truth)


def test_radarsat_metadata(radarsat):
    rec = open_recording(os.path.join(radarsat, "english_bay_ships.sigmf-meta"))
    assert (rec.num_pulses, rec.acq.samples, rec.acq.carrier_hz) == (1536, 2048, 5.3e9)
    assert rec.acq.chirp_rate_hz_per_s == -721350000000.0
    lines = rec.lines(0, 4)
    assert set(np.unique(lines.real)) <= set(range(-15, 16, 2))
    check = schema()
    for name in ("coal_ferry", "english_bay_ships"):
        m = json.load(open(os.path.join(radarsat, name + ".sigmf-meta")))
        assert not [e.message for e in check.iter_errors(m)]


@pytest.mark.parametrize("cut", [5, 2048 * 2 + 1000])
def test_radarsat_truncated(radarsat, tmp_path, cut):
    for s in ("meta", "data"):
        shutil.copy(os.path.join(radarsat, "english_bay_ships.sigmf-" + s), tmp_path / ("e.sigmf-" + s))
        os.chmod(tmp_path / ("e.sigmf-" + s), 0o644)
    os.truncate(tmp_path / "e.sigmf-data", 1536 * 4096 - cut)
    rec = open_recording(tmp_path / "e.sigmf-meta")
    assert rec.num_pulses == 1535 - cut // 4096
    assert rec.dropped_samples == (4096 - cut % 4096) // 2
