# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of NMEA sentences as positions: made here, written by sarsim, attached to recordings."""

import json
import math
import sys

import numpy as np
import pytest
from gnuradio import sar
from gnuradio.sar import nmea
from gnuradio.sar.cli import main
from gnuradio.sar.recordings import RecordingError, open_recording
from qa_recordings import make, nav

ORIGIN = (-33.9, 151.2, 60.0)


def sentence(body):
    sum_ = 0
    for c in body.encode():
        sum_ ^= c
    return f"${body}*{sum_:02X}"


def angle(deg, width, sides):
    v = round(abs(deg) * 60e8)
    return f"{v // 6000000000:0{width}d}{v % 6000000000 / 1e8:011.8f},{sides[deg < 0]}"


def clock(t):
    t %= 86400
    return f"{int(t // 3600):02d}{int(t // 60 % 60):02d}{t % 60:06.3f}"


def gga(t, latitude, longitude, altitude, quality=1, separation="21.5", talker="GN"):
    return sentence(f"{talker}GGA,{clock(t)},{angle(latitude, 2, 'NS')},{angle(longitude, 3, 'EW')},{quality},12,0.8,"
                    f"{altitude:.4f},M,{separation},M,,")


def rmc(t, latitude, longitude, date="310126", status="A"):
    return sentence(f"GNRMC,{clock(t)},{status},{angle(latitude, 2, 'NS')},{angle(longitude, 3, 'EW')},1.0,90.0,{date},,,A")


def north_of(m, latitude=ORIGIN[0]):
    """Degrees of latitude that so many metres to the north are, to second order."""
    e2 = nmea.E2
    s2 = math.sin(math.radians(latitude))**2
    return math.degrees(m / (nmea.SEMI_MAJOR_M * (1 - e2) / (1 - e2 * s2)**1.5))


def log(tmp_path, lines, name="log.nmea"):
    path = tmp_path / name
    path.write_text("\r\n".join(lines) + "\r\n")
    return str(path)


def flight(times, first=43200.0):
    """10 m/s to the north, 60 m over the ellipsoid."""
    return [gga(first + t, ORIGIN[0] + north_of(10 * t), ORIGIN[1], ORIGIN[2] - 21.5) for t in times]


# ---- metres -----------------------------------------------------------------------------


def test_earth_fixed_coordinates():
    """On the axes of the ellipsoid; in between on it, and with a normal of that latitude."""
    a, b = nmea.SEMI_MAJOR_M, nmea.SEMI_MAJOR_M * (1 - nmea.FLATTENING)
    np.testing.assert_allclose(nmea.earth_fixed(0, 0, 10), [a + 10, 0, 0], atol=1e-9)
    np.testing.assert_allclose(nmea.earth_fixed(0, 90, 0), [0, a, 0], atol=1e-9)
    np.testing.assert_allclose(nmea.earth_fixed(-90, 0, 10), [0, 0, -b - 10], atol=1e-8)
    x, y, z = nmea.earth_fixed(47.0, 8.0, 0.0)
    assert (x * x + y * y) / a**2 + z * z / b**2 == pytest.approx(1, abs=1e-14)
    assert math.degrees(math.atan2(z / b**2, math.hypot(x, y) / a**2)) == pytest.approx(47.0, abs=1e-12)


def test_local_metres_are_east_north_up():
    up = nmea.local_metres(ORIGIN[0], ORIGIN[1], ORIGIN[2] + 7, ORIGIN)
    np.testing.assert_allclose(up, [0, 0, 7], atol=1e-8)
    north = nmea.local_metres(ORIGIN[0] + north_of(100), ORIGIN[1], ORIGIN[2], ORIGIN)
    # an arc at the height of the origin, which the curvature brings down
    grown = 1 + ORIGIN[2] / 6.36e6
    assert north[1] == pytest.approx(100 * grown, abs=2e-4) and abs(north[0]) < 1e-9
    assert north[2] == pytest.approx(-100**2 / (2 * 6.36e6), abs=2e-5)
    n = nmea.SEMI_MAJOR_M / math.sqrt(1 - nmea.E2 * math.sin(math.radians(ORIGIN[0]))**2)
    step = math.degrees(50 / ((n + ORIGIN[2]) * math.cos(math.radians(ORIGIN[0]))))
    east = nmea.local_metres(ORIGIN[0], ORIGIN[1] + step, ORIGIN[2], ORIGIN)
    assert east[0] == pytest.approx(50, abs=1e-6) and abs(east[1]) < 1e-3


# ---- reading ----------------------------------------------------------------------------


