# SPDX-License-Identifier: GPL-3.0-or-later
"""The value objects in Python: whole numbers, unknown names, defaults, round trips."""

import math
import subprocess
import sys

import numpy as np
import pytest
from gnuradio import sar


def pulsed(**more):
    f = dict(
        waveform="pulsed_lfm",
        samples=1200,
        carrier_hz=9.6e9,
        prf_hz=5000,
        sample_rate_hz=100e6,
        pulse_length_s=8e-6,
        chirp_rate_hz_per_s=1e13,
    )
    f.update(more)
    return f


def grid(**more):
    f = dict(
        origin_m=(0, 0, 0),
        row_axis=(1, 0, 0),
        col_axis=[0, 1, 0],
        row_spacing_m=0.5,
        col_spacing_m=0.25,
        rows=8,
        cols=6,
    )
    f.update(more)
    return f


def test_import_alone():
    """The first Python line is the import of the module, without GNU Radio before."""
    subprocess.run([sys.executable, "-c", "from gnuradio.sar import acquisition"], check=True)


def test_acquisition():
    a = sar.acquisition(**pulsed())
    assert a.bandwidth_hz() == pytest.approx(80e6)
    assert a.pulse_samples() == 800
    assert a.wavelength_m() == pytest.approx(sar.speed_of_light / 9.6e9)
    assert not a.in_frequency_domain()
    axis = a.compressed_axis(2)
    assert (axis.samples, axis.range_reference) == (2400, "antenna")
    assert axis.spacing_m == pytest.approx(sar.speed_of_light / 400e6)
    assert a.compressed_axis().samples == 1200


def test_acquisition_defaults():
    a = sar.acquisition(**pulsed())
    assert a.to_dict() == pulsed(
        gate_start_s=0,
        sweep="sawtooth",
        replica_bandwidth_hz=0,
        frequency_step_hz=0,
        phase_sign=-1,
        slant_range_first_m=0,
        range_reference="antenna",
        reference_point_m=(0, 0, 0),
        pulse_reference="start",
        range_bias_m=0,
        look_side="right",
        effective_velocity_m_s=0,
        doppler_centroid_hz=0,
        effective_velocity_slopes=(),
        doppler_centroid_slopes=(),
    )


def test_fmcw_frequencies_follow_from_the_gate():
    a = sar.acquisition(waveform="fmcw", samples=400, carrier_hz=10e9, prf_hz=1000, sweep="triangle",
                        sample_rate_hz=1e6, chirp_rate_hz_per_s=5e11, gate_start_s=100e-6)
    assert (a.sweep, a.gate_start_s) == ("triangle", 100e-6)
    assert a.first_frequency_hz() == pytest.approx(10e9 + 50e6, abs=1)
    assert a.centre_frequency_hz() == pytest.approx(10e9 + 150e6, abs=1)
    assert a.doppler_shift_m(500) == pytest.approx(-sar.speed_of_light * 500 / 1e12)
    assert sar.acquisition(**a.to_dict()).to_dict() == a.to_dict()
    gated = a.range_gate(30, 60)
    axis, whole = gated.compressed_axis(2), a.compressed_axis(2)
    assert axis.first_m <= 30 < axis.first_m + 2 * axis.spacing_m
    assert axis.spacing_m == pytest.approx(whole.spacing_m) and gated.samples < 45
    assert gated.centre_frequency_hz() == pytest.approx(a.centre_frequency_hz(), rel=1e-12)
    with pytest.raises(ValueError, match="range gate is 60 m to 30 m"):
        a.range_gate(60, 30)


def test_acquisition_round_trips():
    a = sar.acquisition(**pulsed(look_side="left", reference_point_m=np.array([1.0, 2, 3])))
    assert sar.acquisition(**a.to_dict()).to_dict() == a.to_dict()
    assert eval(repr(a)).to_dict() == a.to_dict()
    b = a.replace(samples=64, pulse_reference="centre")
    assert (b.samples, b.pulse_reference, b.look_side) == (64, "centre", "left")
    assert a.samples == 1200
    with pytest.raises(ValueError, match="samples is 0; expected"):
        a.replace(samples=0)
    with pytest.raises(AttributeError, match="no attribute 'frequency'"):
        a.frequency
    with pytest.raises(AttributeError):
        a.samples = 3


