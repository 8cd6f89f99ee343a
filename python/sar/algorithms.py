# SPDX-License-Identifier: GPL-3.0-or-later
"""What each algorithm leaves, and the choice of one: the error budget behind
``gr_sar focus --algorithm auto`` and docs/algorithms.md.

    from gnuradio.sar import algorithms
    choice = algorithms.choose(rec)
    print(choice.algorithm, *choice.reasons, sep="\\n")

A budget holds figures, each with the limit that it must stay below. The limits are those that
tests hold points of range-Doppler to (measure.RANGE_DOPPLER_LIMITS): 0.05 rad of phase, and no
more at the edges of the band than costs 0.3 dB of the side lobes.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from . import sar_python as _sar
from .focus import (C, DOPPLER_ALGORITHMS, FocusError, choose_bandwidth, complete_cells,
                    unevenness, with_centroid)
from .grids import auto_grid
from .measure import RANGE_DOPPLER_LIMITS

# Largest figures of an algorithm that fits.
LIMITS = {
    "peak": RANGE_DOPPLER_LIMITS["phase_rad"],  # phase of a point
    "edge": math.pi / 8,     # phase at the edges of its band: 0.3 dB of the side lobes
    "path": math.pi / 8,     # phase by the flight beside an even straight line
    "migration": 0.25,       # range cells over the aperture
    "shift": 0.05,           # of the band that chirp scaling moves out of the filter
}

# Pulses times pixels from which polar format, where it fits, comes before back-projection: most of
# a minute on two CPU cores.
MUCH_WORK = 2e10


# ---- formulas ---------------------------------------------------------------------------


def coupling_s2(closest_m, sine, carrier_hz):
    """Z = 2 R sin^2 a / (c f0 cos^3 a): what the coupling of range and azimuth adds to one over
    the chirp rate, s^2; \\p sine of the angle from broadside (Cumming and Wong 6.22)."""
    return 2 * closest_m * sine**2 / (C * carrier_hz * (1 - sine**2) ** 1.5)


def edge_phase_rad(bandwidth_hz, off_m, sine, carrier_hz):
    """pi (B / 2)^2 |Z(R) - Z(Rm)|: phase at the edges of the band of a point \\p off_m from the
    range that secondary range compression is made for, where it is seen at \\p sine."""
    return math.pi * (bandwidth_hz / 2) ** 2 * coupling_s2(np.abs(off_m), sine, carrier_hz)


def left_phase_rad(closest_m, reference_m, doppler_hz, range_hz, velocity_m_s, carrier_hz):
    """Phase that range-Doppler leaves of a point at ``closest_m``, rad.

    Over Doppler and range frequency (arrays that broadcast): that of the exact spectrum,
    -4 pi R / c sqrt((f0 + ft)^2 - (c f / 2V)^2), after migration and azimuth filter have taken
    its orders 0 and 1 in ft, for the point's own range, and secondary range compression its orders 2
    to 5, for ``reference_m`` (kernels/core/range_doppler.h). edge_phase_rad() is its first term.
    """
    sine = C * doppler_hz / (2 * velocity_m_s * carrier_hz)
    d = np.sqrt(1 - sine**2)
    a = 1 / d**2
    x = range_hz / carrier_hz
    higher = np.sqrt(1 + a * (2 * x + x * x)) - 1 - a * x  # of K / (f0 D), orders 2 and up
    src = x * x * (a * (1 - a) / 2 + x * (a * a * (a - 1) / 2 + x * (
        a * a * (-0.125 + a * (0.75 - 0.625 * a)) + x * a**3 * (
            0.375 + a * (-1.25 + 0.875 * a)))))
    return -4 * math.pi * carrier_hz / C * d * (closest_m * higher - reference_m * src)


def phase_of_point(left_rad):
    """Phase of a point's peak at its place, where the band is left with these phases, rad."""
    return float(np.angle(np.mean(np.exp(1j * left_rad))))