def test_a_log_becomes_positions(tmp_path):
    t = np.arange(0, 3, 0.1)
    lines = [sentence("GNGSA,A,3,01,02,,,,,,,,,,,1.2,0.8,0.9")]
    for g, v in zip(flight(t), t):
        lines += [g, rmc(43200 + v, 0, 0), sentence("GPGSV,1,1,00")]
    track = sar.read_nmea(log(tmp_path, lines))
    np.testing.assert_allclose(track.times_s, 43200 + t, atol=1e-9)
    np.testing.assert_allclose(track.origin, ORIGIN, atol=1e-9)
    np.testing.assert_allclose(track.positions_m[:, 1], 10 * t, atol=1e-3)
    np.testing.assert_allclose(track.positions_m[:, [0, 2]], 0, atol=1e-3)
    assert track.date == (2026, 1, 31) and track.notes == []
    # against an origin of one's own, and as a trajectory at the times of pulses
    other = sar.read_nmea(log(tmp_path, lines), (ORIGIN[0] - north_of(1000), ORIGIN[1], ORIGIN[2]))
    assert other.positions_m[0, 1] == pytest.approx(1000, abs=0.02)
    at = track.trajectory(clock_offset_s=43200.0).position(1.234)
    assert at[1] == pytest.approx(12.34, abs=1e-3)


def test_rmc_alone_has_no_height(tmp_path):
    lines = [rmc(10 + v, ORIGIN[0] + north_of(5 * v), ORIGIN[1]) for v in range(3)]
    track = sar.read_nmea(log(tmp_path, lines))
    np.testing.assert_allclose(track.positions_m[:, 1], [0, 5, 10], atol=1e-3)
    np.testing.assert_allclose(track.positions_m[:, 2], 0, atol=1e-4)
    assert "no heights" in track.notes[0]


def test_over_midnight(tmp_path):
    lines = []
    for v in range(4):
        lines += [gga(86398 + v, *ORIGIN), rmc(86398 + v, *ORIGIN[:2], date="310126" if v < 2 else "010226")]
    track = sar.read_nmea(log(tmp_path, lines))
    np.testing.assert_allclose(track.times_s, [86398, 86399, 86400, 86401])
    assert "over midnight" in track.notes[0] and track.date == (2026, 1, 31)
    # an RMC of the day after says nothing of the midnight before
    assert sar.read_nmea(log(tmp_path, [n for n in lines if "310126" not in n])).date is None


def test_fixes_missing_before_and_after(tmp_path):
    none = sentence("GNGGA,115959.000,,,,,0,00,99.9,,M,,M,,")
    track = sar.read_nmea(log(tmp_path, [none] * 3 + flight([0, 1, 2]) + [none]))
    assert len(track.times_s) == 3 and "4 sentences without a fix" in track.notes[0]


@pytest.mark.parametrize("change,words", [
    (lambda f: f[:2] + [f[2][:-2] + "00"] + f[3:], "line 3: the checksum is '00'; expected"),
    (lambda f: f[:2] + [f[2].replace("3353", "3354")] + f[3:], "line 3: the checksum is"),
    (lambda f: f[:2] + [f[2][:-3] + "*"] + f[3:], "line 3: the checksum is ''"),
    (lambda f: f[:2] + [sentence("GNGGA,120002.000,,,,,0,00,99.9,,M,,M,,")] + f[3:], "line 3: no fix, between others; expected"),
    (lambda f: f[:3] + [f[1]] + f[3:], "line 4: 43201.000 s of the day is not after 43202.000 s .* expected times that increase"),
    (lambda f: f[:3] + [f[2]] + f[3:], "line 4: .* is not after"),
    (lambda f: [sentence("GNGGA,120000.000,,,,,0,00,99.9,,M,,M,,")], "has no fix in 1 sentences .*; expected GGA or RMC"),
    (lambda f: [sentence("GPGSV,1,1,00")], "no sentence GGA or RMC; expected"),
    (lambda f: f[:1] + ["12:00:01 " + f[1]], "line 2: '12:00:01 .*' is no sentence; expected \\$"),
    (lambda f: f[:1] + [sentence("GNGGA,120001.000,33,S")], "line 2: GNGGA has 4 fields; expected 12"),
    (lambda f: [sentence(f[0][1:-3].replace("120000.000", "250000.000"))], "line 1: '250000.000' is no time of day; expected hhmmss"),
    (lambda f: [sentence(f[0][1:-3].replace(",S,", ",E,"))], "line 1: '3354.*,E' is no latitude; expected ddmm.mmmm and N or S"),
    (lambda f: [sentence(f[0][1:-3].replace("15112", "18112"))], "is no longitude; expected dddmm.mmmm and E or W"),
    (lambda f: [sentence(f[0][1:-3].replace("38.5000", "high"))], "line 1: 'high' is no altitude"),
    (lambda f: [rmc(0, 1, 1, date="321326")], "line 1: '321326' is no date; expected ddmmyy"),
])
def test_what_is_wrong_is_said_with_its_line(change, words, tmp_path):
    path = log(tmp_path, change(flight(range(6))))
    with pytest.raises(RecordingError, match=words) as e:
        sar.read_nmea(path)
    assert path in str(e.value)