def test_whole_numbers():
    assert sar.acquisition(**pulsed(samples=2048.0)).samples == 2048
    assert sar.acquisition(**pulsed(samples=np.int64(7))).samples == 7
    with pytest.raises(ValueError, match="samples is 2048.5; expected a whole number"):
        sar.acquisition(**pulsed(samples=2048.5))
    with pytest.raises(ValueError, match="phase_sign is 0.5; expected a whole number"):
        sar.acquisition(**pulsed(phase_sign=0.5))
    for bad in (math.nan, math.inf, 1e12):
        with pytest.raises(ValueError, match="samples is .*; expected a whole number"):
            sar.acquisition(**pulsed(samples=bad))
    assert sar.image_grid(**grid(rows=4.0)).rows == 4
    for name in "rows", "cols":
        with pytest.raises(ValueError, match=f"{name} is 4.5; expected a whole number"):
            sar.image_grid(**grid(**{name: 4.5}))


def test_unknown_keyword_lists_the_known_ones():
    with pytest.raises(ValueError, match="no parameter 'sample_rate'; expected one of") as e:
        sar.acquisition(**pulsed(sample_rate=1))
    for name in sar.acquisition(**pulsed()).to_dict():
        assert name in str(e.value)


@pytest.mark.parametrize(
    "fields, message",
    [
        (dict(waveform="chirp"), "waveform is 'chirp'; expected one of: pulsed_lfm, replica"),
        (dict(carrier_hz=0), "carrier_hz is 0 Hz; expected a positive number"),
        (dict(prf_hz=math.nan), "prf_hz is nan Hz"),
        (dict(look_side="up"), "look_side is 'up'; expected one of: left, right"),
        (dict(chirp_rate_hz_per_s=2e13), "expected at most sample_rate_hz"),
        (dict(effective_velocity_slopes=[1, 2, 3, 4]), "effective_velocity_slopes"),
        (dict(doppler_centroid_slopes=[math.nan]), "doppler_centroid_slopes"),
    ],
)
def test_acquisition_errors(fields, message):
    with pytest.raises(ValueError, match=message):
        sar.acquisition(**pulsed(**fields))


def test_grid():
    g = sar.image_grid(**grid())
    assert g.to_dict() == grid(col_axis=(0, 1, 0))
    assert g.position(2, 4) == (1, 1, 0)
    assert g.index_of((1, 1, 7)) == pytest.approx((2, 4))
    assert g.normal() == (0, 0, 1)
    assert eval(repr(g)).to_dict() == g.to_dict()
    c = sar.image_grid.centred((10, 20, 30), (1, 0, 0), (0, 1, 0), 0.5, 0.25, 8, 6)
    assert c.position(4, 3) == (10, 20, 30)
    with pytest.raises(ValueError, match="row_axis is .* of length 2; expected a unit vector"):
        sar.image_grid(**grid(row_axis=(2, 0, 0)))
    with pytest.raises(TypeError):
        sar.image_grid(**grid(origin_m=(1, 2)))
    with pytest.raises(TypeError):
        sar.image_grid(**grid(orientation=1))


def test_trajectory():
    s = sar.trajectory.straight((0, 0, 1000), (100, 0, 0))
    assert s.position(2) == (200, 0, 1000)
    assert s.first_s() == -math.inf
    n = sar.trajectory.sampled([0, 1, 3], [(0, 0, 1000), (100, 0, 1000), (300, 0, 1000)])
    assert np.allclose(n.positions(0, 100, 300), s.positions(0, 100, 300), atol=1e-9)
    with pytest.raises(IndexError, match="lies outside the navigation record, 0 to 3 s"):
        n.position(3.1)
    with pytest.raises(ValueError, match="strictly increasing"):
        sar.trajectory.sampled([0, 0], [(0, 0, 0)] * 2)


