"""Equal fits beside busy processes: the ratios that are printed, and a run of all conditions."""

import json
import subprocess
import sys

import pytest

from tests.scripts.conftest import SCRIPTS


def figures(alone, busy, two):
    times = {"alone": alone, "busy": busy, "two": two}
    return {"wall": {name: 3 * value for name, value in times.items()}, "processor": times}


def test_the_largest_ratio_is_told_to_either_side(script):
    scope = script("bench_equal_work")
    fits = {"A": figures(1.0, 1.1, 1.0), "B": figures(1.0, 0.8, 1.05)}
    assert scope["largest_ratio"](fits, "busy") == pytest.approx(1.25)
    text = scope["describe"](fits, 2)
    assert (
        "do not agree within 20%: the largest ratio is 1.25; that of two fits at once 1.05" in text
    )
    agreeing = scope["describe"]({"A": fits["A"]}, 2)
    assert "agree within 20%: the largest ratio is 1.10" in agreeing
    assert agreeing.count("\n") == 4


@pytest.mark.slow
def test_every_condition_is_measured():
    arguments = ["--repeats", "1", "--busy", "1", "--solver", "SAMULT", "--json"]
    done = subprocess.run(
        [sys.executable, SCRIPTS / "bench_equal_work.py", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(done.stdout)["fits"]["SAMULT"]
    assert set(measured) == {"wall", "processor"}
    for times in measured.values():
        assert set(times) == {"alone", "busy", "two"}
        assert min(times.values()) > 0