def test_an_origin_that_is_none(tmp_path):
    path = log(tmp_path, flight(range(3)))
    for origin in ((91, 0, 0), (0, 181, 0), (0, 0), (0, 0, math.nan)):
        with pytest.raises(RecordingError, match="origin is .*; expected latitude and longitude"):
            sar.read_nmea(path, origin)


# ---- recordings -------------------------------------------------------------------------


def test_positions_of_a_recording(tmp_path):
    meta, _ = make(tmp_path)  # pulses at 0 .. 0.05 s
    path = log(tmp_path, flight(np.arange(-1, 2, 0.1)))
    origin = (ORIGIN[0], ORIGIN[1], 0.0)
    rec = open_recording(meta, positions=path, positions_origin=origin, clock_offset_s=43200.5)
    np.testing.assert_allclose(rec.tx[:, 1], 10 * (0.5 + np.arange(6) / 100), atol=1e-3)
    np.testing.assert_allclose(rec.tx[:, 2], 60, atol=1e-3)
    assert rec.used["positions_origin"] == [*origin] and rec.used["clock_offset_s"] == 43200.5
    assert any("latitude -33.90000000" in n for n in rec.notes)
    with pytest.raises(RecordingError, match=r"covers 43199.000 s .*time of day \(UTC, s\) minus radar time"):
        open_recording(meta, positions=path)
    nav(tmp_path, ["0,0,0,0", "1,0,0,0"])
    with pytest.raises(RecordingError, match="positions_origin is for NMEA"):
        open_recording(meta, positions_origin=origin)


@pytest.mark.parametrize("when,day", [("2026-01-31T12:00:00.500Z", 0), ("2026-01-31T13:00:00.500+01:00", 0),
                                      ("2026-02-01T00:00:00.500Z", 1)])
def test_the_date_of_a_recording_places_it(when, day, tmp_path):
    """Beside the samples, by core:datetime; the log of the last case begins the day before."""
    meta, _ = make(tmp_path)
    m = json.load(open(meta))
    m["captures"][0]["core:datetime"] = when
    json.dump(m, open(meta, "w"))
    first = 86400.0 if day else 43200.0
    t = np.arange(-2, 3, 0.1)
    lines = flight(t, first)
    lines.insert(1, rmc(first + t[0], 0, 0))
    log(tmp_path, lines, "a.nmea")
    rec = open_recording(meta)
    assert rec.used["clock_offset_s"] == pytest.approx(first + 0.5)
    # the first fix is 20 m to the south
    np.testing.assert_allclose(rec.tx[:, 1], 20 + 10 * (0.5 + np.arange(6) / 100), atol=2e-3)
    assert any("core:datetime" in n for n in rec.notes)


def test_focus_with_a_log(tmp_path):
    """gr_sar focus --positions with a log of the simulated flight, ten fixes a second: the image of the record
    that lies beside the samples."""
    scene = str(tmp_path / "scene")
    assert main(["simulate", scene, "--pulses", "200", "--quiet"]) == 0
    rec = open_recording(scene + ".sigmf-meta")
    origin = (47.5, 8.5, 450.0)
    t = np.arange(0, 0.61, 0.1)
    want = rec.tx[0] + np.outer(t / rec.times_s[-1], rec.tx[-1] - rec.tx[0])
    # where that is on the earth: Newton's method on the formula that reads it
    place = np.array([origin] * len(want))
    for _ in range(8):
        off = want - nmea.local_metres(*place.T, origin)
        place += off[:, [1, 0, 2]] * [north_of(1, 47.5), 1 / (111320 * math.cos(math.radians(47.5))), 1]
    assert np.max(abs(off)) < 1e-6
    path = log(tmp_path, [gga(43200 + v, p[0], p[1], p[2] - 21.5) for v, p in zip(t, place)])
    images = []
    for name, more in (("beside", []), ("log", ["--positions", path, "--origin", "47.5,8.5,450", "--clock-offset", "43200"])):
        out = tmp_path / name
        assert main(["focus", scene + ".sigmf-meta", "-o", str(out), "--size", "40", "--quiet", *more]) == 0
        images.append(np.load(next(out.glob("*.npy"))))
    # heights to 0.1 mm: 4 pi 0.1 mm / wavelength = 0.04 rad
    assert np.max(abs(images[1] - images[0])) < 0.05 * np.max(abs(images[0]))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-v"]))