# ---- the plan of a range-Doppler frame ----------------------------------------------------

SQUINT = math.radians(10)
FLIGHT = dict(waveform="pulsed_lfm", samples=500, carrier_hz=5.3e9, prf_hz=160,
              sample_rate_hz=120e6, pulse_length_s=2e-6, chirp_rate_hz_per_s=5e13,
              slant_range_first_m=8000, effective_velocity_m_s=150)
WAVE = sar.speed_of_light / 5.3e9
CENTROID = 2 * 150 * math.sin(SQUINT) / WAVE  # 920.97 Hz, 5.76 PRFs


def test_range_doppler_plan():
    acq = sar.acquisition(**FLIGHT, doppler_centroid_hz=CENTROID)
    plan = sar.range_doppler_plan(acq, 300, fft_length=512)
    f = plan.frame
    assert (f.lines, f.rows, f.cols, f.geometry) == (300, 512, 500, "zero_doppler")
    assert f.factor == pytest.approx(math.cos(SQUINT))
    assert f.out_first_m == pytest.approx(8000 * math.cos(SQUINT))
    assert f.uniform and f.bias_m == 0
    rows, cols = plan.rows(), plan.columns()
    assert rows["frequency_hz"].shape == (512,) and cols["closest_m"].shape == (500,)
    # each bin once, within half a PRF of the centroid, k PRF / N modulo the PRF
    assert np.abs(rows["frequency_hz"] - CENTROID).max() <= 80 + 1e-9
    turns = (rows["frequency_hz"] - np.arange(512) * 160 / 512) / 160
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-9)
    sine = rows["frequency_hz"] * WAVE / 300
    np.testing.assert_allclose(rows["factor"], np.sqrt(1 - sine**2), rtol=1e-12)
    spacing = sar.speed_of_light / 240e6
    np.testing.assert_allclose(cols["closest_m"],
                               math.cos(SQUINT) * 8000 + np.arange(500) * spacing, rtol=1e-12)
    # the beam looks ahead: a point is seen before its closest approach
    np.testing.assert_allclose(cols["beam_delay_s"], -cols["closest_m"] * math.tan(SQUINT) / 150,
                               rtol=1e-12)


def test_range_doppler_plan_grid():
    acq = sar.acquisition(**FLIGHT, doppler_centroid_hz=CENTROID)
    for geometry in ("zero_doppler", "centroid"):
        plan = sar.range_doppler_plan(acq, 300, 512, geometry=geometry)
        g = plan.grid()
        assert (g.rows, g.cols) == (512, 500) and g.row_spacing_m == pytest.approx(150 / 160)
        assert g.origin_m[1] == pytest.approx(
            8000 * (math.cos(SQUINT) if geometry == "zero_doppler" else 1))
        assert g.origin_m[0] == pytest.approx(plan.frame.first_row * 150 / 160)
        part = plan.grid(10, 20, first_line=7)
        assert part.rows == 20
        assert part.origin_m[0] == pytest.approx(g.origin_m[0] + 17 * 150 / 160)
        # the points whose beam centre falls into the frame lie in the middle of the image
        first, count = plan.valid_rows(bandwidth_hz=50)
        assert 0 < first and count > 0 and first + count < 512
        row = plan.frame.first_row + first + count / 2
        cell = plan.columns()
        beam = row + 160 * cell["beam_delay_s"][250] * (geometry == "zero_doppler")
        assert abs(beam - 150) < 30
    assert sar.range_doppler_plan(acq, 300).frame.rows == sar.fast_fft_length(300) == 300
    assert [sar.fast_fft_length(n) for n in (1, 11, 101, 1009)] == [1, 12, 105, 1024]


