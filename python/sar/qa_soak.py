# SPDX-License-Identifier: GPL-3.0-or-later
"""benchmarks/soak.py in short, without the wall's clock: what it counts, and that it fails when it has to."""

import json
import os
import sys

import pytest
from gnuradio import sar  # noqa: F401
from qa_sarsim import SoapySDR  # noqa: F401 (skips where SoapySDR or sarsim is not)

FOLDER = os.path.join(os.environ.get("SAR_SOURCE_DIR", ""), "benchmarks")
if not os.path.exists(os.path.join(FOLDER, "soak.py")):
    pytest.skip("benchmarks/soak.py is not here (set SAR_SOURCE_DIR)", allow_module_level=True)
sys.path.insert(0, FOLDER)
import soak  # noqa: E402

RATE = 2e6


def run(tmp_path, *more):
    """(exit status, what it wrote of its run)"""
    out = str(tmp_path / "soak.json")
    status = soak.main(["--seconds", "5", "--rate", str(RATE), "--pace", "fast", "--every", "2", "--json", out, *more])
    result, = json.load(open(out))["runs"]
    return status, result


def test_nothing_is_lost(tmp_path, capsys):
    status, result = run(tmp_path)
    assert status == 0 and result["pass"] and not result["problems"]
    end = result["rows"][-1]
    assert end["lines"] == 5000 and end["images"] == 47 and end["wrong"] == 0
    for count in ("lost", "told", "untold", "late", "underflows", "not_sent", "lost_samples"):
        assert end[count] == 0, count
    # what is ahead of pulse 0, the pulses, and what waits in radar_transceiver at the end: a second at most
    assert soak.LEAD_S + 5 <= end["samples"] / RATE < soak.LEAD_S + 6.1
    # a radio that waits has no clock to measure a latency by
    assert result["latency_ms"] is None and result["estimate_off_ms"] is None
    assert capsys.readouterr().out.rstrip().endswith("PASS")


def test_a_loss_is_a_failure(tmp_path, capsys):
    """5 and a half intervals, told with a stamp."""
    status, result = run(tmp_path, "--settings", "loss_at=3000400:11000")
    end = result["rows"][-1]
    assert status == 1 and not result["pass"]
    assert end["told"] == 1 and end["lost_samples"] == 11000 and 5 <= end["lost"] <= 7
    assert end["lines"] == 5000 and end["wrong"] == 0
    assert f"{end['lost']} lost" in result["problems"][0] and "not read in time" in result["problems"][0]
    assert "FAIL" in capsys.readouterr().out


def test_a_target_elsewhere_is_a_failure(tmp_path, monkeypatch):
    """Images are looked at: made for positions a metre beside those where the radio was."""
    sampled = soak.sar.trajectory.sampled
    monkeypatch.setattr(soak.sar.trajectory, "sampled", lambda t, p: sampled(t, p + [1.0, 0, 0]))
    status, result = run(tmp_path)
    assert status == 1 and result["rows"][-1]["wrong"] > 0
    assert result["problems"][0].startswith("image:")


@pytest.mark.parametrize("more,words", [(["--rate", "1000.5"], "multiple of the 1000 pulses"), (["--seconds", "1"], "expected 2 or more")])
def test_refuses(more, words, tmp_path):
    with pytest.raises(SystemExit, match=words):
        soak.main(["--seconds", "5", *more])


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-v"]))
