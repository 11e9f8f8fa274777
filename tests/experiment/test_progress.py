"""Progress of a run, by a clock that a test sets; its look is in ``tests/test_screen.py``."""

import re
import time
from types import SimpleNamespace

import pytest

from dsgkit.experiment import progress as progress_module
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.progress import RunProgress


def job(number, kind="fit", flops=1e9):
    cell = Cell(f"{kind}{number}", kind, "samult", number, {"rows": 100}, flops)
    return SimpleNamespace(cell=cell, description=f"SAMULT {kind}, trial {number + 1}")


def took(seconds, status="ok"):
    return {"status": status, "times": {"fit": seconds}}


def start(left, ended=(), **more):
    """Begin a run of some jobs; two searches run at a time."""
    cells, before = [one.cell for one in left], [(one.cell, record) for one, record in ended]
    return RunProgress(cells, before, side_by_side={"search": 2, "fit": 1}, **more)


def test_the_line_has_the_time_left_by_what_cells_took(monkeypatch):
    now, many = [0.0], [job(number) for number in range(10)]
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    progress = start(many)
    assert progress.line() == "0 of 10 cells, 0 s so far"
    now[0] = 30.0
    for one in many[:2]:
        progress.advance(one, 0.0)
        progress.finish(one, took(14.0))
    assert progress.line() == "2 of 10 cells, 30 s so far, about 112 s left"
    progress.advance(many[2], 0.5)
    assert progress.line().endswith(", about 105 s left: SAMULT fit, trial 3")
    progress.advance(many[3], 1.0, 2)
    assert progress.line().endswith(", about 91 s left: repeat 2 of SAMULT fit, trial 4 (+1)")
    for one in many[2:]:
        progress.finish(one, took(14.0))
    assert progress.line() == "10 of 10 cells, 30 s so far"


SEARCHES, LONG = [job(n, "search") for n in range(9)], job(0, flops=1e13)
KNOWN = [*((one, took(4.0)) for one in SEARCHES[:3]), (job(10, "search", 1e15), took(1, "failed"))]


@pytest.mark.parametrize(
    ("left", "ended", "timeout", "expected"),
    [
        (SEARCHES[3:], KNOWN, None, "12 s"),  # six, two at a time
        ([LONG], [], None, "100 s"),  # by its operations
        ([LONG], [], 90.0, "90 s"),  # the time limit is the most
        ([LONG], [(job(1), took(1.0) | {"status": "timeout", "timeout": 50.0})], 30.0, "50 s"),
        ([LONG], [(job(1), took(0.001))], None, "10 s"),
        ([job(0, flops=1.0)], [(job(1), took(0.001))], None, "1 s"),
    ],
)
def test_cells_that_ended_before_tell_the_pace(left, ended, timeout, expected):
    progress, failing = start([*left, job(99)], ended, timeout=timeout), job(99)
    progress.finish(failing, {"status": "failed"})
    assert progress.line().endswith(f"so far, about {expected} left")


def test_without_a_terminal_there_is_a_line_a_minute_with_the_time(monkeypatch, capsys):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.01)
    with start([job(0)]) as progress:
        progress.advance(job(0), 0.3)
        while not (err := capsys.readouterr().err):
            time.sleep(0.01)
    line = err.splitlines()[0]
    assert re.fullmatch(r"[-\d]{10} \d\d:\d\d 0 of 1 cell, 0 s so far: SAMULT fit, trial 1", line)