# ---- budgets ----------------------------------------------------------------------------


@dataclass
class Figure:
    """A number of a budget with its limit and a text with both in it."""

    value: float
    limit: float
    text: str  # "{value} rad ..."

    def share(self):
        return abs(self.value) / self.limit

    def sentence(self):
        size = abs(self.value)
        said = self.text.format(value=f"{size:.3g}" if size >= 1e-3 or size == 0 else
                                "less than 0.001")
        return said + (", fits" if self.share() <= 1 else f", more than {self.limit:.2g}")


@dataclass
class Budget:
    """What an algorithm leaves of a recording, or why it cannot be."""

    algorithm: str
    title: str
    figures: list = field(default_factory=list)
    problem: str = ""

    def worst(self):
        """The figure that decides; the first where all are next to nothing."""
        worst = max(self.figures, key=Figure.share)
        return worst if worst.share() > 0.01 else self.figures[0]

    def fits(self):
        return not self.problem and self.worst().share() <= 1

    def sentence(self):
        said = self.problem or self.worst().sentence()
        return f"{self.title} ({self.algorithm}): {said}"


@dataclass
class Track:
    """Positions against an even straight line, see track_of()."""

    deviation_rad: float
    velocity_m_s: float
    slant_plane: bool  # flown along x from 0 on, at y = z = 0: what Doppler images count from


def track_of(rec):
    """How far a recording's flight is from even and straight; None without positions.

    The line has the recording's effective velocity, where it has one, and fits best in direction and
    place; the deviation is the largest one along the lines of sight within the Doppler band, in the plane
    of the scene's centre (in any plane where that is not known), as phase, 4 pi f0 / c times metres.
    """
    if rec.tx is None:
        return None
    p = rec.tx if rec.rx is None else (rec.tx + rec.rx) / 2
    n = np.arange(len(p))
    known = np.isfinite(p).all(axis=1)
    p, n = p[known], n[known]
    if len(p) < 2:
        return Track(math.inf, 0.0, False)
    step = np.linalg.lstsq(np.stack([np.ones(len(n)), n], axis=1), p, rcond=None)[0][1]
    speed = float(np.linalg.norm(step)) * rec.acq.prf_hz
    if speed == 0:
        return Track(math.inf, 0.0, False)
    ahead = step / np.linalg.norm(step)
    per_pulse = (rec.acq.effective_velocity_m_s or speed) / rec.acq.prf_hz
    line = np.outer(n, ahead * per_pulse)
    start = np.mean(p - line, axis=0)
    off = p - line - start
    along = off @ ahead
    across = off - np.outer(along, ahead)
    centre = rec.hints.get("scene_centre_m")
    if centre is None:
        across = np.linalg.norm(across, axis=1)
    else:
        sight = np.asarray(centre) - p
        sight -= np.outer(sight @ ahead, ahead)
        across = np.sum(across * sight, axis=1) / np.linalg.norm(sight, axis=1)
    band = choose_bandwidth(rec.acq, rec.hints)[0] or rec.acq.prf_hz
    doppler = rec.acq.doppler_centroid_hz + band / 2 * np.linspace(-1, 1, 9)
    wavelength = C / rec.acq.centre_frequency_hz()
    sines = np.clip(wavelength * doppler / (2 * per_pulse * rec.acq.prf_hz), -1, 1)
    away = np.abs(np.outer(across, np.sqrt(1 - sines**2)) + np.outer(along, sines))
    end = start + line[-1]
    sixteenth = C / (2 * rec.acq.bandwidth_hz()) / 16
    beside = max(np.abs(start).max(), np.abs(end[1:]).max())
    return Track(float(4 * math.pi / wavelength * away.max()), speed,
                 bool(beside < sixteenth and ahead[0] > 0))


