"""Progress of a run, by a clock that a test sets; its look is in ``tests/test_screen.py``."""

import re
import time
from types import SimpleNamespace

import pytest

from dsgkit.experiment import progress as progress_module
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.progress import RunProgress


def cell(number, kind="fit", flops=1e9):
    return Cell(f"{kind}{number}", kind, "samult", number, {"rows": 100}, flops)


def job(of):
    return SimpleNamespace(cell=of, description=f"SAMULT {of.kind}, trial {of.trial + 1}")


def took(seconds, status="ok"):
    return {"status": status, "times": {"fit": seconds}}


def start(left, ended=(), **more):
    """Begin a run of some cells; two searches run at a time."""
    return RunProgress(left, ended, side_by_side={"search": 2, "fit": 1}, **more)


def test_the_line_has_the_time_left_by_what_cells_took(monkeypatch):
    now, many = [0.0], [cell(number) for number in range(10)]
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    progress = start(many)
    assert "left" not in progress.line()  # nothing is known before the first
    now[0] = 300.0
    for one in many[:2]:
        progress.advance(job(one), 0.0)
        progress.finish(job(one), took(150.0))
    assert progress.line() == "2 of 10 cells, 5 min so far, about 20 min left"
    progress.advance(job(many[2]), 0.5)
    assert progress.seconds_left() == pytest.approx(7.5 * 150)
    assert progress.line().endswith(" left: SAMULT fit, trial 3")
    progress.advance(job(many[3]), 1.0, 2)
    assert progress.line().endswith(" left: repeat 2 of SAMULT fit, trial 4 (+1)")


def test_cells_that_ended_before_tell_the_pace_and_the_time_limit_is_the_most():
    searches, long = [cell(n, "search") for n in range(9)], cell(0, flops=1e15)
    ended = [(one, took(4.0)) for one in searches[:3]]
    ended += [(cell(10, "search", flops=1e15), took(0.01, "out_of_memory"))]
    assert start(searches[3:], ended).seconds_left() == pytest.approx(6 * 4 / 2)
    assert start([long]).seconds_left() == pytest.approx(1e4)
    assert start([long], timeout=90.0).seconds_left() == 90
    assert start([long], [(cell(1), {"status": "timeout", "timeout": 50.0})]).seconds_left() == 50


def test_without_a_terminal_there_is_a_line_a_minute_with_the_time(monkeypatch, capsys):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.01)
    with start([cell(0)]) as progress:
        progress.advance(job(cell(0)), 0.3)
        while not (err := capsys.readouterr().err):
            time.sleep(0.01)
    line = err.splitlines()[0]
    assert re.fullmatch(r"[-\d]{10} \d\d:\d\d 0 of 1 cell, 0 s so far: SAMULT fit, trial 1", line)
