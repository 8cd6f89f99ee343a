# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay calibrations as files and numbers. The measurement: qa_delay_calibration.{cc,py}."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from gnuradio import blocks, gr, sar
from gnuradio.sar import calibration as cal

SOURCE = Path(os.environ.get("SAR_SOURCE_DIR", Path(__file__).resolve().parents[2]))
C = sar.speed_of_light

# the fields of the first version, and no others
OLDEST = {
    "format": "gr-sar delay calibration", "version": 1, "delay_s": 68.5e-6, "delay_std_s": 1e-9,
    "phase_rad": 0.5, "phase_std_rad": 0.01, "amplitude_db": -10.5, "snr_db": 31.0, "pulses": 64,
    "residual_frequency_hz": 0.1, "drift_samples_per_s": 0.0, "drift_rad_per_s": 0.63,
    "ambiguity_s": None, "cable_delay_s": 5e-9,
    "key": {"driver": "uhd", "serial": "31", "rx_gain_db": 30.0},
    "provenance": {"time_utc": "2026-11-30T12:00:00Z", "software": "gr-sar 0.1.0",
                   "command": ""}}


def changed(**fields):
    return {**OLDEST, **fields}


@pytest.fixture
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SOURCE / "docs" / "delay_calibration.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def measured(tmp_path, **parameters):
    """A file that the block wrote."""
    acq = sar.acquisition(waveform="pulsed_lfm", samples=1000, carrier_hz=2.4e9, prf_hz=2000,
                          sample_rate_hz=2e6, pulse_length_s=100e-6, chirp_rate_hz_per_s=1.6e10,
                          slant_range_first_m=0)
    x = np.zeros(20000, np.complex64)
    for k in range(19):
        x[k * 1000 + 137 : k * 1000 + 337] = 0.3 * np.array(sar.transmitted_pulse(acq))
    path = tmp_path / "measured.json"
    block = sar.delay_calibration(acq, pulses=8, file=str(path), **parameters)
    tb = gr.top_block()
    tb.connect(blocks.vector_source_c(x), block)
    tb.run()
    assert block.error() == ""
    return path, block.calibrations()[0], acq


def test_files_keep_to_the_schema(tmp_path, validator):
    path, from_block, _ = measured(tmp_path, response_taps=2, key=dict(driver="x"))
    d = json.loads(path.read_text())
    validator.validate(d)
    assert set(d) <= set(validator.schema["properties"])  # every field is described
    read = cal.read(path)
    assert read["delay_s"] == from_block["delay_s"]
    cal.write(read, tmp_path / "again.json")
    validator.validate(json.loads((tmp_path / "again.json").read_text()))
    assert json.loads((tmp_path / "again.json").read_text()) == d
    # the schema refuses what is wrong
    for wrong in (dict(delay_s="soon"), dict(version=2), dict(ambiguity_s=0),
                  dict(key={"colour": "red"})):
        assert list(validator.iter_errors({**d, **wrong})), wrong
    assert set(validator.schema["properties"]["key"]["properties"]) == set(cal.KEY_FIELDS)


def test_a_file_of_the_first_fields_loads(tmp_path, validator):
    validator.validate(OLDEST)
    (tmp_path / "old.json").write_text(json.dumps(OLDEST))
    c = cal.read(tmp_path / "old.json")
    assert c["valid"] and c["pulses_missing"] == 0 and c["response"] is None
    assert c["drift_std_samples_per_s"] is None and c["key"]["firmware"] is None
    cal.write(c, tmp_path / "new.json")
    validator.validate(json.loads((tmp_path / "new.json").read_text()))


@pytest.mark.parametrize("text,words", [
    ("{", "is not JSON"), ("[]", "is no delay calibration"), ("{}", "is no delay calibration"),
    (json.dumps(changed(version=2)), "has version 2, this gr-sar reads up to 1"),
    (json.dumps(changed(version="1")), "version is '1'"),
    (json.dumps({k: v for k, v in OLDEST.items() if k != "delay_s"}), "lacks delay_s"),
    (json.dumps(changed(delay_s=None)), "delay_s is None; expected a number"),
    (json.dumps(changed(phase_rad="x")), "phase_rad is 'x'; expected a number"),
    (json.dumps(changed(delay_std_s=-1)), "delay_std_s is -1; expected a positive"),
    (json.dumps(changed(ambiguity_s=0)), "ambiguity_s is 0; expected a positive"),
    (json.dumps(changed(key={"colour": "red"})), "key has no field colour; expected: driver"),
    (json.dumps(changed(response={"first_tap": -1, "taps": [[1, 0]], "equaliser": [[1, 0]]})),
     "response has 1 taps from -1 on"),
    (json.dumps(changed(response={"first_tap": 0, "taps": [1, "a"], "equaliser": [[1, 0]]})),
     "response.taps is"),
])
def test_what_is_no_calibration_is_refused(tmp_path, text, words):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(cal.CalibrationError) as e:
        cal.read(tmp_path / "c.json")
    assert words in str(e.value) and "c.json" in str(e.value)


def test_only_a_valid_one_is_written_and_applied(tmp_path):
    bad = changed(valid=False, problem="no pulse")
    with pytest.raises(cal.CalibrationError, match="no pulse"):
        cal.write(bad, tmp_path / "c.json")
    assert not list(tmp_path.iterdir())
    acq = measured(tmp_path)[2]
    with pytest.raises(cal.CalibrationError, match="no pulse"):
        cal.apply(acq, bad)