def _doppler_problem(rec, track):
    """Why no algorithm of the Doppler domain can take a recording, or ""."""
    if rec.rx is not None:
        return "transmitter and receiver move apart, which needs back-projection"
    if rec.acq.effective_velocity_m_s <= 0:
        return ("the recording has no effective velocity (effective_velocity_m_s=...)"
                + (f"; by its positions {track.velocity_m_s:.6g} m/s"
                   if track and track.velocity_m_s else ""))
    return unevenness(rec)


class _Doppler:
    """What the budgets of the algorithms of the Doppler domain have in common."""

    def __init__(self, rec, acq, track, geometry):
        self.acq = acq
        self.plan, self.path = None, []
        self.problem = _doppler_problem(rec, track)
        if self.problem:
            return
        try:
            self.plan = _sar.range_doppler_plan(acq, rec.num_pulses, 0, 1, geometry)
        except (ValueError, RuntimeError) as why:
            self.problem = str(why)
            return
        if track is not None:
            self.path = [Figure(track.deviation_rad, LIMITS["path"],
                                "{value} rad between the flight and an even straight line")]
        f = self.plan.frame
        self.band_hz = choose_bandwidth(acq, rec.hints)[0] or acq.prf_hz
        first, stop = complete_cells(acq, f, self.band_hz)
        columns = self.plan.columns()
        self.ends = [{k: v[n] for k, v in columns.items()} for n in (first, stop - 1)]
        self.range_hz = acq.bandwidth_hz() / 2 * np.linspace(-1, 1, 33)

    def left(self):
        """Phases over Doppler (rows) and range frequency of points at the ends of the swath."""
        f = self.plan.frame
        for end in self.ends:
            doppler = end["centroid_hz"] + self.band_hz / 2 * np.linspace(-1, 1, 65)
            yield left_phase_rad(end["closest_m"], f.middle_m, doppler[:, None], self.range_hz,
                                 end["velocity_m_s"], f.carrier_hz)

    def phases(self):
        maps = list(self.left())
        return [Figure(max((phase_of_point(m) for m in maps), key=abs), LIMITS["peak"],
                       "{value} rad of phase at the edge of the swath"),
                Figure(max(np.abs(m).max() for m in maps), LIMITS["edge"],
                       "{value} rad at the edges of the band, at the edge of the swath")]


def _range_doppler(common):
    return common.phases()


def _chirp_scaling(common):
    acq = common.acq
    if acq.waveform != "pulsed_lfm":
        return f"the waveform is {acq.waveform}, and chirp scaling needs the chirps of pulsed_lfm"
    bounds = _sar.chirp_scaling_bounds(common.plan)
    moved = bounds["band_shift_hz"] / acq.bandwidth_hz()
    # what is left over the whole PRF, which the stage refuses from pi / 2 on
    refused = Figure(bounds["phase_error_rad"], math.pi / 2,
                     "{value} rad at the edges of the band over the whole PRF")
    return common.phases() + [refused, Figure(
        moved, LIMITS["shift"], "{value} of the band moved at the edge of the swath")]


def _omega_k(common):
    f = common.plan.frame
    return [Figure(0.0, LIMITS["peak"], "{value} rad at every range"),
            Figure(0.0 if f.uniform else _sar.residual_migration_cells(common.plan),
                   LIMITS["migration"],
                   "{value} cells of migration by a velocity or centroid that varies")]


# Algorithms of the Doppler domain, the first that fits first: title, figures or a problem.
_IN_DOPPLER = {
    "rda": ("range-Doppler", _range_doppler),
    "csa": ("chirp scaling", _chirp_scaling),
    "omegak": ("omega-k", _omega_k),
}


def _finite_positions(rec):
    """Of transmitter and receiver, where both are known."""
    both = [rec.tx, rec.tx if rec.rx is None else rec.rx]
    known = np.isfinite(both).all(axis=(0, 2))
    return [p[known] for p in both]