def test_range_doppler_plan_of_a_varying_centroid():
    acq = sar.acquisition(**FLIGHT, doppler_centroid_hz=100, doppler_centroid_slopes=(0.1, 1e-5),
                          effective_velocity_slopes=(-1e-3,))
    plan = sar.range_doppler_plan(acq, 300)
    assert not plan.frame.uniform
    assert plan.velocity_at(8200) == pytest.approx(150 - 0.2)
    assert plan.centroid_at(8200) == pytest.approx(100 + 20 + 0.4)
    plan.set_centroid([-40])
    assert plan.centroid() == [-40] and plan.centroid_at(8200) == -40
    assert plan.frame.centroid_hz == -40
    with pytest.raises(ValueError, match="0 coefficients; expected 1 to 4"):
        plan.set_centroid([])
    assert plan.centroid() == [-40]


def test_range_doppler_plan_aperture_and_gain():
    """A unit point comes out as 1: the gain undoes the sum over the band, in closed form."""
    acq = sar.acquisition(**FLIGHT)
    plan = sar.range_doppler_plan(acq, 600, 1024)
    r = plan.columns()["closest_m"]
    sine = 25 * WAVE / 300  # at the ends of a band of 50 Hz
    lines = 2 * r[-1] * sine / math.sqrt(1 - sine**2) / 150 * 160
    assert plan.aperture_lines(50) == math.ceil(lines)
    # -d eta / d f = lambda R / (2 V^2) at small angles; level: PRF / N sum of its root
    bins = np.count_nonzero(np.abs(np.fft.fftfreq(1024, 1 / 160)) <= 25)
    level = bins * 160 / 1024 * np.sqrt(WAVE * r / (2 * 150**2))
    np.testing.assert_allclose(plan.gains("rect", 50), 1 / (1024 * level), rtol=2e-4)


@pytest.mark.parametrize("kw, message", [
    (dict(lines=0), "lines is 0"),
    (dict(lines=10.5), "lines is 10.5; expected a whole number"),
    (dict(fft_length=200), "fft_length is 200"),
    (dict(geometry="ground"), "geometry is 'ground'"),
    (dict(oversampling=0), "oversampling"),
    (dict(acq=sar.acquisition(**dict(FLIGHT, effective_velocity_m_s=0))), "effective_velocity"),
    (dict(acq=sar.acquisition(**FLIGHT, doppler_centroid_hz=6000)), "nothing can be seen"),
])
def test_range_doppler_plan_errors(kw, message):
    with pytest.raises(ValueError, match=message):
        sar.range_doppler_plan(**{**dict(acq=sar.acquisition(**FLIGHT), lines=300), **kw})


def test_window():
    w = sar.window("taylor(4, 35)")
    assert w.name() == "taylor(4, 35)"
    assert w(0) == pytest.approx(1)
    assert len(w.samples(5)) == 5
    assert w.irw() == pytest.approx(1.184, rel=0.01)
    with pytest.raises(ValueError, match="window is 'boxcar'; expected rect, hamming"):
        sar.window("boxcar")


def test_backend_description():
    assert sar.backend_description("cpu") == "cpu"
    assert "emulated" in sar.backend_description("emulated")
    with pytest.raises(ValueError, match="backend is 'gpu'"):
        sar.backend_description("gpu")


def test_gpu_that_is_hidden():
    """auto takes the CPU and says why; cuda fails with the reason; nothing aborts."""
    import os
    import subprocess
    import sys

    program = (
        "from gnuradio import sar\n"
        "print(sar.backend_description('auto'))\n"
        "b = sar.pulse_compression(sar.acquisition(waveform='frequency_domain', samples=8,\n"
        "    carrier_hz=9e9, prf_hz=1, frequency_step_hz=1e6), backend='auto')\n"
        "assert b.backend().startswith('cpu (')\n"
        "try:\n"
        "    sar.detect(8, backend='cuda')\n"
        "except RuntimeError as e:\n"
        "    print('no:', e)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith(("cpu (", "no: "))]
    assert len(said) == 2
    # a reason, and for a build without CUDA the option to set
    assert any(reason in said[1] for reason in ("no CUDA device", "CUDA cannot start",
                                                "-DENABLE_CUDA=ON"))
    assert said[1].startswith("no: backend 'cuda' cannot be used: ")
