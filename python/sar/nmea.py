# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of a satellite receiver, NMEA 0183, as antenna positions in local metres.

Read are GGA (position and height) and RMC (date; position where there is no GGA, with the height
of the origin), of any talker; other sentences are passed over. Each fix becomes east, north and
up of an origin, the first fix when none is given, on the ellipsoid WGS-84:

    N = a / sqrt(1 - e^2 sin^2 phi)                             prime vertical radius, m
    X = (N + h) cos phi cos l,  Y = (N + h) cos phi sin l,  Z = (N (1 - e^2) + h) sin phi
    east  = -sin l dX + cos l dY
    north = -sin phi cos l dX - sin phi sin l dY + cos phi dZ
    up    =  cos phi cos l dX + cos phi sin l dY + sin phi dZ

with phi, l, h latitude, longitude and height over the ellipsoid (altitude of a GGA plus its geoid
separation), a = 6378137 m, e^2 = f (2 - f), f = 1 / 298.257223563; phi and l of the last three
lines, and the point that d counts from, are the origin's.

Reference: NIMA TR8350.2, Department of Defense World Geodetic System 1984, third edition, 2000.
B. Hofmann-Wellenhof, H. Lichtenegger, J. Collins, Global Positioning System: Theory and Practice,
5th edition, 2001, chapter 10. Sentences: NMEA 0183, version 4.
"""

import contextlib
import math
from dataclasses import dataclass, field
from datetime import date, datetime, timezone

import numpy as np

from .recordings import RecordingError

SEMI_MAJOR_M = 6378137.0
FLATTENING = 1 / 298.257223563
E2 = FLATTENING * (2 - FLATTENING)
DAY_S = 86400.0


def earth_fixed(latitude_deg, longitude_deg, height_m):
    """X, Y, Z of points on WGS-84, m; arrays of any shape, the axes last."""
    phi, lam = np.radians(latitude_deg), np.radians(longitude_deg)
    n = SEMI_MAJOR_M / np.sqrt(1 - E2 * np.sin(phi)**2)
    h = np.asarray(height_m, float)
    return np.stack([(n + h) * np.cos(phi) * np.cos(lam), (n + h) * np.cos(phi) * np.sin(lam),
                     (n * (1 - E2) + h) * np.sin(phi)], -1)


def local_metres(latitude_deg, longitude_deg, height_m, origin):
    """East, north, up of points against ``origin`` (latitude, longitude, height), m.

    Formulas and reference: above. Heights are those over the ellipsoid.
    """
    phi, lam = math.radians(origin[0]), math.radians(origin[1])
    d = earth_fixed(latitude_deg, longitude_deg, height_m) - earth_fixed(*origin)
    axes = np.array([[-math.sin(lam), math.cos(lam), 0],
                     [-math.sin(phi) * math.cos(lam), -math.sin(phi) * math.sin(lam), math.cos(phi)],
                     [math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)]])
    return d @ axes.T


@dataclass
class NmeaTrack:
    """What a log says: fixes in local metres.

    times_s      of the fixes, seconds since the midnight (UTC) before the first one; they go on
                 over the next midnight
    positions_m  (fixes, 3): east, north, up of the origin
    origin       latitude (deg), longitude (deg), height over the ellipsoid (m)
    date         year, month, day of that midnight where an RMC says it, else None
    notes        what was decided: fixes left out, heights that are not in the log
    """

    times_s: np.ndarray
    positions_m: np.ndarray
    origin: tuple
    date: tuple = None
    notes: list = field(default_factory=list)

    def trajectory(self, clock_offset_s=0.0, lever_arm_m=(0, 0, 0)):
        """``sar.trajectory.sampled`` of the fixes; clock_offset_s: time of day (UTC, s) minus
        the time of the pulses."""
        from . import sar_python

        return sar_python.trajectory.sampled(
            self.times_s.tolist(), [tuple(p) for p in self.positions_m.tolist()], clock_offset_s,
            tuple(lever_arm_m))


def looks_like_nmea(path):
    """Is a file, or an open text file, a log of sentences?"""
    with contextlib.ExitStack() as stack:
        f = path if hasattr(path, "readline") else stack.enter_context(
            open(path, encoding="ascii", errors="replace"))
        f.seek(0)
        for _ in range(20):
            line = f.readline()
            if not line:
                break
            if line.strip() and not line.startswith("#"):
                return line.lstrip("\ufeff").startswith(("$", "!"))
        return False


def _angle(text, side, negative, degrees, fail):
    """Degrees of ddmm.mmmm and a side."""
    dot = text.find(".") if "." in text else len(text)
    sides = {"S": "NS", "W": "EW"}[negative]
    try:
        if dot != degrees + 2:
            raise ValueError
        whole, minutes = int(text[:degrees]), float(text[degrees:])
    except ValueError:
        whole, minutes = 0, 60.0
    limit = 90 if degrees == 2 else 180
    if not (0 <= minutes < 60 and whole + minutes / 60 <= limit) or side not in tuple(sides):
        fail(f"'{text},{side}' is no {'latitude' if degrees == 2 else 'longitude'}; expected "
             f"{'d' * degrees}mm.mmmm and {sides[0]} or {sides[1]}")
    return (whole + minutes / 60) * (-1 if side == negative else 1)


def _time_of_day(text, fail):
    try:
        if len(text) < 6 or not text[:6].isdigit() or len(text) > 6 and text[6] != ".":
            raise ValueError
        h, m, s = int(text[:2]), int(text[2:4]), float(text[4:])
        if h > 23 or m > 59 or not s < 61:
            raise ValueError
    except ValueError:
        fail(f"'{text}' is no time of day; expected hhmmss.sss")
    return 3600 * h + 60 * m + s


def _date(text, fail):
    day, month, year = (int(text[i:i + 2]) if text[i:i + 2].isdigit() else 0 for i in (0, 2, 4))
    if len(text) != 6 or not 1 <= day <= 31 or not 1 <= month <= 12:
        fail(f"'{text}' is no date; expected ddmmyy")
    return (2000 + year if year < 80 else 1900 + year, month, day)


def _number(text, what, fail):
    try:
        value = float(text)
        if math.isfinite(value):
            return value
    except ValueError:
        pass
    fail(f"'{text}' is no {what}; expected metres")


def _fields(line, fail):
    """Fields of a sentence, whose checksum is right."""
    if not line.startswith(("$", "!")):
        fail(f"'{line[:40]}' is no sentence; expected $ at its beginning")
    body, star, said = line[1:].partition("*")
    if star:
        right = 0
        for c in body.encode("latin-1", "replace"):
            right ^= c
        try:
            wrong = len(said) != 2 or int(said, 16) != right
        except ValueError:
            wrong = True
        if wrong:
            fail(f"the checksum is '{said}'; expected {right:02X}: the line was damaged")
    return body.split(",")


def read_nmea(path, origin=None):
    """The fixes of a log as an NmeaTrack.

    path    of a file, or an open text file
    origin  latitude (deg), longitude (deg) and height over the ellipsoid (m) of the local zero;
            None: the first fix

    Fixes missing at the beginning and at the end are left out and noted; within the track they are
    an error, since positions are not made up. Over midnight time goes on. Raises RecordingError with
    file, line and what was expected, OSError for an unreadable file.
    """
    if origin is not None:
        origin = tuple(float(v) for v in origin)
        if len(origin) != 3 or not (abs(origin[0]) <= 90 and abs(origin[1]) <= 180
                                    and math.isfinite(origin[2])):
            raise RecordingError(f"origin is {origin}; expected latitude and longitude in degrees and a "
                            "height in metres")
    with contextlib.ExitStack() as stack:
        if hasattr(path, "readline"):
            f, name = path, getattr(path, "name", "the log")
            f.seek(0)
        else:
            name = str(path)
            f = stack.enter_context(open(path, encoding="ascii", errors="replace"))
        rows = {"GGA": [], "RMC": []}  # (line, time of day, latitude, longitude, height) or None
        first_date = None              # (time of day, date) of the first RMC with a fix
        for number, line in enumerate(f, 1):
            line = line.strip().lstrip("\ufeff")
            if not line or line.startswith("#"):
                continue

            def fail(why, number=number):
                raise RecordingError(f"{name} line {number}: {why}")

            v = _fields(line, fail)
            kind = v[0][2:] if len(v[0]) == 5 else ""
            if kind not in rows:
                continue
            least = 12 if kind == "GGA" else 10
            if len(v) < least:
                fail(f"{v[0]} has {len(v)} fields; expected {least} or more")
            fixed = v[6] not in ("", "0") if kind == "GGA" else v[2] == "A"
            if not fixed:
                rows[kind].append((number, None))
                continue
            t = _time_of_day(v[1], fail)
            if kind == "GGA":
                latitude = _angle(v[2], v[3], "S", 2, fail)
                longitude = _angle(v[4], v[5], "W", 3, fail)
                height = _number(v[9], "altitude", fail) + (_number(v[11], "geoid separation", fail)
                                                            if v[11] else 0.0)
            else:
                latitude = _angle(v[3], v[4], "S", 2, fail)
                longitude = _angle(v[5], v[6], "W", 3, fail)
                height = None
                first_date = first_date or (t, _date(v[9], fail))
            rows[kind].append((number, (t, latitude, longitude, height)))
    return _track(name, rows, first_date, origin)


def _track(name, rows, first_date, origin):
    notes = []
    kind = "GGA" if any(fix for _, fix in rows["GGA"]) else "RMC"
    found = rows[kind]
    good = [i for i, (_, fix) in enumerate(found) if fix]
    if not good:
        count = len(rows["GGA"]) + len(rows["RMC"])
        raise RecordingError(f"{name} has no fix" + (
            f" in {count} sentences (quality 0, or status V)" if count else ": no sentence GGA or RMC")
            + "; expected GGA or RMC sentences with one")
    if kind == "RMC":
        notes.append("the log has no GGA, so no heights: that of the origin is taken")
    outside = good[0] + len(found) - 1 - good[-1]
    if outside:
        notes.append(f"{outside} sentences without a fix before the first and after the last one "
                     "are left out")
    times, places, days, before = [], [], 0.0, None
    for number, fix in found[good[0]:good[-1] + 1]:
        if fix is None:
            raise RecordingError(f"{name} line {number}: no fix, between others; expected one in each {kind} "
                            "from the first to the last: cut the log before or behind")
        t = fix[0] + days
        if before is not None and t <= before:
            # half a day back is the next day
            if before - t > DAY_S / 2:
                days += DAY_S
                t += DAY_S
            else:
                raise RecordingError(f"{name} line {number}: {t % DAY_S:.3f} s of the day is not after "
                                f"{before % DAY_S:.3f} s of the {kind} before; expected times that increase")
        before = t
        times.append(t)
        places.append(fix[1:])
    if days:
        notes.append("the log goes over midnight (UTC): times count from the midnight before")
    latitude, longitude = np.array([p[:2] for p in places]).T
    if kind == "RMC":
        height = np.full(len(places), origin[2] if origin else 0.0)
    else:
        height = np.array([p[2] for p in places])
    if origin is None:
        origin = float(latitude[0]), float(longitude[0]), float(height[0])
    said = None
    # an RMC before the first midnight
    if first_date is not None and first_date[0] >= times[0] - 1e-6:
        said = first_date[1]
    return NmeaTrack(np.array(times), local_metres(latitude, longitude, height, origin), origin, said, notes)


def clock_offset(track, rec):
    """(time of day of a recording's radar time 0, s, notes): by the date and time of its first
    sample (SigMF core:datetime), else 0."""
    captures = getattr(getattr(rec, "stream", None), "earlier", None) or rec.metadata.get("captures") or [{}]
    when = captures[-1].get("core:datetime")
    try:
        t = datetime.fromisoformat(str(when).replace("Z", "+00:00"))
    except ValueError:
        return 0.0, []
    if t.tzinfo is not None:
        t = t.astimezone(timezone.utc)
    offset = 3600 * t.hour + 60 * t.minute + t.second + 1e-6 * t.microsecond - float(rec.times_s[0])
    if track.date is not None:
        offset += DAY_S * (t.date() - date(*track.date)).days
    return offset, [f"the first pulse is taken to be at {when}, as core:datetime says"]