def curvature_rad(rec, grid):
    """Phase that the curvature of the wavefronts leaves in polar format at the rim of a grid, from the
    edge of the aperture to its middle, the largest, rad.

    Of a point s from the grid's middle c, seen from p: 4 pi f0 / c (|p - c - s| - |p - c| + u s), u
    the direction from p to c, without what is linear in u, which displaces the point and is put
    back. Carrara, Goodman, Majewski, Spotlight Synthetic Aperture Radar (1995), chapter 3.
    """
    ends = [np.array(grid.position(r * (grid.rows - 1), c * (grid.cols - 1)))
            for r in (0.0, 0.5, 1.0) for c in (0.0, 0.5, 1.0)]
    middle = ends[4]
    positions = _finite_positions(rec)
    u = sum((middle - p) / np.linalg.norm(middle - p, axis=1)[:, None] for p in positions) / 2
    in_plane = u @ np.array([grid.row_axis, grid.col_axis]).T
    most = 0.0
    for s in ends:
        away = sum(np.linalg.norm(s - p, axis=1) - np.linalg.norm(middle - p, axis=1)
                   for p in positions) / 2 - u @ (s - middle)
        away -= in_plane @ np.linalg.lstsq(in_plane, away, rcond=None)[0]
        most = max(most, np.ptp(away))
    return float(4 * math.pi * rec.acq.centre_frequency_hz() / C * most)


NO_POSITIONS = "the recording has no antenna positions (<name>.nav.csv, or positions=...)"


def _back_projection(rec, grid):
    if rec.tx is None:
        return NO_POSITIONS
    work = f", {rec.num_pulses * grid.rows * grid.cols:.2g} pulses times pixels" if grid else ""
    return [Figure(0.01, LIMITS["peak"], "{value} rad, any flight" + work)]


# Places on a grid, 0 to 1 in both directions, at which polar format looks at its ranges.
_NODES = 0.5 - 0.5 * np.cos(math.pi * np.arange(9) / 8)


def _beyond_the_swath(rec, grid):
    """Why the lines do not hold all of a grid, as polar format counts them, or ""."""
    acq = rec.acq
    positions = _finite_positions(rec)
    axis = acq.compressed_axis(2 if acq.waveform == "fmcw" else 1)
    offset = axis.range_bias_m
    if axis.range_reference == "point":
        offset = offset - sum(np.linalg.norm(np.array(axis.reference_point_m) - p, axis=1)
                              for p in positions) / 2
    nodes = [np.array(grid.position(r * (grid.rows - 1), c * (grid.cols - 1)))
             for r in _NODES for c in _NODES]
    ranges = np.array([sum(np.linalg.norm(s - p, axis=1) for p in positions) / 2 + offset
                       for s in nodes])
    periodic = acq.in_frequency_domain()
    last_m = axis.first_m + (axis.samples - (0 if periodic else 1)) * axis.spacing_m
    low, high = ranges.min(), ranges.max()
    slack = 1e-9 * np.abs(ranges - offset).max()
    if low >= axis.first_m - slack and high <= last_m + slack:
        return ""
    return (f"the grid lies at ranges of {low:.6g} to {high:.6g} m, not all within the "
            f"{'alias-free ' if periodic else ''}swath of {axis.first_m:.6g} to {last_m:.6g} m")


