"""Progress of a run, by a clock that a test sets."""

import io
import re
from types import SimpleNamespace

import pytest

from dsgkit.experiment.plan import Cell
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.series import Series


class Clock:
    """A clock that stands still."""

    now = 0.0

    def __call__(self):
        return self.now


def cell(number, kind="fit", solver="samult", n=100, work=1e9):
    return Cell(f"{kind}{n}{number}", kind, solver, number, {"rows": n}, work)


def job(of, text="SAMULT fit, trial 1, 5,000 unlabelled"):
    return SimpleNamespace(cell=of, description=text)


def took(seconds, status="ok"):
    return {"status": status, "times": {"fit": seconds}}


@pytest.fixture
def clock():
    return Clock()


def test_the_time_left_is_by_what_cells_took(clock):
    many = [cell(number) for number in range(10)]
    progress = RunProgress(many, clock=clock)
    assert "left" not in progress.line(80)  # nothing is known before the first
    clock.now = 300.0
    for one in many[:2]:
        progress.advance(job(one), 0.0)
        progress.finish(job(one), took(150.0))
    assert progress.seconds_left() == pytest.approx(8 * 150)
    assert progress.line(80) == "2 of 10 cells, 5 min so far, about 20 min left"
    progress.advance(job(many[2]), 0.5)
    assert progress.seconds_left() == pytest.approx(7.5 * 150)
    assert progress.line(80).endswith(": SAMULT fit, trial 1, 5,000 unla…")


def test_cells_that_ended_before_tell_the_pace(clock):
    ended = [(cell(n, "search"), took(4.0)) for n in range(3)]
    left = [cell(n, "search") for n in range(3, 9)]
    assert RunProgress(left, ended, clock=clock).seconds_left() == pytest.approx(24)
    assert RunProgress(left, ended, searches=2, clock=clock).seconds_left() == pytest.approx(12)


def test_no_cell_takes_longer_than_the_time_limit(clock):
    small, large = cell(0), cell(1, n=10_000, work=1e15)
    progress = RunProgress([small, large], timeout=90.0, clock=clock)
    progress.finish(job(small), took(1.0))
    assert progress.seconds_left() == pytest.approx(90)


def series_of(clock, *, n=21, seconds=600.0):
    return Series({f"config_{k}": seconds for k in range(1, n + 1)}, clock=clock)


def test_the_time_left_for_all_configs_is_as_planned_times_what_the_first_ones_took(clock):
    series = series_of(clock)
    series.begin("config_1")
    assert series.seconds_left(600.0) == pytest.approx(21 * 600)
    clock.now = 1200.0  # twice as long as planned
    series.begin("config_2")
    assert series.seconds_left(1200.0) == pytest.approx(20 * 1200)
    series.begin("config_21")
    assert series.seconds_left(7.0) == 7.0


def test_a_config_that_could_not_run_says_nothing_of_the_others(clock):
    series = series_of(clock, n=3)
    series.begin("config_1")
    series.drop("config_1")
    series.begin("config_2")
    assert series.seconds_left(600.0) == pytest.approx(2 * 600)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_line_fits_and_has_the_time_left_for_all_configs(clock, width):
    series = series_of(clock)
    progress = RunProgress([cell(n) for n in range(400)], series=series, clock=clock)
    series.begin("config_3")
    clock.now = 1200.0
    progress.advance(job(cell(0), 200 * "x"), 0.3)
    progress.finish(job(cell(0), 200 * "x"), took(1.5))
    progress.advance(job(cell(1), 200 * "x"), 0.0)
    line = progress.line(width)
    assert len(line) == width
    times = "config 3 of 21, 20 min so far, about 3 h left; 1 of 400 cells, about 10 min left"
    assert line.startswith(times[: width - 1])
    assert progress.line(None) == f"{times}; config_3: {200 * 'x'}"


def test_without_a_terminal_there_is_a_line_a_minute_with_the_time(clock, monkeypatch):
    err = io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setenv("COLUMNS", "80")
    progress = RunProgress([cell(n) for n in range(5)], clock=clock)
    progress.advance(job(cell(0), 200 * "x"), 0.3)  # a file has no width
    for clock.now in range(181):
        progress.print_line()
    lines = err.getvalue().splitlines()
    assert len(lines) == 3
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    for line, time in zip(lines, ("60 s", "2 min", "3 min"), strict=True):
        assert re.fullmatch(rf"{stamp} 0 of 5 cells, {time} so far: x{{200}}", line)