def test_lookup(tmp_path):
    uhd = cal.check(OLDEST)
    later = cal.check(changed(delay_s=1e-6, provenance={"time_utc": "2026-12-01T12:00:00Z"}))
    lime = cal.check(changed(key={"driver": "lime", "rx_gain_db": 30}))
    key = {"driver": "uhd", "serial": "31", "rx_gain_db": 30}
    assert cal.lookup([uhd, lime], key)["delay_s"] == 68.5e-6
    assert cal.lookup([later, uhd, lime], key)["delay_s"] == 1e-6  # the latest of equal ones
    assert cal.lookup([uhd, lime], {"driver": "lime", "rx_gain_db": 30.0}) is lime
    # exact or none: the nearest is shown, with what differs
    with pytest.raises(cal.CalibrationError) as e:
        cal.lookup([lime, uhd], {**key, "rx_gain_db": 31})
    text = str(e.value)
    assert "2026-11-30T12:00:00Z" in text and "rx_gain_db 30.0 in place of 31" in text
    assert "serial" not in text
    with pytest.raises(cal.CalibrationError, match="serial '31' in place of None"):
        cal.lookup([uhd], {"driver": "uhd", "rx_gain_db": 30})
    with pytest.raises(cal.CalibrationError, match="no field colour"):
        cal.lookup([uhd], {"colour": 1})
    with pytest.raises(cal.CalibrationError, match="no stored calibration"):
        cal.lookup(tmp_path, key)
    cal.write(uhd, tmp_path / "a.json")
    cal.write(lime, tmp_path / "b.json")
    assert cal.lookup(tmp_path, key)["delay_s"] == 68.5e-6


def test_a_stored_one_is_an_expectation():
    stored = cal.check(OLDEST)
    assert cal.compare({"delay_s": 68.5e-6 + 0.9 / 2e6}, stored, 2e6) == ""
    text = cal.compare({"delay_s": 68.5e-6 - 17.25 / 2e6}, stored, 2e6)
    assert "-17.25 samples, -1292.9 m of range" in text and "2026-11-30T12" in text
    # a delay that is known modulo the PRI
    cyclic = {"delay_s": 68.5e-6 + 7 * 500e-6 + 0.5e-7, "ambiguity_s": 500e-6}
    assert cal.compare(cyclic, stored, 2e6) == ""
    with pytest.raises(cal.CalibrationError, match="sample_rate_hz"):
        cal.compare({"delay_s": 0}, stored)


def test_sign_of_the_range_bias(tmp_path):
    _, c, acq = measured(tmp_path)
    a = cal.apply(acq.replace(range_bias_m=2.0), c)
    # 137 samples at 2 MHz late: everything seems too far away
    assert a.range_bias_m == pytest.approx(2 + 137 / 2e6 * C / 2, abs=0.01 * C / 4e6)


@pytest.mark.parametrize("reference", ["start", "centre"])
def test_equalised_replica_finds_the_same_range(tmp_path, reference):
    _, c, acq = measured(tmp_path, response_taps=8)
    acq = acq.replace(pulse_reference=reference, slant_range_first_m=-1e4)
    target, bias = 20e3, 33.0
    acq = acq.replace(range_bias_m=bias)
    source = sar.point_target_source(acq, [(target, 0, 0, 1)],
                                     sar.trajectory.straight((0, 0, 0), (0, 0, 0)), 1)
    same, replica = cal.equalised(acq, c)
    assert len(replica) == 200 + 16
    peaks = []
    for a, r in ((acq, ()), (same, replica)):
        compress = sar.pulse_compression(a, 8, "rect", list(r))
        sink = blocks.vector_sink_c(8 * a.samples)
        tb = gr.top_block()
        tb.connect(source, compress, sink)
        tb.run()
        source = sar.point_target_source(acq, [(target, 0, 0, 1)],
                                         sar.trajectory.straight((0, 0, 0), (0, 0, 0)), 1)
        axis = compress.axis()
        at = np.abs(sink.data()).argmax()
        peaks.append(axis.first_m - axis.range_bias_m + at * axis.spacing_m)
    assert peaks == pytest.approx([target, target], abs=C / 4e6 / 8)
    with pytest.raises(cal.CalibrationError, match="no response"):
        cal.equalised(acq, OLDEST)


def test_delay_of_cables_and_ways():
    assert cal.path_delay_s(cable_length_m=2, velocity_factor=0.8) == pytest.approx(2.5 / C)
    assert cal.path_delay_s(cable_length_m=1, feed_length_m=3, velocity_factor=0.5) == \
        pytest.approx(-4 / C)
    assert cal.path_delay_s(reflector_range_m=150) == pytest.approx(300 / C)
    assert cal.path_delay_s(air_path_m=0.3) == pytest.approx(0.3 / C)
    for wrong, words in ((dict(velocity_factor=1.2), "velocity_factor is 1.2"),
                         (dict(cable_length_m=-1), "cable_length_m is -1 m"),
                         (dict(reflector_range_m=float("nan")), "reflector_range_m is nan")):
        with pytest.raises(ValueError, match=words):
            cal.path_delay_s(**wrong)


def test_attenuator():
    assert cal.attenuation_db(10, -15) == 35
    assert cal.attenuation_db(-30, -15) == 0
    text, safe = cal.safety_text(10, -15)
    assert not safe and "35 dB of attenuation" in text
    assert "an attenuator of 40 dB for 0.01 W or more" in text
    assert cal.safety_text(10, -15, 40)[1] and cal.safety_text(10, -15, 35)[1]
    text, safe = cal.safety_text(30, -15, 40)
    assert not safe and "-10 dBm reach the receiver" in text
    assert cal.safety_text(-40, -15, 0)[1]
    for wrong in (dict(tx_power_dbm=float("nan"), rx_limit_dbm=0),
                  dict(tx_power_dbm=0, rx_limit_dbm=0, margin_db=-1)):
        with pytest.raises(ValueError):
            cal.attenuation_db(**wrong)