def cycles_a_pulse(acq, grid, gradients):
    """Cycles by which the phase across a grid changes from pulse to pulse, on average over the
    aperture; polar format shows up to one without ambiguity.

    gradients  of the range at the grid's middle, along rows and columns of the grid: (pulses, 2);
               None is returned where they do not all point to one side
    """
    sides = np.array([max(grid.rows - 1, 1) * grid.row_spacing_m,
                      max(grid.cols - 1, 1) * grid.col_spacing_m])
    seen = gradients * sides  # the block compares directions in cells, which shrink as sides grow
    ahead = seen.mean(axis=0)
    forward = seen @ ahead
    if not np.all(forward > 0):
        return None
    order = np.argsort((seen[:, 1] * ahead[0] - seen[:, 0] * ahead[1]) / forward, kind="stable")
    turned = np.abs(gradients[order[-1]] - gradients[order[0]]) / (len(order) - 1)
    axis = acq.compressed_axis(2 if acq.waveform == "fmcw" else 1)
    # the highest frequency of a line; the transform of a pulse ends next to half the sampling rate
    above = 0.5
    if acq.in_frequency_domain():
        n = axis.samples
        down = acq.waveform == "frequency_domain" and acq.frequency_step_hz < 0
        above = (n // 2 if down else n - 1 - n // 2) / n
    highest = 2 * axis.carrier_hz / C + above / axis.spacing_m  # cycles/m
    return float(highest * turned @ [(grid.rows - 1) * grid.row_spacing_m,
                                     (grid.cols - 1) * grid.col_spacing_m])


def _polar_format(rec, grid):
    if rec.tx is None:
        return NO_POSITIONS
    if grid is None:
        return "no grid could be made for it"
    positions = _finite_positions(rec)
    middle = np.array(grid.position((grid.rows - 1) / 2, (grid.cols - 1) / 2))
    u = sum((middle - p) / np.linalg.norm(middle - p, axis=1)[:, None] for p in positions) / 2
    mean = np.mean(u, axis=0)
    if len(u) < 2 or not np.linalg.norm(mean) > 0:
        return "the aperture has no direction"
    cosines = u @ mean / np.linalg.norm(mean) / np.linalg.norm(u, axis=1)
    spread = math.degrees(np.arccos(np.clip(cosines, -1, 1)).max())
    if spread > 75:
        return f"the aperture spreads {spread:.3g} degrees from its mean direction, more than 75"
    beyond = _beyond_the_swath(rec, grid)
    if beyond:
        return beyond
    turned = cycles_a_pulse(rec.acq, grid, u @ np.array([grid.row_axis, grid.col_axis]).T)
    if turned is None:
        return "the grid is not seen from one side"
    if turned > 1 + 1e-6:
        return (f"from pulse to pulse the phase changes by {turned:.4g} cycles over the grid, more "
                "than one")
    return [Figure(curvature_rad(rec, grid), LIMITS["edge"],
                   "{value} rad by curved wavefronts at the rim of the grid")]


# Algorithms that form the image in the recording's own coordinates, the first that fits first
# (polar format before back-projection from MUCH_WORK on): title, and a function of the recording and
# its grid to figures or a problem.
_IN_SPACE = {
    "bp": ("back-projection", _back_projection),
    "pfa": ("polar format", _polar_format),
}

TITLES = {k: v[0] for k, v in {**_IN_DOPPLER, **_IN_SPACE}.items()}


def budgets(rec, *, grid=None, doppler_centroid=None, geometry="zero_doppler"):
    """Budget of each algorithm for a recording, in the order of preference: a list.

    grid              of bp and pfa; None: grids.auto_grid()
    doppler_centroid  as of focus.range_doppler(); "estimate": the recording's
    """
    return _budgets(rec, _grid_of(rec, grid), track_of(rec), doppler_centroid, geometry)


def _grid_of(rec, grid):
    if grid is None and rec.tx is not None:
        try:
            grid, _ = auto_grid(rec)
        except ValueError:  # said again where a grid is needed
            return None
    return grid


def _budgets(rec, grid, track, doppler_centroid, geometry):
    acq = rec.acq
    if doppler_centroid is not None and not isinstance(doppler_centroid, str):
        acq = with_centroid(acq, doppler_centroid)
    common = _Doppler(rec, acq, track, geometry)
    out = []
    for name, (title, figures) in _IN_DOPPLER.items():
        found = common.problem or figures(common)
        out.append(Budget(name, title, problem=found) if isinstance(found, str) else
                   Budget(name, title, found + common.path))
    for name, (title, figures) in _IN_SPACE.items():
        found = figures(rec, grid)
        out.append(Budget(name, title, problem=found) if isinstance(found, str) else
                   Budget(name, title, found))
    return out


# ---- the choice -------------------------------------------------------------------------


@dataclass
class Choice:
    algorithm: str
    reasons: list  # sentences, one an algorithm; that of the chosen one first
    budgets: list
    grid: object  # for bp and pfa: the one that was given, or grids.auto_grid(), or None


def choose(rec, asked="auto", *, plane=None, grid=None, without=(), doppler_centroid=None,
           geometry="zero_doppler"):
    """The algorithm for a recording: the first whose budget fits, in the order of _IN_DOPPLER and
    _IN_SPACE: from N^2 log N to N^3 work, and range-Doppler before chirp scaling, which leaves the same
    phase but moves the band, takes linear FM pulses alone and one velocity for the swath.

    asked   its name, which is then the choice, with what it leaves as the reason; or "auto"
    plane   of the image: "slant" (along the track and slant range, counted from the first pulse, by rda,
            csa, omegak), "ground" (the recording's own coordinates, by bp, pfa), None: both where they
            are the same or the recording has no positions, else "ground"
    grid    of bp and pfa; None: grids.auto_grid()
    without algorithms that shall not be chosen

    Raises FocusError when no algorithm can take the recording.
    """
    names = [*_IN_DOPPLER, *_IN_SPACE]
    if asked not in ("auto", *names):
        raise FocusError(f"algorithm is '{asked}'; expected auto or one of: " + ", ".join(names))
    if plane not in (None, "slant", "ground"):
        raise FocusError(f"plane is '{plane}'; expected slant, ground or None")
    track, grid = track_of(rec), _grid_of(rec, grid)
    all_of = _budgets(rec, grid, track, doppler_centroid, geometry)
    if asked != "auto":
        (budget,) = [b for b in all_of if b.algorithm == asked]
        return Choice(asked, [budget.sentence()], all_of, grid)
    why_not = ""
    if plane is None and track is not None and not track.slant_plane:
        plane = "ground"
        why_not = (", but its image lies in the slant plane, not in the coordinates of the "
                   "positions; --algorithm {} makes it")
    elif plane == "ground":
        why_not = ", but what was asked for is an image in the coordinates of the positions"
    elif plane == "slant":
        why_not = ", but what was asked for is an image in the slant plane"
    taken = {"slant": _IN_DOPPLER, "ground": _IN_SPACE, None: names}[plane]
    taken = [name for name in taken if name not in without]
    if "bp" in taken and "pfa" in taken and grid is not None and (
            rec.num_pulses * grid.rows * grid.cols > MUCH_WORK):
        taken = [name for name in taken if name != "bp"] + ["bp"]
    able = [b for name in taken for b in all_of if b.algorithm == name and not b.problem]
    if not able:
        if rec.tx is None and rec.acq.effective_velocity_m_s <= 0:
            raise FocusError(
                "the recording has neither antenna positions, which back-projection needs "
                "(<name>.nav.csv beside it, or positions=...), nor an effective velocity, which "
                "range-Doppler needs (effective_velocity_m_s=...)")
        problems = {}
        for b in all_of:
            if b.algorithm in taken:
                problems.setdefault(b.problem, []).append(b.title)
        raise FocusError("no algorithm can take the recording: " + "; ".join(
            f"{', '.join(titles)}: {problem}" for problem, titles in problems.items()))
    fitting = [b for b in able if b.fits()]
    chosen = fitting[0] if fitting else min(able, key=lambda b: b.worst().share())
    first = f"algorithm {chosen.algorithm}: {chosen.title}, "
    if not fitting:
        first += "what leaves least; none fits"
    elif len(able) == 1:
        first += "the one that can take the recording"
    elif len(fitting) == 1:
        first += "the one that fits"
    else:
        first += "the first of the " + f"{len(fitting)} that fit, in the order " + ", ".join(taken)
    reasons = [first]
    for b in all_of:
        said = b.sentence()
        if b.algorithm not in taken and b.fits():
            said += why_not.format(b.algorithm)
        reasons.append(said)
    return Choice(chosen.algorithm, reasons, all_of, grid)
